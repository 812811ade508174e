/*
 * Shell texts: see shell.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/shell.h"

#include <stdlib.h>
#include <string.h>

void ews_shell_release(struct ews_shell *shell)
{
	free(shell->commands);
	ews_arena_release(&shell->arena);
	*shell = (struct ews_shell)EWS_SHELL_INIT;
}

bool ews_shell_redirect_writes(const struct ews_shell_redirect *redirect)
{
	return strchr(redirect->op, '>') != NULL;
}
