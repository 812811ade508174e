/*
 * Rounds: see round.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/round.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/str.h"
#include "store/commit.h"
#include "work/branch.h"
#include "work/drop.h"
#include "work/remains_work.h"
#include "work/round_branch.h"
#include "work/round_find.h"
#include "work/rules.h"
#include "work/scratch.h"
#include "work/session_lock.h"
#include "work/session_name.h"
#include "work/session_open.h"
#include "work/session_place.h"
#include "work/step_refs.h"

#define COMMIT_SUBJECT "[ROUND] Auto-commit\n"
#define BASE_SUBJECT "[BASELINE] The project as it was\n"
#define LOCK_WAIT_MS 30000

void ews_round_start_result_release(struct ews_round_start_result *result)
{
	ews_round_release(&result->round);
	ews_start_result_release(&result->started);
	free(result->removed);
	ews_round_end_result_release(&result->ended);
	*result = (struct ews_round_start_result)EWS_ROUND_START_RESULT_INIT;
}

void ews_round_end_result_release(struct ews_round_end_result *result)
{
	ews_round_release(&result->round);
	ews_end_result_release(&result->ended);
	ews_strv_release(&result->left_out);
	ews_strv_release(&result->notes);
	*result = (struct ews_round_end_result)EWS_ROUND_END_RESULT_INIT;
}

/* ---- locks ---- */

static int lock_agent(struct ews_lock *out, struct ews_repo *repo, const char *team, const char *agent,
		      const char *verb)
{
	EWS_CLEANUP(free) char *name = ews_strfmt("round:%s:%s", team, agent);
	int rc = ews_repo_lock(out, repo, name, verb, 0);

	return rc < 0 ? ews_error_wrap("agent '%s'", agent) : 0;
}

/* ---- start ---- */

/* Has anything that name, a round, a session or a ref? Returns 1 or 0; fails where that can't be looked up. */
static int is_taken(struct ews_repo *repo, const char *id)
{
	EWS_CLEANUP(free) char *ref = ews_strfmt(EWS_REF_ROUNDS "%s", id);
	EWS_CLEANUP(free) char *trashed = ews_strfmt(EWS_REF_TRASH_ROUNDS "%s", id);
	EWS_CLEANUP(free) char *session = NULL;
	struct ews_oid oid;
	int rc = ews_odb_ref_read(&oid, repo->odb, ref);

	if (rc == EWS_ENOTFOUND)
		rc = ews_odb_ref_read(&oid, repo->odb, trashed);
	if (rc == EWS_ENOTFOUND)
		rc = ews_session_resolve(&session, repo, id);
	if (rc == 0)
		return 1;
	if (rc != EWS_ENOTFOUND)
		return rc;
	ews_error_clear();
	return ews_round_is_known(repo, ref);
}

/* A name that nothing has. */
static int choose_id(char **out, struct ews_repo *repo)
{
	uint8_t random[EWS_ROUND_ID_LEN / 2];
	char hex[EWS_ROUND_ID_LEN + 1];
	int rc;

	do {
		ews_clock_random(random, sizeof(random));
		ews_hex(hex, random, sizeof(random));
		rc = is_taken(repo, hex);
	} while (rc > 0);
	if (rc < 0)
		return ews_error_wrap("cannot find a name for the round");
	*out = ews_strdup(hex);
	return 0;
}

/* Claim what others will call the agent, and its place in the order. */
static int record(struct ews_round *out, struct ews_repo *repo, const struct ews_round_start_opts *opts)
{
	EWS_CLEANUP(free) char *name = ews_strfmt("round:%s", opts->team);
	EWS_CLEANUP(rounds) struct ews_rounds rounds = EWS_ROUNDS_INIT;
	EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;
	EWS_CLEANUP(free) char *id = NULL;
	int rc = ews_repo_lock(&lock, repo, name, "round start", LOCK_WAIT_MS);

	if (rc == 0)
		rc = ews_rounds_read(&rounds, repo, opts->team);
	if (rc == 0)
		rc = choose_id(&id, repo);
	if (rc < 0)
		return rc;
	*out = (struct ews_round){ .id = ews_steal(&id),
				   .team = ews_strdup(opts->team),
				   .agent = ews_strdup(opts->agent),
				   .alias = ews_round_alias(&rounds, opts->agent),
				   .label = ews_strdup(opts->label ? opts->label : ""),
				   .branch = ews_strdup(""),
				   .archive = ews_strdup(""),
				   .base = ews_strdup(""),
				   .sequence = rounds.n ? rounds.items[rounds.n - 1].sequence + 1 : 1,
				   .created_s = ews_clock_now() };
	return ews_round_write(repo, out);
}

static int write_commit(struct ews_oid *out, struct ews_repo *repo, const struct ews_oid *tree,
			const struct ews_oid *parent, int64_t time_s, const char *message)
{
	EWS_CLEANUP(batch) struct ews_batch *batch = ews_batch_new(repo->odb);
	const struct ews_oid *parents[2] = { ews_oid_is_none(parent) ? NULL : parent, NULL };
	int rc = ews_commit_write(out, batch, tree, parents, time_s, message);

	if (rc == 0)
		rc = ews_batch_commit(batch);
	return rc < 0 ? rc : ews_odb_refresh(repo->odb);
}

/*
 * The commit that the round's work is compared with. It has nothing in it of this round or this moment, so that rounds of one
 * state have one base.
 */
static int make_base(struct ews_oid *out, struct ews_session *session)
{
	struct ews_repo *repo = session->repo;
	EWS_CLEANUP(branch_notes)
	struct ews_branch_notes notes = EWS_BRANCH_NOTES_INIT; /* told when the round ends */
	EWS_CLEANUP(snapshot) struct ews_snapshot base = EWS_SNAPSHOT_INIT;
	EWS_CLEANUP(content) struct ews_content content = EWS_CONTENT_INIT;
	EWS_CLEANUP(commit) struct ews_commit first = EWS_COMMIT_INIT;
	struct ews_oid commit = EWS_OID_NONE, tree;
	int rc = ews_snapshot_base(&base, session);

	if (rc == 0 && *session->state.base_commit)
		rc = ews_oid_parse(&commit, session->state.base_commit);
	if (rc == 0 && !ews_oid_is_none(&commit))
		rc = ews_odb_read_commit(&first, repo->odb, &commit);
	if (rc < 0)
		return rc;
	*out = commit;
	/* What is staged of what did not come along is in the index alone, and no work of the round's. */
	if (!ews_oid_is_none(&commit) && ews_oid_equal(&first.tree, &base.tree) && !base.unseen)
		return 0;
	rc = ews_snapshot_content(&content, repo, &base);
	if (rc == 0)
		rc = ews_branch_tree(&tree, &notes, session, &content);
	if (rc < 0 || (!ews_oid_is_none(&commit) && ews_oid_equal(&first.tree, &tree)))
		return rc;
	return write_commit(out, repo, &tree, &commit, first.time, BASE_SUBJECT);
}

static int parse_base(struct ews_oid *out, const struct ews_round *round)
{
	*out = (struct ews_oid)EWS_OID_NONE;
	return *round->base ? ews_oid_parse(out, round->base) : 0;
}

/* A session that nobody has worked in yet. */
static int end_unused(struct ews_session *session)
{
	EWS_CLEANUP(end_result) struct ews_end_result ended = EWS_END_RESULT_INIT;
	const struct ews_end_opts opts = { .force = true, .no_revert = true };

	return ews_end(&ended, session, &opts);
}

/*
 * What a start has made goes again, as far as it came: all of it when it was made just now (`is_new`), so that undo has nothing
 * to bring back, else through trash, for somebody may have found the workspace.
 */
static int take_back(struct ews_repo *repo, struct ews_round *round, bool is_new)
{
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	EWS_CLEANUP(free) char *ref = ews_strfmt(EWS_REF_ROUNDS "%s", round->id);
	int rc = 0;

	if (round->is_open) {
		rc = ews_session_open(&session, repo, round->id);
		if (rc == 0)
			rc = ews_session_lock(&session, "round start");
		if (rc == 0 && session.method->is_project)
			rc = ews_scratch_remove_unused(&session);
		if (rc == 0 && (is_new || session.state.state == EWS_STATE_STARTING))
			rc = ews_start_take_back(&session);
		else if (rc == 0)
			rc = end_unused(&session);
	}
	if (rc == 0)
		rc = ews_round_branch_take_back(round, repo);
	if (rc < 0)
		return rc;
	rc = ews_odb_ref_read(&round->tip, repo->odb, ref);
	/* Where it can't be read just now the record stays, which is all that knows of it. */
	rc = rc == 0 ? ews_odb_ref_swap(repo->odb, ref, &round->tip, NULL) : ews_error_if_passing(rc);
	if (rc < 0)
		return rc;
	ews_error_clear();
	return ews_round_forget(repo, round);
}

/* The error that led here is what the caller hears. */
static void take_back_for_error(struct ews_repo *repo, struct ews_round *round, struct ews_start_result *started)
{
	struct ews_error_saved saved = EWS_ERROR_SAVED_INIT;

	ews_error_save(&saved);
	round->is_open = started->session.fd >= 0;
	ews_session_unlock(&started->session);
	(void)take_back(repo, round, true); /* what it can't do, recover will */
	(void)ews_error_restore(&saved);
}

/* The session is there: what makes a round of it. */
static int make(struct ews_round *round, struct ews_repo *repo, struct ews_session *session)
{
	EWS_CLEANUP(free) char *ref = ews_strfmt(EWS_REF_ROUNDS "%s", round->id);
	char hex[EWS_OID_HEX_MAX];
	struct ews_oid base;
	int rc = make_base(&base, session);

	if (rc < 0)
		return rc;
	free(round->base);
	round->base = ews_strdup(ews_oid_hex(hex, &base));
	rc = ews_round_write(repo, round);
	if (rc == 0)
		rc = ews_odb_ref_swap(repo->odb, ref, NULL, &base);
	if (rc == 0)
		rc = ews_scratch_make(session);
	if (rc < 0)
		return rc;
	/* A workspace goes to trash with its scratch; the project stays, and was not asked to have one. */
	round->owns_scratch = rc > 0 && session->method->is_project;
	round->tip = base;
	round->is_open = true;
	round->is_settled = true;
	rc = ews_round_write(repo, round);
	return rc < 0 ? rc : ews_round_branch_make(round, session);
}

/* Nothing else of the agent's may go on. */
static int check_open(const struct ews_rounds *rounds, const char *agent, const struct ews_round *previous)
{
	const struct ews_round *round = NULL;

	for (size_t i = 0; i < rounds->n; i++)
		if (!strcmp(rounds->items[i].agent, agent) && rounds->items[i].is_open &&
		    rounds->items[i].is_settled && &rounds->items[i] != previous)
			round = &rounds->items[i];
	if (!round)
		return 0;
	ews_error(EWS_EEXISTS, "agent '%s' is at work on the round 'ews/%s'", round->agent, round->id);
	ews_error_hint("'git ews round end --agent %s' ends it, '--previous ews/%s' ends it and takes its ref away",
		       round->agent, round->id);
	return EWS_EEXISTS;
}

/* Which round of the agent's goes; it must be his, and there. */
static int find_previous(const struct ews_round **out, const struct ews_rounds *rounds,
			 const struct ews_round_start_opts *opts)
{
	int rc = opts->previous ? ews_round_find(out, rounds, opts->previous) : 0;

	if (rc < 0 || !opts->previous)
		return rc;
	if (strcmp((*out)->agent, opts->agent) != 0)
		return ews_error(EWS_EUSAGE, "the round 'ews/%s' is not one of agent '%s'", (*out)->id, opts->agent);
	if (!(*out)->is_open && ews_oid_is_none(&(*out)->tip))
		return ews_error(EWS_ENOTFOUND, "the round 'ews/%s' has gone already", (*out)->id);
	return 0;
}

/* Where the new round begins: a round by what it came to; else a revision of git's. */
static int choose_base(struct ews_start_opts *start, char **base, struct ews_repo *repo,
		       const struct ews_rounds *rounds, const char *name)
{
	const struct ews_round *round = NULL;
	char hex[EWS_OID_HEX_MAX];
	int rc = name ? ews_round_find(&round, rounds, name) : 0;
	int is_gits = name ? ews_round_is_revision(repo, name, round ? round->id : NULL) : 0;

	if (is_gits < 0)
		return is_gits;
	if (is_gits)
		round = NULL;
	else if (rc == EWS_EUSAGE)
		return rc;
	if (rc < 0)
		ews_error_clear();
	if (round && round->is_open) {
		ews_error(EWS_EBUSY, "the round 'ews/%s' is not over", round->id);
		ews_error_hint("what it came to is known when it has ended");
		return EWS_EBUSY;
	}
	if (round && ews_oid_is_none(&round->tip))
		return ews_error(EWS_ENOTFOUND, "the round 'ews/%s' has gone already", round->id);
	if (name)
		*base = ews_strdup(round ? ews_oid_hex(hex, &round->tip) : name);
	/* A plain directory has no revisions, but it has rounds. */
	start->base = repo->is_plain ? NULL : *base;
	start->from = repo->is_plain ? *base : NULL;
	return 0;
}

static bool has_no_ref(struct ews_repo *repo, const char *below, const struct ews_round *round)
{
	EWS_CLEANUP(free) char *ref = ews_strfmt("%s%s", below, round->id);

	return ews_odb_ref_is_missing(repo->odb, ref);
}

/* Is it over, and its ref gone from trash as well? That may just have come back from there, since the record was read. */
static bool is_past(struct ews_repo *repo, const struct ews_round *round)
{
	return round->is_settled && !round->is_open && ews_oid_is_none(&round->tip) &&
	       has_no_ref(repo, EWS_REF_TRASH_ROUNDS, round) && has_no_ref(repo, EWS_REF_ROUNDS, round);
}

/*
 * What is left of starts of the agent's that were killed: we hold his lock, so nobody is at it. And records of rounds that nothing
 * can bring back.
 */
static int tidy(struct ews_repo *repo, struct ews_rounds *rounds, const char *agent)
{
	int rc = 0;

	for (size_t i = 0; i < rounds->n && rc == 0; i++) {
		struct ews_round *round = &rounds->items[i];

		if (strcmp(round->agent, agent) != 0)
			continue;
		if (!round->is_settled)
			rc = take_back(repo, round, false);
		else if (is_past(repo, round))
			rc = ews_round_forget(repo, round);
	}
	return rc;
}

/* Move the refs of these to trash, and add their names to `out`; what another one moved there meanwhile is none of them. */
static int drop(struct ews_strv *out, struct ews_repo *repo, const struct ews_round *const *rounds, size_t n)
{
	EWS_CLEANUP(step) struct ews_step step = EWS_STEP_INIT;
	EWS_CLEANUP(strv) struct ews_strv names = EWS_STRV_INIT;
	EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;
	int rc = ews_repo_lock(&lock, repo, EWS_LOCK_PROJECT, "round", EWS_LOCK_PROJECT_WAIT_MS);

	if (rc == 0)
		rc = ews_step_init(&step, repo->dir_fd, "drop", NULL);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < n; i++) {
		EWS_CLEANUP(free) char *ref = ews_strfmt(EWS_REF_ROUNDS "%s", rounds[i]->id);
		char hex[EWS_OID_HEX_MAX];
		struct ews_oid tip;

		rc = ews_odb_ref_read(&tip, repo->odb, ref);
		if (rc == EWS_ENOTFOUND) {
			ews_error_clear();
			continue;
		}
		if (rc < 0)
			return rc;
		ews_strv_addf(&step.refs, "%s " EWS_REF_TRASH_ROUNDS "%s %s", ref, rounds[i]->id,
			      ews_oid_hex(hex, &tip));
		ews_strv_addf(&names, "ews/%s", rounds[i]->id);
	}
	rc = step.refs.n ? ews_drop(repo, &step, ews_step_refs_move) : 0;
	if (rc == 0)
		ews_strv_add_array(out, names.items);
	return rc;
}

static int end_round(struct ews_round_end_result *out, struct ews_repo *repo, const struct ews_round *round,
		     const struct ews_round_end_opts *opts);

/* The former round goes once the new one is there. */
static int remove_previous(struct ews_round_start_result *out, struct ews_repo *repo, const struct ews_round *previous)
{
	EWS_CLEANUP(round_end_result) struct ews_round_end_result ended = EWS_ROUND_END_RESULT_INIT;
	EWS_CLEANUP(strv) struct ews_strv names = EWS_STRV_INIT;
	const struct ews_round_end_opts opts = { .force = false };
	int rc = previous->is_open ? end_round(&ended, repo, previous, &opts) : 0;

	if (rc == EWS_EBUSY)
		ews_error_hint("end what runs there, or 'git ews round end --agent %s --force' first",
			       previous->agent);
	if (rc == 0)
		rc = drop(&names, repo, &previous, 1);
	if (rc < 0)
		return ews_error_wrap("cannot take the round 'ews/%s' away", previous->id);
	out->removed = ews_strdup(previous->id);
	out->ended = ended;
	ended = (struct ews_round_end_result)EWS_ROUND_END_RESULT_INIT;
	return 0;
}

static int check(struct ews_repo *repo, const struct ews_round_start_opts *opts)
{
	int rc = ews_round_check_name("a team", opts->team);

	if (rc == 0)
		rc = ews_round_check_name("an agent", opts->agent);
	if (rc == 0 && opts->label)
		rc = ews_round_branch_check(repo, opts->label);
	return rc;
}

int ews_round_start(struct ews_round_start_result *out, struct ews_repo *repo, const struct ews_round_start_opts *opts)
{
	EWS_CLEANUP(round_start_result) struct ews_round_start_result result = EWS_ROUND_START_RESULT_INIT;
	EWS_CLEANUP(rounds) struct ews_rounds rounds = EWS_ROUNDS_INIT;
	EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;
	EWS_CLEANUP(free) char *base = NULL;
	EWS_CLEANUP(free) char *name = NULL;
	const struct ews_round *previous = NULL;
	struct ews_start_opts start = *opts->start;
	int rc = check(repo, opts);

	if (rc == 0)
		rc = ews_repo_make_dir(repo);
	if (rc == 0)
		rc = lock_agent(&lock, repo, opts->team, opts->agent, "round start");
	if (rc == 0)
		rc = ews_rounds_read(&rounds, repo, opts->team);
	if (rc == 0)
		rc = tidy(repo, &rounds, opts->agent);
	if (rc == 0)
		rc = find_previous(&previous, &rounds, opts);
	if (rc == 0)
		rc = check_open(&rounds, opts->agent, previous);
	if (rc == 0)
		rc = choose_base(&start, &base, repo, &rounds, opts->base);
	if (rc == 0)
		rc = record(&result.round, repo, opts);
	if (rc < 0)
		return rc;
	name = ews_strfmt("ews/%s", result.round.id);
	start.id = result.round.id;
	start.label = name;
	start.intent = NULL;
	rc = ews_start(&result.started, repo, &start);
	if (rc == 0)
		rc = make(&result.round, repo, &result.started.session);
	if (rc == 0 && previous)
		rc = remove_previous(&result, repo, previous);
	if (rc < 0) {
		take_back_for_error(repo, &result.round, &result.started);
		return rc;
	}
	*out = result;
	result = (struct ews_round_start_result)EWS_ROUND_START_RESULT_INIT;
	return 0;
}

/* ---- end ---- */

/* The workspace as it is; of one that is gone what was committed there. */
static int write_work(struct ews_oid *tree, struct ews_round_end_result *result, struct ews_session *session,
		      const struct ews_oid *base, bool is_gone)
{
	return is_gone ? ews_remains_tree(tree, session, base)
		       : ews_branch_outcome_tree(tree, &result->ended.branch_notes, session);
}

/* The commit that holds the work: the base when nothing differs, the ref's when that has it all. Returns 1 where the work is lost. */
static int commit_work(struct ews_oid *out, struct ews_round_end_result *result, struct ews_session *session,
		       const struct ews_oid *base, bool is_gone)
{
	struct ews_repo *repo = session->repo;
	EWS_CLEANUP(commit) struct ews_commit first = EWS_COMMIT_INIT;
	EWS_CLEANUP(commit) struct ews_commit last = EWS_COMMIT_INIT;
	struct ews_oid tree;
	int rc = write_work(&tree, result, session, base, is_gone);

	if (rc == 0)
		rc = ews_odb_read_commit(&first, repo->odb, base);
	if (rc != 0)
		return rc;
	result->has_committed = !ews_oid_equal(&tree, &first.tree);
	*out = *base;
	if (!result->has_committed)
		return 0;
	*out = result->round.tip;
	if (ews_odb_read_commit(&last, repo->odb, out) == 0 && ews_oid_equal(&last.tree, &tree) &&
	    last.n_parents == 1 && ews_oid_equal(&last.parents[0], base))
		return 0;
	ews_error_clear();
	return write_commit(out, repo, &tree, base, ews_clock_now(), COMMIT_SUBJECT);
}

/* The ref holds the work; the branch, where there is one, follows. */
static int keep_work(struct ews_round_end_result *result, struct ews_session *session, bool is_gone)
{
	struct ews_round *round = &result->round;
	EWS_CLEANUP(free) char *ref = ews_strfmt(EWS_REF_ROUNDS "%s", round->id);
	const struct ews_oid was = round->tip;
	struct ews_oid base, tip;
	int rc = parse_base(&base, round);

	/* An end that came no further has kept all that was there. */
	if (rc == 0 && is_gone && !ews_oid_equal(&was, &base))
		return 0;
	if (rc == 0)
		rc = commit_work(&tip, result, session, &base, is_gone);
	if (rc == 0 && !ews_oid_equal(&tip, &round->tip))
		rc = ews_odb_ref_swap(session->repo->odb, ref, &round->tip, &tip);
	if (rc < 0)
		return ews_error_wrap("cannot keep the work of round 'ews/%s'", round->id);
	/* What nobody can have any more keeps no round from its end. */
	result->has_lost = rc > 0;
	if (result->has_lost)
		return 0;
	round->tip = tip;
	return ews_round_branch_follow(&result->notes, round, session, &base, &was);
}

static int archive_scratch(struct ews_round_end_result *result, struct ews_session *session)
{
	EWS_CLEANUP(scratch_archived) struct ews_scratch_archived archived = EWS_SCRATCH_ARCHIVED_INIT;
	struct ews_round *round = &result->round;
	int rc = ews_scratch_archive(&archived, session, round->team, *round->label ? round->label : round->id,
				     round->archive);

	if (rc < 0)
		return rc;
	ews_strv_add_array(&result->left_out, archived.left_out.items);
	if (archived.name && strcmp(archived.name, round->archive) != 0) {
		free(round->archive);
		round->archive = ews_steal(&archived.name);
		rc = ews_round_write(session->repo, round);
	}
	if (rc < 0 || !round->owns_scratch)
		return rc;
	if (archived.left_out.n) {
		ews_strv_addf(&result->notes,
			      "'" EWS_SCRATCH "' stays in the project, for not all of it is archived");
		return 0;
	}
	rc = ews_scratch_remove(session);
	if (rc < 0)
		return rc;
	/* What somebody makes there from now on is his, though undo brings the round back. */
	round->owns_scratch = false;
	return ews_round_write(session->repo, round);
}

/* What git had of a workspace that is gone: the end has kept it, or it went along. */
static void note_remains(struct ews_round_end_result *result)
{
	const char *work = result->has_committed ? "what was committed there is its work; "
			   : result->has_lost    ? "what was committed there can't be read; "
						 : "";

	if (result->ended.is_gone && result->ended.kept_snapshot)
		ews_strv_addf(
			&result->notes,
			"the workspace of round 'ews/%s' was gone: %sits HEAD, index and commits are in trash, as %s",
			result->round.id, work, result->ended.kept_snapshot);
	else if (result->ended.is_gone)
		ews_strv_addf(&result->notes, "the workspace of round 'ews/%s' was gone: git has nothing more of it",
			      result->round.id);
}

/* What its commit lacks is known by now. */
static int end_session(struct ews_round_end_result *result, struct ews_session *session,
		       const struct ews_end_opts *end)
{
	struct ews_branch_notes notes = result->ended.branch_notes;
	int rc;

	result->ended.branch_notes = (struct ews_branch_notes)EWS_BRANCH_NOTES_INIT;
	rc = ews_end(&result->ended, session, end);
	ews_branch_notes_release(&result->ended.branch_notes);
	result->ended.branch_notes = notes;
	return rc;
}

static int end_round(struct ews_round_end_result *out, struct ews_repo *repo, const struct ews_round *round,
		     const struct ews_round_end_opts *opts)
{
	EWS_CLEANUP(round_end_result) struct ews_round_end_result result = EWS_ROUND_END_RESULT_INIT;
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	const struct ews_end_opts end = { .force = opts->force,
					  .without_tree = opts->force,
					  .no_revert = true,
					  .progress = opts->progress,
					  .payload = opts->payload };
	int rc = ews_session_open(&session, repo, round->id), is_gone = 0;

	if (rc == 0)
		rc = ews_session_lock_settled(&session, "round end");
	if (rc < 0)
		return rc;
	ews_round_copy(&result.round, round);
	result.is_in_place = session.method->is_project;
	if (opts->force)
		rc = is_gone = ews_session_is_gone(&session);
	if (rc >= 0)
		rc = keep_work(&result, &session, is_gone);
	if (rc == 0 && !is_gone)
		rc = archive_scratch(&result, &session);
	if (rc == 0)
		rc = end_session(&result, &session, &end);
	if (rc < 0)
		return rc;
	note_remains(&result);
	result.round.is_open = false;
	*out = result;
	result = (struct ews_round_end_result)EWS_ROUND_END_RESULT_INIT;
	return 0;
}

int ews_round_end(struct ews_round_end_result *out, struct ews_repo *repo, const char *team, const char *agent,
		  const struct ews_round_end_opts *opts)
{
	EWS_CLEANUP(rounds) struct ews_rounds rounds = EWS_ROUNDS_INIT;
	EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;
	const struct ews_round *round;
	int rc = ews_repo_make_dir(repo);

	if (rc == 0)
		rc = lock_agent(&lock, repo, team, agent, "round end");
	if (rc == 0)
		rc = ews_rounds_read(&rounds, repo, team);
	if (rc < 0)
		return rc;
	rc = opts->round ? ews_round_find(&round, &rounds, opts->round) : 0;
	if (rc < 0)
		return rc;
	if (!opts->round)
		round = ews_round_of(&rounds, agent);
	if (!round) {
		ews_error(EWS_ENOTFOUND, "agent '%s' has no round in team '%s'", agent, team);
		ews_error_hint("'git ews round start --agent %s --team %s' starts one", agent, team);
		return EWS_ENOTFOUND;
	}
	if (round->is_open)
		return end_round(out, repo, round, opts);
	out->had_ended = true;
	ews_round_copy(&out->round, round);
	return 0;
}

int ews_round_scratch_back(struct ews_session *session)
{
	EWS_CLEANUP(round) struct ews_round round = { 0 };
	int rc = ews_round_of_session(&round, session->repo, session->state.id);

	if (rc == 0)
		rc = ews_scratch_make(session);
	if (rc <= 0 || !session->method->is_project || round.owns_scratch)
		return rc == EWS_ENOTFOUND || rc > 0 ? 0 : rc;
	round.owns_scratch = true;
	return ews_round_write(session->repo, &round);
}

static int keep_again(struct ews_round_end_result *result, struct ews_session *session)
{
	int rc = ews_round_of_session(&result->round, session->repo, session->state.id), is_gone;

	if (rc < 0 || !result->round.is_open)
		return rc == EWS_ENOTFOUND ? 0 : rc;
	is_gone = ews_session_is_gone(session);
	if (is_gone < 0)
		return is_gone;
	if (!ews_oid_is_none(&result->round.tip))
		rc = keep_work(result, session, is_gone);
	return rc < 0 || is_gone ? rc : archive_scratch(result, session);
}

int ews_round_end_again(struct ews_round_end_result *out, struct ews_session *session, const struct ews_end_opts *end)
{
	int rc = keep_again(out, session);

	out->is_in_place = session->method->is_project;
	if (rc == 0)
		rc = end_session(out, session, end);
	if (rc == 0 && out->round.id)
		note_remains(out);
	return rc;
}

int ews_round_keep_late(struct ews_session *session)
{
	EWS_CLEANUP(round_end_result) struct ews_round_end_result result = EWS_ROUND_END_RESULT_INIT;
	EWS_CLEANUP(strv) struct ews_strv bent = EWS_STRV_INIT;
	struct ews_place place = ews_session_place(session);
	int rc = session->method->is_project ? EWS_ENOTFOUND
					     : ews_round_of_session(&result.round, session->repo, session->state.id);

	if (rc < 0 || !result.round.is_open || ews_oid_is_none(&result.round.tip))
		return rc == EWS_ENOTFOUND ? 0 : rc;
	rc = ews_session_is_gone(session);
	if (rc == 0)
		rc = session->method->restore(&place);
	if (rc == 0)
		rc = ews_session_tampered(&bent, session);
	if (rc != 0)
		return rc > 0 ? 0 : rc;
	if (bent.n)
		return ews_error(EWS_EDAMAGED, "'%s' is not as it was", bent.items[0]);
	session->state.state = EWS_STATE_ENDING; /* whether that has been saved or not */
	rc = keep_work(&result, session, false);
	return rc < 0 ? rc : archive_scratch(&result, session);
}

int ews_rounds_drop(struct ews_strv *out, struct ews_repo *repo, const char *team)
{
	EWS_CLEANUP(rounds) struct ews_rounds rounds = EWS_ROUNDS_INIT;
	EWS_CLEANUP(free) const struct ews_round **chosen = NULL;
	size_t n = 0;
	int rc = ews_rounds_read(&rounds, repo, team);

	chosen = ews_calloc(rounds.n + 1, sizeof(*chosen));
	for (size_t i = 0; i < rounds.n && rc == 0; i++) {
		if (rounds.items[i].is_open || ews_oid_is_none(&rounds.items[i].tip))
			continue;
		chosen[n++] = &rounds.items[i];
	}
	return rc < 0 || !n ? rc : drop(out, repo, chosen, n);
}

/* ---- mending ---- */

/* What stands in the way of one is in nobody else's. */
static void mend(struct ews_strv *done, struct ews_repo *repo, struct ews_round *round)
{
	EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;
	int rc = lock_agent(&lock, repo, round->team, round->agent, "recover");

	if (rc == 0)
		ews_scratch_sweep(repo, round->team, round->id);
	if (rc == 0 && !round->is_settled) {
		rc = take_back(repo, round, false);
		if (rc == 0)
			ews_strv_addf(done, "round 'ews/%s': its start was taken back", round->id);
	}
	/* Else somebody is at it. */
	if (rc < 0 && rc != EWS_EBUSY)
		ews_strv_addf(done, "round 'ews/%s': it could not be mended: %s", round->id, ews_error_message());
	ews_error_clear();
}

int ews_rounds_mend(struct ews_strv *done, struct ews_repo *repo)
{
	EWS_CLEANUP(strv) struct ews_strv teams = EWS_STRV_INIT;
	int rc = ews_round_teams(&teams, repo);

	for (size_t i = 0; i < teams.n && rc == 0; i++) {
		EWS_CLEANUP(rounds) struct ews_rounds rounds = EWS_ROUNDS_INIT;

		rc = ews_rounds_read_sound(&rounds, repo, teams.items[i]);
		for (size_t k = 0; k < rounds.n && rc == 0; k++)
			mend(done, repo, &rounds.items[k]);
	}
	return rc;
}
