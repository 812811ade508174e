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
 * A long one can be had in pieces, which are the text when they stand one behind the other. Where it is cut its paths
 * tell, so that most pieces are the same before and after a change (store/manifest_odb keeps each once): a piece begins
 * at a line whose path, mixed to a number, has eight low bits of zero, unless the one before has less than
 * 8 KiB, and where the one before would have more than 96 KiB. What has no more than 128 KiB is one piece.
 *
 * Version 1, which is read as well, has neither names nor owners. A list that doesn't know names is written in it.
 * Version 3 is that of several pieces in which files have several names. It has no numbers, which one file more or less
 * would change all through: each name but the first has, behind the + if any, an @ and the first, its blanks escaped.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_MANIFEST_H
#define EWS_STORE_MANIFEST_H

#include "store/entry.h"
#include "store/skip.h"

#define EWS_TREE_HASH_LEN (7 + 64 + 1) /* "sha256:" and hex */

void ews_manifest_format(struct ews_buf *out, const struct ews_entries *entries, const struct ews_skips *skips);

/* How a manifest is cut. Its `n` pieces, of which there is always one, may be formatted in any order and on any thread. */
struct ews_manifest_pieces {
	size_t n, cap;
	size_t *starts; /* of each its first line, counted through entries and skips */
	size_t n_lines;
	const struct ews_entries *entries; /* borrowed, as all that follows but the numbers */
	const struct ews_skips *skips;
	const struct ews_entry *usual; /* whose most of it is */
	uint32_t *numbers; /* of each entry that of its file; NULL: all have one name */
	bool names_by_path; /* version 3 */
};

#define EWS_MANIFEST_PIECES_INIT { 0, 0, NULL, 0, NULL, NULL, NULL, NULL, false }

void ews_manifest_cut(struct ews_manifest_pieces *out, const struct ews_entries *entries,
		      const struct ews_skips *skips);
/* Append the text of piece `i`. */
void ews_manifest_format_piece(struct ews_buf *out, const struct ews_manifest_pieces *pieces, size_t i);
void ews_manifest_pieces_release(struct ews_manifest_pieces *pieces);

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

EWS_CLEANUP_DEFINE(manifest_pieces, struct ews_manifest_pieces, ews_manifest_pieces_release)

#endif
