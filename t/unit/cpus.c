/*
 * Threads start on another CPU than their caller, and may use all of them then.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/cpus.h"

#include <criterion/criterion.h>
#include <sched.h>
#include <stdbool.h>

#include "base/beside.h"
#include "base/pool.h"

#define TURNS 20

static cpu_set_t mine(void)
{
	cpu_set_t cpus;

	cr_assert_eq(sched_getaffinity(0, sizeof(cpus), &cpus), 0);
	return cpus;
}

static void *keep_mine(void *payload)
{
	cpu_set_t *out = payload;

	out[0] = mine();
	ews_cpus_settle();
	out[1] = mine();
	return NULL;
}

Test(cpus, a_thread_starts_on_another_one_and_is_free_then)
{
	cpu_set_t all = mine(), its[2], both;
	pthread_attr_t attr;
	pthread_t thread;

	cr_assert_eq(pthread_attr_init(&attr), 0);
	ews_cpus_make_elsewhere(&attr);
	cr_assert_eq(pthread_create(&thread, &attr, keep_mine, its), 0);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	(void)pthread_attr_destroy(&attr);

	CPU_AND(&both, &all, &its[0]);
	cr_assert(CPU_EQUAL(&both, &its[0]));
	cr_assert_eq(CPU_COUNT(&its[0]), CPU_COUNT(&all) > 1 ? CPU_COUNT(&all) - 1 : 1);
	cr_assert(CPU_EQUAL(&its[1], &all));
}

static int is_free(void *payload)
{
	cpu_set_t its = mine();

	return CPU_EQUAL(&its, (const cpu_set_t *)payload) && ews_cpus_count() == (unsigned)CPU_COUNT(&its) ? 1 : 0;
}

static int must_be_free(size_t i, unsigned worker, void *payload)
{
	(void)i;
	(void)worker;
	return is_free(payload) ? 0 : -1;
}

/* Else a git that one of them starts would be bound as well. */
Test(cpus, work_on_a_thread_may_use_all)
{
	cpu_set_t all = mine();
	struct ews_beside beside = EWS_BESIDE_INIT;

	for (int turn = 0; turn < TURNS; turn++)
		cr_assert_eq(ews_pool_for(64, 1, 4, must_be_free, &all), 0);
	ews_beside_begin(&beside, is_free, &all);
	cr_assert_eq(ews_beside_end(&beside), 1);
}
