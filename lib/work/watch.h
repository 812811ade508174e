/*
 * Watch: what happens in a directory, in settled batches.
 *
 * A batch comes when nothing of interest happened for a while, and at the latest
 * four times that while after the first thing did: a directory that changes
 * for ever still reports. Each says what differs from the batch before, so that
 * all of them together lead to what is there.
 *
 * Of no interest is what the rules for ignored files match and git does not track (.gitignore files are
 * read anew when they change), ".git", ".superqode" and home wherever they lie, and what the caller names.
 *
 * As iterator:
 *
 *     while (ews_watch_next(&batch, watch, -1) > 0)
 *             for (i = 0; i < batch->n; i++)
 *                     look_at(&batch->items[i]);
 *
 * As callback: ews_watch_run().
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_WATCH_H
#define EWS_WORK_WATCH_H

#include <stdint.h>

#include "base/cleanup.h"
#include "base/notify_tree.h"
#include "base/strv.h"
#include "store/repo.h"

#define EWS_WATCH_HISTORY_MAX 1000

struct ews_watch_change {
	enum ews_tree_change_kind kind;
	char *path; /* relative to the watched directory */
	char *old_path; /* of what was moved, else NULL */
	bool is_dir;
	int64_t time_s; /* when it was found */
};

struct ews_watch_batch {
	struct ews_watch_change *items;
	size_t n, cap;
};

struct ews_watch_opts {
	const struct ews_strv *ignore; /* more rules, as in .gitignore; they hold for what git tracks, too */
	const struct ews_strv *exts; /* only files that end in one of these, with or without its dot; none: all */
	unsigned debounce_ms;
	bool only_top; /* not what is in subdirectories */
	bool polls; /* look again and again, ask the kernel for nothing */
	int wake_fd; /* when it becomes readable, ews_watch_next() returns; 0: none */
};

struct ews_watch;

/* Watch the directory `dir`, an absolute real path, which lies in `repo` (NULL: in none). What is there now is known. */
int ews_watch_open(struct ews_watch **out, struct ews_repo *repo, const char *dir, const struct ews_watch_opts *opts);
void ews_watch_free(struct ews_watch *watch);

/*
 * Wait for the next batch, at most `timeout_ms` (below zero: for ever). Returns 1 with a batch that holds until the
 * next call, 0 when the time is over or it was woken.
 * Fails with EWS_ENOTFOUND when the directory is gone, once all of it was reported as deleted.
 */
int ews_watch_next(const struct ews_watch_batch **out, struct ews_watch *watch, int timeout_ms);

/* Call `fn` for each batch until it gives something else than 0, which is returned, or until woken: 0. */
typedef int (*ews_watch_fn)(void *payload, const struct ews_watch_batch *batch);
int ews_watch_run(struct ews_watch *watch, ews_watch_fn fn, void *payload);

/* The last changes, at most EWS_WATCH_HISTORY_MAX: the `i`-th, from the oldest, which is 0. NULL when there are not so many. */
const struct ews_watch_change *ews_watch_history(const struct ews_watch *watch, size_t i);

/*
 * A snapshot was taken, which opens up files of a workspace that can't be read, and closes them again: that was
 * nobody's change. Where it could not be, that error stays set.
 */
void ews_watch_forgive(struct ews_watch *watch);

/* How many directories are watched; how many of them are polled; why, and what can be done about it ("" when on purpose). */
struct ews_watch_extent {
	size_t n_dirs, n_polled;
	const char *trouble, *hint;
};
struct ews_watch_extent ews_watch_extent(const struct ews_watch *watch);
/* Add the paths of those that are polled, sorted; the watched directory itself is ".". */
void ews_watch_list_polled(struct ews_strv *out, const struct ews_watch *watch);

EWS_CLEANUP_DEFINE_PTR(watch, struct ews_watch, ews_watch_free)

#endif
