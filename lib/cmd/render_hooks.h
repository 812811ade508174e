/*
 * Hooks: where they are installed, and what they can't stop.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_CMD_RENDER_HOOKS_H
#define EWS_CMD_RENDER_HOOKS_H

#include "base/buf.h"
#include "base/json.h"
#include "work/hooks.h"

/* As a paragraph, for people. */
void ews_render_hooks(struct ews_buf *out, const struct ews_hooks *hooks);
/* What hooks can't stop, likewise. */
void ews_render_hooks_limits_text(struct ews_buf *out);

/* Add the keys: scope, is_installed, is_effective, directory, config_files[], next, not_ours[], sessions_in_use[]. */
void ews_render_hooks_object(cJSON *object, const struct ews_hooks *hooks);
/* An object with these keys, as a member of `array`. */
void ews_render_hooks_item(cJSON *array, const struct ews_hooks *hooks);
/* Add not_stopped[]. */
void ews_render_hooks_limits(cJSON *object);

#endif
