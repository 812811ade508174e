/*
 * Sync groups: several files made durable together.
 *
 * A sync waits for the disk, whatever it is that waits; one that follows another's at once waits as long again. So files
 * that belong to one step are written first, all of them, and then synced together: the disk is told to begin with each
 * before it is waited for, and the waits stand side by side. They get their names when all are durable, in the order in
 * which they were added, and then the directories that got names are synced together.
 *
 * Where one file says of another that it is there, as a ref does of an object, it is of a later stage of the group. The
 * contents of all stages are synced together, and between the names of two stages their directories.
 *
 * A file system that keeps the order of names (ews_fs_keeps_order) spares most of that. All changes of names, and of
 * where a content stands, go through its one journal: what is durable of it is so with all that came before. There contents
 * are written out, which the disk may still have in its cache; names follow, stage by stage; and the sync of the last one's
 * directory writes the journal, before which the disk empties its cache. That is once for the whole group. (Ext4 is so in all
 * its modes: jbd2 commits transactions in order, and flushes before each commit record, see
 * Documentation/filesystems/ext4/journal.rst; XFS forces its log up to a sequence number, with all checkpoints before.)
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_SYNC_H
#define EWS_BASE_SYNC_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/sharing.h"

struct ews_sync_item;

struct ews_sync_group {
	pthread_mutex_t lock; /* several threads may add to it */
	struct ews_sync_item *items;
	size_t n, cap;
	unsigned stage; /* that what is added is of */
};

#define EWS_SYNC_GROUP_INIT { .lock = PTHREAD_MUTEX_INITIALIZER, .items = NULL, .n = 0, .cap = 0, .stage = 0 }

/*
 * Make the group that of this thread, which must have none: what base/file replaces, appends to and syncs joins it,
 * until it is finished or released. A file that is replaced has its old content as long.
 */
void ews_sync_begin(struct ews_sync_group *group);
/* It is this thread's no longer, and keeps what it has. A group that is not is left alone. */
void ews_sync_let_go(const struct ews_sync_group *group);
/* The group of this thread, or NULL. */
struct ews_sync_group *ews_sync_current(void);

/*
 * Add a new file, written and open at `*fd`, which is taken, under the name `tmp` in the directory `tmp_dir_fd`: it
 * becomes `name` in `dir_fd`, whatever has that name. The directories stay the caller's. Fails when there are no
 * descriptors left.
 */
int ews_sync_add_file(struct ews_sync_group *group, int *fd, int tmp_dir_fd, const char *tmp, int dir_fd,
		      const char *name);
/*
 * The same for a name in the directory `dir` of that where it is now, which is made where it is missing, for whom `sharing`
 * says. Others may remove that one as long as it is empty, as git does with those of objects: it is made again then.
 */
int ews_sync_add_file_within(struct ews_sync_group *group, int *fd, int tmp_dir_fd, const char *tmp,
			     const char *dir, const char *name, struct ews_sharing sharing);
/* Let the disk begin with the content of a file that will be added, while others are still made. */
void ews_sync_begin_content(int fd);
/* Add a file that has its name, open at `*fd`, which is taken. */
void ews_sync_add_named(struct ews_sync_group *group, int *fd);
/* Add a directory, once, whose names are to be durable before any file of the group gets its own. */
int ews_sync_add_dir(struct ews_sync_group *group, int dir_fd);

/*
 * What is added from here on gets its name after all that was added before, and when a power failure leaves it that it has
 * left those. No thread may add to the group meanwhile.
 */
void ews_sync_next_stage(struct ews_sync_group *group);

/* Sync the directory, or have the group of this thread do so. */
int ews_sync_dir(int dir_fd);

/*
 * Make all of it durable, as said above; the group is empty then, and no longer the thread's. When something can't be
 * synced no file gets its name; when one can't get it those after it don't, either.
 */
int ews_sync_finish(struct ews_sync_group *group);

/* The same, and it is the thread's once more, for what comes next; when it fails as well. */
int ews_sync_begin_anew(struct ews_sync_group *group);

/*
 * The same for what is to be durable before the names that are given after it: where the file system of all of it keeps the
 * order of names (ews_fs_keeps_order) it does that by itself, and nobody waits.
 */
int ews_sync_finish_in_order(struct ews_sync_group *group);

/* The same without a wait, for what may be lost when the power fails and shows by itself that it is whole. */
int ews_sync_finish_unsynced(struct ews_sync_group *group);

/*
 * As far as the names: that the last stage's are durable is left to `next`, which is empty, and none of whose files gets its
 * name before. What is said by those files is said of these. When this succeeds `next` is the thread's, which must have no
 * other.
 */
int ews_sync_finish_before(struct ews_sync_group *group, struct ews_sync_group *next);

/*
 * Give what is written as `tmp` its name, as renameat(2) does. Where a file is renamed over another ext4 sends all of it on its way to
 * the disk first (ext4(5), auto_da_alloc), which is for what is to last; where two change their names, as here when it is not to
 * be durable, it does not. Below zero: errno says why.
 */
int ews_sync_give_name(int tmp_dir_fd, const char *tmp, int dir_fd, const char *name, bool is_durable);

/* Files that have no names yet are removed. */
void ews_sync_group_release(struct ews_sync_group *group);
EWS_CLEANUP_DEFINE(sync_group, struct ews_sync_group, ews_sync_group_release)

#endif
