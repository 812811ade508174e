/*
 * Patches: what a patch does, as the trees before and after it.
 *
 * Patch text is git's: git reads it, beside an index of our own in a neutral place, where no
 * attribute, filter or setting bends it, and refuses what leads outside (.., .git, through links).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_PATCH_H
#define EWS_WORK_PATCH_H

#include "store/repo.h"

struct ews_patch {
	const char *name; /* for messages */
	const void *data;
	size_t len;
	const struct ews_strv *left_out; /* files that git is to pass over, by the names that it leaves them with; NULL: none */
};

/* Add the paths that the patch speaks of. Fails with EWS_EDAMAGED when it is no patch, EWS_EDENIED on names like ".git". */
int ews_patch_paths(struct ews_strv *out, struct ews_repo *repo, const struct ews_patch *patch);

/* Add the name of each file before the patch and after it, by turns; what comes or goes has but one, told twice. */
int ews_patch_names(struct ews_strv *out, struct ews_repo *repo, const struct ews_patch *patch);

/* Can git be told to leave these out? More than a command line holds it can't. */
bool ews_patch_can_leave_out(const struct ews_strv *paths);

/*
 * Apply it to the tree `on` (durable in the store), as git apply does: lines may have moved, nothing else. `after` is the
 * tree that comes of it. Returns 1 when it does not apply, and adds "<path>\t<why>" to `conflicts`.
 */
int ews_patch_apply(struct ews_oid *after, struct ews_strv *conflicts, struct ews_repo *repo,
		    const struct ews_patch *patch, const struct ews_oid *on);

/*
 * The files that it was made from, when it tells their ids and the store has them, and what it makes
 * of these: trees of those files alone. Of files whose content it leaves as it is, it tells none: they are as in the
 * tree `on`. Returns 1 when that is not known.
 */
int ews_patch_sides(struct ews_oid *before, struct ews_oid *after, struct ews_repo *repo,
		    const struct ews_patch *patch, const struct ews_oid *on);

#endif
