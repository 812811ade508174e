/*
 * What is asked of a text.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_STR_H
#define EWS_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Does `text` begin with `with`, which may be all of it? */
static inline bool ews_str_begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* What follows `with` in `text`, which begins with it; NULL: it doesn't. */
static inline const char *ews_str_after(const char *text, const char *with)
{
	return ews_str_begins(text, with) ? text + strlen(with) : NULL;
}

/*
 * The line at `*at` and its length without a newline, which the last one need not have: what stands behind a NUL belongs to it.
 * `*at` moves on to the next one. NULL: there is none before `end`.
 */
static inline const char *ews_str_next_line(const char **at, size_t *len, const char *end)
{
	const char *line = *at;
	const char *newline = line < end ? memchr(line, '\n', (size_t)(end - line)) : NULL;

	if (line >= end)
		return NULL;
	*len = (size_t)((newline ? newline : end) - line);
	*at = newline ? newline + 1 : end;
	return line;
}

#endif
