/*
 * Lists: all that stands in a directory, as readdir, lstat, readlink, read and listxattr tell it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef FUZZ_LIST_H
#define FUZZ_LIST_H

#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#include "text.h"

struct item {
	char *path; /* relative to the root of the list */
	mode_t mode; /* type and all bits; a link's bits mean nothing and are 0777 */
	struct timespec mtime, ctime;
	ino_t ino;
	nlink_t nlink; /* how many names a file has, here or elsewhere */
	char *data; /* a file's bytes, a link's text; NULL when only names were asked for */
	size_t len;
	char *attrs; /* "<name>=<hex>,..." in order; NULL: none */
};

struct list {
	struct item *items; /* sorted: a directory stands right before what it holds */
	size_t n, cap;
	mode_t root_mode;
};

#define LIST_INIT { NULL, 0, 0, 0 }

enum list_flags {
	LIST_NAMES = 1, /* no contents and attributes */
	LIST_GIT = 2, /* ".git" at the root as well */
	LIST_SHALLOW = 4, /* nothing beneath its directories */
	LIST_NO_OBJECTS = 8, /* of a git directory: not what stands in "objects" */
};

/* The order of lists: by name, a directory's content right after it. */
int path_cmp(const char *a, const char *b);
/* Is `path` the directory `dir`, or beneath it? */
bool path_is_in(const char *path, const char *dir);
const char *path_base(const char *path);

/* All beneath `dir` but ".git", ".superqode", ".ews-trash" and ".ews_scratch" at its root. It must not change meanwhile. */
void list_take(struct list *out, const char *dir, unsigned flags);
const struct item *list_find(const struct list *list, const char *path);
void list_release(struct list *list);

/* In what two items differ, as a word ("mode"), or NULL. Directories have no time to compare. */
const char *item_difference(const struct item *a, const struct item *b, bool with_time);
/* Type, mode, size, times and inode, for people. */
void item_describe(struct text *out, const struct item *item);
/* Every difference between two lists, a line each. */
enum list_times { TIMES_NONE, TIMES_FILES, TIMES_ALL };
void list_compare(struct text *report, const char *what, const struct list *before, const struct list *after,
		  enum list_times times);
/* Are these the same inodes, and did nothing at all happen to them between the two lists? */
bool list_is_untouched(const struct list *before, const struct list *after);

#endif
