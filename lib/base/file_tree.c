/*
 * Files: removing or measuring a tree of any depth, by descriptors, without following links.
 *
 * Several threads take most of it away; one goes through what is left, and says what can't be removed. For that one
 * directory is open at a time. Down is by name, up is by "..", and up must
 * lead where we came from: a directory that somebody moves away meanwhile ends
 * the removal instead of taking it elsewhere. So depth costs memory, neither
 * descriptors nor stack.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/pool.h"
#include "base/strv.h"

#define OPEN_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
/* How often, in all, a directory may be found refilled by somebody else. */
#define REFILLS_MAX 64
#define THREADS 8
#define FILES_PART 64 /* that one thread removes in a row */
/* What lies deeper has paths too long to be written out again and again. */
#define DEPTHS_MAX 128

/* A directory on the way down to the open one; level 0 is the one that holds the tree. */
struct level {
	const char *name; /* lives in the arena of the level above */
	dev_t dev;
	ino_t ino;
	struct ews_arena arena;
	struct ews_dirent *items;
	size_t n, next;
};

struct removal {
	int top_fd; /* borrowed */
	int fd; /* of the deepest level; top_fd at level 0 */
	struct level *levels;
	size_t n, cap;
	unsigned refills;
};

static void release_level(struct level *level)
{
	free(level->items);
	ews_arena_release(&level->arena);
}

static void release_removal(struct removal *r)
{
	if (r->fd >= 0 && r->fd != r->top_fd)
		close(r->fd);
	while (r->n)
		release_level(&r->levels[--r->n]);
	free(r->levels);
}

EWS_CLEANUP_DEFINE(removal, struct removal, release_removal)

static int cannot_remove(const struct removal *r, const char *name)
{
	EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
	int err = errno;
	size_t i;

	for (i = 1; i < r->n; i++)
		ews_buf_addf(&path, "%s/", r->levels[i].name);
	ews_buf_adds(&path, name);
	if (err == EXDEV)
		return ews_error(EWS_EDENIED, "cannot remove '%s': something is mounted there", path.ptr);
	errno = err;
	return ews_error_os("cannot remove '%s'", path.ptr);
}

static void replace_fd(struct removal *r, int fd)
{
	if (r->fd != r->top_fd)
		close(r->fd);
	r->fd = fd;
}

/* Open the directory `name` in the open one. What is mounted in the tree is not of it; the tree itself may be a mount. */
static int open_below(const struct removal *r, const char *name)
{
	int fd = r->n > 1 ? ews_dir_open_within(r->fd, name, OPEN_FLAGS, false) : openat(r->fd, name, OPEN_FLAGS);
	int err = errno;

	if (fd < 0)
		ews_error_clear(); /* the caller says it */
	errno = err;
	return fd < 0 ? -1 : fd;
}

/* Step into the directory `name` and list it. Returns 1, or 0 when it is gone or no directory any more. */
static int go_down(struct removal *r, const char *name)
{
	EWS_CLEANUP(fd) int fd = -1;
	struct level level = { .name = name, .arena = EWS_ARENA_INIT };
	struct stat st;
	ssize_t n;

	fd = open_below(r, name);
	if (fd < 0 && errno == EACCES && !fchmodat(r->fd, name, 0700, AT_SYMLINK_NOFOLLOW))
		fd = open_below(r, name);
	if (fd < 0 && ews_errno_is_absent_or_link(errno))
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return cannot_remove(r, name);
	if ((st.st_mode & S_IRWXU) != S_IRWXU)
		(void)fchmod(fd, st.st_mode | S_IRWXU); /* not ours: unlinkat will tell */
	n = ews_dir_list(&level.items, fd, &level.arena);
	if (n < 0) {
		release_level(&level);
		return ews_error_wrap("cannot remove '%s'", name);
	}
	level.n = (size_t)n;
	level.dev = st.st_dev;
	level.ino = st.st_ino;
	EWS_GROW(r->levels, r->n, r->cap);
	r->levels[r->n++] = level;
	replace_fd(r, ews_steal_fd(&fd));
	return 1;
}

/* Step out of the open directory, which has been emptied, and remove it. */
static int go_up(struct removal *r)
{
	struct level *here = &r->levels[r->n - 1], *above = here - 1;
	const char *name = here->name;
	struct stat st;
	int fd = r->top_fd;

	if (r->n > 2) {
		fd = openat(r->fd, "..", OPEN_FLAGS);
		if (fd < 0)
			return cannot_remove(r, "..");
	}
	replace_fd(r, fd);
	if (r->n > 2) {
		if (fstat(fd, &st) < 0)
			return cannot_remove(r, "..");
		if (st.st_dev != above->dev || st.st_ino != above->ino)
			return ews_error(EWS_ESTALE, "'%s' was moved while it was removed", name);
	}
	release_level(here);
	r->n--;
	if (!unlinkat(fd, name, AT_REMOVEDIR) || errno == ENOENT)
		return 0;
	if ((errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR) && r->refills++ < REFILLS_MAX) {
		above->next--; /* somebody put something there: once more */
		above->items[above->next].type = DT_UNKNOWN;
		return 0;
	}
	return cannot_remove(r, name);
}

/* Some files of one directory. */
struct part {
	size_t dir, from, end; /* which of `files` */
};

/* Directories of one depth of a tree that is emptied by several threads at once. */
struct depth {
	struct ews_strv dirs; /* relative to where the tree lies */
	struct ews_strv *subdirs,
		*files; /* of each, the names of those that are in it; files until they are removed */
	struct part *parts;
	size_t n_parts, cap_parts;
};

struct emptying {
	int top_fd; /* where the tree lies */
	struct depth *depth; /* at work */
	struct ews_file_removed *removed; /* or NULL */
};

/* Open a directory of the tree, if it still is one. Whatever is in the way the removal by one thread will say. */
static int open_part(const struct emptying *e, const char *rel)
{
	int fd = ews_dir_open_within(e->top_fd, rel, OPEN_FLAGS, false);

	ews_error_clear();
	return fd;
}

static void tell(struct ews_file_removed *removed, unsigned worker)
{
	size_t done = removed && removed->show ? atomic_fetch_add(&removed->done, 1) + 1 : 0;

	if (done && worker == 0)
		removed->show(removed->payload, done, 0, 0);
}

/* List what is in one directory. */
static int list_dir(size_t i, unsigned worker, void *payload)
{
	struct emptying *e = payload;
	EWS_CLEANUP(fd) int fd = open_part(e, e->depth->dirs.items[i]);
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = fd < 0 ? 0 : ews_dir_names_read(&names, fd);

	(void)worker;
	for (ssize_t k = 0; k < n; k++)
		ews_strv_add(names.items[k].type == DT_DIR ? &e->depth->subdirs[i] : &e->depth->files[i],
			     names.items[k].name);
	ews_error_clear();
	return 0;
}

static uint64_t size_of(int fd, const char *name)
{
	struct stat st;

	return fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
}

static int remove_part(size_t i, unsigned worker, void *payload)
{
	struct emptying *e = payload;
	const struct part *part = &e->depth->parts[i];
	EWS_CLEANUP(fd) int fd = open_part(e, e->depth->dirs.items[part->dir]);
	uint64_t bytes = 0;

	for (size_t k = part->from; k < part->end && fd >= 0; k++) {
		const char *name = e->depth->files[part->dir].items[k];
		uint64_t size = e->removed ? size_of(fd, name) : 0;

		/* What stays is tried once more, and said. */
		if (unlinkat(fd, name, 0) < 0)
			continue;
		bytes += size;
		tell(e->removed, worker);
	}
	if (e->removed)
		atomic_fetch_add(&e->removed->bytes, bytes);
	return 0;
}

/* The first files of each directory, then the next of those that have more: one directory loses one name at a time. */
static void cut_parts(struct depth *depth)
{
	bool has_more = true;

	for (size_t from = 0; has_more; from += FILES_PART) {
		has_more = false;
		for (size_t i = 0; i < depth->dirs.n; i++) {
			size_t n = depth->files[i].n, end = n < from + FILES_PART ? n : from + FILES_PART;

			if (from >= n)
				continue;
			EWS_GROW(depth->parts, depth->n_parts, depth->cap_parts);
			depth->parts[depth->n_parts++] = (struct part){ i, from, end };
			has_more = has_more || end < n;
		}
	}
}

/* Remove the files of one depth and note its directories. */
static void remove_files(struct emptying *e)
{
	struct depth *depth = e->depth;

	(void)ews_pool_for(depth->dirs.n, 1, THREADS, list_dir, e); /* these two never fail */
	cut_parts(depth);
	(void)ews_pool_for(depth->n_parts, 1, THREADS, remove_part, e);
	for (size_t i = 0; i < depth->dirs.n; i++)
		ews_strv_release(&depth->files[i]);
}

static int remove_subdirs(size_t i, unsigned worker, void *payload)
{
	struct emptying *e = payload;
	const struct ews_strv *names = &e->depth->subdirs[i];
	EWS_CLEANUP(fd) int fd = names->n ? open_part(e, e->depth->dirs.items[i]) : -1;

	(void)worker;
	for (size_t k = 0; k < names->n && fd >= 0; k++)
		(void)unlinkat(fd, names->items[k], AT_REMOVEDIR); /* as above */
	return 0;
}

static void make_lists(struct depth *depth)
{
	depth->subdirs = ews_calloc(depth->dirs.n + 1, sizeof(*depth->subdirs));
	depth->files = ews_calloc(depth->dirs.n + 1, sizeof(*depth->files));
	for (size_t i = 0; i < depth->dirs.n; i++)
		depth->subdirs[i] = depth->files[i] = (struct ews_strv)EWS_STRV_INIT;
}

static void list_below(struct depth *out, const struct depth *above)
{
	for (size_t i = 0; i < above->dirs.n; i++)
		for (size_t k = 0; k < above->subdirs[i].n; k++)
			ews_strv_addf(&out->dirs, "%s/%s", above->dirs.items[i], above->subdirs[i].items[k]);
	make_lists(out);
}

static void release_depth(struct depth *depth)
{
	for (size_t i = 0; i < depth->dirs.n; i++)
		ews_strv_release(&depth->subdirs[i]);
	free(depth->subdirs);
	free(depth->files);
	free(depth->parts);
	ews_strv_release(&depth->dirs);
}

/*
 * Remove what can be removed of a tree by several threads: depth by depth the files, then the directories from the deepest
 * ones up. Nothing here fails; whoever removes the tree after this finds little left, and says why that stays.
 *
 * Where blocks are discarded as files go, as on many a disk, that is waiting rather than work: more threads than processors
 * help.
 */
static void empty_tree(int dir_fd, const char *name, struct ews_file_removed *removed)
{
	struct depth *depths = NULL;
	size_t n = 0, cap = 0;
	struct emptying e = { .top_fd = dir_fd, .removed = removed };
	/* What is taken away is often what a failure left. */
	struct ews_error_saved before = EWS_ERROR_SAVED_INIT;
	struct stat st;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
		return;
	ews_error_save(&before);
	EWS_GROW(depths, n, cap);
	depths[n] = (struct depth){ .dirs = EWS_STRV_INIT };
	ews_strv_add(&depths[n].dirs, name);
	make_lists(&depths[n++]);
	while (depths[n - 1].dirs.n && n < DEPTHS_MAX) {
		e.depth = &depths[n - 1];
		remove_files(&e);
		EWS_GROW(depths, n, cap);
		depths[n] = (struct depth){ .dirs = EWS_STRV_INIT };
		list_below(&depths[n], &depths[n - 1]);
		n++;
	}
	for (size_t i = n; i-- > 0;) {
		e.depth = &depths[i];
		(void)ews_pool_for(e.depth->dirs.n, 1, THREADS, remove_subdirs, &e);
		release_depth(&depths[i]);
	}
	free(depths);
	ews_error_restore(&before);
}

/* Remove what the threads left: what lies too deep for them, or in a directory that had to be opened up first. */
static int remove_left(int fd, const char *name, struct ews_file_removed *removed)
{
	uint64_t size = removed ? size_of(fd, name) : 0;

	if (unlinkat(fd, name, 0) < 0)
		return -1;
	if (removed)
		atomic_fetch_add(&removed->bytes, size);
	tell(removed, 0);
	return 0;
}

int ews_file_remove_tree(int dir_fd, const char *name)
{
	return ews_file_remove_tree_told(dir_fd, name, NULL);
}

int ews_file_remove_tree_told(int dir_fd, const char *name, struct ews_file_removed *removed)
{
	EWS_CLEANUP(removal) struct removal r = { .top_fd = dir_fd, .fd = dir_fd };
	struct ews_dirent *item;
	struct level *level;
	int rc;

	EWS_GROW(r.levels, r.n, r.cap);
	level = &r.levels[r.n++];
	empty_tree(dir_fd, name, removed);
	*level = (struct level){ .arena = EWS_ARENA_INIT, .n = 1 };
	level->items = ews_calloc(1, sizeof(*level->items));
	level->items[0] = (struct ews_dirent){ .name = name, .type = DT_UNKNOWN };

	for (;;) {
		level = &r.levels[r.n - 1];
		if (level->next == level->n) {
			if (r.n == 1)
				return 0;
			rc = go_up(&r);
			if (rc < 0)
				return rc;
			continue;
		}
		item = &level->items[level->next++];
		if (item->type != DT_DIR) {
			if (!remove_left(r.fd, item->name, removed) || errno == ENOENT)
				continue;
			/* Linux says EISDIR of a directory, POSIX says EPERM. */
			if (errno != EISDIR && errno != EPERM)
				return cannot_remove(&r, item->name);
		}
		rc = go_down(&r, item->name);
		if (rc < 0)
			return rc;
		/* No directory, or not any more. */
		if (rc == 0 && remove_left(r.fd, item->name, removed) < 0 && errno != ENOENT && errno != EISDIR)
			return cannot_remove(&r, item->name);
	}
}

/* One directory of a tree that is measured: its files are counted, its directories added to `todo`. */
static void measure_dir(struct ews_tree_size *out, struct ews_strv *todo, int dir_fd, const char *rel)
{
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(dir_fd, rel);
	ssize_t n = fd < 0 ? 0 : ews_dir_names_read(&names, fd);

	for (ssize_t i = 0; i < n; i++) {
		struct stat st;

		if (fstatat(fd, names.items[i].name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (S_ISDIR(st.st_mode)) {
			ews_strv_addf(todo, "%s/%s", rel, names.items[i].name);
			continue;
		}
		out->files++;
		out->bytes += S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
	}
}

int ews_file_measure_tree(struct ews_tree_size *out, int dir_fd, const char *name)
{
	EWS_CLEANUP(strv) struct ews_strv todo = EWS_STRV_INIT;
	struct stat st;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return ews_error_os("cannot look at '%s'", name);
	if (!S_ISDIR(st.st_mode)) {
		out->files++;
		out->bytes += S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
		return 0;
	}
	ews_strv_add(&todo, name);
	while (todo.n) {
		EWS_CLEANUP(free) char *rel = todo.items[--todo.n];

		todo.items[todo.n] = NULL;
		measure_dir(out, &todo, dir_fd, rel);
	}
	ews_error_clear();
	return 0;
}
