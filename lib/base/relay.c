/*
 * Relay: see relay.h.
 *
 * All signals that matter are blocked and read from a descriptor, so that one loop sees them, the
 * command's end and the clock in order.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/kin.h"

#define KILL_AFTER_MS 2000
#define STATUS_TIMED_OUT 124

static const int passed_on[] = {
	SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT,
};

/* Why the program could not be started, written by the child into memory that both see. */
struct failure {
	enum { FAILED_NOT, FAILED_PREPARE, FAILED_ENTER, FAILED_EXECUTE } stage;
	int error;
};

struct job {
	pid_t pid; /* also its group's number */
	pid_t our_group;
	int signal_fd;
	int tty_fd; /* the controlling terminal; -1: none */
	bool wants_tty;
	struct termios modes; /* of the terminal, as we found them */
	bool has_modes;
	sigset_t before; /* the signal mask that we came with */
	uint64_t deadline_ms; /* 0: none */
	bool is_terminated; /* it has got its SIGTERM */
	bool is_over;
	int wait_status;
	struct failure *failure;
};

static void release_job(struct job *job)
{
	if (job->signal_fd >= 0)
		close(job->signal_fd);
	if (job->tty_fd >= 0)
		close(job->tty_fd);
	if (job->failure != MAP_FAILED)
		(void)munmap(job->failure, sizeof(*job->failure));
}

EWS_CLEANUP_DEFINE(job, struct job, release_job)

static bool is_foreground(const struct job *job)
{
	return job->tty_fd >= 0 && tcgetpgrp(job->tty_fd) == job->our_group;
}

static void give_terminal(const struct job *job)
{
	if (job->wants_tty && is_foreground(job))
		(void)tcsetpgrp(job->tty_fd, job->pid); /* it fails when the job has just ended: then it is ours */
}

static void take_terminal(const struct job *job)
{
	if (job->tty_fd >= 0 && tcgetpgrp(job->tty_fd) == job->pid)
		(void)tcsetpgrp(job->tty_fd, job->our_group); /* SIGTTOU is blocked */
}

static void find_terminal(struct job *job)
{
	job->tty_fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (job->tty_fd < 0)
		return;
	job->wants_tty = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	job->has_modes = tcgetattr(job->tty_fd, &job->modes) == 0;
}

static int catch_signals(struct job *job)
{
	sigset_t caught, blocked;

	(void)sigemptyset(&caught);
	for (size_t i = 0; i < sizeof(passed_on) / sizeof(*passed_on); i++)
		(void)sigaddset(&caught, passed_on[i]);
	(void)sigaddset(&caught, SIGCHLD);
	blocked = caught;
	(void)sigaddset(&blocked, SIGTTOU);
	(void)signal(SIGCHLD, SIG_DFL); /* ignored, children would vanish without a status */
	(void)sigprocmask(SIG_BLOCK, &blocked, &job->before);
	job->signal_fd = signalfd(-1, &caught, SFD_CLOEXEC | SFD_NONBLOCK);
	return job->signal_fd < 0 ? ews_error_os("cannot listen to signals") : 0;
}

/* In the child: become the command. Only calls that are safe after a fork. */
__attribute__((noreturn)) static void become(const struct job *job, const struct ews_relay *relay)
{
	struct failure failure = { FAILED_PREPARE, 0 };

	(void)setpgid(0, 0);
	if (job->wants_tty && is_foreground(job))
		(void)tcsetpgrp(job->tty_fd, getpid());
	if (fchdir(relay->cwd_fd) == 0 &&
	    (relay->out_fd <= 0 || dup2(relay->out_fd, STDOUT_FILENO) == STDOUT_FILENO)) {
		(void)sigprocmask(SIG_SETMASK, &job->before, NULL);
		failure.stage = FAILED_ENTER;
		errno = relay->enter ? -relay->enter(relay->payload) : 0;
		if (!errno) {
			failure.stage = FAILED_EXECUTE;
			environ = (char **)relay->env;
			(void)execvp(relay->argv[0], relay->argv);
		}
	}
	failure.error = errno;
	*job->failure = failure;
	_exit(127);
}

static int start(struct job *job, const struct ews_relay *relay)
{
	job->failure = mmap(NULL, sizeof(*job->failure), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (job->failure == MAP_FAILED)
		return ews_error_os("cannot run '%s'", relay->argv[0]);
	job->pid = fork();
	if (job->pid < 0)
		return ews_error_os("cannot run '%s'", relay->argv[0]);
	if (!job->pid)
		become(job, relay);
	/* Both do it, since nobody knows who comes first. */
	(void)setpgid(job->pid, job->pid);
	give_terminal(job);
	if (relay->timeout_ms)
		job->deadline_ms = ews_clock_monotonic_ms() + relay->timeout_ms;
	return 0;
}

/* Would nobody continue us? A shell does, from above our group, in our session. */
static bool is_orphaned(void)
{
	pid_t above = getppid();

	while (above > 1 && getpgid(above) == getpgrp())
		above = ews_kin_parent(above);
	return above <= 0 || getsid(above) != getsid(0);
}

/* Stop with all of our group, as the key does it, until somebody continues us. */
static void stop_ourselves(void)
{
	struct sigaction plain = { .sa_handler = SIG_DFL }, before;
	sigset_t stop, mask;

	(void)sigemptyset(&stop);
	(void)sigaddset(&stop, SIGTSTP);
	(void)sigaction(SIGTSTP, &plain, &before);
	(void)kill(0, SIGTSTP);
	(void)sigprocmask(SIG_UNBLOCK, &stop, &mask); /* here we stop */
	(void)sigprocmask(SIG_SETMASK, &mask, NULL);
	(void)sigaction(SIGTSTP, &before, NULL);
}

static void meet_stop(struct job *job, int sig)
{
	bool wants_tty = sig == SIGTTIN || sig == SIGTTOU;

	job->wants_tty = job->wants_tty || wants_tty;
	if (wants_tty && is_foreground(job)) {
		give_terminal(job);
		(void)kill(-job->pid, SIGCONT);
		return;
	}
	if ((wants_tty || sig == SIGTSTP) && is_orphaned()) {
		(void)kill(-job->pid, SIGCONT);
		return;
	}
	take_terminal(job);
	stop_ourselves();
}

/* See to every child that has something to tell; some are not the command, but what it left to us. */
static void reap(struct job *job)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
		if (pid != job->pid)
			continue;
		if (WIFSTOPPED(status)) {
			meet_stop(job, WSTOPSIG(status));
		} else {
			job->is_over = true;
			job->wait_status = status;
		}
	}
}

static void meet_signal(struct job *job, int sig)
{
	if (sig == SIGCHLD)
		return;
	if (sig == SIGCONT)
		give_terminal(job);
	(void)kill(-job->pid, sig); /* not reaped yet, so it is surely the right one */
}

static void hear_signals(struct job *job)
{
	struct signalfd_siginfo info;

	while (!job->is_over && read(job->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		meet_signal(job, (int)info.ssi_signo);
}

static void meet_deadline(struct job *job)
{
	if (!job->deadline_ms || ews_clock_monotonic_ms() < job->deadline_ms)
		return;
	if (job->is_terminated) {
		(void)kill(-job->pid, SIGKILL);
		job->deadline_ms = 0;
		return;
	}
	(void)kill(-job->pid, SIGTERM);
	(void)kill(-job->pid, SIGCONT);
	job->is_terminated = true;
	job->deadline_ms = ews_clock_monotonic_ms() + KILL_AFTER_MS;
}

static int left_ms(const struct job *job)
{
	uint64_t now = ews_clock_monotonic_ms();

	if (!job->deadline_ms)
		return -1;
	if (job->deadline_ms <= now)
		return 0;
	return job->deadline_ms - now < INT32_MAX ? (int)(job->deadline_ms - now) : INT32_MAX;
}

static int attend(struct job *job)
{
	while (!job->is_over) {
		struct pollfd fds[] = { { .fd = job->signal_fd, .events = POLLIN } };

		if (poll(fds, 1, left_ms(job)) < 0 && errno != EINTR)
			return ews_error_os("cannot wait for the command");
		hear_signals(job);
		meet_deadline(job);
		reap(job);
	}
	return 0;
}

/* Give back what is the caller's; from here on nothing but a kill keeps us from our end. */
static void settle(struct job *job)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGTSTP, SIGPIPE };

	take_terminal(job);
	if (job->has_modes && job->is_over && WIFSIGNALED(job->wait_status) && is_foreground(job))
		(void)tcsetattr(job->tty_fd, TCSADRAIN, &job->modes);
	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		(void)signal(ignored[i], SIG_IGN);
	(void)sigprocmask(SIG_SETMASK, &job->before, NULL);
}

static int explain(const struct failure *failure, const char *name)
{
	errno = failure->error;
	if (failure->stage == FAILED_ENTER)
		return ews_error(EWS_EUNSUPPORTED, "cannot confine '%s': %s", name, strerror(errno));
	if (failure->stage == FAILED_PREPARE)
		return ews_error(EWS_EIO, "cannot run '%s': %s", name, strerror(errno));
	if (errno == ENOENT || errno == ENOTDIR) {
		ews_error(EWS_ENOTFOUND, "cannot run '%s': no such program", name);
		ews_error_hint("is it in PATH, and is the interpreter there that its first line names?");
		return EWS_ENOTFOUND;
	}
	ews_error(EWS_EDENIED, "cannot run '%s': %s", name, strerror(errno));
	ews_error_hint("is it a program, and may you execute it?");
	return EWS_EDENIED;
}

int ews_relay_run(struct ews_relay_result *out, const struct ews_relay *relay)
{
	EWS_CLEANUP(job)
	struct job job = { .our_group = getpgrp(), .signal_fd = -1, .tty_fd = -1, .failure = MAP_FAILED };
	int rc;

	find_terminal(&job);
	rc = catch_signals(&job);
	if (rc == 0)
		rc = start(&job, relay);
	if (rc == 0)
		rc = attend(&job);
	settle(&job);
	if (rc < 0)
		return rc;
	if (job.failure->stage != FAILED_NOT)
		return explain(job.failure, relay->argv[0]);
	out->has_timed_out = job.is_terminated;
	out->status = WIFSIGNALED(job.wait_status) ? 128 + WTERMSIG(job.wait_status) : WEXITSTATUS(job.wait_status);
	if (out->has_timed_out)
		out->status = STATUS_TIMED_OUT;
	return 0;
}
