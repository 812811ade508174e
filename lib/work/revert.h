/*
 * Revert: put a workspace back, then prove it.
 *
 * The work itself is work/transition's; here is decided what goes where.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_REVERT_H
#define EWS_WORK_REVERT_H

#include "base/progress_fn.h"
#include "work/transition.h"

struct ews_revert_opts {
	const char *to; /* snapshot; NULL: the session's base */
	const char *const *only; /* NULL-ended paths; NULL: all */
	bool git_alone; /* every file stays as it is, and git's own state is put */
	bool full; /* --verify=full: re-read every covered path */
	bool is_redone; /* it was put to that before: what was changed since is named, and a refreshed index is none, as for a transition */
	bool owners; /* owner and group are put back as well, where that is permitted */
	bool dry_run;
	const char *verb; /* "revert" or "restore": what the journal and undo call it */
	ews_progress_fn progress;
	void *payload;
	ews_kept_fn *kept; /* as that of a transition; or NULL */
	void *kept_payload;
};

struct ews_revert_result {
	struct ews_transition_result put;
	struct ews_strv ref_commands; /* in place: what takes back the refs that moved since the start, but for HEAD's branch, which is of the target */
	char *undo; /* the step's id; NULL when nothing was changed or on a dry run */
};

#define EWS_REVERT_RESULT_INIT { .put = EWS_TRANSITION_RESULT_INIT, .ref_commands = EWS_STRV_INIT }

/*
 * Put the session's workspace to `opts->to`. Returns 0 with `out->put.is_verified`
 * set or not (the caller exits 1 when not), or an error when nothing was changed.
 */
int ews_revert(struct ews_revert_result *out, struct ews_session *session, const struct ews_revert_opts *opts);

/*
 * snapshot restore: into the project itself (the session is NULL), where ignored paths
 * and what the snapshot did not look at stay; git's index and HEAD are left alone.
 */
int ews_restore_project(struct ews_revert_result *out, struct ews_repo *repo, const struct ews_snapshot *snapshot,
			const struct ews_revert_opts *opts);

void ews_revert_result_release(struct ews_revert_result *result);
EWS_CLEANUP_DEFINE(revert_result, struct ews_revert_result, ews_revert_result_release)

#endif
