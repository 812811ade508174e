/*
 * The refs of a step: moved to trash when that is carried out, and back when it is undone.
 *
 * Each is a line of the step's record, "<old name> <new name> <id>", and may be of a snapshot, an artifact, a round or a pending result.
 * The new name is there before the old one goes: who is killed between leaves both, never none.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_STEP_REFS_H
#define EWS_WORK_STEP_REFS_H

#include <stdbool.h>

#include "store/repo.h"
#include "store/step.h"

/*
 * Rename all refs that `step` moved to trash, or (`back`) out of it again; harmless when already done, wholly or half. Fails
 * with EWS_ENOTFOUND when what one of them led to is gone, with EWS_ESTALE or EWS_EEXISTS when it leads elsewhere by now; the
 * others are renamed all the same. Another commit of the same snapshot, which somebody rewrote or put back, is not elsewhere.
 */
int ews_step_refs_move(struct ews_repo *repo, const struct ews_step *step, bool back);
/* Is what they lead to there? Fails with EWS_ENOTFOUND, naming one that is gone. */
int ews_step_refs_find(struct ews_repo *repo, const struct ews_step *step);
/* Has none of them, under either name, moved since? Fails with EWS_ESTALE, naming one that has. */
int ews_step_refs_check(struct ews_repo *repo, const struct ews_step *step);

/*
 * The two halves of moving them to trash, each as harmless: the new names, which must be durable before the second begins,
 * and the old ones away. While the thread has a sync group (base/sync) each is done with that.
 */
int ews_step_refs_add(struct ews_repo *repo, const struct ews_step *step);
int ews_step_refs_drop(struct ews_repo *repo, const struct ews_step *step);

#endif
