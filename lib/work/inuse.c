/*
 * In use: see inuse.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/inuse.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/kin.h"
#include "base/path.h"
#include "base/str.h"

#define ANCESTORS_MAX 256
#define MOUNTS "/proc/self/mounts"
#define MOUNT_LINE_MAX (4 * PATH_MAX)

/*
 * Does the process tell what it runs? One that doesn't is the kernel's own, is ending, or is not ours to look at, and tells
 * nothing else, either: most of them are spared the other questions.
 */
static bool tells(int proc_fd, const char *pid)
{
	EWS_CLEANUP(free) char *name = ews_strfmt("%s/exe", pid);
	char target[1];

	return readlinkat(proc_fd, name, target, sizeof(target)) >= 0 || errno == ENAMETOOLONG ||
	       ews_errno_is_passing(errno);
}

/* Of a process that has ended, or is not ours to look at, nothing can be told; a look that failed at this moment tells nothing, either. */
static int fail_if_passing(void)
{
	return ews_errno_is_passing(errno) ? ews_error_os("cannot look for what is in use") : 0;
}

/*
 * The same of a link that leads farther down than the kernel can spell. From a directory there is a way up. From a file there
 * is none: it is taken to lie elsewhere, as else a single such file of anybody's would keep all workspaces in use.
 */
static int leads_deep_into(int proc_fd, const char *name, const char *path)
{
	EWS_CLEANUP(fd) int fd = openat(proc_fd, name, O_PATH | O_CLOEXEC);
	struct stat top, at, above;

	if (fd < 0 || stat(path, &top) < 0 || fstat(fd, &at) < 0)
		return fail_if_passing();
	if (!S_ISDIR(at.st_mode))
		return 0;
	while (!ews_file_is_same(&at, &top)) {
		int up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

		if (up < 0)
			return fail_if_passing();
		close(fd);
		fd = up;
		if (fstat(fd, &above) < 0)
			return fail_if_passing();
		if (ews_file_is_same(&above, &at))
			return 0;
		at = above;
	}
	return 1;
}

/* Does the link `name` in a process's directory lead into `path`? */
static int leads_into(int proc_fd, const char *name, const char *path)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(proc_fd, name, target, sizeof(target) - 1);

	if (len < 0)
		return errno == ENAMETOOLONG ? leads_deep_into(proc_fd, name, path) : fail_if_passing();
	target[len] = '\0';
	return ews_path_is_inside(target, path);
}

static int has_open(int proc_fd, const char *path)
{
	int fd = openat(proc_fd, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int rc = dir ? 0 : fail_if_passing();

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return rc;
	}
	while (rc == 0 && (errno = 0, entry = readdir(dir)))
		rc = entry->d_name[0] == '.' ? 0 : leads_into(dirfd(dir), entry->d_name, path);
	if (rc == 0)
		rc = fail_if_passing();
	closedir(dir);
	return rc;
}

static size_t find_ancestors(pid_t *out)
{
	size_t n = 0;

	for (pid_t pid = getpid(); pid > 0 && n < ANCESTORS_MAX; pid = ews_kin_parent(pid))
		out[n++] = pid;
	return n;
}

static bool is_among(pid_t pid, const pid_t *list, size_t n)
{
	while (n)
		if (list[--n] == pid)
			return true;
	return false;
}

/* Does the process read what we write? In "git ews end | cat" cat is no user of the workspace. */
static bool reads_from_us(int proc_fd)
{
	static const char *const ours[] = { "/proc/self/fd/1", "/proc/self/fd/2" };
	char input[64];
	ssize_t len = readlinkat(proc_fd, "fd/0", input, sizeof(input) - 1);

	if (len < 0)
		return false;
	input[len] = '\0';
	for (size_t i = 0; i < sizeof(ours) / sizeof(*ours) && ews_str_begins(input, "pipe:"); i++) {
		char output[64];

		len = readlink(ours[i], output, sizeof(output) - 1);
		if (len >= 0) {
			output[len] = '\0';
			if (!strcmp(input, output))
				return true;
		}
	}
	return false;
}

static void add_process(struct ews_strv *out, pid_t pid)
{
	EWS_CLEANUP(buf) struct ews_buf name = EWS_BUF_INIT;

	ews_kin_name(&name, pid);
	ews_strv_add(out, name.ptr);
}

/* Does the process whose directory in /proc is `name` stand in `path`, or hold something of it open? */
static int uses(int proc, const char *name, const void *path)
{
	static const char *const links[] = { "cwd", "root", "exe" };
	EWS_CLEANUP(fd) int fd = openat(proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = fd < 0 ? fail_if_passing() : 0;

	if (fd < 0 || reads_from_us(fd))
		return rc;
	for (size_t i = 0; i < sizeof(links) / sizeof(*links) && rc == 0; i++)
		rc = leads_into(fd, links[i], path);
	return rc ? rc : has_open(fd, path);
}

int ews_inuse_find(struct ews_strv *out, ews_inuse_fn is_one, const void *payload)
{
	pid_t ancestors[ANCESTORS_MAX];
	size_t n = find_ancestors(ancestors);
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	int rc = 0;

	/* Without /proc nothing can be told. */
	if (!proc)
		return fail_if_passing();
	while (rc >= 0 && (errno = 0, entry = readdir(proc))) {
		char *end;
		pid_t pid = (pid_t)strtol(entry->d_name, &end, 10);

		if (*end || pid <= 0 || is_among(pid, ancestors, n) || !tells(dirfd(proc), entry->d_name))
			continue;
		rc = is_one(dirfd(proc), entry->d_name, payload);
		if (rc > 0)
			add_process(out, pid);
	}
	if (rc >= 0)
		rc = fail_if_passing();
	closedir(proc);
	return rc;
}

int ews_inuse_list(struct ews_strv *out, const char *path)
{
	return ews_inuse_find(out, uses, path);
}

int ews_inuse_list_mounts(struct ews_strv *out, const char *path)
{
	FILE *mounts = setmntent(MOUNTS, "re");
	EWS_CLEANUP(free) char *line = NULL;
	struct mntent entry;
	int rc;

	if (!mounts)
		return fail_if_passing();
	line = ews_malloc(MOUNT_LINE_MAX);
	while (getmntent_r(mounts, &entry, line, MOUNT_LINE_MAX))
		if (ews_path_is_inside(entry.mnt_dir, path))
			ews_strv_addf(out, "what is mounted at '%s'", entry.mnt_dir);
	rc = ferror(mounts) ? fail_if_passing() : 0;
	(void)endmntent(mounts); /* it always succeeds */
	return rc;
}
