/*
 * What is asked of a text.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_STR_H
#define EWS_BASE_STR_H

#include <stdbool.h>
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

#endif
