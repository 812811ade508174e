/*
 * The reserve: see reserve.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/dir.h"
#include "base/error.h"
#include "store/home.h"

/* With less than so many of it left nothing is put aside: others need the space more. */
#define PLENTY 16

/* What an ordinary user may still write there. A quota can't be seen. */
static uint64_t bytes_left(int fd)
{
	struct statvfs fs;

	return fstatvfs(fd, &fs) < 0 ? 0 : (uint64_t)fs.f_bavail * fs.f_frsize;
}

static int open_home(const char *home)
{
	int fd = ews_dir_open(home);

	if (fd < 0)
		ews_error_clear();
	return fd;
}

/* Who was killed while he put it aside has left less. */
static bool is_whole(int dir)
{
	struct stat st;

	return fstatat(dir, EWS_HOME_RESERVE, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	       st.st_size >= EWS_RESERVE_BYTES;
}

bool ews_reserve_is_there(const char *home)
{
	EWS_CLEANUP(fd) int dir = open_home(home);

	return dir >= 0 && is_whole(dir);
}

void ews_reserve_make(const char *home)
{
	EWS_CLEANUP(fd) int dir = open_home(home);
	EWS_CLEANUP(fd) int fd = -1;

	if (dir < 0 || is_whole(dir) || bytes_left(dir) < (uint64_t)PLENTY * EWS_RESERVE_BYTES)
		return;
	(void)unlinkat(dir, EWS_HOME_RESERVE, 0); /* there may be none */
	fd = openat(dir, EWS_HOME_RESERVE, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	/* Half of it is no reserve; none is none, and is made another time. */
	if (fd >= 0 && posix_fallocate(fd, 0, EWS_RESERVE_BYTES) != 0)
		(void)unlinkat(dir, EWS_HOME_RESERVE, 0); /* best effort: then it is a small one */
}

bool ews_reserve_free(const char *home)
{
	EWS_CLEANUP(fd) int dir = open_home(home);

	return dir >= 0 && unlinkat(dir, EWS_HOME_RESERVE, 0) == 0;
}

void ews_reserve_ease(const char *home)
{
	EWS_CLEANUP(fd) int dir = open_home(home);

	if (dir >= 0 && bytes_left(dir) < EWS_RESERVE_BYTES)
		(void)unlinkat(dir, EWS_HOME_RESERVE, 0); /* best effort: there may be none */
}
