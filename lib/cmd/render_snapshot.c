/*
 * Snapshots: see render_snapshot.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/render_snapshot.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/path.h"
#include "cmd/render_path.h"
#include "cmd/render_session.h"
#include "work/diff.h"

/* A plain revision has no id of ours: git's stands for it. */
static const char *name_of(char hex[EWS_OID_HEX_MAX], const struct ews_snapshot *snapshot)
{
	return snapshot->id && *snapshot->id ? snapshot->id : ews_oid_hex(hex, &snapshot->commit);
}

static bool is_in_trash(const struct ews_snapshot *snapshot)
{
	return snapshot->ref && !strncmp(snapshot->ref, EWS_REF_TRASH, strlen(EWS_REF_TRASH));
}

/* A commit of somebody else says nothing of how much it holds. */
static bool has_counts(const struct ews_snapshot *snapshot)
{
	return snapshot->hash && *snapshot->hash;
}

void ews_render_snapshot(cJSON *object, const struct ews_snapshot *snapshot)
{
	char hex[EWS_OID_HEX_MAX];

	ews_render_string(object, "snapshot_id", snapshot->id);
	ews_render_string(object, "id", snapshot->id);
	ews_render_string(object, "session_id", snapshot->session);
	ews_render_string(object, "method", ews_render_method(snapshot->method));
	ews_render_time(object, "created_at", snapshot->created_s);
	ews_render_time(object, "timestamp", snapshot->created_s);
	ews_render_string(object, "message", snapshot->subject);
	ews_render_string(object, "parent_id", snapshot->parent);
	ews_render_string(object, "base_commit", ews_oid_hex(hex, &snapshot->head));
	if (has_counts(snapshot)) {
		ews_json_add_int(object, "files_count", (int64_t)snapshot->files);
		ews_json_add_int(object, "total_size_bytes", (int64_t)snapshot->bytes);
	} else {
		(void)cJSON_AddNullToObject(object, "files_count");
		(void)cJSON_AddNullToObject(object, "total_size_bytes");
	}
	ews_render_string(object, "hash", snapshot->hash);
	ews_render_string(object, "commit", ews_oid_hex(hex, &snapshot->commit));
	ews_render_string(object, "tree", ews_oid_hex(hex, &snapshot->tree));
	(void)cJSON_AddBoolToObject(object, "in_trash", is_in_trash(snapshot));
}

static void add_line(struct ews_buf *out, const char *name, const char *text)
{
	if (text && *text)
		ews_buf_addf(out, "%-8s %s\n", name, text);
}

void ews_render_snapshot_text(struct ews_buf *out, const struct ews_snapshot *snapshot)
{
	EWS_CLEANUP(buf) struct ews_buf size = EWS_BUF_INIT;
	char hex[EWS_OID_HEX_MAX], stamp[EWS_STAMP_LEN];

	ews_clock_rfc3339(stamp, snapshot->created_s);
	ews_buf_addf(out, "snapshot %s%s\n", name_of(hex, snapshot), is_in_trash(snapshot) ? " (in trash)" : "");
	add_line(out, "Session:", snapshot->session);
	add_line(out, "Method:", snapshot->method);
	add_line(out, "Date:", stamp);
	add_line(out, "Parent:", snapshot->parent);
	add_line(out, "Head:", ews_oid_hex(hex, &snapshot->head));
	add_line(out, "Commit:", ews_oid_hex(hex, &snapshot->commit));
	add_line(out, "Tree:", ews_oid_hex(hex, &snapshot->tree));
	if (has_counts(snapshot)) {
		add_line(out, "Hash:", snapshot->hash);
		ews_render_size(&size, snapshot->bytes);
		ews_buf_addf(out, "%-8s %" PRIu64 " (%s)\n", "Files:", snapshot->files, size.ptr);
	}
	if (snapshot->subject && *snapshot->subject)
		ews_buf_addf(out, "\n    %s\n", snapshot->subject);
}

void ews_render_snapshot_lines(struct ews_buf *out, const struct ews_snapshots *list)
{
	char hex[EWS_OID_HEX_MAX], stamp[EWS_STAMP_LEN];
	size_t i;

	for (i = 0; i < list->n; i++) {
		const struct ews_snapshot *snapshot = &list->items[i];

		ews_clock_rfc3339(stamp, snapshot->created_s);
		ews_buf_addf(out, "%s  %s  %6" PRIu64 "  %s\n", name_of(hex, snapshot), stamp, snapshot->files,
			     snapshot->subject ? snapshot->subject : "");
	}
}

void ews_render_file_lines(struct ews_cmd_ctx *ctx, const struct ews_entries *entries)
{
	size_t i;

	for (i = 0; i < entries->n; i++) {
		const struct ews_entry *entry = &entries->items[i];

		ews_buf_addf(&ctx->out, "%04o\t%s\t%" PRIu64 "\t", entry->mode, ews_entry_type_name(entry->type),
			     entry->size);
		ews_cmd_add_path_line(ctx, entry->path);
	}
}

void ews_render_files(cJSON *object, const struct ews_entries *entries)
{
	cJSON *array = cJSON_AddArrayToObject(object, "files");
	size_t i;

	for (i = 0; i < entries->n; i++) {
		const struct ews_entry *entry = &entries->items[i];
		cJSON *item = cJSON_CreateObject();
		char text[EWS_OID_HEX_MAX];

		ews_json_add_path(item, "path", entry->path);
		(void)cJSON_AddStringToObject(item, "type", ews_entry_type_name(entry->type));
		(void)snprintf(text, sizeof(text), "%04o", entry->mode);
		(void)cJSON_AddStringToObject(item, "mode", text);
		ews_json_add_int(item, "size_bytes", (int64_t)entry->size);
		ews_render_string(item, "oid", ews_oid_hex(text, &entry->oid));
		cJSON_AddItemToArray(array, item);
	}
}

static bool has_hash(const struct ews_entry *entry)
{
	return entry->type == EWS_ENTRY_FILE || entry->type == EWS_ENTRY_LINK;
}

int ews_render_hash_lines(struct ews_cmd_ctx *ctx, const struct ews_entries *entries)
{
	size_t i;

	for (i = 0; i < entries->n; i++) {
		EWS_CLEANUP(free) char *hash = NULL;
		int rc;

		if (!has_hash(&entries->items[i]))
			continue;
		rc = ews_diff_file_hash(&hash, ctx->repo, &entries->items[i].oid);
		if (rc < 0)
			return rc;
		ews_buf_addf(&ctx->out, "%s\t", hash);
		ews_cmd_add_path_line(ctx, entries->items[i].path);
	}
	return 0;
}

/* The key under which a path that is not UTF-8 stands: its base64. */
static const char *base64_key(cJSON *scratch, const char *path)
{
	ews_json_add_path(scratch, "path", path);
	return cJSON_GetObjectItemCaseSensitive(scratch, "path_bytes")->valuestring;
}

int ews_render_hashes(cJSON *object, struct ews_repo *repo, const struct ews_entries *entries)
{
	cJSON *hashes = cJSON_AddObjectToObject(object, "file_hashes"), *odd = NULL;
	size_t i;

	for (i = 0; i < entries->n; i++) {
		EWS_CLEANUP(free) char *hash = NULL;
		EWS_CLEANUP(json) cJSON *scratch = cJSON_CreateObject();
		const char *path = entries->items[i].path;
		int rc;

		if (!has_hash(&entries->items[i]))
			continue;
		rc = ews_diff_file_hash(&hash, repo, &entries->items[i].oid);
		if (rc < 0)
			return rc;
		if (ews_json_is_utf8(path)) {
			(void)cJSON_AddStringToObject(hashes, path, hash);
			continue;
		}
		if (!odd)
			odd = cJSON_AddObjectToObject(object, "file_hashes_bytes");
		(void)cJSON_AddStringToObject(odd, base64_key(scratch, path), hash);
	}
	return 0;
}
