/*
 * HEAD in the workspace of a transition: it comes back to the commit that it stood at, whatever became of its branch.
 *
 * A workspace's branches are not part of its state: a linked worktree has the project's, and those of a copy may be all that names
 * an agent's commits. So where the branch has gone on, or is gone, HEAD is put on none; on it the index would be compared with
 * another commit, and the next one would take back what that holds, or have no parent.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/transition_work.h"

#include <string.h>

#include "base/str.h"
#include "work/branch.h"
#include "work/head.h"
#include "work/transition.h"

const struct ews_oid *ews_transition_wanted_head(const struct ews_transition_work *work)
{
	const struct ews_snapshot *target = work->opts->target;

	/* It was on a branch yet to be born, or damaged, elsewhere: here HEAD stands where it did at the start. */
	if (work->opts->base && ews_oid_is_none(&target->head) && ews_transition_is_from_elsewhere(work))
		return &work->opts->base->head;
	return &target->head;
}

/* Is the branch somebody else's by now, who works on it in another work tree? The branches of a copy are its own. */
static int is_of_another(const struct ews_transition_work *work, const char *branch)
{
	EWS_CLEANUP(free) char *present = ews_head_branch(&work->now.git);

	if (work->session->method->owns_objects || (present && !strcmp(present, branch)))
		return 0;
	return ews_branch_is_stood_on(work->repo, branch, false);
}

/* Where nothing was committed HEAD has to be on a branch that is not there: one that nobody has. */
static void set_unborn(struct ews_transition_result *out, struct ews_transition_work *work, const char *branch)
{
	EWS_CLEANUP(free) char *text = ews_strfmt("ref: %s-%s\n", branch, work->step->id);

	ews_gitstate_set_file(&work->target.git, "HEAD", text, strlen(text));
	ews_strv_addf(&out->branches, "HEAD is on '%s-%s', which has no commit: '%s' had none", branch,
		      work->step->id, branch);
}

int ews_transition_head_differs(const struct ews_transition_work *work)
{
	const struct ews_oid *head = ews_transition_wanted_head(work);
	struct ews_oid now;
	int stands = ews_head_find_in(&now, work->session, &work->target.git, head);

	if (stands < 0)
		return stands;
	/* What was damaged may have been mended since. */
	if (ews_oid_equal(&now, head) || (ews_oid_is_none(head) && work->opts->target->is_head_damaged))
		return 0;
	return stands;
}

static const char *why_left(int stands)
{
	if (stands == 0)
		return "is checked out in another work tree";
	return stands == EWS_HEAD_UNBORN ? "is gone" : "has moved since";
}

int ews_transition_settle_head(struct ews_transition_result *out, struct ews_transition_work *work)
{
	const struct ews_oid *head = ews_transition_wanted_head(work);
	EWS_CLEANUP(free) char *branch = NULL;
	char hex[EWS_OID_HEX_MAX];
	int stands, is_taken;

	/* With a repository its branches come back. */
	if (ews_transition_is_in_project(work) || ews_transition_brings_repository_back(work))
		return 0;
	branch = ews_head_branch(&work->target.git);
	if (!branch)
		return 0;
	stands = ews_transition_head_differs(work);
	is_taken = stands == 0 ? is_of_another(work, branch) : stands;
	if (is_taken <= 0)
		return is_taken;
	if (ews_oid_is_none(head)) {
		set_unborn(out, work, branch);
		return 0;
	}
	ews_gitstate_set_head(&work->target.git, head);
	ews_strv_addf(&out->branches, "HEAD is at %s, and on no branch: '%s' %s", ews_oid_hex(hex, head), branch,
		      why_left(stands));
	return 0;
}
