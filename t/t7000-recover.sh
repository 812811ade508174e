#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='recover: a verb that is killed anywhere leaves what can be finished or taken back (P1, P4)'

. "$(dirname "$0")/test-lib.sh"

if test_have_prereq VALGRIND; then
	skip_all='a killed tracer is no test of the program'
	test_done
fi

# What must be whole in the workspace <dir>: files, index, HEAD.
state_of() (
	"$EWS_SRC/t/lister" -m -x .git -x .superqode "$1" && cd "$1" && git rev-parse HEAD && cd "$(git rev-parse --absolute-git-dir)" && sha256sum index
)

# sound: after recover git is content, the project as it was, nothing lies about, and no session is half there.
sound() {
	test_fingerprint p >fp.after && test_cmp fp.before fp.after && no_litter &&
		git -C p ews status --json --all >said && test_grep ! '"interrupted"\|"starting"\|"ending"' said &&
		git -C p fsck --strict --no-dangling >fsck.out 2>&1 && test_must_be_empty fsck.out &&
		git -C p gc -q --prune=now && git -C p fsck --strict --no-dangling >fsck.out 2>&1 && test_must_be_empty fsck.out &&
		git -C p ews snapshot verify --all >verify.out 2>&1 || {
		cat fsck.out verify.out >&2
		return 1
	}
}

test_expect_success 'setup: a project with uncommitted work, and killat' '
	test_repo p && (cd p && echo more >>src/log && git add src/log && echo more >>src/log && echo new >untracked && rm empty) &&
	"$EWS_SRC/t/lister" -m -x .git p >p.want && test_fingerprint p >fp.before && mkdir fresh && cp -a p fresh/p &&
	test_expect_code 199 killat 5 true && test_expect_code 137 killat -o log 1 sh -c "echo x >made; echo not >reached" &&
	test_path_is_missing made && test_grep made log && rm -rf "$HOME/.superqode"
'

# Complete, or not there at all; in both cases it can be started.
after_start() {
	if git -C p ews path x >where 2>err; then
		take_ws where && "$EWS_SRC/t/lister" -m -x .git -x .superqode "$ws" >got && test_cmp p.want got &&
			git -C p ews diff x >changes && test_must_be_empty changes && git -C p ews end x >out 2>err
	else
		git -C p for-each-ref refs/ews/sessions >refs && test_must_be_empty refs && test_path_is_missing p/.git/worktrees/x &&
			{ find "$HOME/.superqode" -path '*/qe/x*' >found 2>find.err || :; } && test_must_be_empty found &&
			start_ws p x && "$EWS_SRC/t/lister" -m -x .git -x .superqode "$ws" >got && test_cmp p.want got
	fi
}

test_expect_success 'P4: start' '
	sweep fresh after_start start x
'

test_expect_success 'P4: of one that was killed at its start nobody says that its base was deleted, or its workspace' '
	met=0 && for n in $(test_seq 2 70); do
		restore fresh && { killat -o log $n git -C p ews start x >out 2>err || :; } && git -C p ews diff x >out 2>err || { test_grep ! "fsck" err && test_grep ! "is gone" err && { test_grep ! "is interrupted" err || met=$((met + 1)); }; } || return 1
	done && test $met -gt 0
'

test_expect_success 'setup: a session with work in it' '
	restore fresh && start_ws p x && state_of "$ws" >base.want && (
		cd "$ws" && echo edit >>src/main.c && git add src/main.c && echo edit >>src/main.c && rm docs/crlf.txt && mkdir -p new/dir && echo new >new/dir/file &&
			rm -r src/deep && echo file >src/deep && ln -s nowhere new/link && chmod 600 src/numbers && mkdir out && echo product >out/product
	) && state_of "$ws" >work.want && save work
'

# here <state>...: the workspace is in one of these.
here() {
	state_of "$ws" >here.got || return 1
	for want; do
		cmp -s here.got "$want.want" && return 0
	done
	test_cmp "$1.want" here.got
}

after_snapshot() {
	here work && git -C p ews snapshot list x >listed && git -C p ews snapshot create x >out && here work &&
		git -C p cat-file -e "refs/ews/snapshots/$(cat out):new/dir/file" && git -C p ews snapshot verify "$(cat out)"
}

test_expect_success 'P4: snapshot create' '
	sweep work after_snapshot snapshot create x
'

after_revert() {
	here work base && cp here.got then.want && git -C p ews revert x >out && test_grep "Status: Verified" out && here base &&
		git -C p ews undo x >out 2>err && here work
}

test_expect_success 'P4: revert' '
	sweep work after_revert revert x
'

after_end() {
	if git -C p ews path x >where 2>err; then
		take_ws where && here work
	else
		test_path_is_missing "$ws" && test_path_is_missing p/.git/worktrees/x
	fi &&
		git -C p ews end x >out 2>err && test_path_is_missing "$ws" && git -C p ews undo x >out 2>err && here work &&
		git -C p ews revert x >out && here base
}

test_expect_success 'P4: end' '
	sweep work after_end end x
'

test_expect_success 'setup: the session has ended' '
	restore work && git -C p ews end x && save ended
'

after_undo() {
	git -C p ews path x >where 2>err || { test_path_is_missing "$ws" && git -C p ews undo x >out 2>err; } || return 1
	here work && git -C p ews undo --redo x >out 2>err && test_path_is_missing "$ws" && git -C p ews undo x >out 2>err && here work
}

test_expect_success 'P4: undo of an end' '
	sweep ended after_undo undo x
'

test_expect_success 'setup: the session was reverted' '
	restore work && git -C p ews revert x >out && save reverted
'

after_undo_revert() {
	here work base || return 1
	! cmp -s here.got base.want || git -C p ews undo x >out 2>err || return 1
	here work && git -C p ews undo --redo x >out 2>err && here base
}

test_expect_success 'P4: undo of a revert' '
	sweep reverted after_undo_revert undo x
'

test_expect_success 'one process of many is killed: the others notice' '
	restore work && { killat -1 -o log 40 git -C p ews revert x >out 2>err || :; } && git -C p ews recover --all >out 2>err && sound && after_revert
'

test_expect_success 'another verb that meets it names it, and does not go over it' '
	restore work && killat -o log 0 git -C p ews revert x >out && n=$(cut -f 1 log) &&
	while test $n -gt 0; do
		restore work && { killat -o log $n git -C p ews revert x >out 2>err || :; } &&
		git -C p ews status --json x >status 2>err && if grep "\"interrupted\"" status; then break; fi
		n=$((n - 2))
	done && test $n -gt 0 && state_of "$ws" >half &&
	git -C p ews status >out 2>err && cat out err >both && test_grep interrupted both && test_grep recover both && git -C p ews list >out 2>err && test_grep interrupted out && test_grep "Incomplete session" err && git -C p ews status --brief 2>err && test_must_be_empty err &&
	for verb in "snapshot create x" "revert x" "end x"; do
		test_expect_code 1 git -C p ews $verb >out 2>err && test_grep "ews recover" err && test_must_be_empty out || return 1
	done && state_of "$ws" >got && test_cmp half got &&
	{ git -C p ews recover x </dev/null >out 2>err || :; } && git -C p ews recover --all >out 2>err && sound && after_revert
'

test_expect_success 'P4: what was done between the kill and the recovery is kept' '
	restore work && killat -o log 0 git -C p ews revert x >out && points=$(cut -f 1 log) && n=$((points / 3)) &&
	while test $n -lt $points; do
		restore work && { killat -o log $n git -C p ews revert x >out 2>err || :; } &&
		git -C p ews status --json x >status 2>err && if grep "\"interrupted\"" status; then break; fi
		n=$((n + 3))
	done && n=$((n + 15)) && restore work && { killat -o log $n git -C p ews revert x >out 2>err || :; } &&
	git -C p ews status --json x >status 2>err && grep "\"interrupted\"" status && echo "made since the kill" >"${ws:?}/since" && echo "made since the kill" >>"${ws:?}/run.sh" &&
	git -C p ews recover --all >out 2>err && here base &&
	git -C p for-each-ref --format="%(refname)" refs/ews/trash >kept && while read -r ref; do
		git -C p grep -l "made since the kill" "$ref" || :
	done <kept >found && test_line_count = 2 found && test_grep since found && test_grep run.sh found
'

test_expect_success 'recover when nothing was interrupted, and of what is not there' '
	restore work && git -C p ews recover --all >out 2>err && here work && test_expect_code 128 git -C p ews recover nobody >out 2>err && test_grep nobody err &&
	git -C p ews recover --json --all >out && test_json out .schema
'

test_expect_success 'each verb that meets an interrupted session announces it, and one that would change it says what to do' '
	test_repo met && (cd met && test_expect_code 137 git-ews run --new=one --guard=off -- sh -c "kill -9 \$PPID" >../out 2>../err
	for line in list "path one" "diff one" "snapshot list one" "snapshot prune --keep 9 one" "lock release one" "trust status one" "report --output - one"; do
		git ews $line >../out 2>../err && test_grep "^  Session: one$" ../err || return 1
	done &&
	for line in "archive create one" "start --from one two" "apply --check one" "revert one" "end one"; do
		test_expect_code 1 git ews $line >../out 2>../err && test_grep "^  Session: one$" ../err &&
		test_grep "session .one. is interrupted$" ../err && test_grep "^hint: git ews recover one --resume, --revert or --view$" ../err || return 1
	done && test_expect_code 1 git ews archive create --json one >../out 2>../err && test_must_be_empty ../err && git ews recover one --revert) && rm -rf met
'

test_expect_success 'P4: of the state "ending" and the record of the end a power cut kept one alone' '
	test_repo cut && git -C cut ews start never && git -C cut ews start whole && git -C cut ews end whole && for s in never whole; do
		sed -i "s/\"state\":	\"[a-z]*\"/\"state\":	\"ending\"/" "$HOME/.superqode/working/cut/sessions/${s:?}/state.json" || return 1
	done && git -C cut ews status --json --all --ended >said && test_grep "\"interrupted\"" said && git -C cut ews recover --all >out && test_grep "never.: its end had not begun" out && test_grep "whole.: its end was finished" out &&
	git -C cut ews status --json --all --ended >said && test_grep ! "\"interrupted\"" said && there=$(git -C cut ews path never) && git -C "$there" status --porcelain && git -C cut ews undo whole && git -C cut ews end never && git -C cut ews end whole && rm -rf cut "$HOME/.superqode/working/cut"
'

test_expect_success 'P4: of a step that is done a power cut may lose the last line of the journal: nothing is interrupted, and undo works' '
	test_repo cut && start_ws -n one cut one && echo edit >>"${one:?}/src/main.c" && git -C cut ews revert one && git -C cut ews start two && git -C cut ews end two &&
	for s in one two; do
		journal=$HOME/.superqode/working/cut/sessions/${s:?}/journal && test_grep "^done" "$journal" && sed -i "\$d" "$journal" && test_grep ! "^done" "$journal" || return 1
	done && head -c 40 /dev/zero >>"$HOME/.superqode/working/cut/sessions/two/journal" &&
	git -C cut ews status --json --all --ended >said && test_grep ! "\"interrupted\"" said && git -C cut ews undo two && git -C cut ews undo one && test_grep edit "${one:?}/src/main.c" &&
	git -C cut ews end two && git -C cut ews recover --all && git -C cut ews status --json --all --ended >said && test_grep ! "\"interrupted\"" said && rm -rf cut "$HOME/.superqode/working/cut"
'

test_expect_success 'P4: a line of the journal without a record is nothing that has begun; one whose record can not be read may be' '
	test_repo cut && start_ws -n one cut one && echo edit >>"${one:?}/src/main.c" && git -C cut ews revert one && working=$HOME/.superqode/working/cut && echo "begin op-20260101-000000-abcdef revert" >>"${working:?}/sessions/one/journal" &&
	git -C cut ews status --json >said && test_grep ! "\"interrupted\"" said && git -C cut ews undo one && test_grep edit "${one:?}/src/main.c" && git -C cut ews revert one && interrupt_revert cut one && git -C cut ews status --json >said && test_grep "\"interrupted\"" said &&
	for record in "${working:?}"/undo/op-*.json; do echo "{" >"$record" || return 1; done && git -C cut ews status --json >said && test_grep "\"interrupted\"" said && rm "${working:?}"/undo/op-*.json && git -C cut ews end one 2>err && test_grep ! Incomplete err && rm -rf cut "${working:?}"
'

test_expect_success STRACE 'a recover beside a verb that waits long for the disk takes nothing away that this is about to rename' '
	test_repo slow && start_ws -n one slow one && echo edit >>"${one:?}/src/main.c" &&
	{ test_strace log -e trace=fsync,fdatasync,syncfs -e inject=fsync,fdatasync,syncfs:delay_enter=1300000 git -C slow ews revert one >out 2>err 3>&- 4>&- 5>&- & } && pid=$! &&
	while kill -0 $pid 2>/dev/null; do git -C slow ews recover --all >all.out 2>all.err || return 1; done && { wait $pid || { cat >&2 err && return 1; }; } && test_grep "Status: Verified" out && test_grep ! edit "${one:?}/src/main.c" &&
	git -C slow ews undo one && test_grep edit "${one:?}/src/main.c" && rm -rf slow "${HOME:?}/.superqode/working/slow"
'

test_expect_success 'P4: two recovers at once' '
	restore work && { killat -o log 60 git -C p ews revert x >out 2>err || :; } &&
	{ git -C p ews recover --all >one 2>&1 3>&- 4>&- 5>&- & } && other=$! && { git -C p ews recover --all >two 2>&1 || :; } && { wait $other || :; } &&
	git -C p ews recover --all >out 2>err && sound && after_revert
'

test_expect_success 'setup: a second session has ended with work in it, and one was made under its id' '
	restore work && start_ws -n yw p y && echo first >"${yw:?}/first" && mkdir "${yw:?}/out" && echo product >"${yw:?}/out/product" && git -C p ews end y &&
	start_ws -n yw p y && echo edit >>"${yw:?}/run.sh" && mkdir "${yw:?}/out" && echo product >"${yw:?}/out/product" && "$EWS_SRC/t/lister" -m -x .git -x .superqode "$yw" >y.want && git -C p ews end y && save trash
'

# What was let go can come back whole, or without what is ignored, or not at all, which is said; never half of it.
after_clean() {
	code=0
	git -C p ews undo y >out 2>err || code=$?
	case $code in
	0) "$EWS_SRC/t/lister" -m -x .git -x .superqode "$yw" >got && test_cmp y.want got && git -C p ews end y >out 2>err ;;
	1)
		test_grep "1 ignored path" err && "$EWS_SRC/t/lister" -m -x .git -x .superqode "$yw" >got && grep -v "^out[	/]" y.want >want && test_cmp want got &&
			git -C p ews end y >out 2>err
		;;
	*) test_grep expired err ;;
	esac && here work && git -C p ews clean --now >out 2>err && git -C p for-each-ref refs/ews/trash >refs && test_must_be_empty refs &&
		find p/.git/ews "$HOME/.superqode" \( -name ".gone-*" -o -path "*/trash/*" -o -name "y~*" \) >found 2>find.err || : && test_must_be_empty found && here work &&
		git -C p ews revert x >out && here base
}

test_expect_success 'P4: clean --now' '
	sweep trash after_clean clean --now
'

# kill_apart <n> <verb>...: from the state "apart" on, whose session is in `away`, the verb is killed at its n-th change; with 0 it
# is not, and `trace` has its changes. first <pattern>: the number of the first of these that matches.
kill_apart() {
	restore apart && rm -rf away && cp -a apart/away away || return 1
	n=$1 && shift && { killat -t trace -o log "$n" git -C p ews "$@" >out.killed 2>err.killed || test "$n" -gt 0; }
}

first() {
	grep "$1" trace | head -n 1 | cut -f 1
}

# kill_apart_at <pattern> <verb>...: at the last change that matches, whose number is not always the same.
kill_apart_at() {
	pattern=$1 && shift && for round in 1 2 3 4; do
		kill_apart 0 "$@" && n=$(grep "$pattern" trace | tail -n 1 | cut -f 1) && for point in $n $n $((n - 1)) $((n + 1)) $((n - 2)) $((n + 2)) $((n - 3)) $((n + 3)); do
			kill_apart "$point" "$@" && if grep "$pattern" log; then return 0; fi
		done
	done
	echo "no kill met $pattern: round $round" >&2
	return 1
}

after_end_apart() {
	test_path_is_missing away/x && ls -A "$HOME/.superqode/elsewhere" >marks && test_must_be_empty marks && git -C p ews undo x >undo.out && test "$(cat away/x/new)" = new &&
		git -C away/x status >git.out && git -C p ews end x >end.out 2>err && ls -A "$HOME/.superqode/elsewhere" >marks && test_must_be_empty marks && git -C p ews start --in "$PWD/away" x >start.out && test_path_is_missing away/x/new
}

test_expect_success 'P4: an end outside of home that is killed once the workspace has gone is finished, and its id can be used again' '
	restore fresh && git -C p ews start --in "$PWD/away" x && echo new >away/x/new && save apart && cp -a away apart/away &&
	kill_apart 0 end --no-artifacts x && point=$(($(first "ews-trash/.*/workspace") + 1)) && last=$(cut -f 1 log) &&
	while test $point -lt "$last"; do
		kill_apart $point end --no-artifacts x && git -C p ews recover --all >out.recover 2>err && after_end_apart || { echo >&2 "killed at $point: $(cat log)" && cat >&2 out.recover err && return 1; }
		point=$((point + 2))
	done
'

test_expect_success 'P4: one whose mark had gone first is finished as well; while something stands in its place it is named, and so is what can not be read' '
	kill_apart_at "rename.*sessions/x/state.json" end --no-artifacts x && rm "$HOME"/.superqode/elsewhere/* &&
	git -C p ews start y && printf garbage >"$HOME/.superqode/working/p/sessions/y/state.json" && mkdir away/x && test_expect_code 1 git -C p ews recover --all >said 2>err && test_grep ! nothing err && test_grep "session .x.: .*not where it was made" err && test_grep "session .y." err &&
	test_expect_code 1 git -C p ews recover x >said 2>err && test_grep "not where it was made" err && test_grep ! "session .y." err && test_expect_code 1 git -C p ews recover --all --json >said && test_json said ".not_recovered[0].session_id" x && test_json said ".not_recovered[1].session_id" y &&
	rmdir away/x && test_expect_code 1 git -C p ews recover --all >said 2>err && test_grep "session .x.: its end was finished" said && test_grep "session .y." err && after_end_apart
'

test_expect_success 'P4: a start outside of home whose taking back is killed is taken back' '
	restore fresh && rm -rf away apart && git -C p ews start --in "$PWD/away" x && sed -i "s/\"state\":	\"active\"/\"state\":	\"starting\"/" "$HOME/.superqode/working/p/sessions/x/state.json" && save apart && cp -a away apart/away &&
	kill_apart_at "unlink.*sessions/x/state.json" recover --all && ls -A "$HOME/.superqode/elsewhere" >marks && test_must_be_empty marks &&
	git -C p ews recover --all >said && test_grep "session .x.: its start was taken back" said && git -C p ews start --in "$PWD/away" x && git -C p ews end x
'

test_expect_success 'P4: the id of an ended session that has a step to finish is not given away' '
	restore fresh && start_ws p y && echo new >"${ws:?}/new" && git -C p ews end y && record=$(ls "$HOME"/.superqode/working/p/undo/op-*.json) && sed -i "s/\"state\":	\"done\"/\"state\":	\"undoing\"/" "$record" &&
	step=${record##*/} && echo "begin ${step%.json} end" >>"$HOME/.superqode/working/p/sessions/y/journal" && test_expect_code 1 git -C p ews start y 2>err && test_grep "ews recover y" err && git -C p ews recover --all >said && test_grep "its end was taken back" said && test "$(cat "${ws:?}/new")" = new && git -C p ews end y && start_ws p y && test_path_is_missing "${ws:?}/new"
'

test_expect_success 'P4: an undo of an end that was interrupted is shown, though the session has not come back yet' '
	restore fresh && start_ws p y && echo new >"${ws:?}/new" && git -C p ews end y && test_expect_code 137 killat -c "/sessions/y/.*state[.]json" -o log 1 git -C p ews undo y >out 2>err && git -C p ews status --json --ended y >out && test_json out ".sessions[0].state" interrupted &&
	git -C p ews status >out 2>err && test_grep "y  *interrupted" out && test_grep ! "no sessions" err && git -C p ews list >out && test_grep "y  *interrupted" out && git -C p ews status --json >out && test_json_count out .sessions 1 && test "$(git -C p ews status --brief)" = "y, interrupted" &&
	git -C p ews recover --all && git -C p ews status --json >out && test_grep ! "\"interrupted\"" out
'

# unread <file of git> <verb>...: a verb of the project `ur`, for which the disk fails when it opens that
unread() {
	at=$1 && shift && (cd ur/.git && realpath -m "$at") >path && test_strace trace -P "$at" -P "$(cat path)" -e trace=openat,openat2 -e inject=openat,openat2:error=EIO git -C ur ews "$@" >out 2>err
}

# half_reverted: the revert of session ur is killed half way
half_reverted() {
	for i in 1 2 3 4 5 6 7 8; do echo since >"${ws:?}/many/$i" || return 1; done && { test_strace trace -e trace=unlinkat -e inject=unlinkat:signal=KILL:when=4 git -C ur ews revert ur >out 2>err || :; } && git -C ur ews status ur >out && test_grep interrupted out
}

test_expect_success STRACE 'P4: a session that came when somebody else had taken back a start of that name is left alone' '
	test_repo race && sessions=$HOME/.superqode/working/race/sessions && start_ws race y && mkdir -m 700 "${sessions:?}/x0" && test_strace log -P sessions/x0/state.json -e trace=faccessat2 "$EWS_BIN/git-ews" -C race recover --all && looks=$(grep -c faccessat2 log) && test "$looks" -ge 2 && n=1 && while test $n -le "$looks"; do
		x=x$n && mkdir -m 700 "${sessions:?}/$x" && test_stopped_at faccessat2#$n sessions/${x:?}/state.json "git -C race ews recover --all && { git -C race ews start $x >said 2>&1 || test_grep locked said; }" -C race recover --all && { grep -q locked said || test_path_is_file "${sessions:?}/${x:?}/state.json"; } && n=$((n + 1)) || { echo >&2 "look $n"; return 1; }
	done
'

test_expect_success STRACE 'P4: a ref that can not be read just now is not gone: recover gives nothing up for it, and nobody says that it was deleted' '
	test_repo ur && mkdir ur/many && for i in 1 2 3 4 5 6 7 8; do echo base >ur/many/$i || return 1; done && git -C ur add many && git -C ur commit -qm many && start_ws ur ur && half_reverted &&
	test_expect_code 128 unread refs/ews/sessions/ur recover --all && test_grep "refs/ews/sessions/ur.: Input/output error" err && test_grep ! "stays as far" out && git -C ur ews status ur >out && test_grep interrupted out &&
	base=$(git -C ur rev-parse refs/ews/sessions/ur) && base=objects/$(echo "$base" | sed "s|^..|&/|") && test_expect_code 128 unread "$base" recover --all && test_grep "Input/output error" err && test_grep ! "stays as far" out &&
	git -C ur ews recover --all >out && test_grep "finished and verified" out && git -C ur ews diff --exit-code ur && for verb in diff revert "snapshot create" end; do test_expect_code 128 unread refs/ews/sessions/ur $verb ur && test_grep "Input/output error" err && test_grep ! "gone\|deleted\|fsck" err || return 1; done
'

test_expect_success 'P4: nor where there are too few descriptors: recover finishes what was interrupted, or fails' '
	half_reverted && for n in $(seq 8 48); do (ulimit -n $n && exec git -C ur ews recover --all) >out 2>err && break; test_grep "Too many open files" err || return 1; done && test_grep "finished and verified" out && git -C ur ews diff --exit-code ur
'

test_expect_success STRACE 'P4: nor does clean let go of the record of a session whose pending result it could not look for' '
	echo more >>"${ws:?}/run.sh" && git -C ur ews end --pending ur && touch -d "1 month ago" "${HOME:?}/.superqode/working/ur/undo"/* && sed -i "s/\"ended\":\t[0-9][0-9]*/\"ended\":\t1/" "${HOME:?}/.superqode/working/ur/sessions/ur/state.json" &&
	{ unread refs/ews/pending/ur/result clean || :; } && test_path_is_file "${HOME:?}/.superqode/working/ur/sessions/ur/state.json"
'

# half_retired <kill>...: the ended session one of ret has commits that its reflog alone names; start of another one under its id is killed
half_retired() {
	# shellcheck disable=SC2094 # one after the other
	rm -rf ret "$HOME/.superqode/working/ret" && test_repo ret && start_ws ret one && (cd "$ws" && echo work >work && git add work && git commit -qm work && git reset -q --hard HEAD^) && git -C "$ws" reflog >reflog && git -C ret ews end one && test_expect_code 137 test_strace trace "$@" git -C ret ews start one && test_grep KILL trace
}

# has_all: undo gives it back, with its reflog
has_all() {
	git -C ret ews undo one && git -C "$ws" reflog >got && test_cmp reflog got && git -C ret ews end one && git -C ret ews doctor
}

test_expect_success STRACE 'P4: an ended session that a start has half retired keeps what it has, and has its id again' '
	half_retired -e trace=renameat2 -e inject=renameat2:signal=KILL:when=1 && git -C ret ews recover --all >out && test_grep "one.: it has its id again" out && git -C ret ews recover --all >out && test_must_be_empty out && has_all &&
	half_retired -e trace=renameat2 -e inject=renameat2:signal=KILL:when=1 && git -C ret ews clean >out && has_all && half_retired -e trace=renameat2 -e inject=renameat2:signal=KILL:when=2 && git -C ret ews recover --all >out && has_all
'

test_expect_success STRACE 'P4: so has one that was retired for a session that there is none of' '
	half_retired -P "$HOME/.superqode/working/ret/sessions" -e trace=mkdirat -e inject=mkdirat:signal=KILL && test_path_is_missing "$HOME/.superqode/working/ret/sessions/one" && git -C ret ews recover --all >out && test_grep "one.: it has its id again" out && has_all
'

test_expect_success 'what was retired for a session that is there, or has ended since, stays retired' '
	git -C ret ews start one && git -C ret ews recover --all >out && test_must_be_empty out && git -C ret ews end one && git -C ret ews recover --all >out && test_must_be_empty out && git -C ret ews undo --list >steps && test_grep "one~snap" steps
'

test_expect_success STRACE 'P4: a file of which it can not be seen just now whether somebody writes it is not swept' '
	test_repo writes && start_ws writes w && mkdir -p "$HOME/.superqode/accepted" && half=$HOME/.superqode/accepted/.tmp-0123456789abcdef && echo half >"$half" && touch -d "1 hour ago" "$half" &&
	test_strace trace -P .tmp-0123456789abcdef -e trace=openat -e inject=openat:error=EMFILE git -C writes ews recover && test_grep INJECTED trace && test_path_is_file "$half" &&
	lock=$PWD/writes/.git/refs/ews/left.lock && : >"$lock" && for error in ENOLCK EINTR EBADF; do
		test_strace trace -P "$half" -P "$lock" -e trace=flock -e inject=flock:error=$error git -C writes ews recover && test_grep INJECTED trace && test_path_is_file "$half" && test_path_is_file "$lock" || return 1
	done && git -C writes ews recover && test_path_is_missing "$half" && test_path_is_missing "$lock" && git -C writes ews end w
'

# has_work <dir>: what the agent did is there, and git says so.
has_work() {
	test_grep work "${1:?}/aw" && git -C "$1" status --porcelain >out && echo "?? aw" >want && test_cmp want out && test "$(git -C "$1" log -1 --format=%s)" = "$2"
}

test_expect_success 'P4: a link to git that an agent rewrote, or deleted, is written anew by what the hint says, and the work stays; what stood there is in trash' '
	test_repo bent && for method in worktree snapshot; do
		for how in "rm -rf .git && git init -q" "rm -rf .git"; do
			start_ws bent ag --method $method && (cd "${ws:?}" && git commit -q --allow-empty -m mine && echo work >aw && eval "$how") && test_expect_code 1 git -C bent ews diff ag 2>err && hint=$(sed -n "s/^hint: .\(git ews recover ag\). writes it anew, and leaves the files alone$/\1/p" err) && (cd bent && eval "${hint:?}") >out 2>err &&
				test_grep "written anew.* and the files stay" out && { test "$method $how" != "worktree rm -rf .git && git init -q" || test_grep "is in trash$" out; } && if test $method = worktree; then has_work "$ws" mine; else test_grep work "${ws:?}/aw"; fi && git -C bent ews diff --stat ag >out && test_grep "^ aw | 1 +$" out && git -C bent ews recover ag 2>err && test_grep "nothing is interrupted" err && git -C bent ews end ag && git -C bent ews clean --now || return 1
		done
	done && start_ws bent ag --method snapshot && (cd "$ws" && git commit -q --allow-empty -m mine && echo work >aw && git config core.bare true) && git -C bent ews recover ag --json >json && test_grep "written anew" json && has_work "$ws" mine && git -C bent ews end ag
'

test_expect_success STRACE 'P4: what is written, changed or removed while the link is written anew stays as it is, also where that was killed, is undone and done again' '
	as_left() {
		test_grep late "${ws:?}/late" && test_grep more "${ws:?}/aw" && test_path_is_missing "${ws:?}/run.sh"
	} && test_repo goes_on && start_ws goes_on ag && echo work >"${ws:?}/aw" && rm "${ws:?}/.git" && test_stopped_at mkdirat trash "echo late >\"\${ws:?}/late\" && echo more >>\"\${ws:?}/aw\" && rm \"\${ws:?}/run.sh\"" -C goes_on recover ag && test_grep "the files stay" out && as_left &&
	git -C goes_on ews undo ag && as_left && git -C goes_on ews undo --redo ag && as_left && rm "${ws:?}/.git" "${ws:?}/aw" "${ws:?}/late" && echo once >"${ws:?}/run.sh" &&
	test_expect_code 137 test_strace log -qq -P .git -e trace=renameat -e inject=renameat:signal=KILL git-ews -C goes_on recover ag && echo late >"${ws:?}/late" && echo more >"${ws:?}/aw" && rm "${ws:?}/run.sh" && ls -A "$ws" >list && test_grep "^\.tmp-" list && beside=$(grep "^\.tmp-" list) && cp "${ws:?}/$beside" "${ws:?}/.tmp-0123456789abcdef" && echo mine >"${ws:?}/.tmp-00000000000000ff" &&
	git -C goes_on ews recover --all && as_left && ls -A "$ws" >list && grep "^\.tmp-" list >left && echo .tmp-00000000000000ff >want && test_cmp want left && test_grep mine "${ws:?}/.tmp-00000000000000ff" && git -C goes_on ews diff ag && git -C goes_on ews end ag
'

test_expect_success 'P4: git works again in a workspace whose git directory lacked more than the link, or named what is nowhere' '
	test_repo lacks && for how in "snapshot rm -rf .git && mkdir .git" "snapshot rm -rf .git/refs" "snapshot rm .git/HEAD && : >.git/objects/info/alternates" "snapshot echo lost >lost && git add lost && rm -r lost .git/objects/[0-9a-f][0-9a-f] && git config core.bare true" "worktree rm .git && echo junk >\$admin/index" "worktree rm .git && echo $(git hash-object -t blob /dev/null) >\$admin/HEAD"; do
		start_ws lacks ag --method "${how%% *}" && admin=$(git -C "${ws:?}" rev-parse --absolute-git-dir) && echo work >"${ws:?}/aw" && (cd "$ws" && eval "${how#* }") && test_expect_code 1 git -C lacks ews diff ag && git -C lacks ews recover ag >out && test_grep "written anew" out && { test "$how" = "snapshot rm -rf .git/refs" || test_grep "with HEAD and index of snap-" out; } &&
			test "$(git -C "$ws" rev-parse --show-toplevel)" = "$ws" && has_work "$ws" "$(git -C lacks log -1 --format=%s)" && git -C lacks ews diff --stat ag >out && test_grep "^ aw | 1 +$" out && git -C lacks ews end ag && git -C lacks ews clean --now || return 1
	done
'

test_expect_success 'P4: where the index alone is damaged, HEAD stays at the commit that came since the last snapshot' '
	for method in worktree snapshot; do
		start_ws lacks ag --method $method && admin=$(git -C "${ws:?}" rev-parse --absolute-git-dir) && git -C "$ws" update-index --skip-worktree run.sh && rm "${ws:?}/run.sh" && git -C lacks ews snapshot create ag &&
			(cd "$ws" && mkdir new && echo new >new/file && git add new && git commit -qm since && echo work >aw && git add aw && echo junk >"${admin:?}/index" && if test $method = worktree; then rm .git; else git config core.bare true; fi) && git -C lacks ews recover ag >out && test_grep "written anew, with the index of the commit that HEAD is at, and" out &&
			has_work "$ws" since && git -C lacks ews diff --stat ag >out && test_grep "new/file | 1 +$" out && git -C lacks ews end ag && git -C lacks ews clean --now || return 1
	done
'

test_expect_success 'P4: so an agent'"'"'s round comes to its end with the work' '
	a=$(git -C bent ews round start --agent a) && echo work >"${a:?}/aw" && rm "${a:?}/.git" && test_must_fail git -C bent ews round end --agent a 2>err && hint=$(sed -n "s/^hint: .\(git ews recover [0-9a-f]*\). writes.*/\1/p" err) && (cd bent && eval "${hint:?}") && git -C bent ews round end --agent a >out && test "$(git -C bent show "$(cat out):aw")" = work
'

test_expect_success STRACE 'P4: a start that was killed, whose base can not be read when it is taken back, is taken back later: its id is free again' '
	test_repo begun && test_expect_code 137 killat -c "renameat2.*/worktrees/b$" 1 git-ews -C begun start b >out 2>&1 && git -C begun show-ref -q refs/ews/sessions/b &&
	test_expect_code 128 test_strace trace -P "$PWD/begun/.git/refs/ews/sessions/b" -P refs/ews/sessions/b -e trace=openat,openat2 -e inject=openat,openat2:error=EIO git -C begun ews recover --resume b 2>err && test_grep INJECTED trace && test_grep "Input/output error" err &&
	git -C begun ews recover --all && test_must_fail git -C begun show-ref -q refs/ews/sessions/b && git -C begun ews start b && git -C begun ews end b
'

test_expect_success STRACE 'P4: one that can not be recovered is named, and keeps nobody from the others' '
	test_repo many && for id in a1 b2; do
		start_ws -n $id many $id && test_expect_code 137 killat -c "renameat2.*/qe/$id" 1 git-ews -C many end $id >out 2>&1 || return 1
	done && cp -a "$HOME/.superqode" home.keep && cp -a many many.keep && fails() { test_strace trace -P a1 -e trace=renameat,renameat2 -e inject=renameat,renameat2:error=EIO git-ews -C many recover --all "$@" >out 2>err; } &&
	test_expect_code 1 fails && test_grep INJECTED trace && test_grep "^session .b2.: " out && test_grep "^warning: cannot .*a1" err && test_expect_code 128 fails && test_must_be_empty out && test_grep "^error: cannot .*a1" err && git -C many ews recover --all >out && test_grep "^session .a1.: " out &&
	rm -rf many "$HOME/.superqode" && mv many.keep many && mv home.keep "$HOME/.superqode" && test_expect_code 1 fails --json && test_json out ".recovered[0].session_id" b2 && test_json out ".not_recovered[0].session_id" a1 && git -C many ews recover --all
'

# limited <hint> <verb and arguments>: no file of 51,200 bytes can be written, and that is said
limited() {
	hint=$1 && shift && test_expect_code 128 sh -c "ulimit -f 100 && exec git-ews -C limit \"\$@\"" x "$@" >out 2>err && test_must_be_empty out && test_grep "^error: .*\(File too large\|ended by signal\)" err && test_grep "^hint: $hint" err
}

test_expect_success 'P4, P8: a limit on the size of files is said as a full disk is, does no harm, and without it the same is done' '
	test_repo limit && test_expect_code 153 sh -c "ulimit -f 100 && exec git-ews -C limit run --end -- sh -c \"exec head -c 100000 /dev/zero >much\"" &&
	head -c 100000 /dev/urandom >limit/z && git -C limit add z && git -C limit commit -q -m z && more="raise what .ulimit -f. shows, and try again$" && test_fingerprint limit >before &&
	limited "$more" start s && git -C limit ews recover --all 2>err && test_grep "nothing is interrupted" err && start_ws limit s && head -c 100000 /dev/urandom >"${ws:?}/new" && cp "${ws:?}/new" kept && rm "${ws:?}/z" &&
	limited "$more" snapshot create s && limited "$more" apply s && limited "$more" end s && limited "$more" archive create && git -C limit ews recover --all 2>err && test_grep "nothing is interrupted" err && test_cmp kept "${ws:?}/new" && test_fingerprint limit >after && test_cmp before after &&
	git -C limit ews snapshot create s && limited "raise what .ulimit -f. shows, then .git ews recover.$" revert s && git -C limit ews recover --all && test_path_is_missing "${ws:?}/new" && test_cmp limit/z "${ws:?}/z" && git -C limit ews undo s && test_cmp kept "${ws:?}/new" &&
	seq 20000 >"${ws:?}/new" && git -C limit ews diff s >want && test_expect_code 128 sh -c "ulimit -f 100 && exec git-ews -C limit diff s" >out 2>err && test_grep "ended by signal" err && test_grep "^hint: .*ulimit -f" err && git -C limit ews diff s >out && test_cmp want out &&
	git -C limit ews apply s && test_cmp "${ws:?}/new" limit/new && git -C limit ews end s
'

test_done
