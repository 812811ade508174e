/*
 * Doctor, of the system: which git there is, what the kernel can do, and whether that is enough for this project.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_DOCTOR_SYSTEM_H
#define EWS_WORK_DOCTOR_SYSTEM_H

#include "work/checkup.h"

void ews_doctor_system(struct ews_checkup *out, const struct ews_patient *patient);

#endif
