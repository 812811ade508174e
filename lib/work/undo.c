/*
 * Undo: see undo.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/undo.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "base/path_line.h"
#include "base/str.h"
#include "store/journal.h"
#include "store/lock.h"
#include "store/reserve.h"
#include "work/archive_trash.h"
#include "work/artifact.h"
#include "work/end.h"
#include "work/end_step.h"
#include "work/holding.h"
#include "work/pending.h"
#include "work/retire.h"
#include "work/round.h"
#include "work/session_lock.h"
#include "work/session_open.h"
#include "work/session_place.h"
#include "work/session_project.h"
#include "work/step_refs.h"
#include "work/steps.h"
#include "work/undo_words.h"
#include "work/whose.h"

void ews_undo_result_release(struct ews_undo_result *result)
{
	ews_step_release(&result->step);
	ews_transition_result_release(&result->put);
	free(result->workspace);
	ews_round_end_result_release(&result->ended);
}

/* Those that may be turned from here: the session's (NULL: all), but none of another work tree. */
static bool is_within_reach(const struct ews_step *step, const struct ews_repo *repo, const char *session)
{
	return ews_step_is_of(step, session) && ews_whose(step, repo) == EWS_WHOSE_OURS;
}

/* The step of `session` (NULL: of all) that is next: the newest one done, or (redo) the last one undone. NULL when there is none. */
static struct ews_step *choose(struct ews_steps *steps, const struct ews_repo *repo, const char *session, bool redo)
{
	struct ews_step *found = NULL;

	for (size_t i = 0; i < steps->n; i++) {
		struct ews_step *step = &steps->items[i];

		if (step->state != (redo ? EWS_STEP_UNDONE : EWS_STEP_DONE) || !is_within_reach(step, repo, session))
			continue;
		if (!redo)
			return step;
		if (!found || step->undo_sequence > found->undo_sequence)
			found = step;
	}
	return found;
}

/*
 * Of a step that an older version has made nobody knows which work tree it is of, where there are several. It may be the one to
 * turn: who names it says that it is of this one. `next` is what is to be turned without it, or NULL.
 */
static int refuse_unknown(const struct ews_steps *steps, const struct ews_repo *repo, const struct ews_step *next,
			  const char *session, bool redo)
{
	for (size_t i = 0; i < steps->n; i++) {
		const struct ews_step *step = &steps->items[i];

		if (step->state != (redo ? EWS_STEP_UNDONE : EWS_STEP_DONE) || !ews_step_is_of(step, session) ||
		    ews_whose(step, repo) != EWS_WHOSE_UNKNOWN)
			continue;
		if (next && (redo ? next->undo_sequence > step->undo_sequence : ews_step_is_later(next, step)))
			continue;
		ews_error(EWS_EUSAGE,
			  "nobody has noted in which work tree the '%s' of step '%s' was, which may be the one to %s",
			  step->verb, step->id, redo ? "redo" : "undo");
		ews_error_hint("where it was: 'git ews undo %s%s'", redo ? "--redo " : "", step->id);
		return EWS_EUSAGE;
	}
	return 0;
}

/*
 * Of a record that makes no sense nobody knows whether it is the step that is next, but that one of an earlier second is not
 * the newest.
 */
static int refuse_damaged(const struct ews_steps *steps, const struct ews_step *next, bool redo)
{
	const char *last = steps->damaged.n ? steps->damaged.items[steps->damaged.n - 1] : NULL;

	if (!last || (next && !redo && ews_step_is_earlier(last, next->id)))
		return 0;
	ews_error(EWS_EDAMAGED, "the record of step '%s' makes no sense, and it may be the one to %s", last,
		  redo ? "redo" : "undo");
	ews_error_hint(
		"'git ews doctor --fix' sets it aside; 'git ews snapshot list --trash' shows what steps have kept");
	return EWS_EDAMAGED;
}

/* Is nobody at work on the step any more? Fails with EWS_EBUSY while somebody is, or was until now. */
static int need_abandoned(struct ews_repo *repo, const struct ews_step *step)
{
	EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;
	EWS_CLEANUP(step) struct ews_step now = EWS_STEP_INIT;
	const char *name = ews_step_is_of_project(step) ? EWS_LOCK_PROJECT : step->session;
	int rc = ews_repo_lock(&lock, repo, name, "undo", 0);

	if (rc == 0)
		rc = ews_step_read(&now, repo->dir_fd, step->id);
	if (rc < 0 && rc != EWS_ENOTFOUND)
		return rc;
	if (rc == 0 && ews_step_is_unfinished(&now))
		return 0;
	ews_error(EWS_EBUSY, "the '%s' has come to its end meanwhile", step->verb);
	ews_error_hint("try again");
	return EWS_EBUSY;
}

static int refuse_unfinished(struct ews_repo *repo, const struct ews_steps *steps, const char *session)
{
	for (size_t i = 0; i < steps->n; i++) {
		const struct ews_step *step = &steps->items[i];
		int rc;

		if (!ews_step_is_of(step, session) || !ews_step_is_in_the_way(step, repo))
			continue;
		rc = need_abandoned(repo, step);
		return rc < 0 ? rc : ews_step_fail_unfinished(step, repo);
	}
	return 0;
}

/* It comes after all that was done so far. */
static void set_redone(struct ews_step *step, const struct ews_steps *steps)
{
	uint64_t last = 0, redo = 0;

	for (size_t i = 0; i < steps->n; i++) {
		last = steps->items[i].sequence > last ? steps->items[i].sequence : last;
		redo = steps->items[i].redo_sequence > redo ? steps->items[i].redo_sequence : redo;
	}
	step->redo_sequence = redo + 1;
	step->redone_after = last;
}

static uint64_t last_undo(const struct ews_steps *steps)
{
	uint64_t last = 0;

	for (size_t i = 0; i < steps->n; i++)
		last = steps->items[i].undo_sequence > last ? steps->items[i].undo_sequence : last;
	return last;
}

int ews_undo_target(struct ews_snapshot *out, struct ews_repo *repo, const struct ews_step *step, bool redo)
{
	const char *id = redo ? step->after : step->before;
	int rc = *id ? ews_snapshot_find(out, repo, id) : EWS_ENOTFOUND;

	if (rc != EWS_ENOTFOUND)
		return rc;
	ews_error(EWS_ENOTFOUND, "what the '%s' replaced is not kept any more", step->verb);
	ews_error_hint("the snapshot was taken out of '" EWS_REF_TRASH "'");
	return EWS_ENOTFOUND;
}

static int fail_expired(const struct ews_step *step, bool redo)
{
	ews_error(EWS_ENOTFOUND, "there is nothing left to %s: what the '%s' of %s kept has expired",
		  redo ? "redo" : "undo", step->verb, *step->session ? step->session : "the project");
	ews_error_hint("ews.trashExpire says how long trash is kept, and 'git ews clean --now' empties it");
	return EWS_ENOTFOUND;
}

/* Who stands in the wrong work tree looks for what he did in another: where that is; NULL: nowhere. The caller frees it. */
static char *find_elsewhere(const struct ews_steps *steps, const struct ews_repo *repo, const char *session, bool redo)
{
	for (size_t i = 0; i < steps->n; i++) {
		const struct ews_step *step = &steps->items[i];

		if (step->state == (redo ? EWS_STEP_UNDONE : EWS_STEP_DONE) && ews_step_is_of(step, session) &&
		    ews_whose(step, repo) == EWS_WHOSE_ANOTHERS)
			return ews_whose_path(step, repo);
	}
	return NULL;
}

/* The session has none, and others, or the project, have: whose the next of all is, and how that one is meant. */
static int fail_others(const struct ews_step *next, const char *session, bool redo)
{
	const char *option = redo ? "--redo " : "";
	const char *which = redo ? "the last that was undone" : "the newest step";

	ews_error(EWS_ENOTFOUND, "session '%s' has nothing to %s", session, redo ? "redo" : "undo");
	if (*next->session)
		ews_error_hint("%s is of session '%s': 'git ews undo %s%s'", which, next->session, option,
			       next->session);
	else
		ews_error_hint("%s is of the project: 'git ews undo %s%s'", which, option, next->id);
	return EWS_ENOTFOUND;
}

/* Nothing is left to turn; when that is because of its age, it is said. */
static int fail_nothing(struct ews_steps *steps, const struct ews_repo *repo, const char *session, bool redo)
{
	EWS_CLEANUP(free) char *elsewhere = find_elsewhere(steps, repo, session, redo);
	const struct ews_step *next = elsewhere || !session || !*session ? NULL : choose(steps, repo, NULL, redo);

	for (size_t i = 0; i < steps->n; i++)
		if (steps->items[i].state == EWS_STEP_EXPIRED && is_within_reach(&steps->items[i], repo, session))
			return fail_expired(&steps->items[i], redo);
	if (next)
		return fail_others(next, session, redo);
	ews_error(EWS_ENOTFOUND, "there is nothing to %s", redo ? "redo" : "undo");
	if (elsewhere)
		ews_error_hint("there is in another work tree: change to '%s'", elsewhere);
	else
		ews_error_hint("'git ews undo --list' shows the steps");
	return EWS_ENOTFOUND;
}

int ews_undo_transition(struct ews_transition_result *out, struct ews_repo *repo, struct ews_session *session,
			struct ews_step *step, const struct ews_undo_opts *opts)
{
	EWS_CLEANUP(snapshot) struct ews_snapshot target = EWS_SNAPSHOT_INIT;
	EWS_CLEANUP(snapshot) struct ews_snapshot base = EWS_SNAPSHOT_INIT;
	EWS_CLEANUP(snapshot) struct ews_snapshot left = EWS_SNAPSHOT_INIT;
	EWS_CLEANUP(strv) struct ews_strv paths = EWS_STRV_INIT;
	struct ews_transition_opts move = { .target = &target,
					    .is_retry = opts->is_retry,
					    .dry_run = opts->dry_run,
					    .spared = opts->spared,
					    .progress = opts->progress,
					    .payload = opts->payload };
	bool has_changed = false;
	int rc = ews_undo_target(&target, repo, step, opts->redo);

	if (rc == 0 && session) {
		rc = ews_snapshot_base(&base, session);
		move.base = &base;
	}
	if (rc == 0) {
		rc = ews_snapshot_find(&left, repo, opts->redo ? step->before : step->after);
		if (rc == 0)
			move.left = &left;
		else
			rc = ews_error_if_passing(rc); /* it has expired, and is not what is put back */
	}
	for (size_t i = 0; i < step->paths.n && rc == 0; i++) {
		EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;

		rc = ews_path_unescape(&path, step->paths.items[i], strlen(step->paths.items[i]));
		ews_strv_add(&paths, path.ptr);
	}
	if (rc < 0)
		return rc;
	if (step->is_exact)
		ews_strv_sort(&paths);
	if (paths.n)
		move.only = (const char *const *)paths.items;
	rc = ews_transition(out, &has_changed, repo, session, step, &move);
	if (rc < 0 || has_changed || opts->dry_run)
		return rc;
	/* Nothing was there to be taken back, so nothing was written: the step turns all the same. */
	step->state = EWS_STEP_UNDONE;
	return ews_step_write(repo->dir_fd, step);
}

/* In place an end reverts first: what that did is to be told, and without it there is no end. */
static int take_reverted(struct ews_undo_result *out)
{
	const struct ews_transition_result none = EWS_TRANSITION_RESULT_INIT;
	struct ews_end_result *ended = &out->ended.ended;
	const char *line, *why;

	if (!ended->has_reverted)
		return 0;
	out->put = ended->reverted.put;
	ended->reverted.put = none;
	if (out->put.is_verified)
		return 0;
	line = out->put.errors.items[0];
	why = ews_path_line_words(line);
	ews_error(EWS_ENOTVERIFIED, "the session goes on, since the project could not be put back: '%.*s'%s%s",
		  (int)strcspn(line, "\t"), line, *why ? ": " : "", why);
	ews_error_hint("'git ews end' says all that differs");
	return EWS_ENOTVERIFIED;
}

/* In place the project stays as it is; what that is is noted, for a redo takes back no more than what is done from now on. */
static int note_project(struct ews_step *step, struct ews_session *session, const struct ews_undo_opts *opts)
{
	char *seen = NULL;
	int rc = 0;

	if (session->method->is_project && !session->is_lost && !step->leaves_project)
		rc = ews_end_see(&seen, session, opts->progress, opts->payload);
	if (rc < 0)
		return rc;
	free(step->after);
	step->after = seen ? seen : ews_strdup("");
	return 0;
}

static int turn_end(struct ews_undo_result *out, struct ews_session *session, struct ews_step *step,
		    const struct ews_undo_opts *opts)
{
	const struct ews_farewell_opts artifacts = { .split = false };
	struct ews_end_opts end = { .redone = step, .progress = opts->progress, .payload = opts->payload };
	EWS_CLEANUP(snapshot) struct ews_snapshot seen = EWS_SNAPSHOT_INIT;
	int rc;

	if (opts->redo) {
		/* Ended anew, as a step of its own: what was done since the undo is kept as well. In place, where nothing was, as this one. */
		rc = ews_session_stand_in_project(session);
		if (rc == 0 && *step->after)
			rc = ews_undo_target(&seen, session->repo, step, true);
		if (rc == 0)
			rc = ews_farewell_is_wanted(session->repo);
		if (rc < 0)
			return rc;
		end.artifacts = rc ? &artifacts : NULL;
		end.pending = ews_pending_is_step(step);
		end.no_revert = step->leaves_project;
		rc = ews_round_end_again(&out->ended, session, &end);
		if (rc == 0)
			rc = take_reverted(out);
		if (rc < 0 || (out->ended.ended.undo && !strcmp(out->ended.ended.undo, step->id)))
			return rc;
		return ews_step_remove(session->repo->dir_fd, step->id);
	}
	if (!session->method->is_project && access(session->state.workspace, F_OK) == 0 &&
	    !ews_end_is_back(session, step)) {
		ews_error(EWS_EEXISTS, "something else stands in the workspace's place: '%s'",
			  session->state.workspace);
		ews_error_hint("move it away, then try again");
		return EWS_EEXISTS;
	}
	rc = ews_end_find_kept(NULL, session, step);
	if (rc == 0 && !session->method->is_project)
		rc = ews_session_make_parent(session);
	if (rc == 0)
		rc = ews_session_refuse_company(session);
	if (rc == 0)
		rc = note_project(step, session, opts);
	if (rc == 0)
		rc = ews_holding_take_usual(session, 0);
	if (rc == 0)
		rc = ews_journal_begin(session->fd, step->id, step->verb);
	if (rc == 0)
		rc = ews_step_write(session->repo->dir_fd, step);
	if (rc == 0)
		rc = ews_end_take_back(&out->put, session, step);
	if (rc == 0 && ews_round_scratch_back(session) < 0)
		ews_error_clear(); /* the end is taken back, and who asks where scratch is hears why there is none */
	if (rc == 0 && !session->is_lost)
		out->workspace = ews_strdup(session->state.workspace);
	return rc;
}

static int move_drop(struct ews_repo *repo, const struct ews_step *step, bool back)
{
	int rc = ews_step_refs_move(repo, step, back);

	return rc < 0 ? rc : ews_archive_move_all(repo, step, back);
}

/* All or nothing, as with a drop itself: where it can't be turned it is as it was. */
static int turn_back(struct ews_repo *repo, struct ews_step *step, bool redo)
{
	struct ews_error_saved why = EWS_ERROR_SAVED_INIT;

	ews_error_save(&why);
	if (move_drop(repo, step, redo) == 0) {
		step->state = redo ? EWS_STEP_UNDONE : EWS_STEP_DONE;
		(void)ews_step_write(repo->dir_fd, step); /* what can't be written is recover's */
	}
	return ews_error_restore(&why);
}

static int turn_drop(struct ews_repo *repo, struct ews_step *step, const struct ews_undo_opts *opts)
{
	bool redo = opts->redo;
	int rc = redo ? ews_pending_drop_anew(step, repo) : 0;

	if (rc == 0)
		rc = ews_step_refs_find(repo, step);
	if (rc == 0)
		rc = ews_step_refs_check(repo, step);
	if (rc == 0 && !redo)
		rc = ews_archive_find_all(repo, step);
	if (rc < 0 || opts->dry_run)
		return rc;
	rc = ews_step_write(repo->dir_fd, step);
	if (rc < 0)
		return rc;
	rc = move_drop(repo, step, !redo);
	if (rc < 0)
		return turn_back(repo, step, redo);
	step->state = redo ? EWS_STEP_DONE : EWS_STEP_UNDONE;
	rc = ews_step_write(repo->dir_fd, step);
	/* Their files follow now, or with the next look at them. */
	if (rc == 0 && step->refs.n && ews_str_begins(step->refs.items[0], EWS_REF_ARTIFACTS) &&
	    ews_artifact_settle(repo, false) < 0)
		ews_error_clear();
	return rc;
}

/*
 * The step was chosen before the lock was ours, and its record is what will be written: whoever held the lock meanwhile may
 * have turned it, or let go of what it kept.
 */
static int take_up(struct ews_repo *repo, struct ews_step *step, const struct ews_undo_opts *opts)
{
	EWS_CLEANUP(step) struct ews_step now = EWS_STEP_INIT;
	int rc = ews_step_read(&now, repo->dir_fd, step->id);

	if (rc < 0 && rc != EWS_ENOTFOUND)
		return rc;
	if (rc == 0 && now.state == EWS_STEP_EXPIRED)
		return fail_expired(&now, opts->redo);
	if (rc < 0 || now.state != (opts->redo ? EWS_STEP_UNDONE : EWS_STEP_DONE)) {
		ews_error(EWS_EBUSY, "the '%s' was %s meanwhile", step->verb,
			  opts->redo ? "done again" : "taken back");
		ews_error_hint("try again");
		return EWS_EBUSY;
	}
	if (!opts->dry_run) {
		now.state = opts->redo ? EWS_STEP_REDOING : EWS_STEP_UNDOING;
		now.undo_sequence = step->undo_sequence;
		now.redo_sequence = step->redo_sequence;
		now.redone_after = step->redone_after;
	}
	ews_step_release(step);
	*step = now;
	now = (struct ews_step)EWS_STEP_INIT;
	return 0;
}

static int open_session(struct ews_session *out, struct ews_repo *repo, struct ews_step *step)
{
	int rc = ews_retire_revive(repo, step);

	if (rc == 0)
		rc = ews_session_open(out, repo, step->session);
	if (rc == 0 && ews_session_is_interrupted(out))
		return ews_session_fail_interrupted(step->session);
	return rc < 0 ? rc : ews_session_lock(out, "undo");
}

static int refuse_ended(const struct ews_step *step)
{
	ews_error(EWS_ENOTFOUND, "session '%s' has ended", step->session);
	ews_error_hint("undo the end first: 'git ews undo %s'", step->session);
	return EWS_ENOTFOUND;
}

static int turn_of_session(struct ews_undo_result *out, struct ews_repo *repo, struct ews_step *step,
			   const struct ews_undo_opts *opts)
{
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	int rc = open_session(&session, repo, step);

	if (rc == 0)
		rc = take_up(repo, step, opts);
	if (rc < 0)
		return rc;
	if (!strcmp(step->verb, "end")) {
		if (!opts->dry_run)
			return turn_end(out, &session, step, opts);
		return opts->redo ? 0 : ews_end_foresee(&out->put, &session, step);
	}
	if (session.state.state == EWS_STATE_ENDED)
		return refuse_ended(step);
	return ews_undo_transition(&out->put, repo, &session, step, opts);
}

/* A step of the project itself, or one whose snapshots may be those of several sessions. */
static int turn_of_project(struct ews_undo_result *out, struct ews_repo *repo, struct ews_step *step,
			   const struct ews_undo_opts *opts)
{
	EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;
	bool is_drop = !strcmp(step->verb, "drop");
	int rc = ews_repo_lock(&lock, repo, EWS_LOCK_PROJECT, "undo", 0);

	if (rc == 0 && !is_drop && !opts->dry_run)
		rc = ews_repo_refuse_anew(repo);
	if (rc == 0)
		rc = take_up(repo, step, opts);
	if (rc < 0)
		return rc;
	if (!is_drop)
		return ews_undo_transition(&out->put, repo, NULL, step, opts);
	return turn_drop(repo, step, opts);
}

static int turn(struct ews_undo_result *out, struct ews_repo *repo, struct ews_step *step,
		const struct ews_undo_opts *opts)
{
	if (ews_step_is_of_project(step))
		return turn_of_project(out, repo, step, opts);
	/* Another session may have its id now: only who means it brings such a record back. */
	if (opts->dry_run && ews_retire_is_name(step->session))
		return strcmp(step->verb, "end") != 0 ? refuse_ended(step) : 0;
	return turn_of_session(out, repo, step, opts);
}

/* Did the end `step` revert first, in place? Then that stands before it, and has kept the same state. */
static bool has_reverted(const struct ews_steps *steps, const struct ews_step *step)
{
	if (strcmp(step->verb, "end") != 0 || !step->before || !*step->before)
		return false;
	for (size_t i = 0; i < steps->n; i++) {
		const struct ews_step *other = &steps->items[i];

		if (other->state == EWS_STEP_DONE && !strcmp(other->verb, "revert") &&
		    !strcmp(other->session, step->session) && other->before && !strcmp(other->before, step->before))
			return true;
	}
	return false;
}

/* What is but tried notes nothing, and recover would not know whose it is. */
static int refuse_unnoted(struct ews_repo *repo, const struct ews_step *step)
{
	int rc = need_abandoned(repo, step);

	if (rc < 0)
		return rc;
	ews_error(EWS_EINTERRUPTED, "the '%s' was interrupted, and nobody has noted in which work tree", step->verb);
	ews_error_hint("where it was: 'git ews undo %s', then 'git ews recover --all'", step->id);
	return EWS_EINTERRUPTED;
}

/* Nobody has noted whose it is: who names it here has said it. */
static int take_over(struct ews_step *step, struct ews_repo *repo, bool dry_run)
{
	EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;
	EWS_CLEANUP(step) struct ews_step now = EWS_STEP_INIT;
	int rc;

	if (dry_run && ews_step_is_unfinished(step))
		return refuse_unnoted(repo, step);
	ews_whose_set(step, repo);
	if (dry_run)
		return 0;
	rc = ews_repo_lock(&lock, repo, EWS_LOCK_PROJECT, "undo", 0);
	if (rc == 0)
		rc = ews_step_read(&now, repo->dir_fd, step->id);
	if (rc < 0)
		return rc;
	ews_whose_set(&now, repo);
	return ews_step_write(repo->dir_fd, &now);
}

/* Is it of this work tree? */
static int claim(struct ews_step *step, struct ews_repo *repo, bool dry_run)
{
	EWS_CLEANUP(free) char *path = ews_whose_path(step, repo);

	switch (ews_whose(step, repo)) {
	case EWS_WHOSE_OURS:
		return 0;
	case EWS_WHOSE_UNKNOWN:
		return take_over(step, repo, dry_run);
	case EWS_WHOSE_ANOTHERS:
		ews_error(EWS_ENOTFOUND, "step '%s' is of another work tree: '%s'", step->id, path);
		ews_error_hint("change to '%s'", path);
		return EWS_ENOTFOUND;
	case EWS_WHOSE_NOBODYS:
		break;
	}
	ews_error(EWS_ENOTFOUND, "step '%s' is of a work tree that is gone: '%s'", step->id, path);
	if (*step->before || *step->after)
		ews_error_hint("'git ews snapshot show %s' has what was there",
			       *step->before ? step->before : step->after);
	return EWS_ENOTFOUND;
}

/*
 * Whose the step is that is meant: a session, or "", the project. That way the project's own steps are to be had behind an end
 * whose session's name somebody else has by now.
 */
static int find_owner(const char **owner, const struct ews_steps *steps, struct ews_repo *repo,
		      const struct ews_undo_opts *opts)
{
	EWS_CLEANUP(free) char *undo = NULL;

	for (size_t i = 0; i < steps->n; i++) {
		if (strcmp(steps->items[i].id, opts->step) != 0)
			continue;
		*owner = steps->items[i].session;
		return claim(&steps->items[i], repo, opts->dry_run);
	}
	ews_error(EWS_ENOTFOUND, "there is no step '%s'", opts->step);
	undo = ews_undo_words(repo, NULL);
	ews_error_hint("'%s --list' shows the steps", undo);
	return EWS_ENOTFOUND;
}

static int refuse_other(const struct ews_step *next, const struct ews_repo *repo, const struct ews_undo_opts *opts)
{
	const char *verb = opts->redo ? "redo" : "undo";
	EWS_CLEANUP(free) char *undo = NULL;

	if (!opts->step || !strcmp(next->id, opts->step))
		return 0;
	ews_error(EWS_ENOTFOUND, "step '%s' is not the next to %s of %s", opts->step, verb,
		  *next->session ? next->session : "the project");
	undo = ews_undo_words(repo, NULL);
	ews_error_hint("that is '%s'; '%s --list' shows the steps", next->id, undo);
	return EWS_ENOTFOUND;
}

int ews_undo(struct ews_undo_result *out, struct ews_repo *repo, const char *session, const struct ews_undo_opts *opts)
{
	EWS_CLEANUP(steps) struct ews_steps steps = EWS_STEPS_INIT;
	struct ews_step *step;
	int rc;

	ews_reserve_ease(repo->home);
	/* Whoever names no session next asks for the last of all: what is numbered here is numbered among these. */
	rc = ews_steps_list(&steps, repo, NULL);
	if (rc == 0 && opts->step)
		rc = find_owner(&session, &steps, repo, opts);
	if (rc == 0)
		rc = refuse_unfinished(repo, &steps, session);
	if (rc < 0)
		return rc;
	step = choose(&steps, repo, session, opts->redo);
	rc = refuse_damaged(&steps, step, opts->redo);
	if (rc == 0 && !opts->step)
		rc = refuse_unknown(&steps, repo, step, session, opts->redo);
	if (rc < 0)
		return rc;
	if (!step)
		return fail_nothing(&steps, repo, session, opts->redo);
	rc = refuse_other(step, repo, opts);
	if (rc < 0)
		return rc;
	step->undo_sequence = opts->redo ? 0 : last_undo(&steps) + 1;
	step->redo_sequence = 0;
	if (opts->redo)
		set_redone(step, &steps);
	rc = turn(out, repo, step, opts);
	if (rc < 0)
		return rc;
	out->has_reverted = !opts->redo && has_reverted(&steps, step);
	out->step = *step;
	*step = (struct ews_step)EWS_STEP_INIT;
	return 0;
}
