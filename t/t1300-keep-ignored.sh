#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='start --keep-ignored: products of a build come along, and what the other verbs do with them (P1, P2, P4, P8)'

. "$(dirname "$0")/test-lib.sh"

# a small project in C that was built
c_project() {
	git init -q "$1" && (
		cd "$1" && mkdir src && cat >Makefile <<-\EOF &&
		all: prog
		prog: obj/main.o obj/more.o; cc -o $@ obj/main.o obj/more.o
		obj/%.o: src/%.c src/more.h; mkdir -p obj && cc -c -o $@ $<
		EOF
			printf '#include "more.h"\nint main(void)\n{\n\treturn more() - MORE;\n}\n' >src/main.c &&
			printf 'int more(void)\n{\n\treturn 3;\n}\n' >src/more.c && printf 'int more(void);\n#define MORE 3\n' >src/more.h &&
			printf '/obj/\n/prog\n*.log\nnode_modules/\n/cache/\n' >.gitignore && echo words >notes && git add -A && git commit -qm c &&
			touch -d "2021-01-01 01:01:01.010101" src/* notes Makefile && make -s && ./prog
	)
}

# files and links of $1, with times
files_alone() {
	"$EWS_SRC/t/lister" -x .git -x .superqode "$1" | grep -v "^[^	]*	d "
}

# what the files of $1 hold
contents_of() {
	(cd "$1" && find . -name .git -prune -o -type f -exec sha256sum {} +) | sort -k 2
}

kept_of() {
	printf "%s %s\n" "$(json "$1" .ignored.kept)" "$(json "$1" .ignored.left)"
}

test_expect_success 'P1: in the twin of a project that was built make has nothing to do' '
	c_project c && test_fingerprint c >before && start_ws c twin && test_fingerprint c >after && test_cmp before after &&
	test_same_tree -t -M . c "$ws" && make -q -C "$ws" && (cd "${ws:?}" && ./prog) && git -C "$ws" status --porcelain >out && test_must_be_empty out &&
	start_ws c --method snapshot copy && test_same_tree -t -M . c "$ws" && make -q -C "$ws" && git -C "$ws" status --porcelain >out && test_must_be_empty out &&
	touch c/src/more.h && start_ws c && test_must_fail make -q -C "$ws" && make -s -C "$ws" && make -q -C "$ws" && make -s -C c
'

test_expect_success 'a node_modules tree runs' '
	(
		cd c && mkdir -p node_modules/.bin node_modules/tool/lib && printf "#!/bin/sh\n. \"\$(dirname \"\$0\")/../tool/lib/say\"\n" >node_modules/tool/run &&
			echo "echo \"\$0 said\"" >node_modules/tool/lib/say && chmod 755 node_modules/tool/run && ln -s ../tool/run node_modules/.bin/tool && mkdir node_modules/empty
	) &&
	start_ws c && "${ws:?}/node_modules/.bin/tool" >out && echo "${ws:?}/node_modules/.bin/tool said" >want && test_cmp want out &&
	test_path_is_link "${ws:?}/node_modules/.bin/tool" ../tool/run && test_path_is_dir "${ws:?}/node_modules/empty" && test_same_tree -t -M . c "$ws"
'

test_expect_success '--keep-ignored says yes, =no leaves all, and JSON counts' '
	git -C c ews start --json >out && kept_of out >got && echo "6 0" >want && test_cmp want got && test_json out .ignored.kept_bytes && test_json_count out .skipped 0 &&
	git -C c ews start --keep-ignored=no --json >out && kept_of out >got && echo "0 null" >want && test_cmp want got && test_json_count out .skipped 3 &&
	start_ws c --keep-ignored=no && test_path_is_missing "${ws:?}/obj" && test_grep "3 ignored paths left out" err &&
	start_ws c --keep-ignored --base HEAD && cmp c/prog "${ws:?}/prog" && test_must_fail make -q -C "$ws" &&
	test_expect_code 129 git -C c ews start --keep-ignored=some && test_expect_code 129 git -C c ews start --method in-place --keep-ignored=no
'

test_expect_success 'what is large is left out where copies cost something, and said' '
	if ! cp --reflink=always c/prog probe 2>err; then
		mkdir c/cache && truncate -s 201M c/cache/hole && start_ws c && test_path_is_missing "${ws:?}/cache" && test_path_is_missing "${ws:?}/obj" &&
		test_grep "7 ignored files of 201 MiB were left out" err && git -C c ews start --json >out && test_json out .ignored.left 7 && test_json out .ignored.kept 0 &&
		start_ws c --keep-ignored && test "$(stat -c %s "${ws:?}/cache/hole")" = 210763776 && test "$(stat -c %b "${ws:?}/cache/hole")" -lt 1000 && make -q -C "$ws" &&
		git -C c ews end "$(basename "$ws")" && rm -r c/cache
	fi
'

test_expect_success '.worktreeinclude chooses among what is ignored, and nothing else' '
	c_project inc && (
		cd inc && mkdir -p node_modules/a cache/deep && echo 1 >node_modules/a/f && echo 2 >cache/deep/wanted && echo 3 >cache/deep/not && echo 4 >top.log && echo 5 >src/in.log &&
			printf "%s\n" "# these" "cache/**/wanted" "*.log" "!top.log" "/obj/" "notes" "unknown" >.worktreeinclude && echo untracked >new
	) &&
	start_ws inc && (cd "${ws:?}" && find . -name .git -prune -o -type f -print) | sort >got &&
	printf "./%s\n" .gitignore .worktreeinclude Makefile cache/deep/wanted new notes obj/main.o obj/more.o src/in.log src/main.c src/more.c src/more.h | sort >want && test_cmp want got &&
	mkdir "${ws:?}/node_modules" && echo n >"${ws:?}/node_modules/n" && echo n >"${ws:?}/cache/deep/n" && git -C inc ews revert "$(basename "$ws")" >out && test_grep "Status: Verified" out &&
	(cd "${ws:?}" && find . -name .git -prune -o -type f -print) | sort >got && test_cmp want got &&
	: >inc/.worktreeinclude && start_ws inc && test_path_is_missing "${ws:?}/obj" && test_path_is_file "${ws:?}/new"
'

test_expect_success 'P1: names of one file are that again, among themselves, and of none in the project' '
	c_project hard && (
		cd hard && ln src/more.c src/linked.c && ln notes same && git add -A && git commit -qm links && mkdir cache && ln prog cache/prog && ln notes cache/notes && ln -s "$PWD/notes" cache/back
	) &&
	start_ws hard h && find "${ws:?}" hard -name .git -prune -o -type f -printf "%i\n" | sort | uniq -c | sed "s/^ *\([0-9]*\) .*/\1/" | sort | uniq -c >counts &&
	(cd "${ws:?}" && test src/more.c -ef src/linked.c && test notes -ef same && test notes -ef cache/notes && test prog -ef cache/prog) &&
	test ! notes -ef "${ws:?}/notes" && for f in notes src/more.c prog cache/prog obj/main.o; do test ! "hard/$f" -ef "${ws:?}/$f" || return 1; done &&
	test_grep "the link .cache/back. leads into the project" err && test_same_tree -t -M . hard "$ws" && git -C "$ws" status --porcelain >out && test_must_be_empty out && make -q -C "$ws" &&
	test_fingerprint hard >before && echo more >>"${ws:?}/notes" && echo x >"${ws:?}/prog" && test_fingerprint hard >after && test_cmp before after &&
	git -C hard ews revert h >out && test_grep "Status: Verified" out && cmp hard/notes "${ws:?}/notes" && cmp hard/same "${ws:?}/same"
'

test_expect_success 'P2: revert leaves what came along, and moves what came later to trash; undo brings it back' '
	c_project r && mkdir -p r/node_modules/a && echo 1 >r/node_modules/a/f && start_ws r rv && files_alone "$ws" >base && git -C r ews diff rv >out && test_must_be_empty out &&
	(cd "${ws:?}" && mkdir -p cache/x node_modules/a/sub node_modules/b && echo n | tee cache/x/n node_modules/a/sub/n node_modules/b/n top.log >obj/other && echo changed >notes) && files_alone "$ws" >work &&
	git -C r ews revert rv >out 2>err && test_grep "Status: Verified" out && test_grep "5 paths moved to trash whole: 5 files" err && test_grep ! "not looked at" err &&
	files_alone "$ws" >got && test_cmp base got && make -q -C "$ws" && test_path_is_missing "${ws:?}/node_modules/b" &&
	git -C r ews undo rv && files_alone "$ws" >got && test_cmp work got && git -C r ews undo --redo rv && files_alone "$ws" >got && test_cmp base got &&
	git -C r ews end rv 2>err && test_grep ! obj err && git -C r ews undo rv && files_alone "$ws" >got && test_cmp base got && git -C r ews revert rv >out && test_grep "Status: Verified" out
'

test_expect_success 'P2: after a build of changed sources revert names the products, and make is not fooled' '
	start_ws r built && (cd "${ws:?}" && sed s/3/4/ src/more.c >n && cat n >src/more.c && rm n && make -s && test_must_fail ./prog && rm node_modules/a/f) &&
	git -C r ews revert built >out 2>err && test_grep "Status: Verified" out && test_grep "obj/more.o (ignored, changed)" err && test_grep "prog (ignored, changed)" err &&
	test_grep "node_modules/a/f (ignored, gone)" err && test_grep ! obj/main.o err && cmp r/src/more.c "${ws:?}/src/more.c" && test_must_fail make -q -C "$ws" && make -s -C "$ws" && (cd "${ws:?}" && ./prog) &&
	git -C r ews revert --json built >out && test_json out .verified true && json out .not_covered >got && test_grep "obj/more.o" got &&
	rm -r "${ws:?}/obj" && mkdir "${ws:?}/obj" && git -C r ews revert --dry-run built 2>err >out && git -C r ews revert built >out 2>err && test_grep "obj/main.o (ignored, gone)" err && test_path_is_dir "${ws:?}/obj"
'

test_expect_success 'P2: what was ignored at the base stays, whatever the rules say now' '
	start_ws r rules && files_alone "$ws" >base && (cd "${ws:?}" && : >.gitignore && git add -A && echo new >obj/new && echo changed >prog) && git -C r ews revert rules >out 2>err &&
	test_grep "Status: Verified" out && test_grep "prog (ignored, changed)" err && test_path_is_missing "${ws:?}/obj/new" && echo changed >want && test_cmp want "${ws:?}/prog" &&
	files_alone "$ws" | grep -v "^prog\|^.gitignore" >got && grep -v "^prog\|^.gitignore" base >want && test_cmp want got && git -C "$ws" status --porcelain >out && test_must_be_empty out
'

test_expect_success 'P7, P8: what came along is no change when its rule goes: neither in the patch nor in a snapshot; what was written since is named' '
	git init -q gone && (cd gone && echo a >a && git add a && git commit -qm one && printf "nm/\n.env\n" >.gitignore && git add .gitignore && git commit -qm two && mkdir -p nm/deep && git init -q nm/repo && echo secret | tee .env nm/x.js nm/deep/y.js >nm/repo/z) &&
	start_ws gone gone && git -C "${ws:?}" reset -q --hard HEAD~1 && git -C gone ews diff --name-status gone >out 2>err && printf "D\t.gitignore\n" >want && test_cmp want out && test_must_be_empty err && git -C gone ews diff gone >patch && git -C gone apply --check ../patch &&
	git -C gone ews status --json gone >out && test_json out ".sessions[0].changes.total_changes" 1 && id=$(git -C gone ews snapshot create gone) && git -C gone ls-tree -r --name-only "refs/ews/snapshots/$id" >out && echo a | test_cmp - out && git -C gone ews snapshot show --coverage "$id" >out && printf "present\t%s\n" .env nm | test_cmp - out &&
	git -C gone ews revert gone >out 2>err && test_grep "Changes: 1 file" err && test_grep "Status: Verified" out && test_grep ! "not looked at" err && git -C gone ews undo gone && test_path_is_file "${ws:?}/nm/repo/z" &&
	echo written >"${ws:?}/.env" && echo came >"${ws:?}/nm/new" && rm "${ws:?}/nm/x.js" && git -C gone ews diff --name-status gone >out 2>err && printf "D\t.gitignore\nA\tnm/new\n" >want && test_cmp want out && echo "warning: not in the patch: .env (ignored-written)" | test_cmp - err &&
	git -C gone ews revert gone >out 2>err && test_grep "Status: Verified" out && grep "not looked at" err | sort >got && printf "warning: not looked at: %s\n" ".env (ignored, changed)" "nm/x.js (ignored, gone)" | test_cmp - got && test_path_is_missing "${ws:?}/nm/new" && echo written | test_cmp - "${ws:?}/.env" && git -C gone ews undo gone &&
	git -C gone ews apply --check gone 2>err && test_grep "left out: .env (ignored-written)" err && git -C gone ews end --branch done gone 2>err && test_grep "in trash: .env (ignored-written)" err && git -C gone ls-tree -r --name-only done >got && printf "%s\n" a nm/new | test_cmp - got && git -C gone apply --check .superqode/qe-artifacts/patches/gone.patch &&
	git -C gone ews undo gone && git -C "${ws:?}" add nm/deep && git -C gone ews diff --name-only gone >out 2>err && printf "%s\n" .gitignore nm/deep/y.js nm/new | test_cmp - out
'

test_expect_success 'P3: back to a snapshot that knows what came along by name alone what is gone or was written is named, as at the base; undo, which leaves it, says nothing' '
	test_repo named && printf ".env\nbuilt/\n" >named/.gitignore && git -C named add . && git -C named commit -qm rules && echo secret >named/.env && mkdir named/built && echo 1 >named/built/1 && echo 2 >named/built/2 && for rule in there gone; do
		start_ws named --keep-ignored=yes s && { test $rule = there || : >"${ws:?}/.gitignore"; } && snap=$(git -C named ews snapshot create s) && echo more >>"${ws:?}/src/main.c" && git -C named ews revert --to "$snap" s 2>err && test_grep ! "not looked at" err && echo v2 >>"${ws:?}/.env" && rm "${ws:?}/built/1" && for verb in "revert --to $snap" "snapshot restore $snap"; do
			echo more >>"${ws:?}/src/main.c" && git -C named ews $verb s >out 2>err && test_grep "^warning: not looked at: built/1 (ignored, gone)$" err && test_grep "^warning: not looked at: .env (ignored, changed)$" err && grep -c "not looked at" err >count && echo 2 >want && test_cmp want count &&
				git -C named ews undo s 2>err && test_grep ! "(ignored, " err || return 1
		done && git -C named ews revert --to "$snap" --json s >json && test_json_count json .not_covered 2 && rm "${ws:?}/.env" && echo v3 >"${ws:?}/.env" && git -C named ews revert --to "$snap" s 2>err && test_grep "built/1 (ignored, gone)" err && test_grep ".env (ignored, changed)" err && git -C named ews end --force s || return 1
	done
'

test_expect_success 'P7: what came along, was added and snapshotted, and is untracked again is not deleted: not in the patch, which says so, nor by apply' '
	for rule in there gone; do
		rm -rf untracked && test_repo untracked && printf ".env\nbuilt/\n" >untracked/.gitignore && git -C untracked add . && git -C untracked commit -qm rules && echo secret >untracked/.env && mkdir untracked/built && echo 1 >untracked/built/1 && start_ws untracked --keep-ignored=yes $rule && { test $rule = there || : >"${ws:?}/.gitignore"; } &&
			git -C "$ws" add -f .env built && one=$(git -C untracked ews snapshot create $rule) && git -C "$ws" rm -rq --cached .env built && git -C untracked ews diff $rule --exit-code -- .env built && git -C "$ws" ews diff "$one" >out 2>err && test_must_be_empty out && printf "warning: not in the patch: %s (present)\n" .env built | test_cmp - err &&
			two=$(git -C untracked ews snapshot create $rule) && git -C untracked ews diff "$one" "$two" >out 2>err && test_must_be_empty out && test_grep "not in the patch: .env (present)" err && git -C untracked ews apply "$one..$two" 2>err && test_grep "left out: .env (present)" err && test_grep secret untracked/.env && test_path_is_file untracked/built/1 &&
			git -C untracked ews diff --name-status "$two" "$one" >out && printf "A\t%s\n" .env built/1 | test_cmp - out && rm "${ws:?}/.env" && git -C "$ws" ews diff --name-status "$one" >out && printf "D\t.env\n" | test_cmp - out && git -C untracked ews end --force $rule || return 1
	done
'

test_expect_success 'P7: but what is gone by then is deleted, also from a directory of which the rest is there: between snapshots, up to now, and by apply' '
	for rule in there gone; do
		rm -rf partly && test_repo partly && echo built/ >partly/.gitignore && git -C partly add . && git -C partly commit -qm rules && mkdir -p partly/built/sub && for n in 1 2 sub/3; do echo $n >partly/built/$n || return 1; done && start_ws partly --keep-ignored=yes $rule && { test $rule = there || : >"${ws:?}/.gitignore"; } &&
			git -C "$ws" add -f built/1 built/sub && one=$(git -C partly ews snapshot create $rule) && git -C "$ws" rm -rqf --cached built && rm -r "${ws:?}/built/sub" && printf "D\tbuilt/sub/3\n" >want && git -C "$ws" ews diff --name-status "$one" >out 2>err && test_cmp want out && test_grep "not in the patch: built.* (present)" err &&
			two=$(git -C partly ews snapshot create $rule) && git -C partly ews diff --name-status "$one" "$two" >out 2>err && test_cmp want out && test_grep "not in the patch: built.* (present)" err && rm "${ws:?}/built/1" && three=$(git -C partly ews snapshot create $rule) && printf "D\tbuilt/1\nD\tbuilt/sub/3\n" >want && git -C partly ews diff --name-status "$one" "$three" >out 2>err && test_cmp want out && test_must_be_empty err &&
			git -C partly add -f built/1 built/sub && git -C partly commit -qm built && git -C partly ews apply "$one..$three" && test_path_is_missing partly/built/1 && test_path_is_file partly/built/2 && git -C partly ews revert --to "$two" $rule >out 2>err && test_grep "Status: Verified" out && git -C partly ews revert --to "$one" $rule && test_path_is_file "${ws:?}/built/sub/3" && git -C partly ews end --force $rule || return 1
	done
'

test_expect_success 'P7: what came into such a directory, was added and snapshotted, and is untracked again is named while it is there, and deleted once it is gone' '
	test_repo since && echo built/ >since/.gitignore && git -C since add . && git -C since commit -qm rules && mkdir since/built && echo 1 >since/built/1 && start_ws since --keep-ignored=yes since && echo new >"${ws:?}/built/new" && git -C "$ws" add -f built/new && one=$(git -C since ews snapshot create since) && git -C "$ws" rm -q --cached built/new && two=$(git -C since ews snapshot create since) &&
	git -C since ews diff --exit-code "$one" "$two" >out 2>err && test_must_be_empty out && test_grep "not in the patch: built/new (ignored)" err && git -C since ews diff --json "$one" "$two" >json && test_json_count json .not_in_patch 1 && mkdir -p since/built && echo new >since/built/new && git -C since add -f built/new && git -C since commit -qm new && git -C since ews apply "$one..$two" 2>err && test_grep "left out: built/new (ignored)" err && test_path_is_file since/built/new &&
	rm "${ws:?}/built/new" && printf "D\tbuilt/new\n" >want && git -C since ews diff --name-status "$one" >out && test_cmp want out && for n in 1 2; do
		gone=$(git -C since ews snapshot create since) && git -C since ews diff --name-status "$one" "$gone" >out 2>err && test_cmp want out && test_must_be_empty err || return 1
	done && git -C since ews apply "$one..$gone" && test_path_is_missing since/built/new && echo again >"${ws:?}/built/new" && back=$(git -C since ews snapshot create since) && git -C since ews diff --exit-code "$one" "$back" 2>err && test_grep "not in the patch: built/new (ignored)" err
'

test_expect_success 'P8: what is ignored and was in an earlier state has a word of its own in --coverage once it is gone' '
	test_repo word && echo "built/" >word/.gitignore && git -C word add . && git -C word commit -qm rules && mkdir word/built && echo x >word/built/x && echo y >word/built/y && start_ws word --keep-ignored=yes word && git -C "$ws" add -f built/x && git -C word ews snapshot create word && git -C "$ws" rm -q --cached built/x && rm "${ws:?}/built/x" && two=$(git -C word ews snapshot create word) &&
	git -C word ews snapshot show --coverage "$two" >out 2>err && test_grep "^note: gone: it is ignored" err && test_grep "^gone	built/x\$" out && test_grep ! "^ignored	built/x\$" out && git -C word ews snapshot show --coverage --json "$two" >out && test_grep "\"reason\": *\"gone\"" out
'

test_expect_success 'P7: a file that came along and was snapshotted is deleted where a directory has taken its place, and that is left out once' '
	test_repo place && echo "*.o" >place/.gitignore && git -C place add . && git -C place commit -qm rules && echo x >place/x.o && start_ws place --keep-ignored=yes place && git -C "$ws" add -f x.o && one=$(git -C place ews snapshot create place) && git -C "$ws" rm -q --cached x.o && rm "${ws:?}/x.o" && mkdir "${ws:?}/x.o" && echo q >"${ws:?}/x.o/q" && two=$(git -C place ews snapshot create place) &&
	git -C place ews snapshot show --coverage "$two" >out && grep -c "x\.o" out >count && echo 1 | test_cmp - count && printf "D\tx.o\n" >want && git -C place ews diff --name-status "$one" "$two" >out && test_cmp want out && printf "A\tx.o\n" >want && git -C place ews diff --name-status "$two" "$one" >out && test_cmp want out &&
	git -C place ews revert --to "$one" place >out && test_grep "Status: Verified" out && test_path_is_file "${ws:?}/x.o" && git -C place ews undo place && test_path_is_file "${ws:?}/x.o/q"
'

test_expect_success 'restore of a snapshot leaves products, and make is not fooled' '
	start_ws r snap && (cd "${ws:?}" && echo 1 >top.log) && id=$(git -C r ews snapshot create snap) && (cd "${ws:?}" && sed s/3/4/ src/more.c >n && cat n >src/more.c && rm n && make -s && echo 2 >top.log) &&
	git -C r ews revert --to "$id" snap >out && test_grep "Status: Verified" out && echo 2 >want && test_cmp want "${ws:?}/top.log" && test_must_fail make -q -C "$ws" && make -s -C "$ws" && (cd "${ws:?}" && ./prog)
'

test_expect_success 'P2: a product that a snapshot did not have, and that is back since, is moved to trash, whatever it is now' '
	start_ws r back && (cd "${ws:?}" && rm prog) && id=$(git -C r ews snapshot create --ignored back) && (cd "${ws:?}" && mkdir prog && echo 1 >prog/f) &&
	git -C r ews revert --to "$id" back >out && test_grep "Status: Verified" out && test_path_is_missing "${ws:?}/prog" && git -C r ews undo back && test_path_is_file "${ws:?}/prog/f" && git -C r ews end back
'

test_expect_success 'P2: products that came along, of which one was built anew and the rule is gone, were there: undo, redo and a restore leave them all' '
	test_repo ruleless && echo /out/ >ruleless/.gitignore && git -C ruleless add .gitignore && git -C ruleless commit -qm rule && mkdir ruleless/out && echo old >ruleless/out/a && echo old >ruleless/out/b && for method in worktree snapshot; do
		start_ws ruleless --method $method $method && echo rebuilt >"${ws:?}/out/a" && rm "${ws:?}/.gitignore" && contents_of "$ws" >before && snap=$(git -C ruleless ews snapshot create $method) && git -C ruleless ews revert $method >out && test_grep "Status: Verified" out && contents_of "$ws" >after &&
		git -C ruleless ews undo $method 2>err && test_grep ! "moved to trash" err && contents_of "$ws" >got && test_cmp before got && git -C ruleless ews undo --redo $method && contents_of "$ws" >got && test_cmp after got && git -C ruleless ews undo $method && contents_of "$ws" >got && test_cmp before got &&
		git -C ruleless ews revert $method && git -C ruleless ews revert --to "$snap" $method >out 2>err && test_grep "Status: Verified" out && test_grep ! "moved to trash" err && contents_of "$ws" >got && test_cmp before got && git -C ruleless ews end --force $method || return 1
	done
'

test_expect_success 'P2: a file that is ignored in the place of a directory that came along, or the other way round, is none of it: it goes to trash, and undo brings it back' '
	test_repo kinds && printf "/out/\n*.o\n" >kinds/.gitignore && git -C kinds add .gitignore && git -C kinds commit -qm rules && mkdir kinds/out && echo old | tee kinds/out/a kinds/x.o >out && for method in worktree snapshot; do
		start_ws kinds --method $method $method && rm -r "${ws:?}/out" "${ws:?}/x.o" && mkdir "${ws:?}/x.o" && echo precious | tee "${ws:?}/out" "${ws:?}/x.o/f" >out && printf "/out\n*.o\n" >"${ws:?}/.gitignore" && contents_of "$ws" >before && snap=$(git -C kinds ews snapshot create $method) &&
		git -C kinds ews revert $method >out 2>err && test_grep "Status: Verified" out && test_grep "out (ignored, gone)" err && test_path_is_missing "${ws:?}/out" && test_path_is_missing "${ws:?}/x.o" && contents_of "$ws" >after && git -C kinds ews undo $method && contents_of "$ws" >got && test_cmp before got &&
		git -C kinds ews undo --redo $method && contents_of "$ws" >got && test_cmp after got && git -C kinds ews undo $method && git -C "$ws" checkout -q .gitignore && git -C kinds ews revert --to "$snap" $method >out && test_grep "Status: Verified" out && contents_of "$ws" >got && test_cmp before got && git -C kinds ews end --force $method || return 1
	done
'

test_expect_success 'P2: what git put in the place of a product is gone after a restore of a snapshot that knew the product' '
	start_ws r put && id=$(git -C r ews snapshot create put) && (cd "${ws:?}" && rm prog && mkdir prog && echo 1 >prog/f && git add -f prog/f) &&
	git -C r ews revert --to "$id" put >out && test_grep "Status: Verified" out && test_path_is_missing "${ws:?}/prog" && git -C r ews undo put && test_path_is_file "${ws:?}/prog/f" && git -C r ews end put
'

test_expect_success 'P4: a nested repository among the products comes whole and is not picked apart; one whose git directory is elsewhere is left and named' '
	c_project n && mkdir n/cache && git init -q n/cache/lib && (cd n/cache/lib && echo 1 >f && git add f && git commit -qm 1) && git -C n worktree add -q cache/other && git -C n/cache/lib rev-parse HEAD >want &&
	test_fingerprint n >before && start_ws n nested && test_grep "left out: cache/other (repository)" err && test_path_is_missing "${ws:?}/cache/other" && git -C "${ws:?}/cache/lib" rev-parse HEAD >got && test_cmp want got &&
	(cd "${ws:?}/cache/lib" && echo 2 >>f && echo 3 >g && git add f g && git commit -qm 2 && git rev-parse HEAD) >want && git -C n ews revert nested >out 2>err && test_grep "Status: Verified" out &&
	test_grep "cache/lib/.git (ignored, changed)" err && git -C "${ws:?}/cache/lib" rev-parse HEAD >got && test_cmp want got && git -C "${ws:?}/cache/lib" fsck && test_path_is_missing "${ws:?}/cache/lib/g" &&
	git -C n ews undo nested && echo 3 >want && test_cmp want "${ws:?}/cache/lib/g" && test_fingerprint n >after && test_cmp before after
'

test_expect_success 'home, .superqode and what is excluded are never among them' '
	c_project own && mkdir -p own/cache/home own/.superqode own/cache/big && echo "/.superqode/" >>own/.gitignore && echo x | tee own/.superqode/x own/cache/big/x own/cache/small >out &&
	(cd own && SUPERQODE_HOME=$PWD/cache/home && export SUPERQODE_HOME && git -c ews.workspace.exclude=/cache/big ews start o) >out && ws2=$(cat out) &&
	test_path_is_file "${ws2:?}/cache/small" && test_path_is_missing "${ws2:?}/cache/big" && test_path_is_missing "${ws2:?}/cache/home" && test_path_is_missing "${ws2:?}/.superqode"
'

test_expect_success USERS 'P8: what may not be read is left out, and named' '
	mkdir pub && c_project pub/u && mkdir pub/u/cache && echo secret >pub/u/cache/secret && echo open >pub/u/cache/open && chmod 600 pub/u/cache/secret && test_give_user pub && chown 0 pub/u/cache/secret &&
	test_as_user git -C pub/u ews start >out 2>err && test_grep "left out: cache/secret: it may not be read" err && take_ws out && test_path_is_file "${ws:?}/cache/open" && test_path_is_missing "${ws:?}/cache/secret" && make -q -C "$ws"
'

test_expect_success 'P8: what came along is told by number, however many they are; so is what no rule of an archive names' '
	c_project many && (cd many && for n in $(seq 200); do : >"src/$n.log" || exit 1; done) && start_ws many --keep-ignored many && test_path_is_file "${ws:?}/src/200.log" &&
	git -C many ews run --changes none many -- sh -c ": >new" 2>err && grep -c "known by name alone" err >got && echo 1 >want && test_cmp want got && test_grep "^note: 20[0-9] ignored paths known by name alone" err &&
	git -C many ews snapshot create many >out 2>err && test_line_count = 1 err && test_grep "^note: 20[0-9] ignored paths known by name alone" err && git -C many ews snapshot show --coverage "$(cat out)" >out && test_grep src/200.log out &&
	for n in $(seq 200); do : >"many/src/$n.txt" || return 1; done && (cd many && git ews archive create . --to "$HOME/arch" --keep notes) >out 2>err && test_grep "^note: 20[0-9] paths left out that no rule names" err && test_grep "^note: 20[0-9] ignored paths left out" err && test_line_count = 2 err
'

test_expect_success 'P8: what nothing in the workspace ignores does not come along: it would be new there at once' '
	mkdir rules && (cd rules && git init -q && mkdir -p src venv odd && echo 1 >src/a.c && git add . && git commit -q -m 1 && echo "*.o" >.gitignore && echo 2 >src/a.o && mkdir out && echo 3 >out/b.o && echo "*" >venv/.gitignore && echo 4 >venv/lib && printf "%s\n" keep >odd/.gitignore && echo 5 >odd/keep) &&
	start_ws rules bare --no-untracked && test_grep "3 ignored files were left out, since nothing in the workspace says that they are: .odd/keep., ..." err && git -C rules ews diff bare >out 2>err && test_must_be_empty out && test_must_be_empty err && (cd "${ws:?}" && find . -type f ! -name .git | sort) >got && printf "./%s\n" src/a.c venv/.gitignore venv/lib >want && test_cmp want got &&
	git -C rules add .gitignore odd/.gitignore && git -C rules commit -q -m 2 && start_ws rules old --base HEAD~1 --keep-ignored && git -C rules ews diff old >out 2>err && test_must_be_empty out && test_must_be_empty err && git -C "${ws:?}" status --porcelain >out && test_must_be_empty out && test_path_is_missing "${ws:?}/out" &&
	git -C rules ews revert old >out && test_grep "Status: Verified" out && sed -n "s/.* hash: *//p" out | uniq >hashes && test_line_count = 1 hashes && test "$(cat "${ws:?}/venv/lib")" = 4 &&
	start_ws rules same --base HEAD --keep-ignored && test "$(cat "${ws:?}/out/b.o")" = 3 && test_path_is_file "${ws:?}/odd/keep" && git -C rules ews diff same >out 2>err && test_must_be_empty out && test_must_be_empty err && git -C rules ews revert same >out && sed -n "s/.* hash: *//p" out | uniq >hashes && test_line_count = 1 hashes
'

test_expect_success 'in a plain directory, too' '
	mkdir plain && (cd plain && echo "*.o" >.gitignore && echo 1 >a.c && echo 2 >a.o) && start_ws plain pl && test_same_tree -t -M . plain "$ws" && echo 3 >"${ws:?}/b.o" &&
	git -C plain ews revert pl >out && test_grep "Status: Verified" out && test_path_is_missing "${ws:?}/b.o" && test_path_is_file "${ws:?}/a.o"
'

test_expect_success 'P2: without the list of what came along, revert names that, and make is not fooled' '
	c_project listless && for how in ":" "echo xxxxx" "head -c 200 keep" "rm"; do
		start_ws listless && id=$(basename "$ws") && at=${HOME:?}/.superqode/working/listless/sessions/$id && list=${at:?}/ignored && cp "$list" keep && test_json "${at:?}/state.json" .keeps_ignored true && echo "#define MORE 4" >>"${ws:?}/src/more.h" && sed -i s/3/4/ "${ws:?}/src/more.c" && make -s -C "$ws" 2>err &&
		case $how in rm) rm "$list" ;; *) $how >"$list" ;; esac && git -C listless ews revert "$id" >out 2>err && test_grep "Status: Verified" out && test_grep "warning: not looked at: prog (ignored, the list of what came along is lost)" err && test_grep "not looked at: obj (ignored, " err &&
		test_must_fail make -q -C "$ws" && make -s -C "$ws" && (cd "${ws:?}" && ./prog) && git -C listless ews revert --json "$id" >out && test_json out ".not_covered[0].reason" "ignored, the list of what came along is lost" && git -C listless ews end "$id" || { echo >&2 "$how" && return 1; }
	done && start_ws listless --keep-ignored=no && id=$(basename "$ws") && git -C listless ews revert "$id" >out 2>err && test_grep ! "is lost" err && git -C listless ews end "$id"
'

test_expect_success 'P2: a list that another version wrote is not said to be lost; ours does not change with the cache' '
	start_ws listless && id=$(basename "$ws") && at=${HOME:?}/.superqode/working/listless/sessions/${id:?} && head -n 1 "${at:?}/ignored" >first && test_grep "^ews-ignored 1 [0-9a-f]*$" first && test "$(sed 1d "${at:?}/ignored" | sha256sum | cut -c 1-64)" = "$(cut -d " " -f 3 first)" &&
	{ printf "EWSC\003\000\000\000" && head -c 500 /dev/zero; } >body && { cat body && gzip -c body | tail -c 8 | head -c 4; } >old && sed "1s/ 1 / 2 /" "${at:?}/ignored" >newer && for list in old newer; do
		cp $list "${at:?}/ignored" && echo $list >>"${ws:?}/notes" && git -C listless ews revert "$id" >out 2>err && test_grep "Status: Verified" out && test_grep "warning: not looked at: prog (ignored, the list of what came along was written by another version)" err || return 1
	done && git -C listless ews snapshot create "$id" && git -C listless ews end "$id"
'

test_expect_success STRACE 'P2: one that can not be read just now is not lost: no verb goes on without it, and nothing has moved' '
	start_ws listless && id=$(basename "$ws") && list=${HOME:?}/.superqode/working/listless/sessions/${id:?}/ignored && snap=$(git -C listless ews snapshot create "$id") && echo new >>"${ws:?}/notes" && "$EWS_SRC/t/lister" -x .git "$ws" >before && for fault in "openat ENFILE ignored" "openat EMFILE ignored"; do
		call=${fault%% *} && error=${fault#* } && error=${error%% *} && at=${fault#* * } && for verb in "revert --to $snap" revert "snapshot create" end; do
			test_expect_code 128 test_strace trace -P "$at" -e trace=$call -e inject=$call:error=$error git -C listless ews $verb "$id" 2>err && test_grep INJECTED trace && test_grep "^error: cannot read the list of ignored files that came along: " err && "$EWS_SRC/t/lister" -x .git "$ws" >after && test_cmp before after || { echo >&2 "$fault: $verb"; return 1; }
		done || return 1
	done && git -C listless ews revert --to "$snap" "$id" >out 2>err && test_grep ! "moved to trash\|is lost" err && test_path_is_file "${ws:?}/prog" &&
	test_expect_code 128 test_strace trace -P ignored -e trace=openat -e inject=openat:error=EMFILE git -C listless ews undo "$id" 2>err && test_grep "^error: cannot read the list" err && test_path_is_file "${ws:?}/prog" && git -C listless ews undo "$id" && test_grep new "${ws:?}/notes" && git -C listless ews end "$id"
'

test_expect_success STRACE 'P2: one that the disk does not give is as good as lost' '
	start_ws listless && id=$(basename "$ws") && list=${HOME:?}/.superqode/working/listless/sessions/${id:?}/ignored && echo new >>"${ws:?}/notes" &&
	test_strace trace -P "$list" -e trace=read,pread64,mmap -e inject=read,pread64,mmap:error=EIO git -C listless ews revert "$id" >out 2>err && test_grep INJECTED trace && test_grep "not looked at: prog (ignored, the list" err && git -C listless ews end "$id"
'

test_expect_success 'P2: of one that is lost what snapshot and end say that came along stays so' '
	start_ws listless && id=$(basename "$ws") && list=${HOME:?}/.superqode/working/listless/sessions/${id:?}/ignored && git -C listless ews snapshot create --json "$id" >one && test_json one ".skipped[1].reason" present && : >"$list" && echo newer >>"${ws:?}/notes" && git -C listless ews snapshot create --json "$id" >two && test_json two ".skipped[1].reason" present &&
	echo newest >>"${ws:?}/notes" && git -C listless ews end --json "$id" >out && test_json_count out ".sessions[0].skipped" 0
'

test_expect_success 'P1: what came along stays where the target is a commit or of another session, which could not know it; what came since goes' '
	git init -q foreign && (cd foreign && printf "*.o\nout/\n" >.gitignore && echo a >a && git add . && git commit -qm a && echo built >built.o && mkdir out && echo 1 >out/1) && start_ws -n other foreign other && rm "${other:?}/built.o" && of_other=$(git -C foreign ews snapshot create other) &&
	start_ws foreign it && mv "${ws:?}/built.o" away.o && of_it=$(git -C foreign ews snapshot create it) && mv away.o "${ws:?}/built.o" && echo edit >>"${ws:?}/a" && echo new >"${ws:?}/new.o" && echo new >"${ws:?}/out/2" &&
	for target in HEAD $of_other; do git -C foreign ews revert --to $target it >out 2>err && test_grep Verified out && test_grep ! present err && printf ".git\n.gitignore\na\nbuilt.o\nout\n" >want && ls -A "$ws" >got && test_cmp want got && ls "${ws:?}/out" >got && echo 1 >want && test_cmp want got && git -C foreign ews undo it && test_grep new "${ws:?}/new.o" && test_grep new "${ws:?}/out/2" || return 1; done &&
	git -C foreign ews revert --to $of_it it >out 2>err && test_grep "^warning: moved to trash: built.o (present)" err && test_path_is_missing "${ws:?}/built.o" && git -C foreign ews undo it && git -C foreign ews end it other
'

test_expect_success 'P4: what a revert left where it is nobody has changed since, says the undo' '
	test_repo forced && echo SECRET >forced/a.o && start_ws forced --keep-ignored s && git -C "$ws" add -f a.o && git -C forced ews revert s && git -C forced ews undo s 2>err && test_grep ! "changed since" err && git -C "$ws" status --porcelain >out && echo "A  a.o" | test_cmp - out &&
	git -C forced ews undo --redo s 2>err && test_grep ! "changed since" err && echo other >"${ws:?}/a.o" && git -C forced ews undo s 2>err && test_grep "changed since then, and kept in trash: a.o" err && test "$(cat "${ws:?}/a.o")" = SECRET && git -C forced ews end s
'

test_expect_success STRACE 'P2, P8: who can not read a .gitignore just now says so: what it ignores is neither captured nor applied nor published, and no epoch goes up' '
	test_repo unread && echo /out/ >unread/.gitignore && git -C unread add .gitignore && git -C unread commit -qm rules && mkdir unread/out && echo built >unread/out/w && for verb in "start x --keep-ignored=no" "start w --keep-ignored" "snapshot create w" "apply w -- run.sh out" "end w" "revert w"; do
		for error in EMFILE EIO; do test_expect_code 128 test_strace trace -P .gitignore -e trace=openat -e inject=openat:error=$error git -C unread ews $verb >out 2>err && test_grep INJECTED trace && test_grep "cannot open .\.gitignore.: " err || { echo >&2 "$verb"; return 1; }; done &&
		case $verb in "start w"*) start_ws unread --keep-ignored w && echo agent >>"${ws:?}/run.sh" && echo "who finds a new name walks" >"${ws:?}/new" || return 1 ;; esac
	done && test_expect_code 128 test_strace trace -P "${ws:?}/.gitignore" -e trace=read -e inject=read:error=EIO git -C unread ews snapshot create w 2>err && test_grep INJECTED trace && git -C unread ews list >out && test_line_count = 1 out && git -C unread ews snapshot list w >out && test_line_count = 1 out && test_grep agent "${ws:?}/run.sh" && test_must_fail grep agent unread/run.sh && git -C unread ews apply w 2>err && test_grep ! stale err && git -C unread ews end w
'

test_expect_success STRACE 'P2, P8: the same of info/exclude and the file that core.excludesFile names: no password lands on a branch' '
	test_repo secret && echo .env >>secret/.git/info/exclude && echo "*.key" >mine && git -C secret config core.excludesFile "$PWD/mine" && echo PASSWORD >secret/.env && echo PASSWORD >secret/a.key && start_ws secret --keep-ignored s && echo agent >>"${ws:?}/run.sh" && for file in "$PWD/secret/.git/info/exclude" "$PWD/mine"; do
		for verb in "start x --keep-ignored=no" "end --branch res s"; do
			for error in EMFILE EIO; do test_expect_code 128 test_strace trace -P "$file" -e trace=openat -e inject=openat:error=$error git -C secret ews $verb >out 2>err && test_grep INJECTED trace && test_grep "cannot read the rules for ignored files: cannot open .$file.: " err || { echo >&2 "$file: $verb"; return 1; }; done || return 1
		done || return 1
	done && git -C secret ews list >out && test_line_count = 1 out && test_must_fail git -C secret rev-parse -q --verify res && git -C secret ews end --branch res s && git -C secret ls-tree -r --name-only res >out && test_grep run.sh out && test_grep ! "\.env" out && test_grep ! a.key out
'

test_expect_success STRACE 'P1, P8: whenever start fails to open the project, it says so, or the workspace has its mode and links all the same' '
	test_repo twice && chmod 750 twice && echo "*.o" >twice/.gitignore && echo built >twice/a.o && ln twice/run.sh twice/linked.sh && git -C twice add . && git -C twice commit -qm all && met= && n=0 && while n=$((n + 1)); do
		test_strace trace -P "$PWD/twice" -e trace=openat -e inject=openat:error=EMFILE:when=$n "$EWS_BIN/git-ews" -C twice start --keep-ignored t$n >out 2>err
		rc=$?
		grep INJECTED trace >injected || break
		case $rc in
		0) ws=$(cat out) && test "$(stat -c %a "$ws")" = 750 && test "$(stat -c %h "${ws:?}/run.sh")" = 2 && { test -e "${ws:?}/a.o" || test_grep "left out" err; } || { cat >&2 injected err; return 1; } ;;
		128) test_grep "^error: " err && met=$((met + 1)) || return 1 ;;
		*) return 1 ;;
		esac
	done && test "$met" -gt 1
'

# The rules are in a file that the config names, and the config can't be read for a while, from its n-th opening on.
test_expect_success STRACE 'P8: where the config does not say just now which rules there are, what is ignored is no part of a base' '
	test_repo ruled && echo secret >ruled-rules && echo k >ruled/secret && git -C ruled config core.excludesFile "$PWD/ruled-rules" && n=1 && while :; do
		if test_strace log -P "$PWD/ruled/.git/config" -e trace=openat -e inject=openat:error=EIO:when=$n..$((n + 1)) git-ews -C ruled start --method snapshot s$n >out 2>err; then git -C ruled ls-tree -r refs/ews/sessions/s$n >got && test_grep ! secret got || return 1; fi
		grep -q INJECTED log || break
		n=$((n + 1))
	done && test $n -gt 4
'

test_expect_success 'P8: a session in place begins with the rules that hold then, or not at all' '
	test_repo begun && git -C begun config core.excludesFile "$PWD/ruled-rules" && look=0 && while test_more_looks; do
		test_look EIO "/ruled-rules$" -C begun start --method in-place t$look >out 2>err && if test $code = 0 || test $code = 199; then test_path_is_file "${HOME:?}/.superqode/working/begun/sessions/t${look:?}/ignore.user" && git -C begun ews end t$look; fi || return 1
	done && test $look -gt 2
'

test_done
