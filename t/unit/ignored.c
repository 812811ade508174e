/*
 * Ignored files: the list of what came along is read as it was written, by this version or one before, or not at all.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/ignored.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "fixture.h"
#include "store/cache.h"

#define LIST "ignored"

TestSuite(ignored, .init = fixture_begin, .fini = fixture_end);

static void add(struct ews_entries *list, const char *path, enum ews_entry_type type, int64_t time_s)
{
	struct ews_entry *entry = ews_entries_add(list, path, strlen(path));

	entry->type = type;
	entry->mode = type == EWS_ENTRY_DIR ? 0755 : 04640;
	entry->size = type == EWS_ENTRY_FILE ? 123 : 0;
	entry->has_time = true;
	entry->mtime_s = time_s;
	entry->mtime_ns = 7;
	entry->ctime_s = -time_s;
	entry->ctime_ns = 999999999;
	entry->ino = UINT64_MAX - list->n;
}

static struct ews_ignored make_ignored(void)
{
	struct ews_ignored ignored = EWS_IGNORED_INIT;

	add(&ignored.entries, "a\nb c\377", EWS_ENTRY_FILE, 1700000000);
	add(&ignored.entries, "d", EWS_ENTRY_DIR, 0);
	add(&ignored.entries, "d/.git", EWS_ENTRY_FILE, -5);
	add(&ignored.entries, "d/l", EWS_ENTRY_LINK, 1);
	ews_entries_sort(&ignored.entries);
	return ignored;
}

static int read_back(struct ews_entries *out)
{
	EWS_CLEANUP(fd) int fd = fixture_open_dir(".");
	struct ews_session session = { .fd = fd, .method = ews_method_find("worktree") };

	session.state.keeps_ignored = true;
	return ews_ignored_read(out, &session);
}

static void assert_read_back(const struct ews_entries *should)
{
	EWS_CLEANUP(entries) struct ews_entries is = EWS_ENTRIES_INIT;

	cr_assert_eq(read_back(&is), 0, "%s", ews_error_message());
	cr_assert_eq(is.n, should->n);
	for (size_t i = 0; i < is.n; i++) {
		const struct ews_entry *a = &is.items[i], *b = &should->items[i];

		cr_assert_str_eq(a->path, b->path);
		cr_assert(a->type == b->type && a->mode == b->mode && a->size == b->size && a->ino == b->ino &&
				  a->mtime_s == b->mtime_s && a->mtime_ns == b->mtime_ns &&
				  a->ctime_s == b->ctime_s && a->ctime_ns == b->ctime_ns,
			  "%s", b->path);
	}
}

Test(ignored, the_list_is_read_as_it_was_written_and_so_is_one_in_the_format_of_the_cache)
{
	EWS_CLEANUP(fd) int fd = fixture_open_dir(".");
	struct ews_ignored ignored = make_ignored();
	const struct ews_cache cache = { .entries = ignored.entries, .skips = EWS_SKIPS_INIT, .extra = EWS_BUF_INIT };

	cr_assert_eq(ews_cache_write(fd, LIST, &cache, 3, 0, true), 0);
	assert_read_back(&ignored.entries);
	cr_assert_eq(ews_ignored_write(fd, &ignored), 0);
	assert_read_back(&ignored.entries);
	ews_ignored_release(&ignored);
}

Test(ignored, a_list_with_a_byte_more_or_less_or_another_one_is_lost)
{
	EWS_CLEANUP(fd) int fd = fixture_open_dir(".");
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	struct ews_ignored ignored = make_ignored();

	cr_assert_eq(ews_ignored_write(fd, &ignored), 0);
	cr_assert_eq(ews_file_read(&text, fd, LIST, EWS_MIB), 0);
	for (size_t i = 0; i < text.len; i++) {
		EWS_CLEANUP(entries) struct ews_entries is = EWS_ENTRIES_INIT;
		int rc;

		fixture_write(fd, LIST, text.ptr, i);
		cr_expect_eq(read_back(&is), EWS_EDAMAGED, "%zu", i);
		text.ptr[i] ^= 1;
		fixture_write(fd, LIST, text.ptr, text.len);
		rc = read_back(&is);
		cr_expect(rc == EWS_EDAMAGED || (rc == EWS_EUNSUPPORTED && i == strlen("ews-ignored ")), "%zu: %d",
			  i, rc);
		text.ptr[i] ^= 1;
	}
	ews_buf_addc(&text, '\n');
	fixture_write(fd, LIST, text.ptr, text.len);
	cr_expect_eq(read_back(&ignored.entries), EWS_EDAMAGED);
	ews_ignored_release(&ignored);
	ews_error_clear();
}
