/*
 * Trash: what verbs took away and kept, and when it goes for good.
 *
 * A step keeps in two ways what it takes away:
 *
 *     <trash>/<step>/               whole directories and files, renamed there
 *     refs/ews/trash/<snapshot>     what was there before, as a snapshot
 *
 * A directory goes after a day; and sooner, the oldest first and never the newest, while all of them hold more
 * than ews.trashMax. The step is marked as emptied before, so that undo knows: it makes from the snapshot what it can, and
 * names the rest. A step goes after ews.trashExpire, with the snapshots that no other one needs: it is marked
 * as expired before. The mark is kept as long again, so that undo can say so. What belongs to an ended session
 * (its record, its kept worktree entry) goes when nothing can bring the session back.
 *
 * What goes is renamed to ".gone-..." first: what a killed call leaves is finished by the next. All of
 * one session goes under its lock, and never what belongs to an unfinished step.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_TRASH_H
#define EWS_WORK_TRASH_H

#include "base/strv.h"
#include "store/repo.h"
#include "work/trash_plan.h"

enum ews_trash_kind {
	EWS_TRASH_DIRECTORY = 1,
	EWS_TRASH_SNAPSHOT,
	EWS_TRASH_SESSION, /* the record of one that can't come back */
	EWS_TRASH_TEMPORARY, /* a file that a killed writer left among the objects; its name is its path */
};

struct ews_trash_item {
	enum ews_trash_kind kind;
	char *name; /* a directory's path, a snapshot's id, a session's name */
	char *verb; /* the step's, where one is known; "" else */
	char *session; /* "" the project's own */
	uint64_t size_bytes; /* what it holds; snapshots share most of it with others */
	int64_t age_s;
};

struct ews_trash_result {
	struct ews_trash_item *items; /* what went, or would; by kind, the oldest first */
	size_t n, cap;
	struct ews_strv kept; /* "<session>\t<why>": what had to stay; "" is the project itself */
	uint64_t object_bytes; /* what the objects take that these snapshots alone hold */
};

#define EWS_TRASH_RESULT_INIT { NULL, 0, 0, EWS_STRV_INIT, 0 }

/* Let go what is due. Fails with EWS_EBUSY while another call is at it. */
int ews_trash_clean(struct ews_trash_result *out, struct ews_repo *repo, const struct ews_trash_opts *opts);

/* Delete what a call that was killed had let go. Nothing else goes; while another call is at it, it does that. */
int ews_trash_sweep(struct ews_repo *repo);

/*
 * Collect the objects that nothing names in a store of our own; in a repository of git's that is git's matter.
 * Fails with EWS_EBUSY while objects are being written.
 */
int ews_trash_collect(struct ews_repo *repo);

void ews_trash_result_release(struct ews_trash_result *result);
EWS_CLEANUP_DEFINE(trash_result, struct ews_trash_result, ews_trash_result_release)

#endif
