/*
 * Farewell: what a session leaves among the artifacts when it goes.
 *
 *     patches/<session>.patch              what differs from the base; or one a file
 *     generated-tests/<kind>/<test>        the tests that it made (work/harvest)
 *     logs/<session>.log                   what its commands printed (work/output_log)
 *     logs/<session>-events.log            what happened in it, and which git commands were stopped
 *     qr/qr-<date>-<session>.md, .json     the report
 *
 * All of it is stored before anything of the session is taken away. To do it again, after a kill or an undo, stores nothing
 * twice: what is the same stays, and what has become otherwise takes the place of what was there. A session that has
 * nothing to tell (no change, no finding, no command that was stopped) leaves nothing.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_FAREWELL_H
#define EWS_WORK_FAREWELL_H

#include "work/report.h"

struct ews_farewell_opts {
	bool split; /* a patch for each file, not one of all */
	ews_report_render_fn render; /* NULL: no report */
	ews_progress_fn progress; /* of the patch; may be NULL */
	void *payload;
};

struct ews_farewell_item {
	char *id; /* the artifact's */
	enum ews_artifact_type type;
	char *path; /* where its file is */
};

struct ews_farewell {
	struct ews_farewell_item *items;
	size_t n, cap;
};

#define EWS_FAREWELL_INIT { NULL, 0, 0 }

/* What is left to be told of. */
enum ews_farewell_state {
	EWS_FAREWELL_NOW = 1, /* the workspace as it is; `snapshot` is not looked at */
	EWS_FAREWELL_KEPT, /* the workspace as `snapshot` has it */
	EWS_FAREWELL_SAME, /* nothing differs from the base */
	EWS_FAREWELL_GONE, /* there is no workspace any more */
};

/* Do the settings want it? Fails with EWS_ECONFIG. */
int ews_farewell_is_wanted(struct ews_repo *repo);

/* Store what `session`, which is locked, leaves. On failure some of it may be stored, and the session is as it was. */
int ews_farewell_store(struct ews_farewell *out, struct ews_session *session, enum ews_farewell_state state,
		       const char *snapshot, const struct ews_farewell_opts *opts);

/* Store the patch alone: there is one of a session, whose place a newer one takes. `*path` stays NULL when there is nothing to store. */
int ews_farewell_patch(struct ews_artifact *out, char **path, const struct ews_diff *diff,
		       struct ews_session *session);

void ews_farewell_release(struct ews_farewell *farewell);
EWS_CLEANUP_DEFINE(farewell, struct ews_farewell, ews_farewell_release)

#endif
