/*
 * Diff: two contents, and what lies between them.
 *
 * The patch's text is git's own, printed by git over the two trees in a neutral
 * place; the change records that people and scripts read are those of git's raw
 * output with rename detection (-M50%), so that both always agree. Where it is certain
 * what git would say they are made here (work/diff_count), which is quicker.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_DIFF_H
#define EWS_WORK_DIFF_H

#include "base/progress_fn.h"
#include "store/git.h"
#include "work/diff_count.h"
#include "work/diff_record.h"
#include "work/snapshot.h"

struct ews_epoch_looking;

/* One side of a diff. */
struct ews_diff_side {
	struct ews_snapshot snapshot; /* of `now`: no id, the tree alone */
	struct ews_content content;
	bool is_now;
};

/* Is all that a manifest says known of it? */
static inline bool ews_diff_side_has_manifest(const struct ews_diff_side *side)
{
	return side->is_now || !ews_oid_is_none(&side->snapshot.manifest);
}

/* How it is made, which is set before its sides are. */
struct ews_diff_opts {
	bool are_specs; /* all paths are pathspecs as from ews_pathspec_from_top(), no plain directories and files */
	bool is_for_commit; /* not_in_patch is what a commit of the second side has not: what was left out of the first alone is none of it */
	bool names_written; /* submodules of the present state, in which something was written since the first side, are told as well */
	bool without_index; /* nobody asks for the bytes of git's index, which the contents of the sides have else */
	struct ews_diff_count_opts count; /* of the records; without renames there are none in a patch either */
	struct ews_epoch_looking *looking; /* NULL, or a look at the project that is under way; it stays the caller's */
	ews_progress_fn progress; /* of looking at the present state, and of a patch that is collected; may be NULL */
	void *payload;
};

struct ews_diff {
	struct ews_diff_opts opts;
	struct ews_diff_side from, to;
	struct ews_diff_record *items; /* by path, as git prints them */
	size_t n, cap;
	size_t added, deleted, modified, renamed;
	uint64_t lines_added, lines_deleted;
	struct ews_strv paths; /* what items, totals and the lists are limited to; none: all is in them */
	bool are_listed; /* the entries of both contents are those that the trees were made of */
	bool is_of_one_place; /* both sides are the same directory's, whose own mode and attributes are compared then */
	bool is_of_one_hash; /* both contents are, so that their entries are equal, but for times and for which are one file */
	bool has_digests; /* ids in the contents are SHA-256 of the bytes; blobs have ids of their own */
	struct ews_strv written; /* where names_written is wanted: which submodules those are, by path */
	struct ews_strv too_large; /* paths that no patch could hold; the patch leaves them out */
	struct ews_strv not_in_patch; /* "<path>\t<what>": empty directories, modes, attributes, hard links, names a tree can't hold; path escaped */
	size_t n_untold; /* how many of these are ignored in the later snapshot: that they differ nobody says */
};

#define EWS_DIFF_INIT { .paths = EWS_STRV_INIT, .written = EWS_STRV_INIT, .too_large = EWS_STRV_INIT, .not_in_patch = EWS_STRV_INIT, .from = { .content = EWS_CONTENT_INIT }, .to = { .content = EWS_CONTENT_INIT } }

/*
 * Set the two sides. `from` NULL: the session's base; `to` NULL: the session's
 * present state (its objects are written to the store, so that git can print them).
 * "now" names the session's present state on either side; `session` may be NULL when both
 * are named, or for the project's present state.
 */
int ews_diff_sides(struct ews_diff *diff, struct ews_repo *repo, struct ews_session *session, const char *from,
		   const char *to);

/*
 * Set the two sides to snapshots or revisions by their trees alone, which is quick whatever they hold: there are no
 * sizes and times of records then, nothing of not_in_patch, and no patch to be printed. But where there were paths that
 * nobody could look at the contents are read.
 */
int ews_diff_trees(struct ews_diff *diff, struct ews_repo *repo, const char *from, const char *to);

/* Fill items, totals and not_in_patch, limited to `paths` (NULL-ended; NULL: all). Fails with EWS_EUSAGE on what is no pathspec. */
int ews_diff_records(struct ews_diff *diff, struct ews_repo *repo, char *const *paths);

/* Fill not_in_patch alone, as far as `paths` of the diff mean it. Fails with EWS_EUSAGE where one is no pathspec. */
int ews_diff_list_unsaid(struct ews_diff *diff, struct ews_repo *repo);

/*
 * Have git print the diff: `args` are output options of git diff (NULL-ended),
 * `paths` what it is limited to. Without options: the patch, binary, full ids, renames found.
 * `user_config`: for people's eyes, their own config holds. Goes to `out_fd`, or is
 * collected in `out` when not NULL. Returns git's exit status (0, or 1 with --exit-code).
 */
int ews_diff_print(const struct ews_diff *diff, struct ews_repo *repo, char *const *args, char *const *paths,
		   bool user_config, int out_fd, struct ews_buf *out);

/* Do these options of git diff ask for a form (a patch, --stat, --raw ...), and not only say how it is to look? */
bool ews_diff_asks_for_form(char *const *args);

/* Append to `out` what git prints so, without the user's config. */
int ews_diff_collect(struct ews_buf *out, const struct ews_diff *diff, struct ews_repo *repo, char *const *args,
		     char *const *paths);

/*
 * Does anything differ, to a git diff with these `args` (none of which asks for a form), or that no patch can say? 1 when it does.
 * Without `args` that is what the records say.
 */
int ews_diff_differs(const struct ews_diff *diff, struct ews_repo *repo, char *const *args, char *const *paths);

/* `skip` was left out of one side for reasons that `words` say; `is_same`: it was so on both. */
typedef void ews_diff_left_out_fn(void *payload, const struct ews_skip *skip, const char *words, bool is_same);

/*
 * Is it ignored in what is a snapshot, and not said to be gone? Then nobody can tell what became of what an earlier state has there; in what
 * stands there now that was looked at.
 */
bool ews_diff_is_untold(const struct ews_diff_side *later, const struct ews_skip *skip);

/*
 * Call `fn` for all that neither a patch nor who takes over what differs can know: what is ignored, excluded or our own is none of it,
 * but what was held by the first side, and came along and is untracked again, or is untold.
 */
void ews_diff_list_left_out(const struct ews_diff *diff, ews_diff_left_out_fn *fn, void *payload);

/* Give each record its part of the patch, as `text`. */
int ews_diff_texts(struct ews_diff *diff, struct ews_repo *repo);

/* Hash of a blob as `sha256:<hex>` of its bytes; the caller frees `*out`. */
int ews_diff_file_hash(char **out, struct ews_repo *repo, const struct ews_oid *oid);

void ews_diff_release(struct ews_diff *diff);
EWS_CLEANUP_DEFINE(diff, struct ews_diff, ews_diff_release)

/* Between diff.c and diff_print.c. */

/*
 * Must a patch of it tell no renames? git apply doesn't see that a link gives way to a directory where the link is renamed:
 * then no line says what it was, and what comes into the directory is refused as beyond a link.
 */
bool ews_diff_must_not_rename(const struct ews_diff *diff);

/* Have git compare the two trees. Returns its exit status. */
int ews_diff_git(const struct ews_diff *diff, struct ews_repo *repo, char *const *args, char *const *paths,
		 struct ews_git_opts *opts);

#endif
