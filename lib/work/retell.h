/*
 * Retelling: a change of the project's config that we were asked for is made known to the sessions that live.
 *
 * Their tripwires noted the config as it was when they started, and would name our change at their end.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_RETELL_H
#define EWS_WORK_RETELL_H

#include "work/tripwire.h"

/*
 * Let each session know the config as it is now, where it knew it as it was in `before`, taken before our change. The ids of
 * those in use, which can't be told and will name it, are added to `busy`.
 */
int ews_retell(struct ews_strv *busy, struct ews_repo *repo, const struct ews_tripwire *before);

#endif
