/*
 * Rounds: see render_round.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/render_round.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/path.h"
#include "cmd/render_diff.h"
#include "cmd/render_path.h"
#include "work/round_find.h"
#include "work/rules.h"

#define FILES_SHOWN 3

void ews_round_problems_release(struct ews_round_problems *problems)
{
	ews_strv_release(&problems->lost);
	ews_strv_release(&problems->unread);
}

void ews_render_round_problem(struct ews_buf *out, struct ews_round_problems *damaged, const char *id)
{
	EWS_CLEANUP(free) char *name = ews_strfmt("ews/%s", id);
	bool is_passing = ews_errno_is_passing(ews_error_errno());
	struct ews_strv *lines = is_passing ? &damaged->unread : &damaged->lost;

	if (is_passing)
		(void)ews_error_wrap("can't be read just now");
	if (out) {
		ews_buf_adds(out, is_passing ? "" : "damaged: ");
		ews_render_words(out, ews_error_message());
	}
	ews_render_add_problem(lines, name);
	/* Whoever asks for text and JSON hears it twice. */
	ews_strv_unique(lines);
}

void ews_render_round_summary(struct ews_buf *out, struct ews_round_problems *damaged, struct ews_repo *repo,
			      const struct ews_round *round)
{
	EWS_CLEANUP(diff) struct ews_diff diff = EWS_DIFF_INIT;

	if (ews_round_compare(&diff, repo, round) < 0) {
		ews_render_round_problem(out, damaged, round->id);
		return;
	}
	ews_buf_addf(out, "%zu file(s) (+%" PRIu64 "/-%" PRIu64 ")", diff.n, diff.lines_added, diff.lines_deleted);
	for (size_t i = 0; i < diff.n && i < FILES_SHOWN; i++) {
		ews_buf_adds(out, i ? ", " : ": ");
		ews_path_quote(out, diff.items[i].path);
	}
	if (diff.n > FILES_SHOWN)
		ews_buf_adds(out, ", ...");
}

const char *ews_render_round_state(const struct ews_round *round)
{
	if (round->is_open)
		return "open";
	return ews_oid_is_none(&round->tip) ? "gone" : "ended";
}

void ews_render_round(cJSON *object, struct ews_round_problems *damaged, struct ews_repo *repo,
		      const struct ews_round *round, bool with_agent)
{
	EWS_CLEANUP(free) char *name = ews_strfmt("ews/%s", round->id);
	EWS_CLEANUP(diff) struct ews_diff diff = EWS_DIFF_INIT;
	EWS_CLEANUP(json) cJSON *changes = cJSON_CreateObject();
	char hex[EWS_OID_HEX_MAX];

	ews_render_string(object, "round", name);
	ews_render_string(object, "state", ews_render_round_state(round));
	ews_render_string(object, "label", *round->label ? round->label : round->alias);
	if (with_agent) {
		ews_render_string(object, "agent", round->agent);
		ews_render_string(object, "team", round->team);
	}
	ews_render_string(object, "base", round->base);
	ews_render_string(object, "commit", ews_oid_is_none(&round->tip) ? NULL : ews_oid_hex(hex, &round->tip));
	ews_render_string(object, "branch", round->is_branched ? round->branch : NULL);
	ews_render_time(object, "created_at", round->created_s);
	if (ews_round_compare(&diff, repo, round) == 0 &&
	    ews_render_changes(changes, repo, &diff, EWS_CHANGES_SUMMARY) == 0) {
		/* The two commits don't tell of what neither can hold: the end alone knows. */
		cJSON_DeleteItemFromObject(changes, "not_in_patch");
		cJSON_AddItemToObject(object, "changes", ews_steal(&changes));
		return;
	}
	(void)cJSON_AddNullToObject(object, "changes");
	ews_render_round_problem(NULL, damaged, round->id);
}

/* What shows a round's work, where the agent is. */
static char *command_of(const struct ews_round *round, const struct ews_render_team *team)
{
	if (team->is_private)
		return ews_strfmt("git ews round diff ews/%s", round->id);
	return ews_strfmt("git diff %s ews/%s", round->base, round->id);
}

void ews_render_peers(struct ews_buf *out, struct ews_repo *repo, const struct ews_render_team *team,
		      const char *indent)
{
	for (size_t i = 0; i < team->n; i++) {
		const struct ews_round *round = team->peers[i];
		EWS_CLEANUP(free) char *command = command_of(round, team);

		ews_buf_addf(out, "%s%s: ews/%s  ", indent, *round->label ? round->label : round->alias, round->id);
		ews_render_round_summary(out, team->damaged, repo, round);
		ews_buf_addf(out, "%s\n    %s\n", round->is_open ? "  (at work)" : "", command);
	}
}

void ews_render_peers_json(cJSON *array, struct ews_repo *repo, const struct ews_render_team *team)
{
	for (size_t i = 0; i < team->n; i++) {
		EWS_CLEANUP(free) char *command = command_of(team->peers[i], team);
		EWS_CLEANUP(buf) struct ews_buf summary = EWS_BUF_INIT;
		cJSON *object = cJSON_CreateObject();

		cJSON_AddItemToArray(array, object);
		ews_render_round(object, team->damaged, repo, team->peers[i], false);
		ews_render_round_summary(&summary, team->damaged, repo, team->peers[i]);
		ews_json_add_text(object, "summary", summary.ptr, summary.len);
		ews_render_string(object, "command", command);
	}
}

void ews_render_prompt(struct ews_buf *out, struct ews_repo *repo, const struct ews_render_team *team)
{
	ews_buf_adds(out, "## Workspace\n");
	if (team->own && team->own->is_open)
		ews_buf_addf(out,
			     "\nYour work is on `ews/%s`. All changes in this directory are committed there when your "
			     "round ends; you need not commit.\n",
			     team->own->id);
	else if (team->own)
		ews_buf_addf(out, "\nYour last work is on `ews/%s`.\n", team->own->id);
	if (team->n) {
		ews_buf_adds(out, "\nOthers' work, and what shows it:\n");
		ews_render_peers(out, repo, team, "- ");
	}
	ews_buf_adds(out, "\nScratch: `" EWS_SCRATCH "/` is for experiments and notes, `" EWS_SCRATCH
			  "/verification/` for scripts that check your work. "
			  "It is in no diff and no commit, and is archived when the round ends.\n");
	if (!team->archives->n)
		return;
	ews_buf_adds(out, "Look at the scratch of earlier rounds in:\n");
	for (size_t i = 0; i < team->archives->n; i++)
		ews_buf_addf(out, "- %s\n", team->archives->items[i]);
}

/* Each line once, though two lists have it. */
static void talk_of_left_out(struct ews_cmd_ctx *ctx, const struct ews_round_end_result *result, bool is_one_of_many)
{
	EWS_CLEANUP(strv) struct ews_strv lines = EWS_STRV_INIT;

	ews_strv_add_array(&lines, result->ended.branch_notes.left_out.items);
	ews_strv_leave_out(&lines, &result->ended.skipped);
	ews_strv_add_array(&lines, result->ended.skipped.items);
	if (is_one_of_many && lines.n)
		ews_cmd_note(ctx, "round 'ews/%s':", result->round.id);
	ews_render_kept_talk(ctx, result->is_in_place ? "not in the commit" : "not in the commit, but in trash",
			     &lines);
}

void ews_render_round_end_talk(struct ews_cmd_ctx *ctx, const struct ews_round_end_result *result, bool is_one_of_many)
{
	for (size_t i = 0; i < result->notes.n; i++)
		ews_cmd_note(ctx, "%s", result->notes.items[i]);
	ews_render_reasons_talk(ctx, "in the commit as it stands, its filter is not run",
				&result->ended.branch_notes.unfiltered);
	ews_render_reasons_talk(ctx, EWS_RENDER_KEPT_UNFILTERED, &result->ended.unfiltered);
	talk_of_left_out(ctx, result, is_one_of_many);
	ews_render_reasons_talk(
		ctx, result->is_in_place ? "not in the scratch archive" : "not in the scratch archive, but in trash",
		&result->left_out);
	for (size_t i = 0; i < result->ended.drift.n; i++)
		ews_cmd_say("drift: ", result->ended.drift.items[i]);
}

void ews_render_round_end(cJSON *object, const struct ews_round_end_result *result)
{
	(void)cJSON_AddBoolToObject(object, "committed", result->has_committed);
	ews_render_string(object, "scratch_archive", result->round.archive);
	ews_render_reasons(object, "unfiltered", "filter", &result->ended.branch_notes.unfiltered);
	ews_render_reasons(object, "left_out", "reason", &result->ended.branch_notes.left_out);
	ews_render_reasons(object, "skipped", "reason", &result->ended.skipped);
	ews_render_reasons(object, "kept_unfiltered", "filter", &result->ended.unfiltered);
	ews_render_reasons(object, "not_archived", "reason", &result->left_out);
	ews_render_sentences(object, "drift", &result->ended.drift);
	ews_render_sentences(object, "notes", &result->notes);
	ews_render_string(object, "undo", result->ended.undo);
}
