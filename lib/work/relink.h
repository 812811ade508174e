/*
 * Relink: a workspace whose link to git was rewritten, or deleted, gets it again, and keeps its files.
 *
 * What stands in the link's place may be a repository that somebody made there: it goes to trash, in a step that undo takes back.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_RELINK_H
#define EWS_WORK_RELINK_H

#include "base/progress_fn.h"
#include "work/session.h"

/* Is the link of the living session `id` another than it was made? 1, 0, or an error. */
int ews_relink_is_due(struct ews_repo *repo, const char *id);

/*
 * Write it anew, where it is due, in a session that is locked; git's state is as it stands there, or, where it names what nobody has, as
 * it was seen last; where that would take HEAD back, and HEAD is sound, the index alone is made anew, of its commit. Adds a sentence to
 * `done`. Fails with EWS_ENOTVERIFIED when all is not as it should be then.
 */
int ews_relink(struct ews_strv *done, struct ews_session *session, ews_progress_fn progress, void *payload);

#endif
