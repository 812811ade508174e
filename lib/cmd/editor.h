/*
 * The editor: a text that a person writes, with git's manners.
 *
 * Which program it is is asked of the environment, the command line (git -c) and the user's and the system's config alone, never of a
 * repository's.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_CMD_EDITOR_H
#define EWS_CMD_EDITOR_H

#include "base/buf.h"

/*
 * Let the person at the terminal edit `text`, in a file of its own that is called `name` and is gone afterwards. Fails with EWS_EIO when the
 * editor does; `text` stays as it was then.
 */
int ews_editor_edit(struct ews_buf *text, const char *name);

#endif
