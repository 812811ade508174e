/*
 * Object directories: where a store has its objects, and where those are that it borrows.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_OBJECT_DIRS_H
#define EWS_STORE_OBJECT_DIRS_H

#include "base/strv.h"

/* Add `dir` and the object directories that it borrows from, as far as they can be found. */
void ews_object_dirs_add(struct ews_strv *out, const char *dir);

#endif
