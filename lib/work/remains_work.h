/*
 * What remains of the work in a workspace that is gone: as far as its agent had committed it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_REMAINS_WORK_H
#define EWS_WORK_REMAINS_WORK_H

#include "store/batch.h"
#include "store/scan.h"
#include "work/session.h"

/*
 * The tree of `base`, the round's, with what the commits did to it that HEAD has in git's entry of the workspace and the session did
 * not begin with. It is that of `base` itself where there are none, or no entry. Returns 1, and no tree, where they are lost; fails
 * where they may be there.
 */
int ews_remains_tree(struct ews_oid *out, const struct ews_session *session, const struct ews_oid *base);

/*
 * The same done to the files of `base`, the session's, which began at the commit `first` (none: at nothing), as they were there: what undo
 * brings back has the work. Returns 1, or 0 and nothing where there is none to be had. New contents go into `batch`, which is committed. No
 * filter program is run: what has one goes to `unfiltered` (or NULL), "<path>\t<filter>", and is as git stores it.
 */
int ews_remains_files(struct ews_entries *out, struct ews_strv *unfiltered, struct ews_batch *batch,
		      const struct ews_session *session, const struct ews_scan *base, const struct ews_oid *first);

#endif
