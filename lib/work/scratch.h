/*
 * Scratch: a directory for what an agent needs to work and nobody wants as its work.
 *
 *     <workspace>/.ews_scratch/                     experiments, notes; it hides itself from git's status
 *                              verification/        scripts that check the work
 *     <home>/working/<repo>/rounds/<team>/.scratch_archive/<name>/      what was in it, when its round was over
 *
 * No scan looks at it (work/content): no diff, snapshot, commit or apply has it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_SCRATCH_H
#define EWS_WORK_SCRATCH_H

#include "work/content.h"

/*
 * Make it in `session`'s workspace; one that is there stays as it is, byte for byte. Returns 1 when it was made, 0 when one was there. Fails with EWS_EDENIED
 * on anything but a directory of that name.
 */
int ews_scratch_make(const struct ews_session *session);

/* What is archived of it. */
struct ews_scratch_archived {
	char *name; /* of the directory; NULL: there was nothing */
	struct ews_strv left_out; /* "<path>\t<why>": what no copy was made of */
};

#define EWS_SCRATCH_ARCHIVED_INIT { NULL, EWS_STRV_INIT }

/*
 * Copy what is in it to the archive of `team`, under `name` made safe, or, when that is taken, under that with "-2", "-3", ...
 * behind it. `before` is the directory that the same session's was copied to once, or "": when that holds the same, nothing is
 * done. A copy is whole or not there.
 */
int ews_scratch_archive(struct ews_scratch_archived *out, struct ews_session *session, const char *team,
			const char *name, const char *before);

/* Take it away, when it is all archived. */
int ews_scratch_remove(const struct ews_session *session);

/* Take it away as far as there is nothing in it but what ews_scratch_make() put there. */
int ews_scratch_remove_unused(const struct ews_session *session);

/* The paths of the archives of `team`, the newest first. */
int ews_scratch_list(struct ews_strv *out, struct ews_repo *repo, const char *team);

/* Remove the copy of session `id` that was not finished. */
void ews_scratch_sweep(struct ews_repo *repo, const char *team, const char *id);

void ews_scratch_archived_release(struct ews_scratch_archived *archived);
EWS_CLEANUP_DEFINE(scratch_archived, struct ews_scratch_archived, ews_scratch_archived_release)

#endif
