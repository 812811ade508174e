/*
 * Archive scan: what of a directory goes into an archive, with the digests of all that it holds.
 *
 * What stays out is named with its reason, weakest rule first:
 *
 *     ignored     .gitignore and the like, and the usual rules (*.pyc, __pycache__/, venv/, .venv/, .DS_Store); what git tracks
 *                 is never hidden by these
 *     not-kept    patterns of what to keep are given, and none of them matches
 *     excluded    a pattern that was given matches, or qe.workspace.exclude, or it is a static asset
 *     own, repository, socket, ...    whatever is said: .superqode, git directories, what has no bytes
 *
 * Rules are about what is in the directory. That it is ignored or excluded itself, or is .ews_scratch, or lies in such a one, has no
 * say: whoever names it wants what it holds.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_ARCHIVE_SCAN_H
#define EWS_WORK_ARCHIVE_SCAN_H

#include "store/scan.h"
#include "work/archive.h"
#include "work/session.h"

/* Which directory, and in what it lies. */
struct ews_archive_source {
	const char *dir; /* absolute, real */
	const char *home; /* that is no part of it, where it lies in it */
	struct ews_repo *repo; /* whose project, or workspace, it is in; NULL: in none */
	struct ews_session *session; /* whose workspace it is in, or NULL */
};

struct ews_archive_tree {
	struct ews_scan scan; /* paths as seen from the directory; ids are SHA-256 of contents */
	char **texts; /* beside the entries: what a link says */
	size_t n_texts;
	unsigned mode; /* of the directory itself */
	struct ews_strv paths; /* for each entry the path from `root_fd` */
	int root_fd; /* where they are read */
};

#define EWS_ARCHIVE_TREE_INIT { .scan = EWS_SCAN_INIT, .paths = EWS_STRV_INIT, .root_fd = -1 }

struct ews_archive_scan_opts {
	const struct ews_archive_rules *rules;
	const char *place; /* a directory whose archives are none of its files (absolute), or NULL */
	const struct ews_strv *changing; /* paths that are left out as they can't be read twice alike, or NULL */
	const struct ews_entries *known; /* files that are not ignored, whatever the usual rules say; NULL: what git tracks alone */
};

/* Look at all of it and read it once. */
int ews_archive_scan(struct ews_archive_tree *out, const struct ews_archive_source *source,
		     const struct ews_archive_scan_opts *opts);

/* Open the file of entry `i` once more, when it is still what was read; else EWS_ESTALE. Returns a descriptor. */
int ews_archive_tree_open(const struct ews_archive_tree *tree, size_t i);

void ews_archive_tree_release(struct ews_archive_tree *tree);
EWS_CLEANUP_DEFINE(archive_tree, struct ews_archive_tree, ews_archive_tree_release)

#endif
