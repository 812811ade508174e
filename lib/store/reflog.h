/*
 * Reflogs: what the log of a branch says of a commit that git made for us.
 *
 * git writes in front of each line's message what was done, which GIT_REFLOG_ACTION gives a name: so the line is known again
 * among those of others.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_REFLOG_H
#define EWS_STORE_REFLOG_H

#include "base/strv.h"
#include "store/odb.h"

/*
 * Find where `action` moved the branch `name`, by its full name: from `*from` (none: it was born) to `*to`. Of what it did in
 * several steps, one right upon the other, that is the whole.
 *
 * Returns 1 when it is there and took place, 0 when it did not, and EWS_ENOTFOUND when the log does not go back to where the branch
 * stood at `since`, or there is none.
 */
int ews_reflog_find(struct ews_oid *from, struct ews_oid *to, struct ews_odb *odb, const char *name,
		    const char *action, const struct ews_oid *since);

/*
 * Append "<message> <id>" for each line of the log of the ref `name`, the oldest first: where it moved to, and what the log says
 * of it, escaped (ews_path_escape). Where there is no log there are none.
 */
int ews_reflog_list(struct ews_strv *out, struct ews_odb *odb, const char *name);

#endif
