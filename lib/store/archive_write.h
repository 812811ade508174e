/*
 * Archive writing: a list of entries as a tar archive, streaming.
 *
 *     .ews-archive/record.json    what is known of it
 *     .ews-archive/manifest       what it holds and what was left out (store/manifest; ids are SHA-256 of contents)
 *     src/ src/a.c ...            the entries, in their order
 *
 * The two come first, so that what it says of itself is read without the rest. The format is pax: times to the nanosecond,
 * attributes, names of any length and bytes; other programs read it. Holes of a file take no room.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_ARCHIVE_WRITE_H
#define EWS_STORE_ARCHIVE_WRITE_H

#include "store/entry.h"

#define EWS_ARCHIVE_OWN ".ews-archive" /* the directory of our own members */
#define EWS_ARCHIVE_RECORD EWS_ARCHIVE_OWN "/record.json"
#define EWS_ARCHIVE_MANIFEST EWS_ARCHIVE_OWN "/manifest"

enum ews_compression {
	EWS_COMPRESSION_NONE,
	EWS_COMPRESSION_GZ,
	EWS_COMPRESSION_BZ2,
	EWS_COMPRESSION_XZ,
	EWS_COMPRESSION_ZSTD,
};

/* "gz", "bz2", "xz", "zstd", "none", and back; fails with EWS_EUSAGE and names them all. */
const char *ews_compression_word(enum ews_compression compression);
int ews_compression_read(enum ews_compression *out, const char *word);
/* ".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst", ".tar" */
const char *ews_compression_suffix(enum ews_compression compression);

struct ews_archive_writer;

/* Begin one in the empty file `fd`. `entries`: what will be in it. */
int ews_archive_writer_new(struct ews_archive_writer **out, int fd, enum ews_compression compression,
			   const struct ews_entries *entries);

/* Add a member of ours, in the time `time_s`. */
int ews_archive_writer_add_text(struct ews_archive_writer *writer, const char *name, const struct ews_buf *text,
				int64_t time_s);

/*
 * Add an entry. `link_text`: what a link says. A file is read at `fd`, from its start, unless it is another name of one that was
 * added. Fails with EWS_ESTALE when what is read is not what the entry's id and size say; then the archive is spoilt.
 */
int ews_archive_writer_add(struct ews_archive_writer *writer, const struct ews_entry *entry, const char *link_text,
			   int fd);

/* Write its end. Nothing is synced. */
int ews_archive_writer_finish(struct ews_archive_writer *writer);
void ews_archive_writer_free(struct ews_archive_writer *writer);
EWS_CLEANUP_DEFINE_PTR(archive_writer, struct ews_archive_writer, ews_archive_writer_free)

/*
 * The SHA-256 of the `size` bytes of the regular file `fd`, from its start, as an id; with `writer` they are written as well.
 * Fails with EWS_ESTALE when there are fewer or more.
 */
int ews_archive_digest(struct ews_oid *out, int fd, uint64_t size, struct ews_archive_writer *writer);

#endif
