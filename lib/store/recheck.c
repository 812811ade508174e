/*
 * Recheck: see recheck.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/recheck.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/pool.h"
#include "store/gitfile.h"
#include "store/unknown.h"

#define SPAN 128 /* entries that one thread looks at in a row, with the directories on their way open */
#define DIRS_CHUNK 8
#define GITIGNORE ".gitignore"
#define TRAIL_MAX 48 /* open directories; deeper trees are walked */
#define TOUCHED_PART 8 /* at most one entry of so many is worth to be remembered as it was */
#define TOUCHED_FEW 64 /* or so many */

struct recheck {
	struct ews_cache *cache;
	const struct ews_recheck_opts *opts;
	atomic_size_t n_touched;
	atomic_bool differs;
	const struct ews_entry *const *touched; /* directories whose names are looked at; NULL is the root */
	pthread_mutex_t lock; /* of what follows */
	struct ews_touched were; /* the touched entries as they were */
};

/* The directories open on the way to the path that was last looked at. */
struct trail {
	int root_fd;
	const char *path; /* that path */
	struct {
		int fd;
		size_t len; /* of the directory's path, which is where the path begins */
	} steps[TRAIL_MAX];
	size_t n;
};

static void release_trail(struct trail *trail)
{
	while (trail->n)
		(void)close(trail->steps[--trail->n].fd); /* nothing was written through it */
}

EWS_CLEANUP_DEFINE(trail, struct trail, release_trail)

static size_t parent_len(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) : 0;
}

static bool holds(const struct trail *trail, size_t len, const char *path, size_t dir_len)
{
	return len <= dir_len && path[len] == '/' && !memcmp(trail->path, path, len);
}

/* A descriptor of the directory that `path` lies in, for its stat data alone; -1 when it can't be opened. */
static int follow(struct trail *trail, const char *path)
{
	size_t len = parent_len(path), from = 0;
	char rel[PATH_MAX];
	int fd;

	while (trail->n && !holds(trail, trail->steps[trail->n - 1].len, path, len))
		(void)close(trail->steps[--trail->n].fd);
	trail->path = path;
	if (trail->n)
		from = trail->steps[trail->n - 1].len + 1;
	if (from > len || !len)
		return trail->n ? trail->steps[trail->n - 1].fd : trail->root_fd;
	if (trail->n == TRAIL_MAX || len - from >= sizeof(rel))
		return -1;
	memcpy(rel, path + from, len - from);
	rel[len - from] = '\0';
	fd = trail->n ? trail->steps[trail->n - 1].fd : trail->root_fd;
	if (strchr(rel, '/')) {
		fd = ews_dir_open_beneath(fd, rel);
		ews_error_clear();
	} else {
		fd = openat(fd, rel, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	}
	if (fd < 0)
		return -1;
	trail->steps[trail->n].fd = fd;
	trail->steps[trail->n++].len = len;
	return fd;
}

static bool is_same(const struct ews_entry *entry, const struct stat *st)
{
	struct ews_entry now = { 0 };

	if (entry->is_racy || !entry->has_stat)
		return false;
	ews_entry_set_stat(&now, st);
	/* A nested repository is a directory that was not walked into. */
	if (entry->type == EWS_ENTRY_GITLINK && now.type == EWS_ENTRY_DIR)
		now.type = EWS_ENTRY_GITLINK;
	return ews_entry_same_stat(&now, entry) && now.uid == entry->uid && now.gid == entry->gid &&
	       now.n_links == entry->n_links;
}

/* Are the rules of a .gitignore, which is in `dir_fd`, those of before? One that was made just before it was found is touched. */
static bool has_same_rules(const struct ews_entry *entry, int dir_fd)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	struct ews_oid oid;

	if (entry->type != EWS_ENTRY_FILE || ews_oid_is_none(&entry->oid))
		return false;
	if (ews_file_read(&text, dir_fd, GITIGNORE, EWS_IGNORE_BYTES_MAX) < 0) {
		ews_error_clear();
		return false;
	}
	ews_oid_hash(&oid, ews_oid_algo(&entry->oid), EWS_OBJECT_BLOB, text.ptr, text.len);
	return ews_oid_equal(&oid, &entry->oid);
}

static bool is_left_out(const struct ews_skips *skips, const char *path)
{
	size_t at = ews_path_find_first(skips->items, sizeof(*skips->items), skips->n, path);

	return at < skips->n && !strcmp(skips->items[at].path, path);
}

/* Is it the empty directory of a submodule still? A nested repository is one that was left out. */
static bool is_empty_submodule(const struct recheck *check, const struct ews_entry *entry, int dir_fd)
{
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	EWS_CLEANUP(fd)
	int fd = openat(dir_fd, ews_path_base(entry->path), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : ews_dir_names_read(&names, fd);

	ews_error_clear();
	return n == 0 && !is_left_out(&check->cache->skips, entry->path);
}

/* Note what an entry was, as long as there are few such. */
static void note_touched(struct recheck *check, const struct ews_entry *entry)
{
	const struct ews_entries *list = &check->cache->entries;
	struct ews_touched *were = &check->were;

	(void)pthread_mutex_lock(&check->lock);
	if (were->n > TOUCHED_FEW && were->n > list->n / TOUCHED_PART)
		were->are_all = false;
	if (were->are_all) {
		EWS_GROW(were->items, were->n, were->cap);
		were->items[were->n++] = (struct ews_touched_entry){ (size_t)(entry - list->items), *entry };
	}
	(void)pthread_mutex_unlock(&check->lock);
}

/* Is it still of a kind whose change its own stat data tell, and no other rule? Then take these. */
static bool take_touched(struct recheck *check, struct ews_entry *entry, const struct stat *st, int dir_fd)
{
	struct ews_entry now = { 0 };

	ews_entry_set_stat(&now, st);
	if (entry->type == EWS_ENTRY_GITLINK && now.type == EWS_ENTRY_DIR && is_empty_submodule(check, entry, dir_fd))
		now.type = EWS_ENTRY_GITLINK;
	if (!entry->has_stat || entry->type != now.type)
		return false;
	if (!strcmp(ews_path_base(entry->path), GITIGNORE) && !has_same_rules(entry, dir_fd))
		return false;
	if (now.type != EWS_ENTRY_FILE && now.type != EWS_ENTRY_LINK && !ews_entry_is_dir(&now))
		return false;
	if (now.type == EWS_ENTRY_FILE && check->opts->max_file_bytes && now.size > check->opts->max_file_bytes)
		return false;
	if (check->opts->touched)
		note_touched(check, entry);
	ews_entry_set_stat(entry, st);
	entry->type = now.type;
	entry->is_racy = true;
	check->n_touched++;
	return true;
}

/* Is it known already that it has to be walked, or that nobody will? */
static bool is_decided(const struct recheck *check)
{
	return atomic_load_explicit(&check->differs, memory_order_relaxed) ||
	       (check->opts->is_stopped && atomic_load_explicit(check->opts->is_stopped, memory_order_relaxed));
}

static int check_entries(size_t from, size_t end, unsigned worker, void *payload)
{
	struct recheck *check = payload;
	struct ews_entries *list = &check->cache->entries;
	/* One of its own: the kernel counts who uses an open file, which is slow where two do. */
	EWS_CLEANUP(fd) int root = openat(check->opts->root_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	EWS_CLEANUP(trail) struct trail trail = { .root_fd = root < 0 ? check->opts->root_fd : root };

	(void)worker;
	for (size_t i = from; i < end && !is_decided(check); i++) {
		struct ews_entry *entry = &list->items[i];
		int fd = follow(&trail, entry->path);
		struct stat st;

		if (fd < 0 || fstatat(fd, ews_path_base(entry->path), &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    (!is_same(entry, &st) && !take_touched(check, entry, &st, fd)))
			check->differs = true;
	}
	return 0;
}

/* Does the record of one that is left out have the size of the file? It has none where nobody cares for it. */
static bool tells_size(const struct ews_skip *skip)
{
	return skip->reason == EWS_SKIP_IGNORED || skip->reason == EWS_SKIP_EXCLUDED ||
	       skip->reason == EWS_SKIP_TOO_LARGE;
}

/* Is what was a git directory one still, and what was none none? Nothing beside it shows that. */
static bool is_same_git(const struct ews_skip *skip, int dir_fd)
{
	const char *name = ews_path_base(skip->path);
	EWS_CLEANUP(fd) int fd = -1;

	if (!ews_skip_is_gits(skip->reason))
		return true;
	if (strcmp(name, EWS_GITFILE) != 0)
		dir_fd = fd = openat(dir_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return dir_fd >= 0 && ews_gitfile_is_hollow(dir_fd) == (skip->reason == EWS_SKIP_HOLLOW);
}

/*
 * Only what it was is recorded of what was left out, and how large a file was. What is there now by that name, and of
 * another type, may be left out no more: rules speak of directories, and a file in a socket's place has content.
 */
static bool is_same_skip(const struct ews_skip *skip, struct trail *trail)
{
	struct ews_entry now = { 0 };
	int fd = follow(trail, skip->path);
	struct stat st;

	if (fd < 0 || fstatat(fd, ews_path_base(skip->path), &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	ews_entry_set_stat(&now, &st);
	return now.type == skip->type && (!tells_size(skip) || now.size == skip->size) && is_same_git(skip, fd);
}

static int check_skips(size_t from, size_t end, unsigned worker, void *payload)
{
	struct recheck *check = payload;
	const struct ews_skips *list = &check->cache->skips;
	EWS_CLEANUP(trail) struct trail trail = { .root_fd = check->opts->root_fd };

	(void)worker;
	for (size_t i = from; i < end && !is_decided(check); i++)
		if (!is_same_skip(&list->items[i], &trail))
			check->differs = true;
	return 0;
}

bool ews_recheck_is_possible(const struct ews_scan *scan)
{
	if (!scan->root.has_stat || scan->opened.n || scan->n_vanished)
		return false;
	for (size_t i = 0; i < scan->skips.n; i++) {
		const struct ews_skip *skip = &scan->skips.items[i];

		switch (skip->reason) {
		case EWS_SKIP_IGNORED:
		case EWS_SKIP_EXCLUDED:
		case EWS_SKIP_TOO_LARGE:
			/* Its rules may change, and it is no entry that would show that. */
			if (!strcmp(ews_path_base(skip->path), GITIGNORE))
				return false;
			break;
		case EWS_SKIP_OWN:
		case EWS_SKIP_REPOSITORY:
		case EWS_SKIP_REPOSITORY_MOVED:
		case EWS_SKIP_HOLLOW:
		case EWS_SKIP_SOCKET:
		case EWS_SKIP_DEVICE:
			break;
		default:
			return false;
		}
	}
	return true;
}

/* Did no name come to the directory, whose entries are those from `below`? None went: each that is known was looked at. */
static bool has_known_names(const struct recheck *check, const char *path, const struct ews_entry *below)
{
	const struct ews_entries *list = &check->cache->entries;
	EWS_CLEANUP(fd)
	int fd = *path ? ews_dir_open_within(check->opts->root_fd, path, O_RDONLY | O_DIRECTORY, false)
		       : openat(check->opts->root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	EWS_CLEANUP(strv) struct ews_strv unknown = EWS_STRV_INIT;
	bool is_fine = fd >= 0 && ews_unknown_list(&unknown, fd, path, below, list->items + list->n,
						   check->opts->is_plain) == 0;

	for (size_t i = 0; i < unknown.n && is_fine; i++)
		is_fine = is_left_out(&check->cache->skips, unknown.items[i]);
	ews_error_clear();
	return is_fine;
}

/* One of the directories that were touched; the root is the first. */
static int check_names(size_t i, unsigned worker, void *payload)
{
	struct recheck *check = payload;
	const struct ews_entries *list = &check->cache->entries;
	const struct ews_entry *dir = check->touched[i];

	(void)worker;
	if (!is_decided(check) && !has_known_names(check, dir ? dir->path : "", dir ? dir + 1 : list->items))
		check->differs = true;
	return 0;
}

static bool have_known_names(struct recheck *check)
{
	const struct ews_entries *list = &check->cache->entries;
	EWS_CLEANUP(free) const struct ews_entry **touched = ews_calloc(list->n + 1, sizeof(*touched));
	size_t n = check->cache->root.is_racy;

	for (size_t i = 0; i < list->n; i++)
		if (list->items[i].is_racy && list->items[i].type == EWS_ENTRY_DIR)
			touched[n++] = &list->items[i];
	check->touched = touched;
	(void)ews_pool_for(n, DIRS_CHUNK, check->opts->threads, check_names, check); /* it never fails */
	return !check->differs;
}

void ews_touched_tell(const struct ews_touched *touched, struct ews_cache_origin *origin,
		      const struct ews_entries *now)
{
	EWS_CLEANUP(free) size_t *changed = ews_calloc(touched->n, sizeof(*changed));
	bool is_told = touched->are_all;

	for (size_t i = 0; i < touched->n && is_told; i++) {
		const struct ews_entry *was = &touched->items[i].was, *is = &now->items[touched->items[i].at];

		changed[i] = touched->items[i].at;
		/*
		 * The entries of other names speak of it, too. Where a file system copies what is written to these were
		 * not touched.
		 */
		is_told = ews_entry_same_attrs(was, is) && !ews_entry_has_names(was) && !ews_entry_has_names(is);
	}
	if (is_told)
		ews_cache_origin_add(origin, changed, touched->n);
	else
		ews_cache_origin_release(origin);
}

void ews_touched_release(struct ews_touched *touched)
{
	free(touched->items);
	*touched = (struct ews_touched)EWS_TOUCHED_INIT;
}

static int cmp_touched(const void *a, const void *b)
{
	const struct ews_touched_entry *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

/* Give away what the touched entries were. Threads came to them in any order. */
static void give_touched(struct recheck *check)
{
	struct ews_touched *were = &check->were;

	if (!were->are_all)
		ews_touched_release(were);
	if (were->n)
		qsort(were->items, were->n, sizeof(*were->items), cmp_touched);
	if (check->opts->touched)
		*check->opts->touched = *were;
}

enum ews_recheck ews_recheck(struct ews_cache *cache, const struct ews_recheck_opts *opts)
{
	struct recheck check = {
		.cache = cache, .opts = opts, .lock = PTHREAD_MUTEX_INITIALIZER, .were = { .are_all = true }
	};
	struct stat st;

	if (fstat(opts->root_fd, &st) < 0 || !cache->root.has_stat)
		return EWS_RECHECK_OTHER;
	if (!is_same(&cache->root, &st)) {
		ews_entry_set_stat(&cache->root, &st);
		cache->root.is_racy = true;
		check.n_touched++;
	}
	/* The functions never fail. */
	(void)ews_pool_spans(cache->entries.n, SPAN, opts->threads, check_entries, &check);
	(void)ews_pool_spans(cache->skips.n, SPAN, opts->threads, check_skips, &check);
	give_touched(&check);
	if (is_decided(&check))
		return EWS_RECHECK_OTHER;
	if (!check.n_touched)
		return EWS_RECHECK_SAME;
	return have_known_names(&check) ? EWS_RECHECK_TOUCHED : EWS_RECHECK_OTHER;
}
