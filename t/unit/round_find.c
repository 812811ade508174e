/*
 * Finding rounds: a name, or what no other begins with.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/round_find.h"

#include <criterion/criterion.h>

#include "base/error.h"

TestSuite(round_find);

Test(round_find, a_beginning_that_several_have_is_none_of_them)
{
	char one[] = "a449c0de", two[] = "a44ac0de", unsettled[] = "b449c0de";
	struct ews_round items[] = { { .id = one, .is_settled = true },
				     { .id = two, .is_settled = true },
				     { .id = unsettled } };
	const struct ews_rounds rounds = { .items = items, .n = 3 };
	const struct ews_round *found = NULL;

	cr_assert_eq(ews_round_find(&found, &rounds, "ews/a44"), EWS_EUSAGE);
	cr_assert_null(found);
	cr_assert_str_eq(ews_error_hint_text(), "one of ews/a449c0de, ews/a44ac0de");
	cr_assert_eq(ews_round_find(&found, &rounds, "a449"), 0);
	cr_assert_eq(found, &items[0]);
	cr_assert_eq(ews_round_find(&found, &rounds, "ews/a44ac0de"), 0);
	cr_assert_eq(found, &items[1]);
	cr_assert_eq(ews_round_find(&found, &rounds, "a449c0de0"), EWS_ENOTFOUND);
	cr_assert_eq(ews_round_find(&found, &rounds, "b"), EWS_ENOTFOUND);
	cr_assert_eq(ews_round_find(&found, &rounds, ""), EWS_ENOTFOUND);
}
