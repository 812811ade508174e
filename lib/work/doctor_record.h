/*
 * Doctor, of records: refs of ours and what they hold, sessions and what they need, steps.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_DOCTOR_RECORD_H
#define EWS_WORK_DOCTOR_RECORD_H

#include "work/checkup.h"

/* A ref that can't be read, one whose commit is no snapshot or lacks its manifest, one of which there is no record. */
void ews_doctor_refs(struct ews_checkup *out, const struct ews_patient *patient);

/* A session that can't be read, was interrupted, lacks its base, its workspace, or what links that to the store. */
void ews_doctor_sessions(struct ews_checkup *out, const struct ews_patient *patient);

/* A step whose record makes no sense. */
void ews_doctor_steps(struct ews_checkup *out, const struct ews_patient *patient);

#endif
