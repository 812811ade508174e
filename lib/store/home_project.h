/*
 * Projects that home knows: what the project.json of each says of it, and whether that is still so.
 *
 * How one is known that has moved, or in whose place another directory stands, is told under "The data" in lib/README.md.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_HOME_PROJECT_H
#define EWS_STORE_HOME_PROJECT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

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

/*
 * Between home_project.c and home_repo.c. Which store the directory `dir` below working/ belongs to (the caller frees it); EWS_EDAMAGED
 * when it does not say so, EWS_ENOTFOUND when there is no such directory.
 */
int ews_home_project_read_store(char **store, int working_fd, const char *dir);
/* Say in the directory `dir_fd` that it belongs to the store `common_dir` of `project`, which stands where it is now. */
int ews_home_project_write(int dir_fd, const char *common_dir, const char *project);

/* Which project did the trash that holds `cwd` come from, and by which step? The caller frees both. Fails with EWS_ENOTFOUND. */
int ews_home_find_trashed(char **project, char **step, const char *home, const char *cwd);

#endif
