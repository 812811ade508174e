/*
 * Where a session's workspace is, and whether it is still what the store made.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_SESSION_PLACE_H
#define EWS_WORK_SESSION_PLACE_H

#include "work/session.h"

/*
 * Fail unless a verb may work on it: state active, no unfinished step
 * (EWS_EINTERRUPTED, hint: recover), workspace there (EWS_EDAMAGED), nothing tampered
 * with (EWS_EDAMAGED, names what). What another process makes of it meanwhile is no damage (EWS_EBUSY, EWS_ENOTFOUND).
 */
int ews_session_need_active(const struct ews_session *session);

/* Where it is, in the words of its method; the strings are the session's. */
struct ews_place ews_session_place(const struct ews_session *session);

/* What of the workspace's link to the store was rewritten: ".git", "commondir", "gitdir", or is gone: EWS_METHOD_ENTRY. */
int ews_session_tampered(struct ews_strv *out, const struct ews_session *session);

/* Is git's entry of the worktree gone, and nothing else? Then recover writes it anew, and the files need not go back. */
bool ews_session_lacks_entry(const struct ews_strv *tampered);

/*
 * Fail with EWS_EDAMAGED where the base of a session that has not ended is gone (hint: what is left to do). What another process makes
 * of it meanwhile is no damage, as above; what can't be read just now is not gone.
 */
int ews_session_need_base(const struct ews_session *session);

/* Is the commit that it began at none of this repository's, so that it is another one, at the place of that one? */
bool ews_session_is_in_another(const struct ews_session *session);

/*
 * Open the directory that the workspace lies in. Below home no link is followed to it: an agent
 * stands right beneath and could put one there. Returns a descriptor.
 */
int ews_session_open_parent(const struct ews_session *session);

/* Is that gone as well, where it is not home's? Returns 1 or 0. */
int ews_session_has_no_parent(const struct ews_session *session);

/* Make it anew where it is gone. */
int ews_session_make_parent(const struct ews_session *session);

/*
 * Is the workspace gone, so that no directory is in its place? Returns 1 or 0, and fails where that can't be seen: what can't be looked
 * at may be all there. In place it is gone where no work tree of the repository is there.
 */
int ews_session_is_gone(const struct ews_session *session);

/* Fail with EWS_EDAMAGED when it works in a work tree itself that is none of the repository any more. */
int ews_session_refuse_lost(const struct ews_session *session);

/* Open the workspace's directory, checked to be where it must be. Returns a descriptor; EWS_EDAMAGED when it is gone. */
int ews_session_open_workspace(const struct ews_session *session);

/* Begin to read the workspace's stat cache, for the next one: who waits for the lock has time for that. */
void ews_session_read_early(struct ews_session *session);

/*
 * Begin to look at the workspace (store/early) for the first ews_content_now() that follows, where it can: nothing is said. To be
 * called under the lock by who takes it, and once nothing is left to be waited for that may change the workspace.
 */
void ews_session_look_early(struct ews_session *session);

/* Where git says that the workspace is, which is not at its place any more: somebody moved it by git. NULL: nowhere. */
char *ews_session_moved_to(const struct ews_session *session);

/* The workspace's own git directory. Returns a descriptor; EWS_ENOTFOUND when it is gone, or never was: not where it can't be opened. */
int ews_session_open_admin(const struct ews_session *session);

#endif
