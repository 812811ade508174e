/*
 * Archives: see render_archive.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/render_archive.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/path.h"
#include "cmd/render_path.h"

/* What was asked for by name: an object of values, null for what was not set. */
static void add_env(cJSON *object, const struct ews_strv *env)
{
	cJSON *values = cJSON_AddObjectToObject(object, "env");

	for (size_t i = 0; i < env->n; i++) {
		const char *eq = strchr(env->items[i], '=');
		EWS_CLEANUP(free) char *name = ews_strndup(env->items[i], strcspn(env->items[i], "="));
		/* It may be somebody else's archive that has it: keys are UTF-8 and there once, too. */
		EWS_CLEANUP(json) cJSON *key = ews_json_path(name);

		if (cJSON_GetObjectItemCaseSensitive(values, key->valuestring))
			continue;
		if (eq)
			ews_json_add_path(values, key->valuestring, eq + 1);
		else
			(void)cJSON_AddNullToObject(values, key->valuestring);
	}
}

void ews_render_archive(cJSON *object, const struct ews_archive *archive, const char *md5)
{
	char mode[8];

	ews_json_add_path(object, "archive", archive->file);
	ews_render_path_or_null(object, "path", archive->path);
	(void)snprintf(mode, sizeof(mode), "%04o", (unsigned)archive->mode & 07777);
	ews_render_string(object, "mode", archive->mode < 0 ? NULL : mode);
	ews_render_time(object, "timestamp", archive->created_s);
	ews_render_string(object, "checksum", archive->checksum);
	ews_render_string(object, "md5", md5);
	ews_render_string(object, "compression",
			  archive->is_foreign ? NULL : ews_compression_word(archive->compression));
	ews_json_add_int(object, "files_count", (int64_t)archive->n_files);
	ews_json_add_int(object, "total_size_bytes", (int64_t)archive->size_bytes);
	ews_json_add_int(object, "size_bytes", (int64_t)archive->file_bytes);
	ews_render_string(object, "session_id", archive->session);
	ews_render_string(object, "base_commit", archive->base_commit);
	ews_render_string(object, "snapshot_id", archive->base_snapshot);
	ews_render_path_or_null(object, "previous", archive->previous);
	ews_render_string(object, "previous_checksum", archive->previous_checksum);
	add_env(object, &archive->env);
	ews_render_sentences(object, "keep", &archive->rules.keep);
	ews_render_sentences(object, "ignore", &archive->rules.ignore);
	ews_render_paths(object, "static_assets", &archive->rules.assets);
	(void)cJSON_AddBoolToObject(object, "default_ignores", !archive->rules.no_defaults);
	ews_render_string(object, "problem", archive->problem);
}

void ews_render_archive_paths(cJSON *object, const struct ews_entries *entries, const struct ews_skips *skips)
{
	EWS_CLEANUP(strv) struct ews_strv paths = EWS_STRV_INIT;
	cJSON *others;

	for (size_t i = 0; i < entries->n; i++)
		if (entries->items[i].type != EWS_ENTRY_DIR)
			ews_strv_add(&paths, entries->items[i].path);
	ews_render_paths(object, "matched_paths", &paths);
	others = cJSON_AddArrayToObject(object, "other_paths");
	for (size_t i = 0; i < skips->n; i++) {
		cJSON *item = cJSON_CreateObject();

		ews_json_add_path(item, "path", skips->items[i].path);
		(void)cJSON_AddStringToObject(item, "reason", ews_skip_word(skips->items[i].reason));
		cJSON_AddItemToArray(others, item);
	}
}

static void add_line(struct ews_buf *out, const char *name, const char *text)
{
	if (!text || !*text)
		return;
	ews_buf_addf(out, "%-9s ", name);
	ews_render_words(out, text);
	ews_buf_addc(out, '\n');
}

static void add_path(struct ews_buf *out, const char *name, const char *path)
{
	EWS_CLEANUP(buf) struct ews_buf quoted = EWS_BUF_INIT;

	ews_path_quote(&quoted, path ? path : "");
	add_line(out, name, quoted.ptr);
}

void ews_render_archive_text(struct ews_buf *out, const struct ews_archive *archive, const char *md5,
			     const struct ews_skips *skips)
{
	EWS_CLEANUP(buf) struct ews_buf size = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf file_size = EWS_BUF_INIT;
	char stamp[EWS_STAMP_LEN];

	ews_clock_rfc3339(stamp, archive->created_s);
	ews_render_size(&size, archive->size_bytes);
	ews_render_size(&file_size, archive->file_bytes);
	ews_buf_adds(out, "archive ");
	ews_path_quote(out, ews_path_base(archive->file));
	ews_buf_addc(out, '\n');
	add_path(out, "File:", archive->file);
	add_path(out, "Of:", archive->path);
	add_line(out, "Session:", archive->session);
	add_line(out, "Base:", archive->base_commit);
	add_line(out, "Date:", stamp);
	add_line(out, "Checksum:", archive->checksum);
	add_line(out, "MD5:", md5);
	ews_buf_addf(out, "%-9s %" PRIu64 " (%s), %s as %s\n", "Files:", archive->n_files, size.ptr, file_size.ptr,
		     archive->is_foreign ? "a tar file" : ews_compression_word(archive->compression));
	if (skips->n)
		ews_buf_addf(out, "%-9s %zu path%s\n", "Left out:", skips->n, skips->n == 1 ? "" : "s");
	add_path(out, "Previous:", archive->previous);
	for (size_t i = 0; i < archive->env.n; i++)
		add_line(out, "Env:", archive->env.items[i]);
}

void ews_render_archive_line(struct ews_buf *out, const struct ews_archive *archive, const char *md5,
			     size_t name_width)
{
	EWS_CLEANUP(buf) struct ews_buf size = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf words = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf name = EWS_BUF_INIT;
	char age[EWS_STAMP_LEN];

	ews_clock_age(age, ews_clock_now() - archive->created_s);
	ews_render_size(&size, archive->file_bytes);
	ews_render_words(&words, archive->problem ? archive->problem : archive->checksum);
	ews_path_quote(&name, ews_path_base(archive->file));
	ews_buf_addf(out, "%-*s  %-10s  %10s  ", (int)name_width, name.ptr, age, size.ptr);
	if (archive->problem)
		ews_buf_addf(out, "(%s)", words.ptr);
	else
		ews_buf_addf(out, "%" PRIu64 " file%s  %.19s", archive->n_files, archive->n_files == 1 ? "" : "s",
			     words.ptr);
	ews_buf_addf(out, "%s%s\n", *md5 ? "  " : "", md5);
}

void ews_render_archive_entries(struct ews_cmd_ctx *ctx, const struct ews_entries *entries)
{
	static const char letters[] = "?-ld?p??";

	for (size_t i = 0; i < entries->n; i++) {
		const struct ews_entry *entry = &entries->items[i];
		char stamp[EWS_STAMP_LEN] = "";

		if (entry->has_time)
			ews_clock_rfc3339(stamp, entry->mtime_s);
		ews_buf_addf(&ctx->out, "%c%04o %12" PRIu64 " %20s ", letters[entry->type], (unsigned)entry->mode,
			     entry->size, stamp);
		ews_cmd_add_path_line(ctx, entry->path);
	}
}
