/*
 * Spares: what costs something to make, and one thread at a time uses; who is done with one leaves it to the next.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_SPARES_H
#define EWS_BASE_SPARES_H

#include <pthread.h>

/* The first member of what is left. */
struct ews_spare {
	struct ews_spare *next;
	pthread_t thread; /* that used it last */
};

struct ews_spares {
	pthread_mutex_t lock;
	struct ews_spare *idle;
};

#define EWS_SPARES_INIT { .lock = PTHREAD_MUTEX_INITIALIZER }

/*
 * Take one that is idle: this thread's own if there is one, which holds what it was used for last. It is the caller's then.
 * NULL: there is none, so make one.
 */
struct ews_spare *ews_spares_take(struct ews_spares *spares);

/* Leave it to the next. */
void ews_spares_give(struct ews_spares *spares, struct ews_spare *spare);

/* Free all that are idle with `free_one`; more can be given afterwards. No other thread uses them meanwhile. */
void ews_spares_clear(struct ews_spares *spares, void (*free_one)(struct ews_spare *spare));

#endif
