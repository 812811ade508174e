#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='config accept: what a repository says counts once its user has said yes to it (P9)

By word, as it was read then: any change takes it back. What is stricter needs no yes, and what is the user'\''s
alone gets none.'

. "$(dirname "$0")/test-lib.sh"

# holds <key> <value>
holds() {
	git -C project ews config get "$1" >got 2>err || return 1
	test "$(cat got)" = "$2" || { cat got err && return 1; }
}

test_expect_success 'setup: a repository that would loosen' '
	test_repo project &&
	yaml "qe:" "  workspace:" "    location: ../outside" "  git_guard:" "    block_commit: false" "    allow_diff: false" &&
	git -C project config ews.gitGuard.blockPush off && git -C project config ews.home "$PWD/planted"
'

test_expect_success '--dry-run says what would count, and lets nothing count' '
	git -C project ews config accept --dry-run >out 2>err && test_line_count = 3 out &&
	test_grep "/project/superqode.yaml:3	qe.workspace.location=../outside$" out &&
	test_grep "/project/superqode.yaml:5	qe.git_guard.block_commit=false$" out &&
	test_grep "/project/.git/config:[0-9]*	qe.git_guard.block_push=off$" out && test_path_is_missing home/.superqode/accepted &&
	holds qe.git_guard.block_commit true && test_grep "^warning: .*block_commit: doesn.t count.*config accept" err &&
	git -C project ews config accept --dry-run --json >out 2>err && test_must_be_empty err &&
	test_json out .schema ews.config_accept/1 && test_json out .dry_run true && test_json_count out .settings 3 &&
	test_json out ".settings[1].key" qe.git_guard.block_commit && test_json out ".settings[1].value" false &&
	test_json out ".settings[1].is_accepted" false && test_json out ".settings[1].origin[0].line" 5
'

test_expect_success 'P9: once accepted it counts, and what is the user'\''s alone still does not' '
	git -C project ews config accept -n >want && git -C project ews config accept >out 2>err && test_cmp want out &&
	test_grep ! "doesn.t count" err && test_grep "^warning: .*ews.home: counts in the user" err &&
	holds qe.git_guard.block_commit false && holds qe.git_guard.block_push off && holds qe.workspace.location ../outside &&
	holds qe.git_guard.allow_diff false && holds ews.home "~/.superqode" && test_grep "ews.home: counts in the user" err &&
	git -C project ews config --json >out && test_json_count out .warnings 1 &&
	git -C project ews config accept --json >out && test_json out ".settings[2].is_accepted" true &&
	test "$(find home/.superqode/accepted -type f -perm 0600 | wc -l)" = 1 &&
	test "$(stat -c %a home/.superqode/accepted)" = 700 && test_path_is_missing planted
'

test_expect_success 'P9: any change of the file takes it back, and the old text has it back' '
	cp project/superqode.yaml accepted.yaml && echo "# more" >>project/superqode.yaml && holds qe.git_guard.block_commit true &&
	test_grep "^warning: .*/superqode.yaml:5: .* doesn.t count" err && holds qe.workspace.location home &&
	holds qe.git_guard.block_push off && cp accepted.yaml project/superqode.yaml && holds qe.git_guard.block_commit false &&
	sed "s,outside,elsewhere," accepted.yaml >project/superqode.yaml && holds qe.workspace.location home &&
	git -C project ews config accept -q >out && holds qe.workspace.location ../elsewhere &&
	cp accepted.yaml project/superqode.yaml && holds qe.workspace.location home && git -C project ews config accept -q >out
'

test_expect_success 'P9: so does any change of what git'\''s config says of ews, also in files that it includes' '
	git -C project config ews.trashMax 3k && holds qe.git_guard.block_push true && git -C project config --unset ews.trashMax &&
	holds qe.git_guard.block_push off && git -C project config branch.main.remote origin && holds qe.git_guard.block_push off &&
	printf "[ews \"gitGuard\"]\n\tblockPush = no\n" >project/.git/more && git -C project config --unset ews.gitGuard.blockPush &&
	git -C project config include.path more && holds qe.git_guard.block_push true &&
	git -C project ews config accept >out && test_grep "/.git/more:2	qe.git_guard.block_push=no$" out &&
	holds qe.git_guard.block_push no && printf "[ews \"gitGuard\"]\n\tblockCommit = no\n" >>project/.git/more &&
	holds qe.git_guard.block_push true && git -C project config --unset include.path
'

test_expect_success 'P9: it is this project'\''s: a clone has to be accepted itself' '
	cp -R project copy && git -C copy ews config get qe.git_guard.block_commit >got 2>err && echo true >want && test_cmp want got &&
	holds qe.git_guard.block_commit false && rm -r copy
'

test_expect_success 'a workspace has no say: neither its file, nor accepting from there' '
	start_ws -n ws project inner -q && printf "qe: {workspace: {method: in-place}}\n" >"${ws:?}/superqode.yaml" &&
	(cd "${ws:?}" && test_expect_code 128 git ews config accept >out 2>err && test_must_be_empty out &&
		test_grep "workspace of session .inner." err && git ews config accept --dry-run >out && test_grep ! in-place out) &&
	holds qe.workspace.method auto && git -C project ews end -q inner
'

test_expect_success 'what is accepted is used' '
	yaml "qe: {workspace: {method: in-place}}" && git -C project ews config accept >out &&
	git -C project ews start --json >out 2>err && test_json out .method in_place && git -C project ews end -q &&
	yaml "qe: {workspace: {method: in-place }}" && git -C project ews start --json >out 2>err && test_json out .method git_worktree &&
	git -C project ews end -q
'

test_expect_success '--revoke takes it back' '
	git -C project ews config accept >out && holds qe.workspace.method in-place &&
	git -C project ews config accept --revoke >out 2>err && test_must_be_empty out && holds qe.workspace.method auto &&
	test_path_is_missing home/.superqode/accepted && git -C project ews config accept --revoke 2>err && test_grep "^note: nothing was" err &&
	git -C project ews config accept --revoke --json >out && test_json out .revoked false
'

test_expect_success 'nothing to accept, a value that is wrong, and words that do not fit' '
	yaml "qe: {git_guard: {allow_diff: no}}" && git -C project ews config accept >out 2>err && test_must_be_empty out &&
	test_grep "^note: nothing here needs" err && test_path_is_missing home/.superqode/accepted &&
	yaml "qe: {git_guard: {enabled: no, block_push: perhaps}}" && test_expect_code 128 git -C project ews config accept >out 2>err &&
	test_must_be_empty out && test_grep "block_push: .perhaps." err && test_path_is_missing home/.superqode/accepted &&
	for line in "accept x" "list --dry-run" "--revoke" "accept --revoke --dry-run"; do
		test_expect_code 129 git -C project ews config $line 2>err && test_line_count = 2 err || return 1
	done && rm project/superqode.yaml
'

test_expect_success 'P9: level and policy of the guard may only become stricter' '
	holds ews.guard.level auto && holds ews.guard.policy read-only && git -C project config ews.guard.level advise &&
	holds ews.guard.level auto && git -C project config ews.guard.level strict && holds ews.guard.level strict &&
	git config --global ews.guard.level strict && git -C project config ews.guard.level auto && holds ews.guard.level strict &&
	test_grep "ews.guard.level: doesn.t count" err && git -C project config ews.guard.policy inside && holds ews.guard.policy read-only &&
	git -C project ews config accept >out && test_line_count = 2 out && holds ews.guard.level auto && holds ews.guard.policy inside &&
	git config --global ews.guard.level off && git -C project config ews.guard.level advise && holds ews.guard.level advise &&
	test_expect_code 128 git -C project -c ews.guard.level=none ews config 2>err && test_grep "none of strict, auto, advise, off" err
'

test_done
