/*
 * Repositories: the project that a command is about, and the store behind it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_REPO_H
#define EWS_STORE_REPO_H

#include <stdbool.h>
#include <stdint.h>

#include "store/config.h"
#include "store/lock.h"
#include "store/odb.h"
#include "store/repo_place.h"

struct ews_repo {
	char *home; /* absolute */
	char *project; /* the work tree's top, absolute and real; of a bare repository its git directory */
	char *git_dir; /* the project's own: the common one, or worktrees/<name> of a linked worktree */
	char *common_dir;
	char *dir; /* <home>/working/<repo>; NULL until ews_repo_need_dir() */
	int dir_fd; /* of `dir`, or -1 */
	int git_fd; /* of `git_dir` */
	int common_fd;
	bool is_bare;
	const char *overruled; /* "core.bare" or "core.worktree": it says otherwise, but a session is at work in the project itself; or NULL */
	bool is_overruled_late; /* none is any more, but one that was can be brought back */
	bool is_plain; /* a directory that is no git repository; `git_dir` is a store of ours in home */
	bool is_anew; /* that, and another one than the directory that its sessions began in: it was made anew in the same place */
	char *here; /* the id of the session whose workspace the command stands in, or NULL */
	char *gone; /* the linked worktree that the session of `here` was of, where that is gone: `is_bare`, and seen from the store; or NULL */
	char *index_file; /* what GIT_INDEX_FILE said where the command stands in the project; or NULL */
	char *trash_here; /* the id of the step in whose trash it stands, or NULL */
	struct ews_odb *odb; /* opened at git_dir */
	struct ews_config *config; /* NULL until ews_repo_config() */
};

/*
 * Open the project seen from the directory `cwd`: the project of the workspace
 * that holds it (or held it, before it went to trash), else what GIT_DIR and GIT_WORK_TREE say, else the repository found
 * upwards as git does it, or a plain directory that has a store (GIT_CEILING_DIRECTORIES, GIT_DISCOVERY_ACROSS_FILESYSTEM), or
 * had one where it stood before: that is its own again.
 * The environment is read before ews_git_scrub_env() is called by us.
 * While a session is at work in the project itself that stays what it was, whatever core.bare and core.worktree say by now.
 * A HEAD that is damaged, or gone, is no hindrance where home knows the project.
 * Fails with EWS_ENOTFOUND outside of any repository, and as ews_odb_open().
 */
int ews_repo_open(struct ews_repo **out, const char *cwd, const char *home, enum ews_repo_make make);

/* Open a project whose top (or bare git directory) is known. */
int ews_repo_open_at(struct ews_repo **out, const char *project, const char *home);

/* Is the work tree with the git directory `git_dir`, which stood at `project`, another one of the repository than this? */
bool ews_repo_is_beside(const struct ews_repo *repo, const char *git_dir, const char *project);

/*
 * Is it a linked worktree, and another one than that of which ews_linked_mark() said `mark` at the time `noted_s`? One that was removed
 * and made anew in its place has the name that the former one had. What can't be seen is none; what can't be told is one.
 */
bool ews_repo_is_another(const struct ews_repo *repo, const char *mark, int64_t noted_s);

/*
 * Is the directory that is open as `dir_fd` one in which git keeps the repository itself, its own or the common one? It is nobody's
 * work tree, whatever is on record: of what is put in its place nothing would be left. What can't be seen is none.
 */
bool ews_repo_is_kept_in(const struct ews_repo *repo, int dir_fd);

/*
 * Where git says that the linked worktree with the git directory `git_dir` is, really; NULL, with no error set, when it is no linked
 * one of this repository, or is not there. The caller frees it.
 */
char *ews_repo_linked_top(const struct ews_repo *repo, const char *git_dir);

/* Open that other work tree, where git says that it stands by now. Fails with EWS_ENOTFOUND where it is no work tree of the repository any more. */
int ews_repo_open_beside(struct ews_repo **out, const struct ews_repo *repo, const char *git_dir,
			 const char *project);

/* Make sure that `dir` and `dir_fd` are there: EWS_ENOTFOUND when home has none for it yet. */
int ews_repo_need_dir(struct ews_repo *repo);
/* The same, made where it is missing. */
int ews_repo_make_dir(struct ews_repo *repo);

/* Let `dir` be its directory in home, which is another store's by its name; forget that. */
int ews_repo_take_dir(struct ews_repo *repo, const char *dir);
void ews_repo_drop_dir(struct ews_repo *repo);

/*
 * Ask again whether a plain directory is the one that its sessions began in: a command may have run for hours since the project was
 * found. Fails with EWS_EIO where that can't be read.
 */
int ews_repo_look_anew(struct ews_repo *repo);

/*
 * Fail with EWS_ESTALE where the project is a plain directory that was made anew: what its sessions say is of another one. Who means
 * this one all the same says so by 'git ews recover --moved-from'.
 */
int ews_repo_refuse_anew(const struct ews_repo *repo);

/* That is not so any more: it is taken for the project. */
int ews_repo_accept_anew(struct ews_repo *repo);

/* Make "<project>/.superqode", which hides itself from git's status. No link is taken for it. */
int ews_repo_make_own_dir(const struct ews_repo *repo);
/* Hide a directory of ours in the project, open at `fd`, from git's status. */
int ews_repo_hide_own_dir(int fd);

/* A directory below repo->dir, made 0700 when missing. Returns a descriptor. */
int ews_repo_subdir(struct ews_repo *repo, const char *rel);

/* The words that call git at it from the project, to be copied: a plain directory is no repository itself. The caller frees it. */
char *ews_repo_git_words(const struct ews_repo *repo);

/*
 * What git calls the linked worktree that it is seen from, escaped; "" in the main one. The name stays where the work tree, or the
 * repository, moves. The caller frees it.
 */
char *ews_repo_worktree(const struct ews_repo *repo);

/* Take the lock `name` of the project, as ews_lock_take(), and ask then what ews_repo_look_anew() asks. */
int ews_repo_lock(struct ews_lock *out, struct ews_repo *repo, const char *name, const char *verb, unsigned wait_ms);
/* Does some process hold it now, or can that not be seen? */
bool ews_repo_is_locked(const struct ews_repo *repo, const char *name);

/* The project's settings, read once; borrowed. Not to be called first from several threads. */
const struct ews_config *ews_repo_config(struct ews_repo *repo);
/* They have changed: read them again. What was borrowed of them is gone. */
const struct ews_config *ews_repo_config_again(struct ews_repo *repo);

void ews_repo_free(struct ews_repo *repo);
EWS_CLEANUP_DEFINE_PTR(repo, struct ews_repo, ews_repo_free)

#endif
