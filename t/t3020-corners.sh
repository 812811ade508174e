#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='corners: what stands in the way of revert, end, undo and start is kept or refused (P2, P4, P5)'

. "$(dirname "$0")/test-lib.sh"

# Keep objects that only a worktree entry names honest: no reflog but the workspace's own speaks for them.
forget() {
	git -C "$1" reflog expire --expire=now --all && git -C "$1" gc -q --prune=now
}

test_expect_success 'setup' '
	test_repo p
'

test_expect_success 'P5: a state file that names another directory is not believed' '
	start_ws p far && mkdir -p other/far && echo precious >other/far/file && state=$HOME/.superqode/working/p/sessions/far/state.json &&
	cp "${state:?}" keep.json && sed "s#\"workspace\":.*#\"workspace\": \"$PWD/other/far\",#" keep.json >"${state:?}" &&
	for verb in revert end "snapshot create"; do
		test_must_fail git -C p ews $verb far >out 2>err || return 1
	done && echo precious >want && test_cmp want other/far/file && ls other >left && echo far >want && test_cmp want left &&
	cp keep.json "${state:?}" && git -C p ews end far
'

test_expect_success 'P4: a start that fails in another home takes nothing of this one with it' '
	start_ws p shared && git -C p rev-parse refs/ews/sessions/shared >want &&
	(SUPERQODE_HOME=$PWD/second && export SUPERQODE_HOME && test_must_fail git -C p ews start shared) &&
	git -C p rev-parse refs/ews/sessions/shared >got && test_cmp want got && git -C p ews end shared &&
	(SUPERQODE_HOME=$PWD/second && export SUPERQODE_HOME && test_must_fail git -C p ews start shared) &&
	git -C p ews undo shared && test_path_is_file "${ws:?}/src/main.c" && git -C p ews end shared
'

test_expect_success 'P4: a directory that is renamed all the time is whole in the workspace, or named' '
	git init -q busy && (cd busy && mkdir d && for i in $(test_seq 1 100); do echo $i >d/$i || exit 1; done && git add . && git commit -qm d) &&
	{ (while mv busy/d busy/d2 && mv busy/d2 busy/d && test ! -e stop; do :; done) >/dev/null 2>&1 3>&- 4>&- 5>&- & } && mover=$! &&
	for n in 1 2 3 4 5; do
		start_ws busy race$n && (cd "${ws:?}" && find . -path "./d*/*" -type f) >files && { test "$(wc -l <files)" = 100 || grep changing err; } || break
	done && touch stop && { wait $mover || :; } && test $n = 5
'

test_expect_success 'P4: commits that only the reflog of the workspace names outlive end and gc' '
	start_ws p log && (cd "$ws" && echo c >c && git add c && git commit -qm precious && git rev-parse HEAD >"$SHARNESS_TRASH_DIRECTORY/id" && git checkout -q --detach HEAD~1) &&
	git -C p ews end log && forget p && git -C p cat-file -e "$(cat id)^{commit}" && git -C p ews undo log && git -C p ews end log
'

test_expect_success 'P4: where no reflog is written, the commit that HEAD stands at outlives end and gc' '
	git -C p config core.logAllRefUpdates false && test_when_finished "git -C p config --unset core.logAllRefUpdates" && start_ws p nolog &&
	(cd "$ws" && echo c >c && git add c && git commit -qm "precious, too" && git rev-parse HEAD >"$SHARNESS_TRASH_DIRECTORY/id") &&
	git -C p ews end nolog && forget p && git -C p cat-file -e "$(cat id)^{commit}" && git -C p ews undo nolog && git -C p ews end nolog
'

test_expect_success 'P4: a rebase that revert put away goes on after undo' '
	test_repo r && start_ws r reb && (
		cd "$ws" && echo theirs >>src/log && git commit -qam theirs && git branch -q theirs && git checkout -q --detach HEAD~1 &&
		echo ours >>src/log && git commit -qam ours && test_must_fail git rebase theirs
	) && git -C r ews revert reb >out 2>err && test_grep rebase err && (cd "$ws" && test_must_fail git rebase --abort) &&
	git -C r ews undo reb && (cd "$ws" && git rebase --abort && git log -1 --format=%s) >got && echo ours >want && test_cmp want got
'

# git reset --hard would stash it for good, where the project has its stash
test_expect_success 'P2: what a merge stashed, and how a bisect goes, does not survive a revert, and comes back with undo' '
	test_repo as && git -C as checkout -q -b side && echo side >>as/src/log && git -C as commit -qam side && git -C as checkout -q - && echo main >>as/src/log && git -C as commit -qam main && start_ws as as && admin=$(git -C "$ws" rev-parse --absolute-git-dir) &&
	ls "${admin:?}" >before && echo dirty >>"${ws:?}/run.sh" && test_must_fail git -C "$ws" merge -q --autostash side && cp "${admin:?}/MERGE_AUTOSTASH" stashed && git -C "$ws" ews revert >out && test_grep "Status: Verified" out &&
	ls "${admin:?}" >got && test_cmp before got && echo more >>"${ws:?}/run.sh" && git -C "$ws" reset -q --hard && git -C as stash list >got && test_must_be_empty got &&
	git -C "$ws" ews undo >out && test_cmp stashed "${admin:?}/MERGE_AUTOSTASH" && git -C "$ws" ews revert >out && git -C "$ws" bisect start --first-parent >out && git -C "$ws" ews revert >out && test_grep "Status: Verified" out && ls "${admin:?}" >got && test_cmp before got &&
	git -C as ews end as
'

test_expect_success 'P3: two reverts at once: one does it, the other waits for nobody and claims nothing' '
	start_ws p two && for i in $(test_seq 1 200); do echo $i >"${ws:?}/new$i" || return 1; done &&
	{ git -C p ews revert two >one.out 2>&1 3>&- 4>&- 5>&- & } && first=$! && { git -C p ews revert two >two.out 2>&1 || :; } && { wait $first || :; } &&
	cat one.out two.out >both && test_grep "Status: Verified" both && test_grep ! "Not verified" both && git -C p ews end two
'

test_expect_success 'a workspace that somebody removed: its session ends all the same' '
	start_ws p gone && rm -rf "${ws:?}" && test_must_fail git -C p ews diff gone 2>err && test_grep "ews end gone" err &&
	git -C p ews end gone && git -C p ews list >out && test_grep ! gone out && git -C p worktree list >out && test_line_count = 1 out
'

test_expect_success 'P2: the lock that a killed git left in the worktree entry does not survive a revert' '
	start_ws p stale && : >p/.git/worktrees/stale/index.lock && git -C p ews revert stale >out && test_grep "Status: Verified" out &&
	git -C "$ws" add -A && git -C p ews end stale
'

test_expect_success 'end in a pipe: who reads its output does not use the workspace' '
	start_ws p pipe && (cd "$ws" && { git ews end pipe && echo fine >&2; } 2>"$SHARNESS_TRASH_DIRECTORY/err" | cat) >out && test_grep fine err
'

test_expect_success 'P3: a path that is nowhere is an error, not a proof of nothing' '
	start_ws p path && test_expect_code 128 git -C p ews revert path -- nope >out 2>err && test_must_be_empty out && test_grep nope err &&
	git -C p ews end path
'

test_expect_success 'P4: a step whose path is nowhere any more does not stand in the way of the ones before it' '
	start_ws p gone && echo edit >>"${ws:?}/run.sh" && git -C p ews revert gone >out && rm "${ws:?}/src/main.c" && git -C p ews revert gone -- src/main.c >out &&
	rm "${ws:?}/src/main.c" && git -C p ews undo gone && test_path_is_missing "${ws:?}/src/main.c" && git -C p ews undo gone && test_grep "^edit\$" "${ws:?}/run.sh" &&
	git -C p ews end gone
'

# products <word>: what a build leaves in $ws, a file and a directory that are ignored
products() {
	mkdir "${ws:?}/out" && echo "$1" >"${ws:?}/out/f" && echo "$1" >"${ws:?}/x.o"
}

# built <word>: that is what there is, or nothing
built() {
	if test -n "$1"; then
		echo "$1" >want && test_cmp want "${ws:?}/out/f" && test_cmp want "${ws:?}/x.o"
	else
		test_path_is_missing "${ws:?}/out" && test_path_is_missing "${ws:?}/x.o"
	fi
}

test_expect_success 'P4: each build that a revert moved to trash comes back when it is its turn, whatever build stands there by now' '
	start_ws p builds && products one && git -C p ews revert builds && products two && git -C p ews revert builds && built "" && git -C p ews undo builds && built two && git -C p ews undo builds 2>err && test_grep ! "stays in trash" err && built one &&
	git -C p ews undo --redo builds && built two && git -C p ews undo --redo builds && built "" && git -C p ews undo builds && built two && git -C p ews undo builds && built one &&
	git -C p ews undo --redo builds && git -C p ews undo --redo builds && built "" && products three && git -C p ews undo builds 2>err && test_grep "2 paths moved to trash" err && built two && git -C p ews undo --redo builds && built three && git -C p ews end builds
'

test_expect_success 'P9: a config.worktree that was written since is gone after revert' '
	test_repo cw && git -C cw config extensions.worktreeConfig true && start_ws cw conf && git -C "$ws" config --worktree core.fsmonitor "touch \"$PWD/ran\"" &&
	rm -f ran && git -C cw ews revert conf >out && test_grep "Status: Verified" out && git -C "$ws" status && test_path_is_missing ran
'

test_expect_success 'P2: the first second of all time is a time' '
	start_ws p epoch && touch -d @0 "${ws:?}/src/main.c" && snap=$(git -C p ews snapshot create epoch) && echo more >>"${ws:?}/src/main.c" &&
	git -C p ews revert --to "$snap" epoch >out && test_grep "Status: Verified" out && test "$(stat -c %Y "${ws:?}/src/main.c")" = 0 &&
	touch "${ws:?}/src/main.c" && git -C p ews revert --to "$snap" epoch && test "$(stat -c %Y "${ws:?}/src/main.c")" = 0 && git -C p ews end epoch
'

test_expect_success 'git gc in the project is no drift' '
	start_ws p gc && git -C p gc -q && git -C p update-server-info && test_path_is_file p/.git/info/refs && git -C p ews end gc >out 2>&1 && test_grep ! drift: out
'

test_done
