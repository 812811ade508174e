#!/bin/sh
# demo.sh <repository>: the main job, from start to end, on a temporary clone of a real repository.
#
# Each command is shown before its output, and the first that fails ends it.
# Nothing stays: clone, home and workspace lie in one temporary directory.
# What is claimed is checked from outside, by git and by build/t/lister.
#
# SPDX-License-Identifier: MIT
set -u
EWS_SRC=$(cd "$(dirname "$0")/.." && pwd) || exit 1
EWS_BUILD=${EWS_BUILD:-$EWS_SRC/build}
PATH=${EWS_BIN:-$EWS_BUILD}:$PATH
export PATH
. "$EWS_SRC/t/sharness.d/repo.sh"
# shellcheck disable=SC2046
unset $(git rev-parse --local-env-vars) EWS_SESSION

source=$(git -C "${1:?usage: demo.sh <repository>}" rev-parse --absolute-git-dir) || exit 1
tmp=$(mktemp -d) && tmp=$(cd "$tmp" && pwd -P) || exit 1
trap 'cd / && chmod -R u+rwX "$tmp" && rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM HUP
SUPERQODE_HOME=$tmp/home
export SUPERQODE_HOME

if test -t 1; then
	bold=$(printf '\033[1m') plain=$(printf '\033[0m')
else
	bold='' plain=''
fi

say() {
	printf '\n%s# %s%s\n' "$bold" "$*" "$plain"
}

fail() {
	printf '\ndemo: failed: %s\n' "$*" >&2
	exit 1
}

# show <text>: a command as one would type it; what it prints is its own
show() {
	printf '%s$ %s%s\n' "$bold" "$1" "$plain"
	eval "$1" || fail "$1"
}

# claim <sentence> <command>...: a check of ours, from outside
claim() {
	sentence=$1
	shift
	"$@" || fail "not so: $sentence"
	printf '  (checked: %s)\n' "$sentence"
}

tree() {
	"$EWS_BUILD/t/lister" -m -x .git "$1"
}

same_tree() {
	tree "$1" | diff "$2" - >&2
}

same_state() {
	test_fingerprint "$tmp/project" | diff "$tmp/fingerprint" - >&2
}

git clone -q "$source" "$tmp/project" || exit 1
cd "$tmp/project" || exit 1
# files to work on: text, in no need of quoting
n=0
for file in $(git ls-files -s | sed -n 's/^100[67][45][45] [0-9a-f]* 0	\([A-Za-z0-9][A-Za-z0-9._/-]*\)$/\1/p'); do
	grep -qI . "$file" || continue
	n=$((n + 1))
	eval "file$n=\$file"
	test $n -lt 5 || break
done
test $n = 5 || fail "the repository has no five text files to work on"
# shellcheck disable=SC2154 # set above
set -- "$file1" "$file2" "$file3" "$file4" "$file5"

say "a project, with work of its own that is not committed"
show "cd $tmp/project"
show "echo 'a line that is not committed' >>$1"
show "echo 'a note' >notes-of-mine.txt"
show "git status --short"
test_fingerprint "$tmp/project" >"$tmp/fingerprint" || exit 1

say "start: a twin of it, the uncommitted work included; the path is all that is on stdout"
show "cd \"\$(git ews start demo)\" && pwd"
tree . >"$tmp/base" || exit 1
claim "the twin has the same files" same_tree "$tmp/project" "$tmp/base"
show "git status --short"
git status --porcelain=v2 >"$tmp/status"

say "work of every kind: modify, add, delete, rename, chmod, a link, a binary"
show "echo 'one more line' >>$1"
show "echo 'int added;' >added.c"
show "rm $2"
show "mv $3 $3.renamed"
show "chmod 755 $4 added.c"
show "ln -s $5 a-link"
show "printf '\\000\\001\\377' >a-binary"

say "diff: what changed, against the base, in git's own form"
show "git ews diff --stat"
show "git ews diff -- added.c"
show "git ews diff >$tmp/patch"
git clone -q "$source" "$tmp/other" && cp -a "$tmp/project/$1" "$tmp/other/$1" &&
	cp -a "$tmp/project/notes-of-mine.txt" "$tmp/other/" || exit 1
tree . >"$tmp/worked" || exit 1
claim "the patch applies to the base" git -C "$tmp/other" apply --whitespace=nowarn "$tmp/patch"
claim "and gives the workspace, bit for bit" same_tree "$tmp/other" "$tmp/worked"
show "git ews status"

say "snapshot: this state, to come back to"
show "git ews snapshot create -m 'half way'"
show "git ews snapshot list"

say "revert: back to the base, and the proof of it"
show "git ews revert"
claim "each file is as it was at the start" same_tree . "$tmp/base"
git status --porcelain=v2 >"$tmp/status.now"
claim "git status is as it was" cmp "$tmp/status" "$tmp/status.now"

say "undo: the revert itself can be taken back"
show "git ews undo"
claim "the work is there again" same_tree . "$tmp/worked"

say "end: the workspace goes away; what was in it is kept for a while"
workspace=$PWD
show "cd $tmp/project && git ews end demo"
claim "the workspace is gone" test ! -e "$workspace"
claim "git knows of no other worktree" test "$(git worktree list | wc -l)" = 1
show "git ews undo"
claim "even that can be undone" same_tree "$workspace" "$tmp/worked"
show "git ews end demo"

say "and the project?"
claim "no file, mode, time, ref, index, config or hook of it has changed" same_state
show "git status --short"
show "git fsck --no-progress --no-dangling"
say "done"
