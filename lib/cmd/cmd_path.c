/*
 * git ews path: where a session's workspace is.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/cmd.h"
#include "cmd/render_path.h"
#include "work/pending.h"
#include "work/session_lock.h"
#include "work/session_place.h"

static const char *const usage[] = {
	"git ews path [<session>]",
	NULL,
};

static int run(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	const struct ews_cmd_syntax syntax = { .usage = usage, .max_words = 1, .prints_paths = true };
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	EWS_CLEANUP(json) cJSON *object = NULL;
	int rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	rc = ews_cmd_open_session(&session, ctx, args.words.items[0], false);
	if (rc == 0)
		rc = ews_session_refuse_ended(&session);
	if (rc == 0)
		rc = ews_session_refuse_lost(&session);
	if (rc < 0) {
		ews_pending_hint(&session);
		return rc;
	}
	if (!ctx->json) {
		ews_cmd_add_place(ctx, session.state.workspace);
		return 0;
	}
	object = ews_cmd_json_new("path");
	ews_render_string(object, "session_id", session.state.id);
	ews_json_add_path(object, "path", session.state.workspace);
	ews_cmd_json_show(ctx, object);
	return 0;
}

const struct ews_cmd ews_cmd_path = { "path", "print where a session's workspace is", run };
