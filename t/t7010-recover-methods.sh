#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='recover: the methods snapshot and in-place, killed on their way (P1, P4)'

. "$(dirname "$0")/test-lib.sh"

if test_have_prereq VALGRIND; then
	skip_all='a killed tracer is no test of the program'
	test_done
fi
GIT_OPTIONAL_LOCKS=0
export GIT_OPTIONAL_LOCKS
kill_points=4

# All of a directory, and git's state in it.
state_of() (
	"$EWS_SRC/t/lister" -m -x .git -x .superqode "$1" && cd "$1" && git rev-parse HEAD && git symbolic-ref -q HEAD
	cd "$(git rev-parse --absolute-git-dir)" && sha256sum index
)

sound() {
	no_litter && git -C p ews status --json --all >said && test_grep ! '"interrupted"\|"starting"\|"ending"' said &&
		git -C p fsck --strict --no-dangling >fsck.out 2>&1 && test_must_be_empty fsck.out &&
		git -C p gc -q --prune=now && git -C p ews snapshot verify --all >verify.out 2>&1
}

# is <directory> <state>...: it is in one of these.
is() {
	state_of "$1" >is.got || return 1
	shift
	for want; do
		cmp -s is.got "$want.want" && return 0
	done
	test_cmp "$1.want" is.got
}

break_it() (
	cd "$1" && echo edit >>src/main.c && git add src/main.c && echo edit >>src/main.c && rm -f docs/crlf.txt && mkdir -p new/dir && echo new >new/dir/file &&
		rm -r src/deep && echo file >src/deep && chmod 600 src/numbers && mkdir out && echo product >out/product && git commit -qm work
)

test_expect_success 'setup: a project with uncommitted work' '
	test_repo p && (cd p && echo more >>src/log && git add src/log && echo more >>src/log && echo new >untracked && rm empty && echo old >main.o) &&
	state_of p >project.want && mkdir fresh && cp -a p fresh/p
'

# The project as it was; a session or none.
after_start() {
	is p project && if git -C p ews path x >where 2>err; then
		git -C p ews diff x >changes && test_must_be_empty changes && git -C p ews end x >out 2>err
	else
		git -C p for-each-ref refs/ews/sessions >refs && test_must_be_empty refs &&
			{ find "$HOME/.superqode" -path '*/qe/x*' >found 2>find.err || :; } && test_must_be_empty found && git -C p ews start --method snapshot x >out
	fi && is p project
}

test_expect_success 'P1, P4: start of a copy' '
	sweep fresh after_start start --method snapshot x
'

test_expect_success 'P1, P4: start in place' '
	sweep fresh after_start start --method in-place x
'

test_expect_success 'setup: a copy with work in it' '
	restore fresh && start_ws p --method snapshot x && state_of "$ws" >base.want && break_it "$ws" && state_of "$ws" >work.want && save copy
'

after_revert() {
	is "$ws" work base && is p project && git -C p ews revert x >out && test_grep "Status: Verified" out && is "$ws" base &&
		git -C p ews undo x >out 2>err && is "$ws" work
}

test_expect_success 'P1, P4: revert of a copy' '
	sweep copy after_revert revert x
'

after_end() {
	git -C p ews end --force x >out 2>err && test_path_is_missing "$ws" && git -C p ews undo x >out 2>err && is "$ws" work && git -C p ews revert x >out && is "$ws" base
}

test_expect_success 'P4: end of a copy' '
	sweep copy after_end end --force x
'

test_expect_success 'setup: the project, worked on in place' '
	restore fresh && git -C p ews start --method in-place x && break_it p && state_of p >work.want && save place
'

after_revert_in_place() {
	is p work project && git -C p ews revert x >out && test_grep "Status: Verified" out && is p project && git -C p ews undo x >out 2>err && is p work
}

test_expect_success 'P4: revert in place' '
	sweep place after_revert_in_place revert x
'

after_undo_in_place() {
	is p work project && git -C p ews revert x >out && test_grep "Status: Verified" out && is p project && git -C p ews undo x >out 2>err && is p work
}

test_expect_success 'P4: undo in place' '
	git -C p ews list >out && restore place && git -C p ews revert x >out && save undo && sweep undo after_undo_in_place undo x
'

test_expect_success 'P1, P4: what was to replace an index of the project goes, and nothing that only looks like it' '
	restore undo && test_expect_code 137 killat -c "[.]git/index[.]lock" -o log 2 git -C p ews undo x >out 2>err && test_path_is_file p/.git/index.lock && echo draft >p/.git/.tmp-fedcba9876543210 && mkdir p/.git/.tmp-0123456789abcdef && echo mine >p/.git/.tmp-mine &&
	git -C p ews recover --all && test_path_is_missing p/.git/index.lock && find p/.git -name ".tmp-*" | sort >left && printf "p/.git/%s\n" .tmp-0123456789abcdef .tmp-mine >want && test_cmp want left && rm -r p/.git/.tmp-*
'

test_expect_success 'P4: so it does in the git directory of a copy, and beside the patterns of a sparse checkout' '
	restore fresh && echo "/*" >p/.git/info/sparse-checkout && start_ws p --method snapshot x && echo "/src/" >"${ws:?}/.git/info/sparse-checkout" && git -C "$ws" checkout -q -b other && save patterns && for harm in "137" "143 -s TERM"; do
		for at in HEAD info/sparse-checkout; do
			restore patterns && { killat ${harm#???} -c "renameat.*qe/x/[.]git/$at" -o log 1 git-ews -C p revert x >out 2>err || test $? = ${harm%% *}; } && echo mine >"${ws:?}/.git/.tmp-mine" && { test "$harm" != 137 || { find "${ws:?}/.git" -name ".tmp-????????????????" >left && test_line_count = 1 left; }; } &&
				git -C p ews recover --all && find "${ws:?}/.git" -name ".tmp-*" >left && echo "${ws:?}/.git/.tmp-mine" | test_cmp - left || return 1
		done || return 1
	done && rm "${ws:?}/.git/.tmp-mine"
'

test_expect_success 'P4: so does what was to replace a record of a session whose id another has by then' '
	test_repo q && ws=$(git -C q ews start y) && echo more >"${ws:?}/more" && test_expect_code 137 killat -c "sessions/y/[.]tmp-cache" -o log 2 git -C q ews diff y >out 2>err && git -C q ews end y && git -C q ews start y &&
	find "$HOME/.superqode" -path "*/y~*/.tmp-*" >left && test_line_count = 1 left && git -C q ews recover --all && find "$HOME/.superqode" -name ".tmp-*" >left && test_must_be_empty left && git -C q ews end y
'

after_end_in_place() {
	git -C p ews end x >out 2>err && is p project && git -C p ews list >out && test_must_be_empty out && git -C p ews undo x && git -C p ews undo x >out 2>err && is p work
}

test_expect_success 'P4: end in place' '
	sweep place after_end_in_place end x
'

# Where the branch is that HEAD has left, or was to leave.
left_is() {
	git -C p rev-parse main >left.got && test_cmp "$1" left.got
}

# The branch goes with all else, both ways.
is_whole() {
	if cmp -s is.got work.want; then left_is work.tip; else left_is project.tip; fi
}

after_revert_left() {
	is p work project && is_whole && git -C p ews revert x >out && test_grep "Status: Verified" out && is p project && left_is project.tip && git -C p ews undo x >out 2>err && is p work && left_is work.tip
}

test_expect_success 'P4: revert in place where HEAD has left its branch, and its undo' '
	restore place && git -C p rev-parse main^ >project.tip && git -C p rev-parse main >work.tip && git -C p checkout -q --detach && state_of p >work.want && save away && sweep away after_revert_left revert x &&
	restore away && git -C p ews revert x >out && save awayundo && sweep awayundo after_revert_left undo x
'

test_expect_success 'P1, P4: recover moves no branch beneath a work tree that came to stand on it since, and says where HEAD is' '
	restore away && test_expect_code 137 killat -c "[.]git/index[.]lock" -o log 1 git -C p ews revert x >out 2>err && git -C p worktree add -q ../other main && test_expect_code 1 git -C p ews recover --all >out 2>err && test_grep "HEAD. differs after all: on no branch: the work tree .*/other. stands on .refs/heads/main" err &&
	left_is work.tip && git -C other status --porcelain >out && test_must_be_empty out && git -C p rev-parse HEAD >out && test_cmp project.tip out && git -C p ews recover --all 2>err && test_grep "nothing is interrupted" err && git -C other checkout -q --detach &&
	git -C p ews revert x >out && test_grep "Status: Verified" out && is p project && left_is project.tip && rm -rf other && git -C p worktree prune && git -C p ews end x
'

test_expect_success 'P4: a branch that somebody moved before recover put it back comes back to where he had it' '
	restore away && test_expect_code 137 killat -c "[.]git/index[.]lock" -o log 1 git -C p ews revert x >out 2>err && git -C p commit-tree -p main -m person main^{tree} >person.tip && git -C p update-ref refs/heads/main "$(cat person.tip)" &&
	git -C p ews recover --all >out && test_grep "^.refs/heads/main. goes from $(cat person.tip) back to $(cat project.tip)$" out && is p project && left_is project.tip && git -C p reflog expire --all --expire=now && git -C p gc -q --prune=now && git -C p ews undo x >out 2>err && is p work && left_is person.tip && git -C p log -1 main
'

test_expect_success 'P4: a branch that somebody went to and committed on before recover is named, and undo brings his commit back' '
	restore away && test_expect_code 137 killat -c "[.]git/index[.]lock" -o log 1 git -C p ews revert x >out 2>err && git -C p checkout -qf main && git -C p commit -q --allow-empty -m person && git -C p rev-parse main >person.tip &&
	git -C p ews recover --all >out && test_grep "^.refs/heads/main. goes from $(cat person.tip) back to $(cat project.tip)$" out && is p project && left_is project.tip && git -C p ews undo x >out 2>err && test_grep "goes from $(cat project.tip) back to $(cat person.tip)$" err && is p work && left_is person.tip &&
	restore away && test_expect_code 137 killat -c "refs/heads/main" -o log 1 git -C p ews revert x >out 2>err && left_is work.tip && echo refs/heads/main >want && git -C p symbolic-ref HEAD >out && test_cmp want out &&
	git -C p ews recover --all >out && test_grep "^.refs/heads/main. goes from $(cat work.tip) back to $(cat project.tip)$" out && is p project && left_is project.tip
'

test_expect_success 'P4: recover names where a branch was that HEAD is on when somebody committed there since, and else not' '
	restore place && state_of p >headed.want && test_expect_code 137 killat -c "[.]git/index[.]lock" -o log 1 git -C p ews revert x >out 2>err && save killed && git -C p ews recover --all >out && test_grep "was finished" out && test_grep ! "goes from" out && is p project && left_is project.tip &&
	restore killed && git -C p commit -q --allow-empty -m person && git -C p rev-parse main >person.tip && git -C p ews recover --all >out && test_grep "^.refs/heads/main. goes from $(cat person.tip) back to $(cat project.tip)$" out && is p project && git -C p ews undo x >out && is p headed && left_is work.tip
'

test_expect_success 'P4: recover of an undo says of a branch that moved since where it goes, or that it stays' '
	restore away && git -C p ews revert x >out && git -C p checkout -q --detach && git -C p branch -qD main && save nowhere && test_expect_code 137 killat -c "[.]git/index[.]lock" -o log 1 git -C p ews undo x >out 2>err && git -C p branch main "$(cat project.tip)" &&
	git -C p ews recover --all >out && test_grep "^.refs/heads/main. goes from $(cat project.tip) back to $(cat work.tip)$" out && left_is work.tip &&
	restore nowhere && git -C p branch main "$(cat project.tip)" && git -C p checkout -q main && test_expect_code 137 killat -c "[.]git/index[.]lock" -o log 1 git -C p ews undo x >out 2>err && git -C p commit-tree -p main -m person main^{tree} >person.tip && git -C p update-ref refs/heads/main "$(cat person.tip)" &&
	git -C p ews recover --all >out && test_grep "^.refs/heads/main. was at $(cat work.tip), and stays at $(cat person.tip): it has moved on since$" out && left_is person.tip
'

test_expect_success 'P4: recover finishes a revert in place whose branch another keeps from coming back, and says where HEAD is' '
	restore place && base=$(git -C p rev-parse HEAD^) && test_expect_code 137 killat -c "[.]git/index[.]lock" -o log 1 git -C p ews revert x >out 2>err && git -C p branch -m main main/x && git -C p symbolic-ref HEAD refs/heads/main/x &&
	test_expect_code 1 git -C p ews recover --all >out 2>err && test_grep "HEAD. differs after all: on no branch: .refs/heads/main/x. is in the way of .refs/heads/main" err &&
	echo "$base" >want && git -C p rev-parse HEAD >out && test_cmp want out && test_must_fail git -C p symbolic-ref -q HEAD && git -C p ews recover --all 2>err && test_grep "nothing is interrupted" err &&
	test_expect_code 1 git -C p ews revert x && git -C p branch -m main/x spare && git -C p ews revert x >out && test_grep "Status: Verified" out && is p project && git -C p ews end x &&
	restore away && test_expect_code 137 killat -c "[.]git/index[.]lock" -o log 1 git -C p ews revert x >out 2>err && git -C p branch -qm main main/x && test_expect_code 1 git -C p ews recover --all >out 2>err && test_grep "HEAD. differs after all: on no branch: .refs/heads/main/x. is in the way of .refs/heads/main" err &&
	git -C p rev-parse HEAD >out && test_cmp project.tip out && git -C p ews recover --all 2>err && test_grep "nothing is interrupted" err && git -C p ews undo x && is p work && git -C p branch -m main/x spare && git -C p ews end x
'

test_expect_success 'P4: an end that was killed once its names were in trash is finished where the project was moved to' '
	test_repo m && git -C m ews start --method in-place x && echo work >>m/run.sh && test_expect_code 137 killat -c "sessions/x/.*state[.]json" 3 git -C m ews end x >out 2>err && test_must_fail git -C m show-ref --verify -q refs/ews/sessions/x && mv m n && git -C n ews list >out 2>err && test_grep "sessions have followed" err && test_grep "^x  *interrupted" out &&
	git -C n ews recover --all >out && test_grep "session .x.: its end was finished" out && git -C n diff --exit-code && git -C n ews undo x && git -C n ews undo x && test_grep work n/run.sh && git -C n ews end x
'

test_expect_success 'P4: a registration that is gone comes back with the HEAD of the last snapshot, also where that can not be read just now' '
	test_repo gone && start_ws gone --method worktree s && git -C "$ws" commit -q --allow-empty -m own && git -C "$ws" rev-parse HEAD >want && git -C gone ews snapshot create s && look=0 && while test_more_looks; do
		rm -r gone/.git/worktrees/s && test_look EIO "/refs/ews/snapshots.*$" -C gone recover --all >out 2>err && { test $code = 0 || test $code = 199 || git -C gone ews recover --all; } && git -C "$ws" rev-parse HEAD >got && test_cmp want got || return 1
	done && test $look -gt 4
'

test_expect_success 'P4: a worktree of somebody else that can not be read just now is not taken back with a start that was killed' '
	test_repo theirs && look=0 && while test_more_looks; do
		test_expect_code 137 killat -c "mkdirat.*[.]git/ews/s$" -o log 1 git -C theirs ews start --method worktree s >out 2>err && git -C theirs worktree add -q --detach "$PWD/his/s" && test_path_is_file theirs/.git/worktrees/s/gitdir &&
		test_look EIO "/worktrees/s(/gitdir)?$" -C theirs recover --all >out 2>err && test_path_is_file theirs/.git/worktrees/s/gitdir && git -C theirs ews recover --all && git -C theirs worktree remove "$PWD/his/s" || return 1
	done && test $look -gt 2
'

test_done
