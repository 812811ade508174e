/*
 * Interrupted transitions: one that was killed goes on to where it was on its way.
 *
 * For recover: of a session's steps and of the project's.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_RECOVER_TRANSITION_H
#define EWS_WORK_RECOVER_TRANSITION_H

#include "base/progress_fn.h"
#include "work/undo.h"

struct ews_recover_unbegun;

/* A recovery at work. All of it is lent. */
struct ews_recovery {
	struct ews_repo *repo;
	struct ews_strv *done; /* gets what was done, a sentence each */
	const struct ews_recover_unbegun *unbegun; /* what this process was about to run; NULL: nothing */
	ews_progress_fn progress;
	void *payload;
};

/*
 * Bring the transition that `step`, of `session` or (NULL) of the project, was to its end, or (`back`) back. It goes the same way
 * again, which is harmless where it was gone already. Returns 1 when the state that it was on its way to is gone: then the step stays
 * as far as it came, which is said.
 */
int ews_recover_transition(struct ews_transition_result *out, const struct ews_recovery *recovery,
			   struct ews_session *session, struct ews_step *step, bool back);

/*
 * What somebody changed after the step was killed has given way, as in any undo: say what it was, and what brings it back. `session`
 * is the id that it is found under; "": the project's. Branches that moved are named as well.
 */
void ews_recover_say_since(const struct ews_recovery *recovery, const char *session,
			   const struct ews_transition_result *result);

#endif
