/*
 * Buffers grow, stop at their ceiling, and hand their bytes over.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/buf.h"

#include <criterion/criterion.h>
#include <string.h>

Test(buf, an_empty_one_is_an_empty_string_that_can_be_taken)
{
	struct ews_buf buf = EWS_BUF_INIT;
	char *text;

	cr_assert_str_eq(buf.ptr, "");
	ews_buf_truncate(&buf, 0);
	ews_buf_rtrim(&buf);
	ews_buf_add(&buf, NULL, 0);
	text = ews_buf_steal(&buf);
	cr_assert_str_eq(text, "");
	free(text);
	ews_buf_release(&buf);
}

Test(buf, it_drops_what_is_beyond_its_ceiling_and_says_so)
{
	EWS_CLEANUP(buf) struct ews_buf buf = EWS_BUF_INIT;

	ews_buf_init_max(&buf, 5);
	ews_buf_adds(&buf, "abcde");
	cr_assert_not(buf.is_full);
	ews_buf_addf(&buf, "%d", 42);
	cr_assert(buf.is_full);
	cr_assert_str_eq(buf.ptr, "abcde");
}

Test(buf, formatting_has_no_limit_of_its_own)
{
	EWS_CLEANUP(buf) struct ews_buf buf = EWS_BUF_INIT;
	char text[3000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	ews_buf_addc(&buf, '<');
	ews_buf_addf(&buf, "%s>", text);
	cr_assert_eq(buf.len, sizeof(text) + 1);
	cr_assert_eq(strlen(buf.ptr), buf.len);
	cr_assert_eq(buf.ptr[buf.len - 1], '>');
}

Test(buf, nul_bytes_are_bytes)
{
	EWS_CLEANUP(buf) struct ews_buf buf = EWS_BUF_INIT;

	ews_buf_add(&buf, "a\0b", 3);
	ews_buf_addc(&buf, '\0');
	cr_assert_eq(buf.len, 4);
	cr_assert_eq(memcmp(buf.ptr, "a\0b\0", 5), 0);
}

Test(buf, trailing_white_space_goes)
{
	EWS_CLEANUP(buf) struct ews_buf buf = EWS_BUF_INIT;

	ews_buf_adds(&buf, " a \t\r\n");
	ews_buf_rtrim(&buf);
	cr_assert_str_eq(buf.ptr, " a");
}

Test(buf, what_is_made_anew_is_empty_and_large_enough)
{
	EWS_CLEANUP(buf) struct ews_buf buf = EWS_BUF_INIT;

	for (size_t len = 0; len < 5000; len = 2 * len + 1) {
		ews_buf_adds(&buf, "what was there");
		ews_buf_renew(&buf, len);
		cr_assert_eq(buf.len, 0);
		cr_assert_gt(buf.cap, len);
		memset(buf.ptr, 'x', len);
	}
}

Test(buf, only_what_is_too_large_is_given_back)
{
	EWS_CLEANUP(buf) struct ews_buf buf = EWS_BUF_INIT;

	ews_buf_adds(&buf, "text");
	ews_buf_shrink(&buf, 4096);
	cr_assert_str_eq(buf.ptr, "text");
	ews_buf_reserve(&buf, 5000);
	ews_buf_shrink(&buf, 4096);
	cr_assert_eq(buf.len, 0);
	cr_assert_eq(buf.cap, 0);
	ews_buf_adds(&buf, "more");
	cr_assert_str_eq(buf.ptr, "more");
}
