/*
 * Who is at work on a session: its lock, its owner, and what somebody left unfinished.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_SESSION_LOCK_H
#define EWS_WORK_SESSION_LOCK_H

#include "work/session.h"

/* Take the session's lock for `verb`, if it is not held yet, and read its state anew; fails with EWS_EBUSY. It is released with the session. */
int ews_session_lock(struct ews_session *session, const char *verb);

/* The same, after waiting for it at most so long. */
int ews_session_lock_within(struct ews_session *session, const char *verb, unsigned wait_ms);

/* As ews_session_lock(), for who wants it whole: fails with EWS_EINTERRUPTED, too, unless the lock was held already. */
int ews_session_lock_settled(struct ews_session *session, const char *verb);

/* Let go of the lock before the session is released. */
void ews_session_unlock(struct ews_session *session);

/* The name of the lock that the owner of session `id` holds, and no session has; the caller frees it. */
char *ews_session_owner_lock(const char *id);

/* The id in such a name, borrowed from it; NULL: it is none. */
const char *ews_session_owner_lock_id(const char *name);

/*
 * Be the session's owner, for the time that a command runs in it: whoever dies as an owner leaves it
 * interrupted. The state says so once it is saved. Fails with EWS_EBUSY while it has another living owner.
 */
int ews_session_own(struct ews_session *session, const char *verb);

/*
 * What the owner, should a signal make it another program (base/interrupt), is to know then: the line of this word in the file of his lock.
 */
#define EWS_OWNER_MADE "made" /* the session, "for" the command that it is to run */
#define EWS_OWNER_LOG "log" /* the name of the log (work/output_log) that takes what that prints */
#define EWS_OWNER_KEPT "kept" /* a directory in the session's with copies that only that command's end needs */
#define EWS_OWNER_KEPT_PREFIX "before-" /* how its name begins; a number follows */

/* Be its owner no longer, and save that. The session must be locked. */
int ews_session_disown(struct ews_session *session);

/* Is an owner recorded, and does he live, or not any more? */
bool ews_session_has_living_owner(const struct ews_session *session);

bool ews_session_has_dead_owner(const struct ews_session *session);

/* Say that session `id` has ended: fails with EWS_ENOTFOUND (hint: undo). */
int ews_session_fail_ended(const char *id);

/* So it does when it has. */
int ews_session_refuse_ended(const struct ews_session *session);

/*
 * For who has not locked it, and finds something missing, or bent: fail with EWS_EBUSY while another process is at work on it, with
 * EWS_EINTERRUPTED when one was killed at that, with EWS_ENOTFOUND when it has ended, or was taken back, since it was opened. It
 * clears the error that is set.
 */
int ews_session_refuse_unsettled(const struct ews_session *session);

/*
 * Who works in the project itself is alone there: fail with EWS_EBUSY while another session that has not ended works in place, or,
 * when this one does, is there at all; those of other work trees are nobody's company. Called when its own state is written, so that of two at once one sees the other.
 */
int ews_session_refuse_company(const struct ews_session *session);

/* Is it as a verb leaves it that was killed, or is at work: an unfinished step in its journal, starting/ending? Clears the error that is set. */
bool ews_session_has_unfinished_step(const struct ews_session *session);

/* Is it interrupted: an unfinished step in its journal, starting/ending with no living holder of its lock, or its owner dead? */
bool ews_session_is_interrupted(const struct ews_session *session);

/* Say that session `id` is: fails with EWS_EINTERRUPTED (hint: recover). */
int ews_session_fail_interrupted(const char *id);

/* Is it that for no other reason than that its owner died? */
bool ews_session_is_orphaned(const struct ews_session *session);

#endif
