/*
 * Reverts: what was put back and whether it is proven, as git ews revert, restore and undo show it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_CMD_RENDER_REVERT_H
#define EWS_CMD_RENDER_REVERT_H

#include "base/json.h"
#include "cmd/cmd.h"
#include "store/step.h"
#include "work/revert.h"
#include "work/steps.h"

/* The block: "Revert Complete" with its proof, or "Revert Incomplete" with the paths that differ; `what` is "Revert". */
void ews_render_put_text(struct ews_buf *out, const struct ews_transition_result *put, const char *what, bool color);
/* Add restored[], deleted[], kept[], errors[], moved[], the hashes, and verified. */
void ews_render_put(cJSON *object, const struct ews_transition_result *put);
/*
 * All that text says of a revert, or of a restore (`what` is "Restore"), of what stands in `top`: the block, and the rest on stderr.
 * `undo` is the command that takes it back, where there is anything to take back.
 */
void ews_render_revert_text(struct ews_cmd_ctx *ctx, const struct ews_revert_result *result, const char *what,
			    const char *top, const char *undo);
/* Say on stderr what trash holds no longer, ignored files as a number unless more is asked for. */
void ews_render_expired_talk(const struct ews_cmd_ctx *ctx, const struct ews_strv *expired);
/* Say on stderr what somebody changed since the step, and `what` becomes of it. */
void ews_render_since_talk(const struct ews_cmd_ctx *ctx, const struct ews_transition_result *put, const char *what);
/* Say on stderr which branches moved that HEAD was not on, and which could not. */
void ews_render_branches_talk(const struct ews_cmd_ctx *ctx, const struct ews_transition_result *put);
/* Say on stderr what was moved to trash, could not be brought back, or was not looked at. */
void ews_render_put_talk(const struct ews_cmd_ctx *ctx, const struct ews_transition_result *put);
/* Say how each repository in the project `top` that stands elsewhere than when the session began gets back there. */
void ews_render_moved_talk(const struct ews_cmd_ctx *ctx, const char *top, const struct ews_transition_result *put);
/* Say how each submodule that the workspace `top` had filled, and that is empty, is filled again. */
void ews_render_emptied_talk(const struct ews_cmd_ctx *ctx, const char *top, const struct ews_transition_result *put);
/* Warn that HEAD of what `kept` has was damaged. */
void ews_render_damaged_head_talk(const struct ews_cmd_ctx *ctx, const char *kept);
/* Say that the end of the session `id`, in place, and the revert before it are two steps. */
void ews_render_reopening_talk(const struct ews_cmd_ctx *ctx, const char *id);
/* Name what takes back the refs of the project that moved. */
void ews_render_ref_commands_talk(const struct ews_cmd_ctx *ctx, const struct ews_strv *commands);
/* What would be done: "restore <path>", "delete <path>", "trash <path>" a line. */
void ews_render_put_plan(struct ews_cmd_ctx *ctx, const struct ews_transition_result *put);

/* A step that undo knows of, as it is seen from `repo`. */
void ews_render_step(cJSON *object, const struct ews_step *step, const struct ews_repo *repo);
void ews_render_step_lines(struct ews_buf *out, const struct ews_steps *steps, const struct ews_repo *repo);

#endif
