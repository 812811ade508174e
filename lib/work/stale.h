/*
 * Stale: has the project gone on since a session started, so that its result is about something else?
 *
 * It has when the epoch went up, HEAD moved, or a file that the session's base holds changed in the project. Files are looked at by
 * their stat data; one is read when these say that it was written since, and not whether its content is another.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_STALE_H
#define EWS_WORK_STALE_H

#include "store/entry.h"
#include "work/epoch.h"
#include "work/session.h"
#include "work/tripwire.h"

struct ews_stale {
	bool has_head_moved;
	struct ews_oid head_before, head_now; /* none: there was none, or it is not known */
	struct ews_strv files; /* paths that changed, or are gone */
	int64_t epoch_before, epoch_now; /* below 0: not known */
};

#define EWS_STALE_INIT { .files = EWS_STRV_INIT, .epoch_before = -1, .epoch_now = -1 }

/*
 * Look at the project of `session` (ews_session_project), whose base holds `base`; `before` and `now` are its tripwire and the
 * project's present one, `epoch` is that of the project. In place there is nothing that could be stale.
 */
int ews_stale_look(struct ews_stale *out, struct ews_session *session, const struct ews_entries *base,
		   const struct ews_tripwire *before, const struct ews_tripwire *now, int64_t epoch);

/*
 * The same for who knows nothing of all that; `base` may be NULL, and is read. `looking` is the look at the project that
 * was begun (work/epoch), or NULL. Fails with EWS_ENOTFOUND where that is gone.
 */
int ews_stale_find(struct ews_stale *out, struct ews_session *session, const struct ews_entries *base,
		   struct ews_epoch_looking *looking);

/* Is there anything in it? */
bool ews_stale_is(const struct ews_stale *stale);
/* Why, a sentence each; of the files the first `n_named` are named. */
void ews_stale_reasons(struct ews_strv *out, const struct ews_stale *stale, size_t n_named);

/* All that at once, for who only says it. What can't be told is a sentence, too, and fails nobody. */
void ews_stale_tell(struct ews_strv *reasons, struct ews_session *session, const struct ews_entries *base,
		    struct ews_epoch_looking *looking);

void ews_stale_release(struct ews_stale *stale);
EWS_CLEANUP_DEFINE(stale, struct ews_stale, ews_stale_release)

#endif
