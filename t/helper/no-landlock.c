/*
 * A kernel without Landlock, or with an older one, for a command and all that it starts.
 *
 *     no-landlock <errno> -- <command>...     ENOSYS, EOPNOTSUPP, EPERM: what asking for it answers
 *     no-landlock abi<n> -- <command>...      it is there, and says that its ABI is <n>
 *     no-landlock abi                         print which one this kernel really has; 0: none
 *
 * The first is a filter alone. The second stays beside the command: a filter
 * can't answer with a number, but can send for someone who does.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <seccomp.h>

#define ASK_ABI 1

static const struct {
	const char *name;
	int number;
} errors[] = { { "ENOSYS", ENOSYS }, { "EOPNOTSUPP", EOPNOTSUPP }, { "EPERM", EPERM } };

static int fail(const char *what)
{
	fprintf(stderr, "no-landlock: %s\n", what);
	return 125;
}

/* Load a filter that does `action` when a ruleset is asked for. Returns the descriptor that is told of it, if that is the action. */
static int load(uint32_t action)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int fd = 0;

	/* 32-bit programs go on as they are */
	if (!filter || seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ALLOW) < 0 ||
	    seccomp_rule_add(filter, action, SCMP_SYS(landlock_create_ruleset), 0) < 0 || seccomp_load(filter) < 0)
		return -1;
	if (action == SCMP_ACT_NOTIFY)
		fd = seccomp_notify_fd(filter);
	seccomp_release(filter);
	return fd;
}

/* Answer one call: how old we are, or let it be done. One whose caller has gone needs no answer. */
static int answer(int fd, long abi, struct seccomp_notif *call, struct seccomp_notif_resp *reply)
{
	memset(call, 0, sizeof(*call));
	memset(reply, 0, sizeof(*reply));
	if (seccomp_notify_receive(fd, call) < 0)
		return errno == EINTR || errno == ENOENT ? 0 : -1;
	reply->id = call->id;
	if (call->data.args[2] == ASK_ABI)
		reply->val = abi;
	else
		reply->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	return seccomp_notify_respond(fd, reply) < 0 && errno != ENOENT ? -1 : 0;
}

static int serve(int fd, long abi, pid_t pid)
{
	struct pollfd fds[] = {
		{ .fd = fd, .events = POLLIN },
		{ .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN },
	};
	struct seccomp_notif *call;
	struct seccomp_notif_resp *reply;
	int status;

	if (fds[1].fd < 0 || seccomp_notify_alloc(&call, &reply) < 0)
		return fail("cannot wait for the command");
	while (!fds[1].revents) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return fail("cannot wait for the command");
		if ((fds[0].revents & POLLIN) && answer(fd, abi, call, reply) < 0)
			return fail("cannot answer in the kernel's place");
	}
	seccomp_notify_free(call, reply);
	if (waitpid(pid, &status, 0) < 0)
		return fail("cannot wait for the command");
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int start(char **argv)
{
	int err;

	execvp(argv[0], argv);
	err = errno;
	perror(argv[0]);
	return err == ENOENT ? 127 : 126;
}

int main(int argc, char **argv)
{
	size_t i;
	pid_t pid;
	int fd;

	if (argc == 2 && !strcmp(argv[1], "abi")) {
		long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, ASK_ABI);

		return printf("%ld\n", abi < 0 ? 0 : abi) < 0;
	}
	if (argc < 4 || strcmp(argv[2], "--") != 0)
		return fail("usage: no-landlock <errno>|abi<n> -- <command>...");
	for (i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		if (strcmp(argv[1], errors[i].name) == 0)
			return load(SCMP_ACT_ERRNO((uint32_t)errors[i].number)) < 0 ? fail("no filter")
										    : start(argv + 3);
	}
	if (strncmp(argv[1], "abi", 3) != 0)
		return fail("no such errno is known here");
	fd = load(SCMP_ACT_NOTIFY);
	if (fd < 0)
		return fail("no filter");
	pid = fork();
	if (pid == 0)
		_exit(start(argv + 3));
	return pid < 0 ? fail("cannot fork") : serve(fd, strtol(argv[1] + 3, NULL, 10), pid);
}
