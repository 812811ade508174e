/*
 * What is to be applied: what its sources did, and the project that it is done to.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_APPLY_READ_H
#define EWS_WORK_APPLY_READ_H

#include "work/apply_plan.h"

/*
 * Read what sessions and snapshots say was done, and which paths patches speak of; then the project. Fails with EWS_ENOTFOUND on a path
 * that is asked for and is nowhere.
 */
int ews_apply_read(struct ews_apply_plan *plan, const struct ews_apply_source *sources);
/* Read what the patch of `work` says, done to `now`, whose tree is `tree`. Where it can't be done the plan is refused. */
int ews_apply_read_patch(struct ews_apply_plan *plan, struct ews_apply_work *work, const struct ews_oid *tree,
			 const struct ews_entries *now);

#endif
