/*
 * Workspaces and where they lie: see home_workspace.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/home_workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/str.h"
#include "store/home.h"

static char *elsewhere_file(const char *workspace)
{
	uint8_t digest[EWS_HASH_MAX];
	char hex[33];

	ews_hash_once(EWS_SHA256, digest, workspace, strlen(workspace));
	ews_hex(hex, digest, 16);
	return ews_strfmt(EWS_HOME_ELSEWHERE "/%s", hex);
}

int ews_home_mark_elsewhere(const char *home, const char *workspace, const char *repo_dir, const char *id)
{
	EWS_CLEANUP(free) char *name = elsewhere_file(workspace);
	EWS_CLEANUP(free) char *text = ews_strfmt("%s/%s\n", ews_path_base(repo_dir), id);
	EWS_CLEANUP(fd) int fd = ews_home_open(home);
	EWS_CLEANUP(fd) int dir = -1;
	int rc;

	if (fd < 0)
		return fd;
	rc = ews_dir_make(fd, EWS_HOME_ELSEWHERE, 0700);
	if (rc < 0)
		return rc;
	dir = ews_dir_open_beneath(fd, EWS_HOME_ELSEWHERE);
	return dir < 0 ? dir : ews_file_replace(dir, ews_path_base(name), text, strlen(text), 0600);
}

int ews_home_is_marked(const char *home, const char *workspace, const char *repo_dir, const char *id)
{
	EWS_CLEANUP(free) char *name = elsewhere_file(workspace);
	EWS_CLEANUP(free) char *path = ews_path_join(home, name);
	EWS_CLEANUP(free) char *want = ews_strfmt("%s/%s\n", ews_path_base(repo_dir), id);
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int rc = ews_file_read_own(&text, AT_FDCWD, path, EWS_KIB);

	return rc < 0 ? ews_error_if_passing(rc) : !strcmp(text.ptr, want);
}

int ews_home_unmark_elsewhere(const char *home, const char *workspace)
{
	EWS_CLEANUP(free) char *name = elsewhere_file(workspace);
	EWS_CLEANUP(free) char *path = ews_path_join(home, name);

	if (unlink(path) < 0 && !ews_errno_is_absent(errno))
		return ews_error_os("cannot remove '%s'", path);
	return 0;
}

/* Is `path` "<working>/<repo>/qe/<id>" or below? */
static bool split_workspace(char **repo, char **id, const char *working, const char *path)
{
	size_t len = strlen(working);
	const char *at, *slash, *name;

	if (strncmp(path, working, len) || path[len] != '/')
		return false;
	at = path + len + 1;
	slash = strchr(at, '/');
	name = slash ? ews_str_after(slash, "/" EWS_WORKING_WORKSPACES "/") : NULL;
	if (!name || !*name || *name == '/')
		return false;
	*repo = ews_strndup(at, (size_t)(slash - at));
	*id = ews_strndup(name, strcspn(name, "/"));
	return true;
}

/* Returns 1, or 0 where no mark is of `cwd` or a directory above it. */
static int find_marked(char **repo, char **id, const char *home, const char *cwd)
{
	EWS_CLEANUP(free) char *at = ews_strdup(cwd);
	EWS_CLEANUP(free) char *elsewhere = ews_path_join(home, EWS_HOME_ELSEWHERE);
	EWS_CLEANUP(fd) int dir = open(elsewhere, O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		return ews_errno_is_passing(errno) ? ews_error_os("cannot open '%s'", elsewhere) : 0;
	while (*at) {
		EWS_CLEANUP(free) char *name = elsewhere_file(at);
		EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
		int rc = ews_file_read_own(&text, dir, ews_path_base(name), EWS_KIB);

		if (rc == 0) {
			char *slash;

			ews_buf_rtrim(&text);
			slash = strchr(text.ptr, '/');
			if (!slash)
				return 0;
			*repo = ews_strndup(text.ptr, (size_t)(slash - text.ptr));
			*id = ews_strdup(slash + 1);
			return 1;
		}
		if (ews_error_if_passing(rc) < 0)
			return rc;
		*strrchr(at, '/') = '\0';
	}
	return 0;
}

int ews_home_find_workspace(char **repo_dir, char **id, const char *home, const char *cwd)
{
	EWS_CLEANUP(free) char *real_home = realpath(home, NULL);
	EWS_CLEANUP(free) char *working = NULL;
	EWS_CLEANUP(free) char *repo = NULL;
	int rc;

	if (!real_home && ews_errno_is_passing(errno))
		return ews_error_os("cannot look at '%s'", home);
	if (!real_home)
		return ews_error(EWS_ENOTFOUND, "there are no sessions");
	working = ews_path_join(real_home, EWS_HOME_WORKING);
	rc = split_workspace(&repo, id, working, cwd) ? 1 : find_marked(&repo, id, home, cwd);
	if (rc < 0)
		return ews_error_wrap("cannot tell whether '%s' is in a workspace", cwd);
	if (!rc)
		return ews_error(EWS_ENOTFOUND, "'%s' is in no workspace", cwd);
	*repo_dir = ews_strfmt("%s/" EWS_HOME_WORKING "/%s", home, repo);
	return 0;
}
