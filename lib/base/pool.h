/*
 * Pool: one function over many items on several threads; errors come home.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_POOL_H
#define EWS_BASE_POOL_H

#include <stddef.h>

/* Called for item `i` on thread `worker` (0..threads-1). Below zero: an error is set, no more items start. */
typedef int (*ews_pool_fn)(size_t i, unsigned worker, void *payload);

/* How many threads suit this machine: the CPUs that we may use, at most 8. */
unsigned ews_pool_threads(void);

/*
 * Call `fn` for each of `n` items, in chunks of `chunk` (at least 1), on
 * `threads` threads (the caller's is one of them; 0 means
 * ews_pool_threads()). Fewer than two chunks run on the caller's thread alone.
 * Returns 0, or the first error, which is then set in the caller's thread.
 */
int ews_pool_for(size_t n, size_t chunk, unsigned threads, ews_pool_fn fn, void *payload);

/* Called for the items `from` up to but not including `end` on thread `worker`; else as ews_pool_fn. */
typedef int (*ews_pool_span_fn)(size_t from, size_t end, unsigned worker, void *payload);

/*
 * Call `fn` for spans of `len` (at least 1) of `n` items, the last of which may be shorter: for what is easier for an item
 * when it was done for the one before. Else as ews_pool_for().
 */
int ews_pool_spans(size_t n, size_t len, unsigned threads, ews_pool_span_fn fn, void *payload);

/*
 * The same where an item is easier for the thread that did the one before it, and the threads are in each other's way at items
 * that are close: each has a part of its own, and goes through that from its beginning. Who is done takes over the second half
 * of the longest that another has left.
 */
int ews_pool_parts(size_t n, size_t len, unsigned threads, ews_pool_span_fn fn, void *payload);

/*
 * The same as ews_pool_for() for what waits for the disk, an item at a time, on `threads` threads that are none of those that
 * compute: who computes meanwhile has those.
 */
int ews_pool_wait(size_t n, unsigned threads, ews_pool_fn fn, void *payload);

/* Below zero: an error is set. */
typedef int (*ews_pool_task_fn)(void *payload);

/*
 * One task that begins while its caller goes on, on a thread that computes, and may call ews_pool_for() itself. Where there is
 * but one CPU it is done at its end. The caller frees it with ews_pool_task_end().
 */
struct ews_pool_task *ews_pool_task_begin(ews_pool_task_fn fn, void *payload);

/*
 * Help with what it has called, and wait for it. Returns what it returned, whose error is this thread's then; one that is set
 * stays where it succeeded.
 */
int ews_pool_task_end(struct ews_pool_task *task);

#endif
