/*
 * Beside: one piece of work on a thread of its own, next to the caller's; its error comes home.
 *
 * For what waits where the caller could compute, or computes where the caller waits. What many threads are to share is
 * base/pool's.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_BESIDE_H
#define EWS_BASE_BESIDE_H

#include <pthread.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "base/error.h"

/* Below zero: an error is set. */
typedef int (*ews_beside_fn)(void *payload);

struct ews_beside {
	pthread_t thread;
	bool is_under_way;
	ews_beside_fn fn;
	void *payload;
	int rc;
	struct ews_error_saved error; /* of that thread, where `rc` is below zero */
};

#define EWS_BESIDE_INIT { .is_under_way = false }

/* Begin `fn`; where there is no thread to be had it is done at once. `out` stays where it is until the end. */
void ews_beside_begin(struct ews_beside *out, ews_beside_fn fn, void *payload);
/* Wait for it. Returns what it returned, whose error is this thread's then; 0 when nothing was begun, or it was waited for. */
int ews_beside_end(struct ews_beside *beside);

/* Wait for it, whatever it returns. */
void ews_beside_release(struct ews_beside *beside);
EWS_CLEANUP_DEFINE(beside, struct ews_beside, ews_beside_release)

#endif
