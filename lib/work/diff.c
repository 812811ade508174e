/*
 * Diff: see diff.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/diff.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/beside.h"
#include "base/error.h"
#include "base/path.h"
#include "base/path_line.h"
#include "base/str.h"
#include "store/git.h"
#include "store/hardlink.h"
#include "store/pathspec.h"
#include "store/tree.h"
#include "work/epoch.h"
#include "work/look.h"
#include "work/method.h"

#define RAW_BYTES_MAX EWS_GIB
/* Up to so many files there is room for a third list; beyond it the project's goes before the base's is read. */
#define THREE_LISTS_MAX (4 * EWS_ENTRIES_MANY)

/* Of many files the hash takes as long as their trees, and neither needs the other. */
static int make_hash(void *payload)
{
	ews_content_make_hash(payload);
	return 0;
}

static int write_tree(struct ews_diff_side *side, struct ews_batch *batch, const struct ews_snapshot_reading *like)
{
	const struct ews_entries *entries = &side->content.scan.entries;
	EWS_CLEANUP(beside) struct ews_beside hashing = EWS_BESIDE_INIT;
	int rc;

	/* One hash, one tree. */
	if (like && ews_content_has_hash(&side->content, like->snapshot->hash)) {
		side->snapshot.tree = like->snapshot->tree;
		return 0;
	}
	if (side->content.hash_is_due)
		ews_beside_begin(&hashing, make_hash, &side->content);
	if (like)
		rc = ews_tree_write_like(&side->snapshot.tree, batch, entries, &like->out->scan.entries,
					 &like->snapshot->tree);
	else
		rc = ews_tree_write(&side->snapshot.tree, batch, entries);
	(void)ews_beside_end(&hashing); /* it never fails */
	return rc;
}

/* The base, as it is read for the present state of a workspace. */
struct base_reading {
	struct ews_snapshot_reading *reading; /* NULL: there is none */
	struct ews_epoch_looking *looking; /* NULL: nobody looks at the project */
};

static int read_base(void *payload)
{
	const struct base_reading *base = payload;

	if (base->reading->snapshot->files > THREE_LISTS_MAX)
		ews_epoch_look_wait(base->looking);
	return ews_snapshot_reading_finish(base->reading);
}

/* The present state as a side: its objects become durable, so that git can read them. */
static int side_now(struct ews_diff *diff, struct ews_diff_side *side, struct ews_repo *repo,
		    struct ews_session *session, struct ews_snapshot_reading *reading)
{
	EWS_CLEANUP(batch) struct ews_batch *batch = NULL;
	struct base_reading base = { reading, diff->opts.looking };
	struct ews_content_opts opts = { .partial = true,
					 .without_index = diff->opts.without_index,
					 .known = reading ? reading->out : NULL,
					 .read_known = reading ? read_base : NULL,
					 .known_payload = &base,
					 .known_may_wait = reading && reading->snapshot->files > EWS_ENTRIES_MANY,
					 .hash_may_wait = true,
					 .progress = diff->opts.progress,
					 .payload = diff->opts.payload };
	int is_aside = ews_odb_make_writable(repo->odb);
	int rc;

	if (is_aside < 0)
		return is_aside;
	batch = ews_batch_new(repo->odb);
	rc = ews_content_now(&side->content, repo, session, batch, &opts);
	if (rc == 0 && reading)
		rc = read_base(&base);
	if (rc == 0)
		rc = write_tree(side, batch, reading);
	if (rc == 0)
		rc = ews_batch_commit(batch);
	if (rc == 0 && !is_aside)
		rc = ews_content_save_cache(&side->content, repo, session);
	side->is_now = true;
	return rc;
}

static int read_side(struct ews_diff_side *side, struct ews_repo *repo)
{
	return ews_snapshot_content(&side->content, repo, &side->snapshot);
}

static int side_named(struct ews_diff_side *side, struct ews_repo *repo, const char *name)
{
	int rc = ews_snapshot_find(&side->snapshot, repo, name);

	return rc < 0 ? rc : read_side(side, repo);
}

static bool is_now(const char *name)
{
	return name && !strcmp(name, "now");
}

/* Add to `to` what `from` has where nobody could look in `to`. Returns whether there is any. */
static bool add_unseen(struct ews_content *to, const struct ews_content *from)
{
	const struct ews_entries *known = &from->scan.entries;
	EWS_CLEANUP(strv) struct ews_strv roots = EWS_STRV_INIT;
	size_t n = to->scan.entries.n;

	for (size_t i = 0; i < to->scan.skips.n; i++)
		if (ews_skip_is_unseen(to->scan.skips.items[i].reason))
			ews_strv_add(&roots, to->scan.skips.items[i].path);
	for (size_t i = 0; i < roots.n; i++) {
		size_t at = ews_path_find_first(known->items, sizeof(*known->items), known->n, roots.items[i]);

		for (; at < known->n && ews_path_is_inside(known->items[at].path, roots.items[i]); at++)
			ews_entries_add_copy(&to->scan.entries, &known->items[at]);
	}
	if (to->scan.entries.n == n)
		return false;
	ews_entries_sort(&to->scan.entries);
	return true;
}

static int write_seen(struct ews_diff_side *side, struct ews_repo *repo)
{
	EWS_CLEANUP(batch) struct ews_batch *batch = NULL;
	int rc = ews_odb_make_writable(repo->odb);

	if (rc < 0)
		return rc;
	batch = ews_batch_new(repo->odb);
	rc = ews_tree_write(&side->snapshot.tree, batch, &side->content.scan.entries);
	return rc < 0 ? rc : ews_batch_commit(batch);
}

/*
 * A file that could not be read, or is too large to be kept, is not gone: it counts as what it is on the other side, and a
 * patch that deletes it would do harm. ews_diff_list_left_out() names it.
 */
static int settle_unseen(struct ews_diff *diff, struct ews_repo *repo)
{
	bool in_to = add_unseen(&diff->to.content, &diff->from.content);
	bool in_from = add_unseen(&diff->from.content, &diff->to.content);
	int rc = in_to ? write_seen(&diff->to, repo) : 0;

	if (rc == 0 && in_from)
		rc = write_seen(&diff->from, repo);
	diff->is_of_one_hash = diff->is_of_one_hash && !in_to && !in_from;
	return rc;
}

/* Whose directory it is: a session's by its id, the project's "". */
static const char *place_of(const struct ews_diff_side *side, const struct ews_session *session)
{
	if (side->is_now)
		return session ? session->state.id : "";
	return side->snapshot.session ? side->snapshot.session : "";
}

int ews_diff_sides(struct ews_diff *diff, struct ews_repo *repo, struct ews_session *session, const char *from,
		   const char *to)
{
	EWS_CLEANUP(snapshot) struct ews_snapshot base = EWS_SNAPSHOT_INIT;
	EWS_CLEANUP(content) struct ews_content base_content = EWS_CONTENT_INIT;
	struct ews_snapshot_reading reading = {
		.out = &base_content, .repo = repo, .snapshot = &base, .without_index = diff->opts.without_index
	};
	bool to_now = !to || is_now(to);
	int rc = 0;

	assert(session || from);
	if (!from) {
		rc = ews_snapshot_base(&diff->from.snapshot, session);
		reading.out = &diff->from.content;
		reading.snapshot = &diff->from.snapshot;
	} else if (!is_now(from)) {
		rc = side_named(&diff->from, repo, from);
	}
	if (rc == 0 && !to_now)
		rc = side_named(&diff->to, repo, to);
	if (rc == 0 && session && from && (is_now(from) || to_now))
		rc = ews_snapshot_base(&base, session);
	if (rc == 0 && session && (is_now(from) || to_now))
		rc = ews_snapshot_reading_begin(&reading);
	if (rc == 0 && is_now(from))
		rc = side_now(diff, &diff->from, repo, session, session ? &reading : NULL);
	if (rc == 0 && to_now)
		rc = side_now(diff, &diff->to, repo, session, session ? &reading : NULL);
	if (rc == 0 && !from)
		rc = ews_snapshot_reading_finish(&reading);
	diff->are_listed = rc == 0;
	diff->is_of_one_place = rc == 0 && !strcmp(place_of(&diff->from, session), place_of(&diff->to, session));
	diff->is_of_one_hash = rc == 0 && to_now && !is_now(from) &&
			       ews_content_has_hash(&diff->to.content, diff->from.snapshot.hash);
	return rc < 0 ? rc : settle_unseen(diff, repo);
}

int ews_diff_trees(struct ews_diff *diff, struct ews_repo *repo, const char *from, const char *to)
{
	int rc = ews_snapshot_find(&diff->from.snapshot, repo, from);

	if (rc == 0)
		rc = ews_snapshot_find(&diff->to.snapshot, repo, to);
	if (rc < 0 || (!diff->from.snapshot.unseen && !diff->to.snapshot.unseen))
		return rc;
	/* Its tree does not tell what is gone, or new. */
	rc = read_side(&diff->from, repo);
	if (rc == 0)
		rc = read_side(&diff->to, repo);
	return rc < 0 ? rc : settle_unseen(diff, repo);
}

/* The next NUL-ended field of git's output; NULL at its end. */
static char *next_field(char **at, const char *end)
{
	char *field = *at;
	char *stop = field < end ? memchr(field, '\0', (size_t)(end - field)) : NULL;

	if (!stop)
		return NULL;
	*at = stop + 1;
	return field;
}

static int parse_oid(struct ews_oid *out, const char *hex)
{
	if (strspn(hex, "0") == strlen(hex)) {
		*out = (struct ews_oid)EWS_OID_NONE;
		return 0;
	}
	return ews_oid_parse(out, hex);
}

/* ":100644 100755 <id> <id> M" NUL path NUL [path NUL] */
static int parse_raw(struct ews_diff *diff, const char *field, char **at, const char *end)
{
	char from[EWS_OID_HEX_MAX], to[EWS_OID_HEX_MAX];
	struct ews_diff_record *record;
	unsigned old_mode, new_mode;
	char *path, *second = NULL;
	bool has_two;
	char status;

	if (sscanf(field, ":%o %o %64[0-9a-f] %64[0-9a-f] %c", &old_mode, &new_mode, from, to, &status) != 5)
		return ews_error(EWS_EGIT, "git printed a change that makes no sense: '%.80s'", field);
	has_two = status == 'R';
	path = next_field(at, end);
	if (path && has_two)
		second = next_field(at, end);
	if (!path || (has_two && !second))
		return ews_error(EWS_EGIT, "git's list of changes ends too early");
	EWS_GROW(diff->items, diff->n, diff->cap);
	record = &diff->items[diff->n++];
	*record = (struct ews_diff_record){
		.status = status, .old_mode = old_mode, .new_mode = new_mode, .text = EWS_BUF_INIT
	};
	record->path = ews_strdup(second ? second : path);
	record->old_path = second ? ews_strdup(path) : NULL;
	if (parse_oid(&record->old_oid, from) < 0 || parse_oid(&record->new_oid, to) < 0)
		return ews_error_wrap("git's list of changes");
	return 0;
}

/*
 * "<added>\t<deleted>\t<path>" NUL, of a rename an empty path, NUL, old NUL new NUL; "-" counts a binary one. `*next` is the record
 * that it is likely to belong to.
 */
static int parse_numstat(struct ews_diff *diff, size_t *next, const char *field, char **at, const char *end)
{
	const char *deleted = strchr(field, '\t');
	const char *path = deleted ? strchr(deleted + 1, '\t') : NULL;

	if (!path)
		return ews_error(EWS_EGIT, "git printed a count that makes no sense: '%.80s'", field);
	if (!*++path) {
		(void)next_field(at, end); /* the old name; records are called by the new one */
		path = next_field(at, end);
		if (!path)
			return ews_error(EWS_EGIT, "git's counts end too early");
	}
	/* Both lists have one order, so the next record is the one, mostly. */
	for (size_t i = 0; i < diff->n; i++) {
		size_t k = (i + *next) % diff->n;
		struct ews_diff_record *record = &diff->items[k];

		if (strcmp(record->path, path))
			continue;
		record->is_binary = *field == '-';
		record->lines_added = strtoull(field, NULL, 10);
		record->lines_deleted = strtoull(deleted + 1, NULL, 10);
		*next = k + 1;
		return 0;
	}
	return ews_error(EWS_EGIT, "git counts lines of '%s', which it does not list", path);
}

static void total_up(struct ews_diff *diff)
{
	for (size_t i = 0; i < diff->n; i++) {
		struct ews_diff_record *record = &diff->items[i];
		const char *old_path = record->old_path ? record->old_path : record->path;
		const struct ews_entry *from = ews_entries_find(&diff->from.content.scan.entries, old_path);
		const struct ews_entry *to = ews_entries_find(&diff->to.content.scan.entries, record->path);

		diff->added += record->status == 'A';
		diff->deleted += record->status == 'D';
		diff->renamed += record->status == 'R';
		diff->modified += record->status == 'M' || record->status == 'T';
		diff->lines_added += record->lines_added;
		diff->lines_deleted += record->lines_deleted;
		record->old_size = from ? from->size : 0;
		record->new_size = to ? to->size : 0;
		record->mtime_s = to && to->has_time ? to->mtime_s : 0;
	}
}

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

static bool holds_files(const struct ews_entries *list, const struct ews_entry *dir)
{
	for (const struct ews_entry *e = dir + 1;
	     e < list->items + list->n && ews_path_is_inside(e->path, dir->path); e++)
		if (ews_entry_fits_tree(e))
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

	if (holds_files(list, dir))
		return is_new && unsaid_of_new(out, to);
	ews_buf_adds(out, is_new ? "empty directory" : "empty directory removed");
	return true;
}

/* A file, a link or a FIFO that no git tree can hold: neither its coming nor its going is in a patch. */
static bool is_beyond_git(const struct ews_entry *entry)
{
	return entry && entry->type != EWS_ENTRY_DIR && !ews_entry_fits_tree(entry);
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

/* Was it a git directory beside files that are looked at, of which nothing is left? A twin never had that of the project. */
static bool is_gone(const struct ews_diff *diff, const struct ews_skip *then)
{
	return diff->is_of_one_place && ews_skip_is_git_dir(then) &&
	       !ews_skips_covering(&diff->to.content.scan.skips, then->path);
}

void ews_diff_list_left_out(const struct ews_diff *diff, ews_diff_left_out_fn *fn, void *payload)
{
	const struct ews_skips *from = &diff->from.content.scan.skips, *to = &diff->to.content.scan.skips;

	for (size_t i = 0; i < to->n; i++) {
		const struct ews_skip *skip = &to->items[i];
		bool is_same = is_same_skip(skip, ews_skips_covering(from, skip->path));

		if (!ews_skip_is_by_rule(skip->reason))
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

static void leave_out_skip(void *payload, const struct ews_skip *skip, const char *words, bool is_same)
{
	struct unsaid_names *unsaid = payload;

	if (is_same || !is_within(unsaid->limits, skip->path))
		return;
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
	bool is_of_to = skip >= match->to->items && skip < match->to->items + match->to->n;

	(void)words;
	(void)is_same;
	/* It may be a directory. */
	ews_pathspec_paths_add(match->paths, skip->path, EWS_ENTRY_GITLINK, is_of_to ? 2 : EWS_PATHSPEC_LAST_SIDE);
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

/* Read the records of `diff` into `out`, which may be `diff` itself. `how` is one more option, or NULL. */
static int read_records(struct ews_diff *out, const struct ews_diff *diff, struct ews_repo *repo, const char *how)
{
	EWS_CLEANUP(strv) struct ews_strv args = EWS_STRV_INIT;
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	struct ews_git_opts opts = { .out = &text };
	char *at, *field;
	size_t next = 0;
	int rc;

	ews_buf_init_max(&text, RAW_BYTES_MAX);
	ews_strv_add_all(&args, "--raw", "-z", "--no-abbrev", NULL);
	if (!diff->opts.count.no_counts)
		ews_strv_add(&args, "--numstat");
	if (how)
		ews_strv_add(&args, how);
	rc = ews_diff_git(diff, repo, args.items, diff->paths.items, &opts);
	if (rc < 0)
		return rc;
	if (rc > 0 || text.is_full)
		return ews_error(EWS_EGIT, "git could not list the changes");
	at = text.ptr;
	while ((field = next_field(&at, text.ptr + text.len))) {
		rc = *field == ':' ? parse_raw(out, field, &at, text.ptr + text.len)
				   : parse_numstat(out, &next, field, &at, text.ptr + text.len);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int find_differences(struct ews_tree_differences *out, const struct ews_diff *diff, struct ews_odb *odb)
{
	if (!diff->are_listed)
		return ews_tree_compare(out, odb, &diff->from.snapshot.tree, &diff->to.snapshot.tree);
	ews_tree_differences_between(out, &diff->from.content.scan.entries, &diff->to.content.scan.entries);
	return 0;
}

/* List the records without git. False where git has to be asked. */
static bool count_ourselves(struct ews_diff *diff, struct ews_repo *repo)
{
	EWS_CLEANUP(tree_differences) struct ews_tree_differences differences = EWS_TREE_DIFFERENCES_INIT;

	if (diff->paths.n || !ews_diff_can_count(repo->odb))
		return false;
	if (find_differences(&differences, diff, repo->odb) < 0) {
		ews_error_clear(); /* git finds the same, and says it */
		return false;
	}
	if (ews_diff_count(&diff->items, &diff->n, repo->odb, &differences, &diff->opts.count) != 1)
		return false;
	diff->cap = diff->n;
	return true;
}

int ews_diff_records(struct ews_diff *diff, struct ews_repo *repo, char *const *paths)
{
	EWS_CLEANUP(changes) struct ews_changes changes = EWS_CHANGES_INIT;
	EWS_CLEANUP(strv) struct ews_strv meant = EWS_STRV_INIT;
	struct limits limits = { .paths = &diff->paths };
	/* A plain revision says nothing of modes and attributes, so nothing can be missing. */
	bool says_all = ews_diff_side_has_manifest(&diff->from) && ews_diff_side_has_manifest(&diff->to);
	int rc = 0;

	ews_strv_add_array(&diff->paths, paths);
	/* Hashes that are the same are of the same entries, but for times and for which are one file. */
	if (says_all && !diff->is_of_one_hash)
		ews_changes_between(&changes, &diff->from.content.scan.entries, &diff->to.content.scan.entries,
				    ews_entry_equal);
	if (diff->opts.are_specs && diff->paths.n) {
		rc = find_meant(&meant, diff, repo, &changes);
		limits.meant = &meant;
	}
	if (rc == 0 && !ews_oid_equal(&diff->from.snapshot.tree, &diff->to.snapshot.tree) &&
	    !count_ourselves(diff, repo))
		rc = read_records(diff, diff, repo, NULL);
	if (rc < 0)
		return rc;
	total_up(diff);
	if (says_all)
		list_unsaid(diff, &limits, &changes);
	return 0;
}

/* The length of the part of a patch at `at` that is about one file. No line of a change itself begins with a "d". */
static size_t measure_part(const char *at, const char *end)
{
	const char *next = at < end ? memmem(at, (size_t)(end - at), "\ndiff --git ", 12) : NULL;

	return (size_t)((next ? next + 1 : end) - at);
}

/* The record that a line of the patch's own list belongs to: of a rename that the patch does not make, both do. */
static size_t find_record(const struct ews_diff *diff, const struct ews_diff_record *part)
{
	for (size_t i = 0; i < diff->n; i++) {
		const struct ews_diff_record *record = &diff->items[i];

		if (!strcmp(record->path, part->path) ||
		    (part->status == 'D' && record->old_path && !strcmp(record->old_path, part->path)))
			return i;
	}
	return diff->n;
}

/* Hand the parts of `patch`, which come as in `list`, to the records that they are of. */
static int share_out(struct ews_diff *diff, const struct ews_diff *list, const struct ews_buf *patch)
{
	const char *at = patch->ptr, *end = patch->ptr + patch->len;

	for (size_t i = 0; i < list->n; i++) {
		size_t k = list == diff ? i : find_record(diff, &list->items[i]);

		if (ews_strv_has(&diff->too_large, list->items[i].path))
			continue;
		/* What becomes another kind of thing is removed and made anew. */
		for (int parts = list->items[i].status == 'T' ? 2 : 1; k < diff->n && parts > 0; parts--) {
			size_t len = measure_part(at, end);

			ews_buf_add(&diff->items[k].text, at, len);
			at += len;
		}
	}
	return at == end ? 0 : ews_error(EWS_EGIT, "git's patch does not fit its own list of changes");
}

int ews_diff_texts(struct ews_diff *diff, struct ews_repo *repo)
{
	EWS_CLEANUP(diff) struct ews_diff unnamed = EWS_DIFF_INIT;
	EWS_CLEANUP(buf) struct ews_buf patch = EWS_BUF_INIT;
	bool has_own_list = ews_diff_must_not_rename(diff);
	int rc;

	if (!diff->n)
		return 0;
	rc = ews_diff_collect(&patch, diff, repo, NULL, diff->paths.items);
	if (rc == 0 && has_own_list)
		rc = read_records(&unnamed, diff, repo, "--no-renames");
	return rc < 0 ? rc : share_out(diff, has_own_list ? &unnamed : diff, &patch);
}

int ews_diff_file_hash(char **out, struct ews_repo *repo, const struct ews_oid *oid)
{
	EWS_CLEANUP(buf) struct ews_buf data = EWS_BUF_INIT;
	uint8_t digest[EWS_HASH_MAX];
	char hex[2 * EWS_HASH_MAX + 1];
	int rc = ews_odb_read(&data, NULL, repo->odb, oid);

	if (rc < 0)
		return rc;
	ews_hash_once(EWS_SHA256, digest, data.ptr, data.len);
	ews_hex(hex, digest, 32);
	*out = ews_strfmt("sha256:%s", hex);
	return 0;
}

static void release_side(struct ews_diff_side *side)
{
	ews_snapshot_release(&side->snapshot);
	ews_content_release(&side->content);
}

void ews_diff_release(struct ews_diff *diff)
{
	release_side(&diff->from);
	release_side(&diff->to);
	ews_diff_records_free(diff->items, diff->n);
	ews_strv_release(&diff->paths);
	ews_strv_release(&diff->too_large);
	ews_strv_release(&diff->not_in_patch);
	*diff = (struct ews_diff)EWS_DIFF_INIT;
}
