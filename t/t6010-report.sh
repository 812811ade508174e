#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='report: what happened in a session, and what was found (P1, P4, P5, P8)'

. "$(dirname "$0")/test-lib.sh"

qr=.superqode/qe-artifacts/qr

# report [<argument>...]: as Markdown in md
report() {
	ews report --output - "$@" >md
}

# section <name>: of md
section() {
	sed -n "/^## $1\$/,/^## /p" md | sed '1d; /^## /d'
}

# is <verdict>
is() {
	report demo && test_grep "^\*\*Verdict: $1\*\*$" md && ews report --format json --output - demo >./json || return 1
	test_json json .verdict "$1"
}

test_expect_success 'P1: the verdict is that of the worst finding' '
	test_repo p && start_ws p demo && test_fingerprint p >before && is PASS && section Findings >got && test_grep "^None\.$" got &&
	ews report finding add --severity info --title "only so" >id && test_grep -x "finding-[0-9a-f]\{8\}" id && is PASS &&
	ews report finding add --severity warning --title "no test" --file src/main.c --line 3 >id && is "CONDITIONAL PASS" &&
	ews report finding add --severity critical --title "it crashes" --description "always" --session demo >id && is FAIL &&
	ews report finding add --severity warning --title "still" >id && is FAIL &&
	test_grep "^- Findings: 1 critical, 2 warning, 1 info$" md && sed -n "s/^### //p" md >got && test_cmp - got <<-\EOT &&
	critical: it crashes
	warning: no test
	warning: still
	info: only so
	EOT
	test_json json .critical_count 1 && test_json json .findings_count 4 && test_json json ".findings[1].file_path" src/main.c &&
	test_json json ".findings[1].line" 3 && ews report finding list demo >list && test_line_count = 4 list && test_grep "  warning   src/main.c:3  no test$" list &&
	test_fingerprint p >after && test_cmp before after
'

test_expect_success 'P8: git commands that were stopped are named, with the reason' '
	ews run demo -- sh -c "git commit -m x; git push \"a|b\"; git status; exit 0" >/dev/null 2>err && report demo && section "Blocked git commands" >got &&
	test_line_count = 6 got && test_grep "^| 20.* | .git commit -m x. | Commits would .* |$" got && test_grep "git push .a.|b" got &&
	ews report --json --output - demo >json && test_json_count json .blocked 2 && test_json json ".blocked[0].subcommand" commit &&
	json json ".blocked[1].command" >got && test_grep "^git push .a|b.$" got && test_json json ".blocked[0].suggestion" && test_grep "^- Blocked git commands: 2$" md
'

test_expect_success 'the figures are those of git over the same trees' '
	(cd "${ws:?}" && echo more >>src/main.c && git mv run.sh ran.sh && rm -r docs 2>/dev/null; printf "a\0b" >blob.bin && seq 20 >twenty && rm .gitignore) &&
	snap=$(ews snapshot create demo) && git -C p diff -M --numstat refs/ews/sessions/demo refs/ews/snapshots/$snap -- >numstat && test -s numstat &&
	report demo && section Changes >got && sed -n "s/^| . | .* | \(.*\) |$/\1/p" got >lines &&
	awk "{ print \$1 == \"-\" ? \"binary\" : \"+\" \$1 \" -\" \$2 }" numstat >want && test_cmp want lines &&
	awk "\$1 != \"-\" { a += \$1; d += \$2 } END { print NR, a, d }" numstat >want &&
	ews report --json --output - demo >json && echo $(json json .changes.total_changes) $(json json .changes.lines_added) $(json json .changes.lines_deleted) >got.totals &&
	test_cmp want got.totals && test_json_count json .changes.changes $(wc -l <numstat) && test_grep "^| R | .run.sh. → .ran.sh. | +0 -0 |$" got
'

# what readers of tables take for the end of a cell
cells() {
	sed -n "s/\\\\./x/g; /^|/p" "$1" | tr -dc "|\n"
}

test_expect_success 'names and words do nothing in the page' '
	(cd "${ws:?}" && for name in "a|b" "a\\|b" "\`x\`" "<img src=x>" "[l](http:y)" "*b*" "- item" " blank" "$(printf "new\nline")" "$(printf "esc\033[31m")" \
		"$(printf "bad\377")"; do echo 1 >"$name" || exit 1; done) &&
	printf "<script>[x](http://y) | \140z\n### critical: forged\n" >title && printf "\140\140\140\n## Verdict\n<b>\n\033]0;x\a" >words &&
	ews report finding add --severity info --title "$(cat title)" --description "$(cat words)" --file "<img src=x>" >id && report demo &&
	sed -n "/^| [AMDR] |/p" md >rows && test_line_count -gt 11 rows && cells rows >got && sort -u got >ends && echo "||||" >want && test_cmp want ends &&
	test_must_fail env LC_ALL=C.UTF-8 grep -axv ".*" md && test "$(tr -d "\n\t\040-\176\200-\377" <md | wc -c)" = 0 &&
	sed "/^\`\`\`\`text$/,/^\`\`\`\`$/d; s/\`\`*[^\`]*\`\`*//g" md >bare && test_grep ! "[^\\\\]<" bare && test_grep ! "[^\\\\]](" bare && test_grep ! "^## Verdict" bare &&
	test_grep ! "^### critical: forged" md && test_grep "^### info: .<script.>.\[x.\](http.://y) .| .\`z .#.#.# critical: forged$" md &&
	ews report --json --output - demo >json && json json ".findings[4].title" >got && test_cmp title got && tail -c +2 json | grep -o "\"path_bytes\":" >got && test_line_count -gt 0 got
'

test_expect_success 'P4: it is stored in two forms, and never in the place of another' '
	ews report demo >path && day=$(date -u +%Y-%m-%d) && git -C p ews artifact prune --keep 0 && git -C p ews clean --now && ews report demo >path && echo "$PWD/p/${qr:?}/qr-$day-demo.md" >want && test_cmp want path &&
	cp "$(cat path)" first && ews report --format json demo >path && echo "$PWD/p/${qr:?}/qr-$day-demo-2.json" >want && test_cmp want path &&
	: >p/${qr:?}/qr-$day-demo-3.json && ews report demo >path && echo "$PWD/p/${qr:?}/qr-$day-demo-4.md" >want && test_cmp want path &&
	ls -A p/${qr:?} >list && test_line_count = 7 list && test_grep ! "^\." list && test_must_be_empty p/${qr:?}/qr-$day-demo-3.json &&
	test_cmp first p/${qr:?}/qr-$day-demo.md && test_json p/${qr:?}/qr-$day-demo.json .schema ews.report/1 && test_json p/${qr:?}/qr-$day-demo.json .verdict FAIL &&
	ews report --json demo >json && test_json json ".paths[1]" "$PWD/p/${qr:?}/qr-$day-demo-5.json" && git -C p status --porcelain >st && test_must_be_empty st &&
	test_grep "qr-$day-demo-4.md. (" p/${qr:?}/qr-$day-demo-5.md
'

test_expect_success 'P5: --output goes there alone, and into what is no file' '
	ls p/${qr:?} >before && echo old >file && (cd p && git ews report --output ../file demo) >path && echo "$PWD/file" >want && test_cmp want path && test_grep "^# Report of session .demo.$" file &&
	mkfifo fifo && { cat fifo >got & } && ews report --format json --output "$PWD/fifo" demo >path && wait && test -p fifo && test_json got .session_id demo &&
	test_expect_code 128 ews report --output "$PWD/p" demo 2>err && test_grep "Is a directory" err && test_expect_code 128 ews report --output "$PWD/no/file" demo &&
	ls p/${qr:?} >after && test_cmp before after
'

test_expect_success 'P4: --output through a link replaces what it leads to, and modes stay; what /dev/stdout is, is written into' '
	seq 5000 >old && ln -s old link && ews report --output - demo >md && n=$(wc -l <md) && ews report --output "$PWD/link" demo >path && test_grep "^# Report of session .demo.$" old && test_line_count = "$n" old && test "$(readlink link)" = old && : >private && chmod 600 private && ews report --output "$PWD/private" demo >path && test "$(stat -c %a private)" = 600 && test_line_count = "$n" private &&
	rm private && (umask 077 && ews report --output "$PWD/private" demo >path) && test "$(stat -c %a private)" = 600 && rm private && (umask 022 && ews report --output "$PWD/private" demo >path) && test "$(stat -c %a private)" = 644 &&
	echo before >log && ews report --output /dev/stdout demo >>log && test "$(sed -n "1p;\$p" log)" = "before${LF}/dev/stdout" && test_line_count = $((n + 2)) log && ln -s nowhere dangling && test_expect_code 128 ews report --output "$PWD/dangling" demo && test_path_is_missing nowhere
'

test_expect_success 'what it does not do is said' '
	test_expect_code 128 ews report --format html demo >out 2>err && test_must_be_empty out && test_grep "^error: there is no HTML form of a report$" err &&
	test_grep "^hint: .*--format md" err && test_expect_code 128 ews report --json --format html demo >out && test_json out .error.code unsupported &&
	test_expect_code 129 ews report --json --format md --output - demo >out && test_json out .error.code usage &&
	test_expect_code 128 ews report nosuch && test_expect_code 129 ews report finding add --severity info --title x --file /etc/passwd 2>err &&
	test_grep "outside" err && echo text >text && test_expect_code 129 ews report finding add --severity info --title x --fix "$PWD/text" 2>err && test_grep "is not a patch" err && test_expect_code 129 ews report finding add --severity info --title x --fix /dev/zero 2>err && test_grep "longer than" err
'

test_expect_success 'a suggested fix is a patch among the artifacts' '
	printf "%s\n" "--- a/twenty" "+++ b/twenty" "@@ -1,2 +1,2 @@" "-1" "+one \`\`\`\`" " 2" >fix && ews report finding add --severity info --title mend --fix "$PWD/fix" >id &&
	name=demo-$(cat id).patch && test_cmp fix "p/.superqode/qe-artifacts/patches/${name:?}" && git -C "${ws:?}" apply --check "$PWD/p/.superqode/qe-artifacts/patches/$name" &&
	ews report finding list --json >json && n=$(grep -o "\"suggested_fix\"" json | wc -l) && test_json_count json .findings "$n" && test_json json ".findings[0].suggested_fix" null && json json ".findings[$((n - 1))].suggested_fix" >got && { cat fix && echo; } >want && test_cmp want got &&
	report demo && test_grep "^- Suggested fix: .$name.$" md && test_grep "^\`\`\`\`\`diff$" md && section Artifacts >got && test_grep "$name" got
'

test_expect_success 'P5: a command inside run adds findings too, and can change none' '
	ews report finding list demo >before && git -C p ews run demo -- sh -c "git ews report finding add --severity critical --title inside --file src/main.c --fix - <\"\$1\"
		git ews report finding list; git ews report; git ews report --output x; git ews report --output - >/dev/null || exit 9" sh "$PWD/fix" >out 2>err &&
	id=$(head -n 1 out) && sed 1d out >seen && ews report finding list demo >after && test_cmp seen after && tail -n 1 after >last && test_grep "^$id  critical  src/main.c  inside$" last &&
	sed "\$d" after >rest && test_cmp before rest && test_grep "blocked: git ews report (It would store" err && test_cmp fix "p/.superqode/qe-artifacts/patches/demo-$id.patch" &&
	n=0 && for junk in "junk" "{" "5" "\\000" "\\000\\n\\n" "\\377\\001\\000{}" "{}"; do
		n=$((n + 1)) && printf "$junk" >junk && git -C p ews run demo -- sh -c "cat \"\$1\" >\$TMPDIR/.ews-findings" sh "$PWD/junk" 2>err && ews report finding list demo >out 2>err && test_cmp after out && test_grep "^warning: $n more findings could not be read$" err || return 1
	done
'

test_expect_success STRACE 'P4: what a command has added waits where it can not be read just now, and is there the next time' '
	start_ws p waits && echo "git ews report finding add --severity warning --title later --description d" >"${ws:?}/add" && for error in EMFILE EIO; do
		env ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0" strace -qq -o trace -P .ews-findings -e trace=openat,unlinkat -e inject=openat:error=$error git-ews -C p run waits -- sh add >id 2>err && test_grep INJECTED trace && test_grep "^warning: the findings wait" err &&
			ews report finding list waits >list && test_grep "^$(cat id)  warning  .*later$" list && git -C p ews run waits -- true 2>err && test_grep ! "findings wait" err || return 1
	done && ews report finding list waits >list && test_line_count = 2 list && git -C p ews end waits
'

test_expect_success 'P8: findings that can not be read: nobody calls that a pass' '
	start_ws p other && git -C p ews run other -- sh -c "echo junk >\$TMPDIR/.ews-findings" 2>err && report other 2>err && test_grep "^\*\*Verdict: UNKNOWN\*\*$" md &&
	test_grep "^warning: 1 more findings could not be read$" err && section "What could not be found out" >got && test_grep "1 more findings" got && git -C p ews end other
'

test_expect_success 'P4: what a killed run was told is not lost' '
	start_ws p third && { git -C p ews run third -- sh -c "git ews report finding add --severity warning --title told && echo \$\$ >ready && exec sleep 60" >out 2>err 3>&- 4>&- 5>&- & } &&
	test_wait_for 20 test -s "${ws:?}/ready" && ews status --json third >status.json && command=$(cat "${ws:?}/ready") && test_when_finished "kill -9 $command 2>/dev/null || :" &&
	kill -9 "$(json status.json ".sessions[0].owner.pid")" "$command" && test_expect_code 137 wait $! &&
	ews report finding list third >list && test_grep "  told$" list && ews recover third --resume && ews report finding list third >list && test_grep "  told$" list &&
	ews run third -- true 2>err && ews report finding list third >list && test_grep "  told$" list && ews end third && ews report --output - third >md && test_grep "CONDITIONAL PASS" md
'

test_expect_success 'the way back, and what the last revert found' '
	report demo && section Revert >got && test_grep "^- The way back: .git ews revert demo.$" got && test_grep "^- Files: not those of the base$" got && test_grep "^- Last revert: there was none$" got &&
	ews revert demo >out && hash=$(sed -n "s/^  Original hash: //p" out) && report demo && section Revert >got && test_grep "^- Original hash: .$hash.$" got && test_grep "^- Current hash: .$hash.$" got &&
	test_grep "^- Files: those of the base$" got && test_grep "^- Status then: Verified$" got && ews report --json --output - demo >json && test_json json .revert.reverted true && test_json json .revert.last.verified true &&
	test_json json .revert.last.original_hash "$hash" && section "Timeline of snapshots" >got && test_grep "(in trash) | .*ews: state before revert |$" got && test_grep "$snap. | .snap-" got &&
	ews undo demo >out && report demo && section Revert >got && test_grep "^- Files: not those of the base$" got
'

test_expect_success 'P8: a session that has ended has its report, until trash lets go of what it left' '
	report demo && section Changes >want && ews end demo >out && report demo && section Changes >got && test_cmp want got && test_grep "^- State: ended$" md &&
	test_grep "^- The way back: .git ews undo demo.$" md && test_grep "FAIL" md && ews clean --now >out 2>err && ews report --output - demo >md 2>err && section Changes >got &&
	test_grep "^Not known\.$" got && test_grep "not known" err && test_grep "^- Changes: not known$" md && test_grep "FAIL" md
'

test_expect_success 'P8: where the workspace is gone or bent the changes are not known' '
	start_ws p lost && echo x >"${ws:?}/x" && mv "${ws:?}" away && report lost 2>err && test_grep "^warning: changes are not known: .*is gone" err && test_grep "^- Changes: not known$" md &&
	mv away "${ws:?}" && echo "gitdir: /elsewhere" >"${ws:?}/.git" && report lost 2>err && test_grep "^warning: changes are not known: .*was rewritten" err &&
	ews report --json --output - lost >json && test_json json .changes null && test_json_count json .problems 1
'

test_expect_success 'in place, and of a plain directory' '
	mkdir plain && echo 1 >plain/f && git -C plain ews start --method in-place here >out && echo 2 >>plain/f && git -C plain ews report finding add --severity warning --title w >id &&
	git -C plain ews report >path && test_grep "^| M | .f. | +1 -0 |$" "$(cat path)" && git -C plain ews end here >out && git -C plain ews report here --output - >md && test_grep "Status then: Verified" md
'

test_expect_success 'a full disk sends nobody to recover where nothing is interrupted' '
	test_repo full && start_ws full room && test_expect_code 128 git -C full ews report room --output /dev/full 2>err && test_grep "^hint: free some space, and try again$" err &&
	sh -c "trap \"\" XFSZ && ulimit -f 0 && exec git-ews -C full start cramped" 2>&1 | cat >err && test_grep "^hint: raise what .ulimit -f. shows, and try again$" err &&
	start_ws full cut && sed -i "s/\"active\"/\"ending\"/" "$HOME/.superqode/working/full/sessions/cut/state.json" && test_expect_code 128 git -C full ews report room --output /dev/full 2>err && test_grep "^hint: free some space, then .git ews recover.$" err
'

# cramped <verb and arguments>: it can't keep what is there, and has not begun; there is nothing to recover.
cramped() {
	sh -c "ulimit -f 0 && exec git-ews -C tight $*" 2>&1 | cat >err && test_grep "^hint: raise what .ulimit -f. shows, and try again$" err && git -C tight ews recover --all 2>err && test_grep "nothing is interrupted" err
}

test_expect_success 'nor does what can not be kept before a verb begins' '
	test_repo tight && start_ws tight s && snap=$(git -C tight ews snapshot create) && echo n >"${ws:?}/n" && git -C tight ews revert s && echo m >"${ws:?}/m" && echo m >tight/m &&
	cramped revert s && cramped undo s && cramped snapshot restore --force $snap && test "$(cat "${ws:?}/m")" = m && test "$(cat tight/m)" = m
'

# spent <path> <call> <verb and arguments>: no space in it when the step is to be written
spent() {
	path=$1 && call=$2 && shift 2 && test_expect_code 128 test_strace trace -P "$path" -e trace="$call" -e inject="$call":error=ENOSPC git -C spent ews "$@" 2>err && test_grep INJECTED trace && test_grep "^hint: free some space, and try again$" err &&
		git -C spent ews recover --all 2>err && test_grep "nothing is interrupted" err
}

test_expect_success STRACE 'nor does a step that can not be written' '
	test_repo spent && start_ws spent s && echo n >"${ws:?}/n" && mkdir -p "$HOME/.superqode/working/spent/undo" && spent "$HOME/.superqode/working/spent/sessions/s/journal" write revert s && test_path_is_file "${ws:?}/n" &&
	spent "$HOME/.superqode/working/spent/undo" openat apply s && test_path_is_missing spent/n && git -C spent ews apply s && test_path_is_file spent/n && git -C spent ews undo && test_path_is_missing spent/n && git -C spent ews revert s && test_path_is_missing "${ws:?}/n"
'

test_expect_success 'P8: a report of a session of another work tree does not go to this one since that can not be looked at just now' '
	test_repo main && git -C main worktree add -q --detach "$PWD/linked" && git -C linked ews start r && look=0 && while test_more_looks; do
		test_look EIO "/linked(/[.]git)?$|/main/[.]git/worktrees/linked(/.*)?$" -C main report r >out 2>err && test_path_is_missing main/.superqode && test_grep ! "another user" err || return 1
	done && test $look -gt 4
'

test_done
