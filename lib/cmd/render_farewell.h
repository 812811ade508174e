/*
 * Farewells: what a session has left among the artifacts, as text and as JSON.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_CMD_RENDER_FAREWELL_H
#define EWS_CMD_RENDER_FAREWELL_H

#include "work/farewell.h"

/* Add "artifacts": { "id", "type", "path" } of each. */
void ews_render_farewell(cJSON *object, const struct ews_farewell *farewell);
/* A line for each kind: where it is, or how many there are. */
void ews_render_farewell_text(struct ews_buf *out, const struct ews_farewell *farewell);

#endif
