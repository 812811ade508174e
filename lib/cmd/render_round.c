/*
 * Rounds: see render_round.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cmd/render_round.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/path.h"
#include "cmd/render_diff.h"
#include "cmd/render_path.h"
#include "work/round_find.h"
#include "work/rules.h"

#define FILES_SHOWN 3

int ews_render_round_summary(struct ews_buf *out, struct ews_repo *repo, const struct ews_round *round)
{
	EWS_CLEANUP(diff) struct ews_diff diff = EWS_DIFF_INIT;
	int rc;

	rc = ews_round_compare(&diff, repo, round);
	if (rc < 0)
		return rc;
	ews_buf_addf(out, "%zu file(s) (+%" PRIu64 "/-%" PRIu64 ")", diff.n, diff.lines_added, diff.lines_deleted);
	for (size_t i = 0; i < diff.n && i < FILES_SHOWN; i++) {
		ews_buf_adds(out, i ? ", " : ": ");
		ews_path_quote(out, diff.items[i].path);
	}
	if (diff.n > FILES_SHOWN)
		ews_buf_adds(out, ", ...");
	return 0;
}

const char *ews_render_round_state(const struct ews_round *round)
{
	if (round->is_open)
		return "open";
	return ews_oid_is_none(&round->tip) ? "gone" : "ended";
}

int ews_render_round(cJSON *object, struct ews_repo *repo, const struct ews_round *round, bool with_agent)
{
	EWS_CLEANUP(free) char *name = ews_strfmt("ews/%s", round->id);
	EWS_CLEANUP(diff) struct ews_diff diff = EWS_DIFF_INIT;
	char hex[EWS_OID_HEX_MAX];
	int rc;

	ews_render_string(object, "round", name);
	ews_render_string(object, "state", ews_render_round_state(round));
	ews_render_string(object, "label", *round->label ? round->label : round->alias);
	if (with_agent) {
		ews_render_string(object, "agent", round->agent);
		ews_render_string(object, "team", round->team);
	}
	ews_render_string(object, "base", round->base);
	ews_render_string(object, "commit", ews_oid_is_none(&round->tip) ? NULL : ews_oid_hex(hex, &round->tip));
	ews_render_string(object, "branch", round->is_branched ? round->branch : NULL);
	ews_render_time(object, "created_at", round->created_s);
	rc = ews_round_compare(&diff, repo, round);
	return rc < 0 ? rc
		      : ews_render_changes(cJSON_AddObjectToObject(object, "changes"), repo, &diff,
					   EWS_CHANGES_SUMMARY);
}

/* What shows a round's work, where the agent is. */
static char *command_of(const struct ews_round *round, const struct ews_render_team *team)
{
	if (team->is_private)
		return ews_strfmt("git ews round diff ews/%s", round->id);
	return ews_strfmt("git diff %s ews/%s", round->base, round->id);
}

int ews_render_peers(struct ews_buf *out, struct ews_repo *repo, const struct ews_render_team *team,
		     const char *indent)
{
	for (size_t i = 0; i < team->n; i++) {
		const struct ews_round *round = team->peers[i];
		EWS_CLEANUP(free) char *command = command_of(round, team);
		int rc;

		ews_buf_addf(out, "%s%s: ews/%s  ", indent, *round->label ? round->label : round->alias, round->id);
		rc = ews_render_round_summary(out, repo, round);
		if (rc < 0)
			return rc;
		ews_buf_addf(out, "%s\n    %s\n", round->is_open ? "  (at work)" : "", command);
	}
	return 0;
}

int ews_render_peers_json(cJSON *array, struct ews_repo *repo, const struct ews_render_team *team)
{
	for (size_t i = 0; i < team->n; i++) {
		EWS_CLEANUP(free) char *command = command_of(team->peers[i], team);
		EWS_CLEANUP(buf) struct ews_buf summary = EWS_BUF_INIT;
		cJSON *object = cJSON_CreateObject();
		int rc;

		cJSON_AddItemToArray(array, object);
		rc = ews_render_round(object, repo, team->peers[i], false);
		if (rc == 0)
			rc = ews_render_round_summary(&summary, repo, team->peers[i]);
		if (rc < 0)
			return rc;
		ews_json_add_text(object, "summary", summary.ptr, summary.len);
		ews_render_string(object, "command", command);
	}
	return 0;
}

int ews_render_prompt(struct ews_buf *out, struct ews_repo *repo, const struct ews_render_team *team)
{
	int rc;

	ews_buf_adds(out, "## Workspace\n");
	if (team->own && team->own->is_open)
		ews_buf_addf(out,
			     "\nYour work is on `ews/%s`. All changes in this directory are committed there when your "
			     "round ends; you need not commit.\n",
			     team->own->id);
	else if (team->own)
		ews_buf_addf(out, "\nYour last work is on `ews/%s`.\n", team->own->id);
	if (team->n) {
		ews_buf_adds(out, "\nOthers' work, and what shows it:\n");
		rc = ews_render_peers(out, repo, team, "- ");
		if (rc < 0)
			return rc;
	}
	ews_buf_adds(out, "\nScratch: `" EWS_SCRATCH "/` is for experiments and notes, `" EWS_SCRATCH
			  "/verification/` for scripts that check your work. "
			  "It is in no diff and no commit, and is archived when the round ends.\n");
	if (!team->archives->n)
		return 0;
	ews_buf_adds(out, "Look at the scratch of earlier rounds in:\n");
	for (size_t i = 0; i < team->archives->n; i++)
		ews_buf_addf(out, "- %s\n", team->archives->items[i]);
	return 0;
}
