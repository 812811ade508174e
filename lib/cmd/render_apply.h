/*
 * Applying: what came into the project, or would, and what stands in the way.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_CMD_RENDER_APPLY_H
#define EWS_CMD_RENDER_APPLY_H

#include "cmd/cmd.h"
#include "work/apply.h"

/*
 * Show what an apply came to (`check`: would come to), as text or as JSON. Gives the exit status: 1 when it was refused
 * or left conflicts; or an error's code.
 */
int ews_render_apply(struct ews_cmd_ctx *ctx, const struct ews_apply_result *result, bool check);

/* Say what takes back what was applied, if anything was. */
void ews_render_apply_way_back(struct ews_cmd_ctx *ctx, const struct ews_apply_result *result, bool check);

#endif
