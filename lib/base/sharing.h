/*
 * Sharing: what several users have in common needs modes that their umasks don't leave.
 *
 * Who makes a file or directory for others as well gives it these bits once it is made; without any of them nothing is done,
 * nor looked at.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_SHARING_H
#define EWS_BASE_SHARING_H

#include <stdbool.h>
#include <sys/types.h>

struct ews_sharing {
	mode_t bits; /* who may read and write; 0: the umask says it */
	bool is_exact; /* and nobody else may, whatever the umask leaves */
	int os_error; /* it is not known for whom: why not; 0: it is */
};

#define EWS_SHARING_NONE ((struct ews_sharing){ .bits = 0, .is_exact = false, .os_error = 0 })

/*
 * Give what is open at `fd`, and was just made by us, the bits of `sharing`: a file that nobody may write is not written by others
 * either; who may read a directory may enter it, and what is made in it belongs to its group. Fails where it is not known for whom it is.
 */
int ews_sharing_apply(struct ews_sharing sharing, int fd);
/* Fail, with errno, where it is not known. */
int ews_sharing_need(struct ews_sharing sharing);

#endif
