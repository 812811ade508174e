#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='completion: verbs, options, sessions and snapshots, in bash below git'"'"'s own'

. "$(dirname "$0")/test-lib.sh"

for place in /usr/share/bash-completion/completions/git /usr/share/git/completion/git-completion.bash /usr/share/git-core/contrib/completion/git-completion.bash; do
	command -v bash >/dev/null && test -f "$place" && GIT_COMPLETION=$place && test_set_prereq COMPLETION && break
done

# offered <word>...: what TAB offers for the last of them, behind git, one in a line
offered() {
	bash -c '. "$1" && . "$2" && shift 2 && COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE} COMP_TYPE=9 &&
		__git_wrap__git_main; for word in "${COMPREPLY[@]}"; do echo "${word% }"; done' \
		bash "$GIT_COMPLETION" "$EWS_SRC/contrib/completion/git-ews" git "$@"
}

test_expect_success 'every verb says its options, or its verbs, in a line' '
	git ews --git-completion-helper >verbs && test "$(wc -l <verbs)" -eq 1 && git ews -h | sed -n "s/^    \([a-z]*\) .*/\1/p" >shown && tr " " "\n" <verbs >got && test_cmp shown got &&
	for verb in $(cat verbs); do
		git ews $verb --git-completion-helper >out 2>err && test_must_be_empty err && test "$(wc -l <out)" -eq 1 || return 1
		case "$(cat out)" in
		--*) verbs_of=. ;;
		*) verbs_of=$(cat out) ;;
		esac
		for sub in $verbs_of; do
			test "$sub" != . || sub=
			test_expect_code 129 git ews $verb $sub -h >usage && sed -n "s/^    \(-., \)\{0,1\}--\([][0-9a-z-]*\).*/\2/p" usage | sed "s/\[no-\]//; s/\[*$//" >shown &&
			git ews $verb $sub --git-completion-helper >out && tr " " "\n" <out | sed "s/^--//; s/=$//" >names &&
			test -s shown && sort shown >want && sort names >got && comm -23 want got >missing && test_must_be_empty missing || return 1
		done
	done
'

test_expect_success 'so does a verb of a verb that has no options of its own' '
	for verb in $(git ews --git-completion-helper); do
		test_expect_code 129 git ews $verb -h >usage && sed -n "s/.*git ews \($verb [a-z][a-z]*\).*/\1/p; s/.*git ews \($verb\) \[\([a-z]*\)\]$/\1 \2/p" usage | sort -u >both && while read -r both; do
			git ews $both --git-completion-helper >out 2>err && test_must_be_empty err && test_line_count = 1 out || { echo >&2 "$both"; return 1; }
		done <both || return 1
	done && git ews config accept --git-completion-helper >out && test_grep -e "--revoke" out && git ews epoch check --git-completion-helper >out && test_grep -e "--json" out &&
	test_repo run && git -C run ews --home "$PWD/other" run -- echo --git-completion-helper >out && echo --git-completion-helper | test_cmp - out && test_expect_code 129 git ews config --json accept --git-completion-helper
'

test_expect_success 'a "=" says that an argument follows' '
	git ews diff --git-completion-helper >out && test_grep -e " --from= " out && test_grep -e " --stat " out && test_grep ! -e "--stat=" out
'

test_expect_success 'what it asks of a verb makes nothing' '
	git ews start --git-completion-helper >out && git ews clean --git-completion-helper >out && test_path_is_missing "$HOME/.superqode"
'

test_expect_success COMPLETION 'verbs' '
	offered ews st >got && printf "%s\n" start status >want && test_cmp want got &&
	offered ews "" >got && test_grep "^revert$" got && test_grep ! "^interrupted$" got &&
	offered ews snapshot "" >got && test_grep "^restore$" got && offered -C . ews --home "$PWD" snapshot re >got && echo restore >want && test_cmp want got
'

test_expect_success COMPLETION 'options, of the verb of a verb as well' '
	offered ews revert --ve >got && test_grep "^--verify=$" got && test_grep "^--verbose$" got &&
	offered ews round start --pa >got && echo "--partial" >want && test_cmp want got && offered ews snapshot prune --dr >got && echo "--dry-run" >want && test_cmp want got && offered ews --ver >got && echo "--version" >want && test_cmp want got
'

test_expect_success COMPLETION 'sessions and snapshots; nothing behind "--"' '
	test_repo p && git -C p ews start apple && git -C p ews start pear && snap=$(git -C p ews snapshot create apple) && (
		cd p && offered ews revert "" >../got && offered ews revert --verify=full app >../one && offered ews diff "" >../both && offered ews snapshot show snap- >../snaps && offered ews revert --to "" >../to &&
			offered ews start --from "" >../from && offered ews diff --from "" >../side && offered ews start --base ma >../base && offered ews revert apple -- "" >../none
	) &&
	test_grep "^apple$" from && test_grep "^$snap$" from && printf "%s\n" base parent >want && test_cmp want side && test_grep "^main$" base &&
	sort got >sorted && printf "%s\n" apple pear >want && test_cmp want sorted && echo apple >want && test_cmp want one && test_grep "^pear$" both && test_grep "^$snap$" both &&
	test_grep "^$snap$" snaps && test_grep "^$snap$" to && test_must_be_empty none
'

test_expect_success COMPLETION 'verbs that may be left out, where a session can stand as well; no session where none is meant' '
	(cd p && offered ews config "" >../config && offered ews config get "" >../key && offered ews epoch "" >../epoch && offered ews epoch check "" >../check && offered ews epoch bump "" >../bump &&
		offered ews report "" >../report && offered ews report finding "" >../finding) && printf "%s\n" accept get init list >want && sort config >got && test_cmp want got && test_must_be_empty key &&
	printf "%s\n" bump check >want && sort epoch >got && test_cmp want got && printf "%s\n" apple pear >want && sort check >got && test_cmp want got && test_must_be_empty bump &&
	test_grep "^apple$" report && test_grep "^finding$" report && printf "%s\n" add list >want && test_cmp want finding
'

test_expect_success COMPLETION 'rounds' '
	ws=$(git -C p ews round start --agent a) && echo work >"${ws:?}/work" && git -C p ews round end --agent a && git -C p for-each-ref --format="%(refname:lstrip=2)" "refs/ews/????????" >want && test_line_count = 1 want &&
	for verb in show diff; do (cd p && offered ews round $verb "") >got && test_cmp want got || return 1; done && for verb in apply diff; do (cd p && offered ews $verb ews/) >got && sed "s:^:ews/:" want | test_cmp - got || return 1; done && (cd p && offered ews round list "" && offered ews round end "") >got && test_must_be_empty got
'

test_expect_success COMPLETION 'help is given a verb, version nothing; findings have options of their own; --to is a state for revert alone' '
	(cd p && offered ews help "" >../help && offered ews help st >../st && offered ews version "" >../version && offered ews report finding add --ti >../title && offered ews report finding add "" >../added && offered ews report --fo >../format &&
		offered ews revert --to "" >../revert && for verb in "snapshot restore" "archive create" "archive extract" "artifact export"; do offered ews $verb --to "" || return 1; done >../dirs) &&
	git ews --git-completion-helper | tr " " "\n" | sort >want && sort help >got && test_cmp want got && printf "%s\n" start status >want && test_cmp want st && test_must_be_empty version && echo "--title=" >want && test_cmp want title && test_must_be_empty added && echo "--format=" >want && test_cmp want format &&
	test_grep "^snap-" revert && test_grep ! "^snap-" dirs
'

test_done
