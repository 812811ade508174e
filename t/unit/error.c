/*
 * Errors carry a code, a sentence and a hint, and survive the way home.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/error.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

Test(error, wrapping_puts_words_in_front_and_keeps_code_and_hint)
{
	cr_assert_eq(ews_error(EWS_ENOTFOUND, "no session '%s'", "demo"), EWS_ENOTFOUND);
	ews_error_hint("try another");
	cr_assert_eq(ews_error_wrap("cannot open '%d'", 7), EWS_ENOTFOUND);
	cr_assert_str_eq(ews_error_message(), "cannot open '7': no session 'demo'");
	cr_assert_str_eq(ews_error_hint_text(), "try another");
}

Test(error, a_new_error_may_quote_the_old_one_and_drops_its_hint)
{
	ews_error(EWS_EIO, "old");
	ews_error_hint("old hint");
	ews_error(EWS_EGIT, "new (%s)", ews_error_message());
	cr_assert_str_eq(ews_error_message(), "new (old)");
	cr_assert_str_eq(ews_error_hint_text(), "");
}

Test(error, errno_chooses_the_code_and_is_left_as_it_was)
{
	static const struct {
		int err;
		enum ews_code code;
	} rows[] = { { ENOENT, EWS_ENOTFOUND }, { ENOTDIR, EWS_ENOTFOUND }, { EEXIST, EWS_EEXISTS },
		     { ENOSPC, EWS_ENOSPACE },  { EDQUOT, EWS_ENOSPACE },   { EFBIG, EWS_ENOSPACE },
		     { EACCES, EWS_EIO } };
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		errno = rows[i].err;
		cr_assert_eq(ews_error_os("x"), (int)rows[i].code);
		cr_assert_eq(errno, rows[i].err);
	}
	cr_assert_str_eq(ews_error_message(), "x: Permission denied");
}

Test(error, each_code_has_its_word_and_status)
{
	static const struct {
		enum ews_code code;
		const char *word;
		int status;
	} rows[] = { { EWS_EUSAGE, "usage", 129 },   { EWS_EBUSY, "busy", 1 },
		     { EWS_ESTALE, "stale", 1 },     { EWS_ENOTVERIFIED, "not_verified", 1 },
		     { EWS_EDAMAGED, "damaged", 1 }, { EWS_ECONFLICT, "conflict", 1 },
		     { EWS_EIO, "io", 128 },         { EWS_EINTERRUPTED, "interrupted", 1 },
		     { EWS_EGIT, "git", 128 },       { EWS_ENOTFOUND, "not_found", 128 } };
	size_t i;
	int code;

	for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		cr_assert_str_eq(ews_error_word(rows[i].code), rows[i].word);
		cr_assert_eq(ews_error_status(rows[i].code), rows[i].status);
	}
	for (code = EWS_ECONFIG; code <= EWS_OK; code++)
		cr_assert(*ews_error_word((enum ews_code)code)); /* asserts that there is a row */
}

Test(error, a_saved_error_comes_back_whole)
{
	struct ews_error_saved saved = EWS_ERROR_SAVED_INIT;

	ews_error(EWS_ESTALE, "moved");
	ews_error_hint("again");
	ews_error_save(&saved);
	ews_error_clear();
	cr_assert_eq(ews_error_code(), EWS_OK);
	cr_assert_str_eq(ews_error_message(), "");
	cr_assert_eq(ews_error_restore(&saved), EWS_ESTALE);
	cr_assert_str_eq(ews_error_message(), "moved");
	cr_assert_str_eq(ews_error_hint_text(), "again");
}

Test(error, what_is_cleaned_up_between_does_not_change_why)
{
	struct ews_error_saved saved = EWS_ERROR_SAVED_INIT;
	int rc;

	errno = EMFILE;
	rc = ews_error_os("cannot open it");
	ews_error_wrap("cannot start");
	ews_error_save(&saved);
	errno = ENOENT; /* of a temporary file that had gone */
	cr_assert(ews_error_wants_descriptors());
	cr_assert_eq(ews_error_if_passing(rc), rc);
	ews_error_clear();
	cr_assert_not(ews_error_wants_descriptors());
	rc = ews_error_restore(&saved);
	cr_assert_eq(ews_error_errno(), EMFILE);
	cr_assert_eq(ews_error_if_passing(rc), rc);

	errno = EACCES;
	rc = ews_error_os("cannot open it");
	errno = EMFILE;
	cr_assert_eq(ews_error_if_passing(rc), 0);
	rc = ews_error(EWS_EIO, "it is not as it should be");
	cr_assert_eq(ews_error_errno(), 0);
	cr_assert_eq(ews_error_if_passing(rc), 0);
}

Test(error, that_nothing_more_can_be_begun_just_now_says_nothing_of_what_is_there)
{
	errno = EAGAIN; /* fork(), or a thread that is one too many */
	cr_assert_eq(ews_error_os("cannot run git"), EWS_EIO);
	cr_assert_eq(ews_error_if_passing(EWS_EIO), EWS_EIO);
}

Test(error, a_sentence_that_is_too_long_is_cut)
{
	static char text[20000];

	memset(text, 'x', sizeof(text) - 1);
	cr_assert_eq(ews_error(EWS_EIO, "%s", text), EWS_EIO);
	cr_assert_eq(ews_error_wrap("%s", text), EWS_EIO);
	cr_assert_gt(strlen(ews_error_message()), 8192);
}
