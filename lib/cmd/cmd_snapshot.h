/*
 * The verbs of git ews snapshot that have a file of their own, and what these share.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_CMD_CMD_SNAPSHOT_H
#define EWS_CMD_CMD_SNAPSHOT_H

#include "cmd/cmd.h"
#include "work/snapshot.h"

int ews_cmd_snapshot_restore(struct ews_cmd_ctx *ctx, int argc, char **argv);
int ews_cmd_snapshot_verify(struct ews_cmd_ctx *ctx, int argc, char **argv);
int ews_cmd_snapshot_drop(struct ews_cmd_ctx *ctx, int argc, char **argv);
int ews_cmd_snapshot_prune(struct ews_cmd_ctx *ctx, int argc, char **argv);

/*
 * The snapshots that are meant where none is named: those of session `name`, else EWS_SNAPSHOTS_OF_ALL, else those of
 * the session that is implied or of the project itself; oldest first.
 */
int ews_cmd_snapshots(struct ews_snapshots *out, struct ews_cmd_ctx *ctx, const char *name, unsigned flags);

/* Warn of those that could not be read. */
void ews_cmd_snapshots_talk(const struct ews_cmd_ctx *ctx, const struct ews_snapshots *list);

#endif
