/*
 * Index extensions: what git's index says besides its entries.
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

#endif
