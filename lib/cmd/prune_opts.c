/*
 * Options of the verbs that prune: see prune_opts.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/prune_opts.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "cmd/cmd.h"

int ews_prune_opts_settle(struct ews_prune_settings *set, const char *hint)
{
	int64_t age_s = 0;
	char *end;
	int rc;

	if (!set->keep && !set->older_than) {
		(void)ews_error(EWS_EUSAGE, "nothing says what is to go");
		ews_error_hint("%s", hint);
		return EWS_EUSAGE;
	}
	if (set->keep) {
		set->keep_n = strtoul(set->keep, &end, 10);
		if (*set->keep < '0' || *set->keep > '9' || *end)
			return ews_error(EWS_EUSAGE, "--keep takes a number, not '%s'", set->keep);
	}
	if (!set->older_than)
		return 0;
	rc = ews_cmd_age(&age_s, set->older_than);
	set->before_s = ews_clock_now() - age_s;
	return rc;
}
