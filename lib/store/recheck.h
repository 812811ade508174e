/*
 * Recheck: does a directory stand as it was found, looked at but not walked?
 *
 * A scan lists each directory, asks for each name's stat data, and matches it with rules. When the whole of
 * what a scan found is known, with the stat data of every directory, the asking alone tells whether the next one would find
 * the same: no name came or went where a directory's times stand still, no content where a file's do, and no rule where its
 * .gitignore does. That takes a third of the time, and mostly nothing has changed.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_RECHECK_H
#define EWS_STORE_RECHECK_H

#include "store/cache.h"

/* May what was found be rechecked later? Not when a path was left out for a reason that its own stat data don't tell. */
bool ews_recheck_is_possible(const struct ews_scan *scan);

/*
 * Would a scan of the directory open at `root_fd` by the key of `cache`, which is whole, find what `cache` has? Anything
 * that changed, is too young to tell, or can't be looked at says no. On `threads` threads (0: as suits the machine).
 */
bool ews_recheck(const struct ews_cache *cache, int root_fd, unsigned threads);

#endif
