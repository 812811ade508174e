/*
 * The real git: which program is meant by "git", where our shim has that name, too.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_GIT_PROGRAM_H
#define EWS_STORE_GIT_PROGRAM_H

/* Where `git ews run` says that it found git. */
#define EWS_GIT_VARIABLE "EWS_GIT"

/*
 * Find git: what $EWS_GIT names, else the first one in an absolute directory of PATH, and in both cases none that is
 * this very program. Fails with EWS_ENOTFOUND. The caller frees `*out`, an absolute path.
 */
int ews_git_program_find(char **out);

#endif
