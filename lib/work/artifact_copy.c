/*
 * Artifact copies: see artifact_copy.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/artifact_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/sync.h"
#include "work/artifact_place.h"

#define PREFIX ".tmp-"
#define RANDOM_BYTES 8
#define CHUNK ((size_t)64 * 1024)

int ews_artifact_place_open(struct ews_artifact_place *out, struct ews_repo *repo, bool make)
{
	EWS_CLEANUP(free) char *path = NULL;
	int rc = ews_artifact_open_place(&path, repo, make);

	if (rc < 0)
		return rc;
	out->fd = rc;
	out->is_private = ews_artifact_dir_mode(repo, path) == 0700;
	out->path = ews_steal(&path);
	return 0;
}

void ews_artifact_place_release(struct ews_artifact_place *place)
{
	if (place->fd >= 0)
		close(place->fd);
	free(place->path);
	*place = (struct ews_artifact_place)EWS_ARTIFACT_PLACE_INIT;
}

int ews_artifact_copy_hash(char out[EWS_SHA256_HEX_MAX], int fd)
{
	EWS_CLEANUP(free) char *chunk = ews_malloc(CHUNK);
	EWS_CLEANUP(hash) struct ews_hash *hash = ews_hash_new(EWS_SHA256);
	uint8_t digest[EWS_HASH_MAX];
	off_t at = 0;
	ssize_t n;

	for (;;) {
		n = pread(fd, chunk, CHUNK, at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		ews_hash_add(hash, chunk, (size_t)n);
		at += n;
	}
	if (n < 0)
		return ews_error_os("cannot read");
	ews_hex(out, digest, ews_hash_finish(hash, digest));
	return 0;
}

int ews_artifact_draft_open(struct ews_artifact_draft *out, const struct ews_artifact_place *place, bool is_executable)
{
	mode_t mode = place->is_private ? 0600 : 0666;
	unsigned char random[RANDOM_BYTES];
	char hex[2 * RANDOM_BYTES + 1];

	ews_clock_random(random, sizeof(random));
	ews_hex(hex, random, sizeof(random));
	(void)snprintf(out->name, sizeof(out->name), PREFIX "%s", hex);
	out->fd = openat(place->fd, out->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			 is_executable ? mode | (mode & 0444) >> 2 : mode);
	if (out->fd < 0) {
		*out->name = '\0';
		return ews_error_os("cannot write to '%s'", place->path);
	}
	out->place = place;
	return 0;
}

int ews_artifact_draft_fill(struct ews_artifact_draft *draft, int fd, uint64_t max)
{
	EWS_CLEANUP(free) char *chunk = ews_malloc(CHUNK);
	uint64_t total = 0;

	for (;;) {
		ssize_t n = read(fd, chunk, CHUNK);
		int rc;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return ews_error_os("cannot read");
		if (n == 0)
			return 0;
		total += (uint64_t)n;
		if (total > max) {
			ews_error(EWS_ENOSPACE, "it is longer than ews.maxFile allows");
			ews_error_hint("'git -c ews.maxFile=<size> ews ...' allows more for once");
			return EWS_ENOSPACE;
		}
		rc = ews_file_write_fd(draft->fd, chunk, (size_t)n);
		if (rc < 0)
			return rc;
	}
}

/* The directory of `path`, made when missing. Returns a descriptor. */
static int open_dir_of(const struct ews_artifact_place *place, const char *path)
{
	EWS_CLEANUP(free) char *dir = ews_path_dir(path);
	int rc = *dir ? ews_dir_make_as_owner(place->fd, dir, place->is_private ? 0700 : 0777) : 0;

	return rc < 0 ? rc : ews_dir_open_beneath(place->fd, dir);
}

int ews_artifact_place_ready(const struct ews_artifact_place *place, const char *path)
{
	EWS_CLEANUP(fd) int dir = open_dir_of(place, path);

	return dir < 0 ? dir : 0;
}

int ews_artifact_draft_seal(struct ews_artifact_draft *draft, int64_t time_s)
{
	const struct timespec times[2] = { { .tv_sec = time_s }, { .tv_sec = time_s } };
	struct ews_sync_group *group = ews_sync_current();

	if (draft->fd < 0)
		return 0;
	if (futimens(draft->fd, times) < 0 || (!group && fsync(draft->fd) < 0))
		return ews_error_os("cannot write to '%s'", draft->place->path);
	if (group)
		ews_sync_add_named(group, &draft->fd);
	else
		close(ews_steal_fd(&draft->fd));
	return 0;
}

int ews_artifact_draft_place(struct ews_artifact_draft *draft, const char *path, bool over)
{
	EWS_CLEANUP(fd) int dir = open_dir_of(draft->place, path);
	const char *name = ews_path_base(path);
	int rc = dir < 0 ? dir : 0;

	if (rc == 0 && !over)
		rc = ews_file_rename_new(draft->place->fd, draft->name, dir, name);
	else if (rc == 0 && renameat(draft->place->fd, draft->name, dir, name) < 0)
		rc = ews_error_os("cannot write '%s/%s'", draft->place->path, path);
	if (rc < 0)
		return rc;
	*draft->name = '\0';
	return ews_file_sync_dir(dir);
}

void ews_artifact_draft_release(struct ews_artifact_draft *draft)
{
	if (*draft->name)
		(void)unlinkat(draft->place->fd, draft->name, 0); /* best effort: the next sweep finds it */
	if (draft->fd >= 0)
		close(draft->fd);
	*draft = (struct ews_artifact_draft)EWS_ARTIFACT_DRAFT_INIT;
}

static bool is_draft(const char *name)
{
	size_t len = strlen(PREFIX);

	return !strncmp(name, PREFIX, len) && strspn(name + len, "0123456789abcdef") == sizeof(uint64_t) * 2 &&
	       !name[len + sizeof(uint64_t) * 2];
}

int ews_artifact_place_sweep(const struct ews_artifact_place *place)
{
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = ews_dir_names_read(&names, place->fd);

	for (ssize_t i = 0; i < n; i++)
		if (is_draft(names.items[i].name))
			(void)unlinkat(place->fd, names.items[i].name, 0); /* best effort: it is in nobody's way */
	return n < 0 ? (int)n : 0;
}

bool ews_artifact_copy_is_there(const struct ews_artifact_place *place, const char *path)
{
	const char *name;
	EWS_CLEANUP(fd) int dir = ews_dir_open_parent(place->fd, path, &name);
	bool is_there = dir >= 0 && faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;

	ews_error_clear();
	return is_there;
}

/* What is known of a file that could not be opened or read, as the error that is set has it. */
static enum ews_artifact_file unread(int rc)
{
	if (rc == EWS_ENOTFOUND)
		return EWS_ARTIFACT_MISSING;
	return ews_errno_is_passing(ews_error_errno()) || ews_error_errno() == EACCES ? EWS_ARTIFACT_UNKNOWN
										      : EWS_ARTIFACT_CHANGED;
}

void ews_artifact_copy_look(struct ews_artifact *artifact, char sha256[EWS_SHA256_HEX_MAX],
			    const struct ews_artifact_place *place, bool reread)
{
	EWS_CLEANUP(fd) int fd = -1;
	struct stat st;
	int rc;

	*sha256 = '\0';
	rc = fd = place->fd < 0 ? EWS_ENOTFOUND : ews_dir_open_file(place->fd, artifact->path, O_RDONLY, 0);
	if (fd >= 0)
		rc = fstat(fd, &st) < 0 ? ews_error_os("cannot look at '%s'", artifact->path) : 0;
	artifact->file = EWS_ARTIFACT_CHANGED;
	/* It is given the time of its record; a file of another time is read. */
	if (rc == 0 && !reread && S_ISREG(st.st_mode) && (uint64_t)st.st_size == artifact->size_bytes &&
	    st.st_mtim.tv_sec == artifact->created_s && !st.st_mtim.tv_nsec) {
		artifact->file = EWS_ARTIFACT_PRESENT;
	} else if (rc == 0 && S_ISREG(st.st_mode)) {
		rc = ews_artifact_copy_hash(sha256, fd);
		if (rc == 0 && !strcmp(sha256, artifact->sha256))
			artifact->file = EWS_ARTIFACT_PRESENT;
	}
	if (rc < 0)
		artifact->file = unread(rc);
	ews_error_clear();
}

int ews_artifact_copy_restore(struct ews_artifact *artifact, struct ews_odb *odb,
			      const struct ews_artifact_place *place, bool over)
{
	EWS_CLEANUP(artifact_draft) struct ews_artifact_draft draft = EWS_ARTIFACT_DRAFT_INIT;
	int rc = ews_artifact_draft_open(&draft, place, artifact->is_executable);

	if (rc == 0)
		rc = ews_odb_write_to(draft.fd, odb, &artifact->blob);
	if (rc == 0)
		rc = ews_artifact_draft_seal(&draft, artifact->created_s);
	if (rc == 0)
		rc = ews_artifact_draft_place(&draft, artifact->path, over);
	if (rc == 0)
		artifact->file = EWS_ARTIFACT_PRESENT;
	return rc;
}

int ews_artifact_copy_remove(const struct ews_artifact_place *place, const char *path)
{
	const char *name;
	EWS_CLEANUP(fd) int dir = ews_dir_open_parent(place->fd, path, &name);

	if (dir < 0)
		return dir;
	if (unlinkat(dir, name, 0) < 0 && errno != ENOENT)
		return ews_error_os("cannot remove '%s/%s'", place->path, path);
	return ews_file_sync_dir(dir);
}
