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

static void add(struct ews_sync_group *group, const struct ews_sync_item *item)
{
	pthread_mutex_lock(&group->lock);
	EWS_GROW(group->items, group->n, group->cap);
	group->items[group->n++] = *item;
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

/* Is the directory among those of the group? */
static bool has_dir(struct ews_sync_group *group, int dir_fd)
{
	struct stat st, other;
	bool found = false;

	if (fstat(dir_fd, &st) < 0)
		return false; /* who adds it says why */
	pthread_mutex_lock(&group->lock);
	for (size_t i = 0; i < group->n && !found; i++)
		found = group->items[i].kind == DIRECTORY && fstat(group->items[i].fd, &other) == 0 &&
			other.st_ino == st.st_ino && other.st_dev == st.st_dev;
	pthread_mutex_unlock(&group->lock);
	return found;
}

int ews_sync_add_dir(struct ews_sync_group *group, int dir_fd)
{
	int fd;

	if (has_dir(group, dir_fd))
		return 0;
	fd = copy_fd(dir_fd);
	if (fd < 0)
		return fd;
	add(group, &(struct ews_sync_item){ .kind = DIRECTORY, .fd = fd, .tmp_dir_fd = -1, .dir_fd = -1 });
	return 0;
}

/* What is to be synced, and what a failure calls it. */
struct wait {
	int fd;
	bool is_dir;
};

static int sync_one(size_t i, unsigned worker, void *payload)
{
	const struct wait *wait = &((const struct wait *)payload)[i];

	(void)worker;
	/* EINVAL: a file system that has nothing to sync in a directory. */
	if (fsync(wait->fd) < 0 && !(wait->is_dir && errno == EINVAL))
		return ews_error_os(wait->is_dir ? "cannot sync a directory" : "cannot sync");
	return 0;
}

int ews_sync_dir(int dir_fd)
{
	struct wait wait = { dir_fd, true };

	return current ? ews_sync_add_dir(current, dir_fd) : sync_one(0, 0, &wait);
}

static int sync_all(struct wait *waits, size_t n)
{
	return ews_pool_wait(n, THREADS, sync_one, waits);
}

static int sync_contents(const struct ews_sync_group *group)
{
	EWS_CLEANUP(free) struct wait *waits = ews_calloc(group->n + 1, sizeof(*waits));

	for (size_t i = 0; i < group->n; i++) {
		waits[i] = (struct wait){ group->items[i].fd, group->items[i].kind == DIRECTORY };
		/* Only begun here, which may fail: the sync itself tells. */
		if (!waits[i].is_dir && group->n > 1)
			(void)sync_file_range(waits[i].fd, 0, 0, SYNC_FILE_RANGE_WRITE);
	}
	return sync_all(waits, group->n);
}

/* Each directory once, however many of the files are in it. */
static void add_wait(struct wait *waits, size_t *n, struct stat *seen, int fd)
{
	struct stat st = { 0 };

	if (fstat(fd, &st) == 0)
		for (size_t i = 0; i < *n; i++)
			if (seen[i].st_ino == st.st_ino && seen[i].st_dev == st.st_dev)
				return;
	seen[*n] = st;
	waits[(*n)++] = (struct wait){ fd, true };
}

static int sync_names(const struct ews_sync_group *group)
{
	EWS_CLEANUP(free) struct wait *waits = ews_calloc(2 * group->n + 1, sizeof(*waits));
	EWS_CLEANUP(free) struct stat *seen = ews_calloc(2 * group->n + 1, sizeof(*seen));
	size_t n = 0;

	for (size_t i = 0; i < group->n; i++) {
		if (group->items[i].kind != NEW_FILE)
			continue;
		add_wait(waits, &n, seen, group->items[i].dir_fd);
		add_wait(waits, &n, seen, group->items[i].tmp_dir_fd);
	}
	return sync_all(waits, n);
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

static int leave_names(const struct ews_sync_group *group, struct ews_sync_group *next)
{
	int rc = 0;

	for (size_t i = 0; i < group->n && rc == 0; i++) {
		if (group->items[i].kind != NEW_FILE)
			continue;
		rc = ews_sync_add_dir(next, group->items[i].dir_fd);
		if (rc == 0)
			rc = ews_sync_add_dir(next, group->items[i].tmp_dir_fd);
	}
	return rc;
}

int ews_sync_finish_before(struct ews_sync_group *group, struct ews_sync_group *next)
{
	int rc = sync_contents(group);

	if (rc == 0)
		rc = give_names(group);
	if (rc == 0)
		rc = next ? leave_names(group, next) : sync_names(group);
	ews_sync_group_release(group);
	return rc;
}

int ews_sync_finish(struct ews_sync_group *group)
{
	return ews_sync_finish_before(group, NULL);
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
