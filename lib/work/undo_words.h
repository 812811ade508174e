/*
 * Undo's words: how a step that is no session's is taken back, from where the caller stands.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_UNDO_WORDS_H
#define EWS_WORK_UNDO_WORDS_H

#include "store/repo.h"

/*
 * The command that takes back the newest step of all. Where a session is chosen by the current directory or by $EWS_SESSION a bare
 * `git ews undo` is about that one alone: there it is the step `step` of the project that is named, or (NULL) the project. The caller
 * frees it.
 */
char *ews_undo_words(const struct ews_repo *repo, const char *step);

#endif
