/*
 * Completion: see completion.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/completion.h"

#include "base/error.h"
#include "work/apply.h"
#include "work/session_place.h"
#include "work/session_project.h"
#include "work/user_hook.h"

const char *ews_decision_word(enum ews_decision decision)
{
	static const char *const words[] = { NULL, "accepted", "rejected", "pending" };

	return words[decision];
}

void ews_completion_settle(struct ews_end_opts *opts, const struct ews_completion *completion)
{
	if (completion->decision == EWS_DECISION_NONE)
		return;
	opts->pending = completion->decision == EWS_DECISION_PENDING;
	opts->no_revert = opts->no_revert || completion->decision == EWS_DECISION_ACCEPTED;
}

/*
 * All or nothing, and only in the work tree that the session is of; a result that doesn't fit any more waits, and so does one whose
 * work tree is gone. In place it is there already.
 */
static int apply(struct ews_completion *out, struct ews_session *session, const char *from, const char *to)
{
	EWS_CLEANUP(apply_result) struct ews_apply_result result = EWS_APPLY_RESULT_INIT;
	const struct ews_apply_source source = {
		.kind = EWS_APPLY_RANGE, .name = session->state.id, .from = from, .to = to
	};
	const struct ews_apply_opts opts = { .check = false };
	struct ews_repo *project = NULL;
	int rc;

	if (session->method->is_project)
		return 0;
	if (ews_session_project(&project, session) < 0)
		ews_error_clear();
	rc = project ? ews_apply(&result, project, &source, 1, &opts) : 0;
	if (rc == 0 && (!project || result.is_refused)) {
		out->is_refused = true;
		out->decision = EWS_DECISION_PENDING;
	}
	return rc;
}

int ews_complete(struct ews_completion *out, struct ews_session *session, const char *command, int status)
{
	EWS_CLEANUP(snapshot) struct ews_snapshot seen = EWS_SNAPSHOT_INIT;
	EWS_CLEANUP(diff) struct ews_diff diff = EWS_DIFF_INIT;
	EWS_CLEANUP(buf) struct ews_buf patch = EWS_BUF_INIT;
	struct ews_user_hook_about about = { .command = command, .status = status };
	const struct ews_snapshot_create_opts create = { .subject = "ews: state to be decided about",
							 .if_changed = true,
							 .partial = true };
	struct ews_completion made = { .decision = EWS_DECISION_NONE };
	int rc = ews_session_stand_in_project(session);

	if (rc < 0 || !ews_user_hook_decides(session->repo))
		return rc;
	rc = ews_session_need_active(session);
	if (rc == 0)
		rc = ews_snapshot_create(&seen, NULL, session->repo, session, &create);
	if (rc >= 0)
		rc = ews_diff_sides(&diff, session->repo, session, NULL, seen.id);
	if (rc == 0)
		rc = ews_diff_records(&diff, session->repo, NULL);
	if (rc < 0 || (!diff.n && !diff.not_in_patch.n))
		return rc;
	rc = ews_diff_collect(&patch, &diff, session->repo, NULL, NULL);
	if (rc < 0)
		return rc;
	about.patch = patch.ptr;
	about.patch_len = patch.len;
	rc = ews_user_hook_complete(&made.signo, session, &about);
	if (rc < 0)
		return rc;
	made.status = rc;
	made.decision = rc == 0 ? EWS_DECISION_ACCEPTED : rc == 1 ? EWS_DECISION_REJECTED : EWS_DECISION_PENDING;
	if (made.signo)
		made.decision = EWS_DECISION_PENDING;
	rc = made.decision == EWS_DECISION_ACCEPTED ? apply(&made, session, diff.from.snapshot.id, seen.id) : 0;
	if (rc == 0)
		*out = made;
	return rc;
}
