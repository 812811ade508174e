/*
 * Archive origins: the directory that an archive is of, and the project or workspace that it lies in.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_ARCHIVE_ORIGIN_H
#define EWS_WORK_ARCHIVE_ORIGIN_H

#include "work/archive_scan.h"

struct ews_archive_origin {
	struct ews_archive_source source; /* points into what follows */
	char *dir, *home;
	struct ews_repo *repo; /* that was opened for it; NULL: none, or the caller's */
	struct ews_session session;
};

#define EWS_ARCHIVE_ORIGIN_INIT { { NULL, NULL, NULL, NULL }, NULL, NULL, NULL, EWS_SESSION_INIT }

/* The directory `dir` (absolute). What it lies in decides which rules hold. `out` must not be moved afterwards. */
int ews_archive_origin_dir(struct ews_archive_origin *out, const char *dir, const char *home);

/* The workspace of the session `id` of `repo`, which must outlive `out` (NULL: the one that is implied). */
int ews_archive_origin_session(struct ews_archive_origin *out, struct ews_repo *repo, const char *id);

void ews_archive_origin_release(struct ews_archive_origin *origin);
EWS_CLEANUP_DEFINE(archive_origin, struct ews_archive_origin, ews_archive_origin_release)

#endif
