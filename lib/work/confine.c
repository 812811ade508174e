/*
 * Confinement: see confine.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "store/git.h"
#include "work/session_place.h"

bool ews_confine_is_wanted(const char *level)
{
	return !strcmp(level, "auto");
}

bool ews_confine_is_enforced(const struct ews_method *method, const char *level)
{
	const char *why;

	return ews_confine_is_wanted(level) && !method->is_project && ews_sandbox_is_available(&why);
}

/* Is the directory open at `fd` the one at `above_fd`, or below it? */
static int is_within(int fd, int above_fd)
{
	EWS_CLEANUP(fd) int at = openat(fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat above, st, last;

	if (at < 0 || fstat(above_fd, &above) < 0 || fstat(at, &st) < 0)
		return ews_error_os("cannot look at a directory");
	do {
		int up;

		if (ews_file_is_same(&st, &above))
			return 1;
		last = st;
		up = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (up < 0)
			return ews_error_os("cannot look at what holds a directory");
		close(at);
		at = up;
		if (fstat(at, &st) < 0)
			return ews_error_os("cannot look at a directory");
	} while (!ews_file_is_same(&st, &last)); /* the root is what holds the root */
	return 0;
}

static int open_path(const char *path)
{
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Open `path`, or, while it is not there yet, what will hold it: 0 or 1 in `*is_there`. */
static int open_nearest(bool *is_there, const char *path)
{
	EWS_CLEANUP(free) char *at = ews_strdup(path);
	int fd = open_path(at);

	*is_there = fd >= 0;
	while (fd < 0 && errno == ENOENT && strcmp(at, "/") != 0) {
		char *up = ews_path_dir(at);

		free(at);
		at = up;
		fd = open_path(at);
	}
	return fd < 0 ? ews_error_os("cannot open '%s'", path) : fd;
}

/* Is writing in the directory writing in `path`, or the other way round? */
static int overlaps(int dir_fd, const char *path)
{
	bool is_there;
	EWS_CLEANUP(fd) int fd = open_nearest(&is_there, path);
	int rc = fd < 0 ? fd : is_within(fd, dir_fd);

	return rc || !is_there ? rc : is_within(dir_fd, fd);
}

/* Fail when writing in the directory, called `name`, must not be let. */
static int check_dir(int dir_fd, const char *name, const struct ews_repo *repo)
{
	const char *const held[] = { repo->project, repo->git_dir, repo->common_dir, repo->home };

	for (size_t i = 0; i < sizeof(held) / sizeof(*held); i++) {
		int rc = overlaps(dir_fd, held[i]);

		if (rc < 0)
			return rc;
		if (!rc)
			continue;
		ews_error(EWS_EUSAGE, "--allow-write '%s' would let '%s' be written", name, held[i]);
		ews_error_hint("name a directory apart from the project, its git directory and the home of git ews");
		return EWS_EUSAGE;
	}
	return 0;
}

/* Open it to be let, after a look. Returns a descriptor. */
static int open_dir(const char *name, const struct ews_repo *repo)
{
	EWS_CLEANUP(fd) int fd = open_path(name);
	int rc;

	if (fd < 0) {
		ews_error(EWS_EUSAGE, "--allow-write '%s': %s", name, strerror(errno));
		ews_error_hint("it takes a directory that is there");
		return EWS_EUSAGE;
	}
	rc = check_dir(fd, name, repo);
	return rc < 0 ? rc : ews_steal_fd(&fd);
}

int ews_confine_settle(struct ews_strv *dirs, const struct ews_repo *repo)
{
	for (size_t i = 0; i < dirs->n; i++) {
		EWS_CLEANUP(fd) int fd = open_dir(dirs->items[i], repo);
		char *path;

		if (fd < 0)
			return fd;
		path = realpath(dirs->items[i], NULL);
		if (!path)
			return ews_error_os("cannot find '%s'", dirs->items[i]);
		free(dirs->items[i]);
		dirs->items[i] = path;
	}
	return 0;
}

struct fds {
	int *items;
	size_t n;
};

static void release_fds(struct fds *fds)
{
	while (fds->n)
		close(fds->items[--fds->n]);
	free(fds->items);
}

EWS_CLEANUP_DEFINE(fds, struct fds, release_fds)

/* The directories as they are now: what has been put in a name's place meanwhile is looked at as well. */
static int open_writable(struct fds *out, const struct ews_session *session, const struct ews_confine_opts *opts)
{
	size_t n = opts->dirs ? opts->dirs->n : 0;
	int fd;

	out->items = ews_calloc(n + 2, sizeof(*out->items));
	fd = ews_session_open_workspace(session);
	if (fd < 0)
		return fd;
	out->items[out->n++] = fd;
	fd = fcntl(opts->tmp_fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return ews_error_os("cannot hold the directory for temporary files");
	out->items[out->n++] = fd;
	for (size_t i = 0; i < n; i++) {
		fd = open_dir(opts->dirs->items[i], session->repo);
		if (fd < 0)
			return fd;
		out->items[out->n++] = fd;
	}
	return 0;
}

int ews_confine_make(struct ews_sandbox **out, const struct ews_session *session, const struct ews_confine_opts *opts)
{
	EWS_CLEANUP(fds) struct fds fds = { NULL, 0 };
	EWS_CLEANUP(free) char *neutral = NULL;
	struct ews_sandbox_opts sandbox = { .no_network = opts->no_network, .keep_fds = &opts->keep_fd, .keep_n = 1 };
	const char *why;
	int rc;

	*out = NULL;
	sandbox.write_anywhere = !ews_confine_is_wanted(opts->level) || !ews_sandbox_is_available(&why);
	if (sandbox.write_anywhere && !opts->no_network)
		return 0;
	/* What our own verbs need in there, and could not make. */
	rc = ews_git_neutral_dir(&neutral, session->repo->home, ews_odb_algo(session->repo->odb));
	if (rc == 0)
		rc = open_writable(&fds, session, opts);
	if (rc < 0)
		return rc;
	sandbox.writable_fds = fds.items;
	sandbox.writable_n = fds.n;
	return ews_sandbox_new(out, &sandbox);
}
