/*
 * History: see history.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/history.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "store/carry.h"
#include "store/git.h"
#include "store/index_extensions.h"
#include "work/head.h"
#include "work/history_ids.h"
#include "work/session_place.h"

/* In place an agent moves the project's own branches: where they stand is held as well. */
static int list_branches(struct ews_oids *out, const struct ews_session *session)
{
	EWS_CLEANUP(refs) struct ews_refs refs = EWS_REFS_INIT;
	int rc = ews_odb_ref_list(&refs, session->repo->odb, EWS_REF_BRANCHES);

	for (size_t i = 0; i < refs.n && rc == 0; i++)
		ews_oids_add(out, &refs.items[i].oid);
	return rc;
}

/* Keep those that are commits of the store, each once. */
static int keep_commits(struct ews_oids *list, struct ews_odb *odb)
{
	size_t kept = 0;

	ews_oids_sort(list);
	for (size_t i = 0; i < list->n; i++) {
		int is = ews_odb_is(odb, &list->items[i], EWS_OBJECT_COMMIT);

		if (is < 0)
			return is;
		if (is)
			list->items[kept++] = list->items[i];
	}
	list->n = kept;
	return 0;
}

int ews_history_commits(struct ews_oids *out, struct ews_strv *closed, const struct ews_session *session)
{
	int rc = session->method->is_project ? list_branches(out, session)
					     : ews_history_list_ids(out, closed, session);

	return rc < 0 ? rc : keep_commits(out, session->repo->odb);
}

int ews_history_add_merged(struct ews_oids *out, struct ews_repo *repo, const struct ews_gitstate *git)
{
	static const char *const names[] = { "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD" };
	size_t n = out->n;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const struct ews_gitstate_file *merged = ews_gitstate_file(git, names[i]);

		if (merged)
			ews_history_add_ids(out, merged->data.ptr, merged->data.len, ews_odb_algo(repo->odb));
	}
	return out->n > n ? keep_commits(out, repo->odb) : 0;
}

/* Is one of `commits` such that neither `known` nor a ref of the project leads to it? Where git can't say that, it is. */
static bool has_beyond(const struct ews_session *session, const struct ews_oids *commits, const struct ews_oids *known)
{
	char *args[] = { (char[]){ "rev-list" },
			 (char[]){ "--max-count=1" },
			 (char[]){ "--stdin" },
			 (char[]){ "--not" },
			 (char[]){ "--exclude=refs/ews/*" },
			 (char[]){ "--all" },
			 NULL };
	EWS_CLEANUP(buf) struct ews_buf question = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf answer = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf complaint = EWS_BUF_INIT;
	struct ews_git_opts git = { .own_dir = session->repo->common_dir, .out = &answer, .err = &complaint };
	char hex[EWS_OID_HEX_MAX];
	int status;

	for (size_t i = 0; i < commits->n; i++)
		if (!ews_oids_has(known, &commits->items[i]))
			ews_buf_addf(&question, "%s\n", ews_oid_hex(hex, &commits->items[i]));
	if (!question.len)
		return false;
	for (size_t i = 0; i < known->n; i++)
		ews_buf_addf(&question, "^%s\n", ews_oid_hex(hex, &known->items[i]));
	git.input = question.ptr;
	git.input_len = question.len;
	status = ews_git_run(&git, args);
	if (status < 0)
		ews_error_clear();
	return status != 0 || answer.len;
}

int ews_history_list_beyond(struct ews_oids *out, const struct ews_repo *repo, const struct ews_strv *ids,
			    const struct ews_strv *known)
{
	char *args[] = { (char[]){ "rev-list" }, (char[]){ "--stdin" }, NULL };
	EWS_CLEANUP(buf) struct ews_buf question = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf answer = EWS_BUF_INIT;
	struct ews_git_opts git = { .own_dir = repo->common_dir, .out = &answer };
	int rc;

	for (size_t i = 0; i < ids->n; i++)
		ews_buf_addf(&question, "%s\n", ids->items[i]);
	for (size_t i = 0; i < known->n; i++)
		ews_buf_addf(&question, "^%s\n", known->items[i]);
	git.input = question.ptr;
	git.input_len = question.len;
	rc = ews_git_run(&git, args);
	if (rc != 0)
		return rc < 0 ? rc : ews_error(EWS_EGIT, "git can't list commits");
	ews_history_add_ids(out, answer.ptr, answer.len, ews_odb_algo(repo->odb));
	ews_oids_sort(out);
	return 0;
}

int ews_history_has_own(struct ews_strv *closed, const struct ews_session *session, const struct ews_oids *known)
{
	EWS_CLEANUP(oids) struct ews_oids commits = EWS_OIDS_INIT;
	size_t n_closed = closed->n;
	int rc;

	/* In place they are the project's. */
	if (session->method->is_project)
		return 0;
	rc = ews_history_commits(&commits, closed, session);
	if (rc < 0 || closed->n > n_closed)
		return rc < 0 ? rc : 1;
	return has_beyond(session, &commits, known);
}

static void add_index_ids(struct ews_oids *out, const struct ews_index *index)
{
	for (size_t i = 0; i < index->n; i++)
		if (index->items[i].mode != EWS_MODE_GITLINK)
			ews_oids_add(out, &index->items[i].oid);
}

/* What git gets to pack: a line an id, and the base, whose history the store has. */
static void format_request(struct ews_buf *out, const struct ews_session *session, const struct ews_oid *wanted,
			   size_t n)
{
	char hex[EWS_OID_HEX_MAX];

	for (size_t i = 0; i < n; i++)
		if (!ews_odb_has(session->repo->odb, &wanted[i]))
			ews_buf_addf(out, "%s\n", ews_oid_hex(hex, &wanted[i]));
	if (out->len && *session->state.base_commit)
		ews_buf_addf(out, "^%s\n", session->state.base_commit);
}

static char *own_objects(const struct ews_session *session)
{
	return ews_strfmt("%s/.git/objects", session->state.workspace);
}

/* Out of the workspace's repository, whose objects are in `own`, into the store. */
static struct ews_carry carry_of(const struct ews_session *session, const char *own)
{
	const struct ews_repo *repo = session->repo;
	const char *store = ews_odb_object_dir(repo->odb);

	return (struct ews_carry){ .home = repo->home,
				   .tmp_dir = repo->dir,
				   .algo = ews_odb_algo(repo->odb),
				   .from = own,
				   .alternate = store,
				   .to = store,
				   .sharing = ews_odb_sharing(repo->odb) };
}

/* Carry those that the store lacks. Returns 1, or 0 when it lacks none. Fails with EWS_EGIT when something is missing of them. */
static int adopt(const struct ews_session *session, const struct ews_oid *wanted, size_t n)
{
	EWS_CLEANUP(buf) struct ews_buf request = EWS_BUF_INIT;
	EWS_CLEANUP(free) char *own = own_objects(session);
	const struct ews_carry carry = carry_of(session, own);
	int rc;

	format_request(&request, session, wanted, n);
	if (!request.len)
		return 0;
	rc = ews_carry(&carry, &request);
	if (rc == 0)
		rc = ews_odb_refresh(session->repo->odb);
	return rc < 0 ? rc : 1;
}

/* What is lacking there keeps nobody from saving the rest: it is not held. */
static int adopt_if_whole(const struct ews_session *session, const struct ews_oids *wanted)
{
	int rc = adopt(session, wanted->items, wanted->n);

	if (rc != EWS_EGIT)
		return rc;
	ews_error_clear();
	return 0;
}

/* All of them; or those that are whole, which are found by halves: the others go into `lacking`. */
static int adopt_whole(struct ews_oids *lacking, const struct ews_session *session, const struct ews_oid *wanted,
		       size_t n)
{
	int rc = adopt(session, wanted, n), first;

	if (rc != EWS_EGIT)
		return rc;
	ews_error_clear();
	if (n == 1) {
		ews_oids_add(lacking, wanted);
		return 0;
	}
	first = adopt_whole(lacking, session, wanted, n / 2);
	rc = first < 0 ? first : adopt_whole(lacking, session, wanted + n / 2, n - n / 2);
	return rc ? rc : first;
}

/* The same, where most that is lacking is nowhere, as in a partial clone: those are set aside at once. */
static int adopt_what_is_there(struct ews_oids *lacking, const struct ews_session *session,
			       const struct ews_oids *wanted)
{
	EWS_CLEANUP(oids) struct ews_oids there = EWS_OIDS_INIT;
	EWS_CLEANUP(free) char *own = own_objects(session);
	const struct ews_carry carry = carry_of(session, own);
	int rc = adopt(session, wanted->items, wanted->n);

	if (rc != EWS_EGIT)
		return rc;
	ews_error_clear();
	rc = ews_carry_sort_out(&there, lacking, &carry, wanted);
	if (rc == EWS_EGIT) {
		/* Git can't work on what is left of the repository: nothing is to be had there. */
		ews_error_clear();
		for (size_t i = 0; i < wanted->n; i++)
			ews_oids_add(lacking, &wanted->items[i]);
		return 0;
	}
	return rc < 0 ? rc : adopt_whole(lacking, session, there.items, there.n);
}

/* Add what HEAD stands at, by itself or through a branch. */
static void add_head(struct ews_oids *out, const struct ews_session *session, const struct ews_gitstate *git)
{
	const struct ews_gitstate_file *head = ews_gitstate_file(git, "HEAD");
	EWS_CLEANUP(free) char *branch = ews_head_branch(git);
	EWS_CLEANUP(fd) int git_fd = branch ? ews_session_open_admin(session) : -1;
	struct ews_oid oid;

	if (head)
		ews_history_add_ids(out, head->data.ptr, head->data.len, ews_odb_algo(session->repo->odb));
	if (git_fd >= 0 && ews_odb_ref_read_from(&oid, session->repo->odb, git_fd, true, branch) == 0)
		ews_oids_add(out, &oid);
	ews_error_clear();
}

/* What is lacking is damage where it is one of `needed`. */
static int judge_lacking(const struct ews_oids *lacking, struct ews_oids *needed)
{
	char hex[EWS_OID_HEX_MAX];

	ews_oids_sort(needed);
	for (size_t i = 0; i < lacking->n; i++)
		if (ews_oids_has(needed, &lacking->items[i]))
			return ews_error(EWS_EDAMAGED, "the workspace's repository names what it lacks: '%s'",
					 ews_oid_hex(hex, &lacking->items[i]));
	return 0;
}

/* What the index names besides its entries. */
static int adopt_extensions(const struct ews_session *session, const struct ews_index *index)
{
	EWS_CLEANUP(oids) struct ews_oids trees = EWS_OIDS_INIT;
	EWS_CLEANUP(oids) struct ews_oids resolved = EWS_OIDS_INIT;
	enum ews_hash_algo algo = ews_odb_algo(session->repo->odb);
	int of_trees, of_resolved;

	ews_index_list_all_trees(&trees, index, algo);
	of_trees = adopt_if_whole(session, &trees);
	if (of_trees < 0)
		return of_trees;
	ews_index_list_resolved(&resolved, index, algo);
	of_resolved = adopt_if_whole(session, &resolved);
	return of_resolved ? of_resolved : of_trees;
}

int ews_history_adopt(const struct ews_session *session, struct ews_strv *closed, const struct ews_gitstate *git)
{
	EWS_CLEANUP(index) struct ews_index index = EWS_INDEX_INIT;
	EWS_CLEANUP(oids) struct ews_oids wanted = EWS_OIDS_INIT;
	EWS_CLEANUP(oids) struct ews_oids needed = EWS_OIDS_INIT;
	EWS_CLEANUP(oids) struct ews_oids missing = EWS_OIDS_INIT;
	int adopted, rc;

	if (!session->method->owns_objects)
		return 0;
	rc = ews_history_list_ids(&wanted, closed, session);
	if (rc < 0)
		return rc;
	add_head(&wanted, session, git);
	add_head(&needed, session, git);
	if (git->has_index && ews_index_parse_state(&index, git, ews_odb_algo(session->repo->odb)) < 0)
		ews_error_clear(); /* then it names nothing */
	add_index_ids(&wanted, &index);
	/* What is promised may be missing from the copy as from the project. */
	if (!ews_odb_is_partial(session->repo->odb))
		add_index_ids(&needed, &index);
	ews_oids_sort(&wanted);
	adopted = adopt_what_is_there(&missing, session, &wanted);
	rc = adopted < 0 ? adopted : judge_lacking(&missing, &needed);
	if (rc == 0)
		rc = adopt_extensions(session, &index);
	return rc ? rc : adopted;
}
