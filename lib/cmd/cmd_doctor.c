/*
 * git ews doctor: what is wrong here, and what mends it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/error.h"
#include "cmd/cmd.h"
#include "cmd/pager.h"
#include "cmd/render_doctor.h"
#include "store/config_user.h"

static const char *const usage[] = {
	"git ews doctor [--fix]",
	NULL,
};

/* Before it is done, so that nobody has to guess what was, should we be cut off. */
static void say(void *payload, const struct ews_check *check)
{
	EWS_CLEANUP(buf) struct ews_buf line = EWS_BUF_INIT;
	const struct ews_cmd_ctx *ctx = payload;

	if (ctx->json)
		return;
	ews_buf_addf(&line, "%s: %s", check->name, check->fix);
	ews_cmd_say("fixing: ", line.ptr);
}

static int run(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(checkup) struct ews_checkup checkup = EWS_CHECKUP_INIT;
	EWS_CLEANUP(json) cJSON *object = NULL;
	EWS_CLEANUP(free) char *home = NULL;
	bool fix = false;
	const struct ews_opt opts[] = {
		EWS_OPT_BOOL(0, "fix", &fix, "mend what can be mended without losing anything"),
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = { .usage = usage, .opts = opts };
	int rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	rc = ews_config_find_home(&home, ctx->home);
	if (rc < 0)
		return rc;
	/* A project that can't be opened is something to be found, too. */
	(void)ews_cmd_open_repo(ctx);
	rc = fix ? ews_cmd_refuse_workspace(ctx) : 0;
	if (rc < 0)
		return rc;
	ews_doctor_look(&checkup, ctx->repo, home);
	if (fix)
		ews_doctor_mend(&checkup, ctx->repo, home, say, ctx);
	if (ctx->json) {
		object = ews_cmd_json_new("doctor");
		ews_render_doctor_json(object, &checkup);
		ews_cmd_json_show(ctx, object);
	} else {
		ews_pager_start(ctx);
		ews_render_doctor(&ctx->out, &checkup, ews_pager_color(ctx, "status"));
	}
	return ews_doctor_is_content(&checkup) ? 0 : 1;
}

const struct ews_cmd ews_cmd_doctor = { "doctor", "say what is wrong here, and mend it", run };
