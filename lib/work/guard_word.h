/*
 * What is known of a word in a shell text, for the guard: its value, with a hole for each part that only the shell
 * makes up.
 *
 * The text itself may tell a value: that of a variable which is set once to what is written there, those that a loop
 * goes through, ids that a git command prints.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_GUARD_WORD_H
#define EWS_WORK_GUARD_WORD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/shell.h"

/*
 * Add the text of `word`, which stands in the command `at`, with values and holes (EWS_GUARD_HOLE) in it. Gives whether
 * it may become several words that begin with anything; whether these begin all as it does goes to `can_be_many`, if not NULL.
 */
bool ews_guard_word_add(struct ews_buf *out, bool *can_be_many, const struct ews_shell *shell, size_t at,
			const struct ews_shell_word *word);

#endif
