/*
 * Gates: see gate.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/gate.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/path.h"

#define WAIT_STEP_MS 20

int ews_gate_enter(const char *git_dir)
{
	EWS_CLEANUP(free) char *path = ews_path_join(git_dir, EWS_GATE_FILE);
	EWS_CLEANUP(fd) int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct flock want = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	int rc;

	if (fd < 0)
		return -1;
	do {
		rc = fcntl(fd, F_OFD_SETLKW, &want);
	} while (rc < 0 && errno == EINTR);
	/* Where the file system has no locks nobody can shut it either. */
	return ews_steal_fd(&fd);
}

int ews_gate_shut(const char *git_dir, unsigned wait_ms)
{
	EWS_CLEANUP(free) char *path = ews_path_join(git_dir, EWS_GATE_FILE);
	EWS_CLEANUP(fd) int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	struct flock want = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	uint64_t deadline = ews_clock_monotonic_ms() + wait_ms;

	if (fd < 0)
		return ews_error_os("cannot open '%s'", path);
	while (fcntl(fd, F_OFD_SETLK, &want) < 0) {
		if (errno != EAGAIN && errno != EACCES && errno != EINTR)
			return ews_error_os("cannot lock '%s'", path);
		if (ews_clock_monotonic_ms() >= deadline)
			return ews_error(EWS_EBUSY, "objects are being written to '%s'", git_dir);
		ews_clock_sleep_ms(WAIT_STEP_MS);
	}
	return ews_steal_fd(&fd);
}
