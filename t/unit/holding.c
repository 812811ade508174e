/*
 * The repository's lock: one deep holder or many quick ones, whatever lies among the locks.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/holding.h"

#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "fixture.h"

#define TAKERS 6

TestSuite(holding, .init = fixture_begin_project, .fini = fixture_end_project);

static int take(struct ews_held *out, enum ews_holding_mode mode, uint64_t wait_ms)
{
	return ews_holding_take(out, fixture_repo, &(struct ews_holding_opts){ .mode = mode, .wait_ms = wait_ms });
}

Test(holding, a_name_that_is_not_quite_ours_is_nobodys)
{
	static const char *const ours[] = { "deep:session:a", "quick:owner:qe-1", "deep:command:lock-1",
					    "wait:00000000000000000007:quick:command:x",
					    "wait:18446744073709551615:deep:session:x" };
	static const char *const others[] = { "",
					      "a",
					      "deep",
					      "deep:session",
					      "deep:session:",
					      "deep:session:..",
					      "deep:session:a/b",
					      "deep:session:a:b",
					      "deep :session:a",
					      "DEEP:session:a",
					      "owner:a",
					      "gate:holdings",
					      "wait:deep:session:a",
					      "wait:00000000000000000000:deep:session:a",
					      "wait:0000000000000000001:deep:session:a",
					      "wait:000000000000000000001:deep:session:a",
					      "wait:99999999999999999999:deep:session:a",
					      "wait:-0000000000000000001:deep:session:a" };

	for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
		cr_assert(ews_holding_is_name(ours[i]), "%s", ours[i]);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		cr_assert_not(ews_holding_is_name(others[i]), "%s", others[i]);
	cr_assert_eq(ews_error_code(), 0);
}

Test(holding, two_in_one_process_are_two)
{
	EWS_CLEANUP(held) struct ews_held a = EWS_HELD_INIT;
	EWS_CLEANUP(held) struct ews_held b = EWS_HELD_INIT;
	EWS_CLEANUP(holdings) struct ews_holdings list = EWS_HOLDINGS_INIT;

	cr_assert_eq(take(&a, EWS_HOLDING_QUICK, 0), 0, "%s", ews_error_message());
	cr_assert_eq(take(&b, EWS_HOLDING_QUICK, 0), 0, "%s", ews_error_message());
	ews_held_release(&b);
	cr_assert_eq(take(&b, EWS_HOLDING_DEEP, 20), EWS_EBUSY);
	cr_assert_null(b.id);
	ews_held_release(&a);
	cr_assert_eq(take(&b, EWS_HOLDING_DEEP, 0), 0, "%s", ews_error_message());
	cr_assert_eq(take(&a, EWS_HOLDING_QUICK, 0), EWS_EBUSY);
	cr_assert_eq(ews_holding_list(&list, fixture_repo), 0);
	cr_assert_eq(list.n, 1);
	cr_assert_str_eq(list.items[0].id, b.id);
	cr_assert_eq(list.items[0].process.pid, getpid());
	cr_assert_not(list.items[0].is_elsewhere);
}

/* How many hold it at this moment. */
struct count {
	_Atomic int quick, deep, taken, broken;
};

static void come_and_go(struct count *count, unsigned seed, size_t rounds)
{
	for (size_t i = 0; i < rounds; i++) {
		EWS_CLEANUP(held) struct ews_held held = EWS_HELD_INIT;
		bool is_deep = (seed = seed * 1103515245 + 12345) >> 16 & 1;
		_Atomic int *mine = is_deep ? &count->deep : &count->quick;

		if (take(&held, is_deep ? EWS_HOLDING_DEEP : EWS_HOLDING_QUICK, 60000) != 0) {
			count->broken++;
			return;
		}
		(*mine)++;
		if (count->deep > 1 || (count->deep && count->quick))
			count->broken++;
		count->taken++;
		ews_clock_sleep_ms(seed >> 20 & 1);
		/* Now and then one dies with it: that is no less than letting go. */
		(*mine)--;
		if ((seed >> 21) % 16 == 0 && i + 1 == rounds)
			_exit(0);
	}
}

Test(holding, no_two_hold_it_that_may_not_and_all_that_wait_get_it)
{
	struct count *count = mmap(NULL, sizeof(*count), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	size_t rounds = fixture_rounds_if_fast(10);

	cr_assert_neq(count, MAP_FAILED);
	for (unsigned i = 0; i < TAKERS; i++) {
		if (fork())
			continue;
		come_and_go(count, (unsigned)fixture_seed() + 7 * i, rounds);
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
	cr_assert_eq(count->broken, 0);
	cr_assert_eq(count->taken, (int)(TAKERS * rounds));
	munmap(count, sizeof(*count));
}
