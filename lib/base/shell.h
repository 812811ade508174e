/*
 * Shell texts: the simple commands of one, as shell_grammar lists them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_SHELL_H
#define EWS_BASE_SHELL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/shell_word.h"

enum ews_shell_kind {
	EWS_SHELL_COMMAND, /* without a word: assignments or redirections alone, those of a compound command, too */
	EWS_SHELL_FUNCTION, /* a definition; the one word is its name, the body follows */
	EWS_SHELL_FOR, /* the first word is the variable, the others are its values; the body follows */
};

struct ews_shell_assignment {
	const char *name;
	struct ews_shell_word value;
	bool is_part; /* NAME+=, NAME[0]=, NAME=(...): `value` is not all of it */
};

struct ews_shell_redirect {
	struct ews_shell_redirect *next;
	const char *op; /* "<<-" is "<<" */
	struct ews_shell_word target; /* of "<<" the text of the here-document */
};

struct ews_shell_command {
	enum ews_shell_kind kind;
	const struct ews_shell_assignment *assignments;
	size_t assignments_n;
	const struct ews_shell_word *words;
	size_t words_n;
	struct ews_shell_redirect *redirects;
	size_t end; /* of FUNCTION and FOR: the first command behind the body */
	size_t subshell_end; /* of the innermost subshell or substitution it is in: the first command behind that; 0: it is in none */
	size_t begin; /* its redirections are those of all commands from here on: more than itself where it has no word */
	unsigned captured; /* so many pipes and substitutions take its output */
	bool is_fed; /* its input is a pipe, or a redirection around it */
	bool in_function; /* runs when the function is called, if ever */
	bool in_loop; /* may run several times */
	bool in_test; /* a part of [[ ... ]] or ((...)), which some shells know and to which no word is a command's name */
	bool is_certain; /* runs once, in the shell itself, whenever the shell comes so far */
};

struct ews_shell {
	struct ews_shell_command *commands;
	size_t n, cap;
	struct ews_arena arena; /* owns what they hold */
};

#define EWS_SHELL_INIT { NULL, 0, 0, EWS_ARENA_INIT }

void ews_shell_release(struct ews_shell *shell);

/* Does this redirection write into its target or make it? */
bool ews_shell_redirect_writes(const struct ews_shell_redirect *redirect);

EWS_CLEANUP_DEFINE(shell, struct ews_shell, ews_shell_release)

#endif
