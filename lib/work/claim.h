/*
 * Claims: the id and the place that a new session takes before there is anything in them.
 *
 *     sessions/<id>/             the claim to the id: of two starts one makes it
 *     sessions/<id>/state.json   state "starting": whoever finds it without its maker gives the claim up
 *     sessions/<id>/made         the workspace is our own making, and goes with all that is in it
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_CLAIM_H
#define EWS_WORK_CLAIM_H

#include "work/session.h"

struct ews_claim_opts {
	const char *in; /* the workspace becomes <in>/<id>; NULL: below home */
	const char *intent, *label; /* NULL: none */
	const char *owner; /* the verb that will be its owner from the first moment; NULL: none */
	bool is_chained; /* the workspace begins at another state than the base */
	bool copies_objects, keeps_nested; /* as in its state */
};

/*
 * Take `id` and its place for `session`, whose method and time of birth are chosen, and say in its state what it is.
 * Fails with EWS_EEXISTS when one of them is taken, with EWS_EUSAGE when the place lies inside the project. An ended
 * session that bore the id retires. When `session` has a directory afterwards there is something to give up, whatever
 * was returned.
 */
int ews_claim_take(struct ews_session *session, struct ews_repo *repo, const char *id,
		   const struct ews_claim_opts *opts);

/* Make that durable: the session's state and the name of its directory. `payload` is the session. */
int ews_claim_save(void *payload);

/*
 * Make the empty workspace, with the permissions that the project's top has (`project_fd`; -1: there is none). Returns its
 * descriptor. `is_elsewhere`: not below home.
 */
int ews_claim_make_workspace(struct ews_session *session, int project_fd, bool is_elsewhere);

/* Remove it. Only a directory that we made goes with what is in it; another that stands there is somebody's. */
int ews_claim_remove_workspace(const struct ews_session *session);

/* Give the id up, with what is held for the session. The ended one that bore it last bears it again. */
int ews_claim_give_up(struct ews_session *session);

#endif
