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

#include "base/buf.h"
#include "base/hash.h"
#include "store/oid.h"

struct ews_odb;
struct ews_refs;

struct ews_odb_ops {
	int (*read)(struct ews_buf *out, enum ews_object_type *type, struct ews_odb *odb, const struct ews_oid *oid);
	int (*read_header)(enum ews_object_type *type, uint64_t *size, struct ews_odb *odb,
			   const struct ews_oid *oid);
	int (*write_to)(int fd, struct ews_odb *odb, const struct ews_oid *oid);
	bool (*has)(struct ews_odb *odb, const struct ews_oid *oid);
	bool (*freshen)(struct ews_odb *odb, const struct ews_oid *oid);
	int (*refresh)(struct ews_odb *odb);
	int (*ref_read)(struct ews_oid *out, struct ews_odb *odb, const char *name);
	int (*ref_swap)(struct ews_odb *odb, const char *name, const struct ews_oid *from, const struct ews_oid *to);
	int (*ref_list)(struct ews_refs *out, struct ews_odb *odb, const char *prefix);
	/* `want`: what to peel to, COMMIT or TREE; 0: the object as it is. */
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
	enum ews_hash_algo algo;
};

/*
 * Make a half-filled room (`*out` with ops and nothing else of the face set)
 * for the repository `git_dir`, whose shared part is `common_dir`; fails as
 * ews_odb_open().
 */
int ews_odb_open_libgit2(struct ews_odb **out, const char *git_dir, const char *common_dir);

/* Fails with EWS_EDAMAGED unless `data` is what `oid` names. */
int ews_odb_check(const struct ews_odb *odb, const struct ews_oid *oid, enum ews_object_type type, const void *data,
		  size_t len);

#endif
