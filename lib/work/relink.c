/*
 * Relink: see relink.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/relink.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "store/index.h"
#include "store/tree.h"
#include "work/content.h"
#include "work/head.h"
#include "work/history.h"
#include "work/ignored.h"
#include "work/look.h"
#include "work/registration.h"
#include "work/revert.h"
#include "work/session_open.h"
#include "work/session_place.h"
#include "work/snapshot.h"

/* Which of its links is another than it was made. Where it has no entry that is written anew by itself (work/registration). */
static int find_bent(struct ews_strv *out, struct ews_session *session)
{
	int rc = session->method->is_project || session->is_out_of_reach || session->state.state != EWS_STATE_ACTIVE
			 ? 1
			 : ews_session_is_gone(session);

	if (rc == 0)
		rc = ews_session_tampered(out, session);
	if (rc == 0 && ews_session_lacks_entry(out))
		ews_strv_clear(out);
	return rc < 0 ? rc : 0;
}

/* Does it name what makes sense, and is in the store by now? */
static int check_git(const struct ews_session *session, const struct ews_gitstate *git)
{
	EWS_CLEANUP(index) struct ews_index index = EWS_INDEX_INIT;
	struct ews_oid commit;
	int head = ews_head_find_in(&commit, session, git, NULL), rc;

	if (head < 0 || head == EWS_HEAD_DAMAGED)
		return head < 0 ? head : EWS_EDAMAGED;
	if (!git->has_index)
		return 0;
	/* What git knows, and we don't, is whole for all that we know. */
	rc = ews_index_parse_state(&index, git, ews_odb_algo(session->repo->odb));
	if (rc != EWS_EUNSUPPORTED)
		return rc;
	ews_error_clear();
	return 0;
}

/* The index that git makes of the commit, where `was` says which files the work tree need not have. */
static int index_commit(struct ews_gitstate *git, struct ews_odb *odb, const struct ews_oid *commit,
			const struct ews_gitstate *was)
{
	EWS_CLEANUP(commit) struct ews_commit read = EWS_COMMIT_INIT;
	EWS_CLEANUP(entries) struct ews_entries list = EWS_ENTRIES_INIT;
	EWS_CLEANUP(index) struct ews_index index = EWS_INDEX_INIT;
	EWS_CLEANUP(index) struct ews_index former = EWS_INDEX_INIT;
	int rc = ews_odb_read_commit(&read, odb, commit);

	if (rc == 0)
		rc = ews_tree_list(&list, odb, &read.tree);
	if (rc == 0 && ews_index_parse_state(&former, was, ews_odb_algo(odb)) < 0)
		ews_error_clear(); /* then it has all */
	if (rc == 0)
		rc = ews_index_expand(&former, odb);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < list.n; i++) {
		const struct ews_index_entry *known = ews_index_find(&former, list.items[i].path);
		struct ews_index_entry *ie;

		if (list.items[i].type == EWS_ENTRY_DIR)
			continue;
		ie = ews_index_add(&index, list.items[i].path);
		ie->mode = ews_entry_git_mode(&list.items[i]);
		ie->oid = list.items[i].oid;
		ie->is_skip_worktree = known && known->is_skip_worktree;
	}
	ews_index_sort(&index);
	ews_buf_truncate(&git->index, 0);
	ews_index_format(&git->index, &index, ews_odb_algo(odb));
	return 0;
}

/*
 * Where the index alone is damaged, and HEAD is at another commit than `last` has it, a commit would fall out of HEAD with that: then
 * make the index anew. 1 or 0, or an error.
 */
static int mend_index(struct ews_gitstate *git, const struct ews_session *session, const struct ews_snapshot *last,
		      const struct ews_gitstate *was)
{
	EWS_CLEANUP(strv) struct ews_strv closed = EWS_STRV_INIT;
	bool had_index = git->has_index;
	struct ews_oid head;
	int rc;

	if (!ews_gitstate_file(git, "HEAD"))
		return 0;
	git->has_index = false;
	rc = ews_history_adopt(session, &closed, git);
	git->has_index = had_index;
	if (rc >= 0)
		rc = ews_head_find_in(&head, session, git, NULL);
	if (rc >= 0 && (rc != EWS_HEAD_AT_COMMIT || ews_oid_equal(&head, &last->head)))
		return 0;
	if (rc >= 0)
		rc = index_commit(git, session->repo->odb, &head, was);
	if (rc != EWS_EDAMAGED && rc != EWS_ENOTFOUND)
		return rc < 0 ? rc : 1;
	ews_error_clear();
	return 0;
}

/*
 * The state that git has there, unless it names what is neither there nor in the store: then that of a snapshot, or the index alone is
 * another. What it was taken from goes to `*from`, which the caller frees.
 */
static int settle_git(struct ews_content *now, char **from, struct ews_session *session)
{
	EWS_CLEANUP(content) struct ews_content seen = EWS_CONTENT_INIT;
	EWS_CLEANUP(snapshot) struct ews_snapshot last = EWS_SNAPSHOT_INIT;
	EWS_CLEANUP(strv) struct ews_strv closed = EWS_STRV_INIT;
	int rc = ews_gitstate_file(&now->git, "HEAD") ? ews_history_adopt(session, &closed, &now->git) : EWS_EDAMAGED;

	if (rc >= 0)
		rc = check_git(session, &now->git);
	if (rc != EWS_EDAMAGED)
		return rc;
	ews_error_clear();
	rc = ews_registration_last_seen(&last, &seen, session);
	if (rc == 0)
		rc = mend_index(&now->git, session, &last, &seen.git);
	if (rc > 0)
		*from = ews_strdup("the index of the commit that HEAD is at");
	if (rc == 0) {
		struct ews_gitstate strange = now->git;

		now->git = seen.git;
		seen.git = strange;
		*from = ews_strfmt("HEAD and index of %s", last.id);
	}
	return rc < 0 ? rc : 0;
}

/* Keep the files that are there, and what git's state shall be. */
static int keep(struct ews_snapshot *out, char **from, struct ews_session *session)
{
	EWS_CLEANUP(batch) struct ews_batch *batch = ews_batch_new(session->repo->odb);
	EWS_CLEANUP(snapshot) struct ews_snapshot base = EWS_SNAPSHOT_INIT;
	EWS_CLEANUP(content) struct ews_content known = EWS_CONTENT_INIT;
	EWS_CLEANUP(content) struct ews_content now = EWS_CONTENT_INIT;
	const struct ews_content_opts look = { .partial = true, .is_wary = true, .known = &known };
	const struct ews_snapshot_opts opts = {
		.session = session,
		.subject = "ews: the files of a workspace whose link to git was rewritten",
		.parent = session->state.last_snapshot,
		.prefix = EWS_REF_TRASH
	};
	int rc = ews_snapshot_base(&base, session);

	ews_batch_be_wary(batch);
	if (rc == 0)
		rc = ews_snapshot_content(&known, session->repo, &base);
	if (rc == 0)
		rc = ews_content_now(&now, session->repo, session, batch, &look);
	if (rc == 0)
		rc = ews_ignored_settle(&now, session, &known, NULL, NULL, false);
	if (rc == 0)
		rc = settle_git(&now, from, session);
	return rc < 0 ? rc : ews_snapshot_keep(out, session->repo, batch, &now, &opts);
}

int ews_relink_is_due(struct ews_repo *repo, const char *id)
{
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	EWS_CLEANUP(strv) struct ews_strv bent = EWS_STRV_INIT;
	int rc = ews_session_open(&session, repo, id);

	if (rc == 0)
		rc = find_bent(&bent, &session);
	return rc < 0 ? rc : bent.n > 0;
}

int ews_relink(struct ews_strv *done, struct ews_session *session, ews_progress_fn progress, void *payload)
{
	EWS_CLEANUP(revert_result) struct ews_revert_result result = EWS_REVERT_RESULT_INIT;
	EWS_CLEANUP(snapshot) struct ews_snapshot kept = EWS_SNAPSHOT_INIT;
	EWS_CLEANUP(strv) struct ews_strv bent = EWS_STRV_INIT;
	EWS_CLEANUP(free) char *from = NULL;
	struct ews_revert_opts opts = { .verb = "revert", .git_alone = true, .progress = progress, .payload = payload };
	const char *id = session->state.id;
	int rc = find_bent(&bent, session);

	if (rc < 0 || !bent.n)
		return rc;
	rc = keep(&kept, &from, session);
	opts.to = kept.id;
	if (rc == 0)
		rc = ews_revert(&result, session, &opts);
	if (rc == 0 && !result.put.is_verified)
		rc = ews_error(EWS_ENOTVERIFIED, "'%s' was written anew, but not all is as it was", bent.items[0]);
	if (rc < 0)
		return ews_error_wrap("session '%s'", id);
	ews_strv_addf(done, "session '%s': '%s' was written anew%s%s, and the files stay as they are%s", id,
		      bent.items[0], from ? ", with " : "", from ? from : "",
		      result.put.kept.n ? "; what stood there is in trash" : "");
	return 0;
}
