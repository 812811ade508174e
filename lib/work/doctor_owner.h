/*
 * Doctor, of owners: directories of ours in a project that keep its owner out.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_DOCTOR_OWNER_H
#define EWS_WORK_DOCTOR_OWNER_H

#include "work/checkup.h"

void ews_doctor_owners(struct ews_checkup *out, const struct ews_patient *patient);

#endif
