/*
 * Archive writing: see archive_write.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/archive_write.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/meter.h"
#include "store/libarchive.h"
#include "store/xattr.h"

#define CHUNK (128 * EWS_KIB)
#define HOLES_MAX 4096 /* a file with more of them is written as if it had none */

struct ews_archive_writer {
	struct archive *archive;
	int fd;
	bool is_given_up; /* nothing is written any more */
};

static const struct {
	const char *word, *suffix;
} compressions[] = {
	[EWS_COMPRESSION_NONE] = { "none", ".tar" },     [EWS_COMPRESSION_GZ] = { "gz", ".tar.gz" },
	[EWS_COMPRESSION_BZ2] = { "bz2", ".tar.bz2" },   [EWS_COMPRESSION_XZ] = { "xz", ".tar.xz" },
	[EWS_COMPRESSION_ZSTD] = { "zstd", ".tar.zst" },
};

#define N_COMPRESSIONS (sizeof(compressions) / sizeof(*compressions))

const char *ews_compression_word(enum ews_compression compression)
{
	return compressions[compression].word;
}

const char *ews_compression_suffix(enum ews_compression compression)
{
	return compressions[compression].suffix;
}

int ews_compression_read(enum ews_compression *out, const char *word)
{
	for (size_t i = 0; i < N_COMPRESSIONS; i++) {
		if (strcmp(word, compressions[i].word) != 0)
			continue;
		*out = (enum ews_compression)i;
		return 0;
	}
	return ews_error(EWS_EUSAGE, "'%s' is no way to compress: gz, bz2, xz, zstd or none", word);
}

/* libarchive's words; what the system said decides the code. */
static int fail(struct ews_archive_writer *writer, const char *what)
{
	const char *why = ews_libarchive.archive_error_string(writer->archive);
	int err = ews_libarchive.archive_errno(writer->archive);

	if (err == ENOSPC || err == EDQUOT || err == EFBIG) {
		errno = err;
		return ews_error_os("cannot write %s", what);
	}
	return ews_error(EWS_EIO, "cannot write %s: %s", what, why ? why : "libarchive gives no reason");
}

/* Where libarchive's bytes go. It ends what is given up, too, or it would forget to free what it compresses with. */
static la_ssize_t write_bytes(struct archive *archive, void *payload, const void *data, size_t len)
{
	struct ews_archive_writer *writer = payload;
	ssize_t n = (ssize_t)len;

	while (!writer->is_given_up && (n = write(writer->fd, data, len)) < 0 && errno == EINTR)
		;
	if (n < 0)
		ews_libarchive.archive_set_error(archive, errno, "Write error");
	return n;
}

/* Is it a name, as the text form of attributes has it, that libarchive reads in tar's own form as it writes it? */
static bool is_plain_name(const char *name, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (name[i] <= ' ' || name[i] > '~' || strchr("=%\\", name[i]))
			return false;
	return true;
}

/* Other names need libarchive's own form, which it codes and decodes; to other programs these attributes are lost. */
static bool has_odd_attrs(const struct ews_entries *entries)
{
	for (size_t i = 0; i < entries->n; i++)
		for (const char *line = entries->items[i].xattrs; line && *line; line = strchr(line, '\n') + 1) {
			const char *eq = memrchr(line, '=', strcspn(line, "\n"));

			if (!is_plain_name(line, (size_t)(eq - line)))
				return true;
		}
	return false;
}

static int add_filter(struct archive *archive, enum ews_compression compression)
{
	switch (compression) {
	case EWS_COMPRESSION_GZ:
		return ews_libarchive.archive_write_add_filter_gzip(archive);
	case EWS_COMPRESSION_BZ2:
		return ews_libarchive.archive_write_add_filter_bzip2(archive);
	case EWS_COMPRESSION_XZ:
		return ews_libarchive.archive_write_add_filter_xz(archive);
	case EWS_COMPRESSION_ZSTD:
		return ews_libarchive.archive_write_add_filter_zstd(archive);
	default:
		return ews_libarchive.archive_write_add_filter_none(archive);
	}
}

int ews_archive_writer_new(struct ews_archive_writer **out, int fd, enum ews_compression compression,
			   const struct ews_entries *entries)
{
	EWS_CLEANUP(archive_writer) struct ews_archive_writer *writer = ews_calloc(1, sizeof(*writer));
	const char *attrs = has_odd_attrs(entries) ? "pax:xattrheader=LIBARCHIVE" : "pax:xattrheader=SCHILY";
	int rc;

	rc = ews_libarchive_need();
	if (rc < 0)
		return rc;
	writer->archive = ews_libarchive.archive_write_new();
	if (!writer->archive)
		return ews_error(EWS_EIO, "cannot begin an archive");
	/* ARCHIVE_WARN would mean that a program is to be run for it. */
	if (add_filter(writer->archive, compression) != ARCHIVE_OK)
		return ews_error(EWS_EUNSUPPORTED, "libarchive was built without %s here",
				 compressions[compression].word);
	if (ews_libarchive.archive_write_set_format_pax(writer->archive) != ARCHIVE_OK ||
	    ews_libarchive.archive_write_set_options(writer->archive, attrs) != ARCHIVE_OK)
		return fail(writer, "the archive");
	/* The same bytes for the same tree, but for what the record says. */
	if (compression == EWS_COMPRESSION_GZ &&
	    ews_libarchive.archive_write_set_options(writer->archive, "gzip:!timestamp") != ARCHIVE_OK)
		return fail(writer, "the archive");
	writer->fd = fd;
	if (ews_libarchive.archive_write_set_bytes_in_last_block(writer->archive, 1) != ARCHIVE_OK ||
	    ews_libarchive.archive_write_open(writer->archive, writer, NULL, write_bytes, NULL) != ARCHIVE_OK)
		return fail(writer, "the archive");
	*out = ews_steal(&writer);
	return 0;
}

static int add_header(struct ews_archive_writer *writer, struct archive_entry *head, const char *path)
{
	/* A name that is no UTF-8 is a warning: it is written as it is. */
	return ews_libarchive.archive_write_header(writer->archive, head) < ARCHIVE_WARN ? fail(writer, path) : 0;
}

static int add_data(struct ews_archive_writer *writer, const void *data, size_t len, const char *what)
{
	for (size_t done = 0; done < len;) {
		la_ssize_t n =
			ews_libarchive.archive_write_data(writer->archive, (const char *)data + done, len - done);

		if (n <= 0)
			return fail(writer, what);
		done += (size_t)n;
	}
	return 0;
}

int ews_archive_writer_add_text(struct ews_archive_writer *writer, const char *name, const struct ews_buf *text,
				int64_t time_s)
{
	struct archive_entry *head = ews_libarchive.archive_entry_new();
	int rc;

	ews_libarchive.archive_entry_copy_pathname(head, name);
	ews_libarchive.archive_entry_set_filetype(head, AE_IFREG);
	ews_libarchive.archive_entry_set_perm(head, 0600);
	ews_libarchive.archive_entry_set_mtime(head, time_s, 0);
	ews_libarchive.archive_entry_set_size(head, (la_int64_t)text->len);
	rc = add_header(writer, head, name);
	ews_libarchive.archive_entry_free(head);
	return rc < 0 ? rc : add_data(writer, text->ptr, text->len, name);
}

/* The next run of bytes of a file that are no hole, from `at` on; where the file system can't say, all of it. */
static void find_run(int fd, uint64_t at, uint64_t size, uint64_t *start, uint64_t *end)
{
	off_t data = lseek(fd, (off_t)at, SEEK_DATA);
	off_t hole = data < 0 ? -1 : lseek(fd, data, SEEK_HOLE);

	*start = data < 0 ? (errno == ENXIO ? size : at) : (uint64_t)data;
	*end = data < 0 || hole < 0 || (uint64_t)hole > size ? size : (uint64_t)hole;
	if (*start > size)
		*start = size;
}

/* Tell which parts of the file there are, when it has holes. */
static void describe_holes(struct archive_entry *head, int fd, uint64_t size)
{
	uint64_t start, end;
	size_t n = 0;

	find_run(fd, 0, size, &start, &end);
	if (!size || (!start && end == size))
		return;
	for (uint64_t at = 0; at < size; at = end) {
		find_run(fd, at, size, &start, &end);
		if (start == size)
			break;
		ews_libarchive.archive_entry_sparse_add_entry(head, (la_int64_t)start, (la_int64_t)(end - start));
		if (++n > HOLES_MAX) {
			ews_libarchive.archive_entry_sparse_clear(head);
			return;
		}
	}
	/* All of it is one hole, which only a part without a length can say. */
	if (!n)
		ews_libarchive.archive_entry_sparse_add_entry(head, (la_int64_t)size, 0);
}

static int take(struct ews_hash *hash, struct ews_archive_writer *writer, const void *data, size_t len)
{
	ews_hash_add(hash, data, len);
	return writer ? add_data(writer, data, len, "the archive") : 0;
}

int ews_archive_digest(struct ews_oid *out, int fd, uint64_t size, struct ews_archive_writer *writer)
{
	EWS_CLEANUP(free) char *chunk = ews_malloc(CHUNK);
	EWS_CLEANUP(free) char *zeros = NULL;
	EWS_CLEANUP(hash) struct ews_hash *hash = ews_hash_new(EWS_SHA256);
	uint64_t start = 0, end = 0;
	int rc = 0;

	for (uint64_t at = 0; at < size && rc == 0;) {
		size_t want;
		ssize_t n;

		if (at == end)
			find_run(fd, at, size, &start, &end);
		want = (size_t)((at < start ? start : end) - at < CHUNK ? (at < start ? start : end) - at : CHUNK);
		if (at < start) {
			if (!zeros)
				zeros = ews_calloc(1, CHUNK);
			rc = take(hash, writer, zeros, want);
			ews_meter_count(want);
			at += want;
			continue;
		}
		n = pread(fd, chunk, want, (off_t)at);
		if (n < 0)
			return ews_error_os("cannot read it");
		if (n == 0)
			return ews_error(EWS_ESTALE, "it became shorter while it was read");
		rc = take(hash, writer, chunk, (size_t)n);
		ews_meter_count((uint64_t)n);
		at += (uint64_t)n;
	}
	if (rc < 0)
		return rc;
	if (lseek(fd, 0, SEEK_END) != (off_t)size)
		return ews_error(EWS_ESTALE, "its size changed while it was read");
	*out = (struct ews_oid)EWS_OID_NONE;
	out->len = (uint8_t)ews_hash_finish(hash, out->id);
	return 0;
}

static int add_attr(void *payload, const char *name, const void *value, size_t len)
{
	ews_libarchive.archive_entry_xattr_add_entry(payload, name, value, len);
	return 0;
}

static int set_header(struct archive_entry *head, const struct ews_entry *entry, const char *link_text)
{
	static const unsigned types[] = {
		[EWS_ENTRY_FILE] = AE_IFREG,
		[EWS_ENTRY_LINK] = AE_IFLNK,
		[EWS_ENTRY_DIR] = AE_IFDIR,
		[EWS_ENTRY_FIFO] = AE_IFIFO,
	};

	ews_libarchive.archive_entry_copy_pathname(head, entry->path);
	ews_libarchive.archive_entry_set_filetype(head, types[entry->type]);
	ews_libarchive.archive_entry_set_perm(head, entry->mode);
	ews_libarchive.archive_entry_set_mtime(head, entry->mtime_s, entry->mtime_ns);
	if (entry->has_owner) {
		ews_libarchive.archive_entry_set_uid(head, entry->uid);
		ews_libarchive.archive_entry_set_gid(head, entry->gid);
	}
	ews_libarchive.archive_entry_set_size(head, 0);
	if (entry->type == EWS_ENTRY_LINK)
		ews_libarchive.archive_entry_copy_symlink(head, link_text);
	else if (entry->first_name)
		ews_libarchive.archive_entry_copy_hardlink(head, entry->first_name);
	else if (entry->type == EWS_ENTRY_FILE)
		ews_libarchive.archive_entry_set_size(head, (la_int64_t)entry->size);
	return entry->xattrs ? ews_xattr_each(entry->xattrs, add_attr, head) : 0;
}

int ews_archive_writer_add(struct ews_archive_writer *writer, const struct ews_entry *entry, const char *link_text,
			   int fd)
{
	bool has_content = entry->type == EWS_ENTRY_FILE && !entry->first_name;
	struct archive_entry *head = ews_libarchive.archive_entry_new();
	struct ews_oid oid;
	int rc = set_header(head, entry, link_text);

	if (has_content)
		describe_holes(head, fd, entry->size);
	if (rc == 0)
		rc = add_header(writer, head, entry->path);
	ews_libarchive.archive_entry_free(head);
	if (rc < 0 || !has_content)
		return rc;
	rc = ews_archive_digest(&oid, fd, entry->size, writer);
	if (rc == 0 && !ews_oid_equal(&oid, &entry->oid))
		rc = ews_error(EWS_ESTALE, "it changed while it was read");
	return rc < 0 ? ews_error_wrap("'%s'", entry->path) : 0;
}

int ews_archive_writer_finish(struct ews_archive_writer *writer)
{
	return ews_libarchive.archive_write_close(writer->archive) < ARCHIVE_WARN ? fail(writer, "the archive's end")
										  : 0;
}

void ews_archive_writer_free(struct ews_archive_writer *writer)
{
	if (!writer)
		return;
	writer->is_given_up = true;
	if (writer->archive)
		(void)ews_libarchive.archive_write_free(writer->archive);
	free(writer);
}
