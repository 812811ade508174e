/*
 * Cleaning: what went, or would, with sizes; what stays, and why.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_CMD_RENDER_CLEAN_H
#define EWS_CMD_RENDER_CLEAN_H

#include "cmd/cmd.h"
#include "work/clean.h"

/* A line for each: "<what>\t<size>\t<age>\t<verb> of <session>\t<path or id>"; what stays goes to stderr. */
void ews_render_clean_text(struct ews_cmd_ctx *ctx, const struct ews_clean_result *result, bool dry_run);

/* Add the members of ended[], freed[] and kept[], each with its project, to these arrays of `object`. */
void ews_render_clean(cJSON *object, const struct ews_clean_result *result, const char *project);

/* One sentence, when something went: what a clean says that nobody asked for. */
void ews_render_clean_talk(const struct ews_cmd_ctx *ctx, const struct ews_clean_result *result);

#endif
