/*
 * Transitions and commits: a step may end in a commit of what it put, which moves a branch, there and back with the step.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_TRANSITION_COMMIT_H
#define EWS_WORK_TRANSITION_COMMIT_H

#include "store/repo.h"
#include "store/step.h"

/* Say in the step which commit it makes, or made (`after` none: not yet), on which branch. */
void ews_transition_set_commit(struct ews_step *step, const char *branch, const struct ews_oid *before,
			       const struct ews_oid *after);
/* Whatever the step is about, from now on it moves no branch. */
void ews_transition_leave_branch(struct ews_step *step);
/*
 * A step that was killed: was its commit made, as far as anybody can tell? Then 1 is returned, and the step names it; where the
 * branch has moved on since, it is left where it is.
 */
int ews_transition_complete_commit(struct ews_repo *repo, struct ews_step *step);

#endif
