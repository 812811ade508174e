/*
 * Doctor: what is wrong with system, home, repository and sessions, and what of it can be mended without losing anything.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_DOCTOR_H
#define EWS_WORK_DOCTOR_H

#include "work/checkup.h"

/* Look at all of it. Changes nothing. `repo` is NULL where there is none; when it could not be opened, the error is set. */
void ews_doctor_look(struct ews_checkup *out, struct ews_repo *repo, const char *home);

/* Called before something is mended. */
typedef void (*ews_doctor_say_fn)(void *payload, const struct ews_check *check);

/*
 * Mend what can be mended by us, each after `say` has been told; what was is marked as fixed. What fails is found once more,
 * with the reason. What else is gone then, since it came of the same, is marked as fixed, too.
 */
void ews_doctor_mend(struct ews_checkup *checkup, struct ews_repo *repo, const char *home, ews_doctor_say_fn say,
		     void *payload);

/* Is anything left that is not well? */
bool ews_doctor_is_content(const struct ews_checkup *checkup);

#endif
