/*
 * Options of git diff: see diff_opts.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/diff_opts.h"

#include <string.h>

#include "base/error.h"

/* Records are made as if this were given. */
static bool is_default(const char *word)
{
	return !strcmp(word, "-M") || !strcmp(word, "--find-renames");
}

int ews_diff_opts_check(const struct ews_strv *selecting, const struct ews_strv *refused, bool is_ours)
{
	if (refused->n)
		return ews_error(EWS_EUSAGE, "'%s' is refused: it does more than shape the output",
				 refused->items[0]);
	for (size_t i = 0; is_ours && i < selecting->n; i++) {
		if (is_default(selecting->items[i]))
			continue;
		ews_error(EWS_EUSAGE, "'%s' is for what git prints, not for --json or --changes",
			  selecting->items[i]);
		ews_error_hint(
			"'-- <path>...' limits these; '--raw' or '--numstat -z' is git's own form for programs");
		return EWS_EUSAGE;
	}
	return 0;
}
