/*
 * git ews end: artifacts out, what differs into trash, the workspace away.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/path.h"
#include "base/shell_word.h"
#include "cmd/changes_opt.h"
#include "cmd/cmd.h"
#include "cmd/pager.h"
#include "cmd/progress.h"
#include "cmd/render_farewell.h"
#include "cmd/render_path.h"
#include "cmd/render_report.h"
#include "cmd/render_revert.h"
#include "cmd/render_run.h"
#include "work/completion.h"
#include "work/round_find.h"
#include "work/session_project.h"

static const char *const usage[] = {
	"git ews end [--pending] [--no-artifacts] [--split] [--force] [--no-revert] [--branch <name>]",
	"            [--changes <mode>] [--dry-run] [<session>...]",
	NULL,
};

struct settings {
	bool force, no_revert, dry_run, pending;
	bool no_artifacts;
	struct ews_farewell_opts artifacts;
	const char *branch;
	bool is_blocked; /* a session in place could not be put back, and goes on */
	bool color;
	bool is_one_of_many; /* several sessions were named */
	const char *changes_word;
	enum ews_changes_mode changes;
	cJSON *sessions, *drift; /* with --json */
};

/* Which changes --changes is about: the result against the base. */
static struct ews_changes_opt find_changes(const struct settings *set, struct ews_session *session,
					   const struct ews_end_result *result)
{
	struct ews_changes_opt changes = { .mode = set->changes,
					   .session = session,
					   /* Where its base is filed. */
					   .from = set->dry_run ? session->state.id : session->state.base_snapshot,
					   .to = set->dry_run ? "now" : result->kept_snapshot };

	/* Of what had ended before, goes on, or was gone, there is nothing to tell. */
	if (result->had_ended || result->is_gone || result->is_baseless || ews_end_is_blocked(result))
		changes.mode = EWS_CHANGES_NONE;
	return changes;
}

static void show_json(const struct ews_cmd_ctx *ctx, const struct settings *set, struct ews_session *session,
		      const struct ews_end_result *result, const struct ews_completion *completion)
{
	const struct ews_changes_opt changes = find_changes(set, session, result);
	cJSON *object = cJSON_CreateObject();
	size_t i;

	ews_render_string(object, "session_id", session->state.id);
	(void)cJSON_AddBoolToObject(object, "had_ended", result->had_ended);
	ews_render_string(object, "kept_snapshot", result->kept_snapshot);
	(void)cJSON_AddBoolToObject(object, "head_damaged", result->had_damaged_head);
	(void)cJSON_AddBoolToObject(object, "differs", result->differs);
	if (result->has_reverted) {
		cJSON *revert = cJSON_AddObjectToObject(object, "revert");

		ews_render_put(revert, &result->reverted.put);
		ews_render_sentences(revert, "ref_commands", &result->reverted.ref_commands);
	}
	(void)cJSON_AddBoolToObject(object, "ended", !ews_end_is_blocked(result) && !set->dry_run);
	(void)cJSON_AddBoolToObject(object, "pending", result->pending_name != NULL);
	ews_render_string(object, "pending_name", result->pending_name);
	ews_render_string(object, "decision", ews_decision_word(completion->decision));
	ews_render_string(object, "branch", result->branch_commit ? set->branch : NULL);
	ews_render_string(object, "commit", result->branch_commit);
	ews_render_reasons(object, "unfiltered", "filter", &result->branch_notes.unfiltered);
	ews_render_reasons(object, "left_out", "reason", &result->branch_notes.left_out);
	ews_render_string(object, "undo", result->undo);
	ews_render_farewell(object, &result->stored);
	ews_render_sentences(object, "drift", &result->drift);
	ews_render_reasons(object, "skipped", "reason", &result->skipped);
	ews_render_reasons(object, "kept_unfiltered", "filter", &result->unfiltered);
	ews_changes_opt_json(object, ctx, &changes);
	cJSON_AddItemToArray(set->sessions, object);
	for (i = 0; i < result->drift.n; i++)
		cJSON_AddItemToArray(set->drift, ews_json_path(result->drift.items[i]));
}

static const char *what_is_kept(const struct ews_session *session, const struct ews_end_result *result, bool dry_run)
{
	if (dry_run && result->differs)
		return "what differs from the base";
	if (result->kept_snapshot)
		return result->kept_snapshot;
	if (result->is_gone)
		return session->is_out_of_reach ? "nothing, for its work tree is out of reach"
		       : session->is_lost       ? "nothing, for it has no work tree any more"
						: "nothing, for the workspace is gone";
	if (result->differs)
		return "nothing, for no file differed from the base";
	return dry_run ? "nothing differs from the base" : "nothing differed from the base";
}

static void show_text(struct ews_cmd_ctx *ctx, const struct settings *set, struct ews_session *session,
		      const struct ews_end_result *result)
{
	struct ews_changes_opt changes = find_changes(set, session, result);
	EWS_CLEANUP(strv) struct ews_strv said = EWS_STRV_INIT;
	EWS_CLEANUP(free) char *top = ews_session_top(session);
	EWS_CLEANUP(free) char *project = ews_shell_shown(top);
	static const char *const committed[] = {
		[EWS_REMAINS_NO_WORK] = "",
		[EWS_REMAINS_WORK] = " with what was committed there",
		[EWS_REMAINS_WORK_LOST] = " without what was committed there, which can't be done to them",
	};
	const char *id = session->state.id;
	size_t i;

	if (result->branch_commit)
		ews_buf_addf(&ctx->out, "Branch: %s at %s\n", set->branch, result->branch_commit);
	ews_render_reasons_talk(ctx, "on the branch as it stands, its filter is not run",
				&result->branch_notes.unfiltered);
	ews_render_kept_talk(ctx, "not on the branch", &result->branch_notes.left_out);
	if (result->had_ended) {
		ews_cmd_note(ctx, "session '%s' has ended before", id);
		return;
	}
	if (result->has_reverted) {
		ews_render_put_text(&ctx->out, &result->reverted.put, "Revert", set->color);
		ews_render_put_talk(ctx, &result->reverted.put);
		ews_render_moved_talk(ctx, session->state.workspace, &result->reverted.put);
		ews_render_ref_commands_talk(ctx, &result->reverted.ref_commands);
	}
	if (ews_end_is_blocked(result))
		return;
	if (result->had_damaged_head)
		ews_render_damaged_head_talk(ctx, result->kept_snapshot);
	if (set->dry_run) {
		ews_buf_addf(&ctx->out, "would end: %s\n", id);
		ews_buf_addf(&ctx->out, "  Keep: %s\n", what_is_kept(session, result, true));
	} else {
		ews_pager_paint(&ctx->out, set->color, "32", "✓");
		ews_buf_addf(&ctx->out,
			     " Session Ended\n"
			     "  Session: %s\n"
			     "  Kept: %s\n",
			     id, what_is_kept(session, result, false));
		if (result->undo)
			ews_buf_addf(&ctx->out, "  Undo: git ews undo %s\n", id);
		if (result->pending_name)
			ews_buf_addf(&ctx->out, "  Pending: git ews pending show|apply|drop %s\n",
				     result->pending_name);
		ews_render_farewell_text(&ctx->out, &result->stored);
	}
	if (result->has_reverted && result->kept_snapshot)
		ews_render_reopening_talk(ctx, id);
	if (session->is_lost && !set->dry_run)
		ews_cmd_note(ctx, "its work tree is %s; its snapshots are kept, its base as %s",
			     ews_session_lost_word(session), session->state.base_snapshot);
	if (result->is_gone && result->kept_snapshot)
		ews_cmd_note(ctx, "the workspace was gone: kept are the base's files%s, its HEAD, index and commits",
			     committed[result->gone_work]);
	ews_render_reasons_talk(ctx, EWS_RENDER_KEPT_UNFILTERED, &result->unfiltered);
	if (result->is_baseless && session->method->is_project)
		ews_cmd_note(ctx, "its base was gone: the project is left as it is, and all of it is kept");
	else if (result->is_baseless)
		ews_cmd_note(ctx, "its base was gone: all that the workspace held is kept, and nothing compared");
	if (set->is_one_of_many && changes.mode != EWS_CHANGES_NONE)
		ews_cmd_note(ctx, "session '%s':", id);
	ews_strv_add_array(&said, result->skipped.items);
	ews_strv_add_array(&said, result->branch_notes.left_out.items);
	changes.unsaid = "not in the patch";
	changes.said = &said;
	ews_changes_opt_talk(ctx, &changes);
	for (i = 0; i < result->drift.n; i++)
		ews_cmd_say("drift: ", result->drift.items[i]);
	ews_render_kept_talk(
		ctx, session->method->is_project ? "not in the snapshot" : "not in the snapshot, but in trash",
		&result->skipped);
	if (!set->dry_run && !session->method->is_project && ews_path_is_inside(ctx->cwd, session->state.workspace))
		ews_cmd_note(ctx, "this directory is in trash now: cd %s", project);
}

/* Of a session that goes on the user's hook may have to say what becomes of its result. */
static int decide(struct ews_completion *completion, const struct ews_cmd_ctx *ctx, const struct settings *set,
		  struct ews_session *session)
{
	bool has_workspace = !session->is_lost && access(session->state.workspace, F_OK) == 0;
	int rc;

	if (set->dry_run || session->state.state == EWS_STATE_ENDED || !has_workspace)
		return 0;
	rc = ews_complete(completion, session, NULL, -1);
	if (rc < 0 && set->force) {
		ews_cmd_warn(ctx, "ews.hook.complete was not asked: %s", ews_error_message());
		ews_error_clear();
		return 0;
	}
	if (rc == 0)
		ews_render_decision_talk(ctx, completion, session->state.id);
	return rc;
}

/* What is asked for, and what the settings want. Returns 1 where they are stored, or 0. */
static int wants_artifacts(const struct settings *set, const struct ews_session *session)
{
	int rc = set->no_artifacts ? 0 : ews_farewell_is_wanted(session->repo);

	if (rc < 0)
		ews_error_hint("correct it, or end without report and patch: git ews end --no-artifacts %s",
			       session->state.id);
	return rc;
}

static int end_one(struct ews_cmd_ctx *ctx, struct settings *set, const char *name)
{
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	EWS_CLEANUP(end_result) struct ews_end_result result = EWS_END_RESULT_INIT;
	struct ews_completion completion = { .decision = EWS_DECISION_NONE };
	struct ews_progress progress;
	struct ews_end_opts opts = { .force = set->force,
				     .without_base = set->force,
				     .without_tree = set->force,
				     .dry_run = set->dry_run,
				     .no_revert = set->no_revert,
				     .pending = set->pending,
				     .branch = set->branch,
				     .progress = ews_progress_show,
				     .payload = &progress };
	int rc;

	rc = ews_cmd_open_session(&session, ctx, name, true);
	if (rc == 0 && !set->force)
		rc = ews_round_refuse(session.repo, session.state.id,
				      "; with 'git ews end --force' it goes to trash alone");
	if (rc < 0)
		return rc;
	/* What is set there holds, wherever the end is called. */
	rc = ews_session_stand_in_project(&session);
	if (rc == 0)
		rc = wants_artifacts(set, &session);
	if (rc < 0)
		return rc;
	opts.artifacts = rc ? &set->artifacts : NULL;
	rc = decide(&completion, ctx, set, &session);
	if (rc < 0)
		return rc;
	ews_completion_settle(&opts, &completion);
	ews_progress_init(&progress, ctx, "Ending the session");
	rc = ews_end(&result, &session, &opts);
	ews_progress_end(&progress);
	if (rc < 0)
		return rc;
	set->is_blocked = set->is_blocked || ews_end_is_blocked(&result);
	if (ctx->json)
		show_json(ctx, set, &session, &result, &completion);
	else
		show_text(ctx, set, &session, &result);
	return 0;
}

/* One of several that can't end: its error is at hand. It is named, and keeps the others from nothing. */
static void pass_by(struct ews_cmd_ctx *ctx, cJSON *not_ended, const char *id)
{
	const char *hint = ews_error_hint_text();
	cJSON *one = cJSON_CreateObject();

	ews_cmd_warn(ctx, "session '%s' has not ended: %s", id, ews_error_message());
	if (*hint)
		ews_cmd_note(ctx, "session '%s': %s", id, hint);
	(void)cJSON_AddStringToObject(one, "session_id", id);
	ews_json_add_path(one, "message", ews_error_message());
	ews_json_add_path(one, "hint", hint);
	(void)cJSON_AddItemToArray(not_ended, one);
	ews_error_clear();
}

/* Each of them. Returns 1 where one has not ended, or waits, else 0; fails where the only one does. */
static int end_all(struct ews_cmd_ctx *ctx, struct settings *set, const struct ews_strv *ids, cJSON *not_ended)
{
	for (size_t i = 0; i < ids->n; i++) {
		int rc = end_one(ctx, set, ids->items[i]);

		if (rc < 0 && ids->n == 1)
			return rc;
		if (rc < 0)
			pass_by(ctx, not_ended, ids->items[i]);
	}
	return set->is_blocked || cJSON_GetArraySize(not_ended) > 0;
}

static int run(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(strv) struct ews_strv ids = EWS_STRV_INIT;
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("end");
	struct settings set = { .sessions = cJSON_AddArrayToObject(object, "sessions"),
				.drift = cJSON_AddArrayToObject(object, "drift"),
				.artifacts = { .render = ews_render_report } };
	const struct ews_opt opts[] = {
		EWS_OPT_BOOL('f', "force", &set.force, "although a process uses the workspace"),
		EWS_OPT_BOOL(0, "no-revert", &set.no_revert, "in place: leave the project as it is"),
		EWS_OPT_STRING(0, "branch", &set.branch, "name",
			       "leave the result as a branch on the commit it began with"),
		EWS_OPT_BOOL(0, "pending", &set.pending, "keep the result until it is decided upon"),
		EWS_OPT_BOOL(0, "no-artifacts", &set.no_artifacts, "store no report, patch, tests and logs"),
		EWS_OPT_BOOL(0, "split", &set.artifacts.split, "store a patch for each file, not one of all"),
		EWS_CHANGES_OPT(&set.changes_word),
		EWS_OPT_BOOL('n', "dry-run", &set.dry_run, "say what would be kept, and do nothing"),
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = { .usage = usage, .opts = opts, .max_words = SIZE_MAX };
	int rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	if (set.no_artifacts && set.artifacts.split)
		return ews_error(EWS_EUSAGE, "--no-artifacts and --split exclude each other");
	set.color = ews_pager_color(ctx, "status");
	rc = ews_changes_opt_read(&set.changes, ctx, set.changes_word);
	if (rc == 0)
		rc = ews_cmd_session_ids(&ids, ctx, &args.words);
	set.is_one_of_many = ids.n > 1;
	if (rc == 0 && set.branch && ids.n > 1)
		rc = ews_error(EWS_EUSAGE, "--branch is for one session");
	if (rc == 0)
		rc = end_all(ctx, &set, &ids, cJSON_AddArrayToObject(object, "not_ended"));
	(void)cJSON_AddBoolToObject(object, "dry_run", set.dry_run);
	if (rc >= 0 && ctx->json)
		ews_cmd_json_show(ctx, object);
	return rc;
}

const struct ews_cmd ews_cmd_end = { "end", "keep what differs, take the workspace away", run };
