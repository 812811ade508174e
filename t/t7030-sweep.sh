#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='recover: harm done to any verb at any of its changes is mended (P1, P4)

t/sweep has the table. Here a few points of it, those that broke once; with TEST_LONG all of them, or those that
SWEEP says.'

. "$(dirname "$0")/test-lib.sh"

if test_have_prereq VALGRIND; then
	skip_all='a killed tracer is no test of the program'
	test_done
fi

sweep() {
	"$EWS_SRC/t/sweep" "$@" >swept 2>&1 || {
		cat swept >&2
		return 1
	}
}

if test_have_prereq EXPENSIVE; then
	test_expect_success 'P4: the whole sweep, or what SWEEP says' '
		eval "sweep ${SWEEP-}"
	'
	sed "s/^/# /" swept
	test_done
fi

test_expect_success 'P4: a committed apply is there as a whole, or not' '
	sweep -j 1 -f kill -n 3 -a "HEAD.lock$|index.lock	|p/d/b$" apply/commit
'

test_expect_success 'P4: no half artifact stays, and what is let go is deleted' '
	sweep -j 1 -f kill -n 1 -a "openat.*qe-artifacts/.tmp-" artifact/worktree && sweep -j 1 -f kill -n 1 -a "gone-.*workspace/d" clean/worktree
'

test_expect_success 'P4: calls that fail, a disk that is full from there on, one process of many, no standard output' '
	sweep -j 1 -f "EIO full one closed" -n 1 -a "fsync.*/sessions$|renameat.*/sessions/x/state.json$" start/in-place
'

test_expect_success 'P4: of an undo that could not be done whole, redo and undo lead to the first state all the same' '
	sweep -j 1 -f EIO -n 1 -a "(openat|write).*/p/d/b$" undo-apply/worktree
'

test_expect_success 'P4: what could not come back from trash, or go with its record, is tried again' '
	sweep -j 1 -f EIO -n 1 -a "unlinkat.*/logs/a.txt\$" artifact-remove/worktree && sweep -j 1 -f ENOSPC -n 1 -a "renameat2.*/trash/op-[^/]*/f0" undo-revert/worktree
'

test_expect_success 'P4: what git, or libgit2, could not delete though it succeeded, is deleted' '
	sweep -j 1 -f EIO -n 2 -a "unlink.*(HEAD.lock|/tmp_obj_([^e]|e[^w])[^/]*)$" apply/commit &&
	sweep -j 1 -f EINTR -n 1 -a "unlink.*refs/heads/left.lock$" end/branch
'

test_expect_success 'P3, P4: what somebody does meanwhile is not lost, and no directory that he puts there leads a verb elsewhere' '
	sweep -j 1 -f before:commit -n 1 -a "unlinkat.*/p/d/b$" revert/in-place && sweep -j 1 -f "before:wrote after:revert" -n 2 -a "undo/op-.*json$|/index$" revert/worktree &&
	sweep -j 1 -f "before:agent after:wrote+snapshot" -n 1 -a "mkdir.*/.git/ews$" end/worktree && sweep -j 1 -f "before:linked after:swapped" -n 1 -a "unlinkat.*/x/d/e$" revert/snapshot && sweep -j 1 -f after:there -n 1 -a "openat.*/x/d/b$" revert/worktree
'

test_expect_success 'P1, P8: what cannot be looked at just now is not taken for what is not there' '
	sweep -j 1 -f "unread unopened" -n 3 -a "openat.*/sessions/[^/]*/state.json$" round-end/worktree && sweep -j 1 -f "unread unopened" -n 6 -a "/p/[.]git(/HEAD|/index)?$" start/worktree diff/worktree &&
	sweep -j 1 -f unread -n 6 -a "/(project.json|x/new|x/d/b)$" status/worktree apply/plain
'

test_done
