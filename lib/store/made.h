/*
 * Made: what a scan would find in a directory that was just filled, without one.
 *
 * Who filled it knows each name in it and has every file's stat data from its last write. What is not known are the stat
 * data of the directories, which are final when all is in them, and whether that is all: so each directory is
 * listed, and only names that nobody put there are scanned, by the rules of any scan: what is ignored and came along, or
 * what lies in a submodule. Where that turns up anything else, or what was put there would be left out by
 * a scan, nothing is said.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_MADE_H
#define EWS_STORE_MADE_H

#include "store/scan.h"

/*
 * Find what stands beneath `opts->root_fd`, which was filled with `put`, ids and attributes as well. Returns 1, or 0
 * where only a scan can tell. The entries borrow the strings of `put`. `opts->only` is NULL.
 */
int ews_made_find(struct ews_scan *out, const struct ews_entries *put, const struct ews_scan_opts *opts);

/* The same without a copy: where it returns 1 the list is that of `out`, and `put` is empty. */
int ews_made_take(struct ews_scan *out, struct ews_entries *put, const struct ews_scan_opts *opts);

#endif
