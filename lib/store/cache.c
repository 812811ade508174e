/*
 * The stat cache: see cache.h.
 *
 *     header  entries ...  skips ...  strings of entries ...  of skips ...  extra  CRC-32 of all before
 *
 * Entries and skips are structs as they lie in memory; where they have a pointer, the file has the place in the
 * strings, counted from 1. In the byte order of the machine: a cache never travels.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/deflate.h"
#include "base/error.h"
#include "base/file.h"
#include "base/own.h"

#define CACHE_MAGIC 0x43535745u
#define CACHE_VERSION 3
#define CACHE_BYTES_MAX (4 * EWS_GIB)
#define RACY_NS 20000000

struct header {
	uint32_t magic, version;
	uint32_t entry_size, skip_size; /* of the structs: another build may have others */
	uint64_t n, n_skips, strings_len, skip_strings_len, extra_len;
	struct ews_entry root;
	struct ews_stamp index;
	uint8_t key[EWS_CACHE_KEY_LEN], tracked[EWS_CACHE_KEY_LEN];
	char hash[EWS_TREE_HASH_LEN];
	uint8_t is_whole, knows_names;
	uint8_t pad[6];
};

void ews_cache_release(struct ews_cache *cache)
{
	ews_entries_release(&cache->entries);
	ews_skips_release(&cache->skips);
	ews_buf_release(&cache->extra);
	*cache = (struct ews_cache)EWS_CACHE_INIT;
}

static bool read_all(int fd, void *out, size_t len)
{
	char *at = out;

	while (len) {
		ssize_t n = read(fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		len -= (size_t)n;
	}
	return true;
}

/* The pointer that stands for a place in the strings, whose last byte is a NUL. */
static bool find_string(const char **text, const char *strings, uint64_t len)
{
	uintptr_t place = (uintptr_t)*text;

	if (place > len)
		return false;
	*text = place ? strings + place - 1 : NULL;
	return true;
}

/* A byte that is neither 0 nor 1 is no bool, and may not be looked at as one. */
static bool are_bools(const struct ews_entry *entry)
{
	static const size_t places[] = { offsetof(struct ews_entry, has_time), offsetof(struct ews_entry, has_stat),
					 offsetof(struct ews_entry, is_racy), offsetof(struct ews_entry, has_owner),
					 offsetof(struct ews_entry, is_elsewhere) };

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (((const unsigned char *)entry)[places[i]] > 1)
			return false;
	return true;
}

static bool settle_entry(struct ews_entry *entry, const char *strings, uint64_t len)
{
	return are_bools(entry) && entry->type >= EWS_ENTRY_FILE && entry->type <= EWS_ENTRY_DEVICE &&
	       entry->oid.len <= EWS_OID_MAX && find_string(&entry->path, strings, len) && entry->path &&
	       find_string(&entry->xattrs, strings, len) && find_string(&entry->first_name, strings, len);
}

static bool settle_skip(struct ews_skip *skip, const char *strings, uint64_t len)
{
	return ews_skip_is_reason(skip->reason) && find_string(&skip->path, strings, len) && skip->path;
}

static bool is_header(const struct header *header, uint64_t size)
{
	uint64_t room = size - sizeof(*header) - sizeof(uint32_t);

	return header->magic == CACHE_MAGIC && header->version == CACHE_VERSION &&
	       header->entry_size == sizeof(struct ews_entry) && header->skip_size == sizeof(struct ews_skip) &&
	       header->n <= room / sizeof(struct ews_entry) && header->n_skips <= room / sizeof(struct ews_skip) &&
	       header->strings_len <= room && header->skip_strings_len <= room && header->extra_len <= room &&
	       header->n * sizeof(struct ews_entry) + header->n_skips * sizeof(struct ews_skip) +
			       header->strings_len + header->skip_strings_len + header->extra_len ==
		       room &&
	       header->is_whole <= 1 && header->knows_names <= 1 && are_bools(&header->root) &&
	       !header->hash[sizeof(header->hash) - 1];
}

/* Read `len` bytes and add them to the checksum. */
static bool read_part(int fd, void *out, size_t len, uint32_t *crc)
{
	if (!read_all(fd, out, len))
		return false;
	*crc = ews_crc32(*crc, out, len);
	return true;
}

/* Read strings, the last of which ends where they do. */
static char *read_strings(struct ews_arena *arena, int fd, uint64_t len, uint32_t *crc)
{
	char *strings = ews_arena_alloc_raw(arena, len + 1);

	ews_alloc_fill(strings, len);
	return read_part(fd, strings, len, crc) && (!len || !strings[len - 1]) ? strings : NULL;
}

/* Read what follows the header: false when it is not what was written. */
static bool read_body(struct ews_cache *out, int fd, const struct header *header)
{
	uint32_t crc = ews_crc32(0, header, sizeof(*header)), found;
	const char *strings, *skip_strings;

	EWS_GROW_TO(out->entries.items, header->n + 1, out->entries.cap);
	EWS_GROW_TO(out->skips.items, header->n_skips + 1, out->skips.cap);
	if (!read_part(fd, out->entries.items, header->n * sizeof(struct ews_entry), &crc) ||
	    !read_part(fd, out->skips.items, header->n_skips * sizeof(struct ews_skip), &crc))
		return false;
	strings = read_strings(&out->entries.arena, fd, header->strings_len, &crc);
	skip_strings = strings ? read_strings(&out->skips.arena, fd, header->skip_strings_len, &crc) : NULL;
	ews_buf_reserve(&out->extra, header->extra_len);
	if (!skip_strings || !read_part(fd, out->extra.ptr, header->extra_len, &crc) ||
	    !read_all(fd, &found, sizeof(found)) || crc != found)
		return false;
	if (header->extra_len)
		out->extra.ptr[out->extra.len = header->extra_len] = '\0';
	for (uint64_t i = 0; i < header->n; i++)
		if (!settle_entry(&out->entries.items[i], strings, header->strings_len))
			return false;
	for (uint64_t i = 0; i < header->n_skips; i++)
		if (!settle_skip(&out->skips.items[i], skip_strings, header->skip_strings_len))
			return false;
	out->entries.n = header->n;
	out->skips.n = header->n_skips;
	return true;
}

int ews_cache_read(struct ews_cache *out, int dir_fd, const char *name)
{
	EWS_CLEANUP(fd) int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct header header;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size > CACHE_BYTES_MAX ||
	    (size_t)st.st_size < sizeof(header) + sizeof(uint32_t))
		return 0;
	if (ews_own_check(fd, name) < 0) {
		ews_error_clear();
		return 0;
	}
	if (!read_all(fd, &header, sizeof(header)) || !is_header(&header, (uint64_t)st.st_size))
		return 0;
	if (!read_body(out, fd, &header)) {
		ews_cache_release(out);
		return 0;
	}
	out->entries.knows_names = header.knows_names;
	out->is_whole = header.is_whole;
	out->root = header.root;
	out->root.path = out->root.xattrs = out->root.first_name = NULL;
	out->index = header.index;
	memcpy(out->key, header.key, sizeof(out->key));
	memcpy(out->tracked, header.tracked, sizeof(out->tracked));
	memcpy(out->hash, header.hash, sizeof(out->hash));
	return 0;
}

/* Did it change so late before the scan that a later change could look the same? */
static bool is_late(int64_t s, uint32_t ns, int64_t started_s, uint32_t started_ns)
{
	int64_t limit_s = started_s, limit_ns = (int64_t)started_ns - RACY_NS;

	if (limit_ns < 0) {
		limit_ns += 1000000000;
		limit_s--;
	}
	return s > limit_s || (s == limit_s && (int64_t)ns >= limit_ns);
}

static bool is_racy(const struct ews_entry *entry, int64_t started_s, uint32_t started_ns)
{
	return is_late(entry->mtime_s, entry->mtime_ns, started_s, started_ns) ||
	       is_late(entry->ctime_s, entry->ctime_ns, started_s, started_ns);
}

static size_t string_bytes(const char *text)
{
	return text ? strlen(text) + 1 : 0;
}

/* Where the strings begin, and where the next one goes. */
struct strings {
	char *start, *at;
};

/* The place of a copy of `text` in the strings, as a pointer. */
static const char *keep_string(struct strings *strings, const char *text)
{
	size_t len = string_bytes(text);
	uintptr_t place = (uintptr_t)(strings->at - strings->start) + 1;

	if (!len)
		return NULL;
	memcpy(strings->at, text, len);
	strings->at += len;
	return (const char *)place;
}

/* The entry as it is written. */
static struct ews_entry entry_of(const struct ews_cache *cache, size_t i)
{
	struct ews_entry entry;

	if (cache->record)
		cache->record(&entry, &cache->entries.items[i]);
	else
		memcpy(&entry, &cache->entries.items[i], sizeof(entry));
	return entry;
}

static void fill_header(struct header *header, const struct ews_cache *cache, int64_t started_s, uint32_t started_ns)
{
	const struct ews_entries *list = &cache->entries;

	memset(header, 0, sizeof(*header)); /* what pads it is written, too */
	header->magic = CACHE_MAGIC;
	header->version = CACHE_VERSION;
	header->entry_size = sizeof(struct ews_entry);
	header->skip_size = sizeof(struct ews_skip);
	header->n = list->n;
	header->is_whole = cache->is_whole;
	header->knows_names = list->knows_names;
	for (size_t i = 0; i < list->n; i++) {
		const struct ews_entry entry = entry_of(cache, i);

		header->strings_len +=
			string_bytes(entry.path) + string_bytes(entry.xattrs) + string_bytes(entry.first_name);
	}
	if (!cache->is_whole)
		return;
	header->n_skips = cache->skips.n;
	for (size_t i = 0; i < header->n_skips; i++)
		header->skip_strings_len += string_bytes(cache->skips.items[i].path);
	header->root = cache->root;
	header->root.is_racy = is_racy(&cache->root, started_s, started_ns);
	header->root.path = header->root.xattrs = header->root.first_name = NULL;
	header->index = cache->index;
	memcpy(header->key, cache->key, sizeof(header->key));
	memcpy(header->tracked, cache->tracked, sizeof(header->tracked));
	memcpy(header->hash, cache->hash, strnlen(cache->hash, sizeof(header->hash) - 1));
}

void ews_cache_format(struct ews_cache_image *out, const struct ews_cache *cache, int64_t started_s,
		      uint32_t started_ns)
{
	const struct ews_entries *list = &cache->entries;
	struct strings strings, skip_strings;
	struct header header;
	size_t len;
	char *at;

	fill_header(&header, cache, started_s, started_ns);
	len = sizeof(header) + header.n * sizeof(struct ews_entry) + header.n_skips * sizeof(struct ews_skip) +
	      header.strings_len + header.skip_strings_len;
	ews_buf_truncate(&out->data, 0);
	ews_buf_reserve(&out->data, len);
	memcpy(out->data.ptr, &header, sizeof(header));
	at = out->data.ptr + sizeof(header);
	strings.start = at + header.n * sizeof(struct ews_entry) + header.n_skips * sizeof(struct ews_skip);
	skip_strings.start = strings.start + header.strings_len;
	strings.at = strings.start;
	skip_strings.at = skip_strings.start;
	for (size_t i = 0; i < list->n; i++) {
		struct ews_entry entry = entry_of(cache, i);

		entry.is_racy = is_racy(&entry, started_s, started_ns);
		entry.path = keep_string(&strings, entry.path);
		entry.xattrs = keep_string(&strings, entry.xattrs);
		entry.first_name = keep_string(&strings, entry.first_name);
		memcpy(at, &entry, sizeof(entry));
		at += sizeof(entry);
	}
	for (size_t i = 0; i < header.n_skips; i++) {
		struct ews_skip skip;

		memset(&skip, 0, sizeof(skip)); /* as in the header */
		skip.path = keep_string(&skip_strings, cache->skips.items[i].path);
		skip.reason = cache->skips.items[i].reason;
		skip.size = cache->skips.items[i].size;
		memcpy(at, &skip, sizeof(skip));
		at += sizeof(skip);
	}
	out->data.len = len;
	out->data.ptr[len] = '\0';
	out->crc = ews_crc32(0, out->data.ptr + sizeof(header), len - sizeof(header));
}

int ews_cache_write_image(int dir_fd, const char *name, struct ews_cache_image *image, const struct iovec *extra,
			  size_t n_extra, bool is_durable)
{
	EWS_CLEANUP(free) struct iovec *parts = ews_calloc(n_extra + 2, sizeof(*parts));
	struct ews_buf *data = &image->data;
	size_t body_len = data->len - sizeof(struct header);
	struct header header;
	uint32_t crc;

	memcpy(&header, data->ptr, sizeof(header));
	header.extra_len = 0;
	for (size_t i = 0; i < n_extra; i++)
		header.extra_len += extra[i].iov_len;
	memcpy(data->ptr, &header, sizeof(header));
	crc = ews_crc32(0, &header, sizeof(header));
	crc = (uint32_t)crc32_combine(crc, image->crc, (z_off_t)body_len);
	parts[0] = (struct iovec){ data->ptr, data->len };
	for (size_t i = 0; i < n_extra; i++) {
		crc = ews_crc32(crc, extra[i].iov_base, extra[i].iov_len);
		parts[i + 1] = extra[i];
	}
	parts[n_extra + 1] = (struct iovec){ &crc, sizeof(crc) };
	return ews_file_replace_parts(dir_fd, name, parts, n_extra + 2, 0600, is_durable);
}

int ews_cache_write(int dir_fd, const char *name, const struct ews_cache *cache, int64_t started_s,
		    uint32_t started_ns, bool is_durable)
{
	EWS_CLEANUP(cache_image) struct ews_cache_image image = EWS_CACHE_IMAGE_INIT;
	const struct iovec extra = { cache->extra.ptr, cache->extra.len };

	ews_cache_format(&image, cache, started_s, started_ns);
	return ews_cache_write_image(dir_fd, name, &image, &extra, 1, is_durable);
}

void ews_cache_image_release(struct ews_cache_image *image)
{
	ews_buf_release(&image->data);
	*image = (struct ews_cache_image)EWS_CACHE_IMAGE_INIT;
}
