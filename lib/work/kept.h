/*
 * Kept: as which snapshot the entries of a stat cache were kept.
 *
 * It is remembered with them (struct ews_content, memo). Whoever finds them again, all or all but a few, need not look for
 * each content in the store, nor write anew what that snapshot has and the next one has as well.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_KEPT_H
#define EWS_WORK_KEPT_H

#include "store/cache.h"
#include "store/odb.h"

struct ews_kept {
	struct ews_oid commit; /* the snapshot's */
	const char *ref; /* that held it */
	uint8_t skips[EWS_CACHE_KEY_LEN]; /* digest of what it left out */
	uint8_t rest[EWS_CACHE_KEY_LEN]; /* digest of all that it has besides that and the entries */
	size_t n; /* entries */
	const uint8_t *named; /* those that git's index relies on; NULL: that is not known */
	struct ews_oid settled; /* a snapshot, perhaps another, that they were found to be as in all respects (work/settled); none: not known */
	uint8_t settled_git[EWS_CACHE_KEY_LEN]; /* digest of git's state then */
};

/*
 * Which of `n` entries git's index relies on, since it names their very content: a bit each, none of which is set in new
 * ones. What is returned is the caller's to free.
 */
uint8_t *ews_named_new(size_t n);
uint8_t *ews_named_copy(const uint8_t *named, size_t n);
void ews_named_add(uint8_t *named, size_t i);
void ews_named_remove(uint8_t *named, size_t i);
bool ews_named_has(const uint8_t *named, size_t i);

void ews_kept_format(struct ews_buf *out, const struct ews_kept *kept);
/* Read it again; it borrows what is in `memo`. False: that is something else, or nothing. */
bool ews_kept_parse(struct ews_kept *out, const struct ews_buf *memo);

/* Does the ref hold that snapshot still, and with it all that it has? 1: it does; below 0: it can't be read now. */
int ews_kept_is_held(const struct ews_kept *kept, struct ews_odb *odb);

#endif
