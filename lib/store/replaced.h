/*
 * Replaced: objects in whose place git sees others (git-replace(1)). The ref refs/replace/<id> leads to what stands for <id>.
 *
 * The store gives each object as it is, for what was kept is what it is. Whoever makes of a commit what git would check out
 * asks here first.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_REPLACED_H
#define EWS_STORE_REPLACED_H

#include "store/entry.h"
#include "store/odb.h"

/* The ids that are replaced, sorted; what can't be listed git doesn't follow either. */
void ews_replaced_list(struct ews_oids *out, struct ews_odb *odb);

/*
 * The commit that git sees where `commit` is named: mostly itself. Fails with EWS_EDAMAGED where one leads to the next too often,
 * which git refuses as well.
 */
int ews_replaced_commit(struct ews_oid *out, struct ews_odb *odb, const struct ews_oid *commit);

/*
 * Fail with EWS_EUNSUPPORTED when git sees something else in the place of a commit's `tree`, or of one of its `entries`, listed with
 * ids (ews_tree_list_with_ids): the ids of that would not be those of its contents.
 */
int ews_replaced_refuse(struct ews_odb *odb, const struct ews_oid *tree, const struct ews_entries *entries);

#endif
