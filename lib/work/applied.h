/*
 * What is to be applied, how, and what came of it: see apply.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_APPLIED_H
#define EWS_WORK_APPLIED_H

#include "base/progress_fn.h"
#include "work/hunk.h"
#include "work/merge.h"
#include "work/transition.h"

enum ews_apply_kind {
	EWS_APPLY_SESSION = 1, /* what differs from its base, now or when it ended */
	EWS_APPLY_RANGE, /* what lies between two snapshots or revisions */
	EWS_APPLY_PATCH, /* a patch's bytes */
};

struct ews_apply_source {
	enum ews_apply_kind kind;
	const char *name; /* for people: in markers, messages and the commit's subject */
	const char *session; /* SESSION: an id or prefix; RANGE: whose "now" it is, or NULL for the project's */
	const char *path; /* SESSION: this path alone and what it holds, relative to the workspace; NULL: all */
	const char *from, *to; /* RANGE */
	const char *pending; /* RANGE: the name of the pending result that it is, which is none once all of it was applied; NULL: of none */
	const void *data; /* PATCH */
	size_t len;
};

struct ews_apply_opts {
	const char *const *only; /* NULL-ended paths of the project; NULL: all */
	const struct ews_strv *specs; /* pathspecs, as from ews_pathspec_from_top(), in place of `only`; NULL: all */
	const char *prefix; /* a directory of the project: what is below it alone; NULL: all */
	bool check; /* find out what would be done, and do nothing */
	/* Called for each source: marks the hunks that are wanted, of which there are none yet; NULL: all are. */
	int (*choose)(void *choosing, struct ews_hunks *hunks);
	void *choosing;
	const struct ews_strv *hunk_files; /* paths of the project: `choose` marks hunks of no others; NULL: it may */
	bool three_way; /* a conflict leaves markers instead of being refused */
	bool index; /* stage what is touched as well; fails with EWS_ECONFLICT where the index has it otherwise than the project */
	bool commit; /* and commit it, on the branch that HEAD is on; nothing else may be staged */
	const char *message; /* the commit's; NULL: a sentence that names the sources */
	bool force; /* a conflict is settled as the source has it; what was there is kept */
	ews_progress_fn progress;
	void *payload;
};

struct ews_apply_result {
	struct ews_diff diff; /* from the project as it was to what came, or would come, of it */
	struct ews_merge_result merge; /* conflicts, drift, what was left out */
	struct ews_transition_result put;
	bool is_refused; /* for its conflicts: nothing was changed */
	bool is_staging; /* with --index or --commit, which want no conflicts */
	bool is_of_unknown; /* refused as nobody knows what the patch was made from, by way of which it would be merged */
	struct ews_strv stale; /* of which sessions the project has gone on since they started, and how: sentences */
	char *commit; /* the id of the commit that was made; else NULL */
	bool is_commit_unknown; /* it was made, and nobody can tell which it is: undo leaves the branch alone */
	char *undo; /* the step's id; NULL when nothing was changed */
};

#define EWS_APPLY_RESULT_INIT                                                                             \
	{                                                                                                 \
		.diff = EWS_DIFF_INIT, .merge = EWS_MERGE_RESULT_INIT, .put = EWS_TRANSITION_RESULT_INIT, \
		.stale = EWS_STRV_INIT                                                                    \
	}

void ews_apply_result_release(struct ews_apply_result *result);
EWS_CLEANUP_DEFINE(apply_result, struct ews_apply_result, ews_apply_result_release)

#endif
