/*
 * Manifests in a store: one blob, or a tree of the pieces that a long one is cut into.
 *
 *     manifest            a blob: the text
 *     manifest/00000      blobs: its pieces, numbered in order from 0; together they are the text
 *     manifest/00001
 *
 * A snapshot after a few changes shares all pieces but a few with the one before.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_MANIFEST_ODB_H
#define EWS_STORE_MANIFEST_ODB_H

#include "store/manifest.h"
#include "store/odb.h"

#define EWS_MANIFEST_NAME "manifest"

/* The path that piece `i` of `n` has in the manifest commit's tree. The caller frees it. */
char *ews_manifest_piece_path(size_t i, size_t n);

/*
 * Append what the blob or tree `oid` says to both lists, as ews_manifest_parse() does. Fails with EWS_EDAMAGED, also when a
 * tree holds anything but pieces, or not all of them; with EWS_ENOTFOUND when the store lacks an object.
 */
int ews_manifest_read(struct ews_entries *entries, struct ews_skips *skips, struct ews_odb *odb,
		      const struct ews_oid *oid);

/* Fails as that where the store has not all of it, and with EWS_EIO where that can't be read just now. What is in it is not looked at. */
int ews_manifest_check(struct ews_odb *odb, const struct ews_oid *oid);

#endif
