/*
 * Hunks: the parts of a change to a file, of which some may be wanted.
 *
 * They are those of git's own patch, in its order. A file that is new, gone, renamed, no text, or whose mode alone changed is
 * one hunk as a whole; else the mode comes along with the last of them, when all are wanted.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_HUNK_H
#define EWS_WORK_HUNK_H

#include "work/diff.h"

struct ews_hunk {
	size_t old_line, n_old, new_line, n_new; /* lines from 0 */
	const char *text; /* with its line of numbers; in the file's text, or `own` */
	size_t len;
	char *own;
	struct ews_buf edited; /* what comes instead of the old lines, when `is_edited` */
	bool is_edited;
	bool is_decided; /* whoever was asked said whether it is wanted */
	bool is_wanted;
};

struct ews_hunk_file {
	const struct ews_change *change;
	struct ews_buf text; /* git's patch of it; read by ews_hunks_load() */
	size_t header_len;
	struct ews_hunk *items;
	size_t n;
	bool is_loaded, is_whole;
};

struct ews_hunks {
	struct ews_repo *repo;
	const struct ews_diff *diff; /* whose two trees are compared */
	struct ews_hunk_file *items; /* by path */
	size_t n;
};

#define EWS_HUNKS_INIT { NULL, NULL, NULL, 0 }

/* All files that `changes`, which lead between the trees of `diff`, change; nothing is read yet, and nothing wanted. */
void ews_hunks_list(struct ews_hunks *out, struct ews_repo *repo, const struct ews_diff *diff,
		    const struct ews_changes *changes);
/* Read the hunks of one file. */
int ews_hunks_load(struct ews_hunks *hunks, struct ews_hunk_file *file);
/* The file at `path`, or NULL. */
struct ews_hunk_file *ews_hunks_find(const struct ews_hunks *hunks, const char *path);

/* How many of its hunks are wanted. */
size_t ews_hunk_file_wanted(const struct ews_hunk_file *file);
/* Is all wanted as it is, so that the file becomes what the change says? */
bool ews_hunk_file_is_all(const struct ews_hunk_file *file);
/*
 * What the file comes to with the wanted hunks alone, of which there are some, but not all as they are: the content goes into
 * `batch`.
 */
int ews_hunk_file_take(struct ews_entry *out, const struct ews_hunk_file *file, struct ews_odb *odb,
		       struct ews_batch *batch);

void ews_hunks_release(struct ews_hunks *hunks);
EWS_CLEANUP_DEFINE(hunks, struct ews_hunks, ews_hunks_release)

#endif
