/*
 * File systems: what one is called, and what it promises.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_FS_H
#define EWS_BASE_FS_H

#include <stdbool.h>

/* What the file system of the file open at `fd` is called, "" when we have no name for it; lives as long as the program. */
const char *ews_fs_name(int fd);

/*
 * Does the file system of the directory open at `fd` keep the order of names: does a power failure that leaves a name leave
 * all that were given before it? One does that has one journal for all names: XFS, and ext4 with a journal. Of others,
 * and where that can't be found out, we don't rely on it.
 */
bool ews_fs_keeps_order(int fd);

#endif
