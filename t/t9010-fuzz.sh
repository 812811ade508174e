#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='random trees, random changes: what a lister of its own saw is there again (P1-P5, P7, P8)

FUZZ_ROUNDS (40, of some 12, of mixed sessions 100 steps; under make torture 10,000) a method, FUZZ_METHODS (all that the driver lists), FUZZ_SEED (1; under
make torture another each time). A failure names seed and world: fuzz --seed <n> --world <n> runs that again.'

. "$(dirname "$0")/test-lib.sh"

fuzz=$EWS_BUILD/t/fuzz/fuzz
methods=${FUZZ_METHODS:-$("$fuzz" --methods)}
rounds=40
seed="--seed ${FUZZ_SEED:-1}"
if test_have_prereq SANITIZE || test_have_prereq VALGRIND; then
	rounds=12
fi
if test_have_prereq EXPENSIVE; then
	rounds=10000
	seed=${FUZZ_SEED:+--seed $FUZZ_SEED}
fi

for method in $methods; do
	case $method,$rounds in
	mixed,40) n=${FUZZ_ROUNDS:-100} ;;
	plain-mixed,40) n=${FUZZ_ROUNDS:-60} ;;
	plain-*,40 | *-ignored,40) n=${FUZZ_ROUNDS:-12} ;;
	*) n=${FUZZ_ROUNDS:-$rounds} ;;
	esac
	export method n
	test_expect_success "P1-P5, P7, P8: $n random rounds of the method $method" '
		"$fuzz" $seed --rounds "$n" --method "$method" --jobs 2 >"report.$method"
	'
	# What failed may fail once only: it is told wherever the test is run.
	if grep -q "^FAILED" "report.$method"; then
		tail -c 8000 "report.$method" >&2
	fi
done

# A program that does all that git ews does; after <verb> has succeeded, <shell commands> spoil something.
spoiled() {
	mkdir -p spoiled && cat >spoiled/git-ews <<-EOF && chmod +x spoiled/git-ews
	#!/bin/sh
	case "\$*" in
	$1)
		"$EWS_BIN/git-ews" "\$@" >"$PWD/spoiled/out" || {
			code=\$?
			cat "$PWD/spoiled/out"
			exit \$code
		}
		$2
		cat "$PWD/spoiled/out"
		;;
	*) exec "$EWS_BIN/git-ews" "\$@" ;;
	esac
	EOF
}

# noticed <pattern> [<method> <rounds> [<seed>]]: the driver fails with that in its report.
noticed() {
	test_expect_code 1 env EWS_BIN="$PWD/spoiled" "$fuzz" --seed "${4:-2}" --rounds "${3:-48}" --method "${2:-worktree}" >out &&
		test_grep "FAILED: --seed ${4:-2} --world" out && test_grep "$1" out
}

test_expect_success 'a mode bit that revert drops is noticed' '
	spoiled "revert*" "find . -type f -exec chmod o-r {} +" && noticed "^restore: mode:"
'

test_expect_success 'a time that revert loses is noticed' '
	spoiled "revert*" "find . -name .git -prune -o -type f -exec touch {} +" && noticed "^restore: mtime:"
'

test_expect_success 'a file that revert leaves is noticed' '
	spoiled "revert*" "echo x >left-over" && noticed "^restore: .*: left-over"
'

test_expect_success 'an index with another time is noticed' '
	spoiled "revert*" "touch \"\$(git rev-parse --git-path index)\"" && noticed "^restore: the index has another time"
'

test_expect_success 'a workspace that looking changes is noticed' '
	spoiled "snapshot?create*" "mkdir -p made" && noticed "^snapshot create: is new: made"
'

test_expect_success 'a project that is touched is noticed' '
	spoiled "end*" "echo x >made" && noticed "^project: is new: made"
'

test_expect_success 'a twin that is no twin is noticed' '
	spoiled "start*" "echo x >\"\$(cat \"$PWD/spoiled/out\")/made\"" && noticed "^twin: should not be there: made"
'

test_expect_success 'a wrong patch, and a wrong count, are noticed' '
	spoiled "diff?s*" "sed \"s/^+x/+y/\" \"$PWD/spoiled/out\" >\"$PWD/spoiled/o\"; mv \"$PWD/spoiled/o\" \"$PWD/spoiled/out\"" &&
	noticed "^git apply" && spoiled "diff?--numstat*" "echo >>\"$PWD/spoiled/out\"" && noticed "^diff --numstat differs"
'

test_expect_success 'an undo that loses a mode is noticed' '
	spoiled "undo?--json*" "s=\$(sed \"s/.*session_id[\\\":]*//; s/\\\".*//\" \"$PWD/spoiled/out\")
		find ~/.superqode/working/project/qe/\$s -type f -exec chmod o-r {} +" &&
	noticed "^undo of [a-z]*: mode:" mixed 240
'

test_expect_success 'a HEAD that revert puts on the branch of another work tree is noticed' '
	spoiled "revert*" "for id; do :; done; git -C ~/.superqode/working/project/qe/\$id symbolic-ref HEAD refs/heads/main" &&
	noticed "^revert: two are on one branch, s[0-9]* and the project: ref: refs/heads/main" mixed 240 &&
	test_grep "^revert: HEAD should be " out
'

test_expect_success 'an end that touches another session is noticed' '
	spoiled "end*" "for ws in ~/.superqode/working/project/qe/*/; do echo x >\"\$ws/made\"; done" &&
	noticed "^end, at [a-z0-9]*: is new: made" mixed 240
'

test_expect_success 'a redo that does nothing is noticed, and what an end does not keep' '
	spoiled "undo?--json?--redo*" "\"$EWS_BIN/git-ews\" undo >/dev/null 2>&1" && noticed "^redo of " mixed 240 &&
	spoiled "end*" "rm -rf ~/.superqode/working/project/trash/*
		git for-each-ref --format=\"delete %(refname)\" refs/ews/trash | git update-ref --stdin" &&
	noticed "^end: lost: " mixed 240 14
'

test_expect_success 'the same seed gives the same rounds' '
	for i in 1 2; do
		"$fuzz" --seed 3 --rounds 12 --method worktree -v >out &&
			sed -n "s/ (failed)//; /^  [^ ]/p; /^round/p; /^session/p" out >rounds.$i || return 1
	done && test_line_count -gt 100 rounds.1 && test_cmp rounds.1 rounds.2
'

test_expect_success 'nothing of lib/ is in the driver' '
	test_must_fail grep "include \"[a-z]*/" "$EWS_SRC"/t/fuzz/*.[ch]
'

test_done
