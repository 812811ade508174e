/*
 * Archives: how one looks, as a paragraph, a line and JSON.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_CMD_RENDER_ARCHIVE_H
#define EWS_CMD_RENDER_ARCHIVE_H

#include "cmd/cmd.h"
#include "work/archive.h"

#define EWS_MD5_HEX_MAX 33

/* Add all that is known of it to `object`; `md5` of the file, or NULL. */
void ews_render_archive(cJSON *object, const struct ews_archive *archive, const char *md5);

/* Add "matched_paths", files and links, and "other_paths" with the reason of each. */
void ews_render_archive_paths(cJSON *object, const struct ews_entries *entries, const struct ews_skips *skips);

void ews_render_archive_text(struct ews_buf *out, const struct ews_archive *archive, const char *md5,
			     const struct ews_skips *skips);
/* One of a list, whose longest name has `name_width` bytes; `md5` "": it was not asked for. */
void ews_render_archive_line(struct ews_buf *out, const struct ews_archive *archive, const char *md5,
			     size_t name_width);

/* A line a path: type and mode, size, time, path. */
void ews_render_archive_entries(struct ews_cmd_ctx *ctx, const struct ews_entries *entries);

#endif
