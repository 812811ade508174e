/*
 * A store's directory in home: <home>/working/<repo>, which is found by the store, and claimed for it when there is none.
 *
 * It is called as people call the project, with a hash behind it where another store has that name already. Whose it is says the
 * project.json in it (store/home_project): one that was moved keeps the name that it had.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_HOME_REPO_H
#define EWS_STORE_HOME_REPO_H

#include "store/home_project.h"

/*
 * The directory below `home` that the store `common_dir` has; the caller frees `*out`. With `project` it is made when there is none, and
 * says that this is whose it is; without (NULL) nothing is made, and that fails with EWS_ENOTFOUND. One whose project.json is damaged, or
 * missing, is known by its sessions, and gets a new one. Fails with EWS_EIO when the disk does not give what one says that may be it.
 */
int ews_home_repo_dir(char **out, const char *home, const char *common_dir, const char *project);

/* Where the store of the plain directory `project` (absolute, real) is, or would be; the caller frees it. */
char *ews_home_store(const char *home, const char *project);

/* Where that of one is which has given its name to another directory in its place; the caller frees it. */
char *ews_home_parked_store(const char *home, const struct ews_home_project *project);

#endif
