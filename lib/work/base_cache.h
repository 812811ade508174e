/*
 * Base cache: the base of a session as it was read from the store, for the next verb that asks.
 *
 * Almost every verb of a session compares with its base. The manifest says all of it, but as a text of a hundred bytes a
 * file that has to be inflated, parsed and hashed. What came out of that lies in the session's directory,
 * as the file `base`; it is no more than a cache, and counts only for the very commit that it was made from.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_BASE_CACHE_H
#define EWS_WORK_BASE_CACHE_H

#include "work/content.h"

#define EWS_BASE_CACHE_FILE "base"

/* Of which base: its session, its commit, and the hash that it was made with. */
struct ews_base_id {
	const char *session;
	const struct ews_oid *commit;
	const char *hash;
};

/* Its content, if that was kept, perhaps without the bytes of git's index. 1 or 0. */
int ews_base_cache_read(struct ews_content *out, struct ews_repo *repo, const struct ews_base_id *base,
			bool without_index);

/* Keep it. What can't be kept will be read again. */
void ews_base_cache_write(const struct ews_content *content, struct ews_repo *repo, const struct ews_base_id *base);

#endif
