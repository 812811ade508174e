#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='start: the workspace is the project'"'"'s twin, and the project does not notice (P1, P5, P8, P9)'

. "$(dirname "$0")/test-lib.sh"

# A project in which everything that a work tree can be at once, is.
dirty_project() {
	test_repo "$1" && (
		cd "$1" &&
			mkdir -p work/dir &&
			for f in gone-index gone-both gone-file mode retype relink staged both clean; do
				echo "$f" >work/$f || exit 1
			done &&
			ln -s clean work/link &&
			git add -A && ews_repo_commit "work" 100 &&
			echo "not staged" >>work/mode && chmod +x work/mode &&
			echo "staged" >>work/staged && git add work/staged &&
			echo "staged" >>work/both && git add work/both && echo "and more" >>work/both &&
			git rm -q --cached work/gone-index && git rm -q work/gone-both && rm work/gone-file &&
			rm work/retype && ln -s clean work/retype &&
			ln -sfn ../src work/relink && ln -sfn mode work/link &&
			echo "new, staged" >work/new-staged && git add work/new-staged &&
			echo "intent" >work/intended && git add -N work/intended &&
			echo "untracked" >work/dir/untracked && chmod 600 work/dir/untracked &&
			ln -s ../nowhere work/dir/untracked-link &&
			mkdir out && echo "product" >out/product && echo "product" >work/x.o &&
			touch -d "2020-01-02 03:04:05.678901234" work/clean work/dir/untracked
	)
}

# What git says of the work tree in <dir>, in all words and numbers that do not depend on where it lies.
what_git_sees() (
	cd "$1" &&
		export GIT_OPTIONAL_LOCKS=0 &&
		git rev-parse -q --verify HEAD &&
		git status --porcelain=v2 -z --untracked-files=all "${2---}" &&
		git ls-files -s -z && git ls-files -v -z && git ls-files -u -z &&
		git diff --binary --no-ext-diff && git diff --binary --cached
)

same_in_git() {
	what_git_sees "$1" >"$SHARNESS_TRASH_DIRECTORY/git-a" &&
		what_git_sees "$2" >"$SHARNESS_TRASH_DIRECTORY/git-b" &&
		test_cmp "$SHARNESS_TRASH_DIRECTORY/git-a" "$SHARNESS_TRASH_DIRECTORY/git-b"
}

# Nothing of ours is in the store <common directory> of a project that never had a session, nor in home.
nothing_is_left() {
	git --git-dir="$1" for-each-ref refs/ews >left && test_must_be_empty left &&
		find "$1" -path '*/worktrees/*' -o -path '*/ews/*' >left && test_must_be_empty left &&
		find "$HOME/.superqode" -path "*/working/$(basename "$(dirname "$1")")/*" \( -path '*/qe/*' -o -path '*/sessions/*' \) >left &&
		test_must_be_empty left
}

test_expect_success 'setup' '
	dirty_project p
'

test_expect_success 'P1: start prints the workspace alone, and changes nothing of the project' '
	test_fingerprint p >before &&
	git -C p ews start twin >out 2>err &&
	test_line_count = 1 out &&
	take_ws out &&
	case $ws in /*/twin) ;; *) false ;; esac &&
	test_path_is_dir "$ws" &&
	test_fingerprint p >after && test_cmp before after
'

test_expect_success 'the twin has the same commit, index, changes and untracked files' '
	git -C p ews path twin >path && take_ws path &&
	same_in_git p "$ws" &&
	test_same_tree -t -x out -x work/x.o -M . -M work -M work/dir -M src -M src/deep -M src/deep/er -M docs p "$ws"
'

test_expect_success 'links of the twin are links' '
	git -C p ews path twin >path && take_ws path &&
	test_path_is_link "${ws:?}/link" src/main.c &&
	test_path_is_link "${ws:?}/docs/dangling" nowhere &&
	test_path_is_link "${ws:?}/work/retype" clean &&
	test_path_is_link "${ws:?}/work/dir/untracked-link" ../nowhere
'

test_expect_success 'ignored files come along, but where they are not wanted, and not to a commit' '
	git -C p ews path twin >path && take_ws path && cmp p/out/product "${ws:?}/out/product" && cmp p/work/x.o "${ws:?}/work/x.o" &&
	start_ws p --keep-ignored=no && test_path_is_missing "${ws:?}/out" && test_path_is_missing "${ws:?}/work/x.o" &&
	start_ws p --base HEAD && test_path_is_missing "${ws:?}/out"
'

test_expect_success 'HEAD of the twin is detached, and it is a locked worktree of that name' '
	git -C p ews path twin >path && take_ws path &&
	test_must_fail git -C "$ws" symbolic-ref -q HEAD &&
	git -C p worktree list --porcelain >list &&
	sed -n "/^worktree .*\/twin\$/,/^\$/p" list >entry &&
	grep "^detached$" entry && grep "^locked ews session twin$" entry &&
	test_path_is_dir p/.git/worktrees/twin &&
	git -C p worktree prune && test_path_is_dir p/.git/worktrees/twin
'

test_expect_success 'the index of the twin knows its own files: git reads none of the clean ones' '
	git -C p ews path twin >path && take_ws path &&
	git -C "$ws" diff-files --name-only >got &&
	git -C p diff --name-only >want &&
	sort want >want.s && sort got >got.s && test_cmp want.s got.s
'

test_expect_success 'twin and project share no file' '
	git -C p ews path twin >path && take_ws path &&
	test "$(stat -c %h "${ws:?}/src/main.c")" = 1 &&
	echo changed >>"${ws:?}/src/main.c" &&
	git -C p diff --quiet -- src/main.c &&
	git -C "$ws" checkout -q -- src/main.c
'

test_expect_success 'a session without a name is called by its time' '
	git -C p ews start >out &&
	id=$(basename "$(cat out)") &&
	echo "$id" | grep -E "^qe-[0-9]{8}-[0-9]{6}-[0-9a-f]{6}$" &&
	test_path_is_dir "p/.git/worktrees/$id" &&
	git -C p rev-parse -q --verify "refs/ews/sessions/$id^{commit}"
'

test_expect_success 'start --json says what was made' '
	git -C p ews start --keep-ignored=no --json js >out 2>err &&
	test_json out .schema ews.start/1 &&
	test_json out .session_id js &&
	test_json out .method git_worktree &&
	test_json out .base_commit "$(git -C p rev-parse HEAD)" &&
	test_json out .path "$(git -C p ews path js)" &&
	snap=$(json out .snapshot_id) &&
	echo "$snap" | grep -E "^snap-[0-9]{8}-[0-9]{6}-[0-9a-f]{6}$" &&
	n=$(find "$(git -C p ews path js)" -name .git -prune -o \( -type f -o -type l \) -print | wc -l) &&
	test_json out .files_count "$n" &&
	json out .created_at | grep -E "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z$" &&
	test_json out .total_size_bytes && test_json out .skipped
'

test_expect_success 'the ways to say worktree are the same, and other methods are usage errors' '
	for how in "--method auto" "--method worktree" "--method git_worktree" "--method git-worktree" \
		"--worktree" "--sandbox git-worktree"; do
		git -C p ews start --json $how >out 2>err && test_json out .method git_worktree &&
		git -C p ews end "$(json out .session_id)" 2>err || return 1
	done &&
	git -C p for-each-ref refs/ews/sessions >before &&
	for how in "--method nonsense" --keep-ignored=maybe \
		"--from twin --base HEAD" "--deep --quick" --copy-objects "--method snapshot --worktree" \
		"--sandbox git-worktree --method in-place" "--no-uncommitted -- ." "--base HEAD -- ." "--base HEAD --no-untracked -- ."; do
		test_expect_code 129 git -C p ews start $how >out 2>err && test_must_be_empty out || return 1
	done && test_grep "^hint: --uncommitted brings" err &&
	git -C p for-each-ref refs/ews/sessions >after && test_cmp before after
'

test_expect_success 'the subject and the intent are those that were given' '
	git -C p ews start -m "before the storm" --intent "break it" said >out &&
	test "$(git -C p log -1 --format=%s refs/ews/sessions/said)" = "before the storm" &&
	git -C p ews status --json said >json &&
	test_json json ".sessions[0].intent" "break it"
'

test_expect_success 'from a subdirectory the twin is of the whole project' '
	(cd p/work/dir && git ews start sub) >out 2>err &&
	take_ws out && same_in_git p "$ws" && test_path_is_file "${ws:?}/src/main.c"
'

test_expect_success 'the id of a living session is taken: the error names it, and it is untouched' '
	git -C p ews path twin >path && take_ws path && echo mine >"${ws:?}/mine" &&
	test_expect_code 128 git -C p ews start twin >out 2>err &&
	test_must_be_empty out && test_grep "session .twin. already exists" err && test_grep "^hint: .*git ews status twin" err &&
	test_path_is_file "${ws:?}/mine" &&
	test_expect_code 128 git -C p ews start --json twin >out 2>err &&
	test_json out .schema ews.error/1 && test_json out .error.code exists
'

test_expect_success 'P5: ids from hell are refused before anything is touched' '
	git clone -q p ids && git -C ids worktree add -q ../ids-own HEAD && git -C ids branch other &&
	test_fingerprint ids >before &&
	find "$HOME/.superqode" -path "*/qe/*" -prune -print -o -path "*/sessions/*" -prune -print >home.before &&
	long=$(printf "%300s" "" | tr " " a) && at65=$(printf "%65s" "" | tr " " a) &&
	for id in ../../x ../x x/y /abs . .. .x x. x.lock a..b "a b" " " "" "a	b" "a
b" "a\\b" "\$(touch hacked)" "a;b" "*" "a:b" "a@{0}" "~x" "-x" "é" HEAD now all ids-own "$long" "$at65"; do
		rc=0 && { git -C ids ews start "$id" >out 2>err || rc=$?; } &&
		case $rc in 128 | 129) ;; *) echo >&2 "id <$id> gave $rc" && return 1 ;; esac &&
		test_must_be_empty out && test -s err || return 1
	done &&
	test_expect_code 129 git -C ids ews start -rf >out 2>err &&
	test_must_be_empty out &&
	test_fingerprint ids >after && test_cmp before after &&
	git -C ids for-each-ref refs/ews >refs && test_must_be_empty refs && test "$(ls ids/.git/worktrees)" = ids-own &&
	find "$HOME/.superqode" -path "*/qe/*" -prune -print -o -path "*/sessions/*" -prune -print >home.after &&
	test_cmp home.before home.after &&
	test_path_is_missing hacked && test_path_is_missing ids/hacked
'

test_expect_success 'what keeps a word from being an id is said' '
	refused() {
		test_expect_code 129 git -C ids ews start "$1" 2>err && test_grep "^error: .$1. is not a session.s id: $2\$" err
	} &&
	for word in HEAD now all; do
		refused $word "that word means something else" || return 1
	done && refused a. "it ends in .\.." && refused a.lock "it ends in .\.lock." && refused a..b "it has .\.\.." && refused .a "it begins with neither a letter nor a digit" && refused a/b "it has a character that no id has" && refused "" "it is empty" &&
	test_expect_code 129 git -C ids ews start "a
error: b" 2>err && test_line_count = 2 err
'

test_expect_success 'an id of 64 letters, digits, dots, dashes and underscores is good' '
	id=A$(printf "%62s" "" | tr " " b)9 &&
	start_ws ids "$id" &&
	start_ws ids 0.x_y-Z
'

test_expect_success 'a prefix of one session means it, an exact id wins, and of several none' '
	start_ws -n abc ids abc &&
	start_ws -n abcd ids abcd &&
	test "$(git -C ids ews path abc)" = "$abc" &&
	test "$(git -C ids ews path abcd)" = "$abcd" &&
	test "$(git -C ids ews path 0.x)" = "$(git -C ids ews path 0.x_y-Z)" &&
	rc=0 && { git -C ids ews path ab >out 2>err || rc=$?; } &&
	case $rc in 128 | 129) ;; *) false ;; esac &&
	test_must_be_empty out && test_grep abcd err &&
	test_expect_code 128 git -C ids ews path nobody >out 2>err &&
	test_grep nobody err
'

test_expect_success 'merging: conflict stages and the state of the merge come along' '
	test_repo m && (
		cd m &&
		git checkout -q -b side && echo side >>src/numbers && git rm -q docs/crlf.txt && git commit -qam side &&
		git checkout -q main && echo main >>src/numbers && echo main >>docs/crlf.txt && git commit -qam main &&
		test_must_fail git merge side -m "the message" && git ls-files -u >unmerged && test -s unmerged && rm unmerged
	) &&
	test_fingerprint m >before &&
	start_ws m &&
	test_fingerprint m >after && test_cmp before after &&
	same_in_git m "$ws" &&
	for f in MERGE_HEAD MERGE_MSG MERGE_MODE; do
		cmp "m/.git/$f" "$(git -C "$ws" rev-parse --git-path "$f")" || return 1
	done &&
	git -C m status | sed 1d >want && git -C "$ws" status | sed 1d >got && test_cmp want got
'

test_expect_success 'a merge that is concluded in the twin moves nothing of the project' '
	git -C m ews path >path && take_ws path && git -C m for-each-ref refs/heads refs/tags >before &&
	(cd "$ws" && git rm -q docs/crlf.txt && git checkout -q --ours src/numbers && git add -A && git commit -qm merged) &&
	git -C "$ws" rev-parse -q --verify HEAD^2 &&
	git -C m for-each-ref refs/heads refs/tags >after && test_cmp before after &&
	test_path_is_file m/.git/MERGE_HEAD
'

test_expect_success 'rebasing: nothing of it comes along, and it is named' '
	test_repo r && (
		cd r && git checkout -q -b topic HEAD~1 && echo topic >>src/log && git commit -qam topic &&
		test_must_fail git rebase main && test -d .git/rebase-merge
	) &&
	start_ws r &&
	test_grep -i rebase err &&
	same_in_git r "$ws" &&
	test_path_is_missing "$(git -C "$ws" rev-parse --git-path rebase-merge)" &&
	git -C "$ws" checkout -q --theirs src/log && git -C "$ws" add src/log &&
	test_must_fail git -C "$ws" rebase --continue &&
	git -C r rev-parse topic >now && git -C r rev-parse ORIG_HEAD >then && test_cmp then now &&
	test_path_is_dir r/.git/rebase-merge
'

test_expect_success 'picking or reverting: nothing of it comes along, into no workspace, and it is named' '
	test_repo cp && (cd cp && git checkout -q -b theirs HEAD~1 && echo t >>src/log && git commit -qam t && git checkout -q main && test_must_fail git cherry-pick theirs) && start_ws cp one && test_grep "CHERRY_PICK_HEAD.* is under way in the project" err &&
	same_in_git cp "$ws" && test_path_is_missing "$(git -C "$ws" rev-parse --git-path CHERRY_PICK_HEAD)" && test_path_is_file cp/.git/CHERRY_PICK_HEAD && (cd "$ws" && git rev-parse theirs >"$(git rev-parse --git-path REVERT_HEAD)") && git -C cp ews start --from one two >path && take_ws path && test_path_is_missing "$(git -C "$ws" rev-parse --git-path REVERT_HEAD)" &&
	snap=$(git -C cp ews snapshot create 2>err) && git -C cp ews revert --to "$snap" two && test_path_is_missing "$(git -C "$ws" rev-parse --git-path CHERRY_PICK_HEAD)"
'

test_expect_success 'bisecting: named as well' '
	test_repo b && git -C b bisect start -q HEAD HEAD~2 &&
	git -C b ews start >out 2>err && test_grep -i bisect err &&
	take_ws out && same_in_git b "$ws" &&
	git -C "$ws" status >out && test_must_fail grep -i bisect out
'

test_expect_success 'unborn: what is staged stays staged on an empty commit of ours' '
	git init -q unborn && (cd unborn && echo a >a && git add a && echo more >>a && echo b >b) &&
	test_fingerprint unborn >before &&
	start_ws unborn &&
	test_fingerprint unborn >after && test_cmp before after &&
	test_same_tree unborn "$ws" &&
	git -C unborn status --porcelain >want && git -C "$ws" status --porcelain >got && test_cmp want got &&
	git -C "$ws" ls-tree -r HEAD >tree && test_must_be_empty tree &&
	test_must_fail git -C unborn rev-parse -q --verify HEAD
'

test_expect_success 'unborn and empty' '
	git init -q nothing && start_ws nothing &&
	test "$(ls -A "$ws")" = .git && git -C "$ws" status --porcelain >got && test_must_be_empty got &&
	git -C nothing ews diff >got && test_must_be_empty got
'

test_expect_success 'detached' '
	test_repo d && git -C d checkout -q HEAD~1 && echo x >>d/src/main.c &&
	start_ws d && same_in_git d "$ws" && test_same_tree d "$ws"
'

test_expect_success 'bare: the workspace is its HEAD' '
	git clone -q --bare m bare.git && test_fingerprint bare.git >before &&
	start_ws bare.git &&
	test_fingerprint bare.git >after && test_cmp before after &&
	test "$(git -C "$ws" rev-parse HEAD)" = "$(git -C bare.git rev-parse HEAD)" &&
	git -C "$ws" status --porcelain >got && test_must_be_empty got && test -f "${ws:?}/src/main.c"
'

test_expect_success 'a linked worktree: its own commit, index and files, in the common store' '
	test_repo l && git -C l worktree add -q ../linked -b beside HEAD~1 &&
	echo changed >>linked/src/main.c && echo staged >linked/st && git -C linked add st && echo u >linked/u &&
	echo project >>l/src/main.c &&
	test_fingerprint linked >before &&
	start_ws linked lw &&
	test_fingerprint linked >after && test_cmp before after &&
	same_in_git linked "$ws" && test_same_tree linked "$ws" &&
	test_path_is_dir l/.git/worktrees/lw && git -C l rev-parse -q --verify refs/ews/sessions/lw
'

test_expect_success '--base: exactly that commit, and nothing of the dirty state' '
	start_ws p --base HEAD~2 based &&
	test "$(git -C "$ws" rev-parse HEAD)" = "$(git -C p rev-parse HEAD~2)" &&
	git -C "$ws" status --porcelain --ignored >got && test_must_be_empty got &&
	mkdir plain && git -C p archive HEAD~2 | tar -x --no-same-permissions -C plain && test_same_tree plain "$ws" &&
	git -C "$ws" diff-files --name-only >got && test_must_be_empty got
'

test_expect_success '--base with what is uncommitted, when it is asked for' '
	start_ws p --base HEAD --uncommitted --untracked asked &&
	test_same_tree -x out -x work/x.o p "$ws" && same_in_git p "$ws"
'

test_expect_success '--base with what is uncommitted: what HEAD has removed since is no change, another untracked file is one' '
	git init -q since && (cd since && echo a >a && mkdir b && echo 1 >b/1 && echo k >k && git add . && ews_repo_commit one 100 && git rm -qr a b && echo file >b && git add b && ews_repo_commit two 200 && echo more >>k && echo new >n) &&
	for opts in --uncommitted "--uncommitted --no-untracked"; do start_ws since --base HEAD~1 $opts c && test_cmp since/k "${ws:?}/k" && git -C "$ws" status --porcelain -uno >got && echo " M k" >want && test_cmp want got && git -C "$ws" cat-file -p HEAD:b/1 >want && test_cmp want "${ws:?}/b/1" && test_path_is_file "${ws:?}/a" && git -C since ews end c || return 1; done &&
	echo a >since/a && for opts in --untracked --uncommitted; do start_ws since --base HEAD~1 $opts c && test_path_is_file "${ws:?}/a" && git -C since ews end c || return 1; done &&
	echo mine >since/a && start_ws since --base HEAD~1 --uncommitted --no-untracked c && echo a >want && test_cmp want "${ws:?}/a" && git -C since ews end c && for opts in --untracked --uncommitted; do test_expect_code 1 git -C since ews start --base HEAD~1 $opts c 2>err && test_grep ".a. has uncommitted changes" err || return 1; done && rm since/a &&
	echo staged >since/a && git -C since add a && rm since/a && test_expect_code 1 git -C since ews start --base HEAD~1 --uncommitted c 2>err && test_grep ".a. has uncommitted changes" err
'

test_expect_success 'P8: --base with what is uncommitted: what is staged alone is no less a change' '
	git init -q stages && (cd stages && for n in 1 2; do echo $n >f && echo $n >g && git add . && ews_repo_commit $n ${n}00 || exit 1; done && echo 2 >same && git add same && ews_repo_commit 3 300) &&
	(cd stages && start_ws . --base HEAD~2 --uncommitted c && echo 1 >want && test_cmp want "${ws:?}/f" && git ews end c && echo staged >f && git add f && echo 2 >f && test_expect_code 1 git ews start --base HEAD~2 --uncommitted c 2>err && test_grep ".f. has uncommitted changes" err &&
		start_ws . --base HEAD~1 --uncommitted c -- f && test_cmp f "${ws:?}/f" && git -C "$ws" diff --cached --name-only >got && echo f >want && test_cmp want got && git ews end c && git reset -q && git rm -q --cached g &&
		for opts in --untracked --no-untracked; do test_expect_code 1 git ews start --base HEAD~2 --uncommitted $opts c 2>err && test_grep ".g. has uncommitted changes" err || exit 1; done && git reset -q && chmod +x f && git add f && chmod -x f &&
		test_expect_code 1 git ews start --base HEAD~2 --uncommitted c 2>err && test_grep ".f. has uncommitted changes" err)
'

test_expect_success '--base with no such revision fails and leaves nothing' '
	test_repo nb && test_fingerprint nb >before &&
	test_expect_code 128 git -C nb ews start --base no-such-rev x >out 2>err &&
	test_must_be_empty out && test_grep no-such-rev err &&
	test_expect_code 128 git -C nb ews start --base "HEAD^{tree}" x >out 2>err &&
	test_expect_code 128 git -C nb ews start --base --output=hacked x >out 2>err &&
	test_path_is_missing nb/hacked &&
	test_fingerprint nb >after && test_cmp before after && nothing_is_left nb/.git
'

test_expect_success 'with paths only their uncommitted changes come along' '
	(cd p && git ews start some -- work/both work/dir) >out && take_ws out &&
	(cd "$ws" && git status --porcelain -uall) >got &&
	cat >want <<-\EOT &&
	MM work/both
	?? work/dir/untracked
	?? work/dir/untracked-link
	EOT
	test_cmp want got &&
	cmp p/work/both "${ws:?}/work/both" &&
	(cd p/work && git ews start some-sub -- dir) >out && take_ws out &&
	(cd "$ws" && git status --porcelain -uall) >got &&
	sed 1d want >want2 && test_cmp want2 got
'

test_expect_success 'P8: these are pathspecs of git, and one that means nothing is an error' '
	taken() {
		(cd "p/$from" && git ews start --json spec -- "$@") >json 2>err && json json .path >out && take_ws out && (cd "$ws" && git status --porcelain -uall) >got &&
		(cd "p/$from" && git status --porcelain -uall -- "$@") >want && test -s want && test_cmp want got && git -C p ews end spec
	} &&
	from=. && taken "work/g*" "*both" && taken "*" && taken ":(glob)work/*/*" && taken ":!work/both" && taken ":(icase)WORK/BOTH" && taken ":/work/dir" && from=work && taken "*unt*" && taken ":/work/*" ":!both" &&
	for idle in nosuch "nosuch*" "work/both no*such" ":(literal)*"; do test_expect_code 128 git -C p ews start spec -- $idle >out 2>err && test_must_be_empty out && test_grep "matches nothing in the project" err || return 1; done && test_grep "(literal)" err &&
	test_expect_code 128 git -C p ews start --json spec -- work/both nosuch >out && test_json out .error.code not_found &&
	for wrong in ":(bogus)x" ":(attr:x)work" "../*"; do test_expect_code 129 git -C p ews start spec -- "$wrong" >out 2>err && test_must_be_empty out || return 1; done &&
	test_expect_code 129 git -C p ews start spec --method in-place -- "*" && git -C p ews list >out && test_grep ! spec out
'

test_expect_success 'P8: git --literal-pathspecs ews takes each word for a path' '
	test_repo words && (cd words && mkdir s && echo 1 >s/a && echo 2 >"s/*" && echo 3 >":!b" && echo 4 >b) && git --literal-pathspecs -C words ews start --json lit -- "s/*" ":!b" >json && json json .path >out && take_ws out &&
	(cd "$ws" && git ls-files -o) >got && printf "%s\n" ":!b" "s/*" >want && test_cmp want got && git -C words ews end lit && GIT_NOGLOB_PATHSPECS=1 git -C words ews start --json lit -- "s/*" >json && json json .path >out && take_ws out && (cd "$ws" && git ls-files -o) >got && echo "s/*" >want && test_cmp want got &&
	git -C words ews end lit && test_expect_code 128 env GIT_LITERAL_PATHSPECS=1 git -C words ews start lit -- "s/?" >out 2>err && test_grep "s/?.* matches nothing in the project" err && test_expect_code 129 env GIT_LITERAL_PATHSPECS=1 GIT_GLOB_PATHSPECS=1 git -C words ews start lit -- s 2>err && test_grep "contradict" err
'

# Has the workspace of the project shape/ these files and this index, and can git make a tree of them?
fits() {
	(cd "${ws:?}" && find . -name .git -prune -o -type f -print | sort && git ls-files) >got && printf "%s\n" "$@" >want && test_cmp want got &&
	git -C "$ws" add -A && git -C "$ws" commit -q --allow-empty -m x && git -C "$ws" fsck --no-dangling && git -C shape ews end
}

test_expect_success 'P8: what comes along and the file of the commit that is in its way are not both there, and neither goes unsaid' '
	git init -q shape && (cd shape && echo a >a && echo x >a-x && mkdir t && echo 1 >t/1 && echo 2 >t/2 && git add . && ews_repo_commit one 100 && git rm -q a && mkdir a && echo mine >a/b && git add a/b) &&
	start_ws shape -- a/b && fits ./a-x ./a/b ./t/1 ./t/2 a-x a/b t/1 t/2 && start_ws shape --method snapshot -- a/b && fits ./a-x ./a/b ./t/1 ./t/2 a-x a/b t/1 t/2 &&
	git -C shape reset -q && start_ws shape -- a/b && fits ./a-x ./a/b ./t/1 ./t/2 a a-x t/1 t/2 &&
	(cd shape && rm -r t && echo file >t) && start_ws shape -- t ":!t/1" && fits ./a ./a-x ./t a a-x t/1 t/2 && git -C shape add t && start_ws shape -- t ":!t/1" && fits ./a ./a-x ./t a a-x t &&
	git -C shape reset -q && test_expect_code 1 git -C shape ews start --no-uncommitted --untracked x 2>err && test_grep ".a. of .HEAD. is in the way" err && test_grep "^hint: .*--no-untracked" err &&
	(cd shape && git rm -q --cached a && ews_repo_commit "a gone" 200) && start_ws shape --base HEAD --untracked -- a/b && fits ./a-x ./a/b ./t/1 ./t/2 a-x t/1 t/2 &&
	test_expect_code 1 git -C shape ews start --base HEAD~1 --untracked x -- a/b 2>err && test_grep ".a. of .HEAD~1. is in the way" err && git -C shape ews list >out && test_grep ! "^x " out
'

test_expect_success '--no-untracked and --no-uncommitted leave these at home' '
	start_ws p --no-untracked nu &&
	(cd p && git status --porcelain -uno) >want && (cd "$ws" && git status --porcelain -uall) >got &&
	test_cmp want got &&
	start_ws p --no-uncommitted --no-untracked nc &&
	(cd "$ws" && git status --porcelain -uall) >got && test_must_be_empty got &&
	test "$(git -C "$ws" rev-parse HEAD)" = "$(git -C p rev-parse HEAD)" &&
	start_ws p --no-uncommitted nc2 &&
	git -C "$ws" diff --quiet HEAD
'

test_expect_success '--in: the workspace is a directory of that name there' '
	mkdir place && git -C p ews start --in "$PWD/place" elsewhere >out &&
	test "$(cat out)" = "$PWD/place/elsewhere" &&
	same_in_git p place/elsewhere &&
	(cd place/elsewhere/src && git ews path) >got && test_cmp out got &&
	mkdir place/taken && echo precious >place/taken/file &&
	test_expect_code 128 git -C p ews start --in "$PWD/place" taken >out 2>err &&
	test "$(cat place/taken/file)" = precious &&
	test_must_fail git -C p rev-parse -q --verify refs/ews/sessions/taken
'

test_expect_success 'home, other workspaces and .superqode are in no twin' '
	test_repo nest && mkdir -p nest/.superqode/qe-artifacts nest/spaces && echo x >nest/.superqode/x &&
	test_expect_code 129 git -C nest ews start --in "$PWD/nest/spaces" one >out 2>err && test_must_be_empty out && test_grep "^hint: name a directory outside" err && test_grep "cannot start .one.: ./.*/nest/spaces. lies inside" err && test_grep ! "cannot make" err &&
	ls nest/spaces >left && test_must_be_empty left &&
	(
		cd nest && SUPERQODE_HOME=$PWD/own-home && export SUPERQODE_HOME &&
		echo it >it && git ews start two && git ews start three && cp -R "$(git ews path three)" ../three &&
		git ews path three
	) >out 2>err &&
	ws=$(tail -n 1 out) &&
	test_path_is_missing "${ws:?}/.superqode" && test_path_is_missing "${ws:?}/own-home"
'

test_expect_success 'P3: what somebody has committed below .superqode is in none either, and no change' '
	test_repo brought && mkdir brought/.superqode && echo x | tee brought/.superqode/x brought/other && git -C brought add -f . && git -C brought commit -q -m x &&
	for opts in "" --no-uncommitted "--base HEAD"; do
		(cd brought && git ews start $opts) >out && ws=$(cat out) && test_path_is_missing "${ws:?}/.superqode" && git -C "$ws" status --porcelain >out && test_must_be_empty out &&
		git -C "$ws" ews diff --exit-code && rm "${ws:?}/other" && git -C "$ws" ews revert >out && test_grep "Status: Verified" out || return 1
	done &&
	echo new >"${ws:?}/new" && git -C brought ews end --branch kept "$(basename "$ws")" && git -C brought diff --name-status HEAD kept >out && printf "A\tnew\n" | test_cmp - out
'

test_expect_success 'P8: what cannot come along is named' '
	test_repo odd && git init -q odd/nested && echo n >odd/nested/file && mkfifo odd/fifo &&
	perl -MSocket -e "socket(S, PF_UNIX, SOCK_STREAM, 0) && bind(S, sockaddr_un(q(odd/socket))) or die" &&
	timeout 20 git -C odd ews start --json >out 2>err &&
	json out .skipped >skipped && test_grep socket skipped && test_grep nested skipped &&
	timeout 20 git -C odd ews start >out 2>err && test_grep socket err && test_grep nested err
'

test_expect_success 'P9: no hook, no filter and no program of the repository runs' '
	test_repo hooked && (
		cd hooked && mark="$SHARNESS_TRASH_DIRECTORY/ran" &&
		mkdir -p .git/hooks && for h in post-checkout reference-transaction post-index-change pre-commit post-commit \
			fsmonitor-watchman pre-auto-gc; do
			printf "#!/bin/sh\necho %s >>\"%s\"\n" $h "$mark" >.git/hooks/$h && chmod +x .git/hooks/$h || exit 1
		done &&
		echo "*.c filter=evil" >.gitattributes && echo "*.bin filter=lfs diff=evil" >>.gitattributes &&
		GIT_CONFIG_GLOBAL=/dev/null git -c core.hooksPath=/dev/null add -A &&
		git -c core.hooksPath=/dev/null commit -qm attributes &&
		for k in filter.evil.clean filter.evil.smudge filter.evil.process filter.lfs.smudge filter.lfs.process \
			filter.lfs.clean core.fsmonitor core.pager diff.evil.command diff.evil.textconv diff.external \
			core.sshCommand gpg.program credential.helper core.editor; do
			git config $k "echo $k >>\"$mark\"; cat" || exit 1
		done &&
		git config filter.evil.required true && git config commit.gpgSign true && echo "/* dirty */" >>src/main.c
	) &&
	rm -f ran && (cd hooked && git ews start quiet) >out 2>err && test_path_is_missing ran &&
	take_ws out && cmp hooked/src/main.c "${ws:?}/src/main.c" &&
	(cd hooked && git ews start --base HEAD~1 quiet2) >out 2>err && test_path_is_missing ran &&
	GIT_DIR=hooked/.git git show HEAD:src/main.c >raw && (cd hooked && git ews start --base HEAD raw) >out 2>err &&
	test_path_is_missing ran && take_ws out && cmp raw "${ws:?}/src/main.c" && test_grep "src/main.c" err
'

test_expect_success 'an LFS file comes as it is in the project, or as its pointer, and is named' '
	git init -q lfs && (
		cd lfs && printf "version https://git-lfs.github.com/spec/v1\noid sha256:%064d\nsize 5\n" 7 >big.dat &&
		cp big.dat ../pointer && echo "*.dat filter=lfs diff=lfs merge=lfs -text" >.gitattributes &&
		git add -A && git commit -qm lfs && printf bytes >big.dat && git config filter.lfs.clean "cat ../pointer" &&
		git add big.dat && git config filter.lfs.smudge "touch ../ran" && git config filter.lfs.required true
	) &&
	rm -f ran && start_ws lfs && cmp lfs/big.dat "${ws:?}/big.dat" &&
	start_ws lfs --base HEAD && cmp pointer "${ws:?}/big.dat" &&
	test_grep big.dat err && test_path_is_missing ran
'

test_expect_success 'line ends and encodings stay as they are on disk' '
	git init -q crlf && (
		cd crlf && printf "a\r\nb\r\n" >dos && printf "a\nb\n" >unix && printf "a\r\nb\n" >mixed && printf "\$Id\$\n" >ident &&
		git -c core.autocrlf=false add -A && git commit -qm ends &&
		git config core.autocrlf true && printf "* text=auto eol=crlf ident\n" >.git/info/attributes
	) &&
	start_ws crlf && test_same_tree crlf "$ws"
'

test_expect_success 'two starts at once both succeed' '
	test_repo two && (
		cd two &&
		for i in 1 2 3 4; do
			{ git ews start >../two.$i 2>../two.err.$i 3>&- 4>&- 5>&-; echo $? >../two.rc.$i; } &
		done &&
		wait
	) &&
	cat two.rc.* >rc && printf "0\n0\n0\n0\n" >want && test_cmp want rc &&
	sort -u two.[1-4] >paths && test_line_count = 4 paths &&
	while read -r ws; do same_in_git two "$ws" || return 1; done <paths &&
	git -C two fsck --strict
'

test_expect_success 'of two starts of one id at once one wins, and the other leaves nothing' '
	for round in 1 2 3; do
		(
			cd two &&
			for i in 1 2 3; do
				{ git ews start same$round >../same.$i 2>../same.err.$i 3>&- 4>&- 5>&-; echo $? >../same.rc.$i; } &
			done &&
			wait
		) &&
		cat same.rc.1 same.rc.2 same.rc.3 | grep -c "^0$" >won && echo 1 >want && test_cmp want won &&
		same_in_git two "$(cat same.[123])" || return 1
	done &&
	git -C two ews status >/dev/null 2>err && test_must_fail grep -i interrupted err &&
	git -C two worktree list >list && test "$(grep -c /same list)" = 3
'

test_expect_success 'over the limit: named and refused, nothing is made; --partial leaves it out' '
	test_repo big && perl -e "print q(x) x 5000" >big/large && test_fingerprint big >before &&
	test_expect_code 1 git -C big -c ews.maxFile=4k ews start large >out 2>err &&
	test_must_be_empty out && test_grep "large" err && nothing_is_left big/.git &&
	test_fingerprint big >after && test_cmp before after &&
	git -C big -c ews.maxFile=4k ews start --partial part >out 2>err && test_grep large err &&
	take_ws out && test_path_is_missing "${ws:?}/large" && test_path_is_file "${ws:?}/src/main.c" &&
	test_expect_code 1 git -C big -c ews.maxTotal=4k ews start large >out 2>err && test_must_be_empty out
'

test_expect_success 'P4: a start that fails in the middle leaves nothing' '
	test_repo broken && blob=$(git -C broken rev-parse HEAD:src/numbers) &&
	rm -f "broken/.git/objects/$(echo $blob | cut -c1-2)/$(echo $blob | cut -c3-)" &&
	git -C broken for-each-ref >refs.before &&
	test_expect_code 128 git -C broken ews start --base HEAD x >out 2>err && test_must_be_empty out &&
	test_grep -E "$blob|src/numbers" err && test_grep "^hint: .*git fsck" err && nothing_is_left broken/.git &&
	git -C broken for-each-ref >refs.after && test_cmp refs.before refs.after &&
	start_ws broken x && test_same_tree broken "$ws" &&
	echo file >in-the-way && test_repo way &&
	test_expect_code 128 git -C way ews start --in "$PWD/in-the-way" x >out 2>err && nothing_is_left way/.git
'

test_expect_success 'in a plain directory the hint where something is lost calls git at its store' '
	mkdir plainly && echo once >plainly/lost && start_ws plainly first && id=$(git -C plainly ews snapshot create first) && blob=$(git hash-object plainly/lost) && echo now >plainly/lost && found=$(find "$HOME" -path "*/objects/$(echo "$blob" | cut -c1-2)/$(echo "$blob" | cut -c3-)") && test -f "$found" && rm "$found" &&
	test_expect_code 128 git -C plainly ews start --from "$id" next 2>err && words=$(sed -n "s/^hint: nothing was begun; .\(git -C .* fsck\). shows.*/\1/p" err) && test -n "$words" && { (cd plainly && eval "$words") >out 2>&1 || :; } && test_grep "missing blob $blob" out
'

test_expect_success 'outside of a repository, and for $HOME itself: an error of one line and a hint' '
	mkdir no-repo && rc=0 && { (cd no-repo && git ews diff) >out 2>err || rc=$?; } && test $rc = 128 &&
	test_must_be_empty out && test_line_count -le 2 err &&
	test_repo homely && rc=0 && { (HOME=$PWD/homely && export HOME && cd homely && git ews start) >out 2>err || rc=$?; } &&
	test $rc = 128 && test_must_be_empty out && test_grep -i home err &&
	mkdir plain-home && rc=0 && { (HOME=$PWD/plain-home && export HOME && cd plain-home && git ews start) >out 2>err || rc=$?; } &&
	test $rc = 128 && test_grep -i home err && ls -A plain-home >out && test_must_be_empty out &&
	rc=0 && { (HOME=$PWD/plain-home && export HOME && cd plain-home && git ews snapshot create) >out 2>err || rc=$?; } && test $rc = 128 && test_grep "^hint: .*; once that has begun a session there, other verbs do" err
'

test_expect_success 'a revision that git replace has put another in the place of gives what git would check out; another file or tree is refused' '
	test_repo swap && head=$(git -C swap rev-parse HEAD) old=$(git -C swap rev-parse HEAD~1) && git -C swap replace "$head" "$old" && git -C swap reset -q --hard && git -C swap worktree add -q --detach ../swapped HEAD && for opts in "" "--base HEAD" "--base HEAD --no-uncommitted" --no-uncommitted "--base HEAD --uncommitted" "--base $head --method snapshot"; do
		start_ws swap $opts r && diff -r --no-dereference -x .git -x .superqode swapped "$ws" && git -C swap ews snapshot verify r && { case $opts in *snapshot) ;; *) git -C "$ws" status --porcelain >out && test_must_be_empty out && test "$(git -C "$ws" rev-parse HEAD)" = "$head" ;; esac; } && git -C swap ews end r || { echo >&2 "$opts"; return 1; }
	done && git -C swap -c core.useReplaceRefs=false worktree add -q --detach ../swapped-raw HEAD && git -C swap config core.useReplaceRefs false && start_ws swap --base HEAD r && diff -r --no-dereference -x .git -x .superqode swapped-raw "$ws" && git -C swap ews end r && git -C swap config --unset core.useReplaceRefs && git -C swap replace -d "$head" && git -C swap reset -q --hard &&
	for what in HEAD:run.sh HEAD^{tree}; do
		id=$(git -C swap rev-parse "$what") && other=$(test "$what" != HEAD:run.sh && git -C swap rev-parse "HEAD~1^{tree}" || echo other | git -C swap hash-object -w --stdin) && git -C swap replace "$id" "$other" && for opts in "--base HEAD" --no-uncommitted; do
			test_expect_code 128 git -C swap ews start $opts r >out 2>err && test_must_be_empty out && test_grep "in the place of .$id." err && test_grep "^hint: .git replace -d $id." err || return 1
		done && start_ws swap r && diff -r --no-dereference -x .git -x .superqode swap "$ws" && git -C swap ews end r && git -C swap replace -d "$id" || return 1
	done
'

test_expect_success 'a tree or a file that git replace has put another in the place of keeps nobody from a revision that has it not' '
	test_repo elsewhere && mkdir elsewhere/sub && echo 1 >elsewhere/sub/f && git -C elsewhere add . && git -C elsewhere commit -qm sub && git -C elsewhere rm -qr sub && echo new >elsewhere/src/new && git -C elsewhere add . && git -C elsewhere commit -qm without &&
	for what in HEAD~1^{tree} HEAD~1:sub HEAD~1:src HEAD~1:sub/f; do
		id=$(git -C elsewhere rev-parse "$what") && other=$(if test "$(git -C elsewhere cat-file -t "$id")" = tree; then git -C elsewhere mktree </dev/null; else echo other | git -C elsewhere hash-object -w --stdin; fi) && git -C elsewhere replace "$id" "$other" &&
			for opts in "--base HEAD" --no-uncommitted; do start_ws elsewhere $opts r && diff -r --no-dereference -x .git -x .superqode elsewhere "$ws" && git -C "$ws" status --porcelain >out && test_must_be_empty out && git -C elsewhere ews end r || return 1; done &&
			test_expect_code 128 git -C elsewhere ews start --base HEAD~1 r 2>err && test_grep "in the place of .$id." err && git -C elsewhere replace -d "$id" || { echo >&2 "$what"; return 1; }
	done
'

test_expect_success 'P8: where HEAD cannot be read just now no session begins that would be on no branch' '
	test_repo unread && branch=$(git -C unread symbolic-ref --short HEAD) && look=0 && while test_more_looks; do
		test_look EIO "/unread/[.]git(/HEAD)?$" -C unread start s$look >out 2>err && if test $code = 0; then git -C unread ews status --json s$look >json && test_json json ".sessions[0].branch" "$branch"; fi || return 1
	done && test $look -gt 4
'

test_expect_success 'P2: nor is a workspace open to all where the mode of the project cannot be asked for just now' '
	mkdir closed && echo secret >closed/f && chmod 700 closed && look=0 && while test_more_looks; do
		test_look EIO "newfstatat.*/closed$" -C closed start s$look >out 2>err && if test $code = 0; then test "$(stat -c %a "$(cat out)")" = 700; fi || return 1
	done && test $look -gt 2
'

test_expect_success 'P4: a workspace elsewhere is neither another repository nor damaged where its mark cannot be read just now' '
	test_repo marked && mkdir marks && ws=$(git -C marked ews start --in "$PWD/marks" s) && for from in "${ws:?}/src" marked; do
		look=0 && while test_more_looks; do
			test_look EIO "/[.]superqode/elsewhere(/.*)?$" -C "$from" snapshot create --json $(test "$from" != marked || echo s) >json 2>err && if test $code = 0; then test_json json .session_id s; else test_grep ! "not where it was made" err; fi || return 1
		done && test $look -gt 3 || return 1
	done && git -C marked ews end s
'

test_expect_success 'what an end needs of home is made by the start, while there is space' '
	for algo in sha1 sha256; do
		git init -q --object-format=$algo space-$algo && (cd space-$algo && echo a >a && git add a && git commit -qm a) && SUPERQODE_HOME="$PWD/space.home" git -C space-$algo ews start s && ls space.home >before && grep "^neutral" before &&
			SUPERQODE_HOME="$PWD/space.home" git -C space-$algo ews diff s && SUPERQODE_HOME="$PWD/space.home" git -C space-$algo ews end s && ls space.home >after && test_cmp before after || return 1
	done
'

test_expect_success 'P8: where its answer can not be written, the error names the session that was made, and how to get the path' '
	test_repo unheard && for words in "start s" "start --json j" "round start --agent a"; do
		# shellcheck disable=SC2086 # words
		test_expect_code 128 git -C unheard ews $words >/dev/full 2>err && test_grep "^error: cannot write to standard output" err && ask=$(sed -n "s/^hint: session .* was made all the same: .\(git ews path [^ ]*\). says where it is$/\1/p" err) && test -n "$ask" &&
			(cd unheard && $ask) >out && test_path_is_dir "$(cat out)" || return 1
	done && test_expect_code 128 git -C unheard ews status >/dev/full 2>err && test_grep ! "made all the same" err && git -C unheard ews list --json >json && test_json json ".sessions[2].session_id" && test_json_missing json ".sessions[3]"
'

test_done
