/*
 * Members of an archive, as libarchive gives them: one after the other, and of the one at hand its bytes.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_ARCHIVE_MEMBER_H
#define EWS_STORE_ARCHIVE_MEMBER_H

#include <stddef.h>
#include <stdint.h>

#include "store/oid.h"

struct archive; /* libarchive's */
struct archive_entry;

/* A piece of a file's bytes, the next one; less than 0 ends the reading. */
typedef int (*ews_archive_data_fn)(void *payload, const void *data, size_t len);

/* An error in libarchive's words: EWS_EIO where the system can't read it, else EWS_EDAMAGED. */
int ews_archive_member_fail(struct archive *archive, const char *what);

/*
 * Begin to read `fd` from its start; the caller frees it with ews_libarchive.archive_read_free(). No program is started
 * for what is compressed. Fails with EWS_EUNSUPPORTED, EWS_EIO, EWS_EDAMAGED.
 */
int ews_archive_member_open(struct archive **out, int fd);

/* The next member's header, which is the archive's; 1, or 0 at the end. Fails as ews_archive_member_fail(). */
int ews_archive_member_next(struct archive *archive, struct archive_entry **head);

/* A member's name as a path of ours: "./a/b/" is "a/b", "." is "". The caller frees it. */
char *ews_archive_member_path(const char *name);

/*
 * Read the content of the member at hand: `size` bytes, zeros of holes included, whose SHA-256 becomes `out`. `fn` gets all of them,
 * and may be NULL. Fails as ews_archive_member_fail(), and as `fn` does.
 */
int ews_archive_member_read(struct ews_oid *out, struct archive *archive, uint64_t size, ews_archive_data_fn fn,
			    void *payload);

#endif
