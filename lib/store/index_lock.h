/*
 * The lock of git's index, as git has it: the file "index.lock" beside it, whose place it takes with what is written into it.
 *
 * Who stages something in the meantime fails by it, or waits, and is not overwritten. Whoever dies leaves it there. Ours has a second
 * name beside, where the file system has hard links, by which it is told from one of git's: whatever git stands there, it is nobody's.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_INDEX_LOCK_H
#define EWS_STORE_INDEX_LOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/sharing.h"

#define EWS_INDEX_LOCK "index.lock"
/* The second name. */
#define EWS_INDEX_LOCK_OWN "ews-index.lock"

/* What was put: its inode, 0: nothing was, and when it was complete, by the file system's clock. */
struct ews_index_put {
	uint64_t ino;
	struct timespec at;
	struct timespec left; /* when we were last at it: once it has gone, another may be given that inode */
};

struct ews_index_lock {
	int git_fd; /* the caller's */
	int fd; /* -1: it is not held, or has become the index */
	struct ews_index_put put;
};

#define EWS_INDEX_LOCK_INIT { -1, -1, { 0, { 0, 0 }, { 0, 0 } } }

/* Has a lock of git's in `git_fd` been there for so long that it is not waited for? Whoever made it has died, or is not soon done. */
bool ews_index_lock_is_old(int git_fd, const char *name);

/*
 * Lock the index in `git_fd`, waiting for who holds it as for the lock of a ref, unless he has had it for long. Fails with EWS_EBUSY
 * when it is still held then.
 */
int ews_index_lock_take(struct ews_index_lock *out, int git_fd);

/* Remove one of ours in `git_fd` whose holder has died. */
void ews_index_lock_sweep(int git_fd);

/* Let the index be `len` bytes of `data`, with that time, and be free. It is durable then, and has the modes of ews_file_replace_shared(). */
int ews_index_lock_put(struct ews_index_lock *lock, const void *data, size_t len, struct ews_sharing sharing,
		       const struct timespec *mtime);

/* Is that, the index of the same directory, one that was made after what was put? Git may have given it the same bytes. */
bool ews_index_put_was_replaced(const struct ews_index_put *put, const struct stat *st);

/* Let the index go, which stays as it is, unless it was put. */
void ews_index_lock_release(struct ews_index_lock *lock);
EWS_CLEANUP_DEFINE(index_lock, struct ews_index_lock, ews_index_lock_release)

#endif
