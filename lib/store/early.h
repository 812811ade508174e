/*
 * Early: a directory is rechecked while its caller still finds out what he wants to know of it.
 *
 * Before a verb looks at a workspace it reads settings, states and refs, on one processor. What is asked of most files is
 * known before that: whether they stand as the stat cache has them (store/recheck). What they are compared with, and whether
 * the cache is of use at all, is seen afterwards.
 *
 * Who changes the directory, or waits for others to stop changing it, looks after that. The cache may be read before: it
 * takes a while, and what another one does meanwhile is seen when the files are looked at.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_EARLY_H
#define EWS_STORE_EARLY_H

#include "store/recheck.h"

struct ews_early_opts {
	int root_fd; /* what is rechecked; ours from now on */
	bool is_plain; /* as in struct ews_recheck_opts, as is the next one */
	uint64_t max_file_bytes;
};

/* What was found. */
struct ews_early_found {
	struct ews_cache cache; /* as it was read, and as ews_recheck() leaves it; empty where there is none */
	struct ews_touched touched;
	enum ews_recheck answer; /* of a cache that is not whole: EWS_RECHECK_OTHER */
	int64_t started_s; /* as of a scan */
	uint32_t started_ns;
};

#define EWS_EARLY_FOUND_INIT { .cache = EWS_CACHE_INIT, .touched = EWS_TOUCHED_INIT, .answer = EWS_RECHECK_OTHER }

/*
 * Begin to read the cache `name`, which outlives it, of the directory `cache_fd`, which is borrowed until the end. The caller
 * frees it with ews_early_end(), or ews_early_free().
 */
struct ews_early *ews_early_read(int cache_fd, const char *name);

/* From now on the directory may be looked at. To be called once. */
void ews_early_look(struct ews_early *early, const struct ews_early_opts *opts);

/* May it be looked at already? */
bool ews_early_looks(const struct ews_early *early);

/* Is it the directory that `root_fd` is open on? No: perhaps none is looked at yet. */
bool ews_early_is_of(const struct ews_early *early, int root_fd);

/* Wait for it, with all threads that there are. What `out` has then is the caller's: the cache alone where none looked. */
void ews_early_end(struct ews_early *early, struct ews_early_found *out);

/* Nobody wants to know any more: it stops. */
void ews_early_free(struct ews_early *early);

void ews_early_found_release(struct ews_early_found *found);
EWS_CLEANUP_DEFINE(early_found, struct ews_early_found, ews_early_found_release)

#endif
