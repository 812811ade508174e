/*
 * Finding rounds: by name, by agent, by where one stands; and what one came to.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_ROUND_FIND_H
#define EWS_WORK_ROUND_FIND_H

#include "work/diff.h"
#include "work/round_record.h"

/*
 * The round "ews/<id>", or "<id>", or what no other round's id begins with. Fails with EWS_ENOTFOUND, with EWS_EUSAGE where several do, and
 * as it did before where that round could not be read.
 */
int ews_round_find(const struct ews_round **out, const struct ews_rounds *rounds, const char *name);

/*
 * The agent's round: the one that goes on, else the newest that is over and has its ref; NULL: there is none. Undo may bring one
 * back beside one that was begun since; then it is the newest of these.
 */
const struct ews_round *ews_round_of(const struct ews_rounds *rounds, const char *agent);

/* What others may look at: for each agent but `agent` the newest round that is over, or else the one that goes on. */
void ews_round_peers(const struct ews_round ***out, size_t *n, const struct ews_rounds *rounds, const char *agent);

/*
 * The round that session `id` is, in whatever team; one of another round that can't be read is in nobody's way. Gives EWS_ENOTFOUND,
 * without a sentence, when it is none.
 */
int ews_round_of_session(struct ews_round *out, struct ews_repo *repo, const char *id);

/*
 * The round that `name` means, whatever its team: "ews/<id>", or "ews/" and what no other round's id begins with and git takes for no
 * commit. Returns 1 when it means none. Fails with EWS_EUSAGE where it may mean several, with EWS_ENOTFOUND when the round has gone.
 */
int ews_round_named(struct ews_round *out, struct ews_repo *repo, const char *name);

/*
 * Does git take `name` for a commit? A round is called so only by its whole name then, which that with `id` (NULL: none) is. Returns 1 or
 * 0; where that can't be told just now it fails, for a round that is called by a part of its name is no answer then.
 */
int ews_round_is_revision(struct ews_repo *repo, const char *name, const char *id);

/* The round whose workspace we stand in. Fails with EWS_EUSAGE when it is none. */
int ews_round_here(struct ews_round *out, struct ews_repo *repo);

/* What its ref holds against its base, as records and totals. */
int ews_round_compare(struct ews_diff *out, struct ews_repo *repo, const struct ews_round *round);

/* Is the session `id` a round that goes on? */
bool ews_round_is_session(struct ews_repo *repo, const char *id);

/*
 * Fail with EWS_EUSAGE when it is: its work belongs under the round's name, which the end of the round alone brings there. The
 * hint says that, and `otherwise`.
 */
int ews_round_refuse(struct ews_repo *repo, const char *id, const char *otherwise);

/* Does a record know the round whose ref is `ref`? Returns 1 or 0; fails where the records can't be read. */
int ews_round_is_known(struct ews_repo *repo, const char *ref);

#endif
