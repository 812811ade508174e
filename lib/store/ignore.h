/*
 * Ignore rules: gitignore as git reads it.
 *
 * A scan walks down the tree and asks at each name. Rules come from, weakest
 * first: core.excludesFile, info/exclude, then the .gitignore of each
 * directory from the root down; the last match decides. Patterns as in
 * gitignore(5), matched as git's wildmatch does ("**", classes, escapes,
 * trailing blanks, "!", directory-only).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_IGNORE_H
#define EWS_STORE_IGNORE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/cleanup.h"

/* What has more bytes is no file of rules: it is not read. */
#define EWS_IGNORE_BYTES_MAX (16 * EWS_MIB)

/*
 * The rules that hold in one directory: its own, and a link to its parent's.
 * Immutable once made, so that threads may share it.
 */
struct ews_ignore;

/* The root's base: global rules. Either text may be NULL. `fold_case`: core.ignoreCase. */
struct ews_ignore *ews_ignore_new(const char *excludes_file, size_t excludes_len, const char *info_exclude,
				  size_t info_len, bool fold_case);

/*
 * The rules inside directory `path` ("" is the root; relative to it, no
 * trailing slash), whose .gitignore has the `len` bytes at `text` (NULL: it
 * has none). `parent` must outlive it.
 */
struct ews_ignore *ews_ignore_enter(const struct ews_ignore *parent, const char *path, const char *text, size_t len);

/*
 * Append what the .gitignore at `path` beneath `dir_fd` says. One that is missing, no file, shut or too long says nothing; fails
 * where it can't be read just now: what it ignores would be taken for what it does not.
 */
int ews_ignore_read(struct ews_buf *out, int dir_fd, const char *path);

/*
 * Is `path` (relative to the root), which lies directly in the directory
 * of `rules`, ignored? What lies in an ignored directory is ignored as well; the
 * caller need not ask.
 */
bool ews_ignore_match(const struct ews_ignore *rules, const char *path, bool is_dir);

/* Frees this level alone; NULL is fine. */
void ews_ignore_free(struct ews_ignore *rules);

/* git's wildmatch(pattern, text, WM_PATHNAME [| WM_CASEFOLD]). */
bool ews_ignore_wildmatch(const char *pattern, const char *text, bool fold_case);

EWS_CLEANUP_DEFINE_PTR(ignore, struct ews_ignore, ews_ignore_free)

#endif
