/*
 * Archive extraction: an archive into a directory, which then has exactly what the archive holds.
 *
 * All of the archive is read and checked before anything is written. A directory that is not empty is taken by `force` alone: what
 * differs, and what the archive does not know, moves to ".ews-trash" in it; what the archive left out when it was made, and git
 * directories (or the files in their place), stay as they are.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_ARCHIVE_EXTRACT_H
#define EWS_WORK_ARCHIVE_EXTRACT_H

#include "base/progress_fn.h"
#include "store/put.h"
#include "work/archive.h"

struct ews_archive_extract_opts {
	const char *to; /* absolute; made when missing */
	bool force, owners, dry_run;
	int mode; /* of the directory, when it is made; below 0: as the umask has it */
	ews_progress_fn progress;
	void *payload;
};

struct ews_archive_extracted {
	struct ews_put_report put;
	struct ews_strv kept; /* "<path>\tkept in <where>" */
	size_t n_changes;
};

#define EWS_ARCHIVE_EXTRACTED_INIT { EWS_PUT_REPORT_INIT, EWS_STRV_INIT, 0 }

/*
 * Extract the archive open at `fd`, whose `content` was read whole. Fails with EWS_EDAMAGED when it has flaws, EWS_EEXISTS when the directory
 * isn't empty. Rights that a file gave in its owner's name (set-user-ID, capabilities) are taken out of `content` where the file becomes
 * somebody else's.
 */
int ews_archive_extract(struct ews_archive_extracted *out, int fd, struct ews_archive_content *content,
			const struct ews_archive_extract_opts *opts);

void ews_archive_extracted_release(struct ews_archive_extracted *extracted);
EWS_CLEANUP_DEFINE(archive_extracted, struct ews_archive_extracted, ews_archive_extracted_release)

#endif
