/*
 * Branches: see branch.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/branch.h"

#include <errno.h>
#include <fcntl.h>
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
#include "base/shell_word.h"
#include "base/str.h"
#include "store/attr.h"
#include "store/config.h"
#include "store/convert.h"
#include "store/git_place.h"
#include "store/gitfile.h"
#include "store/index.h"
#include "store/tree.h"
#include "work/hidden.h"
#include "work/outcome.h"
#include "work/rules.h"
#include "work/session_place.h"
#include "work/stage.h"
#include "work/tripwire.h"
#include "work/tripwire_told.h"

#define HEAD_BYTES_MAX (64 * EWS_KIB)

/*
 * Does HEAD there stand for `ref`, or, with `or_below`, for one that has that for its directory? Fails where that can't be read just
 * now.
 */
static int heads_to(int fd, const char *ref, bool or_below)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int rc = fd < 0 ? fd : ews_file_read(&text, fd, "HEAD", HEAD_BYTES_MAX);
	const char *target;

	if (rc < 0)
		return ews_error_if_passing(rc);
	ews_buf_rtrim(&text);
	target = ews_odb_ref_target(text.ptr);
	return target && (or_below ? ews_path_is_inside(target, ref) : !strcmp(target, ref));
}

/* The entries of linked work trees, in the directory `*fd`. Returns how many, 0 where there is no such directory. */
static int list_entries(struct ews_dir_names *out, int *fd, const struct ews_repo *repo)
{
	ssize_t n;

	*fd = ews_dir_open_beneath(repo->common_fd, "worktrees");
	n = *fd < 0 ? *fd : ews_dir_names_read(out, *fd);
	return n < 0 ? ews_error_if_passing((int)n) : (int)n;
}

static int is_stood_on(struct ews_repo *repo, const char *ref, bool or_below, const char *but)
{
	EWS_CLEANUP(fd) int worktrees = -1;
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	int n = list_entries(&names, &worktrees, repo);
	int found = n < 0 ? n : heads_to(repo->common_fd, ref, or_below);

	for (int i = 0; i < n && found == 0; i++) {
		EWS_CLEANUP(fd) int fd = -1;

		if (but && !strcmp(names.items[i].name, but))
			continue;
		fd = ews_dir_open_beneath(worktrees, names.items[i].name);
		found = heads_to(fd, ref, or_below);
	}
	return found < 0 ? ews_error_wrap("cannot see who stands on '%s'", ref) : found;
}

int ews_branch_is_stood_on(struct ews_repo *repo, const char *ref, bool or_below)
{
	return is_stood_on(repo, ref, or_below, NULL);
}

int ews_branch_is_of_another(const struct ews_session *session, const char *ref)
{
	return session->method->owns_objects ? 0 : is_stood_on(session->repo, ref, false, session->state.id);
}

/* Is it the git directory that `repo` is seen from? */
static bool is_own(const struct ews_repo *repo, int fd)
{
	return ews_file_is_same_open(fd, repo->git_fd);
}

/* How the repository's own work tree is called: where nothing says its path, as with `git init --separate-git-dir`, by what it is of. */
static char *name_main_tree(const struct ews_repo *repo, const struct ews_git_place *place)
{
	EWS_CLEANUP(free) char *path = NULL;

	if (place->worktree.text)
		path = ews_git_place_path(place, repo->common_dir);
	else if (!strcmp(ews_path_base(repo->common_dir), EWS_GITFILE))
		path = ews_path_dir(repo->common_dir);
	return path && *path ? ews_strfmt("the work tree '%s'", path)
			     : ews_strfmt("the main work tree of '%s'", repo->common_dir);
}

/* The repository's own work tree, when it is another one and stands there; a bare one has none, whatever its HEAD says. */
static int find_main_tree(char **out, struct ews_repo *repo, const char *ref)
{
	EWS_CLEANUP(git_place) struct ews_git_place place = EWS_GIT_PLACE_INIT;
	int rc = is_own(repo, repo->common_fd) ? 0 : heads_to(repo->common_fd, ref, false);

	if (rc <= 0)
		return rc;
	rc = ews_git_place_read(&place, repo->common_dir, repo->common_dir);
	if (rc < 0)
		return ews_error_if_passing(rc);
	if (!ews_git_place_is_bare(&place, repo->common_dir))
		*out = name_main_tree(repo, &place);
	return 0;
}

/*
 * The linked one called `name`, as far as its entry says. One that has certainly gone has nothing that could seem changed, unless
 * its entry is locked: then it may be on a disk that isn't there now.
 */
static char *find_linked_tree(const struct ews_repo *repo, int entry_fd, const char *name)
{
	EWS_CLEANUP(free) char *entry = ews_strfmt("%s/worktrees/%s", repo->common_dir, name);
	EWS_CLEANUP(free) char *gitfile = ews_gitfile_back(entry);
	EWS_CLEANUP(free) char *path = gitfile ? ews_path_dir(gitfile) : ews_steal(&entry);
	bool is_locked = faccessat(entry_fd, "locked", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	struct stat st;

	if (!is_locked && gitfile && lstat(gitfile, &st) < 0 && ews_errno_is_absent(errno))
		return NULL;
	return ews_strfmt(is_locked ? "the locked work tree '%s'" : "the work tree '%s'", path);
}

int ews_branch_other_tree(char **out, struct ews_repo *repo, const char *ref)
{
	EWS_CLEANUP(fd) int worktrees = -1;
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	int n = list_entries(&names, &worktrees, repo), rc;

	*out = NULL;
	rc = n < 0 ? n : find_main_tree(out, repo, ref);
	for (int i = 0; i < n && rc >= 0 && !*out; i++) {
		EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(worktrees, names.items[i].name);

		rc = heads_to(fd, ref, false);
		if (rc > 0 && !is_own(repo, fd))
			*out = find_linked_tree(repo, fd, names.items[i].name);
	}
	return rc < 0 ? ews_error_wrap("cannot see who stands on '%s'", ref) : 0;
}

/* The commit that a session began with, and its tree; none where there was none. */
static int read_first(struct ews_oid *commit, struct ews_oid *tree, const struct ews_session *session)
{
	EWS_CLEANUP(commit) struct ews_commit first = EWS_COMMIT_INIT;
	int rc;

	*commit = *tree = (struct ews_oid)EWS_OID_NONE;
	if (!*session->state.base_commit)
		return 0;
	rc = ews_oid_parse(commit, session->state.base_commit);
	if (rc == 0)
		rc = ews_odb_read_commit(&first, session->repo->odb, commit);
	if (rc == 0)
		*tree = first.tree;
	return rc;
}

/* What the commit of the session's result says; the caller frees it. */
static char *find_message(const struct ews_session *session)
{
	const char *intent = session->state.intent;

	return intent && *intent ? ews_strdup(intent) : ews_strfmt("Result of session %s", session->state.id);
}

/* Did an end that was killed put the branch at `there`, for this very session as far as can be told before its result is known? */
static bool may_be_ours(const struct ews_session *session, const char *ref, const struct ews_oid *there)
{
	EWS_CLEANUP(commit) struct ews_commit commit = EWS_COMMIT_INIT;
	EWS_CLEANUP(free) char *message = find_message(session);
	struct ews_oid base, base_tree;
	bool is = ews_tripwire_has_moved_ref(session->repo, ref, there) &&
		  read_first(&base, &base_tree, session) == 0 &&
		  ews_odb_read_commit(&commit, session->repo->odb, there) == 0;

	ews_error_clear();
	if (!is || ews_oid_equal(there, &base))
		return is;
	return ews_str_begins(commit.message, message) &&
	       (commit.n_parents ? ews_oid_equal(&commit.parents[0], &base) : ews_oid_is_none(&base));
}

bool ews_branch_is_left(const struct ews_session *session, const char *name)
{
	EWS_CLEANUP(free) char *ref = ews_strfmt(EWS_REF_BRANCHES "%s", name);
	struct ews_oid there;
	bool is = ews_odb_ref_read(&there, session->repo->odb, ref) == 0 && may_be_ours(session, ref, &there);

	ews_error_clear();
	return is;
}

/* No word of how to delete it: what is there may be another session's result, that nothing else has. */
static int refuse_taken(const char *name)
{
	EWS_CLEANUP(free) char *shown = ews_shell_shown(name);

	ews_error(EWS_EEXISTS, "the branch '%s' is there already", name);
	ews_error_hint("take another name; 'git log %s --' shows what is on it", shown);
	return EWS_EEXISTS;
}

int ews_branch_check(struct ews_session *session, const char *name)
{
	EWS_CLEANUP(free) char *ref = ews_strfmt(EWS_REF_BRANCHES "%s", name);
	struct ews_repo *repo = session->repo;
	struct ews_oid there;
	int rc;

	if (repo->is_plain)
		return ews_error(EWS_EUSAGE, "'%s' is no git repository: it has no branches", repo->project);
	rc = ews_stage_check_branch(repo, name);
	if (rc < 0)
		return rc;
	rc = ews_odb_ref_read(&there, repo->odb, ref);
	if (rc == 0)
		return may_be_ours(session, ref, &there) ? 0 : refuse_taken(name);
	ews_error_clear();
	rc = ews_branch_is_stood_on(repo, ref, false);
	if (rc > 0) {
		ews_error(EWS_EEXISTS, "a work tree stands on the branch '%s', which has no commit yet", name);
		ews_error_hint("take another name: what is there would seem to be deleted");
		return EWS_EEXISTS;
	}
	return rc;
}

struct result {
	struct ews_session *session;
	struct ews_odb *odb;
	struct ews_entries stored; /* the first commit's files */
	struct ews_entries *now; /* the workspace's, to become the branch's */
	struct ews_strv marked; /* of them those that git was told not to look at, and that are as they were; sorted */
	struct ews_content base; /* see read_base() */
	bool has_base; /* it has been asked for */
};

static void release_result(struct result *result)
{
	ews_entries_release(&result->stored);
	ews_strv_release(&result->marked);
	ews_content_release(&result->base);
}

EWS_CLEANUP_DEFINE(result, struct result, release_result)

/* Let `base` be what the session began with, all of it; nothing where nobody knows that any more. */
static int read_base(struct result *result)
{
	EWS_CLEANUP(snapshot) struct ews_snapshot base = EWS_SNAPSHOT_INIT;
	struct ews_repo *repo = result->session->repo;
	int rc;

	if (result->has_base)
		return 0;
	rc = ews_snapshot_find(&base, repo, result->session->state.base_snapshot);
	if (rc == 0)
		rc = ews_snapshot_content(&result->base, repo, &base);
	if (rc < 0 && !ews_odb_has_lost(rc))
		return rc;
	ews_error_clear();
	result->has_base = true;
	return 0;
}

/* The index that it began with; none likewise. */
static int read_base_index(struct ews_index *out, struct result *result)
{
	int rc = read_base(result);

	if (rc == 0 && result->base.git.has_index)
		rc = ews_index_parse_state(out, &result->base.git, ews_odb_algo(result->odb));
	if (!ews_odb_has_lost(rc))
		return rc;
	ews_error_clear();
	return 0;
}

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

/*
 * Of a session that has ended the project's file stands for one that no snapshot has since it is ignored; it is not what the
 * session deleted, nor what the project got since.
 */
static int has_ignored(void *payload, const char *path)
{
	struct result *result = payload;
	int is = ews_entries_find(&result->stored, path) ? 0 : ews_rules_is_ignored_file(result->session->repo, path);
	int rc = is <= 0 ? is : read_base(result);

	return rc < 0 || is <= 0 ? rc : !ews_entries_find(&result->base.scan.entries, path);
}

/* What was left out of the workspace, or not looked at there, stays as it is stored. */
static void add_unseen(struct result *result, const struct ews_skips *skips, const struct ews_strv *own)
{
	size_t n = result->now->n;

	for (size_t i = 0; i < result->stored.n; i++) {
		const struct ews_entry *entry = &result->stored.items[i];
		const struct ews_entries before = { result->now->items, n, n, EWS_ARENA_INIT, false };
		bool is_own = ews_path_is_inside_any(entry->path, (const char *const *)own->items);

		if ((ews_skips_covering(skips, entry->path) || is_own) && !ews_entries_find(&before, entry->path))
			ews_entries_add_copy(result->now, entry);
	}
	ews_entries_sort(result->now);
}

/* What the workspace's index knows, and where it lies; below 0: there is none to ask. */
struct staged {
	struct ews_index index;
	int workspace_fd;
};

static void release_staged(struct staged *staged)
{
	ews_index_release(&staged->index);
	if (staged->workspace_fd >= 0)
		close(staged->workspace_fd);
}

EWS_CLEANUP_DEFINE(staged, struct staged, release_staged)

/* Where the workspace has none, or one that makes no sense, the base's says at least what git had left out of it. */
static int read_staged(struct staged *out, struct result *result, const struct ews_gitstate *git)
{
	const struct ews_session *session = result->session;

	if (session->state.state != EWS_STATE_ENDED)
		out->workspace_fd = ews_session_open_workspace(session);
	if (out->workspace_fd == EWS_EIO)
		return out->workspace_fd;
	if (git->has_index && ews_index_parse_state(&out->index, git, ews_odb_algo(result->odb)) == 0) {
		out->index.mtime_s = git->index_mtime_s;
		out->index.mtime_ns = git->index_mtime_ns;
		return 0;
	}
	ews_error_clear();
	return read_base_index(&out->index, result);
}

/* Does it lie below something that is no directory? */
static bool is_below_file(const struct ews_entries *list, const char *path)
{
	EWS_CLEANUP(free) char *at = ews_strdup(path);

	for (char *slash = strrchr(at, '/'); slash; slash = strrchr(at, '/')) {
		const struct ews_entry *entry;

		*slash = '\0';
		entry = ews_entries_find(list, at);
		if (entry)
			return entry->type != EWS_ENTRY_DIR;
	}
	return false;
}

static void set_from_index(struct ews_entry *entry, const struct ews_index_entry *ie)
{
	entry->type = ie->mode == EWS_MODE_GITLINK ? EWS_ENTRY_GITLINK
		      : S_ISLNK(ie->mode)          ? EWS_ENTRY_LINK
						   : EWS_ENTRY_FILE;
	entry->mode = ie->mode & 0777;
	entry->oid = ie->oid;
}

/* What the index has at a path that is left out, where nothing stands in the workspace after all. */
static void list_left_out(struct ews_entries *out, const struct result *result, const struct ews_index_entry *ie)
{
	const struct ews_entry *stored = ews_entries_find(&result->stored, ie->path);
	bool is_stored = stored && ews_oid_equal(&stored->oid, &ie->oid) && ews_entry_git_mode(stored) == ie->mode;

	if (ews_entries_find(result->now, ie->path) || is_below_file(result->now, ie->path))
		return;
	/* What a repository of its own has made of it nobody else has: then it is what it was. */
	if (!is_stored && ie->mode != EWS_MODE_GITLINK && !ews_odb_is_partial(result->odb))
		is_stored = !ews_odb_has(result->odb, &ie->oid);
	if (is_stored) {
		if (stored)
			ews_entries_add_copy(out, stored);
		return;
	}
	set_from_index(ews_entries_add(out, ie->path, strlen(ie->path)), ie);
}

/*
 * What git leaves out of the work tree, as a sparse checkout does, or a setting had us leave out, is not deleted: it is as
 * the index has it.
 */
static int add_left_out(struct result *result, struct ews_index *index)
{
	EWS_CLEANUP(entries) struct ews_entries list = EWS_ENTRIES_INIT;
	int rc = ews_index_expand(index, result->odb);

	for (size_t i = 0; i < index->n && rc == 0; i++)
		if (index->items[i].is_skip_worktree && !index->items[i].stage)
			list_left_out(&list, result, &index->items[i]);
	if (rc == 0)
		ews_entries_add_all(result->now, &list);
	ews_entries_sort(result->now);
	return rc;
}

/*
 * What nobody could look at when the session began did not come along: where nothing stands in its place nobody has deleted it, and it
 * stays as it is stored. In place it was there. Where git's index has lost it, be it on purpose, or since something took all that is not
 * there for deleted, it is named among `left_out`: that is not on the branch.
 */
static void add_never_came(struct ews_strv *left_out, struct result *result, const struct ews_index *index)
{
	const struct ews_scan *base = &result->base.scan;
	EWS_CLEANUP(entries) struct ews_entries list = EWS_ENTRIES_INIT;

	for (size_t i = 0; i < result->stored.n && !result->session->method->is_project; i++) {
		const char *path = result->stored.items[i].path;

		if (ews_skips_unseen(&base->skips, path) && !ews_entries_find(&base->entries, path) &&
		    !ews_entries_find(result->now, path) && !is_below_file(result->now, path))
			ews_entries_add_copy(&list, &result->stored.items[i]);
	}
	for (size_t i = 0; i < list.n; i++)
		if (list.items[i].type != EWS_ENTRY_DIR && !ews_index_find(index, list.items[i].path))
			ews_path_line_add(left_out, list.items[i].path, "its removal: it was left out at the start");
	ews_entries_add_all(result->now, &list);
	ews_entries_sort(result->now);
}

/* A filter that we don't run may have been run by git: what it stored of the very file that stands there is meant. */
static bool take_staged(struct ews_entry *now, const struct staged *staged, struct ews_odb *odb)
{
	const struct ews_index_entry *ie = ews_index_find(&staged->index, now->path);
	EWS_CLEANUP(fd) int dir_fd = -1;
	struct ews_entry there = *now;
	const char *name;
	struct stat st;

	if (!ie || staged->workspace_fd < 0)
		return false;
	dir_fd = ews_dir_open_parent(staged->workspace_fd, now->path, &name);
	if (dir_fd < 0 || fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		ews_error_clear();
		return false;
	}
	ews_entry_set_stat(&there, &st);
	if (there.mtime_s != now->mtime_s || there.mtime_ns != now->mtime_ns || there.size != now->size ||
	    !ews_index_stat_matches_filtered(&staged->index, ie, &there) || !ews_odb_has(odb, &ie->oid))
		return false;
	now->oid = ie->oid;
	return true;
}

/*
 * Of `changed`, take what a filter is for from the index, as far as that has it; `rest` is what remains, and what of that
 * there is a filter for is added to `unfiltered`.
 */
static int settle_filtered(struct ews_strv *rest, struct ews_strv *unfiltered, const struct ews_strv *changed,
			   struct result *result, const struct ews_convert *convert, const struct staged *staged)
{
	EWS_CLEANUP(strv) struct ews_strv filtered = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv taken = EWS_STRV_INIT;
	int rc = ews_attr_filtered(&filtered, convert->repo->odb, convert->repo->home, convert->work_tree, changed);

	for (size_t i = 0; i < filtered.n && rc == 0; i++) {
		EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;
		const char *line = filtered.items[i];

		(void)ews_path_line_split(&path, line);
		if (take_staged(ews_entries_find(result->now, path.ptr), staged, convert->repo->odb))
			ews_strv_add(&taken, path.ptr);
		else
			ews_strv_add(unfiltered, line);
	}
	ews_strv_sort(&taken);
	for (size_t i = 0; i < changed->n; i++)
		if (!ews_strv_sorted_has(&taken, changed->items[i]))
			ews_strv_add(rest, changed->items[i]);
	return rc;
}

/* Was git told not to look at the file, though it is there? In a sparse checkout it looks at what is there, whatever is left out. */
static bool is_marked(const struct ews_index_entry *ie, bool is_sparse)
{
	return !ie->stage && (ie->is_assumed_unchanged || (ie->is_skip_worktree && !is_sparse));
}

/*
 * A person's own changes of a tracked file, as of one with a password, are hidden from git by a mark, so that no commit has them:
 * what the session left as it was is on the branch as the index has it.
 */
static int take_marked(struct result *result)
{
	EWS_CLEANUP(index) struct ews_index index = EWS_INDEX_INIT;
	bool is_sparse;
	int rc = ews_config_git_bool(&is_sparse, result->odb, "core.sparseCheckout", false);

	/* Where nobody knows the base any more, all of it is the session's. */
	if (rc == 0)
		rc = read_base_index(&index, result);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < index.n; i++) {
		const struct ews_index_entry *ie = &index.items[i];
		const struct ews_entry *was = ews_entries_find(&result->base.scan.entries, ie->path);
		struct ews_entry *now = is_marked(ie, is_sparse) ? ews_entries_find(result->now, ie->path) : NULL;

		if (!was || !now || !ews_entry_equal_in_git(was, now))
			continue;
		set_from_index(now, ie);
		ews_strv_add(&result->marked, ie->path);
	}
	ews_strv_sort(&result->marked);
	return 0;
}

/* What is new or changed goes in as git would store it: with the line ends and the encoding of stored files. */
static int store_changed(struct ews_strv *unfiltered, struct result *result, const struct ews_convert *convert,
			 const struct ews_oid *base, const struct staged *staged)
{
	EWS_CLEANUP(strv) struct ews_strv changed = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv rest = EWS_STRV_INIT;
	int rc;

	for (size_t i = 0; i < result->now->n; i++) {
		const struct ews_entry *entry = &result->now->items[i];
		const struct ews_entry *stored = ews_entries_find(&result->stored, entry->path);

		if (entry->type == EWS_ENTRY_FILE && ews_entry_fits_tree(entry) &&
		    !ews_strv_sorted_has(&result->marked, entry->path) &&
		    !(stored && stored->type == EWS_ENTRY_FILE && ews_oid_equal(&stored->oid, &entry->oid)))
			ews_strv_add(&changed, entry->path);
	}
	rc = settle_filtered(&rest, unfiltered, &changed, result, convert, staged);
	return rc < 0 ? rc : ews_convert_back(convert, result->now, &rest, base);
}

/* What git has the file for by now: the workspace's index knows, else the first commit; 0: it is new. */
static uint32_t known_mode(const struct result *result, const struct staged *staged, const char *path)
{
	const struct ews_index_entry *ie = ews_index_find(&staged->index, path);
	const struct ews_entry *stored = ie && !ie->stage ? NULL : ews_entries_find(&result->stored, path);

	if (ie && !ie->stage)
		return ie->mode;
	return stored ? ews_entry_git_mode(stored) : 0;
}

/*
 * Where the file system has no links, or nobody may go by who may execute a file (core.symlinks, core.fileMode), git tells
 * neither from what is there: what it knew of a file before holds.
 */
static int take_modes(struct result *result, const struct staged *staged)
{
	bool has_links, has_modes;
	int rc = ews_config_git_bool(&has_links, result->odb, "core.symlinks", true);

	if (rc == 0)
		rc = ews_config_git_bool(&has_modes, result->odb, "core.fileMode", true);
	for (size_t i = 0; i < result->now->n && rc == 0 && !(has_links && has_modes); i++) {
		struct ews_entry *entry = &result->now->items[i];
		uint32_t mode;

		if (entry->type != EWS_ENTRY_FILE || ews_strv_sorted_has(&result->marked, entry->path))
			continue;
		mode = known_mode(result, staged, entry->path);
		if (!has_links && S_ISLNK(mode))
			entry->type = EWS_ENTRY_LINK;
		else if (!has_modes)
			entry->mode = S_ISREG(mode) ? mode & 0777 : 0644;
	}
	return rc;
}

/* In place: what git does not see stays out. Where nobody knows the base any more, all of that is named. */
static int drop_hidden(struct ews_strv *left_out, struct ews_content *content, struct result *result,
		       struct staged *staged)
{
	const struct ews_session *session = result->session;
	int rc = session->method->is_project ? read_base(result) : 0;

	if (rc < 0 || !session->method->is_project)
		return rc;
	return ews_hidden_drop(left_out, content, session, staged->workspace_fd, &staged->index, &result->stored,
			       &result->base);
}

/* Give `content` the ids that git would store it under: what only came out of the store goes back in as it lies there. */
static int store(struct ews_branch_notes *notes, struct ews_session *session, struct ews_content *content)
{
	struct ews_repo *repo = session->repo;
	EWS_CLEANUP(result)
	struct result result = { .session = session,
				 .odb = repo->odb,
				 .stored = EWS_ENTRIES_INIT,
				 .now = &content->scan.entries,
				 .marked = EWS_STRV_INIT,
				 .base = EWS_CONTENT_INIT };
	/* The rules are those of files there; once it has gone, the project's are what is nearest. */
	bool has_ended = session->state.state == EWS_STATE_ENDED;
	EWS_CLEANUP(entries) struct ews_entries attributes = EWS_ENTRIES_INIT;
	const struct ews_convert convert = { .repo = repo,
					     .work_tree = has_ended ? repo->project : session->state.workspace,
					     .attributes = &attributes,
					     .has_unlisted = has_ended ? has_ignored : NULL,
					     .take = take_stored,
					     .payload = &result };
	EWS_CLEANUP(staged) struct staged staged = { EWS_INDEX_INIT, -1 };
	EWS_CLEANUP(strv) struct ews_strv own = EWS_STRV_INIT;
	struct ews_oid commit, tree;
	int rc = read_first(&commit, &tree, session);

	/* As they stand, before any of them is taken off the branch or replaced by what the index has. */
	ews_convert_list_attributes(&attributes, &content->scan.entries);
	if (rc == 0 && !ews_oid_is_none(&tree))
		rc = ews_tree_list(&result.stored, repo->odb, &tree);
	if (rc == 0)
		rc = ews_convert(&convert, &result.stored);
	if (rc == 0)
		rc = read_staged(&staged, &result, &content->git);
	if (rc == 0)
		rc = drop_hidden(&notes->left_out, content, &result, &staged);
	if (rc == 0)
		rc = take_marked(&result);
	if (rc == 0)
		rc = store_changed(&notes->unfiltered, &result, &convert, &tree, &staged);
	if (rc == 0)
		rc = take_modes(&result, &staged);
	ews_rules_own(&own, repo, session->state.workspace);
	/* First the index: what is staged there is newer than what is stored. */
	if (rc == 0)
		rc = add_left_out(&result, &staged.index);
	if (rc == 0)
		add_unseen(&result, &content->scan.skips, &own);
	if (rc == 0)
		add_never_came(&notes->left_out, &result, &staged.index);
	return rc;
}

int ews_branch_tree(struct ews_oid *out, struct ews_branch_notes *notes, struct ews_session *session,
		    struct ews_content *content)
{
	EWS_CLEANUP(batch) struct ews_batch *batch = ews_batch_new(session->repo->odb);
	int rc = session->repo->is_plain ? 0 : store(notes, session, content);

	if (rc == 0)
		rc = ews_tree_write(out, batch, &content->scan.entries);
	if (rc == 0)
		rc = ews_batch_commit(batch);
	return rc < 0 ? rc : ews_odb_refresh(session->repo->odb);
}

/* In place it is ews_hidden_drop() that knows which repositories the branch has the commits of. */
static bool is_settled_repository(const struct ews_session *session, const char *words)
{
	return session->method->is_project && !session->repo->is_plain &&
	       ews_skip_is_repository(ews_skip_from_word(words));
}

static int name_unsaid(struct ews_branch_notes *notes, struct ews_diff *diff, const struct ews_session *session)
{
	int rc = ews_diff_list_unsaid(diff, session->repo);

	for (size_t i = 0; i < diff->not_in_patch.n && rc == 0; i++) {
		const char *line = diff->not_in_patch.items[i];

		if (!is_settled_repository(session, ews_path_line_words(line)))
			ews_strv_add(&notes->left_out, line);
	}
	return rc;
}

int ews_branch_outcome_tree(struct ews_oid *out, struct ews_branch_notes *notes, struct ews_session *session)
{
	EWS_CLEANUP(diff) struct ews_diff diff = EWS_DIFF_INIT;
	int rc;

	diff.opts.is_for_commit = true;
	rc = session->state.state == EWS_STATE_ENDING ? ews_diff_sides(&diff, session->repo, session, NULL, NULL)
						      : ews_outcome_read(&diff, session);
	if (rc == 0)
		rc = name_unsaid(notes, &diff, session);
	return rc < 0 ? rc : ews_branch_tree(out, notes, session, &diff.to.content);
}

/* Are the two commits the same but for the time? */
static bool is_same(struct ews_odb *odb, const struct ews_oid *one, const struct ews_oid *other)
{
	EWS_CLEANUP(commit) struct ews_commit a = EWS_COMMIT_INIT;
	EWS_CLEANUP(commit) struct ews_commit b = EWS_COMMIT_INIT;
	bool is = ews_odb_read_commit(&a, odb, one) == 0 && ews_odb_read_commit(&b, odb, other) == 0 &&
		  ews_oid_equal(&a.tree, &b.tree) && a.n_parents == b.n_parents && !strcmp(a.message, b.message);

	ews_error_clear();
	for (size_t i = 0; is && i < a.n_parents; i++)
		is = ews_oid_equal(&a.parents[i], &b.parents[i]);
	return is;
}

/* Let the branch be at `*commit`, or say there which other one it is at, that is the same. */
static int put_branch(struct ews_oid *commit, struct ews_repo *repo, const char *name)
{
	EWS_CLEANUP(free) char *ref = ews_strfmt(EWS_REF_BRANCHES "%s", name);
	struct ews_oid there;

	if (ews_odb_ref_read(&there, repo->odb, ref) < 0) {
		ews_error_clear();
		return ews_tripwire_move_ref(repo, ref, NULL, commit);
	}
	if (!is_same(repo->odb, &there, commit))
		return refuse_taken(name);
	*commit = there;
	return 0;
}

int ews_branch_make(struct ews_oid *out, struct ews_branch_notes *notes, struct ews_session *session, const char *name)
{
	struct ews_repo *repo = session->repo;
	EWS_CLEANUP(free) char *message = find_message(session);
	struct ews_oid tree, base, base_tree;
	int rc = read_first(&base, &base_tree, session);

	if (rc == 0)
		rc = ews_branch_outcome_tree(&tree, notes, session);
	if (rc < 0)
		return ews_error_wrap("cannot make the branch '%s'", name);
	*out = base;
	if (ews_oid_is_none(&base) || !ews_oid_equal(&tree, &base_tree))
		rc = ews_stage_commit_tree(out, repo, &tree, &base, message);
	if (rc == 0)
		rc = put_branch(out, repo, name);
	return rc < 0 ? ews_error_wrap("cannot make the branch '%s'", name) : 0;
}

void ews_branch_notes_release(struct ews_branch_notes *notes)
{
	ews_strv_release(&notes->unfiltered);
	ews_strv_release(&notes->left_out);
}
