/*
 * Start: a session's birth.
 *
 * Order on disk: the session's directory with state "starting" (intent); the
 * base's objects; the workspace's files; its index; the base's ref; the worktree
 * entry, written whole beside and renamed in; state "active", which makes it
 * true. A start that is killed before that leaves what `recover` removes.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_START_H
#define EWS_WORK_START_H

#include "base/progress_fn.h"
#include "work/holding.h"
#include "work/ignored.h"
#include "work/session.h"
#include "work/snapshot.h"

struct ews_start_opts {
	const char *id; /* NULL: a new one */
	const struct ews_method *method; /* NULL: worktree in a git project, else snapshot */
	const char *base; /* a revision; NULL: the project as it is */
	const char *from; /* a session or snapshot to begin at, in place of the project; NULL: none (work/chain) */
	int uncommitted; /* -1: as usual (yes without `base`, no with it) */
	int untracked; /* likewise */
	bool force; /* although the project is a home directory or the root of all */
	bool partial;
	enum ews_keep_ignored keep_ignored;
	bool skip_nested; /* --nested=skip */
	bool run_filters; /* files from objects go through the filter programs that the user's config names */
	bool copy_objects; /* an independent copy borrows none */
	const char *intent, *label, *subject;
	const char *in; /* the workspace becomes <in>/<id>; NULL: below home */
	const char *location; /* likewise, for an independent copy, when `in` is not given; NULL: below home */
	enum ews_holding_mode lock; /* 0: as usual, quick, in place deep */
	const char *command; /* what will run in it, for the user's hook; NULL: nothing that is known */
	const char *owner; /* the verb that will be its owner from the first moment; NULL: none */
	const char *const *only; /* only these paths' uncommitted changes come along; NULL: all */
	const struct ews_strv *specs; /* pathspecs, as from ews_pathspec_from_top(), in place of `only` */
	const struct ews_strv *words; /* how the user wrote these */
	ews_progress_fn progress;
	void *payload;
};

struct ews_start_result {
	struct ews_session session;
	struct ews_snapshot base; /* of a chained session what the workspace begins with, which is not what its base holds */
	struct ews_skips skips;
	struct ews_ignored ignored; /* what came along of the ignored files */
	struct ews_strv submodules; /* paths of those that were filled */
	struct ews_strv notes; /* sentences about what did not come along: a rebase under way, filtered files, ... */
};

#define EWS_START_RESULT_INIT { EWS_SESSION_INIT, EWS_SNAPSHOT_INIT, EWS_SKIPS_INIT, EWS_IGNORED_INIT, EWS_STRV_INIT, EWS_STRV_INIT }

/*
 * Start a session. On success `out` has it, still locked. On failure nothing of it is left, but what `recover` then takes back; fails with
 * EWS_EEXISTS when the id is taken, and EWS_EBUSY while somebody holds the repository who does not let us beside him.
 */
int ews_start(struct ews_start_result *out, struct ews_repo *repo, const struct ews_start_opts *opts);
/* Remove all that a start left that did not come to its end: its session is in state "starting". For recover. */
int ews_start_take_back(struct ews_session *session);

void ews_start_result_release(struct ews_start_result *result);
EWS_CLEANUP_DEFINE(start_result, struct ews_start_result, ews_start_result_release)

#endif
