/*
 * Workspaces and where they lie: whose a directory is goes by that alone, never by what the workspace says of itself.
 *
 *     <home>/working/<repo>/qe/<id>    where one mostly is
 *     <home>/elsewhere/<hash>          the mark of one that `start --in` put elsewhere: "<repo>/<id>", the hash being that of its path
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_HOME_WORKSPACE_H
#define EWS_STORE_HOME_WORKSPACE_H

#include <stdbool.h>

/* Remember that the directory `workspace` belongs to session `id` of `repo_dir`; forget it. Does it? 1, 0, or an error where that can't be read just now. */
int ews_home_mark_elsewhere(const char *home, const char *workspace, const char *repo_dir, const char *id);
int ews_home_is_marked(const char *home, const char *workspace, const char *repo_dir, const char *id);
int ews_home_unmark_elsewhere(const char *home, const char *workspace);

/*
 * Which session's workspace holds the directory `cwd`? Found by where things
 * lie below home alone, never by what the workspace says of itself. Gives
 * `*repo_dir` and `*id` (the caller frees both). Fails with EWS_ENOTFOUND where it is in none.
 */
int ews_home_find_workspace(char **repo_dir, char **id, const char *home, const char *cwd);

#endif
