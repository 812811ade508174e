/*
 * Pending results: what a session came to, kept until somebody decides.
 *
 *     refs/ews/pending/<session>/base      what it began with
 *     refs/ews/pending/<session>/result    what it came to
 *
 * The two refs are all there is to it, so nothing expires them. 'end --pending' moves them here, as part of its step; who
 * decides moves them to trash, as a step of its own.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_PENDING_H
#define EWS_WORK_PENDING_H

#include "work/snapshot.h"

struct ews_pending {
	char *session;
	struct ews_snapshot base, result;
};

struct ews_pendings {
	struct ews_pending *items; /* the oldest first */
	size_t n, cap;
};

#define EWS_PENDINGS_INIT { NULL, 0, 0 }

/* All there are. One whose snapshots can't be read is an error that names it. */
int ews_pending_list(struct ews_pendings *out, struct ews_repo *repo);

/* The one that `name` means: a session's id or a beginning of one alone. Fails with EWS_ENOTFOUND, EWS_EUSAGE. */
int ews_pending_find(const struct ews_pending **out, const struct ews_pendings *list, const char *name);

/* Is the session `id` pending? */
bool ews_pending_is(struct ews_repo *repo, const char *id);

/* Plan in `step` how its base and what was kept of it, which lies in trash, become a pending result. */
int ews_pending_plan(struct ews_step *step, struct ews_repo *repo, const char *id, const char *kept);

/* It is decided: to trash. undo makes it pending again. */
int ews_pending_drop(struct ews_repo *repo, const struct ews_pending *pending);

void ews_pendings_release(struct ews_pendings *list);
EWS_CLEANUP_DEFINE(pendings, struct ews_pendings, ews_pendings_release)

#endif
