/*
 * Journal: what was begun and not done is found again, however the file was torn.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/journal.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "fixture.h"

TestSuite(journal, .init = fixture_begin_dir, .fini = fixture_end_dir);

static void assert_unfinished(const char *id, const char *verb)
{
	EWS_CLEANUP(free) char *is_id = NULL;
	EWS_CLEANUP(free) char *is_verb = NULL;

	cr_assert_eq(ews_journal_unfinished(&is_id, &is_verb, fixture_fd), 0, "%s", ews_error_message());
	cr_assert_str_eq(is_id, id);
	cr_assert_str_eq(is_verb, verb);
}

Test(journal, what_was_begun_and_not_done_is_found)
{
	assert_unfinished("", "");
	cr_assert_eq(ews_journal_begin(fixture_fd, "op-1", "revert"), 0);
	assert_unfinished("op-1", "revert");
	cr_assert_eq(ews_journal_done(fixture_fd, "op-1"), 0);
	assert_unfinished("", "");
	cr_assert_eq(ews_journal_begin(fixture_fd, "op-2", "end"), 0);
	cr_assert_eq(ews_journal_done(fixture_fd, "op-1"), 0);
	assert_unfinished("op-2", "end");
}

Test(journal, a_line_torn_anywhere_announces_nothing_and_swallows_nothing)
{
	static const char whole[] = "begin op-1 revert\ndone op-1\nbegin op-2 end\ndone op-2\n";

	for (size_t len = 0; len < sizeof(whole); len++) {
		bool in_1 = len >= 18 && len < 28, in_2 = len >= 43 && len < sizeof(whole) - 1;

		fixture_write(fixture_fd, "journal", whole, len);
		assert_unfinished(in_1 ? "op-1" : in_2 ? "op-2" : "", in_1 ? "revert" : in_2 ? "end" : "");
		cr_assert_eq(ews_journal_begin(fixture_fd, "op-3", "restore"), 0);
		assert_unfinished("op-3", "restore");
		cr_assert_eq(ews_journal_done(fixture_fd, "op-3"), 0);
		assert_unfinished("", "");
	}
}

Test(journal, zeros_in_the_place_of_a_line_hide_none_after_them)
{
	static const char zeros[] = "begin op-1 revert\n\0\0\0\0\0\0\0\0\0";

	fixture_write(fixture_fd, "journal", zeros, sizeof(zeros) - 1);
	assert_unfinished("op-1", "revert");
	cr_assert_eq(ews_journal_begin(fixture_fd, "op-2", "end"), 0);
	assert_unfinished("op-2", "end");
	cr_assert_eq(ews_journal_done(fixture_fd, "op-2"), 0);
	assert_unfinished("", "");
}

Test(journal, garbage_is_no_journal_and_hurts_nobody)
{
	EWS_CLEANUP(free) char *id = NULL;
	EWS_CLEANUP(free) char *verb = NULL;

	for (size_t round = 0; round < 50; round++) {
		EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

		for (size_t n = fixture_pick(60); n; n--)
			ews_buf_addf(&text, "%s%c", fixture_pick(2) ? "begin " : "done op-1", (int)fixture_pick(256));
		fixture_write(fixture_fd, "journal", text.ptr, text.len);
		free(id);
		free(verb);
		cr_assert_eq(ews_journal_unfinished(&id, &verb, fixture_fd), 0);
	}
	fixture_shell("rm journal && ln -s /etc/passwd journal");
	cr_assert_eq(ews_journal_begin(fixture_fd, "op-1", "end"), EWS_EIO);
}
