/*
 * What this process was at before it became recover: see recover_self.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/recover_self.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/error.h"
#include "store/home.h"
#include "work/holding.h"
#include "work/output_log.h"
#include "work/recover.h"
#include "work/recover_owner.h"
#include "work/retire.h"
#include "work/session_lock.h"
#include "work/session_name.h"
#include "work/session_open.h"
#include "work/session_project.h"

#define CHILDREN_MS 2000 /* that children which are at work have to end by themselves */

/* Its session is not there: killed before that was made, when the ended one that bore the id had left it already. */
static int give_id_back(struct ews_repo *repo, const char *id)
{
	EWS_CLEANUP(lock) struct ews_lock lock = EWS_LOCK_INIT;
	int rc = ews_repo_lock(&lock, repo, id, "recover", 0);

	return rc < 0 ? rc : ews_retire_revive_last(repo, id);
}

/* The log for what the command was to print, before it is found and taken for an artifact. */
static void drop_log(struct ews_repo *repo, const char *id, const char *name)
{
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;

	if (ews_session_open(&session, repo, id) == 0 && ews_session_stand_in_project(&session) == 0)
		ews_output_log_drop_empty(session.repo, name);
	ews_error_clear(); /* best effort: it is empty */
}

/* We were the owner of session `id`. Once a command runs no signal makes another program of us: it had not begun. */
static int recover_owned(struct ews_strv *done, struct ews_repo *repo, const char *id, int locks,
			 const struct ews_recover_opts *best)
{
	EWS_CLEANUP(free) char *owner = ews_session_owner_lock(id);
	EWS_CLEANUP(free) char *made = ews_lock_noted(locks, owner, EWS_OWNER_MADE);
	EWS_CLEANUP(free) char *log = ews_lock_noted(locks, owner, EWS_OWNER_LOG);
	EWS_CLEANUP(free) char *kept = ews_lock_noted(locks, owner, EWS_OWNER_KEPT);
	const struct ews_recover_unbegun unbegun = { .is_made = made, .kept = kept };
	struct ews_recover_opts opts = *best;

	opts.unbegun = &unbegun;
	if (log)
		drop_log(repo, id, log);
	return ews_recover(done, repo, id, &opts);
}

static int recover_left(struct ews_strv *done, struct ews_repo *repo, const char *name,
			const struct ews_recover_opts *best)
{
	EWS_CLEANUP(free) char *dir = ews_strfmt(EWS_WORKING_SESSIONS "/%s", name);

	if (ews_session_check_id(name) < 0) {
		ews_error_clear();
		return ews_recover(done, repo, "", best);
	}
	if (faccessat(repo->dir_fd, dir, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return give_id_back(repo, name);
	return ews_recover(done, repo, name, best);
}

/* Sessions that we were the owner of, and what that says; they come first, since what is recovered is swept as well. */
static int recover_all_owned(struct ews_strv *done, struct ews_repo *repo, const struct ews_strv *left, int locks,
			     const struct ews_recover_opts *best)
{
	int rc = 0;

	for (size_t i = 0; i < left->n && rc == 0; i++) {
		const char *id = ews_session_owner_lock_id(left->items[i]);
		EWS_CLEANUP(free) char *dir = ews_strfmt(EWS_WORKING_SESSIONS "/%s", id ? id : "");

		if (id && !ews_lock_is_held(locks, left->items[i]) &&
		    faccessat(repo->dir_fd, dir, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			rc = recover_owned(done, repo, id, locks, best);
	}
	return rc;
}

int ews_recover_self(struct ews_strv *done, struct ews_repo *repo, const struct ews_kin_list *others,
		     ews_progress_fn progress, void *payload)
{
	const struct ews_recover_opts best = { .choice = EWS_RECOVER_BEST, .progress = progress, .payload = payload };
	EWS_CLEANUP(strv) struct ews_strv left = EWS_STRV_INIT;
	EWS_CLEANUP(fd) int locks = -1;
	int rc = ews_repo_need_dir(repo);

	if (rc == 0)
		rc = locks = ews_dir_open_beneath(repo->dir_fd, EWS_LOCKS);
	if (rc == EWS_ENOTFOUND) {
		ews_error_clear();
		return 0; /* nothing had begun */
	}
	if (rc >= 0)
		rc = ews_lock_list_left(&left, locks);
	if (rc == 0 && left.n)
		ews_kin_end(others, CHILDREN_MS);
	if (rc == 0)
		rc = recover_all_owned(done, repo, &left, locks, &best);
	for (size_t i = 0; i < left.n && rc == 0; i++)
		/* Since then somebody may have taken it who has not yet said so. */
		if (!ews_session_owner_lock_id(left.items[i]) && !ews_lock_is_held(locks, left.items[i]))
			rc = recover_left(done, repo, left.items[i], &best);
	/* Our place in line, and what we held for a command, have files that say it otherwise: whose are dead goes by the kernel. */
	return rc < 0 ? rc : ews_holding_sweep(repo);
}
