#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='verbs, and git, beside one another: nothing is lost, and what is under way is not taken for damage (P1, P4)'

. "$(dirname "$0")/test-lib.sh"

# slowly <syscalls> <path or -> <command>...: each of these calls waits before it begins, in the background; `pid`, and out and err of it
slowly() {
	calls=$1 at=$2
	shift 2
	if test "$at" = -; then
		set -- -e trace="$calls" -e inject="$calls":delay_enter=150000 "$@"
	else
		set -- -P "$at" -e trace="$calls" -e inject="$calls":delay_enter=800000 "$@"
	fi
	test_strace trace "$@" >slow.out 2>slow.err 3>&- 4>&- 5>&- &
	pid=$!
}

# has_begun: it holds the lock of session one
has_begun() {
	test_wait_for 10 test -s "$HOME/.superqode/working/p/locks/one"
}

# done_slowly: it has ended, and well
done_slowly() {
	wait "$pid" || {
		cat >&2 slow.err
		return 1
	}
}

# kept <project>: a snapshot `id` of the project, whose ref is `ref`
kept() {
	id=$(git -C "$1" ews snapshot create) && ref=refs/ews/snapshots/$id && git -C "$1" rev-parse --verify -q "$ref"
}

# beside: while the slow one is at work each verb that looks at session one is done, or says that it can't be now
beside() {
	while kill -0 "$pid" 2>/dev/null; do
		for verb in "diff one" "snapshot create one" "apply --check one" status doctor "report --output - one"; do
			# shellcheck disable=SC2086 # many words
			git -C p ews $verb >out 2>err || grep -q -e "another process is at work" -e "is locked by process" -e "no session" -e "no snapshot, session" -e "has ended" err || {
				echo >&2 "$verb:"
				cat >&2 out err
				return 1
			}
		done
	done
}

test_expect_success 'setup: a project' '
	test_repo p && git -C p branch side
'

test_expect_success STRACE 'P1: a branch that git packs while a ref of ours goes stays' '
	kept p && git -C p pack-refs --all && new=$(git -C p commit-tree -m new -p HEAD HEAD^{tree}) && git -C p branch fresh "$new" && git -C p branch -f side "$new" &&
	slowly openat "$PWD/p/.git/packed-refs.lock" git -C p ews snapshot drop "$id" && test_wait_for 10 grep -q packed-refs.lock trace && git -C p pack-refs --all && done_slowly &&
	test "$(git -C p rev-parse fresh side)" = "$new$LF$new" && test_must_fail git -C p rev-parse -q --verify "$ref" && git -C p branch -D fresh
'

test_expect_success STRACE 'P4: a ref that goes while git packs refs does not come back' '
	kept p && slowly openat "$PWD/p/.git/$ref.lock" git -C p ews snapshot drop "$id" && test_wait_for 10 grep -q "$id.lock" trace && drop=$pid && slowly rename "$PWD/p/.git/packed-refs.new" git -C p pack-refs --all && wait $drop && done_slowly &&
	test_must_fail git -C p rev-parse -q --verify "$ref" && git -C p ews snapshot list --all >out && test_grep ! "$id" out
'

# packing_ends: the git that packs refs has come to its end
packing_ends() {
	test ! -e p/.git/packed-refs.lock
}

test_expect_success STRACE 'P4: a ref of ours that another verb removes, with its directory, before it can be locked has gone' '
	test_repo locked && kept locked && slowly openat "$PWD/locked/.git/$ref.lock" git -C locked ews snapshot drop "$id" && test_wait_for 10 grep -q "$id.lock" trace && git -C locked update-ref -d "$ref" && test_path_is_missing "locked/.git/${ref%/*}" && test_must_fail wait $pid && test_grep "moved meanwhile" slow.err
'

test_expect_success STRACE 'P4: where an entry is about to go, and another verb finds that empty and removes it, it is made again' '
	test_repo tidied && start_ws tidied s && echo edit >>"${ws:?}/run.sh" && { test_strace calls -P "$PWD/tidied/.git/ews" -e trace=renameat2 -e inject=renameat2:delay_enter=2000000:when=1 "$EWS_BIN/git-ews" -C tidied end s >out 2>err & } && verb=$! &&
	test_wait_for 20 test -d tidied/.git/ews && rmdir tidied/.git/ews && wait $verb && test_path_is_missing "$ws" && git -C tidied ews undo s && git -C "$ws" status --short >out && echo " M run.sh" | test_cmp - out && git -C tidied ews end s
'

test_expect_success STRACE 'P4: whoever kills all of our processes does not leave packed-refs locked' '
	kept p && git -C p pack-refs --all && { test_strace trace -P "$PWD/p/.git/packed-refs.new" -e trace=rename -e inject=rename:delay_enter=2000000 sh -c "cd p && timeout -s KILL 1 git-ews snapshot drop $id" >out 2>err || :; } &&
	test_grep packed-refs.new trace && test_wait_for 10 packing_ends && git -C p ews recover --all && git -C p pack-refs --all && test_must_fail git -C p rev-parse -q --verify "$ref" && test_path_is_missing p/.git/packed-refs.new
'

test_expect_success STRACE 'P4: recover takes away the lock that a git of ours left which was killed with us' '
	kept p && git -C p pack-refs --all && slowly rename "$PWD/p/.git/packed-refs.new" sh -c "cd p && timeout --foreground -s KILL 0.4 git-ews snapshot drop $id" && test_wait_for 10 grep -q packed-refs.new trace && sleep 0.5 && kill -9 "$(sed -n "/packed-refs.new/{s/ .*//p;q}" trace)" && { wait $pid || :; } &&
	test_path_is_file p/.git/packed-refs.lock && git -C p ews recover --all && test_path_is_missing p/.git/packed-refs.lock && git -C p pack-refs --all && test_must_fail git -C p rev-parse -q --verify "$ref"
'

test_expect_success 'a lock that a git left which died keeps no ref from going that is not packed' '
	kept p && : >p/.git/packed-refs.lock && touch -d "-1 minute" p/.git/packed-refs.lock && test_when_finished "rm -f p/.git/packed-refs.lock" && git -C p ews snapshot drop "$id" && test_must_fail git -C p rev-parse -q --verify "$ref"
'

test_expect_success STRACE 'P4: a ref that git packs between the look for its file and the look into it is there' '
	kept p && git -C p pack-refs --all --no-prune && test_path_is_file "p/.git/$ref" && test_strace trace -P "$ref" -e trace=openat -e inject=openat:error=ENOENT git -C p ews snapshot list --all >out && test_grep "$ref.*INJECTED" trace && test_grep "$id" out &&
	git -C p ews snapshot drop "$id"
'

test_expect_success STRACE 'P4: a directory of refs that goes between the look for it and the look into it holds none, and nothing fails of it' '
	kept p && mkdir -p p/.git/refs/ews/hollow && test_strace trace -P "$PWD/p/.git/refs/ews/hollow" -e trace=getdents64 -e inject=getdents64:error=ENOENT git -C p ews snapshot list --all >out && test_grep INJECTED trace && test_grep "$id" out && git -C p ews snapshot drop "$id"
'

for method in worktree snapshot; do
	test_expect_success STRACE "P4: what another process starts, ends or brings back is neither damaged nor interrupted ($method)" '
		slowly fsync,fdatasync,syncfs - git -C p ews start --method '$method' one && has_begun && beside && done_slowly && ws=$(git -C p ews path one) && echo edit >>"${ws:?}/run.sh" &&
		slowly fsync,fdatasync,syncfs - git -C p ews end --no-artifacts one && has_begun && beside && done_slowly &&
		slowly fsync,fdatasync,syncfs - git -C p ews undo one && has_begun && beside && done_slowly && test_grep edit "${ws:?}/run.sh" && git -C p ews end one
	'
done

test_expect_success STRACE 'P4: who looks for a lock that has just been let go sees what its holder made of the session' '
	slowly fsync,fdatasync,syncfs - git -C p ews start one && test_wait_for 10 grep -q "\"starting\"" "$HOME/.superqode/working/p/sessions/one/state.json" &&
	test_strace look -P one -e trace=openat -e inject=openat:delay_enter=2500000:when=1 git -C p ews diff one >out 2>err && done_slowly && test_must_be_empty out && test_must_be_empty err && git -C p ews end one
'

# look_slowly <command>...: its first look for the lock of session one begins late, and it goes on later still; `look`
look_slowly() {
	test_strace look -P one -e trace=openat -e inject=openat:delay_enter=2500000:delay_exit=3000000:when=1 "$@" >look.out 2>look.err 3>&- 4>&- 5>&- &
	look=$!
}

# end_slowly: its workspace moves away later than that
end_slowly() {
	test_strace trace -P one -e trace=renameat,renameat2 -e inject=renameat,renameat2:delay_enter=5000000 git -C p ews end --no-artifacts one >slow.out 2>slow.err 3>&- 4>&- 5>&- &
	pid=$!
}

test_expect_success STRACE 'P4: nor does he take the work of the next one, who has begun since, for what the last one left' '
	slowly fsync,fdatasync,syncfs - git -C p ews start one && test_wait_for 10 grep -q "\"starting\"" "$HOME/.superqode/working/p/sessions/one/state.json" && look_slowly git -C p ews diff one && done_slowly && sleep 2 && end_slowly && { wait $look || :; } && test_grep ! -i interrupted look.err && done_slowly
'

# away_meanwhile <path> <command>...: that is not there until the command looks whether somebody is at work on session one
away_meanwhile() {
	path=$1 && mv "$path" away && shift && : >look &&
		{ test_strace look -y -P one -e trace=openat -e inject=openat:delay_enter=1500000 "$@" >look.out 2>look.err 3>&- 4>&- 5>&- & } && look=$! && test_wait_for 20 grep -q "locks>, .one" look && mv away "$path" && wait "$look"
}

test_expect_success STRACE 'P4: a base, or a workspace, that comes back after it was looked for in vain is not gone' '
	git -C p ews start one && ws=$(git -C p ews path one) && echo edit >>"${ws:?}/run.sh" && away_meanwhile p/.git/refs/ews/sessions/one git -C p ews diff --name-only one && echo run.sh >want && test_cmp want look.out &&
	away_meanwhile "$ws" git -C p ews diff --name-only one && test_cmp want look.out && git -C p ews end one
'

test_expect_success STRACE 'of two rounds that begin under one label the second one gets a branch of its own' '
	slowly openat "$PWD/p/.git/refs/heads/same.lock" git -C p ews round start --agent a --label same && test_wait_for 10 grep -q same.lock trace && git -C p ews round start --agent b --label same >out && done_slowly &&
	git -C p for-each-ref --format="%(refname:short)" "refs/heads/same*" >out && test_line_count = 2 out && test_grep "^same$" out && test_grep "^same-[0-9a-f]*$" out && git -C p ews round end --all
'

test_expect_success STRACE 'P4: a round whose ref comes back from trash while its agent starts the next one keeps its record' '
	past=$(basename "$(git -C p ews round start --agent c)") && id=$(basename "$(git -C p ews round start --agent c --previous "$past")") && git -C p rev-parse -q --verify "refs/ews/trash/rounds/$past" && git -C p ews round end --agent c &&
	slowly openat "refs/ews/trash/rounds/$past" git -C p ews round start --agent c && test_wait_for 10 grep -q "$past" trace && step=$(git -C p ews undo --list | awk "\$4 == \"drop\" { print \$1; exit }") && git -C p ews undo "$step" && done_slowly &&
	git -C p rev-parse -q --verify "refs/ews/$past" && git -C p ews round show "ews/$past" && git -C p ews doctor >out && test_grep ! "no record of such a round" out && git -C p ews round end --all
'

test_expect_success STRACE 'P4: who can not see whether a ref that he removes is packed as well does not say that somebody moved it' '
	test_repo faulty && start_ws faulty faulty && for n in 1 2 3 4 5 6 7 8 9 10; do id=$(git -C faulty ews snapshot create -m $n faulty) && if test_strace trace -P packed-refs -P "$PWD/faulty/.git/packed-refs" -e trace=openat,openat2 -e inject=openat,openat2:error=EIO:when=$n git -C faulty ews snapshot drop $id 2>err; then break; else code=$?; fi && test_grep "packed-refs.*INJECTED" trace && test_grep "Input/output error" err && test $code = 128 || return 1; done && test $n -gt 2 &&
	git -C faulty ews recover --all >out 2>err && git -C faulty ews end faulty
'

test_done
