/*
 * The stat cache: what the last scan found, so that the next one reads only
 * what changed, and need not even walk where nothing did (store/recheck).
 *
 * A binary file: the entries as they lie in memory, with places in a block of strings instead of pointers, and a
 * checksum. A cache that is damaged or missing, or was written by another build, is no cache and costs nothing but time.
 * Entries that changed within 20 ms before the scan began, or in the same seconds where a file system counts these, are
 * stored as racy and are read again, and so are files that were racy when they were read.
 *
 * Where few entries are not as the file has them, they alone are written, into `<name>.since`, with all that is said of
 * the whole. That file names the one it goes with, and is nothing beside any other.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_CACHE_H
#define EWS_STORE_CACHE_H

#include <sys/uio.h>

#include "base/hash.h"
#include "store/entry.h"
#include "store/manifest.h"
#include "store/skip.h"

#define EWS_CACHE_KEY_LEN EWS_SHA256_LEN /* a key is such a digest, whole */

/* The stat data of a file by which it is known again; all 0: there is none. */
struct ews_stamp {
	uint64_t size, mtime_s, mtime_ns, ctime_s, ctime_ns, ino, dev;
};

#define EWS_CACHE_ID_LEN 16

/* The file that a list was read from, and which of its entries are not as that file has them. */
struct ews_cache_origin {
	uint8_t id[EWS_CACHE_ID_LEN]; /* all 0: there is none */
	size_t *changed; /* ascending; their strings are those of the file */
	size_t n;
};

#define EWS_CACHE_ORIGIN_INIT { { 0 }, NULL, 0 }

/* Some more are not as the file has them: `n`, ascending. */
void ews_cache_origin_add(struct ews_cache_origin *origin, const size_t *changed, size_t n);

void ews_cache_origin_release(struct ews_cache_origin *origin);

struct ews_cache {
	struct ews_entries entries; /* sorted, with stat data */
	/* All that a scan found, when it is known: then what follows is, too. */
	bool is_whole;
	struct ews_entry root; /* the directory itself, its stat data alone */
	struct ews_skips skips; /* sorted */
	uint8_t key[EWS_CACHE_KEY_LEN]; /* digest of all that told the scan what to look at */
	struct ews_stamp index; /* git's, which has a say as well */
	uint8_t tracked[EWS_CACHE_KEY_LEN]; /* digest of what it says: it may change without saying anything new */
	char hash[EWS_TREE_HASH_LEN]; /* of the entries */
	struct ews_buf extra; /* what else its writer wants to have back */
	bool is_origin; /* when it is written: what changes may be written beside it later */
	struct ews_cache_origin origin; /* where the entries, and what was left out, were read from */
	/* How an entry is written; NULL: as it is. What it gives borrows the entry's strings. */
	void (*record)(struct ews_entry *out, const struct ews_entry *entry);
};

#define EWS_CACHE_INIT { .entries = EWS_ENTRIES_INIT, .skips = EWS_SKIPS_INIT, .extra = EWS_BUF_INIT, .origin = EWS_CACHE_ORIGIN_INIT }

/* Read the cache `name` in `dir_fd` into `out`. Nothing usable: an empty one and 0. */
int ews_cache_read(struct ews_cache *out, int dir_fd, const char *name);
/*
 * The same of a list that nobody could make anew. Fails with EWS_ENOTFOUND, with EWS_EUNSUPPORTED when it is whole and another
 * version wrote it, or EWS_EDAMAGED when it is there and not usable.
 */
int ews_cache_need(struct ews_cache *out, int dir_fd, const char *name);

/*
 * Its extra alone, without reading the rest, so that nothing proves it: a hint of what the whole will have. False: there is
 * none.
 */
bool ews_cache_peek(struct ews_buf *extra, int dir_fd, const char *name);

/*
 * Replace it. `started_*` is the time at which the scan that gave `cache` began. A durable one outlives a power failure,
 * others may be lost by that.
 */
int ews_cache_write(int dir_fd, const char *name, const struct ews_cache *cache, int64_t started_s,
		    uint32_t started_ns, bool is_durable);

/* The same with another extra, which may lie in several places; of many entries with little memory. */
int ews_cache_write_with(int dir_fd, const char *name, const struct ews_cache *cache, int64_t started_s,
			 uint32_t started_ns, const struct iovec *extra, size_t n_extra, bool is_durable);

/* Does the file that it was read from have nearly all of it, so that what changed is written beside it? */
bool ews_cache_has_origin(const struct ews_cache *cache);

/* A cache as a file has it, all but what stands in `extra`, which may become known last, and lie in several places. */
struct ews_cache_image {
	struct ews_buf data;
	uint32_t crc; /* of what follows the header */
	bool is_since; /* it has what changed since */
};

#define EWS_CACHE_IMAGE_INIT { EWS_BUF_INIT, 0, false }

/* The same in two steps, of which only the second may fail. An image is written once. */
void ews_cache_format(struct ews_cache_image *out, const struct ews_cache *cache, int64_t started_s,
		      uint32_t started_ns);
int ews_cache_write_image(int dir_fd, const char *name, struct ews_cache_image *image, const struct iovec *extra,
			  size_t n_extra, bool is_durable);
void ews_cache_image_release(struct ews_cache_image *image);

void ews_cache_release(struct ews_cache *cache);
EWS_CLEANUP_DEFINE(cache, struct ews_cache, ews_cache_release)
EWS_CLEANUP_DEFINE(cache_image, struct ews_cache_image, ews_cache_image_release)

#endif
