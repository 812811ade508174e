/*
 * Leaving: what an end that did not come about has left outside of its session.
 *
 *     sessions/<id>/leaving     the branch that was asked for, or nothing
 *
 * Artifacts and branch are stored before an end begins, so that one which is killed, or fails, until then leaves some of them, and the
 * session goes on. This file is there meanwhile. The next end makes of them what they should be; until then nobody is to take them for
 * what the session came to, so recover names them. None is taken away: who has seen it may be at work with it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_LEAVING_H
#define EWS_WORK_LEAVING_H

#include "base/strv.h"
#include "store/repo.h"
#include "work/session.h"

/* Note that an end of the session, which is locked, stores its artifacts and `branch` (NULL: none). What can't be noted is left unnamed. */
void ews_leaving_note(const struct ews_session *session, const char *branch);

/* The end has begun, and comes to its end. */
void ews_leaving_forget(const struct ews_session *session);

/* Is there such a note of session `id`? */
bool ews_leaving_is_due(const struct ews_repo *repo, const char *id);

/* Add to `done`, a sentence each, what is there still of what an end of the session left, which is locked, and forget it. */
void ews_leaving_tell(struct ews_strv *done, struct ews_session *session);

/* The same of all sessions that nobody is at work on, and that nothing was interrupted in. */
int ews_leaving_tell_all(struct ews_strv *done, struct ews_repo *repo);

#endif
