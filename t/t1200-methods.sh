#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='each method in each kind of project: the same verbs keep the same promises (P1-P4, P7)'

. "$(dirname "$0")/test-lib.sh"

GIT_OPTIONAL_LOCKS=0
export GIT_OPTIONAL_LOCKS

# a directory that is no git repository
plain_dir() {
	mkdir "$1" && (
		cd "$1" && mkdir -p src/deep empty && echo one >src/one && echo two >src/deep/two && ln -s src/one link && echo "*.o" >.gitignore &&
			echo product >main.o && echo run >run && chmod 750 run && printf 'a\r\n' >crlf && mkfifo pipe && touch -d "2020-02-02 02:02:02.020202" src/one
	)
}

# project <kind> <name>
project() {
	if test "$1" = plain; then
		plain_dir "$2"
	else
		test_repo "$2" && (
			cd "$2" && echo staged >>src/log && git add src/log && echo more >>src/log && echo untracked >untracked && echo product >main.o &&
				git rm -q --cached docs/crlf.txt && echo intent >intended && git add -N intended && git tag -a -m "a tag" annotated && git branch topic
		)
	fi
}

# all of $1: files with their times (but those of directories), git's state
state_of() (
	"$EWS_SRC/t/lister" -x .git -x .superqode "$1" | sed -E 's/	(d [0-7]+) [0-9.]+ /	\1 - /' && cd "$1" &&
		if git rev-parse --absolute-git-dir 2>/dev/null >"$HOME/dir"; then
			(cd "$(cat "${HOME:?}/dir")" && sha256sum HEAD index && stat -c "index %y" index) &&
				GIT_OPTIONAL_LOCKS=0 git status --porcelain=v2 -uall && git rev-parse HEAD
		fi
)

# break all that can be broken
mutate() (
	cd "$1" && rm -rf src/one src/main.c && mkdir -p src/one src/main.c && echo new >src/one/new && ln -sfn /etc link && chmod 4711 run* &&
		rm -f crlf docs/crlf.txt && echo changed >.gitignore && mkdir hollow && mkdir -p ro && echo x >ro/x && chmod 500 ro && : >"odd
name" && touch -d @77 src/deep/*
)

kinds='worktree:git snapshot:git in-place:git snapshot:plain in-place:plain'

for kind in $kinds; do
	method=${kind%:*} what=${kind#*:} p=$method-${kind#*:}
	export method what p

	test_expect_success "$p: start gives a twin" '
		project $what $p && state_of $p >before && start_ws $p --method $method s && state_of $p >after && test_cmp before after &&
		if test $method = in-place; then
			echo "$PWD/$p" >want && test_cmp want out
		else
			# a branch is not checked out
			if test $what = git; then
				git -C $p status --porcelain=v2 -uall >want && git -C "$ws" status --porcelain=v2 -uall >got && test_cmp want got &&
				test "$(git -C "$ws" rev-parse HEAD)" = "$(git -C $p rev-parse HEAD)" && test_must_fail git -C "$ws" symbolic-ref -q HEAD
			else
				test_path_is_missing "${ws:?}/.git"
			fi &&
			"$EWS_SRC/t/lister" -x .git -M . $p | grep -v "^[^	]*	d " >want &&
			"$EWS_SRC/t/lister" -x .git -M . "$ws" | grep -v "^[^	]*	d " >got && test_cmp want got
		fi &&
		test_path_is_missing "${p:?}/.superqode"
	'

	test_expect_success "P2, P3: $p: revert brings everything back, and proves it" '
		state_of "$ws" >base && mutate "$ws" &&
		{ test $what = plain || (cd "${ws:?}" && git add -A && git commit -qm work && git checkout -q -B other); } &&
		state_of "$ws" >work && git -C $p ews diff s >patch && test -s patch && git -C $p ews revert s >out 2>err && test_grep "Status: Verified" out &&
		state_of "$ws" >got && test_cmp base got
	'

	test_expect_success "P4: $p: undo and redo of that, from other processes; gc takes nothing" '
		git -C $p ews undo s >out && state_of "$ws" >got && test_cmp work got &&
		if test $what = git; then git -C $p gc -q --prune=now && git -C "$ws" fsck --no-dangling; fi &&
		git -C $p ews undo --redo s && state_of "$ws" >got && test_cmp base got &&
		git -C $p ews undo s && state_of "$ws" >got && test_cmp work got
	'

	test_expect_success "P7: $p: the patch gives the workspace" '
		rm -rf applied && git init -q applied && store=$(git -C $p ews snapshot show --json s >show && json show .tree) && test -n "$store" &&
		snap=$(git -C $p ews snapshot create s) && git -C $p ews snapshot show --json "$snap" >show && now=$(json show .tree) &&
		git -C $p ews snapshot restore "$(git -C $p ews snapshot list s --json >list && json list ".snapshots[0].snapshot_id")" --to "$PWD/applied/base" >out 2>err &&
		git -C $p ews diff s >patch && (cd applied/base && git apply --whitespace=nowarn --directory=base "$SHARNESS_TRASH_DIRECTORY/patch") &&
		(cd applied/base && find . -type f -exec sha256sum {} + | sort >"$SHARNESS_TRASH_DIRECTORY/got") &&
		(cd "${ws:?}" && find . -path ./.git -prune -o -path ./.superqode -prune -o -type f ! -name main.o -exec sha256sum {} + | sort >"$SHARNESS_TRASH_DIRECTORY/want") &&
		sed "/main.o/d" got >got.some && test_cmp want got.some
	'

	test_expect_success "P4: $p: end, and back again" '
		git -C $p ews end --force s >out 2>err &&
		if test $method = in-place; then
			test_grep "Status: Verified" out && state_of $p >got && test_cmp before got
		else
			test_path_is_missing "$ws" && state_of $p >got && test_cmp before got
		fi && git -C $p ews list >list && test_must_be_empty list &&
		git -C $p ews undo s && git -C $p ews list >list && test_grep "^s *active" list &&
		if test $method = in-place; then git -C $p ews undo s; fi && state_of "$ws" >got && test_cmp work got && git -C $p ews end --force s
	'
done

test_expect_success 'P1: the project is what it was, but for what was done in place' '
	for p in worktree-git snapshot-git; do
		git -C $p fsck --strict --no-dangling && git -C $p config --list --local >out && test_grep ! ews out || return 1
	done
'

test_expect_success 'P9: a copy has no program, remote or credential of the project in its config, and runs none' '
	test_repo hostile && (
		cd hostile && git config core.fsmonitor "touch \"$PWD/ran\"" && git config core.hooksPath hooks && git config remote.origin.url https://user:secret@example.com/x &&
			git config credential.helper "!touch \"$PWD/ran\"" && git config diff.external "touch ran" && git config diff.odd.textconv "touch ran" &&
			git config diff.odd.xfuncname "^x" && git config merge.odd.driver "touch ran" && git config alias.x "!touch ran" && git config filter.f.clean "touch ran" &&
			git config merge.conflictStyle diff3 && git config user.name "Some \"Body\"" && git config include.path ../more && git config diff.algorithm patience
	) && start_ws hostile --method snapshot h && git config --file "${ws:?}/.git/config" --list >got &&
	for word in fsmonitor hookspath remote secret credential external textconv driver alias filter include; do test_grep ! $word got || return 1; done &&
	test_grep "^user.name=Some \"Body\"\$" got && test_grep "^merge.conflictstyle=diff3" got && test_grep "^diff.algorithm=patience" got && test_grep "^diff.odd.xfuncname" got &&
	test_path_is_missing hostile/ran && git -C hostile ews end h
'

test_expect_success 'a copy is a repository of its own: what is committed there stays there, and is in the snapshot' '
	test_repo own && start_ws own --method snapshot o && git -C own for-each-ref refs/heads refs/tags >before &&
	(cd "${ws:?}" && git checkout -q -b mine && echo 1 >one && git add one && git commit -qm one && git branch -f main) &&
	git -C own for-each-ref refs/heads refs/tags >after && test_cmp before after && test_must_fail git -C own cat-file -e "$(git -C "$ws" rev-parse mine)" &&
	commit=$(git -C "$ws" rev-parse mine) && git -C own ews snapshot create o && git -C own cat-file -e "$commit" && git -C own gc -q --prune=now && git -C own cat-file -e "$commit" &&
	git -C own ews revert o >out && test_grep "Status: Verified" out && git -C own ews undo o && test "$(git -C "$ws" rev-parse HEAD)" = "$commit" && git -C own ews end o
'

# head_of <session>: where a snapshot of it says that HEAD stood
head_of() {
	head_snap=$(git -C branch ews snapshot create "$1") && git -C branch log -1 --format="%(trailers:key=Ews-Head,valueonly,separator=)" "refs/ews/snapshots/$head_snap"
}

test_expect_success 'P4: HEAD on a branch of the copy stands where that does, whatever the project has of the name' '
	test_repo branch && start_ws branch --method snapshot b && for on in mine main; do
		(cd "${ws:?}" && git checkout -q -B $on && echo $on >$on && git add $on && git commit -qm $on) && test "$(head_of b)" = "$(git -C "$ws" rev-parse HEAD)" && git -C "$ws" pack-refs --all && echo more >>"${ws:?}/$on" && test "$(head_of b)" = "$(git -C "$ws" rev-parse HEAD)" || return 1
	done && git -C branch branch fresh && git -C "$ws" symbolic-ref HEAD refs/heads/fresh && git -C "$ws" pack-refs --all && test "$(head_of b)" = unborn &&
	git -C branch rev-parse HEAD >outside && ln -s "$PWD/outside" "${ws:?}/.git/refs/heads/fresh" && test "$(head_of b)" = damaged && git -C branch ews end b &&
	start_ws branch w && git -C "$ws" commit -q --allow-empty -m own && git -C "$ws" update-ref refs/worktree/own HEAD && git -C "$ws" symbolic-ref HEAD refs/worktree/own && test "$(head_of w)" = "$(git -C "$ws" rev-parse HEAD)" && git -C branch ews end w
'

test_expect_success '--copy-objects of a shallow clone: what it has, and its history ends where that does' '
	test_repo deep && git clone -q --depth 1 "file://$PWD/deep" shallow && start_ws shallow --method snapshot --copy-objects sh && test_path_is_missing "${ws:?}/.git/objects/info/alternates" && git -C "$ws" fsck && git -C "$ws" rev-list HEAD >got && git -C shallow rev-list HEAD >want && test_cmp want got &&
	echo in >"${ws:?}/in" && git -C "$ws" add in && git -C "$ws" commit -qm in && git -C shallow ews snapshot create sh && git -C shallow cat-file -e "$(git -C "$ws" rev-parse HEAD)" && git -C shallow ews end sh
'

test_expect_success 'a copy of a project whose path has a line end in it borrows the objects as well' '
	dir=$(printf "line\nend") && test_repo "$dir" && start_ws "$dir" --method snapshot line && git -C "$ws" fsck && git -C "$ws" status --porcelain >got && test_must_be_empty got &&
	echo in >"${ws:?}/in" && git -C "$ws" add in && git -C "$ws" commit -qm in && head=$(git -C "$ws" rev-parse HEAD) && git -C "$dir" ews snapshot create line && git -C "$dir" cat-file -e $head && git -C "$dir" ews revert line >out && test_grep "Status: Verified" out && git -C "$ws" fsck && git -C "$dir" ews end line
'

test_expect_success '--copy-objects: the copy borrows nothing, and works when the project is gone' '
	test_repo whole && (cd whole && git tag -a -m t t1 && git branch b && echo staged >>src/log && git add src/log) && start_ws whole --method snapshot --copy-objects w &&
	test_path_is_missing "${ws:?}/.git/objects/info/alternates" && mv whole gone && git -C "$ws" fsck --strict && git -C "$ws" log --oneline t1 b && git -C "$ws" diff --cached >out &&
	test_grep staged out && git -C "$ws" checkout -q -b x && mv gone whole && echo "$PWD/whole/.git/objects" >"${ws:?}/.git/objects/info/alternates" &&
	test_expect_code 1 git -C whole ews diff w && git -C whole ews revert w >out && test_grep "Status: Verified" out && test_path_is_missing "${ws:?}/.git/objects/info/alternates" &&
	git -C whole ews end w && test_expect_code 129 git -C whole ews start --copy-objects
'

test_expect_success 'P5: no workspace and no artifact is put among the records of home, whoever says so' '
	test_repo victim && git -C victim ews start -q his >out && test_repo sly && h=$HOME/.superqode && sessions=${h:?}/working/victim/sessions && ls -A "${sessions:?}" >before && ln -s "${sessions:?}" in &&
	printf "qe:\n  workspace:\n    method: snapshot\n    location: \"%s\"\n  artifacts:\n    location: \"%s\"\n" "${sessions:?}" "${sessions:?}" >sly/superqode.yaml && git -C sly ews start one >out 2>err &&
	test_grep "workspace.location: doesn.t count: home keeps its records there" err && test_grep "artifacts.location: doesn.t count" err && git -C sly ews config accept -q >out && test_expect_code 129 git -C sly ews start two 2>err &&
	test_grep "^error: .*sessions/two. lies where git ews keeps its own records" err && test_grep "^hint: name a directory outside of" err && rm sly/superqode.yaml &&
	for place in "$PWD/in" "$PWD/in/new" "${h:?}/working/new" "${h:?}/store" "${h:?}/tmp/x" "${h:?}/.new-x"; do test_expect_code 129 git -C sly ews start --in "$place" two 2>err && test_grep "keeps its own records" err || return 1; done &&
	test_expect_code 129 git -C sly ews start --in "$h" hooks 2>err && test_path_is_missing "${h:?}/hooks" && git -C sly ews start --in "$h" two >out && git -C sly ews start --in "${h:?}/working/sly/qe" three >out && git -C sly ews end two && git -C sly ews end three &&
	ws=$(git -C sly ews path one) && echo x >"${ws:?}/new" && test_expect_code 129 git -C sly -c ews.artifacts.location="$PWD/in" ews end one 2>err && test_grep "sessions. lies where\|in. lies where" err && git -C sly ews end one && ls -A "${sessions:?}" >after && test_cmp before after && git -C victim ews end his
'

# the lock of ports is there while they are chosen
test_expect_success 'P5: likewise where home will keep them: each name that it comes to have' '
	test_repo early && git init -q --object-format=sha256 early-long && echo x >early-long/f && git -C early-long add f && git -C early-long commit -qm x && mkdir early-plain && h=$PWD/early-home && (
		SUPERQODE_HOME=$h && export SUPERQODE_HOME && start_ws early one && git -C early ews run one -- true && git -C early ews archive create && start_ws early-long one && start_ws early-plain one && start_ws early --in "$PWD/early-out" two &&
		echo "qe: {workspace: {method: snapshot, location: x}}" >early/superqode.yaml && git -C early ews config accept && git -C early ews guard install --global && ls -A "${h:?}" >names && git -C early ews guard uninstall --global
	) && test_line_count = 11 names && echo ports.lock >>names && while read -r name; do
		test_expect_code 129 git -C early ews --home "$PWD/early-new" start --in "$PWD/early-new/$name" two 2>err && test_grep "keeps its own records" err || return 1
	done <names
'

test_expect_success 'the place that is set for copies: not part of its own copy, and hidden from git' '
	test_repo placed && echo "qe: {workspace: {method: snapshot, location: .superqode/ws}}" >placed/superqode.yaml && git -C placed status --porcelain >before &&
	start_ws placed one && test "$ws" = "$PWD/placed/.superqode/ws/one" && test_path_is_missing "${ws:?}/.superqode" && git -C placed status --porcelain >after && test_cmp before after &&
	(cd "${ws:?}/src" && git ews path >"$HOME/path") && echo "$ws" >want && test_cmp want "${HOME:?}/path" && echo 1 >"${ws:?}/new" && start_ws -n ws2 placed two &&
	test_path_is_missing "${ws2:?}/new" && test_path_is_missing "${ws2:?}/.superqode" && git -C placed ews revert one >out && test_grep "Status: Verified" out &&
	git -C placed ews end one && test_path_is_missing "$ws" && git -C placed ews undo one && test_path_is_dir "$ws" && git -C placed ews end one && git -C placed ews end two &&
	test_expect_code 129 git -C placed ews start --in "$PWD/placed/ws" >out 2>err && test_grep inside err
'

test_expect_success 'P8: links that lead into the project are named' '
	test_repo linked && ln -s "$PWD/linked/src" linked/absolute && ln -s src linked/relative && ln -s /etc linked/elsewhere && start_ws linked l && test_grep "absolute.* leads into the project" err &&
	test_grep ! relative err && test_grep ! elsewhere err && git -C linked ews end l
'

test_expect_success 'P4: a repository of a copy that is damaged goes to trash whole, and is made anew' '
	start_ws own --method snapshot d && git -C "$ws" commit -q --allow-empty -m gone && rm -rf "${ws:?}/.git/objects" && git -C own ews revert d >out 2>err && test_grep "Status: Verified" out &&
	test_grep "moved to trash: .git" err && git -C "$ws" status --porcelain >out && test_must_be_empty out && git -C "$ws" fsck &&
	rm "${ws:?}/.git/objects/info/alternates" && test_expect_code 1 git -C own ews diff d && git -C own ews revert d >out && test_grep "Status: Verified" out &&
	git -C "$ws" log --oneline >out && test_line_count = 3 out && git -C own ews end d
'

test_expect_success 'P2: a config by which git reads no repository, or that of another directory, is written anew in a copy; the old one is kept' '
	start_ws own --method snapshot c && cp "${ws:?}/.git/config" usual && git -C "$ws" status >want && for how in "git config core.repositoryformatversion 1; git config extensions.x 1" "git config core.repositoryformatversion 2" "printf \"[extensions]\\nobjectformat = sha256\\n\" >>.git/config" "echo \"[garbage\" >.git/config" "git config core.bare true" "git config core.worktree /" "rm .git/config" "rm .git/config; mkdir .git/config"; do
		(cd "${ws:?}" && eval "$how") && echo edit >>"${ws:?}/src/main.c" && test_expect_code 1 git -C own ews diff c 2>err && test_grep "\\.git/config. was rewritten" err && git -C own ews revert c >out 2>err && test_grep "Status: Verified" out && git -C "$ws" status >got && test_cmp want got && cmp usual "${ws:?}/.git/config" &&
			case $how in "rm .git/config") test_grep ! "\\.git/config" err ;; *) test_grep "moved to trash: \\.git/config (of git, rewritten)" err && test_grep "1 path moved to trash whole: 1 file, [1-9]" err ;; esac || { echo >&2 "$how"; return 1; }
	done && test_grep "x = 1" "${ws:?}/.git/ews/bent/config.1" && git -C "$ws" config user.name agent && git -C "$ws" config extensions.worktreeConfig true && git -C "$ws" config core.repositoryformatversion 1 && cp "${ws:?}/.git/config" his && echo edit >>"${ws:?}/src/main.c" && git -C own ews diff c && git -C own ews revert c && cmp his "${ws:?}/.git/config" && git -C own ews undo c && git -C own ews end c
'

test_expect_success STRACE 'P2, P8: what can not be read of the repository of a copy just now is not called rewritten, and the settings of the agent stay' '
	start_ws own --method snapshot u && git -C "$ws" config user.signingkey MINE && git -C "$ws" remote add up /x && cp "${ws:?}/.git/config" his && cp "${ws:?}/.git/objects/info/alternates" borrows && for place in .git .git/objects/info; do
		for n in 1 2 3 4 5 6 7 8 9 10 11 12 13; do
			echo edit >>"${ws:?}/src/main.c" && { test_strace trace -P "${ws:?}/$place" -e trace=openat -e inject=openat:error=EMFILE:when=$n "$EWS_BIN/git-ews" -C own revert u >out 2>err || git -C own ews revert u >out || git -C own ews recover u --resume >out; } && test_grep ! "rewritten" err && cmp his "${ws:?}/.git/config" && cmp borrows "${ws:?}/.git/objects/info/alternates" && test_path_is_missing "${ws:?}/.git/ews/bent" || { echo >&2 "$place: $n"; return 1; }
			test $n -gt 1 || test_grep INJECTED trace || return 1
		done
	done && git -C own ews revert u >out && test_grep "Status: Verified" out && git -C own ews end u
'

test_expect_success 'a core.worktree of a copy that leads to the directory itself is no other one, and stays' '
	start_ws own --method snapshot t && for to in .. ../ ../src/.. "$ws"; do
		git config -f "${ws:?}/.git/config" core.worktree "$to" && cp "${ws:?}/.git/config" his && echo edit >>"${ws:?}/src/main.c" && git -C own ews status --json t >out && test_json_missing out ".sessions[0].tampered[0]" && git -C own ews diff --name-only t >out && test_grep "src/main.c" out &&
			(cd "${ws:?}/src" && git ews revert) >out && test_grep "Status: Verified" out && cmp his "${ws:?}/.git/config" || { echo >&2 "$to"; return 1; }
	done && git -C own ews undo t && for to in ../src ../.. ../none ""; do
		git config -f "${ws:?}/.git/config" core.worktree "$to" && test_expect_code 1 git -C own ews diff t 2>err && test_grep "\.git/config. was rewritten" err || { echo >&2 "$to"; return 1; }
	done && git -C own ews revert t >out && test_grep "Status: Verified" out && git -C own ews end t
'

test_expect_success 'what an undo leaves in trash is not called moved' '
	start_ws own s && rm "${ws:?}/.git" && git init -q "$ws" && git -C own ews revert s && git -C own ews undo s 2>err && test_grep "^warning: stays in trash: \\.git$" err && test_grep ! "moved to trash" err && git -C "$ws" status && git -C own ews end s
'

test_expect_success 'who works in place is alone' '
	test_repo alone && start_ws alone other && test_expect_code 1 git -C alone ews start --method in-place i >out 2>err && test_grep other err &&
	git -C alone ews list >list && test_grep ! "^i " list && git -C alone ews end other && git -C alone ews start --method in-place i &&
	test_expect_code 1 git -C alone ews start third >out 2>err && test_grep "session .i. (deep" err && git -C alone ews end i && start_ws alone third &&
	test_expect_code 1 git -C alone ews undo i 2>err && git -C alone ews end third && git -C alone ews undo i && git -C alone ews end i
'

test_expect_success 'P8: in place, what another home has in place is named, which no lock keeps out; nothing else is' '
	test_repo two-homes && git -C two-homes ews --home "$PWD/theirs" start --method in-place a >out && git -C two-homes ews --home "$PWD/third" start b >out 2>err && test_must_be_empty err && git -C two-homes ews start --method in-place c >out 2>err &&
	test_line_count = 1 err && test_grep "^note: session .a. of another home may be at work in place, too: .*; .git ews doctor. says more" err && test_expect_code 1 git -C two-homes ews doctor >out && test_grep "refs/ews/sessions/a" out && git -C two-homes ews end c &&
	git -C two-homes ews start d >out 2>err && test_must_be_empty err && git -C two-homes ews end d && git -C two-homes ews --home "$PWD/theirs" end a && git -C two-homes ews start --method in-place e >out 2>err && test_must_be_empty err && git -C two-homes ews end e && git -C two-homes ews --home "$PWD/third" end b
'

test_expect_success 'in place: branches are put back, other refs are named with what takes them back' '
	test_repo refs && git -C refs branch side && git -C refs for-each-ref refs/heads >before && git -C refs ews start --method in-place r &&
	(cd refs && echo 1 >one && git add one && git commit -qm one && git branch -f side && git branch fresh HEAD~ && git checkout -q --detach) &&
	git -C refs ews revert r >out 2>err && test_grep "Status: Verified" out && test_grep "git update-ref refs/heads/side" err && test_grep "git update-ref -d refs/heads/fresh" err &&
	sed -n "s/.*this takes it back: git/git/p" err >commands && test_line_count = 2 commands && (cd refs && sh ../commands) &&
	git -C refs for-each-ref refs/heads >after && test_cmp before after && git -C refs symbolic-ref HEAD >out && echo refs/heads/main >want && test_cmp want out &&
	git -C refs ews undo r && git -C refs log --oneline -1 >out && test_grep one out && git -C refs ews end r && git -C refs for-each-ref refs/heads/main >out && grep "refs/heads/main" before >want && test_cmp want out
'

# run_commands <file>: run in the project "later" what it says takes refs back
run_commands() {
	sed -n "s/.*moved since the start; this takes it back: git/git/p" "$1" >commands && (cd later && sh -e ../commands)
}

test_expect_success 'P2: in place, back at a later state, no hint moves the branch that HEAD is on from where that state has it; the others are of the start' '
	test_repo later && git -C later branch side && start=$(git -C later rev-parse main) && git -C later ews start --method in-place l && (cd later && echo 1 >one && git add one && git commit -qm one && git branch -f side) && one=$(git -C later rev-parse main) && (cd later && git ews snapshot create) >id &&
	(cd later && git checkout -qb work && echo 2 >two && git add two && git commit -qm two) && two=$(git -C later rev-parse work) && (cd later && git ews snapshot create) >id2 && (cd later && git checkout -q main && echo 3 >three && git add three && git commit -qm three) &&
	git -C later ews revert --to "$(cat id2)" l >out 2>err && test_grep "Status: Verified" out && test_grep ! "refs/heads/work" err && run_commands err && test_line_count = 2 commands && git -C later status --porcelain >st && test_must_be_empty st && test "$(git -C later rev-parse HEAD work main side)" = "$(printf "%s\n" $two $two $start $start)" &&
	git -C later ews undo l && git -C later branch -f side main && git -C later ews revert --json --dry-run --to "$(cat id)" l >json && test_json_count json .ref_commands 2 && test_grep ! "update-ref refs/heads/main" json && git -C later ews revert l -- one 2>err && test_grep ! "refs/heads/main" err && git -C later ews undo l &&
	git -C later ews revert --to "$(cat id)" l >out 2>err && test_grep "Status: Verified" out && test_grep ! "refs/heads/main" err && test_grep "is new since the start, and alone holds what this shows: git log refs/heads/work --" err && run_commands err && test_line_count = 1 commands && git -C later status --porcelain >st && test_must_be_empty st &&
	test "$(git -C later rev-parse HEAD main side)" = "$(printf "%s\n" $one $one $start)" && git -C later symbolic-ref HEAD >out && test_grep "^refs/heads/main$" out && git -C later ews end l 2>err && test "$(git -C later rev-parse HEAD main)" = "$(printf "%s\n" $start $start)" && git -C later status --porcelain >st && test_must_be_empty st
'

# <repository>: where the branch "main" is, and HEAD
heads() {
	git -C "$1" rev-parse refs/heads/main && git_dir=$(git -C "$1" rev-parse --absolute-git-dir) && cat "${git_dir:?}/HEAD"
}

test_expect_success 'P4: in place a branch that HEAD has left is put back and named: undo brings back where it was, whatever gc does, and redo puts it back again' '
	for how in "git commit -qam work && git checkout -q --detach HEAD~" "git checkout -qb agent && git branch -qf main main~" "git checkout -qb agent && git commit -qam work && git branch -qf main agent"; do
		for verb in revert end; do
			test_when_finished "rm -rf left" && test_repo left && git -C left commit -q --allow-empty -m more && heads left >base && git -C left ews start --method in-place s && (cd left && echo work >>src/main.c && eval "$how") && heads left >work &&
				was=$(head -1 base) now=$(head -1 work) && git -C left ews revert --dry-run s 2>err && test_grep "^warning: .refs/heads/main. goes from $now back to $was$" err && heads left >out && test_cmp work out &&
				git -C left ews $verb s >out 2>err && test_grep "Status: Verified" out && test_grep "^warning: .refs/heads/main. goes from $now back to $was$" err && heads left >out && test_cmp base out &&
				git -C left branch -D agent >out 2>err; git -C left reflog expire --expire=now --all && git -C left gc -q --prune=now && { test $verb = revert || git -C left ews undo s; } &&
				git -C left ews undo --json s >out && test_json out ".branches[0]" "'\''refs/heads/main'\'' goes from $was back to $now" && heads left >out && test_cmp work out && git -C left log -1 main &&
				git -C left ews undo --redo s 2>err && test_grep "goes from $now back to $was$" err && heads left >out && test_cmp base out && git -C left ews undo s && heads left >out && test_cmp work out &&
				git -C left ews end s && heads left >out && test_cmp base out && git -C left fsck --strict --no-dangling && rm -rf left || { echo >&2 "$how: $verb"; return 1; }
		done
	done
'

test_expect_success 'P4: in place: a branch that somebody went on with since stays where it is at undo, and that is said' '
	test_repo went && git -C went ews start --method in-place s && (cd went && git commit -q --allow-empty -m work && git checkout -q --detach HEAD~) && heads went >work && git -C went ews revert s && git -C went checkout -q --detach && git -C went branch -f main HEAD~ && his=$(git -C went rev-parse main) &&
	git -C went ews undo s 2>err && test_grep "^warning: .refs/heads/main. was at $(head -1 work), and stays at $his: it has moved on since$" err && echo "$his" >want && git -C went rev-parse main >out && test_cmp want out &&
	git -C went ews undo --redo s && git -C went ews undo s && git -C went rev-parse main >out && test_cmp want out && git -C went branch -f main "$(head -1 work)" && git -C went ews revert s && git -C went checkout -q --detach && git -C went branch -D main &&
	git -C went ews undo s 2>err && test_grep "goes from nowhere back to $(head -1 work)$" err && heads went >out && test_cmp work out && git -C went ews end s
'

test_expect_success 'P1: in place: a branch that HEAD is on at undo, and leaves by it, stays where somebody went on with it' '
	test_repo headed && git -C headed ews start --method in-place s && (cd headed && echo work >>src/main.c && git commit -qam work && git checkout -qb agent && echo more >>src/main.c && git commit -qam more) && heads headed >work && git -C headed ews end s && echo person >>headed/run.sh && git -C headed commit -qam person && his=$(git -C headed rev-parse main) &&
	git -C headed ews undo s && git -C headed ews undo s 2>err && test_grep "^warning: .refs/heads/main. was at $(head -1 work), and stays at $his: it has moved on since$" err && { echo "$his" && tail -1 work; } >want && heads headed >out && test_cmp want out && git -C headed status --porcelain >out && test_must_be_empty out &&
	git -C headed ews undo --redo s && { echo "$his" && echo "ref: refs/heads/main"; } >want && heads headed >out && test_cmp want out && git -C headed ews end s
'

test_expect_success 'P1: in place a branch that HEAD has left, and another work tree stands on, is not moved beneath that' '
	test_repo shared && git -C shared worktree add -q ../shared-own && git -C shared-own ews start --method in-place s && (cd shared-own && git checkout -qb agent && echo agent >>src/main.c && git commit -qam agent) && git -C shared checkout -q shared-own && echo person >>shared/src/main.c && git -C shared commit -qam person &&
	git -C shared rev-parse HEAD >his && heads shared-own >work && for verb in revert "revert --dry-run" "end --force"; do
		test_expect_code 1 git -C shared-own ews $verb s 2>err && test_grep "cannot put .refs/heads/shared-own. back: the work tree .$PWD/shared. stands on it" err && test_grep "^hint: nothing was changed; .git checkout -b <other name>. there " err && heads shared-own >out && test_cmp work out &&
		git -C shared rev-parse HEAD >out && test_cmp his out && git -C shared status --porcelain >out && test_must_be_empty out || { echo >&2 "$verb"; return 1; }
	done && git -C shared-own ews recover --all >said && test_grep "an end that did not come about left artifacts" said && git -C shared-own ews recover --all 2>err && test_grep "nothing is interrupted" err && git -C shared config branch.shared-own.remote origin && git -C shared reflog show shared-own >reflog && git -C shared checkout -qb person && git -C shared-own ews end s >out && test_grep "Status: Verified" out &&
	echo refs/heads/shared-own >want && git -C shared-own symbolic-ref HEAD >out && test_cmp want out && git -C shared rev-parse HEAD >out && test_cmp his out && git -C shared status --porcelain >out && test_must_be_empty out && git -C shared-own ews undo s && git -C shared-own ews undo s && heads shared-own >out && test_cmp work out && git -C shared-own ews end s && test "$(git -C shared config branch.shared-own.remote)" = origin && git -C shared reflog show shared-own | grep -c . >out && test "$(cat out)" -ge "$(grep -c . reflog)"
'

test_expect_success 'P1: nor where nobody can read just now on what that work tree stands' '
	test_repo seen && git -C seen worktree add -q ../seen-own && git -C seen-own ews start --method in-place s && (cd seen-own && git checkout -qb agent && echo agent >>src/main.c && git commit -qam agent) && git -C seen checkout -q seen-own && echo person >>seen/src/main.c && git -C seen commit -qam person &&
	git -C seen rev-parse HEAD >his && look=0 && while test_more_looks; do
		test_look EIO "/seen/[.]git(/HEAD|/worktrees)?$" -C seen-own revert s >out 2>err && test $code != 0 && git -C seen rev-parse HEAD >out && test_cmp his out || return 1
	done && test $look -gt 2 && git -C seen checkout -qb person && git -C seen-own ews end s
'

test_expect_success 'in place: a work tree that is gone keeps no branch from being put back; one that is locked may only be away' '
	test_repo away && git -C away ews start --method in-place s && (cd away && echo work >>src/main.c && git commit -qam work && git checkout -qb agent && git worktree add -q ../away-w main) && rm -r away-w && git -C away worktree lock ../away-w && test_expect_code 1 git -C away ews end s 2>err && test_grep "the locked work tree .$PWD/away-w. stands on it" err && git -C away worktree unlock ../away-w && was=$(git -C away rev-parse main) &&
	git -C away ews end s >out && test_grep "Status: Verified" out && echo refs/heads/main >want && git -C away symbolic-ref HEAD >out && test_cmp want out && git -C away ews undo s && git -C away ews undo s 2>err && test_grep "goes from .* back to $was$" err && git -C away ews end s
'

test_expect_success 'in place: the work tree that stands on a branch is named by its own path, not by that of the repository' '
	test_repo separate && git -C separate init -q --separate-git-dir=../separate.git && git -C separate worktree add -q -b side ../separate-w && git -C separate-w ews start --method in-place s && git -C separate-w commit -q --allow-empty -m work && git -C separate-w checkout -q --detach && git -C separate checkout -q side &&
	test_expect_code 1 git -C separate-w ews end s 2>err && test_grep "the main work tree of .$PWD/separate.git. stands on it" err && git -C separate config core.worktree ../separate && test_expect_code 1 git -C separate-w ews end s 2>err && test_grep "the work tree .$PWD/separate. stands on it" err && git -C separate checkout -qb other && git -C separate-w ews end s
'

test_expect_success 'in place: no work tree stands on the branch that a bare repository names' '
	test_repo kernel && git clone -q --bare kernel kernel.git && git -C kernel.git worktree add -q ../hull main && git -C hull commit -q --allow-empty -m more && heads hull >base && git -C hull ews start --method in-place s && git -C hull checkout -qb agent && git -C hull branch -qf main main~ &&
	git -C hull ews end s >out && test_grep "Status: Verified" out && heads hull >out && test_cmp base out
'

test_expect_success 'P1: in place: nor where its config says nothing of it; one that a work tree leads to has that all the same' '
	for unsaid in core.repositoryformatversion core.bare; do
		rm -rf kernel kernel.git hull && test_repo kernel && git clone -q --bare kernel kernel.git && git -C kernel.git config --unset $unsaid && git -C kernel.git worktree add -q ../hull main && git -C hull commit -q --allow-empty -m more && heads hull >base && git -C hull ews start --method in-place s && git -C hull checkout -qb agent && git -C hull update-ref refs/heads/main main~ &&
		git -C hull ews end s >out && test_grep "Status: Verified" out && heads hull >out && test_cmp base out || { echo >&2 $unsaid; return 1; }
	done &&
	test_repo moored && git -C moored init -q --separate-git-dir ../moored.git && git --git-dir=moored.git config --unset core.bare && git -C moored worktree add -q ../moored-own && git -C moored-own ews start --method in-place s && (cd moored-own && git checkout -qb agent && git commit -q --allow-empty -m agent) && git -C moored checkout -q moored-own && git -C moored commit -q --allow-empty -m person && heads moored >work &&
	test_expect_code 1 git -C moored-own ews end s 2>err && test_grep "cannot put .refs/heads/moored-own. back" err && heads moored >out && test_cmp work out
'

# A session in place has its work tree for a workspace, and is nothing to the others of the repository
test_expect_success 'P8: in place in one work tree: shown as it is in every other, passed by, and sent back by what would need it' '
	test_repo trees && git -C trees worktree add -q -b w ../trees-w && git -C trees-w ews start --method in-place ip && echo edit >>trees-w/src/main.c && git -C trees ews list >out && test_grep "^ip *active " out && git -C trees ews status >out && test_grep "ip *active *1 file" out && test_grep ! "project:\|problem:" out && git -C trees ews status --json ip >out && test_json out ".sessions[0].changes.total_changes" 1 && test_json out ".sessions[0].project_changed" false &&
	git -C trees ews doctor >out && test_grep ! "session .ip." out && git -C trees ews recover --all 2>err && test_grep "nothing is interrupted" err && for verb in recover "recover --revert" "end --force" diff revert path; do
		test_expect_code 128 git -C trees ews $verb ip >out 2>err && test_must_be_empty out && test_grep "session .ip. works in another work tree itself: .$PWD/trees-w" err && test_grep "^hint: change to it" err || { echo >&2 "$verb"; return 1; }
	done && (cd trees && git ews snapshot create) >out && test "$(git -C trees log -1 --format="%(trailers:key=Ews-Session,valueonly,separator=)" refs/ews/snapshots/$(cat out))" = "" &&
	test_expect_code 1 git -C trees ews start no 2>err && test_grep "no quick lock beside session .ip." err && git -C trees ews lock release ip && test_expect_code 125 git -C trees ews run ip -- true && git -C trees ews start m && git -C trees ews end m && git -C trees ews start --method in-place both && echo mine >>trees/src/main.c && git -C trees ews revert both && git -C trees status --porcelain >out && test_must_be_empty out && test_expect_code 1 git -C trees ews start --method in-place third 2>err && test_grep "beside session .both." err && git -C trees ews end both &&
	git -C trees-w ews revert ip >out && test_grep "Status: Verified" out && git -C trees-w ews end ip && git -C trees-w ews start --method in-place gone && rm -r trees-w && git -C trees ews list >out && test_grep "^gone *active" out && git -C trees ews recover --all 2>err && test_grep "nothing is interrupted" err && git -C trees worktree prune && git -C trees ews end gone
'

# anew <dir>: what git has of the linked worktree there was made after all that is recorded
anew() {
	GIT_COMMITTER_DATE="@$(($(date +%s) + 60)) +0000" git -C stood worktree add -q "../${1:?}" -b "$2" && touch -d "now + 1 minute" "stood/.git/worktrees/${1:?}/commondir"
}

test_expect_success 'P8: in place in a work tree that was moved away, or made anew: another one in its place is not taken for it' '
	test_repo stood && git -C stood worktree add -q ../stood-w -b w && (cd stood-w && git ews start --method in-place ip) && echo agent >>stood-w/run.sh && git -C stood worktree move ../stood-w ../stood-m && git -C stood worktree add -q ../stood-w -b new && echo mine >>stood-w/run.sh && echo draft >stood-w/draft && cp stood-w/run.sh mine && for verb in revert end "end --force" diff; do
		test_expect_code 128 git -C stood-w ews $verb ip >out 2>err && test_must_be_empty out || { echo >&2 "$verb"; return 1; }
	done && test_cmp mine stood-w/run.sh && echo draft | test_cmp - stood-w/draft && test_grep agent stood-m/run.sh && git -C stood ews lock release ip && (cd stood-w && git ews start --method in-place own) && git -C stood-w ews end own && test_cmp mine stood-w/run.sh && git -C stood-m ews diff ip >patch && test_grep "^+agent" patch && git -C stood-m ews end ip && git -C stood-m status --porcelain >out && test_must_be_empty out &&
	git -C stood worktree add -q ../stood-a -b a && (cd stood-a && git ews start --method in-place gone) && rm -r stood-a && git -C stood worktree prune && anew stood-a b && echo mine >>stood-a/run.sh && cp stood-a/run.sh mine && for verb in revert "snapshot create" diff; do
		for at in stood-a stood; do
			test_expect_code 1 git -C $at ews $verb gone >out 2>err && test_must_be_empty out && test_grep "the work tree of session .gone. is gone" err || { echo >&2 "$verb in $at"; return 1; }
		done
	done && for at in stood-a stood; do
		git -C $at ews end gone >out 2>err && test_grep "Kept: nothing" out && test_grep "its work tree is gone" err && git -C $at ews undo gone || return 1
	done && git -C stood ews clean --force gone && test_cmp mine stood-a/run.sh && git -C stood-a status --porcelain >out && echo " M run.sh" >want && test_cmp want out
'

# The date of the log is what GIT_COMMITTER_DATE says: as reproducible builds have it, or as a script that asked once for the time.
test_expect_success 'P1: in place, and what was applied: a work tree that was made anew with the date of the former one is not taken for it' '
	for date in "2024-01-01T00:00:00Z" "$(date +%s) +0000"; do
		rm -rf dated dated-w && test_repo dated && echo mine >>dated/run.sh && git -C dated diff >patch && git -C dated checkout -q run.sh && export GIT_COMMITTER_DATE="$date" && git -C dated worktree add -q ../dated-w -b w && git -C dated-w ews apply "$PWD/patch" && (cd dated-w && git ews start --method in-place ip) && echo agent >>dated-w/src/main.c && git -C dated worktree remove --force ../dated-w && git -C dated worktree add -q ../dated-w w && unset GIT_COMMITTER_DATE && touch -d "now + 3 seconds" dated/.git/worktrees/dated-w/commondir &&
		echo mine >>dated-w/run.sh && echo draft >dated-w/draft && cp dated-w/run.sh mine && for verb in revert undo "undo ip"; do
			test_must_fail git -C dated-w ews $verb 2>err || { echo >&2 "$verb"; return 1; }
		done && git -C dated-w ews end --force ip >out 2>err && test_grep "its work tree is out of reach" err && test_cmp mine dated-w/run.sh && echo draft | test_cmp - dated-w/draft || return 1
	done
'

test_expect_success 'in place: a copy of the repository without its times has the work tree still; where no log says so either only --force ends it' '
	for log in true false; do
		rm -rf times times-w && test_repo times && git -C times -c core.logAllRefUpdates=$log worktree add -q ../times-w -b w && (cd times-w && git ews start --method in-place ip) && echo agent >>times-w/run.sh && cp -r times copy && touch -d "now + 5 minutes" copy/.git/worktrees/times-w/commondir && rm -r times && mv copy times &&
		if $log; then git -C times-w ews diff ip >out && test_grep "^+agent" out && git -C times-w ews end ip && git -C times-w diff --exit-code && git -C times-w ews undo ip && git -C times-w ews end -q ip
		else test_expect_code 1 git -C times-w ews end ip 2>err && test_grep "out of reach" err && git -C times-w ews end --force ip && test_grep agent times-w/run.sh; fi || return 1
	done
'

# in_lost <project>: a session in place, of a work tree that is gone by now; it has a snapshot, and one of before a revert
in_lost() {
	# shellcheck disable=SC2094 # one after the other
	git -C "$1" worktree add -q "../$1-w" -b w && git -C "$1-w" ews start --method in-place ip >out && echo agent >>"${1:?}-w/run.sh" && (cd "$1-w" && git ews snapshot create ip) >snap && git -C "$1-w" ews revert ip >out && echo more >>"${1:?}-w/run.sh" && git -C "$1" ews status --json ip >status && base=$(json status ".sessions[0].snapshot_id") && rm -r "${1:?}-w"
}

test_expect_success 'in place in a work tree that is gone: the record ends, wherever that is called, and what it has kept stays' '
	test_repo lost && in_lost lost && git -C lost worktree prune && test_fingerprint lost >before && git -C lost ews status ip >out && test_grep "Problem: *session .ip.: its work tree is gone" out && test_expect_code 1 git -C lost ews doctor >out && test_grep "do: git ews end --force ip" out && for verb in revert diff apply "report --output -"; do
		git -C lost ews $verb ip >out 2>err; test_grep "the work tree of session .ip. is gone: .$PWD/lost-w" err || { echo >&2 "$verb"; return 1; }
	done && for verb in "path ip" path "trust status ip" "trust status"; do
		test_expect_code 1 git -C lost ews $verb >out 2>err && test_must_be_empty out && test_grep "the work tree of session .ip. is gone: .$PWD/lost-w" err && test_grep "^hint: .git ews end ip. ends the session" err || { echo >&2 "$verb"; return 1; }
	done && test_expect_code 128 git -C lost ews epoch check ip >out && test_expect_code 125 git -C lost ews run ip -- true && git -C lost ews end --dry-run ip >out && test_grep "would end" out && git -C lost ews status --json ip >out && test_json out ".sessions[0].state" active &&
	git -C lost ews end ip >out 2>err && test_grep "Kept: nothing, for it has no work tree any more" out && test_grep "its work tree is gone; its snapshots are kept, its base as $base" err && test_fingerprint lost >after && test_cmp before after && git -C lost ews undo --list >list && test_grep "done *end *ip" list && git -C lost ews snapshot list --trash >list && test_grep "$base" list && git -C lost ews snapshot show "$(cat snap)" >out && git -C lost ews start m >out &&
	git -C lost ews undo ip >out && test_grep ! "Workspace" out && git -C lost ews list >list && test_grep "^ip *active" list && git -C lost ews undo --redo ip && git -C lost ews undo ip && git -C lost ews end m && git -C lost ews clean ip >out && test_grep "its work tree is gone" out && git -C lost ews doctor && git -C lost ews undo ip &&
	git init -q -b main --separate-git-dir apart.git apart && (cd apart && echo a >a && git add a && git commit -qm a && git worktree add -q ../apart-w -b w) && git -C apart ews start --method in-place ip && echo agent >>apart/a && mv apart apart-m && git -C apart-m ews diff ip >out && test_grep "^+agent" out && rm -r apart-m && test_expect_code 1 git -C apart-w ews end ip 2>err && test_grep "the work tree of session .ip. is out of reach: .$PWD/apart" err && test_grep "^hint: .git ews end --force ip. ends" err && git -C apart-w ews clean >out && test_grep ! "^end" out && git -C apart-w ews end --force ip >out && test_grep "its work tree is out of reach" out
'

test_expect_success 'in place: one that was interrupted in a work tree, or a workspace, that is gone is recovered as far as that goes' '
	for how in --all "--revert ip"; do
		rm -rf half && test_repo half && in_lost half && interrupt_revert half ip && test_expect_code 1 git -C half ews recover $how 2>err && test_grep "its work tree is out of reach\|the work tree of session .ip. is out of reach" err && git -C half worktree prune && git -C half ews recover $how >out && test_grep "the interrupted revert stays as far as it came: its work tree is gone" out && git -C half ews end ip || return 1
	done && test_grep "its work tree is gone; its snapshots are kept" out &&
	start_ws half away && echo agent >>"${ws:?}/run.sh" && git -C half ews revert away && rm -rf "${ws:?}" && interrupt_revert half away && git -C half ews recover --all >out && test_grep "stays as far as it came: its workspace is gone" out && git -C half ews end away
'

test_expect_success 'in place: where files stand that no repository leads to any more, the end waits for --force, and leaves them' '
	for cut in "stray-w/.git" "stray/.git/worktrees/stray-w"; do
		case $cut in stray-w/*) word="out of reach" ;; *) word="none of the repository any more" ;; esac &&
		rm -rf stray stray-w && test_repo stray && git -C stray worktree add -q ../stray-w -b w && git -C stray-w ews start --method in-place ip && echo agent >>stray-w/run.sh && cp stray-w/run.sh mine && rm -r "${cut:?}" && for verb in end "end --dry-run" diff clean path "trust status"; do
			test_expect_code 1 git -C stray ews $verb ip 2>err && test_grep "$word" err || { echo >&2 "$verb"; return 1; }
		done && git -C stray ews end --force ip 2>err && test_grep "$word; its snapshots are kept" err && test_cmp mine stray-w/run.sh || return 1
	done
'

# away <command>...: while the disk that disk/w is on is not there
away() {
	mv disk off && "$@"
	set -- $?
	mv off disk && return "$1"
}

# aged <id>: its session has been left alone for days
aged() {
	home=$HOME/.superqode/working/disks && find "${home:?}/sessions/$1" -exec touch -h -d "-3 days" {} +
}

test_expect_success 'P4: in place in a work tree that is out of reach: no cleaning ends the session, nor does an end without --force, and back again it goes on' '
	test_repo disks && mkdir disk && git -C disks worktree add -q ../disk/w -b w && git -C disks worktree lock --reason portable ../disk/w && (cd disk/w && test_expect_code 137 git ews run --method in-place --guard off --keep -- sh -c "echo agent >>run.sh; kill -9 \$PPID") && git -C disks ews list >out && id=$(sed -n "s/ .*//p" out) && cp disk/w/run.sh agent &&
	test_expect_code 1 away git -C disks ews clean $id 2>err && test_grep "$id: its work tree is out of reach" err && away git -C disks ews clean >out 2>err && test_grep ! "^end" out && away git -C disks ews clean --force --dry-run $id >out && test_grep "its work tree is out of reach" out && test_expect_code 1 away git -C disks ews recover --revert $id 2>err && test_grep "the work tree of session .$id. is out of reach" err &&
	aged $id && away git -C disks ews clean --auto && git -C disk/w ews recover --resume $id && test_cmp agent disk/w/run.sh && git -C disk/w ews diff $id >out && test_grep "^+agent" out && for verb in end "end --dry-run" diff; do
		test_expect_code 1 away git -C disks ews $verb $id 2>err && test_grep "the work tree of session .$id. is out of reach: .$PWD/disk/w" err && test_grep "^hint: .*git worktree repair .*git ews end --force $id" err || { echo >&2 "$verb"; return 1; }
	done && test_expect_code 1 away git -C disks ews doctor >out && test_grep "its work tree is out of reach" out &&
	away git -C disks ews end --force $id >out 2>err && test_grep "Kept: nothing, for its work tree is out of reach" out && test_grep "its work tree is out of reach; its snapshots are kept" err && test_cmp agent disk/w/run.sh && git -C disk/w ews undo $id && git -C disk/w ews end $id >out && test_grep "Status: Verified" out && git -C disk/w status --porcelain >out && test_must_be_empty out
'

test_expect_success 'in place in a work tree that was moved by hand: asked there, the session has followed' '
	test_repo hand && git -C hand worktree add -q ../hand-w -b w && git -C hand-w ews start --method in-place ip && echo agent >>hand-w/run.sh && mv hand-w hand-m && git -C hand-m ews diff ip >out && test_grep "^+agent" out && git -C hand-m ews end ip >out && test_grep "Status: Verified" out && git -C hand-m worktree repair && git -C hand-m status --porcelain >out && test_must_be_empty out
'

test_expect_success 'P4: likewise where another repository, or another work tree, stands in its old place by now; asked elsewhere it is out of reach until git is told' '
	for how in clone empty swap apart; do
		rm -rf old old-w old-m old.git && if test $how = apart; then git clone -q --separate-git-dir old.git stood old-w && git -C old-w worktree add -q ../old -b main2; else test_repo old && git -C old worktree add -q ../old-w -b w; fi && echo run >old-w/mine && (cd old-w && git add mine && git commit -qm mine && git ews start --method in-place ip) && echo agent >>old-w/mine &&
		case $how in
		clone | apart) mv old-w old-m && git clone -q stood old-w ;;
		empty) mv old-w old-m && mkdir old-w ;;
		swap) git -C old worktree add -q ../old-m -b m && mv old-m t && mv old-w old-m && mv t old-w ;;
		esac && if test $how != apart; then
			for verb in revert end "end --dry-run"; do test_expect_code 1 git -C old ews $verb ip 2>err && test_grep "the work tree of session .ip. is out of reach" err && test_grep "git worktree repair" err || { echo >&2 "$how: $verb"; return 1; }; done
		fi && test_grep agent old-m/mine && git -C old-m ews diff ip >out && test_grep "^+agent" out && git -C old-m ews revert ip >out && test_grep "Status: Verified" out && git -C old-m ews undo ip && if test $how = clone; then git -C old worktree repair ../old-m && git -C old ews status ip >out && test_grep "Workspace: $PWD/old-m" out; fi &&
		git -C old-m ews end ip >out && test_grep "Status: Verified" out && git -C old-m status --porcelain >out && test_must_be_empty out || { echo >&2 "$how"; return 1; }
	done
'

test_expect_success 'P8: in place: asked in a copy of the work tree, the session is said to be in the one that it works in' '
	test_repo doubled && git -C doubled worktree add -q ../doubled-w -b w && git -C doubled-w ews start --method in-place ip && echo agent >>doubled-w/run.sh && cp -a doubled-w doubled-c && git -C doubled-c ews status >out && test_grep "^  ip *active" out && test_grep "$PWD/doubled-w$" out && for verb in end revert "end --force"; do
		test_expect_code 128 git -C doubled-c ews $verb ip 2>err && test_grep "session .ip. works in another work tree itself: .$PWD/doubled-w.$" err || return 1
	done && test_grep agent doubled-c/run.sh && git -C doubled-w ews end ip >out && test_grep "Status: Verified" out && git -C doubled-w diff --exit-code && test_grep agent doubled-c/run.sh
'

test_expect_success USERS 'P4: in place: what git has of the work tree is kept from an ordinary user: that is an error, and never gone' '
	mkdir kept && git clone -q stood kept/p && git -C kept/p worktree add -q ../w -b w && test_give_user kept && git config --global --add safe.directory "*" && test_as_user sh -c "cd kept/w && git ews start --method in-place s && echo agent >>run.sh" && for closed in worktrees worktrees/w worktrees/w/gitdir; do
		chmod 0 "kept/p/.git/$closed" && for verb in status end "end --force" diff; do
			test_as_user git -C kept/p ews $verb s >out 2>err; code=$? && cat out err >said && test_grep "Permission denied" said && test_grep ! "gone\|out of reach\|Session Ended\|end --force" said && test $code != 0 || { test $verb = status && test $code = 0; } || { echo >&2 "$closed: $verb"; return 1; }
		done && { test_as_user git -C kept/p ews doctor >out 2>&1 || :; } && test_grep ! "end --force" out && chmod 755 "kept/p/.git/$closed" || return 1
	done && test_as_user git -C kept/w ews diff s >out && test_grep "^+agent" out && test_as_user git -C kept/w ews end s >out && test_grep "Status: Verified" out
'

test_expect_success USERS 'P4: in place: where its own directory, one above that, or its .git is closed, the work tree is out of reach: the session ends by force alone' '
	mkdir shut shut/up && git clone -q stood shut/p && git -C shut/p worktree add -q ../up/w -b w && test_give_user shut && test_as_user sh -c "cd shut/up/w && git ews start --method in-place ip && echo agent >>run.sh" && for closed in up up/w up/w/.git; do
		test_as_user chmod 0 "shut/$closed" && for verb in end diff "end --dry-run" clean; do
			test_expect_code 1 test_as_user git -C shut/p ews $verb ip 2>err && test_grep "out of reach" err && test_grep ! "session .ip.: session" err || { echo >&2 "$closed: $verb"; return 1; }
		done && test_as_user git -C shut/p ews status ip >out && test_grep "its work tree is out of reach: .$PWD/shut/up/w" out && test_as_user git -C shut/p ews end --force ip >out && test_grep "Kept: nothing, for its work tree is out of reach" out && test_as_user chmod 755 "shut/$closed" && test_grep agent shut/up/w/run.sh && test_as_user git -C shut/up/w ews undo ip || return 1
	done && test_as_user git -C shut/up/w ews end ip >out && test_grep "Status: Verified" out
'

test_expect_success 'P1, P8: likewise where all that was within one second: neither its session nor its steps are the new one'"'"'s, which has its own' '
	test_repo soon && for n in 1 2 3; do
		git -C soon worktree add -q ../soon-w -b w$n && (cd soon-w && git ews start --method in-place done$n && echo agent >>run.sh && git ews end done$n && git ews start --method in-place ip$n && echo agent >>run.sh && git ews list) >out && test_grep "^ip$n *active" out && git -C soon worktree remove --force ../soon-w &&
		git -C soon worktree add -q ../soon-w w$n && (cd soon-w && { git ews lock release ip$n || :; }) && (cd soon-w && git ews start --method in-place new$n && echo mine >>run.sh && cp run.sh mine) && mv soon-w/mine mine && git -C soon-w ews list >out && test_grep "^new$n *active" out && for verb in revert diff apply; do
			test_must_fail git -C soon-w ews $verb ip$n >out 2>err && test_must_be_empty out && test_grep "the work tree of session .ip$n. is gone" err || { echo >&2 "$verb"; return 1; }
		done && test_expect_code 128 git -C soon-w ews undo done$n 2>err && test_cmp mine soon-w/run.sh && git -C soon-w ews end new$n && git -C soon-w diff --exit-code && git -C soon-w ews undo && git -C soon-w ews undo && test_cmp mine soon-w/run.sh && git -C soon-w ews end new$n && git -C soon-w ews end ip$n >out && test_grep "Kept: nothing" out && git -C soon-w diff --exit-code && git -C soon worktree remove --force ../soon-w || return 1
	done
'

test_expect_success 'in place: a branch that another keeps from coming back is named before anything is changed' '
	for pair in "main main/x" "a/b a" "a/b a/b/c" "a a/(b)"; do
		was=${pair% *} other=${pair#* } && case $other in *"("*) shown=".$other." ;; *) shown=$other ;; esac && rm -rf room && test_repo room && git -C room branch -m "$was" && git -C room ews start --method in-place r && git -C room branch -m spare && git -C room branch -m "$other" && echo work >>room/src/main.c && git -C room status -sb >before &&
			for verb in revert "revert --dry-run" "end --force"; do
				test_expect_code 1 git -C room ews $verb r 2>err && test_grep "cannot put .refs/heads/$was. back: .refs/heads/$other. is in its way" err && test_grep "git branch -m $shown <other name>" err && git -C room status -sb >after && test_cmp before after || return 1
			done &&
			git -C room ews recover --all >said && test_grep "an end that did not come about left artifacts" said && git -C room ews recover --all 2>err && test_grep "nothing is interrupted" err && git -C room branch -m spare &&
			git -C room ews revert r >out && test_grep "Status: Verified" out && echo "refs/heads/$was" >want && git -C room symbolic-ref HEAD >out && test_cmp want out && git -C room ews undo r && git -C room ews end r && git -C room symbolic-ref HEAD >out && test_cmp want out || return 1
	done
'

test_expect_success 'in place: where the work tree is stays said when git moves that to a config of the worktree' '
	test_repo part && git init -q whole && (cd whole && GIT_ALLOW_PROTOCOL=file git submodule -q add ../part sub && git commit -qm sub) && git_dir=$(git -C whole/sub rev-parse --absolute-git-dir) && git -C whole/sub config core.worktree >where &&
	for verb in revert end; do
		for own in : "printf \"[user]\n\tname = me\" >\"${git_dir:?}/config.worktree\""; do
			(cd whole/sub && eval "$own" && git ews start --method in-place s && git sparse-checkout set src && git config --worktree core.abbrev 12 && test_must_fail git config --file "${git_dir:?}/config" core.worktree) &&
				git -C whole/sub ews $verb s >out && test_grep "Status: Verified" out && git -C whole/sub config core.worktree >out && test_cmp where out && git --git-dir="$git_dir" status --porcelain >out && test_must_be_empty out &&
				test_must_fail git -C whole/sub config core.abbrev && test_must_fail git -C whole/sub config core.sparseCheckout &&
				if test "$own" != :; then test "$(git -C whole/sub config user.name)" = me; fi &&
				git -C whole/sub ews undo s && if test $verb = end; then git -C whole/sub ews undo s; fi && test "$(git -C whole/sub config core.abbrev)" = 12 && git -C whole/sub ews revert s >out && test_grep "Status: Verified" out && git -C whole/sub ews end s &&
				git -C whole/sub config core.worktree >out && test_cmp where out && git config --file "${git_dir:?}/config" --unset extensions.worktreeConfig && rm "${git_dir:?}/config.worktree" &&
				git config --file "${git_dir:?}/config" core.worktree "$(cat where)" || return 1
		done
	done
'

test_expect_success 'in place: what a config of the worktree says of another work tree goes' '
	test_repo elsewhere && git -C elsewhere ews start --method in-place s && mkdir other && git -C elsewhere config extensions.worktreeConfig true && git -C elsewhere config --worktree core.worktree ../../other &&
	git -C elsewhere ews revert s >out 2>err && test_grep "config.worktree. --unset-all core.worktree" err && test_grep "Status: Verified" out && test_path_is_missing elsewhere/.git/config.worktree && git -C elsewhere ews end s
'

test_expect_success 'P2: in place: whatever config says by now of the work tree, the session finds its way back, and says what takes that back' '
	for how in "core.worktree ../../other" "core.worktree ../../nowhere" "core.bare true"; do
		for verb in revert end; do
			rm -rf told && test_repo told && cp told/run.sh told.was && mkdir -p other && git -C told ews start --method in-place s && git -C told pack-refs --all && git -C told config $how && echo more >>told/run.sh && echo new >told/src/new &&
				(cd told/src && git ews diff s >../../patch 2>err && rm err && git ews status s && git ews snapshot create s && git ews $verb s) >out 2>err && test_grep "^+more" patch && test_grep "Status: Verified" out &&
				test_path_is_missing told/src/new && test_cmp told.was told/run.sh && test_must_fail ls other/* &&
				key=${how%% *} && sed -n "s/^warning: $key is .* To take that back: //p" err | sort -u >command && test_line_count = 1 command && (cd told && sh ../command) && { test $verb = revert || git -C told ews undo s; } && git -C told ews undo s && test "$(cat told/src/new)" = new &&
				git -C told ews end s >out && test_grep "Status: Verified" out && git -C told status --porcelain >out && test_must_be_empty out || return 1
		done
	done
'

test_expect_success 'P2: in place in a linked work tree: the same, and it follows to where that config has it when the repository is moved' '
	for value in ../../../../other ../../../../nowhere; do
		rm -rf own own-w && test_repo own && git -C own config extensions.worktreeConfig true && git -C own worktree add -q ../own-w -b w && cp own/run.sh told.was && mkdir -p other && git -C own-w ews start --method in-place s && echo more >>own-w/run.sh && git -C own-w config --worktree core.worktree $value && { git -C own-w ews doctor >out 2>err || test $? = 1; } && test_grep "^problem *core.worktree" out &&
		git -C own-w ews revert s >out 2>err && test_grep "Status: Verified" out && test_grep "^warning: core.worktree is .* To take that back" err && test_cmp told.was own-w/run.sh && test_must_fail ls other/* && git -C own-w ews end -q s || return 1
	done &&
	mkdir place && test_repo place/own && git -C place/own config extensions.worktreeConfig true && git -C place/own worktree add -q ../w -b w && cp -r place/w place/named && rm place/named/.git && git -C place/w config --worktree core.worktree ../../../../named && git -C place/w ews start --method in-place s && echo agent >>place/named/run.sh && echo mine >>place/w/run.sh && cp place/w/run.sh mine && mv place afar && git -C afar/own worktree repair "$PWD/afar/w" && git -C afar/own ews status >out 2>err && test_grep "$PWD/afar/named" out && git -C afar/w ews end s >out && test_grep "Status: Verified" out && test_cmp told.was afar/named/run.sh && test_cmp mine afar/w/run.sh
'

test_expect_success 'in place: a config of the work tree that git cannot read holds nobody from the session; the revert puts it back' '
	for broken in "[core]bare = perhaps" "[core]worktree"; do
		for at in odd odd-w; do
			rm -rf odd odd-w && test_repo odd && git -C odd config extensions.worktreeConfig true && git -C odd worktree add -q ../odd-w -b w && git_dir=$(git -C $at rev-parse --absolute-git-dir) && file="${git_dir:?}/config.worktree" && (cd $at && git ews start --method in-place s) && echo more >>"${at:?}/run.sh" && echo "$broken" >"${file:?}" && git -C $at ews end s >out && test_grep "Status: Verified" out && test_path_is_missing "$file" && git -C odd ews clean --now >out && echo "$broken" >"${file:?}" && test_must_fail git -C $at ews start no 2>err && test_grep "core\." err || { echo >&2 "$at: $broken"; return 1; }
		done
	done
'

test_expect_success 'P2: a clock that was set back, or that of another machine, makes no session of a living work tree gone; nor does a copy with new times' '
	test_repo skew && git -C skew worktree add -q ../skew-w -b w && g=skew/.git/worktrees/skew-w && late=$(($(date +%s) + 3600)) && touch -d "@$late" "${g:?}/commondir" && sed "s/> [0-9]* /> $late /" "${g:?}/logs/HEAD" >log && cp log "${g:?}/logs/HEAD" && git -C skew-w ews start --method in-place s && echo agent >>skew-w/run.sh && git -C skew-w ews revert s >out && test_grep "Status: Verified" out && git -C skew-w ews undo && test_grep agent skew-w/run.sh && git -C skew-w ews end s >out && test_grep "Status: Verified" out &&
	snap=$(git -C skew-w ews snapshot create) && git -C skew-w ews snapshot list >out && test_grep "$snap" out && start_ws skew-w x && echo x >"${ws:?}/x" && git -C skew-w ews apply x && git -C skew-w ews undo && test_path_is_missing skew-w/x && git -C skew-w ews end x &&
	git -C skew-w ews start --method in-place s && echo agent >>skew-w/run.sh && cp -r skew copied && rm -rf skew && mv copied skew && git -C skew-w ews end s >out && test_grep "Status: Verified" out && git -C skew-w diff --exit-code
'

test_expect_success 'P2: in place: where config says otherwise at the end the undo is found there as well, until what it needs has gone' '
	for how in "core.worktree ../../other" "core.worktree ../../nowhere" "core.bare true"; do
		rm -rf late && test_repo late && mkdir -p other && git -C late ews start --method in-place s && echo more >>late/run.sh && cp late/run.sh told.more && git -C late config $how && git -C late ews end s &&
			(cd late && git ews list --all && git ews report s --output -) >out 2>err && test_grep "^s  *ended" out && test_grep "^warning: ${how%% *} is .* where a session did that can be brought back\. To take that back" err &&
			git -C late ews recover --all && git -C late ews undo s && git -C late ews undo s && test_cmp told.more late/run.sh && git -C late ews list 2>err && test_grep "where a session does\." err &&
			git -C late ews end s && test_must_fail ls other/* && git -C late ews clean --now >out && { git -C late ews list --all >out 2>err || test "$how" = "core.worktree ../../nowhere"; } && test_grep ! "To take that back" err || return 1
	done
'

test_expect_success 'in place: what config says after the end holds, and the session is whole' '
	test_repo since && mkdir -p other && git -C since ews start --method in-place s && git -C since ews end s && git -C since config core.worktree ../../other &&
		(cd since && git ews list --all && git ews recover --all) >out 2>err && test_grep "^s  *ended" out && test_grep ! "To take that back" err && test_grep ! "is not the project" err
'

# <ref> <commit's subject> <what it leads to>
branches() {
	git -C "$1" for-each-ref --format="%(refname) %(subject) %(symref)" refs/heads && cat "${1:?}/.git/HEAD"
}

test_expect_success 'in place: a branch that is a symbolic ref moves what it leads to, and comes back so' '
	test_repo symbolic && git -C symbolic branch other && git -C symbolic symbolic-ref refs/heads/link refs/heads/main && git -C symbolic symbolic-ref HEAD refs/heads/link && branches symbolic >before &&
	git -C symbolic ews start --method in-place s && echo work >>symbolic/src/main.c && git -C symbolic commit -qam work && branches symbolic >moved && test_grep "refs/heads/main work" moved &&
	git -C symbolic ews revert s >out && test_grep "Status: Verified" out && branches symbolic >after && test_cmp before after && git -C symbolic ews undo s && branches symbolic >after && test_cmp moved after &&
	git -C symbolic ews end s >out && test_grep "Status: Verified" out && branches symbolic >after && test_cmp before after && git -C symbolic fsck --strict --no-dangling
'

test_expect_success 'in place: a branch that was made a symbolic ref is put back itself, and what it leads to stays' '
	for to in side same nowhere; do
		rm -rf made && test_repo made && git -C made branch same && branches made >before && git -C made ews start --method in-place s &&
			(cd made && git checkout -qb side && echo work >>src/main.c && git commit -qam work && git checkout -q main && git symbolic-ref refs/heads/main refs/heads/$to) &&
			git -C made ews revert s >out && test_grep "Status: Verified" out && branches made | grep -v "side work" >after && test_cmp before after && git -C made log --format=%s -1 side >out && echo work >want && test_cmp want out &&
			git -C made ews end s || return 1
	done
'

test_expect_success 'P2, P4: in place a branch that was a symbolic ref leads again where it led, both ways' '
	for how in "symbolic-ref refs/heads/a/link refs/heads/other" "update-ref --no-deref -d refs/heads/a/link" "update-ref --no-deref refs/heads/a/link HEAD"; do
		rm -rf leads && test_repo leads && git -C leads branch other HEAD~1 && git -C leads symbolic-ref refs/heads/a/link refs/heads/main && git -C leads symbolic-ref HEAD refs/heads/a/link && branches leads >before &&
			git -C leads ews start --method in-place s && git -C leads $how && branches leads >moved && git -C leads ews revert s >out 2>err && test_grep "Status: Verified" out && test_grep ! "led to" err && branches leads >after && test_cmp before after &&
			git -C leads ews undo s 2>err && test_grep ! "led to" err && branches leads >after && test_cmp moved after && git -C leads ews end s >out && branches leads >after && test_cmp before after && git -C leads fsck --strict --no-dangling || { echo >&2 "$how"; return 1; }
	done
'

test_expect_success 'P2, P4: in place a symbolic branch that led to what has moved since is put back itself, and it is said how it leads there again' '
	rm -rf leads && test_repo leads && git -C leads branch other && git -C leads symbolic-ref refs/heads/link refs/heads/main && git -C leads symbolic-ref HEAD refs/heads/link && git -C leads ews start --method in-place s && git -C leads commit -q --allow-empty -m work && git -C leads symbolic-ref refs/heads/link refs/heads/other && branches leads >moved &&
	git -C leads ews revert s >out 2>err && test_grep "Status: Verified" out && test_grep "^warning: .refs/heads/link. led to .refs/heads/main., which is not where it was: .git symbolic-ref refs/heads/link refs/heads/main. makes it lead there again$" err && test_must_fail git -C leads symbolic-ref -q refs/heads/link && test "$(git -C leads rev-parse link)" = "$(git -C leads rev-parse other)" && branches leads >reverted &&
	git -C leads ews undo s 2>err && test_grep ! "led to" err && branches leads >after && test_cmp moved after && git -C leads ews undo --redo s && branches leads >after && test_cmp reverted after && git -C leads ews end s
'

test_expect_success 'P2: in place a HEAD that leads in a circle, or whose branch does or is broken, is put back, and nothing is stuck' '
	for how in "symbolic-ref refs/heads/a refs/heads/b; symbolic-ref refs/heads/b refs/heads/a; symbolic-ref HEAD refs/heads/a" "symbolic-ref refs/heads/main refs/heads/b; symbolic-ref refs/heads/b refs/heads/main" \
		"symbolic-ref refs/heads/main refs/heads/main" junk empty packed link; do
		rm -rf circle && test_repo circle && git -C circle log --format="%H %s" >log && cp circle/.git/HEAD circle.HEAD && git -C circle status --porcelain >want && git -C circle ews start --method in-place s &&
			case $how in
			junk) echo junk >circle/.git/refs/heads/main ;;
			empty) : >circle/.git/refs/heads/main ;;
			link) ln -sf main circle/.git/refs/heads/main ;;
			packed) git -C circle update-ref refs/heads/main HEAD~1 && git -C circle pack-refs --all && echo junk >circle/.git/refs/heads/main ;;
			*) echo "$how" | tr ";" "\n" | while read -r words; do git -C circle $words || exit 1; done ;;
			esac && echo work >>circle/src/main.c && test_must_fail git -C circle rev-parse -q --verify HEAD && git -C circle ews revert s >out 2>err && test_grep "Status: Verified" out && test_cmp circle.HEAD circle/.git/HEAD && test_grep "HEAD was damaged" err &&
			git -C circle log --format="%H %s" >got && test_cmp log got && git -C circle status --porcelain >got && test_cmp want got && git -C circle ews undo s && test_must_fail git -C circle rev-parse -q --verify HEAD && git -C circle ews end s >out && test_grep "Status: Verified" out &&
			test_cmp circle.HEAD circle/.git/HEAD && git -C circle log --format="%H %s" >got && test_cmp log got && git -C circle status --porcelain >got && test_cmp want got || { echo >&2 "$how"; return 1; }
	done
'

test_expect_success 'P2: in place a branch without a commit that was made one leading in a circle is none again' '
	git init -q still && git -C still symbolic-ref HEAD refs/heads/main && echo 1 >still/f && git -C still ews start --method in-place s && git -C still symbolic-ref refs/heads/main refs/heads/b && git -C still symbolic-ref refs/heads/b refs/heads/main && echo 2 >still/f &&
	git -C still ews revert s >out && test_grep "Status: Verified" out && test_path_is_missing still/.git/refs/heads/main && git -C still status >out && test_grep "No commits yet" out && git -C still ews end s
'

test_expect_success 'P2: in place a branch without a commit that is broken since, or a circle of one, is cleared' '
	for how in "echo junk >.git/refs/heads/main" ": >.git/refs/heads/main" "git symbolic-ref refs/heads/main refs/heads/main" "ln -s main .git/refs/heads/main"; do
		git init -q none && git -C none symbolic-ref HEAD refs/heads/main && echo 1 >none/f && git -C none ews start --method in-place s && (cd none && eval "$how") && test_must_fail git -C none commit -q --allow-empty -m no &&
			git -C none ews revert s >out && test_grep "Status: Verified" out && test_path_is_missing none/.git/refs/heads/main && (cd none && eval "$how") && git -C none ews end s >out && test_grep "Status: Verified" out &&
			git -C none commit -q --allow-empty -m yes && rm -rf none || { echo >&2 "$how"; return 1; }
	done
'

test_expect_success 'where HEAD leads in a circle start says that it is damaged, whatever the method' '
	for method in in-place worktree snapshot; do
		git init -q "round-$method" && echo 1 >"round-${method:?}/f" && git -C "round-$method" symbolic-ref refs/heads/a refs/heads/b && git -C "round-$method" symbolic-ref refs/heads/b refs/heads/a && git -C "round-$method" symbolic-ref HEAD refs/heads/a &&
			test_expect_code 128 git -C "round-$method" ews start --method $method s 2>err && test_grep "HEAD of the project is damaged" err && git -C "round-$method" ews list >out && test_must_be_empty out || return 1
	done
'

# git itself finds no repository there any more
test_expect_success 'P2: in place a HEAD that is gone, garbage, a link to nowhere or a directory is named, and revert brings it back' '
	test_repo head && git -C head worktree add -q -b linked ../lhead && for p in head lhead; do
		git_dir=$(git -C $p rev-parse --absolute-git-dir) && cp "${git_dir:?}/HEAD" HEAD.want && git -C $p ews start --method in-place h && for how in : "echo garbage >" ": >" "ln -s /nowhere" "echo ref: refs/../x >" mkdir; do
			echo edit >>${p:?}/src/main.c && rm "${git_dir:?}/HEAD" && eval "$how \"\${git_dir:?}/HEAD\"" && git -C $p ews status >out && test_grep "project: HEAD" out && git -C $p ews diff --name-only >out && echo src/main.c | test_cmp - out &&
			git -C $p ews revert >out 2>err && test_grep "Status: Verified" out && test_grep "HEAD was damaged" err && cmp HEAD.want "${git_dir:?}/HEAD" && git -C $p status --porcelain >out && test_must_be_empty out || { echo >&2 "$p: $how"; return 1; }
		done && git -C $p ews undo && git -C $p ews undo --redo && git -C $p ews end h && cmp HEAD.want "${git_dir:?}/HEAD" || return 1
	done
'

test_expect_success 'where nobody has a base of it a HEAD that is gone, or garbage, is named' '
	test_repo unknown && rm unknown/.git/HEAD && for verb in status revert start; do
		test_expect_code 128 git -C unknown/src ews $verb >out 2>err && test_grep "unknown/.git. has no HEAD$" err && test_grep "^hint: .*ref: refs/heads/main" err || return 1
	done && echo garbage >unknown/.git/HEAD && test_expect_code 128 git -C unknown ews diff 2>err && test_grep "HEAD. names neither a branch nor a commit$" err
'

test_expect_success 'P4: in place: what a person changed since it was seen last is named and kept' '
	test_repo person && (cd person && git ews start --method in-place p && echo agent >agent && git ews snapshot create && echo person >person && echo both >>src/main.c &&
		git ews revert 2>"$HOME/err" >"$HOME/out") && test_grep "changed since then, and kept in trash: person" "${HOME:?}/err" && test_grep "src/main.c" "${HOME:?}/err" &&
	test_grep ! "trash: agent" "${HOME:?}/err" && test_path_is_missing person/person && git -C person ews undo && echo person >want && test_cmp want person/person && git -C person ews end
'

test_expect_success 'in place: --no-revert keeps the changes; git at work is waited for, not run over' '
	test_repo keep && git -C keep ews start --method in-place k && echo 1 >keep/one && git -C keep ews end --no-revert k && test_path_is_file keep/one &&
	git -C keep ews start --method in-place k && echo 2 >keep/two && : >keep/.git/index.lock && test_expect_code 1 git -C keep ews end k 2>err && test_grep index.lock err &&
	test_path_is_file keep/two && rm keep/.git/index.lock && git -C keep ews end k && test_path_is_missing keep/two && test_path_is_file keep/one
'

test_expect_success 'P4: while git holds the index no session begins in place: what is being committed would go back with its end' '
	git init -q hooked && echo one >hooked/one && git -C hooked add one && git -C hooked commit -qm one && echo "#!/bin/sh" >hooked/.git/hooks/pre-commit &&
	echo "env -u GIT_INDEX_FILE git ews run --new --method in-place --end -- true 2>../said; echo \$? >../code" >>hooked/.git/hooks/pre-commit && chmod +x hooked/.git/hooks/pre-commit &&
	echo two >hooked/one && git -C hooked commit -qam two && echo 125 >want && test_cmp want code && test_grep "^error: cannot start .*: git is at work in the project: .*/hooked/.git/index.lock. is there" said && test_grep "^hint: when no git runs there" said &&
	git -C hooked ews list >out && test_must_be_empty out && git -C hooked ews run --new --method in-place --end -- true && test "$(git -C hooked log --format=%s)" = "two
one"
'

test_expect_success 'P8: in a hook of a commit that has an index of its own the workspace has that one; a diff with nothing changed says nothing' '
	git init -q "named it" && mkdir "named it/d" && for f in a d/b c; do echo one >"named it/$f" || return 1; done && git -C "named it" add . && git -C "named it" commit -qm one && hook="named it/.git/hooks/pre-commit" &&
	cat >"$hook" <<-\EOF &&
	#!/bin/sh
	git diff --cached --name-only >"$OUT.want"
	git ews run --new ${method:+--method $method} -- sh -c "git diff --cached --name-only; env | grep ^GIT_INDEX_FILE" >"$OUT.got" 2>"$OUT.said"
	kept=$(git ews start ${method:+--method $method} kept 2>>"$OUT.said") && git ews diff kept >"$OUT.diff" && git ews status --json kept >"$OUT.json" &&
		echo more >>"${kept:?}/a" && git ews revert kept >"$OUT.revert" && git -C "$kept" diff --cached --name-only >"$OUT.after" && git ews end kept 2>>"$OUT.said"
	EOF
	chmod +x "$hook" && for method in "" snapshot; do
		for what in -a d/b; do
			for f in a d/b c; do echo "$what $method" >"named it/$f" || return 1; done && git -C "named it" add c &&
				OUT=$PWD/${method:-worktree} method=$method git -C "named it" commit -qm two "$what" && out=${method:-worktree} &&
				test_grep d/b "$out.want" && test_cmp "$out.want" "$out.got" && test_cmp "$out.want" "$out.after" && test_must_be_empty "$out.diff" &&
				test_grep "Status: Verified" "$out.revert" && test_grep ! GIT_INDEX_FILE "$out.said" || return 1
		done
	done
'

test_expect_success 'P8: an index that GIT_INDEX_FILE names elsewhere, or that is none, is left out and named; below the git directory are those of others' '
	at="$PWD/named it" && git -C "named it" commit -qnam rest && echo staged >"named it/a" && cp "named it/.git/index" elsewhere.index && git -C "named it" add a && ln -s ../../elsewhere.index "named it/.git/linked" && : >"named it/.git/void" && mkdir -p "named it/.git/below" && cp elsewhere.index "named it/.git/below/index" &&
	for file in "$PWD/elsewhere.index" .git/linked .git/void .git/missing .git/HEAD .git/below/index; do
		(cd "named it/d" && GIT_INDEX_FILE=$file git-ews start left >../../left.out 2>../../left.err) && test_grep "^note: the index that GIT_INDEX_FILE names was left out, and the project.s own taken: .*$(basename "$file")" left.err &&
			git -C "$(cat left.out)" diff --cached --name-only >out && echo a | test_cmp - out && git -C "named it" ews end left || return 1
	done && rm "named it/.git/linked" "named it/.git/void" && rm -r "named it/.git/below" && cp elsewhere.index "named it/.git/aside" &&
	for file in .git/index "${at:?}/.git/index" .git/aside; do
		(cd "named it/d" && GIT_INDEX_FILE=$file git-ews start taken >../../left.out 2>../../left.err) && test_grep ! GIT_INDEX_FILE left.err &&
			git -C "$(cat left.out)" diff --cached --name-only >out && case $file in *aside) test_must_be_empty out ;; *) echo a | test_cmp - out ;; esac && git -C "named it" ews end taken || return 1
	done
'

test_expect_success 'P4: so it does when it is done again: an end with --no-revert, and that of a round in the project' '
	test_repo again && git -C again ews start --method in-place k && echo 1 >again/one && git -C again ews end --no-revert k && git -C again ews undo k && echo 2 >again/two && git -C again ews undo --redo k && test_path_is_file again/one && test_path_is_file again/two && rm again/one again/two &&
	git -C again ews round start --agent l --mode legacy && echo 1 >again/one && git -C again ews round end --agent l && git -C again ews undo && git -C again ews undo --redo && test_path_is_file again/one && git -C again ews list >out && test_must_be_empty out
'

test_expect_success 'P8: in place: that an end takes two undos is said by both, and only where it does' '
	test_repo twice && git -C twice ews start --method in-place i && echo w >twice/f && git -C twice ews end i >out 2>err && test_path_is_missing twice/f &&
	test_grep "^note: .git ews undo i. opens it again, once more brings back what was in the project$" err &&
	git -C twice ews undo i >out 2>err && test_grep "^note: .git ews undo i. once more brings back what was in the project$" err && git -C twice ews undo i >out 2>err && test_grep ! "once more" err && echo w | test_cmp - twice/f &&
	git -C twice ews end --no-revert i 2>err && test_grep ! "once more" err && git -C twice ews undo i 2>err && test_grep ! "once more" err && git -C twice ews revert i 2>err && git -C twice ews end i 2>err && test_grep ! "once more" err && git -C twice ews undo i 2>err && test_grep ! "once more" err &&
	git -C twice ews run i --guard=off --end -- sh -c "echo w >f" 2>err && test_grep "^note: .*once more brings back" err
'

test_expect_success 'P8: in place a nested repository and a socket that were there stay, new ones go to trash' '
	test_repo nest && git init -q nest/old && echo 1 >nest/old/file && perl -MSocket -e "socket(S, PF_UNIX, SOCK_STREAM, 0) && bind(S, sockaddr_un(q(nest/sock))) or die" && git -C nest ews start --method in-place --nested=skip n 2>err && git init -q nest/new && perl -MSocket -e "socket(S, PF_UNIX, SOCK_STREAM, 0) && bind(S, sockaddr_un(q(nest/src/sock))) or die" && echo 2 >nest/new/file && echo 3 >nest/old/more &&
	git -C nest ews revert n >out 2>err && test_grep "Status: Verified" out && test_path_is_file nest/old/more && test_path_is_missing nest/new && test -S nest/sock && test_path_is_missing nest/src/sock && test_grep "not looked at: old" err &&
	git -C nest ews undo n && test_path_is_file nest/new/file && test -S nest/src/sock && git -C nest ews end n
'

test_expect_success 'a plain directory: found from below, refused where a repository is damaged, none of its own is made by looking' '
	plain_dir below && start_ws below b && (cd below/src/deep && git ews path >"$HOME/path") && echo "$ws" >want && test_cmp want "${HOME:?}/path" && git -C below ews end b &&
	plain_dir looked && test_expect_code 128 git -C looked ews status >out 2>err && test_expect_code 128 git -C looked ews diff 2>err && ls "${HOME:?}/.superqode/store" >stores && test_grep ! looked stores &&
	mkdir broken && mkdir broken/.git && test_expect_code 128 git -C broken ews status 2>err && test_grep "broken/.git. is no git directory" err && test_expect_code 128 git -C broken ews start 2>err && test_grep "no git directory" err &&
	test_expect_code 128 git -C below ews start --method worktree w 2>err && test_grep "no git repository" err && test_expect_code 129 git -C below ews start --base HEAD w
'

test_expect_success 'an ignored directory of a repository, and one that is not: each is found as what it is' '
	test_repo around && mkdir -p around/out/deep around/src/sub && echo 1 >around/out/deep/file && (cd around/out/deep && git ews start ign >"$HOME/path" 2>"$HOME/err") && take_ws "${HOME:?}/path" &&
	test_path_is_file "${ws:?}/file" && test_path_is_missing "${ws:?}/.git" && test_grep "project of its own" "${HOME:?}/err" && (cd around/out/deep && git ews list >"$HOME/list") && test_grep "^ign " "${HOME:?}/list" &&
	(cd around/src/sub && git ews start sub >"$HOME/path" && git ews list >"$HOME/list") && take_ws "${HOME:?}/path" && test_path_is_file "${ws:?}/src/main.c" && test_grep ! "^ign " "${HOME:?}/list" &&
	git -C around ews end sub && git -C around/out/deep ews end ign && mkdir -p below/inner && start_ws below/inner in && test_path_is_file "${ws:?}/run" && git -C below ews end in
'

test_expect_success 'P8: git init in a plain directory hides its sessions: that is said, and by what they come back' '
	plain_dir inited && git -C inited ews start --method in-place i && echo agent >inited/new && git init -q inited && test_expect_code 128 git -C inited ews revert i 2>err && test_grep "^error: no session .i." err && test_grep "^hint: .*no git repository.*inited/.git. has another name" err &&
	{ git -C inited ews doctor >out || :; } && test_grep "^warning *moved *session .i. began when .*/inited. was no git repository" out && test_grep "do: give .*/inited/.git. another name" out && mv inited/.git was.git && git -C inited ews revert i && test_path_is_missing inited/new && git -C inited ews end i &&
	mv was.git inited/.git && { git -C inited ews doctor >out || :; } && test_grep "^ok *moved" out
'

test_expect_success 'P8: likewise where no session is named, and by verbs that take any state' '
	plain_dir hidden && git -C hidden ews start h && git init -q hidden && for verb in status list "status --ended"; do
		git -C hidden ews $verb >out 2>err && test_must_be_empty out && test_grep "^note: what was done when this was no git repository is there while .*hidden/.git. has another name" err || return 1
	done && for verb in "diff h" "apply h" "snapshot show h"; do test_expect_code 128 git -C hidden ews $verb 2>err && test_grep "^hint: .*no git repository.*hidden/.git. has another name" err || return 1; done &&
	git -C hidden ews status --brief 2>err && test_must_be_empty err && git -C hidden ews status --json >out 2>err && test_must_be_empty err && rm -r hidden/.git && git -C hidden ews end h
'

test_expect_success 'P8: a repository that has lost its .git had sessions: that is said' '
	test_repo headless && git -C headless ews start --method in-place h && mv headless/.git headless.git && for at in headless headless/src; do for verb in status diff "end h"; do
		test_expect_code 128 git -C $at ews $verb 2>err && test_grep "^error: .*$at. is in no git repository any more: .*headless/.git. is gone" err && test_grep "^hint: its sessions are there again" err || return 1
	done; done && mv headless.git headless/.git && git -C headless ews end h
'

test_expect_success 'P4: git init in a copy of a plain directory: the new repository goes to trash, and comes back' '
	start_ws below init && git init -q "$ws" && git -C below ews revert init >out 2>err && test_grep "Status: Verified" out && test_path_is_missing "${ws:?}/.git" &&
	git -C below ews undo init && test_path_is_dir "${ws:?}/.git" && git -C below ews end init
'

test_expect_success 'P8: a project that holds home: home is left out, and named' '
	plain_dir holds && mkdir holds/.ews && SUPERQODE_HOME=$PWD/holds/.ews && export SUPERQODE_HOME && git -C holds ews start h >out 2>err && take_ws out && test_path_is_missing "${ws:?}/.ews" && test_grep -x "note: left out: .ews (home, where workspaces, records and trash are)" err &&
	git -C holds ews snapshot create >out 2>err && test_grep "^note: left out: .ews (home" err && git -C holds ews round start --agent a >out 2>err && test_grep "^note: left out: .ews (home" err && git -C holds ews snapshot create h 2>err && test_grep ! "left out" err && git -C holds ews round end --agent a &&
	echo 1 >"${ws:?}/one" && git -C holds ews revert h >out && test_grep "Status: Verified" out && git -C holds ews end h && unset SUPERQODE_HOME
'

test_expect_success 'P4: a copy.s base holds what its branches stand at: what the project loses is there' '
	test_repo loses && git -C loses checkout -q -b side && echo s >loses/s && git -C loses add s && git -C loses commit -qm s && git -C loses tag -a -m t tagged && git -C loses checkout -q - && start_ws loses --method snapshot l && git -C "$ws" checkout -q -b mine && echo w >"${ws:?}/w" && git -C "$ws" add w && git -C "$ws" commit -qm w && mine=$(git -C "$ws" rev-parse HEAD) &&
	git -C loses branch -qD side && git -C loses tag -d tagged && git -C loses reflog expire --expire=now --all && git -C loses gc -q --prune=now && git -C "$ws" log --all --oneline >out && test_line_count = 5 out && git -C "$ws" checkout -q side && git -C "$ws" checkout -q mine && git -C "$ws" fsck --connectivity-only &&
	git -C loses ews revert l >out 2>err && test_grep "Status: Verified" out && test_grep ! "\\.git" err && test "$(git -C "$ws" rev-parse mine)" = "$mine" && git -C loses ews undo l && test "$(git -C "$ws" symbolic-ref HEAD)" = refs/heads/mine && git -C loses ews end l && git -C loses ews undo l && test "$(git -C "$ws" rev-parse HEAD)" = "$mine" && git -C loses ews end l
'

test_expect_success 'P4: a branch of a copy that names what is nowhere takes no other with it' '
	test_repo nowhere && start_ws nowhere --method snapshot n && git -C "$ws" checkout -q -b mine && echo w >"${ws:?}/w" && git -C "$ws" add w && git -C "$ws" commit -qm w && mine=$(git -C "$ws" rev-parse HEAD) && echo 1234567890123456789012345678901234567890 >"${ws:?}/.git/refs/heads/gone" &&
	git -C nowhere ews revert n >out 2>err && test_grep "Status: Verified" out && test_grep ! "damaged" err && test_grep ! "trash: \\.git" err && test "$(git -C "$ws" rev-parse mine)" = "$mine" && git -C nowhere cat-file -e "$mine" && git -C nowhere ews undo n && test "$(git -C "$ws" rev-parse HEAD)" = "$mine" && git -C nowhere ews end n
'

test_expect_success 'P4: a copy whose HEAD lacks something goes to trash whole, named, and comes back whole' '
	test_repo hurt && start_ws hurt --method snapshot h && git -C "$ws" checkout -q -b other && echo o >"${ws:?}/o" && git -C "$ws" add o && git -C "$ws" commit -qm o && other=$(git -C "$ws" rev-parse HEAD) && git -C "$ws" checkout -q -b mine && echo w >"${ws:?}/w" && git -C "$ws" add w && git -C "$ws" commit -qm w && mine=$(git -C "$ws" rev-parse HEAD) &&
	file=$(git -C "$ws" rev-parse HEAD^{tree} | sed "s#^..#&/#") && mv "${ws:?}/.git/objects/${file:?}" saved && git -C hurt ews revert h >out 2>err && test_grep "Status: Verified" out && test_grep "trash: \\.git (lacks objects)" err && test_must_fail git -C "$ws" rev-parse -q --verify other && git -C "$ws" status --porcelain >out && test_must_be_empty out && git -C "$ws" branch since &&
	git -C hurt ews undo h >out 2>err && test "$(git -C "$ws" rev-parse other)" = "$other" && test "$(git -C "$ws" rev-parse mine)" = "$mine" && mv saved "${ws:?}/.git/objects/${file:?}" && git -C "$ws" fsck && test_must_fail git -C "$ws" rev-parse -q --verify since &&
	git -C hurt ews undo --redo h >out 2>err && git -C "$ws" rev-parse -q --verify since && git -C hurt ews undo h && test "$(git -C "$ws" rev-parse other)" = "$other" && git -C hurt ews end h
'

test_expect_success 'a copy of a partial clone: what was promised, and its index names now, is no damage' '
	test_repo promise && git -C promise config uploadpack.allowFilter true && git -C promise config uploadpack.allowAnySHA1InWant true && git clone -q --filter=blob:none --sparse "file://$PWD/promise" partial && start_ws partial --method snapshot q && git -C "$ws" checkout -q -b mine && echo w >"${ws:?}/w" && git -C "$ws" add w && git -C "$ws" commit -qm w &&
	{ git -C "$ws" sparse-checkout disable >out 2>&1 || :; } && git -C partial ews revert q >out 2>err && test_grep ! "trash: \\.git" err && test_grep ! damaged err && git -C "$ws" rev-parse -q --verify mine && git -C partial ews end q
'

test_expect_success 'P8: that git fetches nothing into the copy of a partial clone is said where one is made, and nowhere else' '
	git init -q far && git -C far config uploadpack.allowFilter true && git -C far config uploadpack.allowAnySHA1InWant true &&
	for n in 1 2 3; do (cd far && echo $n >a && echo b$n >b && git add . && git commit -qm $n) || return 1; done && git clone -q --filter=blob:none "file://$PWD/far" lazy &&
	git -C lazy ews start --method snapshot s 2>err && test_grep "note: the project is a partial clone: git fetches nothing into the copy" err && git -C lazy ews start --json --method snapshot j >json && test_grep "notes.*partial clone" json &&
	git -C lazy ews start --from s --method snapshot f 2>err && test_grep "partial clone" err && git -C lazy ews start w 2>err && test_grep ! "partial clone" err && git -C far ews start --method snapshot s 2>err && test_grep ! "partial clone" err &&
	git init -q super && git -C super -c protocol.file.allow=always submodule --quiet add "file://$PWD/far" sub && git -C super commit -qm sub && git -C super ews start w 2>err && test_grep ! "partial clone" err && git -C super/sub config remote.origin.promisor true && git -C super ews start p 2>err && test_grep "note: the submodule .sub. is a partial clone" err
'

test_expect_success 'P8: what a partial clone lacks is named with the command that fetches it' '
	fetch_as_said() { sed -n "s/^hint: .*\(git diff --shortstat [0-9a-f]* [0-9a-f]*\). fetches .*/\1/p" err >cmd && test -s cmd && (cd "$1" && sh ../cmd); } &&
	test_expect_code 128 git -C lazy ews start --base HEAD~2 b 2>err && test_grep "the workspace: .a.: object [0-9a-f]* is missing from this partial clone" err && fetch_as_said lazy && git -C lazy ews start --base HEAD~2 b &&
	git clone -q --filter=blob:none "file://$PWD/far" lazier && test_expect_code 128 git -C lazier ews diff HEAD~2 HEAD~1 --stat 2>err && fetch_as_said lazier && git -C lazier ews diff HEAD~2 HEAD~1 --stat &&
	git clone -q --filter=blob:none "file://$PWD/far" laziest && test_expect_code 128 git -C laziest ews start --method snapshot --copy-objects c 2>err && test_grep "hint: .*leave out --copy-objects" err && git -C laziest log --shortstat && git -C laziest ews start --method snapshot --copy-objects c 2>err && test_grep ! "partial clone" err &&
	git -C "$(git -C laziest ews path c)" checkout -q HEAD~2
'

test_expect_success 'a copy ignores what core.excludesFile of the project names, and as the user has it where that says nothing' '
	test_repo excludes && echo "*.tmp" >ignored && git config -f more core.excludesFile "$PWD/ignored" && echo "*.tmp" >excludes/local && git -C excludes add local && echo secret >excludes/k.tmp &&
	for how in "core.excludesFile=$PWD/ignored" core.excludesFile=./local "include.path=$PWD/more"; do
		git -C excludes config "${how%%=*}" "${how#*=}" && git -C excludes status --porcelain >want && test_grep ! k.tmp want && start_ws excludes --method snapshot x && git -C "$ws" status --porcelain >got && test_cmp want got &&
			echo new >"${ws:?}/n.tmp" && git -C "$ws" ews diff >out && test_must_be_empty out && git -C "$ws" add -A && git -C "$ws" ls-files >out && test_grep ! tmp out && git -C excludes ews end x && git -C excludes config --unset "${how%%=*}" || return 1
	done && start_ws excludes --method snapshot x && test_expect_code 1 git -C "$ws" config --local core.excludesFile && git -C excludes ews end x
'

test_expect_success 'P8: what a copy says of its own to be ignored hides nothing; what the project says so later is ignored there, too' '
	test_repo hiding && start_ws hiding --method snapshot x && echo new >rules && cp rules "${ws:?}/.git/info/exclude" && git -C "$ws" config core.excludesFile "$PWD/rules" &&
	echo new >"${ws:?}/new" && git -C "$ws" status --porcelain >out && test_grep ! new out && git -C hiding ews diff x --changes files >out && test_grep "A  new" out &&
	git -C hiding ews snapshot create x >id && git -C hiding ews snapshot show --files "$(cat id)" >out && test_grep "new\$" out &&
	echo new >>hiding/.git/info/exclude && git -C hiding ews diff x --changes files >out && test_grep ! "A  new" out && git -C hiding ews end x
'

test_expect_success 'what a workspace can not be made for is said: git does not run, a directory can not be read' '
	test_repo unable && git -C unable tag -a -m carried carried && test_repo unseen && (cd unable && test_expect_code 128 test_strace ../trace -e trace=clone,clone3,vfork -e inject=clone,clone3,vfork:error=EAGAIN "$EWS_BIN/git-ews" start --method snapshot s 2>../err) && test_grep INJECTED trace && test_grep "cannot make the workspace.s repository: cannot run git" err &&
	test_expect_code 128 test_strace trace -P "${HOME:?}/.superqode/working" -e trace=getdents64 -e inject=getdents64:error=EIO git -C unseen ews list 2>err && test_grep INJECTED trace && test_grep "cannot read directory: Input/output error" err && git -C unable ews start --method snapshot s
'

test_expect_success 'P4: a copy is made, saved, taken back and ended where home has no files without a name' '
	test_repo plainfs && git -C plainfs tag -am annotated v9 && "$EWS_BUILD/t/no-tmpfile" git -C plainfs ews start --method snapshot nt >path && take_ws path && echo two >>"${ws:?}/run.sh" && git -C "$ws" commit -qam two && commit=$(git -C "$ws" rev-parse HEAD) &&
	"$EWS_BUILD/t/no-tmpfile" git -C plainfs ews snapshot create nt && "$EWS_BUILD/t/no-tmpfile" git -C plainfs ews revert nt >out && test_grep "Status: Verified" out && git -C plainfs cat-file -e "$commit" && "$EWS_BUILD/t/no-tmpfile" git -C plainfs ews end nt && find "$HOME/.superqode/working/plainfs" -maxdepth 1 -name ".tmp-*" >left && test_must_be_empty left
'

test_expect_success STRACE 'ids that are nowhere cost no git each, however many a copy names' '
	test_repo absent && start_ws absent --method snapshot nw && echo two >>"${ws:?}/run.sh" && git -C "$ws" commit -qam two && commit=$(git -C "$ws" rev-parse HEAD) && for n in $(test_seq 1 200); do printf "%040x refs/tags/t%d\n" $((n + 4096)) $n; done >>"${ws:?}/.git/packed-refs" &&
	test_strace trace -e trace=execve git -C absent ews snapshot create nw && grep -c "execve.* = 0" trace >n && test "$(cat n)" -lt 40 && git -C absent cat-file -e "$commit" && git -C absent ews end nw
'

test_done
