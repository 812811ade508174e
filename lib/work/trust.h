/*
 * Trust: what somebody who works in a workspace could reach, and what keeps him from it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_TRUST_H
#define EWS_WORK_TRUST_H

#include "work/session.h"
#include "work/trust_program.h"
#include "work/trust_secret.h"

struct ews_trust {
	const struct ews_method *method;
	char *session; /* NULL: one that would be started now */
	char *workspace; /* where that is, or would be */
	const char *level, *policy; /* of the guard: those that the next `run` has */
	bool is_enforced; /* the kernel keeps the project from what `run` starts */
	bool is_held; /* and writing to `writable` alone */
	char *why; /* not; NULL: it is enforced */
	struct ews_strv writable; /* "/": wherever its user may */
	struct ews_strv open; /* what that leaves open, in words */
	struct ews_strv exposes; /* what of the project a workspace can't do without, to be written */
	struct ews_strv borrows; /* and to be read */
	struct ews_trust_secrets secrets;
	struct ews_trust_programs programs;
};

#define EWS_TRUST_INIT                                                                                         \
	{                                                                                                      \
		NULL, NULL, NULL, NULL, NULL, false, false, NULL, EWS_STRV_INIT, EWS_STRV_INIT, EWS_STRV_INIT, \
			EWS_STRV_INIT, EWS_TRUST_SECRETS_INIT, EWS_TRUST_PROGRAMS_INIT                         \
	}

/* Look what holds in `session`, or, when that is NULL, in one that would be started now. Nothing is run, and no secret is read. */
int ews_trust_look(struct ews_trust *out, struct ews_repo *repo, const struct ews_session *session);

void ews_trust_release(struct ews_trust *trust);
EWS_CLEANUP_DEFINE(trust, struct ews_trust, ews_trust_release)

#endif
