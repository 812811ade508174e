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

#endif
