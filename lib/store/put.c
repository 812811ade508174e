/*
 * Put: see put.h. Here is the order of things: what goes, directories that come, files and links on several threads, their
 * other names, and what directories get when all is in them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/put.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "base/pool.h"
#include "store/put_work.h"

#define FEW_FILES 64
#define CHUNK 32

static void begin(struct ews_put_work *put)
{
	ews_put_reach_init(&put->reach, put->opts->root_fd, put->opts->into_mounts);
	pthread_mutex_init(&put->mutex, NULL);
	put->has_failed = ews_calloc(put->changes->n + 1, sizeof(*put->has_failed));
}

static void release_work(struct ews_put_work *put)
{
	ews_put_reach_release(&put->reach);
	pthread_mutex_destroy(&put->mutex);
	free(put->has_failed);
	free(put->turns);
	free(put->first);
	free(put->made);
}
EWS_CLEANUP_DEFINE(work, struct ews_put_work, release_work)

static int remove_one(struct ews_put_work *put, struct ews_put_cursor *at, const struct ews_change *change)
{
	int dir_fd = ews_put_reach_parent(&put->reach, at, change->path);

	/* Without its directory it is not there either. */
	if (dir_fd == EWS_ENOTFOUND)
		return 0;
	if (dir_fd < 0)
		return dir_fd;
	return ews_put_remove(put, dir_fd, ews_path_base(change->path), change->from);
}

/* What goes, deepest first. What is replaced goes when its successor comes. */
static int remove_all(struct ews_put_work *put)
{
	EWS_CLEANUP(put_cursor) struct ews_put_cursor at = EWS_PUT_CURSOR_INIT;

	for (size_t i = put->changes->n; i-- > 0;) {
		int rc;

		if (put->changes->items[i].to)
			continue;
		rc = ews_put_settle(put, i, remove_one(put, &at, &put->changes->items[i]));
		if (rc < 0)
			return rc;
	}
	return 0;
}

static bool is_leaf(const struct ews_change *change)
{
	return change->to && !ews_entry_is_dir(change->to);
}

/* The files and links, as several threads make them. */
struct leaves {
	struct ews_put_work *put;
	struct ews_put_worker *workers; /* one a thread */
};

static int make_leaf(const struct leaves *leaves, size_t at, unsigned thread)
{
	struct ews_put_work *put = leaves->put;
	const struct ews_put_turn *turn = &put->turns[at];
	struct ews_put_worker *worker = &leaves->workers[thread];
	const struct ews_change *change = &put->changes->items[turn->i];

	if (!is_leaf(change) || ews_put_is_name(put, turn->i))
		return 0;
	worker->place = turn->place.pack ? &turn->place : NULL;
	return ews_put_settle(put, turn->i, ews_put_replace(put, worker, change));
}

static int make_some_leaves(size_t from, size_t end, unsigned thread, void *payload)
{
	int rc = 0;

	for (size_t at = from; at < end && rc == 0; at++)
		rc = make_leaf(payload, at, thread);
	return rc;
}

/* How many threads make the files and links? */
static unsigned count_threads(const struct ews_put_work *put)
{
	size_t n = 0;

	for (size_t i = 0; i < put->changes->n; i++)
		n += is_leaf(&put->changes->items[i]);
	if (n < FEW_FILES || put->opts->contents)
		return 1;
	return put->opts->threads ? put->opts->threads : ews_pool_threads();
}

/* One directory takes one new name at a time, and the next file mostly is in the same directory: so a part for each thread. */
static int make_leaves(struct ews_put_work *put)
{
	unsigned threads = count_threads(put);
	struct leaves leaves = { .put = put };
	int rc;

	ews_put_find_order(put);
	leaves.workers = ews_calloc(threads, sizeof(*leaves.workers));
	for (unsigned k = 0; k < threads; k++)
		leaves.workers[k] = (struct ews_put_worker)EWS_PUT_WORKER_INIT;
	rc = ews_pool_parts(put->changes->n, CHUNK, threads, make_some_leaves, &leaves);
	for (unsigned k = 0; k < threads; k++)
		ews_put_worker_release(&leaves.workers[k]);
	free(leaves.workers);
	return rc;
}

int ews_put(struct ews_put_report *report, const struct ews_changes *changes, const struct ews_put_opts *opts)
{
	EWS_CLEANUP(work) struct ews_put_work put = { .opts = opts, .changes = changes, .report = report };
	struct ews_error_saved fatal = EWS_ERROR_SAVED_INIT;
	int rc;

	begin(&put);
	for (size_t i = 0; i < changes->n; i++) {
		rc = ews_put_reach_check(changes->items[i].path);
		if (rc < 0)
			return rc;
	}
	ews_put_find_names(&put);
	rc = remove_all(&put);
	if (rc == 0)
		rc = ews_put_make_dirs(&put);
	if (rc == 0)
		rc = make_leaves(&put);
	if (rc == 0)
		rc = ews_put_add_names(&put);
	if (rc < 0) {
		ews_error_save(&fatal);
		(void)ews_put_dress_dirs(&put, 0); /* what cannot be closed is named in the report */
		rc = ews_error_restore(&fatal);
	} else {
		rc = ews_put_dress_dirs(&put, changes->n);
	}
	ews_strv_sort(&report->failed);
	ews_strv_sort(&report->lost_attrs);
	return rc < 0 ? rc : report->failed.n > 0;
}

int ews_put_all(struct ews_put_report *report, const struct ews_changes *changes, const struct ews_put_opts *opts)
{
	int rc = ews_put(report, changes, opts);

	return rc <= 0 ? rc : ews_error(EWS_EIO, "%zu of %zu paths could not be put", report->failed.n, changes->n);
}
