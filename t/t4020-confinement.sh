#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='confinement: what a command in a workspace can not do, however it goes about it (P6)

Each line of a table is an attack that is a test of its own. One command in the sandbox tries them all; after each, all that is outside
of its workspace must be as before. Under make torture nobody is confined at the end, and the same attacks must do their harm, so that it is the
sandbox that stops them. As root all of it is done once more as an ordinary user.'

. "$(dirname "$0")/test-lib.sh"

attack=$EWS_BUILD/t/attack
abi=$("$attack" abi)
case $abi in
[012]*)
	skip_all="Landlock of ABI 3 or later is needed, and here it is $abi"
	test_done
	;;
esac
test "$abi" -lt 6 || test_set_prereq LANDLOCK_ABI_6
real=$(command -v git)
ews=$EWS_BIN/git-ews
outer_tmp=$TMPDIR
export attack real ews outer_tmp

# <flags> <what>: <shell text, which begins in the workspace>
#   s   Landlock of ABI 6 is needed to stop it
#   r   for root alone: others may not anyway
#   m   perhaps not to be had here, even when nobody is confined
cat >attacks <<\END
- git commit by its path: "${real:?}" commit -qam x
- git commit -n by its path: "${real:?}" commit -qnam x
- git commit in the project: "${real:?}" -C "${p:?}" commit -qam x
- git commit by sh -c: sh -c '"$0" commit -qnam x' "${real:?}"
- git commit by eval: x=commit && eval "\"\$real\" $x -qnam x"
- git commit by text that is decoded: echo Y29tbWl0IC1xbmFtIHg= | base64 -d | xargs "${real:?}"
- git commit by another language: perl -e 'exit(system(@ARGV) != 0)' "${real:?}" commit -qnam x
- git commit by git's own directory: dir=$("${real:?}" --exec-path) && "${dir:?}/git" commit -qnam x
- git commit without hooks: "${real:?}" -c core.hooksPath=/dev/null commit -qnam x
- git commit without the environment's config: env -u GIT_CONFIG_COUNT "${real:?}" commit -qnam x
- git commit with an index of its own: GIT_INDEX_FILE="$TMPDIR/index" "${real:?}" -C "${p:?}" commit -qm x -- README
- git update-ref without any environment: env -i "${real:?}" update-ref refs/heads/main HEAD~1
- git update-ref of a snapshot: "${real:?}" for-each-ref --format='delete %(refname)' refs/ews | "${real:?}" update-ref --stdin
- git reset --hard: "${real:?}" reset -q --hard
- git reset --hard in the project: "${real:?}" -C "${p:?}" reset -q --hard
- git checkout of a file in the project: "${real:?}" -C "${p:?}" checkout -q -- src/numbers
- git restore --staged in the project: "${real:?}" -C "${p:?}" restore --staged empty
- git add: "${real:?}" add -A
- git add in the project: "${real:?}" -C "${p:?}" add -A
- git rm in the project: "${real:?}" -C "${p:?}" rm -qf run.sh
- git clean in the project: "${real:?}" -C "${p:?}" clean -qfdx
- git mv in the project: "${real:?}" -C "${p:?}" mv run.sh ran.sh
- git branch: "${real:?}" branch new
- git branch -D: "${real:?}" branch -qD side
- git tag -d: "${real:?}" tag -d v1
- git config: "${real:?}" config core.hooksPath "$PWD"
- git config --global: "${real:?}" config --global core.hooksPath "$PWD"
- git symbolic-ref: "${real:?}" -C "${p:?}" symbolic-ref HEAD refs/heads/side
- git stash: "${real:?}" -C "${p:?}" stash -q
- git gc: "${real:?}" gc -q --prune=now
- git pack-refs: "${real:?}" pack-refs --all
- git hash-object -w: echo new | "${real:?}" hash-object -w --stdin
- git fetch: "${real:?}" fetch -q "${remote:?}" main:fetched
- git push --no-verify: "${real:?}" push -q --no-verify "${remote:?}" HEAD:refs/heads/pushed
- git push that deletes: "${real:?}" push -q --no-verify "${remote:?}" :side
- git worktree unlock: "${real:?}" -C "${p:?}" worktree unlock "${ws:?}"
- git worktree add: "${real:?}" worktree add -q "$TMPDIR/tree"
- git submodule add: "${real:?}" -C "${p:?}" submodule --quiet add "${remote:?}" sub
- writing a ref: echo 0123456789012345678901234567890123456789 >"${p:?}/.git/refs/heads/main"
- a new ref: "${real:?}" rev-parse HEAD >"${p:?}/.git/refs/heads/new"
- writing HEAD: echo "ref: refs/heads/side" >"${p:?}/.git/HEAD"
- writing the config: printf '[core]\n\tfsmonitor = false\n' >>"${p:?}/.git/config"
- writing the index: echo >>"${p:?}/.git/index"
- removing the index: rm -f "${p:?}/.git/index"
- replacing the index: cp "${p:?}/.git/index" i && mv i "${p:?}/.git/index"
- a lock on the index: : >"${p:?}/.git/index.lock"
- planting a hook: printf '#!/bin/sh\n' >"${p:?}/.git/hooks/pre-commit"
- a link for the hooks: ln -s "$PWD" "${p:?}/.git/hooks/post-commit"
- planting attributes: echo '* filter=x' >"${p:?}/.git/info/attributes"
- rm -rf .git/refs: rm -rf "${p:?}/.git/refs"
- rm -rf .git/objects: rm -rf "${p:?}/.git/objects"
- writing the worktree's HEAD: dir=$("${real:?}" rev-parse --absolute-git-dir) && echo "ref: refs/heads/main" >"${dir:?}/HEAD"
- writing a file of the project: echo x >"${p:?}/README"
- appending to a file of the project: echo x >>"${p:?}/README"
- truncate(2): "${attack:?}" truncate "${p:?}/README"
- open to read, with O_TRUNC: "${attack:?}" open-trunc "${p:?}/README"
- removing a file: rm -f "${p:?}/README"
- removing a directory with all below: rm -rf "${p:?}/src"
- renaming a file: mv "${p:?}/README" "${p:?}/other"
- renaming a directory: mv "${p:?}/src" "${p:?}/other"
- renaming the project: mv "${p:?}" "${p:?}.away"
- a new file: : >"${p:?}/new"
- a new directory: mkdir "${p:?}/new"
- a new link: ln -s README "${p:?}/new"
- a new FIFO: mkfifo "${p:?}/new"
- a hard link to a file of the project: ln "${p:?}/README" hard && echo x >>hard
- a hard link into the project: ln run.sh "${p:?}/new"
- moving a file out of the project: mv "${p:?}/README" moved
- moving a file into the project: cp run.sh moved && mv moved "${p:?}/new"
- moving a file over one of the project: cp run.sh moved && mv -f moved "${p:?}/README"
- exchanging two files: cp run.sh mine && "${attack:?}" exchange mine "${p:?}/README"
- writing through a link: ln -sf "${p:?}/README" l1 && echo x >>l1
- removing through a link: ln -sfn "${p:?}" l2 && rm -f l2/README
- making through a link: ln -sfn "${p:?}/src" l3 && : >l3/new
- writing through a descriptor that can only be read: exec 9<"${p:?}/README" && echo x >>/proc/self/fd/9
- writing through another's root: echo x >>"/proc/${bystander:?}/root${p:?}/README"
- writing through another's directory: echo x >>"/proc/${bystander:?}/cwd/${p##*/}/README"
r writing in another root: chroot / sh -c 'echo x >>"$0"' "${p:?}/README"
rm writing by a handle: "${attack:?}" by-handle "${p:?}/README"
- a descriptor that was left open: echo x >&7
- any descriptor that was left open: "${attack:?}" descriptors "${EWS_LOG_FD:-0}"
- forging the session's state: sed 's/"active"/"ended"/' "${session:?}/state.json" >s && cat s >"${session:?}/state.json"
- replacing the session's state: cp "${session:?}/state.json" s && mv -f s "${session:?}/state.json"
- removing the session's directory: rm -rf "${session:?}"
- writing to the log by its path: echo x >>"${session:?}/log"
- forging a snapshot: "${real:?}" rev-parse HEAD >"$(find "${p:?}/.git/refs/ews" -type f | head -n 1)"
- planting something at home: mkdir "$HOME/.superqode/planted"
- writing the user's config: echo >>"$HOME/.gitconfig"
- a file where shells begin: : >"$HOME/.profile"
- moving the workspace away: mv "${ws:?}" "${ws:?}.away"
- moving the workspace into the temporary directory: mv -T "${ws:?}" "$TMPDIR/away"
- a file beside the workspace: : >"${ws:?}.beside"
- git ews end: "${ews:?}" end -q "${EWS_SESSION:?}"
- git ews clean: "${ews:?}" clean --force "${EWS_SESSION:?}"
- git ews snapshot: "${ews:?}" snapshot create "${EWS_SESSION:?}"
- git ews start: "${ews:?}" -C "${p:?}" start another
- others' temporary directory: : >"${outer_tmp:?}/planted.$$" && rm "${outer_tmp:?}/planted.$$"
- shared memory: : >"/dev/shm/ews.$$" && rm "/dev/shm/ews.$$"
rm a node of a device: "${attack:?}" mknod-char char
rm a node of a disk: "${attack:?}" mknod-block block
rm mount: mount -t tmpfs tmpfs "${p:?}" && umount "${p:?}"
rm a bind mount: mount --bind "${p:?}/src" "${p:?}/docs" && umount "${p:?}/docs"
rm remount: mount -o remount,bind,rw,nosuid,nodev,noexec /proc
rm umount: "${attack:?}" umount /proc
m mount among namespaces of its own: unshare -r -m mount -t tmpfs tmpfs "${p:?}"
m unshare -r: unshare -r true
rm unshare -m: unshare -m true
rm nsenter: nsenter -t "${bystander:?}" -m true
s asking whether another is there: "${attack:?}" kill-0 "${bystander:?}"
s asking whether git ews is there: kill -0 "${PPID:?}"
s a signal to another: "${attack:?}" kill "${bystander:?}"
s a signal to another by pidfd: "${attack:?}" pidfd-kill "${bystander:?}"
m ptrace of another: "${attack:?}" ptrace "${bystander:?}"
m writing another's memory by /proc: "${attack:?}" proc-mem "${bystander:?}" "${word:?}"
m writing another's memory: "${attack:?}" vm-write "${bystander:?}" "${word:?}"
m taking another's descriptor: "${attack:?}" pidfd-getfd "${bystander:?}"
s another's abstract socket: "${attack:?}" abstract-stream "${socket:?}"
s another's abstract socket, with datagrams: "${attack:?}" abstract-datagram "${socket:?}"
m typing into a terminal: "${attack:?}" tiocsti
m TCP connect: "${attack:?}" tcp-connect
m TCP bind: "${attack:?}" tcp-bind
m UDP: "${attack:?}" udp
m io_uring: "${attack:?}" io-uring
END

cat >works <<\END
- git status: git status --porcelain | grep -x " M src/main.c"
- git diff: git diff | grep -x "+edit"
- git log: git log --oneline | grep "commit 1"
- git show: git show HEAD:run.sh | grep hello
- git blame: git blame src/main.c | grep "edit$"
- git ews status: git ews status | grep -F "${EWS_SESSION:?}"
- make: printf 'out: src/main.c\n\tcp $< $@ && echo made >$@\n' >Makefile && make && grep made out
p python: python3 -c 'import tempfile; f = tempfile.TemporaryFile(); f.write(b"x"); open("by-python", "w").write("x")'
- perl: perl -e 'open(my $f, ">", "by-perl") or die; print $f "x"; close($f) or die' && rm by-perl
- mktemp: f=$(mktemp) && d=$(mktemp -d) && echo x >"${d:?}/x" && mv "${d:?}/x" "$f" && test -s "$f"
- here-documents: seq 1 20000 >lines && { echo "cat <<X | cmp - lines"; cat lines; echo X; } >doc && sh ./doc && bash ./doc
- here-documents of bash: bash -c 'cat <<<here && cat <(echo there)' | grep there
- sort with temporary files: seq 1 20000 | sort -S 16k -n | cmp - lines
- every kind of writing: mkdir d && echo x >d/f && : >d/f && mv d/f d/g && ln d/g d/h && ln -s g d/l && mkfifo d/p && truncate -s 9 d/g && rm -r d
- files between the workspace and the temporary directory: echo x >f && mv f "$TMPDIR/f" && ln "$TMPDIR/f" f && rm f
- an attack there, to see that it is one: cp run.sh f && "${attack:?}" truncate f && test ! -s f
- devices: echo x >/dev/null && echo x >/dev/stdout && head -c 1 /dev/urandom >/dev/zero
- a terminal: script -qec 'echo x >/dev/tty' /dev/null
- its own processes: sleep 60 & kill $! && ! wait $!
- its own log: perl -e 'open(my $log, ">>&=", $ENV{EWS_LOG_FD}) or die; print $log "{}\n"; close($log) or die'
- the network, when it was not forbidden: "${attack:?}" tcp-connect && "${attack:?}" udp
END

# drive <table> [<lister>]: a line a row: what came of it, its name, its status and what it said; and "same" if the lister says so.
# With a directory that is like the scene in $pristine all is as before for the next row.
cat >drive <<\END
digest() {
	"${attack:?}" digest "$@" "${TMPDIR:?}" "${session:?}/said"
}
list() {
	test -z "$lister" || "$lister" -m -x "${ws#"${scene:?}/"}" -x "${TMPDIR#"${scene:?}/"}" -x "${session#"${scene:?}/"}/said" "$scene" >"$TMPDIR/$1"
}
restore() {
	for part in p remote.git home; do
		test "$(digest "${scene:?}/$part" --)" = "$(cat "$TMPDIR/$part")" && continue
		rm -rf "${scene:?}/$part" && cp -a "${pristine:?}/$part" "${scene:?}/" || exit
	done
	cd "${ws:?}" || exit
}
lister=$2
cd "${ws:?}" || exit
list before
for part in p remote.git home; do
	digest "${scene:?}/$part" -- >"$TMPDIR/$part"
done
was=$(digest "${scene:?}" -- "$ws")
while IFS= read -r row; do
	row=${row#* }
	(eval "${row#*: }") >"$TMPDIR/said" 2>&1 </dev/null
	code=$?
	case $code in
	0) came=DONE ;;
	77 | 127) came=untried ;;
	*) came=stopped ;;
	esac
	now=$(digest "${scene:?}" -- "$ws")
	test "$now" = "$was" || came=CHANGED
	echo "$came ${row%%: *}: $code $(tr "\n" " " <"$TMPDIR/said")"
	if test -n "$pristine"; then
		restore
	else
		was=$now
	fi
done <"$1"
list after
if test -n "$lister"; then
	diff -u "$TMPDIR/before" "$TMPDIR/after" && echo same
fi
END

# Everything that one user has, below $1: a project where something was edited and staged, a remote, a home, a session.
make_scene() {
	mkdir "$1" && mkdir "${1:?}/scene" "${1:?}/tmp" && mkdir "${1:?}/scene/home" && cp "$HOME/.gitconfig" "${1:?}/scene/home/" &&
	(
		cd "${1:?}/scene" && git init -q --template= --bare remote.git && git init -q --template= p && cd p && mkdir .git/hooks .git/info src &&
		echo text >README && seq 200 >src/numbers && : >empty && printf "#!/bin/sh\necho hello\n" >run.sh && chmod +x run.sh &&
		git add . && ews_repo_commit "commit 1" 1 && echo "int i;" >src/main.c && git add . && ews_repo_commit "commit 2" 2 &&
		git branch side && git tag v1 && git gc -q && git push -q ../remote.git main side &&
		echo edit >>src/numbers && echo edit >>src/main.c && echo staged >>empty && git add empty && echo left >untracked
	) && base=$PWD/$1 && scene=${base:?}/scene && p=${scene:?}/p && remote=${scene:?}/remote.git && export scene p remote
}

# as_him <command>...: as the user whose turn it is, at home in the scene
as_him() {
	$as env HOME="${scene:?}/home" "$@"
}

# stand_by: somebody outside of the sandbox
stand_by() {
	(cd "${scene:?}" && exec $as env HOME="${scene:?}/home" "$attack" bystand "${base:?}/bystander") </dev/null >/dev/null 2>&1 3>&- 4>&- 5>&- &
	test_wait_for 20 test -s "${base:?}/bystander" && read -r bystander word socket <"${base:?}/bystander" && export bystander word socket
}

# confined <log> <argument of git ews run>...
confined() {
	ews_log=$1
	shift
	as_him git -C "${p:?}" ews run --keep "$@" >"$ews_log" 2>err 7>>"${p:?}/README"
}

# look >file: what no command may change, seen from outside; it may be another user's
look() {
	GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0="*" test_fingerprint "$p" && "$EWS_SRC/t/lister" -m "$remote"
}

# take_turn <who> [<command>...]: all of it, as a user whom the command makes of us
take_turn() {
	who=$1
	shift
	as=$*

	test_expect_success "$who: a project, a session, and somebody outside" '
		make_scene $who && { test -z "$as" || test_give_user $who; } && as_him git -C "$p" ews start w >path && take_ws path && export ws &&
		session=$(dirname "$(find "${scene:?}/home" -name state.json)") && export session && test_path_is_file "${session:?}/state.json" &&
		stand_by && look >$who.before
	'

	test_expect_success "$who: the attacks" '
		confined $who.attacks --no-network w -- sh "$PWD/drive" "$PWD/attacks" "$EWS_SRC/t/lister" &&
		test "$(wc -l <$who.attacks)" = $(($(wc -l <attacks) + 1))
	'
	while IFS= read -r row; do
		name=${row#* }
		name=${name%%: *}
		need=
		case ${row%% *} in
		*s*) need=LANDLOCK_ABI_6 ;;
		esac
		test_expect_success ${need:+"$need"} "P6: $who: stopped: $name" '
			test_grep -F "stopped $name: " $who.attacks
		'
	done <attacks

	test_expect_success "P6: $who: the project, its repository, the remote and home are as they were" '
		test_grep -x "same" $who.attacks && look >after && test_cmp $who.before after &&
		as_him git -C "$p" ews status --json w >status && test_json status ".sessions[0].project_changed" false
	'

	test_expect_success "$who: work" '
		confined $who.works w -- sh "$PWD/drive" "$PWD/works" && test "$(wc -l <$who.works)" = "$(wc -l <works)"
	'
	! as_him python3 -c "" 2>/dev/null || test_set_prereq "PYTHON_$who"
	while IFS= read -r row; do
		name=${row#* }
		name=${name%%: *}
		need=
		case ${row%% *} in
		p) need=PYTHON_$who ;;
		esac
		test_expect_success ${need:+"$need"} "P6: $who: works inside: $name" '
			test_grep -F "DONE $name: 0 " $who.works
		'
	done <works

	# What is stopped then is stopped by something else, and the test of it would be none. Once is enough, and it takes its time.
	test -n "$as" || test_expect_success EXPENSIVE "$who: each attack is one when nobody is confined" '
		cp -a "$scene" "${base:?}/pristine" &&
		as_him env TMPDIR="${base:?}/tmp" EWS_SESSION=w pristine="${base:?}/pristine" sh drive "$PWD/attacks" >$who.free 7>>"${p:?}/README" &&
		while IFS= read -r row; do
			name=${row#* } && name=${name%%: *} &&
			case $who.${row%% *} in
			*m* | user.*r*) continue ;;
			esac && grep -F "$name: " $who.free || echo "lost $name"
		done <attacks >free && test_grep ! "^stopped\|^untried\|^lost" free
	'

	test_expect_success "P9: $who: a .git that was rewritten is named afterwards, and not followed" '
		test_expect_code 125 confined $who.tampered w -- sh -c "cp -R \"\$p/.git\" evil && echo \"gitdir: \$PWD/evil\" >.git &&
			\"\$real\" config -f evil/config core.fsmonitor \"echo >ran; false\"" &&
		test_grep "^error: .*\.git. was rewritten" err && as_him git -C "$p" ews status w >status && test_grep "Tampered: *.git was rewritten" status && test_path_is_missing "${ws:?}/ran" &&
		as_him git -C "$ws" status >st && test_path_is_file "${ws:?}/ran"
	'
}

if test_have_prereq ROOT; then
	take_turn root
	if test_have_prereq USERS; then
		take_turn nobody setpriv --reuid=65534 --regid=65534 --clear-groups
	else
		test_expect_success USERS 'P6: nobody: the same again' 'false'
	fi
else
	take_turn user
fi

test_done
