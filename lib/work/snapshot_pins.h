/*
 * Pins: what a snapshot's manifest commit holds besides the manifest.
 *
 * A raw index pins nothing, and no git tree can hold each path. Whatever git's state and the entries need, and neither the
 * snapshot's tree nor HEAD's commit has, is filed there under a path of its own, and outlives a gc with it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_SNAPSHOT_PINS_H
#define EWS_WORK_SNAPSHOT_PINS_H

#include "store/batch.h"
#include "store/tree.h"
#include "work/content.h"

/* File the object `oid` under `path`. */
void ews_pins_add(struct ews_entries *pins, const char *path, uint8_t type, const struct ews_oid *oid);

/*
 * What stands in "root-mode" before the attributes of the directory itself, after the line with its mode and owner. Earlier versions
 * read that line alone; where they wrote it the attributes are not known.
 */
#define EWS_PINNED_ROOT_XATTRS "attributes\n"

/* Write git's state and what is to know of the directory itself into `batch`, and file it: index, index-time, state/.., root-mode. */
int ews_pins_add_state(struct ews_entries *pins, struct ews_batch *batch, const struct ews_content *content);

/*
 * File contents that no tree can hold, and all that the index names and neither the entries nor `head_tree`, the tree of HEAD's
 * commit (none: there is none), have; of these the empty tree alone may have to be written into `batch`. `named` gets, for the caller to free, the entries that the index relies on
 * (ews_named, work/kept); it stays NULL when the index is none, or names what is not there and may come yet: the next snapshot looks
 * again. Fails where it can't be found out now whether something is there.
 */
int ews_pins_add_contents(struct ews_entries *pins, uint8_t **named, struct ews_repo *repo, struct ews_batch *batch,
			  const struct ews_content *content, const struct ews_oid *head_tree);

/* What a manifest commit holds, the manifest among it. */
struct ews_pinned {
	struct ews_commit commit;
	struct ews_tree_item *items; /* of its tree, in git's order */
	size_t n;
	struct ews_arena names; /* theirs */
};

#define EWS_PINNED_INIT { .commit = EWS_COMMIT_INIT, .names = EWS_ARENA_INIT }

int ews_pinned_read(struct ews_pinned *out, struct ews_odb *odb, const struct ews_oid *manifest);
void ews_pinned_release(struct ews_pinned *pinned);
EWS_CLEANUP_DEFINE(pinned, struct ews_pinned, ews_pinned_release)

#endif
