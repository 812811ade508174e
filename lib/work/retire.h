/*
 * Retiring: an ended session gives its id to a new one, and can still be brought back.
 *
 * The record of the session `<id>` goes on as `<id>~<its base's id>`, which no
 * session can be called: its directory, its kept worktree entry, and the steps that
 * name it. Undoing one of these steps gives it its id again, and retires what
 * bears that now. Each part is one rename or one replaced file, harmless when
 * already done.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_RETIRE_H
#define EWS_WORK_RETIRE_H

#include "store/repo.h"
#include "store/step.h"

/*
 * Make `id`, whose lock the caller holds, free when its session has ended; when there is none, nothing happens.
 * Fails with EWS_EEXISTS when it has not ended, and with EWS_EINTERRUPTED when a step of it is unfinished.
 */
int ews_retire(struct ews_repo *repo, const char *id);

/*
 * Give a step's session, if it was retired, its id again, and name that in `step`.
 * Fails with EWS_EBUSY while a session that has not ended bears the id, or is being worked on.
 */
int ews_retire_revive(struct ews_repo *repo, struct ews_step *step);

/* As above for the session that bore the free `id` last, after a start that came to nothing. Missing is done. */
int ews_retire_revive_last(struct ews_repo *repo, const char *id);

/*
 * What a start that was killed has half retired, or retired for a session that there is none of, has its id again: a sentence each
 * goes to `done`. Whatever somebody is at work on stays.
 */
int ews_retire_mend(struct ews_strv *done, struct ews_repo *repo);

/* Is `name` that of a retired session, and not a living one's id? */
bool ews_retire_is_name(const char *name);

/* The id that the session `name`, retired or not, was given. The caller frees it. */
char *ews_retire_id(const char *name);

#endif
