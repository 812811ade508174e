/*
 * Snapshots: a workspace's files as a git tree that outlives the workspace.
 *
 * A snapshot is a commit whose tree is the directory and whose parents pin
 * HEAD and the manifest. One ref makes it exist:
 *
 *     refs/ews/sessions/<session-id>    a session's base
 *     refs/ews/snapshots/<snapshot-id>  every other one
 *     refs/ews/trash/<snapshot-id>      what a verb would have destroyed
 *
 *     commit -> tree
 *            -> HEAD's commit
 *            -> manifest commit -> manifest (store/manifest_odb), index, staged/<stage>/.., trees/<id>, state/.., left/..,
 *               root-mode, extra/<id>
 *
 * Until that ref is there nothing has happened; objects that a crash leaves
 * unreachable are left to git gc.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_SNAPSHOT_H
#define EWS_WORK_SNAPSHOT_H

#include "base/progress_fn.h"
#include "base/sync.h"
#include "work/content.h"
#include "work/session.h"

#define EWS_REF_SNAPSHOTS "refs/ews/snapshots/"
#define EWS_REF_PENDING "refs/ews/pending/" /* work/pending */

/* What is known of a snapshot from its commit alone. */
struct ews_snapshot {
	char *id;
	char *ref; /* the ref that holds it; "" for a plain revision */
	char *session; /* "" for the project's own */
	char *worktree; /* of those: what git calls the linked worktree that it was, escaped; "" for the main one */
	char *worktree_mark; /* what tells that one from one that is made anew under its name (ews_linked_mark()); "": nobody noted it */
	char *method; /* "worktree", ... */
	char *subject;
	char *parent; /* snapshot id, or "" */
	char *hash; /* "sha256:..."; "" for a plain revision */
	struct ews_oid commit, tree;
	struct ews_oid manifest; /* the manifest commit; none for a plain revision */
	struct ews_oid head; /* HEAD's commit; none when unborn or damaged */
	char *branch; /* in the project: the ref that HEAD leads to, by symbolic ones; "" or NULL when to none, or in older ones */
	bool is_head_damaged;
	bool is_rewritten; /* its commit was, by somebody; tree and manifest are those that it was made of (work/snapshot_rewritten) */
	int64_t created_s;
	uint32_t created_ns; /* tells those of one second apart */
	uint64_t files, bytes;
	uint64_t traced; /* how many paths that are ignored in it states before it have, so that it says when they go */
	uint64_t unseen; /* how many paths are there that nobody could look at, so that its tree has not what they are */
	/* Of one that was just kept: the ref of an earlier one that it shares with, and what that was at; NULL: there is none. */
	char *shares_with;
	struct ews_oid shared;
};

#define EWS_SNAPSHOT_INIT { 0 }

struct ews_snapshots {
	struct ews_snapshot *items;
	size_t n, cap;
	struct ews_strv damaged; /* "<ref>\t<why>", the ref escaped: whose commits can't be read */
};

#define EWS_SNAPSHOTS_INIT { NULL, 0, 0, EWS_STRV_INIT }

/*
 * Find the snapshot that `name` means: a snapshot id or a prefix of one alone,
 * a session id or prefix (its base), else a git revision (`HEAD`, `refs/...`
 * and `<rev>^{commit}` are always git's). `now` is not for here. Fails with EWS_ENOTFOUND.
 */
int ews_snapshot_find(struct ews_snapshot *out, struct ews_repo *repo, const char *name);
int ews_snapshot_base(struct ews_snapshot *out, const struct ews_session *session);

/* Is it one of those that a verb would have destroyed, or that were dropped? Of an empty one it is not known. */
bool ews_snapshot_is_in_trash(const struct ews_snapshot *snapshot);

/* Is it of the very work tree that `repo` is seen from? Those of a session are not: one is of all work trees of the repository. */
bool ews_snapshot_is_of_project(const struct ews_snapshot *snapshot, const struct ews_repo *repo);

/* The one that a ref holds. Fails when its commit can't be read. */
int ews_snapshot_read(struct ews_snapshot *out, struct ews_repo *repo, const struct ews_ref *ref);

enum ews_snapshot_list_flags {
	EWS_SNAPSHOTS_OF_ALL = 1, /* of each session and of the project, whatever is named */
	EWS_SNAPSHOTS_IN_TRASH = 2, /* those there, and no others */
};

/* All of a session (NULL: of the project itself, this work tree), oldest first. */
int ews_snapshot_list(struct ews_snapshots *out, struct ews_repo *repo, const char *session, unsigned flags);

/* The content that `snapshot` recorded. */
int ews_snapshot_content(struct ews_content *out, struct ews_repo *repo, const struct ews_snapshot *snapshot);

/* Git's state alone, as it recorded that. */
int ews_snapshot_git(struct ews_gitstate *out, struct ews_repo *repo, const struct ews_snapshot *snapshot);

/* The content of `snapshot`, which is read into `out` once it is wanted. */
struct ews_snapshot_reading {
	struct ews_content *out;
	struct ews_repo *repo;
	const struct ews_snapshot *snapshot;
	bool without_index; /* the bytes of git's index are not asked for */
	bool is_done;
};
/* Give `out` the hash, which is known already; where it isn't, all is read at once. */
int ews_snapshot_reading_begin(struct ews_snapshot_reading *reading);
/* Read it, unless that is done. `payload` is the reading. */
int ews_snapshot_reading_finish(void *payload);
/* The same, from the store alone, whatever lies in a cache: for whoever asks whether the store still has it. */
int ews_snapshot_stored_content(struct ews_content *out, struct ews_repo *repo, const struct ews_snapshot *snapshot);

/* What a new snapshot says of itself. */
struct ews_snapshot_opts {
	const char *id; /* NULL: a new one */
	const struct ews_session *session; /* NULL: the project's own */
	const char *subject; /* NULL: a standard sentence */
	const char *parent; /* snapshot id or NULL */
	const char *prefix; /* which refs: EWS_REF_SNAPSHOTS, _TRASH or _SESSIONS */
	uint64_t traced; /* as in the snapshot */
	bool is_as_found; /* nothing was done with the entries since they were looked at: what they were kept as then (work/kept) is used again */
	struct ews_strv *closed; /* gets what of the session's own git may not be read (work/history), and is not held then; NULL: that fails */
	const struct ews_snapshot *like; /* one that is kept already and may have much of it: its trees are used again; NULL: none */
	struct ews_content *like_content; /* NULL: not at hand */
	bool like_goes; /* its list may be let go of, where that is long, once the trees are written */
	int (*read_like)(void *payload); /* NULL, or what reads it, once it is wanted, which mostly it is not */
	void *like_payload;
	bool formats_cache; /* the stat cache of `content` is going to be saved: let it be formatted while others wait */
	/*
	 * NULL, or where the ref is left to: the thread's from then on, and the caller's to finish (ews_odb_finish_group), and to
	 * see then that it holds all (ews_snapshot_confirm).
	 */
	struct ews_sync_group *group;
};

/*
 * Keep `content` (filled through `batch`) as a snapshot: trees, manifest, commit,
 * the batch made durable, then the ref. On failure there is none.
 */
int ews_snapshot_keep(struct ews_snapshot *out, struct ews_repo *repo, struct ews_batch *batch,
		      struct ews_content *content, const struct ews_snapshot_opts *opts);

/*
 * From when the earlier one was found, or what was found was taken for kept by it, until `snapshot` has its ref one of the two
 * has to hold what they share: else a gc may have taken it. Fails with EWS_ESTALE when none did, and drops `snapshot` then.
 * So it does when commit, tree or manifest are not there: git's own gc, told to prune what is new, waits for nobody.
 */
int ews_snapshot_confirm(struct ews_repo *repo, const struct ews_snapshot *snapshot);

/*
 * Leave word that `content`, which has the very hash of the snapshot `commit` that `ref` holds, was kept as that, as far as a
 * tree can tell: of times, of what was left out and of git's index nothing is said. What is known already stays.
 */
void ews_snapshot_note(struct ews_content *content, const struct ews_oid *commit, const char *ref);

/*
 * `before` was just kept of `from`, and the entries of `target`, whose content is `to`, are about to be put in their place. Give
 * the memo of these (ews_content_set_memo), which says of their pins what is known of the ones before. As above, of times, owners and
 * names of one file, which need not be those of the target, it says nothing. Nothing is given where git's state is not the same in both.
 */
void ews_snapshot_foresee(struct ews_buf *out, struct ews_repo *repo, const struct ews_snapshot *before,
			  const struct ews_content *from, const struct ews_snapshot *target,
			  const struct ews_content *to);

/*
 * Take one of `session`'s workspace (NULL: the project), named in its lineage.
 * Returns 1 when one was taken; 0 with `if_changed` when nothing differs from the newest.
 */
struct ews_snapshot_create_opts {
	const char *subject;
	bool with_ignored;
	bool if_changed;
	bool partial; /* leave out what is over a limit */
	const char *const *only;
	ews_progress_fn progress;
	void *payload;
};
int ews_snapshot_create(struct ews_snapshot *out, struct ews_skips *skips, struct ews_repo *repo,
			struct ews_session *session, const struct ews_snapshot_create_opts *opts);

/* Is it what the workspace of a session that has not ended began with (work/chain)? Returns 1 or 0; fails where that can't be told just now. */
int ews_snapshot_is_begun_with(struct ews_repo *repo, const struct ews_snapshot *snapshot);

/*
 * Move snapshots to trash (undo brings them back). Fails with EWS_EBUSY on a session's base and on what a session began with,
 * with EWS_EUSAGE on another ref that is no snapshot's.
 */
int ews_snapshot_drop(struct ews_repo *repo, const struct ews_snapshot *const *snapshots, size_t n);

void ews_snapshot_copy(struct ews_snapshot *out, const struct ews_snapshot *from);
void ews_snapshot_release(struct ews_snapshot *snapshot);
/* The oldest first. */
void ews_snapshots_sort(struct ews_snapshots *list);
void ews_snapshots_release(struct ews_snapshots *list);
EWS_CLEANUP_DEFINE(snapshot, struct ews_snapshot, ews_snapshot_release)
EWS_CLEANUP_DEFINE(snapshots, struct ews_snapshots, ews_snapshots_release)

#endif
