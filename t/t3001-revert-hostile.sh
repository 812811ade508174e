#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='hostile trees: exact (P2), contained (P5), named (P8), and nothing in them runs (P9)'

. "$(dirname "$0")/test-lib.sh"

state_of() {
	"$EWS_SRC/t/lister" -x .git -x .superqode "$1" | sed -E 's/	(d [0-7]+) [0-9.]+ /	\1 - /'
}

new_workspace() {
	timeout 60 git -C p ews start "$@" "$id" >"$id.path" 2>"$id.err" && take_ws "$id.path"
}

# A file for each name that is odd, in the directory <dir>.
odd_names() (
	cd "$1" && for name in 'a
b' 'a	b' 'a"b' "a'b" 'a\b' -rf --help ' x ' '*' '?' '[a]' ':(top)x' '$(id)' '~' '#' '%s%n' 'a:b' '!' '&' ';' '|' ' ' '...' '..a' \
		'con' 'aux.c' 'x.' 'é' "$(printf '\377\376')" "$(printf '\303')" "$(printf '\001\033[31m')" "$(printf '\342\200\256x')" \
		"$(printf '%255s' '' | tr ' ' n)" ' -> ' 'refs' 'HEAD' 'packed-refs' "$(printf 'caf\303\251')" "$(printf 'cafe\314\201')"; do
		printf '%s' "$name" >"./$name" || exit 1
	done
)

# What no git tree may hold, though a file system can.
untreeable() (
	mkdir -p "${1:?}/deep" "${1:?}/.GIT.d" && cd "$1" && echo 1 >.GIT && echo 2 >git~1 && echo 3 >deep/.Git && echo 4 >deep/GIT~1 && mkdir deep/.gIt.x &&
		mkdir -p deep/er/.GiT && echo 5 >deep/er/.GiT/config && echo 6 >"deep/$(printf '.g\342\200\214it')"
)

test_expect_success 'setup' '
	test_repo p && mkdir outside && echo outside >outside/file && echo 1 >outside/f1 && "$EWS_SRC/t/lister" outside >outside.want
'

test_expect_success 'P2: odd names in the project come along, are diffed, and are restored' '
	mkdir p/odd && odd_names p/odd && id=odd && new_workspace && diff -r p/odd "${ws:?}/odd" && state_of "$ws" >want &&
	(cd "$ws" && rm -rf odd && mkdir odd && echo x >"odd/a
b") && git -C p ews diff odd >patch && git -C p ews revert odd >out && state_of "$ws" >got && test_cmp want got && test_grep "Status: Verified" out
'

test_expect_success 'P2: odd names that came later are removed, are in the patch, and come back' '
	odd_names "$ws" && state_of "$ws" >work && git -C p ews diff odd >patch && mkdir base && git -C p archive refs/ews/sessions/odd | tar -x --no-same-permissions -C base &&
	(cd base && git apply --whitespace=nowarn ../patch) && test_same_tree "$ws" base &&
	git -C p ews diff odd --name-only -z | tr "\0" "\n" | grep -x -e --help && git -C p ews diff odd --json >json && test_json json .total_changes &&
	git -C p ews revert odd >out && state_of "$ws" >got && test_cmp want got && git -C p ews undo odd && state_of "$ws" >got && test_cmp work got
'

test_expect_success 'P2, P8: what no git tree can hold is kept by the manifest, restored, and named as not in the patch' '
	untreeable p/odd && id=ban && new_workspace && state_of "$ws" >want && grep "odd/git~1" want && grep "odd/.GIT	" want &&
	git -C p fsck --strict >fsck 2>&1 && test_must_fail grep -i "hasdotgit" fsck &&
	(cd "$ws" && rm -r odd/deep && echo changed >odd/git~1 && rm odd/.GIT && untreeable .) && state_of "$ws" >work &&
	git -C p ews diff ban >patch 2>err && test_grep git~1 err && test_must_fail grep -i "b/.*git~1\|b/.*/\.git$" patch &&
	git -C p ews diff ban --json >json 2>err && json json .not_in_patch >not && grep git~1 not && grep -i "\.git" not &&
	git -C p ews revert ban >out && test_grep "Status: Verified" out && state_of "$ws" >got && test_cmp want got &&
	git -C p gc -q --prune=now && git -C p ews undo ban && state_of "$ws" >got && test_cmp work got &&
	snap=$(git -C p ews snapshot create ban) && rm -rf "${ws:?}"/.GIT "${ws:?}"/git~1 "${ws:?}"/deep && git -C p ews revert --to $snap ban >out && state_of "$ws" >got && test_cmp work got
'

# deep_tree <dir> <levels>: directories of names of 100 bytes in one another, a file at the bottom.
deep_tree() {
	perl -e '
		my ($dir, $levels, $name) = (@ARGV, "d" x 100);
		chdir $dir or die;
		for (1 .. $levels) { mkdir $name; chdir $name or die "at $_" }
		open my $f, ">", "bottom" or die; print $f "deep down\n"; close $f;
	' "$1" "$2"
}

# How deep it is, and what stands there.
deep_bottom() {
	perl -e '
		my ($dir, $n, $name) = ($ARGV[0], 0, "d" x 100);
		chdir $dir or die;
		$n++ while chdir $name;
		open my $f, "<", "bottom" or die; print $n, " ", <$f>;
	' "$1"
}

test_expect_success 'P2, P8: paths of more than 4,096 bytes are kept and restored, or named' '
	id=far && new_workspace && deep_tree "$ws" 60 && echo seen >"${ws:?}/seen" && state_of "$ws" >work && git -C p ews diff far >patch 2>err && grep "^+seen" patch && test_grep ddd err &&
	snap=$(git -C p ews snapshot create far 2>err) && git -C p ews revert far >out 2>err && test_grep "Status: Verified" out &&
	test_path_is_missing "${ws:?}/seen" && test ! -e "${ws:?}/$(printf "%100s" "" | tr " " d)" &&
	git -C p ews undo far && test "$(deep_bottom "$ws")" = "60 deep down" &&
	git -C p ews revert far >out && git -C p ews revert --to $snap far >out && test "$(deep_bottom "$ws")" = "60 deep down" &&
	git -C p ews end far && test_path_is_missing "$ws" && git -C p ews undo far && test "$(deep_bottom "$ws")" = "60 deep down" && git -C p ews end far
'

test_expect_success 'P2: a thousand levels' '
	id=levels && new_workspace && perl -e "chdir shift; for (1 .. 1000) { mkdir q(x); chdir q(x) or die }; open F, q(>f); print F 1" "$ws" &&
	git -C p ews revert levels >out && test_grep "Status: Verified" out && test_path_is_missing "${ws:?}/x" && git -C p ews undo levels && test_path_is_dir "${ws:?}/x/x/x/x"
'

test_expect_success 'P2: links that dangle, are absolute, lead to directories or around' '
	id=links && new_workspace && (
		cd "$ws" && ln -s loop loop && ln -s ../.. up && ln -s / root && ln -s "$SHARNESS_TRASH_DIRECTORY/outside" out-there && ln -s . self && ln -s a b && ln -s b a &&
		{ ln -s "$(printf "%4000s" "" | tr " " t)" long 2>/dev/null || ln -s "$(printf "%1000s" "" | tr " " t)" long; } && ln -s "new
line" nl && ln -s "$(printf "\377")" raw
	) && state_of "$ws" >work && snap=$(git -C p ews snapshot create links) && git -C p ews diff links >patch && grep "^+/\$" patch &&
	git -C p ews revert links >out && test_path_is_missing "${ws:?}/loop" && git -C p ews revert --to $snap links >out && state_of "$ws" >got && test_cmp work got &&
	"$EWS_SRC/t/lister" outside >outside.got && test_cmp outside.want outside.got
'

test_expect_success 'P5: a directory that became a link to outside: it is a directory again, and outside is as it was' '
	id=swap && new_workspace && state_of "$ws" >want && (
		cd "$ws" && for d in src docs src/deep; do
			rm -rf $d && ln -s "$SHARNESS_TRASH_DIRECTORY/outside" $d && git -C "$SHARNESS_TRASH_DIRECTORY/p" ews revert swap >"$SHARNESS_TRASH_DIRECTORY/out" || exit 1
		done
	) && state_of "$ws" >got && test_cmp want got && "$EWS_SRC/t/lister" outside >outside.got && test_cmp outside.want outside.got
'

test_expect_success 'P5: a file is not written through a directory that became a link' '
	id=below && new_workspace && mkdir below-out && echo outside >below-out/main.c && "$EWS_SRC/t/lister" below-out >below.want &&
	rm -rf "${ws:?}/src" && ln -s "$PWD/below-out" "${ws:?}/src" && git -C p ews revert below -- src/main.c src/numbers >out && test_grep "^  Status: Verified\$" out &&
	"$EWS_SRC/t/lister" below-out >below.got && test_cmp below.want below.got && cmp p/src/main.c "${ws:?}/src/main.c" && test "$(find "${ws:?}/src" ! -type d | wc -l)" = 2 &&
	git -C p ews undo below && test "$(readlink "${ws:?}/src")" = "$PWD/below-out" && "$EWS_SRC/t/lister" below-out >below.got && test_cmp below.want below.got &&
	git -C p ews revert below >out && test_grep "Status: Verified" out && cmp p/src/main.c "${ws:?}/src/main.c"
'

test_expect_success 'P5: a directory that is swapped for a link while revert runs, a thousand times: nothing outside changes' '
	id=race && new_workspace && mkdir race-out && for i in 1 2 3 4 5 6 7 8; do echo outside $i >race-out/f$i && echo outside >race-out/main.c || return 1; done &&
	mkdir race-out/deep && echo outside >race-out/deep/no-newline && "$EWS_SRC/t/lister" race-out >race.want && rm -f race.count &&
	{ perl -e "
		my (\$ws, \$out, \$count) = @ARGV; my \$n = 0;
		while (!-e \"\$count.stop\" || \$n < 1000) {
			rename \"\$ws/src\", \"\$ws/src.real\"; symlink \$out, \"\$ws/src\"; \$n++;
			unlink \"\$ws/src\"; rename \"\$ws/src.real\", \"\$ws/src\";
			last if \$n > 10000000;
		}
		open F, q(>), \$count; print F \$n; close F;
	" "$ws" "$PWD/race-out" "$PWD/race.count" >/dev/null 2>&1 3>&- 4>&- 5>&- & } && pid=$! && test_when_finished "touch race.count.stop; wait $pid; :" &&
	i=0 && n=25 && { test -z "$TEST_LONG" || n=200; } && while test $i -lt $n; do
		i=$((i + 1)) && for f in main.c numbers deep/no-newline deep/er/file new$i; do echo $i 2>/dev/null >"${ws:?}/src.real/$f"; done
		rc=0 && { timeout 60 git -C p ews revert race >out 2>err || rc=$?; } && case $rc in 0 | 1 | 128) ;; *) echo >&2 "revert gave $rc" && return 1 ;; esac
		"$EWS_SRC/t/lister" race-out >race.got && sed -i "s/^new[0-9]*	.*//; /^\$/d" race.got && test_cmp race.want race.got || return 1
		test $rc != 0 || test_grep "Status: Verified" out || return 1
	done && touch race.count.stop && wait $pid && test "$(cat race.count)" -ge 1000 &&
	git -C p ews recover --all >out 2>&1 && rm -rf "${ws:?}/src" "${ws:?}/src.real" && git -C p ews revert race >out && test_grep "Status: Verified" out && test_same_tree p "$ws"
'

test_expect_success 'P8: FIFOs and sockets are named, never opened, and revert takes them away' '
	id=fifo && new_workspace && state_of "$ws" >want && (
		cd "$ws" && rm src/main.c && mkfifo src/main.c && mkfifo pipe && perl -MSocket -e "socket(S, PF_UNIX, SOCK_STREAM, 0) && bind(S, sockaddr_un(q(sock))) or die"
	) && timeout 10 git -C p ews snapshot create fifo >out 2>err && test_grep sock err && timeout 10 git -C p ews diff fifo >out 2>err && test_grep sock err && test_grep pipe err &&
	timeout 10 git -C p ews status >out && timeout 10 git -C p ews revert fifo >out 2>err && test_grep "Status: Verified" out && state_of "$ws" >got && test_cmp want got
'

test_expect_success 'P2: a socket that a snapshot of ignored files left out stays, though it is ignored' '
	id=deep && new_workspace && (
		cd "$ws" && mkdir built.o && echo "*.o" >.gitignore && echo 1 >built.o/in && perl -MSocket -e "socket(S, PF_UNIX, SOCK_STREAM, 0) && bind(S, sockaddr_un(q(built.o/s))) or die"
	) &&
	snap=$(git -C p ews snapshot create --ignored deep) && echo 2 >"${ws:?}/built.o/in" && git -C p ews revert --to "$snap" deep >out && test_grep "Status: Verified" out &&
	test -S "${ws:?}/built.o/s" && test "$(cat "${ws:?}/built.o/in")" = 1 && git -C p ews end deep
'

test_expect_success 'P2, P8: a FIFO in the project is kept, a socket is named by start' '
	mkfifo -m 640 p/pipe && perl -MSocket -e "socket(S, PF_UNIX, SOCK_STREAM, 0) && bind(S, sockaddr_un(q(p/sock))) or die" && test_when_finished "rm -f p/pipe p/sock" &&
	id=fifo2 && new_workspace && test_grep sock fifo2.err && test -p "${ws:?}/pipe" && test "$(stat -c %a "${ws:?}/pipe")" = 640 && rm "${ws:?}/pipe" && timeout 10 git -C p ews revert fifo2 >out && test -p "${ws:?}/pipe" &&
	for again in 1 2 3; do
		sleep 0.03 && git -C p ews revert fifo2 >out 2>&1 && test_grep "Status: Verified" out && test_grep sock out || return 1
	done
'

test_expect_success ROOT 'P8: devices are named, never opened' '
	id=dev && new_workspace && if mknod "${ws:?}/null" c 1 3 2>/dev/null; then
		timeout 10 git -C p ews snapshot create dev >out 2>err && test_grep null err && git -C p ews revert dev >out && test_path_is_missing "${ws:?}/null"
	fi
'

test_expect_success 'P8: a sparse file of 1 TiB: named in a second, the rest goes on' '
	id=tib && new_workspace && if truncate -s 1T "${ws:?}/big" 2>/dev/null; then size=1T; else truncate -s 100G "${ws:?}/big"; fi && echo seen >"${ws:?}/seen" &&
	rc=0 && { timeout 3 git -C p ews snapshot create tib >out 2>err || rc=$?; } && case $rc in 0 | 1) ;; *) echo >&2 "rc $rc" && return 1 ;; esac && test_grep big err &&
	rc=0 && { timeout 3 git -C p ews diff tib >out 2>err || rc=$?; } && case $rc in 0 | 1) ;; *) false ;; esac && test_grep big err &&
	ino=$(stat -c %i "${ws:?}/big") && timeout 5 git -C p ews revert tib >out 2>err && test_grep "Status: Verified" out && test_path_is_missing "${ws:?}/big" && test_grep big err &&
	find "$HOME/.superqode" -inum $ino -path "*/trash/*" >found && test_line_count = 1 found && git -C p ews undo tib && test "$(stat -c %i "${ws:?}/big")" = $ino
'

test_expect_success 'start of a project with a file of 1 TiB: refused, or left out with --partial' '
	{ truncate -s 1T p/huge 2>/dev/null || truncate -s 100G p/huge; } && test_when_finished "rm -f p/huge" &&
	test_expect_code 1 timeout 3 git -C p ews start huge >out 2>err && test_must_be_empty out && test_grep huge err && test_must_fail git -C p rev-parse -q --verify refs/ews/sessions/huge &&
	id=part && new_workspace --partial && test_path_is_missing "${ws:?}/huge" && test_grep huge part.err
'

test_expect_success 'P2: modes without any right, on files and on directories that hold files' '
	id=modes && new_workspace && state_of "$ws" >want && (cd "$ws" && mkdir n && chmod 000 src/main.c src docs n .) &&
	git -C p ews diff modes >out 2>err && git -C p ews snapshot create modes >out && git -C p ews revert modes >out && test_grep "Status: Verified" out && state_of "$ws" >got && test_cmp want got
'

test_expect_success USERS 'P8: files an ordinary user may not read: named or opened up, never lost' '
	mkdir mine && test_repo mine/p && test_give_user mine && test_as_user git -C mine/p ews start own >own.path && take_ws own.path ow &&
	echo secret >"${ow:?}/closed" && mkdir "${ow:?}/dir" && echo in >"${ow:?}/dir/in" && test_give_user "$ow" && chmod 000 "${ow:?}/closed" "${ow:?}/dir" "${ow:?}/src" "${ow:?}/run.sh" &&
	snap=$(test_as_user git -C mine/p ews snapshot create own) && git config --global --add safe.directory "*" &&
	git -C mine/p cat-file -e refs/ews/snapshots/$snap:closed && git -C mine/p cat-file -e refs/ews/snapshots/$snap:dir/in && test "$(stat -c %a "${ow:?}/dir")" = 0 && test "$(stat -c %a "${ow:?}/closed")" = 0 &&
	test_as_user git -C mine/p ews revert own >out && test_same_tree mine/p "$ow" && test_as_user git -C mine/p ews undo own && test "$(stat -c %a "${ow:?}/dir")" = 0 && test "$(cat "${ow:?}/closed")" = secret
'

test_expect_success USERS 'P4: what an ordinary user may not read, and no snapshot has yet, goes by a revert and comes back' '
	test_as_user git -C mine/p ews start fresh >fresh.path && take_ws fresh.path ow && test_as_user sh -c "echo new >\"\$1/c\" && chmod 000 \"\$1/c\"" x "$ow" && test_as_user git -C mine/p ews revert fresh >out && test_grep "Status: Verified" out && test_path_is_missing "${ow:?}/c" &&
	test_as_user git -C mine/p ews undo fresh && test "$(stat -c %a "${ow:?}/c")" = 0 && test "$(cat "${ow:?}/c")" = new && test_as_user git -C mine/p ews snapshot create fresh >id && path=$(git -C mine/p rev-parse "refs/ews/snapshots/$(cat id):c") && rm -f "mine/p/.git/objects/${path%"${path#??}"}/${path#??}" &&
	test_as_user git -C mine/p ews revert fresh >out && test_grep "Status: Verified" out && test_as_user git -C mine/p ews undo fresh && test "$(cat "${ow:?}/c")" = new && test_as_user git -C mine/p ews end fresh
'

test_expect_success USERS,XATTR 'P2: attributes of a file without any right come and go with it' '
	test_as_user git -C mine/p ews start attrs >attrs.path && take_ws attrs.path ow && (cd "$ow" && setfattr -n user.x -v 1 run.sh && chmod 000 run.sh) && sleep 0.03 &&
	test_as_user git -C mine/p ews diff attrs >out 2>err && test_grep "run.sh (mode 0755 to 0000, extended attributes)" err && test_as_user git -C mine/p ews snapshot create attrs >out 2>err && test_grep ! run.sh err &&
	test_as_user git -C mine/p ews revert attrs >out && test_grep "Status: Verified" out && test_same_tree mine/p "$ow" && test_as_user git -C mine/p ews undo attrs && test "$(stat -c %a "${ow:?}/run.sh")" = 0 &&
	chmod 755 "${ow:?}/run.sh" && test "$(getfattr -n user.x --only-values "${ow:?}/run.sh")" = 1 && chmod 000 "${ow:?}/run.sh" && test_as_user git -C mine/p ews end attrs
'

test_expect_success 'P9: a nested repository whose configuration would run programs' '
	id=nest && new_workspace && git init -q "${ws:?}/sub" && (
		cd "${ws:?}/sub" && echo x >f && git add f && git commit -qm x && git config core.fsmonitor "touch \"$SHARNESS_TRASH_DIRECTORY/ran\"; false" &&
		git config core.pager "touch \"$SHARNESS_TRASH_DIRECTORY/ran\"" && git config filter.x.clean "touch \"$SHARNESS_TRASH_DIRECTORY/ran\"" && echo "* filter=x" >.gitattributes && echo y >f
	) && git -c core.fsmonitor=false -C "$ws" update-index --add --cacheinfo 160000,$(git -C "${ws:?}/sub" -c core.fsmonitor=false rev-parse HEAD),sub && rm -f ran &&
	git -C p ews status >out && git -C p ews diff nest >out 2>err && git -C p ews snapshot create nest >out 2>err && git -C p ews revert nest >out 2>err && git -C p ews undo nest && git -C p ews end nest && test_path_is_missing ran
'

test_expect_success 'P2, P9: line ends under autocrlf, clean and smudge filters, ident: bytes are bytes' '
	test_repo conv && (
		cd conv && printf "a\r\nb\n" >mixed && printf "\$Id\$\n" >ident.c && git add -A && git commit -qm m && git config core.autocrlf input && git config filter.f.clean "touch \"$SHARNESS_TRASH_DIRECTORY/ran\"; tr a b" &&
		git config filter.f.smudge "touch \"$SHARNESS_TRASH_DIRECTORY/ran\"; tr b a" && git config filter.f.required true && git config core.fsmonitor "touch \"$SHARNESS_TRASH_DIRECTORY/ran\"; false"
	) && rm -f ran && start_ws -n cw conv c && printf "* filter=f text=auto eol=crlf\n*.c ident\n*.txt working-tree-encoding=UTF-16\n" >"${cw:?}/.gitattributes" &&
	state_of "$cw" >work && snap=$(git -C conv ews snapshot create c) && printf "x\r\ny\n" >"${cw:?}/mixed" && echo "\$Id: 123 \$" >"${cw:?}/ident.c" && rm "${cw:?}/docs/crlf.txt" &&
	git -C conv ews revert --to $snap c >out && test_grep "Status: Verified" out && state_of "$cw" >got && test_cmp work got && git -C conv ews revert c >out && test_same_tree conv "$cw" && test_path_is_missing ran
'

test_expect_success 'P5: who replaces the root of the workspace by a link reaches nothing' '
	id=root && new_workspace && mv "$ws" moved && ln -s "$PWD/outside" "$ws" && for verb in "diff root" "revert root" "snapshot create root"; do
		rc=0 && { git -C p ews $verb >out 2>err || rc=$?; } && case $rc in 1 | 128) ;; *) return 1 ;; esac && test_must_be_empty out || return 1
	done && "$EWS_SRC/t/lister" outside >outside.got && test_cmp outside.want outside.got && rm "$ws" && mv moved "$ws" && git -C p ews revert root >out
'

test_expect_success 'P5: end of a workspace full of links touches nothing they lead to' '
	ln -s "$PWD/outside" "${ws:?}/l1" && ln -s "$PWD/p" "${ws:?}/l2" && rm -rf "${ws:?}/src" && ln -s "$PWD/outside" "${ws:?}/src" && test_fingerprint p >before && git -C p ews end root &&
	test_fingerprint p >after && test_cmp before after && "$EWS_SRC/t/lister" outside >outside.got && test_cmp outside.want outside.got
'

test_expect_success 'P2, P4, P8: a HEAD that was ruined is named and kept; revert brings a sound one back, undo the ruined one, and end keeps it' '
	test_repo ruined && for method in worktree snapshot; do
		id=ruin-$method && timeout 60 git -C ruined ews start --method $method $id >path && take_ws path && admin=$(git -C "$ws" rev-parse --absolute-git-dir) && head=${admin:?}/HEAD && cp "${head:?}" sound && gone=$(tr 0-9a-f 1-9a-f0 <sound) || return 1
		for how in nonsense "" "$gone" missing; do
			echo "edit $how" >"${ws:?}/edit" && echo "$how" >"${head:?}" && { test "$how" != missing || rm "${head:?}"; } && cp "${ws:?}/edit" want &&
			git -C ruined ews revert $id >out 2>err && test_grep "Status: Verified" out && test_path_is_missing "${ws:?}/edit" && test_cmp sound "${head:?}" && { test "$method$how" = "snapshot$gone" || test_grep "^warning: HEAD was damaged: snap-[^ ]* has what it said" err; } &&
			git -C ruined ews undo $id && test_cmp want "${ws:?}/edit" && { test "$how" = missing && test_path_is_missing "${head:?}" || test "$(cat "${head:?}")" = "$how"; } && git -C ruined ews revert --json $id >json 2>err && test_json json .verified true || return 1
		done
		echo kept >"${ws:?}/kept" && echo nonsense >"${head:?}" && git -C ruined ews end $id >out 2>err && test_grep "^warning: HEAD was damaged: snap-[^ ]* has what it said" err && git -C ruined ews undo $id && test_grep kept "${ws:?}/kept" && test "$(cat "${head:?}")" = nonsense && git -C ruined ews end $id || return 1
	done
'

test_expect_success 'P2, P4: a workspace that was made a bare repository is reverted, and ended, as any other' '
	test_repo bared && mkdir bared-plain && echo 1 >bared-plain/a && for project in bared bared-plain; do
		(cd $project && git ews start bare-$project >../path) && take_ws path && "$EWS_SRC/t/lister" -x .git "${ws:?}" >all && grep -v "^[.]	" all >want && { test ! -e "${ws:?}/.git" || mv "${ws:?}/.git" gitfile-of-it; } && git init -q --bare "${ws:?}" && echo more >>"${ws:?}/HEAD" &&
		(cd $project && git ews revert bare-$project) >out && test_grep "Status: Verified" out && "$EWS_SRC/t/lister" -x .git "${ws:?}" >all && grep -v "^[.]	" all >got && test_cmp want got && (cd $project && git ews undo) && test_path_is_file "${ws:?}/HEAD" && (cd $project && git ews end bare-$project) || return 1
	done
'

test_done
