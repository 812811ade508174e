/*
 * Prompt: a shell whose prompt says in which session it is.
 *
 * The mark is in EWS_PROMPT. bash, zsh and the shells that read $ENV get a file of ours, which reads
 * what they would have read and then puts the mark before the prompt; of any other shell the user can use EWS_PROMPT.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_PROMPT_H
#define EWS_WORK_PROMPT_H

#include "base/strv.h"

/*
 * Append to `argv` the words that start `shell`, and to `env` what it needs, as "<name>=<value>". The files are
 * written into the directory `tmp`.
 */
int ews_prompt_mark(struct ews_strv *argv, struct ews_strv *env, const char *tmp, const char *shell,
		    const char *session_id);

#endif
