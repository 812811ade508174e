/*
 * What a scan opens: see scan_open.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/scan_open.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/error.h"
#include "base/handle.h"
#include "base/path.h"
#include "store/xattr.h"

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY)

static int open_up(struct ews_strv *opened, int root_fd, const char *path, bool into_mounts)
{
	EWS_CLEANUP(fd) int handle = -1;
	struct stat st;

	if (!*path)
		return -1;
	handle = ews_dir_open_within(root_fd, path, O_PATH, into_mounts);
	if (handle < 0 || fstat(handle, &st) < 0 || !S_ISDIR(st.st_mode))
		return -1;
	if (ews_handle_chmod(handle, (st.st_mode & 07777) | 0500) < 0)
		return -1;
	ews_strv_addf(opened, "%o %s", (unsigned)(st.st_mode & 07777), path);
	return ews_dir_open_within(root_fd, path, DIR_FLAGS, into_mounts);
}

int ews_scan_open_dir(struct ews_strv *opened, int root_fd, const char *path, bool into_mounts)
{
	int fd = ews_dir_open_within(root_fd, path, DIR_FLAGS, into_mounts);

	/* Readable but not searchable is as closed as the other way round. */
	if (fd >= 0 && faccessat(fd, ".", X_OK, AT_EACCESS) < 0 && errno == EACCES) {
		close(fd);
		fd = -1;
		errno = EACCES;
	}
	if (fd < 0 && errno == EACCES && opened)
		fd = open_up(opened, root_fd, path, into_mounts);
	return fd;
}

int ews_scan_open_closed_file(struct ews_buf *attrs, int dir_fd, const char *name)
{
	EWS_CLEANUP(fd) int handle = ews_dir_open_within(dir_fd, name, O_PATH, false);
	char held[EWS_HANDLE_NAME_MAX];
	struct stat st;
	int fd, rc = 0;

	if (handle < 0 || fstat(handle, &st) < 0)
		return -1;
	if (!S_ISREG(st.st_mode)) {
		errno = EACCES;
		return -1;
	}
	if (ews_handle_chmod(handle, (st.st_mode & 07777) | 0400) < 0)
		return -1;
	fd = open(ews_handle_name(held, handle), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0)
		rc = ews_xattr_read(attrs, fd);
	(void)ews_handle_chmod(handle, st.st_mode & 07777); /* cannot fail where the one before did not */
	if (rc < 0) {
		ews_error_clear(); /* somebody closed it at that very moment */
		(void)close(fd); /* nothing was written through it */
		errno = EACCES;
		return -1;
	}
	return fd;
}

int ews_scan_open_file(int dir_fd, const char *name)
{
	EWS_CLEANUP(buf) struct ews_buf attrs = EWS_BUF_INIT;
	int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	return fd < 0 && errno == EACCES ? ews_scan_open_closed_file(&attrs, dir_fd, name) : fd;
}

/* "<octal mode> <path>": by path alone. */
static int cmp_opened(const void *a, const void *b)
{
	return ews_path_cmp(strchr(*(char *const *)a, ' ') + 1, strchr(*(char *const *)b, ' ') + 1);
}

void ews_scan_close_dirs(struct ews_strv *opened, int root_fd, bool into_mounts)
{
	struct ews_error_saved why = EWS_ERROR_SAVED_INIT;

	ews_error_save(&why);
	/* Deepest first: a closed parent would keep us from its children. */
	if (opened->n)
		qsort(opened->items, opened->n, sizeof(*opened->items), cmp_opened);
	for (size_t i = opened->n; i-- > 0;) {
		char *path;
		mode_t mode = (mode_t)strtoul(opened->items[i], &path, 8);
		EWS_CLEANUP(fd) int fd = ews_dir_open_within(root_fd, path + 1, DIR_FLAGS, into_mounts);

		if (fd >= 0)
			(void)fchmod(fd, mode); /* where it is gone there is nothing to close */
	}
	ews_strv_clear(opened);
	(void)ews_error_restore(&why);
}
