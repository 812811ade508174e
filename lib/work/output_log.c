/*
 * Output log: see output_log.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/output_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "work/artifact_place.h"

#define LAST_LINE "\n[git ews: the log ends here, at 64 MiB; the command went on]\n"

/* The caller frees it. */
static char *name_nth(const char *session_id, unsigned nth)
{
	return nth > 1 ? ews_strfmt("%s-%u.log", session_id, nth) : ews_strfmt("%s.log", session_id);
}

int ews_output_log_open(struct ews_output_log *out, struct ews_repo *repo, const char *session_id)
{
	EWS_CLEANUP(free) char *dir = NULL;
	EWS_CLEANUP(free) char *name = name_nth(session_id, 1);
	int rc = out->dir_fd = ews_artifact_open_dir(&dir, repo, "logs");

	if (rc < 0)
		return rc;
	for (unsigned n = 2; n < EWS_ARTIFACT_NAMES_MAX; n++) {
		out->fd = openat(out->dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
		if (out->fd >= 0 || errno != EEXIST)
			break;
		free(name);
		name = name_nth(session_id, n);
	}
	if (out->fd < 0)
		return ews_error_os("cannot make the log '%s/%s'", dir, name);
	out->path = ews_path_join(dir, name);
	return 0;
}

static void write_text(struct ews_output_log *log, const char *text, size_t len)
{
	if (ews_file_write_fd(log->fd, text, len) < 0) {
		log->flaw = ews_strdup(ews_error_message());
		ews_error_clear();
	}
	log->size_bytes += len;
}

void ews_output_log_add(void *payload, const char *text, size_t len)
{
	struct ews_output_log *log = payload;
	uint64_t room = EWS_OUTPUT_LOG_MAX - log->size_bytes;

	if (log->flaw)
		return;
	write_text(log, text, len < room ? len : (size_t)room);
	if (len <= room || log->flaw)
		return;
	write_text(log, LAST_LINE, strlen(LAST_LINE));
	if (!log->flaw)
		log->flaw = ews_strdup("it ends at 64 MiB");
}

void ews_output_log_drop(struct ews_output_log *log)
{
	if (log->path)
		(void)unlinkat(log->dir_fd, strrchr(log->path, '/') + 1, 0); /* best effort: it is empty */
	ews_output_log_release(log);
}

void ews_output_log_drop_empty(struct ews_repo *repo, const char *name)
{
	EWS_CLEANUP(free) char *dir = NULL;
	EWS_CLEANUP(fd) int fd = strchr(name, '/') ? -1 : ews_artifact_open_dir(&dir, repo, "logs");
	struct stat st;

	if (fd >= 0 && fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) && !st.st_size)
		(void)unlinkat(fd, name, 0); /* best effort, as above */
	ews_error_clear();
}

int ews_output_log_list(struct ews_strv *out, struct ews_repo *repo, const char *session_id)
{
	EWS_CLEANUP(free) char *place = NULL;
	EWS_CLEANUP(fd) int top = ews_artifact_open_place(&place, repo, false);
	EWS_CLEANUP(fd) int fd = top < 0 ? top : ews_dir_open_beneath(top, "logs");
	struct stat st;

	if (fd == EWS_ENOTFOUND) {
		ews_error_clear();
		return 0;
	}
	for (unsigned n = 1; fd >= 0 && n < EWS_ARTIFACT_NAMES_MAX; n++) {
		EWS_CLEANUP(free) char *name = name_nth(session_id, n);

		if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
			break;
		ews_strv_add(out, name);
	}
	return fd < 0 ? fd : 0;
}

struct ews_artifact_new ews_output_log_artifact(const char *session_id, const char *name)
{
	return (struct ews_artifact_new){ .type = EWS_ARTIFACT_LOG,
					  .session = session_id,
					  .description = "what a command printed",
					  .in_place = name };
}

void ews_output_log_release(struct ews_output_log *log)
{
	if (log->dir_fd >= 0)
		close(log->dir_fd);
	if (log->fd >= 0)
		close(log->fd);
	free(log->path);
	free(log->flaw);
	*log = (struct ews_output_log)EWS_OUTPUT_LOG_INIT;
}
