/*
 * Early: see early.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/early.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/pool.h"

struct ews_early {
	struct ews_early_opts opts;
	struct ews_early_found found;
	struct ews_pool_task *task;
	atomic_bool is_stopped;
};

/* It never fails: without a cache there is nothing to be found. */
static int look(void *payload)
{
	struct ews_early *early = payload;
	struct ews_early_found *found = &early->found;
	const struct ews_recheck_opts opts = { .root_fd = early->opts.root_fd,
					       .is_plain = early->opts.is_plain,
					       .max_file_bytes = early->opts.max_file_bytes,
					       .touched = &found->touched,
					       .is_stopped = &early->is_stopped };

	if (!early->is_stopped)
		(void)ews_cache_read(&found->cache, early->opts.cache_fd, early->opts.cache);
	if (found->cache.is_whole && !early->is_stopped)
		found->answer = ews_recheck(&found->cache, &opts);
	return 0;
}

struct ews_early *ews_early_begin(const struct ews_early_opts *opts)
{
	struct ews_early *early = ews_calloc(1, sizeof(*early));
	struct ews_scan scan = EWS_SCAN_INIT;

	early->opts = *opts;
	early->found = (struct ews_early_found)EWS_EARLY_FOUND_INIT;
	ews_scan_begin(&scan);
	early->found.started_s = scan.started_s;
	early->found.started_ns = scan.started_ns;
	early->task = ews_pool_task_begin(look, early);
	return early;
}

bool ews_early_is_of(const struct ews_early *early, int root_fd)
{
	struct stat a, b;

	return fstat(early->opts.root_fd, &a) == 0 && fstat(root_fd, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

void ews_early_end(struct ews_early *early, struct ews_early_found *out)
{
	(void)ews_pool_task_end(early->task); /* see look() */
	(void)close(early->opts.root_fd); /* nothing was written through it */
	*out = early->found;
	free(early);
}

void ews_early_free(struct ews_early *early)
{
	EWS_CLEANUP(early_found) struct ews_early_found found = EWS_EARLY_FOUND_INIT;

	if (!early)
		return;
	early->is_stopped = true;
	ews_early_end(early, &found);
}

void ews_early_found_release(struct ews_early_found *found)
{
	ews_cache_release(&found->cache);
	ews_touched_release(&found->touched);
}
