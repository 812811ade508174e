/*
 * Report: what happened in a session, gathered as one struct.
 *
 * Nothing that is asked of it is left out in silence: what could not be found out is among the problems, in a sentence. It is
 * shown elsewhere (cmd/render_report); where it is kept as files, each form is made of the same struct.
 *
 *     <artifacts>/qr/qr-<date>-<session>.md and .json
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_REPORT_H
#define EWS_WORK_REPORT_H

#include "work/artifact.h"
#include "work/diff.h"
#include "work/finding.h"
#include "work/lineage.h"
#include "work/proof.h"
#include "work/session_log.h"

enum ews_report_verdict {
	EWS_REPORT_PASS = 1,
	EWS_REPORT_CONDITIONAL_PASS, /* a warning */
	EWS_REPORT_FAIL, /* a critical finding */
	EWS_REPORT_UNKNOWN, /* there are findings that can't be read, and none that makes it fail anyway */
};

/* What of the artifacts is the session's. */
struct ews_report_artifact {
	char *path;
	char *kind; /* the directory: "patches" */
	uint64_t size_bytes;
};

struct ews_report {
	struct ews_session *session; /* borrowed */
	int64_t made_s;
	bool is_interrupted;
	bool is_final; /* the session is about to end */
	enum ews_report_verdict verdict;
	size_t critical, warning, info;
	struct ews_findings findings; /* critical ones first */
	struct ews_strv fixes; /* the text of each finding's fix; "" where there is none to show */
	struct ews_snapshot base;
	bool has_base;
	struct ews_diff diff; /* from the base to the present state; of an ended session to what it left */
	bool has_diff;
	struct ews_strv drift; /* what of the project changed since the start, a sentence each */
	bool has_drift; /* it was looked at */
	struct ews_report_artifact *artifacts;
	size_t n_artifacts, artifacts_cap;
	struct ews_session_log log;
	struct ews_snapshots timeline; /* oldest first, those in trash as well */
	struct ews_lineage lineage;
	struct ews_proof proof; /* of the last revert */
	bool has_proof;
	char current_hash[EWS_TREE_HASH_LEN]; /* of what the diff leads to; "" when that is not known */
	struct ews_strv problems; /* what could not be found out, and why */
};

#define EWS_REPORT_INIT { .drift = EWS_STRV_INIT, .problems = EWS_STRV_INIT, .fixes = EWS_STRV_INIT, .diff = EWS_DIFF_INIT }

/* "PASS", "CONDITIONAL PASS", "FAIL", "UNKNOWN" */
const char *ews_report_verdict_word(enum ews_report_verdict verdict);

/* Gather all but what is among the artifacts. `to` is the snapshot that stands for the present state; NULL: the workspace is looked at. */
int ews_report_gather(struct ews_report *out, struct ews_session *session, const char *to);

/* Add what is among the artifacts: which of them are the session's, and its findings' fixes. To keep the report does so. */
void ews_report_gather_artifacts(struct ews_report *out);

/* Is what the session has now, or left, the same as its base, as far as its files go? */
bool ews_report_is_back(const struct ews_report *report);

/* The command that brings the session's files back to where they were; the caller frees it. */
char *ews_report_way_back(const struct ews_report *report);

/* Both forms of it. */
typedef int (*ews_report_render_fn)(struct ews_buf *markdown, struct ews_buf *json, const struct ews_report *report);

/*
 * Keep it among the artifacts: `out` gets the Markdown, then the JSON. Nothing is overwritten, but that a final one takes the place
 * of an earlier final one.
 */
int ews_report_keep(struct ews_artifacts *out, struct ews_report *report, ews_report_render_fn render);
/* The same in a registry that is open, as ews_artifact_add_to(). */
int ews_report_keep_in(struct ews_artifacts *out, struct ews_artifact_registry *registry, struct ews_report *report,
		       ews_report_render_fn render);

void ews_report_release(struct ews_report *report);
EWS_CLEANUP_DEFINE(report, struct ews_report, ews_report_release)

#endif
