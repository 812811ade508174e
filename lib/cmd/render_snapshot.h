/*
 * Snapshots: how one looks as JSON, as a paragraph and as a line.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_CMD_RENDER_SNAPSHOT_H
#define EWS_CMD_RENDER_SNAPSHOT_H

#include "base/buf.h"
#include "base/json.h"
#include "cmd/cmd.h"
#include "store/entry.h"
#include "work/snapshot.h"

/* Add all keys of a snapshot that its commit tells. */
void ews_render_snapshot(cJSON *object, const struct ews_snapshot *snapshot);

/* Some lines, for people. */
void ews_render_snapshot_text(struct ews_buf *out, const struct ews_snapshot *snapshot);

/* A line each, in columns. */
void ews_render_snapshot_lines(struct ews_buf *out, const struct ews_snapshots *list);

/* "<mode> <type> <size> <path>" a line, the blanks being tabs. */
void ews_render_file_lines(struct ews_cmd_ctx *ctx, const struct ews_entries *entries);
/* Add the array "files". */
void ews_render_files(cJSON *object, const struct ews_entries *entries);

/* "sha256:<hex>\t<path>" a line. */
int ews_render_hash_lines(struct ews_cmd_ctx *ctx, const struct ews_entries *entries);
/* Add "file_hashes", an object of path to hash; `file_hashes_bytes` has the paths that are not UTF-8, in base64. */
int ews_render_hashes(cJSON *object, struct ews_repo *repo, const struct ews_entries *entries);

#endif
