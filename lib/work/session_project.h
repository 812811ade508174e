/*
 * The project of a session: the work tree that it is of, wherever that stands by now, and what is to be said of one that can't be
 * found. In place that is all there is of it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_SESSION_PROJECT_H
#define EWS_WORK_SESSION_PROJECT_H

#include "work/session.h"

/*
 * One that works in a work tree itself has all that it needs there: `repo` is that from now on, and the state says where it stands,
 * unless it is lost. Fails where that can't be seen.
 */
int ews_session_stand_in_place(struct ews_session *session);

/* Under its lock: it is lost as well when another directory has come into the place of its own since it was opened. */
int ews_session_stand_again(struct ews_session *session);

/*
 * The project of the session: the repository as it is seen from the work tree that it is of, which need not be the one that
 * the command is called in. It is the session's. Fails with EWS_ENOTFOUND where that is gone; what was made since under its name
 * is another one.
 */
int ews_session_project(struct ews_repo **out, struct ews_session *session);

/*
 * Let `repo` of the session be that project from now on, so that what is written for the session is written there. Where that is
 * gone, `repo` stays as it is. Fails where it can't be looked at just now.
 */
int ews_session_stand_in_project(struct ews_session *session);

/* The top of the work tree that it is of: where git says that this stands by now, else where it was. The caller frees it. */
char *ews_session_top(const struct ews_session *session);

/* What became of the work tree of one that is lost: it is "out of reach", "gone", or else "none of the repository any more". */
const char *ews_session_lost_word(const struct ews_session *session);

/* Does only force end one that is lost? Its work tree may come back, or files stand there. */
bool ews_session_is_lost_with_files(const struct ews_session *session);

/* Of one that is lost: hint at what brings its work tree back, and at what ends it. */
void ews_session_hint_lost(const struct ews_session *session);

/* Is nothing at `place`, or a directory with nothing in it but our own reports? Not where that can't be seen. */
bool ews_session_place_is_vacant(const char *place);

/*
 * The git directory was moved out of the work tree that a session in place works in, and nothing stands any more where that was: it has
 * come after. Where `repo` is told to have another work tree nobody knows.
 */
void ews_session_follow_store(struct ews_state *state, const struct ews_repo *repo);

/* What `state` says of a session that works in the work tree `repo` itself, which was moved since, is said of its new place. */
void ews_session_follow(struct ews_state *state, const struct ews_repo *repo);

#endif
