/*
 * Options of start: how a session is made, for each verb that makes one.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_CMD_START_OPTS_H
#define EWS_CMD_START_OPTS_H

#include "base/opts.h"
#include "cmd/cmd.h"
#include "work/start.h"

#define EWS_START_OPTS_MAX 24

struct ews_start_settings {
	struct ews_start_opts start;
	const char *method, *sandbox, *nested, *keep_ignored; /* as they were given */
	bool is_worktree, deep, quick;
	char *location, *in; /* what `start` borrows */
};

#define EWS_START_SETTINGS_INIT { .start = { .uncommitted = -1, .untracked = -1 } }

/* Fill the table that reads a command line into `set`. */
void ews_start_opts_table(struct ews_opt out[EWS_START_OPTS_MAX], struct ews_start_settings *set);

/* Was any of them given? */
bool ews_start_opts_is_any(const struct ews_start_settings *set);

/* Make sense of the words that were given. Fails with EWS_EUSAGE or EWS_EUNSUPPORTED, before anything is opened. */
int ews_start_opts_settle(struct ews_start_settings *set);

/* Open the project, and take from its settings what no option says. */
int ews_start_opts_open(struct ews_start_settings *set, struct ews_cmd_ctx *ctx);

/* Make the session, with progress; say what did not come along. */
int ews_start_opts_run(struct ews_start_result *out, struct ews_start_settings *set, struct ews_cmd_ctx *ctx);

void ews_start_settings_release(struct ews_start_settings *set);
EWS_CLEANUP_DEFINE(start_settings, struct ews_start_settings, ews_start_settings_release)

#endif
