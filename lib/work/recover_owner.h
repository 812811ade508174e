/*
 * A session whose owner has died: the command that ran in it, or was to, has no one who waits for it any more.
 *
 * For recover.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_RECOVER_OWNER_H
#define EWS_WORK_RECOVER_OWNER_H

#include <stdbool.h>

#include "work/recover_transition.h"
#include "work/session.h"

/* A command in a session that its owner, this process, had not begun when a signal ended that. */
struct ews_recover_unbegun {
	bool is_made; /* the session, for it */
	const char *kept; /* the directory in the session's with copies made for it; NULL: none */
};

/*
 * Where its owner has died, let `session`, which is locked, go on without him: what his command left is taken over as it is, and who is
 * at work in it still is named. A command that was not begun is called off, and a session made for it ends.
 */
int ews_recover_owner(const struct ews_recovery *recovery, struct ews_session *session);

#endif
