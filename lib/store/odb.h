/*
 * Objects and refs of a store, behind one face.
 *
 * Two rooms stand behind it: odb_libgit2.c, the one that knows libgit2, and
 * odb_git.c, which asks git itself, for repositories with SHA-256. Writing goes
 * through store/batch. All reading functions may be called from several
 * threads on one `struct ews_odb`; a process that forks must not use it on both sides.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_ODB_H
#define EWS_STORE_ODB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/sharing.h"
#include "base/strv.h"
#include "store/oid.h"
#include "store/pack_place.h"

/* Below it stands what a step took away and undo may bring back. */
#define EWS_REF_TRASH "refs/ews/trash/"
/* A session's base, while it has not ended. */
#define EWS_REF_SESSIONS "refs/ews/sessions/"

struct ews_odb;
struct ews_sync_group;

/*
 * Open the store at the git directory `git_dir` (absolute): a repository's own
 * git directory, or that of a linked worktree. Fails with EWS_EUNSUPPORTED and
 * one exact sentence when the repository needs what we don't know (an object
 * format, a ref storage, an unknown extension), with EWS_EDENIED when it
 * belongs to another user and is no safe.directory (as git judges it), with
 * EWS_ENOTFOUND when there is none. Nothing is written to it; below `home` (absolute) an
 * empty repository may be made (ews_git_neutral_dir) when objects are read.
 */
int ews_odb_open(struct ews_odb **out, const char *git_dir, const char *home);
void ews_odb_free(struct ews_odb *odb);

/* Where the shared part of the repository at `git_dir` is: a linked worktree says it in its file `commondir`. The caller frees `*out`. */
int ews_odb_find_common_dir(char **out, const char *git_dir);

/* Has `dir` what the worktrees of a repository have in common: directories of objects and refs? 1, 0, or an error: it can't be told now. */
int ews_odb_is_common_dir(const char *dir);

/* Which library stands behind the one room: "libgit2 1.5.1". The caller frees it. */
char *ews_odb_library(void);

/* The shared git directory, absolute, no trailing slash; borrowed. */
const char *ews_odb_common_dir(const struct ews_odb *odb);
/* The object directory, "<common>/objects". */
const char *ews_odb_object_dir(const struct ews_odb *odb);
/* Where new objects go, and all can be read from: that one, or another; see ews_odb_make_writable(). */
const char *ews_odb_write_dir(const struct ews_odb *odb);
/* May objects be missing that a remote has promised? */
bool ews_odb_is_partial(const struct ews_odb *odb);
enum ews_hash_algo ews_odb_algo(const struct ews_odb *odb);
/* For whom what is made in its git directory is, as core.sharedRepository has it; where that can't be read it is not known. */
struct ews_sharing ews_odb_sharing(struct ews_odb *odb);
/* The id of the empty tree in this store's format (it need not exist). */
void ews_odb_empty_tree(struct ews_oid *out, const struct ews_odb *odb);
/* The id that `data` has as an object; nothing is written. */
void ews_odb_hash(struct ews_oid *out, const struct ews_odb *odb, enum ews_object_type type, const void *data,
		  size_t len);

/* Append the content of `oid` to `out`. Fails with EWS_ENOTFOUND (the sentence names the id) or EWS_EDAMAGED. */
int ews_odb_read(struct ews_buf *out, enum ews_object_type *type, struct ews_odb *odb, const struct ews_oid *oid);
/* As ews_odb_read(), for what has at most `max` bytes; of anything larger nothing is read, and 1 is returned. */
int ews_odb_read_max(struct ews_buf *out, enum ews_object_type *type, struct ews_odb *odb,
		     const struct ews_oid *oid, uint64_t max);
/*
 * Remember from now on, up to `max_bytes` of them (0: none), the blobs that ews_odb_write_to() writes and a batch reads from files,
 * for ews_odb_read_max() and ews_odb_write_to(); what was remembered before is forgotten. No other thread may use `odb`
 * meanwhile.
 */
void ews_odb_remember(struct ews_odb *odb, size_t max_bytes);
/* Remember the blob `oid`, which is known to be these bytes, where that is wanted. */
void ews_odb_remember_blob(struct ews_odb *odb, const struct ews_oid *oid, const void *data, size_t len);
/* Are these the bytes of the blob `oid`, as far as that is remembered? */
bool ews_odb_remembers(const struct ews_odb *odb, const struct ews_oid *oid, const void *data, size_t len);
/*
 * Read the blob `oid`, of `size` bytes, check it, and remember it; where that is not wanted, or there is no room for it,
 * nothing is read. Fails as ews_odb_read().
 */
int ews_odb_read_ahead(struct ews_odb *odb, const struct ews_oid *oid, uint64_t size);
/* Type and size without the content where the format allows. `size` may be NULL. */
int ews_odb_read_header(enum ews_object_type *type, uint64_t *size, struct ews_odb *odb, const struct ews_oid *oid);
/* Does a failure to read say that the object is not to be had, now or later? After any other it may well be there. */
bool ews_odb_has_lost(int rc);
/* Is `oid` an object of that type? Returns 1, or 0 also for what is missing or damaged; below zero: that can't be found out now. */
int ews_odb_is(struct ews_odb *odb, const struct ews_oid *oid, enum ews_object_type type);
/*
 * Write the content of blob `oid` to descriptor `fd`, without holding a large one in
 * memory where the store can stream it, and check that it has the id it is kept under.
 */
int ews_odb_write_to(int fd, struct ews_odb *odb, const struct ews_oid *oid);
/* The same of one that was found to stand at `place`; it need not be known. */
int ews_odb_write_from(int fd, struct ews_odb *odb, const struct ews_oid *oid, const struct ews_pack_place *place);
/*
 * Find where the `n` objects stand that somebody is going to write: in that order most of them are had for less. Places are known of
 * some, or of none.
 */
void ews_odb_find_places(struct ews_pack_place *out, struct ews_odb *odb, const struct ews_oid *const *oids,
			 size_t n);
bool ews_odb_has(struct ews_odb *odb, const struct ews_oid *oid);
/*
 * The same of an object that should be there: that what was seen so far has it not is no proof, since a gc beside us may have
 * moved it into a pack that is new. For who fails or complains where it is missing, not for who asks of many.
 */
bool ews_odb_still_has(struct ews_odb *odb, const struct ews_oid *oid);
/*
 * Can the object `oid`, which is there, be read? What is loose is read to its end; packs are trusted, as git trusts them. Leaves no
 * error.
 */
bool ews_odb_is_sound(struct ews_odb *odb, const struct ews_oid *oid);
/* As ews_odb_has; and what is there counts as new from now on, so that a gc that runs now keeps it. */
bool ews_odb_freshen(struct ews_odb *odb, const struct ews_oid *oid);
/*
 * The same of all `n`, which should be there, as in ews_odb_still_has(): once a ref holds them, is what it holds there? A gc that had read
 * the refs before takes what is new, when it is told to.
 */
bool ews_odb_freshen_all(struct ews_odb *odb, const struct ews_oid *const *oids, size_t n);
/* As ews_odb_freshen(); for who `is_wary`, as what is elsewhere goes, it must be sound as well, or it is to be written anew. */
bool ews_odb_holds(struct ews_odb *odb, const struct ews_oid *oid, bool is_wary);
/*
 * Make sure that new objects can be written, for a look that leaves nothing. Where they can't be written to the
 * store (what runs in a session can't), they go from here on into a private directory among the temporary files:
 * that is ews_odb_write_dir() then, borrows all others from the store, and goes with `odb`. Returns 1 then, else
 * 0. No other thread may use `odb` meanwhile.
 */
int ews_odb_make_writable(struct ews_odb *odb);
/* Let new objects go there whether they could be written to the store or not: nobody else is to see them. */
int ews_odb_go_aside(struct ews_odb *odb);
/* See objects that others have written since the last look. */
int ews_odb_refresh(struct ews_odb *odb);
/* ews_sync_finish() for a group that has objects: from then on they can be read. */
int ews_odb_finish_group(struct ews_odb *odb, struct ews_sync_group *group);

/* Is it a name that git gives refs: "HEAD" and the like, or one below "refs/" as `git check-ref-format` has it? */
bool ews_odb_is_ref_name(const char *name);
/* The name that a ref with this text, or HEAD, stands for: it is part of `text`. NULL: it is no symbolic one. */
const char *ews_odb_ref_target(const char *text);
/* What the full name of a branch begins with. */
#define EWS_REF_BRANCHES "refs/heads/"
#define EWS_REF_TAGS "refs/tags/"
/* A ref of the store, by its full name, symbolic ones followed. Fails with EWS_ENOTFOUND, with EWS_EGIT where it is there and broken. */
int ews_odb_ref_read(struct ews_oid *out, struct ews_odb *odb, const char *name);
/* The same; `last` gets the ref that it leads to, itself where it is no symbolic one, there or not. The caller frees it. */
int ews_odb_ref_follow(struct ews_oid *out, char **last, struct ews_odb *odb, const char *name);
/* Is there no such ref? What can't be read is there. Leaves no error. */
bool ews_odb_ref_is_missing(struct ews_odb *odb, const char *name);
/*
 * What keeps `name`, which is not there, from being made: a ref that lies beneath it, or one that it would lie beneath. NULL: nothing
 * does. The caller frees it.
 */
int ews_odb_ref_in_way(char **out, struct ews_odb *odb, const char *name);
/*
 * As above, seen from the git directory `git_fd` of a workspace: a linked worktree has some refs of its own, and a private
 * repository (`is_private`) none of the store's. No link is followed there.
 */
int ews_odb_ref_read_from(struct ews_oid *out, struct ews_odb *odb, int git_fd, bool is_private, const char *name);
/*
 * Move ref `name` from `from` (NULL or no id: it must not exist) to `to` (NULL or no id:
 * delete it), waiting up to a second for another process's lock on it. No
 * hook runs, no identity is needed, the ref is on disk (synced) on return; while the
 * thread has a sync group (base/sync) it is with the group, and a new one of ours
 * may be but locked until then.
 * Fails with EWS_ESTALE when it is not at `from`.
 */
int ews_odb_ref_swap(struct ews_odb *odb, const char *name, const struct ews_oid *from, const struct ews_oid *to);
/*
 * Let the ref `name`, which leads to `from` (no id: to none, or it is not there), stand for the ref `target`, as `git symbolic-ref`
 * does. On disk (synced) on return; a log gets no line. Fails with EWS_ESTALE when it is not at `from`.
 */
int ews_odb_ref_point(struct ews_odb *odb, const char *name, const struct ews_oid *from, const char *target);
/*
 * Remove the file of the ref `name` where that leads to no id: it is broken, or symbolic and leads in a circle or to what is not
 * there. No swap moves one that can't be read. Returns 1 when one went, and what is packed by that name holds again; 0: there was none.
 */
int ews_odb_ref_clear(struct ews_odb *odb, const char *name);

struct ews_ref {
	char *name;
	char *target; /* the name that a symbolic one stands for; NULL: it is none */
	struct ews_oid oid;
	struct ews_oid peeled; /* what the tag that it holds leads to, where packed-refs says that; else none */
};

struct ews_refs {
	struct ews_ref *items;
	size_t n, cap;
};

#define EWS_REFS_INIT { NULL, 0, 0 }

/* All refs whose name starts with `prefix`, by name; symbolic ones resolved, broken ones left out. */
int ews_odb_ref_list(struct ews_refs *out, struct ews_odb *odb, const char *prefix);
/* The same without those whose name starts with `except`. */
int ews_odb_ref_list_but(struct ews_refs *out, struct ews_odb *odb, const char *prefix, const char *except);
/* Their names alone, none of them looked at: what is broken is among them, and ids are those of packed refs at most. */
int ews_odb_ref_names(struct ews_refs *out, struct ews_odb *odb, const char *prefix);
void ews_refs_release(struct ews_refs *refs);
EWS_CLEANUP_DEFINE(refs, struct ews_refs, ews_refs_release)

/* Hear that ref number `i` is gone. */
typedef void (*ews_ref_dropped_fn)(void *payload, size_t i);
/*
 * Remove `n` refs, each from its id as ews_odb_ref_swap() does; one that is not there is passed by. Those that are packed go together,
 * for git writes all packed refs anew whatever goes of them. Where some moved meanwhile the others go, and it fails with EWS_ESTALE for
 * the first. `dropped` (may be NULL) is told of each that went.
 */
int ews_odb_ref_drop_all(struct ews_odb *odb, const struct ews_ref *refs, size_t n, ews_ref_dropped_fn dropped,
			 void *payload);

/*
 * What git's revision syntax `spec` means, seen from the git directory that
 * was opened (its HEAD); a path of the index (":<path>") is no revision here. Fails with EWS_ENOTFOUND
 * where there is none such, and otherwise where that can't be told.
 */
int ews_odb_resolve(struct ews_oid *out, struct ews_odb *odb, const char *spec);
/* As above, peeled to a commit. */
int ews_odb_resolve_commit(struct ews_oid *out, struct ews_odb *odb, const char *spec);
/* HEAD's commit. 1, or 0 (EWS_OID_NONE) where it leads to none, as before the first; fails where that can't be read just now. */
int ews_odb_find_head(struct ews_oid *out, struct ews_odb *odb);

struct ews_commit {
	struct ews_oid tree;
	struct ews_oid *parents;
	size_t n_parents;
	int64_t time; /* committer's, seconds */
	char *message;
};

#define EWS_COMMIT_INIT { EWS_OID_NONE, NULL, 0, 0, NULL }

/* Read one; what `out` had is released. Fails as ews_odb_read(), and with EWS_EDAMAGED when it is no commit. */
int ews_odb_read_commit(struct ews_commit *out, struct ews_odb *odb, const struct ews_oid *oid);
void ews_commit_release(struct ews_commit *commit);
EWS_CLEANUP_DEFINE(commit, struct ews_commit, ews_commit_release)

/*
 * A value of git's config as this repository sees it (`ews_odb_config`: all levels, config.worktree too), or
 * the user's and the system's alone (`ews_odb_config_user`: no repository's). A key without "=" is "true".
 * The caller frees `*out`. Fails with EWS_ENOTFOUND.
 */
int ews_odb_config(char **out, struct ews_odb *odb, const char *key);
/* The same, but what is not set is no failure: `*out` is NULL then. What can't be read may be set: that fails. */
int ews_odb_config_if_set(char **out, struct ews_odb *odb, const char *key);
int ews_odb_config_user(char **out, const char *key);

/* The programs that convert what git takes in, by that config ("filter.<name>.clean" and ".process"). */
enum ews_odb_filters {
	EWS_FILTERS_NONE,
	EWS_FILTERS_LFS, /* git-lfs alone: what it stores is a pointer, of less than EWS_LFS_POINTER_MAX bytes by its specification */
	EWS_FILTERS_ANY,
};

#define EWS_LFS_POINTER_MAX 1024

/* Which there are; where the config can't be read EWS_FILTERS_ANY. None is run. */
enum ews_odb_filters ews_odb_filters(struct ews_odb *odb);

/* One side of a text that is merged; `data` NULL: there is none, which only the base may lack. */
struct ews_odb_text {
	const void *data;
	size_t len;
	const char *label; /* what stands behind the markers of a conflict */
};

/*
 * Merge what `theirs` did to `base` into `ours` line by line, as git merges texts, by git's own rules alone:
 * no driver and no attribute is asked. Appends the merged text to `out`. Returns 1 when there are
 * conflicts, which stand in it between markers, else 0.
 */
int ews_odb_merge_text(struct ews_buf *out, const struct ews_odb_text *base, const struct ews_odb_text *ours,
		       const struct ews_odb_text *theirs);

/*
 * Count the lines that are in `to` and not in `from`, and the reverse, as git's own comparison of texts (xdiff's,
 * without options) has it. Neither may be empty, both be up to 512 MiB; a last line without newline is one.
 */
int ews_odb_count_lines(uint64_t *added, uint64_t *deleted, const void *from, size_t from_len, const void *to,
			size_t to_len);

EWS_CLEANUP_DEFINE_PTR(odb, struct ews_odb, ews_odb_free)

#endif
