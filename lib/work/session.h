/*
 * Sessions: what a session is, which one a name means, and in what state it is.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_SESSION_H
#define EWS_WORK_SESSION_H

#include "base/json.h"
#include "store/early.h"
#include "store/lock.h"
#include "store/repo.h"
#include "store/state.h"
#include "work/method.h"

/* A session's base, while it has not ended. */
#define EWS_REF_SESSIONS "refs/ews/sessions/"

/* The stat cache of a session's workspace, in its directory. */
#define EWS_SESSION_CACHE "cache"

struct ews_session {
	struct ews_repo *repo; /* borrowed */
	const struct ews_method *method;
	struct ews_state state;
	char *dir; /* <home>/working/<repo>/sessions/<id> */
	int fd; /* of `dir` */
	struct ews_lock lock; /* held after ews_session_lock() */
	struct ews_lock owner_lock; /* held after ews_session_own() */
	struct ews_early *early; /* a look at the workspace that was begun; NULL: none */
};

#define EWS_SESSION_INIT { NULL, NULL, EWS_STATE_INIT, NULL, -1, EWS_LOCK_INIT, EWS_LOCK_INIT, NULL }

/*
 * May a session be called `id`? `[A-Za-z0-9][A-Za-z0-9._-]{0,63}`, no "..", no "." or ".lock" at its end, and
 * none of HEAD, now, all. Fails with EWS_EUSAGE and says why.
 */
int ews_session_check_id(const char *id);

/*
 * Open the session that `name` (an id, or a prefix of one alone) means. NULL:
 * the session of the current directory (also of one that a step put into trash), else $EWS_SESSION, else the only
 * active session of the project. Fails with EWS_ENOTFOUND or, for a prefix of several,
 * EWS_EUSAGE with the candidates in the hint; EWS_EDAMAGED when its state can't be read.
 */
int ews_session_open(struct ews_session *out, struct ews_repo *repo, const char *name);

/* The same by its whole id, one of ews_session_ids(): nothing is looked up. */
int ews_session_open_id(struct ews_session *out, struct ews_repo *repo, const char *id);

/* The full id that `name` means, without opening it. The caller frees it. */
int ews_session_resolve(char **out, struct ews_repo *repo, const char *name);

/* Is a session named, by the current directory or by $EWS_SESSION? (`snapshot` without one works on the project.) */
bool ews_session_is_implied(struct ews_repo *repo);

/* The ids of all sessions of the store, ended ones included, by name. */
int ews_session_ids(struct ews_strv *out, struct ews_repo *repo);

/* Take the session's lock for `verb`, if it is not held yet, and read its state anew; fails with EWS_EBUSY. It is released with the session. */
int ews_session_lock(struct ews_session *session, const char *verb);

/* The same for who wants it whole: fails with EWS_EINTERRUPTED, too, unless the lock was held already. */
int ews_session_lock_settled(struct ews_session *session, const char *verb);
/* The same, after waiting for it at most so long. */
int ews_session_lock_within(struct ews_session *session, const char *verb, unsigned wait_ms);

/* Let go of the lock before the session is released. */
void ews_session_unlock(struct ews_session *session);

/* The name of the lock that the owner of session `id` holds, and no session has; the caller frees it. */
char *ews_session_owner_lock(const char *id);

/*
 * Be the session's owner, for the time that a command runs in it: whoever dies as an owner leaves it
 * interrupted. The state says so once it is saved. Fails with EWS_EBUSY while it has another living owner.
 */
int ews_session_own(struct ews_session *session, const char *verb);
/* Be its owner no longer, and save that. The session must be locked. */
int ews_session_disown(struct ews_session *session);
/* Is an owner recorded, and does he live, or not any more? */
bool ews_session_has_living_owner(const struct ews_session *session);
bool ews_session_has_dead_owner(const struct ews_session *session);

/* Fail with EWS_ENOTFOUND when it has ended (hint: undo). */
int ews_session_refuse_ended(const struct ews_session *session);

/*
 * For who has not locked it, and finds something missing, or bent: fail with EWS_EBUSY while another process is at work on it, with
 * EWS_EINTERRUPTED when one was killed at that, with EWS_ENOTFOUND when it has ended, or was taken back, since it was opened. It
 * clears the error that is set.
 */
int ews_session_refuse_unsettled(const struct ews_session *session);

/*
 * Fail unless a verb may work on it: state active, no unfinished step
 * (EWS_EINTERRUPTED, hint: recover), workspace there (EWS_EDAMAGED), nothing tampered
 * with (EWS_EDAMAGED, names what). What another process makes of it meanwhile is no damage (EWS_EBUSY, EWS_ENOTFOUND).
 */
int ews_session_need_active(const struct ews_session *session);

/*
 * Who works in the project itself is alone there: fail with EWS_EBUSY while another session that has not ended works in place, or,
 * when this one does, is there at all. Called when its own state is written, so that of two at once one sees the other.
 */
int ews_session_refuse_company(const struct ews_session *session);

/* Is it interrupted: an unfinished step in its journal, starting/ending with no living holder of its lock, or its owner dead? */
bool ews_session_is_interrupted(const struct ews_session *session);
/* Say that session `id` is: fails with EWS_EINTERRUPTED (hint: recover). */
int ews_session_fail_interrupted(const char *id);

/* Is it that for no other reason than that its owner died? */
bool ews_session_is_orphaned(const struct ews_session *session);

/* Remove the temporary files of what ran in it. */
int ews_session_remove_tmp(const struct ews_session *session);

/* Where it is, in the words of its method; the strings are the session's. */
struct ews_place ews_session_place(const struct ews_session *session);

/* What of the workspace's link to the store was rewritten: ".git", "commondir", "gitdir", or is gone: EWS_METHOD_ENTRY. */
int ews_session_tampered(struct ews_strv *out, const struct ews_session *session);

/* Is git's entry of the worktree gone, and nothing else? Then recover writes it anew, and the files need not go back. */
bool ews_session_lacks_entry(const struct ews_strv *tampered);

/* Write state.json anew. */
int ews_session_save(struct ews_session *session);

/* A line of the session's log: time, verb, and a sentence. The caller releases it. */
cJSON *ews_session_log_line(const char *verb, const char *text);
/* Append one. */
int ews_session_log(struct ews_session *session, const char *verb, const char *text);

/*
 * Open the directory that the workspace lies in. Below home no link is followed to it: an agent
 * stands right beneath and could put one there. Returns a descriptor.
 */
int ews_session_open_parent(const struct ews_session *session);

/* Is that gone as well, where it is not home's? Returns 1 or 0. */
int ews_session_has_no_parent(const struct ews_session *session);

/* Make it anew where it is gone. */
int ews_session_make_parent(const struct ews_session *session);

/* Does the workspace lie in its place below home, not where `start --in` put it, and is it not the project itself? */
bool ews_session_is_at_home(const struct ews_session *session);

/*
 * Is the workspace gone, so that no directory is in its place? Returns 1 or 0, and fails where that can't be seen: what can't be looked
 * at may be all there.
 */
int ews_session_is_gone(const struct ews_session *session);

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

void ews_session_release(struct ews_session *session);
EWS_CLEANUP_DEFINE(session, struct ews_session, ews_session_release)

#endif
