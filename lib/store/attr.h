/*
 * Attributes: what the .gitattributes files of a work tree say of its paths, and which files they hand to a program.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_ATTR_H
#define EWS_STORE_ATTR_H

#include "base/strv.h"
#include "store/git.h"
#include "store/odb.h"

/* Told of each attribute that a path has: `value` is "set", "unset", or what it is set to. */
typedef void (*ews_attr_fn)(void *payload, const char *path, const char *name, const char *value);

#define EWS_ATTRIBUTES ".gitattributes"

/* All paths at which a file would give attributes to one of `paths`, sorted. */
void ews_attr_places(struct ews_strv *out, const struct ews_strv *paths);

/*
 * Ask what is said of the attributes `names` (NULL-ended) for each of `paths`, of which each is ended by NUL.
 * `git` says where git stands; input and output are set here. `config` has words "-c" and
 * "<key>=<value>". What is said of one path is told
 * together, in the order of `paths`. Fails with EWS_EUNSUPPORTED where git would wait for what is no file.
 */
int ews_attr_ask(const struct ews_git_opts *git, const struct ews_strv *config, const struct ews_buf *paths,
		 const char *const *names, ews_attr_fn fn, void *payload);

/* Does the repository's config name a program for it? */
bool ews_attr_has_program(struct ews_odb *odb, const char *filter);

/* Add "<path, escaped>\t<filter>" to `out` when the repository's config names a program for the filter `value`. */
void ews_attr_name_filtered(struct ews_strv *out, struct ews_odb *odb, const char *path, const char *value);

/*
 * Of `paths`, add to `out` ("<path, escaped>\t<filter>") those that the
 * .gitattributes files in the directory `work_tree` give a filter for which the
 * repository's config names a program. Nothing is run but git, in a neutral place.
 */
int ews_attr_filtered(struct ews_strv *out, struct ews_odb *odb, const char *home, const char *work_tree,
		      const struct ews_strv *paths);

#endif
