/*
 * What an apply comes to: see apply_merge.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/apply_merge.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/path.h"
#include "base/path_line.h"
#include "store/pathspec.h"
#include "store/tree.h"
#include "work/apply_read.h"

/* Names of one file count, too. */
static bool equal_with_names(const struct ews_entry *a, const struct ews_entry *b)
{
	const char *x = a->first_name ? a->first_name : "", *y = b->first_name ? b->first_name : "";

	return ews_entry_equal(a, b) && !strcmp(x, y);
}

/* A copy of what git says of a snapshot, with the modes of the project. */
static const struct ews_entries *settle_modes(struct ews_entries *copy, const struct ews_apply_work *work,
					      const struct ews_entries *list, const struct ews_entries *now)
{
	if (!work->is_git)
		return list;
	for (size_t i = 0; i < list->n; i++) {
		struct ews_entry *entry = ews_entries_add_copy(copy, &list->items[i]);

		entry->first_name = NULL;
	}
	ews_merge_take_modes(copy, now);
	return copy;
}

struct leaving_out {
	struct ews_apply_plan *plan;
	const struct ews_apply_work *work;
};

/*
 * What the session has and no snapshot can hold stays there, and is named; of what was there from the first only nested
 * repositories, as nobody looked whether something was done in them.
 */
static void leave_out(void *payload, const struct ews_skip *skip, const char *words, bool is_same)
{
	struct leaving_out *leaving = payload;

	if ((!is_same || ews_skip_is_gits(skip->reason)) &&
	    ews_apply_is_chosen(leaving->plan, leaving->work, skip->path, ews_path_touches_any))
		ews_path_line_add(&leaving->plan->out->merge.left_out, skip->path, words);
}

/* Is it about a directory alone? When hunks are chosen these come with what is in them. */
static bool is_of_dir(const struct ews_change *change)
{
	return (!change->from || change->from->type == EWS_ENTRY_DIR) &&
	       (!change->to || change->to->type == EWS_ENTRY_DIR);
}

/* Does a directory go with what is wanted: with what was in it, or what takes its place? */
static bool goes_along(const struct ews_change *dir, const struct ews_strv *wanted)
{
	return !dir->to && wanted->n && ews_path_touches_any(dir->path, (const char *const *)wanted->items);
}

/*
 * Let the changes be those that are wanted; of files that are wanted in part new entries are made, in `made`. A
 * directory goes, as ever, once nothing is left in it.
 */
static int choose(struct ews_changes *changes, struct ews_entry *made, struct ews_apply_plan *plan,
		  const struct ews_apply_work *work)
{
	EWS_CLEANUP(hunks) struct ews_hunks hunks = EWS_HUNKS_INIT;
	EWS_CLEANUP(strv) struct ews_strv wanted = EWS_STRV_INIT;
	size_t kept = 0, at = 0;
	int rc;

	ews_hunks_list(&hunks, plan->repo, &work->diff, changes);
	rc = plan->opts->choose(plan->opts->choosing, &hunks);
	for (size_t i = 0; i < hunks.n; i++)
		if (ews_hunk_file_wanted(&hunks.items[i]))
			ews_strv_add(&wanted, hunks.items[i].change->path);
	for (size_t i = 0; i < changes->n && rc == 0; i++) {
		struct ews_change change = changes->items[i];
		const struct ews_hunk_file *file = is_of_dir(&change) ? NULL : &hunks.items[at++];

		if (file ? !ews_hunk_file_wanted(file) : !goes_along(&change, &wanted))
			continue;
		if (file && !ews_hunk_file_is_all(file)) {
			rc = ews_hunk_file_take(&made[i], file, plan->repo->odb, plan->batch);
			change.to = &made[i];
		}
		changes->items[kept++] = change;
	}
	changes->n = kept;
	/* What was made is read where it has to be merged. */
	return rc < 0 ? rc : ews_batch_commit(plan->batch);
}

/* Let the changes be those that the pathspecs mean. */
static int match_specs(struct ews_changes *changes, struct ews_apply_plan *plan)
{
	EWS_CLEANUP(pathspec_paths) struct ews_pathspec_paths paths = EWS_PATHSPEC_PATHS_INIT;
	EWS_CLEANUP(strv) struct ews_strv meant = EWS_STRV_INIT;
	size_t kept = 0;
	int rc;

	if (!plan->opts->specs)
		return 0;
	ews_pathspec_paths_add_changes(&paths, changes);
	rc = ews_pathspec_match(&meant, NULL, plan->repo, plan->opts->specs, &paths);
	for (size_t i = 0; i < changes->n && rc == 0; i++)
		if (ews_strv_sorted_has(&meant, changes->items[i].path))
			changes->items[kept++] = changes->items[i];
	changes->n = kept;
	return rc;
}

/* One source's work, done to `now`. */
static int merge_work(struct ews_entries *out, struct ews_apply_plan *plan, struct ews_apply_work *work,
		      const struct ews_entries *now)
{
	EWS_CLEANUP(entries) struct ews_entries from_copy = EWS_ENTRIES_INIT;
	EWS_CLEANUP(entries) struct ews_entries to_copy = EWS_ENTRIES_INIT;
	EWS_CLEANUP(changes) struct ews_changes changes = EWS_CHANGES_INIT;
	const struct ews_entries *from = settle_modes(&from_copy, work, ews_apply_before(work), now);
	const struct ews_entries *to = settle_modes(&to_copy, work, ews_apply_after(work), now);
	const struct ews_merge_opts opts = {
		.odb = plan->repo->odb,
		.batch = plan->batch,
		.ours = now,
		.closed = (const char *const *)plan->own.items,
		.skips = &plan->out->diff.from.content.scan.skips,
		.changes = &changes,
		.theirs = to,
		.renames = &work->renames,
		.favor = plan->opts->force       ? EWS_MERGE_THEIRS
			 : plan->opts->three_way ? EWS_MERGE_MARK
						 : EWS_MERGE_REFUSE,
		.our_label = "project",
		.their_label = work->source->name,
	};
	EWS_CLEANUP(free) struct ews_entry *made = NULL;
	struct leaving_out leaving = { plan, work };
	size_t kept = 0;
	int rc;

	ews_changes_between(&changes, from, to, equal_with_names);
	for (size_t i = 0; i < changes.n; i++)
		if (ews_apply_is_chosen(plan, work, changes.items[i].path, ews_path_is_inside_any))
			changes.items[kept++] = changes.items[i];
	changes.n = kept;
	rc = match_specs(&changes, plan);
	if (rc < 0)
		return rc;
	ews_diff_list_left_out(&work->diff, leave_out, &leaving);
	made = ews_calloc(changes.n + 1, sizeof(*made));
	rc = plan->opts->choose ? choose(&changes, made, plan, work) : 0;
	if (rc == 0 && plan->opts->choose)
		rc = ews_odb_refresh(plan->repo->odb);
	return rc < 0 ? rc : ews_merge(out, &plan->out->merge, &opts);
}

/* Only what differs from the project after all sources is touched. */
static void find_touched(struct ews_apply_plan *plan)
{
	const struct ews_entries *from = &plan->out->diff.from.content.scan.entries;
	const struct ews_entries *to = &plan->out->diff.to.content.scan.entries;
	struct ews_strv *touched = &plan->out->merge.touched;
	EWS_CLEANUP(strv) struct ews_strv all = *touched;

	*touched = (struct ews_strv)EWS_STRV_INIT;
	ews_strv_unique(&all);
	for (size_t i = 0; i < all.n; i++) {
		const struct ews_entry *a = ews_entries_find(from, all.items[i]);
		const struct ews_entry *b = ews_entries_find(to, all.items[i]);

		if (a && b ? !equal_with_names(a, b) : a != b)
			ews_strv_add(touched, all.items[i]);
	}
}

/* What the project comes to, with all that a snapshot of it holds: `entries`, which it takes, whose tree is `tree`. */
static int make_content(struct ews_apply_plan *plan, struct ews_entries *entries, const struct ews_oid *tree)
{
	const struct ews_content *now = &plan->out->diff.from.content;
	struct ews_diff_side *side = &plan->out->diff.to;
	struct ews_content *content = &side->content;
	int rc = 0;

	content->scan.entries = *entries;
	*entries = (struct ews_entries)EWS_ENTRIES_INIT;
	content->scan.root_fd = -1;
	ews_scan_count(&content->scan);
	ews_skips_add_all(&content->scan.skips, &now->scan.skips);
	content->root_mode = now->root_mode;
	content->has_root_owner = now->has_root_owner;
	content->root_uid = now->root_uid;
	content->root_gid = now->root_gid;
	content->root_xattrs = now->root_xattrs ? ews_strdup(now->root_xattrs) : NULL;
	content->has_git = now->has_git;
	if (now->has_git)
		rc = ews_gitstate_read(&content->git, plan->repo->git_fd);
	if (rc < 0)
		return rc;
	content->git.has_index = false; /* what the index gets is staged, or kept by an undo */
	ews_manifest_hash(content->hash, &content->scan.entries);
	side->is_now = true;
	side->snapshot.tree = *tree;
	find_touched(plan);
	return ews_diff_records(&plan->out->diff, plan->repo, NULL);
}

/* Copy the directories that `path` lies in to `out` where nothing is in their place. False: something is. */
static bool add_above(struct ews_entries *out, const struct ews_entries *now, const char *path)
{
	EWS_CLEANUP(free) char *at = ews_path_dir(path);
	const struct ews_entry *is = ews_entries_find(out, at);

	if (!strchr(path, '/') || is)
		return !is || ews_entry_is_dir(is);
	if (!add_above(out, now, at))
		return false;
	ews_entries_add_copy(out, ews_entries_find(now, at));
	ews_entries_sort(out);
	return true;
}

/* No directory of the project that something is mounted at can be removed: one that is only to go stays, empty, and is named. */
static int keep_mounted(struct ews_entries *out, struct ews_apply_plan *plan)
{
	const struct ews_entries *now = &plan->out->diff.from.content.scan.entries;
	EWS_CLEANUP(fd) int fd = ews_dir_open(plan->repo->project);

	for (size_t i = 0; i < now->n && fd >= 0; i++) {
		const struct ews_entry *entry = &now->items[i];

		if (!ews_entry_is_dir(entry) || ews_entries_find(out, entry->path) ||
		    !ews_dir_is_mounted(fd, entry->path) || !add_above(out, now, entry->path))
			continue;
		ews_entries_add_copy(out, entry);
		ews_entries_sort(out);
		ews_path_line_add(&plan->out->merge.left_out, entry->path, ews_skip_word(EWS_SKIP_MOUNTED));
	}
	return fd < 0 ? fd : 0;
}

int ews_apply_merge(struct ews_apply_plan *plan)
{
	EWS_CLEANUP(entries) struct ews_entries last = EWS_ENTRIES_INIT;
	const struct ews_diff_side *project = &plan->out->diff.from;
	const struct ews_entries *now = &project->content.scan.entries;
	struct ews_oid tree = project->snapshot.tree;
	int rc = 0;

	for (size_t i = 0; i < plan->n && rc == 0 && !plan->out->is_refused; i++) {
		EWS_CLEANUP(entries) struct ews_entries merged = EWS_ENTRIES_INIT;
		struct ews_apply_work *work = &plan->works[i];
		struct ews_oid next;

		if (work->source->kind == EWS_APPLY_PATCH)
			rc = ews_apply_read_patch(plan, work, &tree, now);
		if (rc == 0 && !plan->out->is_refused)
			rc = merge_work(&merged, plan, work, now);
		if (rc == 0 && !plan->out->is_refused)
			rc = ews_tree_write_like(&next, plan->batch, &merged, now, &tree);
		if (rc == 0 && !plan->out->is_refused)
			rc = ews_apply_settle(plan);
		if (rc < 0 || plan->out->is_refused)
			return rc;
		ews_entries_release(&last);
		last = merged;
		tree = next;
		merged = (struct ews_entries)EWS_ENTRIES_INIT;
		now = &last;
	}
	if (plan->out->merge.is_blocked || (!plan->opts->three_way && plan->out->merge.conflicts.n))
		plan->out->is_refused = true;
	/* What it would come to is of interest where nothing stands in the way. */
	if (rc == 0 && !plan->out->is_refused)
		rc = keep_mounted(&last, plan);
	return rc < 0 || plan->out->is_refused ? rc : make_content(plan, &last, &tree);
}
