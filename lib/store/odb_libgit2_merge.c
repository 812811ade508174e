/*
 * Texts merged through libgit2: the part of its room that needs no store.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/odb_libgit2.h"

#include "store/odb.h"

static git_merge_file_input input_of(const struct ews_odb_text *text)
{
	return (git_merge_file_input){ .version = GIT_MERGE_FILE_INPUT_VERSION,
				       .ptr = text->len ? text->data : "",
				       .size = text->len };
}

int ews_odb_merge_text(struct ews_buf *out, const struct ews_odb_text *base, const struct ews_odb_text *ours,
		       const struct ews_odb_text *theirs)
{
	const git_merge_file_options opts = { .version = GIT_MERGE_FILE_OPTIONS_VERSION,
					      .ancestor_label = base->label,
					      .our_label = ours->label,
					      .their_label = theirs->label };
	git_merge_file_input ancestor = input_of(base), mine = input_of(ours), other = input_of(theirs);
	git_merge_file_result result = { 0 };
	int git_rc;

	git_rc = ews_libgit2_need();
	if (git_rc < 0)
		return git_rc;
	git_rc = ews_git2.git_merge_file(&result, base->data ? &ancestor : NULL, &mine, &other, &opts);
	if (git_rc < 0)
		return ews_libgit2_fail(git_rc, EWS_EGIT, "cannot merge two texts");
	ews_buf_add(out, result.ptr, result.len);
	git_rc = !result.automergeable;
	ews_git2.git_merge_file_result_free(&result);
	return git_rc;
}
