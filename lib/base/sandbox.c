/*
 * Sandboxes: see sandbox.h.
 *
 * Landlock is called directly, with numbers and structures of our own: C libraries have
 * no functions for it, and headers are older than kernels. The filter of seccomp is
 * compiled by libseccomp in the parent, for the child may not allocate.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <seccomp.h>

#include "base/alloc.h"
#include "base/dl.h"
#include "base/error.h"

/* landlock_create_ruleset(2): flags, and the rights by the ABI that brought them. */
#define ASK_ABI 1u
#define ABI_MIN 3 /* before it, truncate(2) can't be denied */
#define ABI_NETWORK 4
#define ABI_IOCTL 5
#define ABI_SCOPES 6

#define WRITE_FILE (1ull << 1)
#define REMOVE_DIR (1ull << 4)
#define REMOVE_FILE (1ull << 5)
#define MAKE_CHAR (1ull << 6)
#define MAKE_DIR (1ull << 7)
#define MAKE_REG (1ull << 8)
#define MAKE_SOCK (1ull << 9)
#define MAKE_FIFO (1ull << 10)
#define MAKE_BLOCK (1ull << 11)
#define MAKE_SYM (1ull << 12)
#define REFER (1ull << 13) /* to link and rename between directories */
#define TRUNCATE (1ull << 14)
#define IOCTL_DEV (1ull << 15) /* on a device that is opened from now on */

/* For root a node of the disk would be the disk: these are handled and never granted. */
#define MAKE_DEVICE (MAKE_CHAR | MAKE_BLOCK)
#define MAKE (MAKE_DIR | MAKE_REG | MAKE_SOCK | MAKE_FIFO | MAKE_SYM)
/* What there is to do with a file; the other rights are a directory's. */
#define FILE_RIGHTS (WRITE_FILE | TRUNCATE | IOCTL_DEV)

#define BIND_TCP (1ull << 0)
#define CONNECT_TCP (1ull << 1)
#define SCOPE_ABSTRACT_SOCKETS (1ull << 0)
#define SCOPE_SIGNALS (1ull << 1)

#define RULE_PATH_BENEATH 1

/* struct landlock_ruleset_attr; a kernel is given as much of it as it knows. */
struct handled {
	uint64_t fs;
	uint64_t net; /* ABI_NETWORK */
	uint64_t scoped; /* ABI_SCOPES */
};

/* struct landlock_path_beneath_attr */
struct path_rule {
	uint64_t allowed;
	int32_t fd;
} __attribute__((packed));

struct ews_sandbox {
	int rules_fd; /* -1: files are left alone */
	uint64_t rights; /* that are handled */
	struct sock_fprog filter;
	int *keep_fds; /* ascending */
	size_t keep_n;
};

/*
 * Where programs write without a thought, and in /dev/pts where new terminals
 * appear: not one of them keeps what was written. What is missing here is not needed.
 */
const char *const ews_sandbox_devices[] = {
	"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom",
	"/dev/tty",  "/dev/ptmx", "/dev/pts",  NULL,
};

/*
 * What leads round Landlock for root: modules, I/O ports and commands to disks, eBPF that
 * writes into other processes, another kernel, and of SYS_ADMIN eBPF again and
 * typing into others' terminals.
 */
static const int capabilities[] = { CAP_SYS_MODULE, CAP_SYS_RAWIO, CAP_BPF, CAP_SYS_BOOT, CAP_SYS_ADMIN };

/* What else a machine of one kind executes: each convention has call numbers of its own. */
static const uint32_t conventions[][3] = {
	{ SCMP_ARCH_X86_64, SCMP_ARCH_X86, SCMP_ARCH_X32 },
	{ SCMP_ARCH_AARCH64, SCMP_ARCH_ARM, SCMP_ARCH_NATIVE },
	{ SCMP_ARCH_S390X, SCMP_ARCH_S390, SCMP_ARCH_NATIVE },
};

/* The kernel's ABI, or below zero with errno. */
static long ask_abi(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0, ASK_ABI);
}

int ews_sandbox_abi(void)
{
	long abi = ask_abi();

	return abi > 0 ? (int)abi : 0;
}

bool ews_sandbox_is_available(const char **why)
{
	static _Thread_local char text[128];
	long abi = ask_abi();

	if (abi >= ABI_MIN)
		return true;
	*why = text;
	if (abi >= 0)
		(void)snprintf(text, sizeof(text),
			       "Landlock is of ABI %ld, which can't deny truncation; 3 or later can", abi);
	else if (errno == ENOSYS)
		(void)snprintf(text, sizeof(text), "this kernel has no Landlock");
	else if (errno == EOPNOTSUPP)
		(void)snprintf(text, sizeof(text), "Landlock was not enabled when this kernel started");
	else
		(void)snprintf(text, sizeof(text), "Landlock can't be asked: %s", strerror(errno));
	return false;
}

/* Let what is open at `fd` be written, as far as `rights` reach. */
static int allow(const struct ews_sandbox *sandbox, int fd, uint64_t rights)
{
	struct path_rule rule = { rights & sandbox->rights & ~MAKE_DEVICE, fd };
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -1;
	if (!S_ISDIR(st.st_mode))
		rule.allowed &= FILE_RIGHTS;
	return (int)syscall(SYS_landlock_add_rule, sandbox->rules_fd, RULE_PATH_BENEATH, &rule, 0);
}

static int allow_devices(const struct ews_sandbox *sandbox)
{
	for (const char *const *device = ews_sandbox_devices; *device; device++) {
		EWS_CLEANUP(fd) int fd = open(*device, O_PATH | O_CLOEXEC);

		if (fd < 0 && errno == ENOENT)
			continue;
		if (fd < 0 || allow(sandbox, fd, FILE_RIGHTS) < 0)
			return ews_error_os("cannot let '%s' be written", *device);
	}
	return 0;
}

static int make_rules(struct ews_sandbox *sandbox, const struct ews_sandbox_opts *opts)
{
	struct handled handled = {
		.fs = WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE | MAKE_DEVICE | REFER | TRUNCATE,
	};
	size_t size = offsetof(struct handled, net), i;
	const char *why;
	long abi;

	if (!ews_sandbox_is_available(&why))
		return ews_error(EWS_EUNSUPPORTED, "cannot confine what a command writes: %s", why);
	abi = ask_abi();
	if (abi >= ABI_NETWORK) {
		size = offsetof(struct handled, scoped);
		handled.net = opts->no_network ? BIND_TCP | CONNECT_TCP : 0;
	}
	if (abi >= ABI_IOCTL)
		handled.fs |= IOCTL_DEV;
	if (abi >= ABI_SCOPES) {
		size = sizeof(handled);
		handled.scoped = SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS;
	}
	sandbox->rights = handled.fs;
	sandbox->rules_fd = (int)syscall(SYS_landlock_create_ruleset, &handled, size, 0);
	if (sandbox->rules_fd < 0)
		return ews_error_os("cannot make Landlock's rules");
	for (i = 0; i < opts->writable_n; i++)
		if (allow(sandbox, opts->writable_fds[i], handled.fs) < 0)
			return ews_error_os("cannot let descriptor %d be written", opts->writable_fds[i]);
	return allow_devices(sandbox);
}

/* What is used of libseccomp, which is loaded when it is first needed. */
#define FUNCTIONS(F)          \
	F(seccomp_arch_add)   \
	F(seccomp_arch_exist) \
	F(seccomp_arch_native) F(seccomp_export_bpf) F(seccomp_init) F(seccomp_release) F(seccomp_rule_add)

static struct {
	FUNCTIONS(EWS_DL_MEMBER)
} seccomp;

static int need_seccomp(void)
{
	static const char *const names[] = { FUNCTIONS(EWS_DL_NAME) };

	return seccomp.seccomp_init ? 0
				    : ews_dl_load(&seccomp, EWS_LIBSECCOMP, names, sizeof(names) / sizeof(*names));
}

static void release_filter(const scmp_filter_ctx *filter)
{
	if (*filter)
		seccomp.seccomp_release(*filter);
}

/* All conventions of this machine: one that is left out of such a machine's would get around the rules. */
static int add_conventions(scmp_filter_ctx filter)
{
	uint32_t native = seccomp.seccomp_arch_native();
	size_t i, j;
	int rc = 0;

	for (i = 0; i < sizeof(conventions) / sizeof(*conventions); i++) {
		const uint32_t *kind = conventions[i];

		if (native != kind[0] && native != kind[1] && native != kind[2])
			continue;
		for (j = 0; !rc && j < 3; j++)
			if (seccomp.seccomp_arch_exist(filter, kind[j]) == -EEXIST)
				rc = seccomp.seccomp_arch_add(filter, kind[j]);
	}
	return rc;
}

/* What a call answers instead of being done. */
static int add_calls(scmp_filter_ctx filter, bool no_network)
{
	const uint32_t denied = SCMP_ACT_ERRNO(EACCES);
	int rc;

	rc = seccomp.seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
				      SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, TIOCSTI));
	if (!rc) /* its selection can be pasted */
		rc = seccomp.seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
					      SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, TIOCLINUX));
	if (rc || !no_network)
		return rc;
	rc = seccomp.seccomp_rule_add(filter, denied, SCMP_SYS(socket), 1, SCMP_A0(SCMP_CMP_NE, AF_UNIX, 0));
	if (!rc)
		rc = seccomp.seccomp_rule_add(filter, denied, SCMP_SYS(socketpair), 1,
					      SCMP_A0(SCMP_CMP_NE, AF_UNIX, 0));
	if (!rc) /* it opens sockets, and this filter does not see it */
		rc = seccomp.seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(io_uring_setup), 0);
	return rc;
}

/* The filter as the kernel takes it, by way of a file in memory: libseccomp writes only to descriptors. */
static int export_filter(struct sock_fprog *out, scmp_filter_ctx filter)
{
	EWS_CLEANUP(fd) int fd = memfd_create("filter", MFD_CLOEXEC);
	struct stat st;
	int rc;

	if (fd < 0)
		return -errno;
	rc = seccomp.seccomp_export_bpf(filter, fd);
	if (rc < 0)
		return rc;
	if (fstat(fd, &st) < 0)
		return -errno;
	out->len = (unsigned short)((size_t)st.st_size / sizeof(*out->filter));
	out->filter = ews_malloc((size_t)st.st_size);
	return pread(fd, out->filter, (size_t)st.st_size, 0) == st.st_size ? 0 : -EIO;
}

static int make_filter(struct ews_sandbox *sandbox, bool no_network)
{
	__attribute__((cleanup(release_filter))) scmp_filter_ctx filter = NULL;
	int rc = need_seccomp();

	if (rc < 0)
		return rc;
	filter = seccomp.seccomp_init(SCMP_ACT_ALLOW);
	rc = filter ? add_conventions(filter) : -ENOMEM;
	if (!rc)
		rc = add_calls(filter, no_network);
	if (!rc)
		rc = export_filter(&sandbox->filter, filter);
	if (rc < 0)
		return ews_error(EWS_EIO, "cannot make the filter of system calls: %s", strerror(-rc));
	return 0;
}

static int compare_fds(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

int ews_sandbox_new(struct ews_sandbox **out, const struct ews_sandbox_opts *opts)
{
	EWS_CLEANUP(sandbox) struct ews_sandbox *sandbox = ews_calloc(1, sizeof(*sandbox));
	int rc;

	sandbox->rules_fd = -1;
	sandbox->keep_n = opts->keep_n;
	sandbox->keep_fds = ews_calloc(opts->keep_n + 1, sizeof(int));
	if (opts->keep_n)
		memcpy(sandbox->keep_fds, opts->keep_fds, opts->keep_n * sizeof(int));
	qsort(sandbox->keep_fds, opts->keep_n, sizeof(int), compare_fds);
	rc = opts->write_anywhere ? 0 : make_rules(sandbox, opts);
	if (rc < 0)
		return rc;
	rc = make_filter(sandbox, opts->no_network);
	if (rc < 0)
		return rc;
	*out = ews_steal(&sandbox);
	return 0;
}

/*
 * A file or terminal that a standard descriptor writes to may be opened once more, as /dev/stdout is: it can
 * be overwritten and cut through the descriptor anyway. Files in memory need no rule, and the kernel takes none.
 */
static int allow_standard(const struct ews_sandbox *sandbox)
{
	struct stat st;
	int fd, flags;

	for (fd = 0; fd <= 2; fd++) {
		flags = fcntl(fd, F_GETFL);
		if (flags < 0 || (flags & O_PATH) || (flags & O_ACCMODE) == O_RDONLY || fstat(fd, &st) < 0)
			continue;
		if (!S_ISREG(st.st_mode) && !S_ISCHR(st.st_mode))
			continue;
		if (allow(sandbox, fd, FILE_RIGHTS) < 0 && errno != EBADFD)
			return -1;
	}
	return 0;
}

/* From the bounding set as well, where that may be done: exec by root fills up from there. */
static int drop_capabilities(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	size_t i;

	if (syscall(SYS_capget, &head, data) < 0)
		return -1;
	for (i = 0; i < sizeof(capabilities) / sizeof(*capabilities); i++) {
		struct __user_cap_data_struct *word = &data[CAP_TO_INDEX(capabilities[i])];
		uint32_t rest = ~CAP_TO_MASK(capabilities[i]);

		(void)prctl(PR_CAPBSET_DROP, capabilities[i], 0, 0, 0);
		word->effective &= rest;
		word->permitted &= rest;
		word->inheritable &= rest;
	}
	return (int)syscall(SYS_capset, &head, data);
}

static int close_others(const struct ews_sandbox *sandbox)
{
	int from = 3;
	size_t i;

	for (i = 0; i < sandbox->keep_n; i++) {
		int fd = sandbox->keep_fds[i];

		if (fd < from)
			continue;
		if (fcntl(fd, F_SETFD, 0) < 0 || (fd > from && close_range((unsigned)from, (unsigned)fd - 1, 0) < 0))
			return -1;
		from = fd + 1;
	}
	return close_range((unsigned)from, ~0u, 0);
}

int ews_sandbox_enter(const struct ews_sandbox *sandbox)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	if (sandbox->rules_fd >= 0) {
		if (allow_standard(sandbox) < 0 || drop_capabilities() < 0)
			return -errno;
		if (syscall(SYS_landlock_restrict_self, sandbox->rules_fd, 0) < 0)
			return -errno;
	}
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &sandbox->filter) < 0)
		return -errno;
	return close_others(sandbox) < 0 ? -errno : 0;
}

void ews_sandbox_free(struct ews_sandbox *sandbox)
{
	if (!sandbox)
		return;
	if (sandbox->rules_fd >= 0)
		close(sandbox->rules_fd);
	free(sandbox->filter.filter);
	free(sandbox->keep_fds);
	free(sandbox);
}
