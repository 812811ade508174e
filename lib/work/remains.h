/*
 * Remains: what git still has of a workspace that is gone.
 *
 * Whoever removes a workspace by hand leaves its worktree entry. HEAD, reflog and index in there name commits and
 * staged content that nothing else may name: they would go with the entry.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_REMAINS_H
#define EWS_WORK_REMAINS_H

#include "work/session.h"

/*
 * Keep them as a snapshot in trash, with the base's files (none when the base is gone, too). Returns 1 when there was
 * something that the base does not lead to, or that may not be read, which goes to `closed` (NULL: that fails); `*kept` is the snapshot's id then (the caller frees it), or NULL of a dry run.
 */
int ews_remains_keep(char **kept, struct ews_strv *closed, struct ews_session *session, bool dry_run);

#endif
