/*
 * Artifacts: files that outlive their session.
 *
 *     <project>/.superqode/qe-artifacts/patches/<session>.patch
 *
 * `qe.artifacts.location` may name another place. Below ".superqode", which a repository may bring, no link is followed.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_ARTIFACT_H
#define EWS_WORK_ARTIFACT_H

#include "store/repo.h"

/* Open the directory of artifacts of the kind `kind` ("patches"), made when missing; `path` is where. Returns a descriptor. */
int ews_artifact_open_dir(char **path, struct ews_repo *repo, const char *kind);

#endif
