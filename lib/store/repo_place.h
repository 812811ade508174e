/*
 * Places of projects: which directory is the top of the one that is meant, and where its git directory lies.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_REPO_PLACE_H
#define EWS_STORE_REPO_PLACE_H

#include <stdbool.h>

#include "base/cleanup.h"

/* May a directory that is no project yet become one, with a store of ours? */
enum ews_repo_make {
	EWS_REPO_MAKE_NONE = 0,
	EWS_REPO_MAKE_PLAIN,
	EWS_REPO_MAKE_ANY, /* a home directory, too */
	EWS_REPO_MAKE_HERE, /* of that very directory, whatever it lies in */
};

/* Where a project is: its top, and its git directory. */
struct ews_repo_place {
	char *top;
	char *git_dir;
	bool is_bare;
	bool is_plain;
	bool is_anew; /* plain, and another directory than that of the sessions which are on record */
	bool is_given; /* the top was named by GIT_WORK_TREE, or is to be none */
};

#define EWS_REPO_PLACE_INIT { NULL, NULL, false, false, false, false }

void ews_repo_place_release(struct ews_repo_place *place);
EWS_CLEANUP_DEFINE(repo_place, struct ews_repo_place, ews_repo_place_release)

/*
 * Is `dir` a git directory? Where home knows it a damaged HEAD takes nothing away from that: `revert` brings it back. 1, 0, or an error:
 * it can't be told now, and whoever takes that for no would take another project for the one that is meant.
 */
int ews_repo_place_is_git_dir(const char *dir, const char *home);

/* The directory around `git_dir`, where that has the name of one that is in its work tree; else NULL. The caller frees it. */
char *ews_repo_place_around(const char *git_dir);

/*
 * What GIT_DIR and GIT_WORK_TREE say, else what is found from `cwd`, which is real, upwards as git does it; where that is none, and
 * `make` says so, the directory becomes one. Fails with EWS_ENOTFOUND outside of any project.
 */
int ews_repo_place_find(struct ews_repo_place *out, const char *cwd, const char *home, enum ews_repo_make make);

/* The project whose top, or bare git directory, `dir` is, which is real. Fails with EWS_ENOTFOUND where it is none. */
int ews_repo_place_at(struct ews_repo_place *out, const char *dir, const char *home);

/*
 * The directory `cwd`, which is in no project, is the plain one that was at `was`: it has its store again. One that was made anew in
 * the same place is it from now on.
 */
int ews_repo_adopt(const char *cwd, const char *home, const char *was);

/* Fail with EWS_EDENIED when `project` is the user's home directory, or the root of all. */
int ews_repo_refuse_home(const char *project);

#endif
