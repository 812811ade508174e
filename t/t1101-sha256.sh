#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='a SHA-256 repository: every verb, and git is content with all that was written (P1, P2, P3, P4, P7, P9)'

. "$(dirname "$0")/test-lib.sh"

# git's own status must not refresh the project's index
GIT_OPTIONAL_LOCKS=0
export GIT_OPTIONAL_LOCKS

sha256_repo() (
	GIT_DEFAULT_HASH=sha256 && export GIT_DEFAULT_HASH && test_repo "$1"
)

# All of the workspace <dir> that a revert must give back.
state_of() (
	"$EWS_SRC/t/lister" -m -x .git -x .superqode "$1" && cd "$1" && git rev-parse HEAD && git status --porcelain=v2 -uall &&
		cd "$(git rev-parse --absolute-git-dir)" && sha256sum index && stat -c %y index
)

# Nothing in the repository <dir> is damaged, unknown to git, or left over.
sound() {
	{ git -C "$1" fsck --strict --no-dangling >fsck.out 2>&1 || { cat fsck.out >&2 && return 1; }; } && test_must_be_empty fsck.out &&
		git -C "$1" count-objects -v >out && test_grep "^garbage: 0" out &&
		git -C "$1" cat-file --batch-all-objects --batch-check="%(objectname)" >out && test_grep ! -v -E "^[0-9a-f]{64}\$" out &&
		find "${1:?}/.git" \( -name "*.lock" -o -name "tmp_*" \) >litter && test_must_be_empty litter
}

test_expect_success 'setup: a project with staged, changed and untracked files' '
	sha256_repo p &&
	(cd p && echo staged >>src/main.c && git add src/main.c && echo changed >>src/main.c && echo untracked >untracked && echo build >x.o && git gc -q) &&
	test_fingerprint p >fp.before
'

test_expect_success 'P1: start gives the twin, its index is one of SHA-256, and the project does not notice' '
	start_ws p --keep-ignored=no one && test_fingerprint p >fp && test_cmp fp.before fp && test_same_tree -x x.o p "$ws" &&
	git -C p status --porcelain >want && git -C "$ws" status --porcelain >got && test_cmp want got &&
	git -C p ls-files -s >want && git -C "$ws" ls-files -s >got && test_cmp want got && test "$(git -C p rev-parse HEAD)" = "$(git -C "$ws" rev-parse HEAD)" &&
	state_of "$ws" >base && sound p
'

test_expect_success 'P7: the patch is git'\''s own, bit for bit, and gives the workspace' '
	(cd "$ws" && echo edit >>src/numbers && printf "\0bin\377" >new.bin && rm docs/crlf.txt && git mv run.sh went.sh && chmod +x src/log && ln -s new.bin to-new && echo "odd" >"q\"uote") &&
	(cd "$ws" && git ews diff) >patch && snap=$(git -C p ews snapshot create one) && base=$(git -C p ews snapshot list --json one >list && json list ".snapshots[0].snapshot_id") &&
	git -C p for-each-ref --format="%(refname) %(tree)" refs/ews >refs && from=$(sed -n "s,^refs/ews/sessions/one ,,p" refs) && to=$(sed -n "s,^refs/ews/snapshots/$snap ,,p" refs) &&
	git -C p diff --binary --full-index -M "$from" "$to" >want && test_cmp want patch && test_grep "^index [0-9a-f]\{64\}\.\." patch && test_grep "GIT binary patch" patch &&
	(GIT_INDEX_FILE=$PWD/scratch.index && export GIT_INDEX_FILE && git -C p read-tree "$from" && git -C p apply --cached ../patch && git -C p write-tree) >got.tree &&
	echo "$to" >want.tree && test_cmp want.tree got.tree && git -C p ews snapshot diff "$base" "$snap" >got && test_cmp want got && (cd "$ws" && git ews diff --json) >out && test_json out .renames 1
'

test_expect_success 'the neutral repository is of SHA-256, too' '
	test "$(git --git-dir="$HOME/.superqode/neutral-sha256.git" rev-parse --show-object-format)" = sha256 && test_path_is_missing "$HOME/.superqode/neutral.git"
'

test_expect_success 'P2, P3: revert brings files and index back, proven; undo and redo go both ways' '
	state_of "$ws" >work && git -C p ews revert one >out && test_grep "Status: Verified" out && state_of "$ws" >got && test_cmp base got &&
	git -C p ews undo one && state_of "$ws" >got && test_cmp work got && git -C p ews undo --redo one && state_of "$ws" >got && test_cmp base got &&
	git -C p ews revert --verify=full one >out && test_grep "Status: Verified" out && sound p
'

test_expect_success 'many new files become a pack that git reads, and P4: gc takes nothing that a snapshot holds' '
	(cd "$ws" && mkdir many && for n in $(seq 300); do echo "file $n" >"many/$n" || exit 1; done && echo staged again >>src/log && git add src/log && echo over it >>src/log) &&
	state_of "$ws" >work && ls p/.git/objects/pack >packs.before && snap=$(git -C p ews snapshot create one) && ls p/.git/objects/pack >packs.after && test_must_fail cmp -s packs.before packs.after &&
	for idx in p/.git/objects/pack/*.idx; do git -C p verify-pack "$PWD/$idx" || return 1; done && sound p &&
	git -C p reflog expire --expire=now --all && git -C p gc -q --prune=now && test_fingerprint p >fp.before && sound p && git -C p ews snapshot verify --all >out && test_grep ! -v "ok$" out &&
	git -C p ews revert one >out && test_grep "Status: Verified" out && state_of "$ws" >got && test_cmp base got &&
	git -C p ews snapshot restore "$snap" one --force && state_of "$ws" >got && test_cmp work got
'

test_expect_success 'snapshots are listed, shown, put elsewhere, dropped and pruned' '
	git -C p ews snapshot list one >out && test_grep "$snap" out && git -C p ews snapshot show --hashes --files "$snap" >out && test_grep "many/300" out &&
	git -C p ews snapshot restore "$snap" --to "$PWD/elsewhere" && test_same_tree elsewhere "$ws" &&
	other=$(git -C p ews snapshot create one) && git -C p ews snapshot drop "$snap" && git -C p ews snapshot list one >out && test_grep ! "$snap" out && git -C p ews snapshot verify "$other" &&
	git -C p ews snapshot prune --keep 0 && git -C p ews snapshot list one >out && test_grep ! "$other" out && sound p
'

test_expect_success 'a revision is a state, too: by short id, by "@", by tag; what is none is one error' '
	short=$(git -C p rev-parse --short=12 HEAD~1) && git -C p tag -am text t1 HEAD~1 && git -C p ews diff "$short" HEAD >out && git -C p diff --binary --full-index -M HEAD~1 HEAD >want && test_cmp want out &&
	git -C p ews diff t1 @ >out && test_cmp want out && git -C p tag -d t1 && test_expect_code 128 git -C p ews diff no-such HEAD >out 2>err && test_must_be_empty out && test_grep no-such err &&
	start_ws p --base "$short" old && test "$(git -C "$ws" rev-parse HEAD)" = "$(git -C p rev-parse HEAD~1)" && git -C p ews end old
'

test_expect_success 'P4: end keeps the difference, undo brings the workspace back, and then it is over' '
	ws=$(git -C p ews path one) && state_of "$ws" >work && git -C p ews end one && test_path_is_missing "$ws" && test_path_is_missing p/.git/worktrees/one && sound p &&
	git -C p ews undo one && state_of "$ws" | sed "/^....-..-.. /d" >got && sed "/^....-..-.. /d" work >want && test_cmp want got && git -C p ews end one && test_fingerprint p >fp && test_cmp fp.before fp && sound p
'

test_expect_success 'a linked worktree with its own config, and an unborn project' '
	git -C p worktree add -q --detach ../linked HEAD~1 && git -C p config extensions.worktreeConfig true && git -C linked config --worktree ews.maxFile 1k && echo small >linked/small &&
	start_ws -n linked_ws linked in-linked && test_same_tree linked "$linked_ws" && head -c 2000 /dev/zero >linked/large && test_expect_code 1 git -C linked ews start too-large 2>err && test_grep large err &&
	rm linked/large && git -C linked ews end in-linked && git init -q --object-format=sha256 unborn && echo new >unborn/new && start_ws unborn first && test_path_is_file "${ws:?}/new" &&
	(cd "$ws" && echo more >>new && git ews diff >../out.unborn && git ews revert) >out && test_grep "Status: Verified" out && git -C unborn ews end first && git -C unborn fsck --strict >out 2>&1
'

test_expect_success 'methods snapshot and in-place: what an agent commits is kept, and git is content with it' '
	start_ws p --method snapshot copy && test "$(git -C "$ws" rev-parse --show-object-format)" = sha256 && state_of "$ws" >base && (cd "$ws" && echo mine >mine && git add mine && git commit -qm mine && echo more >>mine) &&
	mine=$(git -C "$ws" rev-parse HEAD) && snap=$(git -C p ews snapshot create copy) && git -C p ews revert copy >out && test_grep "Status: Verified" out && state_of "$ws" >got && test_cmp base got &&
	git -C p cat-file -e "$mine" && git -C p ews snapshot verify "$snap" && git -C p ews end copy && sound p &&
	sha256_repo inside && (cd inside && echo before >>src/main.c && git add src/main.c && echo build >x.o && mkdir hollow) && state_of inside >base && git -C inside ews start --method in-place here >out &&
	(cd inside && git commit -qam agent && rm -r docs && echo rebuilt >x.o && rmdir hollow && echo new >new) && (cd inside && git ews end here) >out && state_of inside >got && test_cmp base got && git -C inside fsck --strict --no-dangling
'

# git removes no ref while that is locked, whoever holds it
test_expect_success 'P4: a lock on the packed refs is named, and once it is gone recover goes on' '
	start_ws p held && snap=$(git -C p ews snapshot create held) && git -C p pack-refs --all && : >p/.git/packed-refs.lock && test_expect_code 1 git -C p ews snapshot drop "$snap" >out 2>err && test_grep "hint: .*packed-refs.lock" err &&
	git -C p ews snapshot verify "$snap" && rm "$PWD/p/.git/packed-refs.lock" && git -C p ews recover --all && git -C p ews snapshot verify "$snap" && git -C p ews end held && sound p
'

test_expect_success 'a program that is killed leaves what recover takes back or finishes' '
	start_ws p killed && (cd "$ws" && echo edit >>src/main.c && echo new >new) && state_of "$ws" >work &&
	for n in 2 7 12; do
		code=0 && "$EWS_BUILD/t/killat" -o log $n git -C p ews snapshot create killed >out 2>err || code=$?
		test "$code" -ge 128 && git -C p ews recover --all >out 2>err && sound p || return 1
		code=0 && "$EWS_BUILD/t/killat" -o log $n git -C p ews revert killed >out 2>err || code=$?
		test "$code" -ge 128 && git -C p ews recover --all >out 2>err && sound p || return 1
	done && git -C p ews revert killed >out && test_grep "Status: Verified" out && git -C p ews end killed && sound p
'

test_expect_success 'P3: one flipped byte, and a sound object under a wrong name, are found and named' '
	sha256_repo q && start_ws q flip && echo precious >"${ws:?}/file" && echo previous >"${ws:?}/other" && snap=$(git -C q ews snapshot create flip) &&
	id=$(echo precious | git -C q hash-object --stdin) && file=q/.git/objects/$(echo $id | sed "s,^..,&/,") && chmod u+w "$file" && printf "\377" | dd of="$file" bs=1 seek=12 conv=notrunc status=none &&
	test_expect_code 1 git -C q ews snapshot verify "$snap" >out 2>err && cat out err >both && test_grep "file\|$id" both && rm "${ws:?}/file" &&
	test_must_fail git -C q ews snapshot restore "$snap" flip --force >out 2>err && cat out err >both && test_grep "$id" both &&
	cp -f "q/.git/objects/$(echo previous | git -C q hash-object --stdin | sed "s,^..,&/,")" "$file" && test_expect_code 1 git -C q ews snapshot verify "$snap" >out 2>err && cat out err >both && test_grep "$id" both && rm -f "${ws:?}/file" &&
	test_must_fail git -C q ews snapshot restore "$snap" flip --force >out 2>err && cat out err >both && test_grep "$id" both && test_path_is_missing "${ws:?}/file"
'

test_expect_success 'P9: a partial clone: what is missing is named, and no helper runs for it' '
	git -C p config uploadpack.allowFilter true && git clone -q --filter=blob:none "file://$PWD/p" partial &&
	git -C partial config remote.origin.url "ext::touch $(echo "$HOME/ran" | sed "s/ /% /g")" && git -C partial config protocol.allow always && git -C partial config protocol.ext.allow always &&
	start_ws partial here && test_same_tree -x untracked -x x.o -M src/main.c partial "$ws" && (cd "$ws" && echo edit >>src/numbers && for n in $(seq 60); do echo $n >new.$n || exit 1; done && git ews diff && git ews revert) >out && test_grep "Status: Verified" out &&
	test_expect_code 128 git -C partial ews start --base HEAD~1 old >out 2>err && test_must_be_empty out && test_line_count = 2 err && test_grep "object [0-9a-f]\{64\} is missing from this partial clone" err &&
	git -C partial ews end here && test_expect_code 128 git -C partial ews diff HEAD~1 HEAD >out 2>err && test_must_be_empty out && test_grep "[0-9a-f]\{64\}" err &&
	git clone -q --no-checkout --filter=tree:0 "file://$PWD/p" treeless && cp partial/.git/config treeless/.git/config && test_expect_code 128 git-ews -C treeless start --base HEAD:src none >out 2>err && test_must_be_empty out &&
	mkdir old-git && printf "#!/bin/sh\nunset GIT_NO_LAZY_FETCH\nexec \"%s\" \"\$@\"\n" "$(command -v git)" >old-git/git && chmod +x old-git/git &&
	PATH="$PWD/old-git:$PATH" test_expect_code 128 git-ews -C treeless start --base HEAD:src none >out 2>err && test_must_be_empty out &&
	test_path_is_missing "$HOME/ran" && test_must_fail git -C partial cat-file -e HEAD~1:src/log 2>err && test_path_is_file "$HOME/ran"
'

test_expect_success 'P9: no hook and no monitor of the repository runs' '
	sha256_repo hooked && for hook in reference-transaction post-index-change post-checkout; do
		printf "#!/bin/sh\ntouch \"%s\"\n" "$PWD/hook-ran" >hooked/.git/hooks/$hook && chmod +x hooked/.git/hooks/$hook || return 1
	done && mkdir hooked/.git/own && cp hooked/.git/hooks/reference-transaction hooked/.git/own && git -C hooked config core.hooksPath .git/own && git -C hooked config core.fsmonitor "touch $HOME/monitor-ran;" &&
	git-ews -C hooked start h >out && take_ws out && echo x >"${ws:?}/x" && git-ews -C hooked diff h >patch && git-ews -C hooked snapshot create h >out && git-ews -C hooked revert h >out && git-ews -C hooked end h &&
	test_path_is_missing hook-ran && test_path_is_missing "$HOME/monitor-ran"
'

test_expect_success 'format 0 with SHA-256 is refused, as by git' '
	git init -q --object-format=sha256 zero && git -C zero config core.repositoryFormatVersion 0 && test_must_fail git -C zero status && test_expect_code 128 git-ews -C zero start >out 2>err &&
	test_must_be_empty out && test_grep "format version 0" err
'

lacks_git() {
	env PATH="$PWD/alone" git-ews "$@"
}
lacks_processes() {
	test_strace trace -e trace=clone,clone3,vfork -e inject=clone,clone3,vfork:error=EAGAIN git-ews "$@"
}

test_expect_success 'P4: where git can not be asked no object is missing: nobody is told to delete its ref' '
	sha256_repo unasked && start_ws unasked u && snap=$(git -C unasked ews snapshot create u) && git -C unasked gc -q --prune=now && mkdir alone && ln -s "$EWS_BIN/git-ews" alone/git-ews &&
	test_expect_code 1 lacks_git -C unasked doctor >out && test_grep "problem  refs .*$snap.: cannot run git" out && test_grep "problem  sessions .*cannot run git" out && test_grep ! "is missing" out && test_grep ! "update-ref" out && git -C unasked ews end u
'

test_expect_success 'P4: nor is one where a signal ends git' '
	sha256_repo killed && start_ws killed k && snap=$(git -C killed ews snapshot create k) && mkdir dies && printf "#!/bin/sh\ncase \" \$* \" in *\" cat-file \"*) kill -KILL \$\$ ;; esac\nexec %s \"\$@\"\n" "$(command -v git)" >dies/git && chmod +x dies/git &&
	(PATH=$PWD/dies:$PATH && test_expect_code 1 git-ews -C killed doctor >out) && test_grep "problem  refs .*$snap.: .* was ended by signal 9" out && test_grep ! "is missing" out && test_grep ! "update-ref" out &&
	git -C killed tag v1 && sed -i "s/ cat-file / rev-parse /; s/-KILL/-HUP/" dies/git && (PATH=$PWD/dies:$PATH && test_expect_code 128 env --default-signal=HUP git-ews -C killed diff k v1 2>err) && test_grep "git rev-parse. was ended by signal 1$" err && test_grep ! "no snapshot" err && git -C killed ews end k
'

test_expect_success STRACE 'P4: nor is it what the undo of an end that was killed needs: recover waits for git' '
	sha256_repo waits && start_ws waits --method snapshot w && echo mine >"${ws:?}/mine" && git -C waits ews end w && git -C waits gc -q --prune=now && work=$(dirname "$(dirname "${ws:?}")") &&
	test_expect_code 137 test_strace trace -e trace=renameat,renameat2 -e inject=renameat,renameat2:signal=KILL:when=2 git -C waits ews undo w && grep "\"undoing\"" "${work:?}"/undo/*.json && rm -rf "${work:?}"/trash/*/workspace &&
	for way in lacks_git lacks_processes; do
		test_expect_code 128 $way -C waits recover --resume w 2>err && test_grep "cannot run git" err && grep "\"undoing\"" "${work:?}"/undo/*.json || return 1
	done && git -C waits ews recover --resume w && test "$(cat "${ws:?}/mine")" = mine
'

test_done
