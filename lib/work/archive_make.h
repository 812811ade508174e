/*
 * Archive making: a directory into a new archive, which is there whole or not at all.
 *
 * It is written where it will be, to a file without a name (or with one of a draft, where the file system has no such files), synced,
 * gets its name, which nobody has, and the directory is synced. A file that changes while all of that is done spoils the attempt; the
 * next one reads it anew, and in the end it is left out by name.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_ARCHIVE_MAKE_H
#define EWS_WORK_ARCHIVE_MAKE_H

#include "base/progress_fn.h"
#include "work/archive_scan.h"

struct ews_archive_order {
	struct ews_archive_source source;
	const char *home;
	const char *to; /* the directory for it, absolute, made when missing; NULL: its place in home */
	struct ews_archive_rules *rules; /* borrowed */
	enum ews_compression compression;
	const struct ews_strv *env; /* names, or "<name>=<value>" */
	const struct ews_archive *previous; /* that it rolls on, or NULL */
	bool if_changed; /* none is made when the tree is that of `previous`, else of the newest of the directory there */
	ews_progress_fn progress;
	void *payload;
};

/*
 * Make it. `tree`: what is in it and what is not. Returns 1 when it was made, 0 when nothing has changed: then `out` is
 * the one that is there. When this fails there is none.
 */
int ews_archive_make(struct ews_archive *out, struct ews_archive_tree *tree, const struct ews_archive_order *order);

#endif
