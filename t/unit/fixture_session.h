/*
 * Fixture: sessions that tests start and revert.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_UNIT_FIXTURE_SESSION_H
#define EWS_UNIT_FIXTURE_SESSION_H

#include "work/revert.h"
#include "work/session.h"

/* Start one, without what is ignored, which is not put back. The path of its workspace is the caller's to free. */
char *fixture_start(struct ews_repo *repo, const char *id);
/* Opened and locked. */
void fixture_open_session(struct ews_session *out, struct ews_repo *repo, const char *id);
/* Revert it, which must be verified; the verb need not be said. */
void fixture_revert(struct ews_repo *repo, const char *id, struct ews_revert_opts opts);

#endif
