/*
 * Files that put gives several names: those of one file in the source, and new ones of a file that stays.
 *
 * One change makes the file; the others wait until all files are there, and become names of it when it is still the one
 * that was made or seen. Where they can't, each is a file of its own.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/put_work.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/handle.h"
#include "base/path.h"
#include "store/put.h"

/* A change whose file had several names in the source. */
struct name {
	uint64_t dev, ino;
	size_t at;
};

static int cmp_name(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	if (x->ino != y->ino)
		return x->ino < y->ino ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* Were these names of one file seen in the same state? Of what is ignored no content is known. */
static bool is_same_file(const struct ews_entry *a, const struct ews_entry *b)
{
	bool is_known = !ews_oid_is_none(&a->oid) && !ews_oid_is_none(&b->oid);

	return a->dev == b->dev && a->ino == b->ino && a->size == b->size && a->mode == b->mode &&
	       a->ctime_s == b->ctime_s && a->ctime_ns == b->ctime_ns && (!is_known || ews_entry_equal(a, b));
}

/* Which changes are names of one file in the source? Their stat data is the source's until the files are made. */
static void find_source_names(struct ews_put_work *put)
{
	const struct ews_changes *changes = put->changes;
	EWS_CLEANUP(free) struct name *names = NULL;
	size_t n = 0, cap = 0;

	for (size_t i = 0; i < changes->n; i++) {
		const struct ews_entry *to = changes->items[i].to;

		if (put->opts->source_fd < 0 || !to || to->n_links < 2 || !to->has_stat)
			continue;
		EWS_GROW(names, n, cap);
		names[n++] = (struct name){ to->dev, to->ino, i };
	}
	if (n)
		qsort(names, n, sizeof(*names), cmp_name);
	for (size_t k = 1; k < n; k++) {
		size_t first = put->first[names[k - 1].at];

		if (is_same_file(changes->items[first].to, changes->items[names[k].at].to))
			put->first[names[k].at] = first;
	}
}

bool ews_put_is_name(const struct ews_put_work *put, size_t i)
{
	return put->first[i] != i || put->changes->items[i].one_file;
}

/* Which change makes the file that another one is to be a name of? Where none does, that file stays. */
void ews_put_find_names(struct ews_put_work *put)
{
	const struct ews_changes *changes = put->changes;
	bool has_names = false;

	put->first = ews_calloc(changes->n + 1, sizeof(*put->first));
	for (size_t i = 0; i < changes->n; i++) {
		const struct ews_entry *one = changes->items[i].one_file;
		const struct ews_change *first = one ? ews_changes_find(changes, one->path) : NULL;

		put->first[i] = first && first->to == one ? (size_t)(first - changes->items) : i;
	}
	find_source_names(put);
	for (size_t i = 0; i < changes->n; i++)
		has_names = has_names || ews_put_is_name(put, i);
	if (has_names)
		put->made = ews_calloc(changes->n, sizeof(*put->made));
}

/* Is `st` that of the file that change `i` is to be a name of? A new name moves its ctime, but nothing else. */
static bool is_first(const struct ews_put_work *put, size_t i, const struct stat *st)
{
	const struct ews_entry *one = put->changes->items[i].one_file;
	const struct ews_put_made *made = &put->made[put->first[i]];

	if (put->first[i] != i)
		return st->st_dev == made->dev && st->st_ino == made->ino;
	return S_ISREG(st->st_mode) && st->st_dev == one->dev && st->st_ino == one->ino &&
	       (uint64_t)st->st_size == one->size && (st->st_mode & 07777) == one->mode &&
	       st->st_mtim.tv_sec == one->mtime_s && (uint32_t)st->st_mtim.tv_nsec == one->mtime_ns;
}

/* Hold the file that change `i` is to be a name of. Returns a descriptor, or -1 when it isn't there. */
static int hold_first(struct ews_put_work *put, size_t i)
{
	EWS_CLEANUP(put_cursor) struct ews_put_cursor at = EWS_PUT_CURSOR_INIT;
	size_t first = put->first[i];
	const char *path = first != i ? put->changes->items[first].path : put->changes->items[i].one_file->path;
	int dir_fd = put->has_failed[first] ? -1 : ews_put_reach_parent(&put->reach, &at, path);
	EWS_CLEANUP(fd) int fd = -1;
	struct stat st;

	if (dir_fd >= 0)
		fd = openat(dir_fd, ews_path_base(path), O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || !is_first(put, i, &st)) {
		ews_error_clear();
		return -1;
	}
	return ews_steal_fd(&fd);
}

/* Give the file that is held the name of `change`. Returns 1, or 0 where it can't have it. */
static int link_held(struct ews_put_work *put, int fd, int dir_fd, const struct ews_change *change)
{
	EWS_CLEANUP(strv) struct ews_strv lost = EWS_STRV_INIT;
	const char *name = ews_path_base(change->path);
	char held[EWS_HANDLE_NAME_MAX];
	int rc = change->from ? ews_put_remove(put, dir_fd, name, change->from) : 0;

	for (int tries = 0; tries < 2 && rc == 0; tries++) {
		if (!linkat(AT_FDCWD, ews_handle_name(held, fd), dir_fd, name, AT_SYMLINK_FOLLOW))
			return 1;
		/* Something came that was not expected; the place is taken again, once. */
		if (errno != EEXIST)
			break;
		rc = ews_put_remove(put, dir_fd, name, NULL);
	}
	if (rc < 0 || (errno != EPERM && errno != EACCES && errno != EMLINK && errno != EXDEV && errno != ENOTSUP))
		return rc;
	ews_strv_add(&lost, "hard link");
	ews_put_name_lost(put, change->path, &lost);
	return 0;
}

/* Give a file another name. Where that can't be it becomes a file of its own. */
static int add_name(struct ews_put_work *put, struct ews_put_worker *worker, size_t i)
{
	const struct ews_change *change = &put->changes->items[i];
	EWS_CLEANUP(fd) int held = hold_first(put, i);
	int dir_fd = ews_put_reach_parent(&put->reach, &worker->at, change->path);
	int rc;

	if (dir_fd < 0)
		return dir_fd;
	rc = held < 0 ? 0 : link_held(put, held, dir_fd, change);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	return ews_put_replace(put, worker, change);
}

/* A file's ctime moves with each of its names, so stat data of `made` is taken when it has all of them; another's is none of the list. */
static int keep_stat_of(struct ews_put_work *put, struct ews_put_worker *worker, size_t i, struct ews_put_made made)
{
	const struct ews_change *change = &put->changes->items[i];
	int dir_fd = ews_put_reach_parent(&put->reach, &worker->at, change->path);
	struct stat st;

	if (dir_fd < 0)
		return dir_fd;
	if (fstatat(dir_fd, ews_path_base(change->path), &st, AT_SYMLINK_NOFOLLOW) < 0)
		return ews_error_os("cannot look at '%s'", change->path);
	if (st.st_dev == made.dev && st.st_ino == made.ino)
		ews_put_keep_stat(put, change->to, &st);
	return 0;
}

/*
 * A file that stays may be older than what is made from it, and so would the name be that it has been given: where
 * others are as new as they are written, it is, too.
 */
static int freshen(struct ews_put_work *put, struct ews_put_worker *worker, size_t i)
{
	const struct timespec now[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_nsec = UTIME_NOW } };
	const struct ews_change *change = &put->changes->items[i];
	const struct ews_entry *one = change->one_file;
	int dir_fd;

	if (put->opts->times != EWS_PUT_TIMES_FRESH || put->first[i] != i || put->has_failed[i] ||
	    (one->mtime_s == change->to->mtime_s && one->mtime_ns == change->to->mtime_ns))
		return 0;
	dir_fd = ews_put_reach_parent(&put->reach, &worker->at, change->path);
	if (dir_fd < 0)
		return dir_fd;
	if (utimensat(dir_fd, ews_path_base(change->path), now, AT_SYMLINK_NOFOLLOW) < 0)
		return ews_error_os("cannot set the time of '%s'", change->path);
	return 0;
}

int ews_put_add_names(struct ews_put_work *put)
{
	EWS_CLEANUP(put_worker) struct ews_put_worker worker = EWS_PUT_WORKER_INIT;
	bool keeps_stats = put->opts->stats[0] || put->opts->stats[1];
	int rc = 0;

	if (!put->made)
		return 0;
	for (size_t i = 0; i < put->changes->n && rc == 0; i++)
		if (ews_put_is_name(put, i))
			rc = ews_put_settle(put, i, add_name(put, &worker, i));
	/* Only now: by its time it was known until here. */
	for (size_t i = 0; i < put->changes->n && rc == 0; i++) {
		int flaw = ews_put_is_name(put, i) ? freshen(put, &worker, i) : 0;

		if (flaw < 0)
			rc = ews_put_settle(put, i, flaw);
	}
	for (size_t i = 0; i < put->changes->n && rc == 0 && keeps_stats; i++) {
		const struct ews_entry *one = put->changes->items[i].one_file;
		size_t first = put->first[i];

		if (!ews_put_is_name(put, i) || put->has_failed[i])
			continue;
		if (first == i) {
			rc = keep_stat_of(put, &worker, i, (struct ews_put_made){ one->dev, one->ino });
			continue;
		}
		rc = keep_stat_of(put, &worker, i, put->made[first]);
		if (rc == 0 && !put->has_failed[first])
			rc = keep_stat_of(put, &worker, first, put->made[first]);
	}
	return rc;
}
