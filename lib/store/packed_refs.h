/*
 * Packed refs: of the file `packed-refs` the part that is asked for.
 *
 * A repository with many tags has hundreds of kilobytes of it, and a verb looks some names up that are not in it. Git sorts
 * the lines by name and says so in the first one; then the place of a name is found by halves. A file that says so and is not
 * sorted hides some of its refs, from git as well. Format: git-pack-refs(1).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_PACKED_REFS_H
#define EWS_STORE_PACKED_REFS_H

#include "base/buf.h"

#define EWS_PACKED_REFS "packed-refs"

/*
 * Append to `out` the lines of all refs whose names begin with `prefix`, from the packed-refs of the git directory `common_fd`;
 * others may be among them. A line of "^<id>" follows the one that it belongs to. Fails with EWS_ENOTFOUND where there is no such
 * file.
 */
int ews_packed_refs_read(struct ews_buf *out, int common_fd, const char *prefix);

#endif
