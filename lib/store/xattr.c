/*
 * Extended attributes: see xattr.h.
 *
 * What can be opened is asked by descriptor. A link, a FIFO or a file without
 * read permission has an O_PATH descriptor only, which the calls refuse with
 * EBADF; its name below /proc/self/fd leads them to the very same inode.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/xattr.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/handle.h"
#include "base/hash.h"
#include "base/path.h"

#define ROOM_BYTES ((size_t)1024 * 1024) /* with so much left a disk is not full */

/* One line of the text form: both parts borrowed from it. */
struct attr {
	const char *name; /* escaped */
	size_t name_len;
	const char *hex;
	size_t hex_len;
};

/* Those that the system sets by itself, after its own rules. */
static bool is_systems_own(const char *name)
{
	return !strcmp(name, "security.selinux") || !strcmp(name, "security.ima") || !strcmp(name, "security.evm");
}

static int cmp_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void ews_xattr_add(struct ews_buf *out, const char *name, const void *value, size_t len)
{
	ews_path_escape(out, name, strlen(name));
	ews_buf_addc(out, '=');
	ews_buf_reserve(out, 2 * len + 1);
	ews_hex(out->ptr + out->len, value, len);
	out->len += 2 * len;
	ews_buf_addc(out, '\n');
}

int ews_xattr_read(struct ews_buf *out, int fd)
{
	EWS_CLEANUP(buf) struct ews_buf names = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf value = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(free) const char **sorted = NULL;
	size_t n = 0, cap = 0;
	int rc;

	rc = ews_handle_xattr_names(&names, fd);
	if (rc < 0)
		return rc;
	for (size_t at = 0; at < names.len; at += strlen(names.ptr + at) + 1) {
		if (is_systems_own(names.ptr + at))
			continue;
		EWS_GROW(sorted, n, cap);
		sorted[n++] = names.ptr + at;
	}
	if (!n)
		return 0;
	qsort(sorted, n, sizeof(*sorted), cmp_name);
	for (size_t i = 0; i < n; i++) {
		rc = ews_handle_xattr_read(&value, fd, sorted[i]);
		if (rc < 0)
			return rc;
		if (rc > 0)
			ews_xattr_add(&text, sorted[i], value.ptr, value.len);
	}
	ews_buf_add(out, text.ptr, text.len);
	return 0;
}

int ews_xattr_read_at(struct ews_buf *out, int dir_fd, const char *name)
{
	EWS_CLEANUP(fd) int fd = -1;
	char path[EWS_HANDLE_NAME_MAX + 1 + NAME_MAX + 1];
	int len;

	/* Nearly nothing has any, and for that answer one call is enough. */
	len = snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", dir_fd, name);
	if (len < (int)sizeof(path) && llistxattr(path, NULL, 0) == 0)
		return 0;
	fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return ews_error_os("cannot open '%s'", name);
	return ews_xattr_read(out, fd);
}

/* Step over the line at `*at`. Returns 1, or 0 at the end. */
static int next_attr(struct attr *out, const char **at)
{
	const char *line = *at;
	const char *end = strchr(line, '\n');
	const char *eq;

	if (!*line)
		return 0;
	eq = end ? memrchr(line, '=', (size_t)(end - line)) : NULL;
	if (!eq || (end - eq - 1) % 2)
		return ews_error(EWS_EDAMAGED, "a record of attributes is damaged");
	*out = (struct attr){ line, (size_t)(eq - line), eq + 1, (size_t)(end - eq - 1) };
	*at = end + 1;
	return 1;
}

/* Is the name of `attr` in `text`? With `same_value`, with the same value? */
static int has_attr(const char *text, const struct attr *attr, bool same_value)
{
	struct attr one;
	int rc;

	while ((rc = next_attr(&one, &text)) > 0) {
		if (one.name_len != attr->name_len || memcmp(one.name, attr->name, attr->name_len))
			continue;
		return !same_value || (one.hex_len == attr->hex_len && !memcmp(one.hex, attr->hex, attr->hex_len));
	}
	return rc;
}

/* Name and value as they are. */
static int read_attr(struct ews_buf *name, struct ews_buf *value, const struct attr *attr)
{
	EWS_CLEANUP(free) char *hex = ews_strndup(attr->hex, attr->hex_len);
	int rc = ews_path_unescape(name, attr->name, attr->name_len);

	if (rc < 0)
		return rc;
	ews_buf_reserve(value, attr->hex_len / 2);
	if (ews_unhex((uint8_t *)value->ptr, attr->hex_len / 2, hex) < 0)
		return ews_error(EWS_EDAMAGED, "a record of attributes is damaged");
	value->len = attr->hex_len / 2;
	return 0;
}

int ews_xattr_each(const char *text, ews_xattr_fn fn, void *payload)
{
	struct attr attr;
	int rc;

	while ((rc = next_attr(&attr, &text)) > 0) {
		EWS_CLEANUP(buf) struct ews_buf name = EWS_BUF_INIT;
		EWS_CLEANUP(buf) struct ews_buf value = EWS_BUF_INIT;

		rc = read_attr(&name, &value, &attr);
		if (rc == 0)
			rc = fn(payload, name.ptr, value.ptr, value.len);
		if (rc != 0)
			return rc;
	}
	return rc;
}

/* Not permitted here, or nothing that this file system can hold: named, but no failure. */
static bool is_loss(int err)
{
	return err == EPERM || err == EACCES || err == ENOTSUP || err == E2BIG || err == ERANGE || err == EINVAL;
}

/* File systems that hold so much of a file's attributes, and no more, say that no space is left where there is enough. */
static bool is_too_much(int fd, size_t len)
{
	struct statvfs room;
	int err = errno;
	bool is = err == ENOSPC && fstatvfs(fd, &room) == 0 && room.f_bavail * room.f_frsize > len + ROOM_BYTES;

	errno = err;
	return is;
}

/* Set the attribute, or remove it when `is_wanted` is not set. */
static int change_attr(int fd, const struct attr *attr, bool is_wanted, struct ews_strv *lost)
{
	EWS_CLEANUP(buf) struct ews_buf name = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf value = EWS_BUF_INIT;
	int rc;

	rc = read_attr(&name, &value, attr);
	if (rc < 0)
		return rc;
	if (is_systems_own(name.ptr))
		return 0;
	if (is_wanted) {
		rc = ews_handle_xattr_set(fd, name.ptr, value.ptr, value.len);
	} else {
		rc = ews_handle_xattr_remove(fd, name.ptr);
		if (rc < 0 && errno == ENODATA)
			return 0;
	}
	if (rc < 0 && !is_loss(errno) && !is_too_much(fd, value.len))
		return ews_error_os("cannot change its attribute '%s'", name.ptr);
	if (rc < 0)
		ews_strv_add_len(lost, attr->name, attr->name_len);
	return 0;
}

static int write_attrs(int fd, const char *want, struct ews_strv *lost)
{
	EWS_CLEANUP(buf) struct ews_buf now = EWS_BUF_INIT;
	struct attr attr;
	const char *at;
	int rc;

	rc = ews_xattr_read(&now, fd);
	if (rc < 0)
		return rc;
	if (!strcmp(now.ptr, want))
		return 0;
	for (at = now.ptr; (rc = next_attr(&attr, &at)) > 0;) {
		rc = has_attr(want, &attr, false);
		if (rc == 0)
			rc = change_attr(fd, &attr, false, lost);
		if (rc < 0)
			return rc;
	}
	if (rc < 0)
		return rc;
	for (at = want; (rc = next_attr(&attr, &at)) > 0;) {
		rc = has_attr(now.ptr, &attr, true);
		if (rc == 0)
			rc = change_attr(fd, &attr, true, lost);
		if (rc < 0)
			return rc;
	}
	return rc;
}

int ews_xattr_write_at(int dir_fd, const char *name, const char *want, struct ews_strv *lost)
{
	EWS_CLEANUP(fd) int fd = -1;

	if (!want)
		want = "";
	if (!*name)
		return write_attrs(dir_fd, want, lost);
	fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return ews_error_os("cannot open '%s'", name);
	return write_attrs(fd, want, lost);
}
