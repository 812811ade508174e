/*
 * A session whose owner has died: see recover_owner.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/recover_owner.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/kin.h"
#include "base/str.h"
#include "work/end.h"
#include "work/finding.h"
#include "work/holding.h"
#include "work/inuse.h"
#include "work/session_lock.h"
#include "work/session_log.h"

/* They wait on where they are, and readers see them there. */
static void note_findings(struct ews_strv *done, const struct ews_session *session)
{
	ews_strv_addf(done, "session '%s': its findings could not be taken over: %s", session->state.id,
		      ews_error_message());
	ews_error_clear();
}

/* What a dead owner held was anybody's since: the session has it again, unless somebody has taken it. */
static int renew_lock(struct ews_strv *done, struct ews_session *session, enum ews_holding_mode mode)
{
	int rc = ews_holding_take_usual(session, mode);

	if (rc != EWS_EBUSY)
		return rc;
	ews_strv_addf(done, "session '%s': its %s lock is released: %s", session->state.id, ews_holding_word(mode),
		      ews_error_message());
	ews_error_clear();
	rc = ews_holding_drop(session->repo, session->state.id);
	return rc < 0 ? rc : 0;
}

/* Whoever ran a command in it was killed: what there is goes on without him. */
static int bury_owner(struct ews_strv *done, struct ews_session *session)
{
	EWS_CLEANUP(strv) struct ews_strv users = EWS_STRV_INIT;
	int mode = ews_holding_of(session->repo, session->state.id), rc;
	bool is_collected = true;

	if (mode < 0)
		return mode;
	ews_strv_addf(done, "session '%s': its owner (process %ld) had died; the workspace is as he left it",
		      session->state.id, (long)session->state.owner.pid);
	rc = session->method->is_project ? 0 : ews_inuse_list(&users, session->state.workspace);
	for (size_t i = 0; i < users.n; i++)
		ews_strv_addf(done, "session '%s': still at work in it: %s", session->state.id, users.items[i]);
	if (rc == 0)
		rc = ews_session_log(session, "recover", "its owner had died");
	if (rc == 0)
		is_collected = ews_findings_collect(session) == 0;
	if (!is_collected)
		note_findings(done, session);
	if (rc == 0 && ews_session_log_take_said(NULL, session) < 0)
		ews_error_clear(); /* readers see it where it is */
	/* What still runs may want its files. */
	if (rc == 0 && is_collected && !users.n)
		rc = ews_session_remove_tmp(session);
	if (rc == 0 && mode)
		rc = renew_lock(done, session, mode);
	return rc < 0 ? rc : ews_session_disown(session);
}

/* It was made for a command that has not begun: nobody knows its name. */
static int end_unused(struct ews_strv *done, struct ews_session *session)
{
	EWS_CLEANUP(end_result) struct ews_end_result result = EWS_END_RESULT_INIT;
	int rc = ews_end(&result, session, &(struct ews_end_opts){ .force = true });

	if (rc == 0 && !ews_end_is_blocked(&result))
		ews_strv_addf(done, "session '%s': ended; 'git ews undo %s' brings it back", session->state.id,
			      session->state.id);
	return rc;
}

/* What stands in a lock's file proves nothing. */
static bool is_kept_name(const char *name)
{
	const char *number = ews_str_after(name, EWS_OWNER_KEPT_PREFIX);

	return number && *number && !number[strspn(number, "0123456789")];
}

/* We were about to run a command in it, and are still there to say that this has not begun: as after any other failure to run it. */
static int call_command_off(const struct ews_recovery *recovery, struct ews_session *session)
{
	const struct ews_recover_unbegun *unbegun = recovery->unbegun;
	struct ews_strv *done = recovery->done;
	int mode = ews_holding_of(session->repo, session->state.id), rc;

	if (mode < 0)
		return mode;
	ews_strv_addf(done, "session '%s': the command was not begun", session->state.id);
	rc = ews_session_log(session, "recover", "the command was not begun");
	if (rc == 0 && unbegun->kept && is_kept_name(unbegun->kept))
		rc = ews_file_remove_tree(session->fd, unbegun->kept);
	if (rc == 0 && ews_findings_collect(session) < 0)
		note_findings(done, session);
	else if (rc == 0)
		rc = ews_session_remove_tmp(session);
	if (rc == 0 && mode)
		rc = renew_lock(done, session, mode);
	if (rc == 0)
		rc = ews_session_disown(session);
	return rc == 0 && unbegun->is_made ? end_unused(done, session) : rc;
}

int ews_recover_owner(const struct ews_recovery *recovery, struct ews_session *session)
{
	if (!ews_session_has_dead_owner(session))
		return 0;
	return recovery->unbegun && ews_kin_is_self(&session->state.owner) ? call_command_off(recovery, session)
									   : bury_owner(recovery->done, session);
}
