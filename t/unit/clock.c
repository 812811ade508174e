/*
 * Stamps are written and read alike; ids and ages have their form.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/clock.h"

#include <criterion/criterion.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

Test(clock, stamps_come_back_as_they_went)
{
	static const int64_t times[] = { 0, 1768746622, 951782400, -1, 253402300799 };
	char stamp[EWS_STAMP_LEN];
	int64_t back;
	size_t i;

	ews_clock_rfc3339(stamp, 1768746622);
	cr_assert_str_eq(stamp, "2026-01-18T14:30:22Z");
	for (i = 0; i < sizeof(times) / sizeof(*times); i++) {
		ews_clock_rfc3339(stamp, times[i]);
		cr_assert_eq(ews_clock_parse(&back, stamp), 0, "%s", stamp);
		cr_assert_eq(back, times[i]);
	}
	ews_clock_rfc3339(stamp, INT64_MAX);
	ews_clock_rfc3339(stamp, INT64_MIN);
	cr_assert_lt(strlen(stamp), EWS_STAMP_LEN);
}

Test(clock, what_is_no_stamp_is_damage)
{
	static const char *const bad[] = { "",
					   "now",
					   "2026-01-18",
					   "2026-01-18T14:30:22",
					   "2026-01-18T14:30:22Zx",
					   "2026-02-30T00:00:00Z",
					   "2026-13-01T00:00:00Z",
					   "2026-1-18T14:30:22Z",
					   " 2026-01-18T14:30:22Z",
					   "2026-01-18T14:30:60Z" };
	int64_t out = 5;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		cr_expect_eq(ews_clock_parse(&out, bad[i]), EWS_EDAMAGED, "'%s'", bad[i]);
	cr_assert_eq(out, 5);
}

Test(clock, what_is_as_young_as_the_window_is_late)
{
	const struct timespec then = { 1000, 5000000 };

	cr_assert(ews_clock_is_late(1000, 5000000, &then, 0));
	cr_assert(ews_clock_is_late(1001, 1, &then, 0));
	cr_assert_not(ews_clock_is_late(1000, 4999999, &then, 0));
	cr_assert(ews_clock_is_late(999, 985000000, &then, 20000000));
	cr_assert_not(ews_clock_is_late(999, 984999999, &then, 20000000));
	cr_assert(ews_clock_is_late(990, 4000000, &then, 10001000000));
	cr_assert_not(ews_clock_is_late(990, 3999999, &then, 10001000000));
	cr_assert_not(ews_clock_is_late(INT64_MIN, 1, &then, 0));
	cr_assert(ews_clock_is_late(INT64_MAX, 1, &then, 0));
}

Test(clock, a_second_without_fractions_is_late_to_its_end)
{
	const struct timespec then = { 1000, 5000000 };

	cr_assert(ews_clock_is_late(1000, 0, &then, 0));
	cr_assert(ews_clock_is_late(999, 0, &then, 0));
	cr_assert_not(ews_clock_is_late(998, 0, &then, 0));
	cr_assert(ews_clock_is_late(998, 0, &then, 20000000));
	cr_assert_not(ews_clock_is_late(997, 0, &then, 20000000));
}

Test(clock, an_id_has_prefix_time_and_chance)
{
	char *a = ews_clock_id("snap", 1768746622), *b = ews_clock_id("snap", 1768746622);
	regex_t form;

	cr_assert_eq(regcomp(&form, "^snap-20260118-143022-[0-9a-f]{6}$", REG_EXTENDED | REG_NOSUB), 0);
	cr_assert_eq(regexec(&form, a, 0, NULL, 0), 0, "%s", a);
	cr_assert_str_neq(a, b);
	regfree(&form);
	free(a);
	free(b);
}

Test(clock, an_age_is_told_in_its_largest_unit)
{
	static const struct {
		int64_t seconds;
		const char *age;
	} rows[] = { { -5, "0 seconds" }, { 1, "1 second" },   { 59, "59 seconds" }, { 60, "1 minute" },
		     { 7199, "1 hour" },  { 7200, "2 hours" }, { 86400, "1 day" },   { 300000, "3 days" } };
	char age[EWS_STAMP_LEN];
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		ews_clock_age(age, rows[i].seconds);
		cr_expect_str_eq(age, rows[i].age);
	}
}
