/*
 * Methods: how a workspace is linked to its store, and what of that an agent may have bent.
 *
 * A method knows a place, plain values, and never a session. The workspace's
 * directory itself is made, filled and taken away by whoever calls; a method looks
 * after what git needs beside the files.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_METHOD_H
#define EWS_WORK_METHOD_H

#include "base/strv.h"
#include "store/gitstate.h"
#include "store/odb.h"

#define EWS_METHOD_ENTRY "worktree entry"
#define EWS_METHOD_CONFIG ".git/config"
#define EWS_METHOD_BESIDE "ews" /* in the store's git directory: what was taken out of git's sight */

struct ews_place {
	const char *id;
	const char *workspace; /* absolute and real */
	const char *home;
	int common_fd; /* the store's git directory */
	const char *common_dir;
	int git_fd; /* the project's own git directory; of a plain directory the store */
	struct ews_odb *odb;
	bool copies_objects; /* an independent copy has all objects itself and borrows none */
	bool is_plain; /* the project is no git repository: a workspace of it has no git directory */
};

struct ews_method {
	const char *name; /* in state.json and on the command line */
	const char *json_name; /* the seeds' word */
	bool is_project; /* the workspace is the project itself: nothing is made, and nothing taken away */
	bool owns_objects; /* the workspace's git directory has objects that the store may lack */

	/* Fail with EWS_EEXISTS when `place->id` is taken. */
	int (*check_free)(const struct ews_place *place);
	/* Write what links workspace and store, and `state`; git sees nothing of it yet where others could. */
	int (*prepare)(const struct ews_place *place, int workspace_fd, const struct ews_gitstate *state);
	/* Make it true. */
	int (*publish)(const struct ews_place *place);
	/* Take it out, to be kept for undo, and bring that back; each is harmless when already done. */
	int (*withdraw)(const struct ews_place *place);
	int (*restore)(const struct ews_place *place);
	/* Take back what a start that failed has prepared or published, if it is its own. */
	int (*take_back)(const struct ews_place *place);
	/* The workspace's own git directory. Returns a descriptor; EWS_ENOTFOUND when it has none. */
	int (*open_git)(const struct ews_place *place, int workspace_fd);
	/* Name what is not as we wrote it; EWS_METHOD_ENTRY alone where git has no entry of the worktree at all, EWS_METHOD_CONFIG where git can't read a copy's repository by it. */
	int (*tampered)(struct ews_strv *out, const struct ews_place *place, int workspace_fd);
	/* Write that anew, with `state` where all of it is gone; a ".git" that is not ours was moved away before. */
	int (*repair)(const struct ews_place *place, int workspace_fd, const struct ews_gitstate *state);
	/*
	 * The store was at `was` when it wrote into the workspace, and is where `place` says now: what names it there, and is as
	 * it was written, is written anew. NULL: nothing names it.
	 */
	int (*follow)(const struct ews_place *place, int workspace_fd, const char *was);
	/* A directory on the git directory's file system where a step keeps what it takes out of that. Returns a descriptor. */
	int (*open_kept)(const struct ews_place *place, const char *name, bool make);
};

extern const struct ews_method ews_method_worktree;
extern const struct ews_method ews_method_snapshot;
extern const struct ews_method ews_method_in_place;

/* The method that `name` means, in our words or the seeds' ("git-worktree"); NULL: none. */
const struct ews_method *ews_method_find(const char *name);

/* What a method puts where it has nothing to do. */
int ews_method_nothing(const struct ews_place *place);

/* The directory `name` in the store's own place for entries on their way in or out. Returns a descriptor. */
int ews_method_open_beside(const struct ews_place *place, const char *name, bool make);

#endif
