/*
 * Earlier: what a snapshot takes of the one that its entries were kept as before.
 *
 * The stat cache remembers which one that is (work/kept), and a look at the directory which entries were touched since. Of its
 * tree and its manifest all is taken but what they stand in. Where git's state is the same as well its pins are taken too, and
 * where nothing was touched the manifest commit itself.
 *
 * That counts as long as a ref holds it, which is looked at when it is found, and again when the new one has a ref of its own.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_SNAPSHOT_EARLIER_H
#define EWS_WORK_SNAPSHOT_EARLIER_H

#include "store/batch.h"
#include "store/manifest.h"
#include "work/head.h"
#include "work/kept.h"
#include "work/snapshot.h"
#include "work/snapshot_pins.h"

struct ews_earlier {
	struct ews_odb *odb;
	const struct ews_content *content;
	bool is_known; /* which one it is, or was, is remembered with the content, from which it is borrowed: */
	struct ews_kept kept;
	bool is_there; /* it is held, and the entries are its own but for those that were touched since: */
	struct ews_oid tree, manifest;
	bool has_skips; /* it left out the same */
	bool has_manifest; /* the manifest commit is what would be written */
	bool has_pins; /* what that has besides the manifest is */
	struct ews_pinned pinned; /* the manifest commit; of the manifest itself: */
	struct ews_tree_item *pieces;
	size_t n_pieces;
};

#define EWS_EARLIER_INIT { .pinned = EWS_PINNED_INIT }

/*
 * Find the one that `content` was kept as when it was found last, and see that it is held. `out` borrows `content`, and goes
 * with ews_earlier_release(). What can't be read is not there; no error is left behind.
 */
void ews_earlier_find(struct ews_earlier *out, struct ews_odb *odb, const struct ews_content *content,
		      const struct ews_snapshot_opts *opts);

/* See what besides the tree can be taken: the digests of the new one are in `now`. What can't be read is not taken. */
void ews_earlier_compare(struct ews_earlier *earlier, const struct ews_kept *now, struct ews_head_tree *head_tree);

/* Write the tree of one that is there, with what was touched in it. */
int ews_earlier_write_tree(struct ews_oid *out, const struct ews_earlier *earlier, struct ews_batch *batch);

/* Give each of `pieces` that can be taken its id in `oids`. */
void ews_earlier_take_pieces(struct ews_oid *oids, const struct ews_earlier *earlier,
			     const struct ews_manifest_pieces *pieces);

/* Add the pins, if it has them. */
void ews_earlier_take_pins(struct ews_entries *pins, const struct ews_earlier *earlier);

/* The entries that git's index relies on (ews_named), where it has the pins. The caller frees them. */
uint8_t *ews_earlier_take_named(const struct ews_earlier *earlier);

/* Was something taken of it, or does `content` rely on it? */
bool ews_earlier_is_shared(const struct ews_earlier *earlier);

void ews_earlier_release(struct ews_earlier *earlier);

#endif
