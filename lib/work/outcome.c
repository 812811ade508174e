/*
 * Outcomes: see outcome.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/outcome.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "store/step.h"
#include "work/pending.h"
#include "work/session_place.h"

/* Its base and what was kept at its end lie in trash. */
static int read_ended(struct ews_diff *out, const struct ews_session *session)
{
	EWS_CLEANUP(strv) struct ews_strv ids = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv damaged = EWS_STRV_INIT;
	EWS_CLEANUP(free) char *last = NULL;
	const char *base = session->state.base_snapshot;
	int rc = ews_step_list(&ids, session->repo->dir_fd);

	/* The oldest first; of several ends all but one were undone. */
	for (size_t i = 0; i < ids.n && rc >= 0; i++) {
		EWS_CLEANUP(step) struct ews_step step = EWS_STEP_INIT;

		rc = ews_step_look(&step, &damaged, session->repo->dir_fd, ids.items[i]);
		if (rc <= 0 || strcmp(step.verb, "end") != 0 || strcmp(step.session, session->state.id) != 0 ||
		    step.state != EWS_STEP_DONE)
			continue;
		free(last);
		last = ews_strdup(*step.before ? step.before : base);
	}
	if (rc >= 0 && last)
		return ews_diff_sides(out, session->repo, NULL, base, last);
	if (rc < 0)
		return rc;
	if (damaged.n) {
		ews_error(EWS_EDAMAGED,
			  "session '%s' has ended, and the record of step '%s', which may say with what, makes "
			  "no sense",
			  session->state.id, damaged.items[damaged.n - 1]);
		ews_error_hint("'git ews snapshot list --trash' shows what steps have kept");
		return EWS_EDAMAGED;
	}
	ews_error(EWS_ENOTFOUND, "session '%s' has ended, and what it came to is not kept any more",
		  session->state.id);
	ews_error_hint("ews.trashExpire says how long trash is kept");
	return EWS_ENOTFOUND;
}

/* Whatever has become of the step that ended it. */
static int read_pending(struct ews_diff *out, const struct ews_session *session, const char *name)
{
	EWS_CLEANUP(pendings) struct ews_pendings list = EWS_PENDINGS_INIT;
	const struct ews_pending *pending = NULL;
	int rc = ews_pending_list(&list, session->repo);

	if (rc == 0)
		rc = ews_pending_find(&pending, &list, name);
	return rc < 0 ? rc : ews_diff_sides(out, session->repo, NULL, pending->base.id, pending->result.id);
}

int ews_outcome_read(struct ews_diff *out, struct ews_session *session)
{
	EWS_CLEANUP(free) char *pending = NULL;
	int rc;

	if (session->state.state == EWS_STATE_ENDED) {
		rc = ews_pending_name(&pending, session->repo, session->state.id, session->state.base_snapshot);
		if (rc < 0)
			return rc;
		return pending ? read_pending(out, session, pending) : read_ended(out, session);
	}
	rc = ews_session_need_active(session);
	return rc < 0 ? rc : ews_diff_sides(out, session->repo, session, NULL, NULL);
}
