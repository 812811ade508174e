/*
 * Runs: see render_run.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/render_run.h"

#include <string.h>

#include "base/error.h"
#include "cmd/render_path.h"
#include "cmd/render_snapshot.h"
#include "work/pending.h"

static void talk_of_changes(const struct ews_run_result *result)
{
	size_t i;

	for (i = 0; i < result->changed.n; i++) {
		const char *sentence = result->changed.items[i];
		EWS_CLEANUP(buf) struct ews_buf line = EWS_BUF_INIT;

		ews_buf_addf(&line, "the project changed while the command ran: %s", sentence);
		ews_cmd_say("error: ", line.ptr);
		if (*result->commands.items[i])
			ews_cmd_say("hint: ", result->commands.items[i]);
	}
}

void ews_render_run_talk(const struct ews_cmd_ctx *ctx, const struct ews_run_result *result, bool is_reaped)
{
	size_t i;

	if (result->has_timed_out)
		ews_cmd_warn(ctx, "the command was ended: its time ran out");
	for (i = 0; i < result->left_behind.n; i++)
		ews_cmd_warn(ctx, is_reaped ? "left behind, and ended: %s" : "left behind: %s",
			     result->left_behind.items[i]);
	if (result->log)
		ews_cmd_note(ctx, "the log is %s", result->log);
	if (result->output_flaw)
		ews_cmd_warn(ctx, "what the command printed did not all arrive: %s", result->output_flaw);
	if (result->log_flaw)
		ews_cmd_warn(ctx, "the log is not complete: %s", result->log_flaw);
	if (result->findings_flaw)
		ews_cmd_warn(ctx, "the findings wait to be taken over: %s", result->findings_flaw);
	if (!ctx->json)
		talk_of_changes(result);
}

int ews_render_outcome_talk(const struct ews_cmd_ctx *ctx, const struct ews_run_outcome *outcome,
			    enum ews_changes_mode mode)
{
	const struct ews_strv said = EWS_STRV_INIT;

	ews_render_skips_talk(ctx, &outcome->skips);
	ews_render_head_talk(ctx, &outcome->snapshot);
	if (ctx->json)
		return 0;
	if (ews_render_changes_talk(ctx, &outcome->diff, mode, "not in the patch", &said) < 0)
		ews_error_clear(); /* what is kept is kept */
	if (outcome->patch)
		ews_cmd_note(ctx, "the patch is %s", outcome->patch);
	return 0;
}

/* What the guard wrote of a command, without what it says to a log. */
static void add_blocked(cJSON *object, const struct ews_strv *lines)
{
	cJSON *array = cJSON_AddArrayToObject(object, "blocked");
	size_t i;

	for (i = 0; i < lines->n; i++) {
		cJSON *item = NULL;

		if (ews_json_parse(&item, lines->items[i], strlen(lines->items[i])) < 0) {
			ews_error_clear();
			continue;
		}
		cJSON_DeleteItemFromObject(item, "schema");
		cJSON_DeleteItemFromObject(item, "verb");
		cJSON_AddItemToArray(array, item);
	}
}

void ews_render_run(cJSON *object, const struct ews_run_result *result)
{
	ews_json_add_int(object, "status", result->status);
	(void)cJSON_AddBoolToObject(object, "timed_out", result->has_timed_out);
	if (result->log)
		ews_json_add_path(object, "log", result->log);
	else
		(void)cJSON_AddNullToObject(object, "log");
	ews_render_string(object, "log_flaw", result->log_flaw);
	ews_render_string(object, "output_flaw", result->output_flaw);
	ews_render_string(object, "findings_flaw", result->findings_flaw);
	add_blocked(object, &result->blocked);
	ews_render_sentences(object, "left_behind", &result->left_behind);
	(void)cJSON_AddBoolToObject(object, "project_changed", result->changed.n > 0);
	ews_render_sentences(object, "drift", &result->changed);
	ews_render_sentences(object, "commands", &result->commands);
}

int ews_render_outcome(cJSON *object, struct ews_repo *repo, struct ews_run_outcome *outcome,
		       enum ews_changes_mode mode)
{
	int rc;

	ews_render_string(object, "snapshot_id", outcome->has_snapshot ? outcome->snapshot.id : NULL);
	if (outcome->patch)
		ews_json_add_path(object, "patch", outcome->patch);
	else
		(void)cJSON_AddNullToObject(object, "patch");
	ews_render_skips(object, &outcome->skips);
	if (mode == EWS_CHANGES_NONE) {
		(void)cJSON_AddNullToObject(object, "changes");
		return 0;
	}
	rc = mode == EWS_CHANGES_DIFF ? ews_diff_texts(&outcome->diff, repo) : 0;
	return rc < 0 ? rc
		      : ews_render_changes(cJSON_AddObjectToObject(object, "changes"), repo, &outcome->diff, mode);
}

void ews_render_decision_talk(const struct ews_cmd_ctx *ctx, const struct ews_completion *completion, const char *id)
{
	EWS_CLEANUP(free) char *name = NULL;

	if (completion->decision == EWS_DECISION_PENDING)
		name = ews_pending_next_name(ctx->repo, id);
	if (completion->decision == EWS_DECISION_ACCEPTED)
		ews_cmd_note(ctx, "ews.hook.complete accepted the result: it is applied to the project");
	else if (completion->decision == EWS_DECISION_REJECTED)
		ews_cmd_note(ctx, "ews.hook.complete rejected the result: it goes to trash");
	else if (completion->decision == EWS_DECISION_PENDING)
		ews_cmd_note(ctx, "%s: it is pending; 'git ews pending apply %s' or 'drop' decides",
			     completion->is_refused ? "the result was accepted, but can't be applied any more"
			     : completion->signo
				     ? "a signal came while ews.hook.complete was to decide about the result"
				     : "ews.hook.complete left the result undecided",
			     name);
}
