/*
 * Options of the verbs that prune: how many stay, and which are too young.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_CMD_PRUNE_OPTS_H
#define EWS_CMD_PRUNE_OPTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/opts.h"

struct ews_prune_settings {
	const char *keep, *older_than; /* as they were given */
	bool dry_run;
	size_t keep_n; /* the newest that stay; once it is settled */
	int64_t before_s; /* what is younger stays */
};

#define EWS_PRUNE_SETTINGS_INIT { .before_s = INT64_MAX }

/* The rows of an option table. `of`: of what each the newest stay; `gone`: what becomes of the others. */
#define EWS_PRUNE_OPTS(set, of, gone)                                                  \
	EWS_OPT_STRING(0, "keep", &(set)->keep, "n", "keep the newest n of each " of), \
		EWS_OPT_STRING(0, "older-than", &(set)->older_than, "age",             \
			       "keep those younger than 90m, 12h, 3d, 2w"),            \
		EWS_OPT_BOOL('n', "dry-run", &(set)->dry_run, "list what would be " gone)

/* Make sense of the words that were given. Fails with EWS_EUSAGE and `hint` when nothing says what is to go. */
int ews_prune_opts_settle(struct ews_prune_settings *set, const char *hint);

#endif
