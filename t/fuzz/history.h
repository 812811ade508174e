/*
 * Histories: all verbs by chance, in a project with several living sessions, and each looked at from all sides.
 *
 * A step is something that an agent does in a workspace or a person in the project, or a verb. Before and after each
 * verb the project and all workspaces are listed. What the verb does not say it changes is equal; an undo gives what
 * was there before the undone verb, and a redo what was there before the undo; and what went from where it stood is in
 * a snapshot, under another ref or in trash. HEAD of a workspace that comes back leads to the commit that it led to, whatever
 * became of its branch, and to no branch of another work tree. Some verbs are killed (killat): then `recover` leaves what was there
 * before, or what the verb would have left.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef FUZZ_HISTORY_H
#define FUZZ_HISTORY_H

#include "world.h"

/* Play so many steps in a world that has just been made; what is wrong is in its report. */
void play_history(struct world *world, unsigned steps);

#endif
