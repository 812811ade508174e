/*
 * Differences: how totals and change records look, as text and as JSON.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_CMD_RENDER_DIFF_H
#define EWS_CMD_RENDER_DIFF_H

#include "base/buf.h"
#include "base/json.h"
#include "cmd/cmd.h"
#include "work/diff.h"

/* "3 files (+12 -4): 1 created, 2 modified", or "none". */
void ews_render_totals_text(struct ews_buf *out, const struct ews_diff *diff);

/* Add total_changes, additions, deletions, modifications, renames, lines_added, lines_deleted. */
void ews_render_totals(cJSON *object, const struct ews_diff *diff);

/* How much of the changes a verb shows: --changes. */
enum ews_changes_mode {
	EWS_CHANGES_SUMMARY = 0,
	EWS_CHANGES_FILES,
	EWS_CHANGES_DIFF,
	EWS_CHANGES_NONE,
};

/* What --changes=`word` says; NULL is the summary. Fails with EWS_EUSAGE. */
int ews_changes_mode(enum ews_changes_mode *out, const char *word);

/*
 * "Changes: 3 file(s) (+12 -4)."; with FILES and DIFF a line a file; with DIFF the patch behind a blank line. With `nul` a
 * file's counts come first, then its paths as they are, each with a NUL.
 */
int ews_render_changes_text(struct ews_buf *out, struct ews_repo *repo, const struct ews_diff *diff,
			    enum ews_changes_mode mode, bool nul);
/*
 * Say it on stderr, and then, unless `before` is NULL, what of it no patch can hold: "<before>: <path> (<what>)", but for those
 * lines that `said` has. Nothing with NONE. What can't be written there is no failure.
 */
int ews_render_changes_talk(const struct ews_cmd_ctx *ctx, const struct ews_diff *diff, enum ews_changes_mode mode,
			    const char *before, const struct ews_strv *said);
/*
 * Add the totals, not_in_patch[] and, but for NONE, the lists of files and "change_summary"; with FILES and DIFF the
 * records with the hashes of the contents, as "changes"; with DIFF the patch as "diff_text", whole and in each record, which
 * ews_diff_texts() was to give it before.
 */
int ews_render_changes(cJSON *object, struct ews_repo *repo, const struct ews_diff *diff, enum ews_changes_mode mode);

#endif
