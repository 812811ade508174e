/*
 * Undo: steps back over what verbs destroyed or overwrote, and forward again.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_UNDO_H
#define EWS_WORK_UNDO_H

#include "base/progress_fn.h"
#include "work/round.h"
#include "work/transition.h"

struct ews_undo_result {
	struct ews_step step; /* what was taken back, or done again */
	struct ews_transition_result put; /* what that changed in a workspace */
	char *workspace; /* of an end that was taken back: where it is again; else NULL */
	struct ews_round_end_result ended; /* of an end that was done again; its round has an id where the session is one */
	bool has_reverted; /* that end put the project back first, in a step of its own: undo once more takes that back */
};

#define EWS_UNDO_RESULT_INIT                                                                                 \
	{                                                                                                    \
		.step = EWS_STEP_INIT, .put = EWS_TRANSITION_RESULT_INIT, .ended = EWS_ROUND_END_RESULT_INIT \
	}

struct ews_undo_opts {
	bool redo; /* do again the last step that was taken back */
	const char *step; /* the id of the one that is meant, or NULL; it has to be the next of its session, or of the project */
	bool is_retry; /* it was begun before and killed */
	bool dry_run;
	const struct ews_strv *spared; /* files that stay as they are, as in struct ews_transition_opts */
	ews_progress_fn progress;
	void *payload;
};

/*
 * Take back the newest step that is done (`redo`: do again the last one taken back); of
 * `session` alone when it is not NULL. What was done to the files of another work tree is passed by. Fails with EWS_ENOTFOUND
 * when there is none, or it is not the one that is meant, or is another work tree's,
 * and when what it needs has expired, saying so; with EWS_EDAMAGED when which it is can't be known, and with EWS_EUSAGE when it
 * has to be named for that.
 */
int ews_undo(struct ews_undo_result *out, struct ews_repo *repo, const char *session,
	     const struct ews_undo_opts *opts);

/* Bring what `step` changed back (`redo`: forth again), as a transition. For undo itself and for recover. */
int ews_undo_transition(struct ews_transition_result *out, struct ews_repo *repo, struct ews_session *session,
			struct ews_step *step, const struct ews_undo_opts *opts);

/* The state that the undo (`redo`: the redo) of `step`, no end or drop, puts back. Fails with EWS_ENOTFOUND when it is gone. */
int ews_undo_target(struct ews_snapshot *out, struct ews_repo *repo, const struct ews_step *step, bool redo);

void ews_undo_result_release(struct ews_undo_result *result);
EWS_CLEANUP_DEFINE(undo_result, struct ews_undo_result, ews_undo_result_release)

#endif
