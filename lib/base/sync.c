/*
 * Sync groups: see sync.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/sync.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/own.h"
#include "base/pool.h"

/*
 * Waits, which need no processor. Two stand side by side as well: the second has nothing to write after the first, but tells
 * the disk to empty its cache once more.
 */
#define THREADS 16
#define MAKE_TRIES 16 /* of a directory that others remove */

enum kind {
	NEW_FILE, /* to be renamed */
	NAMED_FILE,
	DIRECTORY,
};

struct ews_sync_item {
	enum kind kind;
	unsigned stage; /* of a new file: after all of those before */
	int fd;
	int tmp_dir_fd, dir_fd; /* of a new file, else -1 */
	dev_t dev; /* of a directory, with `ino`: which one it is */
	ino_t ino;
	char *tmp, *name; /* of a new file; `tmp` is NULL once it has its name */
	char *dir; /* what `dir_fd` is called in `tmp_dir_fd`, where it may be gone when it is wanted; else NULL */
	struct ews_sharing sharing; /* of that directory */
};

static _Thread_local struct ews_sync_group *current;

void ews_sync_begin(struct ews_sync_group *group)
{
	assert(!current);
	current = group;
}

void ews_sync_let_go(const struct ews_sync_group *group)
{
	if (current == group)
		current = NULL;
}

struct ews_sync_group *ews_sync_current(void)
{
	return current;
}

void ews_sync_next_stage(struct ews_sync_group *group)
{
	group->stage++;
}

/* The caller holds the lock. */
static void append(struct ews_sync_group *group, const struct ews_sync_item *item)
{
	EWS_GROW(group->items, group->n, group->cap);
	group->items[group->n] = *item;
	group->items[group->n++].stage = group->stage;
}

static void add(struct ews_sync_group *group, const struct ews_sync_item *item)
{
	pthread_mutex_lock(&group->lock);
	append(group, item);
	pthread_mutex_unlock(&group->lock);
}

static int copy_fd(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	return copy < 0 ? ews_error_os("cannot keep a file open") : copy;
}

int ews_sync_add_file(struct ews_sync_group *group, int *fd, int tmp_dir_fd, const char *tmp, int dir_fd,
		      const char *name)
{
	EWS_CLEANUP(fd) int from = copy_fd(tmp_dir_fd);
	EWS_CLEANUP(fd) int to = from < 0 ? -1 : copy_fd(dir_fd);

	if (from < 0 || to < 0)
		return ews_error_code();
	add(group, &(struct ews_sync_item){ .kind = NEW_FILE,
					    .fd = ews_steal_fd(fd),
					    .tmp_dir_fd = ews_steal_fd(&from),
					    .dir_fd = ews_steal_fd(&to),
					    .tmp = ews_strdup(tmp),
					    .name = ews_strdup(name) });
	return 0;
}

/* The directory `name` in `parent_fd`, there or made: whoever removes it may do so just after that. */
static int open_made(int parent_fd, const char *name, struct ews_sharing sharing)
{
	EWS_CLEANUP(fd) int fd = -1;
	int tries = MAKE_TRIES;
	bool is_new;

	do {
		is_new = ews_own_make_dir(parent_fd, name, 0777) == 0;
		if (!is_new && errno != EEXIST)
			return ews_error_os("cannot make the directory '%s'", name);
		fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	} while (fd < 0 && errno == ENOENT && --tries);
	if (fd < 0)
		return ews_error_os("cannot open directory '%s'", name);
	if (is_new && ews_sharing_apply(sharing, fd) < 0)
		return ews_error_wrap("cannot make the directory '%s'", name);
	return ews_steal_fd(&fd);
}

int ews_sync_add_file_within(struct ews_sync_group *group, int *fd, int tmp_dir_fd, const char *tmp,
			     const char *dir, const char *name, struct ews_sharing sharing)
{
	EWS_CLEANUP(fd) int from = copy_fd(tmp_dir_fd);
	EWS_CLEANUP(fd) int to = from < 0 ? from : open_made(tmp_dir_fd, dir, sharing);

	if (to < 0)
		return to;
	add(group, &(struct ews_sync_item){ .kind = NEW_FILE,
					    .fd = ews_steal_fd(fd),
					    .tmp_dir_fd = ews_steal_fd(&from),
					    .dir_fd = ews_steal_fd(&to),
					    .tmp = ews_strdup(tmp),
					    .name = ews_strdup(name),
					    .dir = ews_strdup(dir),
					    .sharing = sharing });
	return 0;
}

void ews_sync_add_named(struct ews_sync_group *group, int *fd)
{
	add(group,
	    &(struct ews_sync_item){ .kind = NAMED_FILE, .fd = ews_steal_fd(fd), .tmp_dir_fd = -1, .dir_fd = -1 });
}

/* Take the directory open at `*fd`, unless the group has it: however many files are in it, one wait is enough. */
static int take_dir(struct ews_sync_group *group, int *fd)
{
	struct stat st;
	bool has_it = false;

	if (fstat(*fd, &st) < 0)
		return ews_error_os("cannot look at a directory");
	pthread_mutex_lock(&group->lock);
	for (size_t i = 0; i < group->n && !has_it; i++)
		has_it = group->items[i].kind == DIRECTORY && group->items[i].ino == st.st_ino &&
			 group->items[i].dev == st.st_dev;
	if (!has_it)
		append(group, &(struct ews_sync_item){ .kind = DIRECTORY,
						       .fd = ews_steal_fd(fd),
						       .tmp_dir_fd = -1,
						       .dir_fd = -1,
						       .dev = st.st_dev,
						       .ino = st.st_ino });
	pthread_mutex_unlock(&group->lock);
	return 0;
}

int ews_sync_add_dir(struct ews_sync_group *group, int dir_fd)
{
	EWS_CLEANUP(fd) int fd = copy_fd(dir_fd);

	return fd < 0 ? fd : take_dir(group, &fd);
}

static int sync_one(size_t i, unsigned worker, void *payload)
{
	const struct ews_sync_item *item = &((const struct ews_sync_item *)payload)[i];
	bool is_dir = item->kind == DIRECTORY;

	(void)worker;
	/* EINVAL: a file system that has nothing to sync in a directory. */
	if (fsync(item->fd) < 0 && !(is_dir && errno == EINVAL))
		return ews_error_os(is_dir ? "cannot sync a directory" : "cannot sync");
	return 0;
}

int ews_sync_dir(int dir_fd)
{
	struct ews_sync_item item = { .kind = DIRECTORY, .fd = dir_fd };

	return current ? ews_sync_add_dir(current, dir_fd) : sync_one(0, 0, &item);
}

void ews_sync_begin_content(int fd)
{
	(void)sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE); /* what waits for it tells */
}

static void begin_contents(const struct ews_sync_group *group)
{
	for (size_t i = 0; i < group->n && group->n > 1; i++)
		if (group->items[i].kind != DIRECTORY)
			ews_sync_begin_content(group->items[i].fd);
}

static int sync_all(const struct ews_sync_group *group)
{
	begin_contents(group);
	return ews_pool_wait(group->n, THREADS, sync_one, group->items);
}

int ews_sync_give_name(int tmp_dir_fd, const char *tmp, int dir_fd, const char *name, bool is_durable)
{
	if (!is_durable && renameat2(tmp_dir_fd, tmp, dir_fd, name, RENAME_EXCHANGE) == 0) {
		/* A directory is not to be replaced. What is left of a file, or is gone already, is a sweep's. */
		if (unlinkat(tmp_dir_fd, tmp, 0) == 0 || errno != EISDIR)
			return 0;
		(void)renameat2(tmp_dir_fd, tmp, dir_fd, name, RENAME_EXCHANGE);
	}
	return renameat(tmp_dir_fd, tmp, dir_fd, name);
}

/* Make the directory anew that the file is to be in. */
static int open_anew(struct ews_sync_item *item)
{
	int fd = open_made(item->tmp_dir_fd, item->dir, item->sharing);

	if (fd < 0)
		return fd;
	ews_cleanup_fd(&item->dir_fd);
	item->dir_fd = fd;
	return 0;
}

static int give_name(struct ews_sync_item *item, bool is_durable)
{
	for (int tries = item->dir ? MAKE_TRIES : 1; tries; tries--) {
		int rc;

		if (ews_sync_give_name(item->tmp_dir_fd, item->tmp, item->dir_fd, item->name, is_durable) == 0)
			return 0;
		if (errno != ENOENT || tries == 1)
			break;
		rc = open_anew(item);
		if (rc < 0)
			return rc;
	}
	return ews_error_os("cannot write '%s'", item->name);
}

static int give_names(struct ews_sync_group *group, unsigned stage, bool are_durable)
{
	for (size_t i = 0; i < group->n; i++) {
		struct ews_sync_item *item = &group->items[i];
		int rc;

		if (item->kind != NEW_FILE || item->stage != stage)
			continue;
		rc = give_name(item, are_durable);
		if (rc < 0)
			return rc;
		free(ews_steal(&item->tmp));
	}
	return 0;
}

/* The directories that got names, or lost one, are `next`'s from here on. */
static int leave_names(struct ews_sync_group *group, unsigned stage, struct ews_sync_group *next)
{
	int rc = 0;

	for (size_t i = 0; i < group->n && rc == 0; i++) {
		struct ews_sync_item *item = &group->items[i];

		if (item->kind != NEW_FILE || item->stage != stage)
			continue;
		rc = take_dir(next, &item->dir_fd);
		if (rc == 0)
			rc = take_dir(next, &item->tmp_dir_fd);
	}
	return rc;
}

/* Are all of them on one file system, that keeps order? Where nothing gets a name there is none to keep. */
static bool keeps_order(const struct ews_sync_group *group)
{
	struct stat first, other;
	bool has_new = false;

	for (size_t i = 0; i < group->n; i++) {
		if (fstat(group->items[i].fd, i ? &other : &first) < 0 || (i && other.st_dev != first.st_dev))
			return false;
		has_new |= group->items[i].kind == NEW_FILE;
	}
	return has_new && ews_fs_keeps_order(group->items[0].fd);
}

/*
 * The disk is told of all contents, and has taken them; what it has in its cache lasts with the journal that comes after. All
 * three flags together write everything that is to be written, as fsync(2) does.
 */
static int write_out(const struct ews_sync_group *group)
{
	begin_contents(group);
	for (size_t i = 0; i < group->n; i++)
		if (group->items[i].kind != DIRECTORY &&
		    sync_file_range(group->items[i].fd, 0, 0,
				    SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
					    SYNC_FILE_RANGE_WAIT_AFTER) < 0)
			return ews_error_os("cannot sync");
	return 0;
}

/* Contents first, then the names in order: that the last one lasts is left to `next`, and all those before last with it. */
static int settle_in_order(struct ews_sync_group *group, struct ews_sync_group *next)
{
	int rc = write_out(group);
	size_t last = group->n;

	for (unsigned stage = 0; stage <= group->stage && rc == 0; stage++)
		rc = give_names(group, stage, true);
	/* The group was found to have a new file. */
	while (rc == 0 && group->items[--last].kind != NEW_FILE)
		;
	return rc < 0 ? rc : take_dir(next, &group->items[last].dir_fd);
}

/* The same, each step synced before the next one; that the last stage's names last is left to `next`. */
static int settle_step_by_step(struct ews_sync_group *group, struct ews_sync_group *next)
{
	int rc = sync_all(group);

	for (unsigned stage = 0; stage <= group->stage && rc == 0; stage++) {
		rc = give_names(group, stage, true);
		if (rc == 0)
			rc = leave_names(group, stage, next);
		if (rc == 0 && stage < group->stage) {
			rc = sync_all(next);
			ews_sync_group_release(next);
		}
	}
	return rc;
}

/* As far as the last names, which are left to `next`. */
static int settle(struct ews_sync_group *group, struct ews_sync_group *next, bool is_ordered)
{
	int rc = is_ordered ? settle_in_order(group, next) : settle_step_by_step(group, next);

	ews_sync_group_release(group);
	return rc;
}

int ews_sync_finish_before(struct ews_sync_group *group, struct ews_sync_group *next)
{
	int rc;

	assert(!next->n);
	rc = settle(group, next, keeps_order(group));
	if (rc == 0)
		ews_sync_begin(next);
	return rc;
}

int ews_sync_finish(struct ews_sync_group *group)
{
	EWS_CLEANUP(sync_group) struct ews_sync_group rest = EWS_SYNC_GROUP_INIT;
	int rc = settle(group, &rest, keeps_order(group));

	return rc < 0 ? rc : sync_all(&rest);
}

int ews_sync_begin_anew(struct ews_sync_group *group)
{
	int rc = ews_sync_finish(group);

	ews_sync_begin(group);
	return rc;
}

int ews_sync_finish_in_order(struct ews_sync_group *group)
{
	EWS_CLEANUP(sync_group) struct ews_sync_group rest = EWS_SYNC_GROUP_INIT;
	bool is_ordered = keeps_order(group);
	int rc = settle(group, &rest, is_ordered);

	return rc < 0 || is_ordered ? rc : sync_all(&rest);
}

int ews_sync_finish_unsynced(struct ews_sync_group *group)
{
	int rc = 0;

	for (unsigned stage = 0; stage <= group->stage && rc == 0; stage++)
		rc = give_names(group, stage, false);
	ews_sync_group_release(group);
	return rc;
}

void ews_sync_group_release(struct ews_sync_group *group)
{
	for (size_t i = 0; i < group->n; i++) {
		struct ews_sync_item *item = &group->items[i];

		if (item->tmp)
			(void)unlinkat(item->tmp_dir_fd, item->tmp, 0); /* best effort: a sweep finds it */
		ews_cleanup_fd(&item->fd);
		ews_cleanup_fd(&item->tmp_dir_fd);
		ews_cleanup_fd(&item->dir_fd);
		free(item->tmp);
		free(item->name);
		free(item->dir);
	}
	free(group->items);
	group->items = NULL;
	group->n = group->cap = 0;
	group->stage = 0;
	ews_sync_let_go(group);
}
