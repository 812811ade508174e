/*
 * Reaching: see put_reach.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/put_reach.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/handle.h"
#include "base/path.h"

void ews_put_reach_init(struct ews_put_reach *out, int root_fd, bool into_mounts)
{
	*out = (struct ews_put_reach){ .root_fd = root_fd, .into_mounts = into_mounts, .uid = geteuid() };
	pthread_mutex_init(&out->mutex, NULL);
}

void ews_put_reach_release(struct ews_put_reach *reach)
{
	for (size_t i = 0; i < reach->n_opened; i++)
		free(reach->opened[i].path);
	free(reach->opened);
	pthread_mutex_destroy(&reach->mutex);
}

void ews_put_cursor_release(struct ews_put_cursor *at)
{
	ews_dir_at_release(&at->dir);
	at->has_attrs = false;
}

int ews_put_reach_check(const char *path)
{
	if (!ews_path_is_plain(path))
		return ews_error(EWS_EDAMAGED, "'%s' is no path inside a directory", path);
	return 0;
}

/* Give the owner, when that is us, all rights in the directory `path`, open at `fd`, and note how it was. */
static int open_up(struct ews_put_reach *reach, const char *path, int fd)
{
	struct stat st;
	int rc = 0;

	if (fstat(fd, &st) < 0)
		return ews_error_os("cannot look at '%s'", path);
	if (reach->is_closing || (st.st_mode & EWS_PUT_OWNER_ALL) == EWS_PUT_OWNER_ALL || st.st_uid != reach->uid)
		return 0;
	pthread_mutex_lock(&reach->mutex);
	/* Another worker may have been here while we waited. */
	if (fstat(fd, &st) < 0) {
		rc = ews_error_os("cannot look at '%s'", path);
	} else if ((st.st_mode & EWS_PUT_OWNER_ALL) != EWS_PUT_OWNER_ALL) {
		if (ews_handle_chmod(fd, (st.st_mode & 07777) | EWS_PUT_OWNER_ALL) < 0) {
			rc = ews_error_os("cannot make '%s' writable", path);
		} else {
			EWS_GROW(reach->opened, reach->n_opened, reach->cap_opened);
			reach->opened[reach->n_opened++] = (struct ews_put_opened){ ews_strdup(path), st.st_dev,
										    st.st_ino, st.st_mode & 07777 };
		}
	}
	pthread_mutex_unlock(&reach->mutex);
	return rc;
}

/* Open the name in the directory `dir_fd`, if it is a directory, to work in it or on it alone. */
static int step(const struct ews_put_reach *reach, int dir_fd, const char *name)
{
	return ews_dir_open_within(dir_fd, name, O_PATH | O_DIRECTORY, reach->into_mounts);
}

/* Open the directory `dir` step by step, opening up each on the way. */
static int open_stepwise(struct ews_put_reach *reach, const char *dir)
{
	EWS_CLEANUP(free) char *path = ews_strdup(dir);
	EWS_CLEANUP(fd) int fd = fcntl(reach->root_fd, F_DUPFD_CLOEXEC, 0);
	char *name = path;
	int rc;

	if (fd < 0)
		return ews_error_os("cannot use the directory");
	rc = open_up(reach, "", fd);
	while (rc == 0 && *name) {
		char *end = strchrnul(name, '/');
		bool is_last = !*end;
		int next;

		*end = '\0';
		next = step(reach, fd, name);
		if (next < 0)
			return next;
		close(fd);
		fd = next;
		rc = open_up(reach, path, fd);
		if (is_last)
			break;
		*end = '/';
		name = end + 1;
	}
	return rc < 0 ? rc : ews_steal_fd(&fd);
}

/* Open the directory `dir` beneath the root, ready to be changed. Returns a descriptor. */
static int open_dir(struct ews_put_reach *reach, const char *dir)
{
	EWS_CLEANUP(fd)
	int fd = ews_dir_open_within(reach->root_fd, dir, O_RDONLY | O_DIRECTORY, reach->into_mounts);
	int rc;

	if (fd == EWS_ENOTFOUND || (fd < 0 && errno == EXDEV))
		return fd;
	if (fd < 0)
		return open_stepwise(reach, dir);
	rc = open_up(reach, dir, fd);
	return rc < 0 ? rc : ews_steal_fd(&fd);
}

static bool is_cursor_at(const struct ews_put_cursor *at, const char *dir, size_t len)
{
	return at->dir.fd >= 0 && at->dir.len == len && !memcmp(at->dir.path, dir, len);
}

static size_t dir_len(const char *path)
{
	const char *base = ews_path_base(path);

	return base == path ? 0 : (size_t)(base - path) - 1;
}

int ews_put_reach_parent(struct ews_put_reach *reach, struct ews_put_cursor *at, const char *path)
{
	EWS_CLEANUP(free) char *dir = NULL;
	size_t len = dir_len(path);
	int fd;

	if (is_cursor_at(at, path, len))
		return at->dir.fd;
	ews_put_cursor_release(at);
	dir = ews_strndup(path, len);
	fd = open_dir(reach, dir);
	if (fd < 0)
		return fd;
	at->dir = (struct ews_dir_at){ ews_steal(&dir), len, fd };
	at->has_attrs = flistxattr(fd, NULL, 0) != 0;
	return fd;
}

int ews_put_reach_dir(struct ews_put_reach *reach, struct ews_put_cursor *at, const char *path)
{
	int dir_fd = *path ? ews_put_reach_parent(reach, at, path) : reach->root_fd;

	if (dir_fd < 0)
		return dir_fd;
	return step(reach, dir_fd, *path ? ews_path_base(path) : ".");
}

static int cmp_opened(const void *a, const void *b)
{
	return ews_path_cmp(((const struct ews_put_opened *)a)->path, ((const struct ews_put_opened *)b)->path);
}

void ews_put_reach_begin_closing(struct ews_put_reach *reach)
{
	reach->is_closing = true;
	if (reach->n_opened)
		qsort(reach->opened, reach->n_opened, sizeof(*reach->opened), cmp_opened);
}

int ews_put_reach_close(struct ews_put_reach *reach, struct ews_put_cursor *at, const struct ews_put_opened *opened)
{
	EWS_CLEANUP(fd) int fd = ews_put_reach_dir(reach, at, opened->path);
	struct stat st;

	if (fd == EWS_ENOTFOUND)
		return 0;
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return ews_error_os("cannot look at it");
	if (st.st_dev != opened->dev || st.st_ino != opened->ino)
		return 0;
	if (ews_handle_chmod(fd, opened->mode) < 0)
		return ews_error_os("cannot set its mode back");
	return 0;
}
