/*
 * A session's log, read: what happened in it, and which git commands were stopped.
 *
 *     sessions/<id>/log      a line each time something happened
 *     sessions/<id>/said     while a command runs: what its shim has to say, by a descriptor that the command holds
 *
 * The command may write into the second what it likes, and cut it: lines of what was stopped are taken over from there once it has
 * ended, and none of those that stand in the first goes by it. What can't be read is counted, what is too much is not
 * read, and nothing is proven by what was stopped.
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

/* Read it; what was said, and not taken over yet, is there, too. Lines that make no sense are counted, and fail nobody. */
int ews_session_log_read(struct ews_session_log *out, const struct ews_session *session);

/* A descriptor for what a command's shim says, close-on-exec. What was said before must have been taken over: it is gone. */
int ews_session_log_open_said(const struct ews_session *session);
/* Add what was said, and not taken over yet: whole lines of what was stopped. */
int ews_session_log_add_said(struct ews_buf *out, const struct ews_session *session);
/* Take it over into the log, whose session the caller has locked. The lines are added to `out`, which may be NULL. */
int ews_session_log_take_said(struct ews_strv *out, struct ews_session *session);

void ews_session_log_release(struct ews_session_log *log);
EWS_CLEANUP_DEFINE(session_log, struct ews_session_log, ews_session_log_release)

#endif
