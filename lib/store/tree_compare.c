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

/* What git can check out; it also bounds how deep we descend into a tree made to hurt. */
#define PATH_BYTES_MAX 4096

struct comparing {
	struct ews_tree_differences *out;
	struct ews_odb *odb;
	struct ews_buf path; /* of the level under way, with its slash */
	struct ews_arena names;
};

/* Read the tree `oid`, NULL: there is none. The caller frees `*items`. */
static int read_level(struct ews_tree_item **items, size_t *n, struct comparing *c, const struct ews_oid *oid)
{
	char hex[EWS_OID_HEX_MAX];
	int rc = oid ? ews_tree_read_flat(items, n, c->odb, oid, &c->names) : 0;

	/* Side by side with another only what is sorted can be read. */
	for (size_t i = 1; i < *n && rc == 0; i++)
		if (ews_tree_item_cmp(&(*items)[i - 1], &(*items)[i]) >= 0)
			rc = ews_error(EWS_EDAMAGED, "tree %s is not sorted", ews_oid_hex(hex, oid));
	return rc;
}

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
	if (c->path.len > PATH_BYTES_MAX) {
		rc = ews_error(EWS_EUNSUPPORTED, "a tree holds a path of more than %d bytes", PATH_BYTES_MAX);
	} else if (ews_tree_item_is_dir(one)) {
		ews_buf_addc(&c->path, '/');
		rc = compare_level(c, old ? &old->oid : NULL, new ? &new->oid : NULL);
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
	EWS_CLEANUP(free) struct ews_tree_item *old = NULL;
	EWS_CLEANUP(free) struct ews_tree_item *new = NULL;
	size_t n_old = 0, n_new = 0, i = 0, k = 0;
	int rc;

	rc = read_level(&old, &n_old, c, from);
	if (rc == 0)
		rc = read_level(&new, &n_new, c, to);
	while (rc == 0 && (i < n_old || k < n_new)) {
		int order = i == n_old ? 1 : k == n_new ? -1 : ews_tree_item_cmp(&old[i], &new[k]);
		const struct ews_tree_item *was = order <= 0 ? &old[i++] : NULL;
		const struct ews_tree_item *is = order >= 0 ? &new[k++] : NULL;

		rc = compare_items(c, was, is);
	}
	return rc;
}

int ews_tree_compare(struct ews_tree_differences *out, struct ews_odb *odb, const struct ews_oid *from,
		     const struct ews_oid *to)
{
	struct comparing c = { out, odb, EWS_BUF_INIT, EWS_ARENA_INIT };
	int rc = ews_oid_equal(from, to) ? 0 : compare_level(&c, from, to);

	ews_buf_release(&c.path);
	ews_arena_release(&c.names);
	return rc;
}

/* A tree that is being joined from two. */
struct joining {
	struct comparing levels; /* nothing of it but store and names */
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
		rc = join_level(&items[*n].oid, &is_empty, j, before ? &before->oid : NULL,
				after ? &after->oid : NULL, rest);
	*n += rc == 0 && !is_empty;
	return rc;
}

static int join_level(struct ews_oid *out, bool *is_empty, struct joining *j, const struct ews_oid *before,
		      const struct ews_oid *after, const char *path)
{
	EWS_CLEANUP(free) struct ews_tree_item *olds = NULL;
	EWS_CLEANUP(free) struct ews_tree_item *news = NULL;
	EWS_CLEANUP(free) struct ews_tree_item *items = NULL;
	const char *slash = strchr(path, '/');
	EWS_CLEANUP(free) char *name = ews_strndup(path, slash ? (size_t)(slash - path) : strlen(path));
	const struct ews_tree_item border = { .mode = slash ? 0040000 : 0100644, .name = name };
	size_t n_old = 0, n_new = 0, n = 0, i = 0, k = 0;
	int rc;

	rc = read_level(&olds, &n_old, &j->levels, before);
	if (rc == 0)
		rc = read_level(&news, &n_new, &j->levels, after);
	items = ews_calloc(n_old + n_new + 1, sizeof(*items));
	while (rc == 0 && (i < n_old || k < n_new)) {
		int order = i == n_old ? 1 : k == n_new ? -1 : ews_tree_item_cmp(&olds[i], &news[k]);
		const struct ews_tree_item *old = order <= 0 ? &olds[i++] : NULL;
		const struct ews_tree_item *new = order >= 0 ? &news[k++] : NULL;
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
	struct joining j = { { NULL, ews_batch_odb(batch), EWS_BUF_INIT, EWS_ARENA_INIT }, batch };
	bool is_empty;
	int rc = join_level(out, &is_empty, &j, before, after, path);

	ews_arena_release(&j.levels.names);
	return rc;
}

void ews_tree_differences_release(struct ews_tree_differences *list)
{
	free(list->items);
	ews_arena_release(&list->arena);
	*list = (struct ews_tree_differences)EWS_TREE_DIFFERENCES_INIT;
}
