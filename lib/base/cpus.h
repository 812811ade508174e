/*
 * CPUs: how many may be used, and threads that start on another one than their caller.
 *
 * Most of what runs in threads here takes a few milliseconds. A scheduler that packs threads on few CPUs, as those of
 * virtual machines do to let the others sleep, leaves a new thread behind its caller for as long as that: measured were 0.7
 * to 3.9 ms until it started, and 0.1 ms where it could not start there.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_CPUS_H
#define EWS_BASE_CPUS_H

#include <pthread.h>

/* How many the process may use, at least 1. */
unsigned ews_cpus_count(void);

/*
 * Make a thread as pthread_create() does, or let one that waits run, on none but other CPUs than the caller's: if there are
 * any, and that is allowed.
 */
int ews_cpus_make_elsewhere(pthread_t *out, pthread_attr_t *attr, void *(*fn)(void *payload), void *payload);
void ews_cpus_wake_elsewhere(pthread_t thread);

/* Such a thread, once it runs: from now on all that the process may use are free to it and to what it starts. */
void ews_cpus_settle(void);

#endif
