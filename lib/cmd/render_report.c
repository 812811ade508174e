/*
 * Reports: see render_report.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/render_report.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/markdown.h"
#include "base/path.h"
#include "base/path_line.h"
#include "cmd/cmd.h"
#include "cmd/render_diff.h"
#include "cmd/render_path.h"
#include "cmd/render_session.h"
#include "cmd/render_snapshot.h"

static const char *state_word(const struct ews_report *report)
{
	if (report->is_final)
		return ews_state_word(EWS_STATE_ENDED);
	return report->is_interrupted ? "interrupted" : ews_state_word(report->session->state.state);
}

static int64_t end_of(const struct ews_report *report)
{
	return report->session->state.ended_s ? report->session->state.ended_s : report->made_s;
}

void ews_render_finding(cJSON *object, const struct ews_finding *finding, const char *fix)
{
	ews_render_string(object, "id", finding->id);
	(void)cJSON_AddStringToObject(object, "severity", ews_severity_word(finding->severity));
	ews_render_string(object, "title", finding->title);
	ews_render_string(object, "description", finding->description);
	ews_render_path_or_null(object, "file_path", finding->file);
	if (finding->line)
		ews_json_add_int(object, "line", finding->line);
	else
		(void)cJSON_AddNullToObject(object, "line");
	ews_render_string(object, "fix_name", finding->fix_name);
	ews_render_time(object, "created_at", finding->created_s);
	if (*fix)
		ews_json_add_text(object, "suggested_fix", fix, strlen(fix));
	else
		(void)cJSON_AddNullToObject(object, "suggested_fix");
}

static void add_where(struct ews_buf *out, const struct ews_finding *finding)
{
	ews_path_quote(out, finding->file);
	if (finding->line)
		ews_buf_addf(out, ":%u", finding->line);
}

void ews_render_finding_line(struct ews_buf *out, const struct ews_finding *finding)
{
	EWS_CLEANUP(buf) struct ews_buf where = EWS_BUF_INIT;

	add_where(&where, finding);
	ews_buf_addf(out, "%s  %-8s  %s  ", finding->id, ews_severity_word(finding->severity),
		     where.len ? where.ptr : "-");
	ews_render_words(out, finding->title);
	ews_buf_addc(out, '\n');
}

static void add_findings(cJSON *object, const struct ews_report *report)
{
	cJSON *array;

	ews_json_add_int(object, "findings_count", (int64_t)report->findings.n);
	ews_json_add_int(object, "critical_count", (int64_t)report->critical);
	ews_json_add_int(object, "warning_count", (int64_t)report->warning);
	ews_json_add_int(object, "info_count", (int64_t)report->info);
	array = cJSON_AddArrayToObject(object, "findings");
	for (size_t i = 0; i < report->findings.n; i++) {
		cJSON *item = cJSON_CreateObject();

		ews_render_finding(item, &report->findings.items[i], report->fixes.items[i]);
		cJSON_AddItemToArray(array, item);
	}
}

static void add_summary(cJSON *object, const struct ews_report *report)
{
	const struct ews_state *state = &report->session->state;

	ews_render_time(object, "generated_at", report->made_s);
	ews_render_string(object, "session_id", state->id);
	(void)cJSON_AddStringToObject(object, "state", state_word(report));
	(void)cJSON_AddStringToObject(object, "verdict", ews_report_verdict_word(report->verdict));
	ews_render_string(object, "intent", state->intent);
	ews_render_string(object, "label", state->label);
	ews_render_time(object, "started_at", state->created_s);
	ews_render_time(object, "ended_at", state->ended_s);
	ews_json_add_int(object, "duration_ms", (end_of(report) - state->created_s) * 1000);
}

static void add_scope(cJSON *object, const struct ews_report *report)
{
	const struct ews_state *state = &report->session->state;
	cJSON *scope = cJSON_AddObjectToObject(object, "scope");

	ews_json_add_path(scope, "project", state->project);
	ews_json_add_path(scope, "path", state->workspace);
	ews_render_string(scope, "method", ews_render_method(state->method));
	ews_render_string(scope, "branch", state->branch);
	ews_render_string(scope, "base_commit", state->base_commit);
	ews_render_string(scope, "snapshot_id", state->base_snapshot);
	if (report->has_base) {
		ews_json_add_int(scope, "files_count", (int64_t)report->base.files);
		ews_json_add_int(scope, "total_size_bytes", (int64_t)report->base.bytes);
	} else {
		(void)cJSON_AddNullToObject(scope, "files_count");
		(void)cJSON_AddNullToObject(scope, "total_size_bytes");
	}
	ews_render_guard(scope, state);
	(void)cJSON_AddBoolToObject(scope, "project_changed", report->drift.n || state->project_changed);
	if (report->has_drift)
		ews_render_sentences(scope, "drift", &report->drift);
	else
		(void)cJSON_AddNullToObject(scope, "drift");
	if (report->has_diff)
		ews_render_skips(scope, &report->diff.to.content.scan.skips);
	else
		(void)cJSON_AddNullToObject(scope, "skipped");
}

static int add_changes(cJSON *object, const struct ews_report *report)
{
	if (report->has_diff)
		return ews_render_changes(cJSON_AddObjectToObject(object, "changes"), report->session->repo,
					  &report->diff, EWS_CHANGES_FILES);
	(void)cJSON_AddNullToObject(object, "changes");
	return 0;
}

static void add_artifacts(cJSON *object, const struct ews_report *report)
{
	cJSON *array = cJSON_AddArrayToObject(object, "artifacts");

	for (size_t i = 0; i < report->n_artifacts; i++) {
		cJSON *item = cJSON_CreateObject();

		ews_json_add_path(item, "path", report->artifacts[i].path);
		ews_render_string(item, "kind", report->artifacts[i].kind);
		ews_json_add_int(item, "size_bytes", (int64_t)report->artifacts[i].size_bytes);
		cJSON_AddItemToArray(array, item);
	}
}

static void add_log(cJSON *object, const struct ews_session_log *log)
{
	cJSON *array = cJSON_AddArrayToObject(object, "blocked");

	for (size_t i = 0; i < log->n_blocked; i++) {
		const struct ews_blocked *blocked = &log->blocked[i];
		cJSON *item = cJSON_CreateObject();

		ews_render_time(item, "timestamp", blocked->at_s);
		ews_render_string(item, "command", blocked->command);
		ews_render_string(item, "subcommand", blocked->subcommand);
		ews_render_string(item, "operation_type", blocked->operation);
		ews_render_string(item, "reason", blocked->reason);
		ews_render_string(item, "suggestion", blocked->suggestion);
		cJSON_AddItemToArray(array, item);
	}
	array = cJSON_AddArrayToObject(object, "events");
	for (size_t i = 0; i < log->n_events; i++) {
		cJSON *item = cJSON_CreateObject();

		ews_render_time(item, "timestamp", log->events[i].at_s);
		ews_render_string(item, "verb", log->events[i].verb);
		ews_render_string(item, "message", log->events[i].message);
		cJSON_AddItemToArray(array, item);
	}
}

static void add_timeline(cJSON *object, const struct ews_report *report)
{
	cJSON *array = cJSON_AddArrayToObject(object, "timeline");

	for (size_t i = 0; i < report->timeline.n; i++) {
		cJSON *item = cJSON_CreateObject();

		ews_render_snapshot(item, &report->timeline.items[i]);
		ews_render_descent(item, &report->timeline, &report->lineage.items[i]);
		cJSON_AddItemToArray(array, item);
	}
}

static void add_revert(cJSON *object, const struct ews_report *report)
{
	EWS_CLEANUP(free) char *way = ews_report_way_back(report);
	const struct ews_proof *proof = &report->proof;
	cJSON *revert = cJSON_AddObjectToObject(object, "revert"), *last;

	ews_render_string(revert, "command", way);
	ews_render_string(revert, "original_hash", report->has_base ? report->base.hash : NULL);
	ews_render_string(revert, "current_hash", report->current_hash);
	(void)cJSON_AddBoolToObject(revert, "reverted", ews_report_is_back(report));
	if (!report->has_proof) {
		(void)cJSON_AddNullToObject(revert, "last");
		return;
	}
	last = cJSON_AddObjectToObject(revert, "last");
	ews_render_time(last, "timestamp", proof->made_s);
	ews_render_string(last, "snapshot_id", proof->target);
	(void)cJSON_AddBoolToObject(last, "partial", proof->is_partial);
	ews_render_string(last, "original_hash", proof->original_hash);
	ews_render_string(last, "current_hash", proof->current_hash);
	(void)cJSON_AddBoolToObject(last, "verified", proof->is_verified);
	ews_json_add_int(last, "restored", (int64_t)proof->restored);
	ews_json_add_int(last, "deleted", (int64_t)proof->deleted);
	ews_json_add_int(last, "differing", (int64_t)proof->differing);
}

int ews_render_report_json(cJSON *object, const struct ews_report *report)
{
	int rc;

	add_summary(object, report);
	add_scope(object, report);
	add_findings(object, report);
	rc = add_changes(object, report);
	if (rc < 0)
		return rc;
	add_artifacts(object, report);
	add_log(object, &report->log);
	add_timeline(object, report);
	add_revert(object, report);
	ews_render_sentences(object, "problems", &report->problems);
	return 0;
}

static void add_heading(struct ews_buf *out, const char *text)
{
	ews_buf_addf(out, "\n## %s\n\n", text);
}

/* "- Name: words of ours" */
static void add_item(struct ews_buf *out, const char *name, const char *text)
{
	if (text && *text)
		ews_buf_addf(out, "- %s: %s\n", name, text);
}

/* The same with what others have written. */
static void add_text_item(struct ews_buf *out, const char *name, const char *text)
{
	EWS_CLEANUP(buf) struct ews_buf safe = EWS_BUF_INIT;

	ews_markdown_text(&safe, text ? text : "");
	add_item(out, name, safe.ptr);
}

static void add_code_item(struct ews_buf *out, const char *name, const char *text)
{
	EWS_CLEANUP(buf) struct ews_buf safe = EWS_BUF_INIT;

	ews_markdown_code(&safe, text ? text : "");
	add_item(out, name, safe.ptr);
}

static void add_path(struct ews_buf *out, const char *path)
{
	EWS_CLEANUP(buf) struct ews_buf quoted = EWS_BUF_INIT;

	ews_path_quote(&quoted, path);
	ews_markdown_code(out, quoted.ptr);
}

static void add_path_item(struct ews_buf *out, const char *name, const char *path)
{
	ews_buf_addf(out, "- %s: ", name);
	add_path(out, path);
	ews_buf_addc(out, '\n');
}

static void add_time_item(struct ews_buf *out, const char *name, int64_t seconds)
{
	char stamp[EWS_STAMP_LEN];

	if (!seconds)
		return;
	ews_clock_rfc3339(stamp, seconds);
	add_item(out, name, stamp);
}

/* Sentences of ours that quote what is not. */
static void add_sentences(struct ews_buf *out, const struct ews_strv *sentences)
{
	for (size_t i = 0; i < sentences->n; i++) {
		ews_buf_adds(out, "- ");
		ews_markdown_text(out, sentences->items[i]);
		ews_buf_addc(out, '\n');
	}
}

static void put_summary(struct ews_buf *out, const struct ews_report *report)
{
	const struct ews_state *state = &report->session->state;
	EWS_CLEANUP(buf) struct ews_buf totals = EWS_BUF_INIT;
	char lasted[EWS_STAMP_LEN];

	ews_buf_adds(out, "# Report of session ");
	ews_markdown_code(out, state->id);
	ews_buf_addf(out, "\n\n**Verdict: %s**\n", ews_report_verdict_word(report->verdict));
	add_heading(out, "Summary");
	add_text_item(out, "Label", state->label);
	add_text_item(out, "Intent", state->intent);
	add_item(out, "State", state_word(report));
	add_time_item(out, "Started", state->created_s);
	add_time_item(out, "Ended", state->ended_s);
	ews_clock_age(lasted, end_of(report) - state->created_s);
	add_item(out, "Duration", lasted);
	if (report->has_diff)
		ews_render_totals_text(&totals, &report->diff);
	add_item(out, "Changes", report->has_diff ? totals.ptr : "not known");
	ews_buf_addf(out, "- Findings: %zu critical, %zu warning, %zu info\n", report->critical, report->warning,
		     report->info);
	ews_buf_addf(out, "- Blocked git commands: %zu\n", report->log.n_blocked);
	add_time_item(out, "Report made", report->made_s);
}

/* What was left out: those that nobody chose to leave out by name, the others by their number. */
static void put_skips(struct ews_buf *out, const struct ews_skips *skips)
{
	size_t ignored = 0, excluded = 0;

	for (size_t i = 0; i < skips->n; i++) {
		const struct ews_skip *skip = &skips->items[i];

		ignored += skip->reason == EWS_SKIP_IGNORED || skip->reason == EWS_SKIP_PRESENT;
		excluded += skip->reason == EWS_SKIP_EXCLUDED;
		if (ews_skip_is_by_rule(skip->reason))
			continue;
		ews_buf_adds(out, "- Left out: ");
		add_path(out, skip->path);
		ews_buf_addf(out, " (%s)\n", ews_skip_word(skip->reason));
	}
	if (ignored)
		ews_buf_addf(out, "- Left out: %zu ignored path%s\n", ignored, ignored == 1 ? "" : "s");
	if (excluded)
		ews_buf_addf(out, "- Left out: %zu excluded path%s\n", excluded, excluded == 1 ? "" : "s");
}

static void put_scope(struct ews_buf *out, const struct ews_report *report)
{
	const struct ews_state *state = &report->session->state;
	EWS_CLEANUP(buf) struct ews_buf guard = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf size = EWS_BUF_INIT;

	add_heading(out, "Scope");
	add_path_item(out, "Project", state->project);
	add_path_item(out, "Workspace", state->workspace);
	add_item(out, "Method", state->method);
	add_code_item(out, "Branch", state->branch);
	add_code_item(out, "Base commit", state->base_commit);
	add_code_item(out, "Base snapshot", state->base_snapshot);
	if (report->has_base) {
		ews_render_size(&size, report->base.bytes);
		ews_buf_addf(out, "- Files: %" PRIu64 " (%s)\n", report->base.files, size.ptr);
	}
	if (*state->guard_level)
		ews_render_guard_text(&guard, state->guard_level, state->guard_policy, state->guard_enforced,
				      state->guard_offline);
	add_text_item(out, "Guard", guard.ptr);
	if (report->has_diff)
		put_skips(out, &report->diff.to.content.scan.skips);
	if (state->project_changed)
		add_item(out, "Project", "it changed while a command ran");
	for (size_t i = 0; i < report->drift.n; i++)
		add_text_item(out, "Project since the start", report->drift.items[i]);
}

static void put_finding(struct ews_buf *out, const struct ews_finding *finding, const char *fix)
{
	EWS_CLEANUP(buf) struct ews_buf where = EWS_BUF_INIT;

	ews_buf_addf(out, "### %s: ", ews_severity_word(finding->severity));
	ews_markdown_text(out, finding->title);
	ews_buf_adds(out, "\n\n");
	add_code_item(out, "Id", finding->id);
	add_where(&where, finding);
	add_code_item(out, "Where", where.ptr);
	add_code_item(out, "Suggested fix", finding->fix_name);
	if (*finding->description) {
		ews_buf_addc(out, '\n');
		ews_markdown_block(out, finding->description, "text");
	}
	if (*fix) {
		ews_buf_addc(out, '\n');
		ews_markdown_block(out, fix, "diff");
	}
}

static void put_findings(struct ews_buf *out, const struct ews_report *report)
{
	add_heading(out, "Findings");
	for (size_t i = 0; i < report->findings.n; i++) {
		ews_buf_adds(out, i ? "\n" : "");
		put_finding(out, &report->findings.items[i], report->fixes.items[i]);
	}
	if (!report->findings.n)
		ews_buf_adds(out, "None.\n");
}

static void put_change(struct ews_buf *out, const struct ews_diff_record *record)
{
	ews_buf_addf(out, "| %c | ", record->status);
	if (record->old_path) {
		add_path(out, record->old_path);
		ews_buf_adds(out, " → ");
	}
	add_path(out, record->path);
	if (record->is_binary)
		ews_buf_adds(out, " | binary |\n");
	else
		ews_buf_addf(out, " | +%" PRIu64 " -%" PRIu64 " |\n", record->lines_added, record->lines_deleted);
}

static void put_changes(struct ews_buf *out, const struct ews_report *report)
{
	const struct ews_diff *diff = &report->diff;
	EWS_CLEANUP(buf) struct ews_buf totals = EWS_BUF_INIT;

	add_heading(out, "Changes");
	if (!report->has_diff) {
		ews_buf_adds(out, "Not known.\n");
		return;
	}
	ews_render_totals_text(&totals, diff);
	ews_buf_addf(out, "%s\n", totals.ptr);
	if (diff->n)
		ews_buf_adds(out, "\n| | File | Lines |\n|---|---|---|\n");
	for (size_t i = 0; i < diff->n; i++)
		put_change(out, &diff->items[i]);
	if (diff->not_in_patch.n)
		ews_buf_adds(out, "\nWhat a patch can't hold:\n\n");
	for (size_t i = 0; i < diff->not_in_patch.n; i++) {
		EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
		const char *what = ews_path_line_split(&path, diff->not_in_patch.items[i]);

		ews_buf_adds(out, "- ");
		add_path(out, path.ptr);
		ews_buf_adds(out, ": ");
		ews_markdown_text(out, what);
		ews_buf_addc(out, '\n');
	}
}

static void put_artifacts(struct ews_buf *out, const struct ews_report *report)
{
	add_heading(out, "Artifacts");
	for (size_t i = 0; i < report->n_artifacts; i++) {
		EWS_CLEANUP(buf) struct ews_buf size = EWS_BUF_INIT;

		ews_render_size(&size, report->artifacts[i].size_bytes);
		ews_buf_adds(out, "- ");
		add_path(out, report->artifacts[i].path);
		ews_buf_addf(out, " (%s)\n", size.ptr);
	}
	if (!report->n_artifacts)
		ews_buf_adds(out, "None.\n");
}

static void put_time(struct ews_buf *out, int64_t seconds)
{
	char stamp[EWS_STAMP_LEN];

	ews_clock_rfc3339(stamp, seconds);
	ews_buf_addf(out, "| %s | ", stamp);
}

static void put_blocked(struct ews_buf *out, const struct ews_session_log *log)
{
	add_heading(out, "Blocked git commands");
	if (!log->n_blocked) {
		ews_buf_adds(out, "None.\n");
		return;
	}
	ews_buf_adds(out, "| Time | Command | Why | Instead |\n|---|---|---|---|\n");
	for (size_t i = 0; i < log->n_blocked; i++) {
		put_time(out, log->blocked[i].at_s);
		ews_markdown_code(out, log->blocked[i].command);
		ews_buf_adds(out, " | ");
		ews_markdown_text(out, log->blocked[i].reason);
		ews_buf_adds(out, " | ");
		ews_markdown_text(out, log->blocked[i].suggestion);
		ews_buf_adds(out, " |\n");
	}
}

static void put_snapshot(struct ews_buf *out, const struct ews_report *report, size_t i)
{
	const struct ews_snapshot *snapshot = &report->timeline.items[i];
	const struct ews_descent *descent = &report->lineage.items[i];

	put_time(out, snapshot->created_s);
	ews_markdown_code(out, snapshot->id);
	if (ews_snapshot_is_in_trash(snapshot))
		ews_buf_adds(out, " (in trash)");
	ews_buf_adds(out, " | ");
	if (descent->parent >= 0)
		ews_markdown_code(out, report->timeline.items[descent->parent].id);
	ews_buf_adds(out, " | ");
	if (descent->changes >= 0)
		ews_buf_addf(out, "%zd", descent->changes);
	ews_buf_adds(out, " | ");
	ews_markdown_text(out, snapshot->subject ? snapshot->subject : "");
	ews_buf_adds(out, " |\n");
}

static void put_timeline(struct ews_buf *out, const struct ews_report *report)
{
	const struct ews_session_log *log = &report->log;

	add_heading(out, "Timeline of snapshots");
	if (report->timeline.n)
		ews_buf_adds(out,
			     "| Time | Snapshot | Made from | Paths changed | Subject |\n|---|---|---|---|---|\n");
	else
		ews_buf_adds(out, "None.\n");
	for (size_t i = 0; i < report->timeline.n; i++)
		put_snapshot(out, report, i);
	if (!log->n_events)
		return;
	add_heading(out, "Log");
	ews_buf_adds(out, "| Time | Verb | |\n|---|---|---|\n");
	for (size_t i = 0; i < log->n_events; i++) {
		put_time(out, log->events[i].at_s);
		ews_markdown_text(out, log->events[i].verb);
		ews_buf_adds(out, " | ");
		ews_markdown_code(out, log->events[i].message);
		ews_buf_adds(out, " |\n");
	}
}

static void put_proof(struct ews_buf *out, const struct ews_proof *proof)
{
	char stamp[EWS_STAMP_LEN];

	ews_clock_rfc3339(stamp, proof->made_s);
	ews_buf_addf(out, "- Last revert: %s, to ", stamp);
	ews_markdown_code(out, proof->target);
	ews_buf_addf(out, "%s: %" PRIu64 " restored, %" PRIu64 " deleted, %" PRIu64 " that differ after all\n",
		     proof->is_partial ? ", some paths alone" : "", proof->restored, proof->deleted,
		     proof->differing);
	add_code_item(out, "Original hash then", proof->original_hash);
	add_code_item(out, "Current hash then", proof->current_hash);
	add_item(out, "Status then", proof->is_verified ? "Verified" : "Not verified");
}

static void put_revert(struct ews_buf *out, const struct ews_report *report)
{
	EWS_CLEANUP(free) char *way = ews_report_way_back(report);

	add_heading(out, "Revert");
	add_code_item(out, "The way back", way);
	add_code_item(out, "Original hash", report->has_base ? report->base.hash : NULL);
	add_code_item(out, "Current hash", report->current_hash);
	if (!report->has_base || !*report->current_hash)
		add_item(out, "Files", "not known to be those of the base");
	else
		add_item(out, "Files", ews_report_is_back(report) ? "those of the base" : "not those of the base");
	if (report->has_proof)
		put_proof(out, &report->proof);
	else
		add_item(out, "Last revert", "there was none");
}

static void put_all(struct ews_buf *out, const struct ews_report *report)
{
	put_summary(out, report);
	if (report->problems.n) {
		add_heading(out, "What could not be found out");
		add_sentences(out, &report->problems);
	}
	put_scope(out, report);
	put_findings(out, report);
	put_changes(out, report);
	put_artifacts(out, report);
	put_blocked(out, &report->log);
	put_timeline(out, report);
	put_revert(out, report);
}

int ews_render_report(struct ews_buf *markdown, struct ews_buf *json, const struct ews_report *report)
{
	EWS_CLEANUP(json) cJSON *object = ews_cmd_json_new("report");
	int rc = ews_render_report_json(object, report);

	if (rc < 0)
		return rc;
	ews_json_print(json, object, true);
	put_all(markdown, report);
	return 0;
}
