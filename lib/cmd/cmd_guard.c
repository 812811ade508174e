/*
 * git ews guard: what the guard says of a command, what it allows, and the table of its verbs.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/cmd_guard.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cmd/pager.h"
#include "cmd/render_guard.h"
#include "work/guard.h"

static const char *const check_usage[] = {
	"git ews guard check [<options>] -- <command> [<argument>...]",
	"git ews guard check [<options>] --shell <text>",
	NULL,
};

static const char *const list_usage[] = {
	"git ews guard list [<options>]",
	NULL,
};

static int read_policy(enum ews_guard_policy *out, const char *word)
{
	if (!strcmp(word, "read-only"))
		*out = EWS_GUARD_READ_ONLY;
	else if (!strcmp(word, "inside"))
		*out = EWS_GUARD_INSIDE;
	else
		return ews_error(EWS_EUSAGE, "'%s' is no policy: read-only, inside", word);
	return 0;
}

/*
 * The rules of the project that we are in; where there is none, those that hold without any setting. `policy` is that
 * of the command line, or NULL: then that of the session in which we run.
 */
static int read_rules(struct ews_guard_rules *out, struct ews_cmd_ctx *ctx, const char *policy)
{
	const char *session = getenv("EWS_GUARD_POLICY");
	int rc;

	*out = (struct ews_guard_rules)EWS_GUARD_RULES_INIT;
	rc = ews_cmd_open_repo(ctx);
	if (rc == 0)
		rc = ews_guard_rules_read(out, ews_repo_config(ctx->repo));
	else if (rc == EWS_ENOTFOUND)
		ews_error_clear();
	if (rc < 0 && rc != EWS_ENOTFOUND)
		return rc;
	if (!policy)
		policy = session && *session ? session : NULL;
	return policy ? read_policy(&out->policy, policy) : 0;
}

static int check(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(guard_verdict) struct ews_guard_verdict verdict = EWS_GUARD_VERDICT_INIT;
	EWS_CLEANUP(json) cJSON *object = NULL;
	struct ews_guard_rules rules;
	const char *policy = NULL, *text = NULL;
	const struct ews_opt opts[] = {
		EWS_OPT_STRING(0, "shell", &text, "text", "judge each command of a text for a shell"),
		EWS_OPT_STRING(0, "policy", &policy, "policy", "judge by read-only or inside"),
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = { .usage = check_usage, .opts = opts, .takes_paths = true };
	int rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	if (!args.paths.n == !text)
		return ews_error(EWS_EUSAGE, text ? "--shell takes no command beside it"
						  : "the command is missing: it comes after '--'");
	rc = read_rules(&rules, ctx, policy);
	if (rc == 0)
		rc = text ? ews_guard_judge_shell(&verdict, &rules, text)
			  : ews_guard_judge_words(&verdict, &rules, args.paths.items);
	if (rc < 0)
		return rc;
	if (ctx->json) {
		object = ews_cmd_json_new("guard_check");
		ews_render_verdict_json(object, &verdict);
		ews_cmd_json_show(ctx, object);
	} else if (!ctx->quiet) {
		ews_render_verdict(&ctx->out, &verdict);
	}
	return verdict.is_blocked ? 1 : 0;
}

static int list(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(json) cJSON *object = NULL;
	struct ews_guard_rules rules;
	const char *policy = NULL;
	const struct ews_opt opts[] = {
		EWS_OPT_STRING(0, "policy", &policy, "policy", "list what read-only or inside allows"),
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = { .usage = list_usage, .opts = opts };
	int rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	rc = read_rules(&rules, ctx, policy);
	if (rc < 0)
		return rc;
	if (ctx->json) {
		object = ews_cmd_json_new("guard_list");
		ews_render_guard_list_json(object, &rules);
		ews_cmd_json_show(ctx, object);
		return 0;
	}
	ews_pager_start(ctx);
	ews_render_guard_list(&ctx->out, &rules);
	return 0;
}

static const struct ews_cmd verbs[] = {
	{ "check", "say whether a command is allowed, and why not", check },
	{ "list", "list the git commands that are allowed", list },
	{ "install", "let git's hooks stop commands in workspaces", ews_cmd_guard_install },
	{ "uninstall", "take the hooks away", ews_cmd_guard_uninstall },
	{ "status", "show where hooks are installed", ews_cmd_guard_status },
	{ "hook", "what a hook asks", ews_cmd_guard_hook },
};

static int run(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	return ews_cmd_run_one_of(verbs, sizeof(verbs) / sizeof(*verbs), ctx, argc, argv);
}

const struct ews_cmd ews_cmd_guard = { "guard", "say what the guard says of a command, and make it hold", run };
