/*
 * git ews watch: what happens in a directory, as it happens.
 *
 * This verb has no end, so it writes its answer itself, a batch at a time. One
 * loop waits for batches, for signals, and for the end of the command of --exec;
 * what settles while that runs is shown at once and goes to its next run.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/path.h"
#include "base/proc.h"
#include "cmd/cmd.h"
#include "cmd/render_path.h"
#include "cmd/render_snapshot.h"
#include "cmd/render_watch.h"
#include "work/session_place.h"

#define DEBOUNCE_S_MAX 3600
#define KILL_MS 2000 /* a command that was told to end has this long */
#define LOOK_MS 50

static const char *const usage[] = {
	"git ews watch [--ignore <pattern>]... [--ext <.e>]... [--debounce <s>] [--[no-]recursive] [--polling] [--snapshot] [--exec <command>] [--once] [<dir>]",
	NULL,
};

struct settings {
	struct ews_strv ignore, exts;
	const char *debounce;
	const char *exec;
	bool is_recursive, polls, takes_snapshots, once;
};

static void release_settings(struct settings *set)
{
	ews_strv_release(&set->ignore);
	ews_strv_release(&set->exts);
}

EWS_CLEANUP_DEFINE(settings, struct settings, release_settings)

struct job {
	struct ews_cmd_ctx *ctx;
	const struct settings *set;
	struct ews_watch *watch;
	int signal_fd;
	int ended_by; /* a signal that is to end us; 0: none yet */
	pid_t pid; /* of the command; 0: it does not run */
	int status; /* of its last run */
	struct ews_buf news; /* for its next run */
	bool has_told_trouble;
	size_t n_polled; /* as was said last */
};

/* Watch from the directory that is named: it says what project this is. */
static int enter_directory(struct ews_cmd_ctx *ctx, const char *dir)
{
	EWS_CLEANUP(free) char *path = dir ? ews_path_absolute(ctx->cwd, dir) : ews_strdup(ctx->cwd);
	char *real = realpath(path, NULL);

	if (!real)
		return ews_error_os("cannot watch '%s'", dir);
	free(ctx->cwd);
	ctx->cwd = real;
	return 0;
}

/* A directory that lies in no project can be watched, too. */
static int open_repo(struct ews_cmd_ctx *ctx, const struct settings *set)
{
	int rc;

	if (set->takes_snapshots)
		return ews_cmd_open_repo_or_make(ctx, EWS_REPO_MAKE_PLAIN);
	rc = ews_cmd_open_repo(ctx);
	if (rc != EWS_ENOTFOUND)
		return rc;
	ews_error_clear();
	return 0;
}

/* From here on signals come through a descriptor. SIGCHLD wakes us when the command ends. */
static int catch_signals(struct job *job)
{
	struct sigaction hangup;
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGCHLD);
	/* One that is ignored, as by nohup, would come through the descriptor all the same. */
	if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
		(void)sigaddset(&set, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	job->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	return job->signal_fd < 0 ? ews_error_os("cannot wait for signals") : 0;
}

static void read_signals(struct job *job)
{
	struct signalfd_siginfo info;

	while (read(job->signal_fd, &info, sizeof(info)) == sizeof(info))
		if (info.ssi_signo != SIGCHLD && !job->ended_by)
			job->ended_by = (int)info.ssi_signo;
}

/* Start the command, unless it runs or there is nothing new to tell it. It reads the news from its standard input. */
static int start_command(struct job *job)
{
	char sh[] = "sh", option[] = "-c";
	EWS_CLEANUP(free) char *text = NULL;
	EWS_CLEANUP(fd) int input = -1;
	char *argv[] = { sh, option, NULL, NULL };
	struct ews_proc proc = { .argv = argv, .cwd = job->ctx->cwd, .out_fd = STDERR_FILENO, .own_group = true };

	if (!job->set->exec || job->pid || !job->news.len)
		return 0;
	argv[2] = text = ews_strdup(job->set->exec);
	input = memfd_create("changes", MFD_CLOEXEC);
	if (input < 0)
		return ews_error_os("cannot hand over the changes");
	if (ews_file_write_fd(input, job->news.ptr, job->news.len) < 0 || lseek(input, 0, SEEK_SET) < 0)
		return ews_error_wrap("cannot hand over the changes");
	ews_buf_truncate(&job->news, 0);
	proc.in_fd = input;
	return ews_proc_start(&job->pid, &proc);
}

/* Take the end of the command, when it has ended. */
static int reap_command(struct job *job)
{
	siginfo_t info = { 0 };

	if (!job->pid || waitid(P_PID, (id_t)job->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || !info.si_pid)
		return 0;
	job->status = ews_proc_reap(job->pid, job->set->exec);
	job->pid = 0;
	if (job->status > 0)
		ews_cmd_warn(job->ctx, "the command ended with status %d", job->status);
	return job->status < 0 ? job->status : 0;
}

/* End the command: asked to first, then not. */
static void end_command(struct job *job)
{
	uint64_t until_ms = ews_clock_monotonic_ms() + KILL_MS;

	if (job->pid)
		(void)kill(-job->pid, job->ended_by);
	while (job->pid) {
		(void)reap_command(job);
		if (!job->pid)
			return;
		if (ews_clock_monotonic_ms() >= until_ms)
			(void)kill(-job->pid, SIGKILL);
		ews_clock_sleep_ms(LOOK_MS);
	}
}

static int take_snapshot(struct ews_buf *lines, struct job *job)
{
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	EWS_CLEANUP(snapshot) struct ews_snapshot snapshot = EWS_SNAPSHOT_INIT;
	EWS_CLEANUP(skips) struct ews_skips skips = EWS_SKIPS_INIT;
	const struct ews_snapshot_create_opts opts = { .if_changed = true };
	struct ews_cmd_ctx *ctx = job->ctx;
	bool in_session;
	int rc;

	rc = ews_cmd_open_session_or_project(&session, ctx, NULL, true);
	if (rc < 0)
		return rc;
	/* $EWS_SESSION may name one that works elsewhere. */
	in_session = rc && ews_path_is_inside(ctx->cwd, session.state.workspace);
	rc = in_session ? ews_session_need_active(&session) : 0;
	if (rc == 0)
		rc = ews_snapshot_create(&snapshot, &skips, ctx->repo, in_session ? &session : NULL, &opts);
	ews_watch_forgive(job->watch);
	if (rc <= 0)
		return rc;
	ews_render_skips_talk(ctx, &skips);
	ews_render_head_talk(ctx, &snapshot);
	ews_render_watch_snapshot(lines, ctx, &snapshot, &skips);
	return 0;
}

/* A snapshot that could not be taken now is taken when things settle next. */
static void say_no_snapshot(struct ews_buf *lines, const struct job *job)
{
	EWS_CLEANUP(json) cJSON *object = NULL;
	cJSON *error;

	ews_cmd_warn(job->ctx, "no snapshot: %s", ews_error_message());
	if (job->ctx->json) {
		object = ews_cmd_json_new("error");
		error = cJSON_AddObjectToObject(object, "error");
		(void)cJSON_AddStringToObject(error, "code", ews_error_word(ews_error_code()));
		ews_render_string(error, "message", ews_error_message());
		ews_render_string(error, "hint", ews_error_hint_text());
		ews_json_print(lines, object, false);
	}
	ews_error_clear();
}

static void say_trouble(struct job *job)
{
	struct ews_watch_extent extent = ews_watch_extent(job->watch);

	if (job->has_told_trouble || !*extent.trouble)
		return;
	job->has_told_trouble = true;
	ews_cmd_warn(job->ctx, "%zu of %zu directories are looked at again and again: %s", extent.n_polled,
		     extent.n_dirs, extent.trouble);
	if (*extent.hint && !job->ctx->json)
		ews_cmd_say("hint: ", extent.hint);
}

/* With --json: which directories are polled, when that is news. */
static int show_polling(struct job *job)
{
	EWS_CLEANUP(buf) struct ews_buf line = EWS_BUF_INIT;
	size_t n = ews_watch_extent(job->watch).n_polled;

	if (!job->ctx->json || n == job->n_polled)
		return 0;
	job->n_polled = n;
	ews_render_watch_polling(&line, job->watch);
	return ews_file_write_fd(STDOUT_FILENO, line.ptr, line.len) < 0
		       ? ews_error_wrap("cannot write to standard output")
		       : 0;
}

static int show_batch(struct job *job, const struct ews_watch_batch *batch)
{
	EWS_CLEANUP(buf) struct ews_buf lines = EWS_BUF_INIT;
	int rc = 0;

	for (size_t i = 0; i < batch->n; i++)
		ews_render_watch_change(&lines, job->ctx, &batch->items[i]);
	if (ews_file_write_fd(STDOUT_FILENO, lines.ptr, lines.len) < 0)
		return ews_error_wrap("cannot write to standard output");
	if (job->set->exec)
		ews_buf_add(&job->news, lines.ptr, lines.len);
	say_trouble(job);
	rc = show_polling(job);
	if (rc < 0)
		return rc;
	ews_buf_truncate(&lines, 0);
	if (job->set->takes_snapshots)
		rc = take_snapshot(&lines, job);
	if (rc < 0 && job->set->once)
		return rc;
	if (rc < 0)
		say_no_snapshot(&lines, job);
	if (ews_file_write_fd(STDOUT_FILENO, lines.ptr, lines.len) < 0)
		return ews_error_wrap("cannot write to standard output");
	return 0;
}

/* Until a signal comes; with --once until the first batch is shown and the command has ended. */
static int watch_on(struct job *job)
{
	const struct ews_watch_batch *batch;
	bool has_shown = false;
	int rc;

	for (;;) {
		read_signals(job);
		if (job->ended_by)
			return 0;
		rc = reap_command(job);
		if (rc == 0)
			rc = start_command(job);
		if (rc < 0)
			return rc;
		if (job->set->once && has_shown && !job->pid)
			return job->status ? 1 : 0;
		rc = ews_watch_next(&batch, job->watch, -1);
		if (rc < 0)
			return rc;
		if (rc == 0 || (job->set->once && has_shown))
			continue;
		has_shown = true;
		rc = show_batch(job, batch);
		if (rc < 0)
			return rc;
	}
}

static int run_watch(struct ews_cmd_ctx *ctx, const struct settings *set)
{
	EWS_CLEANUP(watch) struct ews_watch *watch = NULL;
	struct ews_watch_opts opts = {
		.ignore = &set->ignore,
		.exts = &set->exts,
		.only_top = !set->is_recursive,
		.polls = set->polls,
	};
	struct job job = { .ctx = ctx, .set = set, .news = EWS_BUF_INIT, .signal_fd = -1 };
	struct ews_watch_extent extent;
	uint64_t debounce_ms = 0;
	int rc;

	rc = ews_cmd_seconds(&debounce_ms, set->debounce ? set->debounce : "0.5", DEBOUNCE_S_MAX);
	opts.debounce_ms = (unsigned)debounce_ms;
	if (rc == 0)
		rc = open_repo(ctx, set);
	if (rc == 0)
		rc = catch_signals(&job);
	opts.wake_fd = job.signal_fd;
	if (rc == 0)
		rc = ews_watch_open(&watch, ctx->repo, ctx->cwd, &opts);
	if (rc < 0)
		return rc;
	job.watch = watch;
	extent = ews_watch_extent(watch);
	say_trouble(&job);
	rc = show_polling(&job);
	ews_cmd_note(ctx, "watching '%s': %zu director%s", ctx->cwd, extent.n_dirs, extent.n_dirs == 1 ? "y" : "ies");
	if (rc == 0)
		rc = watch_on(&job);
	if (!job.ended_by)
		job.ended_by = SIGTERM;
	end_command(&job);
	ews_buf_release(&job.news);
	(void)close(job.signal_fd);
	if (job.ended_by == SIGHUP)
		ews_interrupt_end(SIGHUP);
	return rc;
}

static int run(struct ews_cmd_ctx *ctx, int argc, char **argv)
{
	EWS_CLEANUP(cmd_args) struct ews_cmd_args args = EWS_CMD_ARGS_INIT;
	EWS_CLEANUP(settings)
	struct settings set = { .ignore = EWS_STRV_INIT, .exts = EWS_STRV_INIT, .is_recursive = true };
	const struct ews_opt opts[] = {
		EWS_OPT_LIST(0, "ignore", &set.ignore, "pattern", "pass by what matches, as in .gitignore"),
		EWS_OPT_LIST(0, "ext", &set.exts, ".e", "only files that end in this"),
		EWS_OPT_STRING(0, "debounce", &set.debounce, "s",
			       "report when all was quiet for this many seconds (0.5)"),
		EWS_OPT_NEGATABLE(0, "recursive", &set.is_recursive, "what is in subdirectories, too; the default"),
		EWS_OPT_BOOL(0, "polling", &set.polls, "look again and again, ask the kernel for nothing"),
		EWS_OPT_BOOL(0, "snapshot", &set.takes_snapshots, "take a snapshot each time things settle"),
		EWS_OPT_STRING(0, "exec", &set.exec, "command", "run a command each time things settle"),
		EWS_OPT_BOOL(0, "once", &set.once, "end when things settled for the first time"),
		EWS_OPTS_END,
	};
	const struct ews_cmd_syntax syntax = { .usage = usage, .opts = opts, .max_words = 1, .prints_paths = true };
	int rc;

	rc = ews_cmd_parse(&args, ctx, &syntax, argc, argv);
	if (rc != 0)
		return rc;
	rc = enter_directory(ctx, args.words.items[0]);
	return rc < 0 ? rc : run_watch(ctx, &set);
}

const struct ews_cmd ews_cmd_watch = { "watch", "report what happens in a directory, as it happens", run };
