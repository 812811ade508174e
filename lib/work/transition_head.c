/*
 * HEAD in the workspace of a transition.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/head_settle.h"
#include "work/transition.h"
#include "work/transition_work.h"

static struct ews_head_was how_it_was(const struct ews_transition_work *work)
{
	const struct ews_snapshot *target = work->opts->target;

	return (struct ews_head_was){ &target->head, target->is_head_damaged };
}

int ews_transition_head_differs(const struct ews_transition_work *work)
{
	const struct ews_head_was was = how_it_was(work);

	return ews_head_leads_elsewhere(work->session, &work->target.git, &was);
}

int ews_transition_settle_head(struct ews_transition_result *out, struct ews_transition_work *work)
{
	const struct ews_head_was was = how_it_was(work);
	int rc;

	/* With a repository its branches come back. */
	if (ews_transition_is_in_project(work) || ews_transition_brings_repository_back(work))
		return 0;
	rc = ews_head_settle(&work->target.git, &out->branches, work->session, &was, work->step->id);
	return rc < 0 ? rc : 0;
}
