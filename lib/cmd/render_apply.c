/*
 * Applying: see render_apply.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/render_apply.h"

#include "base/error.h"
#include "base/path.h"
#include "base/path_line.h"
#include "cmd/pager.h"
#include "cmd/render_diff.h"
#include "cmd/render_path.h"
#include "cmd/render_revert.h"
#include "work/undo_words.h"

/* The sentence for what was refused: the first paths by name. */
static int set_error(const struct ews_apply_result *result)
{
	const struct ews_strv *conflicts = &result->merge.conflicts;
	EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf quoted = EWS_BUF_INIT;
	const char *why = ews_path_line_split(&path, conflicts->items[0]);

	ews_path_quote(&quoted, path.ptr);
	if (conflicts->n == 1)
		(void)ews_error(EWS_ECONFLICT, "'%s' conflicts (%s): nothing was changed", quoted.ptr, why);
	else
		(void)ews_error(EWS_ECONFLICT, "%zu paths conflict, '%s' is one (%s): nothing was changed",
				conflicts->n, quoted.ptr, why);
	ews_error_hint(
		"%s",
		result->merge.is_blocked ? "no option writes there; '-- <path>' brings the other paths"
		: result->is_of_unknown
			? "a patch is merged by way of the files that it was made from, and it names none that are all here"
		: result->is_staging
			? "--index and --commit want no conflicts: --force takes it as it is and keeps what was there, --3way without them leaves markers in texts"
			: "--3way leaves markers in texts, --force takes it as it is and keeps what was there");
	return EWS_ECONFLICT;
}

static int refuse(struct ews_cmd_ctx *ctx, const struct ews_apply_result *result)
{
	EWS_CLEANUP(json) cJSON *object = NULL;
	cJSON *error;

	(void)set_error(result);
	if (!ctx->json) {
		ews_render_reasons_talk(ctx, "conflict", &result->merge.conflicts);
		return EWS_ECONFLICT;
	}
	object = ews_cmd_json_new("error");
	error = cJSON_AddObjectToObject(object, "error");
	ews_render_string(error, "code", ews_error_word(EWS_ECONFLICT));
	cJSON_AddItemToObject(error, "message", ews_json_path(ews_error_message()));
	ews_render_string(error, "hint", ews_error_hint_text());
	ews_render_reasons(object, "conflicts", "why", &result->merge.conflicts);
	ews_cmd_json_show(ctx, object);
	ews_error_clear();
	return 1;
}

static int show_json(struct ews_cmd_ctx *ctx, const struct ews_apply_result *result, bool check)
{
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("apply");
	int rc;

	(void)cJSON_AddBoolToObject(object, "dry_run", check);
	(void)cJSON_AddBoolToObject(object, "applied", result->undo != NULL);
	ews_render_reasons(object, "conflicts", "why", &result->merge.conflicts);
	(void)cJSON_AddBoolToObject(object, "stale", result->stale.n);
	ews_render_sentences(object, "stale_reasons", &result->stale);
	ews_render_reasons(object, "drift", "what", &result->merge.drift);
	ews_render_reasons(object, "left_out", "why", &result->merge.left_out);
	ews_render_reasons(object, "kept", "why", &result->put.kept);
	ews_render_paths(object, "touched", &result->merge.touched);
	ews_render_string(object, "kept_snapshot", result->put.kept_snapshot);
	(void)cJSON_AddBoolToObject(object, "head_damaged", result->put.had_damaged_head);
	ews_render_string(object, "commit", result->commit);
	ews_render_string(object, "undo", result->undo);
	rc = ews_render_changes(object, ctx->repo, &result->diff, EWS_CHANGES_FILES);
	if (rc == 0)
		ews_cmd_json_show(ctx, object);
	return rc;
}

/* What a git tree tells nothing of comes all the same. */
static void add_unsaid(struct ews_cmd_ctx *ctx, const struct ews_strv *lines)
{
	for (size_t i = 0; i < lines->n; i++) {
		EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
		const char *what = ews_path_line_split(&path, lines->items[i]);

		/* Where a path ends is all that tells it from what is beside it. */
		if (ctx->nul) {
			ews_buf_addf(&ctx->out, "also: (%s) ", what);
			ews_buf_addz(&ctx->out, path.ptr);
			continue;
		}
		ews_buf_adds(&ctx->out, "also: ");
		ews_path_quote(&ctx->out, path.ptr);
		ews_buf_addf(&ctx->out, " (%s)\n", what);
	}
}

static int show_plan(struct ews_cmd_ctx *ctx, const struct ews_apply_result *result)
{
	char stat[] = "--stat=120", summary[] = "--summary", plain[] = "--no-color";
	char *const args[] = { stat, summary, plain, NULL };
	size_t i;
	int rc;

	if (!ctx->nul) {
		rc = ews_diff_collect(&ctx->out, &result->diff, ctx->repo, args, NULL);
		add_unsaid(ctx, &result->diff.not_in_patch);
		return rc < 0 ? rc : 0;
	}
	for (i = 0; i < result->merge.touched.n; i++)
		ews_cmd_add_path_line(ctx, result->merge.touched.items[i]);
	return 0;
}

/* What the person changed since, and what became of it. */
static void say_drift(const struct ews_cmd_ctx *ctx, const struct ews_strv *drift)
{
	size_t i;

	for (i = 0; i < drift->n && !ctx->json; i++) {
		EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
		EWS_CLEANUP(buf) struct ews_buf line = EWS_BUF_INIT;
		const char *what = ews_path_line_split(&path, drift->items[i]);

		ews_path_quote(&line, path.ptr);
		ews_buf_addf(&line, ": %s", what);
		ews_cmd_say("drift: ", line.ptr);
	}
}

static int show_text(struct ews_cmd_ctx *ctx, const struct ews_apply_result *result, bool check)
{
	bool color = ews_pager_color(ctx, "status");
	int rc;

	ews_render_reasons_talk(ctx, "conflict", &result->merge.conflicts);
	say_drift(ctx, &result->merge.drift);
	ews_render_reasons_talk(ctx, "left out", &result->merge.left_out);
	ews_render_reasons_talk(ctx, "moved to trash", &result->put.kept);
	if (result->put.had_damaged_head)
		ews_render_damaged_head_talk(ctx, result->put.kept_snapshot);
	if (!result->merge.touched.n) {
		ews_cmd_note(ctx, "there is nothing to apply");
		return 0;
	}
	if (check)
		return show_plan(ctx, result);
	ews_pager_paint(&ctx->out, color, result->merge.conflicts.n ? "33" : "32",
			result->merge.conflicts.n ? "!" : "✓");
	ews_buf_adds(&ctx->out, result->merge.conflicts.n ? " Applied, with conflicts\n" : " Applied\n");
	if (result->commit)
		ews_buf_addf(&ctx->out, "  Commit: %s\n", result->commit);
	rc = ews_render_changes_text(&ctx->out, ctx->repo, &result->diff, EWS_CHANGES_FILES, ctx->nul);
	add_unsaid(ctx, &result->diff.not_in_patch);
	return rc;
}

void ews_render_apply_way_back(struct ews_cmd_ctx *ctx, const struct ews_apply_result *result, bool check)
{
	EWS_CLEANUP(free) char *undo = ews_undo_words(ctx->repo, result->undo);

	if (!check && !result->is_refused && result->merge.touched.n)
		ews_cmd_note(ctx, "'%s' takes it back", undo);
}

int ews_render_apply(struct ews_cmd_ctx *ctx, const struct ews_apply_result *result, bool check)
{
	EWS_CLEANUP(free) char *undo = ews_undo_words(ctx->repo, result->undo);
	size_t i;
	int rc;

	for (i = 0; i < result->stale.n; i++)
		ews_cmd_note(ctx, "stale: %s", result->stale.items[i]);
	if (result->is_commit_unknown)
		ews_cmd_warn(ctx, "which commit was made can't be told: '%s' leaves the branch where it is", undo);
	if (result->is_refused)
		return refuse(ctx, result);
	rc = ctx->json ? show_json(ctx, result, check) : show_text(ctx, result, check);
	return rc < 0 ? rc : result->merge.conflicts.n > 0;
}
