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
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/path_line.h"
#include "base/sync.h"
#include "store/hardlink.h"
#include "store/home.h"
#include "store/journal.h"
#include "store/put.h"
#include "work/branch.h"
#include "work/finding.h"
#include "work/history.h"
#include "work/holding.h"
#include "work/ignored.h"
#include "work/inuse.h"
#include "work/pending.h"
#include "work/remains.h"
#include "work/session_log.h"
#include "work/snapshot.h"
#include "work/transition.h"
#include "work/tripwire.h"

#define TRASH_NAME "workspace"
#define INSTEAD_NAME "instead" /* what stood in the place of a workspace that was gone */

void ews_end_result_release(struct ews_end_result *result)
{
	free(result->kept_snapshot);
	free(result->pending_name);
	free(result->branch_commit);
	ews_farewell_release(&result->stored);
	free(result->undo);
	if (result->has_reverted)
		ews_revert_result_release(&result->reverted);
	if (result->drift.items)
		ews_strv_release(&result->drift);
	if (result->skipped.items)
		ews_strv_release(&result->skipped);
	ews_strv_release(&result->unfiltered);
	*result = (struct ews_end_result)EWS_END_RESULT_INIT;
}

/* What of the project changed since the start, which nothing that an end does has a part in. */
struct drift {
	struct ews_end_result *out;
	struct ews_session *session;
};

/* Never fails. */
static int name_drift(void *payload)
{
	const struct drift *drift = payload;
	EWS_CLEANUP(tripwire) struct ews_tripwire before = EWS_TRIPWIRE_INIT;
	EWS_CLEANUP(tripwire) struct ews_tripwire now = EWS_TRIPWIRE_INIT;

	/* It informs; a record that is gone must not keep a session from its end. */
	if (ews_tripwire_read(&before, drift->session->fd) < 0 || ews_tripwire_take(&now, drift->session->repo) < 0 ||
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
	int rc = ews_history_adopt(session, &now->git);

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
	struct ews_snapshot_reading reading = { .out = &base_content, .repo = repo, .snapshot = &base };
	struct ews_content_opts now_opts = { .partial = true,
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
					       .is_as_found = true };
	bool has_moved = false;
	int rc = ews_snapshot_base(&base, session);

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
		rc = ews_ignored_settle(&now, session);
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
	out->differs = out->is_baseless || strcmp(now.hash, base.hash) || differences.n || rc > 0 || has_moved ||
		       !ews_hardlinks_equal(&base_content.scan.entries, &now.scan.entries);
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

static int plan(struct ews_step *step, struct ews_session *session, const struct ews_end_result *result)
{
	struct ews_repo *repo = session->repo;
	int rc = ews_step_init(step, repo->dir_fd, "end", session->state.id);

	if (rc < 0)
		return rc;
	free(step->before);
	step->before = ews_strdup(result->kept_snapshot ? result->kept_snapshot : "");
	step->is_emptied = result->is_gone;
	if (result->is_pending)
		rc = ews_pending_plan(step, repo, result->pending_name, session->state.id, result->kept_snapshot);
	else
		rc = plan_base(step, session);
	if (rc == 0)
		rc = ews_journal_begin(session->fd, step->id, step->verb);
	return rc < 0 ? rc : ews_step_write(repo->dir_fd, step);
}

static bool is_dir(int dir_fd, const char *path)
{
	struct stat st;

	return fstatat(dir_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* Rename between the workspace's place and the step's trash; harmless when already done. */
static int move_workspace(struct ews_session *session, const char *step_id, bool to_trash)
{
	const char *name = ews_path_base(session->state.workspace);
	EWS_CLEANUP(fd) int trash = ews_transition_open_trash(session->repo, session, step_id);
	EWS_CLEANUP(fd) int place = trash < 0 ? -1 : ews_session_open_parent(session);
	int rc;

	if (trash < 0 || place < 0)
		return ews_error_code();
	if (to_trash)
		rc = ews_file_rename_new(place, name, trash, is_dir(place, name) ? TRASH_NAME : INSTEAD_NAME);
	else
		rc = ews_file_rename_new(trash, TRASH_NAME, place, name);
	/* Done before; or, on the way to trash, taken away by somebody. */
	if (rc == EWS_ENOTFOUND && (to_trash || faccessat(place, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)) {
		ews_error_clear();
		rc = 0;
	}
	if (rc < 0)
		return ews_error_wrap(to_trash ? "cannot move the workspace to trash"
					       : "cannot bring the workspace back from trash");
	rc = ews_file_sync_dir(place);
	return rc < 0 ? rc : ews_file_sync_dir(trash);
}

static int set_state(struct ews_session *session, enum ews_session_state state)
{
	session->state.state = state;
	session->state.ended_s = state == EWS_STATE_ENDED ? ews_clock_now() : 0;
	if (state == EWS_STATE_ENDED)
		session->state.owner = (struct ews_kin)EWS_KIN_INIT;
	return ews_session_save(session);
}

/* The workspace out of its place, git's entry of it with it, and the session's refs. */
static int take_out(struct ews_session *session, const struct ews_step *step)
{
	struct ews_place place = ews_session_place(session);
	int rc = session->method->withdraw(&place);

	if (rc == 0 && !session->method->is_project)
		rc = move_workspace(session, step->id, true);
	return rc < 0 ? rc : ews_snapshot_drop_names(session->repo, step);
}

/*
 * Outside of home a session is known by its mark for as long as its state does not say that it has ended. So that one is made
 * durable before; and the step is done after, or nobody would look for a mark that is left.
 */
static int take_mark(struct ews_session *session, struct ews_sync_group *group)
{
	int rc;

	if (session->method->is_project || ews_session_is_at_home(session))
		return 0;
	rc = ews_sync_finish(group);
	if (rc == 0)
		rc = ews_home_unmark_elsewhere(session->repo->home, session->state.workspace);
	if (rc == 0)
		ews_sync_begin(group);
	return rc;
}

/* The session's state and the step's, which say that it has ended. */
static int close_step(struct ews_session *session, struct ews_step *step, struct ews_sync_group *group)
{
	int rc = set_state(session, EWS_STATE_ENDED);

	if (rc == 0)
		rc = take_mark(session, group);
	step->state = EWS_STEP_DONE;
	return rc < 0 ? rc : ews_step_write(session->repo->dir_fd, step);
}

/*
 * From the state "ending" to the end: the directories that something left, and what will say so, are synced together; that
 * gets its name after them.
 */
static int carry_out(struct ews_session *session, struct ews_step *step)
{
	EWS_CLEANUP(sync_group) struct ews_sync_group group = EWS_SYNC_GROUP_INIT;
	int rc;

	ews_sync_begin(&group);
	rc = take_out(session, step);
	if (rc == 0)
		rc = close_step(session, step, &group);
	if (rc == 0)
		rc = ews_sync_finish(&group);
	if (rc < 0)
		return rc;
	if (ews_holding_drop(session->repo, session->state.id) < 0)
		ews_error_clear(); /* what has ended holds nothing, whatever lies there */
	return ews_journal_done(session->fd, step->id);
}

/* What of an end can come before its effects: the state, and the names that its refs will have. */
static int prepare(struct ews_session *session, const struct ews_step *step)
{
	/* One that was killed at its last may have no mark any more, by which a state other than "ended" is believed. */
	int rc = session->state.state == EWS_STATE_ENDED ? 0 : set_state(session, EWS_STATE_ENDING);

	return rc < 0 ? rc : ews_snapshot_add_names(session->repo, step);
}

int ews_end_carry_out(struct ews_session *session, struct ews_step *step)
{
	EWS_CLEANUP(sync_group) struct ews_sync_group group = EWS_SYNC_GROUP_INIT;
	int rc;

	ews_sync_begin(&group);
	rc = prepare(session, step);
	if (rc == 0)
		rc = ews_sync_finish(&group);
	return rc < 0 ? rc : carry_out(session, step);
}

/* What is going to happen, written down. A power cut may keep a new name of a ref without the step: one name more. */
static int begin(struct ews_step *step, struct ews_session *session, const struct ews_end_result *result)
{
	EWS_CLEANUP(sync_group) struct ews_sync_group group = EWS_SYNC_GROUP_INIT;
	int rc;

	ews_sync_begin(&group);
	rc = plan(step, session, result);
	if (rc == 0)
		rc = ews_session_log(session, "end",
				     result->kept_snapshot ? result->kept_snapshot : "nothing differed");
	if (rc == 0)
		rc = prepare(session, step);
	return rc < 0 ? rc : ews_sync_finish(&group);
}

/* What the step's snapshot has of the workspace, or, where nothing differed, its base. */
static int read_kept(struct ews_content *out, struct ews_session *session, const struct ews_step *step)
{
	EWS_CLEANUP(snapshot) struct ews_snapshot kept = EWS_SNAPSHOT_INIT;
	int rc = *step->before ? ews_snapshot_find(&kept, session->repo, step->before)
			       : ews_snapshot_base(&kept, session);

	return rc < 0 ? rc : ews_snapshot_content(out, session->repo, &kept);
}

static int fill_anew(struct ews_session *session, const struct ews_content *content, int trash_fd, const char *name)
{
	EWS_CLEANUP(put_report) struct ews_put_report report = EWS_PUT_REPORT_INIT;
	EWS_CLEANUP(entries) struct ews_entries nothing = EWS_ENTRIES_INIT;
	EWS_CLEANUP(changes) struct ews_changes changes = EWS_CHANGES_INIT;
	EWS_CLEANUP(fd) int root = -1;
	const struct ews_hardlink_opts names = { .now = &nothing,
						 .want = &content->scan.entries,
						 .equal = ews_entry_equal };
	struct ews_put_opts put = {
		.odb = session->repo->odb, .source_fd = -1, .times = EWS_PUT_TIMES_KEEP, .owners = true
	};
	int rc;

	if (mkdirat(trash_fd, name, 0700) < 0)
		return ews_error_os("cannot make a directory in trash");
	put.root_fd = root = ews_dir_open_beneath(trash_fd, name);
	if (root < 0)
		return root;
	ews_changes_between(&changes, &nothing, &content->scan.entries, ews_entry_equal);
	ews_hardlinks_plan(&changes, &names);
	rc = ews_put(&report, &changes, NULL, &put);
	if (rc < 0 && report.failed.n)
		return ews_error(rc, "cannot make it anew: %s", report.failed.items[0]);
	if (rc == 0 && fchmod(root, content->root_mode ? content->root_mode : 0755) < 0)
		rc = ews_error_os("cannot set the mode of the workspace");
	return rc;
}

/* What a workspace that is made anew from `content` will not have, "<path>\t<why>" each. */
static void name_expired(struct ews_strv *expired, const struct ews_session *session,
			 const struct ews_content *content)
{
	for (size_t i = 0; i < content->scan.skips.n; i++) {
		const struct ews_skip *skip = &content->scan.skips.items[i];

		if (skip->reason != EWS_SKIP_OWN)
			ews_path_line_add(expired, skip->path,
					  ews_skip_word(skip->reason == EWS_SKIP_PRESENT ? EWS_SKIP_IGNORED
											 : skip->reason));
	}
	if (session->method->owns_objects && !session->repo->is_plain)
		ews_strv_add(expired, ".git\tbranches and reflogs of its own; its commits are kept");
}

/* Need nothing be made anew, since the workspace is in trash, or back in its place? */
static bool is_there(const struct ews_session *session, const struct ews_step *step)
{
	EWS_CLEANUP(free) char *trash = ews_transition_trash_path(session->repo, session, step->id);
	EWS_CLEANUP(free) char *there = ews_path_join(trash, TRASH_NAME);

	return session->method->is_project || access(there, F_OK) == 0 || access(session->state.workspace, F_OK) == 0;
}

/*
 * Make the directory that trash held anew, in trash, from where it comes back as ever; `expired` (may be NULL) gets what that will not
 * have. The record says so before, whoever had taken it away: nothing in it links it with the store.
 */
static int refill_trash(struct ews_strv *expired, struct ews_session *session, struct ews_step *step)
{
	EWS_CLEANUP(content) struct ews_content content = EWS_CONTENT_INIT;
	EWS_CLEANUP(fd) int trash = -1;
	const char *half = TRASH_NAME ".new";
	int rc;

	if (is_there(session, step))
		return 0;
	trash = ews_transition_open_trash(session->repo, session, step->id);
	if (trash < 0)
		return trash;
	rc = read_kept(&content, session, step);
	if (rc == 0 && expired)
		name_expired(expired, session, &content);
	step->is_emptied = true;
	if (rc == 0)
		rc = ews_step_write(session->repo->dir_fd, step);
	if (rc == 0)
		rc = ews_file_remove_tree(trash, half);
	if (rc == 0)
		rc = fill_anew(session, &content, trash, half);
	if (rc == 0)
		rc = ews_file_rename_new(trash, half, trash, TRASH_NAME);
	return rc;
}

/* HEAD, index and the like as they were kept; when there was no registration to take them from, as they were at first. */
static int read_kept_git(struct ews_content *out, struct ews_session *session, const struct ews_step *step)
{
	EWS_CLEANUP(snapshot) struct ews_snapshot base = EWS_SNAPSHOT_INIT;
	int rc = read_kept(out, session, step);

	if (rc < 0 || ews_gitstate_file(&out->git, "HEAD"))
		return rc;
	ews_content_release(out);
	*out = (struct ews_content)EWS_CONTENT_INIT;
	rc = ews_snapshot_base(&base, session);
	return rc < 0 ? rc : ews_snapshot_content(out, session->repo, &base);
}

/* A directory that was made anew has nothing yet that links it with the store. */
static int relink(struct ews_session *session, const struct ews_step *step)
{
	struct ews_place place = ews_session_place(session);
	EWS_CLEANUP(content) struct ews_content content = EWS_CONTENT_INIT;
	EWS_CLEANUP(strv) struct ews_strv bent = EWS_STRV_INIT;
	EWS_CLEANUP(fd) int root = ews_session_open_workspace(session);
	int rc = root < 0 ? root : session->method->tampered(&bent, &place, root);

	if (rc < 0 || !bent.n)
		return rc;
	rc = read_kept_git(&content, session, step);
	/* Nobody knows any more where HEAD was: what there is are the files. */
	if (rc == EWS_EDAMAGED) {
		ews_error_clear();
		return 0;
	}
	return rc < 0 ? rc : session->method->repair(&place, root, &content.git);
}

int ews_end_find_kept(struct ews_strv *expired, struct ews_session *session, const struct ews_step *step)
{
	EWS_CLEANUP(content) struct ews_content content = EWS_CONTENT_INIT;
	/* Where nothing differed it is the base that is wanted, which is one of the refs. */
	const bool is_base = !*step->before && step->refs.n;
	int rc = ews_snapshot_find_all(session->repo, step);

	if (rc < 0 || is_there(session, step) || (is_base && !expired))
		return rc;
	rc = read_kept(&content, session, step);
	if (rc == 0 && expired)
		name_expired(expired, session, &content);
	if (is_base || (rc != EWS_ENOTFOUND && rc != EWS_EDAMAGED))
		return rc;
	ews_error(EWS_ENOTFOUND, "what the end of session '%s' kept is gone: trash has let go of it",
		  session->state.id);
	return EWS_ENOTFOUND;
}

int ews_end_give_up(struct ews_session *session, struct ews_step *step)
{
	const bool is_kept = is_there(session, step);
	int rc = ews_snapshot_add_names(session->repo, step);

	if (rc == EWS_ENOTFOUND) {
		ews_error_clear(); /* there is nothing that could have a name */
		rc = 0;
	}
	if (rc == 0)
		rc = carry_out(session, step);
	if (rc < 0 || is_kept)
		return rc;
	step->state = EWS_STEP_EXPIRED;
	return ews_step_write(session->repo->dir_fd, step);
}

int ews_end_take_back(struct ews_strv *expired, struct ews_session *session, struct ews_step *step)
{
	struct ews_place place = ews_session_place(session);
	bool is_project = session->method->is_project;
	bool is_bare; /* nothing links it with the store */
	int rc = ews_snapshot_move_all(session->repo, step, true);

	if (rc == 0 && !is_project)
		rc = refill_trash(expired, session, step);
	is_bare = step->is_emptied && !is_project;
	if (rc == 0 && !is_project && !ews_session_is_at_home(session))
		rc = ews_home_mark_elsewhere(session->repo->home, session->state.workspace, session->repo->dir,
					     session->state.id);
	if (rc == 0 && !is_project)
		rc = move_workspace(session, step->id, false);
	if (rc == 0)
		rc = session->method->restore(&place);
	/* It had none when it ended: somebody had taken it out. */
	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		is_bare = true;
		rc = 0;
	}
	if (rc == 0 && is_bare)
		rc = relink(session, step);
	if (rc == 0)
		rc = set_state(session, EWS_STATE_ACTIVE);
	if (rc < 0)
		return rc;
	step->state = EWS_STEP_UNDONE;
	rc = ews_step_write(session->repo->dir_fd, step);
	return rc < 0 ? rc : ews_journal_done(session->fd, step->id);
}

static int refuse_users(const struct ews_session *session)
{
	EWS_CLEANUP(strv) struct ews_strv users = EWS_STRV_INIT;
	int rc;

	if (session->owner_lock.fd < 0 && ews_session_has_living_owner(session)) {
		ews_error(EWS_EBUSY, "a command runs in session '%s' (process %ld)", session->state.id,
			  (long)session->state.owner.pid);
		ews_error_hint("wait for its end, or use --force");
		return EWS_EBUSY;
	}
	/* A project is always in use. */
	if (session->method->is_project)
		return 0;
	rc = ews_inuse_list(&users, session->state.workspace);
	ews_inuse_list_mounts(&users, session->state.workspace);
	if (rc < 0 || !users.n)
		return rc;
	ews_error(EWS_EBUSY, "the workspace of session '%s' is in use by %s%s", session->state.id, users.items[0],
		  users.n > 1 ? " and others" : "");
	ews_error_hint("end or unmount that, or use --force");
	return EWS_EBUSY;
}

static bool reverts_first(const struct ews_session *session, const struct ews_end_opts *opts)
{
	return session->method->is_project && !opts->no_revert && !opts->dry_run;
}

/* In place the project is put back before the session lets go of it; what was there is the revert's to keep. */
static int revert_first(struct ews_end_result *out, struct ews_session *session, const struct ews_end_opts *opts)
{
	struct ews_revert_opts revert = { .verb = "revert", .progress = opts->progress, .payload = opts->payload };
	int rc;

	out->reverted = (struct ews_revert_result)EWS_REVERT_RESULT_INIT;
	out->has_reverted = true;
	rc = ews_revert(&out->reverted, session, &revert);
	if (rc < 0)
		return rc;
	out->differs = out->reverted.put.kept_snapshot != NULL;
	if (out->differs)
		out->kept_snapshot = ews_strdup(out->reverted.put.kept_snapshot);
	return 0;
}

/* The result as a branch: before anything goes. Of a session that has ended, of what was kept. */
static int leave_branch(struct ews_end_result *out, struct ews_session *session, const struct ews_end_opts *opts)
{
	char hex[EWS_OID_HEX_MAX];
	struct ews_oid commit;
	int rc = opts->branch ? ews_branch_check(session->repo, opts->branch) : 0;

	if (rc < 0 || !opts->branch || opts->dry_run)
		return rc;
	rc = ews_branch_make(&commit, &out->unfiltered, session, opts->branch);
	if (rc < 0)
		return rc;
	out->branch_commit = ews_strdup(ews_oid_hex(hex, &commit));
	return 0;
}

/* Keep a session's artifacts, before anything of it goes. */
static int store_artifacts(struct ews_end_result *out, struct ews_session *session, const struct ews_end_opts *opts)
{
	enum ews_farewell_state state = out->kept_snapshot ? EWS_FAREWELL_KEPT : EWS_FAREWELL_SAME;
	int rc;

	/* They say what differs from the base. */
	if (!opts->artifacts || opts->dry_run || out->is_baseless)
		return 0;
	if (reverts_first(session, opts))
		state = EWS_FAREWELL_NOW;
	else if (out->is_gone)
		state = EWS_FAREWELL_GONE;
	rc = ews_farewell_store(&out->stored, session, state, out->kept_snapshot, opts->artifacts);
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

/* What there is of the workspace, as a snapshot. */
static int take_up(struct ews_end_result *out, struct ews_session *session, const struct ews_end_opts *opts)
{
	const char *path = session->state.workspace;
	EWS_CLEANUP(free) char *there = NULL;
	struct stat st;
	int rc;

	out->is_gone = !is_dir(AT_FDCWD, path);
	if (!out->is_gone)
		return keep(out, session, opts);
	there = opts->force ? NULL : ews_session_moved_to(session);
	if (there) {
		ews_error(EWS_EDAMAGED, "the workspace of session '%s' was moved to '%s'", session->state.id, there);
		ews_error_hint("git worktree move '%s' '%s' brings it back; --force ends the session without it",
			       there, path);
		return EWS_EDAMAGED;
	}
	if (lstat(path, &st) == 0)
		ews_strv_addf(&out->skipped, "%s\tstood in the workspace's place", ews_path_base(path));
	/* What is left of the session ends all the same. */
	rc = ews_remains_keep(&out->kept_snapshot, session, opts->dry_run);
	out->differs = rc > 0;
	return rc < 0 ? rc : 0;
}

/* The end itself. What drifted is looked for while the disk is waited for. */
static int go(struct ews_end_result *result, struct ews_session *session, struct ews_step *step)
{
	struct drift drift = { result, session };
	EWS_CLEANUP(beside) struct ews_beside looking = EWS_BESIDE_INIT;
	int rc;

	ews_beside_begin(&looking, name_drift, &drift);
	rc = begin(step, session, result);
	return rc < 0 ? rc : carry_out(session, step);
}

int ews_end(struct ews_end_result *out, struct ews_session *session, const struct ews_end_opts *opts)
{
	EWS_CLEANUP(end_result) struct ews_end_result result = { .drift = EWS_STRV_INIT, .skipped = EWS_STRV_INIT };
	EWS_CLEANUP(step) struct ews_step step = EWS_STEP_INIT;
	struct drift drift = { &result, session };
	const bool will_revert = reverts_first(session, opts);
	bool is_collected;
	int rc = ews_session_lock(session, "end");

	if (rc < 0)
		return rc;
	if (session->state.state == EWS_STATE_ENDED) {
		out->had_ended = true;
		return leave_branch(out, session, opts);
	}
	if (!opts->force)
		rc = refuse_users(session);
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
	if (!will_revert)
		rc = take_up(&result, session, opts);
	if (rc == 0)
		rc = store_artifacts(&result, session, opts);
	if (rc == 0)
		rc = leave_branch(&result, session, opts);
	if (rc == 0 && will_revert)
		rc = revert_first(&result, session, opts);
	if (rc < 0)
		return rc;
	if (ews_end_is_blocked(&result) || opts->dry_run) {
		if (!ews_end_is_blocked(&result))
			(void)name_drift(&drift);
		*out = result;
		result = (struct ews_end_result)EWS_END_RESULT_INIT;
		return 0;
	}
	result.is_pending = opts->pending && result.kept_snapshot && !result.is_gone;
	if (result.is_pending)
		result.pending_name = ews_pending_next_name(session->repo, session->state.id);
	rc = go(&result, session, &step);
	if (rc < 0) {
		ews_error_hint("'git ews recover %s' finishes it; nothing is lost", session->state.id);
		return ews_error_wrap("cannot end session '%s'", session->state.id);
	}
	/* What is left of it goes when the next one of that name begins. */
	if (is_collected && ews_session_remove_tmp(session) < 0)
		ews_error_clear();
	result.undo = ews_strdup(step.id);
	*out = result;
	result = (struct ews_end_result)EWS_END_RESULT_INIT;
	return 0;
}
