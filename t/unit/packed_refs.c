/*
 * Of packed refs the part that is asked for is all that the whole file has of it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/packed_refs.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "base/strv.h"
#include "fixture.h"

#define SORTED "# pack-refs with: peeled fully-peeled sorted \n"
#define ID "0123456789012345678901234567890123456789"
#define NAME_MAX_LEN 3000

/* Names that have much in common, and lines that are no refs. */
static void make_names(struct ews_strv *names, size_t n)
{
	static const char *const dirs[] = { "refs/heads/", "refs/ews/snapshots/", "refs/tags/", "refs/ta/" };

	for (size_t i = 0; i < n; i++) {
		EWS_CLEANUP(buf) struct ews_buf name = EWS_BUF_INIT;
		int len = 1 + (fixture_pick(50) ? fixture_pick(12) : fixture_pick(NAME_MAX_LEN));

		ews_buf_adds(&name, dirs[fixture_pick(4)]);
		for (int k = 0; k < len; k++)
			ews_buf_addc(&name, "ab/\xff"[fixture_pick(4)]);
		if (!ews_strv_has(names, name.ptr))
			ews_strv_add(names, name.ptr);
	}
}

static int cmp_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void write_refs(int dir_fd, const char *header, const struct ews_strv *names)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	ews_buf_adds(&text, header);
	for (size_t i = 0; i < names->n; i++) {
		ews_buf_addf(&text, ID " %s\n", names->items[i]);
		if (fixture_pick(3) == 0)
			ews_buf_adds(&text, "^" ID "\n");
	}
	cr_assert_eq(ews_file_replace(dir_fd, EWS_PACKED_REFS, text.ptr, text.len, 0644), 0);
}

/* The lines of names with the prefix, each with what follows it, as one who reads all of it finds them. */
static void pick(struct ews_buf *out, const char *text, const char *prefix)
{
	bool is_wanted = false;

	for (const char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
		const char *name = *line == '#' || *line == '^' ? NULL : strchr(line, ' ');

		if (*line != '^')
			is_wanted = name && name < end && !strncmp(name + 1, prefix, strlen(prefix));
		if (is_wanted)
			ews_buf_add(out, line, (size_t)(end + 1 - line));
	}
}

static void compare(int dir_fd, const char *prefix)
{
	EWS_CLEANUP(buf) struct ews_buf all = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf part = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf wanted = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf found = EWS_BUF_INIT;

	cr_assert_eq(ews_file_read(&all, dir_fd, EWS_PACKED_REFS, EWS_GIB), 0);
	cr_assert_eq(ews_packed_refs_read(&part, dir_fd, prefix), 0);
	pick(&wanted, all.ptr, prefix);
	pick(&found, part.ptr, prefix);
	cr_assert_eq(wanted.len, found.len, "'%s'", prefix);
	cr_assert_eq(memcmp(wanted.ptr, found.ptr, wanted.len), 0, "'%s'", prefix);
}

static void compare_all(int dir_fd, const struct ews_strv *names)
{
	static const char *const prefixes[] = { "",       "refs/", "refs/ta",           "refs/ews/snapshots/",
						"refs/x", "a",     "refs/tags/\xff\xff" };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		compare(dir_fd, prefixes[i]);
	for (int i = 0; i < 60 && names->n; i++) {
		EWS_CLEANUP(free) char *prefix = ews_strdup(names->items[fixture_pick(names->n)]);

		compare(dir_fd, prefix);
		prefix[fixture_pick(strlen(prefix))] = '\0';
		compare(dir_fd, prefix);
	}
}

TestSuite(packed_refs, .init = fixture_begin, .fini = fixture_end);

Test(packed_refs, the_part_is_what_all_has_of_it)
{
	EWS_CLEANUP(fd) int dir_fd = fixture_open_dir(".");

	for (size_t round = 0; round < fixture_rounds(40); round++) {
		EWS_CLEANUP(strv) struct ews_strv names = EWS_STRV_INIT;

		make_names(&names, fixture_pick(2) ? 10 : 2000);
		qsort(names.items, names.n, sizeof(*names.items), cmp_names);
		write_refs(dir_fd, SORTED, &names);
		compare_all(dir_fd, &names);
	}
}

Test(packed_refs, a_file_that_does_not_say_that_it_is_sorted_is_read_whole)
{
	static const char *const headers[] = { "", "# pack-refs with: peeled fully-peeled \n",
					       "# pack-refs with: unsorted \n", "#  sorted \n" };
	EWS_CLEANUP(fd) int dir_fd = fixture_open_dir(".");

	for (size_t i = 0; i < sizeof(headers) / sizeof(*headers); i++) {
		EWS_CLEANUP(strv) struct ews_strv names = EWS_STRV_INIT;

		make_names(&names, 2000);
		write_refs(dir_fd, headers[i], &names);
		compare_all(dir_fd, &names);
	}
}

Test(packed_refs, little_is_read_of_a_long_one)
{
	EWS_CLEANUP(fd) int dir_fd = fixture_open_dir(".");
	EWS_CLEANUP(strv) struct ews_strv names = EWS_STRV_INIT;
	EWS_CLEANUP(buf) struct ews_buf part = EWS_BUF_INIT;

	for (int i = 100000; i < 120000; i++)
		ews_strv_addf(&names, "refs/tags/%d", i);
	write_refs(dir_fd, SORTED, &names);
	cr_assert_eq(ews_packed_refs_read(&part, dir_fd, "refs/tags/110000"), 0);
	cr_assert(strstr(part.ptr, " refs/tags/110000\n"));
	cr_assert_lt(part.len, 40000);
}

Test(packed_refs, garbage_is_no_ref_and_ends)
{
	EWS_CLEANUP(fd) int dir_fd = fixture_open_dir(".");

	for (size_t round = 0; round < fixture_rounds(20); round++) {
		EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
		EWS_CLEANUP(buf) struct ews_buf part = EWS_BUF_INIT;

		ews_buf_adds(&text, SORTED);
		for (int i = 0; i < 60000; i++)
			ews_buf_addc(&text, "0a \n^r\0/"[fixture_pick(round % 2 ? 8 : 3)]);
		fixture_write(dir_fd, EWS_PACKED_REFS, text.ptr, text.len);
		cr_assert_eq(ews_packed_refs_read(&part, dir_fd, "refs/heads/main"), 0);
	}
}

Test(packed_refs, one_that_is_missing_or_no_file_is_told)
{
	EWS_CLEANUP(fd) int dir_fd = fixture_open_dir(".");
	EWS_CLEANUP(buf) struct ews_buf part = EWS_BUF_INIT;

	cr_assert_eq(ews_packed_refs_read(&part, dir_fd, "refs/"), EWS_ENOTFOUND);
	fixture_shell("ln -s elsewhere packed-refs && echo '" ID " refs/heads/main' >elsewhere");
	cr_assert_eq(ews_packed_refs_read(&part, dir_fd, "refs/"), EWS_EDAMAGED);
}
