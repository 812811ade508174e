/*
 * Linked worktrees: see linked.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/linked.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
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

/* When it was made, as two say that know; a log that says nothing is of the end of time. */
struct birth {
	struct timespec entry;
	int64_t log_s;
};

static int read_birth(struct birth *out, int git_fd)
{
	struct stat st;

	if (fstatat(git_fd, "commondir", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return ews_errno_is_absent(errno) ? ews_error(EWS_ENOTFOUND, "it is no linked worktree")
						  : ews_error_os("cannot look for 'commondir'");
	*out = (struct birth){ st.st_mtim, logged_since(git_fd) };
	return 0;
}

char *ews_linked_mark(int git_fd)
{
	struct birth birth;

	if (read_birth(&birth, git_fd) < 0) {
		ews_error_clear();
		return ews_strdup("");
	}
	return ews_strfmt("%" PRId64 ".%09ld %" PRId64, (int64_t)birth.entry.tv_sec, birth.entry.tv_nsec,
			  birth.log_s);
}

static bool is_same(const struct birth *now, const struct birth *then)
{
	if (now->entry.tv_sec == then->entry.tv_sec)
		return now->entry.tv_nsec == then->entry.tv_nsec || !now->entry.tv_nsec || !then->entry.tv_nsec;
	return now->log_s == then->log_s && now->log_s != INT64_MAX;
}

int ews_linked_is_another(int git_fd, const char *mark, int64_t noted_s)
{
	struct birth now, then;
	int64_t entry_s;
	int rc = read_birth(&now, git_fd);

	if (rc < 0)
		return rc;
	if (mark && sscanf(mark, "%" SCNd64 ".%9ld %" SCNd64, &entry_s, &then.entry.tv_nsec, &then.log_s) == 3) {
		then.entry.tv_sec = entry_s;
		return !is_same(&now, &then);
	}
	return now.entry.tv_sec > noted_s && now.log_s > noted_s;
}
