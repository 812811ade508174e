/*
 * The stat cache: see cache.h.
 *
 *     "EWSC" version  count  strings_len  records ...  strings ...  SHA-1 of all before
 *
 * In the byte order of the machine: a cache never travels.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/cache.h"

#include <string.h>

#include "base/error.h"
#include "base/file.h"

#define CACHE_MAGIC 0x43535745u
#define CACHE_VERSION 1
#define CACHE_BYTES_MAX (2 * EWS_GIB)
#define RACY_NS 20000000
#define NO_STRING UINT32_MAX

struct header {
	uint32_t magic, version;
	uint64_t n, strings_len;
};

struct record {
	uint64_t size, dev, ino;
	int64_t mtime_s, ctime_s;
	uint32_t mtime_ns, ctime_ns;
	uint32_t path, xattrs; /* offsets in the strings */
	uint16_t mode;
	uint8_t type, has_stat, is_racy, oid_len;
	uint8_t oid[EWS_OID_MAX];
	uint8_t pad[2];
};

static bool is_string_at(const char *strings, uint64_t len, uint32_t at)
{
	return at < len && memchr(strings + at, '\0', len - at);
}

static bool take_records(struct ews_entries *out, const struct header *header, const struct record *records,
			 const char *strings)
{
	EWS_GROW_TO(out->items, header->n + 1, out->cap);
	for (uint64_t i = 0; i < header->n; i++) {
		const struct record *r = &records[i];
		struct ews_entry *entry;

		if (!is_string_at(strings, header->strings_len, r->path) || r->oid_len > EWS_OID_MAX ||
		    (r->xattrs != NO_STRING && !is_string_at(strings, header->strings_len, r->xattrs)))
			return false;
		entry = ews_entries_add(out, strings + r->path, strlen(strings + r->path));
		entry->size = r->size;
		entry->dev = r->dev;
		entry->ino = r->ino;
		entry->has_time = r->has_stat;
		entry->mtime_s = r->mtime_s;
		entry->mtime_ns = r->mtime_ns;
		entry->ctime_s = r->ctime_s;
		entry->ctime_ns = r->ctime_ns;
		entry->mode = r->mode;
		entry->type = r->type;
		entry->has_stat = r->has_stat;
		entry->is_racy = r->is_racy;
		entry->oid.len = r->oid_len;
		memcpy(entry->oid.id, r->oid, sizeof(r->oid));
		if (r->xattrs != NO_STRING)
			entry->xattrs = ews_arena_dup(&out->arena, strings + r->xattrs, strlen(strings + r->xattrs));
	}
	return true;
}

int ews_cache_read(struct ews_entries *out, int dir_fd, const char *name)
{
	EWS_CLEANUP(buf) struct ews_buf data = EWS_BUF_INIT;
	uint8_t digest[EWS_HASH_MAX];
	const struct header *header;
	size_t body, len;

	if (ews_file_read_own(&data, dir_fd, name, CACHE_BYTES_MAX) < 0) {
		ews_error_clear();
		return 0;
	}
	header = (const struct header *)data.ptr;
	if (data.len < sizeof(*header) + 20 || header->magic != CACHE_MAGIC || header->version != CACHE_VERSION)
		return 0;
	body = data.len - sizeof(*header) - 20;
	if (header->n > body / sizeof(struct record) ||
	    header->n * sizeof(struct record) + header->strings_len != body)
		return 0;
	len = ews_hash_once(EWS_SHA1, digest, data.ptr, data.len - 20);
	if (memcmp(digest, data.ptr + data.len - 20, len))
		return 0;
	if (!take_records(out, header, (const struct record *)(header + 1),
			  data.ptr + sizeof(*header) + header->n * sizeof(struct record)))
		ews_entries_release(out);
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

int ews_cache_write(int dir_fd, const char *name, const struct ews_entries *list, int64_t started_s,
		    uint32_t started_ns)
{
	EWS_CLEANUP(buf) struct ews_buf data = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf strings = EWS_BUF_INIT;
	struct header header = { CACHE_MAGIC, CACHE_VERSION, list->n, 0 };
	uint8_t digest[EWS_HASH_MAX];

	ews_buf_reserve(&data, sizeof(header) + list->n * sizeof(struct record));
	ews_buf_add(&data, &header, sizeof(header));
	for (size_t i = 0; i < list->n; i++) {
		const struct ews_entry *entry = &list->items[i];
		struct record r = {
			.size = entry->size,
			.dev = entry->dev,
			.ino = entry->ino,
			.mtime_s = entry->mtime_s,
			.mtime_ns = entry->mtime_ns,
			.ctime_s = entry->ctime_s,
			.ctime_ns = entry->ctime_ns,
			.mode = entry->mode,
			.type = entry->type,
			.has_stat = entry->has_stat,
			.oid_len = entry->oid.len,
			.path = (uint32_t)strings.len,
			.xattrs = NO_STRING,
		};

		r.is_racy = is_late(entry->mtime_s, entry->mtime_ns, started_s, started_ns) ||
			    is_late(entry->ctime_s, entry->ctime_ns, started_s, started_ns);
		memcpy(r.oid, entry->oid.id, sizeof(r.oid));
		ews_buf_add(&strings, entry->path, strlen(entry->path) + 1);
		if (entry->xattrs) {
			r.xattrs = (uint32_t)strings.len;
			ews_buf_add(&strings, entry->xattrs, strlen(entry->xattrs) + 1);
		}
		/* Offsets of 32 bits: a tree with more names than that goes without a cache. */
		if (strings.len >= NO_STRING)
			return 0;
		ews_buf_add(&data, &r, sizeof(r));
	}
	ews_buf_add(&data, strings.ptr, strings.len);
	((struct header *)data.ptr)->strings_len = strings.len;
	ews_hash_once(EWS_SHA1, digest, data.ptr, data.len);
	ews_buf_add(&data, digest, 20);
	return ews_file_replace(dir_fd, name, data.ptr, data.len, 0600);
}
