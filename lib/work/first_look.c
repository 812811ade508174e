/*
 * First look: see first_look.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/first_look.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "work/base_cache.h"
#include "work/look.h"
#include "work/snapshot.h"

/* What is known of the files alone: it spares the first verb their reading, if not its walk. */
static void remember_files(const struct ews_first_look *look, const struct ews_entries *files)
{
	const struct ews_cache cache = { .entries = *files, .skips = EWS_SKIPS_INIT, .extra = EWS_BUF_INIT };

	/* Best effort: without it they are read. */
	(void)ews_cache_write(look->session->fd, EWS_SESSION_CACHE, &cache, look->begun.tv_sec,
			      (uint32_t)look->begun.tv_nsec, false);
}

/* The first snapshot need not read the base again to see what is the same. */
static void note_kept(struct ews_content *now, const struct ews_first_look *look)
{
	EWS_CLEANUP(free) char *ref = ews_strfmt(EWS_REF_SESSIONS "%s", look->session->state.id);

	if (!strcmp(now->hash, look->opts.base->hash))
		ews_snapshot_note(now, &look->opts.base_commit, ref);
}

/* Below zero is never returned by this or the next: it is no more than a cache. */
static int remember_now(void *payload)
{
	const struct ews_first_look *look = payload;
	EWS_CLEANUP(content) struct ews_content now = EWS_CONTENT_INIT;

	if (!look->look || ews_look_finish(&now, look->look) < 0 || !now.is_whole) {
		const struct ews_entries *put = &look->opts.put->scan.entries;

		/* It may have been taken. */
		remember_files(look, put->n ? put : &now.scan.entries);
		return 0;
	}
	now.cache_is_stale = true;
	note_kept(&now, look);
	(void)ews_content_save_cache(&now, look->session->repo, look->session); /* as above */
	return 0;
}

static int remember_base(void *payload)
{
	const struct ews_first_look *look = payload;
	const struct ews_base_id base = { look->session->state.id, &look->opts.base_commit, look->opts.base->hash };

	ews_base_cache_write(look->opts.base, look->session->repo, &base);
	return 0;
}

/* Of many files one list is enough to have in memory: when the base is written nobody needs it any more as it is. */
static int remember_both(void *payload)
{
	ews_alloc_give_back();
	(void)remember_base(payload);
	ews_alloc_give_back();
	return remember_now(payload);
}

void ews_first_look_begin(struct ews_first_look *out, struct ews_session *session,
			  const struct ews_first_look_opts *opts)
{
	*out = (struct ews_first_look){ .session = session,
					.opts = *opts,
					.content_opts = { .partial = true, .known = opts->base, .put = opts->put } };
	clock_gettime(CLOCK_REALTIME_COARSE, &out->begun);
	if (opts->put && opts->is_exact &&
	    ews_look_begin(&out->look, session->repo, session, NULL, &out->content_opts) < 0)
		ews_error_clear();
	if (opts->put && opts->base->scan.entries.n > EWS_ENTRIES_MANY) {
		out->content_opts.takes_put = true;
		ews_beside_begin(&out->base, remember_both, out);
		return;
	}
	if (opts->put)
		ews_beside_begin(&out->now, remember_now, out);
	ews_beside_begin(&out->base, remember_base, out);
}

void ews_first_look_end(struct ews_first_look *look)
{
	(void)ews_beside_end(&look->now);
	(void)ews_beside_end(&look->base);
	ews_look_free(ews_steal(&look->look));
}
