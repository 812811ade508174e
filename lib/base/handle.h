/*
 * Handles: what is done to a file that is held by a descriptor, opened or not.
 *
 * O_PATH holds a file whatever its mode, and reads nothing; what happens to its name meanwhile can't lead us elsewhere.
 * But most calls refuse such a descriptor. Its name below /proc/self/fd is the same inode, and that they take.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_HANDLE_H
#define EWS_BASE_HANDLE_H

#include <sys/types.h>

#include "base/buf.h"

#define EWS_HANDLE_NAME_MAX 32

/* Write the name of what `fd` holds into `out`, and return that. To be followed: it reads as a link. */
const char *ews_handle_name(char out[EWS_HANDLE_NAME_MAX], int fd);

/* As fchmod(), for any descriptor: 0, or -1 and errno. */
int ews_handle_chmod(int fd, mode_t mode);

/* The names of its extended attributes, NUL-ended one after the other, in `out`, which is empty; nothing where the file system has none. */
int ews_handle_xattr_names(struct ews_buf *out, int fd);
/* Set `out` to the value of one. Returns 1, or 0 when it is gone by now. */
int ews_handle_xattr_read(struct ews_buf *out, int fd, const char *name);
/* As fsetxattr() and fremovexattr(), for any descriptor: 0, or -1 and errno. */
int ews_handle_xattr_set(int fd, const char *name, const void *data, size_t len);
int ews_handle_xattr_remove(int fd, const char *name);

#endif
