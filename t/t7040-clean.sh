#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='what others took away, moved or left behind: found, named, mended, and nothing lost (P4)'

. "$(dirname "$0")/test-lib.sh"

working=$HOME/.superqode/working

# commit_in <dir>: a commit that no branch has; its id in $commit
commit_in() {
	echo agent >"${1:?}/agent" && git -C "$1" add agent && git -C "$1" commit -q -m agent && commit=$(git -C "$1" rev-parse HEAD)
}

# is_kept <project> <commit>: a snapshot in trash leads there, also after gc
is_kept() {
	git -C "$1" gc -q --prune=now && git -C "$1" for-each-ref --format="%(objectname)" refs/ews/trash | git -C "$1" rev-list --stdin >revs && test_grep "$2" revs
}

test_expect_success 'P4: of a workspace that was removed by hand git still has commits and index: end keeps them' '
	test_repo p && start_ws p gone && commit_in "$ws" && echo staged >"${ws:?}/run.sh" && git -C "$ws" add run.sh && staged=$(git -C "$ws" rev-parse :run.sh) && rm -r "$ws" &&
	git -C p ews clean --older-than 0s >out 2>err && test_grep "stays: gone: changed" err && git -C p ews end gone >out 2>err && test_grep "the workspace was gone" err && is_kept p $commit &&
	git -C p cat-file -e $staged && git -C p ews undo gone && test "$(git -C "$ws" rev-parse HEAD)" = $commit && test "$(git -C "$ws" rev-parse :run.sh)" = $staged && git -C p ews end gone
'

test_expect_success 'P4: a workspace that git moved is named and ends by force alone; what stands in the place of one that is gone goes to trash' '
	start_ws p gm && echo mine >"${ws:?}/mine" && git -C p worktree unlock "$ws" && git -C p worktree move "$ws" ../moved-by-git && test_expect_code 1 git -C p ews end gm 2>err && test_grep "was moved to .*/moved-by-git" err &&
	{ git -C p ews doctor >out || :; } && test_grep "do: git worktree move .*/moved-by-git" out && test_expect_code 1 git -C p ews diff gm 2>err && hint=$(sed -n "s/^hint: it was moved: //p" err) && (cd p && eval "$hint") &&
	git -C p ews diff gm >patch && test_grep "^+mine" patch && rm -r "${ws:?}" && ln -s "$PWD/p" "$ws" && git -C p ews end gm 2>err && test_grep "in trash: gm (stood in" err && test ! -h "$ws" && git -C p ews undo gm && test_path_is_dir "${ws:?}/src" && git -C p ews end gm
'

test_expect_success 'P4: a session whose registration git pruned can end, and come back' '
	start_ws p pruned && commit_in "$ws" && mv "$ws" away && git -C p worktree unlock "$ws" && git -C p worktree prune && mv away "$ws" && test_path_is_missing p/.git/worktrees/pruned &&
	git -C p ews end pruned && test_path_is_missing "$ws" && git -C p ews undo pruned && test_path_is_file "${ws:?}/agent" && git -C "$ws" status >out && git -C p ews end pruned
'

test_expect_success 'P8: of a project that was deleted and is another one since, or was cloned anew, each verb says first that the base is gone, and what ends the session' '
	(SUPERQODE_HOME=$PWD/re-home && export SUPERQODE_HOME && for how in another anew; do
		test_repo re && git clone -q --bare re re.git && start_ws -n tw re of-tree && echo work >"${tw:?}/work" && start_ws -n cw re of-copy --method snapshot && echo work >"${cw:?}/work" && rm -rf re &&
		if test $how = anew; then git clone -q re.git re; else git init -q re && git -C re commit -q --allow-empty -m other; fi && git -C re ews status >status && test_grep ! "git ews recover" status && test_grep "tampered: worktree entry is gone$" status &&
		test_expect_code 1 git -C re ews doctor >doctor && test_grep ! "git ews recover" doctor && test_grep "of-tree.: its base" doctor && for id in of-tree of-copy; do
			test_grep "problem: the base of session .$id. is gone" status && test_grep "git ews end --force $id" doctor && { test $how = anew || { test_grep "do: git ews end --force $id$" doctor && test_grep "$id. is gone, and so is the commit that it began at" status; }; } &&
			test_expect_code 1 git -C re ews recover $id >out 2>err && test_grep "^hint: .git ews end --force $id.\|; .git ews end --force $id. " err && test_grep "the base of session .$id. is gone" err &&
			test_expect_code 1 git -C re ews recover --all --json >json && dir=$(json_where json .not_recovered .session_id "^$id$") && test_grep "base of session .$id. is gone" json && test_expect_code 1 git -C re ews diff $id 2>err && test_grep "^error: the base of session .$id. is gone" err &&
			hint=$(sed -n "s/^hint: .\(git ews end --force $id\). ends it without, and keeps the files.*/\1/p" err) && (cd re && eval "${hint:?}") >out 2>err && kept=$(sed -n "s/^  Kept: //p" out) && git -C re ews snapshot show --files "${kept:?}" >files && test_grep "	work$" files &&
			git -C re ews undo $id && git -C re ews path $id >path && take_ws path && test "$(cat "${ws:?}/work")" = work && git -C re ews end --force $id || exit 1
		done && git -C re ews recover 2>err && test_grep "nothing is interrupted" err && git -C re ews clean --now >out && rm -rf re re.git || exit 1
	done)
'

test_expect_success 'P4: recover writes a registration anew that git pruned, and leaves the files alone' '
	start_ws p lost && echo edit >>"${ws:?}/run.sh" && mv "$ws" away && git -C p worktree unlock "$ws" && git -C p worktree prune && mv away "$ws" && "$EWS_SRC/t/lister" -x .git "$ws" >before &&
	git -C p ews status lost >out && test_grep "worktree entry is gone" out && test_expect_code 1 git -C p ews diff lost 2>err && test_grep "worktree entry. is gone" err && test_grep "^hint: .git ews recover." err && git -C p ews recover >out && test_grep "lost.: its registration was gone and was written anew" out && "$EWS_SRC/t/lister" -x .git "$ws" >after && test_cmp before after &&
	git -C "$ws" status --porcelain >out && echo " M run.sh" >want && test_cmp want out && git -C p worktree list --porcelain >list && test_grep "^locked ews session lost" list && git -C p ews recover >out && test_must_be_empty out &&
	mv "$ws" away && git -C p worktree unlock "$ws" && git -C p worktree prune && mv away "$ws" && echo "gitdir: elsewhere" >"${ws:?}/.git" && git -C p ews recover >out && test_must_be_empty out && test "$(cat "${ws:?}/.git")" = "gitdir: elsewhere" && git -C p ews end lost
'

test_expect_success 'P4: so does recover of the session that is named, whatever is to become of it' '
	for how in "" --resume --json --revert; do
		start_ws p named && echo edit >>"${ws:?}/run.sh" && rm -r p/.git/worktrees/named && git -C p ews recover named $how >out && test_grep "session .named.: its registration was gone and was written anew" out || return 1
		case $how in
		--revert) test_grep "^session .named.: ended" out && test_path_is_missing "$ws" && git -C p ews undo named && test_path_is_dir "$ws" ;;
		*) git -C "$ws" status --porcelain >out && echo " M run.sh" | test_cmp - out && git -C p ews recover named $how 2>err >out && test_grep ! "written anew" out ;;
		esac && git -C p ews end named || return 1
	done
'

test_expect_success 'clean goes by age, a day when none is named; what is changed or in use stays; a dry run says how much' '
	start_ws -n idle p idle && start_ws -n fresh p fresh && start_ws -n changed p changed && echo edit >>"${changed:?}/run.sh" && find "${working:?}/p/sessions/idle" "${working:?}/p/sessions/changed" -exec touch -d "25 hours ago" {} + &&
	git -C p ews clean -n >out 2>err && test_grep "^end	unchanged	idle	[0-9.]* [KMbi]" out && test_line_count = 1 out && test_grep "would be moved to trash" err && test_grep "stays: changed: changed" err && test_path_is_dir "$idle" &&
	git -C p ews clean -n --json >out && test_json out ".ended[0].session_id" idle && test "$(json out ".ended[0].size_bytes")" -gt 100 && git -C p ews clean --auto && test_path_is_dir "$idle" &&
	git -C p ews clean >out 2>err && test_path_is_missing "$idle" && test_path_is_dir "$changed" && test_path_is_dir "$fresh" && git -C p ews undo idle && test_path_is_dir "$idle" &&
	git -C p ews clean --force >out 2>err && test_path_is_missing "$changed" && test_path_is_dir "$fresh" && git -C p ews undo changed && test_grep edit "${changed:?}/run.sh" && git -C p ews end idle fresh changed &&
	git -C p ews clean idle >out 2>err && test_must_be_empty out && test_grep "^note: session .idle. has ended before" err
'

test_expect_success 'P4: entries that lead into this home and are no session'\''s any more go, with what only they name kept in trash' '
	test_repo q && git -C q worktree add -q --lock ../theirs && start_ws q wiped && commit_in "$ws" && start_ws q alone && SUPERQODE_HOME=$PWD/second git -C q ews start other >other && take_ws other &&
	rm -r "${HOME:?}/.superqode/working/q" && git -C q ews clean >out 2>err && test_path_is_dir q/.git/worktrees/wiped && cp -a q/.git/worktrees/wiped q/.git/worktrees/named && find q/.git/worktrees -exec touch -d "2 days ago" {} + &&
	git -C q ews clean -n >out 2>err && test_grep "without session or workspace; its commits and index would be kept	wiped" out && test_path_is_dir q/.git/worktrees/wiped && git -C q ews clean >out 2>err && test_grep "kept as snap-.*	wiped" out && test_grep "alone" out && test_line_count = 2 out &&
	ls q/.git/worktrees >list && printf "named\nother\ntheirs\n" >want && test_cmp want list && test_path_is_dir "$ws" && rm -r q/.git/worktrees/named && is_kept q $commit && git -C q for-each-ref --format="%(refname)" refs/ews/sessions >refs && echo refs/ews/sessions/other >want && test_cmp want refs &&
	git -C q worktree list --porcelain >list && test_grep ! "wiped\|alone" list && start_ws q wiped && git -C q ews end wiped && rm -r second
'

test_expect_success STRACE 'P4: nor does one of which nobody could see whether its session is there' '
	start_ws q hidden && commit_in "$ws" && mv "$ws" hidden && find q/.git/worktrees/hidden -exec touch -d "2 days ago" {} + && record=${working:?}/q/sessions/hidden &&
	test_strace trace -P "$record" -e trace=newfstatat,access,faccessat,faccessat2 -e inject=newfstatat,access,faccessat,faccessat2:error=EIO git -C q ews clean >out 2>err && test_grep "INJECTED" trace && test_grep "Input/output error" err && test_path_is_dir q/.git/worktrees/hidden &&
	mv hidden "$ws" && git -C q ews diff hidden && test "$(git -C "$ws" rev-parse HEAD)" = $commit && git -C q ews end hidden
'

test_expect_success STRACE 'P8: clean --now names what it can not look at just now, and the next one lets go of that' '
	test_repo r && looks=openat,openat2,newfstatat,faccessat,faccessat2 && for path in step state.json ews ews/w; do
		met= && for n in $(test_seq 1 24); do
			start_ws r w && echo new >"${ws:?}/new" && git -C r ews end w --no-artifacts && at=$path && { test $path != step || at=$(cd "${working:?}/r/undo" && echo op-*.json); } &&
			test_strace trace -P "$at" -e trace=$looks -e inject=$looks:error=EIO:when=$n git -C r ews clean --now >out 2>err; code=$?
			{ test_grep INJECTED trace >/dev/null 2>&1 && met=$((met + 1)); } || n=last
			git -C r ews clean --now >rest && case $n,$code in
			last,0) test_must_be_empty rest || return 1 ;;
			*,128) test_grep "^error: .*Input/output error" err || return 1 ;;
			*,0) test_grep "stays: .*Input/output error" err >/dev/null 2>&1 || test_must_be_empty rest || { echo >&2 "$path $n"; return 1; } ;;
			*) return 1 ;;
			esac &&
			test ! -e "r/.git/ews/w" && git -C r for-each-ref refs/ews >refs && test_must_be_empty refs && rm -f "${working:?}"/r/undo/op-*.json || return 1
			test $n != last || break
		done && test "$met" -gt 0 && test $n = last || return 1
	done
'

test_expect_success 'an entry whose workspace stands is named, and stays' '
	start_ws q headless && rm -r "${working:?}/q/sessions/headless" && find q/.git/worktrees/headless -exec touch -d "2 days ago" {} + && git -C q ews clean --force >out 2>err && test_grep "stays: headless: nothing is known of its session; its files are in" err &&
	test_path_is_dir "$ws" && test_path_is_dir q/.git/worktrees/headless
'

test_expect_success 'one whose files were touched just now, or may have been, stays' '
	test_repo touched && start_ws touched touched && rm -r "${working:?}/touched/sessions/touched" "${ws:?}" && entry=touched/.git/worktrees/touched && find $entry -exec touch -d "2 days ago" {} + && touch "${entry:?}/index" && look=0 && while test_more_looks; do
		test_look EIO "worktrees/touched/index$" -C touched clean --force >out 2>err && test_path_is_dir $entry || return 1
	done && test $look -gt 1 && touch -d "2 days ago" "${entry:?}/index" && git -C touched ews clean --force && test_path_is_missing $entry
'

test_expect_success 'temporary files that killed calls of git left go after a day, unless somebody has them open' '
	pack=q/.git/objects/pack && echo 1 >"${pack:?}"/tmp_pack_old && echo 1 >"${pack:?}"/tmp_pack_open && echo 1 >"${pack:?}"/tmp_pack_new && echo 1 >q/.git/objects/tmp_obj_old && echo 1 >"${pack:?}"/keep-me && touch -d "2 days ago" "${pack:?}"/tmp_pack_o* "${pack:?}"/keep-me q/.git/objects/tmp_obj_old &&
	git -C q ews recover && test_path_is_file "${pack:?}"/tmp_pack_old && { sleep 60 >/dev/null 2>&1 3>&- 4>&- 5>&- 7<"${pack:?}"/tmp_pack_open & } && pid=$! && test_when_finished "kill $pid; wait $pid; :" && test_wait_for 20 test -e /proc/"${pid:?}"/fd/7 &&
	git -C q ews clean -n >out 2>err && test_grep "^temporary	2 bytes	2 days	.*/tmp_pack_old$" out && test_path_is_file "${pack:?}"/tmp_pack_old && git -C q ews clean >out 2>err && test_path_is_missing "${pack:?}"/tmp_pack_old && test_path_is_missing q/.git/objects/tmp_obj_old &&
	test_path_is_file "${pack:?}"/tmp_pack_open && test_path_is_file "${pack:?}"/tmp_pack_new && test_path_is_file "${pack:?}"/keep-me && rm "${pack:?}"/tmp_pack_* "${pack:?}"/keep-me
'

test_expect_success 'P4: a project that was moved is known again: sessions, workspaces and trash follow it' '
	test_repo m && mkdir in && start_ws -n wt m wt && echo edit >>"${wt:?}/run.sh" && start_ws -n copy m copy --method snapshot && commit_in "$copy" && start_ws -n apart m apart --in "$PWD/in" && start_ws -n ended m ended && echo edit >>"${ended:?}/run.sh" && git -C m ews end ended &&
	cp -a m mirror && git -C mirror ews status >out 2>err && test_grep "no sessions" err && rm -r mirror/.git/worktrees && mkdir new && mv m new/n && test_must_fail git -C "$wt" ews status 2>err && test_grep "its project is gone" err && test_grep "^hint: where it was moved to" err &&
	git -C mirror ews status >out 2>err && test_grep "no sessions" err && git -C new/n ews list >out 2>err && test_grep "^note: this project was at .*/m.: its sessions have followed" err && test_line_count = 3 out && git -C new/n ews status >out 2>err && test_must_be_empty err && test_grep ! "tampered\|problem\|stale" out &&
	git -C "$wt" status --porcelain >out && echo " M run.sh" >want && test_cmp want out && git -C "$copy" log -1 --format=%s >out && echo agent >want && test_cmp want out && (cd "$apart" && git ews diff && git status --porcelain) >out && test_must_be_empty out &&
	git -C new/n ews undo ended && git -C "$ended" status --porcelain >out && echo " M run.sh" >want && test_cmp want out && git -C new/n ews revert wt >out && test_grep "Status: Verified" out && start_ws new/n later && ls "${working:?}" >list && test_grep ! "^n" list &&
	git -C new/n ews end wt copy apart ended later && git -C new/n ews status --json >out && test_json_count out .sessions 0 && git -C new/n fsck --strict --no-dangling
'

test_expect_success 'P4: one that was moved takes all of its sessions along, or none, where one can not be looked at just now' '
	mkdir far && SUPERQODE_HOME=$PWD/far/home && export SUPERQODE_HOME && test_when_finished unset SUPERQODE_HOME && look=0 && while test_more_looks; do
		p=moves-$look && test_repo $p && start_ws -n one $p one$look && start_ws $p two$look && mv $p "far/m${look:?}" && test_look EIO "sessions/one$look(/state.json)?$|worktrees/one$look$" -C far/m$look list >out 2>err &&
			if test $code = 0 || test $code = 199; then test_line_count = 2 out; else test_must_be_empty out && test_grep "^error: " err; fi &&
			git -C far/m$look ews list >out && test_line_count = 2 out && test_grep ! damaged out && git -C "${one:?}" status && git -C far/m$look ews end one$look two$look || return 1
	done && test $look -gt 3
'

test_expect_success 'P4: a record of a project that is gone, which can not be read, stops no other project' '
	mkdir else && SUPERQODE_HOME=$PWD/else/home && export SUPERQODE_HOME && test_when_finished unset SUPERQODE_HOME && test_repo else/old && start_ws else/old one && start_ws else/old two && rm -r else/old &&
	test_repo else/fresh && test_expect_code 199 test_unread EIO 1 "sessions/one/state.json$" -C else/fresh list && test_repo else/other && start_ws else/other its && mv "${SUPERQODE_HOME:?}/working/other" "$PWD/else/aside" && rm -r else/other/.git/worktrees &&
	look=0 && while test_more_looks; do
		test_look EIO "working/old/sessions/one(/state.json)?$" -C else/other list >out 2>err && test_must_be_empty err && { test $code = 0 || test $code = 199; } || return 1
	done && test $look -gt 2
'

test_expect_success 'P4: a project that was moved takes along what is of its main work tree, and leaves to a linked one what is of that' '
	test_repo lm && git -C lm worktree add -q -b w ../lm-w && (cd lm-w && git ews start --method in-place ip) && echo agent >>lm-w/run.sh && mv lm lm2 && git -C lm2 worktree repair ../lm-w && echo mine >>lm2/run.sh && cp lm2/run.sh mine && git -C lm2 ews list >out 2>err && test_grep "^note: this project was at .*/lm" err && test_grep "^ip *active " out && test_grep ! damaged out &&
	for verb in revert end; do
		test_expect_code 128 git -C lm2 ews $verb ip >out 2>err && test_grep "works in another work tree itself: .$PWD/lm-w" err || return 1
	done && test_cmp mine lm2/run.sh && git -C lm-w ews end ip && git -C lm-w status --porcelain >out && test_must_be_empty out && test_cmp mine lm2/run.sh &&
	test_repo mm && git -C mm worktree add -q -b w ../mm-w && (cd mm-w && git ews snapshot create) && (cd mm && git ews start --method in-place main) && echo agent >>mm/run.sh && mv mm mm2 && git -C mm2 worktree repair ../mm-w && git -C mm2 ews list >out 2>err && test_grep "^main *active " out && git -C mm2 ews end main && git -C mm2 status --porcelain >out && test_must_be_empty out &&
	test_repo ms && git -C ms worktree add -q -b w ../ms-w && (cd ms-w && git ews snapshot create) && start_ws ms side && mv ms ms2 && git -C ms2 worktree repair ../ms-w && git -C ms2 ews list && (cd "${ws:?}" && git ews end) 2>err && test_grep "in trash now: cd .*/ms2" err
'

test_expect_success 'P4: a project that was moved is said to have been where it was, not where a linked worktree is or was' '
	for r in stays roams; do
		test_repo $r && git -C $r worktree add -q -b w ../$r-w && at=$r-w && start_ws $at by-linked && { test $r = stays || { git -C $r worktree move ../$at ../$r-m && at=$r-m; }; } && mv $r $r-2 && git -C $r-2 worktree repair ../$at && git -C $r-2 ews list >out 2>err && test_grep "^by-linked" out && test_grep "^note: this project was at .$PWD/${r:?}/.git.: its sessions have followed$" err && git -C $r-2 ews end by-linked || return 1
	done
'

test_expect_success 'P4: a repository that was moved is known again in a linked worktree, too, whatever is called there first' '
	test_repo whole && git clone -q --bare whole whole-bare && for r in whole whole-bare; do
		git -C $r worktree add -q -b w ../$r-w && start_ws -n own $r own && start_ws $r-w of-linked && echo work >>"${own:?}/run.sh" && mv $r $r-2 && git -C $r-2 worktree repair ../$r-w && git -C $r-w ews start late >out 2>err && test_grep "^note: this project was at .$PWD/$r.: its sessions have followed" err && git -C $r-w ews list >out 2>err && test_must_be_empty err && test_line_count = 3 out && git -C $r-2 ews list >again && sed -i "s/ [0-9]* seconds* */ /" out again && test_cmp out again &&
		git -C "$own" status --porcelain >out && echo " M run.sh" | test_cmp - out && git -C $r-2 ews doctor >out && test_grep ! "^problem" out && git -C $r-w ews status >out && test_grep ! "problem\|stale" out && git -C $r-w ews end late of-linked own || return 1
	done
'

test_expect_success 'a project that was moved while a command runs in a session, or while it was worked on in place' '
	start_ws new/n busy && { git -C new/n ews run busy --keep -- sh -c ": >began; exec sleep 60" >run.out 2>&1 3>&- 4>&- 5>&- & } && pid=$! && test_when_finished "kill $pid; wait $pid; :" && test_wait_for 10 test -e "${ws:?}/began" && mv new/n n2 &&
	test_expect_code 1 git -C n2 ews status 2>err && test_grep "a command runs in session .busy" err && kill $pid && { wait $pid || :; } && git -C n2 ews list >out 2>err && test_grep "^busy" out && git -C n2 ews recover --all && git -C n2 ews end busy &&
	git -C n2 ews start --method in-place ip && echo edit >>n2/run.sh && mv n2 n3 && git -C n3 ews status --json >out && test_json out ".sessions[0].path" "$PWD/n3" && git -C n3 ews end ip && git -C n3 diff --quiet
'

test_expect_success 'P4: while a command runs in a session none follows a project that was moved: once that is back all is as it was' '
	for how in worktree snapshot in-place; do
		r=idle-$how && test_repo $r && git -C $r worktree add -q -b w ../$r-w && if test $how = in-place; then a=$r && git -C $r ews start --method in-place a && git -C $r ews lock release a; else start_ws -n a $r a --method $how; fi && echo agent >>"${a:?}/run.sh" && start_ws -n busy $r-w z &&
		{ git -C $r-w ews run z --keep -- sh -c ": >began; exec sleep 60" >run.out 2>&1 3>&- 4>&- 5>&- & } && pid=$! && test_when_finished "kill $pid; wait $pid; :" && test_wait_for 10 test -e "${busy:?}/began" &&
		mv $r $r-m && test_expect_code 1 git -C $r-m ews status 2>err && test_grep "a command runs in session .z." err && mv $r-m $r && git -C $r ews status >out 2>err && test_must_be_empty err && test_grep ! "tampered\|problem" out && git -C $r ews diff a >patch && test_grep "^+agent" patch && git -C $r ews revert a >out && test_grep "Status: Verified" out && kill $pid && { wait $pid || :; } || { echo >&2 $how; return 1; }
	done
'

# half_follows <n> <project>: its sessions do, but for the call's being killed before its <n>th record, if it has so many
half_follows() {
	code=0 && { killat -c "^rename" "$1" git-ews -C "$2" status >out 2>err || code=$?; } && test "$code" = 137 -o "$code" = 199
}

# have_followed <project> <id>...: all of them have, and what is in them is theirs
have_followed() {
	at=$1 && shift && git -C "$at" ews status >out 2>err && cat err >>out && test_grep ! "tampered\|problem\|stale" out && for id in "$@"; do git -C "$at" ews diff "$id" >"patch" && test_grep "^+agent" patch || return 1; done
}

# follow_part <project> <id>...: one whose sessions had followed it in part when that was killed takes them along when it is moved back, on, or both in turn and killed again
follow_part() {
	p=$1 && shift && for way in $p $p-2 "$p $p-2"; do
		n=1 && while mv "$p" "$p-1" && half_follows "$n" "$p-1" && test "$code" = 137; do
			at="$p-1" && for next in $way; do mv "$at" "$next" && at=$next && { test "$way" = "$next" || half_follows "$n" "$next"; } || return 1; done &&
			have_followed "$at" "$@" && { test "$at" = "$p" || mv "$at" "$p"; } && have_followed "$p" "$@" && test_grep ! moves_to "${working:?}/${p:?}/project.json" || { echo >&2 "killed at $n, then to $way"; return 1; }
			n=$((n + 1))
		done && test "$n" -gt 4 && mv "$p-1" "$p" && have_followed "$p" "$@" || return 1
	done
}

test_expect_success !VALGRIND 'P4: a project that was moved, and is moved back or on before all of its sessions have followed, takes all of them along' '
	test_repo part && start_ws -n wt part wt && start_ws -n copy part copy --method snapshot && start_ws -n ended part ended && for in in "$wt" "$copy" "$ended"; do echo agent >>"${in:?}/run.sh" || return 1; done && git -C part ews end ended && follow_part part wt copy && git -C part ews undo ended && git -C "$ended" status --porcelain -uno >out && echo " M run.sh" >want && test_cmp want out &&
	git -C "$wt" status --porcelain -uno >out && test_cmp want out && git -C part ews end wt copy ended && git -C part ews doctor >out && test_grep ! "^problem" out && test_repo parted && git -C parted ews start --method in-place ip && echo agent >>parted/run.sh && follow_part parted ip && git -C parted ews end ip >out && test_grep "Status: Verified" out && git -C parted diff --exit-code
'

# leave <how>: what is called <how> moves, and something in its old place leads to where it is since
leave() {
	case $1 in
	link) mkdir far-link && mv link far-link && ln -s far-link/link link ;;
	git-link) mv git-link/.git git-link.git && ln -s ../git-link.git git-link/.git ;;
	separate) git -C separate init -q --separate-git-dir "$PWD/separate.git" ;;
	super/sub) git -C super submodule --quiet absorbgitdirs ;;
	esac
}

# git keeps a submodule with linked worktrees where it is
test_expect_success 'P4: a project that moved, and left a link or a file in its old place, is known again: by itself, from a linked worktree, and by --all' '
	test_repo super && (cd super && git rm -q -r --cached .) && test_repo super/sub && (cd super && git config -f .gitmodules submodule.sub.path sub && git config -f .gitmodules submodule.sub.url ./sub && git add -f .gitmodules sub 2>/dev/null && git commit -q -m sub) && for r in link git-link separate; do test_repo $r && git -C $r worktree add -q --detach "$PWD/by-$r" || return 1; done &&
	for r in link git-link separate super/sub; do
		n=${r##*/} && { test $r = super/sub || { start_ws -n wt $r wt-$n && echo edit >>"${wt:?}/run.sh"; }; } && start_ws -n copy $r copy-$n --method snapshot && commit_in "$copy" && start_ws -n ended $r ended-$n --method snapshot && echo edit >>"${ended:?}/run.sh" && git -C $r ews end ended-$n && cp -a $r mirror-$n && leave $r &&
		test_must_fail git -C "$copy" ews diff 2>err && test_grep "its project stands elsewhere now" err && test_grep "^hint: .git ews status. in .*lets its sessions follow" err && git -C mirror-$n ews status >out 2>err && test_grep "no sessions" err &&
		case $r in link) at=$r && (cd / && git ews status --all) ;; git-link) at=$r && (cd / && git ews clean --all -n) ;; separate) at=by-$r && git -C $at ews start late && git -C $at ews end late ;; *) at=$r && git -C $at ews list ;; esac >out 2>err && test_grep "^note: this project was at .*: its sessions have followed" err && test_grep ! "not looked\|not cleaned" err &&
		git -C $r ews list >out 2>err && test_must_be_empty err && test_grep "^copy-$n " out && git -C $at ews list >out && test_grep "^copy-$n " out && git -C "$copy" log -1 --format=%s >out && echo agent >want && test_cmp want out && git -C "$copy" ews diff >patch && test_grep "^+agent" patch &&
		git -C $r ews undo ended-$n && git -C "$ended" status --porcelain >out && echo " M run.sh" >want && test_cmp want out && { test $r = super/sub || { git -C "$wt" status --porcelain >out && test_cmp want out && git -C $r ews revert wt-$n >out && test_grep "Status: Verified" out; }; } &&
		git -C $r ews doctor >out && test_grep "^ok *registrations" out && test_grep "^ok *refs" out && git -C $r ews status >out && test_grep ! "tampered\|problem\|stale" out && git -C $r ews end $(git -C $r ews list | sed "s/ .*//") && git -C $r fsck --strict --no-dangling || { echo "$r" && cat out err && return 1; }
	done
'

test_expect_success 'what stands in the place of a project and is another repository gets none of its sessions, and is not taken for it' '
	test_repo was && start_ws -n left was left && test_repo others && start_ws others theirs && rm -r was && ln -s others was && git -C was ews list >out 2>err && test_must_be_empty err && test_grep "^theirs" out && test_line_count = 1 out &&
	(cd / && git ews status --all) >out 2>err && test_grep "^warning: not looked at: .*/was (another repository is there now, at .*/others/.git.)" err && (cd / && git ews clean --all --force --now) >out 2>err && test_grep "not cleaned: .*/was" err && test_path_is_dir "$left" && rm was && git -C others ews end theirs && (cd / && git ews clean --all --force --now) && test_path_is_missing "$left"
'

# not every file system knows when a file was made
mkdir born && test "$(stat -c %W born)" -gt 0 && test_set_prereq BIRTH

test_expect_success BIRTH 'P4: a plain directory that was moved is known again, for its sessions, trash and in-place ones; a copy of it is not' '
	mkdir -p pd/sub far && echo 1 >pd/f && start_ws -n went pd went && echo 2 >>"${went:?}/f" && git -C pd ews end went && start_ws pd live && echo 2 >>"${ws:?}/f" && cp -a pd pd-copy && test_expect_code 128 git -C pd-copy ews status && mv pd far/pd2 &&
	for where in pd-copy far; do test_expect_code 128 git -C "$where" ews status 2>err && test_grep "in no directory that had a session" err || return 1; done &&
	(cd far/pd2/sub && git ews list) >out 2>err && test_grep "^note: this project was at .*/pd.: its sessions have followed" err && test_grep "^live" out && git -C far/pd2 ews status >out 2>err && cat err >>out && test_grep ! "tampered\|problem\|stale\|note: this" out &&
	git -C far/pd2 ews diff live >patch && test_grep "^+2" patch && git -C far/pd2 ews undo went && test_grep 2 "${went:?}/f" && git -C far/pd2 ews revert live >out && test_grep "Status: Verified" out && git -C far/pd2 ews end went live && git -C far/pd2 ews snapshot verify --all &&
	git -C far/pd2 ews start --method in-place here && echo 3 >>far/pd2/f && mv far/pd2 pd && git -C pd ews status --json >out && test_json out ".sessions[0].path" "$PWD/pd" && git -C pd ews end here && echo 1 >want && test_cmp want pd/f
'

test_expect_success BIRTH 'P4: a plain directory that was moved, and left a link in its old place, is known again' '
	mkdir pl-link far-pl && echo 1 >pl-link/f && start_ws pl-link live && echo 2 >>"${ws:?}/f" && mv pl-link far-pl && ln -s far-pl/pl-link pl-link && git -C pl-link ews list >out 2>err && test_grep "^note: this project was at .*/pl-link.: its sessions have followed" err && test_grep "^live" out &&
	git -C far-pl/pl-link ews diff live >patch && test_grep "^+2" patch && git -C pl-link ews end live && rm pl-link
'

test_expect_success BIRTH 'P4: a plain directory is not followed while a command runs in one of its sessions' '
	start_ws pd busy && { git -C pd ews run busy --keep -- sh -c ": >began; exec sleep 60" >run.out 2>&1 3>&- 4>&- 5>&- & } && pid=$! && test_when_finished "kill $pid; wait $pid; :" && test_wait_for 10 test -e "${ws:?}/began" && mv pd pd3 &&
	test_expect_code 1 git -C pd3 ews status 2>err && test_grep "busy. is held there" err && look=0 && while test_more_looks; do
		test_look EIO "/working/pd(/locks(/[^/]*)?)?$" -C pd3 status >out 2>err && test $code != 0 || return 1
	done && kill $pid && { wait $pid || :; } && git -C pd3 ews recover --all && git -C pd3 ews end busy && mv pd3 pd && git -C pd ews status
'

# put_there <dir> <away>: it moves, and somebody else's directory takes its place
put_there() {
	mkdir -p "$2" && mv "$1" "${2:?}/" && mkdir "$1" && echo theirs >"${1:?}/theirs"
}

test_expect_success BIRTH 'P1: a plain directory that another took the place of: the other is none of its sessions, and it is known where it stands now' '
	mkdir took && echo 1 >took/f && git -C took ews start --method in-place here && echo 2 >>took/f && put_there took taken && git -C took ews list >out 2>err && test_grep "^here *active" out && test_grep "^warning: .*/took. was made anew.*--moved-from .*/took.$" err &&
	for verb in "end here" "revert here" "diff here" "snapshot create here" "start more"; do test_expect_code 1 git -C took ews $verb >out 2>err && test_must_be_empty out && test_grep "^hint: .*--moved-from .*/took" err || { echo >&2 "$verb"; return 1; }; done &&
	ls -A took >out && echo theirs | test_cmp - out && git -C taken/took ews diff here >patch 2>err && test_grep "^+2" patch && test_grep "^note: this project was at .*/took.: its sessions have followed" err && git -C taken/took ews list >out 2>err && test_must_be_empty err && test_grep "$PWD/taken/took$" out &&
	test_expect_code 128 git -C took ews list && git -C took ews start own && git -C took ews end own && git -C taken/took ews end here && echo 1 >want && test_cmp want taken/took/f && ls -A took >out && echo theirs | test_cmp - out
'

# swap <one> <other>
swap() {
	mv "$1" swapping && mv "$2" "$1" && mv swapping "$2"
}

# has_its_own <dir> <content>: the sessions of what is there now are those that it had, and end so
has_its_own() {
	# shellcheck disable=SC2283 # it compares
	git -C "$1" ews list >out 2>err && test_line_count = 1 out && test_grep "^i$2 .*/$1\$" out && git -C "$1" ews diff "i$2" >"patch" && test_grep "^+new" patch
}

test_expect_success BIRTH 'P1, P4: plain directories that swapped names have their sessions each, and when they have swapped back' '
	for n in one two; do mkdir pl-$n && echo $n >"pl-${n:?}/f" && git -C pl-$n ews start --method in-place i$n && echo new >"pl-${n:?}/new" || return 1; done && swap pl-one pl-two && has_its_own pl-one two && test_grep "^note: this project was at .*/pl-two" err && has_its_own pl-two one && swap pl-one pl-two && has_its_own pl-two two && has_its_own pl-one one &&
	swap pl-one pl-two && (cd / && git ews status --all) >out 2>err && has_its_own pl-two one && (cd / && { git ews doctor || :; }) >out && has_its_own pl-one two && swap pl-one pl-two && git -C pl-one ews list && (cd / && git ews status --all) >out 2>err && test_grep "not looked at: .*pl-one.*--moved-from" err && has_its_own pl-two two && has_its_own pl-one one &&
	for n in one two; do git -C pl-$n ews end i$n && echo $n >want && test_cmp want "pl-${n:?}/f" && test_path_is_missing "pl-${n:?}/new" || return 1; done && git -C pl-one ews snapshot verify --all && git -C pl-two ews snapshot verify --all
'

test_expect_success BIRTH,STRACE 'P1: likewise where the call that saw it first was killed' '
	for when in 1 2 3 4 5 6 7 8 9; do
		for n in one two; do rm -rf "pl-${n:?}" && mkdir pl-$n && echo $n >"pl-${n:?}/f" && git -C pl-$n ews start --method in-place i$n && echo new >"pl-${n:?}/new" || return 1; done && swap pl-one pl-two && { test_strace trace -e trace=renameat,renameat2 -e inject=renameat,renameat2:signal=KILL:when=$when git -C pl-one ews list >out 2>&1 || :; } &&
		has_its_own pl-one two && has_its_own pl-two one && git -C pl-one ews end itwo && git -C pl-two ews end ione && echo two >want && test_cmp want pl-one/f || { echo >&2 "killed at $when"; return 1; }
	done
'

# anew <dir>: as from a backup
anew() {
	cp -a "$1" backup && rm -rf "${1:?}" && mv backup "$1"
}

# waits <dir> <verb>...: each of these says that it was made anew, and leaves it as it is
waits() {
	# shellcheck disable=SC2086 # many words
	dir=$1 && shift && anew "$dir" && cp "${dir:?}/f" mine && for verb; do test_expect_code 1 git -C "$dir" ews $verb >out 2>err && test_grep "^warning: .*/$dir. was made anew since its sessions began" err && test_grep "^hint: .*--moved-from .*/$dir" err && test_cmp mine "${dir:?}/f" || { echo >&2 "$verb"; return 1; }; done
}

test_expect_success BIRTH 'P1, P8: a plain directory that was made anew: that is said, and nothing is put into it until it is said to be the same; then it is followed, too' '
	mkdir anew-1 && echo 1 >anew-1/f && start_ws anew-1 copy && echo 2 >>"${ws:?}/f" && git -C anew-1 ews apply copy && snap=$(git -C anew-1 ews snapshot create) && echo 3 >>anew-1/f && waits anew-1 undo "apply --force copy" "snapshot restore --force $snap" "start more" && git -C anew-1 ews diff copy >out 2>err && test_grep "^+2" out && git -C anew-1 ews undo --dry-run &&
	git -C anew-1 ews recover --moved-from . 2>err && test_grep ! "made anew" err && git -C anew-1 ews snapshot restore --force "$snap" 2>err && test_grep ! "made anew" err && git -C anew-1 ews undo && test_cmp mine anew-1/f && mv anew-1 anew-2 && git -C anew-2 ews list 2>err && test_grep "^note: this project was at .*/anew-1.: its sessions have followed" err && git -C anew-2 ews end copy &&
	git -C anew-2 ews start --method in-place here && echo 4 >>anew-2/f && waits anew-2 "end here" "revert here" "snapshot create here" "diff here" && git -C anew-2 ews recover --moved-from "$PWD/anew-2" && git -C anew-2 ews end here && sed "\$d" mine >want && test_cmp want anew-2/f && git -C anew-2 ews undo here && git -C anew-2 ews undo here && test_cmp mine anew-2/f && git -C anew-2 ews end here &&
	anew anew-2 && git -C anew-2 ews list 2>err && test_must_be_empty err && git -C anew-2 ews start again && mv anew-2 anew-3 && git -C anew-3 ews end again
'

test_expect_success BIRTH 'P1: where it cannot be read just now whether a plain directory was made anew, nothing is put into it' '
	mkdir unread && echo 1 >unread/f && start_ws unread copy && echo 2 >>"${ws:?}/f" && anew unread && cp unread/f mine &&
	for n in $(test_seq 1 14); do
		code=0 && { test_unread EIO $n "working/unread/project.json" -C unread apply copy >out 2>err || code=$?; } && cat err >>all && test "$code" = 1 -o "$code" = 128 && test_cmp mine unread/f || { echo >&2 "look $n: $code"; return 1; }
	done && test_grep "^error: .*project.json.*Input/output error" all && git -C unread ews recover --moved-from . && git -C unread ews end copy
'

test_expect_success BIRTH 'P4: of a session in place whose directory was made anew, --force ends the record alone' '
	mkdir forced && echo 1 >forced/f && git -C forced ews start --method in-place f && echo 2 >>forced/f && anew forced && cp forced/f mine && git -C forced ews end --force f && test_cmp mine forced/f && git -C forced ews start --method in-place f2 && git -C forced ews end f2 && test_cmp mine forced/f
'

test_expect_success BIRTH 'P5: what is kept of the sessions of a plain directory that was made anew is not written into that' '
	mkdir written && echo 1 >written/f && start_ws written copy && echo 2 >>"${ws:?}/f" && anew written && echo x >note && find written >want &&
	for verb in "1 report" "1 end" "125 run" "1 artifact add --type log ../note"; do
		code=${verb%% *} && verb=${verb#* } && case $verb in run) verb="run copy -- true" ;; report | end) verb="$verb copy" ;; esac &&
		test_expect_code "$code" git -C written ews $verb >out 2>err && test_grep "^error: .*/written. was made anew since its sessions began" err && find written >out && test_cmp want out || { echo >&2 "$verb"; return 1; }
	done && git -C written ews end --no-artifacts copy && find written >out && test_cmp want out
'

test_expect_success BIRTH 'P8: a look from another directory in its place makes none of its sessions stale' '
	mkdir seen && echo 1 >seen/f && start_ws seen copy && echo 2 >>"${ws:?}/f" && mv seen seen-away && mkdir seen && echo other >seen/f &&
	git -C seen ews status >out 2>err && test_grep "1 file (+1" out && test_grep "problem: .*/seen. was made anew" out && git -C seen ews diff >out 2>err && test_grep "can.t be told: .*/seen. was made anew" err && test_expect_code 1 git -C seen ews epoch && test_expect_code 1 git -C seen ews epoch bump &&
	git -C seen-away ews epoch check copy >out && echo current >want && test_cmp want out && git -C seen-away ews end --no-artifacts copy
'

test_expect_success BIRTH 'start says that it takes over what the sessions of the former directory left, once' '
	mkdir former && echo mine >former/f && start_ws former first && echo theirs >"${ws:?}/f" && git -C former ews apply first && git -C former ews end first && mv former former-away && mkdir former && echo other >former/f &&
	git -C former ews start second >out 2>err && test_grep "^note: .*/former. was made anew since its sessions before this one: .*git ews undo" err && git -C former ews undo --list >out && test_grep "apply" out &&
	git -C former ews start third >out 2>err && test_grep ! "made anew" err && git -C former ews end --no-artifacts second && git -C former ews end --no-artifacts third
'

# replaced <dir> <option>: another directory is put there while a command runs in place
replaced() {
	mkdir "$1" && echo 1 >"${1:?}/f" && { git -C "$1" ews run --method in-place "$2" -- sh -c "echo 2 >f; until test -e go; do sleep 0.1; done" >out 2>err 3>&- 4>&- 5>&- & } && pid=$! &&
		test_wait_for 20 grep -q 2 "${1:?}/f" && mv "$1" "$1-away" && mkdir "$1" && echo other >"${1:?}/f" && echo precious >"${1:?}/precious" && : >"${1:?}-away/go" && test_expect_code 125 wait "$pid" && rm "${1:?}-away/go"
}

test_expect_success BIRTH 'P4, P5: in place, and another directory is put there while a command runs: nothing is put into that or taken from it, and the session stays with its own' '
	for end in --end --keep; do
		replaced "late$end" $end && test_grep "^error: the work tree of session .* is out of reach" err && { git -C "late$end" ews undo || :; } && ls -A "late$end" >out && printf "f\nprecious\n" >want && test_cmp want out && echo other >want && test_cmp want "late${end:?}/f" &&
			git -C "late$end-away" ews list 2>err && test_grep "^note: this project was at .*/late$end.: its sessions have followed" err && echo 2 >want && test_cmp want "late${end:?}-away/f" && git -C "late$end-away" ews end && echo 1 >want && test_cmp want "late${end:?}-away/f" || { echo >&2 "$end"; return 1; }
	done
'

test_expect_success 'P4: one that was moved so that nothing tells is named, with the command that lets its sessions follow' '
	mkdir -p away/pl pl && echo 1 >pl/f && start_ws pl kept && echo 2 >>"${ws:?}/f" && cp -a pl/f away/pl && rm -r pl && test_expect_code 128 git -C away/pl ews status 2>err && test_grep "^hint: .*/pl. had, and is gone. .*git ews recover --moved-from .*/pl.$" err &&
	(cd / && git ews status --all) >out 2>err && test_grep "not looked at: .*git ews recover --moved-from .*/pl." err && test_grep "1 file (+1" out && test_grep "problem: its project is gone: .*/pl.$" out && test_grep ! "tampered\|stale" out &&
	(cd "$ws" && git ews diff >"$HOME/patch" 2>"$HOME/err" && git ews revert && git ews undo && ls -A) >out && test_grep "^+2" "${HOME:?}/patch" && test_grep "^f" out && test_grep ! "^.git$" out && { (cd / && git ews doctor) >out || :; } && test_grep "warning  moved  .*/pl. is gone" out &&
	test_expect_code 128 git -C away/pl ews recover --moved-from ../nothing 2>err && test_grep "no plain directory that is gone was at" err && test_expect_code 128 git -C p ews recover --moved-from ../pl 2>err && test_grep "is a project of its own" err && test_grep "^hint: .*git ews list" err &&
	git -C away/pl ews recover --moved-from ../../pl 2>err && test_grep "this project was at .*/pl.: its sessions have followed" err && git -C away/pl ews diff kept >patch && test_grep "^+2" patch && git -C away/pl ews end kept && test_expect_code 128 git -C away/pl ews recover --moved-from ../../pl
'

test_expect_success 'status --all and clean --all: from anywhere; a project that is gone or broken is named and keeps nobody from the others' '
	SUPERQODE_HOME=$PWD/everywhere && working=${SUPERQODE_HOME:?}/working && export SUPERQODE_HOME && test_when_finished "unset SUPERQODE_HOME; working=\$HOME/.superqode/working" && test_repo gone && test_repo broken && start_ws -n gw gone theirs && start_ws broken unread && start_ws -n here p here && rm -r gone && echo "{" >"${working:?}/broken/project.json" && (cd / && git ews status --all) >out 2>err && test_grep "^  here *active" out && test_grep "^  theirs *orphaned" out &&
	test_grep "problem: its project is gone: .*/gone" out && test_grep "^warning: not looked at: .*/working/broken" err && test_grep "^warning: not looked at: .*/gone" err && (cd / && git ews status --all --json) >out 2>err && test_must_be_empty err && test_json out ".sessions[0].state" orphaned && test_json_count out .problems 2 &&
	(cd / && git ews list --all) >out 2>err && test_grep "^theirs *orphaned" out && for how in "" --force --now "--force --now -n" "--force --now --older-than 1h"; do (cd / && git ews clean --all $how) >out 2>err && test_path_is_dir "$gw" && test_path_is_dir "${working:?}/gone" || return 1; done && test_grep "stays: theirs: " err &&
	{ (cd "$gw" && exec sleep 60) >/dev/null 2>&1 3>&- 4>&- 5>&- & } && pid=$! && test_when_finished "kill $pid; wait $pid; :" && test_wait_for 20 test "$gw" -ef /proc/"${pid:?}"/cwd && (cd / && git ews clean --all --force --now) >out 2>err && test_grep "stays: theirs: .* in use by" err && test_path_is_dir "$gw" &&
	{ ! test_have_prereq STRACE || { log=$PWD/trace && (cd / && test_strace "$log" -P /proc -e trace=openat -e inject=openat:error=EMFILE "$EWS_BIN/git-ews" clean --all --force --now) >out 2>err && test_grep INJECTED trace && test_grep "stays: theirs: .* may be in use: " err && test_path_is_dir "$gw"; }; } &&
	kill $pid && { wait $pid || :; } && (cd / && git ews clean --all --force --now) >out 2>err && test_grep "for good; its project is gone	theirs" out && test_path_is_missing "${working:?}/gone" && test_path_is_dir "${working:?}/broken" && (cd / && git ews clean --all --json) >out && test_json_count out .problems 1
'

# deep <command>...: run it in the workspace, farther down than a path can say; ./sleep is there
deep() {
	name=$(printf "%0200d" 0) && mkdir top && cp "$(command -v sleep)" top/sleep && for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23; do
		mkdir above && mv top above/"$name" && mv above top && set -- env -C "$name" "$@" || return 1
	done && mv top "${ws:?}"/top && cd "${ws:?}"/top && exec "$@"
}

test_expect_success 'P4: a program that stands deeper in a workspace than a path can say uses it all the same, and no other' '
	start_ws p shallow && start_ws p deep && for program in sleep ./sleep; do
		{ (deep $program 60) >/dev/null 2>&1 3>&- 4>&- 5>&- & } && pid=$! && test_when_finished "kill $pid 2>/dev/null; wait $pid; :" && test_wait_for 20 sh -c "tr -d \"\\0\" </proc/${pid:?}/cmdline | grep -q \"^${program}60\"" &&
		test_must_fail readlink /proc/"${pid:?}"/cwd && test_expect_code 1 git -C p ews end deep 2>err && test_grep "in use by sleep ($pid)" err && git -C p ews end shallow && git -C p ews undo shallow && kill $pid && { wait $pid || :; } && rm -r "${ws:?}"/top || return 1
	done && git -C p ews end deep
'

test_expect_success 'P4: a session whose base is gone with its repository ends by force, and all of it is kept' '
	git clone -q q q2 && start_ws q2 cut && echo mine >"${ws:?}/mine" && rm -rf q2 && git clone -q q q2 && test_expect_code 1 git -C q2 ews end cut 2>err && test_grep "end --force cut" err && test_expect_code 1 git -C q2 ews recover 2>err && test_grep "end --force cut" err &&
	git -C q2 ews clean cut --force >out && test_grep "^end	changed	cut" out && test_path_is_missing "$ws" && git -C q2 grep -q mine "$(git -C q2 for-each-ref --format="%(objectname)" refs/ews/trash)" -- mine && git -C q2 ews undo cut && test_grep mine "${ws:?}/mine"
'

test_expect_success 'P4: so does one in place: the project is left as it is, and all of it is kept' '
	for how in "git update-ref -d refs/ews/sessions/cut" "rm -rf .git && git init -q"; do
		for verb in "end --force" "end --force --no-artifacts" "clean --force"; do
			rm -rf q3 && git clone -q q q3 && git -C q3 ews start --method in-place cut && echo mine >q3/mine && (cd q3 && eval "$how") && for without in "" --no-artifacts; do
				test_expect_code 1 git -C q3 ews end $without cut 2>err && test_grep "the base of session .cut. is gone" err && test_grep "^hint: .*end --force cut. ends it without" err || return 1
			done && git -C q3 ews $verb cut 2>err && { test "$verb" = "clean --force" || test_grep "^note: its base was gone: the project is left as it is, and all of it is kept" err; } &&
				echo mine >want && test_cmp want q3/mine && git -C q3 grep -q mine "$(git -C q3 for-each-ref --format="%(objectname)" refs/ews/trash)" -- mine && git -C q3 ews list >out && test_must_be_empty out &&
				git -C q3 ews undo cut && git -C q3 ews list >out && test_grep "^cut " out && git -C q3 ews end --force cut && test_cmp want q3/mine || { echo >&2 "$how: $verb"; return 1; }
		done
	done
'

test_expect_success 'each verb that meets an interrupted session prints the block; one that would change it exits 1' '
	start_ws p int && echo first >>"${ws:?}/run.sh" && git -C p ews revert int >out 2>err && echo edit >>"${ws:?}/run.sh" && snap=$(git -C p ews snapshot create int) && interrupt_revert p int && files=$("$EWS_SRC/t/lister" "$ws") &&
	for verb in "snapshot create int" "snapshot restore $snap int" "revert int" "revert -n int" "end int" "apply int" "undo" "clean int" "artifact collect int" "recover int"; do test_expect_code 1 git -C p ews $verb >out 2>err </dev/null && test_grep "Incomplete session" err && test_must_be_empty out || return 1; done &&
	for verb in "run int -- true" "shell int"; do test_expect_code 125 git -C p ews $verb >out 2>err </dev/null && test_grep "Incomplete session" err || return 1; done && test "$files" = "$("$EWS_SRC/t/lister" "$ws")" &&
	for verb in "diff int" status "status int" "path int" "report int" "recover int --view"; do git -C p ews $verb >out 2>err || return 1; done && for verb in "diff int" status "path int"; do git -C p ews $verb >out 2>err && test_grep "^  Session: int$" err || return 1; done
'

test_expect_success 'recover asks on a terminal: view, and then resume; revert and discard; or nothing' '
	answer() { printf "$1" | script -qec "git -C p ews recover int" /dev/null >got; } && test_expect_code 1 answer "4\n" && test_grep "left as it is" got && test_expect_code 1 git -C p ews end int 2>err && answer "3\n1\n" && test_grep "1. Resume session" got && test_grep "run.sh *|" got && test_path_is_dir "$ws" && test_grep ! edit "${ws:?}/run.sh" &&
	git -C p ews diff int >out 2>err && test_must_be_empty err && interrupt_revert p int && answer "2\n" && test_path_is_missing "$ws" && git -C p ews undo int && git -C p ews end int
'

test_expect_success 'P4: undo goes over no session whose owner died: what its command left may be half done' '
	start_ws p dead && echo one >>"${ws:?}/run.sh" && git -C p ews revert dead && { git -C p ews run dead -- sh -c "echo two >run.sh; echo \$\$ >ready; exec sleep 60" >/dev/null 2>&1 3>&- 4>&- 5>&- & } && pid=$! && test_wait_for 20 test -s "${ws:?}/ready" && command=$(cat "${ws:?}/ready") && test_when_finished "kill -9 $command || :" &&
	git -C p ews status --json dead >out && kill -9 "$(json out ".sessions[0].owner.pid")" && test_expect_code 137 wait $pid && kill -9 "$command" && test_wait_for 20 eval "! readlink /proc/${command:?}/cwd" && files=$("$EWS_SRC/t/lister" "$ws") &&
	for verb in "undo" "undo dead"; do test_expect_code 1 git -C p ews $verb >out 2>err && test_grep "^error: session .dead. is interrupted" err && test_grep "Incomplete session" err && test_must_be_empty out || return 1; done && test "$files" = "$("$EWS_SRC/t/lister" "$ws")" &&
	git -C p ews recover --all && git -C p ews undo dead && test_grep "^one$" "${ws:?}/run.sh" && git -C p ews end dead
'

# size_of_dir <file>: of the directory in trash; the session's own below .git is as old or a second older
size_of_dir() {
	json_where "$1" .freed .path "/trash/op-" >dir && json "$1" "$(cat dir).size_bytes"
}

test_expect_success 'what goes is said to be as large as it was said to be beforehand' '
	test_repo sized && start_ws sized sized && mkdir -p "${ws:?}/new/deep" && head -c 300000 /dev/zero >"${ws:?}/new/deep/file" && ln "${ws:?}/new/deep/file" "${ws:?}/new/again" && ln -s file "${ws:?}/new/link" && git -C sized ews end sized &&
	git -C sized ews clean --now -n --json >out && size_of_dir out >before && test "$(cat before)" -gt 600000 && git -C sized ews clean --now --json >out && size_of_dir out >after && test_cmp before after
'

# of_large -- the snapshot in trash that has the file
of_large() {
	for kept in $(git -C counted for-each-ref --format="%(refname)" refs/ews/trash/); do ! git -C counted cat-file -e "$kept":large 2>/dev/null || echo "$kept"; done
}

# freed <ref>... -- how much a clean says it freed after a session that had 300,000 bytes beyond its base, which the refs hold
freed() {
	# shellcheck disable=SC2046 # none, or one
	start_ws counted counted && head -c 300000 /dev/urandom >"${ws:?}/large" && { test -z "$commits" || { git -C "$ws" add large && commit_in "$ws"; }; } && git -C counted ews end counted >/dev/null && for ref; do git -C counted update-ref "$ref" $(of_large) || return 1; done && git -C counted ews clean --now --json >out && json out .freed_bytes
}

# is_more <bytes> <than> -- by those 300,000, and not by the 400,000 that are in the history
is_more() {
	test $(($1 - $2)) -gt 250000 && test $(($1 - $2)) -lt 350000
}

test_expect_success 'what only the snapshots held is counted, and neither what is behind their HEAD nor what a ref still holds' '
	test_repo counted && (cd counted && head -c 400000 /dev/urandom >old && git add old && git commit -qm old && git tag old && git rm -q old && git commit -qm new && git tag -a -m new new) &&
	commits= && alone=$(freed) && tagged=$(freed refs/tags/kept) && is_more "$alone" "$tagged" && git -C counted tag -d kept && on_branch=$(freed refs/heads/kept) && is_more "$alone" "$on_branch" && git -C counted branch -D kept &&
	git -C counted tag -d new && git -C counted checkout -q --detach && git -C counted tag tip && git -C counted checkout -q --detach HEAD~1 && old=$(freed) && tagged=$(freed refs/tags/kept) && is_more "$old" "$tagged" && git -C counted tag -d kept &&
	git -C counted update-ref -d refs/heads/main && git -C counted tag -d old && git -C counted checkout -q --detach HEAD~1 && before=$(freed) && tagged=$(freed refs/tags/kept) && is_more "$before" "$tagged" &&
	commits=t && own=$(freed) && tagged=$(freed refs/tags/kept) && is_more "$own" "$tagged"
'

test_expect_success 'a line of commits that a tag alone holds is not counted where the workspace was on it' '
	test_repo aside && (cd aside && git checkout -q --orphan side && head -c 400000 /dev/urandom >old && git add old && git commit -qm old && git rm -q old && git commit -qm side --allow-empty && git checkout -q main && git tag -a -m line line side && git branch -qD side) &&
	start_ws aside aside && git -C "$ws" checkout -q --detach line && git -C "$ws" checkout -q --detach line~1 && git -C "$ws" checkout -q --detach main && echo more >"${ws:?}/more" && git -C aside ews end aside >/dev/null &&
	git -C aside ews clean --now --json >out && test "$(json out .freed_bytes)" -lt 200000
'

test_expect_success USERS 'trash that may not be opened, and a session whose record can not be read, stay and are named' '
	git init -q guests && (cd guests && echo a >a && git add a && git commit -qm a) && test_give_user guests && as() { test_as_user git -C guests ews "$@" 2>err || { cat err >&2 && false; }; } && place=$PWD/home-65534/.superqode/working/guests && as start two >out && as end two >out &&
	test_as_user chmod 0 "${place:?}/trash" && as clean --now >out && test_grep "^note: stays: .*${place:?}/trash.*: cannot open directory .*: Permission denied" err && as clean --now --json >out && test_grep "${place:?}/trash" out && test_as_user chmod 700 "${place:?}/trash" && test_as_user chmod 0 "${place:?}/sessions/two/state.json" &&
	as clean --now --dry-run >out && test_grep "^note: stays: two: state.json: .*Permission denied" err && as clean --now >out && test_grep "^note: stays: two: " err && test_grep "^directory" out && test_path_is_dir "${place:?}/sessions/two" && test_as_user chmod 600 "${place:?}/sessions/two/state.json" && as clean --now >out && test_grep ! stays err
'

# is_whole <git directory>: all that it had is there
is_whole() {
	git --git-dir="$1" --work-tree=. fsck --strict --no-dangling && git --git-dir="$1" --work-tree=. cat-file -e main:run.sh
}

# out_of_reach <directory> <where its files are> <verb>...: each of these says that of the session "ip", and changes nothing
out_of_reach() {
	in=$1 files=$2 && shift 2 && for verb; do
		# shellcheck disable=SC2086 # many words
		test_expect_code 1 git -C "$in" ews $verb ip 2>err && test_grep "the work tree of session .ip. is out of reach: .$PWD/$files.$" err && test_grep agent "${files:?}/run.sh" || { echo >&2 "$verb"; return 1; }
	done
}

test_expect_success 'P1: a git directory that was moved out of its work tree is never taken for one: a session in place stays where its files are' '
	for bare in true false; do
		r=cut-$bare && test_repo $r && git -C $r ews start --method in-place ip && echo agent >>"${r:?}/run.sh" && mv "${r:?}/.git" $r.git && git -C $r.git config core.bare $bare && git -C $r.git ews status ip >out 2>err && test_grep "sessions have followed" err && test_grep "Workspace: $PWD/$r$" out &&
		out_of_reach $r.git $r end revert "end --dry-run" diff && git -C $r.git ews clean --older-than 0s >out && test_grep ! "^end" out && is_whole $r.git && mv $r.git "${r:?}/.git" && git -C $r config core.bare false && git -C $r ews end ip >out && test_grep "Status: Verified" out && git -C $r diff --exit-code || return 1
	done && git -C $r ews undo && git -C $r ews undo && mv "${r:?}/.git" $r.git && git -C $r.git config core.bare true && out_of_reach $r.git $r end && git -C $r.git ews clean --force --older-than 0s >out && test_grep "^end.*ip$" out && is_whole $r.git && test_grep agent "${r:?}/run.sh"
'

test_expect_success 'P1: nor by undo of what ended, or was applied, before: that stays with the work tree, be it there or not' '
	test_repo late && git -C late ews start --method in-place ip && echo agent >>late/run.sh && git -C late diff >agents.patch && git -C late ews end ip && git -C late ews apply ../agents.patch && mv late/.git late.git && git -C late.git config core.bare true && for there in yes no; do
		for undo in undo "undo ip"; do
			test_expect_code 128 git -C late.git ews $undo 2>err && test_grep "change to .$PWD/late" err && is_whole late.git || return 1
		done && { test $there = no || mv late late.away; } || return 1
	done && mv late.away late && mv late.git late/.git && git -C late config core.bare false && git -C late ews undo && git -C late diff --exit-code && git -C late ews undo && git -C late ews undo && test_grep agent late/run.sh && git -C late ews end ip
'

# on_record <project>: "<project>.git" has become its work tree, as versions before this one wrote it
on_record() {
	mv "${1:?}/.git" "$1.git" && git -C "$1.git" config core.bare true && find "${working:?}/${1:?}" -name "*.json" -exec sed -i "s|\"$PWD/$1\"|\"$PWD/$1.git\"|; s|\"$PWD/${1:?}/.git\"|\"$PWD/$1.git\"|" {} +
}

test_expect_success 'P1: nor where an older version has put that on record: the session ends by force alone, and no step is taken back there' '
	test_repo wrong && git -C wrong ews start --method in-place ip && on_record wrong && for verb in end revert "end --dry-run"; do
		test_expect_code 1 git -C wrong.git ews $verb ip 2>err && test_grep "the work tree of session .ip. is out of reach: .$PWD/wrong.git.$" err && is_whole wrong.git || return 1
	done && git -C wrong.git ews end --force ip && is_whole wrong.git &&
	test_repo step && echo agent >>step/run.sh && git -C step diff >agents.patch && git -C step checkout -q run.sh && git -C step ews apply ../agents.patch && on_record step && test_must_fail git -C step.git ews undo 2>err && test_grep "^error: .$PWD/step.git. is a git directory, and no work tree" err && is_whole step.git
'

test_expect_success 'P1: a project that was moved while config said otherwise of its work tree: its session in place is where it was, whoever asks first' '
	n=0 && for how in "core.bare true" "core.worktree ../../told" "core.worktree ../../nowhere"; do
		for first in here linked undo; do
			n=$((n + 1)) r=said-$n && rm -rf told && mkdir told && echo precious >told/thesis && test_repo $r && git -C $r worktree add -q -b w ../$r-w && echo mine >"${r:?}/mine" && git -C $r ews start --method in-place ip && echo agent >>"${r:?}/run.sh" && git -C $r config $how && { test $first != undo || git -C $r ews end ip; } &&
			mv $r $r-m && echo "gitdir: $PWD/${r:?}-m/.git/worktrees/${r:?}-w" >"${r:?}-w/.git" && case $first in here) git -C $r-m ews list ;; linked) git -C $r-w ews list ;; *) git -C $r-m ews undo && git -C $r-m ews undo ;; esac 2>err && test_grep "^note: this project was at .$PWD/$r.: its sessions have followed" err && test_grep agent "${r:?}-m/run.sh" &&
			git -C $r-m ews status ip >out 2>err && test_grep "Workspace: $PWD/$r-m$" out && test_grep "^warning: ${how%% *} is .* To take that back" err && git -C $r-m ews end ip >out 2>err && test_grep "Status: Verified" out && is_whole "${r:?}-m/.git" && test_grep ! agent "${r:?}-m/run.sh" && test_grep mine "${r:?}-m/mine" && echo precious | test_cmp - told/thesis && test "$(ls -A told)" = thesis || { echo >&2 "$how: $first"; return 1; }
		done
	done && test_repo unsaid && git -C unsaid ews start --method in-place ip && echo agent >>unsaid/run.sh && git -C unsaid config core.bare true && mv unsaid said && git -C said ews status && git --git-dir=said/.git config --unset-all core.bare && git -C said ews end ip >out 2>err && test_grep "Status: Verified" out && git -C said diff --exit-code
'

test_expect_success 'P1: nor does a session in place follow a git directory that was moved alone into somebody'\''s directory, or who names another by GIT_WORK_TREE' '
	test_repo alone && git -C alone ews start --method in-place ip && echo agent >>alone/run.sh && mkdir somebody && echo precious >somebody/thesis && mv alone/.git somebody && out_of_reach somebody alone end revert && echo precious | test_cmp - somebody/thesis && git -C somebody ews end --force ip && test "$(ls -A somebody)" = "$(printf ".git\nthesis")" && test_grep agent alone/run.sh &&
	test_repo named && git -C named ews start --method in-place ip && echo agent >>named/run.sh && mv named called && rm -r somebody/.git && (GIT_DIR=$PWD/called/.git && GIT_WORK_TREE=$PWD/somebody && export GIT_DIR GIT_WORK_TREE && cd somebody && test_must_fail git ews end ip) && echo precious | test_cmp - somebody/thesis && git -C called ews end ip >out && test_grep "Status: Verified" out && git -C called diff --exit-code
'

test_expect_success 'P4: a session in place goes along when what its project held is moved into a new directory, in whatever order, and asked in between' '
	test_repo held && git -C held ews start --method in-place ip && echo agent >>held/run.sh && mkdir holds && (cd held && mv -- $(ls -A) ../holds) && git -C holds ews list 2>err && test_grep "sessions have followed$" err && rmdir held && git -C holds ews end ip >out && test_grep "Status: Verified" out && git -C holds diff --exit-code &&
	test_repo slow && git -C slow ews start --method in-place ip && echo agent >>slow/run.sh && mkdir fast && mv slow/.git fast && git -C fast ews list >out 2>err && test_grep "followed, but not all of them$" err && test_grep "^note: session .ip. has stayed, with its work tree, in .$PWD/slow.$" err && out_of_reach fast slow end && (cd slow && mv -- $(ls -A) ../fast) && git -C fast ews status ip >out && test_grep "Workspace: $PWD/fast$" out && rmdir slow && git -C fast ews end ip >out && test_grep "Status: Verified" out && git -C fast diff --exit-code && git -C fast ews undo && git -C fast ews undo && test_grep agent fast/run.sh && git -C fast ews end ip &&
	test_repo lent && git -C lent ews start --method in-place ip && echo agent >>lent/run.sh && mv lent/.git lent.git && git -C lent.git ews list 2>err && test_grep "session .ip. has stayed" err && mv lent.git lent/.git && mv lent back && git -C back ews end ip >out 2>err && test_grep ! stayed err && test_grep "Status: Verified" out && git -C back diff --exit-code
'

test_expect_success 'P4: so do the steps of such a project, where only reports are left behind' '
	test_repo steps && start_ws steps one && echo agent >>"${ws:?}/run.sh" && git -C steps ews apply one && git -C steps ews end --force one && test_path_is_dir steps/.superqode && mkdir stepped && (cd steps && mv -- $(ls -A | grep -vx "[.]superqode") ../stepped) && git -C stepped ews undo one && git -C stepped ews undo && git -C stepped diff --exit-code
'

test_expect_success 'P4: a session in place goes along with a repository whose work tree config names when both are copied to another disk, and into no other work tree' '
	for r in copied apart; do
		git init -q $r && mkdir "${r:?}/www" && echo a >"${r:?}/www/a" && git -C $r config core.worktree ../www && git -C "${r:?}/www" add a && git -C "${r:?}/www" commit -q -m $r && git -C $r ews start --method in-place ip && echo agent >>"${r:?}/www/a" && cp -a $r $r-2 && rm -r "${r:?}" || return 1
	done && git -C copied-2 ews list 2>err && test_grep "sessions have followed$" err && git -C copied-2 ews end ip >out && test_grep "Status: Verified" out && echo a | test_cmp - copied-2/www/a &&
	git -C apart-2 config core.worktree ../files && mv apart-2/www apart-2/files && git -C apart-2 ews list && test_expect_code 1 git -C apart-2 ews end ip 2>err && test_grep "out of reach: .$PWD/apart/www.$" err && test_grep agent apart-2/files/a
'

test_expect_success 'P4: the sessions of a bare repository that was moved follow from its linked worktree, whatever its config leaves unsaid' '
	for unsaid in core.repositoryformatversion core.bare; do
		r=quiet-${unsaid#core.} && test_repo $r && git clone -q --bare $r $r.git && git -C $r.git config --unset $unsaid && git -C $r.git worktree add -q ../$r-w main && git -C $r-w ews start --method in-place ip && echo agent >>"${r:?}-w/run.sh" && mv $r.git $r-2.git && git -C $r-2.git worktree repair "$PWD/$r-w" &&
		git -C $r-w ews list >out 2>err && test_grep "sessions have followed$" err && test_grep "^ip" out && git -C $r-w ews end ip >out && test_grep "Status: Verified" out && git -C $r-w diff --exit-code || { echo >&2 $unsaid; return 1; }
	done
'

test_expect_success 'P1: a session whose git directory was moved away alone is in no work tree that config names since' '
	test_repo fled && git -C fled ews start --method in-place ip && echo agent >>fled/run.sh && mkdir shelter pointed && echo precious >pointed/thesis && mv fled/.git shelter && git -C shelter ews list && mv fled fled.away && git -C shelter config core.worktree "$PWD/pointed" && test_expect_code 1 git -C shelter ews end ip 2>err && test_grep "out of reach" err && echo precious | test_cmp - pointed/thesis && test_grep agent fled.away/run.sh
'

test_expect_success BIRTH 'P4: a project that was moved is known by its directory where somebody has made one in its old place since' '
	test_repo anew && git -C anew ews start --method in-place ip && echo agent >>anew/run.sh && mv anew anew-m && mkdir anew && echo precious >anew/thesis && git -C anew-m ews end ip >out && test_grep "Status: Verified" out && git -C anew-m diff --exit-code && echo precious | test_cmp - anew/thesis
'

test_expect_success STRACE 'P4: a session whose directory can not be opened or read just now is not taken for idle' '
	test_repo awake && start_ws awake w && echo hours >>"${ws:?}/run.sh" && at=${working:?}/awake/sessions/w && n=0 && while n=$((n + 1)); do
		test_strace trace -P sessions/w -e trace=openat2 -e inject=openat2:error=EMFILE:when=$n git -C awake ews clean --force >out 2>err || test $? = 128 || return 1
		test_must_be_empty out && test_grep hours "${ws:?}/run.sh" || return 1
		grep INJECTED trace || break
	done && test $n -gt 1 && for calls in getdents64 newfstatat; do
		touch -d "25 hours ago" "$at" && { test_strace trace -P "$at" -e trace=$calls -e inject=$calls:error=EIO git -C awake ews clean --force >out 2>err || test $? = 128; } && test_grep INJECTED trace && test_must_be_empty out && test_grep hours "${ws:?}/run.sh" || { echo >&2 $calls; return 1; }
	done && git -C awake ews end w
'

test_expect_success STRACE 'P4: sessions follow a moved project whole, what lies in trash as well, or not yet' '
	for error in EMFILE EIO; do
		test_repo went-$error && start_ws went-$error w && echo work >"${ws:?}/new" && git -C went-$error ews end w && step=$(cd "$HOME/.superqode/working/went-${error:?}/trash" && echo op-*) && mv went-$error gone-$error && for path in "trash/${step:?}/workspace" "$step.json"; do
			test_expect_code 128 test_strace trace -P "$path" -e trace=openat,openat2 -e inject=openat,openat2:error=$error git -C gone-$error ews status >out 2>err && test_grep INJECTED trace && test_grep ! followed err || return 1
		done && git -C gone-$error ews status >out 2>err && test_grep "sessions have followed" err && git -C gone-$error ews undo w && git -C "$ws" status --porcelain >out && test_grep new out && git -C gone-$error ews end -q w || return 1
	done
'

test_expect_success 'a home without projects has all keys of what was cleaned in it' '
	git ews --home "$PWD/none" clean --all --json >out && for key in ended freed kept; do test_json_count out .$key 0 || return 1; done && test_json out .freed_bytes 0
'

test_expect_success STRACE 'clean waits for nobody who uses a workspace: there may be many' '
	test_repo many && git -C many ews start one >path && take_ws path && { (cd "${ws:?}" && exec sleep 60) >/dev/null 2>&1 3>&- 4>&- 5>&- & } && pid=$! && test_when_finished "kill $pid; wait $pid; :" && test_wait_for 20 test "${ws:?}" -ef /proc/"${pid:?}"/cwd &&
	{ test_strace log -e trace=nanosleep,clock_nanosleep "$EWS_BIN/git-ews" -C many clean one >out 2>err || test $? = 1; } && test_grep "in use by sleep" err && test_grep ! "nanosleep" log
'

test_done
