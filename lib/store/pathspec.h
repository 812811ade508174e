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

/*
 * Is each of the user's `specs` a path and nothing else: no wildcard in it, no magic before it, no slash at its end? As
 * GIT_LITERAL_PATHSPECS, GIT_GLOB_PATHSPECS, GIT_NOGLOB_PATHSPECS and GIT_ICASE_PATHSPECS have them read. Fails with EWS_EUSAGE
 * on an empty one, and where these contradict each other or are no truth value.
 */
int ews_pathspec_are_paths(bool *out, const struct ews_strv *specs);

/*
 * Let `out` be the user's `specs`, read as these variables say, seen from the directory `prefix` ("" or "dir/") of `top`, as git
 * takes them at the top, where its pathspecs are not literal and none of the variables holds. Fails with EWS_EUSAGE as
 * ews_pathspec_are_paths(), and on one that leads out of `top`, or goes by attributes, which nobody reads here.
 */
int ews_pathspec_from_top(struct ews_strv *out, const struct ews_strv *specs, const char *top, const char *prefix);

/* Does what is no pattern of one of them, as from ews_pathspec_from_top(), lie in `path`? What is there nobody may have seen. */
bool ews_pathspec_leads_into(const struct ews_strv *specs, const char *path);

/* Paths to be matched. */
struct ews_pathspec_path {
	const char *path; /* borrowed */
	enum ews_entry_type type;
	unsigned side;
};

struct ews_pathspec_paths {
	struct ews_pathspec_path *items;
	size_t n, cap;
};

#define EWS_PATHSPEC_PATHS_INIT { NULL, 0, 0 }
#define EWS_PATHSPEC_LAST_SIDE 3

/* A file and what lies in a directory of its name must be of different sides, from 0 on. The last one's come after the others'. */
void ews_pathspec_paths_add(struct ews_pathspec_paths *paths, const char *path, enum ews_entry_type type,
			    unsigned side);
/* What was there is of side 0, what is there of side 1. */
void ews_pathspec_paths_add_changes(struct ews_pathspec_paths *paths, const struct ews_changes *changes);

void ews_pathspec_paths_release(struct ews_pathspec_paths *paths);
EWS_CLEANUP_DEFINE(pathspec_paths, struct ews_pathspec_paths, ews_pathspec_paths_release)

/*
 * Put the paths that `specs`, as from ews_pathspec_from_top(), mean into `out`, sorted. git is asked, with an index of its own.
 * `idle`: NULL, or the index of one that means none of them is said there, or how many there are; what only leaves out is none.
 * Fails with EWS_EUSAGE on what is no pathspec.
 */
int ews_pathspec_match(struct ews_strv *out, size_t *idle, struct ews_repo *repo, const struct ews_strv *specs,
		       const struct ews_pathspec_paths *paths);

#endif
