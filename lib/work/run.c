/*
 * Run: see run.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/run.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/kin.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/relay.h"
#include "base/str.h"
#include "store/git.h"
#include "store/git_program.h"
#include "store/home.h"
#include "work/confine.h"
#include "work/farewell.h"
#include "work/finding.h"
#include "work/guard.h"
#include "work/guard_env.h"
#include "work/guard_reading.h"
#include "work/output_log.h"
#include "work/port.h"
#include "work/prompt.h"
#include "work/session_lock.h"
#include "work/session_log.h"
#include "work/session_place.h"
#include "work/session_project.h"
#include "work/tripwire.h"
#include "work/tripwire_commands.h"
#include "work/tripwire_compare.h"

#define GRACE_MS 2000 /* between SIGTERM and SIGKILL */
#define SECOND_LOOK_MS 50
#define LOCK_WAIT_MS 30000 /* others hold it for a moment only, and we have something to say */
#define SHIM_DIR "bin" /* in the session's directory */
#define KEPT_DIR \
	EWS_OWNER_KEPT_PREFIX "%u" /* there too: the project's config, hooks, index and so on before a command */
/* Where scripts don't put descriptors of their own. */
#define LOG_FD_MIN 200

void ews_run_result_release(struct ews_run_result *result)
{
	free(result->log);
	free(result->log_flaw);
	free(result->findings_flaw);
	free(result->output_flaw);
	ews_strv_release(&result->left_behind);
	ews_strv_release(&result->changed);
	ews_strv_release(&result->commands);
	ews_strv_release(&result->blocked);
}

void ews_run_outcome_release(struct ews_run_outcome *outcome)
{
	ews_snapshot_release(&outcome->snapshot);
	ews_skips_release(&outcome->skips);
	ews_diff_release(&outcome->diff);
	free(outcome->patch);
}

/* What a running command stands on. */
struct stage {
	int cwd_fd;
	int tmp_fd; /* the command's directory for temporary files */
	int log_fd; /* the command's, for what its shim says */
	struct ews_strv argv; /* a shell's, with what marks its prompt */
	struct ews_strv env;
	struct ews_sandbox *sandbox; /* NULL: nothing is held */
	struct ews_output_log output;
	struct ews_kin_list before; /* children that are none of the command's */
	struct ews_tripwire tripwire;
	char kept[32]; /* copies of what the tripwire looks at; "": none */
};

#define STAGE_INIT { .cwd_fd = -1, .tmp_fd = -1, .log_fd = -1, .output = EWS_OUTPUT_LOG_INIT, .tripwire = EWS_TRIPWIRE_INIT }

static void release_stage(struct stage *stage)
{
	if (stage->cwd_fd >= 0)
		close(stage->cwd_fd);
	if (stage->tmp_fd >= 0)
		close(stage->tmp_fd);
	if (stage->log_fd >= 0)
		close(stage->log_fd);
	ews_strv_release(&stage->argv);
	ews_strv_release(&stage->env);
	ews_sandbox_free(stage->sandbox);
	ews_output_log_release(&stage->output);
	ews_kin_list_release(&stage->before);
	ews_tripwire_release(&stage->tripwire);
}

EWS_CLEANUP_DEFINE(stage, struct stage, release_stage)

static void set_text(char **member, const char *text)
{
	free(*member);
	*member = ews_strdup(text);
}

/* Be its owner, with all that the state says of that. */
static int take_session(struct ews_session *session, const struct ews_run_opts *opts)
{
	EWS_CLEANUP(buf) struct ews_buf line = EWS_BUF_INIT;
	int rc = ews_session_lock_within(session, opts->verb, LOCK_WAIT_MS);

	if (rc == 0)
		rc = ews_session_need_active(session);
	if (rc == 0 && session->owner_lock.fd < 0)
		rc = ews_session_own(session, opts->verb);
	if (rc < 0)
		return rc;
	set_text(&session->state.guard_level, opts->guard_level);
	set_text(&session->state.guard_policy, opts->guard_policy);
	session->state.guard_enforced = ews_confine_is_enforced(session->method, opts->guard_level);
	session->state.guard_offline = opts->no_network;
	rc = ews_port_give(session);
	/* What a killed one has left is about to be removed with its temporary files. */
	if (rc == 0)
		rc = ews_findings_collect(session);
	if (rc == 0)
		rc = ews_session_log_take_said(NULL, session);
	for (char *const *word = opts->argv; *word; word++)
		ews_buf_addf(&line, "%s%s", line.len ? " " : "", *word);
	if (rc == 0)
		rc = ews_session_log(session, opts->verb, line.ptr);
	ews_session_unlock(session);
	return rc;
}

/* The directory to run in, reached without following a link: the workspace is the agent's. */
static int open_cwd(struct ews_run_result *out, const struct ews_session *session, const char *subdir)
{
	int root = ews_session_open_workspace(session);
	int fd;

	if (root < 0 || !*subdir)
		return root;
	fd = ews_dir_open_beneath(root, subdir);
	if (fd < 0 && ews_error_if_passing(fd) == 0) {
		out->is_subdir_missing = true;
		return root;
	}
	close(root);
	return fd;
}

static int open_log(struct stage *stage, const struct ews_session *session)
{
	EWS_CLEANUP(fd) int fd = ews_session_log_open_said(session);

	if (fd < 0)
		return fd;
	stage->log_fd = fcntl(fd, F_DUPFD_CLOEXEC, LOG_FD_MIN);
	if (stage->log_fd < 0)
		stage->log_fd = ews_steal_fd(&fd);
	return 0;
}

/* A private directory for temporary files, empty, opened as `*fd`. The caller frees `*path`. */
static int make_tmp(char **path, int *fd, const struct ews_session *session)
{
	EWS_CLEANUP(fd) int home = ews_home_open(session->repo->home);
	EWS_CLEANUP(free) char *rel = ews_home_tmp(session->repo->dir, session->state.id);
	int rc = home < 0 ? home : ews_session_remove_tmp(session);

	if (rc == 0)
		rc = ews_dir_make(home, rel, 0700);
	if (rc == 0)
		rc = *fd = ews_dir_open_beneath(home, rel);
	if (rc < 0)
		return ews_error_wrap("cannot make a directory for temporary files");
	*path = ews_path_join(session->repo->home, rel);
	return 0;
}

static void set_env(struct ews_strv *env, const char *name, const char *value)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < env->n; i++) {
		if (strncmp(env->items[i], name, len) || env->items[i][len] != '=')
			continue;
		free(env->items[i]);
		env->items[i] = ews_strfmt("%s=%s", name, value);
		return;
	}
	ews_strv_addf(env, "%s=%s", name, value);
}

static void set_env_number(struct ews_strv *env, const char *name, unsigned number)
{
	EWS_CLEANUP(free) char *text = ews_strfmt("%u", number);

	set_env(env, name, text);
}

static void set_env_all(struct ews_strv *env, char *const *list)
{
	for (; list && *list; list++) {
		EWS_CLEANUP(free) char *name = ews_strndup(*list, strcspn(*list, "="));

		set_env(env, name, *list + strlen(name) + 1);
	}
}

/* Put the link "bin/git" to this program into the session's directory, which the command can't write. */
static int link_shim(const struct ews_session *session)
{
	EWS_CLEANUP(free) char *program = NULL;
	char there[PATH_MAX];
	ssize_t len;
	int rc = ews_proc_self(&program);

	if (rc == 0)
		rc = ews_dir_make(session->fd, SHIM_DIR, 0700);
	if (rc < 0)
		return rc;
	len = readlinkat(session->fd, SHIM_DIR "/git", there, sizeof(there));
	if (len == (ssize_t)strlen(program) && !memcmp(there, program, (size_t)len))
		return 0;
	(void)unlinkat(session->fd, SHIM_DIR "/.git", 0); /* what a killed one left */
	if (symlinkat(program, session->fd, SHIM_DIR "/.git") < 0 ||
	    renameat(session->fd, SHIM_DIR "/.git", session->fd, SHIM_DIR "/git") < 0)
		return ews_error_os("cannot make the link that stands for git");
	return 0;
}

/* Have "git" mean our shim to the command, and tell that what holds. */
static int add_shim(struct ews_strv *env, const struct ews_session *session, const struct ews_run_opts *opts)
{
	EWS_CLEANUP(strv) struct ews_strv says = EWS_STRV_INIT;
	EWS_CLEANUP(free) char *path = NULL;
	EWS_CLEANUP(free) char *git = NULL;
	const char *dirs = EWS_PROC_DEFAULT_PATH;
	struct ews_guard_rules rules = EWS_GUARD_RULES_INIT;
	int rc = ews_guard_rules_read(&rules, ews_repo_config(session->repo));

	if (rc == 0 && strchr(session->dir, ':')) {
		/* PATH would name two directories that are not there, and "git" the one that nothing holds. */
		ews_error(EWS_EUNSUPPORTED, "the guard of git needs a home without a colon: '%s'", session->dir);
		ews_error_hint("$SUPERQODE_HOME names another place; with --guard off the command runs without it");
		return EWS_EUNSUPPORTED;
	}
	if (rc == 0)
		rc = ews_git_program_find(&git);
	if (rc == 0)
		rc = link_shim(session);
	if (rc < 0)
		return rc;
	if (!strcmp(opts->guard_policy, ews_guard_policy_word(EWS_GUARD_INSIDE)))
		rules.policy = EWS_GUARD_INSIDE;
	ews_guard_env_add(&says, opts->guard_level, &rules);
	set_env_all(env, says.items);
	set_env(env, EWS_GIT_VARIABLE, git);
	for (size_t i = 0; i < env->n; i++) {
		const char *given = ews_str_after(env->items[i], "PATH=");

		dirs = given && *given ? given : dirs;
	}
	path = ews_strfmt("%s/" SHIM_DIR ":%s", session->dir, dirs);
	set_env(env, "PATH", path);
	return 0;
}

static int make_env(struct stage *stage, struct ews_session *session, const struct ews_run_opts *opts, const char *cwd)
{
	const struct ews_state *state = &session->state;
	struct ews_strv *env = &stage->env;
	EWS_CLEANUP(free) char *top = ews_session_top(session);
	EWS_CLEANUP(free) char *tmp = NULL;
	EWS_CLEANUP(strv) struct ews_strv marks = EWS_STRV_INIT;
	int rc = make_tmp(&tmp, &stage->tmp_fd, session);

	if (rc == 0 && opts->is_shell)
		rc = ews_prompt_mark(&stage->argv, &marks, tmp, opts->argv[0], state->id);
	if (rc < 0)
		return rc;
	ews_git_scrub_env();
	(void)unsetenv("OLDPWD");
	ews_strv_add_array(env, environ);
	set_env(env, "PWD", cwd);
	set_env(env, "TMPDIR", tmp);
	set_env(env, EWS_GUARD_READING_TMPDIR, tmp);
	set_env(env, "EWS_SESSION", state->id);
	set_env(env, "EWS_WORKSPACE", state->workspace);
	set_env(env, "EWS_BASE", state->base_snapshot);
	set_env(env, "EWS_PROJECT", top);
	set_env(env, "EWS_BRANCH", state->branch);
	if (state->port_base)
		set_env_number(env, "EWS_PORT_BASE", state->port_base);
	set_env_number(env, "EWS_LOG_FD", (unsigned)stage->log_fd);
	set_env_all(env, marks.items);
	set_env_all(env, opts->env);
	return strcmp(opts->guard_level, "off") ? add_shim(env, session, opts) : 0;
}

static int make_sandbox(struct stage *stage, const struct ews_session *session, const struct ews_run_opts *opts)
{
	const struct ews_confine_opts confine = { .level = opts->guard_level,
						  .dirs = opts->writable,
						  .no_network = opts->no_network,
						  .tmp_fd = stage->tmp_fd,
						  .keep_fd = stage->log_fd };

	return ews_confine_make(&stage->sandbox, session, &confine);
}

/*
 * What an earlier command changed may still be taken back from its copies: ours get a name of their own. Nobody else makes any while we
 * are the owner, so that it can be noted first whose they are.
 */
static int set_tripwire(struct stage *stage, const struct ews_session *session)
{
	EWS_CLEANUP(fd) int fd = -1;
	unsigned n = 1;

	do {
		snprintf(stage->kept, sizeof(stage->kept), KEPT_DIR, n++);
	} while (faccessat(session->fd, stage->kept, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
	ews_lock_note_also(&session->owner_lock, EWS_OWNER_KEPT, stage->kept);
	if (mkdirat(session->fd, stage->kept, 0700) == 0)
		fd = openat(session->fd, stage->kept, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return ews_error_os("cannot make '%s/%s'", session->dir, stage->kept);
	return ews_tripwire_take_keeping(&stage->tripwire, session->repo, fd);
}

static int open_output(struct stage *stage, const struct ews_session *session)
{
	int rc = ews_output_log_open(&stage->output, session->repo, session->state.id);

	if (rc == 0)
		ews_lock_note_also(&session->owner_lock, EWS_OWNER_LOG, ews_path_base(stage->output.path));
	return rc;
}

static int prepare(struct ews_run_result *out, struct stage *stage, struct ews_session *session,
		   const struct ews_run_opts *opts)
{
	EWS_CLEANUP(free) char *cwd = NULL;
	int rc = stage->cwd_fd = open_cwd(out, session, opts->subdir);

	if (rc >= 0)
		rc = open_log(stage, session);
	if (rc < 0)
		return rc;
	cwd = out->is_subdir_missing || !*opts->subdir ? ews_strdup(session->state.workspace)
						       : ews_path_join(session->state.workspace, opts->subdir);
	rc = make_env(stage, session, opts, cwd);
	if (rc == 0 && opts->log)
		rc = open_output(stage, session);
	if (rc == 0)
		rc = make_sandbox(stage, session, opts);
	if (rc == 0)
		rc = set_tripwire(stage, session);
	/* Where one of all processes ends meanwhile it clears the error that is set. */
	if (rc == 0)
		ews_kin_descendants(&stage->before, NULL);
	return rc;
}

/* In the child. The descriptor for the log is the command's alone. */
static int enter(void *payload)
{
	const struct stage *stage = payload;

	if (stage->sandbox)
		return ews_sandbox_enter(stage->sandbox);
	return fcntl(stage->log_fd, F_SETFD, 0) < 0 ? -errno : 0;
}

static int relay(struct ews_run_result *out, struct stage *stage, const struct ews_run_opts *opts)
{
	const struct ews_relay relay = { .argv = stage->argv.n ? stage->argv.items : opts->argv,
					 .env = stage->env.items,
					 .cwd_fd = stage->cwd_fd,
					 .out_fd = opts->out_fd,
					 .timeout_ms = opts->timeout_ms,
					 .enter = enter,
					 .payload = stage,
					 .tee = opts->log ? ews_output_log_add : NULL,
					 .tee_payload = &stage->output };
	struct ews_relay_result result = { 0 };
	int rc;

	/* Who loses his parent becomes our child, however he went about it. */
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	rc = ews_relay_run(&result, &relay);
	out->has_begun = result.has_begun;
	if (rc == EWS_ENOTFOUND)
		out->status = 127;
	else if (rc == EWS_EDENIED)
		out->status = 126;
	if (rc < 0)
		return rc;
	out->status = result.status;
	out->has_timed_out = result.has_timed_out;
	if (result.output_error)
		set_text(&out->output_flaw, strerror(result.output_error));
	out->log = ews_steal(&stage->output.path);
	out->log_flaw = ews_steal(&stage->output.flaw);
	return 0;
}

/* Who is on his way out, or was killed with the others, is not left behind: look twice. */
static void list_left_behind(struct ews_kin_list *out, const struct ews_kin_list *before)
{
	EWS_CLEANUP(kin_list) struct ews_kin_list first = EWS_KIN_LIST_INIT;

	ews_kin_descendants(&first, before);
	if (!first.n)
		return;
	ews_clock_sleep_ms(SECOND_LOOK_MS);
	ews_kin_descendants(out, before);
}

static void find_left_behind(struct ews_run_result *out, const struct stage *stage, bool reap)
{
	EWS_CLEANUP(kin_list) struct ews_kin_list list = EWS_KIN_LIST_INIT;

	list_left_behind(&list, &stage->before);
	for (size_t i = 0; i < list.n; i++) {
		EWS_CLEANUP(buf) struct ews_buf name = EWS_BUF_INIT;

		ews_kin_name(&name, list.items[i]);
		ews_strv_add(&out->left_behind, name.ptr);
	}
	if (reap)
		ews_kin_end(&stage->before, GRACE_MS);
}

static int look_at_project(struct ews_run_result *out, const struct stage *stage, const struct ews_session *session)
{
	EWS_CLEANUP(free) char *kept = ews_path_join(session->dir, stage->kept);
	EWS_CLEANUP(tripwire) struct ews_tripwire now = EWS_TRIPWIRE_INIT;
	int rc = ews_tripwire_take(&now, session->repo);

	if (rc == 0)
		rc = ews_tripwire_compare(&out->changed, &stage->tripwire, &now);
	if (rc < 0)
		return rc;
	ews_tripwire_commands(&out->commands, &stage->tripwire, &now, session->repo, kept);
	return out->changed.n ? 0 : ews_file_remove_tree(session->fd, stage->kept);
}

/* They wait where they are, and readers see them there: the command's work is no less for it. */
static void take_findings(struct ews_run_result *out, struct ews_session *session)
{
	if (ews_findings_collect(session) == 0)
		return;
	out->findings_flaw = ews_strdup(ews_error_message());
	ews_error_clear();
}

static int record(struct ews_run_result *out, struct ews_session *session, const struct ews_run_opts *opts)
{
	EWS_CLEANUP(free) char *text = ews_strfmt("status %d", out->status);
	int rc = ews_session_lock_within(session, opts->verb, LOCK_WAIT_MS);

	if (rc == 0)
		rc = ews_session_log_take_said(&out->blocked, session);
	if (rc < 0)
		return rc;
	session->state.project_changed = session->state.project_changed || out->changed.n;
	take_findings(out, session);
	if (session->state.state != EWS_STATE_ENDED) {
		rc = ews_session_log(session, opts->verb, text);
		for (size_t i = 0; i < out->changed.n && rc == 0; i++)
			rc = ews_session_log(session, "tripwire", out->changed.items[i]);
		if (rc == 0)
			rc = ews_session_save(session);
	}
	ews_session_unlock(session);
	return rc;
}

/* It is written to its end. What keeps it from being an artifact is no reason to fail: the file is there. */
static void keep_log(struct ews_run_result *out, struct ews_session *session)
{
	EWS_CLEANUP(artifact) struct ews_artifact artifact = EWS_ARTIFACT_INIT;
	struct ews_artifact_new what;

	if (!out->log)
		return;
	what = ews_output_log_artifact(session->state.id, ews_path_base(out->log));
	if (ews_artifact_add(&artifact, NULL, NULL, session->repo, &what) == 0)
		return;
	if (!out->log_flaw)
		out->log_flaw = ews_strfmt("it could not be made an artifact: %s", ews_error_message());
	ews_error_clear();
}

/* No command is at work in it any more, and we who say so live: it failed, but nothing was interrupted. */
static int fail(int rc, struct ews_session *session, const struct ews_run_opts *opts)
{
	struct ews_error_saved why = EWS_ERROR_SAVED_INIT;

	ews_error_save(&why);
	if (session->owner_lock.fd >= 0 && ews_session_lock_within(session, opts->verb, LOCK_WAIT_MS) == 0) {
		if (session->state.state != EWS_STATE_ENDED)
			(void)ews_session_disown(session); /* best effort: else it counts as interrupted */
		ews_session_unlock(session);
	}
	(void)ews_error_restore(&why);
	return rc;
}

/* Nothing ran, so nothing is there that anybody could want. */
static int fail_clean(int rc, const struct stage *stage, struct ews_session *session, const struct ews_run_opts *opts)
{
	struct ews_error_saved why = EWS_ERROR_SAVED_INIT;

	ews_error_save(&why);
	if (*stage->kept)
		(void)ews_file_remove_tree(session->fd,
					   stage->kept); /* best effort, as below: it goes with the session */
	/* Before ours are there it holds what an earlier command had to say. */
	if (stage->tmp_fd >= 0)
		(void)ews_session_remove_tmp(session); /* what comes next in this session does it again */
	(void)ews_error_restore(&why);
	return fail(rc, session, opts);
}

int ews_run(struct ews_run_result *out, struct ews_session *session, const struct ews_run_opts *opts)
{
	EWS_CLEANUP(stage) struct stage stage = STAGE_INIT;
	int rc = take_session(session, opts);

	if (rc == 0)
		rc = prepare(out, &stage, session, opts);
	if (rc == 0)
		rc = relay(out, &stage, opts);
	if (rc < 0 && out->has_begun)
		return fail(rc, session, opts);
	if (rc < 0) {
		ews_output_log_drop(&stage.output);
		return fail_clean(rc, &stage, session, opts);
	}
	keep_log(out, session);
	find_left_behind(out, &stage, opts->reap);
	rc = look_at_project(out, &stage, session);
	if (rc == 0)
		rc = record(out, session, opts);
	/* What still runs may want its files, and what waits is among them. */
	if (rc == 0 && !out->findings_flaw && (opts->reap || !out->left_behind.n))
		rc = ews_session_remove_tmp(session);
	if (rc < 0) {
		out->status = EWS_RUN_STATUS_FAILED; /* the command's is not the news */
		return fail(rc, session, opts);
	}
	return 0;
}

static int store_patch(char **out, const struct ews_diff *diff, struct ews_session *session)
{
	EWS_CLEANUP(artifact) struct ews_artifact artifact = EWS_ARTIFACT_INIT;

	return ews_farewell_patch(&artifact, out, diff, session);
}

int ews_run_conclude(struct ews_run_outcome *out, struct ews_session *session, bool wants_patch)
{
	const struct ews_snapshot_create_opts opts = { .subject = "ews: state after a command",
						       .if_changed = true,
						       .partial = true };
	int rc = ews_session_lock_within(session, "run", LOCK_WAIT_MS);

	if (rc == 0 && session->state.state == EWS_STATE_ENDED) {
		out->had_ended = true;
		return 0;
	}
	if (rc == 0)
		rc = ews_session_need_active(session);
	if (rc == 0)
		rc = ews_snapshot_create(&out->snapshot, &out->skips, session->repo, session, &opts);
	if (rc < 0)
		return rc;
	out->has_snapshot = true;
	rc = ews_diff_sides(&out->diff, session->repo, session, NULL, out->snapshot.id);
	if (rc == 0)
		rc = ews_diff_records(&out->diff, session->repo, NULL);
	if (rc == 0 && wants_patch && out->diff.n)
		rc = store_patch(&out->patch, &out->diff, session);
	return rc;
}
