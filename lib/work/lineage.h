/*
 * Lineage: which snapshot was made from which, as a tree of those that are there.
 *
 * A snapshot names its parent, and that alone. Where the parent was dropped, its children stand below the next
 * ancestor that is there; when a dropped one goes for good, the file `lineage` of the project remembers
 * whose child it was.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_LINEAGE_H
#define EWS_WORK_LINEAGE_H

#include "work/snapshot.h"

struct ews_descent {
	size_t snapshot; /* index into the list */
	ssize_t parent; /* index of the next ancestor in the list; -1: none */
	ssize_t changes; /* how many paths differ from that one; -1: not known */
	size_t *children; /* indexes, oldest first */
	size_t n_children, cap_children;
};

/* One for each of the snapshots, in their order. */
struct ews_lineage {
	struct ews_descent *items;
	size_t n;
};

#define EWS_LINEAGE_INIT { NULL, 0 }

/* Find out how the snapshots of `list`, oldest first, descend from one another. One that can't be read is not known. */
int ews_lineage_find(struct ews_lineage *out, struct ews_repo *repo, const struct ews_snapshots *list);

/* Count the changes of each against its parent. */
int ews_lineage_count(struct ews_lineage *lineage, struct ews_repo *repo, const struct ews_snapshots *list);

/* Remember whose children the `n` snapshots were, which are about to go for good. */
int ews_lineage_remember(struct ews_repo *repo, const struct ews_snapshot *const *snapshots, size_t n);

void ews_lineage_release(struct ews_lineage *lineage);
EWS_CLEANUP_DEFINE(lineage, struct ews_lineage, ews_lineage_release)

#endif
