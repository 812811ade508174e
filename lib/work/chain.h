/*
 * Chains: a workspace that begins at what another session came to, or at a snapshot.
 *
 *     refs/ews/sessions/<id>        base: what the chain's first session began with
 *          | Ews-Parent
 *     refs/ews/snapshots/<parent>   what this workspace begins with
 *          | Ews-Parent
 *     the state it was taken from
 *
 * So diff, apply and what becomes of the session are cumulative, as though one session had done it all, and 'diff --from
 * parent' is what this one did.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_CHAIN_H
#define EWS_WORK_CHAIN_H

#include "work/snapshot.h"
#include "work/twin.h"

/* The two ends of it, for the session that begins. */
struct ews_chain {
	struct ews_content first; /* what its base holds */
	struct ews_oid first_commit; /* none: nothing was committed */
	struct ews_oid first_head; /* where HEAD stands in its base: where nothing was committed at a commit of ours, or nowhere (none) */
	struct ews_oid head; /* where HEAD stood in what is begun with; none: nowhere */
	char *source; /* the snapshot that it begins at; "": a state that is none */
	char *subject; /* of the parent's snapshot */
	struct ews_snapshot parent; /* that snapshot, once it is kept */
};

#define EWS_CHAIN_INIT { .first = EWS_CONTENT_INIT, .parent = EWS_SNAPSHOT_INIT }

/*
 * Choose what a workspace holds that begins at `from`: a session, as it is now or as it ended, or a snapshot. New objects are durable on
 * return. Fails with EWS_EUSAGE on a commit of git's (`--base` begins there; a plain directory has only this), and as
 * ews_outcome_read().
 */
int ews_chain_choose(struct ews_twin *twin, struct ews_chain *chain, struct ews_repo *repo, const char *from);

/*
 * What is ignored in the project, and not held by what was chosen, becomes what is ignored in `twin`, from which ews_ignored_choose()
 * takes what comes along; what was ignored where it begins stayed there.
 */
int ews_chain_find_ignored(struct ews_twin *twin, struct ews_repo *repo);

/* What came along into `now` is present in the base as well, where that holds nothing there. */
void ews_chain_note_present(struct ews_chain *chain, const struct ews_content *now);

/* Keep the state it begins with as the snapshot `id` of `session`. */
int ews_chain_keep_parent(struct ews_chain *chain, struct ews_batch *batch, struct ews_content *now,
			  const struct ews_session *session, const char *id);

void ews_chain_release(struct ews_chain *chain);
EWS_CLEANUP_DEFINE(chain, struct ews_chain, ews_chain_release)

#endif
