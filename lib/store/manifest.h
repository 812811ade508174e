/*
 * Manifests: what a git tree can't hold, as text; and the one hash of a tree.
 *
 * A manifest is a text of lines, sorted by path:
 *
 *     ews-manifest 2
 *     owner 1000:1000
 *     file 0644 1700000000.000000000 1234 <oid> - 1 - src/a.c
 *     file 0644 1700000000.000000000 1234 <oid> - 1 - src/b.c
 *     link 0777 1700000000.000000000 3 <oid> - - - src/l
 *     directory 0755 1700000000.000000000 0 - user.x=6162 - 0:0 src/empty
 *     skip ignored 0 build
 *
 * type, mode, mtime (or -), size, id, attributes (joined by commas), names, owner, escaped path; the
 * path is last, so that it may hold blanks. Names of one file have one number, and a + when the file
 * has names elsewhere, too. Owner and group are in numbers: - stands for those of the line "owner", ? for unknown.
 *
 * Version 1, which is read as well, has neither names nor owners. A list that doesn't know names is written in it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_MANIFEST_H
#define EWS_STORE_MANIFEST_H

#include "store/scan.h"

#define EWS_TREE_HASH_LEN (7 + 64 + 1) /* "sha256:" and hex */

void ews_manifest_format(struct ews_buf *out, const struct ews_entries *entries, const struct ews_skips *skips);

/* Make `out` what a manifest says of `entry`, and nothing else; the strings are borrowed. */
void ews_manifest_record(struct ews_entry *out, const struct ews_entry *entry);

/* Append to both lists; either may be NULL. Fails with EWS_EDAMAGED. */
int ews_manifest_parse(struct ews_entries *entries, struct ews_skips *skips, const char *text, size_t len);

/*
 * The hash of a tree: SHA-256 over path, type, mode, id and attributes of every
 * entry in order, directories included. Within one object format it is equal
 * exactly when two trees are; times aren't part of it.
 */
void ews_manifest_hash(char out[EWS_TREE_HASH_LEN], const struct ews_entries *entries);

#endif
