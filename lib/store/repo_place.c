/*
 * Places of projects: see repo_place.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/repo_place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/path.h"
#include "base/shell_word.h"
#include "store/astray.h"
#include "store/git.h"
#include "store/gitfile.h"
#include "store/home.h"
#include "store/home_project.h"
#include "store/home_repo.h"
#include "store/odb.h"
#include "store/setting.h"

void ews_repo_place_release(struct ews_repo_place *place)
{
	free(place->top);
	free(place->git_dir);
}

static int has_head(const char *dir)
{
	EWS_CLEANUP(free) char *head = ews_path_join(dir, "HEAD");
	int rc = ews_gitfile_is_head(AT_FDCWD, head);

	return rc < 0 ? ews_error_if_passing(rc) : rc;
}

/* Has `dir` what a git directory has besides HEAD: objects and refs, of its own or common ones? 1, 0, or an error. */
static int has_store(const char *dir)
{
	EWS_CLEANUP(free) char *common = ews_path_join(dir, "commondir");

	if (access(common, F_OK) == 0)
		return 1;
	return ews_errno_is_passing(errno) ? ews_error_os("cannot look for '%s'", common)
					   : ews_odb_is_common_dir(dir);
}

/* Does home know the repository at `dir`? */
static bool is_known(const char *dir, const char *home)
{
	EWS_CLEANUP(free) char *common = NULL;
	EWS_CLEANUP(free) char *repo_dir = NULL;
	bool is = ews_odb_find_common_dir(&common, dir) == 0 && ews_odb_is_common_dir(common) > 0 &&
		  ews_home_repo_dir(&repo_dir, home, common, NULL) == 0;

	ews_error_clear();
	return is;
}

int ews_repo_place_is_git_dir(const char *dir, const char *home)
{
	int rc = has_store(dir);

	if (rc <= 0)
		return rc;
	rc = has_head(dir);
	return rc ? rc : is_known(dir, home);
}

char *ews_repo_place_around(const char *git_dir)
{
	return strcmp(ews_path_base(git_dir), EWS_GITFILE) ? NULL : ews_path_dir(git_dir);
}

/* Follow the file `path`, mostly called ".git". */
static int follow_gitfile(char **out, const char *path, const char *home)
{
	EWS_CLEANUP(free) char *named = NULL;
	int rc = ews_gitfile_read(&named, AT_FDCWD, path);

	if (rc < 0)
		return rc;
	rc = ews_gitfile_find(out, path);
	if (rc < 0 && ews_error_if_passing(rc) < 0)
		return rc;
	rc = *out ? ews_repo_place_is_git_dir(*out, home) : 0;
	if (rc < 0)
		return rc;
	if (!rc) {
		ews_error(EWS_EGIT, "'%s' names '%s', which is no git directory", path, named);
		ews_error_hint("the workspace of a session that has ended? Change to the project");
		return EWS_EGIT;
	}
	return 0;
}

/* Is the directory `dir` the top of a project, or a bare repository? 1 yes, 0 no. */
static int look_at(struct ews_repo_place *out, const char *dir, const char *home)
{
	EWS_CLEANUP(free) char *dot_git = ews_path_join(dir, ".git");
	struct stat st = { .st_mode = 0 };
	int rc = 0;

	if (stat(dot_git, &st) < 0 && ews_errno_is_passing(errno))
		return ews_error_os("cannot look at '%s'", dot_git);
	if (S_ISREG(st.st_mode)) {
		rc = follow_gitfile(&out->git_dir, dot_git, home);
		if (rc == 0)
			out->top = ews_strdup(dir);
		return rc < 0 ? rc : 1;
	}
	if (S_ISDIR(st.st_mode))
		rc = ews_repo_place_is_git_dir(dot_git, home);
	if (rc > 0) {
		out->git_dir = realpath(dot_git, NULL);
		out->top = ews_strdup(dir);
		return out->git_dir ? 1 : ews_error_os("cannot find '%s'", dot_git);
	}
	if (rc == 0)
		rc = ews_repo_place_is_git_dir(dir, home);
	if (rc <= 0)
		return rc;
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

static void take_plain(struct ews_repo_place *out, const char *dir, char *store)
{
	out->top = ews_strdup(dir);
	out->git_dir = store;
	out->is_plain = true;
}

/* Is `dir` a plain directory that we keep a store of? 1, 0, or an error. */
static int is_known_plain(struct ews_repo_place *out, const char *dir, const char *home)
{
	EWS_CLEANUP(free) char *store = ews_home_store(home, dir);
	int rc = ews_repo_place_is_git_dir(store, home);

	if (rc <= 0 || ews_astray_finish_parking(home, store))
		return rc < 0 ? rc : 0;
	rc = ews_astray_is_anew(home, store);
	if (rc < 0)
		return rc;
	out->is_anew = rc > 0;
	take_plain(out, dir, ews_steal(&store));
	return 1;
}

int ews_repo_refuse_home(const char *project)
{
	const char *home = getenv("HOME");
	EWS_CLEANUP(free) char *real = home && *home ? realpath(home, NULL) : NULL;

	if (strcmp(project, "/") && (!real || strcmp(project, real)))
		return 0;
	ews_error(EWS_EDENIED, "the project '%s' is %s", project,
		  strcmp(project, "/") ? "your home directory" : "the root of all files");
	ews_error_hint(
		"'git ews start --force' takes it all the same; once that has begun a session there, other verbs do");
	return EWS_EDENIED;
}

static int make_plain(struct ews_repo_place *out, const char *dir, const char *home)
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

	if (has_store(dot_git) <= 0) {
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

/* Had `cwd`, or one above it, a repository of which home has sessions, and which is there no more? Its path, which the caller frees; else NULL. */
static char *find_gone(const char *cwd, const char *home)
{
	EWS_CLEANUP(home_projects) struct ews_home_projects projects = EWS_HOME_PROJECTS_INIT;
	char *store = NULL;

	if (ews_home_projects(&projects, home) < 0)
		ews_error_clear();
	for (size_t i = 0; i < projects.n && !store; i++)
		if (projects.items[i].is_gone && ews_path_is_inside(cwd, projects.items[i].project))
			store = ews_strdup(projects.items[i].store);
	return store;
}

static int not_found(const char *cwd, const char *home)
{
	EWS_CLEANUP(free) char *gone = find_gone(cwd, home);
	EWS_CLEANUP(free) char *dot_git = find_damaged(cwd);
	EWS_CLEANUP(free) char *was = ews_astray_guess(home, cwd);
	EWS_CLEANUP(free) char *shown = ews_shell_shown(was ? was : "");

	if (dot_git && (!was || has_store(dot_git) > 0))
		return say_damaged(EWS_ENOTFOUND, dot_git);
	if (gone) {
		ews_error(EWS_ENOTFOUND, "'%s' is in no git repository any more: '%s' is gone", cwd, gone);
		ews_error_hint("its sessions are there again when that is; where it was moved to they follow it");
		return EWS_ENOTFOUND;
	}
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
typedef int (*look_fn)(struct ews_repo_place *out, const char *dir, const char *home);

static int look_for_known(struct ews_repo_place *out, const char *dir, const char *home)
{
	int rc = look_at(out, dir, home);

	if (rc)
		return rc;
	rc = is_known_plain(out, dir, home);
	if (rc <= 0)
		return rc;
	/* What is not the one that is known by this path may be known from another. */
	rc = out->is_anew ? ews_astray_find(home, dir) : 0;
	if (rc > 0)
		out->is_anew = false;
	return rc < 0 ? rc : 1;
}

static int look_for_astray(struct ews_repo_place *out, const char *dir, const char *home)
{
	int rc = ews_astray_find(home, dir);

	return rc > 0 ? is_known_plain(out, dir, home) : rc;
}

/* From `cwd` up to where the search may not go on. */
static int search_with(struct ews_repo_place *out, const char *cwd, const char *home, look_fn look)
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

static int search_up(struct ews_repo_place *out, const char *cwd, const char *home)
{
	int rc = search_with(out, cwd, home, look_for_known);

	if (rc == 0)
		rc = search_with(out, cwd, home, look_for_astray);
	return rc < 0 ? rc : rc ? 0 : not_found(cwd, home);
}

int ews_repo_adopt(const char *cwd, const char *home, const char *was)
{
	EWS_CLEANUP(repo_place) struct ews_repo_place place = EWS_REPO_PLACE_INIT;
	EWS_CLEANUP(free) char *real = realpath(cwd, NULL);
	int rc = real ? search_with(&place, real, home, look_for_known) : ews_error_os("cannot find '%s'", cwd);

	if (rc > 0 && place.is_anew && !strcmp(place.top, was))
		return ews_astray_accept(home, place.git_dir);
	if (rc > 0) {
		(void)ews_error(EWS_EEXISTS, "'%s' is a project of its own, or in one: '%s'", real, place.top);
		ews_error_hint("its sessions are found by themselves, 'git ews list' shows them; --moved-from is for a "
			       "directory without a repository");
		return EWS_EEXISTS;
	}
	return rc < 0 ? rc : ews_astray_adopt(home, real, was);
}

/* GIT_WORK_TREE names the top, whatever the config says. */
static int take_work_tree(struct ews_repo_place *out, const char *cwd)
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
static int from_environment(struct ews_repo_place *out, const char *cwd, const char *home)
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
	if (!out->git_dir || ews_repo_place_is_git_dir(out->git_dir, home) <= 0) {
		ews_error(EWS_ENOTFOUND, "GIT_DIR names '%s', which is no git directory", dir);
		ews_error_hint("unset GIT_DIR");
		return EWS_ENOTFOUND;
	}
	out->top = strcmp(ews_path_base(out->git_dir), ".git") ? ews_strdup(cwd) : ews_path_dir(out->git_dir);
	return 0;
}

int ews_repo_place_find(struct ews_repo_place *out, const char *cwd, const char *home, enum ews_repo_make make)
{
	int rc;

	if (make == EWS_REPO_MAKE_HERE)
		rc = make_plain(out, cwd, home);
	else
		rc = getenv("GIT_DIR") ? from_environment(out, cwd, home) : search_up(out, cwd, home);
	if (rc == EWS_ENOTFOUND && make != EWS_REPO_MAKE_NONE && !getenv("GIT_DIR")) {
		ews_error_clear();
		rc = make == EWS_REPO_MAKE_ANY ? 0 : ews_repo_refuse_home(cwd);
		if (rc == 0)
			rc = refuse_damaged(cwd);
		if (rc == 0)
			rc = make_plain(out, cwd, home);
	}
	return rc < 0 ? rc : take_work_tree(out, cwd);
}

int ews_repo_place_at(struct ews_repo_place *out, const char *dir, const char *home)
{
	EWS_CLEANUP(free) char *was = ews_astray_path(home, dir);
	struct stat st;
	int rc;

	/* A plain directory that is gone has a store; that is no project in its own right. */
	if (was) {
		out->is_anew = lstat(was, &st) == 0 && S_ISDIR(st.st_mode);
		take_plain(out, was, ews_strdup(dir));
		return 0;
	}
	rc = look_at(out, dir, home);
	if (rc == 0)
		rc = is_known_plain(out, dir, home);
	if (rc == 0)
		return ews_error(EWS_ENOTFOUND, "'%s' is no project any more", dir);
	return rc < 0 ? rc : 0;
}
