/*
 * Head: see head.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/head.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/str.h"
#include "work/session_place.h"

/* What HEAD says: its first line. */
static void read_line(struct ews_buf *out, const struct ews_gitstate *git)
{
	const struct ews_gitstate_file *file = ews_gitstate_file(git, "HEAD");

	if (file)
		ews_buf_add(out, file->data.ptr, strcspn(file->data.ptr, "\n"));
	ews_buf_rtrim(out);
}

/* Read a ref as the workspace of `session` (NULL: the project) has it. */
static int read_ref(struct ews_oid *out, struct ews_repo *repo, const struct ews_session *session, const char *ref)
{
	EWS_CLEANUP(fd) int git_fd = session && !session->method->is_project ? ews_session_open_admin(session) : -1;

	/* Of a workspace that has no git directory any more it is the best guess. */
	if (git_fd < 0)
		return ews_odb_ref_read(out, repo->odb, ref);
	return ews_odb_ref_read_from(out, repo->odb, git_fd, session->method->owns_objects, ref);
}

static int find(struct ews_oid *out, struct ews_repo *repo, const struct ews_session *session, const char *text)
{
	const char *ref = ews_odb_ref_target(text);
	int rc;

	/* Elsewhere git looks for no branch, and has none to be born there. */
	if (ref && (!ews_str_begins(ref, "refs/") || !ews_odb_is_ref_name(ref)))
		return EWS_HEAD_DAMAGED;
	rc = ref ? read_ref(out, repo, session, ref) : ews_oid_parse(out, text);
	/* A branch whose file is there and holds no id is another failure. */
	if (ref && rc == EWS_ENOTFOUND)
		return EWS_HEAD_UNBORN;
	if (ref && rc < 0 && ews_error_wants_descriptors())
		return rc;
	return rc < 0 ? EWS_HEAD_DAMAGED : EWS_HEAD_AT_COMMIT;
}

static int find_commit(struct ews_oid *out, struct ews_repo *repo, const struct ews_session *session,
		       const struct ews_gitstate *git, const struct ews_oid *known)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(error_saved) struct ews_error_saved saved = EWS_ERROR_SAVED_INIT;
	int head, is = 1;

	ews_error_save(&saved);
	read_line(&text, git);
	head = find(out, repo, session, text.ptr);
	if (head == EWS_HEAD_AT_COMMIT && !(known && ews_oid_equal(out, known)))
		is = ews_odb_is(repo->odb, out, EWS_OBJECT_COMMIT);
	if (is <= 0)
		head = is < 0 ? is : EWS_HEAD_DAMAGED;
	if (head != EWS_HEAD_AT_COMMIT)
		*out = (struct ews_oid)EWS_OID_NONE;
	if (head >= 0)
		(void)ews_error_restore(&saved);
	return head;
}

int ews_head_find(struct ews_oid *out, struct ews_repo *repo, const struct ews_gitstate *git,
		  const struct ews_oid *known)
{
	return find_commit(out, repo, NULL, git, known);
}

int ews_head_find_in(struct ews_oid *out, const struct ews_session *session, const struct ews_gitstate *git,
		     const struct ews_oid *known)
{
	return find_commit(out, session->repo, session, git, known);
}

const struct ews_oid *ews_head_tree_read(struct ews_head_tree *head_tree)
{
	EWS_CLEANUP(commit) struct ews_commit commit = EWS_COMMIT_INIT;

	if (head_tree->is_read)
		return &head_tree->tree;
	if (!ews_oid_is_none(head_tree->head) && ews_odb_read_commit(&commit, head_tree->odb, head_tree->head) < 0)
		ews_error_clear();
	head_tree->tree = commit.tree;
	head_tree->is_read = true;
	return &head_tree->tree;
}

char *ews_head_branch(const struct ews_gitstate *git)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	const char *ref;

	read_line(&text, git);
	ref = ews_odb_ref_target(text.ptr);
	return ref && ews_str_begins(ref, EWS_REF_BRANCHES) ? ews_strdup(ref) : NULL;
}

char *ews_head_last_ref(struct ews_repo *repo, const struct ews_gitstate *git)
{
	EWS_CLEANUP(free) char *branch = ews_head_branch(git);
	struct ews_error_saved saved = EWS_ERROR_SAVED_INIT;
	struct ews_oid oid;
	char *last = NULL;

	if (!branch)
		return NULL;
	ews_error_save(&saved);
	(void)ews_odb_ref_follow(&oid, &last, repo->odb, branch); /* what is not there leads there all the same */
	(void)ews_error_restore(&saved);
	return last;
}
