/*
 * Trees: sorted entries to git tree objects, and back.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_TREE_H
#define EWS_STORE_TREE_H

#include "store/batch.h"
#include "store/entry.h"

/* The longest path that is taken from trees: what git can check out. It also bounds how deep we descend into one made to hurt. */
#define EWS_TREE_PATH_MAX 4096

/*
 * Write the trees of `list` (sorted; ids known) into `batch` and give the root's
 * id. Left out is what ews_entry_fits_tree() refuses, gitlinks without an id,
 * sockets and devices. Directories that become empty are left out, the root may be empty.
 */
int ews_tree_write(struct ews_oid *out, struct ews_batch *batch, const struct ews_entries *list);

/*
 * The same, quicker, where another list has a tree already: `was`, whose tree `was_tree` the store has whole. Only
 * the directories in which something differs are written.
 */
int ews_tree_write_like(struct ews_oid *out, struct ews_batch *batch, const struct ews_entries *list,
			const struct ews_entries *was, const struct ews_oid *was_tree);
/* The same where it is known in what the other list differs: `changes` from it, all that ews_entry_equal_in_git() tells. */
int ews_tree_write_changed(struct ews_oid *out, struct ews_batch *batch, const struct ews_entries *list,
			   const struct ews_changes *changes, const struct ews_oid *was_tree);

/*
 * Append all entries below tree `oid` to `out`, sorted, directories included,
 * with modes 0644, 0755, 0755 for directories, 0777 for links. Sizes are 0 and times
 * unknown. Fails with EWS_EDAMAGED when a name could lead outside ("..", "/", ".git").
 */
int ews_tree_list(struct ews_entries *out, struct ews_odb *odb, const struct ews_oid *oid);
/* The same, and directories have the ids of their trees, which no other list's have. */
int ews_tree_list_with_ids(struct ews_entries *out, struct ews_odb *odb, const struct ews_oid *oid);

/*
 * Give to each of `n` paths, sorted by their bytes, the id of what the tree `root` has there: a file or a link, and none
 * where it has neither; of one that ends in a slash a directory's. Only the trees on the way to them are read.
 */
int ews_tree_find(struct ews_oid *out, struct ews_odb *odb, const struct ews_oid *root, const char *const *paths,
		  size_t n);

/* Format one tree object from (mode, name, oid) triples given in git's order. */
struct ews_tree_item {
	uint32_t mode;
	const char *name;
	struct ews_oid oid;
};

/* The order of git's trees: a directory's name stands as if it ended in '/'. 0: one name, of two directories or of none. */
int ews_tree_item_cmp(const struct ews_tree_item *a, const struct ews_tree_item *b);
bool ews_tree_item_is_dir(const struct ews_tree_item *item);
/* The one of `n` items, sorted so, that has the name of `wanted` and is a directory where that is one; NULL: there is none. */
const struct ews_tree_item *ews_tree_item_find(const struct ews_tree_item *items, size_t n,
					       const struct ews_tree_item *wanted);

/* Write a flat tree of `n` items (sorted here) into `batch`. */
int ews_tree_write_flat(struct ews_oid *out, struct ews_batch *batch, struct ews_tree_item *items, size_t n);
/* Read one level: the caller frees the array; names live in `arena`. */
int ews_tree_read_flat(struct ews_tree_item **out, size_t *n, struct ews_odb *odb, const struct ews_oid *oid,
		       struct ews_arena *arena);

#endif
