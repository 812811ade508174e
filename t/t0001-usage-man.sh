#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='-h of every verb against its manual page

Each verb is in git-ews(1) and has a page; each option that -h names is in the page.'

. "$(dirname "$0")/test-lib.sh"

man=$EWS_SRC/man

# verbs <usage>: the words at the start of the lines that describe a verb
verbs() {
	sed -n 's/^    \([a-z][a-z]*\) .*/\1/p' "$1"
}

# options <usage>: each spelling of each option, --[no-]x as two
options() {
	sed -n 's/^    \(-.*\)/\1/p' "$1" | sed 's/  .*//; s/, /\n/g' | sed 's/\[=.*//; s/\[<.*//; s/[ =].*//' |
		sed 's/^--\[no-\]\(.*\)/--\1\n--no-\1/'
}

# documents <page> <option>: mdoc's "Fl m" is -m, "Fl -message" is --message
documents() {
	grep -Eq "^\.It.* Fl ${2#-}( |\$)" "$1"
}

# every_option_of <usage> <page>
every_option_of() {
	options "$1" >named && test -s named || return 1
	ews_bad=
	while read -r option; do
		documents "$2" "$option" || ews_bad="$ews_bad $option"
	done <named
	test -z "$ews_bad" || {
		echo >&2 "not in $2:$ews_bad"
		return 1
	}
}

test_expect_success 'the test notices an option that is not documented' '
	printf "usage: x\n\n    -m, --message <text>  a\n    --[no-]progress  b\n    --color[=<when>]  c\n" >usage &&
	printf "%s\n" -m --message --progress --no-progress --color >want &&
	options usage >got && test_cmp want got &&
	printf "%s\n" ".It Fl m , Fl -message Ar text" ".It Fl -progress" ".It Fl -color Ns Op" >page &&
	test_must_fail every_option_of usage page 2>err && test_grep "page: --no-progress$" err &&
	echo ".It Fl -no-progress" >>page && every_option_of usage page
'

test_expect_success '-h lists the verbs on stdout and exits with 129' '
	test_expect_code 129 git ews -h >all 2>err && test_must_be_empty err &&
	verbs all >list && test_grep -x start list && test_grep -x recover list
'

test_expect_success 'every verb is in git-ews(1), with its page' '
	for verb in $(cat list); do
		test_grep "^\.It Ic $verb$" "$man/git-ews.1" || return 1
		test $verb = version || test_grep "^\.Xr git-ews-$verb 1" "$man/git-ews.1" || return 1
		test $verb = version || test_path_is_file "$man/git-ews-$verb.1" || return 1
	done
'

test_expect_success 'every page is of a verb' '
	for page in "$man"/git-ews-*.1; do
		verb=${page##*/git-ews-} && test_grep -x "${verb%.1}" list || return 1
	done
'

test_expect_success '-h of every verb exits with 129, prints its usage, and needs no repository' '
	for verb in $(cat list); do
		test_expect_code 129 git ews $verb -h >usage.$verb 2>err && test_must_be_empty err &&
		test_grep "^usage: git ews $verb" usage.$verb && test_grep ! "or:  *\[" usage.$verb || return 1
	done
'

test_expect_success 'every option of a verb is in its page' '
	for verb in $(cat list); do
		case $verb in
		snapshot | guard | archive | artifact | suggestions | pending | round | lock | trust) continue ;;
		version) every_option_of usage.version "$man/git-ews.1" || return 1 ;;
		*) every_option_of usage.$verb "$man/git-ews-$verb.1" || return 1 ;;
		esac
	done
'

test_expect_success 'every verb of a verb and every option of it is in its page' '
	for parent in snapshot guard archive artifact suggestions pending round lock trust; do
		verbs usage.$parent >parts && test -s parts &&
		for verb in $(cat parts); do
			test_expect_code 129 git ews $parent $verb -h >usage 2>err && test_must_be_empty err &&
			test_grep "^\.It Ic $verb$" "$man/git-ews-$parent.1" || return 1
			case $verb in
			diff) cat "$man/git-ews-diff.1" "$man/git-ews-$parent.1" >page && every_option_of usage page || return 1 ;;
			*) every_option_of usage "$man/git-ews-$parent.1" || return 1 ;;
			esac
		done || return 1
	done
'

test_expect_success 'likewise for report finding' '
	test_expect_code 129 git ews report finding -h >usage.finding && test_grep "^usage: git ews report finding <verb>" usage.finding &&
	verbs usage.finding >parts && test_line_count = 2 parts &&
	for verb in $(cat parts); do
		test_expect_code 129 git ews report finding $verb -h >usage 2>err && test_must_be_empty err &&
		test_grep "^\.It Ic finding $verb$" "$man/git-ews-report.1" && every_option_of usage "$man/git-ews-report.1" || return 1
	done
'

test_expect_success '--help shows the page, and without man the usage' '
	mkdir -p only && ln -s "$(command -v git-ews || echo "$EWS_BIN/git-ews")" only/git-ews &&
	PATH=$PWD/only only/git-ews start --help >out && test_cmp usage.start out &&
	PATH=$PWD/only only/git-ews help start >out && test_cmp usage.start out && PATH=$PWD/only only/git-ews help >out && test_cmp all out &&
	test_expect_code 129 git ews help nosuch 2>err && test_grep "^error: .nosuch. is not a verb" err
'

command -v mandoc >/dev/null && test_set_prereq MANDOC
test_expect_success MANDOC 'the pages are clean' '
	mandoc -Tlint -W warning "$man"/*.1
'

# What mandoc does not call wrong: a quote round several names, or round a quote; a heading that is a macro; a bracket
# that does not close; words that became options; quotes in an example, which mdoc takes away.
mistaken='"[a-z_0-9]+, [a-z_0-9]|""[^"]|[^"]""|'"''"'|^ *<a>|\[=[a-z|]+,|, -[a-z]+ -[a-z]+ -[a-z]'

test_expect_success MANDOC 'no macro of a page takes more, or less, than is meant' '
	for page in "$man"/*.1; do
		mandoc -Tascii -O width=1000 "$page" | col -b >text && test -s text &&
		test_expect_code 1 grep -nE "$mistaken" text || return 1
	done && test_expect_code 1 grep -n "^\.Dl .*\"" "$man"/*.1
'

test_expect_success 'what is wrong on a command line is a usage error with advice' '
	for line in "nosuch" "start --nosuch" "start a b" "start --method" "start --method nosuch" \
		"start --keep-ignored=x" "start --deep --quick" "diff --output=x" "diff --ext-diff" "diff --textconv" \
		"diff --no-index" "diff -Ofile" "diff a b c" "diff --changes all" "revert --verify=half" "end --branch" \
		"end --no-artifacts --split" "undo --list --redo" "recover --resume --revert" "recover --all x" "snapshot" "snapshot nosuch" \
		"snapshot show" "snapshot prune" "snapshot prune --keep x" "snapshot prune --older-than 3" "status --brief --log" \
		"path -- x" "report --format x" "report a b" "report finding" "report finding nosuch" \
		"report finding add" "report finding add --title x" "report finding add --severity info" "report finding add --severity bad --title x" \
		"report finding add --severity info --title x --line 3" "report finding add --severity info --title x --file f --line 0" "report finding list a b" "guard" "guard nosuch" "guard check" "guard check x" \
		"guard list --policy x" "doctor x" "trust" "trust nosuch" "trust status a b" "lock" "lock acquire --deep --quick" "lock acquire --wait x" "lock release a b" "round" "round nosuch" "round end x" "round show"  "epoch nosuch" "epoch bump x" "--nosuch" "status --color=perhaps"; do
		test_expect_code 129 git ews $line >out 2>err && test_must_be_empty out && test_line_count = 2 err &&
		test_grep "^error: " err && test_grep "^hint: ." err || { echo "git ews $line" && return 1; }
	done
'

test_expect_success 'with --json it is an object, and stderr is empty' '
	for line in "nosuch --json" "start --nosuch --json" "diff --json --no-index"; do
		test_expect_code 129 git ews $line >out 2>err && test_must_be_empty err &&
		test_json out .schema ews.error/1 && test_json out .error.code usage && test_json out .error.message &&
		test_json out .error.hint || return 1
	done
'

test_expect_success '-h of the verbs that apply names --dry-run' '
	for verb in apply "suggestions apply" "pending apply"; do
		test_expect_code 129 git ews $verb -h >usage && test_grep "^    -n, --dry-run" usage || return 1
	done
'

test_expect_success 'an option before the verb: where it belongs is said' '
	test_repo before && test_expect_code 128 git -C before ews -q list 2>err && test_grep "^hint: options come after the verb: git ews list -q$" err &&
	test_expect_code 129 git -C before ews --nosuch diff 2>err && test_grep "^hint: git.s own options come before .ews., .*git ews diff -h" err &&
	test_expect_code 128 git -C before ews -q nobody 2>err && test_grep ! "options come" err
'

test_expect_success 'no text names a page in a way that git does not know' '
	test_expect_code 1 grep -rn "git help ews-" "$EWS_SRC/README.md" "$EWS_SRC/man" "$EWS_SRC/lib" "$EWS_SRC/git-ews.c" "$EWS_SRC/contrib"
'

test_expect_success 'an error about what is no session says nothing of sessions' '
	mkdir here && for call in "-C nosuch status" "artifact add --type log nosuch" "archive create nosuch" "watch nosuch"; do
		(cd here && git init -q && test_must_fail git-ews $call) 2>err && test_grep "^error: " err && test_grep "^hint: " err && test_grep ! "^hint: .*session" err || return 1
	done
'

test_expect_success 'an empty --home is none that was left out' '
	test_expect_code 129 git-ews --home= list 2>err && test_grep "needs a directory" err && test_expect_code 129 git-ews --home "" list 2>err && test_grep "needs a directory" err
'

# advises <sed pattern>: the command that the hint in err has between the quotes that \1 stands for
advised() { sed -n "s/^hint: .*$1.*/\\1/p" err; }

test_expect_success 'what a hint advises works as it is printed, where it is printed: rounds, the bare, the plain, the odd' '
	test_repo adv && start=$(git -C adv ews round start --agent ann --team u) && id=${start##*/} && test_must_fail git -C adv ews start --deep z 2>err && cmd=$(advised ".\(git -C .* ews round end\). or") && (cd adv && eval "${cmd:?}") && git -C adv ews start --deep z && git -C adv ews end z &&
	start=$(git -C adv ews round start --agent ann --team u) && id=${start##*/} && test_must_fail git -C adv ews end "$id" 2>err && cmd=$(advised ".\(git -C .* ews round end\). keeps") && (cd adv && eval "${cmd:?}") && git -C adv ews round list >out && test_must_fail git -C adv ews round end --agent bob --team u 2>err &&
	cmd=$(advised ".\(git ews round start .*\). starts one") && (cd adv && eval "${cmd:?}" >out) && git -C adv ews round list --team u >out && test_grep bob out && git -C adv ews round end --agent bob --team u &&
	start=$(git -C adv ews round start --agent ann) && rm -rf "${start:?}" && test_must_fail git -C "adv" ews diff "${start##*/}" 2>err && test_grep "round end --force --agent <agent>" err && git -C adv ews round end --force --agent ann &&
	mkdir plainest && echo 1 >plainest/f && test_must_fail git-ews -C plainest round start --agent x --mode worktree 2>err && cmd=$(advised "of a round: \(--mode [a-z]*\))") && (cd plainest && eval "git-ews round start --agent x $cmd" >out) && (cd plainest && git-ews round end --agent x) &&
	start_ws adv one && start_ws -n two adv two && git -C adv config ews.workspace.preserveArtifacts "??" && test_must_fail git -C "$two" ews end one 2>err && cmd=$(advised ": \(git ews end --no-artifacts.*\)") && (cd "$two" && eval "${cmd:?}") && git -C adv config --unset ews.workspace.preserveArtifacts && git -C adv ews list >out && test_grep two out && test_grep ! one out && git -C adv ews end two &&
	git clone -q --bare adv adv.git && git -C adv.git ews start bone && git -C adv.git ews start btwo && test_must_fail git -C adv.git ews apply btwo 2>err && cmd=$(advised ".\(git ews end --branch <name> .*\). leaves") && (cd adv.git && eval "$(echo "$cmd" | sed "s/<name>/topic/")") && git -C adv.git rev-parse -q --verify topic >out && git -C adv.git ews end bone
'

test_expect_success 'what a hint advises works as it is printed: snapshots, limits, locks, settings' '
	start_ws adv base && test_must_fail git -C adv ews snapshot drop base 2>err && cmd=$(advised ".\(git ews end base\).") && (cd adv && eval "${cmd:?}") &&
	snap=$(git -C adv ews snapshot create) && echo more >>adv/src/log && later=$(git -C adv ews snapshot create) && test_must_fail git -C adv ews diff "$snap" --from parent 2>err && test_grep ! "from base" err && cmd=$(advised ": \(git ews diff <one> [^ ]*\)") && (cd adv && eval "$(echo "$cmd" | sed "s/<one>/$later/")") >out && test_grep "^[-+]more" out &&
	git -C adv config ews.maxTotal 3 && test_must_fail git -C adv ews start big 2>err && test_grep "git ews config list --show-origin" err && git -C adv ews config list --show-origin >out && test_grep "maxTotal" out && cmd=$(advised ".\(git -c ews.maxTotal=<size> ews\) ...") && (cd adv && eval "$(echo "$cmd" | sed "s/<size>/1g/") start big") && git -C adv config --unset ews.maxTotal && git -C adv ews end big &&
	for n in 1 2 3 4 5; do git -C adv ews start -q q$n >out || return 1; done && test_must_fail git -C adv ews start --deep z 2>err && cmd=$(advised ".\(git ews lock status\).") && (cd adv && eval "${cmd:?}") >out && for n in 1 2 3 4 5; do test_grep q$n out && git -C adv ews end -q q$n || return 1; done && git -C adv ews start --deep z && git -C adv ews end z &&
	start_ws adv gone && git -C adv ews end gone && test_must_fail git -C adv ews trust status gone 2>err && test_grep "has ended" err &&
	echo junk >adv/garbage && test_must_fail git -C adv ews apply garbage 2>err && test_grep "No valid patches" err && test_grep ! "allow" err && rm adv/garbage &&
	(cd adv && HOME=$PWD && export HOME && rm -rf .git && test_must_fail git-ews snapshot create 2>../err && cmd=$(cd .. && advised ".\(git ews start --force\). takes") && test -n "$cmd" && cp -r ../home/.gitconfig . && eval "$cmd early" && git-ews end early && git-ews snapshot create) &&
	test_repo junked && git config --global core.hooksPath /nowhere/hooks && { git -C junked ews doctor >err || :; } && cmd=$(sed -n "s/.*that .\(git config --show-origin core.hooksPath\). names.*/\1/p" err) && (cd junked && eval "${cmd:?}") >out && test_grep gitconfig out && git config --global --unset core.hooksPath &&
	for line in "--no-pager status" "-c ews.maxFile=4g status" "-Cp list" "--json -C p list"; do test_must_fail git-ews -C junked $line >err 2>&1 && test_grep ! "come after the verb: " err && test_grep "git ews [a-z]* -h" err || return 1; done
'

test_done
