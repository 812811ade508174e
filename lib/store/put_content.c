/*
 * Where put takes contents from: unchanged files of the source, the store, or whoever the caller has for that.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/put_work.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/meter.h"
#include "base/path.h"
#include "store/put.h"

/* Lead the worker to the directory that the source has for `change`. Returns its descriptor, borrowed; -1: it has none. */
static int open_source(struct ews_put_work *put, struct ews_put_worker *worker, const struct ews_change *change)
{
	const char *name;
	int fd;

	if (put->opts->source_fd < 0 || !change->to->has_stat || change->to->is_racy)
		return -1;
	fd = ews_dir_at_parent(&worker->source, put->opts->source_fd, change->path, &name);
	return fd < 0 ? -1 : fd;
}

/*
 * Copy from the source what is there in the very state of `to`. Returns 1, or 0 with
 * `fd` empty when it is not there so, or not after the copy any more.
 */
static int copy_from_source(struct ews_put_work *put, struct ews_put_worker *worker, int fd,
			    const struct ews_change *change)
{
	const struct ews_entry *to = change->to;
	EWS_CLEANUP(fd) int from_fd = -1;
	struct stat st;
	int rc;

	if (open_source(put, worker, change) < 0)
		return 0;
	from_fd = openat(worker->source.fd, ews_path_base(change->path),
			 O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (from_fd < 0)
		return 0;
	/* Whether it is still what was seen, before this and all through it, is asked once, afterwards. */
	rc = ews_file_copy_fd(fd, from_fd, to->size, &put->no_clones);
	if (rc == EWS_ENOSPACE)
		return rc;
	if (rc == 0 && fstat(from_fd, &st) == 0 && ews_entry_stat_matches(to, &st))
		return 1;
	ews_error_clear(); /* it may have become shorter: who has the content is asked next */
	if (ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return ews_error_os("cannot empty it");
	return 0;
}

static int fill(struct ews_put_work *put, struct ews_put_worker *worker, int fd, const struct ews_change *change)
{
	int rc;

	if (put->opts->contents)
		return put->opts->contents->write(put->opts->contents->payload, fd, change->to);
	rc = copy_from_source(put, worker, fd, change);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	if (ews_oid_is_none(&change->to->oid) && put->opts->source_fd >= 0)
		return ews_error(EWS_ENOTFOUND, "it may not be read, or it changed meanwhile");
	if (ews_oid_is_none(&change->to->oid))
		return ews_error(EWS_ENOTFOUND, "its content is not kept anywhere");
	return ews_odb_write_from(fd, put->opts->odb, &change->to->oid, worker->place);
}

int ews_put_fill(struct ews_put_work *put, struct ews_put_worker *worker, int fd, const struct ews_change *change)
{
	struct ews_meter meter;
	uint64_t told;
	int rc;

	if (!put->opts->progress || change->to->size < EWS_METER_STEP_BYTES)
		return fill(put, worker, fd, change);
	ews_meter_begin(&meter, ews_put_tell_ahead, put);
	rc = fill(put, worker, fd, change);
	told = ews_meter_end(&meter);
	/* Its size is added when it is done. It may have been copied more than once. */
	ews_put_forget_ahead(put, told < change->to->size ? told : change->to->size);
	return rc;
}

/* The text of a link that no store has, when the source's is still the one that was seen. */
static int read_source_link(struct ews_buf *text, struct ews_put_work *put, struct ews_put_worker *worker,
			    const struct ews_change *change)
{
	const char *name = ews_path_base(change->path);
	int source = open_source(put, worker, change);
	struct stat st;

	if (source < 0)
		return ews_error(EWS_ENOTFOUND, "its text is not kept anywhere");
	if (ews_dir_read_link(text, source, name) < 0 || text->len != change->to->size ||
	    fstatat(source, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !ews_entry_stat_matches(change->to, &st))
		return ews_error(EWS_ENOTFOUND, "it changed meanwhile");
	return 0;
}

int ews_put_read_link(struct ews_buf *text, struct ews_put_work *put, struct ews_put_worker *worker,
		      const struct ews_change *change)
{
	enum ews_object_type type;
	int rc;

	if (!put->opts->contents && ews_oid_is_none(&change->to->oid))
		return read_source_link(text, put, worker, change);
	if (put->opts->contents) {
		type = EWS_OBJECT_BLOB;
		rc = put->opts->contents->read_link(put->opts->contents->payload, text, change->to);
	} else {
		rc = ews_odb_read(text, &type, put->opts->odb, &change->to->oid);
	}
	if (rc < 0)
		return rc;
	if (type != EWS_OBJECT_BLOB || !text->len || strlen(text->ptr) != text->len)
		return ews_error(EWS_EDAMAGED, "what is kept is no link's text");
	return 0;
}
