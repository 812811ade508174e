/*
 * Own: is a file or directory ours alone?
 *
 * What we keep we make for ourselves alone, whatever the umask. So where another user owns a part of it, or
 * could have written it, it is not what we kept, and nothing that it says is followed. root may own
 * it: root can do anything anyhow. A project is another matter: root may work in one of a user, and what is made there is his.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_OWN_H
#define EWS_BASE_OWN_H

#include <sys/types.h>

/* Fail with EWS_EDENIED when what is open at `fd`, and called `name`, is another user's, or may be written by others. */
int ews_own_check(int fd, const char *name);

/* The same of what was found in the directory `dir_fd` of a project: whoever owns that may own this, where root asks. */
int ews_own_check_within(int fd, int dir_fd, const char *name);

/*
 * As mkdirat(), but where root makes a directory in another user's it belongs to that user, and to the directory's group: he could not
 * write there otherwise. Where he may not make it himself it is root's.
 */
int ews_own_make_dir(int dir_fd, const char *name, mode_t mode);

#endif
