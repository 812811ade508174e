/*
 * Remains: what git still has of a workspace that is gone.
 *
 * Whoever removes a workspace by hand leaves its worktree entry. HEAD, reflog and index in there name commits and
 * staged content that nothing else may name: they would go with the entry. So they would where somebody commits or stages while
 * a session ends, after its state was kept: what is in the entry once that is taken out, and git finds it no more, is the last of it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_REMAINS_H
#define EWS_WORK_REMAINS_H

#include "work/remains_work.h"
#include "work/session.h"
#include "work/snapshot.h"

struct ews_remains {
	char *snapshot; /* NULL of a dry run */
	bool has_no_git; /* git's entry of it, or the repository that it was, is gone as well */
	enum ews_remains_work work;
	struct ews_strv unfiltered; /* "<path>\t<filter>": what was committed and is in it as git stores it */
};

#define EWS_REMAINS_INIT { NULL, false, EWS_REMAINS_NO_WORK, EWS_STRV_INIT }

void ews_remains_release(struct ews_remains *remains);
EWS_CLEANUP_DEFINE(remains, struct ews_remains, ews_remains_release)

/*
 * Keep them as a snapshot in trash, with the base's files and what was committed to these (none when the base is gone, too). Returns 1
 * when there was something that the base does not lead to, or that may not be read, which goes to `closed` (NULL: that fails), as does
 * what can't be done to the files.
 */
int ews_remains_keep(struct ews_remains *out, struct ews_strv *closed, struct ews_session *session, bool dry_run);

/*
 * While the session ends, and git's entry of the workspace has been taken out: did HEAD, reflog or index change since the snapshot `since`
 * was kept? Returns 1 or 0; fails with EWS_ENOTFOUND where there was no entry.
 */
int ews_remains_are_late(const struct ews_session *session, const struct ews_snapshot *since);
/* Keep that as a snapshot in trash, with the files that `since` has. */
int ews_remains_keep_late(struct ews_snapshot *out, struct ews_session *session, const struct ews_snapshot *since);

#endif
