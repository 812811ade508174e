/*
 * Doctor, of the repository: whether it has a work tree, where it borrows objects, and which remotes would get refs of ours,
 * or delete them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_DOCTOR_REPO_H
#define EWS_WORK_DOCTOR_REPO_H

#include "work/checkup.h"

/*
 * The work tree of a repository that says to be bare and has one, as some tools leave it: the directory around ".git", when
 * some file of the index stands there. NULL: it is as it says. The caller frees it.
 */
char *ews_doctor_hidden_top(const struct ews_repo *repo);

void ews_doctor_repo(struct ews_checkup *out, const struct ews_patient *patient);

#endif
