/*
 * Settled: a workspace that is known to be as a snapshot.
 *
 * A revert compares all that there is with a snapshot, times and names of one file and git's state included. Where it
 * finds nothing to do, and nothing to say, that is remembered with the stat cache. As long as the files are found as they were then,
 * and git's state is what it was, the next one has its answer, and need not read the snapshot.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_SETTLED_H
#define EWS_WORK_SETTLED_H

#include "work/content.h"

/* Was `session`'s workspace as the snapshot of `commit` when its stat cache was written? Nothing is looked at. */
bool ews_settled_was(const struct ews_session *session, const struct ews_oid *commit);

/* Is what was found as that snapshot, for certain? False says nothing. */
bool ews_settled_is(const struct ews_content *now, const struct ews_oid *commit);

/* What was found is as that snapshot: leave word of it, for the stat cache that is saved next. */
void ews_settled_note(struct ews_content *now, const struct ews_oid *commit);

#endif
