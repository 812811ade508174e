/*
 * Retelling: see retell.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/retell.h"

#include "base/error.h"
#include "work/session.h"
#include "work/session_lock.h"
#include "work/session_name.h"
#include "work/session_open.h"

static int retell_one(struct ews_strv *busy, struct ews_repo *repo, const char *id,
		      const struct ews_tripwire *before, const struct ews_tripwire *after)
{
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	EWS_CLEANUP(tripwire) struct ews_tripwire kept = EWS_TRIPWIRE_INIT;
	int rc = ews_session_open_id(&session, repo, id);

	if (rc < 0 || session.state.state == EWS_STATE_ENDED)
		return rc;
	rc = ews_session_lock(&session, "retell");
	if (rc == EWS_EBUSY) {
		ews_strv_add(busy, id);
		return 0;
	}
	if (rc < 0 || ews_tripwire_read(&kept, session.fd) < 0)
		return rc;
	return ews_tripwire_follow(&kept, before, after) ? ews_tripwire_write(session.fd, &kept) : 0;
}

int ews_retell(struct ews_strv *busy, struct ews_repo *repo, const struct ews_tripwire *before)
{
	EWS_CLEANUP(tripwire) struct ews_tripwire after = EWS_TRIPWIRE_INIT;
	EWS_CLEANUP(strv) struct ews_strv ids = EWS_STRV_INIT;
	int rc = ews_tripwire_take(&after, repo);

	if (rc == 0)
		rc = ews_repo_need_dir(repo);
	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		return 0;
	}
	if (rc == 0)
		rc = ews_session_ids(&ids, repo);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < ids.n; i++)
		if (retell_one(busy, repo, ids.items[i], before, &after) < 0)
			ews_error_clear(); /* whose state can't be read has more to tell than this */
	return 0;
}
