#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='snapshots: exact, lasting records of a workspace (P2, P4), kept safe from git gc'

. "$(dirname "$0")/test-lib.sh"

listing() {
	"$EWS_SRC/t/lister" -m -x .git -x .superqode "$1"
}

# make <session> [<option>...]: a snapshot of it; its id in $snap.
make() {
	snap=$(git -C p ews snapshot create "$@")
}

test_expect_success 'setup' '
	test_repo p && start_ws p s
'

test_expect_success 'P4: the issue'"'"'s scene: stage A, write B over it, snapshot, reset, gc; A is back' '
	echo "version A" >"${ws:?}/file" && git -C "$ws" add file && echo "version B" >"${ws:?}/file" && A=$(git -C "$ws" rev-parse :file) &&
	cp "$(git -C "$ws" rev-parse --git-path index)" index.A && make s &&
	git -C "$ws" reset -q --hard && rm -f "${ws:?}/file" && git -C p reflog expire --expire=now --all && git -C p gc -q --prune=now &&
	git -C p ews revert --to $snap s >out && test_grep "Status: Verified" out &&
	cmp index.A "$(git -C "$ws" rev-parse --git-path index)" && test "$(git -C "$ws" show :file)" = "version A" &&
	test "$(cat "${ws:?}/file")" = "version B" && git -C p fsck --strict --no-dangling >out 2>&1 && test_must_be_empty out
'

test_expect_success 'P4: so it is where the snapshot before had A in its tree, under that path or another, and is gone' '
	test_repo sn && start_ws -n bw sn n && for at in file other; do
		echo "version A of $at" >"${bw:?}/file" && git -C "$bw" add file && if test $at = other; then mv "${bw:?}/file" "${bw:?}/other"; fi && sleep 0.1 &&
		first=$(git -C sn ews snapshot create n) && echo "version B" >"${bw:?}/$at" && second=$(git -C sn ews snapshot create n) && git -C "$bw" reset -q --hard && git -C "$bw" clean -fdq && git -C sn update-ref -d refs/ews/snapshots/$first &&
		git -C sn gc -q --prune=now && git -C sn ews snapshot verify $second && git -C sn ews revert --to $second n >out && test "$(git -C "$bw" show :file)" = "version A of $at" && test "$(cat "${bw:?}/$at")" = "version B" || return 1
	done
'

test_expect_success 'P4: so it is where HEAD alone moved away from the commit that had A, whether anything else was touched or not' '
	for touch in : "echo C >file"; do
		test_repo mv && (cd mv && echo A >file && git add file && git commit -q -m A && echo B >file && sleep 0.1 && first=$(git ews snapshot create) && A=$(git rev-parse :file) && eval "$touch" && git update-ref HEAD HEAD~1 &&
		second=$(git ews snapshot create) && git update-ref -d refs/ews/snapshots/$first && git reset -q --hard && git reflog expire --expire=now --all && git gc -q --prune=now && git cat-file -e $A && git ews snapshot verify $second && cd .. && rm -rf "${PWD:?}/mv") || return 1
	done
'

# dropped_meanwhile <ref> <verb and arguments>...: the verb fails, since <ref> goes while its own has no name yet. Renames are slow.
cat >dropped.sh <<\EOF
dropped_meanwhile() {
	ref=$1 && shift && { test_strace ../dm.calls -e trace=rename,renameat,renameat2 -e inject=rename,renameat,renameat2:delay_enter=100000 \
		"$EWS_BIN/git-ews" "$@" >../dm.out 2>../dm.err 3>&- 4>&- 5>&- & } && { until ls .git/objects/tmp_obj_ews_* >../dm.tmp 2>&1; do sleep 0.01; kill -0 $! || exit 1; done; } && sleep 0.05 && git update-ref -d "$ref" && test_must_fail wait $! &&
		test_grep "dropped meanwhile" ../dm.err && test_must_be_empty ../dm.out
}
EOF
. ./dropped.sh

test_expect_success STRACE,!SMALL 'P4: a snapshot that takes much from one that is dropped meanwhile is none' '
	test_repo dm && (cd dm && sleep 0.1 && first=$(git ews snapshot create) && echo more >>src/numbers && dropped_meanwhile refs/ews/snapshots/$first snapshot create) &&
	git -C dm for-each-ref refs/ews/snapshots >out && test_must_be_empty out && git -C dm ews snapshot create >out && git -C dm ews snapshot verify "$(cat out)"
'

test_expect_success STRACE,!SMALL 'P4: so it is in a session, which names the one before, and with what a revert keeps, which changes nothing' '
	(cd dm && start_ws . dm && sleep 0.1 && first=$(git ews snapshot create dm) && echo more >>"${ws:?}/src/numbers" && second=$(git ews snapshot create dm) && echo more >>"${ws:?}/src/numbers" && cp "${ws:?}/src/numbers" ../dm.want &&
		dropped_meanwhile refs/ews/snapshots/$second snapshot create dm && git for-each-ref --format="%(refname:lstrip=3)" refs/ews/snapshots >../dm.refs && test_grep $first ../dm.refs && test_line_count = 2 ../dm.refs && git ews snapshot create dm >../dm.new && git ews snapshot show --json "$(cat ../dm.new)" >../dm.json && test_json ../dm.json .parent_id "$first" && git ews snapshot verify "$(cat ../dm.new)" &&
		echo more >>"${ws:?}/src/numbers" && cp "${ws:?}/src/numbers" ../dm.want && dropped_meanwhile refs/ews/snapshots/$(cat ../dm.new) revert dm && cmp ../dm.want "${ws:?}/src/numbers" && git for-each-ref refs/ews/trash >../dm.refs && test_must_be_empty ../dm.refs &&
		git ews revert dm && git ews undo dm && cmp ../dm.want "${ws:?}/src/numbers")
'

test_expect_success 'P4: what the index names and nobody had yet is looked for by the next snapshot, whether anything was touched or not' '
	for touch in : "echo more >>src/numbers"; do
		test_repo lt && (cd lt && A=$(echo late | git hash-object --stdin) && git update-index --add --cacheinfo 100644,$A,late && sleep 0.1 && git ews snapshot create && echo late | git hash-object -w --stdin && eval "$touch" && git ews snapshot create &&
		rm -f .git/index && git gc -q --prune=now && git cat-file -e $A && cd .. && rm -rf "${PWD:?}/lt") || return 1
	done
'

test_expect_success 'P4: the same for what is staged in the project when a session starts' '
	test_repo q && (cd q && echo "version A" >file && git add file && echo "version B" >file) && start_ws -n tw q t &&
	git -C q reset -q --hard && git -C "$tw" reset -q --hard && git -C q gc -q --prune=now &&
	git -C q ews revert t >out && test "$(git -C "$tw" show :file)" = "version A" && test "$(cat "${tw:?}/file")" = "version B"
'

test_expect_success 'P4: all stages of a conflict outlive gc' '
	(cd q && git checkout -q -b side && echo side >>src/log && git commit -qam side && git checkout -q main && echo main >>src/log && git commit -qam main) &&
	start_ws -n uw q u && test_must_fail git -C "$uw" merge side && git -C "$uw" ls-files -u >want && test -s want &&
	cat "${uw:?}/src/log" >log.want && usnap=$(git -C q ews snapshot create u) && git -C "$uw" merge --abort && git -C q branch -D side &&
	git -C q reflog expire --expire=now --all && git -C "$uw" reflog expire --expire=now --all && git -C q gc -q --prune=now &&
	git -C q ews revert --to $usnap u >out && git -C "$uw" ls-files -u >got && test_cmp want got && cmp log.want "${uw:?}/src/log" &&
	cut -d" " -f2 want | while read -r id; do git -C q cat-file -e $id || exit 1; done && git -C "$uw" cat-file -e MERGE_HEAD^{tree} &&
	git -C q ews snapshot verify --all -q
'

# back_after_gc <project> <session>: the session's newest snapshot is made, reset away and brought back, with a gc after each; $tsnap
back_after_gc() {
	tsnap=$(git -C "$1" ews snapshot create "$2") && git -C "${bw:?}" reset -q --hard && git -C "$1" reflog expire --expire=now --all && git -C "$1" gc -q --prune=now &&
	git -C "$1" ews revert --to "$tsnap" "$2" >out && test_grep "Status: Verified" out && git -C "$1" gc -q --prune=now && git -C "$1" ews snapshot verify --all -q && git -C "$1" fsck --strict
}

test_expect_success 'P4: trees that only the index names, by what it says of them, outlive gc, and gc works once that index is back' '
	test_repo tr && start_ws -n bw tr v && (cd "${bw:?}" && echo "version A" >src/new && git add src/new && git write-tree && echo "version B" >src/new) >tree && back_after_gc tr v && git -C tr cat-file -e "$(cat tree)" &&
	git -C tr ls-tree -d --name-only "refs/ews/snapshots/$tsnap^2" trees/ >got && echo "trees/$(cat tree)" | test_cmp - got && echo more >"${bw:?}/docs/more" && git -C "$bw" add docs/more && git -C "$bw" rev-parse "$(cat tree):src" >sub &&
	back_after_gc tr v && git -C tr ls-tree -d --name-only "refs/ews/snapshots/$tsnap^2" trees/ >got && echo "trees/$(cat sub)" | test_cmp - got
'

test_expect_success 'P4: an index of nothing says that it makes the empty tree: no git has to have that, but what is pinned is there, and verify looks' '
	for format in sha1 sha256; do
		for what in "snapshot create" revert end; do
			git init -q --object-format=$format nil && echo a >nil/a && git -C nil add a && git -C nil commit -qm a && start_ws -n bw nil n && git -C "${bw:?}" read-tree --empty && git -C nil ews $what n >out && git -C nil fsck --strict --no-dangling >out 2>&1 && test_must_be_empty out || return 1
			test "$what" != revert || git -C nil gc -q && git -C nil ews snapshot verify --all --trash -q && empty=$(git -C nil hash-object -t tree /dev/null) && if test "$what" = "snapshot create"; then
				rm -f "nil/.git/objects/$(echo "$empty" | sed "s/../&\//")" && test_expect_code 1 git -C nil ews snapshot verify --all >out 2>err && test_grep "trees/$empty: object $empty is missing" out && git -C nil hash-object -w -t tree /dev/null && git -C nil ews snapshot verify --all -q
			fi && { test "$what" = end || git -C nil ews end n >out; } && rm -rf nil || return 1
		done
	done
'

test_expect_success 'P4: what only the index of an independent copy names so outlives its gc' '
	start_ws -n bw tr y --method snapshot && (cd "${bw:?}" && git checkout -q -b one && echo one >>src/log && git commit -qam one && git checkout -q -b two HEAD~1 && echo two >>src/log && git commit -qam two && ! git merge -q one) && echo both >"${bw:?}/src/log" &&
	(cd "$bw" && git add . && git write-tree) >tree && echo more >"${bw:?}/src/log" && git -C "$bw" ls-files --resolve-undo >want && test -s want && git -C "$bw" branch -qD one && git -C "$bw" reflog expire --expire=now --all &&
	tsnap=$(git -C tr ews snapshot create y) && git -C "$bw" reset -q --hard && git -C "$bw" reflog expire --expire=now --all && git -C "$bw" gc -q --prune=now && git -C tr gc -q --prune=now && git -C tr ews revert --to $tsnap y >out && test_grep "Status: Verified" out &&
	git -C "$bw" gc -q --prune=now && git -C "$bw" cat-file -e "$(cat tree)" && git -C "$bw" ls-files --resolve-undo >got && test_cmp want got && git -C tr ews end y >out
'

test_expect_success 'P4: what is staged in a split index outlives gc as well' '
	start_ws -n bw tr x && git -C "${bw:?}" update-index --split-index && echo "split A" >"${bw:?}/src/split" && git -C "$bw" add src/split && echo "split B" >"${bw:?}/src/split" && git -C "$bw" rev-parse --shared-index-path >out && test -s out &&
	blob=$(git -C "$bw" rev-parse :src/split) && git -C "$bw" write-tree >tree && back_after_gc tr x && test "$(git -C "$bw" show :src/split)" = "split A" && git -C tr cat-file -e $blob && git -C tr cat-file -e "$(cat tree)"
'

test_expect_success 'P4: so do the stages of a conflict that was resolved' '
	(cd tr && git checkout -q -b side && echo side >>src/log && git commit -qam side && git checkout -q main && echo main >>src/log && git commit -qam main) && start_ws -n bw tr w &&
	test_must_fail git -C "${bw:?}" merge side && echo both >"${bw:?}/src/log" && git -C "$bw" add src/log && git -C "$bw" ls-files --resolve-undo >want && test -s want && git -C tr branch -qD side &&
	back_after_gc tr w && git -C "$bw" ls-files --resolve-undo >got && test_cmp want got && cut -d" " -f2 want | git -C tr cat-file --batch-check >got && test_grep ! missing got
'

test_expect_success 'what HEAD'"'"'s commit has of the index is held by that commit alone, and outlives gc with it' '
	test_repo hd && start_ws -n bw hd h && echo changed >>"${bw:?}/src/log" && echo new >"${bw:?}/src/other" && git -C "$bw" add src/other && rm "${bw:?}/src/other" && snap=$(git -C hd ews snapshot create h) && git -C hd rev-parse HEAD:src/log >want &&
	git -C hd ls-tree -r --name-only "refs/ews/snapshots/$snap^2" >got && test_grep "^staged/0/src/other\$" got && test_grep ! "staged/0/src/log" got && git -C "$bw" reset -q --hard && git -C hd checkout -q --orphan void && git -C hd commit -q -m void &&
	git -C hd branch -qD main && git -C "$bw" checkout -q --detach void && git -C hd ews end h >out && git -C hd reflog expire --expire=now --all && git -C hd gc -q --prune=now && git -C hd cat-file -e "$(cat want)" && git -C hd ews snapshot verify $snap
'

test_expect_success !SMALL 'the first snapshot takes from the base what is the same, and reads nothing else of it; so does the one after a revert' '
	test_repo fi && start_ws -n bw fi i && sleep 0.1 && base=refs/ews/sessions/i && rm "${HOME:?}/.superqode/working/fi/sessions/i/base" && blob=$(git -C fi rev-parse "$base^2:manifest") && file=fi/.git/objects/$(echo "$blob" | sed "s,^..,&/,") && mv "$file" saved &&
	echo more >>"${bw:?}/src/log" && snap=$(git -C fi ews snapshot create i) && mv saved "$file" && git -C fi ews snapshot verify "$snap" && test "$(git -C fi rev-parse "$base:docs")" = "$(git -C fi rev-parse "refs/ews/snapshots/$snap:docs")" &&
	git -C fi ews revert i >out && test_grep "Status: Verified" out && sleep 0.1 && rm "${HOME:?}/.superqode/working/fi/sessions/i/base" && mv "$file" saved && echo again >>"${bw:?}/src/log" && snap=$(git -C fi ews snapshot create i) && mv saved "$file" && git -C fi ews snapshot verify "$snap"
'

test_expect_success 'a snapshot is a commit of the raw tree, with its trailers and parents' '
	git -C p ews revert s >out && printf "a\r\nb\n" >"${ws:?}/docs/mixed" && chmod 755 "${ws:?}/docs/mixed" && make s -m "the subject" && ref=refs/ews/snapshots/$snap &&
	echo $snap | grep -E "^snap-[0-9]{8}-[0-9]{6}-[0-9a-f]{6}\$" && test "$(git -C p cat-file -t $ref)" = commit &&
	test "$(git -C p log -1 --format=%s $ref)" = "the subject" &&
	trailer() { git -C p log -1 --format="%(trailers:key=$1,valueonly,separator=)" $ref; } &&
	test "$(trailer Ews-Snapshot)" = $snap && test "$(trailer Ews-Session)" = s && test "$(trailer Ews-Head)" = "$(git -C p rev-parse HEAD)" &&
	trailer Ews-Hash | grep -E "^sha256:[0-9a-f]{64}\$" && test "$(trailer Ews-Files)" -ge 15 && trailer Ews-Parent | grep "^snap-" && test -n "$(trailer Ews-Method)" &&
	git -C p rev-list --parents -1 $ref | tr " " "\n" | grep "^$(git -C p rev-parse HEAD)\$" &&
	git -C p cat-file blob $ref:docs/mixed >got && cmp "${ws:?}/docs/mixed" got && git -C p ls-tree $ref docs/mixed | grep ^100755 &&
	test_must_fail git -C p rev-parse -q --verify $ref:.git && test_must_fail git -C p rev-parse -q --verify $ref:.superqode
'

test_expect_success 'no index is touched, and the project is as before' '
	test_fingerprint p >before && sha256sum "$(git -C "$ws" rev-parse --git-path index)" >i.before && stat -c %y "$(git -C "$ws" rev-parse --git-path index)" >>i.before &&
	make s && sha256sum "$(git -C "$ws" rev-parse --git-path index)" >i.after && stat -c %y "$(git -C "$ws" rev-parse --git-path index)" >>i.after &&
	test_cmp i.before i.after && test_fingerprint p >after && test_cmp before after
'

test_expect_success 'P9: without an identity, under signing and hooks that fail, filters and fsmonitor' '
	test_repo h && (
		cd h && mkdir -p .git/hooks && for x in pre-commit commit-msg post-commit reference-transaction post-index-change pre-auto-gc prepare-commit-msg; do
			printf "#!/bin/sh\necho %s >>\"%s\"\nexit 1\n" $x "$SHARNESS_TRASH_DIRECTORY/ran" >.git/hooks/$x && chmod +x .git/hooks/$x || exit 1
		done && git config commit.gpgSign true && git config gpg.program "touch \"$SHARNESS_TRASH_DIRECTORY/ran\"; false" && git config user.useConfigOnly true &&
		git config core.fsmonitor "touch \"$SHARNESS_TRASH_DIRECTORY/ran\"; false" && git config filter.x.clean "touch \"$SHARNESS_TRASH_DIRECTORY/ran\"; cat" &&
		echo "* filter=x" >.git/info/attributes && git config core.autocrlf true && git config gc.auto 1 && git config core.createObject rename
	) && mkdir nobody && (
		HOME=$PWD/nobody && export HOME && unset EMAIL && cd h && git ews start x >../x.path && take_ws ../x.path hw && echo edit >>"${hw:?}/src/main.c" &&
		git ews snapshot create x && git ews revert x && git ews undo x && git ews end x && git ews undo x && git ews snapshot drop $(git ews snapshot create x)
	) && test_path_is_missing ran
'

test_expect_success 'create: --if-changed, paths, and what --json says' '
	git -C p ews revert s >out && make s && git -C p ews snapshot create --if-changed s >out && test_must_be_empty out &&
	echo one >"${ws:?}/one" && echo two >"${ws:?}/src/two" && git -C p ews snapshot create --if-changed s >out && test_line_count = 1 out &&
	git -C p ews snapshot create --json s -m j >out && test_json out .snapshot_id && test_json out .files_count && test_json out .total_size_bytes &&
	test_json out .created_at && test_json out .base_commit && test_json out .method &&
	echo three >>"${ws:?}/one" && echo three >>"${ws:?}/src/two" && make s -- src && git -C p show refs/ews/snapshots/$snap:src/two | grep three &&
	test_must_fail git -C p grep -q three refs/ews/snapshots/$snap -- one
'

test_expect_success 'create: --if-changed sees the mode of the directory itself, and its attributes' '
	make s && git -C p ews snapshot create --if-changed s >out && test_must_be_empty out && chmod 2700 "${ws:?}" && git -C p ews snapshot create --if-changed s >out && test_line_count = 1 out &&
	git -C p ews snapshot create --if-changed s >out && test_must_be_empty out && { ! test_have_prereq XATTR || { setfattr -n user.top -v 1 "${ws:?}" && git -C p ews snapshot create --if-changed s >out && test_line_count = 1 out && setfattr -x user.top "${ws:?}"; }; } && chmod 755 "${ws:?}"
'

test_expect_success 'create --ignored takes ignored files, too; else they are named as left out' '
	mkdir -p "${ws:?}/out" && echo product >"${ws:?}/out/product" && make s && test_must_fail git -C p cat-file -e refs/ews/snapshots/$snap:out/product &&
	git -C p ews snapshot show --coverage $snap >cov && grep "^ignored	out" cov &&
	make s --ignored && test "$(git -C p show refs/ews/snapshots/$snap:out/product)" = product && git -C p ews snapshot show --coverage $snap >cov && test_must_fail grep "	out" cov &&
	rm -r "${ws:?}/out" && git -C p ews revert --to $snap s >out && test "$(cat "${ws:?}/out/product")" = product && rm -r "${ws:?}/out"
'

test_expect_success 'create in a project without a session is a snapshot of the project' '
	(cd q && echo project >mine && git ews snapshot create -m own) >out && own=$(cat out) && test "$(git -C q show refs/ews/snapshots/$own:mine)" = project &&
	test "$(git -C q log -1 --format="%(trailers:key=Ews-Session,valueonly,separator=)" refs/ews/snapshots/$own)" = "" &&
	(cd "$tw" && git ews snapshot create) >out && test "$(git -C q log -1 --format="%(trailers:key=Ews-Session,valueonly,separator=)" refs/ews/snapshots/$(cat out))" = t &&
	git -C q ews snapshot list >list && grep $own list && test_must_fail grep "$(cat out)" list && git -C q ews snapshot list --all >all && grep $own all && grep "$(cat out)" all
'

test_expect_success 'P4: each work tree of a repository has states of its own: none is taken over from another, compared with it or dropped for it' '
	test_repo trees && git -C trees worktree add -q ../trees-w -b w && echo own >trees/own && (cd trees && git ews snapshot create -m first) >out && first=$(cat out) &&
	(cd trees-w && echo w >w && git ews snapshot create --if-changed -m w && git ews snapshot create --if-changed && git ews snapshot create -m again) >out && test_line_count = 2 out && w=$(sed -n 1p out) && again=$(sed -n 2p out) &&
	(cd trees && git ews snapshot create --if-changed && echo changed >run.sh && git ews snapshot create -m part -- run.sh) >out && test_line_count = 1 out && part=$(cat out) &&
	git -C trees ls-tree -r --name-only refs/ews/snapshots/$part >out && grep -x own out && test_must_fail grep -x w out && test "$(git -C trees log -1 --format="%(trailers:key=Ews-Parent,valueonly,separator=)" refs/ews/snapshots/$part)" = $first &&
	git -C trees log -1 --format="%(trailers:key=Ews-Worktree,valueonly,separator=)" refs/ews/snapshots/$part >out && echo | test_cmp - out && git -C trees log -1 --format="%(trailers:key=Ews-Worktree,valueonly,separator=)" refs/ews/snapshots/$w >out && echo trees-w | test_cmp - out &&
	git -C trees ews snapshot list >out && grep $first out && grep $part out && test_must_fail grep -e $w -e $again out && git -C trees-w ews snapshot list >out && test_line_count = 2 out && git -C trees ews snapshot list --all >out && test_line_count = 4 out &&
	git -C trees-w ews snapshot prune --keep 2 >out && test_must_be_empty out && git -C trees ews snapshot prune --keep 1 >out && echo $first | test_cmp - out && git -C trees worktree move ../trees-w "$PWD/trees-m" && git -C trees-m ews snapshot prune --keep 1 >out && echo $w | test_cmp - out &&
	git -C trees-m ews snapshot list >out && test_line_count = 1 out && grep $again out
'

test_expect_success 'P4: what a work tree had that was removed is not of one that was made anew under its name, and stays' '
	test_repo again && git -C again worktree add -q ../again-w -b w && (cd again-w && echo old >old && git ews snapshot create -m old) >out && old=$(cat out) &&
	git -C again worktree remove --force ../again-w && git -C again worktree add -q ../again-w w && git -C again-w ews snapshot list >out && test_must_be_empty out &&
	(cd again-w && git ews snapshot create -m new && echo more >more && git ews snapshot create -m more) >out && new=$(sed -n 1p out) && more=$(sed -n 2p out) && git -C again-w ews snapshot list --json >json && test_json json ".snapshots[0].snapshot_id" $new && test_json json ".snapshots[1].snapshot_id" $more &&
	git -C again log -1 --format="%(trailers:key=Ews-Parent,valueonly,separator=)" refs/ews/snapshots/$new >out && echo | test_cmp - out && git -C again ews snapshot list >out && test_must_be_empty out && for at in again again-w; do
		git -C $at ews snapshot prune --older-than 0s --dry-run >out && test_must_fail grep $old out && git -C $at ews snapshot list --all >out && test_line_count = 3 out && grep $old out || return 1
	done && git -C again-w ews snapshot prune --keep 1 >out && echo $new | test_cmp - out && git -C again ews clean && git -C again-w ews snapshot restore --force $old && test "$(cat again-w/old)" = old && test_path_is_missing again-w/more && git -C again ews snapshot verify $old
'

test_expect_success 'P4, P8: a damaged HEAD, which start refuses, is named and keeps nobody from saving what is there; an unborn one is no damage' '
	git init -q hurt && echo 1 >hurt/f && git -C hurt ews snapshot create >out 2>err && test_must_be_empty err && git -C hurt ews snapshot show "$(cat out)" >out && test_grep ! "^Head:" out && git -C hurt add f && git -C hurt commit -q -m one && start_ws hurt w && good=$(git -C hurt rev-parse HEAD) &&
	for how in "refs/heads/main:" "refs/heads/main:garbage" "refs/heads/main:$(echo $good | tr 0-9a-f 1-9a-f0)" "refs/heads/main:ref: refs/../x" "HEAD:ref: refs/../x" "HEAD:ref: refs/heads/a.lock" "HEAD:$(echo $good | tr 0-9a-f 1-9a-f0)"; do
		cp hurt/.git/HEAD HEAD.saved && echo "${how#*:}" >hurt/.git/"${how%%:*}" && test_expect_code 128 git -C hurt ews start no 2>err && test_grep "HEAD of the project is damaged" err && snap=$(git -C hurt ews snapshot create 2>err) && test_grep "^warning: HEAD is damaged: $snap " err &&
		git -C hurt ews snapshot show $snap >out && test_grep "^Head: *damaged$" out && git -C hurt ews snapshot show --json $snap >out && test_json out .head_damaged true && git -C hurt cat-file -p refs/ews/snapshots/$snap >out && test_grep "^Ews-Head: damaged$" out && test "$(git -C hurt show refs/ews/snapshots/$snap:f)" = 1 &&
		cp HEAD.saved hurt/.git/HEAD && echo $good >hurt/.git/refs/heads/main || return 1
	done &&
	for how in "ref: refs/heads/main" "ref:refs/heads/main" "ref:   refs/heads/main  "; do
		echo "$how" >hurt/.git/HEAD && git -C hurt rev-parse HEAD && snap=$(git -C hurt ews snapshot create 2>err) && test_must_be_empty err && git -C hurt ews snapshot show $snap >out && test_grep "^Head: *$good$" out &&
		git -C hurt ews run -- sh -c "echo \$EWS_BRANCH" >out && echo main | test_cmp - out || return 1
	done && git -C hurt ews snapshot verify --all
'

test_expect_success 'list: those of a session, oldest to newest or the other way, with lineage' '
	start_ws -n lw p l && make l -m first && l1=$snap && echo 1 >"${lw:?}/1" && make l -m second && l2=$snap &&
	git -C p ews snapshot list l >out && grep $l1 out && grep $l2 out && grep first out && git -C p ews snapshot list --json l >out && test_json out .schema &&
	json out . >all && test_grep $l1 all && test_grep $l2 all &&
	test "$(git -C p log -1 --format="%(trailers:key=Ews-Parent,valueonly,separator=)" refs/ews/snapshots/$l2)" = $l1 &&
	git -C p ews snapshot list s >out && test_must_fail grep $l1 out && git -C p ews snapshot list --all >out && grep $l1 out
'

test_expect_success 'show: what a snapshot is, --files, --hashes, --json' '
	git -C p ews snapshot show $l2 >out && grep $l2 out && grep second out && grep "sha256:" out &&
	git -C p ews snapshot show --files $l2 >out && grep "src/main.c" out && grep -x ".*1" out &&
	git -C p ews snapshot show --json --hashes $l2 >out && test_json out .snapshot_id $l2 && test_json out .method git_worktree && test_json out .base_commit "$(git -C p rev-parse HEAD)" &&
	test_json out .parent_id $l1 && test_json out ".file_hashes[\"src/main.c\"]" "sha256:$(sha256sum <"${lw:?}/src/main.c" | cut -d" " -f1)" &&
	test_json out .total_size_bytes && n=$(find "$lw" -name .git -prune -o \( -type f -o -type l \) -print | wc -l) && test_json out .files_count $n &&
	git -C p ews snapshot show l >out && grep "$(git -C p log -1 --format="%(trailers:key=Ews-Snapshot,valueonly,separator=)" refs/ews/sessions/l)" out
'

test_expect_success 'a prefix of one snapshot means it, of several none' '
	git -C p ews snapshot show ${l2%?} >out 2>err && grep $l2 out && test_expect_code 128 git -C p ews snapshot show snap-zzz 2>err && test_grep snap-zzz err &&
	rc=0 && { git -C p ews snapshot show snap- >out 2>err || rc=$?; } && case $rc in 128 | 129) ;; *) false ;; esac && test_must_be_empty out
'

test_expect_success 'diff: of one against now, of two, with the options of git diff' '
	echo now >>"${lw:?}/1" && git -C p ews snapshot diff $l1 $l2 --name-status >out && printf "A\t1\n" >want && test_cmp want out &&
	(cd "$lw" && git ews snapshot diff $l2 --numstat) >out && printf "1\t0\t1\n" >want && test_cmp want out
'

test_expect_success 'P2: restore into the session, whole or by path' '
	echo other >"${lw:?}/1" && echo stray >"${lw:?}/stray" && git -C p ews snapshot restore --force $l2 l >out 2>err && test "$(cat "${lw:?}/1")" = 1 && test_path_is_missing "${lw:?}/stray" &&
	echo other >"${lw:?}/1" && echo stray >"${lw:?}/stray" && rm "${lw:?}/run.sh" && git -C p ews snapshot restore --force $l2 l -- 1 >out 2>err && test "$(cat "${lw:?}/1")" = 1 &&
	test "$(cat "${lw:?}/stray")" = stray && test_path_is_missing "${lw:?}/run.sh"
'

# Where HEAD is on the branch of the project, a commit in the workspace moves that.
test_expect_success 'P1: a state of the project, or of another session, is put into a workspace with HEAD detached' '
	test_repo det && echo more >det/more && id=$(git -C det ews snapshot create) && head=$(git -C det rev-parse HEAD) && start_ws -n hw det h && git -C "$hw" update-ref --no-deref HEAD HEAD~1 && git -C "$hw" reset -q --hard &&
	git -C "$hw" ews revert --to $id >out && test_grep "Status: Verified" out && test_must_fail git -C "$hw" symbolic-ref -q HEAD && test "$(git -C "$hw" rev-parse HEAD)" = $head &&
	git -C "$hw" status --porcelain >got && echo "?? more" | test_cmp - got && git -C "$hw" commit -q --allow-empty -m in && test "$(git -C det rev-parse HEAD)" = $head &&
	git -C "$hw" ews undo >out && git -C "$hw" ews undo --redo >out && test_must_fail git -C "$hw" symbolic-ref -q HEAD && test "$(git -C "$hw" rev-parse HEAD^)" = $head &&
	start_ws -n other det o && git -C "$other" checkout -q -b theirs && id=$(git -C det ews snapshot create o) && git -C "$hw" ews revert --to $id >out && test_grep "Status: Verified" out && test_must_fail git -C "$hw" symbolic-ref -q HEAD &&
	git -C "$other" checkout -q --detach && git -C "$other" reset -q --hard HEAD~1 && git -C "$other" ews revert --to $id >out && test "$(git -C "$other" symbolic-ref HEAD)" = refs/heads/theirs &&
	git init -q born && echo a >born/a && git -C born add a && id=$(git -C born ews snapshot create) && start_ws -n uw born u && head=$(git -C "$uw" rev-parse HEAD) && git -C "$uw" commit -qm in &&
	git -C "$uw" ews revert --to $id >out && test_grep "Status: Verified" out && test "$(git -C "$uw" rev-parse HEAD)" = $head && git -C born for-each-ref refs/heads >got && test_must_be_empty got
'

test_expect_success 'P2: restore --to: a directory that is new or empty, else --force' '
	git -C p ews revert --to $l2 l >out && git -C p ews snapshot restore $l2 --to "$PWD/copy" >out 2>err && test_same_tree "$lw" copy &&
	test_path_is_missing copy/.git && mkdir full && echo precious >full/file && test_expect_code 128 git -C p ews snapshot restore $l2 --to "$PWD/full" 2>err &&
	test "$(ls full)" = file && test "$(cat full/file)" = precious && git -C p ews snapshot restore $l2 --to "$PWD/full" --force >out 2>err && test_path_is_file full/src/main.c
'

test_expect_success STRACE 'P4: what somebody puts there, or writes there, while it is restored stays, and is named' '
	git -C p ews snapshot show --json $l2 >json && rm -rf copy && mkdir copy && test_expect_code 1 test_stopped_at openat run.sh "echo mine >copy/src/main.c" -C p snapshot restore $l2 --to "$PWD/copy" && test_grep "src/main.c.*changed meanwhile" out && test_grep "Not verified" out && test "$(cat copy/src/main.c)" = mine &&
	git -C p ews snapshot restore $l2 --to "$PWD/copy" --force >out && test_grep Verified out && test "$(cat copy/.ews-trash/*/src/main.c)" = mine && rm -r copy/.ews-trash copy/run.sh && chmod 600 copy/src/main.c && test_expect_code 1 test_stopped_at openat run.sh "echo mine >copy/src/main.c" -C p snapshot restore $l2 --to "$PWD/copy" --force && test_grep "src/main.c.*changed meanwhile" out && test "$(cat copy/src/main.c)" = mine
'

test_expect_success STRACE 'P4: also where he puts it in the place of a file that is being made, and can not be' '
	test_repo unmade && echo "of which the store loses all" >unmade/f && (cd unmade && git add f && git commit -qm f) && git -C unmade ews snapshot create >id && object=$(git -C unmade rev-parse HEAD:f) && mv "unmade/.git/objects/${object%"${object#??}"}/${object#??}" lost && mkdir half && echo mine >mine &&
	test_expect_code 1 test_stopped_at openat f "mv mine half/f" -C unmade snapshot restore "$(cat id)" --to "$PWD/half" && test_grep "Not verified" out && test "$(cat half/f)" = mine
'

test_expect_success 'P1: nothing is restored or extracted into a git directory, whoever says that it should be' '
	git clone -q --bare p bare.git && git -C p worktree add -q --detach ../bare-tree && mkdir -p in/objects in/refs && echo "ref: refs/heads/x" >in/HEAD && tar=$(git -C p ews archive create --to "$PWD/in-archive" .) && for dir in bare.git p/.git p/.git/worktrees/bare-tree in; do
		test_fingerprint "$PWD/$dir" >before && test_expect_code 128 git -C p ews snapshot restore $l2 --to "$PWD/$dir" --force >out 2>err && test_grep "is a git directory: nothing is put into it" err && test_grep "^hint: name another directory" err && test_expect_code 128 git -C p ews archive extract "$tar" --to "$PWD/$dir" --force >out 2>err && test_grep "is a git directory: nothing is put into it" err && test_fingerprint "$PWD/$dir" >after && test_cmp before after || { echo >&2 "$dir"; return 1; }
	done && git init -q in && git -C p ews snapshot restore $l2 --to "$PWD/in" --force >out 2>err && test_path_is_file in/src/main.c && git -C p worktree remove ../bare-tree &&
	git init -q like && (cd like && mkdir objects refs && echo h >HEAD && echo o >objects/o && echo r >refs/r && git add . && git commit -q -m 1) && id=$(git -C like ews snapshot create) && for round in 1 2; do
		git -C like ews snapshot restore $id --to "$PWD/alike" --force >out && test_grep Verified out && test "$(cat alike/objects/o)" = o && echo x >alike/objects/o || return 1
	done
'

test_expect_success 'P2: restore --to: a directory that it makes has mode and attributes of the one that was recorded' '
	start_ws -n tw p top && { ! test_have_prereq XATTR || setfattr -n user.top -v 1 "${tw:?}"; } && chmod 2710 "${tw:?}" && make top && chmod 755 "${tw:?}" && git -C p ews snapshot restore $snap --to "$PWD/top-new/it" >out 2>err && test_grep Verified out && test "$(stat -c %a top-new/it)" = 2710 &&
	test "$(stat -c %a top-new)" = 755 && { ! test_have_prereq XATTR || getfattr -n user.top top-new/it; } && mkdir -m 711 top-own && git -C p ews snapshot restore $snap --to "$PWD/top-own" >out && test "$(stat -c %a top-own)" = 711 && git -C p ews snapshot restore $snap --to "$PWD/top-part" -- src >out && test "$(stat -c %a top-part)" = 755 &&
	git -C p ews end top
'

test_expect_success 'restore --to -n: says what would be put there and what would give way, and makes nothing' '
	git -C p ews snapshot restore -n $l2 --to "$PWD/none/yet" >out 2>err && test_grep "^restore run.sh$" out && test_path_is_missing none && mkdir way && echo mine >way/run.sh && git -C p ews snapshot restore -n $l2 --to "$PWD/way" --force >out 2>err && test_grep "^restore run.sh$" out && test_grep "^trash run.sh$" out && test "$(ls -A way)" = run.sh &&
	git -C p ews snapshot restore -n --json $l2 --to "$PWD/way" --force >out && test_json out ".kept[0].path" run.sh && test_expect_code 128 git -C p ews snapshot restore -n $l2 --to "$PWD/way" 2>err && test_grep "not empty" err &&
	mkdir way/src && git -C p ews snapshot restore $l2 --to "$PWD/way" --force >out 2>err && test_grep "^note: 1 path moved to trash whole: 1 file, 5 bytes" err
'

test_expect_success 'the id of a session that has ended is not taken for a snapshot whose id begins so' '
	test_repo exact && start_ws exact s && git -C exact ews end s && git -C exact ews snapshot create >exactly && for verb in show "restore -n" "restore --force"; do
		test_expect_code 128 git -C exact ews snapshot $verb s 2>err && test_grep "session .s. has ended" err && test_grep "^hint: .git ews undo s. brings it back" err || return 1
	done && git -C exact branch s2 && git -C exact ews snapshot show s2 >out && git -C exact ews snapshot show "$(cat exactly)" >out && test_grep "$(cat exactly)" out
'

test_expect_success 'P4: what restore --to keeps aside has its own path there, whether it fails or is killed' '
	test_repo cut && head -c 400000 /dev/zero >cut/z && id=$(git -C cut ews snapshot create) && for end in fails killed; do
		rm -rf into && mkdir -p into/src && for f in run.sh src/main.c z; do echo "my $f" >into/$f || return 1; done &&
		set -- git-ews -C cut snapshot restore --force --to "$PWD/into" "$id" && case $end in
		fails) test_expect_code 128 sh -c "ulimit -f 100 && exec \"\$@\"" x "$@" >out 2>err && test_grep "^hint: what stood in the way is in .*/into/.ews-trash/restore-" err ;;
		killed) test_expect_code 137 "$EWS_BUILD/t/killat" -c "write.*/into/z$" 1 "$@" >out 2>err ;;
		esac && for f in run.sh src/main.c z; do test "$(cat into/.ews-trash/restore-*/$f)" = "my $f" || return 1; done || return 1
	done
'

test_expect_success 'P4: where .ews-trash is no directory nothing is taken for kept: restore --to writes nothing' '
	mkdir -p tfile/src && for f in run.sh src/main.c; do echo "my $f" >tfile/$f || return 1; done && echo x >tfile/.ews-trash && "$EWS_SRC/t/lister" tfile >before && test_expect_code 128 git -C cut ews snapshot restore --force --to "$PWD/tfile" $id >out 2>err &&
	test_grep "^error: .run.sh. has to be kept aside" err && test_grep "^hint: .*.ews-trash. must be a directory" err && "$EWS_SRC/t/lister" tfile >after && test_cmp before after && rm tfile/.ews-trash && git -C cut ews snapshot restore --force --to "$PWD/tfile" $id >out 2>err && test "$(cat tfile/.ews-trash/*/src/main.c)" = "my src/main.c"
'

test_expect_success 'P2: into the project: a directory that came since goes, but for what is ignored in it' '
	test_repo own && echo "*.o" >>own/.gitignore && snap=$(git -C own ews snapshot create) && mkdir -p own/new/deep own/built/deep &&
	echo x >own/new/deep/file && echo x >own/built/file && echo x >own/built/deep/x.o && git -C own ews snapshot restore --force "$snap" >out 2>err &&
	test_grep "Status: Verified" out && test_path_is_missing own/new && test_path_is_missing own/built/file && test_path_is_file own/built/deep/x.o
'

test_expect_success 'P2, P8: into the project: what is ignored stays and is named, when the rule for it goes' '
	test_repo rule && snap=$(git -C rule ews snapshot create) && echo "*.tmp" >>rule/.gitignore && mkdir rule/t && echo x >rule/t/x.tmp && echo x >rule/t/x &&
	git -C rule ews snapshot restore --force "$snap" >out 2>err && test_grep "Status: Verified" out && test_grep "t/x.tmp.*was ignored" err &&
	test_path_is_file rule/t/x.tmp && test_path_is_missing rule/t/x && test_must_fail grep tmp rule/.gitignore
'

test_expect_success 'P4: what was committed in an independent copy is kept, also where fsck would not like it' '
	test_repo copied && start_ws -n cw copied --method snapshot c && (
		cd "${cw:?}" && odd=$(printf ".g\\342\\200\\214it") && mkdir "$odd" && echo x >"${odd:?}/x" && git add -A && git commit -qm odd && test_must_fail git fsck --strict
	) && head=$(git -C "$cw" rev-parse HEAD) && git -C copied ews snapshot create c >out && rm -rf "${cw:?}/.git/objects/"?? &&
	git -C copied rev-list --objects "$head" >out && git -C copied cat-file -e "$head"
'

test_expect_success 'verify: sound ones, and a damaged one is named with 1' '
	git -C p ews snapshot verify $l2 && git -C p ews snapshot verify --all && test_repo v && start_ws -n vw v v && echo precious >"${vw:?}/f" &&
	vs=$(git -C v ews snapshot create v) && blob=$(git -C v rev-parse refs/ews/snapshots/$vs:f) && mkdir vp && find v/.git/objects/pack -type f -exec mv {} vp/ \; &&
	for pack in vp/*.pack; do test ! -e "$pack" || git -C v unpack-objects -q <"$pack" || return 1; done &&
	rm -f v/.git/objects/$(echo $blob | cut -c1-2)/$(echo $blob | cut -c3-) && test_expect_code 1 git -C v ews snapshot verify $vs >out 2>err &&
	cat out err >both && test_grep -E "$vs|$blob" both && test_expect_code 1 git -C v ews snapshot verify --all >out 2>err && git -C v ews snapshot verify v
'

# Nothing names what a diff left in the store; a gc that has listed what is old may be about to delete it.
test_expect_success 'P4: what is known to be in the store counts as new once it is recorded' '
	git init -q fresh && echo 1 >fresh/a && echo 1 >fresh/b && git -C fresh add . && git -C fresh commit -q -m 1 && start_ws fresh f && fw=${ws:?} &&
	echo other >"${fw:?}/a" && sleep 0.1 && git -C fresh ews diff f >out && git -C fresh ews diff f >out && blob=$(git hash-object "${fw:?}/a") &&
	object=fresh/.git/objects/$(echo $blob | sed "s,^..,&/,") && touch -d 2010-01-01 "$object" && git -C fresh ews snapshot create f && test "$object" -nt fresh/.git/HEAD &&
	git -C fresh update-ref -d "$(git -C fresh for-each-ref --format="%(refname)" refs/ews/snapshots)" && echo more >"${fw:?}/b" && touch -d 2010-01-01 "$object" && git -C fresh ews snapshot create f && test "$object" -nt fresh/.git/HEAD
'

test_expect_success 'drop: away into trash, never a base; dropping one frees it and leaves the rest whole' '
	head -c 3000 /dev/urandom | base64 >"${lw:?}/random" && make l && l3=$snap && blob=$(git -C p rev-parse refs/ews/snapshots/$l3:random) && rm "${lw:?}/random" && make l && l4=$snap &&
	git -C p ews snapshot drop $l3 && git -C p ews snapshot drop $l3 >out 2>err && test_must_be_empty out && test_grep "in trash already" err && git -C p ews snapshot list l >out && test_must_fail grep $l3 out && git -C p ews snapshot list --trash >out && grep $l3 out &&
	git -C p gc -q --prune=now && git -C p cat-file -e $blob && git -C p for-each-ref --format="delete %(refname)" refs/ews/trash | git -C p update-ref --stdin &&
	git -C p gc -q --prune=now && test_must_fail git -C p cat-file -e $blob && git -C p ews snapshot verify $l4 &&
	base=$(git -C p log -1 --format="%(trailers:key=Ews-Snapshot,valueonly,separator=)" refs/ews/sessions/l) &&
	test_must_fail git -C p ews snapshot drop $base 2>err && git -C p rev-parse -q --verify refs/ews/sessions/l && test_must_fail git -C p ews snapshot drop l
'

test_expect_success 'prune: keeps the newest, says what it would do' '
	start_ws -n pw p pr && for i in 1 2 3 4; do echo $i >"${pw:?}/f" && make pr && echo $snap >>pruned || return 1; done &&
	git -C p for-each-ref refs/ews >before && git -C p ews snapshot prune --keep 2 --dry-run pr >o 2>e && git -C p for-each-ref refs/ews >after && test_cmp before after &&
	git -C p ews snapshot prune --older-than 1d pr >o 2>e && git -C p rev-parse -q --verify refs/ews/snapshots/$(sed -n 1p pruned) &&
	git -C p ews snapshot prune --keep 2 pr >o 2>e && test_must_fail git -C p rev-parse -q --verify refs/ews/snapshots/$(sed -n 1p pruned) &&
	git -C p rev-parse -q --verify refs/ews/snapshots/$(sed -n 4p pruned) && git -C p rev-parse -q --verify refs/ews/snapshots/$(sed -n 3p pruned) &&
	git -C p rev-parse -q --verify refs/ews/sessions/pr
'

test_expect_success 'P2: the hash is equal exactly when two trees are' '
	hash() { git -C p log -1 --format="%(trailers:key=Ews-Hash,valueonly,separator=)" refs/ews/snapshots/$snap; } &&
	start_ws -n hw p ha && make ha && h0=$(hash) && touch "${hw:?}/src/main.c" "${hw:?}/src" && make ha && test "$(hash)" = $h0 &&
	chmod 600 "${hw:?}/src/main.c" && make ha && test "$(hash)" != $h0 && chmod 644 "${hw:?}/src/main.c" && make ha && test "$(hash)" = $h0 &&
	mkdir "${hw:?}/hollow" && make ha && test "$(hash)" != $h0 && rmdir "${hw:?}/hollow" && chmod 700 "${hw:?}/src" && make ha && test "$(hash)" != $h0 &&
	chmod 755 "${hw:?}/src" && git -C "$hw" commit -q --allow-empty -m x && make ha && test "$(hash)" = $h0
'

test_expect_success XATTR 'and attributes count' '
	setfattr -n user.x -v 1 "${hw:?}/src/main.c" && make ha && test "$(hash)" != $h0 && setfattr -x user.x "${hw:?}/src/main.c" && make ha && test "$(hash)" = $h0
'

test_expect_success 'P4: a file that changes under the reader is read again, or named; never half of it' '
	start_ws -n ww p writer && perl -e "print q(a) x 3000000" >aaa && perl -e "print q(b) x 3000000" >bbb &&
	{ sh -c "while test -e \"$PWD/aaa\"; do cat aaa >\"${ww:?}/busy\"; : >\"${ww:?}/busy\"; cat bbb >\"${ww:?}/busy\"; done" >/dev/null 2>&1 3>&- 4>&- 5>&- & } && pid=$! &&
	test_when_finished "rm -f aaa; wait $pid; :" && test_wait_for 20 test -e "${ww:?}/busy" && i=0 && while test $i -lt 15; do
		rc=0 && { timeout 20 git -C p ews snapshot create writer >o 2>err || rc=$?; } && i=$((i + 1)) && case $rc in
		0) if git -C p cat-file -e refs/ews/snapshots/$(cat o):busy 2>/dev/null; then
			size=$(git -C p cat-file -s refs/ews/snapshots/$(cat o):busy) && git -C p cat-file blob refs/ews/snapshots/$(cat o):busy | tr -d "a" | wc -c >n &&
			case "$(cat n)" in 0 | $size) ;; *) echo >&2 "torn: $size $(cat n)" && return 1 ;; esac
		else
			test_grep busy err || return 1
		fi ;;
		1 | 128) test_grep busy err || return 1 ;;
		*) return 1 ;;
		esac || return 1
	done
'

test_expect_success 'P4: git push, clone, fsck and bundle do well with them, and a plain push does not send them' '
	git init -q --bare there.git && git -C p push -q ../there.git --all && git -C there.git for-each-ref refs/ews >out && test_must_be_empty out &&
	git -C p push -q ../there.git "refs/ews/*:refs/ews/*" && git -C there.git fsck --strict && git clone -q p cl && git -C cl for-each-ref refs/ews >out && test_must_be_empty out &&
	git -C p bundle create -q ../b.bundle "refs/ews/snapshots/$l4" ^main && git -C p pack-refs --all && git -C p ews snapshot verify $l4 && git -C p ews snapshot list --all >out && grep $l4 out
'

test_expect_success 'P2: with paths the rest is that of the snapshot before, or the base: a revert to it takes nothing else away' '
	test_repo some && start_ws some paths && (cd "${ws:?}" && echo 1 >one && mkdir -p a/b && echo 2 >a/b/two && echo 3 >three && rm src/main.c) &&
	one=$(git -C "$ws" ews snapshot create -- one) && git -C some ews diff --name-status paths "$one" >out && printf "A\tone\n" >want && test_cmp want out &&
	two=$(git -C "$ws" ews snapshot create -- a src/main.c) && git -C some ews diff --name-status paths "$two" >out && printf "A\ta/b/two\nA\tone\nD\tsrc/main.c\n" >want && test_cmp want out &&
	git -C some ews snapshot show --json "$two" >json && test_json json .files_count "$(git -C some ls-tree -r "refs/ews/snapshots/$two" | wc -l)" && (cd "${ws:?}" && echo 4 >one && rm -r a three) && git -C some ews revert --to "$two" paths >out &&
	test_grep "Status: Verified" out && git -C some ews snapshot create paths >id && git -C some ews diff --exit-code "$two" "$(cat id)" && git -C some ews end paths
'

test_expect_success 'P4: the first snapshot of a project is whole, with paths as well' '
	test_repo first && id=$(git -C first ews snapshot create -- src) && echo more >>first/run.sh && rm first/src/main.c && git -C first ews snapshot restore --force "$id" &&
	test_path_is_file first/src/main.c && git -C first status --porcelain >out && test_must_be_empty out
'

test_expect_success 'P4: what a snapshot finds in a pack counts as new; what git counts by the object is written again' '
	git init -q fresh && (cd fresh && echo one >one && git add one && git commit -qm one && git repack -adq) && start_ws fresh fr &&
	cp "${ws:?}/one" "${ws:?}/two" && touch -d 2010-01-01 fresh/.git/objects/pack/*.pack && git -C fresh ews snapshot create fr &&
	find fresh/.git/objects/pack -name "*.pack" -newermt 2020-01-01 >new && test_line_count = 1 new &&
	lost=$(echo lost | git -C fresh hash-object -w --stdin) && loose=fresh/.git/objects/$(echo $lost | sed "s/../&\//") && test_path_is_file $loose &&
	git -C fresh repack --cruft -dq && test_path_is_missing $loose && git -C fresh cat-file -e $lost &&
	echo lost >"${ws:?}/two" && git -C fresh ews snapshot create fr && test_path_is_file $loose
'

test_expect_success 'a path that is nowhere is an error: of create, and of restore into a directory, which is not made' '
	test_repo nowhere && start_ws nowhere nw && git -C nowhere for-each-ref >before &&
	for project in nowhere "$ws"; do
		test_expect_code 128 git -C "$project" ews snapshot create -- nosuch 2>err && test_grep "^error: .nosuch. is neither there" err && test_grep "^hint: paths are" err || return 1
	done && test_expect_code 128 git -C nowhere ews snapshot restore nw --to "$PWD/made" -- src/main.c nosuch 2>err && test_grep "^error: .nosuch. is not in" err && test_path_is_missing made &&
	git -C nowhere for-each-ref >after && test_cmp before after && rm "${ws:?}/run.sh" && (cd "${ws:?}" && git ews snapshot create -- run.sh src) && git -C nowhere ews snapshot restore nw --to "$PWD/made" -- src && test_path_is_file made/src/main.c && test_path_is_missing made/run.sh &&
	git -C nowhere ews snapshot create -- src && test_expect_code 128 git -C nowhere ews snapshot create -- nosuch
'

test_expect_success 'a relative core.excludesFile is seen from the top, as git sees it, wherever one stands' '
	test_repo top && echo "*.mine" >top/.mine && git -C top config core.excludesFile .mine && mkdir top/below && : >top/a.mine && : >top/below/seen && (cd top/below && git check-ignore -q ../a.mine && git ews snapshot create) >out &&
	git -C top ews snapshot show --files "$(cat out)" >files && test_grep below/seen files && test_grep ! a.mine files &&
	start_ws top tops && rm top/.mine && : >"${ws:?}/b.mine" && : >"${ws:?}/new" && (cd "${ws:?}/below" && git check-ignore -q ../b.mine && git ews diff --changes files) >out && test_grep "A  new" out && test_grep ! mine out &&
	(cd top/below && git ews diff tops --changes files) >out && test_grep "A  new" out && test_grep ! mine out && echo "*.mine" >top/.mine &&
	(cd top/below && git ews archive create .. --to "$HOME/tops") >out 2>err && git ews archive show --files "$(cat out)" >files && test_grep below/seen files && test_grep ! a.mine files && git -C top ews end tops
'

test_expect_success 'a core.excludesFile that is empty says that there is none' '
	test_repo noex && mkdir -p "$HOME/.config/git" && echo "*.mine" >"$HOME/.config/git/ignore" && test_when_finished "rm -r \"\$HOME/.config\"" && : >noex/a.mine && git -C noex ews snapshot create >id && git -C noex ews snapshot show --files "$(cat id)" >files && test_grep ! a.mine files &&
	git -C noex config core.excludesFile "" && git -C noex status --porcelain >out && test_grep a.mine out && git -C noex ews snapshot create >id && git -C noex ews snapshot show --files "$(cat id)" >files && test_grep a.mine files
'

# Git dies of it, too: "cannot use ... as an exclude file".
test_expect_success 'P4, P8: a file of ignored names that is a directory is named, and nothing is done' '
	test_repo nolist && mkdir "a list" && start_ws nolist nolist && echo new >"${ws:?}/new" && listing "$ws" >want && for where in setting info; do
		list="$PWD/a list" && case $where in setting) git -C nolist config core.excludesFile "$list" ;; *) git -C nolist config --unset core.excludesFile && list=$PWD/nolist/.git/info/exclude && rm "$list" && mkdir "$list" ;; esac &&
		for verb in "revert nolist" "diff nolist" "end nolist" "snapshot create"; do
			test_expect_code 128 git -C nolist ews $verb 2>err && test_grep "^error: .*: in .$list.: cannot read: Is a directory" err || return 1
		done && case $where in setting) test_grep "^hint: .*--show-origin core.excludesFile" err ;; esac && listing "$ws" >got && test_cmp want got || return 1
	done && rmdir "$list" && git -C nolist ews revert nolist >out && test_grep "Status: Verified" out && git -C nolist ews end nolist
'

test_expect_success !VALGRIND 'P8: what was read while a long write was under way is read again' '
	test_repo long && truncate -s 64M long/big && start_ws long lw && git -C long ews diff lw && "$EWS_BUILD/t/halfway" "${ws:?}/big" git -C long ews diff lw --stat >out && test_grep big out &&
	cp "${ws:?}/big" want && id=$(git -C long ews snapshot create lw) && git -C long cat-file blob "ews/snapshots/$id:big" | cmp - want && git -C long ews snapshot verify "$id" &&
	git -C long ews revert lw >out && test_grep "Status: Verified" out && cmp long/big "${ws:?}/big" && git -C long ews undo lw && cmp want "${ws:?}/big" && git -C long ews end lw
'

test_expect_success !VALGRIND 'P8: nor is that believed of the project: what starts then has what is there' '
	ln long/big long/two && "$EWS_BUILD/t/halfway" long/big git -C long ews start half >path && take_ws path half && test "${half:?}/big" -ef "${half:?}/two" && start_ws long whole && cmp long/big "${ws:?}/big" && git -C long cat-file blob ews/sessions/whole:big | cmp - long/big &&
	git -C long cat-file blob ews/sessions/half:big | cmp - "${half:?}/big" && git -C long ews revert whole >out && test_grep "Status: Verified" out && cmp long/big "${ws:?}/big"
'

test_expect_success STRACE 'P8: a file or a directory that can not be opened for want of descriptors or memory ends the look; what is left out, and named, is what may not or can not be read' '
	test_repo scarce && mkdir scarce/dd && echo x >scarce/dd/u1 && start_ws scarce sc && echo y >"${ws:?}/dd/u1" && for error in EMFILE ENFILE ENOMEM; do
		for at in "u1 openat" "dd openat2"; do
			set -- $at && test_expect_code 128 test_strace trace -P "$1" -e trace=$2 -e inject=$2:error=$error:when=1+ git -C scarce ews snapshot create sc >out 2>err && test_grep INJECTED trace && test_grep "^error: .*dd" err && test_must_be_empty out || return 1
		done || return 1
	done && for error in EPERM EIO; do
		test_strace trace -P u1 -e trace=openat -e inject=openat:error=$error git -C scarce ews snapshot create sc >out 2>err && test_grep "left out: dd/u1 (unreadable)" err || return 1
	done
'

test_expect_success STRACE 'P8: what was added below an ignore rule is seen, or it is said that the index can not be read just now' '
	test_repo added && n=1 && while :; do
		start_ws added s$n && echo "*.ign" >"${ws:?}/.gitignore" && echo f >"${ws:?}/forced.ign" && git -C "$ws" add -f forced.ign || return 1
		if test_strace log -P index -e trace=openat -e inject=openat:error=EIO:when=$n git-ews -C added diff --stat s$n >out 2>err; then test_grep forced.ign out || return 1; fi
		grep -q INJECTED log || break
		git -C added ews end s$n --no-artifacts && n=$((n + 1)) || return 1
	done && test $n -gt 2
'

test_done
