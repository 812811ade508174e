/*
 * What the parts of put share while a list of changes becomes a directory; nobody but put*.c looks in here.
 *
 * What was found or made at a path is held by a descriptor before anything is done to it, so that a name which is swapped
 * meanwhile hits nothing else.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_PUT_WORK_H
#define EWS_STORE_PUT_WORK_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "base/strv.h"
#include "store/entry.h"
#include "store/pack_place.h"
#include "store/put_reach.h"

struct ews_put_opts;
struct ews_put_report;

/* What a thread keeps open. */
struct ews_put_worker {
	struct ews_put_cursor at;
	struct ews_dir_at source;
	const struct ews_pack_place *place; /* of the content that is written; NULL: it was not looked for */
};

#define EWS_PUT_WORKER_INIT { EWS_PUT_CURSOR_INIT, EWS_DIR_AT_INIT, NULL }

static inline void ews_put_worker_release(struct ews_put_worker *worker)
{
	ews_put_cursor_release(&worker->at);
	ews_dir_at_release(&worker->source);
}
EWS_CLEANUP_DEFINE(put_worker, struct ews_put_worker, ews_put_worker_release)

/* A file that was made, by which others that become names of it know it. */
struct ews_put_made {
	dev_t dev;
	ino_t ino;
};

/* Which change comes next, and where the store has its content, as far as that was looked for. */
struct ews_put_turn {
	struct ews_pack_place place;
	size_t i;
};

struct ews_put_work {
	const struct ews_put_opts *opts;
	const struct ews_changes *changes;
	struct ews_put_reach reach;
	bool *has_failed; /* a flag for each change */
	struct ews_put_turn *turns; /* one for each change */
	size_t *first; /* for each change which one makes the file that it is a name of: mostly itself */
	struct ews_put_made *made; /* beside the changes; NULL: no file gets several names */
	atomic_bool no_clones; /* the file system has none */

	pthread_mutex_t mutex; /* guards what follows */
	struct ews_put_report *report;
	size_t done;
	uint64_t bytes; /* of the files among them */
	uint64_t ahead; /* of those that are being written */
};

/* put_report.c: what was done, and what could not be. */

/* Note that change `i` is done, or why not. Returns below zero when there is no point in going on. */
int ews_put_settle(struct ews_put_work *put, size_t i, int rc);
/* Of a file that is being written (`put`) so many bytes more are there; until they are told with the file, when it is done. */
void ews_put_tell_ahead(void *put, uint64_t bytes);
void ews_put_forget_ahead(struct ews_put_work *put, uint64_t bytes);
/* Add `path`, with the error that is set, to what failed. */
void ews_put_name_failed(struct ews_put_work *put, const char *path);
/* Add what `path` should have and can't to what was lost. */
void ews_put_name_lost(struct ews_put_work *put, const char *path, const struct ews_strv *lost);

/* put_dress.c: all but the content. */

/* What something has from the moment it was made, if nothing came between. */
enum {
	EWS_PUT_HAS_MODE = 1,
	EWS_PUT_HAS_ATTRS = 2, /* there are to be none, and there are none */
};

/*
 * Give what is open at `fd` the owner, attributes, mode and time of its `to`, and keep its stat data. The attributes and
 * the mode must be allowed to the owner now.
 */
int ews_put_dress(struct ews_put_work *put, int fd, const struct ews_change *change, unsigned has);
/*
 * Make the stat data of `entry`, when it is one of the caller's lists, those of `st`. Of a
 * directory, which has more to come, only whose it is.
 */
void ews_put_keep_stat(struct ews_put_work *put, const struct ews_entry *entry, const struct stat *st);

/* put_content.c: where contents come from. */

/* Write what `change` makes into the empty file `fd`; the worker says where the store has it. */
int ews_put_fill(struct ews_put_work *put, struct ews_put_worker *worker, int fd, const struct ews_change *change);
/* Append what the link says that `change` makes. */
int ews_put_read_link(struct ews_buf *text, struct ews_put_work *put, struct ews_put_worker *worker,
		      const struct ews_change *change);

/* put_order.c: in which order files are made. */

/* Find when each change has its turn. */
void ews_put_find_order(struct ews_put_work *put);

/* put_node.c: one file, link or FIFO. */

/*
 * Remove what `name` is; a directory only when it is empty. That nothing is there is fine. With `as_seen` it fails with EWS_ESTALE
 * unless it is what `from` was seen as; NULL: there was nothing.
 */
int ews_put_remove(const struct ews_put_work *put, int dir_fd, const char *name, const struct ews_entry *from);
/* Put a file, a link or a FIFO where `change` has it, whatever is there, or what it is from. */
int ews_put_replace(struct ews_put_work *put, struct ews_put_worker *worker, const struct ews_change *change);

/* put_names.c: files that have several names. */

/* Find which changes are names of one file. */
void ews_put_find_names(struct ews_put_work *put);
/* Does change `i` become another name of a file, and is no file of its own? */
bool ews_put_is_name(const struct ews_put_work *put, size_t i);
/* Give files their other names, once all files are made. */
int ews_put_add_names(struct ews_put_work *put);

/* put_dirs.c: directories, before there is anything in them and after. */

/* Make those that come, those above first; their modes wait until they are filled. */
int ews_put_make_dirs(struct ews_put_work *put);
/*
 * Modes and times of directories, deepest first: of those among the first `n` changes, and of
 * those that were opened up. Where both speak of a directory, the change is right.
 */
int ews_put_dress_dirs(struct ews_put_work *put, size_t n);

#endif
