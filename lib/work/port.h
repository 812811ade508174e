/*
 * Ports: a hundred of them for each session, so that servers in several don't meet.
 *
 * <home>/ports names whose the hundreds are, a line each: "<first> <directory of the repository>/sessions/<id>". A
 * line holds as long as that session is alive and says the same of itself.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_PORT_H
#define EWS_WORK_PORT_H

#include "work/session.h"

/*
 * Make sure that `session` has ports of its own, as state.port_base, and save that. When all
 * are given away it has none, 0. The session must be locked.
 */
int ews_port_give(struct ews_session *session);

#endif
