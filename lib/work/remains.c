/*
 * Remains: see remains.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/remains.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "store/index.h"
#include "work/content.h"
#include "work/history.h"
#include "work/session_place.h"
#include "work/snapshot.h"

/* Are there commits that the base does not lead to by itself? */
static int has_commits(struct ews_strv *closed, const struct ews_session *session, const struct ews_oid *base)
{
	EWS_CLEANUP(oids) struct ews_oids commits = EWS_OIDS_INIT;
	size_t n_closed = closed ? closed->n : 0;
	int rc = ews_history_commits(&commits, closed, session);
	bool has = closed && closed->n > n_closed;

	for (size_t i = 0; i < commits.n; i++)
		has = has || !ews_oid_equal(&commits.items[i], base);
	return rc < 0 ? rc : has;
}

/* Whoever looks has git refresh the index: what counts is what it names. One that makes no sense is kept as it is. */
static bool differs(const struct ews_gitstate *was, const struct ews_gitstate *now, enum ews_hash_algo algo)
{
	EWS_CLEANUP(strv) struct ews_strv names = EWS_STRV_INIT;
	bool is_known = false;

	ews_gitstate_differences(&names, was, now);
	for (size_t i = 0; i < names.n && !is_known; i++)
		is_known = !ews_gitstate_is_of_index(names.items[i]) || !ews_index_is_alike(was, now, algo);
	return is_known;
}

/* What is known of what `snapshot` has: git's state, and the commits that it leads to. */
static int read_known(struct ews_gitstate *git, struct ews_oids *known, const struct ews_session *session,
		      const struct ews_snapshot *snapshot)
{
	EWS_CLEANUP(commit) struct ews_commit manifest = EWS_COMMIT_INIT;
	int rc = ews_snapshot_git(git, session->repo, snapshot);

	if (rc == 0)
		rc = ews_odb_read_commit(&manifest, session->repo->odb, &snapshot->manifest);
	for (size_t i = 0; i < manifest.n_parents; i++)
		ews_oids_add(known, &manifest.parents[i]);
	if (!ews_oid_is_none(&snapshot->head))
		ews_oids_add(known, &snapshot->head);
	ews_oids_sort(known);
	return rc;
}

/* The base's files and git state; nothing when there is no base any more. */
static int read_base(struct ews_snapshot *base, struct ews_content *content, struct ews_session *session)
{
	int rc = ews_snapshot_base(base, session);

	if (rc == 0)
		return ews_snapshot_content(content, session->repo, base);
	if (rc != EWS_ENOTFOUND && rc != EWS_EDAMAGED)
		return rc;
	ews_error_clear();
	ews_manifest_hash(content->hash, &content->scan.entries);
	return 0;
}

/* With what was committed there, so that the files that undo brings back are those that HEAD has beside them. */
static int add_work(struct ews_content *content, struct ews_remains *out, struct ews_strv *left_out,
		    const struct ews_session *session, const struct ews_oid *first)
{
	int rc = ews_remains_files(&content->scan, left_out, &out->unfiltered, session, first);

	if (rc < 0)
		return rc;
	out->work = rc;
	ews_scan_count(&content->scan);
	ews_manifest_hash(content->hash, &content->scan.entries);
	return 0;
}

void ews_remains_release(struct ews_remains *remains)
{
	free(remains->snapshot);
	ews_strv_release(&remains->unfiltered);
}

int ews_remains_keep(struct ews_remains *out, struct ews_strv *closed, struct ews_session *session, bool dry_run)
{
	struct ews_repo *repo = session->repo;
	EWS_CLEANUP(batch) struct ews_batch *batch = ews_batch_new(repo->odb);
	EWS_CLEANUP(snapshot) struct ews_snapshot base = EWS_SNAPSHOT_INIT;
	EWS_CLEANUP(snapshot) struct ews_snapshot snapshot = EWS_SNAPSHOT_INIT;
	EWS_CLEANUP(content) struct ews_content content = EWS_CONTENT_INIT;
	EWS_CLEANUP(gitstate) struct ews_gitstate was = EWS_GITSTATE_INIT;
	struct ews_snapshot_opts opts = { .session = session,
					  .subject = "ews: what git had of a workspace that was gone",
					  .parent = session->state.last_snapshot,
					  .prefix = EWS_REF_TRASH,
					  .closed = closed };
	EWS_CLEANUP(fd) int git = ews_session_open_admin(session);
	int rc;

	if (git < 0 && git != EWS_ENOTFOUND)
		return git;
	ews_error_clear();
	out->has_no_git = git < 0;
	if (out->has_no_git)
		return 0;
	rc = read_base(&base, &content, session);
	if (rc < 0)
		return rc;
	was = content.git;
	content.git = (struct ews_gitstate)EWS_GITSTATE_INIT;
	rc = ews_gitstate_read(&content.git, git);
	if (rc < 0)
		return rc;
	rc = has_commits(closed, session, &base.head);
	if (rc < 0 || (!rc && !differs(&was, &content.git, ews_odb_algo(repo->odb))))
		return rc;
	rc = dry_run || !base.id ? 0 : add_work(&content, out, closed, session, &base.head);
	if (rc == 0 && !dry_run)
		rc = ews_snapshot_keep(&snapshot, repo, batch, &content, &opts);
	if (rc < 0)
		return rc;
	out->snapshot = dry_run ? NULL : ews_strdup(snapshot.id);
	return 1;
}

int ews_remains_are_late(const struct ews_session *session, const struct ews_snapshot *since)
{
	EWS_CLEANUP(gitstate) struct ews_gitstate was = EWS_GITSTATE_INIT;
	EWS_CLEANUP(gitstate) struct ews_gitstate now = EWS_GITSTATE_INIT;
	EWS_CLEANUP(oids) struct ews_oids known = EWS_OIDS_INIT;
	EWS_CLEANUP(strv) struct ews_strv closed = EWS_STRV_INIT; /* it has been named */
	EWS_CLEANUP(fd) int git = ews_session_open_admin(session);
	int rc;

	if (git < 0)
		return git;
	rc = read_known(&was, &known, session, since);
	if (rc == 0)
		rc = ews_gitstate_read(&now, git);
	if (rc < 0 || differs(&was, &now, ews_odb_algo(session->repo->odb)))
		return rc < 0 ? rc : 1;
	return ews_history_has_own(&closed, session, &known);
}

int ews_remains_keep_late(struct ews_snapshot *out, struct ews_session *session, const struct ews_snapshot *since)
{
	struct ews_repo *repo = session->repo;
	EWS_CLEANUP(batch) struct ews_batch *batch = ews_batch_new(repo->odb);
	EWS_CLEANUP(content) struct ews_content content = EWS_CONTENT_INIT;
	EWS_CLEANUP(strv) struct ews_strv closed = EWS_STRV_INIT; /* it has been named */
	EWS_CLEANUP(fd) int git = ews_session_open_admin(session);
	struct ews_snapshot_opts opts = { .session = session,
					  .subject = "ews: what git had at the end",
					  .parent = since->id,
					  .prefix = EWS_REF_TRASH,
					  .closed = &closed };
	int rc = git < 0 ? git : ews_snapshot_content(&content, repo, since);

	if (rc < 0)
		return rc;
	ews_gitstate_release(&content.git);
	rc = ews_gitstate_read(&content.git, git);
	return rc < 0 ? rc : ews_snapshot_keep(out, repo, batch, &content, &opts);
}
