/*
 * Opening sessions: see session_open.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/session_open.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/path.h"
#include "store/home.h"
#include "store/home_workspace.h"
#include "work/session_name.h"
#include "work/session_project.h"

/*
 * Is nothing of it in its place any more? So it is once it has ended; and where a start was killed that was being taken back, or
 * an end that an older version was at, the mark may have gone before the state said so.
 */
static bool has_left(const struct ews_state *state)
{
	if (state->state != EWS_STATE_STARTING && state->state != EWS_STATE_ENDING)
		return state->state == EWS_STATE_ENDED;
	return faccessat(AT_FDCWD, state->workspace, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
}

/* A state file is in our home, yet it may have been written by anyone: paths must be where they must be. */
static int check_state(const struct ews_session *session, const char *id)
{
	const struct ews_state *state = &session->state;
	EWS_CLEANUP(free) char *name = NULL;
	int rc;

	if (strcmp(state->id, id))
		return ews_error(EWS_EDAMAGED, "it says that it is '%.64s'", state->id);
	if (!session->method)
		return ews_error(EWS_EUNSUPPORTED, "its method '%.40s' is not known to this version", state->method);
	if (session->method->is_project) {
		if (!session->is_lost && !has_left(state) && strcmp(state->workspace, session->repo->project) != 0)
			return ews_error(EWS_EDAMAGED, "its workspace '%.200s' is not the project", state->workspace);
		return 0;
	}
	if (*state->workspace != '/' || strcmp(ews_path_base(state->workspace), id))
		return ews_error(EWS_EDAMAGED, "its workspace '%.200s' is not called '%s'", state->workspace, id);
	name = ews_path_absolute("/", state->workspace);
	if (strcmp(name, state->workspace))
		return ews_error(EWS_EDAMAGED, "its workspace '%.200s' is not a plain path", state->workspace);
	/* Outside of home only where `start --in` left its mark. */
	if (has_left(state) || ews_session_is_at_home(session))
		return 0;
	rc = ews_home_is_marked(session->repo->home, state->workspace, session->repo->dir, id);
	if (rc == 0)
		return ews_error(EWS_EDAMAGED, "its workspace '%.200s' is not where it was made", state->workspace);
	return rc < 0 ? rc : 0;
}

int ews_session_open(struct ews_session *out, struct ews_repo *repo, const char *name)
{
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	EWS_CLEANUP(free) char *id = NULL;
	int rc = ews_session_resolve(&id, repo, name);

	if (rc == 0)
		rc = ews_session_open_id(&session, repo, id);
	if (rc < 0)
		return rc;
	if (session.repo != repo) {
		EWS_CLEANUP(free) char *top = ews_session_top(&session);

		ews_error(EWS_ENOTFOUND, "session '%s' works in another work tree itself: '%s'", id, top);
		ews_error_hint("change to it, and it is found");
		return EWS_ENOTFOUND;
	}
	*out = session;
	session = (struct ews_session)EWS_SESSION_INIT;
	return 0;
}

int ews_session_open_id(struct ews_session *out, struct ews_repo *repo, const char *id)
{
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	EWS_CLEANUP(free) char *rel = ews_strfmt(EWS_WORKING_SESSIONS "/%s", id);
	bool has_state;
	int rc = ews_repo_need_dir(repo);

	if (rc < 0)
		return rc;
	session.repo = repo;
	session.dir = ews_path_join(repo->dir, rel);
	session.fd = ews_dir_open_own(repo->dir_fd, rel);
	if (session.fd == EWS_EDENIED || (session.fd < 0 && ews_error_if_passing(session.fd) < 0))
		return ews_error_wrap("session '%s'", id);
	if (session.fd < 0)
		return ews_session_fail_unknown(repo, id);
	rc = ews_state_read(&session.state, session.fd);
	if (rc == EWS_ENOTFOUND && ews_repo_is_locked(repo, id))
		return ews_session_fail_at_work(id);
	has_state = rc != EWS_ENOTFOUND;
	if (!has_state)
		rc = ews_error(EWS_EDAMAGED, "it has no state");
	if (rc == 0) {
		session.method = ews_method_find(session.state.method);
		rc = ews_session_stand_in_place(&session);
	}
	if (rc == 0)
		rc = check_state(&session, id);
	/* Then nothing is wrong with it, as far as anybody knows. */
	if (rc == EWS_EDENIED || rc == EWS_EIO || (rc < 0 && ews_error_wants_descriptors()))
		return ews_error_wrap("session '%s'", id);
	if (rc < 0) {
		ews_error_wrap("session '%s'", id);
		if (has_state)
			ews_state_advise(rc, session.dir);
		else
			ews_error_hint("'git ews recover %s' takes back what had just begun", id);
		return rc;
	}
	*out = session;
	session = (struct ews_session)EWS_SESSION_INIT;
	return 0;
}
