/*
 * Own: see own.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/own.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/handle.h"
#include "base/shell_word.h"

#define OTHERS_WRITE 022

/* The path that the descriptor stands for, which people can do something about; else its name. The caller frees it. */
static char *find_path(int fd, const char *name)
{
	char link[EWS_HANDLE_NAME_MAX];
	char *path = realpath(ews_handle_name(link, fd), NULL);

	return path ? path : ews_strdup(name);
}

int ews_own_check(int fd, const char *name)
{
	EWS_CLEANUP(free) char *path = NULL;
	EWS_CLEANUP(free) char *shown = NULL;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return ews_error_os("cannot look at '%s'", name);
	if (st.st_uid != geteuid() && st.st_uid != 0) {
		path = find_path(fd, name);
		ews_error(EWS_EDENIED, "'%s' belongs to another user", path);
		ews_error_hint("name a place of your own with SUPERQODE_HOME or --home");
		return EWS_EDENIED;
	}
	if (st.st_mode & OTHERS_WRITE) {
		path = find_path(fd, name);
		shown = ews_shell_shown(path);
		ews_error(EWS_EDENIED, "'%s' can be written by others", path);
		ews_error_hint("if you trust what it holds: chmod go-w %s", shown);
		return EWS_EDENIED;
	}
	return 0;
}

int ews_own_check_within(int fd, int dir_fd, const char *name)
{
	struct stat st, dir;
	bool is_his = geteuid() == 0 && fstat(fd, &st) == 0 && fstat(dir_fd, &dir) == 0 && st.st_uid == dir.st_uid;

	return is_his && !(st.st_mode & OTHERS_WRITE) ? 0 : ews_own_check(fd, name);
}

int ews_own_make_dir(int dir_fd, const char *name, mode_t mode)
{
	struct stat dir;
	int rc;

	if (geteuid() != 0 || fstat(dir_fd, &dir) < 0 || dir.st_uid == 0)
		return mkdirat(dir_fd, name, mode);
	/* The kernel makes it as his, in this thread: given to him later, it could be another one that he has put in its place. */
	(void)setfsgid(dir.st_gid);
	(void)setfsuid(dir.st_uid);
	rc = mkdirat(dir_fd, name, mode);
	(void)setfsuid(0);
	(void)setfsgid(getegid());
	return rc == 0 || errno == EEXIST ? rc : mkdirat(dir_fd, name, mode);
}
