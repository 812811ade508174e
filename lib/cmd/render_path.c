/*
 * Paths and sizes: see render_path.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/render_path.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/path.h"
#include "base/path_line.h"
#include "base/utf8.h"

/* The base64 of `path` as a node, or null where it is UTF-8. */
static cJSON *bytes_node(const char *path)
{
	EWS_CLEANUP(json) cJSON *object = cJSON_CreateObject();
	cJSON *bytes;

	ews_json_add_path(object, "path", path);
	bytes = cJSON_DetachItemFromObject(object, "path_bytes");
	return bytes ? bytes : cJSON_CreateNull();
}

void ews_render_paths(cJSON *object, const char *key, const struct ews_strv *paths)
{
	EWS_CLEANUP(buf) struct ews_buf bytes_key = EWS_BUF_INIT;
	cJSON *array = cJSON_AddArrayToObject(object, key);
	bool is_utf8 = true;
	size_t i;

	for (i = 0; i < paths->n; i++) {
		cJSON_AddItemToArray(array, ews_json_path(paths->items[i]));
		is_utf8 = is_utf8 && ews_json_is_utf8(paths->items[i]);
	}
	if (is_utf8)
		return;
	ews_buf_addf(&bytes_key, "%s_bytes", key);
	array = cJSON_AddArrayToObject(object, bytes_key.ptr);
	for (i = 0; i < paths->n; i++)
		cJSON_AddItemToArray(array, bytes_node(paths->items[i]));
}

const char *ews_render_split_quoted(struct ews_buf *out, const char *line)
{
	EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
	const char *text = ews_path_line_split(&path, line);

	ews_path_quote(out, path.ptr);
	return text;
}

void ews_render_reasons(cJSON *object, const char *key, const char *word, const struct ews_strv *lines)
{
	cJSON *array = cJSON_AddArrayToObject(object, key);
	size_t i;

	for (i = 0; i < lines->n; i++) {
		EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
		const char *text = ews_path_line_split(&path, lines->items[i]);
		cJSON *item = cJSON_CreateObject();

		ews_json_add_path(item, "path", path.ptr);
		cJSON_AddItemToObject(item, word, ews_json_path(text));
		cJSON_AddItemToArray(array, item);
	}
}

const char *ews_render_skip_word(const struct ews_skip *skip)
{
	return skip->is_gone ? "gone" : ews_skip_word(skip->reason);
}

const char *ews_render_skip_why(const struct ews_skip *skip)
{
	return skip->is_gone ? "it is ignored, and what an earlier state had there is gone"
			     : ews_skip_why(skip->reason);
}

void ews_render_skips(cJSON *object, const struct ews_skips *skips)
{
	cJSON *array = cJSON_AddArrayToObject(object, "skipped");
	size_t i;

	for (i = 0; i < skips->n; i++) {
		cJSON *item = cJSON_CreateObject();

		ews_json_add_path(item, "path", skips->items[i].path);
		(void)cJSON_AddStringToObject(item, "reason", ews_render_skip_word(&skips->items[i]));
		(void)cJSON_AddStringToObject(item, "why", ews_render_skip_why(&skips->items[i]));
		ews_json_add_int(item, "size_bytes", (int64_t)skips->items[i].size);
		cJSON_AddItemToArray(array, item);
	}
}

void ews_render_skip_lines(struct ews_cmd_ctx *ctx, const struct ews_skips *skips)
{
	size_t i;

	for (i = 0; i < skips->n; i++) {
		ews_buf_addf(&ctx->out, "%s\t", ews_render_skip_word(&skips->items[i]));
		ews_cmd_add_path_line(ctx, skips->items[i].path);
	}
}

/* What a rule leaves out may be thousands of paths: how many is said, and with --coverage which. */
static const struct {
	enum ews_skip_reason reason;
	const char *what, *why;
} by_number[] = {
	{ EWS_SKIP_IGNORED, "ignored path", "left out" },
	{ EWS_SKIP_EXCLUDED, "excluded path", "left out" },
	{ EWS_SKIP_UNKEPT, "path", "left out that no rule names for keeping" },
	{ EWS_SKIP_PRESENT, "ignored path", "known by name alone" },
	{ EWS_SKIP_OWN, NULL, NULL },
};

static bool is_by_number(enum ews_skip_reason reason)
{
	for (size_t i = 0; i < sizeof(by_number) / sizeof(*by_number); i++)
		if (by_number[i].reason == reason)
			return true;
	return false;
}

static size_t count_skips(const struct ews_skips *skips, enum ews_skip_reason reason)
{
	size_t n = 0;

	for (size_t i = 0; i < skips->n; i++)
		n += skips->items[i].reason == reason && !skips->items[i].is_gone;
	return n;
}

void ews_render_skips_talk(const struct ews_cmd_ctx *ctx, const struct ews_skips *skips)
{
	for (size_t i = 0; i < skips->n; i++) {
		EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;

		if (is_by_number(skips->items[i].reason))
			continue;
		ews_path_quote(&path, skips->items[i].path);
		ews_cmd_warn(ctx, "left out: %s (%s)", path.ptr, ews_skip_word(skips->items[i].reason));
	}
	for (size_t i = 0; i < sizeof(by_number) / sizeof(*by_number); i++) {
		size_t n = by_number[i].what ? count_skips(skips, by_number[i].reason) : 0;

		if (n)
			ews_cmd_note(ctx, "%zu %s%s %s", n, by_number[i].what, n == 1 ? "" : "s", by_number[i].why);
	}
}

void ews_render_home_talk(const struct ews_cmd_ctx *ctx, const struct ews_skips *skips)
{
	for (size_t i = 0; i < skips->n; i++) {
		EWS_CLEANUP(free) char *there = ews_path_join(ctx->repo->project, skips->items[i].path);
		EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;

		if (skips->items[i].reason != EWS_SKIP_OWN || strcmp(there, ctx->repo->home) != 0)
			continue;
		ews_path_quote(&path, skips->items[i].path);
		ews_cmd_note(ctx, "left out: %s (home, where workspaces, records and trash are)", path.ptr);
	}
}

void ews_render_reasons_talk(const struct ews_cmd_ctx *ctx, const char *before, const struct ews_strv *lines)
{
	size_t i;

	for (i = 0; i < lines->n; i++) {
		EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
		EWS_CLEANUP(buf) struct ews_buf quoted = EWS_BUF_INIT;
		const char *text = ews_path_line_split(&path, lines->items[i]);

		ews_path_quote(&quoted, path.ptr);
		ews_cmd_warn(ctx, "%s: %s (%s)", before, quoted.ptr, text);
	}
}

void ews_render_kept_talk(const struct ews_cmd_ctx *ctx, const char *before, const struct ews_strv *lines)
{
	EWS_CLEANUP(strv) struct ews_strv others = EWS_STRV_INIT;
	size_t ignored = 0;

	for (size_t i = 0; i < lines->n; i++) {
		if (!strcmp(ews_path_line_words(lines->items[i]), ews_skip_word(EWS_SKIP_IGNORED)))
			ignored++;
		else
			ews_strv_add(&others, lines->items[i]);
	}
	ews_render_reasons_talk(ctx, before, &others);
	if (ignored)
		ews_cmd_note(ctx, "%zu ignored path%s %s", ignored, ignored == 1 ? " is" : "s are", before);
}

void ews_render_add_problem(struct ews_strv *lines, const char *path)
{
	ews_path_line_add(lines, path, ews_error_message());
	ews_error_clear();
}

void ews_render_sentences(cJSON *object, const char *key, const struct ews_strv *sentences)
{
	cJSON *array = cJSON_AddArrayToObject(object, key);
	size_t i;

	for (i = 0; i < sentences->n; i++)
		cJSON_AddItemToArray(array, ews_json_path(sentences->items[i]));
}

void ews_render_string(cJSON *object, const char *key, const char *text)
{
	cJSON_AddItemToObject(object, key, text && *text ? ews_json_path(text) : cJSON_CreateNull());
}

void ews_render_path_or_null(cJSON *object, const char *key, const char *path)
{
	if (path && *path)
		ews_json_add_path(object, key, path);
	else
		(void)cJSON_AddNullToObject(object, key);
}

void ews_render_words(struct ews_buf *out, const char *words)
{
	ews_utf8_add_line(out, words);
}

void ews_render_time(cJSON *object, const char *key, int64_t seconds)
{
	char stamp[EWS_STAMP_LEN] = "";

	if (seconds)
		ews_clock_rfc3339(stamp, seconds);
	ews_render_string(object, key, stamp);
}

void ews_render_size(struct ews_buf *out, uint64_t bytes)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double value = (double)bytes / 1024;
	size_t unit = 0;

	if (bytes < 1024) {
		ews_buf_addf(out, "%" PRIu64 " byte%s", bytes, bytes == 1 ? "" : "s");
		return;
	}
	for (; value >= 1024; value /= 1024)
		unit++;
	ews_buf_addf(out, "%.1f %s", value, units[unit]);
}
