/*
 * Locks and owners of sessions: see session_lock.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/session_lock.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/str.h"
#include "store/journal.h"
#include "store/step.h"
#include "work/session_name.h"
#include "work/session_project.h"

#define OWNER_PREFIX "owner:"

static void swap(char **a, char **b)
{
	char *was = *a;

	*a = *b;
	*b = was;
}

static int lock(struct ews_session *session, const char *verb, unsigned wait_ms)
{
	EWS_CLEANUP(state) struct ews_state fresh = EWS_STATE_INIT;
	int rc = ews_repo_lock(&session->lock, session->repo, session->state.id, verb, wait_ms);

	if (rc < 0)
		return ews_error_wrap("session '%s'", session->state.id);
	/* What was read before the lock was ours may be old. */
	rc = ews_state_read(&fresh, session->fd);
	if (rc < 0)
		return ews_error_wrap("session '%s'", session->state.id);
	ews_session_follow(&fresh, session->repo);
	if (strcmp(fresh.id, session->state.id) || strcmp(fresh.workspace, session->state.workspace))
		return ews_error(EWS_EDAMAGED, "session '%s' became another one", session->state.id);
	session->state.state = fresh.state;
	session->state.ended_s = fresh.ended_s;
	session->state.owner = fresh.owner;
	session->state.project_changed = fresh.project_changed;
	session->state.port_base = fresh.port_base;
	session->state.guard_enforced = fresh.guard_enforced;
	session->state.guard_offline = fresh.guard_offline;
	swap(&session->state.last_snapshot, &fresh.last_snapshot);
	swap(&session->state.guard_level, &fresh.guard_level);
	swap(&session->state.guard_policy, &fresh.guard_policy);
	return 0;
}

int ews_session_lock_within(struct ews_session *session, const char *verb, unsigned wait_ms)
{
	int rc = session->lock.fd >= 0 ? ews_repo_look_anew(session->repo) : lock(session, verb, wait_ms);

	return rc < 0 ? rc : ews_session_stand_again(session);
}

int ews_session_lock(struct ews_session *session, const char *verb)
{
	return ews_session_lock_within(session, verb, 0);
}

void ews_session_unlock(struct ews_session *session)
{
	ews_lock_release(&session->lock);
}

char *ews_session_owner_lock(const char *id)
{
	return ews_strfmt(OWNER_PREFIX "%s", id);
}

const char *ews_session_owner_lock_id(const char *name)
{
	return ews_str_after(name, OWNER_PREFIX);
}

int ews_session_own(struct ews_session *session, const char *verb)
{
	EWS_CLEANUP(free) char *name = ews_session_owner_lock(session->state.id);
	int rc = ews_repo_lock(&session->owner_lock, session->repo, name, verb, 0);

	if (rc == EWS_EBUSY) {
		ews_error_wrap("session '%s' is at work", session->state.id);
		ews_error_hint("wait for its end, or leave the session's name out to make a new one");
		return rc;
	}
	if (rc == 0)
		ews_kin_self(&session->state.owner);
	return rc;
}

int ews_session_disown(struct ews_session *session)
{
	int rc;

	session->state.owner = (struct ews_kin)EWS_KIN_INIT;
	rc = ews_session_save(session);
	ews_lock_release(&session->owner_lock);
	return rc;
}

/* The kernel knows it, whatever numbers are given again, and in whatever container they count. */
static bool has_owner(const struct ews_session *session, bool is_alive_wanted)
{
	EWS_CLEANUP(free) char *name = ews_session_owner_lock(session->state.id);

	if (!session->state.owner.pid)
		return false;
	return (session->owner_lock.fd >= 0 || ews_repo_is_locked(session->repo, name)) == is_alive_wanted;
}

bool ews_session_has_living_owner(const struct ews_session *session)
{
	return has_owner(session, true);
}

bool ews_session_has_dead_owner(const struct ews_session *session)
{
	return has_owner(session, false);
}

/* While somebody is at work on it, nothing is interrupted. */
static bool is_locked_by_others(const struct ews_session *session)
{
	return session->lock.fd < 0 && ews_repo_is_locked(session->repo, session->state.id);
}

/*
 * Of a step that is not finished what tells it from another, and one turn of it from the next; NULL: there is none. The record has
 * the say: without one nothing has begun, and what is done needs no line that says so. One that can't be read may be of something
 * half done.
 */
static char *name_unfinished(const struct ews_session *session, const char *step_id)
{
	EWS_CLEANUP(step) struct ews_step step = EWS_STEP_INIT;
	int rc = ews_step_read(&step, session->repo->dir_fd, step_id);

	if (rc == EWS_ENOTFOUND || (rc == 0 && !ews_step_is_unfinished(&step)))
		return NULL;
	return ews_strfmt("%s %d %" PRIu64 " %" PRIu64, step_id, (int)step.state, step.undo_sequence,
			  step.redo_sequence);
}

/* What a verb did not finish that is at work or was killed, as above. The caller frees it. */
static char *find_unfinished(const struct ews_session *session)
{
	EWS_CLEANUP(free) char *step = NULL;
	EWS_CLEANUP(free) char *verb = NULL;
	char *found;
	int rc;

	if (session->state.state == EWS_STATE_STARTING || session->state.state == EWS_STATE_ENDING)
		return ews_strdup(ews_state_word(session->state.state));
	rc = ews_journal_unfinished(&step, &verb, session->fd);
	/* What may not be read may say so; garbage says nothing. */
	if (rc < 0)
		found = rc == EWS_EDAMAGED ? NULL : ews_strdup("journal");
	else
		found = *step ? name_unfinished(session, step) : NULL;
	ews_error_clear();
	return found;
}

bool ews_session_has_unfinished_step(const struct ews_session *session)
{
	EWS_CLEANUP(free) char *found = find_unfinished(session);

	return found != NULL;
}

/* What is as a verb leaves it that is at work or was killed; NULL: nothing. The caller frees it. */
static char *find_half(const struct ews_session *session)
{
	char *found = find_unfinished(session);

	if (!found && ews_session_is_orphaned(session))
		found = ews_strdup("owner");
	return found;
}

bool ews_session_is_interrupted(const struct ews_session *session)
{
	EWS_CLEANUP(state) struct ews_state fresh = EWS_STATE_INIT;
	EWS_CLEANUP(free) char *before = find_half(session);
	EWS_CLEANUP(free) char *after = NULL;
	struct ews_session now = *session;

	if (!before || is_locked_by_others(session))
		return false;
	/* Who was at work may have come to an end just before his lock was looked for, and the next one have begun since. */
	if (ews_state_read(&fresh, session->fd) == 0)
		now.state = fresh;
	ews_error_clear();
	after = find_half(&now);
	return after && !strcmp(before, after);
}

bool ews_session_is_orphaned(const struct ews_session *session)
{
	return session->state.state == EWS_STATE_ACTIVE && ews_session_has_dead_owner(session) &&
	       !ews_session_has_unfinished_step(session);
}

int ews_session_refuse_company(const struct ews_session *session)
{
	EWS_CLEANUP(strv) struct ews_strv ids = EWS_STRV_INIT;
	int rc = session->is_lost ? 0 : ews_session_ids(&ids, session->repo);

	for (size_t i = 0; i < ids.n && rc == 0; i++) {
		if (!strcmp(ids.items[i], session->state.id))
			continue;
		rc = ews_session_is_alive_here(session->repo, ids.items[i], !session->method->is_project);
		if (rc <= 0)
			continue;
		rc = ews_error(EWS_EBUSY,
			       session->method->is_project ? "session '%s' is not over"
							   : "session '%s' works in the project itself",
			       ids.items[i]);
		ews_error_hint("end it with 'git ews end %s'", ids.items[i]);
	}
	return rc;
}

int ews_session_fail_ended(const char *id)
{
	ews_error(EWS_ENOTFOUND, "session '%s' has ended", id);
	ews_error_hint("'git ews undo %s' brings it back", id);
	return EWS_ENOTFOUND;
}

int ews_session_refuse_ended(const struct ews_session *session)
{
	return session->state.state == EWS_STATE_ENDED ? ews_session_fail_ended(session->state.id) : 0;
}

int ews_session_fail_interrupted(const char *id)
{
	ews_error(EWS_EINTERRUPTED, "session '%s' is interrupted", id);
	ews_error_hint("git ews recover %s --resume, --revert or --view", id);
	return EWS_EINTERRUPTED;
}

int ews_session_refuse_unsettled(const struct ews_session *session)
{
	EWS_CLEANUP(state) struct ews_state fresh = EWS_STATE_INIT;
	struct ews_session now = *session;
	int rc;

	if (session->lock.fd >= 0)
		return 0;
	if (is_locked_by_others(session))
		return ews_session_fail_at_work(session->state.id);
	rc = ews_state_read(&fresh, session->fd);
	if (rc == EWS_ENOTFOUND)
		return ews_session_fail_unknown(session->repo, session->state.id);
	ews_error_clear();
	if (rc == 0)
		now.state = fresh;
	return ews_session_is_interrupted(&now) ? ews_session_fail_interrupted(session->state.id)
						: ews_session_refuse_ended(&now);
}

int ews_session_lock_settled(struct ews_session *session, const char *verb)
{
	const bool is_held = session->lock.fd >= 0;
	int rc = ews_session_lock(session, verb);

	/* Who was at work when it was looked at may have been killed since. Who held the lock knows what he found. */
	if (rc == 0 && !is_held && ews_session_has_unfinished_step(session))
		rc = ews_session_fail_interrupted(session->state.id);
	return rc;
}
