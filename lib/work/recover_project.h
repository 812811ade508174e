/*
 * The project's own steps (apply, restore, drop) that were killed: finished, or taken back.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_RECOVER_PROJECT_H
#define EWS_WORK_RECOVER_PROJECT_H

#include "work/recover_transition.h"

/*
 * Settle all that are unfinished, under the project's lock. An apply whose commit was not made yet is taken back, all else is
 * finished. What is of another work tree is passed by, and what was of one that is gone stays as far as it came. Fails with EWS_EBUSY while somebody is at work there.
 */
int ews_recover_project(const struct ews_recovery *recovery);

#endif
