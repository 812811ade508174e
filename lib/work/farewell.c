/*
 * Farewell: see farewell.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/farewell.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/path.h"
#include "work/harvest.h"
#include "work/output_log.h"

#define EVENTS_FILE "log" /* in the session's directory */

void ews_farewell_release(struct ews_farewell *farewell)
{
	for (size_t i = 0; i < farewell->n; i++) {
		free(farewell->items[i].id);
		free(farewell->items[i].path);
	}
	free(farewell->items);
	*farewell = (struct ews_farewell)EWS_FAREWELL_INIT;
}

static void add_item(struct ews_farewell *out, const struct ews_artifact *artifact, const char *path)
{
	EWS_GROW(out->items, out->n, out->cap);
	out->items[out->n++] =
		(struct ews_farewell_item){ ews_strdup(artifact->id), artifact->type, ews_strdup(path) };
}

static void add_items(struct ews_farewell *out, const struct ews_artifacts *list)
{
	for (size_t i = 0; i < list->n; i++) {
		EWS_CLEANUP(free) char *path = ews_path_join(list->place, list->items[i].path);

		add_item(out, &list->items[i], path);
	}
}

int ews_farewell_patch(struct ews_artifact *out, char **path, const struct ews_diff *diff, struct ews_session *session)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(free) char *name = ews_strfmt("%s.patch", session->state.id);
	struct ews_artifact_new what = { .type = EWS_ARTIFACT_PATCH,
					 .name = name,
					 .session = session->state.id,
					 .base = session->state.base_snapshot,
					 .description = "what differs from the base",
					 .update = true };
	int rc = ews_diff_collect(&text, diff, session->repo, NULL, NULL);

	if (rc < 0 || !text.len)
		return rc;
	what.data = text.ptr;
	what.len = text.len;
	rc = ews_artifact_add(out, path, NULL, session->repo, &what);
	return rc < 0 ? ews_error_wrap("cannot store the patch") : 0;
}

static int store_whole(struct ews_farewell *out, struct ews_session *session, const struct ews_diff *diff)
{
	EWS_CLEANUP(artifact) struct ews_artifact artifact = EWS_ARTIFACT_INIT;
	EWS_CLEANUP(free) char *path = NULL;
	int rc = ews_farewell_patch(&artifact, &path, diff, session);

	if (rc == 0 && path)
		add_item(out, &artifact, path);
	return rc;
}

static int store_split(struct ews_farewell *out, struct ews_session *session, struct ews_diff *diff)
{
	EWS_CLEANUP(artifacts) struct ews_artifacts kept = EWS_ARTIFACTS_INIT;
	EWS_CLEANUP(strv) struct ews_strv names = EWS_STRV_INIT;
	EWS_CLEANUP(free) struct ews_artifact_new *patches = NULL;
	size_t n = 0;
	int rc = ews_diff_texts(diff, session->repo);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < diff->n; i++)
		ews_strv_addf(&names, "%s-%s.patch", session->state.id, diff->items[i].path);
	patches = ews_calloc(diff->n, sizeof(*patches));
	for (size_t i = 0; i < diff->n; i++) {
		const struct ews_diff_record *record = &diff->items[i];

		if (record->text.len)
			patches[n++] =
				(struct ews_artifact_new){ .type = EWS_ARTIFACT_PATCH,
							   .name = names.items[i],
							   .session = session->state.id,
							   .base = session->state.base_snapshot,
							   .description = "what differs from the base, of one file",
							   .original = record->path,
							   .data = record->text.ptr,
							   .len = record->text.len,
							   .update = true };
	}
	rc = ews_artifact_add_all(&kept, NULL, session->repo, patches, n);
	if (rc < 0)
		return ews_error_wrap("cannot store the patches");
	add_items(out, &kept);
	return 0;
}

static int store_tests(struct ews_farewell *out, struct ews_session *session, const struct ews_diff *diff)
{
	EWS_CLEANUP(harvest) struct ews_harvest harvest = EWS_HARVEST_INIT;
	EWS_CLEANUP(artifacts) struct ews_artifacts kept = EWS_ARTIFACTS_INIT;
	int rc = ews_harvest_find(&harvest, session->repo, diff);

	if (rc == 0)
		rc = ews_harvest_keep(&kept, &harvest, session);
	if (rc < 0)
		return ews_error_wrap("cannot store the tests");
	add_items(out, &kept);
	return 0;
}

static bool is_listed(const struct ews_report *report, const char *name)
{
	for (size_t i = 0; i < report->n_artifacts; i++)
		if (!strcmp(ews_path_base(report->artifacts[i].path), name))
			return true;
	return false;
}

/* What its commands printed is an artifact already, but for one whose run was killed. */
static int store_output(struct ews_farewell *out, struct ews_session *session, const struct ews_report *report)
{
	EWS_CLEANUP(strv) struct ews_strv names = EWS_STRV_INIT;
	int rc = ews_output_log_list(&names, session->repo, session->state.id);

	for (size_t i = 0; i < names.n && rc == 0; i++) {
		EWS_CLEANUP(artifact) struct ews_artifact artifact = EWS_ARTIFACT_INIT;
		EWS_CLEANUP(free) char *path = NULL;

		if (is_listed(report, names.items[i]))
			continue;
		rc = ews_output_log_keep(&artifact, &path, session->repo, session->state.id, names.items[i]);
		if (rc == 0)
			add_item(out, &artifact, path);
	}
	return rc < 0 ? ews_error_wrap("cannot store what a command printed") : 0;
}

static int store_events(struct ews_farewell *out, struct ews_session *session)
{
	EWS_CLEANUP(free) char *name = ews_strfmt("%s-events.log", session->state.id);
	EWS_CLEANUP(fd) int fd = ews_dir_open_file(session->fd, EVENTS_FILE, O_RDONLY, 0);
	EWS_CLEANUP(artifact) struct ews_artifact artifact = EWS_ARTIFACT_INIT;
	EWS_CLEANUP(free) char *path = NULL;
	struct ews_artifact_new what = { .type = EWS_ARTIFACT_LOG,
					 .name = name,
					 .session = session->state.id,
					 .base = session->state.base_snapshot,
					 .description = "what happened in the session",
					 .fd = fd,
					 .update = true };
	int rc = fd < 0 ? fd : ews_artifact_add(&artifact, &path, NULL, session->repo, &what);

	if (rc == EWS_ENOTFOUND && fd < 0) {
		ews_error_clear();
		return 0;
	}
	if (rc < 0)
		return ews_error_wrap("cannot store the log");
	add_item(out, &artifact, path);
	return 0;
}

static int store_report(struct ews_farewell *out, struct ews_report *report, ews_report_render_fn render)
{
	struct ews_artifact kept[] = { EWS_ARTIFACT_INIT, EWS_ARTIFACT_INIT };
	EWS_CLEANUP(strv) struct ews_strv paths = EWS_STRV_INIT;
	int rc = ews_report_write(kept, &paths, report, render);

	for (size_t i = 0; i < 2; i++) {
		if (rc == 0)
			add_item(out, &kept[i], paths.items[i]);
		ews_artifact_release(&kept[i]);
	}
	return rc < 0 ? ews_error_wrap("cannot store the report") : 0;
}

/* Is there a finding, or a command that was stopped? What can't be read counts as one. */
static bool has_something_to_say(const struct ews_session *session)
{
	EWS_CLEANUP(findings) struct ews_findings findings = EWS_FINDINGS_INIT;
	EWS_CLEANUP(session_log) struct ews_session_log log = EWS_SESSION_LOG_INIT;
	bool is_read = ews_findings_read(&findings, session) == 0 && ews_session_log_read(&log, session) == 0;

	ews_error_clear();
	return !is_read || findings.n || findings.unreadable || log.n_blocked;
}

static int store_changes(struct ews_farewell *out, struct ews_session *session, struct ews_diff *diff, bool split)
{
	int rc = split ? store_split(out, session, diff) : store_whole(out, session, diff);

	return rc < 0 ? rc : store_tests(out, session, diff);
}

int ews_farewell_is_wanted(struct ews_repo *repo)
{
	bool is_wanted;
	int rc = ews_config_bool(&is_wanted, ews_repo_config(repo), "qe.workspace.preserve_artifacts");

	return rc < 0 ? rc : is_wanted;
}

int ews_farewell_store(struct ews_farewell *out, struct ews_session *session, enum ews_farewell_state state,
		       const char *snapshot, const struct ews_farewell_opts *opts)
{
	EWS_CLEANUP(report) struct ews_report report = EWS_REPORT_INIT;
	bool is_worth_it = has_something_to_say(session);
	int rc;

	if (state == EWS_FAREWELL_SAME)
		snapshot = session->state.base_snapshot;
	if (state == EWS_FAREWELL_SAME && !is_worth_it)
		return 0;
	rc = ews_report_gather(&report, session, state == EWS_FAREWELL_NOW ? NULL : snapshot);
	if (rc == 0 && !report.has_diff && state != EWS_FAREWELL_GONE)
		rc = ews_error(EWS_EIO, "%s", report.problems.items[report.problems.n - 1]);
	is_worth_it = is_worth_it || report.diff.n || report.diff.not_in_patch.n;
	if (rc < 0 || !is_worth_it)
		return rc;
	report.is_final = true;
	report.diff.opts.progress = opts->progress;
	report.diff.opts.payload = opts->payload;
	if (report.diff.n)
		rc = store_changes(out, session, &report.diff, opts->split);
	if (rc == 0)
		rc = store_output(out, session, &report);
	if (rc == 0)
		rc = store_events(out, session);
	if (rc < 0 || !opts->render)
		return rc;
	ews_report_list_artifacts(&report);
	return store_report(out, &report, opts->render);
}
