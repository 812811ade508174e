/*
 * Opening sessions: by what somebody calls one, and only where its state says what can be.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_SESSION_OPEN_H
#define EWS_WORK_SESSION_OPEN_H

#include "work/session.h"

/*
 * Open the session that `name` (an id, or a prefix of one alone) means. NULL:
 * the session of the current directory (also of one that a step put into trash), else $EWS_SESSION, else the only
 * active session of the project. Fails with EWS_ENOTFOUND or, for a prefix of several,
 * EWS_EUSAGE with the candidates in the hint; EWS_EDAMAGED when its state can't be read. One that works in another work
 * tree itself is not for this one: EWS_ENOTFOUND, and the hint says where it is. Where that work tree is lost it is for all of them.
 */
int ews_session_open(struct ews_session *out, struct ews_repo *repo, const char *name);

/*
 * The same by its whole id, one of ews_session_ids(): nothing is looked up. For who looks at all there are: of one that works in
 * another work tree itself `repo` of the session is that one.
 */
int ews_session_open_id(struct ews_session *out, struct ews_repo *repo, const char *id);

#endif
