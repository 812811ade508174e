/*
 * Conversion: a stored file as git would put it into a work tree: line ends, encoding, $Id$.
 *
 * Git itself does it, in a neutral place: the attributes are those of the
 * .gitattributes files in the work tree, of the repository's info/attributes and of the user's file of them; core.autocrlf,
 * core.eol and core.ignoreCase the repository's.
 * Filter programs are run on request alone, and only those that the user's or the system's
 * config names.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_CONVERT_H
#define EWS_STORE_CONVERT_H

#include "base/strv.h"
#include "store/entry.h"
#include "store/repo.h"

struct ews_convert {
	struct ews_repo *repo;
	const char *work_tree;
	const struct ews_entries *all; /* what is there: where its .gitattributes say nothing that matters git is not asked; or NULL */
	const struct ews_entries *attributes; /* for the reverse: the files that give them, sorted, though git may ignore them */
	/* For the reverse: does it go by such a file of `work_tree` that is none of these? 1 or 0; an error ends it all. NULL: by each. */
	int (*has_unlisted)(void *payload, const char *path);
	bool run_filters;
	/* Told of each file whose bytes become others; an error ends it all. */
	int (*take)(void *payload, struct ews_entry *entry, const void *data, size_t len);
	void *payload;
	struct ews_strv *filtered; /* NULL, or where files with a filter are named as ews_attr_filtered() does */
};

/* Convert those of `list` that are files, hold an id, and were not read from a directory (no stat data). */
int ews_convert(const struct ews_convert *convert, struct ews_entries *list);

/* Add copies of those of `list` that give attributes to `out`, which is sorted then. */
void ews_convert_list_attributes(struct ews_entries *out, const struct ews_entries *list);

/* Put them into the directory `dir`, which is made: a work tree whose attributes are these, whatever stands in the project. */
int ews_convert_put_attributes(const char *dir, struct ews_repo *repo, const struct ews_entries *files);

/*
 * The reverse: give the files of `files` at `paths` the ids of what git would store, were they added where the index
 * holds the tree `on` (none: nothing). The .gitattributes are `attributes`, and where there is none of them that of
 * `work_tree`, as far as `has_unlisted` says so; no filter program is run, nothing is taken from `take` or `run_filters`.
 * The files are put on a bench of the repository, and the new blobs are durable.
 */
int ews_convert_back(const struct ews_convert *convert, struct ews_entries *files, const struct ews_strv *paths,
		     const struct ews_oid *on);

#endif
