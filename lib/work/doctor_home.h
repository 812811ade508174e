/*
 * Doctor, of home: whose it is and who may look into it, where it lies, what room there is; and locks that nobody holds.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_DOCTOR_HOME_H
#define EWS_WORK_DOCTOR_HOME_H

#include "work/checkup.h"

/* Is there a directory of a project that does not say whose it is? What it has records of looks as if there were none. */
bool ews_doctor_home_is_unread(const char *home);

void ews_doctor_home(struct ews_checkup *out, const struct ews_patient *patient);

#endif
