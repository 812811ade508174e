/*
 * git ews epoch: how often the project has changed, and whether a result is about what it is now.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cmd/cmd.h"
#include "cmd/render_path.h"
#include "work/epoch.h"
#include "work/stale.h"

#define FILES_SHOWN 3

static const char *const usage[] = {
	"git ews epoch",
	"git ews epoch bump",
	"git ews epoch check [<session>]",
	NULL,
};

static int show_number(struct ews_cmd_ctx *ctx, int64_t number)
{
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("epoch");

	ews_json_add_int(object, "epoch", number);
	if (ctx->json)
		ews_cmd_json_show(ctx, object);
	else
		ews_buf_addf(&ctx->out, "%" PRId64 "\n", number);
	return 0;
}

static int look(struct ews_cmd_ctx *ctx)
{
	int64_t number;
	int rc;

	rc = ews_epoch_look(&number, ctx->repo);
	return rc < 0 ? rc : show_number(ctx, number);
}

static int bump(struct ews_cmd_ctx *ctx)
{
	int64_t number;
	int rc;

	rc = ews_epoch_bump(&number, ctx->repo);
	return rc < 0 ? rc : show_number(ctx, number);
}

static void show_check(struct ews_cmd_ctx *ctx, const struct ews_session *session, const struct ews_stale *stale)
{
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("epoch_check");
	EWS_CLEANUP(strv) struct ews_strv reasons = EWS_STRV_INIT;
	bool is_stale = ews_stale_is(stale);
	size_t i;

	ews_stale_reasons(&reasons, stale, ctx->verbose ? SIZE_MAX : FILES_SHOWN);
	if (ctx->json) {
		ews_render_string(object, "session_id", session->state.id);
		(void)cJSON_AddBoolToObject(object, "stale", is_stale);
		ews_json_add_int(object, "session_epoch", session->state.epoch);
		ews_json_add_int(object, "epoch", stale->epoch_now < 0 ? session->state.epoch : stale->epoch_now);
		ews_render_sentences(object, "stale_reasons", &reasons);
		ews_render_paths(object, "stale_files", &stale->files);
		ews_cmd_json_show(ctx, object);
		return;
	}
	if (ctx->quiet)
		return;
	if (!is_stale)
		ews_buf_adds(&ctx->out, "current\n");
	for (i = 0; i < reasons.n; i++) {
		ews_buf_adds(&ctx->out, "stale: ");
		ews_render_words(&ctx->out, reasons.items[i]);
		ews_buf_addc(&ctx->out, '\n');
	}
}

static int check(struct ews_cmd_ctx *ctx, const char *name)
{
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	EWS_CLEANUP(stale) struct ews_stale stale = EWS_STALE_INIT;
	int rc;

	rc = ews_cmd_open_session(&session, ctx, name, false);
	if (rc == 0)
		rc = ews_stale_find(&stale, &session, NULL, NULL);
	if (rc < 0)
		return rc;
	show_check(ctx, &session, &stale);
	return ews_stale_is(&stale) ? 1 : 0;
}

static int run(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	const struct ews_cmd_syntax syntax = { .usage = usage, .max_words = 2 };
	const char *verb;
	int rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	verb = args.words.items[0];
	if (verb && strcmp(verb, "bump") != 0 && strcmp(verb, "check") != 0)
		return ews_error(EWS_EUSAGE, "'%s' is neither bump nor check", verb);
	if (args.words.n > 1 && strcmp(verb, "bump") == 0)
		return ews_error(EWS_EUSAGE, "'%s' is one argument too many", args.words.items[1]);
	rc = ews_cmd_open_repo(ctx);
	if (rc < 0)
		return rc;
	if (!verb)
		return look(ctx);
	return !strcmp(verb, "bump") ? bump(ctx) : check(ctx, args.words.items[1]);
}

const struct ews_cmd ews_cmd_epoch = { "epoch", "show how often the project changed; is a result stale", run };
