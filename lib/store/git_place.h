/*
 * Git's word on the place of a work tree: what core.bare and core.worktree say of a repository.
 *
 * Of all settings these two count where they are in the repository's own files alone: its config and, where that says so, the
 * config.worktree of a work tree. What those include, and what the user's and the system's files say, git passes by.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_GIT_PLACE_H
#define EWS_STORE_GIT_PLACE_H

#include <stdbool.h>

#include "base/cleanup.h"

struct ews_git_place_word {
	char *text; /* NULL: nothing is said */
	char *file; /* that says so last, absolute */
};

struct ews_git_place {
	struct ews_git_place_word bare, worktree;
	bool is_bare; /* the meaning of `bare` */
};

#define EWS_GIT_PLACE_INIT { { NULL, NULL }, { NULL, NULL }, false }

/*
 * Read what holds of the work tree with the git directory `git_dir`, of the repository `common_dir`: of the main one where these are
 * the same. Fails with EWS_ECONFIG where git could not make sense of it.
 */
int ews_git_place_read(struct ews_git_place *out, const char *git_dir, const char *common_dir);

/*
 * Has the repository `common_dir` no work tree of its own, by what `place` says of its main one? Where nothing is said it is to git what
 * it looks like: bare, unless it has the name of one that is in its work tree. One with an index may be reached by a gitfile.
 */
bool ews_git_place_is_bare(const struct ews_git_place *place, const char *common_dir);

/* Where `worktree` leads to, seen from `git_dir`, whether anything is there or not; "" to nowhere. The caller frees it. */
char *ews_git_place_path(const struct ews_git_place *place, const char *git_dir);

void ews_git_place_release(struct ews_git_place *place);
EWS_CLEANUP_DEFINE(git_place, struct ews_git_place, ews_git_place_release)

#endif
