/*
 * What happens in a directory: see render_watch.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/render_watch.h"

#include "base/clock.h"
#include "base/path.h"
#include "cmd/render_path.h"
#include "cmd/render_snapshot.h"

#define POLLED_MAX 1000 /* paths in one line; how many there are is said beside them */

static const struct {
	const char *text, *json;
} words[] = {
	[EWS_TREE_OVERFLOW] = { "OVERFLOW", "overflow" }, [EWS_TREE_MOVED] = { "MOVED", "moved" },
	[EWS_TREE_DELETED] = { "DELETED", "deleted" },    [EWS_TREE_CREATED] = { "CREATED", "created" },
	[EWS_TREE_MODIFIED] = { "MODIFIED", "modified" },
};

/* Of an overflow: the directory itself. */
static const char *path_of(const struct ews_watch_change *change)
{
	return *change->path ? change->path : ".";
}

static void add_object(struct ews_buf *out, const struct ews_watch_change *change)
{
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("watch");

	(void)cJSON_AddStringToObject(object, "change_type", words[change->kind].json);
	ews_json_add_path(object, "path", path_of(change));
	if (change->old_path)
		ews_json_add_path(object, "old_path", change->old_path);
	else
		(void)cJSON_AddNullToObject(object, "old_path");
	(void)cJSON_AddBoolToObject(object, "is_directory", change->is_dir);
	ews_render_time(object, "timestamp", change->time_s);
	ews_json_print(out, object, false);
}

void ews_render_watch_change(struct ews_buf *out, const struct ews_cmd_ctx *ctx, const struct ews_watch_change *change)
{
	if (ctx->json) {
		add_object(out, change);
		return;
	}
	ews_buf_addf(out, "%s ", words[change->kind].text);
	if (ctx->nul) {
		if (change->old_path)
			ews_buf_addz(out, change->old_path);
		ews_buf_addz(out, path_of(change));
		return;
	}
	if (change->old_path) {
		ews_path_quote(out, change->old_path);
		ews_buf_adds(out, " -> ");
	}
	ews_path_quote(out, path_of(change));
	ews_buf_addc(out, '\n');
}

void ews_render_watch_polling(struct ews_buf *out, const struct ews_watch *watch)
{
	EWS_CLEANUP(strv) struct ews_strv polled = EWS_STRV_INIT;
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("watch");
	struct ews_watch_extent extent = ews_watch_extent(watch);
	cJSON *paths;

	ews_watch_list_polled(&polled, watch);
	(void)cJSON_AddStringToObject(object, "change_type", "polling");
	ews_json_add_path(object, "path", ".");
	(void)cJSON_AddNullToObject(object, "old_path");
	(void)cJSON_AddBoolToObject(object, "is_directory", true);
	ews_render_time(object, "timestamp", ews_clock_now());
	(void)cJSON_AddNumberToObject(object, "directories", (double)extent.n_dirs);
	(void)cJSON_AddNumberToObject(object, "polled_directories", (double)extent.n_polled);
	paths = cJSON_AddArrayToObject(object, "polled");
	for (size_t i = 0; i < polled.n && i < POLLED_MAX; i++)
		(void)cJSON_AddItemToArray(paths, ews_json_path(polled.items[i]));
	ews_render_string(object, "reason", *extent.trouble ? extent.trouble : "--polling");
	ews_render_string(object, "hint", *extent.hint ? extent.hint : NULL);
	ews_json_print(out, object, false);
}

void ews_render_watch_snapshot(struct ews_buf *out, const struct ews_cmd_ctx *ctx,
			       const struct ews_snapshot *snapshot, const struct ews_skips *skips)
{
	EWS_CLEANUP(json) cJSON *object = NULL;

	if (!ctx->json) {
		ews_buf_addf(out, "SNAPSHOT %s", snapshot->id);
		ews_buf_addc(out, ctx->nul ? '\0' : '\n');
		return;
	}
	object = ews_cmd_json_new("snapshot");
	(void)cJSON_AddBoolToObject(object, "created", true);
	ews_render_snapshot(object, snapshot);
	ews_render_skips(object, skips);
	ews_json_print(out, object, false);
}
