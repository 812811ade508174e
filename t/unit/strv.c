/*
 * String vectors are always an argv, sorted or not.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/strv.h"

#include <criterion/criterion.h>

Test(strv, it_ends_with_null_at_every_length)
{
	EWS_CLEANUP(strv) struct ews_strv v = EWS_STRV_INIT;
	size_t i;

	cr_assert_null(v.items[0]);
	ews_strv_sort(&v);
	ews_strv_clear(&v);
	cr_assert_not(ews_strv_sorted_has(&v, "x"));
	for (i = 0; i < 100; i++) {
		ews_strv_addf(&v, "%zu", i);
		cr_assert_null(v.items[v.n]);
	}
	ews_strv_clear(&v);
	cr_assert_null(v.items[0]);
	cr_assert_null(ews_strv_empty[0]);
}

static bool is_short(void *payload, const char *text)
{
	return strlen(text) <= *(const size_t *)payload;
}

Test(strv, filter_keeps_what_is_wanted_in_its_order)
{
	EWS_CLEANUP(strv) struct ews_strv v = EWS_STRV_INIT;

	ews_strv_filter(&v, is_short, &(size_t){ 1 });
	cr_assert_eq(v.n, 0);
	ews_strv_add_all(&v, "long", "b", "a", "longer", "cc", NULL);
	ews_strv_filter(&v, is_short, &(size_t){ 2 });
	cr_assert_eq(v.n, 3);
	cr_expect_str_eq(v.items[0], "b");
	cr_expect_str_eq(v.items[1], "a");
	cr_expect_str_eq(v.items[2], "cc");
	cr_expect_null(v.items[3]);
	ews_strv_filter(&v, is_short, &(size_t){ 0 });
	cr_assert_eq(v.n, 0);
	cr_expect_null(v.items[0]);
}

Test(strv, unique_sorts_and_keeps_one_of_each)
{
	EWS_CLEANUP(strv) struct ews_strv v = EWS_STRV_INIT;

	ews_strv_add_all(&v, "b", "a", "b", "B", "a", NULL);
	ews_strv_unique(&v);
	cr_assert_eq(v.n, 3);
	cr_assert_str_eq(v.items[0], "B");
	cr_assert_str_eq(v.items[1], "a");
	cr_assert_str_eq(v.items[2], "b");
	cr_assert_null(v.items[3]);
	cr_assert(ews_strv_sorted_has(&v, "a"));
	cr_assert_not(ews_strv_sorted_has(&v, "c"));
	cr_assert(ews_strv_has(&v, "b"));
}

Test(strv, leave_out_takes_out_all_that_the_others_have)
{
	EWS_CLEANUP(strv) struct ews_strv v = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv others = EWS_STRV_INIT;

	ews_strv_add_all(&v, "b", "a", "c", "a", NULL);
	ews_strv_leave_out(&v, &others);
	cr_assert_eq(v.n, 4);
	ews_strv_add_all(&others, "d", "a", NULL);
	ews_strv_leave_out(&v, &others);
	cr_assert_eq(v.n, 2);
	cr_expect_str_eq(v.items[0], "b");
	cr_expect_str_eq(v.items[1], "c");
	cr_expect_str_eq(others.items[0], "d");
}
