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
#include "base/pool.h"

/*
 * Waits, which need no processor. Two stand side by side as well: the second has nothing to write after the first, but tells
 * the disk to empty its cache once more.
 */
#define THREADS 16

enum kind {
	NEW_FILE, /* to be renamed */
	NAMED_FILE,
	DIRECTORY,
};

struct ews_sync_item {
	enum kind kind;
	int fd;
	int tmp_dir_fd, dir_fd; /* of a new file, else -1 */
	dev_t dev; /* of a directory, with `ino`: which one it is */
	ino_t ino;
	char *tmp, *name; /* of a new file; `tmp` is NULL once it has its name */
};

static _Thread_local struct ews_sync_group *current;

void ews_sync_begin(struct ews_sync_group *group)
{
	assert(!current);
	current = group;
}

struct ews_sync_group *ews_sync_current(void)
{
	return current;
}

/* The caller holds the lock. */
static void append(struct ews_sync_group *group, const struct ews_sync_item *item)
{
	EWS_GROW(group->items, group->n, group->cap);
	group->items[group->n++] = *item;
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

static int sync_contents(const struct ews_sync_group *group)
{
	/* Only begun here, which may fail: the sync itself tells. */
	for (size_t i = 0; i < group->n && group->n > 1; i++)
		if (group->items[i].kind != DIRECTORY)
			(void)sync_file_range(group->items[i].fd, 0, 0, SYNC_FILE_RANGE_WRITE);
	return ews_pool_wait(group->n, THREADS, sync_one, group->items);
}

static int give_names(struct ews_sync_group *group)
{
	for (size_t i = 0; i < group->n; i++) {
		struct ews_sync_item *item = &group->items[i];

		if (item->kind != NEW_FILE)
			continue;
		if (renameat(item->tmp_dir_fd, item->tmp, item->dir_fd, item->name) < 0)
			return ews_error_os("cannot write '%s'", item->name);
		free(ews_steal(&item->tmp));
	}
	return 0;
}

/* The directories that got names, or lost one, are `next`'s from here on. */
static int leave_names(struct ews_sync_group *group, struct ews_sync_group *next)
{
	int rc = 0;

	for (size_t i = 0; i < group->n && rc == 0; i++) {
		if (group->items[i].kind != NEW_FILE)
			continue;
		rc = take_dir(next, &group->items[i].dir_fd);
		if (rc == 0)
			rc = take_dir(next, &group->items[i].tmp_dir_fd);
	}
	return rc;
}

static int sync_names(struct ews_sync_group *group)
{
	EWS_CLEANUP(sync_group) struct ews_sync_group dirs = EWS_SYNC_GROUP_INIT;
	int rc = leave_names(group, &dirs);

	return rc < 0 ? rc : sync_contents(&dirs);
}

int ews_sync_finish_before(struct ews_sync_group *group, struct ews_sync_group *next)
{
	int rc = sync_contents(group);

	if (rc == 0)
		rc = give_names(group);
	if (rc == 0)
		rc = next ? leave_names(group, next) : sync_names(group);
	ews_sync_group_release(group);
	if (rc == 0 && next)
		ews_sync_begin(next);
	return rc;
}

int ews_sync_finish(struct ews_sync_group *group)
{
	return ews_sync_finish_before(group, NULL);
}

int ews_sync_finish_unsynced(struct ews_sync_group *group)
{
	int rc = give_names(group);

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
	}
	free(group->items);
	group->items = NULL;
	group->n = group->cap = 0;
	if (current == group)
		current = NULL;
}
