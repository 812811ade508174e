#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='--json: each key that a verb prints is named by its page, or by one that this refers to'

. "$(dirname "$0")/test-lib.sh"

pages=$EWS_SRC/man

# shows <argument>...: run it in $at, the project else; what it prints as JSON is of the verb's page, done or not, but for an error
shows() {
	page=git-ews-$1 && { test -e "$pages/$page.1" || page=git-ews; } && case " $* " in
	*" --json "*) ;;
	*) set -- "$@" --json ;;
	esac && { git -C "${at:-P}" ews "$@" >said 2>err </dev/null || test -s said; } && if grep -q "ews.error/1" said; then
		cat said >&2 && return 1
	fi && cat said >>"$page.said"
}

# named <page>: the words that it has as those of a key, or of what a key may be
named() {
	sed -n "s/^\.\(It \)*\(Qq\|Qo\|Pq\|Li\|Cm\) //p" "$pages/$1.1" | grep -o "[a-z0-9_]*"
}

# unnamed <page>: the keys that it said, and that neither it nor one to which it leads names. A key of bytes goes without saying. The
# names of files and variables, which are keys as well, have a capital or a dot in here.
unnamed() {
	# shellcheck disable=SC2094 # one after the other
	{ echo git-ews && echo "$1" && grep -o "Xr git-ews-[a-z]* 1" "$pages/$1.1" | cut -d" " -f2; } | sort -u >leads && while read -r other; do named "$other"; done <leads | sort -u >named &&
		sed "s/\$/_bytes/" named | sort -u - named >known && grep -o "\"[a-z0-9_]*\":" "$1.said" | tr -d "\":" | sort -u | comm -23 - known | sed "s/^/$1: /"
}

test_expect_success 'sessions' '
	test_repo P && echo "*.O" >>P/.gitignore && git -C P add .gitignore && git -C P commit -qm rules && echo secret >P/a.O && mkdir P/Empty && mkfifo P/Pipe && ln P/run.sh P/Hard && git init -q P/Nested && git -C P/Nested commit -q --allow-empty -m n &&
	shows start One --label L --intent I && shows start Copy --method snapshot --keep-ignored=no && shows start Chain --from One && one=$(git -C P ews path One) && shows path One && shows version &&
	echo more >>"${one:?}/run.sh" && git -C "$one" mv src/log moved.C && rm "${one:?}/docs/crlf.txt" && printf "\\0" >"${one:?}/New.bin" && mkdir "${one:?}/Hollow" &&
	shows diff One && shows diff One --changes diff && shows run --json One -- sh -c "git push; echo out" && shows run --json --new --end --changes diff -- sh -c "echo x >X.C; echo \$EWS_PORT_BASE" && shows run --json --guard=off Copy -- git -C "$PWD/P" tag T &&
	shows status && shows status --all && shows list && shows epoch check One && echo moved >>P/run.sh && git -C P commit -qam moved && shows status One && shows epoch && shows epoch bump && shows epoch check One && shows trust status One && shows trust status &&
	shows lock status && shows lock acquire --session One && shows lock status && shows lock release One && shows lock acquire --json -- true &&
	(at=$one && shows revert --dry-run && shows revert && shows undo --list && shows undo && shows undo --redo --dry-run && shows revert --json --changes diff -- run.sh)
'

test_expect_success 'states, results, and what outlives' '
	shows snapshot create && shows snapshot create --if-changed && s=$(git -C P ews snapshot create One) && shows snapshot create One && shows snapshot list --all && shows snapshot show "$s" --files --hashes --coverage && shows snapshot show "$s" && p=$(git -C P ews snapshot create) && shows snapshot show "$p" --files && grep -q hard_link_to git-ews-snapshot.said &&
	shows snapshot diff "$s" One && shows snapshot verify --all && shows snapshot restore "$s" --to "$PWD/Out" && shows snapshot restore "$s" One && shows snapshot drop "$s" && shows snapshot prune --keep 1 --dry-run && shows snapshot list --trash &&
	shows apply --json --check One -- New.bin && shows apply Copy && shows apply --check --force One &&
	shows artifact add --type log --name l.log "$PWD/said" && shows artifact list && shows artifact show l.log && shows artifact collect One --dry-run && shows artifact export --to "$PWD/Out" l.log && shows artifact prune --keep 1 --dry-run && shows artifact remove l.log &&
	printf "%s\\n" "--- a/run.sh" "+++ b/run.sh" "@@ -1 +1,2 @@" "$(sed -n "s/^/ /;1p" P/run.sh)" +fixed >Fix && fix=$PWD/Fix && (at=$one && shows report finding add --severity info --title T --file run.sh --line 1 --fix "$fix" && shows report finding list) && shows report One &&
	shows suggestions list &&
	shows end --dry-run One && shows end --pending One && shows pending list && shows pending show One && shows pending drop --dry-run One && shows pending apply --check --force One && shows pending drop One && shows list --ended && shows status One && shows status --ended --all && shows undo One --dry-run &&
	shows clean --dry-run && shows clean --all && shows clean --now --dry-run && shows end --branch res Copy && shows end Copy && shows recover && shows recover --all
'

test_expect_success 'guard, settings, rounds, archives, and a look at all' '
	shows guard check --json -- git push && shows guard check --json --shell "git log" && shows guard list && shows guard install && shows guard status && shows guard hook pre-commit && shows guard uninstall && (mkdir -p No && at=No && shows guard status) &&
	shows config list && shows config get ews.maxFile && shows config get --show-origin ews.maxFile && shows config init && shows config accept --dry-run && shows doctor && shows doctor --fix &&
	shows round start --agent ann --label lab && (cd "$(git -C P ews round scratch --agent ann)" && echo s >S) && shows round scratch --agent ann && shows round prompt --agent ann && shows round end --dry-run --all && shows round end --agent ann && shows round list && shows round peers --agent bob && r=$(git -C P ews round start --agent bob) && echo b >"${r:?}/B" && shows round end --all &&
	a=$(git -C P ews archive create) && shows archive create --env HOME && b=$(ls "$HOME"/.superqode/archives/P*/*.tar* | tail -n 1) && shows archive list --md5 && shows archive show "$a" && shows archive verify "$a" && shows archive cat "$a:run.sh" && shows archive extract "$a" --to "$PWD/Out2" && shows archive diff --expect "M nothing" --no-deletions "$a" "$b" && shows archive prune --keep 9 && shows archive remove --force "$a"
'

test_expect_success 'watch' '
	{ (while sleep 1; do echo w >>P/W; done) >out 2>&1 3>&- 4>&- 5>&- & } && test_when_finished "kill $!" && git -C P ews watch --json --once --snapshot >git-ews-watch.said 2>err && test -s git-ews-watch.said
'

test_expect_success 'a session in place whose nested repository, and refs, have moved, and one that is interrupted' '
	test_repo Q && git init -q Q/Nested && git -C Q/Nested commit -q --allow-empty -m n && at=Q && shows start --method in-place I && git -C Q/Nested commit -q --allow-empty -m more && git -C Q branch new HEAD~1 && echo x >>Q/run.sh && shows revert I && grep -q stood_at git-ews-revert.said &&
	interrupt_revert Q I && shows status && shows list && shows recover --all && shows end I && at=
'

test_expect_success 'each key is named where one would look for it' '
	for said in *.said; do unnamed "${said%.said}" || return 1; done >got && test_must_be_empty got
'

# Of what was not said above: the words behind these functions are keys. A "pair" is an array when it is printed.
test_expect_success 'so is each key that the source has' '
	cat "$EWS_SRC"/lib/cmd/*.c | grep -o "\(cJSON_Add[A-Za-z]*To[A-Za-z]*\|ews_json_add_[a-z]*\|ews_render_[a-z]*s\|ews_render_\(string\|time\|path_or_null\)\|add_[a-z]*\)([a-z>.-]*, \"[a-z0-9_]\+\"" | grep -v "(out, \|ctx, " | sed "s/.*, \"\(.*\)\"/\1/;/^pair\$/d" | sort -u >keys && test_line_count -gt 200 keys &&
	(cd "$pages" && ls *.1) >list && while read -r page; do named "${page%.1}"; done <list | sort -u >named && sed "s/\$/_bytes/" named | sort -u - named >known && comm -23 keys known >got && test_must_be_empty got
'

test_expect_success 'a key that no page names would be seen' '
	cp git-ews-epoch.said kept && echo "{\"nobody_says_so\":1}" >>git-ews-epoch.said && unnamed git-ews-epoch >got && says "git-ews-epoch: nobody_says_so" got && mv kept git-ews-epoch.said
'

test_done
