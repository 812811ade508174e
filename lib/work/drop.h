/*
 * Drop: a step that moves things to trash, all of them or none.
 *
 * Its record is written first, and again when all is done. What can't be moved, all of it, stays where it was: a step that is left
 * half done keeps others from theirs.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_DROP_H
#define EWS_WORK_DROP_H

#include "store/repo.h"
#include "store/step.h"

/* Move what `step` names to trash, or `back`; what is there already is there. */
typedef int (*ews_drop_move_fn)(struct ews_repo *repo, const struct ews_step *step, bool back);

/*
 * Carry out `step`, which has its id and its lines, under the project's lock. When it fails nothing has moved, unless it can't
 * be moved back either: then the record stays for recover.
 */
int ews_drop(struct ews_repo *repo, struct ews_step *step, ews_drop_move_fn move);

#endif
