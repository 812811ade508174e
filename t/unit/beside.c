/*
 * Work beside the caller's is done once, and its error comes home.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/beside.h"

#include <criterion/criterion.h>
#include <string.h>

static int count(void *payload)
{
	++*(int *)payload;
	return 7;
}

static int fail(void *payload)
{
	++*(int *)payload;
	(void)ews_error(EWS_ECONFLICT, "it failed");
	ews_error_hint("do better");
	return EWS_ECONFLICT;
}

Test(beside, it_is_done_once_however_often_it_is_waited_for)
{
	struct ews_beside beside = EWS_BESIDE_INIT;
	int n = 0;

	cr_assert_eq(ews_beside_end(&beside), 0);
	ews_beside_begin(&beside, count, &n);
	cr_assert_eq(ews_beside_end(&beside), 7);
	cr_assert_eq(ews_beside_end(&beside), 0);
	ews_beside_release(&beside);
	cr_assert_eq(n, 1);
}

Test(beside, its_error_comes_home)
{
	struct ews_beside beside = EWS_BESIDE_INIT;
	int n = 0;

	ews_beside_begin(&beside, fail, &n);
	cr_assert_eq(ews_beside_end(&beside), EWS_ECONFLICT);
	cr_assert_str_eq(ews_error_message(), "it failed");
	cr_assert_str_eq(ews_error_hint_text(), "do better");
	cr_assert_eq(n, 1);
	ews_error_clear();
}

Test(beside, who_gives_up_keeps_his_own_error)
{
	struct ews_beside beside = EWS_BESIDE_INIT;
	int n = 0;

	ews_beside_begin(&beside, fail, &n);
	(void)ews_error(EWS_EIO, "mine");
	ews_beside_release(&beside);
	cr_assert_eq(n, 1);
	cr_assert_eq(ews_error_code(), EWS_EIO);
	cr_assert_str_eq(ews_error_message(), "mine");
	ews_error_clear();
}
