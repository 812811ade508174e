/*
 * Threads start on another CPU than their caller, and may use all of them then.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/cpus.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/beside.h"
#include "base/error.h"
#include "base/pool.h"

#define TURNS 20
#define WAIT_US 1000

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
	cr_assert_eq(ews_cpus_make_elsewhere(&thread, &attr, keep_mine, its), 0);
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
	/* The caller leaves something to the others. */
	if (worker == 0)
		usleep(WAIT_US);
	return is_free(payload) ? 0 : ews_error(EWS_EBUSY, "it is bound");
}

/* Else a git that one of them starts would be bound as well. */
Test(cpus, work_on_a_thread_may_use_all)
{
	cpu_set_t all = mine();
	struct ews_beside beside = EWS_BESIDE_INIT;

	for (int turn = 0; turn < TURNS; turn++)
		cr_assert_eq(ews_pool_for(8, 1, 4, must_be_free, &all), 0);
	ews_beside_begin(&beside, is_free, &all);
	cr_assert_eq(ews_beside_end(&beside), 1);
}

/* As services are often run. */
static void forbid_binding(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_setaffinity, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(*filter), filter };

	cr_assert_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	cr_assert_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0), 0);
}

#define WAITS_MAX 5000

/* Each waits for the other. */
static int meet(void *payload)
{
	atomic_uint *n = payload;

	++*n;
	for (int i = 0; i < WAITS_MAX && *n < 2; i++)
		usleep(WAIT_US);
	return *n < 2 ? ews_error(EWS_EBUSY, "nobody came") : 0;
}

static int meet_one(size_t i, unsigned worker, void *payload)
{
	(void)i;
	(void)worker;
	return meet(payload);
}

Test(cpus, there_are_threads_where_none_may_be_bound)
{
	struct ews_beside beside = EWS_BESIDE_INIT;
	static atomic_uint in_pool, by_two;

	forbid_binding();
	cr_assert_eq(ews_pool_for(2, 1, 2, meet_one, &in_pool), 0);
	ews_beside_begin(&beside, meet, &by_two);
	cr_assert_eq(meet(&by_two), 0);
	cr_assert_eq(ews_beside_end(&beside), 0);
}
