/*
 * Interrupted transitions: see recover_transition.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/recover_transition.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "store/journal.h"
#include "store/step.h"

/* Is the state that the step was on its way to gone? Nobody waits for what can't be. Returns 1 then. */
static int give_up_lost(const struct ews_recovery *recovery, struct ews_session *session, struct ews_step *step,
			bool back)
{
	EWS_CLEANUP(snapshot) struct ews_snapshot target = EWS_SNAPSHOT_INIT;
	EWS_CLEANUP(free) char *why = NULL;
	int rc = ews_undo_target(&target, recovery->repo, step, !back);

	if (rc != EWS_ENOTFOUND)
		return rc;
	why = ews_strdup(ews_error_message());
	ews_error_clear();
	rc = ews_transition_give_up(recovery->repo, step);
	if (rc == 0 && session)
		rc = ews_journal_done(session->fd, step->id);
	if (rc < 0)
		return rc;
	ews_strv_addf(recovery->done, "%s%s%s: the interrupted %s%s stays as far as it came: %s",
		      session ? "session '" : "", session ? session->state.id : "the project", session ? "'" : "",
		      back ? "undo of its " : "", step->verb, why);
	return 1;
}

int ews_recover_transition(struct ews_transition_result *out, const struct ews_recovery *recovery,
			   struct ews_session *session, struct ews_step *step, bool back)
{
	const struct ews_undo_opts again = {
		.redo = !back, .is_retry = true, .progress = recovery->progress, .payload = recovery->payload
	};
	int rc = give_up_lost(recovery, session, step, back);

	if (rc != 0)
		return rc;
	rc = ews_undo_transition(out, recovery->repo, session, step, &again);
	return rc < 0 ? rc : 0;
}

void ews_recover_say_since(const struct ews_recovery *recovery, const char *session,
			   const struct ews_transition_result *result)
{
	ews_strv_add_array(recovery->done, result->branches.items);
	for (size_t i = 0; i < result->since.n; i++) {
		EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;

		ews_path_quote(&path, result->since.items[i]);
		ews_strv_addf(
			recovery->done,
			"changed since then, and kept: %s; 'git ews snapshot restore %s%s%s -- %s' brings it back",
			path.ptr, result->kept_snapshot, *session ? " " : "", session, path.ptr);
	}
}
