/*
 * Round branches: see round_branch.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/round_branch.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "work/branch.h"
#include "work/stage.h"
#include "work/tripwire.h"
#include "work/tripwire_told.h"

/* Are there branches that have its name for their directory's? */
static bool is_directory(struct ews_repo *repo, const char *ref)
{
	EWS_CLEANUP(free) char *prefix = ews_strfmt("%s/", ref);
	EWS_CLEANUP(refs) struct ews_refs refs = EWS_REFS_INIT;
	bool is = ews_odb_ref_list(&refs, repo->odb, prefix) < 0 || refs.n;

	ews_error_clear();
	return is;
}

/* A branch "a" leaves no room for one called "a/b". */
static int check_room(struct ews_repo *repo, const char *label)
{
	for (const char *slash = strchr(label, '/'); slash; slash = strchr(slash + 1, '/')) {
		EWS_CLEANUP(free) char *ref = ews_strfmt(EWS_REF_BRANCHES "%.*s", (int)(slash - label), label);
		int is_stood_on = ews_branch_is_stood_on(repo, ref, false);

		if (is_stood_on < 0)
			return is_stood_on;
		if (!is_stood_on && ews_odb_ref_is_missing(repo->odb, ref))
			continue;
		ews_error(EWS_EEXISTS, "beside the branch '%s' there can't be one called '%s'",
			  ref + strlen(EWS_REF_BRANCHES), label);
		ews_error_hint("take another label");
		return EWS_EEXISTS;
	}
	return 0;
}

int ews_round_branch_check(struct ews_repo *repo, const char *label)
{
	int rc;

	if (repo->is_plain) {
		ews_error(EWS_EUSAGE, "'%s' is no git repository: it has no branches", repo->project);
		ews_error_hint("leave out --label");
		return EWS_EUSAGE;
	}
	rc = ews_stage_check_branch(repo, label);
	return rc < 0 ? rc : check_room(repo, label);
}

/* Its label, or, when that is taken, "<label>-<round>". */
static int choose(struct ews_round *round, struct ews_repo *repo)
{
	EWS_CLEANUP(free) char *ref = ews_strfmt(EWS_REF_BRANCHES "%s", round->label);
	int is_stood_on = ews_branch_is_stood_on(repo, ref, true);
	bool is_free;

	if (is_stood_on < 0)
		return is_stood_on;
	is_free = !is_stood_on && ews_odb_ref_is_missing(repo->odb, ref) && !is_directory(repo, ref);
	free(round->branch);
	round->branch = is_free ? ews_strdup(round->label) : ews_strfmt("%s-%s", round->label, round->id);
	return 0;
}

/* The ref moves on without a branch that somebody stands on: only the record tells later where that was left. */
static int note_place(struct ews_round *round, struct ews_repo *repo)
{
	if (ews_oid_equal(&round->branch_at, &round->tip))
		return 0;
	round->branch_at = round->tip;
	return ews_round_write(repo, round);
}

int ews_round_branch_make(struct ews_round *round, struct ews_session *session)
{
	struct ews_error_saved why = EWS_ERROR_SAVED_INIT;
	EWS_CLEANUP(free) char *ref = NULL;
	int rc;

	if (!*round->label || round->is_branched)
		return 0;
	do {
		rc = choose(round, session->repo);
		if (rc < 0)
			return rc;
		free(ref);
		ref = ews_strfmt(EWS_REF_BRANCHES "%s", round->branch);
		rc = ews_tripwire_move_ref(session->repo, ref, NULL, &round->tip);
		/* Of those that begin at once under a label one gets it. */
	} while (rc == EWS_ESTALE && !strcmp(round->branch, round->label));
	if (rc < 0)
		return ews_error_wrap("cannot make the branch '%s'", round->branch);
	round->is_branched = true;
	rc = note_place(round, session->repo);
	if (rc == 0)
		return 0;
	ews_error_save(&why);
	(void)ews_odb_ref_swap(session->repo->odb, ref, &round->tip, NULL); /* nobody knows of it yet */
	return ews_error_restore(&why);
}

int ews_round_branch_take_back(const struct ews_round *round, struct ews_repo *repo)
{
	EWS_CLEANUP(free) char *ref = ews_strfmt(EWS_REF_BRANCHES "%s", round->branch);
	int rc = round->is_branched ? ews_branch_is_stood_on(repo, ref, false) : 0;

	if (rc != 0 || !round->is_branched)
		return rc < 0 ? rc : 0;
	rc = ews_odb_ref_swap(repo->odb, ref, &round->tip, NULL);
	if (rc != EWS_ESTALE)
		return rc;
	ews_error_clear();
	return 0;
}

int ews_round_branch_follow(struct ews_strv *notes, struct ews_round *round, struct ews_session *session,
			    const struct ews_oid *base, const struct ews_oid *was)
{
	EWS_CLEANUP(free) char *ref = ews_strfmt(EWS_REF_BRANCHES "%s", round->branch);
	struct ews_odb *odb = session->repo->odb;
	struct ews_oid there;
	bool is_ours;
	int rc;

	/* One that a killed start did not come to is made now. */
	if (!round->is_branched)
		return ews_round_branch_make(round, session);
	rc = ews_odb_ref_read(&there, odb, ref);
	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		ews_strv_addf(notes, "the branch '%s' was deleted meanwhile", round->branch);
		return 0;
	}
	if (rc < 0)
		return rc;
	if (ews_oid_equal(&there, &round->tip))
		return note_place(round, session->repo);
	is_ours = ews_oid_equal(&there, &round->branch_at) || ews_oid_equal(&there, base) ||
		  ews_oid_equal(&there, was);
	rc = is_ours ? ews_branch_is_stood_on(session->repo, ref, false) : 0;
	if (rc < 0)
		return rc;
	if (!is_ours || rc > 0) {
		ews_strv_addf(notes,
			      "the branch '%s' stays where it is, for somebody %s: 'git merge ews/%s' brings the work",
			      round->branch, is_ours ? "stands on it" : "has moved it", round->id);
		return 0;
	}
	rc = ews_tripwire_move_ref(session->repo, ref, &there, &round->tip);
	return rc < 0 ? ews_error_wrap("cannot move the branch '%s'", round->branch)
		      : note_place(round, session->repo);
}
