/*
 * Manifests in a store: see manifest_odb.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/manifest_odb.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/path.h"
#include "base/pool.h"
#include "store/tree.h"

#define PIECES_CHUNK 4 /* that one thread reads in a row */

/* The pieces as a tree names them, and what they say. */
struct reading {
	struct ews_odb *odb;
	struct ews_arena names;
	struct ews_tree_item *items;
	size_t n;
	struct ews_buf *texts;
};

static void release_reading(struct reading *reading)
{
	for (size_t i = 0; i < reading->n && reading->texts; i++)
		ews_buf_release(&reading->texts[i]);
	free(reading->texts);
	free(reading->items);
	ews_arena_release(&reading->names);
}

EWS_CLEANUP_DEFINE(reading, struct reading, release_reading)

static char *piece_name(size_t i)
{
	return ews_strfmt("%05zu", i);
}

char *ews_manifest_piece_path(size_t i, size_t n)
{
	EWS_CLEANUP(free) char *name = piece_name(i);

	return n == 1 ? ews_strdup(EWS_MANIFEST_NAME) : ews_path_join(EWS_MANIFEST_NAME, name);
}

/* List the pieces that the tree `oid` holds. */
static int list_pieces(struct reading *reading, const struct ews_oid *oid)
{
	int rc = ews_tree_read_flat(&reading->items, &reading->n, reading->odb, oid, &reading->names);

	for (size_t i = 0; i < reading->n && rc == 0; i++) {
		EWS_CLEANUP(free) char *name = piece_name(i);

		if (ews_tree_item_is_dir(&reading->items[i]) || strcmp(reading->items[i].name, name) != 0)
			rc = ews_error(EWS_EDAMAGED, "where the manifest's piece %s should be there is '%s'", name,
				       reading->items[i].name);
	}
	return rc;
}

static int read_piece(size_t i, unsigned worker, void *payload)
{
	struct reading *reading = payload;
	enum ews_object_type type;
	int rc = ews_odb_read(&reading->texts[i], &type, reading->odb, &reading->items[i].oid);

	(void)worker;
	if (rc == 0 && type != EWS_OBJECT_BLOB)
		rc = ews_error(EWS_EDAMAGED, "the manifest's piece %s is no blob", reading->items[i].name);
	return rc;
}

static int read_pieces(struct ews_buf *out, struct ews_odb *odb, const struct ews_oid *oid)
{
	EWS_CLEANUP(reading) struct reading reading = { .odb = odb, .names = EWS_ARENA_INIT };
	size_t len = 0;
	int rc = list_pieces(&reading, oid);

	if (rc < 0)
		return rc;
	reading.texts = ews_calloc(reading.n + 1, sizeof(*reading.texts));
	for (size_t i = 0; i < reading.n; i++)
		reading.texts[i] = (struct ews_buf)EWS_BUF_INIT;
	rc = ews_pool_for(reading.n, PIECES_CHUNK, 0, read_piece, &reading);
	for (size_t i = 0; i < reading.n; i++)
		len += reading.texts[i].len;
	ews_buf_reserve(out, len);
	for (size_t i = 0; i < reading.n && rc == 0; i++) {
		ews_buf_add(out, reading.texts[i].ptr, reading.texts[i].len);
		ews_buf_release(&reading.texts[i]);
	}
	return rc;
}

int ews_manifest_read(struct ews_entries *entries, struct ews_skips *skips, struct ews_odb *odb,
		      const struct ews_oid *oid)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	enum ews_object_type type;
	int rc = ews_odb_read(&text, &type, odb, oid);

	if (rc == 0 && type == EWS_OBJECT_TREE) {
		ews_buf_truncate(&text, 0);
		rc = read_pieces(&text, odb, oid);
	}
	return rc < 0 ? rc : ews_manifest_parse(entries, skips, text.ptr, text.len);
}

int ews_manifest_check(struct ews_odb *odb, const struct ews_oid *oid)
{
	EWS_CLEANUP(reading) struct reading reading = { .odb = odb, .names = EWS_ARENA_INIT };
	enum ews_object_type type;
	int rc = ews_odb_read_header(&type, NULL, odb, oid);

	if (rc == 0 && type == EWS_OBJECT_TREE)
		rc = list_pieces(&reading, oid);
	for (size_t i = 0; i < reading.n && rc == 0; i++)
		rc = ews_odb_has(odb, &reading.items[i].oid)
			     ? 0
			     : ews_odb_read_header(&type, NULL, odb, &reading.items[i].oid);
	return rc;
}
