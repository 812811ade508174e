/*
 * Own: is a file or directory ours alone?
 *
 * What we keep we make for ourselves alone, whatever the umask. So where another user owns a part of it, or
 * could have written it, it is not what we kept, and nothing that it says is followed. root may own
 * it: root can do anything anyhow.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_OWN_H
#define EWS_BASE_OWN_H

/* Fail with EWS_EDENIED when what is open at `fd`, and called `name`, is another user's, or may be written by others. */
int ews_own_check(int fd, const char *name);

#endif
