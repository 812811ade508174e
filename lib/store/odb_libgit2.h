/*
 * What the files of the room that knows libgit2 share.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_ODB_LIBGIT2_H
#define EWS_STORE_ODB_LIBGIT2_H

#include <git2.h>
#if __has_include(<git2/sys/errors.h>)
#include <git2/sys/errors.h> /* since libgit2 1.8 who writes a backend has his part of errors.h there */
#endif

#include "base/cleanup.h"
#include "base/dl.h"
#include "base/error.h"
#include "store/oid.h"

/* What is used of libgit2. */
/* clang-format off */
#define EWS_GIT2_FUNCTIONS(F) \
	F(git_buf_dispose) F(git_config_add_file_ondisk) F(git_config_entry_free) \
	F(git_config_find_global) F(git_config_find_system) F(git_config_find_xdg) F(git_config_free) \
	F(git_config_get_bool) F(git_config_get_entry) F(git_config_get_multivar_foreach) \
	F(git_config_new) F(git_config_parse_path) F(git_diff_buffers) F(git_error_last) F(git_error_set_str) \
	F(git_libgit2_init) F(git_libgit2_opts) F(git_libgit2_version) F(git_merge_file) F(git_merge_file_result_free) \
	F(git_object_free) F(git_object_id) F(git_object_peel) F(git_odb_add_backend) \
	F(git_odb_free) F(git_odb_get_backend) F(git_odb_num_backends) F(git_odb_object_data) F(git_odb_object_free) \
	F(git_odb_object_size) F(git_odb_object_type) F(git_odb_open) F(git_odb_open_rstream) \
	F(git_odb_read) F(git_odb_read_header) F(git_odb_refresh) F(git_odb_stream_free) \
	F(git_odb_stream_read) F(git_oid_fromraw) F(git_reference_create_matching) F(git_reference_free) \
	F(git_repository_free) F(git_repository_odb) F(git_repository_open_ext) F(git_revparse_single)
/* clang-format on */

struct ews_odb;

struct ews_git2 {
	EWS_GIT2_FUNCTIONS(EWS_DL_MEMBER)
};

/* Its functions, once ews_libgit2_need() has loaded it. */
extern struct ews_git2 ews_git2;

/* Load and start libgit2, once. Fails when it can't be loaded. */
int ews_libgit2_need(void);

/* What is made by libgit2 is freed by it; NULL is nothing, and may be before it is loaded. */
#define EWS_GIT2_CLEANUP(type)                              \
	static inline void ews_cleanup_##type(type **value) \
	{                                                   \
		if (*value)                                 \
			ews_git2.type##_free(*value);       \
	}

/*
 * Say what failed, then libgit2's words; the code follows the errno that it met, where that speaks of us, the disk or a permission, as
 * with ews_error_os(), and else libgit2's, `dflt` where that says nothing.
 */
__attribute__((format(printf, 3, 4))) int ews_libgit2_fail(int git_rc, enum ews_code dflt, const char *fmt, ...);

/* Ids of SHA-1. */
void ews_libgit2_from_oid(git_oid *out, const struct ews_oid *oid);
void ews_libgit2_to_oid(struct ews_oid *out, const git_oid *oid);

/*
 * Let `db`, which reads the objects of `odb`, fail for a loose one that is damaged before it reads that: of one that was cut short
 * libgit2 1.5 waits for the rest for ever. Not where it is asked for a stream: that is the caller's to see. `odb` must outlive it.
 */
int ews_libgit2_guard(git_odb *db, const struct ews_odb *odb);
/*
 * Which errno kept it from looking at an object, for who set it to 0 before: of one that leads there libgit2 may say that it leads
 * nowhere.
 */
extern _Thread_local int ews_libgit2_unread;

/* As ews_odb_ref_swap(), to an id, but once, without waiting, and not synced. Returns a code of libgit2. */
int ews_libgit2_try_swap(git_repository *repo, const char *common_dir, const char *name, const struct ews_oid *from,
			 const struct ews_oid *to);

/* As ews_odb_resolve(); `want`: the type of object that it is to lead to, 0 for any. */
int ews_libgit2_resolve(struct ews_oid *out, git_repository *repo, const char *spec, int want);

/* As ews_odb_config(); `repo` is what conditional includes are about. */
int ews_libgit2_config(char **out, git_repository *repo, const char *git_dir, const char *common_dir,
		       const char *key);

#endif
