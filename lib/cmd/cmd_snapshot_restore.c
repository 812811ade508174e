/*
 * git ews snapshot restore: put a state back, into a session, a directory or the project.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "cmd/changes_opt.h"
#include "cmd/cmd_snapshot.h"
#include "cmd/progress.h"
#include "cmd/render_path.h"
#include "cmd/render_revert.h"
#include "work/restore_to.h"
#include "work/revert.h"
#include "work/undo_words.h"

static const char *const restore_usage[] = {
	"git ews snapshot restore [--force] [--owner] [--changes <mode>] [--dry-run] <snapshot>",
	"                         [<session> | --to <dir>] [-- <path>...]",
	NULL,
};

struct restore_settings {
	const char *to;
	bool force;
	struct ews_revert_opts put;
	struct ews_session session; /* into which it goes, where it is one */
	bool has_session;
	struct ews_strv only;
	struct ews_changes_opt changes;
};

static void release_settings(struct restore_settings *set)
{
	ews_changes_opt_release(&set->changes);
	ews_session_release(&set->session);
	ews_strv_release(&set->only);
}

EWS_CLEANUP_DEFINE(settings, struct restore_settings, release_settings)

/* A restore into the project overwrites what a person works on. */
static int ask_for_project(const struct ews_cmd_ctx *ctx, const struct restore_settings *set)
{
	EWS_CLEANUP(free) char *question = NULL;
	int rc;

	if (set->force || set->put.dry_run)
		return 0;
	question = ews_strfmt("put snapshot '%s' into the project '%s'?", set->put.to, ctx->repo->project);
	rc = ews_cmd_ask(question, "--force answers yes, --dry-run shows what would be done");
	if (rc != 0)
		return rc < 0 ? rc : 0;
	(void)ews_error(EWS_EDENIED, "nothing was restored");
	ews_error_hint("--force answers yes");
	return EWS_EDENIED;
}

static int restore_into(struct ews_revert_result *result, struct ews_cmd_ctx *ctx,
			const struct ews_snapshot *snapshot, const char *name, struct restore_settings *set,
			const struct ews_strv *paths)
{
	EWS_CLEANUP(free) char *to = set->to ? ews_path_absolute(ctx->cwd, set->to) : NULL;
	const char *root = to;
	int rc, has_session = 0;

	if (!to) {
		has_session = ews_cmd_open_session_or_project(&set->session, ctx, name, !set->put.dry_run);
		if (has_session < 0)
			return has_session;
		set->has_session = has_session;
		set->changes.session = has_session ? &set->session : NULL;
		root = has_session ? set->session.state.workspace : ctx->repo->project;
	}
	rc = ews_cmd_paths(&set->only, ctx, root, paths);
	if (rc < 0)
		return rc;
	set->put.only = ews_cmd_only(&set->only);
	set->changes.paths = set->only.n ? set->only.items : NULL;
	if (to)
		return ews_restore_to(result, ctx->repo, snapshot, to, set->force, &set->put);
	if (has_session)
		return ews_revert(result, &set->session, &set->put);
	rc = ask_for_project(ctx, set);
	return rc < 0 ? rc : ews_restore_project(result, ctx->repo, snapshot, &set->put);
}

static int show_restored(struct ews_cmd_ctx *ctx, const struct ews_revert_result *result,
			 const struct restore_settings *set)
{
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("restore");
	const struct ews_state *state = set->has_session ? &set->session.state : NULL;
	EWS_CLEANUP(free)
	char *undo = state ? ews_strfmt("git ews undo %s", state->id) : ews_undo_words(ctx->repo, result->undo);
	bool dry_run = set->put.dry_run;

	if (ctx->json) {
		(void)cJSON_AddBoolToObject(object, "dry_run", dry_run);
		ews_render_put(object, &result->put);
		ews_render_sentences(object, "ref_commands", &result->ref_commands);
		ews_render_string(object, "undo", result->undo);
		ews_changes_opt_json(object, ctx, &set->changes);
		ews_cmd_json_show(ctx, object);
	} else if (dry_run) {
		ews_render_put_plan(ctx, &result->put);
	} else {
		ews_render_revert_text(ctx, result, "Restore", state ? state->workspace : ctx->repo->project, undo);
	}
	if (!ctx->json)
		ews_changes_opt_talk(ctx, &set->changes);
	return dry_run || result->put.is_verified ? 0 : 1;
}

int ews_cmd_snapshot_restore(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(snapshot) struct ews_snapshot snapshot = EWS_SNAPSHOT_INIT;
	EWS_CLEANUP(revert_result) struct ews_revert_result result = EWS_REVERT_RESULT_INIT;
	struct ews_progress progress;
	EWS_CLEANUP(settings)
	struct restore_settings set = {
		.put = { .verb = "restore", .progress = ews_progress_show, .payload = &progress },
		.session = EWS_SESSION_INIT,
		.only = EWS_STRV_INIT,
	};
	struct ews_changes_counting counting = { ctx, &set.changes };
	const char *changes_word = NULL;
	const struct ews_opt opts[] = {
		EWS_OPT_STRING(0, "to", &set.to, "dir", "into that directory, made when missing"),
		EWS_OPT_BOOL('f', "force", &set.force,
			     "into the project without asking; into a directory that is not empty"),
		EWS_OPT_BOOL(0, "owner", &set.put.owners, "owner and group as well, where that is permitted"),
		EWS_CHANGES_OPT(&changes_word),
		EWS_OPT_BOOL('n', "dry-run", &set.put.dry_run, "list what would be done"),
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = {
		.usage = restore_usage,
		.opts = opts,
		.min_words = 1,
		.max_words = 2,
		.takes_paths = true,
		.prints_paths = true,
	};
	int rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	if (set.to && args.words.n > 1)
		return ews_error(EWS_EUSAGE, "--to takes no session");
	rc = ews_changes_opt_read(&set.changes.mode, ctx, changes_word);
	if (rc == 0)
		rc = ews_cmd_open_repo(ctx);
	if (rc == 0)
		rc = ews_snapshot_find(&snapshot, ctx->repo, args.words.items[0]);
	if (rc < 0)
		return rc;
	set.put.to = args.words.items[0];
	set.put.kept = ews_changes_opt_count_kept;
	set.put.kept_payload = &counting;
	set.changes.from = set.put.to;
	/* What a directory that is nobody's had before is in no snapshot. */
	if (set.to)
		set.changes.mode = EWS_CHANGES_NONE;

	ews_progress_init(&progress, ctx, "Restoring");
	rc = restore_into(&result, ctx, &snapshot, args.words.items[1], &set, &args.paths);
	ews_progress_end(&progress);
	if (rc < 0)
		return rc;
	ews_changes_opt_settle(&set.changes, result.put.kept_snapshot, result.put.is_verified, set.put.dry_run);
	return show_restored(ctx, &result, &set);
}
