/*
 * Runs: what a command did, as `git ews run` and `shell` tell it on stderr and as JSON.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_CMD_RENDER_RUN_H
#define EWS_CMD_RENDER_RUN_H

#include "base/json.h"
#include "cmd/cmd.h"
#include "cmd/render_diff.h"
#include "work/completion.h"
#include "work/run.h"

/* What was left behind, and what of the project changed, with the commands that take that back. */
void ews_render_run_talk(const struct ews_cmd_ctx *ctx, const struct ews_run_result *result, bool is_reaped);

/* Changes as they are wanted, the patch's place, what was left out. */
int ews_render_outcome_talk(const struct ews_cmd_ctx *ctx, const struct ews_run_outcome *outcome,
			    enum ews_changes_mode mode);

/* Add what there is to know about a command that ran: status, blocked[], left_behind[], project_changed, drift[]. */
void ews_render_run(cJSON *object, const struct ews_run_result *result);

/* Add snapshot_id, patch and changes. */
int ews_render_outcome(cJSON *object, struct ews_repo *repo, struct ews_run_outcome *outcome,
		       enum ews_changes_mode mode);

/* Say what the user's hook has decided about session `id`. */
void ews_render_decision_talk(const struct ews_cmd_ctx *ctx, const struct ews_completion *completion, const char *id);

#endif
