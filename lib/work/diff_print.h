/*
 * Diffs printed by git, over two trees in a neutral place: what the rooms of work/diff share. `ews_diff_print` (work/diff.h)
 * is here, too.
 *
 * A patch of many files is printed by two gits at once. Between the two trees stands a third, which is the one for the paths
 * up to a point and the other from there on: each git compares one of the two with it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_DIFF_PRINT_H
#define EWS_WORK_DIFF_PRINT_H

#include "store/git.h"
#include "store/repo.h"

struct ews_diff;

/*
 * git apply doesn't see that a link gives way to a directory where the link is renamed: then no line says what it was,
 * and what comes into the directory is refused as beyond a link.
 */
bool ews_diff_must_not_rename(const struct ews_diff *diff);

/* Have git compare the two trees. Returns its exit status. */
int ews_diff_git(const struct ews_diff *diff, struct ews_repo *repo, char *const *args, char *const *paths,
		 struct ews_git_opts *opts);

#endif
