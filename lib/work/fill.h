/*
 * Filling: the files of a new workspace, put where it was claimed.
 *
 * They come from the project where they still are what was scanned, else from objects; the latter with the line ends and the
 * encoding that git would have given them. Then submodules, from the project's own.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_FILL_H
#define EWS_WORK_FILL_H

#include "base/progress_fn.h"
#include "work/ignored.h"
#include "work/session.h"
#include "work/twin.h"

struct ews_fill_opts {
	bool is_elsewhere; /* the workspace is not below home */
	bool is_state; /* the twin is another workspace's state: its files are as they were there, not as git stores them */
	bool run_filters; /* files from objects go through the filter programs that the user's config names */
	enum ews_keep_ignored keep_ignored;
	ews_progress_fn progress;
	void *payload;
};

struct ews_filled {
	int workspace_fd;
	struct ews_ignored ignored; /* what came along of the ignored files */
	struct ews_skips skips; /* what did not come along */
	struct ews_strv submodules; /* paths of those that were filled */
	bool is_exact; /* no attribute was lost */
};

#define EWS_FILLED_INIT { -1, EWS_IGNORED_INIT, EWS_SKIPS_INIT, EWS_STRV_INIT, false }

/*
 * Make the workspace of `session` and fill it with `twin`, whose entries have the new files' stat data from then on, and
 * whose notes say what is not as one might expect. What a conversion changed is written to `batch` and committed.
 */
int ews_fill(struct ews_filled *out, struct ews_session *session, struct ews_twin *twin, struct ews_batch *batch,
	     const struct ews_fill_opts *opts);

void ews_filled_release(struct ews_filled *filled);
EWS_CLEANUP_DEFINE(filled, struct ews_filled, ews_filled_release)

#endif
