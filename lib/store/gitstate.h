/*
 * Git state: what of a git directory belongs to the state of its work tree.
 *
 * HEAD, the raw index with its mtime, the files of a merge, the head of a cherry-pick or of a revert, and the patterns
 * of a sparse checkout. A rebase, a sequencer or a bisect is never carried: continuing it elsewhere would move the
 * project's own branch. It is known by name, though, and by when it last changed, so that
 * whoever goes back to a state can leave alone what was there then.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_GITSTATE_H
#define EWS_STORE_GITSTATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/sharing.h"
#include "base/strv.h"
#include "store/index_lock.h"
#include "store/oid.h"

/* The patterns of a sparse checkout; the file lies in "info". */
#define EWS_GITSTATE_SPARSE "sparse-checkout"

struct ews_gitstate_file {
	char *name;
	struct ews_buf data;
};

/* Sorted by name. */
struct ews_gitstate_files {
	struct ews_gitstate_file *items;
	size_t n, cap;
};

struct ews_gitstate {
	bool has_index;
	struct ews_buf index;
	int64_t index_mtime_s;
	uint32_t index_mtime_ns;
	/* HEAD, ORIG_HEAD, MERGE_*, CHERRY_PICK_HEAD, REVERT_HEAD, sharedindex.*, config.worktree, sparse-checkout */
	struct ews_gitstate_files files;
	/*
	 * What is there and not carried: what is under way (rebase-merge, sequencer, a lock), and what is no file, or too large,
	 * where one of the files or the index belongs. The data tell its type and its last change, not what it holds.
	 */
	struct ews_gitstate_files left;
};

#define EWS_GITSTATE_INIT { false, EWS_BUF_INIT, 0, 0, { NULL, 0, 0 }, { NULL, 0, 0 } }

/* Read it from the git directory `git_fd`. */
int ews_gitstate_read(struct ews_gitstate *out, int git_fd);
/* The same without the index, which may be large. */
int ews_gitstate_read_files(struct ews_gitstate *out, int git_fd);
/* Forget the lock of the index, where `lock` has it: of what is under way it is no part. */
void ews_gitstate_drop_lock(struct ews_gitstate *state, const struct ews_index_lock *lock);
/* The index alone. */
int ews_gitstate_read_index(struct ews_gitstate *out, int git_fd);
/* Is the index there the one of `state`, byte for byte and with its time? It is not held in memory for that. */
bool ews_gitstate_has_index(const struct ews_gitstate *state, int git_fd);
/* Can it be, going by type, size and time? A file system may have cut the time. */
bool ews_gitstate_may_have_index(const struct ews_gitstate *state, const struct stat *st);
/* Whether there is an index, and its time, without its bytes. */
void ews_gitstate_note_index(struct ews_gitstate *out, int git_fd);

/* The file `name` ("HEAD"), or NULL. */
const struct ews_gitstate_file *ews_gitstate_file(const struct ews_gitstate *state, const char *name);
void ews_gitstate_set_file(struct ews_gitstate *state, const char *name, const void *data, size_t len);

/* Let HEAD stand at `head`, on no branch. */
void ews_gitstate_set_head(struct ews_gitstate *state, const struct ews_oid *head);

/*
 * Let it be that of another place: HEAD stands at `head`, on no branch, no cherry-pick or revert is under way, and
 * config.worktree says neither where the work tree is nor that there is none, or git would work on the files of the place that
 * it was read in. Fails with EWS_ECONFIG where
 * config.worktree makes no sense.
 */
int ews_gitstate_detach(struct ews_gitstate *state, const struct ews_oid *head);

/*
 * Let config.worktree go on to say where the work tree is, as it does in `now`, where that is `root_fd` and neither it nor `config`
 * says so in `state`: git takes core.worktree from `config`, which is no part of the state, to config.worktree when there is first
 * one ("git sparse-checkout set"). `git_fd` is the git directory of both.
 */
void ews_gitstate_keep_worktree(struct ews_gitstate *state, const struct ews_gitstate *now, int git_fd, int root_fd);

/* What is left of that name, or NULL. */
const struct ews_gitstate_file *ews_gitstate_left(const struct ews_gitstate *state, const char *name);
void ews_gitstate_set_left(struct ews_gitstate *state, const char *name, const void *data, size_t len);
/* Set what the state has of that name, of which a file is none yet, to what the git directory has; where that has none, drop it. */
int ews_gitstate_note(struct ews_gitstate *state, int git_fd, const char *name);
void ews_gitstate_drop_left(struct ews_gitstate *state, const char *name);
/* Nothing is left. */
void ews_gitstate_forget_left(struct ews_gitstate *state);
/* Is it the index, or one that a split index shares? */
bool ews_gitstate_is_of_index(const char *name);
/* Does what has that name belong to git's state? */
bool ews_gitstate_is_name(const char *name);
/* Has it not changed from the one to the other? */
bool ews_gitstate_is_same_left(const struct ews_gitstate_file *a, const struct ews_gitstate_file *b);
/* Is that the name of a rebase, a sequencer, a lock, ...? */
bool ews_gitstate_is_under_way(const char *name);
/* Of a lock alone? */
bool ews_gitstate_is_lock(const char *name);
/*
 * Wait a moment for git's lock `name` to go: "git status" takes that of the index to refresh it. False: it stays, as one that has
 * been there for long, and somebody is at work, or was killed.
 */
bool ews_gitstate_outwait_lock(int git_fd, const char *name);
/* Why it was not carried, in words. */
const char *ews_gitstate_why_left(const struct ews_gitstate_file *left);
/* Add the names of what is left in `now` and was not, or was another, in `state`: what a write of `state` puts away. */
void ews_gitstate_list_strange(struct ews_strv *out, const struct ews_gitstate *state,
			       const struct ews_gitstate *now);

/*
 * Make the git directory hold this state: files that differ are replaced,
 * those of a merge that came since are removed, the index comes with its mtime, last. What
 * is left and not so in `state` is renamed into `keep_fd` (same file system); `keep_fd` -1 leaves
 * what is under way where it is. Files keep their modes; new ones have what the umask leaves, and are for whom `sharing` says. The index
 * is written by way of `lock`, where the caller has it; NULL: nobody else is there.
 */
int ews_gitstate_write(const struct ews_gitstate *state, int git_fd, int keep_fd, struct ews_sharing sharing,
		       struct ews_index_lock *lock);

/* Add the files, which the index is none of, and what is left to a digest. */
void ews_gitstate_hash_files(struct ews_hash *hash, const struct ews_gitstate *state);

/* Are the files, which the index and what it shares are none of, and what is left the same in both? */
bool ews_gitstate_has_same_files(const struct ews_gitstate *a, const struct ews_gitstate *b);

/* The names of what differs of `b` from `a`, "index" among them; of the index the mtime counts too, which that of `b` may have cut. */
void ews_gitstate_differences(struct ews_strv *out, const struct ews_gitstate *a, const struct ews_gitstate *b);

void ews_gitstate_release(struct ews_gitstate *state);
EWS_CLEANUP_DEFINE(gitstate, struct ews_gitstate, ews_gitstate_release)

#endif
