/*
 * The user's own config: what he says on the command line and in his git config, before any repository is known; and home.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_CONFIG_USER_H
#define EWS_STORE_CONFIG_USER_H

#include "store/gitconfig.h"

/*
 * Take what `git -c <key>=<value> ews ...` left in the environment of "ews.*" and of what ews_config_user() is asked for,
 * once, before the environment is scrubbed.
 */
void ews_config_take_environment(void);

/* All of it, borrowed. */
const struct ews_gitconfig *ews_config_overrides(void);

/* What the command line says of `key`, borrowed; NULL: nothing. Before a project is known. */
const char *ews_config_command(const char *key);

/*
 * What the user says of `key`: on the command line, else in his or the system's config; no repository. The key is one of
 * ours, or one of those of git's that EWS_GITCONFIG_USERS names. The caller frees `*out`. Fails with EWS_ENOTFOUND.
 */
int ews_config_user(char **out, const char *key);

/*
 * Find home: `option` when not NULL, else SUPERQODE_HOME, else ews.home of the
 * user's or the system's git config, else ~/.superqode. Absolute; the caller
 * frees it; it need not exist. Fails with EWS_ECONFIG when HOME would be
 * needed and is unset or relative, and when what the environment or the
 * config names is relative; `option` counts from the current directory.
 */
int ews_config_find_home(char **out, const char *option);

/*
 * Which config, that we may not see, may name another home than `home`, which ews_config_find_home() gave for `option`? Only where that
 * is the usual one, and nobody said so. NULL: none. Borrowed.
 */
const char *ews_config_home_doubt(const char *home, const char *option);

#endif
