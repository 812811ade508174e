/*
 * The lock of a ref, as git has it: the file "<ref>.lock" beside the ref's own, whose place it takes with what is written into it.
 *
 * Whoever dies leaves it there, and git waits for it in vain: store/litter removes one that nobody holds.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_REF_LOCK_H
#define EWS_STORE_REF_LOCK_H

#include <stddef.h>

#include "base/cleanup.h"
#include "base/sync.h"

struct ews_ref_lock {
	char *path; /* the ref's file */
	char *lock; /* the lock's; NULL: none is held, or it has become the ref's */
	int fd;
};

#define EWS_REF_LOCK_INIT { NULL, NULL, -1 }

/*
 * Lock the ref whose file is `path`, waiting for who holds it. The directory must be there: else that fails with EWS_ENOTFOUND. Fails
 * with EWS_EBUSY when it is still held after EWS_ODB_REF_WAIT_MS.
 */
int ews_ref_lock_take(struct ews_ref_lock *out, const char *path);

/* Let the ref say `text`, and be free. Its contents are synced, its name is not. */
int ews_ref_lock_put(struct ews_ref_lock *lock, const char *text, size_t len);
/* The same once `group`, which has the lock from then on, is finished. */
int ews_ref_lock_put_with(struct ews_ref_lock *lock, struct ews_sync_group *group, const char *text, size_t len);

/* Let the ref go, which stays as it is, unless it was put. */
void ews_ref_lock_release(struct ews_ref_lock *lock);
EWS_CLEANUP_DEFINE(ref_lock, struct ews_ref_lock, ews_ref_lock_release)

#endif
