/*
 * A pack and its index: see packed.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/packed.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"

#define ID_LEN EWS_PACKED_ID_LEN
#define COUNTS_AT 8
#define IDS_AT (COUNTS_AT + 256 * 4)
#define INDEX_MAPPED_MAX (128 * EWS_KIB)
#define IDS_READ 128 /* of an index at once */
#define GUESSES_MAX 8

static uint32_t get_u32(const unsigned char *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
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
static bool read_head(struct ews_packed *pack)
{
	static const unsigned char magic[COUNTS_AT] = { 0xff, 't', 'O', 'c', 0, 0, 0, 2 };
	unsigned char head[IDS_AT];

	if (!ews_file_read_at(pack->index_fd, head, sizeof(head), 0) || memcmp(head, magic, sizeof(magic)) != 0)
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
static bool is_of(const struct ews_packed *pack, int fd, size_t len)
{
	static const unsigned char magic[] = { 'P', 'A', 'C', 'K', 0, 0, 0, 2 };
	unsigned char head[EWS_PACKED_HEADER_LEN], named[ID_LEN], end[ID_LEN];

	return len >= sizeof(head) + sizeof(end) && ews_file_read_at(fd, head, sizeof(head), 0) &&
	       !memcmp(head, magic, sizeof(magic)) && get_u32(head + sizeof(magic)) == pack->n &&
	       ews_file_read_at(pack->index_fd, named, sizeof(named), pack->index.len - 2 * ID_LEN) &&
	       ews_file_read_at(fd, end, sizeof(end), len - sizeof(end)) && !memcmp(named, end, sizeof(end));
}

static bool map_index(struct ews_packed *pack, int fd)
{
	void *at = mmap(NULL, pack->index.len, PROT_READ, MAP_PRIVATE, fd, 0);

	pack->index.at = at == MAP_FAILED ? NULL : at;
	return pack->index.at;
}

bool ews_packed_open(struct ews_packed *out, int dir_fd, const char *name)
{
	EWS_CLEANUP(free) char *index = ews_strfmt("%sidx", name);
	EWS_CLEANUP(free) char *file = ews_strfmt("%spack", name);
	EWS_CLEANUP(free) char *times = ews_strfmt("%smtimes", name);
	struct ews_packed pack = { .n = 0 };
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
	if (pack.index.len > INDEX_MAPPED_MAX || !map_index(&pack, index_fd))
		pack.index_fd = ews_steal_fd(&index_fd);
	else
		pack.index_fd = -1;
	pack.fd = ews_steal_fd(&fd);
	pack.name = ews_strdup(name);
	pack.is_cruft = faccessat(dir_fd, times, F_OK, 0) == 0;
	*out = pack;
	return true;
}

void ews_packed_close(struct ews_packed *pack)
{
	ews_cleanup_fd(&pack->index_fd);
	if (pack->index.at)
		(void)munmap((void *)pack->index.at, pack->index.len); /* it was mapped so */
	ews_cleanup_fd(&pack->fd);
	free(pack->name);
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
static const unsigned char *look_into(const struct ews_packed *pack, unsigned char *room, size_t len, size_t at)
{
	if (pack->index.at)
		return pack->index.at + at;
	return ews_file_read_at(pack->index_fd, room, len, at) ? room : NULL;
}

/* The same, and what follows is read with them into `part`, which may have them already; NULL: no part is kept. */
static const unsigned char *look_on(const struct ews_packed *pack, struct ews_packed_part *part,
				    unsigned char *room, size_t len, size_t at)
{
	if (!part || pack->index.at)
		return look_into(pack, room, len, at);
	if (at < part->at || at + len > part->at + part->len) {
		part->at = at;
		part->len = pack->index.len - at < sizeof(part->bytes) ? pack->index.len - at : sizeof(part->bytes);
		if (!ews_file_read_at(pack->index_fd, part->bytes, part->len, at)) {
			part->len = 0;
			return NULL;
		}
	}
	return part->bytes + (at - part->at);
}

/* As ews_packed_find_id(), by way of `part`; NULL: no part is kept. */
static bool find_id(size_t *out, const struct ews_packed *pack, struct ews_packed_part *part, const unsigned char *id)
{
	struct range range = { .low = *id ? pack->counts[*id - 1] : 0,
			       .high = pack->counts[*id],
			       .least = (uint32_t)*id << 24,
			       .most = (uint32_t)*id << 24 | 0xffffff };
	unsigned char room[IDS_READ * ID_LEN];

	for (int guesses = 0; range.low < range.high; guesses++) {
		size_t first = guess(&range, get_u32(id), guesses < GUESSES_MAX), at;
		size_t n = range.high - first < IDS_READ ? range.high - first : IDS_READ;
		const unsigned char *ids = look_on(pack, part, room, n * ID_LEN, IDS_AT + first * ID_LEN);
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

bool ews_packed_find_id(size_t *out, const struct ews_packed *pack, const unsigned char *id)
{
	return find_id(out, pack, NULL, id);
}

/* As ews_packed_find(), by way of `view`; NULL: there is none. */
static size_t find_offset(const struct ews_packed *pack, struct ews_packed_view *view, const unsigned char *id)
{
	size_t offsets_at = IDS_AT + pack->n * (ID_LEN + 4), large_at = offsets_at + pack->n * 4;
	size_t n_large = (pack->index.len - 2 * ID_LEN - large_at) / 8;
	const unsigned char *bytes;
	unsigned char room[8];
	uint64_t offset;
	size_t at;

	if (!find_id(&at, pack, view ? &view->ids : NULL, id))
		return 0;
	bytes = look_on(pack, view ? &view->offsets : NULL, room, 4, offsets_at + at * 4);
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
	return offset >= EWS_PACKED_HEADER_LEN && offset < pack->end ? (size_t)offset : SIZE_MAX;
}

size_t ews_packed_find(const struct ews_packed *pack, const unsigned char *id)
{
	return find_offset(pack, NULL, id);
}

size_t ews_packed_find_next(struct ews_packed_view *view, const struct ews_packed *pack, const unsigned char *id)
{
	return find_offset(pack, view, id);
}

const unsigned char *ews_packed_ids(const struct ews_packed *pack)
{
	return pack->index.at ? pack->index.at + IDS_AT : NULL;
}
