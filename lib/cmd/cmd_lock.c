/*
 * git ews lock: who may work on the repository. One deep lock is alone, quick ones stand side by side.
 *
 * With a command we stand beside it, and hold the lock as long as it runs: its status is ours. Without one the lock
 * is held for a session, by no process.
 *
 * SPDX-License-Identifier: MIT
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/relay.h"
#include "cmd/cmd.h"
#include "cmd/render_lock.h"
#include "cmd/render_path.h"
#include "work/holding.h"
#include "work/session_lock.h"
#include "work/session_name.h"
#include "work/session_open.h"

#define WAIT_S_MAX (366 * 24 * 3600)
#define STATUS_FAILED 125
#define STATUS_DENIED 126
#define STATUS_NOT_FOUND 127

static const char *const acquire_usage[] = {
	"git ews lock acquire [--deep | --quick] [--intent <text>] [--wait <s>] [--session <id>] [-- <command> [<argument>...]]",
	NULL,
};
static const char *const release_usage[] = { "git ews lock release [<session>]", NULL };
static const char *const status_usage[] = { "git ews lock status", NULL };

struct settings {
	bool deep, quick;
	const char *intent, *wait, *session;
	char *id; /* of the session: whose lock it is, or that the command works in; NULL: none */
	struct ews_holding_opts take;
};

/* Which session it is about. A command needs none, and is not taken to be about the only one that there is. */
static int choose_session(struct settings *set, struct ews_cmd_ctx *ctx, bool has_command)
{
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	const char *env = getenv("EWS_SESSION");
	int rc;

	if (has_command && !set->session && !ctx->repo->here && !(env && *env))
		return 0;
	rc = ews_cmd_open_session(&session, ctx, set->session, !has_command);
	if (rc == 0)
		rc = ews_session_refuse_ended(&session);
	if (rc == 0)
		set->id = ews_strdup(session.state.id);
	return rc;
}

/* What is above us, and ourselves: none of these is in the way of what the command takes. */
static void set_env(struct ews_strv *env, const char *id)
{
	const char *above = getenv(EWS_HOLDING_ENV);
	const size_t len = strlen(EWS_HOLDING_ENV);

	for (char **item = environ; *item; item++)
		if (strncmp(*item, EWS_HOLDING_ENV "=", len + 1) != 0)
			ews_strv_add(env, *item);
	ews_strv_addf(env, EWS_HOLDING_ENV "=%s%s%s", above ? above : "", above && *above ? ":" : "", id);
}

static int fail_to_run(struct ews_cmd_ctx *ctx, int rc)
{
	ctx->failure_status = rc == EWS_ENOTFOUND ? STATUS_NOT_FOUND
			      : rc == EWS_EDENIED ? STATUS_DENIED
						  : STATUS_FAILED;
	return rc;
}

/* Hold it while `command` runs. The descriptor is ours alone: what the command leaves behind holds nothing. */
static int hold_while(struct ews_cmd_ctx *ctx, const struct settings *set, char *const *command)
{
	EWS_CLEANUP(held) struct ews_held held = EWS_HELD_INIT;
	EWS_CLEANUP(strv) struct ews_strv env = EWS_STRV_INIT;
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("lock_run");
	EWS_CLEANUP(fd) int cwd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct ews_relay_result result;
	uint64_t start_ms = ews_clock_monotonic_ms(), held_ms;
	int rc;

	if (cwd < 0)
		return ews_error_os("cannot open the current directory");
	rc = ews_holding_take(&held, ctx->repo, &set->take);
	if (rc < 0)
		return rc;
	held_ms = ews_clock_monotonic_ms();
	set_env(&env, held.id);
	rc = ews_relay_run(&result, &(struct ews_relay){ .argv = command,
							 .env = env.items,
							 .cwd_fd = cwd,
							 .out_fd = ctx->json ? STDERR_FILENO : 0 });
	if (rc < 0)
		return fail_to_run(ctx, rc);
	if (ctx->json) {
		ews_render_string(object, "lock_id", held.id);
		(void)cJSON_AddStringToObject(object, "mode", ews_holding_word(set->take.mode));
		ews_render_string(object, "session_id", set->id);
		ews_json_add_int(object, "waited_ms", (int64_t)(held_ms - start_ms));
		ews_json_add_int(object, "duration_ms", (int64_t)(ews_clock_monotonic_ms() - held_ms));
		ews_json_add_int(object, "status", result.status);
		ews_cmd_json_show(ctx, object);
	}
	return result.status;
}

static int fail_unread(const char *id)
{
	ews_error(EWS_EIO, "cannot read just now what the lock of session '%s' is for", id);
	ews_error_hint("try again, or say it with --intent");
	return EWS_EIO;
}

/* What the session's lock says already, or else what the session is for: to take it anew without a word does not forget that. */
static int find_intent(char **out, struct ews_cmd_ctx *ctx, const char *id)
{
	EWS_CLEANUP(holdings) struct ews_holdings list = EWS_HOLDINGS_INIT;
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	int rc = ews_holding_list(&list, ctx->repo);

	for (size_t i = 0; i < list.n && rc == 0 && !*out; i++) {
		if (strcmp(list.items[i].id, id) != 0)
			continue;
		if (list.items[i].is_unread)
			return fail_unread(id);
		if (*list.items[i].intent)
			*out = ews_strdup(list.items[i].intent);
	}
	if (rc == 0 && !*out)
		rc = ews_session_open(&session, ctx->repo, id);
	if (rc == 0 && !*out && session.state.intent && *session.state.intent)
		*out = ews_strdup(session.state.intent);
	/* Who takes the lock says what else there is. */
	return rc < 0 && ews_error_if_passing(rc) < 0 ? fail_unread(id) : 0;
}

static int hold_for_session(struct ews_cmd_ctx *ctx, struct settings *set)
{
	EWS_CLEANUP(held) struct ews_held none = EWS_HELD_INIT;
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("lock");
	EWS_CLEANUP(free) char *intent = set->intent ? ews_strdup(set->intent) : NULL;
	uint64_t start_ms = ews_clock_monotonic_ms();
	int rc = intent ? 0 : find_intent(&intent, ctx, set->id);

	if (rc < 0)
		return rc;
	set->take.session = set->id;
	set->take.intent = intent;
	rc = ews_holding_take(&none, ctx->repo, &set->take);
	if (rc < 0)
		return rc;
	if (ctx->json) {
		ews_render_string(object, "lock_id", set->id);
		(void)cJSON_AddStringToObject(object, "mode", ews_holding_word(set->take.mode));
		ews_render_string(object, "session_id", set->id);
		ews_render_string(object, "intent", intent);
		ews_json_add_int(object, "waited_ms", (int64_t)(ews_clock_monotonic_ms() - start_ms));
		ews_cmd_json_show(ctx, object);
	} else {
		ews_buf_addf(&ctx->out, "%s\n", set->id);
	}
	return 0;
}

static int acquire(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	struct settings set = { .deep = false };
	const struct ews_opt opts[] = {
		EWS_OPT_BOOL(0, "deep", &set.deep, "beside nobody else"),
		EWS_OPT_BOOL(0, "quick", &set.quick, "beside other quick ones, as without an option"),
		EWS_OPT_STRING(0, "intent", &set.intent, "text", "what it is for, for those who find it locked"),
		EWS_OPT_STRING(0, "wait", &set.wait, "s", "stand in line for at most so many seconds"),
		EWS_OPT_STRING(0, "session", &set.session, "id",
			       "for that session, or for a command that works in it"),
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = { .usage = acquire_usage, .opts = opts, .takes_paths = true };
	int rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	if (set.deep && set.quick)
		return ews_error(EWS_EUSAGE, "--deep and --quick exclude each other");
	set.take.mode = set.deep ? EWS_HOLDING_DEEP : EWS_HOLDING_QUICK;
	set.take.intent = set.intent;
	rc = set.wait ? ews_cmd_seconds(&set.take.wait_ms, set.wait, WAIT_S_MAX) : 0;
	if (rc == 0)
		rc = ews_cmd_open_repo(ctx);
	if (rc == 0)
		rc = choose_session(&set, ctx, args.paths.n > 0);
	if (rc < 0)
		return rc;
	set.take.within = set.id;
	rc = args.paths.n ? hold_while(ctx, &set, args.paths.items) : hold_for_session(ctx, &set);
	free(set.id);
	return rc;
}

/* What a living command holds is not ours to give away. */
static int refuse_command(struct ews_repo *repo, const char *name)
{
	EWS_CLEANUP(holdings) struct ews_holdings list = EWS_HOLDINGS_INIT;
	size_t i;
	int rc;

	rc = ews_repo_need_dir(repo);
	if (rc == 0)
		rc = ews_holding_list(&list, repo);
	for (i = 0; rc == 0 && i < list.n; i++) {
		if (list.items[i].kind != EWS_HOLDING_COMMAND || strcmp(list.items[i].id, name) != 0)
			continue;
		rc = ews_error(EWS_EBUSY, "'%s' is held by a command, process %ld", name,
			       (long)list.items[i].process.pid);
		ews_error_hint("it goes when the command ends");
	}
	if (rc == EWS_ENOTFOUND)
		ews_error_clear();
	return rc == EWS_ENOTFOUND ? 0 : rc;
}

static int release(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("lock_release");
	EWS_CLEANUP(free) char *id = NULL;
	const struct ews_cmd_syntax syntax = { .usage = release_usage, .max_words = 1 };
	int rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	rc = ews_cmd_open_repo(ctx);
	if (rc == 0 && args.words.n)
		rc = refuse_command(ctx->repo, args.words.items[0]);
	if (rc == 0)
		rc = ews_session_resolve(&id, ctx->repo, args.words.items[0]);
	if (rc == 0)
		rc = ews_repo_need_dir(ctx->repo);
	if (rc == 0)
		ews_cmd_meet(ctx, id);
	if (rc == 0)
		rc = ews_holding_drop(ctx->repo, id);
	if (rc < 0)
		return rc;
	if (!rc)
		ews_cmd_note(ctx, "session '%s' holds no lock", id);
	ews_render_string(object, "session_id", id);
	(void)cJSON_AddBoolToObject(object, "released", rc);
	if (ctx->json)
		ews_cmd_json_show(ctx, object);
	return 0;
}

static void show_json(struct ews_cmd_ctx *ctx, const struct ews_holdings *list)
{
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("lock_status");
	cJSON *holders = cJSON_AddArrayToObject(object, "holders");
	cJSON *waiting = cJSON_AddArrayToObject(object, "waiting");
	size_t i;

	for (i = 0; i < list->n; i++)
		cJSON_AddItemToArray(list->items[i].turn ? waiting : holders, ews_render_lock_json(&list->items[i]));
	ews_cmd_json_show(ctx, object);
}

static int status(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(holdings) struct ews_holdings list = EWS_HOLDINGS_INIT;
	const struct ews_cmd_syntax syntax = { .usage = status_usage };
	size_t i;
	int rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	rc = ews_cmd_open_repo(ctx);
	if (rc == 0)
		rc = ews_repo_need_dir(ctx->repo);
	if (rc == 0)
		rc = ews_holding_list(&list, ctx->repo);
	else if (rc == EWS_ENOTFOUND && ctx->repo)
		ews_error_clear(), rc = 0; /* nothing was ever locked */
	if (rc < 0)
		return rc;
	if (ctx->json) {
		show_json(ctx, &list);
		return 0;
	}
	for (i = 0; i < list.n; i++)
		ews_render_lock_line(&ctx->out, &list.items[i]);
	if (!list.n)
		ews_cmd_note(ctx, "nobody holds a lock");
	return 0;
}

static const struct ews_cmd verbs[] = {
	{ "acquire", "take the lock, for a session or while a command runs", acquire },
	{ "release", "let go of a session's lock", release },
	{ "status", "show who holds the lock, and who waits", status },
};

static int run(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	return ews_cmd_run_one_of(verbs, sizeof(verbs) / sizeof(*verbs), ctx, argc, argv);
}

const struct ews_cmd ews_cmd_lock = { "lock", "let one work alone, or several side by side", run };
