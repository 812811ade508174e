/*
 * Apply: see apply.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/apply.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/path.h"
#include "base/path_line.h"
#include "store/pathspec.h"
#include "store/tree.h"
#include "work/anew.h"
#include "work/look.h"
#include "work/outcome.h"
#include "work/patch.h"
#include "work/rules.h"
#include "work/session_open.h"
#include "work/snapshot_earlier.h"
#include "work/stage.h"
#include "work/stale.h"
#include "work/steps.h"
#include "work/transition_commit.h"
#include "work/undo.h"
#include "work/undo_words.h"
#include "work/whose.h"

/* What one source did: two states, as entries. */
struct work {
	const struct ews_apply_source *source;
	struct ews_diff diff; /* SESSION, RANGE: its sides and records */
	struct ews_entries from, to; /* PATCH */
	bool is_git; /* git alone says what was done: of modes it knows little */
	struct ews_strv renames; /* old, new, old, new ... */
};

struct plan {
	struct ews_repo *repo;
	const struct ews_apply_opts *opts;
	struct ews_apply_result *out;
	struct ews_batch *batch;
	struct work *works;
	size_t n;
	struct ews_strv own; /* directories of ours in the project */
	struct ews_content known; /* all that the sources speak of: looked at even where it is ignored */
	struct ews_earlier earlier; /* what the project was kept as when it was found last */
};

static void release_plan(struct plan *plan)
{
	for (size_t i = 0; i < plan->n; i++) {
		ews_diff_release(&plan->works[i].diff);
		ews_entries_release(&plan->works[i].from);
		ews_entries_release(&plan->works[i].to);
		ews_strv_release(&plan->works[i].renames);
	}
	free(plan->works);
	ews_strv_release(&plan->own);
	ews_content_release(&plan->known);
	ews_earlier_release(&plan->earlier);
	ews_batch_free(plan->batch);
}

EWS_CLEANUP_DEFINE(plan, struct plan, release_plan)

void ews_apply_result_release(struct ews_apply_result *result)
{
	ews_diff_release(&result->diff);
	ews_merge_result_release(&result->merge);
	ews_transition_result_release(&result->put);
	free(result->commit);
	free(result->undo);
	ews_strv_release(&result->stale);
}

/* Has the project gone on since the session started? That stops nobody: what it did is merged. */
static void name_stale(struct ews_strv *out, struct ews_session *session, const struct ews_diff *diff)
{
	EWS_CLEANUP(strv) struct ews_strv reasons = EWS_STRV_INIT;

	ews_stale_tell(&reasons, session, &diff->from.content.scan.entries, NULL);
	for (size_t i = 0; i < reasons.n; i++)
		ews_strv_addf(out, "session '%s': %s", session->state.id, reasons.items[i]);
}

static int read_session(struct plan *plan, struct work *work)
{
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	int rc = ews_session_open(&session, plan->repo, work->source->session);

	if (rc < 0)
		return rc;
	if (session.method->is_project && !session.is_lost) {
		ews_error(EWS_EUSAGE, "session '%s' works in the project itself", session.state.id);
		ews_error_hint("what it did is there already; 'git ews end --no-revert' keeps it");
		return EWS_EUSAGE;
	}
	rc = ews_outcome_read(&work->diff, &session);
	if (rc == 0)
		name_stale(&plan->out->stale, &session, &work->diff);
	return rc;
}

static int read_range(struct work *work, struct ews_repo *repo)
{
	const struct ews_apply_source *source = work->source;
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	int rc = source->session ? ews_session_open(&session, repo, source->session) : 0;

	if (rc < 0)
		return rc;
	return ews_diff_sides(&work->diff, repo, source->session ? &session : NULL, source->from, source->to);
}

static const struct ews_entries *entries_before(const struct work *work)
{
	return work->source->kind == EWS_APPLY_PATCH ? &work->from : &work->diff.from.content.scan.entries;
}

static const struct ews_entries *entries_after(const struct work *work)
{
	return work->source->kind == EWS_APPLY_PATCH ? &work->to : &work->diff.to.content.scan.entries;
}

/* What stands in a workspace now no ref holds yet: its paths are known, but its contents are not there for certain. */
static void add_known(struct ews_entries *known, const struct ews_entries *list, bool is_held)
{
	for (size_t i = 0; i < list->n; i++) {
		struct ews_entry *entry = ews_entries_add_copy(known, &list->items[i]);

		if (!is_held && entry->type != EWS_ENTRY_GITLINK)
			entry->oid = (struct ews_oid)EWS_OID_NONE;
	}
}

/* The paths of a patch, so that the project's files there are looked at. */
static int know_patch(struct plan *plan, const struct ews_apply_source *source)
{
	const struct ews_patch patch = { .name = source->name, .data = source->data, .len = source->len };
	EWS_CLEANUP(strv) struct ews_strv paths = EWS_STRV_INIT;
	int rc = ews_patch_paths(&paths, plan->repo, &patch);

	for (size_t i = 0; i < paths.n; i++) {
		EWS_CLEANUP(free) char *path = ews_strdup(paths.items[i]);

		if (!ews_path_is_plain(path))
			continue; /* git refuses it when it is applied */
		ews_entries_add(&plan->known.scan.entries, path, strlen(path))->type = EWS_ENTRY_FILE;
		for (char *slash = strrchr(path, '/'); slash; slash = strrchr(path, '/')) {
			*slash = '\0';
			ews_entries_add(&plan->known.scan.entries, path, strlen(path))->type = EWS_ENTRY_DIR;
		}
	}
	return rc;
}

/* Read what sessions and snapshots say was done; patches are read when there is something to apply them to. */
static int read_works(struct plan *plan, const struct ews_apply_source *sources)
{
	int rc = 0;

	for (size_t i = 0; i < plan->n && rc == 0; i++) {
		struct work *work = &plan->works[i];

		work->source = &sources[i];
		if (work->source->kind == EWS_APPLY_PATCH) {
			rc = know_patch(plan, work->source);
			continue;
		}
		rc = work->source->kind == EWS_APPLY_SESSION ? read_session(plan, work)
							     : read_range(work, plan->repo);
		if (rc == 0)
			rc = ews_diff_records(&work->diff, plan->repo, NULL);
		if (rc < 0)
			return rc;
		work->is_git = !ews_diff_side_has_manifest(&work->diff.from) ||
			       !ews_diff_side_has_manifest(&work->diff.to);
		for (size_t k = 0; k < work->diff.n; k++)
			if (work->diff.items[k].status == 'R')
				ews_strv_add_all(&work->renames, work->diff.items[k].old_path,
						 work->diff.items[k].path, NULL);
		add_known(&plan->known.scan.entries, entries_before(work), !work->diff.from.is_now);
		add_known(&plan->known.scan.entries, entries_after(work), !work->diff.to.is_now);
	}
	ews_entries_unique(&plan->known.scan.entries);
	/* By which a look that knew of other paths is told from one that can be taken again. */
	ews_manifest_hash(plan->known.hash, &plan->known.scan.entries);
	return rc;
}

/* Is `path` in the project, or in what is applied, even if no snapshot can hold it? */
static bool is_anywhere(const struct plan *plan, const char *path)
{
	EWS_CLEANUP(free) char *there = ews_path_join(plan->repo->project, path);
	bool is = ews_entries_has_below(&plan->known.scan.entries, path) ||
		  faccessat(AT_FDCWD, there, F_OK, AT_SYMLINK_NOFOLLOW) == 0;

	for (size_t i = 0; i < plan->n && !is; i++)
		is = ews_skips_touch(&plan->works[i].diff.to.content.scan.skips, path);
	return is;
}

/* A path that is asked for and is nowhere is a mistake. */
static int check_paths(const struct plan *plan)
{
	int rc = 0;

	for (size_t i = 0; i < plan->n && rc == 0; i++) {
		const struct ews_diff *diff = &plan->works[i].diff;
		const char *const asked[] = { plan->works[i].source->path, NULL };

		rc = ews_content_check_only(&diff->to.content, &diff->from.content, asked, NULL);
	}
	for (const char *const *only = plan->opts->only; only && *only && rc == 0; only++) {
		if (!**only || is_anywhere(plan, *only))
			continue;
		rc = ews_error(EWS_ENOTFOUND, "'%s' is neither in the project nor in what is applied", *only);
		ews_error_hint("paths are those of files and directories");
	}
	return rc;
}

/* Let what is in the batch be durable, and be found. */
static int settle(struct plan *plan)
{
	int rc = ews_batch_commit(plan->batch);

	return rc < 0 ? rc : ews_odb_refresh(plan->repo->odb);
}

/* The tree of the project as it was found: if it was kept so, or nearly so, once, that is there but for what was touched. */
static int write_project(struct ews_oid *out, struct plan *plan, const struct ews_content *content)
{
	struct ews_earlier *earlier = &plan->earlier;
	const struct ews_snapshot_opts as_found = { .is_as_found = true };
	int rc;

	ews_earlier_find(earlier, plan->repo->odb, content, &as_found);
	rc = earlier->is_there ? ews_earlier_write_tree(out, earlier, plan->batch)
			       : ews_tree_write(out, plan->batch, &content->scan.entries);
	return rc < 0 ? rc : settle(plan);
}

/* The project as it is: what the work comes to. */
static int read_project(struct plan *plan)
{
	struct ews_diff_side *side = &plan->out->diff.from;
	const struct ews_content_opts opts = { .partial = true,
					       .known = &plan->known,
					       .keeps_out_of_repositories = true,
					       .progress = plan->opts->progress,
					       .payload = plan->opts->payload };
	int rc = ews_content_now(&side->content, plan->repo, NULL, plan->batch, &opts);

	side->is_now = true;
	return rc < 0 ? rc : write_project(&side->snapshot.tree, plan, &side->content);
}

static int list_git(struct ews_entries *out, struct plan *plan, const struct ews_oid *tree,
		    const struct ews_entries *now)
{
	int rc = ews_tree_list(out, plan->repo->odb, tree);

	if (rc == 0)
		ews_merge_take_modes(out, now);
	return rc;
}

typedef bool lies_fn(const char *path, const char *const *roots);

/* Does the user want this path of the project (ews_path_is_inside_any), or something of what it is (ews_path_touches_any)? */
static bool is_chosen(const struct plan *plan, const struct work *work, const char *path, lies_fn *lies)
{
	const struct ews_apply_opts *opts = plan->opts;
	const char *const prefix[] = { opts->prefix, NULL };
	const char *const source[] = { work->source->path, NULL };

	return lies(path, opts->only) && (!opts->prefix || lies(path, prefix)) &&
	       (!work->source->path || lies(path, source));
}

/* Which of the paths do the pathspecs mean? A file may stand where another one has a directory, and is of a side of its own. */
static int match_names(struct ews_strv *out, const struct plan *plan, const struct ews_strv *names)
{
	EWS_CLEANUP(entries) struct ews_entries list = EWS_ENTRIES_INIT;
	EWS_CLEANUP(pathspec_paths) struct ews_pathspec_paths paths = EWS_PATHSPEC_PATHS_INIT;

	for (size_t i = 0; i < names->n; i++)
		ews_entries_add(&list, names->items[i], strlen(names->items[i]))->type = EWS_ENTRY_FILE;
	ews_entries_unique(&list);
	for (size_t i = 0; i < list.n; i++) {
		bool holds = i + 1 < list.n && ews_path_is_inside(list.items[i + 1].path, list.items[i].path);

		ews_pathspec_paths_add(&paths, list.items[i].path, EWS_ENTRY_FILE, holds ? 0 : 1);
	}
	return ews_pathspec_match(out, NULL, plan->repo, plan->opts->specs, &paths);
}

/*
 * The files of the patch of which nothing is wanted; one that is renamed is wanted by either name. What is in the place of a
 * directory that a wanted one needs, or in it, is none of these: the one can't come without the other.
 */
static int find_unchosen(struct ews_strv *out, const struct plan *plan, const struct work *work,
			 const struct ews_patch *patch)
{
	const struct ews_apply_opts *opts = plan->opts;
	EWS_CLEANUP(strv) struct ews_strv names = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv meant = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv wanted = EWS_STRV_INIT;
	int rc = ews_patch_names(&names, plan->repo, patch);

	if (rc == 0 && opts->specs)
		rc = match_names(&meant, plan, &names);
	for (size_t i = 0; i < names.n && rc == 0; i += 2) {
		bool is_wanted = false;

		for (size_t k = i; k < i + 2; k++)
			is_wanted = is_wanted ||
				    (is_chosen(plan, work, names.items[k], ews_path_is_inside_any) &&
				     (!opts->specs || ews_strv_sorted_has(&meant, names.items[k])) &&
				     (!opts->hunk_files || ews_strv_has(opts->hunk_files, names.items[k])));
		for (size_t k = i; k < i + 2 && is_wanted; k++)
			ews_strv_add(&wanted, names.items[k]);
	}
	for (size_t i = 0; i < names.n && rc == 0; i += 2)
		if (!wanted.n || (!ews_path_touches_any(names.items[i], (const char *const *)wanted.items) &&
				  !ews_path_touches_any(names.items[i + 1], (const char *const *)wanted.items)))
			ews_strv_add(out, names.items[i + 1]);
	ews_strv_unique(out);
	return rc;
}

/*
 * Let the trees of `work` be those before and after the patch, of the files that it was made from where it has to be merged.
 * Returns 1 when it does not apply.
 */
static int try_patch(struct work *work, struct ews_strv *conflicts, const struct plan *plan,
		     const struct ews_patch *patch, const struct ews_oid *tree)
{
	struct ews_oid *before = &work->diff.from.snapshot.tree, *after = &work->diff.to.snapshot.tree;
	bool merges = plan->opts->three_way || plan->opts->force;
	int rc = merges ? ews_patch_sides(before, after, plan->repo, patch, tree) : 1;

	if (rc <= 0)
		return rc;
	*before = *tree;
	return ews_patch_apply(after, conflicts, plan->repo, patch, tree);
}

/* The same with nothing of the patch but what is wanted, where that is less than all. */
static int try_chosen(struct work *work, struct ews_strv *conflicts, const struct plan *plan,
		      const struct ews_patch *patch, const struct ews_oid *tree)
{
	EWS_CLEANUP(strv) struct ews_strv unchosen = EWS_STRV_INIT;
	struct ews_patch chosen = *patch;
	int rc = find_unchosen(&unchosen, plan, work, patch);

	if (rc < 0)
		return rc;
	if (!unchosen.n || !ews_patch_can_leave_out(&unchosen))
		return 1;
	chosen.left_out = &unchosen;
	ews_strv_clear(conflicts);
	return try_patch(work, conflicts, plan, &chosen, tree);
}

/* What a patch says, done to `now`, whose tree is `tree`. */
static int read_patch(struct plan *plan, struct work *work, const struct ews_oid *tree, const struct ews_entries *now)
{
	const struct ews_patch patch = { .name = work->source->name,
					 .data = work->source->data,
					 .len = work->source->len };
	EWS_CLEANUP(strv) struct ews_strv conflicts = EWS_STRV_INIT;
	int rc = try_patch(work, &conflicts, plan, &patch, tree);

	/* What is not wanted stands in no way. Yet it comes along where it can, as what is wanted may take its place. */
	if (rc > 0)
		rc = try_chosen(work, &conflicts, plan, &patch, tree);
	/* Nor does a hunk in a file of which another one is: what that comes to is merged, where the store has what it was made from. */
	if (rc > 0 && plan->opts->choose)
		rc = ews_patch_sides(&work->diff.from.snapshot.tree, &work->diff.to.snapshot.tree, plan->repo,
				     &patch, tree);
	if (rc > 0) {
		ews_strv_add_array(&plan->out->merge.conflicts, conflicts.items);
		plan->out->is_refused = true;
		plan->out->is_of_unknown = plan->opts->three_way || plan->opts->force;
		return 0;
	}
	if (rc == 0)
		rc = list_git(&work->from, plan, &work->diff.from.snapshot.tree, now);
	return rc < 0 ? rc : list_git(&work->to, plan, &work->diff.to.snapshot.tree, now);
}

/* Names of one file count, too. */
static bool equal_with_names(const struct ews_entry *a, const struct ews_entry *b)
{
	const char *x = a->first_name ? a->first_name : "", *y = b->first_name ? b->first_name : "";

	return ews_entry_equal(a, b) && !strcmp(x, y);
}

/* A copy of what git says of a snapshot, with the modes of the project. */
static const struct ews_entries *settle_modes(struct ews_entries *copy, const struct work *work,
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
	struct plan *plan;
	const struct work *work;
};

/*
 * What the session has and no snapshot can hold stays there, and is named; of what was there from the first only nested
 * repositories, as nobody looked whether something was done in them.
 */
static void leave_out(void *payload, const struct ews_skip *skip, const char *words, bool is_same)
{
	struct leaving_out *leaving = payload;

	if ((!is_same || ews_skip_is_gits(skip->reason)) &&
	    is_chosen(leaving->plan, leaving->work, skip->path, ews_path_touches_any))
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
static int choose(struct ews_changes *changes, struct ews_entry *made, struct plan *plan, const struct work *work)
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
static int match_specs(struct ews_changes *changes, struct plan *plan)
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
static int merge_work(struct ews_entries *out, struct plan *plan, struct work *work, const struct ews_entries *now)
{
	EWS_CLEANUP(entries) struct ews_entries from_copy = EWS_ENTRIES_INIT;
	EWS_CLEANUP(entries) struct ews_entries to_copy = EWS_ENTRIES_INIT;
	EWS_CLEANUP(changes) struct ews_changes changes = EWS_CHANGES_INIT;
	const struct ews_entries *from = settle_modes(&from_copy, work, entries_before(work), now);
	const struct ews_entries *to = settle_modes(&to_copy, work, entries_after(work), now);
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
		if (is_chosen(plan, work, changes.items[i].path, ews_path_is_inside_any))
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
static void find_touched(struct plan *plan)
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
static int make_content(struct plan *plan, struct ews_entries *entries, const struct ews_oid *tree)
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
static int keep_mounted(struct ews_entries *out, struct plan *plan)
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

/* Do all the work to the project's entries, source by source. */
static int merge_all(struct plan *plan)
{
	EWS_CLEANUP(entries) struct ews_entries last = EWS_ENTRIES_INIT;
	const struct ews_diff_side *project = &plan->out->diff.from;
	const struct ews_entries *now = &project->content.scan.entries;
	struct ews_oid tree = project->snapshot.tree;
	int rc = 0;

	for (size_t i = 0; i < plan->n && rc == 0 && !plan->out->is_refused; i++) {
		EWS_CLEANUP(entries) struct ews_entries merged = EWS_ENTRIES_INIT;
		struct work *work = &plan->works[i];
		struct ews_oid next;

		if (work->source->kind == EWS_APPLY_PATCH)
			rc = read_patch(plan, work, &tree, now);
		if (rc == 0 && !plan->out->is_refused)
			rc = merge_work(&merged, plan, work, now);
		if (rc == 0 && !plan->out->is_refused)
			rc = ews_tree_write_like(&next, plan->batch, &merged, now, &tree);
		if (rc == 0 && !plan->out->is_refused)
			rc = settle(plan);
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

static int make_step(struct ews_step *step, struct plan *plan, const struct ews_snapshot *target)
{
	int rc = ews_step_init(step, plan->repo->dir_fd, "apply", NULL);

	if (rc < 0)
		return rc;
	ews_whose_set(step, plan->repo);
	free(step->after);
	step->after = ews_strdup(target->id);
	step->is_exact = true;
	step->with_index = plan->opts->index || plan->opts->commit;
	ews_step_set_paths(step, (const char *const *)plan->out->merge.touched.items);
	return 0;
}

/* Does something that is among the step's escaped `paths` lie in the directory `path`, which is not? */
static bool leads_to(const char *path, const struct ews_strv *paths)
{
	bool leads = false;

	for (size_t i = 0; i < paths->n; i++) {
		if (!strcmp(paths->items[i], path))
			return false;
		leads = leads || ews_path_is_inside(paths->items[i], path);
	}
	return leads;
}

/* A directory that was opened up and could not be closed again is none of what was to change, and goes back with that. */
static void add_opened(struct ews_step *step, const struct ews_strv *failed)
{
	for (size_t i = 0; i < failed->n; i++) {
		EWS_CLEANUP(free) char *path = ews_strndup(failed->items[i], strcspn(failed->items[i], "\t"));

		if (leads_to(path, &step->paths)) /* escaped, as those of the step are */
			ews_strv_add(&step->paths, path);
	}
}

/* Can `path` stay as it is when all else goes back: is that in no need of its place, or of that of what it lies in? */
static bool can_stay(const struct ews_entries *before, const char *path)
{
	const struct ews_entry *was = ews_entries_find(before, path);
	EWS_CLEANUP(free) char *at = ews_strdup(path);
	char *slash = strrchr(at, '/');

	if (was && ews_entry_is_dir(was))
		return false;
	for (; slash; slash = strrchr(at, '/')) {
		*slash = '\0';
		was = ews_entries_find(before, at);
		if (was)
			return ews_entry_is_dir(was);
	}
	return true;
}

/* What somebody wrote while it was written is his: of what was done nothing is to be seen there, or he has seen it. */
static void list_spared(struct ews_strv *out, const struct plan *plan)
{
	const struct ews_strv *others = &plan->out->put.others;

	for (size_t i = 0; i < others->n; i++)
		if (can_stay(&plan->out->diff.from.content.scan.entries, others->items[i]))
			ews_strv_add(out, others->items[i]);
	ews_strv_sort(out);
}

/* "'a', 'b'" */
static char *quote_all(const struct ews_strv *paths)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	for (size_t i = 0; i < paths->n; i++)
		ews_buf_addf(&text, "%s'%s'", i ? ", " : "", paths->items[i]);
	return ews_buf_steal(&text);
}

/* Is all as it should be, but for what somebody wrote? */
static bool is_done(const struct ews_transition_result *put)
{
	return put->errors.n == put->others.n;
}

/*
 * Once all stood there, or somebody's changes in its place, what is found otherwise is somebody's as well, who has saved it since: it
 * was kept, like all that goes.
 */
static void name_taken(const struct ews_transition_result *put, const struct ews_transition_result *back)
{
	EWS_CLEANUP(free) char *hint = ews_strdup(ews_error_hint_text());
	EWS_CLEANUP(buf) struct ews_buf paths = EWS_BUF_INIT;
	bool has_stood = put->is_verified || (put->errors.n && is_done(put));

	if (!has_stood || !back->since.n || !back->kept_snapshot)
		return;
	for (size_t i = 0; i < back->since.n; i++) {
		ews_buf_addc(&paths, ' ');
		ews_path_quote(&paths, back->since.items[i]);
	}
	ews_error_hint("%s%s'git ews snapshot restore %s --%s' brings back what somebody wrote meanwhile", hint,
		       *hint ? "; " : "", back->kept_snapshot, paths.ptr);
}

/* All or nothing: what could be written goes back to what it was, but for what is `spared`, and `why` is what is said. */
static int take_back(struct plan *plan, struct ews_step *step, const struct ews_strv *spared,
		     struct ews_error_saved *why)
{
	EWS_CLEANUP(transition_result) struct ews_transition_result back = EWS_TRANSITION_RESULT_INIT;
	const struct ews_undo_opts undo = { .is_retry = step->state != EWS_STEP_DONE,
					    .spared = spared,
					    .progress = plan->opts->progress,
					    .payload = plan->opts->payload };
	int rc;

	if (step->with_index)
		ews_stage_sweep(plan->repo, step->created_s, true);
	add_opened(step, &plan->out->put.errors);
	ews_transition_turn_back(step);
	rc = ews_undo_transition(&back, plan->repo, NULL, step, &undo);
	if (rc == 0 && is_done(&back))
		rc = ews_step_remove(plan->repo->dir_fd, step->id);
	/* What could not go back is tried again by recover; where something was renamed away, that has its place already. */
	if (rc == 0 && !is_done(&back) && !step->moved.n && !step->moving.n) {
		step->state = EWS_STEP_UNDOING;
		rc = ews_step_write(plan->repo->dir_fd, step);
	}
	if (rc < 0 || !is_done(&back)) {
		EWS_CLEANUP(free) char *undo_words = ews_undo_words(plan->repo, step->id);

		rc = ews_error_restore(why);
		ews_error_hint("'git ews recover --all' or '%s' brings back what was there; nothing is lost",
			       undo_words);
		return rc;
	}
	rc = ews_error_restore(why);
	/* The sentence is about these, or says why the rest of it could not be written. */
	if (rc != EWS_ESTALE)
		ews_strv_add_array(&back.others, spared->items);
	if (back.others.n) {
		EWS_CLEANUP(free) char *named = quote_all(&back.others);

		ews_error_hint("what somebody wrote to %s meanwhile stays as well; nothing else was changed", named);
	}
	name_taken(&plan->out->put, &back);
	return rc;
}

/* "Apply <source>, <source>" */
static char *default_message(const struct plan *plan)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	for (size_t i = 0; i < plan->n; i++)
		ews_buf_addf(&text, "%s%s", i ? ", " : "Apply ", plan->works[i].source->name);
	return ews_buf_steal(&text);
}

/* The step says from its beginning that a commit belongs to it, so that whoever finds it half done takes it back. */
static int plan_commit(struct ews_step *step, struct ews_repo *repo)
{
	EWS_CLEANUP(free) char *branch = NULL;
	const struct ews_oid none = EWS_OID_NONE;
	struct ews_oid before;
	int rc = ews_stage_branch(&branch, &before, repo);

	if (rc == 0)
		ews_transition_set_commit(step, branch, &before, &none);
	return rc;
}

/* What was applied and staged, as a commit; with that the step is done. */
static int commit(struct plan *plan, struct ews_step *step)
{
	EWS_CLEANUP(free) char *branch = NULL;
	EWS_CLEANUP(free) char *message = default_message(plan);
	struct ews_stage_commit made = { .step_id = step->id, .after = EWS_OID_NONE };
	char hex[EWS_OID_HEX_MAX];
	int rc = ews_stage_branch(&branch, &made.before, plan->repo);

	made.branch = branch;
	if (rc == 0)
		rc = ews_stage_commit(&made, plan->repo, plan->opts->message ? plan->opts->message : message);
	if (rc < 0)
		return rc;
	/* git leaves it to the system when its work becomes durable: before the step says that it is done. */
	if (syncfs(plan->repo->common_fd) < 0)
		return ews_error_os("cannot sync the commit");
	plan->out->is_commit_unknown = ews_oid_is_none(&made.after);
	if (plan->out->is_commit_unknown) {
		ews_transition_leave_branch(step);
	} else {
		ews_transition_set_commit(step, branch, &made.before, &made.after);
		plan->out->commit = ews_strdup(ews_oid_hex(hex, &made.after));
	}
	return ews_transition_close(plan->repo, step);
}

/* What the project was kept as once has to hold all that is not written anew, until `target` does. */
static int confirm(struct plan *plan, struct ews_snapshot *target)
{
	if (!ews_earlier_is_shared(&plan->earlier))
		return 0;
	target->shares_with = ews_strdup(plan->earlier.kept.ref);
	target->shared = plan->earlier.kept.commit;
	return ews_snapshot_confirm(plan->repo, target);
}

/* The first line about what is not `spared`, or, where all is, about that. */
static const char *first_failed(const struct ews_strv *lines, const struct ews_strv *spared)
{
	for (size_t i = 0; i < lines->n; i++) {
		EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;

		(void)ews_path_line_split(&path, lines->items[i]);
		if (!ews_strv_sorted_has(spared, path.ptr))
			return lines->items[i];
	}
	return lines->items[0];
}

/* What somebody wrote meanwhile, and stays, is nothing that can't be written: he is asked to try again. */
static int fail_write(const struct ews_transition_result *put, const struct ews_strv *spared)
{
	EWS_CLEANUP(free) char *named = quote_all(spared);
	const char *line = first_failed(&put->errors, spared);
	const char *why = ews_path_line_words(line);

	if (spared->n == put->errors.n) {
		ews_error(EWS_ESTALE, "%s changed meanwhile, and %s", named,
			  spared->n > 1 ? "were left as they are" : "was left as it is");
		ews_error_hint("nothing else was changed; try again");
		return EWS_ESTALE;
	}
	ews_error(EWS_EIO, "'%.*s' could not be written%s%s", (int)strcspn(line, "\t"), line, *why ? ": " : "", why);
	ews_error_hint("'-- <path>' brings other paths without it");
	return EWS_EIO;
}

static int put(struct plan *plan)
{
	EWS_CLEANUP(snapshot) struct ews_snapshot target = EWS_SNAPSHOT_INIT;
	EWS_CLEANUP(step) struct ews_step step = EWS_STEP_INIT;
	EWS_CLEANUP(strv) struct ews_strv spared = EWS_STRV_INIT;
	struct ews_error_saved why = EWS_ERROR_SAVED_INIT;
	struct ews_apply_result *out = plan->out;
	/* Its trees are there. */
	const struct ews_snapshot like = { .tree = out->diff.to.snapshot.tree, .hash = out->diff.to.content.hash };
	const struct ews_snapshot_opts keep = { .subject = "ews: what apply makes",
						.prefix = EWS_REF_TRASH,
						.like = &like };
	const struct ews_transition_opts move = { .target = &target,
						  .seen = &out->diff.from.content,
						  .only = (const char *const *)out->merge.touched.items,
						  .is_taken_back = true,
						  .stays_open = plan->opts->commit,
						  .progress = plan->opts->progress,
						  .payload = plan->opts->payload };
	bool has_changed = false;
	int rc = ews_snapshot_keep(&target, plan->repo, plan->batch, &out->diff.to.content, &keep);

	if (rc == 0)
		rc = confirm(plan, &target);
	if (rc == 0)
		rc = make_step(&step, plan, &target);
	if (rc == 0 && plan->opts->commit)
		rc = plan_commit(&step, plan->repo);
	if (rc == 0)
		rc = ews_transition(&out->put, &has_changed, plan->repo, NULL, &step, &move);
	list_spared(&spared, plan);
	if (rc == 0 && !out->put.is_verified)
		rc = fail_write(&out->put, &spared);
	if (rc == 0 && plan->opts->commit)
		rc = commit(plan, &step);
	if (rc == 0) {
		out->undo = has_changed ? ews_strdup(step.id) : NULL;
		return 0;
	}
	if (!has_changed || !step.before || !*step.before)
		return rc;
	ews_error_save(&why);
	return take_back(plan, &step, &spared, &why);
}

static int refuse_bare(const struct ews_repo *repo, const char *session)
{
	if (!repo->is_bare)
		return 0;
	if (repo->gone) {
		ews_error(EWS_ENOTFOUND, "the work tree that the session is of is gone: '%s'", repo->gone);
		ews_error_hint(
			"'git ews apply %s' in another one applies it there; 'git ews end --branch <name> %s' leaves it as a branch",
			session, session);
		return EWS_ENOTFOUND;
	}
	ews_error(EWS_EUSAGE, "'%s' is a bare repository: it has no files to apply to", repo->project);
	ews_error_hint("'git ews end --branch <name> %s' leaves the result as a branch", session);
	return EWS_EUSAGE;
}

/* Can what is touched be staged, and committed, and nothing else with it? */
static int check_index(const struct plan *plan)
{
	EWS_CLEANUP(free) char *branch = NULL;
	struct ews_oid tip;
	int rc = 0;

	if (plan->repo->is_plain)
		return ews_error(EWS_EUSAGE, "'%s' is no git repository: it has no index", plan->repo->project);
	if (plan->out->merge.conflicts.n) {
		plan->out->is_refused = true;
		return 0;
	}
	if (plan->opts->commit)
		rc = ews_stage_branch(&branch, &tip, plan->repo);
	if (rc == 0 && plan->opts->commit)
		rc = ews_stage_refuse_locked_branch(plan->repo, branch);
	if (rc < 0)
		return rc;
	return ews_stage_check(plan->repo, &plan->out->diff.from.content, &plan->out->diff.to.content.scan.entries,
			       &plan->out->merge.touched, plan->opts->commit);
}

int ews_apply(struct ews_apply_result *out, struct ews_repo *repo, const struct ews_apply_source *sources, size_t n,
	      const struct ews_apply_opts *opts)
{
	EWS_CLEANUP(plan)
	struct plan plan = { .repo = repo,
			     .opts = opts,
			     .out = out,
			     .n = n,
			     .own = EWS_STRV_INIT,
			     .known = EWS_CONTENT_INIT,
			     .earlier = EWS_EARLIER_INIT };
	EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;
	int rc = refuse_bare(repo, n && sources[0].session ? sources[0].session : "<session>");

	plan.works = ews_calloc(n + 1, sizeof(*plan.works));
	for (size_t i = 0; i < n; i++) {
		plan.works[i].diff = (struct ews_diff)EWS_DIFF_INIT;
		plan.works[i].renames = (struct ews_strv)EWS_STRV_INIT;
	}
	if (rc == 0)
		rc = ews_repo_make_dir(repo);
	if (rc < 0)
		return rc;
	plan.batch = ews_batch_new(repo->odb);
	ews_rules_own(&plan.own, repo, repo->project);
	rc = ews_repo_lock(&lock, repo, EWS_LOCK_PROJECT, "apply", 0);
	if (rc == 0 && !opts->check)
		rc = ews_anew_settle(repo);
	if (rc == 0)
		rc = ews_steps_refuse_unfinished(repo);
	if (rc == 0)
		rc = read_works(&plan, sources);
	if (rc == 0)
		rc = check_paths(&plan);
	if (rc == 0)
		rc = read_project(&plan);
	if (rc == 0)
		rc = merge_all(&plan);
	out->is_staging = opts->index || opts->commit;
	if (rc == 0 && out->is_staging && !out->is_refused)
		rc = check_index(&plan);
	if (rc < 0 || opts->check || out->is_refused || !out->merge.touched.n)
		return rc;
	return put(&plan);
}
