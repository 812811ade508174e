#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='verbs at random beside one another, beside git gc and a user who moves branches: what must hold, holds (P1, P2, P4)'

. "$(dirname "$0")/test-lib.sh"

# How long they are at it, and how many they are; FUZZ_SEED (1) leads to other verbs.
if test_have_prereq EXPENSIVE; then
	seconds=600
else
	seconds=8
fi
workers=4

# random <n>: a number below that, `r`
random() {
	seed=$(((seed * 1103515245 + 12345) & 0x7fffffff))
	r=$(((seed >> 8) % $1))
}

# work <workspace>: change something in it, which may be on its way in or out; one that has gone is not made anew
work() {
	random 9 && name=f$r && random 6
	(cd "$1" 2>&1) >/dev/null || return 0
	case $r in
	0 | 1) echo "$seed" >>"${1:?}/$name" ;;
	2) rm -f "${1:?}/$name" ;;
	3) mkdir "${1:?}/src/${name:?}" && echo "$seed" >"${1:?}/src/${name:?}/file" ;;
	4) mv "${1:?}/src/${name:?}" "${1:?}/src/moved" ;;
	5) chmod 600 "${1:?}/src/numbers" && git -C "${1:?}" add -A && git -C "${1:?}" commit -qm work ;;
	esac >/dev/null 2>&1 || :
}

# choose: a verb at random, `verb`; "" none. Where some are killed, there are also those that change the project, and none that empties trash.
choose() {
	random 3 && id=s$r && random "$verbs"
	case $r in
	0 | 1 | 2) verb="start $id --method worktree" ;;
	3) verb="start $id --method snapshot" ;;
	4 | 5) verb="snapshot create $id" ;;
	6 | 7) verb="revert $id" ;;
	8 | 9 | 10) verb="end $id" ;;
	11) verb="end --pending --no-artifacts $id" ;;
	12 | 13) verb="undo $id" ;;
	14) verb="undo --redo $id" ;;
	15) verb="diff $id" ;;
	16) verb=status ;;
	17) verb="recover --all" ;;
	18) verb="clean ${kills:+-n} --now" ;;
	19) verb="snapshot prune --keep 1" ;;
	20) verb="apply --check $id" ;;
	21) verb=doctor ;;
	22) verb="snapshot verify --all" ;;
	26) verb="apply $id" ;;
	27) verb="apply --index $id" ;;
	28) verb="apply --3way $id" ;;
	29) verb="apply --force $id" ;;
	30 | 31) verb=undo ;;
	32) verb="undo --redo" ;;
	33) verb="round start --agent $id" ;;
	34) verb="round end --agent $id" ;;
	*) verb= ;;
	esac
	after= && random 5 && if test -n "$kills" && test $r = 0; then
		random 9 && after=0.0$((r + 1))
	fi
}

# What no verb may say where nothing is damaged; a workspace that is changed while it is put back is "Not verified".
damaged='was rewritten|is gone:|base of session|is broken|is missing|lost-found|changes are not known|ssertion|BUG'

# do_verb: it is killed `after` so many seconds, unless that is empty
do_verb() (
	# shellcheck disable=SC2086 # many words
	cd p && if test -z "$after"; then
		exec git ews $verb
	fi && exec timeout -s KILL "$after" git-ews $verb
)

# worker <number>: verbs and changes until the time is over
worker() {
	seed=$((${FUZZ_SEED:-1} * 1000 + $1))
	while test ! -e over; do
		choose
		if test -z "$verb"; then
			work "$HOME/.superqode/working/p/qe/$id"
			continue
		fi
		code=0
		do_verb >"said.$1" 2>&1 3>&- 4>&- 5>&- || code=$?
		test $code != 0 || echo "$verb" >>"did.$1"
		if test $code -gt 128 && test $code != 129 && test $code != "$kills" || grep -v "  Differs: " "said.$1" | grep -qE "$wrong"; then
			{ echo "$verb gave $code:" && cat "said.$1"; } >>"wrong.$1"
		fi
	done
}

# again <command>...: a git that walks through .git/worktrees fails where that goes with the last of them, whoever takes it away
again() {
	"$@" || "$@" || "$@"
}

# user: he makes, moves and deletes branches while git packs refs; the directory branches says where they have to be
user() {
	seed=1
	mkdir branches
	while test ! -e over; do
		random 5 && name=u$r && new=$(git -C p commit-tree -p HEAD -m "$seed" "HEAD^{tree}") && again git -C p branch -qf "$name" "$new" && echo "$new" >"branches/$name" || return
		random 4 && { test $r != 0 || { again git -C p branch -qD "$name" && rm "branches/${name:?}"; }; } || return
		random 6 && { test $r != 0 || git -C p gc -q || :; }
	done
}

# enough <verb>...: each of these was done at least once, however slow the machine is
enough() {
	cat did.* >did && for verb in "$@"; do
		grep -q "^$verb" did || return 1
	done
}

# storm [<status>]: all of them at once, for a while; some are killed, and have that status then, and less need to come to an end
storm() {
	kills=$1
	if test -n "$kills"; then
		verbs=35 wrong=$damaged && set -- start apply
	else
		verbs=26 wrong="$damaged|session .* is interrupted" && set -- start end "undo s" revert "snapshot create"
	fi
	rm -rf over branches user.well wrong.* did.*
	{ user >user.out 2>&1 3>&- 4>&- 5>&- && : >user.well; } &
	pids=$!
	for n in $(seq "$workers"); do
		: >"wrong.$n" && : >"did.$n"
		worker "$n" 3>&- 4>&- 5>&- &
		pids="$pids $!"
	done
	sleep "$seconds"
	code=0
	test_wait_for 300 enough "$@" || code=1
	: >over
	# shellcheck disable=SC2086 # one or more
	wait $pids
	return $code
}

# the_rest <workspace>: what a revert puts back and end and undo keep, whole
the_rest() {
	"$EWS_SRC/t/lister" -m -x .git -x .superqode "$1"
}

# is_calm: what was said, by nobody, is wrong
is_calm() {
	cat user.out && test_path_is_file user.well && cat wrong.* >wrong && test_must_be_empty wrong
}

# is_whole: the project is what it was, and so are its index and its branches
is_whole() {
	the_rest p >got && test_cmp p.want got && git -C p ls-files -s >got && test_cmp index.want got && git -C p for-each-ref refs/heads/ refs/tags/ >refs && grep -v "refs/heads/u[0-9]$" refs >got && test_cmp refs.want got &&
		git -C p for-each-ref --format="%(objectname) %(refname:short)" "refs/heads/u?" >got && for name in branches/*; do
		echo "$(cat "$name") ${name#branches/}"
	done >want && test_cmp want got && git -C p fsck --no-dangling
}

# are_well <start>: each session ends, comes back as it was, and, where the project was like <start> when it began, goes back to that
are_well() {
	git -C p ews doctor >out && git -C p ews snapshot verify --all >out && git -C p ews list --format="%(state) %(session_id)" >all && sed -n "s/^active //p" all >ids && while read -r id; do
		ws=$(git -C p ews path "$id") && the_rest "$ws" >before && git -C p ews end "$id" && test_path_is_missing "$ws" && git -C p ews undo "$id" && the_rest "$ws" >got && test_cmp before got &&
			git -C p ews revert "$id" >out && test_grep "Status: Verified" out && the_rest "$ws" >got && if test -n "$1"; then test_cmp "$1" got; fi && git -C p ews end "$id" || return 1
	done <ids && git -C p ews clean --now >out && git -C p ews status >out
}

# nothing_left: of what verbs make for themselves alone. What a gc that met another leaves of a pack is for git to prune; a git whose entry was taken out beneath it leaves its locks in that
nothing_left() {
	test_path_is_missing p/.git/worktrees && find p/.git "$HOME/.superqode" -path p/.git/ews -prune -o \( -name "*.lock" -o -name ".tmp-*" -o -name "tmp_obj_*" -o -name "tmp_*_ews_*" -o -name ".gone-*" \) -print >left && test_must_be_empty left && git -C p for-each-ref refs/ews/sessions/ >left && test_must_be_empty left && find "$HOME/.superqode" -path "*/.superqode/tmp/*" >left && test_must_be_empty left
}

# take_back: what was done to the project, step by step
take_back() {
	while git -C p ews undo --list >steps && step=$(awk '$3 == "done" && $5 == "-" { print $1; exit }' steps) && test -n "$step"; do
		git -C p ews undo "$step" || return 1
	done
}

test_expect_success 'setup: a project with uncommitted work' '
	test_repo p && (cd p && echo more >>src/log && git add src/log && echo more >>src/log && echo new >untracked && rm empty) && the_rest p >p.want && git -C p ls-files -s >index.want && git -C p for-each-ref refs/heads/ refs/tags/ >refs.want
'

test_expect_success 'P1: verbs at random, git gc, and a user who moves branches' '
	storm && is_calm
'

test_expect_success 'P1: the project is what it was, and so are its index and its branches' is_whole

test_expect_success 'P2, P4: nothing is interrupted, or ill; each session ends, comes back as it was, and goes back to its base' '
	git -C p ews recover --all >out && are_well p.want
'

test_expect_success 'P4: nothing lies about' nothing_left

# Each run meets other moments: long ones, by `make torture`, look for those that nobody thought of, and the sweeps of t7030 try each one.
test_expect_success EXPENSIVE 'P4: the same where verbs are killed and the project is worked on, once recover has been there' '
	storm 137 && is_calm && git -C p ews recover --all >out && git -C p ews round end --all >out && take_back && is_whole && are_well "" && nothing_left
'

test_done
