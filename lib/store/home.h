/*
 * Home: the names of everything that we keep on disk, and nothing else.
 *
 *     <home>/working/<repo>/project.json      which project and store this is
 *                           qe/<id>/          workspaces
 *                           sessions/<id>/    state.json, journal, cache, log
 *                           locks/            one file a holder
 *                           trash/<id>/       what verbs renamed away
 *                           undo/<id>.json    what verbs did, one file a step
 *     <home>/elsewhere/<hash>                 workspaces that live outside (start --in)
 *     <home>/tmp/<hash>                       temporary files of a command that runs in a session
 *     <home>/ports                            which session was given which ports
 *     <home>/store/<name>-<hash>.git          stores of directories that are no git repositories
 *     <home>/neutral.git                      an empty repository
 *     <home>/hooks/                           git hooks of the user
 *     <home>/accepted/<hash>                  what of a repository's settings its user has accepted
 *
 * All but the workspaces themselves is 0700 and 0600.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_HOME_H
#define EWS_STORE_HOME_H

#include "base/strv.h"
#include "store/odb.h"

/* Trash that is not at home: beside a workspace that lives elsewhere, and in a directory that things are put into. */
#define EWS_TRASH_ELSEWHERE ".ews-trash"

/* Is the directory used as a home, or empty, and our user's own? Whatever else it is, its mode is none of our business. */
bool ews_home_is_ours(int fd);

/*
 * Make home (0700) when it is missing, close it to others when they may write it and it is ours. Fails with EWS_EDENIED when it
 * is another user's. Returns a descriptor.
 */
int ews_home_open(const char *home);

/*
 * The directory of the store `common_dir`, below `home`: named after `name`, with a
 * hash behind it when another store has that name already. Made when missing.
 * `project` is recorded in project.json for people and doctors. The caller frees `*out`.
 */
int ews_home_repo_dir(char **out, const char *home, const char *common_dir, const char *project);

/*
 * Is there one already? Fails with EWS_ENOTFOUND, makes nothing. One whose project.json is damaged, or missing, is known by its
 * sessions, and gets a new one. Both fail with EWS_EIO when the disk does not give what one says that may be it.
 */
int ews_home_find_repo_dir(char **out, const char *home, const char *common_dir);

struct ews_home_projects {
	struct ews_home_project *items;
	size_t n, cap;
};

#define EWS_HOME_PROJECTS_INIT { NULL, 0, 0 }

/* What home knows of a project. */
struct ews_home_project {
	char *dir; /* <home>/working/<repo> */
	char *project; /* where it was first seen */
	char *store; /* its git directory */
	char *birth; /* what told its directory from all others when it was seen there, or NULL */
	char *leads_to; /* the store that a link, or a file, in the place of its own leads to by now, or NULL */
	bool is_gone; /* the store is not there any more */
	bool is_away; /* no directory is at `project` any more, but perhaps a link to where it stands now */
	bool is_anew; /* a directory is, and it is another one than that of `birth` for certain */
	bool is_parked; /* so it was when the store of a plain one gave its name to that other one; of a place: it is the one where that was */
	char *problem; /* why no more is known than `dir`; NULL else */
	struct ews_home_projects begun; /* places that its sessions began to follow it to: each may say that it is in one, or where it was */
};

/* What home knows of the one that has `dir`. */
int ews_home_project_read(struct ews_home_project *out, const char *dir);
void ews_home_project_release(struct ews_home_project *project);
EWS_CLEANUP_DEFINE(home_project, struct ews_home_project, ews_home_project_release)

/* All that home knows of, by name; none when there is no home yet. */
int ews_home_projects(struct ews_home_projects *out, const char *home);
/* Where it is opened from: its project or, when that is gone, the store itself. */
const char *ews_home_project_path(const struct ews_home_project *project);
void ews_home_projects_release(struct ews_home_projects *projects);
EWS_CLEANUP_DEFINE(home_projects, struct ews_home_projects, ews_home_projects_release)

/* May it stand by now where its store is `common_dir`? Its own is gone, or what is in the place of that leads there. */
bool ews_home_may_have_moved_to(const struct ews_home_project *project, const char *common_dir);

/* The one that has `dir`: where it is opened from; the caller frees it. */
int ews_home_find_project(char **out, const char *dir);
/* Its store; the caller frees it. */
int ews_home_find_store(char **out, const char *dir);
/* Has the project that has `dir` moved to where its store is `common_dir`, and left in its old place what leads there? */
bool ews_home_leads_to(const char *dir, const char *common_dir);
/*
 * What stays of the directory `path` while it is renamed, and is no other's ever after: device, inode and time of birth. NULL
 * where the file system does not know the latter: inodes are given away again. The caller frees it.
 */
char *ews_home_birth(const char *path);
/*
 * Write down that the directory which is at its place now is the project, whenever that was made.
 */
int ews_home_accept_birth(const char *dir);
/* Is `path` the very directory that home knew as the project, whatever it is called now? Not where no birth is on record. */
bool ews_home_knows_by_birth(const struct ews_home_project *project, const char *path);

/* It stands elsewhere now, and its sessions begin to follow it there: until they have, that is one of the places `begun`. */
int ews_home_begin_move(const char *dir, const char *common_dir, const char *project);
/* Another plain directory stands at its place, and needs the name of its store: that will be called `store` until it is found elsewhere. */
int ews_home_park_project(const struct ews_home_project *project, const char *store);
/* They have followed. */
int ews_home_move_project(const char *dir, const char *common_dir, const char *project);

/* Remember that the directory `workspace` belongs to session `id` of `repo_dir`; forget it. */
int ews_home_mark_elsewhere(const char *home, const char *workspace, const char *repo_dir, const char *id);
bool ews_home_is_marked(const char *home, const char *workspace, const char *repo_dir, const char *id);
int ews_home_unmark_elsewhere(const char *home, const char *workspace);

/*
 * Does the absolute `path` lie where home keeps its own, or will when that is made, wherever links lead? What is put there by
 * somebody else would be taken for a record.
 */
bool ews_home_is_reserved(const char *home, const char *path);

/*
 * Which session's workspace holds the directory `cwd`? Found by where things
 * lie below home alone, never by what the workspace says of itself. Gives
 * `*repo_dir` and `*id` (the caller frees both). Fails with EWS_ENOTFOUND.
 */
int ews_home_find_workspace(char **repo_dir, char **id, const char *home, const char *cwd);

/*
 * Where below home the temporary files of what runs in session `id` of `repo_dir` are: a short name, since
 * programs make sockets there, whose names must be. The caller frees it.
 */
char *ews_home_tmp(const char *repo_dir, const char *id);

/* Where the store of the plain directory `project` (absolute, real) is, or would be; the caller frees it. */
char *ews_home_store(const char *home, const char *project);

/* Where that of one is which has given its name to another directory in its place; the caller frees it. */
char *ews_home_parked_store(const char *home, const struct ews_home_project *project);

/* Which project did the trash that holds `cwd` come from, and by which step? The caller frees both. Fails with EWS_ENOTFOUND. */
int ews_home_find_trashed(char **project, char **step, const char *home, const char *cwd);

#endif
