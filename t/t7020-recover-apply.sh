#!/bin/sh
#
# SPDX-License-Identifier: MIT

test_description='recover: an apply that is killed anywhere is finished or had not begun (P1, P4)'

. "$(dirname "$0")/test-lib.sh"

if test_have_prereq VALGRIND; then
	skip_all='a killed tracer is no test of the program'
	test_done
fi

# each point is a copy of all of it, and several runs
kill_points=6

state_of() {
	"$EWS_SRC/t/lister" -m -x .git -x .superqode p && git -C p rev-parse HEAD && sha256sum p/.git/index
}

sound() {
	no_litter && git -C p ews status --json --all >said && test_grep ! '"interrupted"' said &&
		git -C p fsck --strict --no-dangling >fsck.out 2>&1 && test_must_be_empty fsck.out
}

# All of it came, or nothing; when it came undo takes it back.
after_apply() {
	state_of >got || return 1
	if cmp -s got after.want; then
		git -C p ews undo >out 2>err && state_of >got || return 1
	fi
	test_cmp before.want got && git -C p ews apply x >out 2>err && state_of >got && test_cmp after.want got
}

test_expect_success 'setup: a session with work in it, and a project that moved on' '
	test_repo p && (cd p && seq 1 40 >lines && git add lines && git commit -qm lines) && start_ws p x && (
		cd "$ws" && sed -i "s/^5\$/five/" lines && echo edit >>src/main.c && rm docs/crlf.txt && mkdir -p new/dir && echo new >new/dir/file &&
			rm -r src/deep && echo file >src/deep && ln -s nowhere new/link && chmod 600 src/numbers && mkdir hollow
	) && echo more >>p/lines && state_of >before.want && git -C p ews apply x && state_of >after.want && git -C p ews undo && save work
'

test_expect_success 'P4: apply' '
	sweep work after_apply apply x
'

# killed_at_commit <what>: an apply that is to commit; its git does that in place of the commit, and it is killed.
killed_at_commit() {
	mkdir -p wrap && printf '#!/bin/sh\ncase " $* " in *" commit --quiet "*)\n%s\nkill -9 $PPID\nexit 1 ;; esac\nexec "%s" "$@"\n' "$1" "$real" >wrap/git && chmod +x wrap/git &&
		{ PATH="$PWD/wrap:$PATH" git-ews -C p apply --commit -m ours x || test $? = 137; }
}

# theirs: the user commits something else, and goes on.
theirs() {
	echo mine >p/mine && git -C p add mine && git -C p commit -qm theirs -- mine && head=$(git -C p rev-parse HEAD)
}

is_clean() {
	git -C p status --porcelain >st && test_must_be_empty st && test "$(git -C p rev-parse HEAD)" = "$head"
}

# half_done <state> <state>: the step that is in one of them was killed before its record could say so; it is in the other.
half_done() {
	grep -l "\"state\":	\"$1\"" "$HOME"/.superqode/working/p/undo/op-*.json >records && test "$(wc -l <records)" = 1 && sed -i "s/\"state\":	\"$1\"/\"state\":	\"$2\"/" "$(cat records)"
}

real=$(command -v git)

test_expect_success 'setup: a project without changes of its own' '
	restore work && rm "${HOME:?}"/.superqode/working/p/undo/op-*.json && git -C p checkout -q lines && was=$(git -C p rev-parse HEAD) && save clean && git -C p ews apply --commit -m ours x && ours=$(git -C p rev-parse HEAD) && save done &&
	git -C p ews undo && save undone
'

test_expect_success 'P4: a commit that the user makes after the crash is not taken for that of the apply' '
	restore clean && killed_at_commit "" && theirs && git -C p ews recover --all >out && test_grep "taken back" out && is_clean &&
	git -C p ews apply --commit x && git -C p ews undo && is_clean && sound
'

test_expect_success 'P4: when it was made, and the user commits on top of it, the branch stays, and the files are finished' '
	restore clean && killed_at_commit "\"$real\" \"\$@\"" && theirs && test "$(git -C p log -2 --format=%s)" = "$(printf "theirs\nours")" &&
	git -C p ews recover --all >out && test_grep "apply of the project was finished" out && test_grep "refs/heads/.*left where it is" out && is_clean &&
	git -C p ews recover --all >out && test_must_be_empty out && git -C p ews undo && test "$(git -C p rev-parse HEAD)" = $head && git -C p diff --exit-code $was -- . ":!mine" &&
	git -C p ews undo --redo && is_clean && sound
'

test_expect_success 'P4: when he took it back himself, so is the rest of it' '
	restore clean && killed_at_commit "\"$real\" \"\$@\"" && git -C p reset -q --soft HEAD^ && head=$was && git -C p ews recover --all >out && test_grep "taken back" out && is_clean && sound
'

test_expect_success 'P4: without a reflog nobody can tell: the files are finished, and no commit is taken for ours' '
	restore clean && git -C p config core.logAllRefUpdates false && rm -r "${PWD:?}/p/.git/logs" && killed_at_commit "\"$real\" \"\$@\"" && theirs &&
	git -C p ews recover --all >out && test_grep "left where it is" out && is_clean && git -C p ews undo && test "$(git -C p rev-parse HEAD)" = $head &&
	restore clean && git -C p config core.logAllRefUpdates false && rm -r "${PWD:?}/p/.git/logs" && killed_at_commit "" && head=$was && git -C p ews recover --all >out && test_grep "taken back" out && is_clean
'

# unread <argument>...: git ews, whose look at the branch, or its log, fails.
unread() {
	test_look EIO "open.*/p/[.]git/(logs/)?refs/heads/main$" -C p "$@" >out 2>err
}

test_expect_success 'P4: where the branch cannot be looked at just now its commit is neither gone nor another' '
	look=0 && while test_more_looks; do
		restore clean && unread apply --commit -m ours x && test_grep ! "leaves the branch" err && git -C p ews recover --all && if test $code = 0 -o $code = 199; then git -C p ews undo; fi && head=$was && is_clean || return 1
	done && test $look -gt 5 && look=0 && while test_more_looks; do
		restore done && unread undo && test_grep ! "no longer the branch" err && git -C p ews recover --all && if test "$(git -C p rev-parse HEAD)" != $was; then git -C p ews undo; fi && head=$was && is_clean || return 1
	done && test $look -gt 5 && look=0 && while test_more_looks; do
		restore clean && killed_at_commit "\"$real\" \"\$@\"" && head=$(git -C p rev-parse HEAD) && unread recover --all && git -C p ews recover --all && is_clean && git -C p ews undo && head=$was && is_clean || return 1
	done && test $look -gt 5
'

# Where the branch stands when it is killed: it has moved, or not yet.
for branch in was ours; do
	test_expect_success "P4: undo and redo, killed with the branch at \$$branch, are finished when the user goes on from there" '
		eval "at=\$$branch" && restore undone && half_done undone undoing && git -C p update-ref HEAD $at && theirs && git -C p ews recover --all --revert >out && test_grep "undo of the apply of the project was finished" out &&
		test_grep "refs/heads/.*left where it is" out && test "$(git -C p rev-parse HEAD)" = $head && git -C p diff --exit-code $was -- . ":!mine" && git -C p ews undo --redo && test "$(git -C p rev-parse HEAD)" = $head && sound &&
		restore done && half_done done redoing && git -C p update-ref HEAD $at && theirs && git -C p ews recover --all >out && test_grep "refs/heads/.*left where it is" out &&
		test "$(git -C p rev-parse HEAD)" = $head && git -C p diff --exit-code $ours -- . ":!mine" && git -C p ews undo && test "$(git -C p rev-parse HEAD)" = $head && git -C p diff --exit-code $was -- . ":!mine" && sound
	'
done

# is_open: there is a step of the project that may be unfinished.
is_open() {
	test -n "$(find "$HOME/.superqode/working/p/undo" -name "*.open")"
}

# told <verb of the step> <verb and arguments>: killed, status, list and a prompt say that it was interrupted, until it is recovered.
told() {
	# shellcheck disable=SC2086 # one word, or two
	step=$1 && shift && test_expect_code 137 killat -c "/p/src" -o log 1 git -C p ews "$@" >out 2>err && for verb in status list "status --all"; do git -C p ews $verb >out 2>err && test_grep "^warning: the .$step. of the project was interrupted in .*/p.: run .git ews recover --all" err || return 1; done &&
		git -C p ews status --brief >out && test_grep "^x, project interrupted\$" out && git -C p ews list --json >out && test_json_count out .interrupted_steps 1 && test_json out ".interrupted_steps[0].verb" "$step" && test_json out ".interrupted_steps[0].project" "$PWD/p" &&
		git -C p ews recover --all && git -C p ews status >out 2>err && test_must_be_empty err && git -C p ews status --json >out && test_json_count out .interrupted_steps 0 && test "$(git -C p ews status --brief)" = x
}

test_expect_success 'P4: status, list and a prompt say of the project itself that a verb in it was interrupted' '
	restore clean && told apply apply x && restore clean && git -C p ews apply x && told apply undo && restore clean && snap=$(git -C p ews snapshot create) && rm -r "${PWD:?}/p/src" && told restore snapshot restore --force $snap
'

test_expect_success 'of a verb that goes on they say nothing, and nothing is left of it that they would have to read' '
	restore clean && { test_strace calls -e trace=linkat,unlinkat -e inject=linkat,unlinkat:delay_enter=300000 git -C p ews apply x >out 2>err & } && verb=$! && test_wait_for 20 is_open && git -C p ews status >said 2>said.err && test_must_be_empty said.err && wait $verb &&
	git -C p ews undo && git -C p ews undo --redo && ! is_open
'

# kept_as <path> <text> [<word>]: recover said that the path was changed since, and what it says brings that back.
kept_as() {
	snap=$(sed -n "s,^changed since then.*: $1; .*snapshot restore \(snap-[^ ]*\)${3:+ $3} -- $1. .*,\1,p" out) && test -n "$snap" && git -C p show "refs/ews/trash/$snap:$1" >kept && test_grep "$2" kept
}

test_expect_success 'P4: what the user edits after the crash is named, with the snapshot that keeps it' '
	restore clean && git -C p ews apply x && half_done done planned && echo edited since >>p/lines && git -C p checkout -q src/main.c && : >p/new/dir/file && git -C p ews recover --all >out &&
	kept_as lines "edited since" && grep "^changed since" out >lines.since && test_line_count = 1 lines.since && test_grep ! "edited since" p/lines &&
	git -C p ews snapshot restore --force $snap -- lines && test_grep "edited since" p/lines && git -C p checkout -q lines && restore clean &&
	killed_at_commit "" && echo edited since >>p/lines && git -C p ews recover --all >out && test_grep "taken back" out && kept_as lines "edited since" &&
	restore undone && half_done undone undoing && echo edited since >>p/src/main.c && git -C p ews recover --all >out && kept_as src/main.c "edited since"
'

test_expect_success 'P4: likewise of what is edited in a workspace whose revert was killed' '
	restore clean && ws=$(git -C p ews path x) && git -C p ews revert x && interrupt_revert p x && echo edited since >>"${ws:?}/lines" && git -C p ews recover --all >out && kept_as lines "edited since" x &&
	test_grep ! "edited since" "${ws:?}/lines" && git -C p ews snapshot restore $snap x -- lines && test_grep "edited since" "${ws:?}/lines"
'

# edit_restore <script>: the record of the only restore in q's work trees.
edit_restore() {
	# shellcheck disable=SC2283 # it compares
	grep -l "\"verb\":	\"restore\"" "$HOME"/.superqode/working/q/undo/op-*.json >records && test_line_count = 1 records && sed -i "$1" "$(cat records)"
}

# killed_there: it came no farther than where its effect begins.
killed_there() {
	edit_restore "s/\"state\":	\"[a-z]*\"/\"state\":	\"planned\"/"
}

test_expect_success 'P1: what was interrupted in another work tree is named, and finished there alone' '
	test_repo q && git -C q worktree add -q ../q-lw -b lw && (cd q-lw && git rm -qr src && echo lw >b && git add b && git commit -qm lw) && snap=$(git -C q-lw ews snapshot create) && files_of q-lw >theirs &&
	echo later >q-lw/c && git -C q-lw ews snapshot restore --force $snap && killed_there && test_grep "\"version\":	2," "$(cat records)" && echo half >q-lw/b && echo mine >>q/run.sh && files_of q >mine &&
	test_expect_code 1 git -C q ews recover --all >out 2>err && test_must_be_empty out && test_grep "^warning: the restore in another work tree, .*/q-lw., was interrupted" err && test_expect_code 1 git -C q ews recover --all --json >out && test_json out ".not_recovered[0].session_id" "" && files_of q >got && test_cmp mine got && test_grep half q-lw/b &&
	{ git -C q ews doctor >out || :; } && test_grep "/q-lw., was interrupted" out && git -C q ews clean >out && files_of q >got && test_cmp mine got && test_grep half q-lw/b && start_ws q s && echo s >"${ws:?}/s" && git -C q ews apply s && git -C q ews undo && test_grep "\"version\":	1," "$(grep -l "\"verb\":	\"apply\"" "$HOME"/.superqode/working/q/undo/op-*.json)" && files_of q >got && test_cmp mine got &&
	for verb in undo "apply s" "snapshot restore --force $snap"; do test_expect_code 1 git -C q-lw ews $verb 2>err && test_grep "was interrupted" err && test_grep "^hint: run .git ews recover --all" err && test_grep half q-lw/b || return 1; done && git -C q-lw ews recover --all >out && test_grep "restore of the project was finished" out && files_of q-lw >got && test_cmp theirs got && git -C q ews recover --all 2>err && test_grep "nothing is interrupted" err && git -C q-lw ews undo
'

test_expect_success 'P8: likewise a session that works in place there' '
	test_repo beside && git -C beside worktree add -q ../beside-lw -b beside-lw && git -C beside-lw ews start --method in-place ip && echo half >>beside-lw/run.sh && git -C beside-lw ews revert ip && git -C beside ews recover --all 2>err && test_grep "nothing is interrupted" err && interrupt_revert beside ip &&
	test_expect_code 1 git -C beside ews recover --all >out 2>err && test_must_be_empty out && test_grep "^warning: session .ip. in another work tree, .*/beside-lw., was interrupted" err && test_grep ! "nothing is interrupted" err && test_expect_code 1 git -C beside ews recover --all --json >out && test_json out ".not_recovered[0].session_id" "" &&
	{ git -C beside ews doctor >out || :; } && test_grep "/beside-lw., was interrupted" out && git -C beside-lw ews recover --all >out && test_grep "session .ip.: the interrupted revert was finished" out && git -C beside ews recover --all 2>err && test_grep "nothing is interrupted" err && git -C beside-lw ews end ip && git -C beside-lw diff --exit-code
'

test_expect_success 'likewise where nobody has noted in which: who names the step has said it' '
	git -C q-lw ews undo --redo && killed_there && edit_restore "/\"\(project\|worktree\)\":/d" && files_of q >mine && echo half >q-lw/b &&
	for tree in q q-lw; do
		test_expect_code 1 git -C $tree ews recover --all 2>err && test_grep "the restore in one of the work trees was interrupted, .*git ews undo op-.* there" err && cp err said &&
			for verb in undo "undo --redo" "apply s" "snapshot restore --force $snap"; do test_expect_code 1 git -C $tree ews $verb 2>err && test_grep "^hint: in the work tree where it was: .git ews undo op-" err || { echo >&2 "$tree: $verb"; return 1; }; done && cp said err || return 1
	done && files_of q >got && test_cmp mine got && step=$(sed -n "s/.*git ews undo \(op-[^ ]*\). there.*/\1/p" err) &&
	test_expect_code 1 git -C q-lw ews undo --dry-run $step 2>err && test_grep "nobody has noted in which work tree" err && test_grep "^hint: where it was: .git ews undo $step., then" err && test_expect_code 1 git -C q-lw ews recover --all 2>err && test_grep "undo $step. there" err &&
	test_expect_code 1 git -C q-lw ews undo $step 2>err && test_grep "was interrupted" err && git -C q-lw ews recover --all >out && files_of q-lw >got && test_cmp theirs got && files_of q >got && test_cmp mine got
'

test_expect_success 'what was interrupted in a work tree that is gone stays as far as it came' '
	killed_there && git -C q worktree remove --force ../q-lw && git -C q ews recover --all >out && test_grep "the interrupted restore in .*/q-lw. stays as far as it came" out && files_of q >got && test_cmp mine got && git -C q ews recover --all >out 2>err && test_grep "nothing is interrupted" err
'

# All of it came, which settles it; each undo takes one of the two back, and nothing is interrupted any more.
decided() {
	# shellcheck disable=SC2283 # it compares
	test "$(cat d/result)" = kept && git -C d ews pending list >out && test_must_be_empty out && git -C d ews recover --all 2>err && test_grep "nothing is interrupted" err && git -C d ews undo && git -C d ews pending list >out && test_line_count = 1 out && git -C d ews recover --all 2>err && test_grep "nothing is interrupted" err && git -C d ews undo && test_path_is_missing d/result
}

test_expect_success 'P4: a pending result whose apply recover finishes is pending no more, also where the verb was killed just before it settled that' '
	test_repo d && start_ws d pend && echo kept >"${ws:?}/result" && git -C d ews end --pending pend && for at in "/d/result$ 1" "openat.*locks/~project 2"; do
		test_expect_code 137 killat -c "${at% *}" -o log "${at##* }" git-ews -C d pending apply pend >out 2>err && git -C d ews pending list >out && test_line_count = 1 out && git -C d ews recover --all >out && test_grep "^.pend. is pending no more$" out && decided || return 1
	done
'

test_expect_success 'P4: but not one of which a part came, or that another result has the name of by then' '
	test_expect_code 137 killat -c "/d/result$" -o log 1 git-ews -C d pending apply pend -- result >out 2>err && git -C d ews recover --all >out && test_grep ! "pending" out && git -C d ews pending list >out && test_line_count = 1 out && git -C d ews undo &&
	test_expect_code 137 killat -c "/d/result$" -o log 1 git-ews -C d pending apply pend >out 2>err && git -C d update-ref refs/ews/pending/pend/result "$(git -C d rev-parse refs/ews/pending/pend/base)" && git -C d ews recover --all >out && test_grep ! "pending" out && git -C d show-ref -q refs/ews/pending/pend/result
'

test_done
