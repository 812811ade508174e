/*
 * The place of artifacts: where files are put that outlive their session.
 *
 *     <project>/.superqode/qe-artifacts/patches/<session>.patch
 *
 * `qe.artifacts.location` may name another place. Below ".superqode", which a repository may bring, no link is followed.
 * A bare repository has no place for anything but what git knows: there it is in home.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_ARTIFACT_PLACE_H
#define EWS_WORK_ARTIFACT_PLACE_H

#include <sys/types.h>

#include "store/repo.h"

/* Open the place itself, made when missing if `make`; `path` is where. Returns a descriptor, or EWS_ENOTFOUND. */
int ews_artifact_open_place(char **path, struct ews_repo *repo, bool make);

/* With which mode directories are made in the place `path`: what is in home is nobody else's. */
mode_t ews_artifact_dir_mode(const struct ews_repo *repo, const char *path);

/* Open the directory of artifacts of the kind `kind` ("patches"), made when missing; `path` is where. Returns a descriptor. */
int ews_artifact_open_dir(char **path, struct ews_repo *repo, const char *kind);

#endif
