/*
 * Paths: what can be said of a path by looking at its text alone.
 *
 * Nothing here touches the file system. Relative paths use '/' and have no
 * leading or trailing one.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_PATH_H
#define EWS_BASE_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* "<dir>/<name>" with one slash between; an empty `dir` gives `name`. The caller frees it. */
char *ews_path_join(const char *dir, const char *name);

/*
 * The absolute form of `path` as seen from the absolute directory `base`,
 * without ".", ".." and double slashes, links not resolved. The caller frees it.
 */
char *ews_path_absolute(const char *base, const char *path);

/* How many bytes have two absolute paths in common that name a directory which holds both? 0: that is the root. */
size_t ews_path_common_len(const char *a, const char *b);

/* The part after the last slash; of "/" it is "". Points into `path`. */
const char *ews_path_base(const char *path);

/* The part before the last slash, "" when there is none, "/" for "/x". The caller frees it. */
char *ews_path_dir(const char *path);

/* Is `path` equal to `root` or below it? Both absolute or both relative, both normal. */
bool ews_path_is_inside(const char *path, const char *root);

/*
 * Which of `n` items of `size` bytes, each of which begins with a pointer to its path, sorted by ews_path_cmp(), is the first
 * whose path is not before `path`; n: none is. What lies below a directory stands from there on.
 */
size_t ews_path_find_first(const void *items, size_t size, size_t n, const char *path);

/* Is `path` inside one of the NULL-ended `roots`? NULL holds everything. */
bool ews_path_is_inside_any(const char *path, const char *const *roots);

/* The same, or is one of these inside `path`? */
bool ews_path_touches_any(const char *path, const char *const *roots);

/* Has this relative path only plain components: none empty, "." or ".."? */
bool ews_path_is_plain(const char *path);

/*
 * Order of a tree walk: component by component, bytewise, a directory right
 * before what it holds. In this order all paths of a directory stand together.
 */
int ews_path_cmp(const char *a, const char *b);
/* The same, sooner where they are equal: for two lists of nearly the same paths, gone through side by side. */
int ews_path_cmp_alike(const char *a, const char *b);

/*
 * Append `path` so that it fits in a line of text: backslash, control bytes
 * and DEL as \ooo (octal) or \\; all others as they are.
 */
struct ews_buf;
void ews_path_escape(struct ews_buf *out, const char *path, size_t len);
/* The reverse, for the `len` bytes at `text`. Fails with EWS_EDAMAGED on a bad escape or a NUL. */
int ews_path_unescape(struct ews_buf *out, const char *text, size_t len);

/* As git shows a path to people: plain, or in double quotes with C escapes where it must be (what is over 0x7f and shows something stays). */
void ews_path_quote(struct ews_buf *out, const char *path);
/* The same and a newline; or, `nul`, the path as it is and a NUL. */
void ews_path_add_line(struct ews_buf *out, const char *path, bool nul);

#endif
