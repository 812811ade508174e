/*
 * Attributes: which files git would hand to a filter program.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_ATTR_H
#define EWS_STORE_ATTR_H

#include "base/strv.h"
#include "store/odb.h"

/*
 * Of `paths`, add to `out` ("<path, escaped>\t<filter>") those that the
 * .gitattributes files in the directory `work_tree` give a filter for which the
 * repository's config names a program. Nothing is run but git, in a neutral place.
 */
int ews_attr_filtered(struct ews_strv *out, struct ews_odb *odb, const char *home, const char *work_tree,
		      const struct ews_strv *paths);

#endif
