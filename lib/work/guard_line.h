/*
 * A command line on its way through the guard: what stands around it, and who judges what.
 *
 * A command may run another (work/guard_wrap), or hold a text of commands (work/guard_shell), each of which comes back
 * to where all commands are told apart (work/guard).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_GUARD_LINE_H
#define EWS_WORK_GUARD_LINE_H

#include <stdbool.h>

#include "work/guard_git.h"
#include "work/verdict.h"

/* A command that runs a command that runs a command ... ends somewhere. */
#define EWS_GUARD_DEPTH_MAX 16

struct ews_guard_line {
	const struct ews_guard_rules *rules;
	char *const *argv; /* what a shell makes up later is EWS_GUARD_HOLE */
	bool has_tail; /* arguments that nobody knows yet are added at its end */
	unsigned git_depth; /* it runs so many levels deep in a ".git"; 0: in none */
	bool is_fed; /* its input comes from a command */
	const char *input; /* its input, where that is known, else NULL */
	const char *variable; /* what was done to the git that is to come, and may not be; NULL: nothing */
	unsigned depth; /* so many commands and texts stand around it */
};

/* Judge a command. Defined in work/guard. */
void ews_guard_judge_line(struct ews_guard_verdict *out, struct ews_guard_line *line);
/* Judge a text that such a command gives to a shell; the words of `line` don't matter. Defined in work/guard_shell. */
void ews_guard_judge_text(struct ews_guard_verdict *out, const struct ews_guard_line *line, const char *text);

#endif
