/*
 * Pool: see pool.h.
 *
 * Threads live as long as one call. They take the next chunk from a counter
 * until it runs out or somebody fails; there is no queue to fill.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/pool.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/error.h"

#define THREADS_MAX 8
#define THREADS_ASKED_MAX 64

struct job {
	ews_pool_fn fn;
	void *payload;
	size_t n, chunk;
	atomic_size_t next; /* the first item of the next chunk */
	atomic_bool has_failed;
	struct ews_error_saved error; /* of the one who set has_failed */
};

struct worker {
	struct job *job;
	unsigned number;
	pthread_t thread;
};

unsigned ews_pool_threads(void)
{
	cpu_set_t cpus;
	int n;

	if (sched_getaffinity(0, sizeof(cpus), &cpus) < 0)
		return 1; /* more CPUs than a set holds, or none told: alone is always right */
	n = CPU_COUNT(&cpus);
	if (n < 1)
		return 1;
	return n < THREADS_MAX ? (unsigned)n : THREADS_MAX;
}

static void work(struct job *job, unsigned number)
{
	size_t i, end;

	for (;;) {
		i = atomic_fetch_add(&job->next, job->chunk);
		if (i >= job->n)
			return;
		end = job->n - i < job->chunk ? job->n : i + job->chunk;
		for (; i < end; i++) {
			if (atomic_load_explicit(&job->has_failed, memory_order_relaxed))
				return;
			if (job->fn(i, number, job->payload) >= 0)
				continue;
			if (!atomic_exchange(&job->has_failed, true))
				ews_error_save(&job->error);
			return;
		}
	}
}

static void *work_in_thread(void *payload)
{
	struct worker *worker = payload;

	work(worker->job, worker->number);
	return NULL;
}

int ews_pool_for(size_t n, size_t chunk, unsigned threads, ews_pool_fn fn, void *payload)
{
	struct job job = { .fn = fn, .payload = payload, .n = n, .chunk = chunk };
	struct worker workers[THREADS_ASKED_MAX];
	sigset_t all, before;
	unsigned i, started = 1;
	size_t chunks;

	assert(chunk > 0);
	chunks = n / chunk + (n % chunk != 0);
	if (!threads)
		threads = ews_pool_threads();
	if (threads > THREADS_ASKED_MAX)
		threads = THREADS_ASKED_MAX;
	if (threads > chunks)
		threads = (unsigned)chunks;

	/* Signals are for the caller's thread, whose waits they are to interrupt. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	for (; started < threads; started++) {
		workers[started] = (struct worker){ .job = &job, .number = started };
		if (pthread_create(&workers[started].thread, NULL, work_in_thread, &workers[started]))
			break; /* fewer threads do it, too */
	}
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);

	work(&job, 0);
	for (i = 1; i < started; i++)
		(void)pthread_join(workers[i].thread, NULL);
	if (job.has_failed)
		return ews_error_restore(&job.error);
	return 0;
}
