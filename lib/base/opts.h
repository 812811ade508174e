/*
 * Options: a table that getopt_long reads, and that prints itself as usage.
 *
 * Options come before "--"; what follows it is left to the caller. As in git,
 * long options may be abbreviated, "--no-<name>" negates where the table says
 * so, and options and other words may be mixed until "--".
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_OPTS_H
#define EWS_BASE_OPTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/strv.h"

enum ews_opt_type {
	EWS_OPTION_END = 0,
	EWS_OPTION_BOOL, /* bool *: true; with `can_negate` --no-<name> sets false */
	EWS_OPTION_TRISTATE, /* int *: 1, with --no-<name> 0; the caller starts it at -1 */
	EWS_OPTION_STRING, /* const char **: the argument, borrowed from argv */
	EWS_OPTION_LIST, /* struct ews_strv *: each argument is added */
	EWS_OPTION_UINT, /* unsigned *: a decimal number */
	EWS_OPTION_OPTIONAL, /* const char **: --name gives `dflt`, --name=x gives x */
	EWS_OPTION_PASS, /* struct ews_strv *: the option as it was spelled, for another program; `arg` as below */
};

struct ews_opt {
	enum ews_opt_type type;
	char letter; /* 0: none */
	const char *name; /* long name, NULL: none */
	const char *arg; /* what to call the argument in the usage; for PASS: NULL takes none, "=x" takes an optional one as --name=x, "x" takes one */
	const char *help; /* NULL: not shown in the usage */
	void *value;
	bool can_negate;
	const char *dflt;
};

/* The rows of a table, as git's own tables have them. */
#define EWS_OPT_BOOL(letter, name, value, help) { EWS_OPT_ROW(BOOL, letter, name, value, NULL, help) }
#define EWS_OPT_NEGATABLE(letter, name, value, help) { EWS_OPT_ROW(BOOL, letter, name, value, NULL, help), .can_negate = true }
#define EWS_OPT_TRISTATE(letter, name, value, help) { EWS_OPT_ROW(TRISTATE, letter, name, value, NULL, help) }
#define EWS_OPT_STRING(letter, name, value, arg, help) { EWS_OPT_ROW(STRING, letter, name, value, arg, help) }
#define EWS_OPT_LIST(letter, name, value, arg, help) { EWS_OPT_ROW(LIST, letter, name, value, arg, help) }
#define EWS_OPT_UINT(letter, name, value, arg, help) { EWS_OPT_ROW(UINT, letter, name, value, arg, help) }
#define EWS_OPT_OPTIONAL(letter, name, value, arg, dflt_, help) { EWS_OPT_ROW(OPTIONAL, letter, name, value, arg, help), .dflt = dflt_ }
#define EWS_OPT_PASS(letter, name, value, arg, help) { EWS_OPT_ROW(PASS, letter, name, value, arg, help) }
#define EWS_OPT_ROW(kind, letter_, name_, value_, arg_, help_) \
	.type = EWS_OPTION_##kind, .letter = letter_, .name = name_, .arg = arg_, .help = help_, .value = value_
#define EWS_OPTS_END { .type = EWS_OPTION_END }

/* What git's completion asks its commands by for their options: one line, with a "=" where an argument follows. */
#define EWS_OPTS_NAMES "--git-completion-helper"

/*
 * Read the options in argv[1..argc-1]. Words before "--" that are not options
 * are added to `words`, those after it to `paths`; `has_dashes` (may be NULL)
 * says whether there was a "--".
 * A "-h" anywhere before "--" prints the usage to stdout and returns 1, and so does EWS_OPTS_NAMES, alone or behind
 * words alone, which may name a verb of a verb, with the long names.
 * Fails with EWS_EUSAGE: unknown or ambiguous option, missing or bad argument.
 * Several tables may be given, ended by NULL: options of the verb, then shared ones.
 */
int ews_opts_parse(const struct ews_opt *const *tables, const char *const *usage, int argc, char **argv,
		   struct ews_strv *words, struct ews_strv *paths, bool *has_dashes);

/*
 * Print the usage: each line of `usage` (NULL-ended) after "usage: " or
 * "   or: ", an empty line, then a line an option as git does it.
 */
void ews_opts_usage(FILE *out, const struct ews_opt *const *tables, const char *const *usage);

#endif
