/*
 * Comparing tripwires: what of a project came, went or is another. What we did ourselves, as we were told, is no difference.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_TRIPWIRE_COMPARE_H
#define EWS_WORK_TRIPWIRE_COMPARE_H

#include "work/tripwire.h"

/* What differs, a sentence each: "ref refs/heads/main moved from <id> to <id>", "config changed", ... Returns the number. */
int ews_tripwire_compare(struct ews_strv *out, const struct ews_tripwire *before, const struct ews_tripwire *after);
/* A thing that differs, by its lines: NULL is what was not there, or is not any more. */
typedef void ews_tripwire_difference_fn(void *payload, const char *before, const char *after);
/* Call `add` for each, in the order of ews_tripwire_compare(). */
void ews_tripwire_each_difference(const struct ews_tripwire *before, const struct ews_tripwire *after,
				  ews_tripwire_difference_fn *add, void *payload);

#endif
