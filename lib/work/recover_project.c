/*
 * The project's own steps: see recover_project.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/recover_project.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "store/lock.h"
#include "store/step.h"
#include "work/archive_trash.h"
#include "work/pending.h"
#include "work/stage.h"
#include "work/step_refs.h"
#include "work/steps.h"
#include "work/transition_commit.h"
#include "work/whose.h"

/* Of what a drop took away something is gone, or something else stands in its place: it is named, and keeps none of the rest. */
static int name_gone(struct ews_strv *done, int rc)
{
	if (!ews_step_may_go_on(rc))
		return rc;
	ews_strv_addf(done, "of a drop: %s", ews_error_message());
	ews_error_clear();
	return 0;
}

static int move_drop(const struct ews_recovery *recovery, const struct ews_step *step, bool back)
{
	int rc = name_gone(recovery->done, ews_step_refs_move(recovery->repo, step, back));

	return rc < 0 ? rc : name_gone(recovery->done, ews_archive_move_all(recovery->repo, step, back));
}

/* What can't go on its way goes back: nobody waits for a directory that may not be written to. */
static int turn_drop(const struct ews_recovery *recovery, struct ews_step *step, bool back)
{
	struct ews_error_saved why = EWS_ERROR_SAVED_INIT;

	ews_error_save(&why);
	if (move_drop(recovery, step, !back) < 0)
		return ews_error_restore(&why);
	(void)ews_error_restore(&why);
	ews_strv_addf(recovery->done, "%s was taken back, for it can't be finished: %s",
		      back ? "undoing a drop" : "the drop", ews_error_message());
	ews_error_clear();
	if (step->state == EWS_STEP_PLANNED)
		return ews_step_remove(recovery->repo->dir_fd, step->id);
	step->state = back ? EWS_STEP_DONE : EWS_STEP_UNDONE;
	return ews_step_write(recovery->repo->dir_fd, step);
}

static int finish_drop(const struct ews_recovery *recovery, struct ews_step *step)
{
	bool back = step->state == EWS_STEP_UNDOING;
	int rc = move_drop(recovery, step, back);

	if (rc < 0)
		return turn_drop(recovery, step, back);
	step->state = back ? EWS_STEP_UNDONE : EWS_STEP_DONE;
	rc = ews_step_write(recovery->repo->dir_fd, step);
	if (rc == 0)
		ews_strv_addf(recovery->done, "%s was finished", back ? "undoing a drop" : "the drop");
	return rc;
}

/* An apply whose commit was not made yet goes back: what its user wanted was all of it, or nothing. */
static int take_apply_back(const struct ews_recovery *recovery, struct ews_step *step)
{
	EWS_CLEANUP(transition_result) struct ews_transition_result result = EWS_TRANSITION_RESULT_INIT;
	int rc;

	ews_transition_turn_back(step);
	rc = ews_recover_transition(&result, recovery, NULL, step, true);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	if (result.is_verified)
		rc = ews_step_remove(recovery->repo->dir_fd, step->id);
	if (rc == 0) {
		ews_strv_addf(recovery->done,
			      "the interrupted %s of the project was taken back; what was there is %s", step->verb,
			      result.kept_snapshot);
		ews_recover_say_since(recovery, "", &result);
	}
	return rc;
}

/* `commit` is what the step was to move when it was found; it may have been left alone since. */
static void say_branch_left(struct ews_strv *done, const struct ews_step *step, const char *commit)
{
	if (*commit && !step->commit)
		ews_strv_addf(done, "'%.*s' moved on meanwhile and was left where it is: 'git log' shows what it has",
			      (int)strcspn(commit, " "), commit);
}

/* Nobody is to decide any more about what has come. That it can't be settled undoes none of that. */
static void settle_pending(const struct ews_recovery *recovery, const struct ews_step *step)
{
	const char *settles = step->settles ? step->settles : "", *result = strchr(settles, ' ');
	EWS_CLEANUP(free) char *name = result ? ews_strndup(settles, (size_t)(result - settles)) : NULL;
	int rc = name ? ews_pending_settle(recovery->repo, name, result + 1) : 0;

	if (rc > 0)
		ews_strv_addf(recovery->done, "'%s' is pending no more", name);
	else if (rc < 0)
		ews_strv_addf(recovery->done, "'%s' is pending still: %s", name, ews_error_message());
	ews_error_clear();
}

static int finish(const struct ews_recovery *recovery, struct ews_step *step)
{
	EWS_CLEANUP(transition_result) struct ews_transition_result result = EWS_TRANSITION_RESULT_INIT;
	EWS_CLEANUP(free) char *commit = ews_strdup(step->commit ? step->commit : "");
	const bool is_new = step->state == EWS_STEP_PLANNED;
	int rc = 1;

	if (step->with_index)
		ews_stage_sweep(recovery->repo, step->created_s, true);
	if (step->state == EWS_STEP_PLANNED && *commit)
		rc = ews_transition_complete_commit(recovery->repo, step);
	if (rc <= 0)
		return rc < 0 ? rc : take_apply_back(recovery, step);
	rc = ews_recover_transition(&result, recovery, NULL, step, step->state == EWS_STEP_UNDOING);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	ews_strv_addf(recovery->done, "the interrupted %s%s of the project was finished; what was there is %s",
		      step->state == EWS_STEP_UNDONE ? "undo of the " : "", step->verb, result.kept_snapshot);
	ews_recover_say_since(recovery, "", &result);
	say_branch_left(recovery->done, step, commit);
	if (is_new)
		settle_pending(recovery, step);
	return 0;
}

/* Its work tree was taken out of the repository: nobody can go on with it, and what it kept goes when its time has come. */
static int leave(const struct ews_recovery *recovery, struct ews_step *step)
{
	EWS_CLEANUP(free) char *path = ews_whose_path(step, recovery->repo);
	int rc = ews_transition_give_up(recovery->repo, step);

	if (rc == 0)
		ews_strv_addf(recovery->done,
			      "the interrupted %s in '%s' stays as far as it came: that work tree is gone",
			      step->verb, path);
	return rc;
}

/* What waits for a recover in its own work tree is passed by. */
static int settle(const struct ews_recovery *recovery, struct ews_step *step)
{
	if (!strcmp(step->verb, "drop"))
		return finish_drop(recovery, step);
	if (*step->session)
		return 0;
	switch (ews_whose(step, recovery->repo)) {
	case EWS_WHOSE_OURS:
		return finish(recovery, step);
	case EWS_WHOSE_NOBODYS:
		return leave(recovery, step);
	case EWS_WHOSE_ANOTHERS:
	case EWS_WHOSE_UNKNOWN:
		break;
	}
	return 0;
}

/* Was it done, and the verb killed before it came to what that settles? One that has been undone since is its user's affair. */
static bool is_unsettled(const struct ews_step *step, const struct ews_steps *steps)
{
	if (step->state != EWS_STEP_DONE || step->undo_sequence || !step->settles || !*step->settles)
		return false;
	for (size_t i = 0; i < steps->n; i++)
		if (ews_pending_is_drop(&steps->items[i], step->settles) && ews_step_is_later(&steps->items[i], step))
			return false;
	return true;
}

int ews_recover_project(const struct ews_recovery *recovery)
{
	EWS_CLEANUP(steps) struct ews_steps steps = EWS_STEPS_INIT;
	EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;
	int rc = ews_repo_lock(&lock, recovery->repo, EWS_LOCK_PROJECT, "recover", 0);

	if (rc == 0)
		rc = ews_steps_list(&steps, recovery->repo, NULL);
	for (size_t i = 0; i < steps.n && rc == 0; i++)
		if (ews_step_is_unfinished(&steps.items[i])) {
			rc = ews_repo_refuse_anew(recovery->repo);
			if (rc == 0)
				rc = settle(recovery, &steps.items[i]);
		} else if (is_unsettled(&steps.items[i], &steps)) {
			settle_pending(recovery, &steps.items[i]);
		}
	return rc;
}
