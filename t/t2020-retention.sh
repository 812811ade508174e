#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='trash and clean: what goes when, what undo says then, and nothing that a living session needs (P4)'

. "$(dirname "$0")/test-lib.sh"

working=$HOME/.superqode/working

# aged <time> <project>: all that trash holds of it was put there then.
aged() {
	find "${working:?}/${2:?}/trash" "${working:?}/${2:?}/undo" -mindepth 1 -maxdepth 1 -exec touch -d "$1" {} + &&
		{ test ! -d "${2:?}/.superqode/trash" || find "${2:?}/.superqode/trash" -mindepth 1 -maxdepth 1 -exec touch -d "$1" {} +; }
}

# dirs_aged <time> <project>: its directories alone
dirs_aged() {
	find "${working:?}/${2:?}/trash" -mindepth 1 -maxdepth 1 -exec touch -d "$1" {} +
}

# kib <path>: what it takes on disk
kib() {
	du -sk "$1" | cut -f 1
}

# change <dir> [<KiB>]: work in a workspace, with an ignored product and a file that does not compress
change() {
	echo edit >>"${1:?}/src/main.c" && rm "${1:?}/docs/crlf.txt" && mkdir "${1:?}/out" && echo product >"${1:?}/out/product" &&
		head -c "${2:-8}k" /dev/urandom >"${1:?}/random"
}

# clean_in <project> <argument>...: run it, show what it says when it fails
clean_in() {
	ews_project=$1 && shift && git -C "$ews_project" ews clean "$@" >out 2>err || {
		cat err >&2
		return 1
	}
}

# trash_of <project>: the snapshots in it
trash_of() {
	git -C "$1" for-each-ref --format='%(refname)' refs/ews/trash
}

# stands_in <pid> <dir>, is_empty <dir>
stands_in() {
	test "$(readlink "/proc/${1:?}/cwd")" = "$2"
}

is_empty() {
	test -z "$(ls "$1")"
}

test_expect_success 'setup' '
	test_repo p && start_ws -n kept p kept && change "$kept" && git -C p ews snapshot create kept >snap && files_of "$kept" >kept.want &&
	git -C "$kept" status --porcelain >kept.status && git -C p ews diff kept >out
'

test_expect_success 'P4: --dry-run lists what would go, with sizes, and does nothing' '
	start_ws p one && change "$ws" 64 && files_of "$ws" >one.want && git -C p ews end one && find "$HOME/.superqode" p/.git | sort >before &&
	clean_in p --now --dry-run && test_grep "^directory	.* KiB	.*end of one	.*/trash/op-" out && test_grep "^snapshot	.*end of one	snap-" out &&
	test_grep "KiB would be freed" err && git -C p ews clean --now --dry-run --json >json &&
	test_json json .schema ews.clean/1 && test_json json .dry_run true && dir=$(json_where json .freed .path "/trash/op-") && test_json json "$dir.kind" directory &&
	test_json json "$dir.session_id" one && test_json json "$dir.age_ms" && test "$(json json "$dir.size_bytes")" -gt 65536 &&
	test "$(json json .freed_bytes)" -gt 131072 && find "$HOME/.superqode" p/.git | sort >after && test_cmp before after &&
	clean_in p --dry-run && test_must_be_empty out
'

test_expect_success 'P4: a directory goes after a day; undo makes the workspace from what was kept, and names what it could not' '
	dirs_aged "23 hours ago" p && clean_in p -q && test_must_be_empty out && dirs_aged "25 hours ago" p && clean_in p -q &&
	test_grep "^directory	.*end of one" out && test "$(ls "${working:?}/p/trash")" = "" && git -C p ews undo --list >list && test_grep "done .* end .* one" list &&
	git -C p ews undo --dry-run one >out 2>err && test_grep "no longer: 1 ignored path" err && git -C p ews undo --list --json one >out &&
	test_json out ".steps[0].emptied" true && test_expect_code 1 git -C p ews undo one >out 2>err && test_grep "no longer: 1 ignored path" err &&
	take_ws "$(git -C p ews path one >where && echo where)" && files_of "$ws" >got && grep -v "^out[	/]" one.want >want && grep -v "^out[	/]" got >got2 && test_cmp want got2 &&
	test_path_is_missing "${ws:?}/out" && git -C "$ws" status --porcelain >got && test_cmp kept.status got && git -C p worktree list >list && test_grep "$ws" list &&
	git -C p ews diff --name-only one >got && test_line_count = 3 got && git -C p ews revert one >out && test_grep "Status: Verified" out
'

test_expect_success 'P4: undo of a revert whose directory is gone brings the files back, and names the ignored ones' '
	change "$ws" && git -C p ews revert one >out 2>err && test_path_is_missing "${ws:?}/out" && dirs_aged "2 days ago" p && clean_in p -q &&
	test_expect_code 1 git -C p ews undo --json one >out && test_json out ".expired[0].path" out && test_path_is_missing "${ws:?}/out" &&
	test_path_is_file "${ws:?}/random" && git -C p ews undo --redo one >out 2>err && test_path_is_missing "${ws:?}/random" &&
	git -C p ews undo one >out 2>err && test_path_is_file "${ws:?}/random"
'

test_expect_success 'P4: the same for an independent copy, whose commits are kept, and for a plain directory' '
	start_ws p copy --method snapshot && change "$ws" && git -C "$ws" commit -qam committed && head=$(git -C "$ws" rev-parse HEAD) && git -C p ews end copy &&
	dirs_aged "2 days ago" p && clean_in p -q && test_path_is_missing "$ws" && test_expect_code 1 git -C p ews undo copy >out 2>err && test_grep "commits are kept" err &&
	test "$(git -C "$ws" rev-parse HEAD)" = "$head" && test "$(git -C "$ws" status --porcelain)" = "?? random" && git -C "$ws" fsck && git -C p ews end copy &&
	mkdir plain && echo 1 >plain/file && start_ws plain pl && echo 2 >"${ws:?}/file" && git -C plain ews end pl && dirs_aged "2 days ago" plain && clean_in plain -q &&
	git -C plain ews undo >out 2>err && test "$(cat "${ws:?}/file")" = 2 && git -C plain ews diff pl --name-only >out && echo file >want && test_cmp want out
'

test_expect_success 'P4: ignored files that came along are named as well' '
	mkdir p/out && echo built >p/out/built && start_ws p built --keep-ignored && rm -r p/out && test_path_is_file "${ws:?}/out/built" && echo edit >>"${ws:?}/run.sh" && git -C p ews end built && dirs_aged "2 days ago" p && clean_in p -q &&
	test_expect_code 1 git -C p ews undo built >out 2>err && test_grep "no longer: 1 ignored path" err && test_path_is_missing "${ws:?}/out" && git -C p ews diff --name-only built >out && echo run.sh >want && test_cmp want out &&
	git -C p ews revert built >out 2>err && test_grep "Status: Verified" out
'

test_expect_success 'P4: what is over ews.trashMax goes, oldest first, and never the newest' '
	clean_in p --now -q && for n in 1 2 3; do
		start_ws p big$n && change "$ws" 200 && git -C p ews end big$n && dir=$(ls -t "${working:?}/p/trash" | head -n 1) && touch -d "$((9 - n)) hours ago" "${working:?}/p/trash/$dir" || return 1
	done && clean_in p -q && test_must_be_empty out && git -C p -c ews.trashMax=500k ews clean >out 2>err && test_line_count = 1 out && test_grep "end of big1" out &&
	git -C p -c ews.trashMax=1 ews clean >out 2>err && test_line_count = 1 out && test_grep "end of big2" out && git -C p ews undo big3 && take_ws "$(git -C p ews path big3 >where && echo where)" &&
	test_path_is_file "${ws:?}/out/product" && git -C p ews end big3
'

test_expect_success 'P4: a step goes after ews.trashExpire, with its snapshots; undo says so' '
	trash_of p >before && aged "6 days ago" p && clean_in p -q && trash_of p >after && test_cmp before after && aged "8 days ago" p && clean_in p -q && test_grep "^snapshot	" out &&
	trash_of p >after && test_must_be_empty after && git -C p ews undo --list >list && test_grep "expired .* end .* big3" list && test_grep ! " done " list &&
	test_expect_code 128 git -C p ews undo >out 2>err && test_grep "the .end. of .* has expired" err && test_grep trashExpire err &&
	test_expect_code 128 git -C p ews undo big3 >out 2>err && test_grep "the .end. of big3 kept has expired" err && test_expect_code 128 git -C p ews undo --redo >out 2>err &&
	git -C p ews status --ended --json >out && test_grep big3 out && test_path_is_missing p/.git/ews/big3
'

test_expect_success 'P4: the marks go in their turn, and with them the records of ended sessions' '
	aged "8 days ago" p && clean_in p -q &&
	git -C p ews undo --list >list && test_grep ! big3 list && test_expect_code 128 git -C p ews undo >out 2>err && test_grep "nothing to undo" err
'

test_expect_success 'P4: a living session, its base and its snapshots are as they were' '
	files_of "$kept" >got && test_cmp kept.want got && git -C "$kept" status --porcelain >got && test_cmp kept.status got && git -C p rev-parse -q --verify refs/ews/sessions/kept &&
	git -C p rev-parse -q --verify "refs/ews/snapshots/$(cat snap)" && git -C p gc -q --prune=now && git -C p ews snapshot verify --all && git -C p fsck --strict &&
	git -C p ews diff kept >out && test -s out && git -C p ews status kept >out
'

test_expect_success 'P4: --now frees all of it, and after git gc the space is there again' '
	git -C p gc -q --prune=now && objects=$(kib p/.git) && home=$(kib "$HOME/.superqode") && for n in 1 2; do
		start_ws p now$n && change "$ws" 3000 && git -C p ews snapshot create now$n >s && git -C p ews snapshot drop "$(cat s)" && git -C p ews revert now$n >out 2>err && git -C p ews end now$n || return 1
	done && test "$(kib "$HOME/.superqode")" -gt $((home + 20)) && test "$(kib p/.git)" -gt $((objects + 6000)) && clean_in p --now --json && test "$(json out .freed_bytes)" -gt 6000000 &&
	trash_of p >after && test_must_be_empty after && git -C p gc -q --prune=now && test "$(kib p/.git)" -lt $((objects + 100)) && test "$(kib "$HOME/.superqode")" -lt $((home + 150)) &&
	test_expect_code 128 git -C p ews undo now1 >out 2>err && test_grep expired err && test_path_is_missing p/.git/ews/now1 && files_of "$kept" >got && test_cmp kept.want got && git -C p ews snapshot verify --all
'

test_expect_success 'P4: in the store of a plain directory clean collects by itself' '
	mkdir big && echo 1 >big/file && start_ws -n pw big stays && echo 2 >"${pw:?}/file" && git -C big ews snapshot create stays >s && store=$(ls -d "$HOME"/.superqode/store/big-*.git) && small=$(kib "$store") &&
	start_ws big goes && head -c 3000k /dev/urandom >"${ws:?}/random" && for n in 1 2 3 4; do echo $n >"${ws:?}/file" && git -C big ews snapshot create goes >s2 || return 1; done && git -C big ews snapshot drop "$(cat s2)" &&
	git -C big ews end --no-artifacts goes && clean_in big --dry-run --now && test "$(kib "$store")" -gt $((small + 3000)) && git -C big ews snapshot prune --keep 0 goes >out && clean_in big --now -q &&
	test "$(kib "$store")" -lt $((small + 100)) && git -C "$store" count-objects -v >out && test_grep "^count: 0" out && git -C big ews snapshot verify --all && git -C big ews revert stays >out && test_grep "Status: Verified" out &&
	git -C big ews undo stays && test "$(cat "${pw:?}/file")" = 2 && git -C "$store" fsck --strict
'

test_expect_success 'P4: with --older-than --now frees only what is as old; with a session only what is its' '
	start_ws p old && change "$ws" && git -C p ews end old && aged "3 hours ago" p && start_ws p young && change "$ws" && git -C p ews end young && start_ws p other && change "$ws" && git -C p ews end other &&
	clean_in p --now --older-than 2h && test_grep "end of old" out && test_grep ! "of young" out && clean_in p --now young && test_grep "end of young" out && test_grep ! "of other" out &&
	git -C p ews undo other >out && test_path_is_file "${ws:?}/out/product" && git -C p ews end other
'

test_expect_success 'P4: a retired session goes with its trash, and the one that has its id now stays' '
	git -C p ews clean --now -q >out && start_ws p again && change "$ws" && git -C p ews end again && start_ws -n aw p again && echo second >"${aw:?}/second" && files_of "$aw" >want &&
	ls "${working:?}/p/sessions" >list && test_grep "^again~" list && ls p/.git/ews >list && test_grep "^again~" list && clean_in p --now && test_grep "^session	.*again~" out &&
	ls "${working:?}/p/sessions" >list && test_grep ! "^again~" list && test_path_is_missing p/.git/ews && files_of "$aw" >got && test_cmp want got && git -C p ews diff again >out && test -s out && git -C p ews revert again >out && test_grep "Status: Verified" out
'

test_expect_success 'P4: what an unfinished step holds stays, whatever its age, and can be recovered' '
	start_ws p broken && change "$ws" && git -C p ews end broken && step=$(ls -t "${working:?}/p/undo" | head -n 1) && sed -i "s/\"state\":.*\"done\"/\"state\": \"undoing\"/" "${working:?}/p/undo/$step" &&
	echo "begin ${step%.json} end" >>"${working:?}/p/sessions/broken/journal" && aged "9 days ago" p && git -C p ews clean --now >out 2>err && test_grep ! "broken" out &&
	git -C p ews recover broken --resume && test_path_is_file "${ws:?}/out/product" && git -C p ews end broken
'

test_expect_success 'clean <session>: ends one that is unchanged, and a changed one with --force, through trash' '
	start_ws p same && start_ws -n cw p changed && change "$cw" && clean_in p same && test_grep "^end	unchanged	same" out && test_expect_code 1 git -C p ews clean changed >out 2>err &&
	test_grep "stays: changed: changed" err && test_path_is_dir "$cw" && test_expect_code 1 git -C p ews clean --json changed --dry-run >out && test_json out ".kept[0].session_id" changed &&
	clean_in p --force --dry-run changed && test_path_is_dir "$cw" && clean_in p --force changed && test_grep "^end	changed	changed" out && test_path_is_missing "$cw" && git -C p ews undo changed && test_path_is_file "${cw:?}/out/product"
'

test_expect_success 'never one in use' '
	{ (cd "$cw" && exec sleep 60) >/dev/null 2>&1 3>&- 4>&- 5>&- & } && pid=$! && test_when_finished "kill $pid; wait $pid; :" && test_wait_for 20 stands_in $pid "$cw" &&
	test_expect_code 1 git -C p ews clean --force changed >out 2>err && test_grep "in use by" err && test_path_is_dir "$cw"
'

test_expect_success '--older-than takes sessions that were left alone, unchanged ones alone without --force' '
	start_ws -n iw p idle && start_ws -n fw p fresh && find "${working:?}/p/sessions/idle" "${working:?}/p/sessions/changed" -exec touch -d "4 days ago" {} + && clean_in p --older-than 3d && test_grep "^end	unchanged	idle" out && test_line_count = 1 out &&
	test_grep "stays: changed" err && test_path_is_missing "$iw" && test_path_is_dir "$fw" && find "${working:?}/p/sessions/changed" -exec touch -d "4 days ago" {} + && clean_in p --older-than 3d --force && test_grep "^end	changed	changed" out && test_path_is_dir "$fw"
'

test_expect_success 'a start that was killed is taken back; other interrupted ones want --force' '
	mkdir "${working:?}/p/sessions/stillborn" && start_ws -n nw p inter && change "$nw" && git -C p ews revert inter && interrupt_revert p inter && clean_in p && test_path_is_missing "${working:?}/p/sessions/stillborn" && test_grep "stays: inter: interrupted" err &&
	test_path_is_dir "$nw" && clean_in p --force && test_path_is_missing "$nw"
'

test_expect_success 'start cleans now and then: once an hour, when ews.autoClean is set, and says so' '
	clean_in p --now -q && start_ws p a1 && git -C p ews end a1 && aged "8 days ago" p && git -C p -c ews.backgroundClean=false ews start a2 >out 2>err && test_grep ! trash err && test "$(ls "${working:?}/p/trash")" != "" &&
	touch -d "2 hours ago" "${working:?}/p/cleaned" && git -C p -c ews.autoClean=false ews start a3 >out 2>err && test "$(ls "${working:?}/p/trash")" != "" &&
	git -C p -c ews.backgroundClean=false ews start a4 >out 2>err && test_line_count = 1 out && test_grep "expired and were deleted\|had expired was deleted" err && test "$(ls "${working:?}/p/trash")" = "" && trash_of p >after && test_must_be_empty after &&
	git -C p ews end a2 a3 a4
'

test_expect_success 'a clock that was ahead once does not keep it from that until then' '
	start_ws p ahead && git -C p ews end ahead && aged "8 days ago" p && touch -d "300 days" "${working:?}/p/cleaned" && git -C p -c ews.backgroundClean=false ews start behind >out 2>err && test "$(ls "${working:?}/p/trash")" = "" && git -C p ews end behind &&
	touch -d "now" before && test ! "${working:?}/p/cleaned" -nt before
'

test_expect_success !VALGRIND 'and in the background, where nobody waits for it' '
	aged "8 days ago" p && touch -d "2 hours ago" "${working:?}/p/cleaned" && path=$(git -C p ews start a5) && test -d "$path" && test_wait_for 20 is_empty "${working:?}/p/trash"
'

test_expect_success '--all: in every project that home knows of' '
	test_repo q && start_ws q elsewhere --in "$PWD/apart" && change "$ws" && git -C q ews end elsewhere && test_path_is_dir apart/.ews-trash && mkdir apart/.ews-trash/op-20200101-000000-abcdef &&
	git -C p ews clean --now -q >out && test_path_is_dir apart/.ews-trash && (cd / && git ews clean --all --now) >out 2>err && test_grep "end of elsewhere" out && ls apart/.ews-trash >list && echo op-20200101-000000-abcdef >want && test_cmp want list
'

test_expect_success 'P4: what another home keeps of the same repository is none of ours' '
	SUPERQODE_HOME=$PWD/second git -C p ews start --method worktree foreign >foreign.path && there=$(cat foreign.path) && echo edit >>"${there:?}/run.sh" && SUPERQODE_HOME=$PWD/second git -C p ews end foreign &&
	trash_of p >before && test -s before && git -C p ews clean --now >out 2>err && trash_of p >after && test_cmp before after && test_path_is_dir p/.git/ews/foreign && SUPERQODE_HOME=$PWD/second git -C p ews undo >out 2>err &&
	test_grep edit "${there:?}/run.sh" && git -C "$there" status && SUPERQODE_HOME=$PWD/second git -C p ews end foreign && SUPERQODE_HOME=$PWD/second git -C p ews clean --now && trash_of p >after && test_must_be_empty after
'

test_expect_success 'what is wrong on the command line' '
	for line in "--all x" "--auto --now" "--older-than x"; do test_expect_code 129 git -C p ews clean $line >out 2>err && test_must_be_empty out || return 1; done &&
	test_expect_code 128 git -C p ews clean nosuch >out 2>err && test_grep nosuch err
'

test_expect_success STRACE 'many snapshots that are packed go by one git, whatever takes them' '
	test_repo many && start_ws many m && for i in 1 2 3 4 5 6 7 8 9; do echo $i >"${ws:?}/n" && git -C many ews snapshot create m || return 1; done >ids && for verb in "snapshot prune --keep 1 m" undo "undo --redo" "clean --now"; do
		git -C many pack-refs --all && (cd many && test_strace ../trace -e trace=execve "$EWS_BIN/git-ews" $verb) >out 2>err && grep -c "\"update-ref\"" trace >n && echo 1 | test_cmp - n || { echo >&2 "$verb"; return 1; }
	done && git -C many for-each-ref refs/ews/snapshots refs/ews/trash >refs && test_line_count = 1 refs && git -C many fsck --strict --no-dangling && git -C many ews snapshot verify --all >out
'

test_expect_success 'many snapshots go, and come back, where few descriptors are left' '
	test_repo scarce && start_ws scarce m && for i in $(seq 30); do echo $i >"${ws:?}/n" && git -C scarce ews snapshot create m || return 1; done >ids && (cd scarce && ulimit -n 24 && git-ews snapshot prune --keep 1 m) >out && test_line_count = 29 out && (cd scarce && ulimit -n 24 && git-ews undo) && git -C scarce ews snapshot list m >out && test_line_count = 31 out
'

test_done
