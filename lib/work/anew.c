/*
 * Anew: see anew.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/anew.h"

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "store/home.h"
#include "store/state.h"
#include "work/session_name.h"
#include "work/steps.h"

static bool is_living(const struct ews_repo *repo, const char *id)
{
	EWS_CLEANUP(free) char *rel = ews_strfmt(EWS_WORKING_SESSIONS "/%s", id);
	EWS_CLEANUP(fd) int fd = ews_dir_open_beneath(repo->dir_fd, rel);
	EWS_CLEANUP(state) struct ews_state state = EWS_STATE_INIT;

	return fd < 0 || ews_state_read(&state, fd) < 0 || state.state != EWS_STATE_ENDED;
}

bool ews_anew_has_living(struct ews_repo *repo)
{
	EWS_CLEANUP(strv) struct ews_strv ids = EWS_STRV_INIT;
	EWS_CLEANUP(steps) struct ews_steps steps = EWS_STEPS_INIT;
	bool has;

	if (!repo->is_anew)
		return false;
	has = ews_session_ids(&ids, repo) < 0 || ews_steps_list(&steps, repo, NULL) < 0;
	for (size_t i = 0; i < ids.n && !has; i++)
		has = is_living(repo, ids.items[i]);
	for (size_t i = 0; i < steps.n && !has; i++)
		has = ews_step_is_unfinished(&steps.items[i]);
	ews_error_clear();
	return has;
}

int ews_anew_settle(struct ews_repo *repo)
{
	if (!repo->is_anew)
		return 0;
	return ews_anew_has_living(repo) ? ews_repo_refuse_anew(repo) : ews_repo_accept_anew(repo);
}
