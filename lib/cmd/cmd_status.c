/*
 * git ews status and list: the sessions, interrupted ones first.
 *
 * `status` looks into each living workspace and at the project; `list` and `--brief` read
 * the sessions' own records alone.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/terminal.h"
#include "cmd/cmd.h"
#include "cmd/gather.h"
#include "cmd/pager.h"
#include "cmd/progress.h"
#include "cmd/render_path.h"
#include "cmd/render_status.h"
#include "store/astray.h"
#include "store/config_user.h"
#include "work/session_log.h"
#include "work/session_project.h"

#define LOG_BYTES_MAX (16 * EWS_MIB)

static const char *const status_usage[] = {
	"git ews status [--all] [--ended] [--brief | --log | --format <fmt>] [<session>...]",
	NULL,
};

static const char *const list_usage[] = {
	"git ews list [--all] [--ended] [--format <fmt>] [<session>...]",
	NULL,
};

struct settings {
	bool all, ended, log, brief;
	const char *format;
	bool is_list;
	bool is_named; /* sessions are */
};

/* What only a look into workspaces and project tells. */
static bool is_deep(const struct settings *set)
{
	if (!set->format)
		return !set->brief && !set->log && !set->is_list;
	return ews_render_session_format_needs_look(set->format);
}

static int urgency(const struct ews_session_view *view)
{
	if (ews_session_view_is_bad(view))
		return 0;
	return view->session.state.state == EWS_STATE_ENDED ? 2 : 1;
}

/* Interrupted ones first, ended ones last, each newest first. */
static int compare(const void *a, const void *b)
{
	const struct ews_session_view *x = a, *y = b;
	int64_t newer = y->session.state.created_s - x->session.state.created_s;

	if (urgency(x) != urgency(y))
		return urgency(x) - urgency(y);
	if (newer)
		return newer > 0 ? 1 : -1;
	return strcmp(x->id, y->id);
}

/* A line of a log, "<time> <verb> <text>"; what can't be read as one is shown as it is. */
static void add_log_line(struct ews_buf *out, const char *id, const char *line, size_t len)
{
	EWS_CLEANUP(json) cJSON *object = NULL;
	EWS_CLEANUP(buf) struct ews_buf plain = EWS_BUF_INIT;
	const char *time, *verb, *text;

	if (ews_json_parse(&object, line, len) == 0 && ews_json_get_string(&time, object, "timestamp") == 0 &&
	    ews_json_get_string(&verb, object, "verb") == 0 && ews_json_get_string(&text, object, "message") == 0) {
		ews_buf_addf(out, "%s  %s  %-8s  ", time, id, verb);
		ews_render_words(out, text);
		ews_buf_addc(out, '\n');
		return;
	}
	ews_error_clear();
	ews_buf_add(&plain, line, len);
	ews_render_words(out, plain.ptr);
	ews_buf_addc(out, '\n');
}

/* The same in JSON: it is known of a line in its own log whose it is, and not in the many of all sessions. */
static void add_log_json(struct ews_buf *out, const struct ews_session *session, const char *line, size_t len)
{
	EWS_CLEANUP(json) cJSON *object = NULL;
	EWS_CLEANUP(free) char *top = ews_session_top(session);

	if (ews_json_parse(&object, line, len) < 0 || !cJSON_IsObject(object)) {
		ews_error_clear();
		ews_buf_add(out, line, len);
		ews_buf_addc(out, '\n');
		return;
	}
	ews_json_add_bytes(object, "session_id", session->state.id);
	ews_json_add_path(object, "project", top);
	ews_json_print(out, object, false);
}

static int show_log(struct ews_cmd_ctx *ctx, const struct ews_session_view *view)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	const char *line, *end;
	int rc;

	if (!view->is_open)
		return 0;
	rc = ews_file_read_own(&text, view->session.fd, "log", LOG_BYTES_MAX);
	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		rc = 0;
	}
	if (rc == 0)
		rc = ews_session_log_add_said(&text, &view->session);
	if (rc < 0)
		return rc;
	for (line = text.ptr; *line; line = *end ? end + 1 : end) {
		end = line + strcspn(line, "\n");
		if (ctx->json)
			add_log_json(&ctx->out, &view->session, line, (size_t)(end - line));
		else
			add_log_line(&ctx->out, view->id, line, (size_t)(end - line));
	}
	return 0;
}

static int show_logs(struct ews_cmd_ctx *ctx, const struct ews_gathered *all)
{
	int rc = 0;

	ews_pager_start(ctx);
	for (size_t i = 0; rc == 0 && i < all->n; i++)
		rc = show_log(ctx, &all->views[i]);
	return rc;
}

static int show_format(struct ews_cmd_ctx *ctx, const struct ews_gathered *all, const char *format)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < all->n; i++) {
		rc = ews_render_session_format(&ctx->out, &all->views[i], format);
		ews_buf_addc(&ctx->out, ctx->nul ? '\0' : '\n');
	}
	return rc;
}

static void add_steps_json(cJSON *object, const struct ews_gathered *all)
{
	cJSON *array = cJSON_AddArrayToObject(object, "interrupted_steps");

	for (size_t i = 0; i < all->n_steps; i++)
		for (size_t k = 0; k < all->steps[i].steps.n; k++) {
			cJSON *item = cJSON_CreateObject();

			cJSON_AddItemToArray(array, item);
			ews_json_add_path(item, "project", all->steps[i].repo->project);
			ews_render_string(item, "id", all->steps[i].steps.items[k].id);
			ews_render_string(item, "verb", all->steps[i].steps.items[k].verb);
		}
}

/* What is half done in the project matters more than any session, and no line of one shows it. */
static void warn_of_steps(const struct ews_cmd_ctx *ctx, const struct ews_gathered *all)
{
	for (size_t i = 0; i < all->n_steps; i++) {
		const struct ews_interrupted *of = &all->steps[i];

		for (size_t k = 0; k < of->steps.n; k++) {
			(void)ews_step_fail_unfinished(&of->steps.items[k], of->repo);
			ews_cmd_warn(ctx, "%s in '%s': %s", ews_error_message(), of->repo->project,
				     ews_error_hint_text());
			ews_error_clear();
		}
	}
}

static void show_json(struct ews_cmd_ctx *ctx, const struct ews_gathered *all, const struct settings *set)
{
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new(set->is_list ? "list" : "status");
	cJSON *array = cJSON_AddArrayToObject(object, "sessions");

	for (size_t i = 0; i < all->n; i++)
		cJSON_AddItemToArray(array, ews_render_session_json(&all->views[i]));
	add_steps_json(object, all);
	if (set->all)
		ews_render_reasons(object, "problems", "message", &all->problems);
	ews_cmd_json_show(ctx, object);
}

/* As in git status: on a terminal, unless the user has had enough of them. */
static bool wants_hints(const struct ews_cmd_ctx *ctx)
{
	EWS_CLEANUP(free) char *text = NULL;
	bool is_wanted = true;

	if (ctx->quiet || !ews_pager_is_terminal())
		return false;
	if (ews_config_user(&text, "advice.statusHints") < 0 || ews_setting_read_bool(&is_wanted, text) < 0)
		ews_error_clear();
	return is_wanted;
}

static unsigned find_width(void)
{
	return ews_pager_is_terminal() ? ews_terminal_width(STDOUT_FILENO) : 0;
}

static void show_overview(struct ews_cmd_ctx *ctx, const struct ews_gathered *all, const struct settings *set)
{
	const struct ews_status_opts opts = {
		.width = find_width(),
		.color = ews_pager_color(ctx, "status"),
		.hints = wants_hints(ctx),
		.projects = set->all,
		.nul = ctx->nul,
	};

	if (all->n)
		ews_render_status(&ctx->out, all->views, all->n, &opts);
	else
		ews_cmd_note(ctx, "no sessions; 'git ews start' makes one");
}

static void show_each(struct ews_cmd_ctx *ctx, const struct ews_gathered *all)
{
	bool color = ews_pager_color(ctx, "status");

	for (size_t i = 0; i < all->n; i++) {
		if (i)
			ews_buf_addc(&ctx->out, '\n');
		ews_render_session_text(&ctx->out, &all->views[i], color, ctx->verbose, ctx->nul);
	}
}

/* Where sessions are but lines, what their problem is shows nowhere else. It is mostly one for all of them. */
static void warn_of_unsure(const struct ews_cmd_ctx *ctx, const struct ews_gathered *all)
{
	EWS_CLEANUP(strv) struct ews_strv problems = EWS_STRV_INIT;

	for (size_t i = 0; i < all->n; i++)
		if (all->views[i].is_unsure)
			ews_strv_add(&problems, all->views[i].problem);
	ews_strv_sort(&problems);
	ews_strv_unique(&problems);
	for (size_t i = 0; i < problems.n; i++)
		ews_cmd_warn(ctx, "%s", problems.items[i]);
}

static void show_lines(struct ews_cmd_ctx *ctx, const struct ews_gathered *all)
{
	const struct ews_lines_opts opts = {
		.width = ctx->nul ? 0 : find_width(),
		.color = ews_pager_color(ctx, "status"),
		.end = ctx->nul ? '\0' : '\n',
	};

	warn_of_unsure(ctx, all);
	ews_render_session_lines(&ctx->out, all->views, all->n, &opts);
}

/* Where none is to be seen some may be hidden. */
static void note_former(const struct ews_cmd_ctx *ctx)
{
	const struct ews_repo *repo = ctx->repo;
	EWS_CLEANUP(free) char *former = repo->is_plain ? NULL : ews_astray_former(repo->home, repo->project);

	if (former)
		ews_cmd_note(ctx,
			     "what was done when this was no git repository is there while '%s' has another name",
			     repo->git_dir);
}

static int show(struct ews_cmd_ctx *ctx, const struct ews_gathered *all, const struct settings *set)
{
	if (!all->n && ctx->repo && !set->brief && !set->format)
		note_former(ctx);
	if (set->log)
		return show_logs(ctx, all);
	if (!ctx->json && set->format)
		return show_format(ctx, all, set->format);
	if (ctx->json)
		show_json(ctx, all, set);
	else if (set->brief)
		ews_render_status_brief(&ctx->out, all->views, all->n, all->n_steps > 0);
	else if (set->is_list)
		show_lines(ctx, all);
	else if (set->is_named || (ctx->verbose && all->n))
		show_each(ctx, all);
	else
		show_overview(ctx, all, set);
	return 0;
}

static int run(struct ews_cmd_ctx *ctx, struct settings *set, const struct ews_cmd_syntax *syntax, int argc,
	       char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(gathered) struct ews_gathered all = EWS_GATHERED_INIT;
	struct ews_gather_opts opts;
	struct ews_progress progress;
	int rc;

	rc = ews_cmd_parse(&args, ctx, syntax, argc, argv);
	if (rc != 0)
		return rc;
	if (set->log + set->brief + (set->format != NULL) > 1)
		return ews_error(EWS_EUSAGE, "--log, --brief and --format exclude each other");
	if (set->all && args.words.n)
		return ews_error(EWS_EUSAGE, "--all takes no session");

	set->is_named = args.words.n > 0;
	opts = (struct ews_gather_opts){ .ended = set->all || set->ended,
					 .is_deep = is_deep(set),
					 .is_brief = set->brief,
					 .keeps_open = set->log };
	ews_progress_init(&progress, ctx, "Looking at sessions");
	rc = set->all ? ews_gather_all(&all, ctx, &opts, &progress) : ews_cmd_open_repo(ctx);
	/* A prompt is shown everywhere. */
	if (rc == EWS_ENOTFOUND && set->brief && !ctx->json) {
		ews_error_clear();
		return 0;
	}
	/* Here people look for what is wrong: git-ews.c says so of settings that were read. */
	if (rc == 0 && ctx->repo && !set->brief)
		(void)ews_repo_config(ctx->repo);
	if (rc == 0 && !set->all)
		rc = ews_gather_sessions(&all, ctx->repo, &args.words, &opts, &progress);
	ews_progress_end(&progress);
	if (rc < 0)
		return rc;
	ews_render_reasons_talk(ctx, "not looked at", &all.problems);
	if (all.n)
		qsort(all.views, all.n, sizeof(*all.views), compare);
	if (!set->brief && !set->log && !set->format)
		warn_of_steps(ctx, &all);
	for (size_t i = 0; i < all.n && !set->brief && !set->log && !set->format; i++)
		if (all.views[i].is_interrupted)
			ews_cmd_announce(ctx, all.views[i].id);
	return show(ctx, &all, set);
}

static int run_status(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	struct settings set = { .is_list = false };
	const struct ews_opt opts[] = {
		EWS_OPT_BOOL(0, "all", &set.all, "of all projects, ended ones, too"),
		EWS_OPT_BOOL(0, "ended", &set.ended, "ended ones, too"),
		EWS_OPT_BOOL(0, "log", &set.log, "what happened in them"),
		EWS_OPT_BOOL(0, "brief", &set.brief, "a few words, for a prompt"),
		EWS_OPT_STRING(0, "format", &set.format, "fmt", "show %(<field>)s of each, as in git for-each-ref"),
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = {
		.usage = status_usage,
		.opts = opts,
		.max_words = SIZE_MAX,
		.prints_paths = true,
	};

	return run(ctx, &set, &syntax, argc, argv);
}

static int run_list(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	struct settings set = { .is_list = true };
	const struct ews_opt opts[] = {
		EWS_OPT_BOOL(0, "all", &set.all, "of all projects, ended ones, too"),
		EWS_OPT_BOOL(0, "ended", &set.ended, "ended ones, too"),
		EWS_OPT_STRING(0, "format", &set.format, "fmt", "show %(<field>)s of each, as in git for-each-ref"),
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = {
		.usage = list_usage,
		.opts = opts,
		.max_words = SIZE_MAX,
		.prints_paths = true,
	};

	return run(ctx, &set, &syntax, argc, argv);
}

const struct ews_cmd ews_cmd_status = { "status", "show the sessions, interrupted ones first", run_status };
const struct ews_cmd ews_cmd_list = { "list", "show one line a session", run_list };
