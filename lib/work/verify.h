/*
 * Verifying: every object that our refs hold is read again, and what is damaged is named with the path it holds.
 *
 * Loose objects are read from their own files, to the last byte, whether or not git would take them from a pack; packs
 * and their indexes are compared with the checksums at their ends.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_VERIFY_H
#define EWS_WORK_VERIFY_H

#include "work/snapshot.h"

/* What was read already, so that nothing is read twice. */
struct ews_verify;

struct ews_verify *ews_verify_new(struct ews_repo *repo);
void ews_verify_free(struct ews_verify *verify);

/*
 * Read all that `snapshot` needs: its tree and the files in it, its manifest with the index, what is staged and what else
 * is kept there, and HEAD's commit with its tree; and compare with its hash. Each problem is a sentence that begins with
 * a path, or with what it is about. Gives their number.
 */
int ews_verify_snapshot(struct ews_strv *problems, struct ews_verify *verify, const struct ews_snapshot *snapshot);

/*
 * The same of a commit that is no snapshot, a round's or an artifact's: itself, those that it stands on, and all that is in their trees.
 * `has_project`: it holds the project's own files, which a partial clone need not have.
 */
int ews_verify_commit(struct ews_strv *problems, struct ews_verify *verify, const struct ews_oid *oid,
		      bool has_project);

/* Read all commits that lead to what was verified so far, with their trees, as far back as the repository has them. */
int ews_verify_history(struct ews_strv *problems, struct ews_verify *verify);

/* Compare each pack and each pack's index of the store with its checksum. */
int ews_verify_packs(struct ews_strv *problems, struct ews_verify *verify);

EWS_CLEANUP_DEFINE_PTR(verify, struct ews_verify, ews_verify_free)

#endif
