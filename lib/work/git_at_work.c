/*
 * Git at work: see git_at_work.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/git_at_work.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/str.h"
#include "store/gitfile.h"
#include "store/index_lock.h"
#include "work/inuse.h"

#define TEXT_MAX (8 * EWS_MIB) /* of arguments and environment: both fit into the stack that they are given in */

/* Is one of those who use a directory a git, and none of ours? */
static bool has_git(const struct ews_strv *users)
{
	bool has = false;

	for (size_t i = 0; i < users->n && !has; i++)
		has = ews_str_begins(users->items[i], "git") && !ews_str_begins(users->items[i], "git-ews ");
	return has;
}

bool ews_git_at_work_in(const char *workspace)
{
	EWS_CLEANUP(strv) struct ews_strv users = EWS_STRV_INIT;

	if (ews_inuse_list(&users, workspace) == 0)
		return has_git(&users);
	ews_error_clear(); /* who can't be seen may be one */
	return true;
}

static bool is_git(int process)
{
	EWS_CLEANUP(buf) struct ews_buf name = EWS_BUF_INIT;
	bool is = ews_file_read(&name, process, "comm", NAME_MAX) == 0 && ews_str_begins(name.ptr, "git") &&
		  !ews_str_begins(name.ptr, "git-ews\n");

	ews_error_clear();
	return is;
}

static bool is_in(const char *path, const char *common_dir)
{
	EWS_CLEANUP(free) char *real = realpath(path, NULL);

	return real && ews_path_is_inside(real, common_dir);
}

/* Is it told so by the words in its `file`: by `name` with a value, or, of arguments, with the next word? */
static bool is_told(int process, const char *pid, const char *file, const char *name, const char *common_dir)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	bool is_next = false, is_told = false;

	if (ews_file_read(&text, process, file, TEXT_MAX) < 0)
		ews_error_clear(); /* it is not ours to look at */
	for (const char *word = text.ptr, *end = text.ptr + text.len; word < end && !is_told;
	     word += strlen(word) + 1) {
		const char *rest = ews_str_after(word, name);
		const char *value = is_next ? word : rest && *rest == '=' ? rest + 1 : NULL;
		EWS_CLEANUP(free) char *path = NULL;

		is_next = rest && !*rest;
		if (!value)
			continue;
		path = *value == '/' ? ews_strdup(value) : ews_strfmt("/proc/%s/cwd/%s", pid, value);
		is_told = is_in(path, common_dir);
	}
	return is_told;
}

/* Does it stand in a work tree of the repository: is the first ".git" above it the repository, or a file that leads there? */
static bool stands_in_work_tree(const char *pid, const char *common_dir)
{
	EWS_CLEANUP(free) char *link = ews_strfmt("/proc/%s/cwd", pid);
	EWS_CLEANUP(free) char *dir = realpath(link, NULL);

	while (dir && *dir) {
		EWS_CLEANUP(free) char *path = ews_path_join(dir, EWS_GITFILE);
		EWS_CLEANUP(free) char *git_dir = ews_gitfile_follow(path);
		char *slash = strrchr(dir, '/');

		if (git_dir || access(path, F_OK) == 0)
			return is_in(git_dir ? git_dir : path, common_dir);
		*slash = '\0';
	}
	return false;
}

static int is_at_work(int proc, const char *pid, const void *common_dir)
{
	EWS_CLEANUP(fd) int process = openat(proc, pid, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return process >= 0 && is_git(process) &&
	       (is_told(process, pid, "cmdline", "--git-dir", common_dir) ||
		is_told(process, pid, "environ", "GIT_DIR", common_dir) || stands_in_work_tree(pid, common_dir));
}

bool ews_git_at_work(const struct ews_repo *repo)
{
	EWS_CLEANUP(free) char *lock = ews_path_join(repo->git_dir, EWS_INDEX_LOCK);
	EWS_CLEANUP(strv) struct ews_strv users = EWS_STRV_INIT;
	int rc = ews_inuse_list(&users, lock);

	if (rc == 0 && !users.n)
		rc = ews_inuse_find(&users, is_at_work, repo->common_dir);
	if (rc == 0 && !users.n)
		return ews_git_at_work_in(repo->project) || ews_git_at_work_in(repo->common_dir);
	ews_error_clear(); /* who can't be seen may be one */
	return true;
}
