/*
 * Transitions: a workspace, or the project, from its present state to a recorded one.
 *
 * revert, restore, undo and redo are this one thing, as a step that the journal knows:
 *
 *     keep the present state as a snapshot in trash
 *     plan the step: what will be renamed away, what comes back
 *     rename away what can't be read (ignored, nested repositories, sockets, ...)
 *     put(now -> wanted), bring back what an earlier move took, write the git state
 *     scan again, and compare everything with what is wanted
 *
 * What somebody writes, stages or commits after the first of these stays, and the last finds it: the next step has kept it.
 *
 * Each part is harmless when already done, so a step that was killed is run again.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_TRANSITION_H
#define EWS_WORK_TRANSITION_H

#include "base/progress_fn.h"
#include "store/step.h"
#include "work/snapshot.h"

/*
 * What is there is kept, and its tree is `tree`; that of what is to be there is `target`. The objects can be read. It is not
 * called where one of them has paths that nobody could look at: these trees don't tell what differs.
 */
typedef void ews_kept_fn(void *payload, const struct ews_oid *target, const struct ews_oid *tree);

/* Why a rebase or the like is not as it was: in place it is not ours to end, and no snapshot holds it. */
#define EWS_TRANSITION_GONE_ON "of git, has gone on since then, and stays so"

struct ews_transition_opts {
	const struct ews_snapshot *target;
	const struct ews_snapshot *left; /* the state that the step left: what it has is looked at even where it is ignored; or NULL */
	const struct ews_snapshot *base; /* the session's base: what is known even where ignored; NULL for a project */
	const char *const *only; /* NULL: all, and the git state; with step->is_exact sorted bytewise, and not what they hold */
	const struct ews_strv *spared; /* sorted: files that stay as they are, though it is limited to them as well; or NULL */
	const struct ews_content *seen; /* what the target was made of: a path that is not so any more is EWS_ESTALE; or NULL */
	bool full; /* verify by reading everything again */
	bool accepts_refreshed; /* git's index as it is, where that names the same: whoever looks has git refresh its stat data */
	bool dry_run;
	bool is_retry; /* the step was planned before and killed */
	bool is_taken_back; /* by the caller when it fails, who says so if he can't */
	bool stays_open; /* there is more to the step: the caller closes it */
	ews_progress_fn progress;
	void *payload;
	ews_kept_fn *kept; /* or NULL */
	void *kept_payload;
};

struct ews_transition_result {
	struct ews_strv restored, deleted; /* paths written or changed back; paths removed */
	struct ews_strv kept; /* "<path>\t<why>", the path escaped: renamed whole into trash */
	struct ews_strv errors; /* "<path>\t<why>": what differs after all */
	struct ews_strv others; /* the paths of those that somebody wrote while the step was under way: they are as he left them */
	struct ews_strv lost_attrs; /* "<path>\t<attribute>": may not be set here */
	struct ews_strv not_covered; /* "<path>\t<why>": the target never had it, so it was not looked at */
	struct ews_strv moved; /* "<path>\t<commit>": repositories in a project that have gone on from that commit since the session began */
	struct ews_strv expired; /* "<path>\t<why>": what can't come back, since trash holds it no longer */
	struct ews_strv since; /* paths that somebody changed since the step that is undone, or was killed; kept like all else */
	struct ews_strv stays; /* what a step had renamed away and does not come back, though the step is taken back */
	struct ews_strv branches; /* a sentence each: which moved though HEAD was not on them, and which stay after all */
	size_t kept_files; /* how much was renamed away */
	uint64_t kept_bytes;
	char original_hash[EWS_TREE_HASH_LEN];
	char current_hash[EWS_TREE_HASH_LEN];
	bool differs; /* there was something to be done; on a dry run: there would be */
	bool is_verified;
	char *kept_snapshot; /* what was there; NULL when nothing differed */
	bool had_damaged_head; /* in that */
};

#define EWS_TRANSITION_RESULT_INIT                                                             \
	{                                                                                      \
		.restored = EWS_STRV_INIT, .deleted = EWS_STRV_INIT, .kept = EWS_STRV_INIT,    \
		.errors = EWS_STRV_INIT, .others = EWS_STRV_INIT, .lost_attrs = EWS_STRV_INIT, \
		.not_covered = EWS_STRV_INIT, .moved = EWS_STRV_INIT, .since = EWS_STRV_INIT,  \
		.expired = EWS_STRV_INIT, .stays = EWS_STRV_INIT, .branches = EWS_STRV_INIT    \
	}

/*
 * Bring `session`'s workspace (NULL: the project) to `opts->target` as `step`,
 * whose state on entry is planned, undoing or redoing; on success it is done or undone and
 * written. What was there is kept under step->before (or, when undoing, step->after). When nothing
 * differs, nothing is written and `*has_changed` is false, as it is where it fails before the step begins.
 */
int ews_transition(struct ews_transition_result *out, bool *has_changed, struct ews_repo *repo,
		   struct ews_session *session, struct ews_step *step, const struct ews_transition_opts *opts);

/* Write that a step which stayed open is done. */
int ews_transition_close(struct ews_repo *repo, struct ews_step *step);

/*
 * Where `step` was on its way to is gone: it has turned, as far as it came. What was there when it began to turn is the other
 * way, as ever.
 */
int ews_transition_give_up(struct ews_repo *repo, struct ews_step *step);

/* Let `step`, which may have come half of its way, go back: the next transition takes it back. */
void ews_transition_turn_back(struct ews_step *step);

/* Where a step keeps what it renames away, on the same file system; made when missing. Returns a descriptor. */
int ews_transition_open_trash(struct ews_repo *repo, const struct ews_session *session, const char *step_id);
/* The absolute path of that directory; the caller frees it. */
char *ews_transition_trash_path(const struct ews_repo *repo, const struct ews_session *session, const char *step_id);

/* Count files and bytes of something that is renamed away, for people. */
void ews_transition_measure(struct ews_transition_result *out, int dir_fd, const char *name);

void ews_transition_result_release(struct ews_transition_result *result);
EWS_CLEANUP_DEFINE(transition_result, struct ews_transition_result, ews_transition_result_release)

#endif
