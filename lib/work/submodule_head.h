/*
 * Where submodules stand: the commits of the repositories in their directories.
 *
 * That is what git takes for a submodule's content (gitsubmodules(7)). HEAD is read as a file, and the ref that it names:
 * whoever works in a workspace may write to both, so that no library gets to see such a repository and nothing in it is run.
 * One that says nothing in these files (a reftable) counts as where it is known to stand; where they can't be read just now each of
 * these fails, for it may have gone on.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_SUBMODULE_HEAD_H
#define EWS_WORK_SUBMODULE_HEAD_H

#include <stdbool.h>
#include <time.h>

#include "base/strv.h"
#include "store/odb.h"
#include "store/scan.h"
#include "work/session.h"

/* Is there a commit at which the repository in the directory `path` stands? Then that is `out`, and 1 is returned; else 0. */
int ews_submodule_head_read(struct ews_oid *out, struct ews_odb *odb, int root_fd, const char *path);

/* Give each submodule of the project at `root_fd` the commit at which it stands, as 'git add' does; git's index may have an older one. */
int ews_submodule_heads_take(struct ews_scan *scan, struct ews_odb *odb, int root_fd);

/* Does each stand at the commit that its entry has? 1 or 0. No directory's times tell. */
int ews_submodule_heads_hold(const struct ews_entries *entries, const struct ews_skips *skips, struct ews_odb *odb,
			     int root_fd);

/*
 * Keep in the directory of `session`, which works in place, where the repositories stand that its base left out, or of which it has
 * the files alone: no entry of it says that.
 */
int ews_submodule_heads_keep(const struct ews_session *session, const struct ews_skips *skips);

/*
 * Where a repository in the workspace at `root_fd` has gone on from the commit that its entry has, which is the base's, or, in
 * place, that was kept, that becomes the reason for which it was left out (EWS_SKIP_REPOSITORY_MOVED).
 */
int ews_submodule_heads_name_moved(struct ews_scan *scan, const struct ews_session *session, int root_fd);

/* Add "<path>\t<commit>" for each of `skips` that has gone on so from what was kept, which is that commit. */
void ews_submodule_heads_list_moved(struct ews_strv *out, const struct ews_session *session,
				    const struct ews_skips *skips);

/*
 * Was anything in the directory `path`, which is a repository's, written after that time, but for what lies in a git directory? By the
 * times of change of all that is there, which nobody can set. Returns 1 or 0; what may not be looked at was not.
 */
int ews_submodule_is_written(int root_fd, const char *path, const struct timespec *since);

#endif
