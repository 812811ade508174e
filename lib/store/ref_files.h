/*
 * Ref files: the refs of a repository, listed as git keeps them: a file each below `refs/`, or a line of `packed-refs`.
 *
 * Each verb lists refs, and there may be ten thousands of ours. A library that looks each of them up again makes that
 * the most of what a verb does. Formats: git's Documentation/gitformat-pack and git-pack-refs(1). Refs are never
 * written here.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_REF_FILES_H
#define EWS_STORE_REF_FILES_H

#include "store/odb.h"

/*
 * Append the refs in the git directory `common_dir` whose names start with `prefix` ("refs/..."), by name; of those that
 * start with `except` none (NULL: no such). A symbolic one has its target, and no id. With `names_only` no file
 * of a ref is read, and ids are those of packed refs or none. What is no ref is left out.
 */
int ews_ref_files_list(struct ews_refs *out, const char *common_dir, const char *prefix, const char *except,
		       bool names_only);

#endif
