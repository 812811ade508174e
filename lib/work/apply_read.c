/*
 * What is to be applied: see apply_read.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/apply_read.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "store/pathspec.h"
#include "store/tree.h"
#include "work/look.h"
#include "work/outcome.h"
#include "work/patch.h"
#include "work/session_open.h"
#include "work/stale.h"

/* Has the project gone on since the session started? That stops nobody: what it did is merged. */
static void name_stale(struct ews_strv *out, struct ews_session *session, const struct ews_diff *diff)
{
	EWS_CLEANUP(strv) struct ews_strv reasons = EWS_STRV_INIT;

	ews_stale_tell(&reasons, session, &diff->from.content.scan.entries, NULL);
	for (size_t i = 0; i < reasons.n; i++)
		ews_strv_addf(out, "session '%s': %s", session->state.id, reasons.items[i]);
}

static int read_session(struct ews_apply_plan *plan, struct ews_apply_work *work)
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

static int read_range(struct ews_apply_work *work, struct ews_repo *repo)
{
	const struct ews_apply_source *source = work->source;
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	int rc = source->session ? ews_session_open(&session, repo, source->session) : 0;

	if (rc < 0)
		return rc;
	return ews_diff_sides(&work->diff, repo, source->session ? &session : NULL, source->from, source->to);
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
static int know_patch(struct ews_apply_plan *plan, const struct ews_apply_source *source)
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
static int read_works(struct ews_apply_plan *plan, const struct ews_apply_source *sources)
{
	int rc = 0;

	for (size_t i = 0; i < plan->n && rc == 0; i++) {
		struct ews_apply_work *work = &plan->works[i];

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
		add_known(&plan->known.scan.entries, ews_apply_before(work), !work->diff.from.is_now);
		add_known(&plan->known.scan.entries, ews_apply_after(work), !work->diff.to.is_now);
	}
	ews_entries_unique(&plan->known.scan.entries);
	/* By which a look that knew of other paths is told from one that can be taken again. */
	ews_manifest_hash(plan->known.hash, &plan->known.scan.entries);
	return rc;
}

/* Is `path` in the project, or in what is applied, even if no snapshot can hold it? */
static bool is_anywhere(const struct ews_apply_plan *plan, const char *path)
{
	EWS_CLEANUP(free) char *there = ews_path_join(plan->repo->project, path);
	bool is = ews_entries_has_below(&plan->known.scan.entries, path) ||
		  faccessat(AT_FDCWD, there, F_OK, AT_SYMLINK_NOFOLLOW) == 0;

	for (size_t i = 0; i < plan->n && !is; i++)
		is = ews_skips_touch(&plan->works[i].diff.to.content.scan.skips, path);
	return is;
}

/* A path that is asked for and is nowhere is a mistake. */
static int check_paths(const struct ews_apply_plan *plan)
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

/* The tree of the project as it was found: if it was kept so, or nearly so, once, that is there but for what was touched. */
static int write_project(struct ews_oid *out, struct ews_apply_plan *plan, const struct ews_content *content)
{
	struct ews_earlier *earlier = &plan->earlier;
	const struct ews_snapshot_opts as_found = { .is_as_found = true };
	int rc;

	ews_earlier_find(earlier, plan->repo->odb, content, &as_found);
	rc = earlier->is_there ? ews_earlier_write_tree(out, earlier, plan->batch)
			       : ews_tree_write(out, plan->batch, &content->scan.entries);
	return rc < 0 ? rc : ews_apply_settle(plan);
}

/* The project as it is: what the work comes to. */
static int read_project(struct ews_apply_plan *plan)
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

int ews_apply_read(struct ews_apply_plan *plan, const struct ews_apply_source *sources)
{
	int rc = read_works(plan, sources);

	if (rc == 0)
		rc = check_paths(plan);
	return rc < 0 ? rc : read_project(plan);
}

static int list_git(struct ews_entries *out, struct ews_apply_plan *plan, const struct ews_oid *tree,
		    const struct ews_entries *now)
{
	int rc = ews_tree_list(out, plan->repo->odb, tree);

	if (rc == 0)
		ews_merge_take_modes(out, now);
	return rc;
}

/* Which of the paths do the pathspecs mean? A file may stand where another one has a directory, and is of a side of its own. */
static int match_names(struct ews_strv *out, const struct ews_apply_plan *plan, const struct ews_strv *names)
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
static int find_unchosen(struct ews_strv *out, const struct ews_apply_plan *plan, const struct ews_apply_work *work,
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
				    (ews_apply_is_chosen(plan, work, names.items[k], ews_path_is_inside_any) &&
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
static int try_patch(struct ews_apply_work *work, struct ews_strv *conflicts, const struct ews_apply_plan *plan,
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
static int try_chosen(struct ews_apply_work *work, struct ews_strv *conflicts, const struct ews_apply_plan *plan,
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

int ews_apply_read_patch(struct ews_apply_plan *plan, struct ews_apply_work *work, const struct ews_oid *tree,
			 const struct ews_entries *now)
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
