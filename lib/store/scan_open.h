/*
 * Directories and files of ours that a scan opens although their modes keep us out.
 *
 * What is closed is held by a descriptor that reads nothing, and its bits are widened through that: a name that is swapped
 * meanwhile is not hit. A file is closed again as soon as it is open, a directory when the scan is done with it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_SCAN_OPEN_H
#define EWS_STORE_SCAN_OPEN_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/strv.h"

/*
 * Open the directory `path` beneath `root_fd` to be read. One that is closed is opened up when there is a list to note that in,
 * which gets "<octal mode> <path>". What is mounted on the way, or there, is opened if `into_mounts`, and else EXDEV. Returns
 * a descriptor, or below zero and errno.
 */
int ews_scan_open_dir(struct ews_strv *opened, int root_fd, const char *path, bool into_mounts);

/* Open the file `name` in `dir_fd` to be read, whatever its mode; a link is ELOOP. Returns a descriptor, or -1 and errno. */
int ews_scan_open_file(int dir_fd, const char *name);

/*
 * Open the file `name` in `dir_fd`, whose mode keeps us out. Its attributes are added to `attrs` (see store/xattr.h): the
 * kernel asks the mode for each of them, whatever is open. Returns a descriptor, or -1 and errno.
 */
int ews_scan_open_closed_file(struct ews_buf *attrs, int dir_fd, const char *name);

/* Give the directories that were opened up their modes back. */
void ews_scan_close_dirs(struct ews_strv *opened, int root_fd, bool into_mounts);

#endif
