# Sourced first by each t/tNNNN-*.sh, after `test_description=...`: sharness, in a clean environment.
#
# A test runs in a directory of its own below $TMPDIR (or /tmp), outside of
# any repository, and can write nothing else (fence). It goes when all passed
# and stays, named, when not. README.md, beside this file, has the words that a
# test may use.
#
# SPDX-License-Identifier: MIT
# shellcheck shell=sh

EWS_SRC=$(cd "$(dirname "$0")/.." && pwd -P) || exit 1
: "${EWS_BUILD:=$EWS_SRC/build}"
: "${EWS_BIN:=$EWS_BUILD}"
export EWS_SRC EWS_BUILD EWS_BIN
if ! test -x "$EWS_BIN/git-ews"; then
	echo "Bail out! no $EWS_BIN/git-ews: run make first"
	exit 1
fi

# The same script once more, where nothing else can be written; then what it left is looked after.
if test "${EWS_ROOT_BY-}" != "$PPID"; then
	EWS_ROOT=$(mktemp -d "${TMPDIR:-/tmp}/ews-t.XXXXXX") && EWS_ROOT=$(cd "$EWS_ROOT" && pwd -P) || exit 1
	EWS_ROOT_BY=$$
	unset EWS_FENCED
	export EWS_ROOT EWS_ROOT_BY
	chmod 755 "$EWS_ROOT" && mkdir -m 1777 "$EWS_ROOT/tmp" || exit 1
	"$EWS_SRC/t/fence" ${ews_writable:+"$ews_writable"} "$EWS_ROOT" ${EWS_REPORTS:+"$EWS_REPORTS"} -- /bin/sh "$0" "$@"
	ews_code=$?
	for ews_trash in "$EWS_ROOT/trash directory."*; do
		if test -d "$ews_trash"; then
			echo "# kept: $ews_trash"
		else
			chmod -R u+rwX "$EWS_ROOT" && rm -rf "$EWS_ROOT"
		fi
	done
	exit $ews_code
fi
ews_root=$EWS_ROOT
TMPDIR=$EWS_ROOT/tmp
export TMPDIR

# Nothing of the caller's: no repository, no settings, no make or test around this one.
for ews_name in $(env | sed -n 's/^\(GIT_[A-Za-z0-9_]*\|EWS_[A-Za-z0-9_]*\|XDG_[A-Za-z0-9_]*\)=.*/\1/p'); do
	case $ews_name in
	EWS_SRC | EWS_BUILD | EWS_BIN | EWS_SANITIZE | EWS_VALGRIND | EWS_SMALL) ;;
	*) unset "$ews_name" ;;
	esac
done
unset ews_name SUPERQODE_HOME MAKEFLAGS MAKEOVERRIDES MFLAGS MAKELEVEL MAKE
unset SHARNESS_TEST_DIRECTORY SHARNESS_TEST_SRCDIR SHARNESS_BUILD_DIRECTORY CDPATH
umask 022

SHARNESS_TEST_EXTENSION='sh'
SHARNESS_TEST_SRCDIR=$EWS_SRC/t
SHARNESS_TEST_DIRECTORY=$ews_root
SHARNESS_BUILD_DIRECTORY=$EWS_BIN
chain_lint=t
root=$ews_root

: "${SHARNESS:=/usr/share/sharness/sharness.sh}"
if ! test -f "$SHARNESS"; then
	echo "Bail out! no $SHARNESS: contrib/setup packages installs it, or SHARNESS=<path> names another"
	exit 1
fi
# shellcheck source=/dev/null
. "$SHARNESS"

# What a test says is for who asked for it, and for who sees it fail: it may not fail again.
if test "$verbose" != t; then
	exec 3>>"$ews_root/said" 4>&3
	# Nobody looks at what is left: what a test scheduled is done before an early stop as well.
	ews_stops=$immediate
	immediate=
	# sharness' own, but for the last line
	test_failure_() {
		test_failure=$((test_failure + 1))
		say_color error "not ok $test_count - $1"
		printf '%s\n' "$2" | sed 's/^/#	/'
		sed -n 'H; /^expecting success: /h; ${ g; p; }' "$ews_root/said" | tail -n "+$(($(printf '%s\n' "$2" | wc -l) + 1))" | tail -n 40 | sed 's/^/# said:	/'
		test -z "$ews_stops" || { EXIT_OK=t && exit 1; }
	}
fi

# an ordinary user can not remove what such a directory holds
cleanup 'test "$(id -u)" = 0 || chmod -R u+rwX "$SHARNESS_TRASH_DIRECTORY" 2>/dev/null || :'

# Until a session was started: nothing that is there.
ws=$SHARNESS_TRASH_DIRECTORY/no-workspace
HOME=$SHARNESS_TRASH_DIRECTORY/home
GIT_CONFIG_NOSYSTEM=1
GIT_CEILING_DIRECTORIES=$(dirname "$SHARNESS_TRASH_DIRECTORY")
GIT_TERMINAL_PROMPT=0
export HOME GIT_CONFIG_NOSYSTEM GIT_CEILING_DIRECTORIES GIT_TERMINAL_PROMPT
mkdir "$HOME" && cat >"$HOME/.gitconfig" <<-\EOF || exit 1
	[user]
		name = A U Thor
		email = author@example.com
	[init]
		defaultBranch = main
	[gc]
		auto = 0
	[maintenance]
		auto = false
	[protocol "file"]
		allow = always
	[advice]
		detachedHead = false
EOF
