/*
 * Round remains: the work of a round whose workspace is gone, as far as its agent had committed it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_ROUND_REMAINS_H
#define EWS_WORK_ROUND_REMAINS_H

#include "work/session.h"

/*
 * The tree of `base`, the round's, with what the commits did to it that HEAD has in git's entry of the workspace and the session did
 * not begin with. It is that of `base` itself where there are none, or no entry. Returns 1, and no tree, where they are lost; fails
 * where they may be there.
 */
int ews_round_remains_tree(struct ews_oid *out, const struct ews_session *session, const struct ews_oid *base);

#endif
