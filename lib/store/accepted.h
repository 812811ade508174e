/*
 * Accepted: what of a repository's settings its user has said yes to.
 *
 *     <home>/accepted/<hash of the project's root>
 *
 * The file names the project and, for each source of settings, the digest of what that source said at the time. Only that
 * counts: another root, or another word in the source, and it is as if nothing had been accepted.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_ACCEPTED_H
#define EWS_STORE_ACCEPTED_H

#include <stdbool.h>

#include "base/strv.h"

/* Has the user accepted that `source` of `project` says what has this `digest`? What can't be read says no. */
bool ews_accepted_has(const char *home, const char *project, const char *source, const char *digest);

/* Accept `sources`, each "<source> <digest>", and nothing else of `project`. */
int ews_accepted_write(const char *home, const char *project, const struct ews_strv *sources);

/* Accept nothing of `project` any more. Gives 1, or 0 when nothing was accepted. */
int ews_accepted_remove(const char *home, const char *project);

#endif
