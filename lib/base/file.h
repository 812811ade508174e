/*
 * Files: read whole, replace atomically, copy, remove a tree.
 *
 * `dir_fd` may be AT_FDCWD where a path is the user's own; beneath a workspace
 * it is a directory opened through base/dir and `name` a single component.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_FILE_H
#define EWS_BASE_FILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/progress_fn.h"
#include "base/sharing.h"

/*
 * Open `name` beneath `dir_fd` to read it, where it is a file: a link, or whatever else, is EWS_EDAMAGED. Returns its
 * descriptor.
 */
int ews_file_open_regular(int dir_fd, const char *name);

/*
 * Append the content of the regular file `name` to `out`, at most `max` bytes.
 * Links are not followed, a FIFO is never waited for. Fails with
 * EWS_ENOTFOUND when there is none, EWS_EDAMAGED when it is longer than `max`.
 */
int ews_file_read(struct ews_buf *out, int dir_fd, const char *name, size_t max);

/* The same of a file that is ours; fails with EWS_EDENIED as well (base/own). */
int ews_file_read_own(struct ews_buf *out, int dir_fd, const char *name, size_t max);

/* Write to `out` (EWS_HASH_MAX) the digest of what ews_file_read would have appended; it is read step by step. */
int ews_file_digest(uint8_t *out, enum ews_hash_algo algo, int dir_fd, const char *name, size_t max);

/*
 * Is something called `path` beneath `dir_fd`, whatever it is (a link at its end is not followed)? Returns 1 or 0, and fails where that
 * can't be seen: what can't be looked at is not gone.
 */
int ews_file_is_there(int dir_fd, const char *path);

/* Is what was seen twice one and the same file, by whatever names? */
bool ews_file_is_same(const struct stat *a, const struct stat *b);

/* The same of what is open at two descriptors; what can't be looked at is none. Sets no error. */
bool ews_file_is_same_open(int a_fd, int b_fd);

/* As ews_file_read, of a descriptor, from its present position. */
int ews_file_read_fd(struct ews_buf *out, int fd, size_t max);

/*
 * Append what the user's own file at `path` says: links are followed, a FIFO is never waited for, and one that is missing says
 * nothing. Fails when it can't be read, or has more than `max` bytes.
 */
int ews_file_read_path(struct ews_buf *out, const char *path, size_t max);

/* Read just `len` bytes at `at`. False when there are not as many, or they can't be read; no error is set. */
bool ews_file_read_at(int fd, void *out, size_t len, uint64_t at);

/* Write all of it or fail. */
int ews_file_write_fd(int fd, const void *data, size_t len);

/* The bits that no new file of the user's is to have. It is set and set back: not beside threads that make files. */
mode_t ews_file_umask(void);

/* What the name of a file begins with that is on its way to another one. */
#define EWS_FILE_BESIDE ".tmp-"
/* Is it such a name as a whole, as somebody else would hardly make one? */
bool ews_file_is_beside(const char *name);

/*
 * Make `name` hold `len` bytes of `data` with mode `mode` (umask aside): a
 * temporary file beside it is written, synced, renamed over it, and the
 * directory is synced. On failure the old file stands and no temporary one.
 * While the thread has a sync group (base/sync) that is done with the group's.
 */
int ews_file_replace(int dir_fd, const char *name, const void *data, size_t len, mode_t mode);

/*
 * The same of a file that is not ours alone: it has the mode of the one that it replaces, else what the umask leaves, and is for whom
 * `sharing` says. `mtime` as below.
 */
int ews_file_replace_shared(int dir_fd, const char *name, const void *data, size_t len, struct ews_sharing sharing,
			    const struct timespec *mtime);

/* The mode of that for the file open at `fd`, which was made as the umask has it, and is to be `name`. */
int ews_file_take_mode(int fd, int dir_fd, const char *name, struct ews_sharing sharing);

/* The same, with a time of its own from the first moment on; NULL: it is of now. */
int ews_file_replace_dated(int dir_fd, const char *name, const void *data, size_t len, mode_t mode,
			   const struct timespec *mtime);

/* The same without the syncs, for what shows by itself that it is whole, and may be lost when the power fails. */
int ews_file_replace_unsynced(int dir_fd, const char *name, const void *data, size_t len, mode_t mode);

/* As one of the two, from `n` parts that are written one after the other. */
int ews_file_replace_parts(int dir_fd, const char *name, const struct iovec *parts, size_t n, mode_t mode,
			   bool is_durable);

/* Writes all of a file to `fd`. Below zero: an error is set. */
typedef int (*ews_file_fill_fn)(int fd, void *payload);

/* As one of the two, by who writes it: for what is too long to be in memory as a whole. */
int ews_file_replace_written(int dir_fd, const char *name, ews_file_fill_fn write, void *payload, mode_t mode,
			     bool is_durable);

/* Append one line, sync it, or have the thread's group do so. The file is made with `mode` when missing. */
int ews_file_append(int dir_fd, const char *name, const char *line, mode_t mode);

/* The same without the sync, for a line that only says once more what is durable elsewhere. */
int ews_file_append_unsynced(int dir_fd, const char *name, const char *line, mode_t mode);

/* fsync the directory `dir_fd`, or have the thread's group do so. */
int ews_file_sync_dir(int dir_fd);

/*
 * Copy `size` bytes of the regular file open at `from_fd` into the empty file
 * open at `to_fd`: reflink, else copy_file_range, else read and write; holes
 * stay holes where the file system tells. `*no_clones` says that the file system has no reflinks, once that was
 * found out; NULL: nobody wants to know. Fails with EWS_ESTALE when the
 * source ends early.
 */
int ews_file_copy_fd(int to_fd, int from_fd, uint64_t size, atomic_bool *no_clones);

/*
 * Remove `name` and all below it, whatever it is; links are removed, never
 * followed; directories that we own are made writable first. Missing is done.
 */
int ews_file_remove_tree(int dir_fd, const char *name);

/* Whom removals tell how many files are gone, and how many bytes regular ones had: both add up over all that have it. */
struct ews_file_removed {
	ews_progress_fn show; /* `total` and `bytes` are 0 */
	void *payload;
	atomic_size_t done;
	_Atomic uint64_t bytes;
};

/* The same; `removed` may be NULL. */
int ews_file_remove_tree_told(int dir_fd, const char *name, struct ews_file_removed *removed);

struct ews_tree_size {
	uint64_t files; /* whatever is no directory */
	uint64_t bytes; /* of the regular ones */
};

/* Add up `name` and all below it, links not followed. What may not be read counts nothing. */
int ews_file_measure_tree(struct ews_tree_size *out, int dir_fd, const char *name);

/*
 * Rename without replacing: EWS_EEXISTS when `to` is there (renameat2
 * RENAME_NOREPLACE, else a check). Both directories are not synced.
 *
 * An overlay refuses that to a directory of a lower layer, as each is in a container's image, but not to what is in it. Such a one is moved
 * entry by entry (base/file_move), with its owner, mode, attributes and times; `to` comes last, whole. Who is killed at it leaves `from`,
 * which has everything, if in two parts: the next try moves on, and ews_file_settle() makes it whole; or `to`, and an empty `from` that
 * both know, and take away. Where it fails, as on a full disk, `from` is whole again.
 */
int ews_file_rename_new(int from_fd, const char *from, int to_fd, const char *to);

/* Can what is in the one directory be renamed into the other? What can't be told is taken for so: the rename will tell. */
bool ews_file_is_one_mount(int a_fd, int b_fd);

/*
 * Before a directory is looked at that somebody may have been killed at renaming: make it whole, or take away what is left in its place
 * when it is elsewhere. What is no such directory, or not there, stays as it is.
 */
int ews_file_settle(int dir_fd, const char *name);

/*
 * Make the file `name` in `dir_fd`, with `len` bytes of `data` from its first moment on, synced; the umask counts. Who is killed at it
 * leaves nothing, or, where the file system has no files without a name, a ".tmp-..." beside. EWS_EEXISTS when something is there.
 */
int ews_file_make(int dir_fd, const char *name, const void *data, size_t len, mode_t mode);

/* Make a file without a name, on the file system of `dir_fd`, to be written and read. Returns its descriptor. */
int ews_file_make_unnamed(int dir_fd);

#endif
