#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='apply: single hunks, the index, a commit; and the result as a branch (P1, P4, P7, P9)'

. "$(dirname "$0")/test-lib.sh"

# wrapped <what> <argument>...: git ews, whose git does that when it is to commit. `theirs`: somebody else commits.
wrapped() {
	mkdir -p wrap && printf '#!/bin/sh\ncase " $* " in *" commit --quiet "*) %s ;; esac\nexec "%s" "$@"\n' "$1" "$real" >wrap/git && chmod +x wrap/git &&
		shift && PATH="$PWD/wrap:$PATH" git-ews -C p "$@"
}

real=$(command -v git)
theirs="env -u GIT_REFLOG_ACTION \"$real\" commit --only --allow-empty -qm theirs"

lines() {
	seq 1 60 | sed "$@"
}

refs() {
	git -C p for-each-ref refs/heads refs/tags && git -C p ls-files -s | sha256sum
}

test_expect_success 'setup' '
	test_repo p && (cd p && lines "s/\$/\r/" >lines && mkdir -p a b && lines "" >a/same && lines "" >b/same && echo read >README && git add -A && git commit -qm more) &&
	start_ws p s && s=$ws && (
		cd "$s" && sed -i "s/^5\r/five\r/;s/^30\r/thirty\r/;s/^55\r/x\r\n&/" lines && sed -i "s/^5\$/A/;s/^50\$/AA/" a/same && sed -i "s/^5\$/B/" b/same &&
			chmod 755 lines && echo new >new && rm docs/crlf.txt && chmod 755 README && mkdir only && echo in >only/in
	) && files_of p >p.was && refs >refs.was
'

test_expect_success 'P7: hunks by number: the lines they are, with their line ends, and not the others' '
	git -C p ews apply --hunks lines:1,3 s && lines "s/^5\$/five/;s/^55\$/x\n55/" | sed "s/\$/\r/" >want && test_cmp want p/lines &&
	test ! -x p/lines && git -C p ews undo && (cd p/a && git ews apply s --hunks same:2) && lines "s/^50\$/AA/" >want && test_cmp want p/a/same &&
	lines "" >want && test_cmp want p/b/same && git -C p ews undo && git -C p ews apply --hunks lines:1,2,3 --hunks new:1 --hunks README:1 --hunks only/in:1 s &&
	cmp p/lines "${s:?}/lines" && test -x p/lines && test -x p/README && test_path_is_file p/new && test_path_is_file p/only/in && test_path_is_file p/docs/crlf.txt &&
	git -C p ews undo && git -C p ews diff s | (cd p && git ews apply --hunks b/same:1 -) && lines "s/^5\$/B/" >want && test_cmp want p/b/same &&
	git -C p ews undo && files_of p >got && test_cmp p.was got
'

test_expect_success 'a hunk goes where its lines are, when the file moved on; what is no hunk is an error' '
	{ echo zero && lines ""; } >p/a/same && git -C p ews apply --hunks a/same:2 s && { echo zero && lines "s/^50\$/AA/"; } >want && test_cmp want p/a/same &&
	git -C p ews undo && git -C p checkout -q a/same && test_expect_code 128 git -C p ews apply --hunks lines:4 s &&
	test_expect_code 128 git -C p ews apply --hunks src/main.c:1 s && test_expect_code 129 git -C p ews apply --hunks lines:x s &&
	test_expect_code 129 git -C p ews apply --hunks lines s && files_of p >got && test_cmp p.was got
'

test_expect_success 'P1: what is chosen takes along the directories that go with it, and no others' '
	test_repo along && mkdir -p along/sub/deep along/e along/x/y && seq 60 >along/a && echo c >along/sub/deep/c && echo y >along/x/y/z && git -C along add . && git -C along commit -qm more && start_ws along h &&
	(cd "$ws" && sed -i "3s/.*/X/" a && rm -r sub x && rmdir e && echo file >x) && git -C along ews apply --hunks a:1 h >out && test_grep ! "also:" out && test_path_is_dir along/e && test_path_is_file along/sub/deep/c && git -C along ews undo &&
	rm -r along/sub && echo person >along/sub && git -C along ews apply --hunks a:1 h && test_grep person along/sub && git -C along ews undo && rm along/sub && git -C along checkout -q sub &&
	git -C along ews apply --hunks sub/deep/c:1 h && test_path_is_missing along/sub && test_path_is_dir along/e && git -C along ews undo && git -C along ews apply --hunks x:1 --hunks x/y/z:1 h && test_grep file along/x && test_path_is_dir along/sub && git -C along ews undo && git -C along ews end h
'

if command -v script >/dev/null 2>&1; then
	test_set_prereq SCRIPT
fi

test_expect_success 'from git'\''s own directory, where hooks run, they are seen from the top' '
	test_repo hooked && start_ws hooked s && echo work >>"${ws:?}/src/main.c" && for dir in hooked/.git hooked/.git/hooks; do
		git -C "$dir" ews diff --name-only s -- . >out && echo src/main.c | test_cmp - out && git -C "$dir" ews apply --check s -- src/main.c >out && test_grep main.c out || return 1
	done && git -C hooked/.git ews revert s -- src/main.c && git -C hooked ews diff --exit-code s
'

test_expect_success 'P4: a work tree may lie in git'\''s own directory, as those of a bare clone do: its subdirectories are places in a twin' '
	test_repo around && mkdir around/sub && echo old >around/sub/s && git -C around add . && git -C around commit -qm sub && git clone -q --bare around around.git && git -C around.git worktree add -q --detach tree main && start_ws around.git/tree s && echo work >>"${ws:?}/sub/s" && echo work >>"${ws:?}/run.sh" &&
	git -C around.git/tree/sub ews diff --name-only s -- . >out && echo sub/s | test_cmp - out && git -C around.git/tree/sub ews revert s -- . && git -C around.git/tree ews diff --name-only s >out && echo run.sh | test_cmp - out && git -C around.git/tree ews end s
'

test_expect_success 'paths are seen from the same place, whether one stands in the workspace or in the project' '
	test_repo twin && mkdir twin/sub && echo old | tee twin/f >twin/sub/f && git -C twin add . && git -C twin commit -qm sub && start_ws twin --in .superqode/ws t && echo sub >"${ws:?}/sub/f" && echo top >"${ws:?}/f" &&
	for dir in "${ws:?}/sub" twin/sub; do
		for line in "diff t -- f" "diff t --relative=sub/" "diff t -- :(glob)f"; do (cd "$dir" && git ews $line) >out && test_grep "^+sub" out && test_grep ! "^+top" out || return 1; done &&
		for line in "--hunks f:1" "--prefix ." "-- f" "-- :(glob)?"; do (cd "$dir" && git ews apply t $line) 2>err && test "$(cat twin/sub/f twin/f)" = "$(printf "sub\nold")" && git -C twin ews undo || return 1; done &&
		(cd "$dir" && git ews apply --check --hunks ../f:1 t) >out 2>err && test_grep "^ f " out && test_expect_code 129 git -C "$dir" ews apply --check t -- ../../f || return 1
	done && (cd twin/sub && git ews revert t -- f) && echo old | test_cmp - "${ws:?}/sub/f" && test_grep top "${ws:?}/f" && (cd "${ws:?}/sub" && git ews start --method snapshot --in "$PWD/../../.." u -- f) >path 2>err && take_ws path && echo old | test_cmp - "${ws:?}/f"
'

test_expect_success 'without a terminal nothing is asked' '
	test_expect_code 128 git -C p ews apply --patch s </dev/null 2>err && test_grep "^hint: .*--hunks" err
'

# the answers for README a/same b/same docs/crlf.txt lines new
test_expect_success SCRIPT '--patch asks for each hunk' '
	printf "%s\n" n n y d y "?" k n j j y g1 n j q >answers && script -qec "cd p && git ews apply --patch s" /dev/null <answers >shown &&
	test_grep "Apply this hunk" shown && test_grep "+AA" shown && lines "s/^50\$/AA/" >want && test_cmp want p/a/same && test_path_is_missing p/docs/crlf.txt &&
	lines "s/^55\$/x\n55/" | sed "s/\$/\r/" >want && test_cmp want p/lines && test_path_is_missing p/new && lines "" >want && test_cmp want p/b/same &&
	git -C p ews undo && files_of p >got && test_cmp p.was got
'

test_expect_success 'P4: --index stages what came, and undo puts the index back' '
	echo mine >>p/src/main.c && git -C p add src/main.c && refs >refs.mine && git -C p ews apply --index s && git -C p diff --exit-code &&
	git -C p diff --cached --name-only >names && test_grep "^new\$" names && test_grep docs/crlf.txt names && test_grep src/main.c names && git -C p ews undo &&
	refs >got && test_cmp refs.mine got && git -C p ews undo --redo && git -C p diff --exit-code && git -C p ews undo && refs >got && test_cmp refs.mine got
'

test_expect_success 'P4: redo puts back what was staged in between, though the file has gone on' '
	git -C p ews apply --index s && echo staged >>p/new && git -C p add new && git -C p rm -q -f --cached a/same && echo more >>p/new && git -C p ls-files -s >staged && files_of p >files && git -C p ews undo && refs >got && test_cmp refs.mine got &&
	git -C p ews undo --redo && git -C p ls-files -s >got && test_cmp staged got && files_of p >got && test_cmp files got && git -C p ews undo && refs >got && test_cmp refs.mine got
'

test_expect_success 'P4: undo and redo turn the index though the files are by then what they shall be' '
	test_repo back && ws=$(git -C back ews start b) && echo x >"${ws:?}/new" && git -C back status --porcelain >was && git -C back ews apply --index b && git -C back status --porcelain >staged && test_grep "^A  new" staged &&
	rm back/new && git -C back ews undo && git -C back status --porcelain >got && test_cmp was got && git -C back ews undo --redo && git -C back status --porcelain >got && echo "AD new" >want && test_cmp want got && git -C back ews end b
'

test_expect_success 'P4: what the index has above or below what an undo brings back to it makes way, is kept and named, and is back with a redo' '
	test_repo way && start_ws way w && rm "${ws:?}/run.sh" "${ws:?}/docs/crlf.txt" && git -C way ls-files -s >was && sed "/docs.crlf/b;/docs/d" was >want && git -C way ews apply --index w && mine=$(echo mine | git -C way hash-object -w --stdin) &&
	for path in docs run.sh/in; do git -C way update-index --add --replace --cacheinfo "100644,$mine,$path" || return 1; done && git -C way ls-files -s >staged && test_grep "docs$" staged && files_of way >files &&
	git -C way ews undo --dry-run 2>err && test_grep "would be kept in trash: docs$" err && test_grep "would be kept in trash: run.sh/in$" err && git -C way ls-files -s >got && test_cmp staged got &&
	git -C way ews undo --json >out 2>err && test_json out ".since[0]" docs && test_json out ".since[1]" run.sh/in && test_json_count out .since 2 && git -C way ls-files -s >got && test_cmp want got &&
	git -C way ews undo --redo 2>err && test_grep ! "kept in trash" err && git -C way ls-files -s >got && test_cmp staged got && files_of way >got && test_cmp files got && git -C way ews undo && git -C way ls-files -s >got && test_cmp want got &&
	git -C way update-index --force-remove run.sh && git -C way update-index --add --cacheinfo "100644,$mine,run.sh/in/deep" && git -C way ls-files -s >deep && git -C way ews undo --redo --dry-run 2>err && test_grep "would be kept in trash: run.sh/in/deep$" err &&
	git -C way ews undo --redo 2>err && test_grep "and kept in trash: run.sh/in/deep$" err && git -C way ls-files -s >got && test_cmp staged got && git -C way ews undo && git -C way ls-files -s >got && test_cmp deep got
'

test_expect_success 'P8: what --index and --commit staged, or the undo of them, is drift to no session; what somebody stages besides is, at the same time as well' '
	test_repo ours && for id in a b c d e f; do start_ws ours $id && echo $id >"${ws:?}/$id" || return 1; done && git -C ours ews apply --index a && git -C ours ews end a 2>err && test_grep ! drift err &&
	git -C ours ews apply --index b && git -C ours ews undo && git -C ours ews undo --redo && git -C ours commit -qm ab && git -C ours ews apply --commit c && for id in b c; do git -C ours ews end $id 2>err && test_grep "^drift: ref refs/heads/main moved" err && test_grep ! "index changed" err || return 1; done &&
	echo mine >ours/mine && git -C ours add mine && git -C ours ews apply --index d && git -C ours ews end d 2>err && test_grep "^drift: index changed$" err && start_ws ours g && git -C ours ews apply --index e && echo more >>ours/mine && git -C ours add mine && git -C ours ews end g 2>err && test_grep "^drift: index changed$" err &&
	start_ws ours h && echo beside >ours/beside && mkdir staging && printf "#!/bin/sh\ncase \" \$* \" in *\" update-index --add \"*) \"%s\" -C \"%s\" add beside ;; esac\nexec \"%s\" \"\$@\"\n" "$real" "$PWD/ours" "$real" >staging/git && chmod +x staging/git &&
	PATH="$PWD/staging:$PATH" git-ews -C ours apply --index f && git -C ours ls-files f beside >out && test_line_count = 2 out && git -C ours ews end h 2>err && test_grep "^drift: index changed$" err
'

# drifts <session> [<branch>]: it ends, and names that as moved, and nothing else
drifts() {
	# shellcheck disable=SC2283 # it compares
	git -C commits ews end "$1" 2>err && { grep "^drift:" err >out || :; } && if test $# = 2; then test_line_count = 1 out && test_grep "^drift: ref refs/heads/$2 moved" out; else test_must_be_empty out; fi
}

test_expect_success 'P8: what --commit committed, or the undo of it, is drift to no session; what somebody commits before or since is' '
	test_repo commits && on=$(git -C commits symbolic-ref --short HEAD) && for id in a b c d e f g; do start_ws commits $id && echo $id >"${ws:?}/$id" || return 1; done && git -C commits ews apply --commit a && drifts a && start_ws commits late && git -C commits ews apply --commit b && git -C commits ews status --json c >json && test_json_count json ".sessions[0].drift" 0 && drifts b && git -C commits ews undo b && git -C commits ews undo a &&
	git -C commits ews undo && drifts late && git -C commits ews undo && drifts c && git -C commits ews undo --redo && git -C commits ews undo --redo && drifts d &&
	start_ws commits since && git -C commits commit -q --allow-empty -m mine && drifts e $on && drifts since $on && start_ws commits knows && git -C commits ews apply --commit f && drifts f $on && drifts knows && start_ws commits knows && git -C commits ews apply --commit g && git -C commits reset -q --soft HEAD~2 && drifts knows $on
'

test_expect_success !VALGRIND 'P8: so is one that was killed when it had committed, and that recover finishes' '
	git -C commits reset -q --hard && start_ws commits killed && echo killed >"${ws:?}/killed" && test_expect_code 137 "$EWS_BUILD/t/killat" -c "told-moves$" 1 git-ews -C commits apply --commit killed && test "$(git -C commits log -1 --format=%s)" = "Apply killed" && git -C commits ews recover --all >out && test_grep "apply of the project was finished" out && drifts killed
'

test_expect_success 'P1: --index refuses what the index has otherwise, --commit what else is staged, both conflicts' '
	test_expect_code 1 git -C p ews apply --commit s 2>err && test_grep "staged" err && git -C p reset -q --hard && echo b >>p/b/same && files_of p >before && refs >refs.before &&
	test_expect_code 1 git -C p ews apply --index s 2>err && test_grep "b/same.*index" err && test_expect_code 1 git -C p ews apply --commit --3way s &&
	git -C p checkout -q b/same && echo x >p/new && for how in "--index --3way" --index; do
		test_expect_code 1 git -C p ews apply $how s 2>err && test_grep "^hint: --index and --commit want no conflicts: --force takes it" err || return 1
	done && rm p/new && files_of p >got && test_cmp p.was got && refs >got && test_cmp refs.before got
'

# What git was told not to look at may have changes that are nobody else's; and of what is left out of the work tree it would stage that it is gone.
test_expect_success 'P1: --index and --commit refuse what is marked in the index, stage what it left out, and undo brings the marks back' '
	git clone -q p mk && echo local >>mk/README && git -C mk update-index --skip-worktree README && echo local >>mk/a/same && git -C mk update-index --assume-unchanged a/same &&
	git -C mk update-index --skip-worktree b/same && rm mk/b/same && git -C mk ls-files -v -s >was && start_ws mk mk && mkdir -p "${ws:?}/b" && echo back >"${ws:?}/b/same" && files_of mk >before &&
	git -C mk ews apply --index mk && test "$(git -C mk show :b/same)" = back && git -C mk ews undo && git -C mk ls-files -v -s >got && test_cmp was got && files_of mk >got && test_cmp before got &&
	git -C mk ews apply --commit mk && git -C mk diff --name-status HEAD^ HEAD >got && echo "M	b/same" | test_cmp - got && git -C mk ews undo && git -C mk ls-files -v -s >got && test_cmp was got &&
	for path in README a/same; do
		echo theirs >>"${ws:?}/$path" && for how in --index --commit; do
			test_expect_code 1 git -C mk ews apply $how mk -- $path 2>err && test_grep "$path.* is marked as" err && test_grep "^hint: .git update-index --no-" err || return 1
		done || return 1
	done && git -C mk ls-files -v -s >got && test_cmp was got && files_of mk >got && test_cmp before got && git -C mk ews apply mk && cmp "${ws:?}/README" mk/README && git -C mk ews undo &&
	git -C mk update-index --no-skip-worktree README b/same && git -C mk update-index --no-assume-unchanged a/same && git -C mk reset -q --hard &&
	git -C mk sparse-checkout set --cone --sparse-index src && git -C mk ls-files --sparse -v -s >was && start_ws mk mk2 && mkdir -p "${ws:?}/docs" && echo new >"${ws:?}/docs/crlf.txt" && git -C mk ews apply --index mk2 &&
	git -C mk diff --cached --name-status >got && echo "M	docs/crlf.txt" | test_cmp - got && git -C mk ews undo && git -C mk diff --cached --exit-code && git -C mk status --porcelain >got && test_must_be_empty got
'

test_expect_success STRACE 'P1: whichever look at the session fails, a branch has nothing of what git was told not to look at' '
	test_repo closed && git -C closed update-index --assume-unchanged run.sh && echo SECRET >closed/run.sh && : >said && n=1 && while test $n -lt 60; do
		start_ws closed s$n && echo work >>"${ws:?}/src/main.c" && code=0 && { test_strace log -P "$PWD/closed/.git/refs/ews/sessions/s$n" -P "refs/ews/sessions/s$n" -P "s$n" -e trace=openat,openat2 -e inject=openat,openat2:error=EMFILE:when=$n git -C closed ews end --branch br$n s$n >out 2>err || code=$?; } && cat err >>said &&
			case $code in 0 | 1) ;; 128) test_grep "^error: .*Too many open files" err ;; *) false ;; esac && { test $code != 0 || git -C closed rev-parse -q --verify br$n; } && { ! git -C closed cat-file -p br$n:run.sh >got || test_grep ! SECRET got; } || { echo >&2 "open $n: $code"; cat >&2 err; return 1; }
		grep -q INJECTED log || break
		n=$((n + 1))
	done && test $n -gt 10 && test $n -lt 60 && test_grep ! "dropped meanwhile" said
'

# git does not look whether files that are left out are there after all where it is told that they may be.
test_expect_success 'P1: --index and --commit stage what a directory of a sparse index left out, and refuse what of it is there' '
	test_repo si && git -C si sparse-checkout set --cone --sparse-index src && git -C si config sparse.expectFilesOutsideOfPatterns true && git -C si ls-files -v -s >was && head=$(git -C si rev-parse HEAD) && start_ws si si && mkdir -p "${ws:?}/docs" && echo new >"${ws:?}/docs/crlf.txt" && for how in --index --commit; do
		git -C si ews apply $how si && test "$(git -C si show :docs/crlf.txt)" = new && git -C si diff --cached --name-status "$head" >got && echo "M	docs/crlf.txt" | test_cmp - got && git -C si ews undo && git -C si ls-files -v -s >got && test_cmp was got && git -C si status --porcelain >st && test_must_be_empty st || return 1
	done && mkdir si/docs && echo mine >si/docs/crlf.txt && for how in --index --commit; do
		test_expect_code 1 git -C si ews apply $how si 2>err && test_grep "conflict: docs/crlf.txt" err && test_expect_code 1 git -C si ews apply --force $how si 2>err && test_grep "docs/crlf.txt. is marked as skip-worktree" err && echo mine | test_cmp - si/docs/crlf.txt && git -C si ls-files -v -s >got && test_cmp was got || return 1
	done
'

test_expect_success 'P1: --index and --commit look at what is touched alone, by its name, whatever filters and settings are there' '
	test_repo touched && (cd touched && echo v >m.big && echo 1 >"[b]" && echo 2 >b && echo "*.big filter=none" >.gitattributes && git add . && git commit -qm filtered && git config filter.none.clean false && git config filter.none.required true && echo 12345 >m.big) &&
	test_must_fail git -C touched diff --exit-code 2>err && test_grep "filter" err && echo 3 >touched/b && start_ws touched touched && for f in b "[b]"; do echo more >>"${ws:?}/$f" || return 1; done && for how in --index --commit; do
		for set in A=1 GIT_LITERAL_PATHSPECS=1 GIT_ICASE_PATHSPECS=1 GIT_GLOB_PATHSPECS=1; do
			env $set git -C touched ews apply $how "touched:[b]" && git -C touched show ":[b]" >got && test_cmp "${ws:?}/[b]" got && git -C touched ews undo &&
				test_expect_code 1 env $set git -C touched ews apply $how touched:b 2>err && test_grep ".b. does not match the index" err || return 1
		done
	done && git -C touched diff --cached --name-only >got && test_must_be_empty got
'

test_expect_success 'P1: --index and --commit refuse what is marked as assume-unchanged and is not there' '
	test_repo as && git -C as update-index --assume-unchanged run.sh && rm as/run.sh && git -C as ls-files -v -s >was && start_ws as as && echo theirs >"${ws:?}/run.sh" && echo theirs >>"${ws:?}/src/main.c" && for how in --index --commit; do
		test_expect_code 1 git -C as ews apply $how as 2>err && test_grep "run.sh. is marked as assume-unchanged" err && test_path_is_missing as/run.sh && git -C as ls-files -v -s >got && test_cmp was got || return 1
	done && git -C as ews apply as && test_grep theirs as/run.sh && git -C as ews undo && test_path_is_missing as/run.sh
'

# displaced <path> <what leaves the index>: it is refused, whether staged or committed; without the index it goes.
displaced() {
	git -C dp ls-files --sparse -v -s >was && files_of dp >before && for how in --index --commit; do
		test_expect_code 1 git -C dp ews apply $how dp 2>err && test_grep "^error: .$1. would take .$2. out of the index" err && test_grep "^hint: .*without --index" err || return 1
	done && git -C dp ls-files --sparse -v -s >got && test_cmp was got && files_of dp >got && test_cmp before got &&
		git -C dp ews apply dp && cmp "${ws:?}/docs" dp/docs && git -C dp ews undo && git -C dp ls-files --sparse -v -s >got && test_cmp was got && git -C dp ews end --force dp
}

test_expect_success 'P4: --index and --commit take nothing out of the index that is not in the work tree' '
	test_repo dp && git -C dp sparse-checkout set --cone src && start_ws dp dp && echo file >"${ws:?}/docs" && displaced docs "docs/.*" && git -C dp sparse-checkout set --cone --sparse-index src && git -C dp ls-files --sparse >out && test_grep "^docs/$" out &&
	start_ws dp dp && echo file >"${ws:?}/docs" && displaced docs "docs/.*" && git -C dp sparse-checkout disable && rm -r dp/docs && start_ws dp dp && echo file >"${ws:?}/docs" && displaced docs "docs/.*" && git -C dp checkout -q . &&
	git -C dp update-index --skip-worktree run.sh && rm dp/run.sh && start_ws dp dp && mkdir "${ws:?}/run.sh" && echo in >"${ws:?}/run.sh/in" && test_expect_code 1 git -C dp ews apply --index dp 2>err && test_grep "run.sh/in. would take .run.sh. out" err && git -C dp ls-files -t run.sh >out && echo "S run.sh" | test_cmp - out &&
	git -C dp update-index --no-skip-worktree run.sh && git -C dp checkout -q . && git -C dp ews end --force dp && start_ws dp dp && rm -r "${ws:?}/docs" && echo file >"${ws:?}/docs" && rm "${ws:?}/run.sh" && mkdir "${ws:?}/run.sh" && echo in >"${ws:?}/run.sh/in" &&
	git -C dp ls-files -s >was && git -C dp ews apply --index dp && git -C dp diff --exit-code && git -C dp ls-files docs run.sh >out && printf "%s\n" docs run.sh/in | test_cmp - out && git -C dp ews undo && git -C dp ls-files -s >got && test_cmp was got
'

test_expect_success 'P7: --index and --commit stage what became something else, as git does: a directory a link, a file a directory with nothing in it' '
	test_repo else && start_ws else else && rm -r "${ws:?}/docs" && ln -s src "${ws:?}/docs" && rm "${ws:?}/run.sh" && mkdir "${ws:?}/run.sh" && rm -r "${ws:?}/src/deep" && ln -s nowhere "${ws:?}/src/deep" && (cd "$ws" && git add -A && git write-tree) >want && git -C else ls-files -s >was && files_of else >before &&
	git -C else ews apply --index else && git -C else write-tree >got && test_cmp want got && test_path_is_dir else/run.sh && git -C else ews undo && git -C else ls-files -s >got && test_cmp was got && files_of else >got && test_cmp before got &&
	git -C else ews undo --redo && git -C else write-tree >got && test_cmp want got && git -C else ews undo && git -C else ews apply --commit else && git -C else rev-parse "HEAD^{tree}" >got && test_cmp want got && git -C else status --porcelain >st && test_must_be_empty st
'

test_expect_success 'P1: --commit refuses a submodule that is staged, whatever is set of it' '
	test_repo sub && test_repo sm && git -C sm -c protocol.file.allow=always submodule --quiet add ../sub sub && git -C sm commit -qm sub && git -C sm config submodule.sub.ignore all && start_ws sm sm && echo edit >>"${ws:?}/run.sh" &&
	git -C sub commit -q --allow-empty -m more && git -C sm update-index --cacheinfo "160000,$(git -C sub rev-parse HEAD),sub" && head=$(git -C sm rev-parse HEAD) && test_expect_code 1 git -C sm ews apply --commit sm 2>err && test_grep "other staged changes" err && test "$(git -C sm rev-parse HEAD)" = "$head" && git -C sm diff --exit-code -- run.sh &&
	git -C sm reset -q && git -C sm ews apply --commit sm
'

test_expect_success 'P1: --commit ends no cherry-pick and no revert of the person, nor takes an author from it' '
	git clone -q p cp && git -C cp checkout -q -b theirs && echo x >>cp/README && git -C cp commit -q -am x --author "O Ther <o@example.com>" && git -C cp checkout -q - && echo x >>cp/README && git -C cp commit -q -am x && start_ws cp cp && echo n >"${ws:?}/n" &&
	test_must_fail git -C cp cherry-pick theirs 2>err && test_path_is_file cp/.git/CHERRY_PICK_HEAD && test_expect_code 1 git -C cp ews apply --commit cp 2>err && test_grep "^error: a cherry-pick is under way" err && test_grep "^hint: .*git cherry-pick --abort" err && test_path_is_file cp/.git/CHERRY_PICK_HEAD && test_path_is_missing cp/n &&
	git -C cp ews apply --index cp && test_path_is_file cp/.git/CHERRY_PICK_HEAD && git -C cp ews undo && git -C cp cherry-pick --abort && git -C cp rev-parse HEAD >cp/.git/REVERT_HEAD && test_expect_code 1 git -C cp ews apply --commit cp 2>err && test_grep "^error: a revert is under way" err && rm cp/.git/REVERT_HEAD && git -C cp ews apply --commit cp && git -C cp log -1 --format=%an >out && echo "A U Thor" | test_cmp - out
'

times_of() {
	(cd "$1" && find . -path ./.git -prune -o -type f -printf "%p %T@\n" && stat -c %Y .git/index)
}

# is_busy <lock> <verb>...: while git's lock is there the verb says so, and changes nothing.
is_busy() {
	lock=p/.git/$1 && shift && refs >refs.held && files_of p >files.held && times_of p >times.held && : >"$lock" && test_expect_code 1 git -C p ews "$@" --json >out && test_json out .error.code busy &&
		test_path_is_file "$lock" && rm "$lock" && files_of p >got && test_cmp files.held got && times_of p >got && test_cmp times.held got && refs >got && test_cmp refs.held got &&
		git -C p ews status >out 2>&1 && test_grep ! interrupted out && git -C p ews recover --all >out 2>&1 && test_grep "nothing is interrupted" out
}

test_expect_success 'P4: --index, --commit and the undo of them say before they begin that the index is held, or HEAD, or the branch; what leaves it alone goes on' '
	for how in --index --commit; do
		is_busy index.lock apply s $how && git -C p ews apply $how s && is_busy index.lock undo && git -C p ews undo && is_busy index.lock undo --redo && files_of p >got && test_cmp p.was got && refs >got && test_cmp refs.was got || return 1
	done && is_busy HEAD.lock apply s --commit && is_busy refs/heads/main.lock apply s --commit && : >p/.git/index.lock && git -C p ews apply s && cmp p/lines "${s:?}/lines" && git -C p ews undo && echo more >>p/README && git -C p ews snapshot restore s --force &&
	test_path_is_file p/.git/index.lock && rm p/.git/index.lock && files_of p >got && test_cmp p.was got
'

has_gone() {
	! kill -0 "$(cat held)" 2>/dev/null
}

# a hook that leaves behind who holds the index
test_expect_success 'P4: a lock on the index that another program has open is not taken for one that our git left' '
	printf "#!/bin/sh\nsh -c \"exec 3>.git/index.lock; echo \\$\\$ >../held; while ! test -e ../go; do sleep 0.1; done\" <&- >/dev/null 2>&1 &\nwhile ! test -s ../held; do sleep 0.1; done\nexit 1\n" >p/.git/hooks/pre-commit && chmod +x p/.git/hooks/pre-commit &&
	test_when_finished ": >go" && test_must_fail git -C p ews apply --commit s 2>err && test_grep "^hint: .*recover" err && test_path_is_file p/.git/index.lock && kill -0 "$(cat held)" &&
	: >go && test_wait_for 20 has_gone && rm p/.git/index.lock p/.git/hooks/pre-commit && git -C p ews recover --all && files_of p >got && test_cmp p.was got && refs >got && test_cmp refs.was got
'

# A hook that leaves behind a git that packs refs, told by $@, stopped before it gives the file that it wrote its name.
test_expect_success STRACE 'P1: nor is the lock on packed refs of a git that works in a workspace, or stands elsewhere' '
	printf "#!/bin/sh\ncd .. && read how <how && { strace -f -qq -o stopped -e trace=rename -e inject=rename:signal=SIGSTOP:when=1 env -u GIT_DIR -u GIT_INDEX_FILE \$how pack-refs --all && : >packed; } <&- >said 2>&1 3>&- &\nwhile ! grep -qs \"stopped by SIGSTOP\" ../stopped; do sleep 0.1; done\n" >p/.git/hooks/pre-commit && chmod +x p/.git/hooks/pre-commit && ln -s "$PWD/p" "${TMPDIR:?}/p-$$" && ln -s "$s" "${TMPDIR:?}/s-$$" && test_when_finished "rm $TMPDIR/p-$$ $TMPDIR/s-$$" &&
	for how in "git --git-dir=$TMPDIR/p-$$/.git" "git --git-dir p/.git" "env GIT_DIR=p/.git git" "git -C $TMPDIR/s-$$"; do
		rm -f stopped packed && git -C p update-ref refs/heads/loose HEAD && echo "$how" >how && git -C p ews apply --commit -m packing s && test_path_is_file p/.git/packed-refs.lock && kill -CONT "$(sed -n "/stopped by SIGSTOP/{s/ .*//p;q}" stopped)" && test_wait_for 20 test -e packed &&
			test_path_is_missing p/.git/refs/heads/loose && git -C p rev-parse -q --verify loose >out && git -C p ews undo || { cat said; return 1; }
	done && git -C p update-ref -d refs/heads/loose && rm p/.git/hooks/pre-commit && files_of p >got && test_cmp p.was got && refs >got && test_cmp refs.was got
'

test_expect_success 'P4: --commit is a commit of the user'\''s, with his hooks; undo takes it back' '
	printf "#!/bin/sh\necho ran >>%s\ntest ! -e .git/no\n" "\"$PWD/hook\"" >p/.git/hooks/pre-commit && chmod +x p/.git/hooks/pre-commit &&
	head=$(git -C p rev-parse HEAD) && git -C p ews apply --commit -m "the work" s >out && test_grep "Commit: $(git -C p rev-parse HEAD)" out && test_grep ran hook &&
	test "$(git -C p log -1 --format=%s%P)" = "the work$head" && git -C p status --porcelain >st && test_must_be_empty st && cmp p/lines "${s:?}/lines" &&
	git -C p ews undo && test "$(git -C p rev-parse HEAD)" = $head && files_of p >got && test_cmp p.was got && refs >got && test_cmp refs.was got &&
	git -C p ews undo --redo && test "$(git -C p log -1 --format=%s)" = "the work" && git -C p status --porcelain >st && test_must_be_empty st &&
	git -C p commit -q --allow-empty -m later && test_expect_code 1 git -C p ews undo 2>err && test_grep "branch" err && cmp p/lines "${s:?}/lines" &&
	git -C p reset -q --soft HEAD^ && git -C p ews undo && files_of p >got && test_cmp p.was got
'

# committed <name-status>...: what the commit of $ws has, made by the hook of hk, and as its undo takes it back.
committed() {
	git -C hk/p ls-files -s >was && git -C hk/p ews apply --commit hk && git -C hk/p show --format= --name-status >got && printf "M	%s\n" "$@" | test_cmp - got &&
		git -C hk/p status --porcelain >st && test_must_be_empty st && git -C hk/p ews undo && git -C hk/p ls-files -s >got && test_cmp was got
}

# No more is told to hooks of where they are than git commit itself tells them.
test_expect_success 'P1: hooks of --commit may change to another directory, and to another repository' '
	mkdir hk && test_repo hk/p && test_repo hk/other && start_ws hk/p hk && echo work >>"${ws:?}/src/main.c" &&
	printf "#!/bin/sh\ncd src && echo formatted >>main.c && git add main.c\n" >hk/p/.git/hooks/pre-commit && chmod +x hk/p/.git/hooks/pre-commit && committed src/main.c &&
	printf "#!/bin/sh\nunset GIT_INDEX_FILE; cd ../other && echo more >>run.sh && git commit -q -a -m theirs\n" >hk/p/.git/hooks/pre-commit && committed src/main.c && test "$(git -C hk/other log -1 --format=%s)" = theirs && git -C hk/other status --porcelain >st && test_must_be_empty st
'

test_expect_success 'where git finds another repository than git-ews, or none, --commit still takes the right one' '
	rm hk/p/.git/hooks/pre-commit && mv hk/p/.git hk/cw.git && git --git-dir=hk/cw.git config core.worktree "$PWD/hk/p" && (cd hk/p && export GIT_DIR="$PWD/../cw.git" && git ews start cw >../../path && take_ws ../../path && echo cw >>"${ws:?}/run.sh" && git ews apply --commit cw && git show --format= --name-status >../../got && git ews undo) && printf "M	%s\n" run.sh | test_cmp - got
'

test_expect_success 'P4: a commit that somebody makes at the same time stays on the branch: below ours, or on top of it' '
	head=$(git -C p rev-parse HEAD) && wrapped "$theirs" apply --commit -m ours s >out && test "$(git -C p log -2 --format=%s)" = "$(printf "ours\ntheirs")" &&
	test_grep "Commit: $(git -C p rev-parse HEAD)" out && git -C p ews undo && test "$(git -C p log -1 --format=%s%P)" = "theirs$head" &&
	files_of p >got && test_cmp p.was got && git -C p diff --cached --exit-code && git -C p reset -q --soft $head &&
	wrapped "\"$real\" \"\$@\"; $theirs; exit 0" apply --commit -m ours s >out && test "$(git -C p log -2 --format=%s)" = "$(printf "theirs\nours")" &&
	test_grep "Commit: $(git -C p rev-parse HEAD^)" out && refs >refs.before && test_expect_code 1 git -C p ews undo 2>err && test_grep "branch" err && refs >got && test_cmp refs.before got &&
	cmp p/lines "${s:?}/lines" && git -C p reset -q --soft HEAD^ && git -C p ews undo && files_of p >got && test_cmp p.was got && refs >got && test_cmp refs.was got
'

test_expect_success 'P4: without a reflog a commit is ours when it is the only one; else undo leaves the branch' '
	head=$(git -C p rev-parse HEAD) && git -C p config core.logAllRefUpdates false && mv p/.git/logs logs && git -C p ews apply --commit s >out && test_grep Commit: out &&
	git -C p ews undo && refs >got && test_cmp refs.was got && wrapped "$theirs" apply --commit -m ours s >out 2>err && test_grep ! Commit: out && test_grep "^warning: .*branch" err &&
	git -C p ews undo && test "$(git -C p log -2 --format=%s)" = "$(printf "ours\ntheirs")" && files_of p >got && test_cmp p.was got &&
	git -C p reset -q --hard $head && git -C p config --unset core.logAllRefUpdates && mv logs p/.git/logs
'

test_expect_success 'P1: when a hook says no, nothing was changed' '
	>p/.git/no && test_must_fail git -C p ews apply --json --commit s >out && test_json out .error.code git && files_of p >got && test_cmp p.was got &&
	refs >got && test_cmp refs.was got && rm p/.git/no && git -C p checkout -q --detach && test_expect_code 129 git -C p ews apply --commit s && git -C p checkout -q - &&
	mkdir plain && echo a >plain/a && (cd plain && git ews start pl) >path && take_ws path && echo b >>"${ws:?}/a" && test_expect_code 129 git -C plain ews apply --index pl
'

test_expect_success 'P1: end --branch makes no branch that a work tree stands on without a commit' '
	git init -q unborn && echo new >unborn/f && start_ws unborn s && echo more >>"${ws:?}/f" && on=$(git -C unborn symbolic-ref --short HEAD) && test_expect_code 128 git -C unborn ews end --branch "$on" s 2>err && test_grep "which has no commit yet" err && test_grep "^hint: " err && test_path_is_dir "$ws" &&
	git -C unborn status --short >got && echo "?? f" >want && test_cmp want got && git -C unborn ews end --branch other s && git -C unborn show other:f >got && test_line_count = 2 got && rm -rf unborn
'

test_expect_success 'P1: nor where the HEAD of that work tree can not be read just now' '
	test_repo alone && git -C alone worktree add -q --detach ../orphan && git -C orphan symbolic-ref HEAD refs/heads/orphan && start_ws alone s && echo more >>"${ws:?}/run.sh" && look=0 && while test_more_looks; do
		test_look EIO "/worktrees(/orphan(/HEAD)?)?$" -C alone end --branch orphan s >out 2>err && test $code != 0 && test_must_fail git -C alone rev-parse -q --verify orphan || return 1
	done && test $look -gt 2 && git -C alone ews end s
'

test_expect_success 'P1: end --branch leaves the result as a branch on the base commit, and nothing else' '
	printf "*.txt text eol=crlf\n" >p/.gitattributes && git -C p add .gitattributes && git -C p commit -qm attributes && printf "one\ntwo\n" >p/eol.txt && git -C p add eol.txt &&
	git -C p commit -qm eol && rm p/eol.txt && git -C p checkout -q eol.txt && head=$(git -C p rev-parse HEAD) && start_ws p br && (cd "$ws" && echo result >result && mkdir d && echo in >d/in && rm new 2>/dev/null; chmod 755 README; printf "n\r\n" >n.txt; echo "*.fl filter=fl" >>.gitattributes; echo f >a.fl) &&
	git -C p config filter.fl.clean "touch ran; cat" && rm hook && for bad in HEAD -x "a..b" "@{-1}"; do test_expect_code 129 git -C p ews end --branch="$bad" br || return 1; done &&
	test_expect_code 128 git -C p ews end --branch "$(git -C p symbolic-ref --short HEAD)" br 2>err && test_grep "already" err && test_path_is_dir "$ws" &&
	files_of p >before && git -C p ews end --branch topic br >out 2>err && test_grep "Branch: topic" out && test_path_is_missing "$ws" && test_path_is_missing hook &&
	test_grep "not run: a.fl (fl)" err && test_grep ! n.txt err && test_grep ! topic err && test_path_is_missing p/ran && git -C p show topic:n.txt >got && printf "n\n" >want && test_cmp want got &&
	files_of p >after && test_cmp before after && test "$(git -C p rev-parse topic^)" = $head && git -C p diff --name-status HEAD topic >got &&
	printf "M\t.gitattributes\nM\tREADME\nA\ta.fl\nA\td/in\nA\tn.txt\nA\tresult\n" >want && test_cmp want got && git -C p rev-parse -q --verify HEAD >got && echo $head >want && test_cmp want got &&
	git -C p ews end --branch again br && test "$(git -C p rev-parse again^{tree})" = "$(git -C p rev-parse topic^{tree})" && git clone -q -b topic p cloned && test -x cloned/README &&
	git -C cloned status --porcelain n.txt eol.txt >st && test_must_be_empty st
'

test_expect_success 'P4: end --branch does not delete the file that --partial left out, before and after the end' '
	test_repo spared && head -c 1000001 /dev/zero >spared/big && git -C spared add big && git -C spared commit -qm big && git -C spared config ews.maxFile 1000000 && for method in worktree snapshot; do
		start_ws spared s --partial --method $method && git -C "${ws:?}" read-tree HEAD && echo w >"${ws:?}/w" && git -C spared ews end --branch one-$method s && git -C spared ews end --branch two-$method s && for name in one two; do git -C spared diff --name-status HEAD $name-$method >got && printf "A\tw\n" | test_cmp - got || return 1; done || return 1
	done && start_ws spared s --no-uncommitted --partial && test_path_is_file "${ws:?}/big" && rm "${ws:?}/big" && git -C spared ews end --branch gone s && git -C spared diff --name-status HEAD gone >got && printf "D\tbig\n" | test_cmp - got
'

test_expect_success !VALGRIND 'P4: a branch that a killed end --branch left is the one that the next makes; another is refused, with what shows it' '
	test_repo left && for edit in echo :; do
		start_ws left s && $edit edit >>"${ws:?}/run.sh" && test_expect_code 137 killat -c "sessions/s/journal|trash/op-" 1 git-ews -C left end --branch r s >out 2>&1 && git -C left ews recover --all && was=$(git -C left rev-parse --verify r) && sleep 1 &&
		git -C left ews end -n --branch r s && test_expect_code 128 git -C left ews end -n --branch main s && git -C left ews end --branch r s >out && test_grep "^Branch: r at $was$" out && test "$(git -C left rev-parse r)" = "$was" && git -C left branch -D r || return 1
	done && start_ws left s && echo edit >>"${ws:?}/run.sh" && test_expect_code 137 killat -c "sessions/s/journal|trash/op-" 1 git-ews -C left end --branch r s >out 2>&1 && git -C left ews recover --all && was=$(git -C left rev-parse r) && echo more >>"${ws:?}/run.sh" && test_expect_code 128 git -C left ews end --branch r s 2>err && test_grep "the branch .r. is there already" err && test "$(git -C left rev-parse r)" = "$was" && test_path_is_dir "$ws" &&
	git -C left branch -D r && git -C left ews end --branch r s && start_ws left t && echo >left/r && for name in r "$(git -C left symbolic-ref --short HEAD)"; do
		test_expect_code 128 git -C left ews end --branch "$name" t 2>err && test_grep ! "branch -[dD]" err && hint=$(sed -n "s/^hint: take another name; .\(git .*\). shows what is on it$/\1/p" err) && (cd left && eval "${hint:?}" >../out) && git -C left rev-parse "refs/heads/$name" >want && head -1 out | sed "s/commit //" | test_cmp want - || return 1
	done && rm left/r && git -C left ews end t
'

test_expect_success 'end --branch names what git refused to do' '
	test_repo nobody && start_ws nobody nobody && echo edit >>"${ws:?}/run.sh" && test_expect_code 128 env GIT_AUTHOR_NAME= git -C nobody ews end --branch none nobody 2>err && test_grep "git commit-tree. failed" err && test_path_is_dir "$ws"
'

test_expect_success 'P1: end --branch of a session in place has what git would add: no ignored file, none of a repository in the project' '
	test_repo inside && git init -q sub-source && echo s >sub-source/s && git -C sub-source add s && git -C sub-source commit -qm s && git -C inside -c protocol.file.allow=always submodule --quiet add "$PWD/sub-source" sub && git -C inside ls-files -s sub >sub-staged &&
	echo "*.env" >inside/.gitignore && mkdir inside/build && echo "*" >inside/build/.gitignore && git -C inside add .gitignore && git -C inside commit -qm sub && (cd inside && echo SECRET >a.env && echo o >build/o && echo wip >wip && git init -q nested && echo n >nested/n && echo forced >forced.env) &&
	git -C inside ews start --method in-place i && (cd inside && echo edit >>src/main.c && echo more >>a.env && echo new >b.env && echo more >>nested/n && echo more >>sub/s && mkdir new.env && echo 1 >new.env/1 && echo 2 >new.env/2 && git add -f forced.env && echo fresh >fresh && echo "wip" >>.gitignore) &&
	git -C inside ews end i --no-revert --branch r 2>err && git -C inside diff --name-only main r >got && printf "%s\n" .gitignore forced.env fresh src/main.c wip | test_cmp - got && git -C inside ls-tree r sub >got && grep "commit $(cut -d" " -f2 sub-staged)" got &&
	test_grep "not on the branch: nested/n (repository)" err && test_grep "not on the branch: sub/s (repository)" err && test_grep "3 ignored paths are not on the branch" err && test_grep ! "not in the snapshot, but in trash" err && test_grep "not in the snapshot: nested/\.git (repository)" err &&
	git -C inside reset -q --hard && git -C inside ews round start --agent z --mode legacy && echo w >>inside/src/main.c && echo w >>inside/a.env && round=$(git -C inside ews round end --agent z 2>err) && test_grep "1 ignored path is not in the commit" err && test_grep ! "in trash" err &&
	git -C inside diff --name-only "$round^" "$round" >got && echo src/main.c | test_cmp - got && git -C inside ls-tree -r --name-only "$round" >got && test_grep ! "env\|nested/\|sub/\|build/o" got
'

test_expect_success 'P1: end --branch of a session in place has no ignored file, though the rule that lay outside of the files has gone since' '
	test_repo ruled && for where in info config file; do
		echo pw >rules && { test $where = info || : >ruled/.git/info/exclude; } && case $where in info) cp rules ruled/.git/info/exclude ;; *) git -C ruled config core.excludesFile "$PWD/rules" ;; esac &&
		echo secret >ruled/pw && echo draft >ruled/draft && git -C ruled ews start --method in-place r && case $where in info) : >ruled/.git/info/exclude ;; config) git -C ruled config --unset core.excludesFile ;; file) : >rules ;; esac && echo draft >>ruled/.git/info/exclude && echo work >>ruled/run.sh && echo more >>ruled/draft &&
		git -C ruled ews end r --no-revert --branch $where 2>err && git -C ruled diff --name-only main $where >got && printf "%s\n" draft run.sh | test_cmp - got && test_grep ! "on the branch" err && git -C ruled reset -q --hard || return 1
	done
'

test_expect_success 'P1: end --branch has nothing of what a mark in the index hides from git, but for what the session did' '
	test_repo hides && cd hides && git update-index --skip-worktree run.sh && git update-index --assume-unchanged src/main.c docs/crlf.txt && echo secret | tee -a run.sh src/main.c docs/crlf.txt && chmod -x run.sh && cd .. && start_ws hides h && echo work >>"${ws:?}/src/numbers" && echo work >>"${ws:?}/docs/crlf.txt" &&
	git -C hides ews end --branch h h && git -C hides diff --name-status HEAD h >got && printf "M	%s\n" docs/crlf.txt src/numbers | test_cmp - got && test "$(git -C hides ls-tree h run.sh)" = "$(git -C hides ls-tree HEAD run.sh)" && test_grep secret hides/run.sh && git -C hides ews end --branch again h && test "$(git -C hides rev-parse "again^{tree}")" = "$(git -C hides rev-parse "h^{tree}")"
'

test_expect_success 'P1: end --branch has the modes and links that git has, where settings say that the file system has none' '
	test_repo nm && git -C nm config core.fileMode false && git -C nm config core.symlinks false && chmod +x nm/docs/crlf.txt && chmod -x nm/run.sh && rm nm/docs/dangling && git -C nm checkout -q docs/dangling && test_path_is_file nm/docs/dangling && git -C nm status --porcelain >st && test_must_be_empty st &&
	for method in worktree snapshot; do
		start_ws nm nm --method $method && printf elsewhere >"${ws:?}/docs/dangling" && echo edit >>"${ws:?}/run.sh" && echo new >"${ws:?}/new" && chmod 755 "${ws:?}/new" && git -C "$ws" update-index --chmod=+x src/main.c && (cd "$ws" && git add -A && git write-tree) >want && git -C "$ws" reset -q -- new run.sh docs/dangling && git -C nm ews end --branch $method nm &&
		git -C nm rev-parse "$method^{tree}" >got && test_cmp want got && git -C nm ls-tree $method new docs/dangling docs/crlf.txt run.sh src/main.c | cut -c 1-6 >got && printf "%s\n" 100644 120000 100644 100755 100755 | sort >want && sort got | test_cmp want - && git -C nm show $method:docs/dangling >got && printf elsewhere | test_cmp - got || return 1
	done
'

test_expect_success 'P4: what end --branch cannot read just now is named, and no directory is left out without what lies in it' '
	test_repo unread && look=0 && while test_more_looks; do
		start_ws unread s$look && mkdir -p "${ws:?}/src/deep" && echo new | tee "${ws:?}/src/deep/new" >"${ws:?}/src/new" && test_look EIO "open.*/qe/s[0-9]*/src(/new|/deep|/deep/new)?$" -C unread end s$look --no-artifacts --branch b$look >out 2>err && ! grep "src/deep (unreadable)" err &&
			if test $code = 0; then for new in src/new src/deep/new; do git -C unread cat-file -e b$look:$new || test_grep "not on the branch: $new (unreadable)" err || return 1; done; fi || return 1
	done && test $look -gt 4 && git -C unread fsck --no-dangling
'

test_expect_success 'P8: which branches are of sessions is not forgotten where it can not be read just now' '
	told=${HOME:?}/.superqode/working/tells/told-refs && test_repo tells && start_ws tells first && echo new >"${ws:?}/new" && git -C tells ews end --branch first first && test_grep refs/heads/first "${told:?}" && look=0 && while test_more_looks; do
		start_ws tells s$look && echo new >"${ws:?}/new" && test_look EIO "(/told-refs|/refs/heads/first)$" -C tells end s$look --no-artifacts --branch b$look >out 2>err && test_grep refs/heads/first "${told:?}" || return 1
	done && test $look -gt 2
'

# leaves <name-status>...: an edit, and what else was done in the workspace $ws of session sp, is all that the branch has.
leaves() {
	echo edit >>"${ws:?}/src/main.c" && n=$((n + 1)) && printf "%s\n" "M	src/main.c" "$@" | sort >want && git -C sp ews end --branch "left-$n" sp && git -C sp diff --name-status HEAD "left-$n" | sort >got && test_cmp want got &&
		git -C sp ews end --branch "left-$n-again" sp && test "$(git -C sp rev-parse "left-$n^{tree}")" = "$(git -C sp rev-parse "left-$n-again^{tree}")"
}

test_expect_success 'P1: end --branch deletes nothing that is not in the workspace since git, or a setting, left it out' '
	n=0 && test_repo sp && git -C sp checkout -q -b other && echo other >sp/docs/other && echo more >>sp/docs/crlf.txt && git -C sp add -A && git -C sp commit -qm other && git -C sp checkout -q main &&
	git -C sp sparse-checkout set --cone src && start_ws sp sp && test_path_is_missing "${ws:?}/docs" && leaves &&
	start_ws sp sp && mkdir "${ws:?}/docs" && echo mine >"${ws:?}/docs/image.bin" && git -C "$ws" rm -q --cached --sparse docs/dangling && leaves "M	docs/image.bin" "D	docs/dangling" &&
	start_ws sp sp && git -C "$ws" merge -q --no-edit other && test_path_is_missing "${ws:?}/docs" && leaves "M	docs/crlf.txt" "A	docs/other" &&
	start_ws sp sp && admin=$(git -C "$ws" rev-parse --absolute-git-dir) && rm "${admin:?}/index" && leaves && start_ws sp sp --method snapshot && git -C "$ws" merge -q --no-edit left-1 && leaves &&
	start_ws sp sp && echo file >"${ws:?}/docs" && git -C sp ews end --branch file sp && test "$(git -C sp show file:docs)" = file &&
	git -C sp sparse-checkout set --cone --sparse-index src && git -C sp ls-files --sparse >out && test_grep "^docs/$" out && start_ws sp sp && leaves && start_ws sp sp && git -C "$ws" status >out && leaves &&
	git -C sp sparse-checkout set --no-cone "/*" "!/docs" && start_ws sp sp && leaves && git -C sp sparse-checkout disable &&
	echo "qe: {workspace: {exclude: /docs/}}" >sp/superqode.yaml && start_ws sp sp && test_path_is_missing "${ws:?}/docs" && leaves "A	superqode.yaml"
'

# the editor keeps one line, and has two in the place of another
test_expect_success SCRIPT '--patch splits hunks, finds them, lets them be edited; in the user'\''s editor, not the repository'\''s (P9)' '
	git init -q q && seq 1 20 >q/parts && git -C q add parts && git -C q commit -qm parts && start_ws q parts &&
	sed -i "s/^4\$/four/;s/^7\$/seven/;s/^9\$/nine/" "${ws:?}/parts" && chmod 755 "${ws:?}/parts" && git -C q config core.editor "touch \"$PWD/theirs\"; false" &&
	printf "#!/bin/sh\ncp \"\$1\" saw && sed -e \"s/^-7/ 7/;s/^+seven/+7a/\" saw >\"\$1\"\n" >ed && chmod +x ed && git config --file home/.gitconfig core.editor "\"$PWD/ed\"" &&
	printf "%s\n" s /nine y y e q >answers && script -qec "cd q && git ews apply --patch parts" /dev/null <answers >asked && test_grep "split into 3 hunks" asked &&
	test_grep "^# Edit" q/saw && seq 1 20 | sed "s/^4\$/four/;s/^7\$/7\n7a/;s/^9\$/nine/" >want && test_cmp want q/parts && test -x q/parts && test_path_is_missing theirs &&
	git -C q ews undo && printf "#!/bin/sh\necho +x >\"\$1\"\n" >ed && printf "%s\n" s g2 e n n n >answers &&
	script -qec "cd q && git ews apply --patch parts" /dev/null <answers >asked && test_grep "does not apply" asked && seq 1 20 >want && test_cmp want q/parts &&
	git config --file home/.gitconfig --unset core.editor
'

test_done
