/*
 * Transitions and commits: see transition_commit.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/transition_commit.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "store/litter.h"
#include "work/branch_move.h"
#include "work/stage.h"
#include "work/transition.h"
#include "work/transition_work.h"
#include "work/tripwire_told.h"

/* Whoever was killed right after his commit could not write it down. Returns as ews_stage_find_commit(). */
static int find_made(struct ews_branch_move *move, const struct ews_step *step, struct ews_repo *repo)
{
	struct ews_stage_commit commit = {
		.step_id = step->id, .branch = move->branch, .before = move->from, .after = EWS_OID_NONE
	};
	int rc = ews_stage_find_commit(&commit, repo);

	if (rc == 1) {
		move->from = commit.before;
		move->to = commit.after;
	}
	return rc;
}

void ews_transition_set_commit(struct ews_step *step, const char *branch, const struct ews_oid *before,
			       const struct ews_oid *after)
{
	free(step->commit);
	step->commit = ews_branch_move_format(branch, before, after);
}

void ews_transition_leave_branch(struct ews_step *step)
{
	free(step->commit);
	step->commit = NULL;
}

/* Nobody has told of it either. */
static void note_commit(struct ews_step *step, const struct ews_branch_move *move, struct ews_repo *repo)
{
	ews_transition_set_commit(step, move->branch, &move->from, &move->to);
	ews_tripwire_tell_move(repo, move->branch, &move->from, &move->to);
}

int ews_transition_complete_commit(struct ews_repo *repo, struct ews_step *step)
{
	EWS_CLEANUP(branch_move) struct ews_branch_move move = EWS_BRANCH_MOVE_INIT;
	int made, rc = ews_branch_move_read(&move, step->commit);

	if (rc < 0 || !ews_oid_is_none(&move.to))
		return rc < 0 ? rc : 1;
	made = find_made(&move, step, repo);
	rc = made < 0 ? ews_error_if_passing(made) : made;
	if (made == 0 || rc < 0)
		return rc;
	rc = ews_error_if_passing(ews_odb_ref_read(&move.now, repo->odb, move.branch));
	if (rc < 0)
		return rc;
	/* Its user may have taken it back himself. */
	if (ews_oid_equal(&move.now, &move.from))
		return 0;
	if (made == 1 && ews_oid_equal(&move.now, &move.to))
		note_commit(step, &move, repo);
	else
		ews_transition_leave_branch(step);
	return 1;
}

static void turn(struct ews_branch_move *move)
{
	struct ews_oid from = move->from;

	move->from = move->to;
	move->to = from;
}

/* Which branch goes where with the step, that a commit of it moved. */
static int find_commit(struct ews_branch_move *out, const struct ews_transition_work *work)
{
	const struct ews_step *step = work->step;
	EWS_CLEANUP(free) char *head = NULL;
	struct ews_oid tip;
	int made, rc;

	if (!step->commit || !*step->commit || work->session || step->state == EWS_STEP_PLANNED)
		return 0;
	rc = ews_branch_move_read(out, step->commit);
	if (rc < 0)
		return rc;
	made = ews_oid_is_none(&out->to) ? find_made(out, step, work->repo) : 1;
	if (made == 0) {
		free(out->branch);
		out->branch = NULL;
		return 0;
	}
	rc = made < 0 ? ews_error_if_passing(made) : 0;
	if (rc == 0)
		rc = ews_odb_ref_read(&out->now, work->repo->odb, out->branch);
	if (rc < 0 && ews_error_if_passing(rc) < 0)
		return rc;
	if (step->state == EWS_STEP_UNDOING)
		turn(out);
	rc = ews_stage_branch(&head, &tip, work->repo);
	if (rc < 0 && ews_error_if_passing(rc) < 0)
		return rc;
	if (made == 1 && rc == 0 && !strcmp(head, out->branch) &&
	    (ews_oid_equal(&out->now, &out->to) || ews_oid_equal(&out->now, &out->from)))
		return 0;
	ews_error(EWS_ESTALE, "'%s' is no longer the branch that was committed to, as it was then", out->branch);
	ews_error_hint("'git revert' takes a commit back that others stand on");
	return EWS_ESTALE;
}

int ews_transition_move_branch(const struct ews_transition_work *work)
{
	EWS_CLEANUP(branch_move) struct ews_branch_move move = EWS_BRANCH_MOVE_INIT;
	int rc = find_commit(&move, work);

	if (rc < 0 || !move.branch || ews_oid_equal(&move.now, &move.to))
		return rc;
	if (work->opts->is_retry)
		ews_litter_sweep_ref(work->repo->odb, move.branch);
	rc = ews_odb_ref_swap(work->repo->odb, move.branch, &move.from, &move.to);
	if (rc == 0)
		ews_tripwire_tell_move(work->repo, move.branch, &move.from, &move.to);
	return rc;
}

int ews_transition_refuse_moved_on(const struct ews_transition_work *work)
{
	EWS_CLEANUP(branch_move) struct ews_branch_move move = EWS_BRANCH_MOVE_INIT;
	int rc = find_commit(&move, work);

	if (rc != EWS_ESTALE || !work->opts->is_retry)
		return rc;
	/* What is half done comes to its end all the same, in the files; the branch is his who went on with it. */
	ews_error_clear();
	ews_transition_leave_branch(work->step);
	return 0;
}
