/*
 * Repositories: see repo.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/repo.h"

#include <errno.h>
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
#include "base/own.h"
#include "base/path.h"
#include "base/shell_word.h"
#include "base/str.h"
#include "store/astray.h"
#include "store/config_user.h"
#include "store/git.h"
#include "store/gitfile.h"
#include "store/linked.h"
#include "store/home.h"
#include "store/state.h"

#define GITIGNORE_ALL "*\n"
#define HEAD_BYTES_MAX (64 * EWS_KIB)

/* Where a project is: its top, and its git directory. */
struct place {
	char *top;
	char *git_dir;
	bool is_bare;
	bool is_plain;
	bool is_given; /* the top was named by GIT_WORK_TREE, or is to be none */
};

#define PLACE_INIT { NULL, NULL, false, false, false }

static void release_place(struct place *place)
{
	free(place->top);
	free(place->git_dir);
}

EWS_CLEANUP_DEFINE(place, struct place, release_place)

/* Does HEAD name a ref or a commit? A link is how old repositories name theirs. */
static bool is_head(const char *path, const struct stat *st)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	bool is_id;

	if (S_ISLNK(st->st_mode))
		return true;
	if (ews_file_read(&text, AT_FDCWD, path, HEAD_BYTES_MAX) < 0) {
		ews_error_clear();
		return false;
	}
	ews_buf_rtrim(&text);
	is_id = strspn(text.ptr, "0123456789abcdef") == text.len && (text.len == 40 || text.len == 64);
	return is_id || ews_str_begins(text.ptr, "ref:");
}

static bool has_head(const char *dir)
{
	EWS_CLEANUP(free) char *head = ews_path_join(dir, "HEAD");
	struct stat st;

	return lstat(head, &st) == 0 && !S_ISDIR(st.st_mode) && is_head(head, &st);
}

/* Has `dir` what a git directory has besides HEAD: objects and refs, of its own or common ones? */
static bool has_store(const char *dir)
{
	EWS_CLEANUP(free) char *common = ews_path_join(dir, "commondir");

	return access(common, F_OK) == 0 || ews_odb_is_common_dir(dir);
}

/* Does home know the repository at `dir`? */
static bool is_known(const char *dir, const char *home)
{
	EWS_CLEANUP(free) char *common = NULL;
	EWS_CLEANUP(free) char *repo_dir = NULL;
	bool is = ews_odb_find_common_dir(&common, dir) == 0 && ews_odb_is_common_dir(common) &&
		  ews_home_find_repo_dir(&repo_dir, home, common) == 0;

	ews_error_clear();
	return is;
}

/* Is `dir` a git directory? Where home knows it a damaged HEAD takes nothing away from that: `revert` brings it back. */
static bool is_git_dir(const char *dir, const char *home)
{
	return has_store(dir) && (has_head(dir) || is_known(dir, home));
}

/* Follow the file `path`, mostly called ".git". */
static int follow_gitfile(char **out, const char *path, const char *home)
{
	EWS_CLEANUP(free) char *named = NULL;
	int rc = ews_gitfile_read(&named, AT_FDCWD, path);

	if (rc < 0)
		return rc;
	*out = ews_gitfile_follow(path);
	if (!*out || !is_git_dir(*out, home)) {
		ews_error(EWS_EGIT, "'%s' names '%s', which is no git directory", path, named);
		ews_error_hint("the workspace of a session that has ended? Change to the project");
		return EWS_EGIT;
	}
	return 0;
}

/* Is the directory `dir` the top of a project, or a bare repository? 1 yes, 0 no. */
static int look_at(struct place *out, const char *dir, const char *home)
{
	EWS_CLEANUP(free) char *dot_git = ews_path_join(dir, ".git");
	struct stat st;

	if (stat(dot_git, &st) == 0) {
		if (S_ISREG(st.st_mode)) {
			int rc = follow_gitfile(&out->git_dir, dot_git, home);

			if (rc < 0)
				return rc;
			out->top = ews_strdup(dir);
			return 1;
		}
		if (S_ISDIR(st.st_mode) && is_git_dir(dot_git, home)) {
			out->git_dir = realpath(dot_git, NULL);
			out->top = ews_strdup(dir);
			return 1;
		}
	}
	if (!is_git_dir(dir, home))
		return 0;
	out->git_dir = ews_strdup(dir);
	if (!strcmp(ews_path_base(dir), ".git")) {
		out->top = ews_path_dir(dir);
	} else {
		out->top = ews_strdup(dir);
		out->is_bare = true;
	}
	return 1;
}

/* May the search go on above `dir`? */
static bool is_ceiling(const char *dir)
{
	const char *list = getenv("GIT_CEILING_DIRECTORIES");

	while (list && *list) {
		size_t len = strcspn(list, ":");
		EWS_CLEANUP(free) char *name = ews_strndup(list, len);
		EWS_CLEANUP(free) char *real = realpath(name, NULL);

		if (!strcmp(real ? real : name, dir))
			return true;
		list += len + (list[len] == ':');
	}
	return false;
}

static bool crosses(dev_t dev, const char *dir)
{
	const char *env = getenv("GIT_DISCOVERY_ACROSS_FILESYSTEM");
	bool may_cross = false;
	struct stat st;

	if (env && ews_setting_read_bool(&may_cross, env) < 0)
		ews_error_clear();
	if (may_cross)
		return false;
	return stat(dir, &st) == 0 && st.st_dev != dev;
}

static void take_plain(struct place *out, const char *dir, char *store)
{
	out->top = ews_strdup(dir);
	out->git_dir = store;
	out->is_plain = true;
}

/* Is `dir` a plain directory that we keep a store of? */
static bool is_known_plain(struct place *out, const char *dir, const char *home)
{
	EWS_CLEANUP(free) char *store = ews_home_store(home, dir);
	bool known = is_git_dir(store, home);

	if (known)
		take_plain(out, dir, ews_steal(&store));
	return known;
}

int ews_repo_refuse_home(const char *project)
{
	const char *home = getenv("HOME");
	EWS_CLEANUP(free) char *real = home && *home ? realpath(home, NULL) : NULL;

	if (strcmp(project, "/") && (!real || strcmp(project, real)))
		return 0;
	ews_error(EWS_EDENIED, "the project '%s' is %s", project,
		  strcmp(project, "/") ? "your home directory" : "the root of all files");
	ews_error_hint("--force takes it all the same");
	return EWS_EDENIED;
}

static int make_plain(struct place *out, const char *dir, const char *home)
{
	EWS_CLEANUP(free) char *store = ews_home_store(home, dir);
	EWS_CLEANUP(free) char *stores = ews_path_dir(store);
	EWS_CLEANUP(fd) int home_fd = -1;
	int rc;

	rc = home_fd = ews_home_open(home);
	if (rc >= 0)
		rc = ews_dir_make_absolute(stores, 0700);
	if (rc >= 0)
		rc = ews_git_make_bare(store, EWS_SHA1);
	if (rc < 0)
		return ews_error_wrap("cannot make a store for '%s'", dir);
	take_plain(out, dir, ews_steal(&store));
	return 0;
}

/* Say what is wrong with `dot_git`, which is no git directory. */
static int say_damaged(enum ews_code code, const char *dot_git)
{
	EWS_CLEANUP(free) char *head = ews_path_join(dot_git, "HEAD");
	struct stat st;

	if (!has_store(dot_git)) {
		ews_error(code, "'%s' is no git directory", dot_git);
		ews_error_hint("repair it, or move it away to work in a plain directory");
		return code;
	}
	if (lstat(head, &st) < 0)
		ews_error(code, "'%s' has no HEAD", dot_git);
	else
		ews_error(code, "'%s' names neither a branch nor a commit", head);
	ews_error_hint("make it the file it was: a line like 'ref: refs/heads/main'");
	return code;
}

/* The ".git" above `cwd` that no repository is in; NULL: there is none. The caller frees it. */
static char *find_damaged(const char *cwd)
{
	EWS_CLEANUP(free) char *at = ews_strdup(cwd);

	for (;;) {
		EWS_CLEANUP(free) char *dot_git = ews_path_join(at, ".git");
		EWS_CLEANUP(free) char *above = ews_path_dir(at);
		struct stat st;

		if (lstat(dot_git, &st) == 0)
			return ews_steal(&dot_git);
		if (!strcmp(at, "/") || is_ceiling(above))
			return NULL;
		free(at);
		at = ews_steal(&above);
	}
}

/* Somebody's repository that is damaged is no plain directory for that. */
static int refuse_damaged(const char *cwd)
{
	EWS_CLEANUP(free) char *dot_git = find_damaged(cwd);

	return dot_git ? say_damaged(EWS_EGIT, dot_git) : 0;
}

static int not_found(const char *cwd, const char *home)
{
	EWS_CLEANUP(free) char *dot_git = find_damaged(cwd);
	EWS_CLEANUP(free) char *was = ews_astray_guess(home, cwd);
	EWS_CLEANUP(free) char *shown = ews_shell_shown(was ? was : "");

	if (dot_git && has_store(dot_git))
		return say_damaged(EWS_ENOTFOUND, dot_git);
	ews_error(EWS_ENOTFOUND, "'%s' is in no git repository, and in no directory that had a session", cwd);
	if (was)
		ews_error_hint("'%s' had, and is gone. If it was moved here: git ews recover --moved-from %s", was,
			       shown);
	else
		ews_error_hint(
			"change to a project, or name one with 'git ews -C <dir> ...'; 'git ews start' takes any directory");
	return EWS_ENOTFOUND;
}

/* Is `dir` a project? 1 yes, 0 no. */
typedef int (*look_fn)(struct place *out, const char *dir, const char *home);

static int look_for_known(struct place *out, const char *dir, const char *home)
{
	int rc = look_at(out, dir, home);

	return rc ? rc : is_known_plain(out, dir, home);
}

static int look_for_astray(struct place *out, const char *dir, const char *home)
{
	int rc = ews_astray_find(home, dir);

	return rc > 0 ? is_known_plain(out, dir, home) : rc;
}

/* From `cwd` up to where the search may not go on. */
static int search_with(struct place *out, const char *cwd, const char *home, look_fn look)
{
	EWS_CLEANUP(free) char *at = ews_strdup(cwd);
	struct stat st;

	if (stat(cwd, &st) < 0)
		return ews_error_os("cannot look at '%s'", cwd);
	for (;;) {
		EWS_CLEANUP(free) char *above = NULL;
		int rc = look(out, at, home);

		if (rc != 0)
			return rc;
		above = ews_path_dir(at);
		if (!strcmp(at, "/") || is_ceiling(above) || crosses(st.st_dev, above))
			return 0;
		free(at);
		at = ews_steal(&above);
	}
}

static int search_up(struct place *out, const char *cwd, const char *home)
{
	int rc = search_with(out, cwd, home, look_for_known);

	if (rc == 0)
		rc = search_with(out, cwd, home, look_for_astray);
	return rc < 0 ? rc : rc ? 0 : not_found(cwd, home);
}

int ews_repo_adopt(const char *cwd, const char *home, const char *was)
{
	EWS_CLEANUP(place) struct place place = PLACE_INIT;
	EWS_CLEANUP(free) char *real = realpath(cwd, NULL);
	int rc = real ? search_with(&place, real, home, look_for_known) : ews_error_os("cannot find '%s'", cwd);

	if (rc > 0) {
		(void)ews_error(EWS_EEXISTS, "'%s' is a project of its own, or in one: '%s'", real, place.top);
		ews_error_hint("its sessions are found by themselves, 'git ews list' shows them; --moved-from is for a "
			       "directory without a repository");
		return EWS_EEXISTS;
	}
	return rc < 0 ? rc : ews_astray_adopt(home, real, was);
}

/* GIT_WORK_TREE names the top, whatever the config says. */
static int take_work_tree(struct place *out, const char *cwd)
{
	const char *top = getenv("GIT_WORK_TREE");
	EWS_CLEANUP(free) char *path = NULL;
	char *real;

	if (!top || !*top)
		return 0;
	path = ews_path_absolute(cwd, top);
	real = realpath(path, NULL);
	if (!real)
		return ews_error_os("GIT_WORK_TREE names '%s'", path);
	free(out->top);
	out->top = real;
	out->is_given = true;
	out->is_bare = false;
	return 0;
}

/* GIT_DIR names the git directory; the top is the directory around a ".git", else the current one. */
static int from_environment(struct place *out, const char *cwd, const char *home)
{
	EWS_CLEANUP(free) char *dir = ews_path_absolute(cwd, getenv("GIT_DIR"));
	struct stat st;

	out->git_dir = realpath(dir, NULL);
	if (out->git_dir && stat(out->git_dir, &st) == 0 && S_ISREG(st.st_mode)) {
		EWS_CLEANUP(free) char *file = ews_steal(&out->git_dir);
		int rc = follow_gitfile(&out->git_dir, file, home);

		if (rc < 0)
			return rc;
	}
	if (!out->git_dir || !is_git_dir(out->git_dir, home)) {
		ews_error(EWS_ENOTFOUND, "GIT_DIR names '%s', which is no git directory", dir);
		ews_error_hint("unset GIT_DIR");
		return EWS_ENOTFOUND;
	}
	out->top = strcmp(ews_path_base(out->git_dir), ".git") ? ews_strdup(cwd) : ews_path_dir(out->git_dir);
	return 0;
}

/* Does the session say that it lives, and is at work in the project's directory itself? */
static bool is_in_place(const struct ews_repo *repo, int sessions, const char *id)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open_own(sessions, id);
	EWS_CLEANUP(state) struct ews_state state = EWS_STATE_INIT;
	bool is = fd >= 0 && ews_state_read(&state, fd) == 0 && state.state != EWS_STATE_ENDED &&
		  !strcmp(state.workspace, repo->project) && !strcmp(state.project, repo->project) &&
		  !strcmp(state.git_dir, repo->git_dir);

	ews_error_clear();
	return is;
}

/*
 * Is a session at work in the directory around the git directory itself? It began before the config said anything else, and finds the
 * way back from there.
 */
static bool has_session_in_place(const struct ews_repo *repo)
{
	EWS_CLEANUP(dir_names) struct ews_dir_names ids = EWS_DIR_NAMES_INIT;
	EWS_CLEANUP(free) char *dir = NULL;
	EWS_CLEANUP(free) char *path = NULL;
	EWS_CLEANUP(fd) int sessions = -1;
	ssize_t n = 0;
	bool has = false;

	if (ews_home_find_repo_dir(&dir, repo->home, repo->common_dir) == 0) {
		path = ews_path_join(dir, "sessions");
		sessions = ews_dir_open(path);
	}
	if (sessions >= 0)
		n = ews_dir_names_read(&ids, sessions);
	for (ssize_t i = 0; i < n && !has; i++)
		has = is_in_place(repo, sessions, ids.items[i].name);
	ews_error_clear();
	return has;
}

/* core.worktree and core.bare have the last word, as in git, but for a session in place. */
static int settle_config(struct ews_repo *repo, bool is_given)
{
	EWS_CLEANUP(free) char *worktree = NULL;
	EWS_CLEANUP(free) char *path = NULL;
	EWS_CLEANUP(free) char *top = NULL;
	bool is_bare;
	int rc;

	if (is_given || strcmp(repo->git_dir, repo->common_dir))
		return 0;
	rc = ews_config_git_bool(&is_bare, repo->odb, "core.bare", false);
	if (rc < 0)
		return rc;
	if (!is_bare && ews_odb_config(&worktree, repo->odb, "core.worktree") < 0) {
		ews_error_clear();
		return 0;
	}
	path = is_bare ? ews_strdup(repo->git_dir) : ews_path_absolute(repo->git_dir, worktree);
	top = realpath(path, NULL);
	if ((!top || strcmp(top, repo->project) != 0) && !repo->is_bare && has_session_in_place(repo)) {
		repo->overruled = is_bare ? "core.bare" : "core.worktree";
		return 0;
	}
	if (!top)
		return ews_error_os("core.worktree names '%s'", path);
	repo->is_bare = is_bare;
	free(repo->project);
	repo->project = ews_steal(&top);
	return 0;
}

static int open_place(struct ews_repo **out, struct place *place, const char *home)
{
	EWS_CLEANUP(repo) struct ews_repo *repo = ews_calloc(1, sizeof(*repo));
	int rc;

	repo->dir_fd = repo->git_fd = repo->common_fd = -1;
	repo->home = ews_strdup(home);
	repo->project = ews_steal(&place->top);
	repo->git_dir = ews_steal(&place->git_dir);
	repo->is_bare = place->is_bare;
	repo->is_plain = place->is_plain;
	rc = ews_odb_open(&repo->odb, repo->git_dir, repo->home);
	if (rc < 0)
		return rc;
	repo->common_dir = ews_strdup(ews_odb_common_dir(repo->odb));
	rc = repo->is_plain ? 0 : settle_config(repo, place->is_given);
	if (rc < 0)
		return rc;
	repo->git_fd = ews_dir_open(repo->git_dir);
	if (repo->git_fd < 0)
		return repo->git_fd;
	repo->common_fd = ews_dir_open(repo->common_dir);
	if (repo->common_fd < 0)
		return repo->common_fd;
	*out = ews_steal(&repo);
	return 0;
}

/*
 * Where nothing in the project's directory says that it is one, as with a git directory that GIT_DIR named: the store, and
 * `with_work_tree` the one that its own config names. Without one nobody works on the project's files from here.
 */
static int open_store(struct ews_repo **out, const char *repo_dir, const char *home, bool with_work_tree)
{
	EWS_CLEANUP(place) struct place place = PLACE_INIT;
	int rc = ews_home_find_store(&place.git_dir, repo_dir);

	if (rc < 0)
		return rc;
	if (*place.git_dir != '/' || !is_git_dir(place.git_dir, home))
		return ews_error(EWS_EDAMAGED, "'%s' is no git directory", place.git_dir);
	place.top = ews_strdup(place.git_dir);
	place.is_bare = true;
	place.is_given = !with_work_tree;
	return open_place(out, &place, home);
}

/* Is it a linked worktree's git directory, of the repository whose common one `common_dir` is? */
static bool is_linked(const char *git_dir, const char *common_dir)
{
	return strcmp(git_dir, common_dir) != 0 && ews_path_is_inside(git_dir, common_dir);
}

/*
 * The linked worktree that the session is of, where git says that it stands by now. Of one that is gone the store is left, with no
 * work tree: what is meant for that one must not be written into another, be it the repository's own.
 */
static int open_linked(struct ews_repo **out, const struct ews_state *state, const char *repo_dir, const char *home)
{
	EWS_CLEANUP(repo) struct ews_repo *store = NULL;
	int rc = open_store(&store, repo_dir, home, false);

	if (rc == 0)
		rc = ews_repo_open_beside(out, store, state->git_dir, state->project);
	if (rc != EWS_ENOTFOUND || !store)
		return rc;
	ews_error_clear();
	store->gone = ews_strdup(state->project);
	*out = ews_steal(&store);
	return 0;
}

/* Is the session of a linked worktree, seen from its repository, which is there? */
static bool is_of_linked(const struct ews_state *state, const char *repo_dir, const char *home)
{
	EWS_CLEANUP(free) char *store = NULL;
	bool is = ews_home_find_store(&store, repo_dir) == 0 && is_linked(state->git_dir, store) &&
		  is_git_dir(store, home);

	ews_error_clear();
	return is;
}

/* Where the session's project was, or has gone to; when that is lost, the repository's own. */
static int open_recorded(struct ews_repo **out, const struct ews_state *state, const char *repo_dir, const char *home)
{
	EWS_CLEANUP(repo) struct ews_repo *there = NULL;
	EWS_CLEANUP(free) char *known = NULL;
	int rc;

	if (access(state->project, F_OK) == 0 || errno != ENOENT) {
		rc = ews_repo_open_at(&there, state->project, home);
		if (rc == EWS_ENOTFOUND) {
			ews_error_clear();
			return open_store(out, repo_dir, home, true);
		}
		/* Another one of the repository may have taken the place of one that was moved. */
		if (rc == 0 && strcmp(there->git_dir, state->git_dir) != 0 &&
		    is_linked(state->git_dir, there->common_dir))
			return open_linked(out, state, repo_dir, home);
		if (rc == 0)
			*out = ews_steal(&there);
		return rc;
	}
	if (is_of_linked(state, repo_dir, home))
		return open_linked(out, state, repo_dir, home);
	if (ews_home_find_project(&known, repo_dir) == 0 && access(known, F_OK) == 0)
		return ews_repo_open_at(out, known, home);
	ews_error(EWS_ENOTFOUND, "its project is gone: '%s'", state->project);
	ews_error_hint("where it was moved to, 'git ews status' lets its sessions follow");
	return EWS_ENOTFOUND;
}

/* A record that names another project leads to that one's sessions: it must be the project whose directory in home this is. */
static int check_way_back(struct ews_repo *repo, const char *repo_dir)
{
	struct stat ours, theirs;
	int rc = ews_repo_need_dir(repo, false);

	if (rc < 0 && rc != EWS_ENOTFOUND)
		return rc;
	if (rc < 0 && ews_home_leads_to(repo_dir, repo->common_dir)) {
		ews_error(EWS_ENOTFOUND, "its project stands elsewhere now, with its store at '%s'",
			  repo->common_dir);
		ews_error_hint("'git ews status' in '%s' lets its sessions follow", repo->project);
		return EWS_ENOTFOUND;
	}
	if (rc < 0 || fstat(repo->dir_fd, &ours) < 0 || stat(repo_dir, &theirs) < 0 ||
	    ours.st_dev != theirs.st_dev || ours.st_ino != theirs.st_ino)
		return ews_error(EWS_EDAMAGED, "'%s' is not the project of '%s'", repo->project, repo_dir);
	return 0;
}

/* The project that a session recorded, seen from inside its workspace. */
static int open_from_workspace(struct ews_repo **out, const char *repo_dir, char **id, const char *home)
{
	EWS_CLEANUP(free) char *dir = ews_strfmt("%s/sessions/%s", repo_dir, *id);
	EWS_CLEANUP(fd) int fd = ews_dir_open(dir);
	EWS_CLEANUP(state) struct ews_state state = EWS_STATE_INIT;
	EWS_CLEANUP(repo) struct ews_repo *repo = NULL;
	int rc;

	if (fd < 0) {
		ews_error(EWS_ENOTFOUND, "this workspace belongs to session '%s', of which nothing is known", *id);
		ews_error_hint("what it holds are plain files: copy what you need");
		return EWS_ENOTFOUND;
	}
	rc = ews_state_read(&state, fd);
	if (rc == 0)
		rc = open_recorded(&repo, &state, repo_dir, home);
	if (rc == 0)
		rc = check_way_back(repo, repo_dir);
	if (rc < 0)
		return ews_error_wrap("session '%s'", *id);
	*out = ews_steal(&repo);
	(*out)->here = ews_steal(id);
	return 0;
}

/* The trash of workspaces that `start --in` put elsewhere is beside them: the step that `path` lies in there, or NULL. */
static char *find_step_beside(const char *path)
{
	static const char trash[] = "/" EWS_TRASH_ELSEWHERE "/";
	const char *at = strstr(path, trash);

	at = at ? at + strlen(trash) : NULL;
	return at && ews_str_begins(at, "op-") ? ews_strndup(at, strcspn(at, "/")) : NULL;
}

int ews_repo_open(struct ews_repo **out, const char *cwd, const char *home, enum ews_repo_make make)
{
	EWS_CLEANUP(place) struct place place = PLACE_INIT;
	EWS_CLEANUP(free) char *real = realpath(cwd, NULL);
	EWS_CLEANUP(free) char *repo_dir = NULL;
	EWS_CLEANUP(free) char *project = NULL;
	EWS_CLEANUP(free) char *step = NULL;
	EWS_CLEANUP(free) char *id = NULL;
	int rc;

	if (!real)
		return ews_error_os("cannot find the directory '%s'", cwd);
	if (ews_home_find_workspace(&repo_dir, &id, home, real) == 0) {
		ews_config_take_environment();
		ews_git_scrub_env();
		return open_from_workspace(out, repo_dir, &id, home);
	}
	ews_error_clear();
	if (ews_home_find_trashed(&project, &step, home, real) == 0) {
		ews_config_take_environment();
		ews_git_scrub_env();
		rc = ews_repo_open_at(out, project, home);
		if (rc == 0)
			(*out)->trash_here = ews_steal(&step);
		return rc;
	}
	ews_error_clear();
	if (make == EWS_REPO_MAKE_HERE)
		rc = make_plain(&place, real, home);
	else
		rc = getenv("GIT_DIR") ? from_environment(&place, real, home) : search_up(&place, real, home);
	if (rc == EWS_ENOTFOUND && make != EWS_REPO_MAKE_NONE && !getenv("GIT_DIR")) {
		ews_error_clear();
		rc = make == EWS_REPO_MAKE_ANY ? 0 : ews_repo_refuse_home(real);
		if (rc == 0)
			rc = refuse_damaged(real);
		if (rc == 0)
			rc = make_plain(&place, real, home);
	}
	if (rc == 0)
		rc = take_work_tree(&place, real);
	if (rc == 0)
		rc = open_place(out, &place, home);
	if (rc == 0)
		(*out)->trash_here = find_step_beside(real);
	ews_config_take_environment();
	ews_git_scrub_env();
	return rc;
}

int ews_repo_open_at(struct ews_repo **out, const char *project, const char *home)
{
	EWS_CLEANUP(place) struct place place = PLACE_INIT;
	EWS_CLEANUP(free) char *real = realpath(project, NULL);
	EWS_CLEANUP(free) char *was = NULL;
	int rc;

	if (!real)
		return ews_error_os("cannot find the project '%s'", project);
	/* A plain directory that is gone has a store; that is no project in its own right. */
	was = ews_astray_path(home, real);
	if (was) {
		take_plain(&place, was, ews_steal(&real));
		return open_place(out, &place, home);
	}
	rc = look_at(&place, real, home);
	if (rc < 0)
		return rc;
	if (rc == 0 && !is_known_plain(&place, real, home))
		return ews_error(EWS_ENOTFOUND, "'%s' is no project any more", project);
	return open_place(out, &place, home);
}

/* One that was moved has its git directory still, and another one may stand where it did. */
bool ews_repo_is_beside(const struct ews_repo *repo, const char *git_dir, const char *project)
{
	if (!strcmp(repo->git_dir, git_dir))
		return false;
	/* The git directory of a repository that was moved says nothing any more. */
	return ews_path_is_inside(git_dir, repo->common_dir) || strcmp(repo->project, project) != 0;
}

bool ews_repo_is_younger(const struct ews_repo *repo, int64_t than_s, uint32_t than_ns)
{
	return ews_linked_is_younger(repo->git_fd, than_s, than_ns);
}

char *ews_repo_linked_top(const struct ews_repo *repo, const char *git_dir)
{
	EWS_CLEANUP(free) char *gitfile = is_linked(git_dir, repo->common_dir) ? ews_gitfile_back(git_dir) : NULL;
	EWS_CLEANUP(free) char *top = gitfile ? ews_path_dir(gitfile) : NULL;

	return top ? realpath(top, NULL) : NULL;
}

int ews_repo_open_beside(struct ews_repo **out, const struct ews_repo *repo, const char *git_dir, const char *project)
{
	EWS_CLEANUP(repo) struct ews_repo *other = NULL;
	EWS_CLEANUP(free) char *gitfile = is_linked(git_dir, repo->common_dir) ? ews_gitfile_back(git_dir) : NULL;
	EWS_CLEANUP(free) char *top = gitfile ? ews_path_dir(gitfile) : ews_strdup(project);
	int rc;

	if (access(top, F_OK) < 0 && ews_errno_is_absent(errno))
		return ews_error(EWS_ENOTFOUND, "its work tree is gone: '%s'", top);
	rc = ews_repo_open_at(&other, top, repo->home);
	/* A record may say anything: it is one of these where both lead to the very same. */
	if (rc == 0 && (strcmp(other->git_dir, git_dir) != 0 || strcmp(other->common_dir, repo->common_dir) != 0))
		rc = ews_error(EWS_ENOTFOUND, "'%s' is no work tree of '%s' any more", top, repo->common_dir);
	if (rc == 0 && repo->dir)
		rc = ews_repo_take_dir(other, repo->dir);
	if (rc < 0)
		return rc;
	*out = ews_steal(&other);
	return 0;
}

int ews_repo_take_dir(struct ews_repo *repo, const char *dir)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open(dir);
	int rc = fd < 0 ? fd : ews_own_check(fd, dir);

	if (rc < 0)
		return rc;
	repo->dir_fd = ews_steal_fd(&fd);
	repo->dir = ews_strdup(dir);
	return 0;
}

void ews_repo_drop_dir(struct ews_repo *repo)
{
	ews_cleanup_fd(&repo->dir_fd);
	repo->dir_fd = -1;
	free(repo->dir);
	repo->dir = NULL;
}

int ews_repo_need_dir(struct ews_repo *repo, bool make)
{
	EWS_CLEANUP(free) char *dir = NULL;
	int rc;

	if (repo->dir)
		return 0;
	if (make)
		rc = ews_home_repo_dir(&dir, repo->home, repo->common_dir, repo->project);
	else
		rc = ews_home_find_repo_dir(&dir, repo->home, repo->common_dir);
	return rc < 0 ? rc : ews_repo_take_dir(repo, dir);
}

int ews_repo_make_own_dir(const struct ews_repo *repo)
{
	EWS_CLEANUP(fd) int project = ews_dir_open(repo->project);
	EWS_CLEANUP(fd) int fd = -1;
	int rc = project < 0 ? project : ews_dir_make(project, ".superqode", 0777);

	if (rc < 0)
		return ews_error_wrap("'%s/.superqode'", repo->project);
	/* A link is a repository's way to lead us elsewhere: it is not followed. */
	fd = ews_dir_open_beneath(project, ".superqode");
	if (fd < 0)
		return ews_error_wrap("'%s/.superqode'", repo->project);
	if (faccessat(fd, ".gitignore", F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	return ews_file_replace(fd, ".gitignore", GITIGNORE_ALL, strlen(GITIGNORE_ALL), 0644);
}

int ews_repo_subdir(struct ews_repo *repo, const char *rel)
{
	int rc = ews_repo_need_dir(repo, true);

	if (rc == 0)
		rc = ews_dir_make(repo->dir_fd, rel, 0700);
	return rc < 0 ? rc : ews_dir_open_own(repo->dir_fd, rel);
}

char *ews_repo_worktree(const struct ews_repo *repo)
{
	EWS_CLEANUP(buf) struct ews_buf name = EWS_BUF_INIT;

	if (strcmp(repo->git_dir, repo->common_dir) != 0)
		ews_path_escape(&name, ews_path_base(repo->git_dir), strlen(ews_path_base(repo->git_dir)));
	return ews_buf_steal(&name);
}

int ews_repo_lock(struct ews_lock *out, struct ews_repo *repo, const char *name, const char *verb, unsigned wait_ms)
{
	EWS_CLEANUP(fd) int locks = ews_repo_subdir(repo, EWS_LOCKS);

	return locks < 0 ? locks : ews_lock_take(out, locks, name, verb, wait_ms);
}

bool ews_repo_is_locked(const struct ews_repo *repo, const char *name)
{
	EWS_CLEANUP(fd)
	int locks = repo->dir_fd < 0 ? EWS_ENOTFOUND : ews_dir_open_beneath(repo->dir_fd, EWS_LOCKS);
	/* Where there are none yet nobody holds one; who can't ask takes it for held. */
	bool is_locked = locks < 0 ? locks != EWS_ENOTFOUND : ews_lock_is_held(locks, name);

	ews_error_clear();
	return is_locked;
}

const struct ews_config *ews_repo_config(struct ews_repo *repo)
{
	const struct ews_config_place place = { .project = repo->project,
						.git_dir = repo->git_dir,
						.home = repo->home };

	if (!repo->config)
		repo->config = ews_config_open(&place);
	return repo->config;
}

const struct ews_config *ews_repo_config_again(struct ews_repo *repo)
{
	ews_config_free(repo->config);
	repo->config = NULL;
	return ews_repo_config(repo);
}

void ews_repo_free(struct ews_repo *repo)
{
	if (!repo)
		return;
	free(repo->home);
	free(repo->project);
	free(repo->git_dir);
	free(repo->common_dir);
	free(repo->dir);
	free(repo->here);
	free(repo->trash_here);
	free(repo->gone);
	if (repo->dir_fd >= 0)
		close(repo->dir_fd);
	if (repo->git_fd >= 0)
		close(repo->git_fd);
	if (repo->common_fd >= 0)
		close(repo->common_fd);
	ews_odb_free(repo->odb);
	ews_config_free(repo->config);
	free(repo);
}
