/*
 * Merges: see merge.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/merge.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/path_line.h"

/* What git looks at to tell a binary, and what is too long to be merged as a text. */
#define BINARY_LOOK_BYTES 8000
#define TEXT_BYTES_MAX (256 * EWS_MIB)

struct merge {
	const struct ews_merge_opts *opts;
	struct ews_merge_result *result;
	const struct ews_entry **now; /* what comes of each of `ours`; NULL: it goes */
	const struct ews_entry **added;
	size_t n_added, cap_added;
	struct ews_strv new_dirs; /* of the added ones, before any is made for what is in it; sorted */
	size_t n_brought; /* how many were added by then */
	bool *is_followed; /* of each of the renames: its new name is settled where the old one was met */
	struct ews_arena arena; /* entries made here */
};

static void release_merge(struct merge *merge)
{
	free(merge->now);
	free(merge->added);
	free(merge->is_followed);
	ews_strv_release(&merge->new_dirs);
	ews_arena_release(&merge->arena);
}

EWS_CLEANUP_DEFINE(merge, struct merge, release_merge)

void ews_merge_result_release(struct ews_merge_result *result)
{
	ews_strv_release(&result->touched);
	ews_strv_release(&result->conflicts);
	ews_strv_release(&result->drift);
	ews_strv_release(&result->left_out);
}

static void say(struct ews_strv *list, const char *path, const char *what)
{
	EWS_CLEANUP(buf) struct ews_buf line = EWS_BUF_INIT;

	ews_path_escape(&line, path, strlen(path));
	ews_buf_addf(&line, "\t%s", what);
	if (!list->n || strcmp(list->items[list->n - 1], line.ptr) != 0)
		ews_strv_add(list, line.ptr);
}

/* The place of `path` in `now`, or NULL. */
static const struct ews_entry **slot_of(const struct merge *merge, const char *path)
{
	const struct ews_entries *ours = merge->opts->ours;
	const struct ews_entry *entry = ews_entries_find(ours, path);

	return entry ? &merge->now[entry - ours->items] : NULL;
}

static const struct ews_entry *now_at(const struct merge *merge, const char *path)
{
	const struct ews_entry **slot = slot_of(merge, path);

	return slot ? *slot : NULL;
}

static bool is_dir(const struct ews_entry *entry)
{
	return entry && entry->type == EWS_ENTRY_DIR;
}

static bool is_file(const struct ews_entry *entry)
{
	return entry && entry->type == EWS_ENTRY_FILE;
}

static bool is_same(const struct ews_entry *a, const struct ews_entry *b)
{
	return a && b ? ews_entry_equal(a, b) : a == b;
}

static struct ews_entry *make_entry(struct merge *merge, const struct ews_entry *from, const char *path)
{
	struct ews_entry *entry = ews_arena_alloc(&merge->arena, sizeof(*entry));

	*entry = *from;
	entry->path = path; /* borrowed: of the changes, or the arena's */
	entry->has_stat = entry->has_owner = entry->is_elsewhere = false;
	return entry;
}

/* Let `path` be `entry` (NULL: nothing). */
static void set(struct merge *merge, const char *path, const struct ews_entry *entry)
{
	const struct ews_entry **slot = slot_of(merge, path);
	const struct ews_entry *made = entry ? make_entry(merge, entry, path) : NULL;

	ews_strv_add(&merge->result->touched, path);
	/* A new name may have been taken before the file that was renamed to it was met. */
	for (size_t i = 0; !slot && merge->opts->renames && merge->opts->renames->n && i < merge->n_added; i++)
		if (merge->added[i] && !strcmp(merge->added[i]->path, path))
			slot = &merge->added[i];
	if (slot) {
		*slot = made;
		return;
	}
	EWS_GROW(merge->added, merge->n_added, merge->cap_added);
	merge->added[merge->n_added++] = made;
}

/* A conflict: named, and settled as the options want it. `can_force`: nothing that the engine must not touch is in the way. */
static void clash(struct merge *merge, const char *path, const struct ews_entry *theirs, const char *why,
		  bool can_force)
{
	can_force = can_force || merge->opts->is_nowhere;
	if (merge->opts->favor != EWS_MERGE_THEIRS || !can_force) {
		merge->result->is_blocked = merge->result->is_blocked || !can_force;
		say(&merge->result->conflicts, path, why);
		return;
	}
	say(&merge->result->drift, path, "overwritten, what was there is kept");
	set(merge, path, theirs);
}

/* Why what was left out at `path` stands in the way of what has to come there; NULL: it does not. */
static const struct ews_skip *skip_at(const struct merge *merge, const char *path)
{
	return ews_skips_covering(merge->opts->skips, path);
}

static bool can_move(const struct ews_skip *skip)
{
	return skip->reason != EWS_SKIP_OWN && skip->reason != EWS_SKIP_UNREADABLE &&
	       skip->reason != EWS_SKIP_MOUNTED && !ews_skip_is_gits(skip->reason) &&
	       skip->reason != EWS_SKIP_CHANGING;
}

static int read_text(struct ews_buf *out, const struct merge *merge, const struct ews_entry *entry)
{
	int rc = ews_odb_read_max(out, NULL, merge->opts->odb, &entry->oid, TEXT_BYTES_MAX);

	if (rc != 0)
		return rc;
	return memchr(out->ptr, '\0', out->len < BINARY_LOOK_BYTES ? out->len : BINARY_LOOK_BYTES) != NULL;
}

/* The contents of three files as one: 0 merged, 1 with conflicts between markers, 2 they are no texts. `base` may be NULL. */
static int merge_content(struct ews_entry *out, const struct merge *merge, const struct ews_entry *base,
			 const struct ews_entry *ours, const struct ews_entry *theirs)
{
	EWS_CLEANUP(buf) struct ews_buf first = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf second = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf third = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf merged = EWS_BUF_INIT;
	struct ews_buf *const texts[3] = { &first, &second, &third };
	const struct ews_entry *const entries[3] = { base, ours, theirs };
	struct ews_odb_text sides[3] = { { .label = "base" },
					 { .label = merge->opts->our_label },
					 { .label = merge->opts->their_label } };
	int status;

	for (size_t i = 0; i < 3; i++) {
		int rc = entries[i] ? read_text(texts[i], merge, entries[i]) : 0;

		if (rc != 0)
			return rc < 0 ? rc : 2;
		sides[i].data = entries[i] ? texts[i]->ptr : NULL;
		sides[i].len = texts[i]->len;
	}
	status = ews_odb_merge_text(&merged, &sides[0], &sides[1], &sides[2]);
	if (status >= 0) {
		int rc = ews_batch_add(&out->oid, merge->opts->batch, EWS_OBJECT_BLOB, merged.ptr, merged.len);

		out->size = merged.len;
		status = rc < 0 ? rc : status;
	}
	return status;
}

/* Modes and attributes are taken from whom has changed them; NULL when both did. */
static const struct ews_entry *whose_mode(const struct ews_entry *base, const struct ews_entry *ours,
					  const struct ews_entry *theirs)
{
	if (theirs->mode == ours->mode || theirs->mode == base->mode)
		return ours;
	return ours->mode == base->mode ? theirs : NULL;
}

static const struct ews_entry *whose_attrs(const struct ews_entry *base, const struct ews_entry *ours,
					   const struct ews_entry *theirs)
{
	if (ews_entry_same_attrs(theirs, ours) || ews_entry_same_attrs(theirs, base))
		return ours;
	return ews_entry_same_attrs(ours, base) ? theirs : NULL;
}

/*
 * One file that both sides changed, into `path`, which is where the other side has it. Returns 1 when something came of it, 0
 * when it stays as it is.
 */
static int merge_file(struct merge *merge, const char *path, const struct ews_entry *base,
		      const struct ews_entry *ours, const struct ews_entry *theirs)
{
	const struct ews_entry *mode = base ? whose_mode(base, ours, theirs) : ours;
	const struct ews_entry *attrs = base ? whose_attrs(base, ours, theirs) : ours;
	struct ews_entry merged = *ours;
	int status = 0;

	/* Nobody knows who is right about what was new on both sides: under "theirs" all of it is. */
	if (!base && merge->opts->favor == EWS_MERGE_THEIRS && !ews_entry_equal(ours, theirs)) {
		clash(merge, path, theirs, "added on both sides", true);
		return 1;
	}
	if (!mode || !attrs) {
		clash(merge, path, theirs, "its mode or attributes changed on both sides", true);
		return merge->opts->favor == EWS_MERGE_THEIRS;
	}
	merged.mode = mode->mode;
	merged.xattrs = attrs->xattrs;
	merged.first_name = NULL;
	if (base && ews_oid_equal(&ours->oid, &base->oid))
		merged.oid = theirs->oid;
	else if (!ews_oid_equal(&theirs->oid, &ours->oid) && !(base && ews_oid_equal(&theirs->oid, &base->oid)))
		status = merge_content(&merged, merge, base, ours, theirs);
	if (status < 0)
		return ews_error_wrap("cannot merge '%s'", path);
	if (status == 0 && (base || !((ours->mode ^ theirs->mode) & 0100))) {
		if (strcmp(path, ours->path) != 0 || !ews_entry_equal(&merged, ours))
			set(merge, path, &merged);
		say(&merge->result->drift, path, "merged");
		return 1;
	}
	if (status == 1 && merge->opts->favor == EWS_MERGE_MARK)
		set(merge, path, &merged);
	clash(merge, path, theirs,
	      status == 2 ? "binary, changed on both sides"
	      : base      ? "the same lines changed on both sides"
			  : "added on both sides",
	      true);
	return merge->opts->favor == EWS_MERGE_THEIRS || (status == 1 && merge->opts->favor == EWS_MERGE_MARK);
}

/*
 * What the other side renamed is merged under its new name; where that can't be, it stays under its old one. Returns 1, or 0 when
 * it was not renamed.
 */
static int follow_rename(struct merge *merge, const struct ews_change *change, const struct ews_entry *ours)
{
	const struct ews_strv *renames = merge->opts->renames;

	for (size_t i = 0; renames && i + 1 < renames->n; i += 2) {
		const char *to = renames->items[i + 1];
		const struct ews_change *there =
			strcmp(renames->items[i], change->path) ? NULL : ews_changes_find(merge->opts->changes, to);
		int rc;

		if (!there || !is_file(there->to) || there->from || slot_of(merge, to) || skip_at(merge, to))
			continue;
		rc = merge_file(merge, there->path, change->from, ours, there->to);
		if (rc < 0)
			return rc;
		set(merge, rc ? change->path : there->path, NULL);
		merge->is_followed[i / 2] = true;
		return 1;
	}
	return 0;
}

/* The name that the other side gave this new file in place of; NULL: none. `*is_followed`: what it came to is settled. */
static const char *old_name(const struct merge *merge, bool *is_followed, const char *path)
{
	const struct ews_strv *renames = merge->opts->renames;

	for (size_t i = 0; renames && i + 1 < renames->n; i += 2) {
		*is_followed = merge->is_followed[i / 2];
		if (!strcmp(renames->items[i + 1], path))
			return renames->items[i];
	}
	return NULL;
}

/* Did the project delete the file of this name that goes on the other side? */
static bool was_deleted(const struct merge *merge, const char *path)
{
	const struct ews_change *change = ews_changes_find(merge->opts->changes, path);

	return change && is_file(change->from) && !change->to && !slot_of(merge, path) && !skip_at(merge, path);
}

/* A file, a link or the like is new on the other side, or changed there alone. */
static void take_theirs(struct merge *merge, const struct ews_change *change)
{
	bool is_followed = false;
	const char *old = change->from ? NULL : old_name(merge, &is_followed, change->path);

	if (old && is_followed)
		return;
	if (old && was_deleted(merge, old))
		clash(merge, change->path, change->to, "deleted in the project, renamed there", true);
	else
		set(merge, change->path, change->to);
}

static bool is_gitlink(const struct ews_entry *entry)
{
	return entry && entry->type == EWS_ENTRY_GITLINK;
}

/* Is it a repository of its own, with a directory on a disk that nobody else may touch? */
static bool is_repository(const struct merge *merge, const struct ews_change *change, const struct ews_entry *ours)
{
	return !merge->opts->is_nowhere && (is_gitlink(change->from) || is_gitlink(change->to) || is_gitlink(ours));
}

/* Something of ours stands where a directory has to be. Nobody writes by way of a link, whatever he wants. */
static void clash_in_way(struct merge *merge, const char *path, const struct ews_entry *theirs,
			 const struct ews_entry *ours)
{
	bool is_link = ours->type == EWS_ENTRY_LINK;

	clash(merge, path, theirs, is_link ? "a link in the project" : "no directory in the project",
	      !is_link && !is_gitlink(ours));
}

static void merge_dir(struct merge *merge, const struct ews_change *change, const struct ews_entry *ours)
{
	const struct ews_entry *base = change->from, *theirs = change->to;

	if (!ours && !is_dir(base)) {
		set(merge, change->path, theirs);
	} else if (is_dir(ours)) {
		/* Its own mode and attributes: who changed them here has his way. */
		if (is_dir(base) && is_same(ours, base))
			set(merge, change->path, theirs);
	} else if (ours && base && is_same(ours, base)) {
		set(merge, change->path, theirs);
	} else if (ours) {
		clash_in_way(merge, change->path, theirs, ours);
	}
}

/*
 * The one file that is new in the project and is what `base`, which is not there any more, was: somebody gave it that name. NULL: there is
 * none, or several. As with git nothing is told by files that hold nothing.
 */
static const struct ews_entry *find_renamed(const struct merge *merge, const struct ews_entry *base)
{
	const struct ews_entries *ours = merge->opts->ours;
	const struct ews_entry *found = NULL;

	for (size_t i = 0; base->size && i < ours->n; i++) {
		const struct ews_entry *entry = &ours->items[i];

		if (!is_file(entry) || merge->now[i] != entry || !ews_oid_equal(&entry->oid, &base->oid) ||
		    ews_entries_find(merge->opts->theirs, entry->path) ||
		    ews_changes_find(merge->opts->changes, entry->path))
			continue;
		if (found)
			return NULL;
		found = entry;
	}
	return found;
}

/* Likewise the other way round: what was done there to a file comes to where the project has that now. */
static int follow_our_rename(struct merge *merge, const struct ews_change *change)
{
	const struct ews_entry *ours = find_renamed(merge, change->from);
	int rc = ours ? merge_file(merge, ours->path, change->from, ours, change->to) : 0;

	if (rc > 0)
		say(&merge->result->drift, change->path, "renamed in the project");
	return rc;
}

/* Both sides changed what is no directory. */
static int merge_both(struct merge *merge, const struct ews_change *change, const struct ews_entry *ours)
{
	const struct ews_entry *base = change->from, *theirs = change->to;
	int rc = 0;

	if (is_file(ours) && is_file(theirs) && (!base || is_file(base))) {
		rc = merge_file(merge, change->path, base, ours, theirs);
		return rc < 0 ? rc : 0;
	}
	if (!theirs && is_file(ours) && is_file(base))
		rc = follow_rename(merge, change, ours);
	else if (!ours && is_file(base) && is_file(theirs))
		rc = follow_our_rename(merge, change);
	if (rc)
		return rc < 0 ? rc : 0;
	if (!theirs)
		clash(merge, change->path, theirs, "changed in the project, deleted there", true);
	else if (!ours)
		clash(merge, change->path, theirs, "deleted in the project, changed there", true);
	else
		clash(merge, change->path, theirs, base ? "changed on both sides" : "added on both sides", true);
	return 0;
}

/* Is it for the second round: a directory here that goes, or gives way to something else? */
static bool is_for_later(const struct ews_change *change, const struct ews_entry *ours)
{
	return is_dir(ours) && !is_dir(change->to);
}

/* Names of one file are that on the other side alone: no content differs. */
static bool is_joined(const struct ews_entry *ours, const struct ews_entry *theirs)
{
	return is_file(ours) && is_file(theirs) &&
	       strcmp(ours->first_name ? ours->first_name : "", theirs->first_name ? theirs->first_name : "") != 0;
}

static int merge_one(struct merge *merge, const struct ews_change *change)
{
	const struct ews_entry *ours = now_at(merge, change->path);
	const struct ews_skip *skip = ours ? NULL : skip_at(merge, change->path);

	if (is_repository(merge, change, ours)) {
		/* The session's state may have left it out, and it is named already. */
		ews_path_line_add_once(&merge->result->left_out, change->path, ews_skip_word(EWS_SKIP_REPOSITORY));
		return 0;
	}
	if (ews_path_is_inside_any(change->path, merge->opts->closed)) {
		clash(merge, change->path, change->to, ews_skip_why(EWS_SKIP_OWN), false);
		return 0;
	}
	if (is_for_later(change, ours))
		return 0;
	/* Of an ignored directory what either side knew of was looked at. */
	if (skip && (skip->reason != EWS_SKIP_IGNORED || !strcmp(skip->path, change->path))) {
		clash(merge, change->path, change->to, ews_skip_why(skip->reason), can_move(skip));
		return 0;
	}
	if (is_dir(change->to)) {
		merge_dir(merge, change, ours);
		return 0;
	}
	if (is_same(ours, change->to)) {
		if (ours && is_joined(ours, change->to) && change->from && is_same(ours, change->from))
			set(merge, change->path, change->to);
		return 0;
	}
	/* Of a directory that turned into this, what was in it is gone by changes of its own. */
	if (is_same(ours, change->from) || (is_dir(change->from) && !ours)) {
		take_theirs(merge, change);
		return 0;
	}
	return merge_both(merge, change, ours);
}

/* Is anything left below the directory `path` of ours? With `clear` it goes. */
static bool is_left_below(struct merge *merge, const char *path, bool clear)
{
	const struct ews_entries *ours = merge->opts->ours;
	const struct ews_entry *dir = ews_entries_find(ours, path);
	bool found = false;

	assert(dir);
	for (const struct ews_entry *e = dir + 1; e < ours->items + ours->n && ews_path_is_inside(e->path, path);
	     e++) {
		if (!merge->now[e - ours->items])
			continue;
		found = true;
		if (clear)
			set(merge, e->path, NULL);
	}
	return found;
}

static const struct ews_skip *skip_below(const struct merge *merge, const char *path)
{
	const struct ews_skips *skips = merge->opts->skips;
	size_t at = ews_path_find_first(skips->items, sizeof(*skips->items), skips->n, path);

	return at < skips->n && ews_path_is_inside(skips->items[at].path, path) ? &skips->items[at] : NULL;
}

static void merge_over_dir(struct merge *merge, const struct ews_change *change)
{
	const struct ews_entry *ours = now_at(merge, change->path);
	const struct ews_skip *skip;
	bool can_clear;

	if (is_repository(merge, change, NULL) || !is_for_later(change, ours))
		return;
	if (!change->to) {
		/* As git has it: what somebody else has put into a directory keeps it, ignored or not. */
		if (is_dir(change->from) && !skip_below(merge, change->path) &&
		    !is_left_below(merge, change->path, false))
			set(merge, change->path, NULL);
		return;
	}
	skip = skip_below(merge, change->path);
	if (is_dir(change->from) && !skip && !is_left_below(merge, change->path, false)) {
		set(merge, change->path, change->to);
		return;
	}
	can_clear = !skip || can_move(skip) || merge->opts->is_nowhere;
	if (merge->opts->favor == EWS_MERGE_THEIRS && can_clear)
		(void)is_left_below(merge, change->path, true);
	clash(merge, change->path, change->to, "a directory in the project, with more in it", can_clear);
}

static void list_new_dirs(struct merge *merge)
{
	merge->n_brought = merge->n_added;
	for (size_t i = 0; i < merge->n_brought; i++)
		if (is_dir(merge->added[i]))
			ews_strv_add(&merge->new_dirs, merge->added[i]->path);
	ews_strv_sort(&merge->new_dirs);
}

/* Is it a directory that was brought here with the rest, or made since? */
static bool is_made(const struct merge *merge, const char *path)
{
	bool is = ews_strv_sorted_has(&merge->new_dirs, path);

	for (size_t i = merge->n_brought; i < merge->n_added && !is; i++)
		is = merge->added[i] && !strcmp(merge->added[i]->path, path);
	return is;
}

/* Let all directories be there that `path`, which is new, lies in; false when one can't be. */
static bool make_parents(struct merge *merge, const char *path)
{
	const struct ews_entry made = { .type = EWS_ENTRY_DIR, .mode = 0755 };
	EWS_CLEANUP(free) char *at = ews_path_dir(path);
	const struct ews_entry *there = *at ? now_at(merge, at) : NULL;
	const struct ews_entry *theirs = *at ? ews_entries_find(merge->opts->theirs, at) : NULL;
	const struct ews_skip *skip;
	const char *own;

	if (!*at || is_dir(there))
		return true;
	/* Where one of those above can't be it does not come, even if it was brought. */
	if (!make_parents(merge, at))
		return false;
	if (is_made(merge, at))
		return true;
	own = ews_arena_dup(&merge->arena, at, strlen(at));
	theirs = is_dir(theirs) ? theirs : &made;
	skip = there ? NULL : skip_at(merge, at);
	if (there)
		clash_in_way(merge, own, theirs, there);
	else if (skip && strcmp(skip->path, at) == 0 && skip->reason != EWS_SKIP_IGNORED)
		clash(merge, own, theirs, ews_skip_why(skip->reason), can_move(skip));
	else
		set(merge, own, theirs);
	return is_dir(now_at(merge, at)) || is_made(merge, at);
}

/* Names of one file are that no longer where one of them is another file now. */
static void part_names(struct ews_entries *list)
{
	for (size_t i = 0; i < list->n; i++) {
		struct ews_entry *entry = &list->items[i];
		const struct ews_entry *first = entry->first_name ? ews_entries_find(list, entry->first_name) : NULL;

		if (!first || first->first_name || !ews_entry_equal(first, entry))
			entry->first_name = NULL;
	}
}

static int find_sizes(struct ews_entries *list, const struct merge *merge)
{
	for (size_t i = 0; i < list->n; i++) {
		struct ews_entry *entry = &list->items[i];
		enum ews_object_type type;
		bool has_content = entry->type == EWS_ENTRY_FILE || entry->type == EWS_ENTRY_LINK;

		if (!has_content || entry->size || !ews_odb_has(merge->opts->odb, &entry->oid))
			continue;
		if (ews_odb_read_header(&type, &entry->size, merge->opts->odb, &entry->oid) < 0)
			return ews_error_wrap("cannot look at '%s'", entry->path);
	}
	return 0;
}

int ews_merge(struct ews_entries *out, struct ews_merge_result *result, const struct ews_merge_opts *opts)
{
	EWS_CLEANUP(merge) struct merge merge = { .opts = opts, .result = result, .new_dirs = EWS_STRV_INIT };
	size_t n = opts->ours->n, n_renames = opts->renames ? opts->renames->n / 2 : 0;
	int rc = 0;

	merge.now = ews_calloc(n + 1, sizeof(*merge.now));
	merge.is_followed = ews_calloc(n_renames + 1, sizeof(*merge.is_followed));
	for (size_t i = 0; i < n; i++)
		merge.now[i] = &opts->ours->items[i];
	for (size_t i = 0; i < opts->changes->n && rc == 0; i++)
		rc = merge_one(&merge, &opts->changes->items[i]);
	if (rc < 0)
		return rc;
	/* What a directory holds comes before it here. */
	for (size_t i = opts->changes->n; i > 0; i--)
		merge_over_dir(&merge, &opts->changes->items[i - 1]);
	list_new_dirs(&merge);
	for (size_t i = 0; i < merge.n_brought; i++)
		if (merge.added[i] && !make_parents(&merge, merge.added[i]->path))
			merge.added[i] = NULL;
	for (size_t i = 0; i < n; i++)
		if (merge.now[i])
			ews_entries_add_copy(out, merge.now[i]);
	for (size_t i = 0; i < merge.n_added; i++)
		if (merge.added[i])
			ews_entries_add_copy(out, merge.added[i]);
	ews_entries_sort(out);
	out->knows_names = opts->ours->knows_names;
	part_names(out);
	ews_strv_unique(&result->touched);
	return find_sizes(out, &merge);
}

void ews_merge_take_modes(struct ews_entries *list, const struct ews_entries *ours)
{
	mode_t mask = ews_file_umask();

	for (size_t i = 0; i < list->n; i++) {
		struct ews_entry *entry = &list->items[i];
		const struct ews_entry *there = ews_entries_find(ours, entry->path);
		bool can_run = entry->mode & 0100;

		if (entry->type != EWS_ENTRY_FILE && entry->type != EWS_ENTRY_DIR)
			continue;
		if (!there || there->type != entry->type) {
			entry->mode = (uint16_t)((can_run ? 0777 : 0666) & ~mask);
			continue;
		}
		entry->xattrs = there->xattrs ? ews_arena_dup(&list->arena, there->xattrs, strlen(there->xattrs))
					      : NULL;
		if (entry->type == EWS_ENTRY_DIR || can_run == !!(there->mode & 0100))
			entry->mode = there->mode;
		else if (can_run)
			entry->mode = (uint16_t)(there->mode | ((there->mode & 0444) >> 2));
		else
			entry->mode = there->mode & (uint16_t)~0111u;
	}
}
