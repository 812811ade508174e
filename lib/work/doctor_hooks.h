/*
 * Doctor, of hooks: whether those that git runs in the project would run in a workspace, too.
 *
 * git says nothing when a hooks directory is not there: it runs no hook, and commits.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_DOCTOR_HOOKS_H
#define EWS_WORK_DOCTOR_HOOKS_H

#include "work/checkup.h"

void ews_doctor_hooks(struct ews_checkup *out, const struct ews_patient *patient);

#endif
