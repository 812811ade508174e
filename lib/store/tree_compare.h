/*
 * Trees compared: what differs between two tree objects, without reading what is equal, and a tree that is between the two.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_TREE_COMPARE_H
#define EWS_STORE_TREE_COMPARE_H

#include "base/alloc.h"
#include "store/batch.h"
#include "store/entry.h"

/* A path at which something other than a directory is, or was. */
struct ews_tree_difference {
	const char *path; /* owned by the list's arena */
	uint32_t old_mode, new_mode; /* as the trees have them; 0: absent */
	struct ews_oid old_oid, new_oid; /* none: absent */
};

struct ews_tree_differences {
	struct ews_tree_difference *items; /* in git's order, which is that of the paths' bytes */
	size_t n, cap;
	struct ews_arena arena;
};

#define EWS_TREE_DIFFERENCES_INIT { NULL, 0, 0, EWS_ARENA_INIT }

/*
 * Append to `out` what differs between the trees `from` and `to`, all levels. What is a file on one side and
 * a directory on the other goes and comes. Fails with EWS_EDAMAGED where a tree is not in git's order, with
 * EWS_EUNSUPPORTED on a path of more than 4,096 bytes; some may have been appended then.
 */
int ews_tree_compare(struct ews_tree_differences *out, struct ews_odb *odb, const struct ews_oid *from,
		     const struct ews_oid *to);

/* The same of two lists, which need no trees: what would differ between the trees that are made of them. */
void ews_tree_differences_between(struct ews_tree_differences *out, const struct ews_entries *from,
				  const struct ews_entries *to);

/*
 * Write into `batch` the tree that is `before` for all paths that stand before `path` in git's order, and `after`
 * from there on. `path` is that of a file. Fails as ews_tree_compare().
 */
int ews_tree_join(struct ews_oid *out, struct ews_batch *batch, const struct ews_oid *before,
		  const struct ews_oid *after, const char *path);

void ews_tree_differences_release(struct ews_tree_differences *list);

EWS_CLEANUP_DEFINE(tree_differences, struct ews_tree_differences, ews_tree_differences_release)

#endif
