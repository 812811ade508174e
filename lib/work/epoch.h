/*
 * Epoch: a number that goes up when the project changes, so that a result can be called stale.
 *
 * What was last seen of each project is a line of `epoch` in the repository's directory in home:
 *
 *     <number> <digest> <project>
 *     ...
 *     end <digest of the lines above>
 *
 * A project is called by its path, but a linked worktree by its name in git, worktrees/<name>, which stays when git moves it.
 *
 * The digest is over HEAD, what the index holds (not its stat data, which git refreshes), and the tree: paths, types, modes
 * and contents of what is neither ignored nor excluded. Whoever looks and sees another one puts the number up, whoever
 * changed it: a git command, an editor, a verb of ours. What changed and changed back unseen is no change.
 *
 * Invariant: the number never goes down, and none of n that bump is lost. It is read and replaced under a lock (store/lock);
 * replacing is writing beside, sync, rename, so that a full disk or a kill leaves the old number or the new one. A file that
 * was damaged from outside gives way to a number above all that a session has on record.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_EPOCH_H
#define EWS_WORK_EPOCH_H

#include "work/content.h"

/*
 * Look at the project; `*out` is its epoch. Where home can't be written to the number is right, and is found anew the
 * next time. Fails, as all do here, with EWS_ESTALE where another directory is in its place (ews_repo_refuse_anew).
 */
int ews_epoch_look(int64_t *out, struct ews_repo *repo);

/*
 * The same beside something else: begun, looked on a thread of its own, which uses nothing of the store, and ended by the
 * thread that began it. The look itself counts as taken when it was begun.
 */
struct ews_epoch_looking;
/* `*out` stays NULL where it can't be; then all is done at the end. */
void ews_epoch_look_begin(struct ews_epoch_looking **out, struct ews_repo *repo);
/* `looking` may be NULL, and is not freed. */
int ews_epoch_look_end(int64_t *out, struct ews_repo *repo, struct ews_epoch_looking *looking);
/* Wait until it is done, for who holds long lists himself and would not have its list beside them. NULL: there is none. */
void ews_epoch_look_wait(struct ews_epoch_looking *looking);
void ews_epoch_looking_free(struct ews_epoch_looking *looking);
EWS_CLEANUP_DEFINE_PTR(epoch_looking, struct ews_epoch_looking, ews_epoch_looking_free)

/* The same of a look that was taken just now: `now` is what was found in the project, all of it. */
int ews_epoch_of(int64_t *out, struct ews_repo *repo, struct ews_content *now);

/* Put it up by one, whatever there is to see. `*out` is the new number. */
int ews_epoch_bump(int64_t *out, struct ews_repo *repo);

/* The project was at `was`: to stand elsewhere is no change of it. Best effort: else all counts as changed. */
void ews_epoch_follow(struct ews_repo *repo, const char *was);

#endif
