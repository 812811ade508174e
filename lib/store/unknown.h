/*
 * Unknown: the names in a directory that a list of entries has not.
 *
 * Both are in order, so one walk along the two finds them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_UNKNOWN_H
#define EWS_STORE_UNKNOWN_H

#include "base/strv.h"
#include "store/entry.h"

/*
 * Add the paths of what is in the directory `path`, open at `fd`, and none of the entries from `below`, the one that
 * follows it in a sorted list, to that list's `end`. Of a directory that is not `is_plain` the ".git" at the top is known.
 */
int ews_unknown_list(struct ews_strv *out, int fd, const char *path, const struct ews_entry *below,
		     const struct ews_entry *end, bool is_plain);

#endif
