#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='a workspace from packed objects alone, thousands of them: in whatever order they are read, it is what git has'

. "$(dirname "$0")/test-lib.sh"

# Thousands of files with little in them, and what is alike in many directories and of all sizes: in the pack these are
# deltas of each other.
test_expect_success 'setup: a bare repository of thousands of files in one pack' '
	git init -q p && (
		cd p && awk "BEGIN {
			for (i = 1; i <= 4200; i++) { text = \"file \" i \"\n\"; printf \"blob\nmark :%d\ndata %d\n%s\n\", i, length(text), text }
			print \"commit refs/heads/main\ncommitter A <a@b> 1700000000 +0000\ndata 0\";
			for (i = 1; i <= 4200; i++) print \"M 100644 :\" i \" d\" i % 40 \"/e\" i % 7 \"/\" i; print \"\" }" |
			git fast-import --quiet && git reset -q --hard main &&
		for i in 1 2 3 4 5 6 7 8 9; do
			{ seq $((400000 + i)) && seq $i; } >"d${i:?}/large" && tac "d${i:?}/large" >"d${i:?}/other" &&
				{ seq 400 && echo $i && seq 500 900; } >"d${i:?}/Makefile" &&
				{ seq $((30000 + i)) && seq $i; } >"d${i:?}/middling" && ln -s "../d$((i + 1))" "d${i:?}/next" || exit 1
		done && : >empty && head -c 300000 /dev/urandom >noise && chmod +x noise && git add . && git commit -q -m one &&
		git rm -q -r d3 && echo two >>d4/Makefile && git commit -q -a -m two && git repack -a -d -f -q --depth=20
	) && git clone -q --bare p bare.git && test "$(find bare.git/objects/pack -name "*.pack" | wc -l)" = 1
'

# equal <workspace> <revision>: it has what git takes out of the repository, byte by byte.
equal() {
	rm -rf expect && mkdir expect && git -C p archive "$2" | tar -x -f - -C expect && diff -r --no-dereference --exclude=.git expect "$1" &&
		test -x "${1:?}/noise" && git -C "$1" status --porcelain >actual && test_must_be_empty actual
}

test_expect_success 'each commit is there whole' '
	git -C bare.git ews start latest >out && take_ws out && equal "$ws" HEAD &&
	git -C bare.git ews start --base HEAD~1 before >out && take_ws out && equal "$ws" HEAD~1
'

test_expect_success 'so it is on one processor' '
	taskset -c "$(taskset -cp $$ | sed "s/.*: //; s/[^0-9].*//")" git -C bare.git ews start --base HEAD~1 alone >out && take_ws out && equal "$ws" HEAD~1
'

test_expect_success 'what is written again by thousands comes back, too' '
	ws=$(git -C bare.git ews path before) && find "$ws" -type f -not -path "*/.git*" -size -20 -exec sh -c "for f; do echo x >>\"\$f\"; done" sh {} + &&
	git -C bare.git ews revert before >out && equal "$ws" HEAD~1
'

test_expect_success 'of two packs the one or the other has it' '
	git clone -q --bare p two.git && git -C p commit -q --allow-empty -m three && (
		cd p && for i in $(seq 5000); do echo "$i more" >>"d$((i % 2 + 20))/new-$i" || exit 1; done && git add . && git commit -q -m four &&
		git push -q ../two.git main
	) && git -C two.git config core.bare true && test "$(find two.git/objects/pack -name "*.pack" | wc -l)" = 2 &&
	git -C two.git ews start both >out && take_ws out && equal "$ws" HEAD
'

# damage <repository> <id> [<offset>]: the stream of the object, in the only pack that it is in, is another: no stream at all, or
# further on, where it has random bytes as they are, one of other bytes.
damage() {
	pack=$(find "${1:?}/objects/pack" -name "*.pack") && at=$(git -C "$1" show-index <"${pack%.pack}.idx" | sed -n "s/^\([0-9]*\) $2 .*/\1/p") &&
		chmod u+w "$pack" && printf "\377\377\377\377" | dd of="$pack" bs=1 seek=$((at + ${3-6})) conv=notrunc 2>/dev/null
}

test_expect_success 'where a pack is damaged nothing is there that is something else' '
	git clone -q --no-hardlinks --bare p damaged.git && id=$(git -C damaged.git rev-parse HEAD:noise) &&
	damage damaged.git "$id" && test_expect_code 1 git -C damaged.git ews start bad >out 2>err && grep "damaged" err && test_grep "^hint: .*git fsck" err &&
	git -C damaged.git ews list >list && ! grep bad list
'

test_expect_success 'what is damaged in one pack is taken from another' '
	git -C p archive "$(git -C damaged.git rev-parse HEAD)" | (rm -rf expect && mkdir expect && tar -x -f - -C expect) && for offset in 6 2000; do
		rm -rf other.git && git clone -q --no-hardlinks --bare p other.git && sound=$(find p/.git/objects/pack -name "*.pack") && damage other.git "$id" $offset &&
		test_must_fail git -C other.git ews start bad 2>err && grep damaged err && for first in a z; do
			for kind in pack idx; do cp "${sound%.pack}.$kind" "other.git/objects/pack/pack-$first.$kind" || return 1; done &&
			git -C other.git ews start "$first$offset" >out && take_ws out && diff -r --no-dereference --exclude=.git expect "$ws" && rm -f other.git/objects/pack/pack-$first.* || return 1
		done || return 1
	done
'

test_expect_success 'or from beside it' '
	git init -q beside && test "$(git -C p cat-file blob "$id" | git -C beside hash-object -w --stdin)" = "$id" &&
	cp -R beside/.git/objects/?? damaged.git/objects/ &&
	git -C damaged.git ews start well >out && take_ws out && git -C p archive HEAD | (rm -rf expect && mkdir expect && tar -x -f - -C expect) &&
	diff -r --no-dereference --exclude=.git expect "$ws"
'

test_done
