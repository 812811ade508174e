/*
 * git ews diff, for verbs that compare what has names of their own, with the same options.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_CMD_CMD_DIFF_H
#define EWS_CMD_CMD_DIFF_H

#include "cmd/cmd.h"

struct ews_diff_verb {
	const char *const *usage; /* NULL-ended */
	const struct ews_opt *opts; /* beside those of diff; NULL: none */
	size_t min_words;
	/* Put into `words` what they mean to diff, in the open project; NULL: they are diff's own. */
	int (*translate)(void *payload, struct ews_cmd_ctx *ctx, struct ews_strv *words);
	void *payload;
};

/* Run it. Gives an exit status, or below zero an error's code. */
int ews_cmd_diff_as(const struct ews_diff_verb *verb, struct ews_cmd_ctx *ctx, int argc, char **argv);

#endif
