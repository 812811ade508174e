/*
 * Put: see put.h.
 *
 * A path is reached through its parent directory, opened beneath the root and
 * kept open as long as paths of the same directory follow (struct cursor).
 * What was found or made there is held by a descriptor before anything is
 * done to it, so that a name which is swapped meanwhile hits nothing else.
 *
 * A parent that lacks u+rwx and is ours gets it; it is noted in `opened` and
 * gets its mode back at the end, deepest first, unless the changes name
 * another one. Killed in between, the next scan sees the odd mode as a change.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/put.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/handle.h"
#include "base/path.h"
#include "base/pool.h"
#include "store/xattr.h"

#define THREADS_MAX 8
#define FEW_FILES 64
#define CHUNK 32
#define OWNER_ALL 0700

/* The directory that the last path was in. */
struct cursor {
	char *dir; /* `len` bytes are compared, without a copy of the path at hand */
	size_t len;
	int fd; /* -1: none yet */
	bool has_attrs; /* what is made in it may come with some of them */
};

/* A directory that was opened up, and how it was before. */
struct opened {
	char *path;
	dev_t dev;
	ino_t ino;
	mode_t mode;
};

struct worker {
	struct cursor at;
	struct ews_dir_at source;
};

/* A file that was made, by which others that become names of it know it. */
struct made {
	dev_t dev;
	ino_t ino;
};

struct put {
	int root_fd;
	uid_t uid;
	bool is_closing; /* nothing is opened up any more */
	const struct ews_put_opts *opts;
	const struct ews_changes *changes;
	const struct ews_entries *stats;
	bool *has_failed; /* a flag for each change */
	size_t *first; /* for each change which one makes the file that it is a name of: mostly itself */
	struct made *made; /* beside the changes; NULL: no file gets several names */
	struct worker *workers;
	size_t n_parts, part_len; /* of the changes, for the threads */
	atomic_bool no_clones; /* the file system has none */

	pthread_mutex_t mutex; /* guards what follows */
	struct ews_put_report *report;
	struct opened *opened;
	size_t n_opened, cap_opened;
	size_t done;
	uint64_t bytes; /* of the files among them */
};

static void close_cursor(struct cursor *at)
{
	if (at->fd >= 0)
		close(at->fd);
	free(at->dir);
	*at = (struct cursor){ .fd = -1 };
}
EWS_CLEANUP_DEFINE(cursor, struct cursor, close_cursor)

static void release_put(struct put *put)
{
	for (size_t i = 0; i < put->n_opened; i++)
		free(put->opened[i].path);
	free(put->opened);
	free(put->has_failed);
	free(put->first);
	free(put->made);
	pthread_mutex_destroy(&put->mutex);
}
EWS_CLEANUP_DEFINE(put, struct put, release_put)

/* futimens() of any descriptor. */
static int set_mtime(int fd, int64_t seconds, uint32_t nanoseconds)
{
	const struct timespec times[2] = {
		{ .tv_nsec = UTIME_OMIT },
		{ .tv_sec = seconds, .tv_nsec = nanoseconds },
	};
	char name[EWS_HANDLE_NAME_MAX];

	if (!futimens(fd, times))
		return 0;
	return errno == EBADF ? utimensat(AT_FDCWD, ews_handle_name(name, fd), times, 0) : -1;
}

/* Give the owner, when that is us, all rights in the directory `path`, open at `fd`, and note how it was. */
static int open_up(struct put *put, const char *path, int fd)
{
	struct stat st;
	int rc = 0;

	if (fstat(fd, &st) < 0)
		return ews_error_os("cannot look at '%s'", path);
	if (put->is_closing || (st.st_mode & OWNER_ALL) == OWNER_ALL || st.st_uid != put->uid)
		return 0;
	pthread_mutex_lock(&put->mutex);
	/* Another worker may have been here while we waited. */
	if (fstat(fd, &st) < 0) {
		rc = ews_error_os("cannot look at '%s'", path);
	} else if ((st.st_mode & OWNER_ALL) != OWNER_ALL) {
		if (ews_handle_chmod(fd, (st.st_mode & 07777) | OWNER_ALL) < 0) {
			rc = ews_error_os("cannot make '%s' writable", path);
		} else {
			EWS_GROW(put->opened, put->n_opened, put->cap_opened);
			put->opened[put->n_opened++] =
				(struct opened){ ews_strdup(path), st.st_dev, st.st_ino, st.st_mode & 07777 };
		}
	}
	pthread_mutex_unlock(&put->mutex);
	return rc;
}

/* Open the directory `dir` step by step, opening up each on the way. */
static int open_stepwise(struct put *put, const char *dir)
{
	EWS_CLEANUP(free) char *path = ews_strdup(dir);
	EWS_CLEANUP(fd) int fd = fcntl(put->root_fd, F_DUPFD_CLOEXEC, 0);
	char *name = path;
	int rc;

	if (fd < 0)
		return ews_error_os("cannot use the directory");
	rc = open_up(put, "", fd);
	while (rc == 0 && *name) {
		char *end = strchrnul(name, '/');
		bool is_last = !*end;
		int next;

		*end = '\0';
		next = openat(fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			return ews_error_os("cannot open '%s'", path);
		close(fd);
		fd = next;
		rc = open_up(put, path, fd);
		if (is_last)
			break;
		*end = '/';
		name = end + 1;
	}
	return rc < 0 ? rc : ews_steal_fd(&fd);
}

/* Open the directory `dir` beneath the root, ready to be changed. Returns a descriptor. */
static int open_dir(struct put *put, const char *dir)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(put->root_fd, dir);
	int rc;

	if (fd == EWS_ENOTFOUND)
		return fd;
	if (fd < 0)
		return open_stepwise(put, dir);
	rc = open_up(put, dir, fd);
	return rc < 0 ? rc : ews_steal_fd(&fd);
}

static bool is_cursor_at(const struct cursor *at, const char *dir, size_t len)
{
	return at->fd >= 0 && at->len == len && !memcmp(at->dir, dir, len);
}

static size_t dir_len(const char *path)
{
	const char *base = ews_path_base(path);

	return base == path ? 0 : (size_t)(base - path) - 1;
}

/* Lead `at` to the directory of `path`, ready to be changed. Returns its descriptor, borrowed. */
static int open_parent(struct put *put, struct cursor *at, const char *path)
{
	size_t len = dir_len(path);
	int fd;

	if (is_cursor_at(at, path, len))
		return at->fd;
	close_cursor(at);
	at->dir = ews_strndup(path, len);
	fd = open_dir(put, at->dir);
	if (fd < 0)
		return fd;
	at->len = len;
	at->fd = fd;
	at->has_attrs = flistxattr(fd, NULL, 0) != 0;
	return fd;
}

/* Note that change `i` is done, or why not. Returns below zero when there is no point in going on. */
static int settle(struct put *put, size_t i, int rc)
{
	const struct ews_change *change = &put->changes->items[i];

	if (rc == EWS_ENOSPACE || rc == EWS_EINTERRUPTED)
		return ews_error_wrap("'%s'", change->path);
	pthread_mutex_lock(&put->mutex);
	put->done++;
	if (rc < 0) {
		EWS_CLEANUP(buf) struct ews_buf line = EWS_BUF_INIT;

		ews_path_escape(&line, change->path, strlen(change->path));
		ews_buf_addf(&line, "\t%s", ews_error_message());
		ews_strv_add(&put->report->failed, line.ptr);
		put->has_failed[i] = true;
		ews_error_clear();
	} else if (change->to) {
		put->report->written++;
		put->bytes += change->to->size;
	} else {
		put->report->removed++;
	}
	if (put->opts->progress)
		put->opts->progress(put->opts->payload, put->done, put->changes->n, put->bytes);
	pthread_mutex_unlock(&put->mutex);
	return 0;
}

static bool is_dir(const struct ews_entry *entry)
{
	return entry->type == EWS_ENTRY_DIR || entry->type == EWS_ENTRY_GITLINK;
}

/* Remove what `name` is; a directory only when it is empty. That nothing is there is fine. */
static int remove_at(int dir_fd, const char *name)
{
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

static int remove_one(struct put *put, struct cursor *at, const struct ews_change *change)
{
	int dir_fd = open_parent(put, at, change->path);

	/* Without its directory it is not there either. */
	if (dir_fd == EWS_ENOTFOUND)
		return 0;
	if (dir_fd < 0)
		return dir_fd;
	return remove_at(dir_fd, ews_path_base(change->path));
}

/* What goes, deepest first. What is replaced goes when its successor comes. */
static int remove_all(struct put *put)
{
	EWS_CLEANUP(cursor) struct cursor at = { .fd = -1 };

	for (size_t i = put->changes->n; i-- > 0;) {
		int rc;

		if (put->changes->items[i].to)
			continue;
		rc = settle(put, i, remove_one(put, &at, &put->changes->items[i]));
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int make_dir(struct put *put, struct cursor *at, const struct ews_change *change)
{
	const char *name = ews_path_base(change->path);
	int dir_fd = open_parent(put, at, change->path);
	struct stat st;
	int rc;

	if (dir_fd < 0)
		return dir_fd;
	if (!mkdirat(dir_fd, name, OWNER_ALL))
		return 0;
	if (errno != EEXIST)
		return ews_error_os("cannot make the directory");
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
		return 0;
	rc = remove_at(dir_fd, name);
	if (rc < 0)
		return rc;
	if (mkdirat(dir_fd, name, OWNER_ALL) < 0)
		return ews_error_os("cannot make the directory");
	return 0;
}

/* Directories that come, those above first; their modes wait until they are filled. */
static int make_dirs(struct put *put)
{
	EWS_CLEANUP(cursor) struct cursor at = { .fd = -1 };

	for (size_t i = 0; i < put->changes->n; i++) {
		const struct ews_change *change = &put->changes->items[i];
		int rc;

		if (!change->to || !is_dir(change->to))
			continue;
		rc = make_dir(put, &at, change);
		if (rc < 0)
			rc = settle(put, i, rc);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static void name_lost(struct put *put, const char *path, const struct ews_strv *lost)
{
	EWS_CLEANUP(buf) struct ews_buf escaped = EWS_BUF_INIT;

	ews_path_escape(&escaped, path, strlen(path));
	pthread_mutex_lock(&put->mutex);
	for (size_t i = 0; i < lost->n; i++)
		ews_strv_addf(&put->report->lost_attrs, "%s\t%s", escaped.ptr, lost->items[i]);
	pthread_mutex_unlock(&put->mutex);
}

static int write_attrs(struct put *put, int fd, const struct ews_change *change)
{
	EWS_CLEANUP(strv) struct ews_strv lost = EWS_STRV_INIT;
	int rc = ews_xattr_write_at(fd, "", change->to->xattrs, &lost);

	if (rc == 0 && lost.n)
		name_lost(put, change->path, &lost);
	return rc;
}

/* The caller sees afterwards whose it is. Where it is right already nobody needs a right to set it. */
static void write_owner(const struct put *put, int fd, const struct ews_entry *to)
{
	struct stat st;

	if (!put->opts->owners || !to->has_owner || fstat(fd, &st) < 0 ||
	    (st.st_uid == to->uid && st.st_gid == to->gid))
		return;
	(void)fchownat(fd, "", to->uid, to->gid, AT_EMPTY_PATH); /* as said above */
}

static bool is_entry_of(const struct ews_entries *list, const struct ews_entry *entry)
{
	return list && entry >= list->items && entry < list->items + list->n;
}

/*
 * Make the stat data of `entry`, when it is one of the caller's lists, those of `st`. Of a
 * directory, which has more to come, only whose it is.
 */
static void keep_stat(struct put *put, const struct ews_entry *entry, const struct stat *st)
{
	struct ews_entry *kept = (struct ews_entry *)entry;

	if (!is_entry_of(put->stats, entry) && !is_entry_of(put->opts->more_stats, entry))
		return;
	if (is_dir(entry)) {
		kept->uid = st->st_uid;
		kept->gid = st->st_gid;
		kept->has_owner = true;
		return;
	}
	ews_entry_set_stat(kept, st);
	kept->is_racy = false;
}

/* What something has from the moment it was made, if nothing came between. */
enum {
	HAS_MODE = 1,
	HAS_ATTRS = 2, /* there are to be none, and there are none */
};

/* All but the content: owner, attributes, mode, time. The attributes and the mode must be allowed to the owner now. */
static int dress(struct put *put, int fd, const struct ews_change *change, unsigned has)
{
	const struct ews_entry *to = change->to;
	bool has_mode = has & HAS_MODE;
	struct stat st;
	int rc = 0;

	/* A new owner takes bits of the mode and capabilities away. */
	write_owner(put, fd, to);
	/* Attributes first: a mode of 0444 would forbid them, an access list changes the mode. */
	if (!(has & HAS_ATTRS))
		rc = write_attrs(put, fd, change);
	if (rc < 0)
		return rc;
	if (to->type != EWS_ENTRY_LINK && !has_mode && ews_handle_chmod(fd, to->mode) < 0)
		return ews_error_os("cannot set its mode");
	if (put->opts->times == EWS_PUT_TIMES_KEEP && to->has_time && set_mtime(fd, to->mtime_s, to->mtime_ns) < 0)
		return ews_error_os("cannot set its time");
	if (fstat(fd, &st) < 0)
		return ews_error_os("cannot look at it");
	/* A umask or an access list had a say in the mode that it was made with. */
	if (has_mode && (st.st_mode & 07777) != to->mode && (ews_handle_chmod(fd, to->mode) < 0 || fstat(fd, &st) < 0))
		return ews_error_os("cannot set its mode");
	if (to->type != EWS_ENTRY_LINK && (st.st_mode & 07777) != to->mode)
		return ews_error(EWS_EIO, "its mode is %04o, %04o is not permitted here",
				 (unsigned)st.st_mode & 07777, (unsigned)to->mode);
	if (put->made)
		put->made[change - put->changes->items] = (struct made){ st.st_dev, st.st_ino };
	keep_stat(put, to, &st);
	return 0;
}

/*
 * Give what is there the attributes and mode of `to` without writing it anew.
 * Returns 1, or 0 when that won't do: the content differs or isn't known for
 * sure, it isn't ours, or it has a second name that may be elsewhere.
 */
static int touch_up(struct put *put, int dir_fd, const struct ews_change *change)
{
	const struct ews_entry *from = change->from, *to = change->to;
	EWS_CLEANUP(fd) int fd = -1;
	struct stat st;
	int rc;

	if (!from || from->type != to->type || to->type == EWS_ENTRY_LINK || from->is_racy)
		return 0;
	if (to->type == EWS_ENTRY_FILE && (ews_oid_is_none(&to->oid) || !ews_oid_equal(&from->oid, &to->oid)))
		return 0;
	fd = openat(dir_fd, ews_path_base(change->path), O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || !ews_entry_stat_matches(from, &st) || st.st_nlink > 1)
		return 0;
	if (st.st_uid != put->uid && put->uid != 0)
		return 0;
	if ((st.st_mode & 0600) != 0600 && (from->xattrs || to->xattrs) &&
	    ews_handle_chmod(fd, (st.st_mode & 07777) | 0600) < 0)
		return ews_error_os("cannot set its mode");
	rc = dress(put, fd, change, 0);
	return rc < 0 ? rc : 1;
}

/* Lead the worker to the directory that the source has for `change`. Returns its descriptor, borrowed; -1: it has none. */
static int open_source(struct put *put, struct worker *worker, const struct ews_change *change)
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
static int copy_from_source(struct put *put, struct worker *worker, int fd, const struct ews_change *change)
{
	const struct ews_entry *to = change->to;
	EWS_CLEANUP(fd) int from_fd = -1;
	struct stat st;
	int rc;

	if (open_source(put, worker, change) < 0)
		return 0;
	from_fd = openat(worker->source.fd, ews_path_base(change->path),
			 O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (from_fd < 0 || fstat(from_fd, &st) < 0 || !ews_entry_stat_matches(to, &st))
		return 0;
	rc = ews_file_copy_fd(fd, from_fd, to->size, &put->no_clones);
	if (rc == EWS_ENOSPACE)
		return rc;
	if (rc == 0 && fstat(from_fd, &st) == 0 && ews_entry_stat_matches(to, &st))
		return 1;
	if (ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return ews_error_os("cannot empty it");
	return 0;
}

static int fill(struct put *put, struct worker *worker, int fd, const struct ews_change *change)
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
	return ews_odb_write_to(fd, put->opts->odb, &change->to->oid);
}

static int make_file(struct put *put, struct worker *worker, int dir_fd, const struct ews_change *change)
{
	const struct ews_entry *to = change->to;
	const char *name = ews_path_base(change->path);
	/* One that has attributes, or another owner, gets its mode after these. */
	bool has_mode = !to->xattrs && !put->opts->owners && to->mode <= 0777 && (to->mode & 0600) == 0600;
	EWS_CLEANUP(fd) int fd = -1;
	int rc;

	fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, has_mode ? to->mode : 0600);
	if (fd < 0)
		return ews_error_os("cannot make it");
	rc = fill(put, worker, fd, change);
	if (rc < 0) {
		(void)unlinkat(dir_fd, name, 0); /* best effort: better none than half a file, the next run makes it */
		return rc;
	}
	rc = dress(put, fd, change, (has_mode ? HAS_MODE : 0) | (to->xattrs || worker->at.has_attrs ? 0 : HAS_ATTRS));
	if (close(ews_steal_fd(&fd)) < 0 && rc == 0) {
		rc = ews_error_os("cannot write it");
		(void)unlinkat(dir_fd, name, 0); /* best effort, as above */
	}
	return rc;
}

/* Dress the link or FIFO that was made just now, if it is still what stands there. */
static int dress_node(struct put *put, int dir_fd, const struct ews_change *change, mode_t type)
{
	EWS_CLEANUP(fd) int fd = -1;
	struct stat st;

	fd = openat(dir_fd, ews_path_base(change->path), O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return ews_error_os("cannot look at it");
	if ((st.st_mode & S_IFMT) != type || st.st_nlink != 1)
		return ews_error(EWS_EIO, "something else took its place");
	return dress(put, fd, change, 0);
}

/* The text of a link that no store has, when the source's is still the one that was seen. */
static int read_source_link(struct ews_buf *text, struct put *put, struct worker *worker,
			    const struct ews_change *change)
{
	const char *name = ews_path_base(change->path);
	int source = open_source(put, worker, change);
	size_t size = (size_t)change->to->size;
	struct stat st;

	if (source < 0)
		return ews_error(EWS_ENOTFOUND, "its text is not kept anywhere");
	ews_buf_reserve(text, size + 1);
	if (readlinkat(source, name, text->ptr, size + 1) != (ssize_t)size ||
	    fstatat(source, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !ews_entry_stat_matches(change->to, &st))
		return ews_error(EWS_ENOTFOUND, "it changed meanwhile");
	text->len = size;
	text->ptr[size] = '\0';
	return 0;
}

static int read_link_text(struct ews_buf *text, struct put *put, struct worker *worker,
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

static int make_link(struct put *put, struct worker *worker, int dir_fd, const struct ews_change *change)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int rc = read_link_text(&text, put, worker, change);

	if (rc < 0)
		return rc;
	if (symlinkat(text.ptr, dir_fd, ews_path_base(change->path)) < 0)
		return ews_error_os("cannot make the link");
	return dress_node(put, dir_fd, change, S_IFLNK);
}

static int make_fifo(struct put *put, int dir_fd, const struct ews_change *change)
{
	if (mkfifoat(dir_fd, ews_path_base(change->path), 0600) < 0)
		return ews_error_os("cannot make the FIFO");
	return dress_node(put, dir_fd, change, S_IFIFO);
}

static int make_node(struct put *put, struct worker *worker, int dir_fd, const struct ews_change *change)
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

static int replace(struct put *put, struct worker *worker, const struct ews_change *change)
{
	const char *name = ews_path_base(change->path);
	int dir_fd = open_parent(put, &worker->at, change->path);
	int rc;

	if (dir_fd < 0)
		return dir_fd;
	rc = touch_up(put, dir_fd, change);
	if (rc != 0)
		return rc;
	if (change->to->type == EWS_ENTRY_SOCKET || change->to->type == EWS_ENTRY_DEVICE)
		return ews_error(EWS_EUNSUPPORTED, "a %s can't be made", ews_entry_type_name(change->to->type));
	if (change->from) {
		rc = remove_at(dir_fd, name);
		if (rc < 0)
			return rc;
	}
	rc = make_node(put, worker, dir_fd, change);
	if (rc != EWS_EEXISTS)
		return rc;
	/* Something came that was not expected; the place is taken again, once. */
	rc = remove_at(dir_fd, name);
	if (rc < 0)
		return rc;
	return make_node(put, worker, dir_fd, change);
}

static bool is_leaf(const struct ews_change *change)
{
	return change->to && !is_dir(change->to);
}

/* Does it become another name of a file, and is no file of its own? */
static bool joins_another(const struct put *put, size_t i)
{
	return put->first[i] != i || put->changes->items[i].one_file;
}

static int make_leaf(size_t i, unsigned worker, void *payload)
{
	struct put *put = payload;

	if (!is_leaf(&put->changes->items[i]) || joins_another(put, i))
		return 0;
	return settle(put, i, replace(put, &put->workers[worker], &put->changes->items[i]));
}

/* A change whose file had several names in the source. */
struct name {
	uint64_t dev, ino;
	size_t at;
};

/* One directory takes one new name at a time: the threads begin far from each other. */
static int make_spread(size_t i, unsigned worker, void *payload)
{
	const struct put *put = payload;
	size_t chunk = i / CHUNK;
	size_t at = chunk % put->n_parts * put->part_len + chunk / put->n_parts * CHUNK + i % CHUNK;

	return at < put->changes->n ? make_leaf(at, worker, payload) : 0;
}

static int cmp_name(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	if (x->ino != y->ino)
		return x->ino < y->ino ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* Were these names of one file seen in the same state? Of what is ignored no content is known. */
static bool is_same_file(const struct ews_entry *a, const struct ews_entry *b)
{
	bool is_known = !ews_oid_is_none(&a->oid) && !ews_oid_is_none(&b->oid);

	return a->dev == b->dev && a->ino == b->ino && a->size == b->size && a->mode == b->mode &&
	       a->ctime_s == b->ctime_s && a->ctime_ns == b->ctime_ns && (!is_known || ews_entry_equal(a, b));
}

/* Which changes are names of one file in the source? Their stat data is the source's until the files are made. */
static void find_names(struct put *put)
{
	const struct ews_changes *changes = put->changes;
	EWS_CLEANUP(free) struct name *names = NULL;
	size_t n = 0, cap = 0;

	for (size_t i = 0; i < changes->n; i++) {
		const struct ews_entry *to = changes->items[i].to;

		if (put->opts->source_fd < 0 || !to || to->n_links < 2 || !to->has_stat || to->is_racy)
			continue;
		EWS_GROW(names, n, cap);
		names[n++] = (struct name){ to->dev, to->ino, i };
	}
	if (n)
		qsort(names, n, sizeof(*names), cmp_name);
	for (size_t k = 1; k < n; k++) {
		size_t first = put->first[names[k - 1].at];

		if (is_same_file(changes->items[first].to, changes->items[names[k].at].to))
			put->first[names[k].at] = first;
	}
}

/* Which change makes the file that another one is to be a name of? Where none does, that file stays. */
static void find_firsts(struct put *put)
{
	const struct ews_changes *changes = put->changes;
	bool has_names = false;

	put->first = ews_calloc(changes->n + 1, sizeof(*put->first));
	for (size_t i = 0; i < changes->n; i++) {
		const struct ews_entry *one = changes->items[i].one_file;
		const struct ews_change *first = one ? ews_changes_find(changes, one->path) : NULL;

		put->first[i] = first && first->to == one ? (size_t)(first - changes->items) : i;
	}
	find_names(put);
	for (size_t i = 0; i < changes->n; i++)
		has_names = has_names || joins_another(put, i);
	if (has_names)
		put->made = ews_calloc(changes->n, sizeof(*put->made));
}

/* Is `st` that of the file that change `i` is to be a name of? A new name moves its ctime, but nothing else. */
static bool is_first(const struct put *put, size_t i, const struct stat *st)
{
	const struct ews_entry *one = put->changes->items[i].one_file;
	const struct made *made = &put->made[put->first[i]];

	if (put->first[i] != i)
		return st->st_dev == made->dev && st->st_ino == made->ino;
	return S_ISREG(st->st_mode) && st->st_dev == one->dev && st->st_ino == one->ino &&
	       (uint64_t)st->st_size == one->size && (st->st_mode & 07777) == one->mode &&
	       st->st_mtim.tv_sec == one->mtime_s && (uint32_t)st->st_mtim.tv_nsec == one->mtime_ns;
}

/* Hold the file that change `i` is to be a name of. Returns a descriptor, or -1 when it isn't there. */
static int hold_first(struct put *put, size_t i)
{
	EWS_CLEANUP(cursor) struct cursor at = { .fd = -1 };
	size_t first = put->first[i];
	const char *path = first != i ? put->changes->items[first].path : put->changes->items[i].one_file->path;
	int dir_fd = put->has_failed[first] ? -1 : open_parent(put, &at, path);
	EWS_CLEANUP(fd) int fd = -1;
	struct stat st;

	if (dir_fd >= 0)
		fd = openat(dir_fd, ews_path_base(path), O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || !is_first(put, i, &st)) {
		ews_error_clear();
		return -1;
	}
	return ews_steal_fd(&fd);
}

/* Give the file that is held the name of `change`. Returns 1, or 0 where it can't have it. */
static int link_held(struct put *put, int fd, int dir_fd, const struct ews_change *change)
{
	EWS_CLEANUP(strv) struct ews_strv lost = EWS_STRV_INIT;
	const char *name = ews_path_base(change->path);
	char held[EWS_HANDLE_NAME_MAX];
	int rc = change->from ? remove_at(dir_fd, name) : 0;

	for (int tries = 0; tries < 2 && rc == 0; tries++) {
		if (!linkat(AT_FDCWD, ews_handle_name(held, fd), dir_fd, name, AT_SYMLINK_FOLLOW))
			return 1;
		/* Something came that was not expected; the place is taken again, once. */
		if (errno != EEXIST)
			break;
		rc = remove_at(dir_fd, name);
	}
	if (rc < 0 || (errno != EPERM && errno != EACCES && errno != EMLINK && errno != EXDEV && errno != ENOTSUP))
		return rc;
	ews_strv_add(&lost, "hard link");
	name_lost(put, change->path, &lost);
	return 0;
}

/* Give a file another name. Where that can't be it becomes a file of its own. */
static int add_name(struct put *put, struct worker *worker, size_t i)
{
	const struct ews_change *change = &put->changes->items[i];
	EWS_CLEANUP(fd) int held = hold_first(put, i);
	int dir_fd = open_parent(put, &worker->at, change->path);
	int rc;

	if (dir_fd < 0)
		return dir_fd;
	rc = held < 0 ? 0 : link_held(put, held, dir_fd, change);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	return replace(put, worker, change);
}

/* A file's ctime moves with each of its names, so stat data is taken when it has all of them. */
static int keep_stat_of(struct put *put, struct worker *worker, size_t i)
{
	const struct ews_change *change = &put->changes->items[i];
	int dir_fd = open_parent(put, &worker->at, change->path);
	struct stat st;

	if (dir_fd < 0)
		return dir_fd;
	if (fstatat(dir_fd, ews_path_base(change->path), &st, AT_SYMLINK_NOFOLLOW) < 0)
		return ews_error_os("cannot look at '%s'", change->path);
	keep_stat(put, change->to, &st);
	return 0;
}

/*
 * A file that stays may be older than what is made from it, and so would the name be that it has been given: where
 * others are as new as they are written, it is, too.
 */
static int freshen(struct put *put, struct worker *worker, size_t i)
{
	const struct timespec now[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_nsec = UTIME_NOW } };
	const struct ews_change *change = &put->changes->items[i];
	const struct ews_entry *one = change->one_file;
	int dir_fd;

	if (put->opts->times != EWS_PUT_TIMES_FRESH || put->first[i] != i || put->has_failed[i] ||
	    (one->mtime_s == change->to->mtime_s && one->mtime_ns == change->to->mtime_ns))
		return 0;
	dir_fd = open_parent(put, &worker->at, change->path);
	if (dir_fd < 0)
		return dir_fd;
	if (utimensat(dir_fd, ews_path_base(change->path), now, AT_SYMLINK_NOFOLLOW) < 0)
		return ews_error_os("cannot set the time of '%s'", change->path);
	return 0;
}

static int add_names(struct put *put)
{
	struct worker worker = { { .fd = -1 }, EWS_DIR_AT_INIT };
	bool keeps_stats = put->stats || put->opts->more_stats;
	int rc = 0;

	for (size_t i = 0; i < put->changes->n && rc == 0 && put->made; i++)
		if (joins_another(put, i))
			rc = settle(put, i, add_name(put, &worker, i));
	/* Only now: by its time it was known until here. */
	for (size_t i = 0; i < put->changes->n && rc == 0 && put->made; i++) {
		int flaw = joins_another(put, i) ? freshen(put, &worker, i) : 0;

		if (flaw < 0)
			rc = settle(put, i, flaw);
	}
	for (size_t i = 0; i < put->changes->n && rc == 0 && put->made && keeps_stats; i++) {
		size_t first = put->first[i];

		if (!joins_another(put, i) || put->has_failed[i])
			continue;
		rc = keep_stat_of(put, &worker, i);
		if (rc == 0 && first != i && !put->has_failed[first])
			rc = keep_stat_of(put, &worker, first);
	}
	close_cursor(&worker.at);
	ews_dir_at_release(&worker.source);
	return rc;
}

/* How many threads make the files and links? Who copies waits for locks of the file system more than for a processor. */
static unsigned count_threads(const struct put *put)
{
	unsigned threads = ews_pool_threads();
	size_t n = 0, n_copied = 0;

	for (size_t i = 0; i < put->changes->n; i++) {
		n += is_leaf(&put->changes->items[i]);
		n_copied += is_leaf(&put->changes->items[i]) && put->changes->items[i].to->has_stat;
	}
	if (n < FEW_FILES || put->opts->contents)
		return 1;
	if (put->opts->threads)
		return put->opts->threads;
	return put->opts->source_fd >= 0 && n_copied > n / 2 && threads <= THREADS_MAX / 2 ? 2 * threads : threads;
}

/* Files and links. In the order of the list one directory's paths mostly stand together. */
static int make_leaves(struct put *put)
{
	unsigned threads = count_threads(put);
	int rc = 0;

	put->workers = ews_calloc(threads, sizeof(*put->workers));
	for (unsigned k = 0; k < threads; k++)
		put->workers[k] = (struct worker){ { .fd = -1 }, EWS_DIR_AT_INIT };
	put->n_parts = threads;
	put->part_len = (put->changes->n / threads / CHUNK + 1) * CHUNK;
	if (!put->opts->contents)
		rc = ews_pool_for(put->n_parts * put->part_len, CHUNK, threads, make_spread, put);
	for (size_t i = 0; put->opts->contents && i < put->changes->n && rc == 0; i++)
		rc = make_leaf(put->opts->contents->order[i], 0, put);
	for (unsigned k = 0; k < threads; k++) {
		close_cursor(&put->workers[k].at);
		ews_dir_at_release(&put->workers[k].source);
	}
	free(ews_steal(&put->workers));
	return rc;
}

/* Open the directory `path` itself, whatever its mode, without following. */
static int open_made(struct put *put, struct cursor *at, const char *path)
{
	int dir_fd, fd;

	dir_fd = *path ? open_parent(put, at, path) : put->root_fd;
	if (dir_fd < 0)
		return dir_fd;
	fd = openat(dir_fd, *path ? ews_path_base(path) : ".", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return ews_error_os("cannot open the directory");
	return fd;
}

static int dress_dir(struct put *put, struct cursor *at, const struct ews_change *change)
{
	EWS_CLEANUP(fd) int fd = open_made(put, at, change->path);
	struct stat st;

	if (fd < 0)
		return fd;
	/* A nested repository that stays one is not ours to change. */
	if (change->from && change->from->type == EWS_ENTRY_GITLINK && change->to->type == EWS_ENTRY_GITLINK)
		return 0;
	if (fstat(fd, &st) < 0)
		return ews_error_os("cannot look at it");
	if ((st.st_mode & 0600) != 0600 && st.st_uid == put->uid && ews_handle_chmod(fd, OWNER_ALL) < 0)
		return ews_error_os("cannot make the directory writable");
	return dress(put, fd, change, 0);
}

/* Give a directory that was opened up its mode back, if it is still there. */
static int close_again(struct put *put, struct cursor *at, const struct opened *opened)
{
	EWS_CLEANUP(fd) int fd = open_made(put, at, opened->path);
	struct stat st;

	if (fd == EWS_ENOTFOUND)
		return 0;
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return ews_error_os("cannot look at it");
	if (st.st_dev != opened->dev || st.st_ino != opened->ino)
		return 0;
	if (ews_handle_chmod(fd, opened->mode) < 0)
		return ews_error_os("cannot set its mode back");
	return 0;
}

static int cmp_opened(const void *a, const void *b)
{
	return ews_path_cmp(((const struct opened *)a)->path, ((const struct opened *)b)->path);
}

static void name_unclosed(struct put *put, const struct opened *opened)
{
	EWS_CLEANUP(buf) struct ews_buf line = EWS_BUF_INIT;

	ews_path_escape(&line, opened->path, strlen(opened->path));
	ews_buf_addf(&line, "\t%s", ews_error_message());
	ews_strv_add(&put->report->failed, line.ptr);
	ews_error_clear();
}

/*
 * Modes and times of directories, deepest first: of those among the first `n` changes, and of
 * those that were opened up. Where both speak of a directory, the change is right.
 */
static int dress_dirs(struct put *put, size_t n)
{
	EWS_CLEANUP(cursor) struct cursor at = { .fd = -1 };
	struct ews_error_saved fatal = EWS_ERROR_SAVED_INIT;
	size_t k = put->n_opened;

	put->is_closing = true;
	if (k)
		qsort(put->opened, k, sizeof(*put->opened), cmp_opened);
	while (n || k) {
		const struct ews_change *change = n ? &put->changes->items[n - 1] : NULL;
		const struct opened *opened = k ? &put->opened[k - 1] : NULL;
		int order = !change ? -1 : !opened ? 1 : ews_path_cmp(change->path, opened->path);

		if (order < 0) {
			k--;
			if (close_again(put, &at, opened) < 0)
				name_unclosed(put, opened);
			continue;
		}
		n--;
		if (!change->to || !is_dir(change->to) || put->has_failed[n])
			continue;
		if (order == 0)
			k--;
		if (settle(put, n, dress_dir(put, &at, change)) < 0) {
			/* No space for an attribute: close what was opened up all the same. */
			ews_error_save(&fatal);
			n = 0;
		}
	}
	return fatal.code ? ews_error_restore(&fatal) : 0;
}

/* Paths come from files that somebody may have written. */
static int check_path(const char *path)
{
	if (!ews_path_is_plain(path))
		return ews_error(EWS_EDAMAGED, "'%s' is no path inside a directory", path);
	return 0;
}

static void init_put(struct put *put, int root_fd)
{
	*put = (struct put){ .root_fd = root_fd, .uid = geteuid() };
	pthread_mutex_init(&put->mutex, NULL);
}

int ews_put(struct ews_put_report *report, const struct ews_changes *changes, struct ews_entries *stats,
	    const struct ews_put_opts *opts)
{
	EWS_CLEANUP(put) struct put put;
	struct ews_error_saved fatal = EWS_ERROR_SAVED_INIT;
	int rc;

	init_put(&put, opts->root_fd);
	put.opts = opts;
	put.changes = changes;
	put.stats = stats;
	put.report = report;
	put.has_failed = ews_calloc(changes->n + 1, sizeof(*put.has_failed));
	for (size_t i = 0; i < changes->n; i++) {
		rc = check_path(changes->items[i].path);
		if (rc < 0)
			return rc;
	}
	find_firsts(&put);
	rc = remove_all(&put);
	if (rc == 0)
		rc = make_dirs(&put);
	if (rc == 0)
		rc = make_leaves(&put);
	if (rc == 0)
		rc = add_names(&put);
	if (rc < 0) {
		ews_error_save(&fatal);
		(void)dress_dirs(&put, 0); /* what cannot be closed is named in the report */
		rc = ews_error_restore(&fatal);
	} else {
		rc = dress_dirs(&put, changes->n);
	}
	ews_strv_sort(&report->failed);
	ews_strv_sort(&report->lost_attrs);
	if (rc < 0)
		return rc;
	if (report->failed.n)
		return ews_error(EWS_EIO, "%zu of %zu paths could not be put", report->failed.n, changes->n);
	return 0;
}

/* Moving a directory to another one writes into it (its ".."), so it must be writable itself. */
static int rename_whole(int from_fd, const char *from, int to_fd, const char *to)
{
	EWS_CLEANUP(fd) int fd = openat(from_fd, from, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	bool is_opened;
	int rc;

	if (fd < 0 || fstat(fd, &st) < 0)
		return ews_error_os("cannot look at '%s'", from);
	is_opened = S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 0200);
	if (is_opened && ews_handle_chmod(fd, (st.st_mode & 07777) | 0200) < 0)
		return ews_error_os("cannot make '%s' writable", from);
	rc = ews_file_rename_new(from_fd, from, to_fd, to);
	if (is_opened && ews_handle_chmod(fd, st.st_mode & 07777) < 0 && rc == 0)
		return ews_error_os("cannot set the mode of '%s' back", to);
	return rc;
}

/* Close what open_parent() opened up; the error that is set outlives it. */
static int close_all(struct put *put, int rc)
{
	EWS_CLEANUP(cursor) struct cursor at = { .fd = -1 };
	struct ews_error_saved first = EWS_ERROR_SAVED_INIT;

	if (rc < 0)
		ews_error_save(&first);
	put->is_closing = true;
	if (put->n_opened)
		qsort(put->opened, put->n_opened, sizeof(*put->opened), cmp_opened);
	for (size_t i = put->n_opened; i-- > 0;) {
		if (close_again(put, &at, &put->opened[i]) < 0 && !first.code)
			ews_error_save(&first);
	}
	return first.code ? ews_error_restore(&first) : 0;
}

int ews_put_away(int root_fd, const char *path, int keep_fd, const char *name)
{
	EWS_CLEANUP(cursor) struct cursor at = { .fd = -1 };
	EWS_CLEANUP(put) struct put put;
	int rc;

	init_put(&put, root_fd);
	rc = check_path(path);
	if (rc == 0)
		rc = open_parent(&put, &at, path);
	if (rc >= 0)
		rc = rename_whole(rc, ews_path_base(path), keep_fd, name);
	return close_all(&put, rc);
}

int ews_put_back(int root_fd, const char *path, int keep_fd, const char *name)
{
	EWS_CLEANUP(cursor) struct cursor at = { .fd = -1 };
	EWS_CLEANUP(put) struct put put;
	int rc;

	init_put(&put, root_fd);
	rc = check_path(path);
	if (rc == 0)
		rc = open_parent(&put, &at, path);
	if (rc >= 0)
		rc = rename_whole(keep_fd, name, rc, ews_path_base(path));
	return close_all(&put, rc);
}

void ews_put_report_release(struct ews_put_report *report)
{
	ews_strv_release(&report->failed);
	ews_strv_release(&report->lost_attrs);
	*report = (struct ews_put_report)EWS_PUT_REPORT_INIT;
}
