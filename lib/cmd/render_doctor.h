/*
 * What the doctor found, as text and as JSON.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_CMD_RENDER_DOCTOR_H
#define EWS_CMD_RENDER_DOCTOR_H

#include "base/json.h"
#include "work/doctor.h"

/* A line a check, in columns; below what was found, what mends it. */
void ews_render_doctor(struct ews_buf *out, const struct ews_checkup *checkup, bool color);

/* Add "checks" and "is_well". */
void ews_render_doctor_json(cJSON *object, const struct ews_checkup *checkup);

#endif
