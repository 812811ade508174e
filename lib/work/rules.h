/*
 * Rules: which names of a project or workspace are left out, and who says so.
 *
 *     ignore    git's users: core.excludesFile, info/exclude and each .gitignore; not what git tracks
 *     exclude   qe.workspace.exclude, as it was when the session started: even what git tracks, but not what the base has
 *     own       our own directories, and home; nobody can have it otherwise
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_RULES_H
#define EWS_WORK_RULES_H

#include "base/strv.h"
#include "store/ignore.h"
#include "store/repo.h"
#include "work/session.h"

#define EWS_SCRATCH ".ews_scratch" /* at the top: what an agent needs to work and nobody wants; work/scratch */

/*
 * The rules by which the repository's users ignore files: core.excludesFile, which may be a path from `top`, the top of the
 * project or workspace, and info/exclude.
 */
int ews_rules_ignore(struct ews_ignore **out, struct ews_repo *repo, const char *top);
/* The same with rules that are weaker than all of these. */
int ews_rules_ignore_after(struct ews_ignore **out, struct ews_repo *repo, const char *top, const char *weakest);
/* Append the text of them, the user's and the repository's. */
int ews_rules_ignore_text(struct ews_buf *user, struct ews_buf *info, struct ews_repo *repo, const char *top);

/*
 * Keep the text of them in the directory of `session`, which works in place: they lie where nothing of a base is. What can't be
 * read is not kept.
 */
int ews_rules_ignore_keep(const struct ews_session *session);
/* The rules as they were kept; of a session that an older version began, as they are now. */
int ews_rules_ignore_kept(struct ews_ignore **out, const struct ews_session *session);

/* Is the directory `path` of the project ignored, with nothing in it that git tracks? 1 or 0. */
int ews_rules_is_ignored(struct ews_repo *repo, const char *path);
/* Is the file `path`, which is there, and which git does not track? 1 or 0. */
int ews_rules_is_ignored_file(struct ews_repo *repo, const char *path);

/*
 * The rules for what is neither in a workspace nor looked at in one: those of `session`, which are its
 * project's when it started, or those that hold for the project now (NULL). `*out` stays NULL when there are none.
 */
int ews_rules_exclude(struct ews_ignore **out, struct ews_repo *repo, const struct ews_session *session);
/* Append the text of them. */
int ews_rules_exclude_text(struct ews_buf *out, struct ews_repo *repo, const struct ews_session *session);

/* Add what is never part of a twin or a snapshot of `root`, the project or a workspace: our own directories, and home when it lies inside. */
void ews_rules_own(struct ews_strv *out, const struct ews_repo *repo, const char *root);
/* The same of any directory. */
void ews_rules_own_of(struct ews_strv *out, const char *home, const char *root);

#endif
