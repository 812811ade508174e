/*
 * Finding rounds: by name, by agent, by where one stands; and what one came to.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_ROUND_FIND_H
#define EWS_WORK_ROUND_FIND_H

#include "work/diff.h"
#include "work/round_record.h"

/* The round "ews/<id>", or "<id>". Fails with EWS_ENOTFOUND. */
int ews_round_find(const struct ews_round **out, const struct ews_rounds *rounds, const char *name);

/* The agent's newest round that has its ref, open ones included; NULL: there is none. */
const struct ews_round *ews_round_newest(const struct ews_rounds *rounds, const char *agent);

/* What others may look at: for each agent but `agent` the newest round that is over, or else the one that goes on. */
void ews_round_peers(const struct ews_round ***out, size_t *n, const struct ews_rounds *rounds, const char *agent);

/* Whose round the workspace is that we stand in. Fails with EWS_EUSAGE when it is none. The caller frees both. */
int ews_round_here(char **team, char **agent, struct ews_repo *repo);

/* What its ref holds against its base, as records and totals. */
int ews_round_compare(struct ews_diff *out, struct ews_repo *repo, const struct ews_round *round);

/* The agents of `team` whose rounds are not over. */
void ews_rounds_open_agents(struct ews_strv *out, const struct ews_rounds *rounds);

/* Is the session `id` a round that goes on? */
bool ews_round_is_session(struct ews_repo *repo, const char *id);

/*
 * Fail with EWS_EUSAGE when it is: its work belongs under the round's name, which the end of the round alone brings there. The
 * hint says that, and `otherwise`.
 */
int ews_round_refuse(struct ews_repo *repo, const char *id, const char *otherwise);

/* Does a record know the round whose ref is `ref`? */
bool ews_round_is_known(struct ews_repo *repo, const char *ref);

#endif
