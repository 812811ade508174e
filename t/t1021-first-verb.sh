#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='what start leaves for the first verb: it walks no more than it must, and misses nothing (P3, P8)'

. "$(dirname "$0")/test-lib.sh"

# slow <project> <argument of start>...: start a session whose files are older than a tick of any clock when start looks at them.
slow() {
	ews_of=$1 && shift && (cd "$ews_of" && test_strace ../slow -e trace=fsync,sync_file_range -e inject=fsync,sync_file_range:delay_enter=8000 "$EWS_BIN/git-ews" start "$@") >out 2>err && take_ws out
}

# dir_of <project> <session>: the session's directory.
dir_of() {
	dir=${HOME:?}/.superqode/working/${1:?}/sessions/$2 && test_path_is_dir "$dir"
}

# manifest <project> <session>: a new snapshot's manifest tree, which says all of the workspace and its git state.
manifest() {
	git -C "$1" ews snapshot create "$2" >id && if test -d "${1:?}/.git"; then ews_store=$1; else ews_store=$(echo "${HOME:?}/.superqode/store/$1"-*.git); fi &&
	git -C "$ews_store" rev-parse "$(git -C "$ews_store" rev-parse "refs/ews/snapshots/$(cat id)^@" | tail -n 1)^{tree}"
}

# lists_nothing: of the workspace no directory was listed but git's own.
lists_nothing() {
	grep -F "<${ws:?}" calls >listed
	test_must_fail grep -v -F "<${ws:?}/.git" listed
}

# walks_not <project> <session>: the first verb lists no directory of the workspace, and finds what one that knows nothing finds; the base is as it is read from the store.
walks_not() {
	dir_of "$1" "$2" && cp "${dir:?}/base" base && (cd "$1" && test_strace ../calls -y -e trace=getdents64 "$EWS_BIN/git-ews" diff --exit-code "$2") >out && test_must_be_empty out && lists_nothing &&
	finds_the_same "$1" "$2" && test_cmp base "${dir:?}/base"
}

# finds_the_same <project> <session>: what is kept of the first look tells the same as a look without it.
finds_the_same() {
	dir_of "$1" "$2" && cp "${dir:?}/cache" cache.kept && git -C "$1" ews diff --json "$2" >got && cp cache.kept "${dir:?}/cache" && manifest "$1" "$2" >got.manifest &&
	rm "${dir:?}/cache" "${dir:?}/base" && git -C "$1" ews diff --json "$2" >want && manifest "$1" "$2" >want.manifest && test_cmp want got && test_cmp want.manifest got.manifest
}

test_expect_success 'setup' '
	test_repo p && (cd p && mkdir -p many/a many/b kept && for i in 1 2 3 4 5 6 7 8 9; do echo $i >many/a/$i && echo $i >many/b/$i || exit; done && echo k >kept/k.o && git add -A && git add -f kept/k.o && git commit -q -m many) &&
	mkdir plain && cp -R p/src p/many p/docs plain/ && printf "*.o\n" >plain/.gitignore && mkdir plain/hollow
'

test_expect_success STRACE 'P3: the first verb walks into no directory: worktree, snapshot, plain directory' '
	slow p --method worktree worktree && walks_not p worktree && slow p --method snapshot snapshot && walks_not p snapshot && slow plain plain && walks_not plain plain
'

test_expect_success STRACE 'P3: nor where ignored files came along, work is uncommitted, things are left out, or names are odd' '
	mkdir -p p/out/deep p/new && echo o >p/x.o && echo o >p/kept/y.o && echo o >p/out/deep/z && echo n >p/new/n && echo changed >>p/src/numbers && ln p/src/numbers p/new/linked && echo "odd" >"p/new/ a
b" &&
	slow p --keep-ignored ignored && test_path_is_file "${ws:?}/x.o" && test_path_is_file "${ws:?}/out/deep/z" && walks_not p ignored &&
	slow p --keep-ignored=no bare && test_path_is_missing "${ws:?}/x.o" && walks_not p bare && slow p --base HEAD~1 before && walks_not p before &&
	git -C p config ews.maxFile 300 && slow p --partial partial && test_path_is_missing "${ws:?}/src/numbers" && git -C p ews diff partial >out && finds_the_same p partial && git -C p config --unset ews.maxFile
'

test_expect_success STRACE 'P3: nor where a session begins at another, or at a snapshot' '
	git -C p ews start --keep-ignored=no one >out && take_ws out && echo more >"${ws:?}/many/more" && rm "${ws:?}/many/a/1" && s=$(git -C p ews snapshot create one) && echo x >"${ws:?}/many/x.o" && git -C "${ws:?}" add -f many/x.o &&
	for from in one "$s"; do
		slow p --from "$from" "of-$from" && dir_of p "of-$from" && cp "${dir:?}/base" base && (cd p && test_strace ../calls -y -e trace=getdents64 "$EWS_BIN/git-ews" diff --name-status "of-$from") >out && test_grep many/more out && lists_nothing &&
		finds_the_same p "of-$from" && test_cmp base "${dir:?}/base" || return 1
	done
'

test_expect_success STRACE 'P3: nor in a submodule, empty or filled' '
	git init -q lib && echo l >lib/l && git -C lib add l && git -C lib commit -q -m l && test_repo q && git -C q -c protocol.file.allow=always submodule --quiet add ../lib sub && git -C q commit -q -m sub &&
	slow q filled && test_path_is_file "${ws:?}/sub/l" && finds_the_same q filled && git -C q submodule --quiet deinit -f sub && slow q empty && walks_not q empty
'

test_expect_success STRACE 'P3: a snapshot of what nobody changed reads no base; one of what was changed has what it needs of it' '
	snapshot() { (cd p && test_strace ../calls -e trace=openat "$EWS_BIN/git-ews" snapshot create late) >id; } &&
	slow p --keep-ignored=no late && snapshot && test_must_fail grep "\"base\"" calls && echo more >>"${ws:?}/many/a/1" && rm "${ws:?}/many/a/2" && snapshot && git -C p ews diff --name-status --from base "$(cat id)" >found && printf "M\tmany/a/1\nD\tmany/a/2\n" >want && test_cmp want found &&
	git -C p ews snapshot verify "$(cat id)" && dir_of p late && rm "${dir:?}/base" && echo again >"${ws:?}/many/a/new" && snapshot && test_path_is_file "${dir:?}/base" && finds_the_same p late
'

test_expect_success STRACE 'P3: a revert to the base reads it once' '
	slow p --keep-ignored=no back && echo more >>"${ws:?}/many/a/1" && : >"${ws:?}/many/a/more" && (cd p && test_strace ../calls -e trace=openat "$EWS_BIN/git-ews" revert back) >out && test_grep "Status: Verified" out && grep "\"base\"" calls >opened && test_line_count = 1 opened &&
	git -C p ews diff --exit-code back && finds_the_same p back
'

test_expect_success 'P8: what is edited at once after start is found: the same size, the same times, in the same tick' '
	round=0 && for method in worktree snapshot worktree snapshot worktree snapshot; do
		round=$((round + 1)) && git -C p ews start --method $method "at-once-$round" >out && take_ws out && printf X | dd of="${ws:?}/many/b/$round" bs=1 conv=notrunc 2>/dev/null && touch -r "p/many/b/$round" "${ws:?}/many/b/$round" &&
		touch -r "${ws:?}/many/a" time && echo n >"${ws:?}/many/a/new" && touch -r time "${ws:?}/many/a" && git -C p ews diff --name-status "at-once-$round" >found && printf "A\tmany/a/new\nM\tmany/b/$round\n" >want && test_cmp want found && finds_the_same p "at-once-$round" || return 1
	done
'

test_expect_success 'P8: what the start hook changes there is found' '
	hook="cd \"\$EWS_WORKSPACE\" && printf X | dd of=many/b/1 bs=1 conv=notrunc 2>/dev/null && touch -r \"$PWD/p/many/b/1\" many/b/1 && touch -r many/a \"$PWD/time\" && echo n >many/a/new && touch -r \"$PWD/time\" many/a && sleep 0.1" &&
	git -C p -c ews.hook.start="$hook" ews start hooked >out && take_ws out && git -C p ews diff --name-status hooked >found && printf "A\tmany/a/new\nM\tmany/b/1\n" >want && test_cmp want found && finds_the_same p hooked
'

# unloaded <verb>...: in p, and without libgit2, which takes longer to load than all else that a small verb does
unloaded() {
	(cd p && test_strace ../calls -f -e trace=openat "$EWS_BIN/git-ews" "$@") >out && test_grep openat calls && test_grep ! libgit2 calls
}

test_expect_success STRACE,!SMALL 'verbs that read no more than files, commits and trees do not load libgit2' '
	test_repo loose && rm -rf p && mv loose p && slow p begun && echo edit >>"${ws:?}/src/main.c" && echo staged >"${ws:?}/staged" && git -C "${ws:?}" add staged && echo more >>"${ws:?}/staged" &&
	unloaded status && unloaded snapshot create begun && unloaded snapshot create begun && unloaded diff --name-status begun && unloaded revert begun && unloaded end begun
'

test_done
