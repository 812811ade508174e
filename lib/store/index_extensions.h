/*
 * Index extensions: what git's index says besides its entries.
 *
 * TREE says which trees the entries make, and REUC what the stages of resolved conflicts were. `git gc` fails where one of
 * these objects is gone.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_INDEX_EXTENSIONS_H
#define EWS_STORE_INDEX_EXTENSIONS_H

#include "store/index.h"

/*
 * Say which trees the entries make, so that git need not read those of HEAD to compare: all of them, and nothing else,
 * come from the tree `root`, listed in `tree` with its directories' ids (ews_tree_list_with_ids).
 */
void ews_index_set_trees(struct ews_index *index, const struct ews_oid *root, const struct ews_entries *tree);

/* Does it say that all of its entries make the tree `root`? */
bool ews_index_makes_tree(const struct ews_index *index, const struct ews_oid *root);

/*
 * Append to `out` the trees that the entries make by what it says, and that the tree `head` (none: an empty one) does not have
 * under their path; the topmost alone, and only those that the store has whole. The empty tree, which each store has to those who
 * read it, is listed wherever they need it, so that it can be written; one may be listed twice. What it says may be anything:
 * where it makes no sense the list ends. Returns 1, or 0 when one of them is not there whole; below zero: that can't be found out now.
 */
int ews_index_list_trees(struct ews_oids *out, const struct ews_index *index, struct ews_odb *odb,
			 const struct ews_oid *head);

/* Append all of the topmost trees, whether HEAD has them or not, up to where it makes no sense. Nothing is said of whether they are there. */
void ews_index_list_all_trees(struct ews_oids *out, const struct ews_index *index, enum ews_hash_algo algo);

/* Append the ids of the stages of resolved conflicts, likewise. */
void ews_index_list_resolved(struct ews_oids *out, const struct ews_index *index, enum ews_hash_algo algo);

#endif
