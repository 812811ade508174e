/*
 * The directories that put makes, and those that it gives their modes and times once all is in them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/put_work.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/handle.h"
#include "base/path.h"
#include "store/put.h"

static int make_dir(struct ews_put_work *put, struct ews_put_cursor *at, const struct ews_change *change)
{
	const char *name = ews_path_base(change->path);
	int dir_fd = ews_put_reach_parent(&put->reach, at, change->path);
	struct stat st;
	int rc;

	if (dir_fd < 0)
		return dir_fd;
	if (!mkdirat(dir_fd, name, EWS_PUT_OWNER_ALL))
		return 0;
	if (errno != EEXIST)
		return ews_error_os("cannot make the directory");
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
		return 0;
	rc = ews_put_remove(dir_fd, name);
	if (rc < 0)
		return rc;
	if (mkdirat(dir_fd, name, EWS_PUT_OWNER_ALL) < 0)
		return ews_error_os("cannot make the directory");
	return 0;
}

int ews_put_make_dirs(struct ews_put_work *put)
{
	EWS_CLEANUP(put_cursor) struct ews_put_cursor at = EWS_PUT_CURSOR_INIT;

	for (size_t i = 0; i < put->changes->n; i++) {
		const struct ews_change *change = &put->changes->items[i];
		int rc;

		if (!change->to || !ews_entry_is_dir(change->to))
			continue;
		rc = make_dir(put, &at, change);
		if (rc < 0)
			rc = ews_put_settle(put, i, rc);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int dress_dir(struct ews_put_work *put, struct ews_put_cursor *at, const struct ews_change *change)
{
	EWS_CLEANUP(fd) int fd = ews_put_reach_dir(&put->reach, at, change->path);
	struct stat st;

	if (fd < 0)
		return fd;
	/* A nested repository that stays one is not ours to change. */
	if (change->from && change->from->type == EWS_ENTRY_GITLINK && change->to->type == EWS_ENTRY_GITLINK)
		return 0;
	if (fstat(fd, &st) < 0)
		return ews_error_os("cannot look at it");
	if ((st.st_mode & 0600) != 0600 && st.st_uid == put->reach.uid && ews_handle_chmod(fd, EWS_PUT_OWNER_ALL) < 0)
		return ews_error_os("cannot make the directory writable");
	return ews_put_dress(put, fd, change, 0);
}

int ews_put_dress_dirs(struct ews_put_work *put, size_t n)
{
	EWS_CLEANUP(put_cursor) struct ews_put_cursor at = EWS_PUT_CURSOR_INIT;
	struct ews_error_saved fatal = EWS_ERROR_SAVED_INIT;
	size_t k = put->reach.n_opened;

	ews_put_reach_begin_closing(&put->reach);
	while (n || k) {
		const struct ews_change *change = n ? &put->changes->items[n - 1] : NULL;
		const struct ews_put_opened *opened = k ? &put->reach.opened[k - 1] : NULL;
		int order = !change ? -1 : !opened ? 1 : ews_path_cmp(change->path, opened->path);

		if (order < 0) {
			k--;
			if (ews_put_reach_close(&put->reach, &at, opened) < 0)
				ews_put_name_failed(put, opened->path);
			continue;
		}
		n--;
		if (!change->to || !ews_entry_is_dir(change->to) || put->has_failed[n])
			continue;
		if (order == 0)
			k--;
		if (ews_put_settle(put, n, dress_dir(put, &at, change)) < 0) {
			/* No space for an attribute: close what was opened up all the same. */
			ews_error_save(&fatal);
			n = 0;
		}
	}
	return fatal.code ? ews_error_restore(&fatal) : 0;
}
