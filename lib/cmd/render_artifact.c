/*
 * Artifacts: see render_artifact.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/render_artifact.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/path.h"
#include "cmd/render_path.h"

#define ID_WIDTH 20

static const char *const file_words[] = {
	[EWS_ARTIFACT_UNKNOWN] = "unknown",
	[EWS_ARTIFACT_PRESENT] = "present",
	[EWS_ARTIFACT_MISSING] = "missing",
	[EWS_ARTIFACT_CHANGED] = "changed",
};

cJSON *ews_render_artifact(const struct ews_artifact *artifact, const char *place)
{
	EWS_CLEANUP(free) char *full = place ? ews_path_join(place, artifact->path) : NULL;
	cJSON *object = ews_artifact_to_json(artifact);

	if (full)
		ews_json_add_path(object, "file_path", full);
	else
		(void)cJSON_AddNullToObject(object, "file_path");
	(void)cJSON_AddStringToObject(object, "file", file_words[artifact->file]);
	return object;
}

static void add_line(struct ews_buf *out, const char *name, const char *text)
{
	if (!*text)
		return;
	ews_buf_addf(out, "%-9s ", name);
	ews_render_words(out, text);
	ews_buf_addc(out, '\n');
}

static void add_path(struct ews_buf *out, const char *name, const char *path)
{
	EWS_CLEANUP(buf) struct ews_buf quoted = EWS_BUF_INIT;

	ews_path_quote(&quoted, path);
	add_line(out, name, quoted.ptr);
}

void ews_render_artifact_text(struct ews_buf *out, const struct ews_artifact *artifact, const char *place)
{
	EWS_CLEANUP(free) char *full = ews_path_join(place ? place : "", artifact->path);
	EWS_CLEANUP(buf) struct ews_buf size = EWS_BUF_INIT;
	char stamp[EWS_STAMP_LEN];

	ews_clock_rfc3339(stamp, artifact->created_s);
	ews_render_size(&size, artifact->size_bytes);
	ews_buf_adds(out, "artifact ");
	ews_render_words(out, artifact->id);
	ews_buf_addc(out, '\n');
	add_line(out, "Type:", ews_artifact_type_word(artifact->type));
	add_path(out, "File:", full);
	if (artifact->file != EWS_ARTIFACT_PRESENT)
		ews_buf_addf(out, "%-9s (%s; 'artifact export' gives what was kept)\n", "",
			     file_words[artifact->file]);
	add_line(out, "Size:", size.ptr);
	add_line(out, "Date:", stamp);
	add_line(out, "Session:", artifact->session);
	add_path(out, "Original:", artifact->original);
	add_line(out, "SHA-256:", artifact->sha256);
	if (*artifact->description) {
		ews_buf_adds(out, "\n    ");
		ews_render_words(out, artifact->description);
		ews_buf_addc(out, '\n');
	}
}

void ews_render_artifact_lines(struct ews_buf *out, const struct ews_artifact *const *items, size_t n, bool nul)
{
	int64_t now_s = ews_clock_now();
	char age[EWS_STAMP_LEN];

	for (size_t i = 0; i < n && nul; i++)
		ews_buf_addz(out, items[i]->path);
	for (size_t i = 0; i < n && !nul; i++) {
		EWS_CLEANUP(buf) struct ews_buf id = EWS_BUF_INIT;
		EWS_CLEANUP(buf) struct ews_buf size = EWS_BUF_INIT;

		ews_render_words(&id, items[i]->id);
		ews_clock_age(age, now_s - items[i]->created_s);
		ews_render_size(&size, items[i]->size_bytes);
		ews_buf_addf(out, "%-*s  %-10s  %10s  ", ID_WIDTH, id.ptr, age, size.ptr);
		ews_path_quote(out, items[i]->path);
		if (items[i]->file != EWS_ARTIFACT_PRESENT)
			ews_buf_addf(out, "  (%s)", file_words[items[i]->file]);
		if (*items[i]->description) {
			ews_buf_adds(out, "  ");
			ews_render_words(out, items[i]->description);
		}
		ews_buf_addc(out, '\n');
	}
}

void ews_render_artifact_news(cJSON *object, const struct ews_artifact_news *news)
{
	ews_render_paths(object, "brought_back", &news->brought_back);
	ews_render_paths(object, "taken_in", &news->taken_in);
	ews_render_sentences(object, "warnings", &news->warnings);
}

void ews_render_artifact_news_talk(const struct ews_cmd_ctx *ctx, const struct ews_artifact_news *news)
{
	for (size_t i = 0; i < news->warnings.n; i++)
		ews_cmd_warn(ctx, "%s", news->warnings.items[i]);
	for (size_t i = 0; i < news->brought_back.n; i++)
		ews_cmd_note(ctx, "brought back: %s", news->brought_back.items[i]);
	for (size_t i = 0; i < news->taken_in.n; i++)
		ews_cmd_note(ctx, "taken in: %s", news->taken_in.items[i]);
}
