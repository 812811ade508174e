/*
 * Whose: see whose.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/whose.h"

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
#include "base/str.h"
#include "store/git_place.h"
#include "store/gitfile.h"
#include "store/home.h"
#include "store/linked.h"

#define ENTRIES "worktrees"
#define LOCKED_BYTES_MAX (64 * EWS_KIB)

/* The work tree's git directory as the common one sees it: "" for that itself, else "worktrees/<name>". */
static const char *name_of(const struct ews_repo *repo)
{
	size_t len = strlen(repo->common_dir);

	if (!strcmp(repo->git_dir, repo->common_dir))
		return "";
	return ews_path_is_inside(repo->git_dir, repo->common_dir) ? repo->git_dir + len + 1 : repo->git_dir;
}

/* Is the entry still the one that was there when the step was made? */
static bool has_entry(const struct ews_step *step, const struct ews_repo *repo)
{
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(repo->common_fd, step->worktree);
	int rc = fd < 0 ? fd : ews_linked_is_another(fd, step->worktree_mark, step->created_s);

	ews_error_clear();
	return rc < 0 ? rc != EWS_ENOTFOUND : !rc; /* what can't be seen may be there */
}

/* Of the common git directory there may be several work trees, as GIT_WORK_TREE names them; or its project was moved. */
static bool is_at(const struct ews_repo *repo, const char *path)
{
	EWS_CLEANUP(free) char *real = NULL;

	if (!strcmp(path, repo->project))
		return true;
	real = realpath(path, NULL);
	return real ? !strcmp(real, repo->project) : ews_errno_is_absent(errno) && !repo->is_bare;
}

/* Is the entry one of a session, be it of another home, which says so in the same words? */
static bool is_of_session(const struct ews_repo *repo, const char *name)
{
	EWS_CLEANUP(free) char *session = ews_path_join(EWS_WORKING_SESSIONS, name);
	EWS_CLEANUP(free) char *file = ews_strfmt(ENTRIES "/%s/locked", name);
	EWS_CLEANUP(buf) struct ews_buf locked = EWS_BUF_INIT;

	if (faccessat(repo->dir_fd, session, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return true;
	return ews_file_read(&locked, repo->common_fd, file, LOCKED_BYTES_MAX) == 0 &&
	       ews_str_begins(locked.ptr, EWS_LINKED_LOCKED_BY);
}

/* Its name among the entries, when it is a linked one of a repository that has no work tree beside these; else NULL. */
static const char *own_entry(const struct ews_repo *repo)
{
	const char *name = ews_str_after(name_of(repo), ENTRIES "/");
	EWS_CLEANUP(git_place) struct ews_git_place main = EWS_GIT_PLACE_INIT;

	if (!name || ews_git_place_read(&main, repo->common_dir, repo->common_dir) < 0)
		return NULL;
	return ews_git_place_is_bare(&main, repo->common_dir) ? name : NULL;
}

/* Has the repository no work tree but this one, and those of sessions? */
static bool is_only_one(const struct ews_repo *repo)
{
	const char *own = own_entry(repo);
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(repo->common_fd, ENTRIES);
	EWS_CLEANUP(dir_names) struct ews_dir_names names = EWS_DIR_NAMES_INIT;
	ssize_t n = fd < 0 ? 0 : ews_dir_names_read(&names, fd);
	/* Of a linked one beside the repository's own, that is another. */
	bool is_only = n >= 0 && (own || !*name_of(repo));

	for (ssize_t i = 0; i < n && is_only; i++)
		is_only = (own && !strcmp(own, names.items[i].name)) || is_of_session(repo, names.items[i].name);
	ews_error_clear();
	return is_only;
}

enum ews_whose ews_whose(const struct ews_step *step, const struct ews_repo *repo)
{
	bool is_noted = step->project && step->worktree;

	/* A session has a workspace of its own, unless it works in place: then its steps say where. */
	if ((*step->session && !is_noted) || !strcmp(step->verb, "drop"))
		return EWS_WHOSE_OURS;
	if (!is_noted)
		return is_only_one(repo) ? EWS_WHOSE_OURS : EWS_WHOSE_UNKNOWN;
	if (*step->worktree && !has_entry(step, repo))
		return EWS_WHOSE_NOBODYS;
	if (strcmp(step->worktree, name_of(repo)) != 0)
		return EWS_WHOSE_ANOTHERS;
	return *step->worktree || is_at(repo, step->project) ? EWS_WHOSE_OURS : EWS_WHOSE_ANOTHERS;
}

void ews_whose_set(struct ews_step *step, const struct ews_repo *repo)
{
	free(step->project);
	free(step->worktree);
	free(step->worktree_mark);
	step->project = ews_strdup(repo->project);
	step->worktree = ews_strdup(name_of(repo));
	step->worktree_mark = ews_linked_mark(repo->git_fd);
}

char *ews_whose_path(const struct ews_step *step, const struct ews_repo *repo)
{
	EWS_CLEANUP(free) char *entry = NULL;
	EWS_CLEANUP(free) char *gitfile = NULL;
	enum ews_whose whose = ews_whose(step, repo);

	if (!step->project || whose == EWS_WHOSE_UNKNOWN)
		return NULL;
	if (whose == EWS_WHOSE_OURS)
		return ews_strdup(repo->project);
	if (whose == EWS_WHOSE_NOBODYS || !*step->worktree)
		return ews_strdup(step->project);
	entry = ews_path_join(repo->common_dir, step->worktree);
	gitfile = ews_gitfile_back(entry);
	return gitfile ? ews_path_dir(gitfile) : ews_strdup(step->project);
}
