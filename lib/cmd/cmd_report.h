/*
 * The verbs of git ews report.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_CMD_CMD_REPORT_H
#define EWS_CMD_CMD_REPORT_H

#include "cmd/cmd.h"

/* report finding, and its verbs */
int ews_cmd_report_finding(struct ews_cmd_ctx *ctx, int argc, char **argv);

#endif
