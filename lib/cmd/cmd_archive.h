/*
 * git ews archive: what its verbs share.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_CMD_CMD_ARCHIVE_H
#define EWS_CMD_CMD_ARCHIVE_H

#include "cmd/cmd.h"
#include "work/archive.h"

/* Find home, and open the project that the command stands in, if any: archives need none. The caller frees `*home`. */
int ews_cmd_archive_begin(char **home, struct ews_cmd_ctx *ctx);

/* The file of the archive that `word` means. The caller frees it. */
int ews_cmd_archive_find(char **out, struct ews_cmd_ctx *ctx, const char *home, const char *word);

int ews_cmd_archive_create(struct ews_cmd_ctx *ctx, int argc, char **argv);
int ews_cmd_archive_extract(struct ews_cmd_ctx *ctx, int argc, char **argv);
int ews_cmd_archive_diff(struct ews_cmd_ctx *ctx, int argc, char **argv);

#endif
