#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='A verb that SIGINT, SIGTERM, SIGHUP or SIGXCPU ends has tidied up first (P1, P4)

Nothing calls `recover` here. The points of all verbs are the matter of t7030.'

. "$(dirname "$0")/test-lib.sh"

if test_have_prereq VALGRIND; then
	skip_all='a killed tracer is no test of the program'
	test_done
fi

# strike <signal> <n> <command>...: the command gets the signal at its n-th change, and ends by it. (Two runs differ by a few
# changes: one that has fewer goes to its end.)
strike() {
	case $1 in
	HUP) ews_want=129 ;;
	INT) ews_want=130 ;;
	TERM) ews_want=143 ;;
	XCPU) ews_want=152 ;;
	esac
	ews_signal=$1 ews_n=$2
	shift 2
	ews_code=0
	killat -o log -c "${ews_where:-.}" -s "$ews_signal" "$ews_n" "$@" >out 2>err || ews_code=$?
	test $ews_code = "$ews_want" -o $ews_code = 199 || {
		echo >&2 "$* at $ews_n: status $ews_code" && cat err >&2
		return 1
	}
}

# strike_at <regexp> <signal> <n> <command>...: the same at the n-th of those changes alone that match.
strike_at() {
	ews_where=$1
	shift
	ews_struck=0
	strike "$@" || ews_struck=$?
	ews_where=
	return $ews_struck
}

# points <how many> <command>...: as many of its changes, from the first to the last, on stdout, a number and one of the signals a line.
points() {
	ews_many=$1
	shift
	killat -o log 0 "$@" >out 2>err && cut -f 1 log | awk -v many="$ews_many" '{ for (i = 0; i < many; i++) print 1 + int(i * ($1 - 4) / many), substr("INT TERMHUP ", 1 + i % 3 * 4, 4) }'
}

# Nothing waits for `recover`, and git is content.
sound() {
	git -C p ews status --json --all >said && test_grep ! '"interrupted"\|"starting"\|"ending"' said && no_litter && git -C p fsck --strict --no-dangling >fsck.out 2>&1 && test_must_be_empty fsck.out &&
		git -C p worktree prune -n -v --expire=now >pruned 2>&1 && test_must_be_empty pruned
}

state_of() {
	"$EWS_SRC/t/lister" -m -x .git -x .superqode "$1" && git -C "$1" rev-parse HEAD && git -C "$1" ls-files -s
}

test_expect_success 'setup: a project with uncommitted work' '
	test_repo p && (cd p && echo more >>src/log && git add src/log && echo more >>src/log && echo new >untracked) && git -C p ews start x >out && git -C p ews end x &&
	test_fingerprint p >fp.want && save fresh && (cd p && points 12 git-ews start s) >list && test_line_count = 12 list && n=$(sed -n "6s/ .*//p" list)
'

test_expect_success 'P1, P4: a start that a signal ends leaves nothing, or a whole session; its id is free at once' '
	while read -r at signal; do
		restore fresh && strike "$signal" "$at" git-ews -C p start s && sound && test_fingerprint p >fp.got && test_cmp fp.want fp.got &&
		if git -C p ews path s >out 2>err; then git -C p ews end s; else test_path_is_missing "$HOME/.superqode/working/p/sessions/s" && test_path_is_missing "$HOME/.superqode/working/p/qe/s"; fi >out 2>err &&
		start_ws p s && git -C p ews diff --exit-code s || {
			echo >&2 "at $at: $(cat log)"
			return 1
		}
	done <list
'

test_expect_success 'P4: through git, which passes the signal on that it got itself, too' '
	for signal in INT TERM; do
		restore fresh && strike $signal "$n" git -C p ews start s && test_grep "^note: session .s.: its start .*taken back" err && test_line_count = 1 err && sound && start_ws p s || return 1
	done
'

test_expect_success 'P4: at a limit on processor time, too' '
	restore fresh && strike XCPU "$n" git-ews -C p start s && test_grep "^note: session .s.: its start .*taken back" err && sound && start_ws p s
'

test_expect_success 'P4: but not while the command of a run is at work, which has not spent that time' '
	restore fresh && start_ws p s && git-ews -C p run --guard off s -- sh -c "kill -XCPU \$PPID && echo done >done" && test_path_is_file "${ws:?}/done" && sound && git -C p ews revert s && test_path_is_missing "${ws:?}/done" && git -C p ews end s
'

test_expect_success 'one line says what became of it; none with -q, none with --json' '
	for option in -q --json; do
		restore fresh && strike TERM "$n" git-ews -C p start "$option" s && test_must_be_empty out && test_must_be_empty err && sound && start_ws p s || return 1
	done
'

test_expect_success 'that line is one of its own, also where one of progress was not ended' '
	for option in --progress "--progress -q"; do
		restore fresh && strike TERM "$n" git-ews -C p start $option s && tr "\\r" "\\n" <err >lines && test_grep "^Filling workspace: " lines && test "$(tail -c 1 err | od -An -tx1)" = " 0a" && sound && { test "$option" != --progress || test_grep "^note: session .s.: its start .*taken back" err; } || return 1
	done && restore fresh && strike TERM "$n" git-ews -C p start --no-progress s && test_line_count = 1 err
'

test_expect_success 'how far it has come is shown where progress is, and that a second one leaves it' '
	restore fresh && start_ws p w && for n in $(seq 4 4 80); do
		echo x >"${ws:?}/new" && strike TERM "$n" git-ews -C p revert --progress w && sound && ! grep "finished and verified" err || break
	done && test_grep "finished and verified" err && tr "\\r" "\n" <err >lines && test_grep "^Recovering, ^C again leaves it to .git ews recover.: .*, done" lines && git -C p ews end w
'

test_expect_success 'the session that bore the id last bears it again' '
	restore fresh && git -C p ews undo --list >want && strike INT "$n" git-ews -C p start x && git -C p ews undo --list >got && test_cmp want got && git -C p ews undo x && git -C p ews path x
'

test_expect_success 'a signal that is ignored from the first on stays ignored' '
	restore fresh && (trap "" INT && killat -s INT "$n" git-ews -C p start s) >out && take_ws out && git -C p ews diff --exit-code s
'

test_expect_success 'P4: where there is no git repository' '
	mkdir plain && echo 1 >plain/a && git -C plain ews start first && cp -a plain plain.want && for signal in INT TERM; do
		for at in 8 24 40; do
			strike $signal $at git-ews -C plain start s && test_same_tree plain.want plain && test_must_fail git -C plain ews path s && start_ws plain s && git -C plain ews end s || return 1
		done
	done
'

test_expect_success 'P4: a revert that a signal ends is done, or has not begun; an end likewise' '
	restore fresh && start_ws p s && state_of "$ws" >base.want && (cd "$ws" && echo edit >>src/main.c && rm docs/crlf.txt && mkdir -p new/dir && echo new >new/dir/file && rm -r src/deep && echo file >src/deep && chmod 600 src/numbers) && state_of "$ws" >work.want && save work &&
	for verb in revert "end --force"; do
		restore work && points 6 git-ews -C p $verb s >list && while read -r at signal; do
			restore work && strike "$signal" "$at" git-ews -C p $verb s && cp err said.then && sound && if git -C p ews path s >out 2>err; then state_of "$ws" >got && { cmp work.want got || { test "$verb" = revert && cmp base.want got; }; }; else test_path_is_missing "$ws" && git -C p ews undo s && state_of "$ws" >got && test_cmp work.want got; fi && git -C p ews $verb s || {
				echo >&2 "$verb at $at: $(cat log)" && cat said.then >&2
				return 1
			}
		done <list || return 1
	done
'

# A child has our descriptors, and our locks with them, until it has closed them.
test_expect_success STRACE 'P4: a revert that a signal ends while a git that it begins has its lock still, likewise' '
	restore work && lock=$HOME/.superqode/working/p/locks/s &&
	{ test_strace calls -e trace=close_range,unlinkat -e inject=close_range:delay_enter=2500000 -e inject=unlinkat:delay_enter=200000 "$EWS_BIN/git-ews" -C p revert s >out 2>err & } && tracer=$! &&
	test_wait_for 20 test -s "$lock" && sleep 0.8 && kill -TERM "$(sed -n "s/^pid //p" "$lock")" && { wait $tracer || test $? = 143; } && test_path_is_missing "$lock" && sound && state_of "$ws" >got && { cmp work.want got || cmp base.want got; }
'

# Told to end while it waits for who has the artifacts.
ended_waiting() {
	exec "$EWS_BIN/git-ews" -C p end --force s >ended.out 2>&1 3>&- 4>&- 5>&- &
	verb=$!
	test_wait_for 20 sh -c 'git -C p for-each-ref refs/ews/trash | grep -q "$1"' x snap- && sleep 0.2 && kill -"$signal" "$verb" && test_wait_for 10 sh -c "! grep -qs \"^State:.[^Z]\" /proc/${verb:?}/status" && { wait "$verb"; test $? -gt 128; }
}

test_expect_success STRACE 'P4: an end that a signal ends while somebody stores an artifact does not wait for him; the session stays' '
	for signal in TERM HUP; do
		restore work && test_stopped_at openat manifest.json ended_waiting -C p artifact add --type log --name "a-$signal" run.sh && sound && state_of "$ws" >got && test_cmp work.want got && git -C p ews artifact list >list && test_grep "a-$signal" list || return 1
	done
'

test_expect_success 'P4: the hook that a verb waits for goes with it, and all that it began; the session stays' '
	restore work && hook="echo \$\$ >\"$PWD/hook\"; sleep 300 & echo \$! >\"$PWD/sleeper\"; wait; touch \"$PWD/over\"" && for signal in TERM HUP; do
		rm -f hook sleeper && { exec git -C p -c ews.hook.complete="$hook" ews end s >out 2>err 3>&- 4>&- 5>&- & } && verb=$! && test_wait_for 20 test -s sleeper && test_path_is_file hook && kill -$signal $verb && { wait $verb; test $? -gt 128; } &&
			for file in hook sleeper; do test_wait_for 20 sh -c "! grep -qs \"^State:.[^Z]\" /proc/\"\$1\"/status" x "$(cat $file)" || return 1; done && test_path_is_missing over && sound && state_of "$ws" >got && test_cmp work.want got || return 1
	done && git -C p ews end s
'

test_expect_success 'P4: a clean --all that a signal ends leaves no project half cleaned, be it the first or another' '
	own=$ws && restore fresh && test_repo q && start_ws p s && echo edit >>"${ws:?}/run.sh" && start_ws q t && echo edit >>"${ws:?}/run.sh" && save both && cp -a q q.both && for signal in INT TERM; do
		for it in p/s q/t; do
			restore both && rm -rf q && cp -a q.both q && code=0 && { killat -o log -s $signal -c "unlink.*/${it%/*}/.git/refs/ews/sessions/${it#*/}$" 1 git-ews clean --all --force --older-than 0s >out 2>err || code=$?; } && test $code -gt 128 -a $code != 199 && test_grep "^note: session .${it#*/}.: its end was finished" err && sound &&
				git -C q ews status --json --all >said && test_grep ! "\"interrupted\"" said && git -C ${it%/*} ews undo ${it#*/} && git -C ${it%/*} ews path ${it#*/} >out && take_ws out && test_grep edit "${ws:?}/run.sh" && git-ews clean --all --force --older-than 0s >out 2>err || {
				echo >&2 "$it: status $code, $(cat log err)"
				return 1
			}
		done || return 1
	done && ws=$own
'

test_expect_success 'P4: a run that a signal ends before its command begins leaves the session as it was, and nothing else' '
	for where in "owner:s 1" "sessions/s/log 1" "sessions/s/bin 1" "before-1 1" "before-1 2" "before-1/ 1"; do
		for signal in INT TERM HUP; do
			restore work && strike_at "${where% *}" $signal "${where#* }" git-ews -C p run --log s -- touch began && sound && state_of "$ws" >got && test_cmp work.want got && test_path_is_missing "$HOME/.superqode/working/p/sessions/s/before-1" &&
				ls "$HOME/.superqode/working/p/locks" >locks && echo quick:session:s | test_cmp - locks && test_path_is_missing p/.superqode/qe-artifacts/logs/s.log &&
				{ test "${where#before}" = "$where" || { test_line_count = 1 err && test_grep "^note: session .s.: the command was not begun$" err; }; } && git -C p ews run s -- true || {
				echo >&2 "$signal at $where: $(cat log)"
				return 1
			}
		done
	done
'

test_expect_success 'P4: a session that run made for that command has ended; undo brings it back' '
	for where in "owner:k 2" "state.json 2" "sessions/k/bin 1" "before-1 1" "before-1 2"; do
		restore fresh && strike_at "${where% *}" TERM "${where#* }" git-ews -C p run --new=k -- touch began && sound && test_must_fail git -C p ews path k && ls "$HOME/.superqode/working/p/locks" >locks && test_must_be_empty locks && { test "${where#before}" = "$where" || { test_line_count = 1 err && test_grep "^note: session .k.: the command was not begun; session .k.: ended; " err && git -C p ews undo k && git -C p ews diff --exit-code k && git -C p ews end k; }; } || {
			echo >&2 "at $where: $(cat log err)"
			return 1
		}
	done
'

test_expect_success 'P4: what an earlier command left in the session to be put back from stays' '
	restore work && git -C p ews run --guard off s -- git -C "$PWD/p" config user.name Other && ls -d "$HOME/.superqode/working/p/sessions/s/before-1" >want && strike_at before-2 TERM 2 git-ews -C p run s -- true && ls -d "$HOME"/.superqode/working/p/sessions/s/before-* >got && test_cmp want got
'

test_expect_success 'P4: a process that the verb did not begin lives on, though it is a child: a shell became the verb' '
	restore work && git config --global ews.hook.complete "echo \$\$ >\"$PWD/hook\"; exec sleep 300" && test_when_finished "git config --global --unset ews.hook.complete" && rm -f hook && { sh -c "trap \"\" TERM; sleep 300 & echo \$! >server; trap - TERM; exec git-ews -C p end s" >out 2>err 3>&- 4>&- 5>&- & } && verb=$! && test_wait_for 20 test -s hook && test_when_finished "kill -9 $(cat server)" &&
	kill -TERM $verb && { wait $verb; test $? = 143; } && test_wait_for 20 sh -c "! grep -qs \"^State:.[^Z]\" /proc/\"\$1\"/status" x "$(cat hook)" && grep "^State:.[^Z]" "/proc/$(cat server)/status" && sound && state_of "$ws" >got && test_cmp work.want got
'

test_expect_success 'what others left interrupted is left to them' '
	restore work && test_expect_code 137 killat 60 git-ews -C p start other && strike INT 20 git-ews -C p revert s && git -C p ews status --all >said && test_grep "^  other  *interrupted" said && test_grep ! "^  s  *interrupted" said
'

test_done
