/*
 * Choosing: which hunks are wanted, told as numbers or asked for on the terminal.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_CMD_CHOOSE_H
#define EWS_CMD_CHOOSE_H

#include "cmd/cmd.h"
#include "work/hunk.h"

struct ews_choosing {
	struct ews_cmd_ctx *ctx;
	const struct ews_strv *wanted; /* "<file>:<n>[,<n>...]", files seen from the current directory */
};

/* The files that `wanted` names, as paths of the project. Fails with EWS_EUSAGE where it names none. */
int ews_choose_files(struct ews_strv *out, const struct ews_choosing *how);

/* For ews_apply(): the hunks that `wanted` names. A file without changes, or a number too high, is an error. */
int ews_choose_by_number(void *choosing, struct ews_hunks *hunks);

/* For ews_apply(): show each hunk and ask, as git add -p does. */
int ews_choose_by_asking(void *choosing, struct ews_hunks *hunks);

#endif
