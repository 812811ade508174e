/*
 * Apply: the work comes home, into the project, all or nothing.
 *
 * What a session, two snapshots or a patch say was done is done to the present project (work/merge); the tree that
 * comes of it is kept as a snapshot in trash, and put over the paths that differ as a step like any other (work/transition):
 * what was there is kept first, undo and redo turn it, recover finishes it. Other paths, HEAD and
 * git's index stay as they are, but where the index or a commit is asked for.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_APPLY_H
#define EWS_WORK_APPLY_H

#include "work/applied.h"

/*
 * Apply `n` sources one after the other. Returns 0 also when `out->is_refused`. Fails with EWS_EDAMAGED on what
 * is no patch, EWS_EDENIED on one that leads outside, EWS_ENOTFOUND on a path that is asked for and is nowhere, EWS_ESTALE when the project changes meanwhile, EWS_EINTERRUPTED
 * while a step of the project waits for recover; then the project is as it was.
 */
int ews_apply(struct ews_apply_result *out, struct ews_repo *repo, const struct ews_apply_source *sources, size_t n,
	      const struct ews_apply_opts *opts);

#endif
