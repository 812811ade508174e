/*
 * End: artifacts out, the difference into trash, the registration out, the workspace away.
 *
 * Until all that is to be kept is kept, nothing of the session is touched: what can't be stored keeps it from its end.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_END_H
#define EWS_WORK_END_H

#include "base/progress_fn.h"
#include "work/branch.h"
#include "work/farewell.h"
#include "work/remains_work.h"
#include "work/revert.h"
#include "work/session.h"

struct ews_end_opts {
	bool force; /* although a process uses the workspace */
	bool at_once; /* who uses the workspace is not waited for */
	bool without_base; /* although its base is gone: all of the workspace counts as changed then */
	bool without_tree; /* although its work tree is out of reach, or its files are no work tree any more */
	bool dry_run; /* look, do nothing */
	const char *branch; /* leave the result as this branch, which must be new; NULL: don't */
	bool pending; /* what it came to waits for a decision (work/pending); when nothing differs it ends as ever */
	bool no_revert; /* in place: leave the project as it is */
	/*
	 * The step of an end that was undone, whose ews_end_see() its `after` is, or NULL. In place the project goes back to what that
	 * is, and what was changed since is named; where nothing was it is this very step that is done again, with what it had kept.
	 */
	struct ews_step *redone;
	const struct ews_farewell_opts *artifacts; /* store these first; NULL: none */
	ews_progress_fn progress;
	void *payload;
};

struct ews_end_result {
	bool had_ended; /* it had ended before: nothing was done */
	bool differs; /* from the base */
	bool is_gone; /* somebody had taken the workspace away */
	bool is_git_lost; /* then, whether the repository that was its own went with it */
	enum ews_remains_work gone_work; /* then, whether the kept files have what was committed there */
	bool is_baseless; /* its base is gone, and with it what it could be compared with */
	char *kept_snapshot; /* what differed from the base; NULL when nothing did */
	bool had_damaged_head; /* in that */
	char *branch_commit; /* where the branch is; NULL when none was asked for */
	struct ews_branch_notes branch_notes; /* what is not on it as it stood in the workspace */
	char *pending_name; /* under which it waits for a decision; NULL: it doesn't */
	char *undo; /* the step's id; NULL: nothing is left that could come back */
	struct ews_farewell stored; /* among the artifacts */
	bool has_reverted; /* in place */
	struct ews_revert_result reverted;
	struct ews_strv drift; /* what of the project, or the base itself, changed since the start, a sentence each */
	struct ews_strv skipped; /* "<path>\t<reason>": not in the snapshot, but still in trash */
	struct ews_strv unfiltered; /* "<path>\t<filter>": of a workspace that is gone, in the snapshot as git stores it */
};

#define EWS_END_RESULT_INIT                                                                           \
	{                                                                                             \
		.branch_notes = EWS_BRANCH_NOTES_INIT, .stored = EWS_FAREWELL_INIT,                   \
		.reverted = EWS_REVERT_RESULT_INIT, .drift = EWS_STRV_INIT, .skipped = EWS_STRV_INIT, \
		.unfiltered = EWS_STRV_INIT                                                           \
	}

/*
 * In place the project is reverted first; when that is not verified, the session goes on and `out->reverted` says why.
 * Fails with EWS_EBUSY, naming processes, while one that is not the caller or its ancestor uses the workspace.
 */
int ews_end(struct ews_end_result *out, struct ews_session *session, const struct ews_end_opts *opts);

/*
 * In place, at the undo of an end: what the project is, as a snapshot in trash for a redo to go back to. `*snapshot` is its id, the
 * caller's to free; NULL where nothing differs from the base.
 */
int ews_end_see(char **snapshot, struct ews_session *session, ews_progress_fn progress, void *payload);

/* Could the project not be put back, so that a session in place goes on? */
bool ews_end_is_blocked(const struct ews_end_result *result);

void ews_end_result_release(struct ews_end_result *result);
EWS_CLEANUP_DEFINE(end_result, struct ews_end_result, ews_end_result_release)

#endif
