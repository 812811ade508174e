/*
 * Locks: how one who holds the lock, or waits for it, looks as a line and as JSON.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_CMD_RENDER_LOCK_H
#define EWS_CMD_RENDER_LOCK_H

#include "base/buf.h"
#include "base/json.h"
#include "work/holding.h"

/* "deep   session 'try'  5 minutes  fix the parser", and a newline. */
void ews_render_lock_line(struct ews_buf *out, const struct ews_holding *holding);
/* A new object; the caller frees it. */
cJSON *ews_render_lock_json(const struct ews_holding *holding);

#endif
