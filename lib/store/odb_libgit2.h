/*
 * What the files of the room that knows libgit2 share.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_ODB_LIBGIT2_H
#define EWS_STORE_ODB_LIBGIT2_H

#include <git2.h>

#include "base/cleanup.h"
#include "base/error.h"

/* Start libgit2, once. */
void ews_libgit2_need(void);

/* Say what failed, then libgit2's words; the code follows libgit2's, `dflt` where that says nothing. */
__attribute__((format(printf, 3, 4))) int ews_libgit2_fail(int git_rc, enum ews_code dflt, const char *fmt, ...);

/* As ews_odb_config(); `repo` is what conditional includes are about. */
int ews_libgit2_config(char **out, git_repository *repo, const char *git_dir, const char *common_dir,
		       const char *key);

#endif
