#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='status, list, path: which sessions there are, and how it stands with them'

. "$(dirname "$0")/test-lib.sh"

test_expect_success 'what fails before a verb is reached says so as JSON, too, to who asked for that' '
	test_expect_code 128 git-ews -C nowhere status --json >out 2>err && test_must_be_empty err && test_json out .schema ews.error/1 && test_json out .error.code not_found &&
	test_expect_code 128 git-ews -C nowhere status >out 2>err && test_must_be_empty out && test_line_count = 2 err
'

test_expect_success 'without a session there is nothing, and that is no error' '
	test_repo p && git -C p ews status >out && git -C p ews list >out && test_must_be_empty out &&
	git -C p ews status --json >out && test_json out .schema ews.status/1 && test_json_count out .sessions 0 &&
	test_expect_code 128 git -C p ews path >out 2>err && test_must_be_empty out && test -s err &&
	git -C p for-each-ref refs/ews >out && test_must_be_empty out
'

test_expect_success 'setup: two sessions, one of which is changed' '
	start_ws -n one p --intent "try it" one && start_ws -n two p two &&
	(cd "$one" && echo edit >>src/main.c && echo new >new && rm docs/crlf.txt && git mv run.sh ran.sh)
'

test_expect_success 'list: a line for each' '
	git -C p ews list >out && test_line_count = 2 out && grep one out && grep two out
'

test_expect_success 'path prints it alone; from inside it is that one' '
	test "$(git -C p ews path one)" = "$one" && test "$(git -C p ews path tw)" = "$two" &&
	test "$(git -C "${one:?}/src" ews path)" = "$one" && test "$(git -C "$two" ews path)" = "$two" &&
	test "$(git -C "$two" ews path one)" = "$one" && test "$(cd p && EWS_SESSION=one git ews path)" = "$one"
'

test_expect_success 'bare git ews is git ews status' '
	for out in want got; do
		if test $out = want; then git -C p ews status; else git -C p ews; fi >$out && sed "s/[0-9]* seconds* */ /; s/  */ /g" $out >$out.ageless || return 1
	done &&
	test_cmp want.ageless got.ageless && grep one got && grep two got
'

test_expect_success 'status tells id, state, method, changes' '
	git -C p ews status one >out && grep one out && grep active out && grep worktree out && test_must_fail grep two out
'

test_expect_success 'status --json: every key of the contract' '
	git -C p ews status --json >out 2>err && test_must_be_empty err && test_json out .schema ews.status/1 && test_json_count out .sessions 2 &&
	git -C p ews status --json one >out && test_json_count out .sessions 1 && s=".sessions[0]" &&
	test_json out $s.session_id one && test_json out $s.path "$one" && test_json out $s.project "$PWD/p" && test_json out $s.method git_worktree &&
	test_json out $s.state active && test_json out $s.intent "try it" && test_json out $s.base_commit "$(git -C p rev-parse HEAD)" &&
	json out $s.snapshot_id | grep "^snap-" && json out $s.created_at | grep -E "^[0-9-]{10}T[0-9:.]{8,}Z\$" &&
	age=$(json out $s.age_ms) && test $age -ge 0 && test $age -lt 600000 && test_json out $s.size_bytes &&
	test_json out $s.changes.total_changes 4 && test_json out $s.changes.additions 1 && test_json out $s.changes.deletions 1 &&
	test_json out $s.changes.modifications 1 && test_json out $s.changes.renames 1 &&
	test_json out $s.changes.lines_added 2 && test_json out $s.changes.lines_deleted 2
'

test_expect_success 'an unchanged session has no changes' '
	git -C p ews status --json two >out && test_json out ".sessions[0].changes.total_changes" 0
'

test_expect_success 'an ended one is shown on request alone' '
	git -C p ews end two && git -C p ews list >out && test_line_count = 1 out && git -C p ews status >out && test_must_fail grep two out &&
	git -C p ews status --ended >out && grep two out && git -C p ews status --json --ended >out && json out .sessions | grep "\"ended\"" &&
	git -C p ews status --json --all >out && json out .sessions | grep "\"two\"" && test_must_fail git -C p ews path two
'

test_expect_success 'the only active session is meant when none is named' '
	test "$(git -C p ews path)" = "$one" && git -C p ews diff >a && git -C p ews diff one >b && cmp a b && test -s a
'

test_expect_success 'with several, none is guessed' '
	git -C p ews start three >out && for verb in path diff revert end "snapshot list"; do
		case $verb in snapshot*) continue ;; esac
		rc=0 && { git -C p ews $verb >out 2>err || rc=$?; } && case $rc in 128 | 129) ;; *) return 1 ;; esac &&
		test_must_be_empty out && test_grep "^error: ." err && test_grep "^hint: ." err || return 1
	done
'

test_expect_success 'from a linked worktree and from a subdirectory the sessions are the same' '
	git -C p worktree add -q ../linked HEAD~1 && git -C linked ews list >a && git -C p ews list >b && (cd p/src/deep && git ews list) >c &&
	cut -d" " -f1 a >a1 && cut -d" " -f1 b >b1 && cut -d" " -f1 c >c1 && test_cmp a1 b1 && test_cmp a1 c1
'

test_expect_success 'another project has other sessions, and of one name too' '
	mkdir other && test_repo other/p && git -C other/p ews list >out && test_must_be_empty out && git -C other/p ews start one >out &&
	test "$(cat out)" != "$one" && test "$(git -C other/p ews path one)" = "$(cat out)" && test "$(git -C p ews path one)" = "$one"
'

test_expect_success 'a workspace that is gone is shown as such, not left out' '
	mv "$one" moved && git -C p ews status one >out 2>err && cat out err >both && test_grep -i "missing\|gone\|vanished" both &&
	git -C p ews status --json one >out && test_json_count out .sessions 1 && mv moved "$one"
'

test_expect_success 'a rewritten .git file is tampering: named, and not followed' '
	cp "${one:?}/.git" keep && test_when_finished "cp keep \"${one:?}/.git\"" && test_repo evil && git -C evil config core.fsmonitor "touch \"$PWD/ran\"; false" &&
	echo "gitdir: $PWD/evil/.git" >"${one:?}/.git" && git -C p ews status one >out 2>err && cat out err >both && test_grep -i "tampered.*\.git" both &&
	git -C p ews status --json one >out && test_json_count out ".sessions[0].tampered" 1 &&
	test_expect_code 1 git -C p ews diff one >out 2>err && test_must_be_empty out && test_path_is_missing ran
'

test_expect_success '--log prints what happened, JSON lines' '
	git -C p ews revert three >out && git -C p ews status --log --json three >out && test_line_count -ge 1 out &&
	while read -r line; do printf "%s\n" "$line" >line && test_json line && test_json line .session_id three && test_json line .project "$PWD/p" || return 1; done <out && grep revert out &&
	git -C p ews status --log --json one three >both && git -C p ews status --log --json one >of-one && cat of-one out >want && sort want >want.sorted && sort both | test_cmp want.sorted - && test_line_count -ge 1 of-one
'

test_expect_success '-z: paths as they are, with a NUL behind each' '
	test_repo zero && git -C zero ews start s --in "$PWD/in\"y" && for what in "" s; do
		git -C zero ews status $what >out && grep -F "\"$PWD/in\\\"y/s\"" out && git -C zero ews status -z $what >out && tr "\0" "@" <out >got && grep -F "$PWD/in\"y/s@" got || return 1
	done && git -C zero ews status --all -z >out && tr "\0" "@" <out >got && grep -F "of $PWD/zero@" got && git -C zero ews end s
'

test_expect_success 'the age of an ended session is what it is in the table: how long ago it began' '
	test_repo aged && git -C aged ews start a && git -C aged ews end a && record=${HOME:?}/.superqode/working/aged/sessions/a/state.json && now=$(date +%s) && sed -i "s/\(\"created\":[^0-9]*\)[0-9]*/\1$((now - 7300))/;s/\(\"ended\":[^0-9]*\)[0-9]*/\1$((now - 7200))/" "${record:?}" &&
	git -C aged ews list --ended >out && test_grep "2 hours" out && git -C aged ews list --ended --format "%(age_ms)" >out && test "$(cat out)" -ge 7300000
'

test_expect_success 'options that do not exist, and names that mean nothing' '
	test_expect_code 129 git -C p ews status --nonsense 2>err && test_expect_code 129 git -C p ews path one two 2>err &&
	for verb in status list; do test_expect_code 129 git -C p ews $verb --all --format "%(nosuch)" 2>err && test_grep "^hint: fields are session_id, .* lock, " err || return 1; done &&
	(cd p && test_expect_code 128 git ews diff src/main.c 2>../err && test_grep "^hint: a path comes after .--.: -- src/main.c$" ../err && test_expect_code 128 git ews revert src 2>../err && test_grep "^hint: a path .*-- src$" ../err &&
		test_expect_code 128 git ews end src 2>../err && test_grep ! "a path" ../err && test_expect_code 128 git ews start --base nosuch src 2>../err && test_grep "^hint: --base takes" ../err) &&
	test_expect_code 128 git -C p ews status nobody 2>err && test_grep nobody err && test_expect_code 129 git -C p ews nonsense 2>err
'

# As on a terminal of so many columns: on_terminal <columns> <command>...
on_terminal() {
	ews_columns=$1 && shift && env GIT_PAGER_IN_USE=1 TERM=xterm COLUMNS="$ews_columns" "$@"
}

test_expect_success 'status: columns that stand below their titles, a line a session, its workspace below' '
	test_repo q && start_ws -n sa q --intent "as long a sentence as somebody may have to say
about what he wants to be done here" --label "$(printf "\033[31mred")" short && start_ws -n sb q a-much-longer-name &&
	(cd "$sa" && echo edit >>src/main.c && rm run.sh) && git -C q ews >out && test_line_count = 7 out && test_grep "label: .033\[31mred" out && head -n 1 out >titles && test_grep "^  SESSION  *STATE  *CHANGES  *AGE  *METHOD  *SIZE$" titles &&
	test_grep -x "    $sa" out && test_grep -x "    intent: as long .* here" out && at=$(awk "{ print index(\$0, \"STATE\") }" titles) &&
	grep active out >rows && test_line_count = 2 rows && cut -c"$at"-"$((at + 5))" rows >cut && sort -u cut >got && test_grep -x active got && test_line_count = 1 got &&
	test_grep "^  short  *active  2 files (+1 -[0-9]*)  [0-9]* seconds*  *worktree  [0-9.]* [a-zA-Z]*$" out && git -C q ews status --ended -v >out && test_grep "^  Base:  *[0-9a-f]* of main, snap-" out && test_grep "^  Size:  *[0-9]" out
'

test_expect_success 'status: on a narrow terminal no line runs over but a path, and nothing is lost' '
	for columns in 30 40 60 80 120; do
		on_terminal $columns git -C q ews --no-color >out && grep -v "^    /" out >lines && awk "length > $columns" lines >over && test_must_be_empty over && on_terminal $columns git -C q ews list --no-color >list && test_line_count = 2 list &&
		tr -s "\n " "  " <out >flat && test_grep "short .*2 files (+1 -[0-9]*).*worktree" flat && test_grep "as long a sentence as somebody may have to say about what he wants to be done here" flat && test_grep "a-much-longer-name" flat || return 1
	done && on_terminal 60 git -C q ews list --no-color >list && awk "length > 60" list >over && test_must_be_empty over
'

test_expect_success 'P9: colours and hints are by the config of the user, and never by the repository' '
	on_terminal 80 git -C q ews >out && esc=$(printf "\033") && test_grep "$esc\[32mactive$esc\[m" out && test_grep "(use \"git ews diff <session>\" to see the changes)" out &&
	git -C q ews >out && test_grep ! "$esc" out && test_grep ! "(use" out && git -C q config color.status never && git -C q config advice.statusHints false && on_terminal 80 git -C q ews >out && test_grep "$esc" out && test_grep "(use" out &&
	git -C q config --unset color.status && git -C q config --unset advice.statusHints && test_when_finished "git config --global --remove-section color; git config --global --remove-section advice" &&
	git config --global color.status never && git config --global advice.statusHints false && on_terminal 80 git -C q ews >out && test_grep ! "$esc" out && test_grep ! "(use" out && on_terminal 80 git -C q ews -q --color >out && test_grep "$esc" out
'

test_expect_success 'P9: what git is told on the command line is of the user, before his config' '
	esc=$(printf "\033") && on_terminal 80 git -C q -c color.status=false -c advice.statusHints=false ews >out && test_grep ! "$esc" out && test_grep ! "(use" out &&
	on_terminal 80 git -C q -c color.ui=false ews 2>err >out && test_grep ! "$esc" out && test_grep "(use" out && test_grep ! warning err &&
	GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=color.ui GIT_CONFIG_VALUE_0=never on_terminal 80 git -C q ews >out && test_grep ! "$esc" out &&
	test_when_finished "git config --global --remove-section color; git -C q config --unset color.status" && git config --global color.status never && git -C q config color.status never &&
	on_terminal 80 git -C q -c color.status=always ews >out && test_grep "$esc" out && on_terminal 80 git -C q -c color.status ews >out && test_grep "$esc" out && git -C q -c color.status=always ews >out && test_grep ! "$esc" out
'

# What was left behind, but for the epoch: that never goes back.
stale() {
	git -C q ews status --json "$1" >stale.json || return 1
	case "$(json stale.json ".sessions[0].stale_reasons[0]" 2>/dev/null)" in
	"" | "the project changed"*) echo false ;;
	*) echo true ;;
	esac
}

test_expect_success 'P8: stale is what the project has left behind: HEAD moved, or a file of the base changed' '
	git -C q ews start --base HEAD~1 old >path && test "$(stale short)" = false && test "$(stale old)" = false && git -C q ews status --format "%(stale)" >out && test_grep -c false out && git -C q ews end old &&
	touch q/src/main.c && echo new >q/of-nobodys-base && test "$(stale short)" = false && cp -p q/src/numbers keep && echo more >>q/src/numbers && test "$(stale short)" = true &&
	git -C q ews status short >out && test_grep "^  Stale:  *1 file of the base changed in the project: src/numbers$" out && test_json stale.json ".sessions[0].stale_files[0]" src/numbers && test_json_count stale.json ".sessions[0].stale_files" 1 &&
	cat keep >q/src/numbers && test "$(stale short)" = false && chmod +x q/src/numbers && test "$(stale short)" = true && chmod -x q/src/numbers && mv q/docs q/docs.away && ln -s docs.away q/docs && test "$(stale short)" = true && rm q/docs && mv q/docs.away q/docs && test "$(stale short)" = false &&
	rm q/link && test "$(stale short)" = true && git -C q ews >out && test_grep "^    stale: 1 file of the base changed in the project: link$" out && git -C q checkout -q link && test "$(stale short)" = false &&
	git -C q commit -q --allow-empty -m moved && test "$(stale short)" = true && git -C q ews >out && test_grep "^    stale: HEAD moved from [0-9a-f]* to [0-9a-f]*$" out && test_grep ! "project: " out && git -C q ews status short >out && test_grep "^  Project:  *ref refs/heads/main moved" out &&
	git -C q reset -q --soft HEAD~1 && test "$(stale short)" = false &&
	cp -p q/src/numbers keep && git -C q ews start old >path && tr 0-9 1-90 <keep >q/src/numbers && touch -r keep q/src/numbers && test "$(stale old)" = true && test_json stale.json ".sessions[0].stale_files[0]" src/numbers && cp -p keep q/src/numbers && test "$(stale old)" = false && git -C q ews end old
'

# The files that come were there before the start, and say nothing of when they came.
test_expect_success 'P8: stale is also what a directory in the place of another has brought' '
	test_repo swap && mkdir swap/d brought && echo old >swap/d/f && echo same >swap/d/g && git -C swap add . && git -C swap commit -q -m d && echo new >brought/f && cp -p swap/d/g brought/g && echo changed >>swap/src/main.c && made=$(date +%s) &&
	test_wait_for 10 sh -c "test \$(date +%s) -gt $made" && git -C swap ews start sw && git -C swap ews start --no-uncommitted plain && git -C swap ews start --from sw chained && mv swap/d away && mv brought swap/d &&
	git -C swap ews status sw --json >json && test_json json ".sessions[0].stale_files[0]" d/f && test_json_count json ".sessions[0].stale_files" 1 && for id in plain chained; do
		git -C swap ews status $id --json >json && test_grep ! main.c json || return 1
	done && mv swap/d brought && mv away swap/d && git -C swap ews status sw --json >json && test_json_count json ".sessions[0].stale_files" 0
'

test_expect_success '--brief: a few words for a prompt, silent where there is nothing to say' '
	git -C q ews status --brief >out && echo "2 sessions" >want && test_cmp want out && (cd "${sa:?}/src" && git ews status --brief) >out && echo short >want && test_cmp want out &&
	git -C q ews end a-much-longer-name && git -C q ews status --brief >out && test_cmp want out && test_repo none && git -C none ews status --brief >out && test_must_be_empty out &&
	mkdir outside && (cd outside && git ews status --brief >../out 2>../err) && test_must_be_empty out && test_must_be_empty err && test_expect_code 128 git -C outside ews status --brief --json >out && echo "{\"state\": 3}" >"${HOME:?}/.superqode/working/q/sessions/short/state.json.new" &&
	cp "${HOME:?}/.superqode/working/q/sessions/short/state.json" keep && mv "${HOME:?}/.superqode/working/q/sessions/short/state.json.new" "${HOME:?}/.superqode/working/q/sessions/short/state.json" && git -C q ews status --brief >out && echo "short, damaged" >want && test_cmp want out &&
	cp keep "${HOME:?}/.superqode/working/q/sessions/short/state.json"
'

test_expect_success 'status, lock and talk: of an intent and a label a terminal obeys nothing, whatever its alphabet' '
	test_repo odd && words=$(printf "a\302\2331m \2331m \342\200\256z \303\251") && start_ws -n so odd odd --intent "$words" --label "$words" && printf "%s\n" "a\\302\\2331m \\2331m \\342\\200\\256z $(printf "\303\251")" >shown &&
	git -C odd ews status >out && { sed "s/^/    label: /" shown && sed "s/^/    intent: /" shown; } >want && grep "label:\|intent:" out >got && test_cmp want got && git -C odd ews status -v odd >out && test_grep -F "$(cat shown)" out && test_grep ! -F "$words" out &&
	git -C odd ews status odd --json >out && test_json out ".sessions[0].intent" >intent && test_grep ! 302 intent && git -C odd ews lock acquire --session odd --intent "$words" >out && git -C odd ews lock status >out && test_grep -F "$(cat shown)" out && git -C odd ews lock release odd &&
	test_must_fail git -C odd ews status "x$words" 2>err && test_grep -F "xa??1m ?1m ???z $(printf "\303\251")" err && git -C odd ews end odd
'

test_expect_success STRACE '--brief starts no program and looks into no workspace' '
	(cd q && test_strace ../trace -e trace=execve,openat,newfstatat "$EWS_BIN/git-ews" status --brief) >out && grep -c execve trace >n && echo 1 >want && test_cmp want n && test_grep ! "main.c\|qe/short" trace
'

test_expect_success 'from a directory that is gone a prompt is empty, and other projects can be looked at' '
	mkdir away && (cd away && rmdir ../away && git-ews status --brief && git-ews list --all >../out && test_expect_code 128 git-ews status 2>../err && test_expect_code 125 git-ews run -- true) >brief 2>run.err && test_must_be_empty brief && test -s out && test_grep "cannot find the current directory" err && test_grep "cannot find the current directory" run.err
'

# few_files <n> <word>...: git ews with at most n descriptors
few_files() {
	sh -c "ulimit -n $1 && shift && exec git-ews -C few \"\$@\"" x "$@" >out 2>err
}

test_expect_success 'no session is called damaged for want of descriptors: that is said, and of many sessions none holds one' '
	test_repo few && git -C few pack-refs --all && for n in $(seq 20); do git -C few ews start s$n || return 1; done && git -C few ews end s20 && for n in $(seq 9 24); do
		for verb in list status "status s7" "list --ended"; do
			if few_files $n $verb; then
				test_grep " active\|(active)" out && test_must_be_empty err
			else
				code=$? && test $code = 128 && test_must_be_empty out && test_grep "Too many open files\|are descriptors" err && test_grep ! "git ews status\|git ews recover" err
			fi && test_grep ! "damaged\|problem\|stale\|no session" out err || { echo >&2 "$verb with $n: $code"; return 1; }
		done
	done && few_files 18 list && test_line_count = 19 out && few_files 24 status && test_grep "s7  *active" out
'

test_expect_success 'whatever lacks descriptors, to run git as well, says where their number is shown' '
	few_files 40 trust status && few_files 40 guard status && for n in $(seq 9 24); do
		for verb in "trust status" "guard status"; do
			few_files $n $verb || {
				code=$? && echo "$verb with $n: $code" >>lacking && test $code = 128 && test_grep "^error: .*Too many open files" err && test_grep "^hint: .ulimit -n. shows" err
			} || return 1
		done
	done && test_grep "trust" lacking && test_grep "guard" lacking
'

test_expect_success USERS 'packed-refs that may not be read is named, and makes no session that has ended a damaged one' '
	test_repo shut && test_give_user shut && test_as_user git -C shut ews start over && test_as_user git -C shut ews end over && test_as_user git -C shut ews start on && test_as_user git -C shut pack-refs --all && test_when_finished "chmod 644 shut/.git/packed-refs" && chmod 000 shut/.git/packed-refs && for verb in list "list --ended"; do
		test_as_user git -C shut ews $verb >out 2>err && test_grep "^on *active" out && test_grep "^over *ended" out && test_grep "^warning: .*packed-refs.: Permission denied" err && test_line_count = 1 err || return 1
	done && test_as_user git -C shut ews list --json >out 2>err && test_must_be_empty err && test_json out ".sessions[1].state" ended && json out ".sessions[1].problem" >problem && test_grep packed-refs problem && test_as_user git -C shut ews status over >out && test_grep "Problem: .*packed-refs" out && test_expect_code 128 test_as_user git -C shut ews status 2>err && test_grep "packed-refs.: Permission denied" err
'

test_expect_success 'P8: a format that asks for the problem alone gets it; what is no field asks for nothing' '
	test_repo asked && start_ws asked s && f=$HOME/.superqode/working/asked/sessions/s/tripwire && rm "${f:?}" && mkdir "${f:?}" && git -C asked ews status --json >json && json json ".sessions[0].problem" >want && for verb in status list; do
		git -C asked ews $verb --format "%(problem)" >got && test_cmp want got && git -C asked ews $verb --format "%%(stale)%(problem)" >got && sed "s/^/%(stale)/" want | test_cmp - got || return 1
	done && rmdir "${f:?}"
'

test_expect_success 'P8: what a disk does not give is in no sum of changes, and is named' '
	test_repo unread && start_ws unread s && echo new >"${ws:?}/new" && test_unread EIO 1 "openat.*/qe/s/new$" -C unread status s >out && test_grep "Problem: *not looked at: new (unreadable)$" out &&
	test_unread EIO 1 "openat.*/qe/s/new$" -C unread status --json s >json && test_json json ".sessions[0].problem" "not looked at: new (unreadable)" && git -C unread ews status s >out && test_grep ! Problem out
'

test_expect_success 'P8: a session that cannot be opened just now is not one that nobody knows' '
	test_repo shut-now && start_ws shut-now s && for verb in "status s" "diff s" "recover s" "lock acquire --session s" "start --from s t" "end s"; do
		look=0 && while test_more_looks; do
			test_look EIO "/sessions(/s)?$" -C shut-now $verb >out 2>err && test_grep ! "no session\|no snapshot" err && case $code,$verb in 0,end*) git -C shut-now ews undo s ;; 0,start*) git -C shut-now ews end t ;; esac || return 1
		done && test $look -gt 1 || return 1
	done
'

test_done
