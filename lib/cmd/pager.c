/*
 * The pager: a child that reads what we and our children write to stdout.
 *
 * As in git we end only after it has, also when a signal ends us: a shell that
 * came back meanwhile would share the terminal with it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "store/config_user.h"
#include "store/setting.h"

static pid_t pager_pid; /* 0: none runs */

static void wait_for_pager(void)
{
	while (waitpid(pager_pid, NULL, 0) < 0 && errno == EINTR)
		continue;
}

/* Only what POSIX allows in a signal handler. */
static void end_by_signal(int signo)
{
	(void)close(STDOUT_FILENO);
	(void)close(STDERR_FILENO);
	wait_for_pager();
	(void)signal(signo, SIG_DFL);
	(void)raise(signo);
}

/* NULL: none is wanted. The caller frees it. */
static char *choose_pager(void)
{
	const char *env = getenv("GIT_PAGER");
	char *choice = NULL;

	if (env)
		choice = ews_strdup(env);
	else if (ews_config_user(&choice, "core.pager") < 0)
		choice = ews_strdup(getenv("PAGER") ? getenv("PAGER") : "less");
	if (*choice && strcmp(choice, "cat") != 0)
		return choice;
	free(choice);
	return NULL;
}

/* In the child: become the pager, or tell through `fail_fd` why not. */
__attribute__((noreturn)) static void become_pager(const char *command, int in_fd, int fail_fd)
{
	bool needs_shell = strpbrk(command, "|&;<>()$`\\\"' \t\n*?[#~=%") != NULL;

	(void)setenv("LESS", "FRX", 0);
	(void)setenv("LV", "-c", 0);
	if (dup2(in_fd, STDIN_FILENO) < 0)
		_exit(127);
	if (needs_shell)
		(void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	else
		(void)execlp(command, command, (char *)NULL);
	(void)!write(fail_fd, "x", 1); /* its reader takes any byte for "no pager" */
	_exit(127);
}

static void catch_signals(void)
{
	static const int signals[] = { SIGINT, SIGHUP, SIGTERM, SIGQUIT, SIGPIPE };
	size_t i;

	for (i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		(void)signal(signals[i], end_by_signal);
}

void ews_pager_start(const struct ews_cmd_ctx *ctx)
{
	EWS_CLEANUP(free) char *command = NULL;
	EWS_CLEANUP(fd) int read_fd = -1, write_fd = -1, failed_fd = -1, fail_fd = -1;
	int ends[2];
	char failed;
	pid_t pid;

	if (pager_pid || ctx->json || ctx->nul || !isatty(STDOUT_FILENO))
		return;
	command = choose_pager();
	if (!command || pipe2(ends, O_CLOEXEC) < 0)
		return;
	read_fd = ends[0];
	write_fd = ends[1];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return;
	failed_fd = ends[0];
	fail_fd = ends[1];

	pid = fork();
	if (pid == 0)
		become_pager(command, read_fd, fail_fd);
	if (pid < 0)
		return;
	(void)close(ews_steal_fd(&fail_fd));
	if (read(failed_fd, &failed, 1) > 0) {
		(void)waitpid(pid, NULL, 0);
		return;
	}
	pager_pid = pid;
	catch_signals();
	(void)dup2(write_fd, STDOUT_FILENO);
	if (isatty(STDERR_FILENO))
		(void)dup2(write_fd, STDERR_FILENO);
}

bool ews_pager_excuses(void)
{
	struct pollfd p = { .fd = STDOUT_FILENO, .events = POLLOUT };

	if (poll(&p, 1, 0) <= 0 || !(p.revents & POLLERR))
		return false;
	if (pager_pid)
		return true;
	(void)signal(SIGPIPE, SIG_DFL);
	(void)raise(SIGPIPE);
	return false;
}

void ews_pager_finish(void)
{
	if (!pager_pid)
		return;
	(void)close(STDOUT_FILENO);
	(void)close(STDERR_FILENO);
	wait_for_pager();
	pager_pid = 0;
}

bool ews_pager_is_terminal(void)
{
	const char *text = getenv("GIT_PAGER_IN_USE");
	bool is_in_use = false;

	if (text && ews_setting_read_bool(&is_in_use, text) < 0)
		ews_error_clear();
	return pager_pid || isatty(STDOUT_FILENO) || is_in_use;
}

/* 1 and 0: yes and no; -1: as the terminal is. */
static int read_when(const char *text)
{
	static const char *const noes[] = { "never", "false", "no", "off", "0" };
	size_t i;

	for (i = 0; i < sizeof(noes) / sizeof(*noes); i++)
		if (!strcasecmp(text, noes[i]))
			return 0;
	return strcasecmp(text, "always") ? -1 : 1;
}

bool ews_pager_color(const struct ews_cmd_ctx *ctx, const char *slot)
{
	EWS_CLEANUP(free) char *key = ews_strfmt("color.%s", slot);
	EWS_CLEANUP(free) char *text = NULL;
	const char *term = getenv("TERM");
	int when = -1;

	if (ctx->no_color)
		return false;
	if (ctx->color && (when = read_when(ctx->color)) >= 0)
		return when > 0;
	/* Scripts read what no terminal shows: colour there must be asked for here and now. */
	if (!ews_pager_is_terminal())
		return false;
	if (!ctx->color && (ews_config_user(&text, key) == 0 || ews_config_user(&text, "color.ui") == 0))
		when = read_when(text);
	return when > 0 || (when < 0 && term && strcmp(term, "dumb") != 0);
}

void ews_pager_paint(struct ews_buf *out, bool on, const char *color, const char *text)
{
	if (on)
		ews_buf_addf(out, "\033[%sm%s\033[m", color, text);
	else
		ews_buf_adds(out, text);
}
