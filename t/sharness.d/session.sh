# Workspaces to work in: a path is used only when it is one that a test may write to.
#
# SPDX-License-Identifier: MIT
# shellcheck shell=sh

# ews <argument>...: in the project p
ews() {
	git -C p ews "$@"
}

# take_ws <file> [<name>]: the path of a workspace that is the only line of <file>, into the variable
# ws, or <name>. It must be a directory, no link, below the test's own; until then the variable names nothing.
take_ws() {
	ews_path=$(cat "$1") || return 1
	eval "${2:-ws}=\$SHARNESS_TRASH_DIRECTORY/no-workspace"
	case $ews_path in
	*/.. | */../* | *'
'*) ;;
	"$SHARNESS_TRASH_DIRECTORY"/?*)
		if test -d "$ews_path" && test ! -h "$ews_path"; then
			eval "${2:-ws}=\$ews_path"
			return 0
		fi
		;;
	esac
	echo >&2 "not a workspace of this test: '$ews_path'"
	return 1
}

# start_ws [-n <name>] <project> [<argument of start>...]: start a session there, and take its workspace;
# what was printed is in the files out and err.
start_ws() {
	ews_name=ws
	if test "$1" = -n; then
		ews_name=$2
		shift 2
	fi
	eval "$ews_name=\$SHARNESS_TRASH_DIRECTORY/no-workspace"
	ews_project=$1
	shift
	git -C "$ews_project" ews start "$@" >out 2>err || {
		ews_code=$?
		cat >&2 err
		return $ews_code
	}
	take_ws out "$ews_name"
}

# interrupt_revert <repo> <session>: the session's last revert is one that was killed before its end;
# <repo> is the project's name in home.
interrupt_revert() {
	ews_working=$HOME/.superqode/working/$1
	ews_record=$(grep -l "\"session\":	\"$2\"" "$ews_working"/undo/op-*.json | tail -n 1) && test_grep -q "\"verb\":	\"revert\"" "$ews_record" &&
		sed -i "s/\"state\":	\"[a-z]*\"/\"state\":	\"planned\"/" "$ews_record" && echo "begin $(basename "$ews_record" .json) revert" >>"$ews_working/sessions/$2/journal"
}
