/*
 * Stop: what a git hook asks before it lets a command go on.
 *
 * A hook knows the repository that git works in, and nothing of who called it. So a command is stopped in
 * the workspace of a session, and in the project itself while a session works in place there. All other
 * places are the person's.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_STOP_H
#define EWS_WORK_STOP_H

#include <stdbool.h>

/* Is `hook` one in which a command can be stopped? */
bool ews_stop_is_asked_by(const char *hook);

/*
 * May the command go on that runs `hook`, with `cwd` and the environment as git gives them to a hook? Gives 0, or 1 and a
 * sentence that says why not. Sessions are looked for below `home`; a linked worktree is known by its entry, too.
 * Where a look failed that another time may not, a session may work there: the command is stopped.
 */
int ews_stop_ask(char **out, const char *home, const char *cwd, const char *hook);

#endif
