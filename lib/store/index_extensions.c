/*
 * Index extensions: see index_extensions.h.
 *
 *     TREE  node*   of a directory: its name, NUL, "<entries below> <directories in it>" and a newline, the id of its tree, then
 *                   those directories; the root comes first and has no name. Of what has changed since, the number of entries
 *                   is negative, and there is no id.
 *     REUC  record* of a path: it, NUL, three octal modes, each with a NUL, then an id for each mode that is not 0
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/index_extensions.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/tree.h"

#define STAGES 3

/* Each level has a name, and a path has no more bytes than that. */
#define DEPTH_MAX (EWS_TREE_PATH_MAX / 2)

/* How many entries of an index, and how many directories of its own, a directory has. */
struct level {
	size_t files, dirs;
};

/*
 * Append what the extension says of the directory called `name`, whose content is in `tree` from `*at` on, with paths that
 * begin with the first `prefix_len` bytes of `prefix`: its name, the number of entries below it, that of directories in it,
 * its id, then those directories. False where it is empty, as no index's directory is.
 */
static bool add_tree(struct ews_buf *out, struct level *level, const char *name, const struct ews_oid *oid,
		     const struct ews_entries *tree, size_t *at, const char *prefix, size_t prefix_len)
{
	EWS_CLEANUP(buf) struct ews_buf below = EWS_BUF_INIT;
	struct level own = { 0, 0 };

	while (*at < tree->n && !strncmp(tree->items[*at].path, prefix, prefix_len)) {
		const struct ews_entry *entry = &tree->items[(*at)++];
		EWS_CLEANUP(free) char *path = NULL;

		if (entry->type != EWS_ENTRY_DIR) {
			own.files++;
			continue;
		}
		own.dirs++;
		path = ews_strfmt("%s/", entry->path);
		if (!add_tree(&below, &own, entry->path + prefix_len, &entry->oid, tree, at, path, strlen(path)))
			return false;
	}
	ews_buf_addz(out, name);
	ews_buf_addf(out, "%zu %zu\n", own.files, own.dirs);
	ews_buf_add(out, oid->id, oid->len);
	ews_buf_add(out, below.ptr, below.len);
	level->files += own.files;
	return own.files;
}

void ews_index_set_trees(struct ews_index *index, const struct ews_oid *root, const struct ews_entries *tree)
{
	struct level all = { 0, 0 };
	size_t at = 0;

	ews_buf_truncate(&index->trees, 0);
	if (!add_tree(&index->trees, &all, "", root, tree, &at, "", 0))
		ews_buf_truncate(&index->trees, 0);
}

bool ews_index_makes_tree(const struct ews_index *index, const struct ews_oid *root)
{
	/* A name, which the root has none of, and two numbers; then its id. */
	const char *end = index->trees.ptr + index->trees.len;
	const char *line_end = index->trees.len ? memchr(index->trees.ptr, '\n', index->trees.len) : NULL;

	return line_end && (size_t)(end - line_end - 1) >= root->len && !memcmp(line_end + 1, root->id, root->len);
}

/* Bytes that are still to be read. */
struct input {
	const char *at, *end;
	size_t oid_len;
};

struct node {
	const char *name;
	size_t n_dirs; /* whose nodes follow */
	struct ews_oid oid; /* none: not known */
};

static bool read_oid(struct ews_oid *out, struct input *in)
{
	if ((size_t)(in->end - in->at) < in->oid_len)
		return false;
	*out = (struct ews_oid){ .len = (uint8_t)in->oid_len };
	memcpy(out->id, in->at, in->oid_len);
	in->at += in->oid_len;
	return true;
}

static bool read_node(struct node *out, struct input *in)
{
	const char *nul = memchr(in->at, '\0', (size_t)(in->end - in->at));
	const char *line_end = nul ? memchr(nul, '\n', (size_t)(in->end - nul)) : NULL;
	char *rest;
	long n_entries;

	if (!line_end)
		return false;
	*out = (struct node){ .name = in->at };
	n_entries = strtol(nul + 1, &rest, 10);
	if (*rest != ' ')
		return false;
	out->n_dirs = strtoul(rest + 1, &rest, 10);
	in->at = line_end + 1;
	if (rest != line_end || out->n_dirs > (size_t)(in->end - in->at))
		return false;
	return n_entries < 0 || read_oid(&out->oid, in);
}

/* Step over `n` nodes with all that is below them. */
static bool step_over(struct input *in, size_t n)
{
	struct node node;

	for (; n; n--) {
		if (!read_node(&node, in))
			return false;
		n += node.n_dirs;
	}
	return true;
}

/* One tree, by name. */
struct tree_level {
	struct ews_tree_item *items;
	size_t n;
	struct ews_arena names;
};

#define TREE_LEVEL_INIT { NULL, 0, EWS_ARENA_INIT }

static void release_tree_level(struct tree_level *level)
{
	free(level->items);
	ews_arena_release(&level->names);
}

EWS_CLEANUP_DEFINE(tree_level, struct tree_level, release_tree_level)

static int cmp_name(const void *a, const void *b)
{
	return strcmp(((const struct ews_tree_item *)a)->name, ((const struct ews_tree_item *)b)->name);
}

static struct ews_tree_item *find_item(const struct tree_level *level, const char *name)
{
	const struct ews_tree_item key = { .name = name };

	return level->n ? bsearch(&key, level->items, level->n, sizeof(key), cmp_name) : NULL;
}

/* The directory among them that is called `name`, or NULL. */
static const struct ews_oid *find_dir(const struct tree_level *level, const char *name)
{
	const struct ews_tree_item *item = find_item(level, name);

	return item && ews_tree_item_is_dir(item) ? &item->oid : NULL;
}

struct tree_walk {
	struct ews_oids *out;
	struct ews_odb *odb;
	struct input in;
	struct ews_oidset seen, whole; /* trees that were looked at, and those of them that are all there */
	bool is_lacking; /* one was not */
	int rc; /* below zero: whether something is there can't be found out, and the walk ends */
};

/* `oid` NULL: there is none. */
static bool read_tree_level(struct tree_level *out, struct tree_walk *walk, const struct ews_oid *oid)
{
	int rc = oid ? ews_tree_read_flat(&out->items, &out->n, walk->odb, oid, &out->names) : 0;

	if (rc < 0 && !ews_odb_has_lost(rc))
		walk->rc = rc;
	else
		ews_error_clear();
	if (out->n)
		qsort(out->items, out->n, sizeof(*out->items), cmp_name);
	return rc == 0;
}

static bool is_blob(struct tree_walk *walk, const struct ews_oid *oid)
{
	int is = ews_odb_is(walk->odb, oid, EWS_OBJECT_BLOB);

	if (is < 0)
		walk->rc = is;
	return is > 0;
}

/* Is all there that the tree `oid` names, but for what `like` (NULL: none) has as well? */
static bool is_whole(struct tree_walk *walk, const struct ews_oid *oid, const struct ews_oid *like, unsigned depth)
{
	EWS_CLEANUP(tree_level) struct tree_level level = TREE_LEVEL_INIT;
	EWS_CLEANUP(tree_level) struct tree_level known = TREE_LEVEL_INIT;

	if (!ews_oidset_add(&walk->seen, oid))
		return ews_oidset_has(&walk->whole, oid);
	if (depth == DEPTH_MAX || !read_tree_level(&level, walk, oid) || !read_tree_level(&known, walk, like))
		return false;
	/* The empty one can be read whether the store has it or not. */
	if (!level.n)
		ews_oids_add(walk->out, oid);
	for (size_t i = 0; i < level.n; i++) {
		const struct ews_tree_item *item = &level.items[i];
		const struct ews_tree_item *other = find_item(&known, item->name);

		if (item->mode == EWS_MODE_GITLINK)
			continue; /* another repository's commit */
		if (other && other->mode == item->mode && ews_oid_equal(&other->oid, &item->oid))
			continue;
		if (ews_tree_item_is_dir(item) ? !is_whole(walk, &item->oid, find_dir(&known, item->name), depth + 1)
					       : !is_blob(walk, &item->oid))
			return false;
	}
	ews_oidset_add(&walk->whole, oid);
	return true;
}

/* Look at `node`, in whose place HEAD has the tree `head`, NULL: none. */
static bool walk_node(struct tree_walk *walk, const struct node *node, const struct ews_oid *head, unsigned depth)
{
	EWS_CLEANUP(tree_level) struct tree_level level = TREE_LEVEL_INIT;

	if (!ews_oid_is_none(&node->oid)) {
		if (head && ews_oid_equal(head, &node->oid))
			return step_over(&walk->in, node->n_dirs);
		if (is_whole(walk, &node->oid, head, 0))
			ews_oids_add(walk->out, &node->oid);
		else
			walk->is_lacking = true;
		return walk->rc == 0 && step_over(&walk->in, node->n_dirs);
	}
	if (depth == DEPTH_MAX || (node->n_dirs && !read_tree_level(&level, walk, head)))
		return false;
	for (size_t i = 0; i < node->n_dirs; i++) {
		struct ews_tree_item *item;
		struct node below;

		if (!read_node(&below, &walk->in))
			return false;
		item = find_item(&level, below.name);
		if (!walk_node(walk, &below, item && ews_tree_item_is_dir(item) ? &item->oid : NULL, depth + 1))
			return false;
		/* A name stands for one directory, however often it is said. */
		if (item)
			item->mode = 0;
	}
	return true;
}

int ews_index_list_trees(struct ews_oids *out, const struct ews_index *index, struct ews_odb *odb,
			 const struct ews_oid *head)
{
	struct tree_walk walk = { .out = out,
				  .odb = odb,
				  .in = { index->trees.ptr, index->trees.ptr + index->trees.len,
					  ews_hash_len(ews_odb_algo(odb)) } };
	struct node root;

	if (!index->trees.len)
		return 1;
	if (read_node(&root, &walk.in))
		(void)walk_node(&walk, &root, ews_oid_is_none(head) ? NULL : head, 0); /* what was found counts */
	ews_oidset_release(&walk.seen);
	ews_oidset_release(&walk.whole);
	return walk.rc < 0 ? walk.rc : !walk.is_lacking;
}

void ews_index_list_all_trees(struct ews_oids *out, const struct ews_index *index, enum ews_hash_algo algo)
{
	struct input in = { index->trees.ptr, index->trees.ptr + index->trees.len, ews_hash_len(algo) };
	struct node node;

	for (size_t left = 1; left && read_node(&node, &in); left--) {
		if (ews_oid_is_none(&node.oid)) {
			left += node.n_dirs;
			continue;
		}
		ews_oids_add(out, &node.oid);
		if (!step_over(&in, node.n_dirs))
			return;
	}
}

/* Read one octal mode and its NUL. */
static bool read_mode(unsigned long *out, struct input *in)
{
	const char *nul = memchr(in->at, '\0', (size_t)(in->end - in->at));
	char *rest;

	if (!nul)
		return false;
	*out = strtoul(in->at, &rest, 8);
	in->at = nul + 1;
	return rest == nul;
}

static bool read_resolved(struct ews_oids *out, struct input *in)
{
	const char *path_end = memchr(in->at, '\0', (size_t)(in->end - in->at));
	unsigned long modes[STAGES];

	if (!path_end)
		return false;
	in->at = path_end + 1;
	for (unsigned i = 0; i < STAGES; i++)
		if (!read_mode(&modes[i], in))
			return false;
	for (unsigned i = 0; i < STAGES; i++) {
		struct ews_oid oid;

		if (!modes[i])
			continue;
		if (!read_oid(&oid, in))
			return false;
		ews_oids_add(out, &oid);
	}
	return true;
}

void ews_index_list_resolved(struct ews_oids *out, const struct ews_index *index, enum ews_hash_algo algo)
{
	struct input in = { index->resolve_undo.ptr, index->resolve_undo.ptr + index->resolve_undo.len,
			    ews_hash_len(algo) };

	while (in.at < in.end && read_resolved(out, &in))
		;
}
