/*
 * The grammar of sh: the simple commands that a text is made of, none of them run.
 *
 * All are found, wherever they stand: in lists, pipelines, compound commands,
 * functions, substitutions within words, here-documents. They are listed in the
 * order in which the shell comes to them, what is in a word before the command
 * that the word is of. What bash adds is read where it can hold commands
 * (`<(...)`, `&>`, `|&`, `[[`, `function`). A text that no shell takes, or that
 * shells read in two ways, is no list of commands but an error.
 *
 * Reading takes time in proportion to the text, and nesting has an end.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_SHELL_GRAMMAR_H
#define EWS_BASE_SHELL_GRAMMAR_H

#include "base/shell.h"

/* List the commands of `text`. Fails with EWS_EUSAGE: malformed, unclear, nested too deeply. */
int ews_shell_parse(struct ews_shell *out, const char *text);

#endif
