/*
 * Processes: see proc.h.
 *
 * The child is made by posix_spawn; one poll loop feeds its input, collects
 * its output and watches its end and the clock.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/proc.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/str.h"

#define CHUNK_BYTES (64 * 1024)
/* How often to look for the child's end where the kernel has no pidfd. */
#define LOOK_MS 10
/* How often to say that it still runs. */
#define PROGRESS_MS 100

/* Our ends of what connects us with the child; -1: none, or closed. */
struct link {
	pid_t pid;
	int pid_fd;
	int in_fd, out_fd, err_fd;
	size_t fed;
};

#define LINK_INIT                     \
	{                             \
		-1, -1, -1, -1, -1, 0 \
	}

/* The child's ends; each is above 2, so that none is overwritten before it is used. */
struct ends {
	int fd[3]; /* -1: inherited */
};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd); /* a pipe: nothing can be lost */
	*fd = -1;
}

static void release_link(struct link *link)
{
	close_fd(&link->pid_fd);
	close_fd(&link->in_fd);
	close_fd(&link->out_fd);
	close_fd(&link->err_fd);
}

EWS_CLEANUP_DEFINE(link, struct link, release_link)

static void release_ends(struct ends *ends)
{
	int i;

	for (i = 0; i < 3; i++)
		close_fd(&ends->fd[i]);
}

EWS_CLEANUP_DEFINE(ends, struct ends, release_ends)

/* A copy of `fd` above 2; `fd` is closed when `is_ours`. */
static int lift(int fd, bool is_ours)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	if (is_ours)
		close_fd(&fd);
	return copy;
}

/* A pipe whose `child_end` (0 reads, 1 writes) is the child's. Ours never blocks. */
static int make_pipe(int *ours, int *childs, int child_end)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -1;
	*ours = lift(fds[!child_end], true);
	*childs = lift(fds[child_end], true);
	if (*ours < 0 || *childs < 0)
		return -1;
	return fcntl(*ours, F_SETFL, O_NONBLOCK);
}

static int connect_output(int *ours, int *childs, const struct ews_buf *buf, int fd)
{
	if (buf)
		return make_pipe(ours, childs, 1);
	if (fd > 0)
		return *childs = lift(fd, false);
	return 0;
}

static int connect_all(struct link *link, struct ends *ends, const struct ews_proc *p)
{
	if (p->input) {
		if (make_pipe(&link->in_fd, &ends->fd[0], 0) < 0)
			return -1;
	} else if (p->in_fd > 0) {
		ends->fd[0] = lift(p->in_fd, false);
	} else {
		ends->fd[0] = lift(open("/dev/null", O_RDWR | O_CLOEXEC), true);
	}
	if (ends->fd[0] < 0)
		return -1;
	if (connect_output(&link->out_fd, &ends->fd[1], p->out, p->out_fd) < 0)
		return -1;
	return connect_output(&link->err_fd, &ends->fd[2], p->err, p->err_fd);
}

static const char *path_of(char *const *env)
{
	const char *path = NULL;

	for (; *env && !path; env++)
		path = ews_str_after(*env, "PATH=");
	return path;
}

char *ews_proc_find(const char *name, const char *dirs, bool (*is_wanted)(const char *path))
{
	struct stat st;
	const char *end;
	char *path;

	if (!dirs || !*dirs)
		dirs = EWS_PROC_DEFAULT_PATH;
	for (; *name; dirs = end + 1) {
		end = strchrnul(dirs, ':');
		if (*dirs == '/') {
			path = ews_strfmt("%.*s/%s", (int)(end - dirs), dirs, name);
			if (!access(path, X_OK) && !stat(path, &st) && S_ISREG(st.st_mode) &&
			    (!is_wanted || is_wanted(path)))
				return path;
			free(path);
		}
		if (!*end)
			break;
	}
	return NULL;
}

static int spawn(pid_t *pid, const char *program, const struct ews_proc *p, const struct ends *ends, char *const *env)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none, defaults;
	short flags;
	int i, err;

	err = posix_spawn_file_actions_init(&actions);
	if (err)
		return err;
	err = posix_spawnattr_init(&attr);
	if (err) {
		posix_spawn_file_actions_destroy(&actions);
		return err;
	}
	/* A worker of a pool blocks signals; its child must not. */
	(void)sigemptyset(&none);
	(void)sigemptyset(&defaults);
	if (p->takes_signals)
		(void)sigfillset(&defaults);
	(void)sigaddset(&defaults, SIGPIPE);
	(void)posix_spawnattr_setsigmask(&attr, &none);
	(void)posix_spawnattr_setsigdefault(&attr, &defaults);
	flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | (p->own_group ? POSIX_SPAWN_SETPGROUP : 0) |
		(p->own_session ? POSIX_SPAWN_SETSID : 0);
	(void)posix_spawnattr_setflags(&attr, flags);
	for (i = 0; !err && i < 3; i++)
		if (ends->fd[i] >= 0)
			err = posix_spawn_file_actions_adddup2(&actions, ends->fd[i], i);
	if (!err)
		err = posix_spawn_file_actions_addclosefrom_np(&actions, 3);
	if (!err && p->cwd)
		err = posix_spawn_file_actions_addchdir_np(&actions, p->cwd);
	if (!err)
		err = posix_spawn(pid, program, &actions, &attr, p->argv, env);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return err;
}

/* Something that is not there is not the program, of which EWS_ENOTFOUND would say that. */
static int fail_to_run(const char *name)
{
	if (ews_errno_is_absent(errno))
		return ews_error(EWS_EIO, "cannot run '%s': %s", name, strerror(errno));
	return ews_error_os("cannot run '%s'", name);
}

static int start(struct link *link, const struct ews_proc *p)
{
	EWS_CLEANUP(ends) struct ends ends = { { -1, -1, -1 } };
	EWS_CLEANUP(free) char *program = NULL;
	char *const *env = p->env ? p->env : environ;
	struct stat st;

	program = strchr(p->argv[0], '/') ? ews_strdup(p->argv[0]) : ews_proc_find(p->argv[0], path_of(env), NULL);
	if (!program)
		return ews_error(EWS_ENOTFOUND, "cannot run '%s': no such program", p->argv[0]);
	if (connect_all(link, &ends, p) < 0)
		return fail_to_run(p->argv[0]);
	errno = spawn(&link->pid, program, p, &ends, env);
	if (!errno)
		return 0;
	if (p->cwd && stat(p->cwd, &st) < 0)
		return ews_error(EWS_EIO, "cannot run '%s' in '%s': %s", p->argv[0], p->cwd, strerror(errno));
	return errno == ENOENT ? ews_error_os("cannot run '%s'", p->argv[0]) : fail_to_run(p->argv[0]);
}

/* Feed what fits. A child that stops reading has all it wants. */
static int feed(struct link *link, const struct ews_proc *p)
{
	ssize_t n = 0;

	if (link->fed < p->input_len)
		n = write(link->in_fd, (const char *)p->input + link->fed, p->input_len - link->fed);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n < 0 && errno != EPIPE)
		return ews_error_os("cannot feed '%s'", p->argv[0]);
	if (n > 0)
		link->fed += (size_t)n;
	if (n < 0 || link->fed == p->input_len)
		close_fd(&link->in_fd);
	return 0;
}

static int collect(int *fd, struct ews_buf *out, const struct ews_proc *p)
{
	char chunk[CHUNK_BYTES];
	ssize_t n;

	n = read(*fd, chunk, sizeof(chunk));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n < 0)
		return ews_error_os("cannot read from '%s'", p->argv[0]);
	ews_buf_add(out, chunk, (size_t)n);
	if (!n)
		close_fd(fd);
	return 0;
}

/* How long poll may sleep: up to the deadline (0: none), or shorter where it can't see the child's end or somebody wants to hear. */
static int poll_ms(const struct link *link, const struct ews_proc *p, uint64_t deadline_ms, bool has_pipes)
{
	uint64_t now = ews_clock_monotonic_ms(), left = deadline_ms > now ? deadline_ms - now : 0;
	int most = p->progress ? PROGRESS_MS : INT32_MAX;

	if (!deadline_ms)
		return p->progress ? most : -1;
	if (!has_pipes && link->pid_fd < 0)
		most = LOOK_MS;
	return left < (uint64_t)most ? (int)left : most;
}

/*
 * Feed and collect until the pipes are closed and the child has ended. Without
 * a deadline its end is left to waitpid. Returns 1 when the time ran out.
 */
static int converse(struct link *link, const struct ews_proc *p)
{
	uint64_t deadline_ms = p->timeout_ms ? ews_clock_monotonic_ms() + p->timeout_ms : 0;
	siginfo_t info;
	bool has_pipes;
	int rc, n;

	for (;;) {
		struct pollfd fds[] = {
			{ .fd = link->in_fd, .events = POLLOUT },
			{ .fd = link->out_fd, .events = POLLIN },
			{ .fd = link->err_fd, .events = POLLIN },
			{ .fd = -1, .events = POLLIN },
		};

		has_pipes = link->in_fd >= 0 || link->out_fd >= 0 || link->err_fd >= 0;
		if (!has_pipes) {
			if (!deadline_ms)
				return 0;
			info.si_pid = 0;
			if (!waitid(P_PID, (id_t)link->pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid)
				return 0;
			fds[3].fd = link->pid_fd;
		}
		n = poll(fds, 4, poll_ms(link, p, deadline_ms, has_pipes));
		if (n < 0 && errno != EINTR)
			return ews_error_os("cannot wait for '%s'", p->argv[0]);
		if (p->progress)
			p->progress(p->payload, 0, 0, p->out ? p->out->len : 0);
		if (n <= 0) {
			if (deadline_ms && ews_clock_monotonic_ms() >= deadline_ms)
				return 1;
			continue;
		}
		rc = fds[0].revents ? feed(link, p) : 0;
		if (!rc && fds[1].revents)
			rc = collect(&link->out_fd, p->out, p);
		if (!rc && fds[2].revents)
			rc = collect(&link->err_fd, p->err, p);
		if (rc < 0)
			return rc;
		if (deadline_ms && ews_clock_monotonic_ms() >= deadline_ms)
			return 1;
	}
}

/* As converse, with SIGPIPE kept from this thread, and none left pending that we made. */
static int converse_quietly(struct link *link, const struct ews_proc *p)
{
	const struct timespec now = { 0, 0 };
	sigset_t broken, before, pending;
	bool was_pending;
	int rc;

	(void)sigemptyset(&broken);
	(void)sigaddset(&broken, SIGPIPE);
	(void)sigpending(&pending);
	was_pending = sigismember(&pending, SIGPIPE) == 1;
	(void)pthread_sigmask(SIG_BLOCK, &broken, &before);
	rc = converse(link, p);
	while (!was_pending && sigtimedwait(&broken, NULL, &now) < 0 && errno == EINTR)
		;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

int ews_proc_start(pid_t *pid, const struct ews_proc *p)
{
	EWS_CLEANUP(link) struct link link = LINK_INIT;
	struct ews_proc plain = *p;
	int rc;

	plain.input = NULL;
	plain.out = plain.err = NULL;
	rc = start(&link, &plain);
	if (rc == 0)
		*pid = link.pid;
	return rc;
}

/* `*signal` (may be NULL) is which one ended it, 0: none. */
static int reap(int *signal, pid_t pid, const char *name)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return ews_error(EWS_EIO, "cannot wait for '%s': %s", name, strerror(errno));
	if (signal)
		*signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int ews_proc_reap(pid_t pid, const char *name)
{
	return reap(NULL, pid, name);
}

int ews_proc_run(const struct ews_proc *p)
{
	EWS_CLEANUP(link) struct link link = LINK_INIT;
	int rc;

	rc = start(&link, p);
	if (rc < 0)
		return rc;
	if (p->timeout_ms)
		link.pid_fd = (int)syscall(SYS_pidfd_open, link.pid, 0);
	rc = converse_quietly(&link, p);
	if (!rc)
		return reap(p->signal, link.pid, p->argv[0]);
	(void)kill(link.pid, SIGKILL); /* ours and not reaped, so it is surely the right one */
	(void)ews_proc_reap(link.pid, p->argv[0]); /* how a killed one ended says nothing */
	if (rc < 0)
		return rc;
	return ews_error(EWS_EBUSY, "'%s' took longer than %u ms", p->argv[0], p->timeout_ms);
}

int ews_proc_self(char **out)
{
	char *path = realpath("/proc/self/exe", NULL);

	if (!path)
		return ews_error_os("cannot find out where git-ews is");
	*out = path;
	return 0;
}

int ews_proc_detach(char *const *argv)
{
	EWS_CLEANUP(fd) int null_fd = lift(open("/dev/null", O_RDWR | O_CLOEXEC), true);
	const struct ews_proc proc = {
		.argv = argv, .cwd = "/", .own_session = true, .out_fd = null_fd, .err_fd = null_fd
	};
	pid_t pid;

	if (null_fd < 0)
		return ews_error_os("cannot run '%s'", argv[0]);
	return ews_proc_start(&pid, &proc);
}
