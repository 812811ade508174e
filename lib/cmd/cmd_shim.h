/*
 * The shim: what this program is under the name of git.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_CMD_CMD_SHIM_H
#define EWS_CMD_CMD_SHIM_H

#include <stdbool.h>

/* Was this program started under the name of git? */
bool ews_cmd_shim_is_called(const char *name);

/*
 * Be git: judge `argv`, and become the real git when it is allowed. Returns only when it did not: 126, which has been said
 * on stderr and in the log, or an error.
 */
int ews_cmd_shim(char **argv);

#endif
