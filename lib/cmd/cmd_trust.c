/*
 * git ews trust: what a workspace can reach, and what keeps it from more.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/error.h"
#include "cmd/cmd.h"
#include "cmd/pager.h"
#include "cmd/render_trust.h"
#include "work/session_lock.h"
#include "work/session_name.h"
#include "work/session_open.h"
#include "work/session_place.h"

static const char *const status_usage[] = {
	"git ews trust status [<session>]",
	NULL,
};

/* The session that is named, or implied; 0: there is none, and one that would be started is meant. */
static int open_session(struct ews_session *out, struct ews_cmd_ctx *ctx, const char *name)
{
	int rc = ews_cmd_open_repo(ctx), is_meant;

	if (rc < 0)
		return rc;
	is_meant = name ? 1 : ews_session_is_implied(ctx->repo); /* asked first: it forgets the error */
	if (is_meant < 0)
		return is_meant;
	rc = ews_session_open(out, ctx->repo, name);
	if (rc == 0) {
		if (ews_session_is_interrupted(out))
			ews_cmd_announce(ctx, out->state.id);
		rc = out->method->is_project ? 0 : ews_session_refuse_ended(out);
		if (rc == 0)
			rc = ews_session_refuse_lost(out);
		return rc < 0 ? rc : 1;
	}
	if (is_meant || (rc != EWS_ENOTFOUND && rc != EWS_EUSAGE))
		return rc;
	ews_error_clear();
	return 0;
}

static int status(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	EWS_CLEANUP(trust) struct ews_trust trust = EWS_TRUST_INIT;
	EWS_CLEANUP(json) cJSON *object = NULL;
	const struct ews_cmd_syntax syntax = { .usage = status_usage, .max_words = 1 };
	int rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	rc = open_session(&session, ctx, args.words.n ? args.words.items[0] : NULL);
	if (rc >= 0)
		rc = ews_trust_look(&trust, ctx->repo, rc ? &session : NULL);
	if (rc < 0)
		return rc;
	if (ctx->json) {
		object = ews_cmd_json_new("trust_status");
		ews_json_add_path(object, "project", ctx->repo->project);
		ews_render_trust_json(object, &trust);
		ews_cmd_json_show(ctx, object);
		return 0;
	}
	ews_pager_start(ctx);
	ews_render_trust(&ctx->out, &trust, ews_pager_color(ctx, "status"));
	return 0;
}

static const struct ews_cmd verbs[] = {
	{ "status", "show what a workspace can reach, and what keeps it from more", status },
};

static int run(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	return ews_cmd_run_one_of(verbs, sizeof(verbs) / sizeof(*verbs), ctx, argc, argv);
}

const struct ews_cmd ews_cmd_trust = { "trust", "say what a workspace can reach", run };
