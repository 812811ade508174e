/*
 * The step of an end: the workspace into trash, the registration and the refs out, and all of it back again.
 *
 * What is done already, wholly or half, does no harm: a killed end is finished, or taken back, by going the same way again.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_END_STEP_H
#define EWS_WORK_END_STEP_H

#include "store/step.h"
#include "work/session.h"

struct ews_transition_result;

/* What can come before the effects: the state, and the names that the refs of `step`, which is planned, will have. */
int ews_end_prepare(struct ews_session *session, const struct ews_step *step);
/*
 * Was the workspace gone when the end of `step` was planned, so that nothing of it was kept, and is it there after all? Returns 1 or 0,
 * and fails where that can't be seen. Such an end is not carried out: it fails with EWS_ESTALE.
 */
int ews_end_is_unkept(const struct ews_session *session, const struct ews_step *step);
/* Take such an end back, as if it had not begun: no record of it is left. */
int ews_end_call_off(struct ews_session *session, struct ews_step *step);

/*
 * From the state "ending" to the end: the directories that something left, and what will say so, are synced together; that
 * gets its name after them.
 */
int ews_end_finish(struct ews_session *session, struct ews_step *step);
/* Both, one made durable before the other. */
int ews_end_carry_out(struct ews_session *session, struct ews_step *step);

/*
 * The way back. When trash holds the directory no longer, the workspace is made anew from what the step's snapshot has of it, and
 * `put` names as `expired` what that is not; as `branches` why HEAD is on none.
 */
int ews_end_take_back(struct ews_transition_result *put, struct ews_session *session, struct ews_step *step);
/* What that would say, with nothing done. Fails with EWS_ENOTFOUND, naming it, when what it needs is gone. */
int ews_end_foresee(struct ews_transition_result *put, struct ews_session *session, const struct ews_step *step);
/*
 * Does the workspace stand in its place, of which nothing was moved to trash, for it was gone when the session ended? Then it is that
 * one that comes back.
 */
bool ews_end_is_back(const struct ews_session *session, const struct ews_step *step);
/* Is all that there that the way back needs? `expired` (may be NULL) as above, and nothing done. Fails with EWS_ENOTFOUND, naming what is gone. */
int ews_end_find_kept(struct ews_strv *expired, struct ews_session *session, const struct ews_step *step);
/*
 * It is not, and taking back had begun: the session has ended again. What is still in trash stays there; with nothing in it the step
 * has expired.
 */
int ews_end_give_up(struct ews_session *session, struct ews_step *step);

#endif
