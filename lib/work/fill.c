/*
 * Filling: see fill.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/fill.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/path_line.h"
#include "store/convert.h"
#include "store/put.h"
#include "work/claim.h"
#include "work/session_place.h"
#include "work/submodule.h"

/* The twin's own files and the ignored ones that come along, as one list: directories get their times when all is in them. */
static void list_new(struct ews_changes *out, const struct ews_entries *list, const struct ews_entries *ignored)
{
	EWS_CLEANUP(entries) struct ews_entries nothing = EWS_ENTRIES_INIT;

	ews_changes_between(out, &nothing, list, ews_entry_equal);
	if (!ignored->n)
		return;
	ews_changes_between(out, &nothing, ignored, ews_entry_equal);
	ews_changes_sort(out);
}

/* What could not be copied of the ignored files is left out, by name. Returns whether all that failed was such. */
static bool drop_failed(struct ews_ignored *ignored, struct ews_twin *twin, const struct ews_strv *failed)
{
	for (size_t i = 0; i < failed->n; i++) {
		EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
		const char *line = failed->items[i];
		const char *why = ews_path_line_split(&path, line);

		if (ews_entries_find(&twin->content.scan.entries, path.ptr))
			return false;
		ews_strv_addf(&twin->notes, "an ignored file was left out: %.*s: %s", (int)strcspn(line, "\t"),
			      line, why);
		ews_ignored_drop(ignored, &twin->content, path.ptr);
	}
	return true;
}

/*
 * Say of the first that failed why, and what helps; where a partial clone lacks its object, git fetches all those of
 * the commit.
 */
static int fail_put(const struct ews_repo *repo, const struct ews_twin *twin, const char *line)
{
	EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT, content = EWS_BUF_INIT;
	EWS_CLEANUP(free) char *git = ews_repo_git_words(repo);
	struct ews_odb *odb = repo->odb;
	size_t len = strcspn(line, "\t");
	const struct ews_entry *entry = NULL;
	char from[EWS_OID_HEX_MAX], to[EWS_OID_HEX_MAX];
	enum ews_object_type type;
	struct ews_oid empty;
	bool lacks;
	int rc = 0;

	if (ews_path_unescape(&path, line, len) == 0)
		entry = ews_entries_find(&twin->content.scan.entries, path.ptr);
	if (entry && ews_oid_is_none(&entry->oid))
		entry = NULL;
	/* First, for to look for it sets errors, and clears them. */
	lacks = entry && ews_odb_is_partial(odb) && !ews_odb_has(odb, &entry->oid);
	if (entry && !lacks)
		rc = ews_odb_read(&content, &type, odb, &entry->oid);
	if (!ews_odb_has_lost(rc))
		rc = EWS_EIO;
	ews_error((enum ews_code)rc, "cannot fill the workspace: '%.*s': %s", (int)len, line, line + len + 1);
	if (rc != EWS_EIO)
		ews_error_hint("nothing was begun; '%s fsck' shows what else the store has lost", git);
	if (!lacks || twin->is_unborn)
		return rc;
	ews_odb_empty_tree(&empty, odb);
	ews_error_hint("'git diff --shortstat %s %s' fetches what is missing", ews_oid_hex(from, &empty),
		       ews_oid_hex(to, &twin->head));
	return rc;
}

/* Files that come from objects, as git stores them: those that a filter would have changed. */
static bool *mark_stored(const struct ews_entries *list)
{
	bool *is_stored = ews_calloc(list->n, sizeof(*is_stored));

	for (size_t i = 0; i < list->n; i++)
		is_stored[i] = list->items[i].type == EWS_ENTRY_FILE && !list->items[i].has_stat;
	return is_stored;
}

/*
 * Fill the workspace from the project's files where they still are what was scanned, else from objects. `*is_stored`, which the
 * caller frees, says of each of the twin's entries then whether it came from these.
 */
static int put_files(struct ews_filled *out, bool **is_stored, struct ews_session *session, struct ews_twin *twin,
		     const struct ews_fill_opts *opts)
{
	struct ews_repo *repo = session->repo;
	struct ews_ignored *ignored = &out->ignored;
	struct ews_entries *list = &twin->content.scan.entries;
	EWS_CLEANUP(put_report) struct ews_put_report report = EWS_PUT_REPORT_INIT;
	EWS_CLEANUP(changes) struct ews_changes changes = EWS_CHANGES_INIT;
	EWS_CLEANUP(fd) int source = repo->is_bare ? -1 : ews_dir_open(repo->project);
	EWS_CLEANUP(fd)
	int root = source < 0 && !repo->is_bare ? source
						: ews_claim_make_workspace(session, source, opts->is_elsewhere);
	struct ews_put_opts put = { .root_fd = root,
				    .odb = repo->odb,
				    .source_fd = source,
				    .stats = { list, &ignored->entries },
				    .times = EWS_PUT_TIMES_KEEP,
				    .progress = opts->progress,
				    .payload = opts->payload };
	int rc;

	if (root < 0)
		return root;
	rc = ews_ignored_choose(ignored, repo, &twin->content, root, opts->keep_ignored, &twin->notes);
	if (rc == 0 && twin->is_composed)
		rc = ews_ignored_obey(ignored, repo, &twin->content, &twin->notes);
	if (rc < 0)
		return rc;
	/* Likewise, and once all of the twin's entries are there. */
	*is_stored = opts->is_state ? ews_calloc(list->n, sizeof(**is_stored)) : mark_stored(list);
	list_new(&changes, list, &ignored->entries);
	rc = ews_put(&report, &changes, &put);
	for (size_t i = 0; i < report.lost_attrs.n; i++)
		ews_strv_addf(&twin->notes, "an attribute could not be set: %s", report.lost_attrs.items[i]);
	if (rc > 0 && !drop_failed(ignored, twin, &report.failed))
		rc = fail_put(repo, twin, report.failed.items[0]);
	if (rc < 0)
		return rc;
	out->workspace_fd = ews_steal_fd(&root);
	out->is_exact = !report.lost_attrs.n;
	return 0;
}

/* Does the user's or the system's own config name a program for it? Then it was run. */
static bool is_users_filter(const char *filter)
{
	static const char *const programs[] = { "smudge", "process" };
	bool found = false;

	for (size_t i = 0; i < 2 && !found; i++) {
		EWS_CLEANUP(free) char *key = ews_strfmt("filter.%s.%s", filter, programs[i]);
		EWS_CLEANUP(free) char *value = NULL;

		found = ews_odb_config_user(&value, key) == 0 && *value;
		ews_error_clear();
	}
	return found;
}

static void name_filtered(struct ews_twin *twin, const struct ews_strv *filtered, bool run_filters)
{
	for (size_t i = 0; i < filtered->n; i++) {
		const char *line = filtered->items[i], *filter = ews_path_line_words(line);

		if (run_filters && is_users_filter(filter))
			continue;
		ews_strv_addf(&twin->notes, "'%.*s' comes as git stores it: the filter '%s' is not run",
			      (int)strcspn(line, "\t"), line, filter);
	}
}

/* What the workspace's files that come from objects are written with. */
struct rewrite {
	struct ews_batch *batch;
	int workspace_fd;
};

/* Write a file as git would have checked it out; that is what the base holds, then. */
static int rewrite_file(void *payload, struct ews_entry *entry, const void *data, size_t len)
{
	struct rewrite *rewrite = payload;
	const char *name;
	EWS_CLEANUP(fd) int dir = ews_dir_open_parent(rewrite->workspace_fd, entry->path, &name);
	struct stat st;
	int rc = dir < 0 ? dir : ews_batch_add(&entry->oid, rewrite->batch, EWS_OBJECT_BLOB, data, len);

	if (rc == 0)
		rc = ews_file_replace(dir, name, data, len, entry->mode);
	if (rc < 0)
		return ews_error_wrap("cannot write '%s'", entry->path);
	if (fchmodat(dir, name, entry->mode, 0) < 0 || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return ews_error_os("cannot set the mode of '%s'", entry->path);
	ews_entry_set_stat(entry, &st);
	return 0;
}

/*
 * Files from objects get the line ends and the encoding that git would give them. The stat data of what is stored are those
 * of the new files by now, so it is told by `is_stored`.
 */
static int convert_stored(const struct ews_filled *filled, const struct ews_session *session, struct ews_twin *twin,
			  struct ews_batch *batch, const bool *is_stored, bool run_filters)
{
	struct ews_entries *all = &twin->content.scan.entries;
	EWS_CLEANUP(entries) struct ews_entries list = EWS_ENTRIES_INIT; /* its strings are theirs */
	EWS_CLEANUP(strv) struct ews_strv filtered = EWS_STRV_INIT;
	struct rewrite rewrite = { batch, filled->workspace_fd };
	size_t n_stored = 0;
	const struct ews_convert convert = { .repo = session->repo,
					     .work_tree = session->state.workspace,
					     .all = filled->ignored.entries.n ? NULL : all,
					     .run_filters = run_filters,
					     .take = rewrite_file,
					     .payload = &rewrite,
					     .filtered = &filtered };
	int rc;

	for (size_t i = 0; i < all->n; i++)
		n_stored += is_stored[i];
	EWS_GROW_TO(list.items, n_stored, list.cap);
	for (size_t i = 0; i < all->n; i++) {
		if (!is_stored[i])
			continue;
		list.items[list.n] = all->items[i];
		list.items[list.n++].has_stat = false;
	}
	rc = list.n ? ews_convert(&convert, &list) : 0;
	name_filtered(twin, &filtered, run_filters);
	for (size_t i = 0; i < list.n && rc == 0; i++)
		if (list.items[i].has_stat)
			*ews_entries_find(all, list.items[i].path) = list.items[i];
	return rc < 0 ? rc : ews_batch_commit(batch);
}

/* A link of the workspace through which one would write into the project after all. */
static void name_links_back(struct ews_twin *twin, const struct ews_session *session, const struct ews_entries *list)
{
	const char *workspace = session->state.workspace;

	for (size_t i = 0; i < list->n; i++) {
		EWS_CLEANUP(free) char *path = NULL;
		EWS_CLEANUP(free) char *dir = NULL;
		EWS_CLEANUP(free) char *target = NULL;
		char text[PATH_MAX];
		ssize_t len;

		if (list->items[i].type != EWS_ENTRY_LINK)
			continue;
		path = ews_path_join(workspace, list->items[i].path);
		dir = ews_path_dir(path);
		len = readlink(path, text, sizeof(text) - 1);
		if (len < 0)
			continue;
		text[len] = '\0';
		target = ews_path_absolute(dir, text);
		if (ews_path_is_inside(target, session->repo->project) && !ews_path_is_inside(target, workspace))
			ews_strv_addf(
				&twin->notes,
				"the link '%s' leads into the project: what is written through it is written there",
				list->items[i].path);
	}
}

/* What did not come along is named, and no matter to the base; of what is there that knows at least that it is. */
static void part_skips(struct ews_filled *out, struct ews_skips *skips)
{
	const struct ews_strv *filled = &out->submodules;
	size_t kept = 0;

	for (size_t i = 0; i < skips->n; i++) {
		const struct ews_skip skip = skips->items[i];
		bool is_nested = ews_skip_is_gits(skip.reason);
		bool is_there = skip.reason == EWS_SKIP_PRESENT || (is_nested && ews_strv_has(filled, skip.path));

		if (!is_there)
			ews_skips_add(&out->skips, skip.path, skip.reason, skip.size);
		if (is_there || !is_nested)
			skips->items[kept++] = skip;
	}
	skips->n = kept;
	/* A commit's submodule need not have been looked at in the project. */
	for (size_t i = 0; i < filled->n; i++)
		if (!ews_skips_covering(skips, filled->items[i]))
			ews_skips_add(skips, filled->items[i], EWS_SKIP_REPOSITORY, 0);
	ews_skips_sort(skips);
}

static int fill_submodules(struct ews_filled *out, const struct ews_session *session, struct ews_twin *twin,
			   const struct ews_fill_opts *opts)
{
	const struct ews_place place = ews_session_place(session);
	const struct ews_submodule_opts of_project = { .place = &place,
						       .project = session->repo->project,
						       .progress = opts->progress,
						       .payload = opts->payload };
	int rc = 0;

	if (!session->repo->is_bare)
		rc = ews_submodule_fill_all(&out->submodules, &twin->notes, &twin->content, &of_project);
	if (rc < 0)
		return rc;
	part_skips(out, &twin->content.scan.skips);
	return 0;
}

int ews_fill(struct ews_filled *out, struct ews_session *session, struct ews_twin *twin, struct ews_batch *batch,
	     const struct ews_fill_opts *opts)
{
	EWS_CLEANUP(filled) struct ews_filled filled = EWS_FILLED_INIT;
	EWS_CLEANUP(free) bool *is_stored = NULL;
	int rc;

	/* While the entries have the project's stat data. */
	rc = ews_twin_mark_clean(twin, session->repo);
	if (rc < 0)
		return rc;
	ews_alloc_give_back();
	rc = put_files(&filled, &is_stored, session, twin, opts);
	if (rc < 0)
		return rc;
	ews_alloc_give_back();
	name_links_back(twin, session, &twin->content.scan.entries);
	name_links_back(twin, session, &filled.ignored.entries);
	rc = fill_submodules(&filled, session, twin, opts);
	if (rc == 0)
		rc = convert_stored(&filled, session, twin, batch, is_stored, opts->run_filters);
	if (rc < 0)
		return rc;
	ews_alloc_give_back();
	*out = filled;
	filled = (struct ews_filled)EWS_FILLED_INIT;
	return 0;
}

void ews_filled_release(struct ews_filled *filled)
{
	if (filled->workspace_fd >= 0)
		(void)close(filled->workspace_fd); /* what was written through it has its own check */
	ews_ignored_release(&filled->ignored);
	ews_skips_release(&filled->skips);
	ews_strv_release(&filled->submodules);
	*filled = (struct ews_filled)EWS_FILLED_INIT;
}
