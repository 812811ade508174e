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
#include "work/lineage.h"

/* Add all keys of a snapshot that its commit tells. */
void ews_render_snapshot(cJSON *object, const struct ews_snapshot *snapshot);

/* Some lines, for people. */
void ews_render_snapshot_text(struct ews_buf *out, const struct ews_snapshot *snapshot);

/* Warn when the HEAD of what was taken is damaged. */
void ews_render_head_talk(const struct ews_cmd_ctx *ctx, const struct ews_snapshot *snapshot);

/* A line each: how they descend, drawn; id, age, size, changes against the parent, subject. */
void ews_render_snapshot_tree(struct ews_buf *out, const struct ews_snapshots *list,
			      const struct ews_lineage *lineage);
/* What a list says besides: age, and the next ancestor in it with what differs from that. */
void ews_render_descent(cJSON *object, const struct ews_snapshots *list, const struct ews_descent *descent);

/* "<mode> <type> <size> <path>" a line, the blanks being tabs. */
void ews_render_file_lines(struct ews_cmd_ctx *ctx, const struct ews_entries *entries);
/* Add the array "files". */
void ews_render_files(cJSON *object, const struct ews_entries *entries);

/* What is held, by its kind, and what the reasons for leaving out mean: the object "held", and talk. */
void ews_render_held(cJSON *object, const struct ews_content *content);
void ews_render_held_talk(const struct ews_cmd_ctx *ctx, const struct ews_content *content);

/* "sha256:<hex>\t<path>" a line. */
int ews_render_hash_lines(struct ews_cmd_ctx *ctx, const struct ews_entries *entries);
/* Add "file_hashes", an object of path to hash; `file_hashes_bytes` has the paths that are not UTF-8, in base64. */
int ews_render_hashes(cJSON *object, struct ews_repo *repo, const struct ews_entries *entries);

#endif
