/*
 * Repository formats: whether git reads a repository at all, and as the one of the directory that it lies in.
 *
 * What a config says of the repository itself (gitrepository-layout(5)) decides that before any other setting counts: a
 * version or an extension that git does not know makes each of its commands fail.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_REPO_FORMAT_H
#define EWS_STORE_REPO_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/hash.h"

/*
 * Is `name` an extension, in lower case, that a repository of any version may have, and whose meaning is honoured here? See
 * ews_odb_config(), ews_odb_missing(), and that nothing prunes.
 */
bool ews_repo_format_knows(const char *name);

/*
 * Is the config of `len` bytes at `text` that of a repository with files as refs and ids by `algo`, whose work tree is around it:
 * around the git directory `git_fd`?
 */
bool ews_repo_format_is_plain(const char *text, size_t len, enum ews_hash_algo algo, int git_fd);

#endif
