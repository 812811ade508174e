/*
 * The plan of an apply: what is to be done to the project, as far as it is known. Read (work/apply_read), merged (work/apply_merge), then
 * put (work/apply_put).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_APPLY_PLAN_H
#define EWS_WORK_APPLY_PLAN_H

#include "work/applied.h"
#include "work/snapshot_earlier.h"

/* What one source did: two states, as entries. */
struct ews_apply_work {
	const struct ews_apply_source *source;
	struct ews_diff diff; /* SESSION, RANGE: its sides and records */
	struct ews_entries from, to; /* PATCH */
	bool is_git; /* git alone says what was done: of modes it knows little */
	struct ews_strv renames; /* old, new, old, new ... */
};

struct ews_apply_plan {
	struct ews_repo *repo;
	const struct ews_apply_opts *opts;
	struct ews_apply_result *out;
	struct ews_batch *batch;
	struct ews_apply_work *works;
	size_t n;
	struct ews_strv own; /* directories of ours in the project */
	struct ews_content known; /* all that the sources speak of: looked at even where it is ignored */
	struct ews_earlier earlier; /* what the project was kept as when it was found last */
};

/* For `n` sources, of which nothing is known yet; `opts`, `out` and `repo` are the caller's, and stay. */
void ews_apply_plan_init(struct ews_apply_plan *out, struct ews_repo *repo, struct ews_apply_result *result,
			 size_t n, const struct ews_apply_opts *opts);
void ews_apply_plan_release(struct ews_apply_plan *plan);
EWS_CLEANUP_DEFINE(apply_plan, struct ews_apply_plan, ews_apply_plan_release)

/* What the work was done to, and what came of it. A patch's is known once it was read. */
const struct ews_entries *ews_apply_before(const struct ews_apply_work *work);
const struct ews_entries *ews_apply_after(const struct ews_apply_work *work);
/* How a path lies to those that the user wants: in one (ews_path_is_inside_any), or above one as well (ews_path_touches_any). */
typedef bool ews_apply_lies_fn(const char *path, const char *const *roots);
/* Does the user want this path of the project, or something of what it is? */
bool ews_apply_is_chosen(const struct ews_apply_plan *plan, const struct ews_apply_work *work, const char *path,
			 ews_apply_lies_fn *lies);
/* Let what is in the batch be durable, and be found. */
int ews_apply_settle(struct ews_apply_plan *plan);

#endif
