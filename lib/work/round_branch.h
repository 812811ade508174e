/*
 * Round branches: a round's work as an ordinary branch, where its start asked for one.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_ROUND_BRANCH_H
#define EWS_WORK_ROUND_BRANCH_H

#include "work/round_record.h"

/* May a branch be called `label`? Fails with EWS_EUSAGE, also in a plain directory; with EWS_EEXISTS where it finds no room. */
int ews_round_branch_check(struct ews_repo *repo, const char *label);

/*
 * Make the branch that the round's label asks for at its tip: under that name, or, when there is such a branch or somebody stands
 * on it, as "<label>-<round>". No session calls that drift. Nothing happens without a label, or when it is made.
 */
int ews_round_branch_make(struct ews_round *round, struct ews_session *session);

/* Delete the branch that was made with the round just now, unless somebody has moved it or stands on it. */
int ews_round_branch_take_back(const struct ews_round *round, struct ews_repo *repo);

/*
 * Move it from where we put it to the round's tip, unless somebody has moved it, removed it, or stands on it: then `notes` say so.
 * Where we put it says the round's record; what older versions wrote does not, and then it is `base`, or the ref's last place `was`.
 */
int ews_round_branch_follow(struct ews_strv *notes, struct ews_round *round, struct ews_session *session,
			    const struct ews_oid *base, const struct ews_oid *was);

#endif
