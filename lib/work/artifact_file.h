/*
 * Artifact files: new ones, each under a name that nothing has yet.
 *
 *     qr/qr-2026-01-18-demo.md   qr/qr-2026-01-18-demo.json   qr/qr-2026-01-18-demo-2.md   ...
 *
 * What belongs together is there under one name, or not at all: it is written beside and renamed in, and a name that
 * one of them can't have is none of theirs.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_ARTIFACT_FILE_H
#define EWS_WORK_ARTIFACT_FILE_H

#include "base/strv.h"
#include "store/repo.h"

struct ews_artifact_part {
	const char *extension; /* "md" */
	const char *data;
	size_t len;
};

/*
 * Write `parts` below the directory of the kind `kind` ("qr") as `<stem>.<extension>`, or `<stem>-2` and so on.
 * `paths` gets where each is, in their order. On failure there is none of them.
 */
int ews_artifact_file_new(struct ews_strv *paths, struct ews_repo *repo, const char *kind, const char *stem,
			  const struct ews_artifact_part *parts, size_t n);

#endif
