/*
 * Hints: the ids that git's index has for files, where they stand for the raw bytes.
 *
 * The stat data says that a file is the one git took in; but git may have stored other bytes than stand in it. Line ends show
 * in the length. What else converts is a program that the config names, or an encoding that attributes ask for. Which attributes git
 * saw can't be told: they may have changed since, or lie where no scan looks (ignored, or in its index alone). So nothing is
 * believed where there is any such program, but for git-lfs, whose pointers are short; nor where a file of attributes has such a word.
 * An object that another one replaces (git-replace) is never what git checked out.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_SCAN_HINT_H
#define EWS_STORE_SCAN_HINT_H

#include "store/entry.h"
#include "store/index.h"
#include "store/odb.h"
#include "store/scan.h"

struct ews_scan_hint {
	const struct ews_index *index; /* NULL: there is none that could be believed */
	uint64_t size_min; /* nor is it of a file that is smaller */
	struct ews_odb *odb;
	struct ews_oids replaced; /* sorted */
};

/* Take `index` (may be NULL), unless git could have converted what it took into it. `scan` is what was found. */
void ews_scan_hint_init(struct ews_scan_hint *out, const struct ews_index *index, struct ews_odb *odb,
			const struct ews_scan *scan);
void ews_scan_hint_release(struct ews_scan_hint *hint);

/* Set `out` to the id of the bytes of `entry`, when the hint is sure of it. */
bool ews_scan_hint_find(struct ews_oid *out, const struct ews_scan_hint *hint, const struct ews_entry *entry);

#endif
