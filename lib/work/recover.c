/*
 * Recover: see recover.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/recover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path_line.h"
#include "store/home.h"
#include "store/journal.h"
#include "store/reserve.h"
#include "work/end.h"
#include "work/end_step.h"
#include "work/holding.h"
#include "work/leaving.h"
#include "work/recover_owner.h"
#include "work/recover_project.h"
#include "work/recover_sweep.h"
#include "work/recover_transition.h"
#include "work/registration.h"
#include "work/relink.h"
#include "work/retire.h"
#include "work/revert.h"
#include "work/round.h"
#include "work/session_lock.h"
#include "work/session_name.h"
#include "work/session_open.h"
#include "work/session_place.h"
#include "work/session_project.h"
#include "work/stage.h"
#include "work/start.h"
#include "work/steps.h"
#include "work/whose.h"

#define UNBEGUN_WAIT_MS 5000 /* others may hold a session for a moment while its owner is at his own affairs */

static bool has_no_state(const struct ews_repo *repo, const char *id)
{
	EWS_CLEANUP(free) char *rel = ews_strfmt(EWS_WORKING_SESSIONS "/%s/state.json", id);

	return faccessat(repo->dir_fd, rel, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
}

/* A directory in sessions/ without a state: a start was killed before it wrote one. */
static bool is_stillborn(const struct ews_repo *repo, const char *id)
{
	return has_no_state(repo, id) && !ews_repo_is_locked(repo, id);
}

/* It could not be opened: does that last, and is nobody at work on it? The error that says why is left. */
static bool stays_closed(struct ews_repo *repo, const char *id)
{
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;

	/* Who was at work may have come to an end just before his lock was looked for. */
	return !ews_repo_is_locked(repo, id) && !is_stillborn(repo, id) &&
	       ews_session_open(&session, repo, id) < 0 && ews_error_code() != EWS_ENOTFOUND;
}

/* Its base is what no recover brings back. */
static void name_baseless(struct ews_strv *closed, const struct ews_session *session)
{
	if (session->state.state == EWS_STATE_ACTIVE && ews_session_need_base(session) == EWS_EDAMAGED)
		ews_strv_addf(closed, "%s\t%s; %s", session->state.id, ews_error_message(), ews_error_hint_text());
}

static bool needs_recovery(struct ews_strv *closed, struct ews_repo *repo, const char *id)
{
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	bool needs = false;

	if (is_stillborn(repo, id))
		return true;
	if (ews_session_open(&session, repo, id) == 0) {
		needs = ews_session_is_interrupted(&session);
		if (closed && !needs)
			name_baseless(closed, &session);
	} else if (closed && stays_closed(repo, id))
		ews_strv_addf(closed, "%s\t%s; 'git ews doctor' says what to do", id, ews_error_message());
	ews_error_clear();
	return needs;
}

/* Is it an unfinished step of this project itself? One of a work tree that is gone nobody else will see to. */
static bool is_own(const struct ews_step *step, const struct ews_repo *repo)
{
	enum ews_whose whose;

	if (!ews_step_is_unfinished(step) || !ews_step_is_of_project(step))
		return false;
	whose = ews_whose(step, repo);
	return whose == EWS_WHOSE_OURS || whose == EWS_WHOSE_NOBODYS;
}

/* A session in place has its work tree for a workspace. */
static int find_beside(struct ews_strv *out, struct ews_repo *repo)
{
	EWS_CLEANUP(strv) struct ews_strv ids = EWS_STRV_INIT;
	int rc = ews_session_ids(&ids, repo);

	for (size_t i = 0; i < ids.n; i++) {
		EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;

		if (ews_session_open_id(&session, repo, ids.items[i]) == 0 && session.repo != repo &&
		    ews_session_is_interrupted(&session))
			ews_strv_addf(
				out,
				"session '%s' in another work tree, '%s', was interrupted: 'git ews recover' there",
				ids.items[i], session.state.workspace);
		ews_error_clear(); /* what can't be opened is named as that */
	}
	return rc;
}

int ews_recover_elsewhere(struct ews_strv *out, struct ews_repo *repo)
{
	EWS_CLEANUP(steps) struct ews_steps steps = EWS_STEPS_INIT;
	int rc = find_beside(out, repo);

	if (rc == 0)
		rc = ews_steps_list(&steps, repo, NULL);
	if (rc < 0 || ews_repo_is_locked(repo, EWS_LOCK_PROJECT))
		return rc;
	for (size_t i = 0; i < steps.n; i++) {
		const struct ews_step *step = &steps.items[i];
		EWS_CLEANUP(free) char *path = NULL;

		if (!ews_step_is_unfinished(step) || !ews_step_is_of_project(step) || is_own(step, repo))
			continue;
		path = ews_whose_path(step, repo);
		if (path)
			ews_strv_addf(out,
				      "the %s in another work tree, '%s', was interrupted: 'git ews recover' there",
				      step->verb, path);
		else
			ews_strv_addf(out,
				      "the %s in one of the work trees was interrupted, and nobody has noted in which: 'git ews "
				      "undo %s' there, then 'git ews recover'",
				      step->verb, step->id);
	}
	return 0;
}

int ews_recover_list(struct ews_strv *out, struct ews_strv *closed, struct ews_repo *repo)
{
	EWS_CLEANUP(strv) struct ews_strv ids = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv rounds = EWS_STRV_INIT;
	EWS_CLEANUP(steps) struct ews_steps steps = EWS_STEPS_INIT;
	bool has_own = false;
	int rc = ews_session_ids(&ids, repo);

	if (rc == 0)
		rc = ews_steps_list(&steps, repo, NULL);
	if (rc == 0 && closed)
		rc = ews_rounds_damaged(&rounds, repo);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < rounds.n; i++)
		ews_strv_addf(closed, "\t%.*s; 'git ews doctor' says what to do",
			      (int)strcspn(rounds.items[i], "\t"), rounds.items[i]);
	for (size_t i = 0; i < steps.damaged.n && closed; i++)
		ews_strv_addf(closed,
			      "\tthe record of step '%s' makes no sense; 'git ews doctor --fix' sets it aside",
			      steps.damaged.items[i]);
	for (size_t i = 0; i < ids.n; i++)
		if (needs_recovery(closed, repo, ids.items[i]))
			ews_strv_add(out, ids.items[i]);
	for (size_t i = 0; i < steps.n; i++)
		has_own = has_own || is_own(&steps.items[i], repo);
	if (has_own && !ews_repo_is_locked(repo, EWS_LOCK_PROJECT))
		ews_strv_add(out, "");
	return 0;
}

/* Returns 1, or 0 where it isn't one any more: somebody took it back, and perhaps began another, before its lock was ours. */
static int recover_stillborn(struct ews_strv *done, struct ews_repo *repo, const char *id)
{
	EWS_CLEANUP(fd) int sessions = ews_repo_subdir(repo, EWS_WORKING_SESSIONS);
	EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;
	int rc = sessions < 0 ? sessions : ews_repo_lock(&lock, repo, id, "recover", 0);

	if (rc == 0 && !has_no_state(repo, id))
		return 0;
	if (rc == 0)
		rc = ews_file_remove_tree(sessions, id);
	if (rc == 0)
		rc = ews_retire_revive_last(repo, id);
	if (rc < 0)
		return rc;
	ews_strv_addf(done, "session '%s': its start had just begun and was taken back", id);
	return 1;
}

/* The step that the session's journal has begun and not done; none: state 0. */
static int find_step(struct ews_step *out, struct ews_session *session)
{
	EWS_CLEANUP(free) char *id = NULL;
	EWS_CLEANUP(free) char *verb = NULL;
	int rc = ews_journal_unfinished(&id, &verb, session->fd);

	if (rc < 0 || !*id)
		return rc;
	rc = ews_step_read(out, session->repo->dir_fd, id);
	if (rc == EWS_ENOTFOUND) {
		/* Removed as its last act before the journal could say so. */
		ews_error_clear();
		return ews_journal_done(session->fd, id);
	}
	if (rc == EWS_EDAMAGED)
		ews_error_hint("'git ews doctor --fix' sets the record aside; then the session stays as it is now");
	return rc;
}

/* "<path>\t<why>" */
static int fail_proof(const char *line)
{
	const char *why = ews_path_line_words(line);

	return ews_error(EWS_ENOTVERIFIED, "'%.*s' differs after all%s%s", (int)strcspn(line, "\t"), line,
			 *why ? ": " : "", why);
}

/* What it held while it wrote git's state: else that would be somebody's who is at it still. */
static void sweep_index_lock(const struct ews_session *session, const struct ews_step *step)
{
	EWS_CLEANUP(fd) int admin = ews_session_open_admin(session);

	if (admin >= 0)
		ews_stage_sweep_index(admin, session->state.workspace, step->created_s);
	ews_error_clear(); /* where there is none nobody holds one */
}

/* Put the session where its step wanted it. */
static int finish_transition(const struct ews_recovery *recovery, struct ews_session *session, struct ews_step *step)
{
	EWS_CLEANUP(transition_result) struct ews_transition_result result = EWS_TRANSITION_RESULT_INIT;
	bool back = step->state == EWS_STEP_UNDOING;
	int rc;

	sweep_index_lock(session, step);
	rc = ews_recover_transition(&result, recovery, session, step, back);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	if (!result.is_verified)
		return fail_proof(result.errors.items[0]);
	ews_strv_addf(recovery->done,
		      "session '%s': the interrupted %s%s was finished and verified; what was there is %s",
		      session->state.id, back ? "undo of its " : "", step->verb, result.kept_snapshot);
	ews_recover_say_since(recovery, session->state.id, &result);
	return 0;
}

/* What an end kept may have been deleted by hand, or let go beside an undo of older versions. */
static int take_end_back(struct ews_strv *done, struct ews_session *session, struct ews_step *step)
{
	EWS_CLEANUP(transition_result) struct ews_transition_result put = EWS_TRANSITION_RESULT_INIT;
	EWS_CLEANUP(free) char *why = NULL;
	int rc = ews_end_find_kept(NULL, session, step);

	if (rc == EWS_ENOTFOUND) {
		why = ews_strdup(ews_error_message());
		ews_error_clear();
		rc = ews_end_give_up(session, step);
	} else {
		if (rc == 0)
			rc = ews_holding_take_usual(session, 0);
		if (rc == 0)
			rc = ews_end_take_back(&put, session, step);
	}
	if (rc < 0)
		return rc;
	ews_strv_addf(done, "session '%s': its end %s%s", session->state.id,
		      why ? "can't be taken back: " : "was taken back", why ? why : "");
	for (size_t i = 0; i < put.branches.n; i++)
		ews_strv_addf(done, "session '%s': %s", session->state.id, put.branches.items[i]);
	return 0;
}

/* Whoever ended it could not see the workspace, as on a disk that was away: nothing of that has been kept. */
static int call_end_off(struct ews_strv *done, struct ews_session *session, struct ews_step *step)
{
	int rc = ews_end_call_off(session, step);

	if (rc == 0)
		ews_strv_addf(done, "session '%s': its end was taken back: its workspace is there after all",
			      session->state.id);
	return rc;
}

/* What no commit can have of a round keeps no end from being finished: it goes to trash with the workspace. */
static int keep_late(struct ews_strv *done, struct ews_session *session)
{
	int rc = ews_round_keep_late(session);

	if (rc == 0 || ews_error_errno())
		return rc;
	ews_strv_addf(done, "session '%s': what was done since its end is in trash alone: %s", session->state.id,
		      ews_error_message());
	ews_error_clear();
	return 0;
}

static int finish_end(struct ews_strv *done, struct ews_session *session, struct ews_step *step)
{
	int rc;

	if (step->state == EWS_STEP_UNDOING)
		return take_end_back(done, session, step);
	rc = ews_end_is_unkept(session, step);
	if (rc != 0)
		return rc < 0 ? rc : call_end_off(done, session, step);
	rc = keep_late(done, session);
	if (rc == 0)
		rc = ews_end_carry_out(session, step);
	if (rc == 0)
		ews_strv_addf(done, "session '%s': its end was finished", session->state.id);
	return rc;
}

/* Is there nothing any more that it could be finished in? Returns 1 or 0. One that git has moved, or is out of reach, comes back. */
static int has_no_place(const struct ews_session *session)
{
	int rc = session->is_out_of_reach ? 0 : ews_session_is_gone(session);
	EWS_CLEANUP(free) char *there = rc > 0 ? ews_session_moved_to(session) : NULL;

	return there ? 0 : rc;
}

static int give_up(struct ews_strv *done, struct ews_session *session, struct ews_step *step)
{
	int rc = ews_transition_give_up(session->repo, step);

	if (rc == 0)
		rc = ews_journal_done(session->fd, step->id);
	if (rc == 0)
		ews_strv_addf(done, "session '%s': the interrupted %s stays as far as it came: its %s",
			      session->state.id, step->verb,
			      session->is_lost ? "work tree is gone" : "workspace is gone");
	return rc;
}

static int recover_step(const struct ews_recovery *recovery, struct ews_session *session)
{
	EWS_CLEANUP(step) struct ews_step step = EWS_STEP_INIT;
	int rc = find_step(&step, session);

	if (rc < 0 || !step.state)
		return rc;
	if (!ews_step_is_unfinished(&step))
		return ews_journal_done(session->fd, step.id);
	if (!strcmp(step.verb, "end"))
		return finish_end(recovery->done, session, &step);
	rc = has_no_place(session);
	if (rc != 0)
		return rc < 0 ? rc : give_up(recovery->done, session, &step);
	return finish_transition(recovery, session, &step);
}

/* A record that was written and never begun in the journal: its effects had not begun either. */
static int drop_unbegun(struct ews_session *session)
{
	EWS_CLEANUP(steps) struct ews_steps steps = EWS_STEPS_INIT;
	int rc = ews_steps_list(&steps, session->repo, session->state.id);

	for (size_t i = 0; i < steps.n && rc == 0; i++) {
		struct ews_step *step = &steps.items[i];

		if (!ews_step_is_unfinished(step) || !strcmp(step->verb, "drop"))
			continue;
		if (step->state == EWS_STEP_PLANNED) {
			rc = ews_step_remove(session->repo->dir_fd, step->id);
			continue;
		}
		step->state = step->state == EWS_STEP_UNDOING ? EWS_STEP_DONE : EWS_STEP_UNDONE;
		ews_strv_clear(&step->moving);
		ews_strv_clear(&step->branches_moving);
		rc = ews_step_write(session->repo->dir_fd, step);
	}
	return rc;
}

/*
 * The session's state and the step's record are made durable together: of the two a power cut may have kept one. With no step
 * to finish, the record has the say.
 */
static int settle_ending(struct ews_strv *done, struct ews_session *session)
{
	EWS_CLEANUP(steps) struct ews_steps steps = EWS_STEPS_INIT;
	const struct ews_step *last = NULL;
	bool has_ended;
	int rc;

	if (session->state.state != EWS_STATE_ENDING)
		return 0;
	rc = ews_steps_list(&steps, session->repo, session->state.id);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < steps.n; i++)
		if (!strcmp(steps.items[i].verb, "end") && (!last || steps.items[i].sequence > last->sequence))
			last = &steps.items[i];
	has_ended = last && last->state == EWS_STEP_DONE;
	session->state.state = has_ended ? EWS_STATE_ENDED : EWS_STATE_ACTIVE;
	session->state.ended_s = has_ended ? ews_clock_now() : 0;
	rc = ews_session_save(session);
	if (rc == 0)
		ews_strv_addf(done, "session '%s': %s", session->state.id,
			      has_ended ? "its end was finished" : "its end had not begun");
	return rc;
}

static int discard(const struct ews_recovery *recovery, struct ews_session *session)
{
	EWS_CLEANUP(revert_result) struct ews_revert_result reverted = EWS_REVERT_RESULT_INIT;
	EWS_CLEANUP(end_result) struct ews_end_result ended = EWS_END_RESULT_INIT;
	const struct ews_revert_opts revert = { .verb = "revert",
						.progress = recovery->progress,
						.payload = recovery->payload };
	const struct ews_end_opts end = { .force = true,
					  .without_tree = !session->is_out_of_reach,
					  .progress = recovery->progress,
					  .payload = recovery->payload };
	int rc;

	if (session->state.state == EWS_STATE_ENDED)
		return 0;
	rc = ews_session_is_gone(session);
	if (rc < 0)
		return rc;
	if (!rc) {
		rc = ews_revert(&reverted, session, &revert);
		if (rc < 0)
			return rc;
		ews_strv_addf(recovery->done, "session '%s': reverted", session->state.id);
	}
	rc = ews_end(&ended, session, &end);
	if (rc == 0 && session->is_lost)
		ews_strv_addf(recovery->done, "session '%s': its work tree is %s; its snapshots are kept",
			      session->state.id, ews_session_lost_word(session));
	if (rc == 0)
		ews_strv_addf(recovery->done, "session '%s': ended; 'git ews undo %s' brings it back",
			      session->state.id, session->state.id);
	return rc;
}

static int recover_session(const struct ews_recovery *recovery, const char *id, enum ews_recover_choice choice)
{
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	struct ews_strv *done = recovery->done;
	int rc = is_stillborn(recovery->repo, id) ? recover_stillborn(done, recovery->repo, id) : 0;

	if (rc != 0)
		return rc < 0 ? rc : 0;
	rc = ews_session_open(&session, recovery->repo, id);
	if (rc == 0)
		rc = ews_session_lock_within(&session, "recover", recovery->unbegun ? UNBEGUN_WAIT_MS : 0);
	if (rc < 0)
		return rc;
	if (session.state.state == EWS_STATE_STARTING) {
		rc = ews_start_take_back(&session);
		if (rc == 0)
			ews_strv_addf(done, "session '%s': its start was taken back", id);
		return rc;
	}
	rc = recover_step(recovery, &session);
	if (rc == 0)
		rc = drop_unbegun(&session);
	if (rc == 0)
		rc = settle_ending(done, &session);
	if (rc == 0)
		ews_leaving_tell(done, &session);
	if (rc == 0 && session.state.state != EWS_STATE_ENDED)
		rc = ews_recover_owner(recovery, &session);
	if (rc == 0)
		rc = ews_registration_mend_one(done, &session);
	if (rc == 0 && choice != EWS_RECOVER_REVERT)
		rc = ews_relink(done, &session, recovery->progress, recovery->payload);
	if (rc == 0 && choice == EWS_RECOVER_REVERT)
		rc = discard(recovery, &session);
	return rc;
}

static int try_recover(struct ews_strv *done, struct ews_repo *repo, const char *id,
		       const struct ews_recover_opts *opts)
{
	const struct ews_recovery recovery = {
		.repo = repo, .done = done, .unbegun = opts->unbegun, .progress = opts->progress, .payload = opts->payload
	};
	/* What is half retired would be swept for nobody's. And a lock that a killed verb left on a ref would stand in the way. */
	int rc = *id ? 0 : ews_retire_mend(done, repo);

	if (rc == 0)
		rc = ews_recover_sweep(repo);
	if (rc == 0)
		rc = *id ? recover_session(&recovery, id, opts->choice) : ews_recover_project(&recovery);
	if (rc == 0 && !*id)
		rc = ews_registration_mend(done, repo);
	if (rc == 0 && !*id)
		rc = ews_rounds_mend(done, repo);
	if (rc == 0 && !*id)
		rc = ews_leaving_tell_all(done, repo);
	return rc < 0 ? rc : ews_recover_sweep(repo);
}

int ews_recover(struct ews_strv *done, struct ews_repo *repo, const char *id, const struct ews_recover_opts *opts)
{
	int rc = ews_repo_need_dir(repo);

	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		ews_recover_sweep_home(repo);
		return 0;
	}
	if (rc < 0)
		return rc;
	ews_reserve_ease(repo->home);
	rc = try_recover(done, repo, id, opts);
	/* A quota is met before the disk is full. */
	if (rc == EWS_ENOSPACE && ews_reserve_free(repo->home)) {
		ews_error_clear();
		rc = try_recover(done, repo, id, opts);
	}
	if (rc == 0)
		ews_reserve_make(repo->home);
	return rc;
}
