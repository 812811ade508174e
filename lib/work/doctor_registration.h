/*
 * Doctor, of registrations: entries of linked worktrees in the git directory that belong to no session any more.
 *
 * One goes when nothing is lost by it: git has all commits that it names under some ref, and its index is that of its HEAD. What
 * else there is, is a person's to look at.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_DOCTOR_REGISTRATION_H
#define EWS_WORK_DOCTOR_REGISTRATION_H

#include "work/checkup.h"

void ews_doctor_registrations(struct ews_checkup *out, const struct ews_patient *patient);

#endif
