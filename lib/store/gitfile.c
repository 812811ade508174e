/*
 * Gitfiles: see gitfile.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/gitfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/str.h"

#define PREFIX "gitdir: "
#define HEAD EWS_GITFILE "/HEAD"
#define ID_LEN_MIN 40 /* SHA-1's */
#define BYTES_MAX (64 * EWS_KIB)

int ews_gitfile_read(char **out, int dir_fd, const char *name)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	const char *dir;
	size_t len;
	int rc = ews_file_read(&text, dir_fd, name, BYTES_MAX);

	if (rc < 0)
		return rc;
	for (len = text.len; len && (text.ptr[len - 1] == '\n' || text.ptr[len - 1] == '\r'); len--)
		continue;
	ews_buf_truncate(&text, len);
	dir = ews_str_after(text.ptr, PREFIX);
	if (!dir)
		return ews_error(EWS_EGIT, "'%s' is not a file that names a git directory", name);
	*out = ews_strdup(dir);
	return 0;
}

/* What `path` really is. Returns 1, or 0 where it is not there; below zero where that can't be seen. */
static int find_real(char **out, const char *path)
{
	*out = realpath(path, NULL);
	if (*out)
		return 1;
	return ews_errno_is_absent(errno) ? 0 : ews_error_os("cannot look for '%s'", path);
}

char *ews_gitfile_follow(const char *path)
{
	char *out = NULL;

	if (ews_gitfile_find(&out, path) < 0)
		ews_error_clear();
	return out;
}

int ews_gitfile_find(char **out, const char *path)
{
	EWS_CLEANUP(free) char *named = NULL;
	EWS_CLEANUP(free) char *dir = NULL;
	EWS_CLEANUP(free) char *target = NULL;
	int rc = ews_gitfile_read(&named, AT_FDCWD, path);

	if (rc == EWS_EGIT) {
		ews_error_clear();
		return 0;
	}
	if (rc < 0)
		return rc;
	dir = ews_path_dir(path);
	target = ews_path_absolute(dir, named);
	return find_real(out, target);
}

int ews_gitfile_leads_to(const char *top, const char *git_dir)
{
	EWS_CLEANUP(free) char *path = ews_path_join(top, EWS_GITFILE);
	EWS_CLEANUP(free) char *real = NULL;
	struct stat st;
	int rc;

	if (stat(path, &st) < 0)
		return ews_errno_is_absent(errno) ? 0 : ews_error_os("cannot look for '%s'", path);
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return 0;
	rc = S_ISREG(st.st_mode) ? ews_gitfile_find(&real, path) : find_real(&real, path);
	return rc <= 0 ? rc : !strcmp(real, git_dir);
}

char *ews_gitfile_back(const char *git_dir)
{
	char *path = NULL;

	if (ews_gitfile_read_back(&path, git_dir) < 0)
		ews_error_clear();
	return path;
}

int ews_gitfile_read_back(char **out, const char *git_dir)
{
	EWS_CLEANUP(free) char *file = ews_path_join(git_dir, "gitdir");
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int rc = ews_file_read(&text, AT_FDCWD, file, BYTES_MAX);

	if (rc < 0)
		return rc;
	ews_buf_rtrim(&text);
	if (!text.len)
		return ews_error(EWS_ENOTFOUND, "'%s' is empty", file);
	*out = ews_path_absolute(git_dir, text.ptr);
	return 0;
}

/* Is it a file that names no git directory, or a link that leads nowhere? What can't be read may name one. */
static bool names_nothing(int dir_fd, const struct stat *st)
{
	EWS_CLEANUP(free) char *named = NULL;
	struct stat target;
	int rc;

	if (S_ISLNK(st->st_mode))
		return fstatat(dir_fd, EWS_GITFILE, &target, 0) < 0 && (errno == ENOENT || errno == ELOOP);
	if (!S_ISREG(st->st_mode))
		return false;
	rc = ews_gitfile_read(&named, dir_fd, EWS_GITFILE);
	ews_error_clear();
	return rc == EWS_EGIT || (rc == 0 && !*named);
}

int ews_gitfile_is_head(int dir_fd, const char *path)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	const char *ref;
	struct stat st;
	int rc;

	if (fstatat(dir_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return ews_errno_is_absent(errno) ? 0 : ews_error_os("cannot look for '%s'", path);
	if (!S_ISREG(st.st_mode))
		return S_ISLNK(st.st_mode);
	rc = ews_file_read(&text, dir_fd, path, BYTES_MAX);
	if (rc < 0)
		return rc;
	ref = ews_str_after(text.ptr, "ref:");
	if (ref)
		return ews_str_begins(ref + strspn(ref, " \t\n\r"), "refs/");
	return strspn(text.ptr, "0123456789abcdefABCDEF") >= ID_LEN_MIN;
}

static bool has(int dir_fd, const char *name)
{
	return faccessat(dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int ews_gitfile_refuse_git_dir(int dir_fd, const char *path)
{
	if (!has(dir_fd, "HEAD") || !((has(dir_fd, "objects") && has(dir_fd, "refs")) || has(dir_fd, "commondir")) ||
	    has(dir_fd, EWS_GITFILE))
		return 0;
	ews_error(EWS_EDENIED, "'%s' is a git directory: nothing is put into it", path);
	ews_error_hint("name another directory");
	return EWS_EDENIED;
}

bool ews_gitfile_is_hollow(int dir_fd)
{
	struct stat st;

	if (fstatat(dir_fd, EWS_GITFILE, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	if (!S_ISDIR(st.st_mode))
		return names_nothing(dir_fd, &st);
	if (ews_gitfile_is_head(dir_fd, HEAD) == 0)
		return true;
	ews_error_clear(); /* what can't be read may be one */
	/* Those of a linked worktree are elsewhere. */
	if (fstatat(dir_fd, EWS_GITFILE "/commondir", &st, AT_SYMLINK_NOFOLLOW) == 0)
		return false;
	return (fstatat(dir_fd, EWS_GITFILE "/objects", &st, 0) < 0 && errno == ENOENT) ||
	       (fstatat(dir_fd, EWS_GITFILE "/refs", &st, 0) < 0 && errno == ENOENT);
}
