/*
 * git ews start: make a workspace and its base, print where it is.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "base/error.h"
#include "base/path.h"
#include "cmd/cmd.h"
#include "cmd/progress.h"
#include "cmd/render_path.h"
#include "cmd/render_session.h"
#include "work/start.h"

static const char *const usage[] = {
	"git ews start [<options>] [<id>] [-- <path>...]",
	NULL,
};

struct settings {
	struct ews_start_opts start;
	const char *method, *sandbox, *nested, *keep_ignored;
	bool is_worktree;
};

static int parse(struct settings *set, struct ews_cmd_args *args, struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	const struct ews_opt opts[] = {
		{ EWS_OPT_STRING, 0, "base", "rev", "begin at that commit, with nothing of what is uncommitted",
		  &set->start.base, false, NULL },
		{ EWS_OPT_STRING, 0, "method", "auto|worktree|snapshot|in-place", "how the workspace is made",
		  &set->method, false, NULL },
		{ EWS_OPT_BOOL, 0, "worktree", NULL, "the same as --method worktree", &set->is_worktree, false, NULL },
		{ EWS_OPT_STRING, 0, "sandbox", "git-worktree", "the same as --method worktree", &set->sandbox,
		  false, NULL },
		{ EWS_OPT_TRISTATE, 0, "uncommitted", NULL, "take uncommitted changes along",
		  &set->start.uncommitted, true, NULL },
		{ EWS_OPT_TRISTATE, 0, "untracked", NULL, "take untracked files along", &set->start.untracked, true,
		  NULL },
		{ EWS_OPT_OPTIONAL, 0, "keep-ignored", "auto|yes|no", "take ignored files along",
		  &set->keep_ignored, false, "yes" },
		{ EWS_OPT_BOOL, 0, "partial", NULL, "leave out what is over a limit, instead of failing",
		  &set->start.partial, false, NULL },
		{ EWS_OPT_BOOL, 0, "force", NULL, "take a home directory, or the root of all, for a project",
		  &set->start.force, false, NULL },
		{ EWS_OPT_BOOL, 0, "run-filters", NULL,
		  "let the user's own filter programs write what comes from commits", &set->start.run_filters,
		  false, NULL },
		{ EWS_OPT_BOOL, 0, "copy-objects", NULL, "an independent copy gets all objects, and borrows none",
		  &set->start.copy_objects, false, NULL },
		{ EWS_OPT_STRING, 0, "nested", "record|skip", "what to do about nested repositories", &set->nested,
		  false, NULL },
		{ EWS_OPT_STRING, 0, "intent", "text", "what the session is for", &set->start.intent, false, NULL },
		{ EWS_OPT_STRING, 0, "label", "name", "a name for people", &set->start.label, false, NULL },
		{ EWS_OPT_STRING, 0, "in", "dir", "make the workspace <dir>/<id>", &set->start.in, false, NULL },
		{ EWS_OPT_STRING, 'm', "message", "text", "the subject of the base snapshot", &set->start.subject,
		  false, NULL },
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = {
		.usage = usage,
		.opts = opts,
		.max_words = 1,
		.takes_paths = true,
		.prints_paths = true,
	};

	return ews_cmd_parse(args, ctx, &syntax, argc, argv);
}

/* What `option` says of the method; "auto" leaves it open. */
static int choose_method(const struct ews_method **out, const char *option, const char *name)
{
	if (!name || !strcmp(name, "auto"))
		return 0;
	*out = ews_method_find(name);
	if (*out)
		return 0;
	(void)ews_error(EWS_EUSAGE, "%s '%s' is not one of this version's", option, name);
	ews_error_hint("the methods are auto, worktree, snapshot and in-place");
	return EWS_EUSAGE;
}

static int choose_ignored(enum ews_keep_ignored *out, const char *word)
{
	*out = EWS_KEEP_IGNORED_AUTO;
	if (!word || !strcmp(word, "auto"))
		return 0;
	*out = strcmp(word, "yes") ? EWS_KEEP_IGNORED_NO : EWS_KEEP_IGNORED_YES;
	if (*out == EWS_KEEP_IGNORED_YES || !strcmp(word, "no"))
		return 0;
	return ews_error(EWS_EUSAGE, "--keep-ignored takes auto, yes or no, not '%s'", word);
}

static int settle(struct settings *set)
{
	int rc;

	rc = choose_ignored(&set->start.keep_ignored, set->keep_ignored);
	if (rc == 0)
		rc = choose_method(&set->start.method, "method", set->method);
	if (rc == 0)
		rc = choose_method(&set->start.method, "sandbox", set->sandbox);
	if (set->is_worktree)
		set->start.method = &ews_method_worktree;
	if (rc < 0)
		return rc;
	if (!set->nested || !strcmp(set->nested, "record"))
		return 0;
	if (strcmp(set->nested, "skip") != 0)
		return ews_error(EWS_EUSAGE, "--nested takes record or skip, not '%s'", set->nested);
	set->start.skip_nested = true;
	return 0;
}

/* What no option says is as it is set. A wrong setting stops us here, where nothing has begun. */
static int take_settings(struct settings *set, char **location, const struct ews_config *config)
{
	const char *method;
	int rc;

	rc = ews_config_check(config);
	if (rc == 0)
		rc = ews_config_dir(location, config, "qe.workspace.location");
	set->start.location = *location;
	if (rc < 0 || set->method || set->sandbox || set->is_worktree)
		return rc;
	rc = ews_config_word(&method, config, "qe.workspace.method");
	return rc < 0 ? rc : choose_method(&set->start.method, "qe.workspace.method", method);
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
	ews_render_string(object, "snapshot_id", result->base.id);
	ews_json_add_int(object, "files_count", (int64_t)result->base.files);
	ews_json_add_int(object, "total_size_bytes", (int64_t)result->base.bytes);
	ews_render_string(object, "hash", result->base.hash);
	ews_render_time(object, "created_at", state->created_s);
	ews_render_string(object, "intent", state->intent);
	ews_render_string(object, "label", state->label);
	add_ignored(object, &result->ignored);
	ews_render_skips(object, &result->skips);
	ews_render_sentences(object, "notes", &result->notes);
	ews_cmd_json_show(ctx, object);
}

static void show_text(struct ews_cmd_ctx *ctx, const struct ews_start_result *result)
{
	const char *path = result->session.state.workspace;
	size_t i;

	ews_render_skips_talk(ctx, &result->skips);
	for (i = 0; i < result->notes.n; i++)
		ews_cmd_note(ctx, "%s", result->notes.items[i]);
	/* As it is, for `cd "$(git ews start)"`. */
	ews_buf_adds(&ctx->out, path);
	ews_buf_addc(&ctx->out, ctx->nul ? '\0' : '\n');
}

static int run(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(strv) struct ews_strv only = EWS_STRV_INIT;
	EWS_CLEANUP(start_result) struct ews_start_result result = EWS_START_RESULT_INIT;
	EWS_CLEANUP(free) char *in = NULL;
	EWS_CLEANUP(free) char *location = NULL;
	struct settings set = { .start = { .uncommitted = -1, .untracked = -1 } };
	struct ews_progress progress;
	int rc;

	rc = parse(&set, &args, ctx, argc, argv);
	if (rc != 0)
		return rc;
	rc = settle(&set);
	if (rc == 0)
		rc = ews_cmd_open_repo_or_make(ctx, set.start.force ? EWS_REPO_MAKE_ANY : EWS_REPO_MAKE_PLAIN);
	if (rc == 0)
		rc = take_settings(&set, &location, ews_repo_config(ctx->repo));
	if (rc == 0)
		rc = ews_cmd_paths(&only, ctx, ctx->repo->project, &args.paths);
	if (rc < 0)
		return rc;
	if (set.start.in)
		set.start.in = in = ews_path_absolute(ctx->cwd, set.start.in);
	set.start.id = args.words.items[0];
	set.start.only = ews_cmd_only(&only);
	set.start.progress = ews_progress_show;
	set.start.payload = &progress;

	ews_progress_init(&progress, ctx, "Making the workspace");
	rc = ews_start(&result, ctx->repo, &set.start);
	ews_progress_end(&progress);
	if (rc < 0)
		return rc;
	if (ctx->json)
		show_json(ctx, &result);
	else
		show_text(ctx, &result);
	ews_cmd_clean_now_and_then(ctx);
	return 0;
}

const struct ews_cmd ews_cmd_start = { "start", "make a workspace, print its path", run };
