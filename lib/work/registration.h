/*
 * Registrations: what git knows of our worktrees, where that and our own records do not agree any more.
 *
 * git takes a worktree's entry out (`git worktree prune`), and whoever deletes our home leaves entries that nobody
 * owns. Only an entry that leads into this home is ours to judge.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_REGISTRATION_H
#define EWS_WORK_REGISTRATION_H

#include "base/strv.h"
#include "store/repo.h"
#include "work/session.h"
#include "work/snapshot.h"

/*
 * Write anew the entries that living sessions lack, with HEAD and index as they were seen last. The workspace's files are not
 * touched; a ".git" in there that is not ours stays, and so does the session. Adds a sentence each to `done`.
 */
int ews_registration_mend(struct ews_strv *done, struct ews_repo *repo);

/* Does the living session `id` lack its entry, and nothing else? 1, 0, or an error. */
int ews_registration_is_due(struct ews_repo *repo, const char *id);

/* The same for a session that is locked, where it is due. Fails with EWS_EDAMAGED where there is no base to take it from. */
int ews_registration_mend_one(struct ews_strv *done, struct ews_session *session);

/* The newest snapshot of the session that has seen git's state, or its base, and what it holds. */
int ews_registration_last_seen(struct ews_snapshot *out, struct ews_content *content, struct ews_session *session);

struct ews_registration_opts {
	int64_t idle_s; /* what was touched since then stays */
	bool dry_run;
	/* What went, or would; and what has to stay. */
	void (*gone)(void *payload, const char *id, uint64_t size_bytes, const char *what);
	void (*stays)(void *payload, const char *id, const char *why);
	void *payload;
};

/*
 * Take out the entries that no session has and whose workspace is gone. What only they name is kept in trash first, and so is
 * the base. One whose workspace stands is named as what stays.
 */
int ews_registration_clean(struct ews_repo *repo, const struct ews_registration_opts *opts);

#endif
