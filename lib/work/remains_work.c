/*
 * What remains of the work: see remains_work.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/remains_work.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "base/path_line.h"
#include "store/bench.h"
#include "store/commit.h"
#include "store/convert.h"
#include "store/tree.h"
#include "work/head.h"
#include "work/history.h"
#include "work/merge.h"
#include "work/rules.h"
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

/* What the commits did, and to what it is to be done. */
struct work {
	const struct ews_session *session;
	const struct ews_entries *ours;
	struct ews_strv *left_out; /* of a workspace's files, what can't be done to them; NULL: it is for a commit */
	struct ews_strv filtered; /* of `to` those with a filter, "<path>\t<filter>": they are as they are stored */
	struct ews_entries from, to; /* as they are stored, where they differ */
	struct ews_entries all; /* all that they came to */
	struct ews_oid first_tree, head_tree;
	bool has_own; /* some of it is not to be done */
};

static void release_work(struct work *work)
{
	ews_entries_release(&work->from);
	ews_entries_release(&work->to);
	ews_entries_release(&work->all);
	ews_strv_release(&work->filtered);
}

EWS_CLEANUP_DEFINE(work, struct work, release_work)

static bool is_file(const struct ews_entry *entry)
{
	return entry && entry->type == EWS_ENTRY_FILE;
}

static bool is_repository(const struct ews_entry *entry)
{
	return entry && entry->type == EWS_ENTRY_GITLINK;
}

static bool lacks_content(struct ews_odb *odb, const struct ews_entry *entry)
{
	return (is_file(entry) || entry->type == EWS_ENTRY_LINK) && !ews_odb_has(odb, &entry->oid);
}

/* Would one text have to be made of the three, and one of them is not to be had? */
static bool lacks_text(struct ews_odb *odb, const struct ews_change *change, const struct ews_entry *mine)
{
	bool is_whole = !is_file(change->from) || !is_file(change->to) || !is_file(mine) ||
			ews_oid_equal(&mine->oid, &change->from->oid) || ews_oid_equal(&mine->oid, &change->to->oid);

	return !is_whole &&
	       (lacks_content(odb, change->from) || lacks_content(odb, change->to) || lacks_content(odb, mine));
}

/*
 * Can it be done to files? No commit has what is in a repository of its own; and what a partial clone never had was in no workspace
 * either.
 */
static bool can_do(const struct work *work, const struct ews_change *change, const struct ews_entry *mine)
{
	struct ews_odb *odb = work->session->repo->odb;

	if (is_repository(change->to) && (is_repository(change->from) || is_repository(mine)))
		return false;
	if (!change->to || !lacks_content(odb, change->to))
		return true;
	if (!ews_odb_is_partial(odb) || mine)
		ews_path_line_add(work->left_out, change->path, "what was committed is lost");
	return false;
}

static void take_change(struct work *work, const struct ews_change *change)
{
	const struct ews_entry *mine = ews_entries_find(work->ours, change->path);

	if (work->left_out && !can_do(work, change, mine))
		return;
	/* What can't be merged is as it was committed, as if it were new. */
	if (change->from && !lacks_text(work->session->repo->odb, change, mine))
		ews_entries_add_copy(&work->from, change->from);
	if (!change->to)
		return;
	ews_entries_add_copy(&work->to, change->to);
	/* To git a repository that is not filled is an empty directory. */
	if (work->left_out && is_repository(change->to))
		work->to.items[work->to.n - 1].type = EWS_ENTRY_DIR;
}

/*
 * Most of a project is alike in both, and is neither read nor asked for. What is ours alone is part of no snapshot, and of no round,
 * whoever committed it.
 */
static int read_work(struct work *work, const struct ews_oid *first, const struct ews_oid *head)
{
	EWS_CLEANUP(entries) struct ews_entries from = EWS_ENTRIES_INIT;
	EWS_CLEANUP(changes) struct ews_changes changes = EWS_CHANGES_INIT;
	EWS_CLEANUP(strv) struct ews_strv own = EWS_STRV_INIT;
	const struct ews_session *session = work->session;
	struct ews_odb *odb = session->repo->odb;
	int rc = list_commit(&from, &work->first_tree, odb, first);

	if (rc == 0)
		rc = list_commit(&work->all, &work->head_tree, odb, head);
	if (rc < 0)
		return rc;
	ews_rules_own(&own, session->repo, session->state.workspace);
	ews_changes_between(&changes, &from, &work->all, ews_entry_equal_in_git);
	for (size_t i = 0; i < changes.n; i++) {
		bool is_own = ews_path_is_inside_any(changes.items[i].path, (const char *const *)own.items);

		work->has_own = work->has_own || is_own;
		if (!is_own)
			take_change(work, &changes.items[i]);
	}
	return 0;
}

/* Where both changed a line, or nothing can be merged, it is as was committed. */
static int merge(struct ews_entries *out, struct ews_batch *batch, const struct work *work,
		 const struct ews_skips *skips)
{
	EWS_CLEANUP(changes) struct ews_changes changes = EWS_CHANGES_INIT;
	EWS_CLEANUP(merge_result) struct ews_merge_result result = EWS_MERGE_RESULT_INIT;
	const char *const closed[] = { NULL };
	const struct ews_merge_opts opts = { .odb = work->session->repo->odb,
					     .batch = batch,
					     .ours = work->ours,
					     .skips = skips,
					     .closed = closed,
					     .changes = &changes,
					     .theirs = &work->all,
					     .favor = EWS_MERGE_THEIRS,
					     .is_nowhere = true };
	int rc;

	ews_changes_between(&changes, &work->from, &work->to, ews_entry_equal_in_git);
	rc = ews_merge(out, &result, &opts);
	assert(rc < 0 || !result.conflicts.n);
	return rc;
}

/* What is new can be read only then. */
static int commit_batch(struct ews_batch *batch, struct ews_odb *odb)
{
	int rc = ews_batch_commit(batch);

	return rc < 0 ? rc : ews_odb_refresh(odb);
}

/* Do to `base` what lies between `first` and `head`. */
static int write_tree(struct ews_oid *out, const struct ews_session *session, const struct ews_oid *base,
		      const struct ews_oid *first, const struct ews_oid *head)
{
	struct ews_odb *odb = session->repo->odb;
	EWS_CLEANUP(batch) struct ews_batch *batch = ews_batch_new(odb);
	EWS_CLEANUP(entries) struct ews_entries ours = EWS_ENTRIES_INIT;
	EWS_CLEANUP(entries) struct ews_entries merged = EWS_ENTRIES_INIT;
	EWS_CLEANUP(work) struct work work = { .session = session, .ours = &ours };
	const struct ews_skips skips = EWS_SKIPS_INIT;
	struct ews_oid base_tree;
	int rc = list_commit(&ours, &base_tree, odb, base);

	if (rc == 0)
		rc = read_work(&work, first, head);
	*out = work.head_tree;
	if (rc == 0 && ews_oid_equal(&base_tree, &work.first_tree) && !work.has_own)
		return 0;
	if (rc == 0)
		rc = merge(&merged, batch, &work, &skips);
	if (rc < 0)
		return or_lost(rc);
	rc = ews_tree_write(out, batch, &merged);
	return rc < 0 ? rc : commit_batch(batch, odb);
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

/* The files that give attributes there, as far as they are to be had: to begin with, and as they were committed. */
static void list_attributes(struct ews_entries *out, const struct work *work)
{
	EWS_CLEANUP(entries) struct ews_entries ours = EWS_ENTRIES_INIT;
	EWS_CLEANUP(entries) struct ews_entries list = EWS_ENTRIES_INIT;

	ews_convert_list_attributes(&ours, work->ours);
	ews_convert_list_attributes(&list, &work->to);
	for (size_t i = 0; i < ours.n; i++)
		if (!ews_entries_find(&work->from, ours.items[i].path) && !ews_entries_find(&list, ours.items[i].path))
			ews_entries_add_copy(&list, &ours.items[i]);
	for (size_t i = 0; i < list.n; i++)
		if (!lacks_content(work->session->repo->odb, &list.items[i]))
			ews_entries_add_copy(out, &list.items[i]);
	ews_entries_sort(out);
}

struct conversion {
	struct ews_entries *list;
	struct ews_batch *batch;
};

/* A file's content as git would have put it there. */
static int take_converted(void *payload, struct ews_entry *entry, const void *data, size_t len)
{
	const struct conversion *conversion = payload;
	struct ews_entry *to = ews_entries_find(conversion->list, entry->path);

	return ews_batch_add(&to->oid, conversion->batch, EWS_OBJECT_BLOB, data, len);
}

static int convert_list(struct ews_entries *list, struct ews_strv *filtered, struct ews_batch *batch,
			const struct ews_entries *attributes, const char *work_tree, struct ews_repo *repo)
{
	EWS_CLEANUP(entries) struct ews_entries files = EWS_ENTRIES_INIT;
	struct conversion conversion = { list, batch };
	const struct ews_convert convert = { .repo = repo,
					     .work_tree = work_tree,
					     .all = attributes,
					     .filtered = filtered,
					     .take = take_converted,
					     .payload = &conversion };

	for (size_t i = 0; i < list->n; i++)
		if (is_file(&list->items[i]) && !lacks_content(repo->odb, &list->items[i]))
			ews_entries_add_copy(&files, &list->items[i]);
	return files.n ? ews_convert(&convert, &files) : 0;
}

/* What had the line ends of what is stored, as anything but git writes them, goes on with these. */
static void keep_stored(struct work *work, const struct ews_entries *from, const struct ews_entries *to)
{
	for (size_t i = 0; i < from->n; i++) {
		const struct ews_entry *was = &from->items[i];
		const struct ews_entry *mine = ews_entries_find(work->ours, was->path);
		const struct ews_entry *stored = ews_entries_find(to, was->path);

		if (!stored || !is_file(mine) || !ews_oid_equal(&mine->oid, &was->oid) ||
		    ews_oid_equal(&work->from.items[i].oid, &was->oid))
			continue;
		work->from.items[i].oid = was->oid;
		ews_entries_find(&work->to, was->path)->oid = stored->oid;
	}
}

/* Both as they were in the workspace; by whose rules is that of the files there, and the project may have got others since. */
static int convert(struct work *work, struct ews_batch *batch)
{
	struct ews_repo *repo = work->session->repo;
	EWS_CLEANUP(bench) struct ews_bench bench = EWS_BENCH_INIT;
	EWS_CLEANUP(entries) struct ews_entries attributes = EWS_ENTRIES_INIT;
	EWS_CLEANUP(entries) struct ews_entries from = EWS_ENTRIES_INIT;
	EWS_CLEANUP(entries) struct ews_entries to = EWS_ENTRIES_INIT;
	EWS_CLEANUP(free) char *dir = NULL;
	int rc = repo->is_bare ? 0 : ews_bench_make(&bench, repo);

	if (rc < 0 || repo->is_bare)
		return rc;
	list_attributes(&attributes, work);
	ews_entries_add_all(&from, &work->from);
	ews_entries_add_all(&to, &work->to);
	dir = ews_path_join(bench.dir, "files");
	rc = ews_convert_put_attributes(dir, repo, &attributes);
	if (rc == 0)
		rc = convert_list(&work->from, NULL, batch, &attributes, dir, repo);
	if (rc == 0)
		rc = convert_list(&work->to, &work->filtered, batch, &attributes, dir, repo);
	if (rc == 0)
		keep_stored(work, &from, &to);
	return rc;
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

static int merge_files(struct ews_entries *out, struct work *work, const struct ews_skips *skips,
		       const struct ews_oid *first, const struct ews_oid *head)
{
	struct ews_odb *odb = work->session->repo->odb;
	EWS_CLEANUP(batch) struct ews_batch *batch = ews_batch_new(odb);
	EWS_CLEANUP(batch) struct ews_batch *merged = ews_batch_new(odb);
	int rc = read_work(work, first, head);

	if (rc == 0)
		rc = convert(work, batch);
	if (rc == 0)
		rc = commit_batch(batch, odb);
	if (rc == 0) {
		ews_merge_take_modes(&work->from, work->ours);
		ews_merge_take_modes(&work->to, work->ours);
		rc = merge(out, merged, work, skips);
	}
	if (rc == 0)
		rc = commit_batch(merged, odb);
	return rc < 0 ? rc : measure(out, work->ours, odb);
}

/*
 * Was it at `skip`, or in its place, that something was committed, or that a repository went? What is ignored may have files among it
 * that are not.
 */
static bool is_overtaken(const struct ews_skip *skip, const struct work *work)
{
	EWS_CLEANUP(free) char *at = ews_strdup(skip->path);
	bool is_by_rule = skip->reason == EWS_SKIP_IGNORED || skip->reason == EWS_SKIP_PRESENT;
	bool is = is_repository(ews_entries_find(&work->from, skip->path)) ||
		  (!is_by_rule && ews_entries_has_below(&work->to, skip->path));

	for (char *slash = at; slash && !is; slash = strrchr(at, '/')) {
		const struct ews_entry *entry;

		if (slash != at)
			*slash = '\0';
		entry = ews_entries_find(&work->to, at);
		is = entry && entry->type != EWS_ENTRY_DIR;
	}
	return is;
}

/* Of what was committed, and is not as the base has it, those that have a filter. */
static void name_unfiltered(struct ews_strv *out, const struct work *work, const struct ews_entries *files)
{
	for (size_t i = 0; i < work->filtered.n; i++) {
		EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
		const char *filter = ews_path_line_split(&path, work->filtered.items[i]);
		const struct ews_entry *entry = ews_entries_find(files, path.ptr);
		const struct ews_entry *mine = ews_entries_find(work->ours, path.ptr);

		if (entry && !(mine && ews_oid_equal(&mine->oid, &entry->oid)))
			ews_path_line_add(out, path.ptr, filter);
	}
}

static void drop_skips(struct ews_skips *skips, const struct work *work)
{
	struct ews_skips kept = EWS_SKIPS_INIT;

	for (size_t i = 0; i < skips->n; i++)
		if (!is_overtaken(&skips->items[i], work))
			ews_skips_add(&kept, skips->items[i].path, skips->items[i].reason, skips->items[i].size)->type =
				skips->items[i].type;
	ews_skips_release(skips);
	*skips = kept;
}

int ews_remains_files(struct ews_scan *scan, struct ews_strv *left_out, struct ews_strv *unfiltered,
		      const struct ews_session *session, const struct ews_oid *first)
{
	EWS_CLEANUP(strv) struct ews_strv lines = EWS_STRV_INIT;
	EWS_CLEANUP(entries) struct ews_entries files = EWS_ENTRIES_INIT;
	EWS_CLEANUP(work) struct work work = { .session = session, .ours = &scan->entries, .left_out = &lines };
	struct ews_entries base = scan->entries;
	struct ews_oid head;
	int rc = find_work(&head, session, first);

	if (rc == 0)
		return EWS_REMAINS_NO_WORK;
	if (rc == HAS_WORK)
		rc = merge_files(&files, &work, &scan->skips, first, &head);
	if (rc == EWS_EINTERRUPTED)
		return rc;
	/* No end depends on it. */
	if (rc != 0) {
		ews_error_clear();
		return EWS_REMAINS_WORK_LOST;
	}
	name_unfiltered(unfiltered, &work, &files);
	drop_skips(&scan->skips, &work);
	scan->entries = files;
	files = base;
	if (left_out)
		ews_strv_add_array(left_out, lines.items);
	return EWS_REMAINS_WORK;
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
	return rc == HAS_WORK ? write_tree(out, session, base, &first, &head) : rc;
}
