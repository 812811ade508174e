/*
 * Look: what stands in a workspace or project now.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_LOOK_H
#define EWS_WORK_LOOK_H

#include "base/progress_fn.h"
#include "work/content.h"

/*
 * The present content of `session`'s workspace (NULL: of the project).
 * With `batch` new objects are added to it (not committed). The stat cache spares reading.
 */
struct ews_content_opts {
	bool with_ignored;
	bool into_repositories; /* what nested repositories hold is content, too, but not their git directories */
	bool partial; /* what is over a limit is left out instead of an error */
	const char *const *only; /* NULL: all */
	const struct ews_content *known; /* the base: its paths are looked at even when ignored; its hash tells it from others */
	const struct ews_strv *ours; /* sorted; of the project: what we put there, whose modes may close it. NULL: none */
	/*
	 * NULL, or what reads `known`, which has no more than its hash until then; called again it does nothing. It may run on another
	 * thread while the caller's uses nothing of the store. With `known_may_wait` it is called only where more is wanted.
	 */
	int (*read_known)(void *payload);
	void *known_payload;
	bool known_may_wait;
	bool hash_may_wait; /* the hash over many entries takes long: who asked makes it where there is time */
	bool reread; /* trust no cache */
	/*
	 * What has just been put there, with its stat data, which is all that is asked for (store/made), but for git's state:
	 * the content is whole when it is what stands there, and else of no use.
	 */
	struct ews_content *put;
	bool takes_put; /* its list becomes that of the content, and it has none any more */
	bool is_compared; /* only to be compared, of the project: it has a stat cache that stands for no objects */
	bool without_index; /* the bytes of git's index, which may be many, are not asked for */
	bool index_may_wait; /* they may be asked for later: not where all that the index names is taken out of the workspace's repository */
	ews_progress_fn progress;
	void *payload;
};
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
