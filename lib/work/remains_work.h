/*
 * What remains of the work in a workspace that is gone: as far as its agent had committed it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_REMAINS_WORK_H
#define EWS_WORK_REMAINS_WORK_H

#include "base/strv.h"
#include "store/scan.h"
#include "work/session.h"

/*
 * The tree of `base`, the round's, with what the commits did to it that HEAD has in git's entry of the workspace and the session did
 * not begin with. It is that of `base` itself where there are none, or no entry. Returns 1, and no tree, where they are lost; fails
 * where they may be there.
 */
int ews_remains_tree(struct ews_oid *out, const struct ews_session *session, const struct ews_oid *base);

/* What of that is in a workspace's files. */
enum ews_remains_work {
	EWS_REMAINS_NO_WORK = 0, /* nothing was committed there */
	EWS_REMAINS_WORK, /* all of it, but for what is named */
	EWS_REMAINS_WORK_LOST, /* nothing: it can't be had, or not be written as git had it there */
};

/*
 * The same done to the files of `scan`, the session's base, which began at the commit `first` (none: at nothing), as they were there: what
 * undo brings back has the work. Where nothing can be merged, it is as was committed. The new contents are durable. Says what it came to,
 * and adds to `left_out` (NULL: nobody asks) what it lacks, as "<path>\t<why>"; fails only when it is interrupted. No filter program is
 * run: what has one goes to `unfiltered`, "<path>\t<filter>", and is as git stores it.
 */
int ews_remains_files(struct ews_scan *scan, struct ews_strv *left_out, struct ews_strv *unfiltered,
		      const struct ews_session *session, const struct ews_oid *first);

#endif
