/*
 * Shell words: quotes and expansions of one word, and what is known of its value.
 *
 * Nothing is run and no variable is looked up, so what an expansion gives is
 * unknown. Of such a word the beginning may be known, which often says enough:
 * "HEAD~$n" can't be an option. Commands inside (`$(...)`, backquotes, in an
 * arithmetic expansion, too) are handed to the reader's `nested`.
 *
 * Where shells differ in where a word ends (`$'\''`, quotes in the braces of
 * an expansion), reading fails: a guess could hide a command.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_SHELL_WORD_H
#define EWS_BASE_SHELL_WORD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/alloc.h"
#include "base/buf.h"

/* How deep compound commands, substitutions and expansions may stand in each other. */
#define EWS_SHELL_DEPTH_MAX 64

enum ews_shell_unknown {
	EWS_SHELL_KNOWN = 0,
	EWS_SHELL_VARIABLE,
	EWS_SHELL_OUTPUT, /* of a command */
	EWS_SHELL_NUMBER, /* an arithmetic expansion */
	EWS_SHELL_PATTERN, /* names of files, or itself when none matches */
	EWS_SHELL_BRACES, /* {a,b}, which not every shell expands */
	EWS_SHELL_HOME, /* ~ and ~user */
	EWS_SHELL_ESCAPES, /* $'...' and $"...", which not every shell knows */
	EWS_SHELL_PIPE, /* <(...) and >(...) */
};

/* A place in a word where a value comes in. */
struct ews_shell_gap {
	size_t at; /* so many bytes of the word's text stand before it */
	enum ews_shell_unknown why;
	const char *name; /* of a variable that is taken as it is ($x, ${x}), else NULL */
	bool is_quoted;
	size_t from, to; /* of the output of commands: which of those handed out these are, `to` not with them */
};

struct ews_shell_word {
	const char *source; /* as it is written */
	const char *text; /* what is known of it: all of it, or the literal parts one after the other */
	size_t prefix_len; /* it begins with so many bytes of `text` */
	enum ews_shell_unknown unknown; /* what comes after the prefix */
	bool can_split; /* a value outside of quotes, or "$@": no word, one or several, of which only the first has the prefix */
	bool can_be_many; /* a pattern or braces: several words, and each has the prefix */
	bool is_quoted; /* in part */
	size_t value_at; /* of an assignment: where in `text` its value begins; else 0 */
	const struct ews_shell_gap *gaps;
	size_t gaps_n;
};

struct ews_shell_reader {
	const char *at;
	unsigned depth;
	size_t count; /* of commands handed out so far */
	struct ews_arena *arena; /* owns what words hold */
	bool feeds_nested; /* what is read next is ">(...)", into which something is written */
	/* Read commands at reader->at until `end`, which is left there: ')' or, at the end of the text, NUL. */
	int (*nested)(struct ews_shell_reader *reader, char end);
};

enum ews_shell_word_flags {
	EWS_SHELL_MAY_ASSIGN = 1, /* it stands before a command's name: "x=*" is an assignment */
	EWS_SHELL_PARENS = 2, /* "(" and ")" are letters, as behind "[[" */
};

/* The character `n` places on, line continuations left out. */
char ews_shell_peek(const struct ews_shell_reader *reader, unsigned n);
void ews_shell_skip(struct ews_shell_reader *reader, unsigned n);
/* Does this character end a word? NUL does. */
bool ews_shell_is_meta(char c);
/* Go a level down, until ews_shell_leave(); EWS_EUSAGE below EWS_SHELL_DEPTH_MAX. */
int ews_shell_enter(struct ews_shell_reader *reader);
void ews_shell_leave(struct ews_shell_reader *reader);

/* Read the word at reader->at, which is empty when a metacharacter stands there. Fails with EWS_EUSAGE. */
int ews_shell_word_read(struct ews_shell_word *out, struct ews_shell_reader *reader, unsigned flags);

/* Read all that is left as the body of a here-document whose delimiter has no quotes. */
int ews_shell_word_read_body(struct ews_shell_word *out, struct ews_shell_reader *reader);

/* Add `text` as one would type it, as one word that stands for nothing but itself. */
void ews_shell_quote(struct ews_buf *out, const char *text);
/*
 * The same for a command that is shown to be copied: what a terminal would not show as it is stands in escapes, which all but the
 * plainest shells know ($'...'). The caller frees it.
 */
char *ews_shell_shown(const char *text);

#endif
