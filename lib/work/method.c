/*
 * Methods: see method.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/method.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"

#define BESIDE "ews"

const struct ews_method *ews_method_find(const char *name)
{
	static const struct {
		const char *name;
		const struct ews_method *method;
	} names[] = {
		{ "worktree", &ews_method_worktree },     { "git_worktree", &ews_method_worktree },
		{ "git-worktree", &ews_method_worktree }, { "snapshot", &ews_method_snapshot },
		{ "in-place", &ews_method_in_place },     { "in_place", &ews_method_in_place },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i].name))
			return names[i].method;
	return NULL;
}

static int open_sub(int dir_fd, const char *name, bool make)
{
	if (make && mkdirat(dir_fd, name, 0777) < 0 && errno != EEXIST)
		return ews_error_os("cannot make '%s'", name);
	return ews_dir_open_beneath(dir_fd, name);
}

int ews_method_open_beside(int common_fd, const char *name, bool make)
{
	EWS_CLEANUP(fd) int beside = open_sub(common_fd, BESIDE, make);

	return beside < 0 ? beside : open_sub(beside, name, make);
}
