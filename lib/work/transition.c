/*
 * Transitions: see transition.h. What is done is planned in transition_plan.c and proven in transition_proof.c; what the parts share is in
 * transition_work.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/transition.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/sync.h"
#include "store/ahead.h"
#include "store/journal.h"
#include "store/put.h"
#include "work/ignored.h"
#include "work/session_place.h"
#include "work/transition_work.h"

/* For what is kept, what is put, and who compares the two afterwards. Of very many files the lists take what room there is. */
#define REMEMBERED_BYTES_MAX (20 * EWS_MIB)
#define REMEMBERED_FILES_MAX (4 * EWS_ENTRIES_MANY)

static void release_work(struct ews_transition_work *work)
{
	ews_batch_free(work->batch);
	ews_content_release(&work->joined);
	ews_content_release(&work->target);
	ews_content_release(&work->left);
	ews_strv_release(&work->ours);
	ews_content_release(&work->now);
	ews_changes_release(&work->changes);
	ews_entries_release(&work->kept);
	ews_ignored_changes_release(&work->ignored);
	ews_strv_release(&work->away);
	ews_strv_release(&work->exact);
	ews_strv_release(&work->displaced);
	for (size_t i = 0; i < work->n_taken; i++)
		free(work->taken[i].path);
	free(work->taken);
	ews_strv_release(&work->returning);
	ews_snapshot_release(&work->before);
	ews_buf_release(&work->memo);
}

EWS_CLEANUP_DEFINE(work, struct ews_transition_work, release_work)

void ews_transition_result_release(struct ews_transition_result *result)
{
	ews_strv_release(&result->restored);
	ews_strv_release(&result->deleted);
	ews_strv_release(&result->kept);
	ews_strv_release(&result->errors);
	ews_strv_release(&result->others);
	ews_strv_release(&result->lost_attrs);
	ews_strv_release(&result->not_covered);
	ews_strv_release(&result->moved);
	ews_strv_release(&result->since);
	ews_strv_release(&result->stays);
	ews_strv_release(&result->expired);
	ews_strv_release(&result->branches);
	free(result->kept_snapshot);
}

/* The snapshot of what is there; its ref is left to `group`. */
static int keep_now(struct ews_transition_result *out, struct ews_transition_work *work, struct ews_sync_group *group)
{
	const struct ews_snapshot *kept = &work->before;
	struct ews_step *step = work->step;
	EWS_CLEANUP(free) char *subject = ews_strfmt("ews: state before %s", step->verb);
	struct ews_snapshot_opts opts = { .session = work->session,
					  .parent = work->session ? work->session->state.last_snapshot : NULL,
					  .subject = subject,
					  .prefix = EWS_REF_TRASH,
					  .is_as_found = true,
					  .like = work->opts->target,
					  .like_content = &work->target,
					  .group = group };
	char **side = step->state == EWS_STEP_UNDOING ? &step->after : &step->before;
	int rc = ews_snapshot_keep(&work->before, work->repo, work->batch, &work->now, &opts);

	if (rc < 0)
		return rc;
	/*
	 * Of a step that is run again, or was not carried out whole, the first state is what undo wants; what was done since is
	 * kept beside it.
	 */
	if (!work->opts->is_retry && !step->is_incomplete) {
		free(*side);
		*side = ews_strdup(kept->id);
	}
	out->kept_snapshot = ews_strdup(kept->id);
	out->had_damaged_head = kept->is_head_damaged;
	return 0;
}

void ews_transition_measure(struct ews_transition_result *out, int dir_fd, const char *name)
{
	struct ews_tree_size size = { 0, 0 };

	if (ews_file_measure_tree(&size, dir_fd, name) < 0)
		ews_error_clear(); /* a number for people; what can't be read counts nothing */
	out->kept_files += size.files;
	out->kept_bytes += size.bytes;
}

static int put(struct ews_transition_result *out, struct ews_transition_work *work, int root_fd)
{
	EWS_CLEANUP(put_report) struct ews_put_report report = EWS_PUT_REPORT_INIT;
	struct ews_put_opts opts = { .root_fd = root_fd,
				     .odb = work->repo->odb,
				     .source_fd = -1,
				     .times = work->is_fresh ? EWS_PUT_TIMES_FRESH : EWS_PUT_TIMES_KEEP,
				     .into_mounts = !work->session,
				     .as_seen = true,
				     .owners = work->step->with_owners,
				     .progress = work->opts->progress,
				     .payload = work->opts->payload };
	int rc = ews_put(&report, &work->changes, &opts);

	ews_strv_add_array(&out->errors, report.failed.items);
	ews_strv_add_array(&out->others, report.changed.items);
	ews_strv_add_array(&out->lost_attrs, report.lost_attrs.items);
	/* Single paths that failed are named, and found by the proof as well. */
	return rc < 0 ? rc : 0;
}

/*
 * The record of what is going to happen, once the snapshot's ref, which is in `before`, has its name for good. Until `*has_begun`
 * there is none.
 */
static int begin(bool *has_begun, struct ews_transition_work *work, struct ews_sync_group *before)
{
	EWS_CLEANUP(sync_group) struct ews_sync_group group = EWS_SYNC_GROUP_INIT;
	struct ews_step *step = work->step;
	int rc = ews_odb_finish_group(work->repo->odb, before);

	if (rc == 0)
		rc = ews_snapshot_confirm(work->repo, &work->before);
	if (rc < 0)
		return rc;
	/* From here on its objects can be read. */
	if (work->opts->kept && !work->opts->target->unseen && !work->before.unseen)
		work->opts->kept(work->opts->kept_payload, &work->opts->target->tree, &work->before.tree);
	ews_transition_plan_moving(work);
	ews_sync_begin(&group);
	/* The journal first: a line without a record is nothing that has begun. */
	if (work->session)
		rc = ews_journal_begin(work->session->fd, step->id, step->verb);
	if (rc == 0)
		rc = ews_step_write(work->repo->dir_fd, step);
	if (rc < 0)
		return rc;
	*has_begun = true;
	return ews_sync_finish(&group);
}

static void turn_list(struct ews_strv *done, struct ews_strv *doing)
{
	struct ews_strv before = *done;

	*done = *doing;
	*doing = before;
	ews_strv_clear(doing);
}

/* What went away is what may come back. */
static void turn_moved(struct ews_step *step)
{
	turn_list(&step->moved, &step->moving);
	turn_list(&step->branches, &step->branches_moving);
	step->is_emptied = false;
}

int ews_transition_close(struct ews_repo *repo, struct ews_step *step)
{
	turn_moved(step);
	step->state = EWS_STEP_DONE;
	return ews_step_write(repo->dir_fd, step);
}

int ews_transition_give_up(struct ews_repo *repo, struct ews_step *step)
{
	/* What has not come back is tried again when it is its turn. */
	ews_strv_add_array(&step->stays, step->moved.items);
	turn_moved(step);
	step->is_incomplete = false;
	step->state = step->state == EWS_STEP_UNDOING ? EWS_STEP_UNDONE : EWS_STEP_DONE;
	return ews_step_write(repo->dir_fd, step);
}

void ews_transition_turn_back(struct ews_step *step)
{
	if (step->state == EWS_STEP_PLANNED)
		turn_moved(step);
	step->state = EWS_STEP_UNDOING;
}

static int finish(struct ews_transition_work *work)
{
	EWS_CLEANUP(sync_group) struct ews_sync_group group = EWS_SYNC_GROUP_INIT;
	struct ews_step *step = work->step;
	int rc;

	if (work->opts->stays_open)
		return 0;
	turn_moved(step);
	step->state = step->state == EWS_STEP_UNDOING ? EWS_STEP_UNDONE : EWS_STEP_DONE;
	if (!work->session)
		return ews_step_write(work->repo->dir_fd, step);
	free(work->session->state.last_snapshot);
	work->session->state.last_snapshot = ews_strdup(work->opts->target->id);
	ews_sync_begin(&group);
	rc = ews_session_save(work->session);
	if (rc == 0)
		rc = ews_step_write(work->repo->dir_fd, step);
	if (rc == 0)
		rc = ews_sync_finish(&group);
	return rc < 0 ? rc : ews_journal_done(work->session->fd, step->id);
}

/* A directory's times are nobody's; one that holds what was left out stayed, though the state that was left has none. */
static bool is_of_somebody(const struct ews_transition_work *work, const struct ews_change *change)
{
	const struct ews_entry *target = ews_entries_find(&work->target.scan.entries, change->path);

	/* Of what somebody deleted nothing is there to be kept. */
	if (!change->to)
		return false;
	/* It stays: the step did not reach it, or the state that was left does not cover it; or somebody brought it back, and loses nothing. */
	if (target && ews_entry_equal(target, change->to))
		return false;
	if (change->to->type != EWS_ENTRY_DIR)
		return true;
	return !change->from && (!target || target->type != EWS_ENTRY_DIR);
}

/* What the try before this one did is no change of somebody's: it was about to write it. */
static bool is_of_earlier_try(const struct ews_transition_work *work, const struct ews_change *change)
{
	const struct ews_entry *now = change->to;

	return work->opts->is_retry && now->type == EWS_ENTRY_FILE && !now->size;
}

/* It was there before the step, which did not look at it, as at what was ignored then; nothing becomes of it now either. */
static bool was_left_out(const struct ews_transition_work *work, const struct ews_change *change)
{
	return !change->from && ews_skips_covering(&work->target.scan.skips, change->path);
}

/*
 * What somebody changed since the state that the step left: it is kept, as all is, and named, for
 * whoever undoes a step doesn't think of it.
 */
static void name_since(struct ews_transition_result *out, struct ews_transition_work *work)
{
	EWS_CLEANUP(changes) struct ews_changes since = EWS_CHANGES_INIT;

	if (!work->opts->left)
		return;
	ews_changes_between(&since, &work->left.scan.entries, &work->now.scan.entries, ews_entry_equal);
	for (size_t i = 0; i < since.n; i++)
		if (ews_transition_is_wanted(work, since.items[i].path) && is_of_somebody(work, &since.items[i]) &&
		    !is_of_earlier_try(work, &since.items[i]) && !was_left_out(work, &since.items[i]) &&
		    !ews_transition_mounted_at(&work->now, since.items[i].path))
			ews_strv_add(&out->since, since.items[i].path);
}

/* Likewise what of the index nobody thinks of, for no file of the step's has its name. */
static void name_displaced(struct ews_transition_result *out, const struct ews_transition_work *work)
{
	if (!work->displaced.n)
		return;
	ews_strv_add_array(&out->since, work->displaced.items);
	ews_strv_unique(&out->since);
}

/* The target was made from a state that was looked at before: who changed one of its paths since is not overwritten. */
static int refuse_since(const struct ews_transition_work *work)
{
	EWS_CLEANUP(changes) struct ews_changes since = EWS_CHANGES_INIT;

	if (!work->opts->seen)
		return 0;
	ews_changes_between(&since, &work->opts->seen->scan.entries, &work->now.scan.entries, ews_entry_equal);
	for (size_t i = 0; i < since.n; i++) {
		if (!ews_transition_is_wanted(work, since.items[i].path))
			continue;
		ews_error(EWS_ESTALE, "'%s' changed meanwhile", since.items[i].path);
		ews_error_hint("nothing was changed; try again");
		return EWS_ESTALE;
	}
	return 0;
}

/*
 * git's index may be large. Where it is as it shall be (ews_content_compare_git) one is enough while what is there is kept, of which it
 * is a part.
 */
static bool lend_index(struct ews_content *to, struct ews_gitstate *from)
{
	if (!to->index_is_due)
		return false;
	to->index_is_due = false;
	to->git.index = from->index;
	from->index = (struct ews_buf)EWS_BUF_INIT;
	return true;
}

/* `*has_begun` becomes true with the step's record: before that there is nothing to be finished, or taken back. */
static int carry_out(struct ews_transition_result *out, bool *has_begun, struct ews_transition_work *work, int root)
{
	EWS_CLEANUP(sync_group) struct ews_sync_group group = EWS_SYNC_GROUP_INIT;
	struct ews_ahead ahead;
	int rc;

	work->index_is_lent = ews_transition_moves_git(work) && lend_index(&work->now, &work->target.git);
	ews_ahead_begin(&ahead, work->repo->odb, &work->changes);
	rc = ews_transition_keep_lost(work, root);
	if (rc == 0)
		rc = keep_now(out, work, &group);
	if (work->index_is_lent) {
		work->target.git.index = work->now.git.index;
		work->now.git.index = (struct ews_buf)EWS_BUF_INIT;
	}
	if (rc == 0)
		rc = begin(has_begun, work, &group);
	ews_ahead_end(&ahead);
	if (rc == 0 && *work->opts->target->ref)
		ews_snapshot_foresee(&work->memo, work->repo, &work->before, &work->now, work->opts->target,
				     &work->target);
	if (rc == 0)
		rc = ews_transition_move_away(out, work, root);
	if (rc == 0)
		rc = put(out, work, root);
	if (rc == 0)
		rc = ews_transition_move_back(out, work, root);
	if (rc == 0)
		rc = ews_transition_write_git(out, work, root);
	if (rc == 0)
		rc = ews_transition_write_index(work);
	if (rc == 0)
		rc = ews_transition_move_branch(work);
	/* On a full disk that would need space as well, says the usual hint. */
	if (rc < 0 && rc != EWS_ENOSPACE && *has_begun && !work->opts->is_taken_back)
		ews_error_hint("'git ews recover' finishes it or takes it back; nothing is lost");
	return rc;
}

/* Is it not one of those that failed, which are sorted, and escaped? */
static bool has_not_failed(void *payload, const char *path)
{
	EWS_CLEANUP(buf) struct ews_buf escaped = EWS_BUF_INIT;

	ews_path_escape(&escaped, path, strlen(path));
	return !ews_strv_sorted_has(payload, escaped.ptr);
}

/* What was about to be written or removed, and differs after all, was not. */
static void leave_out_failed(struct ews_transition_result *out)
{
	EWS_CLEANUP(strv) struct ews_strv failed = EWS_STRV_INIT;

	for (size_t i = 0; i < out->errors.n; i++)
		ews_strv_add_len(&failed, out->errors.items[i], strcspn(out->errors.items[i], "\t"));
	if (!failed.n)
		return;
	ews_strv_sort(&failed);
	ews_strv_filter(&out->restored, has_not_failed, &failed);
	ews_strv_filter(&out->deleted, has_not_failed, &failed);
}

/* Of many files, what is about to be put has the room alone: what is kept is not written to memory as well. */
static void remember_what_is_put(const struct ews_transition_work *work)
{
	bool has_room = work->now.scan.entries.n <= REMEMBERED_FILES_MAX;

	ews_odb_remember(work->repo->odb, has_room ? REMEMBERED_BYTES_MAX : 0);
}

/* Whatever led here: nothing would be left of the repository. */
static int refuse_store(const struct ews_repo *repo, int root)
{
	if (!ews_repo_is_kept_in(repo, root))
		return 0;
	ews_error(EWS_EDENIED, "'%s' is a git directory, and no work tree", repo->project);
	ews_error_hint("nothing was changed; 'git ews undo --list' shows of which work tree each step is");
	return EWS_EDENIED;
}

/* All is known to be as it should be, and nothing is to be done. */
static void name_settled(struct ews_transition_result *out, const struct ews_transition_work *work)
{
	memcpy(out->original_hash, work->target.hash, sizeof(out->original_hash));
	memcpy(out->current_hash, work->now.hash, sizeof(out->current_hash));
	out->is_verified = true;
}

/* What speaks against the step, now that it is known what is there: nothing was changed then. */
static int refuse(struct ews_transition_result *out, struct ews_transition_work *work)
{
	const struct ews_transition_opts *opts = work->opts;
	/* First: that a path which was seen is nowhere by now is no mistake of whoever names paths. */
	int rc = refuse_since(work);

	/* A step that was taken once can be taken back, or finished, whatever became of its paths. */
	if (rc == 0 && work->step->state == EWS_STEP_PLANNED && !opts->is_retry)
		rc = ews_content_check_only(&work->now, &work->target, opts->only, opts->target->id);
	if (rc == 0)
		rc = ews_transition_refuse_moved_on(work);
	return rc < 0 ? rc : ews_transition_refuse_blocked(out, work);
}

/* What would be done beside the changes, which are listed. */
static void name_plan(struct ews_transition_result *out, const struct ews_transition_work *work)
{
	ews_transition_name_back(out, work);
	ews_transition_name_away(out, work);
	(void)ews_transition_name_strange(out, work, -1); /* how much it is nobody asks */
	ews_transition_name_uncovered(out, work, &work->now);
}

/*
 * Is there anything to do, or to write down? A redo that finds all as it should be notes that: somebody did the same by hand, which is his,
 * and stays when the step is taken back once more.
 */
static bool has_to_change(const struct ews_transition_work *work)
{
	const struct ews_step *step = work->step;
	bool moves_files = work->changes.n || work->away.n || work->n_taken;
	bool moves_git = work->has_git_change || work->brings_back || ews_transition_stages(work) ||
			 (step->commit && *step->commit);

	return moves_files || moves_git || work->opts->is_retry || step->state == EWS_STEP_REDOING;
}

/* Carry out what is planned, where that is anything, and prove that it is done. */
static int perform(struct ews_transition_result *out, bool *has_changed, struct ews_transition_work *work, int root)
{
	bool has_begun = work->opts->is_retry;
	int rc = 0;

	if (work->now.scan.entries.n > EWS_ENTRIES_MANY)
		remember_what_is_put(work);
	ews_transition_spare_shared_files(work);
	out->differs = *has_changed = has_to_change(work);
	work->is_untouched = !*has_changed;
	if (*has_changed)
		rc = carry_out(out, &has_begun, work, root);
	*has_changed = *has_changed && (rc == 0 || has_begun);
	if (rc == 0)
		rc = ews_transition_verify(out, work);
	leave_out_failed(out);
	work->step->is_incomplete = rc == 0 && !out->is_verified;
	return rc == 0 && *has_changed ? finish(work) : rc;
}

int ews_transition(struct ews_transition_result *out, bool *has_changed, struct ews_repo *repo,
		   struct ews_session *session, struct ews_step *step, const struct ews_transition_opts *opts)
{
	EWS_CLEANUP(work)
	struct ews_transition_work work = {
		.repo = repo,
		.session = session,
		.step = step,
		.opts = opts,
		.batch = ews_batch_new(repo->odb),
		.joined = EWS_CONTENT_INIT,
		.target = EWS_CONTENT_INIT,
		.before = EWS_SNAPSHOT_INIT,
		.left = EWS_CONTENT_INIT,
		.ours = EWS_STRV_INIT,
		.now = EWS_CONTENT_INIT,
		.changes = EWS_CHANGES_INIT,
		.kept = EWS_ENTRIES_INIT,
		.ignored = EWS_IGNORED_CHANGES_INIT,
		.away = EWS_STRV_INIT,
		.returning = EWS_STRV_INIT,
		.exact = EWS_STRV_INIT,
		.displaced = EWS_STRV_INIT,
		.memo = EWS_BUF_INIT,
	};
	EWS_CLEANUP(fd) int root = session ? ews_session_open_workspace(session) : ews_dir_open(repo->project);
	int rc;

	ews_batch_keep_briefly(work.batch);
	ews_batch_be_wary(work.batch);
	if (!opts->dry_run && opts->target->files <= EWS_ENTRIES_MANY)
		ews_odb_remember(repo->odb, REMEMBERED_BYTES_MAX);
	rc = root < 0 ? root : refuse_store(repo, root);
	if (rc == 0 && opts->is_retry)
		rc = ews_transition_settle(&work, root);
	if (rc == 0 && opts->is_retry)
		rc = ews_transition_settle_git(&work);
	if (rc == 0)
		rc = ews_transition_plan(out, &work, root);
	if (rc < 0)
		return rc;
	if (work.is_settled) {
		*has_changed = false;
		name_settled(out, &work);
		return 0;
	}
	rc = refuse(out, &work);
	if (rc == 0)
		rc = ews_transition_plan_branches(out, &work);
	if (rc < 0)
		return rc;
	ews_transition_find_changes(&work);
	ews_transition_list_changes(out, &work);
	ews_transition_name_expired(out, &work);
	name_since(out, &work);
	name_displaced(out, &work);
	if (!opts->dry_run)
		return perform(out, has_changed, &work, root);
	name_plan(out, &work);
	out->differs = has_to_change(&work);
	return 0;
}
