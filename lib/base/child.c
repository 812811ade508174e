/*
 * Children that answer: see child.h.
 *
 * A child that complains more than a pipe holds would wait for us while we
 * wait for it: so whoever listens to one listens to both.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"

#define HEARD_BYTES (64 * EWS_KIB)
#define COMPLAINT_MAX (64 * EWS_KIB)

struct ews_child {
	pid_t pid;
	char *name;
	int fd; /* asks and hears */
	int err_fd; /* -1: it has closed it */
	char *heard; /* of which the bytes from `at` to `end` are not given away yet */
	size_t at, end;
	struct ews_buf complaint;
	size_t told; /* so much of it the caller knows */
};

/* The child's ends are closed in any case: what is left of them here would hide its end from us. */
static int start(struct ews_child *child, const struct ews_proc *p, int fd, int err_fd)
{
	struct ews_proc own = { .argv = p->argv, .env = p->env, .cwd = p->cwd, .own_group = true };

	own.in_fd = own.out_fd = fd;
	own.err_fd = err_fd;
	return ews_proc_start(&child->pid, &own);
}

int ews_child_open(struct ews_child **out, const struct ews_proc *p)
{
	EWS_CLEANUP(fd) int its_fd = -1;
	EWS_CLEANUP(fd) int its_err_fd = -1;
	struct ews_child *child;
	int talk[2], err[2];
	int rc;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, talk) < 0)
		return ews_error_os("cannot run '%s'", p->argv[0]);
	if (pipe2(err, O_CLOEXEC | O_NONBLOCK) < 0) {
		rc = ews_error_os("cannot run '%s'", p->argv[0]);
		close(talk[0]);
		close(talk[1]);
		return rc;
	}
	child = ews_calloc(1, sizeof(*child));
	child->pid = -1;
	child->name = ews_strdup(p->argv[0]);
	child->fd = talk[0];
	child->err_fd = err[0];
	child->heard = ews_malloc(HEARD_BYTES);
	ews_buf_init_max(&child->complaint, COMPLAINT_MAX);
	its_fd = talk[1];
	its_err_fd = err[1];
	/* Ours never blocks, its does: the flag belongs to each end of a pipe alone. */
	rc = fcntl(its_err_fd, F_SETFL, 0) < 0 ? ews_error_os("cannot run '%s'", p->argv[0])
					       : start(child, p, its_fd, its_err_fd);
	if (rc < 0) {
		ews_child_free(child);
		return rc;
	}
	*out = child;
	return 0;
}

int ews_child_ask(struct ews_child *child, const void *data, size_t len)
{
	const char *at = data;

	while (len) {
		ssize_t n = send(child->fd, at, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EPIPE || errno == ECONNRESET))
			return 0;
		if (n < 0)
			return ews_error_os("cannot ask '%s'", child->name);
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

/* Take over what the child has complained of, without waiting for more. */
static void take_complaint(struct ews_child *child)
{
	char text[4096];
	ssize_t n;

	while (child->err_fd >= 0) {
		n = read(child->err_fd, text, sizeof(text));
		if (n > 0) {
			ews_buf_add(&child->complaint, text, (size_t)n);
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0 || errno != EAGAIN) {
			close(child->err_fd);
			child->err_fd = -1;
		}
		return;
	}
}

/* Wait until there is something to hear, then hear at most `len` bytes. Returns how many; 0: the child has ended. */
static ssize_t hear_some(void *out, struct ews_child *child, size_t len)
{
	ssize_t n;

	for (;;) {
		struct pollfd fds[] = {
			{ .fd = child->fd, .events = POLLIN },
			{ .fd = child->err_fd, .events = POLLIN },
		};

		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return ews_error_os("cannot hear '%s'", child->name);
		if (fds[1].revents)
			take_complaint(child);
		if (!fds[0].revents)
			continue;
		n = recv(child->fd, out, len, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == ECONNRESET)
			return 0;
		return n < 0 ? ews_error_os("cannot hear '%s'", child->name) : n;
	}
}

/* More bytes into the empty `heard`. Returns 1, or 0 at the child's end. */
static int hear_more(struct ews_child *child)
{
	ssize_t n = hear_some(child->heard, child, HEARD_BYTES);

	if (n < 0)
		return (int)n;
	child->at = 0;
	child->end = (size_t)n;
	return n > 0;
}

int ews_child_hear_line(struct ews_buf *out, struct ews_child *child)
{
	const char *from, *stop;
	size_t len;
	int rc;

	for (;;) {
		if (child->at == child->end) {
			rc = hear_more(child);
			if (rc <= 0)
				return rc;
		}
		from = child->heard + child->at;
		len = child->end - child->at;
		stop = memchr(from, '\n', len);
		if (stop)
			len = (size_t)(stop - from);
		ews_buf_add(out, from, len);
		child->at += len + (stop != NULL);
		if (stop)
			return 1;
	}
}

int ews_child_hear(void *out, struct ews_child *child, size_t len)
{
	size_t have = child->end - child->at;
	char *at = out;

	if (have > len)
		have = len;
	memcpy(at, child->heard + child->at, have);
	child->at += have;
	for (at += have, len -= have; len;) {
		ssize_t n = hear_some(at, child, len);

		if (n <= 0)
			return (int)n;
		at += n;
		len -= (size_t)n;
	}
	return 1;
}

const struct ews_buf *ews_child_complaint(struct ews_child *child)
{
	size_t rest = child->complaint.len - child->told;

	if (child->told) {
		memmove(child->complaint.ptr, child->complaint.ptr + child->told, rest);
		ews_buf_truncate(&child->complaint, rest);
	}
	take_complaint(child);
	child->told = child->complaint.len;
	return &child->complaint;
}

int ews_child_close(struct ews_child *child)
{
	int status;

	close(child->fd); /* a socket: nothing can be lost */
	if (child->err_fd >= 0)
		close(child->err_fd);
	status = child->pid < 0 ? 0 : ews_proc_reap(child->pid, child->name);
	free(child->heard);
	ews_buf_release(&child->complaint);
	free(child->name);
	free(child);
	return status;
}

void ews_child_free(struct ews_child *child)
{
	struct ews_error_saved saved = EWS_ERROR_SAVED_INIT;

	ews_error_save(&saved);
	if (child)
		(void)ews_child_close(child);
	(void)ews_error_restore(&saved);
}
