/*
 * Home: the directory of all that we keep for a user, how it is opened, and the names of what lies in it.
 *
 * What lies in it is drawn in lib/README.md. All but the workspaces themselves is 0700 and 0600.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_HOME_H
#define EWS_STORE_HOME_H

#include <stdbool.h>

/* What lies in home. A new one is reserved, too: ews_home_is_reserved(). */
#define EWS_HOME_ACCEPTED "accepted"
#define EWS_HOME_ARCHIVES "archives"
#define EWS_HOME_ELSEWHERE "elsewhere"
#define EWS_HOME_HOOKS "hooks"
#define EWS_HOME_NEUTRAL "neutral.git"
#define EWS_HOME_NEUTRAL_SHA256 "neutral-sha256.git"
#define EWS_HOME_PORTS "ports"
#define EWS_HOME_PORTS_LOCK "ports.lock"
#define EWS_HOME_RESERVE "reserve"
#define EWS_HOME_STORES "store"
#define EWS_HOME_TMP "tmp"
#define EWS_HOME_WORKING "working"

/* What lies in a repository's directory there, beside its locks (EWS_LOCKS). */
#define EWS_WORKING_ROUNDS "rounds"
#define EWS_WORKING_SESSIONS "sessions"
#define EWS_WORKING_TRASH "trash"
#define EWS_WORKING_UNDO "undo"
#define EWS_WORKING_WORKSPACES "qe"

/* What a project has of ours, hidden from its git, and the trash of sessions in place in it. */
#define EWS_OWN_DIR ".superqode"
#define EWS_OWN_TRASH EWS_OWN_DIR "/trash"

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
 * Open the directory of all projects in home; it is made, as home is, when it is missing and `make` is set. Else that fails with
 * EWS_ENOTFOUND. Returns a descriptor.
 */
int ews_home_open_working(const char *home, bool make);

/*
 * Where below home the temporary files of what runs in session `id` of `repo_dir` are: a short name, since
 * programs make sockets there, whose names must be. The caller frees it.
 */
char *ews_home_tmp(const char *repo_dir, const char *id);

/*
 * Does the absolute `path` lie where home keeps its own, or will when that is made, wherever links lead? What is put there by
 * somebody else would be taken for a record.
 */
bool ews_home_is_reserved(const char *home, const char *path);

#endif
