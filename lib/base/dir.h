/*
 * Directories: opening, listing and walking beneath a descriptor.
 *
 * Every path is relative to a directory that is already open, and no step of
 * it may be a symbolic link: openat2(RESOLVE_BENEATH|RESOLVE_NO_SYMLINKS)
 * where the kernel has it, single O_NOFOLLOW steps where not. So a directory
 * that somebody swaps for a link while we work can't lead us elsewhere.
 * Paths may be longer than PATH_MAX.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_DIR_H
#define EWS_BASE_DIR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/sharing.h"

/* Open the directory `path` (links followed), close-on-exec. Returns the descriptor. */
int ews_dir_open(const char *path);

/* The real path of what of the absolute `path` exists, and the rest of it as it stands. The caller frees it. */
char *ews_dir_resolve(const char *path);

/*
 * What of the absolute, normal `path` is below the directory `root`, which really is at `real_root`: by its text, or where links lead
 * there on the way; below it none is followed. Points into `path` ("": it is `root`); NULL when it is outside.
 */
const char *ews_dir_find_below(const char *path, const char *root, const char *real_root);

/* Open the directory `rel` beneath `root_fd` ("" is the root itself). Returns a descriptor. */
int ews_dir_open_beneath(int root_fd, const char *rel);

/*
 * Open what `rel` is beneath `root_fd`, of whatever type, with `flags` (O_NOFOLLOW and O_CLOEXEC are added). Unless
 * `into_mounts` the way stays on the mount that `root_fd` is on: what is mounted in a tree is no part of it then. Returns a
 * descriptor; fails with EWS_EDENIED, and errno EXDEV, where something is mounted at one of its directories or at itself.
 */
int ews_dir_open_within(int root_fd, const char *rel, int flags, bool into_mounts);

/* As ews_dir_open_beneath() for a directory of ours; fails with EWS_EDENIED when it isn't (base/own). */
int ews_dir_open_own(int root_fd, const char *rel);

/*
 * Open the directory that holds the last component of `rel` and point `name`
 * (into `rel`) at that component. Returns a descriptor.
 */
int ews_dir_open_parent(int root_fd, const char *rel, const char **name);

/* Is something mounted at the directory `rel` beneath `root_fd`? What can't be looked at is none; no error is set. */
bool ews_dir_is_mounted(int root_fd, const char *rel);

/* The directory that the last path was in, open as long as paths of the same one follow. */
struct ews_dir_at {
	char *path; /* `len` bytes are compared, without a copy of the path at hand */
	size_t len;
	int fd; /* -1: none */
};

#define EWS_DIR_AT_INIT { NULL, 0, -1 }

/*
 * Lead `at` to the directory beneath `root_fd` that holds the last component of `rel`, and point `name` (into `rel`)
 * at that component. Returns the directory's descriptor, which stays `at`'s; after a failure it is at none.
 */
int ews_dir_at_parent(struct ews_dir_at *at, int root_fd, const char *rel, const char **name);
void ews_dir_at_release(struct ews_dir_at *at);
EWS_CLEANUP_DEFINE(dir_at, struct ews_dir_at, ews_dir_at_release)

/*
 * Open the file `rel` beneath `root_fd` with `flags` (O_NOFOLLOW, O_CLOEXEC
 * and O_NONBLOCK are added). Returns a descriptor.
 */
int ews_dir_open_file(int root_fd, const char *rel, int flags, mode_t mode);

/* Append what the link `name` in `dir_fd` says. Returns 0, or -1 and errno (EINVAL: it is none). */
int ews_dir_read_link(struct ews_buf *out, int dir_fd, const char *name);

/* Make the directory `rel` and those above it that are missing, each with `mode`. */
int ews_dir_make(int root_fd, const char *rel, mode_t mode);
/* The same in a project: what root makes in another user's directory is his (ews_own_make_dir()). */
int ews_dir_make_as_owner(int root_fd, const char *rel, mode_t mode);
/* The same in its git directory, with what modes the umask leaves, for whom `sharing` says. */
int ews_dir_make_shared(int root_fd, const char *rel, struct ews_sharing sharing);

/* As ews_dir_make, for an absolute path; what is there may be reached through links. */
int ews_dir_make_absolute(const char *path, mode_t mode);

struct ews_dirent {
	const char *name; /* owned by the arena given */
	unsigned char type; /* DT_*, DT_UNKNOWN where the file system doesn't say */
	ino_t ino;
};

/*
 * All names in the directory open at `fd` but "." and "..", bytewise sorted.
 * `out` is an array that the caller frees; the names live in `arena`. `fd`
 * stays open and is read from its start. Returns the number of entries.
 */
ssize_t ews_dir_list(struct ews_dirent **out, int fd, struct ews_arena *arena);

/* The names in a directory, when nothing else is to live as long. */
struct ews_dir_names {
	struct ews_dirent *items;
	struct ews_arena arena;
};

#define EWS_DIR_NAMES_INIT { NULL, EWS_ARENA_INIT }

/* As ews_dir_list(), into `out`, which is empty. */
ssize_t ews_dir_names_read(struct ews_dir_names *out, int fd);
/* The same of the directory `path` (links followed); none where it is not there. Fails where it can't be read. */
ssize_t ews_dir_names_read_at(struct ews_dir_names *out, const char *path);
void ews_dir_names_release(struct ews_dir_names *names);
EWS_CLEANUP_DEFINE(dir_names, struct ews_dir_names, ews_dir_names_release)

#endif
