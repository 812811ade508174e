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

/* Turns that one thread goes through, and then all who are done with their own. */
struct part {
	atomic_size_t next;
	size_t end;
};

/* The files and links, as several threads make them. */
struct leaves {
	struct ews_put_work *put;
	struct ews_put_worker *workers; /* one a thread */
	struct part *parts; /* likewise */
	size_t n;
	atomic_bool has_failed;
};

static int make_leaf(const struct leaves *leaves, const struct ews_put_turn *turn, unsigned thread)
{
	struct ews_put_work *put = leaves->put;
	struct ews_put_worker *worker = &leaves->workers[thread];
	const struct ews_change *change = &put->changes->items[turn->i];

	if (!is_leaf(change) || ews_put_is_name(put, turn->i))
		return 0;
	worker->place = turn->place.pack ? &turn->place : NULL;
	return ews_put_settle(put, turn->i, ews_put_replace(put, worker, change));
}

/* Make what is left of a part. */
static int make_rest(struct leaves *leaves, struct part *part, unsigned thread)
{
	size_t at;

	while (!leaves->has_failed && (at = atomic_fetch_add(&part->next, CHUNK)) < part->end) {
		size_t end = at + CHUNK < part->end ? at + CHUNK : part->end;

		for (; at < end; at++) {
			int rc = make_leaf(leaves, &leaves->put->turns[at], thread);

			if (rc < 0) {
				leaves->has_failed = true;
				return rc;
			}
		}
	}
	return 0;
}

/*
 * One directory takes one new name at a time: the threads are far from each other. And each stays with its own part as long as it
 * can, where the next file mostly is in the same directory.
 */
static int make_part(size_t i, unsigned thread, void *payload)
{
	struct leaves *leaves = payload;
	int rc = 0;

	for (size_t k = 0; k < leaves->n && rc == 0; k++)
		rc = make_rest(leaves, &leaves->parts[(i + k) % leaves->n], thread);
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

static int make_leaves(struct ews_put_work *put)
{
	unsigned threads = count_threads(put);
	struct leaves leaves = { .put = put, .n = threads };
	size_t len = put->changes->n / threads + 1;
	int rc;

	ews_put_find_order(put);
	leaves.workers = ews_calloc(threads, sizeof(*leaves.workers));
	leaves.parts = ews_calloc(threads, sizeof(*leaves.parts));
	for (unsigned k = 0; k < threads; k++) {
		leaves.workers[k] = (struct ews_put_worker)EWS_PUT_WORKER_INIT;
		leaves.parts[k].next = k * len;
		leaves.parts[k].end = (k + 1) * len < put->changes->n ? (k + 1) * len : put->changes->n;
	}
	rc = ews_pool_for(threads, 1, threads, make_part, &leaves);
	for (unsigned k = 0; k < threads; k++)
		ews_put_worker_release(&leaves.workers[k]);
	free(leaves.workers);
	free(leaves.parts);
	return rc;
}

int ews_put(struct ews_put_report *report, const struct ews_changes *changes, struct ews_entries *stats,
	    const struct ews_put_opts *opts)
{
	EWS_CLEANUP(work)
	struct ews_put_work put = { .opts = opts, .changes = changes, .stats = stats, .report = report };
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
	if (rc < 0)
		return rc;
	if (report->failed.n)
		return ews_error(EWS_EIO, "%zu of %zu paths could not be put", report->failed.n, changes->n);
	return 0;
}
