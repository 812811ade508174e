/*
 * Options of git diff: see diff_opts.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/diff_opts.h"

#include <string.h>

#include "base/error.h"
#include "cmd/pager.h"

/* Records are made as if this were given. */
static bool is_default(const char *word)
{
	return !strcmp(word, "-M") || !strcmp(word, "--find-renames");
}

/* `is_ours`: what is shown is not what git prints. */
static int check(const struct ews_strv *selecting, const struct ews_strv *refused, bool is_ours)
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

int ews_diff_opts_settle(struct ews_diff_settings *set, const struct ews_cmd_ctx *ctx)
{
	int rc = 0;

	set->changes = ctx->json ? EWS_CHANGES_FILES : EWS_CHANGES_DIFF;
	if (set->changes_word)
		rc = ews_changes_mode(&set->changes, set->changes_word);
	return rc < 0 ? rc : check(&set->selecting, &set->refused, ctx->json || set->changes != EWS_CHANGES_DIFF);
}

void ews_diff_opts_for_git(struct ews_strv *out, const struct ews_diff_settings *set, const struct ews_cmd_ctx *ctx)
{
	ews_strv_add_array(out, set->output.items);
	ews_strv_add_array(out, set->selecting.items);
	ews_strv_add(out, ews_pager_color(ctx, "diff") ? "--color=always" : "--no-color");
	if (ctx->nul)
		ews_strv_add(out, "-z");
}

void ews_diff_settings_release(struct ews_diff_settings *set)
{
	ews_strv_release(&set->output);
	ews_strv_release(&set->selecting);
	ews_strv_release(&set->refused);
}
