/*
 * Branches: a session's result as an ordinary branch of the project, one commit on the commit that it began with.
 *
 * The commit's files are the workspace's, with the line ends and encodings that git stores; no filter program runs. A
 * file that is only what git makes of the stored one is the stored one; what the session did not look at stays as the
 * commit has it; what git was told not to look at, in the index that the session began with, and is as it was then, is as that
 * index has it. In place, where a session has all files, those that git does not see are not on the branch (work/hidden). Where git's settings say that files tell nothing of modes or links these are as git knew them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_BRANCH_H
#define EWS_WORK_BRANCH_H

#include "work/content.h"

/* What is otherwise on the branch than in the workspace: lines about paths. */
struct ews_branch_notes {
	struct ews_strv unfiltered; /* "<path>\t<filter>" of what is new or changed and would have been given to a program */
	struct ews_strv left_out; /* "<path>\t<reason>" of what is new or changed and is not there */
};

#define EWS_BRANCH_NOTES_INIT { EWS_STRV_INIT, EWS_STRV_INIT }

/*
 * May the branch `name` be made of the session's result? Fails with EWS_EUSAGE on a name that git takes for no branch, and in a
 * plain directory; with EWS_EEXISTS when there is one, or a work tree stands on it that has no commit yet. One that we made of
 * this session, as an end does that is killed later, may be it.
 */
int ews_branch_check(struct ews_session *session, const char *name);

/* Is the branch `name` there, where we put it for an end of this session, as far as can be told? */
bool ews_branch_is_left(const struct ews_session *session, const char *name);

/*
 * Is the ref the branch of a work tree, even of one where nothing is committed yet? To move it would change what is there. With
 * `or_below` also one that has it for its directory. 1 or 0; fails where a HEAD can't be read just now (EWS_EIO).
 */
int ews_branch_is_stood_on(struct ews_repo *repo, const char *ref, bool or_below);

/* Is it the branch of another work tree than the session's workspace? Those of a copy are its own. Fails as above. */
int ews_branch_is_of_another(const struct ews_session *session, const char *ref);

/*
 * A work tree, other than the one that `repo` is seen from, whose HEAD is on the branch `ref`, in words that name it: "the work tree
 * '<path>'". NULL: there is none but what has gone, and isn't locked. The caller frees it. Fails as above.
 */
int ews_branch_other_tree(char **out, struct ews_repo *repo, const char *ref);

/*
 * Write the tree that such a commit has for `content`, which is of the session's workspace and gets the ids of what is
 * stored. In a plain directory that is all of it, as it is. `notes` are added to.
 */
int ews_branch_tree(struct ews_oid *out, struct ews_branch_notes *notes, struct ews_session *session,
		    struct ews_content *content);

/*
 * The same for what the session came to (work/outcome), or, while it is being ended, has in its place. What of that no tree of git's
 * can have is among the `notes` as well.
 */
int ews_branch_outcome_tree(struct ews_oid *out, struct ews_branch_notes *notes, struct ews_session *session);

/*
 * Make it, after ews_branch_check(); no hook runs. `out` is the commit, which is the session's first one when nothing differs.
 * `notes` are added to. One that is there is left as it is if it is the same but for the time; else EWS_EEXISTS.
 */
int ews_branch_make(struct ews_oid *out, struct ews_branch_notes *notes, struct ews_session *session,
		    const char *name);

void ews_branch_notes_release(struct ews_branch_notes *notes);
EWS_CLEANUP_DEFINE(branch_notes, struct ews_branch_notes, ews_branch_notes_release)

#endif
