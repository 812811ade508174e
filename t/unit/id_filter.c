/*
 * Id filters: all that was added is let through, and little else.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/id_filter.h"

#include <criterion/criterion.h>

#include "base/clock.h"
#include "fixture.h"

TestSuite(id_filter, .timeout = 60);

#define ID_LEN 20

Test(id_filter, what_was_added_is_let_through_and_little_else)
{
	static const size_t sizes[] = { 0, 1, 3, 64, 1000, 40000 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		size_t n = sizes[i], n_let_through = 0;
		struct ews_id_filter *filter = ews_id_filter_new(n);
		static unsigned char ids[40000][ID_LEN];
		unsigned char other[ID_LEN];

		ews_clock_random(ids, n * ID_LEN);
		for (size_t at = 0; at < n; at++)
			ews_id_filter_add(filter, ids[at]);
		for (size_t at = 0; at < n; at++)
			cr_assert(ews_id_filter_may_have(filter, ids[at]));
		for (size_t at = 0; at < 10000; at++) {
			ews_clock_random(other, sizeof(other));
			n_let_through += ews_id_filter_may_have(filter, other);
		}
		cr_assert_leq(n_let_through, 10000 / 12, "%zu of 10000 for %zu", n_let_through, n);
		ews_id_filter_free(filter);
	}
}
