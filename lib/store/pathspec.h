/*
 * Pathspecs: which paths are meant, as git reads them (gitglossary(7), "pathspec").
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_PATHSPEC_H
#define EWS_STORE_PATHSPEC_H

#include "base/strv.h"
#include "store/entry.h"
#include "store/repo.h"

/* Is it a path and nothing else: no wildcard in it, and no magic before it? */
bool ews_pathspec_is_path(const char *spec);

/*
 * Put the paths of `changes` that `specs`, seen from the directory `prefix` ("" or "dir/"), mean into `out`, sorted. git is asked,
 * with an index of its own. Fails with EWS_EUSAGE on what is no pathspec.
 */
int ews_pathspec_match(struct ews_strv *out, struct ews_repo *repo, const struct ews_strv *specs,
		       const char *prefix, const struct ews_changes *changes);

#endif
