/*
 * Rounds: turns of several agents, each in a fresh workspace, under names that tell of nobody.
 *
 *     refs/ews/<round>  ->  "[ROUND] Auto-commit"  ->  base
 *
 * A round is a session that bears the round's name, a record (work/round_record), and a ref, which holds the base while the round goes
 * on and its work when it is over: a plain commit on that base, so that git diff and git merge take "ews/<round>". The
 * base is the commit that the workspace began at or, where there was uncommitted work, a commit of ours with that, which is the same
 * for all rounds that begin at the same state.
 *
 * Order on disk. Start: record, session, ref, branch, scratch, record settled. End: the commit, the ref, scratch
 * archived, and only then the session's end, which takes the workspace away. A start that is killed is taken back by
 * ews_rounds_mend() or by the agent's next start, an end that is killed is gone through again.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_ROUND_H
#define EWS_WORK_ROUND_H

#include "base/progress_fn.h"
#include "work/end.h"
#include "work/round_record.h"
#include "work/start.h"

struct ews_round_start_opts {
	const char *team, *agent;
	const char *base; /* a round that is over or a revision; NULL: the project as it is */
	const char *previous; /* a round of the same agent that goes when the new one is there; NULL: none */
	const char *label; /* make a branch of that name as well; NULL: don't */
	const struct ews_start_opts *start; /* how the workspace is made; id, base and label are ours */
};

struct ews_round_end_result {
	struct ews_round round;
	bool had_ended; /* before: nothing was done */
	bool has_committed; /* there was something to commit */
	bool has_lost; /* what was committed in a workspace that is gone is lost */
	bool is_in_place; /* it was in the project itself, which stays: nothing of it is in trash */
	struct ews_end_result ended;
	struct ews_strv left_out; /* "<path>\t<why>": not in the scratch archive */
	struct ews_strv notes; /* sentences */
};

#define EWS_ROUND_END_RESULT_INIT { .ended = EWS_END_RESULT_INIT, .left_out = EWS_STRV_INIT, .notes = EWS_STRV_INIT }

struct ews_round_start_result {
	struct ews_round round;
	struct ews_start_result started;
	char *removed; /* the round that went; NULL: none */
	struct ews_round_end_result ended; /* of that, where it had gone on; else its round has no id */
};

#define EWS_ROUND_START_RESULT_INIT { .started = EWS_START_RESULT_INIT, .ended = EWS_ROUND_END_RESULT_INIT }

/*
 * Start a round. Fails with EWS_EEXISTS while the agent has one that is not over, with EWS_EUSAGE on a `previous` that is another
 * agent's, with EWS_EBUSY while the agent's rounds are worked on. When it fails there is no round, and `previous` is as it was.
 */
int ews_round_start(struct ews_round_start_result *out, struct ews_repo *repo,
		    const struct ews_round_start_opts *opts);

struct ews_round_end_opts {
	const char *round; /* which of the agent's; NULL: the one that goes on, else his newest */
	bool force; /* although a process uses the workspace; and when that has gone, with what was committed there alone */
	ews_progress_fn progress;
	void *payload;
};

/*
 * End a round of the agent's: all of its work under its ref, scratch archived, the workspace to trash. When any of it fails the ref is as
 * it was or holds the work, and the workspace is there. Fails with EWS_ENOTFOUND when the agent never had a round.
 */
int ews_round_end(struct ews_round_end_result *out, struct ews_repo *repo, const char *team, const char *agent,
		  const struct ews_round_end_opts *opts);

/*
 * What undo takes back of a round's end has scratch, which no snapshot knows: it is made anew where there is none. Sessions that are no
 * rounds are left alone.
 */
int ews_round_scratch_back(struct ews_session *session);

/*
 * End the session once more, as `end` says. Of a round what is there by then is kept before as ews_round_end() does, but under no ref
 * that went to trash meanwhile; of any other session `out` has what ews_end() says, and no round's id.
 */
int ews_round_end_again(struct ews_round_end_result *out, struct ews_session *session,
			const struct ews_end_opts *end);

/*
 * The end of a round was killed, and its session is about to be ended all the same: what was done since in the workspace, where that is
 * in its place yet, is its work as well. Sessions that are no rounds are left alone, and those in the project, which stays.
 */
int ews_round_keep_late(struct ews_session *session);

/* Move the refs of all of the team's rounds, which are over, to trash as one step; `out` gets their names. */
int ews_rounds_drop(struct ews_strv *out, struct ews_repo *repo, const char *team);

/*
 * Take back starts that were killed, sweep what was not finished; what was done, and what could not be, is added to `done`. For
 * recover, which ews_rounds_damaged() tells of records that can't be read.
 */
int ews_rounds_mend(struct ews_strv *done, struct ews_repo *repo);

void ews_round_start_result_release(struct ews_round_start_result *result);
void ews_round_end_result_release(struct ews_round_end_result *result);
EWS_CLEANUP_DEFINE(round_start_result, struct ews_round_start_result, ews_round_start_result_release)
EWS_CLEANUP_DEFINE(round_end_result, struct ews_round_end_result, ews_round_end_result_release)

#endif
