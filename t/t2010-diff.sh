#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='diff: a true patch (P7), the bytes of git'"'"'s own, bent by nothing, that runs nothing (P9)'

. "$(dirname "$0")/test-lib.sh"

# Git's own words on two trees in the store of p, or of another project, with nobody's settings: gits_own [--of <project>] <option>... <a> <b> [-- <path>...]
gits_own() (
	store=$PWD/p/.git/objects
	test "$1" != --of || { store=${2:?}/.git/objects && shift 2; }
	neutral=$PWD/neutral.git
	test -d "$neutral" || GIT_CONFIG_GLOBAL=/dev/null git init -q --bare --template= "$neutral" || exit 1
	# shellcheck disable=SC2086 # none, or one
	cd / && env -i PATH="$PATH" LC_ALL=C HOME=/nonexistent GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null \
		GIT_ATTR_NOSYSTEM=1 ${reading-} GIT_DIR="$neutral" GIT_OBJECT_DIRECTORY="$store" git diff "$@"
)

tree_of() {
	git -C p rev-parse --verify "refs/ews/$1^{tree}"
}

# The tree of the workspace as it is, by a snapshot.
tree_now() {
	tree_of "snapshots/$(git -C p ews snapshot create "$1")"
}

test_expect_success 'setup: a session with changes of every kind that a patch can hold' '
	test_repo p && (cd p && echo uncommitted >>src/log && echo untracked >untracked && git add -N untracked) &&
	git -C p ews start s >s.path && take_ws s.path && (
		cd "$ws" &&
		sed -i "s/return 0/return 1/" src/main.c && printf "last line without end" >>src/numbers &&
		printf "one\ntwo\nthree\n" >src/deep/no-newline &&
		git mv run.sh docs/run-moved.sh && mv "docs/with space" "docs/with  more space" &&
		printf "\000\001\002\376binary\000\n" >docs/image.bin && printf "\000\377new\000" >new.bin &&
		rm docs/crlf.txt && printf "x\r\ny\r\n" >docs/crlf-new.txt && : >empty-new && rm empty &&
		ln -sfn src/numbers link && rm docs/dangling && echo file >docs/dangling && rm src/log && ln -s main.c src/log &&
		rm -r src/deep/er && echo file >src/deep/er && rm src/deep/new-2 && mkdir src/deep/new-2 && echo x >src/deep/new-2/x &&
		chmod +x src/numbers && chmod -x docs/run-moved.sh &&
		echo a >"a
newline" && echo b >"tab	here" && echo c >"quo\"te" && echo d >"back\\slash" && echo e >" lead" && echo f >"*" &&
		printf g >"$(printf "\377\376")" && echo h >-dash && printf "trailing  \n\n\n" >blanks && echo changed >untracked
	) &&
	A=$(tree_of sessions/s) && B=$(tree_now s) && test "$A" != "$B"
'

test_expect_success 'P7: the patch is the bytes of git'"'"'s own patch of the two trees' '
	gits_own --binary --full-index $A $B >want && test -s want &&
	git -C p ews diff s >got 2>err && cmp want got &&
	(cd "$ws" && git ews diff) >got && cmp want got && (cd "${ws:?}/src/deep" && git ews diff) >got && cmp want got &&
	grep "^rename from run.sh" want && grep "^GIT binary patch" want
'

test_expect_success 'P7: applied to the base it gives the workspace' '
	mkdir base forth && git -C p archive refs/ews/sessions/s | tar -x --no-same-permissions -C base && cp -a base/. forth &&
	(cd forth && git apply --whitespace=nowarn ../want) && test_same_tree -x .superqode "$ws" forth &&
	git clone -q p target && (
		cd target && git fetch -q origin "+refs/ews/*:refs/ews/*" && git checkout -q --detach refs/ews/sessions/s &&
		git apply --index --whitespace=nowarn ../want && test "$(git write-tree)" = $B
	)
'

# Git 2.47 forgets the modes of what a patch deletes when it takes that back.
takes_back() (
	git init -q back && cd back && ln -s nowhere link && git add link && git commit -q -m link && rm link && git diff >gone && git apply -R gone && test -L link
)
takes_back && test_set_prereq TAKES_BACK

test_expect_success TAKES_BACK 'P7: backwards it gives the base' '
	(cd forth && git apply --whitespace=nowarn -R ../want) && test_same_tree forth base && git -C target apply --cached -R ../want && test "$(git -C target write-tree)" = $A
'

test_expect_success 'the tree against the base, whatever the index and HEAD say' '
	start_ws -n ix p idx &&
	find "$ix" -mindepth 1 -maxdepth 1 ! -name .git -exec rm -rf {} + && (cd "$ws" && tar -c --exclude=./.git .) | tar -x --no-same-permissions -C "$ix" &&
	git -C p ews diff idx >got && cmp want got &&
	git -C "$ix" add -A && git -C p ews diff idx >got && cmp want got &&
	git -C "$ix" commit -qm all && git -C p ews diff idx >got && cmp want got &&
	git -C "$ix" reset -q HEAD~2 && git -C p ews diff idx >got && cmp want got &&
	git -C "$ix" update-index --assume-unchanged src/main.c && git -C p ews diff idx >got && cmp want got &&
	rm "$(git -C "$ix" rev-parse --git-path index)" && git -C p ews diff idx >got && cmp want got
'

test_expect_success 'P7: no key of any configuration bends it' '
	cat >poison <<-EOF &&
	[diff]
		noprefix = true
		mnemonicPrefix = true
		renames = false
		algorithm = patience
		context = 0
		interHunkContext = 9
		suppressBlankEmpty = true
		relative = true
		ignoreSubmodules = all
		indentHeuristic = false
		wsErrorHighlight = all
		colorMoved = zebra
		colorMovedWS = ignore-all-space
		submodule = log
		wordRegex = .
		external = "touch \"$PWD/ran\"; false"
		orderFile = $PWD/order
		renameLimit = 1
		dirstat = lines
		statGraphWidth = 3
		autoRefreshIndex = true
	[diff "default"]
		xfuncname = ^.*\$
		binary = true
	[diff "evil"]
		xfuncname = ^.*\$
		command = "touch \"$PWD/ran\"; false"
		textconv = "touch \"$PWD/ran\"; cat"
	[filter "evil"]
		clean = "touch \"$PWD/ran\"; cat"
		smudge = "touch \"$PWD/ran\"; cat"
		required = true
	[color]
		ui = always
		diff = always
	[core]
		quotePath = false
		compression = 0
		looseCompression = 0
		abbrev = 4
		whitespace = cr-at-eol,tab-in-indent
		attributesFile = $PWD/attributes
		autocrlf = true
		safecrlf = true
		eol = crlf
		fsmonitor = "touch \"$PWD/ran\"; false"
		pager = "touch \"$PWD/ran\"; cat"
		ignoreCase = true
		precomposeUnicode = true
		commentChar = "+"
		bigFileThreshold = 1
	[pack]
		compression = 0
	[pager]
		diff = "touch \"$PWD/ran\"; cat"
		ews = "touch \"$PWD/ran\"; cat"
	[column]
		ui = always
	[i18n]
		logOutputEncoding = UTF-16
	EOF
	echo "* diff=evil filter=evil text eol=crlf ident working-tree-encoding=UTF-16" >attributes &&
	echo "*" >order &&
	rm -f ran &&
	cp "$HOME/.gitconfig" keep.gitconfig && test_when_finished "cp keep.gitconfig \"$HOME/.gitconfig\"" &&
	cat poison >>"$HOME/.gitconfig" &&
	git -C p ews diff s >got && cmp want got && test_path_is_missing ran
'

test_expect_success 'P7, P9: nor the repository'"'"'s configuration and attributes' '
	cp p/.git/config keep.config &&
	test_when_finished "cp keep.config p/.git/config; rm -f p/.git/info/attributes" &&
	cat poison >>p/.git/config && mkdir -p p/.git/info && cp attributes p/.git/info/attributes &&
	git -C p ews diff s >got && cmp want got && test_path_is_missing ran &&
	(cd "$ws" && git ews diff) >got && cmp want got && test_path_is_missing ran &&
	for o in --stat --name-only --numstat --color=always -U1; do git -C p ews diff s $o >got || return 1; done &&
	test_path_is_missing ran
'

test_expect_success 'P7: nor attributes in the workspace' '
	start_ws -n aw p attr && sed "s/ working.*//" attributes >"${aw:?}/.gitattributes" && echo edit >>"${aw:?}/src/main.c" &&
	printf "\000\001" >>"${aw:?}/docs/image.bin" &&
	gits_own --binary --full-index $A $(tree_now attr) >want.attr && git -C p ews diff attr >got && cmp want.attr got &&
	grep "^+edit" got && git -C "$aw" add .gitattributes && git -C p ews diff attr >got && cmp want.attr got &&
	test_path_is_missing ran
'

test_expect_success 'P7: nor locale and environment' '
	env LC_ALL=tr_TR.UTF-8 LANG=de_DE.UTF-8 LANGUAGE=fr TERM=xterm COLUMNS=20 TZ=Asia/Tokyo \
		git -C p ews diff s >got && cmp want got &&
	env GIT_EXTERNAL_DIFF="touch ran; cat" GIT_DIFF_OPTS=-u0 GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=diff.noprefix GIT_CONFIG_VALUE_0=true \
		GIT_CONFIG_PARAMETERS="'"'diff.mnemonicPrefix=true'"'" GIT_PAGER_IN_USE=1 GIT_PAGER="touch ran; cat" PAGER="touch ran; cat" \
		GIT_LITERAL_PATHSPECS=1 GIT_TRACE_SETUP=0 GIT_INDEX_FILE=/nonexistent GIT_NAMESPACE=x GIT_DEFAULT_HASH=sha256 \
		GIT_ATTR_SOURCE=HEAD GIT_PREFIX=src/ \
		git -C p ews diff s >got && cmp want got && test_path_is_missing ran &&
	git -C p -c diff.noprefix=true -c color.ui=always -c diff.renames=copies ews diff s >got && cmp want got
'

test_expect_success 'P9: a terminal pager comes from the user alone, never from the repository' '
	test_when_finished "cp keep.config p/.git/config" && git -C p config core.pager "touch \"$PWD/ran\"; cat" &&
	git -C p config pager.ews "touch \"$PWD/ran\"; cat" && git -C p config pager.diff "touch \"$PWD/ran\"; cat" &&
	GIT_PAGER="sed s/^/PAGED:/" TERM=xterm script -qec "git -C p ews diff s" /dev/null >got </dev/null &&
	test_grep "PAGED:" got && test_path_is_missing ran &&
	GIT_PAGER=cat TERM=xterm script -qec "git -C p ews diff s" /dev/null >got </dev/null &&
	grep "$(printf "\033")" got && git -C p config --unset pager.ews && TERM=xterm script -qec "git -C p -c core.pager=\"sed s/^/PAGED:/\" ews diff s" /dev/null >got </dev/null &&
	test_grep "PAGED:" got && TERM=xterm script -qec "git -C p -c core.pager=cat -c color.ui=false ews diff s" /dev/null >got </dev/null &&
	test_grep "^+" got && test_grep ! "$(printf "\033")" got && test_path_is_missing ran
'

test_expect_success 'the output options of git diff give what git gives' '
	for o in --stat "--stat=60,20" --numstat --shortstat --name-only --name-status --summary --raw "--raw --abbrev=40" \
		"--name-status -z" "--name-only -z" "--numstat -z" "--raw -z --no-abbrev" -U0 -U10 --unified=1 --no-renames -M90% \
		"--find-renames=30%" -R --color=always "--color-words --color=always" --word-diff=plain --word-diff=porcelain -w -b \
		--ignore-blank-lines --patience --histogram --minimal --function-context -p --patch-with-stat --compact-summary \
		--dirstat --src-prefix=x/ --no-prefix "--full-index" "--binary -U0" --diff-filter=D -C --text --inter-hunk-context=3 \
		-Sone -Gone; do
		rc=0 && { gits_own $o $A $B >want.o 2>/dev/null || rc=$?; } &&
		rc2=0 && { git -C p ews diff s $o >got.o 2>err || rc2=$?; } &&
		{ gits_own --binary --full-index $o $A $B >want.full 2>/dev/null || :; } &&
		{ { cmp want.o got.o || cmp want.full got.o; } && test $rc = $rc2 || { echo >&2 "option $o: $rc $rc2" && cat err >&2 && diff want.o got.o >&2; return 1; }; }
	done
'

test_expect_success 'P5, P9: options that write or run are refused' '
	git -C p rev-parse HEAD >before &&
	for o in --output=hacked "--output hacked" --ext-diff --textconv --no-index -Oorder "-O order" "--outpu=hacked" --ext; do
		test_expect_code 129 git -C p ews diff s $o >out 2>err && test_must_be_empty out || return 1
	done &&
	test_expect_code 129 git -C p ews diff s --no-such-option 2>err &&
	test_path_is_missing hacked && test_path_is_missing p/hacked
'

test_expect_success 'what git does not take is its own sentence, and a usage error' '
	for o in --color-moved=x --diff-algorithm=x -Ux --stat=x --diff-filter=q; do
		test_expect_code 129 git -C p ews diff s "$o" >out 2>err && test_must_be_empty out && test_line_count = 2 err && test_grep "^error: .git diff. failed: " err && test_grep "^hint: see .git ews diff -h." err || return 1
	done &&
	git -C p ews diff s --stat --stat-width=40 --stat-name-width=9 --stat-graph-width=3 --stat-count=1 >out && test_grep "^ [.][.][.]" out && test_line_count = 3 out &&
	git -C p ews diff s --name-only --find-object="$(git -C p rev-parse HEAD:run.sh)" >out && echo docs/run-moved.sh >want.object && test_cmp want.object out
'

test_expect_success 'paths after -- limit it, as seen from where one stands' '
	gits_own --binary --full-index $A $B -- src >want.p && git -C p ews diff s -- src >got && cmp want.p got && test -s got &&
	(cd "$ws" && git ews diff -- src) >got && cmp want.p got &&
	gits_own --binary --full-index $A $B -- src/main.c >want.p && (cd "${ws:?}/src" && git ews diff -- main.c) >got && cmp want.p got &&
	gits_own --binary --full-index $A $B -- docs src/numbers >want.p && (cd "${ws:?}/src" && git ews diff -- ../docs numbers) >got && cmp want.p got &&
	gits_own --name-only $A $B -- src >want.p && git -C p ews diff s --name-only -- src >got && cmp want.p got &&
	(cd "$ws" && git ews diff --name-only -- no/such/path) >got && test_must_be_empty got &&
	gits_own --name-only $A $B -- ":(literal)*" >want.p && test_line_count = 1 want.p
'

test_expect_success '--quiet answers by its status alone, as that of git diff does' '
	for o in "" --stat "--changes files" -w "-- src"; do test_expect_code 1 git -C p ews diff s --quiet $o >got 2>err && test_must_be_empty got && test_must_be_empty err || { echo >&2 "$o"; return 1; }; done && snap=$(git -C p ews snapshot create s) && test_expect_code 1 git -C p ews snapshot diff --quiet --from base "$snap" >got && test_must_be_empty got && git -C "${ws:?}" ews diff --quiet "$snap" now >got && test_must_be_empty got && git -C p ews diff -q s >got && test_grep "^diff --git" got &&
	git -C p ews diff --quiet s -- no/such/path >got && test_must_be_empty got && test_expect_code 1 git -C p ews diff --quiet --json s >json && test_json json .session_id s && test_expect_code 128 git -C p ews diff --quiet nosuch 2>err && test_grep "^error: " err
'

test_expect_success 'P8: pathspecs after -- are git'"'"'s, in the patch, in each other form and in the status' '
	limited() {
		gits_own --binary --full-index $A $B -- "$@" >want.p && (cd "${ws:?}/$from" && git ews diff -- "$@") >got 2>err && cmp want.p got &&
		gits_own --name-status $A $B -- "$@" >want.names && (cd "${ws:?}/$from" && git ews diff --name-status -- "$@") >got 2>err && cmp want.names got &&
		gits_own --stat $A $B -- "$@" >want.stat && (cd "${ws:?}/$from" && git ews diff --stat -- "$@") >got 2>err && cmp want.stat got &&
		n=$(wc -l <want.names) && (cd "${ws:?}/$from" && git ews diff --json --changes diff -- "$@") >json && test_json json .total_changes $n && test_json_count json .changes $n &&
		json json .diff_text >got && { cat want.p && echo; } | test_cmp - got && (cd "${ws:?}/$from" && git ews diff --changes files -- "$@") >got 2>err && grep -c "^- " <got >count && echo $n | test_cmp - count &&
		test $n -gt 0 && (cd "${ws:?}/$from" && test_expect_code 1 git ews diff --exit-code -- "$@") >got 2>err && cmp want.p got
	} &&
	from=. && limited "*.txt" && limited ":(glob)*.txt" "docs/im*" && limited ":!src" && limited ":(icase)SRC/MAIN.C" && limited ":(literal)*" && limited ":/src" ":^*.c" && limited "src/*" && limited "docs/*" "run*" &&
	from=src && gits_own --name-only $A $B -- "src/*.c" "docs/*" ":!docs/image.bin" >want.p && (cd "${ws:?}/src" && git ews diff --name-only -- "*.c" "../docs/*" ":!../docs/image.bin") >got && cmp want.p got && limited ":/docs/*" &&
	gits_own --name-only --relative=src $A $B -- "src/*e*" >want.p && (cd "${ws:?}/src" && git ews diff --name-only --relative -- "*e*") >got && cmp want.p got && (cd "${ws:?}/src" && git ews diff --name-only --relative -- "${ws:?}/src/*e*") >got && cmp want.p got &&
	git -C p ews diff s --exit-code -- "*.nosuch" >got && test_must_be_empty got && git -C p ews start pristine >out && git -C p ews diff pristine --exit-code -- "*" &&
	for wrong in ":(bogus)x" ":(attr:x)src" ":(glob)../x" ":(open"; do test_expect_code 129 git -C p ews diff s -- "$wrong" >got 2>err && test_must_be_empty got && test_expect_code 129 git -C p ews diff pristine --json -- "$wrong" >out && test_json out .error.code usage || return 1; done && git -C p ews end pristine
'

test_expect_success 'P8: GIT_LITERAL_PATHSPECS and its kin mean what they mean to git' '
	with() { (reading=$1 && export "$1" && shift && limited "$@") && git -C p ews start pristine >out && git -C p ews end pristine; } && from=. &&
	with GIT_LITERAL_PATHSPECS=1 "*" && with GIT_LITERAL_PATHSPECS=yes src && with GIT_LITERAL_PATHSPECS=1 src/ docs && with GIT_LITERAL_PATHSPECS=off "*.txt" && with GIT_LITERAL_PATHSPECS= ":!src" &&
	with GIT_NOGLOB_PATHSPECS=1 "*" && with GIT_NOGLOB_PATHSPECS=1 ":(glob)*.txt" "*" && with GIT_NOGLOB_PATHSPECS=true ":!*" && with GIT_GLOB_PATHSPECS=1 "*" && with GIT_GLOB_PATHSPECS=1 ":(literal)*" && with GIT_GLOB_PATHSPECS=1 ":!*" "src/*" &&
	with GIT_ICASE_PATHSPECS=1 SRC && with GIT_ICASE_PATHSPECS=1 ":/SRC/*.C" && with GIT_ICASE_PATHSPECS=1 ":!SRC" "*" && with GIT_ICASE_PATHSPECS=1 ":(top,literal)SRC/MAIN.C" && from=src && with GIT_ICASE_PATHSPECS=1 ":/DOCS/*" &&
	GIT_LITERAL_PATHSPECS=1 git -C p ews diff s --exit-code -- ":/src" "*.c" ":!x" ":(glob)*" >got && test_must_be_empty got && git -C p --literal-pathspecs ews diff s --name-only -- "*" >got && test_line_count = 1 got &&
	for wrong in GIT_LITERAL_PATHSPECS=maybe "GIT_LITERAL_PATHSPECS=1 GIT_ICASE_PATHSPECS=1" "GIT_GLOB_PATHSPECS=1 GIT_NOGLOB_PATHSPECS=1" "GIT_LITERAL_PATHSPECS=1 GIT_GLOB_PATHSPECS=1"; do
		test_expect_code 129 env $wrong git -C p ews diff s -- src >got 2>err && test_must_be_empty got && test_grep PATHSPECS err && env $wrong git -C p ews diff s --exit-code >got 2>err; test $? = 1 || return 1
	done && GIT_LITERAL_PATHSPECS=1 GIT_NOGLOB_PATHSPECS=1 git -C p ews diff s --name-only -- "*" >got && test_line_count = 1 got
'

test_expect_success 'P8: a slash at the end of a pathspec means a directory, and magic that git does not know is refused' '
	from=. && limited src/ && limited src/. "docs/" && limited "src/../docs/" && from=src && limited ":/docs/" && with GIT_ICASE_PATHSPECS=1 ":/SRC/" &&
	for idle in src/main.c/ src/main.c/. "*/." "src/*/" ":(literal)src/main.c/"; do gits_own --name-only $A $B -- "$idle" >want.p && test_must_be_empty want.p && git -C p ews diff s --exit-code -- "$idle" >got && test_must_be_empty got || return 1; done &&
	git -C p ews diff s >want.p && (cd "${ws:?}/src" && git ews diff -- ../) >got && cmp want.p got && git -C p ews diff s -- "${ws:?}/" >got && cmp want.p got &&
	for wrong in ":!#x" ":#x" ":/@x"; do test_expect_code 129 git -C p ews diff s -- "$wrong" >got 2>err && test_must_be_empty got && test_grep "Unimplemented pathspec magic .*$wrong" err || return 1; done && from=. && limited ":!.x" &&
	test_expect_code 129 git -C p ews diff s -- src "" >got 2>err && test_must_be_empty got && test_grep "an empty string is no pathspec" err && test_expect_code 129 git -C p ews revert s -- "" 2>err && test_grep "an empty string is no path\$" err
'

test_expect_success 'P8: what a patch cannot carry is limited by pathspecs as well' '
	test_repo unsaid && start_ws -n uw unsaid u && (cd "$uw" && mkdir empty.d && chmod 600 run.sh && ln src/main.c linked.c && git init -q inner && : >inner/f) &&
	unsaid() { git -C unsaid ews diff u --name-only -- "$@" 2>&1 >/dev/null | sed -n "s/^warning: not in the patch: //p" | sort >got && test_cmp want.u got; } &&
	echo "linked.c (hard link to src/main.c)" >want.u && unsaid "*.c" && echo "empty.d (empty directory)" >want.u && unsaid "e*" "nosuch*" && printf "%s\n" "inner (repository)" "run.sh (mode 0755 to 0600)" >want.u && unsaid "*n*" ":!*.c" && unsaid "inner/*.x" "r?n.sh" && : >want.u && unsaid "*.x" &&
	test_expect_code 1 git -C unsaid ews diff u --exit-code -- "emp*" && git -C unsaid ews diff u --exit-code -- "docs*" && git -C unsaid ews end u
'

test_expect_success 'P8: what differs of the directory itself is named; not where two are compared' '
	for method in worktree in-place; do
		test_repo "top-$method" && start_ws -n tw "top-$method" --method "$method" top && chmod 2711 "${tw:?}" && echo "warning: not in the patch: . (mode 0755 to 2711)" >want.top &&
		test_expect_code 1 git -C "top-$method" ews diff --exit-code top >out 2>err && test_must_be_empty out && test_cmp want.top err && git -C "top-$method" ews diff --exit-code top -- src "*.c" >out 2>err && test_must_be_empty err &&
		snap=$(git -C "top-$method" ews snapshot create top) && echo "$snap" >"snap.$method" && git -C "${tw:?}" ews diff --exit-code "$snap" now && test_expect_code 1 git -C "top-$method" ews diff --json --exit-code top "$snap" >out && test_json out ".not_in_patch[0].path" . || return 1
	done && own=$(git -C top-worktree ews snapshot create) && git -C top-worktree ews diff --exit-code "$own" "$(cat snap.worktree)"
'

test_expect_success XATTR 'P8: and its attributes' '
	start_ws -n tw top-worktree attrs && setfattr -n user.top -v 1 "${tw:?}" && test_expect_code 1 git -C top-worktree ews diff --exit-code attrs >out 2>err && test_must_be_empty out &&
	echo "warning: not in the patch: . (extended attributes)" | test_cmp - err && git -C top-worktree ews end attrs >out && test_grep "Kept: " out
'

test_expect_success '--exit-code says whether there is something' '
	test_expect_code 1 git -C p ews diff s --exit-code >got && cmp want got &&
	git -C p ews start same >out && git -C p ews diff same --exit-code >got && test_must_be_empty got &&
	test_expect_code 1 git -C p ews diff s --exit-code --name-only >got && git -C p ews diff s --exit-code -- no/such/path
'

test_expect_success 'P8: --exit-code goes by what the options leave, and says 1 wherever something is printed' '
	test_repo bent && start_ws -n bent bent bent && (cd "${bent:?}" && sed "s/^/ /" src/numbers >other && cat other >src/numbers && rm other) && git -C bent ews diff bent --exit-code -w >got && test_must_be_empty got && test_expect_code 1 git -C bent ews diff bent --exit-code >got &&
	for how in "-w --stat" "--diff-filter=D --name-only" "-G no.such.line" "-S nosuchline"; do
		git -C bent ews diff bent --exit-code $how >got && test_must_be_empty got || return 1
	done && for how in --stat -R "-R --name-only" --diff-filter=M "--diff-filter=M --raw" "-G 1" "-M --stat"; do
		test_expect_code 1 git -C bent ews diff bent --exit-code $how >got && test -s got || return 1
	done && (cd "${bent:?}" && git checkout -q src/numbers && mv src/main.c src/moved.c) && test_expect_code 1 git -C bent ews diff bent --exit-code -w >got && test_grep "^rename to" got && (cd "${bent:?}" && mv src/moved.c src/main.c && chmod +x src/main.c) &&
	test_expect_code 1 git -C bent ews diff bent --exit-code -w --name-only >got && test_grep main.c got && git -C bent ews revert -q bent && mkdir "${bent:?}/hollow" && test_expect_code 1 git -C bent ews diff bent --exit-code -w >got 2>err && test_must_be_empty got && test_grep "not in the patch: hollow" err &&
	test_expect_code 128 git -C bent ews diff bent --exit-code "-G(" 2>err && test_grep "^error: " err && git -C bent ews end bent
'

test_expect_success 'P8: what bends the differences is refused where git does not print them' '
	for how in -w --ignore-blank-lines -R --diff-filter=D --diff-filter=Q "-G(" "-S x" --relative --no-renames -M90%; do
		for form in --json "--changes files" "--changes summary" "--json --changes diff"; do
			test_expect_code 129 git -C p ews diff s $form $how >got 2>err && { test_must_be_empty got && test_grep "^error: " err || test "${form#--json}" != "$form"; } || return 1
		done
	done && git -C p ews diff s --json -M >got && test_json got .total_changes && git -C p ews diff s --changes diff -R >got && test -s got && git -C p ews diff s --json --stat >got && test_json got .total_changes
'

test_expect_success 'two snapshots, a snapshot and now, now, two revisions' '
	s1=$(git -C p ews snapshot create s) && echo later >>"${ws:?}/src/main.c" && s2=$(git -C p ews snapshot create s) &&
	gits_own --binary --full-index $(tree_of snapshots/$s1) $(tree_of snapshots/$s2) >want.2 && test -s want.2 &&
	git -C p ews diff $s1 $s2 >got && cmp want.2 got && git -C p ews snapshot diff $s1 $s2 >got && cmp want.2 got &&
	(cd "$ws" && git ews diff $s1) >got && cmp want.2 got && (cd "$ws" && git ews diff $s1 now) >got && cmp want.2 got &&
	(cd "$ws" && git ews diff s $s1) >got && cmp want got && (cd "$ws" && git ews diff $s2 now) >got && test_must_be_empty got &&
	gits_own --binary --full-index $(git -C p rev-parse "HEAD~2^{tree}" "HEAD^{tree}") >want.r &&
	git -C p ews diff HEAD~2 HEAD >got && cmp want.r got &&
	gits_own --binary --full-index $(git -C p rev-parse "HEAD^{tree}") $(tree_of snapshots/$s1) >want.r &&
	git -C p ews diff HEAD $s1 >got && cmp want.r got &&
	test_expect_code 128 git -C p ews diff snap-00000000-000000-000000 $s1 >got 2>err && test_must_be_empty got &&
	sed -i "/^later\$/d" "${ws:?}/src/main.c" && git -C p ews diff s >got && cmp want got
'

test_expect_success '--json: the totals are git'"'"'s, and each change has its record' '
	git -C p ews diff s --json >out 2>err && test_json out .schema ews.diff/1 &&
	gits_own --name-status -M50% $A $B >ns && gits_own --numstat -M50% $A $B >num &&
	test_json out .total_changes "$(wc -l <ns)" && test_json_count out .changes "$(wc -l <ns)" &&
	test_json out .additions "$(grep -c ^A ns)" && test_json out .deletions "$(grep -c ^D ns)" &&
	test_json out .modifications "$(grep -c ^[MT] ns)" && test_json out .renames "$(grep -c ^R ns)" &&
	test_json out .lines_added "$(awk "{ n += \$1 } END { print n }" num)" &&
	test_json out .lines_deleted "$(awk "{ n += \$2 } END { print n }" num)" &&
	i=0 && n=$(wc -l <ns) && : >seen && while test $i -lt $n; do
		test_json out ".changes[$i].file_path" && test_json out ".changes[$i].change_type" &&
		printf "%s %s\n" "$(json out ".changes[$i].change_type")" "$(json out ".changes[$i].file_path")" >>seen && i=$((i + 1)) || return 1
	done &&
	grep "^modified src/main.c\$" seen && grep "^deleted docs/crlf.txt\$" seen && grep "^created new.bin\$" seen &&
	grep "^renamed docs/run-moved.sh\$" seen && test_json_missing out ".changes[0].diff_text"
'

test_expect_success '--json: one record in full, and a name that is not UTF-8' '
	git -C p ews diff s --json -- src/main.c >out && test_json_count out .changes 1 && test_json out ".changes[0].change_type" modified &&
	test_json out ".changes[0].original_hash" "sha256:$(sha256sum <base/src/main.c | cut -d" " -f1)" &&
	test_json out ".changes[0].modified_hash" "sha256:$(sha256sum <"${ws:?}/src/main.c" | cut -d" " -f1)" &&
	test_json out ".changes[0].is_binary" false && test_json out ".changes[0].lines_added" 1 && test_json out ".changes[0].lines_deleted" 1 &&
	test_json out ".changes[0].old_size" "$(wc -c <base/src/main.c)" && test_json out ".changes[0].new_size" "$(wc -c <"${ws:?}/src/main.c")" &&
	git -C p ews diff s --json >out && grep -F "\"path_bytes\":" out && grep "//4=" out
'

test_expect_success 'P7, P8: what a patch cannot carry is named' '
	start_ws -n rw p rest && (
		cd "$rw" && mkdir hollow && chmod 600 src/main.c && mkfifo pipe && mkdir -p dir && echo x >dir/.GIT && echo x >git~1 && echo y >seen
	) &&
	timeout 20 git -C p ews diff rest >got 2>err && grep "^+y" got &&
	for f in hollow src/main.c pipe dir/.GIT git~1; do test_grep -F "$f" err || return 1; done &&
	git -C p ews diff rest --json >out 2>err && json out .not_in_patch >not && for f in hollow src/main.c pipe dir/.GIT git~1; do
		test_grep -F "$f" not || return 1
	done && test_grep ! seen not
'

test_expect_success 'P8: files that came to be one, or no longer are, are named' '
	test_repo linked && (cd linked && echo 1 >a && ln a b && ln a c && echo 2 >x && echo 2 >y) && start_ws -n lw linked names && git -C linked ews diff --exit-code names &&
	(cd "${lw:?}" && rm b && cp -p a b && ln -f x y && ln x new && rm c) && git -C linked ews diff names >got 2>err && test_grep "not in the patch: b (no longer a hard link to a)" err &&
	test_grep "not in the patch: y (hard link to x)" err && test_grep "not in the patch: new (hard link to x)" err && test_grep ! ": [acx] (" err && git -C linked ews diff names --json >out && test_json_count out .not_in_patch 3 &&
	git -C linked ews diff names -- y >got 2>err && test_line_count = 1 err && git -C linked ews end names
'

test_expect_success '--changes shows as much as is asked for, the patch as ever' '
	git -C p ews diff s --changes summary >out && test_line_count = 1 out && test_grep "^Changes: [0-9]* file(s) (+[0-9]* -[0-9]*)\.$" out &&
	git -C p ews diff s --changes=files >out && test_grep "^- .*run-moved.sh" out && git -C p ews diff s --changes none >out && test_must_be_empty out &&
	git -C p ews diff s >plain && git -C p ews diff s --changes diff >out && test_cmp plain out &&
	git -C p ews diff s --json --changes summary >out && test_json out .renames && test_must_fail test_json out .changes 2>/dev/null &&
	git -C p ews diff s --json --changes diff >out && test_json out .diff_text && printf "%s\n" "$ews_got" >text && test_grep "^diff --git" text &&
	test_expect_code 129 git -C p ews diff s --changes all 2>err && test_grep "^error: .*all" err
'

test_expect_success 'P7: what --changes says is what git counts, and the records share the patch out among them' '
	git -C p ews diff s --json --changes diff >out && git -C p ews diff s >plain && B=$(tree_now s) && A=$(tree_of sessions/s) && gits_own --numstat -M50% $A $B >num && n=$(wc -l <num) && added=$(awk "{ n += \$1 } END { print n }" num) && deleted=$(awk "{ n += \$2 } END { print n }" num) &&
	git -C p ews diff s --changes files >text && sed -n 1p text >first && echo "Changes: $n file(s) (+$added -$deleted)." >want && test_cmp want first &&
	sed 1d text | sed "s/^- \(.\)  .* (+\([0-9]*\) -\([0-9]*\))\$/\1 \2 \3/" >got && gits_own --name-status -M50% $A $B | cut -c1 >letters && awk "{ sub(/-/, 0); print \$1, (\$2 == \"-\" ? 0 : \$2) }" num | paste -d" " letters - >want && test_cmp want got &&
	test_json out .change_summary.file_count $n && test_json out .change_summary.additions "$added" && test_json out .change_summary.deletions "$deleted" && test_json_count out .change_summary.files $n && test_json_count out .files_added "$(grep -c A letters)" && test_json_count out .files_deleted "$(grep -c D letters)" &&
	test_json_count out .files_modified "$(grep -c "[MT]" letters)" && test_json_count out .files_renamed "$(grep -c R letters)" && json out ".files_renamed[0][1]" >renamed && test -s renamed &&
	i=0 && : >texts && while test $i -lt $n; do
		json out ".changes[$i].diff_text" >text && cat text >>texts && test_json out ".change_summary.files[$i].status" "$(sed -n $((i + 1))p letters) " && i=$((i + 1)) || return 1
	done && json out .diff_text >whole && sed "/^\$/d" texts >got && sed "/^\$/d" whole >want && test_cmp want got &&
	git -C p ews diff s --json --changes diff -- src/main.c >out && test_json_count out .changes 1 && json out .diff_text >whole && grep -c "^diff --git" whole >n && test_grep -x 1 n && git -C p ews diff s --json --changes none >out && test_json out .total_changes && test_json_missing out .change_summary
'

test_expect_success 'P8: where nothing was renamed lines are counted without git, and as git counts them' '
	start_ws -n cw p counted && (
		cd "${cw:?}" && sed -i "1d; \$d" src/numbers && sed -i "s/return 0/return 1/; 1i /* first */" src/main.c && printf "no end" >>docs/crlf.txt && : >docs/image.bin &&
		chmod +x src/log && ln -sfn src/numbers link && printf "1\n2" >new
	) && A=$(tree_of sessions/counted) && B=$(tree_now counted) && gits_own --numstat -M50% $A $B >num && gits_own --name-status -M50% $A $B | cut -c1 >letters && test_grep -x A letters && test_grep ! "[DR]" letters &&
	added=$(awk "{ n += \$1 } END { print n }" num) && deleted=$(awk "{ n += \$2 } END { print n }" num) && test "$deleted" -gt 2 &&
	git -C p ews diff counted --changes files >text && sed -n 1p text >first && echo "Changes: $(wc -l <num) file(s) (+$added -$deleted)." >want && test_cmp want first &&
	sed 1d text | sed "s/^- \(.\)  .* (+\([0-9]*\) -\([0-9]*\))\$/\1 \2 \3/" >got && awk "{ sub(/-/, 0); print \$1, (\$2 == \"-\" ? 0 : \$2) }" num | paste -d" " letters - >want && test_cmp want got && git -C p ews end counted
'

test_expect_success 'P7: a patch of many files is the one that git prints, and so is its reverse' '
	git init -q many && (cd many && mkdir -p a/b a.b z && for i in $(seq 80); do echo "$i" >a/b/$i && echo "$i" >a.b/$i && seq $i >z/$i; done && git add . && git commit -qm many) && start_ws -n mw many many && (
		cd "${mw:?}" && for i in $(seq 80); do echo more >>a/b/$i && sed -i "\$d" z/$i || exit 1; done && for i in $(seq 70); do echo other >a.b/$i || exit 1; done && echo come >a/come
	) && A=$(git -C many rev-parse "refs/ews/sessions/many^{tree}") && B=$(git -C many rev-parse "refs/ews/snapshots/$(git -C many ews snapshot create many)^{tree}") &&
	gits_own --of "$PWD/many" --binary --full-index $A $B >want && grep -c "^diff --git" want >n && test_grep -x 231 n && git -C many ews diff many >got && test_cmp want got &&
	git -C many ews diff many --json --changes diff >out && json out .diff_text >got && echo >>want && test_cmp want got && gits_own --of "$PWD/many" --binary --full-index -R $A $B >want && git -C many ews diff -R many >got && test_cmp want got &&
	mkdir "${mw:?}/new" && for i in $(seq 60); do seq 1000 $((1000 + i * i)) >"${mw:?}/new/$i" || return 1; done && B=$(git -C many rev-parse "refs/ews/snapshots/$(git -C many ews snapshot create many)^{tree}") &&
	gits_own --of "$PWD/many" --binary --full-index $A $B >want && grep -c "^diff --git" want >n && test_grep -x 291 n && git -C many ews diff many >got && test_cmp want got &&
	git -C many ews diff many --json --changes diff >out && json out .diff_text >got && echo >>want && test_cmp want got &&
	rm "${mw:?}/z/1" && git -C many ews diff many >got && test_grep "^deleted file" got && git -C many ews diff many | head -n 1 >got && test_grep "^diff --git" got
'

test_expect_success '--from: what one state is compared with' '
	git -C p ews diff s >want && git -C p ews diff --from base s >got && cmp want got && test_expect_code 128 git -C p ews diff --from parent s 2>err >got && test_must_be_empty got && test_grep "has no parent" err &&
	start_ws -n fw p from && one=$(git -C p ews snapshot create from -m one) && echo x >>"${fw:?}/src/main.c" && two=$(git -C p ews snapshot create from) && echo y >>"${fw:?}/src/main.c" && three=$(git -C p ews snapshot create from) &&
	git -C p ews diff --from parent $three >got && git -C p ews diff $two $three >want && cmp want got && git -C p ews diff --from base $two >got && git -C p ews diff from $two >want && cmp want got && git -C p ews diff --from base $three --json >out && test_json out .session_id null && test_json out .to $three &&
	for bad in "--from parent $one $two" "--from x from" "--from base HEAD"; do
		test_expect_code 129 git -C p ews diff $bad >got 2>err && test_must_be_empty got || return 1
	done && test_expect_code 128 git -C p ews diff --from parent HEAD 2>err && git -C p ews end from
'

test_expect_success 'P7: names that end in a blank, and a renamed link whose place a directory takes, are said so that git apply takes them' '
	test_repo blank && (
		cd blank && mkdir "x " "y " && echo 1 >"x /mode" && printf "\\0001" >"x /bin" && : >"x /empty" && : >"x /gone" && echo edit >"y /edit" && ln -s nowhere swapped && git add . && git commit -qm blanks
	) && start_ws -n bw blank b && (
		cd "${bw:?}" && chmod +x "x /mode" && printf "\\0002" >"x /bin" && rm "x /gone" && : >"y /new" && mv "x /empty" "y /moved" && echo more >>"y /edit" && mv swapped renamed && mkdir swapped && echo in >swapped/file && : >"y /café"
	) && git -C blank ews diff b >patch 2>err && test_must_be_empty err && test_grep "^diff --git a/y /edit b/y /edit" patch && git -C blank apply --index --check "$PWD/patch" && cp -a blank applied && git -C applied update-index -q --refresh && git -C applied apply --index "$PWD/patch" && test_same_tree -x .git applied "$bw" &&
	git -C blank ews diff b --stat >out && test_grep "swapped => renamed" out && git -C blank ews diff b --json --changes diff >out && test_json out ".files_renamed[0][1]" renamed && json out .changes >records && test_grep "new file mode 120000.*deleted file mode 120000" records && git -C blank ews end b
'

test_expect_success TAKES_BACK 'P7: and so that it takes them back' '
	git -C applied apply -R --index "$PWD/patch" && test_same_tree -x .git applied blank
'

test_expect_success 'P8: what git can not hold is named as well where it takes the place of a directory, or gives way to one' '
	test_repo swapped && mkfifo swapped/pipe && mkdir swapped/dir swapped/git~1 && echo x >swapped/dir/.GIT && echo x >swapped/git~1/x &&
	start_ws -n sw swapped swap && (
		cd "${sw:?}" && rm pipe dir/.GIT git~1/x && rmdir git~1 && mkdir pipe dir/.GIT && echo x >pipe/x && echo x >dir/.GIT/x && echo x >git~1
	) &&
	git -C swapped ews diff swap >got 2>err && for f in pipe dir/.GIT git~1; do test_grep ": $f\>" err || return 1; done
'

test_expect_success USERS 'P8: what nobody could read at the start did not come along, and is no difference until something stands there' '
	test_repo shut && echo 1 >shut/u && chmod 000 shut/u && test_give_user shut && test_as_user git -C shut ews start u >path 2>err && take_ws path && test_grep "left out: u (unreadable)" err &&
	test_as_user git -C shut ews diff u --exit-code >out 2>err && test_must_be_empty out && test_grep ! "not in the patch" err && test_as_user git -C shut ews diff u --json >out && test_json_count out .not_in_patch 0 &&
	echo 2 >"${ws:?}/u" && chmod 644 "${ws:?}/u" && test_expect_code 1 test_as_user git -C shut ews diff u --exit-code >out 2>err && test_grep "not in the patch: u (unreadable before)" err
'

test_expect_success 'P8: a new directory that is closed is named, though a file may have that mode' '
	start_ws -n nw p modes && mkdir "${nw:?}/closed" "${nw:?}/open" && echo x >"${nw:?}/closed/f" && echo x >"${nw:?}/open/f" && chmod 644 "${nw:?}/closed" &&
	git -C p ews diff modes >got 2>err && chmod 755 "${nw:?}/closed" && test_grep "closed (mode 0644)" err && test_grep ! open err
'

test_expect_success 'names that a terminal would obey are quoted, those that it shows are not; -z and JSON have them as they are' '
	test_repo odd && start_ws -n odd odd odd && csi=$(printf "c1\302\2331m") && raw=$(printf "raw\2331m") && bidi=$(printf "bidi\342\200\256txt") && plain=$(printf "\303\251\346\274\242") &&
	(cd "${odd:?}" && : >"$csi" && : >"$raw" && : >"$bidi" && : >"$plain") && printf "%s\n" "\"bidi\\342\\200\\256txt\"" "\"c1\\302\\2331m\"" "\"raw\\2331m\"" "$plain" >want &&
	git -C odd ews diff odd --changes files >out && sed -n "s/^- A  \(.*\) (.*/\1/p" out >got && test_cmp want got &&
	git -C odd ews snapshot create odd >id && git -C odd ews snapshot show --files "$(cat id)" >out && grep "bidi\|c1\|raw\|$plain" out | cut -f 4 >got && test_cmp want got &&
	git -C odd ews revert -n odd >out 2>err && for name in "$csi" "$raw" "$bidi"; do
		test_grep ! -F "$name" out && test_grep ! -F "$name" err || return 1
	done && git -C odd ews snapshot show --files -z "$(cat id)" >out && tr "\0" "\n" <out | cut -f 4 >lines && for name in "$csi" "$raw" "$bidi"; do
		test_grep -xF "$name" lines || return 1
	done && git -C odd ews diff odd --json >out && test_json out ".changes[0].file_path" "$bidi" && test_json out ".changes[1].file_path" "$csi" &&
	rm "${odd:?}/$csi" "${odd:?}/$raw" "${odd:?}/$bidi" "${odd:?}/$plain" && git -C odd ews end odd
'

test_expect_success '--changes files -z has paths as they are, with a NUL at the end of each, also where apply and archives show them' '
	odd=$(printf "new\nline -> \"x\"") && git init -q nul && (cd nul && echo one >"$odd" && echo two >old && git add . && git commit -q -m one && git ews archive create . >../before) &&
	start_ws nul n && (cd "${ws:?}" && mv old "to $odd" && echo more >>"$odd") && printf "Changes: 2 file(s) (+1 -0).\n- M  (+1 -0) %s\0- R  (+0 -0) old\0to %s\0" "$odd" "$odd" >want &&
	git -C nul ews diff n --changes files -z >got && test_cmp want got && git -C nul ews snapshot diff n now --changes files -z >got && test_cmp want got &&
	git -C nul ews apply -z n >out 2>err && sed 1d out >got && test_cmp want got &&
	printf "Changes: 1 file(s) (+1 -0).\n- M  (+1 -0) %s\0" "$odd" >want && git -C nul ews archive diff --changes files -z "$(cat before)" . -- "$odd" >got && test_cmp want got
'

test_expect_success 'a workspace that vanished or was tampered with is an error, never an empty patch' '
	start_ws -n vw p van && echo x >"${vw:?}/x" && mv "$vw" away &&
	rc=0 && { git -C p ews diff van >got 2>err || rc=$?; } && case $rc in 1 | 128) ;; *) false ;; esac &&
	test_must_be_empty got && test_grep "$vw" err && mkdir "$vw" &&
	rc=0 && { git -C p ews diff van >got 2>err || rc=$?; } && case $rc in 1 | 128) ;; *) false ;; esac && test_must_be_empty got &&
	rmdir "$vw" && mv away "$vw" && git -C p ews diff van >got && grep "^+x" got
'

test_expect_success 'a closed pipe is no crash' '
	(git -C p ews diff s --stat; echo $? >rc) | head -n 0 && case "$(cat rc)" in 0 | 1 | 128 | 141) ;; *) false ;; esac
'

test_expect_success 'P1: nothing of all this touched the project' '
	test_repo q && start_ws -n qw q && echo x >>"${qw:?}/src/main.c" && test_fingerprint q >before &&
	git -C q ews diff >out && git -C q ews diff --stat >out && git -C q ews diff --json >out && git -C q ews diff HEAD~1 HEAD >out &&
	test_fingerprint q >after && test_cmp before after
'

test_expect_success 'a nested repository is named once, by diff and by apply; so is one that went' '
	test_repo inner && start_ws inner in && git init -q "${ws:?}/nested" && : >"${ws:?}/nested/f" && git -C inner ews diff in >out 2>err && test_must_be_empty out && echo "warning: not in the patch: nested (repository)" >want && test_cmp want err &&
	git -C inner ews diff in --json >out && test_json_count out .not_in_patch 1 && test_json out ".not_in_patch[0].what" repository && git -C inner ews apply in --json >out && test_json_count out .left_out 1 && test_json out ".left_out[0].why" repository &&
	id=$(git -C inner ews snapshot create in) && rm -rf "${ws:?}/nested" && git -C inner ews diff "$id" in >out 2>err && echo "warning: not in the patch: nested (repository removed)" >want && test_cmp want err && git -C inner ews end in
'

test_expect_success 'both names of what was renamed are there in JSON, whatever their bytes' '
	git init -q bytes && old=$(printf "old\377") && (cd bytes && seq 40 >"$old" && git add . && git commit -qm one) && start_ws bytes b && mv "${ws:?}/$old" "${ws:?}/new" &&
	git -C bytes ews diff --json >out && test_json_count out .files_renamed 1 && test_json out ".files_renamed[0][1]" new && test_json out ".files_renamed_bytes[0][0]" "$(printf "old\377" | base64)" &&
	git -C bytes ews revert >out && git -C bytes ews diff --json >out && test_json_count out .files_renamed 0 && ! grep files_renamed_bytes out
'

test_expect_success 'what only shapes a patch brings none beside another form' '
	test_repo shaped && start_ws shaped s && echo more >>"${ws:?}/src/main.c" && git -C shaped ews diff --stat s >want && for option in -W --function-context --word-diff --color-words=. --minimal; do git -C shaped ews diff --stat "$option" s >out && test_cmp want out || return 1; done &&
	for option in -p -u -U1 --patch-with-raw --binary; do git -C shaped ews diff --stat "$option" s >out && test_grep "^diff --git" out || return 1; done
'

test_expect_success 'P8: HEAD, or its branch, that can not be read just now is not said to be none' '
	test_repo unread && start_ws unread s && look=0 && while test_more_looks; do
		test_look EIO "/unread/[.]git/(HEAD|refs/heads/[^/]*)$" -C unread diff HEAD >out 2>err && test_grep ! "no snapshot, session or revision" err || return 1
	done && test $look -gt 4
'

test_expect_success 'a path of the index is no revision' '
	for spec in :src/main.c :0:src/main.c; do test_expect_code 128 git -C unread ews diff "$spec" 2>err && test_grep "no snapshot, session or revision" err && test_expect_code 128 git -C unread ews start --base "$spec" 2>err && test_grep ! unimplemented err || return 1; done
'

test_expect_success 'P8: nor is another branch, a tag, or what they lead to' '
	git -C unread branch side && git -C unread tag -a -m one tag && for spec in side tag main~1; do for error in EIO EMFILE; do look=0 && while test_more_looks; do
		test_look $error "(/unread/[.]git/(refs/(heads|tags)/.*|packed-refs)|^openat.*/objects/../.*)$" -C unread diff "$spec" >out 2>err && test_grep ! "no snapshot, session or revision" err || return 1
	done && test $look -gt 2 || return 1; done; done && look=0 && while test_more_looks; do
		test_look EIO "/unread/[.]git/refs/heads/.*$" -C unread start --base side b$look >out 2>err && test_grep ! "is no commit" err || return 1
	done && test $look -gt 2
'

test_expect_success STRACE 'P8: nor what is in a pack that can not be opened just now, here or where this borrows from: for nobody that asks' '
	test_repo packed && git -C packed repack -adq && git clone -qs packed borrower && index=$(echo "$PWD"/packed/.git/objects/pack/*.idx) && for repo in packed borrower; do for error in EIO EMFILE; do
		for verb in "diff HEAD" "start s" "start --base HEAD s" "start --base main s" "diff main" "snapshot create" "archive create"; do
			code=0 && { test_strace log -qq -P "$index" -P "${index##*/}" -e trace=openat -e inject=openat:error=$error "$EWS_BIN/git-ews" -C $repo $verb >out 2>err || code=$?; } && test $code = 128 && test_grep "cannot open .*/pack/pack-.*[.]idx" err && test_must_be_empty out || { echo >&2 "$repo, $error, $verb"; return 1; }
		done || return 1
	done || return 1; done && test_must_fail git -C packed ews diff nowhere 2>err && test_grep "no snapshot, session or revision" err && git -C borrower ews start s
'

test_expect_success 'a session that can not be looked for just now is not compared without a word of what is stale' '
	test_repo sought && start_ws sought sess && echo new >>"${ws:?}/run.sh" && git -C sought commit -q --allow-empty -m further && look=0 && while test_more_looks; do
		test_look EIO "/sessions(/sess)?$" -C sought diff se >out 2>err && if test $code = 0; then test_grep "stale: HEAD moved" err; fi || return 1
	done && test $look -gt 4
'

test_expect_success 'P8: of what is ignored, and a state that is named has, it is said what became of it, and not that it is gone' '
	test_repo ruled && printf "*.o\nbuild/\n" >ruled/.gitignore && git -C ruled add . && git -C ruled commit -qm rules && for method in worktree snapshot; do
		start_ws -n one ruled --method $method --keep-ignored=no one-$method && mkdir "${one:?}/build" && echo p >"${one:?}/p.o" && echo n >"${one:?}/build/n" && echo k >"${one:?}/build/k" && snap=$(git -C ruled ews snapshot create --ignored one-$method) && start_ws -n two ruled --method $method --from "$snap" --keep-ignored=no two-$method && test_path_is_file "${two:?}/build/n" &&
		git -C ruled ews diff --exit-code --from parent two-$method >out && test_must_be_empty out && git -C ruled ews diff two-$method >out && test_must_be_empty out && echo more >>"${two:?}/build/n" && rm "${two:?}/build/k" && echo new >"${two:?}/new.o" && git -C ruled ews diff --from parent two-$method --name-status >out && printf "D\tbuild/k\nM\tbuild/n\n" | test_cmp - out && git -C ruled ews diff --from parent two-$method >patch && test_grep "^+more" patch || return 1
	done && echo o >ruled/a.o && mkdir ruled/build && echo b >ruled/build/b && snap=$(git -C ruled ews snapshot create --ignored) && git -C ruled ews diff --exit-code "$snap" && later=$(git -C ruled ews snapshot create) && git -C ruled ews diff --exit-code "$snap" "$later" && git -C ruled ews apply --check "$snap..$later" && rm ruled/a.o && echo more >>ruled/build/b &&
	git -C ruled ews diff --name-status "$snap" >out && printf "D\ta.o\nM\tbuild/b\n" | test_cmp - out && later=$(git -C ruled ews snapshot create) && git -C ruled ews diff --name-status "$snap" "$later" >out && printf "D\ta.o\n" | test_cmp - out
'

test_expect_success 'P8: a directory that holds but names that git refuses, or a FIFO, is not said to be empty' '
	test_repo refused && start_ws refused r && (cd "${ws:?}" && mkdir -p .GIT pipes deep/er && echo h >.GIT/h && mkfifo pipes/p) && git -C refused ews diff r 2>err && printf "warning: not in the patch: %s\n" ".GIT (a directory that git can'"'"'t hold)" ".GIT/h (a path that git can'"'"'t hold)" "deep (empty directory)" "deep/er (empty directory)" "pipes (a directory that git can'"'"'t hold)" "pipes/p (fifo)" | test_cmp - err &&
	snap=$(git -C refused ews snapshot create r) && rm -r "${ws:?}/.GIT" "${ws:?}/pipes" "${ws:?}/deep" && git -C refused ews diff "$snap" 2>err && test_grep "patch: .GIT (a directory that git can.t hold removed)$" err && test_grep "patch: pipes (a directory that git can.t hold removed)$" err && test_grep "patch: deep (empty directory removed)$" err
'

test_expect_success STRACE 'P8: a branch, or what it leads to, that the disk does not give now, or can not take: it is that which is said, and not that git fails or that another one is at it' '
	test_repo disk && start_ws disk d && echo mine >>"${ws:?}/run.sh" && git -C "$ws" commit -qam mine && id=$(git -C "$ws" rev-parse HEAD) && git -C disk branch far $id && for at in refs/heads/far objects/$(echo $id | sed "s|^..|&/|"); do
		for error in EIO EMFILE EACCES; do
			test_expect_code 128 test_strace trace -P "$PWD/disk/.git/$at" -e trace=openat -e inject=openat:error=$error git -C disk ews diff --json far d >out && test_grep INJECTED trace && test_json out .error.code io || return 1
		done
	done &&
	test_expect_code 128 test_strace trace -P "$PWD/disk/.git/refs/heads/out.lock" -e trace=openat -e inject=openat:error=ENOSPC git -C disk ews end --json --branch out d >out && test_grep INJECTED trace && test_json out .error.code no_space && git -C disk ews end --branch out d && git -C disk rev-parse out
'

test_expect_success 'P7, P8: of what a rule ignores by then a later snapshot says what is gone, and the rest is named: between snapshots, and by apply' '
	test_repo later && start_ws later later && mkdir "${ws:?}/gen" && for n in a k m; do echo $n >"${ws:?}/gen/$n" || return 1; done && git -C "$ws" add . && git -C "$ws" commit -qm gen && one=$(git -C later ews snapshot create later) && git -C "$ws" rm -rq gen && echo gen/ >"${ws:?}/.gitignore" && mkdir "${ws:?}/gen" && echo b >"${ws:?}/gen/b" && echo M >"${ws:?}/gen/m" && two=$(git -C later ews snapshot create later) &&
	printf "M\t.gitignore\nD\tgen/a\nD\tgen/k\n" >want && three=$(git -C later ews snapshot create later) && for to in "$two" "$three"; do
		git -C later ews diff --name-status "$one" "$to" >out 2>err && test_cmp want out && echo "warning: not in the patch: gen (ignored)" >line && test_cmp line err || return 1
	done && git -C later ews diff --name-status "$one" >out && printf "M\tgen/m\n" >>want && test_cmp want out && git -C later ews diff "$(git -C "$ws" rev-parse HEAD)" "$two" 2>err >out && test_grep "not in the patch: gen (ignored)" err &&
	mkdir later/gen && for n in a k m; do echo $n >later/gen/$n || return 1; done && git -C later add . && git -C later commit -qm gen && git -C later ews apply "$one..$two" 2>err && test_grep "left out: gen (ignored)" err && test_path_is_missing later/gen/a && echo m | test_cmp - later/gen/m
'

test_expect_success 'P7, P8: of snapshots that somebody rewrote together with history what they were made of is compared, and they are named; when that is gone too it is made again' '
	test_repo rewritten && echo secret >rewritten/secret && git -C rewritten add secret && git -C rewritten commit -qm secret && start_ws rewritten w && echo more >>"${ws:?}/run.sh" && one=$(git -C rewritten ews snapshot create w) && echo new >"${ws:?}/new" &&
	git -C rewritten ews diff w >want 2>err && test_must_be_empty err && git -C rewritten ews diff "$one" w >want.one && git -C rewritten ews diff w "$one" >want.two && cp -R rewritten/.git kept.git &&
	drop="git rm -q --cached --ignore-unmatch secret" && (cd rewritten && FILTER_BRANCH_SQUELCH_WARNING=1 git filter-branch -f --index-filter "$drop" -- --all) >out 2>&1 && test_grep "refs/ews/sessions/w. was rewritten" out && test_grep "refs/ews/snapshots/$one. was rewritten" out &&
	as_before() {
		git -C rewritten ews diff w >out 2>err && test_cmp want out && test_grep "^note: refs/ews/sessions/w was rewritten by somebody; .git ews doctor --fix. puts it back" err &&
		git -C rewritten ews diff w "$one" >out 2>err && test_cmp want.two out && test_grep "^note: refs/ews/snapshots/$one was rewritten" err && git -C rewritten ews diff "$one" w >out && test_cmp want.one out
	} && as_before && git -C rewritten ews status w >out && test_grep "^ *Changes: *2 files" out && test_grep "Project: *refs/ews/sessions/w was rewritten" out && test_expect_code 1 git -C rewritten ews snapshot verify w >out && test_grep "refs/ews/sessions/w was rewritten by somebody; .git ews doctor --fix." out &&
	git -C rewritten for-each-ref --format="delete %(refname)" refs/original | git -C rewritten update-ref --stdin && git -C rewritten reflog expire --expire=now --all && git -C rewritten gc -q --prune=now && as_before &&
	rm "${ws:?}/secret" && git -C rewritten ews diff --name-status w >out 2>err && test_grep "^D.secret$" out &&
	says="was rewritten by somebody; .git ews doctor --fix. puts it back" && git -C rewritten ews diff --json w "$one" >json && jq -r ".rewritten[]" json >out && test_line_count = 2 out && test_grep "^refs/ews/sessions/w $says" out && test_grep "^refs/ews/snapshots/$one $says" out && git -C rewritten ews diff --json HEAD HEAD >json && jq -e ".rewritten == []" json &&
	git -C rewritten ews end --dry-run w 2>err && test_grep "^drift: refs/ews/sessions/w $says" err && git -C rewritten ews end --json w >json && jq -r ".drift[], .sessions[].drift[]" json >out && grep -c "^refs/ews/sessions/w $says" out >n && test "$(cat n)" = 2
'

test_done
