/*
 * A pool visits each item once and brings the first error home.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/pool.h"

#include <criterion/criterion.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/beside.h"
#include "base/error.h"

#define ITEMS 1003

struct visits {
	atomic_uint seen[ITEMS];
	atomic_uint all;
	size_t bad; /* the item that fails */
	unsigned threads;
};

static int visit(size_t i, unsigned worker, void *payload)
{
	struct visits *v = payload;

	cr_assert_lt(worker, v->threads);
	atomic_fetch_add(&v->seen[i], 1);
	atomic_fetch_add(&v->all, 1);
	if (i == v->bad)
		return ews_error(EWS_ECONFLICT, "item %zu", i);
	return 0;
}

Test(pool, each_item_is_visited_once)
{
	static const size_t chunks[] = { 1, 7, ITEMS - 1, ITEMS, ITEMS + 1 };
	size_t c, i;

	for (c = 0; c < sizeof(chunks) / sizeof(*chunks); c++) {
		struct visits v = { .bad = ITEMS, .threads = 4 };

		cr_assert_eq(ews_pool_for(ITEMS, chunks[c], 4, visit, &v), 0);
		for (i = 0; i < ITEMS; i++)
			cr_assert_eq(v.seen[i], 1);
	}
}

struct span_visits {
	struct visits v;
	size_t len;
};

static int visit_span(size_t from, size_t end, unsigned worker, void *payload)
{
	struct span_visits *spans = payload;
	int rc = 0;

	cr_assert_eq(from % spans->len, 0);
	cr_assert_lt(from, end);
	cr_assert_eq(end, from + spans->len < ITEMS ? from + spans->len : ITEMS);
	for (size_t i = from; i < end && rc == 0; i++)
		rc = visit(i, worker, &spans->v);
	return rc;
}

Test(pool, spans_follow_each_other_without_gaps)
{
	static const size_t lens[] = { 1, 7, ITEMS - 1, ITEMS, ITEMS + 1, SIZE_MAX };

	for (size_t k = 0; k < sizeof(lens) / sizeof(*lens); k++) {
		struct span_visits spans = { { .bad = ITEMS, .threads = 4 }, lens[k] };

		cr_assert_eq(ews_pool_spans(ITEMS, lens[k], 4, visit_span, &spans), 0);
		for (size_t i = 0; i < ITEMS; i++)
			cr_assert_eq(spans.v.seen[i], 1);
	}
}

Test(pool, the_error_of_a_span_comes_home)
{
	struct span_visits spans = { { .bad = 3, .threads = 4 }, 7 };

	cr_assert_eq(ews_pool_spans(ITEMS, 7, 4, visit_span, &spans), EWS_ECONFLICT);
	cr_assert_str_eq(ews_error_message(), "item 3");
}

/* One thread's part is slow, so that the others take over what is left of it. */
static int visit_part(size_t from, size_t end, unsigned worker, void *payload)
{
	struct span_visits *parts = payload;
	int rc = 0;

	cr_assert_lt(from, end);
	cr_assert_leq(end - from, parts->len);
	if (from < ITEMS / 8)
		usleep(100);
	for (size_t i = from; i < end && rc == 0; i++)
		rc = visit(i, worker, &parts->v);
	return rc;
}

Test(pool, of_parts_too_each_item_is_visited_once)
{
	static const size_t lens[] = { 1, 7, ITEMS - 1, ITEMS, ITEMS + 1, SIZE_MAX };

	for (size_t k = 0; k < sizeof(lens) / sizeof(*lens); k++)
		for (unsigned threads = 1; threads < 6; threads++) {
			struct span_visits parts = { { .bad = ITEMS, .threads = threads }, lens[k] };

			cr_assert_eq(ews_pool_parts(ITEMS, lens[k], threads, visit_part, &parts), 0);
			for (size_t i = 0; i < ITEMS; i++)
				cr_assert_eq(parts.v.seen[i], 1);
			cr_assert_eq(ews_pool_parts(0, lens[k], threads, visit_part, &parts), 0);
		}
}

struct order {
	size_t at; /* the end of the last span */
	size_t n_apart; /* spans that did not begin there */
};

static int note_order(size_t from, size_t end, unsigned worker, void *payload)
{
	struct order *order = payload;

	(void)worker;
	order->n_apart += from != order->at;
	order->at = end;
	return 0;
}

Test(pool, a_part_is_gone_through_from_its_beginning)
{
	struct order order = { .at = 0 };

	cr_assert_eq(ews_pool_parts(ITEMS, 1, 1, note_order, &order), 0);
	cr_assert_eq(order.n_apart, 0);
	cr_assert_eq(order.at, ITEMS);
}

Test(pool, the_error_of_a_part_comes_home)
{
	struct span_visits parts = { { .bad = ITEMS - 1, .threads = 4 }, 7 };

	cr_assert_eq(ews_pool_parts(ITEMS, 7, 4, visit_part, &parts), EWS_ECONFLICT);
	cr_assert_eq(strncmp(ews_error_message(), "item ", 5), 0);
}

Test(pool, the_error_of_a_worker_is_set_at_home_and_stops_the_rest)
{
	static struct visits v = { .bad = 3, .threads = 4 };

	cr_assert_eq(ews_pool_for(ITEMS, 1, 4, visit, &v), EWS_ECONFLICT);
	cr_assert_eq(ews_error_code(), EWS_ECONFLICT);
	cr_assert_str_eq(ews_error_message(), "item 3");
	cr_assert_leq(v.all, ITEMS);
}

Test(pool, no_items_are_no_work)
{
	struct visits v = { .bad = 0, .threads = 1 };

	cr_assert_eq(ews_pool_for(0, 16, 0, visit, &v), 0);
	cr_assert_eq(v.all, 0);
	cr_assert_geq(ews_pool_threads(), 1);
}

static int note_worker(size_t i, unsigned worker, void *payload)
{
	(void)i;
	if (worker)
		*(atomic_bool *)payload = true;
	return 0;
}

Test(pool, little_work_stays_on_the_thread_of_the_caller)
{
	atomic_bool has_left = false;

	cr_assert_eq(ews_pool_for(10, 16, 4, note_worker, &has_left), 0);
	cr_assert_not(has_left);
}

/* Two jobs of two items each, one after the other's first has begun. */
struct pair {
	atomic_uint first, second; /* items that began */
	atomic_bool goes_on;
	atomic_uint workers; /* a bit for each that came to the second */
};

#define WAIT_US 1000
#define WAITS_MAX 20000

static bool wait_for(const atomic_uint *what, unsigned n)
{
	for (int i = 0; i < WAITS_MAX && *what < n; i++)
		usleep(WAIT_US);
	return *what >= n;
}

static int hold(size_t i, unsigned worker, void *payload)
{
	struct pair *pair = payload;

	(void)i;
	(void)worker;
	pair->first++;
	for (int turn = 0; turn < WAITS_MAX && !pair->goes_on; turn++)
		usleep(WAIT_US);
	return pair->goes_on ? 0 : ews_error(EWS_EBUSY, "nobody came");
}

static int begin_first(void *payload)
{
	return ews_pool_for(2, 1, 2, hold, payload);
}

static int meet(size_t i, unsigned worker, void *payload)
{
	struct pair *pair = payload;

	(void)i;
	pair->workers |= 1U << worker;
	pair->second++;
	pair->goes_on = true;
	return wait_for(&pair->second, 2) ? 0 : ews_error(EWS_EBUSY, "nobody came");
}

Test(pool, who_is_done_with_one_job_goes_on_with_the_other)
{
	static struct pair pair;
	struct ews_beside beside = EWS_BESIDE_INIT;

	ews_beside_begin(&beside, begin_first, &pair);
	cr_assert(wait_for(&pair.first, 2));
	cr_assert_eq(ews_pool_for(2, 1, 2, meet, &pair), 0);
	cr_assert_eq(ews_beside_end(&beside), 0);
	cr_assert_eq(pair.workers, 3);
}

static int add_up(void *payload)
{
	struct visits *v = payload;
	int rc = ews_pool_for(ITEMS, 7, 4, visit, v);

	return rc < 0 ? ews_error_wrap("the task") : rc;
}

Test(pool, a_task_is_done_when_it_ends)
{
	static struct visits v = { .bad = ITEMS, .threads = 4 };
	struct ews_pool_task *task = ews_pool_task_begin(add_up, &v);

	cr_assert_eq(ews_pool_task_end(task), 0);
	cr_assert_eq(v.all, ITEMS);
}

Test(pool, the_error_of_a_task_comes_home)
{
	static struct visits v = { .bad = 3, .threads = 4 };
	struct ews_pool_task *task = ews_pool_task_begin(add_up, &v);

	cr_assert_eq(ews_error_code(), 0);
	cr_assert_eq(ews_pool_task_end(task), EWS_ECONFLICT);
	cr_assert_str_eq(ews_error_message(), "the task: item 3");
}

static int meet_in_a_task(void *payload)
{
	return ews_pool_for(2, 1, 2, meet, payload);
}

Test(pool, who_ends_a_task_helps_with_what_it_called)
{
	static struct pair pair;
	struct ews_pool_task *task = ews_pool_task_begin(meet_in_a_task, &pair);

	cr_assert_eq(ews_pool_task_end(task), 0);
	cr_assert_eq(pair.workers, 3);
}

Test(pool, who_waits_for_a_task_works_at_his_own_jobs)
{
	static struct visits inner = { .bad = ITEMS, .threads = 4 }, own = { .bad = ITEMS, .threads = 4 };

	for (int round = 0; round < 200; round++) {
		struct ews_pool_task *task = ews_pool_task_begin(add_up, &inner);

		cr_assert_eq(ews_pool_for(ITEMS, 7, 4, visit, &own), 0);
		cr_assert_eq(ews_pool_task_end(task), 0);
	}
	cr_assert_eq(inner.all, 200 * ITEMS);
	cr_assert_eq(own.all, 200 * ITEMS);
}

Test(pool, on_one_processor_a_task_is_done_at_its_end)
{
	static struct visits v = { .bad = ITEMS, .threads = 4 };
	struct ews_pool_task *task;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	cr_assert_eq(sched_setaffinity(0, sizeof(one), &one), 0);
	task = ews_pool_task_begin(add_up, &v);
	usleep(10 * WAIT_US);
	cr_assert_eq(v.all, 0);
	cr_assert_eq(ews_pool_task_end(task), 0);
	cr_assert_eq(v.all, ITEMS);
}

static int clear_all(size_t i, unsigned worker, void *payload)
{
	(void)i;
	(void)worker;
	(void)payload;
	ews_error_clear();
	return 0;
}

static int clear_in_a_task(void *payload)
{
	return ews_pool_for(ITEMS, 7, 4, clear_all, payload);
}

Test(pool, who_ends_a_task_keeps_his_own_error)
{
	for (int round = 0; round < 20; round++) {
		struct ews_pool_task *task = ews_pool_task_begin(clear_in_a_task, NULL);

		(void)ews_error(EWS_ECONFLICT, "mine");
		cr_assert_eq(ews_pool_task_end(task), 0);
		cr_assert_eq(ews_error_code(), EWS_ECONFLICT);
		cr_assert_str_eq(ews_error_message(), "mine");
		ews_error_clear();
	}
}
