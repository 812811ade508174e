/*
 * Head: where the HEAD of a git state stands: at a commit, on a branch that is yet to be born, or nowhere, being damaged.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_HEAD_H
#define EWS_WORK_HEAD_H

#include "store/gitstate.h"
#include "store/repo.h"
#include "work/session.h"

enum ews_head {
	EWS_HEAD_AT_COMMIT = 1,
	EWS_HEAD_UNBORN, /* it names a branch that is not there yet */
	EWS_HEAD_DAMAGED, /* what it says, or its branch, is no commit that the store has; or there is no HEAD */
};

/* What a snapshot's commit says in place of an id. */
#define EWS_HEAD_UNBORN_WORD "unborn"
#define EWS_HEAD_DAMAGED_WORD "damaged"

/*
 * Look for the commit that the HEAD of `git`, the project's, stands at; `out` is none when there is none. `known` (NULL: none)
 * is a commit that is there for certain. Returns an enum ews_head, and leaves no error behind; below zero: that can't be found out now.
 */
int ews_head_find(struct ews_oid *out, struct ews_repo *repo, const struct ews_gitstate *git,
		  const struct ews_oid *known);

/* The same of the session's workspace, whose git directory may have branches of its own. */
int ews_head_find_in(struct ews_oid *out, const struct ews_session *session, const struct ews_gitstate *git,
		     const struct ews_oid *known);

/* The tree of the commit that HEAD stands at, for those who may do without it: it is read when one asks first, and once. */
struct ews_head_tree {
	struct ews_odb *odb;
	const struct ews_oid *head; /* none: there is none */
	struct ews_oid tree;
	bool is_read;
};

/* None where there is none that can be read. What is returned lives in `head_tree`. No error is left behind. */
const struct ews_oid *ews_head_tree_read(struct ews_head_tree *head_tree);

/* The ref of the branch that the HEAD of `git` is on, born or not; NULL when it is on none. The caller frees it. */
char *ews_head_branch(const struct ews_gitstate *git);

/*
 * The ref that this leads to in the end, by symbolic ones, there or not: a commit moves that. NULL as above. The caller frees it. No
 * error is left behind.
 */
char *ews_head_last_ref(struct ews_repo *repo, const struct ews_gitstate *git);

#endif
