#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='revert: the workspace is exactly what its base was (P2), proven (P3), whatever was done'

. "$(dirname "$0")/test-lib.sh"

# All that must come back in the workspace <dir>: files with times (of directories without), index and its
# time, HEAD, a merge's state, and what git says of it all.
state_of() (
	"$EWS_SRC/t/lister" -x .git -x .superqode "$1" | sed -E 's/	(d [0-7]+) [0-9.]+ /	\1 - /' &&
		cd "$1" && admin=$(git rev-parse --absolute-git-dir) && cd "$admin" &&
		for f in HEAD index MERGE_HEAD MERGE_MSG MERGE_MODE; do
			test ! -e $f || sha256sum $f
		done &&
		stat -c 'index %y' index &&
		for f in rebase-merge rebase-apply sequencer CHERRY_PICK_HEAD REVERT_HEAD; do
			test ! -e $f || echo "under way: $f"
		done &&
		cd "$1" && GIT_OPTIONAL_LOCKS=0 git status --porcelain=v2 -uall &&
		GIT_OPTIONAL_LOCKS=0 git ls-files -s && git rev-parse HEAD && stat -c 'root %i' .
)

# new_workspace <id>: start one, remember its state as <id>.want, leave its path in $ws.
new_workspace() {
	git -C p ews start "$1" >"$1.path" 2>"$1.err" && take_ws "$1.path" && state_of "$ws" >"$1.want"
}

# reverts <id> [<option>...]: revert succeeds, says so, and the state is the one before.
reverts() {
	ews_id=$1
	shift
	git -C p ews revert "$@" "$ews_id" >revert.out 2>revert.err || {
		cat revert.out revert.err >&2
		return 1
	}
	test_grep "^  Status: Verified\$" revert.out && state_of "$(cat "$ews_id.path")" >"$ews_id.got" &&
		test_cmp "$ews_id.want" "$ews_id.got"
}

test_expect_success 'setup: a project with uncommitted work of every kind' '
	test_repo p && (
		cd p && mkdir -p work/private work/empty &&
		echo staged >work/staged && git add work/staged && echo twice >>work/staged &&
		echo intent >work/intent && git add -N work/intent &&
		echo untracked >work/untracked && echo secret >work/private/key && chmod 600 work/private/key &&
		chmod 700 work/private && chmod 444 docs/crlf.txt && chmod 4755 run.sh && chmod 2755 docs &&
		ln -s untracked work/link && git rm -q src/deep/new-2 && rm src/deep/new-3 &&
		touch -d "2001-02-03 04:05:06.123456789" src/main.c work/untracked src/numbers &&
		touch -h -d "2002-03-04 05:06:07.5" link && { git update-index -q --refresh >../refreshed || :; }
	)
'

test_expect_success 'P3: revert of a workspace in which nothing changed' '
	new_workspace none && reverts none && test_grep "^  Files restored: 0\$" revert.out
'

test_expect_success 'P2: edits, new files, removed files, renames, and the block that tells of it' '
	new_workspace block &&
	(
		cd "$ws" && echo edit >>src/main.c && echo more >>work/untracked && : >src/numbers && rm docs/image.bin &&
		mv run.sh docs/ran.sh && mkdir -p new/deep && echo new >new/deep/file && rm -r src/deep && echo x >"new/ x
y"
	) &&
	reverts block &&
	hash=$(git -C p log -1 --format="%(trailers:key=Ews-Hash,valueonly)" refs/ews/sessions/block) &&
	sed "s/restored: [1-9][0-9]*/restored: N/" revert.out >got &&
	cat >want <<-EOT &&
	✓ Revert Complete
	  Files restored: N
	  Original hash: $(echo $hash)
	  Current hash:  $(echo $hash)
	  Status: Verified
	EOT
	test_cmp want got
'

test_expect_success 'revert --json says the same' '
	(cd "$ws" && echo edit >>src/main.c && rm run.sh && echo new >new) &&
	git -C p ews revert --json block >out 2>err &&
	test_json out .schema ews.revert/1 && test_json out .verified true &&
	test_json_count out .errors 0 && test_json_count out .deleted 1 && test_json out ".deleted[0]" new &&
	test_json_count out .restored 2 && test_json out ".restored[0]" run.sh && test_json out ".restored[1]" src/main.c &&
	test_json out .original_hash "$(echo $hash)" && test_json out .current_hash "$(echo $hash)" &&
	test_json out .undo && state_of "$ws" >got && test_cmp block.want got
'

test_expect_success 'P2: all mode bits, of files and directories' '
	new_workspace modes &&
	(
		cd "$ws" && chmod 644 run.sh && chmod 755 docs && chmod 777 docs/crlf.txt work/private/key && chmod 000 src/main.c &&
		chmod 755 work/private && chmod 0 work && chmod 7777 src/deep/er && umask 077 && rm "docs/with space" && echo x >"docs/with space"
	) &&
	reverts modes && test "$(stat -c %a "${ws:?}/run.sh")" = 4755 && test "$(stat -c %a "${ws:?}/docs")" = 2755 &&
	test "$(stat -c %a "${ws:?}/work/private/key")" = 600
'

test_expect_success 'P2: under umask 000 and 077 the modes are the same' '
	for mask in 000 077 027; do
		(umask $mask && rm -r "${ws:?}/docs" "${ws:?}/run.sh" "${ws:?}/work" && reverts modes) || return 1
	done
'

test_expect_success 'P2: what did not differ is not touched, what was rewritten has its old time' '
	new_workspace times &&
	find "$ws" -path "${ws:?}/.git" -prune -o ! -type d -printf "%P %i %C@ %T@\n" | sort >all.before &&
	(cd "$ws" && echo edit >>src/main.c && rm link) &&
	reverts times &&
	find "$ws" -path "${ws:?}/.git" -prune -o ! -type d -printf "%P %i %C@ %T@\n" | sort >all.after &&
	comm -13 all.before all.after | sed "s/ [0-9]* [0-9.]* [0-9.]*\$//" >touched &&
	printf "link\nsrc/main.c\n" >want && test_cmp want touched &&
	test "$(stat -c %y "${ws:?}/src/main.c")" = "$(stat -c %y p/src/main.c)"
'

test_expect_success 'P3: an edit of the same size whose time was put back is found' '
	new_workspace sly &&
	git -C p ews diff sly && # what this one sees is no longer too young for a stat to tell
	(
		cd "$ws" && cp -p src/main.c ../keep && sed s/return/RETURN/ ../keep >src/main.c && touch -r ../keep src/main.c &&
		cp -p docs/image.bin ../keep && printf "\000\001\003\377binary\000\n" >x && mv x docs/image.bin && touch -r ../keep docs/image.bin &&
		rm ../keep
	) &&
	reverts sly && test_grep "restored: 2\$" revert.out
'

test_expect_success 'P3: contents of one length that changed places are told apart' '
	test_repo places && (
		cd places && mkdir same && for n in 1 2 3 4; do echo "content $n" >same/$n; done &&
		git add same && git commit -q -m same && git ews start places >../places.path
	) && take_ws places.path && (
		cd "${ws:?}/same" && cp 2 3 && cp 1 2 && echo "another 1" >1 && echo "content 5" >4
	) &&
	git -C places ews revert >places.out &&
	test_grep "restored: 4\$" places.out && test_grep "Status: Verified\$" places.out &&
	echo "content 1 content 2 content 3 content 4" >want && echo $(cat "${ws:?}"/same/[1-4]) >got &&
	test_cmp want got && git -C places ews undo places &&
	echo "another 1 content 1 content 2 content 5" >want && echo $(cat "${ws:?}"/same/[1-4]) >got &&
	test_cmp want got
'

test_expect_success 'P3: an edit behind assume-unchanged, skip-worktree and info/exclude is found' '
	new_workspace flags &&
	(
		cd "$ws" && git update-index --assume-unchanged src/main.c && git update-index --skip-worktree src/numbers &&
		echo edit >>src/main.c && echo edit >>src/numbers && echo "*" >.gitignore && echo new >new && echo edit >>work/untracked
	) &&
	reverts flags
'

test_expect_success 'P2: the index is back byte for byte with its time, whatever git did to it' '
	new_workspace index &&
	(cd "$ws" && git add -A && git rm -q --cached run.sh && git update-index --index-version 4) && reverts index &&
	(cd "$ws" && git reset -q --hard && git clean -qfdx) && reverts index &&
	rm "$(git -C "$ws" rev-parse --git-path index)" && reverts index &&
	echo garbage >"$(git -C "$ws" rev-parse --git-path index)" && reverts index &&
	touch "$(git -C "$ws" rev-parse --git-path index)" && reverts index
'

test_expect_success 'P2: a racy edit made right after revert is seen by git' '
	reverts index && size=$(stat -c %s "${ws:?}/docs/with space") &&
	echo ODD >"${ws:?}/docs/with space" && test "$(stat -c %s "${ws:?}/docs/with space")" = $size &&
	git -C "$ws" diff --name-only >out && grep "with space" out && reverts index
'

test_expect_success 'P2: HEAD is back after commits, branches and resets, and branches are left alone' '
	new_workspace head &&
	(cd "$ws" && git commit -qam one && git commit -q --allow-empty -m two) && reverts head &&
	(cd "$ws" && git switch -q -c made-inside && git commit -qam three) && reverts head &&
	git -C p rev-parse -q --verify made-inside &&
	(cd "$ws" && git reset -q --hard HEAD~2) && reverts head
'

test_expect_success 'P2: a merge that was begun since is gone, one that was under way is back' '
	new_workspace merge &&
	(
		cd "$ws" && git reset -q --hard && git clean -qfd && git checkout -q --detach && git checkout -q -b other HEAD~1 &&
		echo other >>src/log && git commit -qam other && git checkout -q --detach - &&
		test_must_fail git merge other && test -f "$(git rev-parse --git-path MERGE_HEAD)"
	) &&
	reverts merge && test_path_is_missing "$(git -C "$ws" rev-parse --git-path MERGE_HEAD)" &&
	test_repo mid && (
		cd mid && git checkout -q -b side HEAD~1 && echo side >>src/log && git commit -qam side && git checkout -q main &&
		test_must_fail git merge side
	) &&
	git -C mid ews start mid >mid.path && take_ws mid.path && state_of "$ws" >want && grep MERGE_HEAD want &&
	(cd "$ws" && git merge --abort) && git -C mid ews revert mid >out && state_of "$ws" >got && test_cmp want got &&
	(cd "$ws" && git add -A && git commit -qm merged) && git -C mid ews revert mid >out && state_of "$ws" >got && test_cmp want got
'

test_expect_success 'P4: what was under way comes back with an undo, also where a revert did nothing else' '
	new_workspace under && dir=$(git -C "$ws" rev-parse --git-path rebase-merge) && mkdir "${dir:?}" && echo precious >"${dir:?}/f" && git -C p ews revert under && test_path_is_missing "${dir:?}" && kept=$(find p/.git/ews -name "op-*.f") && mkdir "${kept:?}/rebase-merge.2" &&
	git -C p ews undo under && test "$(cat "${dir:?}/f")" = precious && test_path_is_missing "${dir:?}.2" && test -d "${kept:?}/rebase-merge.2" && git -C p ews undo --redo under && test_path_is_missing "${dir:?}" && git -C p ews undo under && test_path_is_file "${dir:?}/f" && git -C p ews end --force under
'

test_expect_success 'P4: what was under way comes back also where it could not be looked at when it was to' '
	new_workspace later && dir=$(git -C "$ws" rev-parse --git-path rebase-merge) && mkdir "${dir:?}" && echo precious >"${dir:?}/f" && look=0 && while test_more_looks; do
		git -C p ews revert later && test_path_is_missing "${dir:?}" && test_look EIO "/op-[^/]*[.]f$" -C p undo later >out 2>err &&
			if test $code = 1 -o $code = 128; then git -C p ews recover --all && { test -d "${dir:?}" || git -C p ews undo later; }; fi && test "$(cat "${dir:?}/f")" = precious || return 1
	done && test $look -gt 3 && git -C p ews end --force later
'

test_expect_success 'P1, P2: in place what was under way at the start stays so, whatever came later' '
	test_repo begun && dir=begun/.git/rebase-merge && mkdir "${dir:?}" && echo precious >"${dir:?}/f" && git -C begun ews start --method in-place m && echo x >>begun/src/main.c && echo on >"${dir:?}/g" && mkdir begun/.git/sequencer && git -C begun ews snapshot create m && git -C begun ews revert m >out 2>err &&
	test_grep "not looked at: rebase-merge (of git, has gone on since then, and stays so)$" err && test "$(cat "${dir:?}/f")" = precious && test_path_is_missing begun/.git/sequencer && git -C begun ews undo m && test -d begun/.git/sequencer && test -f "${dir:?}/f" && git -C begun ews end m && test -f "${dir:?}/f" && test_path_is_missing begun/.git/sequencer
'

test_expect_success 'P2: a rebase or cherry-pick that was begun since is no longer under way' '
	new_workspace rebase &&
	(
		cd "$ws" && git reset -q --hard && git clean -qfd && git checkout -q --detach other &&
		test_must_fail git rebase main && test -d "$(git rev-parse --git-path rebase-merge)"
	) && reverts rebase &&
	(
		cd "$ws" && git reset -q --hard && git clean -qfd && test_must_fail git cherry-pick other &&
		test -f "$(git rev-parse --git-path CHERRY_PICK_HEAD)"
	) && reverts rebase
'

# picking <dir> <verb> <commit>: in it git stops at a conflict
picking() {
	(cd "$1" && test_must_fail git "$2" "$3" 2>../picking.err)
}

# picks <dir>: a repository in which "theirs" and "theirs~1" conflict with HEAD, and so does the revert of HEAD~1
picks() {
	test_repo "$1" && (cd "$1" && git checkout -q -b theirs HEAD~1 && echo t1 >>src/log && git commit -qam t1 && echo t2 >>src/log && git commit -qam t2 && git checkout -q main && echo m1 >>src/log && git commit -qam m1 && echo m2 >>src/log && git commit -qam m2)
}

test_expect_success 'P2: a cherry-pick or a revert that a session in place concluded is under way again, and undo concludes it' '
	for verb in cherry-pick revert; do
		picks in-$verb && at=theirs && head=CHERRY_PICK_HEAD && if test $verb = revert; then at=HEAD~1 && head=REVERT_HEAD; fi && picking in-$verb $verb $at && f=in-${verb:?}/.git/$head && cp $f head && state_of "$PWD/in-$verb" >want && test_grep $head want &&
			git -C in-$verb ews start --method in-place m 2>err && test_grep ! $head err && (cd in-$verb && echo done >src/log && git add -A && git commit -qm done) && test_path_is_missing "$f" && git -C in-$verb ews revert m >out 2>err && test_grep ! HEAD err && test_cmp head $f && state_of "$PWD/in-$verb" >got && test_cmp want got &&
			git -C in-$verb ews undo m && test_path_is_missing "$f" && test "$(git -C in-$verb log -1 --format=%s)" = done && git -C in-$verb ews undo --redo m && test_cmp head $f && (cd in-$verb && git $verb --abort) && git -C in-$verb ews end m && test_cmp head $f && state_of "$PWD/in-$verb" >got && test_cmp want got || return 1
	done
'

test_expect_success 'P2, P4: a cherry-pick in a workspace is held by its snapshots, with the commit, and goes on after a revert' '
	picks own && new=$(git -C own rev-parse theirs) && git -C own ews start s >own.path && take_ws own.path && picking "$ws" cherry-pick theirs && snap=$(git -C own ews snapshot create s 2>err) && test_grep ! HEAD err && state_of "$ws" >want && test_grep "under way: CHERRY_PICK_HEAD" want &&
	(cd "$ws" && git cherry-pick --abort) && git -C own ews revert s && git -C own branch -qD theirs && git -C own reflog expire --expire=all --all && git -C own gc -q --prune=now && git -C own ews revert --to "$snap" s >out 2>err && test_grep ! HEAD err && state_of "$ws" >got && test_cmp want got &&
	(cd "$ws" && echo done >src/log && git add src/log && git cherry-pick --continue) && test "$(git -C "$ws" log -1 --format=%s)" = t2 && git -C own ews end s
'

test_expect_success 'P2: a sequencer that went on does not go on from a cherry-pick that is under way again; undo brings it back' '
	picks several && (cd several && test_must_fail git cherry-pick theirs~1 theirs) && cp several/.git/CHERRY_PICK_HEAD head && git -C several ews start --method in-place m && git -C several ews revert m >out 2>err && test_path_is_file several/.git/sequencer/todo &&
	(cd several && echo t1 >src/log && git add src/log && echo both >src/log && git add src/log && test_must_fail git cherry-pick --continue) && cp several/.git/sequencer/todo todo && git -C several ews revert m >out 2>err && test_cmp head several/.git/CHERRY_PICK_HEAD && test_path_is_missing several/.git/sequencer && test_grep "moved to trash: sequencer" err && test_grep "sequencer (of git, under way then" err &&
	git -C several ews undo m && test_cmp todo several/.git/sequencer/todo && git -C several ews end m
'

test_expect_success 'P8: in place a rebase that has gone on since is named, by revert, its dry run and end; one that has not is not' '
	picks on && (cd on && git checkout -q theirs && test_must_fail git rebase main) && git -C on ews start --method in-place m && echo more >>on/run.sh && git -C on ews revert m >out 2>err && test_grep "^  Files restored: 1$" out && test_grep ! "gone on" err &&
	(cd on && git checkout -q --ours src/log && git add src/log && test_must_fail env GIT_EDITOR=true git rebase --continue) && test "$(cat on/.git/rebase-merge/msgnum)" = 2 &&
	git -C on ews revert --dry-run m >out 2>err && test_grep "not looked at: rebase-merge (of git, has gone on since then, and stays so)$" err && test_grep "^note: git would go on with that from where it is now" err && git -C on ews revert --json m >out && json out .not_covered >left && test_grep "has gone on since then" left &&
	git -C on ews undo m 2>err && test_grep ! "gone on" err && git -C on ews end m >out 2>err && test_grep "^  Status: Verified$" out && test_grep "not looked at: rebase-merge (of git, has gone on since then, and stays so)$" err && grep "^note: git would go on" err >notes && test_line_count = 1 notes &&
	git -C on rebase --abort && git -C on diff --exit-code theirs
'

# rebasing <id>: in its workspace a rebase of two commits stops at the first
rebasing() {
	new_workspace "$1" && dir=$(git -C "$ws" rev-parse --git-path rebase-merge) &&
		(cd "$ws" && git reset -q --hard && git clean -qfd && git checkout -q --detach other && echo more >>src/log && git commit -qam more && test_must_fail git rebase main) &&
		test "$(cat "${dir:?}/msgnum")" = 1
}

test_expect_success 'P2: a rebase that was under way in a snapshot goes on from there, while nobody went on with it' '
	rebasing resumed && snap=$(git -C p ews snapshot create resumed) && state_of "$ws" >resumed.want && git -C p ews snapshot show --coverage "$snap" >out 2>err && test_grep "^note: not held of git.s state: rebase-merge, under way$" err &&
	git -C p ews snapshot show --coverage --json "$snap" >out && dirs=$(json out .held.git_state_left) && test "$dirs" = "[\"REBASE_HEAD\",\"rebase-merge\"]" &&
	reverts resumed --to "$snap" && test_grep "^  Files restored: 0$" revert.out && (cd "$ws" && echo bad >src/log && git add src/log) && reverts resumed --to "$snap" && test_grep ! rebase-merge revert.err &&
	(cd "$ws" && echo neither >src/log && git add src/log && GIT_EDITOR=true test_must_fail git rebase --continue) && test "$(cat "${dir:?}/msgnum")" = 2 && git -C p ews revert --dry-run --to "$snap" resumed >out 2>err &&
	test_grep "^trash rebase-merge$" out && test_grep "rebase-merge (of git, under way then: no snapshot holds it)" err && test -d "${dir:?}" && git -C p ews revert --to "$snap" resumed >out 2>err && test_grep "^  Status: Verified$" out && test_grep "moved to trash: rebase-merge (of git, under way)" err && test_grep "rebase-merge (of git, under way then: no snapshot holds it)" err &&
	test_grep "moved to trash whole: [1-9][0-9]* files" err && test_path_is_missing "${dir:?}" && git -C p ews undo resumed && test "$(cat "${dir:?}/msgnum")" = 2 && git -C p ews end --force resumed
'

test_expect_success 'P2: what of git cannot be looked at just now is neither gone nor another' '
	rebasing unread && git -C p ews snapshot create unread >snap && look=0 && while test_more_looks; do
		test_look EIO "/unread/(index|rebase-merge(/done)?)$" -C p revert --to "$(cat snap)" unread >out 2>err && test_grep ! "moved to trash" err && test_path_is_dir "${dir:?}" || return 1
	done && test $look -gt 4 && look=0 && while test_more_looks; do
		test_look EIO "/unread/(index|rebase-merge(/done)?)$" -C p snapshot create unread >snap 2>err &&
			if test $code = 0; then git -C p ews snapshot show --coverage --json "$(cat snap)" >out && dirs=$(json out .held.git_state_left) && test "$dirs" = "[\"REBASE_HEAD\",\"rebase-merge\"]" && git -C p ews revert --to "$(cat snap)" unread >out 2>err && test_grep ! "moved to trash" err; fi || return 1
	done && test $look -gt 4 && git -C p ews end --force unread
'

test_expect_success 'P4: what of a merge no snapshot can hold is never written over, and undo brings it back' '
	new_workspace held && admin=$(git -C "$ws" rev-parse --absolute-git-dir) && echo message >"${admin:?}/MERGE_MSG" && snap=$(git -C p ews snapshot create held) && truncate -s 65M "${admin:?}/MERGE_MSG" && echo precious >>"${admin:?}/MERGE_MSG" && ln -s elsewhere "${admin:?}/SQUASH_MSG" &&
	git -C p ews snapshot create held >large 2>err && git -C p ews snapshot show --coverage "$(cat large)" >out 2>err && test_grep "^note: not held of git.s state: MERGE_MSG, too large$" err && test_grep "^note: not held of git.s state: SQUASH_MSG, no file$" err &&
	git -C p ews revert --to "$snap" held >out 2>err && test_grep "moved to trash: MERGE_MSG (of git, too large)" err && test "$(cat "${admin:?}/MERGE_MSG")" = message && test ! -L "${admin:?}/SQUASH_MSG" && git -C p ews undo held && test "$(tail -c 9 "${admin:?}/MERGE_MSG")" = precious && test -L "${admin:?}/SQUASH_MSG" &&
	reverts held && test_path_is_missing "${admin:?}/MERGE_MSG" && test ! -L "${admin:?}/SQUASH_MSG" && git -C p ews end --force held
'

test_expect_success 'P2: files become directories, links and FIFOs, and all the other ways round' '
	new_workspace types && mkdir outside && echo outside >outside/file &&
	(
		cd "$ws" &&
		rm src/main.c && mkdir -p src/main.c/a/b && echo in >src/main.c/a/b/c &&
		rm -r src/deep && echo file >src/deep &&
		rm src/numbers && ln -s /etc/passwd src/numbers &&
		rm link && mkdir link && echo in >link/in &&
		rm docs/dangling && echo file >docs/dangling &&
		rm empty && mkfifo empty &&
		rm -r work && ln -s "$SHARNESS_TRASH_DIRECTORY/outside" work &&
		rm run.sh && ln -s . run.sh
	) &&
	reverts types && test "$(cat outside/file)" = outside && test "$(ls outside)" = file &&
	(
		cd "$ws" && rm -r docs && mkfifo docs && rm src/deep/er/file && ln -s loop src/deep/er/file &&
		rm work/link && mkfifo work/link && rm src/log && ln work/untracked src/log
	) &&
	reverts types
'

test_expect_success 'P2: the whole content gone, and the whole content turned' '
	new_workspace gone && find "$ws" -mindepth 1 -maxdepth 1 ! -name .git -exec rm -rf {} + && reverts gone &&
	mkdir turned && mv "${ws:?}"/[a-z]* turned/ && mv turned "${ws:?}/" && reverts gone
'

test_expect_success 'P2: trees that may not be written, and new ones of that kind' '
	new_workspace closed &&
	(
		cd "$ws" && mkdir -p ro/a/b && echo x >ro/a/b/c && chmod 000 ro/a/b/c && chmod 555 ro/a/b && chmod 000 ro/a && chmod 444 ro &&
		echo edit >src/deep/er/file && rm src/deep/no-newline && chmod 555 src/deep/er && chmod 000 src/deep && chmod 500 src
	) &&
	reverts closed
'

test_expect_success USERS 'P2: the same for an ordinary user' '
	mkdir mine && cp -a p mine/ && rm -rf mine/p/.git/worktrees && test_give_user mine &&
	test_as_user git -C mine/p ews start own >own.path && take_ws own.path &&
	"$EWS_SRC/t/lister" -M . -x .git "$ws" >want &&
	(
		cd "$ws" && mkdir -p ro/a/b && echo x >ro/a/b/c && chmod 000 ro/a/b/c && chmod 555 ro/a/b && test_give_user ro && chmod 000 ro/a &&
		echo edit >src/deep/er/file && rm src/deep/no-newline && chmod 555 src/deep/er && chmod 000 src/deep && chmod 500 src &&
		chmod 000 work/private/key
	) &&
	test_as_user git -C mine/p ews revert own >out && test_grep "Status: Verified" out &&
	"$EWS_SRC/t/lister" -M . -x .git "$ws" | sed -E "s/	(d [0-7]+) [0-9.]+ /	\1 - /" >got &&
	sed -E "s/	(d [0-7]+) [0-9.]+ /	\1 - /" want >want.d && test_cmp want.d got
'

test_expect_success XATTR 'P2: extended attributes of files and directories' '
	(
		cd p && setfattr -n user.kept -v one src/main.c && setfattr -n user.kept -v "two
lines" work/untracked && setfattr -n user.dir -v 0sAAEC src && setfattr -n user.empty src/numbers
	) &&
	new_workspace attrs && getfattr -d "${ws:?}/src/main.c" | grep user.kept &&
	(
		cd "$ws" && setfattr -x user.kept src/main.c && setfattr -n user.kept -v other work/untracked && setfattr -x user.dir src &&
		setfattr -n user.new -v new docs && setfattr -n user.new -v new run.sh && setfattr -x user.empty src/numbers
	) &&
	reverts attrs
'

test_expect_success 'P2: empty directories are back, new ones are gone' '
	new_workspace dirs && mkdir "${ws:?}/empty-later" && mkdir -p "${ws:?}/a/b/c" && reverts dirs &&
	test_path_is_missing "${ws:?}/a" &&
	mkdir "${ws:?}/hollow" && mkdir -m 750 "${ws:?}/hollow/two" && snap=$(cd "$ws" && git ews snapshot create) &&
	rm -r "${ws:?}/hollow" && git -C p ews revert --to $snap dirs >out && test "$(stat -c %a "${ws:?}/hollow/two")" = 750
'

test_expect_success 'the directory of the workspace stays itself: who stands in it goes on' '
	new_workspace stand &&
	(
		cd "$ws" && rm -rf src && echo x >new && mkdir gone && cd gone && git ews revert >"$SHARNESS_TRASH_DIRECTORY/out" &&
		cd "$ws" && test -f src/main.c && test ! -e new
	) &&
	test_grep "Status: Verified" out && state_of "$ws" >got && test_cmp stand.want got
'

test_expect_success 'P4, P8: a nested repository that came later goes into trash whole, and is named' '
	new_workspace nested && git init -q "${ws:?}/vendor/lib" && (cd "${ws:?}/vendor/lib" && echo n >file && git add file && git commit -qm n) &&
	ino=$(stat -c %i "${ws:?}/vendor/lib") && reverts nested && test_grep vendor/lib revert.err &&
	find "$HOME/.superqode" -inum $ino -path "*/trash/*" >found && test_line_count = 1 found &&
	git -C "$(cat found)" fsck && test "$(git -C "$(cat found)" show HEAD:file)" = n
'

test_expect_success 'P4: ignored files that came later go into trash unread, named by number and size' '
	new_workspace ignored && mkdir "${ws:?}/out" && printf 12345 >"${ws:?}/out/a" && printf 678 >"${ws:?}/src/main.o" &&
	ino=$(stat -c %i "${ws:?}/src/main.o") && reverts ignored && test_path_is_missing "${ws:?}/out" &&
	test_grep -i ignored revert.err && test_grep -w 2 revert.err &&
	find "$HOME/.superqode" -inum $ino -path "*/trash/*" >found && test_line_count = 1 found && test "$(cat "$(cat found)")" = 678
'

test_expect_success 'P2: what the base did not look at stays, even when .gitignore changed since' '
	new_workspace rules && echo keep >"${ws:?}/keep.o" && snap=$(cd "$ws" && git ews snapshot create) &&
	echo edit >>"${ws:?}/work/untracked" && git -C p ews revert --to $snap rules >out && test "$(cat "${ws:?}/keep.o")" = keep &&
	echo "nothing" >"${ws:?}/.gitignore" && rm "${ws:?}/work/untracked" &&
	git -C p ews revert --to $snap rules >out && test "$(cat "${ws:?}/keep.o")" = keep && test_grep "Status: Verified" out &&
	cmp p/.gitignore "${ws:?}/.gitignore" && cmp p/work/untracked "${ws:?}/work/untracked"
'

test_expect_success 'P2: a rewritten source is fresh when a build product did not come back' '
	new_workspace build && echo product >"${ws:?}/main.o" && snap=$(cd "$ws" && git ews snapshot create) &&
	touch marker && rm "${ws:?}/main.o" && echo edit >>"${ws:?}/src/main.c" &&
	git -C p ews revert --to $snap build >out 2>err && cmp p/src/main.c "${ws:?}/src/main.c" &&
	test_grep main.o err && test "${ws:?}/src/main.c" -nt marker
'

test_expect_success 'P5: a hard link outside keeps its bytes' '
	new_workspace hard && ln "${ws:?}/src/main.c" outside/linked && echo outside >"${ws:?}/src/main.c" && reverts hard &&
	test "$(cat outside/linked)" = outside && ln -f p/src/numbers "${ws:?}/src/numbers" && reverts hard && cmp p/src/numbers "${ws:?}/src/numbers"
'

test_expect_success '--dry-run says what would be, and does nothing' '
	new_workspace dry && (cd "$ws" && echo edit >>src/main.c && echo new >new && rm empty) && state_of "$ws" >before &&
	git -C p for-each-ref >refs.before &&
	git -C p ews revert --dry-run dry >out 2>err && cat out err >both &&
	test_grep src/main.c both && test_grep new both && test_grep empty both && test_grep ! "Status: Verified" out &&
	state_of "$ws" >after && test_cmp before after && git -C p for-each-ref >refs.after && test_cmp refs.before refs.after && reverts dry
'

test_expect_success 'with paths only these are put back' '
	new_workspace paths &&
	(cd "$ws" && echo edit >>src/main.c && echo edit >>src/numbers && echo new >src/deep/new && echo new >top && echo edit >run.sh) &&
	git -C p ews revert paths -- src/main.c src/deep >out && test_grep "Status: Verified" out &&
	cmp p/src/main.c "${ws:?}/src/main.c" && test_path_is_missing "${ws:?}/src/deep/new" &&
	test_path_is_file "${ws:?}/top" && test "$(cat "${ws:?}/run.sh")" = edit && test_must_fail cmp p/src/numbers "${ws:?}/src/numbers" &&
	(cd "${ws:?}/src" && git ews revert -- numbers) >out && cmp p/src/numbers "${ws:?}/src/numbers" && test_path_is_file "${ws:?}/top" &&
	reverts paths
'

test_expect_success 'a path below what became a file: that goes, and of the directory only what is named comes back' '
	new_workspace below && mkdir beyond && echo theirs >beyond/file && (cd "$ws" && echo new >docs/new && rm docs/crlf.txt && echo edit >>src/main.c && mv src kept-src) &&
	for kind in file link fifo empty ignored; do
		case $kind in
		file) echo file >"${ws:?}/src" ;;
		link) ln -s ../../../../../beyond "${ws:?}/src" ;;
		fifo) mkfifo "${ws:?}/src" ;;
		empty) : >"${ws:?}/src" ;;
		ignored) echo out >"${ws:?}/src" && echo src >"${ws:?}/.gitignore" ;;
		esac && state_of "$ws" >before && find beyond -newer before >out && test_must_be_empty out &&
		git -C p ews revert below -- src/deep/er/file docs >out && test_grep "Status: Verified" out && test_same_tree p/docs "${ws:?}/docs" && cmp p/src/deep/er/file "${ws:?}/src/deep/er/file" &&
		(cd "$ws" && find src ! -type d) >found && echo src/deep/er/file >want && test_cmp want found && test_path_is_dir "${ws:?}/kept-src" && state_of "$ws" >after &&
		git -C p ews undo below && state_of "$ws" >got && test_cmp before got && git -C p ews undo --redo below && state_of "$ws" >got && test_cmp after got &&
		echo mine >"${ws:?}/src/deep/mine" && git -C "$ws" checkout -q .gitignore && git -C p ews undo below >out 2>err && test_grep "changed since then, and kept in trash: src/deep/mine$" err && git -C p ews undo --redo below && test "$(cat "${ws:?}/src/deep/mine")" = mine && rm "${ws:?}/src/deep/mine" && git -C p ews undo below && rm -rf "${ws:?}/src" || {
			echo "$kind" && return 1
		}
	done && test "$(ls -A beyond)" = file && reverts below
'

test_expect_success 'undo where a repository came into the directory that goes: it is kept whole, and redo brings it back' '
	new_workspace into && rm -r "${ws:?}/src" && echo file >"${ws:?}/src" && state_of "$ws" >before && git -C p ews revert into -- src/deep/er/file >out && test_grep "Status: Verified" out &&
	git init -q "${ws:?}/src/mine" && echo mine >"${ws:?}/src/mine/file" && git -C p ews undo into && state_of "$ws" >got && test_cmp before got &&
	git -C p ews undo --redo into && test "$(cat "${ws:?}/src/mine/file")" = mine && cmp p/src/deep/er/file "${ws:?}/src/deep/er/file" && reverts into
'

test_expect_success 'a path whose directory is gone: it comes back in it, and undo leaves no empty directory' '
	new_workspace orphan && rm -r "${ws:?}/src" && state_of "$ws" >before && git -C p ews revert orphan -- src/deep/er/file >out && test_grep "Status: Verified" out &&
	cmp p/src/deep/er/file "${ws:?}/src/deep/er/file" && (cd "$ws" && find src ! -type d) >found && echo src/deep/er/file >want && test_cmp want found && state_of "$ws" >after &&
	git -C p ews undo orphan && state_of "$ws" >got && test_cmp before got && git -C p ews undo --redo orphan && state_of "$ws" >got && test_cmp after got && reverts orphan
'

test_expect_success 'undo and redo where somebody took the directory away meanwhile, or put a file in its place' '
	new_workspace taken && echo edit >>"${ws:?}/src/deep/er/file" && cp "${ws:?}/src/deep/er/file" edited && git -C p ews revert taken -- src/deep/er/file &&
	rm -r "${ws:?}/src" && state_of "$ws" >without && git -C p ews undo taken && cmp edited "${ws:?}/src/deep/er/file" && git -C p ews undo --redo taken && state_of "$ws" >got && test_cmp without got &&
	git -C p ews undo taken && git -C p ews undo --redo taken && echo file >"${ws:?}/src" && state_of "$ws" >file && git -C p ews undo taken && cmp edited "${ws:?}/src/deep/er/file" &&
	git -C p ews undo --redo taken && state_of "$ws" >got && test_cmp file got && reverts taken
'

test_expect_success 'undo of what went to trash whole, where somebody took its directory away: it comes back, and redo leaves no empty directory' '
	new_workspace whole && rm -r "${ws:?}/src/deep" && perl -MSocket -e "chdir shift or die; socket(S, PF_UNIX, SOCK_STREAM, 0) && bind(S, sockaddr_un(q(deep))) or die" "${ws:?}/src" && git -C p ews revert whole -- src/deep/er/file && cmp p/src/deep/er/file "${ws:?}/src/deep/er/file" &&
	rm -r "${ws:?}/src" && state_of "$ws" >without && git -C p ews undo whole && test -S "${ws:?}/src/deep" && git -C p ews undo --redo whole && state_of "$ws" >got && test_cmp without got &&
	git -C p ews undo whole && test -S "${ws:?}/src/deep" && reverts whole
'

test_expect_success 'P4: of a new directory whose ignored files went to trash with it redo takes all away again, and undo brings all back' '
	new_workspace wholly && snap=$(git -C p ews snapshot create wholly) && mkdir -p "${ws:?}/fresh/out" && echo built >"${ws:?}/fresh/out/f" && echo built >"${ws:?}/fresh/x.o" && printf "*.o\nout\n" >"${ws:?}/.gitignore" && for more in fresh/y.o fresh/new; do
		echo more >"${ws:?}/$more" && state_of "$ws" >before && for verb in "revert wholly" "snapshot restore $snap wholly"; do
			git -C p ews $verb -- fresh >out && test_path_is_missing "${ws:?}/fresh" && state_of "$ws" >after && git -C p ews undo wholly && state_of "$ws" >got && test_cmp before got && git -C p ews undo --redo wholly && test_path_is_missing "${ws:?}/fresh" && state_of "$ws" >got && test_cmp after got &&
			git -C p ews undo wholly && state_of "$ws" >got && test_cmp before got || { echo >&2 "$more $verb"; return 1; }
		done || return 1
	done && reverts wholly
'

# taken <id>: a workspace in which a revert takes an ignored directory, a file that has a name in there, and a repository to trash; $before is
# a file that says what it was, $step the step.
taken() {
	new_workspace "$1" && mkdir "${ws:?}/out" && echo new >"${ws:?}/new" && ln "${ws:?}/new" "${ws:?}/out/x" && git init -q "${ws:?}/nested" && before=$1.before && state_of "$ws" >"$before" &&
		git -C p ews revert "$1" && test_path_is_missing "${ws:?}/new" && step=$(git -C p ews undo --list "$1" | sed -n "s/.*\(op-[^ ]*\).*/\1/p") && test_path_is_dir "$HOME/.superqode/working/p/trash/${step:?}/f0"
}

test_expect_success STRACE 'P4: what could not come back from trash comes back to its own place when it is its turn again' '
	taken stays && test_expect_code 1 test_strace trace -P "$HOME/.superqode/working/p/trash/${step:?}" -e trace=renameat2 -e inject=renameat2:error=EIO git -C p ews undo stays 2>err && test_grep INJECTED trace && test_grep "nested (stays in trash" err && test_path_is_missing "${ws:?}/new" &&
	git -C p ews undo --redo stays && git -C p ews undo stays 2>err && test_grep ! "stays in trash" err && state_of "$ws" >got && test_cmp "$before" got && test_path_is_dir "${ws:?}/nested/.git" && test "${ws:?}/new" -ef "${ws:?}/out/x" && reverts stays
'

test_expect_success 'P4: an undo that was killed when all had come back from trash is finished, and takes none of it away' '
	taken back && test_expect_code 137 "$EWS_BUILD/t/killat" -c "rename.*undo/$step[.]json" 2 "$EWS_BIN/git-ews" -C p undo back >out 2>&1 && test_path_is_file "${ws:?}/new" && git -C p ews recover --all 2>err && test_grep ! "after all" err &&
	state_of "$ws" >got && test_cmp "$before" got && test_path_is_dir "${ws:?}/nested/.git" && test "${ws:?}/new" -ef "${ws:?}/out/x" && git -C p ews undo --redo back && git -C p ews undo back && state_of "$ws" >got && test_cmp "$before" got && reverts back
'

test_expect_success 'P5: the undo of a step whose list of what was moved makes no sense is not begun' '
	taken outside && record=$HOME/.superqode/working/p/undo/$step.json && cp "$record" good.json && state_of "$ws" >reverted && sed "s,new\\\\tf,../&," good.json >"$record" && cp "$record" bad.json && test_expect_code 1 git -C p ews undo outside 2>err && test_grep "names .*[.][.]/new" err &&
	cmp bad.json "$record" && state_of "$ws" >got && test_cmp reverted got && cp good.json "$record" && git -C p ews undo outside && state_of "$ws" >got && test_cmp "$before" got && reverts outside
'

test_expect_success 'P4: what came into a directory that was made on the way stays where it is when that is undone' '
	new_workspace came && rm -r "${ws:?}/src" && git -C p ews revert came -- src/deep/er/file && printf "*.o\n" >>p/.git/info/exclude &&
	echo mine >"${ws:?}/src/deep/new.o" && git -C p ews undo came && test "$(cat "${ws:?}/src/deep/new.o")" = mine && test_path_is_missing "${ws:?}/src/deep/er" && reverts came
'

test_expect_success 'P3: a path in what is ignored, or in a repository of its own, is not called verified' '
	new_workspace within && git init -q "${ws:?}/lib" && echo mine >"${ws:?}/lib/file" && mkdir "${ws:?}/out" && echo out >>"${ws:?}/.gitignore" && echo mine >"${ws:?}/out/file" && state_of "$ws" >before &&
	for path in lib/file out/file; do
		test_expect_code 128 git -C p ews revert within -- src/main.c $path >out 2>err && test_must_be_empty out && test_grep "$path. lies in .${path%/*}., which" err && state_of "$ws" >after && test_cmp before after || return 1
	done && git -C p ews revert within -- lib out >out && test_path_is_missing "${ws:?}/lib" && test_path_is_missing "${ws:?}/out" && reverts within
'

test_expect_success '--to: another snapshot, its index too; and back to the base' '
	new_workspace to && (cd "$ws" && echo one >>src/main.c && git add src/main.c && echo new >new && git commit -qm c) &&
	snap=$(cd "$ws" && git ews snapshot create) && state_of "$ws" >snap.want &&
	(cd "$ws" && echo two >>src/main.c && rm new && git add -A && rm -r docs) &&
	git -C p ews revert --to $snap to >out && test_grep "Status: Verified" out && state_of "$ws" >got && test_cmp snap.want got &&
	reverts to && git -C p ews revert --to $snap to >out && state_of "$ws" >got && test_cmp snap.want got &&
	test_expect_code 128 git -C p ews revert --to snap-00000000-000000-000000 to >out 2>err && test_must_be_empty out &&
	state_of "$ws" >got && test_cmp snap.want got
'

test_expect_success '--verify=full re-reads all, and other values are usage errors' '
	echo edit >>"${ws:?}/src/main.c" && reverts to --verify=full &&
	test_expect_code 129 git -C p ews revert --verify=nonsense to
'

test_expect_success STRACE 'P3: --verify=full opens every file after the put, the usual proof only what is unproven' '
	sleep 1 && reverts to && echo edit >>"${ws:?}/src/main.c" && sleep 1 &&
	test_strace log -e trace=openat,openat2 git -C p ews revert to >out && test_must_fail grep "image.bin" log &&
	echo edit >>"${ws:?}/src/main.c" &&
	test_strace log -e trace=openat,openat2 git -C p ews revert --verify=full to >out && test_grep "image.bin" log
'

test_expect_success 'P3: the same again changes nothing' '
	reverts to && git -C p for-each-ref refs/ews >before && reverts to && test_grep "restored: 0\$" revert.out &&
	git -C p for-each-ref refs/ews >after && test_cmp before after
'

test_expect_success STRACE 'P3: what a revert found to be its base need not be read to know it again; whatever changes then is found' '
	# one change a line, made in the workspace
	cat >changes <<-\EOF &&
	cp -p run.sh ../run.sh && tr a-z b-za <../run.sh >run.sh && touch -r ../run.sh run.sh
	chmod 600 run.sh
	touch work/untracked
	touch -d "2003-04-05 06:07:08" src/main.c
	git add work/untracked
	git commit -q --allow-empty -m settled
	echo words >"$(git rev-parse --git-path MERGE_MSG)"
	git checkout -q -b settled
	mkdir "$(git rev-parse --git-path rebase-merge)"
	echo new >work/new
	rm work/link
	rm work/untracked && mkdir work/untracked
	mkdir work/empty/more
	rmdir work/empty
	ln work/staged work/again
	mkfifo work/pipe
	chmod 711 .
	rm .git && echo "gitdir: /nowhere" >.git
	echo "*.log" >>.gitignore && echo product >work/product.log
	EOF
	new_workspace settled && sleep 0.03 && reverts settled && reverts settled && test_strace calls -e trace=openat git -C p ews revert settled >out &&
	test_grep "^  Status: Verified\$" out && test_grep state.json calls && test_must_fail grep -F "\"base\"" calls &&
	while read -r change; do
		(cd "$ws" && eval "$change") && reverts settled && sleep 0.03 && reverts settled && reverts settled || {
			echo "# $change" && return 1
		}
	done <changes
'

test_expect_success STRACE 'P3: it is read all the same where more is asked, or another state' '
	settle() { sleep 0.03 && reverts settled && reverts settled; } &&
	settle && reverts settled --verify=full && snap=$(git -C p ews snapshot create settled) && git -C p ews revert --to "$snap" settled >out && test_grep "^  Status: Verified\$" out && settle &&
	echo more >>"${ws:?}/run.sh" && other=$(git -C p ews snapshot create settled) && settle && git -C p ews revert --to "$other" settled >out && test_grep "restored: 1\$" out && reverts settled
'

can_fix() {
	touch fixed && chattr +i fixed 2>/dev/null && ! rm -f fixed 2>/dev/null && chattr -i fixed
}
can_fix && test_set_prereq IMMUTABLE

test_expect_success 'P4: an end in place that is done again tells what it put back' '
	test_repo again && git -C again ews start --method in-place a && echo agent >>again/run.sh && git -C again ews end a && git -C again ews undo a && echo person >again/person && echo person >>again/run.sh && git -C again ews undo --redo a >out 2>err &&
	test_grep "^Done again: end of a" out && test_grep "^  Paths: 1 restored, 1 deleted" out && git -C again ews undo a && git -C again ews undo a && test "$(cat again/person)" = person && git -C again ews end a
'

test_expect_success 'P4: in place, where nothing was done since the undo of an end, redo leaves the project as it is, and what waits goes on waiting; what was done since is named' '
	test_repo theirs && cp -R theirs theirs-plain && rm -rf theirs-plain/.git && for p in theirs theirs-plain; do
		git -C $p ews start --method in-place t && echo agent >>${p:?}/run.sh && git -C $p ews end --pending t && echo person >${p:?}/person && echo person >>${p:?}/run.sh && echo built >${p:?}/person.o && files_of $p >want && cp ${p:?}/.superqode/qe-artifacts/patches/t.patch patch &&
		git -C $p ews undo t && files_of $p >got && test_cmp want got && git -C $p ews undo --redo t >out 2>err && test_grep ! "Paths:" out && test_grep ! "changed since" err && files_of $p >got && test_cmp want got &&
		git -C $p ews pending list >out && test_grep "^t " out && test_cmp patch ${p:?}/.superqode/qe-artifacts/patches/t.patch && git -C $p ews undo t && echo later >>${p:?}/run.sh && echo later >${p:?}/later && git -C $p ews undo --redo t 2>err &&
		test_grep "changed since then, and kept in trash: later\$" err && test_grep "changed since then, and kept in trash: run.sh\$" err && test_grep ! "trash: person" err && files_of $p >got && test_cmp want got &&
		git -C $p ews undo t && git -C $p ews undo t && test "$(cat ${p:?}/later)" = later && git -C $p ews undo t && test "$(tail -1 ${p:?}/run.sh)" = agent && test_path_is_missing ${p:?}/person &&
		for n in 1 2 3; do git -C $p ews undo --redo t || return 1; done && files_of $p >got && test_cmp want got || return 1
	done &&
	git -C theirs ews undo t && git -C theirs ews undo --redo t && echo tracked >theirs/tracked && git -C theirs add tracked && git -C theirs commit -qm person && git -C theirs rev-parse HEAD >want && git -C theirs ews undo t && git -C theirs ews undo --redo t && git -C theirs rev-parse HEAD >got && test_cmp want got
'

test_expect_success STRACE 'P4: the same where undo or redo is killed, and recover comes after' '
	test_repo halves && git -C halves ews start --method in-place h && echo agent >>halves/run.sh && git -C halves ews end --pending h && echo person >halves/person && files_of halves >want && for n in 1 2 3 4 5 6 7 8 9 10 11 12; do
		for redo in "" --redo; do
			{ test_strace calls -e trace=renameat,renameat2,linkat -e inject=renameat,renameat2,linkat:signal=KILL:when=$n git -C halves ews undo $redo h || :; } && git -C halves ews recover --all && git -C halves ews list >out &&
			case "$redo$(grep -c "^h *active" out)" in 0 | --redo1) git -C halves ews undo $redo h ;; esac && files_of halves >got && test_cmp want got || return 1
		done && git -C halves ews pending list >out && test_grep "^h " out || return 1
	done
'

test_expect_success IMMUTABLE 'P3: an end in place that is done again, and can not put the project back, is none' '
	test_repo stuck && git -C stuck ews start --method in-place s && git -C stuck ews end s && git -C stuck ews undo s && test_when_finished "chattr -f -i stuck/run.sh || :" && echo edit >>stuck/run.sh && chattr +i stuck/run.sh &&
	test_expect_code 1 git -C stuck ews undo --redo s >out 2>err && test_grep "^error: the session goes on, since the project could not be put back: .run.sh.: " err && test_must_be_empty out && git -C stuck ews status s >out && test_grep "active" out && chattr -i stuck/run.sh && git -C stuck ews end s && git -C stuck diff --exit-code
'

test_expect_success IMMUTABLE 'P3: what cannot be put back is named, and nothing is called verified' '
	new_workspace fixed && test_when_finished "chattr -f -i \"${ws:?}/run.sh\" \"${ws:?}/stays\" || :" &&
	echo edit >>"${ws:?}/run.sh" && echo edit >>"${ws:?}/src/main.c" && echo new >"${ws:?}/stays" && chattr +i "${ws:?}/run.sh" "${ws:?}/stays" &&
	test_expect_code 1 git -C p ews revert fixed >out 2>err && cat out err >both &&
	test_grep "^✗ Revert Incomplete\$" out && test_grep "^  Status: Not verified\$" out && test_grep ! "Status: Verified" both &&
	test_grep run.sh both && test_grep stays both && cmp p/src/main.c "${ws:?}/src/main.c" &&
	test_expect_code 1 git -C p ews revert --json fixed >out 2>err && test_json out .verified false &&
	json out .errors >errors && test_grep run.sh errors &&
	chattr -i "${ws:?}/run.sh" "${ws:?}/stays" && git -C p ews recover --all >out 2>&1 && reverts fixed
'

test_expect_success 'P3: with a damaged store revert fails, and writes no bad bytes' '
	test_repo damaged && echo precious >damaged/untracked && start_ws damaged dam &&
	blob=$(git -C damaged rev-parse refs/ews/sessions/dam:untracked) &&
	mkdir packs && find damaged/.git/objects/pack -type f -exec mv {} packs/ \; &&
	for pack in packs/*.pack; do test ! -e "$pack" || git -C damaged unpack-objects -q <"$pack" || return 1; done &&
	loose=damaged/.git/objects/$(echo $blob | cut -c1-2)/$(echo $blob | cut -c3-) && chmod u+w $loose &&
	echo other | git hash-object --stdin >/dev/null && printf "x\234garbage" >$loose &&
	echo changed >"${ws:?}/untracked" && rc=0 && { git -C damaged ews revert dam >out 2>err || rc=$?; } &&
	case $rc in 1 | 128) ;; *) false ;; esac && test_grep ! "Status: Verified" out && cat out err >both && test_grep -E "untracked|$blob" both &&
	{ test ! -e "${ws:?}/untracked" || test "$(cat "${ws:?}/untracked")" = changed; }
'

test_expect_success 'no such session, none at all, and two to choose from' '
	test_expect_code 128 git -C p ews revert nobody 2>err && test_grep nobody err &&
	git init -q alone && test_expect_code 128 git -C alone ews revert >out 2>err && test_must_be_empty out &&
	rc=0 && { git -C p ews revert >out 2>err || rc=$?; } &&
	case $rc in 128 | 129) ;; *) false ;; esac && test_must_be_empty out && test_grep "^hint: " err
'

test_expect_success '$EWS_SESSION names the session; the current directory goes before it' '
	new_workspace env1 && one=$ws && echo x >>"${one:?}/src/main.c" && new_workspace env2 && echo x >>"${ws:?}/src/main.c" &&
	(EWS_SESSION=env1 && export EWS_SESSION && git -C p ews revert) >out && cmp p/src/main.c "${one:?}/src/main.c" &&
	echo y >>"${one:?}/src/main.c" && (EWS_SESSION=env1 && export EWS_SESSION && cd "$ws" && git ews revert) >out &&
	cmp p/src/main.c "${ws:?}/src/main.c" && test_must_fail cmp p/src/main.c "${one:?}/src/main.c"
'

test_expect_success 'P4: where a session cannot be read just now none that was not named is taken for the only one' '
	test_repo meant && git -C meant ews start a && start_ws meant b && echo agent >>"${ws:?}/src/main.c" && cp "${ws:?}/src/main.c" want && look=0 && while test_more_looks; do
		test_look EIO "/sessions(/a(/state.json)?)?$" -C meant revert >out 2>err && test $code != 0 && cmp want "${ws:?}/src/main.c" || return 1
	done && test $look -gt 4 && test_repo here && git -C here ews start --method in-place s && look=0 && while test_more_looks; do
		test_look EIO "/sessions(/s(/state.json)?)?$" -C here snapshot create --json >json 2>err && if test $code = 0; then test_json json .session_id s; fi || return 1
	done && test $look -gt 4 && git -C here ews end s && git -C here ews start --method in-place other && look=0 && while test_more_looks; do
		test_look EIO "/sessions(/other(/state.json)?)?$" -C here undo s >out 2>err && test $code != 0 || return 1
	done && test $look -gt 4
'

# stopped_at <name> <command> <verb and arguments>...: the verb, stopped when it has removed <name>; 1 says that it left something.
stopped_at() {
	test_stopped_at unlinkat "$@" || test $? = 1
}

test_expect_success STRACE 'P4: what somebody writes between the look and the write stays, and is named: a session, in place, the project' '
	test_repo since && start_ws since late && echo work >>"${ws:?}/src/main.c" && echo new >"${ws:?}/zz-new" && stopped_at zz-new "echo edit >>\"\${ws:?}/src/main.c\"" -C since revert late &&
	test_grep "Status: Not verified" out && test_grep "main.c.*changed meanwhile" out && test "$(tail -n 2 "${ws:?}/src/main.c" | tr "\n" " ")" = "work edit " &&
	git -C since ews revert late >out && test_grep "Status: Verified" out && git -C since ews undo late && test "$(tail -n 1 "${ws:?}/src/main.c")" = edit &&
	echo new >"${ws:?}/zz-new" && git -C since ews apply late && stopped_at zz-new "echo edit >>since/src/main.c" -C since undo && test_grep "main.c.*changed meanwhile" err && test "$(tail -n 1 since/src/main.c)" = edit &&
	git -C since checkout -q . && git -C since ews end late && git -C since ews start --method in-place here && echo work >>since/src/main.c && echo new >since/zz-new && stopped_at zz-new "echo edit >>since/src/main.c" -C since revert here &&
	test_grep "main.c.*changed meanwhile" out && test "$(tail -n 1 since/src/main.c)" = edit && git -C since ews revert here && git -C since ews end here
'

test_expect_success STRACE 'P4: what somebody commits or stages between the look and the write stays, and is named; what git refreshes does not' '
	test_repo gits && git -C gits ews start --method in-place here && echo work >>gits/src/main.c && echo new >gits/zz-new &&
	stopped_at zz-new "echo his >gits/his && git -C gits add his && git -C gits commit -qm his && git -C gits rev-parse HEAD >his" -C gits revert here && test_grep "Status: Not verified" out && test_grep "Differs: branch" out &&
	git -C gits rev-parse HEAD >head && test_cmp his head && git -C gits ls-files --error-unmatch his && git -C gits ews revert here && git -C gits for-each-ref --contains "$(cat his)" refs/ews | grep . && git -C gits ews undo here &&
	git -C gits rev-parse HEAD >head && test_cmp his head && git -C gits ews revert here && echo new >gits/zz-new && stopped_at zz-new "touch gits/src/main.c && git -C gits update-index --refresh" -C gits revert here && test_grep "Status: Verified" out &&
	git -C gits ews end here && start_ws gits agent && echo new >"${ws:?}/zz-new" && stopped_at zz-new "echo staged >\"\${ws:?}/his\" && git -C \"\${ws:?}\" add his && rm \"\${ws:?}/his\"" -C gits revert agent &&
	test_grep "Differs: index" out && test "$(git -C "${ws:?}" show :his)" = staged && git -C gits ews revert agent && git -C gits ews undo agent && test "$(git -C "${ws:?}" show :his)" = staged
'

# The branch is about to be put back, and somebody's commit moves it just then: it stays, and is named; the next revert takes it back.
goes_on() {
	at=0 && test_stopped_at access "$PWD/moves/.git/refs/heads/main.lock" "git -C moves update-ref refs/heads/main $(git -C moves commit-tree -m his HEAD:) $(git -C moves rev-parse main) && git -C moves rev-parse main >his" -C moves revert here || at=$? && test $at = 1 && test_grep "Status: Not verified" out &&
		test_grep "Differs:.* branch" out && git -C moves rev-parse main >"head" && test_cmp his head && git -C moves ews status >out && test_grep ! interrupted out && git -C moves ews revert here >out && test_grep "Status: Verified" out && git -C moves rev-parse main >"head" && test_cmp base head
}

test_expect_success STRACE 'P4: in place: who commits at the very moment when the branch is put back keeps his commit, whether HEAD had left it or not' '
	test_repo moves && git -C moves rev-parse main >base && git -C moves ews start --method in-place here && echo work >>moves/src/main.c && git -C moves commit -qam work && goes_on && git -C moves for-each-ref --contains "$(cat his)" refs/ews | grep . &&
	git -C moves commit -q --allow-empty -m work && git -C moves checkout -qb other && goes_on && test_grep "stays at $(cat his)" err && git -C moves ews end here
'

# What was staged while the index was put back would be lost with it: so nothing is.
stages_nothing() {
	echo his >"${1:?}/his" && test_must_fail git -C "$1" add his 2>said && test_grep "index.lock" said && rm "${1:?}/his"
}

# Nobody holds the lock of the index in <dir>.
no_lock() {
	admin=$(git -C "$1" rev-parse --absolute-git-dir) && test_path_is_missing "${admin:?}/index.lock"
}

# The session in <dir> is put back under that lock, and where it was killed as well.
is_locked() {
	echo staged >>"${1:?}/src/main.c" && git -C "$1" add src/main.c && test_stopped_at linkat index.lock "stages_nothing \"$1\"" -C gits revert locked && test_grep "Status: Verified" out && no_lock "$1" && for at in 1 2 3 4 5 6 7 8 9 10 11 12; do
		echo "staged $at" >>"${1:?}/src/main.c" && git -C "$1" add src/main.c && code=0 && { "$EWS_BUILD/t/killat" -w 60 -c "index.lock" "$at" git-ews -C gits revert locked >out 2>err || code=$?; } && { test "$code" != 199 || break; } && test "$code" = 137 &&
			git -C gits ews recover --all && no_lock "$1" && git -C gits ews revert locked >out && test_grep "Status: Verified" out && test_grep ! "index.lock" out || return 1
	done && test "$code" = 199 && test "$at" -gt 2
}

test_expect_success STRACE 'P4: nobody stages anything between the last look at the index and its write, in place or in a workspace; of a killed one no lock stays' '
	git -C gits ews end agent && git -C gits ews start --method in-place locked && is_locked gits && git -C gits ews end locked && start_ws gits locked && is_locked "$ws" && git -C gits ews end locked
'

test_expect_success 'P4: a lock that was put away and comes back is not removed with ours, nor is what others put in its place' '
	test_repo putaway && start_ws putaway agent && lock=$(git -C "${ws:?}" rev-parse --absolute-git-dir) && echo x >"${ws:?}/run.sh" && echo his >"${lock:?}/index.lock" && git -C putaway ews revert agent && test_path_is_missing "${lock:?}/index.lock" && git -C putaway ews undo agent && test "$(cat "${lock:?}/index.lock")" = his && rm "${lock:?}/index.lock" &&
	test_strace log -P index.lock -e trace=unlinkat git-ews -C putaway revert agent && grep -c "unlinkat(.*\"index.lock\"" log >n && test "$(cat n)" = 1 && git -C putaway ews end agent
'

# stands <dir>: a git that has nothing to do stands there, until it is killed.
stands() {
	sleep 30 3>&- 4>&- 5>&- | (cd "${1:?}" && exec git cat-file --batch >/dev/null) 3>&- 4>&- 5>&- &
	git_pid=$!
}

test_expect_success 'P4: a lock of ours whose holder was killed is taken away whatever git stands there, and no undo brings it back' '
	test_repo stood && for method in in-place worktree snapshot; do
		start_ws stood agent --method $method && test "$method" != in-place || ws=$PWD/stood && lock=$(git -C "${ws:?}" rev-parse --absolute-git-dir) && echo x >>"${ws:?}/run.sh" && git -C "$ws" add run.sh && stands "$ws" && for at in 1 2 3 4 5 6 7 8 9 10 11 12; do
			echo "staged $at" >>"${ws:?}/src/main.c" && git -C "$ws" add src/main.c && code=0 && { "$EWS_BUILD/t/killat" -w 60 -c "index.lock" $at git-ews -C stood revert agent >out 2>err || code=$?; } && { test $code != 199 || break; } && test $code = 137 &&
				git -C stood ews recover --all && ls "${lock:?}" >has && test_grep ! "index.lock" has && { git -C stood ews undo agent || :; } && ls "$lock" >has && test_grep ! "index.lock" has && git -C "$ws" add . && git -C stood ews revert agent >out && test_grep "Status: Verified" out || return 1
		done && test $code = 199 && test $at -gt 2 && kill $git_pid && git -C stood ews end agent || return 1
	done
'

# held <git directory>: git has its index locked for a moment.
held() {
	: >"${1:?}/index.lock" || return 1
	{ sleep 0.2 && rm "${1:?}/index.lock"; } >/dev/null 2>&1 &
}

# The agent's work in $ws is committed, and goes.
work() {
	echo work >>"${ws:?}/src/main.c" && git -C "$ws" commit -qam work && echo new >"${ws:?}/zz-new"
}

# All of it went, and git's state with it.
is_back() {
	test_grep "Status: Verified" out && test_grep ! "index.lock" err && test "$(git -C "${ws:?}" rev-parse HEAD)" = "$base" && test -z "$(git -C "$ws" status --porcelain)"
}

# An index that git made anew twice may have the inode of ours, which has gone: to look at, it was touched.
test_expect_success STRACE 'P4: a lock that git has for a moment is nobody'"'"'s work, nor is an index that it refreshed when that was back; a lock that stays is' '
	test_repo polled && start_ws polled agent && lock=$(git -C "${ws:?}" rev-parse --absolute-git-dir) && base=$(git -C "$ws" rev-parse HEAD) &&
	work && stopped_at zz-new "held \"\$lock\"" -C polled revert agent && is_back && work && : >"${lock:?}/index.lock" && stopped_at zz-new "rm \"\${lock:?}/index.lock\"" -C polled revert agent && is_back &&
	work && test_stopped_at rename,renameat,renameat2 index "git -C \"\${ws:?}\" status" -C polled revert agent && is_back &&
	work && test_stopped_at rename,renameat,renameat2 index "cp \"\${lock:?}/index\" made && mv made \"\${lock:?}/index\"" -C polled revert agent && is_back &&
	work && test_stopped_at "fsync#2" "$lock" "touch \"\${lock:?}/index\"" -C polled revert agent && is_back &&
	git -C "$ws" update-index --split-index && work && stopped_at zz-new "git -C \"\${ws:?}\" update-index --split-index" -C polled revert agent && is_back &&
	work && stopped_at zz-new ": >\"\${lock:?}/index.lock\"" -C polled revert agent && test_grep "Differs: index.lock" out && test_path_is_file "${lock:?}/index.lock" && rm "${lock:?}/index.lock" && git -C polled ews revert agent >out 2>err && is_back && git -C polled ews end agent &&
	git -C polled ews start --method in-place here && ws=$PWD/polled && lock=${ws:?}/.git && work && { held "$lock" && git -C polled ews revert here >out 2>err; } && is_back && git -C polled ews end here
'

# sleeps <git directory> <name>: how often a revert of old waits while that lock, which is an hour old, is there.
sleeps() {
	echo work >>"${ws:?}/src/main.c" && touch -d "1 hour ago" "${1:?}/$2" && test_strace log -e trace=clock_nanosleep "$EWS_BIN/git-ews" -C passing revert old >out 2>err
	rm -f "${1:?}/$2" && grep -c "clock_nanosleep(" log
}

test_expect_success STRACE 'a lock that went while it was waited for is not named by undo; one that has been there for long is not waited for' '
	test_repo passing && start_ws passing old && lock=$(git -C "${ws:?}" rev-parse --absolute-git-dir) && echo new >"${ws:?}/zz-new" && : >"${lock:?}/index.lock" && stopped_at zz-new "rm \"\${lock:?}/index.lock\"" -C passing revert old && test_grep "Status: Verified" out && git -C passing ews undo old 2>err && test_grep ! "index.lock" err && git -C passing ews revert old &&
	for name in index.lock HEAD.lock; do
		{ n=$(sleeps "$lock" $name) || test "$n" = 0; } && test "$n" -lt 4 && test_grep "Status: Verified" out || return 1
	done
'

# unread_since <n>: a revert of agent, stopped as above, to whom the n-th open of a git directory fails; meanwhile somebody stages "his".
unread_since() {
	rm -f stopped.log ended
	{
		test_strace stopped.log -qq -P zz-new -P .git -e trace=unlinkat,openat -e inject=unlinkat:signal=SIGSTOP:when=1 -e inject="openat:error=EIO:when=$1" "$EWS_BIN/git-ews" -C read revert agent >out 2>err
		: >ended
	} 3>&- 4>&- 5>&- &
	test_wait_for 30 sh -c "grep -qs 'stopped by SIGSTOP' stopped.log || test -e ended" && if grep -q "stopped by SIGSTOP" stopped.log; then
		echo his >"${ws:?}/his" && git -C "$ws" add his && rm "${ws:?}/his"
		kill -CONT "$(sed -n "/stopped by SIGSTOP/{s/ .*//p;q}" stopped.log)"
	fi
	wait $!
}

test_expect_success STRACE 'P4: what was staged meanwhile stays where git'"'"'s state can not be opened just now, too' '
	test_repo read && git -C read ews start --method snapshot agent >path && take_ws path && n=1 && while :; do
		echo new >"${ws:?}/zz-new" && unread_since $n && { ! grep -q "stopped by SIGSTOP" stopped.log || test_grep ! "Status: Verified" out; } && git -C read ews recover --all && { grep -q INJECTED stopped.log || break; } && git -C read ews revert agent && n=$((n + 1)) || return 1
	done && test $n -gt 3
'

test_expect_success STRACE 'P2: a branch that an undo left where it was, since somebody staged meanwhile, goes back with the next one' '
	test_repo led && git -C led ews start --method in-place here && init=$(git -C led rev-parse HEAD) && git -C led rm -q run.sh && git -C led commit -qm one && one=$(git -C led rev-parse HEAD) &&
	git -C led checkout -qb foo && git -C led commit -q --allow-empty -m two && foo=$(git -C led rev-parse foo) && git -C led ews revert here && main_is() { test "$(git -C led rev-parse main)" = "$1"; } && main_is "$init" &&
	stopped_at run.sh "echo his >led/his && git -C led add his" -C led undo here && test_grep "main. stays at $init, and does not go back to $one" err && test_grep ! "goes from" err && main_is "$init" && git -C led ls-files --error-unmatch his &&
	git -C led ews undo --redo here && main_is "$init" && git -C led ews undo here 2>err && test_grep "main. goes from $init back to $one" err && main_is "$one" && test "$(git -C led symbolic-ref HEAD)" = refs/heads/foo && test "$(git -C led rev-parse foo)" = "$foo" &&
	echo new >led/zz-new && stopped_at zz-new "git -C led commit -q --allow-empty -m his" -C led revert here && test_grep "main. stays at $one" err && main_is "$one" && git -C led ews undo here 2>err && test_grep ! "main. goes" err && main_is "$one" &&
	git -C led ews revert here && main_is "$init" && git -C led ews end here
'

test_expect_success STRACE 'P2: a rebase comes back with the HEAD and the index that are its own, or stays away' '
	test_repo going && start_ws going agent && admin=$(git -C "${ws:?}" rev-parse --git-dir) && git -C "${ws:?}" rm -q run.sh && git -C "${ws:?}" commit -qm one && head=$(git -C "${ws:?}" rev-parse HEAD) && test_must_fail git -C "${ws:?}" rebase -q -x false HEAD~1 && test_path_is_dir "${admin:?}/rebase-merge" &&
	git -C going ews revert agent && stopped_at run.sh "echo his >\"\${ws:?}/his\" && git -C \"\${ws:?}\" add his" -C going undo agent && test_grep "rebase-merge" err && test_path_is_missing "${admin:?}/rebase-merge" && test "$(git -C "${ws:?}" rev-parse HEAD)" != "$head" &&
	git -C going ews undo --redo agent && test_path_is_missing "${admin:?}/rebase-merge" && git -C going ews undo agent && test_path_is_dir "${admin:?}/rebase-merge" && test "$(git -C "${ws:?}" rev-parse HEAD)" = "$head" && git -C "${ws:?}" rebase --abort
'

test_expect_success STRACE 'P4: it stays, too, where size and time are those that were seen, or it is one long write that goes on; a mode or a name is no edit' '
	test_repo kept && start_ws kept late && mine() { printf "MINE!\n" >"${ws:?}/$1" && touch -d "2001-02-03 04:05:06" "${ws:?}/$1"; } && for f in run.sh one; do printf "agent\n" >"${ws:?}/$f" && touch -d "2001-02-03 04:05:06" "${ws:?}/$f" || return 1; done &&
	ln "${ws:?}/one" "${ws:?}/two" && ln -s agent "${ws:?}/link-1" && ln -P "${ws:?}/link-1" "${ws:?}/link-2" && echo closed >"${ws:?}/closed" && touch -d "2001-02-03 04:05:06" "${ws:?}/closed" && echo new >"${ws:?}/zz-new" && stopped_at zz-new "mine run.sh && mine one && chmod 0 \"\${ws:?}/closed\"" -C kept revert late &&
	test_grep "run.sh.*changed meanwhile" out && test_grep "one.*changed meanwhile" out && test_grep "two.*changed meanwhile" out && test "$(cat "${ws:?}/run.sh" "${ws:?}/one" "${ws:?}/two")" = "$(printf "MINE!\nMINE!\nMINE!")" && for f in closed link-1 link-2 zz-new; do test_path_is_missing "${ws:?}/$f" || return 1; done &&
	git -C kept ews revert late >out && test_grep "Status: Verified" out && truncate -s 64M "${ws:?}/big" && echo new >"${ws:?}/zz-new" &&
	{ "$EWS_BUILD/t/halfway" "${ws:?}/big" sh -c "touch begun && until test -e stopped; do sleep 0.05; done" 3>&- 4>&- 5>&- & } && writer=$! && test_wait_for 30 test -e begun && stopped_at zz-new "touch stopped && wait $writer" -C kept revert late &&
	test_grep "big.*changed meanwhile" out && test "$(tail -c 1 "${ws:?}/big")" = n
'

test_expect_success STRACE 'P3: what the kernel says it did and did not do is found by the proof' '
	test_repo lied && start_ws lied lie && echo new >"${ws:?}/new" &&
	test_expect_code 1 test_strace log -qq -e trace=unlinkat -e inject=unlinkat:retval=0 git -C lied ews revert lie >out 2>err &&
	test_grep "^  Status: Not verified\$" out && cat out err >both && test_grep new both && test_path_is_file "${ws:?}/new"
'

test_expect_success STRACE 'P3: an index that did not come back is found by the proof' '
	git -C lied ews revert lie >out && index=$(git -C "$ws" rev-parse --git-path index) && touch "$index" &&
	test_expect_code 1 test_strace log -qq -P index -e trace=renameat -e inject=renameat:retval=0 git -C lied ews revert lie >out 2>err &&
	test_grep "^  Status: Not verified\$" out && test_grep "Differs: index" out && git -C lied ews revert lie >out && test_grep "Status: Verified" out
'

test_expect_success STRACE 'P3: the hash of what is there after all is not that of what should be' '
	start_ws lied hash && git -C lied ews status hash && echo edit >>"${ws:?}/run.sh" && test_expect_code 1 test_strace log -qq -P run.sh -e trace=unlinkat \
		-e inject=unlinkat:retval=0 git -C lied ews revert --json hash >out 2>err && test_json out .verified false &&
	was=$(json out .original_hash) && test_json out .current_hash && ! test_json out .current_hash "$was"
'

# What a power failure leaves of an object that was not synced.
empty_object() {
	ews_object=$(git -C "$1" hash-object "${2:?}/f") && ews_object=${1:?}/.git/objects/${ews_object%"${ews_object#??}"}/${ews_object#??} && test -s "$ews_object" && chmod u+w "$ews_object" && : >"$ews_object"
}

test_expect_success 'P4: what goes is kept anew where an object of that content is there, but empty' '
	for algo in sha1 sha256; do
		git init -q --object-format=$algo o-$algo && (cd o-$algo && echo a >a && git add a && git commit -q -m one) &&
			for method in worktree snapshot; do
				start_ws o-$algo --method $method $method && echo "precious to $method" >"${ws:?}/f" && git -C o-$algo ews snapshot create $method >id && empty_object o-$algo "$ws" && test_expect_code 1 git -C o-$algo ews snapshot verify "$(cat id)" >out 2>err &&
					git -C o-$algo ews revert $method >out 2>err && test_grep ! warning err && test_path_is_missing "${ws:?}/f" && git -C o-$algo ews snapshot verify "$(cat id)" && git -C o-$algo ews undo $method && echo "precious to $method" | test_cmp - "${ws:?}/f" || return 1
			done || return 1
	done
'

test_expect_success 'P4: nor is what the base has taken for kept when it goes: its object may be empty, too' '
	test_repo from && echo "precious to all" >from/f && start_ws from s && rm "${ws:?}/f" && git -C from ews snapshot create s >id && git -C from ews revert s && test_path_is_file "${ws:?}/f" && empty_object from "$ws" &&
	git -C from ews revert --to "$(cat id)" s && test_path_is_missing "${ws:?}/f" && git -C from ews undo s && echo "precious to all" | test_cmp - "${ws:?}/f"
'

test_expect_success USERS 'P3: what the base could not look at, and can be read by now, is no part of what is proven: both hashes are one' '
	mkdir -p closed/q closed/home && echo 1 >closed/q/a && echo s >closed/q/secret && chmod 000 closed/q/secret && test_give_user closed && set -- test_as_user env SUPERQODE_HOME="$PWD/closed/home" git -C closed/q ews &&
	"$@" start --method in-place ip >out 2>err && chmod 600 closed/q/secret && for how in "" --verify=full; do
		echo 2 >closed/q/a && "$@" revert --json $how >out && test_json out .verified true && test "$(json out .original_hash)" = "$(json out .current_hash)" || return 1
	done && echo n >closed/q/a && "$@" revert >out 2>err && test_grep "not looked at.*secret" err && test_grep "Status: Verified" out && test "$(cat closed/q/secret)" = s
'

test_expect_success USERS 'P4: nor has anybody changed it since, says the undo; what a person did change is named' '
	set -- test_as_user env SUPERQODE_HOME="$PWD/closed/home" git -C closed/q ews && test_as_user touch closed/q/new && "$@" revert && "$@" undo 2>err && test_grep ! "changed since" err && test_path_is_file closed/q/new &&
	"$@" undo --redo 2>err && test_grep ! "changed since" err && test_as_user sh -c "echo mine >closed/q/a" && "$@" undo 2>err && test_grep "changed since then, and kept in trash: a\$" err && test_grep ! secret err
'

test_expect_success 'P8: what a person changed since is named also where what was seen last cannot be looked at just now, or nothing is done' '
	test_repo last && git -C last ews start --method in-place s && echo agent >last/agent && git -C last ews snapshot create && echo person >last/person && look=0 && while test_more_looks; do
		test_look EIO "/refs/ews/snapshots(/[^/]*)?$" -C last revert >out 2>err &&
			if test $code = 0 -o $code = 199; then test_grep "changed since then, and kept in trash: person$" err && git -C last ews undo && echo $look >last/person; fi && test_path_is_file last/person || return 1
	done && test $look -gt 2 && look=0 && while test_more_looks; do
		git -C last ews revert && echo mine >last/mine && test_look EIO "/refs/ews/(sessions|snapshots)(/[^/]*)?$" -C last undo >out 2>err &&
			if test $code != 0 -a $code != 199; then test_path_is_file last/mine && git -C last ews undo 2>err; fi && test_grep "changed since then, and kept in trash: mine$" err || return 1
	done && test $look -gt 2 && git -C last ews end s
'

test_expect_success IMMUTABLE 'P4: nor what the revert could not reach' '
	new_workspace reach && test_when_finished "chattr -f -i \"${ws:?}/stays\" || :" && echo new >"${ws:?}/stays" && chattr +i "${ws:?}/stays" && test_expect_code 1 git -C p ews revert reach && test_expect_code 0 git -C p ews undo reach 2>err && test_grep ! "changed since" err && echo new | test_cmp - "${ws:?}/stays"
'

# And of one that was not synced whole.
spoil_object() {
	spoilt=$(git -C "$2" hash-object "${3:?}") && spoilt=${2:?}/.git/objects/${spoilt%"${spoilt#??}"}/${spoilt#??} && size=$(stat -c %s "$spoilt") && chmod u+w "$spoilt" || return 1
	case $1 in zeros) head -c "$size" /dev/zero >"$spoilt" ;; short) truncate -s -3 "$spoilt" ;; half) truncate -s $((size / 2)) "$spoilt" ;; esac
}

test_expect_success 'P4: so it is where that is full of zeros, or cut short' '
	for algo in sha1 sha256; do
		git init -q --object-format=$algo s-$algo && (cd s-$algo && echo a >a && git add a && git commit -q -m one) && start_ws s-$algo s &&
			for how in zeros short half; do
				echo "precious, then $how" >"${ws:?}/f" && ln -s "to what was $how" "${ws:?}/l" && git -C s-$algo ews snapshot create s >id &&
					spoil_object $how s-$algo "${ws:?}/f" && printf %s "to what was $how" >text && spoil_object $how s-$algo "$PWD/text" &&
					timeout 20 git -C s-$algo ews revert >out 2>err && test_grep ! warning err && test_path_is_missing "${ws:?}/f" && git -C s-$algo ews snapshot verify "$(cat id)" &&
					git -C s-$algo ews undo && echo "precious, then $how" | test_cmp - "${ws:?}/f" && test_path_is_link "${ws:?}/l" "to what was $how" && rm "${ws:?}/l" || return 1
			done || return 1
	done
'

test_expect_success 'P4: likewise what the base has, and nobody reads' '
	for how in zeros short; do
		test_repo base-$how && echo "all of $how" >"base-${how:?}/f" && start_ws base-$how s && rm "${ws:?}/f" && git -C base-$how ews snapshot create s >id && git -C base-$how ews revert s && spoil_object $how base-$how "${ws:?}/f" &&
			timeout 20 git -C base-$how ews revert --to "$(cat id)" s && test_path_is_missing "${ws:?}/f" && timeout 20 git -C base-$how ews undo s && echo "all of $how" | test_cmp - "${ws:?}/f" || return 1
	done
'

test_expect_success 'P4: an end keeps anew what the store has damaged, also where it knows all of it' '
	test_repo ending && for how in zeros short half; do
		for since in nothing changed named; do
			start_ws ending s && what="$how, $since" && echo "only here, $what" >"${ws:?}/f" && printf %s "to $what" >text && ln -s "to $what" "${ws:?}/l" && echo 1 >"${ws:?}/g" && sleep 0.1 && git -C ending ews snapshot create s &&
				spoil_object $how ending "${ws:?}/f" && spoil_object $how ending "$PWD/text" && case $since in changed) echo 2 >"${ws:?}/g" ;; named) mv "${ws:?}/g" "${ws:?}/h" ;; esac && cp "${ws:?}/f" f.want &&
				timeout 20 git -C ending ews end s && git -C ending cat-file blob "$(git hash-object f.want)" >got && test_cmp f.want got && git -C ending cat-file blob "$(git hash-object text)" >got && cmp text got || { echo >&2 "$what"; return 1; }
		done || return 1
	done
'

test_expect_success 'P4: a snapshot writes anew what is there, but empty' '
	test_repo hollow && start_ws hollow s && echo empty >"${ws:?}/f" && (cd hollow && git hash-object -w "${ws:?}/f") && empty_object hollow "$ws" && git -C hollow ews snapshot create s >id && git -C hollow ews snapshot verify "$(cat id)"
'

test_expect_success 'P4: also where it is read anew, large, or in a store that the project borrows from' '
	test_repo lender && git clone -q -s lender borrower && start_ws borrower && head -c 40000000 /dev/zero >"${ws:?}/large" && echo lent >"${ws:?}/lent" && echo new >"${ws:?}/new" &&
	(cd lender && git hash-object -w "${ws:?}/lent") && (cd borrower && git hash-object -w "${ws:?}/large" "${ws:?}/new") &&
	spoil_object short lender "${ws:?}/lent" && spoil_object short borrower "${ws:?}/large" && spoil_object zeros borrower "${ws:?}/new" &&
	cp -R "$ws" was && timeout 60 git -C borrower ews revert >out 2>err && test_grep ! warning err && test_path_is_missing "${ws:?}/lent" && timeout 60 git -C borrower ews undo && test_same_tree "$ws" was
'

# It ends by itself; it may well fail.
ends_soon() {
	timeout 20 "$@" >out 2>err
	test $? != 124 || { echo "no end: $*" && return 1; }
}

test_expect_success 'P3: what was cut short is damaged, and nobody waits for the rest: a commit, a tree, a file, in a store that is borrowed from' '
	test_repo cut && (cd cut && seq 30000 >t && git add t && git commit -q -m t) && git clone -q -s cut cuts && (cd cut && git ews start s) && (cd cuts && git ews start s) &&
	for what in HEAD HEAD: HEAD:t HEAD~1; do
		id=$(git -C cut rev-parse $what) && object=cut/.git/objects/${id%"${id#??}"}/${id#??} && cp -f "$object" whole && chmod u+w "$object" &&
			for size in 10 100 $(($(stat -c %s whole) - 3)); do
				truncate -s $size "$object" &&
					for project in cut cuts; do
						ws=$(git -C $project ews path s) && echo more >>"${ws:?}/t" && ends_soon git -C $project ews diff $what && ends_soon git -C $project ews diff "$(echo $id | cut -c-9)" && ends_soon git -C $project ews diff --stat s &&
							ends_soon git -C $project ews snapshot verify --all && ends_soon git -C $project ews revert s && ends_soon git -C $project ews undo s || return 1
					done || return 1
			done && cp -f whole "$object" || return 1
	done
'

test_expect_success 'P3: likewise of one that is large, whose bytes are passed on' '
	test_repo vast && (cd vast && head -c 40000000 /dev/zero >large && git add large && git commit -q -m large) && start_ws vast s && id=$(git -C vast rev-parse HEAD:large) && object=vast/.git/objects/${id%"${id#??}"}/${id#??} && chmod u+w "$object" && truncate -s -3 "$object" &&
	echo more >>"${ws:?}/large" && test_must_fail timeout 60 git -C vast ews revert s >out && test_grep damaged out
'

test_expect_success 'what was ignored when the step was done is no change since then, though nothing ignores it any more' '
	git init -q hid && echo 1 >hid/list && git -C hid add . && git -C hid commit -qm one && snap=$(git -C hid ews snapshot create) && echo "*.o" >hid/.gitignore && echo o >hid/a.o && git -C hid ews snapshot restore "$snap" --force 2>err && test_path_is_missing hid/.gitignore && stat -c "%i %y" hid/a.o >before &&
	git -C hid ews undo 2>err && test_grep ! "a.o" err && test_path_is_file hid/.gitignore && stat -c "%i %y" hid/a.o >after && test_cmp before after && git -C hid ews undo --redo 2>err && test_grep ! "a.o" err && stat -c "%i %y" hid/a.o >after && test_cmp before after &&
	echo new >hid/b && git -C hid ews undo 2>err && test_grep "changed since then, and kept in trash: b" err && test_grep ! "a.o" err
'

# stands <commit> <said>: HEAD is at the commit, which git status is said to find, and no branch of the agent's has it
stands() {
	test_grep "$2" err && test "$(git -C "$ws" rev-parse HEAD)" = "$1" && git -C "$ws" status --porcelain >st && test_must_be_empty st
}

test_expect_success 'P2: HEAD of a workspace is at its commit again though its branch has gone on, is gone, or is checked out elsewhere' '
	test_repo hm && for method in worktree snapshot; do
		start_ws hm $method --method $method && git -C "$ws" checkout -q -b x$method && echo c >"${ws:?}/c" && git -C "$ws" add c && git -C "$ws" commit -q -m c && c=$(git -C "$ws" rev-parse HEAD) && git -C "$ws" status --porcelain >st && test_must_be_empty st && at=$(git -C "$ws" ews snapshot create) &&
		echo d >"${ws:?}/d" && git -C "$ws" add d && git -C "$ws" commit -q -m d && d=$(git -C "$ws" rev-parse HEAD) && git -C "$ws" ews revert --to $at >out 2>err && stands $c "HEAD is at $c, and on no branch: .refs/heads/x$method. has moved since" && test "$(git -C "$ws" rev-parse x$method)" = $d &&
		git -C "$ws" ews undo >out 2>err && stands $d "" && test "$(git -C "$ws" symbolic-ref HEAD)" = refs/heads/x$method && git -C "$ws" ews undo --redo >out 2>err && stands $c "" && git -C "$ws" ews revert --to $at >out 2>err && stands $c "has moved since" &&
		git -C "$ws" branch -f x$method $c && git -C "$ws" ews revert --to $at >out 2>err && test_grep ! "on no branch" err && test "$(git -C "$ws" symbolic-ref HEAD)" = refs/heads/x$method &&
		git -C "$ws" checkout -q --detach && git -C "$ws" branch -qD x$method && git -C "$ws" ews revert --to $at >out 2>err && stands $c "no branch: .refs/heads/x$method. is gone" &&
		git -C "$ws" checkout -q -B x$method && git -C "$ws" ews revert >out 2>err && git -C "$ws" branch -qD x$method && git -C "$ws" ews undo >out 2>err && stands $c "is gone" || return 1
	done &&
	start_ws hm e && git -C "$ws" checkout -q -b e && at=$(git -C "$ws" ews snapshot create) && e=$(git -C "$ws" rev-parse HEAD) && git -C "$ws" checkout -q --detach && git -C hm worktree add -q ../elsewhere e && git -C "$ws" ews revert --to $at >out 2>err && stands $e "no branch: .refs/heads/e. is checked out in another work tree"
'

test_expect_success 'P2: nor does it stand on a commit where it had none' '
	test_repo uh && start_ws uh u && git -C "$ws" checkout -q --orphan o && git -C "$ws" status --porcelain >before && at=$(git -C "$ws" ews snapshot create) && git -C "$ws" commit -q -m o && o=$(git -C "$ws" rev-parse o) && git -C "$ws" ews revert --to $at >out 2>err &&
	test_grep "HEAD is on .refs/heads/o-op-.*, which has no commit: .refs/heads/o. had none" err && test_grep "Status: Verified" out && git -C "$ws" status --porcelain >after && test_cmp before after && test_must_fail git -C "$ws" rev-parse -q --verify HEAD && git -C "$ws" commit -q -m again && test_must_fail git -C "$ws" rev-parse -q --verify HEAD^ && test "$(git -C "$ws" rev-parse o)" = $o &&
	git -C "$ws" ews undo >out 2>err && test "$(git -C "$ws" symbolic-ref HEAD)" = refs/heads/o && git -C "$ws" status --porcelain >st && test_must_be_empty st
'

test_done
