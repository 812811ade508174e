/*
 * One file, link or FIFO that put makes, and what stood in its place.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/put_work.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/error.h"
#include "base/handle.h"
#include "base/path.h"
#include "store/batch.h"
#include "store/put.h"
#include "store/scan_open.h"

/*
 * Does it hold what it was seen to hold? It is read again, whatever its mode, for it goes if it does. Returns 1 or 0; below zero: nobody
 * can tell.
 */
static int holds_as_seen(const struct ews_put_work *put, int dir_fd, const char *name, const struct ews_entry *from)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(fd) int fd = -1;
	struct ews_oid oid = EWS_OID_NONE;
	int rc;

	if (put->opts->contents)
		return put->opts->contents->holds(put->opts->contents->payload, dir_fd, name, from);
	if (from->type == EWS_ENTRY_LINK) {
		if (ews_dir_read_link(&text, dir_fd, name) < 0)
			return ews_error_os("cannot read the link");
		ews_odb_hash(&oid, put->opts->odb, EWS_OBJECT_BLOB, text.ptr, text.len);
		return ews_oid_equal(&oid, &from->oid);
	}
	fd = ews_scan_open_file(dir_fd, name);
	if (fd < 0)
		return ews_error_os("cannot read it");
	rc = ews_batch_hash_fd(&oid, put->opts->odb, fd, from->size);
	if (rc < 0 && rc != EWS_ESTALE)
		return rc;
	ews_error_clear();
	return rc == 0 && ews_oid_equal(&oid, &from->oid);
}

/*
 * Is it what it was seen as? Who writes may set the mtime back, but not the ctime; that moves as well with a mode, and with each other
 * name that a file gets or loses, of which put itself may take one. So where it differs, or proves nothing, what is there decides.
 * Returns 1 or 0; below zero: nobody can tell.
 */
static int is_as_seen(const struct ews_put_work *put, int dir_fd, const char *name, const struct ews_entry *from,
		      const struct stat *st)
{
	struct ews_entry now = { 0 };

	ews_entry_set_stat(&now, st);
	if (!from || from->type != now.type)
		return from && ews_entry_is_dir(from) && ews_entry_is_dir(&now);
	if (!from->has_stat || ews_entry_is_dir(from))
		return 1;
	if (from->ino != now.ino || from->dev != now.dev || from->size != now.size ||
	    from->mtime_s != now.mtime_s || from->mtime_ns != now.mtime_ns)
		return 0;
	if ((from->type != EWS_ENTRY_FILE && from->type != EWS_ENTRY_LINK) ||
	    (!from->is_racy && from->ctime_s == now.ctime_s && from->ctime_ns == now.ctime_ns))
		return 1;
	return holds_as_seen(put, dir_fd, name, from);
}

/* With `as_seen`, what is no longer as it was seen stays. */
static int check_seen(const struct ews_put_work *put, int dir_fd, const char *name, const struct ews_entry *from)
{
	struct stat st;
	int rc;

	if (!put->opts->as_seen || fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	rc = is_as_seen(put, dir_fd, name, from, &st);
	if (rc < 0)
		return rc;
	return rc ? 0 : ews_error(EWS_ESTALE, "it changed meanwhile, and was left as it is");
}

int ews_put_remove(const struct ews_put_work *put, int dir_fd, const char *name, const struct ews_entry *from)
{
	int rc = check_seen(put, dir_fd, name, from);

	if (rc < 0)
		return rc;
	if (!unlinkat(dir_fd, name, 0) || errno == ENOENT)
		return 0;
	if (errno != EISDIR)
		return ews_error_os("cannot remove it");
	if (!unlinkat(dir_fd, name, AT_REMOVEDIR) || errno == ENOENT)
		return 0;
	if (errno == ENOTEMPTY || errno == EEXIST)
		return ews_error(EWS_EIO, "the directory is not empty, something unknown is in it");
	return ews_error_os("cannot remove the directory");
}

/*
 * Give what is there the attributes and mode of `to` without writing it anew.
 * Returns 1, or 0 when that won't do: the content differs or isn't known for
 * sure, it isn't ours, or it has a second name that may be elsewhere.
 */
static int touch_up(struct ews_put_work *put, int dir_fd, const struct ews_change *change)
{
	const struct ews_entry *from = change->from, *to = change->to;
	EWS_CLEANUP(fd) int fd = -1;
	struct stat st;
	int rc;

	if (!from || from->type != to->type || to->type == EWS_ENTRY_LINK || from->is_racy)
		return 0;
	if (to->type == EWS_ENTRY_FILE && (ews_oid_is_none(&to->oid) || !ews_oid_equal(&from->oid, &to->oid)))
		return 0;
	fd = ews_dir_open_within(dir_fd, ews_path_base(change->path), O_PATH, put->opts->into_mounts);
	if (fd < 0)
		ews_error_clear(); /* it is gone, or another's: what takes its place says so */
	if (fd < 0 || fstat(fd, &st) < 0 || !ews_entry_stat_matches(from, &st) || st.st_nlink > 1)
		return 0;
	if (st.st_uid != put->reach.uid && put->reach.uid != 0)
		return 0;
	if ((st.st_mode & 0600) != 0600 && (from->xattrs || to->xattrs) &&
	    ews_handle_chmod(fd, (st.st_mode & 07777) | 0600) < 0)
		return ews_error_os("cannot set its mode");
	rc = ews_put_dress(put, fd, change, 0);
	return rc < 0 ? rc : 1;
}

/* Best effort: better none than half a file, the next run makes it. What somebody has put in the place of what is open as `fd` is his. */
static void unmake(int fd, int dir_fd, const char *name)
{
	struct stat made, is;

	if (fstat(fd, &made) == 0 && fstatat(dir_fd, name, &is, AT_SYMLINK_NOFOLLOW) == 0 &&
	    made.st_dev == is.st_dev && made.st_ino == is.st_ino)
		(void)unlinkat(dir_fd, name, 0);
}

static int make_file(struct ews_put_work *put, struct ews_put_worker *worker, int dir_fd,
		     const struct ews_change *change)
{
	const struct ews_entry *to = change->to;
	const char *name = ews_path_base(change->path);
	/* One that has attributes, or another owner, gets its mode after these. */
	bool has_mode = !to->xattrs && !put->opts->owners && to->mode <= 0777 && (to->mode & 0600) == 0600;
	/* What somebody writes into it before its content is there stays in it. What copies takes no such descriptor. */
	int adds = put->opts->contents || put->opts->source_fd >= 0 ? 0 : O_APPEND;
	EWS_CLEANUP(fd) int fd = -1;
	int rc;

	fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | adds,
		    has_mode ? to->mode : 0600);
	if (fd < 0)
		return ews_error_os("cannot make it");
	rc = ews_put_fill(put, worker, fd, change);
	if (rc < 0) {
		unmake(fd, dir_fd, name);
		return rc;
	}
	rc = ews_put_dress(put, fd, change,
			   (has_mode ? EWS_PUT_HAS_MODE : 0) |
				   (to->xattrs || worker->at.has_attrs ? 0 : EWS_PUT_HAS_ATTRS));
	if (close(ews_steal_fd(&fd)) < 0 && rc == 0) {
		rc = ews_error_os("cannot write it");
		(void)unlinkat(dir_fd, name, 0); /* better none than half a file, again */
	}
	return rc;
}

/* Dress the link or FIFO that was made just now, if it is still what stands there. */
static int dress_node(struct ews_put_work *put, int dir_fd, const struct ews_change *change, mode_t type)
{
	EWS_CLEANUP(fd) int fd = -1;
	struct stat st;

	fd = openat(dir_fd, ews_path_base(change->path), O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return ews_error_os("cannot look at it");
	if ((st.st_mode & S_IFMT) != type || st.st_nlink != 1)
		return ews_error(EWS_EIO, "something else took its place");
	return ews_put_dress(put, fd, change, 0);
}

static int make_link(struct ews_put_work *put, struct ews_put_worker *worker, int dir_fd,
		     const struct ews_change *change)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int rc = ews_put_read_link(&text, put, worker, change);

	if (rc < 0)
		return rc;
	if (symlinkat(text.ptr, dir_fd, ews_path_base(change->path)) < 0)
		return ews_error_os("cannot make the link");
	return dress_node(put, dir_fd, change, S_IFLNK);
}

static int make_fifo(struct ews_put_work *put, int dir_fd, const struct ews_change *change)
{
	if (mkfifoat(dir_fd, ews_path_base(change->path), 0600) < 0)
		return ews_error_os("cannot make the FIFO");
	return dress_node(put, dir_fd, change, S_IFIFO);
}

static int make_node(struct ews_put_work *put, struct ews_put_worker *worker, int dir_fd,
		     const struct ews_change *change)
{
	switch (change->to->type) {
	case EWS_ENTRY_FILE:
		return make_file(put, worker, dir_fd, change);
	case EWS_ENTRY_LINK:
		return make_link(put, worker, dir_fd, change);
	default:
		return make_fifo(put, dir_fd, change);
	}
}

int ews_put_replace(struct ews_put_work *put, struct ews_put_worker *worker, const struct ews_change *change)
{
	const char *name = ews_path_base(change->path);
	int dir_fd = ews_put_reach_parent(&put->reach, &worker->at, change->path);
	int rc;

	if (dir_fd < 0)
		return dir_fd;
	rc = touch_up(put, dir_fd, change);
	if (rc != 0)
		return rc;
	if (change->to->type == EWS_ENTRY_SOCKET || change->to->type == EWS_ENTRY_DEVICE)
		return ews_error(EWS_EUNSUPPORTED, "a %s can't be made", ews_entry_type_name(change->to->type));
	if (change->from) {
		rc = ews_put_remove(put, dir_fd, name, change->from);
		if (rc < 0)
			return rc;
	}
	rc = make_node(put, worker, dir_fd, change);
	if (rc != EWS_EEXISTS)
		return rc;
	/* Something came that was not expected; the place is taken again, once. */
	rc = ews_put_remove(put, dir_fd, name, NULL);
	if (rc < 0)
		return rc;
	return make_node(put, worker, dir_fd, change);
}
