/*
 * git ews run, git ews shell: the whole life of a session in one line.
 *
 * A session is made (or the one that is named taken), the command runs in its workspace, and then a
 * snapshot is taken, the patch stored, and the session ended or kept. What the command
 * prints is the answer; all that we say goes to stderr, and the object of --json alone to stdout.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "base/str.h"
#include "cmd/changes_opt.h"
#include "cmd/cmd.h"
#include "cmd/render_farewell.h"
#include "cmd/render_path.h"
#include "cmd/render_report.h"
#include "cmd/render_revert.h"
#include "cmd/render_run.h"
#include "cmd/render_session.h"
#include "cmd/start_opts.h"
#include "work/completion.h"
#include "work/confine.h"
#include "work/round_find.h"
#include "work/run.h"
#include "work/session_lock.h"
#include "work/session_open.h"
#include "work/session_project.h"
#include "work/user_hook.h"

#define TIMEOUT_S_MAX 1000000000u

#define STATUS_DENIED 126
#define STATUS_NOT_FOUND 127

static const char *const run_usage[] = {
	"git ews run [<options>] [<session> | --new[=<id>]] -- <command> [<argument>...]",
	NULL,
};

static const char *const shell_usage[] = {
	"git ews shell [<options>] [<session> | --new[=<id>]]",
	NULL,
};

struct settings {
	bool is_shell;
	struct ews_start_settings start;
	struct ews_strv env, writable;
	const char *guard, *policy, *changes_word, *new_id, *timeout;
	uint64_t timeout_ms;
	bool no_network, keep, end, reap, log, fail_on_change;
	enum ews_changes_mode changes;
};

static void release_settings(struct settings *set)
{
	ews_start_settings_release(&set->start);
	ews_strv_release(&set->env);
	ews_strv_release(&set->writable);
}

EWS_CLEANUP_DEFINE(settings, struct settings, release_settings)

static int parse(struct settings *set, struct ews_cmd_args *args, struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	const struct ews_opt opts[] = {
		EWS_OPT_OPTIONAL(0, "new", &set->new_id, "id", "",
				 "make a session, as without a name; give it this id"),
		EWS_OPT_STRING(0, "guard", &set->guard, "auto|strict|advise|off", "how git commands are held"),
		EWS_OPT_STRING(0, "policy", &set->policy, "read-only|inside", "which git commands may pass"),
		EWS_OPT_BOOL(0, "no-network", &set->no_network, "keep the command from the network"),
		EWS_OPT_LIST(0, "allow-write", &set->writable, "dir", "let the command write in that directory, too"),
		EWS_OPT_LIST(0, "env", &set->env, "name=value", "set a variable for the command"),
		EWS_OPT_STRING(0, "timeout", &set->timeout, "seconds", "end the command after that time"),
		EWS_CHANGES_OPT(&set->changes_word),
		EWS_OPT_BOOL(0, "keep", &set->keep, "keep the session, whatever the settings say"),
		EWS_OPT_BOOL(0, "end", &set->end, "end the session, whatever the settings say"),
		EWS_OPT_BOOL(0, "reap", &set->reap, "end the processes that the command leaves behind"),
		EWS_OPT_BOOL(0, "log", &set->log, "copy what the command prints into a file"),
		EWS_OPT_BOOL(0, "fail-on-change", &set->fail_on_change,
			     "exit with 1 when the project changed meanwhile"),
		EWS_OPTS_END,
	};
	struct ews_opt start_opts[EWS_START_OPTS_MAX];
	const struct ews_cmd_syntax syntax = {
		.usage = set->is_shell ? shell_usage : run_usage,
		.opts = opts,
		.more_opts = start_opts,
		.max_words = 1,
		.takes_paths = !set->is_shell,
	};

	ews_start_opts_table(start_opts, &set->start);
	return ews_cmd_parse(args, ctx, &syntax, argc, argv);
}

static int check_env(const struct ews_strv *env)
{
	size_t i;

	for (i = 0; i < env->n; i++)
		if (*env->items[i] == '=' || !strchr(env->items[i], '='))
			return ews_error(EWS_EUSAGE, "--env takes <name>=<value>, not '%s'", env->items[i]);
	return 0;
}

/* One of the words of `setting`, from the option or as it is set. */
static int choose_word(const char **word, const struct ews_config *config, const char *option, const char *setting)
{
	struct ews_setting_value value;
	int rc;

	if (!*word)
		return ews_config_word(word, config, setting);
	rc = ews_setting_read(&value, ews_setting_find(setting), *word);
	if (rc < 0)
		return ews_error(EWS_EUSAGE, "%s: %s", option, ews_error_message());
	*word = value.text;
	return 0;
}

/* How the command is to be guarded, what it may write, and whether that can be had. */
static int choose_guard(struct settings *set, struct ews_repo *repo, const struct ews_method *method)
{
	const struct ews_config *config = ews_repo_config(repo);
	int rc;

	rc = choose_word(&set->guard, config, "--guard", "ews.guard.level");
	if (rc == 0)
		rc = choose_word(&set->policy, config, "--policy", "ews.guard.policy");
	if (rc < 0)
		return rc;
	if (!strcmp(set->guard, "strict")) {
		ews_error(EWS_EUNSUPPORTED,
			  "the guard level strict needs private mount, process and network namespaces, which this version can't make");
		ews_error_hint("--guard=auto holds writing where the kernel can");
		return EWS_EUNSUPPORTED;
	}
	rc = ews_confine_settle(&set->writable, repo);
	if (rc < 0)
		return rc;
	/* What stays inside must have an inside: a repository that is the workspace's own. */
	if (strcmp(set->policy, "inside") != 0 || method == &ews_method_snapshot || (!method && repo->is_plain))
		return 0;
	ews_error(EWS_EUSAGE, "the guard policy inside is for workspaces with a repository of their own");
	ews_error_hint("--method snapshot makes one; a worktree and the project itself share theirs");
	return EWS_EUSAGE;
}

static int settle(struct settings *set, const struct ews_cmd_ctx *ctx, const struct ews_cmd_args *args)
{
	int rc;

	if (!args->paths.n && !set->is_shell) {
		ews_error(EWS_EUSAGE, "a command is missing");
		ews_error_hint("it stands after '--', as in: git ews run -- make test");
		return EWS_EUSAGE;
	}
	if (set->keep && set->end)
		return ews_error(EWS_EUSAGE, "--keep and --end exclude each other");
	if (args->words.n && set->new_id)
		return ews_error(EWS_EUSAGE, "--new makes a session, and '%s' names one", args->words.items[0]);
	if (args->words.n && ews_start_opts_is_any(&set->start)) {
		ews_error(EWS_EUSAGE, "the options of 'git ews start' are for a new session, and '%s' names one",
			  args->words.items[0]);
		ews_error_hint("leave out the options of 'git ews start', or the session");
		return EWS_EUSAGE;
	}
	rc = ews_changes_opt_read(&set->changes, ctx, set->changes_word);
	if (rc == 0 && set->timeout)
		rc = ews_cmd_seconds(&set->timeout_ms, set->timeout, TIMEOUT_S_MAX);
	if (rc == 0)
		rc = check_env(&set->env);
	return rc < 0 ? rc : ews_start_opts_settle(&set->start);
}

/* PATH as the command will have it: what --env says last of it, else ours. */
static const char *find_path(const struct settings *set)
{
	const char *dirs = getenv("PATH");

	for (size_t i = 0; i < set->env.n; i++) {
		const char *given = ews_str_after(set->env.items[i], "PATH=");

		dirs = given ? given : dirs;
	}
	return dirs;
}

/* Is there a program of that name in PATH? What has a slash is looked up in the workspace, once there is one. */
static int find_program(int *status, const struct settings *set, const char *name)
{
	const char *dirs = find_path(set);
	bool is_there = false;
	struct stat st;

	if (strchr(name, '/') || !dirs)
		return 0;
	for (; *name; dirs++) {
		size_t len = strcspn(dirs, ":");
		EWS_CLEANUP(free) char *path = ews_strfmt("%.*s/%s", (int)len, dirs, name);

		/* A relative directory means one in the workspace. */
		if (*dirs != '/')
			return 0;
		if (stat(path, &st) == 0 && S_ISREG(st.st_mode)) {
			if (access(path, X_OK) == 0)
				return 0;
			is_there = true;
		}
		dirs += len;
		if (!*dirs)
			break;
	}
	*status = is_there ? STATUS_DENIED : STATUS_NOT_FOUND;
	if (is_there)
		ews_error(EWS_EDENIED, "cannot run '%s': it is not executable", name);
	else
		ews_error(EWS_ENOTFOUND, "cannot run '%s': no such program", name);
	ews_error_hint("it is looked for in PATH; a path to it is seen from the workspace");
	return is_there ? EWS_EDENIED : EWS_ENOTFOUND;
}

/* Where the caller stands, as seen from the top of the project, or of the workspace he is in. The caller frees it. */
static char *find_subdir(struct ews_cmd_ctx *ctx, const struct ews_session *session)
{
	EWS_CLEANUP(session) struct ews_session here = EWS_SESSION_INIT;
	EWS_CLEANUP(free) char *real = NULL;
	const char *top = ctx->repo->project;

	if (ctx->repo->here && !strcmp(ctx->repo->here, session->state.id))
		top = session->state.workspace;
	else if (ctx->repo->here && ews_session_open(&here, ctx->repo, ctx->repo->here) == 0)
		top = here.state.workspace;
	ews_error_clear();
	real = realpath(top, NULL);
	if (!real || !ews_path_is_inside(ctx->cwd, real))
		return ews_strdup("");
	return ews_strdup(ctx->cwd + strlen(real) + strspn(ctx->cwd + strlen(real), "/"));
}

static bool is_done(const struct ews_end_result *result)
{
	return !ews_end_is_blocked(result);
}

/* A session that nothing ran in: whoever is told why has no use for it. */
static void drop_unused(struct ews_session *session)
{
	EWS_CLEANUP(end_result) struct ews_end_result result = EWS_END_RESULT_INIT;
	struct ews_error_saved why = EWS_ERROR_SAVED_INIT;

	ews_error_save(&why);
	if (ews_end(&result, session, &(struct ews_end_opts){ .force = true }) < 0 || !is_done(&result))
		(void)ews_session_disown(session); /* it stays, as one that nobody works in */
	(void)ews_error_restore(&why);
}

/* By option, else by setting, and then only a session that we made. */
static int wants_end(const struct settings *set, struct ews_repo *repo, bool is_new, int status)
{
	const char *name = status ? "qe.workspace.cleanup_on_failure" : "qe.workspace.cleanup_on_success";
	bool is_wanted;
	int rc;

	if (set->end || set->keep || !is_new)
		return set->end;
	rc = ews_config_bool(&is_wanted, ews_repo_config(repo), name);
	return rc < 0 ? rc : is_wanted;
}

/* What a session leaves when it goes is kept, unless the settings say otherwise. */
static int wants_patch(struct ews_repo *repo, bool ends)
{
	int rc;

	rc = ews_farewell_is_wanted(repo);
	return rc < 0 ? rc : rc || !ends;
}

static void talk_of_report(const struct ews_cmd_ctx *ctx, const struct ews_farewell *stored)
{
	size_t i;

	for (i = 0; i < stored->n; i++) {
		if (stored->items[i].type != EWS_ARTIFACT_QR)
			continue;
		ews_cmd_note(ctx, "the report is %s", stored->items[i].path);
		return;
	}
}

/* What is run, in one line, for the user's hooks. The caller frees it. */
static char *name_command(char *const *command)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	for (; *command; command++)
		ews_buf_addf(&text, "%s%s", text.len ? " " : "", *command);
	return ews_buf_steal(&text);
}

/* Returns whether it has ended. What keeps it from that is no failure of the command's: the session stays. */
static bool end_session(struct ews_end_result *result, struct ews_cmd_ctx *ctx, struct ews_session *session,
			const struct ews_completion *completion, bool with_artifacts)
{
	const struct ews_farewell_opts artifacts = { .render = ews_render_report };
	struct ews_end_opts opts = { .artifacts = with_artifacts ? &artifacts : NULL };
	const char *id = session->state.id;
	int rc;

	ews_completion_settle(&opts, completion);
	rc = ews_end(result, session, &opts);
	talk_of_report(ctx, &result->stored);
	if (rc == 0 && is_done(result)) {
		ews_cmd_note(ctx, "session '%s' has ended; 'git ews undo %s' brings it back", id, id);
		if (result->has_reverted)
			ews_render_moved_talk(ctx, session->state.workspace, &result->reverted.put);
		if (result->has_reverted && result->kept_snapshot)
			ews_render_reopening_talk(ctx, id);
		return true;
	}
	ews_cmd_warn(ctx, "session '%s' goes on: %s", id,
		     rc < 0 ? ews_error_message() : "the project could not be put back");
	ews_error_clear();
	return false;
}

/*
 * What the command left can't be taken up, say because it has rewritten the workspace's .git: nothing was interrupted, and
 * the next verb that is asked names the same.
 */
static void give_back(struct ews_session *session)
{
	struct ews_error_saved why = EWS_ERROR_SAVED_INIT;

	if (session->lock.fd < 0)
		return; /* somebody else is at work on it */
	ews_error_save(&why);
	(void)ews_session_disown(session); /* best effort: else it counts as interrupted */
	(void)ews_error_restore(&why);
}

static void talk_of_keeping(const struct ews_cmd_ctx *ctx, const struct ews_session *session)
{
	ews_cmd_note(ctx, "session '%s' is kept: %s", session->state.id, session->state.workspace);
}

/* The command is over: what there is to see, to keep and to end. */
static int finish(struct ews_cmd_ctx *ctx, const struct settings *set, struct ews_session *session, bool is_new,
		  char *const *command, const struct ews_run_result *result)
{
	EWS_CLEANUP(run_outcome) struct ews_run_outcome outcome = EWS_RUN_OUTCOME_INIT;
	EWS_CLEANUP(end_result) struct ews_end_result ended = EWS_END_RESULT_INIT;
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("run");
	EWS_CLEANUP(free) char *line = name_command(command);
	struct ews_completion completion = { .decision = EWS_DECISION_NONE };
	bool has_ended;
	int ends, patch, rc;

	if (set->is_shell && result->status)
		ews_cmd_note(ctx, "the shell ended with status %d, which may be that of its last command",
			     result->status);
	ews_render_run_talk(ctx, result, set->reap);
	ends = wants_end(set, session->repo, is_new, result->status);
	patch = ends < 0 ? ends : wants_patch(session->repo, ends);
	rc = patch < 0 ? patch : ews_run_conclude(&outcome, session, patch);
	if (rc < 0) {
		give_back(session);
		return rc;
	}
	ews_render_outcome_talk(ctx, &outcome, set->changes);
	if (ctx->json) {
		ews_render_string(object, "session_id", session->state.id);
		ews_json_add_path(object, "path", session->state.workspace);
		ews_render_guard(object, &session->state);
		ews_render_run(object, result);
		rc = ews_render_outcome(object, ctx->repo, &outcome, set->changes);
		if (rc < 0) {
			give_back(session);
			return rc;
		}
	}
	rc = ends && !outcome.had_ended ? ews_complete(&completion, session, line, result->status) : 0;
	if (rc < 0) {
		give_back(session);
		return rc;
	}
	ews_render_decision_talk(ctx, &completion, session->state.id);
	ctx->signo = completion.signo;
	has_ended = outcome.had_ended || (ends && end_session(&ended, ctx, session, &completion, patch));
	if (!has_ended) {
		rc = ews_session_disown(session);
		if (is_new && !ends)
			talk_of_keeping(ctx, session);
		if (set->is_shell)
			ews_cmd_note(ctx, "'git ews shell %s' goes on in it, 'git ews end %s' ends it",
				     session->state.id, session->state.id);
	}
	if (ctx->json) {
		(void)cJSON_AddBoolToObject(object, "ended", has_ended);
		ews_render_string(object, "decision", ews_decision_word(completion.decision));
		ews_render_farewell(object, &ended.stored);
		ews_cmd_json_show(ctx, object);
	}
	return rc;
}

/* What holds the command, where somebody wants to know or must. */
static void talk_of_guard(const struct ews_cmd_ctx *ctx, const struct settings *set, const struct ews_session *session)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	const char *why;

	if (ews_confine_is_wanted(set->guard) && !ews_sandbox_is_available(&why))
		ews_cmd_warn(ctx, "kernel confinement unavailable (%s); guard is advisory", why);
	ews_render_guard_text(&text, set->guard, set->policy, ews_confine_is_enforced(session->method, set->guard),
			      set->no_network);
	if (ctx->verbose)
		ews_cmd_note(ctx, "guard: %s", text.ptr);
}

/* In the session that is there now, ours or one that was named. */
static int run_in(struct ews_cmd_ctx *ctx, const struct settings *set, struct ews_session *session, bool is_new,
		  char *const *command)
{
	EWS_CLEANUP(run_result) struct ews_run_result result = EWS_RUN_RESULT_INIT;
	EWS_CLEANUP(free) char *subdir = find_subdir(ctx, session);
	const struct ews_run_opts opts = {
		.verb = set->is_shell ? "shell" : "run",
		.argv = command,
		.is_shell = set->is_shell,
		.env = set->env.items,
		.subdir = subdir,
		.out_fd = ctx->json ? STDERR_FILENO : 0,
		.timeout_ms = set->timeout_ms,
		.reap = set->reap,
		.log = set->log,
		.guard_level = set->guard,
		.guard_policy = set->policy,
		.writable = &set->writable,
		.no_network = set->no_network,
	};
	int rc;

	talk_of_guard(ctx, set, session);
	rc = ews_run(&result, session, &opts);
	if (rc < 0) {
		ctx->failure_status = result.status;
		if (is_new && (set->keep || result.has_begun))
			talk_of_keeping(ctx, session);
		else if (is_new)
			drop_unused(session);
		return rc;
	}
	if (result.is_subdir_missing)
		ews_cmd_note(ctx, "'%s' is not in the workspace: the command ran at its top", subdir);
	rc = finish(ctx, set, session, is_new, command, &result);
	if (rc < 0 && is_new)
		talk_of_keeping(ctx, session);
	if (rc < 0)
		return rc;
	return set->fail_on_change && result.changed.n ? 1 : result.status;
}

static int run_new(struct ews_cmd_ctx *ctx, struct settings *set, char *const *command)
{
	EWS_CLEANUP(start_result) struct ews_start_result made = EWS_START_RESULT_INIT;
	EWS_CLEANUP(free) char *line = name_command(command);
	int rc;

	rc = find_program(&ctx->failure_status, set, command[0]);
	if (rc == 0)
		rc = ews_start_opts_open(&set->start, ctx);
	if (rc == 0)
		rc = choose_guard(set, ctx->repo, set->start.start.method);
	if (rc < 0)
		return rc;
	set->start.start.id = set->new_id && *set->new_id ? set->new_id : NULL;
	set->start.start.command = line;
	set->start.start.owner = set->is_shell ? "shell" : "run";
	rc = ews_start_opts_run(&made, &set->start, ctx);
	if (rc < 0)
		return rc;
	rc = run_in(ctx, set, &made.session, true, command);
	if (rc >= 0)
		ews_cmd_clean_now_and_then(ctx);
	return rc;
}

static int run_existing(struct ews_cmd_ctx *ctx, struct settings *set, const char *name, char *const *command)
{
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	EWS_CLEANUP(free) char *line = name_command(command);
	const struct ews_user_hook_about about = { .command = line, .status = -1 };
	int rc;

	rc = ews_cmd_open_session(&session, ctx, name, true);
	/* What it leaves belongs there, and what is set there holds, wherever the run is called. */
	if (rc == 0)
		rc = ews_session_stand_in_project(&session);
	if (rc == 0 && set->end)
		rc = ews_round_refuse(session.repo, session.state.id, "; leave out --end");
	if (rc == 0)
		rc = choose_guard(set, session.repo, session.method);
	if (rc == 0)
		rc = find_program(&ctx->failure_status, set, command[0]);
	if (rc == 0)
		rc = ews_user_hook_start(&session, &about);
	return rc < 0 ? rc : run_in(ctx, set, &session, false, command);
}

static char *find_shell(void)
{
	const char *shell = getenv("SHELL");

	return ews_strdup(shell && *shell ? shell : "/bin/sh");
}

static int run_either(struct ews_cmd_ctx *ctx, bool is_shell, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(settings) struct settings set = { .is_shell = is_shell, .start = EWS_START_SETTINGS_INIT };
	EWS_CLEANUP(free) char *shell = find_shell();
	char *const shell_alone[] = { shell, NULL };
	char *const *command;
	int rc;

	ctx->failure_status = EWS_RUN_STATUS_FAILED;
	rc = parse(&set, &args, ctx, argc, argv);
	if (rc != 0)
		return rc;
	rc = settle(&set, ctx, &args);
	if (rc < 0)
		return rc;
	command = is_shell ? shell_alone : args.paths.items;
	if (args.words.n)
		rc = run_existing(ctx, &set, args.words.items[0], command);
	else
		rc = run_new(ctx, &set, command);
	if (rc == EWS_EDENIED)
		ctx->failure_status = STATUS_DENIED;
	return rc;
}

static int run(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	return run_either(ctx, false, argc, argv);
}

static int run_shell(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	return run_either(ctx, true, argc, argv);
}

const struct ews_cmd ews_cmd_run = { "run", "run a command in a workspace, and look after it", run };
const struct ews_cmd ews_cmd_shell = { "shell", "work in a workspace with your shell", run_shell };
