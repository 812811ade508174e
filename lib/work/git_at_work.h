/*
 * Git at work: does another git, none of ours, work in a repository just now? What lies there may be its own then, as a lock that it
 * is going to rename.
 *
 * It is known by its name, and by where it stands: in the project, in the repository, or in any work tree of that. One that
 * stands elsewhere was told by `--git-dir` or GIT_DIR (git(1)). Of processes that are not ours to look at nothing can be told.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_GIT_AT_WORK_H
#define EWS_WORK_GIT_AT_WORK_H

#include "store/repo.h"

/* Does one in `repo`, or does any program hold the lock on its index? Who can't be seen at this moment may be one. Leaves no error. */
bool ews_git_at_work(const struct ews_repo *repo);

/* The same of one that stands in the workspace at `workspace`. */
bool ews_git_at_work_in(const char *workspace);

#endif
