/*
 * Staging: single paths into the project's index, and commits, by git itself, as its user would do it.
 *
 * Here the user has asked for what git does: it stands in the project, with the user's settings, filters and hooks.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_STAGE_H
#define EWS_WORK_STAGE_H

#include "store/repo.h"
#include "work/content.h"

/*
 * Fail with EWS_ECONFLICT unless the index has each of `paths` (sorted) as it stands in the project, which is `now`, or
 * neither has it, and unless all that would have to leave the index, so that they can be what `then` has there, is among them;
 * with `alone` when anything is staged at all, or a merge, a cherry-pick or a revert is under way. EWS_EBUSY while the index is locked.
 */
int ews_stage_check(struct ews_repo *repo, const struct ews_content *now, const struct ews_entries *then,
		    const struct ews_strv *paths, bool alone);

/*
 * Fail with EWS_EBUSY while the index is locked. Who has an editor open for a commit holds the lock for long: it is asked for
 * before anything is written.
 */
int ews_stage_refuse_locked(const struct ews_repo *repo);
/* Likewise while HEAD, or `branch` that it is on, is: no commit can be made then. */
int ews_stage_refuse_locked_branch(const struct ews_repo *repo, const char *branch);

/* Stage `paths` as they stand in the project now; those that are `gone` from it go from the index. */
int ews_stage_add(struct ews_repo *repo, const struct ews_strv *paths, const struct ews_strv *gone);

/* Let the index have at `paths` what the raw index in `then` has there; other entries stay. */
int ews_stage_restore(struct ews_repo *repo, const struct ews_gitstate *then, const struct ews_strv *paths);

/*
 * The entries of the raw index in `now` that would leave it with that, for what `then` has at the paths that `wants` is for lies below
 * them, or above; without those that it is for, sorted.
 */
int ews_stage_list_displaced(struct ews_strv *out, const struct ews_repo *repo, const struct ews_gitstate *now,
			     const struct ews_gitstate *then, bool (*wants)(const void *payload, const char *path),
			     const void *payload);

/*
 * Files that git had left out of the work tree, by the raw index in `then`, may have been there since, and then it forgets that. Let
 * it leave out again those that `wants` is for and that its index has as it had them then, where the sparse checkout is the one of
 * then: nothing is done where it was switched off, or other patterns hold.
 */
int ews_stage_leave_out(struct ews_repo *repo, const struct ews_gitstate *then,
			bool (*wants)(const void *payload, const char *path), const void *payload);

/*
 * The branch that HEAD is on, and its commit (none: unborn). The caller frees `*branch`. Fails with EWS_EUSAGE when HEAD is
 * detached.
 */
int ews_stage_branch(char **branch, struct ews_oid *commit, struct ews_repo *repo);

/*
 * A git that worked for us and was killed leaves locks of branches and objects that are not finished; when it staged or
 * committed (`with_index`) locks on index and HEAD as well. Those made since `since_s` go, unless another git is at work
 * in the project.
 */
void ews_stage_sweep(struct ews_repo *repo, int64_t since_s, bool with_index);

/*
 * A step of ours that was killed leaves the lock of the index in the workspace's own git directory `git_fd`: one that was made since
 * `since_s` goes, unless a git is at work in the workspace.
 */
void ews_stage_sweep_index(int git_fd, const char *workspace, int64_t since_s);

/* A commit that git makes for a step of ours, on the branch that HEAD is on. */
struct ews_stage_commit {
	const char *step_id; /* says whose it is in the reflog: that is how it is known again */
	const char *branch;
	struct ews_oid before; /* where the branch was; once the commit is known, what it stands on; none: nothing */
	struct ews_oid after; /* the commit; none: not made yet, or nobody can tell which it is */
};

/*
 * Commit what is staged, with the user's hooks. What they and git say goes to stderr. Others may commit at the same time: below
 * ours, or on top of it.
 */
int ews_stage_commit(struct ews_stage_commit *commit, struct ews_repo *repo, const char *message);

/*
 * Was the commit made whose maker may have been killed? Returns 1, and says which it is, or 0; EWS_ENOTFOUND when the
 * branch has moved since and no reflog tells.
 */
int ews_stage_find_commit(struct ews_stage_commit *commit, struct ews_repo *repo);

/* A commit of `tree` on `parent` (none: a first one), by the user, without hooks; no ref moves. */
int ews_stage_commit_tree(struct ews_oid *out, struct ews_repo *repo, const struct ews_oid *tree,
			  const struct ews_oid *parent, const char *message);

/* Fail with EWS_EUSAGE when git would not take `name` for a new branch. */
int ews_stage_check_branch(struct ews_repo *repo, const char *name);

#endif
