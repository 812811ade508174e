#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='apply: the work comes home, all of it or nothing (P1, P4, P5, P7, P8, P9)'

. "$(dirname "$0")/test-lib.sh"

# All of a project that a refused apply must leave: files, refs, index, config.
state_of() {
	test_fingerprint "$1"
}

odd1=$(printf 'new\nline')
odd2=$(printf 'by\377te')
odd3=$(printf 'tab\tname')

more_files() {
	seq 1 40 >lines && printf 'one\r\ntwo\r\nthree\r\n' >crlf && printf 'no end' >no-end && mkdir deep && echo f >deep/f &&
		ln -s lines sym && echo odd >"$odd1" && printf 'bytes' >"$odd2" && git add -A && git commit -qm more &&
		echo mine >>README && echo untracked >untracked
}

all_changes() {
	sed -i 's/^5$/five/' lines && printf 'one\r\ntwo\r\n3\r\n' >crlf && printf 'still none' >no-end &&
		rm -r deep && echo file >deep && rm sym && mkdir sym && echo in >sym/in && mv "$odd1" "$odd3" &&
		printf 'more' >>"$odd2" && printf '\0\1\2' >binary && chmod 755 lines && chmod 600 untracked && mkdir hollow &&
		mkdir -p new/dir && ln -s ../none new/dir/link && mkfifo new/fifo && ln lines joined
}

test_expect_success 'setup: a session with all kinds of change' '
	test_repo p && (cd p && more_files) && start_ws p work && all=$ws && (cd "$all" && all_changes) &&
	files_of "$all" >all.want && files_of p >p.was && state_of p >p.state
'

test_expect_success 'P1: --check shows stat and names, and changes nothing' '
	git -C p ews apply --check work >out 2>err && test_grep "lines " out && test_grep "create mode 100644 binary" out &&
	test_grep "files changed" out && git -C p ews apply -z --check work >out && test_grep -a "by" out &&
	git -C p ews apply --json --check work >out && test_json out .dry_run true && test_json out .applied false &&
	test_json out .schema ews.apply/1 && state_of p >got && test_cmp p.state got && git -C p ews undo --list >out && test_grep ! apply out
'

test_expect_success 'P8: apply and its --check say what they change that no git tree tells of, a line a path' '
	test_repo beyond && start_ws beyond b && (cd "${ws:?}" && chmod 600 src/numbers && mkdir hollow "$odd3" && mkfifo fifo && ln run.sh ran && chmod 700 docs && mkdir -m 750 new && echo in >new/in) && { ! test_have_prereq XATTR || setfattr -n user.ews -v 1 "${ws:?}/docs/crlf.txt"; } &&
	{ ! test_have_prereq XATTR || echo "docs/crlf.txt (extended attributes)"; printf "%s\n" "docs (mode 0755 to 0700)" "fifo (fifo)" "hollow (empty directory)" "new (mode 0750)" "ran (hard link to run.sh)" "src/numbers (mode 0644 to 0600)" "\"tab\\tname\" (empty directory)"; } | sort >want &&
	git -C beyond ews apply --check --json b >json && test_json_count json .not_in_patch $(wc -l <want) && json json .touched | grep -o "\"[^\"]*\"" >touched && sed "s/ (.*//; s/^\([^\"].*\)$/\"\1\"/" want >paths && test -s paths && while IFS= read -r path; do grep -qxF "$path" touched || return 1; done <paths &&
	git -C beyond ews apply --check b >out && test_grep "new/in" out && sed -n "s/^also: //p" out | sort >got && test_cmp want got && git -C beyond ews apply b >out 2>err && test_grep "^Changes: 2 file" out && sed -n "s/^also: //p" out | sort >got && test_cmp want got && git -C beyond ews undo &&
	chmod 600 beyond/src/numbers && git -C beyond ews apply -z b >out && tr "\0" "\n" <out >lines && test_grep "also: (fifo) fifo$" lines && test_grep ! "src/numbers" lines && test_grep "(empty directory) $odd3" lines && git -C beyond ews apply b >out 2>err && test_must_be_empty out
'

test_expect_success 'P7: apply gives the agent'\''s tree, with types, modes, names and links; HEAD and index stay' '
	git -C p ews apply work >out 2>err && test_grep "Applied" out && test_grep "Changes: " out && test_grep "ews undo" err &&
	files_of p >got && test_cmp all.want got && test "$(stat -c %i p/lines)" = "$(stat -c %i p/joined)" &&
	git -C p diff --cached --exit-code && git -C p ews apply work >out 2>err && test_must_be_empty out && test_grep "nothing to apply" err
'

test_expect_success 'P4: undo brings back what was there, redo what came; what was touched alone' '
	echo later >p/later && git -C p ews undo >out && rm p/later && files_of p >got && test_cmp p.was got &&
	git -C p ews undo --redo && files_of p >got && test_cmp all.want got && echo edit >>p/src/main.c && echo in >p/sym/mine &&
	git -C p ews undo 2>err && test_grep "changed since then, and kept in trash: sym/mine$" err && test_grep edit p/src/main.c && git -C p ews undo --redo && test_grep in p/sym/mine && git -C p ews undo &&
	git -C p checkout -q src/main.c && files_of p >got && test_cmp p.was got
'

test_expect_success 'P4: the paths that apply touches are kept first, in trash' '
	git -C p ews apply --json work >out && kept=$(json out .kept_snapshot) && test_json out .applied true && test_json out .undo &&
	test "$(git -C p cat-file -p "refs/ews/trash/$kept:crlf" | wc -c)" = 17 && git -C p ews undo
'

test_expect_success 'P8: what apply comes to is as large as any other snapshot of the same files' '
	test_repo sized && start_ws sized s && echo more >>"${ws:?}/run.sh" && git -C sized ews apply s && git -C sized ews snapshot create s && for ref in $(git -C sized for-each-ref --format="%(refname)" refs/ews); do
		git -C sized cat-file commit $ref | sed -n "s/^Ews-\(Hash\|Files\|Bytes\): //p" | tr "\n" " " && echo || return 1
	done | sort >sizes && uniq sizes >one && sed "s/ /\n/g" sizes | grep "^sha256:\|^[0-9a-f]\{64\}" | sort -u >hashes && test -s hashes && test_line_count = "$(wc -l <hashes)" one && test "$(wc -l <sizes)" -gt "$(wc -l <one)"
'

test_expect_success 'a patch, from a file, from standard input, and of the same bytes' '
	git -C p ews diff work >all.patch 2>err && (cd p && git ews apply ../all.patch && git ews undo && git ews apply - <../all.patch) &&
	(cd p && git ls-files -s -o -c --full-name | wc -l) >n && cmp p/crlf "${all:?}/crlf" && cmp p/binary "${all:?}/binary" &&
	test "$(readlink p/new/dir/link)" = ../none && test -f p/deep && test -d p/sym && test -x p/lines && git -C p ews undo &&
	files_of p >got && test_cmp p.was got && git -C p ews apply - </dev/null 2>err && test_grep "nothing to apply" err &&
	cp all.patch p/work && test_when_finished "rm p/work" && git -C p ews apply --check --json ./work >out && test_json out .total_changes
'

test_expect_success 'paths, a prefix and <session>:<path> limit what comes' '
	(cd p && git ews apply work -- crlf new/dir) && cmp p/crlf "${all:?}/crlf" && test -h p/new/dir/link && test_path_is_missing p/new/fifo &&
	test_path_is_missing p/binary && git -C p ews undo && (cd p/docs && git ews apply --prefix ../new work) && test -p p/new/fifo &&
	test_path_is_missing p/binary && git -C p ews undo && git -C p ews apply work:no-end work:binary && cmp p/binary "${all:?}/binary" &&
	cmp p/no-end "${all:?}/no-end" && test_path_is_missing p/new && git -C p ews undo && files_of p >got && test_cmp p.was got &&
	test_expect_code 129 git -C p ews apply work -- ../elsewhere && for nowhere in "work -- nowhere" "work:nowhere" "work HEAD..HEAD^ -- crlf nowhere"; do
		test_expect_code 128 git -C p ews apply $nowhere >out 2>err && test_must_be_empty out && test_grep "error: .nowhere. is neither" err || return 1
	done && git -C p ews apply work -- docs 2>err && test_grep "nothing to apply" err
'

test_expect_success 'a range of snapshots, and of git revisions' '
	snap=$(git -C p ews snapshot create work) && git -C p ews apply work.."$snap" -- crlf && cmp p/crlf "${all:?}/crlf" && git -C p ews undo &&
	git -C p ews apply HEAD..HEAD^ -- lines && test_path_is_missing p/lines && git -C p ews undo && files_of p >got && test_cmp p.was got
'

test_expect_success 'the project moved on: what merges is merged, and named' '
	seq 1 40 | sed "s/^35\$/thirty-five/" >p/lines && mv p/no-end p/kept-back && git -C p ews apply work -- lines crlf 2>err &&
	test_grep "drift: lines" err && seq 1 40 | sed "s/^5\$/five/;s/^35\$/thirty-five/" >want && test_cmp want p/lines && test -x p/lines &&
	git -C p ews undo && mv p/kept-back p/no-end && seq 1 40 | sed "s/^35\$/thirty-five/" >want && test_cmp want p/lines
'

test_expect_success 'a file that was renamed there and changed here goes along' '
	start_ws p ren && (cd "$ws" && mv src/numbers src/counts) && echo "one more" >>p/src/numbers && git -C p ews apply ren &&
	test_path_is_missing p/src/numbers && test_grep "one more" p/src/counts && git -C p ews undo && git -C p checkout -q src/numbers
'

test_expect_success 'P4: what was changed there goes where the project has renamed the file to, or its directory; undo takes it back' '
	test_repo gonelib && seq 40 >gonelib/src/other && : >gonelib/src/empty && git -C gonelib add . && git -C gonelib commit -qm more && start_ws gonelib mv && sed -i "s/^3\$/three/" "${ws:?}/src/other" && echo agent >>"${ws:?}/src/main.c" && chmod +x "${ws:?}/src/numbers" && mkdir gonelib/lib && git -C gonelib mv src/main.c src/other src/numbers src/empty lib/ && files_of gonelib >before &&
	git -C gonelib ews apply mv 2>err && test_grep "^drift: lib/main.c: merged" err && test_grep "^drift: src/main.c: renamed in the project" err && cmp "${ws:?}/src/main.c" gonelib/lib/main.c && cmp "${ws:?}/src/other" gonelib/lib/other && test -x gonelib/lib/numbers && test_path_is_missing gonelib/src/main.c && test_path_is_missing gonelib/src/other && git -C gonelib ews undo && files_of gonelib >got && test_cmp before got &&
	cp gonelib/lib/other gonelib/lib/twice && echo agent >"${ws:?}/src/empty" && files_of gonelib >before && test_expect_code 1 git -C gonelib ews apply mv 2>err && test_grep "conflict: src/other (deleted in the project, changed there)" err && test_grep "conflict: src/empty (deleted" err && test_grep ! "conflict: src/main.c" err && files_of gonelib >got && test_cmp before got
'

# stays <new name>: under --3way run.sh stays as the person has it, whatever the other side made of it under that name; a conflict refuses, --force takes it.
stays() {
	echo edit >>"${ws:?}/src/main.c" && files_of rc >before && test_expect_code 1 git -C rc ews apply ren 2>err && test_grep "conflict: $1 " err && files_of rc >got && test_cmp before got &&
		test_expect_code 1 git -C rc ews apply --3way ren 2>err && test_grep "conflict: $1 " err && test_grep edit rc/src/main.c && test_path_is_missing "rc/$1" && git -C rc checkout -q src/main.c && files_of rc >got && test_cmp before got &&
		git -C rc ews apply --force ren && cmp "${ws:?}/$1" "rc/$1" && test_path_is_missing rc/run.sh && git -C rc ews undo && files_of rc >got && test_cmp before got && git -C rc ews end ren
}

test_expect_success 'P4: a file that was renamed there and can not be merged stays under its name, as the person has it' '
	test_repo rc && printf "a\0b%0200d" 0 >rc/run.sh && git -C rc commit -qam binary && for name in a-first z-last; do
		start_ws rc ren && mv "${ws:?}/run.sh" "${ws:?}/$name" && printf theirs >>"${ws:?}/$name" && printf mine >>rc/run.sh && stays $name && git -C rc checkout -q . || return 1
	done && seq 40 >rc/run.sh && git -C rc commit -qam text && for name in a-first z-last; do
		start_ws rc ren && mv "${ws:?}/run.sh" "${ws:?}/$name" && chmod 700 "${ws:?}/$name" && echo theirs >>"${ws:?}/$name" && chmod 600 rc/run.sh && stays $name && git -C rc checkout -q . && chmod 755 rc/run.sh || return 1
	done
'

test_expect_success 'what was renamed there and deleted here is a conflict' '
	for name in a-first z-last; do
		start_ws rc ren && mv "${ws:?}/run.sh" "${ws:?}/$name" && echo theirs >>"${ws:?}/$name" && git -C rc rm -q run.sh && stays $name && git -C rc reset -q --hard || return 1
	done
'

test_expect_success 'P1: a conflict refuses, names all, and leaves the project byte for byte' '
	seq 1 40 | sed "s/^5\$/FIVE/" >p/lines && echo mine >p/binary && rm p/crlf && echo more >>p/deep/f && mkdir p/new && echo x >p/new/dir &&
	files_of p >files.before && state_of p >before && test_expect_code 1 git -C p ews apply work >out 2>err && test_must_be_empty out && test_grep "^error: .*conflict" err &&
	test_grep "conflict: lines" err && test_grep "conflict: binary" err && test_grep "conflict: crlf" err && test_grep "conflict: deep" err &&
	test_grep "conflict: new/dir" err && state_of p >after && test_cmp before after &&
	test_expect_code 1 git -C p ews apply --json work >out && test_json out .error.code conflict && test_json out ".conflicts[0].path" binary &&
	test_expect_code 1 git -C p ews apply --check work 2>err && test_grep lines err &&
	test_expect_code 1 git -C p ews apply ../all.patch 2>err && test_grep "conflict: lines" err && state_of p >after && test_cmp before after
'

test_expect_success '--3way leaves markers in texts, and all else as the person has it' '
	test_expect_code 1 git -C p ews apply --3way work >out 2>err && test_grep "^<<<<<<< project" p/lines && test_grep "^>>>>>>> work" p/lines &&
	test_grep "with conflicts" out && test_grep mine p/binary && test_path_is_missing p/crlf && test_path_is_dir p/deep && test_grep x p/new/dir &&
	cmp p/no-end "${all:?}/no-end" && git -C p ews undo && files_of p >got && test_cmp files.before got
'

test_expect_success 'P4: --force takes theirs, names it, and keeps what was there' '
	git -C p ews apply --force work >out 2>err && test_grep "drift: lines" err && cmp p/lines "${all:?}/lines" && cmp p/binary "${all:?}/binary" &&
	test -f p/deep && test -h p/new/dir/link && git -C p ews undo && test_grep FIVE p/lines && test_grep mine p/binary && test_grep more p/deep/f &&
	test_grep x p/new/dir && rm -r p/new p/binary && git -C p checkout -q lines crlf deep && files_of p >got && test_cmp p.was got
'

test_expect_success 'a patch whose files moved on: by way of what it was made from' '
	start_ws p text && (cd "$ws" && sed -i "s/^20\$/twenty/" lines) && git -C p ews diff text >text.patch &&
	{ echo zero && seq 1 40; } >p/lines && (cd p && git ews apply ../text.patch) && { echo zero && seq 1 40 | sed "s/^20\$/twenty/"; } >want &&
	test_cmp want p/lines && git -C p ews undo && seq 1 40 | sed "s/^19\$/x/" >p/lines &&
	test_expect_code 1 git -C p ews apply ../text.patch 2>err && test_grep "conflict: lines" err &&
	test_expect_code 1 git -C p ews apply --3way ../text.patch 2>err && test_grep "^<<<<<<<" p/lines && git -C p ews undo && git -C p checkout -q lines
'

test_expect_success 'P8: the paths of a patch that stand in the way are named, whatever their names, and each by what is wrong' '
	test_repo named && (cd named && seq 1 9 >n && seq 1 9 >gone && seq 1 9 >o && echo s >"s[1]*?" && echo back >"a\\b" && git add -A && git commit -qm more) && start_ws -n named named named && line=$(printf "a\nb") && ctl=$(printf "c\001\rd") && (
		cd "${named:?}" && echo x >"$line" && echo x >"$ctl" && echo x >"x: already exists in index" && sed "s/5/five/" o >t && mv t n && sed "s/5/FIVE/" gone >t && mv t gone && echo more >>"s[1]*?" && echo more >>"a\\b" && echo fine >fine && mv o o2 && echo new >o
	) && git -C named ews diff named >named.patch && (cd named && git apply --check ../named.patch && echo mine >"$line" && echo mine >"$ctl" && sed "s/5/mine/" n >t && mv t n && rm gone && echo mine >"s[1]*?" && echo mine >"a\\b" && echo mine >"x: already exists in index") && state_of named >before &&
	test_expect_code 1 git -C named ews apply --json ../named.patch >out && test_json_count out .conflicts 7 && test_json out ".conflicts[0].path" "$line" && test_json out ".conflicts[0].why" "it is there already" && test_json out ".conflicts[1].path" "a\\b" && test_json out ".conflicts[1].why" "the patch does not apply" &&
	test_json out ".conflicts[2].path" "$ctl" && test_json out ".conflicts[2].why" "it is there already" && test_json out ".conflicts[3].path" gone && test_json out ".conflicts[3].why" "it is not there" && test_json out ".conflicts[4].path" n && test_json out ".conflicts[4].why" "the patch does not apply" &&
	test_json out ".conflicts[5].path" "s[1]*?" && test_json out ".conflicts[6].path" "x: already exists in index" && test_expect_code 1 git -C named ews apply ../named.patch 2>err && test_grep -F "conflict: \"a\\nb\" (it is there already)" err && test_grep -F "conflict: \"c\\001\\rd\"" err && state_of named >after && test_cmp before after &&
	(cd named && rm "$line" "$ctl" "x: already exists in index" && git checkout -q "s[1]*?" "a\\b" gone) && test_expect_code 1 git -C named ews apply --json ../named.patch >out && test_json_count out .conflicts 1 && test_json out ".conflicts[0].path" n && git -C named checkout -q n && git -C named ews apply ../named.patch && cmp "named/$line" "${named:?}/$line" && git -C named ews end named
'

test_expect_success '--3way of a patch: what is only renamed, or has another mode, is taken as it is, and keeps nothing else from being merged' '
	test_repo moved && (cd moved && seq 1 9 >n && cp n r && echo x >tool && chmod +x tool && ln -s n ln && seq 1 9 >m && git add -A && git commit -qm more) && start_ws -n moved moved moved && (
		cd "${moved:?}" && sed "s/5/five/" n >t && cat t >n && rm t && mv r r2 && mv tool tool2 && mv ln ln2 && chmod +x m
	) && git -C moved ews diff moved >moved.patch && test_grep "^rename to tool2" moved.patch && test_grep ! "^index .*100755" moved.patch && sed "s/5/FIVE/" moved/n >t && cp t moved/n && seq 0 9 >moved/r &&
	test_expect_code 1 git -C moved ews apply ../moved.patch 2>err && test_grep "conflict: n " err && test_grep "^hint: --3way" err && test_expect_code 1 git -C moved ews apply --3way ../moved.patch >out 2>err &&
	test_grep "^<<<<<<<" moved/n && test_grep "^five" moved/n && test_grep FIVE moved/n && seq 0 9 >want && test_cmp want moved/r2 && test_path_is_missing moved/r && test -x moved/tool2 && test_path_is_missing moved/tool && test_path_is_link moved/ln2 n && test_path_is_missing moved/ln && test -x moved/m && test ! -x moved/r2 &&
	git -C moved ews undo && cmp t moved/n && rm moved/r && test_expect_code 1 git -C moved ews apply --3way ../moved.patch 2>err && test_grep "conflict: r2" err && test_grep ! "^hint: --3way" err && test_grep "^hint: a patch is merged by way of" err && git -C moved ews end moved
'

# hostile <path>: a patch that makes it is refused, by whatever way
hostile() {
	printf 'diff --git a/%s b/%s\nnew file mode 100644\n--- /dev/null\n+++ b/%s\n@@ -0,0 +1 @@\n+evil\n' "$1" "$1" "$1" >hostile.patch &&
		for how in --check --3way --force; do
			test_must_fail git -C p ews apply "$how" ../hostile.patch 2>err && test_grep "^error: " err || return 1
		done
}

# A link, and a file through it.
through_link() {
	printf 'diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+../outside\n\\ No newline at end of file\n' &&
		printf 'diff --git a/l/x b/l/x\nnew file mode 100644\n--- /dev/null\n+++ b/l/x\n@@ -0,0 +1 @@\n+evil\n'
}

test_expect_success 'P5: a patch that leads outside is refused before anything is written' '
	mkdir outside && ln -s ../outside p/to-out && state_of p >before && hostile ../escaped && hostile "$PWD/escaped" && hostile .git/hooks/post-commit &&
	hostile .git/config && hostile a/../../escaped && hostile to-out/escaped && hostile .superqode/x && through_link >link.patch &&
	test_must_fail git -C p ews apply ../link.patch && state_of p >after && test_cmp before after && rm p/to-out && test_path_is_missing escaped &&
	test "$(ls outside | wc -l)" = 0 && echo "no patch" >garbage && test_expect_code 1 git -C p ews apply --json "$PWD/garbage" >out.json && test_json out.json .error.code damaged && test_grep "git diff" out.json &&
	printf "%s\n" "--- a/.git/config" "+++ b/.git/config" "@@ -1 +1 @@" "-[core]" "+[evil]" >config.patch && test_expect_code 128 git -C p ews apply --force ../config.patch 2>err &&
	test_grep "refused: invalid path .git/config" err && long=$(printf "%0300d" 0) && for name in early "$long"; do
		printf "diff --git a/%s b/%s\nnew file mode 100644\n--- /dev/null\n+++ b/%s\n@@ -0,0 +1 @@\n+new\n" "$name" "$name" "$name"
	done >long.patch && test_expect_code 128 git -C p ews apply ../long.patch 2>err && test_grep "^error: .0*. could not be written: .*name too long" err && test_path_is_missing p/early
'

test_expect_success 'P5: a directory of the project that a link stands for is not written through' '
	start_ws p below && (cd "$ws" && echo new >docs/new) && mv p/docs p/docs.was && mkdir elsewhere && ln -s ../elsewhere p/docs &&
	test_expect_code 1 git -C p ews apply below 2>err && test_grep "conflict: docs" err && test "$(ls elsewhere | wc -l)" = 0 && rm p/docs && mv p/docs.was p/docs
'

test_expect_success 'P4: ignored files that stand in the way are a conflict, and kept under --force' '
	start_ws p ign && printf "%s\n" "*.log" "made/" >>p/.git/info/exclude && (cd "$ws" && echo theirs >x.log && git add -f x.log && echo file >made) &&
	echo mine >p/x.log && mkdir p/made && echo mine >p/made/it && test_expect_code 1 git -C p ews apply ign 2>err &&
	test_grep "conflict: made" err && test_grep mine p/made/it && test_grep mine p/x.log && git -C p ews apply --force ign && test_grep file p/made &&
	git -C p ews undo && test_grep mine p/made/it && rm -r p/made p/x.log
'

test_expect_success 'P4: a socket that stands in the way of a directory is a conflict, and kept under --force' '
	start_ws p sock && perl -MSocket -e "socket(S, PF_UNIX, SOCK_STREAM, 0) && bind(S, sockaddr_un(q(p/way))) or die" && mkdir "${ws:?}/way" && echo file >"${ws:?}/way/file" && for turn in cold warm; do
		test_expect_code 1 git -C p ews apply sock 2>err && test_grep "conflict: way " err && test -S p/way && git -C p ews apply --force sock && test_grep file p/way/file && git -C p ews undo && test -S p/way || return 1
	done && git -C p ews end sock && rm p/way
'

test_expect_success 'P4: a look that knew of nothing in an ignored place is not taken for one that does' '
	test_repo looked && echo "*.o" >looked/.gitignore && git -C looked commit -qam rules && echo theirs >looked/x.o && sleep 0.1 && start_ws looked two --keep-ignored=no && mkdir "${ws:?}/x.o" && echo 2 >"${ws:?}/x.o/f" && git -C "$ws" add -f x.o &&
	test_expect_code 1 git -C looked ews apply two 2>err && test_grep "conflict: x.o" err && test_path_is_file looked/x.o &&
	git -C looked ews apply --force two && test_path_is_file looked/x.o/f && git -C looked ews undo && echo theirs >want && test_cmp want looked/x.o && sleep 0.1 && start_ws looked three --keep-ignored=no && test_path_is_missing "${ws:?}/x.o"
'

test_expect_success 'nor is what stands at an ignored place already, as it is to be, in the way' '
	test_repo same && echo "*.o" >same/.gitignore && git -C same commit -qam rules && echo 1 >same/x.o && sleep 0.1 && start_ws same s --keep-ignored=no && echo 1 >"${ws:?}/x.o" && git -C "$ws" add -f x.o && echo more >>"${ws:?}/run.sh" && git -C same ews apply s && test_grep more same/run.sh && echo 1 >want && test_cmp want same/x.o
'

test_expect_success STRACE 'a look at what was found before lists no directory again: neither by apply nor by undo' '
	test_repo asked && for i in 1 2 3 4 5 6 7 8; do mkdir "asked/d${i:?}" && echo $i >"asked/d${i:?}/f" || return 1; done && (cd asked && git add . && git commit -qm dirs && echo more >>d1/f && git diff >../asked.1 && git checkout -q . && echo more >>d2/f && git diff >../asked.2 && git checkout -q .) && sleep 0.1 &&
	git -C asked ews apply ../asked.1 && sleep 0.1 && test_strace log -e trace=openat git -C asked ews apply ../asked.2 && test_grep ! "\"[.]gitignore\"" log && echo 2 >want && echo more >>want && test_cmp want asked/d2/f &&
	test_strace log -e trace=openat git -C asked ews undo && test_grep ! "\"[.]gitignore\"" log && echo 2 >want && test_cmp want asked/d2/f
'

test_expect_success 'P4: what is applied is built upon no snapshot that is dropped meanwhile' '
	git -C asked for-each-ref --format="delete %(refname)" refs/ews/trash >refs && printf "%s\n" "#!/bin/sh" "git -C \"$PWD/asked\" update-ref --stdin <\"$PWD/refs\"" >drop && chmod +x drop && git -C asked status --porcelain >before && sleep 0.1 &&
	test_expect_code 1 "$EWS_BUILD/t/killat" -c "refs/ews/trash" -x "$PWD/drop" 1 "$EWS_BIN/git-ews" -C asked apply ../asked.2 2>err && test_grep "dropped meanwhile" err && git -C asked status --porcelain >after && test_cmp before after && git -C asked for-each-ref refs/ews/trash >out && test_must_be_empty out && git -C asked ews apply ../asked.2 && test_grep more asked/d2/f
'

test_expect_success 'P8: a path that somebody removes after apply has looked, as the session did, is named as changed meanwhile' '
	test_repo went && start_ws went less && rm "${ws:?}/src/numbers" && echo edit >>"${ws:?}/src/main.c" && printf "%s\n" "#!/bin/sh" "rm \"$PWD/went/src/numbers\"" >away && chmod +x away &&
	test_expect_code 1 "$EWS_BUILD/t/killat" -c "refs/ews/trash" -x "$PWD/away" 1 "$EWS_BIN/git-ews" -C went apply --force less 2>err && test_grep "src/numbers.* changed meanwhile" err && test_grep "try again" err &&
	git -C went status --porcelain >got && echo " D src/numbers" >want && test_cmp want got && git -C went ews apply less && test "$(tail -n 1 went/src/main.c)" = edit
'

test_expect_success 'P4: what somebody writes while it is applied stays, named, and all else is as it was: before its turn, after it, something new' '
	test_repo saved && start_ws saved late && rm "${ws:?}/src/numbers" && echo agent | tee -a "${ws:?}/run.sh" >>"${ws:?}/src/main.c" && mkdir "${ws:?}/zz" && echo new | tee "${ws:?}/zz/a" >"${ws:?}/zz/b" && git -C saved rev-parse HEAD >head &&
	for how in --force --index --commit; do
		for turn in "src/numbers src/main.c" "src/main.c run.sh" "zz/b zz/a"; do
			mine=${turn#* } && printf "%s\n" "#!/bin/sh" "echo mine >>\"$PWD/saved/$mine\"" >saves && chmod +x saves &&
			test_expect_code 1 "$EWS_BUILD/t/killat" -c "/saved/${turn% *}" -x "$PWD/saves" 1 "$EWS_BIN/git-ews" -C saved apply $how late 2>err && test_grep "error: .$mine. changed meanwhile, and was left as it is" err && test "$(tail -n 1 "saved/$mine")" = mine &&
			git -C saved status --porcelain -uall >got && { test $mine = zz/a && echo "?? $mine" || echo " M $mine"; } >want && test_cmp want got && git -C saved rev-parse HEAD >got && test_cmp head got && git -C saved ews recover --all 2>err && test_grep "nothing is interrupted" err && git -C saved checkout -q . && rm -rf saved/zz || return 1
		done
	done && git -C saved ews apply late && test_path_is_missing saved/src/numbers &&
	mkdir saved/dir && echo f >saved/dir/f && git -C saved add . && git -C saved commit -qm dir && start_ws saved more && rm -r "${ws:?}/dir" && echo agent >>"${ws:?}/run.sh" && printf "%s\n" "#!/bin/sh" "echo mine | tee -a \"$PWD/saved/run.sh\" >\"$PWD/saved/dir/mine\"" >saves &&
	test_expect_code 128 "$EWS_BUILD/t/killat" -c "/saved/dir/f" -x "$PWD/saves" 1 "$EWS_BIN/git-ews" -C saved apply more 2>err && test_grep "error: .dir. could not be written: the directory is not empty" err && test_grep "^hint: what somebody wrote to .run.sh. meanwhile stays" err &&
	git -C saved status --porcelain -uall >got && printf "%s\n" " M run.sh" "?? dir/mine" >want && test_cmp want got
'

test_expect_success 'P4: likewise what somebody removes once it was written' '
	test_repo removed && start_ws removed late && echo agent | tee -a "${ws:?}/run.sh" >>"${ws:?}/src/main.c" && mkdir "${ws:?}/zz" && echo new | tee "${ws:?}/zz/a" >"${ws:?}/zz/b" && for how in --force --index --commit; do
		for turn in "src/main.c run.sh" "zz/b zz/a"; do
			mine=${turn#* } && printf "%s\n" "#!/bin/sh" "rm \"$PWD/removed/$mine\"" >saves && chmod +x saves &&
			test_expect_code 1 "$EWS_BUILD/t/killat" -c "/removed/${turn% *}" -x "$PWD/saves" 1 "$EWS_BIN/git-ews" -C removed apply $how late 2>err && test_grep "error: .$mine. changed meanwhile, and was left as it is" err && test_path_is_missing "removed/$mine" &&
			git -C removed status --porcelain -uall >got && { test $mine != run.sh || echo " D $mine"; } >want && test_cmp want got && git -C removed ews recover --all 2>err && test_grep "nothing is interrupted" err && git -C removed checkout -q . && rm -rf removed/zz || return 1
		done
	done
'

test_expect_success 'P8: what somebody writes while the hooks of a commit run that fails goes with all that came, and is named with what brings it back' '
	test_repo hooks && start_ws hooks late && echo agent >>"${ws:?}/run.sh" && git -C hooks status --porcelain >before && printf "%s\n" "#!/bin/sh" "echo mine >>run.sh" "exit 1" >hooks/.git/hooks/pre-commit && chmod +x hooks/.git/hooks/pre-commit &&
	test_expect_code 128 git -C hooks ews apply --commit late 2>err && git -C hooks status --porcelain >after && test_cmp before after && kept=$(sed -n "s/^hint: .*; .git ews snapshot restore \([^ ]*\) -- run.sh. brings back what somebody wrote meanwhile$/\1/p" err) && test -n "$kept" &&
	git -C hooks ews snapshot restore --force "$kept" -- run.sh && test "$(tail -n 1 hooks/run.sh)" = mine && git -C hooks checkout -q . && printf "%s\n" "#!/bin/sh" "exit 1" >hooks/.git/hooks/pre-commit && test_expect_code 128 git -C hooks ews apply --commit late 2>err && test_grep ! "restore" err
'

test_expect_success 'P4: what came to an ignored place goes when that is undone; what is ignored beside it is not called changed' '
	mkdir -p p/cache/sub && echo old >p/cache/sub/tracked && git -C p add -f cache/sub/tracked && git -C p commit -qm cache && start_ws p place && rm -r "${ws:?}/cache" &&
	(cd "$ws" && echo new >it.tmp && git add -f it.tmp) && echo "*.tmp" >>p/.git/info/exclude && echo mine >p/cache/sub/mine.tmp && git -C p ews apply place 2>err && test_grep new p/it.tmp && test_path_is_missing p/cache/sub/tracked &&
	git -C p ews undo 2>err && test_grep ! "changed since" err && test_path_is_missing p/it.tmp && test_grep old p/cache/sub/tracked && test_grep mine p/cache/sub/mine.tmp &&
	git -C p ews undo --redo && test_grep new p/it.tmp && git -C p ews undo && test_path_is_missing p/it.tmp && git -C p ews end place && rm p/cache/sub/mine.tmp
'

test_expect_success 'P4: what was deleted there goes, is kept and comes back, though the project ignores it by now' '
	test_repo late && echo log >late/x.log && mkdir late/made && echo made >late/made/it && start_ws late late && rm -r "${ws:?}/x.log" "${ws:?}/made" && echo edit >>"${ws:?}/run.sh" && printf "%s\n" "*.log" made/ >>late/.gitignore && git -C late add .gitignore && git -C late commit -q -m rules && files_of late >was &&
	for how in "" --force; do
		git -C late ews apply $how late && test_path_is_missing late/x.log && test_path_is_missing late/made && test_grep edit late/run.sh && git -C late ews undo && files_of late >got && test_cmp was got || return 1
	done && git -C late ews undo --redo && test_path_is_missing late/x.log && git -C late gc -q --prune=now && git -C late ews undo && files_of late >got && test_cmp was got && git -C late ews end late
'

test_expect_success 'P9: no monitor of the repository runs, whatever is staged and committed; its hooks do' '
	test_repo seen && for how in --index --commit; do
		start_ws seen seen && echo "$how" >>"${ws:?}/run.sh" && git -C seen config core.fsmonitor "touch \"$PWD/monitored\"; false" &&
		printf "#!/bin/sh\ntouch \"%s/hooked\"\n" "$PWD" >seen/.git/hooks/pre-commit && chmod +x seen/.git/hooks/pre-commit &&
		git -C seen ews apply $how seen && test_path_is_missing monitored && git -C seen config --unset core.fsmonitor && test_grep -e "$how" seen/run.sh && git -C seen ews end seen && git -C seen reset -q --hard || return 1
	done && test_path_is_file hooked && rm hooked
'

test_expect_success 'P8: where ignored files keep a directory that is to go, and nothing else is left to do, nothing is called applied' '
	test_repo keeps && echo "*.o" >keeps/.gitignore && mkdir -p keeps/dir/sub && echo f >keeps/dir/sub/f && git -C keeps add . && git -C keeps commit -qm dir && start_ws keeps keeps && echo o >keeps/dir/sub/x.o && rm -r "${ws:?}/dir" &&
	git -C keeps ews apply keeps && test_path_is_missing keeps/dir/sub/f && test_path_is_file keeps/dir/sub/x.o && git -C keeps commit -qam gone && for how in "" --index --commit; do
		git -C keeps ews apply $how keeps >out 2>err && test_must_be_empty out && test_grep "there is nothing to apply" err && test_grep ! "ews undo" err && git -C keeps ews apply --json $how keeps >out && test_json out .applied false || return 1
	done && git -C keeps reset -q --hard HEAD^ && git -C keeps ews apply --commit keeps && git -C keeps ews undo && test_path_is_file keeps/dir/sub/f && rm keeps/dir/sub/x.o && git -C keeps ews apply keeps && test_path_is_missing keeps/dir && git -C keeps ews undo
'

test_expect_success 'pathspecs are git'\''s, seen from where one stands' '
	start_ws p spec && mkdir -p "${ws:?}/far/er" && (cd "$ws" && echo 1 >far/a.c && echo 2 >far/er/b.c && echo 3 >far/a.h && echo 4 >top.c && rm -rf docs && echo file >docs && mkdir empty.c) &&
	git -C p ews apply --check spec -- "*.c" >out && test_grep " far/er/b.c " out && test_grep " top.c " out && test_grep ! "a.h\|docs" out &&
	mkdir p/far && (cd p/far && git ews apply spec -- "*.c" ":!er" ":/docs") && test_path_is_file p/far/a.c && test_path_is_file p/docs && test_path_is_missing p/far/er && test_path_is_missing p/top.c &&
	git -C p ews undo && git -C p ews apply spec -- ":(glob)*.c" && test_path_is_file p/top.c && test_path_is_missing p/far/a.c && git -C p ews undo &&
	top=$PWD/p && for from in "\":(top,literal)top.c\" ../docs" "../top.c ../do*" "./../top.c :/docs" "\":(literal)\$top/top.c\" \":(icase)\$top/do*\""; do
		(cd p/far && eval "git ews apply spec -- $from") && test_path_is_file p/top.c && test_path_is_file p/docs && test_path_is_missing p/far/a.c && git -C p ews undo || return 1
	done && test_expect_code 129 git -C p/far ews apply spec -- ":(glob)../../x" 2>err && test_grep "is outside of" err &&
	test_expect_code 129 git -C p ews apply spec -- ":(nonsense)x" 2>err && test_grep nonsense err && git -C p ews end spec && rmdir p/far
'

test_expect_success 'git --literal-pathspecs and --icase-pathspecs are heard' '
	start_ws p words && (cd "$ws" && echo 1 >"?.c" && echo 2 >x.c && echo 3 >Y.C) && git -C p --literal-pathspecs ews apply words -- "?.c" && test_path_is_file "p/?.c" && test_path_is_missing p/x.c && git -C p ews undo &&
	git -C p --icase-pathspecs ews apply words -- y.c && test_path_is_file p/Y.C && test_path_is_missing p/x.c && git -C p ews undo && git -C p ews end words
'

test_expect_success 'pathspecs mean what git takes into no index as well' '
	start_ws p odd && mkdir -p "${ws:?}/odd/.GIT/er" "${ws:?}/odd/git~1" && (cd "$ws" && echo 1 >odd/.GIT/er/a && echo 2 >odd/git~1/b && ln -s x "odd/.git " && echo 3 >odd/c) &&
	find_odd() { (cd p && test ! -e odd || find odd ! -type d | sort) >got && test_cmp want got; } && mkdir p/odd && git -C p ews apply odd -- odd && printf "%s\n" "odd/.GIT/er/a" "odd/.git " odd/c "odd/git~1/b" | sort >want && find_odd && git -C p ews undo &&
	git -C p ews apply odd -- "odd/.GIT" ":(literal)odd/.git " && printf "%s\n" "odd/.GIT/er/a" "odd/.git " | sort >want && find_odd && git -C p ews undo &&
	(cd p/odd && git ews apply odd -- "g*" && git ews apply odd -- ":(top,glob)odd/.GIT/**/a") && printf "%s\n" "odd/.GIT/er/a" "odd/git~1/b" | sort >want && find_odd && mkdir -p p/odd/git~1 && (cd p/odd/git~1 && git ews apply odd -- ../c ":!../.GIT") && printf "%s\n" "odd/.GIT/er/a" odd/c "odd/git~1/b" >want && find_odd &&
	git -C p ews undo && git -C p ews undo && git -C p ews undo && git -C p ews end odd && rm -r p/odd
'

test_expect_success 'what is new on both sides: as theirs has it under --force, a conflict where only one may be executed' '
	start_ws p both && echo same >"${ws:?}/tool" && chmod 750 "${ws:?}/tool" && echo same >p/tool && test_expect_code 1 git -C p ews apply both 2>err && test_grep "conflict: tool" err &&
	find p/tool -perm 644 >out && test_line_count = 1 out && git -C p ews apply --force both && find p/tool -perm 750 >out && test_line_count = 1 out &&
	git -C p ews undo && find p/tool -perm 644 >out && test_line_count = 1 out && echo other >p/tool && test_expect_code 1 git -C p ews apply --3way both && test_grep "^<<<<<<<" p/tool &&
	test_grep "^same\$" p/tool && rm p/tool && git -C p ews end both
'

test_expect_success 'what stands in the place of a new directory keeps all of it out, however deep it is' '
	test_repo deep && start_ws deep deep && mkdir -p "${ws:?}/x/s/u" && echo t | tee "${ws:?}/x/s/t" "${ws:?}/x/s/u/t" && echo edit >>"${ws:?}/run.sh" && echo mine >deep/x && git -C deep status --porcelain >was &&
	test_expect_code 1 git -C deep ews apply deep 2>err && test_grep "conflict: x (no directory" err && git -C deep status --porcelain >got && test_cmp was got && test_expect_code 1 git -C deep ews apply --3way deep 2>err && grep conflict: err >got && test_line_count = 1 got && test_grep edit deep/run.sh && test_grep mine deep/x &&
	git -C deep ews undo && git -C deep ews apply --force deep && test_path_is_file deep/x/s/u/t && git -C deep ews undo && test_grep mine deep/x
'

test_expect_success 'a directory that came in the place of a submodule that is gone' '
	test_repo up && test_repo sm && git -C sm -c protocol.file.allow=always submodule --quiet add ../up x && git -C sm commit -qm sub && start_ws sm sm && rm -rf "${ws:?}/x" && mkdir "${ws:?}/x" && echo a >"${ws:?}/x/a" && echo edit >>"${ws:?}/run.sh" && rm -rf sm/x &&
	git -C sm ews apply --check sm && git -C sm ews apply sm && test_grep edit sm/run.sh && test_grep a sm/x/a && git -C sm ews undo && test_path_is_missing sm/x
'

test_expect_success 'P8: nested repositories are left as they are, and named' '
	start_ws p nest && (cd "$ws" && git init -q sub && echo s >sub/s && echo other >other) && git -C p ews apply nest >out 2>err &&
	test_grep "left out: sub" err && test_path_is_missing p/sub && test_grep other p/other && git -C p ews undo &&
	id=$(git -C p ews snapshot create nest) && echo more >>"${ws:?}/sub/s" && git -C p ews apply "$id.." 2>err && test_grep "left out: sub" err
'

test_expect_success 'P1: nothing is written into a repository in the project, whether the project was looked at before or not' '
	for how in cold warm; do
		test_repo $how && git init -q ${how:?}/sub && echo y >${how:?}/sub/y && git -C ${how:?}/sub add y && git -C ${how:?}/sub commit -qm y && ls -A ${how:?}/sub >before && { test $how = cold || { sleep 0.1 && start_ws $how s && git -C $how ews status >out; } } &&
		printf "%s\n" "diff --git a/sub/new b/sub/new" "new file mode 100644" "--- /dev/null" "+++ b/sub/new" "@@ -0,0 +1 @@" +new >new.diff && test_expect_code 1 git -C $how ews apply ../new.diff 2>err && test_grep "conflict: sub/new (it is a repository of its own)" err &&
		test_expect_code 1 git -C $how ews apply --force ../new.diff 2>err && ls -A ${how:?}/sub >after && test_cmp before after || return 1
	done && test_repo turned && mkdir turned/sub && echo x >turned/sub/x && start_ws turned l && echo new >"${ws:?}/sub/new" && git init -q turned/sub && git -C turned/sub add x && git -C turned/sub commit -qm x && ls -A turned/sub >before &&
	test_expect_code 1 git -C turned ews apply l 2>err && test_grep "conflict: sub/new (it is a repository of its own)" err && ls -A turned/sub >after && test_cmp before after
'

test_expect_success 'the work of an ended session still comes home; a session in place has none' '
	git -C p ews end work && git -C p ews apply work -- crlf binary && test_path_is_file p/binary && git -C p ews undo && git -C p ews undo work &&
	test_expect_code 128 git -C p ews apply never 2>err && test_grep never err && test_expect_code 129 git -C p ews apply --3way --force work
'

test_expect_success 'P1: from inside a workspace it goes to the work tree that the session is of, where that stands by now, or nowhere' '
	test_repo lw && git -C lw worktree add -q -b lw-b "$PWD/lw-tree" && start_ws lw-tree moved && echo new >"${ws:?}/new" && git -C lw worktree move "$PWD/lw-tree" "$PWD/lw-now" && git -C "${ws:?}" ews apply 2>err && step=$(sed -n "s/.*git ews undo \(op-[^ ]*\). takes.*/\1/p" err) && test "$(cat lw-now/new)" = new && git -C "${ws:?}" ews undo $step && test_path_is_missing lw-now/new &&
	git -C lw worktree add -q -b lw-c "$PWD/lw-tree" && git -C "${ws:?}" ews apply 2>err && step=$(sed -n "s/.*git ews undo \(op-[^ ]*\). takes.*/\1/p" err) && test "$(cat lw-now/new)" = new && test_path_is_missing lw-tree/new && git -C "${ws:?}" ews undo $step && git -C lw worktree remove --force "$PWD/lw-tree" && git -C lw worktree remove --force "$PWD/lw-now" &&
	test_expect_code 128 git -C "${ws:?}" ews apply 2>err && test_grep "the work tree that the session is of is gone: .*/lw-tree" err && test_path_is_missing lw/new && git -C "${ws:?}" ews diff >got && test_grep "^+new" got && git -C "${ws:?}" ews snapshot create && git -C "${ws:?}" ews status >out && git -C "${ws:?}" ews end >out && test_path_is_missing "${ws:?}" && test_path_is_missing lw/new &&
	git -C lw ews apply moved && test "$(cat lw/new)" = new && git -C lw ews undo && rm -rf lw/.superqode
'

test_expect_success 'from a subdirectory, a linked worktree, a plain directory; not in a bare repository' '
	git -C p worktree add -q ../linked HEAD && (cd linked && git ews apply work -- crlf) 2>err && cmp linked/crlf "${all:?}/crlf" &&
	git clone -q --bare p bare.git && test_expect_code 129 git -C bare.git ews apply - </dev/null 2>err && test_grep "^hint: .*--branch" err &&
	mkdir plain && echo a >plain/a && (cd plain && git ews start pl) >path && take_ws path && echo b >>"${ws:?}/a" && mkdir "${ws:?}/e" &&
	(cd plain && git ews apply pl) && test_grep b plain/a && test -d plain/e && (cd plain && git ews undo) && test_grep ! b plain/a && test_path_is_missing plain/e
'

test_expect_success 'P4: what the session and the project both have come to, and no ref holds yet, counts as new when apply keeps it' '
	test_repo both && start_ws both both && echo new >"${ws:?}/new" && echo more >>"${ws:?}/run.sh" && sleep 1.1 && git -C both ews diff both >patch && old=$(git -C both hash-object "${ws:?}/new") && old=both/.git/objects/$(echo $old | sed "s/../&\//") &&
	touch -d 2010-01-01 "${old:?}" && cp "${ws:?}/new" both/new && git -C both ews apply both && find "${old:?}" -newermt 2020-01-01 >new && test_line_count = 1 new && git -C both ews end both
'

test_expect_success 'P1: what nobody could look at is not gone: no list, patch, branch or apply deletes it' '
	test_repo unseen && echo small >unseen/grown && git -C unseen add grown && git -C unseen commit -qm grown && git -C unseen config ews.maxFile 1000000 && start_ws unseen u && head -c 2000000 /dev/zero >"${ws:?}/grown" &&
	test_expect_code 1 git -C unseen ews diff --exit-code u >out 2>err && test_must_be_empty out && test_grep "not in the patch: grown (too-large)" err && git -C unseen ews status --json u >json && test_json json ".sessions[0].changes.total_changes" 0 &&
	find "$HOME/.superqode/working/unseen/sessions/u" -exec touch -d "25 hours ago" {} + && git -C unseen ews clean -n >out 2>err && test_must_be_empty out && test_grep "stays: u: changed" err &&
	echo edit >>"${ws:?}/run.sh" && git -C unseen ews diff --name-status u >out && printf "M\trun.sh\n" >want && test_cmp want out && one=$(git -C unseen ews snapshot create --partial u) && git -C unseen ews snapshot list --json u >json && base=$(json json ".snapshots[0].snapshot_id") && git -C unseen ews snapshot diff "$base" "$one" --name-status >out 2>err && test_cmp want out && test_grep "grown (too-large)" err &&
	git -C unseen ews apply "$base..$one" >out 2>err && test_grep "left out: grown" err && test "$(cat unseen/grown)" = small && test_grep edit unseen/run.sh && git -C unseen ews undo && git -C unseen ews apply u && test "$(cat unseen/grown)" = small && git -C unseen ews undo &&
	git -C unseen ews end --branch result u 2>err && test_grep "^Changes: 1 file(s) (+1 -0)" err && test_grep ! grown unseen/.superqode/qe-artifacts/patches/u.patch && git -C unseen diff --name-status HEAD result >out && test_cmp want out
'

test_expect_success 'P1: so it is on either side, and where the paths that are asked for lie beneath it' '
	test_repo sides && git -C sides config ews.maxFile 1000000 && start_ws sides v && below=$(git -C sides ls-files src/deep | head -n 1) && rm -r "${ws:?}/src/deep" && truncate -s 2000000 "${ws:?}/src/deep" && truncate -s 2000000 "${ws:?}/run.sh" &&
	test_expect_code 1 git -C sides ews diff --exit-code v -- "$below" >out 2>err && test_must_be_empty out && test_grep "not in the patch: src/deep (too-large)" err && test_grep ! run.sh err && git -C sides ews apply --dry-run v -- "$below" >out 2>err && test_grep "left out: src/deep (too-large)" err && test_grep ! run.sh err &&
	snap=$(git -C sides ews snapshot create --partial v) && git -C sides ews snapshot list --json v >json && test_json json ".snapshots[1].changes" 0 && git -C sides ews diff now v --name-status >out 2>err && test_must_be_empty out && test_grep "not in the patch: run.sh (too-large before)" err &&
	git -C sides ews diff -R v --name-status >out 2>err && test_must_be_empty out && git -C sides ews revert --changes=files v >out 2>err && test_grep "^  Status: Verified$" out && test_grep "^Changes: 0 file" err && test_grep ! "^- " err && git -C sides ews end v
'

# Modes keep nothing from root: as somebody else, where that is who runs this.
if test_have_prereq USERS || ! test_have_prereq ROOT; then
	test_set_prereq ORDINARY
fi

ordinary() {
	if test_have_prereq ROOT; then
		test_as_user "$@"
	else
		"$@"
	fi
}

modes_of() {
	find "$1" -name .git -prune -o -name .superqode -prune -o -printf "%m %s %P\n" | sort
}

test_expect_success ORDINARY 'P4: what its owner may not read comes as it is, is proven, and goes again' '
	mkdir own && test_repo own/closed && if test_have_prereq ROOT; then test_give_user own; fi && modes_of own/closed >was && ordinary git -C own/closed ews start closed >path && take_ws path &&
	ordinary sh -c "cd \"\$1\" && echo more >>run.sh && chmod 0 run.sh && echo new >new && chmod 0 new && mkdir hidden && echo in >hidden/in && chmod 0 hidden src" x "$ws" &&
	ordinary git -C own/closed ews apply closed >out 2>err && test_grep Applied out && find own/closed -maxdepth 1 -perm 000 2>/dev/null | sort >closed && printf "own/closed/%s\n" hidden new run.sh src >want && test_cmp want closed &&
	ordinary git -C own/closed ews undo && modes_of own/closed >got && test_cmp was got && ordinary git -C own/closed ews undo --redo && find own/closed -maxdepth 1 -perm 000 2>/dev/null | sort >closed && test_cmp want closed &&
	ordinary git -C own/closed ews undo && modes_of own/closed >got && test_cmp was got && test_path_is_missing own/closed/.superqode
'

test_expect_success ORDINARY 'P4: what can not be staged, for nobody may read it, is taken back whole' '
	test_expect_code 128 ordinary git -C own/closed ews apply --index closed 2>err && test_grep "^error: .*update-index" err && test_grep ! recover err && modes_of own/closed >got && test_cmp was got && test_path_is_missing own/closed/.superqode/trash &&
	ordinary git -C own/closed ews recover --all 2>err && test_grep "nothing is interrupted" err
'

test_expect_success 'P4: what was done again is what undo takes back next, whatever was done meanwhile' '
	test_repo later && for id in a b c; do start_ws later $id && echo $id >"${ws:?}/$id" || return 1; done && git -C later ews apply a && git -C later ews undo && git -C later ews apply b && git -C later ews undo --redo >out && test_grep "Done again" out && test_path_is_file later/a && test_path_is_file later/b &&
	git -C later ews undo --list >out && test_line_count = 2 out && git -C later ews undo && test_path_is_missing later/a && test_path_is_file later/b && git -C later ews undo --redo && git -C later ews apply c && git -C later ews undo && test_path_is_missing later/c && test_path_is_file later/a &&
	git -C later ews undo && test_path_is_missing later/a && test_path_is_file later/b && git -C later ews undo && test_path_is_missing later/b && for id in b a c; do git -C later ews undo --redo && test_path_is_file later/$id || return 1; done && for id in c a b; do git -C later ews undo && test_path_is_missing later/$id || return 1; done && test_must_fail git -C later ews undo &&
	git -C later ews revert a && git -C later ews undo a && git -C later ews undo --redo >out && test_grep "revert of a" out && git -C later ews undo --redo && test_path_is_file later/b && git -C later ews undo a && git -C later ews undo --redo a && git -C later ews undo >out && test_grep "revert of a" out
'

test_expect_success STRACE 'P8: what could not be brought back is named, and counted among nothing' '
	test_repo full && start_ws full f && echo other >"${ws:?}/run.sh" && echo other >"${ws:?}/docs/crlf.txt" && git -C full ews apply f &&
	test_expect_code 1 test_strace trace -P run.sh -e trace=unlinkat -e inject=unlinkat:error=EIO git -C full ews undo >out 2>err && test_grep INJECTED trace && test_grep "Paths: 1 restored, 0 deleted" out && test_grep "not as it was: run.sh " err && test_grep other full/run.sh && git -C full diff --exit-code docs
'

test_expect_success 'P4: a directory that somebody made in the place of what an undo brings back makes way, whatever it holds, is kept and named, and is back with a redo' '
	test_repo taken && printf "%s\n" "*.o" >taken/.gitignore && git -C taken add .gitignore && git -C taken commit -qm ignore && start_ws taken t && rm "${ws:?}/run.sh" && echo other >"${ws:?}/docs/crlf.txt" && git -C taken ews apply t && mkdir -p taken/run.sh/in && echo mine >taken/run.sh/in/y && mkfifo taken/run.sh/fifo && echo built >taken/run.sh/a.o && git init -q taken/run.sh/repository && files_of taken >mine &&
	git -C taken ews undo --dry-run >out 2>err && test_grep "Paths: 2 restored" out && test_grep "changed since then, and would be kept in trash: run.sh/in/y$" err && files_of taken >got && test_cmp mine got &&
	git -C taken ews undo >out 2>err && test_grep "Paths: 2 restored" out && test_grep "changed since then, and kept in trash: run.sh/in/y$" err && git -C taken diff --exit-code HEAD && git -C taken ews undo --redo && files_of taken >got && test_cmp mine got && test_grep built taken/run.sh/a.o && test_path_is_dir taken/run.sh/repository/.git && test -p taken/run.sh/fifo &&
	git -C taken ews undo && git -C taken diff --exit-code HEAD && git -C taken ews undo --redo && rm -r taken/run.sh && git -C taken ews undo 2>err && test_grep ! "kept in trash" err && git -C taken diff --exit-code HEAD
'

test_expect_success 'P2: a read-only directory of the project that could not be closed again is, when apply is taken back, or by recover' '
	test_repo shut && mkdir shut/ro && echo r >shut/ro/r && git -C shut add ro && git -C shut commit -qm ro && start_ws shut w && echo z >>"${ws:?}/ro/r" && chmod 555 shut/ro && "$EWS_SRC/t/lister" -m -x .git shut >before &&
	test_expect_code 128 test_strace trace -P "$PWD/shut/ro" -e trace=fchmod -e inject=fchmod:error=EIO:when=2 git -C shut ews apply w 2>err && test_grep INJECTED trace && test_grep "ro. could not be written: cannot set its mode back" err && test "$(stat -c %a shut/ro)" = 555 && "$EWS_SRC/t/lister" -m -x .git shut >after && test_cmp before after && git -C shut ews recover --all 2>err && test_grep "nothing is interrupted" err &&
	test_expect_code 128 test_strace trace -P "$PWD/shut/ro" -e trace=fchmod -e inject=fchmod:error=EIO:when=2+ git -C shut ews apply w 2>err && test_grep "^hint: .git ews recover --all. or" err && git -C shut ews recover --all >out && test "$(stat -c %a shut/ro)" = 555 && "$EWS_SRC/t/lister" -m -x .git shut >after && test_cmp before after &&
	git -C shut ews apply w && test "$(stat -c %a shut/ro)" = 555 && test_grep z shut/ro/r
'

test_expect_success 'P2: likewise one whose name needs escapes' '
	test_repo esc && dir=$(printf "r\\\\o\nx") && mkdir "esc/${dir:?}" && echo r >"esc/${dir:?}/r" && git -C esc add -A && git -C esc commit -qm ro && start_ws esc esc && echo z >>"${ws:?}/${dir:?}/r" && chmod 555 "esc/${dir:?}" && "$EWS_SRC/t/lister" -m -x .git esc >before &&
	test_expect_code 128 test_strace trace -P "$PWD/esc/${dir:?}" -e trace=fchmod -e inject=fchmod:error=EIO:when=2 git -C esc ews apply esc 2>err && test_grep INJECTED trace && test_grep "could not be written: cannot set its mode back" err && test "$(stat -c %a "esc/${dir:?}")" = 555 && "$EWS_SRC/t/lister" -m -x .git esc >after && test_cmp before after && git -C esc ews recover --all 2>err && test_grep "nothing is interrupted" err
'

test_expect_success 'a commit on a branch that is a symbolic ref is taken back from what that leads to' '
	test_repo symbolic && git -C symbolic symbolic-ref refs/heads/link refs/heads/main && git -C symbolic symbolic-ref HEAD refs/heads/link && git -C symbolic for-each-ref refs/heads >before && start_ws symbolic w && echo work >>"${ws:?}/src/main.c" &&
	git -C symbolic ews apply --commit -m work w && git -C symbolic log -1 --format=%s main >out && echo work >want && test_cmp want out && git -C symbolic ews undo && git -C symbolic for-each-ref refs/heads >after && test_cmp before after && test "$(git -C symbolic symbolic-ref refs/heads/link)" = refs/heads/main &&
	git -C symbolic ews undo --redo && git -C symbolic log -1 --format=%s main >out && test_cmp want out && git -C symbolic ews undo && git -C symbolic diff --exit-code HEAD
'

test_expect_success 'P1: what a sparse checkout left out, and git took in once it came, is left out again when it goes by an undo' '
	for kind in "" --sparse-index; do
		test_repo sc && snap=$(git -C sc ews snapshot create) && git -C sc sparse-checkout set --cone $kind src && git -C sc ls-files -v -s >was && start_ws sc sc && git -C "${ws:?}" sparse-checkout disable && echo more >>"${ws:?}/docs/crlf.txt" && echo more >>"${ws:?}/src/main.c" || return 1
		for how in "apply sc" "snapshot restore --force $snap"; do
			git -C sc ews $how && git -C sc status --porcelain && git -C sc ls-files -v -s >got && test_must_fail cmp -s was got &&
				git -C sc ews undo && test_path_is_missing sc/docs && git -C sc ls-files -v -s >got && test_cmp was got && git -C sc status --porcelain >out && test_must_be_empty out &&
				git -C sc ews undo --redo && test_path_is_file sc/docs/crlf.txt && git -C sc status --porcelain && echo mine >sc/docs/image.bin && git -C sc add --sparse docs/image.bin && blob=$(git -C sc hash-object docs/image.bin) &&
				git -C sc show HEAD:docs/image.bin >sc/docs/image.bin && git -C sc ews undo && git -C sc ls-files -v -s docs >out && test_grep "^H .* $blob .*docs/image.bin" out && test_grep ! "^[^S].*docs/crlf" out && git -C sc reset -q --hard && git -C sc sparse-checkout reapply || return 1
		done && git -C sc ews end --force sc && rm -rf sc || return 1
	done
'

test_expect_success 'P1: an undo leaves nothing out of a work tree whose sparse checkout was switched off or widened since' '
	for how in disable "add docs"; do
		test_repo so && git -C so sparse-checkout set --cone src && start_ws so so && mkdir -p "${ws:?}/docs" && echo new >"${ws:?}/docs/crlf.txt" && git -C so ews apply so && git -C so sparse-checkout $how && git -C so ews undo &&
			test_path_is_missing so/docs/crlf.txt && git -C so ls-files -t >out && test_grep "^H docs/crlf.txt" out && git -C so status --porcelain >out && test_grep "^ D docs/crlf.txt" out &&
			git -C so reset -q --hard && test_path_is_file so/docs/crlf.txt && git -C so ews end --force so && rm -rf so || return 1
	done
'

test_expect_success 'an absolute path that a link leads to is inside, as it is for git; no link below the top is followed' '
	test_repo aim && ln -s aim aimlink && top=$PWD/aimlink && start_ws aim by && mkdir "${ws:?}/far" && echo new >"${ws:?}/far/b.c" && echo edit >>"${ws:?}/run.sh" && ln -s "$(dirname "$ws")" wslink && inside=$PWD/wslink/by &&
	for path in "${top:?}/far/b.c" "${top:?}//x/../far/./b.c" "${top:?}/far/*.c" ":(literal)${top:?}/far/b.c" ":(icase)${top:?}/FAR/"; do
		git -C aim ews apply --check by -- "$path" >out && test_grep " far/b.c " out && test_grep ! "run.sh" out || return 1
	done && git -C aim ews apply --check by --prefix "${top:?}/far" >out && test_grep " far/b.c " out && test_grep ! "run.sh" out && git -C aim ews apply --check by -- "$top" >out && test_grep " far/b.c " out && test_grep "run.sh" out &&
	git -C "$inside" ews diff --name-only -- "${inside:?}/run.sh" >out && echo run.sh >want && test_cmp want out && git -C "$inside" ews revert --dry-run -- "${inside:?}/run.sh" && git -C aim ews artifact add --type log --session by --from-workspace "${inside:?}/run.sh" && git -C aim ews snapshot create -- "${top:?}/run.sh" &&
	ln -s .. aim/up && ln -s aim/src srclink && mkdir other && for path in "${top:?}/../other" "$PWD/other/run.sh" "$PWD/srclink/main.c" "$PWD/srclink/../run.shx/y" "$PWD/none/run.sh"; do
		test_expect_code 129 git -C aim ews apply --check by -- "$path" 2>err && test_grep "is outside of" err || return 1
	done && git -C aim ews apply --check by -- "${top:?}/up/aim/run.sh" >out && test_grep ! "run.sh" out && git -C aim ews end by
'

test_expect_success 'P8: what is asked for of a session lies in its workspace, or is refused' '
	test_repo lie && start_ws lie lie && mkdir "${ws:?}/q" && echo n >"${ws:?}/q/n" && for path in ../q/n ../../../../q q/../../q/n /q / .. "$PWD/lie/q"; do
		test_expect_code 129 git -C lie ews apply "lie:$path" 2>err && test_grep "is outside of" err && test_path_is_missing lie/q || return 1
	done && ln -s "$ws" lielink && for path in q ./q/n q/../q/ "${ws:?}/q/n" "$PWD/lielink/q" "" . q/..; do
		git -C lie ews apply --check "lie:$path" >out && test_grep " q/n " out || return 1
	done && git -C lie ews end lie && git -C lie ews apply --check "lie:q/n" && test_expect_code 129 git -C lie ews apply --check "lie:../q/n"
'

test_expect_success 'P8: what is not chosen of a patch stands in no way; what is chosen does, and alone is named' '
	test_repo part && (cd part && mkdir here there && for f in here/x there/x; do (seq 20 && echo $f) >$f || exit 1; done && echo w >there/w && echo "?" >"there/[w]" && git add . && git commit -qm two && git mv here/x here/y && git mv there/x there/y &&
		echo more >>here/y && echo new >here/new && echo 2 >>there/w && echo 2 >>"there/[w]" && git add . && git diff --cached -M >../part.patch && git reset -q --hard && seq 3 >there/x && rm there/w "there/[w]" && git commit -qam on) &&
	partly() { git -C part ews apply "$@" "$PWD/part.patch" -- ${of:+"$of"}; } && brought() { git -C part status --porcelain -uall >out && printf "%s\n" "$@" >want && test_cmp want out && git -C part ews undo; } &&
	of= && test_expect_code 1 partly 2>err && test_grep "conflict: there/w (it is not there)" err && test_grep "conflict: there/\[w\]" err && for of in here "here/*" ":!there" ":(icase)HERE"; do
		for how in -q --3way --force; do partly $how && brought " D here/x" "?? here/new" "?? here/y" || return 1; done
	done && of= && partly --prefix here && brought " D here/x" "?? here/new" "?? here/y" && partly --hunks here/new:1 && brought "?? here/new" && (cd part/here && git ews apply --hunks new:1 - <../../part.patch) && brought "?? here/new" &&
	of=here/y && partly && brought "?? here/y" && of=here/x && partly && brought " D here/x" && of=src && partly --3way && partly && git -C part status --porcelain -uall >out && test_must_be_empty out &&
	of=":(literal)there/[w]" && test_expect_code 1 partly 2>err && test_grep "conflict: there/\[w\]" err && test_grep ! "conflict: there/w" err && of=there && test_expect_code 1 partly 2>err && test_grep "conflict: there/w" err &&
	of= && test_expect_code 1 partly --hunks here/new:1 --hunks there/w:1 2>err && test_grep "conflict: there/w" err && test_grep ! "\[w\]" err && git -C part status --porcelain -uall >out && test_must_be_empty out
'

test_expect_success 'P8: nor does a hunk that is not chosen in a file of which another one is, where it is known what it was made from' '
	test_repo hunks && seq 60 >hunks/f && git -C hunks add f && git -C hunks commit -qm f && start_ws hunks s && sed -i "s/^5$/five/; s/^50$/fifty/" "${ws:?}/f" && git -C hunks ews diff s >hunks.patch && sed -i "s/^50$/mine/" hunks/f && sed "s/^5$/five/" hunks/f >want &&
	for source in s "$PWD/hunks.patch" -; do
		test_expect_code 1 git -C hunks ews apply --hunks f:2 "$source" <hunks.patch 2>err && test_grep "conflict: f" err && test_expect_code 1 git -C hunks ews apply --hunks f:1,2 "$source" <hunks.patch && test_expect_code 1 git -C hunks ews apply "$source" <hunks.patch &&
			git -C hunks ews apply --hunks f:1 "$source" <hunks.patch && test_cmp want hunks/f && git -C hunks ews undo && test_grep "^5$" hunks/f || return 1
	done && grep -v "^index" hunks.patch >anyones.patch && test_expect_code 1 git -C hunks ews apply --hunks f:1 "$PWD/anyones.patch" 2>err && test_grep "the patch does not apply" err && git -C hunks ews end s
'

test_expect_success 'P8: what stands in the place of what is chosen of a patch conflicts, also where the rest does not apply' '
	test_repo stands && (cd stands && seq 20 >a && echo file >x && git add . && git commit -qm two && sed -i "s/^5$/five/" a && rm x && mkdir x && echo y >x/y && git add . && git diff --cached >../stands.patch && git reset -q --hard && sed -i "s/^5$/FIVE/" a && git commit -qam on) &&
	for how in "" --check; do test_expect_code 1 git -C stands ews apply $how "$PWD/stands.patch" -- x/y 2>err && test_grep "conflict: x (no directory in the project)" err && test_grep ! "no patch" err || return 1; done && test_expect_code 1 git -C stands ews apply --json "$PWD/stands.patch" -- x/y >out && test_json out .error.code conflict &&
	git -C stands ews apply "$PWD/stands.patch" -- x && echo y | test_cmp - stands/x/y && git -C stands ews undo && git -C stands ews apply --force "$PWD/stands.patch" -- x/y && echo y | test_cmp - stands/x/y && git -C stands ews undo && echo file | test_cmp - stands/x && git -C stands status --porcelain >out && test_must_be_empty out
'

test_expect_success 'P5: a patch that leads outside is refused, whatever is chosen of it' '
	test_repo leads && mkdir aside && echo b >aside/b && ln -s ../aside leads/aside && git -C leads add aside && git -C leads commit -qm link && hunk="@@ -0,0 +1 @@" && printf -- "--- /dev/null\n+++ b/new\n$hunk\n+n\n" >good && for way in aside/new ../new .git/new; do
		(cat good && printf -- "--- /dev/null\n+++ b/$way\n$hunk\n+x\n") >leads.patch && test_expect_code 128 git -C leads ews apply "$PWD/leads.patch" -- new 2>err && test_grep "is refused" err && test_path_is_missing leads/new || return 1
	done
'

test_done
