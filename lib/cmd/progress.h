/*
 * Progress: a line on stderr that says how far long work has come.
 *
 * It appears after a second, and only where a terminal shows it (or as
 * --progress and --no-progress say). ews_progress_show() is the callback that
 * the domain's functions take, the struct its payload.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_CMD_PROGRESS_H
#define EWS_CMD_PROGRESS_H

#include <stdint.h>

#include "cmd/cmd.h"

struct ews_progress {
	const char *title;
	bool is_on;
	bool is_shown; /* there is a line that must be ended */
	uint64_t next_ms; /* not before */
	size_t done, total; /* as last heard */
};

void ews_progress_init(struct ews_progress *progress, const struct ews_cmd_ctx *ctx, const char *title);
void ews_progress_show(void *payload, size_t done, size_t total);
/* End the line, if there is one. */
void ews_progress_end(struct ews_progress *progress);
EWS_CLEANUP_DEFINE(progress, struct ews_progress, ews_progress_end)

#endif
