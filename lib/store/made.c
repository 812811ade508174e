/*
 * Made: see made.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/made.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/error.h"
#include "base/path.h"
#include "base/pool.h"
#include "store/unknown.h"

#define SPAN 512 /* entries whose directories one thread looks at in a row */

/* Would a scan leave it out that knows of it, or can't its state be told? */
static bool is_left_out(const struct ews_entry *entry, const struct ews_scan_opts *opts)
{
	for (const char *const *own = opts->own; own && *own; own++)
		if (!strcmp(entry->path, *own))
			return true;
	switch (entry->type) {
	case EWS_ENTRY_FILE:
		return !entry->has_stat || (opts->max_file_bytes && entry->size > opts->max_file_bytes);
	case EWS_ENTRY_LINK:
	case EWS_ENTRY_FIFO:
		return !entry->has_stat;
	case EWS_ENTRY_DIR:
	case EWS_ENTRY_GITLINK:
		return false;
	default:
		return true;
	}
}

/* Take the stat data of a directory, and the names in it that nobody put there. False: it is not what was made. */
static bool look_at_dir(struct ews_scan *out, struct ews_strv *unknown, size_t at, bool is_plain)
{
	struct ews_entry *entry = &out->entries.items[at];
	EWS_CLEANUP(fd) int fd = ews_dir_open_within(out->root_fd, entry->path, O_RDONLY | O_DIRECTORY, false);
	uint8_t type = entry->type;
	uint16_t mode = entry->mode;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return false;
	ews_entry_set_stat(entry, &st);
	/* A nested repository's own is not walked into, and was not made here. */
	if (type == EWS_ENTRY_GITLINK)
		entry->type = type;
	else if (entry->mode != mode)
		return false;
	return ews_unknown_list(unknown, fd, entry->path, entry + 1, out->entries.items + out->entries.n,
				is_plain) == 0;
}

/* Is it what makes a nested repository of a directory that was made as none? */
static bool makes_repository(const struct ews_entries *list, const char *path)
{
	EWS_CLEANUP(free) char *dir = strcmp(ews_path_base(path), ".git") ? NULL : ews_path_dir(path);
	const struct ews_entry *entry = dir ? ews_entries_find(list, dir) : NULL;

	return entry && entry->type != EWS_ENTRY_GITLINK;
}

/* What is not put there must be left out by a scan, and what `known` has not is to be found by it. */
static bool scan_rest(struct ews_scan *out, const struct ews_strv *rest, const struct ews_scan_opts *opts)
{
	EWS_CLEANUP(scan) struct ews_scan found = EWS_SCAN_INIT;
	struct ews_scan_opts rest_opts = *opts;

	rest_opts.only = (const char *const *)rest->items;
	if (!rest->n)
		return true;
	if (ews_scan(&found, &rest_opts) < 0 || found.opened.n || found.n_vanished)
		return false;
	for (size_t i = 0; i < found.entries.n; i++) {
		const struct ews_entry *there = &found.entries.items[i];
		const struct ews_entry *entry = ews_entries_find(&out->entries, there->path);

		if (!entry || entry->type != there->type)
			return false;
	}
	for (size_t i = 0; i < rest->n; i++)
		if (makes_repository(&out->entries, rest->items[i]) ||
		    (ews_entries_find(&out->entries, rest->items[i]) &&
		     !ews_entries_find(&found.entries, rest->items[i])))
			return false;
	ews_skips_add_all(&out->skips, &found.skips);
	ews_skips_sort(&out->skips);
	return true;
}

/* The directories, on several threads. */
struct dirs {
	struct ews_scan *out;
	struct ews_strv *unknown;
	pthread_mutex_t lock; /* of `unknown` */
	bool is_plain;
};

/* Of their neighbours threads read no more than the paths, which nobody changes. */
static int look_at_dirs(size_t from, size_t end, unsigned worker, void *payload)
{
	struct dirs *dirs = payload;
	EWS_CLEANUP(strv) struct ews_strv unknown = EWS_STRV_INIT;

	(void)worker;
	for (size_t i = from; i < end; i++)
		if (ews_entry_is_dir(&dirs->out->entries.items[i]) &&
		    !look_at_dir(dirs->out, &unknown, i, dirs->is_plain))
			return ews_error(EWS_ESTALE, "it is not what was made");
	if (!unknown.n)
		return 0;
	pthread_mutex_lock(&dirs->lock);
	ews_strv_add_array(dirs->unknown, unknown.items);
	pthread_mutex_unlock(&dirs->lock);
	return 0;
}

/* `out` has what was put there; with `knows_all` that is what `opts->known` has. */
static bool find(struct ews_scan *out, bool knows_all, const struct ews_scan_opts *opts)
{
	EWS_CLEANUP(strv) struct ews_strv rest = EWS_STRV_INIT;
	struct dirs dirs = {
		.out = out, .unknown = &rest, .lock = PTHREAD_MUTEX_INITIALIZER, .is_plain = opts->is_plain
	};
	const struct ews_entry *end = out->entries.n ? out->entries.items + out->entries.n : NULL;
	size_t at = 0;
	struct stat st;

	if (fstat(opts->root_fd, &st) < 0)
		return false;
	ews_entry_set_stat(&out->root, &st);
	for (size_t i = 0; i < out->entries.n; i++) {
		struct ews_entry *entry = &out->entries.items[i];

		if (is_left_out(entry, opts))
			return false;
		entry->is_racy = false;
		if (!knows_all && !ews_entries_find_next(opts->known, entry->path, &at))
			ews_strv_add(&rest, entry->path);
	}
	if (ews_unknown_list(&rest, opts->root_fd, "", out->entries.items, end, opts->is_plain) < 0)
		return false;
	if (ews_pool_spans(out->entries.n, SPAN, opts->threads, look_at_dirs, &dirs) < 0)
		return false;
	ews_strv_sort(&rest);
	return scan_rest(out, &rest, opts);
}

/* Find it in what `found` begins with, which is `put` or a copy. */
static bool find_from(struct ews_scan *found, const struct ews_entries *put, const struct ews_scan_opts *opts)
{
	struct ews_scan_opts with = *opts;
	bool knows_all = opts->known == put, is_found;

	ews_scan_begin(found);
	found->root_fd = opts->root_fd;
	if (knows_all)
		with.known = &found->entries;
	is_found = find(found, knows_all, &with);
	ews_error_clear();
	if (is_found)
		ews_scan_count(found);
	return is_found;
}

int ews_made_find(struct ews_scan *out, const struct ews_entries *put, const struct ews_scan_opts *opts)
{
	EWS_CLEANUP(scan) struct ews_scan found = EWS_SCAN_INIT;

	EWS_GROW_TO(found.entries.items, put->n, found.entries.cap);
	if (put->n)
		memcpy(found.entries.items, put->items, put->n * sizeof(*put->items));
	found.entries.n = put->n;
	found.entries.knows_names = put->knows_names;
	if (!find_from(&found, put, opts))
		return 0;
	*out = found;
	found = (struct ews_scan)EWS_SCAN_INIT;
	return 1;
}

int ews_made_take(struct ews_scan *out, struct ews_entries *put, const struct ews_scan_opts *opts)
{
	EWS_CLEANUP(scan) struct ews_scan found = EWS_SCAN_INIT;

	found.entries = *put;
	*put = (struct ews_entries)EWS_ENTRIES_INIT;
	if (!find_from(&found, put, opts)) {
		*put = found.entries;
		found.entries = (struct ews_entries)EWS_ENTRIES_INIT;
		return 0;
	}
	*out = found;
	found = (struct ews_scan)EWS_SCAN_INIT;
	return 1;
}
