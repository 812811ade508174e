/*
 * What the guard knows of git's commands: a row a command, with its reading forms and all its options.
 *
 * A command without a row is denied, and so is an option that a row does not name. The options of a row are
 * words in a small language, since there are many of them:
 *
 *     v|verbose      -v and --verbose, without a value
 *     sort=          --sort <key>, --sort=<key>
 *     abbrev?        --abbrev, --abbrev=<n>: a value is attached or absent
 *     !d|delete      with it the command does not read
 *     +l|list        with it the words of the command are patterns or the like, any number of them
 *     @n|dry-run     the command reads only with one of these
 *     ^global        harmless to read with; what is written with it lies outside of the repository
 *     #remote=       with it the command does not read, and does it outside of the repository; so with a value that does harm
 *     format=%       the value is looked at: see ews_guard_value_is_harmless()
 *     get:12         with it the command has one to two words ('*': any number); git refuses others
 *     :1*            so many it has without such an option
 *
 * Where a name is there twice, the first one holds.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_GUARD_TABLE_H
#define EWS_WORK_GUARD_TABLE_H

#include "work/verdict.h"

enum ews_guard_row_flags {
	/* How git reads the command line. Without any of these: options and words mixed, options abbreviated. */
	EWS_GUARD_VERBS = 1 << 0, /* the first word chooses a row "<name> <word>", when there is one */
	EWS_GUARD_STOP = 1 << 1, /* the first word ends the options */
	EWS_GUARD_REVS = 1 << 2, /* the options of revision walks: read twice, not abbreviated */
	EWS_GUARD_NUMBER = 1 << 3, /* -<n> is an option */
	EWS_GUARD_EXACT = 1 << 4, /* no abbreviation */
	EWS_GUARD_DASHES_DROPPED = 1 << 5, /* git loses the first "--" on the way to who reads the options */
	EWS_GUARD_LOOSE = 1 << 6, /* whatever its options are, they do no harm */
	EWS_GUARD_TAME = 1 << 7, /* so with its words: arguments that nobody knows yet may be added */
	/* What keeps its reading form from starting programs and touching the repository. */
	EWS_GUARD_EXT_DIFF = 1 << 8, /* takes --no-ext-diff */
	EWS_GUARD_TEXTCONV = 1 << 9, /* takes --no-textconv */
	EWS_GUARD_INDEX = 1 << 10, /* compares files with the index, which it may lock and rewrite: wants a private one */
	EWS_GUARD_STORED = 1 << 16, /* looks at what is stored as it is, never at a file: no filter runs */
	/* What it tells, so that of our settings those would be told, too, and starts no program by. */
	EWS_GUARD_SETTINGS = 1 << 17, /* what settings say */
	EWS_GUARD_HOOKS = 1 << 18, /* where hooks are */
	/* What is written leaves the workspace's repository, or its network: `inside` denies it, too. */
	EWS_GUARD_OUTSIDE = 1 << 11,
	EWS_GUARD_HERE = 1 << 19, /* but not where its first word is ".", the repository itself */
	/* Which setting lets it through or stops it. */
	EWS_GUARD_COMMIT = 1 << 12,
	EWS_GUARD_PUSH = 1 << 13,
	EWS_GUARD_STATUS = 1 << 14,
	EWS_GUARD_DIFF = 1 << 15,
};

#define EWS_GUARD_ANY (-1)
#define EWS_GUARD_NEEDS_VERB (-2)

struct ews_guard_row {
	const char *name; /* "log", "stash list" */
	const char *options; /* NULL: it has no reading form */
	unsigned flags;
	int words; /* it reads with at most so many words; ANY: any number; NEEDS_VERB: its verbs alone may read */
	enum ews_guard_op op; /* what it is where it does not read */
	const char *reason; /* why it is denied then */
	const char *suggestion; /* what to do instead; NULL: nothing in particular */
};

/* The rows, ended by one without a name. */
extern const struct ews_guard_row ews_guard_rows[];

/* The row "<name>", or "<name> <verb>" where `verb` is not NULL; NULL: none. */
const struct ews_guard_row *ews_guard_row_find(const char *name, const char *verb);

#endif
