/*
 * Own: see own.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/own.h"

#include <stdlib.h>
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
