/*
 * Report: see report.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/report.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/path.h"
#include "work/artifact.h"
#include "work/outcome.h"
#include "work/session_lock.h"
#include "work/session_place.h"
#include "work/session_project.h"
#include "work/tripwire.h"
#include "work/tripwire_compare.h"

#define DATE_LEN 10 /* of a stamp: "2026-01-18" */

void ews_report_release(struct ews_report *report)
{
	ews_findings_release(&report->findings);
	ews_strv_release(&report->fixes);
	ews_snapshot_release(&report->base);
	ews_diff_release(&report->diff);
	ews_strv_release(&report->drift);
	for (size_t i = 0; i < report->n_artifacts; i++) {
		free(report->artifacts[i].path);
		free(report->artifacts[i].kind);
	}
	free(report->artifacts);
	ews_session_log_release(&report->log);
	ews_snapshots_release(&report->timeline);
	ews_lineage_release(&report->lineage);
	ews_proof_release(&report->proof);
	ews_strv_release(&report->problems);
}

const char *ews_report_verdict_word(enum ews_report_verdict verdict)
{
	static const char *const words[] = {
		[EWS_REPORT_PASS] = "PASS",
		[EWS_REPORT_CONDITIONAL_PASS] = "CONDITIONAL PASS",
		[EWS_REPORT_FAIL] = "FAIL",
		[EWS_REPORT_UNKNOWN] = "UNKNOWN",
	};

	return words[verdict];
}

/* What went wrong is part of the answer. */
static void note_problem(struct ews_report *out, const char *what)
{
	ews_strv_addf(&out->problems, "%s: %s", what, ews_error_message());
	ews_error_clear();
}

static bool is_ended(const struct ews_report *report)
{
	return report->session->state.state == EWS_STATE_ENDED;
}

/* Critical ones first, each kind in the order in which they came. */
static void sort_findings(struct ews_findings *findings)
{
	EWS_CLEANUP(free) struct ews_finding *sorted = ews_calloc(findings->n + 1, sizeof(*sorted));
	size_t n = 0;

	for (int severity = EWS_SEVERITY_CRITICAL; severity <= EWS_SEVERITY_INFO; severity++)
		for (size_t i = 0; i < findings->n; i++)
			if ((int)findings->items[i].severity == severity)
				sorted[n++] = findings->items[i];
	for (size_t i = 0; i < n; i++)
		findings->items[i] = sorted[i];
}

static enum ews_report_verdict judge(const struct ews_report *report, bool are_known)
{
	if (report->critical)
		return EWS_REPORT_FAIL;
	if (!are_known)
		return EWS_REPORT_UNKNOWN;
	return report->warning ? EWS_REPORT_CONDITIONAL_PASS : EWS_REPORT_PASS;
}

static void gather_findings(struct ews_report *out)
{
	bool are_known = ews_findings_read(&out->findings, out->session) == 0;

	if (!are_known)
		note_problem(out, "findings can't be read");
	if (out->findings.unreadable)
		ews_strv_addf(&out->problems, "%zu more findings could not be read", out->findings.unreadable);
	sort_findings(&out->findings);
	for (size_t i = 0; i < out->findings.n; i++) {
		out->critical += out->findings.items[i].severity == EWS_SEVERITY_CRITICAL;
		out->warning += out->findings.items[i].severity == EWS_SEVERITY_WARNING;
		out->info += out->findings.items[i].severity == EWS_SEVERITY_INFO;
	}
	out->verdict = judge(out, are_known && !out->findings.unreadable);
}

/* A workspace whose link to the store was rewritten is not looked into. */
static int check_workspace(const struct ews_session *session)
{
	EWS_CLEANUP(strv) struct ews_strv tampered = EWS_STRV_INIT;
	int rc = ews_session_tampered(&tampered, session);

	if (rc == 0 && tampered.n)
		rc = ews_error(EWS_EDAMAGED, "'%s' was rewritten", tampered.items[0]);
	return rc;
}

static int compare(struct ews_report *out, const char *to)
{
	struct ews_session *session = out->session;
	struct ews_repo *repo = session->repo;
	const char *base = session->state.base_snapshot;
	int rc = 0;

	if (!to && !is_ended(out))
		rc = check_workspace(session);
	if (rc == 0 && to)
		rc = ews_diff_sides(&out->diff, repo, NULL, base, to);
	else if (rc == 0 && is_ended(out))
		rc = ews_outcome_read(&out->diff, session);
	else if (rc == 0)
		rc = ews_diff_sides(&out->diff, repo, session, NULL, NULL);
	return rc < 0 ? rc : ews_diff_records(&out->diff, repo, NULL);
}

static void gather_changes(struct ews_report *out, const char *to)
{
	const struct ews_diff_side *side = &out->diff.to;
	const char *hash;

	if (ews_snapshot_find(&out->base, out->session->repo, out->session->state.base_snapshot) == 0)
		out->has_base = true;
	else
		note_problem(out, "the base is not known");
	out->has_diff = out->has_base && compare(out, to) == 0;
	if (!out->has_diff) {
		if (out->has_base)
			note_problem(out, "changes are not known");
		return;
	}
	hash = side->is_now ? side->content.hash : side->snapshot.hash;
	if (hash && strlen(hash) < sizeof(out->current_hash))
		memcpy(out->current_hash, hash, strlen(hash) + 1);
}

static void gather_drift(struct ews_report *out)
{
	EWS_CLEANUP(tripwire) struct ews_tripwire before = EWS_TRIPWIRE_INIT;
	EWS_CLEANUP(tripwire) struct ews_tripwire now = EWS_TRIPWIRE_INIT;
	struct ews_repo *project;
	int rc;

	/* What came after the end is none of the session's. */
	if (is_ended(out))
		return;
	rc = ews_tripwire_read(&before, out->session->fd);
	if (rc == 0)
		rc = ews_session_project(&project, out->session);
	if (rc == 0)
		rc = ews_tripwire_take(&now, project);
	if (rc == 0)
		rc = ews_tripwire_compare(&out->drift, &before, &now);
	out->has_drift = rc >= 0;
	if (rc < 0)
		note_problem(out, "whether the project changed is not known");
}

/* Another session may have had the same id. What was added by hand does not say of which of them it is, but when. */
static bool is_of(const struct ews_artifact *artifact, const struct ews_state *state)
{
	if (strcmp(artifact->session, state->id) != 0)
		return false;
	return *artifact->base ? !strcmp(artifact->base, state->base_snapshot)
			       : artifact->created_s >= state->created_s;
}

/* Those of `list` that are the session's, and the patches that its findings suggest, which are among them. */
static void take_artifacts(struct ews_report *out, const struct ews_artifacts *list, const char *place)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct ews_artifact *item = &list->items[i];

		if (!is_of(item, &out->session->state))
			continue;
		EWS_GROW(out->artifacts, out->n_artifacts, out->artifacts_cap);
		out->artifacts[out->n_artifacts++] =
			(struct ews_report_artifact){ ews_path_join(place, item->path),
						      ews_strdup(ews_artifact_type_dir(item->type)),
						      item->size_bytes };
	}
	ews_findings_fixes(&out->fixes, &out->problems, &out->findings, out->session->repo);
}

void ews_report_gather_artifacts(struct ews_report *out)
{
	EWS_CLEANUP(artifacts) struct ews_artifacts list = EWS_ARTIFACTS_INIT;

	if (ews_artifact_list(&list, NULL, out->session->repo) < 0)
		note_problem(out, "artifacts can't be listed");
	take_artifacts(out, &list, list.place ? list.place : "");
}

static void gather_log(struct ews_report *out)
{
	if (ews_session_log_read(&out->log, out->session) < 0)
		note_problem(out, "blocked git commands are not known");
	if (out->log.is_cut)
		ews_strv_add(
			&out->problems,
			"the session's log is longer than what is read of it: there may be more blocked git commands");
	if (out->log.unreadable)
		ews_strv_addf(&out->problems, "%zu lines of the session's log could not be read",
			      out->log.unreadable);
}

/* An older session may have had the same id: its snapshots are older than this one's beginning. */
static void take_snapshots(struct ews_report *out, struct ews_snapshots *list)
{
	const struct ews_state *state = &out->session->state;
	size_t kept = 0;

	for (size_t i = 0; i < list->n; i++) {
		if (list->items[i].created_s < state->created_s && strcmp(list->items[i].id, state->base_snapshot)) {
			list->items[kept++] = list->items[i];
			continue;
		}
		EWS_GROW(out->timeline.items, out->timeline.n, out->timeline.cap);
		out->timeline.items[out->timeline.n++] = list->items[i];
	}
	list->n = kept;
}

static void name_damaged(struct ews_report *out, const struct ews_snapshots *list)
{
	for (size_t i = 0; i < list->damaged.n; i++) {
		const char *line = list->damaged.items[i];
		const char *tab = strchr(line, '\t');

		ews_strv_addf(&out->problems, "the snapshot at '%.*s' can't be read: %s", (int)(tab - line), line,
			      tab + 1);
	}
}

static int find_timeline(struct ews_report *out)
{
	struct ews_repo *repo = out->session->repo;
	const char *id = out->session->state.id;
	EWS_CLEANUP(snapshots) struct ews_snapshots live = EWS_SNAPSHOTS_INIT;
	EWS_CLEANUP(snapshots) struct ews_snapshots trash = EWS_SNAPSHOTS_INIT;
	int rc = ews_snapshot_list(&live, repo, id, 0);

	if (rc == 0)
		rc = ews_snapshot_list(&trash, repo, id, EWS_SNAPSHOTS_IN_TRASH);
	if (rc < 0)
		return rc;
	name_damaged(out, &live);
	name_damaged(out, &trash);
	take_snapshots(out, &live);
	take_snapshots(out, &trash);
	ews_snapshots_sort(&out->timeline);
	rc = ews_lineage_find(&out->lineage, repo, &out->timeline);
	return rc < 0 ? rc : ews_lineage_count(&out->lineage, repo, &out->timeline);
}

static void gather_proof(struct ews_report *out)
{
	int rc = ews_proof_read(&out->proof, out->session);

	out->has_proof = rc > 0;
	if (rc < 0)
		note_problem(out, "what the last revert found is not known");
}

int ews_report_gather(struct ews_report *out, struct ews_session *session, const char *to)
{
	out->session = session;
	out->made_s = ews_clock_now();
	out->is_interrupted = ews_session_is_interrupted(session);
	gather_findings(out);
	gather_changes(out, to);
	gather_drift(out);
	gather_log(out);
	gather_proof(out);
	if (find_timeline(out) == 0)
		return 0;
	note_problem(out, "the timeline is not known");
	ews_lineage_release(&out->lineage);
	ews_snapshots_release(&out->timeline);
	return 0;
}

bool ews_report_is_back(const struct ews_report *report)
{
	return report->has_base && report->has_diff && *report->current_hash &&
	       !strcmp(report->base.hash, report->current_hash);
}

char *ews_report_way_back(const struct ews_report *report)
{
	return ews_strfmt(is_ended(report) || report->is_final ? "git ews undo %s" : "git ews revert %s",
			  report->session->state.id);
}

static int keep_form(struct ews_artifacts *out, struct ews_artifact_registry *registry,
		     const struct ews_report *report, struct ews_artifact_new *what)
{
	what->type = EWS_ARTIFACT_QR;
	what->session = report->session->state.id;
	what->base = report->session->state.base_snapshot;
	what->description = report->is_final ? "the report at the end" : "a report";
	what->update = report->is_final;
	return ews_artifact_add_to(out, registry, what, 1);
}

/* Both have one name: what stands in the way of either is in that of both. */
int ews_report_keep_in(struct ews_artifacts *out, struct ews_artifact_registry *registry, struct ews_report *report,
		       ews_report_render_fn render)
{
	EWS_CLEANUP(buf) struct ews_buf markdown = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf json = EWS_BUF_INIT;
	EWS_CLEANUP(free) char *name = NULL;
	EWS_CLEANUP(free) char *beside = NULL;
	struct ews_artifact_new first = { .sibling = "json" }, second = { .sibling = NULL };
	char stamp[EWS_STAMP_LEN];
	const char *given;
	int rc;

	take_artifacts(report, &registry->list, registry->place.path);
	rc = render(&markdown, &json, report);
	if (rc < 0)
		return rc;
	ews_clock_rfc3339(stamp, report->made_s);
	first.name = name = ews_strfmt("qr-%.*s-%s.md", DATE_LEN, stamp, report->session->state.id);
	first.data = markdown.ptr;
	first.len = markdown.len;
	rc = keep_form(out, registry, report, &first);
	if (rc < 0)
		return rc;
	given = ews_artifact_name(&out->items[out->n - 1]);
	second.name = beside = ews_strfmt("%.*s.json", (int)strlen(given) - 3, given);
	second.data = json.ptr;
	second.len = json.len;
	return keep_form(out, registry, report, &second);
}

int ews_report_keep(struct ews_artifacts *out, struct ews_report *report, ews_report_render_fn render)
{
	EWS_CLEANUP(artifact_registry) struct ews_artifact_registry registry = EWS_ARTIFACT_REGISTRY_INIT;
	int rc = ews_artifact_registry_open(&registry, report->session->repo, NULL);

	if (rc == 0)
		rc = ews_report_keep_in(out, &registry, report, render);
	if (rc == 0)
		rc = ews_artifact_registry_write(&registry);
	return rc < 0 ? ews_artifact_fail(rc) : 0;
}
