/*
 * Index extensions: see index_extensions.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/index_extensions.h"

#include <string.h>

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
	ews_buf_add(out, name, strlen(name) + 1);
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
