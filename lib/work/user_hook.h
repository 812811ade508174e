/*
 * Hooks of the user: programs that decide whether a session may begin, and what becomes of its result.
 *
 * `ews.hook.start` and `ews.hook.complete` are taken from the user's and the system's config alone, never from a
 * repository's, and run by `sh -c` in the project, their output on stderr. They get EWS_SESSION EWS_PROJECT EWS_WORKSPACE EWS_INTENT
 * EWS_COMMAND EWS_STATUS EWS_PATCH.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_USER_HOOK_H
#define EWS_WORK_USER_HOOK_H

#include "work/session.h"

/* What there is to tell of the command that runs, or ran, in the session. */
struct ews_user_hook_about {
	const char *command; /* in one line; NULL: none */
	int status; /* below 0: it is not over, or there is none */
	const char *patch; /* what it came to; NULL: nothing yet */
	size_t patch_len;
};

/*
 * Ask the start hook; without one, or when it ends with 0, the command may run. Else fails with EWS_EDENIED.
 */
int ews_user_hook_start(const struct ews_session *session, const struct ews_user_hook_about *about);

/* Is there a hook that decides about results? */
bool ews_user_hook_decides(struct ews_repo *repo);

/*
 * Ask it: returns the status that it ended with. A signal that came meanwhile, and that this process ignores since a
 * command ran in its place, was passed on, and is `*out_signo`, else 0: nothing was decided then. Fails when it could not be run.
 */
int ews_user_hook_complete(int *out_signo, const struct ews_session *session,
			   const struct ews_user_hook_about *about);

#endif
