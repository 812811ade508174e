/*
 * Rewritten snapshots: what a snapshot was made of, where somebody has rewritten its commit.
 *
 * Who rewrites history by `git filter-branch -- --all`, or the like of it, rewrites what refs/ews holds as well: each commit gets
 * another tree and other parents, and keeps its message. That says of which tree, manifest and HEAD the snapshot was made, so that
 * one is known for what it is and is read as it was; of the same parts its commit is made again.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_SNAPSHOT_REWRITTEN_H
#define EWS_WORK_SNAPSHOT_REWRITTEN_H

#include "work/snapshot.h"

#define EWS_TRAILER_TREE "Ews-Tree"
#define EWS_TRAILER_MANIFEST "Ews-Manifest"

/*
 * Hold `out`, which was read from `commit`, against what the message says; earlier versions say there of HEAD alone. Of one that was
 * rewritten tree and manifest become those that it was made of; a tree that is no longer there is made again, of the manifest.
 */
int ews_rewritten_settle(struct ews_snapshot *out, struct ews_repo *repo, const struct ews_commit *commit);

/* Add a sentence that names its ref and says what to do, if it was rewritten. */
void ews_rewritten_tell(struct ews_strv *out, const struct ews_snapshot *snapshot);

/* Make the commit of the one that `ref` holds again, and let the ref lead to it. Returns 0 where it was not rewritten. */
int ews_rewritten_put_back(struct ews_repo *repo, const char *ref);

#endif
