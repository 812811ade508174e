#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='archive diff: what lies between archives or directories, in git'\''s own words (P7, P8)

The second half does what people do with snapshots of a workspace while an agent works in it.'

. "$(dirname "$0")/test-lib.sh"

# arch <argument>...: run it, show what it says when it fails; one <argument>... takes what it prints into $one
arch() {
	git-ews archive "$@" >out 2>err || {
		ews_code=$?
		cat err >&2
		return $ews_code
	}
}

one() {
	arch "$@" && one=$(cat out)
}

test_expect_success 'setup: two states with every kind of change, one of them between text and binary' '
	test_repo a && rm -rf a/.git a/.gitignore && printf -- "-- c\n++ d\nselect\n" >a/q.sql && printf "a\fb\rc\342\200\250d\n" >a/odd && printf "text\n" >a/kind && printf "\000\001" >a/pic && mkdir a/gone a/swap && echo x >a/swap/in && echo "{}" >a/config.json && head -c 9000 /dev/zero | tr "\0" x >a/late && printf "\000tail\n" >>a/late && ln a/q.sql a/twin &&
	cp -a a b && printf "select\n" >b/q.sql && printf "a\fb\rC\342\200\250d\n" >b/odd && printf "\000bin" >b/kind && printf "\000\002" >b/pic && chmod 755 b/pic && rm -r b/swap b/gone b/empty && ln -s q.sql b/swap && echo "{ }" >b/config.json && echo more >>b/late && mkdir b/new && chmod 600 b/src/main.c && rm b/link && echo file >b/link && printf "no newline" >b/src/numbers && mv b/docs/crlf.txt b/moved.txt && echo new >b/-n && mkfifo b/pipe &&
	one create a --compress zstd && a=$one && one create b --compress none && b=$one
'

test_expect_success 'P7: the patch is git'\''s, applies, and gives the other tree; so do counts, names and modes' '
	git-ews archive diff "$a" "$b" >patch 2>err && test_grep "^warning: not in the patch: gone (empty directory removed)" err && test_grep "new (empty directory)" err && test_grep "pipe (fifo)" err && test_grep "main.c (mode 0644 to 0600)" err &&
	rm -rf c && cp -a a c && (cd c && git init -q && git add -A && git commit -qm a && git apply --check ../patch && git apply ../patch && git add -A && git diff --cached --no-renames --numstat >../want) 2>apply.err && rm -rf c/.git && chmod 600 c/src/main.c && test_same_tree -x gone -x new -x pipe b c && git-ews archive diff "$b" "$a" 2>err >back && (cd c && git init -q && git apply ../back) 2>apply.err && rm -rf c/.git && chmod 644 c/src/main.c && test_same_tree -x gone a c &&
	git-ews archive diff --numstat "$a" "$b" >got 2>err && test_cmp want got && test_grep "^0	2	q.sql$" got && test_grep "^1	0	late$" got && test_grep "^1	1	odd$" got &&
	for how in "" --exit-code "--changes summary" "--stat -M" "--name-status -z"; do git-ews archive diff $how "$a" "$b" >"out.${how%% *}" 2>err || test "$how" = --exit-code || return 1; done && test_cmp patch out. && test_cmp patch out.--exit-code && test_grep "rename\|=>" out.--stat && test_grep "^Changes: 15 file" out.--changes && arch diff "$a" "$b" -- config.json && git-ews archive diff --exit-code --diff-filter=A "$a" "$b" -- late >got && test_must_be_empty got && test_expect_code 1 git-ews archive diff --exit-code "$a" "$b" -- late >got && test_expect_code 129 git-ews archive diff --changes files -w "$a" "$b" 2>err && test_grep "^+{ }" out && test_grep ! "q.sql" out
'

test_expect_success 'P7: so is a patch of so many files that more than one git makes it' '
	mkdir many && for i in $(test_seq 1 100); do echo $i >many/$i || return 1; done && cp -a many other && for i in $(test_seq 1 100); do echo more >>other/$i || return 1; done &&
	git-ews archive diff many other >many.patch && (cd many && git init -q && git apply ../many.patch) && rm -rf many/.git && test_same_tree many other && test "$(grep -c ^diff many.patch)" = 100
'

test_expect_success 'created, deleted and modified; binaries with their sizes, modes; JSON has no less than the patch' '
	arch diff --json --changes diff "$a" "$b" && mv out json && test_json json .schema ews.archive_diff/1 && test_json json .additions 3 && test_json json .deletions 3 && test_json json .modifications 9 && test_json json .renames 0 && test_json json .from "$a" && git-ews archive show --json "$b" >show && test_json json .to_checksum "$(json show .checksum)" && test_json json .to_timestamp &&
	n=0 && while test "$(json json ".changes[$n].file_path")" != kind; do n=$((n + 1)); done && test_json json ".changes[$n].change_type" modified && test_json json ".changes[$n].is_binary" true && test_json json ".changes[$n].old_size" 5 && test_json json ".changes[$n].new_size" 4 && test_json json ".changes[$n].original_hash" "sha256:$(sha256sum <a/kind | cut -d " " -f 1)" && test_json json ".changes[$n].modified_hash" "sha256:$(sha256sum <b/kind | cut -d " " -f 1)" &&
	while test "$(json json ".changes[$n].file_path")" != pic; do n=$((n + 1)); done && test_json json ".changes[$n].is_binary" true && test_json json ".changes[$n].original_mode" 100644 && test_json json ".changes[$n].modified_mode" 100755 && test_json json ".changes[$n].diff_text" && json json .diff_text_bytes | base64 -d >got && test_cmp patch got &&
	arch diff --shortstat "$a" "$b" && says "+3 -3 ~9 files" out
'

test_expect_success 'P9: no config, attribute or environment bends it' '
	printf "%s\n" "[diff]" "noprefix = true" "external = false" "mnemonicPrefix = true" "renames = copies" "[core]" "quotePath = false" "autocrlf = true" "[color]" "ui = always" >evil && echo "* diff=x -text" >b/.gitattributes && (GIT_CONFIG_GLOBAL=$PWD/evil GIT_EXTERNAL_DIFF=false GIT_DIFF_OPTS=-u0 GIT_DIR=/nowhere && export GIT_CONFIG_GLOBAL GIT_EXTERNAL_DIFF GIT_DIFF_OPTS && unset GIT_DIR && git-ews archive diff "$a" "$b") >got 2>err && test_cmp patch got && rm b/.gitattributes && { ls "${TMPDIR:-/tmp}" | grep "^ews-objects\|^ews-member" >left || :; } && test_must_be_empty left
'

test_expect_success 'against a directory, by the rules of the archive; two directories; what is damaged is an error' '
	arch diff "$a" b && test_cmp patch out && arch diff a b && test_cmp patch out && one create a --keep "*.sql" --to kept && arch diff --name-only "$one" b && says q.sql out && arch diff --name-only b "$one" && says q.sql out && test_expect_code 128 git-ews archive diff "$a" nosuch 2>err && test_expect_code 129 git-ews archive diff "$a" b a 2>err && test_expect_code 129 git-ews archive diff "$a" 2>err && test_expect_code 129 git-ews archive diff --ext-diff a b 2>err &&
	cp "$b" bad.tar && offset=$(grep -abo -m 1 "{ }" bad.tar | head -n 1 | cut -d : -f 1) && printf "[ ]" | dd of=bad.tar bs=1 seek=$offset conv=notrunc 2>dd && test_expect_code 1 git-ews archive diff "$a" bad.tar >out 2>err && test_grep "config.json" err
'

test_expect_success 'what was expected: status 0 and nothing, or 1 and the surprises' '
	test_expect_code 1 git-ews archive diff --expect "M config.json" --expect "A *.txt" --expect "D docs/*" --expect "M swap" --expect "D swap/in" --expect "D empty" --expect "D gone" --expect "A new" --expect "A pipe" --expect "A swap" --no-deletions "$a" "$b" >out && says "swap: should be modified, is created" out &&
	arch diff --expect "M config.json" --expect "M src/numbers" "$a" "$b" && test_must_be_empty out && test_expect_code 1 git-ews archive diff -z --expect "M config.json" --no-deletions "$a" "$b" >out && tr "\0" "\n" <out | sort >got && printf "%s\n" docs/crlf.txt empty gone swap/in | test_cmp - got && test_expect_code 1 git-ews archive diff --expect "M config.json" --no-deletions "$a" "$b" >out && sort out >got && printf "%s: is deleted\n" docs/crlf.txt empty gone swap/in | test_cmp - got && arch diff --expect "M src/main.c" "$a" "$b" && test_expect_code 1 git-ews archive diff --expect "M new" "$a" "$b" >out && says "new: should be modified, is created" out && test_expect_code 1 git-ews archive diff --no-deletions b a >out && test_grep "^pipe: is deleted$" out && arch diff --no-deletions --expect "D **" b a && test_expect_code 1 git-ews archive diff --expect "M nothing" "$a" "$b" >out && says "nothing: should be modified, is unchanged" out &&
	test_expect_code 1 git-ews archive diff --json --expect "D config.json" --expect "A nothing" "$a" "$b" >out && test_json out .as_expected false && test_json out ".surprises[0].path" config.json && test_json out ".surprises[0].what" "should be deleted, is modified" && test_json_count out .surprises 2 && for bad in "config.json" "X y" "M" "M "; do test_expect_code 129 git-ews archive diff --expect "$bad" "$a" "$b" 2>err || return 1; done
'

test_expect_success 'what one side has is not hidden as ignored in the other; what one could not read is no deletion' '
	git init -q tracked && printf "*.log\nbuild/\n" >tracked/.gitignore && mkdir tracked/build tracked/venv && for f in t.log c.pyc build/kept venv/v; do echo "$f" >tracked/$f || return 1; done && git -C tracked add -f . && echo junk >tracked/build/junk && one create tracked && rm -rf plain && arch extract --to plain "$one" && echo junk >plain/junk.log && arch diff --exit-code "$one" plain && arch diff --exit-code plain "$one" && arch diff --exit-code tracked plain && arch diff --exit-code plain tracked && test_must_be_empty out &&
	rm plain/t.log && arch diff --name-status "$one" plain && printf "D\tt.log\n" | test_cmp - out
'

test_expect_success USERS 'P8: what one side could not read is no deletion: it is named' '
	mkdir closed shelf && echo 1 >closed/f && echo 2 >closed/g && chmod 000 closed/f && test_give_user closed shelf && test_as_user git-ews archive create "$PWD/closed" --to "$PWD/shelf" >out 2>err && half=$(cat out) && chmod 644 closed/f && arch diff --no-deletions closed "$half" && test_must_be_empty out && arch diff --name-status closed "$half" && test_must_be_empty out && test_grep "f (unreadable)" err && arch diff --name-status "$half" closed && test_must_be_empty out && test_grep "f (the first could not be read)" err
'

# What people do with snapshots, one after the other.

test_expect_success 'a snapshot has its checksum, the paths that match, and its time; a filter says which' '
	mkdir -p ws/__pycache__ && echo "print(1)" >ws/main.py && echo "# r" >ws/r.md && echo x >ws/x.pyc && echo y >ws/__pycache__/y && one create ws --env ENV_VAR=value --compress gz --keep "*.py" --keep "*.md" --ignore "*.pyc" --ignore "__pycache__/*" && arch show --json "$one" &&
	test_json out .checksum && test_json out .timestamp && test_json out .env.ENV_VAR value && test_grep "\"matched_paths\":\[\"main.py\",\"r.md\"\]" out && one create ws --keep "*.py" --keep "*.md" --keep "**/*.py" && arch show --json "$one" && test_grep "\"matched_paths\":\[\"main.py\",\"r.md\"\]" out &&
	mkdir -p ws/src/__pycache__ ws/tests ws/node_modules ws/.venv ws/.git && for f in src/a.py src/__pycache__/b.py tests/t.py node_modules/n.py .venv/v x.log .git/HEAD; do echo 1 >ws/$f || return 1; done && one create ws --keep "src/**/*.py" --keep "tests/**/*.py" --ignore "**/__pycache__/*" --ignore "*.pyc" && arch show --json "$one" && test_grep "\"matched_paths\":\[\"src/a.py\",\"tests/t.py\"\]" out &&
	one create ws --ignore "*.pyc" --ignore "__pycache__/*" --ignore ".venv/*" --ignore "*.log" --ignore ".git/*" && arch show --json "$one" && test_grep "\"matched_paths\":\[\"main.py\",\"node_modules/n.py\",\"r.md\",\"src/a.py\",\"tests/t.py\"\]" out && one create ws --compress xz --keep "src/**/*.py" --ignore "**/*.pyc" --ignore "**/node_modules/*" && arch show --json "$one" && test_grep "\"matched_paths\":\[\"src/a.py\"\]" out && rm -rf ws/.git
'

test_expect_success 'before and after: how many, which, and the diff of each' '
	one create ws && before=$one && echo "print(2)" >>ws/main.py && echo new >ws/new.py && echo new >ws/other.md && rm ws/r.md && one create ws && after=$one && arch diff --shortstat "$before" "$after" && says "+2 -1 ~1 files" out && arch diff --name-status "$before" "$after" && printf "M\tmain.py\nA\tnew.py\nA\tother.md\nD\tr.md\n" | test_cmp - out &&
	arch diff --numstat "$before" "$after" && test_grep "^1	0	main.py$" out && test_grep "^0	1	r.md$" out && arch diff --json --changes diff "$before" "$after" && test_json out ".changes[0].change_type" modified && test_json out ".changes[0].lines_added" 1 && test_json out ".changes[0].diff_text" && test_json_count out .files_added 2 && arch diff "$before" "$after" -- main.py && test_grep "^+print(2)" out && test_grep "^@@ -1 +1,2 @@" out
'

test_expect_success '--shortstat is one line, whatever only shapes a patch; what finds renames is for what git prints' '
	mkdir named && seq 9 >named/list && one create named && before=$one && mv named/list named/list2 && one create named && after=$one && arch diff --shortstat "$before" "$after" && mv out want && for how in --color-moved --word-diff -W --histogram; do
		arch diff --shortstat $how "$before" "$after" && test_cmp want out || return 1
	done && arch diff --shortstat --name-status "$before" "$after" && printf "A\tlist2\nD\tlist\n" | sort - want >both && sort out | test_cmp both - && arch diff -M --name-status "$before" "$after" && test_grep "^R100" out &&
	for how in "--shortstat -M" "--shortstat -w" "--json -M" "--json --find-renames" "--changes files -M"; do test_expect_code 129 git-ews archive diff $how "$before" "$after" >err 2>&1 && test_grep "is for what git prints" err || return 1; done &&
	for how in --raw "--numstat -z"; do arch diff -M $how "$before" "$after" && tr "\0" " " <out | test_grep "list.*list2" - || return 1; done
'

test_expect_success 'assertions, checkpoints in a series, archives that stay where they are put and are cleaned up' '
	echo "{}" >ws/config.json && one create ws --to snapshots && setup=$one && case $setup in "$PWD/snapshots/"*.ws.tar.gz) ;; *) false ;; esac && echo "{ }" >ws/config.json && one create ws --to snapshots && after_setup=$one && echo 3 >ws/three && rm ws/main.py && one create ws --to snapshots && complete=$one && arch diff --expect "M config.json" --no-deletions "$setup" "$after_setup" && test_must_be_empty out &&
	test_expect_code 1 git-ews archive diff --no-deletions "$after_setup" "$complete" >out && says "main.py: is deleted" out && arch diff --series --shortstat "$setup" "$after_setup" "$complete" && sed "s/^[0-9a-f]* -> [0-9a-f]*, //" out >got && printf "+0 -0 ~1 files\n+1 -1 ~0 files\n" | test_cmp - got && arch diff --series "$setup" "$after_setup" "$complete" && rm -rf d && arch extract --to d "$setup" && arch diff --series "$setup" "$after_setup" "$complete" && mv out series && (cd d && git init -q && git apply ../series && rm -rf .git) && test_same_tree -x x.pyc -x __pycache__ -x src/__pycache__ -x .venv ws d &&
	arch diff --series --json "$setup" "$after_setup" "$complete" ws && test_json_count out .diffs 3 && test_json out ".diffs[2].total_changes" 0 && arch remove --force "$setup" && test_path_is_missing "$setup" && arch remove --force "$setup"
'

test_expect_success 'a session: what an agent did in its workspace, logged; the workspace stays the same one' '
	git init -q p && echo base >p/f && git -C p add f && git -C p commit -qm one && start_ws p s && git -C p ews archive create s >out && before=$(cat out) && git -C p ews run s -- sh -c "echo work >>f && echo new >g" >out 2>err && git -C p ews archive create --update "$before" --json >out && test_json out .previous "$before" && after=$(json out .archive) && git -C p ews archive diff "$before" "$after" --changes files >out && test_grep "^Changes: 2 file(s) (+2 -0)" out && test_grep "^- A  g" out && test_grep "^- M  f" out &&
	git -C p ews revert s >out && take_ws_again=$(git -C p ews path s) && test "$take_ws_again" = "$ws" && git -C p ews archive diff "$before" "$ws" --shortstat >out && says "+0 -0 ~0 files" out &&
	head -c 200000 /dev/urandom >"${ws:?}/large" && kib() { git -C p count-objects -v | sed -n "s/^size: //p"; } && git -C p ews snapshot create s >out && full=$(kib) && for n in 1 2 3 4 5 6 7 8 9 10; do git -C p ews snapshot create s >out || return 1; done && test "$(kib)" -lt $((full + 100)) && git -C p ews end s >out 2>err
'

test_expect_success 'a session'\''s rules for fixtures outside of one: a spec with ignores, compression, place and static assets' '
	mkdir -p fix/assets && echo data >fix/assets/data && echo code >fix/code.py && echo log >fix/run.log && printf "%s\n" "ignore: [\"*.log\"]" "compress: bz2" "location: fixtures" "static_assets: {data: assets/data}" >env.yaml && one create fix --spec env.yaml && case $one in "$PWD/fixtures/"*.fix.tar.bz2) ;; *) false ;; esac && arch show --json "$one" && test_grep "\"matched_paths\":\[\"code.py\"\]" out && test_json out ".other_paths[0].path" assets/data && git-ews archive cat "$one:code.py" >got && says code got
'

test_expect_success 'P7, P8: what is too large for a patch is named, and all the rest is in it' '
	mkdir -p small.d large.d && echo 1 >small.d/f && echo 2 >large.d/f && echo 1 >small.d/g && echo 2 >large.d/g && truncate -s 512M large.d/big && git-ews archive diff small.d large.d >out 2>err && echo "warning: not in the patch: big (too large for a patch)" | test_cmp - err &&
	grep "^diff --git" out >got && printf "%s\n" "diff --git a/f b/f" "diff --git a/g b/g" | test_cmp - got && rm large.d/big
'

test_expect_success 'in a home whose path has a newline, too' '
	mkdir lines.d && echo 1 >lines.d/f && (SUPERQODE_HOME="$PWD/lines
home" && export SUPERQODE_HOME && one create lines.d && echo 2 >lines.d/f && arch diff --name-only "$one" lines.d && echo f | test_cmp - out)
'

test_done
