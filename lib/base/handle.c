/*
 * Handles: see handle.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/handle.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

const char *ews_handle_name(char out[EWS_HANDLE_NAME_MAX], int fd)
{
	snprintf(out, EWS_HANDLE_NAME_MAX, "/proc/self/fd/%d", fd);
	return out;
}

int ews_handle_chmod(int fd, mode_t mode)
{
	char name[EWS_HANDLE_NAME_MAX];

	if (!fchmod(fd, mode))
		return 0;
	return errno == EBADF ? chmod(ews_handle_name(name, fd), mode) : -1;
}
