/*
 * What the walk of a scan found gets ids and attributes: see scan.h.
 *
 * Each entry is on its own, so they are taken in parallel; a thread keeps the directory open that it reads in. What could
 * not be read is noted beside the entries, and moved to the skips when all threads are done.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/meter.h"
#include "base/pool.h"
#include "store/hardlink.h"
#include "store/scan_hint.h"
#include "store/scan_open.h"
#include "store/xattr.h"

#define READ_TRIES 3
#define WRITE_BYTES_MAX 0x7ffff000 /* that one write(2) takes */
#define WRITE_NS_PER_BYTE 100 /* 10 MB a second: a disk that is slow, or busy */
#define FILES_CHUNK 64 /* that one thread looks at in a row */

struct worker {
	struct ews_arena arena; /* of what it finds */
	struct ews_dir_at at; /* where it reads */
	size_t cache_at, pinned_at; /* in these lists */
};

struct fill {
	struct ews_scan *scan;
	const struct ews_scan_fill_opts *opts;
	struct ews_scan_hint hint;
	struct worker *workers;
	uint8_t *lost; /* beside the entries: why one is left out, 0 when it isn't */
	_Atomic size_t done; /* or begun */
	_Atomic size_t n_read;
	_Atomic uint64_t bytes; /* of files that were read */
	atomic_flag is_telling; /* one thread at a time does */
};

enum { LOST_GONE = 255 };

static bool matches_cache(const struct ews_entry *old, const struct ews_entry *entry)
{
	return old && old->has_stat && !old->is_racy && ews_entry_same_stat(old, entry);
}

static const struct ews_entry *find_pinned(const struct ews_scan_fill_opts *opts, struct worker *worker,
					   const char *path)
{
	return opts->pinned ? ews_entries_find_next(opts->pinned, path, &worker->pinned_at) : NULL;
}

/* A cache may outlive the objects that it speaks of: only what a ref holds is there for certain. */
static bool is_kept(const struct ews_scan_fill_opts *opts, struct worker *worker, const struct ews_entry *old)
{
	const struct ews_entry *pinned = find_pinned(opts, worker, old->path);

	if (!opts->batch || old->type == EWS_ENTRY_DIR || old->type == EWS_ENTRY_FIFO)
		return true;
	/* What will be recorded must outlive a gc that runs until it is. */
	return (pinned && ews_oid_equal(&pinned->oid, &old->oid)) ||
	       ews_odb_holds(opts->odb, &old->oid, opts->is_wary);
}

static int take_attrs(struct ews_entry *entry, struct ews_arena *arena, const struct ews_buf *text)
{
	entry->xattrs = text->len ? ews_arena_dup(arena, text->ptr, text->len) : NULL;
	return 0;
}

/* The attributes of an open file. */
static int read_attrs_of(struct ews_entry *entry, struct ews_arena *arena, int fd)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int rc = ews_xattr_read(&text, fd);

	return rc < 0 ? ews_error_wrap("in '%s'", entry->path) : take_attrs(entry, arena, &text);
}

/* The attributes of what a name stands for. */
static int read_attrs(struct ews_entry *entry, struct ews_arena *arena, int dir_fd, const char *name)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int rc = ews_xattr_read_at(&text, dir_fd, name);

	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		return 0;
	}
	return rc < 0 ? ews_error_wrap("in '%s'", entry->path) : take_attrs(entry, arena, &text);
}

/*
 * Could one write(2) that is not done yet have changed it? Its times are those at which it begins: what it writes later shows in
 * nothing. How long it takes, nobody knows.
 */
static bool is_late(const struct ews_entry *entry, const struct ews_scan *scan)
{
	const struct timespec started = { scan->started_s, scan->started_ns };
	uint64_t bytes = entry->size < WRITE_BYTES_MAX ? entry->size : WRITE_BYTES_MAX;
	int64_t window_ns = EWS_RACY_NS + (int64_t)bytes * WRITE_NS_PER_BYTE;

	return ews_clock_is_late(entry->mtime_s, entry->mtime_ns, &started, window_ns) ||
	       ews_clock_is_late(entry->ctime_s, entry->ctime_ns, &started, window_ns);
}

/* Why is left out what can't be opened? 0: it is not, and the look fails, for nobody knows what is there. */
static uint8_t why_lost(int err)
{
	if (ews_errno_is_absent(err))
		return LOST_GONE;
	/* A file on a bad block is named: nobody could save anything else if that ended it. */
	return ews_errno_is_ours(err) ? 0 : EWS_SKIP_UNREADABLE;
}

/*
 * Read one file, its attributes too: 0 done, 1 it moved under the reader, below zero an error; `lost` says why it is
 * left out.
 */
static int read_file(struct fill *fill, struct ews_entry *entry, struct worker *worker, const char *name,
		     uint8_t *lost)
{
	const struct ews_scan_fill_opts *opts = fill->opts;
	const struct ews_entry *pinned = find_pinned(opts, worker, entry->path);
	const struct ews_oid *held = pinned && pinned->type == EWS_ENTRY_FILE ? &pinned->oid : NULL;
	EWS_CLEANUP(buf) struct ews_buf attrs = EWS_BUF_INIT;
	int dir_fd = worker->at.fd;
	bool is_closed = false;
	EWS_CLEANUP(fd) int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat before, after;
	int rc;

	if (fd < 0 && errno == EACCES &&
	    (opts->may_chmod || (opts->ours && ews_strv_sorted_has(opts->ours, entry->path)))) {
		is_closed = true;
		fd = ews_scan_open_closed_file(&attrs, dir_fd, name);
	}
	if (fd < 0) {
		/* Another's lease is given up, and a server tells of what is gone, at the next try. */
		if (errno == ELOOP || errno == ENXIO || errno == EAGAIN || errno == ESTALE)
			return 1;
		*lost = why_lost(errno);
		return *lost ? 0 : ews_error_os("cannot open '%s'", entry->path);
	}
	if (fstat(fd, &before) < 0)
		return ews_error_os("cannot look at '%s'", entry->path);
	if (!S_ISREG(before.st_mode))
		return 1;
	if (opts->batch)
		rc = ews_batch_add_fd(&entry->oid, opts->batch, fd, (uint64_t)before.st_size, held);
	else
		rc = ews_batch_hash_fd(&entry->oid, opts->odb, fd, (uint64_t)before.st_size);
	if (rc == EWS_ESTALE) {
		ews_error_clear();
		return 1;
	}
	if (rc < 0)
		return ews_error_wrap("cannot read '%s'", entry->path);
	rc = is_closed ? take_attrs(entry, &worker->arena, &attrs) : read_attrs_of(entry, &worker->arena, fd);
	if (rc < 0)
		return rc;
	if (fstat(fd, &after) < 0)
		return ews_error_os("cannot look at '%s'", entry->path);
	ews_entry_set_stat(entry, &before);
	entry->is_racy = opts->doubts_late && is_late(entry, fill->scan);
	fill->bytes += (uint64_t)before.st_size;
	return ews_entry_stat_matches(entry, &after) ? 0 : 1;
}

static int read_link(struct fill *fill, struct ews_entry *entry, int dir_fd, const char *name, uint8_t *lost)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	if (ews_dir_read_link(&text, dir_fd, name) < 0) {
		if (errno == EINVAL)
			return 1;
		if (!ews_errno_is_absent(errno))
			return ews_error_os("cannot read the link '%s'", entry->path);
		*lost = LOST_GONE;
		return 0;
	}
	entry->size = text.len;
	if (fill->opts->batch)
		return ews_batch_add(&entry->oid, fill->opts->batch, EWS_OBJECT_BLOB, text.ptr, text.len);
	ews_odb_hash(&entry->oid, fill->opts->odb, EWS_OBJECT_BLOB, text.ptr, text.len);
	return 0;
}

/* Tell how far it has come, unless another thread is telling just now. */
static void tell(struct fill *fill, size_t done)
{
	if (!fill->opts->progress || atomic_flag_test_and_set(&fill->is_telling))
		return;
	fill->opts->progress(fill->opts->payload, done, fill->scan->entries.n, fill->bytes);
	atomic_flag_clear(&fill->is_telling);
}

static void tell_ahead(void *payload, uint64_t bytes)
{
	struct fill *fill = payload;

	fill->bytes += bytes;
	tell(fill, fill->done - 1);
}

/* The same, and of a large one it is told how far that has come. */
static int read_told(struct fill *fill, struct ews_entry *entry, struct worker *worker, const char *name,
		     uint8_t *lost)
{
	struct ews_meter meter;
	uint64_t told;
	int rc;

	if (!fill->opts->progress || entry->size < EWS_METER_STEP_BYTES)
		return read_file(fill, entry, worker, name, lost);
	ews_meter_begin(&meter, tell_ahead, fill);
	rc = read_file(fill, entry, worker, name, lost);
	told = ews_meter_end(&meter);
	/* Its size was added when it was done. It may have been read more than once. */
	if (rc == 0)
		fill->bytes -= told < entry->size ? told : entry->size;
	return rc;
}

static int fill_one(size_t i, unsigned thread, void *payload)
{
	struct fill *fill = payload;
	struct worker *worker = &fill->workers[thread];
	struct ews_entry *entry = &fill->scan->entries.items[i];
	const struct ews_entry *old = NULL;
	const char *name;
	size_t begun = fill->done++;
	int dir_fd, rc = 0;

	if (thread == 0)
		tell(fill, begun);
	if (fill->opts->racy_only && !entry->is_racy)
		return 0;
	entry->is_racy = false;
	entry->xattrs = NULL;
	if (fill->opts->cache)
		old = ews_entries_find_next(fill->opts->cache, entry->path, &worker->cache_at);
	if (!fill->opts->attrs_only && matches_cache(old, entry) && is_kept(fill->opts, worker, old)) {
		entry->oid = old->oid;
		if (old->xattrs)
			entry->xattrs = ews_arena_dup(&worker->arena, old->xattrs, strlen(old->xattrs));
		return 0;
	}
	if (entry->type == EWS_ENTRY_GITLINK)
		return 0;
	fill->n_read++;
	dir_fd = ews_dir_at_parent(&worker->at, fill->scan->root_fd, entry->path, &name);
	if (dir_fd < 0) {
		/* The walk was in there: of a directory that is left out now what lies below it would stay an entry. */
		if (ews_errno_is_passing(errno))
			return dir_fd;
		/* A link or a mount that came is no directory of ours. */
		fill->lost[i] = errno == ELOOP || errno == EXDEV ? LOST_GONE : why_lost(errno);
		ews_error_clear();
		return 0;
	}
	if (!fill->opts->attrs_only && entry->type == EWS_ENTRY_FILE &&
	    !ews_scan_hint_find(&entry->oid, &fill->hint, entry)) {
		rc = 1;
		for (int tries = 0; rc == 1 && tries < READ_TRIES; tries++)
			rc = read_told(fill, entry, worker, name, &fill->lost[i]);
		if (rc == 1)
			fill->lost[i] = EWS_SKIP_CHANGING;
		return rc < 0 ? rc : 0;
	}
	if (!fill->opts->attrs_only && entry->type == EWS_ENTRY_LINK)
		rc = read_link(fill, entry, dir_fd, name, &fill->lost[i]);
	if (rc < 0)
		return rc;
	if (rc == 1)
		fill->lost[i] = EWS_SKIP_CHANGING;
	if (fill->lost[i])
		return 0;
	return read_attrs(entry, &worker->arena, dir_fd, name);
}

static void drop_lost(struct ews_scan *scan, const uint8_t *lost, bool name_vanished)
{
	size_t kept = 0;

	for (size_t i = 0; i < scan->entries.n; i++) {
		scan->n_vanished += lost[i] == LOST_GONE;
		if (lost[i] && (lost[i] != LOST_GONE || name_vanished))
			ews_skips_add(&scan->skips, scan->entries.items[i].path,
				      lost[i] == LOST_GONE ? EWS_SKIP_CHANGING : (enum ews_skip_reason)lost[i],
				      scan->entries.items[i].size);
		if (!lost[i])
			scan->entries.items[kept++] = scan->entries.items[i];
	}
	if (kept == scan->entries.n)
		return;
	scan->entries.n = kept;
	ews_skips_sort(&scan->skips);
}

int ews_scan_fill(struct ews_scan *scan, const struct ews_scan_fill_opts *opts)
{
	unsigned threads = opts->threads ? opts->threads : ews_pool_threads();
	struct fill fill = { .scan = scan, .opts = opts, .is_telling = ATOMIC_FLAG_INIT };
	int rc;

	ews_scan_hint_init(&fill.hint, opts->hint, opts->odb, scan);
	fill.lost = ews_calloc(scan->entries.n + 1, 1);
	fill.workers = ews_calloc(threads, sizeof(*fill.workers));
	for (unsigned i = 0; i < threads; i++)
		fill.workers[i] = (struct worker){ .arena = EWS_ARENA_INIT, .at = EWS_DIR_AT_INIT };
	rc = ews_pool_for(scan->entries.n, FILES_CHUNK, threads, fill_one, &fill);
	for (unsigned i = 0; i < threads; i++) {
		ews_arena_join(&scan->entries.arena, &fill.workers[i].arena);
		ews_dir_at_release(&fill.workers[i].at);
	}
	free(fill.workers);
	ews_scan_hint_release(&fill.hint);
	scan->n_read = fill.n_read;
	/* The thread that tells of it need not have been the last. */
	if (rc == 0 && opts->progress)
		opts->progress(opts->payload, scan->entries.n, scan->entries.n, fill.bytes);
	if (rc == 0) {
		drop_lost(scan, fill.lost, opts->name_vanished);
		ews_hardlinks_find(&scan->entries);
		ews_scan_count(scan);
	}
	free(fill.lost);
	return rc;
}
