/*
 * Packs: see pack.h. Format: git's Documentation/gitformat-pack.
 *
 * The count of objects stands in the pack's first bytes and is known last, so
 * the hash over the file is made by reading it once more when it is complete;
 * meanwhile the disk is waited for, by a thread of its own.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/pack.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/pool.h"
#include "base/sync.h"
#include "store/litter.h"

#define TMP_PREFIX "tmp_pack_ews_"
#define HEADER_BYTES 12
#define RECORD_HEADER_MAX 10
#define FLUSH_BYTES EWS_MIB
#define READ_BYTES (128 * EWS_KIB) /* at once, what a processor has near */
#define LARGE_BYTES EWS_MIB /* what is worth a thread */
#define OFFSET_IS_LARGE 0x80000000u

struct ews_pack {
	int dir_fd; /* objects/pack */
	int fd;
	char tmp_name[EWS_LITTER_NAME_MAX];
	enum ews_hash_algo algo;
	struct ews_sharing sharing;
	struct ews_pack_item *items;
	size_t n, cap;
	struct ews_buf waiting; /* written behind `flushed` bytes of the file by and by */
	uint64_t flushed;
	struct {
		z_stream z;
		bool is_open;
		bool has_begun; /* `z`; it waits for the first bytes */
		uint64_t start; /* where it begins in the pack */
		uint32_t crc;
	} stream;
};

/* For content that starts with these bytes. */
static void start_zlib(struct ews_pack *pack, const void *data, size_t len)
{
	EWS_CLEANUP(deflater) struct ews_deflater *deflater = ews_deflater_new();

	pack->stream.z = (z_stream){ .zalloc = Z_NULL };
	/* It fails for want of memory alone, which ends the program everywhere. */
	if (deflateInit(&pack->stream.z, ews_deflate_is_worth(deflater, data, len) ? Z_BEST_SPEED : 0) != Z_OK)
		abort();
	pack->stream.has_begun = true;
}

static void end_zlib(struct ews_pack *pack)
{
	if (pack->stream.has_begun)
		(void)deflateEnd(&pack->stream.z); /* what it leaves out was given up */
	pack->stream.has_begun = false;
}

/* Pass `len` bytes through `z` and append what comes out. */
static void deflate_into(struct ews_buf *out, z_stream *z, const void *data, size_t len, bool is_last)
{
	const unsigned char *at = data;
	int state = Z_OK;

	do {
		/* zlib counts in unsigned int. */
		size_t step = len < EWS_GIB ? len : EWS_GIB;

		z->next_in = (unsigned char *)at;
		z->avail_in = (unsigned)step;
		at += step;
		len -= step;
		do {
			size_t room = deflateBound(z, z->avail_in) + 64;

			ews_buf_reserve(out, room);
			z->next_out = (unsigned char *)out->ptr + out->len;
			z->avail_out = (unsigned)room;
			state = deflate(z, is_last && !len ? Z_FINISH : Z_NO_FLUSH);
			assert(state == Z_OK || state == Z_STREAM_END || state == Z_BUF_ERROR);
			out->len += room - z->avail_out;
			out->ptr[out->len] = '\0';
		} while (z->avail_in || (is_last && !len && state != Z_STREAM_END));
	} while (len);
}

/* Type and size: four bits of the size beside the type, then seven a byte, lowest first. */
static size_t format_record_header(uint8_t out[RECORD_HEADER_MAX], enum ews_object_type type, uint64_t size)
{
	uint8_t byte = (uint8_t)((unsigned)type << 4 | (size & 15));
	size_t n = 0;

	for (size >>= 4; size; size >>= 7) {
		out[n++] = byte | 0x80;
		byte = size & 0x7f;
	}
	out[n++] = byte;
	return n;
}

void ews_pack_format(struct ews_buf *out, struct ews_deflater *deflater, bool is_plain, enum ews_object_type type,
		     const void *data, size_t len)
{
	uint8_t header[RECORD_HEADER_MAX];

	ews_buf_add(out, header, format_record_header(header, type, len));
	ews_deflate(out, deflater, is_plain || !ews_deflate_is_worth(deflater, data, len), data, len);
}

uint32_t ews_pack_sum(const void *record, size_t len)
{
	return ews_crc32(0, record, len);
}

/* A file of it that is not there yet. Returns its descriptor. */
static int make_file(char tmp[EWS_LITTER_NAME_MAX], const struct ews_pack *pack)
{
	EWS_CLEANUP(fd) int fd = ews_litter_make(tmp, pack->dir_fd, TMP_PREFIX);

	if (fd < 0)
		return fd;
	if (ews_sharing_apply(pack->sharing, fd) < 0) {
		(void)unlinkat(pack->dir_fd, tmp, 0); /* best effort: gc sweeps it */
		return ews_error_code();
	}
	return ews_steal_fd(&fd);
}

int ews_pack_open(struct ews_pack **out, const char *object_dir, enum ews_hash_algo algo, struct ews_sharing sharing)
{
	EWS_CLEANUP(pack) struct ews_pack *pack = ews_calloc(1, sizeof(*pack));
	EWS_CLEANUP(free) char *dir = ews_strfmt("%s/pack", object_dir);
	const uint32_t header[3] = { htobe32(0x5041434b), htobe32(2), 0 };
	bool is_new;
	int rc;

	pack->fd = -1;
	pack->algo = algo;
	pack->sharing = sharing;
	pack->waiting = (struct ews_buf)EWS_BUF_INIT;
	/* git makes the directory with its first pack, too. */
	is_new = mkdir(dir, 0777) == 0;
	if (!is_new && errno != EEXIST) {
		pack->dir_fd = -1;
		return ews_error_os("cannot make '%s'", dir);
	}
	pack->dir_fd = ews_dir_open(dir);
	if (pack->dir_fd < 0)
		return pack->dir_fd;
	rc = is_new ? ews_sharing_apply(sharing, pack->dir_fd) : 0;
	if (rc == 0)
		rc = pack->fd = make_file(pack->tmp_name, pack);
	if (rc < 0)
		return rc;
	ews_buf_add(&pack->waiting, header, sizeof(header));
	*out = ews_steal(&pack);
	return 0;
}

void ews_pack_free(struct ews_pack *pack)
{
	if (!pack)
		return;
	if (pack->fd >= 0) {
		close(pack->fd);
		(void)unlinkat(pack->dir_fd, pack->tmp_name, 0); /* best effort: gc sweeps it */
	}
	if (pack->dir_fd >= 0)
		close(pack->dir_fd);
	end_zlib(pack);
	ews_buf_release(&pack->waiting);
	free(pack->items);
	free(pack);
}

static int write_behind(struct ews_pack *pack, const void *data, size_t len)
{
	int rc = ews_file_write_fd(pack->fd, data, len);

	if (rc < 0)
		return ews_error_wrap("cannot write a pack");
	/* Let the disk begin; the sync at the end then has less to wait for. */
	(void)sync_file_range(pack->fd, (off_t)pack->flushed, (off_t)len, SYNC_FILE_RANGE_WRITE);
	pack->flushed += len;
	return 0;
}

static int flush(struct ews_pack *pack)
{
	int rc = write_behind(pack, pack->waiting.ptr, pack->waiting.len);

	if (rc == 0)
		ews_buf_truncate(&pack->waiting, 0);
	return rc;
}

static int flush_when_full(struct ews_pack *pack)
{
	return pack->waiting.len < FLUSH_BYTES ? 0 : flush(pack);
}

uint64_t ews_pack_bytes(const struct ews_pack *pack)
{
	return pack->flushed + pack->waiting.len;
}

size_t ews_pack_count(const struct ews_pack *pack)
{
	return pack->n;
}

static void add_item(struct ews_pack *pack, const struct ews_oid *oid, uint32_t crc, uint64_t offset)
{
	EWS_GROW(pack->items, pack->n, pack->cap);
	pack->items[pack->n++] = (struct ews_pack_item){ *oid, crc, offset };
}

int ews_pack_add(struct ews_pack *pack, const struct ews_oid *oid, uint32_t sum, const void *record, size_t len)
{
	int rc;

	assert(!pack->stream.is_open);
	add_item(pack, oid, sum, ews_pack_bytes(pack));
	if (len < FLUSH_BYTES) {
		ews_buf_add(&pack->waiting, record, len);
		return flush_when_full(pack);
	}
	/* Of what is large there is no second copy. */
	rc = flush(pack);
	return rc < 0 ? rc : write_behind(pack, record, len);
}

int ews_pack_stream_begin(struct ews_pack *pack, enum ews_object_type type, uint64_t size)
{
	uint8_t header[RECORD_HEADER_MAX];
	size_t n = format_record_header(header, type, size);
	int rc;

	assert(!pack->stream.is_open);
	/* Cancelling cuts the file: nothing of older objects may wait then. */
	rc = flush(pack);
	if (rc < 0)
		return rc;
	pack->stream.is_open = true;
	pack->stream.start = pack->flushed;
	pack->stream.crc = ews_crc32(0, header, n);
	ews_buf_add(&pack->waiting, header, n);
	return 0;
}

static int stream_on(struct ews_pack *pack, const void *data, size_t len, bool is_last)
{
	size_t before = pack->waiting.len;

	assert(pack->stream.is_open);
	if (!pack->stream.has_begun)
		start_zlib(pack, data, len);
	deflate_into(&pack->waiting, &pack->stream.z, data, len, is_last);
	pack->stream.crc = ews_crc32(pack->stream.crc, pack->waiting.ptr + before, pack->waiting.len - before);
	return flush_when_full(pack);
}

int ews_pack_stream_feed(struct ews_pack *pack, const void *data, size_t len)
{
	return stream_on(pack, data, len, false);
}

int ews_pack_stream_end(struct ews_pack *pack, const struct ews_oid *oid)
{
	int rc;

	rc = stream_on(pack, "", 0, true);
	if (rc < 0)
		return rc;
	pack->stream.is_open = false;
	end_zlib(pack);
	add_item(pack, oid, pack->stream.crc, pack->stream.start);
	return 0;
}

int ews_pack_stream_cancel(struct ews_pack *pack)
{
	assert(pack->stream.is_open);
	pack->stream.is_open = false;
	end_zlib(pack);
	ews_buf_truncate(&pack->waiting, 0);
	pack->flushed = pack->stream.start;
	if (ftruncate(pack->fd, (off_t)pack->flushed) < 0 || lseek(pack->fd, (off_t)pack->flushed, SEEK_SET) < 0)
		return ews_error_os("cannot cut a pack");
	return 0;
}

static int cmp_item(const void *a, const void *b)
{
	return ews_oid_cmp(&((const struct ews_pack_item *)a)->oid, &((const struct ews_pack_item *)b)->oid);
}

static void add_be32(struct ews_buf *out, uint32_t value)
{
	value = htobe32(value);
	ews_buf_add(out, &value, sizeof(value));
}

void ews_pack_format_index(struct ews_buf *out, struct ews_pack_item *items, size_t n, enum ews_hash_algo algo,
			   const uint8_t *trailer)
{
	uint8_t hash[EWS_HASH_MAX];
	size_t len = ews_hash_len(algo);
	size_t start = out->len;
	uint32_t n_large = 0;
	size_t i = 0;

	qsort(items, n, sizeof(*items), cmp_item);
	add_be32(out, 0xff744f63);
	add_be32(out, 2);
	for (unsigned first = 0; first < 256; first++) {
		while (i < n && items[i].oid.id[0] <= first)
			i++;
		add_be32(out, (uint32_t)i);
	}
	for (i = 0; i < n; i++)
		ews_buf_add(out, items[i].oid.id, len);
	for (i = 0; i < n; i++)
		add_be32(out, items[i].crc);
	for (i = 0; i < n; i++)
		add_be32(out, items[i].offset < OFFSET_IS_LARGE ? (uint32_t)items[i].offset
								: OFFSET_IS_LARGE | n_large++);
	for (i = 0; i < n; i++) {
		uint64_t large = htobe64(items[i].offset);

		if (items[i].offset >= OFFSET_IS_LARGE)
			ews_buf_add(out, &large, sizeof(large));
	}
	ews_buf_add(out, trailer, len);
	ews_hash_once(algo, hash, out->ptr + start, out->len - start);
	ews_buf_add(out, hash, len);
}

static int hash_file(struct ews_hash *hash, int fd, uint64_t end)
{
	EWS_CLEANUP(free) char *step = ews_malloc(READ_BYTES);
	uint64_t at = 0;

	while (at < end) {
		uint64_t left = end - at;
		ssize_t n = pread(fd, step, left < READ_BYTES ? (size_t)left : READ_BYTES, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return ews_error_os("cannot read a pack back");
		if (n == 0)
			return ews_error(EWS_EIO, "a pack was cut while it was written");
		ews_hash_add(hash, step, (size_t)n);
		at += (uint64_t)n;
	}
	return 0;
}

/* A pack that is whole but for the hash that it ends in. */
struct closing {
	struct ews_hash *hash;
	int fd;
	uint64_t end; /* of what is hashed */
};

/* One of two things that go side by side. */
static int close_side(size_t i, unsigned worker, void *payload)
{
	const struct closing *closing = payload;

	(void)worker;
	if (i == 0)
		return hash_file(closing->hash, closing->fd, closing->end);
	return fdatasync(closing->fd) < 0 ? ews_error_os("cannot sync a pack") : 0;
}

/* Put the count in and the hash behind. What is large is on disk then, but for the hash. */
static int close_pack(uint8_t trailer[EWS_HASH_MAX], struct ews_pack *pack)
{
	EWS_CLEANUP(hash) struct ews_hash *hash = ews_hash_new(pack->algo);
	struct closing closing = { hash, pack->fd, ews_pack_bytes(pack) };
	const uint32_t count = htobe32((uint32_t)pack->n);
	static const uint8_t nothing[EWS_HASH_MAX];
	size_t len = ews_hash_len(pack->algo);
	int rc;

	/* With room for the hash: nothing but its bytes is to be synced after it. */
	ews_buf_add(&pack->waiting, nothing, len);
	rc = flush(pack);
	if (rc < 0)
		return rc;
	if (pwrite(pack->fd, &count, sizeof(count), HEADER_BYTES - sizeof(count)) != (ssize_t)sizeof(count))
		return ews_error_os("cannot write a pack");
	rc = ews_pool_for(closing.end < LARGE_BYTES ? 1 : 2, 1, 2, close_side, &closing);
	if (rc < 0)
		return rc;
	ews_hash_finish(hash, trailer);
	if (pwrite(pack->fd, trailer, len, (off_t)closing.end) != (ssize_t)len)
		return ews_error_os("cannot write a pack");
	return 0;
}

/* Write the index to a temporary file, open at `*fd`. */
static int write_index(int *fd, char tmp_name[EWS_LITTER_NAME_MAX], struct ews_pack *pack, const uint8_t *trailer)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(fd) int made = -1;
	int rc;

	ews_pack_format_index(&text, pack->items, pack->n, pack->algo, trailer);
	made = make_file(tmp_name, pack);
	if (made < 0)
		return made;
	rc = ews_file_write_fd(made, text.ptr, text.len);
	if (rc < 0) {
		(void)unlinkat(pack->dir_fd, tmp_name, 0); /* best effort: gc sweeps it */
		return ews_error_wrap("cannot write the index of a pack");
	}
	*fd = ews_steal_fd(&made);
	return 0;
}

int ews_pack_finish(struct ews_pack *pack, struct ews_sync_group *group)
{
	uint8_t trailer[EWS_HASH_MAX];
	char hex[2 * EWS_HASH_MAX + 1];
	char tmp_index[EWS_LITTER_NAME_MAX];
	char name[sizeof(hex) + 16];
	EWS_CLEANUP(fd) int index = -1;
	int rc;

	assert(pack->n && !pack->stream.is_open);
	rc = close_pack(trailer, pack);
	if (rc < 0)
		return rc;
	ews_hex(hex, trailer, ews_hash_len(pack->algo));
	snprintf(name, sizeof(name), "pack-%s.pack", hex);
	/* The group has the pack from here on, and removes what gets no name. */
	rc = ews_sync_add_file(group, &pack->fd, pack->dir_fd, pack->tmp_name, pack->dir_fd, name);
	if (rc == 0)
		rc = write_index(&index, tmp_index, pack, trailer);
	if (rc < 0)
		return rc;
	snprintf(name, sizeof(name), "pack-%s.idx", hex);
	rc = ews_sync_add_file(group, &index, pack->dir_fd, tmp_index, pack->dir_fd, name);
	if (rc < 0)
		(void)unlinkat(pack->dir_fd, tmp_index, 0); /* best effort: gc sweeps it */
	return rc;
}

int ews_pack_check(int dir_fd, const char *name, enum ews_hash_algo algo)
{
	EWS_CLEANUP(fd) int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	EWS_CLEANUP(free) uint8_t *chunk = ews_malloc(READ_BYTES);
	EWS_CLEANUP(hash) struct ews_hash *hash = ews_hash_new(algo);
	size_t len = ews_hash_len(algo);
	uint8_t want[EWS_HASH_MAX], got[EWS_HASH_MAX];
	uint64_t left;
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		return ews_error_os("cannot read it");
	if ((uint64_t)st.st_size < len)
		return ews_error(EWS_EDAMAGED, "it ends too early");
	left = (uint64_t)st.st_size - len;
	while (left) {
		n = read(fd, chunk, left < READ_BYTES ? left : READ_BYTES);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return ews_error_os("cannot read it");
		if (n == 0)
			return ews_error(EWS_EIO, "cannot read it");
		ews_hash_add(hash, chunk, (size_t)n);
		left -= (uint64_t)n;
	}
	ews_hash_finish(hash, got);
	n = pread(fd, want, len, st.st_size - (off_t)len);
	if (n < 0)
		return ews_error_os("cannot read it");
	if (n != (ssize_t)len || memcmp(want, got, len) != 0)
		return ews_error(EWS_EDAMAGED, "its checksum is wrong");
	return 0;
}
