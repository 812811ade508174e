/*
 * What the guard says of programs that may run git where its words can't be seen: interpreters that are handed a text,
 * and front ends.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_GUARD_PROGRAM_H
#define EWS_WORK_GUARD_PROGRAM_H

#include "work/guard_line.h"

/* Judge the command, which is not git and runs no other that it names. */
void ews_guard_judge_program(struct ews_guard_verdict *out, const struct ews_guard_line *line);

#endif
