/*
 * A shell text as the command lines that it would run, for the guard.
 *
 * Variables that the text itself sets, once and for certain, have their values put in; what else expands is a hole
 * (work/guard_git). The body of a `for` with known values is gone through with each of them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_GUARD_SHELL_H
#define EWS_WORK_GUARD_SHELL_H

#include <stdbool.h>

#include "base/strv.h"

struct ews_guard_call {
	struct ews_strv argv; /* empty: only variables and redirections */
	struct ews_strv variables; /* "<name>=<value>", set for the command; without a command for all that follow */
	struct ews_strv written; /* what its redirections write to */
	const char *input; /* the text that it reads, where that is in the text, else NULL */
	bool is_fed; /* it reads from a pipe, or from what is around it */
	bool is_definition; /* of a function, whose name is argv[0] */
};

/* Gives 0 to go on, anything else to stop. */
typedef int (*ews_guard_call_fn)(void *payload, const struct ews_guard_call *call);

/*
 * Call `fn` for each command of `text`, as they come. Gives what `fn` gave last; EWS_EUSAGE when the text can't be
 * read.
 */
int ews_guard_shell_each(const char *text, ews_guard_call_fn fn, void *payload);

#endif
