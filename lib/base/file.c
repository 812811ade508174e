/*
 * Files: see file.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/handle.h"
#include "base/meter.h"
#include "base/own.h"
#include "base/path.h"
#include "base/str.h"
#include "base/sync.h"

/* Up to this, one read and one write are the quickest copy. */
#define SMALL_BYTES ((size_t)64 * 1024)
#define READ_BYTES ((size_t)4096)
#define OPEN_TRIES 8
#define TMP_NAME_MAX 40
#define RANDOM_DIGITS 16 /* with which such a name ends */

int ews_file_read_fd(struct ews_buf *out, int fd, size_t max)
{
	size_t start = out->len, room, spare;
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) < 0)
		return ews_error_os("cannot read");
	/* One byte more than the file has, so that its end shows in the second read, for which there is room, too. */
	room = max < READ_BYTES ? max : READ_BYTES;
	if (st.st_size > 0 && (uint64_t)st.st_size < max)
		room = (size_t)st.st_size;
	for (;;) {
		spare = out->cap ? out->cap - 1 - out->len : 0;
		if (!spare || out->len == start) {
			ews_buf_reserve(out, room + 1);
			spare = room + 1;
		}
		n = read(fd, out->ptr + out->len, room + 1 < spare ? room + 1 : spare);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		out->len += (size_t)n;
		out->ptr[out->len] = '\0';
		if (out->len - start > max) {
			ews_buf_truncate(out, start);
			return ews_error(EWS_EDAMAGED, "longer than %zu bytes", max);
		}
		room = max - (out->len - start);
		room = room < READ_BYTES ? room : READ_BYTES;
	}
	if (n < 0) {
		ews_buf_truncate(out, start);
		return ews_error_os("cannot read");
	}
	return 0;
}

int ews_file_open_regular(int dir_fd, const char *name)
{
	EWS_CLEANUP(fd) int fd = -1;
	struct stat st;

	fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 && (errno == ELOOP || errno == ENXIO)) /* a link, a socket */
		return ews_error(EWS_EDAMAGED, "'%s' is not a regular file", name);
	if (fd < 0)
		return ews_error_os("cannot open '%s'", name);
	if (fstat(fd, &st) < 0)
		return ews_error_os("cannot open '%s'", name);
	if (!S_ISREG(st.st_mode))
		return ews_error(EWS_EDAMAGED, "'%s' is not a regular file", name);
	return ews_steal_fd(&fd);
}

static int read_file(struct ews_buf *out, int dir_fd, const char *name, size_t max, bool is_own)
{
	EWS_CLEANUP(fd) int fd = ews_file_open_regular(dir_fd, name);

	if (fd < 0)
		return fd;
	if (is_own && ews_own_check(fd, name) < 0)
		return ews_error_code();
	if (ews_file_read_fd(out, fd, max) < 0)
		return ews_error_wrap("'%s'", name);
	return 0;
}

int ews_file_read(struct ews_buf *out, int dir_fd, const char *name, size_t max)
{
	return read_file(out, dir_fd, name, max, false);
}

int ews_file_read_own(struct ews_buf *out, int dir_fd, const char *name, size_t max)
{
	return read_file(out, dir_fd, name, max, true);
}

bool ews_file_is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool ews_file_is_same_open(int a_fd, int b_fd)
{
	struct stat a, b;

	return fstat(a_fd, &a) == 0 && fstat(b_fd, &b) == 0 && ews_file_is_same(&a, &b);
}

int ews_file_is_there(int dir_fd, const char *path)
{
	struct stat st;

	if (fstatat(dir_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return 1;
	return ews_errno_is_absent(errno) ? 0 : ews_error_os("cannot look for '%s'", path);
}

int ews_file_digest(uint8_t *out, enum ews_hash_algo algo, int dir_fd, const char *name, size_t max)
{
	EWS_CLEANUP(hash) struct ews_hash *hash = ews_hash_new(algo);
	EWS_CLEANUP(fd) int fd = ews_file_open_regular(dir_fd, name);
	char step[SMALL_BYTES];
	size_t len = 0;
	ssize_t n;

	if (fd < 0)
		return fd;
	do {
		n = read(fd, step, sizeof(step));
		if (n < 0 && errno != EINTR)
			return ews_error_os("cannot read '%s'", name);
		if (n > 0)
			ews_hash_add(hash, step, (size_t)n);
		len += n > 0 ? (size_t)n : 0;
	} while (n != 0 && len <= max);
	if (len > max)
		return ews_error(EWS_EDAMAGED, "'%s': longer than %zu bytes", name, max);
	ews_hash_finish(hash, out);
	return 0;
}

int ews_file_read_path(struct ews_buf *out, const char *path, size_t max)
{
	EWS_CLEANUP(fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd >= 0)
		return ews_file_read_fd(out, fd, max);
	return ews_errno_is_absent(errno) ? 0 : ews_error_os("cannot open '%s'", path);
}

bool ews_file_read_at(int fd, void *out, size_t len, uint64_t at)
{
	for (char *to = out; len;) {
		ssize_t n = pread(fd, to, len, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		to += n;
		at += (uint64_t)n;
		len -= (size_t)n;
	}
	return true;
}

int ews_file_write_fd(int fd, const void *data, size_t len)
{
	const char *at = data;
	ssize_t n;

	while (len) {
		n = write(fd, at, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return ews_error_os("cannot write");
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

mode_t ews_file_umask(void)
{
	mode_t mask = umask(077);

	(void)umask(mask);
	return mask;
}

/* Open the directory that `*name` lies in and make `*name` its last component. */
static int open_home(int dir_fd, const char **name)
{
	EWS_CLEANUP(free) char *parent = ews_path_dir(*name);
	int fd;

	fd = openat(dir_fd, *parent ? parent : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return ews_error_os("cannot open '%s'", *parent ? parent : ".");
	*name = ews_path_base(*name);
	return fd;
}

/* What becomes of a file. */
struct filling {
	ews_file_fill_fn write;
	void *payload;
	mode_t mode;
	const struct ews_sharing *sharing; /* NULL: `mode` is all that counts */
	const struct timespec *mtime; /* NULL: it is of now */
	bool is_durable;
};

int ews_file_take_mode(int fd, int dir_fd, const char *name, struct ews_sharing sharing)
{
	struct stat st;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	    fchmod(fd, st.st_mode & 0777) < 0)
		return ews_error_os("cannot set the mode");
	return ews_sharing_apply(sharing, fd);
}

static int fill(int fd, int dir_fd, const char *name, const struct filling *with)
{
	const struct timespec times[2] = { { 0, UTIME_OMIT },
					   with->mtime ? *with->mtime : (struct timespec){ 0, UTIME_OMIT } };
	int rc = with->write(fd, with->payload);

	if (rc < 0)
		return rc;
	if (with->sharing)
		rc = ews_file_take_mode(fd, dir_fd, name, *with->sharing);
	else if (fchmod(fd, with->mode) < 0)
		rc = ews_error_os("cannot set the mode");
	if (rc < 0)
		return rc;
	if (with->mtime && futimens(fd, times) < 0)
		return ews_error_os("cannot set the time");
	return 0;
}

/* A file beside the place that it is made for, whose name begins with `prefix`. Returns its descriptor, or -1 and errno. */
static int open_beside(char tmp[TMP_NAME_MAX], int dir_fd, const char *prefix, mode_t mode)
{
	size_t at = (size_t)snprintf(tmp, TMP_NAME_MAX, "%s", prefix);
	unsigned char random[RANDOM_DIGITS / 2];
	int fd;

	ews_clock_random(random, sizeof(random));
	for (size_t i = 0; i < sizeof(random); i++)
		(void)snprintf(tmp + at + 2 * i, 3, "%02x", random[i]);
	fd = openat(dir_fd, tmp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	/* Until it has its name, which may be long on a slow disk, this tells who sweeps that it has a writer. */
	if (fd >= 0)
		(void)flock(fd, LOCK_EX | LOCK_NB);
	return fd;
}

bool ews_file_is_beside(const char *name)
{
	const char *random = ews_str_after(name, EWS_FILE_BESIDE);

	return random && strlen(random) == RANDOM_DIGITS && strspn(random, "0123456789abcdef") == RANDOM_DIGITS;
}

static int replace(int dir_fd, const char *name, const struct filling *with)
{
	struct ews_sync_group *group = with->is_durable ? ews_sync_current() : NULL;
	EWS_CLEANUP(fd) int home_fd = -1;
	EWS_CLEANUP(fd) int fd = -1;
	const char *base = name;
	char tmp[TMP_NAME_MAX];
	int rc;

	home_fd = open_home(dir_fd, &base);
	if (home_fd < 0)
		return ews_error_wrap("cannot write '%s'", name);
	/* Who watches tells by it whether a sync must follow. */
	fd = open_beside(tmp, home_fd, with->is_durable ? EWS_FILE_BESIDE : EWS_FILE_BESIDE "cache-",
			 with->sharing ? 0666 : 0600);
	if (fd < 0)
		return ews_error_os("cannot write '%s'", name);
	rc = fill(fd, home_fd, base, with);
	if (rc == 0 && group)
		rc = ews_sync_add_file(group, &fd, home_fd, tmp, home_fd, base);
	else if (rc == 0 && with->is_durable && fsync(fd) < 0)
		rc = ews_error_os("cannot sync");
	if (rc < 0) {
		(void)unlinkat(home_fd, tmp, 0); /* best effort: the failure above is the news */
		return ews_error_wrap("cannot write '%s'", name);
	}
	if (group)
		return 0;
	if (ews_sync_give_name(home_fd, tmp, home_fd, base, with->is_durable) < 0) {
		(void)ews_error_os("cannot write '%s'", name);
		(void)unlinkat(home_fd, tmp, 0); /* as above */
		return ews_error_code();
	}
	if (close(ews_steal_fd(&fd)) < 0)
		return ews_error_os("cannot close '%s'", name);
	if (with->is_durable && ews_file_sync_dir(home_fd) < 0)
		return ews_error_wrap("cannot write '%s'", name);
	return 0;
}

int ews_file_replace_written(int dir_fd, const char *name, ews_file_fill_fn write, void *payload, mode_t mode,
			     bool is_durable)
{
	const struct filling with = { write, payload, mode, NULL, NULL, is_durable };

	return replace(dir_fd, name, &with);
}

/* Parts of a file that are written one after the other. */
struct parts {
	const struct iovec *items;
	size_t n;
};

static int write_parts(int fd, void *payload)
{
	const struct parts *parts = payload;
	int rc = 0;

	for (size_t i = 0; i < parts->n && rc == 0; i++)
		rc = ews_file_write_fd(fd, parts->items[i].iov_base, parts->items[i].iov_len);
	return rc;
}

int ews_file_replace_parts(int dir_fd, const char *name, const struct iovec *parts, size_t n, mode_t mode,
			   bool is_durable)
{
	struct parts all = { parts, n };

	return ews_file_replace_written(dir_fd, name, write_parts, &all, mode, is_durable);
}

int ews_file_replace_dated(int dir_fd, const char *name, const void *data, size_t len, mode_t mode,
			   const struct timespec *mtime)
{
	const struct iovec part = { (void *)(uintptr_t)data, len };
	struct parts all = { &part, 1 };
	const struct filling with = { write_parts, &all, mode, NULL, mtime, true };

	return replace(dir_fd, name, &with);
}

int ews_file_replace_shared(int dir_fd, const char *name, const void *data, size_t len, struct ews_sharing sharing,
			    const struct timespec *mtime)
{
	const struct iovec part = { (void *)(uintptr_t)data, len };
	struct parts all = { &part, 1 };
	const struct filling with = { write_parts, &all, 0666, &sharing, mtime, true };

	return replace(dir_fd, name, &with);
}

int ews_file_replace(int dir_fd, const char *name, const void *data, size_t len, mode_t mode)
{
	return ews_file_replace_dated(dir_fd, name, data, len, mode, NULL);
}

int ews_file_replace_unsynced(int dir_fd, const char *name, const void *data, size_t len, mode_t mode)
{
	const struct iovec part = { (void *)(uintptr_t)data, len };

	return ews_file_replace_parts(dir_fd, name, &part, 1, mode, false);
}

/* Open `name` for appending; `*is_new` says whether this made it. */
static int open_log(bool *is_new, int dir_fd, const char *name, mode_t mode)
{
	const int flags = O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	int fd, tries;

	for (tries = 0; tries < OPEN_TRIES; tries++) {
		*is_new = false;
		fd = openat(dir_fd, name, flags);
		if (fd >= 0 || errno != ENOENT)
			return fd;
		*is_new = true;
		fd = openat(dir_fd, name, flags | O_CREAT | O_EXCL, mode);
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
	return -1;
}

static int append_line(int fd, const char *line, bool is_synced)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	struct stat st;
	int rc = 0;
	char last = '\n';

	if (fstat(fd, &st) < 0 || (st.st_size > 0 && pread(fd, &last, 1, st.st_size - 1) < 0))
		return ews_error_os("cannot append");
	/* A line that a crash tore must not swallow the beginning of this one. */
	if (last != '\n')
		ews_buf_addc(&text, '\n');
	ews_buf_adds(&text, line);
	if (!text.len || text.ptr[text.len - 1] != '\n')
		ews_buf_addc(&text, '\n');
	rc = ews_file_write_fd(fd, text.ptr, text.len);
	if (!rc && is_synced && fsync(fd) < 0)
		rc = ews_error_os("cannot sync");
	if (rc < 0 && ftruncate(fd, st.st_size) < 0)
		return rc; /* a torn line stays; readers know them */
	return rc;
}

static int append(int dir_fd, const char *name, const char *line, mode_t mode, bool is_durable)
{
	struct ews_sync_group *group = is_durable ? ews_sync_current() : NULL;
	EWS_CLEANUP(fd) int home_fd = -1;
	EWS_CLEANUP(fd) int fd = -1;
	const char *base = name;
	bool is_new;

	home_fd = open_home(dir_fd, &base);
	if (home_fd < 0)
		return ews_error_wrap("cannot append to '%s'", name);
	fd = open_log(&is_new, home_fd, base, mode);
	if (fd < 0)
		return ews_error_os("cannot append to '%s'", name);
	if (is_new && fchmod(fd, mode) < 0)
		return ews_error_os("cannot set the mode of '%s'", name);
	if (append_line(fd, line, is_durable && !group) < 0)
		return ews_error_wrap("'%s'", name);
	if (group)
		ews_sync_add_named(group, &fd);
	else if (close(ews_steal_fd(&fd)) < 0)
		return ews_error_os("cannot close '%s'", name);
	return is_new && is_durable ? ews_file_sync_dir(home_fd) : 0;
}

int ews_file_append(int dir_fd, const char *name, const char *line, mode_t mode)
{
	return append(dir_fd, name, line, mode, true);
}

int ews_file_append_unsynced(int dir_fd, const char *name, const char *line, mode_t mode)
{
	return append(dir_fd, name, line, mode, false);
}

int ews_file_sync_dir(int dir_fd)
{
	return ews_sync_dir(dir_fd);
}

static int ended_early(void)
{
	return ews_error(EWS_ESTALE, "the file became shorter while it was copied");
}

/* The whole was cloned: it may have grown or shrunk since its size was taken. */
static int fit_clone(int to_fd, uint64_t size)
{
	struct stat st;

	if (fstat(to_fd, &st) < 0)
		return ews_error_os("cannot copy");
	if ((uint64_t)st.st_size < size)
		return ended_early();
	if ((uint64_t)st.st_size > size && ftruncate(to_fd, (off_t)size) < 0)
		return ews_error_os("cannot copy");
	return 0;
}

static int copy_by_hand(int to_fd, int from_fd, off_t at, off_t end)
{
	char chunk[SMALL_BYTES];
	ssize_t got, put, n;

	while (at < end) {
		n = end - at < (off_t)sizeof(chunk) ? (ssize_t)(end - at) : (ssize_t)sizeof(chunk);
		got = pread(from_fd, chunk, (size_t)n, at);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return ews_error_os("cannot copy");
		if (!got)
			return ended_early();
		for (n = 0; n < got; n += put) {
			put = pwrite(to_fd, chunk + n, (size_t)(got - n), at + n);
			if (put < 0 && errno == EINTR)
				put = 0;
			if (put < 0)
				return ews_error_os("cannot copy");
		}
		ews_meter_count((uint64_t)got);
		at += got;
	}
	return 0;
}

static int copy_range(int to_fd, int from_fd, off_t at, off_t end)
{
	off_t from = at, to = at;
	ssize_t n;

	while (from < end) {
		size_t want = end - from < (off_t)EWS_METER_STEP_BYTES ? (size_t)(end - from) : EWS_METER_STEP_BYTES;

		n = copy_file_range(from_fd, &from, to_fd, &to, want, 0);
		if (n > 0)
			ews_meter_count((uint64_t)n);
		if (n > 0 || (n < 0 && errno == EINTR))
			continue;
		/* Old kernels refuse other file systems, and some say 0 for files that aren't empty. */
		return copy_by_hand(to_fd, from_fd, from, end);
	}
	return 0;
}

/* Is it a clone now? What the file system has not for one file it has for none. */
static bool clone_file(int to_fd, int from_fd, atomic_bool *no_clones)
{
	if (no_clones && atomic_load_explicit(no_clones, memory_order_relaxed))
		return false;
	if (!ioctl(to_fd, FICLONE, from_fd))
		return true;
	if (no_clones && (errno == EOPNOTSUPP || errno == ENOTTY))
		*no_clones = true;
	return false;
}

int ews_file_copy_fd(int to_fd, int from_fd, uint64_t size, atomic_bool *no_clones)
{
	off_t at, data, end = (off_t)size;
	struct stat st;
	int rc;

	if (!size)
		return 0;
	if (clone_file(to_fd, from_fd, no_clones))
		return fit_clone(to_fd, size);
	if (size <= SMALL_BYTES)
		return copy_by_hand(to_fd, from_fd, 0, end);
	for (at = 0; at < end;) {
		data = lseek(from_fd, at, SEEK_DATA);
		if (data >= end || (data < 0 && errno == ENXIO))
			break; /* a hole up to the end */
		if (data < 0)
			data = at; /* a file system that doesn't tell */
		at = lseek(from_fd, data, SEEK_HOLE);
		if (at <= data || at > end)
			at = end;
		rc = copy_range(to_fd, from_fd, data, at);
		if (rc < 0)
			return rc;
	}
	if (fstat(from_fd, &st) < 0)
		return ews_error_os("cannot copy");
	if (st.st_size < end)
		return ended_early();
	if (ftruncate(to_fd, end) < 0)
		return ews_error_os("cannot copy");
	return 0;
}

/* By errno: are there no files without a name? */
static bool needs_name(void)
{
	return errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL;
}

int ews_file_make_unnamed(int dir_fd)
{
	char tmp[TMP_NAME_MAX];
	int fd = openat(dir_fd, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);

	if (fd < 0 && needs_name()) {
		fd = open_beside(tmp, dir_fd, EWS_FILE_BESIDE, 0600);
		if (fd >= 0)
			(void)unlinkat(dir_fd, tmp, 0); /* what stays is swept */
	}
	return fd < 0 ? ews_error_os("cannot make a file") : fd;
}

int ews_file_make(int dir_fd, const char *name, const void *data, size_t len, mode_t mode)
{
	EWS_CLEANUP(fd) int fd = openat(dir_fd, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, mode);
	char tmp[TMP_NAME_MAX], held[EWS_HANDLE_NAME_MAX];
	bool is_beside = fd < 0 && needs_name();
	int rc;

	if (is_beside)
		fd = open_beside(tmp, dir_fd, EWS_FILE_BESIDE, mode);
	if (fd < 0)
		return ews_error_os("cannot make '%s'", name);
	rc = ews_file_write_fd(fd, data, len);
	if (rc == 0 && fsync(fd) < 0)
		rc = ews_error_os("cannot sync");
	if (rc == 0 && is_beside)
		rc = ews_file_rename_new(dir_fd, tmp, dir_fd, name);
	else if (rc == 0 && linkat(AT_FDCWD, ews_handle_name(held, fd), dir_fd, name, AT_SYMLINK_FOLLOW) < 0)
		rc = ews_error_os("cannot name it");
	if (rc < 0 && is_beside)
		(void)unlinkat(dir_fd, tmp, 0); /* best effort: the failure above is the news */
	return rc < 0 ? ews_error_wrap("cannot make '%s'", name) : ews_file_sync_dir(dir_fd);
}
