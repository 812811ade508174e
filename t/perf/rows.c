/*
 * Rows: see rows.h.
 *
 * What is deleted makes the files that are made next to it slow on ext4 for some minutes, so each run makes things under a new name and
 * nothing goes before all rows were measured; the rows that delete come last.
 *
 * SPDX-License-Identifier: MIT
 */
#include "rows.h"

#define SAME_TREES "diff -rq --no-dereference -x .git -x .superqode "
#define WORKTREE_ADD "git -C $B worktree add -q --detach $X/worktree-$N"
#define START "git -C $P ews start run-$N"
#define STARTED                                                                                              \
	"ws=$(git -C $P ews path run-$N) && test -z \"$(git -C \"$ws\" status --porcelain)\" && " SAME_TREES \
	"$T \"$ws\""
#define VERIFIED "ews revert --verify=full | grep -q 'Status: Verified'"
#define START_WHOLE "git -C \"$(git -C $P ews path run-$N)\" " VERIFIED " && git -C $P $FSCK"
/* One that has been looked at, as it has after a while of work. */
#define WITH_A_WORKSPACE                                                                                                 \
	"{ git -C $P ews path w || git -C $P ews start w; } && git -C $W status --porcelain && git -C $W ews revert && " \
	"git -C $W ews snapshot create"
#define IN_PLACE \
	"git -C $B ews start --method in-place place && git -C $B status --porcelain && git -C $B ews diff --name-status place"
#define END_IN_PLACE "git -C $B ews end place"
#define BACK "git -C $W ews revert && git -C $B checkout -q . && git -C $B status --porcelain"
#define ADD_ALL                                                                                                   \
	"cp $B/.git/index $X/index-$N && cd $B && GIT_INDEX_FILE=$X/index-$N GIT_OBJECT_DIRECTORY=$X/objects-$N " \
	"GIT_ALTERNATE_OBJECT_DIRECTORIES=$B/.git/objects git add -A && GIT_INDEX_FILE=$X/index-$N "              \
	"GIT_OBJECT_DIRECTORY=$X/objects-$N GIT_ALTERNATE_OBJECT_DIRECTORIES=$B/.git/objects git write-tree"
#define SNAPSHOT "git -C $W ews snapshot create"
/* The snapshot's tree holds the bytes of the files: git reads all of them, and knows of no rule that would convert any. */
#define SNAPSHOT_HOLDS(dir, store)                                                                                   \
	"{ test -d $X/raw || git init -q $X/raw; } && cd $X/raw/.git && mkdir -p info && echo " store                \
	"/objects >objects/info/alternates && echo '* -text -eol -filter -ident -working-tree-encoding' "            \
	">info/attributes && export GIT_DIR=$X/raw/.git GIT_WORK_TREE=" dir " GIT_INDEX_FILE=$X/check-$N && cd " dir \
	" && git read-tree $(git --git-dir=" store " rev-parse refs/ews/snapshots/$(cat $OUT)) && "                  \
	"git ls-files | grep -q . && git update-index --really-refresh && test -z \"$(git ls-files -o --exclude-standard)\""
#define SNAPSHOT_TAKEN SNAPSHOT_HOLDS("$W", "$P/.git")
#define SNAPSHOT_WHOLE "git -C $W ews snapshot verify \"$(cat $OUT)\" && git -C $P $FSCK"
#define RESET_CLEAN "cd $B && git reset -q --hard && git clean -qfdx"
/* To look must not refresh the index: the next revert would have that to put back. */
#define REVERTED "export GIT_OPTIONAL_LOCKS=0; test -z \"$(git -C $W status --porcelain)\" && " SAME_TREES "$T $W"
#define CHANGED(n) "$CHANGE $W " n " $N"
#define THEIRS_CHANGED(n) "mkdir -p $X/objects-$N && $CHANGE $B " n " $N"

const struct row rows[] = {
	{
		.operation = "start, clean project",
		.baseline = "git worktree add",
		.wanted = { 2.6, 4.6 },
		.least = { 2.0, 3.0 },
		.ours = START,
		.check = STARTED,
		.verify = START_WHOLE,
		.theirs = WORKTREE_ADD,
		.is_heavy = true,
	},
	{
		.operation = "start, clean project",
		.baseline = "cp -a",
		.wanted = { 1.5, 1.2 },
		.least = { 1.1, 1.0 },
		.ours = START,
		.check = STARTED,
		.verify = START_WHOLE,
		.theirs = "cp -a $T $X/copy-$N",
		.is_heavy = true,
	},
	{
		.operation = "start, where reflink works",
		.baseline = "git worktree add",
		.wanted = { 5, 0 },
		.least = { 3, 0 },
		.prepare = "test -n \"$REFLINK\" || { echo \"$NO_REFLINK\" >$OUT; exit 77; }; mkdir -p $REFLINK/home && "
			   "git clone -q $P $REFLINK/ours && git clone -q $P $REFLINK/theirs && "
			   "git -C $REFLINK/ours status --porcelain && git -C $REFLINK/theirs status --porcelain",
		.ours = "git -C $REFLINK/ours ews --home $REFLINK/home start run-$N",
		.check = "ws=$(git -C $REFLINK/ours ews --home $REFLINK/home path run-$N) && " SAME_TREES "$T \"$ws\"",
		.verify = "export SUPERQODE_HOME=$REFLINK/home; git -C \"$(git -C $REFLINK/ours ews path run-$N)\" " VERIFIED
			  " && git -C $REFLINK/ours $FSCK",
		.theirs = "git -C $REFLINK/theirs worktree add -q --detach $REFLINK/worktree-$N",
		.is_heavy = true,
	},
	{
		.operation = "start, from objects alone",
		.baseline = "git worktree add <rev>",
		.wanted = { 2.2, 1.6 },
		.least = { 1.8, 1.3 },
		.ours = "git -C $R/ours ews start --base $OLD run-$N",
		.check = "ws=$(git -C $R/ours ews path run-$N) && test -z \"$(git -C \"$ws\" status --porcelain)\" && "
			 "test $(git -C \"$ws\" rev-parse HEAD) = $OLD",
		.verify = "git -C \"$(git -C $R/ours ews path run-$N)\" " VERIFIED " && git -C $R/ours $FSCK",
		.theirs = "git -C $R/theirs worktree add -q --detach $X/worktree-$N $OLD",
		.is_heavy = true,
	},
	{
		.operation = "snapshot, nothing changed",
		.baseline = "index, add -A, write-tree",
		.wanted = { 2.4, 3 },
		.least = { 2, 2 },
		.prepare = WITH_A_WORKSPACE,
		.ours = SNAPSHOT,
		.check = SNAPSHOT_TAKEN,
		.verify = SNAPSHOT_WHOLE,
		.before_theirs = "mkdir -p $X/objects-$N",
		.theirs = ADD_ALL,
	},
	{
		.operation = "snapshot, 10 changed",
		.baseline = "index, add -A, write-tree",
		.wanted = { 3.5, 3.3 },
		.least = { 2.5, 2 },
		.prepare = WITH_A_WORKSPACE,
		.before_ours = CHANGED("10"),
		.ours = SNAPSHOT,
		.check = SNAPSHOT_TAKEN,
		.verify = SNAPSHOT_WHOLE,
		.before_theirs = THEIRS_CHANGED("10"),
		.theirs = ADD_ALL,
		.cleanup = BACK,
	},
	{
		.operation = "snapshot, 1000 changed",
		.baseline = "index, add -A, write-tree",
		.wanted = { 4, 2.4 },
		.least = { 3, 2 },
		.prepare = WITH_A_WORKSPACE,
		.before_ours = CHANGED("1000"),
		.ours = SNAPSHOT,
		.check = SNAPSHOT_TAKEN,
		.verify = SNAPSHOT_WHOLE,
		.before_theirs = THEIRS_CHANGED("1000"),
		.theirs = ADD_ALL,
		.cleanup = BACK,
	},
	{
		.operation = "snapshot, all changed",
		.baseline = "index, add -A, write-tree",
		.wanted = { 3.2, 2.6 },
		.least = { 2.5, 2 },
		.prepare = WITH_A_WORKSPACE,
		.before_ours = CHANGED("0"),
		.ours = SNAPSHOT,
		.check = SNAPSHOT_TAKEN,
		.verify = SNAPSHOT_WHOLE,
		.before_theirs = THEIRS_CHANGED("0"),
		.theirs = ADD_ALL,
		.cleanup = BACK,
		.is_heavy = true,
	},
	{
		.operation = "first snapshot of a plain directory",
		.baseline = "git init, add -A, write-tree",
		.wanted = { 3, 2.5 },
		.least = { 2.5, 2 },
		.before_ours = "cp -a $T $X/plain-$N",
		.ours = "git -C $X/plain-$N ews snapshot create",
		.check = SNAPSHOT_HOLDS("$X/plain-$N", "$(echo $HOME/.superqode/store/plain-$N-*.git)"),
		.verify = "git -C $X/plain-$N ews snapshot verify \"$(cat $OUT)\" && "
			  "git --git-dir=$(echo $HOME/.superqode/store/plain-$N-*.git) $FSCK",
		.before_theirs = "cp -a $T $X/plain-$N",
		.theirs = "cd $X/plain-$N && git init -q && git add -A && git write-tree",
		.is_heavy = true,
	},
	{
		.operation = "diff --name-status, nothing changed",
		.baseline = "git status",
		.wanted = { 2.2, 2 },
		.least = { 1.8, 1.5 },
		.prepare = WITH_A_WORKSPACE,
		.ours = "git -C $W ews diff --name-status",
		.check = "test ! -s $OUT",
		.theirs = "git -C $B status --porcelain",
	},
	{
		.operation = "status, nothing changed",
		.baseline = "git status",
		.wanted = { 2.2, 2 },
		.least = { 1.8, 1.5 },
		.prepare = WITH_A_WORKSPACE,
		.ours = "git -C $W ews status w",
		.check = "grep -q 'Changes: *none' $OUT",
		.theirs = "git -C $B status --porcelain",
	},
	/* These look at one tree, as git does; those above at the project's as well, which a result may be stale against. */
	{
		.operation = "diff --name-status in place",
		.baseline = "git status",
		.wanted = { 2.2, 2 },
		.least = { 1.8, 1.5 },
		.prepare = IN_PLACE,
		.ours = "git -C $B ews diff --name-status",
		.check = "test ! -s $OUT",
		.theirs = "git -C $B status --porcelain",
		.cleanup = END_IN_PLACE,
	},
	{
		.operation = "status in place",
		.baseline = "git status",
		.wanted = { 2.2, 2 },
		.least = { 1.8, 1.5 },
		.prepare = IN_PLACE,
		.ours = "git -C $B ews status place",
		.check = "grep -q 'Changes: *none' $OUT",
		.theirs = "git -C $B status --porcelain",
		.cleanup = END_IN_PLACE,
	},
	{
		.operation = "diff, 1000 changed",
		.baseline = "git diff HEAD",
		.wanted = { 1.3, 1.2 },
		.least = { 1.1, 1.0 },
		.prepare = WITH_A_WORKSPACE " && $CHANGE $W 1000 diff && $CHANGE $B 1000 diff",
		.ours = "git -C $W ews diff",
		.check = "cp $OUT $X/patch && git -C $B apply --check -R $X/patch",
		.theirs = "git -C $B diff HEAD",
		.cleanup = BACK,
	},
	{
		.operation = "apply, 10 changed",
		.baseline = "git apply, git status",
		.prepare = WITH_A_WORKSPACE " && $CHANGE $W 10 apply && git -C $W diff HEAD >$X/ten",
		.before_ours = "git -C $P checkout -q . && git -C $P status --porcelain",
		.ours = "git -C $P ews apply w",
		.check = "git -C $P diff HEAD | cmp - $X/ten",
		.verify = "git -C $P ews undo && test -z \"$(git -C $P status --porcelain)\" && git -C $P $FSCK",
		.before_theirs = "git -C $B checkout -q . && git -C $B status --porcelain",
		.theirs = "git -C $B apply $X/ten && git -C $B status --porcelain",
		.cleanup = BACK " && git -C $P checkout -q . && git -C $P status --porcelain",
	},
	{
		.operation = "revert, nothing changed",
		.baseline = "reset --hard, clean -fdx",
		.wanted = { 4, 4 },
		.least = { 3, 3 },
		.prepare = WITH_A_WORKSPACE,
		.ours = "git -C $W ews revert",
		.check = REVERTED,
		.verify = "git -C $W " VERIFIED " && git -C $P $FSCK",
		.theirs = RESET_CLEAN,
	},
	{
		.operation = "revert, 1000 changed",
		.baseline = "reset --hard, clean -fdx",
		.wanted = { 2.3, 1.5 },
		.least = { 1.8, 1.2 },
		.prepare = WITH_A_WORKSPACE,
		.before_ours = CHANGED("1000"),
		.ours = "git -C $W ews revert",
		.check = REVERTED,
		.verify = "git -C $W " VERIFIED " && git -C $P $FSCK",
		.before_theirs = "$CHANGE $B 1000 $N",
		.theirs = RESET_CLEAN,
	},
	{
		.operation = "end, as the caller waits",
		.baseline = "git worktree remove",
		.wanted = { 20, 20 },
		.least = { 10, 10 },
		.before_ours = START " && sync",
		.ours = "git -C $P ews end run-$N",
		.check = "test ! -e $HOME/.superqode/working/project/qe/run-$N && ! git -C $P worktree list | grep run-$N && "
			 "step=$(ls -t $HOME/.superqode/working/project/trash | head -n 1) && " SAME_TREES
			 "$T $HOME/.superqode/working/project/trash/$step/workspace",
		.verify = "git -C $P $FSCK",
		.before_theirs = WORKTREE_ADD " && sync",
		.theirs = "git -C $B worktree remove --force $X/worktree-$N",
		.is_heavy = true,
	},
	{
		.operation = "clean --now after end",
		.baseline = "git worktree remove",
		.wanted = { 2.2, 2 },
		.least = { 1.6, 1.5 },
		.prepare = "git -C $P ews clean --now",
		.before_ours = START " && sync && git -C $P ews end run-$N",
		.ours = "git -C $P ews clean --now",
		.check = "test -z \"$(find $HOME/.superqode/working/project/trash -mindepth 2 -print -quit)\"",
		.verify = "git -C $P $FSCK",
		.before_theirs = WORKTREE_ADD " && sync",
		.theirs = "git -C $B worktree remove --force $X/worktree-$N",
		.is_heavy = true,
	},
};

const size_t n_rows = sizeof(rows) / sizeof(*rows);

/* $X/one and $X/many, each with a home of its own: a session, and $SESSIONS of them; ten snapshots of each beside the base. */
#define WITH_MANY                                                                                                 \
	"many() { mkdir -p $1/project $1/home && cd $1/project && git init -q && seq 20 | split -l 1 - file- && " \
	"git add . && git commit -q -m some; for i in $(seq $2); do git ews --home $1/home start s$i; "           \
	"for j in $(seq 10); do git ews --home $1/home snapshot create s$i; done; done; }; "                      \
	"test -d $X/many || { many $X/one 1 && many $X/many $SESSIONS; }"

const struct row flat_rows[2] = {
	{
		.operation = "status of the last session",
		.baseline = "of the first one",
		.prepare = WITH_MANY,
		.ours = "git -C $X/many/project ews --home $X/many/home status s$SESSIONS",
		.check = "grep -q 'Changes: *none' $OUT",
		.theirs = "git -C $X/one/project ews --home $X/one/home status s1",
	},
	{
		.operation = "list after the last snapshot",
		.baseline = "after the first ten",
		.prepare = WITH_MANY,
		.ours = "git -C $X/many/project ews --home $X/many/home snapshot list s$SESSIONS",
		.check = "test $(wc -l <$OUT) = 11",
		.theirs = "git -C $X/one/project ews --home $X/one/home snapshot list s1",
	},
};

/* Many threads must not cost what is small more than they gain: the same commands, where one processor may be used. */
#define WITH_A_SMALL_ONE                                                                                                             \
	"test -d $X/small || { mkdir -p $X/small/home $X/small/project && $MAKE $X/small/project 200 660 && cd $X/small/project && " \
	"git init -q && git add . && git commit -q -m small && git ews --home $X/small/home start w; }"
#define SMALL(verb) "git -C $X/small/project ews --home $X/small/home " verb
#define ON_ALL(verb) "taskset 0xffffffff " SMALL(verb)
#define ON_ONE(verb) "taskset -c \"$ONE\" " SMALL(verb)
#define CHANGE_SMALL "$CHANGE \"$(" SMALL("path w") ")\" 20 $N"
#define SMALL_ROW(words, change, verb, is_right)                                                             \
	{                                                                                                    \
		.operation = "small tree, " words, .baseline = "on one processor", .wanted = { 1.0 },        \
		.least = { 0.95 }, .prepare = WITH_A_SMALL_ONE, .before_ours = change, .ours = ON_ALL(verb), \
		.check = is_right, .before_theirs = change, .theirs = ON_ONE(verb),                          \
	}

const struct row small_rows[4] = {
	SMALL_ROW("start", NULL, "start run-$N", "test -z \"$(git -C \"$(cat $OUT)\" status --porcelain)\""),
	SMALL_ROW("diff", CHANGE_SMALL, "diff w", "grep -q \"^+changed $N\" $OUT"),
	SMALL_ROW("snapshot", CHANGE_SMALL, "snapshot create w", SMALL("snapshot verify \"$(cat $OUT)\"")),
	SMALL_ROW("revert", CHANGE_SMALL, "revert w", "test -z \"$(" SMALL("diff --name-status w") ")\""),
};

const struct row changes_rows[3] = {
	{
		.operation = "snapshot",
		.baseline = "index, add -A, write-tree",
		.prepare = WITH_A_WORKSPACE,
		.before_ours = CHANGED("$CHANGES"),
		.ours = SNAPSHOT,
		.check = SNAPSHOT_TAKEN,
		.verify = SNAPSHOT_WHOLE,
		.before_theirs = THEIRS_CHANGED("$CHANGES"),
		.theirs = ADD_ALL,
		.cleanup = BACK,
	},
	{
		.operation = "diff",
		.baseline = "git diff HEAD",
		.prepare = WITH_A_WORKSPACE " && $CHANGE $W $CHANGES diff && $CHANGE $B $CHANGES diff",
		.ours = "git -C $W ews diff",
		.theirs = "git -C $B diff HEAD",
		.cleanup = BACK,
	},
	{
		.operation = "revert",
		.baseline = "reset --hard, clean -fdx",
		.prepare = WITH_A_WORKSPACE,
		.before_ours = CHANGED("$CHANGES"),
		.ours = "git -C $W ews revert",
		.check = REVERTED,
		.verify = "git -C $W " VERIFIED " && git -C $P $FSCK",
		.before_theirs = "$CHANGE $B $CHANGES $N",
		.theirs = RESET_CLEAN,
	},
};
