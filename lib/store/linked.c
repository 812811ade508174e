/*
 * Linked worktrees: see linked.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/linked.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"

#define LOG_LINE_MAX 4096 /* bytes; what precedes the message is far shorter */

/* INT64_MAX: its log says nothing. */
static int64_t logged_since(int git_fd)
{
	EWS_CLEANUP(fd) int fd = ews_file_open_regular(git_fd, "logs/HEAD");
	char line[LOG_LINE_MAX] = "";
	const char *mail_end;
	int64_t since_s;

	if (fd < 0 || read(fd, line, sizeof(line) - 1) < 0) {
		ews_error_clear();
		return INT64_MAX;
	}
	line[strcspn(line, "\t\n")] = '\0';
	mail_end = strrchr(line, '>');
	since_s = mail_end ? strtoll(mail_end + 1, NULL, 10) : 0;
	return since_s > 0 ? since_s : INT64_MAX;
}

int ews_linked_born(struct timespec *out, int git_fd)
{
	struct timespec since = { .tv_sec = logged_since(git_fd) };
	struct stat st;

	if (fstatat(git_fd, "commondir", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return ews_errno_is_absent(errno) ? ews_error(EWS_ENOTFOUND, "it is no linked worktree")
						  : ews_error_os("cannot look for 'commondir'");
	*out = since.tv_sec < st.st_mtim.tv_sec ? since : st.st_mtim;
	return 0;
}

bool ews_linked_is_younger(int git_fd, int64_t than_s, uint32_t than_ns)
{
	const struct timespec than = { .tv_sec = than_s, .tv_nsec = than_ns };
	struct timespec born;

	if (ews_linked_born(&born, git_fd) == 0)
		return ews_clock_is_before(&than, &born);
	ews_error_clear();
	return false;
}
