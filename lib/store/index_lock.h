/*
 * The lock of git's index, as git has it: the file "index.lock" beside it, whose place it takes with what is written into it.
 *
 * Who stages something in the meantime fails by it, or waits, and is not overwritten. Whoever dies leaves it there: where a step had
 * not come to its end recover removes one that nobody holds (ews_stage_sweep_index).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_INDEX_LOCK_H
#define EWS_STORE_INDEX_LOCK_H

#include <stddef.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/sharing.h"

#define EWS_INDEX_LOCK "index.lock"

struct ews_index_lock {
	int git_fd; /* the caller's */
	int fd; /* -1: it is not held, or has become the index */
};

#define EWS_INDEX_LOCK_INIT { -1, -1 }

/* Lock the index in `git_fd`, waiting for who holds it as for the lock of a ref. Fails with EWS_EBUSY when it is still held then. */
int ews_index_lock_take(struct ews_index_lock *out, int git_fd);

/* Let the index be `len` bytes of `data`, with that time, and be free. It is durable then, and has the modes of ews_file_replace_shared(). */
int ews_index_lock_put(struct ews_index_lock *lock, const void *data, size_t len, struct ews_sharing sharing,
		       const struct timespec *mtime);

/* Let the index go, which stays as it is, unless it was put. */
void ews_index_lock_release(struct ews_index_lock *lock);
EWS_CLEANUP_DEFINE(index_lock, struct ews_index_lock, ews_index_lock_release)

#endif
