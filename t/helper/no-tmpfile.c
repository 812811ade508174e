/*
 * A file system that knows no files without a name, as NFS is one, for a command and all that it starts: O_TMPFILE is refused.
 *
 *     no-tmpfile <command>...
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <seccomp.h>

#define FLAGS 2 /* which argument of openat() they are */

int main(int argc, char **argv)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

	if (argc < 2 || !filter || seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ALLOW) < 0 ||
	    seccomp_rule_add(filter, SCMP_ACT_ERRNO(EOPNOTSUPP), SCMP_SYS(openat), 1,
			     SCMP_CMP(FLAGS, SCMP_CMP_MASKED_EQ, O_TMPFILE, O_TMPFILE)) < 0 ||
	    seccomp_load(filter) < 0) {
		fprintf(stderr, "no-tmpfile: usage: no-tmpfile <command>..., or there are no filters\n");
		return 125;
	}
	seccomp_release(filter);
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return errno == ENOENT ? 127 : 126;
}
