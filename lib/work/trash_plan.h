/*
 * Trash plan: all that trash holds, and what of it is due.
 *
 * It is made without a lock and says how things were then: whoever carries it out looks again under
 * the lock of what goes.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_TRASH_PLAN_H
#define EWS_WORK_TRASH_PLAN_H

#include "base/progress_fn.h"
#include "store/step.h"
#include "work/snapshot.h"

struct ews_trash_result;

struct ews_trash_opts {
	const char *session; /* only what its steps keep; NULL: all */
	bool now; /* whatever its age, and not what is over a limit alone */
	int64_t older_than_s; /* with `now`: only what has been there for that long */
	bool dry_run;
	ews_progress_fn progress;
	void *payload;
};

struct ews_trash_step {
	struct ews_step record;
	bool is_due;
	bool is_mark; /* expired before, and its mark is old as well */
};

/* A directory that holds steps' directories. */
struct ews_trash_root {
	char *path;
	int fd;
	bool is_home; /* nobody but this home's verbs puts something there */
	bool is_named_only; /* other projects put theirs there as well */
};

struct ews_trash_dir {
	char *step_id;
	size_t root;
	const struct ews_trash_step *step; /* NULL: no record names it */
	uint64_t bytes;
	int64_t touched_s;
	bool is_due;
	bool is_condemned; /* nobody finds it any more, and how large it is shows as it goes */
};

struct ews_trash_kept {
	struct ews_snapshot snapshot;
	const char *verb; /* of a step that names it */
	bool is_due;
};

struct ews_trash_record {
	char *name; /* of an ended session */
	uint64_t bytes, entry_bytes;
	int64_t ended_s;
	bool has_entry; /* git's worktree entry, kept beside */
	bool is_due; /* the whole record, not the entry alone */
};

struct ews_trash_plan {
	struct ews_repo *repo;
	const struct ews_trash_opts *opts;
	struct ews_trash_result *out; /* filled as the plan is carried out */
	int64_t now_s, expire_s;
	uint64_t max_bytes;
	struct ews_trash_step *steps;
	size_t n_steps, cap_steps;
	struct ews_strv damaged; /* ids of steps whose record makes no sense */
	struct ews_strv unread; /* "<session>\t<why>": what could not be looked at, and stays; "" is the project itself */
	struct ews_trash_root *roots;
	size_t n_roots, cap_roots;
	struct ews_trash_dir *dirs;
	size_t n_dirs, cap_dirs;
	struct ews_trash_kept *kept;
	size_t n_kept, cap_kept;
	struct ews_strv parents; /* whose children the snapshots are that are not in trash; sorted */
	struct ews_trash_record *records;
	size_t n_records, cap_records;
	struct ews_strv sessions; /* the ids of all that this home knows of, living, ended and retired */
};

/* Where trash lies, and which sessions have ended; a part of ews_trash_plan_make. */
int ews_trash_plan_roots(struct ews_trash_plan *plan);

/*
 * What is there, and what of it `opts` lets go, but for directories that are over the limit. `out->repo` and `out->opts` are
 * set, the rest is empty.
 */
int ews_trash_plan_make(struct ews_trash_plan *out);

/* How large the directories are, which takes a while, and which of them are over the limit. */
void ews_trash_plan_measure(struct ews_trash_plan *plan);

/* The step of that id; NULL: none is recorded. */
struct ews_trash_step *ews_trash_plan_step(const struct ews_trash_plan *plan, const char *id);

void ews_trash_plan_release(struct ews_trash_plan *plan);
EWS_CLEANUP_DEFINE(trash_plan, struct ews_trash_plan, ews_trash_plan_release)

#endif
