/*
 * Sync groups: several files made durable together.
 *
 * A sync waits for the disk, whatever it is that waits; one that follows another's at once waits as long again. So files
 * that belong to one step are written first, all of them, and then synced together: the disk is told to begin with each
 * before it is waited for, and the waits stand side by side. They get their names when all are durable, in the order in
 * which they were added, and then the directories that got names are synced together.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_SYNC_H
#define EWS_BASE_SYNC_H

#include <pthread.h>
#include <stddef.h>

#include "base/cleanup.h"

struct ews_sync_item;

struct ews_sync_group {
	pthread_mutex_t lock; /* several threads may add to it */
	struct ews_sync_item *items;
	size_t n, cap;
};

#define EWS_SYNC_GROUP_INIT { .lock = PTHREAD_MUTEX_INITIALIZER, .items = NULL, .n = 0, .cap = 0 }

/*
 * Make the group that of this thread, which must have none: what base/file replaces, appends to and syncs joins it,
 * until it is finished or released. A file that is replaced has its old content as long.
 */
void ews_sync_begin(struct ews_sync_group *group);
/* The group of this thread, or NULL. */
struct ews_sync_group *ews_sync_current(void);

/*
 * Add a new file, written and open at `*fd`, which is taken, under the name `tmp` in the directory `tmp_dir_fd`: it
 * becomes `name` in `dir_fd`, whatever has that name. The directories stay the caller's. Fails when there are no
 * descriptors left.
 */
int ews_sync_add_file(struct ews_sync_group *group, int *fd, int tmp_dir_fd, const char *tmp, int dir_fd,
		      const char *name);
/* Add a file that has its name, open at `*fd`, which is taken. */
void ews_sync_add_named(struct ews_sync_group *group, int *fd);
/* Add a directory, once, whose names are to be durable before any file of the group gets its own. */
int ews_sync_add_dir(struct ews_sync_group *group, int dir_fd);

/* Sync the directory, or have the group of this thread do so. */
int ews_sync_dir(int dir_fd);

/*
 * Make all of it durable, as said above; the group is empty then, and no longer the thread's. When something can't be
 * synced no file gets its name; when one can't get it those after it don't, either.
 */
int ews_sync_finish(struct ews_sync_group *group);

/* The same without a wait, for what may be lost when the power fails and shows by itself that it is whole. */
int ews_sync_finish_unsynced(struct ews_sync_group *group);

/*
 * As far as the names: that they are durable is left to `next` (NULL: to nobody, it is waited for), none of whose files gets
 * its name before. What is said by those files is said of these. When this succeeds `next` is the thread's, which must have
 * no other.
 */
int ews_sync_finish_before(struct ews_sync_group *group, struct ews_sync_group *next);

/* Files that have no names yet are removed. */
void ews_sync_group_release(struct ews_sync_group *group);
EWS_CLEANUP_DEFINE(sync_group, struct ews_sync_group, ews_sync_group_release)

#endif
