/*
 * What the parts of a transition share while it is planned, carried out and proven; nobody but transition*.c looks in here.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_TRANSITION_WORK_H
#define EWS_WORK_TRANSITION_WORK_H

#include "store/hardlink.h"
#include "store/index_lock.h"
#include "store/step.h"
#include "work/ignored.h"
#include "work/snapshot.h"

struct ews_transition_opts;
struct ews_transition_result;

/* What the step renamed away when it turned the other way, the last time or before, so that this turn brings it back. */
struct ews_transition_taken {
	const char *line; /* the step's own */
	const char *name; /* in its trash */
	char *path; /* where it was */
};

/* All that a transition works with. */
struct ews_transition_work {
	struct ews_repo *repo;
	struct ews_session *session; /* NULL: the project */
	struct ews_step *step;
	const struct ews_transition_opts *opts;
	struct ews_batch *batch;
	struct ews_snapshot before; /* the state that was kept, once it was */
	struct ews_content joined; /* all that the base, the target, or the state that was left has */
	struct ews_content target;
	const struct ews_content *known; /* that, or the target, where it is the base and nothing was left */
	struct ews_content left; /* empty where none is given */
	struct ews_strv ours; /* sorted; in the project: what these two have that its modes close */
	struct ews_content now;
	struct ews_changes changes; /* between now, without what is renamed away, and target */
	struct ews_entries kept; /* the ignored files that came along at the session's start */
	struct ews_ignored_changes ignored; /* what became of them */
	const char *lacks_kept; /* why nobody knows which those are; NULL: the list of them is there */
	struct ews_strv away; /* sorted: paths that are renamed away */
	struct ews_transition_taken *taken; /* in the step's order, until it has turned */
	size_t n_taken, cap_taken;
	struct ews_strv returning; /* sorted: the paths that this comes back to; none where trash was emptied */
	ews_entry_equal_fn equal; /* what need not be written */
	const char *const *only; /* what it is limited to: the options' paths, or `exact`; NULL: nothing */
	size_t n_only;
	struct ews_strv exact;
	struct ews_strv displaced; /* sorted; of these, what leaves the index for what comes back to it */
	bool is_fresh; /* something that was built is gone: what is rewritten must look new to make */
	bool has_git_change;
	struct ews_index_put index_put; /* git's index, where it was put back under its lock */
	bool index_is_lent; /* git's index that is there is the one that is wanted, and the target holds it for both */
	bool brings_back; /* something of git's state was put away, or moved, and comes back when the step turns */
	bool can_settle; /* nothing is asked for but the base, as it was */
	bool is_settled; /* and it is known that it is there; then nothing was read of it but its hash */
	struct ews_buf memo; /* of the target's entries, once they are there; empty: not known */
	bool lacks_objects; /* a copy's repository names what it has not */
	bool is_untouched; /* all is as it should be: `now` was looked at, and nothing done since */
};

/* transition_only.c: what it is limited to. */

/*
 * Take the options' paths, once it is known what is there, in `root_fd`, and what is to be there; where a directory that one lies
 * in has to be made, the step becomes exact, and says so when it is written.
 */
int ews_transition_limit(struct ews_transition_work *work, int root_fd);
/* Is `path` among what the transition is limited to, or is it limited to nothing? */
bool ews_transition_is_wanted(const struct ews_transition_work *work, const char *path);
/* Is it, or something that it lies in? */
bool ews_transition_is_below_wanted(const struct ews_transition_work *work, const char *path);

/* transition_plan.c: what goes where. */

/*
 * Read the target and what is there, and find what differs and what must be renamed away. Where it is known that nothing does
 * (`is_settled`) nothing more is to be asked.
 */
int ews_transition_plan(struct ews_transition_result *out, struct ews_transition_work *work, int root_fd);
/* Find what is to be written, once that is planned. */
void ews_transition_find_changes(struct ews_transition_work *work);
void ews_transition_list_changes(struct ews_transition_result *out, const struct ews_transition_work *work);
/*
 * A file that has names elsewhere may have one of them in what is renamed away, unread. Both are one file again when both come
 * back, so what would be removed or replaced of it is renamed away as well.
 */
void ews_transition_spare_shared_files(struct ews_transition_work *work);

/* Are the files that a person works on what is written? */
bool ews_transition_is_in_project(const struct ews_transition_work *work);
/* Is a workspace to be as the project, or another session, was? */
bool ews_transition_is_from_elsewhere(const struct ews_transition_work *work);
/* Did the target not look at what stands at `entry`? Of what came along, and what was new beside that, it knew the names. */
bool ews_transition_was_not_seen(const struct ews_transition_work *work, const struct ews_entry *entry);
/* Is it a directory that the target has not, and that can't go because of what it holds? */
bool ews_transition_must_stay(const struct ews_transition_work *work, const struct ews_change *change);
/* What is mounted at `path`, or above it, in `content`'s directory; NULL: nothing. */
const struct ews_skip *ews_transition_mounted_at(const struct ews_content *content, const char *path);
/* What must be written so that the names of one file are that; `now` is what is there. */
void ews_transition_plan_names(struct ews_changes *changes, struct ews_transition_work *work,
			       const struct ews_entries *now, ews_entry_equal_fn equal, ews_hardlink_fate_fn fate);
/* What of two entries must agree after all. */
ews_entry_equal_fn ews_transition_proven_equal(const struct ews_transition_work *work);

/* transition_trash.c: what is renamed away whole, and what comes back from there. */

/* Is `path`, or something that it lies in, renamed away? */
bool ews_transition_is_away(const struct ews_transition_work *work, const char *path);
/*
 * Find what the step took when it turned the other way, and where that comes back to; where it is run again, without what is back.
 * Fails with EWS_EDAMAGED when the step makes no sense.
 */
int ews_transition_find_taken(struct ews_transition_work *work);
/* Before anything is looked at where a step is run again: what was killed in the middle of such a move is in one part again. */
int ews_transition_settle(struct ews_transition_work *work, int root_fd);
/* Does something come back to `path`, or to one above it? Then it is not made anew. */
bool ews_transition_comes_back(const struct ews_transition_work *work, const char *path);
/* Does the repository of a copy, which has what nobody else has? */
bool ews_transition_brings_repository_back(const struct ews_transition_work *work);
/* Of what the step took trash may hold nothing any more: name it. What the snapshot has of it is put back all the same. */
void ews_transition_name_expired(struct ews_transition_result *out, const struct ews_transition_work *work);
/* Say in the step what goes away. */
void ews_transition_plan_moving(struct ews_transition_work *work);
int ews_transition_move_away(struct ews_transition_result *out, struct ews_transition_work *work, int root_fd);
/* What the step took comes back; where something stands in its place it stays in trash, and is named. */
int ews_transition_move_back(struct ews_transition_result *out, const struct ews_transition_work *work, int root_fd);
/* The same of a dry run: name what would go away, and what would come back. */
void ews_transition_name_away(struct ews_transition_result *out, const struct ews_transition_work *work);
void ews_transition_name_back(struct ews_transition_result *out, const struct ews_transition_work *work);

/* transition_keep.c: what is about to go is in the store for certain. */

/* What goes and is not in the store, though a snapshot has it, joins the batch: it is read again in `root_fd`. */
int ews_transition_keep_lost(struct ews_transition_work *work, int root_fd);

/* transition_head.c: HEAD, where it isn't the project's. */

/* Does the HEAD of the target lead elsewhere by now? The enum ews_head that says how it stands, or 0; fails where that can't be read. */
int ews_transition_head_differs(const struct ews_transition_work *work);
/*
 * Let the HEAD of the target stand at its commit though its branch has gone on, is gone, or is another work tree's by now, and name it.
 * Once it is known what is there.
 */
int ews_transition_settle_head(struct ews_transition_result *out, struct ews_transition_work *work);

/* transition_git.c: git's own state, where the transition is about it. */

/* As ews_transition_settle(), of what git has under way. */
int ews_transition_settle_git(const struct ews_transition_work *work);

/* Does it stage what it puts, in the project's index, as `apply --index` does? */
bool ews_transition_stages(const struct ews_transition_work *work);

/* Is it about git's state as well? Not in the project, not with paths, not where the target has none. */
bool ews_transition_moves_git(const struct ews_transition_work *work);
/* Name what of it in `content`, whose index may be due, is not as in the target, as far as the options ask for that. */
int ews_transition_compare_git(struct ews_strv *out, const struct ews_transition_work *work,
			       struct ews_content *content);
/*
 * Of such `names` drop what git does that only looks, as "git status" beside: an index that it refreshed since it was put, a lock that
 * it had for a moment.
 */
void ews_transition_pass_by_refreshed(struct ews_strv *names, const struct ews_transition_work *work,
				      const struct ews_content *content);
/*
 * Of what the target had of git's state and no snapshot holds: what is there as it was stays, and in place what went on since,
 * which is not ours to end, and is named; what was put away comes back; the rest is named.
 */
int ews_transition_plan_left(struct ews_transition_result *out, struct ews_transition_work *work);
/* Name, and measure in `admin_fd` (-1: don't), what of git's state is put away: the target had none of it, or another. Returns how much. */
size_t ews_transition_name_strange(struct ews_transition_result *out, const struct ews_transition_work *work,
				   int admin_fd);
/* A private repository that is not whole goes to trash as it is, and is made anew. */
int ews_transition_adopt(struct ews_transition_work *work, struct ews_strv *differences);
/* In place git's own lock says that git is at work, or was killed; which of the two only a person knows. */
int ews_transition_refuse_locked(const struct ews_transition_work *work);
int ews_transition_write_git(struct ews_transition_result *out, struct ews_transition_work *work, int root_fd);
/* The entries that leave the index, and are none of the wanted paths, for what comes back to it there when the step turns; sorted. */
int ews_transition_list_displaced(struct ews_strv *out, const struct ews_transition_work *work);
/* The paths are staged as well: forward as they stand, backward as they were staged before. */
int ews_transition_write_index(const struct ews_transition_work *work);
/* The directory itself has a mode as well. */
bool ews_transition_differs_in_root(const struct ews_transition_work *work, const struct ews_content *content);
/* And attributes, an access list among them. */
bool ews_transition_differs_in_root_xattrs(const struct ews_transition_work *work, const struct ews_content *content);
/* Does the directory itself belong to somebody else than it shall? */
bool ews_transition_differs_in_root_owner(const struct ews_transition_work *work, const struct ews_content *content);

/* transition_branch.c: branches that move with it. */

/* In place: is the branch that HEAD is to be on elsewhere than it was? 1 or 0; fails where that can't be read just now. */
int ews_transition_branch_differs(const struct ews_transition_work *work);
/*
 * In place the branch may be gone, and another, named beneath it or above it, keep it from being made; or HEAD has left it, and another
 * work tree stands on it, whose files would all seem to be changed: then nothing is begun. What was begun comes to its end all the
 * same: HEAD is to stand at its commit, on no branch, and `out` says why.
 */
int ews_transition_refuse_blocked(struct ews_transition_result *out, struct ews_transition_work *work);
/*
 * In place HEAD may have left the branch that is put back, or somebody may have gone on with it since the step was killed, and no
 * state that undo knows says where it is. Write down in the step which such branches move, those among them that the step moved
 * before and that go back now, and name them in `out`. One of these that somebody went on with since, or that another work tree
 * stands on, stays and is named.
 */
int ews_transition_plan_branches(struct ews_transition_result *out, struct ews_transition_work *work);
/* In place: is the branch that HEAD was on elsewhere than it was when the present state was kept? 1 or 0; fails as above. */
int ews_transition_head_has_moved(const struct ews_transition_work *work);
/* Leave them where they are, and say so in `out`, and in the step what undo is to know. */
int ews_transition_leave_branches(struct ews_transition_result *out, const struct ews_transition_work *work);
/*
 * Put back what is written down of such branches, and the one that HEAD is to be on. What somebody moves at this very moment is his, and
 * stays: of one that HEAD has left `out` says so, and HEAD's then stays as well.
 */
int ews_transition_restore_branches(struct ews_transition_result *out, const struct ews_transition_work *work);

/* transition_commit.c: a commit that the step made, and the branch that it is on; transition_commit.h has what others ask. */

/* The branch has to be where the step left it; one that was killed leaves it where it is. */
int ews_transition_refuse_moved_on(const struct ews_transition_work *work);
/* Move it with the step. */
int ews_transition_move_branch(const struct ews_transition_work *work);

/* transition_proof.c */

/* Name what of the target no snapshot holds, and what is mounted in `content`, which is what is there: neither is looked at. */
void ews_transition_name_uncovered(struct ews_transition_result *out, const struct ews_transition_work *work,
				   const struct ews_content *content);

/* Look at everything again, and compare it with what is wanted. */
int ews_transition_verify(struct ews_transition_result *out, struct ews_transition_work *work);

#endif
