/*
 * Archives and trash: see archive_trash.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/archive_trash.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/path_line.h"
#include "store/home.h"
#include "store/lock.h"
#include "work/archive.h"
#include "work/drop.h"

#define COPY_NAME EWS_ARCHIVE_HIDDEN "archive" /* of a copy, until it is whole */

static bool is_there(int dir_fd, const char *name)
{
	return faccessat(dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Is the one a copy of the other? So it is where a move across file systems was killed at its last. */
static bool is_copy(int a_fd, const char *a, int b_fd, const char *b)
{
	uint8_t one[EWS_HASH_MAX], other[EWS_HASH_MAX];
	bool is = ews_file_digest(one, EWS_SHA256, a_fd, a, SIZE_MAX) == 0 &&
		  ews_file_digest(other, EWS_SHA256, b_fd, b, SIZE_MAX) == 0 && !memcmp(one, other, EWS_SHA256_LEN);

	ews_error_clear();
	return is;
}

static int fail_taken(const char *path)
{
	ews_error(EWS_EEXISTS, "another file stands where the archive was: '%s'", path);
	ews_error_hint("move it away, then try again");
	return EWS_EEXISTS;
}

/*
 * Rename a file, or where that can't be take it there by copying it; that it is there already is done. Nothing gives way to it:
 * EWS_EEXISTS.
 */
static int move_file(int to_fd, const char *to, int from_fd, const char *from)
{
	EWS_CLEANUP(fd) int source = -1;
	EWS_CLEANUP(fd) int copy = -1;
	struct stat st;
	int rc;

	if (fstatat(from_fd, from, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return is_there(to_fd, to) ? 0 : ews_error_os("cannot find '%s'", from);
	if (is_there(to_fd, to) && !is_copy(to_fd, to, from_fd, from))
		return fail_taken(to);
	if (is_there(to_fd, to))
		return unlinkat(from_fd, from, 0) < 0 ? ews_error_os("cannot remove '%s'", from)
						      : ews_file_sync_dir(from_fd);
	rc = ews_file_rename_new(from_fd, from, to_fd, to);
	if (rc == 0) {
		rc = ews_file_sync_dir(to_fd);
		return rc < 0 ? rc : ews_file_sync_dir(from_fd);
	}
	if (errno != EXDEV)
		return rc;
	ews_error_clear();
	source = openat(from_fd, from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	(void)unlinkat(to_fd, COPY_NAME, 0); /* what a killed call left */
	copy = openat(to_fd, COPY_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (source < 0 || copy < 0)
		return ews_error_os("cannot move '%s'", from);
	rc = ews_file_copy_fd(copy, source, (uint64_t)st.st_size, NULL);
	if (rc == 0 && (fchmod(copy, st.st_mode & 07777) < 0 || fsync(copy) < 0))
		rc = ews_error_os("cannot move '%s'", from);
	if (rc == 0)
		rc = ews_file_rename_new(to_fd, COPY_NAME, to_fd, to);
	if (rc == 0)
		rc = ews_file_sync_dir(to_fd);
	if (rc < 0) {
		(void)unlinkat(to_fd, COPY_NAME, 0); /* best effort: recover sweeps it */
		return rc;
	}
	return unlinkat(from_fd, from, 0) < 0 ? ews_error_os("cannot remove '%s'", from) : ews_file_sync_dir(from_fd);
}

/* One that a step took away: where it was, its directory open at `dir_fd`, and its name in the step's trash. */
struct removed {
	struct ews_buf file;
	int dir_fd;
	const char *name;
};

#define REMOVED_INIT { EWS_BUF_INIT, -1, NULL }

static void release_removed(struct removed *removed)
{
	ews_buf_release(&removed->file);
	ews_cleanup_fd(&removed->dir_fd);
}

EWS_CLEANUP_DEFINE(removed, struct removed, release_removed)

static int read_removed(struct removed *out, const struct ews_step *step, const char *line)
{
	const char *tab = strchr(line, '\t');
	EWS_CLEANUP(free) char *dir = NULL;

	if (!tab || ews_path_unescape(&out->file, line, (size_t)(tab - line)) < 0 || *out->file.ptr != '/' ||
	    !ews_path_is_plain(tab + 1) || strchr(tab + 1, '/'))
		return ews_error(EWS_EDAMAGED, "the record of step '%s' is damaged", step->id);
	out->name = tab + 1;
	dir = ews_path_dir(out->file.ptr);
	out->dir_fd = ews_dir_open(dir);
	return out->dir_fd < 0 ? out->dir_fd : 0;
}

static int fail_gone(const struct removed *removed)
{
	return ews_error(EWS_ENOTFOUND, "the archive '%s' is gone: trash has let go of it", removed->file.ptr);
}

/* A step whose archives move. */
struct moving {
	const struct ews_step *step;
	int trash_fd; /* the step's */
	bool back;
};

static int move_removed(const char *line, void *payload)
{
	const struct moving *moving = payload;
	EWS_CLEANUP(removed) struct removed removed = REMOVED_INIT;
	int rc = read_removed(&removed, moving->step, line);

	if (rc == 0 && moving->back) {
		rc = move_file(removed.dir_fd, ews_path_base(removed.file.ptr), moving->trash_fd, removed.name);
		return rc == EWS_ENOTFOUND ? fail_gone(&removed) : rc;
	}
	if (rc == 0)
		rc = move_file(moving->trash_fd, removed.name, removed.dir_fd, ews_path_base(removed.file.ptr));
	if (rc == EWS_ENOTFOUND && !moving->back) {
		ews_error_clear(); /* somebody else removed it */
		rc = 0;
	}
	return rc;
}

int ews_archive_move_all(struct ews_repo *repo, const struct ews_step *step, bool back)
{
	EWS_CLEANUP(free) char *below = ews_strfmt(EWS_WORKING_TRASH "/%s", step->id);
	EWS_CLEANUP(fd) int trash = step->moved.n ? ews_repo_subdir(repo, below) : -1;
	struct moving moving = { step, trash, back };

	return step->moved.n && trash < 0 ? trash : ews_step_each(&step->moved, move_removed, &moving);
}

int ews_archive_find_all(struct ews_repo *repo, const struct ews_step *step)
{
	EWS_CLEANUP(free) char *below = ews_strfmt(EWS_WORKING_TRASH "/%s", step->id);
	EWS_CLEANUP(fd) int trash = ews_dir_open_beneath(repo->dir_fd, below);
	int rc = 0;

	ews_error_clear();
	for (size_t i = 0; i < step->moved.n && rc == 0; i++) {
		EWS_CLEANUP(removed) struct removed removed = REMOVED_INIT;
		const char *name;
		bool is_kept;

		rc = read_removed(&removed, step, step->moved.items[i]);
		if (rc < 0)
			return rc;
		name = ews_path_base(removed.file.ptr);
		is_kept = trash >= 0 && is_there(trash, removed.name);
		if (!is_there(removed.dir_fd, name))
			rc = is_kept ? 0 : fail_gone(&removed);
		else if (is_kept && !is_copy(removed.dir_fd, name, trash, removed.name))
			rc = fail_taken(removed.file.ptr);
	}
	return rc;
}

static int remove_for_good(const struct ews_strv *files)
{
	for (size_t i = 0; i < files->n; i++)
		if (unlink(files->items[i]) < 0 && errno != ENOENT)
			return ews_error_os("cannot remove '%s'", files->items[i]);
	return 0;
}

/* Can the directories be opened that they lie in? Else nothing could be taken back either. */
static int check_dirs(const struct ews_step *step)
{
	int rc = 0;

	for (size_t i = 0; i < step->moved.n && rc == 0; i++) {
		EWS_CLEANUP(removed) struct removed removed = REMOVED_INIT;

		rc = read_removed(&removed, step, step->moved.items[i]);
		if (rc == EWS_ENOTFOUND) {
			ews_error_clear(); /* somebody else removed it, and its directory */
			rc = 0;
		}
	}
	return rc;
}

int ews_archive_remove(struct ews_repo *repo, const struct ews_strv *files)
{
	EWS_CLEANUP(step) struct ews_step step = EWS_STEP_INIT;
	EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;
	int rc;

	if (!repo)
		return remove_for_good(files);
	rc = ews_repo_make_dir(repo);
	if (rc == 0)
		rc = ews_repo_lock(&lock, repo, EWS_LOCK_PROJECT, "archive", EWS_LOCK_PROJECT_WAIT_MS);
	if (rc == 0)
		rc = ews_step_init(&step, repo->dir_fd, "drop", NULL);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < files->n; i++)
		ews_path_line_addf(&step.moved, files->items[i], "%zu", i);
	rc = check_dirs(&step);
	return rc < 0 ? rc : ews_drop(repo, &step, ews_archive_move_all);
}
