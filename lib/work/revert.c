/*
 * Revert: see revert.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/revert.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/sync.h"
#include "store/reserve.h"
#include "work/anew.h"
#include "work/head.h"
#include "work/proof.h"
#include "work/session_lock.h"
#include "work/session_place.h"
#include "work/tripwire.h"
#include "work/tripwire_commands.h"
#include "work/steps.h"
#include "work/whose.h"

void ews_revert_result_release(struct ews_revert_result *result)
{
	ews_transition_result_release(&result->put);
	ews_strv_release(&result->ref_commands);
	free(result->undo);
}

/* A step for the journal, from options and to a target; paths are remembered for recover and undo. */
static int make_step(struct ews_step *step, struct ews_repo *repo, const struct ews_session *session,
		     const struct ews_revert_opts *opts, const struct ews_snapshot *target)
{
	int rc = ews_step_init(step, repo->dir_fd, opts->verb, session ? session->state.id : NULL);

	if (rc < 0)
		return rc;
	if (!session || session->method->is_project)
		ews_whose_set(step, repo);
	free(step->after);
	step->after = ews_strdup(target->id);
	step->with_owners = opts->owners;
	step->is_git_alone = opts->git_alone;
	ews_step_set_paths(step, opts->only);
	return 0;
}

/* What was found is for those who ask later as well: a report, say. */
static int keep_proof(const struct ews_transition_result *put, const struct ews_session *session,
		      const struct ews_revert_opts *opts, const char *target)
{
	const struct ews_proof proof = { .made_s = ews_clock_now(),
					 .target = (char *)target,
					 .is_partial = opts->only != NULL,
					 .original_hash = (char *)put->original_hash,
					 .current_hash = (char *)put->current_hash,
					 .is_verified = put->is_verified,
					 .restored = put->restored.n,
					 .deleted = put->deleted.n,
					 .differing = put->errors.n };

	return ews_proof_write(session, &proof);
}

/* The log's line and the proof. They are durable where something was done: what was found as it is can be found again. */
static int tell(const struct ews_transition_result *put, struct ews_session *session,
		const struct ews_revert_opts *opts, const char *target, bool has_changed)
{
	EWS_CLEANUP(sync_group) struct ews_sync_group group = EWS_SYNC_GROUP_INIT;
	int rc;

	ews_sync_begin(&group);
	rc = ews_session_log(session, opts->verb, target);
	if (rc == 0)
		rc = keep_proof(put, session, opts, target);
	if (rc < 0)
		return rc;
	return has_changed ? ews_sync_finish(&group) : ews_sync_finish_unsynced(&group);
}

static int go(struct ews_revert_result *out, struct ews_repo *repo, struct ews_session *session,
	      const struct ews_snapshot *target, const struct ews_snapshot *base, const struct ews_snapshot *seen,
	      const struct ews_revert_opts *opts)
{
	EWS_CLEANUP(step) struct ews_step step = EWS_STEP_INIT;
	struct ews_transition_opts move = { .target = target,
					    .left = seen,
					    .base = base,
					    .only = opts->only,
					    .full = opts->full,
					    .accepts_refreshed = opts->is_redone,
					    .dry_run = opts->dry_run,
					    .progress = opts->progress,
					    .payload = opts->payload,
					    .kept = opts->kept,
					    .kept_payload = opts->kept_payload };
	bool has_changed = false;
	int rc = make_step(&step, repo, session, opts, target);

	if (rc == 0)
		rc = ews_transition(&out->put, &has_changed, repo, session, &step, &move);
	if (rc == 0 && has_changed)
		out->undo = ews_strdup(step.id);
	if (rc == 0 && session && !opts->dry_run)
		rc = tell(&out->put, session, opts, target->id, has_changed);
	return rc;
}

/* The branch that HEAD is on, there or not; NULL: none, or nobody can tell. The caller frees it. */
static char *present_branch(struct ews_repo *repo)
{
	EWS_CLEANUP(gitstate) struct ews_gitstate git = EWS_GITSTATE_INIT;

	if (ews_gitstate_read_files(&git, repo->git_fd) == 0)
		return ews_head_last_ref(repo, &git);
	ews_error_clear(); /* whoever reverts has been told */
	return NULL;
}

/*
 * The branch that HEAD is on belongs to the state: index and files are of its commit. So it is known as the target has it, or as it is,
 * where it is left alone, or nothing was done yet; elsewhere than these it would tear them apart.
 */
static void expect_branch(struct ews_tripwire *before, const struct ews_tripwire *now, struct ews_repo *repo,
			  const struct ews_snapshot *target, const struct ews_revert_opts *opts)
{
	EWS_CLEANUP(free)
	char *branch = opts->only ? present_branch(repo) : ews_strdup(target->branch ? target->branch : "");
	EWS_CLEANUP(free) char *name = NULL;
	char hex[EWS_OID_HEX_MAX];

	if (!branch || !*branch)
		return;
	name = ews_strfmt("ref %s", branch);
	if (opts->only || opts->dry_run)
		ews_tripwire_set(before, name, ews_tripwire_find(now, name));
	else
		ews_tripwire_set(before, name,
				 ews_oid_is_none(&target->head) ? NULL : ews_oid_hex(hex, &target->head));
}

/* In place refs are the project's own, and the state has but the branch that HEAD is on: the others are compared with the start. */
static int find_moved_refs(struct ews_revert_result *out, const struct ews_session *session,
			   const struct ews_snapshot *target, const struct ews_revert_opts *opts)
{
	EWS_CLEANUP(tripwire) struct ews_tripwire before = EWS_TRIPWIRE_INIT;
	EWS_CLEANUP(tripwire) struct ews_tripwire now = EWS_TRIPWIRE_INIT;
	int rc;

	if (!session->method->is_project)
		return 0;
	rc = ews_tripwire_read(&before, session->fd);
	if (rc == 0)
		rc = ews_tripwire_take(&now, session->repo);
	if (rc < 0)
		return rc;
	expect_branch(&before, &now, session->repo, target, opts);
	ews_tripwire_ref_commands(&out->ref_commands, &before, &now, session->repo);
	return 0;
}

/*
 * What was seen last, where a person works on the same files as the agent: what changed
 * since then is named. What it was put to before (`redone`) is that. Returns 1 when there is such a snapshot, 0 when nothing was seen.
 */
static int find_seen(struct ews_snapshot *out, const struct ews_session *session, const struct ews_snapshot *redone)
{
	const char *last = session->state.last_snapshot;
	int rc;

	if (redone) {
		ews_snapshot_copy(out, redone);
		return 1;
	}
	if (!session->method->is_project || !*last || !strcmp(last, session->state.base_snapshot))
		return 0;
	rc = ews_snapshot_find(out, session->repo, last);
	return rc < 0 ? ews_error_if_passing(rc) : 1; /* dropped: then nothing was seen */
}

int ews_revert(struct ews_revert_result *out, struct ews_session *session, const struct ews_revert_opts *opts)
{
	EWS_CLEANUP(snapshot) struct ews_snapshot base = EWS_SNAPSHOT_INIT;
	EWS_CLEANUP(snapshot) struct ews_snapshot target = EWS_SNAPSHOT_INIT;
	EWS_CLEANUP(snapshot) struct ews_snapshot seen = EWS_SNAPSHOT_INIT;
	int rc;

	ews_reserve_ease(session->repo->home);
	ews_session_read_early(session);
	rc = ews_session_lock_settled(session, opts->verb);
	if (rc == 0)
		rc = ews_session_refuse_ended(session);
	if (rc == 0)
		ews_session_look_early(session);
	if (rc == 0)
		rc = ews_snapshot_base(&base, session);
	if (rc == 0 && opts->to)
		rc = ews_snapshot_find(&target, session->repo, opts->to);
	else if (rc == 0)
		ews_snapshot_copy(&target, &base);
	if (rc == 0)
		rc = find_seen(&seen, session, opts->is_redone ? &target : NULL);
	if (rc >= 0)
		rc = go(out, session->repo, session, &target, &base, rc > 0 ? &seen : NULL, opts);
	return rc < 0 ? rc : find_moved_refs(out, session, &target, opts);
}

int ews_restore_project(struct ews_revert_result *out, struct ews_repo *repo, const struct ews_snapshot *snapshot,
			const struct ews_revert_opts *opts)
{
	EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;
	int rc = ews_repo_lock(&lock, repo, EWS_LOCK_PROJECT, opts->verb, 0);

	if (rc == 0 && !opts->dry_run)
		rc = ews_anew_settle(repo);
	if (rc == 0)
		rc = ews_steps_refuse_unfinished(repo);
	return rc < 0 ? rc : go(out, repo, NULL, snapshot, NULL, NULL, opts);
}
