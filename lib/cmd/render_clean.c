/*
 * Cleaning: see render_clean.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/render_clean.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cmd/render_path.h"

static const char *word_of(enum ews_trash_kind kind)
{
	switch (kind) {
	case EWS_TRASH_DIRECTORY:
		return "directory";
	case EWS_TRASH_SNAPSHOT:
		return "snapshot";
	case EWS_TRASH_SESSION:
		return "session";
	case EWS_TRASH_TEMPORARY:
		return "temporary";
	}
	return "";
}

static const char *name_of(const char *session)
{
	return *session ? session : "the project";
}

/* "<session>\t<text>" */
static const char *split(struct ews_buf *session, const char *line)
{
	size_t len = strcspn(line, "\t");

	ews_buf_add(session, line, len);
	return line[len] ? line + len + 1 : line + len;
}

static void add_item_line(struct ews_cmd_ctx *ctx, const struct ews_trash_item *item)
{
	char age[EWS_STAMP_LEN];

	ews_clock_age(age, item->age_s);
	ews_buf_addf(&ctx->out, "%s\t", word_of(item->kind));
	ews_render_size(&ctx->out, item->size_bytes);
	ews_buf_addf(&ctx->out, "\t%s\t", age);
	if (*item->verb)
		ews_buf_addf(&ctx->out, "%s of ", item->verb);
	ews_buf_addf(&ctx->out, "%s\t", name_of(item->session));
	ews_cmd_add_path_line(ctx, item->name);
}

/* "end", what was done, to which session, and what its workspace takes */
static void add_end_line(struct ews_cmd_ctx *ctx, const struct ews_clean_end *end)
{
	ews_buf_addf(&ctx->out, "end\t%s\t%s", end->what, name_of(end->session));
	if (end->size_bytes) {
		ews_buf_addc(&ctx->out, '\t');
		ews_render_size(&ctx->out, end->size_bytes);
	}
	ews_buf_addc(&ctx->out, ctx->nul ? '\0' : '\n');
}

static uint64_t moved_bytes(const struct ews_clean_result *result)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < result->n; i++)
		bytes += result->ended[i].size_bytes;
	return bytes;
}

static uint64_t freed_bytes(const struct ews_trash_result *trash)
{
	uint64_t bytes = trash->object_bytes;
	size_t i;

	for (i = 0; i < trash->n; i++)
		bytes += trash->items[i].kind == EWS_TRASH_SNAPSHOT ? 0 : trash->items[i].size_bytes;
	return bytes;
}

static void talk_of_kept(const struct ews_cmd_ctx *ctx, const struct ews_strv *lines)
{
	size_t i;

	for (i = 0; i < lines->n; i++) {
		EWS_CLEANUP(buf) struct ews_buf session = EWS_BUF_INIT;
		const char *why = split(&session, lines->items[i]);

		ews_cmd_note(ctx, "stays: %s: %s", name_of(session.ptr), why);
	}
}

void ews_render_clean_text(struct ews_cmd_ctx *ctx, const struct ews_clean_result *result, bool dry_run)
{
	EWS_CLEANUP(buf) struct ews_buf size = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf moved = EWS_BUF_INIT;
	size_t i;

	for (i = 0; i < result->n; i++)
		add_end_line(ctx, &result->ended[i]);
	for (i = 0; i < result->trash.n; i++)
		add_item_line(ctx, &result->trash.items[i]);
	talk_of_kept(ctx, &result->kept);
	talk_of_kept(ctx, &result->trash.kept);
	if (moved_bytes(result)) {
		ews_render_size(&moved, moved_bytes(result));
		ews_cmd_note(ctx, "%s %s to trash", moved.ptr, dry_run ? "would be moved" : "moved");
	}
	if (!result->trash.n)
		return;
	ews_render_size(&size, freed_bytes(&result->trash));
	ews_cmd_note(ctx, "%s %s", size.ptr, dry_run ? "would be freed" : "freed");
}

static void add_ended(cJSON *array, const struct ews_clean_end *end, const char *project)
{
	cJSON *item = cJSON_CreateObject();

	ews_json_add_path(item, "project", project);
	ews_render_string(item, "session_id", end->session);
	ews_render_string(item, "message", end->what);
	ews_json_add_int(item, "size_bytes", (int64_t)end->size_bytes);
	cJSON_AddItemToArray(array, item);
}

static void add_kept(cJSON *array, const struct ews_strv *lines, const char *project)
{
	size_t i;

	for (i = 0; i < lines->n; i++) {
		EWS_CLEANUP(buf) struct ews_buf session = EWS_BUF_INIT;
		const char *text = split(&session, lines->items[i]);
		cJSON *item = cJSON_CreateObject();

		ews_json_add_path(item, "project", project);
		ews_render_string(item, "session_id", session.ptr);
		ews_render_string(item, "reason", text);
		cJSON_AddItemToArray(array, item);
	}
}

static cJSON *array_of(cJSON *object, const char *key)
{
	cJSON *array = cJSON_GetObjectItemCaseSensitive(object, key);

	return array ? array : cJSON_AddArrayToObject(object, key);
}

void ews_render_clean(cJSON *object, const struct ews_clean_result *result, const char *project)
{
	const cJSON *before = cJSON_GetObjectItemCaseSensitive(object, "freed_bytes");
	int64_t bytes = (int64_t)freed_bytes(&result->trash);
	cJSON *array;
	size_t i;

	array = array_of(object, "ended");
	for (i = 0; i < result->n; i++)
		add_ended(array, &result->ended[i], project);
	array = array_of(object, "freed");
	for (i = 0; i < result->trash.n; i++) {
		const struct ews_trash_item *item = &result->trash.items[i];
		cJSON *json = cJSON_CreateObject();

		ews_json_add_path(json, "project", project);
		(void)cJSON_AddStringToObject(json, "kind", word_of(item->kind));
		if (item->kind == EWS_TRASH_DIRECTORY || item->kind == EWS_TRASH_TEMPORARY)
			ews_json_add_path(json, "path", item->name);
		else if (item->kind == EWS_TRASH_SNAPSHOT)
			ews_render_string(json, "snapshot_id", item->name);
		ews_render_string(json, "session_id", item->session);
		ews_render_string(json, "verb", item->verb);
		ews_json_add_int(json, "size_bytes", (int64_t)item->size_bytes);
		ews_json_add_int(json, "age_ms", item->age_s * 1000);
		cJSON_AddItemToArray(array, json);
	}
	add_kept(array_of(object, "kept"), &result->kept, project);
	add_kept(array_of(object, "kept"), &result->trash.kept, project);
	if (before)
		bytes += strtoll(before->valuestring ? before->valuestring : "0", NULL, 10);
	cJSON_DeleteItemFromObjectCaseSensitive(object, "freed_bytes");
	ews_json_add_int(object, "freed_bytes", bytes);
}

void ews_render_clean_talk(const struct ews_cmd_ctx *ctx, const struct ews_clean_result *result)
{
	EWS_CLEANUP(buf) struct ews_buf size = EWS_BUF_INIT;
	size_t i;

	for (i = 0; i < result->n; i++)
		ews_cmd_note(ctx, "cleaned: %s: %s", name_of(result->ended[i].session), result->ended[i].what);
	if (!result->trash.n)
		return;
	ews_render_size(&size, freed_bytes(&result->trash));
	ews_cmd_note(ctx, "trash that had expired was deleted: %s", size.ptr);
}
