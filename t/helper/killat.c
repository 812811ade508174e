/*
 * killat: run a command, and do it harm right before its N-th change of the file system.
 *
 *     killat [-1] [-y | -r] [-c <regexp>] [-e <errno> [-f] | -s <signal> | -x <program> [-a]] [-w <s>] [-o <log>]
 *            [-t <trace>] <n> <command> [<arg>...]
 *
 * A "change" is a system call that would alter a file, a name or an attribute,
 * made by the command or any process or thread it starts; the harm comes
 * before the call takes effect. `n` = 0 harms nothing and counts. The log gets one
 * line: the number of changes that were seen, a tab, and the call that was met.
 *
 * The harm is SIGKILL for all that the command started, as when a machine loses
 * power (only that the page cache lives on); or
 *
 * -1  for the process alone that makes the call, which leaves its parents to notice
 * -s  another signal, by name ("INT"): what a terminal or an init sends, or the kernel at a limit ("XCPU")
 * -e  none: the call fails with this error, by name ("EIO"), and the command goes on
 * -f  with -e: each further call that wants space fails as well, as when a disk is full
 * -x  none: the call waits until this program has run to its end, which is given the paths of the call
 * -a  with -x: it is run when the call is done, and before what made the call goes on
 *
 * -c  of the changes only those count whose text, as a trace has it after the process, matches the extended regexp
 * -w  a command that takes more than so many seconds is killed
 * -y  syncs count as well: they alter nothing, but can fail
 * -r  instead of changes, looks count: what the command's own program opens, reads, lists or asks for below the working
 *     directory; where the error is EMFILE, all that it opens there, and no other call
 * -t  writes a line for each call: its number, the process, its name, and the paths
 *
 * Only the calls of the table stop (a seccomp filter picks them), so that a traced command is nearly as
 * quick as any.
 *
 * Status: the command's own (128+signal when it died of one); 199 when the
 * command ended before its N-th change; 125 when it cannot be traced here; 124 when it took too long.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <regex.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/elf.h>
#include <linux/filter.h>
#include <linux/ptrace.h>
#include <linux/seccomp.h>

enum {
	STATUS_SHORT = 199,
	STATUS_CANNOT = 125,
	STATUS_HUNG = 124,
	TASKS_MAX = 8192,
	NAME_BYTES = 2 * PATH_MAX,
};

enum kind {
	BY_PATH, /* always a change */
	BY_FD, /* a change when the descriptor `path` is a regular file */
	BY_NAME, /* a change when nothing of that name is there */
	BY_FLAGS, /* an open: a change when the flags, in the argument after `path`, create what is not there, or truncate */
	BY_HOW, /* openat2: as above, the flags lie in the struct that the argument after `path` points to */
	SYNC, /* no change: the descriptor `path` becomes durable */
	LOOK, /* no change: asks for what has that path */
	LOOK_FD, /* no change: reads what the descriptor `path` is open on */
};

/* Where an argument is none. */
#define NONE UINT_MAX

static const struct call {
	unsigned long nr;
	const char *name;
	enum kind kind;
	unsigned dir, path; /* which arguments say where; `dir` NONE: the working directory */
	unsigned to_dir, to; /* likewise of a second path; `to` NONE: there is none */
	bool wants_space;
} calls[] = {
	{ SYS_openat, "openat", BY_FLAGS, 0, 1, NONE, NONE, true },
	{ SYS_openat2, "openat2", BY_HOW, 0, 1, NONE, NONE, true },
	{ SYS_mkdirat, "mkdirat", BY_NAME, 0, 1, NONE, NONE, true },
	{ SYS_mknodat, "mknodat", BY_PATH, 0, 1, NONE, NONE, true },
	{ SYS_unlinkat, "unlinkat", BY_PATH, 0, 1, NONE, NONE, false },
	{ SYS_renameat2, "renameat2", BY_PATH, 0, 1, 2, 3, false },
	{ SYS_linkat, "linkat", BY_PATH, 0, 1, 2, 3, true },
	{ SYS_symlinkat, "symlinkat", BY_PATH, 1, 2, NONE, NONE, true },
	{ SYS_fchmodat, "fchmodat", BY_PATH, 0, 1, NONE, NONE, false },
	{ SYS_fchownat, "fchownat", BY_PATH, 0, 1, NONE, NONE, false },
	{ SYS_utimensat, "utimensat", BY_PATH, 0, 1, NONE, NONE, false },
	{ SYS_truncate, "truncate", BY_PATH, NONE, 0, NONE, NONE, false },
	{ SYS_setxattr, "setxattr", BY_PATH, NONE, 0, NONE, NONE, true },
	{ SYS_lsetxattr, "lsetxattr", BY_PATH, NONE, 0, NONE, NONE, true },
	{ SYS_removexattr, "removexattr", BY_PATH, NONE, 0, NONE, NONE, false },
	{ SYS_lremovexattr, "lremovexattr", BY_PATH, NONE, 0, NONE, NONE, false },
	{ SYS_write, "write", BY_FD, NONE, 0, NONE, NONE, true },
	{ SYS_pwrite64, "pwrite64", BY_FD, NONE, 0, NONE, NONE, true },
	{ SYS_writev, "writev", BY_FD, NONE, 0, NONE, NONE, true },
	{ SYS_pwritev, "pwritev", BY_FD, NONE, 0, NONE, NONE, true },
	{ SYS_ftruncate, "ftruncate", BY_FD, NONE, 0, NONE, NONE, false },
	{ SYS_fallocate, "fallocate", BY_FD, NONE, 0, NONE, NONE, true },
	{ SYS_fchmod, "fchmod", BY_FD, NONE, 0, NONE, NONE, false },
	{ SYS_fchown, "fchown", BY_FD, NONE, 0, NONE, NONE, false },
	{ SYS_fsetxattr, "fsetxattr", BY_FD, NONE, 0, NONE, NONE, true },
	{ SYS_fremovexattr, "fremovexattr", BY_FD, NONE, 0, NONE, NONE, false },
	{ SYS_copy_file_range, "copy_file_range", BY_FD, NONE, 2, NONE, NONE, true },
	{ SYS_sendfile, "sendfile", BY_FD, NONE, 0, NONE, NONE, true },
	{ SYS_ioctl, "ioctl", BY_FD, NONE, 0, NONE, NONE, true },
	{ SYS_fsync, "fsync", SYNC, NONE, 0, NONE, NONE, false },
	{ SYS_fdatasync, "fdatasync", SYNC, NONE, 0, NONE, NONE, false },
	{ SYS_syncfs, "syncfs", SYNC, NONE, 0, NONE, NONE, false },
	{ SYS_sync_file_range, "sync_file_range", SYNC, NONE, 0, NONE, NONE, false },
	{ SYS_newfstatat, "newfstatat", LOOK, 0, 1, NONE, NONE, false },
	{ SYS_statx, "statx", LOOK, 0, 1, NONE, NONE, false },
	{ SYS_readlinkat, "readlinkat", LOOK, 0, 1, NONE, NONE, false },
	{ SYS_faccessat, "faccessat", LOOK, 0, 1, NONE, NONE, false },
	{ SYS_faccessat2, "faccessat2", LOOK, 0, 1, NONE, NONE, false },
	{ SYS_getdents64, "getdents64", LOOK_FD, NONE, 0, NONE, NONE, false },
	{ SYS_read, "read", LOOK_FD, NONE, 0, NONE, NONE, false },
	{ SYS_pread64, "pread64", LOOK_FD, NONE, 0, NONE, NONE, false },
#ifdef SYS_renameat
	{ SYS_renameat, "renameat", BY_PATH, 0, 1, 2, 3, false },
#endif
#ifdef SYS_open
	{ SYS_open, "open", BY_FLAGS, NONE, 0, NONE, NONE, true },
	{ SYS_creat, "creat", BY_PATH, NONE, 0, NONE, NONE, true },
	{ SYS_mkdir, "mkdir", BY_NAME, NONE, 0, NONE, NONE, true },
	{ SYS_mknod, "mknod", BY_PATH, NONE, 0, NONE, NONE, true },
	{ SYS_rmdir, "rmdir", BY_PATH, NONE, 0, NONE, NONE, false },
	{ SYS_unlink, "unlink", BY_PATH, NONE, 0, NONE, NONE, false },
	{ SYS_rename, "rename", BY_PATH, NONE, 0, NONE, 1, false },
	{ SYS_link, "link", BY_PATH, NONE, 0, NONE, 1, true },
	{ SYS_symlink, "symlink", BY_PATH, NONE, 1, NONE, NONE, true },
	{ SYS_chmod, "chmod", BY_PATH, NONE, 0, NONE, NONE, false },
	{ SYS_chown, "chown", BY_PATH, NONE, 0, NONE, NONE, false },
	{ SYS_lchown, "lchown", BY_PATH, NONE, 0, NONE, NONE, false },
	{ SYS_utime, "utime", BY_PATH, NONE, 0, NONE, NONE, false },
	{ SYS_utimes, "utimes", BY_PATH, NONE, 0, NONE, NONE, false },
	{ SYS_stat, "stat", LOOK, NONE, 0, NONE, NONE, false },
	{ SYS_lstat, "lstat", LOOK, NONE, 0, NONE, NONE, false },
	{ SYS_access, "access", LOOK, NONE, 0, NONE, NONE, false },
	{ SYS_readlink, "readlink", LOOK, NONE, 0, NONE, NONE, false },
#endif
};

#define CALLS_N (sizeof(calls) / sizeof(calls[0]))

static const struct word {
	const char *name;
	int value;
} errors[] = { { "ENOSPC", ENOSPC },         { "EDQUOT", EDQUOT }, { "EIO", EIO }, { "EINTR", EINTR },
	       { "EOPNOTSUPP", EOPNOTSUPP }, { "EMFILE", EMFILE }, { NULL, 0 } },
  signals[] = { { "INT", SIGINT }, { "TERM", SIGTERM }, { "HUP", SIGHUP }, { "XCPU", SIGXCPU }, { NULL, 0 } };

struct settings {
	const char *log, *trace, *meanwhile;
	long goal;
	unsigned wait_s;
	int signal, error;
	bool only_one, with_syncs, stays_full, looks, after;
	char here[PATH_MAX]; /* below which directory looks count */
	regex_t *counted; /* NULL: all of them */
};

static pid_t tasks[TASKS_MAX];
static size_t tasks_n;
static volatile sig_atomic_t is_late;

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

/* Where does the descriptor lead? */
static bool descriptor_name(char *out, size_t size, pid_t task, int fd)
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), fd == AT_FDCWD ? "/proc/%d/cwd" : "/proc/%d/fd/%d", (int)task, fd);
	n = readlink(link, out, size - 1);
	out[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* A file or directory, or nothing yet? Not a pipe, a terminal, a device, a file of /proc. */
static bool is_file_name(const char *name)
{
	struct stat st;

	return name[0] == '/' && strncmp(name, "/proc/", 6) != 0 &&
	       (lstat(name, &st) < 0 || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) || S_ISLNK(st.st_mode));
}

/* The path that arguments of the call name, from the root on; its last components as they were given. */
static void whole_path(char *out, size_t size, pid_t task, const __u64 *args, unsigned dir, unsigned path)
{
	char name[PATH_MAX + 1];
	size_t len;

	name[peek(task, args[path], name, sizeof(name) - 1)] = '\0';
	out[0] = '\0';
	if (name[0] != '/')
		descriptor_name(out, size, task, dir == NONE ? AT_FDCWD : (int)args[dir]);
	len = strlen(out);
	snprintf(out + len, size - len, "%s%s", name[0] && name[0] != '/' ? "/" : "", name);
}

static bool flags_change(unsigned long flags, bool is_there)
{
	return (flags & O_TRUNC) || ((flags & O_CREAT) && !is_there) || (flags & O_TMPFILE) == O_TMPFILE;
}

static const struct call *find_call(unsigned long nr)
{
	for (size_t i = 0; i < CALLS_N; i++)
		if (calls[i].nr == nr)
			return &calls[i];
	return NULL;
}

static bool is_open(const struct call *call)
{
	return call->kind == BY_FLAGS || call->kind == BY_HOW;
}

/* May it be one of those that count? */
static bool is_wanted(const struct settings *set, const struct call *call)
{
	if (set->looks)
		return is_open(call) || (set->error != EMFILE && (call->kind == LOOK || call->kind == LOOK_FD));
	return call->kind != LOOK && call->kind != LOOK_FD;
}

static void tell(char *what, const struct call *call, const char *name, const char *to)
{
	snprintf(what, 2 * NAME_BYTES, "%s\t%s%s%s", call->name, name, *to ? "\t" : "", to);
	for (char *p = what; *p; p++)
		if ((unsigned char)*p < ' ' && *p != '\t')
			*p = '?';
}

/* Is it the program that was begun, which made the first of all calls, or a child that runs another? */
static bool is_own_program(pid_t task)
{
	static char own[PATH_MAX];
	char link[64], program[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)task);
	n = readlink(link, program, sizeof(program) - 1);
	program[n > 0 ? n : 0] = '\0';
	if (!*own)
		memcpy(own, program, sizeof(own));
	return !strcmp(program, own);
}

/* Is the call that the task is about to make a look that counts? `what` becomes its text. */
static bool is_look(const struct settings *set, pid_t task, const struct call *call, const __u64 *args, char *what)
{
	char name[NAME_BYTES] = "";
	size_t len = strlen(set->here);

	if (!is_own_program(task))
		return false;
	if (call->kind == LOOK_FD)
		descriptor_name(name, sizeof(name), task, (int)args[call->path]);
	else
		whole_path(name, sizeof(name), task, args, call->dir, call->path);
	if (strncmp(name, set->here, len) != 0 || name[len] != '/')
		return false;
	tell(what, call, name, "");
	return true;
}

/*
 * Would the call that the task is about to make change a file system (or, when that is asked for, make it durable)?
 * `what` becomes its text.
 */
static bool counts(const struct settings *set, pid_t task, const struct call *call, const __u64 *args, char *what)
{
	char name[NAME_BYTES] = "", to[NAME_BYTES] = "";
	unsigned long flags = 0;
	struct stat st;
	bool is_there;

	/* Of all ioctls only FICLONE and FICLONERANGE write. */
	if (call->nr == SYS_ioctl && args[1] != 0x40049409UL && args[1] != 0x4020940dUL)
		return false;
	if (call->kind == SYNC && !set->with_syncs)
		return false;
	/* One that does not wait until all is written says nothing. */
	if (call->nr == SYS_sync_file_range &&
	    args[3] != (SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER))
		return false;
	if (call->kind == BY_FLAGS)
		flags = args[call->path + 1];
	if (call->kind == BY_HOW)
		peek(task, args[call->path + 1], &flags, sizeof(flags));
	if ((call->kind == BY_FLAGS || call->kind == BY_HOW) && !flags_change(flags, false))
		return false;
	if (call->kind == BY_FD || call->kind == SYNC)
		descriptor_name(name, sizeof(name), task, (int)args[call->path]);
	else
		whole_path(name, sizeof(name), task, args, call->dir, call->path);
	if (!is_file_name(name) && call->kind != BY_PATH)
		return false;
	is_there = !lstat(name, &st);
	if (call->kind == BY_NAME && is_there)
		return false;
	if ((call->kind == BY_FLAGS || call->kind == BY_HOW) && !flags_change(flags, is_there))
		return false;
	if (call->to != NONE)
		whole_path(to, sizeof(to), task, args, call->to_dir, call->to);
	tell(what, call, name, to);
	return true;
}

/* Is it one of those that were asked for? */
static bool is_counted(const struct settings *set, const char *what)
{
	return !set->counted || !regexec(set->counted, what, 0, NULL, 0);
}

/* Let the call that the task is about to make do nothing and fail. */
static bool fail_call(pid_t task, int error)
{
#if defined(__x86_64__)
	return !ptrace(PTRACE_POKEUSER, task, (void *)offsetof(struct user_regs_struct, orig_rax), (void *)-1L) &&
	       !ptrace(PTRACE_POKEUSER, task, (void *)offsetof(struct user_regs_struct, rax), (void *)(long)-error);
#elif defined(__aarch64__)
	struct user_regs_struct regs;
	struct iovec all = { &regs, sizeof(regs) };
	int none = -1;
	struct iovec nr = { &none, sizeof(none) };

	if (ptrace(PTRACE_GETREGSET, task, (void *)NT_PRSTATUS, &all) < 0)
		return false;
	regs.regs[0] = (unsigned long long)-(long long)error;
	return !ptrace(PTRACE_SETREGSET, task, (void *)NT_ARM_SYSTEM_CALL, &nr) &&
	       !ptrace(PTRACE_SETREGSET, task, (void *)NT_PRSTATUS, &all);
#else
	(void)task;
	(void)error;
	return false;
#endif
}

/* The calls of the table that are wanted stop for the tracer, all others pass. */
static bool filter_calls(const struct settings *set)
{
	struct sock_filter code[CALLS_N + 3] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};
	struct sock_fprog prog = { CALLS_N + 3, code };

	for (size_t i = 0; i < CALLS_N; i++)
		code[1 + i] =
			(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i].nr,
						     is_wanted(set, &calls[i]) ? (unsigned char)(CALLS_N - i) : 0, 0);
	code[CALLS_N + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	code[CALLS_N + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE);
	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

/* The leak checker of a program that was made with it is a tracer, too, and there can't be two. */
static void forgo_leak_checker(void)
{
	const char *options = getenv("ASAN_OPTIONS");
	char more[PATH_MAX + 64];

	(void)snprintf(more, sizeof(more), "%s%sdetect_leaks=0", options ? options : "",
		       options && *options ? ":" : "");
	if (setenv("ASAN_OPTIONS", more, 1) < 0)
		_exit(STATUS_CANNOT);
}

static void start(const struct settings *set, char **argv)
{
	forgo_leak_checker();
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
		_exit(STATUS_CANNOT);
	raise(SIGSTOP);
	if (!filter_calls(set))
		_exit(STATUS_CANNOT);
	execvp(argv[0], argv);
	_exit(127);
}

static int find_word(const struct word *words, const char *name)
{
	for (; words->name; words++)
		if (!strcmp(words->name, name))
			return words->value;
	return 0;
}

static void be_late(int signal)
{
	(void)signal;
	is_late = 1;
}

/* A signal that comes ends the wait for the command. */
static void set_alarm(unsigned wait_s)
{
	struct sigaction action = { .sa_handler = be_late };

	(void)sigaction(SIGALRM, &action, NULL);
	(void)alarm(wait_s);
}

static bool parse(struct settings *set, int argc, char **argv)
{
	static regex_t counted;
	bool is_good = true;
	int opt;

	while ((opt = getopt(argc, argv, "+1yrfac:e:s:x:o:t:w:")) != -1) {
		set->only_one = set->only_one || opt == '1';
		set->with_syncs = set->with_syncs || opt == 'y';
		set->stays_full = set->stays_full || opt == 'f';
		set->looks = set->looks || opt == 'r';
		set->after = set->after || opt == 'a';
		if (opt == 'e')
			is_good = is_good && (set->error = find_word(errors, optarg));
		else if (opt == 's')
			is_good = is_good && (set->signal = find_word(signals, optarg));
		else if (opt == 'c' && (is_good = is_good && !regcomp(&counted, optarg, REG_EXTENDED | REG_NOSUB)))
			set->counted = &counted;
		else if (opt == 'o')
			set->log = optarg;
		else if (opt == 't')
			set->trace = optarg;
		else if (opt == 'x')
			set->meanwhile = optarg;
		else if (opt == 'w')
			set->wait_s = (unsigned)strtoul(optarg, NULL, 10);
		else if (opt == '?')
			return false;
	}
	if (!is_good || argc - optind < 2)
		return false;
	set->goal = strtol(argv[optind], NULL, 10);
	return !set->looks || getcwd(set->here, sizeof(set->here));
}

/* Somebody else acts, who is not traced; all but the task that made the call go on. `what` is changed. */
static bool run_meanwhile(const struct settings *set, char *what)
{
	char *argv[4] = { (char *)set->meanwhile };
	pid_t pid;
	int status;

	strtok(what, "\t");
	argv[1] = strtok(NULL, "\t");
	argv[2] = argv[1] ? strtok(NULL, "\t") : NULL;
	pid = fork();
	if (pid == 0) {
		execv(argv[0], argv);
		_exit(127);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR || is_late)
			return false;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The N-th call: what is to happen to whom. */
static bool harm(const struct settings *set, pid_t task, char *what)
{
	if (set->meanwhile)
		return run_meanwhile(set, what);
	if (set->error)
		return fail_call(task, set->error);
	for (size_t i = 0; i < tasks_n; i++)
		if (!set->only_one || tasks[i] == task)
			kill(tasks[i], set->signal);
	return true;
}

int main(int argc, char **argv)
{
	struct settings set = { .signal = SIGKILL };
	long seen = 0;
	char met[2 * NAME_BYTES] = "-";
	int status, result = STATUS_CANNOT;
	bool can = true;
	pid_t first, task, held = 0;
	FILE *trace = NULL;

	if (!parse(&set, argc, argv) || (set.trace && !(trace = fopen(set.trace, "we"))))
		return STATUS_CANNOT;
	first = fork();
	if (first < 0)
		return STATUS_CANNOT;
	if (first == 0)
		start(&set, argv + optind + 1);
	if (waitpid(first, &status, 0) != first || !WIFSTOPPED(status))
		return STATUS_CANNOT;
	remember(first);
	if (ptrace(PTRACE_SETOPTIONS, first, NULL,
		   (void *)(long)(PTRACE_O_TRACESECCOMP | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
				  PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL)) < 0)
		return STATUS_CANNOT;
	ptrace(PTRACE_CONT, first, NULL, NULL);
	set_alarm(set.wait_s);

	while ((task = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
		struct ptrace_syscall_info info;
		char what[2 * NAME_BYTES];
		const struct call *call;
		int sig;

		if (is_late)
			for (size_t i = 0; i < tasks_n; i++)
				kill(tasks[i], SIGKILL);
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
		if (task == held && status >> 16 == 0 && sig == SIGTRAP) {
			held = 0;
			memcpy(what, met, sizeof(what));
			can = run_meanwhile(&set, what) && can;
		} else if (status >> 16 == PTRACE_EVENT_SECCOMP &&
			   ptrace(PTRACE_GET_SYSCALL_INFO, task, (void *)sizeof(info), &info) > 0 &&
			   info.op == PTRACE_SYSCALL_INFO_SECCOMP && (call = find_call(info.seccomp.nr)) &&
			   (set.looks ? is_look : counts)(&set, task, call, info.seccomp.args, what)) {
			bool is_one = is_counted(&set, what);

			seen += is_one;
			if (trace && is_one)
				fprintf(trace, "%ld\t%d\t%s\n", seen, (int)task, what);
			if (is_one && seen == set.goal) {
				memcpy(met, what, sizeof(met));
				held = set.after ? task : 0;
				can = (set.after || harm(&set, task, what)) && can;
			} else if (set.goal && seen >= set.goal && set.stays_full && call->wants_space) {
				can = fail_call(task, set.error) && can;
			}
		}
		if (status >> 16 || sig == SIGSTOP || sig == SIGTRAP)
			sig = 0;
		/* who is held stops once more, at the end of the call */
		ptrace(task == held ? PTRACE_SYSCALL : PTRACE_CONT, task, NULL, (void *)(long)sig);
	}
	if (trace && fclose(trace) != 0)
		return STATUS_CANNOT;
	if (set.log) {
		FILE *log = fopen(set.log, "w");

		if (!log || fprintf(log, "%ld\t%s\n", seen, met) < 0 || fclose(log) != 0)
			return STATUS_CANNOT;
	}
	if (!can)
		return STATUS_CANNOT;
	if (is_late)
		return STATUS_HUNG;
	return set.goal && seen < set.goal ? STATUS_SHORT : result;
}
