/*
 * CPUs: see cpus.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/cpus.h"

#include <sched.h>
#include <stdbool.h>
#include <unistd.h>

unsigned ews_cpus_count(void)
{
	cpu_set_t cpus;

	/* More CPUs than a set holds, or none told: alone is always right. */
	if (sched_getaffinity(0, sizeof(cpus), &cpus) < 0 || CPU_COUNT(&cpus) < 1)
		return 1;
	return (unsigned)CPU_COUNT(&cpus);
}

static bool find_others(cpu_set_t *out)
{
	int here = sched_getcpu();

	if (here < 0 || here >= CPU_SETSIZE || sched_getaffinity(0, sizeof(*out), out) < 0)
		return false;
	CPU_CLR(here, out);
	return CPU_COUNT(out) > 0;
}

/* These are hints: what fails leaves the choice to the scheduler. */

int ews_cpus_make_elsewhere(pthread_t *out, pthread_attr_t *attr, void *(*fn)(void *payload), void *payload)
{
	cpu_set_t others;

	if (find_others(&others) && !pthread_attr_setaffinity_np(attr, sizeof(others), &others) &&
	    !pthread_create(out, attr, fn, payload))
		return 0;
	/* Where a filter of system calls forbids it there is no such thread, but one like all others. */
	(void)pthread_attr_setaffinity_np(attr, 0, &others);
	return pthread_create(out, attr, fn, payload);
}

void ews_cpus_wake_elsewhere(pthread_t thread)
{
	cpu_set_t others;

	if (find_others(&others))
		(void)pthread_setaffinity_np(thread, sizeof(others), &others);
}

void ews_cpus_settle(void)
{
	cpu_set_t all;

	/* The first thread is never bound by the above. */
	if (sched_getaffinity(getpid(), sizeof(all), &all) == 0)
		(void)sched_setaffinity(0, sizeof(all), &all);
}
