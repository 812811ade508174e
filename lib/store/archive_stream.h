/*
 * The contents of an archive that was read: its bytes once more, streaming.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_ARCHIVE_STREAM_H
#define EWS_STORE_ARCHIVE_STREAM_H

#include "base/buf.h"
#include "base/cleanup.h"
#include "store/archive_member.h"
#include "store/archive_read.h"

/* The contents, one after the other. Asked in the members' order all of it is read once. */
struct ews_archive_stream;

/* `content` is that of `fd`; both must outlive the stream. */
struct ews_archive_stream *ews_archive_stream_new(const struct ews_archive_content *content, int fd);

/*
 * Write the bytes of the file `entry`, one of the content's, to the empty file `fd`: holes stay holes. Fails with EWS_EDAMAGED when
 * it is not there any more, or not what its id says.
 */
int ews_archive_stream_write(struct ews_archive_stream *stream, int fd, const struct ews_entry *entry);

/* Hand on the same piece by piece, zeros of holes included. */
int ews_archive_stream_each(struct ews_archive_stream *stream, const struct ews_entry *entry,
			    ews_archive_data_fn fn, void *payload);

/* Append what the link `entry` says. */
int ews_archive_stream_link(struct ews_archive_stream *stream, struct ews_buf *text, const struct ews_entry *entry);

void ews_archive_stream_free(struct ews_archive_stream *stream);
EWS_CLEANUP_DEFINE_PTR(archive_stream, struct ews_archive_stream, ews_archive_stream_free)

#endif
