/*
 * The directories that put makes, and those that it gives their modes and times once all is in them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/put_work.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/handle.h"
#include "base/path.h"
#include "base/pool.h"
#include "store/put.h"

/* What one thread does in a row. */
#define DIRS_MADE 16
#define CHANGES_DRESSED 256 /* files as well, which are passed by */

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
	rc = ews_put_remove(put, dir_fd, name, change->from);
	if (rc < 0)
		return rc;
	if (mkdirat(dir_fd, name, EWS_PUT_OWNER_ALL) < 0)
		return ews_error_os("cannot make the directory");
	return 0;
}

static bool is_dir(const struct ews_change *change)
{
	return change->to && ews_entry_is_dir(change->to);
}

static size_t depth_of(const char *path)
{
	size_t depth = 0;

	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/'))
		depth++;
	return depth;
}

/* The directories that come by their depth: those of one depth need nothing of each other. */
struct layers {
	struct ews_put_work *put;
	size_t *order; /* changes */
	size_t *ends; /* of each depth in `order` */
	size_t n;
	size_t from; /* of the depth at work */
};

static void release_layers(struct layers *layers)
{
	free(layers->order);
	free(layers->ends);
}
EWS_CLEANUP_DEFINE(layers, struct layers, release_layers)

static void find_layers(struct layers *out, const struct ews_changes *changes)
{
	size_t cap = 0, total = 0;

	for (size_t i = 0; i < changes->n; i++) {
		size_t depth = is_dir(&changes->items[i]) ? depth_of(changes->items[i].path) + 1 : 0;

		EWS_GROW_TO(out->ends, depth + 1, cap);
		while (out->n < depth)
			out->ends[out->n++] = 0;
		if (depth)
			out->ends[depth - 1]++;
	}
	/* Where each begins, which moves to where it ends as it is filled. */
	for (size_t k = 0; k < out->n; k++) {
		size_t n = out->ends[k];

		out->ends[k] = total;
		total += n;
	}
	out->order = ews_calloc(total + 1, sizeof(*out->order));
	for (size_t i = 0; i < changes->n; i++)
		if (is_dir(&changes->items[i]))
			out->order[out->ends[depth_of(changes->items[i].path)]++] = i;
}

static int make_some(size_t from, size_t end, unsigned worker, void *payload)
{
	const struct layers *layers = payload;
	struct ews_put_work *put = layers->put;
	EWS_CLEANUP(put_cursor) struct ews_put_cursor at = EWS_PUT_CURSOR_INIT;
	int rc = 0;

	(void)worker;
	for (size_t k = from; k < end && rc == 0; k++) {
		size_t i = layers->order[layers->from + k];

		rc = make_dir(put, &at, &put->changes->items[i]);
		if (rc < 0)
			rc = ews_put_settle(put, i, rc);
	}
	return rc;
}

static int make_in_layers(struct ews_put_work *put)
{
	EWS_CLEANUP(layers) struct layers layers = { .put = put };
	int rc = 0;

	find_layers(&layers, put->changes);
	for (size_t k = 0; k < layers.n && rc == 0; k++) {
		rc = ews_pool_spans(layers.ends[k] - layers.from, DIRS_MADE, put->opts->threads, make_some, &layers);
		layers.from = layers.ends[k];
	}
	return rc;
}

/* List the directories as they come. Returns how many there are, or DIRS_MADE + 1 when that is too few. */
static size_t list_few(size_t out[DIRS_MADE], const struct ews_changes *changes)
{
	size_t n = 0;

	for (size_t i = 0; i < changes->n && n <= DIRS_MADE; i++) {
		if (!is_dir(&changes->items[i]))
			continue;
		if (n < DIRS_MADE)
			out[n] = i;
		n++;
	}
	return n;
}

int ews_put_make_dirs(struct ews_put_work *put)
{
	size_t few[DIRS_MADE];
	struct layers in_a_row = { .put = put, .order = few };
	size_t n = list_few(few, put->changes);

	/* One thread makes a few, and as they come each is behind the one it lies in. */
	return n <= DIRS_MADE ? make_some(0, n, 0, &in_a_row) : make_in_layers(put);
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

/* Does none of the directories, when it has its mode, keep us from those in it? */
static bool may_come_in_any_order(const struct ews_put_work *put, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (is_dir(&put->changes->items[i]) &&
		    (put->changes->items[i].to->mode & EWS_PUT_OWNER_ALL) != EWS_PUT_OWNER_ALL)
			return false;
	return !put->reach.n_opened;
}

static int dress_some(size_t from, size_t end, unsigned worker, void *payload)
{
	struct ews_put_work *put = payload;
	EWS_CLEANUP(put_cursor) struct ews_put_cursor at = EWS_PUT_CURSOR_INIT;
	int rc = 0;

	(void)worker;
	for (size_t i = from; i < end && rc == 0; i++)
		if (is_dir(&put->changes->items[i]) && !put->has_failed[i])
			rc = ews_put_settle(put, i, dress_dir(put, &at, &put->changes->items[i]));
	return rc;
}

int ews_put_dress_dirs(struct ews_put_work *put, size_t n)
{
	EWS_CLEANUP(put_cursor) struct ews_put_cursor at = EWS_PUT_CURSOR_INIT;
	struct ews_error_saved fatal = EWS_ERROR_SAVED_INIT;
	size_t k = put->reach.n_opened;

	ews_put_reach_begin_closing(&put->reach);
	if (may_come_in_any_order(put, n))
		return ews_pool_spans(n, CHANGES_DRESSED, put->opts->threads, dress_some, put);
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
		if (!is_dir(change) || put->has_failed[n])
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
