/*
 * git ews undo: step back over what verbs destroyed or overwrote, and forward again.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "cmd/cmd.h"
#include "cmd/pager.h"
#include "cmd/progress.h"
#include "cmd/render_path.h"
#include "cmd/render_revert.h"
#include "cmd/render_round.h"
#include "work/recover.h"
#include "work/retire.h"
#include "work/session_name.h"
#include "work/steps.h"
#include "work/undo.h"

static const char *const usage[] = {
	"git ews undo [--redo] [--dry-run] [<session>|<step>]",
	"git ews undo --list [<session>]",
	NULL,
};

struct settings {
	bool list, redo, dry_run;
	const char *step; /* its id, when one is named */
};

static int list(struct ews_cmd_ctx *ctx, const char *session)
{
	EWS_CLEANUP(steps) struct ews_steps steps = EWS_STEPS_INIT;
	EWS_CLEANUP(json) cJSON *object = NULL;
	cJSON *array;
	size_t i;
	int rc;

	rc = ews_steps_list(&steps, ctx->repo, session);
	if (rc < 0)
		return rc;
	for (i = 0; i < steps.damaged.n; i++)
		ews_cmd_warn(ctx, "the record of step '%s' makes no sense; 'git ews doctor --fix' sets it aside",
			     steps.damaged.items[i]);
	if (!ctx->json) {
		ews_pager_start(ctx);
		ews_render_step_lines(&ctx->out, &steps, ctx->repo);
		return 0;
	}
	object = ews_cmd_json_new("undo_list");
	array = cJSON_AddArrayToObject(object, "steps");
	for (i = 0; i < steps.n; i++) {
		cJSON *step = cJSON_CreateObject();

		ews_render_step(step, &steps.items[i], ctx->repo);
		cJSON_AddItemToArray(array, step);
	}
	array = cJSON_AddArrayToObject(object, "damaged");
	for (i = 0; i < steps.damaged.n; i++)
		cJSON_AddItemToArray(array, cJSON_CreateString(steps.damaged.items[i]));
	ews_cmd_json_show(ctx, object);
	return 0;
}

static void show_json(struct ews_cmd_ctx *ctx, const struct settings *set, const struct ews_undo_result *result)
{
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("undo");

	(void)cJSON_AddBoolToObject(object, "redo", set->redo);
	(void)cJSON_AddBoolToObject(object, "dry_run", set->dry_run);
	ews_render_step(cJSON_AddObjectToObject(object, "step"), &result->step, ctx->repo);
	if (result->workspace)
		ews_json_add_path(object, "path", result->workspace);
	ews_render_put(object, &result->put);
	if (result->ended.round.id)
		ews_render_round_end(cJSON_AddObjectToObject(object, "ended"), &result->ended);
	ews_cmd_json_show(ctx, object);
}

static const char *headline(const struct settings *set)
{
	if (set->dry_run)
		return set->redo ? "Would do again" : "Would undo";
	return set->redo ? "Done again" : "Undone";
}

static void show_text(struct ews_cmd_ctx *ctx, const struct settings *set, const struct ews_undo_result *result)
{
	const struct ews_step *step = &result->step;
	const char *owner = step->session;

	ews_buf_addf(&ctx->out, "%s: %s of %s\n", headline(set), step->verb,
		     *step->session ? step->session : "the project");
	if (result->workspace) {
		ews_buf_adds(&ctx->out, "  Workspace: ");
		ews_path_quote(&ctx->out, result->workspace);
		ews_buf_addc(&ctx->out, '\n');
	}
	if (result->put.restored.n + result->put.deleted.n)
		ews_buf_addf(&ctx->out, "  Paths: %zu restored, %zu deleted\n", result->put.restored.n,
			     result->put.deleted.n);
	ews_render_reasons_talk(ctx, "not as it was", &result->put.errors);
	ews_render_expired_talk(ctx, &result->put.expired);
	if (set->dry_run) {
		ews_render_since_talk(ctx, &result->put, "would be kept in trash");
		ews_render_branches_talk(ctx, &result->put);
		return;
	}
	ews_render_put_talk(ctx, &result->put);
	if (result->ended.round.id)
		ews_render_round_end_talk(ctx, &result->ended, false);
	if (result->has_reverted)
		ews_cmd_note(ctx, "'git ews undo %s' once more brings back what was in the project", step->session);
	if (!*step->session && ews_session_is_chosen(ctx->repo))
		owner = step->id;
	ews_cmd_note(ctx, "'git ews undo%s%s%s' takes that back", set->redo ? "" : " --redo", *owner ? " " : "",
		     owner);
}

/* It was refused because of one that is interrupted: which those are. */
static void announce_interrupted(const struct ews_cmd_ctx *ctx, const char *session)
{
	EWS_CLEANUP(strv) struct ews_strv ids = EWS_STRV_INIT;
	struct ews_error_saved saved = EWS_ERROR_SAVED_INIT;

	ews_error_save(&saved);
	if (ews_recover_list(&ids, NULL, ctx->repo) < 0)
		ews_error_clear();
	for (size_t i = 0; i < ids.n; i++)
		if (*ids.items[i] && (!session || !strcmp(ids.items[i], session)))
			ews_cmd_announce(ctx, ids.items[i]);
	(void)ews_error_restore(&saved); /* it goes on its way */
}

static int undo(struct ews_undo_result *out, struct ews_cmd_ctx *ctx, const char *session, const struct settings *set)
{
	struct ews_progress progress;
	const struct ews_undo_opts opts = {
		.redo = set->redo,
		.dry_run = set->dry_run,
		.step = set->step,
		.progress = ews_progress_show,
		.payload = &progress,
	};
	int rc;

	ews_progress_init(&progress, ctx, set->redo ? "Doing again" : "Undoing");
	rc = ews_undo(out, ctx->repo, session, &opts);
	ews_progress_end(&progress);
	return rc;
}

/* Whose steps are meant (NULL: all), or which one; a session that is called like a step goes first. */
static int choose(char **session, struct settings *set, struct ews_cmd_ctx *ctx, const char *word)
{
	int rc;

	if (!word)
		return ews_session_is_chosen(ctx->repo) ? ews_session_resolve(session, ctx->repo, NULL) : 0;
	if (ews_retire_is_name(word)) {
		*session = ews_strdup(word);
		return 0;
	}
	rc = ews_session_resolve(session, ctx->repo, word);
	if (rc != EWS_ENOTFOUND || set->list || !ews_step_is_id(word))
		return rc;
	ews_error_clear();
	set->step = word;
	return 0;
}

static int run(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(undo_result) struct ews_undo_result result = EWS_UNDO_RESULT_INIT;
	EWS_CLEANUP(free) char *session = NULL;
	struct settings set = { .list = false };
	const struct ews_opt opts[] = {
		EWS_OPT_BOOL(0, "list", &set.list, "list the steps, newest first"),
		EWS_OPT_BOOL(0, "redo", &set.redo, "do again what was undone last"),
		EWS_OPT_BOOL('n', "dry-run", &set.dry_run, "say what would be done"),
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = { .usage = usage, .opts = opts, .max_words = 1 };
	int rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	if (set.list && (set.redo || set.dry_run))
		return ews_error(EWS_EUSAGE, "--list stands alone");
	rc = ews_cmd_open_repo(ctx);
	if (rc == 0)
		rc = choose(&session, &set, ctx, args.words.n ? args.words.items[0] : NULL);
	if (rc < 0)
		return rc;
	if (set.list)
		return list(ctx, session);
	rc = undo(&result, ctx, session, &set);
	if (rc == EWS_EINTERRUPTED)
		announce_interrupted(ctx, session);
	if (rc < 0)
		return rc;
	if (ctx->json)
		show_json(ctx, &set, &result);
	else
		show_text(ctx, &set, &result);
	return result.put.errors.n || (result.put.expired.n && !set.dry_run);
}

const struct ews_cmd ews_cmd_undo = { "undo", "bring back what a verb destroyed or overwrote", run };
