#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='what others took away, moved or left behind: found, named, mended, and nothing lost (P4)'

. "$(dirname "$0")/test-lib.sh"

working=$HOME/.superqode/working

# commit_in <dir>: a commit that no branch has; its id in $commit
commit_in() {
	echo agent >"${1:?}/agent" && git -C "$1" add agent && git -C "$1" commit -q -m agent && commit=$(git -C "$1" rev-parse HEAD)
}

# is_kept <project> <commit>: a snapshot in trash leads there, also after gc
is_kept() {
	git -C "$1" gc -q --prune=now && git -C "$1" rev-list $(git -C "$1" for-each-ref --format="%(objectname)" refs/ews/trash) >revs && test_grep "$2" revs
}

test_expect_success 'P4: of a workspace that was removed by hand git still has commits and index: end keeps them' '
	test_repo p && start_ws p gone && commit_in "$ws" && echo staged >"${ws:?}/run.sh" && git -C "$ws" add run.sh && staged=$(git -C "$ws" rev-parse :run.sh) && rm -r "$ws" &&
	git -C p ews clean --older-than 0s >out 2>err && test_grep "stays: gone: changed" err && git -C p ews end gone >out 2>err && test_grep "the workspace was gone" err && is_kept p $commit &&
	git -C p cat-file -e $staged && git -C p ews undo gone && test "$(git -C "$ws" rev-parse HEAD)" = $commit && test "$(git -C "$ws" rev-parse :run.sh)" = $staged && git -C p ews end gone
'

test_expect_success 'P4: a session whose registration git pruned can end, and come back' '
	start_ws p pruned && commit_in "$ws" && mv "$ws" away && git -C p worktree unlock "$ws" && git -C p worktree prune && mv away "$ws" && test_path_is_missing p/.git/worktrees/pruned &&
	git -C p ews end pruned && test_path_is_missing "$ws" && git -C p ews undo pruned && test_path_is_file "${ws:?}/agent" && git -C "$ws" status >out && git -C p ews end pruned
'

test_done
