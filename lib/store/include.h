/*
 * Includes: a few lines in a git config file that take in a file of ours, and that leave without a trace.
 *
 * They stand at the end, so that what the other file says is stronger, and no line that was there is touched. git's own
 * lock is held meanwhile; a link is followed, as git does it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_INCLUDE_H
#define EWS_STORE_INCLUDE_H

#include <stdbool.h>

/*
 * Let the config file `file` take in `path`, in the place of what was said of it there before. `git_dir`: `path` is
 * seen from that directory, and taken in only where git works there or below; NULL: everywhere. It is named whole, since git and
 * others copy such a file to where a relative path leads elsewhere. A file that is missing is made.
 * Gives 1, or 0 when nothing had to change. Fails with EWS_EBUSY while somebody else writes it.
 */
int ews_include_add(const char *file, const char *path, const char *git_dir);

/*
 * Take these lines out again; of a relative `path` those that name it from whichever directory. Gives 1, or 0 when there
 * were none.
 */
int ews_include_remove(const char *file, const char *path);

/* Are they there? Known as above. */
bool ews_include_has(const char *file, const char *path);

#endif
