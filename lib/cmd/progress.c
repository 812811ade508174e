/*
 * Progress: a line that is written over itself, ten times a second at most.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/interrupt.h"

#define DELAY_MS 1000
#define INTERVAL_MS 100

/* git's own variable, in seconds. */
static uint64_t delay_ms(void)
{
	const char *text = getenv("GIT_PROGRESS_DELAY");
	char *end;
	unsigned long seconds = text ? strtoul(text, &end, 10) : 0;

	return text && end > text && !*end && seconds < UINT32_MAX ? seconds * 1000 : DELAY_MS;
}

void ews_progress_init(struct ews_progress *progress, const struct ews_cmd_ctx *ctx, const char *title)
{
	*progress = (struct ews_progress){ .title = title };
	progress->is_on = ctx->progress >= 0 ? ctx->progress : isatty(STDERR_FILENO) && !ctx->quiet;
	progress->next_ms = ews_clock_monotonic_ms() + (ctx->progress > 0 ? 0 : delay_ms());
}

/* "310.00 MiB", as git has it. */
static void add_size(struct ews_buf *out, uint64_t bytes)
{
	static const char *const units[] = { "bytes", "KiB", "MiB", "GiB" };
	double n = (double)bytes;
	size_t i = 0;

	for (; n >= 1024 && i + 1 < sizeof(units) / sizeof(*units); i++)
		n /= 1024;
	ews_buf_addf(out, "%.*f %s", i ? 2 : 0, n, units[i]);
}

/* A job in the background draws nothing over what stands in the foreground. */
static bool is_in_foreground(void)
{
	pid_t group = tcgetpgrp(STDERR_FILENO);

	return group < 0 || group == getpgrp();
}

static void print(struct ews_progress *progress, uint64_t now_ms, const char *end)
{
	EWS_CLEANUP(buf) struct ews_buf line = EWS_BUF_INIT;
	uint64_t ms = now_ms - progress->started_ms;
	size_t len;

	ews_buf_addf(&line, "%s: ", progress->title);
	if (progress->total)
		ews_buf_addf(&line, "%3zu%% (%zu/%zu)", progress->done * 100 / progress->total, progress->done,
			     progress->total);
	else if (progress->done)
		ews_buf_addf(&line, "%zu", progress->done);
	else if (!progress->bytes)
		ews_buf_adds(&line, "...");
	if (progress->bytes) {
		if (progress->total || progress->done)
			ews_buf_adds(&line, ", ");
		add_size(&line, progress->bytes);
		ews_buf_addf(&line, " | ");
		add_size(&line, progress->bytes * 1000 / (ms ? ms : 1));
		ews_buf_addf(&line, "/s");
	}
	len = line.len;
	ews_interrupt_tell("--" EWS_PROGRESS_UNENDED);
	(void)fprintf(stderr, "\r%s%s%*s%s", line.ptr, end, len < progress->len ? (int)(progress->len - len) : 0,
		      "", *end ? "\n" : "");
	(void)fflush(stderr);
	if (*end)
		ews_interrupt_tell(NULL);
	progress->len = len;
}

void ews_progress_show(void *payload, size_t done, size_t total, uint64_t bytes)
{
	struct ews_progress *progress = payload;
	uint64_t now_ms;

	if (progress->total != total)
		ews_progress_end(progress);
	progress->done = done;
	progress->total = total;
	progress->bytes = bytes;
	if (!progress->is_on)
		return;
	now_ms = ews_clock_monotonic_ms();
	if (!progress->started_ms)
		progress->started_ms = now_ms;
	if (now_ms < progress->next_ms)
		return;
	progress->next_ms = now_ms + INTERVAL_MS;
	progress->is_due = true;
	if (is_in_foreground())
		print(progress, now_ms, "");
}

void ews_progress_end(struct ews_progress *progress)
{
	if (progress->is_due)
		print(progress, ews_clock_monotonic_ms(), ", done.");
	progress->is_due = false;
	progress->started_ms = 0;
	progress->len = 0;
}
