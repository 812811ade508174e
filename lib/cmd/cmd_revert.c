/*
 * git ews revert: the workspace back to its base, proven.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cmd/changes_opt.h"
#include "cmd/cmd.h"
#include "cmd/progress.h"
#include "cmd/render_path.h"
#include "cmd/render_revert.h"
#include "work/revert.h"

static const char *const usage[] = {
	"git ews revert [--to <snapshot>] [--verify=full] [--owner] [--changes <mode>] [--dry-run] [<session>] [-- <path>...]",
	NULL,
};

static void show_json(struct ews_cmd_ctx *ctx, const struct ews_session *session,
		      const struct ews_revert_result *result, const struct ews_changes_opt *changes, bool dry_run)
{
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("revert");

	ews_render_string(object, "session_id", session->state.id);
	(void)cJSON_AddBoolToObject(object, "dry_run", dry_run);
	ews_render_put(object, &result->put);
	ews_render_sentences(object, "ref_commands", &result->ref_commands);
	ews_render_string(object, "undo", result->undo);
	ews_changes_opt_json(object, ctx, changes);
	ews_cmd_json_show(ctx, object);
}

static int show(struct ews_cmd_ctx *ctx, const struct ews_session *session, const struct ews_revert_result *result,
		const struct ews_changes_opt *changes, bool dry_run)
{
	EWS_CLEANUP(free) char *undo = ews_strfmt("git ews undo %s", session->state.id);

	if (ctx->json)
		show_json(ctx, session, result, changes, dry_run);
	else if (dry_run)
		ews_render_put_plan(ctx, &result->put);
	else
		ews_render_revert_text(ctx, result, "Revert", session->state.workspace, undo);
	if (!ctx->json)
		ews_changes_opt_talk(ctx, changes);
	return dry_run || result->put.is_verified ? 0 : 1;
}

static int run(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	EWS_CLEANUP(strv) struct ews_strv only = EWS_STRV_INIT;
	EWS_CLEANUP(revert_result) struct ews_revert_result result = EWS_REVERT_RESULT_INIT;
	struct ews_progress progress;
	EWS_CLEANUP(changes_opt) struct ews_changes_opt changes = { .session = &session };
	struct ews_changes_counting counting = { ctx, &changes };
	struct ews_revert_opts set = { .verb = "revert",
				       .progress = ews_progress_show,
				       .payload = &progress,
				       .kept = ews_changes_opt_count_kept,
				       .kept_payload = &counting };
	const char *verify = NULL, *changes_word = NULL;
	const struct ews_opt opts[] = {
		EWS_OPT_STRING(0, "to", &set.to, "snapshot", "back to that one instead of the base"),
		EWS_OPT_STRING(0, "verify", &verify, "full", "prove it by reading every file again"),
		EWS_OPT_BOOL(0, "owner", &set.owners, "owner and group as well, where that is permitted"),
		EWS_CHANGES_OPT(&changes_word),
		EWS_OPT_BOOL('n', "dry-run", &set.dry_run, "list what would be done"),
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = {
		.usage = usage,
		.opts = opts,
		.max_words = 1,
		.takes_paths = true,
		.prints_paths = true,
	};
	int rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	if (verify && strcmp(verify, "full") != 0)
		return ews_error(EWS_EUSAGE, "--verify takes full, not '%s'", verify);
	rc = ews_changes_opt_read(&changes.mode, ctx, changes_word);
	if (rc == 0)
		rc = ews_cmd_open_session(&session, ctx, args.words.items[0], true);
	if (rc == 0)
		rc = ews_cmd_paths(&only, ctx, session.state.workspace, &args.paths);
	if (rc < 0)
		return rc;
	set.full = verify != NULL;
	set.only = ews_cmd_only(&only);
	changes.from = set.to ? set.to : session.state.id; /* which its base is filed under */
	changes.paths = only.n ? only.items : NULL;

	ews_progress_init(&progress, ctx, "Reverting");
	rc = ews_revert(&result, &session, &set);
	ews_progress_end(&progress);
	if (rc < 0)
		return rc;
	ews_changes_opt_settle(&changes, result.put.kept_snapshot, result.put.is_verified, set.dry_run);
	return show(ctx, &session, &result, &changes, set.dry_run);
}

const struct ews_cmd ews_cmd_revert = { "revert", "put a workspace back to its base, and prove it", run };
