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
#include "work/patch_kept.h"

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

static void add_items(struct ews_farewell *out, const struct ews_artifacts *list)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct ews_artifact *artifact = &list->items[i];

		EWS_GROW(out->items, out->n, out->cap);
		out->items[out->n++] = (struct ews_farewell_item){ ews_strdup(artifact->id), artifact->type,
								   ews_path_join(list->place, artifact->path) };
	}
}

/* The patch of all that differs, which is `text`. */
static struct ews_artifact_new whole_patch(const struct ews_session *session, const char *name,
					   const struct ews_buf *text)
{
	return (struct ews_artifact_new){ .type = EWS_ARTIFACT_PATCH,
					  .name = name,
					  .session = session->state.id,
					  .base = session->state.base_snapshot,
					  .description = "what differs from the base",
					  .data = text->ptr,
					  .len = text->len,
					  .update = true };
}

int ews_farewell_patch(struct ews_artifact *out, char **path, const struct ews_diff *diff, struct ews_session *session)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(free) char *name = ews_strfmt("%s.patch", session->state.id);
	struct ews_artifact_new what;
	int rc;

	if (ews_patch_kept_find(out, path, diff, session))
		return 0;
	rc = ews_diff_collect(&text, diff, session->repo, NULL, NULL);
	if (rc < 0 || !text.len)
		return rc;
	what = whole_patch(session, name, &text);
	rc = ews_artifact_add(out, path, NULL, session->repo, &what);
	if (rc < 0)
		return ews_error_wrap("cannot store the patch");
	ews_patch_kept_note(session, diff, out);
	return 0;
}

/* What is being stored, in a registry that is opened for all of it: to read it takes as long as there are artifacts. */
struct storing {
	const struct ews_session *session;
	struct ews_artifact_registry registry;
	struct ews_artifacts kept;
};

static void release_storing(struct storing *storing)
{
	ews_artifact_registry_release(&storing->registry);
	ews_artifacts_release(&storing->kept);
}

EWS_CLEANUP_DEFINE(storing, struct storing, release_storing)

static int store(struct storing *storing, const struct ews_artifact_new *what, size_t n)
{
	int rc = ews_artifact_add_to(&storing->kept, &storing->registry, what, n);

	return rc < 0 ? ews_artifact_fail(rc) : 0;
}

static int store_whole(struct storing *storing, const struct ews_buf *text)
{
	EWS_CLEANUP(free) char *name = ews_strfmt("%s.patch", storing->session->state.id);
	const struct ews_artifact_new what = whole_patch(storing->session, name, text);
	int rc = text->len ? store(storing, &what, 1) : 0;

	return rc < 0 ? ews_error_wrap("cannot store the patch") : 0;
}

/* `diff` has its texts. */
static int store_split(struct storing *storing, const struct ews_diff *diff)
{
	const struct ews_state *state = &storing->session->state;
	EWS_CLEANUP(strv) struct ews_strv names = EWS_STRV_INIT;
	EWS_CLEANUP(free) struct ews_artifact_new *patches = ews_calloc(diff->n, sizeof(*patches));
	size_t n = 0;
	int rc;

	for (size_t i = 0; i < diff->n; i++)
		ews_strv_addf(&names, "%s-%s.patch", state->id, diff->items[i].path);
	for (size_t i = 0; i < diff->n; i++) {
		const struct ews_diff_record *record = &diff->items[i];

		if (record->text.len)
			patches[n++] =
				(struct ews_artifact_new){ .type = EWS_ARTIFACT_PATCH,
							   .name = names.items[i],
							   .session = state->id,
							   .base = state->base_snapshot,
							   .description = "what differs from the base, of one file",
							   .original = record->path,
							   .data = record->text.ptr,
							   .len = record->text.len,
							   .update = true };
	}
	rc = store(storing, patches, n);
	return rc < 0 ? ews_error_wrap("cannot store the patches") : 0;
}

static int store_tests(struct storing *storing, const struct ews_diff *diff)
{
	EWS_CLEANUP(harvest) struct ews_harvest harvest = EWS_HARVEST_INIT;
	EWS_CLEANUP(free) struct ews_artifact_new *tests = NULL;
	int rc = ews_harvest_find(&harvest, storing->session->repo, diff);

	if (rc == 0) {
		tests = ews_harvest_artifacts(&harvest, storing->session);
		rc = store(storing, tests, harvest.n);
	}
	return rc < 0 ? ews_error_wrap("cannot store the tests") : 0;
}

/* Is the log `name` an artifact of the session already? */
static bool is_log_kept(const struct storing *storing, const char *name)
{
	EWS_CLEANUP(free) char *path = ews_path_join(ews_artifact_type_dir(EWS_ARTIFACT_LOG), name);
	const struct ews_artifact *there = ews_artifacts_find_path(&storing->registry.list, path);

	return there && !strcmp(there->session, storing->session->state.id);
}

/* What its commands printed is an artifact already, but for one whose run was killed. */
static int store_output(struct storing *storing)
{
	const struct ews_session *session = storing->session;
	EWS_CLEANUP(strv) struct ews_strv names = EWS_STRV_INIT;
	int rc = ews_output_log_list(&names, session->repo, session->state.id);

	for (size_t i = 0; i < names.n && rc == 0; i++) {
		const struct ews_artifact_new what = ews_output_log_artifact(session->state.id, names.items[i]);

		if (!is_log_kept(storing, names.items[i]))
			rc = store(storing, &what, 1);
	}
	return rc < 0 ? ews_error_wrap("cannot store what a command printed") : 0;
}

static int store_events(struct storing *storing)
{
	const struct ews_state *state = &storing->session->state;
	EWS_CLEANUP(free) char *name = ews_strfmt("%s-events.log", state->id);
	EWS_CLEANUP(fd) int fd = ews_dir_open_file(storing->session->fd, EVENTS_FILE, O_RDONLY, 0);
	const struct ews_artifact_new what = { .type = EWS_ARTIFACT_LOG,
					       .name = name,
					       .session = state->id,
					       .base = state->base_snapshot,
					       .description = "what happened in the session",
					       .fd = fd,
					       .update = true };
	int rc = fd < 0 ? fd : store(storing, &what, 1);

	if (rc == EWS_ENOTFOUND && fd < 0) {
		ews_error_clear();
		return 0;
	}
	return rc < 0 ? ews_error_wrap("cannot store the log") : 0;
}

static int store_report(struct storing *storing, struct ews_report *report, ews_report_render_fn render)
{
	int rc = ews_report_keep_in(&storing->kept, &storing->registry, report, render);

	if (rc < 0)
		rc = ews_artifact_fail(rc);
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

/* All that the report tells of, and the report. `patch` is what differs as one text, unless the diff has its texts. */
static int store_all(struct storing *storing, struct ews_report *report, const struct ews_buf *patch,
		     const struct ews_farewell_opts *opts)
{
	int rc = ews_artifact_registry_open(&storing->registry, storing->session->repo, NULL);

	if (rc < 0)
		return ews_artifact_fail(rc);
	if (report->diff.n)
		rc = opts->split ? store_split(storing, &report->diff) : store_whole(storing, patch);
	if (rc == 0 && report->diff.n)
		rc = store_tests(storing, &report->diff);
	if (rc == 0)
		rc = store_output(storing);
	if (rc == 0)
		rc = store_events(storing);
	if (rc == 0 && opts->render)
		rc = store_report(storing, report, opts->render);
	return rc < 0 ? rc : ews_artifact_registry_write(&storing->registry);
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
	EWS_CLEANUP(buf) struct ews_buf patch = EWS_BUF_INIT;
	EWS_CLEANUP(storing)
	struct storing storing = { session, EWS_ARTIFACT_REGISTRY_INIT, EWS_ARTIFACTS_INIT };
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
	/* Git writes it before the artifacts are locked: others wait for them. */
	if (report.diff.n && opts->split)
		rc = ews_diff_texts(&report.diff, session->repo);
	else if (report.diff.n)
		rc = ews_diff_collect(&patch, &report.diff, session->repo, NULL, NULL);
	if (rc == 0)
		rc = store_all(&storing, &report, &patch, opts);
	if (rc < 0)
		return rc;
	add_items(out, &storing.kept);
	return 0;
}
