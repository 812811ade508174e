/*
 * Trees: see tree.h. Here those of a list are written.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/pool.h"
#include "store/tree.h"

#define FEW_ENTRIES 256 /* that are to be written: one thread does it */
#define FEW_IN_BRANCH 8 /* and these are written with the root */

/* A directory of the first level, which any thread may write. */
struct branch {
	size_t at, end; /* its first entry that fits a tree, and what comes after all of it */
	size_t name_len;
	const struct ews_oid *was; /* NULL: it has no tree yet */
	size_t n; /* entries of it that are to be written */
	struct ews_oid oid;
};

/* The levels under way: each level's items stand on top of its parent's. */
struct writing {
	struct ews_batch *batch;
	const struct ews_entries *list;
	size_t at; /* the entry that comes next */
	struct ews_tree_item *items;
	size_t n, cap;
	struct ews_arena names; /* of directories */
	const struct ews_changes *changes; /* against what has a tree already; NULL: nothing has */
	struct branch *branches; /* that others have written, in order */
	size_t n_branches, next_branch, cap_branches;
};

/* A directory of what has a tree already. Only one that holds directories is read: theirs are what may be taken over. */
struct old_level {
	const struct ews_oid *tree; /* NULL: it has none yet */
	bool is_read;
	struct ews_tree_item *items;
	size_t n;
};

static void release_old_level(struct old_level *old)
{
	free(old->items);
}

EWS_CLEANUP_DEFINE(old_level, struct old_level, release_old_level)

static void release_writing(struct writing *w)
{
	free(w->items);
	free(w->branches);
	ews_arena_release(&w->names);
}

EWS_CLEANUP_DEFINE(writing, struct writing, release_writing)

/* How many of `n` things that begin with their paths, the first of which is at or below the directory `path`, are there? */
static size_t find_end(const void *items, size_t size, size_t n, const char *path)
{
	/* In order nothing comes between a directory's content and what begins with its name and the least byte. */
	EWS_CLEANUP(free) char *end = ews_strfmt("%s\001", path);

	return ews_path_find_first(items, size, n, end);
}

static void push_item(struct writing *w, uint32_t mode, const char *name, const struct ews_oid *oid)
{
	EWS_GROW(w->items, w->n, w->cap);
	w->items[w->n++] = (struct ews_tree_item){ mode, name, *oid };
}

/* How much at and below the directory `path` differs from what has a tree? */
static size_t count_changes(const struct writing *w, const char *path)
{
	const struct ews_changes *changes = w->changes;
	size_t at = ews_path_find_first(changes->items, sizeof(*changes->items), changes->n, path);

	return find_end(changes->items + at, sizeof(*changes->items), changes->n - at, path);
}

/* Step over the directory `path` and all that is below it. */
static void step_over(struct writing *w, const char *path)
{
	const struct ews_entries *list = w->list;

	w->at += find_end(&list->items[w->at], sizeof(*list->items), list->n - w->at, path);
}

/* Point `out` to the tree that the directory had; NULL: none. In a tree that isn't sorted it may not be found: then it is written anew. */
static int find_old(const struct ews_oid **out, struct writing *w, struct old_level *old, const char *name, size_t len)
{
	EWS_CLEANUP(free) char *dir = ews_strndup(name, len);
	const struct ews_tree_item wanted = { EWS_MODE_DIR, dir, EWS_OID_NONE };
	const struct ews_tree_item *found;
	int rc = 0;

	if (old->tree && !old->is_read)
		rc = ews_tree_read_flat(&old->items, &old->n, ews_batch_odb(w->batch), old->tree, &w->names);
	old->is_read = true;
	found = rc < 0 ? NULL : ews_tree_item_find(old->items, old->n, &wanted);
	*out = found ? &found->oid : NULL;
	return rc;
}

/* Has another thread written the directory that comes next? Then it is stepped over. */
static bool take_branch(struct ews_oid *out, struct writing *w)
{
	const struct branch *branch = w->branches + w->next_branch;

	if (w->next_branch == w->n_branches || branch->at != w->at)
		return false;
	*out = branch->oid;
	w->at = branch->end;
	w->next_branch++;
	return true;
}

static int write_level(struct ews_oid *out, struct writing *w, const char *prefix, size_t prefix_len,
		       const struct ews_oid *was);

/* The directory that is the first `len` bytes of `path`, by the name `name`; of `old` it may have been one. */
static int write_dir(struct writing *w, const char *path, size_t len, const char *name, struct old_level *old)
{
	size_t name_len = (size_t)(path + len - name);
	const struct ews_oid *was;
	int rc = find_old(&was, w, old, name, name_len);
	EWS_CLEANUP(free) char *dir = was ? ews_strndup(path, len) : NULL;
	struct ews_oid oid = EWS_OID_NONE;

	if (rc < 0)
		return rc;
	if (was && !count_changes(w, dir)) {
		oid = *was;
		step_over(w, dir);
	} else {
		rc = write_level(&oid, w, path, len + 1, was);
	}
	if (rc == 0)
		push_item(w, EWS_MODE_DIR, ews_arena_dup(&w->names, name, name_len), &oid);
	return rc;
}

/* What is written by several threads. */
struct branching {
	const struct writing *whole;
	struct branch **largest_first;
};

static int write_branch(size_t i, unsigned worker, void *payload)
{
	const struct branching *branching = payload;
	const struct writing *whole = branching->whole;
	struct branch *branch = branching->largest_first[i];
	EWS_CLEANUP(writing)
	struct writing w = { .batch = whole->batch, .list = whole->list, .at = branch->at, .changes = whole->changes };

	(void)worker;
	return write_level(&branch->oid, &w, w.list->items[w.at].path, branch->name_len + 1, branch->was);
}

static int cmp_largest(const void *a, const void *b)
{
	size_t n_a = (*(struct branch *const *)a)->n, n_b = (*(struct branch *const *)b)->n;

	return (n_a < n_b) - (n_a > n_b);
}

/* Which directories of the first level have much to be written? `total` becomes how many entries that is. */
static int find_branches(size_t *total, struct writing *w, struct old_level *old)
{
	const struct ews_entries *list = w->list;
	int rc = 0;

	for (w->at = 0; w->at < list->n && rc == 0;) {
		const char *path = list->items[w->at].path, *slash = strchr(path, '/');
		EWS_CLEANUP(free) char *dir = slash ? ews_strndup(path, (size_t)(slash - path)) : NULL;
		struct branch branch = { .at = w->at, .oid = EWS_OID_NONE };

		if (!slash || !ews_entry_fits_tree(&list->items[w->at])) {
			w->at++;
			continue;
		}
		branch.name_len = (size_t)(slash - path);
		rc = find_old(&branch.was, w, old, path, branch.name_len);
		step_over(w, dir);
		branch.end = w->at;
		branch.n = w->changes ? count_changes(w, dir) : branch.end - branch.at;
		if (branch.n < FEW_IN_BRANCH)
			continue;
		*total += branch.n;
		EWS_GROW(w->branches, w->n_branches, w->cap_branches);
		w->branches[w->n_branches++] = branch;
	}
	w->at = 0;
	return rc;
}

/* The directories of the first level have nothing to do with each other: those of many entries are written by several threads. */
static int write_branches(struct writing *w, struct old_level *old)
{
	EWS_CLEANUP(free) struct branch **largest_first = NULL;
	struct branching branching = { .whole = w };
	size_t total = 0;
	int rc = find_branches(&total, w, old);

	if (rc < 0 || total < FEW_ENTRIES) {
		w->n_branches = 0;
		return rc;
	}
	largest_first = ews_calloc(w->n_branches, sizeof(struct branch *));
	for (size_t i = 0; i < w->n_branches; i++)
		largest_first[i] = &w->branches[i];
	qsort(largest_first, w->n_branches, sizeof(struct branch *), cmp_largest);
	branching.largest_first = largest_first;
	return ews_pool_for(w->n_branches, 1, 0, write_branch, &branching);
}

/* Write the entries from the next one on whose paths start with the first `prefix_len` bytes of `prefix`; it was `was`, if not NULL. */
static int write_level(struct ews_oid *out, struct writing *w, const char *prefix, size_t prefix_len,
		       const struct ews_oid *was)
{
	EWS_CLEANUP(old_level) struct old_level old = { .tree = was };
	size_t first = w->n;
	int rc = prefix_len ? 0 : write_branches(w, &old);

	while (w->at < w->list->n && rc == 0) {
		const struct ews_entry *entry = &w->list->items[w->at];
		const char *name = entry->path + prefix_len, *slash;
		struct ews_oid oid;

		if (strncmp(entry->path, prefix, prefix_len) != 0)
			break;
		if (!ews_entry_fits_tree(entry)) {
			w->at++;
			continue;
		}
		slash = strchr(name, '/');
		if (slash && take_branch(&oid, w)) {
			push_item(w, EWS_MODE_DIR, ews_arena_dup(&w->names, name, (size_t)(slash - name)), &oid);
		} else if (slash) {
			rc = write_dir(w, entry->path, (size_t)(slash - entry->path), name, &old);
		} else {
			push_item(w, ews_entry_git_mode(entry), name, &entry->oid);
			w->at++;
		}
	}
	if (rc == 0)
		rc = ews_tree_write_flat(out, w->batch, w->items ? w->items + first : NULL, w->n - first);
	w->n = first;
	return rc;
}

static int write_all(struct ews_oid *out, struct writing *w, const struct ews_oid *was)
{
	struct ews_oid root = EWS_OID_NONE;
	int rc = write_level(&root, w, "", 0, was);

	if (rc == 0)
		*out = root;
	return rc;
}

int ews_tree_write(struct ews_oid *out, struct ews_batch *batch, const struct ews_entries *list)
{
	EWS_CLEANUP(writing) struct writing w = { .batch = batch, .list = list };

	return write_all(out, &w, NULL);
}

int ews_tree_write_like(struct ews_oid *out, struct ews_batch *batch, const struct ews_entries *list,
			const struct ews_entries *was, const struct ews_oid *was_tree)
{
	EWS_CLEANUP(changes) struct ews_changes changes = EWS_CHANGES_INIT;

	ews_changes_between(&changes, was, list, ews_entry_equal_in_git);
	return ews_tree_write_changed(out, batch, list, &changes, was_tree);
}

int ews_tree_write_changed(struct ews_oid *out, struct ews_batch *batch, const struct ews_entries *list,
			   const struct ews_changes *changes, const struct ews_oid *was_tree)
{
	EWS_CLEANUP(writing) struct writing w = { .batch = batch, .list = list, .changes = changes };

	if (changes->n)
		return write_all(out, &w, was_tree);
	*out = *was_tree;
	return 0;
}
