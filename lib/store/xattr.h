/*
 * Extended attributes: read and written by name, in one text form.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_XATTR_H
#define EWS_STORE_XATTR_H

#include "base/buf.h"
#include "base/strv.h"

/*
 * Extended attributes of the open file `fd` in the form of `struct ews_entry.xattrs`
 * (appended to `out`; nothing when there are none or the file system has none).
 * Left out: security.selinux, security.ima, security.evm, which the system sets by itself.
 */
int ews_xattr_read(struct ews_buf *out, int fd);
/* As above for `name` in `dir_fd`, not followed, never opened (through /proc/self/fd). */
int ews_xattr_read_at(struct ews_buf *out, int dir_fd, const char *name);
/* Append the line of one attribute. A text has them in the order of their names. */
void ews_xattr_add(struct ews_buf *out, const char *name, const void *value, size_t len);
/* Call `fn` for each attribute of such a text, until it gives something else than 0, which is given back. Fails with EWS_EDAMAGED. */
typedef int (*ews_xattr_fn)(void *payload, const char *name, const void *value, size_t len);
int ews_xattr_each(const char *text, ews_xattr_fn fn, void *payload);

/*
 * Make the attributes of `name` in `dir_fd` those of `want` (NULL: none); names that may not be set are added to
 * `lost`, escaped. An empty `name` is `dir_fd` itself, which may be any file and opened with O_PATH.
 */
int ews_xattr_write_at(int dir_fd, const char *name, const char *want, struct ews_strv *lost);

#endif
