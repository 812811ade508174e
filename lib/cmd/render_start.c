/*
 * What a start has to say: see render_start.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/render_start.h"

#include "cmd/render_path.h"

#define SUBMODULES_NAMED 3

static void add_submodules(struct ews_strv *out, const struct ews_strv *paths)
{
	for (size_t i = 0; i < paths->n; i++)
		ews_strv_addf(out, "the submodule '%s' came along; no snapshot looks into it", paths->items[i]);
}

void ews_render_start_talk(const struct ews_cmd_ctx *ctx, const struct ews_start_result *result)
{
	const struct ews_strv *submodules = &result->submodules;
	EWS_CLEANUP(strv) struct ews_strv notes = EWS_STRV_INIT;

	ews_render_skips_talk(ctx, &result->skips);
	ews_render_home_talk(ctx, &result->skips);
	ews_strv_add_array(&notes, result->notes.items);
	if (submodules->n <= SUBMODULES_NAMED || ctx->verbose)
		add_submodules(&notes, submodules);
	else
		ews_strv_addf(&notes, "%zu submodules came along; no snapshot looks into them (-v names them)",
			      submodules->n);
	for (size_t i = 0; i < notes.n; i++)
		ews_cmd_note(ctx, "%s", notes.items[i]);
}

void ews_render_start_notes(cJSON *object, const struct ews_start_result *result)
{
	EWS_CLEANUP(strv) struct ews_strv notes = EWS_STRV_INIT;

	ews_strv_add_array(&notes, result->notes.items);
	add_submodules(&notes, &result->submodules);
	ews_render_skips(object, &result->skips);
	ews_render_sentences(object, "notes", &notes);
}
