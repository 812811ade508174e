/*
 * Pending results: what a session came to, kept until somebody decides.
 *
 *     refs/ews/pending/<name>/base      what it began with
 *     refs/ews/pending/<name>/result    what it came to
 *
 * The name is the session's id or, while another result is pending under that, the id with "-2", "-3", ... behind it: an id
 * may be given again once its session has ended. The two refs are all there is to it, so nothing expires them. 'end --pending' moves them here, as part of its step; who
 * decides moves them to trash, as a step of its own.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_PENDING_H
#define EWS_WORK_PENDING_H

#include "store/step.h"
#include "work/snapshot.h"

struct ews_pending {
	char *name;
	struct ews_snapshot base, result;
};

struct ews_pendings {
	struct ews_pending *items; /* the oldest first */
	size_t n, cap;
	struct ews_strv damaged; /* "<name>\t<why>": those whose snapshots can't be read */
};

#define EWS_PENDINGS_INIT { NULL, 0, 0, EWS_STRV_INIT }

/* All there are. */
int ews_pending_list(struct ews_pendings *out, struct ews_repo *repo);

/* The one that `name` means: its own, or a beginning of one alone. Fails with EWS_ENOTFOUND, EWS_EUSAGE, of one that can't be read EWS_EDAMAGED. */
int ews_pending_find(const struct ews_pending **out, const struct ews_pendings *list, const char *name);

/*
 * Under which name is the session `id` pending that began with the snapshot `base`? `out` is NULL when it is not; the caller frees
 * it. Fails where what is pending can't be read: it may be one of those.
 */
int ews_pending_name(char **out, struct ews_repo *repo, const char *id, const char *base);

/* The same in two steps, for who asks of many sessions: under which names are results pending, and under which of them is this? */
int ews_pending_names(struct ews_strv *out, struct ews_repo *repo);
int ews_pending_name_among(char **out, const struct ews_strv *names, struct ews_repo *repo, const char *id,
			   const char *base);

/* For who has failed since `session` has ended: where something is pending of it, the hint of the error that is set becomes that. */
void ews_pending_hint(const struct ews_session *session);

/* Under which name would a session `id` be pending that ended now? The caller frees it. */
char *ews_pending_next_name(struct ews_repo *repo, const char *id);

/* Is a session pending that was called `id`? Returns 1 or 0. */
int ews_pending_has(struct ews_repo *repo, const char *id);

/* Plan in `step` how the base of session `id` and what was kept of it, which lies in trash, become the pending result `name`. */
int ews_pending_plan(struct ews_step *step, struct ews_repo *repo, const char *name, const char *id,
		     const char *kept);

/* Did it make a result pending? */
bool ews_pending_is_step(const struct ews_step *step);

/*
 * It is decided: to trash, what is there of one that is damaged as well. No trash can have what lost its commit: that goes for good, and
 * is added to `lost` as "<ref>\t<why>". Returns 1 when undo makes it pending again, 0 when its result is lost.
 */
int ews_pending_drop(struct ews_strv *lost, struct ews_repo *repo, const char *name);
/* Was it a drop of a result that was pending under the name at the beginning of `words`, up to a blank? */
bool ews_pending_is_drop(const struct ews_step *step, const char *words);

/*
 * An apply of all of `result` that was killed has come to its end in recover, which holds the project's lock: the same, if `name` is that
 * result still. Returns 1 when it was dropped, else 0.
 */
int ews_pending_settle(struct ews_repo *repo, const char *name, const char *result);
/* Would it work, and what would be lost? Nothing is done. */
int ews_pending_drop_check(struct ews_strv *lost, struct ews_repo *repo, const char *name);

/*
 * `step` is about to be done again: where it dropped a pending result, and its session has ended anew since, it names that result as it was
 * kept then. What began with something else is another's, and stays out of it. Fails with EWS_ESTALE where the session came to something
 * else than what was dropped, and where what is pending can't be read just now.
 */
int ews_pending_drop_anew(struct ews_step *step, struct ews_repo *repo);

void ews_pendings_release(struct ews_pendings *list);
EWS_CLEANUP_DEFINE(pendings, struct ews_pendings, ews_pendings_release)

#endif
