#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='start --from: a workspace that begins at what another one came to (P1, P2, P4, P7)'

. "$(dirname "$0")/test-lib.sh"

# What an agent does in the directory <dir>.
work_in() (
	cd "$1" && echo edit >>src/main.c && mkdir -p new/hollow && echo new >"new/$(printf "a\nb")" && ln -s nowhere link.new && chmod 755 new && printf "bin\0ary" >new/bin && git add new/bin && echo o >x.o
)

test_expect_success 'P1: d2 begins at the present state of d1, and records both bases' '
	test_repo p && echo mine >>p/src/main.c && test_fingerprint p >before && start_ws -n w1 p d1 && work_in "${w1:?}" && git -C "${w1:?}" diff --cached >staged && ews diff d1 >one.patch && start_ws -n w2 p --from d1 d2 &&
	test_same_tree -x .git -x x.o "${w1:?}" "${w2:?}" && git -C "${w2:?}" diff --cached >got && test_cmp staged got && git -C "${w2:?}" status --porcelain >s2 && git -C "${w1:?}" status --porcelain >s1 && test_cmp s1 s2 && test_path_is_missing "${w2:?}/x.o" && ! git -C "${w2:?}" symbolic-ref -q HEAD && test_fingerprint p >after && test_cmp before after &&
	ews diff d2 >got && test_cmp one.patch got && ews diff d2 --from parent --exit-code >out && test_must_be_empty out && ews diff d1 >got && test_cmp one.patch got
'

test_expect_success 'P7: --from base is cumulative from the first base, --from parent what this one did' '
	echo second >"${w2:?}/second" && rm "${w2:?}/link.new" && ews diff d2 --from parent --name-status >out && printf "D\tlink.new\nA\tsecond\n" >want && test_cmp want out && ews diff d2 --from base >all && ews diff d2 >got && test_cmp all got && test_grep "^+edit" all && test_grep "^+second" all && test_grep ! link.new all && ews start d3 --from d2 --json >json && test_json json .session_id d3 &&
	ews start d3.json --from d2 --method snapshot --json >json && test_json json .base_commit "$(git -C p rev-parse HEAD)" && parent=$(json json .parent_snapshot_id) && ews snapshot show "$parent" >out && test_grep "state of d2" out && test_json json .method snapshot && ews diff d3 >got && test_cmp all got && ews diff d3.json --from base >got && test_cmp all got &&
	git clone -q p q && echo mine >>q/src/main.c && (cd q && git apply ../all) && test_same_tree -x .git -x x.o -x new/hollow -M . "$(ews path d3)" q
'

test_expect_success 'P2: revert goes back to the first base, or with --to to where it began; apply brings all of it' '
	ews end --force d3 d3.json >out 2>&1 && cp -a "${w2:?}" now && ews revert d2 >out && test_grep "Status: Verified" out && ews diff d2 --exit-code && ews undo d2 && test_same_tree -x .git now "${w2:?}" && ews status d2 --json >json && ews revert d2 --to "$(json json ".sessions[0].parent_snapshot_id")" >out && ews diff d2 --from parent --exit-code && ews undo d2 && test_same_tree -x .git now "${w2:?}" &&
	ews apply d2 >out && test_same_tree -x .git -x .superqode -x x.o -M . now p && ews undo
'

test_expect_success 'P4: what has ended, or waits, can be begun at as well; two results of one name are both kept' '
	ews end d1 --pending >out && start_ws -n w4 p --from d1 d4 && cp -a "${w4:?}" first && ews pending apply --check d1 >out && ews end d4 >out && ews pending drop d1 >out && start_ws p d1 && echo other >"${ws:?}/other" && ews end d1 --pending >out && start_ws p d1 && echo equal >"${ws:?}/equal" && ews diff d1 --name-only >out && test "$(cat out)" = equal && ews end d1 --pending >out && test_grep "^  Pending: git ews pending show|apply|drop d1-2$" out && ews pending list >out && test_line_count = 2 out && ews pending show d1 >out && test_grep "^+other$" out && test_grep ! "^+equal$" out && ews pending show d1-2 --json >json && test_json json .session_id d1 && test_json json .name d1-2 && ews status --json >json && test_json_count json .sessions 2 && { ews doctor >out 2>&1 || :; } && test_grep ! pending out &&
	start_ws p --from d1 d9 && test "$(cat "${ws:?}/equal")" = equal && test_path_is_missing "${ws:?}/other" && ews end d9 >out && start_ws p d1 && ews end d1 >out && ews clean --now >out && git -C p gc -q --prune=now && ews pending apply --check d1-2 >out && ews pending drop d1-2 >out && ews pending list >out && test_grep "^d1  " out && test_line_count = 1 out &&
	start_ws p d4 && echo again >"${ws:?}/again" && ews end d4 >out && start_ws p --from d4 d5 && test "$(cat "${ws:?}/again")" = again && ews undo --list >out && test_grep "end.*d4" out && ews end d5 >out && ews undo d5 && ews diff d5 --from parent --exit-code &&
	ews pending apply d1 >out && test "$(cat p/other)" = other && rm p/other && start_ws p --from "$(ews snapshot create d5 -m mine)" d6 && test "$(cat "${ws:?}/again")" = again && ews diff d6 --from parent --exit-code && ews diff d6 --name-only >out && test "$(cat out)" = again
'

test_expect_success 'P4: what a chained session began with stays as long as the session; where it was dropped before, diff says so, and what brings it back' '
	test_repo dropping && start_ws dropping one && echo 1 >"${ws:?}/one" && old=$(git -C dropping ews snapshot create one) && start_ws dropping --from one two && echo 2 >"${ws:?}/two" && git -C dropping ews status two --json >json && parent=$(json json ".sessions[0].parent_snapshot_id") && newer=$(git -C dropping ews snapshot create two) &&
	git -C dropping ews snapshot prune --keep 1 >out 2>err && test_must_be_empty out && git -C dropping ews snapshot prune --keep 0 --dry-run two >out && echo "$newer" | test_cmp - out && git -C dropping ews snapshot prune --keep 0 >out && printf "%s\n" "$old" "$newer" | sort >want && sort out | test_cmp want - &&
	test_expect_code 1 git -C dropping ews snapshot drop "$old" "$parent" 2>err && test_grep "what session .two. began with" err && git -C dropping ews diff two --from parent --name-only >out && echo two | test_cmp - out &&
	cmd=$(sed -n "s/^hint: .*: .\(git ews end two\).$/\1/p" err) && (cd dropping && eval "${cmd:?}") >out 2>&1 && git -C dropping ews snapshot drop "$parent" >out && git -C dropping ews undo two && git -C dropping ews undo two && test "$(cat "${ws:?}/two")" = 2 &&
	git -C dropping update-ref "refs/ews/trash/$parent" "refs/ews/snapshots/$parent" && git -C dropping update-ref -d "refs/ews/snapshots/$parent" && git -C dropping ews diff two --from parent --name-only >out && echo two | test_cmp - out &&
	git -C dropping update-ref -d "refs/ews/trash/$parent" && test_expect_code 128 git -C dropping ews diff two --from parent 2>err && test_grep "^error: .$parent., from which session .two. was made, was dropped" err && git -C dropping fsck --lost-found 2>/dev/null | sed -n "s/^dangling commit //p" >lost && while read -r commit; do
		! git -C dropping cat-file -p "$commit" | grep -q "^Ews-Snapshot: $parent$" || found=$commit
	done <lost && cmd=$(sed -n "s/^hint: .*\(git update-ref [^ ]*\) <commit>.*/\1/p" err) && (cd dropping && eval "${cmd:?} ${found:?}") && git -C dropping ews diff two --from parent --name-only >out && echo two | test_cmp - out
'

test_expect_success 'what is ignored in the project comes along when it is asked for, but where the state that is begun at has something' '
	test_repo along && printf "built/\n.env\n" >along/.gitignore && git -C along add . && git -C along commit -qm rules && mkdir along/built && echo cache >along/built/o && echo secret >along/.env && start_ws along --keep-ignored=no a && echo work >>"${ws:?}/src/main.c" && echo his >"${ws:?}/.env" && snap=$(git -C along ews snapshot create --ignored a) &&
	start_ws along --from a --keep-ignored b && test_cmp along/built/o "${ws:?}/built/o" && test_cmp along/.env "${ws:?}/.env" && git -C along ews diff b --name-only >out && echo src/main.c >want && test_cmp want out && git -C along ews diff b --from parent --exit-code && : >"${ws:?}/.gitignore" && git -C along ews diff b --name-only >out && printf ".gitignore\\nsrc/main.c\\n" >want && test_cmp want out && echo more >>"${ws:?}/built/o" && git -C along ews revert b >out 2>err && test_grep "Status: Verified" out && test_grep "built/o (ignored, changed)" err && git -C along ews end b && git -C along ews run --from a --keep-ignored=yes -- cat built/o >out && test_cmp along/built/o out &&
	start_ws along --from "$snap" --keep-ignored c && test_cmp along/built/o "${ws:?}/built/o" && echo his >want && test_cmp want "${ws:?}/.env" && for how in auto no; do
		start_ws along --from a --keep-ignored=$how $how && test_path_is_missing "${ws:?}/built" && test_path_is_missing "${ws:?}/.env" || return 1
	done
'

test_expect_success 'P4: a tracked file that was left out of what is begun at, or gone back to, is none that git in the workspace takes for deleted' '
	test_repo outsize && head -c 1000001 /dev/zero >outsize/big && mkdir outsize/.superqode && echo o >outsize/.superqode/o && git -C outsize add -f big .superqode/o && git -C outsize commit -qm big && git -C outsize config ews.maxFile 1000000 && as_it_was() {
		git -C "${ws:?}" status --porcelain >st && test_must_be_empty st && git -C "$ws" ls-files -t >files && test_grep "^S big" files
	} && snap=$(git -C outsize ews snapshot create --partial) && start_ws outsize --partial plain && git -C outsize ews revert --to "$snap" plain >out && as_it_was && git -C outsize ews end --force plain && git -C outsize ews start --method in-place --partial in >out && git -C outsize ews end in &&
	for from in "$snap" in; do
		start_ws outsize --from "$from" s && as_it_was && git -C outsize ews revert s >out && as_it_was && echo w >"${ws:?}/w" && git -C "$ws" add -A && git -C "$ws" commit -qm w && git -C "$ws" diff --name-status HEAD^ HEAD >got && printf "A\tw\n" | test_cmp - got && git -C outsize ews end s || return 1
	done
'

test_expect_success 'what makes no sense together, or is no state, is said' '
	test_expect_code 129 git -C p ews start --from d5 --base HEAD && test_expect_code 129 git -C p ews start --from d5 --no-uncommitted && test_expect_code 129 git -C p ews start --from d5 --method in-place && test_expect_code 129 git -C p ews start --from HEAD 2>err && test_grep "^hint: --base" err && test_expect_code 128 git -C p ews start --from nosuch && test_expect_code 129 git -C p ews start --from d5 -- src &&
	test_expect_code 128 git -C p ews start --from d5 d6 2>err && test_grep "already exists" err && ews path d5 >path && rm -rf "$(cat path)" && test_expect_code 1 git -C p ews start --from d5 d7 && ews list >out && test_grep ! "^d7 " out
'

test_expect_success 'commits of an own repository are those of the chain, and its base is made once per state' '
	start_ws p --method snapshot c1 && (cd "${ws:?}" && git checkout -q -B main && echo c >c && git add c && git commit -qm c1 && git rev-parse HEAD) >commit && start_ws p --from c1 --method worktree c2 && test "$(git -C "${ws:?}" rev-parse HEAD)" = "$(cat commit)" && git -C "${ws:?}" status --porcelain >out && echo " M src/main.c" >want && test_cmp want out && ews end c1 >out && git -C p gc -q --prune=now && git -C "${ws:?}" show HEAD:c && ews diff c2 --name-only >out && test "$(cat out)" = c &&
	start_ws p e1 && git -C p count-objects >n1 && start_ws p e2 && test "$(git -C p rev-parse refs/ews/sessions/e1^{tree})" = "$(git -C p rev-parse refs/ews/sessions/e2^{tree})" && git -C p count-objects >n2 && test $(($(cut -d" " -f 1 n2) - $(cut -d" " -f 1 n1))) -le 6
'

test_expect_success 'in a plain directory' '
	mkdir -p d/sub && echo 1 >d/f && start_ws -n w1 d s1 && echo 2 >>"${w1:?}/f" && mkdir "${w1:?}/hollow" && start_ws d --from s1 s2 && test_same_tree "${w1:?}" "${ws:?}" && echo 3 >"${ws:?}/g" && git -C d ews diff s2 --name-only >out && printf "f\ng\n" >want && test_cmp want out && git -C d ews diff s2 --from parent --name-only >out && echo g >want && test_cmp want out
'

test_expect_success 'P1, P4: two delegations in a row, d2 from d1: each has its patch, which outlives it, and the project notices nothing' '
	git init -q e && printf "%s\n" a b c >e/f && echo gone >e/gone && echo old >e/old && echo "*.o" >e/.gitignore && mkdir e/dir && echo d >e/dir/d && ln -s dir e/way && git -C e add -A && git -C e commit -qm 1 && echo dirty >>e/f && echo untracked >e/u && echo o >e/x.o && rm -r e/dir e/way && echo file >e/dir && mkdir e/way && echo in >e/way/in && ln -s way e/to-dir && test_fingerprint e >before &&
	start_ws -n d1 e d1 && test_same_tree -x .git -x .superqode -x x.o -M . e "${d1:?}" && echo one >>"${d1:?}/f" && rm "${d1:?}/gone" && mv "${d1:?}/old" "${d1:?}/new" && git -C e ews diff d1 >d1.patch && git -C e ews end d1 --pending >out && test_path_is_missing "${d1:?}" && start_ws -n d2 e --from d1 d2 && test_path_is_file "${d2:?}/new" && echo two >"${d2:?}/two" && printf "\0bin" >"${d2:?}/bin" && { seq 3000 && printf "a\0b\n" && seq 9; } >"${d2:?}/late-nul" && chmod +x "${d2:?}/f" && cp -a "${d2:?}" twin && git -C e ews diff d2 >d2.patch && git -C e ews end d2 --pending >out &&
	git -C e ews start d3 >out && git -C e ews end d3 --pending >out && test_fingerprint e >after && test_cmp before after && mkdir -p "$HOME/.superqode/working/2024-projects" "$HOME/.superqode/1234-abcdefgh" && echo mine >"$HOME/.superqode/working/2024-projects/f" && git -C e ews clean --now >out && git -C e ews recover --all >out && test "$(cat "$HOME/.superqode/working/2024-projects/f")" = mine && test_path_is_dir "$HOME/.superqode/1234-abcdefgh" && git -C e ews pending list >out && test_line_count = 2 out && git -C e ews pending show d1 >out && test_grep "^+one$" out && test_grep "^rename to new$" out &&
	(cd e && git apply --check ../d1.patch && git apply ../d2.patch) && test_same_tree -x .git -x .superqode -x x.o -M . twin e && git -C e apply -R ../d2.patch && git -C e ews pending drop d1 >out && git -C e ews pending apply d2 >out && test_same_tree -x .git -x .superqode -x x.o -M . twin e && start_ws e d5 && test_same_tree -x .git -x x.o -M . twin "${ws:?}" && echo five >>"${ws:?}/two" && git -C e ews end d5 --pending >out && git -C e ews pending apply d5 >out 2>err && grep "ews undo" err >out && echo "note: '"'git ews undo' makes 'd5'"' pending again, once more takes back what came" | test_cmp - out && test "$(sed -n 2p e/two)" = five
'

# hooked <start> <complete> <verb and arguments>...: with these hooks of the user's
hooked() {
	start=$1 complete=$2
	shift 2
	git -C h -c ews.hook.start="$start" -c ews.hook.complete="$complete" ews "$@"
}

says='printf "%s\n" "$EWS_SESSION|$EWS_PROJECT|$EWS_WORKSPACE|$EWS_INTENT|$EWS_COMMAND|$EWS_STATUS" >"$HOME/said"'

test_expect_success 'P4: a start hook that fails: the command does not run, and nothing is left' '
	git init -q h && echo 1 >h/f && git -C h add f && git -C h commit -qm 1 && git -C h ews status >out 2>&1 && test_fingerprint h >before && test_expect_code 126 hooked "$says; echo no >&2; exit 3" "" run --intent why --new=a -- sh -c "echo ran >$HOME/ran" 2>err && test_path_is_missing home/ran && test_grep "^no$" err && test_grep "ews.hook.start ended with status 3" err &&
	echo "a|$PWD/h|$HOME/.superqode/working/h/qe/a|why|sh -c echo ran >$HOME/ran|" >want && test_cmp want home/said && test_path_is_missing "$HOME/.superqode/working/h/qe/a" && git -C h ews list >out && test_must_be_empty out && git -C h ews undo --list >out && test_must_be_empty out && test_fingerprint h >after && test_cmp before after &&
	test_expect_code 128 hooked "exit 1" "" start b --json >json && test_json json .error.code denied && test_expect_code 128 hooked "kill \$\$" "" start --method in-place b && test_expect_code 128 hooked "exit 1" "" round start --agent x && git -C h ews round list >out && test_must_be_empty out && git -C h for-each-ref refs/ews >out && test_must_be_empty out &&
	hooked "test -f \"\$EWS_WORKSPACE/f\"" "" start b >path && test_expect_code 126 hooked "exit 1" "" run b -- touch ran && test_path_is_missing "$HOME/.superqode/working/h/qe/b/ran" && git -C h ews status b --json >json && test_json json ".sessions[0].state" active && git -C h ews end b >out
'

test_expect_success 'complete: 0 applies, 1 goes to trash, anything else waits; it sees the patch, the command and its status' '
	seen="$says; cat >\"\$HOME/stdin\"; cp \"\$EWS_PATCH\" \"\$HOME/file\"" && hooked "" "$seen; exit 0" run --new=ok -- sh -c "echo 2 >>f; echo n >n" 2>err && test_grep "accepted" err && test "$(cat h/n)" = n && echo "ok|$PWD/h|$HOME/.superqode/working/h/qe/ok||sh -c echo 2 >>f; echo n >n|0" >want && test_cmp want home/said && test_cmp home/stdin home/file && test_grep "^+n$" home/file && git -C h diff >got && test_grep "^+2" got && git -C h ews undo && test_path_is_file "$HOME/.superqode/working/h/qe/ok/n" && git -C h ews undo && test_path_is_missing h/n && hooked "" "exit 1" end ok >out 2>err && test_grep rejected err && test_path_is_missing h/n && git -C h ews pending list >out && test_must_be_empty out &&
	hooked "" "exit 1" run --new=no --json -- touch n >json 2>err && test_json json .decision rejected && test_path_is_missing h/n && test_expect_code 4 hooked "" "$seen; exit 7" run --end --new=wait -- sh -c "echo w >w; exit 4" 2>err && test_grep "|4$" home/said && test_grep "is pending" err && git -C h ews pending list >out && test_grep "^wait " out && hooked "" "kill \$\$" run --new=killed -- touch w 2>err && git -C h ews pending list >out && test_line_count = 2 out && git -C h ews pending apply wait >out && test "$(cat h/w)" = w && rm h/w && git -C h ews pending drop killed >out &&
	hooked "" "touch \"\$HOME/asked\"" run --new=same -- true && test_path_is_missing home/asked && git -C h ews start n >path && touch "$HOME/.superqode/working/h/qe/n/made" && git -C h ews end --pending n >out && git -C h ews pending drop n >out
'

test_expect_success 'P4: a signal while complete is asked reaches it, and ends the run; the result waits, whatever the hook says then' '
	for signal in 2 15 1; do
		test_expect_code $((128 + signal)) hooked "" "touch \"\$HOME/asked\"; kill -$signal \$PPID; (sleep 10; touch \"\$HOME/after\"); exit 0" run --new=cut --json -- sh -c "echo cut >cut" >json 2>err && test_json json .decision pending && test_path_is_file home/asked && test_path_is_missing home/after &&
		test_path_is_missing h/cut && git -C h ews pending list >out && test_grep "^cut " out && git -C h ews pending drop cut >out &&
		test_expect_code $((128 + signal)) hooked "" "trap : $signal; kill -$signal \$PPID; exit 0" run --new=deaf -- touch deaf 2>err && test_grep "a signal came.* pending" err && test_path_is_missing h/deaf && git -C h ews pending drop deaf >out || return 1
	done && (trap "" HUP && hooked "" "kill -1 \$PPID; exit 0" run -q --new=nohup -- touch nohup) && test_path_is_file h/nohup && rm h/nohup home/asked
'

test_expect_success 'what is applied is what the hook saw, all of it or, where that fits no more, nothing' '
	git -C h ews start late >path && echo seen >"$HOME/.superqode/working/h/qe/late/l" && hooked "" "echo unseen >\"\$EWS_WORKSPACE/l\"" end late >out && test "$(cat h/l)" = seen && rm h/l && git -C h ews start clash >path && echo theirs >"$HOME/.superqode/working/h/qe/clash/f" && echo ours >h/f && hooked "" "exit 0" end clash --json >json && test_json json ".sessions[0].decision" pending && test "$(cat h/f)" = ours && git -C h checkout -q f && git -C h ews pending apply clash >out && test "$(cat h/f)" = theirs && git -C h checkout -q f &&
	hooked "" "exit 0" start --method in-place here >path && echo here >h/f && hooked "" "exit 0" end here >out && test "$(cat h/f)" = here && git -C h ews start --method in-place here >path && echo there >h/f && hooked "" "exit 1" end here >out && test "$(cat h/f)" = here && git -C h checkout -q f
'

test_expect_success 'P1: an end that is called in another work tree: what is accepted, and the artifacts, go to the one that the session is of' '
	test_repo lw && git -C lw worktree add -q -b lw-b "$PWD/lw-tree" && start_ws lw away && echo new >"${ws:?}/new" && echo more >>"${ws:?}/run.sh" && test_fingerprint lw-tree >before && git -C lw-tree -c ews.hook.complete="pwd >\"\$HOME/at\"; exit 0" ews end away --json >json && test_json json ".sessions[0].decision" accepted &&
	test "$(cat home/at)" = "$PWD/lw" && test "$(cat lw/new)" = new && test "$(tail -n 1 lw/run.sh)" = more && test_path_is_file lw/.superqode/qe-artifacts/patches/away.patch && ls lw/.superqode/qe-artifacts/qr/*-away.md && test_path_is_missing lw-tree/.superqode && test_fingerprint lw-tree >after && test_cmp before after &&
	start_ws lw-tree there && echo t >"${ws:?}/t" && git -C lw -c ews.hook.complete="exit 0" ews run --end there -- touch by 2>err && test_grep accepted err && test "$(cat lw-tree/t)" = t && test_path_is_file lw-tree/by && test_path_is_missing lw/t && test_path_is_missing lw/by
'

test_expect_success 'P1: a run that is called in another work tree: its log and patch, and what is set, are those of the one that the session is of' '
	test_repo at && git -C at worktree add -q -b at-b "$PWD/at-tree" && start_ws at far && test_fingerprint at-tree >before && git -C at-tree ews run --log far -- sh -c "echo said; echo more >>run.sh" >out 2>err && test_grep "the log is $PWD/at/.superqode/qe-artifacts/logs/far.log" err && test_grep "the patch is $PWD/at/.superqode/qe-artifacts/patches/far.patch" err && test_path_is_missing at-tree/.superqode &&
	echo said | test_cmp - at/.superqode/qe-artifacts/logs/far.log && git -C at-tree ews report far >out && test_grep "^$PWD/at/.superqode/" out && git -C at-tree ews report --output - far >out && test_grep "logs/far.log" out && test_path_is_missing at-tree/.superqode && test_fingerprint at-tree >after && test_cmp before after &&
	for verb in end "clean --force" "run --end"; do
		printf "qe:\n  workspace:\n    preserve_artifacts: false\n" >at/superqode.yaml && rm -rf at/.superqode && start_ws at no && echo more >>"${ws:?}/run.sh" && git -C at-tree ews $verb no $(test "$verb" != "run --end" || echo -- true) && test_path_is_missing at/.superqode && test_path_is_missing at-tree/.superqode &&
			mv at/superqode.yaml at-tree/superqode.yaml && start_ws at yes && echo more >>"${ws:?}/run.sh" && git -C at-tree ews $verb yes $(test "$verb" != "run --end" || echo -- true) && test_path_is_file at/.superqode/qe-artifacts/patches/yes.patch && test_path_is_missing at-tree/.superqode && rm at-tree/superqode.yaml || { echo >&2 "$verb"; return 1; }
	done
'

test_expect_success 'a hook is told, and shown, where the work tree stands by now, whatever stands where it was' '
	git -C lw worktree add -q -b go "$PWD/lw-go" && start_ws lw-go gone && echo g >"${ws:?}/g" && git -C lw worktree move "$PWD/lw-go" "$PWD/lw-went" && git -C lw worktree add -q -b other "$PWD/lw-go" && git -C lw -c ews.hook.start="printf \"%s\\n\" \"\$EWS_PROJECT\" >\"\$HOME/told\"" ews run gone -- sh -c "echo \"\$EWS_PROJECT\"" >out 2>err && echo "$PWD/lw-went" >want && test_cmp want out && test_cmp want home/told && git -C lw ews status --json gone >json && test_json json ".sessions[0].project" "$PWD/lw-went" &&
	git -C "${ws:?}" -c ews.hook.complete="printf \"%s\\n\" \"\$EWS_PROJECT\" >\"\$HOME/told\"; exit 1" ews end gone 2>err && test_cmp want home/told && test_grep "cd .$PWD/lw-went.$" err
'

test_expect_success 'what is accepted waits where the work tree that the session is of is gone' '
	start_ws lw-tree lost && echo lost >"${ws:?}/lost" && git -C lw worktree remove --force "$PWD/lw-tree" && git -C lw -c ews.hook.complete="exit 0" ews end lost >out 2>err && test_grep "accepted, but .*it is pending" err && test_path_is_missing lw/lost && test_path_is_missing lw-tree && git -C lw ews pending list >out && test_grep "^lost " out && git -C lw ews pending apply lost >out && test "$(cat lw/lost)" = lost
'

# Whether it was made since can't be told where the logs of both begin in one second, and their directories in two.
test_expect_success 'P1: what is accepted does not go to a work tree that was made since, under the name of the one that the session was of' '
	for at in lw lw-same; do
		git -C lw worktree add -q -f --detach "$PWD/lw-same" && start_ws lw-same was && echo was >"${ws:?}/was" && git -C lw worktree remove --force "$PWD/lw-same" && git -C lw worktree add -q -f --detach "$PWD/lw-same" && git -C $at ews status was >out && test_grep "its work tree \(is gone, and .$PWD/lw-same. was\|may be gone, and .$PWD/lw-same. may have been\) made since" out && git -C $at -c ews.hook.complete="exit 0" ews end was >out 2>err && test_grep "accepted, but .*it is pending" err && test_path_is_missing lw-same/was && test_path_is_missing lw/was && { test $at = lw-same || test_path_is_missing lw-same/.superqode; } &&
			git -C lw ews pending drop was && rm -rf lw/.superqode && git -C lw worktree remove --force "$PWD/lw-same" || { echo >&2 "in $at"; return 1; }
	done
'

test_expect_success 'P9: no hook of a repository is believed' '
	git -C h config ews.hook.start "touch $PWD/ran; exit 1" && git -C h config ews.hook.complete "touch $PWD/ran" && printf "ews:\n  hook:\n    start: touch %s\n" "$PWD/ran" >h/superqode.yaml && git -C h ews run --new=r -- touch x 2>err && test_path_is_missing ran && test_path_is_missing h/x && test_grep "ews.hook.start" err && { git -C h ews config accept >out 2>&1 || :; } && git -C h ews run --new=r2 -- touch x 2>err && test_path_is_missing ran && test_path_is_missing h/x && rm h/superqode.yaml &&
	git -C h config --unset ews.hook.start && git -C h config --unset ews.hook.complete && printf "[ews \"hook\"]\n\tstart = exit 5\n" >>home/.gitconfig && test_expect_code 128 git -C h ews start 2>err && test_grep "status 5" err && git config --global --unset ews.hook.start && git -C h ews config list >out && test_grep "ews.hook.complete" out
'

test_expect_success 'P2: where the project has no commit, HEAD is where it was at the first start after a revert of what was begun from a session, or a snapshot' '
	git init -q none && echo one >none/one && start_ws none first && first=$(git -C "$ws" rev-parse HEAD) && (cd "$ws" && echo two >two && git add two && git commit -q -m two) && git -C none ews snapshot create first >snap && for from in first "$(cat snap)"; do
		start_ws none --from "$from" more && git -C "$ws" show HEAD:two && test "$(git -C "$ws" rev-parse HEAD~)" = "$first" && git -C none ews revert more >out && test_grep "Status: Verified" out && test "$(git -C "$ws" rev-parse HEAD)" = "$first" &&
		git -C "$ws" status --porcelain >out && echo "?? one" | test_cmp - out && git -C none ews undo more && git -C "$ws" show HEAD:two && git -C none ews end more || return 1
	done && (cd "$(git -C none ews path first)" && git checkout -q --orphan empty) && start_ws none --from first more 2>err && test_grep "stands at no commit: here it stands where that began" err && test "$(git -C "$ws" rev-parse HEAD)" = "$first"
'

test_expect_success 'P8: where a session can not be opened just now, what is begun from it, or from its snapshot, has no other beginning' '
	test_repo sought && start_ws sought sess && echo one >>"${ws:?}/run.sh" && git -C sought ews snapshot create sess >snap && git -C sought tag se && for from in se "$(cat snap)"; do look=0 && while test_more_looks; do
		test_look EIO "/sessions(/sess(/state.json)?)?$" -C sought start --from "$from" u >out 2>err && if test $code = 0 || test $code = 199; then git -C sought ews diff --shortstat u >out && test_grep "1 insertion" out && git -C sought ews end u --no-artifacts; else test_grep ! "is a commit" err; fi || return 1
	done && test $look -gt 4 || return 1; done
'

test_done
