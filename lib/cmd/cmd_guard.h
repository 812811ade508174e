/*
 * The verbs of git ews guard that have a file of their own.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_CMD_CMD_GUARD_H
#define EWS_CMD_CMD_GUARD_H

#include "cmd/cmd.h"

int ews_cmd_guard_install(struct ews_cmd_ctx *ctx, int argc, char **argv);
int ews_cmd_guard_uninstall(struct ews_cmd_ctx *ctx, int argc, char **argv);
int ews_cmd_guard_status(struct ews_cmd_ctx *ctx, int argc, char **argv);
int ews_cmd_guard_hook(struct ews_cmd_ctx *ctx, int argc, char **argv);

#endif
