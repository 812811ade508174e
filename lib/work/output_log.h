/*
 * Output log: a copy of what a command prints, among the artifacts.
 *
 *     <project>/.superqode/qe-artifacts/logs/<session>.log      then <session>-2.log, and so on
 *
 * It is written as the command prints, in the order in which that comes, and no longer than EWS_OUTPUT_LOG_MAX; a last line
 * says so where that cut it off. When the command has ended it becomes an artifact where it stands.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_OUTPUT_LOG_H
#define EWS_WORK_OUTPUT_LOG_H

#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/strv.h"
#include "work/artifact.h"

#define EWS_OUTPUT_LOG_MAX (64 * EWS_MIB)

struct ews_output_log {
	int dir_fd, fd;
	char *path;
	uint64_t size_bytes;
	char *flaw; /* why it has ended early; NULL: it has not */
};

#define EWS_OUTPUT_LOG_INIT { .dir_fd = -1, .fd = -1 }

/* Make one, under a name that nobody has. */
int ews_output_log_open(struct ews_output_log *out, struct ews_repo *repo, const char *session_id);

/* Add text; `payload` is the log. What can't be written is remembered in `flaw`, and disturbs nobody. */
void ews_output_log_add(void *payload, const char *text, size_t len);

/* There is nothing to be copied: remove it. */
void ews_output_log_drop(struct ews_output_log *log);

/* Remove the one of that name, of whoever left it before anything was in it; one that is not empty stays. */
void ews_output_log_drop_empty(struct ews_repo *repo, const char *name);

/* The names of all that there are of a session. */
int ews_output_log_list(struct ews_strv *out, struct ews_repo *repo, const char *session_id);

/* The one of that name, which is written to its end, as an artifact to be kept; both texts are borrowed. */
struct ews_artifact_new ews_output_log_artifact(const char *session_id, const char *name);

void ews_output_log_release(struct ews_output_log *log);
EWS_CLEANUP_DEFINE(output_log, struct ews_output_log, ews_output_log_release)

#endif
