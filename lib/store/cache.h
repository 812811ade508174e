/*
 * The stat cache: the entries of the last scan, so that the next one reads only
 * what changed.
 *
 * A binary file of fixed records and a block of strings, with its own checksum:
 * a cache that is damaged or missing is no cache and costs nothing but time.
 * Entries that changed within 20 ms before the scan began are stored as racy and are
 * read again.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_CACHE_H
#define EWS_STORE_CACHE_H

#include "store/entry.h"

/* Read the cache `name` in `dir_fd` into `out` (sorted). Nothing usable: an empty list and 0. */
int ews_cache_read(struct ews_entries *out, int dir_fd, const char *name);

/* Replace it. `started_*` is the time at which the scan that gave `list` began. */
int ews_cache_write(int dir_fd, const char *name, const struct ews_entries *list, int64_t started_s,
		    uint32_t started_ns);

#endif
