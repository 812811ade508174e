/*
 * Accepted: see accepted.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/accepted.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/path.h"
#include "store/home.h"

#define BYTES_MAX (64 * EWS_KIB)

static char *name_of(const char *project)
{
	uint8_t digest[EWS_HASH_MAX];
	char hex[33];

	ews_hash_once(EWS_SHA256, digest, project, strlen(project));
	ews_hex(hex, digest, 16);
	return ews_strdup(hex);
}

/* The line that says whose it is. */
static void add_head(struct ews_buf *out, const char *project)
{
	ews_buf_adds(out, "project ");
	ews_path_escape(out, project, strlen(project));
	ews_buf_addc(out, '\n');
}

bool ews_accepted_has(const char *home, const char *project, const char *source, const char *digest)
{
	EWS_CLEANUP(free) char *name = name_of(project);
	EWS_CLEANUP(free) char *path = ews_strfmt("%s/" EWS_HOME_ACCEPTED "/%s", home, name);
	EWS_CLEANUP(free) char *line = ews_strfmt("\n%s %s\n", source, digest);
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf head = EWS_BUF_INIT;

	if (ews_file_read_own(&text, AT_FDCWD, path, BYTES_MAX) < 0) {
		ews_error_clear();
		return false;
	}
	add_head(&head, project);
	return !strncmp(text.ptr, head.ptr, head.len) && strstr(text.ptr + head.len - 1, line);
}

int ews_accepted_write(const char *home, const char *project, const struct ews_strv *sources)
{
	EWS_CLEANUP(free) char *name = name_of(project);
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(fd) int home_fd = ews_home_open(home);
	EWS_CLEANUP(fd) int dir = -1;
	int rc;

	if (home_fd < 0)
		return home_fd;
	rc = ews_dir_make(home_fd, EWS_HOME_ACCEPTED, 0700);
	if (rc < 0)
		return rc;
	dir = ews_dir_open_beneath(home_fd, EWS_HOME_ACCEPTED);
	if (dir < 0)
		return dir;
	add_head(&text, project);
	for (size_t i = 0; i < sources->n; i++)
		ews_buf_addf(&text, "%s\n", sources->items[i]);
	return ews_file_replace(dir, name, text.ptr, text.len, 0600);
}

int ews_accepted_remove(const char *home, const char *project)
{
	EWS_CLEANUP(free) char *name = name_of(project);
	EWS_CLEANUP(free) char *path = ews_strfmt("%s/" EWS_HOME_ACCEPTED "/%s", home, name);
	EWS_CLEANUP(free) char *dir = ews_path_dir(path);

	if (unlink(path) < 0)
		return ews_errno_is_absent(errno) ? 0 : ews_error_os("cannot remove '%s'", path);
	(void)rmdir(dir); /* others' may be in it */
	return 1;
}
