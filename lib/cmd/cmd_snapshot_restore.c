/*
 * git ews snapshot restore: put a state back, into a session, a directory or the project.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "cmd/cmd_snapshot.h"
#include "cmd/pager.h"
#include "cmd/progress.h"
#include "cmd/render_path.h"
#include "cmd/render_revert.h"
#include "work/restore_to.h"
#include "work/revert.h"

static const char *const restore_usage[] = {
	"git ews snapshot restore [--force] [--owner] [--dry-run] <snapshot> [<session> | --to <dir>] [-- <path>...]",
	NULL,
};

struct restore_settings {
	const char *to;
	bool force;
	struct ews_revert_opts put;
};

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
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	EWS_CLEANUP(strv) struct ews_strv only = EWS_STRV_INIT;
	EWS_CLEANUP(free) char *to = set->to ? ews_path_absolute(ctx->cwd, set->to) : NULL;
	const char *root = to;
	int rc, has_session = 0;

	if (!to) {
		has_session = ews_cmd_open_session_or_project(&session, ctx, name, !set->put.dry_run);
		if (has_session < 0)
			return has_session;
		root = has_session ? session.state.workspace : ctx->repo->project;
	}
	rc = ews_cmd_paths(&only, ctx, root, paths);
	if (rc < 0)
		return rc;
	set->put.only = ews_cmd_only(&only);
	if (to)
		return ews_restore_to(result, ctx->repo, snapshot, to, set->force, &set->put);
	if (has_session)
		return ews_revert(result, &session, &set->put);
	rc = ask_for_project(ctx, set);
	return rc < 0 ? rc : ews_restore_project(result, ctx->repo, snapshot, &set->put);
}

static int show_restored(struct ews_cmd_ctx *ctx, const struct ews_revert_result *result, bool dry_run)
{
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("restore");

	if (ctx->json) {
		(void)cJSON_AddBoolToObject(object, "dry_run", dry_run);
		ews_render_put(object, &result->put);
		ews_render_string(object, "undo", result->undo);
		ews_cmd_json_show(ctx, object);
	} else if (dry_run) {
		ews_render_put_plan(ctx, &result->put);
	} else {
		ews_render_put_text(&ctx->out, &result->put, "Restore", ews_pager_color(ctx, "status"));
		ews_render_put_talk(ctx, &result->put);
	}
	return dry_run || result->put.is_verified ? 0 : 1;
}

int ews_cmd_snapshot_restore(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(snapshot) struct ews_snapshot snapshot = EWS_SNAPSHOT_INIT;
	EWS_CLEANUP(revert_result) struct ews_revert_result result = EWS_REVERT_RESULT_INIT;
	struct ews_progress progress;
	struct restore_settings set = {
		.put = { .verb = "restore", .progress = ews_progress_show, .payload = &progress },
	};
	const struct ews_opt opts[] = {
		EWS_OPT_STRING(0, "to", &set.to, "dir", "into that directory, made when missing"),
		EWS_OPT_BOOL('f', "force", &set.force,
			     "into the project without asking; into a directory that is not empty"),
		EWS_OPT_BOOL(0, "owner", &set.put.owners, "owner and group as well, where that is permitted"),
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
	rc = ews_cmd_open_repo(ctx);
	if (rc == 0)
		rc = ews_snapshot_find(&snapshot, ctx->repo, args.words.items[0]);
	if (rc < 0)
		return rc;
	set.put.to = args.words.items[0];

	ews_progress_init(&progress, ctx, "Restoring");
	rc = restore_into(&result, ctx, &snapshot, args.words.items[1], &set, &args.paths);
	ews_progress_end(&progress);
	return rc < 0 ? rc : show_restored(ctx, &result, set.put.dry_run);
}
