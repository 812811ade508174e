/*
 * Notification of a tree: what became of it since somebody last asked.
 *
 * It knows how the tree looked then, place by place, and how it looks now. What
 * the kernel says of a place (base/notify) is only why that is looked at again:
 * what is told in the end is what two looks differ in. So nothing hangs on
 * events being complete, in order, or in time:
 *
 *     a new directory        is watched first and listed then: what comes into it is seen one way or the other
 *     a rename               is followed by its cookie, else by the inode that went here and came there
 *     lost events            all is listed again
 *     no watch to be had,
 *     or a network           is listed at each ews_notify_tree_poll()
 *
 * What is written through a memory map is seen when the file is closed.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_NOTIFY_TREE_H
#define EWS_BASE_NOTIFY_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/notify_tell.h"
#include "base/strv.h"

struct ews_notify_tree_opts {
	int root_fd; /* borrowed, for as long as the tree is watched */
	bool only_top; /* what is in its subdirectories is left alone */
	bool polls; /* ask the kernel for nothing */
	/* Is there interest in this path? What is below a directory without is not asked about. NULL: in all. */
	bool (*wants)(void *payload, const char *path, bool is_dir);
	void *payload;
};

struct ews_notify_tree;

/* Look at all of it. What stands there is known then, and not told. */
int ews_notify_tree_open(struct ews_notify_tree **out, const struct ews_notify_tree_opts *opts);
void ews_notify_tree_free(struct ews_notify_tree *tree);

/* What becomes readable when something happens, or -1. */
int ews_notify_tree_fd(const struct ews_notify_tree *tree);

/* How many directories are looked after; how many of these must be polled, as the kernel does not tell of them. */
size_t ews_notify_tree_n_dirs(const struct ews_notify_tree *tree);
size_t ews_notify_tree_n_polled(const struct ews_notify_tree *tree);
/* Add the paths of the latter, sorted; the top is ".". */
void ews_notify_tree_list_polled(struct ews_strv *out, const struct ews_notify_tree *tree);
/* Why the kernel does not tell of one of them, and what can be done; both "" when nobody asked it to. */
const char *ews_notify_tree_trouble(const struct ews_notify_tree *tree, const char **hint);

/* Take in what the kernel says now. Returns how much of it was of interest. */
int ews_notify_tree_read(struct ews_notify_tree *tree);

/* List what must be polled. Returns how much was found to differ from the last time. */
int ews_notify_tree_poll(struct ews_notify_tree *tree);

/*
 * Tell what differs since the last time: first moves, a directory's before what came out of it or went into it, and what left a
 * place before what came there, but where things changed places; then
 * what is gone, what it held first; then what came or changed, in the order of a walk. Returns how many were told.
 * Fails with EWS_ENOTFOUND when the directory itself is gone, after all was told as deleted.
 */
int ews_notify_tree_settle(struct ews_notify_tree *tree, ews_tree_change_fn fn, void *payload);

/*
 * `wants` answers differently now: look at all of it again. Of what there is interest in now, and was none before, only
 * what changed since the last ews_notify_tree_settle() is told next time; what there is none in any more is dropped.
 * Returns how much there is to tell.
 */
int ews_notify_tree_refilter(struct ews_notify_tree *tree);

/* Of files that their owner can't read: what is heard of now, and changed no more than the ctime, was nobody's change. */
void ews_notify_tree_forgive(struct ews_notify_tree *tree);

EWS_CLEANUP_DEFINE_PTR(notify_tree, struct ews_notify_tree, ews_notify_tree_free)

#endif
