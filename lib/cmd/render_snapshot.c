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

#include "base/alloc.h"
#include "base/clock.h"
#include "cmd/render_path.h"
#include "cmd/render_session.h"
#include "work/diff.h"

/* A plain revision has no id of ours: git's stands for it. */
static const char *name_of(char hex[EWS_OID_HEX_MAX], const struct ews_snapshot *snapshot)
{
	return snapshot->id && *snapshot->id ? snapshot->id : ews_oid_hex(hex, &snapshot->commit);
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
	(void)cJSON_AddBoolToObject(object, "head_damaged", snapshot->is_head_damaged);
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
	(void)cJSON_AddBoolToObject(object, "in_trash", ews_snapshot_is_in_trash(snapshot));
}

static void add_line(struct ews_buf *out, const char *name, const char *text)
{
	if (!text || !*text)
		return;
	ews_buf_addf(out, "%-8s ", name);
	ews_render_words(out, text);
	ews_buf_addc(out, '\n');
}

void ews_render_snapshot_text(struct ews_buf *out, const struct ews_snapshot *snapshot)
{
	EWS_CLEANUP(buf) struct ews_buf size = EWS_BUF_INIT;
	char hex[EWS_OID_HEX_MAX], stamp[EWS_STAMP_LEN];

	ews_clock_rfc3339(stamp, snapshot->created_s);
	ews_buf_adds(out, "snapshot ");
	ews_render_words(out, name_of(hex, snapshot));
	ews_buf_adds(out, ews_snapshot_is_in_trash(snapshot) ? " (in trash)\n" : "\n");
	add_line(out, "Session:", snapshot->session);
	add_line(out, "Method:", snapshot->method);
	add_line(out, "Date:", stamp);
	add_line(out, "Parent:", snapshot->parent);
	add_line(out, "Head:", snapshot->is_head_damaged ? "damaged" : ews_oid_hex(hex, &snapshot->head));
	add_line(out, "Commit:", ews_oid_hex(hex, &snapshot->commit));
	add_line(out, "Tree:", ews_oid_hex(hex, &snapshot->tree));
	if (has_counts(snapshot)) {
		add_line(out, "Hash:", snapshot->hash);
		ews_render_size(&size, snapshot->bytes);
		ews_buf_addf(out, "%-8s %" PRIu64 " (%s)\n", "Files:", snapshot->files, size.ptr);
	}
	if (snapshot->subject && *snapshot->subject) {
		ews_buf_adds(out, "\n    ");
		ews_render_words(out, snapshot->subject);
		ews_buf_adds(out, "\n");
	}
}

void ews_render_head_talk(const struct ews_cmd_ctx *ctx, const struct ews_snapshot *snapshot)
{
	if (snapshot->is_head_damaged)
		ews_cmd_warn(ctx, "HEAD is damaged: %s has what it says, and no commit", snapshot->id);
}

/* A line of the tree: what is drawn before it, in columns, and which snapshot it is. */
struct row {
	char *lines;
	size_t width;
	size_t at;
};

struct rows {
	struct row *items;
	size_t n, cap;
	size_t width; /* of the widest */
};

static void release_rows(struct rows *rows)
{
	size_t i;

	for (i = 0; i < rows->n; i++)
		free(rows->items[i].lines);
	free(rows->items);
}

EWS_CLEANUP_DEFINE(rows, struct rows, release_rows)

static void add_row(struct rows *rows, char *lines, size_t width, size_t at)
{
	EWS_GROW(rows->items, rows->n, rows->cap);
	rows->items[rows->n++] = (struct row){ lines, width, at };
	if (width > rows->width)
		rows->width = width;
}

/*
 * Draw what descends from `at`, to the right of `left`. The newest child goes on in the same column, so that a
 * series is as narrow as one; older ones branch off before it:
 *
 *     ┬ base
 *     ├─┬ first try
 *     │ └ and on
 *     ├ second try
 *     └ and on
 */
static void draw(struct rows *rows, const struct ews_lineage *lineage, size_t at, const char *left, size_t width,
		 bool is_branch)
{
	EWS_CLEANUP(free) char *beside = ews_strfmt("%s%s", left, is_branch ? "│ " : "");
	const struct ews_descent *item = &lineage->items[at];
	size_t own_width = width + (is_branch ? 2 : 0), i;

	add_row(rows, ews_strfmt("%s%s%s", left, is_branch ? "├─" : "", item->n_children ? "┬ " : "─ "),
		own_width + 2, at);
	while (item->n_children) {
		for (i = 0; i + 1 < item->n_children; i++)
			draw(rows, lineage, item->children[i], beside, own_width, true);
		at = item->children[i];
		item = &lineage->items[at];
		add_row(rows, ews_strfmt("%s%s", beside, item->n_children ? "├ " : "└ "), own_width + 2, at);
	}
}

static void add_changes(struct ews_buf *out, ssize_t changes)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	if (changes >= 0)
		ews_buf_addf(&text, "%zd change%s", changes, changes == 1 ? "" : "s");
	else
		ews_buf_addc(&text, '-');
	ews_buf_addf(out, "%-12s", text.ptr);
}

void ews_render_snapshot_tree(struct ews_buf *out, const struct ews_snapshots *list, const struct ews_lineage *lineage)
{
	EWS_CLEANUP(rows) struct rows rows = { NULL, 0, 0, 0 };
	int64_t now_s = ews_clock_now();
	char hex[EWS_OID_HEX_MAX], age[EWS_STAMP_LEN];
	size_t i;

	for (i = 0; i < lineage->n; i++)
		if (lineage->items[i].parent < 0)
			draw(&rows, lineage, i, "", 0, false);
	for (i = 0; i < rows.n; i++) {
		const struct row *row = &rows.items[i];
		const struct ews_snapshot *snapshot = &list->items[row->at];
		EWS_CLEANUP(buf) struct ews_buf name = EWS_BUF_INIT;
		EWS_CLEANUP(buf) struct ews_buf size = EWS_BUF_INIT;

		ews_render_words(&name, name_of(hex, snapshot));
		ews_clock_age(age, now_s - snapshot->created_s);
		ews_render_size(&size, snapshot->bytes);
		ews_buf_addf(out, "%s%*s%s  %-10s  %10s  ", row->lines, (int)(rows.width - row->width), "",
			     name.ptr, age, size.ptr);
		add_changes(out, lineage->items[row->at].changes);
		ews_buf_adds(out, "  ");
		ews_render_words(out, snapshot->subject ? snapshot->subject : "");
		ews_buf_adds(out, "\n");
	}
}

void ews_render_descent(cJSON *object, const struct ews_snapshots *list, const struct ews_descent *descent)
{
	const struct ews_snapshot *snapshot = &list->items[descent->snapshot];
	const char *parent = descent->parent < 0 ? "" : list->items[descent->parent].id;

	if (strcmp(parent, snapshot->parent) != 0) {
		cJSON_DeleteItemFromObjectCaseSensitive(object, "parent_id");
		ews_render_string(object, "parent_id", parent);
		ews_render_string(object, "recorded_parent_id", snapshot->parent);
	}
	ews_json_add_int(object, "age_ms", (ews_clock_now() - snapshot->created_s) * 1000);
	ews_json_add_int(object, "size_bytes", (int64_t)snapshot->bytes);
	if (descent->changes < 0)
		(void)cJSON_AddNullToObject(object, "changes");
	else
		ews_json_add_int(object, "changes", descent->changes);
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
		if (entry->first_name)
			ews_json_add_path(item, "hard_link_to", entry->first_name);
		if (entry->has_owner) {
			ews_json_add_int(item, "uid", entry->uid);
			ews_json_add_int(item, "gid", entry->gid);
		}
		cJSON_AddItemToArray(array, item);
	}
}

struct held {
	size_t files, links, directories, fifos, submodules, attributes, names, owners;
};

static struct held count_held(const struct ews_entries *entries)
{
	struct held held = { 0 };
	size_t i;

	for (i = 0; i < entries->n; i++) {
		const struct ews_entry *entry = &entries->items[i];

		held.files += entry->type == EWS_ENTRY_FILE;
		held.links += entry->type == EWS_ENTRY_LINK;
		held.directories += entry->type == EWS_ENTRY_DIR;
		held.fifos += entry->type == EWS_ENTRY_FIFO;
		held.submodules += entry->type == EWS_ENTRY_GITLINK;
		held.attributes += entry->xattrs != NULL;
		held.names += entry->first_name != NULL;
		held.owners += entry->has_owner;
	}
	return held;
}

static void add_names(cJSON *object, const char *key, const struct ews_gitstate_files *files)
{
	cJSON *array = cJSON_AddArrayToObject(object, key);

	for (size_t i = 0; i < files->n; i++)
		cJSON_AddItemToArray(array, ews_json_path(files->items[i].name));
}

void ews_render_held(cJSON *object, const struct ews_content *content)
{
	const struct held held = count_held(&content->scan.entries);
	cJSON *json = cJSON_AddObjectToObject(object, "held");

	ews_json_add_int(json, "files", (int64_t)held.files);
	ews_json_add_int(json, "links", (int64_t)held.links);
	ews_json_add_int(json, "directories", (int64_t)held.directories);
	ews_json_add_int(json, "fifos", (int64_t)held.fifos);
	ews_json_add_int(json, "submodules", (int64_t)held.submodules);
	ews_json_add_int(json, "with_attributes", (int64_t)held.attributes);
	ews_json_add_int(json, "hard_links", (int64_t)held.names);
	ews_json_add_int(json, "with_owner", (int64_t)held.owners);
	(void)cJSON_AddBoolToObject(json, "index", content->git.has_index);
	add_names(json, "git_state", &content->git.files);
	add_names(json, "git_state_left", &content->git.left);
}

static void add_held(struct ews_buf *out, size_t n, const char *one, const char *many)
{
	if (n)
		ews_buf_addf(out, "%s%zu %s", out->len ? ", " : "", n, n == 1 ? one : many);
}

void ews_render_held_talk(const struct ews_cmd_ctx *ctx, const struct ews_content *content)
{
	const struct held held = count_held(&content->scan.entries);
	const struct ews_skips *skips = &content->scan.skips;
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(strv) struct ews_strv said = EWS_STRV_INIT;
	size_t i;

	add_held(&text, held.files, "file", "files");
	add_held(&text, held.links, "link", "links");
	add_held(&text, held.directories, "directory", "directories");
	add_held(&text, held.fifos, "FIFO", "FIFOs");
	add_held(&text, held.submodules, "submodule by its commit alone", "submodules by their commit alone");
	if (content->git.has_index)
		ews_buf_addf(&text, "%sthe index", text.len ? ", " : "");
	for (i = 0; i < content->git.files.n; i++)
		ews_buf_addf(&text, "%s%s", text.len ? ", " : "", content->git.files.items[i].name);
	ews_cmd_note(ctx, "held: %s", text.len ? text.ptr : "nothing");
	if (held.attributes)
		ews_cmd_note(ctx, "held: extended attributes of %zu of them", held.attributes);
	if (held.names)
		ews_cmd_note(ctx, "held: that %zu of them %s of a file", held.names,
			     held.names == 1 ? "is another name" : "are other names");
	if (held.owners)
		ews_cmd_note(ctx, "held: owners and groups, put back with --owner");
	for (i = 0; i < content->git.left.n; i++)
		ews_cmd_note(ctx, "not held of git's state: %s, %s", content->git.left.items[i].name,
			     ews_gitstate_why_left(&content->git.left.items[i]));
	for (i = 0; i < skips->n; i++) {
		const char *word = ews_render_skip_word(&skips->items[i]);

		if (ews_strv_has(&said, word))
			continue;
		ews_strv_add(&said, word);
		ews_cmd_note(ctx, "%s: %s", word, ews_render_skip_why(&skips->items[i]));
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
