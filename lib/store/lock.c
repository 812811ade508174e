/*
 * Locks: see lock.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/kin.h"
#include "base/own.h"

#define TEXT_MAX 4096
#define WAIT_STEP_MAX_MS 50
/* Who sweeps holds a lock for moments only: others wait for him, so that sweeping is in nobody's way. */
#define SWEEP_MS 5000
/* Between taking a lock and having said so in its file; and for a holder that is in another space of process numbers. */
#define UNSAID_MS 500

static struct flock whole_file(short type)
{
	return (struct flock){ .l_type = type, .l_whence = SEEK_SET };
}

/* Does the name still stand for the file open at `fd`? */
static bool is_same_file(int fd, int dir_fd, const char *name)
{
	struct stat ours, theirs;

	return fstat(fd, &ours) == 0 && fstatat(dir_fd, name, &theirs, AT_SYMLINK_NOFOLLOW) == 0 &&
	       ews_file_is_same(&ours, &theirs);
}

/*
 * A file that was truncated to nothing is written to the disk when it is closed, on ext4 (auto_da_alloc), and one that nobody waits
 * for is gone by then: so one is cut only where more stands in it, and never to nothing.
 */
static void write_text(int fd, const void *text, size_t len)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || (st.st_size > (off_t)len && ftruncate(fd, (off_t)len) < 0) ||
	    pwrite(fd, text, len, 0) < 0)
		return; /* it is for people: failing to is no failure */
}

/* Write who we are into the file. */
static void write_holder(int fd, const char *verb)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	struct ews_kin self;

	ews_kin_self(&self);
	ews_buf_addf(&text, "pid %ld\nstart %llu\nboot %s\nverb %s\n", (long)self.pid,
		     (unsigned long long)self.start_time, self.boot_id, verb);
	write_text(fd, text.ptr, text.len);
}

/* As people are told it. */
static const char *shown(const char *name)
{
	return name + strspn(name, "~");
}

/* Fail with EWS_EBUSY, naming the holder where the file names one that can be read. */
static int fail_busy(int fd, const char *name)
{
	const char *what = shown(name);
	char text[TEXT_MAX], verb[32];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	const char *verb_line;
	long pid;

	text[n > 0 ? n : 0] = '\0';
	verb_line = strstr(text, "\nverb ");
	if (sscanf(text, "pid %ld\n", &pid) != 1 || pid <= 0)
		return ews_error(EWS_EBUSY, "'%s' is locked by another process", what);
	if (!verb_line || sscanf(verb_line, "\nverb %31[a-z -]", verb) != 1)
		return ews_error(EWS_EBUSY, "'%s' is locked by process %ld", what, pid);
	return ews_error(EWS_EBUSY, "'%s' is locked by process %ld ('%s')", what, pid, verb);
}

/*
 * What is no regular file is nobody's lock and has no holder who could remove it: it goes, so that it doesn't block for ever. Who
 * else clears it away must not take the new lock for it, so one does at a time. Fails with EWS_ESTALE when it is gone.
 */
static int clear_away(int dir_fd, const char *name)
{
	EWS_CLEANUP(fd) int dir = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (dir < 0 || flock(dir, LOCK_EX) < 0)
		return ews_error_os("cannot lock '%s'", name);
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode) &&
	    unlinkat(dir, name, S_ISDIR(st.st_mode) ? AT_REMOVEDIR : 0) < 0 && errno != ENOENT) {
		ews_error(EWS_EDAMAGED, "the lock '%s' is not a regular file, and cannot be removed: %s", name,
			  strerror(errno));
		ews_error_hint("what it holds is nothing of ours: move it away");
		return EWS_EDAMAGED;
	}
	return ews_error(EWS_ESTALE, "the lock '%s' was no regular file", name);
}

/* Lock the file once. Returns a descriptor; EWS_EBUSY, or EWS_ESTALE when the file went away under us. */
static int try_take(int dir_fd, const char *name)
{
	EWS_CLEANUP(fd) int fd = -1;
	struct flock want = whole_file(F_WRLCK);
	struct stat st;
	int rc;

	fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	/* A link; a directory; a socket. */
	if (fd < 0 && (errno == ELOOP || errno == EISDIR || errno == ENXIO))
		return clear_away(dir_fd, name);
	if (fd < 0 || fstat(fd, &st) < 0)
		return ews_error_os("cannot open the lock '%s'", name);
	if (!S_ISREG(st.st_mode))
		return clear_away(dir_fd, name);
	/* Who else may open it can hold it for ever. */
	rc = ews_own_check(fd, name);
	if (rc < 0)
		return rc;
	if (fcntl(fd, F_OFD_SETLK, &want) < 0) {
		if (errno == EAGAIN || errno == EACCES)
			return fail_busy(fd, name);
		return ews_error_os("cannot lock '%s'", name);
	}
	if (!is_same_file(fd, dir_fd, name))
		return ews_error(EWS_ESTALE, "the lock '%s' was just released", name);
	return ews_steal_fd(&fd);
}

/* A file that does not say who holds it, and since when it has been seen so. */
struct unsaid {
	uint64_t since_ms;
	struct stat st;
};

/* Is it the file, as it was left, that was seen before? */
static bool is_as_before(const struct unsaid *unsaid, const struct stat *st)
{
	return ews_file_is_same(&unsaid->st, st) && unsaid->st.st_ctim.tv_sec == st->st_ctim.tv_sec &&
	       unsaid->st.st_ctim.tv_nsec == st->st_ctim.tv_nsec;
}

/*
 * Does whoever held the lock a moment ago hold it for no more than a moment? He does who sweeps; he may have given it up since,
 * or not have said yet who he is: then there is no file, or there is nothing in it but what a killed one left.
 */
static bool is_for_a_moment(struct unsaid *unsaid, int dir_fd, const char *name)
{
	EWS_CLEANUP(fd) int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	uint64_t now = ews_clock_monotonic_ms();
	char text[TEXT_MAX];
	struct stat st;
	ssize_t n;
	long pid;

	if (fd < 0 || fstat(fd, &st) < 0)
		return true;
	n = pread(fd, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	if (strstr(text, "\nverb " EWS_LOCK_SWEEP "\n"))
		return true;
	if (sscanf(text, "pid %ld\n", &pid) == 1 && pid > 0 && (kill((pid_t)pid, 0) == 0 || errno != ESRCH))
		return false;
	if (!is_as_before(unsaid, &st))
		*unsaid = (struct unsaid){ now, st };
	return now < unsaid->since_ms + UNSAID_MS;
}

int ews_lock_take(struct ews_lock *out, int dir_fd, const char *name, const char *verb, unsigned wait_ms)
{
	EWS_CLEANUP(fd) int own_dir = -1;
	uint64_t start = ews_clock_monotonic_ms(), deadline = start + wait_ms;
	struct unsaid unsaid = { 0 };
	unsigned step_ms = 1;
	int fd;

	own_dir = fcntl(dir_fd, F_DUPFD_CLOEXEC, 3);
	if (own_dir < 0)
		return ews_error_os("cannot lock '%s'", name);
	for (;;) {
		uint64_t now;

		fd = try_take(dir_fd, name);
		if (fd == EWS_ESTALE)
			continue;
		now = ews_clock_monotonic_ms();
		if (fd == EWS_EBUSY && now >= deadline && now < start + SWEEP_MS &&
		    is_for_a_moment(&unsaid, dir_fd, name))
			deadline = now + WAIT_STEP_MAX_MS;
		if (fd != EWS_EBUSY || now >= deadline)
			break;
		ews_clock_sleep_ms(step_ms < deadline - now ? step_ms : (unsigned)(deadline - now));
		if (step_ms < WAIT_STEP_MAX_MS)
			step_ms *= 2;
	}
	if (fd < 0)
		return fd;
	ews_error_clear();
	write_holder(fd, verb);
	*out = (struct ews_lock){ fd, ews_steal_fd(&own_dir), ews_strdup(name) };
	return 0;
}

void ews_lock_note(const struct ews_lock *lock, const void *text, size_t len)
{
	write_text(lock->fd, text, len);
}

void ews_lock_note_also(const struct ews_lock *lock, const char *word, const char *value)
{
	EWS_CLEANUP(free) char *line = ews_strfmt("%s %s\n", word, value);
	struct stat st;

	if (fstat(lock->fd, &st) < 0 || pwrite(lock->fd, line, strlen(line), st.st_size) < 0)
		return; /* as above */
}

char *ews_lock_noted(int dir_fd, const char *name, const char *word)
{
	EWS_CLEANUP(free) char *before = ews_strfmt("\n%s ", word);
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	const char *at;

	if (ews_file_read(&text, dir_fd, name, TEXT_MAX) < 0)
		ews_error_clear();
	at = strstr(text.ptr, before);
	if (!at)
		return NULL;
	at += strlen(before);
	return ews_strndup(at, strcspn(at, "\n"));
}

/* By errno: may there be a lock that could not be opened, for want of descriptors or since the disk fails? Others are nobody's, or not there. */
static bool may_be_held(void)
{
	return !ews_errno_is_absent_or_link(errno) && errno != ENXIO && errno != EACCES;
}

bool ews_lock_is_held(int dir_fd, const char *name)
{
	EWS_CLEANUP(fd) int fd = -1;
	struct flock want = whole_file(F_WRLCK);

	fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return may_be_held();
	return fcntl(fd, F_OFD_GETLK, &want) == 0 && want.l_type != F_UNLCK;
}

int ews_lock_find_held(char **out, int dir_fd)
{
	EWS_CLEANUP(fd) int locks = ews_dir_open_beneath(dir_fd, EWS_LOCKS);
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = locks < 0 ? locks : ews_dir_names_read(&names, locks);

	*out = NULL;
	for (ssize_t i = 0; i < n && !*out; i++)
		if (ews_lock_is_held(locks, names.items[i].name))
			*out = ews_strdup(shown(names.items[i].name));
	return n < 0 ? ews_error_if_passing((int)n) : 0; /* where there are none nobody holds one */
}

static bool is_left(int dir_fd, const char *name, const struct ews_kin *self)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	struct ews_kin holder = EWS_KIN_INIT;
	unsigned long long start;
	long pid;

	if (ews_file_read(&text, dir_fd, name, TEXT_MAX) < 0 ||
	    sscanf(text.ptr, "pid %ld\nstart %llu\nboot %63s\n", &pid, &start, holder.boot_id) != 3)
		return false;
	holder.pid = (pid_t)pid;
	holder.start_time = start;
	return ews_kin_is_same(&holder, self);
}

int ews_lock_list_left(struct ews_strv *out, int dir_fd)
{
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = ews_dir_names_read(&names, dir_fd);
	struct ews_kin self;

	ews_kin_self(&self);
	for (ssize_t i = 0; i < n; i++)
		if (is_left(dir_fd, names.items[i].name, &self))
			ews_strv_add(out, names.items[i].name);
	ews_strv_sort(out);
	if (n >= 0)
		ews_error_clear(); /* what can't be read is no lock of ours */
	return n < 0 ? (int)n : 0;
}

void ews_lock_release(struct ews_lock *lock)
{
	if (lock->fd < 0)
		return;
	/* While we hold it, so that nobody can take it under a name that is about to go. */
	if (is_same_file(lock->fd, lock->dir_fd, lock->name))
		(void)unlinkat(lock->dir_fd, lock->name, 0); /* best effort: a file that nobody holds is no lock */
	close(lock->fd);
	close(lock->dir_fd);
	free(lock->name);
	*lock = (struct ews_lock)EWS_LOCK_INIT;
}
