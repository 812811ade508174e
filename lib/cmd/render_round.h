/*
 * Rounds: how one looks to others, as text and as JSON; the section for an agent's instructions.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_CMD_RENDER_ROUND_H
#define EWS_CMD_RENDER_ROUND_H

#include "cmd/cmd.h"
#include "work/round.h"

/* Rounds of which something can't be had, "<round>\t<why>" each: what is lost, and what may be had later, which is not damaged. */
struct ews_round_problems {
	struct ews_strv lost, unread;
};

#define EWS_ROUND_PROBLEMS_INIT { EWS_STRV_INIT, EWS_STRV_INIT }

void ews_round_problems_release(struct ews_round_problems *problems);
EWS_CLEANUP_DEFINE(round_problems, struct ews_round_problems, ews_round_problems_release)

/*
 * The error that is set says why something of the round `id` can't be had: it goes to `out` (NULL: nowhere), as "damaged: " and why, or
 * that it can't be read just now, and to `damaged`.
 */
void ews_render_round_problem(struct ews_buf *out, struct ews_round_problems *damaged, const char *id);

/* "2 file(s) (+5/-1): a.c, b.c"; where that can't be had the problem, as above: what one has lost keeps nobody from the others' work. */
void ews_render_round_summary(struct ews_buf *out, struct ews_round_problems *damaged, struct ews_repo *repo,
			      const struct ews_round *round);

/* "open", "ended", or "gone", when its ref has. */
const char *ews_render_round_state(const struct ews_round *round);

/*
 * Fill `object`: round, state, label, base, commit, branch, totals, files; `with_agent`: and whose it is, which
 * others need not know. Where the changes can't be had they are null, and `damaged` says why. They have no not_in_patch[].
 */
void ews_render_round(cJSON *object, struct ews_round_problems *damaged, struct ews_repo *repo,
		      const struct ews_round *round, bool with_agent);

/* What an agent sees of the team. */
struct ews_render_team {
	const struct ews_round *own; /* the agent's own round; NULL: none */
	const struct ews_round **peers;
	size_t n;
	const struct ews_strv *archives; /* of scratch */
	struct ews_round_problems *damaged; /* gets those whose changes can't be had */
	bool is_private; /* where the agent works git doesn't know the rounds' refs */
};

/* A line for each of the others and the command that shows its work, both behind `indent`. */
void ews_render_peers(struct ews_buf *out, struct ews_repo *repo, const struct ews_render_team *team,
		      const char *indent);
void ews_render_peers_json(cJSON *array, struct ews_repo *repo, const struct ews_render_team *team);

/* The section that an agent's instructions may have: its round's name, the others' work, scratch. */
void ews_render_prompt(struct ews_buf *out, struct ews_repo *repo, const struct ews_render_team *team);

/* Say what the commit and the archive of a round that ended lack, and what else is to be known; `is_one_of_many`: of which round. */
void ews_render_round_end_talk(struct ews_cmd_ctx *ctx, const struct ews_round_end_result *result,
			       bool is_one_of_many);
/* The same, whether there was anything to commit, and what takes the end back, in `object`. */
void ews_render_round_end(cJSON *object, const struct ews_round_end_result *result);

#endif
