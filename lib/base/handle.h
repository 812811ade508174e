/*
 * Handles: what is done to a file that is held by a descriptor, opened or not.
 *
 * O_PATH holds a file whatever its mode, and reads nothing; what happens to its name meanwhile can't lead us elsewhere.
 * But most calls refuse such a descriptor. Its name below /proc/self/fd is the same inode, and that they take.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_HANDLE_H
#define EWS_BASE_HANDLE_H

#include <sys/types.h>

#define EWS_HANDLE_NAME_MAX 32

/* Write the name of what `fd` holds into `out`, and return that. To be followed: it reads as a link. */
const char *ews_handle_name(char out[EWS_HANDLE_NAME_MAX], int fd);

/* As fchmod(), for any descriptor: 0, or -1 and errno. */
int ews_handle_chmod(int fd, mode_t mode);

#endif
