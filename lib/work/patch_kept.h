/*
 * Which patch a session's changes were stored as last: nobody has to make that of the same two trees again, which takes git as long as
 * there are bytes in them. It is but remembered: what does not fit, or is not there as it was stored, is made anew.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_PATCH_KEPT_H
#define EWS_WORK_PATCH_KEPT_H

#include "work/artifact.h"
#include "work/diff.h"
#include "work/session.h"

/* Find the one of `diff`, and the `path` of its file, which the caller frees. False: it is not known, or not there. */
bool ews_patch_kept_find(struct ews_artifact *out, char **path, const struct ews_diff *diff,
			 const struct ews_session *session);
/* Remember `artifact` as the one of `diff`. */
void ews_patch_kept_note(const struct ews_session *session, const struct ews_diff *diff,
			 const struct ews_artifact *artifact);

#endif
