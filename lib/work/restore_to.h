/*
 * Restore into a directory: what a snapshot holds, put where it is wanted, then proven.
 *
 * No session is about that, and no undo: what is overwritten is moved aside, within the directory.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_RESTORE_TO_H
#define EWS_WORK_RESTORE_TO_H

#include "work/revert.h"

/*
 * Put what `snapshot` holds, of `opts->only` alone, into `dir`, which is made when missing. What else is there stays. Returns 0 with
 * `out->put.is_verified` set or not, as a revert does. Fails with EWS_EEXISTS when `dir` is not empty, unless `force`: then what is
 * in the way goes to EWS_TRASH_ELSEWHERE in it, and is named.
 */
int ews_restore_to(struct ews_revert_result *out, struct ews_repo *repo, const struct ews_snapshot *snapshot,
		   const char *dir, bool force, const struct ews_revert_opts *opts);

#endif
