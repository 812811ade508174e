#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='a real history, commit by commit: true patches (P7), exact and proven reverts (P2, P3)'

. "$(dirname "$0")/test-lib.sh"

if git -C "$EWS_SRC" rev-parse -q --verify HEAD~1 >out 2>&1 && test ! -f "$EWS_SRC/.git/shallow"; then
	test_set_prereq HISTORY
fi

test_expect_success 'a history that was made for it, with more than five of each kind' '
	"$EWS_SRC/t/gen-history" made && git -C made for-each-ref >refs.before &&
	"$EWS_SRC/t/replay" made >out && cat out && test_grep "^[5-9][0-9] commits: " out &&
	git -C made for-each-ref >refs.after && test_cmp refs.before refs.after
'

test_expect_success 'gen-history makes the same history each time' '
	"$EWS_SRC/t/gen-history" again && git -C made rev-parse HEAD >a && git -C again rev-parse HEAD >b && test_cmp a b
'

test_expect_success HISTORY 'this project'"'"'s own history' '
	test_expect_code 0 "$EWS_SRC/t/replay" --any "$EWS_SRC" 25 >out && cat out && test_grep ! "^0 commits" out
'

test_expect_success HISTORY,EXPENSIVE 'all of it' '
	"$EWS_SRC/t/replay" --any "$EWS_SRC" >out && cat out
'

test_expect_success 'a history without five of each kind is not enough, but with --any' '
	test_repo plain 4 && test_expect_code 1 "$EWS_SRC/t/replay" plain >out 2>err && test_grep "fewer than five" err &&
	"$EWS_SRC/t/replay" --any plain 2 >out && test_grep "^2 commits: 0 merges" out
'

test_expect_success 'submodules that stand where the newest commit has them are served, others passed over and counted' '
	test_repo super && (
		cd super && mkdir -p "s u/b" && one=$(git rev-parse HEAD~1) && two=$(git rev-parse HEAD) &&
		git update-index --add --cacheinfo "160000,$one,s u/b" && git commit -q -m one &&
		git update-index --cacheinfo "160000,$two,s u/b" && git commit -q -m two && echo a >>run.sh && git commit -q -a -m a &&
		git rm -q --cached "s u/b" && git commit -q -m without && echo b >>run.sh && git commit -q -a -m b &&
		git update-index --add --cacheinfo "160000,$two,s u/b" && git commit -q -m again
	) && "$EWS_SRC/t/replay" --any super 7 >out 2>err && test_must_be_empty err &&
	test_grep "^5 commits: .* 0 without a parent here, 2 with other submodules" out
'

# A program that does all that git ews does, but whose <verb> is spoiled by <sed script>.
spoiled() {
	mkdir -p "spoiled" && cat >spoiled/git-ews <<-EOF && chmod +x spoiled/git-ews
	#!/bin/sh
	case \$1 in
	$1) "$EWS_BIN/git-ews" "\$@" >"$PWD/spoiled/out" || exit; sed "$2" "$PWD/spoiled/out" ;;
	*) exec "$EWS_BIN/git-ews" "\$@" ;;
	esac
	EOF
}

test_expect_success 'a patch that is wrong by a byte, and a revert that proves nothing, are noticed' '
	spoiled diff "s/line of commit/line of comit/" && test_expect_code 1 env EWS_BIN="$PWD/spoiled" "$EWS_SRC/t/replay" --any plain >out 2>err &&
	test_grep "the patch is not git.s own" err && test_grep "does not give the commit" err &&
	spoiled revert "s/Status: Verified/Status: Not verified/" &&
	test_expect_code 1 env EWS_BIN="$PWD/spoiled" "$EWS_SRC/t/replay" --any plain >out 2>err && test_grep "not verified" err
'

test_done
