/*
 * What the guard says of programs that run other commands: env, xargs, find -exec, sh -c and the like.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_GUARD_WRAP_H
#define EWS_WORK_GUARD_WRAP_H

#include <stdbool.h>

#include "work/guard_line.h"

/* Judge what `line` runs. Gives false, and judges nothing, when its program is none that runs another. */
bool ews_guard_judge_wrapper(struct ews_guard_verdict *out, struct ews_guard_line *line);

/* Take variables "<name>=<value>" from the beginning of `argv`: git must not find what it can't be shown. Gives the rest. */
char *const *ews_guard_take_variables(struct ews_guard_line *line, char *const *argv);

#endif
