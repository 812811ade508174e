/*
 * Simple commands of a shell text: assignments, words and redirections, as they are read and as they are listed.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_SHELL_SIMPLE_H
#define EWS_BASE_SHELL_SIMPLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/shell.h"
#include "base/shell_parser.h"
#include "base/shell_word.h"

/* A simple command that is being read; what its words hold is the parser's. */
struct ews_shell_simple {
	struct ews_shell_assignment *assignments;
	size_t assignments_n, assignments_cap;
	struct ews_shell_word *words;
	size_t words_n, words_cap;
	struct ews_shell_redirect *redirects, *last;
	bool has_both; /* "&>" was there: to some shells the command ended at "&" */
};

#define EWS_SHELL_SIMPLE_INIT { .redirects = NULL }

void ews_shell_simple_release(struct ews_shell_simple *simple);

EWS_CLEANUP_DEFINE(shell_simple, struct ews_shell_simple, ews_shell_simple_release)

/* Does a redirection begin here? */
bool ews_simple_is_redirect(const struct ews_shell_parser *p);

/* Does a word? */
bool ews_simple_is_word(const struct ews_shell_parser *p);

/* Read what begins here, and add it to the command. Both fail with EWS_EUSAGE. */
int ews_simple_read_redirect(struct ews_shell_parser *p, struct ews_shell_simple *simple);
int ews_simple_read_word(struct ews_shell_parser *p, struct ews_shell_simple *simple);

/* "[[" as a command's name begins a test, "]]" ends it: to be asked after each word. */
void ews_simple_watch_test(struct ews_shell_parser *p, const struct ews_shell_simple *simple);

/* Is the command a test as a whole, from "[[" on? */
bool ews_simple_is_test(const struct ews_shell_simple *simple);

/* List the command; it is copied into the arena, so that it stays while others are read. Until the next one is listed, it is here to be changed. */
struct ews_shell_command *ews_simple_emit(struct ews_shell_parser *p, enum ews_shell_kind kind,
					  const struct ews_shell_simple *simple);

#endif
