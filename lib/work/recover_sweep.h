/*
 * What killed verbs left lying: files beside those that they were to replace, locks that nobody holds, entries of worktrees on
 * their way, half of what trash was letting go of.
 *
 * What somebody may still be at is left: he has locked it, or it is too young. Sweeping twice is as sweeping once.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_RECOVER_SWEEP_H
#define EWS_WORK_RECOVER_SWEEP_H

#include "store/repo.h"

/* Sweep all of `repo`, which has a directory in home. What can't be removed is found by the next one. */
int ews_recover_sweep(struct ews_repo *repo);

/* What no one project has: home itself, and what was to become a project's directory or store. */
void ews_recover_sweep_home(const struct ews_repo *repo);

#endif
