/*
 * git ews recover: what was interrupted is finished or taken back.
 *
 * On a terminal it asks; elsewhere an option must say what to do. `--all` asks
 * nothing and chooses what loses nothing.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/path.h"
#include "base/path_line.h"
#include "cmd/cmd.h"
#include "cmd/progress.h"
#include "cmd/render_diff.h"
#include "cmd/render_recover.h"
#include "store/config_user.h"
#include "work/diff.h"
#include "work/leaving.h"
#include "work/recover.h"
#include "work/registration.h"
#include "work/relink.h"
#include "work/session_name.h"
#include "work/session_open.h"

static const char *const usage[] = {
	"git ews recover [--resume | --revert | --view] [<session>]",
	"git ews recover --all [--resume | --revert | --view]",
	"git ews recover --moved-from <dir>",
	NULL,
};

struct settings {
	bool all, resume, revert, view;
	const char *moved_from;
};

enum answer {
	ANSWER_RESUME,
	ANSWER_REVERT,
	ANSWER_VIEW,
	ANSWER_BEST,
	ANSWER_NONE,
};

static enum answer answer_of(const struct settings *set)
{
	if (set->resume)
		return ANSWER_RESUME;
	if (set->revert)
		return ANSWER_REVERT;
	if (set->view)
		return ANSWER_VIEW;
	return set->all ? ANSWER_BEST : ANSWER_NONE;
}

static enum answer ask(void)
{
	char line[64] = "";

	(void)fputs("  Choice: ", stderr);
	(void)fflush(stderr);
	if (!fgets(line, sizeof(line), stdin))
		return ANSWER_NONE;
	switch (line[strspn(line, " \t")]) {
	case '1':
		return ANSWER_RESUME;
	case '2':
		return ANSWER_REVERT;
	case '3':
		return ANSWER_VIEW;
	default:
		return ANSWER_NONE;
	}
}

/* What the session changed, as far as it can be seen. */
static int view(struct ews_buf *out, struct ews_cmd_ctx *ctx, const char *id)
{
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	EWS_CLEANUP(diff) struct ews_diff diff = EWS_DIFF_INIT;
	char stat[] = "--stat", summary[] = "--summary";
	char *const args[] = { stat, summary, NULL };
	int rc;

	rc = ews_session_open(&session, ctx->repo, id);
	if (rc == 0)
		rc = ews_diff_sides(&diff, ctx->repo, &session, NULL, NULL);
	if (rc == 0)
		rc = ews_diff_records(&diff, ctx->repo, NULL);
	if (rc < 0)
		return rc;
	ews_buf_addf(out, "%s: changes: ", id);
	ews_render_totals_text(out, &diff);
	ews_buf_addc(out, '\n');
	return ews_diff_collect(out, &diff, ctx->repo, args, NULL);
}

/* In a conversation a failure to look is told, and the question stands. */
static void view_and_go_on(struct ews_cmd_ctx *ctx, const char *id)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	if (view(&text, ctx, id) < 0) {
		ews_cmd_say("", ews_error_message());
		ews_error_clear();
		return;
	}
	ews_cmd_say("", text.ptr);
}

static int converse(enum answer *out, struct ews_cmd_ctx *ctx, const char *id)
{
	ews_cmd_announce(ctx, id);
	if (ctx->json || !ews_cmd_can_ask()) {
		(void)ews_error(EWS_EINTERRUPTED, "session '%s' is interrupted, and there is no terminal to ask at",
				id);
		ews_error_hint("git ews recover %s --resume, --revert or --view; or git ews recover --all", id);
		return EWS_EINTERRUPTED;
	}
	while ((*out = ask()) == ANSWER_VIEW)
		view_and_go_on(ctx, id);
	return 0;
}

/* Recover one, "" being the project itself, about which there is nothing to choose. */
static int recover_one(cJSON *array, struct ews_cmd_ctx *ctx, const char *id, enum answer answer)
{
	EWS_CLEANUP(strv) struct ews_strv done = EWS_STRV_INIT;
	struct ews_progress progress;
	struct ews_recover_opts opts = { .choice = EWS_RECOVER_BEST,
					 .progress = ews_progress_show,
					 .payload = &progress };
	int rc;

	if (*id && answer == ANSWER_NONE) {
		rc = converse(&answer, ctx, id);
		if (rc < 0)
			return rc;
		if (answer == ANSWER_NONE) {
			ews_cmd_note(ctx, "session '%s' is left as it is", id);
			return 1;
		}
	}
	if (answer == ANSWER_VIEW)
		return *id ? view(&ctx->out, ctx, id) : 0;
	if (*id && answer == ANSWER_RESUME)
		opts.choice = EWS_RECOVER_RESUME;
	else if (*id && answer == ANSWER_REVERT)
		opts.choice = EWS_RECOVER_REVERT;
	ews_progress_init(&progress, ctx, "Recovering");
	rc = ews_recover(&done, ctx->repo, id, &opts);
	ews_progress_end(&progress);
	if (rc < 0)
		return rc;
	if (!ctx->json)
		ews_render_recovered_text(&ctx->out, &done);
	else if (*id || done.n)
		cJSON_AddItemToArray(array, ews_render_recovered_json(id, &done));
	return 0;
}

/* One of all that can't be recovered: its error is at hand, and is told among those of what can't be opened. */
static int pass_by(struct ews_error_saved *failed, struct ews_strv *closed, const char *id)
{
	ews_path_line_addf(closed, id, "%s", ews_error_message());
	ews_error_saved_release(failed);
	ews_error_save(failed);
	return 0;
}

/* What can't be opened may be interrupted: it is named, and keeps nobody from the others. Is there any? */
static bool name_closed(cJSON *object, struct ews_cmd_ctx *ctx, const struct ews_strv *closed, const char *only)
{
	cJSON *array = cJSON_AddArrayToObject(object, "not_recovered");
	bool is_any = false;
	size_t i;

	for (i = 0; i < closed->n; i++) {
		EWS_CLEANUP(buf) struct ews_buf id = EWS_BUF_INIT;
		const char *why = ews_path_line_split(&id, closed->items[i]);

		if (only && strcmp(id.ptr, only) != 0)
			continue;
		ews_cmd_warn(ctx, "%s", why);
		cJSON_AddItemToArray(array, ews_render_not_recovered_json(id.ptr, why));
		is_any = true;
	}
	return is_any;
}

/* Whether it is interrupted is to be asked where it works. 1: it is not, but git's link or entry is not as it was made, or an end left something. */
static int choose_named(struct ews_strv *out, const struct ews_strv *interrupted, struct ews_repo *repo,
			const char *id)
{
	int rc;

	if (ews_strv_has(interrupted, id)) {
		ews_strv_add(out, id);
		return 0;
	}
	rc = ews_relink_is_due(repo, id);
	if (rc == 0)
		rc = ews_registration_is_due(repo, id);
	if (rc == 0)
		rc = ews_leaving_is_due(repo, id);
	if (rc > 0)
		ews_strv_add(out, id);
	if (rc >= 0 || rc == EWS_ENOTFOUND)
		return rc;
	return ews_error_if_passing(rc); /* what else is wrong with it is told of all that can't be opened */
}

/*
 * Which are to be recovered: the one named, whose `id` it gives, when it needs it; else all that are, and the project itself.
 * `closed` gets those that can't be opened, and what another work tree has to see to. 1: the named one has nothing to choose about.
 */
static int choose(struct ews_strv *out, char **id, struct ews_strv *closed, struct ews_cmd_ctx *ctx, const char *name)
{
	EWS_CLEANUP(strv) struct ews_strv list = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv elsewhere = EWS_STRV_INIT;
	size_t i;
	int rc;

	rc = ews_recover_list(&list, closed, ctx->repo);
	if (rc == 0)
		rc = ews_recover_elsewhere(&elsewhere, ctx->repo);
	for (i = 0; i < elsewhere.n; i++)
		ews_strv_addf(closed, "\t%s", elsewhere.items[i]);
	if (rc == 0 && name)
		rc = ews_session_resolve(id, ctx->repo, name);
	if (rc < 0)
		return rc;
	if (*id)
		return choose_named(out, &list, ctx->repo, *id);
	ews_strv_add(out, "");
	for (i = 0; i < list.n; i++)
		if (*list.items[i])
			ews_strv_add(out, list.items[i]);
	return 0;
}

/* What was moved in a way that nothing tells: its sessions follow when it is opened. */
static int adopt(const struct ews_cmd_ctx *ctx, const char *moved_from)
{
	EWS_CLEANUP(free) char *was = ews_path_absolute(ctx->cwd, moved_from);
	EWS_CLEANUP(free) char *home = NULL;
	int rc = ews_config_find_home(&home, ctx->home);

	return rc < 0 ? rc : ews_repo_adopt(ctx->cwd, home, was);
}

static int run(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(strv) struct ews_strv ids = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv closed = EWS_STRV_INIT;
	EWS_CLEANUP(error_saved) struct ews_error_saved failed = EWS_ERROR_SAVED_INIT;
	EWS_CLEANUP(free) char *id = NULL;
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("recover");
	cJSON *array = cJSON_AddArrayToObject(object, "recovered");
	struct settings set = { .all = false };
	const struct ews_opt opts[] = {
		EWS_OPT_BOOL(0, "all", &set.all, "all sessions, asking nothing, losing nothing"),
		EWS_OPT_BOOL(0, "resume", &set.resume, "finish the step, go on with the session"),
		EWS_OPT_BOOL(0, "revert", &set.revert, "revert the workspace, end the session"),
		EWS_OPT_BOOL(0, "view", &set.view, "show what the session changed, do nothing"),
		EWS_OPT_STRING(0, "moved-from", &set.moved_from, "dir",
			       "this directory, no git repository, was there before"),
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = { .usage = usage, .opts = opts, .max_words = 1 };
	enum answer answer;
	size_t i;
	int rc, status = 0;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	if (set.resume + set.revert + set.view > 1)
		return ews_error(EWS_EUSAGE, "--resume, --revert and --view exclude each other");
	if (set.all && args.words.n)
		return ews_error(EWS_EUSAGE, "--all takes no session");
	rc = set.moved_from ? adopt(ctx, set.moved_from) : 0;
	if (rc == 0)
		rc = ews_cmd_open_repo(ctx);
	if (rc == 0)
		rc = choose(&ids, &id, &closed, ctx, args.words.items[0]);
	answer = rc > 0 && answer_of(&set) == ANSWER_NONE ? ANSWER_BEST : answer_of(&set);
	for (i = 0; rc >= 0 && i < ids.n; i++) {
		rc = recover_one(array, ctx, ids.items[i], answer);
		status = rc > 0 ? rc : status;
		if (rc < 0 && !id)
			rc = pass_by(&failed, &closed, ids.items[i]);
	}
	if (rc >= 0 && closed.n == 1 && failed.code && !ctx->out.len && !cJSON_GetArraySize(array))
		rc = ews_error_repeat(&failed);
	if (rc < 0)
		return rc;
	if (name_closed(object, ctx, &closed, id))
		status = 1;
	if (ctx->json)
		ews_cmd_json_show(ctx, object);
	else if (!ctx->out.len && !status)
		ews_cmd_note(ctx, "nothing is interrupted");
	return status;
}

const struct ews_cmd ews_cmd_recover = { "recover", "finish or take back what was interrupted", run };
