/*
 * Anew: a plain directory that stands where the one did that its sessions began in, and is another.
 *
 * It was brought back from a backup, or made anew by its owner: then it is the project still. Or somebody put another there: then
 * nothing of those sessions is to be written into it. Only its user knows, and says so by 'git ews recover --moved-from', unless the
 * former one is found elsewhere (store/astray). Where nothing of the former one is at stake any more it need not be said.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_ANEW_H
#define EWS_WORK_ANEW_H

#include "store/repo.h"

/* Is it one, while a session that began in the former one goes on? What can't be seen may. */
bool ews_anew_has_living(struct ews_repo *repo);

/*
 * Before anything is begun in the project, or put into it: one that no session goes on in, and no step, is taken for the project
 * from now on. Fails with EWS_ESTALE while one does.
 */
int ews_anew_settle(struct ews_repo *repo);

#endif
