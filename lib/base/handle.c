/*
 * Handles: see handle.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/handle.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "base/error.h"

const char *ews_handle_name(char out[EWS_HANDLE_NAME_MAX], int fd)
{
	snprintf(out, EWS_HANDLE_NAME_MAX, "/proc/self/fd/%d", fd);
	return out;
}

int ews_handle_chmod(int fd, mode_t mode)
{
	char name[EWS_HANDLE_NAME_MAX];

	if (!fchmod(fd, mode))
		return 0;
	return errno == EBADF ? chmod(ews_handle_name(name, fd), mode) : -1;
}

static ssize_t list_names(int fd, char *out, size_t size)
{
	char path[EWS_HANDLE_NAME_MAX];
	ssize_t n = flistxattr(fd, out, size);

	if (n >= 0 || errno != EBADF)
		return n;
	return listxattr(ews_handle_name(path, fd), out, size);
}

static ssize_t get_value(int fd, const char *name, void *out, size_t size)
{
	char path[EWS_HANDLE_NAME_MAX];
	ssize_t n = fgetxattr(fd, name, out, size);

	if (n >= 0 || errno != EBADF)
		return n;
	return getxattr(ews_handle_name(path, fd), name, out, size);
}

int ews_handle_xattr_set(int fd, const char *name, const void *data, size_t len)
{
	char path[EWS_HANDLE_NAME_MAX];

	if (!fsetxattr(fd, name, data, len, 0))
		return 0;
	if (errno != EBADF)
		return -1;
	return setxattr(ews_handle_name(path, fd), name, data, len, 0);
}

int ews_handle_xattr_remove(int fd, const char *name)
{
	char path[EWS_HANDLE_NAME_MAX];

	if (!fremovexattr(fd, name))
		return 0;
	if (errno != EBADF)
		return -1;
	return removexattr(ews_handle_name(path, fd), name);
}

int ews_handle_xattr_names(struct ews_buf *out, int fd)
{
	for (;;) {
		ssize_t n = list_names(fd, NULL, 0);

		if (n == 0 || (n < 0 && errno == ENOTSUP))
			return 0;
		if (n < 0)
			return ews_error_os("cannot list its attributes");
		ews_buf_reserve(out, (size_t)n);
		n = list_names(fd, out->ptr, (size_t)n);
		if (n >= 0) {
			out->len = (size_t)n;
			return 0;
		}
		/* It grew between the two calls: ask again. */
		if (errno != ERANGE)
			return ews_error_os("cannot list its attributes");
	}
}

int ews_handle_xattr_read(struct ews_buf *out, int fd, const char *name)
{
	for (;;) {
		ssize_t n = get_value(fd, name, NULL, 0);

		if (n < 0 && errno == ENODATA)
			return 0;
		if (n < 0)
			return ews_error_os("cannot read its attribute '%s'", name);
		ews_buf_truncate(out, 0);
		if (n == 0)
			return 1;
		ews_buf_reserve(out, (size_t)n);
		n = get_value(fd, name, out->ptr, (size_t)n);
		if (n >= 0) {
			out->len = (size_t)n;
			return 1;
		}
		if (errno != ERANGE && errno != ENODATA)
			return ews_error_os("cannot read its attribute '%s'", name);
	}
}
