/*
 * Sessions: what a session is, opened and saved.
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

/*
 * Open the session that `name` (an id, or a prefix of one alone) means. NULL:
 * the session of the current directory (also of one that a step put into trash), else $EWS_SESSION, else the only
 * active session of the project. Fails with EWS_ENOTFOUND or, for a prefix of several,
 * EWS_EUSAGE with the candidates in the hint; EWS_EDAMAGED when its state can't be read. One that works in another work
 * tree itself is not for this one: EWS_ENOTFOUND, and the hint says where it is. Where that work tree is lost it is for all of them.
 */
int ews_session_open(struct ews_session *out, struct ews_repo *repo, const char *name);

/*
 * The same by its whole id, one of ews_session_ids(): nothing is looked up. For who looks at all there are: of one that works in
 * another work tree itself `repo` of the session is that one.
 */
int ews_session_open_id(struct ews_session *out, struct ews_repo *repo, const char *id);

/*
 * The project of the session: the repository as it is seen from the work tree that it is of, which need not be the one that
 * the command is called in. It is the session's. Fails with EWS_ENOTFOUND where that is gone; what was made since under its name
 * is another one.
 */
int ews_session_project(struct ews_repo **out, struct ews_session *session);

/*
 * Let `repo` of the session be that project from now on, so that what is written for the session is written there. Where that is
 * gone, `repo` stays as it is.
 */
void ews_session_stand_in_project(struct ews_session *session);

/* The top of the work tree that it is of: where git says that this stands by now, else where it was. The caller frees it. */
char *ews_session_top(const struct ews_session *session);

/*
 * Does a directory stand where one that is lost worked, which is no work tree of anything any more? The session's files may be in it.
 */
bool ews_session_has_left_files(const struct ews_session *session);

/* What became of the work tree of one that is lost: it is "out of reach", "gone", or else "none of the repository any more". */
const char *ews_session_lost_word(const struct ews_session *session);

/* Does only force end one that is lost? Its work tree may come back, or files stand there. */
bool ews_session_is_lost_with_files(const struct ews_session *session);

/* Of one that is lost: hint at what brings its work tree back, and at what ends it. */
void ews_session_hint_lost(const struct ews_session *session);

/* What `state` says of a session that works in the linked worktree `repo` itself, which was moved since, is said of its new place. */
void ews_session_follow(struct ews_state *state, const struct ews_repo *repo);

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
