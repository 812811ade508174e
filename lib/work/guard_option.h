/*
 * The options of a row of the guard's table, in the language that work/guard_table.h describes: read, and looked up as git would.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_GUARD_OPTION_H
#define EWS_WORK_GUARD_OPTION_H

#include <stdbool.h>
#include <stddef.h>

#include "work/guard_table.h"

/* An option of a row. */
struct ews_guard_option {
	const char *names; /* as in the row, ended by `value`, a blank or the end */
	char mark; /* '!', '+', '@', '^', '#', or 0 */
	char value; /* '=', '?', or 0 */
	char check; /* what to look at in the value, or 0 */
	char least, most; /* digits, how many words there are with it ('*': any number), or 0 */
};

/* Read the option at `at`, first row->options; gives where the next one begins, NULL after the last. */
const char *ews_guard_option_next(struct ews_guard_option *out, const char *at);
/* The name of `option` after `name` (NULL: its first), NULL after the last. Its length goes to `len`, from which it came. */
const char *ews_guard_option_name(const struct ews_guard_option *option, const char *name, size_t *len);

enum ews_guard_found {
	EWS_GUARD_NO_OPTION, /* git does not know it, or we don't */
	EWS_GUARD_OPTION,
	EWS_GUARD_NEGATED, /* --no-<name> */
	EWS_GUARD_AMBIGUOUS, /* an abbreviation of several, not all of them alike */
};

/* Look up the option `letter`. */
enum ews_guard_found ews_guard_option_letter(struct ews_guard_option *out, const struct ews_guard_row *row,
					     char letter);
/* Look up `name`, which is `len` long and has no dashes before it, as git would: exact or, where it takes that, abbreviated. */
enum ews_guard_found ews_guard_option_long(struct ews_guard_option *out, const struct ews_guard_row *row,
					   const char *name, size_t len);

/* Look up the option in the word `arg`, of letters the first that is known. What is attached to it goes to `value`, else NULL. */
enum ews_guard_found ews_guard_option_in(struct ews_guard_option *out, const char **value,
					 const struct ews_guard_row *row, const char *arg);

/* May an option whose row says `check` have this value? */
bool ews_guard_value_is_harmless(char check, const char *value);

#endif
