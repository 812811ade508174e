/*
 * What an apply comes to: the sources' work, one after the other, merged into the project's files.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_APPLY_MERGE_H
#define EWS_WORK_APPLY_MERGE_H

#include "work/apply_plan.h"

/* Let the plan's result say what the project comes to, and what is touched for that; or that it is refused. */
int ews_apply_merge(struct ews_apply_plan *plan);

#endif
