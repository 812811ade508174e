/*
 * Lines compared through libgit2, which has git's xdiff: a part of its room that needs no store.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/odb_libgit2.h"

#include "store/odb.h"

struct counting {
	uint64_t added, deleted;
};

static int count_line(const git_diff_delta *delta, const git_diff_hunk *hunk, const git_diff_line *line, void *payload)
{
	struct counting *counting = payload;

	(void)delta;
	(void)hunk;
	counting->added += line->origin == GIT_DIFF_LINE_ADDITION;
	counting->deleted += line->origin == GIT_DIFF_LINE_DELETION;
	return 0;
}

int ews_odb_count_lines(uint64_t *added, uint64_t *deleted, const void *from, size_t from_len, const void *to,
			size_t to_len)
{
	const git_diff_options opts = { .version = GIT_DIFF_OPTIONS_VERSION, .flags = GIT_DIFF_FORCE_TEXT };
	struct counting counting = { 0, 0 };
	int git_rc;

	git_rc = ews_libgit2_need();
	if (git_rc < 0)
		return git_rc;
	git_rc = ews_git2.git_diff_buffers(from, from_len, NULL, to, to_len, NULL, &opts, NULL, NULL, NULL,
					   count_line, &counting);
	if (git_rc < 0)
		return ews_libgit2_fail(git_rc, EWS_EGIT, "cannot compare two texts");
	*added = counting.added;
	*deleted = counting.deleted;
	return 0;
}
