/*
 * git ews clean: end what nobody works in any more, free what trash holds.
 *
 * `start` runs it as well, now and then: ews_cmd_clean_now_and_then().
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/proc.h"
#include "cmd/cmd.h"
#include "cmd/progress.h"
#include "cmd/render_clean.h"
#include "cmd/render_path.h"
#include "cmd/render_report.h"
#include "store/config_user.h"
#include "store/home_project.h"
#include "work/orphan.h"
#include "work/recover.h"
#include "work/session_open.h"

static const char *const usage[] = {
	"git ews clean [--force] [--older-than <age>] [--now] [--dry-run] [<session>...]",
	"git ews clean --all [--force] [--older-than <age>] [--now] [--dry-run]",
	"git ews clean --auto",
	NULL,
};

struct settings {
	struct ews_clean_opts clean;
	const char *older_than;
	bool all, is_auto;
	bool has_refused; /* something that was named stays */
	cJSON *object; /* the answer with --json */
};

static int clean_repo(struct ews_cmd_ctx *ctx, struct settings *set, struct ews_repo *repo)
{
	EWS_CLEANUP(clean_result) struct ews_clean_result result = EWS_CLEAN_RESULT_INIT;
	struct ews_progress progress;
	int rc;

	set->clean.render = ews_render_report;
	set->clean.progress = ews_progress_show;
	set->clean.payload = &progress;
	ews_progress_init(&progress, ctx, "Cleaning up");
	rc = set->is_auto ? ews_clean_auto(&result, repo, ews_render_report) : ews_clean(&result, repo, &set->clean);
	ews_progress_end(&progress);
	if (rc < 0)
		return rc;
	set->has_refused = set->has_refused || (set->clean.ids && result.kept.n);
	if (ctx->json)
		ews_render_clean(set->object, &result, repo->project);
	else
		ews_render_clean_text(ctx, &result, set->clean.dry_run);
	return 0;
}

/* A project that is gone, whose store can keep nothing any more. */
static int clean_orphans(struct ews_cmd_ctx *ctx, struct settings *set, const struct ews_home_project *project)
{
	EWS_CLEANUP(clean_result) struct ews_clean_result result = EWS_CLEAN_RESULT_INIT;
	int rc;

	rc = ews_orphan_clean(&result, project, &set->clean);
	if (rc < 0)
		return rc;
	if (ctx->json)
		ews_render_clean(set->object, &result, project->project);
	else
		ews_render_clean_text(ctx, &result, set->clean.dry_run);
	return 0;
}

static int clean_project(struct ews_cmd_ctx *ctx, struct settings *set, const struct ews_home_project *project,
			 const char *home)
{
	EWS_CLEANUP(repo) struct ews_repo *repo = NULL;
	int rc;

	if (project->problem)
		return ews_error(EWS_EDAMAGED, "%s", project->problem);
	if (project->is_gone)
		return clean_orphans(ctx, set, project);
	rc = ews_cmd_open_known(&repo, ctx, project, home);
	return rc < 0 ? rc : clean_repo(ctx, set, repo);
}

/* Every project that home knows of. One that can't be read keeps nobody from the others. */
static int clean_all(struct ews_cmd_ctx *ctx, struct settings *set)
{
	EWS_CLEANUP(home_projects) struct ews_home_projects projects = EWS_HOME_PROJECTS_INIT;
	EWS_CLEANUP(strv) struct ews_strv problems = EWS_STRV_INIT;
	EWS_CLEANUP(free) char *home = NULL;
	size_t i;
	int rc;

	rc = ews_config_find_home(&home, ctx->home);
	if (rc == 0)
		rc = ews_home_projects(&projects, home);
	if (rc < 0)
		return rc;
	for (i = 0; i < projects.n; i++) {
		const struct ews_home_project *project = &projects.items[i];

		if (clean_project(ctx, set, project, home) == 0)
			continue;
		ews_render_add_problem(&problems, project->project ? project->project : project->dir);
	}
	if (ctx->json)
		ews_render_reasons(set->object, "problems", "message", &problems);
	ews_render_reasons_talk(ctx, "not cleaned", &problems);
	return 0;
}

/* What was named, and is not clean's to decide about. */
static void announce_interrupted(const struct ews_cmd_ctx *ctx, const struct settings *set, const struct ews_strv *ids)
{
	EWS_CLEANUP(strv) struct ews_strv interrupted = EWS_STRV_INIT;
	size_t i;

	if (set->clean.force || ews_recover_list(&interrupted, NULL, ctx->repo) < 0)
		ews_error_clear();
	for (i = 0; i < ids->n; i++)
		if (ews_strv_has(&interrupted, ids->items[i]))
			ews_cmd_announce(ctx, ids->items[i]);
}

/* What was named, and has nothing left to be ended. */
static void note_ended(const struct ews_cmd_ctx *ctx, const struct ews_strv *ids)
{
	for (size_t i = 0; i < ids->n; i++) {
		EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;

		if (ews_session_open(&session, ctx->repo, ids->items[i]) < 0)
			ews_error_clear(); /* clean says what is the matter with it */
		else if (session.state.state == EWS_STATE_ENDED)
			ews_cmd_note(ctx, "session '%s' has ended before", session.state.id);
	}
}

static int clean_named(struct ews_cmd_ctx *ctx, struct settings *set, const struct ews_strv *words)
{
	EWS_CLEANUP(strv) struct ews_strv ids = EWS_STRV_INIT;
	int rc;

	rc = ews_cmd_session_ids(&ids, ctx, words);
	if (rc < 0)
		return rc;
	announce_interrupted(ctx, set, &ids);
	if (!set->clean.now)
		note_ended(ctx, &ids);
	set->clean.ids = ews_cmd_only(&ids);
	rc = clean_repo(ctx, set, ctx->repo);
	set->clean.ids = NULL;
	return rc;
}

static int run(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("clean");
	const struct ews_clean_result nothing = EWS_CLEAN_RESULT_INIT;
	struct settings set = { .object = object };
	const struct ews_opt opts[] = {
		EWS_OPT_BOOL('f', "force", &set.clean.force, "end interrupted and changed sessions, too"),
		EWS_OPT_STRING(
			0, "older-than", &set.older_than, "age",
			"end sessions that were left alone for that long, not for a day; with --now, free what is as old"),
		EWS_OPT_BOOL(0, "now", &set.clean.now, "free all that trash holds"),
		EWS_OPT_BOOL('n', "dry-run", &set.clean.dry_run, "list what would go, and do nothing"),
		EWS_OPT_BOOL(0, "all", &set.all, "in all projects"),
		EWS_OPT_BOOL(0, "auto", &set.is_auto, "what 'git ews start' does: only what is older than a day"),
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = {
		.usage = usage,
		.opts = opts,
		.max_words = SIZE_MAX,
		.prints_paths = true,
	};
	int rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	if (set.all && args.words.n)
		return ews_error(EWS_EUSAGE, "--all takes no session");
	if (set.is_auto && (args.words.n || set.older_than || set.clean.force || set.clean.now || set.clean.dry_run))
		return ews_error(EWS_EUSAGE, "--auto stands alone");
	rc = set.older_than ? ews_cmd_age(&set.clean.older_than_s, set.older_than) : 0;
	if (rc < 0)
		return rc;
	set.clean.idle = true;
	set.clean.idle_s = set.older_than ? set.clean.older_than_s : EWS_CLEAN_IDLE_S;
	(void)cJSON_AddBoolToObject(object, "dry_run", set.clean.dry_run);
	ews_render_clean(object, &nothing, ""); /* its keys are there, however many projects there are */
	if (set.all)
		rc = clean_all(ctx, &set);
	else if (args.words.n)
		rc = clean_named(ctx, &set, &args.words);
	else if ((rc = ews_cmd_open_repo(ctx)) == 0)
		rc = clean_repo(ctx, &set, ctx->repo);
	if (rc < 0)
		return rc;
	if (ctx->json)
		ews_cmd_json_show(ctx, object);
	return set.has_refused;
}

/* Leave it to a process of its own, which nobody waits for. */
static int clean_behind(const struct ews_repo *repo)
{
	EWS_CLEANUP(strv) struct ews_strv args = EWS_STRV_INIT;

	ews_strv_add_all(&args, "/proc/self/exe", "-C", repo->project, "--home", repo->home, "clean", "--auto",
			 "--quiet", NULL);
	return ews_proc_detach(args.items);
}

void ews_cmd_clean_now_and_then(struct ews_cmd_ctx *ctx)
{
	EWS_CLEANUP(clean_result) struct ews_clean_result result = EWS_CLEAN_RESULT_INIT;
	const struct ews_config *config = ews_repo_config(ctx->repo);
	bool wanted, behind;
	int rc;

	rc = ews_config_bool(&wanted, config, "ews.autoClean");
	if (rc == 0)
		rc = ews_config_bool(&behind, config, "ews.backgroundClean");
	if (rc == 0 && (!wanted || !ews_clean_is_time(ctx->repo)))
		return;
	if (rc == 0)
		rc = behind ? clean_behind(ctx->repo) : ews_clean_auto(&result, ctx->repo, ews_render_report);
	if (rc < 0)
		ews_cmd_warn(ctx, "cannot clean up: %s", ews_error_message());
	ews_error_clear();
	ews_render_clean_talk(ctx, &result);
}

const struct ews_cmd ews_cmd_clean = { "clean", "end abandoned sessions, free what trash holds", run };
