/*
 * A session's log, read: what happened in it, and which git commands were stopped.
 *
 * A command that runs in the session holds the log open for the shim, so it may have written there what it likes: what
 * can't be read is counted, what is too much is not read, and nothing is proven by it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_SESSION_LOG_H
#define EWS_WORK_SESSION_LOG_H

#include "work/session.h"

struct ews_event {
	int64_t at_s;
	char *verb;
	char *message;
};

/* What the guard said of a command. What it did not say is "". */
struct ews_blocked {
	int64_t at_s;
	char *command, *subcommand, *operation, *reason, *suggestion;
};

struct ews_session_log {
	struct ews_event *events; /* oldest first, without those of the guard */
	size_t n_events, events_cap;
	struct ews_blocked *blocked;
	size_t n_blocked, blocked_cap;
	size_t unreadable; /* lines */
	bool is_cut; /* there is more than is read */
};

#define EWS_SESSION_LOG_INIT { 0 }

/* Read it. Lines that make no sense are counted, and fail nobody. */
int ews_session_log_read(struct ews_session_log *out, const struct ews_session *session);

void ews_session_log_release(struct ews_session_log *log);
EWS_CLEANUP_DEFINE(session_log, struct ews_session_log, ews_session_log_release)

#endif
