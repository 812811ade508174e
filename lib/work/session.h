/*
 * Sessions: what a session is, saved, and its log.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_SESSION_H
#define EWS_WORK_SESSION_H

#include "base/json.h"
#include "store/lock.h"
#include "store/repo.h"
#include "store/state.h"
#include "work/method.h"

/* The stat cache of a session's workspace, in its directory. */
#define EWS_SESSION_CACHE "cache"

struct ews_session {
	struct ews_repo *repo; /* borrowed; `beside` where it stands in another work tree (ews_session_stand_in_project) */
	const struct ews_method *method;
	struct ews_state state;
	char *dir; /* <home>/working/<repo>/sessions/<id> */
	int fd; /* of `dir` */
	struct ews_lock lock; /* held after ews_session_lock() */
	struct ews_lock owner_lock; /* held after ews_session_own() */
	struct ews_early *early; /* a look at the workspace that was begun; NULL: none */
	struct ews_repo *beside; /* the work tree that it is of, where that is another one; NULL until somebody asked for it */
	bool is_lost; /* it works in a work tree itself that can't be found: only its record can be closed */
	bool is_out_of_reach; /* of one that is lost: git has that work tree still, so that it may come back */
};

#define EWS_SESSION_INIT { NULL, NULL, EWS_STATE_INIT, NULL, -1, EWS_LOCK_INIT, EWS_LOCK_INIT, NULL, NULL, false, false }

/* Say that another process is at work on session `id`: fails with EWS_EBUSY. */
int ews_session_fail_at_work(const char *id);

/* Does the workspace lie in its place below home, not where `start --in` put it, and is it not the project itself? */
bool ews_session_is_at_home(const struct ews_session *session);

/* Remove the temporary files of what ran in it. */
int ews_session_remove_tmp(const struct ews_session *session);

/* Write state.json anew. */
int ews_session_save(struct ews_session *session);

/* A line of the session's log: time, verb, and a sentence. The caller releases it. */
cJSON *ews_session_log_line(const char *verb, const char *text);

/* Append one. */
int ews_session_log(struct ews_session *session, const char *verb, const char *text);

void ews_session_release(struct ews_session *session);
EWS_CLEANUP_DEFINE(session, struct ews_session, ews_session_release)

#endif
