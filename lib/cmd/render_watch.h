/*
 * What happens in a directory, a line a change.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_CMD_RENDER_WATCH_H
#define EWS_CMD_RENDER_WATCH_H

#include "cmd/cmd.h"
#include "work/snapshot.h"
#include "work/watch.h"

/*
 * Append "MODIFIED src/a.c" or "MOVED a -> b", with `ctx->nul` paths as they are, each with a NUL; with `ctx->json` one
 * object on one line.
 */
void ews_render_watch_change(struct ews_buf *out, const struct ews_cmd_ctx *ctx,
			     const struct ews_watch_change *change);

/* Append an object on one line that says which directories are polled, and why. */
void ews_render_watch_polling(struct ews_buf *out, const struct ews_watch *watch);

/* Append "SNAPSHOT <id>", or the object that `snapshot create --json` prints, on one line. */
void ews_render_watch_snapshot(struct ews_buf *out, const struct ews_cmd_ctx *ctx,
			       const struct ews_snapshot *snapshot, const struct ews_skips *skips);

#endif
