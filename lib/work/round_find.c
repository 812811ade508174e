/*
 * Finding rounds: see round_find.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/round_find.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/str.h"

static int fail_of_several(const char *name, const char *list)
{
	ews_error(EWS_EUSAGE, "'%.80s' may mean several rounds", name);
	ews_error_hint("one of %s", list);
	return EWS_EUSAGE;
}

int ews_round_find(const struct ews_round **out, const struct ews_rounds *rounds, const char *name)
{
	const char *rest = ews_str_after(name, "ews/"), *id = rest ? rest : name;
	EWS_CLEANUP(buf) struct ews_buf list = EWS_BUF_INIT;
	const struct ews_error_saved *why = NULL;
	const struct ews_round *found = NULL;
	size_t n = 0;

	/* All ids have one length: that of one round begins no other's. */
	for (size_t i = 0; i < rounds->n && *id; i++) {
		if (!rounds->items[i].is_settled || !ews_str_begins(rounds->items[i].id, id))
			continue;
		found = &rounds->items[i];
		ews_buf_addf(&list, "%sews/%s", n++ ? ", " : "", found->id);
	}
	for (size_t i = 0; i < rounds->n_unread && *id; i++) {
		if (!ews_str_begins(rounds->unread[i].id, id))
			continue;
		why = &rounds->unread[i].why;
		ews_buf_addf(&list, "%sews/%s", n++ ? ", " : "", rounds->unread[i].id);
	}
	if (n > 1)
		return fail_of_several(name, list.ptr);
	if (why)
		return ews_error_repeat(why);
	if (found) {
		*out = found;
		return 0;
	}
	ews_error(EWS_ENOTFOUND, "no round '%.80s'", name);
	ews_error_hint("'git ews round list' shows the team's rounds");
	return EWS_ENOTFOUND;
}

/* The agent's newest round of those that go on, or of those that are over and have their ref. */
static const struct ews_round *find_newest(const struct ews_rounds *rounds, const char *agent, bool is_open)
{
	for (size_t i = rounds->n; i > 0; i--) {
		const struct ews_round *round = &rounds->items[i - 1];

		if (!strcmp(round->agent, agent) && round->is_settled && round->is_open == is_open &&
		    (is_open || !ews_oid_is_none(&round->tip)))
			return round;
	}
	return NULL;
}

const struct ews_round *ews_round_of(const struct ews_rounds *rounds, const char *agent)
{
	const struct ews_round *round = find_newest(rounds, agent, true);

	return round ? round : find_newest(rounds, agent, false);
}

/* The agent's newest round that is over, or, when none is, the one that goes on. */
static const struct ews_round *newest_result(const struct ews_rounds *rounds, const char *agent)
{
	const struct ews_round *round = find_newest(rounds, agent, false);

	return round ? round : find_newest(rounds, agent, true);
}

static int cmp_by_alias(const void *a, const void *b)
{
	const struct ews_round *x = *(const struct ews_round *const *)a, *y = *(const struct ews_round *const *)b;
	size_t x_len = strlen(x->alias), y_len = strlen(y->alias);

	/* agent10 behind agent9 */
	if (x_len != y_len)
		return x_len < y_len ? -1 : 1;
	return strcmp(x->alias, y->alias);
}

void ews_round_peers(const struct ews_round ***out, size_t *n, const struct ews_rounds *rounds, const char *agent)
{
	EWS_CLEANUP(strv) struct ews_strv agents = EWS_STRV_INIT;

	for (size_t i = 0; i < rounds->n; i++)
		if (strcmp(rounds->items[i].agent, agent) != 0)
			ews_strv_add(&agents, rounds->items[i].agent);
	ews_strv_unique(&agents);
	*out = ews_calloc(agents.n + 1, sizeof(**out));
	*n = 0;
	for (size_t i = 0; i < agents.n; i++) {
		const struct ews_round *round = newest_result(rounds, agents.items[i]);

		if (round && !ews_oid_is_none(&round->tip))
			(*out)[(*n)++] = round;
	}
	qsort(*out, *n, sizeof(**out), cmp_by_alias);
}

int ews_round_of_session(struct ews_round *out, struct ews_repo *repo, const char *id)
{
	EWS_CLEANUP(strv) struct ews_strv teams = EWS_STRV_INIT;
	int rc = ews_round_is_id(id) ? ews_round_teams(&teams, repo) : EWS_ENOTFOUND;

	for (size_t i = 0; i < teams.n && rc == 0; i++) {
		rc = ews_round_read(out, repo, teams.items[i], id);
		if (rc == 0)
			return 0;
		if (rc == EWS_ENOTFOUND) {
			ews_error_clear();
			rc = 0;
		}
	}
	return rc < 0 ? rc : EWS_ENOTFOUND;
}

int ews_round_is_revision(struct ews_repo *repo, const char *name, const char *id)
{
	const char *rest = ews_str_after(name, "ews/");
	EWS_CLEANUP(error_saved) struct ews_error_saved saved = EWS_ERROR_SAVED_INIT;
	struct ews_oid oid;
	int rc;

	if (repo->is_plain || *name == '-' || (id && !strcmp(rest ? rest : name, id)))
		return 0;
	ews_error_save(&saved);
	rc = ews_odb_resolve_commit(&oid, repo->odb, name);
	if (rc < 0 && rc != EWS_ENOTFOUND)
		return rc;
	(void)ews_error_restore(&saved);
	return rc == 0;
}

int ews_round_named(struct ews_round *out, struct ews_repo *repo, const char *name)
{
	EWS_CLEANUP(strv) struct ews_strv ids = EWS_STRV_INIT;
	EWS_CLEANUP(buf) struct ews_buf list = EWS_BUF_INIT;
	EWS_CLEANUP(round) struct ews_round round = { 0 };
	const char *begin = ews_str_after(name, "ews/"), *id = NULL;
	size_t n = 0;
	int rc = begin && *begin ? ews_round_ids(&ids, repo) : 1;

	for (size_t i = 0; i < ids.n && rc == 0; i++) {
		if (!ews_str_begins(ids.items[i], begin))
			continue;
		id = ids.items[i];
		ews_buf_addf(&list, "%sews/%s", n++ ? ", " : "", id);
	}
	if (rc == 0)
		rc = n ? ews_round_is_revision(repo, name, id) : 1;
	if (rc != 0)
		return rc;
	if (n > 1)
		return fail_of_several(name, list.ptr);
	rc = ews_round_of_session(&round, repo, id);
	/* A start that is under way, or was killed, or a record that has just gone. */
	if (rc == EWS_ENOTFOUND || (rc == 0 && !round.is_settled)) {
		ews_error_clear();
		return 1;
	}
	if (rc == 0 && !round.is_open && ews_oid_is_none(&round.tip))
		return ews_error(EWS_ENOTFOUND, "the round 'ews/%s' has gone", round.id);
	if (rc < 0)
		return rc;
	*out = round;
	round = (struct ews_round){ 0 };
	return 0;
}

int ews_round_here(struct ews_round *out, struct ews_repo *repo)
{
	int rc = repo->here ? ews_round_of_session(out, repo, repo->here) : EWS_ENOTFOUND;

	if (rc == EWS_ENOTFOUND) {
		ews_error(EWS_EUSAGE, "which agent's round is not said");
		ews_error_hint("name the agent with --agent, or stand in the workspace of a round");
		return EWS_EUSAGE;
	}
	return rc;
}

bool ews_round_is_session(struct ews_repo *repo, const char *id)
{
	EWS_CLEANUP(round) struct ews_round round = { 0 };
	int rc = ews_round_of_session(&round, repo, id);
	/* Where its record can't be read it is not taken for a mere session, which others may end. */
	bool is = rc == 0 ? round.is_open : rc != EWS_ENOTFOUND;

	ews_error_clear();
	return is;
}

int ews_round_refuse(struct ews_repo *repo, const char *id, const char *otherwise)
{
	if (!ews_round_is_session(repo, id))
		return 0;
	ews_error(EWS_EUSAGE, "'%s' is the workspace of the round 'ews/%s'", id, id);
	ews_error_hint("'git -C \"$(git ews path %s)\" ews round end' keeps its work under that name%s", id,
		       otherwise);
	return EWS_EUSAGE;
}

int ews_round_is_known(struct ews_repo *repo, const char *ref)
{
	EWS_CLEANUP(round) struct ews_round round = { 0 };
	int rc = ews_round_of_session(&round, repo, ref + strlen(EWS_REF_ROUNDS));

	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		return 0;
	}
	return rc < 0 ? rc : 1;
}

int ews_round_compare(struct ews_diff *out, struct ews_repo *repo, const struct ews_round *round)
{
	char hex[EWS_OID_HEX_MAX];
	const char *tip = ews_oid_is_none(&round->tip) ? round->base : ews_oid_hex(hex, &round->tip);
	int rc = ews_diff_trees(out, repo, round->base, tip);

	return rc < 0 ? rc : ews_diff_records(out, repo, NULL);
}
