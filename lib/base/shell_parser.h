/*
 * The shell's parser: where the reader of a shell text stands, in what, and what stands there that is no part of a command.
 *
 * Blanks, comments and ends of lines, the bodies of here-documents that come
 * behind those, and reserved words. shell_simple and shell read commands with it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_SHELL_PARSER_H
#define EWS_BASE_SHELL_PARSER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/shell.h"
#include "base/shell_word.h"

struct ews_shell_pending;

/* In what the reader is. */
struct ews_shell_place {
	unsigned function, loop, uncertain, fed,
		captured; /* how deep in functions, in loops, in what may not run, in what has other input, output */
	bool in_test;
	bool in_arithmetic; /* "((...))", which some shells take for two subshells */
};

struct ews_shell_parser {
	struct ews_shell_reader reader; /* first: a reader's `nested` gets from one to the other */
	struct ews_shell *out;
	struct ews_shell_place place;
	struct ews_shell_pending *pending; /* here-documents whose bodies have not come yet; the caller frees it */
	size_t pending_n, pending_cap;
	size_t pending_outer; /* so many are of commands around this one */
};

static inline char ews_parser_peek(const struct ews_shell_parser *p, unsigned n)
{
	return ews_shell_peek(&p->reader, n);
}

static inline void ews_parser_skip(struct ews_shell_parser *p, unsigned n)
{
	ews_shell_skip(&p->reader, n);
}

/* The error of a text that no shell takes, or that ends too soon: EWS_EUSAGE. */
int ews_parser_fail(const struct ews_shell_parser *p);

/* Go behind blanks and a comment. */
void ews_parser_skip_blanks(struct ews_shell_parser *p);

/* The same, and behind ends of lines with the here-documents that come there. Fails with EWS_EUSAGE. */
int ews_parser_skip_lines(struct ews_shell_parser *p);

/* The body of this redirection "<<" comes behind the line; its target is the delimiter, and empty until then. Fails with EWS_EUSAGE. */
int ews_parser_await(struct ews_shell_parser *p, struct ews_shell_redirect *redirect, bool strips_tabs);

/* The reserved word that stands here, without quotes; "" when none of the known does. */
const char *ews_parser_keyword(const struct ews_shell_parser *p);

/* Is it this one? */
bool ews_parser_is_at(const struct ews_shell_parser *p, const char *word);

/* Go behind this reserved word, which may stand on a later line. Fails with EWS_EUSAGE. */
int ews_parser_expect(struct ews_shell_parser *p, const char *word);

#endif
