/*
 * git ews round: turns of several agents, each in a fresh workspace under a name that tells of nobody.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cmd/cmd.h"
#include "cmd/cmd_diff.h"
#include "cmd/progress.h"
#include "cmd/render_diff.h"
#include "cmd/render_path.h"
#include "cmd/render_round.h"
#include "cmd/render_session.h"
#include "cmd/render_start.h"
#include "cmd/start_opts.h"
#include "work/round_find.h"
#include "work/rules.h"
#include "work/scratch.h"
#include "work/session_open.h"
#include "work/undo_words.h"

static const char *const start_usage[] = {
	"git ews round start --agent <name> [--team <name>] [--base <rev|round>] [--previous <round>]",
	"                    [--label <branch>] [--mode auto|worktree|isolated|legacy] [--partial]",
	NULL,
};
static const char *const end_usage[] = {
	"git ews round end [--team <name>] [--force] [--dry-run] (--agent <name> | --all)",
	NULL,
};
static const char *const peers_usage[] = { "git ews round peers [--team <name>] [--agent <name>]", NULL };
static const char *const prompt_usage[] = { "git ews round prompt [--team <name>] [--agent <name>]", NULL };
static const char *const scratch_usage[] = { "git ews round scratch [--team <name>] [--agent <name>]", NULL };
static const char *const list_usage[] = { "git ews round list [--team <name>]", NULL };
static const char *const show_usage[] = { "git ews round show [--team <name>] <round>", NULL };
static const char *const diff_usage[] = {
	"git ews round diff [--team <name>] [<options of git ews diff>] <round> [<round>] [-- <path>...]",
	NULL,
};

/* Whose rounds a verb is about. */
struct who {
	const char *team_word, *agent_word; /* as given; NULL: not */
	char *team, *agent;
	char *round; /* the one that we stand in; NULL: the agent's */
};

static void release_who(struct who *who)
{
	free(who->team);
	free(who->agent);
	free(who->round);
}

EWS_CLEANUP_DEFINE(who, struct who, release_who)

#define TEAM_OPT(who) EWS_OPT_STRING(0, "team", &(who)->team_word, "name", "of which team; EWS_TEAM, or default")
#define AGENT_OPT(who) EWS_OPT_STRING(0, "agent", &(who)->agent_word, "name", "whose round")

/* Who stands in a workspace, or runs in one and looks from elsewhere, may be an agent, who is not to know who is who. */
static bool may_know_agents(struct ews_repo *repo)
{
	const char *session = getenv("EWS_SESSION");

	return !repo->here && !(session && *session && ews_round_is_session(repo, session));
}

/* By option, by environment, by where we stand, or the one that needs no name. */
static int find_team(struct who *who, struct ews_repo *repo)
{
	const char *env = getenv("EWS_TEAM");
	const char *word = who->team_word ? who->team_word : env && *env ? env : NULL;
	EWS_CLEANUP(round) struct ews_round here = { 0 };
	int rc = !word && repo->here ? ews_round_here(&here, repo) : EWS_EUSAGE;

	if (rc == 0)
		who->team = ews_steal(&here.team);
	if (rc != EWS_EUSAGE)
		return rc;
	ews_error_clear();
	who->team = ews_strdup(word ? word : "default");
	return ews_round_check_name("a team", who->team);
}

/* Who stands in the workspace of a round need not know whose it is. */
static int find_agent(struct who *who, struct ews_repo *repo)
{
	EWS_CLEANUP(round) struct ews_round here = { 0 };
	int rc;

	if (!who->agent_word) {
		rc = ews_round_here(&here, repo);
		if (rc < 0)
			return rc;
		who->team = ews_steal(&here.team);
		who->agent = ews_steal(&here.agent);
		who->round = ews_steal(&here.id);
		if (!who->team_word || !strcmp(who->team_word, who->team))
			return 0;
		ews_error(EWS_EUSAGE, "the round here is one of team '%s', not of '%.80s'", who->team,
			  who->team_word);
		ews_error_hint("leave out --team, or name the agent with --agent");
		return EWS_EUSAGE;
	}
	who->agent = ews_strdup(who->agent_word);
	rc = ews_round_check_name("an agent", who->agent);
	return rc < 0 ? rc : find_team(who, repo);
}

/* The one that we stand in, else the agent's; NULL: there is none. */
static int find_round(const struct ews_round **out, const struct ews_rounds *rounds, const struct who *who)
{
	int rc;

	*out = who->round ? NULL : ews_round_of(rounds, who->agent);
	rc = who->round ? ews_round_find(out, rounds, who->round) : 0;
	if (rc != EWS_ENOTFOUND)
		return rc;
	ews_error_clear(); /* its start was killed */
	return 0;
}

/* ---- start, end ---- */

static const struct {
	const char *mode, *method;
} modes[] = { { "auto", NULL }, { "worktree", "worktree" }, { "isolated", "snapshot" }, { "legacy", "in-place" } };

static int choose_mode(struct ews_start_settings *set, const char *mode)
{
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		if (mode && strcmp(mode, modes[i].mode) != 0)
			continue;
		set->method = modes[i].method;
		return 0;
	}
	ews_error(EWS_EUSAGE, "--mode takes auto, worktree, isolated or legacy, not '%s'", mode);
	return EWS_EUSAGE;
}

/* What is done, or can be said of the others, is said all the same. */
static void show_damaged(const struct ews_cmd_ctx *ctx, cJSON *object, const struct ews_round_problems *damaged)
{
	EWS_CLEANUP(strv) struct ews_strv all = EWS_STRV_INIT;

	ews_strv_add_array(&all, damaged->lost.items);
	ews_strv_add_array(&all, damaged->unread.items);
	ews_strv_sort(&all);
	ews_render_reasons(object, "damaged", "message", &all);
	ews_render_reasons_talk(ctx, "damaged", &damaged->lost);
	ews_render_reasons_talk(ctx, "not shown", &damaged->unread);
}

static void fill_end(cJSON *object, struct ews_round_problems *damaged, struct ews_cmd_ctx *ctx,
		     const struct ews_round_end_result *result, bool with_agents)
{
	cJSON *changes;

	ews_render_round(object, damaged, ctx->repo, &result->round, with_agents);
	changes = cJSON_GetObjectItemCaseSensitive(object, "changes");
	if (cJSON_IsObject(changes) && !result->had_ended)
		ews_render_reasons(changes, "not_in_patch", "what", &result->ended.branch_notes.left_out);
	(void)cJSON_AddBoolToObject(object, "had_ended", result->had_ended);
	ews_render_round_end(object, result);
}

/* Those whose record can't be read are named as the others are. */
static void add_unread(struct ews_round_problems *damaged, const struct ews_rounds *rounds)
{
	for (size_t i = 0; i < rounds->n_unread; i++) {
		(void)ews_error_repeat(&rounds->unread[i].why);
		ews_render_round_problem(NULL, damaged, rounds->unread[i].id);
	}
}

static void show_start(struct ews_cmd_ctx *ctx, const struct ews_round_start_result *result)
{
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("round_start");
	const struct ews_state *state = &result->started.session.state;
	EWS_CLEANUP(free) char *removed = result->removed ? ews_strfmt("ews/%s", result->removed) : NULL;
	EWS_CLEANUP(free) char *undo = ews_undo_words(ctx->repo, NULL);
	EWS_CLEANUP(round_problems) struct ews_round_problems damaged = EWS_ROUND_PROBLEMS_INIT;

	if (!ctx->json) {
		ews_cmd_add_place(ctx, state->workspace);
		ews_cmd_note(ctx, "round ews/%s%s%s", result->round.id, result->round.is_branched ? ", branch " : "",
			     result->round.is_branched ? result->round.branch : "");
		ews_render_round_end_talk(ctx, &result->ended, true);
		if (removed)
			ews_cmd_note(ctx, "%s went to trash; '%s' brings it back", removed, undo);
		return;
	}
	ews_render_round(object, &damaged, ctx->repo, &result->round, true);
	ews_render_string(object, "session_id", state->id);
	ews_json_add_path(object, "path", state->workspace);
	ews_render_string(object, "method", ews_render_method(state->method));
	ews_render_string(object, "removed", removed);
	if (result->ended.round.id)
		fill_end(cJSON_AddObjectToObject(object, "ended"), &damaged, ctx, &result->ended, true);
	else
		(void)cJSON_AddNullToObject(object, "ended");
	ews_render_start_notes(object, &result->started);
	show_damaged(ctx, object, &damaged);
	ews_cmd_json_show(ctx, object);
}

static int start(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(start_settings) struct ews_start_settings set = EWS_START_SETTINGS_INIT;
	EWS_CLEANUP(round_start_result) struct ews_round_start_result result = EWS_ROUND_START_RESULT_INIT;
	EWS_CLEANUP(who) struct who who = { .team = NULL };
	struct ews_round_start_opts round = { .start = &set.start };
	struct ews_progress progress;
	const char *mode = NULL;
	const struct ews_opt opts[] = {
		AGENT_OPT(&who),
		TEAM_OPT(&who),
		EWS_OPT_STRING(0, "base", &round.base, "rev|round",
			       "begin at that, with nothing of what is uncommitted"),
		EWS_OPT_STRING(0, "previous", &round.previous, "round", "take the agent's former round away"),
		EWS_OPT_STRING(0, "label", &round.label, "branch", "make a branch as well"),
		EWS_OPT_STRING(0, "mode", &mode, "auto|worktree|isolated|legacy", "how the workspace is made"),
		EWS_OPT_BOOL(0, "partial", &set.start.partial, "leave out what is over a limit, instead of failing"),
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = { .usage = start_usage, .opts = opts, .prints_paths = true };
	int rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	if (!who.agent_word)
		return ews_error(EWS_EUSAGE, "--agent is missing");
	rc = choose_mode(&set, mode);
	if (rc == 0)
		rc = ews_start_opts_settle(&set);
	if (rc == 0)
		rc = ews_start_opts_open(&set, ctx);
	if (rc == 0)
		rc = find_agent(&who, ctx->repo);
	if (rc < 0)
		return rc;
	round.team = who.team;
	round.agent = who.agent;
	set.start.progress = ews_progress_show;
	set.start.payload = &progress;
	ews_progress_init(&progress, ctx, "Making the workspace");
	rc = ews_round_start(&result, ctx->repo, &round);
	ews_progress_end(&progress);
	if (rc < 0)
		return rc;
	ews_render_start_talk(ctx, &result.started);
	ctx->made = ews_strdup(result.started.session.state.id);
	show_start(ctx, &result);
	ews_cmd_clean_now_and_then(ctx);
	return 0;
}

struct ending {
	struct who who;
	bool all, dry_run, with_agents;
	struct ews_round_end_opts opts;
	cJSON *rounds; /* with --json */
	struct ews_round_problems damaged; /* rounds whose changes can't be had */
};

static void show_end(struct ews_cmd_ctx *ctx, struct ending *set, const struct ews_round_end_result *result)
{
	if (ctx->json) {
		cJSON *object = cJSON_CreateObject();

		cJSON_AddItemToArray(set->rounds, object);
		fill_end(object, &set->damaged, ctx, result, set->with_agents);
		return;
	}
	if (!set->all)
		ews_buf_addf(&ctx->out, "ews/%s\n", result->round.id);
	if (result->had_ended)
		ews_cmd_note(ctx, "round 'ews/%s' has ended before", result->round.id);
	ews_render_round_end_talk(ctx, result, set->all);
}

static int end_one(struct ews_cmd_ctx *ctx, struct ending *set, const char *agent, const char *round)
{
	EWS_CLEANUP(round_end_result) struct ews_round_end_result result = EWS_ROUND_END_RESULT_INIT;
	struct ews_progress progress;
	int rc;

	set->opts.progress = ews_progress_show;
	set->opts.payload = &progress;
	set->opts.round = round;
	ews_progress_init(&progress, ctx, "Ending the round");
	rc = ews_round_end(&result, ctx->repo, set->who.team, agent, &set->opts);
	ews_progress_end(&progress);
	if (rc == 0)
		show_end(ctx, set, &result);
	return rc;
}

/* Who is told of a failure is to know what is over all the same. */
static int end_open(struct ews_cmd_ctx *ctx, struct ending *set, const struct ews_rounds *rounds)
{
	EWS_CLEANUP(buf) struct ews_buf over = EWS_BUF_INIT;
	int rc = 0;

	for (size_t i = 0; i < rounds->n && rc == 0; i++) {
		const struct ews_round *round = &rounds->items[i];

		if (!round->is_open || !round->is_settled)
			continue;
		rc = end_one(ctx, set, round->agent, round->id);
		if (rc == 0)
			ews_buf_addf(&over, "%s'ews/%s'", over.len ? ", " : "", round->id);
	}
	return rc < 0 && over.len ? ews_error_wrap("the others go on, but %s ended", over.ptr) : rc;
}

/* Of a dry run: what is known of a round that would end. */
static void add_round(struct ews_cmd_ctx *ctx, struct ending *set, const struct ews_round *round)
{
	cJSON *object = cJSON_CreateObject();

	cJSON_AddItemToArray(set->rounds, object);
	ews_render_round(object, &set->damaged, ctx->repo, round, set->with_agents);
}

static void name_open(struct ews_cmd_ctx *ctx, struct ending *set, const struct ews_rounds *rounds)
{
	for (size_t i = 0; i < rounds->n && ctx->json; i++)
		if (rounds->items[i].is_open && rounds->items[i].is_settled)
			add_round(ctx, set, &rounds->items[i]);
}

/* End those that go on, then all refs go as one step. */
static int end_all(struct ews_cmd_ctx *ctx, struct ending *set, cJSON *object)
{
	EWS_CLEANUP(rounds) struct ews_rounds rounds = EWS_ROUNDS_INIT;
	EWS_CLEANUP(strv) struct ews_strv names = EWS_STRV_INIT;
	EWS_CLEANUP(free) char *undo = ews_undo_words(ctx->repo, NULL);
	int rc;

	rc = ews_rounds_read(&rounds, ctx->repo, set->who.team);
	if (rc < 0)
		return rc;
	if (set->dry_run)
		name_open(ctx, set, &rounds);
	else
		rc = end_open(ctx, set, &rounds);
	for (size_t i = 0; i < rounds.n && set->dry_run; i++)
		if (rounds.items[i].is_settled && !ews_oid_is_none(&rounds.items[i].tip))
			ews_strv_addf(&names, "ews/%s", rounds.items[i].id);
	if (rc == 0 && !set->dry_run)
		rc = ews_rounds_drop(&names, ctx->repo, set->who.team);
	if (rc < 0)
		return rc;
	ews_render_sentences(object, "dropped", &names);
	for (size_t i = 0; i < names.n && !ctx->json; i++)
		ews_buf_addf(&ctx->out, "%s\n", names.items[i]);
	if (names.n && !set->dry_run)
		ews_cmd_note(ctx, "they went to trash; '%s' brings them back", undo);
	return 0;
}

static int name_only(struct ews_cmd_ctx *ctx, struct ending *set)
{
	EWS_CLEANUP(rounds) struct ews_rounds rounds = EWS_ROUNDS_INIT;
	const struct ews_round *round;
	int rc;

	rc = ews_rounds_read(&rounds, ctx->repo, set->who.team);
	if (rc == 0)
		rc = find_round(&round, &rounds, &set->who);
	if (rc < 0)
		return rc;
	if (!round)
		return ews_error(EWS_ENOTFOUND, "agent '%s' has no round in team '%s'", set->who.agent,
				 set->who.team);
	if (ctx->json)
		add_round(ctx, set, round);
	else
		ews_buf_addf(&ctx->out, "ews/%s\n", round->id);
	return 0;
}

static int end(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("round_end");
	struct ending set = { .rounds = cJSON_AddArrayToObject(object, "rounds") };
	const struct ews_opt opts[] = {
		AGENT_OPT(&set.who),
		TEAM_OPT(&set.who),
		EWS_OPT_BOOL(0, "all", &set.all, "end all rounds of the team, and move their refs to trash"),
		EWS_OPT_BOOL('f', "force", &set.opts.force, "although a process uses the workspace, or it is gone"),
		EWS_OPT_BOOL('n', "dry-run", &set.dry_run, "say which would end, and do nothing"),
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = { .usage = end_usage, .opts = opts };
	int rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	if (set.all && set.who.agent_word)
		return ews_error(EWS_EUSAGE, "--all and --agent exclude each other");
	rc = ews_cmd_open_repo(ctx);
	if (rc == 0)
		rc = set.all ? find_team(&set.who, ctx->repo) : find_agent(&set.who, ctx->repo);
	/* It goes with the round: looked at before. */
	set.with_agents = rc == 0 && may_know_agents(ctx->repo);
	if (rc == 0 && set.all)
		rc = end_all(ctx, &set, object);
	else if (rc == 0)
		rc = set.dry_run ? name_only(ctx, &set) : end_one(ctx, &set, set.who.agent, set.who.round);
	(void)cJSON_AddBoolToObject(object, "dry_run", set.dry_run);
	show_damaged(ctx, object, &set.damaged);
	if (rc == 0 && ctx->json)
		ews_cmd_json_show(ctx, object);
	release_who(&set.who);
	ews_round_problems_release(&set.damaged);
	return rc;
}

/* ---- what others do ---- */

struct view {
	struct who who;
	struct ews_rounds rounds;
	struct ews_strv archives;
	struct ews_round_problems damaged;
	struct ews_render_team team;
};

static void release_view(struct view *view)
{
	release_who(&view->who);
	ews_rounds_release(&view->rounds);
	ews_strv_release(&view->archives);
	ews_round_problems_release(&view->damaged);
	free(view->team.peers);
}

EWS_CLEANUP_DEFINE(view, struct view, release_view)

/* Has the agent's workspace a repository of its own, or none? */
static int is_private(struct ews_repo *repo, const struct ews_round *own)
{
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	int rc = !repo->is_plain && own && own->is_open ? ews_session_open(&session, repo, own->id) : EWS_ENOTFOUND;

	if (rc == 0)
		return session.method == &ews_method_snapshot;
	return ews_error_if_passing(rc) < 0 ? rc : repo->is_plain;
}

/* Read the command line and all that the agent may see. Nothing is written. */
static int look(struct view *view, struct ews_cmd_ctx *ctx, const char *const *usage, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	const struct ews_opt opts[] = { AGENT_OPT(&view->who), TEAM_OPT(&view->who), EWS_OPTS_END };
	const struct ews_cmd_syntax syntax = { .usage = usage, .opts = opts, .prints_paths = usage == scratch_usage };
	int rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	rc = ews_cmd_open_repo(ctx);
	if (rc == 0)
		rc = find_agent(&view->who, ctx->repo);
	if (rc == 0)
		rc = ews_rounds_read_sound(&view->rounds, ctx->repo, view->who.team);
	if (rc == 0)
		rc = find_round(&view->team.own, &view->rounds, &view->who);
	if (rc == 0)
		rc = ews_scratch_list(&view->archives, ctx->repo, view->who.team);
	if (rc < 0)
		return rc;
	add_unread(&view->damaged, &view->rounds);
	ews_round_peers(&view->team.peers, &view->team.n, &view->rounds, view->who.agent);
	view->team.archives = &view->archives;
	view->team.damaged = &view->damaged;
	rc = is_private(ctx->repo, view->team.own);
	view->team.is_private = rc > 0;
	return rc < 0 ? rc : 0;
}

#define VIEW_INIT { .rounds = EWS_ROUNDS_INIT, .archives = EWS_STRV_INIT }

static int peers(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(view) struct view view = VIEW_INIT;
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("round_peers");
	int rc;

	rc = look(&view, ctx, peers_usage, argc, argv);
	if (rc != 0)
		return rc;
	if (ctx->json)
		ews_render_peers_json(cJSON_AddArrayToObject(object, "peers"), ctx->repo, &view.team);
	else
		ews_render_peers(&ctx->out, ctx->repo, &view.team, "");
	show_damaged(ctx, object, &view.damaged);
	if (ctx->json)
		ews_cmd_json_show(ctx, object);
	return 0;
}

static int prompt(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(view) struct view view = VIEW_INIT;
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("round_prompt");
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(free) char *name = NULL;
	int rc;

	rc = look(&view, ctx, prompt_usage, argc, argv);
	if (rc != 0)
		return rc;
	ews_render_prompt(&text, ctx->repo, &view.team);
	if (!ctx->json) {
		ews_buf_add(&ctx->out, text.ptr, text.len);
		show_damaged(ctx, object, &view.damaged);
		return 0;
	}
	name = view.team.own ? ews_strfmt("ews/%s", view.team.own->id) : NULL;
	ews_render_string(object, "round", name);
	ews_render_string(object, "scratch", EWS_SCRATCH "/");
	ews_render_paths(object, "scratch_archives", &view.archives);
	ews_render_peers_json(cJSON_AddArrayToObject(object, "peers"), ctx->repo, &view.team);
	ews_json_add_text(object, "text", text.ptr, text.len);
	show_damaged(ctx, object, &view.damaged);
	ews_cmd_json_show(ctx, object);
	return 0;
}

/* Scratch in the workspace of the agent's round, made anew where it is gone; NULL: the agent has no workspace. The caller frees it. */
static int find_scratch(char **out, struct ews_repo *repo, const struct ews_round *own)
{
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	int rc = own && own->is_open ? ews_session_open(&session, repo, own->id) : EWS_ENOTFOUND;

	if (rc < 0)
		return ews_error_if_passing(rc);
	rc = ews_scratch_make(&session);
	if (rc < 0)
		return rc;
	*out = ews_strfmt("%s/" EWS_SCRATCH, session.state.workspace);
	return 0;
}

/* Why the agent has none, where that is an error. */
static void show_no_scratch(const struct ews_cmd_ctx *ctx, struct ews_round_problems *damaged,
			    const struct ews_round *own)
{
	EWS_CLEANUP(free) char *name = ews_strfmt("ews/%s", own->id);

	if (ctx->json) {
		ews_render_add_problem(&damaged->lost, name);
		return;
	}
	ews_cmd_warn(ctx, "%s", ews_error_message());
	if (*ews_error_hint_text())
		ews_cmd_say("hint: ", ews_error_hint_text());
	ews_error_clear();
}

/* What earlier rounds archived is there whatever became of the workspace. */
static int scratch(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(view) struct view view = VIEW_INIT;
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("round_scratch");
	EWS_CLEANUP(free) char *path = NULL;
	int rc;

	rc = look(&view, ctx, scratch_usage, argc, argv);
	if (rc != 0)
		return rc;
	rc = find_scratch(&path, ctx->repo, view.team.own);
	if (rc < 0)
		show_no_scratch(ctx, &view.damaged, view.team.own);
	if (ctx->json) {
		if (path)
			ews_json_add_path(object, "path", path);
		else
			(void)cJSON_AddNullToObject(object, "path");
		ews_render_paths(object, "archives", &view.archives);
		show_damaged(ctx, object, &view.damaged);
		ews_cmd_json_show(ctx, object);
		return rc < 0;
	}
	if (path)
		ews_cmd_add_place(ctx, path);
	for (size_t i = 0; i < view.archives.n; i++)
		ews_cmd_add_place(ctx, view.archives.items[i]);
	show_damaged(ctx, object, &view.damaged);
	return rc < 0;
}

/* ---- all of a team ---- */

/* Read the command line and the team's rounds, as far as they can be read. */
static int open_team(struct ews_rounds *rounds, struct ews_cmd_args *args, struct who *who, struct ews_cmd_ctx *ctx,
		     const char *const *usage, size_t words, int argc, char **argv)
{
	const struct ews_opt opts[] = { TEAM_OPT(who), EWS_OPTS_END };
	const struct ews_cmd_syntax syntax = { .usage = usage, .opts = opts, .min_words = words, .max_words = words };
	int rc;

	rc = ews_cmd_parse(args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	rc = ews_cmd_open_repo(ctx);
	if (rc == 0)
		rc = find_team(who, ctx->repo);
	return rc < 0 ? rc : ews_rounds_read_sound(rounds, ctx->repo, who->team);
}

static int list(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(rounds) struct ews_rounds rounds = EWS_ROUNDS_INIT;
	EWS_CLEANUP(who) struct who who = { .team = NULL };
	EWS_CLEANUP(round_problems) struct ews_round_problems damaged = EWS_ROUND_PROBLEMS_INIT;
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("round_list");
	cJSON *array = cJSON_AddArrayToObject(object, "rounds");
	bool with_agents;
	int rc;

	rc = open_team(&rounds, &args, &who, ctx, list_usage, 0, argc, argv);
	if (rc != 0)
		return rc;
	with_agents = may_know_agents(ctx->repo);
	for (size_t i = 0; i < rounds.n; i++) {
		const struct ews_round *round = &rounds.items[i];

		if (!round->is_settled || (!round->is_open && ews_oid_is_none(&round->tip)))
			continue;
		if (ctx->json) {
			cJSON *item = cJSON_CreateObject();

			cJSON_AddItemToArray(array, item);
			ews_render_round(item, &damaged, ctx->repo, round, with_agents);
			continue;
		}
		ews_buf_addf(&ctx->out, "ews/%s  %-5s  %s", round->id, ews_render_round_state(round),
			     *round->label ? round->label : round->alias);
		if (with_agents)
			ews_buf_addf(&ctx->out, " (%s)", round->agent);
		ews_buf_adds(&ctx->out, "  ");
		ews_render_round_summary(&ctx->out, &damaged, ctx->repo, round);
		ews_buf_addc(&ctx->out, '\n');
	}
	for (size_t i = 0; i < rounds.n_unread && !ctx->json; i++) {
		(void)ews_error_repeat(&rounds.unread[i].why);
		ews_buf_addf(&ctx->out, "ews/%s  ", rounds.unread[i].id);
		ews_render_round_problem(&ctx->out, &damaged, rounds.unread[i].id);
		ews_buf_addc(&ctx->out, '\n');
	}
	if (ctx->json)
		add_unread(&damaged, &rounds);
	show_damaged(ctx, object, &damaged);
	if (ctx->json)
		ews_cmd_json_show(ctx, object);
	return 0;
}

static int show(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(rounds) struct ews_rounds rounds = EWS_ROUNDS_INIT;
	EWS_CLEANUP(who) struct who who = { .team = NULL };
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("round");
	EWS_CLEANUP(diff) struct ews_diff diff = EWS_DIFF_INIT;
	EWS_CLEANUP(round_problems) struct ews_round_problems damaged = EWS_ROUND_PROBLEMS_INIT;
	const struct ews_round *round;
	char hex[EWS_OID_HEX_MAX];
	int rc;

	rc = open_team(&rounds, &args, &who, ctx, show_usage, 1, argc, argv);
	if (rc != 0)
		return rc;
	rc = ews_round_find(&round, &rounds, args.words.items[0]);
	if (rc == 0)
		rc = ews_round_compare(&diff, ctx->repo, round);
	if (rc < 0)
		return rc;
	if (ctx->json) {
		ews_render_round(object, &damaged, ctx->repo, round, may_know_agents(ctx->repo));
		ews_render_string(object, "scratch_archive", round->archive);
		ews_cmd_json_show(ctx, object);
		return 0;
	}
	ews_buf_addf(&ctx->out, "Round: ews/%s\nState: %s\nLabel: %s\n", round->id, ews_render_round_state(round),
		     *round->label ? round->label : round->alias);
	if (may_know_agents(ctx->repo))
		ews_buf_addf(&ctx->out, "Agent: %s of team %s\n", round->agent, round->team);
	ews_buf_addf(&ctx->out, "Base: %s\n", round->base);
	if (!ews_oid_is_none(&round->tip))
		ews_buf_addf(&ctx->out, "Commit: %s\n", ews_oid_hex(hex, &round->tip));
	if (round->is_branched)
		ews_buf_addf(&ctx->out, "Branch: %s\n", round->branch);
	return ews_render_changes_text(&ctx->out, ctx->repo, &diff, EWS_CHANGES_FILES, false);
}

/* One round: its base and its work, or what it is at now. Two: the work of the one and the other. */
static int translate(void *payload, struct ews_cmd_ctx *ctx, struct ews_strv *words)
{
	struct who *who = payload;
	EWS_CLEANUP(rounds) struct ews_rounds rounds = EWS_ROUNDS_INIT;
	EWS_CLEANUP(strv) struct ews_strv names = EWS_STRV_INIT;
	const struct ews_round *round;
	char hex[EWS_OID_HEX_MAX];
	int rc;

	ews_strv_add_array(&names, words->items);
	ews_strv_clear(words);
	rc = find_team(who, ctx->repo);
	if (rc == 0)
		rc = ews_rounds_read_sound(&rounds, ctx->repo, who->team);
	for (size_t i = 0; i < names.n && rc == 0; i++) {
		rc = ews_round_find(&round, &rounds, names.items[i]);
		if (rc == 0 && ews_oid_is_none(&round->tip))
			rc = ews_error(EWS_ENOTFOUND, "the round 'ews/%s' has gone", round->id);
		if (rc < 0)
			break;
		if (names.n == 1 && round->is_open) {
			ews_strv_add(words, round->id);
			break;
		}
		if (names.n == 1)
			ews_strv_add(words, round->base);
		ews_strv_add(words, ews_oid_hex(hex, &round->tip));
	}
	return rc;
}

static int diff(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(who) struct who who = { .team = NULL };
	const struct ews_opt opts[] = { TEAM_OPT(&who), EWS_OPTS_END };
	const struct ews_diff_verb verb = {
		.usage = diff_usage, .opts = opts, .min_words = 1, .translate = translate, .payload = &who
	};

	return ews_cmd_diff_as(&verb, ctx, argc, argv);
}

static const struct ews_cmd verbs[] = {
	{ "start", "start an agent's round, print its workspace's path", start },
	{ "end", "keep a round's work under its name, take the workspace away", end },
	{ "peers", "show what the others did", peers },
	{ "prompt", "print the section for an agent's instructions", prompt },
	{ "scratch", "print where scratch is, and was archived", scratch },
	{ "list", "list the team's rounds", list },
	{ "show", "show one", show },
	{ "diff", "show a round's work as a patch, or compare two", diff },
};

static int run(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	return ews_cmd_run_one_of(verbs, sizeof(verbs) / sizeof(*verbs), ctx, argc, argv);
}

const struct ews_cmd ews_cmd_round = { "round", "turns of several agents, under anonymous names", run };
