/*
 * The lock of a ref: see ref_lock.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/ref_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "store/odb_ops.h"

int ews_ref_lock_take(struct ews_ref_lock *out, const char *path)
{
	EWS_CLEANUP(free) char *lock = ews_strfmt("%s.lock", path);
	uint64_t deadline = ews_clock_monotonic_ms() + EWS_ODB_REF_WAIT_MS;

	for (unsigned wait_ms = 2;; wait_ms = wait_ms < 50 ? 2 * wait_ms : wait_ms) {
		int fd = open(lock, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);

		if (fd >= 0) {
			/* It may wait for the disk longer than any lock of git's: this tells a sweep that it has a holder. */
			(void)flock(fd, LOCK_EX | LOCK_NB);
			*out = (struct ews_ref_lock){ ews_strdup(path), ews_steal(&lock), fd };
			return 0;
		}
		if (errno != EEXIST)
			return ews_error_os("cannot make '%s'", lock);
		if (ews_clock_monotonic_ms() >= deadline) {
			ews_error(EWS_EBUSY, "'%s' exists", lock);
			ews_error_hint("if no git command is running, remove '%s'", lock);
			return EWS_EBUSY;
		}
		ews_clock_sleep_ms(wait_ms);
	}
}

/* It is no longer the caller's to remove. */
static void let_go(struct ews_ref_lock *lock)
{
	free(lock->lock);
	lock->lock = NULL;
}

int ews_ref_lock_put(struct ews_ref_lock *lock, const char *text, size_t len)
{
	int rc = ews_file_write_fd(lock->fd, text, len);

	if (rc < 0)
		return rc;
	if (fsync(lock->fd) < 0 || close(ews_steal_fd(&lock->fd)) < 0 || rename(lock->lock, lock->path) < 0)
		return ews_error_os("cannot write '%s'", lock->path);
	let_go(lock);
	return 0;
}

int ews_ref_lock_put_with(struct ews_ref_lock *lock, struct ews_sync_group *group, const char *text, size_t len)
{
	EWS_CLEANUP(free) char *dir = ews_path_dir(lock->path);
	EWS_CLEANUP(fd) int dir_fd = -1;
	int rc = ews_file_write_fd(lock->fd, text, len);

	if (rc < 0)
		return rc;
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0)
		return ews_error_os("cannot open '%s'", dir);
	rc = ews_sync_add_file(group, &lock->fd, dir_fd, ews_path_base(lock->lock), dir_fd,
			       ews_path_base(lock->path));
	if (rc == 0)
		let_go(lock);
	return rc;
}

void ews_ref_lock_release(struct ews_ref_lock *lock)
{
	if (lock->lock)
		(void)unlink(lock->lock); /* best effort: what stays there is swept */
	ews_cleanup_fd(&lock->fd);
	free(lock->path);
	free(lock->lock);
	*lock = (struct ews_ref_lock)EWS_REF_LOCK_INIT;
}
