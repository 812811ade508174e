/*
 * Relay: see relay.h.
 *
 * All signals that matter are blocked and read from a descriptor, so that one loop sees them, the
 * command's end and the clock in order.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/file.h"
#include "base/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/kin.h"
#include "base/terminal.h"

#define KILL_AFTER_MS 2000
#define DRAIN_MS 500 /* for what others print who hold the command's output */
#define LOOK_MS 200 /* nobody says when a shell has put a running job in the foreground */
#define STATUS_TIMED_OUT 124

static const int passed_on[] = {
	SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT,
};

/* Why the program could not be started, written by the child into memory that both see. */
struct failure {
	enum { FAILED_NOT, FAILED_PREPARE, FAILED_ENTER, FAILED_EXECUTE } stage;
	int error;
};

enum { FLOW_OUT, FLOW_ERR, FLOW_IN, FLOWS };

struct job {
	pid_t pid; /* also its group's number */
	pid_t keeper; /* on a terminal of its own; else 0 */
	int signal_fd;
	struct ews_terminal terminal;
	bool wants_tty;
	struct ews_pty pty;
	int size_fd; /* the terminal that the pty is as big as */
	int stdio[3]; /* what the command gets as its own; -1: ours. Closed once it has them */
	struct ews_flow flows[FLOWS];
	sigset_t before; /* the signal mask that we came with */
	uint64_t deadline_ms; /* 0: none */
	bool is_terminated; /* it has got its SIGTERM */
	bool is_told_to_stop; /* we were, from outside */
	bool is_over;
	int wait_status;
	struct failure *failure;
};

#define JOB_INIT                                                                                              \
	{                                                                                                     \
		.signal_fd = -1, .terminal = EWS_TERMINAL_INIT, .pty = EWS_PTY_INIT, .stdio = { -1, -1, -1 }, \
		.flows = { EWS_FLOW_INIT, EWS_FLOW_INIT, EWS_FLOW_INIT }, .failure = MAP_FAILED               \
	}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void close_stdio(struct job *job)
{
	/* One pipe or terminal may stand for several. */
	for (int i = 0; i < 3; i++) {
		for (int k = i + 1; k < 3; k++)
			if (job->stdio[k] == job->stdio[i])
				job->stdio[k] = -1;
		close_fd(&job->stdio[i]);
	}
	job->pty.slave = -1;
}

static void release_job(struct job *job)
{
	close_fd(&job->signal_fd);
	ews_terminal_release(&job->terminal);
	close_stdio(job);
	for (int i = 0; i < FLOWS; i++)
		ews_flow_close(&job->flows[i]);
	close_fd(&job->pty.master);
	if (job->failure != MAP_FAILED)
		(void)munmap(job->failure, sizeof(*job->failure));
}

EWS_CLEANUP_DEFINE(job, struct job, release_job)

static int catch_signals(struct job *job)
{
	sigset_t caught, blocked;

	(void)sigemptyset(&caught);
	for (size_t i = 0; i < sizeof(passed_on) / sizeof(*passed_on); i++)
		(void)sigaddset(&caught, passed_on[i]);
	(void)sigaddset(&caught, SIGCHLD);
	blocked = caught;
	(void)sigaddset(&blocked, SIGTTOU);
	(void)sigaddset(&blocked, SIGTTIN);
	(void)sigaddset(&blocked, SIGPIPE);
	(void)sigaddset(&blocked, SIGXCPU); /* our time, which the command has not spent */
	(void)signal(SIGCHLD, SIG_DFL); /* ignored, children would vanish without a status */
	(void)sigprocmask(SIG_BLOCK, &blocked, &job->before);
	job->signal_fd = signalfd(-1, &caught, SFD_CLOEXEC | SFD_NONBLOCK);
	return job->signal_fd < 0 ? ews_error_os("cannot listen to signals") : 0;
}

static int make_pipe(struct job *job, int which, int fd, int to)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return ews_error_os("cannot make a pipe");
	job->stdio[fd] = ends[1];
	job->flows[which].from = ends[0];
	job->flows[which].to = to;
	return 0;
}

static int copy_fd(int *out, int fd)
{
	*out = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return *out < 0 ? ews_error_os("cannot pass on what a command prints or reads") : 0;
}

static int make_own_terminal(struct job *job, int out_fd)
{
	int rc = ews_pty_open(&job->pty, &job->terminal, out_fd);

	if (rc < 0)
		return rc;
	job->size_fd = out_fd;
	job->stdio[STDOUT_FILENO] = job->pty.slave;
	rc = copy_fd(&job->flows[FLOW_OUT].from, job->pty.master);
	if (rc < 0)
		return rc;
	job->flows[FLOW_OUT].to = out_fd;
	if (isatty(STDERR_FILENO))
		job->stdio[STDERR_FILENO] = job->pty.slave;
	if (job->terminal.fd < 0)
		return 0;
	if (isatty(STDIN_FILENO))
		job->stdio[STDIN_FILENO] = job->pty.slave;
	job->flows[FLOW_IN].to = job->pty.master;
	job->flows[FLOW_IN].is_resting = true;
	return copy_fd(&job->flows[FLOW_IN].from, job->terminal.fd);
}

/* Put ourselves between the command and where it prints. */
static int stand_between(struct job *job, int out_fd)
{
	int rc;

	if (isatty(out_fd)) {
		job->wants_tty = false;
		rc = make_own_terminal(job, out_fd);
	} else {
		rc = make_pipe(job, FLOW_OUT, STDOUT_FILENO, out_fd);
		/* In one pipe what comes first stays first. */
		if (rc == 0 && ews_file_is_same_open(out_fd, STDERR_FILENO))
			job->stdio[STDERR_FILENO] = job->stdio[STDOUT_FILENO];
	}
	if (rc == 0 && job->stdio[STDERR_FILENO] < 0)
		rc = make_pipe(job, FLOW_ERR, STDERR_FILENO, STDERR_FILENO);
	return rc;
}

static int lay_lines(struct job *job, const struct ews_relay *relay)
{
	int out_fd = relay->out_fd > 0 ? relay->out_fd : STDOUT_FILENO;

	ews_terminal_find(&job->terminal);
	job->wants_tty = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	if (relay->tee)
		return stand_between(job, out_fd);
	return relay->out_fd > 0 ? copy_fd(&job->stdio[STDOUT_FILENO], relay->out_fd) : 0;
}

/* The terminal is the keeper's to give, where there is one, else ours. */
static void step_forward(struct job *job)
{
	(void)setpgid(0, 0);
	if (job->pty.slave >= 0)
		(void)tcsetpgrp(job->pty.slave, getpid());
	else if (job->wants_tty)
		ews_terminal_give(&job->terminal, getpid());
}

/* In the child: become the command. Only calls that are safe after a fork. */
__attribute__((noreturn)) static void become(struct job *job, const struct ews_relay *relay)
{
	struct failure failure = { FAILED_PREPARE, 0 };
	bool is_connected = true;

	step_forward(job);
	for (int i = 0; i < 3 && is_connected; i++)
		is_connected = job->stdio[i] < 0 || dup2(job->stdio[i], i) == i;
	if (is_connected && fchdir(relay->cwd_fd) == 0) {
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

/*
 * In the keeper: lead the session of the command's terminal, stop when it stops, continue it when we are
 * continued. Its end is for the process above to see: who has nobody left is that one's child.
 */
__attribute__((noreturn)) static void keep(int tty_fd, pid_t command)
{
	siginfo_t info;

	for (;;) {
		info.si_pid = 0;
		if (waitid(P_PID, (id_t)command, &info, WEXITED | WSTOPPED | WNOWAIT) < 0) {
			if (errno == EINTR)
				continue;
			break;
		}
		if (info.si_code != CLD_STOPPED)
			break;
		(void)waitid(P_PID, (id_t)command, &info, WSTOPPED | WNOHANG);
		(void)kill(getpid(), SIGSTOP);
		(void)tcsetpgrp(tty_fd, command);
		(void)kill(-command, SIGCONT);
	}
	/* The end of a session's leader is told to who is in the foreground: nobody, then. */
	(void)tcsetpgrp(tty_fd, getpid());
	_exit(0);
}

__attribute__((noreturn)) static void become_keeper(struct job *job, const struct ews_relay *relay, int tell_fd)
{
	pid_t command;
	sigset_t hangup;

	(void)setsid();
	(void)ioctl(job->pty.slave, TIOCSCTTY, 0);
	command = fork();
	if (!command)
		become(job, relay);
	if (command > 0) {
		(void)setpgid(command, command);
		(void)tcsetpgrp(job->pty.slave, command);
	}
	if (write(tell_fd, &command, sizeof(command)) != (ssize_t)sizeof(command) || command < 0)
		_exit(127);
	/* When the terminal goes with the process above, the leader's end is what tells those in the foreground. */
	(void)sigemptyset(&hangup);
	(void)sigaddset(&hangup, SIGHUP);
	(void)sigprocmask(SIG_UNBLOCK, &hangup, NULL);
	/* Nothing that we hold, locks least of all, may live on with the keeper. */
	(void)dup2(job->pty.slave, STDIN_FILENO);
	(void)close_range(STDOUT_FILENO, ~0U, 0);
	keep(STDIN_FILENO, command);
}

static int start_kept(struct job *job, const struct ews_relay *relay)
{
	EWS_CLEANUP(fd) int hear_fd = -1;
	EWS_CLEANUP(fd) int tell_fd = -1;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return ews_error_os("cannot run '%s'", relay->argv[0]);
	hear_fd = ends[0];
	tell_fd = ends[1];
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	job->keeper = fork();
	if (!job->keeper)
		become_keeper(job, relay, tell_fd);
	close(ews_steal_fd(&tell_fd));
	if (job->keeper < 0)
		return ews_error_os("cannot run '%s'", relay->argv[0]);
	if (read(hear_fd, &job->pid, sizeof(job->pid)) != (ssize_t)sizeof(job->pid) || job->pid < 0)
		return ews_error(EWS_EIO, "cannot run '%s': no process could be made for it", relay->argv[0]);
	return 0;
}

static int start(struct job *job, const struct ews_relay *relay)
{
	job->failure = mmap(NULL, sizeof(*job->failure), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (job->failure == MAP_FAILED)
		return ews_error_os("cannot run '%s'", relay->argv[0]);
	if (job->pty.slave >= 0)
		return start_kept(job, relay);
	job->pid = fork();
	if (job->pid < 0)
		return ews_error_os("cannot run '%s'", relay->argv[0]);
	if (!job->pid)
		become(job, relay);
	/* Both do it, since nobody knows who comes first. */
	(void)setpgid(job->pid, job->pid);
	if (job->wants_tty)
		ews_terminal_give(&job->terminal, job->pid);
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

/* It is our turn, again: what we have of the terminal goes to the command. */
static void hand_over(struct job *job)
{
	if (job->pty.master >= 0) {
		ews_terminal_make_raw(&job->terminal);
		ews_pty_take_size(&job->pty, job->size_fd);
	} else if (job->wants_tty) {
		ews_terminal_give(&job->terminal, job->pid);
	}
}

/* To the group of the command, and to the command where it has left that. It is not reaped yet, so it is surely the right one. */
static void send_signal(const struct job *job, int sig)
{
	(void)kill(-job->pid, sig);
	if (getpgid(job->pid) != job->pid)
		(void)kill(job->pid, sig);
}

static void let_go_on(const struct job *job)
{
	if (job->keeper > 0)
		(void)kill(job->keeper, SIGCONT);
	send_signal(job, SIGCONT);
}

static void meet_stop(struct job *job, int sig)
{
	bool wants_tty = !job->keeper && (sig == SIGTTIN || sig == SIGTTOU);

	job->wants_tty = job->wants_tty || wants_tty;
	if (wants_tty && ews_terminal_is_ours(&job->terminal)) {
		hand_over(job);
		let_go_on(job);
		return;
	}
	/* A keeper that stops says nothing of the signal. */
	if ((wants_tty || job->keeper || sig == SIGTSTP) && is_orphaned()) {
		let_go_on(job);
		return;
	}
	/* Without a terminal no shell sees it stop: whoever called us would stand still for good, and the clock with him. */
	if (job->terminal.fd < 0 && !job->is_told_to_stop)
		return;
	job->is_told_to_stop = false;
	ews_terminal_take(&job->terminal);
	if (job->terminal.is_raw)
		ews_terminal_put_back(&job->terminal);
	stop_ourselves();
}

/* See to every child that has something to tell; some are not the command, but what it left to us. */
static void reap(struct job *job)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
		if (WIFSTOPPED(status) && pid == (job->keeper ? job->keeper : job->pid)) {
			meet_stop(job, WSTOPSIG(status));
		} else if (pid == job->keeper) {
			job->keeper = 0;
		} else if (pid == job->pid && !WIFSTOPPED(status)) {
			job->is_over = true;
			job->wait_status = status;
		}
	}
}

static void meet_signal(struct job *job, int sig)
{
	switch (sig) {
	case SIGCHLD:
		return;
	case SIGCONT:
		hand_over(job);
		job->is_told_to_stop = false;
		let_go_on(job);
		return;
	case SIGTSTP:
		job->is_told_to_stop = true;
		break;
	case SIGWINCH:
		/* Who is in the foreground of a terminal of its own hears it from there. */
		if (job->pty.master >= 0) {
			ews_pty_take_size(&job->pty, job->size_fd);
			return;
		}
		break;
	}
	send_signal(job, sig);
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
		send_signal(job, SIGKILL);
		job->deadline_ms = 0;
		return;
	}
	send_signal(job, SIGTERM);
	let_go_on(job);
	job->is_terminated = true;
	job->deadline_ms = ews_clock_monotonic_ms() + KILL_AFTER_MS;
}

static int left_ms(uint64_t deadline_ms)
{
	uint64_t now = ews_clock_monotonic_ms();

	if (!deadline_ms)
		return -1;
	if (deadline_ms <= now)
		return 0;
	return deadline_ms - now < INT32_MAX ? (int)(deadline_ms - now) : INT32_MAX;
}

/* Wait, at most so long, for a signal or for text on its way. */
static int wait_and_move(struct job *job, const struct ews_relay *relay, int wait_ms)
{
	struct pollfd fds[2 * FLOWS + 1] = { [2 * FLOWS] = { .fd = job->signal_fd, .events = POLLIN } };

	job->flows[FLOW_IN].is_resting = !job->terminal.is_raw;
	for (int i = 0; i < FLOWS; i++)
		ews_flow_ask(&job->flows[i], &fds[2 * i]);
	if (poll(fds, 2 * FLOWS + 1, wait_ms) < 0 && errno != EINTR)
		return ews_error_os("cannot wait for the command");
	for (int i = 0; i < FLOWS; i++)
		ews_flow_move(&job->flows[i], &fds[2 * i], i == FLOW_IN ? NULL : relay->tee, relay->tee_payload);
	/* Nobody sees what it prints: then its terminal is gone, as ours is. */
	if (job->pty.master >= 0 && job->flows[FLOW_OUT].from < 0) {
		ews_flow_close(&job->flows[FLOW_IN]);
		job->flows[FLOW_IN].len = 0;
		close_fd(&job->pty.master);
		ews_terminal_put_back(&job->terminal);
	}
	return 0;
}

static int attend(struct job *job, const struct ews_relay *relay)
{
	int rc = 0;

	while (!job->is_over && rc == 0) {
		int wait_ms = left_ms(job->deadline_ms);

		if (job->pty.master >= 0 && !job->terminal.is_raw && job->terminal.fd >= 0) {
			ews_terminal_make_raw(&job->terminal);
			if (wait_ms < 0 || wait_ms > LOOK_MS)
				wait_ms = LOOK_MS;
		}
		rc = wait_and_move(job, relay, wait_ms);
		hear_signals(job);
		meet_deadline(job);
		reap(job);
	}
	return rc;
}

static bool has_heard_of_end(const struct job *job)
{
	struct signalfd_siginfo info;

	while (read(job->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		if (info.ssi_signo == SIGINT || info.ssi_signo == SIGTERM || info.ssi_signo == SIGHUP ||
		    info.ssi_signo == SIGQUIT)
			return true;
	return false;
}

/* What the command printed comes out to the last byte. Who else holds its output may add to it for a moment. */
static int see_out(struct job *job, const struct ews_relay *relay)
{
	uint64_t deadline_ms = ews_clock_monotonic_ms() + DRAIN_MS;
	struct ews_flow *out = &job->flows[FLOW_OUT], *err = &job->flows[FLOW_ERR];
	int rc = 0;

	ews_flow_close(&job->flows[FLOW_IN]);
	job->flows[FLOW_IN].len = 0;
	ews_flow_end(out);
	ews_flow_end(err);
	while (rc == 0 && !(ews_flow_is_done(out) && ews_flow_is_done(err)) && !has_heard_of_end(job)) {
		int wait_ms = out->is_ending ? -1 : left_ms(deadline_ms);

		rc = wait_and_move(job, relay, wait_ms);
		if (ews_clock_monotonic_ms() >= deadline_ms) {
			ews_flow_stop(out);
			ews_flow_stop(err);
		}
	}
	return rc;
}

static bool is_killed(const struct job *job)
{
	if (!job->is_over)
		return false;
	/* A shell that the command ran in says it so. */
	return WIFSIGNALED(job->wait_status) || WEXITSTATUS(job->wait_status) > 128;
}

/* Give back what is the caller's; from here on nothing but a kill keeps us from our end. */
static void settle(struct job *job)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGTSTP, SIGPIPE, SIGXCPU };

	ews_terminal_take(&job->terminal);
	if (job->terminal.is_raw || is_killed(job))
		ews_terminal_put_back(&job->terminal);
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
	if (ews_errno_is_absent(errno)) {
		ews_error(EWS_ENOTFOUND, "cannot run '%s': no such program", name);
		ews_error_hint("is it in PATH, and is the interpreter there that its first line names?");
		return EWS_ENOTFOUND;
	}
	ews_error(EWS_EDENIED, "cannot run '%s': %s", name, strerror(errno));
	if (!ews_errno_is_passing(failure->error))
		ews_error_hint("is it a program, and may you execute it?");
	return EWS_EDENIED;
}

int ews_relay_run(struct ews_relay_result *out, const struct ews_relay *relay)
{
	EWS_CLEANUP(job) struct job job = JOB_INIT;
	bool is_started;
	int rc = lay_lines(&job, relay);

	if (rc < 0)
		return rc;
	rc = catch_signals(&job);
	if (rc == 0)
		rc = start(&job, relay);
	is_started = rc == 0;
	close_stdio(&job);
	if (rc == 0 && relay->timeout_ms)
		job.deadline_ms = ews_clock_monotonic_ms() + relay->timeout_ms;
	if (rc == 0)
		rc = attend(&job, relay);
	if (rc == 0)
		rc = see_out(&job, relay);
	settle(&job);
	out->has_begun = is_started && job.failure->stage == FAILED_NOT;
	if (rc < 0)
		return rc;
	if (job.failure->stage != FAILED_NOT)
		return explain(job.failure, relay->argv[0]);
	out->has_timed_out = job.is_terminated;
	out->output_error = job.flows[FLOW_OUT].error ? job.flows[FLOW_OUT].error : job.flows[FLOW_ERR].error;
	out->status = WIFSIGNALED(job.wait_status) ? 128 + WTERMSIG(job.wait_status) : WEXITSTATUS(job.wait_status);
	if (out->has_timed_out)
		out->status = STATUS_TIMED_OUT;
	return 0;
}
