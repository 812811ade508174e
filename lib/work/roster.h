/*
 * Roster: whose each snapshot is, as it was read from the store, so that a session's are found among ten thousand.
 *
 * A snapshot is filed under its id, and says in its commit whose it is. That never changes, so it is remembered, in the
 * file `roster` of the repository's directory in home:
 *
 *     <ref, without refs/ews/> TAB <session>
 *     ...
 *     end <digest of the lines above>
 *
 * It is a cache: what it does not know is read from the store, and one that is damaged knows nothing.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_ROSTER_H
#define EWS_WORK_ROSTER_H

#include "base/buf.h"
#include "store/repo.h"

struct ews_roster {
	struct ews_buf text; /* as read, its lines cut */
	struct ews_roster_line {
		const char *ref, *session; /* the text's, or those of `added` */
	} * lines; /* by ref */
	size_t n, cap, n_read;
	size_t at; /* where the one asked for last was looked for */
	struct ews_strv added;
};

#define EWS_ROSTER_INIT { .text = EWS_BUF_INIT, .added = EWS_STRV_INIT }

/* Read what is remembered. Where that is damaged or missing it is empty, and all is asked of the store again. */
void ews_roster_read(struct ews_roster *out, const struct ews_repo *repo);

/* The session that the snapshot at `ref` is of ("": none), or NULL: nobody has read it yet. To be asked in the order of refs. */
const char *ews_roster_session(struct ews_roster *roster, const char *ref);
/* Tell it so; the texts are copied. */
void ews_roster_add(struct ews_roster *roster, const char *ref, const char *session);

/* Write what came, without what is not in `refs` any more. Best effort: else it is read again. */
void ews_roster_write(const struct ews_roster *roster, const struct ews_repo *repo, const struct ews_refs *refs);

void ews_roster_release(struct ews_roster *roster);
EWS_CLEANUP_DEFINE(roster, struct ews_roster, ews_roster_release)

#endif
