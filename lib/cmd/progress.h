/*
 * Progress: a line on stderr that says how far long work has come, in git's form:
 *
 *     Filling workspace:  45% (35421/78635), 310.00 MiB | 95.00 MiB/s
 *
 * It appears after a second (or after as many as $GIT_PROGRESS_DELAY says), and only where a terminal shows it (or at once, as
 * --progress says, or never, as --no-progress and --quiet do). A job in the background shows its end alone.
 * ews_progress_show() is the callback that the domain's functions take, the struct its payload.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_CMD_PROGRESS_H
#define EWS_CMD_PROGRESS_H

#include <stdint.h>

#include "cmd/cmd.h"

/* The option by which `interrupted` hears that a line was not ended. */
#define EWS_PROGRESS_UNENDED "unended"

struct ews_progress {
	const char *title;
	bool is_on;
	bool is_due; /* there is a line that must be ended, or would be in the foreground */
	size_t len; /* of the line that is there, which the next one has to cover */
	uint64_t started_ms; /* when it was heard for the first time; 0: it wasn't yet */
	uint64_t next_ms; /* not before */
	size_t done, total; /* as last heard */
	uint64_t bytes;
};

void ews_progress_init(struct ews_progress *progress, const struct ews_cmd_ctx *ctx, const char *title);
/* `total` and `bytes` 0: not known. Where `total` is another than before, other work has begun, on a line of its own. */
void ews_progress_show(void *payload, size_t done, size_t total, uint64_t bytes);
/* End the line, if there is one. */
void ews_progress_end(struct ews_progress *progress);
EWS_CLEANUP_DEFINE(progress, struct ews_progress, ews_progress_end)

#endif
