#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='the manifest of many files is kept in pieces, which snapshots share (P2, P4)'

. "$(dirname "$0")/test-lib.sh"

# manifest_of <snapshot>: its manifest commit
manifest_of() {
	git -C p rev-parse "refs/ews/snapshots/$1^2"
}

# pieces_of <snapshot>: their ids, in order
pieces_of() {
	git -C p ls-tree --format="%(objectname)" "$(manifest_of "$1"):manifest"
}

# remake <snapshot> <entry>: it has the manifest that a line of ls-tree says, and nothing else is another
remake() (
	cd p && commit=$(git rev-parse "refs/ews/snapshots/$1") && manifest=$(git rev-parse "$commit^2") &&
		tree=$({ git ls-tree "$manifest" | grep -v "	manifest\$" && printf "%s\n" "$2"; } | git mktree --missing) &&
		old=$(git cat-file commit "$manifest" | sed "s,^tree .*,tree $tree," | git hash-object -t commit -w --stdin) &&
		new=$(git cat-file commit "$commit" | sed "/^Ews-Tree: /d; /^Ews-Manifest: /d; s,^parent $manifest\$,parent $old," | git hash-object -t commit -w --stdin) && git update-ref "refs/ews/snapshots/$1" "$new"
)

test_expect_success 'setup: a project of three thousand files, and a session' '
	test_repo p && (
		cd p && for dir in $(seq 30); do
			mkdir "$dir" && for file in $(seq 100); do echo "$dir $file" >"${dir:?}/file-$file.c" || return 1; done
		done && git add . && git commit -q -m many
	) && start_ws p s && first=$(git -C p ews snapshot create s)
'

test_expect_success 'P2: the pieces are a tree, in order; together they are the text' '
	git -C p ls-tree --format="%(objectmode) %(objecttype) %(path)" "$(manifest_of $first):manifest" >got && test_line_count -ge 4 got &&
	for i in $(seq 0 $(($(wc -l <got) - 1))); do printf "100644 blob %05d\n" $i; done >want && test_cmp want got &&
	for id in $(pieces_of $first); do git -C p cat-file blob "$id" || return 1; done >text && test "$(head -n 1 text)" = "ews-manifest 2" && test "$(grep -c " [0-9]*/file-[0-9]*\.c\$" text)" = 3000
'

test_expect_success 'P4: after one change a snapshot adds a few kilobytes, and shares the other pieces' '
	echo edit >>"${ws:?}/17/file-50.c" && second=$(git -C p ews snapshot create s) && pieces_of $first | sort >before && pieces_of $second | sort >after && comm -13 before after >new && test_line_count = 1 new &&
	rm "${ws:?}/1/file-7.c" && echo new >"${ws:?}/9/file-x.c" && third=$(git -C p ews snapshot create s) && pieces_of $third | sort >last && comm -13 after last >new && test_line_count -le 4 new && test_line_count -ge 1 new &&
	for id in $first $second; do git -C p rev-list --objects "refs/ews/snapshots/$id" | cut -d " " -f 1 | sort >"all.$id"; done && comm -13 "all.$first" "all.$second" | git -C p cat-file --batch-check="%(objectsize:disk)" >sizes &&
	test_line_count -ge 5 sizes && awk "{ n += \$1 } END { print n; exit n > 25000 }" sizes
'

test_expect_success 'P2, P8: what was left out is told as it is now, where it alone changed' '
	large() { for id in $(pieces_of "$1"); do git -C p cat-file blob "$id" || return 1; done | grep -a "^skip too-large .* big$"; } &&
	truncate -s 2G "${ws:?}/big" && sleep 0.03 && one=$(git -C p ews snapshot create --partial s) && one=$(git -C p ews snapshot create --partial s) && large "$one" >before && test_grep 2147483648 before &&
	truncate -s 3G "${ws:?}/big" && two=$(git -C p ews snapshot create --partial s) && large "$two" >after && test_grep 3221225472 after && rm "${ws:?}/big"
'

test_expect_success 'P2: what they say is read back: diff, verify, restore, revert' '
	git -C p ews diff --name-status $first $third >out && printf "D\t1/file-7.c\nM\t17/file-50.c\nA\t9/file-x.c\n" >want && test_cmp want out && git -C p ews snapshot verify $first $second $third &&
	chmod 600 "${ws:?}/9/file-9.c" && touch -d "2001-02-03 04:05:06" "${ws:?}/9/file-10.c" && fourth=$(git -C p ews snapshot create s) && git -C p ews revert s >out && test_grep "Status: Verified" out && git -C p ews snapshot restore $fourth s &&
	test "$(stat -c %a "${ws:?}/9/file-9.c")" = 600 && test "$(stat -c %y "${ws:?}/9/file-10.c" | cut -c 1-19)" = "2001-02-03 04:05:06" && test_path_is_missing "${ws:?}/1/file-7.c" && git -C p ews diff --exit-code $fourth now
'

test_expect_success 'P4: one that was kept as a single blob is read, and what comes after it is in pieces' '
	git -C p update-ref refs/kept "refs/ews/snapshots/$fourth" && for id in $(pieces_of $fourth); do git -C p cat-file blob "$id" || return 1; done >text && remake $fourth "100644 blob $(git -C p hash-object -w ../text)	manifest" &&
	git -C p ews snapshot verify $fourth && git -C p ews diff --exit-code $fourth now && git -C p ews revert s >out && git -C p ews revert s --to $fourth >out && test_grep "Status: Verified" out && test "$(stat -c %a "${ws:?}/9/file-9.c")" = 600 &&
	echo on >>"${ws:?}/1/file-1.c" && fifth=$(git -C p ews snapshot create s) && test "$(git -C p cat-file -t "$(manifest_of $fifth):manifest")" = tree && git -C p ews diff --name-only $fourth $fifth >out && echo 1/file-1.c >want && test_cmp want out
'

test_expect_success 'P2: names of one file are told by the first, so that a link less is in few pieces as well; they are read back' '
	ln "${ws:?}/10/file-1.c" "${ws:?}/10/other" && ln "${ws:?}/5/file-5.c" "${ws:?}/8/also" && ln "${ws:?}/5/file-5.c" "${ws:?}/9/a b" && a=$(git -C p ews snapshot create s) &&
	for id in $(pieces_of $a); do git -C p cat-file blob "$id" || return 1; done >text && test "$(head -n 1 text)" = "ews-manifest 3" && test "$(grep -c "@5/file-5.c" text)" = 2 && pieces_of $a | sort >before &&
	rm "${ws:?}/10/other" && b=$(git -C p ews snapshot create s) && pieces_of $b | sort >after && comm -13 before after >new && test_line_count -le 2 new && git -C p ews snapshot verify $a $b &&
	git -C p ews revert s >out && git -C p ews snapshot restore $a s && test "${ws:?}/10/file-1.c" -ef "${ws:?}/10/other" && test "${ws:?}/5/file-5.c" -ef "${ws:?}/8/also" && test "${ws:?}/5/file-5.c" -ef "${ws:?}/9/a b" &&
	git -C p ews diff --exit-code $a now && git -C p ews revert s --to $fifth >out && git -C p ews diff --exit-code $fifth now
'

# refused <snapshot> <what>: whoever reads it says so
refused() {
	test_expect_code 1 git -C p ews snapshot verify "$1" >out 2>err && test_grep "$2" out && test_must_fail git -C p ews diff "$1" now >out 2>err && test_grep "$2" err
}

test_expect_success 'P4: a piece that is missing, damaged or something else is named' '
	git -C p update-ref refs/kept "refs/ews/snapshots/$fifth" && git -C p ls-tree "$(manifest_of $fifth):manifest" >tree && back() { git -C p update-ref "refs/ews/snapshots/$fifth" refs/kept && git -C p ews snapshot verify $fifth; } &&
	as() { remake $fifth "040000 tree $(git -C p mktree --missing)	manifest"; } &&
	sed "/	00001\$/d" tree | as && refused $fifth "manifest.s piece 00001" && back && sed "\$d" tree | as && refused $fifth "hash" && back &&
	{ cat tree && sed -n "1s/00000/x/p" tree; } | as && refused $fifth "there is .x." && back && sed "s/	0000/	000/" tree | as && refused $fifth "there is .0000." && back &&
	sed "1s/.*/040000 tree $(git -C p rev-parse "HEAD^{tree}")	00000/" tree | as && refused $fifth "manifest.s piece 00000" && back && : | as && refused $fifth manifest && back &&
	{ sed -n "2s/00001/00000/p; 1s/00000/00001/p" tree && sed 1,2d tree; } | as && refused $fifth "manifest" && back &&
	git -C p ews doctor >out && test_grep ! "manifest is missing" out && gone=$(echo gone | git hash-object --stdin) && sed "2s, blob [0-9a-f]*, blob $gone," tree | as && refused $fifth "$gone" &&
	test_expect_code 1 git -C p ews doctor >out && test_grep "$fifth.*its manifest is missing" out && back
'

test_done
