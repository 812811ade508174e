/*
 * The index that is meant: git's own of the project, or the one that GIT_INDEX_FILE names.
 *
 * In a hook of 'git commit -a' and 'git commit <path>' what is being committed is in no index yet but the one that git names so:
 * its lock, or a file beside it. Who looks there at a workspace means that.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_NAMED_INDEX_H
#define EWS_WORK_NAMED_INDEX_H

#include "store/index.h"
#include "store/repo.h"

/*
 * Read the index of the project. One that is named counts where it is a file in the very git directory, not below; any other is
 * left out, and `notes` says why. Fails as ews_index_read() does of the project's own, and where the named one can't be read just now.
 */
int ews_named_index_read(struct ews_index *out, struct ews_strv *notes, const struct ews_repo *repo);

#endif
