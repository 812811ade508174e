/*
 * Artifacts: how one looks as a paragraph, a line and JSON, and what was mended on the way.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_CMD_RENDER_ARTIFACT_H
#define EWS_CMD_RENDER_ARTIFACT_H

#include "cmd/cmd.h"
#include "work/artifact.h"

/* A new object with all that is known of it; `place` as in struct ews_artifacts. The caller deletes it. */
cJSON *ews_render_artifact(const struct ews_artifact *artifact, const char *place);
void ews_render_artifact_text(struct ews_buf *out, const struct ews_artifact *artifact, const char *place);
/* A line each, in columns; `nul`: the path alone, with a NUL behind it. */
void ews_render_artifact_lines(struct ews_buf *out, const struct ews_artifact *const *items, size_t n, bool nul);

/* Add "brought_back", "taken_in" and "warnings"; or say them on stderr. */
void ews_render_artifact_news(cJSON *object, const struct ews_artifact_news *news);
void ews_render_artifact_news_talk(const struct ews_cmd_ctx *ctx, const struct ews_artifact_news *news);

#endif
