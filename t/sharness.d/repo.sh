# Repositories to work in, and what they must look like afterwards.
#
# SPDX-License-Identifier: MIT
# shellcheck shell=sh

# test_repo <dir> [<n>]: a repository of n (3) commits with a bit of everything that a git tree can
# hold; nothing in it is uncommitted. Commits are the same every time.
#
# The first that a script makes is kept, and what is as it was then copies it, which takes a third of the time.
test_repo() {
	ews_first=$ews_root/repo
	if test $# -gt 1 || test -e "$1" || test -n "${GIT_DEFAULT_HASH-}${GIT_TEMPLATE_DIR-}${GIT_DIR-}${GIT_CONFIG_COUNT-}" || test "$(umask)" != 0022; then
		ews_make_repo "$@"
	elif test -e "$ews_first" && cmp -s "$HOME/.gitconfig" "$ews_first.config"; then
		cp -RP --preserve=mode "$ews_first" "$1" && git -C "$1" update-index -q --refresh
	else
		ews_make_repo "$1" && rm -rf "${ews_first:?}" && cp -RP --preserve=mode "$1" "$ews_first" && cp "$HOME/.gitconfig" "$ews_first.config"
	fi
}

ews_make_repo() (
	git init -q "$1" && cd "$1" &&
		mkdir -p src/deep/er docs empty-later &&
		printf 'int main(void)\n{\n\treturn 0;\n}\n' >src/main.c &&
		seq 1 200 >src/numbers &&
		printf 'one\ntwo\nthree' >src/deep/no-newline &&
		printf 'deep\n' >src/deep/er/file &&
		printf '#!/bin/sh\necho hello\n' >run.sh && chmod +x run.sh &&
		ln -s src/main.c link && ln -s nowhere docs/dangling &&
		printf '\000\001\002\377binary\000\n' >docs/image.bin &&
		: >empty &&
		printf 'a\r\nb\r\n' >docs/crlf.txt &&
		printf '*.o\n/out/\n' >.gitignore &&
		printf 'odd\n' >'docs/with space' &&
		printf 'odd\n' >"docs/quote\"and'more" &&
		printf 'odd\n' >"docs/tab$(printf '\t')here" &&
		printf 'odd\n' >"docs/$(printf 'umlaut-\303\244')" &&
		printf 'odd\n' >./-leading-dash &&
		rmdir empty-later &&
		git add -A &&
		i=1 && n=${2:-3} && ews_repo_commit "commit $i" "$i" &&
		while test "$i" -lt "$n"; do
			i=$((i + 1)) &&
				echo "line of commit $i" >>src/log &&
				echo "$i" >"src/deep/new-$i" &&
				git add -A && ews_repo_commit "commit $i" "$i" || exit 1
		done
)

ews_repo_commit() {
	ews_date="@$((1700000000 + $2 * 60)) +0000"
	GIT_AUTHOR_DATE=$ews_date GIT_COMMITTER_DATE=$ews_date git commit -q -m "$1"
}

# files_of <dir>: what is there, but for .git, .superqode and times
files_of() {
	"$EWS_SRC/t/lister" -m -x .git -x .superqode "$1"
}

# yaml <line>...: the superqode.yaml of the project `project`
yaml() {
	printf '%s\n' "$@" >project/superqode.yaml
}

# test_same_tree [-t] [-x <path>]... [-M <path>]... <a> <b>: the same files in both, but for .git, .superqode
# and times; with -t the times too, but for those of -M.
test_same_tree() (
	times=-m
	if test "$1" = -t; then
		times=
		shift
	fi
	cut=
	while test $# -gt 2; do
		case $1 in
		-x | -M) cut="$cut $1 $2" ;;
		*) exit 1 ;;
		esac
		shift 2
	done
	lists=$(mktemp -d) || exit 1
	# shellcheck disable=SC2086 # none or several words
	"$EWS_BUILD/t/lister" $times $cut -x .git -x .superqode "$1" >"$lists/a" &&
		"$EWS_BUILD/t/lister" $times $cut -x .git -x .superqode "$2" >"$lists/b" &&
		diff -u "$lists/a" "$lists/b" >&2
	code=$?
	rm -r "$lists"
	exit $code
)

# test_fingerprint <project> >file: all that promise P1 says no verb changes. In the order of that
# promise: the files; the git directory but for what it excepts; the refs, from git.
test_fingerprint() (
	cd "$1" || exit 1
	GIT_OPTIONAL_LOCKS=0
	export GIT_OPTIONAL_LOCKS
	if ! dir=$(git rev-parse --absolute-git-dir 2>/dev/null); then
		"$EWS_BUILD/t/lister" -x .superqode -M . .
		exit
	fi
	common=$(cd "$dir" && cd "$(git rev-parse --git-common-dir)" && pwd) || exit 1
	if test "$(git rev-parse --is-inside-work-tree)" = true; then
		"$EWS_BUILD/t/lister" -x .superqode -x .git -M . "$(git rev-parse --show-toplevel)" || exit 1
	fi
	# a linked worktree: its own part of the git directory
	if test "$dir" != "$common"; then
		echo "worktree:"
		"$EWS_BUILD/t/lister" "$dir" || exit 1
	fi
	echo "git:"
	set --
	for w in "$common"/worktrees/*; do
		if test -d "$w" && ! grep -q '^ews session' "$w/locked" 2>/dev/null; then
			echo "another worktree: ${w##*/}"
			test "$w" = "$dir" || "$EWS_BUILD/t/lister" "$w" || exit 1
		fi
	done
	"$EWS_BUILD/t/lister" -x objects -x refs -x worktrees -x ews -x packed-refs -x logs/refs/ews \
		-M . -M logs -M logs/refs "$common" || exit 1
	echo "refs:"
	refs=$(git for-each-ref --format='%(objectname) %(refname) %(symref)') || exit 1
	echo "$refs" | sed '/^$/d; /^[0-9a-f]* refs\/ews\//d'
)
