/*
 * What remains of the work: see remains_work.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/remains_work.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path_line.h"
#include "store/commit.h"
#include "store/convert.h"
#include "store/tree.h"
#include "work/head.h"
#include "work/history.h"
#include "work/merge.h"
#include "work/session_place.h"

#define HAS_WORK 2

/* What a read says that is not to be had, now or later, is lost, which is 1 here; any other failure keeps the round. */
static int or_lost(int rc)
{
	if (!ews_odb_has_lost(rc))
		return rc;
	ews_error_clear();
	return 1;
}

/* Where HEAD stands in git's entry of the workspace; none: nowhere. */
static int find_head(struct ews_oid *out, const struct ews_session *session)
{
	EWS_CLEANUP(gitstate) struct ews_gitstate git = EWS_GITSTATE_INIT;
	EWS_CLEANUP(fd) int fd = session->method->is_project ? EWS_ENOTFOUND : ews_session_open_admin(session);
	int rc = fd < 0 ? fd : ews_gitstate_read_files(&git, fd);

	*out = (struct ews_oid)EWS_OID_NONE;
	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		return 0;
	}
	if (rc < 0)
		return or_lost(rc);
	rc = ews_head_find_in(out, session, &git, NULL);
	return rc < 0 ? rc : rc == EWS_HEAD_DAMAGED;
}

/* Does `head` have commits that `first` (none: nothing) does not lead to? One that an agent merely looked at is no work. */
static int is_past(const struct ews_session *session, const struct ews_oid *head, const struct ews_oid *first)
{
	EWS_CLEANUP(oids) struct ews_oids beyond = EWS_OIDS_INIT;
	EWS_CLEANUP(strv) struct ews_strv ids = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv known = EWS_STRV_INIT;
	char hex[EWS_OID_HEX_MAX];
	int rc;

	if (ews_oid_is_none(head) || ews_oid_is_none(first))
		return !ews_oid_is_none(head);
	ews_strv_add(&ids, ews_oid_hex(hex, head));
	ews_strv_add(&known, ews_oid_hex(hex, first));
	rc = ews_history_list_beyond(&beyond, session->repo, &ids, &known);
	/* Where git can't say that, it has. */
	if (rc == EWS_EGIT) {
		ews_error_clear();
		return 1;
	}
	return rc < 0 ? rc : beyond.n > 0;
}

static int list_commit(struct ews_entries *out, struct ews_oid *tree, struct ews_odb *odb, const struct ews_oid *oid)
{
	EWS_CLEANUP(commit) struct ews_commit commit = EWS_COMMIT_INIT;
	int rc = ews_oid_is_none(oid) ? 0 : ews_odb_read_commit(&commit, odb, oid);

	*tree = commit.tree;
	return rc < 0 || ews_oid_is_none(tree) ? rc : ews_tree_list(out, odb, tree);
}

/* Do to `ours` what lies between the two; where both changed a line, it is as was committed. */
static int merge(struct ews_entries *out, struct ews_batch *batch, struct ews_odb *odb,
		 const struct ews_entries *ours, const struct ews_skips *skips, const struct ews_entries *from,
		 const struct ews_entries *to)
{
	EWS_CLEANUP(changes) struct ews_changes changes = EWS_CHANGES_INIT;
	EWS_CLEANUP(merge_result) struct ews_merge_result result = EWS_MERGE_RESULT_INIT;
	const char *const closed[] = { NULL };
	const struct ews_merge_opts opts = { .odb = odb,
					     .batch = batch,
					     .ours = ours,
					     .skips = skips,
					     .closed = closed,
					     .changes = &changes,
					     .theirs = to,
					     .favor = EWS_MERGE_THEIRS };
	int rc;

	ews_changes_between(&changes, from, to, ews_entry_equal_in_git);
	rc = ews_merge(out, &result, &opts);
	return rc < 0 ? rc : result.conflicts.n > 0;
}

/* Do to `base` what lies between `first` and `head`. */
static int write_tree(struct ews_oid *out, struct ews_odb *odb, const struct ews_oid *base,
		      const struct ews_oid *first, const struct ews_oid *head)
{
	EWS_CLEANUP(batch) struct ews_batch *batch = ews_batch_new(odb);
	EWS_CLEANUP(entries) struct ews_entries ours = EWS_ENTRIES_INIT;
	EWS_CLEANUP(entries) struct ews_entries from = EWS_ENTRIES_INIT;
	EWS_CLEANUP(entries) struct ews_entries to = EWS_ENTRIES_INIT;
	EWS_CLEANUP(entries) struct ews_entries merged = EWS_ENTRIES_INIT;
	const struct ews_skips skips = EWS_SKIPS_INIT;
	struct ews_oid base_tree, first_tree, head_tree;
	int rc = list_commit(&ours, &base_tree, odb, base);

	if (rc == 0)
		rc = list_commit(&from, &first_tree, odb, first);
	if (rc == 0)
		rc = list_commit(&to, &head_tree, odb, head);
	if (rc < 0)
		return or_lost(rc);
	*out = ews_oid_equal(&base_tree, &first_tree) ? head_tree : base_tree;
	if (ews_oid_equal(&base_tree, &first_tree))
		return 0;
	rc = merge(&merged, batch, odb, &ours, &skips, &from, &to);
	if (rc != 0)
		return rc < 0 ? or_lost(rc) : 0;
	rc = ews_tree_write(out, batch, &merged);
	if (rc == 0)
		rc = ews_batch_commit(batch);
	return rc < 0 ? rc : ews_odb_refresh(odb);
}

/* What lies between `first`, where the session began, and HEAD is its work: HAS_WORK where there is any, or 0, or 1, as above. */
static int find_work(struct ews_oid *head, const struct ews_session *session, const struct ews_oid *first)
{
	int rc = find_head(head, session);

	if (rc != 0)
		return rc;
	rc = is_past(session, head, first);
	return rc > 0 ? HAS_WORK : rc;
}

/* A file's content as git would have put it there. */
static int take_converted(void *payload, struct ews_entry *entry, const void *data, size_t len)
{
	return ews_batch_add(&entry->oid, payload, EWS_OBJECT_BLOB, data, len);
}

/* The files of a commit, as they were in the workspace, but for those with a filter, which go to `filtered`. */
static int list_files(struct ews_entries *out, struct ews_strv *filtered, struct ews_batch *batch,
		      const struct ews_session *session, const struct ews_oid *commit)
{
	struct ews_repo *repo = session->repo;
	struct ews_oid tree;
	/* The rules were those of files there; the project's are what is nearest. */
	const struct ews_convert convert = { .repo = repo,
					     .work_tree = repo->project,
					     .all = out,
					     .take = take_converted,
					     .payload = batch,
					     .filtered = filtered };
	int rc = list_commit(out, &tree, repo->odb, commit);

	return rc < 0 || repo->is_bare ? rc : ews_convert(&convert, out);
}

/* How large those are that `ours` does not have. */
static int measure(struct ews_entries *list, const struct ews_entries *ours, struct ews_odb *odb)
{
	int rc = 0;

	for (size_t i = 0; i < list->n && rc == 0; i++) {
		struct ews_entry *entry = &list->items[i];
		const struct ews_entry *mine = ews_entries_find(ours, entry->path);
		bool has_content = entry->type == EWS_ENTRY_FILE || entry->type == EWS_ENTRY_LINK;
		enum ews_object_type type;

		if (has_content && !(mine && ews_oid_equal(&mine->oid, &entry->oid)))
			rc = ews_odb_read_header(&type, &entry->size, odb, &entry->oid);
	}
	return rc;
}

/* Of what was committed, and is not as the base has it, those of `filtered`, "<path>\t<filter>" each, are as git stores them. */
static void name_unfiltered(struct ews_strv *out, const struct ews_strv *filtered, const struct ews_entries *files,
			    const struct ews_entries *ours)
{
	for (size_t i = 0; i < filtered->n && out; i++) {
		EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
		const char *filter = ews_path_line_split(&path, filtered->items[i]);
		const struct ews_entry *entry = ews_entries_find(files, path.ptr);
		const struct ews_entry *mine = ews_entries_find(ours, path.ptr);

		if (entry && !(mine && ews_oid_equal(&mine->oid, &entry->oid)))
			ews_path_line_add(out, path.ptr, filter);
	}
}

static int merge_files(struct ews_entries *out, struct ews_strv *unfiltered, struct ews_batch *batch,
		       const struct ews_session *session, const struct ews_scan *base, const struct ews_oid *first,
		       const struct ews_oid *head)
{
	EWS_CLEANUP(entries) struct ews_entries from = EWS_ENTRIES_INIT;
	EWS_CLEANUP(entries) struct ews_entries to = EWS_ENTRIES_INIT;
	EWS_CLEANUP(strv) struct ews_strv filtered = EWS_STRV_INIT;
	const struct ews_entries *ours = &base->entries;
	int rc = list_files(&from, NULL, batch, session, first);

	if (rc == 0)
		rc = list_files(&to, &filtered, batch, session, head);
	if (rc == 0) {
		ews_merge_take_modes(&from, ours);
		ews_merge_take_modes(&to, ours);
		rc = merge(out, batch, session->repo->odb, ours, &base->skips, &from, &to);
	}
	if (rc == 0)
		name_unfiltered(unfiltered, &filtered, out, ours);
	if (rc == 0)
		rc = ews_batch_commit(batch);
	if (rc == 0)
		rc = ews_odb_refresh(session->repo->odb);
	return rc == 0 ? measure(out, ours, session->repo->odb) : rc;
}

int ews_remains_files(struct ews_entries *out, struct ews_strv *unfiltered, struct ews_batch *batch,
		      const struct ews_session *session, const struct ews_scan *base, const struct ews_oid *first)
{
	struct ews_oid head;
	/* A session ends without git as well, which is not found then. */
	int rc = or_lost(find_work(&head, session, first));

	if (rc != HAS_WORK)
		return rc < 0 ? rc : 0;
	rc = or_lost(merge_files(out, unfiltered, batch, session, base, first, &head));
	return rc < 0 ? rc : !rc;
}

int ews_remains_tree(struct ews_oid *out, const struct ews_session *session, const struct ews_oid *base)
{
	struct ews_odb *odb = session->repo->odb;
	EWS_CLEANUP(commit) struct ews_commit commit = EWS_COMMIT_INIT;
	struct ews_oid first = EWS_OID_NONE, head;
	int rc = or_lost(ews_odb_read_commit(&commit, odb, base));

	*out = commit.tree;
	if (rc == 0 && *session->state.base_commit)
		rc = ews_oid_parse(&first, session->state.base_commit);
	if (rc == 0)
		rc = find_work(&head, session, &first);
	return rc == HAS_WORK ? write_tree(out, odb, base, &first, &head) : rc;
}
