/*
 * Pool: see pool.h.
 *
 * Threads are made when they are first needed and wait for the next call then: a verb has some ten of
 * these, and most are shorter than it takes to make a thread. They take the next chunk from a
 * counter until it runs out or somebody fails; there is no queue to fill. Two callers at once have the
 * same threads: who is done with one job goes on with the other. A task is a job of one item, whose caller comes back later.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/pool.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cpus.h"
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
	/* Under the pool's lock: */
	struct job *after; /* the one that was called before it */
	unsigned n_wanted, n_came, n_at_work; /* of the pool's threads */
};

struct pool;

/* One of a pool's threads. */
struct server {
	struct pool *pool;
	pthread_t thread;
	bool waits;
};

/* The threads that were made, and what they are at. */
struct pool {
	pthread_mutex_t lock;
	pthread_cond_t is_called; /* there is a job */
	pthread_cond_t is_left; /* nobody works at some job any more, or there is one that who waits for that may help with */
	struct job *jobs; /* under way */
	struct server servers[THREADS_ASKED_MAX];
	unsigned n_threads; /* that were made */
	bool computes; /* its threads are of use on other CPUs alone; who waits for the disk needs none */
	pid_t pid; /* a child has none of its parent's threads */
};

#define POOL_INIT(for_computing)                                                          \
	{                                                                                 \
		.lock = PTHREAD_MUTEX_INITIALIZER, .is_called = PTHREAD_COND_INITIALIZER, \
		.is_left = PTHREAD_COND_INITIALIZER, .computes = (for_computing)          \
	}

/* What computes, and what waits for the disk: that keeps nobody from computing. */
static struct pool workers = POOL_INIT(true), waiters = POOL_INIT(false);

unsigned ews_pool_threads(void)
{
	unsigned n = ews_cpus_count();

	return n < THREADS_MAX ? n : THREADS_MAX;
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

/* A job that somebody more may work at, and has something left to do. */
static struct job *find_job(const struct pool *pool)
{
	struct job *job = pool->jobs;

	while (job && (job->n_came == job->n_wanted || job->next >= job->n || job->has_failed))
		job = job->after;
	return job;
}

/* Work at a job that was found. Under the lock, which is free meanwhile. */
static void join(struct pool *pool, struct job *job)
{
	unsigned number = ++job->n_came; /* the caller is 0 */

	job->n_at_work++;
	pthread_mutex_unlock(&pool->lock);
	work(job, number);
	pthread_mutex_lock(&pool->lock);
	if (!--job->n_at_work)
		pthread_cond_broadcast(&pool->is_left);
}

static void *serve(void *payload)
{
	struct server *server = payload;
	struct pool *pool = server->pool;

	pthread_mutex_lock(&pool->lock);
	for (;;) {
		struct job *job = find_job(pool);

		if (!job) {
			server->waits = true;
			pthread_cond_wait(&pool->is_called, &pool->lock);
			continue;
		}
		if (pool->computes && server->waits)
			ews_cpus_settle();
		server->waits = false;
		join(pool, job);
	}
	return NULL;
}

/* Under the lock. Signals are for the caller's thread, whose waits they are to interrupt. */
static void make_threads(struct pool *pool, unsigned n)
{
	sigset_t all, before;
	pthread_attr_t attr;

	if (pthread_attr_init(&attr))
		return;
	(void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	while (pool->n_threads < n) {
		struct server *server = &pool->servers[pool->n_threads];

		*server = (struct server){ .pool = pool, .waits = true };
		if (pool->computes ? ews_cpus_make_elsewhere(&server->thread, &attr, serve, server)
				   : pthread_create(&server->thread, &attr, serve, server))
			break; /* fewer threads do it, too */
		pool->n_threads++;
	}
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)pthread_attr_destroy(&attr);
}

/* Call threads to the job. */
static void call(struct pool *pool, struct job *job)
{
	pthread_mutex_lock(&pool->lock);
	if (pool->pid != getpid()) {
		/* What waits on these are threads of the parent. */
		pthread_cond_init(&pool->is_called, NULL);
		pthread_cond_init(&pool->is_left, NULL);
		pool->n_threads = 0;
		pool->jobs = NULL;
		pool->pid = getpid();
	}
	job->after = pool->jobs;
	pool->jobs = job;
	for (unsigned i = 0; i < pool->n_threads && i < job->n_wanted && pool->computes; i++)
		if (pool->servers[i].waits)
			ews_cpus_wake_elsewhere(pool->servers[i].thread);
	make_threads(pool, job->n_wanted);
	pthread_cond_broadcast(&pool->is_called);
	pthread_cond_broadcast(&pool->is_left);
	pthread_mutex_unlock(&pool->lock);
}

/* Under the lock. Nobody comes to it any more. */
static void withdraw(struct pool *pool, const struct job *job)
{
	struct job **at = &pool->jobs;

	while (*at != job)
		at = &(*at)->after;
	*at = job->after;
}

static void wait_until_left(struct pool *pool, const struct job *job)
{
	pthread_mutex_lock(&pool->lock);
	withdraw(pool, job);
	while (job->n_at_work)
		pthread_cond_wait(&pool->is_left, &pool->lock);
	pthread_mutex_unlock(&pool->lock);
}

/* The same, and help with whatever else is to be done meanwhile: what is waited for may have called for it. */
static void help_until_left(struct pool *pool, const struct job *job)
{
	pthread_mutex_lock(&pool->lock);
	withdraw(pool, job);
	while (job->n_at_work) {
		struct job *other = find_job(pool);

		if (other)
			join(pool, other);
		else
			pthread_cond_wait(&pool->is_left, &pool->lock);
	}
	pthread_mutex_unlock(&pool->lock);
}

/* How many chunks `n` items are. */
static size_t count_chunks(size_t n, size_t chunk)
{
	return n / chunk + (n % chunk != 0);
}

/* `threads` is how many are wanted at most. */
static int run(struct pool *pool, struct job *job, unsigned threads)
{
	size_t chunks = count_chunks(job->n, job->chunk);

	if (threads > THREADS_ASKED_MAX)
		threads = THREADS_ASKED_MAX;
	if (threads > chunks)
		threads = (unsigned)chunks;
	job->n_wanted = threads > 1 ? threads - 1 : 0;
	if (job->n_wanted)
		call(pool, job);
	work(job, 0);
	if (job->n_wanted)
		wait_until_left(pool, job);
	return job->has_failed ? ews_error_restore(&job->error) : 0;
}

int ews_pool_for(size_t n, size_t chunk, unsigned threads, ews_pool_fn fn, void *payload)
{
	struct job job = { .fn = fn, .payload = payload, .n = n, .chunk = chunk };

	assert(chunk > 0);
	return run(&workers, &job, threads ? threads : ews_pool_threads());
}

/* Items in spans. */
struct spans {
	ews_pool_span_fn fn;
	void *payload;
	size_t n, len;
};

static int do_span(size_t i, unsigned worker, void *payload)
{
	const struct spans *spans = payload;
	size_t from = i * spans->len, left = spans->n - from;

	return spans->fn(from, left < spans->len ? spans->n : from + spans->len, worker, spans->payload);
}

int ews_pool_spans(size_t n, size_t len, unsigned threads, ews_pool_span_fn fn, void *payload)
{
	struct spans spans = { fn, payload, n, len };

	assert(len > 0);
	return ews_pool_for(count_chunks(n, len), 1, threads, do_span, &spans);
}

/* What of a part is left. */
struct range {
	size_t next, end;
};

/* Items in parts. */
struct parts {
	struct spans spans;
	unsigned n;
	pthread_mutex_t lock; /* of what is below */
	struct range ranges[THREADS_ASKED_MAX];
};

static size_t count_left(const struct range *range)
{
	return range->end - range->next;
}

/* Take over what somebody else would come to last. */
static void take_over(struct parts *parts, struct range *own)
{
	struct range *longest = own;
	size_t left;

	for (unsigned i = 0; i < parts->n; i++)
		if (count_left(&parts->ranges[i]) > count_left(longest))
			longest = &parts->ranges[i];
	left = count_left(longest);
	if (!left)
		return;
	*own = (struct range){ longest->end - (left > parts->spans.len ? left / 2 : left), longest->end };
	longest->end = own->next;
}

/* The next span of one's own part. */
static bool take_span(struct range *out, struct parts *parts, struct range *own)
{
	pthread_mutex_lock(&parts->lock);
	if (!count_left(own))
		take_over(parts, own);
	*out = *own;
	if (count_left(out) > parts->spans.len)
		out->end = out->next + parts->spans.len;
	own->next = out->end;
	pthread_mutex_unlock(&parts->lock);
	return count_left(out) > 0;
}

/* Somebody failed: no more spans start. */
static void leave_rest(struct parts *parts)
{
	pthread_mutex_lock(&parts->lock);
	for (unsigned i = 0; i < parts->n; i++)
		parts->ranges[i].next = parts->ranges[i].end;
	pthread_mutex_unlock(&parts->lock);
}

static int do_part(size_t i, unsigned worker, void *payload)
{
	struct parts *parts = payload;
	struct range span;
	int rc = 0;

	while (rc == 0 && take_span(&span, parts, &parts->ranges[i]))
		rc = parts->spans.fn(span.next, span.end, worker, parts->spans.payload);
	if (rc < 0)
		leave_rest(parts);
	return rc;
}

int ews_pool_parts(size_t n, size_t len, unsigned threads, ews_pool_span_fn fn, void *payload)
{
	struct parts parts = { .spans = { fn, payload, n, len }, .lock = PTHREAD_MUTEX_INITIALIZER };
	size_t most;

	assert(len > 0);
	parts.n = threads ? threads : ews_pool_threads();
	if (parts.n > THREADS_ASKED_MAX)
		parts.n = THREADS_ASKED_MAX;
	most = n / parts.n + 1;
	for (unsigned i = 0; i < parts.n; i++) {
		parts.ranges[i].next = i * most < n ? i * most : n;
		parts.ranges[i].end = (i + 1) * most < n ? (i + 1) * most : n;
	}
	return ews_pool_for(parts.n, 1, parts.n, do_part, &parts);
}

int ews_pool_wait(size_t n, unsigned threads, ews_pool_fn fn, void *payload)
{
	struct job job = { .fn = fn, .payload = payload, .n = n, .chunk = 1 };

	return run(&waiters, &job, threads);
}

struct ews_pool_task {
	struct job job;
	ews_pool_task_fn fn;
	void *payload;
};

static int do_task(size_t i, unsigned worker, void *payload)
{
	const struct ews_pool_task *task = payload;

	(void)i;
	(void)worker;
	return task->fn(task->payload);
}

struct ews_pool_task *ews_pool_task_begin(ews_pool_task_fn fn, void *payload)
{
	struct ews_pool_task *task = ews_calloc(1, sizeof(*task));

	task->fn = fn;
	task->payload = payload;
	task->job.fn = do_task;
	task->job.payload = task;
	task->job.n = task->job.chunk = 1;
	task->job.n_wanted = ews_pool_threads() > 1;
	if (task->job.n_wanted)
		call(&workers, &task->job);
	return task;
}

int ews_pool_task_end(struct ews_pool_task *task)
{
	struct ews_error_saved mine = EWS_ERROR_SAVED_INIT;
	int rc;

	/* What is done here meanwhile may clear an error that the caller is about to tell. */
	ews_error_save(&mine);
	work(&task->job, 0); /* nobody came */
	if (task->job.n_wanted)
		help_until_left(&workers, &task->job);
	(void)ews_error_restore(&mine);
	rc = task->job.has_failed ? ews_error_restore(&task->job.error) : 0;
	free(task);
	return rc;
}
