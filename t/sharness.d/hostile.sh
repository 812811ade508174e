# Commands that are given something hostile: they end by themselves, and what lies outside stays as it is.
#
# SPDX-License-Identifier: MIT
# shellcheck shell=sh

# says_no <command>...: it ends by itself with 1, 128 or 129, and gives no answer.
says_no() {
	code=0
	timeout 20 "$@" >out 2>err || code=$?
	case $code in
	1 | 128 | 129) test_must_be_empty out && test -s err ;;
	*)
		echo >&2 "$*: status $code"
		cat >&2 err
		return 1
		;;
	esac
}

# ends <command>...: whatever it says, it ends by itself, and not by a signal.
ends() {
	code=0
	timeout 20 "$@" >out 2>err </dev/null || code=$?
	case $code in
	0 | 1 | 128 | 129) ;;
	*)
		echo >&2 "$*: status $code"
		cat >&2 err
		return 1
		;;
	esac
}

# denied <words> <directory> <verb>...: it is refused there, in these words, with a hint, and gives no answer.
denied() {
	words=$1 dir=$2 code=0
	shift 2
	git -C "$dir" ews "$@" >out 2>err || code=$?
	case $code in 1 | 128) test ! -s out ;; *) false ;; esac && grep -q "^error: .*$words" err && grep -q "^hint: " err && return 0
	echo >&2 "$*: status $code, not: $words"
	cat >&2 err
	return 1
}

# see_outside, outside_is_whole: nothing has changed in the directory "outside" since.
see_outside() {
	"$EWS_BUILD/t/lister" outside >outside.want
}

outside_is_whole() {
	"$EWS_BUILD/t/lister" outside >outside.got && test_cmp outside.want outside.got
}
