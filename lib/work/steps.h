/*
 * Steps: all that undo knows of, and what of it waits to be finished.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_STEPS_H
#define EWS_WORK_STEPS_H

#include "store/repo.h"
#include "store/step.h"

struct ews_steps {
	struct ews_step *items; /* newest first */
	size_t n, cap;
	struct ews_strv damaged; /* the ids of those whose record makes no sense, whosever they are; oldest first */
};

#define EWS_STEPS_INIT { NULL, 0, 0, EWS_STRV_INIT }

/* All steps, or those of `session` alone (NULL: all). None where nothing was ever done. */
int ews_steps_list(struct ews_steps *out, struct ews_repo *repo, const char *session);

/* Is it the session's? NULL: any one's. */
bool ews_step_is_of(const struct ews_step *step, const char *session);

/* Must it be finished before anything is done in this work tree? That of which nobody knows whose it is may be this one's. */
bool ews_step_is_in_the_way(const struct ews_step *step, const struct ews_repo *repo);

/* Say that it must: fails with EWS_EINTERRUPTED. */
int ews_step_fail_unfinished(const struct ews_step *step, const struct ews_repo *repo);

/*
 * A step that waits to be finished would go over what is put into the project's files now: fail with EWS_EINTERRUPTED while there is
 * one of the project in the way. The project must be locked.
 */
int ews_steps_refuse_unfinished(struct ews_repo *repo);

/*
 * The steps of the project that were interrupted, and are in the way here, for who only looks: as cheap as names are where there is none,
 * and none while some verb is at work on the project. What older versions were at is not among them.
 */
int ews_steps_interrupted(struct ews_steps *out, struct ews_repo *repo);

void ews_steps_release(struct ews_steps *steps);
EWS_CLEANUP_DEFINE(steps, struct ews_steps, ews_steps_release)

#endif
