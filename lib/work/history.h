/*
 * History: which commits a workspace's own git directory names, so that a snapshot can hold them.
 *
 * Its HEAD, refs and reflogs go with the workspace. A linked worktree's commits
 * lie in the store; those of a private repository are brought there.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_HISTORY_H
#define EWS_WORK_HISTORY_H

#include "store/gitstate.h"
#include "work/session.h"

/* The commits of the store that the session's own refs and reflogs name, each once; `closed` is that of ews_history_list_ids(). */
int ews_history_commits(struct ews_oids *out, struct ews_strv *closed, const struct ews_session *session);

/*
 * Does it name commits that neither `known`, sorted, nor a ref of the project but ours leads to? They would be gone with it. Returns 1 or
 * 0. What may not be read goes to `closed`, and counts. In place there are none: they are the project's.
 */
int ews_history_has_own(struct ews_strv *closed, const struct ews_session *session, const struct ews_oids *known);

/* Add to `out`, which is sorted then, the commits that `ids` lead to and `known` do not; both in hex. Fails where git can't tell. */
int ews_history_list_beyond(struct ews_oids *out, const struct ews_repo *repo, const struct ews_strv *ids,
			    const struct ews_strv *known);

/* Add to such a list those that `git` is merging, picking or reverting, which only it may name. */
int ews_history_add_merged(struct ews_oids *out, struct ews_repo *repo, const struct ews_gitstate *git);

/*
 * Bring into the store what HEAD, index, refs and reflogs (but for what goes to `closed`, as above) of a private repository name and
 * the store lacks, with all that it leads to; returns 1 when there was something. What the index names besides its entries comes along where it is whole, and so does what refs and
 * reflogs name: what is not whole stays where it is. Nothing happens for other methods. Fails with EWS_EDAMAGED when something is missing of what HEAD stands
 * at, or the index names; of that a partial clone may.
 */
int ews_history_adopt(const struct ews_session *session, struct ews_strv *closed, const struct ews_gitstate *git);

#endif
