/*
 * The stat cache: a damaged one is none, and a racy entry says so.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/cache.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/error.h"
#include "base/file.h"
#include "fixture.h"

TestSuite(cache, .init = fixture_begin, .fini = fixture_end);

static void make_list(struct ews_entries *out)
{
	int fd = fixture_open_dir(".");

	fixture_make_tree(fd, FIXTURE_FIFOS | FIXTURE_ATTRS | FIXTURE_MODES | FIXTURE_ODD_NAMES);
	fixture_list_tree(out, fd, false);
	cr_assert_gt(out->n, 3);
	close(fd);
}

/* Keep a list as a cache whose scan began at second 3. */
static void write_list(const struct ews_entries *list)
{
	const struct ews_cache cache = { .entries = *list, .skips = EWS_SKIPS_INIT, .extra = EWS_BUF_INIT };

	cr_assert_eq(ews_cache_write(AT_FDCWD, "cache", &cache, 3, 0, false), 0, "%s", ews_error_message());
}

static bool is_identical(const struct ews_entry *a, const struct ews_entry *b)
{
	return ews_entry_equal(a, b) && a->size == b->size && a->mtime_s == b->mtime_s &&
	       a->mtime_ns == b->mtime_ns && a->ctime_s == b->ctime_s && a->ctime_ns == b->ctime_ns &&
	       a->dev == b->dev && a->ino == b->ino && a->has_stat == b->has_stat;
}

Test(cache, what_is_written_is_read_again)
{
	EWS_CLEANUP(entries) struct ews_entries list = EWS_ENTRIES_INIT;
	EWS_CLEANUP(cache) struct ews_cache back = EWS_CACHE_INIT;

	make_list(&list);
	list.items[0].has_stat = false;
	write_list(&list);
	cr_assert_eq(ews_cache_read(&back, AT_FDCWD, "cache"), 0);
	fixture_assert_same(&back.entries, &list, is_identical, "cache");
	cr_assert_not(back.is_whole);
}

Test(cache, of_a_whole_one_key_hash_and_what_was_left_out_come_back)
{
	struct ews_cache cache = {
		.entries = EWS_ENTRIES_INIT, .is_whole = true, .skips = EWS_SKIPS_INIT, .extra = EWS_BUF_INIT
	};
	EWS_CLEANUP(cache) struct ews_cache back = EWS_CACHE_INIT;
	struct stat st;

	make_list(&cache.entries);
	cr_assert_eq(stat(".", &st), 0);
	ews_entry_set_stat(&cache.root, &st);
	ews_skips_add(&cache.skips, "a b\nc", EWS_SKIP_IGNORED, 7);
	ews_skips_add(&cache.skips, "x/.git", EWS_SKIP_REPOSITORY, 0);
	memset(cache.key, 0x5a, sizeof(cache.key));
	ews_manifest_hash(cache.hash, &cache.entries);
	cr_assert_eq(ews_cache_write(AT_FDCWD, "cache", &cache, INT32_MAX, 0, false), 0);
	cr_assert_eq(ews_cache_read(&back, AT_FDCWD, "cache"), 0);
	cr_assert(back.is_whole);
	cr_assert(!memcmp(back.key, cache.key, sizeof(cache.key)));
	cr_assert_str_eq(back.hash, cache.hash);
	cr_assert_eq(back.root.ino, st.st_ino);
	cr_assert_eq(back.skips.n, 2);
	cr_assert_str_eq(back.skips.items[0].path, "a b\nc");
	cr_assert_eq(back.skips.items[0].size, 7);
	cr_assert_eq(back.skips.items[1].reason, EWS_SKIP_REPOSITORY);
	ews_cache_release(&cache);
}

static size_t read_back(const struct ews_buf *data)
{
	EWS_CLEANUP(cache) struct ews_cache back = EWS_CACHE_INIT;

	cr_assert_eq(ews_file_replace(AT_FDCWD, "damaged", data->ptr, data->len, 0600), 0);
	cr_assert_eq(ews_cache_read(&back, AT_FDCWD, "damaged"), 0);
	return back.entries.n;
}

Test(cache, a_damaged_one_is_none)
{
	EWS_CLEANUP(entries) struct ews_entries list = EWS_ENTRIES_INIT;
	EWS_CLEANUP(cache) struct ews_cache missing = EWS_CACHE_INIT;
	EWS_CLEANUP(buf) struct ews_buf data = EWS_BUF_INIT;
	size_t len;

	make_list(&list);
	cr_assert_eq(read_back(&data), 0);
	cr_assert_eq(ews_cache_read(&missing, AT_FDCWD, "missing"), 0);
	cr_assert_eq(missing.entries.n, 0);
	write_list(&list);
	cr_assert_eq(ews_file_read(&data, AT_FDCWD, "cache", EWS_MIB), 0);
	cr_assert_eq(read_back(&data), list.n);
	len = data.len;
	for (size_t i = 0; i < 40; i++) {
		size_t at = i < 24 ? i : fixture_pick(len);

		data.ptr[at] ^= (char)(1 << fixture_pick(8));
		cr_assert_eq(read_back(&data), 0, "EWS_SEED=%zu: byte %zu", fixture_seed(), at);
		cr_assert_eq(ews_file_read(&data, AT_FDCWD, "cache", EWS_MIB), 0);
		memmove(data.ptr, data.ptr + data.len - len, len);
		data.len = len;
		data.len = fixture_pick(len);
		cr_assert_eq(read_back(&data), 0, "EWS_SEED=%zu: cut to %zu", fixture_seed(), data.len);
		data.len = len;
	}
}

Test(cache, one_that_lies_with_a_right_checksum_reads_no_memory_but_its_own)
{
	EWS_CLEANUP(entries) struct ews_entries list = EWS_ENTRIES_INIT;
	EWS_CLEANUP(buf) struct ews_buf data = EWS_BUF_INIT;

	make_list(&list);
	write_list(&list);
	cr_assert_eq(ews_file_read(&data, AT_FDCWD, "cache", EWS_MIB), 0);
	for (size_t i = 0; i < 200; i++) {
		size_t body = data.len - sizeof(uint32_t), at = i < 60 ? i : fixture_pick(body);
		uint32_t crc;
		char was = data.ptr[at];

		data.ptr[at] = (char)fixture_pick(256);
		crc = (uint32_t)crc32_z(0, (const unsigned char *)data.ptr, body);
		memcpy(data.ptr + body, &crc, sizeof(crc));
		(void)read_back(&data); /* any answer will do; the sanitizer listens */
		data.ptr[at] = was;
	}
}

/* Is an entry racy whose mtime, or ctime, lies `ns` before the scan that began at 1000.010000000? */
static bool is_racy(int64_t ns, bool is_ctime)
{
	const int64_t start = 1000010000000, other = 500000000000, at = start - ns;
	struct ews_entry entry = { .path = "a", .type = EWS_ENTRY_FILE, .has_stat = true };
	const struct ews_cache cache = { .entries = { .items = &entry, .n = 1 },
					 .skips = EWS_SKIPS_INIT,
					 .extra = EWS_BUF_INIT };
	EWS_CLEANUP(cache) struct ews_cache back = EWS_CACHE_INIT;
	int64_t mtime = is_ctime ? other : at, ctime = is_ctime ? at : other;

	entry.mtime_s = mtime / 1000000000;
	entry.mtime_ns = (uint32_t)(mtime % 1000000000);
	entry.ctime_s = ctime / 1000000000;
	entry.ctime_ns = (uint32_t)(ctime % 1000000000);
	cr_assert_eq(ews_cache_write(AT_FDCWD, "cache", &cache, start / 1000000000, start % 1000000000, false), 0);
	cr_assert_eq(ews_cache_read(&back, AT_FDCWD, "cache"), 0);
	cr_assert_eq(back.entries.n, 1);
	return back.entries.items[0].is_racy;
}

Test(cache, what_changed_just_before_the_scan_or_after_it_is_racy)
{
	for (int is_ctime = 0; is_ctime < 2; is_ctime++) {
		cr_assert(is_racy(0, is_ctime));
		cr_assert(is_racy(-5000000000, is_ctime));
		cr_assert(is_racy(9999999, is_ctime));
		cr_assert(is_racy(10000001, is_ctime));
		cr_assert(is_racy(20000000, is_ctime));
		cr_assert_not(is_racy(20000001, is_ctime));
		cr_assert_not(is_racy(1000000000, is_ctime));
	}
}

Test(cache, a_time_in_whole_seconds_may_mean_any_in_it)
{
	for (int is_ctime = 0; is_ctime < 2; is_ctime++) {
		cr_assert(is_racy(10000000, is_ctime)); /* the second in which the scan began */
		cr_assert(is_racy(1010000000, is_ctime));
		cr_assert(is_racy(2010000000, is_ctime)); /* that second's start, of a file system that counts by two */
		cr_assert_not(is_racy(3010000000, is_ctime));
		cr_assert_not(is_racy(2010000001, is_ctime));
	}
}

#define MANY 320

/* A whole cache of many files. */
static void make_whole(struct ews_cache *out)
{
	*out = (struct ews_cache)EWS_CACHE_INIT;
	for (int i = 0; i < MANY; i++) {
		char path[32];
		struct ews_entry *entry;

		snprintf(path, sizeof(path), "f%04d", i);
		entry = ews_entries_add(&out->entries, path, strlen(path));
		entry->type = EWS_ENTRY_FILE;
		entry->mode = 0644;
		entry->has_stat = entry->has_time = true;
		entry->size = fixture_pick(1000);
		entry->ino = fixture_pick(100000);
		entry->oid.len = 20;
		entry->oid.id[0] = (uint8_t)fixture_pick(256);
		entry->xattrs = i % 7 ? NULL : "user.a=31\n";
	}
	out->is_whole = out->is_origin = true;
	out->root = (struct ews_entry){ .type = EWS_ENTRY_DIR, .has_stat = true };
	ews_skips_add(&out->skips, "left/out", EWS_SKIP_IGNORED, 3);
}

/* Let some entries be others, and all that is said of the whole. */
static void touch_some(struct ews_cache *cache, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t at = fixture_pick(MANY);
		struct ews_entry *entry = &cache->entries.items[at];

		entry->size = fixture_pick(1000);
		entry->mtime_s = (int64_t)fixture_pick(3);
		entry->oid.id[1]++;
		ews_cache_origin_add(&cache->origin, &at, 1);
	}
	snprintf(cache->hash, sizeof(cache->hash), "%zx", fixture_pick(1 << 20));
	cache->key[3]++;
	cache->index.ino++;
	ews_buf_truncate(&cache->extra, 0);
	ews_buf_addf(&cache->extra, "memo %zu", fixture_pick(1000));
}

static void assert_same_cache(const struct ews_cache *a, const struct ews_cache *b)
{
	fixture_assert_same(&a->entries, &b->entries, is_identical, "cache");
	for (size_t i = 0; i < a->entries.n; i++) {
		cr_assert_eq(!a->entries.items[i].xattrs, !b->entries.items[i].xattrs);
		cr_assert_eq(a->entries.items[i].is_racy, b->entries.items[i].is_racy);
	}
	cr_assert_str_eq(a->hash, b->hash);
	cr_assert(!memcmp(a->key, b->key, sizeof(a->key)));
	cr_assert(!memcmp(&a->index, &b->index, sizeof(a->index)));
	cr_assert_eq(a->skips.n, b->skips.n);
	cr_assert_eq(a->extra.len, b->extra.len);
	cr_assert(!memcmp(a->extra.ptr, b->extra.ptr, a->extra.len));
}

static void write_named(const char *name, const struct ews_cache *cache)
{
	cr_assert_eq(ews_cache_write(AT_FDCWD, name, cache, 3, 0, false), 0, "%s", ews_error_message());
}

static size_t size_of(const char *name)
{
	struct stat st;

	return stat(name, &st) < 0 ? 0 : (size_t)st.st_size;
}

/* What is read of the extra alone is what is read with all else. */
static void assert_peeked(const struct ews_cache *cache)
{
	EWS_CLEANUP(buf) struct ews_buf extra = EWS_BUF_INIT;

	cr_assert(ews_cache_peek(&extra, AT_FDCWD, "cache"));
	cr_assert_eq(extra.len, cache->extra.len);
	cr_assert(!extra.len || !memcmp(extra.ptr, cache->extra.ptr, extra.len));
}

Test(cache, what_changed_since_says_the_same_as_all_of_it)
{
	struct ews_cache cache;

	make_whole(&cache);
	write_named("cache", &cache);
	for (int round = 0; round < 60; round++) {
		struct ews_cache back = EWS_CACHE_INIT, all = EWS_CACHE_INIT;
		size_t before = size_of("cache");

		ews_cache_origin_release(&cache.origin);
		write_named("all", &cache);
		cr_assert_eq(size_of("all.since"), 0);
		cr_assert_eq(ews_cache_read(&back, AT_FDCWD, "cache"), 0);
		cr_assert_eq(ews_cache_read(&all, AT_FDCWD, "all"), 0);
		assert_same_cache(&back, &all);
		cr_assert_leq(back.origin.n, MANY / 16, "all is written where much changed");
		assert_peeked(&back);
		ews_cache_release(&cache);
		ews_cache_release(&all);
		cache = back;
		cache.is_origin = true;
		touch_some(&cache, fixture_pick(6));
		write_named("cache", &cache);
		if (cache.origin.n <= MANY / 16) {
			cr_assert_eq(size_of("cache"), before, "round %d: the long file was written", round);
			cr_assert_gt(size_of("cache.since"), 0);
		} else {
			cr_assert_eq(size_of("cache.since"), 0, "round %d: it stayed", round);
		}
	}
	ews_cache_release(&cache);
}

/* What goes to the file in parts is what is formatted as one. */
Test(cache, a_long_one_is_written_in_parts_as_it_is_in_memory)
{
	static const size_t extra_lens[] = { 0, 1, 128 * 1024 - 7, 700000 };

	for (size_t round = 0; round < 8; round++) {
		EWS_CLEANUP(cache_image) struct ews_cache_image image = EWS_CACHE_IMAGE_INIT;
		EWS_CLEANUP(buf) struct ews_buf extra = EWS_BUF_INIT, one = EWS_BUF_INIT, parts = EWS_BUF_INIT;
		EWS_CLEANUP(cache) struct ews_cache cache = EWS_CACHE_INIT;
		size_t n = fixture_pick(6000), len = extra_lens[round % 4];
		struct iovec extras[2];

		make_whole(&cache);
		cache.is_origin = false; /* it would have a random id */
		for (size_t i = 0; i < n; i++) {
			char path[400];
			int path_len = snprintf(path, sizeof(path), "g%05zu/%0*d", i, 1 + (int)fixture_pick(300), 0);
			struct ews_entry *entry = ews_entries_add(&cache.entries, path, (size_t)path_len);

			entry->type = EWS_ENTRY_FILE;
			entry->mode = 0644;
			entry->size = fixture_pick(1000);
			if (!fixture_pick(9))
				entry->first_name = cache.entries.items[0].path;
			if (!fixture_pick(5))
				ews_skips_add(&cache.skips, path, EWS_SKIP_IGNORED, i);
		}
		for (size_t i = 0; i < len; i++)
			ews_buf_addc(&extra, (char)fixture_pick(256));
		extras[0] = (struct iovec){ extra.ptr, len / 3 };
		extras[1] = (struct iovec){ extra.ptr + len / 3, len - len / 3 };
		ews_cache_format(&image, &cache, 3, 0);
		cr_assert_eq(ews_cache_write_image(AT_FDCWD, "one", &image, extras, 2, false), 0);
		cr_assert_eq(ews_cache_write_with(AT_FDCWD, "parts", &cache, 3, 0, extras, 2, false), 0);
		cr_assert_eq(ews_file_read(&one, AT_FDCWD, "one", 64 * EWS_MIB), 0);
		cr_assert_eq(ews_file_read(&parts, AT_FDCWD, "parts", 64 * EWS_MIB), 0);
		cr_assert_eq(one.len, parts.len);
		cr_assert(!memcmp(one.ptr, parts.ptr, one.len), "round %zu", round);
		ews_cache_release(&cache);
		cr_assert_eq(ews_cache_read(&cache, AT_FDCWD, "parts"), 0);
		cr_assert_eq(cache.entries.n, MANY + n);
		cr_assert_eq(cache.extra.len, len);
	}
}

/* Several threads read it then, a piece each. */
Test(cache, a_long_one_is_read_as_it_was_written)
{
	EWS_CLEANUP(cache) struct ews_cache cache = EWS_CACHE_INIT, back = EWS_CACHE_INIT;
	EWS_CLEANUP(buf) struct ews_buf data = EWS_BUF_INIT;
	size_t len;

	make_whole(&cache);
	cache.is_origin = false;
	for (size_t i = 0; i < 30000; i++) {
		char path[400];
		int path_len = snprintf(path, sizeof(path), "g%05zu/%0*d", i, 1 + (int)fixture_pick(200), 0);
		struct ews_entry *entry = ews_entries_add(&cache.entries, path, (size_t)path_len);

		entry->type = EWS_ENTRY_FILE;
		entry->mode = 0644;
		entry->size = i;
		entry->oid.len = 20;
		entry->oid.id[0] = (uint8_t)fixture_pick(256);
	}
	cr_assert_eq(ews_cache_write(AT_FDCWD, "cache", &cache, 3, 0, false), 0);
	cr_assert_eq(ews_cache_read(&back, AT_FDCWD, "cache"), 0);
	assert_same_cache(&back, &cache);
	cr_assert_eq(ews_file_read(&data, AT_FDCWD, "cache", 64 * EWS_MIB), 0);
	len = data.len;
	cr_assert_gt(len, 6 * EWS_MIB);
	for (size_t i = 0; i < 8; i++) {
		size_t at = fixture_pick(len);

		data.ptr[at] ^= 4;
		cr_assert_eq(read_back(&data), 0, "EWS_SEED=%zu: byte %zu", fixture_seed(), at);
		data.ptr[at] ^= 4;
		data.len = at;
		cr_assert_eq(read_back(&data), 0, "EWS_SEED=%zu: cut to %zu", fixture_seed(), at);
		data.len = len;
	}
	cr_assert_eq(read_back(&data), cache.entries.n);
}

/* A cache of which some changed since, and what it was before. */
static void make_since(struct ews_cache *was, struct ews_buf *since)
{
	struct ews_cache cache = EWS_CACHE_INIT;

	make_whole(was);
	write_named("cache", was);
	cr_assert_eq(ews_cache_read(&cache, AT_FDCWD, "cache"), 0);
	touch_some(&cache, 5);
	write_named("cache", &cache);
	cr_assert_eq(ews_file_read(since, AT_FDCWD, "cache.since", EWS_MIB), 0);
	ews_cache_release(&cache);
}

/* Put `since` beside the cache, and see what that is then. */
static void read_with(struct ews_cache *back, const struct ews_buf *since)
{
	*back = (struct ews_cache)EWS_CACHE_INIT;
	cr_assert_eq(ews_file_replace(AT_FDCWD, "cache.since", since->ptr, since->len, 0600), 0);
	cr_assert_eq(ews_cache_read(back, AT_FDCWD, "cache"), 0);
}

Test(cache, a_damaged_since_is_nothing)
{
	EWS_CLEANUP(buf) struct ews_buf since = EWS_BUF_INIT;
	struct ews_cache was, back;
	size_t len;

	make_since(&was, &since);
	len = since.len;
	for (size_t i = 0; i < 80; i++) {
		size_t at = i < 40 ? i : fixture_pick(len);
		char byte = since.ptr[at];

		since.ptr[at] ^= (char)(1 << fixture_pick(8));
		read_with(&back, &since);
		assert_same_cache(&back, &was);
		cr_assert_eq(back.origin.n, 0);
		ews_cache_release(&back);
		since.ptr[at] = byte;
		since.len = fixture_pick(len);
		read_with(&back, &since);
		assert_same_cache(&back, &was);
		assert_peeked(&back);
		ews_cache_release(&back);
		since.len = len;
	}
	read_with(&back, &since);
	cr_assert_gt(back.origin.n, 0, "whole it is one");
	ews_cache_release(&back);
	ews_cache_release(&was);
}

Test(cache, what_changed_since_another_one_is_nothing)
{
	EWS_CLEANUP(buf) struct ews_buf since = EWS_BUF_INIT;
	struct ews_cache was, back;

	make_since(&was, &since);
	write_named("cache", &was);
	cr_assert_eq(size_of("cache.since"), 0);
	read_with(&back, &since);
	assert_same_cache(&back, &was);
	cr_assert_eq(back.origin.n, 0);
	ews_cache_release(&back);
	ews_cache_release(&was);
}

Test(cache, a_since_that_lies_with_a_right_checksum_reads_no_memory_but_its_own)
{
	EWS_CLEANUP(buf) struct ews_buf since = EWS_BUF_INIT;
	struct ews_cache was, back;
	size_t body;

	make_since(&was, &since);
	body = since.len - sizeof(uint32_t);
	for (size_t i = 0; i < 400; i++) {
		size_t at = i < 60 ? i : fixture_pick(body);
		char byte = since.ptr[at];
		uint32_t crc;

		since.ptr[at] = (char)fixture_pick(256);
		crc = (uint32_t)crc32_z(0, (const unsigned char *)since.ptr, body);
		memcpy(since.ptr + body, &crc, sizeof(crc));
		read_with(&back, &since); /* any answer will do; the sanitizer listens */
		for (size_t k = 0; k < back.entries.n; k++)
			cr_assert_str_eq(back.entries.items[k].path, was.entries.items[k].path);
		ews_cache_release(&back);
		since.ptr[at] = byte;
	}
	ews_cache_release(&was);
}
