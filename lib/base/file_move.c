/*
 * Files: renaming what is there, also where an overlay can't.
 *
 * An overlay that writes no redirects (the kernel's default, and that of containers) says EXDEV to rename(2) of a directory that is in a
 * lower layer, in one parent as well. A file of a lower layer can be renamed, and so can a directory that was made since. So one is made in
 * the old directory, as HALF, the entries go into it one by one, what is a directory likewise, and at last it is renamed to where the old one
 * was to go:
 *
 *     from/{a,b/c}  ->  from/{b/c,HALF/a}  ->  from/HALF/{a,b/c}  ->  to/{a,b/c}, from/
 *
 * Until then all is below `from`, and whoever is to finish it, or to take it back, finds it there. Before its new name HALF gets what the old
 * directory had of its own, and the old one a mode that nobody gives to a directory; so what stays behind, empty, is known. Of what is
 * in both parts the one outside of HALF is newer: somebody made it meanwhile. A file that is newer than a directory, or the other way round,
 * is no later version of it, and can't be put over it: the older one stays beside, as <name>.ews-older-1.
 *
 * A tree may be as deep as descriptors reach, two a level. What is mounted in it can't be moved.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/handle.h"
#include "base/path.h"
#include "base/str.h"

#define HALF ".ews-half-moved"
#define OLDER ".ews-older"
#define LEFT_MODE 05700
#define OPEN_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
/* How often a directory may be found refilled by somebody else. */
#define REFILLS_MAX 8
#define OLDER_MAX 1000

/* A directory that is emptied or filled: it is made writable for that, where it is ours and isn't. */
struct opened {
	int fd;
	struct stat st; /* as it was found */
	bool is_opened_up;
};

#define OPENED_INIT { .fd = -1 }

/* Those that stay get their mode back. */
static void release_opened(struct opened *dir)
{
	if (dir->is_opened_up)
		(void)fchmod(dir->fd,
			     dir->st.st_mode & 07777); /* best effort, as it is gone, or an error is on its way */
	ews_cleanup_fd(&dir->fd);
}

EWS_CLEANUP_DEFINE(opened, struct opened, release_opened)

static int open_dir(struct opened *out, int dir_fd, const char *name)
{
	EWS_CLEANUP(fd) int fd = openat(dir_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &out->st) < 0)
		return ews_error_os("cannot open '%s'", name);
	if (out->st.st_uid == geteuid() && faccessat(fd, ".", R_OK | W_OK | X_OK, AT_EACCESS) < 0) {
		if (ews_handle_chmod(fd, (out->st.st_mode & 07777) | 0700) < 0)
			return ews_error_os("cannot make '%s' writable", name);
		out->is_opened_up = true;
	}
	out->fd = openat(dir_fd, name, OPEN_FLAGS);
	return out->fd < 0 ? ews_error_os("cannot open '%s'", name) : 0;
}

bool ews_file_is_one_mount(int a_fd, int b_fd)
{
	struct statx a, b;

	if (statx(a_fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &a) < 0 ||
	    statx(b_fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &b) < 0)
		return true; /* the rename will tell */
	return a.stx_dev_major == b.stx_dev_major && a.stx_dev_minor == b.stx_dev_minor &&
	       (!(a.stx_mask & b.stx_mask & STATX_MNT_ID) || a.stx_mnt_id == b.stx_mnt_id);
}

/* ---- what a directory has of its own ---- */

/* Those of the kernel's and of its administrator may be refused. */
static bool may_be_refused(const char *name, int err)
{
	return (err == EPERM || err == ENOTSUP) &&
	       (ews_str_after(name, "security.") || ews_str_after(name, "trusted."));
}

static int copy_xattr(int to_fd, int from_fd, const char *name)
{
	EWS_CLEANUP(buf) struct ews_buf value = EWS_BUF_INIT;
	int rc = ews_handle_xattr_read(&value, from_fd, name);

	if (rc > 0 && ews_handle_xattr_set(to_fd, name, value.ptr, value.len) < 0)
		rc = ews_error_os("cannot copy the attribute '%s'", name);
	if (rc >= 0)
		return 0;
	if (!may_be_refused(name, ews_error_errno()))
		return rc;
	ews_error_clear();
	return 0;
}

/* Also those go that it was made with, as a default access list leaves one. */
static int copy_xattrs(int to_fd, int from_fd)
{
	EWS_CLEANUP(buf) struct ews_buf have = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf want = EWS_BUF_INIT;
	int rc = ews_handle_xattr_names(&have, to_fd);

	if (rc == 0)
		rc = ews_handle_xattr_names(&want, from_fd);
	for (const char *name = have.ptr; rc == 0 && have.len && name < have.ptr + have.len; name += strlen(name) + 1)
		if ((!want.len || !memmem(want.ptr, want.len, name, strlen(name) + 1)) &&
		    ews_handle_xattr_remove(to_fd, name) < 0 && !may_be_refused(name, errno))
			rc = ews_error_os("cannot remove the attribute '%s'", name);
	for (const char *name = want.ptr; rc == 0 && want.len && name < want.ptr + want.len; name += strlen(name) + 1)
		rc = copy_xattr(to_fd, from_fd, name);
	return rc;
}

/* `to_fd` as the directory open at `from_fd` was when `st` was taken of it. */
static int dress(int to_fd, int from_fd, const struct stat *st)
{
	const struct timespec times[2] = { st->st_atim, st->st_mtim };
	struct stat now;
	int rc = fstat(to_fd, &now) < 0 ? ews_error_os("cannot look at it") : 0;

	if (rc == 0 && (now.st_uid != st->st_uid || now.st_gid != st->st_gid) &&
	    fchown(to_fd, st->st_uid, st->st_gid) < 0)
		rc = ews_error_os("cannot set its owner");
	if (rc == 0)
		rc = copy_xattrs(to_fd, from_fd);
	if (rc == 0 && (fchmod(to_fd, st->st_mode & 07777) < 0 || futimens(to_fd, times) < 0))
		rc = ews_error_os("cannot set its mode");
	if (rc == 0 && fsync(to_fd) < 0)
		rc = ews_error_os("cannot sync it");
	return rc;
}

/* ---- entries ---- */

static bool is_dir(int dir_fd, const char *name)
{
	int err = errno;
	struct stat st;
	bool is = fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);

	errno = err;
	return is;
}

/* Is it a directory on one side alone? */
static bool are_unlike(int a_fd, int b_fd, const char *name)
{
	int err = errno;
	struct stat a, b;
	bool are = fstatat(a_fd, name, &a, AT_SYMLINK_NOFOLLOW) == 0 &&
		   fstatat(b_fd, name, &b, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(a.st_mode) != S_ISDIR(b.st_mode);

	errno = err;
	return are;
}

/* Give what is older than the one of its name in `newer_fd` a name that is free in both. There is room for what we add to a long one. */
static int put_aside(int dir_fd, const char *name, int newer_fd)
{
	for (unsigned i = 1; i <= OLDER_MAX; i++) {
		EWS_CLEANUP(free) char *older = ews_strfmt("%.200s" OLDER "-%u", name, i);
		bool is_free = faccessat(newer_fd, older, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
		int rc = is_free ? ews_file_rename_new(dir_fd, name, dir_fd, older) : EWS_EEXISTS;

		if (rc != EWS_EEXISTS)
			return rc;
		ews_error_clear();
	}
	return ews_error(EWS_EEXISTS, "there are too many that are called '%s" OLDER "-...'", name);
}

static int move_all(int from_fd, int to_fd, const char *but, bool back);

/* A directory into one of its name, which may be there from the try before. */
static int move_below(int from_fd, const char *name, int to_fd, bool back)
{
	EWS_CLEANUP(opened) struct opened from = OPENED_INIT;
	EWS_CLEANUP(opened) struct opened to = OPENED_INIT;
	bool is_new = mkdirat(to_fd, name, 0700) == 0;
	int rc = is_new || errno == EEXIST ? 0 : ews_error_os("cannot make '%s'", name);

	if (rc == 0)
		rc = open_dir(&from, from_fd, name);
	if (rc == 0)
		rc = open_dir(&to, to_fd, name);
	if (rc == 0)
		rc = move_all(from.fd, to.fd, NULL, back);
	/* On the way back the one that stands there is the old one. */
	if (rc == 0 && (is_new || !back)) {
		to.is_opened_up = false;
		rc = dress(to.fd, from.fd, &from.st);
	}
	if (rc == 0 && unlinkat(from_fd, name, AT_REMOVEDIR) < 0)
		rc = ews_error_os("cannot remove '%s'", name);
	return rc < 0 ? ews_error_wrap("'%s'", name) : 0;
}

static int move_one(int from_fd, const char *name, int to_fd, bool back)
{
	if (renameat2(from_fd, name, to_fd, name, back ? RENAME_NOREPLACE : 0) == 0 || errno == ENOENT)
		return 0; /* or somebody took it away */
	/* Once that is away the next look at what is left here finds what can be moved. */
	if (are_unlike(from_fd, to_fd, name))
		return back ? put_aside(from_fd, name, to_fd) : put_aside(to_fd, name, from_fd);
	if ((errno == EXDEV || errno == EEXIST || errno == ENOTEMPTY || errno == EACCES) && is_dir(from_fd, name))
		return move_below(from_fd, name, to_fd, back);
	if (errno == EEXIST && unlinkat(from_fd, name, 0) == 0)
		return 0; /* the one that was made since stays */
	return ews_error_os("cannot move '%s'", name);
}

/* All that is in the one directory, but for `but`, into the other. */
static int move_all(int from_fd, int to_fd, const char *but, bool back)
{
	for (int tries = 0; tries < REFILLS_MAX; tries++) {
		EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
		ssize_t n = ews_dir_names_read(&names, from_fd), moved = 0;

		if (n < 0)
			return (int)n;
		for (ssize_t i = 0; i < n; i++) {
			if (but && !strcmp(names.items[i].name, but))
				continue;
			if (move_one(from_fd, names.items[i].name, to_fd, back) < 0)
				return ews_error_code();
			moved++;
		}
		if (!moved)
			return 0;
	}
	return ews_error(EWS_EBUSY, "somebody fills it while it is moved");
}

/* ---- the whole ---- */

/* By a mode that we gave it: was it renamed, but for what is left here? `st` becomes what it was like before, as HALF has it. */
static int find_former(struct stat *st, int fd)
{
	struct stat half;

	if ((st->st_mode & 07777) != LEFT_MODE)
		return 0;
	if (fstatat(fd, HALF, &half, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 1 : ews_error_os("cannot look at '" HALF "'");
	st->st_mode = half.st_mode;
	st->st_atim = half.st_atim;
	st->st_mtim = half.st_mtim;
	return 0;
}

/* Take away what is left, empty, of a directory that was renamed. Is it gone? */
static bool drop_left(int dir_fd, const char *name)
{
	EWS_CLEANUP(fd) int fd = openat(dir_fd, name, OPEN_FLAGS);
	int err = errno;
	struct stat st;
	bool is_gone = fd >= 0 && fstat(fd, &st) == 0 && find_former(&st, fd) > 0 &&
		       unlinkat(dir_fd, name, AT_REMOVEDIR) == 0;

	errno = err;
	return is_gone;
}

int ews_file_settle(int dir_fd, const char *name)
{
	EWS_CLEANUP(fd) int fd = openat(dir_fd, name, OPEN_FLAGS);
	EWS_CLEANUP(fd) int half = fd < 0 ? -1 : openat(fd, HALF, OPEN_FLAGS);
	struct timespec times[2];
	struct stat st, now;
	int rc;

	if (half < 0 || fstat(fd, &st) < 0) {
		(void)drop_left(dir_fd, name);
		return 0;
	}
	now = st;
	rc = find_former(&st, fd);
	/* That was moved as well: an image was made of what a killed call left. */
	if (rc == 0)
		rc = ews_file_settle(fd, HALF);
	if (rc == 0)
		rc = move_all(half, fd, NULL, true);
	if (rc == 0 && unlinkat(fd, HALF, AT_REMOVEDIR) < 0)
		rc = ews_error_os("cannot remove '" HALF "'");
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	if (rc == 0 && now.st_mode != st.st_mode && (fchmod(fd, st.st_mode & 07777) < 0 || futimens(fd, times) < 0))
		rc = ews_error_os("cannot set its mode");
	return rc < 0 ? ews_error_wrap("cannot move '%s' back", name) : 0;
}

static int rename_plainly(int from_fd, const char *from, int to_fd, const char *to)
{
	struct stat st;
	int rc = renameat2(from_fd, from, to_fd, to, RENAME_NOREPLACE);

	if (rc < 0 && (errno == EINVAL || errno == ENOSYS)) {
		/* A file system that can't promise it: look, then rename. */
		if (!fstatat(to_fd, to, &st, AT_SYMLINK_NOFOLLOW))
			errno = EEXIST;
		else if (errno == ENOENT)
			rc = renameat(from_fd, from, to_fd, to);
	}
	/* Between two mounts the kernel does not even look. */
	if (rc < 0 && errno == EXDEV && fstatat(from_fd, from, &st, AT_SYMLINK_NOFOLLOW) == 0)
		errno = EXDEV;
	return rc < 0 ? ews_error_os("cannot rename '%s' to '%s'", from, to) : 0;
}

/* Into HALF, which is dressed then, and `dir` is marked as what will be left. `*is_old`: it was there before. */
static int fill_half(struct opened *dir, bool *is_old)
{
	EWS_CLEANUP(opened) struct opened half = OPENED_INIT;
	int rc = find_former(&dir->st, dir->fd);

	*is_old = rc == 0 && mkdirat(dir->fd, HALF, 0700) < 0;
	if (*is_old && errno != EEXIST)
		return ews_error_os("cannot make '" HALF "'");
	if (rc == 0)
		rc = open_dir(&half, dir->fd, HALF);
	if (rc == 0)
		rc = move_all(dir->fd, half.fd, HALF, false);
	half.is_opened_up = false;
	if (rc == 0)
		rc = dress(half.fd, dir->fd, &dir->st);
	if (rc == 0 && fchmod(dir->fd, LEFT_MODE) < 0)
		rc = ews_error_os("cannot set its mode");
	return rc;
}

static int move_dir(int from_fd, const char *from, int to_fd, const char *to)
{
	EWS_CLEANUP(opened) struct opened dir = OPENED_INIT;
	struct ews_error_saved saved = EWS_ERROR_SAVED_INIT;
	struct timespec times[2];
	bool is_old = false;
	int rc = open_dir(&dir, from_fd, from);

	if (rc == 0)
		rc = fill_half(&dir, &is_old);
	if (rc == 0)
		rc = is_old ? ews_file_rename_new(dir.fd, HALF, to_fd, to) : rename_plainly(dir.fd, HALF, to_fd, to);
	if (rc == 0) {
		/* Not empty: what somebody wrote there meanwhile stays where he did. */
		dir.is_opened_up = unlinkat(from_fd, from, AT_REMOVEDIR) < 0;
		return 0;
	}
	ews_error_save(&saved);
	times[0] = dir.st.st_atim;
	times[1] = dir.st.st_mtim;
	/* Best effort: the next try goes on with what is in two parts. */
	if (dir.fd >= 0 && ews_file_settle(from_fd, from) == 0)
		(void)futimens(dir.fd, times);
	return ews_error_restore(&saved);
}

/* Does that lie on one mount with where it is to go, so that another way is worth trying? */
static bool is_refused(int from_fd, const char *from, int to_fd, const char *to)
{
	EWS_CLEANUP(free) char *above = ews_path_dir(to);
	EWS_CLEANUP(fd) int to_dir = openat(to_fd, *above ? above : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	EWS_CLEANUP(fd) int dir = openat(from_fd, from, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return dir >= 0 && to_dir >= 0 && ews_file_is_one_mount(dir, to_dir);
}

int ews_file_rename_new(int from_fd, const char *from, int to_fd, const char *to)
{
	int rc = rename_plainly(from_fd, from, to_fd, to);

	if (rc < 0 && errno == EXDEV && is_dir(from_fd, from) && is_refused(from_fd, from, to_fd, to)) {
		ews_error_clear();
		rc = move_dir(from_fd, from, to_fd, to);
	} else if (rc == EWS_EEXISTS && drop_left(from_fd, from)) {
		ews_error_clear();
		rc = 0;
	} else if (rc == EWS_EEXISTS && drop_left(to_fd, to)) {
		ews_error_clear();
		rc = ews_file_rename_new(from_fd, from, to_fd, to);
	} else if (rc == EWS_ENOTFOUND && ews_file_settle(to_fd, to) < 0) {
		rc = ews_error_code();
	}
	return rc;
}
