/*
 * Hooks of the user: see user_hook.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/user_hook.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/proc.h"
#include "base/str.h"
#include "base/terminal.h"
#include "work/session_project.h"

#define START "ews.hook.start"
#define COMPLETE "ews.hook.complete"
#define PATCH_FILE "result.patch" /* in the session's directory, where no agent can write */

extern char **environ;

static bool is_ours(const char *variable)
{
	static const char *const names[] = { "EWS_SESSION=", "EWS_PROJECT=", "EWS_WORKSPACE=", "EWS_INTENT=",
					     "EWS_COMMAND=", "EWS_STATUS=",  "EWS_PATCH=" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (ews_str_begins(variable, names[i]))
			return true;
	return false;
}

static void fill_env(struct ews_strv *env, const struct ews_session *session, const struct ews_user_hook_about *about)
{
	const struct ews_state *state = &session->state;
	EWS_CLEANUP(free) char *top = ews_session_top(session);

	for (char **item = environ; *item; item++)
		if (!is_ours(*item))
			ews_strv_add(env, *item);
	ews_strv_addf(env, "EWS_SESSION=%s", state->id);
	ews_strv_addf(env, "EWS_PROJECT=%s", top);
	ews_strv_addf(env, "EWS_WORKSPACE=%s", state->workspace);
	ews_strv_addf(env, "EWS_INTENT=%s", state->intent);
	ews_strv_addf(env, "EWS_COMMAND=%s", about->command ? about->command : "");
	if (about->status >= 0)
		ews_strv_addf(env, "EWS_STATUS=%d", about->status);
	else
		ews_strv_add(env, "EWS_STATUS=");
	if (about->patch)
		ews_strv_addf(env, "EWS_PATCH=%s/" PATCH_FILE, session->dir);
	else
		ews_strv_add(env, "EWS_PATCH=");
}

/* A group in the foreground has the terminal, on which the hook may ask the user: it stays in ours. */
static bool is_in_foreground(void)
{
	EWS_CLEANUP(terminal) struct ews_terminal terminal = EWS_TERMINAL_INIT;

	ews_terminal_find(&terminal);
	return ews_terminal_is_ours(&terminal);
}

/* Run the text, whatever it says: it is the user's. It reads `in_fd`, where that is above 0. */
static int run(int *out_signo, const char *text, const struct ews_session *session,
	       const struct ews_user_hook_about *about, int in_fd)
{
	EWS_CLEANUP(strv) struct ews_strv env = EWS_STRV_INIT;
	EWS_CLEANUP(free) char *command = ews_strdup(text);
	char sh[] = "sh", option[] = "-c";
	char *const argv[] = { sh, option, command, NULL };
	struct ews_proc proc = { .argv = argv,
				 .cwd = session->repo->project,
				 .in_fd = in_fd,
				 .out_fd = STDERR_FILENO,
				 .takes_signals = true };
	struct ews_interrupt_held held;
	pid_t pid;
	int rc;

	fill_env(&env, session, about);
	proc.env = env.items;
	ews_interrupt_hold(&held);
	proc.own_group = held.has_any && !is_in_foreground();
	rc = ews_proc_start(&pid, &proc);
	if (rc == 0) {
		*out_signo = ews_interrupt_pass_on(&held, pid, proc.own_group);
		rc = ews_proc_reap(pid, sh);
	}
	ews_interrupt_let_go(&held);
	return rc;
}

static int read_setting(const char **text, struct ews_repo *repo, const char *name)
{
	return ews_config_command_line(text, ews_repo_config(repo), name);
}

int ews_user_hook_start(const struct ews_session *session, const struct ews_user_hook_about *about)
{
	const char *text;
	int signo, rc = read_setting(&text, session->repo, START);

	if (rc < 0 || !*text)
		return rc;
	rc = run(&signo, text, session, about, 0);
	if (rc < 0)
		return ews_error_wrap(START);
	if (rc == 0)
		return 0;
	ews_error(EWS_EDENIED, START " ended with status %d: this is not to be done", rc);
	ews_error_hint("the hook's own words, if any, stand above; it is a setting of yours");
	return EWS_EDENIED;
}

bool ews_user_hook_decides(struct ews_repo *repo)
{
	const char *text;
	bool decides = read_setting(&text, repo, COMPLETE) == 0 && *text;

	ews_error_clear();
	return decides;
}

int ews_user_hook_complete(int *out_signo, const struct ews_session *session, const struct ews_user_hook_about *about)
{
	EWS_CLEANUP(fd) int fd = -1;
	const char *text;
	int status, rc = read_setting(&text, session->repo, COMPLETE);

	if (rc == 0)
		rc = ews_file_replace(session->fd, PATCH_FILE, about->patch, about->patch_len, 0600);
	if (rc < 0)
		return rc;
	*out_signo = 0;
	fd = openat(session->fd, PATCH_FILE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	status = fd < 0 ? ews_error_os("cannot open '" PATCH_FILE "'") : run(out_signo, text, session, about, fd);
	(void)unlinkat(session->fd, PATCH_FILE, 0); /* it goes with the session */
	return status < 0 ? ews_error_wrap(COMPLETE) : status;
}
