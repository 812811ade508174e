/*
 * Method in-place: the workspace is the project itself.
 *
 * Nothing is made and nothing is linked, so nothing is ever taken away either. Git's state is
 * that of the project's own git directory.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/method.h"

#include <fcntl.h>

#include "base/error.h"

static int prepare(const struct ews_place *place, int workspace_fd, const struct ews_gitstate *state)
{
	(void)place;
	(void)workspace_fd;
	(void)state;
	return 0;
}

static int open_git(const struct ews_place *place, int workspace_fd)
{
	int fd;

	(void)workspace_fd;
	if (place->is_plain)
		return ews_error(EWS_ENOTFOUND, "a plain directory has no repository");
	fd = fcntl(place->git_fd, F_DUPFD_CLOEXEC, 3);
	return fd < 0 ? ews_error_os("cannot open the project's git directory") : fd;
}

static int tampered(struct ews_strv *out, const struct ews_place *place, int workspace_fd)
{
	(void)out;
	(void)place;
	(void)workspace_fd;
	return 0;
}

const struct ews_method ews_method_in_place = {
	.name = "in-place",
	.json_name = "in_place",
	.is_project = true,
	.check_free = ews_method_nothing,
	.prepare = prepare,
	.publish = ews_method_nothing,
	.withdraw = ews_method_nothing,
	.restore = ews_method_nothing,
	.take_back = ews_method_nothing,
	.open_git = open_git,
	.tampered = tampered,
	.repair = prepare,
	.open_kept = ews_method_open_beside,
};
