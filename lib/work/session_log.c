/*
 * A session's log, read: see session_log.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/session_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/own.h"
#include "base/str.h"

#define LOG_FILE "log"
#define LOG_BYTES_MAX (16 * EWS_MIB)
#define SAID_FILE "said"
#define SAID_BYTES_MAX (4 * EWS_MIB)
#define LINES_MAX 20000

void ews_session_log_release(struct ews_session_log *log)
{
	for (size_t i = 0; i < log->n_events; i++) {
		free(log->events[i].verb);
		free(log->events[i].message);
	}
	for (size_t i = 0; i < log->n_blocked; i++) {
		free(log->blocked[i].command);
		free(log->blocked[i].subcommand);
		free(log->blocked[i].operation);
		free(log->blocked[i].reason);
		free(log->blocked[i].suggestion);
	}
	free(log->events);
	free(log->blocked);
	*log = (struct ews_session_log)EWS_SESSION_LOG_INIT;
}

/* The beginning of the file `name`, as much as is looked at. */
static int read_text(struct ews_buf *out, bool *is_cut, const struct ews_session *session, const char *name,
		     size_t bytes_max)
{
	EWS_CLEANUP(fd) int fd = openat(session->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char piece[64 * 1024];
	ssize_t n;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return ews_error_os("cannot read the log of session '%s'", session->state.id);
	if (ews_own_check(fd, name) < 0)
		return ews_error_code();
	ews_buf_init_max(out, bytes_max);
	while (!out->is_full && (n = read(fd, piece, sizeof(piece))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return ews_error_os("cannot read the log of session '%s'", session->state.id);
		ews_buf_add(out, piece, (size_t)n);
	}
	*is_cut = out->is_full;
	return 0;
}

/* A text of the line's, or "". The caller frees it. */
static char *copy_text(const cJSON *line, const char *key)
{
	const char *text;

	if (ews_json_find_string(&text, line, key) < 0)
		text = NULL;
	return ews_strdup(text ? text : "");
}

static void take_blocked(struct ews_session_log *out, const cJSON *line, int64_t at_s)
{
	EWS_GROW(out->blocked, out->n_blocked, out->blocked_cap);
	out->blocked[out->n_blocked++] = (struct ews_blocked){ .at_s = at_s,
							       .command = copy_text(line, "command"),
							       .subcommand = copy_text(line, "subcommand"),
							       .operation = copy_text(line, "operation_type"),
							       .reason = copy_text(line, "reason"),
							       .suggestion = copy_text(line, "suggestion") };
}

static void take_event(struct ews_session_log *out, const cJSON *line, int64_t at_s)
{
	EWS_GROW(out->events, out->n_events, out->events_cap);
	out->events[out->n_events++] = (struct ews_event){ .at_s = at_s,
							   .verb = copy_text(line, "verb"),
							   .message = copy_text(line, "message") };
}

/* What each line has. The caller releases `*out`, whose `verb` it is. Leaves no error. */
static bool parse_line(cJSON **out, const char **verb, int64_t *at_s, const char *text, size_t len)
{
	const char *stamp;
	bool makes_sense = ews_json_parse(out, text, len) == 0 &&
			   ews_json_get_string(&stamp, *out, "timestamp") == 0 &&
			   ews_json_get_string(verb, *out, "verb") == 0 && ews_clock_parse(at_s, stamp) == 0;

	ews_error_clear();
	return makes_sense;
}

static void take_line(struct ews_session_log *out, const char *text, size_t len)
{
	EWS_CLEANUP(json) cJSON *line = NULL;
	const char *verb;
	int64_t at_s;

	if (!parse_line(&line, &verb, &at_s, text, len))
		out->unreadable++;
	else if (!strcmp(verb, "guard"))
		take_blocked(out, line, at_s);
	else
		take_event(out, line, at_s);
	ews_error_clear();
}

/*
 * A line of what was stopped, from the text that a command could write to, too: written anew of what a line has, so that it is JSON
 * whatever is in it. NULL where it is none.
 */
static cJSON *read_said(const char *text, size_t len)
{
	static const char *const keys[] = { "schema",     "timestamp",      "verb",   "message",   "command",
					    "subcommand", "operation_type", "reason", "suggestion" };
	EWS_CLEANUP(json) cJSON *line = NULL;
	cJSON *out = NULL;
	const char *value;
	int64_t at_s;

	if (parse_line(&line, &value, &at_s, text, len) && !strcmp(value, "guard"))
		out = cJSON_CreateObject();
	for (size_t i = 0; out && i < sizeof(keys) / sizeof(*keys); i++)
		if (cJSON_HasObjectItem(line, keys[i]) && ews_json_find_string(&value, line, keys[i]) == 0)
			cJSON_AddItemToObject(out, keys[i], value ? ews_json_path(value) : cJSON_CreateNull());
	ews_error_clear();
	return out;
}

int ews_session_log_open_said(const struct ews_session *session)
{
	int fd;

	(void)unlinkat(session->fd, SAID_FILE, 0); /* what may still hold it is none of ours */
	fd = openat(session->fd, SAID_FILE, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 ? ews_error_os("cannot make '%s/" SAID_FILE "'", session->dir) : fd;
}

int ews_session_log_add_said(struct ews_buf *out, const struct ews_session *session)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	const char *at, *line;
	size_t len;
	bool is_cut;
	int rc = read_text(&text, &is_cut, session, SAID_FILE, SAID_BYTES_MAX);

	if (rc < 0)
		return rc;
	at = text.ptr;
	while ((line = ews_str_next_line(&at, &len, text.ptr + text.len))) {
		EWS_CLEANUP(json) cJSON *said = len ? read_said(line, len) : NULL;

		if (said)
			ews_json_print(out, said, false);
	}
	return 0;
}

int ews_session_log_take_said(struct ews_strv *out, struct ews_session *session)
{
	EWS_CLEANUP(buf) struct ews_buf said = EWS_BUF_INIT;
	int rc = ews_session_log_add_said(&said, session);

	for (const char *line = said.ptr; out && *line; line += strcspn(line, "\n") + 1)
		ews_strv_add_len(out, line, strcspn(line, "\n"));
	ews_buf_rtrim(&said);
	if (rc == 0 && said.len)
		rc = ews_file_append(session->fd, LOG_FILE, said.ptr, 0600);
	if (rc == 0 && unlinkat(session->fd, SAID_FILE, 0) < 0 && errno != ENOENT)
		rc = ews_error_os("cannot remove '%s/" SAID_FILE "'", session->dir);
	return rc;
}

int ews_session_log_read(struct ews_session_log *out, const struct ews_session *session)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	const char *at, *line;
	size_t len, lines = 0;
	int rc = read_text(&text, &out->is_cut, session, LOG_FILE, LOG_BYTES_MAX);

	if (rc == 0)
		rc = ews_session_log_add_said(&text, session);
	if (rc < 0)
		return rc;
	at = text.ptr;
	while ((line = ews_str_next_line(&at, &len, text.ptr + text.len))) {
		if (++lines > LINES_MAX) {
			out->is_cut = true;
			break;
		}
		if (len)
			take_line(out, line, len);
	}
	return 0;
}
