/*
 * End: see end.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/end.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/beside.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/path.h"
#include "base/path_line.h"
#include "base/shell_word.h"
#include "base/sync.h"
#include "store/hardlink.h"
#include "store/journal.h"
#include "store/reserve.h"
#include "store/step.h"
#include "work/branch.h"
#include "work/end_step.h"
#include "work/finding.h"
#include "work/history.h"
#include "work/ignored.h"
#include "work/inuse.h"
#include "work/leaving.h"
#include "work/look.h"
#include "work/pending.h"
#include "work/remains.h"
#include "work/session_lock.h"
#include "work/session_log.h"
#include "work/session_place.h"
#include "work/session_project.h"
#include "work/snapshot.h"
#include "work/snapshot_rewritten.h"
#include "work/tripwire.h"
#include "work/tripwire_compare.h"
#include "work/whose.h"

#define USERS_WAIT_MS 500

void ews_end_result_release(struct ews_end_result *result)
{
	free(result->kept_snapshot);
	free(result->pending_name);
	free(result->branch_commit);
	ews_farewell_release(&result->stored);
	free(result->undo);
	ews_revert_result_release(&result->reverted);
	ews_strv_release(&result->drift);
	ews_strv_release(&result->skipped);
	ews_strv_release(&result->unfiltered);
	ews_branch_notes_release(&result->branch_notes);
	*result = (struct ews_end_result)EWS_END_RESULT_INIT;
}

/* What of the project changed since the start, which nothing that an end does has a part in. */
struct drift {
	struct ews_end_result *out;
	struct ews_session *session;
	struct ews_repo *project; /* NULL: it is gone */
};

/* Was the base, by somebody? One that can't be read is told of where it is needed. */
static void tell_rewritten(struct ews_strv *out, const struct ews_session *session)
{
	EWS_CLEANUP(snapshot) struct ews_snapshot base = EWS_SNAPSHOT_INIT;

	if (ews_snapshot_base(&base, session) < 0)
		ews_error_clear();
	ews_rewritten_tell(out, &base);
}

/* It informs; a project that is gone must not keep a session from its end, nor a record that is. */
static struct drift drift_of(struct ews_end_result *out, struct ews_session *session)
{
	struct drift drift = { out, session, NULL };

	if (ews_session_project(&drift.project, session) < 0)
		ews_error_clear();
	tell_rewritten(&out->drift, session);
	return drift;
}

/* Never fails. */
static int name_drift(void *payload)
{
	const struct drift *drift = payload;
	EWS_CLEANUP(tripwire) struct ews_tripwire before = EWS_TRIPWIRE_INIT;
	EWS_CLEANUP(tripwire) struct ews_tripwire now = EWS_TRIPWIRE_INIT;

	if (!drift->project)
		return 0;
	if (ews_tripwire_read(&before, drift->session->fd) < 0 || ews_tripwire_take(&now, drift->project) < 0 ||
	    ews_tripwire_compare(&drift->out->drift, &before, &now) < 0)
		ews_error_clear();
	return 0;
}

/*
 * The commits of a private repository outlive its directory in trash. One that is not whole goes there as it is.
 * Returns 1 when there was something that the store lacked.
 */
static int adopt(struct ews_end_result *out, struct ews_session *session, const struct ews_content *now)
{
	int rc = ews_history_adopt(session, &out->skipped, &now->git);

	if (rc != EWS_EDAMAGED)
		return rc;
	ews_strv_addf(&out->skipped, ".git\t%s", ews_error_message());
	ews_error_clear();
	return 0;
}

/* Keep what is in the workspace now as a snapshot in trash. */
static int keep(struct ews_end_result *out, struct ews_session *session, const struct ews_end_opts *opts)
{
	struct ews_repo *repo = session->repo;
	EWS_CLEANUP(batch) struct ews_batch *batch = ews_batch_new(repo->odb);
	EWS_CLEANUP(snapshot) struct ews_snapshot base = EWS_SNAPSHOT_INIT;
	EWS_CLEANUP(snapshot) struct ews_snapshot kept = EWS_SNAPSHOT_INIT;
	EWS_CLEANUP(content) struct ews_content base_content = EWS_CONTENT_INIT;
	EWS_CLEANUP(content) struct ews_content now = EWS_CONTENT_INIT;
	EWS_CLEANUP(strv) struct ews_strv differences = EWS_STRV_INIT;
	EWS_CLEANUP(oids) struct ews_oids known = EWS_OIDS_INIT;
	struct ews_snapshot_reading reading = { .out = &base_content, .repo = repo, .snapshot = &base };
	struct ews_content_opts now_opts = { .partial = true,
					     .is_wary = true,
					     .known = &base_content,
					     .read_known = ews_snapshot_reading_finish,
					     .known_payload = &reading,
					     .index_may_wait = true,
					     .progress = opts->progress,
					     .payload = opts->payload };
	struct ews_snapshot_opts keep_opts = { .session = session,
					       .subject = "ews: state before end",
					       .parent = session->state.last_snapshot,
					       .prefix = EWS_REF_TRASH,
					       .is_as_found = true,
					       .closed = &out->skipped };
	bool has_moved = false;
	int rc = ews_snapshot_base(&base, session);
	int has_commits;

	ews_batch_be_wary(batch);
	out->is_baseless = rc == EWS_EDAMAGED && opts->without_base;
	if (out->is_baseless) {
		ews_error_clear();
		now_opts.known = NULL;
		now_opts.read_known = NULL;
		rc = 0;
	} else if (rc == 0) {
		rc = ews_snapshot_reading_begin(&reading);
	}
	if (rc == 0)
		rc = ews_content_now(&now, repo, session, opts->dry_run ? NULL : batch, &now_opts);
	if (rc == 0)
		rc = ews_ignored_settle(&now, session, &base_content, now_opts.read_known, &reading, false);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < now.scan.skips.n; i++) {
		has_moved = has_moved || now.scan.skips.items[i].reason == EWS_SKIP_REPOSITORY_MOVED;
		if (now.scan.skips.items[i].reason == EWS_SKIP_OWN ||
		    now.scan.skips.items[i].reason == EWS_SKIP_PRESENT)
			continue;
		ews_path_line_add(&out->skipped, now.scan.skips.items[i].path,
				  ews_skip_word(now.scan.skips.items[i].reason));
	}
	rc = ews_content_compare_git(&differences, &now, session, &base_content.git);
	if (rc == 0 && !opts->dry_run)
		rc = adopt(out, session, &now);
	if (rc < 0)
		return rc;
	if (!ews_oid_is_none(&base.head))
		ews_oids_add(&known, &base.head);
	has_commits = ews_history_has_own(&out->skipped, session, &known);
	if (has_commits < 0)
		return has_commits;
	out->differs = out->is_baseless || strcmp(now.hash, base.hash) || differences.n || rc > 0 || has_moved ||
		       !ews_hardlinks_equal(&base_content.scan.entries, &now.scan.entries) ||
		       ews_content_root_mode_differs(&now, &base_content) ||
		       ews_content_root_xattrs_differ(&now, &base_content) || has_commits;
	if (!out->differs || opts->dry_run)
		return 0;
	/* Of many files it takes as much memory as what is kept. */
	ews_content_release(&base_content);
	ews_alloc_give_back();
	rc = ews_snapshot_keep(&kept, repo, batch, &now, &keep_opts);
	if (rc < 0)
		return rc;
	out->kept_snapshot = ews_strdup(kept.id);
	out->had_damaged_head = kept.is_head_damaged;
	return 0;
}

int ews_end_see(char **snapshot, struct ews_session *session, ews_progress_fn progress, void *payload)
{
	EWS_CLEANUP(end_result) struct ews_end_result seen = EWS_END_RESULT_INIT;
	const struct ews_end_opts opts = { .without_base = true, .progress = progress, .payload = payload };
	int rc = ews_session_stand_in_project(session);

	if (rc == 0)
		rc = keep(&seen, session, &opts);
	*snapshot = rc == 0 ? seen.kept_snapshot : NULL;
	if (rc == 0)
		seen.kept_snapshot = NULL;
	return rc;
}

/* Its base goes to trash with it. */
static int plan_base(struct ews_step *step, struct ews_session *session)
{
	EWS_CLEANUP(free) char *ref = ews_strfmt(EWS_REF_SESSIONS "%s", session->state.id);
	char hex[EWS_OID_HEX_MAX];
	struct ews_oid base;
	int rc = ews_odb_ref_read(&base, session->repo->odb, ref);

	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		return 0;
	}
	if (rc == 0)
		ews_strv_addf(&step->refs, "%s " EWS_REF_TRASH "%s %s", ref, session->state.base_snapshot,
			      ews_oid_hex(hex, &base));
	return rc;
}

static int plan(struct ews_step *step, struct ews_session *session, const struct ews_end_result *result,
		bool no_revert)
{
	struct ews_repo *repo = session->repo;
	int rc = step->id ? 0 : ews_step_init(step, repo->dir_fd, "end", session->state.id);

	if (rc < 0)
		return rc;
	ews_strv_clear(&step->refs); /* done again, it may wait for a decision under another name */
	/* Of one whose work tree is gone only the record ends, wherever that is done. */
	if (session->method->is_project && !session->is_lost)
		ews_whose_set(step, repo);
	free(step->before);
	step->before = ews_strdup(result->kept_snapshot ? result->kept_snapshot : "");
	step->is_emptied = result->is_gone;
	step->is_git_lost = result->is_git_lost;
	step->leaves_project = no_revert && session->method->is_project;
	if (result->pending_name)
		rc = ews_pending_plan(step, repo, result->pending_name, session->state.id, result->kept_snapshot);
	else
		rc = plan_base(step, session);
	if (rc == 0)
		rc = ews_journal_begin(session->fd, step->id, step->verb);
	return rc < 0 ? rc : ews_step_write(repo->dir_fd, step);
}

/* What is going to happen, written down. A power cut may keep a new name of a ref without the step: one name more. */
static int begin(struct ews_step *step, struct ews_session *session, const struct ews_end_result *result,
		 bool no_revert)
{
	EWS_CLEANUP(sync_group) struct ews_sync_group group = EWS_SYNC_GROUP_INIT;
	int rc;

	ews_sync_begin(&group);
	rc = plan(step, session, result, no_revert);
	if (rc == 0)
		rc = ews_session_log(session, "end",
				     result->kept_snapshot ? result->kept_snapshot
				     : session->is_lost    ? ews_session_lost_word(session)
				     : result->differs     ? "no file differed"
							   : "nothing differed");
	if (rc == 0)
		rc = ews_end_prepare(session, step);
	if (rc == 0)
		rc = ews_sync_finish(&group);
	if (rc == 0)
		ews_leaving_forget(session);
	return rc;
}

/* Does a command run in it, of somebody else? */
static bool is_running(const struct ews_session *session)
{
	return session->owner_lock.fd < 0 && ews_session_has_living_owner(session);
}

/* What a command leaves behind it for a moment, as `git commit` its maintenance, is waited for. */
static int outwait_users(const char *workspace)
{
	uint64_t deadline = ews_clock_monotonic_ms() + USERS_WAIT_MS;

	for (;;) {
		EWS_CLEANUP(strv) struct ews_strv users = EWS_STRV_INIT;
		int rc = ews_inuse_list(&users, workspace);

		if (rc < 0 || !users.n || ews_clock_monotonic_ms() >= deadline)
			return rc;
		ews_clock_sleep_ms(20);
	}
}

/* Who uses the workspace of the session, which is locked. Of a project's nobody asks: it is always in use. */
static int find_users(struct ews_strv *out, const struct ews_session *session)
{
	int rc;

	if (session->state.state == EWS_STATE_ENDED || session->method->is_project || is_running(session))
		return 0;
	rc = ews_inuse_list(out, session->state.workspace);
	return rc < 0 ? rc : ews_inuse_list_mounts(out, session->state.workspace);
}

/* Lock the session, and find who uses its workspace. While it is waited whether that ends the lock is anybody's, unless it was held. */
static int lock_session(struct ews_strv *users, struct ews_session *session, const struct ews_end_opts *opts)
{
	bool was_held = session->lock.fd >= 0;
	int rc = opts->force ? ews_session_lock(session, "end") : ews_session_lock_settled(session, "end");

	if (rc == 0 && !opts->force)
		rc = find_users(users, session);
	if (rc < 0 || !users->n || opts->at_once)
		return rc;
	ews_strv_clear(users);
	if (!was_held)
		ews_session_unlock(session);
	rc = outwait_users(session->state.workspace);
	if (rc == 0)
		rc = ews_session_lock_settled(session, "end");
	return rc < 0 ? rc : find_users(users, session);
}

static int refuse_users(const struct ews_session *session, const struct ews_strv *users)
{
	if (is_running(session)) {
		ews_error(EWS_EBUSY, "a command runs in session '%s' (process %ld)", session->state.id,
			  (long)session->state.owner.pid);
		ews_error_hint("wait for its end, or use --force");
		return EWS_EBUSY;
	}
	if (!users->n)
		return 0;
	ews_error(EWS_EBUSY, "the workspace of session '%s' is in use by %s%s", session->state.id, users->items[0],
		  users->n > 1 ? " and others" : "");
	ews_error_hint("end or unmount that, or use --force");
	return EWS_EBUSY;
}

/* In place the project is reverted; to what, nobody knows where the base is gone: what may end without that leaves it as it is. */
static int find_reverts_first(bool *out, const struct ews_session *session, const struct ews_end_opts *opts)
{
	EWS_CLEANUP(snapshot) struct ews_snapshot base = EWS_SNAPSHOT_INIT;
	int rc;

	*out = session->method->is_project && !session->is_lost && !opts->no_revert && !opts->dry_run;
	rc = *out ? ews_snapshot_base(&base, session) : 0;
	if (rc != EWS_EDAMAGED || !opts->without_base)
		return rc;
	ews_error_clear();
	*out = false;
	return 0;
}

/* Has a repository in the project moved on, or is one none any more? No snapshot has that. */
static bool has_other_repositories(const struct ews_transition_result *put)
{
	for (size_t i = 0; i < put->not_covered.n; i++)
		if (!strcmp(ews_path_line_words(put->not_covered.items[i]), EWS_SKIP_REPOSITORY_GONE))
			return true;
	return put->moved.n;
}

/* How the project is put back: to the base, or, when the end is done again, to what it was at the undo of that. */
static struct ews_revert_opts way_back(const struct ews_end_opts *opts)
{
	const char *to = opts->redone && *opts->redone->after ? opts->redone->after : NULL;

	return (struct ews_revert_opts){ .verb = "revert",
					 .to = to,
					 .is_redone = opts->redone,
					 .progress = opts->progress,
					 .payload = opts->payload };
}

/* Has nobody changed the project since the end was undone? Then it ends as it had ended, with what was kept then. Returns 1 or 0. */
static int take_up_redone(struct ews_end_result *out, struct ews_session *session, const struct ews_end_opts *opts)
{
	EWS_CLEANUP(revert_result) struct ews_revert_result seen = EWS_REVERT_RESULT_INIT;
	struct ews_revert_opts look = way_back(opts);
	int rc;

	look.dry_run = true;
	rc = opts->redone ? ews_revert(&seen, session, &look) : 0;
	if (rc < 0 || !opts->redone || seen.put.differs)
		return rc;
	out->differs = *opts->redone->before;
	out->kept_snapshot = out->differs ? ews_strdup(opts->redone->before) : NULL;
	return 1;
}

/* In place the project is put back before the session lets go of it; what was there is the revert's to keep. */
static int revert_first(struct ews_end_result *out, struct ews_session *session, const struct ews_end_opts *opts)
{
	const struct ews_revert_opts revert = way_back(opts);
	int rc;

	out->has_reverted = true;
	rc = ews_revert(&out->reverted, session, &revert);
	if (rc < 0)
		return rc;
	out->differs = out->reverted.put.kept_snapshot || has_other_repositories(&out->reverted.put);
	if (out->reverted.put.kept_snapshot)
		out->kept_snapshot = ews_strdup(out->reverted.put.kept_snapshot);
	return 0;
}

/* The result as a branch: before anything goes. Of a session that has ended, of what was kept. */
static int leave_branch(struct ews_end_result *out, struct ews_session *session, const struct ews_end_opts *opts)
{
	char hex[EWS_OID_HEX_MAX];
	struct ews_oid commit;
	int rc = opts->branch ? ews_branch_check(session, opts->branch) : 0;

	if (rc < 0 || !opts->branch || opts->dry_run)
		return rc;
	rc = ews_branch_make(&commit, &out->branch_notes, session, opts->branch);
	if (rc < 0)
		return rc;
	out->branch_commit = ews_strdup(ews_oid_hex(hex, &commit));
	return 0;
}

/* Keep a session's artifacts, before anything of it goes. */
static int store_artifacts(struct ews_end_result *out, struct ews_session *session, bool will_revert,
			   const struct ews_end_opts *opts)
{
	enum ews_farewell_state state = out->kept_snapshot ? EWS_FAREWELL_KEPT : EWS_FAREWELL_SAME;
	struct ews_farewell_opts artifacts;
	int rc;

	/* They say what differs from the base. */
	if (!opts->artifacts || opts->dry_run || out->is_baseless)
		return 0;
	if (will_revert)
		state = EWS_FAREWELL_NOW;
	else if (out->is_gone)
		state = EWS_FAREWELL_GONE;
	artifacts = *opts->artifacts;
	artifacts.progress = opts->progress;
	artifacts.payload = opts->payload;
	rc = ews_farewell_store(&out->stored, session, state, out->kept_snapshot, &artifacts);
	if (rc < 0) {
		ews_error_hint("nothing has been taken away; with --no-artifacts it ends without them");
		return ews_error_wrap("session '%s' goes on", session->state.id);
	}
	return 0;
}

bool ews_end_is_blocked(const struct ews_end_result *result)
{
	return result->has_reverted && !result->reverted.put.is_verified;
}

/* Nothing is to be had of its work tree that the session could keep, or take back. */
static int take_up_lost(struct ews_end_result *out, const struct ews_session *session, const struct ews_end_opts *opts)
{
	out->is_gone = true;
	return opts->without_tree || !ews_session_is_lost_with_files(session) ? 0 : ews_session_refuse_lost(session);
}

/* What there is of the workspace, as a snapshot. */
static int take_up(struct ews_end_result *out, struct ews_session *session, const struct ews_end_opts *opts)
{
	const char *path = session->state.workspace;
	EWS_CLEANUP(remains) struct ews_remains remains = EWS_REMAINS_INIT;
	EWS_CLEANUP(free) char *there = NULL;
	struct stat st;
	int rc;

	if (session->is_lost)
		return take_up_lost(out, session, opts);
	rc = ews_session_is_gone(session);
	/* Of what can't be looked at nothing is kept yet, so it stays. */
	if (rc < 0)
		return rc;
	out->is_gone = rc;
	if (!out->is_gone)
		return keep(out, session, opts);
	there = opts->force ? NULL : ews_session_moved_to(session);
	if (there) {
		EWS_CLEANUP(free) char *from = ews_shell_shown(there);
		EWS_CLEANUP(free) char *to = ews_shell_shown(path);

		ews_error(EWS_EDAMAGED, "the workspace of session '%s' was moved to '%s'", session->state.id, there);
		ews_error_hint("git worktree move %s %s brings it back; --force ends the session without it", from,
			       to);
		return EWS_EDAMAGED;
	}
	if (lstat(path, &st) == 0)
		ews_strv_addf(&out->skipped, "%s\tstood in the workspace's place", ews_path_base(path));
	/* What is left of the session ends all the same. */
	rc = ews_remains_keep(&remains, &out->skipped, session, opts->dry_run);
	out->kept_snapshot = ews_steal(&remains.snapshot);
	out->gone_work = remains.work;
	out->is_git_lost = remains.has_no_git && session->method->owns_objects && !session->repo->is_plain;
	out->unfiltered = remains.unfiltered;
	remains.unfiltered = (struct ews_strv)EWS_STRV_INIT;
	out->differs = rc > 0;
	return rc < 0 ? rc : 0;
}

/* The end itself. What drifted is looked for while the disk is waited for. */
static int go(struct ews_end_result *result, struct ews_session *session, struct ews_step *step, bool no_revert)
{
	struct drift drift = drift_of(result, session);
	EWS_CLEANUP(beside) struct ews_beside looking = EWS_BESIDE_INIT;
	int rc;

	ews_beside_begin(&looking, name_drift, &drift);
	rc = begin(step, session, result, no_revert);
	return rc < 0 ? rc : ews_end_finish(session, step);
}

/* What came while the session ended was kept with all that had been kept before. */
static void take_late(struct ews_end_result *result, const struct ews_step *step)
{
	if (!*step->before || (result->kept_snapshot && !strcmp(result->kept_snapshot, step->before)))
		return;
	free(result->kept_snapshot);
	result->kept_snapshot = ews_strdup(step->before);
	result->differs = true;
}

/* Where nothing was begun there is nothing to finish. */
static void hint_recover(const struct ews_session *session)
{
	struct ews_error_saved why = EWS_ERROR_SAVED_INIT;
	bool has_begun;

	ews_error_save(&why);
	has_begun = ews_session_has_unfinished_step(session);
	(void)ews_error_restore(&why);
	if (has_begun)
		ews_error_hint("'git ews recover %s' finishes it, or takes it back; nothing is lost",
			       session->state.id);
}

int ews_end(struct ews_end_result *out, struct ews_session *session, const struct ews_end_opts *opts)
{
	EWS_CLEANUP(end_result) struct ews_end_result result = EWS_END_RESULT_INIT;
	EWS_CLEANUP(step) struct ews_step anew = EWS_STEP_INIT;
	EWS_CLEANUP(strv) struct ews_strv users = EWS_STRV_INIT;
	struct ews_step *step = &anew;
	struct drift drift;
	bool will_revert = false, is_collected;
	int rc;

	if (!opts->dry_run)
		ews_reserve_ease(session->repo->home);
	rc = lock_session(&users, session, opts);
	if (rc < 0)
		return rc;
	/* What it leaves belongs there, wherever the end is called. */
	rc = ews_session_stand_in_project(session);
	if (rc < 0)
		return rc;
	if (session->state.state == EWS_STATE_ENDED) {
		out->had_ended = true;
		return leave_branch(out, session, opts);
	}
	if (!opts->force)
		rc = refuse_users(session, &users);
	if (rc == 0)
		rc = find_reverts_first(&will_revert, session, opts);
	if (rc < 0)
		return rc;
	/* Now that nobody works there any more. */
	if (!will_revert)
		ews_session_look_early(session);
	/* Findings that can't be taken over wait on, and readers see them: that keeps no session from its end. */
	is_collected = opts->dry_run || ews_findings_collect(session) == 0;
	if (!opts->dry_run)
		(void)ews_session_log_take_said(NULL, session); /* likewise */
	ews_error_clear();
	rc = will_revert ? take_up_redone(&result, session, opts) : take_up(&result, session, opts);
	if (rc > 0) {
		step = opts->redone;
		will_revert = false;
		rc = 0;
	}
	if (rc == 0 && !opts->dry_run && (opts->artifacts || opts->branch))
		ews_leaving_note(session, opts->branch);
	if (rc == 0)
		rc = store_artifacts(&result, session, will_revert, opts);
	if (rc == 0)
		rc = leave_branch(&result, session, opts);
	if (rc < 0 && !result.stored.n && !result.branch_commit)
		ews_leaving_forget(session);
	if (rc == 0 && will_revert)
		rc = revert_first(&result, session, opts);
	if (rc < 0)
		return rc;
	if (ews_end_is_blocked(&result) || opts->dry_run) {
		drift = drift_of(&result, session);
		if (!ews_end_is_blocked(&result))
			(void)name_drift(&drift);
		*out = result;
		result = (struct ews_end_result)EWS_END_RESULT_INIT;
		return 0;
	}
	if (opts->pending && result.kept_snapshot && !result.is_gone)
		result.pending_name = ews_pending_next_name(session->repo, session->state.id);
	rc = go(&result, session, step, opts->no_revert);
	if (rc < 0) {
		hint_recover(session);
		return ews_error_wrap("cannot end session '%s'", session->state.id);
	}
	take_late(&result, step);
	/* What is left of it goes when the next one of that name begins. */
	if (is_collected && ews_session_remove_tmp(session) < 0)
		ews_error_clear();
	result.undo = step->state == EWS_STEP_EXPIRED ? NULL : ews_strdup(step->id);
	*out = result;
	result = (struct ews_end_result)EWS_END_RESULT_INIT;
	return 0;
}
