#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='suggestions and pending: results that outlive their session, and are decided about later (P1, P4)'

. "$(dirname "$0")/test-lib.sh"

test_expect_success 'suggestions: list and show know the patches alone' '
	test_repo p && ews suggestions list >out && test_must_be_empty out && test_expect_code 128 git -C p ews suggestions show x 2>err && test_grep "^hint: there are none" err &&
	start_ws p one && echo one >>"${ws:?}/src/main.c" && (cd "${ws:?}" && git diff >"$OLDPWD/fix") && ews report finding add --severity info --title "mend it" --fix "$PWD/fix" >id && ews end one >out &&
	start_ws p two && echo two >"${ws:?}/two" && ews end two >out && echo log | ews artifact add --type log - >out &&
	ews suggestions list >out && test_line_count = 3 out && test_grep "patches/one-$(cat id).patch  mend it$" out && ews suggestions list --json >json && test_json_count json .suggestions 3 && test_json json ".suggestions[0].type" suggested_fix &&
	ews suggestions show "$(cat id)" >out && test_cmp fix out && ews suggestions show --json two >json && test_json json .suggestion.name two.patch && rm p/.superqode/qe-artifacts/patches/two.patch && ews suggestions show two >out 2>err && test_grep "^+two\$" out &&
	printf "caf\351 \0 end\n" >odd && ews artifact add --type patch --name odd.patch - <odd >id.odd && ews suggestions show --json odd >json && json json .patch_bytes | base64 -d >got && cmp odd got &&
	ews artifact remove "$(cat id.odd)" >out
'

test_expect_success 'a unique part of the name is enough; else the candidates, and 1, or 128 where there is none' '
	test_expect_code 1 git -C p ews suggestions apply one 2>err && test_grep "^hint: there are one-$(cat id).patch (suggested-fix-001), one.patch (" err && test_expect_code 1 git -C p ews suggestions show --json patch >json && test_json json .error.code conflict &&
	test_expect_code 128 git -C p ews suggestions apply nosuch 2>err && test_grep "two.patch" err && test_expect_code 129 git -C p ews suggestions apply && test_path_is_missing p/two && git -C p diff --exit-code
'

test_expect_success 'P1: apply takes the options of apply; as a source of apply a suggestion goes by its name, and a file before a part of one' '
	test_fingerprint p >before && ews suggestions apply --check two >out && test_grep "two *| 1 +" out && test_fingerprint p >after && test_cmp before after && ews suggestions apply two >out && test "$(cat p/two)" = two && ews undo &&
	ews suggestions apply one.patch --commit -m mended >out && test "$(git -C p log -1 --format=%s)" = mended && ews apply two.patch >out && test "$(cat p/two)" = two && ews undo &&
	printf "%s\n" "--- /dev/null" "+++ b/file" "@@ -0,0 +1 @@" "+of the file" >p/two.pa && ews apply two.pa >out && test "$(cat p/file)" = "of the file" && test_path_is_missing p/two &&
	test_expect_code 1 git -C p ews apply patch 2>err && test_grep "may mean several" err && test_expect_code 128 git -C p ews apply ./two.patch
'

test_expect_success 'the directory that they lie in is no part of the name of one' '
	test_repo alone && start_ws -n lone alone only && echo only >"${lone:?}/only" && git -C alone ews end only >out && for word in patches patch/ qe-artifacts; do
		test_expect_code 128 git -C alone ews apply $word 2>err && test_expect_code 128 git -C alone ews suggestions apply $word 2>err && test_grep "only.patch" err && test_path_is_missing alone/only || return 1
	done && git -C alone ews suggestions apply patches/only.patch && test_path_is_file alone/only && git -C alone ews undo && git -C alone ews apply onl && test_path_is_file alone/only
'

test_expect_success 'P4: end --pending: the result survives clean --now and git gc, and status names it' '
	rm p/two.pa p/file && start_ws p wait && echo kept >"${ws:?}/result" && chmod 755 "${ws:?}/src/main.c" && mkdir "${ws:?}/hollow" && cp -a "${ws:?}" result && start_ws p same && ews end --pending --json same >json && test_json json ".sessions[0].pending" false &&
	ews end --pending wait >out && test_grep "^  Pending: git ews pending show|apply|drop wait$" out && test_path_is_missing "${ws:?}" && ews undo wait >out && ws=$(ews path wait) && test_same_tree -x .git result "${ws:?}" && ews pending list >out && test_must_be_empty out && ews undo --redo wait >out && ews pending list >out && test_line_count = 1 out && ews undo wait >out &&
	ews end --pending wait >out && ews status --json >json && test_json_count json .sessions 1 && test_json json ".sessions[0].state" pending &&
	ews clean --now >out && git -C p reflog expire --expire=now --all && git -C p gc -q --prune=now && test_expect_code 128 git -C p ews undo wait 2>err && ews pending list >out && test_grep "^wait  .*Z  Changes: 2 file(s) (+1 -0).$" out &&
	ews status --json >json && test_json json ".sessions[0].state" pending && ews pending show wa >out && test_grep "^+kept$" out && ews pending show --json wait >json && test_json json .session_id wait && test_json json .changes.total_changes 2
'

test_expect_success 'P1, P4: pending drop goes to trash, undo makes it pending again; apply decides when all of it came' '
	ews pending drop --dry-run wait >out && ews pending drop wait >out && ews pending list >out && test_must_be_empty out && test_expect_code 128 git -C p ews pending apply wait && ews undo && ews pending list >out && test_line_count = 1 out &&
	test_fingerprint p >before && ews pending apply --check wait >out && test_fingerprint p >after && test_cmp before after && ews pending apply wait -- result >out && test "$(cat p/result)" = kept && test_path_is_missing p/hollow && ews pending list >out && test_line_count = 1 out &&
	ews apply --check wait >out && ews pending apply wait >out && test_same_tree -x .git -x .superqode result p && ews pending list >out && test_must_be_empty out && ews undo && ews pending list >out && test_line_count = 1 out && ews undo && test "$(stat -c %a p/src/main.c)" = 644 &&
	ews pending drop wait >out && ews status --json >json && test_json_count json .sessions 0 && start_ws p wait
'

test_expect_success 'P4: a pending result that can not be read is named, and keeps nobody from deciding about the others' '
	test_repo hurt && for s in bad good; do start_ws hurt $s && echo $s >"${ws:?}/$s" && git -C hurt ews end --pending $s >out || return 1; done && commit=$(git -C hurt rev-parse refs/ews/pending/bad/result) && file=hurt/.git/objects/$(echo $commit | sed "s,^..,&/,") && test_path_is_file "$file" && mv "$file" lost.object &&
	git -C hurt ews pending list >out 2>err && test_grep "^good  " out && test_line_count = 1 out && test_grep "^warning: damaged: bad (" err && git -C hurt ews pending list --json >json && test_json_count json .pending 1 && test_json json ".damaged[0].path" bad && test_must_fail git -C hurt ews pending show bad 2>err && test_grep "bad" err && test_grep "^hint: .*doctor" err &&
	git -C hurt ews pending show good >out && git -C hurt ews pending apply good >out && test "$(cat hurt/good)" = good && mv lost.object "$file" && git -C hurt ews pending apply bad >out && test "$(cat hurt/bad)" = bad
'

test_expect_success 'P4: drop lets go of what lost its commit, names it, and keeps what is left' '
	test_repo gone && for s in both base result whole; do start_ws gone $s && echo $s >"${ws:?}/$s" && git -C gone ews end --pending $s >out || return 1; done && git -C gone pack-refs --all && for ref in both/base both/result base/base result/result; do
		git -C gone rev-parse refs/ews/pending/$ref >>gone.ids || return 1; done && for id in $(cat gone.ids); do rm "gone/.git/objects/$(echo $id | sed "s,^..,&/,")" || return 1; done && base=$(git -C gone rev-parse refs/ews/pending/result/base) && result=$(git -C gone rev-parse refs/ews/pending/base/result) &&
	git -C gone ews pending list >out 2>err && test_grep "^whole  " out && test_line_count = 1 out && for s in both base result; do test_grep "damaged: $s (.*is missing" err && for verb in show apply; do test_expect_code 1 git -C gone ews pending $verb $s 2>out && test_grep "is missing" out || return 1; done || return 1; done &&
	cp gone/.git/packed-refs refs && git -C gone ews pending drop --dry-run result >out 2>err && test_grep "would be gone for good.*pending/result/result (its commit $(sed -n 4p gone.ids) is missing)" err && git -C gone ews pending drop -n --json both >json && test_json_count json .lost 2 && SUPERQODE_HOME="$PWD/gone-home" git -C gone ews pending drop -n whole 2>err && test_path_is_missing gone-home && test_grep ! "gone for good" err &&
		test_must_fail git -C gone ews pending drop -n wholly && test_cmp refs gone/.git/packed-refs && git -C gone ews pending drop result >out 2>err && echo result >want && test_cmp want out && test_grep "gone for good.*pending/result/result (its commit $(sed -n 4p gone.ids) is missing)" err && test_grep ! "undo" err && git -C gone for-each-ref refs/ews/trash >out && test_grep "^$base" out &&
	git -C gone ews pending drop --json both >json && test_json_count json .lost 2 && test_json json ".lost[1].path" refs/ews/pending/both/result && git -C gone ews pending drop base 2>err && test_grep "pending/base/base (its commit" err && test_grep "undo. makes it pending again" err && git -C gone for-each-ref refs/ews/trash >out && test_grep "^$result" out &&
	git -C gone ews pending list >out 2>err && test_line_count = 1 out && test_must_be_empty err && git -C gone ews undo && git -C gone ews pending list >out 2>err && test_grep "damaged: base (" err && git -C gone ews pending drop base && git -C gone ews doctor >out && git -C gone ews pending apply whole && git -C gone for-each-ref refs/ews/pending >out && test_must_be_empty out
'

test_expect_success 'P4: path and diff of a session that is pending lead there, for undo may have nothing to bring back' '
	test_repo lead && start_ws lead l1 && echo kept >"${ws:?}/kept" && git -C lead ews end --pending l1 >out && git -C lead ews clean --now >out && test_must_fail git -C lead ews undo l1 2>err &&
	for verb in path diff; do test_expect_code 128 git -C lead ews $verb l1 2>err && test_grep "^hint: .git ews pending show l1." err || return 1; done
'

test_expect_success STRACE 'P4: a pending result that can not be read just now is shown, and taken for nothing else' '
	for at in refs/ews/pending refs/ews/pending/l1/base; do
		(cd lead && test_strace ../calls -P $at -e trace=openat -e inject=openat:error=EIO "$EWS_BIN/git-ews" list) >out 2>err && test_grep INJECTED calls && test_grep "^l1  ended " out && test_grep "^warning: .*$at" err &&
		(cd lead && test_strace ../calls -P $at -e trace=openat -e inject=openat:error=EIO "$EWS_BIN/git-ews" status) >out && test_grep "^ *problem: .*$at" out && test_grep ! "^ *hint: *$" out &&
		for verb in list status; do
			(cd lead && test_expect_code 128 test_strace ../calls -P $at -e trace=openat -e inject=openat:error=EMFILE "$EWS_BIN/git-ews" $verb) >out 2>err && test_must_be_empty out && test_grep "^error: .*$at.*: Too many open files" err || return 1
		done && for error in EIO EMFILE; do
			(cd lead && ! test_strace ../calls -P $at -e trace=openat -e inject=openat:error=$error "$EWS_BIN/git-ews" diff l1 2>../err) && test_grep "^hint: .*may be pending, but: .*$at" err || return 1
		done || return 1
	done && git -C lead ews list >out && test_grep "^l1  pending " out
'

test_expect_success 'P4: one whose base names nothing is shown as damaged; doctor names drop, which undo takes back' '
	: >lead/.git/refs/ews/pending/l1/base && git -C lead ews list >out && test_grep "^l1  damaged " out && git -C lead ews status >out && test_grep "problem: .*refs/ews/pending/l1/base" out && git -C lead ews status --json >json && test_json json ".sessions[0].state" damaged &&
	test_must_fail git -C lead ews diff l1 2>err && test_grep ! "undo" err && test_must_fail git -C lead ews apply l1 2>err && test_grep "^error: the pending result of session .l1." err &&
	test_expect_code 1 git -C lead ews doctor --fix >out 2>err && test_grep "pending/l1/result.: what it began with" out && test_grep "git ews pending drop l1 takes it to trash" out && test_expect_code 1 git -C lead ews doctor >out && test_grep "pending/l1/result" out &&
	test_must_fail git -C lead ews pending drop l 2>err && git -C lead ews pending drop l1 >out && git -C lead ews doctor >out && git -C lead ews list >out && test_must_be_empty out && git -C lead ews undo && git -C lead ews pending list >out 2>err && test_grep "^warning: damaged: l1 (" err &&
	git -C lead ews pending drop --json l1 >json && test_json json .name l1 && test_json json .session_id null && git -C lead ews snapshot list --trash >out && test_grep snap- out
'

if test_have_prereq VALGRIND; then
	test_done # a killed tracer is no test of the program
fi
kill_points=4

# A session as it was, or a pending one; in the end what it came to comes home.
after_end() {
	ews path x >out 2>err && { ews end --pending x >out 2>err || return 1; }
	ews pending apply x >out 2>err && test "$(cat p/result)" = kept
}

test_expect_success 'P4: an end --pending and its drop are taken back and done again, one after the other, and there and back once more; what another began stays' '
	test_repo again && start_ws again s && echo work >>"${ws:?}/run.sh" && git -C again ews end --pending s && git -C again ews pending drop s && for turn in 1 2; do
		git -C again ews undo && git -C again ews undo && test_grep work "${ws:?}/run.sh" && git -C again ews undo --redo && git -C again ews pending list >out && test_line_count = 1 out && git -C again ews undo --redo && git -C again ews pending list >out && test_must_be_empty out && test_path_is_missing "$ws" || return 1
	done && git -C again ews undo && git -C again ews pending show s >out && test_grep "^+work" out && git -C again ews undo && git -C again ews undo --redo && other=$(git -C again ews snapshot create) && git -C again update-ref refs/ews/pending/s/base "refs/ews/snapshots/$other" &&
	test_expect_code 1 git -C again ews undo --redo 2>err && test_grep "has moved since" err && git -C again for-each-ref refs/ews/pending >out && test_line_count = 2 out
'

test_expect_success 'P4: the drop of a pending result is done again of that one alone: what the session came to since stays, and is named' '
	test_repo newer && start_ws newer s && echo work >>"${ws:?}/run.sh" && git -C newer ews end --pending s && git -C newer ews pending drop s && git -C newer ews undo && git -C newer ews undo && echo more >>"${ws:?}/run.sh" && git -C newer ews undo --redo &&
	test_expect_code 1 git -C newer ews undo --redo 2>err && test_grep "^error: what is pending as .s. is not what was dropped" err && test_grep "^hint: .*git ews pending drop s" err && git -C newer ews pending show s >out && test_grep "^+more" out
'

test_expect_success 'P4: an end --pending that is killed anywhere loses nothing' '
	git -C p ews end --force wait && rm -rf p && test_repo p && start_ws p x && echo kept >"${ws:?}/result" && save work && sweep work after_end end --pending --no-artifacts x
'

test_expect_success 'what is dropped while its session can not be opened just now is not out of the reach of that' '
	test_repo last && start_ws last s && echo new >"${ws:?}/new" && git -C last ews end --pending s && look=0 && while test_more_looks; do
		test_look EIO "/sessions(/s(/state.json)?)?$" -C last pending drop s >out 2>err && if test $code = 0 || test $code = 199; then git -C last ews undo s; fi || return 1
	done && test $look -gt 2
'

test_done
