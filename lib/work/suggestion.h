/*
 * Suggestions: the artifacts that are patches, and which of them a name means.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_SUGGESTION_H
#define EWS_WORK_SUGGESTION_H

#include "work/artifact.h"

/* Is it one? */
bool ews_suggestion_is(const struct ews_artifact *artifact);

/*
 * The one of `list` that `name` means: its id, path or file's name (`*is_exact`), or a part of one of these that no other has.
 * Fails with EWS_ENOTFOUND, or with EWS_ECONFLICT when it fits several, with those that may be meant in the hint.
 */
int ews_suggestion_find(const struct ews_artifact **out, bool *is_exact, const struct ews_artifacts *list,
			const char *name);

/* Its bytes, as they were kept. */
int ews_suggestion_read(struct ews_buf *out, struct ews_repo *repo, const struct ews_artifact *suggestion);

#endif
