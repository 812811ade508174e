/*
 * Undo's words: see undo_words.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/undo_words.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/shell_word.h"
#include "work/session_name.h"

char *ews_undo_words(const struct ews_repo *repo, const char *step)
{
	const char *env = getenv("EWS_SESSION");
	EWS_CLEANUP(free) char *project = NULL;

	if (!ews_session_is_chosen(repo))
		return ews_strdup("git ews undo");
	if (step)
		return ews_strfmt("git ews undo %s", step);
	project = ews_shell_shown(repo->project);
	return ews_strfmt("%sgit ews -C %s undo", env && *env ? "EWS_SESSION= " : "", project);
}
