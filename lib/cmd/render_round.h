/*
 * Rounds: how one looks to others, as text and as JSON; the section for an agent's instructions.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_CMD_RENDER_ROUND_H
#define EWS_CMD_RENDER_ROUND_H

#include "work/round.h"

/* "2 file(s) (+5/-1): a.c, b.c" */
int ews_render_round_summary(struct ews_buf *out, struct ews_repo *repo, const struct ews_round *round);

/* "open", "ended", or "gone", when its ref has. */
const char *ews_render_round_state(const struct ews_round *round);

/*
 * Fill `object`: round, state, label, base, commit, branch, totals, files; `with_agent`: and whose it is, which
 * others need not know.
 */
int ews_render_round(cJSON *object, struct ews_repo *repo, const struct ews_round *round, bool with_agent);

/* What an agent sees of the team. */
struct ews_render_team {
	const struct ews_round *own; /* the agent's own round; NULL: none */
	const struct ews_round **peers;
	size_t n;
	const struct ews_strv *archives; /* of scratch */
	bool is_private; /* where the agent works git doesn't know the rounds' refs */
};

/* A line for each of the others and the command that shows its work, both behind `indent`. */
int ews_render_peers(struct ews_buf *out, struct ews_repo *repo, const struct ews_render_team *team,
		     const char *indent);
int ews_render_peers_json(cJSON *array, struct ews_repo *repo, const struct ews_render_team *team);

/* The section that an agent's instructions may have: its round's name, the others' work, scratch. */
int ews_render_prompt(struct ews_buf *out, struct ews_repo *repo, const struct ews_render_team *team);

#endif
