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
#include "base/path.h"
#include "store/gitfile.h"

#define LOG_LINE_MAX 4096 /* bytes; what precedes the message is far shorter */
#define LOG_BEGINS_WITHIN_S 60 /* git writes its first line right after the entry; a busy machine takes its time */

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

/* When it was made, as two say that know; a log that says nothing is of the end of time. And where. */
struct birth {
	struct timespec entry;
	int64_t log_s;
	uint64_t common; /* the inode of the common git directory, which is another one in a copy; 0: nobody noted it */
};

static int read_birth(struct birth *out, int git_fd)
{
	struct stat st, above;

	if (fstatat(git_fd, "commondir", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return ews_errno_is_absent(errno) ? ews_error(EWS_ENOTFOUND, "it is no linked worktree")
						  : ews_error_os("cannot look for 'commondir'");
	*out = (struct birth){ st.st_mtim, logged_since(git_fd), 0 };
	if (fstatat(git_fd, "../..", &above, 0) == 0)
		out->common = above.st_ino;
	return 0;
}

char *ews_linked_mark(int git_fd)
{
	struct birth birth;

	if (read_birth(&birth, git_fd) < 0) {
		ews_error_clear();
		return ews_strdup("");
	}
	return ews_strfmt("%" PRId64 ".%09ld %" PRId64 " %" PRIu64, (int64_t)birth.entry.tv_sec,
			  birth.entry.tv_nsec, birth.log_s, birth.common);
}

/* Does its log begin when it was made? Its dates are whatever GIT_COMMITTER_DATE was; and in a copy all but the log may be new. */
static bool has_true_log(const struct birth *birth)
{
	uint64_t log_s = (uint64_t)birth->log_s, entry_s = (uint64_t)birth->entry.tv_sec;

	return birth->log_s != INT64_MAX &&
	       (log_s > entry_s ? log_s - entry_s : entry_s - log_s) <= LOG_BEGINS_WITHIN_S;
}

/* Is it in another directory than it was, as in a copy of the repository? */
static bool is_in_another(const struct birth *now, const struct birth *then)
{
	return !now->common || !then->common || now->common != then->common;
}

/* As ews_linked_is_another(). */
static int compare(const struct birth *now, const struct birth *then)
{
	if (now->entry.tv_sec == then->entry.tv_sec)
		return now->entry.tv_nsec != then->entry.tv_nsec && now->entry.tv_nsec && then->entry.tv_nsec;
	/* Where the repository is no copy its entries have kept their times, and an equal date may be one that somebody set. */
	if (now->log_s == then->log_s)
		return has_true_log(then) && is_in_another(now, then) ? 0 : EWS_LINKED_UNKNOWN;
	/* Lines that a log loses are its first: it never begins earlier than it did. */
	return has_true_log(now) || (now->log_s < then->log_s && then->log_s != INT64_MAX) ? 1 : EWS_LINKED_UNKNOWN;
}

char *ews_linked_original(const char *git_dir, const char *common_dir)
{
	EWS_CLEANUP(free) char *gitfile = ews_gitfile_back(git_dir);
	EWS_CLEANUP(free) char *original = gitfile ? ews_gitfile_follow(gitfile) : NULL;
	EWS_CLEANUP(free) char *back = original ? ews_gitfile_back(original) : NULL;

	if (!back || strcmp(back, gitfile) != 0 || ews_path_is_inside(original, common_dir))
		return NULL;
	return ews_steal(&original);
}

int ews_linked_is_another(int git_fd, const char *mark, int64_t noted_s)
{
	struct birth now, then = { .common = 0 };
	int64_t entry_s;
	int rc = read_birth(&now, git_fd);

	if (rc < 0)
		return rc;
	if (mark && sscanf(mark, "%" SCNd64 ".%9ld %" SCNd64 " %" SCNu64, &entry_s, &then.entry.tv_nsec,
			   &then.log_s, &then.common) >= 3) {
		then.entry.tv_sec = entry_s;
		return compare(&now, &then);
	}
	return now.entry.tv_sec > noted_s && now.log_s > noted_s;
}
