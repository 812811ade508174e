/*
 * Ids that git's own files name: refs, reflogs, packed-refs.
 *
 * For history. What an agent did to these files is never trusted, but counts: an id there may be all that leads to hours of work.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_HISTORY_IDS_H
#define EWS_WORK_HISTORY_IDS_H

#include "work/session.h"

/* Add every word of a text of git's that is an id: a ref's one, a reflog's two a line. */
void ews_history_add_ids(struct ews_oids *out, const char *text, size_t len, enum ews_hash_algo algo);

/*
 * All ids that the workspace's own git directory names, each once. The project's, worked on in place, speaks for itself: it has
 * none. What is closed is opened up, as a scan does; what may not be read even so is named in `closed`, a line "<path>\t<why>" each
 * that it has not yet, and with NULL fails with EWS_EDENIED. Fails as well where it can't be read for any other reason.
 */
int ews_history_list_ids(struct ews_oids *out, struct ews_strv *closed, const struct ews_session *session);

#endif
