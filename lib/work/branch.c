/*
 * Branches: see branch.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/branch.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "store/attr.h"
#include "store/convert.h"
#include "store/tree.h"
#include "work/outcome.h"
#include "work/stage.h"

#define BRANCHES "refs/heads/"

int ews_branch_check(struct ews_repo *repo, const char *name)
{
	EWS_CLEANUP(free) char *ref = ews_strfmt(BRANCHES "%s", name);
	struct ews_oid there;
	int rc;

	if (repo->is_plain)
		return ews_error(EWS_EUSAGE, "'%s' is no git repository: it has no branches", repo->project);
	rc = ews_stage_check_branch(repo, name);
	if (rc < 0)
		return rc;
	if (ews_odb_ref_read(&there, repo->odb, ref) == 0) {
		ews_error(EWS_EEXISTS, "the branch '%s' is there already", name);
		ews_error_hint("take another name, or delete it first: 'git branch -d %s'", name);
		return EWS_EEXISTS;
	}
	ews_error_clear();
	return 0;
}

struct result {
	struct ews_odb *odb;
	struct ews_entries stored; /* the first commit's files */
	struct ews_entries *now; /* the workspace's, to become the branch's */
};

static void release_result(struct result *result)
{
	ews_entries_release(&result->stored);
}

EWS_CLEANUP_DEFINE(result, struct result, release_result)

/* The workspace has what git makes of the stored file: then the stored one is meant. */
static int take_stored(void *payload, struct ews_entry *stored, const void *data, size_t len)
{
	struct result *result = payload;
	struct ews_entry *now = ews_entries_find(result->now, stored->path);
	struct ews_oid made;

	ews_odb_hash(&made, result->odb, EWS_OBJECT_BLOB, data, len);
	if (now && now->type == EWS_ENTRY_FILE && ews_oid_equal(&now->oid, &made))
		now->oid = stored->oid;
	return 0;
}

/* What was left out of the workspace, or not looked at there, stays as it is stored. */
static void add_unseen(struct result *result, const struct ews_skips *skips)
{
	size_t n = result->now->n;

	for (size_t i = 0; i < result->stored.n; i++) {
		const struct ews_entry *entry = &result->stored.items[i];
		const struct ews_entries before = { result->now->items, n, n, EWS_ARENA_INIT, false };

		if (ews_skips_covering(skips, entry->path) && !ews_entries_find(&before, entry->path))
			ews_entries_add_copy(result->now, entry);
	}
	ews_entries_sort(result->now);
}

/* What is new or changed goes in as git would store it: with the line ends and the encoding of stored files. */
static int store_changed(struct ews_strv *unfiltered, struct result *result, const struct ews_convert *convert,
			 const struct ews_oid *base, struct ews_repo *repo)
{
	EWS_CLEANUP(strv) struct ews_strv changed = EWS_STRV_INIT;
	int rc;

	for (size_t i = 0; i < result->now->n; i++) {
		const struct ews_entry *entry = &result->now->items[i];
		const struct ews_entry *stored = ews_entries_find(&result->stored, entry->path);

		if (entry->type == EWS_ENTRY_FILE && ews_entry_fits_tree(entry) &&
		    !(stored && stored->type == EWS_ENTRY_FILE && ews_oid_equal(&stored->oid, &entry->oid)))
			ews_strv_add(&changed, entry->path);
	}
	rc = ews_attr_filtered(unfiltered, convert->odb, convert->home, convert->work_tree, &changed);
	return rc < 0 ? rc : ews_convert_back(convert, result->now, &changed, base, repo);
}

static int write_tree(struct ews_oid *out, struct ews_strv *unfiltered, struct ews_session *session,
		      const struct ews_oid *base, struct ews_batch *batch)
{
	struct ews_repo *repo = session->repo;
	EWS_CLEANUP(diff) struct ews_diff diff = EWS_DIFF_INIT;
	EWS_CLEANUP(result) struct result result = { .odb = repo->odb, .stored = EWS_ENTRIES_INIT };
	/* The rules are those of files there; once it has gone, the project's are what is nearest. */
	bool has_ended = session->state.state == EWS_STATE_ENDED;
	const struct ews_convert convert = { .odb = repo->odb,
					     .home = repo->home,
					     .work_tree = has_ended ? repo->project : session->state.workspace,
					     .take = take_stored,
					     .payload = &result };
	int rc = ews_outcome_read(&diff, session);

	result.now = &diff.to.content.scan.entries;
	if (rc == 0 && !ews_oid_is_none(base))
		rc = ews_tree_list(&result.stored, repo->odb, base);
	if (rc == 0)
		rc = ews_convert(&convert, &result.stored);
	if (rc == 0)
		rc = store_changed(unfiltered, &result, &convert, base, repo);
	if (rc < 0)
		return rc;
	add_unseen(&result, &diff.to.content.scan.skips);
	rc = ews_tree_write(out, batch, result.now);
	if (rc == 0)
		rc = ews_batch_commit(batch);
	return rc < 0 ? rc : ews_odb_refresh(repo->odb);
}

int ews_branch_make(struct ews_oid *out, struct ews_strv *unfiltered, struct ews_session *session, const char *name)
{
	struct ews_repo *repo = session->repo;
	EWS_CLEANUP(batch) struct ews_batch *batch = ews_batch_new(repo->odb);
	EWS_CLEANUP(commit) struct ews_commit first = EWS_COMMIT_INIT;
	EWS_CLEANUP(free) char *ref = ews_strfmt(BRANCHES "%s", name);
	EWS_CLEANUP(free) char *message = ews_strfmt("Result of session %s", session->state.id);
	const char *intent = session->state.intent;
	const struct ews_oid none = EWS_OID_NONE;
	struct ews_oid tree, base = EWS_OID_NONE;
	int rc = *session->state.base_commit ? ews_oid_parse(&base, session->state.base_commit) : 0;

	if (rc == 0 && !ews_oid_is_none(&base))
		rc = ews_odb_read_commit(&first, repo->odb, &base);
	if (rc == 0)
		rc = write_tree(&tree, unfiltered, session, ews_oid_is_none(&base) ? &none : &first.tree, batch);
	if (rc < 0)
		return ews_error_wrap("cannot make the branch '%s'", name);
	*out = base;
	if (ews_oid_is_none(&base) || !ews_oid_equal(&tree, &first.tree))
		rc = ews_stage_commit_tree(out, repo, &tree, &base, intent && *intent ? intent : message);
	if (rc == 0)
		rc = ews_odb_ref_swap(repo->odb, ref, &none, out);
	return rc < 0 ? ews_error_wrap("cannot make the branch '%s'", name) : 0;
}
