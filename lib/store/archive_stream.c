/*
 * The contents of an archive: see archive_stream.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/archive_stream.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "store/libarchive.h"

#define PAGE 4096 /* a smaller hole saves nothing */

struct ews_archive_stream {
	const struct ews_archive_content *content;
	int fd;
	struct archive *archive; /* NULL: not begun */
	struct archive_entry *head; /* the member that was reached */
};

struct ews_archive_stream *ews_archive_stream_new(const struct ews_archive_content *content, int fd)
{
	struct ews_archive_stream *stream = ews_calloc(1, sizeof(*stream));

	stream->content = content;
	stream->fd = fd;
	return stream;
}

static void end_stream(struct ews_archive_stream *stream)
{
	if (stream->archive)
		(void)ews_libarchive.archive_read_free(stream->archive);
	stream->archive = NULL;
	stream->head = NULL;
}

/* Go on to the member `path`; 1, or 0 when the end came first. */
static int advance(struct ews_archive_stream *stream, const char *path)
{
	int rc = 0;

	if (!stream->archive)
		rc = ews_archive_member_open(&stream->archive, stream->fd);
	while (rc == 0) {
		EWS_CLEANUP(free) char *found = NULL;

		rc = ews_archive_member_next(stream->archive, &stream->head);
		if (rc <= 0)
			break;
		if (ews_libarchive.archive_entry_pathname(stream->head))
			found = ews_archive_member_path(ews_libarchive.archive_entry_pathname(stream->head));
		rc = found && !strcmp(found, path);
	}
	return rc;
}

/* Reach the member that has what `entry` holds, from here on, or once more from the start. */
static int reach(struct ews_archive_stream *stream, const struct ews_entry *entry, unsigned type)
{
	const char *path = stream->content->member[entry - stream->content->entries.items];
	bool has_begun = stream->archive;
	int rc = path ? advance(stream, path) : 0;

	if (rc == 0 && has_begun && path) {
		end_stream(stream);
		rc = advance(stream, path);
	}
	if (rc == 0)
		end_stream(stream);
	if (rc > 0 && (ews_libarchive.archive_entry_hardlink(stream->head) ||
		       ews_libarchive.archive_entry_filetype(stream->head) != type))
		rc = 0;
	if (rc == 0)
		return ews_error(EWS_EDAMAGED, "the archive no longer has what it had: '%s'", entry->path);
	return rc < 0 ? rc : 0;
}

static int check_id(const struct ews_oid *oid, const struct ews_entry *entry)
{
	if (ews_oid_equal(oid, &entry->oid))
		return 0;
	return ews_error(EWS_EDAMAGED, "what the archive has of '%s' is not what its record says", entry->path);
}

static int reach_file(struct ews_archive_stream *stream, const struct ews_entry *entry)
{
	int rc = reach(stream, entry, AE_IFREG);

	if (rc < 0)
		return rc;
	if ((uint64_t)ews_libarchive.archive_entry_size(stream->head) != entry->size)
		return ews_error(EWS_EDAMAGED, "what the archive has of '%s' is not what its record says",
				 entry->path);
	return 0;
}

int ews_archive_stream_each(struct ews_archive_stream *stream, const struct ews_entry *entry,
			    ews_archive_data_fn fn, void *payload)
{
	struct ews_oid oid = EWS_OID_NONE;
	int rc = reach_file(stream, entry);

	if (rc == 0)
		rc = ews_archive_member_read(&oid, stream->archive, entry->size, fn, payload);
	return rc < 0 ? rc : check_id(&oid, entry);
}

/* A file that is being written: zeros are left out, as holes. */
struct writing {
	int fd;
	uint64_t at;
};

static bool is_zero(const char *data, size_t len)
{
	return !*data && !memcmp(data, data + 1, len - 1);
}

/* How many bytes from `data` on are zeros, or are not: whole pages of the file, whose rest at `at` comes first. */
static size_t measure_run(const char *data, size_t len, uint64_t at, bool *is_hole)
{
	size_t run = 0;

	while (run < len) {
		size_t page = PAGE - (size_t)((at + run) % PAGE);
		bool is_zeros;

		if (page > len - run)
			page = len - run;
		is_zeros = is_zero(data + run, page);
		if (!run)
			*is_hole = is_zeros;
		else if (is_zeros != *is_hole)
			break;
		run += page;
	}
	return run;
}

static int write_part(void *payload, const void *data, size_t len)
{
	struct writing *writing = payload;
	int rc = 0;

	for (size_t done = 0, run; done < len && rc == 0; done += run) {
		bool is_hole = false;

		run = measure_run((const char *)data + done, len - done, writing->at, &is_hole);
		if (!is_hole && lseek(writing->fd, (off_t)writing->at, SEEK_SET) < 0)
			return ews_error_os("cannot write it");
		if (!is_hole)
			rc = ews_file_write_fd(writing->fd, (const char *)data + done, run);
		writing->at += run;
	}
	return rc;
}

int ews_archive_stream_write(struct ews_archive_stream *stream, int fd, const struct ews_entry *entry)
{
	struct writing writing = { fd, 0 };
	int rc = ews_archive_stream_each(stream, entry, write_part, &writing);

	if (rc == 0 && ftruncate(fd, (off_t)entry->size) < 0)
		rc = ews_error_os("cannot write it");
	return rc;
}

int ews_archive_stream_link(struct ews_archive_stream *stream, struct ews_buf *text, const struct ews_entry *entry)
{
	struct ews_oid oid = EWS_OID_NONE;
	const char *says;
	int rc = reach(stream, entry, AE_IFLNK);

	if (rc < 0)
		return rc;
	says = ews_libarchive.archive_entry_symlink(stream->head);
	if (!says)
		says = "";
	oid.len = (uint8_t)ews_hash_once(EWS_SHA256, oid.id, says, strlen(says));
	ews_buf_adds(text, says);
	return check_id(&oid, entry);
}

void ews_archive_stream_free(struct ews_archive_stream *stream)
{
	if (!stream)
		return;
	end_stream(stream);
	free(stream);
}
