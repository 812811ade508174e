#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='the whole life of a session: snapshot, sandbox, report, revert, artifacts, apply (P1, P2, P3, P4, P7)'

. "$(dirname "$0")/test-lib.sh"

qe=p/.superqode/qe-artifacts

test_expect_success 'P1: a snapshot of the project, work that is not committed included, and a workspace that holds the same' '
	test_repo p && echo draft >>p/src/main.c && echo untracked >p/notes && test_fingerprint p >project && cp -a p before &&
	snap=$(ews snapshot create -m "before the agent") && ews snapshot show --json "$snap" >json && test_json json .snapshot_id "$snap" && test_json json .files_count &&
	start_ws p --intent "mend the parser" qa && test_same_tree p "${ws:?}" && test_fingerprint p >after && test_cmp project after
'

test_expect_success 'P1, P6: the sandbox: a command works there, and git commands that write are stopped' '
	ews run qa -- sh -c "
		echo fixed >>src/main.c && rm docs/crlf.txt && mkdir tests && echo \"assert 1\" >tests/test_parser.py && printf \"\\000\\001\" >blob.bin
		git commit -q -a -m sneaky || git reset --hard || git diff --stat
	" >out 2>err && test_grep "^git ews: blocked: git commit" out err && test_grep "^Changes: 4 file(s)" err && test_fingerprint p >after && test_cmp project after && cp -a "${ws:?}" agent
'

test_expect_success 'the report tells of findings, changes, what was stopped, and judges' '
	git -C "${ws:?}" diff HEAD -- docs/crlf.txt >fix && ews report finding add --severity critical --title "the parser drops a line" --file src/main.c --line 1 --fix "$PWD/fix" >id &&
	ews report finding add --severity warning --title "no test of it" >out && report=$(ews report) && test_grep "FAIL" "$report" && test_grep "the parser drops a line" "$report" && test_grep "git commit" "$report" &&
	ews report --format json --output - >json && test_json json .verdict FAIL && test_json_count json .findings 2 && test_json json .changes.total_changes 4 && test_json json ".blocked[0].command"
'

test_expect_success 'P2, P3: revert brings everything back, proven; P4: undo brings the work back' '
	ews revert >out && test_grep "Status: Verified" out && test_grep "Files restored: " out && test_same_tree before "${ws:?}" && ews undo qa && test_same_tree agent "${ws:?}" &&
	ews report --format json --output - >json && test_json json .revert.last.verified true
'

test_expect_success 'P4, P7: end leaves the artifacts and takes the workspace away; the project is what it was' '
	ews end --pending >out && test_path_is_missing "${ws:?}" && test_fingerprint p >after && test_cmp project after &&
	test_grep "^  Report: " out && for file in patches/qa.patch patches/qa-$(cat id).patch generated-tests/unit/test_parser.py logs/qa-events.log manifest.json; do test_path_is_file "${qe:?}/$file" || return 1; done &&
	cp -a before patched && git -C patched apply "../${qe:?}/patches/qa.patch" && test_same_tree agent patched && git -C p clean -q -fdx -e notes && test_path_is_missing ${qe:?}/manifest.json &&
	ews artifact list >out 2>err && test_path_is_file ${qe:?}/patches/qa.patch && ews suggestions list >out && test_line_count = 2 out && ews pending list >out && test_grep "^qa " out
'

test_expect_success 'P1, P4: apply: looked at first, then all of it; undo, and as a commit' '
	test_fingerprint p >project && ews pending apply --check qa >out && test_grep "blob.bin" out && test_fingerprint p >after && test_cmp project after &&
	ews apply qa >out && test_same_tree agent p && ews undo && test_same_tree before p && ews pending apply qa >out && test_same_tree agent p && ews status --json >json && test_json_count json .sessions 0 &&
	git -C p add -A && git -C p commit -q -m "what the agent did" && git -C p status --porcelain >st && test_must_be_empty st && git -C p fsck --strict --no-dangling >out 2>&1 && test_must_be_empty out
'

test_done
