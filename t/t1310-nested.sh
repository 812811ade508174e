#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='submodules and repositories in a project: filled in the twin, emptied and forgotten by no verb (P1, P2, P4, P8, P9)'

. "$(dirname "$0")/test-lib.sh"

# a project with two submodules: sub, which has one itself (sub/inner), with changes in it, and bare, which is not filled
super_project() {
	test_repo "$1-lib" 2 && git init -q "$1-inner" && (cd "$1-inner" && echo inner >f && git add f && git commit -qm inner) &&
		git -C "$1-lib" submodule --quiet add "$PWD/$1-inner" inner && git -C "$1-lib" commit -qm "with inner" &&
		git init -q "$1" && git -C "$1" submodule --quiet add "$PWD/$1-lib" sub && git -C "$1" submodule --quiet add "$PWD/$1-inner" bare &&
		git -C "$1" submodule --quiet update --init --recursive && git -C "$1" submodule --quiet deinit -f bare && echo top >"${1:?}/top" && git -C "$1" add top &&
		git -C "$1" commit -qm super && (
		cd "${1:?}/sub" && echo changed >>src/main.c && echo staged >staged && git add staged && echo new >new && rm empty && echo more >>inner/f &&
			touch -d "2021-01-01 01:01:01.010101" src/numbers
	)
}

# all that P1 is about in the git directories of submodules
modules_of() (
	cd "${1:?}/.git/modules" && find . -type f -exec sha256sum {} + | sort && find . -printf "%p %T@ %m\n" | sort
)

# but times: git itself says of a borrowed object that it is in use
contents_of() (
	cd "${1:?}/.git/modules" && find . -type f -exec sha256sum {} + | sort
)

lister_of() {
	"$EWS_SRC/t/lister" -x .superqode -x .git "$1" | grep -v "/[.]git" | grep -v "^[^	]*	d "
}

sub_status() {
	git -C "${1:?}/sub" status --porcelain=v2 -uall && git -C "${1:?}/sub/inner" status --porcelain=v2 -uall && git -C "${1:?}/sub" rev-parse HEAD && git -C "${1:?}/sub/inner" rev-parse HEAD
}

test_expect_success 'setup' '
	super_project p && git -C p status >out && sub_status p >want
'

test_expect_success STRACE 'start runs no program for a submodule' '
	test_strace calls -e trace=execve "$EWS_BIN/git-ews" -C p start cheap >out && test_grep execve calls && test_grep ! "\"config\", \"--file\"" calls && git -C p ews end cheap
'

test_expect_success STRACE 'start shows how many submodules are done' '
	test_strace slow -e trace=mkdirat -e inject=mkdirat:delay_enter=20000 "$EWS_BIN/git-ews" -C p start --progress shown >out 2>err && tr "\\r" "\\n" <err >lines && test_grep "^Filling workspace: 100% (2/2), done" lines && git -C p ews end shown
'

test_expect_success 'many submodules are counted, and named with -v and --json' '
	test_repo few && git init -q many && for i in 1 2 3 4; do cp -R few "many/m $i" || return 1; done && git -C many add . && git -C many commit -q -m many && rm -rf many/m\ 4/.git &&
	start_ws many three && grep -c "^note: the submodule" err >n && echo 3 | test_cmp - n && git -C many ews end three && cp -R few/.git many/m\ 4/ &&
	start_ws many four && test_grep "^note: 4 submodules came along; no snapshot looks into them (-v names them)" err && test_grep ! "the submodule" err && test_path_is_dir "${ws:?}/m 4/.git" && git -C many ews end four &&
	for verb in "start -v" "round start --agent a -v"; do git -C many ews $verb >out 2>err && grep -c "^note: the submodule .m [1-4]. came along" err >n && echo 4 | test_cmp - n || return 1; done &&
	for verb in start "round start --agent b"; do git -C many ews $verb --json >json && test_grep "the submodule .m 4. came along" json && test_json_count json .notes 4 || return 1; done && git -C many ews round start --agent c >out 2>err && test_grep "^note: 4 submodules" err
'

test_expect_success 'submodules are filled, however many there are, with few descriptors' '
	(cd many && ulimit -n 64 && exec git-ews start low) >out 2>err && take_ws out && test_grep ! "not whole" err && for i in 1 2 3 4; do git -C "${ws:?}/m $i" rev-parse --verify HEAD || return 1; done && git -C many ews end low
'

for method in worktree snapshot; do
	export method
	test_expect_success "P1: $method: submodules of the twin are filled from those of the project, and nothing is written there" '
		test_fingerprint p >before && modules_of p >modules && start_ws p --method $method s && test_fingerprint p >after && test_cmp before after && modules_of p >got && test_cmp modules got &&
		test_same_tree -t -x sub/.git -x sub/inner/.git -M . -M sub -M sub/inner -M bare p "$ws" && test_grep "the submodule .sub. came along" err &&
		sub_status "$ws" >got && test_cmp want got && git -C "$ws" status --porcelain >got && git -C p status --porcelain >porcelain && test_cmp porcelain got &&
		test_must_fail git -C "${ws:?}/sub" symbolic-ref -q HEAD && git -C "${ws:?}/sub" fsck && git -C "${ws:?}/sub" log --oneline >out && test_line_count = 3 out &&
		git -C "${ws:?}/sub" remote >out && test_must_be_empty out && ls -A "${ws:?}/bare" >out && test_must_be_empty out && git -C p ews diff s >out && test_must_be_empty out
	'

	test_expect_success "P8: $method: diff and status name one in which something was written since" '
		git -C "${ws:?}/sub" status >out && git -C "${ws:?}/sub" gc -q && git -C p ews diff --exit-code s 2>err && test_must_be_empty err && echo more >>"${ws:?}/sub/inner/f" &&
		test_expect_code 1 git -C p ews diff --exit-code s >out 2>err && test_must_be_empty out && echo "warning: not in the patch: sub (repository-written)" | test_cmp - err && git -C p ews diff --exit-code s -- top 2>err && test_must_be_empty err &&
		git -C p ews diff s --json >json && test_json json ".not_in_patch[0].what" repository-written && git -C p ews status >out && test_grep "1 not in git" out && id=$(git -C p ews snapshot create s) && git -C p ews diff --exit-code "$id" 2>err && test_must_be_empty err
	'

	test_expect_success "P1: $method: what is committed in one stays there" '
		contents_of p >modules && (cd "${ws:?}/sub" && git add -A && git commit -qm mine && git branch mine && git gc -q --prune=now && git config user.name other) && contents_of p >got && test_cmp modules got &&
		git -C "$ws" add sub && git -C p ews diff s >out
	'

	test_expect_success "P8: $method: diff and status say that one stands elsewhere than it did, snapshots record it" '
		test_expect_code 1 git -C p ews diff --exit-code s >out 2>err && test_must_be_empty out && test_grep "not in the patch: sub (repository-moved)" err && git -C p ews diff s -- top 2>err && test_must_be_empty err &&
		git -C p ews status >out && test_grep "1 not in git" out && id=$(git -C p ews snapshot create s) && git -C p ews snapshot show --coverage "$id" >out && test_grep "^repository-moved	sub$" out &&
		git -C "${ws:?}/sub" checkout -q --detach HEAD~1 && test_expect_code 1 git -C p ews diff --exit-code s 2>err && test_grep "sub (repository-written)" err && early=$(git -C p ews snapshot create s) && git -C "${ws:?}/sub" checkout -q mine && test_expect_code 1 git -C p ews diff --exit-code s &&
		git -C p ews snapshot restore "$early" s >out 2>err && test_grep "Status: Verified" out && test_grep "not looked at: sub (repository-moved)" err && test "$(git -C "${ws:?}/sub" symbolic-ref HEAD)" = refs/heads/mine &&
		git -C p ews clean --dry-run --older-than 0s >out && ! grep "unchanged.* s$" out
	'

	test_expect_success "P2, P4: $method: revert, restore, end and undo leave what is in it" '
		head=$(git -C "${ws:?}/sub" rev-parse mine) && echo later >"${ws:?}/sub/later" && id=$(git -C p ews snapshot create s) && echo x >"${ws:?}/top" && git -C p ews revert s >out 2>err &&
		test_grep "Status: Verified" out && test_grep "not looked at: sub (repository-moved)" err && echo later >want.later && test_cmp want.later "${ws:?}/sub/later" &&
		test "$(git -C "${ws:?}/sub" rev-parse HEAD)" = "$head" && git -C p ews undo s && test_cmp want.later "${ws:?}/sub/later" && git -C p ews snapshot restore "$id" s >out && test_grep "Status: Verified" out &&
		test_cmp want.later "${ws:?}/sub/later" && git -C p ews end s 2>err && test_grep "sub (repository-moved)" err && test_path_is_missing "$ws" && git -C p ews undo s && test "$(git -C "${ws:?}/sub" rev-parse HEAD)" = "$head" &&
		git -C p ews revert s >out && test_grep "Status: Verified" out && git init -q "${ws:?}/fresh" && git -C p ews revert s >out && test_path_is_missing "${ws:?}/fresh" && git -C p ews end s
	'
done

for method in worktree snapshot in-place; do
	export method
	test_expect_success "P2, P4: $method: a submodule that was not filled at the start, and is by now, is empty again after revert, and filled after undo" '
		super_project "e-$method" && git -C "e-$method" submodule --quiet deinit -f --all && start_ws "e-$method" --method $method e && ls -A "${ws:?}/bare" "${ws:?}/sub" >empty && lister_of "$ws" >want && for how in update init; do
			if test $how = update; then git -C "$ws" submodule --quiet update --init && echo mine >"${ws:?}/sub/mine"; else git init -q "${ws:?}/bare"; fi && echo x >"${ws:?}/top" && lister_of "$ws" >filled &&
			git -C "e-$method" ews revert e >out 2>err && test_grep "Status: Verified" out && test_grep "^warning: moved to trash: bare (repository)" err && ls -A "${ws:?}/bare" "${ws:?}/sub" >got && test_cmp empty got && lister_of "$ws" >got && test_cmp want got &&
			git -C "e-$method" ews undo e && lister_of "$ws" >got && test_cmp filled got && git -C "${ws:?}/bare" rev-parse --git-dir && git -C "e-$method" ews undo --redo e && lister_of "$ws" >got && test_cmp want got || return 1
		done && git -C "e-$method" ews undo e && git -C "e-$method" ews end e && git -C "e-$method" ews undo e && { test $method != in-place || git -C "e-$method" ews undo e; } && lister_of "$ws" >got && test_cmp filled got && git -C "e-$method" ews end e
	'
done

for method in worktree snapshot in-place; do
	export method
	test_expect_success "P2, P4, P8: $method: to git a .git that is no git directory makes no repository, and its neighbours are files like all others" '
		test_repo "h-$method" && mkdir -p "h-${method:?}/own/.git" "h-${method:?}/late" && echo 1 >"h-${method:?}/own/f" && start_ws "h-$method" --method $method h && test_grep "left out: own/.git (no-repository)" err && test_path_is_file "${ws:?}/own/f" &&
		lister_of "$ws" >base && mkdir -p "${ws:?}/src/.git" "${ws:?}/late/.git/refs" && echo n >"${ws:?}/late/n" && echo b >"${ws:?}/src/beside" && echo 2 >"${ws:?}/own/f" && lister_of "$ws" >now && git -C "h-$method" ews diff --changes files h >out 2>err && test_grep "^- A  late/n" out &&
		test_grep "^- A  src/beside" out && test_grep "^- M  own/f" out && test_grep "not in the patch: late/.git (no-repository)" err && test_grep "not in the patch: src/.git (no-repository)" err && id=$(git -C "h-$method" ews snapshot create h) &&
		git -C "h-$method" ews snapshot show --files "$id" >out && test_grep "late/n" out && git -C "h-$method" ews revert h >out 2>err && test_grep "Status: Verified" out && test_grep "moved to trash: late/.git" err && lister_of "$ws" >got && test_cmp base got && test_path_is_missing "${ws:?}/late/.git" &&
		git -C "h-$method" ews undo h && lister_of "$ws" >got && test_cmp now got && test_path_is_dir "${ws:?}/late/.git/refs" && test_path_is_dir "${ws:?}/src/.git" && if test $method != in-place; then git -C "h-$method" ews apply h 2>err && test_grep "left out: late/.git" err && test_path_is_file "h-${method:?}/late/n" &&
		test_path_is_missing "h-${method:?}/late/.git"; fi && git -C "h-$method" ews end h 2>err
	'
done

for method in worktree snapshot in-place; do
	export method
	test_expect_success "P2, P8: $method: likewise beside a HEAD that names nothing, a file .git that names nothing and a link that leads nowhere" '
		test_repo "j-$method" && mkdir -p "j-${method:?}/own/.git/objects" "j-${method:?}/own/.git/refs" "j-${method:?}/file" "j-${method:?}/away" && echo junk >"j-${method:?}/own/.git/HEAD" && echo junk >"j-${method:?}/file/.git" && ln -s nowhere "j-${method:?}/away/.git" &&
		for d in own file away; do echo 1 >"j-${method:?}/${d:?}/f" || return 1; done && start_ws "j-$method" --method $method j && for d in own file away; do test_grep "left out: ${d:?}/.git (no-repository)" err && test_path_is_file "${ws:?}/${d:?}/f" || return 1; done && lister_of "$ws" >base &&
		for d in own file away; do echo 2 >"${ws:?}/${d:?}/f" && echo n >"${ws:?}/${d:?}/n" || return 1; done && mkdir "${ws:?}/late" && echo junk >"${ws:?}/late/.git" && echo l >"${ws:?}/late/l" && lister_of "$ws" >now && git -C "j-$method" ews diff --changes files j >out && test $(grep -c "^- [AM]  [a-z]*/[fnl] " out) = 7 &&
		git -C "j-$method" ews revert j >out 2>err && test_grep "Status: Verified" out && lister_of "$ws" >got && test_cmp base got && git -C "j-$method" ews undo j && lister_of "$ws" >got && test_cmp now got && { test $method = in-place || { git -C "j-$method" ews apply j 2>err && test_path_is_file "j-${method:?}/late/l" && test_path_is_missing "j-${method:?}/late/.git" && test "$(cat "j-${method:?}/file/.git")" = junk; }; } &&
		git -C "j-$method" ews end j 2>err
	'
done

test_expect_success 'P8: a look that is remembered does not outlive that a .git becomes a repository, or is one no more' '
	start_ws h-worktree f && mkdir -p "${ws:?}/n/.git/refs" "${ws:?}/n/.git/objects" && echo 1 >"${ws:?}/n/f" && find "${ws:?}/n" -exec touch -d "1 minute ago" {} + && see() { git -C h-worktree ews snapshot create f >out 2>err && git -C h-worktree ews diff --changes files f >out 2>err; } &&
	see && see && test_grep "^- A  n/f" out && echo "ref: refs/heads/main" >"${ws:?}/n/.git/HEAD" && see && test_grep "not in the patch: n (repository)" err && ! test_grep "n/f" out && see &&
	mv "${ws:?}/n/.git/HEAD" "${ws:?}/n/.git/gone" && see && test_grep "not in the patch: n/.git (no-repository)" err && test_grep "^- A  n/f" out && git -C h-worktree ews end f
'

test_expect_success 'P2, P3: of a repository that was there alone, and is gone, restore says so, and leaves the files that it never held' '
	test_repo only && start_ws only o && for how in gone hollow; do
		git init -q "${ws:?}/nest" && echo inner >"${ws:?}/nest/f" && git -C "${ws:?}/nest" add f && git -C "${ws:?}/nest" commit -qm inner && id=$(git -C only ews snapshot create o) && echo later >"${ws:?}/nest/f" && rm -rf "${ws:?}/nest/.git" && { test $how = gone || mkdir "${ws:?}/nest/.git"; } && echo x >>"${ws:?}/run.sh" &&
		test_expect_code 1 git -C only ews snapshot restore "$id" o >out 2>err && test_grep "Differs: nest (is no repository any more, and what is in it stays)" out && test_grep "Status: Not verified" out && test_grep "not looked at: nest (repository-gone)" err && echo later | test_cmp - "${ws:?}/nest/f" && test_cmp only/run.sh "${ws:?}/run.sh" && git -C only ews undo o && echo later | test_cmp - "${ws:?}/nest/f" && rm -r "${ws:?}/nest" && git -C only ews revert o || return 1
	done && git -C only ews end o
'

test_expect_success 'P2, P4, P8: git init beside files that are tracked takes none of them away' '
	test_repo i && start_ws i i && lister_of "$ws" >base && git init -q "${ws:?}/src" && git -C "${ws:?}/src" add -A && git -C "${ws:?}/src" commit -qm inner && git -C i ews diff i >out 2>err && test_must_be_empty out && test_grep "not in the patch: src/.git (repository)" err &&
	echo x >>"${ws:?}/src/main.c" && echo n >"${ws:?}/src/new" && git -C i ews diff --changes files i >out 2>err && test_line_count = 3 out && test_grep "^- M  src/main.c" out && test_grep "^- A  src/new" out && git -C i ews revert i >out 2>err && test_grep "Status: Verified" out &&
	test_grep "moved to trash: src/.git (repository)" err && lister_of "$ws" >got && test_cmp base got && test_path_is_missing "${ws:?}/src/.git" && git -C i ews undo i && git -C "${ws:?}/src" log --oneline >out && test_line_count = 1 out && git -C i ews end i
'

test_expect_success 'a base that is a commit has what that commit records, without a fetch' '
	git -C p/sub stash -q && git -C p/sub checkout -q HEAD~1 && mv p-lib p-away && start_ws p --base HEAD b && git -C "${ws:?}/sub" rev-parse HEAD >got && git -C p rev-parse HEAD:sub >want && test_cmp want got &&
	git -C "${ws:?}/sub" status --porcelain >out && test_must_be_empty out && git -C "$ws" status --porcelain >out && test_must_be_empty out && mv p-away p-lib && git -C p/sub checkout -q - && git -C p/sub stash pop -q &&
	start_ws p --nested=skip n && ls -A "${ws:?}/sub" >out && test_must_be_empty out && git -C p ews end b && git -C p ews end n
'

test_expect_success 'P8: where one stands in the project is what a base has, whatever its index and a warm cache say' '
	start_ws p e && git -C p/sub stash -q && git -C p/sub commit -q --allow-empty -m further && start_ws p f && git -C p ews diff --exit-code f 2>err && test_must_be_empty err &&
	git -C p ews diff e f >out && git -C p ews end e && test_grep "^[+]Subproject commit $(git -C p/sub rev-parse HEAD)" out && git -C p/sub checkout -q HEAD~1 && git -C p ews status >out 2>err && test_grep "stale" out &&
	git -C "${ws:?}/sub" commit -q --allow-empty -m "and further" && test_expect_code 1 git -C p ews diff --exit-code f 2>err && test_grep "sub (repository-moved)" err && git -C p ews end f && git -C p/sub stash pop -q
'

test_expect_success 'P8: one whose repository is elsewhere stays empty, and is named' '
	super_project q && mv q/.git/modules/sub elsewhere.git && git -C q config -f "$PWD/elsewhere.git/config" core.worktree "$PWD/q/sub" && echo "gitdir: $PWD/elsewhere.git" >q/sub/.git &&
	start_ws q && ls -A "${ws:?}/sub" >out && test_must_be_empty out && test_grep "the submodule .sub. was left empty" err && test_grep "left out: sub (repository)" err &&
	git -C q ews revert >out && test_grep "Status: Verified" out && git -C q ews end
'

test_expect_success STRACE 'P8: of one whose repository can not be looked for just now that is said, and not that it is elsewhere' '
	super_project blind && test_strace trace -P "$PWD/blind/.git/modules" -e trace=readlink,readlinkat -e inject=readlink,readlinkat:error=EIO:when=2+ git-ews -C blind start blind >out 2>err && test_grep INJECTED trace && test_grep "the submodule .sub. was left empty: cannot look for " err && test_grep ! "its repository is elsewhere" err && git -C blind ews end blind
'

test_expect_success 'what git takes for initialized in the project it takes for that in the twin, in submodules as well' '
	super_project active && status_of() { git -C "$1" submodule status --recursive | sed "s/ (.*//"; } && status_of active >want && test_grep "^-[0-9a-f]* bare" want && test_grep "^.[0-9a-f]* sub/inner" want && test_grep ! "^-[0-9a-f]* sub" want &&
	for how in each all but; do
		case $how in
		all) git -C active config submodule.active "s*" && git -C active config --add submodule.active "b*" && git -C active config --unset submodule.sub.active && status_of active | test_cmp want - ;;
		but) git -C active config submodule.sub.active false && status_of active >want && test_grep "^-[0-9a-f]* sub" want ;;
		esac &&
		for method in worktree snapshot; do
			start_ws active --method $method $how-$method && status_of "$ws" >got && test_cmp want got && git -C active ews end $how-$method || return 1
		done || return 1
	done &&
	start_ws active --method snapshot place && test_must_fail git -C "$ws" config --local --get-regexp "submodule.*url"
'

test_expect_success 'P9: no program that a submodule names runs' '
	for k in core.fsmonitor core.pager diff.external core.sshCommand core.hooksPath; do git -C p/sub config $k "touch \"$PWD/ran\";" || return 1; done && start_ws p h && git -C p ews diff h && git -C p ews revert h &&
	git -C p ews end h && test_path_is_missing ran && for k in core.fsmonitor core.pager diff.external core.sshCommand core.hooksPath; do git -C p/sub config --unset $k || return 1; done
'

test_expect_success 'P4: a restore into the project leaves submodules as they are' '
	sub_status p >want && start_ws p w && echo x >"${ws:?}/top" && id=$(git -C p ews snapshot create w) && (cd p && git ews snapshot restore --force "$id") >out 2>err && test_grep "Status: Verified" out &&
	echo x >want.top && test_cmp want.top p/top && sub_status p >got && test_cmp want got && git -C p ews end w && git -C p checkout -q HEAD -- top
'

test_expect_success 'P2: in place --nested=record holds what is in nested repositories, and revert brings it back' '
	git init -q p/own && echo 1 >p/own/f && sub_status p >want && lister_of p >files && git -C p ews start --method in-place i >out 2>err && test_grep "left out: sub/.git (repository)" err &&
	(cd p && echo y >top && echo z >sub/z && rm -r sub/src && echo i >sub/inner/f && rm own/f && git init -q late && echo l >late/l) && git -C p ews revert i >out 2>err && test_grep "Status: Verified" out &&
	test_grep "not looked at: sub/.git (repository)" err && sub_status p >got && test_cmp want got && lister_of p >got && test_cmp files got && test_path_is_missing p/late && git -C p ews undo i && test_path_is_file p/late/l &&
	test_path_is_dir p/late/.git && test_path_is_missing p/sub/src && git -C p ews end i && lister_of p >got && test_cmp files got
'

test_expect_success 'P4: in place --nested=skip looks into none, leaves each as it is, and names it beforehand' '
	git -C p ews start --method in-place --nested=skip i >out 2>err && test_grep "left out: sub (repository)" err && test_grep "left out: own (repository)" err && (cd p && echo y >top && echo z >sub/z && rm own/f) &&
	git -C p ews revert -n i >out 2>plan && grep "not looked at: " plan >want &&
	git -C p ews revert i >out 2>err && test_grep "Status: Verified" out && test_grep "not looked at: own (repository)" err && grep "not looked at: " err >got && test_cmp want got && test_path_is_file p/sub/z && test_path_is_missing p/own/f && test_path_is_dir p/own/.git &&
	git -C p ews end i && test_path_is_file p/sub/z && rm p/sub/z
'

# a project with a submodule that has one itself, and with a repository that is none, all as they were committed
placed_project() {
	super_project "$1" && git -C "${1:?}/sub" submodule --quiet foreach "git reset -q --hard" && git -C "${1:?}/sub" reset -q --hard && git -C "${1:?}/sub" clean -qfd &&
		git init -q "${1:?}/own" && echo 1 >"${1:?}/own/f" && git -C "${1:?}/own" add f && git -C "${1:?}/own" commit -qm own
}

test_expect_success 'P2, P3, P8: in place one that stands elsewhere than at the start is named, whatever it is to git, and so is what takes it back' '
	placed_project m && git -C m/sub commit -q --allow-empty -m "before the start" && git -C m status --porcelain >want && for what in sub:src/main.c sub/inner:f own:f; do
		r=${what%:*} && head=$(git -C "m/${r:?}" rev-parse HEAD) && start_ws m --method in-place "m${r##*/}" && git -C "m/${r:?}" switch -qc other && git -C m ews diff --exit-code 2>err && test_must_be_empty err &&
		echo more >>"m/${what%:*}/${what#*:}" && git -C "m/${r:?}" commit -qam further && git -C "m/${r:?}" commit -q --allow-empty -m "and further" && for time in first second; do
			test_expect_code 1 git -C m ews diff --exit-code >out 2>err && test_grep "^warning: not in the patch: ${r:?}/.git (repository-moved)$" err && test_line_count = 1 err || return 1
		done && git -C m ews diff -- top 2>err && test_must_be_empty err && id=$(git -C m ews snapshot create) && git -C m ews snapshot show --coverage "$id" >out && test_grep "^repository-moved	${r:?}/.git$" out && test $(grep -c moved out) = 1 &&
		git -C m ews revert --json >out && test_json out .verified true && test_json out ".moved[0].path" "$r" && test_json out ".moved[0].stood_at" "$head" && git -C m ews undo && git -C m ews revert >out 2>err && test_grep "Status: Verified" out && test_grep "^warning: not looked at: ${r:?}/.git (repository-moved)$" err &&
		test $(grep -c moved err) = 2 && git -C m ews status >out && test_grep "1 not in git" out && git -C m ews end >out 2>err && test_grep "Kept: nothing, for no file differed" out && sed -n "s/^note: a repository has moved on; .*: git/git/p" err >back && test_line_count = 1 back && sh back &&
		test "$(git -C "m/${r:?}" rev-parse HEAD)" = "$head" && git -C "m/${r:?}" status --porcelain >out && test_must_be_empty out && git -C m status --porcelain >got && test_cmp want got || return 1
	done
'

test_expect_success 'P8: so is one that is a linked worktree, whose branch is elsewhere; as a submodule the branch has its commit' '
	test_repo linked && git init -q elsewhere && echo 1 >elsewhere/f && git -C elsewhere add f && git -C elsewhere commit -qm one && for w in sub packed bare; do git -C elsewhere worktree add -q -b $w "$PWD/linked/$w" || return 1; done && git -C elsewhere pack-refs --all && git -C linked add sub 2>err && git -C linked commit -qm sub &&
	start_ws linked --method in-place linked && git -C linked ews diff --exit-code 2>err && test_must_be_empty err && git -C linked/packed commit -q --allow-empty -m two && test_expect_code 1 git -C linked ews diff --exit-code 2>err && echo "warning: not in the patch: packed/.git (repository-moved)" | test_cmp - err &&
	echo 2 >linked/sub/f && git -C linked/sub commit -qam two && git -C elsewhere pack-refs --all && test_expect_code 1 git -C linked ews diff --exit-code 2>err && test_grep ": sub/.git (repository-moved)" err && test_grep ! bare err &&
	git -C linked ews end --no-revert --branch linked linked 2>err && git -C linked rev-parse linked:sub >got && git -C elsewhere rev-parse sub | test_cmp - got && test_grep "not on the branch: packed (repository-moved)" err
'

test_expect_success 'P8: in place run says so as well, and what takes it back' '
	head=$(git -C m/own rev-parse HEAD) && (cd m && git ews run --guard=off --method in-place --end -- sh -c "cd own && git commit -q --allow-empty -m further") >out 2>err && test_grep "left out: own/.git (repository-moved)" err && sed -n "s/^note: a repository has moved on; .*: git/git/p" err >back && sh back && test "$(git -C m/own rev-parse HEAD)" = "$head"
'

test_expect_success 'P3, P8: in place one that is gone is named: its files come back, and it does not' '
	placed_project g && for how in deinit rm own; do
		start_ws g --method in-place "g$how" && case $how in deinit) git -C g submodule --quiet deinit -f sub ;; rm) git -C g rm -qrf sub ;; own) rm -rf g/own/.git ;; esac && git -C g ews diff >out 2>err && git -C g ews revert >out 2>plain && test_grep "Status: Verified" out &&
		case $how in
		own) test_grep "not in the patch: own/.git (repository-gone)" err && test_grep "not looked at: own/.git (repository-gone)" plain && test_grep "not looked at: sub/.git (repository)" plain ;;
		*) test_grep "not in the patch: sub/inner/.git (repository-gone)" err && for f in err plain; do test_grep ": sub/.git (repository-gone)" $f && ! test_grep "own.*gone" $f || return 1; done && test_path_is_file g/sub/inner/f ;;
		esac && git -C g ews end >out 2>err && test_grep "Kept: nothing, for no file differed" out && rm -rf g/sub && git -C g checkout -qf . && git -C g submodule --quiet update --init --recursive sub || return 1
	done
'

test_expect_success 'P3, P8: a submodule that the agent emptied is named by every verb, and so is what fills it' '
	super_project e && rm -rf e/sub/inner/.git && git -C e/sub submodule --quiet deinit -f --all && git -C e/sub reset -q --hard && for method in worktree snapshot; do for how in rm git-rm deinit checkout; do
		start_ws e --method $method e && case $how in rm) rm -rf "${ws:?}/sub" ;; git-rm) git -C "$ws" rm -qrf sub ;; deinit) git -C "$ws" submodule --quiet deinit -f sub ;; checkout) git -C "$ws" rm -qrf sub && git -C "$ws" commit -qm without ;; esac &&
		test_expect_code 1 git -C e ews diff --exit-code e >out 2>err && test_grep "^warning: not in the patch: sub (repository-gone)$" err && test_grep ! "bare" err && git -C e ews revert e >out 2>err && test_grep "Status: Verified" out && test_grep "^warning: not looked at: sub (repository-gone)$" err &&
		test_expect_code 1 git -C e ews diff --exit-code e >out 2>err && test_must_be_empty out && test_grep "sub (repository-gone)" err && git -C e ews status e >out && test_grep "none that a patch can hold" out && git -C e ews revert e 2>err && sed -n "s/^note: a submodule is empty now; this fills it: git/git -c protocol.file.allow=always/p" err >fill && test_line_count = 1 fill &&
		sh fill >fill.out 2>&1 && test_path_is_file "${ws:?}/sub/src/main.c" && test_expect_code 1 git -C e ews diff --exit-code e 2>err && test_grep "^warning: not in the patch: sub (repository-written)$" err && git -C e ews revert e 2>err && test_grep ! gone err && git -C e ews end e || { echo >&2 "$method $how"; return 1; }
	done; done
'

test_expect_success 'P8: in place end --branch has the commits of submodules as git add would, and names those that it has not' '
	placed_project b && git -C b submodule --quiet update --init bare && start_ws b --method in-place b && git -C b submodule --quiet deinit -f bare && git -C b/sub commit -q --allow-empty -m further && git -C b/own commit -q --allow-empty -m further && git -C b submodule --quiet add "$PWD/b-inner" fresh &&
	git -C b/fresh commit -q --allow-empty -m further && git init -q b/late && git -C b/late commit -q --allow-empty -m late && for m in sub fresh; do git -C "b/$m" rev-parse HEAD || return 1; done >want && git -C b rev-parse HEAD:bare >>want && git -C b ews end --no-revert --branch has 2>err &&
	for m in sub fresh bare; do git -C b rev-parse "has:$m" || return 1; done >got && test_cmp want got && grep "not on the branch" err >got && printf "warning: not on the branch: %s\n" "late (repository)" "own (repository-moved)" >want && test_cmp want got && git -C b diff --name-only HEAD has >got && printf "%s\n" .gitmodules fresh sub >want && test_cmp want got
'

test_expect_success 'P8: of one that has ended nobody knows the commits of submodules any more: those that moved are named' '
	git -C b/sub commit -q --allow-empty -m "since then" && git -C b ews end --branch late b 2>err && test_grep "not on the branch: sub (repository-moved)" err && git -C b rev-parse late:sub >got && git -C b rev-parse HEAD:sub >want && test_cmp want got
'

test_expect_success 'P8: in place end --branch does not say of what is in a submodule that moved on that the branch lacks it' '
	git init -q src && echo s >src/s && git -C src add . && git -C src commit -qm s && git init -q on && for m in moved/m hidden/m still; do git -C on submodule --quiet add "$PWD/src" $m || return 1; done && echo /hidden >on/.gitignore && git -C on add . && git -C on commit -qm on && start_ws on --method in-place on &&
	for m in moved/m hidden/m; do echo more >"on/${m:?}/new" && mkdir "on/${m:?}/d" && echo more >"on/${m:?}/d/new" && git -C "on/$m" add . && git -C "on/$m" commit -qm further && git -C "on/$m" rev-parse HEAD || return 1; done >want && echo more >on/still/new && git -C on ews end --no-revert --branch on on 2>err &&
	for m in moved/m hidden/m; do git -C on rev-parse "on:$m" || return 1; done >got && test_cmp want got && grep "on the branch" err >got && echo "warning: not on the branch: still/new (repository)" | test_cmp - got
'

test_expect_success 'in place end --branch has the files of a repository that is none any more, as git add would' '
	git init -q former && (cd former && git submodule --quiet add "$PWD/../src" s && echo "*.o" >.gitignore && git add . && git commit -qm former && git clone -q ../src own && echo o | tee s/x.o >own/x.o) && start_ws former --method in-place former &&
	git -C former rm -q --cached s && rm -rf former/s/.git former/own/.git && echo new >former/s/new && git -C former ews end --no-revert --branch b former 2>err && test_grep ! "on the branch" err && git -C former ls-tree -r b >got && git -C former add -A && git -C former ls-tree -r "$(git -C former write-tree)" >want && test_cmp want got &&
	git -C former ews end --branch late former && git -C former ls-tree -r late >got && test_cmp want got
'

test_expect_success 'a snapshot that holds a submodule goes into a directory' '
	start_ws p t && git -C p ews snapshot restore t --to "$PWD/to" >out && test_grep "Status: Verified" out && test_path_is_dir to/sub && test_path_is_file to/top && git -C p ews end t
'

test_expect_success 'P8: a submodule whose HEAD can not be read just now is not taken for one that stands where it did' '
	super_project u && start_ws u u && git -C "${ws:?}/sub" checkout -q --detach HEAD~1 && test_expect_code 1 git -C u ews diff --exit-code u 2>err && test_grep "sub (repository-moved)" err && for error in EIO EMFILE; do
		look=0 && while test_more_looks; do
			test_look $error "/sub(/[.]git.*)?$" -C u diff --exit-code u >out 2>err && test $code != 0 && { test $code = 1 -o $code = 199 || test_grep "^error: " err; } || return 1
		done && test $look -gt 4 || return 1
	done && git -C u ews end u
'

test_expect_success 'P8: of a repository beside git that can not be read just now no session in place begins that could not tell later that it has gone on' '
	test_repo v && test_repo v/nest 2 && look=0 && while test_more_looks; do
		test_look EIO "/v/nest/[.]git(/HEAD|/refs.*)?$" -C v start --method in-place v >out 2>err && test $code != 0 || { git -C v/nest checkout -q --detach HEAD~1 && git -C v ews diff v 2>err >out && test_grep "nest/.git (repository-moved)" err && git -C v/nest checkout -q - && git -C v ews end v; } || return 1
	done && test $look -gt 4
'

test_expect_success 'P8: a submodule that can not be looked at just now is named with the reason where it stays empty' '
	super_project looked && look=0 && while test_more_looks; do
		test_look EIO "/looked/sub(/inner)?(/[.]git)?$" -C looked start s$look >out 2>err && if test $code = 0; then take_ws out && { test -e "${ws:?}/sub/inner/.git" || test_grep "^note: the submodule .sub.*Input/output error" err; }; fi || return 1
	done && test $look -gt 4
'

test_done
