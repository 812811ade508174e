/*
 * Carrying: see carry.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/carry.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/strv.h"
#include "store/git.h"

/* Out of the one object directory into a file without a name, and from there into the other. */
int ews_carry(const struct ews_carry *carry, const struct ews_buf *request)
{
	EWS_CLEANUP(free) char *neutral = NULL;
	EWS_CLEANUP(fd) int pack = open(carry->tmp_dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	EWS_CLEANUP(buf) struct ews_buf said = EWS_BUF_INIT;
	EWS_CLEANUP(strv) struct ews_strv pack_args = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv index_args = EWS_STRV_INIT;
	struct ews_git_opts from = { .object_dir = carry->from,
				     .alternate_dir = carry->alternate,
				     .input = request->ptr,
				     .input_len = request->len,
				     .out_fd = pack };
	struct ews_git_opts to = { .object_dir = carry->to, .sharing = carry->sharing, .in_fd = pack, .out = &said };
	int rc = pack < 0 ? ews_error_os("cannot make a file in '%s'", carry->tmp_dir) : 0;

	if (carry->shallow) {
		ews_strv_add_all(&pack_args, "--shallow-file", carry->shallow, NULL);
		ews_strv_add_all(&index_args, "--shallow-file", carry->shallow, NULL);
	}
	ews_strv_add_all(&pack_args, "pack-objects", "-q", "--stdout", NULL);
	if (!carry->just_these)
		ews_strv_add(&pack_args, "--revs");
	if (carry->alternate)
		ews_strv_add(&pack_args, "--local");
	ews_strv_add_all(&index_args, "index-pack", "--stdin", "--fix-thin", NULL);
	if (!carry->just_these)
		ews_strv_add(&index_args, "--check-self-contained-and-connected");
	if (rc == 0)
		rc = ews_git_neutral_dir(&neutral, carry->home, carry->algo);
	from.neutral_dir = to.neutral_dir = neutral;
	if (rc == 0)
		rc = ews_git_run(&from, pack_args.items);
	if (rc > 0)
		rc = ews_error(EWS_EGIT, "git said no");
	if (rc == 0 && lseek(pack, 0, SEEK_SET) < 0)
		rc = ews_error_os("cannot read the pack");
	/* 1: whole with what was there already */
	if (rc == 0)
		rc = ews_git_run(&to, index_args.items);
	return rc < 0 ? rc : 0;
}
