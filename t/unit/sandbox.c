/*
 * A child in a sandbox writes where it is let and nowhere else, has no descriptor that is not its own, and no network.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/sandbox.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <pty.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <seccomp.h>

#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"

static char root[] = "/tmp/ews-sandbox-XXXXXX";
static int in_fd = -1;

/* A directory that is let, and one that is not, with the same things in them. */
static void set_up(void)
{
	static const char *const names[] = { "in", "out" };
	int i, fd;

	cr_assert(mkdtemp(root));
	cr_assert_eq(chdir(root), 0);
	for (i = 0; i < 2; i++) {
		cr_assert_eq(mkdir(names[i], 0777), 0);
		fd = ews_dir_open(names[i]);
		cr_assert_eq(ews_file_replace(fd, "file", "text", 4, 0644), 0);
		cr_assert_eq(mkdirat(fd, "dir", 0755), 0);
		cr_assert_eq(mkdirat(fd, "dir/gone", 0755), 0);
		cr_assert_eq(symlinkat("file", fd, "gone"), 0);
		close(fd);
	}
	in_fd = open("in", O_PATH | O_CLOEXEC);
	cr_assert_geq(in_fd, 0);
}

static void tear_down(void)
{
	close(in_fd);
	cr_expect_eq(ews_file_remove_tree(AT_FDCWD, root), 0, "%s", ews_error_message());
}

TestSuite(sandbox, .init = set_up, .fini = tear_down);

static long abi(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0, 1);
}

/* Where the kernel has no Landlock there is nothing to see. */
static void need_abi(long want)
{
	if (abi() < want)
		cr_skip_test("Landlock of ABI %ld is not here", want);
}

static int status_of(pid_t pid)
{
	int status;

	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status), "signal %d", WTERMSIG(status));
	return WEXITSTATUS(status);
}

/* What comes of `attempt` in a sandbox: 0 or errno. It is called in a child, which is confined and then forgotten. */
static int outcome(struct ews_sandbox_opts opts, int (*attempt)(void))
{
	EWS_CLEANUP(sandbox) struct ews_sandbox *sandbox = NULL;
	pid_t pid;
	int rc;

	opts.writable_fds = &in_fd;
	opts.writable_n = 1;
	cr_assert_eq(ews_sandbox_new(&sandbox, &opts), 0, "%s", ews_error_message());
	fflush(NULL);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (pid == 0) {
		rc = ews_sandbox_enter(sandbox);
		_exit(rc < 0 ? 255 : attempt() < 0 ? errno : 0);
	}
	return status_of(pid);
}

static const struct ews_sandbox_opts plain, no_network = { .no_network = true };

static int open_and_close(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0644);

	return fd < 0 ? -1 : close(fd);
}

static int bind_to(const char *path, size_t len)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	EWS_CLEANUP(fd) int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	memcpy(name.sun_path, path, len);
	return bind(fd, (struct sockaddr *)&name, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
}

/* Each kind of writing, in the directory where we stand. */
static int make_file(void)
{
	return open_and_close("new", O_WRONLY | O_CREAT);
}

static int write_file(void)
{
	return open_and_close("file", O_WRONLY);
}

static int empty_file(void)
{
	return open_and_close("file", O_RDONLY | O_TRUNC);
}

static int truncate_file(void)
{
	return truncate("file", 1);
}

static int make_directory(void)
{
	return mkdir("newdir", 0777);
}

static int make_link(void)
{
	return symlink("x", "link");
}

static int make_fifo(void)
{
	return mkfifo("fifo", 0666);
}

static int make_socket(void)
{
	return bind_to("socket", sizeof("socket"));
}

static int make_name(void)
{
	return link("file", "name");
}

static int move(void)
{
	return rename("file", "dir/file");
}

static int remove_link(void)
{
	return unlink("gone");
}

static int remove_directory(void)
{
	return rmdir("dir/gone");
}

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

Test(sandbox, what_is_let_is_written_and_nothing_else)
{
	static int (*const kinds[])(void) = {
		make_file, write_file,  empty_file, truncate_file, make_directory, make_link,
		make_fifo, make_socket, make_name,  move,          remove_link,    remove_directory,
	};
	int got;

	need_abi(3);
	for (size_t i = 0; i < COUNT(kinds); i++) {
		cr_assert_eq(chdir("out"), 0);
		got = outcome(plain, kinds[i]);
		cr_expect_eq(got, EACCES, "%zu: %s", i, strerror(got));
		cr_assert_eq(chdir("../in"), 0);
		got = outcome(plain, kinds[i]);
		cr_expect_eq(got, 0, "%zu: %s", i, strerror(got));
		cr_assert_eq(chdir(".."), 0);
	}
}

static int link_in(void)
{
	return link("out/file", "in/stolen");
}

static int link_out(void)
{
	return link("in/file", "out/planted");
}

static int rename_in(void)
{
	return rename("out/file", "in/stolen");
}

static int rename_out(void)
{
	return rename("in/file", "out/planted");
}

static int swap(void)
{
	return renameat2(AT_FDCWD, "in/file", AT_FDCWD, "out/file", RENAME_EXCHANGE);
}

static int write_through_a_link(void)
{
	if (symlink("../out/file", "in/through") < 0)
		return 0;
	return open_and_close("in/through", O_WRONLY | O_TRUNC);
}

static int make_a_disk(void)
{
	return mknod("in/disk", S_IFBLK | 0600, makedev(8, 0));
}

static int make_a_device(void)
{
	return mknod("in/device", S_IFCHR | 0600, makedev(1, 3));
}

static int mount_over(void)
{
	return syscall(SYS_mount, "none", "in/dir", "tmpfs", 0, NULL);
}

Test(sandbox, there_is_no_way_across)
{
	static int (*const ways[])(void) = { link_in,     link_out,      rename_in,
					     rename_out,  swap,          write_through_a_link,
					     make_a_disk, make_a_device, mount_over };
	int got;

	need_abi(3);
	for (size_t i = 0; i < COUNT(ways); i++) {
		got = outcome(plain, ways[i]);
		cr_expect(got == EACCES || got == EXDEV || got == EPERM, "%zu: %s", i, strerror(got));
	}
}

static int read_there(void)
{
	return open_and_close("out/file", O_RDONLY);
}

static int use_devices(void)
{
	int ours, its;

	if (open_and_close("/dev/null", O_WRONLY | O_CREAT | O_TRUNC) < 0 || open_and_close("/dev/zero", O_RDWR) < 0)
		return -1;
	return openpty(&ours, &its, NULL, NULL, NULL) < 0 || tcdrain(its) < 0 ? -1 : 0;
}

static int reopen_output(void)
{
	return open_and_close("/proc/self/fd/2", O_WRONLY | O_TRUNC);
}

static int write_there(void)
{
	return open_and_close("out/file", O_WRONLY);
}

static int is_locked_in(void)
{
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : -1;
}

Test(sandbox, what_programs_take_for_granted_works)
{
	int saved = dup(2), fd;

	need_abi(3);
	cr_expect_eq(outcome(plain, read_there), 0);
	cr_expect_eq(outcome(plain, use_devices), 0);
	cr_expect_eq(outcome(plain, is_locked_in), 0);
	/* what the output goes to may be opened again; what is only read from may not be written */
	for (int flags = O_RDONLY; flags <= O_WRONLY; flags++) {
		fd = open("out/file", flags);
		cr_assert_eq(dup2(fd, 2), 2);
		cr_expect_eq(outcome(plain, reopen_output), flags == O_RDONLY ? EACCES : 0);
		cr_expect_eq(outcome(plain, write_there), flags == O_RDONLY ? EACCES : 0);
		close(fd);
	}
	/* a pipe, and a file that has no place */
	fd = memfd_create("output", 0);
	cr_assert_eq(dup2(fd, 2), 2);
	cr_expect_eq(outcome(plain, read_there), 0);
	cr_assert_eq(dup2(saved, 2), 2);
}

static int kept_fd;

static int has_only_the_kept(void)
{
	for (int fd = 3; fd < 1024; fd++) {
		int flags = fcntl(fd, F_GETFD);

		if (fd == kept_fd ? flags != 0 : flags >= 0)
			return -1;
	}
	return 0;
}

Test(sandbox, descriptors_are_closed_but_those_that_are_kept)
{
	struct ews_sandbox_opts opts = { .keep_fds = (int[]){ 900, 2 }, .keep_n = 2 };

	need_abi(3);
	cr_assert_eq(dup2(in_fd, 700), 700);
	cr_assert_eq(dup2(in_fd, 1000), 1000);
	cr_assert_eq(dup3(in_fd, 900, O_CLOEXEC), 900);
	kept_fd = 900;
	cr_expect_eq(outcome(opts, has_only_the_kept), 0);
	kept_fd = -1;
	cr_expect_eq(outcome(plain, has_only_the_kept), 0);
	opts.keep_fds = (int[]){ 901, 900 };
	cr_expect_eq(outcome(opts, has_only_the_kept), 255, "one that is kept is not there, and it went on");
}

static int send_signal(void)
{
	return kill(getppid(), 0);
}

static int trace(void)
{
	return (int)ptrace(PTRACE_SEIZE, getppid(), NULL, NULL);
}

static int write_memory(void)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)getppid());
	return open_and_close(path, O_RDWR);
}

static char abstract[] = "\0ews-sandbox-XXXXXX";

static int connect_abstract(void)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	memcpy(name.sun_path, abstract, sizeof(abstract));
	return connect(fd, (struct sockaddr *)&name,
		       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof(abstract)));
}

Test(sandbox, other_processes_are_out_of_reach)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	need_abi(3);
	cr_expect_eq(outcome(plain, trace), EPERM);
	cr_expect_eq(outcome(plain, write_memory), EACCES);
	need_abi(6);
	cr_expect_eq(outcome(plain, send_signal), EPERM);
	memcpy(abstract + 13, root + 13, 6);
	memcpy(name.sun_path, abstract, sizeof(abstract));
	cr_assert_eq(bind(fd, (struct sockaddr *)&name,
			  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof(abstract))),
		     0);
	cr_assert_eq(listen(fd, 1), 0);
	cr_assert_eq(connect_abstract(), 0);
	cr_expect_eq(outcome(plain, connect_abstract), EPERM);
	close(fd);
}

static int has_dangerous_capabilities(void)
{
	static const int dangerous[] = { CAP_SYS_MODULE, CAP_SYS_RAWIO, CAP_BPF, CAP_SYS_BOOT, CAP_SYS_ADMIN };
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	if (syscall(SYS_capget, &head, data) < 0)
		return -1;
	for (size_t i = 0; i < COUNT(dangerous); i++) {
		if ((data[CAP_TO_INDEX(dangerous[i])].permitted & CAP_TO_MASK(dangerous[i])) ||
		    (geteuid() == 0 && prctl(PR_CAPBSET_READ, dangerous[i], 0, 0, 0) == 1)) {
			errno = 100 + dangerous[i];
			return -1;
		}
	}
	return 0;
}

static int terminal[2];

static int type_into_terminal(void)
{
	return ioctl(0, TIOCSTI, "x");
}

static int type_by_wide_number(void)
{
	return (int)syscall(SYS_ioctl, 0, (unsigned long)TIOCSTI | 1ul << 32, "x");
}

static int select_on_console(void)
{
	return ioctl(0, TIOCLINUX, "\3");
}

Test(sandbox, root_loses_what_leads_round_it_and_nobody_types_for_the_user)
{
	int saved = dup(0);

	need_abi(3);
	cr_expect_eq(outcome(plain, has_dangerous_capabilities), 0);
	cr_assert_eq(openpty(&terminal[0], &terminal[1], NULL, NULL, NULL), 0);
	cr_assert_eq(dup2(terminal[1], 0), 0);
	cr_expect_eq(outcome(plain, type_into_terminal), EPERM);
	cr_expect_eq(outcome(plain, type_by_wide_number), EPERM);
	cr_expect_eq(outcome(plain, select_on_console), EPERM);
	cr_assert_eq(dup2(saved, 0), 0);
}

static int open_tcp(void)
{
	return socket(AF_INET, SOCK_STREAM, 0);
}

static int open_udp6(void)
{
	return socket(AF_INET6, SOCK_DGRAM, 0);
}

static int open_netlink(void)
{
	return socket(AF_NETLINK, SOCK_RAW, 0);
}

static int open_wide(void)
{
	return (int)syscall(SYS_socket, (unsigned long)AF_INET | 1ul << 32, SOCK_DGRAM, 0);
}

static int open_unix(void)
{
	int fds[2];

	return socket(AF_UNIX, SOCK_STREAM, 0) < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0 ? -1 : 0;
}

static int open_other_pair(void)
{
	int fds[2];

	return socketpair(AF_TIPC, SOCK_STREAM, 0, fds);
}

static int set_up_ring(void)
{
	char params[256] = { 0 };

	return (int)syscall(SYS_io_uring_setup, 1, params);
}

static int connect_input(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				   .sin_port = htons(1) };

	return connect(0, (struct sockaddr *)&any, sizeof(any));
}

static int bind_input(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	return bind(0, (struct sockaddr *)&any, sizeof(any));
}

Test(sandbox, no_network_leaves_unix_sockets_alone)
{
	static int (*const ways[])(void) = { open_tcp, open_udp6, open_netlink, open_wide, open_other_pair };

	need_abi(3);
	for (size_t i = 0; i < COUNT(ways); i++)
		cr_expect_eq(outcome(no_network, ways[i]), EACCES, "%zu", i);
	cr_expect_eq(outcome(no_network, set_up_ring), ENOSYS);
	cr_expect_eq(outcome(no_network, open_unix), 0);
	cr_expect_eq(outcome(plain, open_tcp), 0);
	cr_expect_eq(outcome(plain, open_udp6), 0);
}

Test(sandbox, a_socket_that_was_handed_in_reaches_nobody)
{
	int saved = dup(0), fd = open_tcp();

	need_abi(4);
	cr_assert_eq(dup2(fd, 0), 0);
	cr_expect_eq(outcome(no_network, connect_input), EACCES);
	cr_expect_eq(outcome(no_network, bind_input), EACCES);
	cr_expect_eq(outcome(plain, bind_input), 0);
	cr_assert_eq(dup2(saved, 0), 0);
	close(fd);
}

#ifdef __x86_64__
/* A call by the numbers of 32-bit programs, which any program may use. */
static int call_32(long nr, long a, long b, long c)
{
	long got;

	__asm__ volatile("int $0x80"
			 : "=a"(got)
			 : "a"(nr), "b"(a), "c"(b), "d"(c)
			 : "memory", "r8", "r9", "r10", "r11");
	if (got < 0) {
		errno = (int)-got;
		return -1;
	}
	return (int)got;
}

static int open_tcp_32(void)
{
	return call_32(359, AF_INET, SOCK_STREAM, 0);
}

static int open_tcp_by_socketcall(void)
{
	/* its arguments lie in memory, where 32 bits reach */
	uint32_t *args = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	if (args == MAP_FAILED)
		return 0;
	args[0] = AF_INET;
	args[1] = SOCK_STREAM;
	args[2] = 0;
	return call_32(102, 1, (long)(uintptr_t)args, 0);
}

static int set_up_ring_32(void)
{
	return call_32(425, 1, 0, 0);
}

static int type_into_terminal_32(void)
{
	return call_32(54, 0, TIOCSTI, 0);
}

static int open_tcp_x32(void)
{
	return (int)syscall(0x40000000 | SYS_socket, AF_INET, SOCK_STREAM, 0);
}

Test(sandbox, other_conventions_get_nobody_around_it)
{
	need_abi(3);
	if (call_32(20, 0, 0, 0) < 0)
		cr_skip_test("no 32-bit calls here");
	cr_expect_eq(outcome(plain, open_tcp_32), 0);
	cr_expect_eq(outcome(plain, open_tcp_by_socketcall), 0);
	cr_expect_eq(outcome(no_network, open_tcp_32), EACCES);
	cr_expect_eq(outcome(no_network, open_tcp_by_socketcall), EACCES);
	cr_expect_eq(outcome(no_network, set_up_ring_32), ENOSYS);
	cr_expect_eq(outcome(no_network, open_tcp_x32), EACCES);
	cr_expect_eq(outcome(plain, type_into_terminal_32), EPERM);
}
#endif

/* Let this process have no Landlock any more: asked for it, the kernel answers `err`. */
static void lose_landlock(int err)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

	cr_assert_eq(seccomp_rule_add(filter, SCMP_ACT_ERRNO((unsigned)err), SCMP_SYS(landlock_create_ruleset), 0),
		     0);
	cr_assert_eq(seccomp_load(filter), 0);
	seccomp_release(filter);
}

static void expect_unavailable(int err, const char *want)
{
	struct ews_sandbox *sandbox = NULL;
	const char *why = NULL;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		lose_landlock(err);
		if (ews_sandbox_is_available(&why) || strcmp(why, want) != 0)
			_exit(1);
		if (ews_sandbox_new(&sandbox, &plain) != EWS_EUNSUPPORTED || sandbox ||
		    !strstr(ews_error_message(), want))
			_exit(2);
		/* the network can be closed all the same */
		if (outcome((struct ews_sandbox_opts){ .write_anywhere = true, .no_network = true }, open_tcp) !=
		    EACCES)
			_exit(3);
		_exit(outcome((struct ews_sandbox_opts){ .write_anywhere = true }, write_there) == 0 ? 0 : 4);
	}
	cr_expect_eq(status_of(pid), 0, "%s", want);
}

Test(sandbox, without_landlock_the_reason_is_told_and_the_network_can_be_closed)
{
	expect_unavailable(ENOSYS, "this kernel has no Landlock");
	expect_unavailable(EOPNOTSUPP, "Landlock was not enabled when this kernel started");
	expect_unavailable(EPERM, "Landlock can't be asked: Operation not permitted");
	ews_sandbox_free(NULL);
}
