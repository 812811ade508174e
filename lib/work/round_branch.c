/*
 * Round branches: see round_branch.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/round_branch.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "work/stage.h"
#include "work/tripwire.h"

#define BRANCHES "refs/heads/"
#define HEAD_BYTES_MAX (64 * EWS_KIB)

int ews_round_branch_check(struct ews_repo *repo, const char *label)
{
	if (!repo->is_plain)
		return ews_stage_check_branch(repo, label);
	ews_error(EWS_EUSAGE, "'%s' is no git repository: it has no branches", repo->project);
	ews_error_hint("leave out --label");
	return EWS_EUSAGE;
}

static bool heads_to(int fd, const char *ref)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	bool is_read = fd >= 0 && ews_file_read(&text, fd, "HEAD", HEAD_BYTES_MAX) == 0;

	ews_error_clear();
	ews_buf_rtrim(&text);
	return is_read && !strncmp(text.ptr, "ref: ", 5) && !strcmp(text.ptr + 5, ref);
}

/* Is it the branch of a work tree, even of one where nothing is committed yet? To move it would change what is there. */
static bool is_stood_on(struct ews_repo *repo, const char *ref)
{
	EWS_CLEANUP(fd) int worktrees = ews_dir_open_beneath(repo->common_fd, "worktrees");
	EWS_CLEANUP(free) struct ews_dirent *names = NULL;
	struct ews_arena arena = EWS_ARENA_INIT;
	bool found = heads_to(repo->common_fd, ref);
	ssize_t n = worktrees < 0 ? 0 : ews_dir_list(&names, worktrees, &arena);

	for (ssize_t i = 0; i < n && !found; i++) {
		EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(worktrees, names[i].name);

		found = heads_to(fd, ref);
	}
	ews_arena_release(&arena);
	ews_error_clear();
	return found;
}

/* Its label, or, when there is such a branch or somebody stands on it, "<label>-<round>". */
static void choose(struct ews_round *round, struct ews_repo *repo)
{
	EWS_CLEANUP(free) char *ref = ews_strfmt(BRANCHES "%s", round->label);
	struct ews_oid there;
	bool is_free = ews_odb_ref_read(&there, repo->odb, ref) == EWS_ENOTFOUND && !is_stood_on(repo, ref);

	ews_error_clear();
	free(round->branch);
	round->branch = is_free ? ews_strdup(round->label) : ews_strfmt("%s-%s", round->label, round->id);
}

/* It is no drift of the project's: we were asked to. */
static void tell(struct ews_session *session, const char *ref, const struct ews_oid *oid)
{
	EWS_CLEANUP(tripwire) struct ews_tripwire kept = EWS_TRIPWIRE_INIT;

	if (ews_tripwire_read(&kept, session->fd) == 0) {
		ews_tripwire_know_ref(&kept, ref, oid);
		(void)ews_tripwire_write(session->fd, &kept); /* else it is named, which is no lie */
	}
	ews_error_clear();
}

int ews_round_branch_make(struct ews_round *round, struct ews_session *session)
{
	EWS_CLEANUP(free) char *ref = NULL;
	const struct ews_oid none = EWS_OID_NONE;
	int rc;

	if (!*round->label || round->is_branched)
		return 0;
	choose(round, session->repo);
	ref = ews_strfmt(BRANCHES "%s", round->branch);
	rc = ews_odb_ref_swap(session->repo->odb, ref, &none, &round->tip);
	if (rc < 0)
		return ews_error_wrap("cannot make the branch '%s'", round->branch);
	tell(session, ref, &round->tip);
	round->is_branched = true;
	rc = ews_round_write(session->repo, round);
	if (rc < 0)
		(void)ews_odb_ref_swap(session->repo->odb, ref, &round->tip, &none); /* nobody knows of it yet */
	return rc;
}

int ews_round_branch_follow(struct ews_strv *notes, struct ews_round *round, struct ews_session *session,
			    const struct ews_oid *base, const struct ews_oid *was)
{
	EWS_CLEANUP(free) char *ref = ews_strfmt(BRANCHES "%s", round->branch);
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
	if (rc < 0 || ews_oid_equal(&there, &round->tip))
		return rc;
	is_ours = ews_oid_equal(&there, base) || ews_oid_equal(&there, was);
	if (!is_ours || is_stood_on(session->repo, ref)) {
		ews_strv_addf(notes,
			      "the branch '%s' stays where it is, for somebody %s: 'git merge ews/%s' brings the work",
			      round->branch, is_ours ? "stands on it" : "has moved it", round->id);
		return 0;
	}
	rc = ews_odb_ref_swap(odb, ref, &there, &round->tip);
	if (rc < 0)
		return ews_error_wrap("cannot move the branch '%s'", round->branch);
	tell(session, ref, &round->tip);
	return 0;
}
