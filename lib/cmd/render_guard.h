/*
 * The guard: how a verdict looks as text and as JSON, and what is allowed as a list.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_CMD_RENDER_GUARD_H
#define EWS_CMD_RENDER_GUARD_H

#include "base/buf.h"
#include "base/json.h"
#include "work/guard.h"

/* "allowed: git log (read)", or "blocked: git commit (<reason>)" with "use: <suggestion>" on the next line. */
void ews_render_verdict(struct ews_buf *out, const struct ews_guard_verdict *verdict);
/* Add its keys to `object`. */
void ews_render_verdict_json(cJSON *object, const struct ews_guard_verdict *verdict);

/* A line a command that the rules allow: its name, a tab, and on which conditions. */
void ews_render_guard_list(struct ews_buf *out, const struct ews_guard_rules *rules);
/* Add "policy", and "commands": an array with "subcommand" and "conditions" of each. */
void ews_render_guard_list_json(cJSON *object, const struct ews_guard_rules *rules);

#endif
