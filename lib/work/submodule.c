/*
 * Submodules: see submodule.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/submodule.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/path.h"
#include "base/str.h"
#include "base/sync.h"
#include "store/gitfile.h"
#include "store/put.h"
#include "store/tree.h"
#include "work/twin.h"

#define TOGETHER_MAX 64 /* files that get their names together */

/* What filling works with: the workspace's place and where the project is. */
struct fill {
	const struct ews_place *place;
	const char *project;
	struct ews_strv *notes;
	struct ews_sync_group *group; /* of this thread: what is made of repositories */
};

/* Where the ".git" in `dir` leads. Returns 1, or 0 where that is nowhere, or there is none; fails where that can't be seen. */
static int find_git_dir(char **out, const char *dir)
{
	EWS_CLEANUP(free) char *path = ews_path_join(dir, EWS_GITFILE);
	struct stat st;

	if (lstat(path, &st) < 0)
		return ews_errno_is_absent(errno) ? 0 : ews_error_os("cannot look for '%s'", path);
	if (!S_ISDIR(st.st_mode))
		return ews_gitfile_find(out, path);
	*out = realpath(path, NULL);
	return *out ? 1 : ews_error_os("cannot look for '%s'", path);
}

static int is_below(const char *git_dir, const char *modules)
{
	EWS_CLEANUP(free) char *real = realpath(modules, NULL);

	if (real)
		return ews_path_is_inside(git_dir, real);
	return ews_errno_is_absent(errno) ? 0 : ews_error_os("cannot look for '%s'", modules);
}

/* Is `git_dir` one of the project's own: below its `modules/`, or the submodule's own `.git`? */
static int is_own(const struct fill *fill, const char *git_dir, const char *dir)
{
	EWS_CLEANUP(free) char *common = ews_path_join(fill->place->common_dir, "modules");
	EWS_CLEANUP(free) char *own = ews_path_join(dir, EWS_GITFILE);
	char linked[64];
	int rc = is_below(git_dir, common);

	/* A linked worktree has modules of its own. */
	snprintf(linked, sizeof(linked), "/proc/self/fd/%d/modules", fill->place->git_fd);
	if (rc == 0)
		rc = is_below(git_dir, linked);
	return rc == 0 ? !strcmp(git_dir, own) : rc;
}

/* HEAD detached, and a merge's files; the index is written anew, and what config.worktree says is not carried, nor what it turns on. */
static void take_gitstate(struct ews_gitstate *out, const struct ews_gitstate *from, const struct ews_oid *head,
			  bool with_merge)
{
	EWS_CLEANUP(free) char *text = NULL;
	char hex[EWS_OID_HEX_MAX];

	for (size_t i = 0; i < from->files.n && with_merge; i++)
		if (!ews_gitstate_is_under_way(from->files.items[i].name) &&
		    strcmp(from->files.items[i].name, "config.worktree") &&
		    strcmp(from->files.items[i].name, EWS_GITSTATE_SPARSE) &&
		    !ews_str_begins(from->files.items[i].name, "sharedindex."))
			ews_gitstate_set_file(out, from->files.items[i].name, from->files.items[i].data.ptr,
					      from->files.items[i].data.len);
	if (ews_oid_is_none(head))
		return;
	text = ews_strfmt("%s\n", ews_oid_hex(hex, head));
	ews_gitstate_set_file(out, "HEAD", text, strlen(text));
}

/* What stands in the project: names and stat data alone, for put copies the files. */
static int look(struct ews_twin *twin, struct ews_odb *odb, int git_fd, int from_fd)
{
	struct ews_scan_opts scan = { .root_fd = from_fd, .into_mounts = true };
	struct ews_scan_fill_opts attrs = { .odb = odb, .attrs_only = true };
	int rc = ews_scan(&twin->content.scan, &scan);

	if (rc == 0)
		rc = ews_scan_fill(&twin->content.scan, &attrs);
	if (rc == 0)
		rc = ews_index_read(&twin->index, git_fd, "index", ews_odb_algo(odb));
	if (rc < 0)
		return rc;
	/* It may name trees that nothing else does: a gc of the submodule's store would stumble when they have gone. */
	ews_buf_truncate(&twin->index.trees, 0);
	return ews_twin_mark_clean(twin, NULL);
}

/* What the commit `oid` has, and an index that says so. */
static int list_commit(struct ews_twin *twin, struct ews_odb *odb, const struct ews_oid *oid)
{
	EWS_CLEANUP(commit) struct ews_commit commit = EWS_COMMIT_INIT;
	int rc = ews_odb_read_commit(&commit, odb, oid);

	if (rc == 0)
		rc = ews_tree_list(&twin->content.scan.entries, odb, &commit.tree);
	for (size_t i = 0; rc == 0 && i < twin->content.scan.entries.n; i++) {
		const struct ews_entry *entry = &twin->content.scan.entries.items[i];
		struct ews_index_entry *ie;

		if (entry->type == EWS_ENTRY_DIR)
			continue;
		ie = ews_index_add(&twin->index, entry->path);
		ie->mode = ews_entry_git_mode(entry);
		ie->oid = entry->oid;
	}
	twin->index.version = 2;
	ews_index_sort(&twin->index);
	return rc < 0 ? rc : ews_twin_mark_clean(twin, NULL);
}

static int put_files(struct fill *fill, struct ews_twin *twin, struct ews_odb *odb, const char *path, int from_fd,
		     int to_fd)
{
	EWS_CLEANUP(put_report) struct ews_put_report report = EWS_PUT_REPORT_INIT;
	EWS_CLEANUP(entries) struct ews_entries nothing = EWS_ENTRIES_INIT;
	EWS_CLEANUP(changes) struct ews_changes changes = EWS_CHANGES_INIT;
	struct ews_put_opts put = {
		.root_fd = to_fd, .odb = odb, .source_fd = from_fd, .stats = { &twin->content.scan.entries }
	};
	int rc;

	ews_changes_between(&changes, &nothing, &twin->content.scan.entries, ews_entry_equal);
	rc = ews_put(&report, &changes, &put);
	for (size_t i = 0; i < report.failed.n; i++)
		ews_strv_addf(fill->notes, "a file of the submodule '%s' was left out: %s", path,
			      report.failed.items[i]);
	return rc < 0 ? rc : 0;
}

static int write_repository(struct fill *fill, struct ews_twin *twin, struct ews_odb *odb, const char *path,
			    const char *git_dir, int git_fd, int to_fd)
{
	EWS_CLEANUP(free) char *workspace = ews_path_join(fill->place->workspace, path);
	struct ews_place place = *fill->place;
	struct timespec now;

	place.workspace = workspace;
	place.common_fd = place.git_fd = git_fd;
	place.common_dir = git_dir;
	place.odb = odb;
	place.is_plain = false;
	ews_twin_format_index(&twin->content.git.index, twin, ews_odb_algo(odb), getegid());
	clock_gettime(CLOCK_REALTIME, &now);
	twin->content.git.has_index = true;
	twin->content.git.index_mtime_s = now.tv_sec;
	twin->content.git.index_mtime_ns = (uint32_t)now.tv_nsec;
	return ews_method_snapshot.prepare(&place, to_fd, &twin->content.git);
}

/* One of them, whose git directory is known. Fills `twin` with what is in it. */
static int fill_one(struct fill *fill, struct ews_twin *twin, const char *path, const struct ews_entry *entry,
		    const char *git_dir, int from_fd)
{
	EWS_CLEANUP(odb) struct ews_odb *odb = NULL;
	EWS_CLEANUP(gitstate) struct ews_gitstate git = EWS_GITSTATE_INIT;
	EWS_CLEANUP(fd) int git_fd = ews_dir_open(git_dir);
	EWS_CLEANUP(fd) int to_fd = -1;
	EWS_CLEANUP(fd) int workspace_fd = ews_dir_open(fill->place->workspace);
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
				     { .tv_sec = entry->mtime_s, .tv_nsec = entry->mtime_ns } };
	struct ews_oid head = entry->oid;
	int rc = git_fd < 0 ? git_fd : workspace_fd;

	if (rc >= 0)
		rc = ews_odb_open(&odb, git_dir, fill->place->home);
	if (rc == 0)
		rc = ews_gitstate_read(&git, git_fd);
	if (rc == 0 && entry->has_stat)
		rc = ews_odb_find_head(&head, odb);
	if (rc >= 0)
		rc = entry->has_stat ? look(twin, odb, git_fd, from_fd) : list_commit(twin, odb, &entry->oid);
	if (rc < 0)
		return rc;
	take_gitstate(&twin->content.git, &git, &head, entry->has_stat);
	to_fd = ews_dir_open_beneath(workspace_fd, path);
	if (to_fd < 0)
		return to_fd;
	rc = put_files(fill, twin, odb, path, entry->has_stat ? from_fd : -1, to_fd);
	if (rc == 0)
		rc = write_repository(fill, twin, odb, path, git_dir, git_fd, to_fd);
	if (rc == 0 && ews_odb_is_partial(odb))
		ews_strv_addf(fill->notes,
			      "the submodule '%s' is a partial clone: git fetches nothing into the workspace's, where a "
			      "checkout of another commit may lack files",
			      path);
	if (rc == 0 && entry->has_time && futimens(to_fd, times) < 0)
		rc = ews_error_os("cannot set the time of '%s'", path);
	return rc;
}

/* Each file has some descriptors until it has its name, and there may be few of them. */
static size_t together_max(void)
{
	const long descriptors = sysconf(_SC_OPEN_MAX);
	const size_t n = descriptors > 0 ? (size_t)descriptors / 16 : TOGETHER_MAX;

	return n < TOGETHER_MAX ? n : TOGETHER_MAX;
}

/* The names that come later are of the same file system, and are waited for: at last those of the workspace's own git. */
static int make_room(struct ews_sync_group *group)
{
	int rc;

	if (!group->n || group->n < together_max())
		return 0;
	rc = ews_sync_finish_in_order(group);
	ews_sync_begin(group);
	return rc;
}

/* Fill the submodule `path`, and those in it. Returns 1 when it is filled. */
static int fill_path(struct fill *fill, const char *path, const struct ews_entry *entry)
{
	EWS_CLEANUP(free) char *dir = ews_path_join(fill->project, path);
	EWS_CLEANUP(free) char *git_dir = NULL;
	EWS_CLEANUP(twin) struct ews_twin twin = EWS_TWIN_INIT;
	EWS_CLEANUP(fd) int project_fd = -1;
	EWS_CLEANUP(fd) int from_fd = -1;
	int rc = find_git_dir(&git_dir, dir);

	if (rc > 0)
		rc = project_fd = ews_dir_open(fill->project);
	if (project_fd >= 0)
		rc = from_fd = ews_dir_open_beneath(project_fd, path);
	if (from_fd >= 0)
		rc = is_own(fill, git_dir, dir);
	if (rc < 0 && ews_error_if_passing(rc) < 0)
		ews_strv_addf(fill->notes, "the submodule '%s' was left empty: %s", path, ews_error_message());
	if (rc < 0 || from_fd < 0) {
		ews_error_clear();
		return 0;
	}
	if (!rc) {
		ews_strv_addf(fill->notes, "the submodule '%s' was left empty: its repository is elsewhere, in '%s'",
			      path, git_dir);
		return 0;
	}
	rc = make_room(fill->group);
	if (rc < 0)
		return rc;
	rc = fill_one(fill, &twin, path, entry, git_dir, from_fd);
	if (rc == EWS_ENOSPACE)
		return rc;
	if (rc < 0) {
		ews_strv_addf(fill->notes, "the submodule '%s' is not whole: %s", path, ews_error_message());
		ews_error_clear();
		return 1;
	}
	for (size_t i = 0; i < twin.content.scan.entries.n; i++) {
		const struct ews_entry *inner = &twin.content.scan.entries.items[i];
		EWS_CLEANUP(free) char *inner_path = ews_path_join(path, inner->path);

		if (inner->type != EWS_ENTRY_GITLINK)
			continue;
		rc = fill_path(fill, inner_path, inner);
		if (rc < 0)
			return rc;
	}
	return 1;
}

static size_t count(const struct ews_entries *list)
{
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++)
		n += list->items[i].type == EWS_ENTRY_GITLINK;
	return n;
}

static int fill_all(struct ews_strv *filled, struct fill *fill, const struct ews_entries *list,
		    const struct ews_submodule_opts *opts)
{
	const size_t total = count(list);
	size_t done = 0;

	for (size_t i = 0; i < list->n; i++) {
		const struct ews_entry *entry = &list->items[i];
		int rc;

		if (entry->type != EWS_ENTRY_GITLINK)
			continue;
		rc = fill_path(fill, entry->path, entry);
		if (rc < 0)
			return ews_error_wrap("cannot fill the submodule '%s'", entry->path);
		if (rc == 1)
			ews_strv_add(filled, entry->path);
		if (opts->progress)
			opts->progress(opts->payload, ++done, total, 0);
	}
	return 0;
}

int ews_submodule_fill_all(struct ews_strv *filled, struct ews_strv *notes, const struct ews_content *twin,
			   const struct ews_submodule_opts *opts)
{
	EWS_CLEANUP(sync_group) struct ews_sync_group group = EWS_SYNC_GROUP_INIT;
	struct fill fill = { opts->place, opts->project, notes, &group };
	int rc;

	ews_sync_begin(&group);
	rc = fill_all(filled, &fill, &twin->scan.entries, opts);
	if (rc < 0)
		return rc;
	rc = ews_sync_finish_in_order(&group);
	return rc < 0 ? ews_error_wrap("cannot fill the submodules") : 0;
}
