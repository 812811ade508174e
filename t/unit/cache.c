/*
 * The stat cache: a damaged one is none, and a racy entry says so.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/cache.h"

#include <criterion/criterion.h>
#include <fcntl.h>
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

/* Keep a list as a cache whose scan began at second 1. */
static void write_list(const struct ews_entries *list)
{
	const struct ews_cache cache = { .entries = *list, .skips = EWS_SKIPS_INIT, .extra = EWS_BUF_INIT };

	cr_assert_eq(ews_cache_write(AT_FDCWD, "cache", &cache, 1, 0, false), 0, "%s", ews_error_message());
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
