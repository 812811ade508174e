/*
 * Linked worktrees: what git keeps of one in the repository (gitrepository-layout(5)), an entry below worktrees/.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_LINKED_H
#define EWS_STORE_LINKED_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* What the text of "locked" begins with in the entry of a session, in whatever home it is. */
#define EWS_LINKED_LOCKED_BY "ews session "

/*
 * When the worktree was made whose git directory is open as `git_fd`. Its name tells nothing of that: one that
 * was removed and made anew may have the same. Two things do, the file "commondir", which git writes once, and the first line of its
 * log; a copy of the repository may have new times, and a log may have lost its first lines, so that the older one counts. The log
 * knows whole seconds, as some file systems do: what is said is never later than it was.
 * Fails with EWS_ENOTFOUND when it is none.
 */
int ews_linked_born(struct timespec *out, int git_fd);

/* Was it made after this time? What is none, or can't be seen, was not. */
bool ews_linked_is_younger(int git_fd, int64_t than_s, uint32_t than_ns);

#endif
