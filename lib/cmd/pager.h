/*
 * The pager and colours, with git's manners on a terminal.
 *
 * Which program pages and which colours show is asked of the environment, of the command line (git -c) and
 * of the user's and the system's config alone, never of a repository's.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_CMD_PAGER_H
#define EWS_CMD_PAGER_H

#include <stdbool.h>

#include "cmd/cmd.h"

/* When stdout is a terminal, let what is written there (and to a stderr that is one) go through the pager. */
void ews_pager_start(const struct ews_cmd_ctx *ctx);

/*
 * After a failure to write: when whoever reads our stdout has left, that is no error. If it was our
 * pager this returns true; else it ends the program by SIGPIPE, as a write of our own would have.
 */
bool ews_pager_excuses(void);

/* Let the pager see the end, and wait until it is done. Nothing can be written afterwards. */
void ews_pager_finish(void);

/* Is the answer for people's eyes: a terminal, or a pager in front of one? */
bool ews_pager_is_terminal(void);

/*
 * Is colour wanted: --color and --no-color; else only when a terminal shows it, and color.<slot> and
 * color.ui of the user's config don't say no: elsewhere "always" would spoil patches.
 */
bool ews_pager_color(const struct ews_cmd_ctx *ctx, const char *slot);

/* `text` in `color` ("31" red, "32" green, "33" yellow) when `on`. */
void ews_pager_paint(struct ews_buf *out, bool on, const char *color, const char *text);

#endif
