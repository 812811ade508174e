/*
 * A branch that moves: as a step writes it down, "<branch> <old id> <new id>", where there is none "0".
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_BRANCH_MOVE_H
#define EWS_WORK_BRANCH_MOVE_H

#include <stdlib.h>

#include "base/cleanup.h"
#include "store/oid.h"

struct ews_branch_move {
	char *branch; /* the ref; NULL: none moves */
	struct ews_oid from, to; /* none: nowhere */
	struct ews_oid now; /* where it is, once somebody has looked */
};

#define EWS_BRANCH_MOVE_INIT { NULL, EWS_OID_NONE, EWS_OID_NONE, EWS_OID_NONE }

static inline void ews_branch_move_release(struct ews_branch_move *move)
{
	free(move->branch);
}
EWS_CLEANUP_DEFINE(branch_move, struct ews_branch_move, ews_branch_move_release)

/* Read what is written down. Fails with EWS_EDAMAGED where it makes no sense. */
int ews_branch_move_read(struct ews_branch_move *out, const char *line);
/* The text that is read so; the caller frees it. */
char *ews_branch_move_format(const char *branch, const struct ews_oid *from, const struct ews_oid *to);

#endif
