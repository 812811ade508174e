# Assertions on files and on JSON; each says on stderr why it fails.
#
# SPDX-License-Identifier: MIT
# shellcheck shell=sh

test_path_is_file() {
	test -f "$1" && test ! -h "$1" || {
		echo >&2 "not a file: $1"
		return 1
	}
}

test_path_is_dir() {
	test -d "$1" && test ! -h "$1" || {
		echo >&2 "not a directory: $1"
		return 1
	}
}

# says <text> <file>: that is all that the file says
says() {
	test "$1" = "$(cat "$2")" || { cat "$2" >&2 && return 1; }
}

# test_path_is_link <path> [<text>]
test_path_is_link() {
	test -h "$1" || {
		echo >&2 "not a symbolic link: $1"
		return 1
	}
	test $# -lt 2 || test "$(readlink "$1")" = "$2" || {
		echo >&2 "$1 points to '$(readlink "$1")', not '$2'"
		return 1
	}
}

test_path_is_missing() {
	test ! -e "$1" && test ! -h "$1" || {
		echo >&2 "there is something at: $1"
		return 1
	}
}

# test_line_count <op> <n> <file>, as in: test_line_count = 3 out
test_line_count() {
	test "$(wc -l <"$3")" "$1" "$2" || {
		echo >&2 "line count of $3 is not $1 $2:"
		cat >&2 "$3"
		return 1
	}
}

# test_grep [!] [<grep option>...] <pattern> <file>: like grep, but shows the file when it fails,
# and a missing file fails in both directions.
test_grep() {
	ews_want=0
	if test "$1" = "!"; then
		ews_want=1
		shift
	fi
	ews_code=0
	grep "$@" || ews_code=$?
	test $ews_code = $ews_want && return 0
	eval "ews_file=\${$#}"
	echo >&2 "grep $* gave $ews_code, not $ews_want; the file:"
	cat >&2 "$ews_file"
	return 1
}

# test_json <file> [<path> [<text>]]: it is JSON; has a value there; that value is <text>.
test_json() {
	ews_got=$("$EWS_BUILD/t/json" "$@") || {
		cat >&2 "$1"
		return 1
	}
	test $# -lt 3 || test "$ews_got" = "$3" || {
		echo >&2 "$2 is '$ews_got', not '$3'"
		return 1
	}
}

# test_json_missing <file> <path>: it is JSON, and has nothing there.
test_json_missing() {
	test_json "$1" || return 1
	if "$EWS_BUILD/t/json" "$1" "$2" 2>/dev/null; then
		echo >&2 "there is a value at $2"
		return 1
	fi
}

# test_json_count <file> <path> <n>: the array or object there has n members.
test_json_count() {
	ews_got=$("$EWS_BUILD/t/json" -n "$1" "$2") || return 1
	test "$ews_got" = "$3" || {
		echo >&2 "$2 has $ews_got members, not $3"
		return 1
	}
}

# json <file> <path>: print the value; strings as they are, other values as JSON.
json() {
	"$EWS_BUILD/t/json" "$@"
}

# json_where <file> <array> <key> <regexp>: the path of the first member whose <key> matches; the order says nothing then.
json_where() {
	ews_n=$("$EWS_BUILD/t/json" -n "$1" "$2") || return 1
	for ews_i in $(seq 0 $((ews_n - 1))); do
		"$EWS_BUILD/t/json" "$1" "$2[$ews_i]$3" 2>/dev/null | grep -q -e "$4" || continue
		echo "$2[$ews_i]"
		return 0
	done
	echo >&2 "none of $2 has a $3 that matches $4"
	return 1
}
