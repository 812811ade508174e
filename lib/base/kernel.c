/*
 * The kernel: see kernel.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"

#define LIMIT_BYTES_MAX 64

bool ews_kernel_has_user_namespaces(void)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0)
		_exit(unshare(CLONE_NEWUSER) < 0);
	if (pid < 0)
		return false;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool ews_kernel_has_filters(void)
{
	/* There is no filter at that place, which only a kernel that would read one complains of. */
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) < 0 && errno == EFAULT;
}

int ews_kernel_limit(uint64_t *out, const char *name)
{
	EWS_CLEANUP(free) char *path = ews_strfmt("/proc/sys/%s", name);
	EWS_CLEANUP(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int rc = fd < 0 ? ews_error_os("cannot read '%s'", path) : ews_file_read_fd(&text, fd, LIMIT_BYTES_MAX);

	if (rc < 0)
		return rc;
	if (sscanf(text.ptr, "%" SCNu64, out) != 1)
		return ews_error(EWS_EDAMAGED, "'%s' is no number", path);
	return 0;
}
