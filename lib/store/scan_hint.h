/*
 * Hints: the ids that git's index has for files, where they stand for the raw bytes.
 *
 * The stat data says that a file is the one git took in; but git may have stored other bytes than stand in it. Line ends show
 * in the length. What else converts is named by attributes, and where any file of those has such a word nothing is believed.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_SCAN_HINT_H
#define EWS_STORE_SCAN_HINT_H

#include "store/entry.h"
#include "store/index.h"
#include "store/odb.h"

struct ews_scan_hint {
	const struct ews_index *index; /* NULL: there is none that could be believed */
	struct ews_odb *odb;
};

/*
 * Take `index` (may be NULL), unless git could have converted what it took into it. `entries` are what stands beneath
 * `root_fd`.
 */
void ews_scan_hint_init(struct ews_scan_hint *out, const struct ews_index *index, struct ews_odb *odb,
			const struct ews_entries *entries, int root_fd);

/* Set `out` to the id of the bytes of `entry`, when the hint is sure of it. */
bool ews_scan_hint_find(struct ews_oid *out, const struct ews_scan_hint *hint, const struct ews_entry *entry);

#endif
