/*
 * The stat cache: see cache.h.
 *
 *     header  entries ...  skips ...  strings of entries ...  of skips ...  extra  CRC-32 of all before
 *
 * Entries and skips are structs as they lie in memory; where they have a pointer, the file has the place in the
 * strings, counted from 1. In the byte order of the machine: a cache never travels.
 *
 *     header  changes ...  extra  CRC-32 of all before
 *
 * is what changed since: which entry it is, and the entry, without its strings. The header has the id of the other's.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/cache.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/deflate.h"
#include "base/error.h"
#include "base/file.h"
#include "base/own.h"
#include "base/pool.h"

#define CACHE_MAGIC 0x43535745u
#define SINCE_MAGIC 0x53535745u
#define SINCE_SUFFIX ".since"
#define SINCE_PART 16 /* at most one entry of so many is written by itself */
#define CACHE_VERSION 6
#define CACHE_BYTES_MAX (4 * EWS_GIB)
#define DRAIN_BYTES (128 * 1024)
#define READ_BYTES (1024 * 1024) /* what one thread reads in a row */

struct header {
	uint32_t magic, version;
	uint32_t entry_size, skip_size; /* of the structs: another build may have others */
	uint64_t n, n_skips, strings_len, skip_strings_len, extra_len;
	uint8_t id[EWS_CACHE_ID_LEN]; /* all 0: nothing is beside it */
	struct ews_entry root;
	struct ews_stamp index;
	uint8_t key[EWS_CACHE_KEY_LEN], tracked[EWS_CACHE_KEY_LEN];
	char hash[EWS_TREE_HASH_LEN];
	uint8_t is_whole, knows_names;
	uint8_t pad[6];
};

/* An entry that is not as the other file has it. */
struct change {
	uint64_t at;
	struct ews_entry entry;
};

static bool is_id(const uint8_t id[EWS_CACHE_ID_LEN])
{
	static const uint8_t none[EWS_CACHE_ID_LEN] = { 0 };

	return memcmp(id, none, sizeof(none)) != 0;
}

void ews_cache_origin_release(struct ews_cache_origin *origin)
{
	free(origin->changed);
	*origin = (struct ews_cache_origin)EWS_CACHE_ORIGIN_INIT;
}

void ews_cache_origin_add(struct ews_cache_origin *origin, const size_t *changed, size_t n)
{
	size_t *all = ews_malloc((origin->n + n) * sizeof(*all)), at = 0, i = 0, j = 0;

	while (i < origin->n || j < n) {
		size_t one = j == n || (i < origin->n && origin->changed[i] < changed[j]) ? origin->changed[i]
											  : changed[j];

		i += i < origin->n && origin->changed[i] == one;
		j += j < n && changed[j] == one;
		all[at++] = one;
	}
	free(origin->changed);
	origin->changed = all;
	origin->n = at;
}

void ews_cache_release(struct ews_cache *cache)
{
	ews_entries_release(&cache->entries);
	ews_skips_release(&cache->skips);
	ews_buf_release(&cache->extra);
	ews_cache_origin_release(&cache->origin);
	*cache = (struct ews_cache)EWS_CACHE_INIT;
}

/* A file that is read from its beginning on. */
struct source {
	int fd;
	uint64_t at; /* what was read */
	uint32_t crc; /* of that */
};

/* A part of it that is long enough for several threads. */
struct part {
	const struct source *source;
	char *out;
	size_t len;
	uint32_t *crcs; /* of each piece, of the first with all before it */
	atomic_bool is_short;
};

static size_t piece_len(const struct part *part, size_t i)
{
	size_t left = part->len - i * READ_BYTES;

	return left < READ_BYTES ? left : READ_BYTES;
}

static int read_piece(size_t i, unsigned worker, void *payload)
{
	struct part *part = payload;
	size_t at = i * READ_BYTES, len = piece_len(part, i);

	(void)worker;
	ews_alloc_fill(part->out + at, len);
	if (ews_file_read_at(part->source->fd, part->out + at, len, part->source->at + at))
		part->crcs[i] = ews_crc32(i ? 0 : part->source->crc, part->out + at, len);
	else
		part->is_short = true;
	return 0;
}

/* Read the next `len` bytes. False: there are not as many. */
static bool read_next(struct source *source, void *out, size_t len)
{
	size_t n = (len + READ_BYTES - 1) / READ_BYTES;
	EWS_CLEANUP(free) uint32_t *crcs = ews_calloc(n, sizeof(*crcs));
	struct part part = { .source = source, .out = out, .len = len, .crcs = crcs };

	(void)ews_pool_for(n, 1, 0, read_piece, &part); /* it never fails */
	if (n)
		source->crc = crcs[0];
	for (size_t i = 1; i < n; i++)
		source->crc = (uint32_t)crc32_combine(source->crc, crcs[i], (z_off_t)piece_len(&part, i));
	source->at += len;
	return !part.is_short;
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

/* May it be looked at, but for its strings? */
static bool is_entry(const struct ews_entry *entry)
{
	return are_bools(entry) && entry->type >= EWS_ENTRY_FILE && entry->type <= EWS_ENTRY_DEVICE &&
	       entry->oid.len <= EWS_OID_MAX;
}

static bool settle_entry(struct ews_entry *entry, const char *strings, uint64_t len)
{
	return is_entry(entry) && find_string(&entry->path, strings, len) && entry->path &&
	       find_string(&entry->xattrs, strings, len) && find_string(&entry->first_name, strings, len);
}

static bool settle_skip(struct ews_skip *skip, const char *strings, uint64_t len)
{
	skip->is_gone = false; /* no scan says that, and older versions have anything there */
	return ews_skip_is_reason(skip->reason) && find_string(&skip->path, strings, len) && skip->path;
}

/* Are there as many bytes in a file of `size` as the header says? */
static bool is_of_size(const struct header *header, uint64_t size, size_t item_size)
{
	uint64_t room = size - sizeof(*header) - sizeof(uint32_t);

	return header->n <= room / item_size && header->n_skips <= room / sizeof(struct ews_skip) &&
	       header->strings_len <= room && header->skip_strings_len <= room && header->extra_len <= room &&
	       header->n * item_size + header->n_skips * sizeof(struct ews_skip) + header->strings_len +
			       header->skip_strings_len + header->extra_len ==
		       room;
}

static bool is_header(const struct header *header, uint32_t magic)
{
	return header->magic == magic && header->version == CACHE_VERSION &&
	       header->entry_size == sizeof(struct ews_entry) && header->skip_size == sizeof(struct ews_skip) &&
	       header->is_whole <= 1 && header->knows_names <= 1 && are_bools(&header->root) &&
	       !header->hash[sizeof(header->hash) - 1];
}

/* Read strings, the last of which ends where they do. */
static char *read_strings(struct ews_arena *arena, struct source *source, uint64_t len)
{
	char *strings = ews_arena_alloc_raw(arena, len + 1);

	return read_next(source, strings, len) && (!len || !strings[len - 1]) ? strings : NULL;
}

/* Read what stands last, and see whether all is what was written. */
static bool read_extra(struct ews_buf *out, struct source *source, size_t len)
{
	uint32_t found;

	ews_buf_truncate(out, 0);
	ews_buf_reserve(out, len);
	if (!read_next(source, out->ptr, len) || !ews_file_read_at(source->fd, &found, sizeof(found), source->at) ||
	    source->crc != found)
		return false;
	if (len)
		out->ptr[out->len = len] = '\0';
	return true;
}

/* Read what follows the header: false when it is not what was written. */
static bool read_body(struct ews_cache *out, struct source *source, const struct header *header)
{
	const char *strings, *skip_strings;

	EWS_GROW_TO(out->entries.items, header->n + 1, out->entries.cap);
	EWS_GROW_TO(out->skips.items, header->n_skips + 1, out->skips.cap);
	if (!read_next(source, out->entries.items, header->n * sizeof(struct ews_entry)) ||
	    !read_next(source, out->skips.items, header->n_skips * sizeof(struct ews_skip)))
		return false;
	strings = read_strings(&out->entries.arena, source, header->strings_len);
	skip_strings = strings ? read_strings(&out->skips.arena, source, header->skip_strings_len) : NULL;
	if (!skip_strings || !read_extra(&out->extra, source, header->extra_len))
		return false;
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

/* What follows the header, once that was read. */
static struct source behind(const struct header *header, int fd)
{
	return (struct source){ fd, sizeof(*header), ews_crc32(0, header, sizeof(*header)) };
}

/* Open the file and read its header, with how many bytes it has in all: a descriptor, or -1 when there is no cache in it. */
static int open_part(struct header *header, uint64_t *size, int dir_fd, const char *name, uint32_t magic)
{
	EWS_CLEANUP(fd) int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size > CACHE_BYTES_MAX ||
	    (size_t)st.st_size < sizeof(*header) + sizeof(uint32_t))
		return -1;
	if (ews_own_check(fd, name) < 0) {
		ews_error_clear();
		return -1;
	}
	if (!ews_file_read_at(fd, header, sizeof(*header), 0) || !is_header(header, magic))
		return -1;
	*size = (uint64_t)st.st_size;
	return ews_steal_fd(&fd);
}

/* What the header says of the whole. */
static void take_header(struct ews_cache *out, const struct header *header)
{
	out->entries.knows_names = header->knows_names;
	out->is_whole = header->is_whole;
	out->root = header->root;
	out->root.path = out->root.xattrs = out->root.first_name = NULL;
	out->index = header->index;
	memcpy(out->key, header->key, sizeof(out->key));
	memcpy(out->tracked, header->tracked, sizeof(out->tracked));
	memcpy(out->hash, header->hash, sizeof(out->hash));
}

/* Are they changes of entries of such a list? */
static bool are_changes(const struct change *changes, size_t n, const struct ews_entries *list)
{
	for (size_t i = 0; i < n; i++)
		if (changes[i].at >= list->n || (i && changes[i].at <= changes[i - 1].at) ||
		    !is_entry(&changes[i].entry))
			return false;
	return true;
}

/* The entry is this one now; its strings are those that it has. */
static void take_change(struct ews_entry *entry, const struct ews_entry *now)
{
	const struct ews_entry was = *entry;

	*entry = *now;
	entry->path = was.path;
	entry->xattrs = was.xattrs;
	entry->first_name = was.first_name;
}

/* Open what changed since the cache `name`, whose id is `id`, was written. -1: nothing that goes with it is there. */
static int open_since(struct header *header, uint64_t *size, int dir_fd, const char *name,
		      const uint8_t id[EWS_CACHE_ID_LEN])
{
	EWS_CLEANUP(free) char *since = ews_strfmt("%s" SINCE_SUFFIX, name);
	EWS_CLEANUP(fd) int fd = is_id(id) ? open_part(header, size, dir_fd, since, SINCE_MAGIC) : -1;

	if (fd < 0 || memcmp(header->id, id, sizeof(header->id)) != 0 || header->n_skips || header->strings_len ||
	    header->skip_strings_len || !is_of_size(header, *size, sizeof(struct change)))
		return -1;
	return ews_steal_fd(&fd);
}

/* Read what changed since the cache that `out` has was written. Nothing usable: it stays as it is. */
static void read_since(struct ews_cache *out, int dir_fd, const char *name)
{
	EWS_CLEANUP(free) struct change *changes = NULL;
	EWS_CLEANUP(free) size_t *changed = NULL;
	EWS_CLEANUP(buf) struct ews_buf extra = EWS_BUF_INIT;
	struct header header;
	uint64_t size;
	EWS_CLEANUP(fd) int fd = open_since(&header, &size, dir_fd, name, out->origin.id);
	struct source source;

	if (fd < 0 || header.n > out->entries.n)
		return;
	source = behind(&header, fd);
	changes = ews_calloc(header.n, sizeof(*changes));
	if (!read_next(&source, changes, header.n * sizeof(*changes)) ||
	    !read_extra(&extra, &source, header.extra_len) || !are_changes(changes, header.n, &out->entries))
		return;
	changed = ews_calloc(header.n, sizeof(*changed));
	for (size_t i = 0; i < header.n; i++) {
		changed[i] = changes[i].at;
		take_change(&out->entries.items[changes[i].at], &changes[i].entry);
	}
	ews_cache_origin_add(&out->origin, changed, header.n);
	take_header(out, &header);
	ews_buf_release(&out->extra);
	out->extra = extra;
	extra = (struct ews_buf)EWS_BUF_INIT;
}

/* False: nothing usable is there, and `out` is as it was. */
static bool read_cache(struct ews_cache *out, int dir_fd, const char *name)
{
	struct header header;
	struct source source;
	uint64_t size;
	EWS_CLEANUP(fd) int fd = open_part(&header, &size, dir_fd, name, CACHE_MAGIC);

	if (fd < 0 || !is_of_size(&header, size, sizeof(struct ews_entry)))
		return false;
	source = behind(&header, fd);
	if (!read_body(out, &source, &header)) {
		ews_cache_release(out);
		return false;
	}
	take_header(out, &header);
	memcpy(out->origin.id, header.id, sizeof(out->origin.id));
	read_since(out, dir_fd, name);
	return true;
}

int ews_cache_read(struct ews_cache *out, int dir_fd, const char *name)
{
	(void)read_cache(out, dir_fd, name); /* without it all is read anew */
	return 0;
}

/* Is it whole, and another version's? In all of them magic and version are first, and the checksum is last. */
static bool is_of_another_version(int dir_fd, const char *name)
{
	EWS_CLEANUP(buf) struct ews_buf data = EWS_BUF_INIT;
	uint32_t head[2], crc;

	if (ews_file_read_own(&data, dir_fd, name, CACHE_BYTES_MAX) < 0) {
		ews_error_clear();
		return false;
	}
	if (data.len < sizeof(head) + sizeof(crc))
		return false;
	memcpy(head, data.ptr, sizeof(head));
	memcpy(&crc, data.ptr + data.len - sizeof(crc), sizeof(crc));
	return head[0] == CACHE_MAGIC && head[1] != CACHE_VERSION &&
	       crc == ews_crc32(0, data.ptr, data.len - sizeof(crc));
}

int ews_cache_need(struct ews_cache *out, int dir_fd, const char *name)
{
	int rc;

	if (read_cache(out, dir_fd, name))
		return 0;
	rc = ews_file_is_there(dir_fd, name);
	if (rc == 0)
		return ews_error(EWS_ENOTFOUND, "'%s' is missing", name);
	if (is_of_another_version(dir_fd, name))
		return ews_error(EWS_EUNSUPPORTED, "'%s' was written by another version", name);
	return ews_error(EWS_EDAMAGED, "'%s' can't be read", name);
}

/* Read the extra of the file that open_part() opened. */
static bool peek(struct ews_buf *extra, int fd, const struct header *header, uint64_t size)
{
	uint64_t at = size - sizeof(uint32_t) - header->extra_len;

	ews_buf_truncate(extra, 0);
	ews_buf_reserve(extra, header->extra_len);
	if (!ews_file_read_at(fd, extra->ptr, header->extra_len, at))
		return false;
	extra->ptr[extra->len = header->extra_len] = '\0';
	return true;
}

bool ews_cache_peek(struct ews_buf *extra, int dir_fd, const char *name)
{
	struct header header, since;
	uint64_t size, since_size;
	EWS_CLEANUP(fd) int fd = open_part(&header, &size, dir_fd, name, CACHE_MAGIC);
	EWS_CLEANUP(fd) int since_fd = -1;

	if (fd < 0 || !is_of_size(&header, size, sizeof(struct ews_entry)))
		return false;
	since_fd = open_since(&since, &since_size, dir_fd, name, header.id);
	return since_fd < 0 ? peek(extra, fd, &header, size) : peek(extra, since_fd, &since, since_size);
}

/* Did it change so late before the scan that a later change could look the same, or is that known of how it was read? */
static bool is_racy(const struct ews_entry *entry, int64_t started_s, uint32_t started_ns)
{
	const struct timespec started = { started_s, started_ns };

	return entry->is_racy || ews_clock_is_late(entry->mtime_s, entry->mtime_ns, &started, EWS_RACY_NS) ||
	       ews_clock_is_late(entry->ctime_s, entry->ctime_ns, &started, EWS_RACY_NS);
}

static size_t string_bytes(const char *text)
{
	return text ? strlen(text) + 1 : 0;
}

/* Where the next string goes among the strings, as a pointer; NULL for none. `used` counts their bytes. */
static const char *place_string(size_t *used, const char *text)
{
	uintptr_t place = *used + 1;

	*used += string_bytes(text);
	return text ? (const char *)place : NULL;
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

/* What is said of the whole, however much of it is written. */
static void fill_header(struct header *header, const struct ews_cache *cache, int64_t started_s, uint32_t started_ns)
{
	memset(header, 0, sizeof(*header)); /* what pads it is written, too */
	header->version = CACHE_VERSION;
	header->entry_size = sizeof(struct ews_entry);
	header->skip_size = sizeof(struct ews_skip);
	header->is_whole = cache->is_whole;
	header->knows_names = cache->entries.knows_names;
	if (!cache->is_whole)
		return;
	header->root = cache->root;
	header->root.is_racy = is_racy(&cache->root, started_s, started_ns);
	header->root.path = header->root.xattrs = header->root.first_name = NULL;
	header->index = cache->index;
	memcpy(header->key, cache->key, sizeof(header->key));
	memcpy(header->tracked, cache->tracked, sizeof(header->tracked));
	memcpy(header->hash, cache->hash, strnlen(cache->hash, sizeof(header->hash) - 1));
}

/* How much follows the header of a file that has all. */
static void count_all(struct header *header, const struct ews_cache *cache)
{
	header->n = cache->entries.n;
	for (size_t i = 0; i < header->n; i++) {
		const struct ews_entry entry = entry_of(cache, i);

		header->strings_len +=
			string_bytes(entry.path) + string_bytes(entry.xattrs) + string_bytes(entry.first_name);
	}
	if (!cache->is_whole)
		return;
	header->n_skips = cache->skips.n;
	for (size_t i = 0; i < header->n_skips; i++)
		header->skip_strings_len += string_bytes(cache->skips.items[i].path);
}

/* Where the bytes go, in their order: all of them into memory, or through it into a file. */
struct sink {
	struct ews_buf *buf;
	int fd; /* -1: they stay in memory */
	uint32_t crc; /* of what went into the file */
	int rc; /* below zero: the file can't be written, and nothing more is */
};

static void pass_on(struct sink *sink, const void *data, size_t len)
{
	sink->crc = ews_crc32(sink->crc, data, len);
	if (sink->rc == 0)
		sink->rc = ews_file_write_fd(sink->fd, data, len);
}

static void drain(struct sink *sink)
{
	pass_on(sink, sink->buf->ptr, sink->buf->len);
	ews_buf_truncate(sink->buf, 0);
}

static void emit(struct sink *sink, const void *data, size_t len)
{
	if (sink->fd >= 0 && sink->buf->len + len > DRAIN_BYTES)
		drain(sink);
	if (sink->fd >= 0 && len > DRAIN_BYTES)
		pass_on(sink, data, len);
	else
		ews_buf_add(sink->buf, data, len);
}

static void emit_string(struct sink *sink, const char *text)
{
	if (text)
		emit(sink, text, string_bytes(text));
}

/* Let the image have room for `len` bytes, the first of which are the header. */
static struct sink begin_image(struct ews_cache_image *out, const struct header *header, size_t len)
{
	struct sink sink = { &out->data, -1, 0, 0 };

	ews_buf_truncate(&out->data, 0);
	ews_buf_reserve(&out->data, len);
	emit(&sink, header, sizeof(*header));
	return sink;
}

static void end_image(struct ews_cache_image *out)
{
	out->crc = ews_crc32(0, out->data.ptr + sizeof(struct header), out->data.len - sizeof(struct header));
}

/* The header of a file that has all. Returns how many bytes there are before the extra. */
static size_t head_all(struct header *header, const struct ews_cache *cache)
{
	header->magic = CACHE_MAGIC;
	if (cache->is_origin)
		ews_clock_random(header->id, sizeof(header->id));
	count_all(header, cache);
	return sizeof(*header) + header->n * sizeof(struct ews_entry) + header->n_skips * sizeof(struct ews_skip) +
	       header->strings_len + header->skip_strings_len;
}

/* What follows the header in such a file. */
static void emit_all(struct sink *sink, const struct header *header, const struct ews_cache *cache,
		     int64_t started_s, uint32_t started_ns)
{
	size_t used = 0, skip_used = 0;

	for (size_t i = 0; i < header->n; i++) {
		struct ews_entry entry = entry_of(cache, i);

		entry.is_racy = is_racy(&entry, started_s, started_ns);
		entry.path = place_string(&used, entry.path);
		entry.xattrs = place_string(&used, entry.xattrs);
		entry.first_name = place_string(&used, entry.first_name);
		emit(sink, &entry, sizeof(entry));
	}
	for (size_t i = 0; i < header->n_skips; i++) {
		struct ews_skip skip;

		memset(&skip, 0, sizeof(skip)); /* as in the header */
		skip.path = place_string(&skip_used, cache->skips.items[i].path);
		skip.reason = cache->skips.items[i].reason;
		skip.type = cache->record ? 0 : cache->skips.items[i].type; /* a manifest does not say it */
		skip.size = cache->skips.items[i].size;
		emit(sink, &skip, sizeof(skip));
	}
	for (size_t i = 0; i < header->n; i++) {
		const struct ews_entry entry = entry_of(cache, i);

		emit_string(sink, entry.path);
		emit_string(sink, entry.xattrs);
		emit_string(sink, entry.first_name);
	}
	for (size_t i = 0; i < header->n_skips; i++)
		emit_string(sink, cache->skips.items[i].path);
}

static void format_all(struct ews_cache_image *out, struct header *header, const struct ews_cache *cache,
		       int64_t started_s, uint32_t started_ns)
{
	size_t len = head_all(header, cache);
	struct sink sink = begin_image(out, header, len);

	emit_all(&sink, header, cache, started_s, started_ns);
	end_image(out);
}

static void format_since(struct ews_cache_image *out, struct header *header, const struct ews_cache *cache,
			 int64_t started_s, uint32_t started_ns)
{
	const struct ews_cache_origin *origin = &cache->origin;
	struct sink sink;

	header->magic = SINCE_MAGIC;
	memcpy(header->id, origin->id, sizeof(header->id));
	header->n = origin->n;
	sink = begin_image(out, header, sizeof(*header) + origin->n * sizeof(struct change));
	for (size_t i = 0; i < origin->n; i++) {
		struct change change = { .at = origin->changed[i], .entry = entry_of(cache, origin->changed[i]) };

		change.entry.is_racy = is_racy(&change.entry, started_s, started_ns);
		change.entry.path = change.entry.xattrs = change.entry.first_name = NULL;
		emit(&sink, &change, sizeof(change));
	}
	end_image(out);
}

bool ews_cache_has_origin(const struct ews_cache *cache)
{
	return cache->is_whole && is_id(cache->origin.id) && cache->origin.n <= cache->entries.n / SINCE_PART;
}

void ews_cache_format(struct ews_cache_image *out, const struct ews_cache *cache, int64_t started_s,
		      uint32_t started_ns)
{
	struct header header;

	fill_header(&header, cache, started_s, started_ns);
	out->is_since = ews_cache_has_origin(cache);
	if (out->is_since)
		format_since(out, &header, cache, started_s, started_ns);
	else
		format_all(out, &header, cache, started_s, started_ns);
}

/* What changed since went with another one: nobody would read it. */
static void forget_since(int dir_fd, const char *name)
{
	EWS_CLEANUP(free) char *since = ews_strfmt("%s" SINCE_SUFFIX, name);

	(void)unlinkat(dir_fd, since, 0); /* best effort, as said */
}

int ews_cache_write_image(int dir_fd, const char *name, struct ews_cache_image *image, const struct iovec *extra,
			  size_t n_extra, bool is_durable)
{
	EWS_CLEANUP(free) struct iovec *parts = ews_calloc(n_extra + 2, sizeof(*parts));
	EWS_CLEANUP(free) char *since = ews_strfmt("%s" SINCE_SUFFIX, name);
	struct ews_buf *data = &image->data;
	size_t body_len = data->len - sizeof(struct header);
	struct header header;
	uint32_t crc;
	int rc;

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
	rc = ews_file_replace_parts(dir_fd, image->is_since ? since : name, parts, n_extra + 2, 0600, is_durable);
	if (rc == 0 && !image->is_since)
		forget_since(dir_fd, name);
	return rc;
}

/* A file on its way that has all. */
struct writing {
	const struct ews_cache *cache;
	int64_t started_s;
	uint32_t started_ns;
	const struct iovec *extra;
	size_t n_extra;
};

static int write_all(int fd, void *payload)
{
	const struct writing *with = payload;
	EWS_CLEANUP(buf) struct ews_buf buf = EWS_BUF_INIT;
	struct sink sink = { &buf, fd, 0, 0 };
	struct header header;

	ews_buf_reserve(&buf, DRAIN_BYTES);
	fill_header(&header, with->cache, with->started_s, with->started_ns);
	(void)head_all(&header, with->cache); /* only an image asks how long it is */
	for (size_t i = 0; i < with->n_extra; i++)
		header.extra_len += with->extra[i].iov_len;
	emit(&sink, &header, sizeof(header));
	emit_all(&sink, &header, with->cache, with->started_s, with->started_ns);
	for (size_t i = 0; i < with->n_extra; i++)
		emit(&sink, with->extra[i].iov_base, with->extra[i].iov_len);
	drain(&sink);
	return sink.rc < 0 ? sink.rc : ews_file_write_fd(fd, &sink.crc, sizeof(sink.crc));
}

int ews_cache_write_with(int dir_fd, const char *name, const struct ews_cache *cache, int64_t started_s,
			 uint32_t started_ns, const struct iovec *extra, size_t n_extra, bool is_durable)
{
	EWS_CLEANUP(cache_image) struct ews_cache_image image = EWS_CACHE_IMAGE_INIT;
	struct writing with = { cache, started_s, started_ns, extra, n_extra };
	int rc;

	if (ews_cache_has_origin(cache)) {
		ews_cache_format(&image, cache, started_s, started_ns);
		return ews_cache_write_image(dir_fd, name, &image, extra, n_extra, is_durable);
	}
	rc = ews_file_replace_written(dir_fd, name, write_all, &with, 0600, is_durable);
	if (rc == 0)
		forget_since(dir_fd, name);
	return rc;
}

int ews_cache_write(int dir_fd, const char *name, const struct ews_cache *cache, int64_t started_s,
		    uint32_t started_ns, bool is_durable)
{
	const struct iovec extra = { cache->extra.ptr, cache->extra.len };

	return ews_cache_write_with(dir_fd, name, cache, started_s, started_ns, &extra, 1, is_durable);
}

void ews_cache_image_release(struct ews_cache_image *image)
{
	ews_buf_release(&image->data);
	*image = (struct ews_cache_image)EWS_CACHE_IMAGE_INIT;
}
