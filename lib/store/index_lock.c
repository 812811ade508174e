/*
 * The lock of git's index: see index_lock.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/index_lock.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/sync.h"
#include "store/odb_ops.h"

#define OLD_S 10 /* git has one for longer while an editor is open, or it died */

bool ews_index_lock_is_old(int git_fd, const char *name)
{
	struct stat st;

	return fstatat(git_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && ews_clock_now() - st.st_mtime > OLD_S;
}

/* Its second name goes, and it is not held any more. */
static void drop_own(struct ews_index_lock *lock)
{
	if (lock->fd >= 0)
		(void)unlinkat(lock->git_fd, EWS_INDEX_LOCK_OWN, 0); /* best effort: it is swept */
	ews_cleanup_fd(&lock->fd);
}

/* Make the file, which is locked as long as somebody holds it. -1: errno says why it can't be. */
static int make_held(int git_fd, const char *name)
{
	int fd = openat(git_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);

	if (fd >= 0)
		(void)flock(fd, LOCK_EX | LOCK_NB);
	return fd;
}

/* Let it be the lock. Below 0: errno says why. */
static int take_once(struct ews_index_lock *lock)
{
	if (lock->fd >= 0 && linkat(lock->git_fd, EWS_INDEX_LOCK_OWN, lock->git_fd, EWS_INDEX_LOCK, 0) == 0)
		return 0;
	if (lock->fd >= 0 && errno == EEXIST)
		return -1;
	/* No hard links here, or somebody removed it. */
	drop_own(lock);
	lock->fd = make_held(lock->git_fd, EWS_INDEX_LOCK);
	return lock->fd;
}

int ews_index_lock_take(struct ews_index_lock *out, int git_fd)
{
	uint64_t deadline = ews_clock_monotonic_ms() + EWS_ODB_REF_WAIT_MS;
	struct ews_index_lock lock = { .git_fd = git_fd };
	int rc = 0;

	ews_index_lock_sweep(git_fd);
	lock.fd = make_held(git_fd, EWS_INDEX_LOCK_OWN);
	for (unsigned wait_ms = 2; take_once(&lock) < 0; wait_ms = wait_ms < 50 ? 2 * wait_ms : wait_ms) {
		if (errno != EEXIST)
			rc = ews_error_os("cannot make '" EWS_INDEX_LOCK "'");
		else if (ews_clock_monotonic_ms() >= deadline || ews_index_lock_is_old(git_fd, EWS_INDEX_LOCK))
			rc = ews_error(EWS_EBUSY, "'" EWS_INDEX_LOCK "' exists");
		if (rc < 0) {
			drop_own(&lock);
			return rc;
		}
		ews_clock_sleep_ms(wait_ms);
	}
	*out = lock;
	return 0;
}

void ews_index_lock_sweep(int git_fd)
{
	EWS_CLEANUP(fd) int fd = openat(git_fd, EWS_INDEX_LOCK_OWN, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat own, st;

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &own) < 0)
		return;
	if (fstatat(git_fd, EWS_INDEX_LOCK, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_ino == own.st_ino &&
	    st.st_dev == own.st_dev)
		(void)unlinkat(git_fd, EWS_INDEX_LOCK, 0);
	(void)unlinkat(git_fd, EWS_INDEX_LOCK_OWN, 0); /* best effort, as all sweeping; the lock itself goes first */
}

static int write_all(const struct ews_index_lock *lock, const void *data, size_t len, struct ews_sharing sharing,
		     const struct timespec *mtime)
{
	const struct timespec times[2] = { { 0, UTIME_OMIT }, *mtime };
	int rc = ews_file_write_fd(lock->fd, data, len);

	if (rc == 0)
		rc = ews_file_take_mode(lock->fd, lock->git_fd, "index", sharing);
	if (rc == 0 && futimens(lock->fd, times) < 0)
		rc = ews_error_os("cannot set the time");
	if (rc == 0 && fsync(lock->fd) < 0)
		rc = ews_error_os("cannot sync");
	return rc;
}

int ews_index_lock_put(struct ews_index_lock *lock, const void *data, size_t len, struct ews_sharing sharing,
		       const struct timespec *mtime)
{
	int rc = write_all(lock, data, len, sharing, mtime);
	struct stat st;

	assert(!ews_sync_current());
	if (rc == 0 && fstat(lock->fd, &st) < 0)
		rc = ews_error_os("cannot look at it");
	if (rc < 0)
		return rc;
	lock->put = (struct ews_index_put){ st.st_ino, st.st_ctim, st.st_ctim };
	if (ews_sync_give_name(lock->git_fd, EWS_INDEX_LOCK, lock->git_fd, "index", true) < 0)
		return ews_error_os("cannot give it its name");
	(void)unlinkat(lock->git_fd, EWS_INDEX_LOCK_OWN, 0); /* best effort: it is swept */
	/* Both names have changed it. */
	if (fstat(lock->fd, &st) < 0)
		return ews_error_os("cannot look at it");
	lock->put.left = st.st_ctim;
	if (close(ews_steal_fd(&lock->fd)) < 0)
		return ews_error_os("cannot close it");
	return ews_file_sync_dir(lock->git_fd);
}

bool ews_index_put_was_replaced(const struct ews_index_put *put, const struct stat *st)
{
	return put->ino && ews_clock_is_before(st->st_ino != put->ino ? &put->at : &put->left, &st->st_ctim);
}

void ews_index_lock_release(struct ews_index_lock *lock)
{
	if (lock->fd < 0)
		return;
	(void)unlinkat(lock->git_fd, EWS_INDEX_LOCK, 0); /* best effort: what stays there is swept */
	drop_own(lock);
}
