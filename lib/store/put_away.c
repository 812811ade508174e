/*
 * What is put away whole, by one rename, and put back: see put.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/put.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/handle.h"
#include "base/path.h"
#include "store/put_reach.h"

/* Moving a directory to another one writes into it (its ".."), so it must be writable itself. */
static int rename_whole(int from_fd, const char *from, int to_fd, const char *to)
{
	EWS_CLEANUP(fd) int fd = openat(from_fd, from, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	bool is_opened;
	int rc;

	if (fd < 0 || fstat(fd, &st) < 0)
		return ews_error_os("cannot look at '%s'", from);
	is_opened = S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 0200);
	if (is_opened && ews_handle_chmod(fd, (st.st_mode & 07777) | 0200) < 0)
		return ews_error_os("cannot make '%s' writable", from);
	rc = ews_file_rename_new(from_fd, from, to_fd, to);
	/* It may have been made anew there. */
	if (rc == 0 && is_opened) {
		ews_cleanup_fd(&fd);
		fd = openat(to_fd, to, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	}
	if (is_opened && ews_handle_chmod(fd, st.st_mode & 07777) < 0 && rc == 0)
		return ews_error_os("cannot set the mode of '%s' back", to);
	return rc;
}

/* Close what was opened up on the way; the error that is set outlives it. */
static int close_all(struct ews_put_reach *reach, int rc)
{
	EWS_CLEANUP(put_cursor) struct ews_put_cursor at = EWS_PUT_CURSOR_INIT;
	struct ews_error_saved first = EWS_ERROR_SAVED_INIT;

	if (rc < 0)
		ews_error_save(&first);
	ews_put_reach_begin_closing(reach);
	for (size_t i = reach->n_opened; i-- > 0;) {
		if (ews_put_reach_close(reach, &at, &reach->opened[i]) < 0 && !first.code)
			ews_error_save(&first);
	}
	return first.code ? ews_error_restore(&first) : 0;
}

static int move(int root_fd, const char *path, int keep_fd, const char *name, bool back)
{
	EWS_CLEANUP(put_cursor) struct ews_put_cursor at = EWS_PUT_CURSOR_INIT;
	EWS_CLEANUP(put_reach) struct ews_put_reach reach;
	const char *base = ews_path_base(path);
	int dir_fd, rc;

	ews_put_reach_init(&reach, root_fd, false);
	rc = ews_put_reach_check(path);
	if (rc < 0)
		return rc;
	dir_fd = ews_put_reach_parent(&reach, &at, path);
	if (dir_fd < 0)
		rc = dir_fd;
	else
		rc = back ? rename_whole(keep_fd, name, dir_fd, base) : rename_whole(dir_fd, base, keep_fd, name);
	return close_all(&reach, rc);
}

int ews_put_away(int root_fd, const char *path, int keep_fd, const char *name)
{
	return move(root_fd, path, keep_fd, name, false);
}

/* That there is no place to keep it in must not look as if it was not there itself. */
static int fail_without_place(const char *path, const char *aside)
{
	EWS_CLEANUP(free) char *trash = ews_path_dir(aside);

	ews_error(EWS_EIO, "'%s' has to be kept aside: %s", path, ews_error_message());
	ews_error_hint("what stands at '%s' must be a directory, or nothing: move it away, then try again", trash);
	return EWS_EIO;
}

int ews_put_aside(int root_fd, const char *path, const char *aside)
{
	EWS_CLEANUP(free) char *to = ews_path_join(aside, path);
	EWS_CLEANUP(free) char *above = ews_path_dir(to);
	EWS_CLEANUP(fd) int keep_fd = -1;
	const char *name;
	int rc = ews_dir_make(root_fd, above, 0700);

	if (rc == 0)
		rc = keep_fd = ews_dir_open_parent(root_fd, to, &name);
	if (rc == EWS_ENOTFOUND)
		return fail_without_place(path, aside);
	return rc < 0 ? rc : ews_put_away(root_fd, path, keep_fd, name);
}

int ews_put_back(int root_fd, const char *path, int keep_fd, const char *name)
{
	return move(root_fd, path, keep_fd, name, true);
}
