#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='README.md and lib/README.md: what they say is so'

. "$(dirname "$0")/test-lib.sh"

# The fenced examples of README.md: commands behind "$ ", what they print below.
tour() {
	awk '/^```console$/ { on = 1; next } /^```$/ { on = 0 } on' "$EWS_SRC/README.md"
}

# Run each command of the tour on stdin in one shell, from the home of the test on, and print what the tour shows.
# The first that fails ends it: the next might throw files away that it was to save.
follow() (
	cd "$HOME" && while IFS= read -r line; do
		case $line in
		'$ '*)
			printf '%s\n' "$line"
			eval "${line#??}" </dev/null 2>&1 || {
				echo "status $?"
				exit 1
			}
			;;
		esac
	done
)

# The repository that the tour clones: this one, or what of it is there without a history.
give_source() {
	mkdir -p home/src && git config --file home/.gitconfig safe.directory "*" &&
		if test -e "$EWS_SRC/.git"; then
			git clone -q --no-local "$EWS_SRC" home/src/git-ews
		else
			git init -q -b main home/src/git-ews && (
				cd "$EWS_SRC" && tar cf - LICENSE Makefile README.md git-ews.c lib t contrib
			) | (
				cd home/src/git-ews && tar xf - && git add . && git commit -q -m "All of it"
			)
		fi
}

# What is another one each time (ids, times, commits, hashes, sizes, the place of home) by one word, blanks by one; without what
# depends on the kernel.
normal() {
	sed -E -e "s|$HOME|/home/ada|g" \
		-e 's/qr-[0-9]{4}-[0-9]{2}-[0-9]{2}-/qr-<date>-/g' \
		-e 's/[0-9]{8}-[0-9]{6}-[0-9a-f]{6}/<id>/g; s/[0-9]{8}T[0-9]{6}\.[0-9a-f]{8}/<archive>/g' \
		-e 's/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z/<time>/g' \
		-e 's/[0-9]+ (second|minute)s?\b/<age>/' \
		-e 's/finding-[0-9a-f]{8}/finding-<id>/; s/ -[0-9]{3}\)/ -<lines>)/; s/[0-9.]+ KiB/<size>/' \
		-e 's/\b[0-9a-f]{64}\b/<hash>/g; s/\b([0-9a-f]{7,10}|[0-9a-f]{40})\b/<commit>/g' \
		-e '/^warning: kernel confinement unavailable/d' \
		-e 's/ +/ /g' "$1"
}

test_expect_success 'the tour of README prints what README says' '
	tour >tour && grep "^[$] git ews " tour >ours && test_line_count -ge 8 ours &&
	give_source && follow <tour >got && normal tour >want.normal && normal got >got.normal && test_cmp want.normal got.normal
'

test_expect_success 'a tour that says something else is noticed' '
	sed "s/Files restored: 3/Files restored: 4/" tour >wrong && test_must_fail cmp wrong tour && normal wrong >wrong.normal &&
	test_must_fail cmp wrong.normal got.normal &&
	printf "%s\n" "$ false" "$ echo reached" >failing && test_must_fail follow <failing >out && test_grep ! "^reached" out
'

test_expect_success 'README names the verbs that there are, and no other' '
	test_expect_code 129 git ews -h >usage && sed -n "s/^    \([a-z][a-z]*\) .*/\1/p" usage | sort >want && test -s want &&
	sed -n "/^## The verbs/,/^## What/s/^| \(\`[^|]*\`\) |.*/\1/p" "$EWS_SRC/README.md" | tr -d "\`" | tr -s ", " "\n" | sort >got &&
	test_cmp want got
'

test_expect_success 'what the pages link to is there' '
	for page in README.md lib/README.md; do
		grep -o "]([^)]*)" "$EWS_SRC/$page" | sed "s/^](//; s/)\$//; /^http/d" >links && while read -r link; do
			test -e "$(dirname "$EWS_SRC/$page")/$link" || { echo >&2 "$page: $link" && return 1; }
		done <links || return 1
	done
'

test_expect_success 'lib/README.md has a line for each file of each storey, and for no other' '
	(cd "$EWS_SRC/lib" && ls */*.[ch]) | sed "s/\.[ch]\$//" | sort -u >want && test -s want &&
	sed -n "s/^| \`\([a-z_]*\/[a-z_0-9]*\)\` |.*/\1/p" "$EWS_SRC/lib/README.md" | sort >got && test_cmp want got
'

test_expect_success 'each promise names tests that hold it: a title there begins with it' '
	sed -n "s/^| \*\*\(P[0-9]\)[^|]*|[^|]*| \(.*\) |\$/\1 \2/p" "$EWS_SRC/lib/README.md" >promises && test_line_count = 9 promises &&
	while read -r promise tests; do
		for name in $(echo "$tests" | grep -o "t[0-9]\{4\}"); do
			grep -q "test_expect_success.* .[P0-9, ]*$promise[:,]" "$EWS_SRC/t/$name"-*.sh || { echo >&2 "$name does not hold $promise" && return 1; }
		done
	done <promises
'

test_done
