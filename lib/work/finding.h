/*
 * Findings: what somebody who looked at a session's work has to say of it.
 *
 *     sessions/<id>/findings.json       {"version": 1, "unreadable": 0, "findings": [...]}
 *     <home>/tmp/<hash>/.ews-findings   those of a command that the kernel holds: a line of JSON each
 *
 * A command inside `run` can't write the session's records, so what it has to say waits among its temporary files until
 * `run` takes it over, or whoever writes findings next. Readers see both. It can add findings in this way, and change none:
 * an id that is taken is nobody else's. What is no finding is counted, so that nobody calls the list whole.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_FINDING_H
#define EWS_WORK_FINDING_H

#include "work/session.h"

#define EWS_FINDING_TITLE_MAX 1000
#define EWS_FINDING_DESCRIPTION_MAX (64 * EWS_KIB)
#define EWS_FINDING_FILE_MAX (4 * EWS_KIB)
#define EWS_FINDING_FIX_MAX EWS_MIB

enum ews_severity {
	EWS_SEVERITY_CRITICAL = 1,
	EWS_SEVERITY_WARNING,
	EWS_SEVERITY_INFO,
};

struct ews_finding {
	char *id; /* "finding-1a2b3c4d" */
	enum ews_severity severity;
	char *title;
	char *description; /* "" */
	char *file; /* seen from the workspace's top, or "" */
	unsigned line; /* 0: none */
	char *fix; /* a patch that waits to be stored; else "" */
	char *fix_name; /* the patch's file name among the artifacts' patches, or "" */
	int64_t created_s;
};

struct ews_findings {
	struct ews_finding *items; /* in the order in which they came */
	size_t n, cap;
	size_t unreadable; /* so many more there were that could not be read */
};

#define EWS_FINDINGS_INIT { NULL, 0, 0, 0 }

/* "critical", "warning", "info". Of a word that is none: EWS_EUSAGE. */
const char *ews_severity_word(enum ews_severity severity);
int ews_severity_read(enum ews_severity *out, const char *word);

/* All of a session. Fails with EWS_EDAMAGED when its record can't be read. */
int ews_findings_read(struct ews_findings *out, const struct ews_session *session);

/*
 * The patch of each, as it is now among the artifacts: anybody may have been there. "" is that of a finding without one, and what
 * can't be read, of which `problems` (may be NULL) gets a sentence.
 */
void ews_findings_fixes(struct ews_strv *out, struct ews_strv *problems, const struct ews_findings *findings,
			struct ews_repo *repo);

/*
 * Add `finding`, whose id, fix_name and time are not looked at; its id is given to `id`, which the caller frees.
 * The fix is stored among the artifacts. Takes the session's lock; where the session's records can't be written, the
 * finding waits as above. Fails with EWS_EUSAGE on what is too long or empty.
 */
int ews_finding_add(char **id, struct ews_session *session, const struct ews_finding *finding);

/* Take over what waits. The session must be locked. */
int ews_findings_collect(struct ews_session *session);

void ews_findings_release(struct ews_findings *findings);
EWS_CLEANUP_DEFINE(findings, struct ews_findings, ews_findings_release)

#endif
