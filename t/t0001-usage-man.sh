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
	test_expect_code 129 git -C before ews --nosuch diff 2>err && test_grep "^hint: options .*: git ews diff --nosuch$" err &&
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

test_done
