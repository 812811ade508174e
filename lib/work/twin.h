/*
 * Twin: what a new workspace shall hold, chosen from the project and a commit.
 *
 * By default it is the project as it stands. With a base revision, or with parts
 * of the uncommitted work left out, it is put together path by path: a tracked path
 * comes from the project where its uncommitted change is wanted, else from the
 * commit.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_TWIN_H
#define EWS_WORK_TWIN_H

#include "base/progress_fn.h"
#include "work/content.h"

struct ews_twin_opts {
	const char *base; /* a revision, or NULL: the project's HEAD */
	bool uncommitted; /* the changes of tracked files come along */
	bool untracked; /* so do files that git doesn't track */
	bool ignored; /* what is ignored will be wanted, so it is looked for, whatever the rest says */
	bool partial; /* what is over a limit is left out, and doesn't fail */
	bool skip_nested; /* record no submodules */
	const char *const *only; /* NULL: all uncommitted changes */
	const struct ews_strv *specs; /* pathspecs, as from ews_pathspec_from_top(), in place of `only` */
	const struct ews_strv *words; /* how the user wrote these */
	int64_t *epoch; /* NULL, or where the project's is to be said: that of the very look that is taken */
	ews_progress_fn progress;
	void *payload;
};

struct ews_twin {
	struct ews_content content; /* entries with the project's stat data where they come from it; git: HEAD and a merge's files */
	struct ews_index index; /* stat data of no file yet */
	struct ews_oid head; /* the commit that HEAD of the workspace stands at */
	bool is_unborn; /* `head` is an empty commit of ours */
	bool is_composed; /* it is not the project as it stands */
	char *branch; /* the project's, or "" */
	struct ews_strv notes; /* what was not carried over, sentences */
};

#define EWS_TWIN_INIT { .content = EWS_CONTENT_INIT, .index = EWS_INDEX_INIT, .notes = EWS_STRV_INIT }

/*
 * Choose it. New objects go into `batch`. A file of HEAD's goes where one that comes along can't stand with it. Fails with
 * EWS_ECONFLICT when an uncommitted change touches a path that `base` has otherwise than HEAD, or a file of the commit is in
 * the way that isn't to go, naming it; with EWS_ENOTFOUND when one of `only` or `specs` means nothing
 * that is there or in a commit, with EWS_EUSAGE when it is no pathspec.
 */
int ews_twin_choose(struct ews_twin *out, struct ews_repo *repo, struct ews_batch *batch,
		    const struct ews_twin_opts *opts);

/*
 * A state of the project, or of another workspace, goes into a workspace: its index says of what was left out of it, as that of a twin
 * does, that the work tree need not have it. Fails where the index can't be parsed, and changes nothing then.
 */
int ews_twin_mark_left_out(struct ews_content *content, const struct ews_repo *repo);

/* Where the project stands: `head`, or `is_unborn`, and `branch`; for who needs no twin. */
int ews_twin_find_head(struct ews_twin *twin, struct ews_repo *repo);

/*
 * Note which index entries are clean; to be called while the entries still have the project's stat data. The index says its
 * paths by theirs from then on, so that the list must live as long. `repo` is asked which files have a filter; NULL: none counts as such.
 */
int ews_twin_mark_clean(struct ews_twin *twin, const struct ews_repo *repo);

/* The bytes of the index, with the stat data of the files that now stand in the workspace (content's entries). */
void ews_twin_format_index(struct ews_buf *out, struct ews_twin *twin, enum ews_hash_algo algo, gid_t gid);

void ews_twin_release(struct ews_twin *twin);
EWS_CLEANUP_DEFINE(twin, struct ews_twin, ews_twin_release)

#endif
