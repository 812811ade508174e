/*
 * Git's config files as they stand: which there are, in which order, and what they say.
 *
 * Each verb asks for settings of which most are in none of them, and to start git, or libgit2, for that takes longer than
 * the verb. Format and order: git-config(1). Includes are not followed: who finds one is told to ask git.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_GITCONFIG_FILES_H
#define EWS_STORE_GITCONFIG_FILES_H

#include <stdbool.h>

enum ews_gitconfig_scope {
	EWS_GITCONFIG_SYSTEM = 1,
	EWS_GITCONFIG_USER,
	EWS_GITCONFIG_REPOSITORY, /* its config and config.worktree */
	EWS_GITCONFIG_COMMAND, /* git -c <key>=<value> */
};

/* What the environment says: is the system's file left out, and which files stand for the usual ones? */
struct ews_gitconfig_places {
	bool has_system;
	const char *system; /* NULL: the usual one */
	const char *global; /* NULL: the usual two */
};

struct ews_gitconfig_places ews_gitconfig_find_places(void);

/*
 * Where git looks for a file of the user's that is called `name` and no setting names: in XDG_CONFIG_HOME, or else in ~/.config.
 * NULL: neither that nor HOME is set. The caller frees it.
 */
char *ews_gitconfig_user_path(const char *name);
/*
 * A config of the user's that is there, and that we may not see: git passes it over in silence. Borrowed; NULL: no walk so far has met
 * one.
 */
const char *ews_gitconfig_closed_path(void);
/* A path of a setting, whose "~/" is HOME; NULL when that is not set. The caller frees it. */
char *ews_gitconfig_expand(const char *path);

/* A key as ews_gitconfig_parse() has it, and where it stands. All of it is lent for the call. */
struct ews_gitconfig_entry {
	const char *key;
	const char *value; /* NULL of a key without "=" */
	const char *file;
	enum ews_gitconfig_scope scope;
};

typedef void (*ews_gitconfig_entry_fn)(const struct ews_gitconfig_entry *entry, void *payload);

/*
 * Hand over all that is set, what has the last word last: the system's, the user's and, where `git_dir` is no NULL, those
 * of the repository whose git directories these are. Returns 0, or 1 when a file includes others, is no config, or could
 * not be read: then what was handed over is not all, and git has to be asked.
 */
int ews_gitconfig_walk(const char *git_dir, const char *common_dir, ews_gitconfig_entry_fn fn, void *payload);

#endif
