/*
 * Git's index: read in versions 2 to 4, written in 2 (or 3 where flags need it).
 *
 * The raw bytes are the truth that a snapshot keeps; this is the view that
 * start needs to give a twin the same stages and flags with its own stat
 * data, and that scan needs to know what is tracked. Format: git's
 * Documentation/gitformat-index. A split index is joined with its shared
 * file; a sparse one, a null trailer hash (index.skipHash), and unknown
 * optional extensions are read as well. The file is hostile input: every
 * length is checked.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_INDEX_H
#define EWS_STORE_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/strv.h"
#include "store/entry.h"
#include "store/gitstate.h"
#include "store/odb.h"

struct ews_index_entry {
	const char *path; /* the arena's, or that of whoever lends it (work/twin); of a sparse directory with its trailing slash */
	uint32_t ctime_s, ctime_ns, mtime_s, mtime_ns;
	uint32_t dev, ino, uid, gid, size;
	uint32_t mode; /* EWS_MODE_...; DIR: a sparse directory */
	struct ews_oid oid;
	uint8_t stage; /* 0 to 3 */
	bool is_assumed_unchanged;
	bool is_intent_to_add;
	bool is_skip_worktree;
	bool is_clean; /* work/twin: the file that is made of it gives it its stat data; never read nor written */
};

struct ews_index {
	struct ews_index_entry *items; /* git's order: path bytewise, then stage */
	size_t n, cap;
	struct ews_arena arena;
	uint32_t version; /* 2 to 4; 0: there was no index */
	bool is_sparse; /* has directories in it */
	bool was_split;
	bool borrows; /* asked for (ews_index_borrow_state): paths are those in the bytes, where these have them whole */
	int64_t mtime_s; /* of the file: entries at or after it are racy */
	uint32_t mtime_ns;
	struct ews_buf resolve_undo; /* the raw REUC extension, kept through */
	struct ews_buf trees; /* the raw TREE extension, which trees the entries make: kept through while none is added */
};

#define EWS_INDEX_INIT { NULL, 0, 0, EWS_ARENA_INIT, 0, false, false, false, 0, 0, EWS_BUF_INIT, EWS_BUF_INIT }

/*
 * Read the index `name` in the directory `dir_fd` (a git directory), hashes of
 * `algo`. A missing file is an empty index of version 0. Fails with
 * EWS_EDAMAGED when it can't be an index, EWS_EUNSUPPORTED for a mandatory
 * extension that we don't know (named).
 */
int ews_index_read(struct ews_index *out, int dir_fd, const char *name, enum ews_hash_algo algo);

/* As above, from bytes in memory: no split index; its time is 0, so that no stat data matches. */
int ews_index_parse(struct ews_index *out, const void *data, size_t len, enum ews_hash_algo algo);
/* The index that `state` has, joined with the shared file that is there when it is split; its time is 0 likewise. */
int ews_index_parse_state(struct ews_index *out, const struct ews_gitstate *state, enum ews_hash_algo algo);
/* The same, which takes less: `state` must stay as it is while the index is used. */
int ews_index_borrow_state(struct ews_index *out, const struct ews_gitstate *state, enum ews_hash_algo algo);
/*
 * Do the indexes of both name the same, whatever they say of stat data and however they are split? One that is missing, or can't be
 * understood, is like none.
 */
bool ews_index_is_alike(const struct ews_gitstate *a, const struct ews_gitstate *b, enum ews_hash_algo algo);
/* The same of two that were read, but for what they name at `paths`, which are sorted. */
bool ews_index_is_alike_beside(const struct ews_index *a, const struct ews_index *b, const struct ews_strv *paths);

/* The first entry of `path` (its lowest stage), or NULL. */
const struct ews_index_entry *ews_index_find(const struct ews_index *index, const char *path);
/* The first entry below the directory `path`, or NULL; the others stand behind it. A directory of a sparse index is one, too. */
const struct ews_index_entry *ews_index_find_below(const struct ews_index *index, const char *path);
/* Is `path`, or something below it, in the index? */
bool ews_index_has_below(const struct ews_index *index, const char *path);

/*
 * A sparse index names whole directories: let it name each file of theirs, left out of the work tree as before. What it says of
 * trees goes. Nothing is done to one that is not sparse.
 */
int ews_index_expand(struct ews_index *index, struct ews_odb *odb);

/* Append an entry; the pointer holds until the next append. Sort before writing. */
struct ews_index_entry *ews_index_add(struct ews_index *index, const char *path);
/* Likewise, with all that is said of another index's entry. */
void ews_index_add_copy(struct ews_index *index, const struct ews_index_entry *from);
void ews_index_sort(struct ews_index *index);

/* May the file have changed once more, at the time that it has, after git had looked at it? In whole seconds, as git asks that. */
bool ews_index_is_racy(const struct ews_index *index, const struct ews_index_entry *ie);
/*
 * Does git take the file for unchanged by its stat data alone (as with
 * core.trustctime and core.checkStat=default), is it not racy against the
 * index's own time, and carries no flag that hides changes? `entry` is what scan
 * saw; its type and x bit are compared too.
 */
bool ews_index_stat_matches(const struct ews_index *index, const struct ews_index_entry *ie,
			    const struct ews_entry *entry);
/*
 * The same of a file that only a filter, which is not run, would make what git has of it: racy is what changed right before the index
 * was written, for else after a clone nobody could tell of any such file that it is as git left it. The price: of one that was written
 * with as many bytes in the very tick of the clock in which git looked at it, long before it wrote its index, the change is not seen.
 */
bool ews_index_stat_matches_filtered(const struct ews_index *index, const struct ews_index_entry *ie,
				     const struct ews_entry *entry);

/* Put the stat data of `entry` (it must have some) into `ie`, as git would after a refresh. */
void ews_index_set_stat(struct ews_index_entry *ie, const struct ews_entry *entry, uint32_t uid, uint32_t gid);

/*
 * Append the bytes of the index file: version 2, or 3 when a flag needs it;
 * trailer hash included; TREE and REUC kept, "sdir" where it is sparse; nothing else.
 */
void ews_index_format(struct ews_buf *out, const struct ews_index *index, enum ews_hash_algo algo);

void ews_index_release(struct ews_index *index);
EWS_CLEANUP_DEFINE(index, struct ews_index, ews_index_release)

#endif
