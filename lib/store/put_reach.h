/*
 * Reaching: the directories that put works in, by descriptors, opened up where their modes keep us out.
 *
 * What is mounted beneath the root is no part of it, and is not entered, unless the caller says so.
 *
 * A path is reached through its parent directory, which stays open as long as paths of the same one follow. A parent that
 * lacks u+rwx and is ours gets it; that is noted, and it gets its mode back at the end. Killed in between, the next
 * scan sees the odd mode as a change.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_PUT_REACH_H
#define EWS_STORE_PUT_REACH_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/dir.h"

#define EWS_PUT_OWNER_ALL 0700

/* The directory that the last path was in, ready to be changed. */
struct ews_put_cursor {
	struct ews_dir_at dir;
	bool has_attrs; /* what is made in it may come with some of them */
};

#define EWS_PUT_CURSOR_INIT { EWS_DIR_AT_INIT, false }

/* A directory that was opened up, and how it was before. */
struct ews_put_opened {
	char *path;
	dev_t dev;
	ino_t ino;
	mode_t mode;
};

struct ews_put_reach {
	int root_fd; /* borrowed */
	bool into_mounts;
	uid_t uid; /* whose directories are opened up */
	bool is_closing; /* none is any more */
	pthread_mutex_t mutex; /* guards what follows */
	struct ews_put_opened *opened;
	size_t n_opened, cap_opened;
};

void ews_put_reach_init(struct ews_put_reach *out, int root_fd, bool into_mounts);
void ews_put_reach_release(struct ews_put_reach *reach);

/* Paths come from files that somebody may have written: fails with EWS_EDAMAGED for one that is none beneath a root. */
int ews_put_reach_check(const char *path);

/* Lead `at` to the directory of `path`. Returns its descriptor, borrowed. May be called from several threads. */
int ews_put_reach_parent(struct ews_put_reach *reach, struct ews_put_cursor *at, const char *path);

/* Open the directory `path` itself, whatever its mode, without following. Returns a descriptor (O_PATH). */
int ews_put_reach_dir(struct ews_put_reach *reach, struct ews_put_cursor *at, const char *path);

/* No directory is opened up from here on; those that were are in the order of their paths. */
void ews_put_reach_begin_closing(struct ews_put_reach *reach);

/* Give a directory that was opened up its mode back, if it is still there. Those below it come first. */
int ews_put_reach_close(struct ews_put_reach *reach, struct ews_put_cursor *at, const struct ews_put_opened *opened);

void ews_put_cursor_release(struct ews_put_cursor *at);

EWS_CLEANUP_DEFINE(put_reach, struct ews_put_reach, ews_put_reach_release)
EWS_CLEANUP_DEFINE(put_cursor, struct ews_put_cursor, ews_put_cursor_release)

#endif
