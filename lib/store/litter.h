/*
 * Litter: files that a writer makes beside and renames in, and what a killed one leaves.
 *
 * Each is locked (flock) by its writer from its birth on, on a close-on-exec
 * descriptor: one that can be locked by somebody else has no writer any more.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_LITTER_H
#define EWS_STORE_LITTER_H

#include "store/odb.h"

#define EWS_LITTER_NAME_MAX 48

/* Make a file "<prefix><random>" in `dir_fd`, locked, mode 0444. Returns its descriptor. */
int ews_litter_make(char name[EWS_LITTER_NAME_MAX], int dir_fd, const char *prefix);

/* May its writer, who lives, have locked the file open at `fd`, which is another descriptor? A lock that is got says no, and stays. */
bool ews_litter_has_writer(int fd);

/* Remove the files "<prefix>..." in `dir_fd` that killed writers left. */
void ews_litter_sweep_dir(int dir_fd, const char *prefix);

/*
 * Remove what killed writers left in the object directory, and locks on refs below refs/ews/ that stand for longer than git
 * holds one, and that no process of ours, which locks them likewise, holds.
 */
int ews_litter_sweep(struct ews_odb *odb);

/*
 * A git that ran for us and was killed, or could not delete what it had made: its files are those made since `since_s`, unless
 * another git is at work there, which `is_busy` says. It is asked when there is something to remove, and once.
 */
struct ews_litter_git {
	int64_t since_s;
	bool (*is_busy)(void *payload);
	void *payload;
	bool has_asked, busy;
};

/* Likewise the lock `name` in `dir_fd` of such a git. */
void ews_litter_sweep_lock(int dir_fd, const char *name, struct ews_litter_git *git);

/* Likewise the locks of branches, which a verb of ours may have been making. */
void ews_litter_sweep_branches(struct ews_odb *odb, struct ews_litter_git *git);

/* Likewise objects that such a git had not finished. */
void ews_litter_sweep_objects(struct ews_odb *odb, struct ews_litter_git *git);

/* Likewise the lock of that one ref, which a verb of ours was moving when it was killed. */
void ews_litter_sweep_ref(struct ews_odb *odb, const char *ref);

/*
 * Remove what killed calls of git left among the objects ("tmp_..."), as `git prune` does after two weeks: files of ours that
 * nobody touched for `older_than_s`, and that `may_go` says yes to.
 */
typedef bool (*ews_litter_fn)(void *payload, const char *path, uint64_t size_bytes, int64_t age_s);
int ews_litter_sweep_old(struct ews_odb *odb, int64_t older_than_s, ews_litter_fn may_go, void *payload);

#endif
