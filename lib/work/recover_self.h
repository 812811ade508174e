/*
 * What this process was at before it became recover.
 *
 * A verb that a signal ends becomes, by execve, a program that recovers (base/interrupt): it is the same process, and knows what it
 * held by what the files of its locks say.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_RECOVER_SELF_H
#define EWS_WORK_RECOVER_SELF_H

#include "base/kin.h"
#include "base/progress_fn.h"
#include "base/strv.h"
#include "store/repo.h"

/*
 * Recover what this process was at, as EWS_RECOVER_BEST: the sessions, and the project itself, whose locks it held; what was done is
 * added to `done`, a sentence each. Those of its children that are at work still are ended first, but `others`, which it had
 * when it began, and what descends from these. What it waited for, or held, as a process is free. A session in which it was about to
 * run a command has no owner any more, and where it was made for that it has ended. `progress` (may be NULL) hears of what takes long.
 */
int ews_recover_self(struct ews_strv *done, struct ews_repo *repo, const struct ews_kin_list *others,
		     ews_progress_fn progress, void *payload);

#endif
