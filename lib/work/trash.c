/*
 * Trash: see trash.h.
 *
 * First a plan is made of all that is due, without a lock; then, a session at a time and under its lock, what
 * is still as it was planned goes.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/trash.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/str.h"
#include "base/sync.h"
#include "store/gate.h"
#include "store/git.h"
#include "store/home.h"
#include "store/lock.h"
#include "store/state.h"
#include "work/lineage.h"
#include "work/method.h"
#include "work/retire.h"
#include "work/trash_count.h"

#define GONE ".gone-"
#define OWN_LOCK "~clean" /* no session's id */
#define WRITERS_MS 5000
#define TOGETHER_MAX 64 /* records that are written together, for a file has some descriptors until it is */

void ews_trash_result_release(struct ews_trash_result *result)
{
	for (size_t i = 0; i < result->n; i++) {
		free(result->items[i].name);
		free(result->items[i].verb);
		free(result->items[i].session);
	}
	free(result->items);
	ews_strv_release(&result->kept);
	*result = (struct ews_trash_result)EWS_TRASH_RESULT_INIT;
}

static void add_item(struct ews_trash_plan *plan, struct ews_trash_item item)
{
	struct ews_trash_result *out = plan->out;

	EWS_GROW(out->items, out->n, out->cap);
	out->items[out->n++] = item;
}

static void show_dir(struct ews_trash_plan *plan, const struct ews_trash_dir *dir)
{
	const struct ews_step *step = dir->step ? &dir->step->record : NULL;

	add_item(plan, (struct ews_trash_item){ .kind = EWS_TRASH_DIRECTORY,
						.name = ews_path_join(plan->roots[dir->root].path, dir->step_id),
						.verb = ews_strdup(step ? step->verb : ""),
						.session = ews_strdup(step ? step->session : ""),
						.size_bytes = dir->bytes,
						.age_s = plan->now_s - dir->touched_s });
}

static void show_snapshot(struct ews_trash_plan *plan, const struct ews_trash_kept *kept)
{
	add_item(plan, (struct ews_trash_item){ .kind = EWS_TRASH_SNAPSHOT,
						.name = ews_strdup(kept->snapshot.id),
						.verb = ews_strdup(kept->verb),
						.session = ews_strdup(kept->snapshot.session),
						.size_bytes = kept->snapshot.bytes,
						.age_s = plan->now_s - kept->snapshot.created_s });
}

static void show_record(struct ews_trash_plan *plan, const struct ews_trash_record *record)
{
	if (record->has_entry)
		add_item(plan, (struct ews_trash_item){ .kind = EWS_TRASH_DIRECTORY,
							.name = ews_strfmt("%s/" EWS_METHOD_BESIDE "/%s",
									   plan->repo->common_dir, record->name),
							.verb = ews_strdup("end"),
							.session = ews_strdup(record->name),
							.size_bytes = record->entry_bytes,
							.age_s = plan->now_s - record->ended_s });
	if (record->is_due)
		add_item(plan, (struct ews_trash_item){ .kind = EWS_TRASH_SESSION,
							.name = ews_strdup(record->name),
							.verb = ews_strdup("end"),
							.session = ews_strdup(record->name),
							.size_bytes = record->bytes,
							.age_s = plan->now_s - record->ended_s });
}

static int cmp_items(const void *a, const void *b)
{
	const struct ews_trash_item *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->age_s != y->age_s)
		return x->age_s > y->age_s ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Say why something can't be looked at, and so stays. */
static void keep_for_error(struct ews_trash_plan *plan, const char *session)
{
	ews_strv_addf(&plan->out->kept, "%s\t%s", session, ews_error_message());
	ews_error_clear();
}

/* Is the record still what the plan was made of? To be asked under its lock. One that can't be read is named, and is not. */
static bool is_as_planned(struct ews_trash_plan *plan, const struct ews_trash_step *step)
{
	EWS_CLEANUP(step) struct ews_step now = EWS_STEP_INIT;
	int rc = ews_step_look(&now, NULL, plan->repo->dir_fd, step->record.id);

	if (rc < 0)
		keep_for_error(plan, step->record.session);
	return rc > 0 && now.state == step->record.state && now.undo_sequence == step->record.undo_sequence &&
	       now.is_emptied == step->record.is_emptied && !strcmp(now.session, step->record.session);
}

/* What a step took out of git's own directory is beside it. Renamed out of its name, a sweep finds it. */
static int drop_beside(struct ews_repo *repo, const char *step_id)
{
	static const char *const turns[] = { "f", "u" };
	EWS_CLEANUP(fd) int beside = ews_dir_open_beneath(repo->common_fd, EWS_METHOD_BESIDE);
	int rc = beside < 0 ? ews_error_if_passing(beside) : 0;

	for (size_t i = 0; i < 2 && beside >= 0 && rc == 0; i++) {
		EWS_CLEANUP(free) char *name = ews_strfmt("%s.%s", step_id, turns[i]);

		rc = ews_file_remove_tree(beside, name);
	}
	return rc;
}

static int expire_step(struct ews_trash_plan *plan, struct ews_trash_step *step)
{
	struct ews_step *record = &step->record;

	if (!is_as_planned(plan, step)) {
		step->is_due = false;
		return 0;
	}
	record->state = EWS_STEP_EXPIRED;
	record->is_emptied = true;
	ews_strv_clear(&record->moved);
	ews_strv_clear(&record->moving);
	ews_strv_clear(&record->stays);
	ews_strv_clear(&record->branches);
	ews_strv_clear(&record->branches_moving);
	return ews_step_write(plan->repo->dir_fd, record);
}

/* Say in the step's record that the directory goes. */
static int mark_dir(struct ews_trash_plan *plan, struct ews_trash_dir *dir, struct ews_trash_step *step)
{
	if (!step || step->record.state == EWS_STEP_EXPIRED)
		return 0;
	if (step->is_due || !is_as_planned(plan, step)) {
		dir->is_due = false; /* its step was not let go */
		return 0;
	}
	step->record.is_emptied = true;
	if (ews_step_keeps_nothing(&step->record))
		step->record.state = EWS_STEP_EXPIRED;
	return ews_step_write(plan->repo->dir_fd, &step->record);
}

/* Rename it to where nobody looks for it. */
static int condemn_dir(struct ews_trash_plan *plan, struct ews_trash_dir *dir)
{
	const struct ews_trash_root *root = &plan->roots[dir->root];
	EWS_CLEANUP(free) char *gone = ews_strfmt(GONE "%s", dir->step_id);
	int rc = drop_beside(plan->repo, dir->step_id);

	if (rc == 0)
		rc = ews_file_remove_tree(root->fd, gone);
	if (rc == 0)
		rc = ews_file_rename_new(root->fd, dir->step_id, root->fd, gone);
	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		rc = 0;
	}
	if (rc == 0)
		rc = ews_file_sync_dir(root->fd);
	dir->is_condemned = rc == 0;
	return rc;
}

/* The steps as they are now, new ones as well; those that have expired need nothing. */
struct steps {
	struct ews_step *items;
	size_t n, cap;
};

static void release_steps(struct steps *steps)
{
	for (size_t i = 0; i < steps->n; i++)
		ews_step_release(&steps->items[i]);
	free(steps->items);
}

EWS_CLEANUP_DEFINE(steps, struct steps, release_steps)

/* To be read under the lock of who is asked for: verbs write their step before they give it up. */
static int read_steps(struct steps *out, const struct ews_trash_plan *plan)
{
	EWS_CLEANUP(strv) struct ews_strv ids = EWS_STRV_INIT;
	int rc = ews_step_list(&ids, plan->repo->dir_fd);

	for (size_t i = 0; i < ids.n && rc >= 0; i++) {
		EWS_CLEANUP(step) struct ews_step step = EWS_STEP_INIT;

		rc = ews_step_look(&step, NULL, plan->repo->dir_fd, ids.items[i]);
		if (rc <= 0 || step.state == EWS_STEP_EXPIRED)
			continue;
		EWS_GROW(out->items, out->n, out->cap);
		out->items[out->n++] = step;
		step = (struct ews_step)EWS_STEP_INIT;
	}
	return rc < 0 ? rc : 0;
}

static bool is_needed(const struct steps *steps, const char *id)
{
	for (size_t i = 0; i < steps->n; i++)
		if (ews_step_needs(&steps->items[i], id))
			return true;
	return false;
}

/* Is one that stays its child, or may one that goes with it be between? */
static bool is_named_as_parent(const struct ews_trash_plan *plan, const char *id)
{
	for (size_t i = 0; i < plan->n_kept; i++)
		if (!strcmp(plan->kept[i].snapshot.parent ? plan->kept[i].snapshot.parent : "", id))
			return true;
	return ews_strv_sorted_has(&plan->parents, id);
}

/* Does a step that is not expired speak of the session? Then it may come back. */
static bool can_come_back(const struct ews_trash_plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->n_steps; i++)
		if (!strcmp(plan->steps[i].record.session, name) && plan->steps[i].record.state != EWS_STEP_EXPIRED)
			return true;
	return false;
}

static int drop_record(struct ews_trash_plan *plan, const struct ews_trash_record *record)
{
	EWS_CLEANUP(fd) int sessions = ews_repo_subdir(plan->repo, EWS_WORKING_SESSIONS);
	EWS_CLEANUP(fd) int beside = -1;
	EWS_CLEANUP(free) char *gone = ews_strfmt(GONE "%s", record->name);
	EWS_CLEANUP(free) char *id = ews_retire_id(record->name);
	int rc = sessions < 0 ? sessions : ews_state_has_ended(sessions, record->name);

	/* Under the lock nobody turns a step of it; a new one under its id would not have ended. */
	if (rc == 0 || (rc > 0 && can_come_back(plan, record->name)))
		return 0;
	if (rc > 0) {
		beside = ews_dir_open_beneath(plan->repo->common_fd, EWS_METHOD_BESIDE);
		rc = beside < 0 ? ews_error_if_passing(beside) : 0;
	}
	if (rc < 0) {
		keep_for_error(plan, id);
		return 0;
	}
	rc = beside < 0 ? 0 : ews_file_remove_tree(beside, record->name);
	if (rc == 0 && record->is_due)
		rc = ews_file_rename_new(sessions, record->name, sessions, gone);
	if (rc == 0)
		rc = ews_file_sync_dir(sessions);
	if (rc == 0)
		show_record(plan, record);
	return rc;
}

/* Whose lock protects what the step keeps? The caller frees it. */
static char *lock_of_step(const struct ews_step *step)
{
	if (ews_step_is_of_project(step))
		return ews_strdup(EWS_LOCK_PROJECT);
	return ews_retire_id(step->session);
}

/* Is the lock `other`, whose name is freed, the one called `lock`? */
static bool is_locked_by(const char *lock, char *other)
{
	bool same = !strcmp(lock, other);

	free(other);
	return same;
}

static const char *owner_of(const struct ews_snapshot *snapshot)
{
	return *snapshot->session ? snapshot->session : EWS_LOCK_PROJECT;
}

static char *lock_of_dir(const struct ews_trash_dir *dir)
{
	return dir->step ? lock_of_step(&dir->step->record) : ews_strdup(EWS_LOCK_PROJECT);
}

/* First the steps: that they go is written down before what they keep does. */
static int act_on_steps(struct ews_trash_plan *plan, const char *name)
{
	EWS_CLEANUP(sync_group) struct ews_sync_group group = EWS_SYNC_GROUP_INIT;
	int rc = 0;

	if (plan->opts->dry_run)
		return 0;
	ews_sync_begin(&group);
	for (size_t i = 0; i < plan->n_steps && rc == 0; i++) {
		struct ews_trash_step *step = &plan->steps[i];

		if (!is_locked_by(name, lock_of_step(&step->record)))
			continue;
		if (group.n >= TOGETHER_MAX)
			rc = ews_sync_begin_anew(&group);
		if (rc < 0)
			break;
		if (step->is_due)
			rc = expire_step(plan, step);
		else if (step->is_mark)
			rc = ews_step_remove(plan->repo->dir_fd, step->record.id);
	}
	if (rc == 0)
		rc = ews_sync_finish(&group);
	for (size_t i = 0; i < plan->n_steps && rc == 0; i++) {
		const struct ews_step *step = &plan->steps[i].record;

		if (step->state == EWS_STEP_EXPIRED && is_locked_by(name, lock_of_step(step)))
			rc = drop_beside(plan->repo, step->id);
	}
	return rc;
}

/* What is due and lies under the lock. */
static bool is_dir_due(const struct ews_trash_dir *dir, const char *name)
{
	return dir->is_due && is_locked_by(name, lock_of_dir(dir));
}

static bool is_kept_due(const struct ews_trash_kept *kept, const char *name)
{
	return kept->is_due && !strcmp(name, owner_of(&kept->snapshot));
}

/* Look which of the snapshots under the lock go, and remember what will be asked about them then. */
static int mark_snapshots(struct ews_trash_plan *plan, const char *name)
{
	EWS_CLEANUP(steps) struct steps steps = { NULL, 0, 0 };
	const struct ews_snapshot **parents = ews_calloc(plan->n_kept + 1, sizeof(*parents));
	bool has_read = false;
	size_t n = 0;
	int rc = 0;

	for (size_t i = 0; i < plan->n_kept && rc == 0; i++) {
		struct ews_trash_kept *kept = &plan->kept[i];

		if (!is_kept_due(kept, name))
			continue;
		rc = has_read ? 0 : read_steps(&steps, plan);
		has_read = true;
		if (rc == 0 && is_needed(&steps, kept->snapshot.id))
			kept->is_due = false;
		else if (rc == 0 && is_named_as_parent(plan, kept->snapshot.id))
			parents[n++] = &kept->snapshot;
	}
	if (rc == 0)
		rc = ews_lineage_remember(plan->repo, parents, n);
	free(parents);
	return rc;
}

/* What must be on the disk before the rest goes. */
static int mark_rest(struct ews_trash_plan *plan, const char *name)
{
	int rc = 0;

	for (size_t i = 0; i < plan->n_dirs && rc == 0; i++)
		if (is_dir_due(&plan->dirs[i], name))
			rc = mark_dir(plan, &plan->dirs[i], ews_trash_plan_step(plan, plan->dirs[i].step_id));
	return rc < 0 ? rc : mark_snapshots(plan, name);
}

/* The refs of the snapshots that go, and which snapshot each is of. */
struct ref_list {
	struct ews_trash_plan *plan;
	struct ews_ref *refs; /* their names are the snapshots' */
	const struct ews_trash_kept **kept;
	size_t n;
};

static void release_ref_list(struct ref_list *list)
{
	free(list->refs);
	free(list->kept);
}

EWS_CLEANUP_DEFINE(ref_list, struct ref_list, release_ref_list)

static void show_gone(void *payload, size_t i)
{
	const struct ref_list *list = payload;

	show_snapshot(list->plan, list->kept[i]);
}

static int drop_snapshots(struct ews_trash_plan *plan, const char *name)
{
	EWS_CLEANUP(ref_list) struct ref_list list = { .plan = plan };
	int rc;

	list.refs = ews_calloc(plan->n_kept + 1, sizeof(*list.refs));
	list.kept = ews_calloc(plan->n_kept + 1, sizeof(*list.kept));
	for (size_t i = 0; i < plan->n_kept; i++) {
		const struct ews_snapshot *snapshot = &plan->kept[i].snapshot;

		if (!is_kept_due(&plan->kept[i], name))
			continue;
		list.kept[list.n] = &plan->kept[i];
		list.refs[list.n++] = (struct ews_ref){ .name = snapshot->ref, .oid = snapshot->commit };
	}
	rc = ews_odb_ref_drop_all(plan->repo->odb, list.refs, list.n, show_gone, &list);
	if (rc != EWS_ESTALE)
		return rc;
	ews_error_clear(); /* somebody took it up meanwhile */
	return 0;
}

/* The rest goes; its directories are synced together. */
static int drop_rest(struct ews_trash_plan *plan, const char *name)
{
	EWS_CLEANUP(sync_group) struct ews_sync_group group = EWS_SYNC_GROUP_INIT;
	int rc = 0;

	ews_sync_begin(&group);
	for (size_t i = 0; i < plan->n_dirs && rc == 0; i++)
		if (is_dir_due(&plan->dirs[i], name))
			rc = condemn_dir(plan, &plan->dirs[i]);
	if (rc == 0)
		rc = drop_snapshots(plan, name);
	for (size_t i = 0; i < plan->n_records && rc == 0; i++)
		if (is_locked_by(name, ews_retire_id(plan->records[i].name)))
			rc = drop_record(plan, &plan->records[i]);
	return rc < 0 ? rc : ews_sync_finish(&group);
}

static void show_rest(struct ews_trash_plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->n_dirs; i++)
		if (is_dir_due(&plan->dirs[i], name))
			show_dir(plan, &plan->dirs[i]);
	for (size_t i = 0; i < plan->n_kept; i++)
		if (is_kept_due(&plan->kept[i], name))
			show_snapshot(plan, &plan->kept[i]);
	for (size_t i = 0; i < plan->n_records; i++)
		if (is_locked_by(name, ews_retire_id(plan->records[i].name)))
			show_record(plan, &plan->records[i]);
}

/* All that goes under the lock `name`, which the caller holds; of a dry run what would. */
static int act_on_rest(struct ews_trash_plan *plan, const char *name)
{
	int rc;

	if (plan->opts->dry_run) {
		show_rest(plan, name);
		return 0;
	}
	rc = mark_rest(plan, name);
	return rc < 0 ? rc : drop_rest(plan, name);
}

static void add_lock(struct ews_strv *out, char *name)
{
	ews_strv_add(out, name);
	free(name);
}

/* The locks that what is due lies under. */
static void list_locks(struct ews_strv *out, const struct ews_trash_plan *plan)
{
	for (size_t i = 0; i < plan->n_steps; i++)
		if (plan->steps[i].is_due || plan->steps[i].is_mark)
			add_lock(out, lock_of_step(&plan->steps[i].record));
	for (size_t i = 0; i < plan->n_dirs; i++)
		if (plan->dirs[i].is_due)
			add_lock(out, lock_of_dir(&plan->dirs[i]));
	for (size_t i = 0; i < plan->n_kept; i++)
		if (plan->kept[i].is_due)
			ews_strv_add(out, owner_of(&plan->kept[i].snapshot));
	for (size_t i = 0; i < plan->n_records; i++)
		add_lock(out, ews_retire_id(plan->records[i].name));
	ews_strv_unique(out);
}

/* Say of how many bytes, which were found out meanwhile, the directory was that had the name `gone`. */
static void name_swept(struct ews_trash_plan *plan, size_t root, const char *gone, uint64_t bytes)
{
	for (size_t i = 0; i < plan->n_dirs; i++) {
		struct ews_trash_dir *dir = &plan->dirs[i];

		if (dir->is_condemned && dir->root == root && !strcmp(dir->step_id, gone + strlen(GONE)))
			dir->bytes = bytes;
	}
}

/*
 * What was renamed to be deleted, by this call or by one that was killed. `root` is one of the plan's, or none. Where something
 * can't go that is named, and the rest goes.
 */
static int sweep_gone(struct ews_trash_plan *plan, size_t root, int fd, struct ews_file_removed *removed)
{
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	struct ews_error_saved first = EWS_ERROR_SAVED_INIT;
	ssize_t n = ews_dir_names_read(&names, fd);

	for (ssize_t i = 0; i < n; i++) {
		uint64_t before = removed->bytes;
		int rc;

		if (!ews_str_begins(names.items[i].name, GONE))
			continue;
		rc = ews_file_remove_tree_told(fd, names.items[i].name, removed);
		name_swept(plan, root, names.items[i].name, removed->bytes - before);
		if (rc < 0 && plan->out)
			ews_strv_addf(&plan->out->kept, "\t%s", ews_error_message());
		else if (rc < 0 && !first.code)
			ews_error_save(&first);
	}
	if (n < 0)
		return (int)n;
	ews_error_clear();
	return first.code ? ews_error_restore(&first) : 0;
}

static int sweep_all(struct ews_trash_plan *plan)
{
	struct ews_file_removed removed = { .show = plan->opts->progress, .payload = plan->opts->payload };
	EWS_CLEANUP(fd) int sessions = ews_repo_subdir(plan->repo, EWS_WORKING_SESSIONS);
	int rc = sessions < 0 ? sessions : sweep_gone(plan, SIZE_MAX, sessions, &removed);

	(void)unlinkat(plan->repo->common_fd, EWS_METHOD_BESIDE, AT_REMOVEDIR); /* others' may be in it */
	for (size_t i = 0; i < plan->n_roots && rc == 0; i++) {
		rc = sweep_gone(plan, i, plan->roots[i].fd, &removed);
		/* An empty one beside somebody's directories is nothing that should stay. */
		if (plan->roots[i].is_named_only)
			(void)rmdir(plan->roots[i].path); /* others' trash may be in it */
	}
	for (size_t i = 0; i < plan->n_dirs && rc == 0; i++)
		if (plan->dirs[i].is_condemned)
			show_dir(plan, &plan->dirs[i]);
	return rc;
}

/* Call `act` for each of the locks, and hold it meanwhile. */
static int act_under(struct ews_trash_plan *plan, const struct ews_strv *names,
		     int (*act)(struct ews_trash_plan *plan, const char *name))
{
	int rc = 0;

	for (size_t i = 0; i < names->n && rc == 0; i++) {
		EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;
		const char *name = names->items[i];

		rc = ews_repo_lock(&lock, plan->repo, name, EWS_LOCK_SWEEP, 0);
		if (rc == EWS_EBUSY) {
			ews_strv_addf(&plan->out->kept, "%s\t%s", strcmp(name, EWS_LOCK_PROJECT) ? name : "",
				      ews_error_message());
			ews_error_clear();
			rc = 0;
			continue;
		}
		if (rc == 0)
			rc = act(plan, name);
	}
	return rc;
}

static int act_all(struct ews_trash_plan *plan)
{
	EWS_CLEANUP(strv) struct ews_strv names = EWS_STRV_INIT;
	int rc;

	list_locks(&names, plan);
	rc = act_under(plan, &names, act_on_steps);
	if (rc == 0)
		rc = act_under(plan, &names, act_on_rest);
	ews_strv_unique(&plan->out->kept);
	return rc;
}

int ews_trash_clean(struct ews_trash_result *out, struct ews_repo *repo, const struct ews_trash_opts *opts)
{
	EWS_CLEANUP(trash_result) struct ews_trash_result result = EWS_TRASH_RESULT_INIT;
	EWS_CLEANUP(trash_plan)
	struct ews_trash_plan plan = {
		.repo = repo, .opts = opts, .out = &result, .parents = EWS_STRV_INIT, .sessions = EWS_STRV_INIT
	};
	EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;
	EWS_CLEANUP(trash_count) struct ews_trash_count count = EWS_TRASH_COUNT_INIT;
	int rc = ews_repo_need_dir(repo);

	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		return 0;
	}
	if (rc == 0)
		rc = ews_repo_lock(&lock, repo, OWN_LOCK, "clean", 0);
	if (rc == 0)
		rc = ews_trash_plan_make(&plan);
	if (rc < 0)
		return rc;
	ews_strv_add_array(&result.kept, plan.unread.items);
	ews_trash_count_begin(&count, &plan);
	ews_trash_plan_measure(&plan);
	rc = act_all(&plan);
	if (rc == 0 && !opts->dry_run)
		rc = sweep_all(&plan);
	ews_trash_count_end(&count);
	result.object_bytes = count.bytes;
	if (rc < 0)
		return rc;
	if (result.n)
		qsort(result.items, result.n, sizeof(*result.items), cmp_items);
	*out = result;
	result = (struct ews_trash_result)EWS_TRASH_RESULT_INIT;
	return 0;
}

int ews_trash_sweep(struct ews_repo *repo)
{
	const struct ews_trash_opts opts = { .dry_run = false };
	EWS_CLEANUP(trash_plan)
	struct ews_trash_plan plan = {
		.repo = repo, .opts = &opts, .parents = EWS_STRV_INIT, .sessions = EWS_STRV_INIT
	};
	EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;
	int rc = ews_repo_lock(&lock, repo, OWN_LOCK, EWS_LOCK_SWEEP, 0);

	if (rc == 0)
		rc = ews_trash_plan_roots(&plan);
	return rc < 0 ? rc : sweep_all(&plan);
}

int ews_trash_collect(struct ews_repo *repo)
{
	EWS_CLEANUP(strv) struct ews_strv args = EWS_STRV_INIT;
	EWS_CLEANUP(fd) int gate = -1;
	/* The store is no one's workspace: git may stand in it. */
	const struct ews_git_opts git = { .neutral_dir = repo->common_dir,
					  .object_dir = ews_odb_object_dir(repo->odb) };
	int rc;

	if (!repo->is_plain)
		return 0;
	gate = ews_gate_shut(repo->common_dir, WRITERS_MS);
	if (gate < 0)
		return gate;
	ews_strv_add_all(&args, "gc", "--quiet", "--prune=now", NULL);
	rc = ews_git_run(&git, args.items);
	if (rc > 0)
		rc = ews_error(EWS_EGIT, "git did not collect what nothing names in '%s'", repo->common_dir);
	return rc < 0 ? rc : ews_odb_refresh(repo->odb);
}
