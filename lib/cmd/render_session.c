/*
 * Sessions: see render_session.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/render_session.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/str.h"
#include "cmd/pager.h"
#include "cmd/render_diff.h"
#include "cmd/render_path.h"
#include "work/session_place.h"
#include "work/session_project.h"

#define RED "31"
#define GREEN "32"
#define YELLOW "33"
#define DRIFT_SHOWN 3 /* sentences without -v */
#define STALE_FILES_SHOWN 3

bool ews_session_view_is_bad(const struct ews_session_view *view)
{
	return view->is_interrupted || !view->is_open || view->is_unread ||
	       (view->is_orphaned && view->session.state.state != EWS_STATE_ENDED);
}

const char *ews_session_view_color(const struct ews_session_view *view)
{
	if (ews_session_view_is_bad(view))
		return RED;
	return view->session.state.state == EWS_STATE_ACTIVE ? GREEN : YELLOW;
}

const char *ews_render_session_state(const struct ews_session_view *view)
{
	if (!view->is_open || view->is_unread)
		return "damaged";
	if (view->is_orphaned && view->session.state.state != EWS_STATE_ENDED)
		return "orphaned";
	if (view->is_pending)
		return "pending";
	return view->is_interrupted ? "interrupted" : ews_state_word(view->session.state.state);
}

const char *ews_render_method(const char *method)
{
	const struct ews_method *known = method ? ews_method_find(method) : NULL;

	return known ? known->json_name : method;
}

/* The process that is, or was, at work in it. */
static void add_owner(cJSON *object, const struct ews_state *state)
{
	cJSON *owner;

	if (!state->owner.pid) {
		(void)cJSON_AddNullToObject(object, "owner");
		return;
	}
	owner = cJSON_AddObjectToObject(object, "owner");
	ews_json_add_int(owner, "pid", state->owner.pid);
	ews_json_add_int(owner, "start_time", (int64_t)state->owner.start_time);
	ews_render_string(owner, "boot_id", state->owner.boot_id);
}

void ews_render_guard(cJSON *object, const struct ews_state *state)
{
	cJSON *guard;

	if (!*state->guard_level) {
		(void)cJSON_AddNullToObject(object, "guard");
		return;
	}
	guard = cJSON_AddObjectToObject(object, "guard");
	(void)cJSON_AddStringToObject(guard, "level", state->guard_level);
	(void)cJSON_AddStringToObject(guard, "policy", state->guard_policy);
	(void)cJSON_AddBoolToObject(guard, "enforced", state->guard_enforced);
	(void)cJSON_AddBoolToObject(guard, "offline", state->guard_offline);
}

void ews_render_guard_text(struct ews_buf *out, const char *level, const char *policy, bool is_enforced,
			   bool is_offline)
{
	ews_buf_addf(out, "%s, %s, %s", level, policy, is_enforced ? "enforced by the kernel" : "advisory");
	if (is_enforced)
		ews_buf_addf(out, "; open: modes and times of outside files, unix sockets%s",
			     is_offline ? "" : ", the network");
	else if (is_offline)
		ews_buf_adds(out, "; no network");
}

static void add_open(cJSON *object, const struct ews_session_view *view)
{
	const struct ews_state *state = &view->session.state;
	EWS_CLEANUP(free) char *top = ews_session_top(&view->session);

	ews_json_add_path(object, "project", top);
	ews_json_add_path(object, "path", state->workspace);
	ews_render_string(object, "method", ews_render_method(state->method));
	ews_render_time(object, "created_at", state->created_s);
	ews_json_add_int(object, "age_ms", (ews_clock_now() - state->created_s) * 1000);
	if (state->ended_s)
		ews_render_time(object, "ended_at", state->ended_s);
	add_owner(object, state);
	ews_render_string(object, "base_commit", state->base_commit);
	ews_render_string(object, "branch", state->branch);
	ews_render_string(object, "snapshot_id", state->base_snapshot);
	ews_render_string(object, "parent_snapshot_id", state->parent_snapshot);
	ews_render_string(object, "intent", state->intent);
	ews_render_string(object, "label", state->label);
	ews_render_guard(object, state);
	ews_render_string(object, "lock", view->lock ? ews_holding_word(view->lock) : NULL);
	if (state->port_base)
		ews_json_add_int(object, "port_base", state->port_base);
}

cJSON *ews_render_session_json(const struct ews_session_view *view)
{
	cJSON *object = cJSON_CreateObject();

	(void)cJSON_AddStringToObject(object, "session_id", view->id);
	(void)cJSON_AddStringToObject(object, "state", ews_render_session_state(view));
	if (view->is_open)
		add_open(object, view);
	if (view->is_interrupted)
		ews_render_string(object, "interrupted_verb", view->unfinished);
	if (view->has_leavings)
		(void)cJSON_AddBoolToObject(object, "left_by_end", true);
	if (view->has_diff) {
		ews_json_add_int(object, "size_bytes", (int64_t)view->diff.to.content.scan.size_bytes);
		ews_render_totals(cJSON_AddObjectToObject(object, "changes"), &view->diff);
	}
	if (view->has_stale) {
		EWS_CLEANUP(strv) struct ews_strv reasons = EWS_STRV_INIT;

		ews_stale_reasons(&reasons, &view->stale, STALE_FILES_SHOWN);
		(void)cJSON_AddBoolToObject(object, "stale", ews_stale_is(&view->stale));
		ews_json_add_int(object, "epoch", view->stale.epoch_before);
		ews_render_sentences(object, "stale_reasons", &reasons);
		ews_render_paths(object, "stale_files", &view->stale.files);
	}
	if (view->has_drift) {
		(void)cJSON_AddBoolToObject(object, "project_changed",
					    view->drift.n || view->session.state.project_changed);
		ews_render_sentences(object, "drift", &view->drift);
	}
	if (view->has_tampered)
		ews_render_sentences(object, "tampered", &view->tampered);
	if (view->problem)
		ews_render_string(object, "problem", view->problem);
	return object;
}

static void add_line(struct ews_buf *out, const char *name, const char *text)
{
	if (!text || !*text)
		return;
	ews_buf_addf(out, "  %-10s ", name);
	ews_render_words(out, text);
	ews_buf_addc(out, '\n');
}

static void add_base(struct ews_buf *out, const struct ews_state *state)
{
	EWS_CLEANUP(buf) struct ews_buf line = EWS_BUF_INIT;

	if (*state->base_commit)
		ews_buf_addf(&line, "%.10s", state->base_commit);
	else
		ews_buf_adds(&line, "no commit yet");
	if (*state->branch)
		ews_buf_addf(&line, " of %s", state->branch);
	if (*state->base_snapshot)
		ews_buf_addf(&line, ", %s", state->base_snapshot);
	add_line(out, "Base:", line.ptr);
}

static void add_stale(struct ews_buf *out, const struct ews_stale *stale, bool verbose)
{
	EWS_CLEANUP(strv) struct ews_strv reasons = EWS_STRV_INIT;
	size_t i;

	ews_stale_reasons(&reasons, stale, verbose ? SIZE_MAX : STALE_FILES_SHOWN);
	for (i = 0; i < reasons.n; i++)
		add_line(out, i ? "" : "Stale:", reasons.items[i]);
}

static void add_drift(struct ews_buf *out, const struct ews_strv *drift, bool verbose)
{
	size_t i, n = verbose || drift->n <= DRIFT_SHOWN ? drift->n : DRIFT_SHOWN;

	for (i = 0; i < n; i++)
		add_line(out, i ? "" : "Project:", drift->items[i]);
	if (n < drift->n)
		ews_buf_addf(out, "  %-10s and %zu more (-v)\n", "", drift->n - n);
}

static void add_open_lines(struct ews_buf *out, const struct ews_session_view *view, bool verbose, bool nul)
{
	const struct ews_state *state = &view->session.state;
	EWS_CLEANUP(buf) struct ews_buf changes = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf size = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf guard = EWS_BUF_INIT;
	char age[EWS_STAMP_LEN];

	ews_clock_age(age, ews_clock_now() - state->created_s);
	ews_buf_addf(out, "  %-10s ", "Workspace:");
	ews_path_add_line(out, state->workspace, nul);
	add_line(out, "Method:", state->method);
	add_line(out, "Age:", age);
	add_base(out, state);
	add_line(out, "Label:", state->label);
	add_line(out, "Intent:", state->intent);
	if (view->has_diff) {
		ews_render_totals_text(&changes, &view->diff);
		ews_render_size(&size, view->diff.to.content.scan.size_bytes);
		add_line(out, "Changes:", changes.ptr);
		add_line(out, "Size:", size.ptr);
	}
	if (state->owner.pid && !view->is_interrupted)
		ews_buf_addf(out, "  %-10s process %ld\n", "Owner:", (long)state->owner.pid);
	if (*state->guard_level)
		ews_render_guard_text(&guard, state->guard_level, state->guard_policy, state->guard_enforced,
				      state->guard_offline);
	add_line(out, "Guard:", guard.ptr);
	add_line(out, "Lock:", view->lock ? ews_holding_word(view->lock) : NULL);
	add_stale(out, &view->stale, verbose);
	if (state->project_changed && !view->drift.n)
		add_line(out, "Project:", "it changed while a command ran; see 'git ews status --log'");
	add_drift(out, &view->drift, verbose);
}

void ews_render_session_text(struct ews_buf *out, const struct ews_session_view *view, bool color, bool verbose,
			     bool nul)
{
	const char *word = ews_render_session_state(view);
	size_t i;

	ews_buf_addf(out, "Session %s (", view->id);
	ews_pager_paint(out, color, ews_session_view_color(view), word);
	if (view->unfinished && *view->unfinished)
		ews_buf_addf(out, ": %s is unfinished", view->unfinished);
	else if (view->is_interrupted && view->session.state.owner.pid)
		ews_buf_addf(out, ": its owner, process %ld, died", (long)view->session.state.owner.pid);
	ews_buf_adds(out, ")\n");
	if (view->is_open)
		add_open_lines(out, view, verbose, nul);
	for (i = 0; i < view->tampered.n; i++) {
		EWS_CLEANUP(free)
		char *text = ews_strfmt("%s %s", view->tampered.items[i],
					ews_session_lacks_entry(&view->tampered) ? "is gone" : "was rewritten");

		add_line(out, "Tampered:", text);
	}
	if (view->has_leavings)
		add_line(out, "Left:", "an end that did not come about left something; 'git ews recover' names it");
	add_line(out, "Problem:", view->problem);
	add_line(out, "Hint:", view->advice);
	if (!view->is_open)
		add_line(out, "Recover:", "git ews doctor says what to do");
	else if (view->is_interrupted)
		ews_buf_addf(out, "  %-10s git ews recover %s --resume, --revert or --view\n", "Recover:", view->id);
}

/* The path, or of one that is longer than `room` (0: there is no end of it) what its end says. */
static void add_end_of_path(struct ews_buf *out, const char *path, size_t room)
{
	EWS_CLEANUP(buf) struct ews_buf quoted = EWS_BUF_INIT;

	ews_path_quote(&quoted, path);
	if (room && quoted.len > room && room > 3)
		ews_buf_addf(out, "...%s", quoted.ptr + quoted.len - (room - 3));
	else if (!room || quoted.len <= room)
		ews_buf_adds(out, quoted.ptr);
}

/* `text` in its column, when there is room for that up to `width`; `*at` is where the next one begins. */
static void add_column(struct ews_buf *out, size_t *at, const char *text, size_t len, unsigned width)
{
	*at += len;
	if (!width || *at <= width)
		ews_buf_addf(out, "  %-*s", (int)len, text);
	*at += 2;
}

static void add_session_line(struct ews_buf *out, const struct ews_session_view *view, size_t id_len,
			     const struct ews_lines_opts *opts)
{
	const struct ews_state *state = &view->session.state;
	const char *word = ews_render_session_state(view);
	char age[EWS_STAMP_LEN] = "-";
	size_t at = id_len + strlen("  interrupted  ");

	if (view->is_open)
		ews_clock_age(age, ews_clock_now() - state->created_s);
	ews_buf_addf(out, "%-*s  ", (int)id_len, view->id);
	ews_pager_paint(out, opts->color, ews_session_view_color(view), word);
	ews_buf_addf(out, "%*s", (int)(strlen("interrupted") - strlen(word)), "");
	add_column(out, &at, view->is_open ? state->method : "-", strlen("worktree"), opts->width);
	add_column(out, &at, age, strlen("59 minutes"), opts->width);
	if (!opts->width || at < opts->width)
		ews_buf_adds(out, "  ");
	if (!view->is_open)
		ews_buf_adds(out, !opts->width || at < opts->width ? "-" : "");
	else if (!opts->end)
		ews_buf_adds(out, state->workspace);
	else if (!opts->width || at < opts->width)
		add_end_of_path(out, state->workspace, opts->width ? opts->width - at : 0);
	ews_buf_addc(out, opts->end);
}

void ews_render_session_lines(struct ews_buf *out, const struct ews_session_view *views, size_t n,
			      const struct ews_lines_opts *opts)
{
	size_t i, id_len = 0;

	for (i = 0; i < n; i++)
		if (strlen(views[i].id) > id_len)
			id_len = strlen(views[i].id);
	for (i = 0; i < n; i++)
		add_session_line(out, &views[i], id_len, opts);
}

/*
 * Every key that a session can have, so that one that is absent now isn't taken for a mistake, and whether only a look into
 * workspace and project tells it.
 */
static const struct key {
	const char *name;
	bool needs_look;
} keys[] = {
	{ "session_id", false },
	{ "state", false },
	{ "project", false },
	{ "path", false },
	{ "method", false },
	{ "created_at", false },
	{ "age_ms", false },
	{ "ended_at", false },
	{ "owner", false },
	{ "base_commit", false },
	{ "branch", false },
	{ "snapshot_id", false },
	{ "intent", false },
	{ "label", false },
	{ "interrupted_verb", false },
	{ "size_bytes", true },
	{ "project_changed", true },
	{ "problem", true },
	{ "total_changes", true },
	{ "additions", true },
	{ "deletions", true },
	{ "modifications", true },
	{ "renames", true },
	{ "lines_added", true },
	{ "lines_deleted", true },
	{ "guard", false },
	{ "port_base", false },
	{ "stale", true },
	{ "lock", false },
	{ "epoch", true },
	{ "parent_snapshot_id", false },
};

static int check_key(const char *key)
{
	EWS_CLEANUP(buf) struct ews_buf known = EWS_BUF_INIT;
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		if (!strcmp(keys[i].name, key))
			return 0;
		ews_buf_addf(&known, "%s%s", i ? ", " : "", keys[i].name);
	}
	(void)ews_error(EWS_EUSAGE, "'%s' is no field of a session", key);
	ews_error_hint("fields are %s", known.ptr);
	return EWS_EUSAGE;
}

static int add_field(struct ews_buf *out, const struct ews_session_view *view, const cJSON *object, const char *key)
{
	const cJSON *node = cJSON_GetObjectItemCaseSensitive(object, key);
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(free) char *top = NULL;
	int rc = check_key(key);

	if (rc < 0)
		return rc;
	if (!node)
		node = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(object, "changes"), key);
	if (view->is_open && !strcmp(key, "path")) {
		ews_buf_adds(out, view->session.state.workspace);
	} else if (view->is_open && !strcmp(key, "project")) {
		top = ews_session_top(&view->session);
		ews_buf_adds(out, top);
	} else if (cJSON_IsString(node)) {
		ews_buf_adds(out, node->valuestring);
	} else if (node && !cJSON_IsNull(node)) {
		ews_json_print(&text, node, false);
		ews_buf_rtrim(&text);
		ews_buf_adds(out, text.ptr);
	}
	return 0;
}

static bool needs_look(const char *field)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (keys[i].needs_look && ews_str_begins(field, keys[i].name) && field[strlen(keys[i].name)] == ')')
			return true;
	return false;
}

bool ews_render_session_format_needs_look(const char *format)
{
	for (const char *p = strchr(format, '%'); p && p[1]; p = strchr(p + 2, '%'))
		if (p[1] == '(' && needs_look(p + 2))
			return true;
	return false;
}

int ews_render_session_format(struct ews_buf *out, const struct ews_session_view *view, const char *format)
{
	EWS_CLEANUP(json) cJSON *object = ews_render_session_json(view);
	const char *p, *end;
	uint8_t byte;

	for (p = format; *p; p++) {
		if (p[0] != '%') {
			ews_buf_addc(out, *p);
		} else if (p[1] == '%') {
			ews_buf_addc(out, *++p);
		} else if (p[1] == '(' && (end = strchr(p, ')'))) {
			EWS_CLEANUP(free) char *key = ews_strndup(p + 2, (size_t)(end - p - 2));
			int rc = add_field(out, view, object, key);

			if (rc < 0)
				return rc;
			p = end;
		} else if (p[1] && p[2] && ews_unhex(&byte, 1, p + 1) == 0) {
			ews_buf_addc(out, (char)byte);
			p += 2;
		} else {
			return ews_error(EWS_EUSAGE, "'%s' has a '%%' that begins nothing", format);
		}
	}
	return 0;
}

void ews_session_view_release(struct ews_session_view *view)
{
	free(view->id);
	free(view->unfinished);
	free(view->problem);
	free(view->advice);
	ews_strv_release(&view->tampered);
	ews_strv_release(&view->drift);
	ews_stale_release(&view->stale);
	ews_diff_release(&view->diff);
	if (view->is_open)
		ews_session_release(&view->session);
}
