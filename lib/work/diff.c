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
#include "store/git.h"
#include "store/tree.h"
#include "work/epoch.h"
#include "work/ignored.h"
#include "work/look.h"
#include "work/session_place.h"
#include "work/submodule_head.h"

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

/*
 * Add to `to` what `from` has where nobody could look in `to`; in the `later` one (else NULL) also where git no longer tracks it, and it is
 * there as it came along, or is ignored in a snapshot, which says of it at most that it is gone. Returns whether there is any.
 */
static bool add_unseen(struct ews_content *to, const struct ews_content *from, const struct ews_diff_side *later)
{
	const struct ews_entries *known = &from->scan.entries;
	EWS_CLEANUP(strv) struct ews_strv roots = EWS_STRV_INIT;
	EWS_CLEANUP(entries) struct ews_entries added = EWS_ENTRIES_INIT;

	for (size_t i = 0; i < to->scan.skips.n; i++) {
		const struct ews_skip *skip = &to->scan.skips.items[i];
		bool is_present = later && ews_skip_is_present(skip->reason);

		if (is_present || (later && ews_diff_is_untold(later, skip)) || ews_skip_is_unseen(skip->reason))
			ews_strv_add(&roots, skip->path);
	}
	ews_strv_unique(&roots);
	for (size_t i = 0; i < roots.n; i++) {
		size_t at = ews_path_find_first(known->items, sizeof(*known->items), known->n, roots.items[i]);

		for (; at < known->n && ews_path_is_inside(known->items[at].path, roots.items[i]); at++)
			if (!strcmp(ews_skips_covering(&to->scan.skips, known->items[at].path)->path, roots.items[i]) &&
			    !ews_entries_find(&to->scan.entries, known->items[at].path))
				ews_entries_add_copy(&added, &known->items[at]);
	}
	ews_entries_add_all(&to->scan.entries, &added);
	ews_entries_sort(&to->scan.entries);
	return added.n > 0;
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
	bool in_to = add_unseen(&diff->to.content, &diff->from.content, &diff->to);
	bool in_from = add_unseen(&diff->from.content, &diff->to.content, NULL);
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

/* Is something that `from` has ignored in `to`, or, `or_present`, there as it came along? A snapshot of `to` would tell more of it. */
static bool is_ignored_by_now(const struct ews_content *to, const struct ews_content *from, bool or_present)
{
	const struct ews_entries *known = &from->scan.entries;

	for (size_t i = 0; i < to->scan.skips.n; i++) {
		enum ews_skip_reason reason = to->scan.skips.items[i].reason;

		if ((reason == EWS_SKIP_IGNORED || (or_present && ews_skip_is_present(reason))) &&
		    ews_entries_has_below(known, to->scan.skips.items[i].path))
			return true;
	}
	return false;
}

/* As a snapshot of it would say. */
static int settle_ignored(struct ews_diff *diff, struct ews_session *session, const struct ews_content *base)
{
	EWS_CLEANUP(fd) int root_fd = ews_session_open_workspace(session);
	int rc = root_fd < 0 ? root_fd : ews_ignored_settle(&diff->to.content, session, base, NULL, NULL, true);

	if (rc == 0)
		(void)ews_ignored_note_gone(&diff->to.content.scan, &diff->from.content.scan, root_fd);
	return rc;
}

/* The state that is named has what is ignored now: that is looked at as well. */
static int add_ignored(struct ews_diff *diff, struct ews_repo *repo, struct ews_session *session)
{
	EWS_CLEANUP(batch) struct ews_batch *batch = NULL;
	int rc = ews_odb_make_writable(repo->odb);

	if (rc < 0)
		return rc;
	batch = ews_batch_new(repo->odb);
	rc = ews_ignored_add(&diff->to.content, &diff->from.content.scan.entries, repo, session, batch);
	if (rc <= 0)
		return rc;
	rc = ews_batch_commit(batch);
	return rc < 0 ? rc : write_seen(&diff->to, repo);
}

/* No snapshot looks into a submodule: that something was written in it only its times tell. */
static int list_written(struct ews_diff *diff, const struct ews_session *session)
{
	const struct ews_skips *then = &diff->from.content.scan.skips, *now = &diff->to.content.scan.skips;
	const struct timespec since = { diff->from.snapshot.created_s, diff->from.snapshot.created_ns };
	EWS_CLEANUP(fd) int root_fd = -1;

	for (size_t i = 0; i < now->n; i++) {
		const struct ews_skip *skip = &now->items[i];
		int rc;

		if (skip->reason != EWS_SKIP_REPOSITORY || ews_skip_is_git_dir(skip) ||
		    !ews_skips_covering(then, skip->path))
			continue;
		if (root_fd < 0)
			root_fd = ews_session_open_workspace(session);
		rc = root_fd < 0 ? root_fd : ews_submodule_is_written(root_fd, skip->path, &since);
		if (rc < 0)
			return rc;
		if (rc > 0)
			ews_strv_add(&diff->written, skip->path);
	}
	return 0;
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
	if (rc == 0 && session && to_now && from && is_ignored_by_now(&diff->to.content, &diff->from.content, true))
		rc = settle_ignored(diff, session, &base_content);
	if (rc == 0 && to_now && from && is_ignored_by_now(&diff->to.content, &diff->from.content, false))
		rc = add_ignored(diff, repo, session);
	if (rc == 0 && diff->opts.names_written && session && to_now && !is_now(from))
		rc = list_written(diff, session);
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
	int rc;

	ews_strv_add_array(&diff->paths, paths);
	rc = ews_diff_list_unsaid(diff, repo);
	if (rc == 0 && !ews_oid_equal(&diff->from.snapshot.tree, &diff->to.snapshot.tree) &&
	    !count_ourselves(diff, repo))
		rc = read_records(diff, diff, repo, NULL);
	if (rc < 0)
		return rc;
	total_up(diff);
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
	ews_strv_release(&diff->written);
	ews_strv_release(&diff->not_in_patch);
	*diff = (struct ews_diff)EWS_DIFF_INIT;
}
