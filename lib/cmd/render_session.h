/*
 * Sessions: how one looks as JSON, as a paragraph, as a line, and in a format of the user's.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_CMD_RENDER_SESSION_H
#define EWS_CMD_RENDER_SESSION_H

#include "base/buf.h"
#include "base/json.h"
#include "work/diff.h"
#include "work/holding.h"
#include "work/session.h"
#include "work/snapshot.h"
#include "work/stale.h"

/* All that is shown of a session. */
struct ews_session_view {
	char *id;
	struct ews_session session; /* when `is_open` */
	bool is_open; /* its state can be read */
	bool is_interrupted;
	bool has_leavings; /* outside of it, of an end that did not come about */
	bool is_orphaned; /* its project is gone */
	bool is_pending; /* it has ended, and what it came to waits for a decision */
	bool is_unread; /* it has ended, and whether something waits can't be read */
	bool is_unsure; /* likewise, but it is the system that does not give it */
	char *unfinished; /* the verb that was interrupted; NULL when none is known */
	struct ews_strv tampered;
	bool has_tampered; /* it was looked at */
	struct ews_strv drift; /* what of the project changed since the start */
	bool has_drift; /* it was looked at */
	enum ews_holding_mode lock; /* 0: none */
	struct ews_stale stale;
	bool has_stale; /* it was looked at */
	struct ews_diff diff;
	bool has_diff; /* it was looked at */
	char *problem; /* why not all could be found out; NULL: all was */
	char *advice; /* what helps against that; NULL: nobody knows */
};

#define EWS_SESSION_VIEW_INIT { .session = EWS_SESSION_INIT, .tampered = EWS_STRV_INIT, .drift = EWS_STRV_INIT, .stale = EWS_STALE_INIT, .diff = EWS_DIFF_INIT }

/* Does something keep it from being worked with? */
bool ews_session_view_is_bad(const struct ews_session_view *view);

/* In which colour its state stands, for ews_pager_paint(). */
const char *ews_session_view_color(const struct ews_session_view *view);

/* "starting", "active", "interrupted", "ending", "ended"; "orphaned" without project, "damaged" when its state, or what is pending of it, can't be read. */
const char *ews_render_session_state(const struct ews_session_view *view);

/* The method as JSON names it: "git_worktree". */
const char *ews_render_method(const char *method);

/* How commands are held under `level` and `policy`, and what stays open to them. */
void ews_render_guard_text(struct ews_buf *out, const char *level, const char *policy, bool is_enforced,
			   bool is_offline);

/* Add "guard": level, policy, enforced, offline; null before a command ran in the session. */
void ews_render_guard(cJSON *object, const struct ews_state *state);

/* A new object with all keys of a session; the caller frees it. */
cJSON *ews_render_session_json(const struct ews_session_view *view);
/* All of one, for people: a name and a value a line. */
void ews_render_session_text(struct ews_buf *out, const struct ews_session_view *view, bool color, bool verbose,
			     bool nul);
/* How lines look. */
struct ews_lines_opts {
	unsigned width; /* of the terminal, which no line runs over; 0: as long as they come */
	bool color;
	char end; /* what ends a line: a newline or a NUL */
};
/* A line each, in columns. */
void ews_render_session_lines(struct ews_buf *out, const struct ews_session_view *views, size_t n,
			      const struct ews_lines_opts *opts);
/*
 * `format` with %(<key>), %% and %<hex><hex> filled in; keys are those of the JSON form, those of
 * "changes" without their parent. Fails with EWS_EUSAGE on a key that is none.
 */
int ews_render_session_format(struct ews_buf *out, const struct ews_session_view *view, const char *format);

/* Does it have a field that only a look into the session's workspace and project tells? */
bool ews_render_session_format_needs_look(const char *format);

void ews_session_view_release(struct ews_session_view *view);

#endif
