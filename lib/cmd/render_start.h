/*
 * What a start has to say beside its answer: what did not come along, and what of it is not as one might expect.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_CMD_RENDER_START_H
#define EWS_CMD_RENDER_START_H

#include "base/json.h"
#include "cmd/cmd.h"
#include "work/start.h"

/* Say it on stderr; many submodules by their number, unless more is asked for. */
void ews_render_start_talk(const struct ews_cmd_ctx *ctx, const struct ews_start_result *result);

/* Add "skipped" and "notes", which have all of it. */
void ews_render_start_notes(cJSON *object, const struct ews_start_result *result);

#endif
