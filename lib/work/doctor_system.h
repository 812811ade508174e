/*
 * Doctor, of the system: which git there is, and what the kernel can do.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_DOCTOR_SYSTEM_H
#define EWS_WORK_DOCTOR_SYSTEM_H

#include "work/checkup.h"

void ews_doctor_system(struct ews_checkup *out);

#endif
