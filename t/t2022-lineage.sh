#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='snapshot list as a tree, drop from the middle, and what show --coverage says (P4, P8)'

. "$(dirname "$0")/test-lib.sh"

# make <text>: change the workspace, take a snapshot, its id is in $snap
make() {
	echo "$1" >>"${ws:?}/file" && snap=$(git -C p ews snapshot create -m "$1" s)
}

# tree <argument>...: the lines and the subjects of the list, and in `list` all of it
tree() {
	# the word is a verb here
	# shellcheck disable=SC2094
	git -C p ews snapshot list "$@" >list && sed -E 's/snap-[^ ]*.*  //' list | sed 's/ *$//'
}

test_expect_success 'setup: a base, two tries, the second in two steps' '
	test_repo p && start_ws p s -m base && make "try one" && one=$snap && make "and on" && on=$snap && git -C p ews revert s >out && make "try two" && two=$snap && echo more >"${ws:?}/more" && rm "${ws:?}/run.sh" && make three && three=$snap
'

test_expect_success 'list draws a tree, on a terminal and in a pipe alike' '
	cat >want <<-\EOF &&
	┬ base
	├─┬ try one
	│ └ and on
	├ try two
	└ three
	EOF
	tree s | sed "s/\([┬├└─]\)  */\1 /" >got && test_cmp want got && test_grep "seconds* .* bytes .* 1 change  *try two\$" list && test_grep "3 changes  *three\$" list && test_grep " -  *base\$" list &&
	script -qec "git -C p -c core.pager=cat ews snapshot list --color=never s" /dev/null </dev/null | tr -d "\r" | sed -E "s/ *[0-9]+ seconds? */ N /" >terminal && sed -E "s/ *[0-9]+ seconds? */ N /" list >piped && test_cmp piped terminal
'

test_expect_success '--json has parent, age, size and changes of each' '
	git -C p ews snapshot list --json s >out && test_json_count out .snapshots 5 && base=$(json out ".snapshots[0].snapshot_id") && test_json out ".snapshots[0].parent_id" null && test_json out ".snapshots[0].changes" null &&
	test_json out ".snapshots[1].parent_id" "$base" && test_json out ".snapshots[2].parent_id" "$one" && test_json out ".snapshots[3].parent_id" "$base" && test_json out ".snapshots[4].parent_id" "$two" && test_json out ".snapshots[4].changes" 3 &&
	test "$(json out ".snapshots[4].age_ms")" -ge 0 && test "$(json out ".snapshots[4].size_bytes")" -gt 600
'

test_expect_success 'P4: drop of one in the middle leaves the others whole, below the next ancestor, also when it is gone for good' '
	git -C p ews snapshot drop "$one" "$two" && printf "┬ base\n├── and on\n└ three\n" >want && tree s | sed "s/\([┬├└─]\)  */\1 /" >got && test_cmp want got && git -C p ews snapshot list --json s >out && test_json out ".snapshots[1].parent_id" "$base" &&
	test_json out ".snapshots[1].recorded_parent_id" "$one" && git -C p ews clean --now -q >out && git -C p gc -q --prune=now && test_must_fail git -C p ews snapshot show "$two" 2>err && tree s | sed "s/\([┬├└─]\)  */\1 /" >got && test_cmp want got &&
	git -C p ews snapshot verify --all && git -C p ews revert --to "$on" s >out && test_grep "Status: Verified" out
'

test_expect_success 'P8: where it cannot be read just now whose children they were none of them begins anew' '
	git -C p ews snapshot list s | sed "s/ [0-9]* sec.*//" >want && look=0 && while test_more_looks; do
		test_look EIO "/working/p/lineage$|/refs/ews/trash$" -C p snapshot list s >out 2>err && if test $code = 0; then sed "s/ [0-9]* sec.*//" out >got && test_cmp want got; fi || return 1
	done && test $look -gt 3 && test_grep . want
'

test_expect_success 'P4: likewise when several go one after the other' '
	make four && four=$snap && make five && five=$snap && make six && six=$snap && for id in "$four" "$five"; do
		git -C p ews snapshot drop "$id" && git -C p ews clean --now -q >out || return 1
	done && git -C p ews snapshot list --json s >out && test_json out ".snapshots[3].snapshot_id" "$six" && test_json out ".snapshots[3].parent_id" "$on"
'

test_expect_success 'a lineage that goes round, or is of nobody, is listed all the same' '
	a=$(git -C p rev-parse "refs/ews/snapshots/$on") && for pair in x:y y:x z:nobody; do
		id=snap-20260101-000000-00000${pair%:*} && parent=snap-20260101-000000-00000${pair#*:} && git -C p cat-file commit "$a" | sed "s|^Ews-Snapshot: .*|Ews-Snapshot: $id|; s|^Ews-Parent: .*|Ews-Parent: $parent|" >commit &&
		git -C p update-ref "refs/ews/snapshots/$id" "$(git -C p hash-object -t commit -w --stdin <commit)" || return 1
	done && git -C p ews snapshot list s >out && for id in x y z; do test_grep "snap-20260101-000000-00000$id" out || return 1; done && git -C p for-each-ref --format="delete %(refname)" "refs/ews/snapshots/snap-20260101*" | git -C p update-ref --stdin
'

test_expect_success 'P8: show --coverage says what is held, what is not, and why' '
	mkdir "${ws:?}/out" "${ws:?}/hollow" && echo product >"${ws:?}/out/product" && git init -q "${ws:?}/nested" && mkfifo "${ws:?}/pipe" && make covered && git -C p ews snapshot show --coverage "$snap" >out 2>err &&
	test_must_fail grep -v "^[a-z-]*	[^	]*\$" out && test_grep "^ignored	out\$" out && test_grep "note: held: .* files, 2 links, .* directories, 1 FIFO, .*the index" err && test_grep "note: ignored: a rule" err &&
	git -C p ews snapshot show --coverage --json "$snap" >out && test_json out .held.fifos 1 && test_json out .held.index true && test_json out ".held.git_state[0]" && test_json out ".skipped[0].reason" && test_json out ".skipped[0].why"
'

# listed <option>...: the ids alone, for how old they are is shown as well.
listed() {
	git -C many ews snapshot list "$@" >list.out && grep -o "snap-[0-9]*-[0-9]*-[0-9a-f]*" list.out
}

test_expect_success 'P8: whose a snapshot is is remembered, and not believed where that was damaged' '
	test_repo many && start_ws many a && start_ws many b && roster=$HOME/.superqode/working/many/roster && for s in a b a b a; do git -C many ews snapshot create $s >>ids.$s || return 1; done &&
	listed a >want.a && listed b >want.b && test_line_count = 4 want.a && test_line_count = 3 want.b && test -s "${roster:?}" && cp "${roster:?}" whole &&
	for how in "sed y/ab/ba/ whole" "head -n 2 whole" "head -c 99 /dev/urandom" "cat /dev/null" "tail -n 1 whole" "cat whole whole"; do
		$how >"${roster:?}" && for s in a b; do listed $s >got && test_cmp want.$s got || return 1; done || return 1
	done && cmp whole "${roster:?}" &&
	git -C many ews snapshot drop $(head -n 1 ids.a) && listed a >got && test_line_count = 3 got && listed a --trash >got && test_grep $(head -n 1 ids.a) got &&
	git -C many ews undo && listed a >got && test_cmp want.a got &&
	commit=$(git -C many rev-parse "refs/ews/snapshots/$(tail -n 1 ids.a)") && object=many/.git/objects/$(echo $commit | sed "s|^..|&/|") && mv "${object:?}" lost && rm "${roster:?}" &&
	git -C many ews snapshot list a >out 2>err && test_grep "^warning: damaged: .*$commit" err && mv lost "${object:?}" && git -C many pack-refs --all && listed b >got && test_cmp want.b got
'

test_done
