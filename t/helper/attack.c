/*
 * Attacks of a confined command for which a shell has no words; each is one system call or a few.
 *
 *     attack <name> <argument>...     "stopped: <why>" (1), "DONE" (0), or "cannot be tried: <why>" (77)
 *     attack bystand <file>           be what the others attack, outside: <pid> <address of a word> <abstract socket>
 *     attack digest <path>... [-- <but not this path>...]     types, modes, owners, links and contents as one number
 *     attack abi                      the ABI of Landlock, or why there is none
 *
 * Only what the kernel forbids is "stopped": a refused connection has reached someone.
 *
 * SPDX-License-Identifier: MIT
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define UNLIKELY_PORT 9 /* discard */

static volatile uint64_t word = 1; /* what is written to in a bystander */

static pid_t to_pid(const char *text)
{
	return (pid_t)strtol(text, NULL, 10);
}

/* Each takes its arguments, of which main() has seen to it that there are enough, and gives 0, or -1 with errno. */
static int cut(char **argv)
{
	return truncate(argv[0], 0);
}

/* Neither opened for writing nor cut by truncate(2). */
static int open_empty(char **argv)
{
	int fd = open(argv[0], O_RDONLY | O_TRUNC);

	return fd < 0 ? -1 : close(fd);
}

static int exchange(char **argv)
{
	return renameat2(AT_FDCWD, argv[0], AT_FDCWD, argv[1], RENAME_EXCHANGE);
}

/* Without a path to it; root may. */
static int write_by_handle(char **argv)
{
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} name = { .handle = { .handle_bytes = MAX_HANDLE_SZ } };
	int mount_id, dir, fd;

	dir = open(".", O_RDONLY | O_DIRECTORY);
	if (name_to_handle_at(AT_FDCWD, argv[0], &name.handle, &mount_id, 0) < 0)
		return -1;
	fd = open_by_handle_at(dir, &name.handle, O_WRONLY | O_APPEND);
	return fd < 0 || write(fd, "x", 1) < 0 ? -1 : 0;
}

static int make_char_device(char **argv)
{
	return mknod(argv[0], S_IFCHR | 0600, makedev(1, 5)) < 0 ? -1 : unlink(argv[0]);
}

static int make_block_device(char **argv)
{
	return mknod(argv[0], S_IFBLK | 0600, makedev(254, 0)) < 0 ? -1 : unlink(argv[0]);
}

static int send_nothing(char **argv)
{
	return kill(to_pid(argv[0]), 0);
}

static int send_signal(char **argv)
{
	return kill(to_pid(argv[0]), SIGUSR1);
}

static int send_by_pidfd(char **argv)
{
	int fd = (int)syscall(SYS_pidfd_open, to_pid(argv[0]), 0);

	return (int)syscall(SYS_pidfd_send_signal, fd, SIGUSR1, NULL, 0);
}

static int trace(char **argv)
{
	pid_t pid = to_pid(argv[0]);

	if (ptrace(PTRACE_ATTACH, pid, NULL, NULL) < 0)
		return -1;
	waitpid(pid, NULL, 0);
	return (int)ptrace(PTRACE_DETACH, pid, NULL, NULL);
}

static int write_memory_file(char **argv)
{
	uint64_t value = 2;
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)to_pid(argv[0]));
	fd = open(path, O_RDWR);
	return fd < 0 || pwrite(fd, &value, sizeof(value), strtoll(argv[1], NULL, 16)) < 0 ? -1 : 0;
}

static int write_memory(char **argv)
{
	uint64_t value = 2;
	struct iovec from = { &value, sizeof(value) };
	struct iovec to = { (void *)(uintptr_t)strtoull(argv[1], NULL, 16), sizeof(value) };

	return process_vm_writev(to_pid(argv[0]), &from, 1, &to, 1, 0) < 0 ? -1 : 0;
}

static int take_descriptor(char **argv)
{
	int fd = (int)syscall(SYS_pidfd_open, to_pid(argv[0]), 0);

	return syscall(SYS_pidfd_getfd, fd, 0, 0) < 0 ? -1 : 0;
}

/* With this flag it only says what would hinder it. */
static int unmount(char **argv)
{
	return umount2(argv[0], MNT_EXPIRE) < 0 && errno != EAGAIN && errno != EBUSY ? -1 : 0;
}

static struct sockaddr_in loopback(uint16_t port)
{
	struct sockaddr_in name = { .sin_family = AF_INET, .sin_port = htons(port) };

	name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return name;
}

static int connect_tcp(char **argv)
{
	struct sockaddr_in to = loopback(UNLIKELY_PORT);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	(void)argv;
	return fd < 0 || (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 && errno != ECONNREFUSED) ? -1 : 0;
}

static int bind_tcp(char **argv)
{
	struct sockaddr_in to = loopback(0);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	(void)argv;
	return fd < 0 || bind(fd, (struct sockaddr *)&to, sizeof(to)) < 0 || listen(fd, 1) < 0 ? -1 : 0;
}

static int send_udp(char **argv)
{
	struct sockaddr_in to = loopback(UNLIKELY_PORT);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	(void)argv;
	return fd < 0 || sendto(fd, "x", 1, 0, (struct sockaddr *)&to, sizeof(to)) < 0 ? -1 : 0;
}

/* It can make sockets where no filter of calls sees it. */
static int make_ring(char **argv)
{
	struct io_uring_params params = { 0 };

	(void)argv;
	return syscall(SYS_io_uring_setup, 1, &params) < 0 ? -1 : 0;
}

static struct sockaddr_un abstract_name(socklen_t *len, const char *name)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };

	(void)snprintf(to.sun_path + 1, sizeof(to.sun_path) - 1, "%s", name);
	*len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(to.sun_path + 1));
	return to;
}

static int connect_abstract(char **argv)
{
	socklen_t len;
	struct sockaddr_un to = abstract_name(&len, argv[0]);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	return fd < 0 ? -1 : connect(fd, (struct sockaddr *)&to, len);
}

static int write_abstract(char **argv)
{
	socklen_t len;
	struct sockaddr_un to = abstract_name(&len, argv[0]);
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	return fd < 0 || sendto(fd, "x", 1, 0, (struct sockaddr *)&to, len) < 0 ? -1 : 0;
}

/* Into a terminal of our own, in whose place the caller's could be. */
static int type_into(unsigned long request, void *what)
{
	int master, slave;

	if (openpty(&master, &slave, NULL, NULL, NULL) < 0 || setsid() < 0 || ioctl(slave, TIOCSCTTY, 0) < 0)
		return -1;
	return ioctl(slave, request, what);
}

static int type(char **argv)
{
	char key = 'x';

	(void)argv;
	return type_into(TIOCSTI, &key);
}

static bool is_one_of(int fd, char **argv)
{
	for (; *argv; argv++)
		if (to_pid(*argv) == fd)
			return true;
	return false;
}

/* Whatever is open beside the standard three, and those that are named. */
static int has_descriptors(char **argv)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	int found = 0;

	while (dir && (entry = readdir(dir))) {
		int fd = to_pid(entry->d_name);

		if (*entry->d_name == '.' || fd <= STDERR_FILENO || fd == dirfd(dir) || is_one_of(fd, argv))
			continue;
		printf("%d is open\n", fd);
		found++;
	}
	if (dir)
		(void)closedir(dir);
	errno = EACCES;
	return found ? 0 : -1;
}

static const struct {
	const char *name;
	int words;
	int (*run)(char **argv);
} attacks[] = {
	{ "truncate", 1, cut },
	{ "open-trunc", 1, open_empty },
	{ "exchange", 2, exchange },
	{ "by-handle", 1, write_by_handle },
	{ "mknod-char", 1, make_char_device },
	{ "mknod-block", 1, make_block_device },
	{ "kill-0", 1, send_nothing },
	{ "kill", 1, send_signal },
	{ "pidfd-kill", 1, send_by_pidfd },
	{ "ptrace", 1, trace },
	{ "proc-mem", 2, write_memory_file },
	{ "vm-write", 2, write_memory },
	{ "pidfd-getfd", 1, take_descriptor },
	{ "umount", 1, unmount },
	{ "tcp-connect", 0, connect_tcp },
	{ "tcp-bind", 0, bind_tcp },
	{ "udp", 0, send_udp },
	{ "io-uring", 0, make_ring },
	{ "abstract-stream", 1, connect_abstract },
	{ "abstract-datagram", 1, write_abstract },
	{ "tiocsti", 0, type },
	{ "descriptors", 0, has_descriptors },
};

static int report(const char *name, int rc)
{
	int err = errno;

	if (rc == 0) {
		printf("DONE: %s\n", name);
		return 0;
	}
	/* ENOSYS: as if it were not there; EXDEV: a link or a move across; EIO: the kernel's own setting for TIOCSTI */
	if (err == EACCES || err == EPERM || err == EXDEV || err == ENOSYS || err == EIO) {
		printf("stopped: %s: %s\n", name, strerror(err));
		return 1;
	}
	printf("cannot be tried: %s: %s\n", name, strerror(err));
	return 77;
}

static int bind_abstract(int type, const char *name)
{
	socklen_t len;
	struct sockaddr_un own = abstract_name(&len, name);
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	return fd < 0 ? -1 : bind(fd, (struct sockaddr *)&own, len) < 0 ? -1 : fd;
}

/* Until the test that started it ends, however it does. */
static int bystand(const char *path)
{
	char name[32];
	FILE *file;
	int fd;

	/* whoever waits for the end of a pipe of the caller's is not to wait for us */
	(void)close_range(STDERR_FILENO + 1, ~0u, 0);
	(void)signal(SIGUSR1, SIG_IGN);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	/* where only a parent may trace: so that it is not that which stops them */
	(void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	(void)snprintf(name, sizeof(name), "ews-bystander-%d", (int)getpid());
	fd = bind_abstract(SOCK_STREAM, name);
	if (fd < 0 || listen(fd, 8) < 0 || bind_abstract(SOCK_DGRAM, name) < 0)
		return 1;
	file = fopen(path, "we");
	if (!file || fprintf(file, "%d %" PRIxPTR " %s\n", (int)getpid(), (uintptr_t)&word, name) < 0 || fclose(file))
		return 1;
	while (word)
		pause();
	return 0;
}

static struct {
	uint64_t sum; /* of all, in whatever order they come */
	char **but_not; /* ends with NULL */
} digest;

static uint64_t add(uint64_t hash, const void *data, size_t len)
{
	const unsigned char *byte = data;

	/* FNV-1a */
	for (; len; len--)
		hash = (hash ^ *byte++) * 0x100000001b3;
	return hash;
}

static uint64_t add_content(uint64_t hash, const char *path)
{
	char buf[65536];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0)
		hash = add(hash, buf, (size_t)n);
	if (fd >= 0)
		close(fd);
	return hash;
}

static int add_path(const char *path, const struct stat *st, int type_flag, struct FTW *at)
{
	const uint64_t facts[] = { st->st_mode, st->st_uid, st->st_gid,
				   st->st_rdev, st->st_ino, S_ISDIR(st->st_mode) ? 0 : st->st_nlink };
	uint64_t hash = add(0xcbf29ce484222325, path, strlen(path));
	char text[4096];
	ssize_t len;

	(void)type_flag;
	(void)at;
	for (char **skip = digest.but_not; *skip; skip++)
		if (strcmp(*skip, path) == 0)
			return FTW_SKIP_SUBTREE;
	hash = add(hash, facts, sizeof(facts));
	if (S_ISREG(st->st_mode))
		hash = add_content(hash, path);
	len = S_ISLNK(st->st_mode) ? readlink(path, text, sizeof(text)) : 0;
	digest.sum += add(hash, text, len > 0 ? (size_t)len : 0);
	return FTW_CONTINUE;
}

static int print_digest(char **argv)
{
	char **end;

	for (end = argv; *end && strcmp(*end, "--") != 0;)
		end++;
	digest.but_not = *end ? end + 1 : end;
	for (; argv < end; argv++)
		if (nftw(*argv, add_path, 16, FTW_PHYS | FTW_ACTIONRETVAL) < 0)
			digest.sum = add(digest.sum, *argv, strlen(*argv));
	printf("%016" PRIx64 "\n", digest.sum);
	return 0;
}

static int print_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1u);

	if (abi < 0)
		printf("0 %s\n", strerror(errno));
	else
		printf("%ld\n", abi);
	return 0;
}

int main(int argc, char **argv)
{
	size_t i;

	if (argc >= 3 && strcmp(argv[1], "bystand") == 0)
		return bystand(argv[2]);
	if (argc >= 3 && strcmp(argv[1], "digest") == 0)
		return print_digest(argv + 2);
	if (argc == 2 && strcmp(argv[1], "abi") == 0)
		return print_abi();
	for (i = 0; argc >= 2 && i < sizeof(attacks) / sizeof(*attacks); i++)
		if (strcmp(argv[1], attacks[i].name) == 0 && argc - 2 >= attacks[i].words)
			return report(argv[1], attacks[i].run(argv + 2));
	fprintf(stderr, "attack: no such attack, or words are missing\n");
	return 125;
}
