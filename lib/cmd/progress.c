/*
 * Progress: a line that is written over itself, ten times a second at most.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

#define DELAY_MS 1000
#define INTERVAL_MS 100

void ews_progress_init(struct ews_progress *progress, const struct ews_cmd_ctx *ctx, const char *title)
{
	*progress = (struct ews_progress){ .title = title };
	progress->is_on = ctx->progress >= 0 ? ctx->progress : isatty(STDERR_FILENO) && !ctx->quiet;
	progress->next_ms = ews_clock_monotonic_ms() + (ctx->progress > 0 ? 0 : DELAY_MS);
}

static void print(const struct ews_progress *progress, const char *end)
{
	if (progress->total)
		(void)fprintf(stderr, "\r%s: %3zu%% (%zu/%zu)%s", progress->title,
			      progress->done * 100 / progress->total, progress->done, progress->total, end);
	else
		(void)fprintf(stderr, "\r%s: %zu%s", progress->title, progress->done, end);
	(void)fflush(stderr);
}

void ews_progress_show(void *payload, size_t done, size_t total)
{
	struct ews_progress *progress = payload;
	uint64_t now_ms;

	progress->done = done;
	progress->total = total;
	if (!progress->is_on)
		return;
	now_ms = ews_clock_monotonic_ms();
	if (now_ms < progress->next_ms)
		return;
	progress->next_ms = now_ms + INTERVAL_MS;
	progress->is_shown = true;
	print(progress, "");
}

void ews_progress_end(struct ews_progress *progress)
{
	if (progress->is_shown)
		print(progress, ", done.\n");
	progress->is_shown = false;
}
