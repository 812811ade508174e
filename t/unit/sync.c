/*
 * Sync groups: names come last, in order, and not at all when something failed.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/sync.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "fixture.h"

TestSuite(sync, .init = fixture_begin, .fini = fixture_end, .timeout = 60);

static void assert_says(const char *name, const char *text)
{
	EWS_CLEANUP(buf) struct ews_buf is = EWS_BUF_INIT;

	cr_assert_eq(ews_file_read(&is, AT_FDCWD, name, 100), 0, "%s: %s", name, ews_error_message());
	cr_assert_str_eq(is.ptr, text);
}

static void assert_nothing_else(const char *should)
{
	EWS_CLEANUP(buf) struct ews_buf is = EWS_BUF_INIT;

	fixture_ask(&is, "ls -A | tr '\\n' ' '");
	cr_assert_str_eq(is.ptr, should);
}

Test(sync, a_replaced_file_has_its_old_content_until_the_group_is_finished)
{
	EWS_CLEANUP(sync_group) struct ews_sync_group group = EWS_SYNC_GROUP_INIT;
	const struct timespec mtime = { 1234567890, 123456789 };
	struct stat st;

	fixture_shell("echo old >a && echo one >log");
	ews_sync_begin(&group);
	cr_assert_eq(ews_sync_current(), &group);
	cr_assert_eq(ews_file_replace_dated(AT_FDCWD, "a", "new\n", 4, 0640, &mtime), 0);
	cr_assert_eq(ews_file_replace(AT_FDCWD, "b", "b\n", 2, 0600), 0);
	cr_assert_eq(ews_file_append(AT_FDCWD, "log", "two", 0600), 0);
	assert_says("a", "old\n");
	cr_assert_neq(access("b", F_OK), 0);
	cr_assert_eq(ews_sync_finish(&group), 0);
	cr_assert_null(ews_sync_current());
	assert_says("a", "new\n");
	assert_says("b", "b\n");
	assert_says("log", "one\ntwo\n");
	cr_assert_eq(stat("a", &st), 0);
	cr_assert_eq(st.st_mode & 07777, 0640);
	cr_assert(st.st_mtim.tv_sec == mtime.tv_sec && st.st_mtim.tv_nsec == mtime.tv_nsec);
	assert_nothing_else("a b log ");
}

Test(sync, what_is_replaced_twice_is_what_it_was_made_last)
{
	EWS_CLEANUP(sync_group) struct ews_sync_group group = EWS_SYNC_GROUP_INIT;

	ews_sync_begin(&group);
	cr_assert_eq(ews_file_replace(AT_FDCWD, "a", "1", 1, 0600), 0);
	cr_assert_eq(ews_file_replace(AT_FDCWD, "a", "2", 1, 0600), 0);
	cr_assert_eq(ews_sync_finish(&group), 0);
	assert_says("a", "2");
	assert_nothing_else("a ");
}

Test(sync, a_directory_that_others_remove_while_it_is_empty_is_made_anew)
{
	EWS_CLEANUP(sync_group) struct ews_sync_group group = EWS_SYNC_GROUP_INIT;
	EWS_CLEANUP(sync_group) struct ews_sync_group unsynced = EWS_SYNC_GROUP_INIT;
	EWS_CLEANUP(fd) int here = open(".", O_RDONLY | O_DIRECTORY);
	EWS_CLEANUP(fd) int fd = -1;

	fixture_shell("echo a >tmp_a && echo b >tmp_b && echo c >tmp_c && mkdir 18");
	fd = open("tmp_a", O_WRONLY);
	cr_assert_eq(ews_sync_add_file_within(&group, &fd, here, "tmp_a", "18", "a", EWS_SHARING_NONE), 0);
	fd = open("tmp_b", O_WRONLY);
	cr_assert_eq(ews_sync_add_file_within(&group, &fd, here, "tmp_b", "18", "b", EWS_SHARING_NONE), 0);
	fixture_shell("rmdir 18");
	cr_assert_eq(ews_sync_finish(&group), 0, "%s", ews_error_message());
	assert_says("18/a", "a\n");
	assert_says("18/b", "b\n");
	fd = open("tmp_c", O_WRONLY);
	cr_assert_eq(ews_sync_add_file_within(&unsynced, &fd, here, "tmp_c", "19", "c", EWS_SHARING_NONE), 0);
	fixture_shell("rmdir 19");
	cr_assert_eq(ews_sync_finish_unsynced(&unsynced), 0, "%s", ews_error_message());
	assert_says("19/c", "c\n");
	assert_nothing_else("18 19 ");
}

Test(sync, a_group_that_is_let_go_leaves_nothing)
{
	{
		EWS_CLEANUP(sync_group) struct ews_sync_group group = EWS_SYNC_GROUP_INIT;

		ews_sync_begin(&group);
		cr_assert_eq(ews_file_replace(AT_FDCWD, "a", "1", 1, 0600), 0);
	}
	cr_assert_null(ews_sync_current());
	assert_nothing_else("");
	cr_assert_eq(ews_file_replace(AT_FDCWD, "a", "1", 1, 0600), 0);
	assert_nothing_else("a ");
}

Test(sync, where_one_cannot_be_synced_none_gets_its_name)
{
	EWS_CLEANUP(sync_group) struct ews_sync_group group = EWS_SYNC_GROUP_INIT;
	int ends[2];

	for (int i = 0; i < 9; i++) {
		char name[2] = { (char)('a' + i), '\0' };

		ews_sync_begin(&group);
		cr_assert_eq(ews_file_replace(AT_FDCWD, name, "1", 1, 0600), 0);
		/* A pipe can't be synced. */
		cr_assert_eq(pipe(ends), 0);
		ews_sync_add_named(&group, &ends[0]);
		for (int k = 0; k < i; k++)
			cr_assert_eq(ews_file_replace(AT_FDCWD, "more", "1", 1, 0600), 0);
		cr_assert_lt(ews_sync_finish(&group), 0);
		ews_error_clear();
		close(ends[1]);
		assert_nothing_else("");
	}
}

Test(sync, where_one_cannot_get_its_name_those_after_it_get_none)
{
	EWS_CLEANUP(sync_group) struct ews_sync_group group = EWS_SYNC_GROUP_INIT;

	fixture_shell("mkdir b");
	ews_sync_begin(&group);
	cr_assert_eq(ews_file_replace(AT_FDCWD, "a", "1", 1, 0600), 0);
	cr_assert_eq(ews_file_replace(AT_FDCWD, "b", "1", 1, 0600), 0);
	cr_assert_eq(ews_file_replace(AT_FDCWD, "c", "1", 1, 0600), 0);
	cr_assert_lt(ews_sync_finish(&group), 0);
	cr_assert(strstr(ews_error_message(), "'b'"));
	ews_error_clear();
	assert_nothing_else("a b ");
}

Test(sync, stages_get_their_names_one_after_the_other)
{
	EWS_CLEANUP(sync_group) struct ews_sync_group group = EWS_SYNC_GROUP_INIT;

	fixture_shell("mkdir b");
	ews_sync_begin(&group);
	cr_assert_eq(ews_file_replace(AT_FDCWD, "a", "1", 1, 0600), 0);
	ews_sync_next_stage(&group);
	cr_assert_eq(ews_file_replace(AT_FDCWD, "b", "1", 1, 0600), 0);
	ews_sync_next_stage(&group);
	cr_assert_eq(ews_file_replace(AT_FDCWD, "c", "1", 1, 0600), 0);
	cr_assert_lt(ews_sync_finish(&group), 0);
	ews_error_clear();
	assert_nothing_else("a b ");
	fixture_shell("rmdir b");
	ews_sync_begin(&group);
	for (int i = 0; i < 3; i++) {
		char name[2] = { (char)('c' - i), '\0' };

		cr_assert_eq(ews_file_replace(AT_FDCWD, name, name, 1, 0600), 0);
		ews_sync_next_stage(&group);
	}
	cr_assert_eq(ews_sync_finish_in_order(&group), 0);
	assert_says("b", "b");
	assert_nothing_else("a b c ");
}

Test(sync, what_is_left_to_another_group_has_its_name_before)
{
	EWS_CLEANUP(sync_group) struct ews_sync_group group = EWS_SYNC_GROUP_INIT, next = EWS_SYNC_GROUP_INIT;

	ews_sync_begin(&group);
	cr_assert_eq(ews_file_replace(AT_FDCWD, "a", "1", 1, 0600), 0);
	ews_sync_next_stage(&group);
	cr_assert_eq(ews_file_replace(AT_FDCWD, "b", "1", 1, 0600), 0);
	cr_assert_eq(ews_sync_finish_before(&group, &next), 0);
	assert_nothing_else("a b ");
	cr_assert_eq(ews_sync_current(), &next);
	ews_sync_let_go(&next);
	cr_assert_null(ews_sync_current());
	ews_sync_begin(&next);
	cr_assert_eq(ews_file_replace(AT_FDCWD, "c", "1", 1, 0600), 0);
	cr_assert_eq(ews_sync_finish(&next), 0);
	assert_nothing_else("a b c ");
}
