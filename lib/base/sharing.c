/*
 * Sharing: see sharing.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/sharing.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/handle.h"

#define READ_BITS 0444
#define WRITE_BITS 0222
#define GROUP_BITS 0060
#define ALL_BITS 0777

/* Who may read may enter, or run, as well. */
static mode_t add_execute(mode_t mode)
{
	return mode | (mode & READ_BITS) >> 2;
}

static mode_t find_mode(struct ews_sharing sharing, mode_t mode)
{
	mode_t bits = mode & S_IWUSR ? sharing.bits : sharing.bits & ~(mode_t)WRITE_BITS;

	if (mode & S_IXUSR)
		bits = add_execute(bits);
	mode = sharing.is_exact ? (mode & ~(mode_t)ALL_BITS) | bits : mode | bits;
	if (S_ISDIR(mode)) {
		mode = add_execute(mode);
		/* Where the group is let in. */
		if (mode & GROUP_BITS)
			mode |= S_ISGID;
	}
	return mode;
}

int ews_sharing_need(struct ews_sharing sharing)
{
	if (!sharing.os_error)
		return 0;
	errno = sharing.os_error;
	return ews_error_os("cannot read for whom the repository is (core.sharedRepository)");
}

int ews_sharing_apply(struct ews_sharing sharing, int fd)
{
	struct stat st;
	mode_t mode;
	int rc = ews_sharing_need(sharing);

	if (rc < 0)
		return rc;
	if (!sharing.bits)
		return 0;
	if (fstat(fd, &st) < 0)
		return ews_error_os("cannot look at what was made");
	mode = find_mode(sharing, st.st_mode);
	if (mode != st.st_mode && ews_handle_chmod(fd, mode & 07777) < 0)
		return ews_error_os("cannot share what was made with its group");
	return 0;
}
