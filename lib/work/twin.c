/*
 * Twin: see twin.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/twin.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "base/path_line.h"
#include "base/str.h"
#include "store/attr.h"
#include "store/index_extensions.h"
#include "store/pathspec.h"
#include "store/replaced.h"
#include "store/tree.h"
#include "work/epoch.h"
#include "work/head.h"
#include "work/look.h"
#include "work/named_index.h"
#include "work/rules.h"

#define CONFIG "config.worktree"

/* Where the paths of a twin can come from. */
struct sources {
	struct ews_content project; /* the project's files */
	struct ews_index index; /* the project's index */
	struct ews_entries head; /* the tree of the project's HEAD */
	struct ews_entries base; /* the tree of the base revision; `head` serves when there is none */
	struct ews_oid head_tree, base_tree;
	bool has_base;
	struct ews_strv meant; /* what pathspecs mean of all these, sorted */
};

static void release_sources(struct sources *src)
{
	ews_content_release(&src->project);
	ews_index_release(&src->index);
	ews_entries_release(&src->head);
	ews_entries_release(&src->base);
	ews_strv_release(&src->meant);
}

EWS_CLEANUP_DEFINE(sources, struct sources, release_sources)

static bool is_dir(const struct ews_entry *entry)
{
	return entry->type == EWS_ENTRY_DIR;
}

/* Do the uncommitted changes of `path` come along, as far as it is a question of paths? */
static bool is_meant(const struct sources *src, const struct ews_twin_opts *opts, const char *path)
{
	return opts->specs ? ews_strv_sorted_has(&src->meant, path) : ews_path_is_inside_any(path, opts->only);
}

/* What `list` has at the path, unless it is a directory, which is what it holds. */
static const struct ews_entry *find_file(const struct ews_entries *list, const char *path)
{
	const struct ews_entry *entry = ews_entries_find(list, path);

	return entry && !is_dir(entry) ? entry : NULL;
}

static bool is_tracked(const struct sources *src, const char *path)
{
	return ews_index_find(&src->index, path) || find_file(&src->head, path);
}

/* Has the index there what HEAD has? What is staged is a change, too, whatever the file is. */
static bool is_unstaged(const struct sources *src, const struct ews_entry *head)
{
	const struct ews_index_entry *ie = ews_index_find(&src->index, head->path);

	return ie && !ie->stage && ie->mode == ews_entry_git_mode(head) && ews_oid_equal(&ie->oid, &head->oid);
}

/* The commit that the twin stands at. */
static const struct ews_entries *commit_of(const struct sources *src)
{
	return src->has_base ? &src->base : &src->head;
}

/* Has that commit there what HEAD has? Then what was changed since HEAD was changed since that. */
static bool is_as_in_head(const struct sources *src, const char *path)
{
	const struct ews_entry *head = find_file(&src->head, path);
	const struct ews_entry *base = find_file(&src->base, path);

	return !src->has_base || (!head && !base) || (head && base && ews_entry_equal_in_git(head, base));
}

/* Does the project's HEAD, which does not resolve, name a branch that is not there yet? */
static bool is_unborn(struct ews_repo *repo)
{
	EWS_CLEANUP(gitstate) struct ews_gitstate git = EWS_GITSTATE_INIT;
	struct ews_error_saved saved = EWS_ERROR_SAVED_INIT;
	struct ews_oid oid;
	bool unborn;

	ews_error_save(&saved);
	unborn = ews_gitstate_read_files(&git, repo->git_fd) == 0 &&
		 ews_head_find(&oid, repo, &git, NULL) == EWS_HEAD_UNBORN;
	(void)ews_error_restore(&saved);
	return unborn;
}

/* A plain directory has no commits: all of it is untracked. */
static int refuse_revision(const char *base)
{
	ews_error(EWS_EUSAGE, "the project is no git repository: it has no revision '%s'", base);
	ews_error_hint("leave out --base");
	return EWS_EUSAGE;
}

/* HEAD leads to no commit, and not because there is none yet: by `rc` it can't be read now, or never. */
static int fail_head(int rc)
{
	const bool is_unreadable = rc == EWS_EIO || rc == EWS_EDENIED || rc == EWS_EUNSUPPORTED;

	return ews_error_wrap(is_unreadable ? "cannot read HEAD of the project" : "HEAD of the project is damaged");
}

/* HEAD's commit in the twin: the base, the project's, or, where nothing was committed yet, an empty one of ours. */
static int choose_head(struct ews_twin *out, struct ews_repo *repo, struct ews_batch *batch, const char *base)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	struct ews_oid tree;
	char hex[EWS_OID_HEX_MAX];
	int rc;

	if (base) {
		rc = *base == '-' ? EWS_ENOTFOUND : ews_odb_resolve_commit(&out->head, repo->odb, base);
		if (rc != EWS_ENOTFOUND)
			return rc;
		ews_error(EWS_ENOTFOUND, "'%s' is no commit", base);
		ews_error_hint("--base takes a branch, a tag or a commit");
		return EWS_ENOTFOUND;
	}
	rc = ews_odb_resolve_commit(&out->head, repo->odb, "HEAD");
	if (rc == 0)
		return 0;
	if (!is_unborn(repo))
		return fail_head(rc);
	ews_error_clear();
	out->is_unborn = true;
	rc = ews_batch_add(&tree, batch, EWS_OBJECT_TREE, "", 0);
	if (rc < 0)
		return rc;
	ews_buf_addf(&text,
		     "tree %s\nauthor git-ews <git-ews@localhost> 0 +0000\n"
		     "committer git-ews <git-ews@localhost> 0 +0000\n\nnothing was committed yet\n",
		     ews_oid_hex(hex, &tree));
	return ews_batch_add(&out->head, batch, EWS_OBJECT_COMMIT, text.ptr, text.len);
}

/* As git would check it out. */
static int list_commit(struct ews_entries *out, struct ews_oid *tree, struct ews_repo *repo,
		       const struct ews_oid *commit)
{
	EWS_CLEANUP(commit) struct ews_commit read = EWS_COMMIT_INIT;
	struct ews_oid seen;
	int rc = ews_replaced_commit(&seen, repo->odb, commit);

	if (rc == 0)
		rc = ews_odb_read_commit(&read, repo->odb, &seen);
	if (rc < 0)
		return rc;
	*tree = read.tree;
	return ews_tree_list_with_ids(out, repo->odb, tree);
}

/* An index entry for a path as a commit has it. */
static void index_from_entry(struct ews_index *index, const struct ews_entry *entry)
{
	struct ews_index_entry *ie = ews_index_add(index, entry->path);

	ie->mode = ews_entry_git_mode(entry);
	ie->oid = entry->oid;
}

static bool needs_index(const struct ews_entry *entry)
{
	return !is_dir(entry) && !ews_oid_is_none(&entry->oid);
}

/* The directories above `path` that `out` lacks: as they stand in the project, else plain. */
static void add_parents(struct ews_entries *out, const struct ews_entries *project, const char *path,
			struct ews_strv *have)
{
	EWS_CLEANUP(free) char *dir = ews_path_dir(path);
	const struct ews_entry *known;

	/* Paths come in order, so the last chain of directories added tells what is there already. */
	while (have->n && !ews_path_is_inside(path, have->items[have->n - 1])) {
		free(have->items[--have->n]);
		have->items[have->n] = NULL;
	}
	if (!*dir || (have->n && !strcmp(have->items[have->n - 1], dir)))
		return;
	add_parents(out, project, dir, have);
	ews_strv_add(have, dir);
	known = ews_entries_find(project, dir);
	if (known && is_dir(known)) {
		ews_entries_add_copy(out, known);
	} else {
		struct ews_entry *added = ews_entries_add(out, dir, strlen(dir));

		added->type = EWS_ENTRY_DIR;
		added->mode = 0755;
	}
}

static int hint_conflict(const struct ews_twin_opts *opts)
{
	ews_error_hint("commit the changes first, or leave them out with %s",
		       opts->uncommitted ? "--no-uncommitted" : "--no-untracked");
	return EWS_ECONFLICT;
}

/* Which entry a path gets that is tracked, or that the base has; NULL: none. */
static int choose_tracked(const struct ews_entry **out, const struct sources *src, const struct ews_twin_opts *opts,
			  const char *path)
{
	const struct ews_entry *project = find_file(&src->project.scan.entries, path);
	const struct ews_entry *head = find_file(&src->head, path);
	const struct ews_entry *base = find_file(commit_of(src), path);
	bool is_known = is_tracked(src, path);

	*out = base;
	if (!(is_known ? opts->uncommitted : opts->untracked) || !is_meant(src, opts, path))
		return 0;
	/* What was taken out of the index is there for git as an untracked file. */
	if (!opts->untracked && !ews_index_find(&src->index, path))
		project = NULL;
	if (!src->has_base) {
		*out = project;
		return 0;
	}
	if (project && head && ews_entry_equal_in_git(project, head) && is_unstaged(src, head))
		return 0;
	/* The base alone tracks it: then the project has no change of it, unless another file is there. */
	if (!is_known && (!project || ews_entry_equal_in_git(project, base)))
		return 0;
	if (!is_as_in_head(src, path)) {
		ews_error(EWS_ECONFLICT, "'%s' has uncommitted changes, and '%s' has another version of it", path,
			  opts->base);
		return hint_conflict(opts);
	}
	*out = project;
	return 0;
}

static int add_chosen(struct ews_entries *out, const struct sources *src, const struct ews_twin_opts *opts,
		      const char *path)
{
	const struct ews_entry *project = ews_entries_find(&src->project.scan.entries, path);
	const struct ews_entry *chosen = NULL;
	int rc = 0;

	if (is_tracked(src, path) || find_file(&src->base, path))
		rc = choose_tracked(&chosen, src, opts, path);
	else if (opts->untracked && is_meant(src, opts, path))
		chosen = project;
	if (rc == 0 && chosen)
		ews_entries_add_copy(out, chosen);
	return rc;
}

static void add_paths(struct ews_strv *out, const struct ews_entries *list)
{
	for (size_t i = 0; i < list->n; i++)
		if (!is_dir(&list->items[i]))
			ews_strv_add(out, list->items[i].path);
}

static void add_empty_dirs(struct ews_entries *out, const struct sources *src, const struct ews_twin_opts *opts)
{
	const struct ews_entries *project = &src->project.scan.entries;

	for (size_t i = 0; i < project->n && opts->untracked; i++) {
		const struct ews_entry *entry = &project->items[i];
		bool is_empty = i + 1 == project->n || !ews_path_is_inside(project->items[i + 1].path, entry->path);

		if (is_dir(entry) && is_empty && is_meant(src, opts, entry->path))
			ews_entries_add_copy(out, entry);
	}
}

/*
 * A file of the project can't stand with one that the commit has above it, or with those that the commit has below its path:
 * add to `out` what is in the way.
 */
static void add_in_the_way(struct ews_strv *out, const struct sources *src, const char *path)
{
	EWS_CLEANUP(free) char *at = ews_strdup(path);
	const struct ews_entry *there = ews_entries_find(commit_of(src), at);

	while (!there) {
		char *slash = strrchr(at, '/');

		if (!slash)
			return;
		*slash = '\0';
		there = find_file(commit_of(src), at);
	}
	if (is_dir(there) || strcmp(there->path, path))
		ews_strv_add(out, at);
}

/*
 * Does the commit's file give way to those of the project? As with git add, where it is HEAD's and changes come along: then it has
 * gone from the project as well. Else neither may be left out.
 */
static int give_way(const struct ews_strv *in_the_way, const struct sources *src, const struct ews_twin_opts *opts,
		    const char *path)
{
	if (!in_the_way->n || !ews_path_is_inside_any(path, (const char *const *)in_the_way->items))
		return 0;
	if (opts->uncommitted && is_as_in_head(src, path))
		return 1;
	ews_error(EWS_ECONFLICT, "'%s' of '%s' is in the way of files that are to come along", path,
		  opts->base ? opts->base : "HEAD");
	return hint_conflict(opts);
}

/* Of the files chosen one by one take those away that can't stand with the project's. */
static int drop_in_the_way(struct ews_entries *files, const struct sources *src, const struct ews_twin_opts *opts)
{
	EWS_CLEANUP(strv) struct ews_strv in_the_way = EWS_STRV_INIT;
	size_t kept = 0;
	int rc = 0;

	for (size_t i = 0; i < files->n; i++)
		if (files->items[i].has_stat)
			add_in_the_way(&in_the_way, src, files->items[i].path);
	ews_strv_unique(&in_the_way);
	for (size_t i = 0; i < files->n && rc >= 0; i++) {
		rc = files->items[i].has_stat ? 0 : give_way(&in_the_way, src, opts, files->items[i].path);
		if (rc == 0)
			files->items[kept++] = files->items[i];
	}
	files->n = kept;
	return rc < 0 ? rc : 0;
}

/* Files chosen one by one, then the directories that they need, then the project's empty ones. */
static int compose_entries(struct ews_entries *out, const struct sources *src, const struct ews_twin_opts *opts)
{
	EWS_CLEANUP(strv) struct ews_strv paths = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv have = EWS_STRV_INIT;
	EWS_CLEANUP(entries) struct ews_entries files = EWS_ENTRIES_INIT;
	const struct ews_entries *project = &src->project.scan.entries;
	int rc = 0;

	add_paths(&paths, project);
	add_paths(&paths, &src->head);
	add_paths(&paths, &src->base);
	ews_strv_unique(&paths);
	for (size_t i = 0; i < paths.n && rc == 0; i++)
		rc = add_chosen(&files, src, opts, paths.items[i]);
	if (rc == 0)
		rc = drop_in_the_way(&files, src, opts);
	if (rc < 0)
		return rc;
	add_empty_dirs(&files, src, opts);
	ews_entries_sort(&files);
	for (size_t i = 0; i < files.n; i++) {
		/* Empty in the project, but not here: it comes with what it holds, or gives way to a file. */
		if (is_dir(&files.items[i]) && i + 1 < files.n &&
		    ews_path_is_inside(files.items[i + 1].path, files.items[i].path))
			continue;
		/* An empty directory gives way to a file of the commit above it as well. */
		if (out->n && !is_dir(&out->items[out->n - 1]) &&
		    ews_path_is_inside(files.items[i].path, out->items[out->n - 1].path))
			continue;
		add_parents(out, project, files.items[i].path, &have);
		ews_entries_add_copy(out, &files.items[i]);
	}
	return 0;
}

/* Does the index of a composed twin have there what that of the project has? */
static bool is_of_index(const struct sources *src, const struct ews_twin_opts *opts, const char *path)
{
	return opts->uncommitted && is_meant(src, opts, path) && is_as_in_head(src, path);
}

/* The index of a composed twin: the project's entries for what comes from it, the commit's for the rest. */
static int compose_index(struct ews_index *out, const struct sources *src, const struct ews_twin_opts *opts)
{
	EWS_CLEANUP(strv) struct ews_strv in_the_way = EWS_STRV_INIT;
	const struct ews_entries *base = commit_of(src);

	if (base->n > EWS_ENTRIES_MANY)
		ews_alloc_give_back(); /* what the trees took */
	for (size_t i = 0; i < src->index.n; i++) {
		const struct ews_index_entry *ie = &src->index.items[i];

		if (!is_of_index(src, opts, ie->path))
			continue;
		add_in_the_way(&in_the_way, src, ie->path);
		ews_index_add_copy(out, ie);
	}
	ews_strv_unique(&in_the_way);
	for (size_t i = 0; i < base->n; i++) {
		const struct ews_entry *entry = &base->items[i];
		int rc;

		if (!needs_index(entry) || is_of_index(src, opts, entry->path))
			continue;
		rc = give_way(&in_the_way, src, opts, entry->path);
		if (rc < 0)
			return rc;
		if (rc == 0)
			index_from_entry(out, entry);
	}
	out->version = 2;
	out->mtime_s = src->index.mtime_s;
	out->mtime_ns = src->index.mtime_ns;
	ews_index_sort(out);
	if (!opts->uncommitted)
		ews_index_set_trees(out, src->has_base ? &src->base_tree : &src->head_tree, base);
	return 0;
}

/*
 * The twin is a commit and nothing else: the project's HEAD, or the base revision. Its list becomes the twin's; an empty
 * directory, which git makes none, is left out.
 */
static void take_commit(struct ews_twin *out, struct sources *src)
{
	struct ews_entries *list = src->has_base ? &src->base : &src->head;
	size_t kept = list->n;

	/* It can't fail: nothing of the project's index comes along that could be in the way. */
	(void)compose_index(&out->index, src, &(const struct ews_twin_opts){ .uncommitted = false });
	/* From the end, as a directory may hold none but empty ones. */
	for (size_t i = list->n; i-- > 0;) {
		struct ews_entry *entry = &list->items[i];
		bool is_empty = kept == list->n || !ews_path_is_inside(list->items[kept].path, entry->path);

		if (is_dir(entry) && is_empty)
			continue;
		list->items[--kept] = *entry;
		list->items[kept].oid = is_dir(entry) ? (struct ews_oid)EWS_OID_NONE : entry->oid;
	}
	/* A commit may have nothing at all. */
	if (kept)
		memmove(list->items, list->items + kept, (list->n - kept) * sizeof(*list->items));
	list->n -= kept;
	ews_entries_trim(list);
	out->content.scan.entries = *list;
	*list = (struct ews_entries)EWS_ENTRIES_INIT;
}

/* Does anything of the project's files matter? */
static bool wants_project(const struct ews_twin_opts *opts, const struct ews_repo *repo)
{
	return !repo->is_bare && (opts->uncommitted || opts->untracked || opts->ignored);
}

/* Is it all of the project as it stands? Then nothing has to be chosen, and no commit be read. */
static bool takes_all(const struct ews_twin_opts *opts, const struct ews_repo *repo)
{
	return !opts->base && !opts->only && !opts->specs && opts->uncommitted && opts->untracked && !repo->is_bare;
}

/* All of the project as it stands, and the epoch of that. */
static int look_at_project(struct sources *src, struct ews_repo *repo, struct ews_batch *batch,
			   const struct ews_twin_opts *opts)
{
	/* The twin's index is made of the entries of git's, which are read for that. */
	struct ews_content_opts now = {
		.partial = opts->partial, .without_index = true, .progress = opts->progress, .payload = opts->payload
	};
	int rc = ews_content_now(&src->project, repo, NULL, batch, &now);

	return rc == 0 && opts->epoch ? ews_epoch_of(opts->epoch, repo, &src->project) : rc;
}

static int read_sources(struct sources *src, struct ews_twin *out, struct ews_repo *repo, struct ews_batch *batch,
			const struct ews_twin_opts *opts)
{
	bool with_project = wants_project(opts, repo);
	struct ews_oid project_head;
	int rc = 0;

	if (repo->is_plain)
		return look_at_project(src, repo, batch, opts);
	if (with_project) {
		rc = look_at_project(src, repo, batch, opts);
		if (rc == 0)
			rc = ews_named_index_read(&src->index, &out->notes, repo);
		if (rc == 0)
			rc = ews_index_expand(&src->index, repo->odb);
		if (rc < 0)
			return rc;
	}
	if (!with_project && opts->epoch)
		rc = ews_epoch_look(opts->epoch, repo);
	if (rc == 0 && !with_project && !repo->is_bare)
		rc = ews_gitstate_read_files(&src->project.git, repo->git_fd);
	if (rc < 0)
		return rc;
	/* HEAD's tree tells what was changed since; who takes a revision alone need not know. */
	if (!takes_all(opts, repo) && (with_project || !opts->base)) {
		rc = ews_odb_find_head(&project_head, repo->odb);
		if (rc > 0)
			rc = list_commit(&src->head, &src->head_tree, repo, &project_head);
	}
	if (rc == 0 && opts->base) {
		src->has_base = true;
		rc = list_commit(&src->base, &src->base_tree, repo, &out->head);
	}
	/* What comes from the project's files is what these are. */
	if (rc == 0 && (src->has_base || !with_project))
		rc = ews_replaced_refuse(repo->odb, src->has_base ? &src->base_tree : &src->head_tree,
					 src->has_base ? &src->base : &src->head);
	return rc;
}

static int fail_idle(const char *word)
{
	return ews_error(EWS_ENOTFOUND, "'%s' matches nothing in the project", word);
}

static bool has_in_index(const struct ews_index *index, const char *path)
{
	for (size_t i = 0; i < index->n; i++)
		if (ews_path_is_inside(index->items[i].path, path))
			return true;
	return false;
}

/* Each of the paths has to be somewhere: a slip would leave behind what was wanted. */
static int check_only(const struct sources *src, const char *const *only)
{
	for (; only && *only; only++)
		if (!ews_entries_has_below(&src->project.scan.entries, *only) &&
		    !ews_skips_touch(&src->project.scan.skips, *only) && !ews_entries_has_below(&src->head, *only) &&
		    !ews_entries_has_below(&src->base, *only) && !has_in_index(&src->index, *only))
			return fail_idle(*only);
	return 0;
}

static void add_to_match(struct ews_pathspec_paths *out, const struct ews_entries *list, unsigned side)
{
	for (size_t i = 0; i < list->n; i++)
		ews_pathspec_paths_add(out, list->items[i].path, list->items[i].type, side);
}

/* Find out what the pathspecs mean. Each has to mean something, likewise. */
static int match_specs(struct sources *src, struct ews_repo *repo, const struct ews_twin_opts *opts)
{
	EWS_CLEANUP(pathspec_paths) struct ews_pathspec_paths paths = EWS_PATHSPEC_PATHS_INIT;
	size_t idle;
	int rc;

	if (!opts->specs)
		return check_only(src, opts->only);
	add_to_match(&paths, &src->project.scan.entries, 0);
	add_to_match(&paths, &src->head, 1);
	add_to_match(&paths, &src->base, 2);
	for (size_t i = 0; i < src->index.n; i++)
		ews_pathspec_paths_add(&paths, src->index.items[i].path, EWS_ENTRY_FILE, 2);
	/* Any may be a directory. */
	for (size_t i = 0; i < src->project.scan.skips.n; i++)
		ews_pathspec_paths_add(&paths, src->project.scan.skips.items[i].path, EWS_ENTRY_GITLINK,
				       EWS_PATHSPEC_LAST_SIDE);
	rc = ews_pathspec_match(&src->meant, &idle, repo, opts->specs, &paths);
	return rc == 0 && idle < opts->specs->n ? fail_idle(opts->words->items[idle]) : rc;
}

static void name_under_way(struct ews_strv *notes, const char *name)
{
	ews_strv_addf(notes,
		      "'%s' is under way in the project and was left there: going on with it in the workspace would "
		      "move the project's branch",
		      name);
}

/* What the twin has not of git's state in the project. A lock says that git is at work there, no more. */
static void name_left(struct ews_strv *notes, const struct ews_gitstate *git)
{
	for (size_t i = 0; i < git->files.n; i++)
		if (ews_gitstate_is_under_way(git->files.items[i].name))
			name_under_way(notes, git->files.items[i].name);
	for (size_t i = 0; i < git->left.n; i++) {
		const struct ews_gitstate_file *left = &git->left.items[i];

		if (strstr(left->name, ".lock"))
			continue;
		if (ews_gitstate_is_under_way(left->name))
			name_under_way(notes, left->name);
		else
			ews_strv_addf(notes, "'%s' of the project's git was left there: %s", left->name,
				      ews_gitstate_why_left(left));
	}
}

/* HEAD of the twin is always detached; a merge's files come along with the changes that they are about. */
static int choose_gitstate(struct ews_twin *out, const struct ews_gitstate *git, bool with_merge)
{
	for (size_t i = 0; i < git->files.n; i++) {
		const struct ews_gitstate_file *file = &git->files.items[i];
		bool is_of_place = !strcmp(file->name, CONFIG) || !strcmp(file->name, EWS_GITSTATE_SPARSE);
		bool is_of_merge = strcmp(file->name, "HEAD") && !ews_str_begins(file->name, "sharedindex.");

		if (is_of_place || (with_merge && is_of_merge))
			ews_gitstate_set_file(&out->content.git, file->name, file->data.ptr, file->data.len);
	}
	out->content.has_git = true;
	name_left(&out->notes, git);
	return ews_gitstate_detach(&out->content.git, &out->head);
}

/* The project's branch, "" where HEAD is on none. */
static int find_branch(char **out, struct ews_repo *repo)
{
	EWS_CLEANUP(gitstate) struct ews_gitstate git = EWS_GITSTATE_INIT;
	EWS_CLEANUP(free) char *ref = NULL;
	int rc = repo->is_plain ? 0 : ews_gitstate_read_files(&git, repo->git_fd);

	if (rc < 0)
		rc = ews_error_if_passing(rc);
	else if (!repo->is_plain)
		ref = ews_head_branch(&git);
	if (rc < 0)
		return rc;
	*out = ews_strdup(ref ? ref + strlen(EWS_REF_BRANCHES) : "");
	return 0;
}

int ews_twin_find_head(struct ews_twin *twin, struct ews_repo *repo)
{
	int rc = find_branch(&twin->branch, repo);

	if (rc < 0)
		return fail_head(rc);
	rc = repo->is_plain ? 0 : ews_odb_resolve_commit(&twin->head, repo->odb, "HEAD");
	if (rc == 0)
		return 0;
	if (!is_unborn(repo))
		return fail_head(rc);
	ews_error_clear();
	twin->is_unborn = true;
	return 0;
}

/* Our own directories are never looked at, even where somebody has committed one. */
static bool is_own(const struct ews_strv *own, const char *path)
{
	return ews_path_is_inside_any(path, (const char *const *)own->items);
}

static bool is_excluded(const struct ews_ignore *exclude, const struct ews_entry *entry)
{
	bool is_walked = is_dir(entry) || entry->type == EWS_ENTRY_GITLINK;

	return exclude && ews_ignore_match(exclude, entry->path, is_walked);
}

/* What the rules exclude of what comes from a commit; the scan left out what comes from the project. */
static void drop_excluded(struct ews_scan *scan, const struct ews_ignore *exclude, const struct ews_strv *own)
{
	EWS_CLEANUP(strv) struct ews_strv tops = EWS_STRV_INIT;
	struct ews_entries *list = &scan->entries;
	const char *top = NULL;
	size_t kept = 0;

	for (size_t i = 0; i < list->n; i++) {
		struct ews_entry *entry = &list->items[i];

		if (!top || !ews_path_is_inside(entry->path, top))
			top = is_own(own, entry->path) || is_excluded(exclude, entry) ? entry->path : NULL;
		if (!top)
			list->items[kept++] = *entry;
		else if (top == entry->path && !ews_skips_covering(&scan->skips, top))
			ews_strv_add(&tops, top);
	}
	list->n = kept;
	for (size_t i = 0; i < tops.n; i++)
		ews_skips_add(&scan->skips, tops.items[i],
			      is_own(own, tops.items[i]) ? EWS_SKIP_OWN : EWS_SKIP_EXCLUDED, 0);
	ews_skips_sort(&scan->skips);
}

/* Did the path not come along since it is excluded, or since nobody could look at it? A commit may have brought it all the same. */
static bool is_left_out(const struct ews_scan *scan, const char *path)
{
	const struct ews_skip *skip = ews_skips_covering(&scan->skips, path);
	bool is_out = skip && (skip->reason == EWS_SKIP_EXCLUDED || ews_skip_is_unseen(skip->reason));

	return is_out && !ews_entries_find(&scan->entries, path);
}

/* A tracked file that is left out is not gone: to git it is one that the work tree need not have, and no commit there deletes it. */
static bool mark_left_out(struct ews_index *index, const struct ews_scan *scan, const struct ews_strv *own)
{
	bool is_other = false;

	for (size_t i = 0; i < index->n; i++) {
		struct ews_index_entry *ie = &index->items[i];

		if (ie->stage || ie->is_skip_worktree || !(is_left_out(scan, ie->path) || is_own(own, ie->path)))
			continue;
		ie->is_skip_worktree = is_other = true;
	}
	return is_other;
}

/* A nested repository's content is in no twin: a submodule stays as git has it, an empty directory with a commit's id. */
static void settle_entries(struct ews_scan *scan, bool skip_nested)
{
	for (size_t i = 0; i < scan->entries.n; i++) {
		struct ews_entry *entry = &scan->entries.items[i];

		if (entry->type == EWS_ENTRY_GITLINK && (skip_nested || ews_oid_is_none(&entry->oid))) {
			entry->type = EWS_ENTRY_DIR;
			entry->oid = (struct ews_oid)EWS_OID_NONE;
		}
	}
}

/*
 * What the index says of trees stays when it is HEAD's, which the base pins. Others nothing may pin: once git gc had taken
 * one, each later git gc of the project would fail at an index that comes back with its id.
 */
static void keep_head_trees(struct ews_index *index, struct ews_repo *repo, const struct ews_oid *head)
{
	EWS_CLEANUP(commit) struct ews_commit commit = EWS_COMMIT_INIT;
	bool is_read = index->trees.len && ews_odb_read_commit(&commit, repo->odb, head) == 0;

	if (!is_read || !ews_index_makes_tree(index, &commit.tree))
		ews_buf_truncate(&index->trees, 0);
	ews_error_clear(); /* without the commit nothing is known to be pinned */
}

int ews_twin_choose(struct ews_twin *out, struct ews_repo *repo, struct ews_batch *batch,
		    const struct ews_twin_opts *opts)
{
	EWS_CLEANUP(sources)
	struct sources src = { .project = EWS_CONTENT_INIT,
			       .index = EWS_INDEX_INIT,
			       .head = EWS_ENTRIES_INIT,
			       .base = EWS_ENTRIES_INIT,
			       .meant = EWS_STRV_INIT };
	EWS_CLEANUP(ignore) struct ews_ignore *exclude = NULL;
	EWS_CLEANUP(strv) struct ews_strv own = EWS_STRV_INIT;
	bool is_whole = takes_all(opts, repo);
	int rc;

	if (repo->is_plain)
		rc = opts->base ? refuse_revision(opts->base) : 0;
	else
		rc = choose_head(out, repo, batch, opts->base);
	if (rc == 0)
		rc = ews_rules_exclude(&exclude, repo, NULL);
	if (rc == 0)
		rc = read_sources(&src, out, repo, batch, opts);
	if (rc == 0)
		rc = ews_content_save_cache(&src.project, repo, NULL);
	if (rc == 0)
		rc = match_specs(&src, repo, opts);
	if (rc == 0 && !repo->is_plain)
		rc = choose_gitstate(out, &src.project.git, opts->uncommitted && !opts->base && !repo->is_bare);
	if (rc == 0)
		rc = find_branch(&out->branch, repo);
	if (rc < 0)
		return rc;
	out->is_composed = !is_whole;
	if (is_whole) {
		out->content.scan.entries = src.project.scan.entries;
		src.project.scan.entries = (struct ews_entries)EWS_ENTRIES_INIT;
		out->index = src.index;
		src.index = (struct ews_index)EWS_INDEX_INIT;
		if (!repo->is_plain)
			keep_head_trees(&out->index, repo, &out->head);
	} else if (!repo->is_plain && !wants_project(opts, repo)) {
		take_commit(out, &src);
	} else {
		rc = compose_entries(&out->content.scan.entries, &src, opts);
		if (rc == 0)
			rc = compose_index(&out->index, &src, opts);
		if (rc < 0)
			return rc;
	}
	out->content.scan.skips = src.project.scan.skips;
	src.project.scan.skips = (struct ews_skips)EWS_SKIPS_INIT;
	ews_rules_own(&own, repo, repo->project);
	drop_excluded(&out->content.scan, exclude, &own);
	(void)mark_left_out(&out->index, &out->content.scan, &own);
	settle_entries(&out->content.scan, opts->skip_nested);
	return 0;
}

int ews_twin_mark_left_out(struct ews_content *content, const struct ews_repo *repo)
{
	enum ews_hash_algo algo = ews_odb_algo(repo->odb);
	struct ews_buf *text = &content->git.index;
	EWS_CLEANUP(index) struct ews_index index = EWS_INDEX_INIT;
	EWS_CLEANUP(strv) struct ews_strv own = EWS_STRV_INIT;
	int rc = content->git.has_index ? ews_index_parse_state(&index, &content->git, algo) : 0;

	if (rc < 0)
		return rc;
	ews_rules_own(&own, repo, repo->project);
	if (!mark_left_out(&index, &content->scan, &own))
		return 0;
	ews_buf_truncate(text, 0);
	ews_index_format(text, &index, algo);
	return 0;
}

/* Did git know the file's content by these stat data, racy or not? */
static bool had_stat_of(const struct ews_index_entry *ie, const struct ews_entry *entry)
{
	return ie->size == (uint32_t)entry->size && ie->mtime_s == (uint32_t)entry->mtime_s &&
	       (ie->mtime_ns == entry->mtime_ns || ie->mtime_ns == 0);
}

/*
 * A size other than the file's is why git takes it for changed without reading it, even where rules for line
 * ends or idents make the same of both: so the project's stays, where the file is the project's.
 */
static void clear_stat(struct ews_index_entry *ie, bool keep_size)
{
	ie->ctime_s = ie->ctime_ns = ie->mtime_s = ie->mtime_ns = 0;
	ie->dev = ie->ino = ie->uid = ie->gid = 0;
	if (!keep_size)
		ie->size = 0;
}

/*
 * Of the files that are racy to git and are not what it has of them byte by byte, list those with a filter, sorted, whose stat data say
 * that they are as git left them: as no filter is run here nothing else says it.
 */
static int list_filtered(struct ews_strv *out, const struct ews_twin *twin, const struct ews_repo *repo)
{
	EWS_CLEANUP(strv) struct ews_strv paths = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv lines = EWS_STRV_INIT;
	int rc;

	for (size_t i = 0; i < twin->index.n; i++) {
		const struct ews_index_entry *ie = &twin->index.items[i];
		const struct ews_entry *entry = ews_index_is_racy(&twin->index, ie)
							? ews_entries_find(&twin->content.scan.entries, ie->path)
							: NULL;

		if (entry && !ews_oid_equal(&entry->oid, &ie->oid) &&
		    ews_index_stat_matches_filtered(&twin->index, ie, entry))
			ews_strv_add(&paths, ie->path);
	}
	rc = ews_attr_filtered(&lines, repo->odb, repo->home, repo->project, &paths);
	for (size_t i = 0; i < lines.n; i++) {
		EWS_CLEANUP(buf) struct ews_buf path = EWS_BUF_INIT;

		(void)ews_path_line_split(&path, lines.items[i]);
		ews_strv_add(out, path.ptr);
	}
	ews_strv_sort(out);
	/* Where git would wait for what gives attributes they are not clean, and git in the workspace looks at them. */
	return rc == EWS_EUNSUPPORTED ? ews_error_if_passing(rc) : rc;
}

int ews_twin_mark_clean(struct ews_twin *twin, const struct ews_repo *repo)
{
	const struct ews_entries *list = &twin->content.scan.entries;
	EWS_CLEANUP(strv) struct ews_strv filtered = EWS_STRV_INIT;
	struct ews_arena rest = EWS_ARENA_INIT;
	int rc = repo ? list_filtered(&filtered, twin, repo) : 0;
	size_t at = 0;

	for (size_t i = 0; i < twin->index.n && rc == 0; i++) {
		struct ews_index_entry *ie = &twin->index.items[i];
		const struct ews_entry *entry = ews_entries_find_next(list, ie->path, &at);
		bool same = entry && ews_oid_equal(&entry->oid, &ie->oid) && ews_entry_git_mode(entry) == ie->mode;
		bool is_clean = entry && ie->stage == 0 && entry->type != EWS_ENTRY_DIR &&
				(entry->has_stat ? ews_index_stat_matches(&twin->index, ie, entry) ||
							   ews_strv_sorted_has(&filtered, ie->path) ||
							   (same && had_stat_of(ie, entry))
						 : same);

		clear_stat(ie, entry && entry->has_stat);
		ie->is_clean = is_clean;
		/* Of many files the paths of both would be in memory as long as one of them. */
		ie->path = entry ? entry->path : ews_arena_dup(&rest, ie->path, strlen(ie->path));
	}
	if (rc < 0)
		return rc;
	ews_arena_release(&twin->index.arena);
	twin->index.arena = rest;
	return 0;
}

void ews_twin_format_index(struct ews_buf *out, struct ews_twin *twin, enum ews_hash_algo algo, gid_t gid)
{
	const struct ews_entries *list = &twin->content.scan.entries;
	uid_t uid = geteuid();
	size_t at = 0;

	for (size_t i = 0; i < twin->index.n; i++) {
		struct ews_index_entry *ie = &twin->index.items[i];
		const struct ews_entry *entry = ie->is_clean ? ews_entries_find_next(list, ie->path, &at) : NULL;

		if (entry && entry->has_stat)
			ews_index_set_stat(ie, entry, uid, gid);
	}
	ews_index_format(out, &twin->index, algo);
}

void ews_twin_release(struct ews_twin *twin)
{
	ews_content_release(&twin->content);
	ews_index_release(&twin->index);
	ews_strv_release(&twin->notes);
	free(twin->branch);
	*twin = (struct ews_twin)EWS_TWIN_INIT;
}
