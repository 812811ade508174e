/*
 * Trash plan: see trash_plan.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/trash_plan.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/str.h"
#include "store/home.h"
#include "store/state.h"
#include "work/method.h"
#include "work/pending.h"
#include "work/retire.h"

#define DAY_S (24 * 60 * 60)

/* Is what was last touched then to go, when it may stay for `stay_s`? */
static bool is_over(const struct ews_trash_plan *plan, int64_t touched_s, int64_t stay_s)
{
	int64_t age_s = plan->now_s - touched_s;

	if (plan->opts->now)
		return age_s >= plan->opts->older_than_s;
	return stay_s != EWS_AGE_NEVER && age_s >= stay_s;
}

/* Is it time for what nobody here knows of? It may be another home's, which counts from when it went to trash. */
static bool is_old(const struct ews_trash_plan *plan, int64_t touched_s)
{
	return plan->expire_s != EWS_AGE_NEVER && plan->now_s - touched_s >= plan->expire_s;
}

static bool is_wanted(const struct ews_trash_plan *plan, const char *session)
{
	return !plan->opts->session || !strcmp(plan->opts->session, session);
}

struct ews_trash_step *ews_trash_plan_step(const struct ews_trash_plan *plan, const char *id)
{
	for (size_t i = 0; i < plan->n_steps; i++)
		if (!strcmp(plan->steps[i].record.id, id))
			return &plan->steps[i];
	return NULL;
}

static int plan_steps(struct ews_trash_plan *plan)
{
	EWS_CLEANUP(strv) struct ews_strv ids = EWS_STRV_INIT;
	int rc = ews_step_list(&ids, plan->repo->dir_fd);

	for (size_t i = 0; i < ids.n && rc >= 0; i++) {
		struct ews_trash_step step = { .record = EWS_STEP_INIT };

		rc = ews_step_look(&step.record, &plan->damaged, plan->repo->dir_fd, ids.items[i]);
		if (rc <= 0)
			continue;
		if (step.record.state == EWS_STEP_EXPIRED)
			step.is_mark = is_old(plan, step.record.written_s);
		else if (!ews_step_is_unfinished(&step.record) && is_wanted(plan, step.record.session))
			step.is_due = is_over(plan, step.record.written_s, plan->expire_s);
		EWS_GROW(plan->steps, plan->n_steps, plan->cap_steps);
		plan->steps[plan->n_steps++] = step;
	}
	return rc < 0 ? rc : 0;
}

/* Say why something is not looked at, and so stays. */
static void keep_for_error(struct ews_trash_plan *plan, const char *session)
{
	ews_strv_addf(&plan->unread, "%s\t%s", session, ews_error_message());
}

/* Takes over `root`. One that is not there, or is a link, holds nothing; one that can't be opened stays as it is. */
static void add_root(struct ews_trash_plan *plan, struct ews_trash_root root)
{
	bool is_known = root.fd < 0;

	if (root.fd < 0 && !ews_errno_is_absent_or_link(errno)) {
		(void)ews_error_wrap("'%s'", root.path);
		keep_for_error(plan, "");
	}
	ews_error_clear();
	for (size_t i = 0; i < plan->n_roots && !is_known; i++)
		is_known = !strcmp(plan->roots[i].path, root.path);
	if (is_known) {
		ews_cleanup_fd(&root.fd);
		free(root.path);
		return;
	}
	EWS_GROW(plan->roots, plan->n_roots, plan->cap_roots);
	plan->roots[plan->n_roots++] = root;
}

static int open_below(const char *top, const char *rel)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open(top);

	return fd < 0 ? fd : ews_dir_open_beneath(fd, rel);
}

/* Beside a workspace that `start --in` put elsewhere. */
static void add_root_elsewhere(struct ews_trash_plan *plan, const struct ews_state *state)
{
	EWS_CLEANUP(free) char *parent = ews_path_dir(state->workspace);
	EWS_CLEANUP(free) char *real = realpath(plan->repo->dir, NULL);
	EWS_CLEANUP(free) char *qe = ews_path_join(real ? real : plan->repo->dir, EWS_WORKING_WORKSPACES);

	if (ews_method_find(state->method) == &ews_method_in_place || *state->workspace != '/' || !strcmp(parent, qe))
		return;
	add_root(plan, (struct ews_trash_root){ .path = ews_path_join(parent, EWS_TRASH_ELSEWHERE),
						.fd = open_below(parent, EWS_TRASH_ELSEWHERE),
						.is_named_only = true });
}

static uint64_t measure(int dir_fd, const char *name)
{
	struct ews_tree_size size = { 0, 0 };

	if (ews_file_measure_tree(&size, dir_fd, name) < 0)
		ews_error_clear(); /* a number for people; what can't be read counts nothing */
	return size.bytes;
}

/* Look at a session's directory: where its trash is, and whether it is over. */
static void look_at_session(struct ews_trash_plan *plan, int sessions_fd, const char *name)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(sessions_fd, name);
	EWS_CLEANUP(state) struct ews_state state = EWS_STATE_INIT;
	EWS_CLEANUP(free) char *entry = ews_path_join(EWS_METHOD_BESIDE, name);
	EWS_CLEANUP(free) char *id = ews_retire_id(name);
	struct ews_trash_record record = { 0 };
	int has_entry = ews_file_is_there(plan->repo->common_fd, entry);
	int rc = has_entry < 0 ? has_entry : fd < 0 ? fd : ews_state_read(&state, fd);

	/* A start that was killed is recover's, a state that makes no sense nobody's. */
	if (rc == EWS_EIO && is_wanted(plan, id))
		keep_for_error(plan, id);
	if (rc < 0) {
		ews_error_clear();
		return;
	}
	add_root_elsewhere(plan, &state);
	if (state.state != EWS_STATE_ENDED)
		return;
	record.name = ews_strdup(name);
	record.ended_s = state.ended_s;
	record.has_entry = has_entry;
	record.bytes = measure(sessions_fd, name);
	record.entry_bytes = record.has_entry ? measure(plan->repo->common_fd, entry) : 0;
	EWS_GROW(plan->records, plan->n_records, plan->cap_records);
	plan->records[plan->n_records++] = record;
}

int ews_trash_plan_roots(struct ews_trash_plan *plan)
{
	struct ews_repo *repo = plan->repo;
	EWS_CLEANUP(fd) int sessions = ews_repo_subdir(repo, EWS_WORKING_SESSIONS);
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = sessions < 0 ? sessions : ews_dir_names_read(&names, sessions);

	add_root(plan, (struct ews_trash_root){ .path = ews_path_join(repo->dir, EWS_WORKING_TRASH),
						.fd = ews_dir_open_beneath(repo->dir_fd, EWS_WORKING_TRASH),
						.is_home = true });
	if (!repo->is_bare) {
		add_root(plan, (struct ews_trash_root){ .path = ews_path_join(repo->project, EWS_OWN_TRASH),
							.fd = open_below(repo->project, EWS_OWN_TRASH) });
		add_root(plan, (struct ews_trash_root){ .path = ews_path_join(repo->project, EWS_TRASH_ELSEWHERE),
							.fd = open_below(repo->project, EWS_TRASH_ELSEWHERE),
							.is_named_only = true });
	}
	for (ssize_t i = 0; i < n; i++)
		if (*names.items[i].name != '.') {
			EWS_CLEANUP(free) char *id = ews_retire_id(names.items[i].name);

			ews_strv_add(&plan->sessions, id);
			look_at_session(plan, sessions, names.items[i].name);
		}
	return n < 0 ? (int)n : 0;
}

/* `aside_s`: since when its record has been set aside, -1: it was not. */
static bool is_dir_due(const struct ews_trash_plan *plan, const struct ews_trash_dir *dir, int64_t aside_s)
{
	/* Whoever set its record aside may want to look at what it took away. */
	if (aside_s >= 0)
		return !plan->opts->session && is_over(plan, aside_s, plan->expire_s);
	if (!dir->step)
		return !plan->opts->session && (plan->roots[dir->root].is_home ? is_over(plan, dir->touched_s, DAY_S)
									       : is_old(plan, dir->touched_s));
	if (ews_step_is_unfinished(&dir->step->record))
		return false;
	if (dir->step->is_due || dir->step->record.state == EWS_STEP_EXPIRED)
		return true;
	return is_wanted(plan, dir->step->record.session) && is_over(plan, dir->touched_s, DAY_S);
}

static int list_root(struct ews_trash_plan *plan, size_t root)
{
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = ews_dir_names_read(&names, plan->roots[root].fd);
	int rc = n < 0 ? (int)n : 0;

	for (ssize_t i = 0; i < n && rc >= 0; i++) {
		int64_t aside_s = -1;
		struct ews_trash_dir dir = { .root = root, .step = ews_trash_plan_step(plan, names.items[i].name) };
		struct stat st;

		/* What a step took away whose record makes no sense may be all that there is of something. */
		if (!ews_str_begins(names.items[i].name, "op-") || ews_strv_has(&plan->damaged, names.items[i].name) ||
		    (!dir.step && plan->roots[root].is_named_only) ||
		    fstatat(plan->roots[root].fd, names.items[i].name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (!dir.step)
			rc = ews_step_aside_since_s(&aside_s, plan->repo->dir_fd, names.items[i].name);
		if (rc < 0)
			break;
		dir.step_id = ews_strdup(names.items[i].name);
		dir.touched_s = st.st_mtim.tv_sec;
		dir.is_due = is_dir_due(plan, &dir, aside_s);
		EWS_GROW(plan->dirs, plan->n_dirs, plan->cap_dirs);
		plan->dirs[plan->n_dirs++] = dir;
	}
	return rc < 0 ? rc : 0;
}

static int cmp_dirs(const void *a, const void *b)
{
	const struct ews_trash_dir *x = a, *y = b;

	if (x->touched_s != y->touched_s)
		return x->touched_s < y->touched_s ? -1 : 1;
	return strcmp(x->step_id, y->step_id);
}

/* Over the limit the oldest go, and never the newest. */
static void limit_dirs(struct ews_trash_plan *plan)
{
	uint64_t total = 0;
	size_t newest = 0;

	for (size_t i = 0; i < plan->n_dirs; i++) {
		if (plan->dirs[i].is_due || !plan->dirs[i].bytes)
			continue;
		total += plan->dirs[i].bytes;
		newest = i;
	}
	for (size_t i = 0; i < newest && total > plan->max_bytes; i++) {
		struct ews_trash_dir *dir = &plan->dirs[i];

		if (dir->is_due || !dir->bytes || !dir->step || ews_step_is_unfinished(&dir->step->record))
			continue;
		dir->is_due = true;
		total -= dir->bytes;
	}
}

static int plan_dirs(struct ews_trash_plan *plan)
{
	int rc = ews_trash_plan_roots(plan);

	for (size_t i = 0; i < plan->n_roots && rc == 0; i++)
		rc = list_root(plan, i);
	if (plan->n_dirs)
		qsort(plan->dirs, plan->n_dirs, sizeof(*plan->dirs), cmp_dirs);
	return rc;
}

void ews_trash_plan_measure(struct ews_trash_plan *plan)
{
	for (size_t i = 0; i < plan->n_dirs; i++) {
		/* What goes is measured as it goes. */
		if (plan->dirs[i].is_due && !plan->opts->dry_run)
			continue;
		plan->dirs[i].bytes = measure(plan->roots[plan->dirs[i].root].fd, plan->dirs[i].step_id);
	}
	if (!plan->opts->now)
		limit_dirs(plan);
}

/* When was it put there? A ref of its own tells, or else the file of them all. */
static int64_t kept_since_s(const struct ews_trash_plan *plan, const struct ews_snapshot *snapshot)
{
	struct stat st;

	if (fstatat(plan->repo->common_fd, snapshot->ref, &st, AT_SYMLINK_NOFOLLOW) < 0 &&
	    fstatat(plan->repo->common_fd, "packed-refs", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return snapshot->created_s;
	return st.st_mtim.tv_sec > snapshot->created_s ? st.st_mtim.tv_sec : snapshot->created_s;
}

/*
 * A snapshot goes with the last step that needs it. One that no step needs goes at its own age; and whatever its age only
 * when it is this home's, since the refs of a repository are those of all homes.
 */
static bool is_snapshot_due(const struct ews_trash_plan *plan, struct ews_trash_kept *kept)
{
	bool is_ours = ews_strv_has(&plan->sessions, kept->snapshot.session), is_free = false;

	for (size_t i = 0; i < plan->n_steps; i++) {
		const struct ews_trash_step *step = &plan->steps[i];

		if (!ews_step_needs(&step->record, kept->snapshot.id))
			continue;
		if (!step->is_due && step->record.state != EWS_STEP_EXPIRED)
			return false;
		kept->verb = step->record.verb;
		is_free = true;
	}
	if (is_free || !is_wanted(plan, kept->snapshot.session))
		return is_free;
	return is_ours ? is_over(plan, kept->snapshot.created_s, plan->expire_s)
		       : is_old(plan, kept_since_s(plan, &kept->snapshot));
}

/* One whose commit can't be read has no age, and is no reason to leave all others. */
static void read_damaged(struct ews_snapshot *out, const struct ews_trash_plan *plan, const struct ews_ref *ref)
{
	ews_error_clear();
	*out = (struct ews_snapshot){ .id = ews_strdup(ref->name + strlen(EWS_REF_TRASH)),
				      .ref = ews_strdup(ref->name),
				      .session = ews_strdup(""),
				      .commit = ref->oid,
				      .created_s = plan->now_s };
}

/* One that is damaged is verify's to name. */
static int list_parents(struct ews_trash_plan *plan)
{
	EWS_CLEANUP(snapshots) struct ews_snapshots living = EWS_SNAPSHOTS_INIT;
	int rc = ews_snapshot_list(&living, plan->repo, NULL, EWS_SNAPSHOTS_OF_ALL);

	for (size_t i = 0; i < living.n; i++)
		ews_strv_add(&plan->parents, living.items[i].parent);
	ews_strv_sort(&plan->parents);
	return rc;
}

static int plan_snapshots(struct ews_trash_plan *plan)
{
	EWS_CLEANUP(refs) struct ews_refs refs = EWS_REFS_INIT;
	int rc = ews_odb_ref_list(&refs, plan->repo->odb, EWS_REF_TRASH);

	if (rc == 0 && refs.n)
		rc = list_parents(plan);
	for (size_t i = 0; i < refs.n && rc == 0; i++) {
		struct ews_trash_kept kept = { .snapshot = EWS_SNAPSHOT_INIT, .verb = "" };

		if (ews_snapshot_read(&kept.snapshot, plan->repo, &refs.items[i]) < 0) {
			ews_snapshot_release(&kept.snapshot);
			read_damaged(&kept.snapshot, plan, &refs.items[i]);
		}
		kept.is_due = is_snapshot_due(plan, &kept);
		EWS_GROW(plan->kept, plan->n_kept, plan->cap_kept);
		plan->kept[plan->n_kept++] = kept;
	}
	return rc;
}

/*
 * An ended session that no step brings back is over: its kept worktree entry goes, and its record when nobody
 * can ask for it by its id any more, or has had as long for that as undo has.
 */
static int plan_records(struct ews_trash_plan *plan)
{
	size_t n = 0;
	int rc = 0;

	for (size_t i = 0; i < plan->n_records; i++) {
		struct ews_trash_record *record = &plan->records[i];
		EWS_CLEANUP(free) char *id = NULL;
		bool is_back = false, is_marked = false;

		for (size_t k = 0; k < plan->n_steps; k++) {
			const struct ews_trash_step *step = &plan->steps[k];

			if (strcmp(step->record.session, record->name) || step->is_mark)
				continue;
			is_back = is_back || (!step->is_due && step->record.state != EWS_STEP_EXPIRED);
			is_marked = true;
		}
		record->is_due = ews_retire_is_name(record->name) || (!is_marked && is_old(plan, record->ended_s));
		id = ews_retire_id(record->name);
		if (!is_back && rc == 0)
			rc = ews_pending_has(plan->repo, id);
		is_back = is_back || rc != 0;
		rc = rc < 0 ? rc : 0;
		if (!is_back && is_wanted(plan, record->name) && (record->is_due || record->has_entry)) {
			plan->records[n++] = *record;
			continue;
		}
		free(record->name);
	}
	plan->n_records = n;
	return rc;
}

static int read_settings(struct ews_trash_plan *plan)
{
	const struct ews_config *config = ews_repo_config(plan->repo);
	int rc = ews_config_age(&plan->expire_s, config, "ews.trashExpire");

	return rc < 0 ? rc : ews_config_size(&plan->max_bytes, config, "ews.trashMax");
}

int ews_trash_plan_make(struct ews_trash_plan *plan)
{
	int rc = read_settings(plan);

	plan->now_s = ews_clock_now();
	/* What is kept before who keeps it: a verb names what it has kept before it is done. */
	if (rc == 0)
		rc = plan_steps(plan);
	if (rc == 0)
		rc = plan_dirs(plan);
	if (rc == 0)
		rc = plan_snapshots(plan);
	return rc < 0 ? rc : plan_records(plan);
}

void ews_trash_plan_release(struct ews_trash_plan *plan)
{
	for (size_t i = 0; i < plan->n_steps; i++)
		ews_step_release(&plan->steps[i].record);
	for (size_t i = 0; i < plan->n_roots; i++) {
		free(plan->roots[i].path);
		close(plan->roots[i].fd);
	}
	for (size_t i = 0; i < plan->n_dirs; i++)
		free(plan->dirs[i].step_id);
	for (size_t i = 0; i < plan->n_kept; i++)
		ews_snapshot_release(&plan->kept[i].snapshot);
	for (size_t i = 0; i < plan->n_records; i++)
		free(plan->records[i].name);
	ews_strv_release(&plan->damaged);
	ews_strv_release(&plan->unread);
	ews_strv_release(&plan->parents);
	ews_strv_release(&plan->sessions);
	free(plan->steps);
	free(plan->roots);
	free(plan->dirs);
	free(plan->kept);
	free(plan->records);
}
