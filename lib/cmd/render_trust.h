/*
 * What a workspace can reach, as text and as JSON.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_CMD_RENDER_TRUST_H
#define EWS_CMD_RENDER_TRUST_H

#include "base/json.h"
#include "work/trust.h"

void ews_render_trust(struct ews_buf *out, const struct ews_trust *trust, bool color);
void ews_render_trust_json(cJSON *object, const struct ews_trust *trust);

#endif
