/*
 * Settings: how one looks as a line and as JSON, and how all look as a file to be filled in.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_CMD_RENDER_CONFIG_H
#define EWS_CMD_RENDER_CONFIG_H

#include "base/buf.h"
#include "base/json.h"
#include "store/config.h"

/* "superqode.yaml:3", "default", "command line", "environment"; a name that is no plain text is quoted, unless a `nul` ends it all. */
void ews_render_origin(struct ews_buf *out, const struct ews_config_entry *entry, bool nul);

/*
 * Add the keys of a setting to `object`: key, git_key, type, value (a list's is an array, an age is in
 * milliseconds or null for never), default, and origin, an array with a member for each value.
 */
void ews_render_setting(cJSON *object, const struct ews_setting *setting, const struct ews_config_entry *entries,
			size_t n);

/* superqode.yaml with each setting in it, as a comment that says what it is and what holds without it. */
void ews_render_config_file(struct ews_buf *out);

#endif
