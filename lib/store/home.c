/*
 * Home: see home.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/home.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/own.h"
#include "base/path.h"

bool ews_home_is_ours(int fd)
{
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	struct stat st;
	bool is_ours = fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & S_ISVTX);

	if (is_ours && faccessat(fd, EWS_HOME_WORKING, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		is_ours = ews_dir_names_read(&names, fd) == 0;
	return is_ours;
}

/*
 * Home may have been made by hand, under a loose umask: then it is closed to others, who could not have made what
 * is in it in our name. A directory that is used for something else stays as it is, and is refused.
 */
static int open_home(const char *home)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open(home);
	struct stat st;
	int rc;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) == 0 && (st.st_mode & 022) && ews_home_is_ours(fd) && fchmod(fd, st.st_mode & 07755) < 0)
		return ews_error_os("cannot close '%s' to others", home);
	rc = ews_own_check(fd, home);
	return rc < 0 ? rc : ews_steal_fd(&fd);
}

/* What is in the user's own directory goes with that: where it is missing, as that of accounts that shall have none, it stays so. */
static int need_user_dir(const char *home)
{
	const char *user = getenv("HOME");
	EWS_CLEANUP(free) char *parent = ews_path_dir(home);

	if (!user || strcmp(user, parent) != 0 || access(user, F_OK) == 0 || errno != ENOENT)
		return 0;
	ews_error(EWS_ECONFIG, "HOME is '%s', which is not there, so there is no place for workspaces", user);
	ews_error_hint("make that directory, or name a place with SUPERQODE_HOME or --home");
	return EWS_ECONFIG;
}

int ews_home_open(const char *home)
{
	int rc = need_user_dir(home);

	if (rc < 0)
		return rc;
	rc = ews_dir_make_absolute(home, 0700);
	return rc < 0 ? ews_error_wrap("cannot make '%s'", home) : open_home(home);
}

int ews_home_open_working(const char *home, bool make)
{
	EWS_CLEANUP(fd) int fd = make ? ews_home_open(home) : open_home(home);
	int rc = fd;

	if (fd >= 0 && make)
		rc = ews_dir_make(fd, EWS_HOME_WORKING, 0700);
	if (rc >= 0)
		rc = ews_dir_open_own(fd, EWS_HOME_WORKING);
	return rc == EWS_ENOTFOUND && !make ? ews_error(EWS_ENOTFOUND, "there are no sessions") : rc;
}

char *ews_home_tmp(const char *repo_dir, const char *id)
{
	EWS_CLEANUP(free) char *session = ews_path_join(repo_dir, id);
	uint8_t digest[EWS_HASH_MAX];
	char hex[2 * EWS_HASH_MAX + 1];

	ews_hash_once(EWS_SHA256, digest, session, strlen(session));
	ews_hex(hex, digest, 4);
	return ews_strfmt(EWS_HOME_TMP "/%s", hex);
}

bool ews_home_is_reserved(const char *home, const char *path)
{
	static const char *const names[] = { EWS_HOME_ACCEPTED, EWS_HOME_ARCHIVES,   EWS_HOME_ELSEWHERE,
					     EWS_HOME_HOOKS,    EWS_HOME_NEUTRAL,    EWS_HOME_NEUTRAL_SHA256,
					     EWS_HOME_PORTS,    EWS_HOME_PORTS_LOCK, EWS_HOME_RESERVE,
					     EWS_HOME_STORES,   EWS_HOME_TMP,        EWS_HOME_WORKING };
	EWS_CLEANUP(free) char *real_home = ews_dir_resolve(home);
	EWS_CLEANUP(free) char *real = ews_dir_resolve(path);
	const char *rel;

	if (!ews_path_is_inside(real, real_home) || !strcmp(real, real_home))
		return false;
	rel = real + strlen(real_home) + 1;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (ews_path_is_inside(rel, names[i]))
			return true;
	return *rel == '.'; /* what is on its way there, and is swept */
}
