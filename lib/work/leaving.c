/*
 * Leaving: see leaving.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/leaving.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/shell_word.h"
#include "store/home.h"
#include "work/artifact_registry.h"
#include "work/branch.h"
#include "work/session_lock.h"
#include "work/session_name.h"
#include "work/session_open.h"

#define LEAVING_FILE "leaving"
#define LEAVING_BYTES_MAX (64 * EWS_KIB)
#define NAMED 5 /* artifacts; of more it is said how many */

void ews_leaving_note(const struct ews_session *session, const char *branch)
{
	ews_leaving_forget(session);
	if (ews_file_append_unsynced(session->fd, LEAVING_FILE, branch ? branch : "", 0600) < 0)
		ews_error_clear();
}

void ews_leaving_forget(const struct ews_session *session)
{
	(void)unlinkat(session->fd, LEAVING_FILE, 0); /* best effort: who finds it looks whether there is anything */
}

bool ews_leaving_is_due(const struct ews_repo *repo, const char *id)
{
	EWS_CLEANUP(free) char *rel = ews_strfmt(EWS_WORKING_SESSIONS "/%s/" LEAVING_FILE, id);

	return faccessat(repo->dir_fd, rel, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Of this session, and no other that had its id, and stored since then. */
static bool is_of(const struct ews_artifact *artifact, const struct ews_state *state, int64_t since_s)
{
	return !strcmp(artifact->session, state->id) && !strcmp(artifact->base, state->base_snapshot) &&
	       artifact->created_s >= since_s;
}

/* By the refs, which make them: nobody who has the artifacts is waited for. */
static int tell_artifacts(struct ews_strv *done, const struct ews_session *session, int64_t since_s)
{
	const char *id = session->state.id;
	EWS_CLEANUP(artifacts) struct ews_artifacts list = EWS_ARTIFACTS_INIT;
	EWS_CLEANUP(buf) struct ews_buf named = EWS_BUF_INIT;
	unsigned last = 0;
	size_t n = 0;
	int rc = ews_artifact_refs_read(&list, NULL, &last, session->repo, EWS_REF_ARTIFACTS);

	for (size_t i = 0; i < list.n && rc == 0; i++)
		if (is_of(&list.items[i], &session->state, since_s) && n++ < NAMED)
			ews_buf_addf(&named, "%s%s", named.len ? ", " : "", list.items[i].path);
	if (n > NAMED)
		ews_buf_addf(&named, " and %zu more", n - NAMED);
	if (n)
		ews_strv_addf(done,
			      "session '%s': an end that did not come about left artifacts: %s; the next end brings them up to "
			      "date, 'git ews artifact list --session %s' shows them",
			      id, named.ptr, id);
	return rc;
}

static void tell_branch(struct ews_strv *done, struct ews_session *session, const char *name)
{
	EWS_CLEANUP(free) char *shown = ews_shell_shown(name);

	if (*name && !session->repo->is_plain && ews_branch_is_left(session, name))
		ews_strv_addf(done,
			      "session '%s': an end that did not come about left the branch '%s'; 'git ews end --branch %s %s' "
			      "takes it up, unless more is changed; 'git branch -D %s' deletes it",
			      session->state.id, name, shown, session->state.id, shown);
}

void ews_leaving_tell(struct ews_strv *done, struct ews_session *session)
{
	EWS_CLEANUP(buf) struct ews_buf branch = EWS_BUF_INIT;
	struct stat st;
	int rc;

	if (fstatat(session->fd, LEAVING_FILE, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	rc = ews_file_read_own(&branch, session->fd, LEAVING_FILE, LEAVING_BYTES_MAX);
	ews_buf_rtrim(&branch);
	/* What can't be read just now is told of later. */
	if (rc == 0 && session->state.state == EWS_STATE_ACTIVE)
		rc = tell_artifacts(done, session, st.st_mtim.tv_sec);
	if (rc == 0 && session->state.state == EWS_STATE_ACTIVE)
		tell_branch(done, session, branch.ptr);
	if (ews_error_if_passing(rc) == 0)
		ews_leaving_forget(session);
	ews_error_clear();
}

int ews_leaving_tell_all(struct ews_strv *done, struct ews_repo *repo)
{
	EWS_CLEANUP(strv) struct ews_strv ids = EWS_STRV_INIT;
	int rc = ews_session_ids(&ids, repo);

	for (size_t i = 0; i < ids.n; i++) {
		EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;

		if (ews_leaving_is_due(repo, ids.items[i]) && ews_session_open_id(&session, repo, ids.items[i]) == 0 &&
		    ews_session_lock_settled(&session, "recover") == 0)
			ews_leaving_tell(done, &session);
		ews_error_clear(); /* one that is at work, or interrupted, comes to it */
	}
	return rc;
}
