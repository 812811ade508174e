/*
 * The HEAD of a workspace that is to be as it was: at the commit that it stood at, whatever became of its branch.
 *
 * A workspace's branches are not part of its state: a linked worktree has the project's, and those of a copy may be all that names
 * an agent's commits. So where the branch has gone on, is gone, or is another work tree's by now, HEAD is put on none; there the index would
 * be compared with another commit, and the next one would take back what that holds, have no parent, or move somebody else's branch.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_HEAD_SETTLE_H
#define EWS_WORK_HEAD_SETTLE_H

#include "store/gitstate.h"
#include "work/session.h"

/* How it stood. */
struct ews_head_was {
	const struct ews_oid *commit; /* none: nothing had been committed, or it was damaged */
	bool is_damaged;
};

/*
 * Does the HEAD of `git`, a state that the session's workspace had, lead elsewhere by now? The enum ews_head that says how it stands, or
 * 0; fails where that can't be read just now.
 */
int ews_head_leads_elsewhere(const struct ews_session *session, const struct ews_gitstate *git,
			     const struct ews_head_was *was);

/*
 * Where it does, or its branch is another's by now, let it stand at that commit, and add a sentence to `said`; where there was none it is
 * on a new branch, whose name ends with `mark`. Returns 1 when it was changed, 0 when it holds; fails as above.
 */
int ews_head_settle(struct ews_gitstate *git, struct ews_strv *said, const struct ews_session *session,
		    const struct ews_head_was *was, const char *mark);

#endif
