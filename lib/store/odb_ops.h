/*
 * What a room behind store/odb is able to do; nobody but odb*.c looks in here.
 *
 * The functions promise what odb.h promises for those of their names. Ids that
 * come in are never "no id", save in `ref_swap`.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_ODB_OPS_H
#define EWS_STORE_ODB_OPS_H

#include <stdatomic.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/strv.h"
#include "store/oid.h"
#include "store/pack_place.h"

struct ews_odb;
struct ews_ref;
struct ews_refs;

/* What a repository says of its format. */
struct ews_odb_format {
	enum ews_hash_algo algo;
	bool is_partial; /* objects may be missing that a remote has promised */
	bool says_hash, says_refs; /* it names "sha1", or "files", which goes without saying */
	bool lacks_worktree; /* core.worktree names what is not there, or can't be reached; never of a linked worktree, which is not asked */
};

struct ews_odb_ops {
	/* Of what has more than `max` bytes nothing is read, and 1 returned. */
	int (*read)(struct ews_buf *out, enum ews_object_type *type, struct ews_odb *odb, const struct ews_oid *oid,
		    uint64_t max);
	int (*read_header)(enum ews_object_type *type, uint64_t *size, struct ews_odb *odb,
			   const struct ews_oid *oid);
	/* `place` as find_places() has it; NULL: it was not looked for. */
	int (*write_to)(int fd, struct ews_odb *odb, const struct ews_oid *oid, const struct ews_pack_place *place);
	/* NULL: places are never known here. */
	void (*find_places)(struct ews_pack_place *out, struct ews_odb *odb, const struct ews_oid *const *oids,
			    size_t n);
	bool (*has)(struct ews_odb *odb, const struct ews_oid *oid);
	/* Does a pack have it, as far as that is known at once? NULL: it never is. */
	bool (*has_packed)(struct ews_odb *odb, const struct ews_oid *oid);
	bool (*freshen)(struct ews_odb *odb, const struct ews_oid *oid);
	int (*refresh)(struct ews_odb *odb);
	/* Objects are read from another directory from now on; nobody reads. */
	void (*move)(struct ews_odb *odb);
	int (*ref_swap)(struct ews_odb *odb, const char *name, const struct ews_oid *from, const struct ews_oid *to);
	/* `want`: what to peel tags to, COMMIT; 0: the object as it is. */
	int (*resolve)(struct ews_oid *out, struct ews_odb *odb, const char *spec, int want);
	int (*config)(char **out, struct ews_odb *odb, const char *key);
	/* Frees what the room has, then `odb` itself is freed by the face. */
	void (*release)(struct ews_odb *odb);
};

/* The first member of a room's own struct. */
struct ews_odb {
	const struct ews_odb_ops *ops;
	char *git_dir; /* as it was opened */
	char *common_dir;
	char *object_dir;
	char *aside; /* a private object directory that borrows from that; NULL: none */
	enum ews_hash_algo algo;
	bool is_partial;
	_Atomic unsigned sharing; /* EWS_ODB_SHARING_*, with the bits; 0: nobody asked yet */
	struct ews_recent *recent; /* the blobs that are remembered; NULL: none are */
};

#define EWS_ODB_SHARING_KNOWN 010000U
#define EWS_ODB_SHARING_EXACT 020000U

/* How long another process's lock on a ref is waited for. */
#define EWS_ODB_REF_WAIT_MS 1000
#define EWS_ODB_REF_LOG_MESSAGE "git-ews"

/* Which room; EWS_ODB_FITTING: the one for the repository's format. */
enum ews_odb_room {
	EWS_ODB_FITTING,
	EWS_ODB_LIBGIT2,
	EWS_ODB_GIT,
};

/* As ews_odb_open(), through a room of the caller's choice. */
int ews_odb_open_through(struct ews_odb **out, enum ews_odb_room room, const char *git_dir, const char *home);

/*
 * Make a half-filled room (ops and nothing else of the face set). What a room needs it opens when it is first asked
 * for something.
 */
struct ews_odb *ews_odb_open_libgit2(const struct ews_odb_format *format);
struct ews_odb *ews_odb_open_git(const char *home);

/*
 * Read the format of the repository `name`, whose shared config is in `common_dir`, and
 * refuse what we don't know. No include is followed, as by git.
 */
int ews_odb_read_format(struct ews_odb_format *out, const char *common_dir, const char *name);
/* As ews_odb_config_user(), includes followed. */
int ews_libgit2_config_user(char **out, const char *key);
/* Does the user's config, as git finds it, name the repository `name` as safe? */
bool ews_libgit2_is_safe(const char *name);
/* Fails with EWS_EDENIED when the repository belongs to another user and is no safe.directory. */
int ews_odb_check_owner(const char *git_dir, const char *common_dir);

/*
 * Run git in the repository of `odb`, with `input` (may be NULL). `out` and `err` are begun here and get what it prints. Returns its
 * status, whatever that is; where it can't be run that is as ews_odb_git_unasked() has it.
 */
int ews_odb_git_run(struct ews_buf *out, struct ews_buf *err, const struct ews_odb *odb,
		    const struct ews_strv *args, const struct ews_buf *input);
/* git could not be asked, for `rc`: that no program of that name is there says of what was looked for that it can't be read just now. */
int ews_odb_git_unasked(int rc);
/* As the ops of a room, by git itself. */
int ews_odb_git_resolve(struct ews_oid *out, struct ews_odb *odb, const char *spec, int want);
int ews_odb_git_config(char **out, struct ews_odb *odb, const char *key);
/* As ews_odb_ref_swap(), by git itself, of whatever room `odb` is. */
int ews_odb_git_ref_swap(struct ews_odb *odb, const char *name, const struct ews_oid *from, const struct ews_oid *to);
/* The same for many that go, all or none. Returns 1 when git refuses: which of them is to blame, each by itself will tell. */
int ews_odb_git_ref_drop_all(struct ews_odb *odb, const struct ews_ref *const *refs, size_t n);

/*
 * Can the object's own file, the directory of packs and all packs be opened where they are there, here and where this borrows from?
 * Else nobody knows whether it is missing, or damaged: that fails with EWS_EIO, or EWS_EDENIED.
 */
int ews_odb_check_readable(const struct ews_odb *odb, const struct ews_oid *oid);

/*
 * Is the object `oid`, as far as it is loose, in our directory or in one that this borrows from, whole? As
 * ews_loose_check_stream().
 */
int ews_odb_check_loose(const struct ews_odb *odb, const struct ews_oid *oid);

/* Fail with EWS_ENOTFOUND for the object `oid`; with EWS_EIO where what may hold it can't be opened just now. */
int ews_odb_missing(const struct ews_odb *odb, const struct ews_oid *oid);
/* Sync the directory that holds or held the ref `name`, or the nearest above it that still stands. */
int ews_odb_sync_ref(const struct ews_odb *odb, const char *name);

/* The line of packed-refs in the git directory `common_fd` for the ref `name`. Returns 1 when there is one. */
int ews_odb_find_packed_ref(struct ews_oid *out, int common_fd, const char *name);
/*
 * What the file of the ref `ref->name` in the git directory `common_fd` says: `oid`, or `target`, which is the caller's; neither when it
 * says nothing. Returns 1, and 0 where there is none.
 */
int ews_odb_read_ref_file(struct ews_ref *ref, int common_fd);

/*
 * Append the refs in the git directory `common_dir` whose names start with `prefix` ("refs/..."), by name; of those that
 * start with `except` none (NULL: no such). A symbolic one has its target, and no id. What is no ref is left
 * out.
 */
int ews_odb_list_refs(struct ews_refs *out, const char *common_dir, const char *prefix, const char *except);

/* Fails with EWS_EDAMAGED unless what was read as `oid`, and hashed, has that id. */
int ews_odb_check_id(const struct ews_oid *oid, const struct ews_oid *real);
/* Fails with EWS_EDAMAGED unless `data` is what `oid` names. */
int ews_odb_check(const struct ews_odb *odb, const struct ews_oid *oid, enum ews_object_type type, const void *data,
		  size_t len);

#endif
