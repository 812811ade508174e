/*
 * The stat cache: a damaged one is none, and a racy entry says so.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/cache.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
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

static bool is_identical(const struct ews_entry *a, const struct ews_entry *b)
{
	return ews_entry_equal(a, b) && a->size == b->size && a->mtime_s == b->mtime_s &&
	       a->mtime_ns == b->mtime_ns && a->ctime_s == b->ctime_s && a->ctime_ns == b->ctime_ns &&
	       a->dev == b->dev && a->ino == b->ino && a->has_stat == b->has_stat;
}

Test(cache, what_is_written_is_read_again)
{
	EWS_CLEANUP(entries) struct ews_entries list = EWS_ENTRIES_INIT;
	EWS_CLEANUP(entries) struct ews_entries back = EWS_ENTRIES_INIT;

	make_list(&list);
	list.items[0].has_stat = false;
	cr_assert_eq(ews_cache_write(AT_FDCWD, "cache", &list, 1, 0), 0, "%s", ews_error_message());
	cr_assert_eq(ews_cache_read(&back, AT_FDCWD, "cache"), 0);
	fixture_assert_same(&back, &list, is_identical, "cache");
}

static size_t read_back(const struct ews_buf *data)
{
	EWS_CLEANUP(entries) struct ews_entries back = EWS_ENTRIES_INIT;

	cr_assert_eq(ews_file_replace(AT_FDCWD, "damaged", data->ptr, data->len, 0600), 0);
	cr_assert_eq(ews_cache_read(&back, AT_FDCWD, "damaged"), 0);
	return back.n;
}

Test(cache, a_damaged_one_is_none)
{
	EWS_CLEANUP(entries) struct ews_entries list = EWS_ENTRIES_INIT;
	EWS_CLEANUP(buf) struct ews_buf data = EWS_BUF_INIT;
	size_t len;

	make_list(&list);
	cr_assert_eq(read_back(&data), 0);
	cr_assert_eq(ews_cache_read(&list, AT_FDCWD, "missing"), 0);
	cr_assert_eq(ews_cache_write(AT_FDCWD, "cache", &list, 1, 0), 0);
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
	cr_assert_eq(ews_cache_write(AT_FDCWD, "cache", &list, 1, 0), 0);
	cr_assert_eq(ews_file_read(&data, AT_FDCWD, "cache", EWS_MIB), 0);
	for (size_t i = 0; i < 200; i++) {
		size_t at = i < 60 ? i : fixture_pick(data.len - 20);
		uint8_t digest[EWS_HASH_MAX];
		char was = data.ptr[at];

		data.ptr[at] = (char)fixture_pick(256);
		ews_hash_once(EWS_SHA1, digest, data.ptr, data.len - 20);
		memcpy(data.ptr + data.len - 20, digest, 20);
		(void)read_back(&data); /* any answer will do; the sanitizer listens */
		data.ptr[at] = was;
	}
}

/* Is an entry racy whose mtime, or ctime, lies `ns` before the scan that began at 1000.010000000? */
static bool is_racy(int64_t ns, bool is_ctime)
{
	const int64_t start = 1000010000000, other = 500000000000, at = start - ns;
	struct ews_entry entry = { .path = "a", .type = EWS_ENTRY_FILE, .has_stat = true };
	const struct ews_entries list = { .items = &entry, .n = 1 };
	EWS_CLEANUP(entries) struct ews_entries back = EWS_ENTRIES_INIT;
	int64_t mtime = is_ctime ? other : at, ctime = is_ctime ? at : other;

	entry.mtime_s = mtime / 1000000000;
	entry.mtime_ns = (uint32_t)(mtime % 1000000000);
	entry.ctime_s = ctime / 1000000000;
	entry.ctime_ns = (uint32_t)(ctime % 1000000000);
	cr_assert_eq(ews_cache_write(AT_FDCWD, "cache", &list, start / 1000000000, start % 1000000000), 0);
	cr_assert_eq(ews_cache_read(&back, AT_FDCWD, "cache"), 0);
	cr_assert_eq(back.n, 1);
	return back.items[0].is_racy;
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
