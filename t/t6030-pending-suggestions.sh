#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='suggestions and pending: results that outlive their session, and are decided about later (P1, P4)'

. "$(dirname "$0")/test-lib.sh"

ews() {
	git -C p ews "$@"
}

test_expect_success 'suggestions: list and show know the patches alone' '
	test_repo p && ews suggestions list >out && test_must_be_empty out && test_expect_code 1 git -C p ews suggestions show x 2>err && test_grep "^hint: there are none" err &&
	start_ws p one && echo one >>"${ws:?}/src/main.c" && (cd "${ws:?}" && git diff >"$OLDPWD/fix") && ews report finding add --severity info --title "mend it" --fix "$PWD/fix" >id && ews end one >out &&
	start_ws p two && echo two >"${ws:?}/two" && ews end two >out && echo log | ews artifact add --type log - >out &&
	ews suggestions list >out && test_line_count = 3 out && test_grep "patches/one-$(cat id).patch  mend it$" out && ews suggestions list --json >json && test_json_count json .suggestions 3 && test_json json ".suggestions[0].type" suggested_fix &&
	ews suggestions show "$(cat id)" >out && test_cmp fix out && ews suggestions show --json two >json && test_json json .suggestion.name two.patch && rm p/.superqode/qe-artifacts/patches/two.patch && ews suggestions show two >out 2>err && test_grep "^+two\$" out
'

test_expect_success 'a unique part of the name is enough; else the candidates, and 1' '
	test_expect_code 1 git -C p ews suggestions apply one 2>err && test_grep "^hint: there are one-$(cat id).patch (suggested-fix-001), one.patch (" err && test_expect_code 1 git -C p ews suggestions show --json patch >json && test_json json .error.code conflict &&
	test_expect_code 1 git -C p ews suggestions apply nosuch 2>err && test_grep "two.patch" err && test_expect_code 129 git -C p ews suggestions apply && test_path_is_missing p/two && git -C p diff --exit-code
'

test_expect_success 'P1: apply takes the options of apply; as a source of apply a suggestion goes by its name, and a file before a part of one' '
	test_fingerprint p >before && ews suggestions apply --check two >out && test_grep "two *| 1 +" out && test_fingerprint p >after && test_cmp before after && ews suggestions apply two >out && test "$(cat p/two)" = two && ews undo &&
	ews suggestions apply one.patch --commit -m mended >out && test "$(git -C p log -1 --format=%s)" = mended && ews apply two.patch >out && test "$(cat p/two)" = two && ews undo &&
	printf "%s\n" "--- /dev/null" "+++ b/file" "@@ -0,0 +1 @@" "+of the file" >p/two.pa && ews apply two.pa >out && test "$(cat p/file)" = "of the file" && test_path_is_missing p/two &&
	test_expect_code 1 git -C p ews apply one 2>err && test_grep "may mean several" err && test_expect_code 128 git -C p ews apply ./two.patch
'

test_done
