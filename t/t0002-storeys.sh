#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='The house: includes go down the storeys or stay, without circles; names are unique'

. "$(dirname "$0")/test-lib.sh"

# storeys <tree>: no include goes up, or names no storey; no circle among the files
storeys() {
	(
		cd "$1" &&
			awk '
				BEGIN {
					n = split("base store work cmd", order)
					for (i = 1; i <= n; i++)
						rank[order[i]] = i
				}
				/^#include "/ {
					split(FILENAME, f, "/")
					split($2, h, /["\/]/)
					if (!(h[2] in rank) || rank[h[2]] > rank[f[2]]) {
						print FILENAME ": " $0
						bad = 1
					}
				}
				END { exit bad }' lib/*/*.[ch] &&
			awk '
				/^#include "/ {
					a = FILENAME
					sub(/^lib\//, "", a)
					sub(/\.[ch]$/, "", a)
					b = $2
					gsub(/"|\.h/, "", b)
					if (a != b)
						print a, b
				}' lib/*/*.[ch] >edges &&
			tsort edges >/dev/null
	)
}

test_expect_success 'a copy of the house' '
	mkdir house && cp -R "$EWS_SRC/lib" house/
'

# top <tree>: its directories, but for git's, those of builds, and those of sessions
top() {
	(cd "$1" && find . -mindepth 1 -maxdepth 1 -type d ! -name .git ! -name "build*" ! -name .superqode | sort | tr "\n" " ")
}

test_expect_success 'at the top there is what is said to be there' '
	test "$(top "$EWS_SRC")" = "./.ci ./contrib ./lib ./man ./t "
'

test_expect_success 'no include goes up and none goes round' '
	storeys house
'

test_expect_success 'an include that goes up is noticed' '
	cp -R house up &&
	echo "#include \"work/session.h\"" >>up/lib/base/error.h &&
	test_must_fail storeys up >out &&
	test_grep "lib/base/error.h.*work/session.h" out
'

test_expect_success 'an include that names no storey is noticed' '
	cp -R house none &&
	echo "#include \"error.h\"" >>none/lib/base/buf.c &&
	test_must_fail storeys none
'

test_expect_success 'a circle is noticed' '
	cp -R house round &&
	echo "#include \"base/one.h\"" >round/lib/base/two.h &&
	echo "#include \"base/two.h\"" >round/lib/base/one.h &&
	test_must_fail storeys round 2>err &&
	test_grep "base/one" err
'

test_expect_success 'the name of a file is unique in the tree' '
	for f in house/lib/*/*.c
	do
		basename "$f" || return 1
	done | sort >names &&
	uniq -d names >twice &&
	test_must_be_empty twice
'

test_expect_success 'one room knows libgit2' '
	grep -l -e "#include <git2" -e "#include \"store/odb_libgit2.h" "$EWS_SRC"/git-ews.c house/lib/*/*.[ch] >rooms &&
	printf "house/lib/store/%s\n" odb_libgit2.c odb_libgit2.h odb_libgit2_config.c odb_libgit2_guard.c odb_libgit2_lines.c odb_libgit2_merge.c odb_libgit2_refs.c >want &&
	test_cmp want rooms
'

# open_paths <file>...: paths whose beginning may be empty
open_paths() {
	sed 's/"$(dirname "$0")\/test-lib.sh"//' "$@" >lines &&
		grep -E '(^|[^\])\$(\{[a-z_][a-z0-9_]*\}|[a-z_][a-z0-9_]*|[0-9])"?/|(^|[ "'\''=>])\$\([^()]*\)"?/' lines
}

test_expect_success 'no path of a test begins with what may be empty' '
	test_must_fail open_paths "$EWS_SRC"/t/t[1-9]*.sh
'

test_expect_success 'a path that may be /x is noticed' '
	for line in "rm -r \"\$ws/x\"" "echo >\$ws/x" "rm -rf \"\$ws\"/*" "mv \${ws}/x y" "chmod 0 \"\$1/x\"" "echo >\"\$(cat out)/x\""
	do
		echo "$line" >bad && open_paths bad || return 1
	done &&
	echo "rm \"\${ws:?}/x\" \"\$PWD/x\"" >good && test_must_fail open_paths good
'

test_expect_success 'each file says its licence' '
	for f in "$EWS_SRC"/git-ews.c house/lib/*/*.[ch] "$EWS_SRC"/t/*.sh "$EWS_SRC"/t/unit/*.c
	do
		test_grep -q "SPDX-License-Identifier: MIT" "$f" || return 1
	done
'

test_done
