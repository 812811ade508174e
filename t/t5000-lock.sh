#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='lock: one deep lock, or quick ones side by side, held by what lives (P4)'

. "$(dirname "$0")/test-lib.sh"

here=$PWD locks=$HOME/.superqode/working/p/locks
export here

# It is refused, with status 1.
busy() {
	test_expect_code 1 git -C p ews "$@" >out 2>err
}

# Who holds it, and who waits: "<mode> <holds|waits> <session|process> ..."
holders() {
	ews lock status 2>status.err | sed 's/  */ /g'
}

# holds <mode> -- hold it in the background, as $holder, until something is written into the FIFO "end" or that is killed; the pid of
# the command is in "child".
holds() {
	rm -f end child && mkfifo end || return 1
	git-ews -C p lock acquire "$@" -- sh -c 'echo $$ >"${here:?}/child.new" && mv "${here:?}/child.new" "${here:?}/child" && read -r line <"${here:?}/end"' >held.out 2>held.err 3>&- 4>&- 5>&- &
	holder=$! && test_wait_for 30 test -e child && test_when_finished "kill -9 $holder $(cat child) 2>no || :"
}

test_expect_success 'quick ones stand side by side, a deep one alone; who is refused hears who, what for, since when and what helps' '
	test_repo p && git -C p worktree add -q ../other && start_ws -n wa p a --intent "mend the parser" && ews start b >path && holders >out && printf "%s\n" "quick holds session .a." "quick holds session .b." >want && grep -c -f want out >n && echo 2 | test_cmp - n &&
	busy start c --deep && test_grep "^error: .*session .a. (quick, for [0-9]* seconds*: mend the parser), session .b. (quick, for " err && test_grep "^hint: .git ews lock status. shows them" err && test_expect_code 128 git -C p ews path c &&
	busy lock acquire --deep --json -- true && test_json out .error.code busy && ews lock acquire -- true && busy lock acquire --deep --session a && test_grep ! "session .a." err && test_grep "session .b." err && busy lock acquire --deep --wait 0.05 -- true &&
	ews end b && ews lock acquire --deep --session a --intent alone >out && echo a | test_cmp - out && ews status --json >json && test_json json ".sessions[0].lock" deep && ews >out && test_grep "^    lock: deep" out && ews status a >out && test_grep "^  Lock:  *deep" out
'

test_expect_success 'the lock is the repository'\''s: its worktrees, its subdirectories and what works in the session know it' '
	busy start d && test_grep "session .a. (deep, for .*: alone)" err && test_expect_code 1 git -C other ews start d && test_expect_code 1 git -C p/src ews lock acquire -- true && git -C "${wa:?}/src" ews lock acquire --deep -- true &&
	EWS_SESSION=a git -C other ews lock acquire -- true && ews lock acquire --session a >out && ews status --json >json && test_json json ".sessions[0].lock" quick && ews lock release a && holders >out && test_must_be_empty out && ews status --json >json && test_json json ".sessions[0].lock" null &&
	ews lock release a 2>err && test_grep "holds no lock" err && test_expect_code 128 git -C p ews lock release nobody && test_expect_code 129 git -C p ews lock acquire --deep --quick -- true && test_expect_code 129 git -C p ews lock acquire --wait soon -- true && ews start d >path && ews end a d && holders >out && test_must_be_empty out
'

test_expect_success 'who works in the project itself holds it deep; end lets go, undo takes it again' '
	test_expect_code 129 git -C p ews start --method in-place --quick && ews start --method in-place i >path && busy lock acquire -- true && test_grep "session .i. (deep" err && ews end i && ews lock acquire --deep -- true && ews undo && holders >out && test_grep "^deep holds session .i." out && ews end i &&
	ews start u >path && ews end u && holds --deep && busy undo u && test_expect_code 128 git -C p ews path u && echo >end && wait $holder && ews undo u && holders >out && test_grep "^quick holds session .u." out && ews end u
'

test_expect_success 'with a command the status is its own, and the lock goes when it ends, however it does' '
	test_expect_code 7 git -C p ews lock acquire --deep --intent make -- sh -c "git ews lock status; exit 7" >out && test_grep "^deep  *holds  *process .*make$" out && test_expect_code 127 git -C p ews lock acquire -- no-such-program && test_expect_code 137 git -C p ews lock acquire --deep -- sh -c "kill -9 \$\$" && holders >out && test_must_be_empty out &&
	ews lock acquire --deep --json -- echo talk >json 2>err && test_json json .mode deep && test_json json .status 0 && test_grep "^talk$" err && ews lock acquire --deep -- sh -c "sleep 60 >/dev/null 2>&1 3>&- 4>&- 5>&- & echo \$! >\"\${here:?}/left\"" && test_when_finished "kill $(cat left)" && ews lock acquire --deep -- true &&
	ews lock acquire --deep -- sh -c "git ews lock acquire --deep -- git ews start within" >out && holders >out && test_grep "^quick holds session .within." out && ews end within
'

test_expect_success 'who holds it by a command and is killed holds nothing, though the command lives on; a number that is given again holds nothing' '
	holds --deep && busy lock acquire -- true && test_grep "process $holder (deep" err && test_grep "^hint: .*command ends" err && id=$(ls "${locks:?}" | sed -n "s/^deep:command://p") && busy lock release "$id" && kill -9 $holder && test_when_finished "kill $(cat child)" && ews lock acquire --deep -- true && kill -0 "$(cat child)" &&
	echo "{\"version\":1,\"pid\":$$,\"start_time\":1,\"since\":1}" >"${locks:?}/deep:command:lock-dead" && holders >out && test_must_be_empty out && ews lock acquire --deep -- true && ews recover --all && test_path_is_missing "${locks:?}/deep:command:lock-dead"
'

test_expect_success 'garbage in a lock file frees no lock that is held, and holds none that is not' '
	ews start g >path && : >"${locks:?}/quick:session:g" && busy lock acquire --deep -- true && test_grep "session .g. (quick" err && head -c 999 /dev/urandom >"${locks:?}/quick:session:g" && busy lock acquire --deep -- true && ews end g &&
	holds --deep && for text in "" "{" "garbage" "{\"version\":1,\"pid\":-1,\"intent\":7}"; do printf "%s" "$text" >"$(ls "${locks:?}"/deep:command:*)" && busy lock acquire -- true && test_grep "a process (deep" err || return 1; done && echo >end && wait $holder &&
	for name in deep:session:gone deep:owner:gone deep:command:gone wait:00000000000000000001:deep:command:gone wait:00000000000000000002:deep:session:gone deep:session:.. deep:session: wait:1:deep:command:x wait:99999999999999999999:deep:command:x deep:king:x "deep:session:a b"; do
		echo garbage >"${locks:?}/$name" || return 1
	done && mkdir -p "${locks:?}/deep:session:dir/x" && mkfifo "${locks:?}/deep:command:fifo" && ews lock acquire --deep -- true && ews lock acquire --deep --wait 5 -- true && holders >out && test_must_be_empty out && ews recover --all && ls "${locks:?}" >out && test_grep ! "deep:\|wait:" out
'

test_expect_success '32 that wait all get it, in the order in which they came; one that is killed is passed by, and nobody slips in' '
	holds --quick && victim= && for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32; do
		git-ews -C p lock acquire --deep --wait 120 --intent "$i" -- sh -c "echo $i >>\"\${here:?}/turns\"" >waits.out 2>&1 3>&- 4>&- 5>&- &
		test $i != 9 || victim=$!
	done && all_wait() { holders >line && test "$(grep -c "^deep waits" line)" = 32; } && test_wait_for 120 all_wait && ews lock status --json >json && test_json_count json .waiting 32 && test_json_count json .holders 1 &&
	busy lock acquire -- true && test_grep "process [0-9]* (waits for deep" err && test_grep "and 29 more" err && kill -9 $victim && sed -n "s/^deep waits .* //p" line | grep -vx 9 >want && echo >end && { wait || :; } && test_cmp want turns && test_line_count = 31 turns
'

test_expect_success 'who is ended by a signal while he waits, or before his command, leaves neither a place in line nor a lock' '
	git -C p ews recover && holds --deep && tickets() { ls "${locks:?}" >line && grep "^wait:" line >waiting; } && test_must_fail tickets && for signal in INT TERM HUP; do
		{ env --default-signal=INT git-ews -C p lock acquire --wait 120 -- true >waits.out 2>&1 3>&- 4>&- 5>&- & } && waiter=$! && test_wait_for 30 tickets && kill -$signal $waiter && { wait $waiter; test $? -gt 128; } && test_must_fail tickets || return 1
	done && echo >end && wait $holder && for n in 1 2; do
		test_expect_code 143 killat -c "quick:command:" -s TERM $n git-ews -C p lock acquire -- true && ls "${locks:?}" >line && test_grep ! "command:" line || return 1
	done
'

test_expect_success 'two sessions that go from quick to deep do not wait for each other' '
	ews start a >path && ews start b >path && { git-ews -C p lock acquire --deep --session a --wait 120 >a.out 2>&1 3>&- 4>&- 5>&- & } && waits() { holders >line && grep "^deep waits session .a." line >waiting; } && test_wait_for 30 waits &&
	busy lock acquire --deep --session b --wait 120 && test_grep "each would wait for the other" err && test_grep "^hint: .*lock release b" err && EWS_SESSION=b ews lock acquire --wait 120 -- true && ews end b && wait && echo a | test_cmp - a.out && holders >out && echo "deep holds session" >want && test_grep "$(cat want)" out && ews end a
'

test_expect_success 'what a killed command held for its session is free; recover gives it back, unless somebody has it' '
	for method in alone taken; do
		rm -f running && { git-ews -C p run --new=k --deep -- sh -c "echo \$\$ >running; exec sleep 60" >run.out 2>&1 3>&- 4>&- 5>&- & } && victim=$! && ws=$HOME/.superqode/working/p/qe/k && test_wait_for 30 test -s "${ws:?}/running" && busy start o && test_grep "session .k. (deep" err &&
			kill -9 $victim && { wait $victim || :; } && { kill "$(cat "${ws:?}/running")" 2>/dev/null || :; } && holders >out && test_must_be_empty out || return 1
		if test $method = alone; then
			ews recover k --resume && holders >out && test_grep "^deep holds session .k." out && ews end k --force || return 1
		else
			ews start o >path && ews recover k --resume >out && test_grep "its deep lock is released: .*session .o." out && holders >out && test_line_count = 1 out && test_grep "^quick holds session .o." out && ews clean --force k o && holders >out && test_must_be_empty out || return 1
		fi
	done
'

test_expect_success '32 sessions are started, run and ended at once, and all is well' '
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32; do
		if test $((i % 2)) = 0; then
			{ ews run --new=s$i --end -- sh -c "echo $i >>src/numbers" || echo $i; } >o$i 2>&1 3>&- 4>&- 5>&- &
		else
			{ { ews start s$i && ews run s$i -- sh -c "echo $i >>src/numbers" && ews end s$i; } || echo $i; } >o$i 2>&1 3>&- 4>&- 5>&- &
		fi
	done && wait && { grep -l "error:" o[0-9]* >failed || :; } && { xargs -r cat <failed >&2; test_must_be_empty failed; } && ews status --json --ended >json && ls p/.superqode/qe-artifacts/patches | grep "^s" >patches && test_line_count = 32 patches &&
	ews list >out && test_must_be_empty out && git -C p fsck --strict --no-dangling >out 2>&1 && test_must_be_empty out && git -C p worktree list >out && test_line_count = 2 out && ls "${locks:?}" >out && test_must_be_empty out
'

test_expect_success STRACE 'a session that can not be looked at just now keeps its lock' '
	test_repo blind && git -C blind ews start a && git -C blind ews lock acquire --deep --session a && test_expect_code 1 test_strace trace -P sessions/a -e trace=openat2 -e inject=openat2:error=EMFILE git -C blind ews lock acquire -- true 2>err && test_grep INJECTED trace && test_grep "session .a." err &&
	git -C blind ews status --json >json && test_json json ".sessions[0].lock" deep && git -C blind ews lock release a && git -C blind ews end a
'

test_expect_success 'P8: a lock that can not be looked at just now is not one that nobody holds' '
	test_repo unread && git -C unread ews start a && look=0 && while test_more_looks; do
		test_look EIO "/locks(/quick:session:a)?$" -C unread lock status >out 2>err && test $code != 0 || test_grep "session .a." out || return 1
	done && test $look -gt 1 && look=0 && while test_more_looks; do
		test_look EIO "/locks(/[a-z]*:session:a)?$" -C unread status a >out 2>err && test $code != 0 || test_grep "^  Lock: *quick$" out || test_grep "^  Problem: .*Input/output error" out || return 1
	done && test $look -gt 1 && look=0 && while test_more_looks; do
		git -C unread ews lock acquire --session a && test_look EIO "/locks(/[a-z]*:session:a)?$" -C unread lock release a >out 2>err && test $code != 0 || { git -C unread ews lock status >out 2>err && test_grep ! "session .a." out; } || return 1
	done && test $look -gt 1 && git -C unread ews end a
'

test_expect_success 'a session that takes its lock anew says what it is for, as before' '
	test_repo anew && git -C anew ews start --deep --intent "foo bar" a && for how in --deep --quick --deep; do
		git -C anew ews lock acquire $how --session a >out && git -C anew ews lock status --json >out && test_json out ".holders[0].intent" "foo bar" || return 1
	done && test_expect_code 1 git -C anew ews start b 2>err && test_grep "foo bar" err && git -C anew ews lock acquire --deep --session a --intent other --json >out && test_json out .intent other && git -C anew ews lock acquire --deep --session a --json >out && test_json out .intent other && git -C anew ews end a &&
	git -C anew ews start --intent "foo bar" a && for said in other "foo bar"; do
		look=0 && while test_more_looks; do
			git -C anew ews lock release a && if test "$said" = other; then git -C anew ews lock acquire --session a --intent other; fi && test_look EIO "/(locks|sessions)(/.*)?$" -C anew lock acquire --session a >out 2>err &&
				if test $code = 0; then git -C anew ews lock status --json >out && test_json out ".holders[0].intent" "$said"; fi || return 1
		done && test $look -gt 9 || return 1
	done && git -C anew ews end a
'

test_done
