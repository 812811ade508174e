/*
 * Moved: a project that stands elsewhere now is known by what it holds, and its sessions follow it.
 *
 * Home knows a project by the path of its store. When nothing is there any more, or what leads to another place, and a
 * repository that it doesn't know, in that other place where one is named, has the bases of those sessions, it is that one:
 * the records get its new path, and so does whatever names the store in the workspaces. A copy of a project that is still
 * in its place is none. Where they go is put down in home before the first one does, until the last one has: should the
 * project be moved on, or back, when some have and some have not, all are found.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_MOVED_H
#define EWS_WORK_MOVED_H

#include "base/strv.h"
#include "store/repo.h"

/*
 * Let the sessions follow when `repo` is one that has moved. Returns 1 then, and `*was` is where it stood, or its store
 * where only that has moved (the caller frees it), and `left` gets a sentence on each session in place that the store was
 * moved away from; 0 when there is nothing of the kind. Fails with EWS_EBUSY while a verb is at
 * work on one of them, and leaves all as they are. What a killed call leaves half done is done by the next, wherever `repo` is by then.
 */
int ews_moved_follow(char **was, struct ews_strv *left, struct ews_repo *repo);

#endif
