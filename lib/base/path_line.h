/*
 * Lines about paths, as lists of results have them: "<escaped path>\t<words>".
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_PATH_LINE_H
#define EWS_BASE_PATH_LINE_H

#include "base/buf.h"
#include "base/strv.h"

/* Add one to the list; the second form makes the words as printf(3) does. */
void ews_path_line_add(struct ews_strv *list, const char *path, const char *words);
/* The same, unless the list has that very line. */
void ews_path_line_add_once(struct ews_strv *list, const char *path, const char *words);
__attribute__((format(printf, 3, 4))) void ews_path_line_addf(struct ews_strv *list, const char *path,
							      const char *fmt, ...);

/* Add the path of `line`, or what stands for it where that is no escaped path. Returns the words, within `line`; "": it has none. */
const char *ews_path_line_split(struct ews_buf *path, const char *line);
/* The words alone. */
const char *ews_path_line_words(const char *line);

/* Is one of them about `path`? */
bool ews_path_line_has(const struct ews_strv *list, const char *path);

#endif
