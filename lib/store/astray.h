/*
 * Astray: plain directories that stand elsewhere than their store knows.
 *
 * The store of a directory that is no repository is called after its path, so that one that was moved has none. It is
 * known again by the device, the inode and the time of birth that project.json noted, and only when it is not at its old
 * path any more, be another one there by now: a copy is another directory. Renaming its store is all that is done here; the
 * sessions follow as those of a repository do that was moved (work/moved). Where the other one needs the name, since it is itself
 * known from elsewhere, the store is parked under one that is neither's until its own directory is found.
 *
 * A copy to another file system has another inode. Then only its user can say that it is the same.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_ASTRAY_H
#define EWS_STORE_ASTRAY_H

#include "store/home_project.h"

/* Is it a plain directory that is not at its path any more, while its store is there? One that another stands in the place of may be: not that. */
bool ews_astray_is(const struct ews_home_project *project, const char *home);

/*
 * Give the directory `dir` (absolute, real) the store of the one that it was. Returns 1 then, 0 when it is none that is known.
 * Fails with EWS_EBUSY while something is at work in one of its sessions.
 */
int ews_astray_find(const char *home, const char *dir);

/* The same for the one that was at `was`, since its user says so. Fails with EWS_ENOTFOUND when that is not astray. */
int ews_astray_adopt(const char *home, const char *dir, const char *was);

/* Was a call killed that was to park `store`? Then that is done now, and true is returned. */
bool ews_astray_finish_parking(const char *home, const char *store);

/*
 * Is the plain directory that has the store `store` by its path another one than that which this was made for? Not where no birth tells. It was
 * made anew, as from a backup, or another was put there: nobody knows, until the former one is found. 1, 0, or EWS_EIO where what is on
 * record of it can't be read: it may be.
 */
int ews_astray_is_anew(const char *home, const char *store);

/* Its user says that it is the same to him. */
int ews_astray_accept(const char *home, const char *store);

/* Was there one of the same name as `dir`, or one above it? Gives its path, which the caller frees; else NULL. */
char *ews_astray_guess(const char *home, const char *dir);

/*
 * The store that `dir` (absolute, real) had while it was no repository, though it is one now: whoever made it one, by git init,
 * has hidden what was done before. The caller frees it; NULL: it had none.
 */
char *ews_astray_former(const char *home, const char *dir);

/* Where the one was that has its store at `store` (absolute, real): a path, which the caller frees, or NULL. */
char *ews_astray_path(const char *home, const char *store);

#endif
