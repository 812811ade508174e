/*
 * git ews apply, for verbs that apply one thing which they know by name, with the same options.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_CMD_CMD_APPLY_H
#define EWS_CMD_CMD_APPLY_H

#include "cmd/cmd.h"
#include "work/apply.h"

/* The usage of the options. */
#define EWS_CMD_APPLY_USAGE                                                  \
	"    [--check] [--3way] [--index] [--commit [-m <text>]] [--force]", \
		"    [--prefix <dir>] [--patch | --hunks <file>:<n>[,<n>...]] [-- <path>...]"

struct ews_apply_verb {
	const char *const *usage; /* NULL-ended */
	/* Find what `word` means, in the open project; what `out` points at is the payload's. */
	int (*find)(void *payload, struct ews_apply_source *out, struct ews_cmd_ctx *ctx, const char *word);
	/* All of it was applied, without a conflict; NULL: nothing is to be done then. Gives 1 when it said what takes all of it back. */
	int (*settle)(void *payload, struct ews_cmd_ctx *ctx);
	void *payload;
};

/* `git ews apply` of one thing that the verb finds, with its options. Gives an exit status, or below zero an error's code. */
int ews_cmd_apply_one(const struct ews_apply_verb *verb, struct ews_cmd_ctx *ctx, int argc, char **argv);

#endif
