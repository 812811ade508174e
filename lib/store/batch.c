/*
 * Batches: see batch.h.
 *
 * One mutex guards all that threads share: the ids seen, the objects kept for
 * writing loose, the pack. Hashing and deflating happen outside, so that the
 * mutex is held for a copy into the pack's buffer. A very large file is the
 * exception: it is read twice, first for its id (the store may have it), then
 * into the pack with the mutex held; when it was changed in between,
 * the pack is cut back.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/batch.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/meter.h"
#include "base/pool.h"
#include "base/spares.h"
#include "base/sync.h"
#include "store/gate.h"
#include "store/loose.h"
#include "store/pack.h"

/*
 * Loose objects are seen by every git at once and leave no tiny packs; but each is a file and mostly a directory that is made,
 * and two syncs. Of two dozen that takes as long as all else that a snapshot does.
 */
#define PLAIN_BYTES_MAX (64 * EWS_MIB)
#define LOOSE_COUNT_MAX 24
#define LOOSE_BYTES_MAX EWS_MIB
/* Files above this are streamed. */
#define WHOLE_BYTES_MAX (32 * EWS_MIB)
#define STEP_BYTES (256 * EWS_KIB)
#define KEPT_BYTES_MAX (256 * EWS_KIB) /* of a buffer, from one object to the next */

struct kept {
	struct ews_oid oid;
	enum ews_object_type type;
	void *data;
	size_t len;
};

/* A thread's tools, borrowed for one object. */
struct tools {
	struct ews_spare spare;
	struct ews_deflater *deflater;
	struct ews_buf content, record;
};

struct ews_batch {
	struct ews_odb *odb;
	int gate_fd; /* while it is open, nobody collects what no ref names yet; -1: no gate */
	pthread_mutex_t lock;
	struct ews_oidset seen;
	struct kept kept[LOOSE_COUNT_MAX];
	size_t n_kept;
	struct ews_pack *pack; /* NULL: none is needed as yet */
	struct ews_spares tools;
	struct ews_error_saved broken; /* why no more can be written */
	bool is_brief, is_wary;
	_Atomic uint64_t plain_bytes;
};

struct ews_batch *ews_batch_new(struct ews_odb *odb)
{
	struct ews_batch *batch = ews_calloc(1, sizeof(*batch));

	batch->odb = odb;
	batch->gate_fd = ews_gate_enter(ews_odb_common_dir(odb));
	batch->broken = (struct ews_error_saved)EWS_ERROR_SAVED_INIT;
	batch->tools = (struct ews_spares)EWS_SPARES_INIT;
	pthread_mutex_init(&batch->lock, NULL);
	return batch;
}

void ews_batch_keep_briefly(struct ews_batch *batch)
{
	batch->is_brief = true;
}

void ews_batch_be_wary(struct ews_batch *batch)
{
	batch->is_wary = true;
}

/* Back to an empty batch. */
static void clear(struct ews_batch *batch)
{
	for (size_t i = 0; i < batch->n_kept; i++)
		free(batch->kept[i].data);
	batch->n_kept = 0;
	ews_pack_free(batch->pack);
	batch->pack = NULL;
	ews_oidset_release(&batch->seen);
	ews_error_saved_release(&batch->broken);
}

static void free_tools(struct ews_spare *spare)
{
	struct tools *tools = (struct tools *)spare;

	ews_deflater_free(tools->deflater);
	ews_buf_release(&tools->content);
	ews_buf_release(&tools->record);
	free(tools);
}

void ews_batch_free(struct ews_batch *batch)
{
	if (!batch)
		return;
	clear(batch);
	ews_spares_clear(&batch->tools, free_tools);
	pthread_mutex_destroy(&batch->lock);
	ews_cleanup_fd(&batch->gate_fd);
	free(batch);
}

/* Remember the error that is set as the end of this batch. The caller holds the lock. */
static int spoil(struct ews_batch *batch, int rc)
{
	if (batch->broken.code == EWS_OK)
		ews_error_save(&batch->broken);
	return rc;
}

/* Fail with what spoilt the batch, if anything did. The caller holds the lock. */
static int check_broken(const struct ews_batch *batch)
{
	if (batch->broken.code == EWS_OK)
		return 0;
	ews_error(batch->broken.code, "%s", batch->broken.message);
	if (batch->broken.hint && *batch->broken.hint)
		ews_error_hint("%s", batch->broken.hint);
	return batch->broken.code;
}

static int need_pack(struct ews_batch *batch)
{
	if (batch->pack)
		return 0;
	return ews_pack_open(&batch->pack, ews_odb_write_dir(batch->odb), ews_odb_algo(batch->odb),
			     ews_odb_sharing(batch->odb));
}

static struct tools *borrow_tools(struct ews_batch *batch)
{
	struct tools *tools = (struct tools *)ews_spares_take(&batch->tools);

	if (!tools) {
		tools = ews_calloc(1, sizeof(*tools));
		tools->deflater = ews_deflater_new();
		tools->content = tools->record = (struct ews_buf)EWS_BUF_INIT;
	}
	return tools;
}

static void return_tools(struct ews_batch *batch, struct tools *tools)
{
	ews_buf_shrink(&tools->content, KEPT_BYTES_MAX);
	ews_buf_shrink(&tools->record, KEPT_BYTES_MAX);
	ews_spares_give(&batch->tools, &tools->spare);
}

/* Deflate here, then append to the pack under the lock. */
static int pack_object(struct ews_batch *batch, struct tools *tools, const struct ews_oid *oid,
		       enum ews_object_type type, const void *data, size_t len)
{
	bool is_plain = batch->is_brief && atomic_fetch_add(&batch->plain_bytes, len) + len <= PLAIN_BYTES_MAX;
	uint32_t sum;
	int rc;

	ews_buf_truncate(&tools->record, 0);
	ews_pack_format(&tools->record, tools->deflater, is_plain, type, data, len);
	sum = ews_pack_sum(tools->record.ptr, tools->record.len);
	pthread_mutex_lock(&batch->lock);
	rc = check_broken(batch);
	if (rc == 0) {
		rc = need_pack(batch);
		if (rc == 0)
			rc = ews_pack_add(batch->pack, oid, sum, tools->record.ptr, tools->record.len);
		if (rc < 0)
			spoil(batch, rc);
	}
	pthread_mutex_unlock(&batch->lock);
	return rc;
}

bool ews_batch_has(struct ews_batch *batch, const struct ews_oid *oid)
{
	bool has;

	pthread_mutex_lock(&batch->lock);
	has = ews_oidset_has(&batch->seen, oid);
	pthread_mutex_unlock(&batch->lock);
	return has;
}

/* Has the store the object, so that it need not be written? It counts as new then. */
static bool is_there(const struct ews_batch *batch, const struct ews_oid *oid)
{
	return ews_odb_holds(batch->odb, oid, batch->is_wary);
}

/* Add what has the id `oid`. */
static int add(struct ews_batch *batch, struct tools *tools, const struct ews_oid *oid, enum ews_object_type type,
	       const void *data, size_t len)
{
	bool is_new, is_kept = false;
	int rc;

	pthread_mutex_lock(&batch->lock);
	rc = check_broken(batch);
	is_new = rc == 0 && ews_oidset_add(&batch->seen, oid);
	pthread_mutex_unlock(&batch->lock);
	if (rc < 0 || !is_new)
		return rc;
	/* From here on other threads take it for added: only a failure that spoils the batch may follow. */
	/* A commit tells its time: it is hardly ever there, and to be sure of that every pack is opened. */
	if (type != EWS_OBJECT_COMMIT && is_there(batch, oid))
		return 0;

	pthread_mutex_lock(&batch->lock);
	if (!batch->pack && batch->n_kept < LOOSE_COUNT_MAX && len <= LOOSE_BYTES_MAX) {
		batch->kept[batch->n_kept++] = (struct kept){ *oid, type, ews_memdup(data, len), len };
		is_kept = true;
	}
	pthread_mutex_unlock(&batch->lock);
	return is_kept ? 0 : pack_object(batch, tools, oid, type, data, len);
}

int ews_batch_add(struct ews_oid *out, struct ews_batch *batch, enum ews_object_type type, const void *data,
		  size_t len)
{
	struct tools *tools = borrow_tools(batch);
	int rc;

	if (!len)
		data = "";
	ews_odb_hash(out, batch->odb, type, data, len);
	rc = add(batch, tools, out, type, data, len);
	return_tools(batch, tools);
	return rc;
}

static int fail_stale(uint64_t size)
{
	return ews_error(EWS_ESTALE, "the file no longer has %" PRIu64 " bytes", size);
}

/*
 * Read up to `len` bytes at `offset`, until there are `enough`, or the file ends. Returns how many. A file of `enough` bytes
 * is read whole by one call, which shows by what it did not find that there are no more.
 */
static ssize_t read_at(void *out, int fd, size_t len, size_t enough, uint64_t offset)
{
	size_t got = 0;

	while (got < enough) {
		ssize_t n = pread(fd, (char *)out + got, len - got, (off_t)(offset + got));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return ews_error_os("cannot read the file");
		if (n == 0)
			break;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

typedef int (*piece_fn)(void *payload, const void *data, size_t len);

/* Give the `size` bytes at `start` to `fn` in pieces; EWS_ESTALE when the file ends earlier or later. */
static int read_pieces(int fd, uint64_t start, uint64_t size, piece_fn fn, void *payload)
{
	EWS_CLEANUP(free) char *piece = ews_malloc(STEP_BYTES);
	uint64_t at = 0;
	int rc;

	while (at < size) {
		size_t want = size - at < STEP_BYTES ? (size_t)(size - at) : STEP_BYTES;
		ssize_t n = read_at(piece, fd, want, want, start + at);

		if (n < 0)
			return (int)n;
		if ((size_t)n < want)
			return fail_stale(size);
		rc = fn(payload, piece, want);
		if (rc < 0)
			return rc;
		ews_meter_count(want);
		at += want;
	}
	rc = (int)read_at(piece, fd, 1, 1, start + size);
	return rc > 0 ? fail_stale(size) : rc;
}

static int find_start(uint64_t *out, int fd)
{
	off_t start = lseek(fd, 0, SEEK_CUR);

	if (start < 0)
		return ews_error_os("cannot read the file");
	*out = (uint64_t)start;
	return 0;
}

static int hash_piece(void *payload, const void *data, size_t len)
{
	ews_hash_add(payload, data, len);
	return 0;
}

static int hash_blob(struct ews_oid *out, enum ews_hash_algo algo, int fd, uint64_t start, uint64_t size)
{
	EWS_CLEANUP(hash) struct ews_hash *hash = ews_hash_new(algo);
	char header[EWS_OBJECT_HEADER_MAX];
	int rc;

	ews_hash_add(hash, header, ews_object_header(header, EWS_OBJECT_BLOB, size));
	rc = read_pieces(fd, start, size, hash_piece, hash);
	if (rc < 0)
		return rc;
	*out = (struct ews_oid)EWS_OID_NONE;
	out->len = (uint8_t)ews_hash_finish(hash, out->id);
	return 0;
}

struct streaming {
	struct ews_batch *batch;
	struct ews_hash *hash;
};

static int stream_piece(void *payload, const void *data, size_t len)
{
	struct streaming *s = payload;
	int rc;

	ews_hash_add(s->hash, data, len);
	rc = ews_pack_stream_feed(s->batch->pack, data, len);
	return rc < 0 ? spoil(s->batch, rc) : 0;
}

/* The second reading: into the pack, and it must come to `oid` again. The caller holds the lock. */
static int stream_blob(struct ews_batch *batch, const struct ews_oid *oid, int fd, uint64_t start, uint64_t size)
{
	EWS_CLEANUP(hash) struct ews_hash *hash = ews_hash_new(ews_odb_algo(batch->odb));
	struct streaming streaming = { batch, hash };
	struct ews_error_saved why = EWS_ERROR_SAVED_INIT;
	struct ews_oid again = EWS_OID_NONE;
	char header[EWS_OBJECT_HEADER_MAX];
	int rc;

	rc = need_pack(batch);
	if (rc == 0)
		rc = ews_pack_stream_begin(batch->pack, EWS_OBJECT_BLOB, size);
	if (rc < 0)
		return spoil(batch, rc);
	ews_hash_add(hash, header, ews_object_header(header, EWS_OBJECT_BLOB, size));
	rc = read_pieces(fd, start, size, stream_piece, &streaming);
	if (rc == 0) {
		again.len = (uint8_t)ews_hash_finish(hash, again.id);
		if (!ews_oid_equal(&again, oid))
			rc = ews_error(EWS_ESTALE, "the file was changed while it was read");
	}
	if (rc == 0) {
		rc = ews_pack_stream_end(batch->pack, oid);
		if (rc < 0)
			return spoil(batch, rc);
		ews_oidset_add(&batch->seen, oid);
		return 0;
	}
	ews_error_save(&why);
	if (ews_pack_stream_cancel(batch->pack) < 0)
		spoil(batch, rc);
	return ews_error_restore(&why);
}

static int add_large(struct ews_oid *out, struct ews_batch *batch, int fd, uint64_t start, uint64_t size,
		     const struct ews_oid *held)
{
	struct ews_oid oid;
	int rc;

	rc = hash_blob(&oid, ews_odb_algo(batch->odb), fd, start, size);
	if (rc < 0)
		return rc;
	if (!(held && ews_oid_equal(&oid, held)) && !is_there(batch, &oid)) {
		pthread_mutex_lock(&batch->lock);
		rc = check_broken(batch);
		if (rc == 0 && !ews_oidset_has(&batch->seen, &oid))
			rc = stream_blob(batch, &oid, fd, start, size);
		pthread_mutex_unlock(&batch->lock);
	}
	if (rc < 0)
		return rc;
	*out = oid;
	return 0;
}

/* Are these the bytes of the blob `held`? Then `out` is that; else, the id that they have. */
static bool is_held(struct ews_oid *out, const struct ews_batch *batch, const struct ews_oid *held,
		    const void *data, size_t len)
{
	/* To compare them takes a tenth of the time. */
	if (held && ews_odb_remembers(batch->odb, held, data, len)) {
		*out = *held;
		return true;
	}
	ews_odb_hash(out, batch->odb, EWS_OBJECT_BLOB, data, len);
	return held && ews_oid_equal(out, held);
}

static int add_small(struct ews_oid *out, struct ews_batch *batch, struct tools *tools, int fd, uint64_t start,
		     size_t size, const struct ews_oid *held)
{
	ssize_t n;
	int rc;

	/* One byte more than there should be shows whether there is more. */
	ews_buf_reserve(&tools->content, size + 1);
	n = read_at(tools->content.ptr, fd, size + 1, size ? size : 1, start);
	if (n < 0)
		return (int)n;
	if ((size_t)n != size)
		return fail_stale(size);
	if (is_held(out, batch, held, tools->content.ptr, size))
		return 0;
	rc = add(batch, tools, out, EWS_OBJECT_BLOB, tools->content.ptr, size);
	if (rc == 0)
		ews_odb_remember_blob(batch->odb, out, tools->content.ptr, size);
	return rc;
}

int ews_batch_add_fd(struct ews_oid *out, struct ews_batch *batch, int fd, uint64_t size, const struct ews_oid *held)
{
	struct tools *tools;
	uint64_t start;
	int rc;

	rc = find_start(&start, fd);
	if (rc < 0)
		return rc;
	if (size > WHOLE_BYTES_MAX)
		return add_large(out, batch, fd, start, size, held);
	tools = borrow_tools(batch);
	rc = add_small(out, batch, tools, fd, start, (size_t)size, held);
	return_tools(batch, tools);
	return rc;
}

int ews_batch_hash_fd(struct ews_oid *out, const struct ews_odb *odb, int fd, uint64_t size)
{
	uint64_t start;
	int rc;

	rc = find_start(&start, fd);
	if (rc < 0)
		return rc;
	return hash_blob(out, ews_odb_algo(odb), fd, start, size);
}

/* What was kept in memory, on its way to disk. */
struct writing {
	struct ews_batch *batch;
	struct ews_sync_group *group; /* of loose objects */
};

static int write_kept(size_t i, unsigned worker, void *payload)
{
	struct writing *writing = payload;
	struct ews_batch *batch = writing->batch;
	const struct kept *kept = &batch->kept[i];
	struct tools *tools = borrow_tools(batch);
	int rc;

	(void)worker;
	if (batch->pack)
		rc = pack_object(batch, tools, &kept->oid, kept->type, kept->data, kept->len);
	else
		rc = ews_loose_write(writing->group, tools->deflater, ews_odb_write_dir(batch->odb),
				     ews_odb_sharing(batch->odb), &kept->oid, kept->type, kept->data, kept->len);
	return_tools(batch, tools);
	return rc;
}

static int write_all(struct ews_batch *batch, struct ews_sync_group *group)
{
	struct writing writing = { batch, group };
	int rc;

	rc = check_broken(batch);
	if (rc < 0)
		return rc;
	/* A pack whose only object was taken back. */
	if (batch->pack && !ews_pack_count(batch->pack)) {
		ews_pack_free(batch->pack);
		batch->pack = NULL;
	}
	rc = ews_pool_for(batch->n_kept, 1, 0, write_kept, &writing);
	return rc < 0 || !batch->pack ? rc : ews_pack_finish(batch->pack, group);
}

int ews_batch_commit_in(struct ews_batch *batch, struct ews_sync_group *group)
{
	int rc;

	rc = write_all(batch, group);
	clear(batch);
	if (rc < 0)
		return rc;
	ews_sync_next_stage(group);
	ews_sync_begin(group);
	return 0;
}

int ews_batch_commit(struct ews_batch *batch)
{
	EWS_CLEANUP(sync_group) struct ews_sync_group group = EWS_SYNC_GROUP_INIT;
	bool has_pack;
	int rc;

	rc = write_all(batch, &group);
	has_pack = batch->pack;
	clear(batch);
	if (rc == 0)
		rc = ews_sync_finish(&group);
	return rc < 0 || !has_pack ? rc : ews_odb_refresh(batch->odb);
}

struct ews_odb *ews_batch_odb(const struct ews_batch *batch)
{
	return batch->odb;
}

bool ews_batch_is_empty(struct ews_batch *batch)
{
	bool is_empty;

	pthread_mutex_lock(&batch->lock);
	is_empty = !batch->n_kept && !batch->pack;
	pthread_mutex_unlock(&batch->lock);
	return is_empty;
}
