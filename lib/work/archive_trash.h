/*
 * Archives that are removed: files renamed into the trash of a step, and back out of it.
 *
 * The step, a "drop", has a line for each in `moved`: "<path>\t<name in trash>", the path absolute and escaped.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_ARCHIVE_TRASH_H
#define EWS_WORK_ARCHIVE_TRASH_H

#include "store/repo.h"
#include "store/step.h"

/*
 * Move archives to the trash of `repo`, as a step that undo takes back; `repo` NULL: delete them. What is
 * not there any more is done.
 */
int ews_archive_remove(struct ews_repo *repo, const struct ews_strv *files);
/*
 * Move all that `step` took away, or (`back`) bring it back; harmless when already done. Bringing back fails with EWS_ENOTFOUND
 * when one of them is gone, or its directory, with EWS_EEXISTS when another file stands in its place; the others come back all
 * the same.
 */
int ews_archive_move_all(struct ews_repo *repo, const struct ews_step *step, bool back);
/* Can all of them come back? Fails with EWS_ENOTFOUND, naming what is gone, or EWS_EEXISTS, naming what stands in the way. */
int ews_archive_find_all(struct ews_repo *repo, const struct ews_step *step);

#endif
