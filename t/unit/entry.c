/*
 * Entries: what two lists differ in, and which names git itself can't hold.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/entry.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/path.h"
#include "base/proc.h"
#include "fixture.h"
#include "store/skip.h"
#include "store/tree.h"

TestSuite(entry, .init = fixture_begin, .fini = fixture_end);

static void pick_path(struct ews_buf *out)
{
	static const char *const names[] = { "a", "b", "a.c", "a-", "a0", "\xff", "\x01" };

	for (size_t n = 1 + fixture_pick(3); n; n--)
		ews_buf_addf(out, "%s%s", out->len ? "/" : "", FIXTURE_ONE_OF(names));
}

static void add_random(struct ews_entries *list)
{
	EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
	struct ews_entry *entry;

	pick_path(&path);
	for (size_t i = 0; i < list->n; i++)
		if (!strcmp(list->items[i].path, path.ptr))
			return;
	entry = ews_entries_add(list, path.ptr, path.len);
	entry->type = fixture_pick(2) ? EWS_ENTRY_FILE : EWS_ENTRY_LINK;
	entry->mode = fixture_pick(2) ? 0644 : 0755;
	entry->oid = (struct ews_oid){ 20, { (uint8_t)fixture_pick(2) } };
	entry->has_time = fixture_pick(2);
	entry->mtime_s = (int64_t)fixture_pick(2);
	entry->xattrs = fixture_pick(4) ? NULL : "user.a=\n";
}

/* By looking at every pair. */
static const struct ews_entry *look_for(const struct ews_entries *list, const char *path)
{
	for (size_t i = 0; i < list->n; i++)
		if (!strcmp(list->items[i].path, path))
			return &list->items[i];
	return NULL;
}

static size_t count_differences(const struct ews_entries *from, const struct ews_entries *to)
{
	size_t n = 0;

	for (size_t i = 0; i < from->n; i++) {
		const struct ews_entry *other = look_for(to, from->items[i].path);

		n += !other || !ews_entry_equal(&from->items[i], other);
	}
	for (size_t i = 0; i < to->n; i++)
		n += !look_for(from, to->items[i].path);
	return n;
}

Test(entry, changes_are_those_that_comparing_every_pair_finds)
{
	for (size_t round = 0; round < fixture_rounds(500); round++) {
		EWS_CLEANUP(entries) struct ews_entries from = EWS_ENTRIES_INIT;
		EWS_CLEANUP(entries) struct ews_entries to = EWS_ENTRIES_INIT;
		EWS_CLEANUP(changes) struct ews_changes changes = EWS_CHANGES_INIT;

		for (size_t n = fixture_pick(30); n; n--)
			add_random(&from);
		for (size_t n = fixture_pick(30); n; n--)
			add_random(&to);
		ews_entries_sort(&from);
		ews_entries_sort(&to);
		ews_changes_between(&changes, &from, &to, ews_entry_equal);
		cr_assert_eq(changes.n, count_differences(&from, &to), "EWS_SEED=%zu", fixture_seed());
		for (size_t i = 0; i < changes.n; i++) {
			const struct ews_change *change = &changes.items[i];

			cr_assert_eq(change->from, look_for(&from, change->path));
			cr_assert_eq(change->to, look_for(&to, change->path));
			cr_assert(i == 0 || ews_path_cmp(change[-1].path, change->path) < 0);
		}
	}
}

Test(entry, what_is_above_or_below_is_found_as_by_asking_each)
{
	for (size_t round = 0; round < fixture_rounds(500); round++) {
		EWS_CLEANUP(entries) struct ews_entries list = EWS_ENTRIES_INIT;
		EWS_CLEANUP(skips) struct ews_skips skips = EWS_SKIPS_INIT;
		EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
		bool is_below = false, is_touched = false;

		for (size_t n = fixture_pick(20); n; n--)
			add_random(&list);
		ews_entries_sort(&list);
		for (size_t i = 0; i < list.n; i++)
			ews_skips_add(&skips, list.items[i].path, EWS_SKIP_IGNORED, 0);
		if (round % 8)
			pick_path(&path);
		for (size_t i = 0; i < list.n; i++) {
			is_below = is_below || ews_path_is_inside(list.items[i].path, path.ptr);
			is_touched = is_touched || ews_path_is_inside(path.ptr, list.items[i].path);
		}
		is_touched = is_touched || is_below;
		cr_assert_eq(ews_entries_has_below(&list, path.ptr), is_below, "EWS_SEED=%zu", fixture_seed());
		cr_assert_eq(ews_skips_touch(&skips, path.ptr), is_touched, "EWS_SEED=%zu", fixture_seed());
	}
}

Test(entry, a_sorted_list_is_searched_as_it_was_sorted)
{
	EWS_CLEANUP(entries) struct ews_entries list = EWS_ENTRIES_INIT;

	cr_assert_null(ews_entries_find(&list, "a"));
	for (size_t n = 0; n < 300; n++)
		add_random(&list);
	ews_entries_sort(&list);
	for (size_t i = 0; i < list.n; i++)
		cr_assert_eq(ews_entries_find(&list, list.items[i].path), &list.items[i]);
	cr_assert_null(ews_entries_find(&list, "a/a/a/a"));
	cr_assert_null(ews_entries_find(&list, ""));
}

Test(entry, in_whatever_order_it_is_searched_the_same_is_found)
{
	EWS_CLEANUP(entries) struct ews_entries list = EWS_ENTRIES_INIT;
	unsigned short seed[3] = { 2, 7, 1 };
	size_t at = 0;

	cr_assert_null(ews_entries_find_next(&list, "a", &at));
	for (size_t n = 0; n < 300; n++)
		add_random(&list);
	ews_entries_sort(&list);
	for (size_t i = 0; i < list.n; i++)
		cr_assert_eq(ews_entries_find_next(&list, list.items[i].path, &at), &list.items[i]);
	for (size_t n = 0; n < 2000; n++) {
		size_t i = (size_t)nrand48(seed) % list.n;

		cr_assert_eq(ews_entries_find_next(&list, list.items[i].path, &at), &list.items[i]);
		cr_assert_null(ews_entries_find_next(&list, n & 1 ? "a/a/a/a" : "", &at));
	}
}

Test(entry, any_difference_of_the_stat_data_is_one)
{
	struct ews_entry entry = { 0 };
	struct stat st;

	cr_assert_eq(stat(".", &st), 0);
	cr_assert_not(ews_entry_stat_matches(&entry, &st));
	ews_entry_set_stat(&entry, &st);
	cr_assert(ews_entry_stat_matches(&entry, &st));
	for (int i = 0; i < 9; i++) {
		struct stat other = st;

		other.st_mode ^= i == 0 ? 01000 : i == 1 ? S_IFDIR ^ S_IFREG : 0;
		other.st_dev += i == 2;
		other.st_ino += i == 3;
		other.st_mtim.tv_sec += i == 4;
		other.st_mtim.tv_nsec += i == 5;
		other.st_ctim.tv_sec += i == 6;
		other.st_ctim.tv_nsec += i == 7;
		if (i == 8) {
			entry.type = EWS_ENTRY_FILE;
			other.st_mode = S_IFREG | (st.st_mode & 07777);
			other.st_size = (off_t)entry.size + 1;
		}
		cr_assert_not(ews_entry_stat_matches(&entry, &other), "%d", i);
	}
}

static struct ews_odb *odb;

/* Is the name of a file, or of a link, one that ews_entry_fits_tree() takes? */
static bool fits(const char *path, enum ews_entry_type type)
{
	struct ews_entry entry = { .path = path, .type = (uint8_t)type, .oid = { 20, { 1 } } };

	return ews_entry_fits_tree(&entry);
}

/* Does git take the path into an index, with every protection that it has? */
static bool git_takes(const char *path, const char *mode, const struct ews_oid *oid)
{
	char hex[EWS_OID_HEX_MAX];
	char *argv[] = { (char *)"git",
			 (char *)"-c",
			 (char *)"core.protectHFS=true",
			 (char *)"-c",
			 (char *)"core.protectNTFS=true",
			 (char *)"-C",
			 (char *)"repo",
			 (char *)"update-index",
			 (char *)"--add",
			 (char *)"--cacheinfo",
			 NULL,
			 NULL };
	EWS_CLEANUP(free) char *info = ews_strfmt("%s,%s,%s", mode, ews_oid_hex(hex, oid), path);
	EWS_CLEANUP(buf) struct ews_buf err = EWS_BUF_INIT;
	struct ews_proc proc = { .argv = argv, .err = &err };

	argv[10] = info;
	return ews_proc_run(&proc) == 0;
}

static void random_git_name(struct ews_buf *out)
{
	static const char *const pieces[] = {
		".", "g", "G", "i", "t", "~1", ":", "\\", " ", "\xe2\x80\x8c", "\xef\xbb\xbf", "x", "\xe2\x81\xab"
	};
	static const char *const starts[] = { ".git", "git~1", ".GiT", ".gi\xe2\x80\x8et", "a\\.git", "a:.git", "" };

	ews_buf_truncate(out, 0);
	ews_buf_adds(out, FIXTURE_ONE_OF(starts));
	for (size_t n = fixture_pick(4) + !out->len; n; n--)
		ews_buf_adds(out, FIXTURE_ONE_OF(pieces));
	if (!strcmp(out->ptr, ".") || !strcmp(out->ptr, ".."))
		ews_buf_addc(out, 'x');
}

static struct ews_batch *open_repo(struct ews_oid *blob)
{
	EWS_CLEANUP(free) char *git_dir = ews_path_join(fixture_top(), "repo/.git");
	struct ews_batch *batch;

	fixture_shell("git init -q repo");
	cr_assert_eq(ews_odb_open(&odb, git_dir, fixture_top()), 0, "%s", ews_error_message());
	batch = ews_batch_new(odb);
	cr_assert_eq(ews_batch_add(blob, batch, EWS_OBJECT_BLOB, "x", 1), 0);
	cr_assert_eq(ews_batch_commit(batch), 0);
	return batch;
}

Test(entry, what_fits_a_tree_is_taken_by_git_and_passes_fsck)
{
	EWS_CLEANUP(buf) struct ews_buf name = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf fsck = EWS_BUF_INIT;
	struct ews_oid blob, tree;
	struct ews_batch *batch = open_repo(&blob);
	size_t taken = 0;

	for (size_t i = 0; i < 10 * fixture_rounds(30); i++) {
		bool is_link = !fixture_pick(5);
		struct ews_tree_item item = { is_link ? 0120000 : 0100644, NULL, blob };

		random_git_name(&name);
		if (!fits(name.ptr, is_link ? EWS_ENTRY_LINK : EWS_ENTRY_FILE))
			continue;
		cr_assert(git_takes(name.ptr, is_link ? "120000" : "100644", &blob),
			  "EWS_SEED=%zu: git refuses '%s'", fixture_seed(), name.ptr);
		item.name = name.ptr;
		cr_assert_eq(ews_tree_write_flat(&tree, batch, &item, 1), 0);
		taken++;
	}
	cr_assert_gt(taken, 50);
	cr_assert_eq(ews_batch_commit(batch), 0);
	ews_batch_free(batch);
	ews_odb_free(odb);
	fixture_ask(&fsck, "cd repo && git fsck --strict --no-dangling 2>&1 | grep -v ^notice; true");
	cr_assert_str_empty(fsck.ptr, "EWS_SEED=%zu: %s", fixture_seed(), fsck.ptr);
}

Test(entry, names_that_git_refuses_are_refused)
{
	static const char *const refused[] = { ".git",
					       ".GIT",
					       "a/.git/b",
					       "git~1",
					       "GIT~1/x",
					       ".git ",
					       ".git.",
					       ".git . .",
					       ".git:x",
					       ".git\\x",
					       "a\\.git",
					       "a\\b\\GIT~1",
					       "a/b\\.git:",
					       ".g\xe2\x80\x8cit",
					       "\xef\xbb\xbf.git",
					       "\\.git",
					       "a/\\\\.git" };
	static const char *const links[] = { ".gitmodules",   ".GITmodules",   "a/.gitmodules",
					     "gitmod~1",      "GITMOD~4",      "gi7eba~1",
					     "gi7eb~12",      ".gitmodules .", ".git\xe2\x80\x8cmodules",
					     "a\\.gitmodules" };
	static const char *const plain[] = { ".gitignore", ".gitmodules", "git",    "git~2",  ".git2",
					     "a.git",      ".gi",         "git~10", ". git",  "\xe2\x80\x8c",
					     "a:.gi",      "gitmod~5",    "\\",     "\\\\a\\" };

	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
		cr_expect_not(fits(refused[i], EWS_ENTRY_FILE), "%s", refused[i]);
	for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++) {
		cr_expect_not(fits(links[i], EWS_ENTRY_LINK), "%s", links[i]);
		cr_expect(fits(links[i], EWS_ENTRY_FILE), "%s", links[i]);
	}
	for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++)
		cr_expect(fits(plain[i], EWS_ENTRY_FILE), "%s", plain[i]);
	cr_expect(fits("gitmod~5", EWS_ENTRY_LINK));
}

Test(entry, a_tree_holds_files_links_and_repositories_with_an_id)
{
	EWS_CLEANUP(free) char *path = ews_calloc(1, 4200);
	struct ews_entry entry = { .path = "a", .oid = { 20, { 1 } } };

	for (int type = EWS_ENTRY_FILE; type <= EWS_ENTRY_DEVICE; type++) {
		entry.type = (uint8_t)type;
		cr_assert_eq(ews_entry_fits_tree(&entry),
			     type == EWS_ENTRY_FILE || type == EWS_ENTRY_LINK || type == EWS_ENTRY_GITLINK, "%d",
			     type);
	}
	entry.type = EWS_ENTRY_GITLINK;
	entry.oid.len = 0;
	cr_assert_not(ews_entry_fits_tree(&entry));
	for (size_t i = 0; i < 4097; i++)
		path[i] = i % 2 ? '/' : 'a';
	cr_assert_not(fits(path, EWS_ENTRY_FILE));
	path[4095] = '\0';
	cr_assert(fits(path, EWS_ENTRY_FILE));
}
