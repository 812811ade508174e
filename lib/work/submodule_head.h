/*
 * Where submodules stand: the commits of the repositories in their directories.
 *
 * That is what git takes for a submodule's content (gitsubmodules(7)). HEAD is read as a file, and the ref that it names:
 * whoever works in a workspace may write to both, so that no library gets to see such a repository and nothing in it is run.
 * One that says nothing in these files (a reftable, a linked worktree on a branch) counts as where it is known to stand.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_SUBMODULE_HEAD_H
#define EWS_WORK_SUBMODULE_HEAD_H

#include <stdbool.h>

#include "store/odb.h"
#include "store/scan.h"

/* Give each submodule of the project at `root_fd` the commit at which it stands, as 'git add' does; git's index may have an older one. */
void ews_submodule_heads_take(struct ews_scan *scan, struct ews_odb *odb, int root_fd);

/* Does each stand at the commit that its entry has? No directory's times tell. */
bool ews_submodule_heads_hold(const struct ews_entries *entries, const struct ews_skips *skips, struct ews_odb *odb,
			      int root_fd);

/*
 * Where a submodule of the workspace at `root_fd` has gone on from the commit that its entry has, which is the base's, that
 * becomes the reason for which it was left out (EWS_SKIP_REPOSITORY_MOVED).
 */
void ews_submodule_heads_name_moved(struct ews_scan *scan, struct ews_odb *odb, int root_fd);

#endif
