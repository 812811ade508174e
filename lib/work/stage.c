/*
 * Staging: see stage.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/stage.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/str.h"
#include "store/config.h"
#include "store/git.h"
#include "store/git_program.h"
#include "store/index.h"
#include "store/litter.h"
#include "store/packed_refs.h"
#include "store/reflog.h"
#include "work/git_at_work.h"
#include "work/head.h"
#include "work/tripwire.h"
#include "work/tripwire_line.h"
#include "work/tripwire_told.h"

#define HEAD_LOCK "HEAD.lock"
#define NAMES_BYTES_MAX (256 * EWS_MIB)
#define PATHS_BYTES_MAX \
	(16 * EWS_KIB) /* of a command line; git holds each file of the index against each of them */
#define REFLOG_ACTION "GIT_REFLOG_ACTION="

extern char **environ;

struct words {
	bool writes;
	bool has_hooks; /* the user's hooks are run */
	bool sync_objects; /* objects that it writes are on disk when it has ended */
	struct ews_buf *out; /* collects what git prints; NULL: it goes to stderr */
	const struct ews_buf *input;
	const char *const *args;
	const struct ews_strv *paths; /* what alone git is to look at, where these are not too many; NULL: all */
	const char *action; /* what the reflog is to say was done; NULL: what git says */
};

/* As litter asks. */
static bool is_at_work(void *repo)
{
	return ews_git_at_work(repo);
}

static bool is_at_work_in(void *workspace)
{
	return ews_git_at_work_in(workspace);
}

/* One of ours is known whatever git does. */
static void sweep_index_lock(int git_fd, struct ews_litter_git *git)
{
	ews_index_lock_sweep(git_fd);
	ews_litter_sweep_lock(git_fd, EWS_INDEX_LOCK, git);
}

void ews_stage_sweep_index(int git_fd, const char *workspace, int64_t since_s)
{
	struct ews_litter_git git = { .since_s = since_s,
				      .is_busy = is_at_work_in,
				      .payload = (char *)(uintptr_t)workspace };

	sweep_index_lock(git_fd, &git);
}

void ews_stage_sweep(struct ews_repo *repo, int64_t since_s, bool with_index)
{
	struct ews_litter_git git = { .since_s = since_s, .is_busy = is_at_work, .payload = repo };
	EWS_CLEANUP(fd) int objects = -1;

	if (repo->is_plain)
		return;
	if (with_index) {
		sweep_index_lock(repo->git_fd, &git);
		ews_litter_sweep_lock(repo->git_fd, HEAD_LOCK, &git);
		/* git commit ends with a look at what there is to tidy up. */
		objects = ews_dir_open(ews_odb_object_dir(repo->odb));
		if (objects >= 0)
			ews_litter_sweep_lock(objects, "maintenance.lock", &git);
		ews_error_clear();
	}
	/* What it was writing first: while that lies there nobody can have refs packed. */
	ews_litter_sweep_lock(repo->common_fd, EWS_PACKED_REFS ".new", &git);
	ews_litter_sweep_lock(repo->common_fd, EWS_PACKED_REFS ".lock", &git);
	ews_litter_sweep_branches(repo->odb, &git);
	ews_litter_sweep_objects(repo->odb, &git);
}

/* A git that died left what it had begun, one that could not delete it only warns; the error at hand stays. */
static void sweep_after(struct ews_repo *repo, int64_t begun_s)
{
	struct ews_error_saved saved = EWS_ERROR_SAVED_INIT;

	ews_error_save(&saved);
	ews_stage_sweep(repo, begun_s, true);
	(void)ews_error_restore(&saved);
}

static void fill_env(struct ews_strv *env, const char *action)
{
	for (char **item = environ; *item; item++)
		if (!ews_str_begins(*item, REFLOG_ACTION))
			ews_strv_add(env, *item);
	ews_strv_addf(env, REFLOG_ACTION "%s", action);
}

/* Does a git that is told nothing but to stand in the project take it for what it is to us? */
static bool is_found(const struct ews_repo *repo, const char *git)
{
	EWS_CLEANUP(strv) struct ews_strv argv = EWS_STRV_INIT;
	EWS_CLEANUP(free) char *want = ews_strfmt("%s\n%s\n", repo->git_dir, repo->project);
	EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf err = EWS_BUF_INIT;
	struct ews_proc proc = { .cwd = repo->project, .out = &out, .err = &err };
	int rc;

	ews_strv_add_all(&argv, git, "rev-parse", "--absolute-git-dir", "--show-toplevel", NULL);
	proc.argv = argv.items;
	rc = ews_proc_run(&proc);
	if (rc < 0)
		ews_error_clear(); /* then it is told */
	return rc == 0 && !strcmp(out.ptr, want);
}

/* Where they are too many git looks at all. */
static void add_paths(struct ews_strv *argv, const struct ews_strv *paths)
{
	size_t bytes = 0;

	for (size_t i = 0; i < paths->n; i++)
		bytes += strlen(paths->items[i]) + 1;
	if (bytes > PATHS_BYTES_MAX)
		return;
	ews_strv_add(argv, "--");
	for (size_t i = 0; i < paths->n; i++)
		ews_strv_addf(argv, ":(literal)%s", paths->items[i]);
}

/* Run git in the project, as its user would. Gives its status. */
static int run(struct ews_repo *repo, const struct words *words)
{
	EWS_CLEANUP(strv) struct ews_strv argv = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv env = EWS_STRV_INIT;
	EWS_CLEANUP(free) char *git = NULL;
	EWS_CLEANUP(buf) struct ews_buf err = EWS_BUF_INIT;
	EWS_CLEANUP(free) char *sentence = NULL;
	struct ews_proc proc = { .cwd = repo->project, .out = words->out, .err = words->out ? &err : NULL };
	int64_t begun_s = ews_clock_now();
	int rc = ews_git_program_find(&git);

	if (rc < 0)
		return rc;
	ews_strv_add(&argv, git);
	/* Hooks inherit what git is told: those that change to another directory or repository would be led astray. */
	if (!words->has_hooks || !is_found(repo, git)) {
		ews_strv_addf(&argv, "--git-dir=%s", repo->git_dir);
		ews_strv_addf(&argv, "--work-tree=%s", repo->project);
	}
	/* A monitor that the repository names is no part of what the user asked for, as hooks and filters are. */
	ews_strv_add_all(&argv, "-c", "core.fsmonitor=false", NULL);
	if (words->sync_objects)
		ews_strv_add_all(&argv, "-c", "core.fsync=objects", NULL);
	if (words->paths)
		ews_strv_add(&argv, "--no-literal-pathspecs"); /* whatever the user's are */
	for (const char *const *arg = words->args; *arg; arg++)
		ews_strv_add(&argv, *arg);
	if (words->paths)
		add_paths(&argv, words->paths);
	proc.argv = argv.items;
	if (words->action) {
		fill_env(&env, words->action);
		proc.env = env.items;
	}
	proc.out_fd = words->out ? 0 : STDERR_FILENO;
	if (words->input) {
		proc.input = words->input->ptr;
		proc.input_len = words->input->len;
	}
	ews_buf_init_max(&err, 64 * EWS_KIB);
	rc = ews_proc_run(&proc);
	if (rc < 0 || rc >= 128 || words->writes)
		sweep_after(repo, begun_s);
	if (rc < 0)
		return ews_error_wrap("cannot run git");
	if (rc < 128 || !words->out)
		return rc;
	sentence = ews_git_sentence(&err);
	return ews_error(EWS_EGIT, "'git %s' failed: %s", words->args[0], sentence);
}

static int fail_conflict(const char *path, const char *why)
{
	EWS_CLEANUP(buf) struct ews_buf quoted = EWS_BUF_INIT;

	ews_path_quote(&quoted, path);
	ews_error(EWS_ECONFLICT, "'%s' %s: nothing was changed", quoted.ptr, why);
	ews_error_hint("stage it or put it back, or apply without --index and --commit");
	return EWS_ECONFLICT;
}

/* What git was told not to look at has changes in it that nobody may have meant to be staged. */
static int fail_marked(const struct ews_index_entry *ie)
{
	const char *mark = ie->is_skip_worktree ? "skip-worktree" : "assume-unchanged";
	EWS_CLEANUP(buf) struct ews_buf quoted = EWS_BUF_INIT;

	ews_path_quote(&quoted, ie->path);
	ews_error(EWS_ECONFLICT, "'%s' is marked as %s in the index: nothing was changed", quoted.ptr, mark);
	ews_error_hint("'git update-index --no-%s <path>' takes the mark away, or apply without --index and --commit",
		       mark);
	return EWS_ECONFLICT;
}

/* What the next commit would end, and take author or message from; NULL: nothing. */
static const char *find_under_way(const struct ews_gitstate *git)
{
	if (ews_gitstate_file(git, "MERGE_HEAD"))
		return "merge";
	if (ews_gitstate_file(git, "CHERRY_PICK_HEAD") || ews_gitstate_left(git, "CHERRY_PICK_HEAD"))
		return "cherry-pick";
	return ews_gitstate_file(git, "REVERT_HEAD") || ews_gitstate_left(git, "REVERT_HEAD") ? "revert" : NULL;
}

static int refuse_staged(struct ews_repo *repo, const struct ews_content *now)
{
	/* Whatever settings say of submodules: git would commit what is staged of them. */
	static const char *const args[] = {
		"diff", "--cached", "--quiet", "--no-ext-diff", "--ignore-submodules=none", NULL
	};
	EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;
	const struct words words = { .out = &out, .args = args };
	const char *verb = find_under_way(&now->git);
	int rc;

	if (verb) {
		ews_error(EWS_ECONFLICT, "a %s is under way in the project: nothing was changed", verb);
		ews_error_hint("end it by 'git commit' or 'git %s --abort', or apply without --commit", verb);
		return EWS_ECONFLICT;
	}
	rc = run(repo, &words);
	if (rc <= 0)
		return rc;
	ews_error(EWS_ECONFLICT, "the index holds other staged changes: nothing was changed");
	ews_error_hint("commit or unstage them, or use --index and commit all of it");
	return EWS_ECONFLICT;
}

static int refuse_lock(int dir_fd, const char *dir, const char *name)
{
	if (ews_gitstate_outwait_lock(dir_fd, name))
		return 0;
	ews_error(EWS_EBUSY, "git is at work in the project: '%s/%s' is there", dir, name);
	ews_error_hint("when no git runs there, remove that file");
	return EWS_EBUSY;
}

int ews_stage_refuse_locked(const struct ews_repo *repo)
{
	return refuse_lock(repo->git_fd, repo->git_dir, EWS_INDEX_LOCK);
}

int ews_stage_refuse_locked_branch(const struct ews_repo *repo, const char *branch)
{
	EWS_CLEANUP(free) char *lock = ews_strfmt("%s.lock", branch);
	int rc = refuse_lock(repo->git_fd, repo->git_dir, HEAD_LOCK);

	return rc < 0 ? rc : refuse_lock(repo->common_fd, repo->common_dir, lock);
}

static bool is_staged_kind(const struct ews_entry *entry)
{
	return entry && (entry->type == EWS_ENTRY_FILE || entry->type == EWS_ENTRY_LINK);
}

/* Is it one of `paths` whose file goes from the work tree, too? */
static bool goes_along(const struct ews_content *now, const struct ews_strv *paths, const char *path)
{
	return ews_strv_sorted_has(paths, path) && is_staged_kind(ews_entries_find(&now->scan.entries, path));
}

static int fail_displaced(const char *path, const char *displaced)
{
	EWS_CLEANUP(buf) struct ews_buf quoted = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf other = EWS_BUF_INIT;

	ews_path_quote(&quoted, path);
	ews_path_quote(&other, displaced);
	ews_error(EWS_ECONFLICT,
		  "'%s' would take '%s' out of the index, which is not in the project's files: nothing was changed",
		  quoted.ptr, other.ptr);
	ews_error_hint("bring it back or take it out, or apply without --index and --commit");
	return EWS_ECONFLICT;
}

/* A file takes all entries below its path out of the index, and one above it. */
static void list_displaced(struct ews_strv *out, const struct ews_index *index, const char *path)
{
	EWS_CLEANUP(free) char *above = ews_strdup(path);
	const struct ews_index_entry *below = ews_index_find_below(index, path), *end = index->items + index->n;

	for (; below && below < end && ews_path_is_inside(below->path, path); below++)
		ews_strv_add(out, below->path);
	for (char *slash = strrchr(above, '/'); slash; slash = strrchr(above, '/')) {
		*slash = '\0';
		if (ews_index_find(index, above))
			ews_strv_add(out, above);
	}
}

/* Of those that are not in the work tree, as in a sparse checkout, nobody would think. */
static int refuse_displaced(const struct ews_index *index, const struct ews_content *now,
			    const struct ews_strv *paths, const char *path)
{
	EWS_CLEANUP(strv) struct ews_strv displaced = EWS_STRV_INIT;

	list_displaced(&displaced, index, path);
	for (size_t i = 0; i < displaced.n; i++)
		if (!goes_along(now, paths, displaced.items[i]))
			return fail_displaced(path, displaced.items[i]);
	return 0;
}

/* The project's index, with each file of what a sparse one names as directories: they bear marks as well. */
static int read_index(struct ews_index *out, const struct ews_repo *repo)
{
	int rc = ews_index_read(out, repo->git_fd, "index", ews_odb_algo(repo->odb));

	return rc < 0 ? rc : ews_index_expand(out, repo->odb);
}

int ews_stage_check(struct ews_repo *repo, const struct ews_content *now, const struct ews_entries *then,
		    const struct ews_strv *paths, bool alone)
{
	static const char *const args[] = { "diff", "--name-only", "-z", "--no-ext-diff", "--no-renames", NULL };
	EWS_CLEANUP(index) struct ews_index index = EWS_INDEX_INIT;
	EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;
	/* Others would be read for nothing, by filters that may be slow, or fail. */
	const struct words words = { .out = &out, .args = args, .paths = paths };
	int rc = ews_stage_refuse_locked(repo);

	ews_buf_init_max(&out, NAMES_BYTES_MAX);
	if (rc == 0 && alone)
		rc = refuse_staged(repo, now);
	if (rc == 0)
		rc = run(repo, &words);
	if (rc == 0)
		rc = read_index(&index, repo);
	if (rc != 0)
		return rc < 0 ? rc : ews_error(EWS_EGIT, "git could not compare the index with the files");
	for (const char *at = out.ptr; at < out.ptr + out.len; at += strlen(at) + 1)
		if (ews_strv_sorted_has(paths, at))
			return fail_conflict(at, "does not match the index");
	for (size_t i = 0; i < paths->n; i++) {
		const struct ews_entry *entry = ews_entries_find(&now->scan.entries, paths->items[i]);
		const struct ews_index_entry *ie = ews_index_find(&index, paths->items[i]);
		bool counts = is_staged_kind(entry);
		const struct ews_entry *after = ews_entries_find(then, paths->items[i]);

		if (counts && !ie)
			return fail_conflict(paths->items[i], "is not in the index");
		/* What was left out of the work tree, and is not in it, is staged once it comes. */
		if (ie && ((counts && ie->is_skip_worktree) || ie->is_assumed_unchanged))
			return fail_marked(ie);
		rc = after && after->type != EWS_ENTRY_DIR ? refuse_displaced(&index, now, paths, paths->items[i])
							   : 0;
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* The index before we stage something in it. */
struct unstaged {
	struct ews_index index;
	struct ews_tripwire tripwire;
	bool is_known;
};

static void release_unstaged(struct unstaged *unstaged)
{
	ews_index_release(&unstaged->index);
	ews_tripwire_release(&unstaged->tripwire);
}

EWS_CLEANUP_DEFINE(unstaged, struct unstaged, release_unstaged)

#define UNSTAGED_INIT { EWS_INDEX_INIT, EWS_TRIPWIRE_INIT, false }

/* Who can't tell what was staged before names ours as well. */
static void note_unstaged(struct unstaged *out, struct ews_repo *repo)
{
	out->is_known = read_index(&out->index, repo) == 0 && ews_tripwire_take_index(&out->tripwire, repo) == 0;
	ews_error_clear();
}

/*
 * Once we have staged `paths`, which are sorted, that is told, unless somebody staged something else at the same time: the indexes are
 * read before and after the tripwire takes them.
 */
static void tell_staged(struct ews_repo *repo, const struct unstaged *before, const struct ews_strv *paths)
{
	EWS_CLEANUP(unstaged) struct unstaged now = UNSTAGED_INIT;

	if (before->is_known && ews_tripwire_take_index(&now.tripwire, repo) == 0 &&
	    read_index(&now.index, repo) == 0 && ews_index_is_alike_beside(&before->index, &now.index, paths))
		ews_tripwire_tell_index(repo, ews_tripwire_find(&before->tripwire, EWS_TRIPWIRE_INDEX),
					ews_tripwire_find(&now.tripwire, EWS_TRIPWIRE_INDEX));
	ews_error_clear();
}

static int update(struct ews_repo *repo, const struct ews_buf *input, const char *const *args)
{
	EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;
	const struct words words = { .writes = true, .out = &out, .input = input, .args = args };
	int rc = run(repo, &words);

	return rc > 0 ? ews_error(EWS_EGIT, "git could not write the index") : rc;
}

/* Set, or take away, a mark of those of `paths` that have it in `index`. */
static int mark(struct ews_repo *repo, const struct ews_index *index, const struct ews_strv *paths,
		const char *option, bool (*has_mark)(const struct ews_index_entry *ie))
{
	const char *const args[] = { "update-index", option, "-z", "--stdin", NULL };
	EWS_CLEANUP(buf) struct ews_buf input = EWS_BUF_INIT;

	for (size_t i = 0; i < paths->n; i++) {
		const struct ews_index_entry *ie = ews_index_find(index, paths->items[i]);

		if (ie && has_mark(ie))
			ews_buf_addz(&input, ie->path);
	}
	return input.len ? update(repo, &input, args) : 0;
}

static bool is_left_out(const struct ews_index_entry *ie)
{
	return ie->is_skip_worktree;
}

static bool is_taken_as_it_is(const struct ews_index_entry *ie)
{
	return ie->is_assumed_unchanged;
}

static int update_paths(struct ews_repo *repo, const struct ews_strv *paths, const char *const *args)
{
	EWS_CLEANUP(buf) struct ews_buf input = EWS_BUF_INIT;

	for (size_t i = 0; i < paths->n; i++)
		ews_buf_addz(&input, paths->items[i]);
	return input.len ? update(repo, &input, args) : 0;
}

static int add(struct ews_repo *repo, const struct ews_strv *paths, const struct ews_strv *gone)
{
	static const char *const drop[] = { "update-index", "--force-remove", "-z", "--stdin", NULL };
	static const char *const add[] = { "update-index", "--add", "--remove", "--replace", "-z", "--stdin", NULL };
	EWS_CLEANUP(index) struct ews_index index = EWS_INDEX_INIT;
	int rc = read_index(&index, repo);

	/* What was left out of the work tree, and is in it now: git would take it out of the index instead. */
	if (rc == 0)
		rc = mark(repo, &index, paths, "--no-skip-worktree", is_left_out);
	/* git looks at no path that lies beyond a link, and does not take a directory for a file that is gone. */
	if (rc == 0)
		rc = update_paths(repo, gone, drop);
	return rc < 0 ? rc : update_paths(repo, paths, add);
}

int ews_stage_add(struct ews_repo *repo, const struct ews_strv *paths, const struct ews_strv *gone)
{
	EWS_CLEANUP(unstaged) struct unstaged before = UNSTAGED_INIT;
	EWS_CLEANUP(strv) struct ews_strv all = EWS_STRV_INIT;
	int rc;

	note_unstaged(&before, repo);
	rc = add(repo, paths, gone);
	if (rc < 0)
		return rc;
	ews_strv_add_array(&all, paths->items);
	ews_strv_add_array(&all, gone->items);
	if (all.n)
		ews_strv_sort(&all);
	tell_staged(repo, &before, &all);
	return 0;
}

/* The entries of an index that was kept, as read_index() has those of the present one. */
static int read_kept(struct ews_index *out, const struct ews_repo *repo, const struct ews_gitstate *then)
{
	int rc = then->has_index ? ews_index_parse_state(out, then, ews_odb_algo(repo->odb)) : 0;

	if (rc == 0)
		rc = ews_index_expand(out, repo->odb);
	return rc < 0 ? ews_error_wrap("cannot read the index that was kept") : 0;
}

/* Does git have it in `index` as it was, but take it for part of the checkout by now? */
static bool is_taken_in(const struct ews_index *index, const struct ews_index_entry *was)
{
	const struct ews_index_entry *is = ews_index_find(index, was->path);

	return is && !is->is_skip_worktree && !is->stage && is->mode == was->mode &&
	       ews_oid_equal(&is->oid, &was->oid);
}

/*
 * Are files still left out of the work tree by the patterns of `then`? By others git may want some of them, and it never brings one
 * that bears the mark. Whether the patterns are taken for cones says nothing new: such ones mean the same either way.
 */
static int is_as_sparse(struct ews_repo *repo, const struct ews_gitstate *then)
{
	EWS_CLEANUP(gitstate) struct ews_gitstate now = EWS_GITSTATE_INIT;
	const struct ews_gitstate_file *was = ews_gitstate_file(then, EWS_GITSTATE_SPARSE), *is;
	bool is_sparse;
	int rc = ews_config_git_bool(&is_sparse, repo->odb, "core.sparseCheckout", false);

	if (rc < 0 || !is_sparse)
		return rc;
	rc = ews_gitstate_read_files(&now, repo->git_fd);
	if (rc < 0)
		return rc;
	is = ews_gitstate_file(&now, EWS_GITSTATE_SPARSE);
	return was && is && was->data.len == is->data.len && !memcmp(was->data.ptr, is->data.ptr, is->data.len);
}

int ews_stage_leave_out(struct ews_repo *repo, const struct ews_gitstate *then,
			bool (*wants)(const void *payload, const char *path), const void *payload)
{
	static const char *const args[] = { "update-index", "--skip-worktree", "-z", "--stdin", NULL };
	EWS_CLEANUP(index) struct ews_index was = EWS_INDEX_INIT;
	EWS_CLEANUP(index) struct ews_index is = EWS_INDEX_INIT;
	EWS_CLEANUP(strv) struct ews_strv paths = EWS_STRV_INIT;
	int rc = is_as_sparse(repo, then);

	if (rc <= 0)
		return rc;
	rc = read_kept(&was, repo, then);
	for (size_t i = 0; i < was.n && rc == 0; i++) {
		const struct ews_index_entry *entry = &was.items[i];

		if (!entry->is_skip_worktree || entry->stage || !wants(payload, entry->path))
			continue;
		/* Mostly nothing is left out, and there is no need to know what is. */
		if (!is.n)
			rc = read_index(&is, repo);
		if (rc == 0 && is_taken_in(&is, entry))
			ews_strv_add(&paths, entry->path);
	}
	return rc < 0 ? rc : update_paths(repo, &paths, args);
}

int ews_stage_list_displaced(struct ews_strv *out, const struct ews_repo *repo, const struct ews_gitstate *now,
			     const struct ews_gitstate *then, bool (*wants)(const void *payload, const char *path),
			     const void *payload)
{
	EWS_CLEANUP(index) struct ews_index was = EWS_INDEX_INIT;
	EWS_CLEANUP(index) struct ews_index is = EWS_INDEX_INIT;
	EWS_CLEANUP(strv) struct ews_strv displaced = EWS_STRV_INIT;
	int rc = read_kept(&was, repo, then);

	if (rc == 0)
		rc = read_kept(&is, repo, now);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < was.n; i++)
		if (wants(payload, was.items[i].path))
			list_displaced(&displaced, &is, was.items[i].path);
	for (size_t i = 0; i < displaced.n; i++)
		if (!wants(payload, displaced.items[i]))
			ews_strv_add(out, displaced.items[i]);
	if (out->n)
		ews_strv_unique(out);
	return 0;
}

static int restore(struct ews_repo *repo, const struct ews_gitstate *then, const struct ews_strv *paths)
{
	static const char *const args[] = { "update-index", "-z", "--index-info", NULL };
	EWS_CLEANUP(index) struct ews_index index = EWS_INDEX_INIT;
	EWS_CLEANUP(buf) struct ews_buf input = EWS_BUF_INIT;
	char hex[EWS_OID_HEX_MAX];
	int rc = read_kept(&index, repo, then);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < paths->n; i++) {
		ews_buf_addf(&input, "0 %0*d\t%s", 2 * (int)ews_hash_len(ews_odb_algo(repo->odb)), 0,
			     paths->items[i]);
		ews_buf_addc(&input, '\0');
	}
	for (size_t i = 0; i < index.n; i++) {
		const struct ews_index_entry *entry = &index.items[i];

		if (!ews_strv_sorted_has(paths, entry->path))
			continue;
		ews_buf_addf(&input, "%o %s %u\t%s", (unsigned)entry->mode, ews_oid_hex(hex, &entry->oid),
			     (unsigned)entry->stage, entry->path);
		ews_buf_addc(&input, '\0');
	}
	rc = input.len ? update(repo, &input, args) : 0;
	if (rc == 0)
		rc = mark(repo, &index, paths, "--skip-worktree", is_left_out);
	return rc < 0 ? rc : mark(repo, &index, paths, "--assume-unchanged", is_taken_as_it_is);
}

int ews_stage_restore(struct ews_repo *repo, const struct ews_gitstate *then, const struct ews_strv *paths)
{
	EWS_CLEANUP(unstaged) struct unstaged before = UNSTAGED_INIT;
	int rc;

	note_unstaged(&before, repo);
	rc = restore(repo, then, paths);
	if (rc == 0)
		tell_staged(repo, &before, paths);
	return rc;
}

int ews_stage_branch(char **branch, struct ews_oid *commit, struct ews_repo *repo)
{
	EWS_CLEANUP(gitstate) struct ews_gitstate state = EWS_GITSTATE_INIT;
	EWS_CLEANUP(free) char *name = NULL;
	int rc = ews_gitstate_read(&state, repo->git_fd);

	if (rc < 0)
		return rc;
	name = ews_head_last_ref(repo, &state);
	if (!name) {
		ews_error(EWS_EUSAGE, "HEAD is on no branch: there is nothing to commit to");
		ews_error_hint("'git switch -c <name>' makes one, --index only stages");
		return EWS_EUSAGE;
	}
	*commit = (struct ews_oid)EWS_OID_NONE;
	rc = ews_odb_ref_read(commit, repo->odb, name);
	if (rc < 0 && rc != EWS_ENOTFOUND)
		return rc;
	if (rc < 0)
		ews_error_clear(); /* unborn */
	*branch = ews_steal(&name);
	return 0;
}

/* As git's own "commit (amend)". */
static char *action_of(const struct ews_stage_commit *commit)
{
	return ews_strfmt("commit (ews %s)", commit->step_id);
}

int ews_stage_find_commit(struct ews_stage_commit *commit, struct ews_repo *repo)
{
	EWS_CLEANUP(free) char *action = action_of(commit);
	const struct ews_oid since = commit->before;

	return ews_reflog_find(&commit->before, &commit->after, repo->odb, commit->branch, action, &since);
}

/* Without a reflog: where the branch is one commit further, that is the one which was made just now. */
static void guess_commit(struct ews_stage_commit *out, struct ews_odb *odb)
{
	EWS_CLEANUP(commit) struct ews_commit commit = EWS_COMMIT_INIT;
	struct ews_oid now;
	bool is_read = ews_odb_ref_read(&now, odb, out->branch) == 0 && ews_odb_read_commit(&commit, odb, &now) == 0;

	ews_error_clear();
	if (is_read && (ews_oid_is_none(&out->before)
				? !commit.n_parents
				: commit.n_parents == 1 && ews_oid_equal(&commit.parents[0], &out->before)))
		out->after = now;
}

int ews_stage_commit(struct ews_stage_commit *commit, struct ews_repo *repo, const char *message)
{
	EWS_CLEANUP(free) char *text = ews_strfmt("--message=%s", message);
	EWS_CLEANUP(free) char *action = action_of(commit);
	const char *const args[] = { "commit", "--quiet", text, NULL };
	const struct words words = { .writes = true, .has_hooks = true, .args = args, .action = action };
	int rc = run(repo, &words);

	if (rc > 0) {
		ews_error(EWS_EGIT, "'git commit' ended with status %d: nothing was changed", rc);
		ews_error_hint("a hook, or a name and address that git lacks; --index only stages");
		return EWS_EGIT;
	}
	if (rc == 0)
		rc = ews_odb_refresh(repo->odb);
	if (rc == 0 && ews_stage_find_commit(commit, repo) < 0) {
		ews_error_clear();
		guess_commit(commit, repo->odb);
	}
	return rc;
}

int ews_stage_commit_tree(struct ews_oid *out, struct ews_repo *repo, const struct ews_oid *tree,
			  const struct ews_oid *parent, const char *message)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	char tree_hex[EWS_OID_HEX_MAX], parent_hex[EWS_OID_HEX_MAX];
	bool has_parent = !ews_oid_is_none(parent);
	const char *const args[] = { "commit-tree",
				     "-m",
				     message,
				     ews_oid_hex(tree_hex, tree),
				     has_parent ? "-p" : NULL,
				     has_parent ? ews_oid_hex(parent_hex, parent) : NULL,
				     NULL };
	const struct words words = { .writes = true, .sync_objects = true, .out = &text, .args = args };
	int rc = run(repo, &words);

	if (rc != 0)
		return rc < 0 ? rc : ews_error(EWS_EGIT, "git could not commit the tree");
	ews_buf_rtrim(&text);
	rc = ews_oid_parse(out, text.ptr);
	return rc < 0 ? rc : ews_odb_refresh(repo->odb);
}

int ews_stage_check_branch(struct ews_repo *repo, const char *name)
{
	const char *const args[] = { "check-ref-format", "--branch", name, NULL };
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	const struct words words = { .out = &text, .args = args };
	int rc = run(repo, &words);

	/* "@{-1}" is the name of another branch than it says. */
	ews_buf_rtrim(&text);
	if (rc == 0 && !strcmp(text.ptr, name))
		return 0;
	ews_error(EWS_EUSAGE, "'%s' is no name for a branch", name);
	return EWS_EUSAGE;
}
