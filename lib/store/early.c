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
#include "base/file.h"
#include "base/pool.h"

/* How far it is. Whoever comes second, he who has read or he who says that it may be looked at, has the look begun. */
enum stage { READING, TOLD, READ };

struct ews_early {
	int cache_fd;
	const char *cache;
	struct ews_early_opts opts;
	struct ews_early_found found;
	struct ews_pool_task *reading;
	struct ews_pool_task *looking; /* NULL: whoever reads goes on */
	_Atomic(enum stage) stage;
	atomic_bool is_stopped;
};

/* Was it at `from`, and is it at `to` now? */
static bool step(struct ews_early *early, enum stage from, enum stage to)
{
	return atomic_compare_exchange_strong(&early->stage, &from, to);
}

/* This and the next never fail: without a cache there is nothing to be found. */
static int look(void *payload)
{
	struct ews_early *early = payload;
	struct ews_early_found *found = &early->found;
	const struct ews_recheck_opts opts = { .root_fd = early->opts.root_fd,
					       .is_plain = early->opts.is_plain,
					       .max_file_bytes = early->opts.max_file_bytes,
					       .touched = &found->touched,
					       .is_stopped = &early->is_stopped };

	if (found->cache.is_whole && !early->is_stopped)
		found->answer = ews_recheck(&found->cache, &opts);
	return 0;
}

static int read_and_look(void *payload)
{
	struct ews_early *early = payload;

	if (!early->is_stopped)
		(void)ews_cache_read(&early->found.cache, early->cache_fd, early->cache);
	return step(early, READING, READ) ? 0 : look(early);
}

struct ews_early *ews_early_read(int cache_fd, const char *name)
{
	struct ews_early *early = ews_calloc(1, sizeof(*early));

	early->cache_fd = cache_fd;
	early->cache = name;
	early->opts.root_fd = -1;
	early->found = (struct ews_early_found)EWS_EARLY_FOUND_INIT;
	early->reading = ews_pool_task_begin(read_and_look, early);
	return early;
}

void ews_early_look(struct ews_early *early, const struct ews_early_opts *opts)
{
	struct ews_scan scan = EWS_SCAN_INIT;

	early->opts = *opts;
	ews_scan_begin(&scan);
	early->found.started_s = scan.started_s;
	early->found.started_ns = scan.started_ns;
	if (!step(early, READING, TOLD))
		early->looking = ews_pool_task_begin(look, early);
}

bool ews_early_looks(const struct ews_early *early)
{
	return early->opts.root_fd >= 0;
}

bool ews_early_is_of(const struct ews_early *early, int root_fd)
{
	return ews_early_looks(early) && ews_file_is_same_open(early->opts.root_fd, root_fd);
}

void ews_early_end(struct ews_early *early, struct ews_early_found *out)
{
	(void)ews_pool_task_end(early->reading); /* see look() */
	if (early->looking)
		(void)ews_pool_task_end(early->looking); /* likewise */
	if (ews_early_looks(early))
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
