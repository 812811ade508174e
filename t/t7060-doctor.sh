#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='doctor: what is wrong is named, with what mends it; --fix mends what can lose nothing (P1, P4)

One project is broken in all ways at once, so that each is found beside the others; what must stay is compared after the mending.'

. "$(dirname "$0")/test-lib.sh"

# found <status> <check> <text>: a line of "out" says so
found() {
	test_grep "^$1 *$2  *.*$3" out
}

# doctor <argument>...: with its lines in "out"
doctor() {
	git -C "$p" ews doctor "$@" >out 2>err
}

p=p home=$HOME/.superqode

test_expect_success 'all is well where all is well, and nothing is made by looking' '
	test_repo p && mkdir plain && (cd plain && git ews doctor) >out && found ok project "is in no git repository" && doctor && test_must_be_empty err &&
	found ok git "git [0-9.]*, libgit2 [0-9.]*, git-ews" && found ok core.bare && found ok remotes "git push --mirror" && test_grep ! "^[^o]" out && test_path_is_missing "$home" &&
	start_ws -n one p one && start_ws -n copy p copy --method snapshot && doctor --json && test_json out .schema ews.doctor/1 && test_json out .is_well true &&
	test_json out ".checks[0].name" project && test_json out ".checks[0].status" ok && test_json out ".checks[0].fix" null && test_json out ".checks[0].fixed" false
'

# All that must stay as it is: of the project, its git directory, and home.
keep() {
	"$EWS_SRC/t/lister" -m p | grep -v -e "^\.git/config" -e "^\.git/worktrees/gone" -e "^\.git/refs/ews/sessions/torn" &&
		"$EWS_SRC/t/lister" -m "$home" | grep -v -e "^working/p/locks/dead" -e "^working/p/sessions	" -e "^working/p/qe/copy/.git/objects/info/alternates"
}

test_expect_success 'what is broken is found, each with what mends it' '
	w=${home:?}/working/p g=$PWD/p/.git && git -C p worktree add -q --detach ../mine && git -C p update-ref refs/ews/sessions/nobody refs/ews/sessions/one &&
	for name in gone holds; do
		cp -R p/.git/worktrees/one "p/.git/worktrees/$name" && echo "${w:?}/qe/${name:?}/.git" >"p/.git/worktrees/${name:?}/gitdir" && echo "ews session $name" >"p/.git/worktrees/${name:?}/locked" || return 1
	done && blob=$(echo staged | git -C p hash-object -w --stdin) && GIT_DIR="${g:?}/worktrees/holds" git update-index --add --cacheinfo "100644,$blob,staged" &&
	mkdir p/.git/worktrees/half "${w:?}/qe/left" && cp -R p/.git/worktrees/one p/.git/worktrees/left && echo "${w:?}/qe/left/.git" >p/.git/worktrees/left/gitdir &&
	git -C p update-ref refs/ews/snapshots/commit HEAD && : >p/.git/refs/ews/sessions/torn && rm "${copy:?}/.git/objects/info/alternates" && : >"${w:?}/locks/dead" && chmod 755 "${w:?}/sessions" &&
	git -C p config core.hooksPath .husky/_ && git -C p remote add up ../up && git -C p config remote.up.push "+refs/*:refs/*" && git -C p config remote.up.fetch "+refs/*:refs/*" &&
	git -C p remote add mirror ../m && git -C p config remote.mirror.mirror true && git -C p remote add safe ../s && git -C p config remote.safe.push "refs/*:refs/*" && git -C p config --add remote.safe.push "^refs/ews/*" &&
	git -C p remote add named ../n && git -C p config remote.named.push "refs/ews/sessions/*:refs/ews/sessions/*" && : >p/.git/shallow.lock && touch -d "2 hours ago" p/.git/shallow.lock &&
	echo "#!/bin/sh" >p/.git/hooks/pre-commit && git -C p config core.bare true && test_expect_code 1 git -C p ews doctor >out &&
	found problem core.bare "p/.git/config. says that the repository is bare" && found warning locks "lock .dead." && found warning locks "shallow.lock" && found warning home "sessions. has mode 755" &&
	found warning remotes "up. is pushed" && found problem remotes "up. is fetched" && found warning remotes "mirror. is a mirror" && test_grep ! "safe. is" out && found warning remotes "named. is pushed" && found problem hooks "\.husky/_., which is not there" &&
	found problem registrations "/gone. is of no session; its workspace is gone" && found problem registrations "/holds. is of no session" && found warning registrations "/left. is of no session; its workspace is there" &&
	found warning registrations "/half. is half" && test_grep ! "worktrees/mine" out && found warning refs "sessions/nobody.: there is no record" && found problem refs "snapshots/commit.: its commit is no snapshot" &&
	found problem refs "torn. is broken" && found problem sessions "session .copy.: ..git/objects/info/alternates" && test_grep -e "--fix: " out >fixes && test_line_count = 8 fixes
'

test_expect_success 'P1: looking changes nothing' '
	test_fingerprint p >before && "$EWS_SRC/t/lister" "$home" >home.before && test_expect_code 1 git -C p ews doctor >out && test_expect_code 1 git -C p ews doctor --json >out && test_json out .is_well false &&
	test_fingerprint p >after && test_cmp before after && "$EWS_SRC/t/lister" "$home" >home.after && test_cmp home.before home.after &&
	test_expect_code 128 git -C "${one:?}" ews doctor --fix 2>err && test_grep "this is the workspace" err
'

test_expect_success 'P4: --fix says what it does, mends what can lose nothing, and leaves the rest' '
	keep >before && test_expect_code 1 git -C p ews doctor --fix >out 2>err && keep >after && test_cmp before after && test_line_count = 8 err && test_grep "^fixing: core.bare: git config --file" err &&
	found fixed core.bare && found fixed registrations "/gone." && found problem registrations "/holds." && found fixed refs torn && found warning refs nobody && test_path_is_missing p/.git/worktrees/gone && test_path_is_missing p/.git/refs/ews/sessions/torn &&
	test_path_is_missing "${w:?}/locks/dead" && test "$(stat -c %a "${w:?}/sessions")" = 700 && test "$(git -C p config core.bare)" = false && git -C p status --short >out && git -C "${copy:?}" log -1 --format=%s >out &&
	git -C p config --get-all remote.up.push >out && printf "%s\n" "+refs/*:refs/*" "^refs/ews/*" >want && test_cmp want out && git -C p config --get-all remote.up.fetch >out && test_cmp want out &&
	test "$(git -C p config --get-all remote.safe.push | wc -l)" = 2 && test "$(git -C p config remote.mirror.mirror)" = true
'

test_expect_success 'what was mended is well, and what people mend by what was said, too' '
	git -C p remote remove mirror && git -C p remote remove named && git -C p config --unset core.hooksPath && chmod +x p/.git/hooks/pre-commit && rm p/.git/shallow.lock && git -C p worktree prune --expire=now &&
	git -C p update-ref -d refs/ews/sessions/nobody && git -C p update-ref -d refs/ews/snapshots/commit && rm -r p/.git/worktrees/holds p/.git/worktrees/left "${w:?}/qe/left" && doctor --json && test_json out .is_well true
'

test_expect_success 'P4: a mirror that was mended keeps bases through fetch --prune, and a push leaves them here' '
	git init -q --bare up && git -C p push -q up && git -C up for-each-ref >refs && test_grep ! refs/ews refs && test_grep refs/heads/main refs &&
	git -C p for-each-ref refs/ews >before && git -C p -c fetch.prune=true fetch -q --update-head-ok up && git -C p for-each-ref refs/ews >after && test_cmp before after && test -s after
'

test_expect_success 'P4: a mirror of the user'\''s own config is none after what is said; what the page says of others is so' '
	test_repo ours && start_ws ours s && git init -q --bare theirs && git config --global remote.theirs.mirror true && git config --global remote.theirs.url "$PWD/theirs" && git config --global remote.theirs.fetch "+refs/*:refs/*" && test_expect_code 1 git -C ours ews doctor >out && found warning remotes "theirs. is a mirror" && found problem remotes "theirs. is fetched" &&
	grep -A1 "remotes .*theirs. is" out | sed -n "s/.*do: //p" >todo && test_line_count = 2 todo && (cd ours && sh -e ../todo) && test "$(git config --global remote.theirs.mirror)" = true && git -C ours ews doctor >out && found ok remotes &&
	git -C ours push -q theirs && git -C theirs for-each-ref >refs && test_grep ! refs/ews refs && test_grep refs/heads/main refs && git -C ours for-each-ref >before && git -C ours fetch -q --prune --update-head-ok theirs && git -C ours for-each-ref | test_cmp before - &&
	git -C theirs config transfer.hideRefs refs/ews && test_must_fail git -C ours push -q --mirror "$PWD/theirs" 2>err && test_grep "hidden ref" err && git -C theirs for-each-ref >refs && test_grep ! refs/ews refs && git config --global --remove-section remote.theirs && git -C ours ews end s
'

test_expect_success 'sessions: base, manifest, workspace, link, registration' '
	base=$(git -C p rev-parse refs/ews/sessions/one) && git -C p update-ref -d refs/ews/sessions/one && test_expect_code 1 git -C p ews doctor >out && found problem sessions "one.: its base" && test_grep "git fsck --lost-found.*git update-ref refs/ews/sessions/one <commit>" out &&
	git -C p update-ref refs/ews/sessions/one "$(git -C p commit-tree -m x "$base^{tree}")" && test_expect_code 1 git -C p ews doctor >out && found problem sessions "one.: its base can.t be had: its commit is no snapshot" &&
	git -C p update-ref refs/ews/sessions/one "$base" && manifest=$(git -C p rev-parse "$base^2:manifest") && file=$(echo "$manifest" | sed "s|^..|&/|") && mv "p/.git/objects/$file" kept &&
	test_expect_code 1 git -C p ews doctor >out && found problem sessions "one.: its base can.t be had: its manifest is missing" && test_grep "do: bring the objects back: session .one. needs it" out && test_grep ! "update-ref -d .refs/ews/sessions/one" out && mv kept "p/.git/objects/$file" &&
	mv p/.git/worktrees/one/HEAD kept && test_expect_code 1 git -C p ews doctor >out && found problem sessions "one.: .HEAD. is gone" && test_grep "do: git ews revert one$" out && mv kept p/.git/worktrees/one/HEAD &&
	mv p/.git/worktrees/one kept && test_expect_code 1 git -C p ews doctor >out && found problem sessions "one.: .worktree entry. is gone" && test_grep "do: git ews recover$" out && git -C p ews recover >out && rm -r kept &&
	mv "${one:?}" "${one:?}.away" && test_expect_code 1 git -C p ews doctor >out && found problem sessions "one.: its workspace is gone" && test_grep "do: git ews end --force one$" out && mv "${one:?}.away" "${one:?}" && doctor
'

test_expect_success STRACE 'P4: a manifest that the disk does not give now is none that is missing: nobody is told to delete its ref' '
	snap=$(git -C p ews snapshot create one) && tree=$(git -C p rev-parse "refs/ews/snapshots/$snap^2^{tree}") && blob=$(git -C p rev-parse "refs/ews/snapshots/$snap^2:manifest") && for id in $tree $blob; do
		for error in EIO EMFILE EACCES; do
			test_expect_code 1 test_strace trace -P "$PWD/p/.git/objects/$(echo $id | sed "s|^..|&/|")" -e trace=openat -e inject=openat:error=$error git -C p ews doctor >out && test_grep INJECTED trace && test_grep "problem  refs .*$snap.*\(Input/output error\|Too many open files\|Permission denied\)" out && test_grep ! "is missing\|update-ref" out || return 1
		done
	done && git -C p ews snapshot drop "$snap" && doctor
'

test_expect_success 'one damage that is found twice is mended at once, and --fix says so by its status' '
	chmod 777 "${w:?}/sessions" && test_expect_code 1 git -C p ews doctor >out && found problem home "others may write there" && found problem sessions "can be written by others" &&
	doctor --fix && found fixed home && found fixed sessions "can be written by others" && doctor && test_grep ! "^[^o]" out
'

test_expect_success 'P1: a repository that is meant to be bare, with work trees beside it, stays so' '
	test_repo b && (cd b && git ls-files -z | xargs -0 rm -- && git config core.bare true && git worktree add -q ../b/side -b side) && { git -C b/side ews doctor --fix >out 2>err || test $? = 1; } &&
	found ok core.bare "none of its files is in .*/b" && { git -C b ews doctor --fix >out 2>err || test $? = 1; } && found ok core.bare && test "$(git -C b config core.bare)" = true &&
	git -C b show HEAD:run.sh >b/run.sh && { git -C b ews doctor >out 2>err || test $? = 1; } && found problem core.bare "says that the repository is bare, but .*/b. is its work tree"
'

test_expect_success 'what is pending, and lost its objects, is given up as doctor says' '
	test_repo due && ws=$(git -C due ews start due) && echo x >"${ws:?}/due" && git -C due ews end --pending due && oid=$(git -C due rev-parse refs/ews/pending/due/base) && rm "due/.git/objects/$(echo "${oid:?}" | sed "s,^..,&/,")" &&
	test_expect_code 1 git -C due ews doctor >out && found problem refs "pending/due/base.: its object is missing" && sed -n "s/.* where they are lost, \(git ews pending drop [^ ]*\) .*/\1/p" out >do && test_line_count = 1 do && (cd due && sh ../do && git ews list >../got) && test_must_be_empty got && rm -r due
'

test_expect_success 'a session in place is whole though core.bare hides its work tree, and --fix ends well' '
	test_repo hides && git -C hides ews start -q --method in-place in && git -C hides config core.bare true && test_expect_code 1 git -C hides ews doctor >out && found problem core.bare "says that the repository is bare" && found ok sessions "1, each" &&
	git -C hides ews doctor --fix >out 2>err && found fixed core.bare && found ok sessions "1, each" && git -C hides config core.bare true && mv "${home:?}/working/hides/sessions/in/state.json" kept && sed "s|/hides\"|/hidden\"|" kept >"${home:?}/working/hides/sessions/in/state.json" &&
	test_expect_code 1 git -C hides ews doctor --fix >out 2>err && found fixed core.bare && found problem sessions "its work tree is out of reach: .*/hidden" && mv kept "${home:?}/working/hides/sessions/in/state.json" && git -C hides ews end -q in && rm -rf hides
'

test_expect_success 'a session in place whose work tree core.worktree hides, there or not: --fix unsets that' '
	for other in ../../here ../../nowhere; do
		test_repo hides && mkdir -p here && git -C hides ews start -q --method in-place in && git -C hides config core.worktree $other && test_expect_code 1 git -C hides ews doctor >out 2>err && found problem core.worktree "says that the work tree is .$other., but a session is at work in" &&
			git -C hides ews doctor --fix >out 2>err && found fixed core.worktree && test_must_fail git -C hides config core.worktree && { git -C hides ews doctor >out || test $? = 1; } && found ok sessions "1, each" && git -C hides ews end -q in && git -C hides config core.worktree ../../here && { git -C hides ews doctor >out 2>err || test $? = 1; } && test_grep ! "^[a-z]* *core.worktree" out && rm -rf hides || return 1
	done
'

test_expect_success 'what objects and refs hold is read also where core.worktree names what is not there, or cannot be' '
	test_repo whole && ln -s loop loop && git -C whole ews start -q --method in-place in && for other in ../../nowhere ../../loop; do
		git config --file whole/.git/config core.worktree $other && { git -C whole ews doctor >out 2>err || test $? = 1; } && found ok refs && found ok sessions "1, each" || return 1
	done && echo more >>whole/run.sh && git -C whole ews end -q in && rm -rf whole loop
'

test_expect_success 'P4: a registration of no session stays while it alone names a commit, holds a submodule, or something unknown' '
	test_repo outer && (cd outer && git -c protocol.file.allow=always submodule --quiet add "$PWD/../p" sub && git commit -q -m sub) && git clone -q outer lone && git -C lone config core.logAllRefUpdates false && g=$PWD/lone/.git/worktrees &&
	for name in orig fetched sub notes plain; do git -C lone ews --home "$PWD/lost" start -q $name >out || return 1; done &&
	only=$(git -C lone commit-tree -m only HEAD^{tree}) && echo "$only" >"${g:?}/orig/ORIG_HEAD" && printf "%s\t\tof somewhere\n" "$(git -C lone rev-parse HEAD)" "$only" >"${g:?}/fetched/FETCH_HEAD" && git -C lone rev-parse HEAD >"${g:?}/plain/ORIG_HEAD" &&
	git -C "$PWD/lost/working/lone/qe/sub" -c protocol.file.allow=always submodule --quiet update --init && test_path_is_dir "${g:?}/sub/modules/sub" && echo mine >"${g:?}/notes/notes" && rm -r lost &&
	for name in orig fetched sub notes plain; do echo "${home:?}/working/lone/qe/${name:?}/.git" >"${g:?}/${name:?}/gitdir" || return 1; done && test_expect_code 1 git -C lone ews doctor --fix >out 2>err &&
	found fixed registrations "/plain. is of no session" && test_path_is_missing "${g:?}/plain" && for name in orig fetched sub notes; do found problem registrations "/$name. is of no session" && test_path_is_dir "${g:?}/$name" || return 1; done &&
	test_path_is_dir "${g:?}/sub/modules/sub/objects" && test_grep ! -e "--fix: " out
'

test_expect_success 'P4: a worktree inside of the workspace of a session that has ended keeps its registration while undo can bring it back' '
	test_repo nest && start_ws nest s && git -C "$ws" worktree add -q --detach inner && git -C nest ews end s && git -C nest ews doctor --fix >out && test_grep ! inner out && test_path_is_dir nest/.git/worktrees/inner && git -C nest ews undo s && git -C "${ws:?}/inner" status --porcelain >out && test_must_be_empty out &&
	git -C nest ews end s && start_ws nest s && git -C nest ews end s && git -C nest ews doctor --fix >out && test_grep ! inner out && test_path_is_dir nest/.git/worktrees/inner &&
	git -C nest ews clean --now >out && git -C nest ews doctor --fix >out 2>err && found fixed registrations "/inner. is of no session" && test_path_is_missing nest/.git/worktrees/inner && rm -r nest
'

test_expect_success 'P4: nor does recover take the submodules of one that has ended, and whose records are lost' '
	mkdir -p lone/.git/ews && mv "${g:?}/sub" "${g:?}/notes" lone/.git/ews && git -C lone ews start -q other && git -C lone ews recover --all && test_path_is_dir lone/.git/ews/sub/modules/sub/objects && test_path_is_missing lone/.git/ews/notes &&
	git -C lone ews end other && rm -r outer lone
'

test_expect_success 'P4: a copy of a project has its registrations, too: doctor leaves the workspace to the one that has it, and --fix removes what holds nothing' '
	test_repo orig && for name in same more; do start_ws -n $name orig $name || return 1; done && git -C orig ews start -q --in "$PWD/out of home" out && echo work >"${same:?}/work" && echo work >"${more:?}/work" && git -C "${more:?}" commit -q --allow-empty -m more && cp -a orig twin && test_expect_code 1 git -C twin ews doctor >out &&
	found warning registrations "twin/.git/worktrees/same. is but a copy of .*/orig/.git/worktrees/same., which has the workspace" && for name in more out; do found warning registrations "twin/.git/worktrees/$name. is but a copy of" || return 1; done && test_must_fail git -C twin ews start same 2>err && test_grep "worktree of git called .same. already exists" err && test_grep "^hint: choose another id.*; that one came with a copy of another repository, and .git ews doctor --fix. removes it" err && test_grep ! "worktree remove" out && test_grep "do: leave the workspace alone; rm -r .*/twin/.git/worktrees/more" out &&
	test_expect_code 1 git -C twin ews doctor --fix >out 2>err && found fixed registrations "/same. is but a copy" && found fixed registrations "/out. is but a copy" && test_path_is_dir "out of home/out/src" && test_path_is_missing twin/.git/worktrees/same && test_path_is_dir twin/.git/worktrees/more && test_must_fail git -C twin ews start same 2>err && test_grep "^hint: choose another id.*; .git ews doctor. says more" err && git -C twin update-ref -d refs/ews/sessions/same && git -C twin ews start -q same && git -C twin ews end same && git -C "${same:?}" status --porcelain >out && echo "?? work" >want && test_cmp want out && git -C orig ews doctor >out &&
	git -C twin worktree repair && test_expect_code 1 git -C twin ews doctor --fix >out 2>err && found warning registrations "twin/.git/worktrees/more. is of a session of .*/orig.; its workspace: " && test_grep ! "worktree remove" out && test_path_is_dir twin/.git/worktrees/more &&
	git -C orig worktree repair && git -C "${more:?}" status --porcelain >out && test_cmp want out && git -C orig ews doctor >out && git -C orig ews end same more out && rm -rf orig twin
'

test_expect_success 'P4: what leaves refs of ours out of a refspec leaves out all of them, by their names on its left side' '
	test_repo far && start_ws -n ws far one && git init -q --bare far.git && git -C far push -q ../far.git main && git -C far remote add o ../far.git && git -C far config remote.o.fetch "+refs/heads/*:refs/*" &&
	git -C far config --add remote.o.fetch "^refs/ews/*" && git -C far config remote.o.push "+refs/*:refs/*" && git -C far config --add remote.o.push "^refs/ews/snapshots/*" &&
	git -C far ews doctor --fix >out 2>err && found fixed remotes "o. is fetched as" && found fixed remotes "o. is pushed" && git -C far config --get-all remote.o.fetch >out && test_grep -Fx "^refs/heads/ews/*" out &&
	git -C far for-each-ref refs/ews >before && test -s before && git -C far fetch -q --prune --update-head-ok o && git -C far for-each-ref refs/ews >after && test_cmp before after && git -C far push -q o && git -C far.git for-each-ref refs/ews >out &&
	test_must_be_empty out && git -C far ews doctor >out && found ok remotes && git -C far config --unset-all remote.o.fetch && git -C far config remote.o.fetch "+refs/heads/*:refs/ews/*" && test_expect_code 1 git -C far ews doctor >out && found problem remotes "o. is fetched as"
'

test_expect_success 'hooks that would not run in a workspace' '
	mkdir -p p/cache elsewhere && echo cache >p/.git/info/exclude && while read -r status path text; do
		git -C p config core.hooksPath "$(eval "echo \"$path\"")" && { git -C p ews doctor >out || test "$status" != ok; } && found "$status" hooks "$text" || { echo "$path" && return 1; }
	done <<-\END && git -C p config --unset core.hooksPath
		problem .husky names ..husky., which is not there
		problem $PWD/no names .*/no., which is not there
		warning cache is .cache., which is ignored
		warning ../elsewhere leads elsewhere from a workspace
		warning $PWD/p/src in the project.s files
		ok src those in .src. run in a workspace
		warning $PWD/p// in the project.s files
		ok $PWD/elsewhere those in .*elsewhere. run
		ok . those in .\.. run in a workspace
		ok "" core.hooksPath is empty: git runs none
	END
'

test_expect_success 'what is advised for a core.hooksPath that names the project is a path below it' '
	for path in "$PWD/p" "$PWD/p/" "$PWD/p//src"; do
		git -C p config core.hooksPath "$path" && test_expect_code 1 git -C p ews doctor >out && test_grep "do: git config core.hooksPath \(\.\|src\)$" out || return 1
	done && git -C p config --unset core.hooksPath
'

test_expect_success 'hooks that git passes by, and those it stops at' '
	mkdir -p p/.git/hooks && (cd p/.git/hooks && echo "#!/no/such/sh" >pre-push && printf "#!/bin/sh\r\n" >commit-msg && echo "#!/usr/bin/env no-such-program" >post-commit && echo "#! /usr/bin/env sh" >post-checkout &&
		echo "#!/usr/bin/env -S sh -e" >post-merge && : >pre-receive && chmod +x * && echo "#!/bin/sh" >pre-rebase && cp pre-push notes) &&
	test_expect_code 1 git -C p ews doctor --fix >out && found warning hooks "pre-rebase. can.t be executed: git passes it by" && test_grep "do: chmod +x .*/pre-rebase" out && found problem hooks "pre-push. wants ./no/such/sh., which is not there" &&
	found problem hooks "commit-msg. wants ./bin/sh. and a carriage return, which" && found problem hooks "post-commit. wants .no-such-program." && test_grep ! -e post-checkout -e post-merge -e notes -e pre-receive out &&
	test ! -x p/.git/hooks/pre-rebase && rm p/.git/hooks/* && doctor
'

test_expect_success 'P4: the record of a step that makes no sense keeps nobody from what has no need of it, and is set aside' '
	test_repo steps && start_ws -n s steps s && echo new >"${s:?}/new" && echo built >"${s:?}/built.o" && git -C steps ews revert s && undo=$HOME/.superqode/working/steps/undo && first=$(ls "${undo:?}") &&
	start_ws -n t steps t && echo more >"${t:?}/more" && echo built >"${t:?}/built.o" && git -C steps ews revert t && second=$(ls "${undo:?}" | grep -v -F "$first") && id=${second%.json} &&
	trash=${undo%/undo}/trash && test -d "${trash:?}/$id" && test_wait_for 20 sh -c "test \"\$(date -u +op-%Y%m%d-%H%M%S)\" \> \"${id%-*}\"" && echo "{" >"${undo:?}/$second" &&
	echo work >"${s:?}/work" && git -C steps ews apply s >out && test "$(cat steps/work)" = work && git -C steps ews undo >out && test_grep "apply of the project" out && test_path_is_missing steps/work &&
	git -C steps ews end s && start_ws steps s && test_expect_code 1 git -C steps ews recover --all >out 2>err && test_grep "record of step .$id. makes no sense; .git ews doctor --fix" err && git -C steps ews clean --now >out && test -d "${trash:?}/$id" &&
	test_expect_code 1 git -C steps ews undo --redo 2>err && test_grep "^error: the record of step .$id. makes no sense" err && test_grep "^hint: .git ews doctor --fix" err && test_expect_code 1 git -C steps ews undo t 2>err && test_grep "$id" err &&
	git -C steps ews undo --list 2>err && test_grep "$id" err && git -C steps ews undo --list --json >out && test_json out ".damaged[0]" "$id" && test_expect_code 1 git -C steps ews doctor >out && found problem steps "$id" && test_grep "fix: call it .*$id.json.damaged" out &&
	git -C steps ews doctor --fix >out 2>err && found fixed steps "$id" && test "$(cat "${undo:?}/$second.damaged")" = "{" && git -C steps ews doctor >out && found ok steps && git -C steps ews clean >out && test -d "${trash:?}/$id" &&
	test_expect_code 128 git -C steps ews undo t 2>err && test_grep "nothing to undo" err && git -C steps ews recover --all && git -C steps ews clean --now >out && test_path_is_missing "${trash:?}/$id"
'

test_expect_success 'P4: a reserve that is missing, or was never finished, is put aside by --fix' '
	rm "${home:?}/reserve" && test_expect_code 1 git -C p ews doctor >out && found warning reserve "no space in home is kept" && test_path_is_missing "${home:?}/reserve" && : >"${home:?}/reserve" && test_expect_code 1 git -C p ews doctor >out && found warning reserve &&
	git -C p ews doctor --fix >out 2>err && found fixed reserve && test_grep "fixing: reserve: put 1024 KiB aside" err && test "$(stat -c %s "${home:?}/reserve")" = 1048576 && doctor && found ok reserve
'

test_expect_success TMPFS 'little room for home is found' '
	mkdir -p small && cat >small.sh <<-\EOF && test_in_namespace sh small.sh && found warning space "small/home. has room for 9[0-9] MiB" && test_grep "do: git ews clean --now" out && cp full out && found problem space "has room for [0-9] MiB" && test_grep "no space for a reserve" full
	mount -t tmpfs -o size=100m tmpfs small && cp -a home/.superqode small/home && { git -C p ews --home "$PWD/small/home" doctor >out || :; } && rm small/home/reserve && head -c 94m /dev/zero >small/filling &&
		{ git -C p ews --home "$PWD/small/home" doctor --fix >full || test $? = 1; }
	EOF
'

test_expect_success USERNS 'fewer directories can be watched than there are' '
	n=$(find p \( -name .git -o -name .superqode -o -name cache \) -prune -o -type d -print | wc -l) && cat >limits.sh <<-\EOF && test_expect_code 1 unshare -Ur sh limits.sh >out &&
	echo 3 >/proc/sys/user/max_inotify_watches && echo 1 >/proc/sys/user/max_inotify_instances && exec git -C p ews doctor
	EOF
	found warning inotify "max_user_watches is 3: this project has $n directories" && test_grep "do: sysctl fs.inotify.max_user_watches=1048576" out && found warning inotify "max_user_instances is 1: few can watch" && test_grep "do: sysctl fs.inotify.max_user_instances=" out
'

test_expect_success 'what can not be opened is found, and so are objects that are borrowed from nowhere' '
	mkdir -p p/.git/objects/info && git init -q reft && git -C reft config core.repositoryFormatVersion 1 && git -C reft config extensions.nosuch x && test_expect_code 1 git -C reft ews doctor >out && found problem project nosuch &&
	echo "$PWD/nowhere" >p/.git/objects/info/alternates && test_expect_code 1 git -C p ews doctor >out && found problem alternates "/nowhere., which is not there" && rm p/.git/objects/info/alternates
'

test_expect_success 'home on another file system costs something, a kernel without Landlock too' '
	{ git -C p ews --home /proc doctor >out || :; } && found warning "file system" "home is on another file system" && test_grep "copied whole (no reflink)$" out && test_grep "do: git config --global ews.home" out &&
	test_expect_code 1 "$EWS_BUILD/t/no-landlock" ENOSYS -- git -C p ews doctor >out && found warning landlock "this kernel has no Landlock: the guard of .git ews run. is advisory"
'

quote="'"
test_expect_success 'P9: what is shown to be copied runs nothing that a name says' '
	test_repo hostile && evil="$quote;touch\${IFS}PWNED;$quote" && git -C hostile update-ref "refs/ews/snapshots/$evil" HEAD && git -C hostile config "remote.o$evil.url" ../x && git -C hostile config "remote.o$evil.fetch" "+refs/*:refs/*" &&
	git -C hostile config "remote.m$evil.mirror" true && git -C hostile config "remote.m$evil.url" ../x && git -C hostile config core.hooksPath "/nowhere/$evil" && test_expect_code 1 git -C hostile ews doctor >out && sed -n "s/^ *do: //p" out >lines &&
	test_grep "update-ref -d" lines && test_grep "config .*--add" lines && test_grep "unset remote" lines && (cd hostile && while read -r line; do sh -c "git() { :; }; make() { :; }; $line" || :; done <../lines) >said 2>&1 && test_path_is_missing hostile/PWNED
'

test_expect_success 'P8: what is advised of a session whose record makes no sense lets go of it, and loses nothing' '
	for method in worktree snapshot; do
		test_repo torn-$method && start_ws torn-$method torn --method $method && echo work >"${ws:?}/mine" && record=${HOME:?}/.superqode/working/torn-${method:?}/sessions/torn && cp "${record:?}/state.json" kept.json && for text in "" "{}"; do
			printf %s "$text" >"${record:?}/state.json" && for at in torn-$method "$ws"; do
				for verb in "end torn" "end --force torn" "diff torn"; do test_must_fail git -C "$at" ews $verb 2>err && test_grep "^hint: move its record, .*sessions/torn.*, away; then .git ews doctor. in its project says what to do" err || return 1; done
			done && test_must_fail git -C torn-$method ews recover torn 2>err && test_grep "^warning: session .torn.: .*; .git ews doctor. says what to do" err && git -C torn-$method ews status torn >out && git -C torn-$method ews status >>out &&
			test_grep "Recover: *git ews doctor says" out && test_grep ! "git ews recover" out && test_expect_code 1 git -C torn-$method ews doctor >out && test_grep "do: move its record, .*sessions/torn.*, away" out || return 1
		done && sed "/\"version\"/s/1,/9,/" kept.json >"${record:?}/state.json" && test_must_fail git -C torn-$method ews end torn 2>err && test_grep "newer version" err && test_grep "^hint: use the version" err && echo >"${record:?}/state.json" &&
		mv "${record:?}" torn-record && { git -C torn-$method ews doctor --fix >out; git -C torn-$method ews doctor >out; test_grep work "${ws:?}/mine"; } && git -C torn-$method ews list >list && test_must_be_empty list && test_grep "refs/ews/sessions/torn" out &&
		mv "${ws:?}/mine" mine && sed -n "s/.*, then git /git /p;s/.*, then rm /rm /p" out >todo && (cd torn-$method && sh -e ../todo) && git -C torn-$method ews doctor >out && test_grep ! "problem\|warning" out && rm -rf torn-record "${ws:?}" && start_ws torn-$method torn && git -C torn-$method ews end torn || return 1
	done
'

test_expect_success 'P4: a ref without a record here may be of another home: that is said before anything that deletes it' '
	test_repo homes && (SUPERQODE_HOME=$PWD/other && export SUPERQODE_HOME && start_ws homes there) && git -C homes update-ref refs/ews/sessions/bare HEAD && git -C homes update-ref refs/ews/0badcafe HEAD && git -C homes rev-parse HEAD | tr 0-9a-f 1-9a-f0 >homes/.git/refs/ews/sessions/empty &&
	test_expect_code 1 git -C homes ews doctor >out && sed -n "s/^ *do: //p" out >lines && test_line_count = 4 lines && test_grep ! "^git\|or git update-ref" lines && grep "another home (SUPERQODE_HOME.*; where none has, git .*update-ref -d refs/ews/" lines >said && test_cmp lines said &&
	test_grep "where none has, git ews snapshot restore refs/ews/sessions/there --to <dir> gets it out, then git update-ref -d refs/ews/sessions/there" lines && git -C homes update-ref -d refs/ews/sessions/bare && git -C homes update-ref -d refs/ews/0badcafe && rm homes/.git/refs/ews/sessions/empty &&
	git -C homes ews --home "$PWD/other" doctor >out && test_grep ! "problem\|warning" out && git -C homes ews --home "$PWD/other" end there && git -C homes ews doctor >out && found ok refs
'

test_expect_success USERS 'P4: nor is a session whose home only another user may look into taken for one whose workspace is gone' '
	mkdir roots users && chmod 700 roots && test_repo users/p && git -C users/p ews --home "$PWD/roots/home" start -q there && test_give_user users && test_expect_code 1 test_as_user git -C users/p ews doctor >out && test_grep ! "gone\|rm -r" out && found warning refs "sessions/there.: there is no record" && rm -rf roots users
'

test_expect_success 'P8: a workspace whose session has no record is named, whatever its method; with the record it is well' '
	test_repo stray && start_ws stray s --method snapshot && start_ws stray w && at=${home:?}/working/stray && mv "${at:?}/sessions/s" aside && test_expect_code 1 git -C stray ews doctor >out && found warning sessions "/qe/s. is a workspace, and there is no record of session .s." &&
	test_grep "do: bring back .*/sessions/s.; where that is lost, look what is in .*/qe/s., then rm -rf .*/qe/s" out && mv aside "${at:?}/sessions/s" && git -C stray ews doctor >out && found ok sessions "2, each" &&
	mv "${at:?}/sessions/w" aside && test_expect_code 1 git -C stray ews doctor >out && found warning registrations "/w. is of no session; its workspace is there" && test_grep ! "/qe/w. is a workspace" out && mv aside "${at:?}/sessions/w" && git -C stray ews end s w
'

test_expect_success 'P4, P8: snapshots that somebody rewrote together with history are named, and made again as they were' '
	p=rewritten && test_repo rewritten && echo secret >rewritten/secret && git -C rewritten add secret && git -C rewritten commit -qm secret && start_ws rewritten w && echo more >>"${ws:?}/run.sh" && git -C "$ws" add run.sh && one=$(git -C rewritten ews snapshot create w) && own=$(git -C rewritten ews snapshot create) &&
	git -C rewritten for-each-ref refs/ews >want && drop="git rm -q --cached --ignore-unmatch secret" && (cd rewritten && FILTER_BRANCH_SQUELCH_WARNING=1 git filter-branch -f --index-filter "$drop" -- --all) >out 2>&1 && test_expect_code 1 doctor &&
	for ref in sessions/w snapshots/$one snapshots/$own; do found problem refs "$ref.: its commit was rewritten by somebody" || return 1; done && doctor --fix && found fixed refs "sessions/w.: its commit was rewritten" &&
	git -C rewritten for-each-ref refs/ews >out && test_cmp want out && doctor && found ok refs "3 below" && git -C rewritten ews snapshot verify w "$one" "$own" && git -C rewritten ews revert w >out && test_grep "Status: Verified" out && git -C rewritten ews end w
'

test_expect_success 'settings: each that is wrong is named with its place' '
	p=settings && test_repo settings && printf "strange: 1\n" >settings/superqode.yaml && doctor && found ok settings "makes sense" && git -C settings config ews.maxFile "??" && git -C settings config ews.autoClean perhaps && test_expect_code 1 doctor &&
	found problem settings "[.]git/config:[0-9]*: ews[.]maxFile: .* is not a size" && found problem settings "ews[.]autoClean: " && test_grep ! "strange" out
'

test_expect_success USERS 'P4: directories of ours that keep the owner of a project out are named to him, and root gives them back; nothing else' '
	mkdir kept roots && test_repo kept/p && test_give_user kept && git config --global --add safe.directory "*" && mkdir -p kept/p/.git/ews/entry kept/p/.git/refs/ews/snapshots kept/p/.superqode/qe-artifacts/logs kept/p/.superqode/workspace &&
	mkdir -m 700 kept/p/.superqode/trash && ln -s "$PWD/roots" kept/p/.superqode/qe-artifacts/link && test_must_fail test_as_user git -C kept/p ews snapshot create && test_must_fail test_as_user git -C kept/p ews start u &&
	test_expect_code 1 test_as_user git -C kept/p ews doctor >out 2>err && for name in .git/ews .git/refs/ews .git/refs/ews/snapshots .superqode .superqode/qe-artifacts .superqode/qe-artifacts/logs .superqode/trash; do
		found problem owners "/kept/p/$name. belongs to user 0: user 65534, whose project this is, can.t write there" && test_grep "do: sudo chown 65534:65534 .*/kept/p/$name" out || return 1
	done && test_grep ! "entry\|/workspace\|link" out && test_expect_code 1 git -C kept/p ews doctor --fix >out 2>err && found fixed owners "/.git/ews. belongs" && found fixed owners "/logs. belongs" && found problem owners "/trash. belongs" && test_grep "do: chown 65534:65534 .*/trash" out &&
	find kept/p/.git kept/p/.superqode roots -user 0 | sort >out && printf "%s\n" kept/p/.git/ews/entry kept/p/.superqode/qe-artifacts/link kept/p/.superqode/trash kept/p/.superqode/workspace roots >want && test_cmp want out &&
	chown 65534:65534 kept/p/.superqode/trash && git -C kept/p ews doctor >out && found ok owners keeps && test_as_user git -C kept/p ews start u && test_as_user git -C kept/p ews end u && test_as_user git -C kept/p ews doctor
'

test_done
