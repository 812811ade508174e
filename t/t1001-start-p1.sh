#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='P1: the fingerprint of the project is the same before and after every verb'

. "$(dirname "$0")/test-lib.sh"

# untouched <command>...: it succeeds, and the project in p is as before.
untouched() {
	test_fingerprint p >fp.before && "$@" >fp.out 2>fp.err || {
		cat fp.out fp.err >&2
		return 1
	}
	test_fingerprint p >fp.after && test_cmp fp.before fp.after
}

# Each verb once, and some in several ways, on session $1 of the project p.
every_verb() {
	untouched git -C p ews start "$1" && take_ws fp.out && untouched git -C p ews status &&
		untouched git -C p ews status --json && untouched git -C p ews list && untouched git -C p ews path "$1" &&
		(cd "$ws" && echo edit >>src/main.c && echo new >new && git add new && rm run.sh && git rm -q docs/crlf.txt) &&
		untouched git -C p ews status && untouched git -C p ews diff "$1" && untouched git -C p ews diff "$1" --stat &&
		untouched git -C p ews diff HEAD~1 HEAD && untouched git -C p ews snapshot create "$1" && snap=$(cat fp.out) &&
		untouched git -C p ews snapshot create && own=$(cat fp.out) && untouched git -C p ews snapshot list --all &&
		untouched git -C p ews snapshot show "$snap" --hashes --coverage --files && untouched git -C p ews snapshot diff "$snap" &&
		untouched git -C p ews snapshot verify --all && untouched git -C p ews revert "$1" --dry-run &&
		untouched git -C p ews revert "$1" && untouched git -C p ews undo "$1" && untouched git -C p ews undo --redo "$1" &&
		untouched git -C p ews revert "$1" --to "$snap" && untouched git -C p ews revert "$1" -- src &&
		untouched git -C p ews snapshot restore "$snap" "$1" --force &&
		untouched git -C p ews snapshot restore "$snap" --to "$PWD/restored.$1" && untouched git -C p ews snapshot drop "$own" &&
		untouched git -C p ews undo && untouched git -C p ews snapshot prune --keep 1 && untouched git -C p ews undo --list &&
		untouched git -C p ews end "$1" && untouched git -C p ews undo "$1" && untouched git -C p ews recover --all &&
		untouched git -C p ews end "$1" && untouched git -C p ews clean --now --dry-run && untouched git -C p ews clean --now
}

test_expect_success 'setup: a project with work of all kinds' '
	test_repo p && (
		cd p && echo s >>src/log && git add src/log && echo more >>src/log && rm empty &&
		git stash -q && git stash apply -q && echo u >untracked && git add -N untracked && git tag -a -m t t1 && git notes add -m n && git branch other HEAD~1 &&
		git worktree add -q ../own other && git remote add origin ../nowhere &&
		touch -d "2001-02-03 04:05:06" src/main.c src docs .
	)
'

test_expect_success 'P1: every verb leaves the project as it was' '
	every_verb one
'

test_expect_success 'P1: every verb does so mid-merge' '
	(cd p && git add -A && git commit -qm all && git checkout -q -b side HEAD~1 && echo side >>src/log && git commit -qam side &&
		git checkout -q main && test_must_fail git merge side) && every_verb merging && test_path_is_file p/.git/MERGE_HEAD
'

test_expect_success 'P1: locks that others hold on index and config stay, and stop nothing' '
	echo held >p/.git/index.lock && echo held >p/.git/config.lock && echo held >p/.git/HEAD.lock && echo held >p/.git/packed-refs.lock &&
	test_when_finished "rm -f p/.git/*.lock" && every_verb locked && test "$(cat p/.git/index.lock)" = held && test "$(cat p/.git/config.lock)" = held
'

test_expect_success 'P1: a project whose info, hooks and logs directories are missing gets none' '
	test_repo bareish && rm -rf bareish/.git/info bareish/.git/hooks bareish/.git/branches && mv p p.keep && mv bareish p &&
	test_when_finished "rm -rf p && mv p.keep p" && every_verb lean && test_path_is_missing p/.git/info && test_path_is_missing p/.git/hooks
'

test_expect_success USERS 'P1: a project whose files and configuration may not be written' '
	mkdir theirs && test_repo theirs/p && chmod -R a-w theirs/p/src theirs/p/docs && chmod 444 theirs/p/.git/config theirs/p/.git/index &&
	test_give_user theirs && git config --global --add safe.directory "*" && test_fingerprint theirs/p >before && test_as_user git -C theirs/p ews start x >out && take_ws out &&
	rm -r "${ws:?}/docs" && test_as_user git -C theirs/p ews revert x >out && test_grep "Status: Verified" out && test_as_user git -C theirs/p ews end x &&
	test_fingerprint theirs/p >after && git config --global --unset-all safe.directory &&
	sed "/^refs:/,\$d" before >b && sed "/^refs:/,\$d" after >a && test_cmp b a
'

test_expect_success 'P1: reflogs, stash and FETCH_HEAD are as they were, and core.logAllRefUpdates=always adds to none of theirs' '
	git -C p merge --abort && git -C p config core.logAllRefUpdates always && every_verb logged && git -C p stash list >out && test_line_count = 1 out
'

test_expect_success 'P1: no verb follows a link that stands in for a file of the git directory' '
	test_repo linked && mkdir far && echo far >far/file && rm -rf linked/.git/hooks && ln -s "$PWD/far" linked/.git/hooks &&
	"$EWS_SRC/t/lister" far >before && git -C linked ews start x >out && git -C linked ews revert x >out && git -C linked ews end x &&
	"$EWS_SRC/t/lister" far >after && test_cmp before after
'

test_expect_success 'P1: a failing verb leaves it as well' '
	test_fingerprint p >before &&
	test_must_fail git -C p ews start "a b" 2>err && test_must_fail git -C p ews start --base nope 2>err && test_must_fail git -C p ews diff nope 2>err &&
	test_must_fail git -C p ews revert nope 2>err && test_must_fail git -C p ews end nope 2>err && test_must_fail git -C p ews snapshot show nope 2>err &&
	test_must_fail git -C p ews snapshot drop nope 2>err && test_must_fail git -C p ews snapshot restore nope 2>err && test_must_fail git -C p ews frobnicate 2>err &&
	test_fingerprint p >after && test_cmp before after
'

test_done
