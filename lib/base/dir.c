/*
 * Directories: see dir.h.
 *
 * A path beneath a descriptor is opened in one call where it can be. It is
 * opened step by step, each step refusing links, where the kernel has no
 * openat2 (or a filter forbids it) and where the path is too long for a call.
 * When a function fails, errno still says why.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sync.h"

#define HERE_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC)
/* For directories that are only passed through: needs no right to read them. */
#define STEP_FLAGS (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define CHUNK_BYTES (32 * 1024)
#define LINK_ROOM 256 /* for most */

/* Close without losing errno, which tells the caller what went wrong. */
static void close_quietly(int fd)
{
	int err = errno;

	if (fd >= 0)
		(void)close(fd); /* nothing was written through it */
	errno = err;
}

/* Is something mounted at what is open at `fd`, which was found in the directory `dir_fd`? */
static bool is_mounted(int dir_fd, int fd)
{
	struct stat dir, st;
	struct statx stx;

	if (statx(fd, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT, STATX_TYPE, &stx) == 0 &&
	    (stx.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT))
		return stx.stx_attributes & STATX_ATTR_MOUNT_ROOT;
	/* An older kernel tells other file systems alone. */
	return fstat(dir_fd, &dir) == 0 && fstat(fd, &st) == 0 && dir.st_dev != st.st_dev;
}

/* Open one component. A link where none may be is ELOOP, as with openat2; so is another mount EXDEV, where `resolve` forbids it. */
static int open_step(int dir_fd, const char *name, int flags, mode_t mode, uint64_t resolve)
{
	struct stat st;
	int fd;

	if (!strcmp(name, "..")) {
		errno = EXDEV;
		return -1;
	}
	fd = openat(dir_fd, name, flags | O_NOFOLLOW, mode);
	if (fd < 0 && errno == ENOTDIR) {
		if (!fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISLNK(st.st_mode))
			errno = ELOOP;
		else
			errno = ENOTDIR;
	}
	if (fd >= 0 && (resolve & RESOLVE_NO_XDEV) && is_mounted(dir_fd, fd)) {
		close_quietly(fd);
		errno = EXDEV;
		return -1;
	}
	return fd;
}

static int open_by_steps(int root_fd, const char *rel, int flags, mode_t mode, uint64_t resolve)
{
	char name[NAME_MAX + 1];
	int fd, dir_fd = root_fd;
	const char *next;
	size_t len;

	if (*rel == '/') {
		errno = EXDEV;
		return -1;
	}
	do {
		len = strcspn(rel, "/");
		next = rel + len;
		next += strspn(next, "/");
		if (len > NAME_MAX) {
			errno = ENAMETOOLONG;
			fd = -1;
		} else {
			memcpy(name, rel, len);
			name[len] = '\0';
			fd = *next ? open_step(dir_fd, name, STEP_FLAGS, 0, resolve)
				   : open_step(dir_fd, name, flags, mode, resolve);
		}
		if (dir_fd != root_fd)
			close_quietly(dir_fd);
		dir_fd = fd;
		rel = next;
	} while (fd >= 0 && *rel);
	return fd;
}

static int open_resolved(int root_fd, const char *rel, int flags, mode_t mode, uint64_t resolve)
{
	struct open_how how = {
		.flags = (uint64_t)(flags | O_CLOEXEC), /* a link at the end is RESOLVE_NO_SYMLINKS' affair */
		.mode = (flags & O_CREAT) ? mode & 07777 : 0,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | resolve,
	};
	int fd;

	if (!*rel)
		return openat(root_fd, ".", flags | O_CLOEXEC, mode);
	if (strlen(rel) < PATH_MAX) {
		fd = (int)syscall(SYS_openat2, root_fd, rel, &how, sizeof(how));
		if (fd >= 0)
			return fd;
		/* EPERM is also what a seccomp filter says; EAGAIN: something moved meanwhile. */
		if (errno != ENOSYS && errno != EPERM && errno != EAGAIN)
			return -1;
	}
	return open_by_steps(root_fd, rel, flags | O_CLOEXEC, mode, resolve);
}

static int open_beneath(int root_fd, const char *rel, int flags, mode_t mode)
{
	return open_resolved(root_fd, rel, flags, mode, 0);
}

int ews_dir_open(const char *path)
{
	const char *rest = path;
	int fd, from_fd = AT_FDCWD;

	/* Too long for one call: walk there by prefixes, each well below the limit. */
	while (strlen(rest) >= PATH_MAX) {
		char prefix[PATH_MAX];
		const char *cut = rest + PATH_MAX - 2;

		while (cut > rest && *cut != '/')
			cut--;
		if (cut == rest) {
			close_quietly(from_fd);
			errno = ENAMETOOLONG;
			return ews_error_os("cannot open directory '%s'", path);
		}
		memcpy(prefix, rest, (size_t)(cut - rest));
		prefix[cut - rest] = '\0';
		fd = openat(from_fd, prefix, O_PATH | O_DIRECTORY | O_CLOEXEC);
		close_quietly(from_fd);
		if (fd < 0)
			return ews_error_os("cannot open directory '%s'", path);
		from_fd = fd;
		rest = cut + strspn(cut, "/");
	}
	fd = openat(from_fd, *rest || rest == path ? rest : ".", HERE_FLAGS);
	close_quietly(from_fd);
	if (fd < 0)
		return ews_error_os("cannot open directory '%s'", path);
	return fd;
}

char *ews_dir_resolve(const char *path)
{
	EWS_CLEANUP(free) char *at = ews_strdup(path);

	for (;;) {
		EWS_CLEANUP(free) char *real = realpath(at, NULL);
		EWS_CLEANUP(free) char *above = NULL;

		if (real)
			return ews_path_join(real, path + strlen(at) + (path[strlen(at)] == '/'));
		above = ews_path_dir(at);
		if (!strcmp(above, at) || !*above)
			return ews_strdup(path);
		free(at);
		at = ews_steal(&above);
	}
}

static const char *skip_slashes(const char *path)
{
	return path + strspn(path, "/");
}

/* What of `path` comes after the first directory on its way that is `real_root` by another name; NULL: none is. */
static const char *find_below_links(const char *path, const char *real_root)
{
	for (const char *rest = path; *rest;) {
		EWS_CLEANUP(free) char *at = NULL;
		EWS_CLEANUP(free) char *real = NULL;

		rest = skip_slashes(rest);
		rest += strcspn(rest, "/");
		at = ews_strndup(path, (size_t)(rest - path));
		real = realpath(at, NULL);
		if (real && !strcmp(real, real_root))
			return skip_slashes(rest);
		/* What comes out of `real_root` again would have to be followed there. */
		if (!real || ews_path_is_inside(real, real_root))
			return NULL;
	}
	return NULL;
}

const char *ews_dir_find_below(const char *path, const char *root, const char *real_root)
{
	if (ews_path_is_inside(path, root))
		return skip_slashes(path + strlen(root));
	if (ews_path_is_inside(path, real_root))
		return skip_slashes(path + strlen(real_root));
	return find_below_links(path, real_root);
}

int ews_dir_open_beneath(int root_fd, const char *rel)
{
	int fd = open_beneath(root_fd, rel, HERE_FLAGS, 0);

	if (fd < 0)
		return ews_error_os("cannot open directory '%s'", *rel ? rel : ".");
	return fd;
}

int ews_dir_open_within(int root_fd, const char *rel, int flags, bool into_mounts)
{
	int fd = open_resolved(root_fd, rel, flags | O_NOFOLLOW, 0, into_mounts ? 0 : RESOLVE_NO_XDEV);

	if (fd < 0 && errno == EXDEV) {
		ews_error(EWS_EDENIED, "something else is mounted at '%s', or above it", rel);
		errno = EXDEV;
		return EWS_EDENIED;
	}
	if (fd < 0)
		return ews_error_os("cannot open '%s'", *rel ? rel : ".");
	return fd;
}

int ews_dir_open_own(int root_fd, const char *rel)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(root_fd, rel);
	int rc = fd < 0 ? fd : ews_own_check(fd, rel);

	return rc < 0 ? rc : ews_steal_fd(&fd);
}

int ews_dir_open_parent(int root_fd, const char *rel, const char **name)
{
	EWS_CLEANUP(free) char *parent = ews_path_dir(rel);
	const char *base = ews_path_base(rel);
	int fd;

	if (!ews_path_is_plain(base)) {
		errno = EINVAL;
		return ews_error_os("cannot open the directory of '%s'", rel);
	}
	fd = open_beneath(root_fd, parent, HERE_FLAGS, 0);
	if (fd < 0)
		return ews_error_os("cannot open the directory of '%s'", rel);
	*name = base;
	return fd;
}

bool ews_dir_is_mounted(int root_fd, const char *rel)
{
	const char *name;
	EWS_CLEANUP(fd) int dir_fd = ews_dir_open_parent(root_fd, rel, &name);
	EWS_CLEANUP(fd)
	int fd = dir_fd < 0 ? -1 : openat(dir_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	ews_error_clear();
	return fd >= 0 && is_mounted(dir_fd, fd);
}

void ews_dir_at_release(struct ews_dir_at *at)
{
	close_quietly(at->fd);
	free(at->path);
	*at = (struct ews_dir_at)EWS_DIR_AT_INIT;
}

int ews_dir_at_parent(struct ews_dir_at *at, int root_fd, const char *rel, const char **name)
{
	const char *base = ews_path_base(rel);
	size_t len = base == rel ? 0 : (size_t)(base - rel) - 1;
	int fd;

	if (at->fd >= 0 && at->len == len && !memcmp(at->path, rel, len) && *rel != '/' && ews_path_is_plain(base)) {
		*name = base;
		return at->fd;
	}
	ews_dir_at_release(at);
	fd = ews_dir_open_parent(root_fd, rel, name);
	if (fd < 0)
		return fd;
	*at = (struct ews_dir_at){ ews_strndup(rel, len), len, fd };
	return fd;
}

int ews_dir_open_file(int root_fd, const char *rel, int flags, mode_t mode)
{
	int fd;

	if (!(flags & O_PATH))
		flags |= O_NONBLOCK; /* a FIFO that took the file's place is not waited for */
	fd = open_beneath(root_fd, rel, flags | O_NOFOLLOW, mode);
	if (fd < 0)
		return ews_error_os("cannot open '%s'", rel);
	return fd;
}

int ews_dir_read_link(struct ews_buf *out, int dir_fd, const char *name)
{
	for (size_t room = LINK_ROOM;; room *= 2) {
		ssize_t len;

		ews_buf_reserve(out, room);
		len = readlinkat(dir_fd, name, out->ptr + out->len, room);
		if (len < 0)
			return -1;
		if ((size_t)len == room) /* there may be more of it */
			continue;
		out->len += (size_t)len;
		out->ptr[out->len] = '\0';
		return 0;
	}
}

/* A new name in `dir_fd` is there to stay once that is synced. What may not be read can't be synced. */
static int sync_names(int dir_fd)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = fd < 0 ? 0 : ews_sync_dir(fd);

	close_quietly(fd);
	return rc;
}

/* How directories are made. */
struct making {
	int (*make)(int dir_fd, const char *name, mode_t mode);
	mode_t mode;
	struct ews_sharing sharing;
};

static int make(int root_fd, const char *rel, const struct making *how)
{
	EWS_CLEANUP(free) char *path = ews_strdup(rel);
	int fd, dir_fd = root_fd;
	char *at, *end;
	bool is_new;

	fd = open_beneath(root_fd, rel, STEP_FLAGS, 0);
	if (fd >= 0) {
		close_quietly(fd);
		return 0;
	}
	if (*rel == '/')
		return ews_error_os("cannot make directory '%s'", rel);
	for (at = path; *at; at = end) {
		end = at + strcspn(at, "/");
		while (*end == '/')
			*end++ = '\0';
		is_new = how->make(dir_fd, at, how->mode) == 0;
		if (is_new ? sync_names(dir_fd) < 0 : errno != EEXIST)
			fd = -1;
		else
			fd = open_step(dir_fd, at, STEP_FLAGS, 0, 0);
		if (is_new && fd >= 0 && ews_sharing_apply(how->sharing, fd) < 0) {
			close_quietly(fd);
			fd = -1;
		}
		if (dir_fd != root_fd)
			close_quietly(dir_fd);
		if (fd < 0)
			return ews_error_os("cannot make directory '%s'", rel);
		dir_fd = fd;
	}
	if (dir_fd != root_fd)
		close_quietly(dir_fd);
	return 0;
}

int ews_dir_make(int root_fd, const char *rel, mode_t mode)
{
	return make(root_fd, rel, &(struct making){ mkdirat, mode, EWS_SHARING_NONE });
}

int ews_dir_make_as_owner(int root_fd, const char *rel, mode_t mode)
{
	return make(root_fd, rel, &(struct making){ ews_own_make_dir, mode, EWS_SHARING_NONE });
}

int ews_dir_make_shared(int root_fd, const char *rel, struct ews_sharing sharing)
{
	return make(root_fd, rel, &(struct making){ ews_own_make_dir, 0777, sharing });
}

static int sync_parent(const char *path)
{
	EWS_CLEANUP(free) char *parent = ews_path_dir(path);
	EWS_CLEANUP(fd) int fd = open(*parent ? parent : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? 0 : sync_names(fd);
}

int ews_dir_make_absolute(const char *path, mode_t mode)
{
	EWS_CLEANUP(free) char *prefix = ews_strdup(path);
	size_t len = strlen(prefix), full;
	struct stat st;

	while (len > 1 && prefix[len - 1] == '/')
		prefix[--len] = '\0';
	full = len;
	/* Back to what is there: a parent may allow no mkdir, not even one that is needless. */
	while (stat(prefix, &st) < 0) {
		if (errno != ENOENT || !(len = (size_t)(ews_path_base(prefix) - prefix)))
			return ews_error_os("cannot make directory '%s'", path);
		while (len > 1 && prefix[len - 1] == '/')
			len--;
		if (len == 1)
			break; /* "/" is there */
		prefix[len] = '\0';
	}
	while (len < full) {
		prefix[len] = path[len];
		len = strlen(prefix);
		if (mkdir(prefix, mode) == 0 ? sync_parent(prefix) < 0 : errno != EEXIST)
			return ews_error_os("cannot make directory '%s'", path);
	}
	if (stat(prefix, &st) < 0)
		return ews_error_os("cannot make directory '%s'", path);
	if (!S_ISDIR(st.st_mode)) {
		errno = ENOTDIR;
		return ews_error_os("cannot make directory '%s'", path);
	}
	return 0;
}

static int cmp_name(const void *a, const void *b)
{
	return strcmp(((const struct ews_dirent *)a)->name, ((const struct ews_dirent *)b)->name);
}

static bool is_dots(const char *name)
{
	return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

/* With getdents itself: opendir() would need a second descriptor and several calls more. */
ssize_t ews_dir_list(struct ews_dirent **out, int fd, struct ews_arena *arena)
{
	_Alignas(struct dirent64) char chunk[CHUNK_BYTES];
	EWS_CLEANUP(free) struct ews_dirent *items = NULL;
	const struct dirent64 *entry;
	size_t n = 0, cap = 0;
	ssize_t got, at;

	if (lseek(fd, 0, SEEK_SET) < 0)
		return ews_error_os("cannot read directory");
	while ((got = getdents64(fd, chunk, sizeof(chunk))) > 0) {
		for (at = 0; at < got; at += entry->d_reclen) {
			entry = (const struct dirent64 *)(const void *)(chunk + at);
			if (is_dots(entry->d_name))
				continue;
			EWS_GROW(items, n, cap);
			items[n++] = (struct ews_dirent){
				.name = ews_arena_dup(arena, entry->d_name, strlen(entry->d_name)),
				.type = entry->d_type,
				.ino = entry->d_ino,
			};
		}
	}
	if (got < 0)
		return ews_error_os("cannot read directory");
	if (n)
		qsort(items, n, sizeof(*items), cmp_name);
	*out = ews_steal(&items);
	return (ssize_t)n;
}

ssize_t ews_dir_names_read(struct ews_dir_names *out, int fd)
{
	return ews_dir_list(&out->items, fd, &out->arena);
}

ssize_t ews_dir_names_read_at(struct ews_dir_names *out, const char *path)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open(path);
	ssize_t n;

	if (fd == EWS_ENOTFOUND) {
		ews_error_clear();
		return 0;
	}
	n = fd < 0 ? fd : ews_dir_names_read(out, fd);
	if (fd >= 0 && n < 0)
		return ews_error_wrap("'%s'", path);
	return n;
}

void ews_dir_names_release(struct ews_dir_names *names)
{
	free(names->items);
	ews_arena_release(&names->arena);
	*names = (struct ews_dir_names)EWS_DIR_NAMES_INIT;
}
