#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='The tools of the tests: what they assert, they notice'

. "$(dirname "$0")/test-lib.sh"

test_expect_success 'the program that was built comes first' '
	command -v git-ews >which &&
	echo "$EWS_BIN/git-ews" >want &&
	test_cmp want which
'

test_expect_success 'nothing of the caller is seen, and no repository is around' '
	test_must_fail git rev-parse --git-dir &&
	git config user.email >email &&
	echo author@example.com >want &&
	test_cmp want email &&
	test "${HOME#"$PWD"/}" = home
'

test_expect_success 'a path that begins with an empty variable harms nothing' '
	test_must_fail rm -r "$nothing/tmp" 2>err && test_grep "not the test.s own" err &&
	test_must_fail rm "$nothing/etc/passwd" 2>err
'

test_expect_success FENCED 'behind the fence nothing else can be written' '
	test_must_fail touch "$EWS_SRC/no" /usr/no /tmp/no "$nothing/no" 2>err &&
	test_line_count = 4 err
'

test_expect_success 'only a workspace of this test is taken' '
	mkdir -p spaces/one && echo "$PWD/spaces/one" >good && take_ws good && test "$ws" = "$PWD/spaces/one" &&
	ln -s one spaces/link && printf "a\nb\n" >two-lines &&
	for path in "" / /tmp /etc relative "$PWD" "$PWD/" "$PWD/spaces/../one" "$PWD/spaces/link" "$PWD/none" "$PWD/spaces/one/.."; do
		echo "$path" >bad && test_must_fail take_ws bad 2>err && test ! -e "$ws" && test -n "$ws" || return 1
	done &&
	echo "$PWD/spaces/one" >>bad && test_must_fail take_ws bad 2>err
'

test_expect_success 'test_repo makes the same commits each time, and leaves nothing open' '
	test_repo one 5 && test_repo two 5 &&
	git -C one status --porcelain >open &&
	test_must_be_empty open &&
	git -C one rev-list HEAD >a && git -C two rev-list HEAD >b &&
	test_line_count = 5 a &&
	test_cmp a b &&
	test_same_tree one two
'

test_expect_success 'test_same_tree sees content, mode, type, link and what is missing' '
	differs() {
		rm -rf copy && cp -a one copy && test_same_tree -t one copy &&
		(cd copy && eval "$1") &&
		test_must_fail test_same_tree one copy 2>/dev/null
	} &&
	differs "echo x >>src/main.c" &&
	differs "chmod 600 src/main.c" &&
	differs "ln -sf elsewhere link" &&
	differs "rm empty && mkdir empty" &&
	differs "rm empty" &&
	differs "mkdir more" &&
	differs "mv empty void"
'

test_expect_success 'with -t it sees times' '
	rm -rf copy && cp -a one copy &&
	touch -d "2001-01-01 00:00:00.000000001" copy/empty one/empty &&
	test_same_tree -t one copy &&
	touch -d "2001-01-01 00:00:00.000000002" copy/empty &&
	test_same_tree one copy &&
	test_must_fail test_same_tree -t one copy 2>/dev/null
'

test_expect_success XATTR 'it sees attributes' '
	rm -rf copy && cp -a one copy &&
	setfattr -n user.note -v x "copy/docs/with space" &&
	test_must_fail test_same_tree one copy 2>/dev/null
'

test_expect_success 'the lister: a line a path, whatever is in the name' '
	mkdir names &&
	touch "names/$(printf "new\nline")" "names/tab	here" "names/back\\slash" "names/$(printf "bad\377byte")" &&
	mkfifo names/fifo && ln -s "$(printf "a\nb")" names/link &&
	"$EWS_SRC/t/lister" -m names >list &&
	test_line_count = 7 list &&
	empty=e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 &&
	printf "%s\t%s\n" "new\\012line" "f 644 - 0 $empty" "tab	here" "f 644 - 0 $empty" "back\\134slash" "f 644 - 0 $empty" \
		"$(printf "bad\377byte")" "f 644 - 0 $empty" fifo "p 644 - 0 -" link "l 777 - 3 a\\012b" . "d 755 - - -" >some &&
	sort some >want &&
	test_cmp want list
'

test_expect_success 'the lister leaves out what it is told to' '
	"$EWS_SRC/t/lister" -x src -x docs/crlf.txt one >list &&
	test_grep ! "^src" list &&
	test_grep ! "^docs/crlf" list &&
	test_grep "^docs/dangling" list
'

test_expect_success 'the lister reads names beyond the limit of one path' '
	mkdir far &&
	(
		cd far && n=0 &&
		while test $n -lt 20
		do
			d=$(printf "%0250d" $n) && mkdir "$d" && cd -P "./$d" && n=$((n + 1)) || exit 1
		done &&
		echo far >file
	) &&
	"$EWS_SRC/t/lister" far >list &&
	grep "/file	" list >line &&
	test_grep " $(echo far | sha256sum | cut -c 1-64)" line
'

test_expect_success 'the fingerprint sees what a verb must not change' '
	project=$PWD/one && test_fingerprint "$project" >before &&
	sees() {
		cp -a one other && mv one kept && mv other one &&
		(cd one && eval "$1") && test_fingerprint "$project" >after &&
		rm -rf one && mv kept one &&
		! cmp -s before after
	} &&
	sees "touch src/main.c" &&
	sees "git config x.y z" &&
	sees "git update-index --chmod=+x empty" &&
	sees "git branch more" &&
	sees "git tag more" &&
	sees "echo >>.git/info/exclude" &&
	sees "mkdir -p .git/hooks && touch .git/hooks/post-checkout" &&
	sees "git checkout -q --detach" &&
	sees "git reflog expire --expire=all --all" &&
	sees "touch .git/index" &&
	sees "git stash list >new" &&
	sees "git worktree add -q ../theirs && rm -r ../theirs" &&
	test_fingerprint "$project" >after &&
	test_cmp before after
'

test_expect_success 'the fingerprint leaves out what promise P1 excepts' '
	(
		cd one && mkdir .superqode && touch .superqode/x &&
		git update-ref refs/ews/sessions/x HEAD && git pack-refs --all &&
		mkdir .git/ews && touch .git/ews/x && echo blob | git hash-object -w --stdin &&
		git worktree add -q --detach --lock --reason "ews session x" ../ours
	) &&
	test_fingerprint one >after &&
	test_cmp before after
'

test_expect_success 'the fingerprint of a plain directory, a bare repository and a linked worktree' '
	mkdir plain && touch plain/x && test_fingerprint plain >before && test_line_count = 2 before &&
	touch plain/x && test_fingerprint plain >after && test_must_fail cmp before after &&
	git clone -q --bare one bare.git && test_fingerprint bare.git >before &&
	git -C bare.git branch x && test_fingerprint bare.git >after && test_must_fail cmp before after &&
	test_fingerprint ours >before &&
	git -C ours checkout -q HEAD^ && test_fingerprint ours >after && test_must_fail cmp before after
'

test_expect_success 'test_json is strict, and finds its way' '
	cat >good <<-\EOF &&
	{"a": {"b": [1, "two\n", {"c.d": null}]}, "t": true, "e": [], "big": 9007199254740991}
	EOF
	test_json good && test_json good ".a.b[1]" "two" && test_json good ".a.b[2][\"c.d\"]" null &&
	test_json good .t true && test_json good .big 9007199254740991 &&
	test_json_count good .a.b 3 && test_json_count good .e 0 &&
	test_json_missing good .a.c && test_json_missing good ".e[0]" &&
	test_must_fail test_json good .a.c 2>/dev/null &&
	test_must_fail test_json good .t false 2>/dev/null &&
	test_must_fail test_json_missing good .t 2>/dev/null &&
	echo "{\"l\": [{\"k\": \"one\"}, {\"n\": 1}, {\"k\": \"two\"}]}" >list && test "$(json_where list .l .k "^tw")" = ".l[2]" &&
	test_must_fail json_where list .l .k three 2>/dev/null && test_must_fail json_where list .m .k one 2>/dev/null &&
	for bad in "{" "{} {}" "{\"a\":1,\"a\":2}" "{\"a\":\"$(printf "\001")\"}" "\"$(printf "\377")\"" ""
	do
		printf %s "$bad" >bad && test_must_fail test_json bad 2>/dev/null || return 1
	done
'

test_expect_success 'assertions on paths and text fail when they should' '
	no() {
		if "$@" 2>/dev/null; then echo >&2 "passed: $*"; return 1; fi
	} &&
	touch file && mkdir dir && ln -s dir link && ln -s nowhere dangling &&
	test_path_is_file file && no test_path_is_file dir && no test_path_is_file link &&
	test_path_is_dir dir && no test_path_is_dir link && no test_path_is_dir file &&
	test_path_is_link link dir && no test_path_is_link link file && no test_path_is_link dir &&
	test_path_is_missing none && no test_path_is_missing dangling && no test_path_is_missing file &&
	echo text >file && test_grep te file && no test_grep no file && test_grep ! no file && no test_grep ! te file &&
	no test_grep ! te missing && test_line_count = 1 file && no test_line_count = 2 file
'

test_expect_success USERS 'test_as_user is another, and writes only where it may' '
	test_as_user id -u >out && echo 65534 >want && test_cmp want out &&
	test_must_fail test_as_user touch "$PWD/no" 2>/dev/null &&
	mkdir theirs && test_give_user theirs && test_as_user touch theirs/yes
'

test_expect_success 'test_wait_for gives up' '
	test_wait_for 5 test -d dir && test_must_fail test_wait_for 0 false 2>/dev/null
'

test_expect_success '--immediate stops at a failure, and does what was scheduled' '
	mkdir -p nested/t && cp -R "$EWS_SRC/t/test-lib.sh" "$EWS_SRC/t/fence" "$EWS_SRC/t/sharness.d" nested/t/ &&
	cat >nested/t/t0000-fails.sh <<-\EOF &&
	test_description=fails
	. "$(dirname "$0")/test-lib.sh"
	test_expect_success passes true
	test_expect_success fails "test_when_finished \"echo scheduled\" && echo the reason && false"
	test_expect_success "is not reached" true
	test_done
	EOF
	test_must_fail sh nested/t/t0000-fails.sh --immediate >out 2>&1 &&
	grep "^[a-z ]*ok [0-9]" out >lines && printf "ok 1 - passes\nnot ok 2 - fails\n" >want && test_cmp want lines &&
	test_grep "said:.*the reason" out && test_grep "said:.*scheduled" out &&
	test_must_fail sh nested/t/t0000-fails.sh >out 2>&1 && test_grep "^ok 3" out
'

test_done
