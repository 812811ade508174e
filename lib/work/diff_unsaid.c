/*
 * Diff: what a patch can't say of what lies between two contents: modes, attributes, which names are one file, empty directories,
 * what no git tree holds, and what nobody could look at.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/diff.h"

#include <string.h>

#include "base/alloc.h"
#include "base/path.h"
#include "base/path_line.h"
#include "base/str.h"
#include "store/hardlink.h"
#include "store/pathspec.h"
#include "work/method.h"

/* What is looked at, where it is not all. */
struct limits {
	const struct ews_strv *paths; /* plain directories and files, or pathspecs */
	const struct ews_strv *meant; /* NULL, or the paths that these pathspecs mean, sorted */
};

static bool is_limited_out(const struct limits *limits, const char *path)
{
	if (limits->meant)
		return !ews_strv_sorted_has(limits->meant, path);
	for (size_t i = 0; i < limits->paths->n; i++)
		if (!strcmp(limits->paths->items[i], ".") || ews_path_is_inside(path, limits->paths->items[i]))
			return false;
	return limits->paths->n > 0;
}

/* Modes that a patch gives, or that differ from those by an umask alone. */
static bool is_usual_mode(const struct ews_entry *entry)
{
	if (entry->type == EWS_ENTRY_LINK || entry->mode == 0755 || entry->mode == 0775)
		return true;
	return entry->type != EWS_ENTRY_DIR && (entry->mode == 0644 || entry->mode == 0664);
}

/* A file, a link or a FIFO that no git tree can hold: neither its coming nor its going is in a patch. */
static bool is_beyond_git(const struct ews_entry *entry)
{
	return entry && entry->type != EWS_ENTRY_DIR && !ews_entry_fits_tree(entry);
}

static bool holds(const struct ews_entries *list, const struct ews_entry *dir, bool (*is)(const struct ews_entry *))
{
	for (const struct ews_entry *e = dir + 1;
	     e < list->items + list->n && ews_path_is_inside(e->path, dir->path); e++)
		if (is(e))
			return true;
	return false;
}

/* Of something that is new under its name, or as what it is. */
static bool unsaid_of_new(struct ews_buf *out, const struct ews_entry *to)
{
	if (!is_usual_mode(to))
		ews_buf_addf(out, "mode %04o", to->mode);
	if (to->xattrs)
		ews_buf_addf(out, "%sextended attributes", out->len ? ", " : "");
	return out->len > 0;
}

/* Of something that is there on both sides: what a patch doesn't say. */
static bool unsaid_of_both(struct ews_buf *out, const struct ews_entry *from, const struct ews_entry *to)
{
	bool git_says_mode = to->type != EWS_ENTRY_DIR && ews_entry_git_mode(from) != ews_entry_git_mode(to);

	if (from->mode != to->mode && (!git_says_mode || !is_usual_mode(to)))
		ews_buf_addf(out, "mode %04o to %04o", from->mode, to->mode);
	if (!ews_entry_same_attrs(from, to))
		ews_buf_addf(out, "%sextended attributes", out->len ? ", " : "");
	return out->len > 0;
}

static bool unsaid_of_dir(struct ews_buf *out, const struct ews_diff *diff, const struct ews_change *change)
{
	const struct ews_entry *to = change->to;
	bool is_new = to && to->type == EWS_ENTRY_DIR;
	const struct ews_entry *dir = is_new ? to : change->from;
	const struct ews_entries *list = is_new ? &diff->to.content.scan.entries : &diff->from.content.scan.entries;

	if (holds(list, dir, ews_entry_fits_tree))
		return is_new && unsaid_of_new(out, to);
	if (holds(list, dir, is_beyond_git))
		ews_buf_adds(out, is_new ? "a directory that git can't hold"
					 : "a directory that git can't hold removed");
	else
		ews_buf_adds(out, is_new ? "empty directory" : "empty directory removed");
	return true;
}

static void unsaid_beyond_git(struct ews_buf *out, const struct ews_entry *from, const struct ews_entry *to)
{
	const struct ews_entry *one = is_beyond_git(to) ? to : from;

	if (one->type == EWS_ENTRY_FIFO)
		ews_buf_adds(out, one == to ? "fifo" : "fifo removed");
	else if (one->type == EWS_ENTRY_GITLINK)
		ews_buf_adds(out, one == to ? "repository" : "repository removed");
	else
		ews_buf_adds(out, "a path that git can't hold");
}

/* What of one change the patch doesn't say, appended to `out`; false when it says all. */
static bool unsaid(struct ews_buf *out, const struct ews_diff *diff, const struct ews_change *change)
{
	const struct ews_entry *from = change->from, *to = change->to;
	const struct ews_entry *one = to ? to : from;
	bool same_type = from && to && from->type == to->type;

	if (same_type && unsaid_of_both(out, from, to))
		return true;
	if (is_beyond_git(from) || is_beyond_git(to)) {
		unsaid_beyond_git(out, from, to);
		return true;
	}
	if (one->type == EWS_ENTRY_DIR)
		return !same_type && unsaid_of_dir(out, diff, change);
	return to && !same_type && unsaid_of_new(out, to);
}

struct unsaid_names {
	struct ews_diff *diff;
	const struct limits *limits;
};

/* To a patch names of one file are files of their own. */
static void leave_out_name(void *payload, const char *path, const char *joined, const char *parted)
{
	struct unsaid_names *unsaid = payload;
	EWS_CLEANUP(buf) struct ews_buf what = EWS_BUF_INIT;

	if (is_limited_out(unsaid->limits, path))
		return;
	if (joined) {
		ews_buf_adds(&what, "hard link to ");
		ews_path_escape(&what, joined, strlen(joined));
	} else {
		ews_buf_adds(&what, "no longer a hard link to ");
		ews_path_escape(&what, parted, strlen(parted));
	}
	ews_path_line_add(&unsaid->diff->not_in_patch, path, what.ptr);
}

static bool is_same_skip(const struct ews_skip *a, const struct ews_skip *b)
{
	return b && a->reason == b->reason && !strcmp(a->path, b->path);
}

/*
 * Nothing of what was left out at the start came along, so that none of it has gone since: the workspace has no such path. In
 * place it had it.
 */
static bool never_came(const struct ews_diff *diff, const char *path)
{
	const struct ews_snapshot *base = &diff->from.snapshot;
	bool is_copys = base->ref && ews_str_begins(base->ref, EWS_REF_SESSIONS) && base->method &&
			strcmp(base->method, ews_method_in_place.name) != 0;

	return is_copys && !ews_entries_has_below(&diff->to.content.scan.entries, path);
}

/*
 * Was it a git directory beside files that are looked at, of which nothing is left, or a submodule's repository? What no tree holds is
 * said of its entry. A twin never had that of the project.
 */
static bool is_gone(const struct ews_diff *diff, const struct ews_skip *then)
{
	const struct ews_entry *entry = ews_entries_find(&diff->from.content.scan.entries, then->path);
	bool is_submodule = ews_skip_is_repository(then->reason) && entry && ews_entry_fits_tree(entry);

	return diff->is_of_one_place && (ews_skip_is_git_dir(then) || is_submodule) &&
	       !ews_skips_covering(&diff->to.content.scan.skips, then->path);
}

bool ews_diff_is_untold(const struct ews_diff_side *later, const struct ews_skip *skip)
{
	return skip->reason == EWS_SKIP_IGNORED && !skip->is_gone && !later->is_now;
}

/*
 * Did it come along, and is what the first side has of it untracked again, or is it ignored by then, or could nobody look? Where all of
 * that is gone there is nothing to say.
 */
static bool was_seen(const struct ews_diff *diff, const struct ews_skip *skip)
{
	const struct ews_entries *list = &diff->from.content.scan.entries;
	size_t at = ews_skip_is_present(skip->reason) || ews_skip_is_unseen(skip->reason) ||
				    ews_diff_is_untold(&diff->to, skip)
			    ? ews_path_find_first(list->items, sizeof(*list->items), list->n, skip->path)
			    : list->n;

	for (; at < list->n && ews_path_is_inside(list->items[at].path, skip->path); at++)
		if (list->items[at].type != EWS_ENTRY_DIR &&
		    ews_skips_covering(&diff->to.content.scan.skips, list->items[at].path) == skip)
			return true;
	return false;
}

void ews_diff_list_left_out(const struct ews_diff *diff, ews_diff_left_out_fn *fn, void *payload)
{
	const struct ews_skips *from = &diff->from.content.scan.skips, *to = &diff->to.content.scan.skips;

	for (size_t i = 0; i < to->n; i++) {
		const struct ews_skip *skip = &to->items[i];
		bool is_same = is_same_skip(skip, ews_skips_covering(from, skip->path));

		if (ews_strv_has(&diff->written, skip->path)) {
			fn(payload, skip, EWS_SKIP_REPOSITORY_WRITTEN, false);
			continue;
		}
		if (was_seen(diff, skip) || !ews_skip_is_by_rule(skip->reason))
			fn(payload, skip, ews_skip_word(skip->reason), is_same);
	}
	for (size_t i = 0; i < from->n; i++) {
		const struct ews_skip *skip = &from->items[i];
		EWS_CLEANUP(free) char *words = NULL;

		if (is_gone(diff, skip))
			fn(payload, skip, EWS_SKIP_REPOSITORY_GONE, false);
		if (!ews_skip_is_unseen(skip->reason) || ews_skips_unseen(to, skip->path))
			continue;
		words = ews_strfmt("%s before", ews_skip_word(skip->reason));
		fn(payload, skip, words, never_came(diff, skip->path));
	}
}

/* Is a part of what `path` is within the limits? */
static bool is_within(const struct limits *limits, const char *path)
{
	if (!is_limited_out(limits, path))
		return true;
	return limits->meant ? ews_pathspec_leads_into(limits->paths, path)
			     : ews_path_touches_any(path, (const char *const *)limits->paths->items);
}

static bool is_of(const struct ews_skips *list, const struct ews_skip *skip)
{
	return skip >= list->items && skip < list->items + list->n;
}

static void leave_out_skip(void *payload, const struct ews_skip *skip, const char *words, bool is_same)
{
	struct unsaid_names *unsaid = payload;

	if (is_same || !is_within(unsaid->limits, skip->path))
		return;
	if (unsaid->diff->opts.is_for_commit && !is_of(&unsaid->diff->to.content.scan.skips, skip))
		return;
	unsaid->diff->n_untold += skip->reason == EWS_SKIP_IGNORED;
	/* It is among the entries, too. */
	if (ews_skip_is_gits(skip->reason))
		ews_path_line_add_once(&unsaid->diff->not_in_patch, skip->path, words);
	else
		ews_path_line_add(&unsaid->diff->not_in_patch, skip->path, words);
}

static void add_name(void *payload, const char *path, const char *joined, const char *parted)
{
	(void)joined;
	(void)parted;
	ews_pathspec_paths_add(payload, path, EWS_ENTRY_FILE, 1);
}

struct skips_to_match {
	struct ews_pathspec_paths *paths;
	const struct ews_skips *to; /* where those of the second side are */
};

static void add_skip(void *payload, const struct ews_skip *skip, const char *words, bool is_same)
{
	const struct skips_to_match *match = payload;

	(void)words;
	(void)is_same;
	/* It may be a directory. */
	ews_pathspec_paths_add(match->paths, skip->path, EWS_ENTRY_GITLINK,
			       is_of(match->to, skip) ? 2 : EWS_PATHSPEC_LAST_SIDE);
}

/* Which of what a patch may not say the pathspecs mean. */
static int find_meant(struct ews_strv *out, const struct ews_diff *diff, struct ews_repo *repo,
		      const struct ews_changes *changes)
{
	EWS_CLEANUP(pathspec_paths) struct ews_pathspec_paths paths = EWS_PATHSPEC_PATHS_INIT;
	struct skips_to_match match = { &paths, &diff->to.content.scan.skips };

	ews_pathspec_paths_add_changes(&paths, changes);
	ews_hardlinks_compare(&diff->from.content.scan.entries, &diff->to.content.scan.entries, add_name, &paths);
	ews_diff_list_left_out(diff, add_skip, &match);
	return ews_pathspec_match(out, NULL, repo, &diff->paths, &paths);
}

/* The directory itself is in no tree. It is all that has been asked for, or nothing of it: no pathspec means it. */
static void leave_out_root(struct ews_diff *diff, const struct limits *limits)
{
	const struct ews_content *from = &diff->from.content, *to = &diff->to.content;
	EWS_CLEANUP(buf) struct ews_buf what = EWS_BUF_INIT;

	if (!diff->is_of_one_place || is_limited_out(limits, "."))
		return;
	if (to->root_mode && ews_content_root_mode_differs(to, from))
		ews_buf_addf(&what, "mode %04o to %04o", from->root_mode, to->root_mode);
	if (to->root_xattrs && ews_content_root_xattrs_differ(to, from))
		ews_buf_addf(&what, "%sextended attributes", what.len ? ", " : "");
	if (what.len)
		ews_path_line_add(&diff->not_in_patch, ".", what.ptr);
}

static void list_unsaid(struct ews_diff *diff, const struct limits *limits, const struct ews_changes *changes)
{
	struct unsaid_names names = { diff, limits };

	leave_out_root(diff, limits);
	for (size_t i = 0; i < changes->n; i++) {
		const struct ews_change *change = &changes->items[i];
		EWS_CLEANUP(buf) struct ews_buf what = EWS_BUF_INIT;

		if (!is_limited_out(limits, change->path) && unsaid(&what, diff, change))
			ews_path_line_add(&diff->not_in_patch, change->path, what.ptr);
	}
	ews_hardlinks_compare(&diff->from.content.scan.entries, &diff->to.content.scan.entries, leave_out_name,
			      &names);
	ews_diff_list_left_out(diff, leave_out_skip, &names);
}

/* A plain revision says nothing of modes and attributes, so nothing can be missing but what is taken to be on the other side as it has it. */
static void list_seen(struct ews_diff *diff, const struct limits *limits)
{
	const struct ews_skips *to = &diff->to.content.scan.skips;
	struct unsaid_names names = { diff, limits };

	for (size_t i = 0; i < to->n; i++)
		if (was_seen(diff, &to->items[i]))
			leave_out_skip(&names, &to->items[i], ews_skip_word(to->items[i].reason), false);
}

int ews_diff_list_unsaid(struct ews_diff *diff, struct ews_repo *repo)
{
	EWS_CLEANUP(changes) struct ews_changes changes = EWS_CHANGES_INIT;
	EWS_CLEANUP(strv) struct ews_strv meant = EWS_STRV_INIT;
	struct limits limits = { .paths = &diff->paths };
	bool says_all = ews_diff_side_has_manifest(&diff->from) && ews_diff_side_has_manifest(&diff->to);
	int rc = 0;

	/* Hashes that are the same are of the same entries, but for times and for which are one file. */
	if (says_all && !diff->is_of_one_hash)
		ews_changes_between(&changes, &diff->from.content.scan.entries, &diff->to.content.scan.entries,
				    ews_entry_equal);
	if (diff->opts.are_specs && diff->paths.n) {
		rc = find_meant(&meant, diff, repo, &changes);
		limits.meant = &meant;
	}
	if (rc == 0 && says_all)
		list_unsaid(diff, &limits, &changes);
	else if (rc == 0)
		list_seen(diff, &limits);
	return rc;
}
