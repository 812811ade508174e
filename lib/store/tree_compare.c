/*
 * Trees compared: see tree_compare.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/tree_compare.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/tree.h"

/* Where trees are read from, and where their names live. */
struct source {
	struct ews_odb *odb;
	struct ews_arena names;
};

/* One level of two trees, side by side. */
struct level {
	struct ews_tree_item *old, *new;
	size_t n_old, n_new;
	size_t i, k; /* what comes next of each */
};

#define LEVEL_INIT { NULL, NULL, 0, 0, 0, 0 }

static void release_level(struct level *level)
{
	free(level->old);
	free(level->new);
}

EWS_CLEANUP_DEFINE(level, struct level, release_level)

/* Read the tree `oid`, NULL: there is none. The caller frees `*items`. */
static int read_tree(struct ews_tree_item **items, size_t *n, struct source *source, const struct ews_oid *oid)
{
	char hex[EWS_OID_HEX_MAX];
	int rc = oid ? ews_tree_read_flat(items, n, source->odb, oid, &source->names) : 0;

	/* Side by side with another only what is sorted can be read. */
	for (size_t i = 1; i < *n && rc == 0; i++)
		if (ews_tree_item_cmp(&(*items)[i - 1], &(*items)[i]) >= 0)
			rc = ews_error(EWS_EDAMAGED, "tree %s is not sorted", ews_oid_hex(hex, oid));
	return rc;
}

/* `from` and `to` are the trees, or NULL. */
static int read_level(struct level *out, struct source *source, const struct ews_oid *from, const struct ews_oid *to)
{
	int rc = read_tree(&out->old, &out->n_old, source, from);

	return rc < 0 ? rc : read_tree(&out->new, &out->n_new, source, to);
}

/* Give what stands at the next name, NULL for the side that has nothing there. False: there is no more. */
static bool next_items(const struct ews_tree_item **old, const struct ews_tree_item **new, struct level *level)
{
	bool has_old = level->i < level->n_old, has_new = level->k < level->n_new;
	int order = !has_old ? 1 : !has_new ? -1 : ews_tree_item_cmp(&level->old[level->i], &level->new[level->k]);

	if (!has_old && !has_new)
		return false;
	*old = order <= 0 ? &level->old[level->i++] : NULL;
	*new = order >= 0 ? &level->new[level->k++] : NULL;
	return true;
}

static const struct ews_oid *oid_of(const struct ews_tree_item *item)
{
	return item ? &item->oid : NULL;
}

struct comparing {
	struct ews_tree_differences *out;
	struct source source;
	struct ews_buf path; /* of the level under way, with its slash */
};

static int compare_level(struct comparing *c, const struct ews_oid *from, const struct ews_oid *to);

/* Compare what has one name, or is on one side alone. */
static int compare_items(struct comparing *c, const struct ews_tree_item *old, const struct ews_tree_item *new)
{
	const struct ews_tree_item *one = new ? new : old;
	size_t level_len = c->path.len;
	int rc = 0;

	if (old && new && old->mode == new->mode && ews_oid_equal(&old->oid, &new->oid))
		return 0;
	ews_buf_adds(&c->path, one->name);
	if (c->path.len > EWS_TREE_PATH_MAX) {
		rc = ews_error(EWS_EUNSUPPORTED, "a tree holds a path of more than %d bytes", EWS_TREE_PATH_MAX);
	} else if (ews_tree_item_is_dir(one)) {
		ews_buf_addc(&c->path, '/');
		rc = compare_level(c, oid_of(old), oid_of(new));
	} else {
		struct ews_tree_differences *out = c->out;

		EWS_GROW(out->items, out->n, out->cap);
		out->items[out->n++] = (struct ews_tree_difference){
			.path = ews_arena_dup(&out->arena, c->path.ptr, c->path.len),
			.old_mode = old ? old->mode : 0,
			.new_mode = new ? new->mode : 0,
			.old_oid = old ? old->oid : (struct ews_oid)EWS_OID_NONE,
			.new_oid = new ? new->oid : (struct ews_oid)EWS_OID_NONE,
		};
	}
	ews_buf_truncate(&c->path, level_len);
	return rc;
}

static int compare_level(struct comparing *c, const struct ews_oid *from, const struct ews_oid *to)
{
	EWS_CLEANUP(level) struct level level = LEVEL_INIT;
	const struct ews_tree_item *old, *new;
	int rc = read_level(&level, &c->source, from, to);

	while (rc == 0 && next_items(&old, &new, &level))
		rc = compare_items(c, old, new);
	return rc;
}

int ews_tree_compare(struct ews_tree_differences *out, struct ews_odb *odb, const struct ews_oid *from,
		     const struct ews_oid *to)
{
	struct comparing c = { out, { odb, EWS_ARENA_INIT }, EWS_BUF_INIT };
	int rc = ews_oid_equal(from, to) ? 0 : compare_level(&c, from, to);

	ews_buf_release(&c.path);
	ews_arena_release(&c.source.names);
	return rc;
}

/* What a tree has of an entry; none of one that fits no tree. */
static void take_entry(uint32_t *mode, struct ews_oid *oid, const struct ews_entry *entry)
{
	if (!entry || !ews_entry_fits_tree(entry))
		return;
	*mode = ews_entry_git_mode(entry);
	*oid = entry->oid;
}

static int cmp_difference(const void *a, const void *b)
{
	return strcmp(((const struct ews_tree_difference *)a)->path, ((const struct ews_tree_difference *)b)->path);
}

void ews_tree_differences_between(struct ews_tree_differences *out, const struct ews_entries *from,
				  const struct ews_entries *to)
{
	EWS_CLEANUP(changes) struct ews_changes changes = EWS_CHANGES_INIT;
	size_t first = out->n;

	ews_changes_between(&changes, from, to, ews_entry_equal_in_git);
	for (size_t i = 0; i < changes.n; i++) {
		const struct ews_change *change = &changes.items[i];
		struct ews_tree_difference one = { .path = change->path };

		take_entry(&one.old_mode, &one.old_oid, change->from);
		take_entry(&one.new_mode, &one.new_oid, change->to);
		if (one.old_mode == one.new_mode && ews_oid_equal(&one.old_oid, &one.new_oid))
			continue;
		one.path = ews_arena_dup(&out->arena, one.path, strlen(one.path));
		EWS_GROW(out->items, out->n, out->cap);
		out->items[out->n++] = one;
	}
	/* In a list what lies in a directory comes right behind it, in git's order "a.b" comes before "a/b". */
	if (out->n > first)
		qsort(out->items + first, out->n - first, sizeof(*out->items), cmp_difference);
}

/* A tree that is being joined from two. */
struct joining {
	struct source source;
	struct ews_batch *batch;
};

static int join_level(struct ews_oid *out, bool *is_empty, struct joining *j, const struct ews_oid *before,
		      const struct ews_oid *after, const char *path);

/* Append what of the two stands at a name; `rest` is NULL unless the name is the directory that `path` leads into. */
static int join_items(struct ews_tree_item *items, size_t *n, struct joining *j, const struct ews_tree_item *one,
		      const struct ews_tree_item *before, const struct ews_tree_item *after, const char *rest)
{
	bool is_empty = false;
	int rc = 0;

	items[*n] = *one;
	if (rest)
		rc = join_level(&items[*n].oid, &is_empty, j, oid_of(before), oid_of(after), rest);
	*n += rc == 0 && !is_empty;
	return rc;
}

static int join_level(struct ews_oid *out, bool *is_empty, struct joining *j, const struct ews_oid *before,
		      const struct ews_oid *after, const char *path)
{
	EWS_CLEANUP(level) struct level level = LEVEL_INIT;
	EWS_CLEANUP(free) struct ews_tree_item *items = NULL;
	const char *slash = strchr(path, '/');
	EWS_CLEANUP(free) char *name = ews_strndup(path, slash ? (size_t)(slash - path) : strlen(path));
	const struct ews_tree_item border = { .mode = slash ? EWS_MODE_DIR : EWS_MODE_FILE, .name = name };
	const struct ews_tree_item *old, *new;
	size_t n = 0;
	int rc = read_level(&level, &j->source, before, after);

	items = ews_calloc(level.n_old + level.n_new + 1, sizeof(*items));
	while (rc == 0 && next_items(&old, &new, &level)) {
		int side = ews_tree_item_cmp(old ? old : new, &border);
		bool leads_on = side == 0 && slash;

		if (leads_on)
			rc = join_items(items, &n, j, old ? old : new, old, new, slash + 1);
		else if (side < 0 ? old != NULL : new != NULL)
			rc = join_items(items, &n, j, side < 0 ? old : new, old, new, NULL);
	}
	*is_empty = !n;
	return rc < 0 ? rc : ews_tree_write_flat(out, j->batch, items, n);
}

int ews_tree_join(struct ews_oid *out, struct ews_batch *batch, const struct ews_oid *before,
		  const struct ews_oid *after, const char *path)
{
	struct joining j = { { ews_batch_odb(batch), EWS_ARENA_INIT }, batch };
	bool is_empty;
	int rc = join_level(out, &is_empty, &j, before, after, path);

	ews_arena_release(&j.source.names);
	return rc;
}

void ews_tree_differences_release(struct ews_tree_differences *list)
{
	free(list->items);
	ews_arena_release(&list->arena);
	*list = (struct ews_tree_differences)EWS_TREE_DIFFERENCES_INIT;
}
