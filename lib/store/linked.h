/*
 * Linked worktrees: what git keeps of one in the repository (gitrepository-layout(5)), an entry below worktrees/.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_LINKED_H
#define EWS_STORE_LINKED_H

#include <stdint.h>

/* What the text of "locked" begins with in the entry of a session, in whatever home it is. */
#define EWS_LINKED_LOCKED_BY "ews session "

/*
 * What tells the worktree whose git directory is open as `git_fd` from one that is made anew under its name: when git wrote its file
 * "commondir", which it does once, the first line of its log, and of which directory it is. "" where it is none, or that can't be seen.
 * The caller frees it.
 */
char *ews_linked_mark(int git_fd);

/*
 * The entry of another repository that has the work tree of the entry `git_dir` in the repository `common_dir`, as both say: this one is a
 * copy then, made with its repository. NULL, with no error set, where there is none. The caller frees it.
 */
char *ews_linked_original(const char *git_dir, const char *common_dir);

#define EWS_LINKED_UNKNOWN 2

/*
 * Is it another one than that of which was noted `mark` at the time `noted_s`? A copy of the repository may have new times: there its
 * log tells, as far as that has the time of day (see GIT_COMMITTER_DATE) and its first lines; some file systems know whole seconds.
 * Where `mark` is NULL or "", as in records of older versions, it is another one when it was made later. Gives 1 or 0, or
 * EWS_LINKED_UNKNOWN where neither says: it may be one. Fails with EWS_ENOTFOUND when it is no linked one.
 */
int ews_linked_is_another(int git_fd, const char *mark, int64_t noted_s);

#endif
