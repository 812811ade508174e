/*
 * An apply is done: what it comes to is put into the project as one step, staged and committed where that is asked for, or all of it goes
 * back.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_APPLY_PUT_H
#define EWS_WORK_APPLY_PUT_H

#include "work/apply_plan.h"

/* Fails with EWS_ESTALE when the project changes meanwhile; then, as with other errors, it is as it was. */
int ews_apply_put(struct ews_apply_plan *plan);

#endif
