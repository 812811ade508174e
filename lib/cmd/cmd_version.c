/*
 * git ews version: which version this is.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/cmd.h"

static const char *const usage[] = {
	"git ews version",
	NULL,
};

static int run(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	const struct ews_cmd_syntax syntax = { .usage = usage };
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(json) cJSON *object = NULL;
	int rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	if (!ctx->json) {
		ews_buf_adds(&ctx->out, "git-ews version " EWS_VERSION "\n");
		return 0;
	}
	object = ews_cmd_json_new("version");
	(void)cJSON_AddStringToObject(object, "version", EWS_VERSION);
	ews_cmd_json_show(ctx, object);
	return 0;
}

const struct ews_cmd ews_cmd_version = { "version", "print the version", run };
