/*
 * Method worktree: a linked worktree that is whole or not there.
 *
 * The entry that git keeps of a linked worktree is written complete beside
 * (`<common>/ews/<id>`), synced, and renamed into `<common>/worktrees/`; it
 * leaves by a rename the other way, so that undo can bring it back to the byte.
 * The format is that of gitrepository-layout(5).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_METHOD_WORKTREE_H
#define EWS_WORK_METHOD_WORKTREE_H

#include "base/strv.h"
#include "store/gitstate.h"

struct ews_worktree {
	int common_fd;
	const char *common_dir;
	const char *id;
	const char *workspace; /* absolute and real */
};

/* The text of the workspace's ".git" file; the caller frees it. */
char *ews_worktree_gitfile(const struct ews_worktree *wt);

/*
 * Write the entry beside, with `state`. `project_git_fd` is the project's git
 * directory: its sparse patterns come along. Returns a
 * descriptor of the entry's directory.
 */
int ews_worktree_prepare(const struct ews_worktree *wt, const struct ews_gitstate *state, int project_git_fd);

/* Rename it in. Fails with EWS_EEXISTS when git has a worktree of that name. */
int ews_worktree_publish(const struct ews_worktree *wt);

/* Rename it out, to be kept for undo; missing is done. */
int ews_worktree_withdraw(const struct ews_worktree *wt);

/* Bring back what ews_worktree_withdraw() took. */
int ews_worktree_restore(const struct ews_worktree *wt);

/* Remove the kept or unfinished entry; missing is done. */
int ews_worktree_discard(const struct ews_worktree *wt);

/*
 * Make the links between workspace and entry what we wrote, and the entry anew with `state` when it
 * is gone. What stands in the place of the workspace's ".git" and is no file is an error that names it.
 */
int ews_worktree_repair(const struct ews_worktree *wt, int workspace_fd, const struct ews_gitstate *state,
			int project_git_fd);

/* A directory beside the entries where a step keeps what it takes out of one; `make` makes it. Returns a descriptor. */
int ews_worktree_open_kept(const struct ews_worktree *wt, const char *name, bool make);

/* Is there an entry of that name, ours or another's? */
bool ews_worktree_is_there(int common_fd, const char *id);

/* Is an entry of that name kept beside, or being written there? */
bool ews_worktree_is_kept(int common_fd, const char *id);

/* Does the entry (or the one beside) lead to this workspace? One that is not whole yet does. */
bool ews_worktree_is_ours(const struct ews_worktree *wt);
bool ews_worktree_is_kept_ours(const struct ews_worktree *wt);

/* What of the links between workspace and entry is not as we wrote it. */
int ews_worktree_tampered(struct ews_strv *out, const struct ews_worktree *wt, int workspace_fd);

#endif
