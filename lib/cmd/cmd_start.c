/*
 * git ews start: make a workspace and its base, print where it is.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/alloc.h"
#include "base/error.h"
#include "cmd/cmd.h"
#include "cmd/render_path.h"
#include "cmd/render_session.h"
#include "cmd/render_start.h"
#include "cmd/start_opts.h"

static const char *const usage[] = {
	"git ews start [<options>] [<id>] [-- <pathspec>...]",
	NULL,
};

static int parse(struct ews_start_settings *set, struct ews_cmd_args *args, struct ews_cmd_ctx *ctx, int argc,
		 char **argv)
{
	struct ews_opt opts[EWS_START_OPTS_MAX];
	const struct ews_cmd_syntax syntax = {
		.usage = usage,
		.opts = opts,
		.max_words = 1,
		.takes_paths = true,
		.prints_paths = true,
	};

	ews_start_opts_table(opts, set);
	return ews_cmd_parse(args, ctx, &syntax, argc, argv);
}

static void add_count(cJSON *object, const char *key, bool is_known, uint64_t count)
{
	if (is_known)
		ews_json_add_int(object, key, (int64_t)count);
	else
		cJSON_AddNullToObject(object, key);
}

/* Files and bytes; null where nobody looked. */
static void add_ignored(cJSON *object, const struct ews_ignored *ignored)
{
	cJSON *counts = cJSON_AddObjectToObject(object, "ignored");

	ews_json_add_int(counts, "kept", (int64_t)ignored->kept_files);
	ews_json_add_int(counts, "kept_bytes", (int64_t)ignored->kept_bytes);
	add_count(counts, "left", ignored->is_measured, ignored->left_files);
	add_count(counts, "left_bytes", ignored->is_measured, ignored->left_bytes);
}

static void show_json(struct ews_cmd_ctx *ctx, const struct ews_start_result *result)
{
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("start");
	const struct ews_state *state = &result->session.state;

	ews_render_string(object, "session_id", state->id);
	ews_json_add_path(object, "path", state->workspace);
	ews_render_string(object, "method", ews_render_method(state->method));
	ews_render_string(object, "base_commit", state->base_commit);
	ews_render_string(object, "branch", state->branch);
	ews_render_string(object, "snapshot_id", state->base_snapshot);
	ews_render_string(object, "parent_snapshot_id", state->parent_snapshot);
	ews_json_add_int(object, "files_count", (int64_t)result->base.files);
	ews_json_add_int(object, "total_size_bytes", (int64_t)result->base.bytes);
	ews_render_string(object, "hash", result->base.hash);
	ews_render_time(object, "created_at", state->created_s);
	ews_render_string(object, "intent", state->intent);
	ews_render_string(object, "label", state->label);
	add_ignored(object, &result->ignored);
	ews_render_start_notes(object, result);
	ews_cmd_json_show(ctx, object);
}

static void show_text(struct ews_cmd_ctx *ctx, const struct ews_start_result *result)
{
	ews_cmd_add_place(ctx, result->session.state.workspace);
}

static int refuse_paths(void)
{
	ews_error(EWS_EUSAGE, "paths say what comes along, and with --base nothing does that is not asked for");
	ews_error_hint("--uncommitted brings what is uncommitted there, --untracked new files alone");
	return EWS_EUSAGE;
}

static int run(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(strv) struct ews_strv only = EWS_STRV_INIT;
	EWS_CLEANUP(start_result) struct ews_start_result result = EWS_START_RESULT_INIT;
	EWS_CLEANUP(start_settings) struct ews_start_settings set = EWS_START_SETTINGS_INIT;
	bool are_specs = false;
	int rc;

	rc = parse(&set, &args, ctx, argc, argv);
	if (rc != 0)
		return rc;
	rc = ews_start_opts_settle(&set);
	if (rc == 0 && args.paths.n && !set.start.uncommitted)
		rc = ews_error(EWS_EUSAGE, "paths say what comes along, and --no-uncommitted that nothing does");
	if (rc == 0 && args.paths.n && set.start.base && set.start.uncommitted < 0 && set.start.untracked <= 0)
		rc = refuse_paths();
	if (rc == 0)
		rc = ews_start_opts_open(&set, ctx);
	if (rc == 0)
		rc = ews_cmd_pathspecs(&only, &are_specs, ctx, ctx->repo->project, &args.paths);
	if (rc < 0)
		return rc;
	set.start.id = args.words.items[0];
	if (are_specs) {
		set.start.specs = &only;
		set.start.words = &args.paths;
	} else {
		set.start.only = ews_cmd_only(&only);
	}
	rc = ews_start_opts_run(&result, &set, ctx);
	if (rc < 0)
		return rc;
	ctx->made = ews_strdup(result.session.state.id);
	if (ctx->json)
		show_json(ctx, &result);
	else
		show_text(ctx, &result);
	ews_cmd_clean_now_and_then(ctx);
	return 0;
}

const struct ews_cmd ews_cmd_start = { "start", "make a workspace, print its path", run };
