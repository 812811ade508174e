/*
 * git ews guard install, uninstall, status, hook: git's own hooks stop commands in workspaces.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/cmd_guard.h"

#include <string.h>

#include "base/error.h"
#include "cmd/render_hooks.h"
#include "store/config_user.h"
#include "work/hooks.h"
#include "work/stop.h"

struct asked {
	struct ews_cmd_args args;
	bool is_users;
	char *home;
};

#define ASKED_INIT { EWS_CMD_ARGS_INIT, false, NULL }

static void release_asked(struct asked *asked)
{
	ews_cmd_args_release(&asked->args);
	free(asked->home);
}

EWS_CLEANUP_DEFINE(asked, struct asked, release_asked)

static int parse(struct asked *out, struct ews_cmd_ctx *ctx, const char *const *usage, int argc, char **argv)
{
	const struct ews_opt opts[] = {
		EWS_OPT_BOOL(0, "global", &out->is_users, "for all repositories of yours"),
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = { .usage = usage, .opts = opts, .prints_paths = true };
	int rc = ews_cmd_parse(&out->args, ctx, &syntax, argc, argv);

	return rc != 0 ? rc : ews_config_find_home(&out->home, ctx->home);
}

/* Open the project; one that can't be found is none, where the user's hooks are meant. */
static int open_repo(struct ews_cmd_ctx *ctx, bool is_needed)
{
	int rc = ews_cmd_open_repo(ctx);

	if (rc == EWS_ENOTFOUND && !is_needed) {
		ews_error_clear();
		return 0;
	}
	return rc;
}

static void tell(const struct ews_cmd_ctx *ctx, const struct ews_hooks *hooks)
{
	for (size_t i = 0; i < hooks->busy.n; i++)
		ews_cmd_warn(ctx, "session '%s' is in use: it will name the change of the project's config",
			     hooks->busy.items[i]);
}

static void tell_of_foreign(const struct ews_cmd_ctx *ctx, const struct ews_hooks *hooks)
{
	for (size_t i = 0; i < hooks->foreign.n; i++)
		ews_cmd_warn(ctx,
			     "'%s/%s' is not ours, or not as it was written, and stays: git ews may not be asked there",
			     hooks->dir, hooks->foreign.items[i]);
}

int ews_cmd_guard_install(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	static const char *const usage[] = { "git ews guard install [--global]", NULL };
	EWS_CLEANUP(asked) struct asked asked = ASKED_INIT;
	EWS_CLEANUP(hooks) struct ews_hooks hooks = EWS_HOOKS_INIT;
	EWS_CLEANUP(json) cJSON *object = NULL;
	int rc;

	rc = parse(&asked, ctx, usage, argc, argv);
	if (rc != 0)
		return rc;
	rc = open_repo(ctx, !asked.is_users);
	if (rc == 0)
		rc = ews_cmd_refuse_workspace(ctx);
	if (rc == 0)
		rc = ews_hooks_install(&hooks, asked.is_users ? EWS_HOOKS_USER : EWS_HOOKS_REPOSITORY, ctx->repo,
				       asked.home);
	if (rc < 0)
		return rc;
	tell(ctx, &hooks);
	tell_of_foreign(ctx, &hooks);
	if (hooks.taken && !*hooks.taken)
		ews_cmd_warn(ctx, "core.hooksPath is empty here: git runs no hooks, these neither");
	else if (hooks.taken && !ews_hooks_is_effective(&hooks))
		ews_cmd_warn(ctx, "git takes the hooks of '%s' here: these are not run", hooks.taken);
	if (ctx->json) {
		object = ews_cmd_json_new("guard_install");
		ews_render_hooks_object(object, &hooks);
		ews_render_hooks_limits(object);
		ews_cmd_json_show(ctx, object);
		return 0;
	}
	ews_cmd_add_place(ctx, hooks.dir);
	if (hooks.next)
		ews_cmd_note(ctx, "they run before those of '%s'", hooks.next);
	ews_cmd_note(ctx, "hooks can't stop everything: 'git ews guard status' says what they can't");
	return 0;
}

/* Without a word which, the repository's; where it has none, the user's. */
static int choose(enum ews_hooks_scope *out, struct ews_cmd_ctx *ctx, const struct asked *asked)
{
	EWS_CLEANUP(hooks) struct ews_hooks repos = EWS_HOOKS_INIT;
	EWS_CLEANUP(hooks) struct ews_hooks users = EWS_HOOKS_INIT;
	int rc;

	*out = EWS_HOOKS_USER;
	if (asked->is_users || !ctx->repo || ctx->repo->is_plain)
		return 0;
	rc = ews_hooks_look(&repos, EWS_HOOKS_REPOSITORY, ctx->repo, asked->home);
	if (rc == 0)
		rc = ews_hooks_look(&users, EWS_HOOKS_USER, ctx->repo, asked->home);
	if (rc == 0 && (ews_hooks_is_installed(&repos) || !ews_hooks_is_installed(&users)))
		*out = EWS_HOOKS_REPOSITORY;
	return rc;
}

int ews_cmd_guard_uninstall(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	static const char *const usage[] = { "git ews guard uninstall [--global]", NULL };
	EWS_CLEANUP(asked) struct asked asked = ASKED_INIT;
	EWS_CLEANUP(hooks) struct ews_hooks hooks = EWS_HOOKS_INIT;
	EWS_CLEANUP(json) cJSON *object = NULL;
	enum ews_hooks_scope scope;
	int rc;

	rc = parse(&asked, ctx, usage, argc, argv);
	if (rc != 0)
		return rc;
	rc = open_repo(ctx, false);
	if (rc == 0)
		rc = ews_cmd_refuse_workspace(ctx);
	if (rc == 0)
		rc = choose(&scope, ctx, &asked);
	if (rc == 0)
		rc = ews_hooks_uninstall(&hooks, scope, ctx->repo, asked.home);
	if (rc < 0)
		return rc;
	tell(ctx, &hooks);
	if (ctx->json) {
		object = ews_cmd_json_new("guard_uninstall");
		(void)cJSON_AddBoolToObject(object, "uninstalled", ews_hooks_is_installed(&hooks));
		ews_json_add_path(object, "directory", hooks.dir);
		ews_cmd_json_show(ctx, object);
		return 0;
	}
	if (ews_hooks_is_installed(&hooks))
		ews_cmd_add_place(ctx, hooks.dir);
	else
		ews_cmd_note(ctx, "no hooks of git ews are installed");
	return 0;
}

int ews_cmd_guard_status(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	static const char *const usage[] = { "git ews guard status", NULL };
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(hooks) struct ews_hooks repos = EWS_HOOKS_INIT;
	EWS_CLEANUP(hooks) struct ews_hooks users = EWS_HOOKS_INIT;
	EWS_CLEANUP(json) cJSON *object = NULL;
	EWS_CLEANUP(free) char *home = NULL;
	const struct ews_cmd_syntax syntax = { .usage = usage };
	bool has_repo;
	cJSON *array;
	int rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	rc = ews_config_find_home(&home, ctx->home);
	if (rc == 0)
		rc = open_repo(ctx, false);
	if (rc < 0)
		return rc;
	has_repo = ctx->repo && !ctx->repo->is_plain;
	if (has_repo)
		rc = ews_hooks_look(&repos, EWS_HOOKS_REPOSITORY, ctx->repo, home);
	if (rc == 0)
		rc = ews_hooks_look(&users, EWS_HOOKS_USER, ctx->repo, home);
	if (rc < 0)
		return rc;
	if (!ctx->json) {
		if (has_repo)
			ews_render_hooks(&ctx->out, &repos);
		ews_render_hooks(&ctx->out, &users);
		ews_render_hooks_limits_text(&ctx->out);
		return 0;
	}
	object = ews_cmd_json_new("guard_status");
	array = cJSON_AddArrayToObject(object, "hooks");
	if (has_repo)
		ews_render_hooks_item(array, &repos);
	ews_render_hooks_item(array, &users);
	ews_render_hooks_limits(object);
	ews_cmd_json_show(ctx, object);
	return 0;
}

int ews_cmd_guard_hook(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	static const char *const usage[] = { "git ews guard hook <name>", NULL };
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(json) cJSON *object = NULL;
	EWS_CLEANUP(free) char *home = NULL;
	EWS_CLEANUP(free) char *sentence = NULL;
	const struct ews_cmd_syntax syntax = { .usage = usage, .min_words = 1, .max_words = 1 };
	int rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	rc = ews_config_find_home(&home, ctx->home);
	if (rc == 0)
		rc = ews_stop_ask(&sentence, home, ctx->cwd, args.words.items[0]);
	if (rc < 0)
		return rc;
	if (ctx->json) {
		object = ews_cmd_json_new("guard_hook");
		(void)cJSON_AddBoolToObject(object, "is_blocked", rc > 0);
		cJSON_AddItemToObject(object, "reason", sentence ? ews_json_path(sentence) : cJSON_CreateNull());
		ews_cmd_json_show(ctx, object);
	} else if (sentence) {
		ews_buf_addf(&ctx->out, "%s\n", sentence);
	}
	return rc;
}
