/*
 * Look: what stands in a workspace or project now.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_LOOK_H
#define EWS_WORK_LOOK_H

#include "work/content.h"

/*
 * The present content of `session`'s workspace (NULL: of the project).
 * With `batch` new objects are added to it (not committed). The stat cache spares reading.
 */
int ews_content_now(struct ews_content *out, struct ews_repo *repo, struct ews_session *session,
		    struct ews_batch *batch, const struct ews_content_opts *opts);

/*
 * The same in two steps: the first asks configuration and session for all that the second needs. That may be on another
 * thread; without a batch it uses the store for nothing but the kind of its ids. `opts` must live until then.
 */
struct ews_look;
int ews_look_begin(struct ews_look **out, struct ews_repo *repo, struct ews_session *session,
		   struct ews_batch *batch, const struct ews_content_opts *opts);
int ews_look_finish(struct ews_content *out, struct ews_look *look);
void ews_look_free(struct ews_look *look);

EWS_CLEANUP_DEFINE_PTR(look, struct ews_look, ews_look_free)

#endif
