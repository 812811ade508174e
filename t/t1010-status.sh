#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='status, list, path: which sessions there are, and how it stands with them'

. "$(dirname "$0")/test-lib.sh"

test_expect_success 'without a session there is nothing, and that is no error' '
	test_repo p && git -C p ews status >out && git -C p ews list >out && test_must_be_empty out &&
	git -C p ews status --json >out && test_json out .schema ews.status/1 && test_json_count out .sessions 0 &&
	test_expect_code 128 git -C p ews path >out 2>err && test_must_be_empty out && test -s err &&
	git -C p for-each-ref refs/ews >out && test_must_be_empty out
'

test_expect_success 'setup: two sessions, one of which is changed' '
	start_ws -n one p --intent "try it" one && start_ws -n two p two &&
	(cd "$one" && echo edit >>src/main.c && echo new >new && rm docs/crlf.txt && git mv run.sh ran.sh)
'

test_expect_success 'list: a line for each' '
	git -C p ews list >out && test_line_count = 2 out && grep one out && grep two out
'

test_expect_success 'path prints it alone; from inside it is that one' '
	test "$(git -C p ews path one)" = "$one" && test "$(git -C p ews path tw)" = "$two" &&
	test "$(git -C "${one:?}/src" ews path)" = "$one" && test "$(git -C "$two" ews path)" = "$two" &&
	test "$(git -C "$two" ews path one)" = "$one" && test "$(cd p && EWS_SESSION=one git ews path)" = "$one"
'

test_expect_success 'bare git ews is git ews status' '
	git -C p ews status >want && git -C p ews >got && sed "s/[0-9]* *\(s\|ms\|seconds\?\)\b//g" want >w && sed "s/[0-9]* *\(s\|ms\|seconds\?\)\b//g" got >g &&
	test_cmp w g && grep one got && grep two got
'

test_expect_success 'status tells id, state, method, changes' '
	git -C p ews status one >out && grep one out && grep active out && grep worktree out && test_must_fail grep two out
'

test_expect_success 'status --json: every key of the contract' '
	git -C p ews status --json >out 2>err && test_must_be_empty err && test_json out .schema ews.status/1 && test_json_count out .sessions 2 &&
	git -C p ews status --json one >out && test_json_count out .sessions 1 && s=".sessions[0]" &&
	test_json out $s.session_id one && test_json out $s.path "$one" && test_json out $s.project "$PWD/p" && test_json out $s.method git_worktree &&
	test_json out $s.state active && test_json out $s.intent "try it" && test_json out $s.base_commit "$(git -C p rev-parse HEAD)" &&
	json out $s.snapshot_id | grep "^snap-" && json out $s.created_at | grep -E "^[0-9-]{10}T[0-9:.]{8,}Z\$" &&
	age=$(json out $s.age_ms) && test $age -ge 0 && test $age -lt 600000 && test_json out $s.size_bytes &&
	test_json out $s.changes.total_changes 4 && test_json out $s.changes.additions 1 && test_json out $s.changes.deletions 1 &&
	test_json out $s.changes.modifications 1 && test_json out $s.changes.renames 1 &&
	test_json out $s.changes.lines_added 2 && test_json out $s.changes.lines_deleted 2
'

test_expect_success 'an unchanged session has no changes' '
	git -C p ews status --json two >out && test_json out ".sessions[0].changes.total_changes" 0
'

test_expect_success 'an ended one is shown on request alone' '
	git -C p ews end two && git -C p ews list >out && test_line_count = 1 out && git -C p ews status >out && test_must_fail grep two out &&
	git -C p ews status --ended >out && grep two out && git -C p ews status --json --ended >out && json out .sessions | grep "\"ended\"" &&
	git -C p ews status --json --all >out && json out .sessions | grep "\"two\"" && test_must_fail git -C p ews path two
'

test_expect_success 'the only active session is meant when none is named' '
	test "$(git -C p ews path)" = "$one" && git -C p ews diff >a && git -C p ews diff one >b && cmp a b && test -s a
'

test_expect_success 'with several, none is guessed' '
	git -C p ews start three >out && for verb in path diff revert end "snapshot list"; do
		case $verb in snapshot*) continue ;; esac
		rc=0 && { git -C p ews $verb >out 2>err || rc=$?; } && case $rc in 128 | 129) ;; *) return 1 ;; esac &&
		test_must_be_empty out && test_grep "^error: ." err && test_grep "^hint: ." err || return 1
	done
'

test_expect_success 'from a linked worktree and from a subdirectory the sessions are the same' '
	git -C p worktree add -q ../linked HEAD~1 && git -C linked ews list >a && git -C p ews list >b && (cd p/src/deep && git ews list) >c &&
	cut -d" " -f1 a >a1 && cut -d" " -f1 b >b1 && cut -d" " -f1 c >c1 && test_cmp a1 b1 && test_cmp a1 c1
'

test_expect_success 'another project has other sessions, and of one name too' '
	mkdir other && test_repo other/p && git -C other/p ews list >out && test_must_be_empty out && git -C other/p ews start one >out &&
	test "$(cat out)" != "$one" && test "$(git -C other/p ews path one)" = "$(cat out)" && test "$(git -C p ews path one)" = "$one"
'

test_expect_success 'a workspace that is gone is shown as such, not left out' '
	mv "$one" moved && git -C p ews status one >out 2>err && cat out err >both && test_grep -i "missing\|gone\|vanished" both &&
	git -C p ews status --json one >out && test_json_count out .sessions 1 && mv moved "$one"
'

test_expect_success 'a rewritten .git file is tampering: named, and not followed' '
	cp "${one:?}/.git" keep && test_when_finished "cp keep \"${one:?}/.git\"" && test_repo evil && git -C evil config core.fsmonitor "touch \"$PWD/ran\"; false" &&
	echo "gitdir: $PWD/evil/.git" >"${one:?}/.git" && git -C p ews status one >out 2>err && cat out err >both && test_grep -i "tampered.*\.git" both &&
	git -C p ews status --json one >out && test_json_count out ".sessions[0].tampered" 1 &&
	test_expect_code 1 git -C p ews diff one >out 2>err && test_must_be_empty out && test_path_is_missing ran
'

test_expect_success '--log prints what happened, JSON lines' '
	git -C p ews revert three >out && git -C p ews status --log --json three >out && test_line_count -ge 1 out &&
	while read -r line; do printf "%s\n" "$line" >line && test_json line || return 1; done <out && grep revert out
'

test_expect_success 'options that do not exist, and names that mean nothing' '
	test_expect_code 129 git -C p ews status --nonsense 2>err && test_expect_code 129 git -C p ews path one two 2>err &&
	test_expect_code 128 git -C p ews status nobody 2>err && test_grep nobody err && test_expect_code 129 git -C p ews nonsense 2>err
'

test_done
