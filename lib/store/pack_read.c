/*
 * Packs that are read: see pack_read.h.
 *
 * A pack is read and not mapped: of a mapped one the kernel counts megabytes around each page that was touched as this
 * process's memory, and a file that somebody cuts ends the program. For the same reason a large index is not mapped, of
 * which little is wanted, each time elsewhere.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/pack_read.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/deflate.h"
#include "base/error.h"
#include "base/path.h"
#include "store/id_filter.h"

#define ID_LEN 20
#define COUNTS_AT 8
#define IDS_AT (COUNTS_AT + 256 * 4)
#define PACK_HEADER_LEN 12
#define OBJECT_BYTES_MAX (32 * EWS_MIB)
#define KEPT_BYTES_MAX (256 * EWS_KIB) /* of a buffer, from one object to the next */
#define LARGE_BYTES (2 * EWS_MIB) /* what takes as much is passed on in steps, or read by one thread at a time */
#define LARGE_SHRINKS 4 /* at least to one part in so many */
#define STEP_BYTES (64 * EWS_KIB)
#define DELTA_HEAD_MAX 20 /* two sizes */
#define PACKS_MAX 256
#define OPEN_PART 4 /* at most one in so many of the files that a process may have open is a pack or its index */
#define RECORD_HEAD_MAX 32 /* what stands before a stream */
#define HEAD_BYTES 512 /* of a stream, of which little is wanted */
#define INDEX_MAPPED_MAX (128 * EWS_KIB)
#define IDS_READ 128 /* of an index at once */
#define GUESSES_MAX 8
#define FRESH_MS 2000 /* what was made new less long ago is new */
#define MISSING_MIN 64 /* for fewer ids that aren't there no filter is worth its while */
#define FILTERED_MIN 4 /* nor for fewer packs */

enum {
	OFS_DELTA = 6,
	REF_DELTA = 7,
};

struct map {
	const unsigned char *at;
	size_t len;
};

struct pack {
	struct map index; /* NULL: it is read from `index_fd` */
	int index_fd;
	uint32_t counts[256]; /* of objects whose ids begin with a byte that is not larger */
	size_t n; /* objects */
	int fd; /* the pack's */
	size_t end; /* of its objects */
	char *name; /* "pack-<hash>", and a dot */
	bool is_cruft; /* what is in it is as old as a third file says of each */
	_Atomic uint64_t freshened_ms; /* when it was let count as new; 0: never */
};

struct ews_packs {
	char *object_dir, *dir;
	struct pack items[PACKS_MAX]; /* they never move: others read while one is added */
	atomic_size_t n;
	size_t n_open; /* files */
	atomic_bool are_all;
	pthread_mutex_t large; /* whose turn it is to hold a large object */
	atomic_size_t last; /* the pack that had what was asked for last: mostly it has the next, too */
	atomic_uint n_missing; /* ids that were asked for and are not there; not counted on from MISSING_MIN */
	/* The ids of all mapped indexes among the first `n_filtered` packs; NULL: it was not made yet, or there were few of those then. */
	struct ews_id_filter *_Atomic filter;
	size_t n_filtered;
};

/* What stands at an offset of a pack. */
struct record {
	unsigned type;
	size_t size; /* when it is inflated */
	size_t at; /* of its stream */
	size_t base; /* a delta's */
};

struct ews_pack_reader {
	struct ews_inflater *inflater;
	z_stream z; /* for what is begun to be read alone; made when first needed */
	bool has_z;
	struct ews_buf object, delta, result;
	struct {
		struct ews_buf bytes;
		const struct pack *of;
		size_t at;
	} input; /* what was read of a pack last */
	size_t next_in; /* where a stream that is read step by step goes on in its pack */
	struct record *chain;
	size_t cap;
	struct ews_packs *turn; /* whose large objects are ours to read; NULL: nobody's */
};

static uint32_t get_u32(const unsigned char *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void unmap(struct map *map)
{
	if (map->at)
		(void)munmap((void *)map->at, map->len); /* it was mapped so */
}

static bool read_exactly(void *out, int fd, size_t len, size_t at)
{
	return pread(fd, out, len, (off_t)at) == (ssize_t)len;
}

/* Open a file that is one, with its length. */
static int open_file(size_t *len, int dir_fd, const char *name)
{
	EWS_CLEANUP(fd) int fd = openat(dir_fd, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= 0 || (uint64_t)st.st_size > SIZE_MAX)
		return -1;
	*len = (size_t)st.st_size;
	return ews_steal_fd(&fd);
}

/* Read the index's head, if it is one that we read. */
static bool read_head(struct pack *pack)
{
	static const unsigned char magic[COUNTS_AT] = { 0xff, 't', 'O', 'c', 0, 0, 0, 2 };
	unsigned char head[IDS_AT];

	if (!read_exactly(head, pack->index_fd, sizeof(head), 0) || memcmp(head, magic, sizeof(magic)) != 0)
		return false;
	for (size_t i = 0; i < 256; i++) {
		pack->counts[i] = get_u32(head + COUNTS_AT + 4 * i);
		if (i && pack->counts[i] < pack->counts[i - 1])
			return false;
	}
	pack->n = pack->counts[255];
	return pack->index.len >= IDS_AT + 2 * ID_LEN &&
	       (pack->index.len - IDS_AT - 2 * ID_LEN) / (ID_LEN + 8) >= pack->n;
}

/* Is the file a pack, and the one that the index is of? */
static bool is_of(const struct pack *pack, int fd, size_t len)
{
	static const unsigned char magic[] = { 'P', 'A', 'C', 'K', 0, 0, 0, 2 };
	unsigned char head[PACK_HEADER_LEN], named[ID_LEN], end[ID_LEN];

	return len >= sizeof(head) + sizeof(end) && read_exactly(head, fd, sizeof(head), 0) &&
	       !memcmp(head, magic, sizeof(magic)) && get_u32(head + sizeof(magic)) == pack->n &&
	       read_exactly(named, pack->index_fd, sizeof(named), pack->index.len - 2 * ID_LEN) &&
	       read_exactly(end, fd, sizeof(end), len - sizeof(end)) && !memcmp(named, end, sizeof(end));
}

static bool map_file(struct map *map, int fd)
{
	void *at = mmap(NULL, map->len, PROT_READ, MAP_PRIVATE, fd, 0);

	map->at = at == MAP_FAILED ? NULL : at;
	return map->at;
}

static bool open_pack(struct pack *out, int dir_fd, const char *index, const char *file)
{
	struct pack pack = { .n = 0 };
	EWS_CLEANUP(fd) int index_fd = open_file(&pack.index.len, dir_fd, index);
	EWS_CLEANUP(fd) int fd = -1;
	size_t len;

	pack.index_fd = index_fd;
	if (index_fd < 0 || !read_head(&pack))
		return false;
	fd = open_file(&len, dir_fd, file);
	if (fd < 0 || !is_of(&pack, fd, len))
		return false;
	pack.end = len - ID_LEN;
	if (pack.index.len > INDEX_MAPPED_MAX || !map_file(&pack.index, index_fd))
		pack.index_fd = ews_steal_fd(&index_fd);
	else
		pack.index_fd = -1;
	pack.fd = ews_steal_fd(&fd);
	*out = pack;
	return true;
}

static bool is_known(const struct ews_packs *packs, const char *name)
{
	size_t i = 0;

	while (i < packs->n && strcmp(packs->items[i].name, name) != 0)
		i++;
	return i < packs->n;
}

/* Is there room for another pack, or would its files be lacking to others? */
static bool has_room(const struct ews_packs *packs)
{
	long open_max = sysconf(_SC_OPEN_MAX);

	/* Below zero there is no limit. */
	return packs->n < PACKS_MAX && (open_max < 0 || packs->n_open + 2 <= (size_t)open_max / OPEN_PART);
}

/* Add the pack `name`; false when that can't be. */
static bool add_pack(struct ews_packs *packs, int dir_fd, const char *name)
{
	EWS_CLEANUP(free) char *index = ews_strfmt("%sidx", name);
	EWS_CLEANUP(free) char *file = ews_strfmt("%spack", name);
	EWS_CLEANUP(free) char *times = ews_strfmt("%smtimes", name);
	struct pack *pack = packs->items + packs->n;

	if (!has_room(packs) || !open_pack(pack, dir_fd, index, file))
		return false;
	packs->n_open += pack->index_fd < 0 ? 1 : 2;
	pack->name = ews_strdup(name);
	pack->is_cruft = faccessat(dir_fd, times, F_OK, 0) == 0;
	packs->n++;
	return true;
}

static bool borrows(const char *object_dir)
{
	EWS_CLEANUP(free) char *path = ews_path_join(object_dir, "info/alternates");

	return access(path, F_OK) == 0;
}

void ews_packs_look_again(struct ews_packs *packs)
{
	DIR *dir = opendir(packs->dir);
	bool are_all = (dir || errno == ENOENT) && !borrows(packs->object_dir);
	struct dirent *found;

	while (dir && (found = readdir(dir))) {
		size_t len = strlen(found->d_name);
		EWS_CLEANUP(free) char *name = NULL;

		if (len <= 4 || strcmp(found->d_name + len - 4, ".idx") != 0)
			continue;
		name = ews_strndup(found->d_name, len - strlen("idx"));
		if (!is_known(packs, name) && !add_pack(packs, dirfd(dir), name))
			are_all = false;
	}
	if (dir)
		closedir(dir);
	packs->are_all = are_all;
}

struct ews_packs *ews_packs_open(const char *object_dir)
{
	struct ews_packs *packs = ews_calloc(1, sizeof(*packs));

	packs->object_dir = ews_strdup(object_dir);
	pthread_mutex_init(&packs->large, NULL);
	packs->dir = ews_path_join(object_dir, "pack");
	ews_packs_look_again(packs);
	return packs;
}

void ews_packs_free(struct ews_packs *packs)
{
	if (!packs)
		return;
	for (size_t i = 0; i < packs->n; i++) {
		struct pack *pack = &packs->items[i];

		ews_cleanup_fd(&pack->index_fd);
		unmap(&pack->index);
		ews_cleanup_fd(&pack->fd);
		free(pack->name);
	}
	pthread_mutex_destroy(&packs->large);
	ews_id_filter_free(packs->filter);
	free(packs->dir);
	free(packs->object_dir);
	free(packs);
}

struct ews_pack_reader *ews_pack_reader_new(void)
{
	struct ews_pack_reader *reader = ews_calloc(1, sizeof(*reader));

	reader->object = reader->delta = reader->result = reader->input.bytes = (struct ews_buf)EWS_BUF_INIT;
	reader->inflater = ews_inflater_new();
	return reader;
}

/* Large buffers are not kept for an object that may never come. */
static void shrink(struct ews_buf *buf)
{
	if (buf->cap > KEPT_BYTES_MAX)
		ews_buf_release(buf);
}

void ews_pack_reader_done(struct ews_pack_reader *reader)
{
	shrink(&reader->object);
	shrink(&reader->delta);
	shrink(&reader->result);
	shrink(&reader->input.bytes);
	reader->input.of = NULL;
	if (reader->turn)
		pthread_mutex_unlock(&reader->turn->large);
	reader->turn = NULL;
}

/* Several threads with a large object each would take more memory than there may be: they wait for one another. */
static void wait_for_turn(struct ews_pack_reader *reader, struct ews_packs *packs, size_t size)
{
	if (size < LARGE_BYTES || reader->turn)
		return;
	pthread_mutex_lock(&packs->large);
	reader->turn = packs;
	ews_alloc_give_back();
}

void ews_pack_reader_free(struct ews_pack_reader *reader)
{
	if (!reader)
		return;
	ews_pack_reader_done(reader);
	ews_inflater_free(reader->inflater);
	if (reader->has_z)
		(void)inflateEnd(&reader->z); /* what it has left nobody wants */
	ews_buf_release(&reader->object);
	ews_buf_release(&reader->delta);
	ews_buf_release(&reader->result);
	ews_buf_release(&reader->input.bytes);
	free(reader->chain);
	free(reader);
}

/* Ids of an index that may be the one that is looked for: those that are left, and what lies below and above them. */
struct range {
	size_t low, high;
	uint32_t least, most;
};

/*
 * Where to read next. Ids are as good as random, so where one is can be told from how large it is; where that misleads,
 * what is left is halved.
 */
static size_t guess(const struct range *range, uint32_t at, bool is_random)
{
	size_t n = range->high - range->low, middle = n / 2;

	if (n <= IDS_READ)
		return range->low;
	if (is_random)
		middle = (size_t)((uint64_t)n * (at - range->least) / ((uint64_t)range->most - range->least + 1));
	middle = middle < IDS_READ / 2 ? 0 : middle - IDS_READ / 2;
	return range->low + (middle < n - IDS_READ ? middle : n - IDS_READ);
}

/* Where among the `n` ids is this one? Returns 0, or which way it lies when it isn't there: below zero, before all. */
static int search(size_t *out, const unsigned char *ids, size_t n, const unsigned char *id)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = memcmp(id, ids + middle * ID_LEN, ID_LEN);

		*out = middle;
		if (!order)
			return 0;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	*out = low;
	return low ? 1 : -1;
}

/* The `len` bytes at `at` of the index, where they are or in `room`; NULL when they can't be read. */
static const unsigned char *look_into(const struct pack *pack, unsigned char *room, size_t len, size_t at)
{
	if (pack->index.at)
		return pack->index.at + at;
	return read_exactly(room, pack->index_fd, len, at) ? room : NULL;
}

/* Where in the index is this id? */
static bool find_id(size_t *out, const struct pack *pack, const unsigned char *id)
{
	struct range range = { .low = *id ? pack->counts[*id - 1] : 0,
			       .high = pack->counts[*id],
			       .least = (uint32_t)*id << 24,
			       .most = (uint32_t)*id << 24 | 0xffffff };
	unsigned char room[IDS_READ * ID_LEN];

	for (int guesses = 0; range.low < range.high; guesses++) {
		size_t first = guess(&range, get_u32(id), guesses < GUESSES_MAX), at;
		size_t n = range.high - first < IDS_READ ? range.high - first : IDS_READ;
		const unsigned char *ids = look_into(pack, room, n * ID_LEN, IDS_AT + first * ID_LEN);
		int order;

		if (!ids)
			return false;
		order = search(&at, ids, n, id);
		*out = first + at;
		if (!order)
			return true;
		if (order < 0) {
			range.high = first;
			range.most = get_u32(ids);
		} else if (at == n) {
			range.low = first + n;
			range.least = get_u32(ids + (n - 1) * ID_LEN);
		} else {
			return false;
		}
	}
	return false;
}

/* Where in the pack does the object with this id stand? 0: it isn't there. SIZE_MAX: nowhere, though the index names it. */
static size_t find(const struct pack *pack, const unsigned char *id)
{
	size_t offsets_at = IDS_AT + pack->n * (ID_LEN + 4), large_at = offsets_at + pack->n * 4;
	size_t n_large = (pack->index.len - 2 * ID_LEN - large_at) / 8;
	const unsigned char *bytes;
	unsigned char room[8];
	uint64_t offset;
	size_t at;

	if (!find_id(&at, pack, id))
		return 0;
	bytes = look_into(pack, room, 4, offsets_at + at * 4);
	if (!bytes)
		return SIZE_MAX;
	offset = get_u32(bytes);
	if (offset >> 31) {
		at = offset & 0x7fffffff;
		bytes = at < n_large ? look_into(pack, room, 8, large_at + at * 8) : NULL;
		if (!bytes)
			return SIZE_MAX;
		offset = (uint64_t)get_u32(bytes) << 32 | get_u32(bytes + 4);
	}
	return offset >= PACK_HEADER_LEN && offset < pack->end ? (size_t)offset : SIZE_MAX;
}

/* Make `buf` empty, with room for `size` bytes. */
static void make_room(struct ews_buf *buf, size_t size)
{
	if (size < KEPT_BYTES_MAX)
		shrink(buf);
	/* What was in it would be copied into a larger one. */
	if (size >= buf->cap)
		ews_buf_release(buf);
	buf->len = 0;
	ews_buf_reserve(buf, size);
}

/* Read `len` bytes at `at` of the pack. */
static bool read_input(struct ews_pack_reader *reader, const struct pack *pack, size_t len, size_t at)
{
	struct ews_buf *bytes = &reader->input.bytes;

	reader->input.of = NULL;
	make_room(bytes, len);
	while (bytes->len < len) {
		ssize_t n = pread(pack->fd, bytes->ptr + bytes->len, len - bytes->len, (off_t)(at + bytes->len));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		bytes->len += (size_t)n;
	}
	reader->input.of = pack;
	reader->input.at = at;
	return true;
}

/*
 * The bytes at `at` of the pack, `*len` of them: `wanted`, or more, or all up to the end of the objects. NULL when they
 * can't be read. They stay until others are asked for.
 */
static const unsigned char *look_at(size_t *len, struct ews_pack_reader *reader, const struct pack *pack,
				    size_t wanted, size_t at)
{
	size_t have, before;

	if (wanted > pack->end - at)
		wanted = pack->end - at;
	before = reader->input.of == pack && at >= reader->input.at ? at - reader->input.at : SIZE_MAX;
	have = before <= reader->input.bytes.len ? reader->input.bytes.len - before : 0;
	if (have < wanted || !have) {
		if (!read_input(reader, pack, wanted, at))
			return NULL;
		before = 0;
		have = wanted;
	}
	*len = have;
	return (const unsigned char *)reader->input.bytes.ptr + before;
}

/* Read what stands before the stream of the object at `offset`. 1, 0, or below zero, as the reader says it. */
static int read_record(struct record *out, struct ews_pack_reader *reader, const struct pack *pack, size_t offset)
{
	const unsigned char *start, *at, *end;
	unsigned char byte;
	size_t back, len;

	if (offset < PACK_HEADER_LEN || offset >= pack->end)
		return EWS_EDAMAGED;
	start = at = look_at(&len, reader, pack, RECORD_HEAD_MAX, offset);
	if (!at)
		return EWS_EDAMAGED;
	end = at + len;
	byte = *at++;
	*out = (struct record){ .type = byte >> 4 & 7, .size = byte & 15 };
	for (unsigned shift = 4; byte & 0x80; shift += 7) {
		if (at == end || shift > 57)
			return EWS_EDAMAGED;
		byte = *at++;
		out->size |= (size_t)(byte & 0x7f) << shift;
	}
	if (out->type == OFS_DELTA) {
		back = 0;
		do {
			if (at == end || back >= pack->end >> 7)
				return EWS_EDAMAGED;
			byte = *at++;
			back = (back << 7) + (byte & 0x7f) + (byte & 0x80 ? 1 : 0);
		} while (byte & 0x80);
		if (!back || back > offset)
			return EWS_EDAMAGED;
		out->base = offset - back;
	} else if (out->type == REF_DELTA) {
		if ((size_t)(end - at) < ID_LEN)
			return EWS_EDAMAGED;
		out->base = find(pack, at);
		if (!out->base)
			return 0; /* it is in another pack */
		at += ID_LEN;
	}
	out->at = offset + (size_t)(at - start);
	return 1;
}

/* Begin to read a stream step by step; the caller says where to. */
static bool begin_steps(struct ews_pack_reader *reader, const struct record *record)
{
	z_stream *z = &reader->z;

	if (reader->has_z ? inflateReset(z) != Z_OK : inflateInit(z) != Z_OK)
		return false;
	reader->has_z = true;
	reader->next_in = record->at;
	z->next_in = NULL;
	z->avail_in = 0;
	return true;
}

/* Go on until there is no more room, or something came, reading `at_once` bytes at a time. What zlib returns. */
static int inflate_step(struct ews_pack_reader *reader, const struct pack *pack, size_t at_once)
{
	z_stream *z = &reader->z;
	unsigned room = z->avail_out;
	int z_rc = Z_OK;

	while (z_rc == Z_OK && z->avail_out == room) {
		size_t len = z->avail_in;

		if (!len) {
			if (reader->next_in >= pack->end)
				return Z_DATA_ERROR;
			z->next_in = (unsigned char *)look_at(&len, reader, pack, at_once, reader->next_in);
			if (!z->next_in)
				return Z_DATA_ERROR;
			reader->next_in += len;
			z->avail_in = (unsigned)len;
		}
		z_rc = inflate(z, Z_SYNC_FLUSH);
	}
	return z_rc;
}

/* Step by step: a stream that is longer than there is a reason for, or one that would not be had in memory beside what it is. 1, or below zero. */
static int inflate_long(struct ews_buf *out, struct ews_pack_reader *reader, const struct pack *pack,
			const struct record *record)
{
	z_stream *z = &reader->z;
	int z_rc = Z_OK;

	if (!begin_steps(reader, record))
		return EWS_EDAMAGED;
	z->next_out = (unsigned char *)out->ptr;
	z->avail_out = (unsigned)record->size;
	while (z_rc == Z_OK)
		z_rc = inflate_step(reader, pack, STEP_BYTES);
	return z_rc == Z_STREAM_END && !z->avail_out ? 1 : EWS_EDAMAGED;
}

/* At once, of that many bytes. 1, or 0: it has more, or is damaged. */
static int inflate_whole(struct ews_buf *out, struct ews_pack_reader *reader, const struct pack *pack,
			 const struct record *record, size_t wanted)
{
	size_t len;
	const unsigned char *bytes = look_at(&len, reader, pack, wanted, record->at);

	return bytes && ews_inflate(out->ptr, record->size, reader->inflater, bytes, len);
}

/* Read a stream into memory. 1, 0, or below zero, as the reader says it. */
static int inflate_record(struct ews_buf *out, struct ews_pack_reader *reader, const struct pack *pack,
			  const struct record *record)
{
	/* What can't be made smaller becomes larger by a few bytes in each block. */
	size_t most = record->size + record->size / 256 + 64;
	int rc = 0;

	if (record->size > OBJECT_BYTES_MAX)
		return 0;
	if (record->at >= pack->end)
		return EWS_EDAMAGED;
	make_room(out, record->size);
	/* What is that large is text, as a rule; not all that it may have is had in memory beside it. */
	if (record->size >= LARGE_BYTES)
		rc = inflate_whole(out, reader, pack, record, most / LARGE_SHRINKS);
	else
		rc = inflate_whole(out, reader, pack, record, most);
	if (rc == 0)
		rc = inflate_long(out, reader, pack, record);
	if (rc < 0)
		return rc;
	out->len = record->size;
	out->ptr[out->len] = '\0';
	return 1;
}

/* Pass a stream on. 1, or below zero. */
static int pass_record(const struct ews_pack_sink *sink, struct ews_pack_reader *reader, const struct pack *pack,
		       const struct record *record)
{
	z_stream *z = &reader->z;
	size_t done = 0, n;
	int z_rc, rc = begin_steps(reader, record) ? 0 : EWS_EDAMAGED;

	if (rc == 0)
		rc = sink->begin(sink->payload, (enum ews_object_type)record->type, record->size);
	make_room(&reader->result, STEP_BYTES);
	while (rc == 0) {
		z->next_out = (unsigned char *)reader->result.ptr;
		z->avail_out = STEP_BYTES;
		z_rc = inflate_step(reader, pack, STEP_BYTES);
		n = STEP_BYTES - z->avail_out;
		done += n;
		if ((z_rc != Z_OK && z_rc != Z_STREAM_END) || done > record->size || (z_rc == Z_OK && !n))
			return EWS_EDAMAGED;
		rc = sink->add(sink->payload, reader->result.ptr, n);
		if (rc == 0 && z_rc == Z_STREAM_END)
			return done == record->size ? 1 : EWS_EDAMAGED;
	}
	return rc;
}

static bool read_size(size_t *out, const unsigned char **at, const unsigned char *end)
{
	unsigned char byte;
	unsigned shift = 0;

	*out = 0;
	do {
		if (*at == end || shift > 57)
			return false;
		byte = *(*at)++;
		*out |= (size_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return true;
}

/* Read the bytes of `of`, little end first, that the bits of `mask` say are there. */
static bool read_number(size_t *out, unsigned mask, const unsigned char **at, const unsigned char *end)
{
	*out = 0;
	for (unsigned shift = 0; mask; mask >>= 1, shift += 8) {
		if (!(mask & 1))
			continue;
		if (*at == end)
			return false;
		*out |= (size_t) * (*at)++ << shift;
	}
	return true;
}

/* Where what a delta makes goes: all of it to the reader's `result`, or to the sink, by way of that. */
static int emit(struct ews_pack_reader *reader, const struct ews_pack_sink *sink, const char *data, size_t n)
{
	struct ews_buf *out = &reader->result;
	int rc = 0;

	if (sink && out->len + n > STEP_BYTES) {
		rc = sink->add(sink->payload, out->ptr, out->len);
		out->len = 0;
	}
	if (rc == 0 && sink && n > STEP_BYTES)
		return sink->add(sink->payload, data, n);
	if (rc == 0) {
		memcpy(out->ptr + out->len, data, n);
		out->len += n;
	}
	return rc;
}

/*
 * A delta: the sizes of its base and of the result, then what the result is made of: 1oooossss copies from the base
 * (offset and size follow, of each the bytes that have a bit), 0nnnnnnn is followed by as many bytes. 1, 0, or below zero, as
 * the reader says it: what becomes too large of a base that isn't is no damage. A large result goes to `sink`, if there is
 * one; then 2.
 */
static int apply_delta(struct ews_pack_reader *reader, struct ews_packs *packs, const struct ews_pack_sink *sink,
		       enum ews_object_type type)
{
	const struct ews_buf *base = &reader->object, *delta = &reader->delta;
	const unsigned char *at = (const unsigned char *)delta->ptr, *end = at + delta->len;
	size_t base_len, len, from, n, done = 0;
	int rc = 0;

	if (!read_size(&base_len, &at, end) || !read_size(&len, &at, end) || base_len != base->len)
		return EWS_EDAMAGED;
	if (len < LARGE_BYTES)
		sink = NULL;
	if (!sink && len > OBJECT_BYTES_MAX)
		return 0;
	if (sink)
		rc = sink->begin(sink->payload, type, len);
	else
		wait_for_turn(reader, packs, len);
	make_room(&reader->result, sink ? STEP_BYTES : len);
	while (at < end && rc == 0) {
		unsigned char op = *at++;

		if (op & 0x80) {
			if (!read_number(&from, op & 15, &at, end) || !read_number(&n, op >> 4 & 7, &at, end))
				return EWS_EDAMAGED;
			n = n ? n : 0x10000;
			if (from > base->len || n > base->len - from || n > len - done)
				return EWS_EDAMAGED;
			rc = emit(reader, sink, base->ptr + from, n);
		} else {
			n = op;
			if (!n || n > (size_t)(end - at) || n > len - done)
				return EWS_EDAMAGED;
			rc = emit(reader, sink, (const char *)at, n);
			at += n;
		}
		done += n;
	}
	if (rc == 0 && sink)
		rc = sink->add(sink->payload, reader->result.ptr, reader->result.len);
	if (rc < 0)
		return rc;
	if (done != len)
		return EWS_EDAMAGED;
	if (sink)
		return 2;
	reader->result.ptr[done] = '\0';
	return 1;
}

static void swap(struct ews_buf *a, struct ews_buf *b)
{
	struct ews_buf old = *a;

	*a = *b;
	*b = old;
}

/*
 * From the object at `offset` down to its base, `out`; the `*n` deltas on the way are left in the reader's chain. 1, 0, or
 * below zero, as the reader says it.
 */
static int go_down(struct record *out, size_t *n, struct ews_pack_reader *reader, const struct pack *pack,
		   size_t offset)
{
	*n = 0;
	for (;;) {
		int rc = read_record(out, reader, pack, offset);

		if (rc <= 0)
			return rc;
		if (out->type < OFS_DELTA)
			return out->type >= EWS_OBJECT_COMMIT && out->type <= EWS_OBJECT_TAG ? 1 : EWS_EDAMAGED;
		/* In a circle libgit2 would go round for ever. */
		if (*n == pack->n)
			return EWS_EDAMAGED;
		EWS_GROW(reader->chain, *n, reader->cap);
		reader->chain[(*n)++] = *out;
		offset = out->base;
	}
}

/*
 * Down to the base, then up again; what is large at the end goes to `sink`, if there is one. 1, 0, or below zero, as the
 * reader says it; 2: it was passed on.
 */
static int read_at(enum ews_object_type *type, struct ews_pack_reader *reader, struct ews_packs *packs,
		   const struct pack *pack, size_t offset, const struct ews_pack_sink *sink)
{
	struct record record;
	size_t n;
	int rc = go_down(&record, &n, reader, pack, offset);

	if (rc <= 0)
		return rc;
	*type = (enum ews_object_type)record.type;
	if (!n && sink && record.size >= LARGE_BYTES) {
		rc = pass_record(sink, reader, pack, &record);
		return rc > 0 ? 2 : rc;
	}
	wait_for_turn(reader, packs, record.size);
	rc = inflate_record(&reader->object, reader, pack, &record);
	while (rc == 1 && n--) {
		rc = inflate_record(&reader->delta, reader, pack, &reader->chain[n]);
		if (rc == 1)
			rc = apply_delta(reader, packs, n ? NULL : sink, *type);
		if (rc != 1)
			break;
		swap(&reader->object, &reader->result);
		if (reader->turn)
			shrink(&reader->result);
	}
	return rc;
}

/* A delta begins with how large it makes what comes of it. */
static bool read_delta_size(uint64_t *out, struct ews_pack_reader *reader, const struct pack *pack,
			    const struct record *record)
{
	unsigned char head[DELTA_HEAD_MAX];
	const unsigned char *at = head;
	size_t base_len, len;
	z_stream *z = &reader->z;

	if (!begin_steps(reader, record))
		return false;
	z->next_out = head;
	z->avail_out = sizeof(head);
	(void)inflate_step(reader, pack, HEAD_BYTES); /* what came is looked at */
	if (!read_size(&base_len, &at, z->next_out) || !read_size(&len, &at, z->next_out))
		return false;
	*out = len;
	return true;
}

static int read_header_at(enum ews_object_type *type, uint64_t *size, struct ews_pack_reader *reader,
			  const struct pack *pack, size_t offset)
{
	struct record record;
	size_t n;
	int rc = go_down(&record, &n, reader, pack, offset);

	if (rc <= 0)
		return rc;
	*type = (enum ews_object_type)record.type;
	*size = record.size;
	return !n || read_delta_size(size, reader, pack, &reader->chain[0]) ? 1 : EWS_EDAMAGED;
}

/* Put the ids of all mapped indexes in, if there are enough of those. */
static void make_filter(struct ews_packs *packs)
{
	size_t n = packs->n, n_mapped = 0, n_ids = 0;
	struct ews_id_filter *filter;

	for (size_t i = 0; i < n; i++) {
		n_mapped += packs->items[i].index.at != NULL;
		n_ids += packs->items[i].index.at ? packs->items[i].n : 0;
	}
	if (n_mapped < FILTERED_MIN)
		return;
	filter = ews_id_filter_new(n_ids);
	for (size_t i = 0; i < n; i++) {
		const struct pack *pack = &packs->items[i];

		for (size_t at = 0; pack->index.at && at < pack->n; at++)
			ews_id_filter_add(filter, pack->index.at + IDS_AT + at * ID_LEN);
	}
	packs->n_filtered = n;
	packs->filter = filter; /* now others may look at both */
}

/*
 * The packs that may have an id. Whoever keeps a state makes one at a time, and there come to be many: what was asked for last
 * tells where to begin, and of most the filter says at once that they haven't it.
 */
struct tour {
	struct ews_packs *packs;
	size_t n, first;
	size_t n_without; /* the mapped among so many have it not */
	size_t next; /* 0: the first, then all others in their order */
};

static struct tour begin_tour(struct ews_packs *packs, const unsigned char *id)
{
	const struct ews_id_filter *filter = packs->filter;

	return (struct tour){ .packs = packs,
			      .n = packs->n,
			      .first = packs->last,
			      .n_without = filter && !ews_id_filter_may_have(filter, id) ? packs->n_filtered : 0 };
}

/* NULL: there are no more. */
static struct pack *next_pack(struct tour *tour)
{
	while (tour->n && tour->next <= tour->n) {
		size_t turn = tour->next++;
		size_t i = turn ? turn - 1 : tour->first;
		struct pack *pack = &tour->packs->items[i];

		if (!(turn && i == tour->first) && !(i < tour->n_without && pack->index.at))
			return pack;
	}
	return NULL;
}

/* `pack` had it; NULL: none did. Of the threads that ask one makes the filter, when many ids were not there. */
static void end_tour(const struct tour *tour, const struct pack *pack)
{
	struct ews_packs *packs = tour->packs;
	size_t i = pack ? (size_t)(pack - packs->items) : 0;

	if (pack && packs->last != i)
		packs->last = i;
	if (!pack && packs->n_missing < MISSING_MIN && atomic_fetch_add(&packs->n_missing, 1) + 1 == MISSING_MIN)
		make_filter(packs);
}

/* What one pack has of the object, which stands at `offset` of it. */
typedef int (*take_fn)(void *payload, const struct pack *pack, size_t offset);

/*
 * Go through the packs until one has the object whole, and say as the reader does what was found. What a pack has damaged
 * may be well in another.
 */
static int go_through(struct ews_packs *packs, const struct ews_oid *oid, take_fn take, void *payload)
{
	char hex[EWS_OID_HEX_MAX];
	struct pack *pack;
	struct tour tour;
	int found = 0;

	if (oid->len != ID_LEN)
		return 0;
	tour = begin_tour(packs, oid->id);
	while ((found == 0 || found == EWS_EDAMAGED) && (pack = next_pack(&tour))) {
		size_t offset = find(pack, oid->id);
		int rc = offset ? take(payload, pack, offset) : 0;

		if (rc)
			found = rc;
	}
	end_tour(&tour, found > 0 ? pack : NULL);
	if (found == EWS_EDAMAGED)
		return ews_error(found, "object %s is damaged in its pack", ews_oid_hex(hex, oid));
	return found;
}

struct taking {
	struct ews_pack_reader *reader;
	struct ews_packs *packs;
	const struct ews_pack_sink *sink;
	enum ews_object_type *type;
	uint64_t *size;
};

static int take_content(void *payload, const struct pack *pack, size_t offset)
{
	const struct taking *taking = payload;

	return read_at(taking->type, taking->reader, taking->packs, pack, offset, taking->sink);
}

static int take_header(void *payload, const struct pack *pack, size_t offset)
{
	const struct taking *taking = payload;

	return read_header_at(taking->type, taking->size, taking->reader, pack, offset);
}

int ews_pack_reader_read(const struct ews_buf **out, enum ews_object_type *type, struct ews_pack_reader *reader,
			 struct ews_packs *packs, const struct ews_oid *oid, const struct ews_pack_sink *sink)
{
	struct taking taking = { .reader = reader, .packs = packs, .sink = sink, .type = type };

	*out = &reader->object;
	return go_through(packs, oid, take_content, &taking);
}

int ews_pack_reader_read_header(enum ews_object_type *type, uint64_t *size, struct ews_pack_reader *reader,
				struct ews_packs *packs, const struct ews_oid *oid)
{
	struct taking taking = { .reader = reader, .packs = packs, .type = type, .size = size };

	return go_through(packs, oid, take_header, &taking);
}

bool ews_packs_have(struct ews_packs *packs, const struct ews_oid *oid)
{
	struct pack *pack;
	struct tour tour;
	size_t at;

	if (oid->len != ID_LEN)
		return false;
	tour = begin_tour(packs, oid->id);
	while ((pack = next_pack(&tour)) && !find_id(&at, pack, oid->id))
		;
	end_tour(&tour, pack);
	return pack;
}

/* Let the pack count as new. What we may not touch is there all the same. */
static bool freshen(const struct ews_packs *packs, struct pack *pack)
{
	EWS_CLEANUP(free) char *path = NULL;
	uint64_t now_ms = ews_clock_monotonic_ms();

	if (pack->is_cruft)
		return false;
	if (pack->freshened_ms && now_ms - pack->freshened_ms < FRESH_MS)
		return true;
	path = ews_strfmt("%s/%spack", packs->dir, pack->name);
	if (utimensat(AT_FDCWD, path, NULL, 0) < 0)
		return access(path, F_OK) == 0;
	pack->freshened_ms = now_ms;
	return true;
}

bool ews_packs_freshen(struct ews_packs *packs, const struct ews_oid *oid)
{
	struct pack *pack;
	struct tour tour;
	size_t at;

	if (oid->len != ID_LEN)
		return false;
	tour = begin_tour(packs, oid->id);
	while ((pack = next_pack(&tour)) && !(find_id(&at, pack, oid->id) && freshen(packs, pack)))
		;
	end_tour(&tour, pack);
	return pack;
}

bool ews_packs_are_all(const struct ews_packs *packs)
{
	return packs->are_all;
}
