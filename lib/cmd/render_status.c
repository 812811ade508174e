/*
 * Status: see render_status.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/render_status.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/path.h"
#include "base/str.h"
#include "cmd/pager.h"
#include "cmd/render_path.h"
#include "work/session_place.h"

#define RED "31"
#define GREEN "32"
#define YELLOW "33"
#define BOLD "1"
#define DIM "2"

#define INDENT 2
#define DETAIL_INDENT 4
#define GAP 2 /* between columns */
#define TEXT_MIN 20 /* columns that a sentence gets, however narrow it is */
#define FILES_NAMED 3
#define DRIFT_NAMED 3

/* From the left by how much they are wanted: what has no room is at the right. */
enum column { ID, STATE, CHANGES, AGE, METHOD, SIZE, GUARD, N_COLUMNS };

static const char *const titles[] = { "SESSION", "STATE", "CHANGES", "AGE", "METHOD", "SIZE", "GUARD" };

struct row {
	struct ews_buf cells[N_COLUMNS]; /* "": not known */
};

struct table {
	struct row *rows;
	size_t n;
	size_t width[N_COLUMNS]; /* 0: nobody has anything in it */
	size_t n_shown; /* columns that have room */
};

static void release_table(struct table *table)
{
	for (size_t i = 0; i < table->n; i++)
		for (size_t k = 0; k < N_COLUMNS; k++)
			ews_buf_release(&table->rows[i].cells[k]);
	free(table->rows);
}

EWS_CLEANUP_DEFINE(table, struct table, release_table)

static void fill_changes(struct ews_buf *cell, const struct ews_diff *diff)
{
	if (!diff->n && diff->not_in_patch.n)
		ews_buf_addf(cell, "%zu not in git", diff->not_in_patch.n);
	else if (!diff->n)
		ews_buf_adds(cell, "none");
	else
		ews_buf_addf(cell, "%zu file%s (+%" PRIu64 " -%" PRIu64 ")", diff->n, diff->n == 1 ? "" : "s",
			     diff->lines_added, diff->lines_deleted);
}

static void fill_row(struct row *row, const struct ews_session_view *view)
{
	const struct ews_state *state = &view->session.state;
	char age[EWS_STAMP_LEN];

	for (size_t i = 0; i < N_COLUMNS; i++)
		row->cells[i] = (struct ews_buf)EWS_BUF_INIT;
	ews_buf_adds(&row->cells[ID], view->id);
	ews_buf_adds(&row->cells[STATE], ews_render_session_state(view));
	if (!view->is_open)
		return;
	ews_clock_age(age, ews_clock_now() - state->created_s);
	ews_buf_adds(&row->cells[AGE], age);
	ews_buf_adds(&row->cells[METHOD], state->method);
	if (view->has_diff) {
		fill_changes(&row->cells[CHANGES], &view->diff);
		ews_render_size(&row->cells[SIZE], view->diff.to.content.scan.size_bytes);
	}
	if (*state->guard_level)
		ews_buf_addf(&row->cells[GUARD], "%s, %s", state->guard_level,
			     state->guard_enforced ? "enforced" : "advisory");
}

/* How many columns fit into `width`; the first is always shown. */
static size_t count_fitting(const struct table *table, unsigned width)
{
	size_t at = INDENT, n = N_COLUMNS;

	for (size_t k = 0; k < N_COLUMNS; k++) {
		if (!table->width[k])
			continue;
		at += table->width[k];
		if (k && width && at > width) {
			n = k;
			break;
		}
		at += GAP;
	}
	return n;
}

static void fill_table(struct table *table, const struct ews_session_view *views, size_t n, unsigned width)
{
	table->rows = ews_calloc(n, sizeof(*table->rows));
	table->n = n;
	for (size_t i = 0; i < n; i++) {
		fill_row(&table->rows[i], &views[i]);
		for (size_t k = 0; k < N_COLUMNS; k++) {
			size_t len = table->rows[i].cells[k].len;

			if (len > table->width[k])
				table->width[k] = len;
		}
	}
	for (size_t k = 0; k < N_COLUMNS; k++)
		if (table->width[k] && table->width[k] < strlen(titles[k]))
			table->width[k] = strlen(titles[k]);
	table->n_shown = count_fitting(table, width);
}

/* "3 files (+12 -4)" with its two numbers in their colours. */
static void paint_changes(struct ews_buf *out, const char *text, bool color)
{
	const char *added = strstr(text, "(+"), *deleted = added ? strchr(added, '-') : NULL;
	EWS_CLEANUP(free) char *plus = NULL;
	EWS_CLEANUP(free) char *minus = NULL;

	if (!deleted) {
		ews_buf_adds(out, text);
		return;
	}
	plus = ews_strndup(added + 1, (size_t)(deleted - added - 2));
	minus = ews_strndup(deleted, strlen(deleted) - 1);
	ews_buf_add(out, text, (size_t)(added - text) + 1);
	ews_pager_paint(out, color, GREEN, plus);
	ews_buf_addc(out, ' ');
	ews_pager_paint(out, color, RED, minus);
	ews_buf_addc(out, ')');
}

static void add_cell(struct ews_buf *out, const struct ews_session_view *view, enum column column, const char *text,
		     bool color)
{
	if (column == ID)
		ews_pager_paint(out, color, BOLD, text);
	else if (column == STATE)
		ews_pager_paint(out, color, ews_session_view_color(view), text);
	else if (column == CHANGES)
		paint_changes(out, text, color);
	else if (column == GUARD && strstr(text, "advisory"))
		ews_pager_paint(out, color, YELLOW, text);
	else
		ews_buf_adds(out, text);
}

/* Blanks up to the next column, when one follows. */
static void add_gap(struct ews_buf *out, size_t n)
{
	ews_buf_addf(out, "%*s", (int)n, "");
}

/* `view` NULL: the titles. */
static void add_columns(struct ews_buf *out, const struct table *table, const struct row *row,
			const struct ews_session_view *view, bool color)
{
	size_t gap = INDENT;

	for (size_t k = 0; k < table->n_shown; k++) {
		const char *text = !view ? titles[k] : row->cells[k].len ? row->cells[k].ptr : "-";

		if (!table->width[k])
			continue;
		add_gap(out, gap);
		if (view)
			add_cell(out, view, k, text, color);
		else
			ews_pager_paint(out, color, DIM, text);
		gap = table->width[k] - strlen(text) + GAP;
	}
	ews_buf_addc(out, '\n');
}

/* `text` from column `at` on, broken between words where it would run over `width`; lines after the first are indented. */
static void add_wrapped(struct ews_buf *out, const char *text, size_t at, size_t indent, unsigned width)
{
	size_t end = width && width < indent + TEXT_MIN ? indent + TEXT_MIN : width;
	bool is_first = at <= indent;

	for (; *text; is_first = false) {
		size_t len = strcspn(text, " ");

		if (!is_first && end && at + 1 + len > end) {
			ews_buf_addc(out, '\n');
			add_gap(out, indent);
			at = indent;
		} else if (!is_first) {
			ews_buf_addc(out, ' ');
			at++;
		}
		ews_buf_add(out, text, len);
		at += len;
		text += len + (text[len] == ' ');
	}
	ews_buf_addc(out, '\n');
}

/* A line below a session's; some of the words may be somebody else's. */
static void add_detail(struct ews_buf *out, const char *name, const char *words, const char *color,
		       const struct ews_status_opts *opts)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	size_t at = DETAIL_INDENT;

	ews_render_words(&text, words);
	add_gap(out, DETAIL_INDENT);
	if (name) {
		ews_pager_paint(out, opts->color && color, color, name);
		ews_buf_adds(out, ":");
		at += strlen(name) + 1;
	}
	add_wrapped(out, text.ptr, at, DETAIL_INDENT + (name ? 2 : 0), opts->width);
}

/* What had no room in the columns. */
static void add_rest(struct ews_buf *out, const struct table *table, const struct row *row,
		     const struct ews_status_opts *opts)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	for (size_t k = table->n_shown; k < N_COLUMNS; k++)
		if (row->cells[k].len)
			ews_buf_addf(&text, "%s%s", text.len ? "; " : "", row->cells[k].ptr);
	if (text.len)
		add_detail(out, NULL, text.ptr, NULL, opts);
}

static void add_interrupted(struct ews_buf *out, const struct ews_session_view *view,
			    const struct ews_status_opts *opts)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	if (view->unfinished && *view->unfinished)
		ews_buf_addf(&text, "%s is unfinished; ", view->unfinished);
	else if (view->is_interrupted && view->session.state.owner.pid)
		ews_buf_addf(&text, "its owner, process %ld, died; ", (long)view->session.state.owner.pid);
	if (view->is_open)
		ews_buf_addf(&text, "git ews recover %s --resume, --revert or --view", view->id);
	else
		ews_buf_adds(&text, "git ews doctor says what to do");
	add_detail(out, "recover", text.ptr, RED, opts);
}

static void add_sentences(struct ews_buf *out, const char *name, const struct ews_strv *sentences, size_t n_named,
			  const struct ews_status_opts *opts)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	for (size_t i = 0; i < sentences->n && i < n_named; i++)
		ews_buf_addf(&text, "%s%s", i ? "; " : "", sentences->items[i]);
	if (sentences->n > n_named)
		ews_buf_addf(&text, "; and %zu more (-v)", sentences->n - n_named);
	if (text.len)
		add_detail(out, name, text.ptr, YELLOW, opts);
}

/*
 * What of the project changed but for what a person's own work changes: what is staged, and, as that is what makes a
 * session stale, the branch that was checked out.
 */
static void add_drift(struct ews_buf *out, const struct ews_session_view *view, const struct ews_status_opts *opts)
{
	EWS_CLEANUP(strv) struct ews_strv others = EWS_STRV_INIT;
	EWS_CLEANUP(free) char *branch = ews_strfmt("ref refs/heads/%s moved ", view->session.state.branch);

	for (size_t i = 0; i < view->drift.n; i++)
		if (strcmp(view->drift.items[i], "index changed") != 0 &&
		    (!view->stale.has_head_moved || !ews_str_begins(view->drift.items[i], branch)))
			ews_strv_add(&others, view->drift.items[i]);
	add_sentences(out, "project", &others, DRIFT_NAMED, opts);
}

/* What was done to its link to git, and what helps, unless something else has to be done first. */
static void add_tampered(struct ews_buf *out, const struct ews_session_view *view, const char *what,
			 const struct ews_status_opts *opts)
{
	bool is_gone = ews_session_lacks_entry(&view->tampered);
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	ews_buf_addf(&text, "%s %s", what, is_gone ? "is gone" : "was rewritten");
	if (!view->advice)
		ews_buf_addf(&text, "; git ews recover%s%s writes it anew", is_gone ? "" : " ",
			     is_gone ? "" : view->id);
	add_detail(out, "tampered", text.ptr, RED, opts);
}

/* What keeps the session from being worked with, and what helps. */
static void add_troubles(struct ews_buf *out, const struct ews_session_view *view, const struct ews_status_opts *opts)
{
	if (view->is_interrupted || !view->is_open)
		add_interrupted(out, view, opts);
	for (size_t i = 0; i < view->tampered.n; i++)
		add_tampered(out, view, view->tampered.items[i], opts);
	if (view->has_leavings)
		add_detail(out, "left", "by an end that did not come about; git ews recover names it", YELLOW, opts);
	if (view->problem)
		add_detail(out, "problem", view->problem, RED, opts);
	if (view->advice)
		add_detail(out, "hint", view->advice, NULL, opts);
}

/* To be copied: never broken. */
static void add_path(struct ews_buf *out, const char *before, const char *path, const struct ews_status_opts *opts)
{
	ews_buf_addf(out, "%*s%s", DETAIL_INDENT, "", before);
	ews_path_add_line(out, path, opts->nul);
}

static void add_details(struct ews_buf *out, const struct ews_session_view *view, const struct ews_status_opts *opts)
{
	const struct ews_state *state = &view->session.state;
	EWS_CLEANUP(strv) struct ews_strv stale = EWS_STRV_INIT;
	bool is_ended = view->is_open && state->state == EWS_STATE_ENDED;

	if (view->is_open && !is_ended)
		add_path(out, "", state->workspace, opts);
	if (view->is_open && opts->projects)
		add_path(out, "of ", state->project, opts);
	if (view->is_open && *state->label)
		add_detail(out, "label", state->label, NULL, opts);
	if (view->is_open && *state->intent)
		add_detail(out, "intent", state->intent, NULL, opts);
	if (view->is_open && state->owner.pid && !view->is_interrupted)
		ews_buf_addf(out, "%*srunning: process %ld\n", DETAIL_INDENT, "", (long)state->owner.pid);
	if (view->lock == EWS_HOLDING_DEEP)
		add_detail(out, "lock", "deep; git ews lock status shows who waits for it", NULL, opts);
	ews_stale_reasons(&stale, &view->stale, FILES_NAMED);
	add_sentences(out, "stale", &stale, stale.n, opts);
	if (view->drift.n)
		add_drift(out, view, opts);
	else if (view->is_open && state->project_changed)
		add_detail(out, "project", "it changed while a command ran; see git ews status --log", YELLOW, opts);
	if (view->is_pending)
		add_detail(out, "decide", "git ews pending show, apply or drop", NULL, opts);
	add_troubles(out, view, opts);
	if (view->is_unread)
		add_detail(out, "decide", "git ews doctor says what can be done about it", NULL, opts);
}

__attribute__((format(printf, 3, 4))) static void add_hint(struct ews_buf *out, unsigned width, const char *fmt, ...)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	va_list args;

	va_start(args, fmt);
	ews_buf_vaddf(&text, fmt, args);
	va_end(args);
	add_gap(out, INDENT);
	add_wrapped(out, text.ptr, INDENT, INDENT, width);
}

/* One session that is active needs no name: it is the one that is meant. */
static void add_hints(struct ews_buf *out, const struct ews_session_view *views, size_t n, unsigned width)
{
	size_t n_active = 0;
	bool has_changes = false;
	const char *name;

	for (size_t i = 0; i < n; i++) {
		n_active += views[i].is_open && !views[i].is_orphaned &&
			    views[i].session.state.state != EWS_STATE_ENDED;
		has_changes = has_changes || views[i].diff.n;
	}
	if (!n_active)
		return;
	name = n_active == 1 ? "" : " <session>";
	ews_buf_addc(out, '\n');
	if (has_changes) {
		add_hint(out, width, "(use \"git ews diff%s\" to see the changes)", name);
		add_hint(out, width, "(use \"git ews revert%s\" to take them back)", name);
	} else {
		add_hint(out, width, "(use \"cd $(git ews path%s)\" to work in it)", name);
	}
	add_hint(out, width, "(use \"git ews end%s\" to end it; \"git ews undo%s\" brings it back)", name, name);
}

void ews_render_status(struct ews_buf *out, const struct ews_session_view *views, size_t n,
		       const struct ews_status_opts *opts)
{
	EWS_CLEANUP(table) struct table table = { NULL, 0, { 0 }, 0 };

	fill_table(&table, views, n, opts->width);
	add_columns(out, &table, NULL, NULL, opts->color);
	for (size_t i = 0; i < n; i++) {
		add_columns(out, &table, &table.rows[i], &views[i], opts->color);
		add_rest(out, &table, &table.rows[i], opts);
		add_details(out, &views[i], opts);
	}
	if (opts->hints)
		add_hints(out, views, n, opts->width);
}

void ews_render_status_brief(struct ews_buf *out, const struct ews_session_view *views, size_t n,
			     bool is_project_interrupted)
{
	size_t n_bad = 0;

	for (size_t i = 0; i < n; i++)
		n_bad += ews_session_view_is_bad(&views[i]);
	if (!n && !is_project_interrupted)
		return;
	if (n == 1)
		ews_buf_adds(out, views[0].id);
	else if (n)
		ews_buf_addf(out, "%zu sessions", n);
	if (n == 1 && n_bad)
		ews_buf_addf(out, ", %s", ews_render_session_state(&views[0]));
	else if (n_bad)
		ews_buf_addf(out, ", %zu interrupted", n_bad);
	if (is_project_interrupted)
		ews_buf_addf(out, "%sproject interrupted", n ? ", " : "");
	ews_buf_addc(out, '\n');
}
