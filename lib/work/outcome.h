/*
 * Outcomes: what a session came to, from its base to its present state or, once it has ended, to what was kept.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_OUTCOME_H
#define EWS_WORK_OUTCOME_H

#include "work/diff.h"

/* Set the two sides of `out`. Fails with EWS_ENOTFOUND when trash no longer holds what an ended one came to. */
int ews_outcome_read(struct ews_diff *out, struct ews_session *session);

#endif
