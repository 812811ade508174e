/*
 * In use: which processes stand in a directory or hold something of it open, and what is mounted in it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_INUSE_H
#define EWS_WORK_INUSE_H

#include "base/strv.h"

/*
 * Processes that we may look at (/proc) whose current directory, root,
 * program or open file lies in the directory `path`; the caller and its ancestors, and
 * what runs for us, don't count. Each as "<name> (<pid>)". Fails with EWS_EIO when
 * a look failed that another time may not: then nobody knows who is there.
 */
int ews_inuse_list(struct ews_strv *out, const char *path);

/* Is the process whose directory below `proc_fd` is called `pid` one of those? Returns 1 or 0, fails as ews_inuse_list(). */
typedef int (*ews_inuse_fn)(int proc_fd, const char *pid, const void *payload);
/* The same of those of whom `is_one` says so. */
int ews_inuse_find(struct ews_strv *out, ews_inuse_fn is_one, const void *payload);

/*
 * What is mounted at `path` or below it, as "what is mounted at '<path>'": it goes where the directory goes, and keeps that
 * from being removed. Fails as ews_inuse_list() does.
 */
int ews_inuse_list_mounts(struct ews_strv *out, const char *path);

#endif
