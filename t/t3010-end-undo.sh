#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='end and undo: nothing is lost (P4), each step goes back and forth again, from any process'

. "$(dirname "$0")/test-lib.sh"

# All of the workspace <dir> that an undone end must give back.
state_of() (
	"$EWS_SRC/t/lister" -x .git -x .superqode "$1" | sed -E 's/	(d [0-7]+) [0-9.]+ /	\1 - /' &&
		cd "$1" && admin=$(git rev-parse --absolute-git-dir) &&
		(cd "$admin" && sha256sum HEAD index && stat -c 'index %y' index) &&
		GIT_OPTIONAL_LOCKS=0 git status --porcelain=v2 -uall && stat -c 'root %i' .
)

# new_session <id>: a session of p with changes; $ws, and its state in <id>.base and <id>.work.
new_session() {
	git -C p ews start "$1" >"$1.path" 2>"$1.err" && take_ws "$1.path" && state_of "$ws" >"$1.base" && (
		cd "$ws" && echo edit >>src/main.c && git add src/main.c && echo edit >>src/main.c && echo new >new && rm docs/crlf.txt &&
			mkdir hollow && chmod 600 src/numbers && ln -s new src/to-new
	) && state_of "$ws" >"$1.work"
}

# in_trash <text>: how many snapshots in trash hold a file with exactly this line?
in_trash() {
	git -C p for-each-ref --format='%(refname)' refs/ews/trash >trash.refs &&
		n=0 && while read -r ref; do
			! git -C p grep -q -e "^$1\$" "$ref" || n=$((n + 1))
		done <trash.refs && echo "$n"
}

test_expect_success 'setup' '
	test_repo p && (cd p && echo uncommitted >>src/log && echo untracked >untracked)
'

test_expect_success 'P4: end takes workspace and registration away, keeps the difference, and says how to get it back' '
	new_session one && B=$(git -C p rev-parse "refs/ews/snapshots/$(git -C p ews snapshot create one)^{tree}") &&
	test_fingerprint p >before &&
	git -C p ews end one >out 2>err && cat out err >both &&
	test_path_is_missing "$ws" && test_path_is_missing p/.git/worktrees/one &&
	git -C p worktree list --porcelain >list && test_grep ! "/one$" list &&
	test_grep "ews undo" both && test_fingerprint p >after && test_cmp before after &&
	git -C p for-each-ref --format="%(tree)" refs/ews/trash >trees && test_grep "^$B\$" trees &&
	git -C p ews status >out && test_grep ! "^ *one " out && git -C p ews status --ended >out && test_grep "^ *one " out &&
	git -C p ews status --json --ended one >out && test_json out ".sessions[0].state" ended
'

test_expect_success 'ending again is no error, and says so; an id that never was is one' '
	git -C p ews end one >out 2>err && cat out err >both && test_grep -i "ended" both &&
	test_expect_code 128 git -C p ews end never >out 2>err && test_grep never err &&
	test_expect_code 128 git -C p ews end --json never >out 2>err && test_json out .error.code not_found
'

test_expect_success 'an undone end, from a second process: the workspace is back, to the last byte and inode' '
	sh -c "cd p && exec git ews undo" >out 2>err && cat out err >both && test_grep "$ws" both &&
	state_of "$ws" >got && test_cmp one.work got &&
	git -C p worktree list --porcelain >list && test_grep "^worktree $ws\$" list && test_grep "^locked ews session one\$" list &&
	git -C p ews status --json one >out && test_json out ".sessions[0].state" active &&
	git -C p ews diff one >got && test -s got && git -C p ews revert one >out && test_grep "Status: Verified" out &&
	git -C p ews undo one >out && state_of "$ws" >got && test_cmp one.work got
'

test_expect_success 'undo --redo ends it again, and undo brings it back again' '
	git -C p ews end one && git -C p ews undo && sh -c "cd p && exec git ews undo --redo" && test_path_is_missing "$ws" &&
	test_path_is_missing p/.git/worktrees/one &&
	sh -c "cd p && exec git ews undo" && state_of "$ws" >got && test_cmp one.work got
'

test_expect_success 'several at once, and all that is kept is there after gc' '
	new_session two && two=$ws && new_session three && three=$ws &&
	git -C p ews end two three >out 2>err && test_path_is_missing "$two" && test_path_is_missing "$three" &&
	git -C p gc -q --prune=now && git -C p fsck --strict &&
	git -C p ews undo && git -C p ews undo && state_of "$two" >got && test_cmp two.work got && state_of "$three" >got && test_cmp three.work got
'

test_expect_success 'an end of a session without changes; and of one whose branch of commits nobody else has' '
	start_ws p clean && state_of "$ws" >want && git -C p ews end clean && git -C p ews undo clean &&
	state_of "$ws" >got && test_cmp want got && git -C p ews end clean &&
	start_ws p commits && (cd "$ws" && git add -A && git commit -qm "only here" && git rev-parse HEAD) >id &&
	git -C p ews end commits && git -C p reflog expire --expire=now --all && git -C p gc -q --prune=now &&
	git -C p cat-file -e "$(cat id)^{commit}" && git -C p ews undo commits && test "$(git -C "$ws" rev-parse HEAD)" = "$(cat id)"
'

hold() {
	mkfifo "$1.fifo" && { sh -c "$2" <"$1.fifo" >hold.out 2>&1 3>&- 4>&- 5>&- & } && echo $! >"$1.pid" && exec 8>"$1.fifo" &&
		test_wait_for 20 test -s hold.out
}

let_go() {
	exec 8>&- && wait "$(cat "$1.pid")"
	rm -f "$1.fifo" hold.out
}

test_expect_success 'P4: commits that only refs of the workspace name, or its reflog, are kept by end, though no file differs' '
	test_repo own && for how in "update-ref refs/worktree/keep" "update-ref refs/bisect/bad" "reset -q --soft"; do
		start_ws own o && c=$(git -C "$ws" commit-tree -m own "HEAD^{tree}") && git -C "$ws" $how $c && { test "$how" != "reset -q --soft" || git -C "$ws" reset -q --soft HEAD@{1}; } &&
		git -C own ews end --dry-run --json o >out && test_json out ".sessions[0].differs" true && test_expect_code 1 git -C own ews clean o >out 2>err && test_path_is_dir "$ws" && git -C own ews end o && git -C own gc -q --prune=now && git -C own ews undo o && test "$(git -C "$ws" cat-file -t $c)" = commit && git -C "$ws" for-each-ref >out && { test "$how" = "reset -q --soft" || test_grep "$c" out; } && git -C own ews end o || return 1
	done &&
	start_ws own o && git -C "$ws" update-ref refs/worktree/old HEAD^ && git -C own ews end o >out && test_grep "nothing differed" out
'

# What an agent does that works on while its session ends: his.id is the commit.
work_late() {
	(cd "${ws:?}" && git commit -q --allow-empty -m his && git rev-parse HEAD && echo staged >his && git add his && rm his && echo written >written) >his.id
}

# All of it is there again, after git has tidied up.
has_late() {
	git -C while gc -q --prune=now && git -C while ews undo late && test "$(git -C "$ws" rev-parse "HEAD^{commit}")" = "$(cat his.id)" && git -C while fsck --strict &&
		test "$(git -C "$ws" show :his)" = staged && says written "${ws:?}/written"
}

test_expect_success STRACE 'P4: what is committed, staged or written in a workspace while its session ends comes back, and outlives a gc: also of one where nothing differed, and made from the snapshot' '
	test_repo while && for edit in : "echo edit >>\"\${ws:?}/src/main.c\""; do
		start_ws while late && eval "$edit" && test_stopped_at newfstatat worktrees/late work_late -C while end --force late && test_grep "Kept: snap-" out && has_late && git -C while ews end --force late || return 1
	done && git -C while ews undo late && git -C "$ws" reset -q --hard && test_stopped_at newfstatat worktrees/late work_late -C while end --force late && rm -r home/.superqode/working/while/trash/op-* &&
	git -C while gc -q --prune=now && git -C while ews undo late && test "$(git -C "$ws" rev-parse "HEAD^{commit}")" = "$(cat his.id)" && test "$(git -C "$ws" show :his)" = staged && git -C while ews end late
'

test_expect_success 'P4: so does what came before recover goes on with an end that was killed' '
	start_ws while late && echo edit >>"${ws:?}/src/main.c" && test_expect_code 137 "$EWS_BUILD/t/killat" -w 60 -c "worktrees/late.*ews/late" 1 git-ews -C while end --force late && work_late && git -C while ews recover --all && test_path_is_missing "$ws" && has_late && git -C while ews end late
'

test_expect_success 'end refuses while another process stands in the workspace, and names it' '
	new_session busy && hold busy "cd \"${ws:?}/src\" && echo ready && read x; :" && test_when_finished "let_go busy" &&
	test_expect_code 1 git -C p ews end busy >out 2>err && test_grep "$(cat busy.pid)" err && test_grep "^hint: " err &&
	state_of "$ws" >got && test_cmp busy.work got &&
	test_expect_code 1 git -C p ews end --json busy >out 2>err && test_json out .error.code busy &&
	git -C p ews end --force busy && test_path_is_missing "$ws"
'

test_expect_success 'and while one has a file in it open, or runs a program of it' '
	git -C p ews undo busy && hold busy "exec 9<\"${ws:?}/new\" && echo ready && read x; :" &&
	test_expect_code 1 git -C p ews end busy 2>err && test_grep "$(cat busy.pid)" err && let_go busy &&
	cp "$(command -v sleep)" "${ws:?}/program" && { "${ws:?}/program" 60 >/dev/null 2>&1 3>&- 4>&- 5>&- & } && pid=$! && test_when_finished "kill $pid; wait $pid; :" &&
	test_wait_for 20 grep -q program /proc/${pid:?}/comm && test_expect_code 1 git -C p ews end busy 2>err && test_grep $pid err
'

test_expect_success STRACE 'P1, P4: whoever can not be looked for just now may be there: the workspace stays as it is' '
	new_session unseen && hold unseen "cd \"${ws:?}/src\" && echo ready && read x; :" && test_when_finished "let_go unseen" &&
	for fault in "/proc openat:error=EMFILE" "/proc openat:error=EIO:when=2+" "/proc getdents64:error=EIO" "/proc/self/mounts openat:error=EMFILE"; do
		calls=${fault#* } && test_expect_code 128 test_strace trace -P "${fault% *}" -e trace="${calls%%:*}" -e inject="$calls" "$EWS_BIN/git-ews" -C p end unseen 2>err &&
		test_grep INJECTED trace && test_grep "^error: cannot look for what is in use: " err && state_of "$ws" >got && test_cmp unseen.work got || { echo >&2 "$fault"; return 1; }
	done
'

test_expect_success 'the caller and its ancestors do not count' '
	git -C p ews end busy && new_session inside &&
	sh -c "cd \"$ws\" && sh -c \"git ews end\"" >out 2>err && test_path_is_missing "$ws" &&
	cat out err >both && test_grep "cd '\''$PWD/p'\''" both && git -C p ews undo inside && state_of "$ws" >got && test_cmp inside.work got
'

test_expect_success 'what a command leaves behind it for a moment, as git its maintenance, is waited for' '
	new_session brief && { (cd "$ws" && exec sleep 0.3) >/dev/null 2>&1 3>&- 4>&- 5>&- & } && git -C p ews end brief && test_path_is_missing "$ws" && wait $!
'

test_expect_success STRACE 'meanwhile the session is nobody'"'"'s to keep others from' '
	new_session meant && hold meant "cd \"$ws\" && echo ready && read x; :" && test_when_finished "let_go meant" && rm -f stopped.log &&
	{ test_strace stopped.log -qq -e trace=clock_nanosleep -e inject=clock_nanosleep:signal=SIGSTOP:when=1 "$EWS_BIN/git-ews" -C p end meant >out 2>err 3>&- 4>&- 5>&- & } && test_wait_for 30 grep -qs "stopped by SIGSTOP" stopped.log && code=0 && { git -C p ews snapshot create meant >snap 2>said || code=$?; } &&
	kill -CONT "$(sed -n "s/^\([0-9]*\) .*/\1/p; q" stopped.log)" && test_expect_code 1 wait $! && test_grep "is in use by" err && test $code = 0
'

test_expect_success 'a name that another workspace has as its prefix is not in use' '
	new_session pre && pre=$ws && new_session pre-longer && hold pre "cd \"$ws\" && echo ready && read x; :" && test_when_finished "let_go pre" &&
	git -C p ews end pre && test_path_is_missing "$pre" && test_path_is_dir "$ws"
'

test_expect_success 'P4: an undone revert, from a second process, and done again' '
	new_session rev && git -C p ews revert rev >out && state_of "$ws" >got && test_cmp rev.base got &&
	sh -c "cd p && exec git ews undo rev" >out 2>err && state_of "$ws" >got && test_cmp rev.work got &&
	sh -c "cd p && exec git ews undo --redo rev" && state_of "$ws" >got && test_cmp rev.base got &&
	sh -c "cd \"$ws\" && exec git ews undo" && state_of "$ws" >got && test_cmp rev.work got
'

test_expect_success 'P4: what only the workspace had is back after gc: staged bytes, commits, ignored files, nested repositories' '
	new_session deep && (
		cd "$ws" && git commit -qm "kept by nobody" && echo "staged alone" >new && git add new && echo "over it" >new &&
		mkdir out && echo product >out/product && git init -q nested && echo n >nested/file && chmod 500 out && ln -s /nowhere dangling
	) && state_of "$ws" >want && blob=$(git -C "$ws" rev-parse :new) && head=$(git -C "$ws" rev-parse HEAD) &&
	git -C p ews revert deep >out 2>err && state_of "$ws" >got && test_cmp deep.base got &&
	git -C p reflog expire --expire=now --all && git -C p gc -q --prune=now && git -C p cat-file -e $blob && git -C p cat-file -e $head &&
	git -C p ews undo deep >out 2>err && state_of "$ws" >got && test_cmp want got && test "$(git -C "$ws" show :new)" = "staged alone"
'

test_expect_success 'each call steps one back, and --redo one forward' '
	new_session steps && files_of "$ws" >s1 && git -C p ews revert steps >out && files_of "$ws" >s0 &&
	echo second >"${ws:?}/second" && files_of "$ws" >s2 && git -C p ews revert steps >out &&
	git -C p ews undo steps && files_of "$ws" >got && test_cmp s2 got &&
	git -C p ews undo steps && files_of "$ws" >got && test_cmp s1 got &&
	git -C p ews undo --redo steps && git -C p ews undo --redo steps && files_of "$ws" >got && test_cmp s0 got &&
	test_expect_code 128 git -C p ews undo --redo steps 2>err && test_grep -i "nothing\|no " err &&
	git -C p ews undo steps && git -C p ews undo steps && files_of "$ws" >got && test_cmp s1 got &&
	test_expect_code 128 git -C p ews undo steps 2>err && files_of "$ws" >got && test_cmp s1 got
'

test_expect_success 'P4: an edit made since is not lost to an undo' '
	new_session since && git -C p ews revert since >out && echo "made since the revert" >>"${ws:?}/run.sh" && echo "also since" >"${ws:?}/also" &&
	git -C p ews undo since >out 2>err && test_grep "^edit\$" "${ws:?}/src/main.c" && cat out err >both && test_grep run.sh both &&
	test "$(in_trash "made since the revert")" -ge 1 && test "$(in_trash "also since")" -ge 1
'

test_expect_success 'P4: a redo that finds the same done by hand leaves that to who did it: the next undo takes none of it' '
	test_repo hand && start_ws hand h && echo work >"${ws:?}/made" && snap=$(git -C hand ews snapshot create h) && for do in "apply h" "snapshot restore --force $snap" "snapshot restore --force $snap -- made"; do
		git -C hand ews $do && git -C hand ews undo && test_path_is_missing hand/made && echo work >hand/made && files_of hand >mine && git -C hand ews undo --redo >out && test_grep "^Done again" out && git -C hand ews undo && files_of hand >got && test_cmp mine got && git -C hand ews undo --redo && rm hand/made || return 1
	done && git -C hand ews revert h && git -C hand ews undo h && rm "${ws:?}/made" && git -C hand ews undo --redo h && git -C hand ews undo h && test_path_is_missing "${ws:?}/made" && rm -rf "${HOME:?}/.superqode/working/hand" hand
'

test_expect_success 'P4: restore into a session, undone and done again' '
	new_session res && snap=$(git -C p ews snapshot create res) && echo third >"${ws:?}/third" && rm "${ws:?}/new" && state_of "$ws" >want &&
	git -C p ews snapshot restore $snap res --force >out 2>err && state_of "$ws" >got && test_cmp res.work got &&
	sh -c "cd p && exec git ews undo res" && state_of "$ws" >got && test_cmp want got &&
	sh -c "cd p && exec git ews undo --redo res" && state_of "$ws" >got && test_cmp res.work got
'

test_expect_success 'P4: restore into the project keeps what was there, and is undone' '
	git clone -q p house && (cd house && echo mine >>src/main.c && echo own >own) && files_of house >want &&
	(cd house && git ews start hs >../hs.path && take_ws ../hs.path && echo theirs >>"${ws:?}/src/numbers" && git ews snapshot create hs >../snap) &&
	(cd house && echo precious >>run.sh && rm empty) && files_of house >mine && cp house/.git/index index.before &&
	test_must_fail git -C house ews snapshot restore $(cat snap) >out 2>err </dev/null && files_of house >got && test_cmp mine got &&
	(cd house && git ews snapshot restore $(cat ../snap) --force) >out 2>err && grep theirs house/src/numbers && test_must_fail grep precious house/run.sh &&
	cmp index.before house/.git/index &&
	sh -c "cd house && exec git ews undo" && files_of house >got && test_cmp mine got &&
	sh -c "cd house && exec git ews undo --redo" && grep theirs house/src/numbers && git -C house ews undo && files_of house >got && test_cmp mine got
'

test_expect_success 'P4: restore into a session or the project says what it took back, and what brings that back, as revert does' '
	test_repo told-of && start_ws told-of s && change() { (cd "${1:?}" && echo edit >>src/main.c && echo loose >loose && chmod 600 src/numbers); } && printf "%s\n" "Changes: 2 file(s) (+2 -0)." "- A  loose (+1 -0)" "- M  src/main.c (+1 -0)" >files && head -n 1 files >line &&
	snap=$(git -C told-of ews snapshot create s) && own=$(git -C told-of ews snapshot create) && change "$ws" && change told-of && for into in "$snap s" "$own --force"; do
		case $into in *force) undo="git ews undo" ;; *) undo="git ews undo s" ;; esac && git -C told-of ews snapshot restore -n --changes files $into >out 2>err && test_cmp files err && test_grep "^delete loose$" out &&
		git -C told-of ews snapshot restore $into >out 2>err && test_grep "Status: Verified" out && { printf "note: '"'"'%s'"'"' brings back what was there\n" "$undo" && cat line; } | test_cmp - err && git -C told-of ews ${undo#git ews} &&
		git -C told-of ews snapshot restore --changes files $into -- src >out 2>err && test_grep "^Changes: 1 file" err && test_grep "^- M  src/main.c" err && test_grep ! loose err && git -C told-of ews ${undo#git ews} && git -C told-of ews snapshot restore -q $into 2>err && test_must_be_empty err && git -C told-of ews ${undo#git ews} &&
		git -C told-of ews snapshot restore --json $into >json && test_json json .changes.total_changes 2 && test_json_count json .changes.not_in_patch 1 && test_json_count json .ref_commands 0 && git -C told-of ews snapshot restore $into >out 2>err && echo "Changes: 0 file(s) (+0 -0)." | test_cmp - err || return 1
	done && test_expect_code 129 git -C told-of ews snapshot restore --changes=all $snap s 2>err && test_grep "^error: --changes takes" err && git -C told-of ews snapshot restore $snap --to "$PWD/told-to" --json >json && test_json json .changes null && test_json json .undo null && rm -r told-to &&
	git -C told-of ews snapshot restore $snap --to "$PWD/told-to" >out 2>err && test_must_be_empty err && echo more >>"${ws:?}/run.sh" && (cd "${ws:?}" && git ews snapshot restore s >"${HOME:?}/out" 2>"${HOME:?}/err") && test_grep "git ews undo s. brings" "${HOME:?}/err"
'

test_expect_success 'P4: a dropped snapshot comes back, also after gc' '
	new_session drop && snap=$(git -C p ews snapshot create drop) && id=$(git -C p rev-parse refs/ews/snapshots/$snap) &&
	git -C p ews snapshot drop $snap && test_must_fail git -C p rev-parse -q --verify refs/ews/snapshots/$snap &&
	git -C p gc -q --prune=now && sh -c "cd p && exec git ews undo" && test "$(git -C p rev-parse refs/ews/snapshots/$snap)" = $id &&
	sh -c "cd p && exec git ews undo --redo" && test_must_fail git -C p rev-parse -q --verify refs/ews/snapshots/$snap &&
	git -C p ews undo && git -C p ews snapshot verify $snap
'

test_expect_success 'in a workspace an older step of the project is refused with the list that shows the next one' '
	test_repo older && start_ws older o && for n in 1 2; do
		echo $n >"${ws:?}/new$n" && git -C older ews apply o || return 1
	done && first=$(git -C older ews undo --list --json | sed "s/.*\"\(op-[0-9a-f-]*\)\".*/\1/") && test_expect_code 128 git -C "$ws" ews undo "$first" 2>err && test_grep "is not the next to undo of the project" err && list=$(sed -n "s/^hint: that is .*; .\(git ews.* --list\). shows the steps$/\1/p" err) && next=$(sed -n "s/^hint: that is .\(op-[0-9a-f-]*\).;.*/\1/p" err) &&
	(cd "${ws:?}" && eval "$list --json") >json && test_grep "$next" json
'

test_expect_success 'a snapshot that is named twice, or by two words, is dropped once' '
	new_session twice && snap=$(git -C p ews snapshot create twice) && git -C p ews snapshot drop -n $snap "${snap%?}" >out && echo $snap >want && test_cmp want out && git -C p ews snapshot drop $snap "${snap%?}" $snap >out 2>err && test_cmp want out &&
	test_grep "brings it back" err && git -C p ews undo --list --json >out && test_json_count out ".steps" "$(ls "$HOME"/.superqode/working/p/undo | wc -l)" && git -C p ews undo && git -C p ews snapshot verify $snap
'

test_expect_success '--list shows the steps, newest first; --dry-run does nothing' '
	new_session list && git -C p ews revert list >out && echo again >"${ws:?}/again" && git -C p ews revert list >out && git -C p ews end list &&
	git -C p ews undo --list list >out && test_line_count -ge 3 out && sed -n 1p out >first && test_grep end first && test_grep revert out &&
	git -C p ews undo --list --json list >out && test_json out .schema && git -C p for-each-ref >before &&
	git -C p ews undo --dry-run list >out 2>err && cat out err >both && test_grep end both && test_path_is_missing "$ws" &&
	git -C p for-each-ref >after && test_cmp before after
'

test_expect_success 'undo --dry-run counts what comes back out of trash as undo does, and so does --redo' '
	turns() { git -C dry ews undo "$@" -n tells >out && sed -n "/^  Paths/p" out >would && git -C dry ews undo "$@" -n --json tells >told && git -C dry ews undo "$@" tells >out && sed -n "/^  Paths/p" out >did && test_line_count = 1 would && test_cmp did would && test_json_count told .restored "$(sed "s/^  Paths: \([0-9]*\) .*/\1/" did)"; } &&
	git init -q dry && (cd dry && echo "*.o" >.gitignore && echo a >a && git add . && git commit -qm a) && start_ws dry tells && echo edit >>"${ws:?}/a" && echo 1 >"${ws:?}/1.o" && mkdir "${ws:?}/sub" && git -C "${ws:?}/sub" init -q && git -C dry ews revert tells >out 2>err && test_path_is_missing "${ws:?}/1.o" && test_path_is_missing "${ws:?}/sub" &&
	turns && test_grep " 3 restored" would && test_path_is_file "${ws:?}/1.o" && turns --redo && turns && git -C dry ews end tells
'

test_expect_success 'a session that is named: its own steps alone' '
	new_session mine && mine=$ws && new_session other && other=$ws &&
	git -C p ews revert mine >out && git -C p ews revert other >out &&
	git -C p ews undo mine && state_of "$mine" >got && test_cmp mine.work got && state_of "$other" >got && test_cmp other.base got &&
	git -C p ews undo && state_of "$other" >got && test_cmp other.work got
'

test_expect_success 'nothing to undo' '
	test_repo fresh && test_expect_code 128 git -C fresh ews undo >out 2>err && test_must_be_empty out && test -s err &&
	test_expect_code 128 git -C fresh ews undo --json >out 2>err && test_json out .error.code not_found &&
	test_expect_code 128 git -C fresh ews undo --redo 2>err && git -C fresh ews undo --list >out && test_must_be_empty out
'

test_expect_success 'P1: a ref that was moved meanwhile is named by end' '
	new_session drift && git -C "$ws" branch made-by-the-agent && git -C p ews end --force drift >out 2>err &&
	test_grep "^drift: .*made-by-the-agent" err && git -C p rev-parse -q --verify made-by-the-agent
'

test_expect_success 'P8: end keeps what no snapshot can hold' '
	new_session hard && mkfifo "${ws:?}/pipe" && git init -q "${ws:?}/nested" && echo n >"${ws:?}/nested/file" && mkdir "${ws:?}/out" && echo p >"${ws:?}/out/p" &&
	chmod 000 "${ws:?}/src" && timeout 20 git -C p ews end hard >out 2>err && test_path_is_missing "$ws" && test_grep nested err && test_grep "^note: 1 ignored path is not in the snapshot, but in trash" err &&
	git -C p ews undo hard && test -p "${ws:?}/pipe" && test "$(cat "${ws:?}/nested/file")" = n && test "$(stat -c %a "${ws:?}/src")" = 0 && test "$(cat "${ws:?}/out/p")" = p
'

test_expect_success 'undo refuses to put a workspace over something that stands there now' '
	new_session taken && git -C p ews end taken && mkdir "$ws" && echo precious >"${ws:?}/file" &&
	test_expect_code 128 git -C p ews undo taken 2>err && test_grep taken err && test "$(cat "${ws:?}/file")" = precious && rm -r "$ws" &&
	git -C p ews undo taken && state_of "$ws" >got && test_cmp taken.work got
'

test_expect_success 'P5: what end and undo leave in home is for its owner alone' '
	find "$HOME/.superqode" \( -path "*/qe/*" -o -path "*/trash/*" \) -prune -o -perm /077 -print >open && test_must_be_empty open
'

# The name under which the list of steps has the oldest session that was called $1.
retired() {
	git -C p ews undo --list | awk '{ print $NF }' | grep "^$1~" | tail -n 1
}

test_expect_success 'P4: an ended session gives its id to a new one, and can still be brought back' '
	start_ws p again && echo 1 >"${ws:?}/first" && git -C p ews end again && start_ws p again && echo 2 >"${ws:?}/second" &&
	test_expect_code 128 git -C p ews start again >out 2>err && test_grep "already exists" err && test_path_is_file "${ws:?}/second" &&
	first=$(retired again) && test_expect_code 1 git -C p ews undo "$first" >out 2>err && test_grep "called .again. now" err &&
	git -C p ews end again && start_ws p again && echo 3 >"${ws:?}/third" && git -C p ews end again && git -C p gc -q --prune=now &&
	git -C p ews undo "$first" >out && test_path_is_file "${ws:?}/first" && test_path_is_missing "${ws:?}/second" &&
	git -C "$ws" status --porcelain >out && test_grep "^?? first\$" out &&
	git -C p ews revert again >out && test_grep "Status: Verified" out && git -C p ews undo again && test_path_is_file "${ws:?}/first" &&
	git -C p ews end again && git -C p ews undo "$(retired again)" && test_path_is_file "${ws:?}/second" && test_path_is_missing "${ws:?}/first" &&
	git -C p ews recover --all && git -C p ews end again && git -C p ews undo "$first" && test_path_is_file "${ws:?}/first" &&
	git -C p ews end again && git -C p fsck --strict --no-dangling
'

test_expect_success 'P4: a start that fails leaves the ended session its id' '
	start_ws p back && echo 1 >"${ws:?}/kept" && git -C p ews end back && mkdir place && : >place/back &&
	test_must_fail git -C p ews start --in "$PWD/place" back && git -C p ews undo back && test_path_is_file "${ws:?}/kept" && git -C p ews end back
'

test_expect_success 'from inside of what an end moved to trash the project is still found' '
	start_ws p within && (cd "${ws:?}" && git ews end 2>&1 && git ews list >"${HOME:?}/list" && test_grep ! within "${HOME:?}/list" && git ews undo) &&
	test_path_is_dir "$ws" && git -C p ews end within
'

# From a directory of the session "left" of $1, which has ended
means_left() {
	git -C "$1" ews end left &&
		for verb in path diff revert; do
			test_expect_code 128 git ews $verb 2>"${HOME:?}/err" && test_grep "^error: session .left. has ended\$" "${HOME:?}/err" && test_grep "^hint: .git ews undo left. brings it back" "${HOME:?}/err" || return 1
		done &&
		git ews end 2>"${HOME:?}/err" && test_grep "^note: session .left. has ended before" "${HOME:?}/err"
}

test_expect_success 'P4: who stands in what an end moved to trash means that session, and not the only other one' '
	test_repo two && start_ws -n stays two stays && echo edit >"${stays:?}/edit" && start_ws two left && two=$PWD/two && (cd "${ws:?}" && means_left "$two") &&
	start_ws two left && (cd "${ws:?}" && git -C "$two" ews end left && git -C "$two" ews start left && test_must_fail git ews end 2>"${HOME:?}/err") && test_grep "another has its id now" "${HOME:?}/err" && test_grep "^hint: .*undo left~snap-" "${HOME:?}/err" && test_path_is_dir "$ws" &&
	mkdir flat && echo 1 >flat/f && start_ws -n plain flat stays && start_ws flat --in "$PWD/flat/.superqode/own" left && flat=$PWD/flat && (cd "${ws:?}" && means_left "$flat") &&
	start_ws two --method snapshot --in "$PWD/beside" own && (cd "${ws:?}" && git -C "$two" ews end own && test_expect_code 128 git ews end 2>"${HOME:?}/err") && test_grep "is in trash" "${HOME:?}/err" &&
	test_path_is_file "${stays:?}/edit" && test_path_is_file "${plain:?}/f" && git -C two ews undo own && git -C two ews end own left stays && git -C flat ews undo left && git -C flat ews end left stays
'

test_expect_success 'end --dry-run says what there is to keep, and does nothing' '
	start_ws p dry && git -C p ews end --dry-run dry >out && test_grep "nothing differs" out && echo 1 >"${ws:?}/one" &&
	git -C p for-each-ref >before && git -C p ews end -n dry >out && test_grep "what differs" out && git -C p for-each-ref >after && test_cmp before after &&
	git -C p ews end -n --json dry >out && test_json out ".sessions[0].differs" true && git -C p ews list >list && test_grep "dry *active" list &&
	git -C p ews end dry
'

test_expect_success '--changes of end and revert: the result against the base, and what was taken back, both on stderr' '
	test_repo c && start_ws c told && (cd "$ws" && echo edit >>src/main.c && git mv run.sh ran.sh && : >"od d" && rm docs/crlf.txt && chmod 600 src/numbers) &&
	cat >files <<-\EOT &&
	Changes: 4 file(s) (+1 -2).
	- D  docs/crlf.txt (+0 -2)
	- A  od d (+0 -0)
	- R  run.sh -> ran.sh (+0 -0)
	- M  src/main.c (+1 -0)
	EOT
	head -n 1 files >line && git -C c ews diff told >patch && cat files >whole && echo >>whole && cat patch >>whole &&
	git -C c ews revert told -n --changes files >out 2>err && test_cmp files err && git -C c ews revert told --changes diff >out 2>err && test_grep "Status: Verified" out && test_grep ! Changes out && sed "/^note: /d" err >got && test_cmp whole got && git -C c ews undo -q told &&
	git -C c ews revert told >out 2>err && sed "/^note: /d" err >got && test_cmp line got && git -C c ews undo -q told && git -C c ews revert -q told >out 2>err && test_must_be_empty err && git -C c ews revert told >out 2>err && echo "Changes: 0 file(s) (+0 -0)." >nothing && test_cmp nothing err &&
	git -C c ews undo -q told && git -C c ews revert told --json -- src/main.c >out && test_json out .changes.total_changes 1 && test_json out .changes.change_summary.additions 1 && test_json_missing out .changes.changes && git -C c ews undo -q told && git -C c ews revert told --json --changes none -n >out && test_json out .changes null &&
	for list in files whole line; do echo "warning: not in the patch: src/numbers (mode 0644 to 0600)" >>$list || return 1; done && git -C c ews end -n --changes files told >out 2>err && test_cmp files err && git -C c ews end told --changes diff >out 2>err && test_cmp whole err && git -C c ews undo -q told &&
	git -C c ews end told >out 2>err && test_cmp line err && git -C c ews undo -q told && git -C c ews end told -q >out 2>err && test_must_be_empty err && git -C c ews undo -q told &&
	git -C c ews end told --json --changes files >out && test_json out ".sessions[0].changes.renames" 1 && test_json_count out ".sessions[0].changes.changes" 4 && test_json_count out ".sessions[0].changes.not_in_patch" 1 && git -C c ews end told --json >out && test_json out ".sessions[0].changes" null && git -C c ews undo -q told &&
	for verb in "end told" "revert told" "diff told" "run told -- true"; do
		set -- $verb && verb=$1 && shift && test_expect_code $(test $verb = run && echo 125 || echo 129) git -C c ews $verb --changes=all "$@" 2>err && test_grep "^error: --changes takes" err || return 1
	done && mv "$ws" gone && git -C c ews end told >out 2>err && test_grep "Kept: snap-" out && test_grep "^note: the workspace was gone" err && test_line_count = 1 err &&
	start_ws c looked && git -C "$ws" status && rm -r "$ws" && git -C c ews end looked >out 2>err && test_grep "Kept: nothing, for the workspace is gone" out && test_must_be_empty err
'

test_expect_success 'P7, P8: end names what neither its patch nor its branch holds, in the words of run and diff, and each once' '
	test_repo held && cat >work.sh <<-\EOT && sed "s/^/warning: not in the patch: /" >want <<-\EOT &&
		mkdir -p hollow .GIT && echo h >.GIT/h && mkfifo pipe && chmod 600 src/numbers && echo new >new
	EOT
		.GIT (a directory that git can'"'"'t hold)
		.GIT/h (a path that git can'"'"'t hold)
		hollow (empty directory)
		pipe (fifo)
		src/numbers (mode 0644 to 0600)
	EOT
	begin_held() { start_ws held "$@" h && (cd "${ws:?}" && . "${OLDPWD:?}/work.sh"); } && named() { grep "$1 the \(patch\|branch\)" err >got && sed "s|not in the patch|$1 the $2|" want | test_cmp - got; } &&
	begin_held && git -C held ews diff h >out 2>err && test_cmp want err && git -C held ews run h -- true 2>err && named "not in" patch && for how in "" --no-artifacts --dry-run --pending "--changes files"; do
		git -C held ews end $how h >out 2>err && test_grep "^Changes: 1 file" err && named "not in" patch && case $how in --dry-run) ;; *) git -C held ews undo -q h ;; esac || return 1
	done && git -C held ews end --branch b h >out 2>err && named "not on" branch && git -C held ews end --branch late h >out 2>err && named "not on" branch && git -C held ews end --branch later --json h >out && test_json_count out ".sessions[0].left_out" 5 && test_json out ".sessions[0].left_out[3].path" pipe &&
	for way in patch branch; do
		begin_held --method in-place && git -C held ews end $(test $way = patch || echo --branch inside) h >out 2>err && named "$(test $way = patch && echo not in || echo not on)" $way || return 1
	done &&
	start_ws held h && head -c 3000 /dev/zero >"${ws:?}/big" && git init -q "${ws:?}/own" && git -C held -c ews.maxFile=1000 ews end h >out 2>err && grep "not in" err >got && printf "warning: not in the snapshot, but in trash: %s\n" "big (too-large)" "own (repository)" | test_cmp - got &&
	git -C held ews undo -q h && git -C held -c ews.maxFile=1000 ews end --branch big h >out 2>err && grep "not on" err | sort >got && printf "warning: not on the branch: %s\n" "big (too-large)" "own (repository)" | test_cmp - got && test_grep ! "not in the patch" err
'

test_expect_success 'undo takes no verb that is at work for an interrupted one, nor a session for the project that is called so' '
	test_repo slow && git -C slow ews start project && start_ws slow slow && echo edit >>"${ws:?}/run.sh" && printf "#!/bin/sh\n: >../begun; while ! test -e ../go; do sleep 0.1; done\n" >slow/.git/hooks/pre-commit && chmod +x slow/.git/hooks/pre-commit && test_when_finished ": >go" &&
	{ git -C slow ews apply --commit -m edit slow >applied 2>&1 3>&- 4>&- 5>&- & } && pid=$! && test_wait_for 20 test -e begun && test_expect_code 1 git -C slow ews undo 2>err && test_grep "^error: .project. is locked by process .*apply" err && test_grep ! recover err &&
	git -C slow ews snapshot create project && : >go && wait $pid && git -C slow ews undo && git -C slow ews end slow project
'

# lost <project>: by hand, all that is in trash goes.
lost() {
	git -C "$1" for-each-ref --format="delete %(refname)" refs/ews/trash >refs.lost && git -C "$1" update-ref --stdin <refs.lost && rm -rf "${HOME:?}/.superqode/working/${1:?}/trash"
}

# ended <project>: a new one, of which the session x has ended with work in it.
ended() {
	rm -rf "${1:?}" "${HOME:?}/.superqode/working/$1" && test_repo "$1" && start_ws "$1" x && echo new >"${ws:?}/new" && git -C "$1" ews end x --no-artifacts >end.out 2>&1
}

# beside_clean <lock> <project>: an undo that is stopped when it opens the lock, and goes on once all of trash is empty.
beside_clean() {
	rm -f calls && { test_strace calls -P "$1" -e trace=openat -e inject=openat:signal=SIGSTOP:when=1 git -C "$2" ews undo >undo.out 2>undo.err 3>&- 4>&- 5>&- & } && undo=$! &&
		test_wait_for 20 grep -s "stopped by SIGSTOP" calls && { git -C "$2" ews clean --now >clean.out 2>clean.err || :; } && kill -s CONT "$(sed -n "/stopped by SIGSTOP/s/ .*//p" calls)" && { wait "$undo" || :; } && test_grep "expired" undo.err
}

# Nothing of <project> is held up by what is left of x.
is_free() {
	git -C "$1" ews recover --all >recover.out 2>recover.err && test_grep "nothing is interrupted" recover.err && git -C "$1" ews start x >start.out && git -C "$1" ews end x >end.out 2>&1 && git -C "$1" ews undo >undo.out 2>&1 && git -C "$1" ews end x >end.out 2>&1
}

test_expect_success STRACE 'P4: an undo that meets a clean --now takes up nothing that this has let go of' '
	ended lost && beside_clean x lost && is_free lost && archive=$(git -C lost ews archive create) && git -C lost ews archive remove "$archive" && beside_clean "~project" lost && is_free lost
'

test_expect_success 'P4: undo looks whether there is anything to bring back before it begins' '
	ended lost && lost lost && test_expect_code 128 git -C lost ews undo -n x 2>err && test_grep "trash has let go of it" err && test_expect_code 128 git -C lost ews undo x 2>err && test_grep "trash has let go of it" err && is_free lost &&
	archive=$(git -C lost ews archive create) && git -C lost ews archive remove "$archive" && lost lost && test_expect_code 128 git -C lost ews undo 2>err && test_grep "trash has let go of it" err && is_free lost &&
	start_ws lost same && git -C lost ews end same && lost lost && git -C lost ews undo same && git -C "${ws:?}" status --porcelain >got && test_must_be_empty got && git -C lost ews diff same >got && test_must_be_empty got
'

# undoing <project> [<session>]: its newest step says that it is being taken back, as an undo that was killed leaves it.
undoing() {
	record=$(find "$HOME/.superqode/working/${1:?}/undo" -name "op-*.json" | sort | tail -n 1) && sed -i "s/\"state\":	\"done\"/\"state\":	\"undoing\"/" "$record" && step=${record##*/} && verb=$(json "$record" .verb) &&
		{ test $# = 1 || echo "begin ${step%.json} $verb" >>"$HOME/.superqode/working/${1:?}/sessions/${2:?}/journal"; }
}

test_expect_success 'P4: what was being taken back and is gone keeps nobody from going on: recover says it' '
	ended lost && undoing lost x && lost lost && git -C lost ews recover --all >out && test_grep "session .x.: its end can.t be taken back: .*gone" out && test_json "$record" .state expired && is_free lost &&
	rm -rf lost "${HOME:?}/.superqode/working/lost" && test_repo lost && archive=$(git -C lost ews archive create) && other=$(git -C lost ews archive create src) && git -C lost ews archive remove "$archive" "$other" && undoing lost && rm "$HOME/.superqode/working/lost/trash/${step%.json}/0" &&
	git -C lost ews recover --all >out && test_grep "gone: trash has let go of it" out && test_path_is_missing "$archive" && test_path_is_file "$other" && is_free lost
'

test_expect_success 'P4: a revert, and what was done to the project, stay as far as they came back, and redo is as ever' '
	rm -rf lost "${HOME:?}/.superqode/working/lost" && test_repo lost && start_ws lost r && echo new >"${ws:?}/new" && git -C lost ews revert r && git -C lost ews undo r && git -C lost ews undo --redo r && undoing lost r && lost lost && git -C lost ews recover --all >out && test_grep "session .r.: the interrupted undo of its revert stays as far as it came" out &&
	test_json "$record" .state undone && git -C lost ews revert r && echo more >"${ws:?}/more" && git -C lost ews revert r && git -C lost ews undo r && test "$(cat "${ws:?}/more")" = more &&
	rm -rf lost "${HOME:?}/.superqode/working/lost" && test_repo lost && start_ws lost r && echo new >"${ws:?}/new" && git -C lost ews apply r && undoing lost && lost lost && git -C lost ews recover --all >out && test_grep "the project: the interrupted undo of its apply stays as far as it came" out &&
	test_path_is_file lost/new && test_json "$record" .state undone && echo more >"${ws:?}/more" && git -C lost ews apply r && git -C lost ews undo && test_path_is_file lost/new && test_path_is_missing lost/more
'

test_expect_success 'P4: a workspace whose directory somebody took out of trash comes back with what links it with the store' '
	ended lost && rm -rf "${HOME:?}/.superqode/working/lost/trash" && { git -C lost ews undo x || test $? = 1; } && test "$(cat "${ws:?}/new")" = new && git -C "${ws:?}" status --porcelain >got && test_grep new got && git -C lost ews diff x >got && test_grep "^+new" got
'

# files_beneath <n> <dir>: as many ignored ones there, with names as long as names may be
files_beneath() (
	cd "$2" && pad=$(printf "%0240d" 0) && n=$1 && while test "$n" -gt 0; do
		: >"$n$pad.o" || exit 1
		n=$((n - 1))
	done
)

test_expect_success 'P4: a step is read again, however many paths it took away' '
	test_repo many && deep=$(printf "%0200d/" 1 2 3 4 5 6 7 8 9 10 11 12 13 14) && mkdir -p "many/$deep" && echo tracked >"many/${deep}t" && git -C many add . && git -C many commit -q -m deep && start_ws many m && files_beneath 6000 "${ws:?}/$deep" &&
	git -C many ews revert m >out 2>err && record=$(find "$HOME/.superqode/working/many/undo" -name "op-*.json") && test "$(stat -c %s "$record")" -gt 16777216 && ls "${ws:?}/$deep" >got && echo t >want && test_cmp want got &&
	git -C many ews undo --list >out && test_grep " done .* revert .* m\$" out && git -C many ews undo m >out 2>err && ls "${ws:?}/$deep" >got && test_line_count = 6001 got && git -C many ews end m >out 2>err && git -C many ews clean --now -q >out
'

# beside_drop <project> <file> <verb>...: a verb that is stopped when it opens the file, as it is about to move what goes away
beside_drop() {
	ews_project=$1 file=$2 && shift 2 && rm -f calls && { test_strace calls -P "$file" -e trace=flock -e inject=flock:signal=SIGSTOP:when=1 git -C "$ews_project" ews "$@" >drop.out 2>drop.err 3>&- 4>&- 5>&- & } && drop=$! && test_wait_for 20 grep -s "stopped by SIGSTOP" calls
}

go_on() {
	kill -s CONT "$(sed -n "/stopped by SIGSTOP/s/ .*//p" calls)" && wait "$drop"
}

test_expect_success STRACE 'P4: a drop that is at work is not taken for one that was interrupted' '
	test_repo drops && start_ws drops d && echo new >"${ws:?}/new" && snap=$(git -C drops ews snapshot create d) && test_when_finished "go_on || :" && beside_drop drops "$PWD/drops/.git/refs/ews/trash/$snap.lock" snapshot drop "$snap" && test_expect_code 1 git -C drops ews undo 2>err && test_grep "^error: .project. is locked by process .*drop" err && test_grep ! recover err &&
	test_expect_code 1 git -C drops ews apply d 2>err && test_grep "^error: .project. is locked" err && test_expect_code 1 git -C drops ews recover --all >out 2>err && go_on && git -C drops rev-parse -q --verify "refs/ews/trash/$snap" && git -C drops ews undo && git -C drops rev-parse -q --verify "refs/ews/snapshots/$snap" && git -C drops ews apply d >out && git -C drops ews undo >out
'

# step_of <verb>: the id of the newest step of that verb
step_of() {
	git -C again ews undo --list >steps && awk -v verb="$1" '$4 == verb { print $1; exit }' steps
}

test_expect_success 'P4: what was done to the project is taken back by its id, though the name of a session that ended since belongs to another' '
	test_repo again && start_ws again s && echo work >>"${ws:?}/run.sh" && git -C again ews apply s && git -C again ews end s && start_ws again s && applied=$(step_of apply) && ended=$(step_of end) &&
	test_expect_code 1 git -C again ews undo 2>err && test_grep "^hint: .*git ews undo <step>" err && test_expect_code 128 git -C again ews undo op-none 2>err && test_grep "no step .op-none." err && test_expect_code 128 git -C again ews undo --redo "$applied" 2>err && test_grep "nothing to redo" err &&
	git -C again ews undo -n "$applied" >out && test_grep "Would undo: apply of the project" out && git -C again ews undo --json "$applied" >out && test_json out .step.id "$applied" && git -C again diff --exit-code run.sh && git -C again ews undo --redo "$applied" && test_must_fail git -C again diff --quiet run.sh &&
	echo more >>"${ws:?}/run.sh" && git -C again ews apply --force s && test_expect_code 128 git -C again ews undo "$applied" 2>err && test_grep "not the next to undo of the project" err && test_grep "^hint: that is .$(step_of apply)." err && git -C again ews undo "$(step_of apply)" && git -C again ews undo "$applied" && git -C again diff --exit-code run.sh &&
	git -C again ews end s && git -C again ews undo "$ended" && test_path_is_dir "$ws" && git -C again ews end s && test_expect_code 129 git -C again ews undo "$ended" "$applied"
'

# unseen <path> <verb>...: a verb of the project `hid` that the disk fails whenever it asks for that path itself
unseen() {
	at=$1 && shift && test_strace trace -P "$at" -e trace=newfstatat,access,faccessat,faccessat2 -e inject=newfstatat,access,faccessat,faccessat2:error=EIO git -C hid ews "$@" >out 2>err
}

for method in worktree snapshot; do
	test_expect_success STRACE "P4: a workspace that can not be looked at is not gone: nobody ends the session without it ($method)" '
		rm -rf hid && test_repo hid && start_ws hid --method '$method' hid && echo hours >"${ws:?}/new" && test_when_finished "git -C hid ews end hid" &&
		for verb in "end hid" "end --force hid" "diff hid" "revert hid"; do test_expect_code 128 unseen "$ws" $verb && test_grep "^error: .*Input/output error" err && test_grep ! "gone" err || return 1; done &&
		test_expect_code 1 unseen "$ws" doctor && test_grep "cannot look for the workspace of session .hid.: Input/output error" out && test_grep ! "end --force" out &&
		git -C hid ews status hid >out && test_grep active out && git -C hid ews end hid >out && test_grep "Kept: snap-" out && git -C hid ews undo && test_grep hours "${ws:?}/new"
	'
done

test_expect_success STRACE 'P4: nor is it given up in the end of a round, or in what recover throws away' '
	git -C hid ews round start --agent a >path && take_ws path && echo turn >"${ws:?}/new" && test_expect_code 128 unseen "$ws" round end --agent a --force && test_grep "Input/output error" err && test_grep turn "${ws:?}/new" &&
	git -C hid ews round end --agent a && { git -C hid ews run --new=dead -- sh -c "echo hours >new && echo \$\$ >begun && exec sleep 60" >out 2>err 3>&- 4>&- 5>&- & } && pid=$! && ws=$HOME/.superqode/working/hid/qe/dead && test_wait_for 20 test -s "${ws:?}/begun" && command=$(cat "${ws:?}/begun") && test_when_finished "kill -9 $command || :" && git -C hid ews status --json dead >out && kill -9 "$(json out ".sessions[0].owner.pid")" && test_expect_code 137 wait $pid &&
	test_expect_code 128 unseen "$ws" recover dead --revert && test_grep "Input/output error" err && git -C hid ews status dead >out && test_grep "active" out && test_grep hours "${ws:?}/new" && git -C hid ews end --force dead
'

test_expect_success USERS 'P4: what is kept from an ordinary user is not gone: its end fails, says why, and is done once he may look' '
	mkdir his && git clone -q p his/p && mkdir his/else && test_give_user his && git config --global --add safe.directory "*" && test_as_user git -C his/p ews start --in "$PWD/his/else" own >path && take_ws path && test_as_user sh -c "echo hours >\"\$1/new\"" x "$ws" && chmod 0 his/else &&
	test_expect_code 128 test_as_user git -C his/p ews diff own 2>err && test_grep "Permission denied" err && test_grep ! "gone\|ews end" err && test_expect_code 128 test_as_user git -C his/p ews end own 2>err && test_grep "Permission denied" err && chmod 755 his/else &&
	test_as_user git -C his/p ews recover --all 2>err && test_grep "nothing is interrupted" err && test_as_user git -C his/p ews end own >out && test_grep "Kept: snap-" out && test_as_user git -C his/p ews undo own && test_grep hours "${ws:?}/new"
'

test_expect_success 'P4: a workspace on a disk that was away when its session ended is there after all: undo brings back what is there' '
	for method in worktree snapshot; do
		mkdir disk && start_ws p --in "$PWD/disk" --method $method off && echo hours >"${ws:?}/new" && mv disk away && git -C p ews end off >out && test_grep "workspace is gone" out && mv away disk && git -C p ews undo off && test_grep hours "${ws:?}/new" && git -C "$ws" status --porcelain >out && test_grep "new" out &&
			git -C p ews doctor && git -C p ews end off >out && test_grep "Kept: snap-" out && git -C p ews undo off && test_grep hours "${ws:?}/new" && git -C p ews end off && rm -rf disk || return 1
	done
'

test_expect_success STRACE 'P4: an end that was killed took the workspace for gone, which is there after all: recover takes the end back, and nothing goes to trash unkept' '
	mkdir disk && start_ws p --in "$PWD/disk" gone && echo hours >"${ws:?}/new" && git -C p show-ref refs/ews/sessions/gone >before && mv disk away && test_expect_code 137 test_strace trace -P "$PWD/p/.git/worktrees" -e trace=renameat2 -e inject=renameat2:signal=KILL git -C p ews end gone && mv away disk &&
	git -C p ews recover --all >out && test_grep "its end was taken back: its workspace is there after all" out && test_grep hours "${ws:?}/new" && git -C p show-ref refs/ews/sessions/gone >after && test_cmp before after && git -C "$ws" status --porcelain >out && test_grep "new" out &&
	ls -A disk >left && echo gone | test_cmp - left && git -C p ews undo --list >out && test_grep ! "end .*gone" out && git -C p ews end gone >out && test_grep "Kept: snap-" out && git -C p ews undo gone && test_grep hours "${ws:?}/new" && git -C p ews end gone
'

test_expect_success 'P4: an end that kept nothing, for there was neither base nor workspace, stands in nobody else'"'"'s way' '
	start_ws p before && git -C p ews end before && start_ws p nothing && git -C p update-ref -d refs/ews/sessions/nothing && rm -rf "${ws:?}" p/.git/worktrees/nothing "$HOME/.superqode/working/p/sessions/nothing/base" &&
	git -C p ews end --force nothing >out && test_grep "Kept: nothing" out && test_grep ! "Undo:" out && git -C p ews undo && git -C p ews path before && git -C p ews end before && test_expect_code 128 git -C p ews undo nothing 2>err && test_grep "nothing left to undo" err
'

# late_git <id>: what a git leaves that was at work in the workspace while its entry was taken out
late_git() {
	mkdir -p "p/.git/worktrees/${1:?}/logs" && echo late >"p/.git/worktrees/${1:?}/logs/HEAD"
}

test_expect_success 'P4: a git that was at work while the session ended leaves a log alone: undo brings the entry back all the same, with what was staged' '
	start_ws p late && echo staged >>"${ws:?}/run.sh" && git -C "$ws" add run.sh && echo more >>"${ws:?}/run.sh" && git -C "$ws" status --porcelain=v2 >before && git -C p ews end late && late_git late && git -C p ews undo late && git -C "$ws" status --porcelain=v2 >after && test_cmp before after && test_path_is_missing p/.git/ews/late && git -C p ews end late && late_git late && start_ws p late && git -C "$ws" status --porcelain=v2 >out && git -C p ews end late &&
	mkdir -p p/.git/worktrees/late && test_must_fail git -C p ews start late 2>err && test_grep "worktree of git called .late. already exists" err && rmdir p/.git/worktrees/late &&
	mkdir -p "${ws:?}" && test_must_fail git -C p ews start late 2>err && test_grep "qe/late. already exists" err && test_grep "^hint: session .late. has ended" err && rmdir "${ws:?}"
'

test_expect_success STRACE 'P4: the same beside an end that was killed, and recover ends it' '
	start_ws p killed && echo staged >>"${ws:?}/run.sh" && git -C "$ws" add run.sh && git -C "$ws" status --porcelain=v2 >before && test_expect_code 137 test_strace trace -P worktrees -e trace=unlinkat -e inject=unlinkat:signal=KILL git -C p ews end killed && late_git killed && git -C p ews recover --all && test_path_is_missing p/.git/worktrees/killed && git -C p ews undo killed && git -C "$ws" status --porcelain=v2 >after && test_cmp before after &&
	cp -R p/.git/worktrees/killed p/.git/ews/ && git -C p ews end killed && git -C p ews undo killed && git -C "$ws" status --porcelain=v2 >after && test_cmp before after && git -C p ews end killed
'

# elsewhere <id>: a session of p whose workspace is in the directory else, with a commit
elsewhere() {
	mkdir -p else && git -C p ews start "$1" --in "$PWD/else" >path && take_ws path && echo work >>"${ws:?}/run.sh" && git -C "$ws" add -A && git -C "$ws" commit -qm work
}

test_expect_success 'P4: a session elsewhere ends, and comes back, though the directory that held its workspace is gone' '
	elsewhere lost && rm -rf else && git -C p ews end lost 2>err && test_grep "workspace was gone" err && git -C p ews recover --all && git -C p ews undo lost && git -C "$ws" log -1 --format=%s >out && echo work | test_cmp - out && git -C p ews end lost &&
	elsewhere kept && git -C p ews end kept && rm -rf else && git -C p ews undo kept && test_grep work "${ws:?}/run.sh" && git -C "$ws" status --porcelain >st && test_must_be_empty st && git -C p ews doctor && git -C p ews end kept &&
	elsewhere away && mv else away && git -C p ews end away && git -C p ews recover --all >out && test_must_be_empty out && test_grep work away/away/run.sh && git -C p ews clean --now >out && git -C p ews status >out && git -C p ews start away --method snapshot >path && take_ws path && git -C p ews end away
'

test_expect_success 'P4: what was committed in a deleted workspace in place of a submodule comes back with all else that was' '
	git init -q inner && (cd inner && echo s >s && git add . && git commit -qm one) && git init -q outer && (cd outer && echo t >t && echo d >d && git add . && git -c protocol.file.allow=always submodule --quiet add "$PWD/../inner" sub && git commit -qm one) && for how in directory file gone; do
		start_ws outer $how && (cd "${ws:?}" && git rm -qrf sub && case $how in directory) mkdir sub && echo x >sub/x ;; file) echo F >sub ;; esac && echo w >>t && git add -A && git commit -qm work) && rm -rf "${ws:?}" && git -C outer ews end $how && git -C outer ews undo $how && git -C "$ws" status --porcelain >st && test_must_be_empty st && test_grep w "${ws:?}/t" && git -C outer ews end $how || return 1
	done &&
	start_ws outer new && (cd "${ws:?}" && echo w >>t && rm d && mkdir d && git add t && git update-index --add --replace --cacheinfo "160000,$(git rev-parse HEAD),d" && git commit -qm work) && rm -rf "${ws:?}" && git -C outer ews end new && test_expect_code 1 git -C outer ews undo new 2>err && test_line_count = 2 err && test_grep "can.t be brought back, .*: sub (repository)" err && test_grep w "${ws:?}/t" && test_path_is_dir "${ws:?}/d" && git -C "$ws" diff --name-only >st && test_grep ! "^[td]\$" st && git -C outer ews end new
'

# lose <blob>: p has it no more
lose() {
	rm -f "convert/.git/objects/$(echo "$1" | cut -c1-2)/$(echo "$1" | cut -c3-)"
}

test_expect_success 'P4: a session whose workspace was deleted ends whatever of its commits is lost, and says which; what no commit touched is not asked for' '
	mkdir convert && (cd convert && git init -q && git config core.autocrlf true && git config core.safecrlf false && echo f >f && echo g >g && echo k >k && mkdir sub && echo s >sub/s && git add . && git commit -qm one) &&
	start_ws convert none && (cd "${ws:?}" && echo work >>f && git commit -qam work) && rm -rf "${ws:?}" && lose "$(git -C convert rev-parse HEAD:k)" && mkfifo convert/sub/.gitattributes && timeout 30 git -C convert ews end none 2>err && test_grep "^note: the workspace was gone: kept are the base.s files with what was committed there, its HEAD" err && test_line_count = 1 err &&
	rm convert/sub/.gitattributes && git -C convert hash-object -w k && git -C convert ews undo none && test_grep work "${ws:?}/f" && git -C "$ws" diff --name-only >st && test_must_be_empty st && git -C convert ews end none &&
	start_ws convert some && (cd "${ws:?}" && echo work >>f && echo lost >>g && git commit -qam work && git rev-parse HEAD:g >../../../../../../blob) && rm -rf "${ws:?}" && lose "$(cat blob)" && git -C convert ews end some 2>err && test_grep "not in the snapshot, but in trash: g (what was committed is lost)" err && git -C convert ews undo some && test_grep work "${ws:?}/f" && test "$(cat "${ws:?}/g")" = g && git -C convert ews end some 2>err &&
	start_ws convert tree && (cd "${ws:?}" && echo work >>f && git commit -qam work) && lose "$(git -C "$ws" rev-parse "HEAD^{tree}")" && rm -rf "${ws:?}" && git -C convert ews end tree 2>err && test_grep "^note: the workspace was gone: kept are the base.s files without what was committed there, which can.t be done to them, its HEAD" err && git -C convert ews undo tree && test "$(cat "${ws:?}/f")" = f
'

test_expect_success 'P4: so it does in a partial clone that lacks what is left out' '
	mkdir upstream && (cd upstream && git init -q && git config uploadpack.allowFilter true && mkdir in out && echo in >in/f && echo out >out/f && echo "* text eol=crlf" >.gitattributes && git add . && git commit -qm one) && git clone -q --filter=blob:none --no-checkout "file://$PWD/upstream" partial && git -C partial sparse-checkout set in && git -C partial checkout -q && git -C partial rev-list --objects --missing=print HEAD >list && test_grep "^?" list &&
	start_ws partial part && printf "more\r\n" >>"${ws:?}/in/f" && git -C "$ws" commit -qam work && rm -rf "${ws:?}" && git -C partial ews end part 2>err && test_line_count = 1 err && git -C partial ews undo part && printf "in\r\nmore\r\n" | test_cmp - "${ws:?}/in/f" && git -C "$ws" status --porcelain >st && test_must_be_empty st && git -C partial rev-list --objects --missing=print HEAD >list && test_grep "^?" list
'

test_expect_success 'P4: where that directory cannot be made anew, the session has ended as before' '
	mkdir -p above/else && git -C p ews start up --in "$PWD/above/else" >path && take_ws path && echo work >>"${ws:?}/run.sh" && git -C p ews end up && rm -rf above && : >above && test_must_fail git -C p ews undo up && git -C p ews recover --all >out && test_must_be_empty out &&
	rm above && git -C p ews undo up && test_grep work "${ws:?}/run.sh" && git -C p ews end up
'

test_expect_success 'the end of a session in place, done again, reverts nothing where git merely refreshed its index since; what was staged, or is hidden, it does' '
	test_repo seen && (cd seen && git ews start --method in-place ip && echo agent >>run.sh && git ews end ip) && for look in : "git status"; do
		(cd seen && git ews undo && eval "$look" && git ews undo --redo) && git -C seen ews undo --list >out && test_line_count = 2 out && test_grep " done *end " out && test_grep " done *revert " out || return 1
	done && git -C seen status --porcelain >out && test_must_be_empty out && git -C seen ews undo && git -C seen ews undo && test_grep agent seen/run.sh && git -C seen ews undo --redo && git -C seen ews undo --redo && git -C seen ews undo --list >out && test_line_count = 2 out && n=2 && for change in "git rm -q --cached run.sh" "git update-index --assume-unchanged run.sh"; do
		n=$((n + 1)) && git -C seen ews undo && (cd seen && eval "$change") && git -C seen ews undo --redo && git -C seen ews undo --list >out && test_line_count = $n out && git -C seen status --porcelain >out && test_must_be_empty out && git -C seen ls-files -v run.sh >out && test_grep "^H run.sh" out || return 1
	done
'

test_expect_success 'the same with a split index' '
	test_repo cut && git -C cut config core.splitIndex true && git -C cut update-index --split-index && git -C cut rev-parse --shared-index-path >out && test -s out && (cd cut && git ews start --method in-place ip && echo agent >>run.sh && git ews end ip) && for look in : "git update-index --index-version 4"; do
		(cd cut && git ews undo && eval "$look" && git ews undo --redo) && git -C cut ews undo --list >out && test_line_count = 2 out && git -C cut status --porcelain >out && test_must_be_empty out || return 1
	done && git -C cut ews undo && git -C cut rm -q --cached run.sh && git -C cut ews undo --redo && git -C cut ews undo --list >out && test_line_count = 3 out && git -C cut status --porcelain >out && test_must_be_empty out
'

# two_trees <name>: a repository of that name, and a linked work tree <name>-lw with other files; $snap is the latter's state.
two_trees() {
	test_repo "$1" && git -C "$1" worktree add -q "../$1-lw" -b "$1-lw" && (cd "$1-lw" && git rm -qr src && echo lw >b && git add b && git commit -qm lw) && snap=$(git -C "$1-lw" ews snapshot create)
}

test_expect_success 'P1: undo takes back nothing that was done in another work tree' '
	two_trees pair && echo later >pair-lw/c && git -C pair-lw ews snapshot restore --force $snap && test_path_is_missing pair-lw/c && echo mine >>pair/run.sh && files_of pair >mine && files_of pair-lw >theirs &&
	test_expect_code 128 git -C pair ews undo 2>err && test_grep "^hint: .*change to .*/pair-lw." err && git -C pair ews undo --list >out && test_line_count = 1 out && test_grep " restore .* -  .*/pair-lw\$" out && step=$(cut -d" " -f1 out) &&
	test_expect_code 128 git -C pair ews undo $step 2>err && test_grep "of another work tree" err && test_grep "^hint: change to .*/pair-lw." err && files_of pair >got && test_cmp mine got && files_of pair-lw >got && test_cmp theirs got &&
	git -C pair-lw ews undo --list >out && test_grep " -\$" out && git -C pair ews undo --list --json >out && test_json out ".steps[0].project" "$PWD/pair-lw"
'

test_expect_success 'P1: each work tree has a row of steps of its own, forth and back' '
	own=$(git -C pair ews snapshot create) && echo more >>pair/run.sh && files_of pair >more && git -C pair ews snapshot restore --force $own && files_of pair >got && test_cmp mine got &&
	git -C pair-lw ews undo && test_grep later pair-lw/c && files_of pair >got && test_cmp mine got && test_expect_code 128 git -C pair-lw ews undo 2>err && test_expect_code 128 git -C pair ews undo --redo 2>err && test_grep "^hint: .*change to .*/pair-lw." err &&
	git -C pair ews undo && files_of pair >got && test_cmp more got && git -C pair-lw ews undo --redo && test_path_is_missing pair-lw/c && files_of pair >got && test_cmp more got && git -C pair ews undo --redo && files_of pair >got && test_cmp mine got
'

test_expect_success 'P1: the work of a session that was started in another work tree is applied where apply is called, and taken back there' '
	start_ws pair-lw across && echo new >"${ws:?}/new-there" && git -C pair ews apply across && test_path_is_file pair/new-there && test_path_is_missing pair-lw/new-there && files_of pair-lw >theirs &&
	git -C pair-lw ews undo && test_path_is_file pair/new-there && test_grep later pair-lw/c && git -C pair ews undo && test_path_is_missing pair/new-there && test_grep later pair-lw/c && git -C pair-lw ews undo --redo && files_of pair-lw >got && test_cmp theirs got
'

test_expect_success 'P4: a work tree, or a project, that was moved keeps its steps' '
	git -C pair worktree move ../pair-lw ../pair-moved && mkdir pair-lw && git -C pair ews undo --list >out && test_grep "/pair-moved\$" out && git -C pair-moved ews undo && test_grep later pair-moved/c && test_path_is_missing pair-lw/c &&
	test_repo stood && start_ws stood s && echo work >>"${ws:?}/run.sh" && git -C stood ews apply s && mv stood stands && git -C stands ews status && test_repo stood && git -C stands ews undo && git -C stands diff --exit-code run.sh
'

test_expect_success 'P4: likewise where no session has a base any more, or none was ever there' '
	test_repo patched && echo work >>patched/run.sh && git -C patched diff >../patch && git -C patched checkout -q run.sh && git -C patched ews apply ../../patch && mv patched moved && git -C moved ews undo 2>err && test_grep "^note: this project was at .$PWD/patched.:" err && git -C moved diff --exit-code run.sh && git -C moved ews undo --redo && test_grep work moved/run.sh &&
	test_repo cleaned && start_ws cleaned s && echo work >>"${ws:?}/run.sh" && git -C cleaned ews apply s && git -C cleaned ews end s && git -C cleaned ews clean --now s && mv cleaned gone-on && git -C gone-on ews undo && git -C gone-on diff --exit-code run.sh && test_repo cleaned && test_expect_code 128 git -C cleaned ews undo
'

test_expect_success 'P4: undo of the end of a session whose workspace was deleted brings its files back as they were committed, beside what was uncommitted at its start' '
	mkdir fell && (cd fell && git init -q -b trunk && echo "*.txt text eol=crlf" >.gitattributes && printf "a\r\nb\r\n" >t.txt && seq 9 >f && echo x >run && chmod 700 run && mkdir d && echo d >d/d && git add . && git commit -qm one && echo ten >>f && echo own >own) &&
	start_ws fell s && (cd "${ws:?}" && printf "c\r\n" >>t.txt && echo w >w && rm -r d && sed -i s/1/one/ f && git add t.txt w d && git commit -qm two && git add f && git commit -qm three) && cp -a "$ws" fallen && git -C "$ws" status --short >want &&
	rm -rf "${ws:?}" && git -C fell ews end s >out 2>err && test_grep "Kept: snap-" out && git -C fell ews undo s && test_same_tree -x .git fallen "$ws" && git -C "$ws" status --short >got && test_cmp want got
'

test_expect_success 'P1: steps of a work tree that is gone are not those of the next that gets its name' '
	two_trees anew && echo later >anew-lw/c && git -C anew-lw ews snapshot restore --force $snap && git -C anew worktree remove --force ../anew-lw && step=$(git -C anew ews undo --list | cut -d" " -f1) &&
	test_expect_code 128 git -C anew ews undo 2>err && test_expect_code 128 git -C anew ews undo $step 2>err && test_grep "a work tree that is gone" err && hint=$(sed -n "s/^hint: .\(git ews snapshot show [^ ]*\). .*/\1/p" err) && (cd anew && $hint) &&
	GIT_COMMITTER_DATE="@$(($(date +%s) + 2)) +0000" git -C anew worktree add -q ../anew-lw anew-lw && touch -d "now + 2 seconds" anew/.git/worktrees/anew-lw/commondir && test_expect_code 128 git -C anew-lw ews undo 2>err && test_path_is_missing anew-lw/c
'

test_expect_success 'P1, P4: likewise the steps of a session that works in place: in the other work trees they are passed by, there they are taken back' '
	two_trees row && own=$(git -C row ews snapshot create) && echo mine >>row/run.sh && files_of row >mine && git -C row ews snapshot restore --force $own && files_of row >theirs && git -C row-lw ews start --method in-place agent && echo agent >>row-lw/b && git -C row-lw ews end agent && git -C row-lw diff --exit-code &&
	git -C row ews undo --list >out && test_grep " end .* agent  .*/row-lw\$" out && test_grep " revert .* agent  .*/row-lw\$" out && step=$(sed -n "s/  .* end .*//p" out) && git -C row ews undo --list --json >out && test_json out ".steps[0].project" "$PWD/row-lw" &&
	git -C row ews undo >out && files_of row >got && test_cmp mine got && git -C row ews undo --redo && files_of row >got && test_cmp theirs got && for which in agent $step; do test_expect_code 128 git -C row ews undo $which 2>err && test_grep "^hint: .*change to .*/row-lw." err || return 1; done && git -C row-lw diff --exit-code &&
	git -C row-lw ews undo --list >out && test_grep " end .* agent\$" out && git -C row-lw ews undo && git -C row-lw ews undo && test_grep agent row-lw/b && git -C row-lw ews undo --redo && git -C row-lw ews undo --redo && git -C row-lw diff --exit-code && git -C row worktree move ../row-lw ../row-moved && git -C row-moved ews undo --list >out && test_grep " end .* agent\$" out && ends=$(sed -n "s/  .* end .*//p" out) && step=$(sed -n "s/  .* revert .*//p" out) && test_line_count = 3 out &&
	git -C row worktree remove ../row-moved && git -C row ews undo && files_of row >got && test_cmp mine got && test_expect_code 128 git -C row ews undo $step 2>err && test_grep "a work tree that is gone" err && test_grep "^hint: .git ews snapshot show snap-" err && test_expect_code 128 git -C row ews undo $ends 2>err && test_grep "a work tree that is gone" err
'

test_expect_success 'where there is nothing to undo, or to redo, but in another work tree, that is said, and where that is; likewise where that is gone' '
	test_repo far && git -C far worktree add -q ../far-lw && git -C far-lw ews start --method in-place agent && echo agent >>far-lw/run.sh && git -C far-lw ews end agent && for which in "" agent; do
		test_expect_code 128 git -C far ews undo $which 2>err && test_grep "^error: there is nothing to undo$" err && test_grep "^hint: there is in another work tree: change to .$PWD/far-lw.$" err && test_expect_code 128 git -C far ews undo --json $which >out && test_json out .error.message "there is nothing to undo" || return 1
	done && git -C far-lw ews undo && git -C far-lw ews undo && test_expect_code 128 git -C far ews undo --redo agent 2>err && test_grep "^error: there is nothing to redo$" err && test_grep "change to .$PWD/far-lw.$" err && git -C far-lw ews end agent &&
	git -C far worktree remove --force ../far-lw && test_expect_code 128 git -C far ews undo 2>err && test_grep "^error: there is nothing to undo$" err && test_grep "^hint: .git ews undo --list. shows the steps$" err
'

test_expect_success 'P4: a work tree is the same one when a copy of the repository, whose files are all young, stands in its place' '
	two_trees young && echo later >young-lw/c && git -C young-lw ews snapshot restore --force $snap && cp -r young young.copy && rm -r young && mv young.copy young && find young/.git -type f -exec touch -d "now + 5 seconds" {} + &&
	git -C young ews undo --list >out && test_grep " restore .*/young-lw\$" out && git -C young-lw ews undo && test_grep later young-lw/c && git -C young-lw ews undo --redo && test_path_is_missing young-lw/c &&
	rm young/.git/worktrees/young-lw/logs/HEAD && test_expect_code 128 git -C young-lw ews undo 2>err && for log in "" nothing "a <b> " "0 0 a <b> 1x" "$(printf "%04096d" 0)"; do printf "%s" "$log" >young/.git/worktrees/young-lw/logs/HEAD && git -C young-lw ews undo --list >out && test_line_count = 1 out || return 1; done
'

# as_before <repository>: its steps, without what older versions did not note.
as_before() {
	sed -i "/\"\(project\|worktree\)\":/d" "${HOME:?}/.superqode/working/${1:?}"/undo/op-*.json
}

test_expect_success 'a step that does not say of which work tree it is: of the only one, else of that in which it is named' '
	two_trees old && echo later >old-lw/c && git -C old-lw ews snapshot restore --force $snap && as_before old && files_of old >mine &&
	for tree in old old-lw; do test_expect_code 129 git -C $tree ews undo 2>err && test_grep "^hint: where it was: .git ews undo op-" err || return 1; done && files_of old >got && test_cmp mine got && git -C old ews undo --list >out && test_grep " -  ?\$" out && step=$(cut -d" " -f1 out) &&
	git -C old-lw ews undo -n $step && test_expect_code 129 git -C old-lw ews undo 2>err && git -C old-lw ews undo $step && test_grep later old-lw/c && test_expect_code 128 git -C old ews undo --redo 2>err && as_before old && test_expect_code 129 git -C old ews undo --redo 2>err && test_grep "^hint: .*undo --redo op-" err &&
	git -C old worktree remove --force ../old-lw && start_ws old only && snap=$(git -C old ews snapshot create) && echo later >old/c && git -C old ews snapshot restore --force $snap && as_before old && git -C old ews undo && test_grep later old/c
'

test_expect_success 'the only work tree of a bare repository is the only one, and so is one beside sessions of another home' '
	test_repo tree && git clone -q --bare tree bare.git && git -C bare.git worktree add -q ../bare-lw main && snap=$(git -C bare-lw ews snapshot create) && echo later >bare-lw/c && git -C bare-lw ews snapshot restore --force $snap && as_before bare && start_ws -n ws bare-lw s && git -C bare-lw ews undo && test_grep later bare-lw/c &&
	git -C bare-lw ews --home "$PWD/home-2" start other --method worktree >out && test_path_is_dir bare.git/worktrees/other && as_before bare && git -C bare-lw ews undo --redo && test_path_is_missing bare-lw/c &&
	as_before bare && git -C bare.git worktree add -q ../bare-more -b more && for tree in bare-lw bare-more; do test_expect_code 129 git -C $tree ews undo 2>err && test_grep "nobody has noted in which work tree" err || return 1; done && git -C bare.git worktree remove ../bare-more && git -C bare-lw ews undo && test_grep later bare-lw/c
'

test_expect_success STRACE 'P4: what the reflogs of a workspace name is not lost where they can not be read: its end fails, and says why' '
	for method in worktree snapshot; do
		start_ws p --method $method deaf && own=$(git -C "$ws" rev-parse --absolute-git-dir) && echo hours >"${ws:?}/new" && git -C "$ws" add new && git -C "$ws" commit -qm hours && commit=$(git -C "$ws" rev-parse HEAD) && git -C "$ws" checkout -q --detach HEAD~1 && for error in EMFILE EIO; do
			for verb in end "snapshot create" revert; do
				test_expect_code 128 test_strace trace -P "${own:?}/logs" -P logs -e trace=openat2 -e inject=openat2:error=$error git -C p ews $verb deaf 2>err && test_grep INJECTED trace && test_grep "cannot read .logs. of the workspace.s own git" err || return 1
			done || return 1
		done && git -C p ews recover --all 2>err && test_grep "nothing is interrupted" err && git -C p ews end deaf >out && test_grep "Kept: snap-" out && git -C p gc -q --prune=now && git -C p cat-file -e "$commit" || return 1
	done
'

test_expect_success STRACE 'P4: a step whose record can not be read just now is not passed by the next: undo takes them back in their order' '
	test_repo order && start_ws order s && echo one >"${ws:?}/one" && git -C order ews revert s && record=$(cd "${HOME:?}/.superqode/working/order/undo" && echo op-*.json) && echo two >"${ws:?}/two" && for fault in "openat $record" "read $HOME/.superqode/working/order/undo/$record"; do
		test_expect_code 128 test_strace trace -P "${fault#* }" -e trace=${fault%% *} -e inject=${fault%% *}:error=EIO git -C order ews revert s 2>err && test_grep INJECTED trace && test_grep "^error: .*cannot read step .*Input/output error" err && test_grep two "${ws:?}/two" || return 1
	done && git -C order ews revert s && git -C order ews undo s && test_grep two "${ws:?}/two" && test_path_is_missing "${ws:?}/one" && rm "${ws:?}/two" && git -C order ews undo s && test_grep one "${ws:?}/one" && git -C order ews end s
'

test_expect_success STRACE 'P4: whenever a revert fails to open the workspace'"'"'s own git directory, it says so, and nothing is lost' '
	start_ws p blind && echo hours >"${ws:?}/new" && met= && for n in $(test_seq 1 12); do
		test_strace trace -P worktrees/blind -e trace=openat2 -e inject=openat2:error=EIO:when=$n git -C p ews revert blind >out 2>err
		case $? in
		128) met=$((met + 1)) && test_grep INJECTED trace && git -C p ews recover --all || return 1 ;;
		0) test_path_is_missing "${ws:?}/new" || return 1 ;;
		*) cat >&2 err && return 1 ;;
		esac
		test -e "${ws:?}/new" || git -C p ews undo blind || return 1
		test_grep hours "${ws:?}/new" || return 1
	done && test "$met" -gt 3 && git -C p ews recover --all && git -C p ews end --force blind
'

test_expect_success USERS 'P4: reflogs that an agent closed are opened up; what is another user'"'"'s is named by end, and fails what saves' '
	mkdir shut && git clone -q p shut/p && test_give_user shut && for method in snapshot worktree; do
		for how in closed foreign; do
			test_as_user git -C shut/p ews start --method $method --in "$PWD/shut" $how >path && take_ws path && test_as_user sh -c "cd \"\$1\" && echo $method $how >new && git add new && git commit -qm hours && git rev-parse HEAD && git checkout -q --detach HEAD~1" x "$ws" >id && own=$(git -C "$ws" rev-parse --absolute-git-dir) || return 1
			case $how in
			closed) test_as_user chmod 000 "${own:?}/logs/HEAD" "${own:?}/logs" ;;
			foreign) chown 0:0 "${own:?}/logs/HEAD" && chmod 600 "${own:?}/logs/HEAD" && test_expect_code 128 test_as_user git -C shut/p ews snapshot create $how 2>err && test_grep "logs/HEAD. of the workspace may not be read" err && test_grep "^hint: " err ;;
			esac && test_as_user git -C shut/p ews end $how >out 2>err && test_grep "Kept: snap-" out || return 1
			case $how in
			closed) test_grep ! logs err && git -C shut/p cat-file -e "$(cat id)" ;;
			foreign) test_grep "logs/HEAD (may not be read)" err ;;
			esac || return 1
		done || return 1
	done
'

test_expect_success STRACE 'P4: what is staged, the trees that the index names and the commit of HEAD are not lost where they can not be read: the end fails, and says why' '
	for format in sha1 sha256; do
		git init -q --object-format=$format unread-$format && cd unread-$format && echo a >a && git add a && git commit -q -m one && start_ws . un && (cd "$ws" && git commit -q --allow-empty -m two && echo "staged work" >a && git add a && git write-tree >/dev/null && echo newer >a) &&
			for object in $(git -C "$ws" rev-parse :a HEAD) $(git -C "$ws" write-tree); do
				file=$PWD/.git/objects/${object%"${object#??}"}/${object#??} && test -f "$file" && for error in EMFILE EACCES; do
					test_expect_code 128 test_strace trace -P "$file" -e trace=open,openat -e inject=open,openat:error=$error git ews end un >out 2>err && test_grep INJECTED trace && test_grep "^error: .*cannot read object $object" err && test_grep "^hint: " err || return 1
				done || return 1
			done && git ews end un >out 2>err && test_grep ! warning err && git gc -q --prune=now && git ews undo un && test "$(git -C "$ws" show :a)" = "staged work" && git -C "$ws" fsck --no-dangling >out 2>&1 && git gc -q && git ews end un && cd .. || return 1
	done
'

test_expect_success 'P4: in a workspace, and with EWS_SESSION, a bare undo is about that session alone; in the project the newest step goes first' '
	test_repo crowd && start_ws -n one crowd one && start_ws -n two crowd two && echo 1 >>"${one:?}/run.sh" && echo 2 >>"${two:?}/run.sh" && git -C crowd ews revert one && git -C crowd ews revert two &&
	git -C "$one" ews undo -n >out && test_grep "^Would undo: revert of one\$" out && git -C "$one" ews undo >out && test_grep "^Undone: revert of one\$" out && test_grep "^1\$" "${one:?}/run.sh" && test_grep ! "^2\$" "${two:?}/run.sh" && git -C "$one" ews undo --list >out && test_line_count = 1 out &&
	git -C crowd ews undo >out && test_grep "^Undone: revert of two\$" out && git -C "$one" ews undo --redo >out && test_grep "^Done again: revert of one\$" out && test_grep "^2\$" "${two:?}/run.sh" && git -C crowd ews undo --list >out && test_line_count = 2 out && git -C crowd ews revert two &&
	EWS_SESSION=one git -C crowd ews undo --list >out && test_line_count = 1 out && EWS_SESSION=one git -C crowd ews undo >out && test_grep "^Undone: revert of one\$" out && EWS_SESSION=one git -C "$two" ews undo >out && test_grep "^Undone: revert of two\$" out
'

# as_said <dir> <file>: in <dir>, the command that the note in <file> quotes.
as_said() {
	words=$(sed -n "s/^note: .\(.*git ews .*undo.*\). \(takes\|brings\) .*/\1/p" "$2") && (cd "$1" && eval "$words")
}

test_expect_success 'a session that has nothing to undo names whose the newest step is; what is the project its own is to be had from a workspace as the hints say' '
	start_ws crowd none && git -C crowd ews revert two && test_expect_code 128 git -C "$ws" ews undo 2>err && test_grep "^error: session .none. has nothing to undo\$" err && test_grep "^hint: the newest step is of session .two.: .git ews undo two.\$" err && git -C "$ws" ews undo two &&
	test_expect_code 128 git -C "$ws" ews undo --redo 2>err && test_grep "^error: session .none. has nothing to redo\$" err && test_grep "^hint: the last that was undone is of session .two.: .git ews undo --redo two.\$" err && git -C "$ws" ews undo --redo two &&
	git -C "$one" ews apply 2>err && test_grep "^1\$" crowd/run.sh && test_expect_code 128 git -C "$ws" ews undo 2>hint && test_grep "^hint: the newest step is of the project: .git ews undo op-" hint && as_said "$one" err >out 2>back && test_grep "^Undone: apply of the project\$" out && test_grep ! "^1\$" crowd/run.sh &&
	as_said "$one" back >out && test_grep "^Done again: apply of the project\$" out && git -C "$one" ews -C "$PWD/crowd" undo >out && test_grep "^Undone: apply of the project\$" out &&
	for env in "" one; do
		id=$(echo x | git -C "$one" ews artifact add --type log --name x -) && git -C crowd ews revert -q none && EWS_SESSION=$env git -C "$one" ews artifact remove "$id" 2>err && (EWS_SESSION=$env && export EWS_SESSION && as_said "$one" err) >out && test_grep "^Undone: drop of the project\$" out || return 1
	done
'

test_expect_success 'P4: six sessions that undo in their workspaces at once get each its own' '
	for s in a b c d e f; do
		start_ws crowd $s && ln -s "$ws" at-$s || return 1
	done && for s in a b c d e f; do
		(cd at-$s && echo $s >>run.sh && git ews revert && git ews undo && git ews end && git ews undo && cat run.sh) >$s.log 2>&1 &
	done && wait && for s in a b c d e f; do
		test_grep "^Undone: revert of $s\$" $s.log && test_grep "^Undone: end of $s\$" $s.log && test_grep "^$s\$" $s.log || return 1
	done
'

# comes_back <why>: undo of the end of session b, tried or done, says why HEAD is on no branch; it is at $c, and git status finds what it found
comes_back() {
	git -C away ews undo --dry-run --json b >json && jq -r ".branches[]" json >foreseen && test_path_is_missing "$ws" && git -C away ews undo --dry-run b 2>err && test_grep "^warning: HEAD is at $c, and on no branch" err && git -C away ews undo b >out 2>err && sed -n "s/^warning: HEAD/HEAD/p" err >said && test_cmp said foreseen &&
		 test_grep "HEAD is at $c, and on no branch: .refs/heads/x. $1" err && test "$(git -C "$ws" rev-parse HEAD)" = "$c" && test_must_fail git -C "$ws" symbolic-ref -q HEAD && git -C "$ws" status --porcelain >st && test_cmp st.then st
}

test_expect_success 'P1, P2: undo of an end puts HEAD on no branch that has gone on, is gone, or is checked out elsewhere since' '
	test_repo away && start_ws away b && git -C "$ws" checkout -q -b x && echo c >"${ws:?}/c" && git -C "$ws" add c && git -C "$ws" commit -q -m c && c=$(git -C "$ws" rev-parse HEAD) && echo staged >"${ws:?}/d" && git -C "$ws" add d && echo new >"${ws:?}/new" && git -C "$ws" status --porcelain >st.then &&
	git -C away ews end b && git -C away ews undo b 2>err && test_grep ! "on no branch" err && test "$(git -C "$ws" symbolic-ref HEAD)" = refs/heads/x && git -C away ews end b && git -C away checkout -q x && comes_back "is checked out in another work tree" &&
	git -C away checkout -q main && git -C "$ws" checkout -q x && git -C away ews end b && git -C away branch -f x main && comes_back "has moved since" && git -C away ews undo --redo b && git -C away ews undo b && git -C "$ws" checkout -q -B x && git -C away ews end b && git -C away branch -qD x && comes_back "is gone" &&
	git -C "$ws" checkout -q --orphan o && git -C "$ws" status --porcelain >st.then && git -C away ews end b && git -C away branch o main && git -C away ews undo --dry-run b 2>err && test_grep "HEAD is on .refs/heads/o-op-.*, which has no commit" err && git -C away ews undo b 2>err && test_grep "HEAD is on .refs/heads/o-op-.*, which has no commit" err && git -C "$ws" status --porcelain >st && test_cmp st.then st &&
	start_ws away twin --method snapshot && git -C "$ws" checkout -q -b own && git -C away ews end twin && git -C away ews undo --dry-run twin 2>err && test_must_be_empty err && rm -r "${HOME:?}"/.superqode/working/away/trash/*/workspace && git -C away ews undo --dry-run twin 2>err && test_grep "HEAD is at .*, and on no branch: .refs/heads/own. is gone" err && test_expect_code 1 git -C away ews undo twin 2>err && test_grep "HEAD is at .*, and on no branch: .refs/heads/own. is gone" err
'

test_expect_success 'P4: what an end and a drop have moved to trash comes back though somebody rewrote it there, or doctor --fix made it again' '
	test_repo rewrites && echo secret >rewrites/secret && git -C rewrites add secret && git -C rewrites commit -qm secret && start_ws rewrites w && snap=$(git -C rewrites ews snapshot create w) && echo mine >"${ws:?}/mine" && git -C rewrites ews end w && git -C rewrites ews snapshot drop "$snap" && git -C rewrites for-each-ref refs/ews/trash >before &&
	drop="git rm -q --cached --ignore-unmatch secret" && (cd rewrites && FILTER_BRANCH_SQUELCH_WARNING=1 git filter-branch -f --index-filter "$drop" -- --all) >out 2>&1 && git -C rewrites for-each-ref refs/ews/trash >after && ! cmp -s before after &&
	git -C rewrites ews undo && git -C rewrites ews undo --dry-run && git -C rewrites ews undo && test "$(cat "${ws:?}/mine")" = mine && git -C rewrites ews diff w >out 2>err && test_grep "refs/ews/sessions/w was rewritten" err && git -C rewrites ews snapshot show "$snap" >out && git -C rewrites ews undo --redo && git -C rewrites ews undo --redo && test_path_is_missing "$ws" &&
	git -C rewrites ews doctor --fix >out && grep "$snap" before >want && git -C rewrites for-each-ref "refs/ews/trash/$snap" >out && test_cmp want out && git -C rewrites ews undo && git -C rewrites ews undo && test "$(cat "${ws:?}/mine")" = mine && git -C rewrites ews diff w >out 2>err && test_grep ! "rewritten" err && git -C rewrites ews snapshot verify w "$snap"
'

test_expect_success 'P8: of several sessions one that can not end is named, and the answer tells of those that have ended' '
	test_repo multi && for s in s1 s2 s3 s4 s5; do
		start_ws multi $s && echo $s >"${ws:?}/$s" || return 1
	done && git -C multi update-ref -d refs/ews/sessions/s2 && test_expect_code 1 git -C multi ews end s1 s2 s3 >out 2>err && grep -c "Session Ended" out >n && test "$(cat n)" = 2 && test_grep "warning: session .s2. has not ended: the base of session .s2. is gone" err && test_grep "^note: session .s2.: " err &&
	test_expect_code 1 git -C multi ews end s2 s4 --json >json 2>err && jq -r ".sessions[].session_id, .not_ended[].session_id" json >got && printf "%s\n" s4 s2 | test_cmp - got && jq -e ".not_ended[0] | (.message | test(\"the base of session .s2. is gone\")) and (.hint != \"\")" json &&
	git -C multi ews list >out && test_grep s2 out && test_grep s5 out && test_grep ! "s[134]" out && test_expect_code 1 git -C multi ews end s2 2>err && test_grep "^error: the base" err && git -C multi ews end s5 --json >json && jq -e ".not_ended == []" json
'

test_done
