/*
 * killat: run a command and kill it right before its N-th change of the file system.
 *
 *     killat [-1] [-o <log>] <n> <command> [<arg>...]
 *
 * A "change" is a system call that would alter a file, a name or an attribute,
 * made by the command or any process or thread it starts; the kill comes
 * before the call takes effect. `n` = 0 kills nothing and counts. The log gets one
 * line: the number of changes that were seen, a tab, and the call that was cut off.
 *
 * -1 kills the process that makes the call and leaves its parents to notice;
 * otherwise everything that the command started dies at the same moment, as
 * when a machine loses power (only that the page cache lives on).
 *
 * Status: the command's own (128+signal when it died of one); 199 when the
 * command ended before its N-th change; 125 when it cannot be traced here.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/ptrace.h>

enum {
	STATUS_SHORT = 199,
	STATUS_CANNOT = 125,
	TASKS_MAX = 8192,
};

enum kind {
	BY_PATH, /* always a change; `arg` is the path to show */
	BY_FD, /* a change when the descriptor `arg` is a regular file */
	BY_FLAGS, /* an open: a change when the flags in `arg` + 1 create or truncate */
	BY_HOW, /* openat2: as above, the flags lie in the struct that `arg` + 1 points to */
};

static const struct call {
	unsigned long nr;
	const char *name;
	enum kind kind;
	unsigned arg;
} calls[] = {
	{ SYS_openat, "openat", BY_FLAGS, 1 },
	{ SYS_openat2, "openat2", BY_HOW, 1 },
	{ SYS_mkdirat, "mkdirat", BY_PATH, 1 },
	{ SYS_mknodat, "mknodat", BY_PATH, 1 },
	{ SYS_unlinkat, "unlinkat", BY_PATH, 1 },
	{ SYS_renameat2, "renameat2", BY_PATH, 3 },
	{ SYS_linkat, "linkat", BY_PATH, 3 },
	{ SYS_symlinkat, "symlinkat", BY_PATH, 2 },
	{ SYS_fchmodat, "fchmodat", BY_PATH, 1 },
	{ SYS_fchownat, "fchownat", BY_PATH, 1 },
	{ SYS_utimensat, "utimensat", BY_PATH, 1 },
	{ SYS_truncate, "truncate", BY_PATH, 0 },
	{ SYS_setxattr, "setxattr", BY_PATH, 0 },
	{ SYS_lsetxattr, "lsetxattr", BY_PATH, 0 },
	{ SYS_removexattr, "removexattr", BY_PATH, 0 },
	{ SYS_lremovexattr, "lremovexattr", BY_PATH, 0 },
	{ SYS_write, "write", BY_FD, 0 },
	{ SYS_pwrite64, "pwrite64", BY_FD, 0 },
	{ SYS_writev, "writev", BY_FD, 0 },
	{ SYS_pwritev, "pwritev", BY_FD, 0 },
	{ SYS_ftruncate, "ftruncate", BY_FD, 0 },
	{ SYS_fallocate, "fallocate", BY_FD, 0 },
	{ SYS_fchmod, "fchmod", BY_FD, 0 },
	{ SYS_fchown, "fchown", BY_FD, 0 },
	{ SYS_fsetxattr, "fsetxattr", BY_FD, 0 },
	{ SYS_fremovexattr, "fremovexattr", BY_FD, 0 },
	{ SYS_copy_file_range, "copy_file_range", BY_FD, 2 },
	{ SYS_sendfile, "sendfile", BY_FD, 0 },
	{ SYS_ioctl, "ioctl", BY_FD, 0 },
#ifdef SYS_renameat
	{ SYS_renameat, "renameat", BY_PATH, 3 },
#endif
#ifdef SYS_open
	{ SYS_open, "open", BY_FLAGS, 0 },
	{ SYS_creat, "creat", BY_PATH, 0 },
	{ SYS_mkdir, "mkdir", BY_PATH, 0 },
	{ SYS_mknod, "mknod", BY_PATH, 0 },
	{ SYS_rmdir, "rmdir", BY_PATH, 0 },
	{ SYS_unlink, "unlink", BY_PATH, 0 },
	{ SYS_rename, "rename", BY_PATH, 1 },
	{ SYS_link, "link", BY_PATH, 1 },
	{ SYS_symlink, "symlink", BY_PATH, 1 },
	{ SYS_chmod, "chmod", BY_PATH, 0 },
	{ SYS_chown, "chown", BY_PATH, 0 },
	{ SYS_lchown, "lchown", BY_PATH, 0 },
	{ SYS_utime, "utime", BY_PATH, 0 },
	{ SYS_utimes, "utimes", BY_PATH, 0 },
#endif
};

static pid_t tasks[TASKS_MAX];
static size_t tasks_n;

static void remember(pid_t task)
{
	for (size_t i = 0; i < tasks_n; i++)
		if (tasks[i] == task)
			return;
	if (tasks_n < TASKS_MAX)
		tasks[tasks_n++] = task;
}

static void forget(pid_t task)
{
	for (size_t i = 0; i < tasks_n; i++)
		if (tasks[i] == task)
			tasks[i] = tasks[--tasks_n];
}

/* Copy up to `len` bytes from the traced task; how many it were. Shortens the read until it lies in mapped memory. */
static size_t peek(pid_t task, unsigned long addr, void *out, size_t len)
{
	for (; addr && len; len /= 2) {
		struct iovec here = { out, len }, there = { (void *)addr, len };
		ssize_t n = process_vm_readv(task, &here, 1, &there, 1, 0);

		if (n > 0)
			return (size_t)n;
	}
	return 0;
}

/* Where does the descriptor lead? False when it is no file: a pipe, a terminal, a device. */
static bool descriptor_is_file(pid_t task, unsigned long fd, char *name, size_t size)
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/fd/%d", (int)task, (int)fd);
	n = readlink(link, name, size - 1);
	if (n <= 0)
		return false;
	name[n] = '\0';
	return name[0] == '/' && strncmp(name, "/dev/", 5) != 0 && strncmp(name, "/proc/", 6) != 0;
}

static bool flags_change(unsigned long flags)
{
	return (flags & (O_CREAT | O_TRUNC)) || (flags & O_TMPFILE) == O_TMPFILE;
}

/* Would the call that the task is about to make change a file system? `what` becomes its text. */
static bool is_change(pid_t task, const struct ptrace_syscall_info *info, char *what, size_t size)
{
	const struct call *call = NULL;
	char name[4096] = "";
	unsigned long flags = 0;

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]) && !call; i++)
		if (calls[i].nr == info->entry.nr)
			call = &calls[i];
	if (!call)
		return false;
	/* Of all ioctls only FICLONE and FICLONERANGE write. */
	if (call->nr == SYS_ioctl && info->entry.args[1] != 0x40049409UL && info->entry.args[1] != 0x4020940dUL)
		return false;
	if (call->kind == BY_FD) {
		if (!descriptor_is_file(task, info->entry.args[call->arg], name, sizeof(name)))
			return false;
	} else {
		name[peek(task, info->entry.args[call->arg], name, sizeof(name) - 1)] = '\0';
	}
	if (call->kind == BY_FLAGS)
		flags = info->entry.args[call->arg + 1];
	if (call->kind == BY_HOW)
		peek(task, info->entry.args[call->arg + 1], &flags, sizeof(flags));
	if ((call->kind == BY_FLAGS || call->kind == BY_HOW) && !flags_change(flags))
		return false;
	snprintf(what, size, "%s(%s)", call->name, name);
	for (char *p = what; *p; p++)
		if ((unsigned char)*p < ' ')
			*p = '?';
	return true;
}

static void start(char **argv)
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
		_exit(STATUS_CANNOT);
	raise(SIGSTOP);
	execvp(argv[0], argv);
	_exit(127);
}

int main(int argc, char **argv)
{
	const char *log_name = NULL;
	bool only_one = false;
	long goal, seen = 0;
	char cut[8192] = "-";
	int status, result = STATUS_CANNOT, opt;
	pid_t first, task;

	while ((opt = getopt(argc, argv, "+1o:")) != -1) {
		if (opt == '1')
			only_one = true;
		else if (opt == 'o')
			log_name = optarg;
		else
			return STATUS_CANNOT;
	}
	if (argc - optind < 2)
		return STATUS_CANNOT;
	goal = strtol(argv[optind], NULL, 10);

	first = fork();
	if (first < 0)
		return STATUS_CANNOT;
	if (first == 0)
		start(argv + optind + 1);
	if (waitpid(first, &status, 0) != first || !WIFSTOPPED(status))
		return STATUS_CANNOT;
	remember(first);
	if (ptrace(PTRACE_SETOPTIONS, first, NULL,
		   (void *)(long)(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
				  PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL)) < 0)
		return STATUS_CANNOT;
	ptrace(PTRACE_SYSCALL, first, NULL, NULL);

	while ((task = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
		struct ptrace_syscall_info info;
		char what[8192];
		int sig;

		if (task <= 0)
			continue;
		if (!WIFSTOPPED(status)) {
			forget(task);
			if (task == first)
				result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
			continue;
		}
		remember(task);
		sig = WSTOPSIG(status);
		if (sig == (SIGTRAP | 0x80)) {
			sig = 0;
			if (ptrace(PTRACE_GET_SYSCALL_INFO, task, (void *)sizeof(info), &info) > 0 &&
			    info.op == PTRACE_SYSCALL_INFO_ENTRY && is_change(task, &info, what, sizeof(what)) &&
			    ++seen == goal) {
				memcpy(cut, what, sizeof(cut));
				for (size_t i = 0; i < tasks_n; i++)
					if (!only_one || tasks[i] == task)
						kill(tasks[i], SIGKILL);
			}
		} else if (status >> 16 || sig == SIGSTOP || sig == SIGTRAP) {
			sig = 0;
		}
		ptrace(PTRACE_SYSCALL, task, NULL, (void *)(long)sig);
	}
	if (log_name) {
		FILE *log = fopen(log_name, "w");

		if (!log || fprintf(log, "%ld\t%s\n", seen, cut) < 0 || fclose(log) != 0)
			return STATUS_CANNOT;
	}
	return goal && seen < goal ? STATUS_SHORT : result;
}
