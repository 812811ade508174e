/*
 * Whose: of which work tree of its repository a step of the project is, or of a session that works in place.
 *
 * What is done to "the project" is done to one work tree, while its record lies where all work trees of the repository see it. So
 * it says which: the work tree's path, and its git directory, which stays the same when git moves the work tree. One that was
 * taken out and added anew under the same name is another, which ews_linked_mark() tells.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_WHOSE_H
#define EWS_WORK_WHOSE_H

#include "store/repo.h"
#include "store/step.h"

enum ews_whose {
	EWS_WHOSE_OURS = 1, /* of this work tree; or of none's files: of a session's own workspace, or a drop */
	EWS_WHOSE_ANOTHERS, /* of another one */
	EWS_WHOSE_NOBODYS, /* of one that was taken out of the repository since */
	EWS_WHOSE_UNKNOWN, /* an older version didn't note it, and there are several */
};

enum ews_whose ews_whose(const struct ews_step *step, const struct ews_repo *repo);

/* The step is of this work tree. */
void ews_whose_set(struct ews_step *step, const struct ews_repo *repo);

/* Where its work tree stands now, as far as is known; NULL: it is of none, or nobody knows. The caller frees it. */
char *ews_whose_path(const struct ews_step *step, const struct ews_repo *repo);

#endif
