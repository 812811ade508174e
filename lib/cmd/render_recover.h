/*
 * Recovery: the block that announces an interrupted session.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_CMD_RENDER_RECOVER_H
#define EWS_CMD_RENDER_RECOVER_H

#include "base/buf.h"
#include "base/json.h"
#include "base/strv.h"

void ews_render_incomplete(struct ews_buf *out, const char *id);

/* What was done, a sentence a line; and, about session `id` ("": the project), as an object that the caller frees. */
void ews_render_recovered_text(struct ews_buf *out, const struct ews_strv *done);
cJSON *ews_render_recovered_json(const char *id, const struct ews_strv *done);
cJSON *ews_render_not_recovered_json(const char *id, const char *why);

#endif
